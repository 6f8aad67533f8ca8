//! GPUs as devices: what the plan keeps lies on every one of them, and bands are dealt to them in turn.
//!
//! Pictures, cells and patterns are made on the host, once, by the same code that computes on the CPU, and copied
//! to each device. For a strip of bands a device computes the planes that halos read, and keeps them until the strip
//! is done; for each band one fused kernel writes it, and it leaves through page-locked memory. Every device is driven by
//! one or two threads with queues of their own, each with several bands on the way, so that computing, copying and the
//! sink overlap.

mod builder;
mod slots;
mod sparse;
mod store;

use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};

use relief_kernels::device::{Buffer, DeviceError, DeviceId, DeviceReport, Gpu, HostSamples, Reading};
use relief_kernels::fused::{self, Plane};
use relief_raster::{Rect, Sample, ViewMut};

use builder::{Builder, Ready};
use slots::Slots;
use sparse::Sparse;
use store::{Ahead, Residents};

use crate::Error;
use crate::cancel::Cancel;
use crate::cpu::{Asked, Cpu};
use crate::error::describe;
use crate::node::device::{Failure, Launch, Lowering};
use crate::node::{Bounds, part};
use crate::panics::message;
use crate::plan::Plan;
use crate::plan::devices::{self, Buffers};
use crate::plan::planes::{Spared, materialised, needs, pitch, spared};
use crate::prepared::{Prepared, Start};
use crate::sink::HandOver;
use crate::source::ImageSource;
use crate::workers::Workers;

/// Pieces of a window, or of a part of it as high as a band.
const PIECES: u64 = 4;

/// Bytes below which a window is not cut in pieces.
const PIECE_BYTES: u64 = 1 << 20;

/// All devices of a job.
pub(crate) struct Gpus<S> {
    plan: Plan,
    kept: Arc<Kept<S>>,
}

/// What the jobs of parts of a raster share.
struct Kept<S> {
    /// The plan of the whole raster: buffers are as large as it needs.
    whole: Plan,
    devices: Vec<Device>,
    /// Which device reads the next window.
    next: AtomicUsize,
    /// The threads that made what is kept.
    workers: Workers,
    prepared: Prepared,
    /// What the host computes with, where it computes planes for devices.
    host: Option<Box<Cpu<S>>>,
    materialised: Vec<bool>,
    /// How large the buffers of a lane are.
    sizes: OnceLock<Buffers>,
    spared: Vec<Spared>,
}

struct Device {
    gpu: Gpu,
    residents: Residents,
    slots: Slots,
    /// Whether kernels were compiled for a window.
    compiled: AtomicBool,
}

/// What one thread computes with on its device: allocated once, used for every band.
struct Slot {
    output: Buffer,
    planes: Vec<Option<Buffer>>,
    /// What lies between the steps of a node's kernels.
    scratch: Option<Buffer>,
    /// What the host computes planes in: fresh memory for each of them would take longer than computing what is empty.
    host: HostPlane,
    strip: Option<Strip>,
}

/// A plane that the host computes, and those of its tiles that a device takes.
#[derive(Default)]
struct HostPlane {
    words: Vec<u32>,
    tiles: Vec<u32>,
}

/// The planes that lie in a slot.
struct Strip {
    /// The pixels of the canvas for which they were computed.
    rect: Rect,
    /// What of every node is read for them.
    needs: Vec<Rect>,
    ready: Vec<Option<Ready>>,
}

