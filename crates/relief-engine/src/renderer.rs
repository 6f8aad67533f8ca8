//! Running a plan: windows, bands, whole rasters.

use std::sync::Arc;
use std::time::{Duration, Instant};

use relief_kernels::device::DeviceId;
use relief_raster::{Depth, Rect, Sample, ViewMut};

use crate::Error;
use crate::cancel::Cancel;
use crate::counts::Counts;
use crate::cpu::{Cpu, stream, zeroed};
use crate::deal::deal;
use crate::error::describe;
#[cfg(feature = "gpu")]
use crate::gpu::Gpus;
use crate::levels::{Effort, Exactness, KnownLevels, MAX_LEVEL, Statistic};
use crate::node::{Bounds, Runs, Summary};
use crate::plan::Plan;
use crate::prepared::{Prepared, Start};
use crate::progress::Progress;
use crate::sink::{Band, HandOver, Samples, Sink};
use crate::source::ImageSource;
use crate::tiles::{Tile, TileSink};
use crate::workers::Workers;

/// Samples to be written, of either depth.
#[derive(Debug)]
pub enum SamplesMut<'a> {
    /// 8 bits.
    Eight(&'a mut [u8]),
    /// 16 bits.
    Sixteen(&'a mut [u16]),
}

impl SamplesMut<'_> {
    const fn len(&self) -> usize {
        match self {
            Self::Eight(samples) => samples.len(),
            Self::Sixteen(samples) => samples.len(),
        }
    }

    const fn depth(&self) -> Depth {
        match self {
            Self::Eight(_) => Depth::Eight,
            Self::Sixteen(_) => Depth::Sixteen,
        }
    }
}

enum Device {
    Eight(Typed<u8>),
    Sixteen(Typed<u16>),
}

/// What computes samples of one depth.
enum Typed<S> {
    Cpu(Cpu<S>),
    #[cfg(feature = "gpu")]
    Gpus(Gpus<S>),
}

impl<S: Sample> Typed<S> {
    fn new(plan: Plan, images: &dyn ImageSource, start: Start<'_>, cancel: &Cancel) -> Result<Self, Error> {
        #[cfg(feature = "gpu")]
        if plan.device.is_some() {
            return Gpus::new(plan, images, start, cancel).map(Self::Gpus);
        }
        Cpu::new(plan, images, start, cancel).map(Self::Cpu)
    }

    fn prepared(&self) -> Prepared {
        match self {
            Self::Cpu(cpu) => cpu.prepared(),
            #[cfg(feature = "gpu")]
            Self::Gpus(gpus) => gpus.prepared(),
        }
    }

    fn part(&self, plan: Plan) -> Self {
        match self {
            Self::Cpu(cpu) => Self::Cpu(cpu.part(plan)),
            #[cfg(feature = "gpu")]
            Self::Gpus(gpus) => Self::Gpus(gpus.part(plan)),
        }
    }

    const fn plan(&self) -> &Plan {
        match self {
            Self::Cpu(cpu) => cpu.plan(),
            #[cfg(feature = "gpu")]
            Self::Gpus(gpus) => gpus.plan(),
        }
    }

    fn workers(&self) -> &Workers {
        match self {
            Self::Cpu(cpu) => cpu.workers(),
            #[cfg(feature = "gpu")]
            Self::Gpus(gpus) => gpus.workers(),
        }
    }

    fn device_memory(&self) -> Vec<(DeviceId, u64)> {
        match self {
            Self::Cpu(_) => Vec::new(),
            #[cfg(feature = "gpu")]
            Self::Gpus(gpus) => gpus.memory(),
        }
    }

    /// Asks the host, whatever computes bands.
    fn with_host<T>(&self, ask: impl FnOnce(&Cpu<S>) -> Result<T, Error>) -> Result<T, Error> {
        match self {
            Self::Cpu(cpu) => ask(cpu),
            #[cfg(feature = "gpu")]
            Self::Gpus(gpus) => match gpus.host() {
                Some(host) => ask(&host),
                None => Err(Error::defect(Rect::EMPTY, "the host keeps nothing")),
            },
        }
    }

