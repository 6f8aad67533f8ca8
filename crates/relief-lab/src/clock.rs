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

/// A batch is asked for in so many parts, of which one is always on its way while another is waited for.
#[cfg(feature = "gpu")]
const PARTS: u64 = 8;

/// How long a device works before it is timed.
#[cfg(feature = "gpu")]
const BEFORE: Duration = Duration::from_millis(1);

/// Calls that take longer are timed one by one, from beginning to end.
#[cfg(feature = "gpu")]
const LONG: Duration = Duration::from_millis(5);

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
    // What an imitation does is done by the host.
    if gpu.report().software {
        return until_done(calls, call, wait);
    }
    if calls == 1 {
        let time = until_done(1, call, wait)?;
        if time > LONG {
            return Ok(time);
        }
    }
    let part = calls.div_ceil(PARTS);
    let mut ask = |calls| (0..calls).try_for_each(|_| call());
    let begin = Instant::now();
    ask(part)?;
    let mut before = gpu.mark()?;
    loop {
        ask(part)?;
        let after = gpu.mark()?;
        let asked = Instant::now();
        before.wait()?;
        if asked.elapsed() < AT_ONCE {
            wait()?;
            return until_done(calls, call, wait);
        }
        before = after;
        if begin.elapsed() >= BEFORE {
            break;
        }
    }
    let start = Instant::now();
    ask(calls - part)?;
    wait()?;
    Ok(start.elapsed())
}
