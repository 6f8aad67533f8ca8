//! Packed jobs: a design with all files that it names, in one file.
//!
//! A packed job is an uncompressed tar archive (ustar), so that any tool unpacks it and pictures are read where they lie.
//! Its entries are `relief.json`, the list; `design.kdl`, the text; and `files/1`, `files/2`, … with the endings of
//! their names, in the order of the list. Times, owners and permissions are fixed: the same job gives the same bytes.
//!
//! ```json
//! {
//!   "relief-pack": 1,
//!   "name": "plate.kdl",
//!   "digest": "the BLAKE3 that stands for the design, its parameters and its rows",
//!   "text": { "bytes": 812, "blake3": "…" },
//!   "parameters": [{ "name": "serial", "value": "7" }],
//!   "files": [{ "path": "logo.png", "bytes": 5120, "blake3": "…" }]
//! }
//! ```
//!
//! An archive comes from outside. Nothing is unpacked, so no path of it leads anywhere; an entry that the list does not name
//! next, of another length or of other bytes than the list says, is refused, and so are lists that are too long.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use relief_design::{MAX_FILES, MAX_TEXT, visible};
use serde_json::{Value, json};

/// The version of the list that is written and read.
const VERSION: u64 = 1;

/// The entry of the list, and that of the text.
const LIST: &str = "relief.json";
const TEXT: &str = "design.kdl";

/// The longest list, in bytes.
const MAX_LIST: u64 = 16 << 20;

/// The most parameters of a list.
const MAX_PARAMETERS: usize = 65_536;

/// The bytes of a block of a tar archive.
const BLOCK: usize = 512;

/// A job to be packed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Job {
    /// The name of the design, for messages.
    pub name: String,
    /// The text of the design.
    pub text: String,
    /// What stands for the design with its parameters and rows.
    pub digest: String,
    /// The values of parameters, in the order in which they were given.
    pub parameters: Vec<(String, String)>,
}

impl Job {
    /// A job of a design without values of parameters.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>, digest: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
            digest: digest.into(),
            parameters: Vec::new(),
        }
    }
}

/// A file that a packed job holds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    /// Where its bytes begin in the archive.
    start: u64,
    bytes: u64,
    digest: blake3::Hash,
    /// The name of its entry.
    entry: String,
}

/// A packed job that was opened: all its bytes were those of its list then.
#[derive(Clone, Debug)]
pub struct Pack {
    path: PathBuf,
    job: Job,
    files: BTreeMap<String, Held>,
}