impl<S: Sample> Gpus<S> {
    /// Makes on the host what the plan keeps and copies it to every device.
    pub(crate) fn new(
        plan: Plan,
        images: &dyn ImageSource,
        start: Start<'_>,
        cancel: &Cancel,
    ) -> Result<Self, Error> {
        let (materialised, spared) = (materialised(&plan.program), spared(&plan.program));
        let ids: Vec<DeviceId> = plan
            .device
            .iter()
            .flat_map(|device| device.ids.iter().copied())
            .collect();
        // Starting a device takes a tenth of a second: meanwhile the host makes what is kept.
        let (host, ahead, gpus) = std::thread::scope(|scope| {
            let open = |id: &DeviceId| {
                let id = *id;
                scope.spawn(move || Gpu::open(id).map_err(|error| failed("starting", id, error)))
            };
            let opening: Vec<_> = ids.iter().map(open).collect();
            let host = Cpu::<S>::new(plan.clone(), images, start, cancel);
            tracing::debug!("what is kept is made");
            let ahead = host.as_ref().map_or_else(
                |_| Ahead::default(),
                |host| {
                    host.workers()
                        .run(|| Ahead::pack(&plan.program, host.store(), plan.peak.bands))
                },
            );
            tracing::debug!("cells are packed");
            (
                host,
                ahead,
                opening.into_iter().map(joined).collect::<Result<Vec<_>, _>>(),
            )
        });
        let (host, gpus) = (host?, gpus?);
        tracing::debug!("devices are started");
        let lanes = plan.device.as_ref().map_or(1, |device| device.lanes) * plan.readers;
        let devices = std::thread::scope(|scope| {
            let upload = |gpu: Gpu| {
                let (program, store, ahead) = (&plan.program, host.store(), &ahead);
                scope.spawn(move || {
                    let id = gpu.id();
                    let residents = Residents::upload(&gpu, program, store, ahead)
                        .map_err(|error| failed("copying pictures and cells", id, error))?;
                    Ok(Device {
                        gpu,
                        residents,
                        slots: Slots::new(lanes),
                        compiled: AtomicBool::new(false),
                    })
                })
            };
            let uploading: Vec<_> = gpus.into_iter().map(upload).collect();
            uploading.into_iter().map(joined).collect::<Result<Vec<_>, _>>()
        })?;
        drop(ahead);
        let steps = plan.program.steps.iter().zip(&materialised);
        let mut lowered = steps
            .filter(|(_, plane)| **plane)
            .map(|(step, _)| step.lowering());
        let host_works = lowered.any(|lowering| lowering == Lowering::Host);
        tracing::debug!("what is kept is on the devices");
        let kept = Kept {
            whole: plan.clone(),
            devices,
            next: AtomicUsize::new(0),
            workers: host.workers().clone(),
            prepared: host.prepared(),
            host: (host_works || plan.levels).then(|| Box::new(host)),
            materialised,
            sizes: OnceLock::new(),
            spared,
        };
        Ok(Self {
            plan,
            kept: Arc::new(kept),
        })
    }

    /// The same for a part of the raster.
    pub(crate) fn part(&self, mut plan: Plan) -> Self {
        let (rect, shape) = (plan.region, plan.shape);
        // As high as the buffers hold, and still some for every lane.
        let several = rect.height().div_ceil(2 * shape.bands as u64);
        let rows = self.rows((shape.band_width, several));
        if let Some(device) = &mut plan.device
            && rows > shape.band_height
        {
            plan.shape.band_height = rows;
            // Such a band computes what its halos read for itself.
            device.strip = 1;
        }
        Self {
            plan,
            kept: Arc::clone(&self.kept),
        }
    }

    /// How large the buffers of a lane are: as any strip and band of the whole raster need.
    fn sizes(&self) -> &Buffers {
        self.kept.sizes.get_or_init(|| self.sizes_of_whole())
    }

    fn sizes_of_whole(&self) -> Buffers {
        let (whole, count) = (&self.kept.whole, self.kept.devices.len() as u64);
        let strip = whole.device.as_ref().map_or(1, |device| device.strip);
        let rows = devices::strip_rows(whole.shape, strip, count);
        devices::buffers(
            &whole.program,
            whole.shape,
            rows,
            &self.kept.materialised,
            self.reports(),
        )
    }

    /// How many rows of a window the buffers of a lane hold at once.
    fn rows(&self, window: (u64, u64)) -> u64 {
        let whole = &self.kept.whole;
        self.sizes().rows(
            &whole.program,
            whole.shape,
            window,
            &self.kept.materialised,
            self.reports(),
        )
    }

    fn reports(&self) -> impl Iterator<Item = &DeviceReport> + Clone {
        self.kept.devices.iter().map(|device| device.gpu.report())
    }

    pub(crate) const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Between which samples `rect` lies, in coordinates of the streamed raster.
    pub(crate) fn bounds(&self, rect: Rect) -> Bounds {
        let region = self.plan.region;
        let rect = rect.translated(region.x(), region.y());
        let (program, store) = (
            &self.plan.program,
            self.kept.host.as_ref().map(|host| host.store()),
        );
        Asked::root(program, store, None, 1, false, |root| root.bounds(rect))
    }

