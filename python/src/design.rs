//! From the text of a design to a surface.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;
use relief_design::{Design, Reading, Report, Setting, visible};
use relief_engine::{
    Cancel, DEFAULT_MEMORY, DeviceChoice, DeviceId, Error, MAX_THREADS, Options, Plan, Renderer,
    select_prepared,
};
use relief_io::pack::Pack;
use relief_raster::Rect;

use crate::errors::{self, Failure};
use crate::source::{Given, Source};
use crate::surface::Surface;
use crate::watch;

/// A design with all that its samples depend on.
pub(crate) struct Opened {
    /// What messages call it.
    pub(crate) name: String,
    /// What it is called without the folder that it lies in.
    pub(crate) title: String,
    pub(crate) text: String,
    /// The values of its parameters, in the order in which they were given.
    pub(crate) settings: Vec<(String, String)>,
    /// All files that it names, in order, each once.
    pub(crate) named: Vec<String>,
    /// Where its file is, where it has one.
    pub(crate) path: Option<PathBuf>,
    pub(crate) design: Design,
    pub(crate) source: Source,
    /// The digest of its text; with the values of its parameters and the rows of its arrays, where it has any.
    pub(crate) digest: blake3::Hash,
    /// The files of rows that it names.
    pub(crate) rows: Vec<String>,
}

/// With which means a surface is computed. None of it changes a sample.
#[derive(Clone, Debug, Default)]
pub(crate) struct Means {
    pub(crate) memory: Option<u64>,
    pub(crate) threads: Option<usize>,
    pub(crate) device_memory: Option<u64>,
    pub(crate) devices: Vec<DeviceId>,
    /// Whether they were not asked for by name.
    pub(crate) any_device: bool,
}

impl Means {
    pub(crate) fn options(&self) -> Options {
        Options::default()
            .with(|with| with.threads = self.threads)
            .with(|with| with.memory = self.memory)
            .with(|with| with.device_memory = self.device_memory)
            .with(|with| with.or_cpu = self.any_device)
            .devices(self.devices.clone())
    }

    /// The threads that a job will have; a number that cannot be is refused by its plan.
    pub(crate) fn threads(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(all).clamp(1, MAX_THREADS)
    }
}

impl Opened {
    /// The digest of all that decides the samples of a region: the design, its pictures and where the region lies. The command line
    /// names jobs in the same way, so that both may write parts of one file.
    pub(crate) fn job(&self, region: Option<Rect>) -> Result<blake3::Hash, Failure> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&relief_design::MEANING.to_le_bytes());
        hasher.update(self.digest.as_bytes());
        for name in self.pictures() {
            hasher.update(self.source.digest(name)?.as_bytes());
        }
        if let Some(region) = region {
            for place in [region.x(), region.y(), region.right(), region.bottom()] {
                hasher.update(&place.to_le_bytes());
            }
        }
        Ok(hasher.finalize())
    }

    /// The names of its pictures, in order, each once.
    pub(crate) fn pictures(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.design.files().collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The files that it is read from, with what they are to it.
    pub(crate) fn inputs(&self) -> Vec<(String, PathBuf)> {
        let mut inputs = Vec::new();
        inputs.extend(self.path.clone().map(|path| ("the design".to_owned(), path)));
        let scan = self.design.scan().into_iter();
        let tables = scan
            .flat_map(|scan| [&scan.material, &scan.machine])
            .flatten()
            .map(|table| &**table);
        let names = self
            .pictures()
            .into_iter()
            .chain(tables)
            .chain(self.rows.iter().map(String::as_str));
        inputs.extend(names.filter_map(|name| {
            Some((
                format!("the file \"{name}\" of the design"),
                self.source.path(name)?,
            ))
        }));
        inputs
    }
}

