//! Pictures from files.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek};
use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use relief_design::{Conversion, ImageError, ImageSource, Picture, visible};
use relief_raster::{Depth, Rect};

use super::bmp::Bmp;
use super::bounded::read_bounded;
use super::checked::{Blocks, Checked, Digested, Reading};
use super::failure::Failure;
use super::gray::GrayRows;
use super::jpeg::Jpeg;
use super::limits::Limits;
use super::netpbm::Netpbm;
use super::orientation::Orientation;
use super::pack::Pack;
use super::part::{Bytes, Part};
use super::pitch::Pitch;
use super::png::Png;
use super::raw::Headerless;
use super::tiff::Tiff;
use super::windows::{Needs, Windows};
use super::zarr::Zarr;

/// Reads the pictures that a design names from files: PNG, TIFF, JPEG, PBM, PGM, PPM and BMP, told apart by their first bytes, and
/// arrays of Zarr 3, which are folders. Of files without a header the design says what they hold.
///
/// What samples mean is said in `docs/nodes.md`, under `image`. In short: samples are fractions of the greatest that the
/// file can hold, or of a range that the design gives; the gray of a pixel times its α times M is rounded once.
///
/// Colour profiles, gamma and resolution are not applied: samples mean heights, not light. Of a file with several
/// pictures the first is read. Windows are read of a TIFF whose strips or tiles are small, and of a binary PGM, PPM and PBM, and of Zarr: such a
/// file may be larger than memory. Rows of others are read one by one wherever the format allows; [`Picture::memory`] and
/// [`Picture::held`] say what is held. What [`open`](ImageSource::open) accepts is of a coding that is read, and complete as far as its header and
/// its lists tell.
#[derive(Clone, Debug)]
pub struct Files {
    base: PathBuf,
    /// The folder that no path may leave.
    root: Option<PathBuf>,
    /// The packed job that holds all of them.
    pack: Option<Arc<Pack>>,
    limits: Limits,
    digests: Option<Digests>,
}

/// How deep the folders of a picture that is a folder may be nested.
const MAX_FOLDERS: u32 = 16;

/// What was read, by the path as the design says it.
type Digests = Arc<Mutex<Noted>>;

#[derive(Debug, Default)]
struct Noted {
    /// The BLAKE3 of every content that was read.
    read: BTreeMap<String, Vec<blake3::Hash>>,
    /// What files were when they were digested: they are not digested again, since nothing else of them is read.
    digested: BTreeMap<String, Digested>,
}

impl Noted {
    fn note(&mut self, path: &str, digest: blake3::Hash) {
        let noted = self.read.entry(path.to_owned()).or_default();
        if !noted.contains(&digest) {
            noted.push(digest);
        }
    }
}

impl Files {
    /// Paths are relative to the folder `base`. They may be absolute and may lead out of it: the design is the
    /// user's own.
    #[must_use]
    pub fn new(base: impl Into<PathBuf>) -> Self {
        Self {
            base: base.into(),
            root: None,
            pack: None,
            limits: Limits::default(),
            digests: None,
        }
    }

    /// Paths are relative to the folder `base` and may not leave it, by `..` or by a link: for designs from outside.
    ///
    /// The folder itself is trusted: whoever can change it while a file is read can lead the reader out of it.
    #[must_use]
    pub fn confined(base: impl Into<PathBuf>) -> Self {
        let base = base.into();
        Self::within(base.clone(), base)
    }

    /// Paths are relative to the folder `base` and may not leave the folder `root`, by `..` or by a link. An absolute path
    /// is refused wherever it leads.
    ///
    /// The folder itself is trusted, as with [`confined`](Self::confined).
    #[must_use]
    pub fn within(base: impl Into<PathBuf>, root: impl Into<PathBuf>) -> Self {
        Self {
            root: Some(root.into()),
            ..Self::new(base)
        }
    }

    /// Paths are those of the files that a packed job holds; no other file is read.
    #[must_use]
    pub fn packed(pack: Pack) -> Self {
        Self {
            pack: Some(Arc::new(pack)),
            ..Self::new("")
        }
    }