    /// The host, where it keeps what the plan does: it tells figures of blocks.
    pub(crate) fn host(&self) -> Option<Cpu<S>> {
        let host = self.kept.host.as_ref()?;
        Some(host.part(self.plan.clone()))
    }

    /// The devices, and the most bytes of buffers that each has held so far.
    pub(crate) fn memory(&self) -> Vec<(DeviceId, u64)> {
        let memory = |device: &Device| (device.gpu.id(), device.gpu.peak());
        self.kept.devices.iter().map(memory).collect()
    }

    /// What preparations gave.
    pub(crate) fn prepared(&self) -> Prepared {
        self.kept.prepared.clone()
    }

    /// The threads of the job.
    pub(crate) fn workers(&self) -> &Workers {
        &self.kept.workers
    }

    /// Computes `rect`, in coordinates of the streamed raster, into `out`. Windows go to the devices in turn.
    pub(crate) fn fill(&self, rect: Rect, mut out: ViewMut<'_, S>, cancel: &Cancel) -> Result<(), Error> {
        cancel.check()?;
        let number = self.kept.next.fetch_add(1, Ordering::Relaxed) % self.kept.devices.len().max(1);
        let device = self
            .kept
            .devices
            .get(number)
            .ok_or_else(|| Error::defect(rect, "a plan for devices names none"))?;
        let _admission = device.slots.admit();
        let mut slot = self.take_slot(device)?;
        self.fill_with(device, &mut slot, rect, &mut out, cancel)?;
        // After a failure its buffers may still be in use: they are not used again.
        device.slots.give_back(slot);
        Ok(())
    }

    /// [`Self::fill`] with the buffers of a lane, in pieces: while one is copied, the next is computed.
    fn fill_with(
        &self,
        device: &Device,
        slot: &mut Slot,
        rect: Rect,
        out: &mut ViewMut<'_, S>,
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let (shape, bytes) = (self.plan.shape, S::DEPTH.bytes());
        let depth = self.plan.device.as_ref().map_or(1, |device| device.depth);
        let mut under_way: VecDeque<(Rect, Reading)> = VecDeque::new();
        let mut finish = |(piece, reading): (Rect, Reading)| {
            let samples = reading.wait().map_err(|error| self.lost(device, piece, error))?;
            unpack(cast::<S>(&samples, piece)?, piece, rect, out);
            Ok::<_, Error>(())
        };
        let high = self.rows((rect.width(), rect.height()));
        let high = high.max(shape.band_height);
        for strip in parts(rect, shape.band_width, high) {
            if !device.compiled.load(Ordering::Acquire) {
                self.compile_ahead(device, slot, strip, strip, cancel)?;
                device.compiled.store(true, Ordering::Release);
            }
            let rows = (PIECE_BYTES / (strip.width() * bytes))
                .max(strip.height().div_ceil(PIECES))
                .max(1);
            for piece in parts(strip, strip.width(), rows) {
                cancel.check()?;
                if under_way.len() >= depth
                    && let Some(first) = under_way.pop_front()
                {
                    finish(first)?;
                }
                under_way.push_back((piece, self.compute(device, slot, piece, strip, cancel)?));
            }
        }
        under_way.into_iter().try_for_each(finish)
    }

