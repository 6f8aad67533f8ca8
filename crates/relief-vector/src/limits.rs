//! How large a drawing may be, and why one is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a drawing may hold. Each is checked before memory for it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the file; of one that holds compressed blocks also the bytes of all that they unpack to.
    pub bytes: u64,
    /// Points of all outlines; those of a cell count once, however often it is placed.
    pub points: u64,
    /// Elements, cells and placements together, an array being one placement. Of a DXF its entities count as well, once for each way in which their
    /// block lies.
    pub items: u64,
    /// How deep groups, uses or cells may be nested.
    pub depth: u32,
    /// Bytes of memory that reading and drawing take at once: what is read of the file and the drawing that is made of it.
    pub memory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 1 << 32,
            points: 1 << 28,
            items: 1 << 24,
            depth: 128,
            memory: u64::MAX,
        }
    }
}

/// Why outlines are refused.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// More points than the limits allow.
    #[error("the drawing has more than {0} points; draw a part of it, or raise the limit")]
    Points(u64),
    /// More elements, cells and placements than the limits allow.
    #[error("the drawing has more than {0} elements and placements; draw a part of it, or raise the limit")]
    Items(u64),
    /// A point that is no number or lies too far out.
    #[error("a point lies at ({}, {}) px, farther than 2^40 px from the origin", short(*.0), short(*.1))]
    Far(f64, f64),
    /// A width, radius or length of a dash that is no number or negative.
    #[error("{0} is {1}, but must be 0 or more")]
    Negative(&'static str, f64),
    /// More memory than the limits allow.
    #[error("reading and drawing it takes more memory than the {} that it may take", shown(*.0))]
    Memory(u64),
}

impl Refused {
    /// Whether more memory would do.
    #[must_use]
    pub const fn is_memory(&self) -> bool {
        matches!(self, Self::Memory(_))
    }
}

/// A place for people: without a row of noughts.
fn short(place: f64) -> String {
    if place.abs() < 1e16 {
        place.to_string()
    } else {
        format!("{place:e}")
    }
}

/// A number of bytes for people, rounded down.
fn shown(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} bytes"),
        1_024..1_048_576 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

/// What is held of [`Limits::memory`]: the room of all lists, as they grow. Clones count together.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    held: Arc<AtomicU64>,
    limit: u64,
}

impl Memory {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            held: Arc::default(),
            limit: limits.memory,
        }
    }

    /// A count of its own that begins with what this one holds.
    pub(crate) fn fork(&self) -> Self {
        Self {
            held: Arc::new(AtomicU64::new(self.held())),
            limit: self.limit,
        }
    }

    pub(crate) fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Counts bytes before they are taken.
    pub(crate) fn take(&self, bytes: u64) -> Result<(), Refused> {
        self.room(bytes)?;
        self.held.store(self.held() + bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Whether so many bytes could be taken for a while.
    pub(crate) fn room(&self, bytes: u64) -> Result<(), Refused> {
        if bytes > self.limit.saturating_sub(self.held()) {
            Err(Refused::Memory(self.limit))
        } else {
            Ok(())
        }
    }

    pub(crate) fn give(&self, bytes: u64) {
        self.held
            .store(self.held().saturating_sub(bytes), Ordering::Relaxed);
    }

    /// Makes room in a list, which doubles as it grows. While it grows the old room and the new one are both there.
    #[inline]
    pub(crate) fn reserve<T>(&self, list: &mut Vec<T>, more: usize) -> Result<(), Refused> {
        if list.len().saturating_add(more) <= list.capacity() {
            return Ok(());
        }
        self.grow(list, more)
    }

    #[cold]
    fn grow<T>(&self, list: &mut Vec<T>, more: usize) -> Result<(), Refused> {
        let (before, wanted) = (list.capacity(), list.len().saturating_add(more));
        let doubled = wanted.max(2 * before).max(4);
        let bytes = |count: usize| (count as u64).saturating_mul(size_of::<T>() as u64);
        self.take(bytes(doubled))?;
        self.give(bytes(before));
        list.reserve_exact(doubled - list.len());
        Ok(())
    }

    #[inline]
    pub(crate) fn push<T>(&self, list: &mut Vec<T>, value: T) -> Result<(), Refused> {
        self.reserve(list, 1)?;
        list.push(value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_grows_as_far_as_there_is_memory_for_both_its_rooms() {
        let memory = Memory::new(&Limits {
            memory: 1_000,
            ..Limits::default()
        });
        let mut list: Vec<u64> = Vec::new();
        let refused = (0..).find_map(|value| memory.push(&mut list, value).err());
        // 32 numbers are 256 bytes; while they become 64, 768 are held, and 128 would take 1 536.
        assert_eq!(refused, Some(Refused::Memory(1_000)));
        assert_eq!((list.len(), memory.held()), (64, 512));
        assert!(memory.take(489).is_err() && memory.take(488).is_ok());
        assert_eq!(
            Refused::Memory(3 << 20).to_string(),
            "reading and drawing it takes more memory than the 3 MiB that it may take"
        );
    }
}
