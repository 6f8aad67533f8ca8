//! The caller's thread: starts, records, tells.

use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::Error;
use crate::job_state::{Event, JobState};
use crate::record::Record;

use super::ahead::{Shared, State};
use super::{Control, Phase, Progress, Sent};

/// The time between two looks at switches that others throw.
const TICK: Duration = Duration::from_millis(20);

/// Watches a job to its end.
pub(super) fn watch(
    shared: &Shared<'_>,
    mut record: Option<&mut Record>,
    control: &Control,
    observe: &mut dyn FnMut(&Progress),
) -> Result<Sent, Error> {
    let start = Instant::now();
    let mut recorded = Instant::now();
    loop {
        let mut state = shared.lock();
        obey(shared, &mut state, control);
        let news = state.news;
        let phase = phase(shared, &state);
        let progress = shared.progress(&state, phase, start);
        if state.course.is_over() {
            break;
        }
        drop(state);
        if let Some(record) = record.as_deref_mut() {
            // That the machine has the job stands in the record before it has a line of it.
            let taken = progress.state != JobState::Waiting && !record.is_taken();
            if taken || recorded.elapsed() >= shared.options.record_every {
                recorded = Instant::now();
                if let Err(error) = write(shared, record) {
                    // A job that cannot be recorded is stopped, so that it can be taken up where it stood.
                    shared.lock().abort = true;
                    shared.fail(error);
                    continue;
                }
            }
        }
        observe(&progress);
        let mut state = shared.lock();
        if phase == Phase::Ready {
            state.started = true;
            shared.changed.notify_all();
        }
        if !state.course.is_over() && state.news == news {
            drop(shared.wait_for(state, TICK));
        }
    }
    shared.changed.notify_all();
    let ended = finish(shared, record);
    let progress = shared.progress(&shared.lock(), Phase::Running, start);
    let mut state = shared.lock();
    let executed = state.executed;
    state.course.outcome(executed).and(ended)?;
    drop(state);
    observe(&progress);
    Ok(Sent {
        executed: progress.executed,
        before: progress.before,
        bytes: progress.sent,
        underruns: progress.underruns,
        connections: progress.connections,
    })
}

/// Stores what is left to store, and gives a file its name: only then is the job recorded as complete.
fn finish(shared: &Shared<'_>, mut record: Option<&mut Record>) -> Result<(), Error> {
    let done = shared.lock().course.state() == JobState::Done;
    let file = shared.lock().file.clone();
    match record.as_deref_mut() {
        Some(record) => write(shared, record)?,
        None if done => store(shared)?,
        None => {}
    }
    if !done {
        return record.map_or(Ok(()), |record| record.end_without_machine());
    }
    if let Some((output, _)) = file {
        output.publish().map_err(|error| failed(shared, error))?;
    }
    record.map_or(Ok(()), Record::complete)
}

fn phase(shared: &Shared<'_>, state: &State) -> Phase {
    let filled = state.ahead >= shared.options.high_water || state.resting || state.made == shared.job.lines;
    if state.started {
        Phase::Running
    } else if state.making_began && state.begin.is_none() && filled {
        Phase::Ready
    } else {
        Phase::Filling
    }
}

/// Does what the control says.
fn obey(shared: &Shared<'_>, state: &mut State, control: &Control) {
    let paused = control.paused.load(Ordering::Acquire);
    let stop = control.cancel.is_cancelled() && state.course.goes_on();
    if paused != state.paused || stop {
        state.paused = paused;
        if stop {
            state.course.step(Event::Stop);
            state.abort = true;
            state.cut();
        }
        shared.changed.notify_all();
    }
}

/// Writes what is executed to the record; what stands in a file is stored before. Nothing is written of a job that no
/// machine has taken.
fn write(shared: &Shared<'_>, record: &mut Record) -> Result<(), Error> {
    let mut state = shared.lock();
    if state.connections == 0 {
        return Ok(());
    }
    let groups = std::mem::take(&mut state.groups);
    let (executed, file) = (state.executed, state.file.clone());
    let diffusion = state.diffusion.take();
    drop(state);
    if let Some((output, bytes)) = file {
        output.store().map_err(|error| failed(shared, error))?;
        record.manifest_mut().file_bytes = Some(bytes);
    }
    record.groups(&groups);
    record.write(executed)?;
    if let Some((line, state)) = diffusion {
        record.keep_diffusion(line, state);
    }
    record.write_diffusion()
}

/// Stores what stands in a file.
fn store(shared: &Shared<'_>) -> Result<(), Error> {
    let file = shared.lock().file.clone();
    file.map_or(Ok(()), |(output, _)| output.store())
        .map_err(|error| failed(shared, error))
}

fn failed(shared: &Shared<'_>, source: io::Error) -> Error {
    Error::File {
        action: "cannot write",
        path: shared.options.address.path(),
        source,
    }
}