    /// Computes all bands, dealt to the devices in turn, and hands them over in order.
    pub(crate) fn stream(&self, hand_over: &mut HandOver<'_, S>, cancel: &Cancel) -> Result<(), Error> {
        let Some(plan) = &self.plan.device else {
            return Err(Error::defect(Rect::EMPTY, "a plan for devices names none"));
        };
        let bands = self.plan.bands();
        let deal = Deal {
            devices: self.kept.devices.len() as u128,
            lanes: plan.lanes as u128,
            strip: u128::from(plan.strip),
        };
        let stop = Cancel::new();
        std::thread::scope(|scope| {
            let mut lanes = Vec::new();
            // Dropped to open them.
            let mut gates = Vec::new();
            let count = self.kept.devices.len() * plan.lanes;
            for number in 0..count {
                // Neighbouring bands go to different devices.
                let device = &self.kept.devices[number % self.kept.devices.len()];
                let (send, receive) = mpsc::sync_channel(0);
                // Page-locking memory for bands is slow, and the driver does it for one lane after the other: the first band
                // does not wait until the second lanes have theirs.
                let gate = (number >= self.kept.devices.len()).then(|| {
                    let (open, opened) = mpsc::channel::<()>();
                    gates.push(open);
                    opened
                });
                let mine = deal.bands_of(number as u128, bands);
                let stop = &stop;
                std::thread::Builder::new()
                    .name(format!("relief-{}-{number}", device.gpu.id()))
                    .spawn_scoped(scope, move || {
                        if let Some(gate) = gate {
                            // Nothing is ever sent: this returns when the gate is dropped.
                            let _ = gate.recv();
                        }
                        let drive = || self.drive(device, mine, deal, plan.depth, &send, stop, cancel);
                        let driven = catch_unwind(AssertUnwindSafe(drive)).unwrap_or_else(|panic| {
                            Err(Error::defect(Rect::EMPTY, &message(panic.as_ref())))
                        });
                        if let Err(error) = driven {
                            // The other side is gone where the job has failed already.
                            let _ = send.send(Err(error));
                        }
                    })
                    .map_err(|error| Error::Threads(Box::new(error)))?;
                lanes.push(receive);
            }
            let mut packed = Vec::new();
            for band in 0..bands {
                let lane = &lanes[deal.lane_of(band) as usize];
                let ended = || {
                    Err(Error::defect(
                        Rect::EMPTY,
                        "a thread that drives a device ended early",
                    ))
                };
                let finished = lane.recv().unwrap_or_else(|_| ended());
                let handed = finished.and_then(|(rect, samples): (Rect, HostSamples)| {
                    if band == 0 {
                        tracing::debug!("the first band is computed");
                    }
                    let samples = contiguous::<S>(&samples, rect, &mut packed)?;
                    hand_over(rect, samples)
                });
                gates.clear();
                handed.inspect_err(|_| stop.cancel())?;
            }
            Ok(())
        })
    }

    /// Computes the bands of one lane with several on the way.
    #[allow(clippy::too_many_arguments)]
    fn drive(
        &self,
        device: &Device,
        bands: impl Iterator<Item = u128>,
        deal: Deal,
        depth: usize,
        finished: &mpsc::SyncSender<Result<(Rect, HostSamples), Error>>,
        stop: &Cancel,
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let mut slot = self.take_slot(device)?;
        tracing::debug!("planes of {} are allocated", device.gpu.id());
        let mut under_way: VecDeque<(Rect, Reading)> = VecDeque::new();
        let mut bands = bands.fuse().peekable();
        if let Some(band) = bands.peek() {
            self.compile_ahead(
                device,
                &mut slot,
                self.plan.band(*band),
                self.strip(deal.strip_of(*band)),
                cancel,
            )?;
            tracing::debug!("kernels of {} are compiled", device.gpu.id());
        }
        // The first band is waited for alone: memory for the next would be page-locked before it is handed on.
        let mut ahead = 1;
        loop {
            if stop.is_cancelled() {
                return Ok(());
            }
            cancel.check()?;
            while under_way.len() < ahead
                && let Some(band) = bands.next()
            {
                let rect = self.plan.band(band);
                let strip = self.strip(deal.strip_of(band));
                under_way.push_back((rect, self.compute(device, &mut slot, rect, strip, cancel)?));
            }
            let Some((rect, reading)) = under_way.pop_front() else {
                device.slots.give_back(slot);
                return Ok(());
            };
            let samples = reading.wait().map_err(|error| self.lost(device, rect, error))?;
            if finished.send(Ok((rect, samples))).is_err() {
                return Ok(());
            }
            ahead = depth;
        }
    }

    /// The pixels, in coordinates of the streamed raster, of the bands from `strip.start` up to `strip.end`.
    fn strip(&self, strip: Range<u128>) -> Rect {
        let last = strip.end.min(self.plan.bands()) - 1;
        self.plan.band(strip.start).union(&self.plan.band(last))
    }

    /// The buffers of one lane, those of an earlier job if there are any.
    fn take_slot(&self, device: &Device) -> Result<Slot, Error> {
        device.slots.take().map_or_else(|| self.slot(device), Ok)
    }