/// The name of a design: the digest of its text, and of all else that decides what it means. As the command line has it.
fn digest(text: &str, settings: &[Setting], rows: &BTreeMap<String, blake3::Hash>) -> blake3::Hash {
    let of_text = blake3::hash(text.as_bytes());
    if settings.is_empty() && rows.is_empty() {
        return of_text;
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(of_text.as_bytes());
    let last: BTreeMap<&str, &str> = settings
        .iter()
        .map(|setting| (setting.name.as_str(), setting.value.as_str()))
        .collect();
    for (name, value) in last {
        for part in [name, value] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
    }
    for rows in rows.values() {
        hasher.update(rows.as_bytes());
    }
    hasher.finalize()
}

/// A text, what it is called, and where its files are.
struct Text {
    name: String,
    title: String,
    text: String,
    path: Option<PathBuf>,
    /// The values of a packed job, then those that were given.
    settings: Vec<Setting>,
    source: Source,
    /// How many values a packed job gave, and the digest that it says it has with them.
    packed: Option<(usize, String)>,
}

impl Text {
    /// A design by its text, or by the path of a packed job, whose text is taken instead.
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        name: String,
        text: String,
        path: Option<PathBuf>,
        folder: &Path,
        settings: Vec<(String, String)>,
        given: Vec<(String, Bound<'_, PyAny>)>,
        memory: Option<u64>,
    ) -> PyResult<Self> {
        let memory = memory.unwrap_or(DEFAULT_MEMORY);
        let mut by_name = HashMap::new();
        for (name, value) in &given {
            by_name.insert(name.clone(), Given::of(name, value)?);
        }
        let pack = match path.as_deref() {
            Some(path) => py
                .detach(|| pack_at(path))
                .map_err(|failure| failure.raised(py))?,
            None => None,
        };
        let setting = |origin: &str, (name, value)| Setting {
            name,
            value,
            origin: origin.to_owned(),
        };
        let given = settings.into_iter().map(|value| setting("set", value));
        let Some(pack) = pack else {
            let title = path.as_deref().and_then(Path::file_name);
            return Ok(Self {
                title: title.map_or_else(|| name.clone(), |title| title.to_string_lossy().into_owned()),
                name,
                text,
                path,
                settings: given.collect(),
                source: Source::of_folder(by_name, folder, memory),
                packed: None,
            });
        };
        let job = pack.job().clone();
        let own = job.parameters.len();
        let settings = job
            .parameters
            .into_iter()
            .map(|value| setting("the packed job", value));
        Ok(Self {
            name: format!("{} in {name}", job.name),
            title: job.name,
            text: job.text,
            path,
            settings: settings.chain(given).collect(),
            source: Source::of_pack(by_name, pack, memory),
            packed: Some((own, job.digest)),
        })
    }

    /// With the values that it was packed with, a job is the one that it says it is.
    fn is_whole(&self, rows: &BTreeMap<String, blake3::Hash>) -> Result<(), Failure> {
        let Some((own, said)) = &self.packed else {
            return Ok(());
        };
        let found = digest(&self.text, &self.settings, rows).to_string();
        if self.settings.len() != *own || self.source.is_given() || found == *said {
            return Ok(());
        }
        Err(Failure::File(
            format!("cannot read {}", visible(&self.name)),
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "the packed job is damaged: it says that it is {}, and is {found}",
                    visible(said)
                ),
            ),
        ))
    }

    fn read(&self) -> Result<Reading, Report> {
        relief_design::read(&self.name, &self.text, &self.source, &self.settings)
    }
}

/// The packed job at this path, where one is.
fn pack_at(path: &Path) -> Result<Option<Pack>, Failure> {
    if !Pack::is_at(path) {
        return Ok(None);
    }
    let failed = |error| {
        Failure::File(
            format!("cannot read {}", visible(&path.display().to_string())),
            error,
        )
    };
    Pack::open(path).map(Some).map_err(failed)
}

/// The text of a design file, as KDL also where the file holds JSON. No more is read than a design may have. Nothing of a packed job,
/// which is read when its design is.
#[pyfunction]
pub(crate) fn read_text(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| text_of(&path)).map_err(|failure| failure.raised(py))
}

fn text_of(path: &Path) -> Result<String, Failure> {
    if Pack::is_at(path) {
        return Ok(String::new());
    }
    let name = path.display().to_string();
    let failed = |error| Failure::File(format!("cannot read {}", visible(&name)), error);
    let wrong = |why: String| failed(io::Error::new(io::ErrorKind::InvalidData, why));
    // One byte more than a design may have lets the parser say that it is too long.
    let most = relief_design::MAX_TEXT as u64 + 1;
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(most).read_to_end(&mut bytes))
        .map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        wrong(format!("byte {at} is not UTF-8; a design is UTF-8 text"))
    })?;
    if path.extension().is_some_and(|extension| extension == "json") {
        return relief_design::from_json(&text).map_err(wrong);
    }
    Ok(text)
}

/// All that is wrong with a design, or doubtful in it, as problems.
#[pyfunction]
#[pyo3(signature = (name, text, path, folder, settings, given))]
pub(crate) fn check<'py>(
    py: Python<'py>,
    name: String,
    text: String,
    path: Option<PathBuf>,
    folder: PathBuf,
    settings: Vec<(String, String)>,
    given: Vec<(String, Bound<'py, PyAny>)>,
) -> PyResult<Bound<'py, PyList>> {
    let text = Text::new(py, name, text, path, &folder, settings, given, None)?;
    let outcome = watch::run(py, None, |_, _| text.read())?;
    match outcome {
        Ok(Reading { warnings: None, .. }) => Ok(PyList::empty(py)),
        Ok(Reading {
            warnings: Some(report),
            ..
        })
        | Err(report) => errors::problems(py, &report, &text.text),
    }
}

