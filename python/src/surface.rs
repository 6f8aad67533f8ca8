//! A surface: a design made ready to be read.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use numpy::{Element, PyArray2, PyArrayMethods, PyReadwriteArray2};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use relief_engine::{
    Cancel, Depth, Error, Exactness, Rect, Renderer, Sample, SamplesMut, Statistic, ViewMut,
};

use crate::design::{Means, Opened, rectangle};
use crate::errors::Failure;
use crate::export::{self, Export};
use crate::{asked, bundle, plan, watch};

/// A window: x, y, width and height.
type Window = (i64, i64, u64, u64);

/// A start, a count and a step above 0.
type Steps = (u64, u64, u64);

/// A design made ready to be read, and a part of its canvas.
#[pyclass(frozen, module = "relief_surfaces._native")]
pub(crate) struct Surface {
    opened: Arc<Opened>,
    means: Means,
    renderer: Renderer,
    region: Option<Rect>,
    /// Held by whoever writes a file: the plan counts one at a time.
    writing: Arc<Mutex<()>>,
    /// The nanoseconds that 1 024 samples of the last window took; 0 before the first.
    pace: Arc<AtomicU64>,
}

/// Samples that a NumPy array holds.
trait Element8Or16: Sample + Element {
    fn samples_mut(samples: &mut [Self]) -> SamplesMut<'_>;
}

impl Element8Or16 for u8 {
    fn samples_mut(samples: &mut [Self]) -> SamplesMut<'_> {
        SamplesMut::Eight(samples)
    }
}

impl Element8Or16 for u16 {
    fn samples_mut(samples: &mut [Self]) -> SamplesMut<'_> {
        SamplesMut::Sixteen(samples)
    }
}

/// The rows of an array that are read at once where progress is told, in bytes.
const STEP: u64 = 32 << 20;

/// A window of at most so many samples is computed by the thread that asks for it, where it takes less than this: handing it to
/// another one costs as long as a small window, and on a busy machine much longer.
const SHORT: u128 = 1 << 18;
const SHORT_TIME: Duration = Duration::from_millis(20);

impl Surface {
    pub(crate) fn new(opened: Arc<Opened>, means: Means, renderer: Renderer, region: Option<Rect>) -> Self {
        Self {
            opened,
            means,
            renderer,
            region,
            writing: Arc::default(),
            pace: Arc::default(),
        }
    }

    fn depth(&self) -> Depth {
        self.renderer.plan().depth()
    }

    fn rect(py: Python<'_>, window: Window) -> PyResult<Rect> {
        rectangle(window).map_err(|failure| failure.raised(py))
    }

    /// Whether a window of so many samples is over before anybody would miss Ctrl-C, by how long the last one took.
    fn is_short(&self, samples: u128) -> bool {
        let pace = u128::from(self.pace.load(Ordering::Relaxed));
        pace > 0 && samples <= SHORT && samples * pace / 1_024 < SHORT_TIME.as_nanos()
    }

    /// Notes how long a window took.
    fn learn(&self, samples: u128, taken: Duration) {
        let pace = (taken.as_nanos() * 1_024).checked_div(samples).unwrap_or(0);
        self.pace
            .store(u64::try_from(pace).unwrap_or(u64::MAX).max(1), Ordering::Relaxed);
    }