    /// Notes what it reads: [`digests`](Self::digests) names the very bytes that pictures were made of, whatever happened
    /// to their files meanwhile. A file is read once from its begin to its end for that, by [`digest`](Self::digest) or when its samples are first asked for; one
    /// that has changed since is an error where it is read. The files of a Zarr array are digested when it is opened, and not compared afterwards.
    #[must_use]
    pub fn digesting(self) -> Self {
        Self {
            digests: Some(Digests::default()),
            ..self
        }
    }

    /// The BLAKE3 of every file that was read as the picture `path`, each once; none where it was not read, or nothing
    /// is noted.
    #[must_use]
    pub fn digests(&self, path: &str) -> Vec<blake3::Hash> {
        let noted = |digests: &Digests| {
            let digests = digests.lock().unwrap_or_else(PoisonError::into_inner);
            digests.read.get(path).cloned()
        };
        self.digests.as_ref().and_then(noted).unwrap_or_default()
    }

    /// With other limits than the default ones.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Opens a picture for its header alone, or to be read.
    fn opened(&self, path: &str, conversion: &Conversion, purpose: Purpose) -> Result<Opened, Failure> {
        if self.is_folder(path) {
            if conversion.raw.is_some() {
                return Err(Failure::unsupported("it is a folder, and `raw` is of a file"));
            }
            if let (Some(digests), Purpose::Samples) = (&self.digests, purpose) {
                let digest = self.digest(path).map_err(Failure::Read)?;
                let mut digests = digests.lock().unwrap_or_else(PoisonError::into_inner);
                digests.note(path, digest);
            }
            let store = Zarr::open(self, path, conversion, &self.limits)?;
            return Opened::new(Box::new(store), conversion, &self.limits);
        }
        let (mut input, length) = self.content(path)?;
        if conversion.array.is_some() || !conversion.index.is_empty() {
            return Err(Failure::unsupported(
                "it is not a folder; `array` and `index` choose a part of a Zarr store",
            ));
        }
        let input = match (&self.digests, purpose) {
            (Some(digests), Purpose::Samples) => {
                let digested = Self::digested(digests, path, &mut input).map_err(Failure::Read)?;
                let mut digests = digests.lock().unwrap_or_else(PoisonError::into_inner);
                digests.note(path, digested.digest);
                Reading::Checked(Checked::new(input, digested))
            }
            _ => Reading::Plain(input),
        };
        let input = BufReader::with_capacity(64 * 1024, input);
        let picture = match conversion.raw {
            Some(raw) => Box::new(Headerless::open(input, length, raw, &self.limits)?),
            None => picture(input, length, &self.limits)?,
        };
        Opened::new(picture, conversion, &self.limits)
    }

    /// What the file of this path is, or was when it was first digested.
    fn digested(digests: &Digests, path: &str, input: &mut Bytes) -> io::Result<Digested> {
        let lock = || digests.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().digested.get(path).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let digested = Digested::of(input)?;
        Ok(lock().digested.entry(path.to_owned()).or_insert(digested).clone())
    }

    /// Whether the path is that of a folder that may be read.
    fn is_folder(&self, path: &str) -> bool {
        self.pack.is_none() && self.path(path).is_ok_and(|file| file.is_dir())
    }

    /// All bytes of a regular file, which are at most `most`.
    pub(super) fn read_whole(&self, path: &str, most: u64) -> Result<Vec<u8>, Failure> {
        let (bytes, length) = self.content(path)?;
        if length > most {
            return Err(Failure::TooLarge(format!(
                "{} has {length} bytes; at most {most} are read",
                visible(path)
            )));
        }
        let mut whole = Vec::new();
        bytes.take(most).read_to_end(&mut whole).map_err(Failure::Read)?;
        Ok(whole)
    }

