//! How long some calls take.

use std::time::{Duration, Instant};

#[cfg(feature = "gpu")]
use relief_kernels::device::Gpu;

use crate::family::Outcome;

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

/// One in so many calls is asked for before those that are timed, and as many of these before the clock starts.
#[cfg(feature = "gpu")]
const LEAD: u64 = 8;

/// Who waits for less than this has not waited: the device was done before.
#[cfg(feature = "gpu")]
const AT_ONCE: Duration = Duration::from_micros(10);

/// Of calls to a device that is at work before: the clock starts when others like them are done, while the first of these run already.
///
/// A device that has idled between two batches, if only for as long as the host takes to see that it is done, takes longer for what comes
/// first: an H200 took 440 µs for one sum of 2^28 floats, 1 344 for five, and 240 for each of many (2026-11-22). Other programs are timed by
/// events of the device, with all calls asked for at once. Where the device is done before the host has asked for more, it waits for the host
/// at every call, and all of the time counts.
#[cfg(feature = "gpu")]
pub(crate) fn steadily(gpu: &Gpu, calls: u64, call: &mut dyn FnMut() -> Outcome) -> Outcome<Duration> {
    let wait = || Ok(gpu.sync()?);
    // One call is asked for to learn about how long it takes; and what an imitation does is done by the host.
    if calls < 2 || gpu.report().software {
        return until_done(calls, call, wait);
    }
    let lead = calls.div_ceil(LEAD);
    for _ in 0..lead {
        call()?;
    }
    let before = gpu.mark()?;
    for _ in 0..lead {
        call()?;
    }
    let asked = Instant::now();
    before.wait()?;
    let start = Instant::now();
    let waited = start - asked;
    for _ in lead..calls {
        call()?;
    }
    gpu.sync()?;
    if waited < AT_ONCE {
        return until_done(calls, call, wait);
    }
    Ok(start.elapsed())
}