    fn bounds(&self, rect: Rect) -> Bounds {
        match self {
            Self::Cpu(cpu) => cpu.bounds(rect),
            #[cfg(feature = "gpu")]
            Self::Gpus(gpus) => gpus.bounds(rect),
        }
    }

    fn node_times(&self) -> Vec<Duration> {
        match self {
            Self::Cpu(cpu) => cpu.node_times(),
            #[cfg(feature = "gpu")]
            Self::Gpus(_) => Vec::new(),
        }
    }

    fn fill(&self, rect: Rect, out: ViewMut<'_, S>, cancel: &Cancel) -> Result<(), Error> {
        match self {
            Self::Cpu(cpu) => cpu.fill(rect, out, cancel),
            #[cfg(feature = "gpu")]
            Self::Gpus(gpus) => gpus.fill(rect, out, cancel),
        }
    }

    /// [`Self::fill`] by a thread of this number, where the CPU computes.
    fn fill_on(&self, thread: usize, rect: Rect, out: &mut [S], cancel: &Cancel) -> Result<(), Error> {
        match self {
            Self::Cpu(cpu) => cpu.fill_alone(thread, rect, out, cancel),
            #[cfg(feature = "gpu")]
            Self::Gpus(gpus) => gpus.fill(rect, packed_view(out, rect), cancel),
        }
    }

    fn stream(&self, hand_over: &mut HandOver<'_, S>, cancel: &Cancel) -> Result<(), Error> {
        match self {
            Self::Cpu(cpu) => stream(cpu, hand_over, cancel),
            #[cfg(feature = "gpu")]
            Self::Gpus(gpus) => gpus.stream(hand_over, cancel),
        }
    }
}

/// A design in memory, ready to compute on the devices of its plan.
///
/// It holds the pictures and cells of its plan and a pool of threads, and may be used from several threads at once.
/// Windows that are read at the same time share the pool, its scratch and the cache, which stay as large as planned
/// however many there are; on a GPU they share the buffers of its lanes, and a window waits for those of another.
/// [`render`](Self::render) and [`bands`](Self::bands) hold bands of their own: the plan counts those of one job.
pub struct Renderer {
    device: Device,
    known: Option<Arc<dyn KnownLevels>>,
}

impl Renderer {
    /// Reads the pictures of the plan and makes the cells it keeps.
    ///
    /// # Errors
    /// Where a picture cannot be read, memory is refused, or `cancel` is thrown.
    pub fn new(plan: Plan, images: &dyn ImageSource, cancel: &Cancel) -> Result<Self, Error> {
        Self::prepare(plan, images, None, &mut |_| (), cancel)
    }

    /// [`Renderer::new`] that tells how far it is with what must be known of whole sources before the first band, which is
    /// most of the work of some designs ([`Plan::preparation`]). What `prepared` has is not computed again.
    ///
    /// # Errors
    /// As [`Renderer::new`], and where `prepared` is that of another design.
    pub fn prepare(
        plan: Plan,
        images: &dyn ImageSource,
        prepared: Option<&Prepared>,
        progress: &mut dyn FnMut(Progress),
        cancel: &Cancel,
    ) -> Result<Self, Error> {
        let start = Start { prepared, progress };
        let device = match plan.depth() {
            Depth::Eight => Device::Eight(Typed::new(plan, images, start, cancel)?),
            Depth::Sixteen => Device::Sixteen(Typed::new(plan, images, start, cancel)?),
        };
        Ok(Self { device, known: None })
    }

    /// With figures of blocks that were written down when the same raster was computed: levels are read from them where they are there. Parts of
    /// the renderer do not know them.
    #[must_use]
    pub fn with_known(self, known: Option<Arc<dyn KnownLevels>>) -> Self {
        Self { known, ..self }
    }

    /// What is known of whole sources, for a later [`Renderer::prepare`] of the same design.
    #[must_use]
    pub fn prepared(&self) -> Prepared {
        match &self.device {
            Device::Eight(device) => device.prepared(),
            Device::Sixteen(device) => device.prepared(),
        }
    }

