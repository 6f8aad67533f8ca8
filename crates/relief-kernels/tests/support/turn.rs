//! Device tests take turns on software Vulkan.

use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, PoisonError};

static TURN: Mutex<()> = Mutex::new(());

thread_local! {
    static HELD: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
}

/// Waits until no other test of this program computes on the device. The turn ends with the thread, which is the test's own.
///
/// CubeCL's threads wait for each other in loops. On software Vulkan these loops take the processors that compute, so that two tests at once
/// take longer than one after the other.
pub(crate) fn take() {
    HELD.with_borrow_mut(|held| {
        if held.is_none() {
            // A test that failed leaves the device to the next one.
            *held = Some(TURN.lock().unwrap_or_else(PoisonError::into_inner));
        }
    });
}