impl Pack {
    /// Whether the file begins as packed jobs do; not where it cannot be read, is no regular file or is too short.
    #[must_use]
    pub fn is_at(path: &Path) -> bool {
        if !fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
            return false;
        }
        let mut start = [0; BLOCK];
        let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
        read.is_ok() && start.starts_with(b"relief.json\0") && start[257..262] == *b"ustar"
    }

    /// Opens a packed job and compares all that it holds with its list.
    ///
    /// # Errors
    /// Where it cannot be read, is none, or is damaged.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut archive = tar::Archive::new(BufReader::with_capacity(1 << 18, file));
        // Raw: names and lengths that other entries would give are not followed, but refused as entries.
        let mut entries = archive.entries()?.raw(true);
        let mut next = |name: &str, limit: u64| {
            let entry = entries
                .next()
                .ok_or_else(|| damaged(format!("{name} is missing")))?
                .map_err(|error| damaged(format!("{name} cannot be found: {error}")))?;
            let found = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            if !entry.header().entry_type().is_file() || found != name {
                return Err(damaged(format!("{} stands where {name} should", visible(&found))));
            }
            if entry.size() > limit {
                return Err(damaged(format!(
                    "{name} has {} bytes, where at most {limit} are expected",
                    entry.size()
                )));
            }
            let end = entry.raw_file_position().checked_add(entry.size());
            if end.is_none_or(|end| end > length) {
                return Err(damaged(format!("it ends within {name}")));
            }
            Ok(entry)
        };
        let mut list = Vec::new();
        next(LIST, MAX_LIST)?.read_to_end(&mut list)?;
        let list = List::parse(&list)?;
        let mut text = Vec::new();
        next(TEXT, list.text.0)?.read_to_end(&mut text)?;
        let differs = |name: &str| damaged(format!("{name} has other bytes than its list says"));
        if text.len() as u64 != list.text.0 || blake3::hash(&text) != list.text.1 {
            return Err(differs(TEXT));
        }
        let text = String::from_utf8(text).map_err(|_| damaged("its design is not UTF-8".to_owned()))?;
        let mut files = BTreeMap::new();
        for (index, (path, bytes, digest)) in list.files.into_iter().enumerate() {
            let entry = entry_of(index, &path);
            let mut content = next(&entry, bytes)?;
            let start = content.raw_file_position();
            let mut hasher = blake3::Hasher::new();
            let found = io::copy(&mut content, &mut hasher)?;
            if found != bytes || hasher.finalize() != digest {
                return Err(differs(&format!("{entry} ({})", visible(&path))));
            }
            let held = Held {
                start,
                bytes,
                digest,
                entry,
            };
            if files.insert(path.clone(), held).is_some() {
                return Err(damaged(format!("its list names {} twice", visible(&path))));
            }
        }
        if let Some(more) = entries.next() {
            let more = more.map_err(|error| damaged(format!("it goes on after its last file: {error}")))?;
            let name = String::from_utf8_lossy(&more.path_bytes()).into_owned();
            return Err(damaged(format!("its list does not name {}", visible(&name))));
        }
        Ok(Self {
            path: path.to_owned(),
            job: Job { text, ..list.job },
            files,
        })
    }

    /// The job.
    #[must_use]
    pub const fn job(&self) -> &Job {
        &self.job
    }

    /// The paths of its files, as the design says them.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The bytes of what is called `files/3` in the packed job that this path goes on from, as its path names it,
    /// at most `limit` of them. Nothing where no packed job lies on the way.
    ///
    /// # Errors
    /// Where the job is damaged, holds no such file, or one that is longer.
    #[must_use]
    pub fn read_within(path: &Path, limit: u64) -> Option<io::Result<Vec<u8>>> {
        let pack = path.ancestors().skip(1).find(|ancestor| Self::is_at(ancestor))?;
        let entry = path.strip_prefix(pack).ok()?.to_str()?.to_owned();
        Some(Self::open(pack).and_then(|pack| {
            let held = pack.files.values().find(|held| held.entry == entry);
            let held = held.ok_or_else(|| missing(&entry))?;
            pack.bytes_of(held, limit)
        }))
    }

    /// A path that stands for a file of the job: that of the archive, then the name of its entry.
    pub(super) fn place(&self, path: &str) -> io::Result<PathBuf> {
        Ok(self.path.join(&self.held(path)?.entry))
    }

    /// The archive, where the file of this path begins in it, and how many bytes it has.
    pub(super) fn part(&self, path: &str) -> io::Result<(File, u64, u64)> {
        let held = self.held(path)?;
        Ok((File::open(&self.path)?, held.start, held.bytes))
    }

    /// The BLAKE3 of a file.
    pub(super) fn digest(&self, path: &str) -> io::Result<blake3::Hash> {
        Ok(self.held(path)?.digest)
    }

    /// The bytes of a file, at most `limit`.
    pub(super) fn bytes(&self, path: &str, limit: u64) -> io::Result<Vec<u8>> {
        self.bytes_of(self.held(path)?, limit)
    }

    fn bytes_of(&self, held: &Held, limit: u64) -> io::Result<Vec<u8>> {
        if held.bytes > limit {
            let why = format!("it has {} bytes, where {limit} are allowed", held.bytes);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(held.start))?;
        let mut bytes = Vec::new();
        file.take(held.bytes).read_to_end(&mut bytes)?;
        // What was read once may have been written to meanwhile.
        if blake3::hash(&bytes) != held.digest {
            return Err(damaged("it changed since it was opened".to_owned()));
        }
        Ok(bytes)
    }

    fn held(&self, path: &str) -> io::Result<&Held> {
        self.files.get(path).ok_or_else(|| missing(path))
    }
}

