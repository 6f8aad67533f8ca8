//! What a job is made of: design, pictures, tables, settings, each with its digest.

use std::io;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use relief_design::Setting;
use relief_design::scan::ScanNode;
use relief_io::pack::Pack;
use relief_io::read_bounded;
use relief_machine::message::Job;
use relief_machine::{Cut, Error, Input, Manifest, NamedInput, Parameter, Region, SenderOptions};
use relief_raster::{Depth, Rect};
use relief_scan::{Program, Scan, Table, Tables};

use super::scan::{OrNone, ScanArguments};
use crate::arguments::Reading;
use crate::design::{self, Opened, Warnings};
use crate::failure::Failure;

/// The longest file of settings or of a secret, in bytes: 1 MiB.
const MAX_SETTINGS: u64 = 1 << 20;

/// The text of a file of settings or of a secret.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    String::from_utf8(bytes(path, MAX_SETTINGS)?).map_err(|error| Failure::File {
        action: "cannot read",
        path: path.display().to_string(),
        source: io::Error::new(
            io::ErrorKind::InvalidData,
            format!("byte {} is not UTF-8", error.utf8_error().valid_up_to()),
        ),
    })
}

/// The bytes of a regular file, or of one in a packed job, of at most so many.
fn bytes(path: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
    let packed = Pack::read_within(path, limit);
    packed
        .unwrap_or_else(|| read_bounded(path, limit))
        .map_err(|source| Failure::File {
            action: "cannot read",
            path: path.display().to_string(),
            source,
        })
}

/// The files and settings of a job.
pub(super) struct Parts {
    pub(super) file: PathBuf,
    pub(super) region: Option<Rect>,
    /// The values of parameters that a job was begun with.
    settings: Vec<Setting>,
    scan: Scan,
    material: Option<PathBuf>,
    machine: Option<PathBuf>,
}

impl Parts {
    /// Those of a manifest, whose paths are relative to its folder.
    pub(super) fn of(manifest: &Manifest, path: &Path) -> Result<Self, Failure> {
        let rect = |region: Region| {
            Rect::new(region.x, region.y, region.width, region.height)
                .ok_or_else(|| Failure::Usage("the region of the manifest leaves the coordinates".to_owned()))
        };
        let beside = |file: &str| folder(path).join(file);
        Ok(Self {
            file: beside(&manifest.design.path),
            region: manifest.region.map(rect).transpose()?,
            settings: manifest
                .parameters
                .iter()
                .map(|parameter| Setting {
                    name: parameter.name.clone(),
                    value: parameter.value.clone(),
                    origin: "the manifest".to_owned(),
                })
                .collect(),
            scan: manifest.scan.clone(),
            material: manifest.material.as_ref().map(|input| beside(&input.path)),
            machine: manifest.machine.as_ref().map(|input| beside(&input.path)),
        })
    }
}

/// The folder of a file.
fn folder(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new(""))
}

/// Everything a job depends on, opened and digested.
pub(super) struct Inputs {
    pub(super) opened: Opened,
    pub(super) parts: Parts,
    tables: Tables,
    images: Vec<Input>,
}

impl Inputs {
    /// Those of a new job: what the design says, with the options in its place.
    pub(super) fn begin(
        file: PathBuf,
        reading: &Reading,
        silent: bool,
        region: Option<&crate::quantity::Region>,
        lines: &ScanArguments,
    ) -> Result<Self, Failure> {
        let opened = design::open(&file, reading, Warnings::unless(silent))?;
        let region = region
            .map(|region| region.of(&opened.design.canvas()))
            .transpose()?;
        let node = opened.design.scan().cloned().unwrap_or_default();
        if let Some(screen) = lines.screen(opened.design.canvas().pixel).filter(|_| !silent) {
            // A job goes on when nobody listens any more.
            let _ = writeln!(std::io::stderr(), "relief: the screen has {screen}");
        }
        let named = |path: Option<Arc<str>>| path.map(|path| file_of(&opened, &path)).transpose();
        let (material, machine) = (named(node.material)?, named(node.machine)?);
        let parts = Parts {
            region,
            settings: opened.settings.clone(),
            scan: lines.over(&node.scan, opened.design.canvas().pixel)?,
            material: OrNone::over(lines.material.as_ref(), material),
            machine: OrNone::over(lines.machine.as_ref(), machine),
            file,
        };
        Self::new(opened, parts)
    }

