//! Where the pictures and files of a design come from: arrays by name, then files.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use relief_design::{Conversion, ImageError, ImageSource, Picture, visible};
use relief_io::pack::Pack;
use relief_io::{ArrayPicture, ArraySamples, Digested, Files};
use relief_raster::Depth;
use relief_scan::Table;

use crate::errors::Failure;

/// The longest file of a table, in bytes: 4 MiB.
const MAX_TABLE: u64 = 4 << 20;

/// What a name of a design stands for, in place of a file.
#[derive(Clone)]
pub(crate) enum Given {
    /// A picture.
    Picture(ArrayPicture, blake3::Hash),
    /// The bytes of a table or of rows.
    Bytes(Arc<[u8]>, blake3::Hash),
}

impl Given {
    /// An array of 8 or 16 bits or of binary64, of two axes or of three, the last of which are the samples of a pixel; or bytes.
    ///
    /// # Errors
    /// Where it is neither.
    pub(crate) fn of(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = value.extract::<Vec<u8>>()
            && value.is_instance_of::<pyo3::types::PyBytes>()
        {
            let digest = blake3::hash(&bytes);
            return Ok(Self::Bytes(bytes.into(), digest));
        }
        let (samples, shape, digest) = if let Ok(array) = value.extract::<PyReadonlyArrayDyn<'_, u8>>() {
            let samples = array.as_slice().map_err(|_| not_packed(name))?;
            let digest = hashed(array.shape(), 'u', samples);
            (
                ArraySamples::Eight(samples.into()),
                array.shape().to_vec(),
                digest,
            )
        } else if let Ok(array) = value.extract::<PyReadonlyArrayDyn<'_, u16>>() {
            let samples = array.as_slice().map_err(|_| not_packed(name))?;
            let bytes: Vec<u8> = samples.iter().flat_map(|v| v.to_le_bytes()).collect();
            let digest = hashed(array.shape(), 'w', &bytes);
            (
                ArraySamples::Sixteen(samples.into()),
                array.shape().to_vec(),
                digest,
            )
        } else if let Ok(array) = value.extract::<PyReadonlyArrayDyn<'_, f64>>() {
            let samples = array.as_slice().map_err(|_| not_packed(name))?;
            let bytes: Vec<u8> = samples.iter().flat_map(|v| v.to_le_bytes()).collect();
            let digest = hashed(array.shape(), 'd', &bytes);
            (
                ArraySamples::Numbers(samples.into()),
                array.shape().to_vec(),
                digest,
            )
        } else {
            return Err(PyTypeError::new_err(format!(
                "{name} is neither an array of uint8, uint16 or float64 nor bytes"
            )));
        };
        let (height, width, channels) = match shape[..] {
            [height, width] => (height, width, 1),
            [height, width, channels] => (height, width, channels),
            _ => {
                return Err(PyTypeError::new_err(format!(
                    "{name} has {} axes; a picture has rows and columns, and the samples of a pixel where it has a third",
                    shape.len()
                )));
            }
        };
        let picture = ArrayPicture::new(samples, width as u64, height as u64, channels as u64)
            .map_err(|error| PyTypeError::new_err(format!("{name}: {error}")))?;
        Ok(Self::Picture(picture, digest))
    }
}

fn not_packed(name: &str) -> PyErr {
    PyTypeError::new_err(format!("{name} is not contiguous in the order of C"))
}

/// The digest of an array: of its type, its shape and its samples in little-endian order.
fn hashed(shape: &[usize], kind: char, bytes: &[u8]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(kind.to_string().as_bytes());
    for side in shape {
        hasher.update(&(*side as u64).to_le_bytes());
    }
    hasher.update_rayon(bytes);
    hasher.finalize()
}

/// The pictures and files of a design.
pub(crate) struct Source {
    given: HashMap<String, Given>,
    /// The files that samples are read from.
    files: Files,
    /// The same files as they are now, whatever was noted of them before.
    now: Files,
    /// Whether they lie in a packed job.
    packed: bool,
    /// The bytes that drawings, meshes and fonts may take together.
    memory: u64,
    /// The digests of what rows were read from.
    rows: Mutex<BTreeMap<String, blake3::Hash>>,
    /// All that was asked for and could be used.
    named: Mutex<BTreeSet<String>>,
}

impl Source {
    /// The files of a folder.
    pub(crate) fn of_folder(given: HashMap<String, Given>, folder: &Path, memory: u64) -> Self {
        Self::new(given, Files::new(folder), false, memory)
    }

    /// The files of a packed job.
    pub(crate) fn of_pack(given: HashMap<String, Given>, pack: Pack, memory: u64) -> Self {
        Self::new(given, Files::packed(pack), true, memory)
    }

    fn new(given: HashMap<String, Given>, files: Files, packed: bool, memory: u64) -> Self {
        Self {
            given,
            now: files.clone(),
            files,
            packed,
            memory,
            rows: Mutex::default(),
            named: Mutex::default(),
        }
    }