    /// The plan that is run.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        match &self.device {
            Device::Eight(cpu) => cpu.plan(),
            Device::Sixteen(cpu) => cpu.plan(),
        }
    }

    /// The threads of the job.
    #[must_use]
    pub fn workers(&self) -> &Workers {
        match &self.device {
            Device::Eight(device) => device.workers(),
            Device::Sixteen(device) => device.workers(),
        }
    }

    /// The GPUs, and the most bytes of buffers that each has held so far: never more than
    /// [`DevicePlan::bytes`](crate::DevicePlan::bytes) for one job at a time. Empty on the CPU.
    #[must_use]
    pub fn device_memory(&self) -> Vec<(DeviceId, u64)> {
        match &self.device {
            Device::Eight(device) => device.device_memory(),
            Device::Sixteen(device) => device.device_memory(),
        }
    }

    /// How long each node has taken so far, by its number in [`Plan::nodes`], without what its children took: sampled,
    /// so that only their proportions tell. What a node copies of a child that is kept counts as the child's. Empty on
    /// GPUs, where nodes are fused.
    #[must_use]
    pub fn node_times(&self) -> Vec<Duration> {
        match &self.device {
            Device::Eight(device) => device.node_times(),
            Device::Sixteen(device) => device.node_times(),
        }
    }

    /// A renderer of a part of this one's raster, `rect` in coordinates of the canvas. Both share pictures, tables, cells,
    /// cache and threads, and the part is there at once: nothing is read, made or searched for it. Parts of parts are parts.
    ///
    /// ```
    /// # use relief_engine::{Cancel, NoImages, Options, Plan, Rect, Renderer};
    /// # let text = "relief version=1\ncanvas width=4000 height=4000\nnoise seed=1";
    /// # let design = relief_design::parse("n.kdl", text, &relief_design::NoImages)?;
    /// # let cancel = Cancel::new();
    /// let plan = Plan::new(&design, &NoImages, &Options::default())?;
    /// let whole = Renderer::new(plan, &NoImages, &cancel)?;
    /// let part = whole.part(Rect::new(1000, 2000, 300, 200).ok_or("out of range")?)?;
    /// assert_eq!((part.plan().raster().width, part.plan().raster().height), (300, 200));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Where `rect` is empty or leaves the [region](Plan::region) of this one.
    pub fn part(&self, rect: Rect) -> Result<Self, Error> {
        let plan = self.plan().part(rect)?;
        Ok(Self {
            device: match &self.device {
                Device::Eight(device) => Device::Eight(device.part(plan)),
                Device::Sixteen(device) => Device::Sixteen(device.part(plan)),
            },
            known: None,
        })
    }

    /// Computes a window, in coordinates of the streamed raster, into `out`: packed rows of samples of the
    /// design's depth.
    ///
    /// # Errors
    /// Where the window leaves the raster, `out` has not its size or depth, or the job is cancelled.
    pub fn read(&self, window: Rect, out: SamplesMut<'_>, cancel: &Cancel) -> Result<(), Error> {
        self.check(window, out.len() as u128, out.depth())?;
        match (&self.device, out) {
            (Device::Eight(device), SamplesMut::Eight(out)) => {
                device.fill(window, packed_view(out, window), cancel)
            }
            (Device::Sixteen(device), SamplesMut::Sixteen(out)) => {
                device.fill(window, packed_view(out, window), cancel)
            }
            _ => Ok(()),
        }
    }

    /// [`read`](Self::read) into rows that need not follow each other: those of an array of which the window is a part.
    ///
    /// ```
    /// # use relief_engine::{Cancel, NoImages, Options, Plan, Rect, Renderer, ViewMut};
    /// # let text = "relief version=1\ncanvas width=40 height=40\nfill value=7";
    /// # let design = relief_design::parse("n.kdl", text, &relief_design::NoImages)?;
    /// # let cancel = Cancel::new();
    /// # let renderer = Renderer::new(Plan::new(&design, &NoImages, &Options::default())?, &NoImages, &cancel)?;
    /// // 3 × 2 samples in the middle of an array of 5 columns.
    /// let mut array = [0_u8; 5 * 4];
    /// let view = ViewMut::new(&mut array[6..], 3, 2, 5);
    /// renderer.read_view(Rect::sized(3, 2), view, &cancel)?;
    /// assert_eq!(array[5..15], [0, 7, 7, 7, 0, 0, 7, 7, 7, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_view<S: Sample>(
        &self,
        window: Rect,
        out: ViewMut<'_, S>,
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let size = (out.width() as u64, out.height() as u64);
        if size != (window.width(), window.height()) {
            return Err(Error::Option {
                option: "out",
                problem: format!(
                    "{}×{} samples were given for {}",
                    size.0,
                    size.1,
                    describe(window)
                ),
            });
        }
        self.check(window, window.area(), S::DEPTH)?;
        // Functions of no type of their own are compiled here, once, as this crate is, and not with whoever calls them.
        match &self.device {
            Device::Eight(device) => out
                .of()
                .map_or(Ok(()), |out| fill_eight(device, window, out, cancel)),
            Device::Sixteen(device) => out
                .of()
                .map_or(Ok(()), |out| fill_sixteen(device, window, out, cancel)),
        }
    }

    /// The least and the greatest that any sample of `window` can be, in coordinates of the streamed raster, without computing one:
    /// every sample lies between them, and where both are the same, all samples are that one.
    ///
    /// # Errors
    /// Where the window is empty or leaves the raster.
    pub fn bounds(&self, window: Rect) -> Result<(u16, u16), Error> {
        let raster = self.plan().raster();
        if window.is_empty() || !Rect::sized(raster.width, raster.height).contains(&window) {
            return Err(Error::Region {
                region: describe(window),
                width: raster.width,
                height: raster.height,
            });
        }
        let bounds = match &self.device {
            Device::Eight(device) => device.bounds(window),
            Device::Sixteen(device) => device.bounds(window),
        };
        Ok((bounds.least, bounds.greatest))
    }

    /// What is known of the samples of `window` together, in coordinates of the streamed raster: from closed forms and from what the plan
    /// keeps, and after computing at most `effort` samples until `statistic` is settled. The plan must have been made with
    /// [`Options::levels`](crate::Options::levels).
    ///
    /// ```
    /// # use relief_engine::{Cancel, NoImages, Options, Plan, Rect, Renderer, Statistic};
    /// let text = "relief version=1\ncanvas width=1000000000 height=1000000000\n\
    ///     repeat step-x=100 step-y=100 { (pattern)fill value=200 width=10 height=50 }";
    /// let design = relief_design::parse("a.kdl", text, &NoImages)?;
    /// let cancel = Cancel::new();
    /// let plan = Plan::new(&design, &NoImages, &Options::default().levels())?;
    /// let renderer = Renderer::new(plan, &NoImages, &cancel)?;
    /// let all = renderer.summary(Rect::sized(1_000_000_000, 1_000_000_000), Statistic::Mean, 0, &cancel)?;
    /// // 10^18 samples, of which every twentieth is 200.
    /// assert_eq!((all.mean(), all.least, all.greatest), ((10, 10), (0, 0), (200, 200)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Where the window is empty or leaves the raster, the plan has no levels, or the job is cancelled.
    pub fn summary(
        &self,
        window: Rect,
        statistic: Statistic,
        effort: u64,
        cancel: &Cancel,
    ) -> Result<Summary, Error> {
        let raster = self.plan().raster();
        self.check_levels(window, (raster.width, raster.height))?;
        match &self.device {
            Device::Eight(device) => device.with_host(|cpu| cpu.summary(window, statistic, effort, cancel)),
            Device::Sixteen(device) => device.with_host(|cpu| cpu.summary(window, statistic, effort, cancel)),
        }
    }

    /// How often each sample stands in `window`, in coordinates of the streamed raster: cells that the plan keeps are counted as often as they
    /// stand there, and at most `effort` samples are computed. What is left is known within bounds. The plan must have been made with
    /// [`Options::levels`](crate::Options::levels), and with [`Counts::memory`] in its sink.
    ///
    /// ```
    /// # use relief_engine::{Cancel, NoImages, Options, Plan, Rect, Renderer};
    /// let text = "relief version=1\ncanvas width=1000000000 height=1000000000\n\
    ///     repeat step-x=100 step-y=100 { (pattern)fill value=200 width=10 height=50 }";
    /// let design = relief_design::parse("a.kdl", text, &NoImages)?;
    /// let cancel = Cancel::new();
    /// let plan = Plan::new(&design, &NoImages, &Options::default().levels())?;
    /// let renderer = Renderer::new(plan, &NoImages, &cancel)?;
    /// let counts = renderer.counts(Rect::sized(1_000_000_000, 1_000_000_000), 1 << 20, &cancel)?;
    /// assert!(counts.is_exact());
    /// assert_eq!(counts.least()[200], 10_u128.pow(18) / 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Where the window is empty or leaves the raster, the plan has no levels, or the job is cancelled.
    pub fn counts(&self, window: Rect, effort: u64, cancel: &Cancel) -> Result<Counts, Error> {
        let raster = self.plan().raster();
        self.check_levels(window, (raster.width, raster.height))?;
        match &self.device {
            Device::Eight(device) => device.with_host(|cpu| cpu.counts(window, effort, cancel)),
            Device::Sixteen(device) => device.with_host(|cpu| cpu.counts(window, effort, cancel)),
        }
    }

    /// The runs of samples above 0 along the rows of `window`, in coordinates of the streamed raster, of which `summary` is known: counted where all of it
    /// repeats one cell of at most 2^22 samples, else as many and as long as [`Summary::runs`] says. No sample is computed. The plan must have been made as
    /// for [`counts`](Self::counts).
    ///
    /// ```
    /// # use relief_engine::{Cancel, NoImages, Options, Plan, Rect, Renderer};
    /// let text = "relief version=1\ncanvas width=1000000000 height=1000000000\n\
    ///     repeat step-x=100 step-y=100 { (pattern)fill value=200 width=10 height=50 }";
    /// let design = relief_design::parse("a.kdl", text, &NoImages)?;
    /// let cancel = Cancel::new();
    /// let plan = Plan::new(&design, &NoImages, &Options::default().levels())?;
    /// let renderer = Renderer::new(plan, &NoImages, &cancel)?;
    /// let all = Rect::sized(1_000_000_000, 1_000_000_000);
    /// let summary = renderer.counts(all, 1 << 20, &cancel)?.summary();
    /// let runs = renderer.runs(all, &summary)?;
    /// // Half of the rows have a run in every hundredth pixel.
    /// assert_eq!((runs.count.0, runs.longest), (500_000_000 * 10_000_000, (10, 10)));
    /// assert!(runs.is_exact());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Where the window is empty or leaves the raster, or the plan has no levels.
    pub fn runs(&self, window: Rect, summary: &Summary) -> Result<Runs, Error> {
        let raster = self.plan().raster();
        self.check_levels(window, (raster.width, raster.height))?;
        let known = match &self.device {
            Device::Eight(device) => device.with_host(|cpu| cpu.runs(window)),
            Device::Sixteen(device) => device.with_host(|cpu| cpu.runs(window)),
        }?;
        let by_rows = summary.runs(window.width());
        Ok(known.map_or(by_rows, |known| Runs {
            count: known.count,
            longest: (
                known.longest.0.max(by_rows.longest.0),
                known.longest.1.min(by_rows.longest.1),
            ),
        }))
    }

    /// The columns and rows of a level: sample (X, Y) of level L stands for the pixels X·2^L ≤ x < (X + 1)·2^L,
    /// Y·2^L ≤ y < (Y + 1)·2^L that the raster has. Level 0 is the raster.
    #[must_use]
    pub fn level_size(&self, level: u32) -> (u64, u64) {
        let raster = self.plan().raster();
        let side = 1_u64 << level.min(MAX_LEVEL);
        (raster.width.div_ceil(side), raster.height.div_ceil(side))
    }

    /// Reads a window of a level, in coordinates of the level, into `out`, packed. As many samples of the raster are computed for all of it as
    /// `effort` says: with `u64::MAX` the result is exact, however long that takes; with less it may not be, and says how far it may be off.
    /// The plan must have been made with [`Options::levels`](crate::Options::levels).
    ///
    /// # Errors
    /// Where the level is above [`MAX_LEVEL`], the window is empty or leaves it, `out` has not its size or depth, the plan has no levels, or
    /// the job is cancelled.
    #[allow(clippy::too_many_arguments)]
    pub fn read_level(
        &self,
        level: u32,
        window: Rect,
        statistic: Statistic,
        effort: impl Into<Effort>,
        out: SamplesMut<'_>,
        cancel: &Cancel,
    ) -> Result<Exactness, Error> {
        self.level(level, window, statistic, effort.into(), out, cancel)
    }

    fn level(
        &self,
        level: u32,
        window: Rect,
        statistic: Statistic,
        effort: Effort,
        out: SamplesMut<'_>,
        cancel: &Cancel,
    ) -> Result<Exactness, Error> {
        if level > MAX_LEVEL {
            return Err(Error::Option {
                option: "level",
                problem: format!("there is no level {level}; the coarsest is {MAX_LEVEL}"),
            });
        }
        self.check_levels(window, self.level_size(level))?;
        let (samples, depth) = (out.len() as u128, out.depth());
        if samples != window.area() || depth != self.plan().depth() {
            let problem = format!(
                "{samples} samples of {depth} were given for {} of {}",
                describe(window),
                self.plan().depth()
            );
            return Err(Error::Option {
                option: "out",
                problem,
            });
        }
        let known = self.known.as_ref().and_then(|known| known.read(level, window));
        // What lies between two samples, or belongs to a window of another size, is not what was asked for.
        let known = known.filter(|known| {
            known.len() as u128 == samples && known.iter().all(|block| statistic.is_settled(block))
        });
        if let Some(known) = known {
            let figures = known.iter().map(|block| statistic.of(block).0);
            match out {
                SamplesMut::Eight(out) => {
                    out.iter_mut()
                        .zip(figures)
                        .for_each(|(to, from)| *to = u8::from_u16(from));
                }
                SamplesMut::Sixteen(out) => out.iter_mut().zip(figures).for_each(|(to, from)| *to = from),
            }
            return Ok(Exactness::Exact);
        }
        match (&self.device, out) {
            (Device::Eight(device), SamplesMut::Eight(out)) => {
                device.with_host(|cpu| cpu.read_level(level, window, statistic, effort, out, cancel))
            }
            (Device::Sixteen(device), SamplesMut::Sixteen(out)) => {
                device.with_host(|cpu| cpu.read_level(level, window, statistic, effort, out, cancel))
            }
            _ => Ok(Exactness::Exact),
        }
    }

    /// One sample of a node of the program, in its own coordinates and within it.
    pub(crate) fn sample(&self, node: usize, place: (i64, i64), cancel: &Cancel) -> Result<u16, Error> {
        match &self.device {
            Device::Eight(device) => device.with_host(|cpu| cpu.sample(node, place, cancel)),
            Device::Sixteen(device) => device.with_host(|cpu| cpu.sample(node, place, cancel)),
        }
    }

    /// Whether figures of a window of a level with so many columns and rows can be told.
    fn check_levels(&self, window: Rect, (width, height): (u64, u64)) -> Result<(), Error> {
        if !self.plan().levels {
            return Err(Error::Option {
                option: "levels",
                problem: "the plan was made without them".to_owned(),
            });
        }
        if window.is_empty() || !Rect::sized(width, height).contains(&window) {
            return Err(Error::Region {
                region: describe(window),
                width,
                height,
            });
        }
        Ok(())
    }

    /// Whether a window of so many samples of this depth can be read.
    fn check(&self, window: Rect, samples: u128, depth: Depth) -> Result<(), Error> {
        let raster = self.plan().raster();
        if !Rect::sized(raster.width, raster.height).contains(&window) {
            return Err(Error::Region {
                region: describe(window),
                width: raster.width,
                height: raster.height,
            });
        }
        if samples != window.area() || depth != raster.depth {
            let problem = format!(
                "{samples} samples of {depth} were given for {} of {}",
                describe(window),
                raster.depth
            );
            return Err(Error::Option {
                option: "out",
                problem,
            });
        }
        Ok(())
    }

    /// Computes all bands in order and hands each to `sink`; `progress` is told after every band.
    ///
    /// # Errors
    /// The first error of a worker or the sink, or [`Error::Cancelled`]. The sink is then not finished.
    pub fn render(
        &self,
        sink: &mut dyn Sink,
        progress: &mut dyn FnMut(Progress),
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let raster = self.plan().raster();
        sink.use_workers(self.workers());
        sink.begin(&raster).map_err(Error::Sink)?;
        let start = Instant::now();
        let total = u128::from(raster.width) * u128::from(raster.height);
        let mut done = 0;
        let mut hand_over = |band: &Band<'_>| {
            // Bands that were computed already when the job was cancelled are not handed on.
            cancel.check()?;
            sink.write(band).map_err(Error::Sink)?;
            done += band.rect.area();
            progress(Progress {
                done,
                total,
                elapsed: start.elapsed(),
            });
            Ok(())
        };
        match &self.device {
            Device::Eight(device) => device.stream(
                &mut |rect, samples| {
                    hand_over(&Band {
                        rect,
                        samples: Samples::Eight(samples),
                    })
                },
                cancel,
            )?,
            Device::Sixteen(device) => device.stream(
                &mut |rect, samples| {
                    hand_over(&Band {
                        rect,
                        samples: Samples::Sixteen(samples),
                    })
                },
                cancel,
            )?,
        }
        cancel.check()?;
        sink.finish().map_err(Error::Sink)
    }

    /// Computes the tiles of `sink`'s grid that it has not, those of `part` (`None` for all), on all threads of the job: every
    /// tile is handed to the sink by the thread that computed it, in no order. `progress` is told after every tile.
    ///
    /// The plan counts what this holds where [`Options::tiles`](crate::Options::tiles) says the size of a tile.
    ///
    /// # Errors
    /// The first error of a thread or the sink, [`Error::Cancelled`], or a part that does not exist. The sink is then not
    /// finished.
    pub fn render_tiles(
        &self,
        sink: &mut dyn TileSink,
        part: Option<(u64, u64)>,
        progress: &mut dyn FnMut(Progress),
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let raster = self.plan().raster();
        let grid = sink.grid(&raster).map_err(Error::Sink)?;
        let (number, parts) = part.unwrap_or((0, 1));
        let range = grid.part(number, parts).ok_or_else(|| Error::Option {
            option: "part",
            problem: format!("there is no part {number} of {parts}: parts are counted from 0"),
        })?;
        sink.begin(&raster, &grid, &range).map_err(Error::Sink)?;
        let start = Instant::now();
        let total = grid.pixels(&range);
        let mut pixels = 0;
        let mut done = |more: u128| {
            pixels += more;
            progress(Progress {
                done: pixels,
                total,
                elapsed: start.elapsed(),
            });
        };
        let threads = self.plan().threads();
        let shared: &dyn TileSink = sink;
        let is_zero = |rect| self.bounds(rect).is_ok_and(|(_, most)| most == 0);
        match &self.device {
            Device::Eight(device) => {
                let write =
                    |number, rect, samples: &[u8]| hand_on(shared, number, rect, Samples::Eight(samples));
                let fill =
                    |worker, rect, out: &mut [u8], stop: &Cancel| device.fill_on(worker, rect, out, stop);
                deal(
                    threads, &grid, range, shared, &fill, &write, &is_zero, &mut done, cancel,
                )?;
            }
            Device::Sixteen(device) => {
                let write =
                    |number, rect, samples: &[u16]| hand_on(shared, number, rect, Samples::Sixteen(samples));
                let fill =
                    |worker, rect, out: &mut [u16], stop: &Cancel| device.fill_on(worker, rect, out, stop);
                deal(
                    threads, &grid, range, shared, &fill, &write, &is_zero, &mut done, cancel,
                )?;
            }
        }
        sink.finish().map_err(Error::Sink)
    }

    /// One band, counted from 0 as in [`Plan::band`], in memory of its own.
    ///
    /// # Errors
    /// Where there is no such band, memory is refused, or the job is cancelled.
    pub fn band(&self, index: u128, cancel: &Cancel) -> Result<OwnedBand, Error> {
        let rect = self.plan().band(index);
        if rect.is_empty() {
            return Err(Error::Option {
                option: "band",
                problem: format!(
                    "there is no band {index}; the last is {}",
                    self.plan().bands() - 1
                ),
            });
        }
        let count = u64::try_from(rect.area()).unwrap_or(u64::MAX);
        let samples = match &self.device {
            Device::Eight(device) => {
                let mut samples = zeroed(count, "a band")?;
                device.fill(rect, packed_view(&mut samples, rect), cancel)?;
                OwnedSamples::Eight(samples)
            }
            Device::Sixteen(device) => {
                let mut samples = zeroed(count, "a band")?;
                device.fill(rect, packed_view(&mut samples, rect), cancel)?;
                OwnedSamples::Sixteen(samples)
            }
        };
        Ok(OwnedBand { rect, samples })
    }

    /// The bands in order, each computed when it is asked for.
    #[must_use]
    pub fn bands<'a>(&'a self, cancel: &Cancel) -> Bands<'a> {
        Bands {
            renderer: self,
            next: 0,
            cancel: cancel.clone(),
        }
    }
}

