//! Reading a design file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use relief_atomic::Identity;
use relief_design::{Conversion, Design, ImageError, ImageSource, Picture, Setting, visible};
use relief_engine::Prepared;
use relief_io::pack::Pack;
use relief_io::{Digested, Files, near_name};
use relief_raster::Depth;
use relief_scan::Table;

use crate::arguments::{Deny, Reading};
use crate::commands::prepare;
use crate::failure::{self, Failure};
use crate::{foreign, quantity};

/// The longest file of a table, in bytes: 4 MiB.
pub(crate) const MAX_TABLE: u64 = 4 << 20;

/// A design with where its pictures are.
pub(crate) struct Opened {
    /// What the file is called in messages.
    pub(crate) name: String,
    pub(crate) design: Design,
    pub(crate) files: Files,
    /// The BLAKE3 of its text; with the values that its parameters were given and the rows of its arrays, where it has any.
    pub(crate) digest: blake3::Hash,
    /// The values that its parameters were given.
    pub(crate) settings: Vec<Setting>,
    /// The files of rows that it names, as it says them.
    pub(crate) data: Vec<String>,
    /// All files that it names, as it says them, each once and in order.
    pub(crate) named: Vec<String>,
    /// What the design is called without the folder that it lies in, and its text.
    pub(crate) title: String,
    pub(crate) text: String,
    /// Whether it is a packed job.
    pub(crate) packed: bool,
    /// What is known of its whole sources already.
    pub(crate) prepared: Option<Prepared>,
    /// Where the file is.
    pub(crate) path: PathBuf,
    /// What is right and most likely not meant.
    pub(crate) warnings: Option<relief_design::Report>,
}

impl Opened {
    /// Refuses to write to a file that the design is read from: itself, its pictures and its tables, whatever links
    /// lead there. `option` is what names the output.
    pub(crate) fn spare_inputs(&self, option: &str, output: &Path) -> Result<(), Failure> {
        // What is no file yet, or takes bytes as they come, has no samples to lose.
        if !std::fs::metadata(output).is_ok_and(|metadata| metadata.is_file()) {
            return Ok(());
        }
        let Ok(identity) = Identity::of(output) else {
            return Ok(());
        };
        let read = self.inputs();
        let input = read
            .iter()
            .find(|(_, path)| Identity::of(path).is_ok_and(|input| input == identity));
        input.map_or(Ok(()), |(what, _)| {
            Err(Failure::Usage(format!(
                "{option} {} is {what}, which this job reads; write to another file",
                output.display()
            )))
        })
    }

    /// All files that the design is read from, with what they are to it.
    pub(crate) fn inputs(&self) -> Vec<(String, PathBuf)> {
        let design = if self.path == Path::new("-") {
            "/dev/stdin".into()
        } else {
            self.path.clone()
        };
        let folder = folder(&self.path);
        let mut inputs = vec![("the design".to_owned(), design)];
        if self.packed {
            return inputs;
        }
        for path in self.design.files() {
            let what = format!("the image \"{path}\" of the design");
            inputs.push((what, folder.join(path)));
        }
        let scan = self.design.scan().into_iter();
        for table in scan.flat_map(|scan| [&scan.material, &scan.machine]).flatten() {
            inputs.push((
                format!("the table \"{table}\" of the design"),
                folder.join(&**table),
            ));
        }
        inputs.extend(self.data.iter().map(|path| {
            let what = format!("the file \"{path}\" of the design");
            (what, folder.join(path))
        }));
        inputs
    }
}

/// The folder in which what a design names is looked for.
fn folder(design: &Path) -> &Path {
    match design.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// What is said of the warnings of a design on the standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Warnings {
    /// All of them, with their places: `check` is asked for them.
    Shown,
    /// How many they are, in a line: whoever runs a job has seen them, or may.
    Counted,
    /// Nothing.
    Silent,
}

impl Warnings {
    /// For a command that is told to be silent, or not.
    pub(crate) const fn unless(silent: bool) -> Self {
        if silent { Self::Silent } else { Self::Counted }
    }
}

