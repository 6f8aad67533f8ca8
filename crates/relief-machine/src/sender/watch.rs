//! The caller's thread: starts, records, tells.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::Error;
use crate::record::Record;

use super::ahead::{Shared, State};
use super::{Control, Phase, Progress, Sent};

/// The time between two looks at switches that others throw.
const TICK: Duration = Duration::from_millis(50);

/// Watches a job to its end.
pub(super) fn watch(
    shared: &Shared<'_>,
    mut record: Option<&mut Record>,
    control: &Control,
    observe: &mut dyn FnMut(&Progress),
) -> Result<Sent, Error> {
    let start = Instant::now();
    let mut recorded = Instant::now();
    let outcome = loop {
        let mut state = shared.lock();
        let news = state.news;
        let phase = phase(shared, &state);
        let progress = shared.progress(&state, phase, start);
        if let Some(outcome) = state.outcome.take() {
            // The others see that it is over.
            state.outcome = Some(Ok(()));
            break outcome;
        }
        obey(shared, &mut state, control);
        drop(state);
        if let Some(record) = record.as_deref_mut()
            && recorded.elapsed() >= shared.options.record_every
        {
            recorded = Instant::now();
            if let Err(error) = write(shared, record) {
                // A job that cannot be recorded is stopped, so that it can be taken up where it stood.
                shared.lock().abort = true;
                shared.end(Err(error));
                continue;
            }
        }
        observe(&progress);
        let mut state = shared.lock();
        if phase == Phase::Ready {
            state.started = true;
            shared.changed.notify_all();
        }
        if state.outcome.is_none() && state.news == news {
            drop(shared.wait_for(state, TICK));
        }
    };
    shared.changed.notify_all();
    let recorded = record.map_or(Ok(()), |record| write(shared, record));
    let progress = shared.progress(&shared.lock(), Phase::Running, start);
    outcome.and(recorded)?;
    observe(&progress);
    Ok(Sent {
        executed: progress.executed,
        before: progress.before,
        underruns: progress.underruns,
        connections: progress.connections,
    })
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
    let stop = control.cancel.is_cancelled() && !state.abort;
    if paused != state.paused || stop {
        state.paused = paused;
        state.abort |= stop;
        shared.changed.notify_all();
    }
}

/// Writes what is executed to the record; what stands in a file is stored before.
fn write(shared: &Shared<'_>, record: &mut Record) -> Result<(), Error> {
    let mut state = shared.lock();
    let groups = std::mem::take(&mut state.groups);
    let (executed, file) = (state.executed, state.file.clone());
    let diffusion = state.diffusion.take();
    drop(state);
    if let Some((file, bytes)) = file {
        file.sync_data().map_err(|source| Error::File {
            action: "cannot write",
            path: shared.options.address.path(),
            source,
        })?;
        record.manifest_mut().file_bytes = Some(bytes);
    }
    record.groups(&groups);
    record.write(executed)?;
    if let Some((line, state)) = diffusion {
        record.keep_diffusion(line, state);
    }
    record.write_diffusion()
}