    /// A new array of so many rows and columns, filled by `fill`.
    fn filled<'py, S: Element8Or16>(
        py: Python<'py>,
        (width, height): (u64, u64),
        short: bool,
        fill: impl FnOnce(&mut [S], &Cancel) -> Result<(), Error> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let bytes = u128::from(width) * u128::from(height) * size_of::<S>() as u128;
        if bytes > isize::MAX as u128 {
            let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
            let refused = Error::Allocation {
                bytes,
                purpose: "an array",
            };
            return Err(Failure::Engine(refused).raised(py));
        }
        let array = PyArray2::<S>::zeros(py, [height as usize, width as usize], false);
        {
            let mut writable = array.readwrite();
            let samples = writable.as_slice_mut()?;
            let outcome = if short {
                py.detach(|| fill(samples, &Cancel::new()))
            } else {
                watch::run(py, None, |cancel, _| fill(samples, cancel))?
            };
            outcome.map_err(|error| Failure::Engine(error).raised(py))?;
        }
        Ok(array.into_any())
    }

    /// Fills a packed array with the window of its size at x, y.
    fn fill<S: Element8Or16>(
        &self,
        py: Python<'_>,
        mut out: PyReadwriteArray2<'_, S>,
        (x, y): (i64, i64),
        progress: Option<&Py<PyAny>>,
    ) -> PyResult<()> {
        let (rows, columns) = (out.as_array().nrows(), out.as_array().ncols());
        if rows == 0 || columns == 0 {
            return Ok(());
        }
        let window = Self::rect(py, (x, y, columns as u64, rows as u64))?;
        let samples = out
            .as_slice_mut()
            .map_err(|_| PyTypeError::new_err("the array is not contiguous in the order of C"))?;
        let step = if progress.is_some() {
            (STEP / (columns * size_of::<S>()) as u64).clamp(1, rows as u64) as usize
        } else {
            rows
        };
        let renderer = &self.renderer;
        let outcome = watch::run(py, progress, |cancel, meter| {
            let total = window.area();
            let mut done = 0;
            for piece in samples.chunks_mut(step * columns) {
                let height = (piece.len() / columns) as u64;
                let row = y + done as i64;
                let part = Rect::new(x, row, columns as u64, height).unwrap_or(Rect::EMPTY);
                renderer.read_view(part, ViewMut::packed(piece, columns, height as usize), cancel)?;
                done += height;
                meter.set(u128::from(done) * columns as u128, total);
            }
            Ok::<(), Error>(())
        })?;
        outcome.map_err(|error| Failure::Engine(error).raised(py))
    }
}

#[pymethods]
impl Surface {
    /// Rows and columns.
    #[getter]
    fn shape(&self) -> (u64, u64) {
        let raster = self.renderer.plan().raster();
        (raster.height, raster.width)
    }

    /// The bits of a sample: 8 or 16.
    #[getter]
    fn bits(&self) -> u32 {
        self.depth().bits()
    }

    /// What messages call the design.
    #[getter]
    fn name(&self) -> &str {
        &self.opened.name
    }

    /// The part of the canvas: x, y, width and height.
    #[getter]
    fn region(&self) -> Window {
        let region = self.renderer.plan().region();
        (region.x(), region.y(), region.width(), region.height())
    }

    /// The side of a pixel in metres, where the design says it.
    #[getter]
    fn pixel(&self) -> Option<f64> {
        self.renderer
            .plan()
            .raster()
            .pixel
            .map(relief_engine::Length::to_metres)
    }

    /// The height in metres that the greatest sample stands for, where the design says it.
    #[getter]
    fn amplitude(&self) -> Option<f64> {
        self.opened
            .design
            .canvas()
            .amplitude
            .map(relief_engine::Length::to_metres)
    }

    /// Whether figures of blocks can be told.
    #[getter]
    fn has_levels(&self) -> bool {
        self.renderer.plan().levels()
    }

    /// The digest of all that decides the samples: of the design, its parameters and its pictures. Reads the pictures.
    fn digest(&self, py: Python<'_>) -> PyResult<String> {
        let digest = watch::run(py, None, |_, _| self.opened.job(None))?;
        digest
            .map(|digest| digest.to_hex().to_string())
            .map_err(|failure| failure.raised(py))
    }

    /// The digests of the text with its parameters, and of each picture.
    fn digests(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let opened = &self.opened;
        let digests = watch::run(py, None, |_, _| {
            let mut digests = vec![(String::new(), opened.digest.to_hex().to_string())];
            for name in opened.pictures() {
                let digest = opened.source.digest(name)?;
                digests.push((name.to_owned(), digest.to_hex().to_string()));
            }
            Ok::<_, Failure>(digests)
        })?;
        digests.map_err(|failure| failure.raised(py))
    }

