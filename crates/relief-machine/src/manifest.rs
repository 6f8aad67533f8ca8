//! The manifest: what a job is and how far it has come, in one JSON file that is replaced as a whole.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use relief_engine::Prepared;
use relief_scan::Scan;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::bands::{Band, Cut, Digests};

/// The JSON Schema of manifests.
pub const SCHEMA: &str = include_str!("../manifest.schema.json");

/// The version of the manifest.
const VERSION: u32 = 1;

/// The most bytes of a manifest.
const MOST: u64 = 16 << 20;

/// A file that a job depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Where it is.
    pub path: String,
    /// BLAKE3, 64 hexadecimal digits.
    pub digest: String,
}

/// A value that a parameter of the design was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The parameter.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A table that follows from the whole of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreparedTable {
    /// The number in the design of the node that looks samples up in it.
    pub node: usize,
    /// Its samples, four hexadecimal digits each.
    pub samples: String,
}

impl PreparedTable {
    /// All tables of what is known of whole sources.
    #[must_use]
    pub fn all_of(prepared: &Prepared) -> Vec<Self> {
        let digits = |sample: &u16| format!("{sample:04x}");
        let tables = prepared.iter().map(|(node, samples)| Self {
            node,
            samples: samples.iter().map(digits).collect(),
        });
        tables.collect()
    }

    /// What these tables say of whole sources; nothing where one is not four hexadecimal digits a sample.
    #[must_use]
    pub fn prepared(tables: &[Self]) -> Option<Prepared> {
        tables.iter().map(Self::table).collect()
    }

    /// The number of its node, and its samples.
    fn table(&self) -> Option<(usize, Vec<u16>)> {
        let sample = |digits: &[u8]| {
            let text = std::str::from_utf8(digits).ok()?;
            // A sign would be read as well.
            let is_whole = digits.len() == 4 && digits.iter().all(u8::is_ascii_hexdigit);
            is_whole.then(|| u16::from_str_radix(text, 16).ok())?
        };
        let samples: Option<_> = self.samples.as_bytes().chunks(4).map(sample).collect();
        Some((self.node, samples?))
    }
}

/// A table of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedInput {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub path: String,
    /// BLAKE3 of its entries.
    pub digest: String,
}

/// A part of the canvas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// Left.
    pub x: i64,
    /// Top.
    pub y: i64,
    /// Columns.
    pub width: u64,
    /// Rows.
    pub height: u64,
}

/// What a job is and how far it has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The version of this format: 1.
    pub version: u32,
    /// The machine.
    pub address: String,
    /// The SHA-256 of the machine's certificate, for TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
    /// Whether lines are written as they are, without frames.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub raw: bool,
    /// The name of the job on the wire.
    pub job: String,
    /// The name of the sender on the wire.
    pub token: String,
    /// The design file.
    pub design: Input,
    /// The values that its parameters were given, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
    /// The pictures that the design reads, with their paths as it says them.
    pub images: Vec<Input>,
    /// The material table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub material: Option<NamedInput>,
    /// The machine table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<NamedInput>,
    /// The part of the canvas; all of it where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<Region>,
    /// The settings of the scan.
    pub scan: Scan,
    /// The digest of the scan program.
    pub program: String,
    /// All lines.
    pub lines: u64,
    /// The most bytes of a line.
    pub line_bytes: u64,
    /// What is known of whole sources, so that a job that is taken up again does not look at them once more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepared: Vec<PreparedTable>,
    /// Whether a machine has taken the job, or a file was begun.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub taken: bool,
    /// Lines executed: all before this one.
    pub executed: u64,
    /// Of a file: its bytes up to there, without END.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_bytes: Option<u64>,
    /// Whether the job is done: all lines are executed and stored, and a file has its END and its name.
    pub complete: bool,
    /// How lines are cut.
    pub cut: Cut,
    /// The bands whose lines are executed.
    pub bands: Vec<Band>,
    /// The digests of the groups of the next band whose lines are executed.
    pub open: Vec<String>,
}

impl Manifest {
    /// The version that this library writes.
    pub const VERSION: u32 = VERSION;