    /// The bytes of a regular file, and how many they are.
    pub(super) fn content(&self, path: &str) -> Result<(Bytes, u64), Failure> {
        if let Some(pack) = &self.pack {
            let (file, start, bytes) = pack.part(path).map_err(Failure::Read)?;
            return Ok((Bytes::Part(Part::new(file, start, bytes)), bytes));
        }
        let missing = |error| Failure::Read(self.with_near(path, error));
        let file = self.path(path).map_err(missing)?;
        // Looked at before it is opened: opening a FIFO would wait for a writer.
        let metadata = fs::metadata(&file).map_err(missing)?;
        if !metadata.is_file() {
            let what = if metadata.is_dir() {
                "it is a folder"
            } else {
                "it is not a regular file"
            };
            return Err(Failure::unsupported(what));
        }
        let input = File::open(&file).map_err(Failure::Read)?;
        Ok((input.into(), metadata.len()))
    }

    /// The bytes of the file of this path, from its begin to its end.
    ///
    /// # Errors
    /// Where it cannot be read, or is no regular file.
    pub fn reader(&self, path: &str) -> io::Result<Box<dyn Read>> {
        Ok(Box::new(BufReader::with_capacity(64 * 1024, self.plain(path)?)))
    }

    fn plain(&self, path: &str) -> io::Result<Bytes> {
        self.content(path)
            .map(|(bytes, _)| bytes)
            .map_err(|failure| match failure {
                Failure::Read(error) => error,
                other => io::Error::new(io::ErrorKind::InvalidInput, other.to_string()),
            })
    }