    /// The buffers of one lane, as large as any strip and band need.
    fn slot(&self, device: &Device) -> Result<Slot, Error> {
        let sizes = self.sizes();
        let allocate = |words: u64| {
            let words = usize::try_from(words).unwrap_or(usize::MAX);
            device
                .gpu
                .buffer(words)
                .map_err(|error| failed("allocating planes", device.gpu.id(), error))
        };
        // What the host computes comes with buffers of its own.
        let steps = sizes.planes.iter().zip(&self.plan.program.steps);
        let planes = steps.map(|(words, step)| {
            let allocated = *words > 0 && step.lowering() != Lowering::Host;
            allocated.then(|| allocate(*words)).transpose()
        });
        Ok(Slot {
            output: allocate(sizes.output)?,
            planes: planes.collect::<Result<_, Error>>()?,
            scratch: (sizes.scratch > 0).then(|| allocate(sizes.scratch)).transpose()?,
            host: HostPlane::default(),
            strip: None,
        })
    }

    /// Compiles the kernels of a band before the first of them is asked for.
    fn compile_ahead(
        &self,
        device: &Device,
        slot: &mut Slot,
        rect: Rect,
        strip: Rect,
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let ask = || {
            self.ask(device, slot, rect, strip, cancel)
                .map(drop)
                .map_err(Failure::Engine)
        };
        let asked = device.gpu.compile_ahead(ask);
        // Nothing was computed.
        slot.strip = None;
        asked.map_err(|failure| self.blame(device, rect, failure))
    }

    /// Asks a device for a band, and for its way to the host.
    fn compute(
        &self,
        device: &Device,
        slot: &mut Slot,
        rect: Rect,
        strip: Rect,
        cancel: &Cancel,
    ) -> Result<Reading, Error> {
        let words = self.ask(device, slot, rect, strip, cancel)?;
        Ok(device.gpu.read(&slot.output, words))
    }

    /// Asks a device for a band; returns how many words it takes. `strip` holds the band, in coordinates of the streamed raster:
    /// what is read for all of it is computed at its first band.
    fn ask(
        &self,
        device: &Device,
        slot: &mut Slot,
        rect: Rect,
        strip: Rect,
        cancel: &Cancel,
    ) -> Result<usize, Error> {
        let region = self.plan.region;
        let place = |rect: Rect| rect.translated(region.x(), region.y());
        let (band, strip) = (place(rect), place(strip));
        if slot.strip.as_ref().is_none_or(|ready| ready.rect != strip) {
            slot.strip = None;
            slot.strip = Some(self.planes(device, slot, rect, strip, cancel)?);
        }
        let Some(Strip { needs, ready, .. }) = &slot.strip else {
            return Err(Error::defect(rect, "a strip was not computed"));
        };
        let program = &self.plan.program;
        let builder = Builder {
            program,
            residents: &device.residents,
            needs,
            ready,
        };
        let expression = builder.node(program.root())?;
        let pitch = pitch(band.width(), S::DEPTH.bytes());
        fused::render(
            &device.gpu,
            &expression,
            S::DEPTH,
            self.kept.whole.region,
            band,
            &slot.output,
            pitch,
        )
        .map_err(|error| self.lost(device, rect, error))?;
        Ok(pitch as usize * band.height() as usize)
    }

    /// Computes the planes that are read for a strip of the canvas, of which `rect` is asked for first.
    fn planes(
        &self,
        device: &Device,
        slot: &mut Slot,
        rect: Rect,
        strip: Rect,
        cancel: &Cancel,
    ) -> Result<Strip, Error> {
        let program = &self.plan.program;
        let needs = needs(program, strip);
        let mut ready: Vec<Option<Ready>> = vec![None; program.steps.len()];
        for index in 0..program.steps.len() {
            if self.kept.materialised[index] && !needs[index].is_empty() {
                let builder = Builder {
                    program,
                    residents: &device.residents,
                    needs: &needs,
                    ready: &ready,
                };
                let spared = match (builder.constant::<S>(index)?, self.kept.spared[index]) {
                    (Some(0), Spared::Zero) => Some(0),
                    (constant, Spared::Any) => constant,
                    _ => None,
                };
                ready[index] = Some(match spared {
                    Some(value) => Ready::Constant(value),
                    None => Ready::Plane(
                        self.plane(device, slot, &builder, index, cancel)
                            .map_err(|error| self.blame(device, rect, error))?,
                    ),
                });
            }
        }
        Ok(Strip {
            rect: strip,
            needs,
            ready,
        })
    }