/// Packs a job with files, each with the path by which the design names it. `open` gives their bytes; it is asked twice for
/// each.
///
/// # Errors
/// Where a file cannot be read, changes meanwhile, or `out` cannot be written.
pub fn pack(
    out: &mut dyn Write,
    job: &Job,
    files: &[String],
    open: &mut dyn FnMut(&str) -> io::Result<Box<dyn Read>>,
) -> io::Result<()> {
    let mut listed = Vec::with_capacity(files.len());
    for path in files {
        let mut hasher = blake3::Hasher::new();
        let bytes = io::copy(&mut open(path)?, &mut hasher)?;
        listed.push((bytes, hasher.finalize()));
    }
    let list = json!({
        "relief-pack": VERSION,
        "name": job.name,
        "digest": job.digest,
        "text": { "bytes": job.text.len(), "blake3": blake3::hash(job.text.as_bytes()).to_string() },
        "parameters": job
            .parameters
            .iter()
            .map(|(name, value)| json!({ "name": name, "value": value }))
            .collect::<Vec<_>>(),
        "files": files
            .iter()
            .zip(&listed)
            .map(|(path, (bytes, digest))| json!({ "path": path, "bytes": bytes, "blake3": digest.to_string() }))
            .collect::<Vec<_>>(),
    });
    let list = format!("{list:#}\n");
    let mut archive = tar::Builder::new(out);
    let mut append = |name: &str, bytes: u64, content: &mut dyn Read| {
        let mut header = tar::Header::new_ustar();
        header.set_path(name)?;
        header.set_size(bytes);
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        header.set_entry_type(tar::EntryType::Regular);
        header.set_cksum();
        archive.append(&header, content)
    };
    append(LIST, list.len() as u64, &mut list.as_bytes())?;
    append(TEXT, job.text.len() as u64, &mut job.text.as_bytes())?;
    for (index, (path, (bytes, digest))) in files.iter().zip(&listed).enumerate() {
        let mut content = Hashing {
            inner: open(path)?.take(*bytes),
            hasher: blake3::Hasher::new(),
            read: 0,
        };
        append(&entry_of(index, path), *bytes, &mut content)?;
        if content.read != *bytes || content.hasher.finalize() != *digest {
            return Err(io::Error::other(format!(
                "{} changed while it was packed",
                visible(path)
            )));
        }
    }
    archive.finish()
}

/// What is read, with its digest.
struct Hashing<R> {
    inner: R,
    hasher: blake3::Hasher,
    read: u64,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        self.read += count as u64;
        Ok(count)
    }
}

/// The name of an entry: its number, from 1, with the ending of its file where that is plain.
fn entry_of(index: usize, path: &str) -> String {
    let ending = Path::new(path)
        .extension()
        .and_then(|ending| ending.to_str())
        .filter(|ending| ending.len() <= 8 && ending.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    let ending = ending.map_or(String::new(), |ending| format!(".{ending}"));
    format!("files/{}{ending}", index + 1)
}

/// What stands in the list.
struct List {
    /// Without its text.
    job: Job,
    text: (u64, blake3::Hash),
    files: Vec<(String, u64, blake3::Hash)>,
}

impl List {
    fn parse(bytes: &[u8]) -> io::Result<Self> {
        let list: Value = serde_json::from_slice(bytes)
            .map_err(|error| damaged(format!("its list is not JSON: {error}")))?;
        match list["relief-pack"].as_u64() {
            Some(VERSION) => {}
            Some(other) => {
                return Err(damaged(format!(
                    "it is of version {other}, where {VERSION} is read"
                )));
            }
            None => return Err(damaged("its list has no version".to_owned())),
        }
        let text = |value: &Value, name: &str| {
            let found = value[name].as_str().map(ToOwned::to_owned);
            found.ok_or_else(|| damaged(format!("its list has no \"{name}\" where one is expected")))
        };
        let content = |value: &Value| {
            let bytes = value["bytes"].as_u64();
            let bytes = bytes.ok_or_else(|| damaged("its list has a file without a length".to_owned()))?;
            let digest = blake3::Hash::from_hex(text(value, "blake3")?);
            let digest = digest.map_err(|_| damaged("its list has a digest that is none".to_owned()))?;
            Ok::<_, io::Error>((bytes, digest))
        };
        let all = |name: &str, most: usize| {
            let found = list[name].as_array().map(Vec::as_slice).unwrap_or_default();
            if found.len() > most {
                return Err(damaged(format!(
                    "its list has {} {name}, where at most {most} are expected",
                    found.len()
                )));
            }
            Ok(found)
        };
        let of_text = content(&list["text"])?;
        if of_text.0 > MAX_TEXT as u64 {
            return Err(damaged(format!("its design is longer than {MAX_TEXT} bytes")));
        }
        let parameters = all("parameters", MAX_PARAMETERS)?
            .iter()
            .map(|value| Ok((text(value, "name")?, text(value, "value")?)))
            .collect::<io::Result<_>>()?;
        let files = all("files", 4 * MAX_FILES)?
            .iter()
            .map(|value| {
                let (bytes, digest) = content(value)?;
                Ok((text(value, "path")?, bytes, digest))
            })
            .collect::<io::Result<_>>()?;
        Ok(Self {
            job: Job {
                name: text(&list, "name")?,
                text: String::new(),
                digest: text(&list, "digest")?,
                parameters,
            },
            text: of_text,
            files,
        })
    }
}

fn damaged(why: String) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the packed job is damaged: {why}"),
    )
}

fn missing(path: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::NotFound,
        format!("the packed job holds no {}", visible(path)),
    )
}