    /// Those of a job that was begun.
    pub(super) fn take_up(parts: Parts, reading: &Reading) -> Result<Self, Failure> {
        // A value beside those that the job was begun with would be of another job.
        for setting in &reading.settings {
            let known = parts
                .settings
                .iter()
                .rev()
                .find(|known| known.name == setting.name);
            if known.is_none_or(|known| known.value != setting.value) {
                let begun = known.map_or("without a value for it".to_owned(), |known| {
                    format!("with {}={}", known.name, known.value)
                });
                return Err(Failure::Usage(format!(
                    "--set {}={}: the job was begun {begun}; leave --set out, the manifest knows all values",
                    setting.name, setting.value
                )));
            }
        }
        // What is to be said of the design was said when the job began.
        let reading = Reading {
            settings: parts.settings.clone(),
            ..reading.clone()
        };
        Self::new(design::open(&parts.file, &reading, Warnings::Silent)?, parts)
    }

    fn new(opened: Opened, parts: Parts) -> Result<Self, Failure> {
        let opened = Opened {
            files: opened.files.digesting(),
            ..opened
        };
        let depth = opened.design.canvas().depth;
        let tables = Tables {
            material: table(parts.material.as_deref(), depth)?,
            machine: table(parts.machine.as_deref(), depth)?,
        };
        let images = images(&opened)?;
        Ok(Self {
            opened,
            parts,
            tables,
            images,
        })
    }

    /// The scan checked for the raster.
    pub(super) fn program(&self) -> Result<Program, Error> {
        let canvas = self.opened.design.canvas();
        let region = self.parts.region;
        let raster = relief_engine::Raster::new(
            region.map_or(canvas.width, |region| region.width()),
            region.map_or(canvas.height, |region| region.height()),
            canvas.depth,
        )
        .with_pixel(canvas.pixel);
        Ok(Program::new(&self.parts.scan, &self.tables, &raster)?)
    }

    /// The header of the job. Its name stands for all that decides the bytes of its lines.
    pub(super) fn wire(&self, program: &Program, token: [u8; 16]) -> Job {
        let mut hasher = blake3::Hasher::new();
        for image in &self.images {
            hasher.update(image.digest.as_bytes());
        }
        if let Some(region) = self.parts.region {
            hasher.update(&region.x().to_le_bytes());
            hasher.update(&region.y().to_le_bytes());
        }
        Job::new(
            program,
            *self.opened.digest.as_bytes(),
            *hasher.finalize().as_bytes(),
            token,
        )
    }

    /// The manifest of a new job.
    pub(super) fn manifest(
        &self,
        path: &Path,
        program: &Program,
        job: &Job,
        options: &SenderOptions,
    ) -> Result<Manifest, Failure> {
        let region = |rect: Rect| Region {
            x: rect.x(),
            y: rect.y(),
            width: rect.width(),
            height: rect.height(),
        };
        let named = |table: &Option<Table>, file: &Option<PathBuf>| {
            table
                .as_ref()
                .zip(file.as_deref())
                .map(|(table, file)| named(table, shown(file, path)?))
                .transpose()
        };
        let (lines, line_bytes) = (program.lines(), program.encoding().most());
        Ok(Manifest {
            version: Manifest::VERSION,
            address: options.address.to_string(),
            pin: options.pin.map(|pin| pin.to_string()),
            raw: options.raw,
            job: hex(&job.id),
            token: hex(&job.token),
            design: Input {
                path: shown(&self.parts.file, path)?,
                digest: self.opened.digest.to_string(),
            },
            parameters: self
                .parts
                .settings
                .iter()
                .map(|setting| Parameter {
                    name: setting.name.clone(),
                    value: setting.value.clone(),
                })
                .collect(),
            images: self.images.clone(),
            material: named(&self.tables.material, &self.parts.material)?,
            machine: named(&self.tables.machine, &self.parts.machine)?,
            region: self.parts.region.map(region),
            scan: self.parts.scan.clone(),
            program: program.digest().to_string(),
            lines,
            line_bytes,
            prepared: Vec::new(),
            taken: false,
            executed: 0,
            file_bytes: None,
            complete: false,
            cut: Cut::new(lines, line_bytes),
            bands: Vec::new(),
            open: Vec::new(),
        })
    }

    /// Whether everything is what the job began with.
    pub(super) fn check(&self, manifest: &Manifest, program: &Program) -> Result<(), Failure> {
        for image in &self.images {
            let known = manifest.images.iter().find(|known| known.path == image.path);
            let expected = known.map_or("none", |known| &known.digest);
            same(&format!("the picture {}", image.path), &image.digest, expected)?;
        }
        let design = format!("the design {}", self.parts.file.display());
        same(&design, &self.opened.digest.to_string(), &manifest.design.digest)?;
        for (what, table, known) in [
            ("the material table", &self.tables.material, &manifest.material),
            ("the machine table", &self.tables.machine, &manifest.machine),
        ] {
            let found = table
                .as_ref()
                .map_or("none".to_owned(), |table| table.digest().to_string());
            same(what, &found, known.as_ref().map_or("none", |known| &known.digest))?;
        }
        same(
            "the scan program",
            &program.digest().to_string(),
            &manifest.program,
        )?;
        let job = self.wire(program, token(manifest)?);
        same("the job", &hex(&job.id), &manifest.job)?;
        let lines = |lines: u64, bytes: u64| format!("{lines} lines of {bytes} bytes");
        let found = lines(program.lines(), program.encoding().most());
        same("the program", &found, &lines(manifest.lines, manifest.line_bytes))?;
        Ok(())
    }