    /// Computes the samples of a node that the band reads into a plane.
    fn plane(
        &self,
        device: &Device,
        slot: &mut Slot,
        builder: &Builder<'_>,
        index: usize,
        cancel: &Cancel,
    ) -> Result<Plane, Failure> {
        let step = &self.plan.program.steps[index];
        let need = builder.needs[index];
        if step.lowering() == Lowering::Host && !builder.is_kept(index) {
            return self.host_plane(device, &mut slot.host, index, need, cancel);
        }
        let pitch = pitch(need.width(), S::DEPTH.bytes());
        let buffer = match slot.planes[index].clone() {
            Some(buffer) => buffer,
            // Of what the host computes elsewhere the cell is kept here: as much as the host would have copied.
            None if step.lowering() == Lowering::Host => {
                device.gpu.buffer(pitch as usize * need.height() as usize)?
            }
            None => return Err(Error::defect(need, "a plane of a device was not allocated").into()),
        };
        let launch = Launch {
            gpu: &device.gpu,
            depth: S::DEPTH,
            children: Vec::new(),
            upload: device.residents.uploads[index].as_ref(),
            scratch: slot.scratch.as_ref(),
            whole: step.need,
            need,
            out: &buffer,
            pitch,
        };
        if step.lowering() == Lowering::Kernel && !builder.is_kept(index) {
            let children = step.links.iter().map(|link| builder.plane(link.node));
            let launch = Launch {
                children: children.collect::<Result<_, Error>>()?,
                ..launch
            };
            step.kind.launch(&launch, &step.links)?;
        } else {
            launch.render(&builder.node(index)?)?;
        }
        // A plane fits a buffer, whose words are counted in 32 bits.
        let (width, height) = (need.width() as u32, need.height() as u32);
        Plane::new(buffer, 0, pitch, width, height, S::DEPTH)
            .ok_or_else(|| Error::defect(need, "a plane of a device does not hold what is read of it").into())
    }

    /// Has the host compute the samples `need` of a node, and copies them to a device.
    fn host_plane(
        &self,
        device: &Device,
        HostPlane { words, tiles }: &mut HostPlane,
        index: usize,
        need: Rect,
        cancel: &Cancel,
    ) -> Result<Plane, Failure> {
        let host = self.kept.host.as_ref();
        let host = host.ok_or_else(|| Error::defect(need, "the host keeps nothing to compute with"))?;
        let pitch = pitch(need.width(), S::DEPTH.bytes());
        let per_row = pitch as usize * 4 / size_of::<S>();
        let rows = need.height() as usize;
        let count = pitch as usize * rows;
        // What it held is written over, or is not read.
        let more = count.saturating_sub(words.len());
        words.try_reserve_exact(more).map_err(|_| Error::Allocation {
            bytes: 4 * count as u64,
            purpose: "a plane of a device",
        })?;
        words.resize(count, 0);
        let samples: &mut [S] = bytemuck::cast_slice_mut(words.as_mut_slice());
        let out = ViewMut::new(samples, need.width() as usize, rows, per_row);
        let buffer = match Sparse::new::<S>(host.tile(), need, pitch) {
            Some(sparse) => {
                let tile = Sparse::whole::<S>(host.tile());
                host.fill_apart(index, need, out, tile, cancel, |rect, filled, part| {
                    let at = (rect.x() - need.x(), rect.y() - need.y());
                    sparse.note((at.0 as usize, at.1 as usize), filled, part);
                })?;
                sparse.upload::<S>(&device.gpu, words, need.width(), tiles)?
            }
            None => {
                host.fill_node(index, need, out, cancel, false)?;
                sparse::clear_ends::<S>(words, pitch, need.width());
                store::to_device::<S>(words);
                device.gpu.upload(words)?
            }
        };
        // A plane fits a buffer, whose words are counted in 32 bits.
        Plane::new(
            buffer,
            0,
            pitch,
            need.width() as u32,
            need.height() as u32,
            S::DEPTH,
        )
        .ok_or_else(|| Error::defect(need, "a plane of a device does not hold what is read of it").into())
    }

    fn lost(&self, device: &Device, band: Rect, error: DeviceError) -> Error {
        failed(&format!("the band of {}", describe(band)), device.gpu.id(), error)
    }

