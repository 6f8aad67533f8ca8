//! How long some calls take.

use std::time::{Duration, Instant};

use crate::family::Outcome;

#[cfg(feature = "gpu")]
mod device;

#[cfg(feature = "gpu")]
pub(crate) use device::{LONGEST_BATCH, PROBE, at_pace, queued, steadily};

/// Of calls that are done when they return.
pub(crate) fn at_once(calls: u64, call: &mut dyn FnMut() -> Outcome) -> Outcome<Duration> {
    until_done(calls, call, || Ok(()))
}

/// Of calls that ask for something which is then waited for.
pub(crate) fn until_done(
    calls: u64,
    call: &mut dyn FnMut() -> Outcome,
    wait: impl FnOnce() -> Outcome,
) -> Outcome<Duration> {
    let start = Instant::now();
    for _ in 0..calls {
        call()?;
    }
    wait()?;
    Ok(start.elapsed())
}
