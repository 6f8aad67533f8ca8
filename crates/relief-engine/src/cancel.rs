//! Stopping a job from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Error;

/// A switch that stops a job: cloned, kept by whoever may want to stop, looked at before every tile.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    own: Arc<AtomicBool>,
    /// The switch of whoever started this part of a job.
    above: Option<Arc<AtomicBool>>,
}

impl Cancel {
    /// A switch that is off.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops every job that looks at this switch, for good.
    pub fn cancel(&self) {
        self.own.store(true, Ordering::Release);
    }

    /// Whether it was thrown.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        let thrown = |switch: &Arc<AtomicBool>| switch.load(Ordering::Acquire);
        thrown(&self.own) || self.above.as_ref().is_some_and(thrown)
    }

    /// A switch for what a job started: thrown with this one, or alone.
    pub(crate) fn below(&self) -> Self {
        debug_assert!(self.above.is_none(), "a job starts parts, which start none");
        Self {
            own: Arc::default(),
            above: Some(Arc::clone(&self.own)),
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.is_cancelled() {
            Err(Error::Cancelled)
        } else {
            Ok(())
        }
    }
}
