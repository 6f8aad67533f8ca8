//! The buffers of lanes, taken for a window or a whole job and given back.
//!
//! Windows that are read one after the other use the same buffers, and no more of them are read at once on a device than
//! it has lanes: so its memory stays what was planned. A job that streams does not wait for buffers, because the sink it
//! writes to may itself read a window.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::Slot;

/// The slots of one device.
pub(super) struct Slots {
    state: Mutex<State>,
    freed: Condvar,
    /// The most that are kept, and the most windows that are read at once.
    lanes: usize,
}

struct State {
    idle: Vec<Slot>,
    /// Windows that are being read.
    reading: usize,
}

impl Slots {
    pub(super) fn new(lanes: usize) -> Self {
        Self {
            state: Mutex::new(State {
                idle: Vec::new(),
                reading: 0,
            }),
            freed: Condvar::new(),
            lanes,
        }
    }

    /// A slot that nobody uses, if there is one.
    pub(super) fn take(&self) -> Option<Slot> {
        self.lock().idle.pop()
    }

    /// Keeps a slot for whoever comes next.
    pub(super) fn give_back(&self, slot: Slot) {
        let mut state = self.lock();
        if state.idle.len() < self.lanes {
            state.idle.push(slot);
        }
    }

    /// Waits until this window may be read, for as long as what is returned lives.
    pub(super) fn admit(&self) -> Admission<'_> {
        let state = self.lock();
        let busy = |state: &mut State| state.reading >= self.lanes;
        let mut state = self
            .freed
            .wait_while(state, busy)
            .unwrap_or_else(PoisonError::into_inner);
        state.reading += 1;
        Admission { slots: self }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole whenever the lock is released.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of the windows that are read at once.
pub(super) struct Admission<'a> {
    slots: &'a Slots,
}

impl Drop for Admission<'_> {
    fn drop(&mut self) {
        self.slots.lock().reading -= 1;
        self.slots.freed.notify_one();
    }
}