    /// The BLAKE3 of the file of this path; of a folder that of the names and the BLAKE3 of all files in it, in the order of their names.
    /// Where it is noted what is read, a file is digested once, and what it has become since is not read.
    ///
    /// # Errors
    /// As [`reader`](Self::reader).
    pub fn digest(&self, path: &str) -> io::Result<blake3::Hash> {
        if let Some(pack) = &self.pack {
            return pack.digest(path);
        }
        if self.is_folder(path) {
            let mut hasher = blake3::Hasher::new();
            self.digest_folder(path, &mut hasher)?;
            return Ok(hasher.finalize());
        }
        if let Some(digests) = &self.digests {
            return Ok(Self::digested(digests, path, &mut self.plain(path)?)?.digest);
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(self.reader(path)?)?;
        Ok(hasher.finalize())
    }

    /// The bytes of the file of this path, or of all files in the folder, and a BLAKE3 of their names, lengths and times, which tell without reading them whether
    /// they are others: less surely than [`digest`](Self::digest).
    ///
    /// # Errors
    /// Where they cannot be looked at.
    pub fn stamps(&self, path: &str) -> io::Result<(u64, blake3::Hash)> {
        let mut hasher = blake3::Hasher::new();
        if self.pack.is_some() {
            hasher.update(self.digest(path)?.as_bytes());
            let length = self.content(path).map_or(0, |(_, length)| length);
            return Ok((length, hasher.finalize()));
        }
        let mut bytes = 0_u64;
        let mut stamp = |path: &Path, hasher: &mut blake3::Hasher| -> io::Result<()> {
            let file = fs::metadata(path)?;
            let time = file.modified().ok();
            let time = time.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
            bytes = bytes.saturating_add(file.len());
            hasher.update(&file.len().to_le_bytes());
            hasher.update(&time.map_or(0, |time| time.as_nanos()).to_le_bytes());
            Ok(())
        };
        if self.is_folder(path) {
            self.walk(path, 0, &mut hasher, &mut |inner, hasher| {
                stamp(&self.path(inner)?, hasher)
            })?;
        } else {
            stamp(&self.path(path)?, &mut hasher)?;
        }
        Ok((bytes, hasher.finalize()))
    }

    fn digest_folder(&self, path: &str, hasher: &mut blake3::Hasher) -> io::Result<()> {
        self.walk(path, 0, hasher, &mut |inner, hasher| {
            let mut file = blake3::Hasher::new();
            file.update_reader(self.reader(inner)?)?;
            hasher.update(file.finalize().as_bytes());
            Ok(())
        })
    }

    /// Tells the hasher the names in a folder and in those within it, in their order, and calls `each` with every file.
    fn walk(
        &self,
        path: &str,
        depth: u32,
        hasher: &mut blake3::Hasher,
        each: &mut dyn FnMut(&str, &mut blake3::Hasher) -> io::Result<()>,
    ) -> io::Result<()> {
        if depth > MAX_FOLDERS {
            return Err(io::Error::other(format!(
                "its folders are nested more than {MAX_FOLDERS} deep"
            )));
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(self.path(path)?)? {
            let entry = entry?;
            let name = entry.file_name().into_string();
            let name = name.map_err(|_| io::Error::other("a file in it has a name that is not UTF-8"))?;
            // A link is taken for a file, so that folders lead in no circle.
            names.push((name, entry.file_type()?.is_dir()));
        }
        names.sort();
        for (name, is_folder) in names {
            let inner = format!("{path}/{name}");
            hasher.update(&(name.len() as u64).to_le_bytes());
            hasher.update(name.as_bytes());
            hasher.update(&[u8::from(is_folder)]);
            if is_folder {
                self.walk(&inner, depth + 1, hasher, each)?;
                hasher.update(&[2]);
            } else {
                each(&inner, hasher)?;
            }
        }
        Ok(())
    }

    /// Adds what noting what is read of a picture holds.
    fn add_noting(&self, path: &str, info: &mut Info, windows: Option<&mut Needs>) {
        if self.digests.is_none() {
            return;
        }
        let bytes = self.content(path).map_or(0, |(_, bytes)| bytes);
        let reading = match windows {
            Some(needs) => {
                let (open, reading) = Blocks::memory(bytes);
                needs.open = needs.open.saturating_add(open);
                reading
            }
            None => Checked::memory(bytes),
        };
        info.memory = info.memory.saturating_add(reading);
    }

    /// Where the file of this path lies, as a design writes the path. Of a file of a packed job that is the path of the job with
    /// the name of its entry, which [`Pack::read_within`] reads.
    ///
    /// # Errors
    /// Where the path is empty, or leaves the folder that it may not leave. Whether the file exists is not said of one
    /// outside.
    pub fn path(&self, path: &str) -> io::Result<PathBuf> {
        if let Some(pack) = &self.pack {
            return pack.place(path);
        }
        let refused = |why| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        if path.is_empty() {
            return refused("the path is empty");
        }
        let joined = self.base.join(path);
        let Some(root) = &self.root else {
            return Ok(joined);
        };
        let outside = "it lies outside the folder that this design may not leave";
        let (base, root) = (fs::canonicalize(&self.base)?, fs::canonicalize(root)?);
        // The path is judged as it is written first, so that nothing outside is looked at.
        if Path::new(path).has_root() || !plain(&base.join(path)).starts_with(&root) {
            return refused(outside);
        }
        let file = fs::canonicalize(joined)?;
        if file.starts_with(root) {
            Ok(file)
        } else {
            refused(outside)
        }
    }

    /// The bytes of the file of this path, which is a regular one of at most `limit` bytes.
    ///
    /// # Errors
    /// A sentence that names the file.
    pub fn bytes(&self, path: &str, limit: u64) -> Result<Vec<u8>, String> {
        let bytes = match &self.pack {
            Some(pack) => pack.bytes(path, limit),
            None => self.path(path).and_then(|file| read_bounded(file, limit)),
        };
        bytes.map_err(|error| {
            let error = self.with_near(path, error);
            format!("cannot read {}: {error}", self.shown(path))
        })
    }

    /// An error of a file that is not there, with what its folder has instead. Outside of the folder that a design may not leave nothing is looked
    /// at.
    fn with_near(&self, path: &str, error: io::Error) -> io::Error {
        if error.kind() != io::ErrorKind::NotFound || self.pack.is_some() {
            return error;
        }
        let (folder, name) = match path.rsplit_once(['/', std::path::MAIN_SEPARATOR]) {
            Some((folder, name)) => (self.path(if folder.is_empty() { "/" } else { folder }), name),
            None => (self.path("."), path),
        };
        let near = folder.ok().and_then(|folder| near_name(&folder, name));
        near.map_or(error, |near| {
            let said = format!("there is no such file; did you mean {}?", visible(&near));
            io::Error::new(io::ErrorKind::NotFound, said)
        })
    }

    /// How messages name a file: with the folder where it was looked for, unless the design is not to know that.
    fn shown(&self, path: &str) -> String {
        let joined = self.base.join(path);
        let looked_for = match self.root {
            None if self.pack.is_none() => std::path::absolute(&joined).unwrap_or(joined),
            _ => PathBuf::from(path),
        };
        visible(&looked_for.to_string_lossy()).into_owned()
    }

    fn name(&self, path: &str, failure: &Failure) -> ImageError {
        ImageError::new(format!("cannot read the picture {}: {failure}", self.shown(path)))
    }
}

/// The most names of a folder that are compared.
const MAX_COMPARED: usize = 4_096;

/// The name in a folder that is nearest to one that is not there: one of few other letters, else one that differs by its extension alone.
pub fn near_name(folder: &Path, name: &str) -> Option<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .ok()?
        .take(MAX_COMPARED)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        // A link that leads nowhere has the very name.
        .filter(|found| !found.starts_with('.') && found != name)
        .collect();
    names.sort();
    let stem = |name: &str| Path::new(name).file_stem().map(std::ffi::OsStr::to_owned);
    let near = relief_design::near(name, names.iter().map(String::as_str)).map(str::to_owned);
    near.or_else(|| names.iter().find(|found| stem(found) == stem(name)).cloned())
}

/// The path without `.` and `..`, as far as it is written.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

impl ImageSource for Files {
    fn open(&self, path: &str, conversion: &Conversion) -> Result<Box<dyn Picture>, ImageError> {
        let opened = self
            .opened(path, conversion, Purpose::Header)
            .map_err(|failure| self.name(path, &failure))?;
        let (mut info, mut windows, pitch) = (opened.info, opened.windows, opened.pitch);
        self.add_noting(path, &mut info, windows.as_mut());
        Ok(Box::new(Named {
            files: self.clone(),
            path: path.to_owned(),
            conversion: conversion.clone(),
            info,
            pitch,
            windows,
            open: Mutex::new(None),
        }))
    }

