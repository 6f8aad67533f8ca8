//! How far a job is.

use std::time::Duration;

/// How far a job is, or its preparation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Samples handed to the sink, or looked at.
    pub done: u128,
    /// Samples of the whole job.
    pub total: u128,
    /// Since the job began.
    pub elapsed: Duration,
}

impl Progress {
    /// So many samples of all, after so long.
    #[must_use]
    pub const fn new(done: u128, total: u128, elapsed: Duration) -> Self {
        Self { done, total, elapsed }
    }

    /// Samples a second so far.
    #[must_use]
    pub fn rate(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 {
            self.done as f64 / seconds
        } else {
            0.0
        }
    }

    /// The time left at the rate so far; `None` before the first band.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        let rate = self.rate();
        let left = self.total.saturating_sub(self.done) as f64;
        if rate > 0.0 {
            Duration::try_from_secs_f64(left / rate).ok()
        } else {
            None
        }
    }
}