/// The rows and columns of the canvas of a design.
#[pyfunction]
#[pyo3(signature = (name, text, path, folder, settings, given, memory=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn canvas(
    py: Python<'_>,
    name: String,
    text: String,
    path: Option<PathBuf>,
    folder: PathBuf,
    settings: Vec<(String, String)>,
    given: Vec<(String, Bound<'_, PyAny>)>,
    memory: Option<u64>,
) -> PyResult<(u64, u64)> {
    let text = Text::new(py, name, text, path, &folder, settings, given, memory)?;
    match watch::run(py, None, |_, _| text.read())? {
        Ok(reading) => Ok((reading.design.canvas().height, reading.design.canvas().width)),
        Err(report) => Err(Failure::Design(Box::new(report), text.text).raised(py)),
    }
}

/// A design as a surface, with what is doubtful in it. `region` is the part of its canvas: x, y, width and height.
#[pyfunction]
#[pyo3(signature = (
    name, text, path, folder, settings, given, *, memory=None, threads=None, device="auto", device_memory=None,
    levels=None, region=None, progress=None
))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn open<'py>(
    py: Python<'py>,
    name: String,
    text: String,
    path: Option<PathBuf>,
    folder: PathBuf,
    settings: Vec<(String, String)>,
    given: Vec<(String, Bound<'py, PyAny>)>,
    memory: Option<u64>,
    threads: Option<usize>,
    device: &str,
    device_memory: Option<u64>,
    levels: Option<bool>,
    region: Option<(i64, i64, u64, u64)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Surface, Bound<'py, PyList>)> {
    let text = Text::new(py, name, text, path, &folder, settings, given, memory)?;
    let raised = |failure: Failure| failure.raised(py);
    let choice: DeviceChoice = device
        .parse::<DeviceChoice>()
        .map_err(|error| raised(Failure::Option("device", error.to_string())))?;
    let region = region.map(rectangle).transpose().map_err(raised)?;
    let outcome = watch::run(py, progress.as_ref(), |cancel, meter| {
        let devices =
            select_prepared(&choice).map_err(|error| Failure::Option("device", errors::chain(&error)))?;
        let means = Means {
            memory,
            threads,
            device_memory,
            devices,
            any_device: choice == DeviceChoice::Auto,
        };
        let Reading { design, warnings } = text
            .read()
            .map_err(|report| Failure::Design(Box::new(report), text.text.clone()))?;
        let rows = text.source.rows();
        text.is_whole(&rows)?;
        let settings = text.settings.iter();
        let opened = Opened {
            name: text.name.clone(),
            title: text.title.clone(),
            text: text.text.clone(),
            settings: settings
                .map(|setting| (setting.name.clone(), setting.value.clone()))
                .collect(),
            named: text.source.named(),
            path: text.path.clone(),
            digest: digest(&text.text, &text.settings, &rows),
            rows: rows.into_keys().collect(),
            source: text.source.digesting(),
            design,
        };
        let renderer = prepared(&opened, &means, region, levels, cancel, meter)?;
        Ok::<_, Failure>((opened, means, renderer, warnings))
    })?;
    let (opened, means, renderer, warnings) = outcome.map_err(raised)?;
    let warnings = match warnings {
        Some(report) => errors::problems(py, &report, &text.text)?,
        None => PyList::empty(py),
    };
    let surface = Surface::new(Arc::new(opened), means, renderer, region);
    Ok((surface, warnings))
}

/// A rectangle of pixels.
pub(crate) fn rectangle((x, y, width, height): (i64, i64, u64, u64)) -> Result<Rect, Failure> {
    Rect::new(x, y, width, height).ok_or_else(|| {
        Failure::Option(
            "region",
            format!("{width} × {height} pixels at {x}, {y} leave the coordinates that a canvas can have"),
        )
    })
}

/// A renderer of the design. Sums for figures of blocks are planned where they are asked for; where nothing is said, where they fit.
fn prepared(
    opened: &Opened,
    means: &Means,
    region: Option<Rect>,
    levels: Option<bool>,
    cancel: &Cancel,
    meter: &watch::Meter,
) -> Result<Renderer, Error> {
    let options = means.options().with(|with| with.region = region);
    let plan = |levels| {
        let options = options.clone().with(|with| with.levels = levels);
        Plan::new(&opened.design, &opened.source, &options)
    };
    let plan = match levels {
        Some(levels) => plan(levels)?,
        None => match plan(true) {
            Err(Error::Memory { .. }) => plan(false)?,
            planned => planned?,
        },
    };
    Renderer::prepare(
        plan,
        &opened.source,
        None,
        &mut |progress| meter.tell(progress),
        cancel,
    )
}