    fn data(&self, path: &str, limit: u64) -> Result<Vec<u8>, String> {
        self.bytes(path, limit)
    }

    fn reader(&self, path: &str, limit: u64) -> Result<Box<dyn Read + '_>, String> {
        let failed = |why: String| format!("cannot read {}: {why}", self.shown(path));
        let (bytes, length) = self.content(path).map_err(|error| failed(error.to_string()))?;
        if length > limit {
            return Err(failed(format!("it has {length} bytes; at most {limit} are read")));
        }
        // What a file gains meanwhile is not read.
        Ok(Box::new(BufReader::with_capacity(64 * 1024, bytes).take(length)))
    }
}

/// A picture of a file. One that is read from its first row on is opened anew whenever it is read; one of which windows are read is
/// opened by the first of them, and stays open.
struct Named {
    files: Files,
    path: String,
    conversion: Conversion,
    info: Info,
    pitch: Option<Pitch>,
    windows: Option<Needs>,
    open: Mutex<Option<Arc<Window>>>,
}

/// A picture that stays open.
struct Window {
    picture: Box<dyn Windows>,
    orientation: Orientation,
}

impl Named {
    fn opened(&self) -> Result<Opened, Failure> {
        let opened = self
            .files
            .opened(&self.path, &self.conversion, Purpose::Samples)?;
        let now = opened.info;
        if (now.width, now.height) != self.size() || opened.windows.is_some() != self.windows.is_some() {
            return Err(Failure::damaged("its size changed since its header was read"));
        }
        Ok(opened)
    }

