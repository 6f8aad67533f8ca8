//! Memory on a device, and how much of it is in use.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cubecl::prelude::*;
use cubecl::server::Handle;

/// Words of 32 bits on a device. Clones are the same memory; it is given back with the last of them.
#[derive(Clone, Debug)]
pub struct Buffer {
    handle: Handle,
    /// The first word within its allocation.
    start: usize,
    words: usize,
    /// One for each allocation: parts share it.
    lease: Arc<Lease>,
}

impl Buffer {
    pub(super) fn new(handle: Handle, words: usize, lease: Lease) -> Self {
        Self {
            handle,
            start: 0,
            words,
            lease: Arc::new(lease),
        }
    }

    /// How many words it holds.
    #[must_use]
    pub const fn words(&self) -> usize {
        self.words
    }

    /// Whether both are the same words: two parts of one buffer are only where they begin and end at the same words. What
    /// was computed from one of them holds for the other.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.lease, &other.lease) && (self.start, self.words) == (other.start, other.words)
    }

    /// Whether any word belongs to both: writing one of them changes the other.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.words_overlap((0, self.words), other, (0, other.words))
    }

    /// Whether any word belongs to both of these parts, each of which is the place of its first word and its words.
    pub(super) fn words_overlap(
        &self,
        (at, words): (usize, usize),
        other: &Self,
        part: (usize, usize),
    ) -> bool {
        let (start, other_start) = (self.start + at, other.start + part.0);
        Arc::ptr_eq(&self.lease, &other.lease) && start < other_start + part.1 && other_start < start + words
    }

    /// Whether both begin at the same word of the same memory, whatever their lengths.
    pub(super) fn begins_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.lease, &other.lease) && self.start == other.start
    }

    /// Whether it was allocated by the device that keeps this account.
    pub(super) fn is_of(&self, account: &Arc<Account>) -> bool {
        Arc::ptr_eq(&self.lease.account, account)
    }

    /// The runtime's name of this memory, for the arguments of a launch.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// All of it as an argument of a launch: vectors of `width` words, as many as are whole.
    #[must_use]
    #[allow(unsafe_code)]
    pub fn array<R: Runtime>(&self, width: usize) -> ArrayArg<R> {
        // SAFETY: the length is that of the buffer.
        unsafe { ArrayArg::from_raw_parts(self.handle(), self.words / width) }
    }

    /// The words from `start` on, as a buffer of their own over the same memory. Nothing where they do not lie inside,
    /// or where `start` is not a multiple of 64: devices bind memory from 256 bytes to 256 bytes.
    #[must_use]
    pub fn part(&self, start: usize, words: usize) -> Option<Self> {
        let rest = self.words.checked_sub(start)?.checked_sub(words)?;
        if !start.is_multiple_of(64) || words == 0 {
            return None;
        }
        let handle = self.handle().offset_start(start as u64 * 4);
        Some(Self {
            handle: handle.offset_end(rest as u64 * 4),
            start: self.start + start,
            words,
            lease: Arc::clone(&self.lease),
        })
    }
}

/// Bytes taken from a device's account until the drop.
#[derive(Debug)]
pub(super) struct Lease {
    account: Arc<Account>,
    bytes: u64,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.account.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// How many bytes of a device are in use, how many were at most, and how many may be.
#[derive(Debug)]
pub(super) struct Account {
    used: AtomicU64,
    peak: AtomicU64,
    budget: AtomicU64,
}

impl Account {
    pub(super) fn new(budget: u64) -> Arc<Self> {
        Arc::new(Self {
            used: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            budget: AtomicU64::new(budget),
        })
    }

    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    pub(super) fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    pub(super) fn budget(&self) -> u64 {
        self.budget.load(Ordering::Relaxed)
    }

    pub(super) fn set_budget(&self, bytes: u64) {
        self.budget.store(bytes, Ordering::Relaxed);
    }

    /// Takes `bytes`, or nothing where the budget would be exceeded.
    pub(super) fn take(self: &Arc<Self>, bytes: u64) -> Option<Lease> {
        let budget = self.budget();
        let fits = |used: u64| used.checked_add(bytes).filter(|total| *total <= budget);
        let before = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
            .ok()?;
        self.peak.fetch_max(before + bytes, Ordering::Relaxed);
        Some(Lease {
            account: Arc::clone(self),
            bytes,
        })
    }
}