    fn blame(&self, device: &Device, band: Rect, failure: Failure) -> Error {
        match failure {
            Failure::Device(error) => self.lost(device, band, error),
            Failure::Engine(error) => error,
        }
    }
}

/// Which lane computes which bands. Bands go to the devices in turn; of those of one device, strips go to its lanes
/// in turn.
#[derive(Clone, Copy)]
struct Deal {
    devices: u128,
    /// Of one device.
    lanes: u128,
    /// Bands of one device in a strip.
    strip: u128,
}

impl Deal {
    /// The number of the lane, among those of all devices, that computes a band: devices count fastest.
    const fn lane_of(self, band: u128) -> u128 {
        band % self.devices + self.devices * (band / self.devices / self.strip % self.lanes)
    }

    /// The bands of the strip that holds a band: those of all devices.
    const fn strip_of(self, band: u128) -> Range<u128> {
        if self.strip == 1 {
            return band..band + 1;
        }
        let all = self.strip * self.devices;
        let first = band / all * all;
        first..first + all
    }

    /// The bands of a lane, of `bands` in all.
    fn bands_of(self, lane: u128, bands: u128) -> impl Iterator<Item = u128> {
        let (device, number) = (lane % self.devices, lane / self.devices);
        (number..)
            .step_by(self.lanes as usize)
            .map(move |strip| strip * self.strip * self.devices + device)
            .take_while(move |first| *first < bands)
            .flat_map(move |first| (0..self.strip).map(move |i| first + i * self.devices))
            .take_while(move |band| *band < bands)
    }
}

/// What a thread that starts or fills a device came to.
fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, Result<T, Error>>) -> Result<T, Error> {
    thread.join().unwrap_or_else(|_| {
        Err(Error::defect(
            Rect::EMPTY,
            "a thread that starts a device ended early",
        ))
    })
}

fn failed(job: &str, id: DeviceId, error: DeviceError) -> Error {
    Error::Device {
        job: job.to_owned(),
        device: id.to_string(),
        source: Box::new(error),
    }
}

/// The parts of a window that a band's buffers can hold, row by row.
fn parts(rect: Rect, width: u64, height: u64) -> impl Iterator<Item = Rect> {
    let (columns, rows) = (width.cast_signed(), height.cast_signed());
    let lines = rect.height().div_ceil(height).cast_signed();
    let across = rect.width().div_ceil(width).cast_signed();
    (0..lines).flat_map(move |line| {
        (0..across).map(move |column| {
            let (x, y) = (rect.x() + column * columns, rect.y() + line * rows);
            Rect::between(x, y, x + columns, y + rows).intersection(&rect)
        })
    })
}

/// Puts a piece, whose rows are padded, into the window `rect`.
fn unpack<S: Sample>(samples: &[S], piece: Rect, rect: Rect, out: &mut ViewMut<'_, S>) {
    let columns = piece.width() as usize;
    let pitch = pitch(piece.width(), S::DEPTH.bytes()) as usize * 4 / size_of::<S>();
    let mut out = part(out, piece.translated(-rect.x(), -rect.y()));
    for (y, row) in samples.chunks(pitch).take(piece.height() as usize).enumerate() {
        out.row_mut(y).copy_from_slice(&row[..columns]);
    }
}

fn cast<S: Sample>(bytes: &[u8], rect: Rect) -> Result<&[S], Error> {
    bytemuck::try_cast_slice(bytes).map_err(|_| Error::defect(rect, "samples from a device are not aligned"))
}

/// The samples of a band without the gaps at the ends of its rows.
fn contiguous<'a, S: Sample>(bytes: &'a [u8], rect: Rect, packed: &'a mut Vec<S>) -> Result<&'a [S], Error> {
    let samples = cast::<S>(bytes, rect)?;
    let (columns, rows) = (rect.width() as usize, rect.height() as usize);
    let pitch = pitch(rect.width(), S::DEPTH.bytes()) as usize * 4 / size_of::<S>();
    if pitch == columns || rows == 1 {
        return Ok(&samples[..columns * rows]);
    }
    packed.clear();
    for row in samples.chunks(pitch).take(rows) {
        packed.extend_from_slice(&row[..columns]);
    }
    Ok(packed)
}