    fn window(&self) -> Result<Arc<Window>, Failure> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(window) = &*open {
            return Ok(Arc::clone(window));
        }
        let Opened {
            picture, orientation, ..
        } = self.opened()?;
        let picture = picture.into_windows()?;
        Ok(Arc::clone(open.insert(Arc::new(Window { picture, orientation }))))
    }

    fn read_window(
        &self,
        window: Rect,
        depth: Depth,
        row: &mut dyn FnMut(u64, &[u16]) -> ControlFlow<()>,
    ) -> Result<(), Failure> {
        let open = self.window()?;
        let inside = Rect::sized(self.info.width, self.info.height).contains(&window);
        let of_file = open.orientation.of_file(window).filter(|_| inside);
        let of_file = of_file.ok_or_else(|| Failure::unsupported("a window leaves the picture"))?;
        let mut rows = GrayRows::new(&self.conversion, depth, open.orientation.clone(), row);
        open.picture.read(of_file, &mut rows)
    }
}

impl Picture for Named {
    fn size(&self) -> (u64, u64) {
        (self.info.width, self.info.height)
    }

    fn bits(&self) -> u32 {
        self.info.bits
    }

    fn pitch(&self) -> Option<Pitch> {
        self.pitch
    }

    fn memory(&self) -> u64 {
        self.info.memory
    }

    fn held(&self) -> u64 {
        self.windows.map_or(0, |needs| needs.open)
    }

    fn windowed(&self) -> bool {
        self.windows.is_some()
    }

    fn parts(&self) -> Option<(u64, u64)> {
        self.windows.and_then(|needs| needs.parts)
    }

    fn read(
        &self,
        window: Rect,
        depth: Depth,
        row: &mut dyn FnMut(u64, &[u16]) -> ControlFlow<()>,
    ) -> Result<(), ImageError> {
        if self.windows.is_some() {
            let outcome = self.read_window(window, depth, row);
            return outcome.map_err(|failure| self.files.name(&self.path, &failure));
        }
        let columns = window.x() as usize..window.right() as usize;
        let rows = window.y().cast_unsigned()..window.bottom().cast_unsigned();
        let mut left = window.height();
        let mut of_window = |y: u64, samples: &[u16]| {
            if !rows.contains(&y) {
                return ControlFlow::Continue(());
            }
            row(y, samples.get(columns.clone()).unwrap_or_default())?;
            left -= 1;
            // What comes after a part need not be decoded. After all rows a file may still tell that it is damaged.
            if left == 0 && rows.end - rows.start < self.info.height {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let outcome = self
            .opened()
            .and_then(|opened| opened.read(&self.conversion, depth, &mut of_window));
        outcome.map_err(|failure| self.files.name(&self.path, &failure))
    }
}

/// What a picture is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Header,
    Samples,
}

/// What a picture is and what reading it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Info {
    /// Columns.
    pub(super) width: u64,
    /// Rows.
    pub(super) height: u64,
    /// Bits of a sample as it is stored.
    pub(super) bits: u32,
    /// The most bytes that reading it holds.
    pub(super) memory: u64,
}

/// A picture as it is to be seen.
struct Opened {
    picture: Box<dyn Decoder>,
    orientation: Orientation,
    /// The sides of its pixels as it is to be seen.
    pitch: Option<Pitch>,
    /// What reading windows of it holds; none where it is read from its first row on.
    windows: Option<Needs>,
    info: Info,
}

impl Opened {
    fn new(picture: Box<dyn Decoder>, conversion: &Conversion, limits: &Limits) -> Result<Self, Failure> {
        if let (Some(numbers), None) = (picture.numbers(), conversion.range) {
            return Err(Failure::unsupported(format!(
                "its samples are {numbers}; `low` and `high` have to say which of them become 0 and M"
            )));
        }
        let Info {
            width,
            height,
            bits,
            memory,
        } = picture.info();
        let orientation = Orientation::new(picture.orientation(), width, height);
        let windows = picture.windows().filter(|_| !orientation.exchanges());
        let memory = match windows {
            Some(needs) => {
                limits.check_windowed(width, height, needs.all())?;
                needs.reading
            }
            None => {
                let memory = memory.saturating_add(orientation.memory());
                limits.check(width, height, memory)?;
                memory
            }
        };
        let (width, height) = orientation.size();
        let pitch = picture.pitch().map(|[across, down]| {
            if orientation.exchanges() {
                [down, across]
            } else {
                [across, down]
            }
        });
        Ok(Self {
            pitch,
            windows,
            picture,
            orientation,
            info: Info {
                width,
                height,
                bits,
                memory,
            },
        })
    }