/// Reads and checks a design; '-' is the standard input, whose pictures lie in the working folder. The files that it names
/// lie in the folder that confines it, where one is given.
pub(crate) fn open(path: &Path, reading: &Reading, tell: Warnings) -> Result<Opened, Failure> {
    let Source {
        name,
        title,
        text,
        pack,
    } = source(path)?;
    let mut settings = Vec::new();
    let packed = pack.as_ref().map(|pack| pack.job().clone());
    if let Some(job) = &packed {
        let setting = |(name, value): &(String, String)| Setting {
            name: name.clone(),
            value: value.clone(),
            origin: "the packed job".to_owned(),
        };
        settings.extend(job.parameters.iter().map(setting));
    }
    let own = settings.len();
    settings.extend(reading.settings.iter().cloned());
    let files = match (pack, reading.folder.as_deref()) {
        // It holds all that it names.
        (Some(pack), _) => Files::packed(pack),
        (None, None) => Files::new(folder(path)),
        (None, Some(root)) => Files::within(folder(path).to_owned(), confining(root)?),
    };
    let named = Named {
        files: &files,
        memory: reading.memory.unwrap_or(relief_engine::DEFAULT_MEMORY),
        data: Mutex::default(),
        asked: Mutex::default(),
    };
    // What a row gives is told with the row.
    let last = reading.settings.last().map(|setting| setting.origin.as_str());
    let name = match last.filter(|origin| *origin != "--set") {
        Some(row) => format!("{name}, {row}"),
        None => name,
    };
    let read = relief_design::read(&name, &text, &named, &settings);
    let relief_design::Reading { design, warnings } = read.map_err(|report| {
        let memory = reading.memory.filter(|memory| quantity::slip(*memory).is_some());
        match memory.filter(|_| report.is_short_of_memory()) {
            None => Failure::Design(Box::new(report)),
            Some(memory) => Failure::Slip {
                report: Box::new(report),
                memory,
                least: least(&name, &text, &files, &settings),
            },
        }
    })?;
    if let Some(warnings) = &warnings {
        if reading.deny == Some(Deny::Warnings) {
            return Err(Box::new(warnings.clone()).into());
        }
        match tell {
            Warnings::Shown => failure::tell(warnings),
            Warnings::Counted => failure::count(warnings, path, !reading.settings.is_empty()),
            Warnings::Silent => {}
        }
    }
    let data = named.data.into_inner().unwrap_or_else(PoisonError::into_inner);
    let asked = named.asked.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(job) = &packed {
        // With the values that it was packed with it is the job that it says it is.
        let found = digest_of(&text, &settings[..own], data.values()).to_string();
        if settings.len() == own && found != job.digest {
            return Err(Failure::File {
                action: "cannot read",
                path: name,
                source: io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!(
                        "the packed job is damaged: it says that it is {}, and is {found}",
                        job.digest
                    ),
                ),
            });
        }
    }
    let digest = digest_of(&text, &settings, data.values());
    let mut opened = Opened {
        name,
        design,
        files,
        digest,
        settings,
        named: asked.into_iter().collect(),
        title,
        text,
        packed: packed.is_some(),
        prepared: None,
        data: data.into_keys().collect(),
        path: path.to_owned(),
        warnings,
    };
    if let Some(path) = &reading.prepared {
        opened.prepared = Some(prepare::read(path, &opened)?);
    }
    Ok(opened)
}

/// The least memory, of the powers of 2 up to what a job may take by default, in which the files of a design can be read; `None` where that is
/// not enough.
fn least(name: &str, text: &str, files: &Files, settings: &[Setting]) -> Option<u64> {
    let powers = std::iter::successors(Some(1 << 14), |memory| Some(memory << 1));
    let mut sizes = powers.take_while(|memory| *memory <= relief_engine::DEFAULT_MEMORY);
    sizes.find(|&memory| {
        let named = Named {
            files,
            memory,
            data: Mutex::default(),
            asked: Mutex::default(),
        };
        let read = relief_design::read(name, text, &named, settings);
        !read.is_err_and(|report| report.is_short_of_memory())
    })
}

/// The name of a design: the digest of its text, and of all else that decides what it means.
fn digest_of<'d>(
    text: &str,
    settings: &[Setting],
    data: impl ExactSizeIterator<Item = &'d blake3::Hash>,
) -> blake3::Hash {
    let of_text = blake3::hash(text.as_bytes());
    if settings.is_empty() && data.len() == 0 {
        return of_text;
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(of_text.as_bytes());
    // The last value of a parameter counts, whatever came before it.
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
    for rows in data {
        hasher.update(rows.as_bytes());
    }
    hasher.finalize()
}

/// The folder that a design may not leave.
fn confining(root: &Path) -> Result<PathBuf, Failure> {
    let failed = |source| Failure::File {
        action: "cannot confine the design to",
        path: root.display().to_string(),
        source,
    };
    let folder = root.canonicalize().map_err(failed)?;
    if folder.is_dir() {
        Ok(folder)
    } else {
        Err(failed(io::Error::new(
            io::ErrorKind::NotADirectory,
            "it is not a folder",
        )))
    }
}

/// The files that a design names, as it is checked.
struct Named<'f> {
    files: &'f Files,
    memory: u64,
    /// The digests of the files of rows that were read.
    data: Mutex<BTreeMap<String, blake3::Hash>>,
    /// All files that were asked for and could be used.
    asked: Mutex<BTreeSet<String>>,
}

impl Named<'_> {
    fn note(&self, path: &str) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.insert(path.to_owned());
    }
}