    /// The design with its values and all files that it names as a packed job of at most `limit` bytes.
    fn bundle<'py>(&self, py: Python<'py>, limit: u64) -> PyResult<Bound<'py, PyBytes>> {
        let packed = watch::run(py, None, |cancel, _| bundle::packed(&self.opened, limit, cancel))?;
        let packed = packed.map_err(|failure| failure.raised(py))?;
        Ok(PyBytes::new(py, &packed))
    }

    /// The plan as JSON.
    fn plan(&self, py: Python<'_>) -> String {
        py.detach(|| plan::told(self.renderer.plan()))
    }

    /// A part of this surface, which shares what is cached with it.
    fn part(&self, py: Python<'_>, window: Window) -> PyResult<Self> {
        let rect = Self::rect(py, window)?;
        let region = self.renderer.plan().region();
        let rect = rect.translated(region.x(), region.y());
        let renderer = self
            .renderer
            .part(rect)
            .map_err(|error| Failure::Engine(error).raised(py))?;
        Ok(Self {
            opened: Arc::clone(&self.opened),
            means: self.means.clone(),
            renderer,
            region: Some(rect),
            writing: Arc::clone(&self.writing),
            pace: Arc::clone(&self.pace),
        })
    }

    /// A window as an array.
    fn read<'py>(&self, py: Python<'py>, window: Window) -> PyResult<Bound<'py, PyAny>> {
        let rect = Self::rect(py, window)?;
        let size = (rect.width(), rect.height());
        let renderer = &self.renderer;
        let (short, start) = (self.is_short(rect.area()), Instant::now());
        let array = match self.depth() {
            Depth::Eight => Self::filled::<u8>(py, size, short, |out, cancel| {
                renderer.read(rect, SamplesMut::Eight(out), cancel)
            }),
            Depth::Sixteen => Self::filled::<u16>(py, size, short, |out, cancel| {
                renderer.read(rect, SamplesMut::Sixteen(out), cancel)
            }),
        }?;
        self.learn(rect.area(), start.elapsed());
        Ok(array)
    }

    /// Some of the columns and rows of a window as an array.
    fn read_steps<'py>(&self, py: Python<'py>, x: Steps, y: Steps) -> PyResult<Bound<'py, PyAny>> {
        let renderer = &self.renderer;
        match self.depth() {
            Depth::Eight => Self::filled::<u8>(py, (x.1, y.1), false, |out, cancel| {
                steps(renderer, x, y, out, cancel)
            }),
            Depth::Sixteen => Self::filled::<u16>(py, (x.1, y.1), false, |out, cancel| {
                steps(renderer, x, y, out, cancel)
            }),
        }
    }

    /// The window at x, y into an array of its size.
    #[pyo3(signature = (out, x, y, progress=None))]
    fn read_into(
        &self,
        py: Python<'_>,
        out: &Bound<'_, PyAny>,
        x: i64,
        y: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let progress = progress.as_ref();
        match self.depth() {
            Depth::Eight => self.fill::<u8>(py, out.extract()?, (x, y), progress),
            Depth::Sixteen => self.fill::<u16>(py, out.extract()?, (x, y), progress),
        }
    }

    /// The pixels of a band.
    fn band(&self, index: u64) -> Option<Window> {
        let rect = self.renderer.plan().band(index.into());
        (!rect.is_empty()).then(|| (rect.x(), rect.y(), rect.width(), rect.height()))
    }

    /// The rows and columns of a level.
    fn level_shape(&self, level: u32) -> (u64, u64) {
        let (width, height) = self.renderer.level_size(level);
        (height, width)
    }

    /// A window of a level as an array, and within how much it is exact.
    #[pyo3(signature = (level, window, statistic, effort))]
    fn read_level<'py>(
        &self,
        py: Python<'py>,
        level: u32,
        window: Window,
        statistic: &str,
        effort: Option<u64>,
    ) -> PyResult<(Bound<'py, PyAny>, u16)> {
        let statistic = of_word(statistic).map_err(|failure| failure.raised(py))?;
        match self.depth() {
            Depth::Eight => self.level_of::<u8>(py, level, window, statistic, effort),
            Depth::Sixteen => self.level_of::<u16>(py, level, window, statistic, effort),
        }
    }

    /// What is known of the samples of a window together.
    #[pyo3(signature = (window, statistic, effort))]
    fn summary<'py>(
        &self,
        py: Python<'py>,
        window: Window,
        statistic: &str,
        effort: Option<u64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let statistic = of_word(statistic).map_err(|failure| failure.raised(py))?;
        let rect = Self::rect(py, window)?;
        let summary = watch::run(py, None, |cancel, _| {
            self.renderer
                .summary(rect, statistic, effort.unwrap_or(u64::MAX), cancel)
        })?;
        let summary = summary.map_err(|error| Failure::Engine(error).raised(py))?;
        let told = PyDict::new(py);
        told.set_item("pixels", summary.pixels)?;
        told.set_item("sum", summary.sum)?;
        told.set_item("zeros", summary.zeros)?;
        told.set_item("mean", summary.mean())?;
        told.set_item("min", summary.least)?;
        told.set_item("max", summary.greatest)?;
        Ok(told)
    }

    /// Between which samples all of a window lie.
    fn bounds(&self, py: Python<'_>, window: Window) -> PyResult<(u16, u16)> {
        let rect = Self::rect(py, window)?;
        let bounds = py.detach(|| self.renderer.bounds(rect));
        bounds.map_err(|error| Failure::Engine(error).raised(py))
    }

    /// The nodes that the sample in a column and a row is made of.
    fn why<'py>(&self, py: Python<'py>, x: i64, y: i64) -> PyResult<Bound<'py, PyDict>> {
        let region = self.renderer.plan().region();
        let place = Self::rect(py, (x, y, 1, 1))?.translated(region.x(), region.y());
        let (opened, means) = (&self.opened, &self.means);
        let story = watch::run(py, None, |cancel, _| {
            asked::why(opened, means, (place.x(), place.y()), cancel)
        })?;
        asked::told_why(py, opened, &story.map_err(|failure| failure.raised(py))?)
    }

    /// How often each sample stands in a window: of all pixels, of those that are known, and each count, where all are known.
    #[pyo3(signature = (window, effort))]
    fn histogram(
        &self,
        py: Python<'_>,
        window: Window,
        effort: Option<u64>,
    ) -> PyResult<(u128, u128, Option<Vec<u128>>)> {
        let region = self.renderer.plan().region();
        let window = Self::rect(py, window)?.translated(region.x(), region.y());
        let counts = watch::run(py, None, |cancel, _| {
            asked::counts(
                &self.opened,
                &self.means,
                window,
                effort.unwrap_or(u64::MAX),
                cancel,
            )
        })?;
        let counts = counts.map_err(|failure| failure.raised(py))?;
        let all = counts.is_exact().then(|| counts.least().to_vec());
        Ok((counts.pixels(), counts.known(), all))
    }

    /// Where another surface differs from this one. Parts are of the same region.
    fn difference<'py>(
        &self,
        py: Python<'py>,
        other: &Bound<'py, Self>,
        effort: Option<u64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let other = other.get();
        let (region, there) = (self.renderer.plan().region(), other.renderer.plan().region());
        if (self.region.is_some() || other.region.is_some()) && region != there {
            let problem = format!(
                "parts of one region are compared; this one has {} × {} pixels at {}, {} of its canvas, the other {} × {} at {}, {}",
                region.width(),
                region.height(),
                region.x(),
                region.y(),
                there.width(),
                there.height(),
                there.x(),
                there.y(),
            );
            return Err(Failure::Option("other", problem).raised(py));
        }
        let difference = watch::run(py, None, |cancel, _| {
            let both = (&*self.opened, &*other.opened);
            asked::difference(both, &self.means, region, effort.unwrap_or(u64::MAX), cancel)
        })?;
        let difference = difference.map_err(|failure| failure.raised(py))?;
        asked::told_difference(py, &difference, region)
    }

    /// Computes all samples into a file, or a part of them.
    #[pyo3(signature = (path, export, progress=None))]
    fn render(
        &self,
        py: Python<'_>,
        path: std::path::PathBuf,
        export: Export,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Option<u64>> {
        let raster = self.renderer.plan().raster();
        let job = export::Job {
            opened: &self.opened,
            means: &self.means,
            region: self.region,
            raster,
            path: &path,
            export: &export,
        };
        let outcome = watch::run(py, progress.as_ref(), |cancel, meter| {
            let _one = self
                .writing
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            job.run(cancel, meter)
        })?;
        outcome.map_err(|failure| failure.raised(py))
    }
}