    /// The same with files that note what is read of them.
    pub(crate) fn digesting(&self) -> Self {
        let files = self.now.clone().digesting();
        Self {
            files,
            ..Self::new(self.given.clone(), self.now.clone(), self.packed, self.memory)
        }
    }

    /// All that was asked for and could be used, in order, each once.
    pub(crate) fn named(&self) -> Vec<String> {
        let named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        named.iter().cloned().collect()
    }

    fn note(&self, path: &str) {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        named.insert(path.to_owned());
    }

    fn note_rows(&self, path: &str, digest: blake3::Hash) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.insert(path.to_owned(), digest);
    }

    /// Whether anything was given in place of files.
    pub(crate) fn is_given(&self) -> bool {
        !self.given.is_empty()
    }

    /// Whether an array stands for this name.
    pub(crate) fn is_array(&self, name: &str) -> bool {
        matches!(self.given.get(name), Some(Given::Picture(..)))
    }

    /// All bytes of the file of this name, or those that were given for it.
    ///
    /// # Errors
    /// Where it cannot be read, or is an array.
    pub(crate) fn content(&self, name: &str) -> io::Result<Box<dyn Read>> {
        match self.given.get(name) {
            Some(Given::Bytes(bytes, _)) => Ok(Box::new(Cursor::new(Arc::clone(bytes)))),
            Some(Given::Picture(..)) => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is an array")),
            None => self.now.reader(name),
        }
    }

    /// The digests of the rows that were read, by their names.
    pub(crate) fn rows(&self) -> BTreeMap<String, blake3::Hash> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Where the file of this name lies, where it is one.
    pub(crate) fn path(&self, name: &str) -> Option<std::path::PathBuf> {
        if self.packed || self.given.contains_key(name) {
            return None;
        }
        self.files.path(name).ok()
    }

    /// The digest of a picture: that of its file, or of its array.
    pub(crate) fn digest(&self, name: &str) -> Result<blake3::Hash, Failure> {
        if let Some(Given::Picture(_, digest) | Given::Bytes(_, digest)) = self.given.get(name) {
            return Ok(*digest);
        }
        let failed = |error| Failure::File(format!("cannot read {}", visible(name)), error);
        self.now.digest(name).map_err(failed)
    }

    /// Whether a picture is what it was when it was read.
    pub(crate) fn is_unchanged(&self, name: &str) -> Result<bool, Failure> {
        let read = self.files.digests(name);
        if read.is_empty() {
            return Ok(true);
        }
        let now = self.digest(name)?;
        Ok(read.iter().all(|digest| *digest == now))
    }

    fn bytes(&self, path: &str, limit: u64) -> Result<Vec<u8>, String> {
        match self.given.get(path) {
            Some(Given::Bytes(bytes, _)) if bytes.len() as u64 <= limit => Ok(bytes.to_vec()),
            Some(Given::Bytes(bytes, _)) => Err(format!(
                "{} has {} bytes, at most {limit} are read",
                visible(path),
                bytes.len()
            )),
            Some(Given::Picture(..)) => Err(format!("{} is a picture", visible(path))),
            None => self.files.bytes(path, limit),
        }
    }
}

impl ImageSource for Source {
    fn open(&self, path: &str, conversion: &Conversion) -> Result<Box<dyn Picture>, ImageError> {
        let opened = match self.given.get(path) {
            Some(Given::Picture(picture, _)) => {
                let picture = picture.converted(conversion);
                picture
                    .map(|picture| Box::new(picture) as Box<dyn Picture>)
                    .map_err(|error| {
                        ImageError::new(format!("cannot use the picture {}: {error}", visible(path)))
                    })
            }
            Some(Given::Bytes(..)) => Err(ImageError::new(format!(
                "{} was given as bytes; give a picture as an array",
                visible(path)
            ))),
            None => self.files.open(path, conversion),
        };
        opened.inspect(|_| self.note(path))
    }

    fn memory(&self) -> u64 {
        self.memory
    }

    fn reader(&self, path: &str, limit: u64) -> Result<Box<dyn Read + '_>, String> {
        let reader: Box<dyn Read + '_> = match self.given.get(path) {
            Some(_) => Box::new(Cursor::new(self.bytes(path, limit)?)),
            None => ImageSource::reader(&self.files, path, limit)?,
        };
        self.note(path);
        let path = path.to_owned();
        Ok(Box::new(Digested::new(reader, move |digest| {
            self.note_rows(&path, digest);
        })))
    }

    fn table(&self, path: &str, depth: Depth) -> Result<(), String> {
        let bytes = self.bytes(path, MAX_TABLE)?;
        self.note(path);
        let text = String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", visible(path)))?;
        let checked = Table::parse(&text, depth);
        checked.map(|_| ()).map_err(|error| error.to_string())
    }

    fn data(&self, path: &str, limit: u64) -> Result<Vec<u8>, String> {
        let bytes = self.bytes(path, limit)?;
        self.note_rows(path, blake3::hash(&bytes));
        self.note(path);
        Ok(bytes)
    }
}