impl ImageSource for Named<'_> {
    fn memory(&self) -> u64 {
        self.memory
    }

    fn reader(&self, path: &str, limit: u64) -> Result<Box<dyn Read + '_>, String> {
        let reader = ImageSource::reader(self.files, path, limit)?;
        self.note(path);
        let path = path.to_owned();
        Ok(Box::new(Digested::new(reader, move |digest| {
            let mut data = self.data.lock().unwrap_or_else(PoisonError::into_inner);
            data.insert(path, digest);
        })))
    }

    fn data(&self, path: &str, limit: u64) -> Result<Vec<u8>, String> {
        let bytes = self.files.bytes(path, limit)?;
        let digest = blake3::hash(&bytes);
        let mut data = self.data.lock().unwrap_or_else(PoisonError::into_inner);
        data.insert(path.to_owned(), digest);
        self.note(path);
        Ok(bytes)
    }

    fn open(&self, path: &str, conversion: &Conversion) -> Result<Box<dyn Picture>, ImageError> {
        self.files.open(path, conversion).inspect(|_| self.note(path))
    }

    fn table(&self, path: &str, depth: Depth) -> Result<(), String> {
        let bytes = self.files.bytes(path, MAX_TABLE)?;
        self.note(path);
        table(&bytes, path, depth)
            .map(|_| ())
            .map_err(|error| error.to_string())
    }
}

/// The table in these bytes, which is called by its file where something is wrong with it.
pub(crate) fn table(bytes: &[u8], file: &str, depth: Depth) -> Result<Table, relief_scan::Error> {
    let wrong = |problem| relief_scan::Error::Table {
        name: visible(file).into_owned(),
        problem,
    };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        wrong(format!(
            "byte {} is not UTF-8; a table is JSON text",
            error.valid_up_to()
        ))
    })?;
    Table::parse(text, depth).map_err(|error| match error {
        relief_scan::Error::Table { problem, .. } => wrong(problem),
        other => other,
    })
}

/// A design before it is checked.
pub(crate) struct Source {
    /// What it is called in messages.
    pub(crate) name: String,
    /// What it is called without the folder that it lies in.
    title: String,
    /// As KDL, also where the file holds JSON.
    pub(crate) text: String,
    /// The packed job that it is of.
    pack: Option<Pack>,
}

/// The name and the text of a design file or a packed job. No more is read than a design may have.
pub(crate) fn source(path: &Path) -> Result<Source, Failure> {
    if Pack::is_at(path) {
        let pack = Pack::open(path).map_err(|source| Failure::File {
            action: "cannot read",
            path: path.display().to_string(),
            source,
        })?;
        let job = pack.job();
        return Ok(Source {
            name: format!("{} in {}", job.name, path.display()),
            title: job.name.clone(),
            text: job.text.clone(),
            pack: Some(pack),
        });
    }
    let (name, text) = read(path)?;
    let title = path.file_name().filter(|_| path != Path::new("-"));
    let title = title.map_or_else(|| "design".into(), |name| name.to_string_lossy().into_owned());
    Ok(Source {
        name,
        title,
        text,
        pack: None,
    })
}

/// The first design in a folder, by its name, of those that are looked at.
fn first_design(folder: &Path) -> Option<PathBuf> {
    /// The most names that are looked at.
    const LOOKED_AT: usize = 4_096;
    let entries = std::fs::read_dir(folder).ok()?.take(LOOKED_AT);
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_design = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "kdl");
    paths.filter(is_design).min()
}

/// An error of a file that is not there, or of a design that is a folder, with what there is instead.
pub(crate) fn missing(path: &Path, error: io::Error) -> io::Error {
    let kind = error.kind();
    let said = match kind {
        io::ErrorKind::NotFound => {
            let name = path.file_name().and_then(std::ffi::OsStr::to_str);
            let near = name.and_then(|name| near_name(folder(path), name));
            near.map(|near| {
                let near = path.with_file_name(near);
                format!("there is no such file; did you mean {}?", near.display())
            })
        }
        io::ErrorKind::IsADirectory => {
            let design = first_design(path).unwrap_or_else(|| path.join("design.kdl"));
            Some(format!(
                "it is a folder; a design is a file, such as {}",
                design.display()
            ))
        }
        _ => None,
    };
    said.map_or(error, |said| io::Error::new(kind, said))
}

/// The name and the text of a design file, as KDL also where the file holds JSON.
pub(crate) fn read(path: &Path) -> Result<(String, String), Failure> {
    let name = if path == Path::new("-") {
        "<stdin>".to_owned()
    } else {
        path.display().to_string()
    };
    let failed = |source| Failure::File {
        action: "cannot read",
        path: name.clone(),
        source,
    };
    let mut bytes = Vec::new();
    // One byte more than a design may have lets the parser say that it is too long.
    let most = relief_design::MAX_TEXT as u64 + 1;
    let input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path).map_err(|error| failed(missing(path, error)))?)
    };
    let read = input.take(most).read_to_end(&mut bytes);
    read.map_err(|error| failed(missing(path, error)))?;
    if let Some(why) = foreign::told(path, &bytes) {
        return Err(failed(io::Error::new(io::ErrorKind::InvalidData, why)));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        failed(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("byte {at} is not UTF-8; a design is UTF-8 text"),
        ))
    })?;
    if path.extension().is_some_and(|extension| extension == "json") {
        let text = relief_design::from_json(&text)
            .map_err(|why| failed(io::Error::new(io::ErrorKind::InvalidData, why)))?;
        // Messages show the design as it is laid out.
        return Ok((format!("{name} as KDL"), text));
    }
    Ok((name, text))
}