impl Surface {
    fn level_of<'py, S: Element8Or16>(
        &self,
        py: Python<'py>,
        level: u32,
        window: Window,
        statistic: Statistic,
        effort: Option<u64>,
    ) -> PyResult<(Bound<'py, PyAny>, u16)> {
        let rect = Self::rect(py, window)?;
        let mut within = 0;
        let (renderer, effort, told) = (&self.renderer, effort.unwrap_or(u64::MAX), &mut within);
        let array = Self::filled::<S>(py, (rect.width(), rect.height()), false, |out, cancel| {
            let out = S::samples_mut(out);
            let exactness = renderer.read_level(level, rect, statistic, effort, out, cancel)?;
            if let Exactness::Within(most) = exactness {
                *told = most;
            }
            Ok(())
        })?;
        Ok((array, within))
    }
}

fn of_word(word: &str) -> Result<Statistic, Failure> {
    match word {
        "mean" => Ok(Statistic::Mean),
        "min" => Ok(Statistic::Least),
        "max" => Ok(Statistic::Greatest),
        _ => Err(Failure::Option(
            "statistic",
            format!(
                "\"{}\" is none; there are \"mean\", \"min\" and \"max\"",
                relief_design::visible(word)
            ),
        )),
    }
}

/// The most columns and samples of a window of which some samples are taken.
const SPAN: u64 = 1 << 16;
const SAMPLES: u64 = 1 << 21;

