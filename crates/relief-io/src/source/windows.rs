//! Pictures of which windows are read, from several threads at once.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use lru::LruCache;
use relief_raster::Rect;

use super::checked::{Blocks, Reading};
use super::failure::Failure;
use super::files::Input;
use super::gray::GrayRows;
use super::part::{Bytes, sought};
use crate::sink::positioned::read_some;

/// The bytes of gray, and of samples as they are stored, that one window gathers at once: they stay in the cache of a core, and in memory
/// that the allocator does not give back between two windows.
pub(super) const BLOCK: u64 = 1 << 17;

/// What a part in the cache takes beside its bytes.
pub(super) const SLOT: u64 = 256;

/// A picture that stays open, of which any part is read as quickly as it is large.
pub(super) trait Windows: Send + Sync {
    /// Hands over the rows of `window`, which is one of the file as it is stored.
    fn read(&self, window: Rect, rows: &mut GrayRows<'_>) -> Result<(), Failure>;
}

/// What reading windows of a picture holds, in bytes, and how it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Needs {
    /// Columns and rows of the parts that are decoded as a whole; none where rows are read one by one.
    pub(super) parts: Option<(u64, u64)>,
    /// As long as it is open.
    pub(super) open: u64,
    /// While one window is read.
    pub(super) reading: u64,
}

impl Needs {
    pub(super) const fn all(self) -> u64 {
        self.open.saturating_add(self.reading)
    }
}

/// A file that several threads read at places of their own.
pub(super) enum Shared {
    Plain {
        file: File,
        start: u64,
        bytes: u64,
    },
    /// Every block is compared with its digest.
    Checked(Blocks),
}

impl Shared {
    /// The file of `bytes` bytes that was read from so far.
    pub(super) fn new(input: Input, bytes: u64) -> Self {
        match input.into_inner() {
            Reading::Plain(plain) => Self::plain(plain, bytes),
            Reading::Checked(checked) => Self::Checked(checked.into_blocks()),
        }
    }

    /// The file of `bytes` bytes, as it is.
    pub(super) fn plain(file: Bytes, bytes: u64) -> Self {
        let (file, start) = file.into_file();
        Self::Plain { file, start, bytes }
    }

    /// Reads some of what lies at `place`; 0 beyond the end.
    fn read_at(&self, into: &mut [u8], place: u64) -> io::Result<usize> {
        match self {
            Self::Plain { file, start, bytes } => {
                let left = usize::try_from(bytes.saturating_sub(place)).unwrap_or(usize::MAX);
                let count = into.len().min(left);
                if count == 0 {
                    return Ok(0);
                }
                read_some(file, &mut into[..count], start.saturating_add(place))
            }
            Self::Checked(blocks) => blocks.read_at(into, place),
        }
    }

    /// Fills `into` from `place` on.
    pub(super) fn read_exact_at(&self, into: &mut [u8], place: u64) -> io::Result<()> {
        At {
            file: self,
            position: place,
            bytes: u64::MAX,
        }
        .read_exact(into)
    }

    /// A reader of its own place, of a file of `bytes` bytes.
    pub(super) fn reader(&self, bytes: u64, buffer: usize) -> BufReader<At<'_>> {
        let at = At {
            file: self,
            position: 0,
            bytes,
        };
        BufReader::with_capacity(buffer, at)
    }
}

/// A place in a file that others read as well.
pub(super) struct At<'a> {
    file: &'a Shared,
    position: u64,
    bytes: u64,
}

impl Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.position)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for At<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = sought(to, self.position, self.bytes)?;
        Ok(self.position)
    }
}

/// The bytes of a decompressed part; none of a part that was never written.
pub(super) type Decoded = Option<Vec<u8>>;

/// A part that is kept; none of one that could not be decompressed. Who asks for it first decompresses it, and all others wait.
type Slot = Arc<OnceLock<Option<Arc<Decoded>>>>;

/// The decompressed parts of a picture that were asked for last.
pub(super) struct Parts {
    slots: Mutex<LruCache<usize, Slot>>,
}

impl Parts {
    /// How many parts of so many bytes each fit the cache: at least one.
    pub(super) fn count(part: u64, parts: u64, cache: u64) -> u64 {
        (cache / part.max(1)).clamp(1, parts.max(1))
    }

    /// Keeps so many parts.
    pub(super) fn new(count: u64) -> Self {
        let count = usize::try_from(count).ok().and_then(NonZeroUsize::new);
        Self {
            slots: Mutex::new(LruCache::new(count.unwrap_or(NonZeroUsize::MIN))),
        }
    }

    /// The part of this number, decompressed by `decode` unless it is kept. A failure is not kept. `decode` is given memory to use again, where there
    /// is some: memory given back and asked for anew by turns leaves gaps, which take more of it than the parts do.
    pub(super) fn get<E>(
        &self,
        index: usize,
        decode: impl Fn(Vec<u8>) -> Result<Decoded, E>,
    ) -> Result<Arc<Decoded>, E> {
        let (slot, dropped) = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            let is_full = slots.len() == slots.cap().get() && !slots.contains(&index);
            let dropped = is_full.then(|| slots.pop_lru()).flatten();
            (Arc::clone(slots.get_or_insert(index, Slot::default)), dropped)
        };
        // Nobody else may hold it.
        let spare = dropped
            .and_then(|(_, slot)| Arc::into_inner(slot)?.into_inner()?)
            .and_then(|decoded| Arc::into_inner(decoded)?)
            .unwrap_or_default();
        let mut failure = None;
        let kept = slot.get_or_init(|| match decode(spare) {
            Ok(decoded) => Some(Arc::new(decoded)),
            Err(why) => {
                failure = Some(why);
                None
            }
        });
        match (kept, failure) {
            (Some(decoded), _) => Ok(Arc::clone(decoded)),
            (None, Some(why)) => Err(why),
            // It failed for another thread, and each tells why.
            (None, None) => decode(Vec::new()).map(Arc::new),
        }
    }
}
