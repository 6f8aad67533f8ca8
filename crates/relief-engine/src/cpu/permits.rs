//! How many may do something at the same time.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::Error;
use crate::cancel::Cancel;

/// How long one that waits does so before it looks whether it is cancelled.
const PACE: Duration = Duration::from_millis(20);

/// So many that are free.
pub(super) struct Permits {
    free: Mutex<usize>,
    freed: Condvar,
}

impl Permits {
    pub(super) const fn new(count: usize) -> Self {
        Self {
            free: Mutex::new(count),
            freed: Condvar::new(),
        }
    }

    /// One of them, when it is free.
    ///
    /// # Errors
    /// Where it is cancelled before.
    pub(super) fn one(&self, cancel: &Cancel) -> Result<Permit<'_>, Error> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            cancel.check()?;
            let waited = self.freed.wait_timeout(free, PACE);
            free = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *free -= 1;
        Ok(Permit { of: self, count: 1 })
    }

    /// At most `most` of those that are free now, or none.
    pub(super) fn some(&self, most: usize) -> Permit<'_> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let count = most.min(*free);
        *free -= count;
        Permit { of: self, count }
    }
}

/// What is given back when it is dropped.
pub(super) struct Permit<'a> {
    of: &'a Permits,
    count: usize,
}

impl Permit<'_> {
    pub(super) const fn count(&self) -> usize {
        self.count
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.of.free.lock().unwrap_or_else(PoisonError::into_inner) += self.count;
        self.of.freed.notify_all();
    }
}