    /// Whether the pictures that were decoded are those that the job is named by.
    pub(super) fn check_pictures(&self) -> Result<(), Failure> {
        for image in &self.images {
            for read in self.opened.files.digests(&image.path) {
                same(
                    &format!("the picture {}", image.path),
                    &read.to_string(),
                    &image.digest,
                )?;
            }
        }
        Ok(())
    }
}

fn same(what: &str, found: &str, expected: &str) -> Result<(), Error> {
    if found == expected {
        return Ok(());
    }
    Err(Error::Changed {
        what: what.to_owned(),
        found: found.to_owned(),
        expected: expected.to_owned(),
    })
}

/// The pictures of a design, with their paths as it says them.
fn images(opened: &Opened) -> Result<Vec<Input>, Failure> {
    let mut names: Vec<&str> = opened.design.files().collect();
    names.sort_unstable();
    names.dedup();
    let digest = |name: &str| {
        let digest = opened.files.digest(name).map_err(|source| Failure::File {
            action: "cannot read",
            path: name.to_owned(),
            source,
        })?;
        Ok(Input {
            path: name.to_owned(),
            digest: digest.to_string(),
        })
    };
    names.into_iter().map(digest).collect()
}

fn table(path: Option<&Path>, depth: Depth) -> Result<Option<Table>, Failure> {
    path.map(|path| {
        let bytes = bytes(path, design::MAX_TABLE)?;
        Ok(design::table(&bytes, &path.to_string_lossy(), depth).map_err(Error::from)?)
    })
    .transpose()
}

/// The tables of the scan of a design.
pub(crate) fn tables(opened: &Opened, node: &ScanNode) -> Result<Tables, Failure> {
    let depth = opened.design.canvas().depth;
    let read = |path: &Option<Arc<str>>| {
        let path = path.as_deref().map(|path| file_of(opened, path)).transpose()?;
        table(path.as_deref(), depth)
    };
    Ok(Tables {
        material: read(&node.material)?,
        machine: read(&node.machine)?,
    })
}

/// Where a file lies that a design names.
fn file_of(opened: &Opened, path: &str) -> Result<PathBuf, Failure> {
    opened.files.path(path).map_err(|source| Failure::File {
        action: "cannot read",
        path: path.to_owned(),
        source,
    })
}

fn named(table: &Table, path: String) -> Result<NamedInput, Failure> {
    Ok(NamedInput {
        name: table.name().to_owned(),
        path,
        digest: table.digest().to_string(),
    })
}

/// How a manifest names a file: from its own folder where the file lies in it, else from the root.
fn shown(file: &Path, manifest: &Path) -> Result<String, Failure> {
    let absolute = |path: &Path| {
        std::path::absolute(path).map_err(|source| Failure::File {
            action: "cannot find",
            path: path.display().to_string(),
            source,
        })
    };
    let (file, manifest) = (absolute(file)?, absolute(manifest)?);
    let path = file.strip_prefix(folder(&manifest)).unwrap_or(&file);
    path.to_str().map(ToOwned::to_owned).ok_or_else(|| {
        Failure::Usage(format!(
            "{} is not UTF-8; a manifest cannot name it",
            path.display()
        ))
    })
}

/// The name of the sender in a manifest.
pub(super) fn token(manifest: &Manifest) -> Result<[u8; 16], Failure> {
    let mut bytes = [0; 16];
    for (index, byte) in bytes.iter_mut().enumerate() {
        let digits = manifest.token.get(2 * index..2 * index + 2).unwrap_or_default();
        *byte = u8::from_str_radix(digits, 16)
            .map_err(|_| Failure::Usage("the manifest names no sender".to_owned()))?;
    }
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The program of a manifest, to read what was executed.
pub(crate) fn program_of(manifest: &Manifest, path: &Path, reading: &Reading) -> Result<Program, Failure> {
    let inputs = Inputs::take_up(Parts::of(manifest, path)?, reading)?;
    let program = inputs.program()?;
    inputs.check(manifest, &program)?;
    Ok(program)
}