    /// Reads and checks a manifest.
    ///
    /// # Errors
    /// Where there is none, or its parts contradict each other.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::File {
            action: "cannot read",
            path: path.to_owned(),
            source,
        };
        let wrong = |problem: String| Error::Manifest {
            path: path.to_owned(),
            problem,
        };
        let mut text = String::new();
        File::open(path)
            .map_err(failed)?
            .take(MOST + 1)
            .read_to_string(&mut text)
            .map_err(failed)?;
        if text.len() as u64 > MOST {
            return Err(wrong(format!("it has more than {MOST} bytes")));
        }
        let manifest: Self = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        manifest.check().map_err(wrong)?;
        Ok(manifest)
    }

    fn check(&self) -> Result<(), String> {
        if self.version != VERSION {
            return Err(format!(
                "its version is {}, {VERSION} is understood",
                self.version
            ));
        }
        if self.cut != Cut::new(self.lines, self.line_bytes) {
            return Err("its bands are not cut as such a job's are".to_owned());
        }
        let mut next = 0;
        for band in &self.bands {
            let whole = self.cut.band.min(self.lines - next);
            if band.first != next || band.lines != whole || whole == 0 {
                let first = band.first;
                return Err(format!("its band at line {first} does not follow the one before"));
            }
            next += whole;
        }
        let digests = self.digests().ok_or("a digest has not 64 hexadecimal digits")?;
        if digests.open.len() as u64 > self.cut.band / self.cut.group {
            return Err("it has more open groups than a band".to_owned());
        }
        if digests.next(self.cut, self.lines) > self.executed || self.executed > self.lines {
            return Err("its digests go beyond what was executed".to_owned());
        }
        if self.complete && self.executed != self.lines {
            return Err("it is complete without all lines".to_owned());
        }
        if let Some(table) = self.prepared.iter().find(|table| table.table().is_none()) {
            let node = table.node;
            return Err(format!(
                "what is prepared for node {node} is not four hexadecimal digits a sample"
            ));
        }
        let digits = |text: &str, count: usize| {
            text.len() == count && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        if !digits(&self.job, 64) || !digits(&self.token, 32) {
            return Err("the names of job and sender are hexadecimal digits".to_owned());
        }
        Ok(())
    }

    /// What is known of whole sources.
    #[must_use]
    pub fn prepared(&self) -> Prepared {
        let tables = self.prepared.iter().filter_map(PreparedTable::table);
        tables.collect()
    }

    /// Notes what is known of whole sources.
    pub fn set_prepared(&mut self, prepared: &Prepared) {
        self.prepared = PreparedTable::all_of(prepared);
    }

    pub(crate) fn digests(&self) -> Option<Digests> {
        let open: Result<Vec<_>, _> = self.open.iter().map(blake3::Hash::from_hex).collect();
        let sound = self
            .bands
            .iter()
            .all(|band| blake3::Hash::from_hex(&band.digest).is_ok());
        open.ok().filter(|_| sound).map(|open| Digests {
            bands: self.bands.clone(),
            open,
        })
    }

    /// Replaces the file as a whole: what was there stays until the new one is stored.
    ///
    /// # Errors
    /// Where it cannot be written; the old one is then as it was.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let failed = |source| Error::File {
            action: "cannot write",
            path: path.to_owned(),
            source,
        };
        let mut text = serde_json::to_vec_pretty(self).map_err(|error| failed(error.into()))?;
        text.push(b'\n');
        relief_atomic::replace(path, &text).map_err(|error| failed(error.into()))
    }
}

/// Keeps other senders of this machine away from a manifest. The lock goes with the process.
#[derive(Debug)]
pub struct ManifestLock {
    _file: File,
}

impl ManifestLock {
    /// Takes the lock.
    ///
    /// # Errors
    /// Where another process has it.
    pub fn take(manifest: &Path) -> Result<Self, Error> {
        let mut name = manifest.as_os_str().to_owned();
        name.push(".lock");
        let path = PathBuf::from(name);
        let failed = |source| Error::File {
            action: "cannot write",
            path: path.clone(),
            source,
        };
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => {
                let problem = "another sender is working on this job".to_owned();
                Err(Error::Manifest {
                    path: manifest.to_owned(),
                    problem,
                })
            }
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }
}

/// The BLAKE3 of a file.
///
/// # Errors
/// Where it cannot be read.
pub fn digest_file(path: &Path) -> Result<blake3::Hash, Error> {
    let failed = |source| Error::File {
        action: "cannot read",
        path: path.to_owned(),
        source,
    };
    let mut file = fs::File::open(path).map_err(failed)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finalize()),
            Ok(count) => {
                hasher.update(&buffer[..count]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
}
