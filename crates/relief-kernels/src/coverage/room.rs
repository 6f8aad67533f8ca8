//! The memory that an index takes while it is built, counted before it is taken.

use super::build::Error;

/// Bytes of lists as they grow, against the most that they may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    held: u64,
    limit: u64,
}

impl Room {
    pub(super) const fn of(limit: u64) -> Self {
        Self { held: 0, limit }
    }

    pub(super) const fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Counts bytes before they are taken.
    pub(super) const fn take(&mut self, bytes: u64) -> Result<(), Error> {
        match self.held.checked_add(bytes) {
            Some(held) if held <= self.limit => {
                self.held = held;
                Ok(())
            }
            _ => Err(Error::Memory(self.limit)),
        }
    }

    pub(super) const fn give(&mut self, bytes: u64) {
        self.held = self.held.saturating_sub(bytes);
    }

    /// Makes room for so many more and no others.
    pub(super) fn reserve_exact<T>(&mut self, list: &mut Vec<T>, more: usize) -> Result<(), Error> {
        let wanted = list.len().saturating_add(more);
        self.grow(list, wanted)
    }

    /// Makes room in a list, which doubles as it grows.
    pub(super) fn reserve<T>(&mut self, list: &mut Vec<T>, more: usize) -> Result<(), Error> {
        let wanted = list.len().saturating_add(more);
        if wanted <= list.capacity() {
            return Ok(());
        }
        self.grow(list, wanted.max(2 * list.capacity()).max(4))
    }

    pub(super) fn push<T>(&mut self, list: &mut Vec<T>, value: T) -> Result<(), Error> {
        self.reserve(list, 1)?;
        list.push(value);
        Ok(())
    }

    /// A list of `count` values, counted as all that it takes.
    pub(super) fn list<T: Clone>(&mut self, value: T, count: usize) -> Result<Vec<T>, Error> {
        self.take(bytes::<T>(count))?;
        Ok(vec![value; count])
    }

    /// Gives back what a list has beyond its values.
    pub(super) fn shrink<T>(&mut self, list: &mut Vec<T>) {
        let before = list.capacity();
        list.shrink_to_fit();
        self.give(bytes::<T>(before - list.capacity()));
    }

    /// Drops a list.
    pub(super) fn drop<T>(&mut self, list: Vec<T>) {
        self.give(bytes::<T>(list.capacity()));
    }

    /// While a list grows, the room that it had and the one that it gets are both there.
    fn grow<T>(&mut self, list: &mut Vec<T>, capacity: usize) -> Result<(), Error> {
        let before = list.capacity();
        if capacity <= before {
            return Ok(());
        }
        self.take(bytes::<T>(capacity))?;
        self.give(bytes::<T>(before));
        list.reserve_exact(capacity - list.len());
        Ok(())
    }
}

/// The bytes of so many values.
const fn bytes<T>(count: usize) -> u64 {
    (count as u64).saturating_mul(size_of::<T>() as u64)
}
