//! Of calls to a device.

use std::time::{Duration, Instant};

use relief_kernels::device::{DeviceId, Gpu};

use super::until_done;
use crate::blocker::Blocker;
use crate::family::Outcome;

/// A batch is asked for in so many parts, of which one is always on its way while another is waited for.
const PARTS: u64 = 8;

/// How long a device works before it is timed.
const BEFORE: Duration = Duration::from_millis(1);

/// Calls that take longer are timed one by one, from beginning to end.
const LONG: Duration = Duration::from_millis(5);

/// Who waits for less than this has not waited: the device was done before.
const AT_ONCE: Duration = Duration::from_micros(10);

/// Calls that take less are timed while they wait in the device's queue: a launch takes the host longer than
/// such a call takes the device, and who launches less often or with fewer arguments would be ahead.
const SHORT: Duration = Duration::from_micros(40);

/// Calls that tell whether they are short; fewer are timed at the pace of the host.
pub(crate) const PROBE: u64 = 8;

/// Who is waited for by an interrupted host is not long: the quickest of so many probes counts.
const PROBES: usize = 4;

/// The most calls that wait in the queue: CUDA holds 1 023 launches, and a call may be several.
const WAITING: u64 = 256;

/// The most calls of a batch on a device. Batches of short calls take as long as it takes to ask for them, not as they run.
pub(crate) const LONGEST_BATCH: u64 = 4 * WAITING;

/// The most times that what holds the queue up ends too soon.
const TRIES: usize = 6;

/// Of calls to a device: short ones while they wait in its queue, where the device tells that; else at the pace of the host.
pub(crate) fn steadily(gpu: &Gpu, calls: u64, call: &mut dyn FnMut() -> Outcome) -> Outcome<Duration> {
    match queued(gpu, calls, call)? {
        Some(time) => Ok(time),
        None => at_pace(gpu, calls, call),
    }
}

/// Of short calls: something long is asked for first, then the calls, with a mark between them. The clock starts when the mark is reached,
/// and counts only where that was waited for, a quarter as long as asking took: then all calls were in the queue before the first began, and
/// the device never waited for the host. Nothing where calls are few or long, wait themselves, or where marks are reached late, as on Vulkan.
pub(crate) fn queued(gpu: &Gpu, calls: u64, call: &mut dyn FnMut() -> Outcome) -> Outcome<Option<Duration>> {
    if !matches!(gpu.id(), DeviceId::Cuda(_)) || calls < PROBE {
        return Ok(None);
    }
    let mut ask = |calls| (0..calls).try_for_each(|_| call());
    let mut probe = Duration::MAX;
    for _ in 0..PROBES {
        let start = Instant::now();
        ask(PROBE)?;
        gpu.sync()?;
        probe = probe.min(start.elapsed());
        if probe <= SHORT * PROBE as u32 {
            break;
        }
    }
    if probe > SHORT * PROBE as u32 {
        return Ok(None);
    }
    let blocker = Blocker::new(gpu)?;
    let mut chunk = calls.min(WAITING);
    // Half as long again as asking took.
    let mut hold = probe * chunk as u32 / PROBE as u32 * 3 / 2;
    let (mut left, mut taken, mut tries) = (calls, Duration::ZERO, 0);
    while left > 0 {
        let asked_for = chunk.min(left);
        let start = Instant::now();
        blocker.hold(hold)?;
        let begin = gpu.mark()?;
        ask(asked_for)?;
        let end = gpu.mark()?;
        let asking = start.elapsed();
        let asked = Instant::now();
        begin.wait()?;
        let begun = Instant::now();
        end.wait()?;
        let time = begun.elapsed();
        // A host that is interrupted comes back late as well: only what was awaited for long was surely not reached before.
        if begun - asked >= AT_ONCE.max(asking / 4) {
            taken += time;
            left -= asked_for;
            hold = asking * 2;
            continue;
        }
        tries += 1;
        if tries == TRIES {
            return Ok(None);
        }
        // It ended too soon, or there is no room in the queue for so many.
        if tries % 2 == 1 {
            hold *= 2;
        } else {
            chunk = chunk.div_ceil(2);
        }
    }
    Ok(Some(taken))
}

/// Of calls to a device that is at work before, asked for as fast as the host can: the clock starts when
/// others like them are done, while the first of these run already.
///
/// A device that has idled between two batches, if only for as long as the host takes to see that it is done,
/// takes longer for what comes first. Other programs are timed by events of the device, with all calls asked
/// for at once. Where the device is done before the host has asked for more, it waits for the host at every
/// call, and all of the time counts.
pub(crate) fn at_pace(gpu: &Gpu, calls: u64, call: &mut dyn FnMut() -> Outcome) -> Outcome<Duration> {
    let wait = || Ok(gpu.sync()?);
    // What software Vulkan does is done by the host.
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