impl std::fmt::Debug for Renderer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Renderer")
            .field("plan", self.plan())
            .finish_non_exhaustive()
    }
}

/// Hands a tile to the sink.
fn hand_on(sink: &dyn TileSink, number: u128, rect: Rect, samples: Samples<'_>) -> Result<(), Error> {
    let tile = Tile {
        number,
        rect,
        samples,
    };
    sink.write(&tile).map_err(Error::Sink)
}

/// A band that owns its samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedBand {
    /// The pixels, in coordinates of the streamed raster.
    pub rect: Rect,
    /// Their samples.
    pub samples: OwnedSamples,
}

/// Samples of either depth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnedSamples {
    /// 8 bits.
    Eight(Vec<u8>),
    /// 16 bits.
    Sixteen(Vec<u16>),
}

impl OwnedBand {
    /// The band as sinks take it.
    #[must_use]
    pub fn as_band(&self) -> Band<'_> {
        let samples = match &self.samples {
            OwnedSamples::Eight(samples) => Samples::Eight(samples),
            OwnedSamples::Sixteen(samples) => Samples::Sixteen(samples),
        };
        Band {
            rect: self.rect,
            samples,
        }
    }
}

/// The bands of a raster in order; see [`Renderer::bands`].
#[derive(Debug)]
pub struct Bands<'a> {
    renderer: &'a Renderer,
    next: u128,
    cancel: Cancel,
}

impl Iterator for Bands<'_> {
    type Item = Result<OwnedBand, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let plan = self.renderer.plan();
        if self.next >= plan.bands() {
            return None;
        }
        let computed = self.renderer.band(self.next, &self.cancel);
        self.next = if computed.is_ok() {
            self.next + 1
        } else {
            plan.bands()
        };
        Some(computed)
    }
}

/// All of `out`, packed rows of `rect`.
fn fill_eight(device: &Typed<u8>, window: Rect, out: ViewMut<'_, u8>, cancel: &Cancel) -> Result<(), Error> {
    device.fill(window, out, cancel)
}

fn fill_sixteen(
    device: &Typed<u16>,
    window: Rect,
    out: ViewMut<'_, u16>,
    cancel: &Cancel,
) -> Result<(), Error> {
    device.fill(window, out, cancel)
}

fn packed_view<S>(out: &mut [S], rect: Rect) -> ViewMut<'_, S> {
    ViewMut::packed(out, rect.width() as usize, rect.height() as usize)
}