    fn read(
        mut self,
        conversion: &Conversion,
        depth: Depth,
        row: &mut dyn FnMut(u64, &[u16]) -> ControlFlow<()>,
    ) -> Result<(), Failure> {
        self.orientation.prepare()?;
        self.picture
            .read(&mut GrayRows::new(conversion, depth, self.orientation, row))
    }
}

/// What a decoder reads from.
pub(super) type Input = BufReader<Reading>;

/// A file whose header has been read, found within the limits and of a coding that is read.
pub(super) trait Decoder {
    /// Its size as stored, and what reading it holds.
    fn info(&self) -> Info;

    /// How its rows and columns are to be seen: 1 to 8, as TIFF and EXIF number it.
    fn orientation(&self) -> u16 {
        1
    }

    /// The sides of its pixels as stored, where it says them.
    fn pitch(&self) -> Option<Pitch> {
        None
    }

    /// What its samples are, where they mean nothing without a range.
    fn numbers(&self) -> Option<String> {
        None
    }

    /// What reading windows of it holds; none where it is read from its first row on.
    fn windows(&self) -> Option<Needs> {
        None
    }

    /// The picture, to be read window by window.
    fn into_windows(self: Box<Self>) -> Result<Box<dyn Windows>, Failure> {
        Err(Failure::unsupported("it is not read in windows"))
    }

    /// Hands over all rows as stored; stops where `rows` breaks.
    fn read(self: Box<Self>, rows: &mut GrayRows<'_>) -> Result<(), Failure>;
}

/// Reads the header of a file of `bytes` bytes.
fn picture(mut input: Input, bytes: u64, limits: &Limits) -> Result<Box<dyn Decoder>, Failure> {
    let mut start = Vec::with_capacity(12);
    input
        .by_ref()
        .take(12)
        .read_to_end(&mut start)
        .map_err(Failure::Read)?;
    input.rewind().map_err(Failure::Read)?;
    let refused = |what: &str| {
        Err(Failure::unsupported(format!(
            "it is {what}; PNG, TIFF, JPEG, PBM, PGM, PPM and BMP are read"
        )))
    };
    match start.as_slice() {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => {
            Ok(Box::new(Png::open(input, bytes, limits)?))
        }
        [b'I', b'I', b'*' | b'+', 0, ..] | [b'M', b'M', 0, b'*' | b'+', ..] => {
            Ok(Box::new(Tiff::open(input, bytes, limits)?))
        }
        [b'P', b'1'..=b'7', ..] => Ok(Box::new(Netpbm::open(input, bytes, limits)?)),
        [b'B', b'M', ..] => Ok(Box::new(Bmp::open(input, bytes, limits)?)),
        [0xFF, 0xD8, 0xFF, ..] => Ok(Box::new(Jpeg::open(input, bytes, limits)?)),
        [b'G', b'I', b'F', b'8', ..] => refused("a GIF"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P'] => refused("a WebP"),
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => refused("a HEIF, AVIF or video file"),
        [0, 0, 0, 12, b'j', b'P', b' ', b' ', ..] => refused("a JPEG 2000 file"),
        [0, 0, 0, 12, b'J', b'X', b'L', b' ', ..] | [0xFF, 0x0A, ..] => refused("a JPEG XL file"),
        [b'8', b'B', b'P', b'S', ..] => refused("a Photoshop file"),
        [b'%', b'P', b'D', b'F', ..] => refused("a PDF"),
        [b'P', b'F' | b'f', ..] => refused("a PFM"),
        [0x76, 0x2F, 0x31, 0x01, ..] => refused("an OpenEXR file"),
        [] => Err(Failure::damaged("it is empty")),
        _ => Err(Failure::unsupported(
            "it is none of PNG, TIFF, JPEG, PBM, PGM, PPM and BMP",
        )),
    }
}