/// From this step on, columns and rows are read one by one.
const FAR: u64 = 16;

/// Some of the columns and rows of a raster. Windows that hold several of them are read where steps are short.
fn steps<S: Sample>(
    renderer: &Renderer,
    (left, columns, across): Steps,
    (top, rows, down): Steps,
    out: &mut [S],
    cancel: &Cancel,
) -> Result<(), Error> {
    if columns == 0 || rows == 0 {
        return Ok(());
    }
    // Single columns cost a window each, so that only long steps are worth them.
    let columns_at_once = if across >= 64 * FAR {
        1
    } else {
        (SPAN / across).max(1)
    };
    let span = |count: u64, step: u64| (count - 1) * step + 1;
    let widest = span(columns_at_once.min(columns), across);
    let rows_at_once = if down >= FAR {
        1
    } else {
        (SAMPLES / widest / down).max(1)
    };
    let tallest = span(rows_at_once.min(rows), down);
    let mut window = vec![S::default(); (widest * tallest) as usize];
    for row in (0..rows).step_by(rows_at_once as usize) {
        let height = span(rows_at_once.min(rows - row), down);
        for column in (0..columns).step_by(columns_at_once as usize) {
            let taken = columns_at_once.min(columns - column);
            let width = span(taken, across);
            let (x, y) = (left + column * across, top + row * down);
            let rect = Rect::new(x.cast_signed(), y.cast_signed(), width, height).unwrap_or(Rect::EMPTY);
            let samples = &mut window[..(width * height) as usize];
            renderer.read_view(
                rect,
                ViewMut::packed(samples, width as usize, height as usize),
                cancel,
            )?;
            let read = samples.chunks(width as usize).step_by(down as usize);
            let first = (row * columns + column) as usize;
            let into = out[first..].chunks_mut(columns as usize);
            for (into, read) in into.zip(read) {
                let read = read.iter().step_by(across as usize);
                for (into, sample) in into[..taken as usize].iter_mut().zip(read) {
                    *into = *sample;
                }
            }
        }
    }
    Ok(())
}
