//! Makes lines into the look-ahead.

use std::sync::MutexGuard;
use std::time::Instant;

use relief_engine::Cancel;
use relief_scan::{Block, Lines};

use crate::Error;
use crate::bands::Groups;
use crate::job_state::Event;

use super::STATES;
use super::ahead::{Shared, State, held_by};

/// Makes lines until the job is over.
pub(super) fn make(
    shared: &Shared<'_>,
    mut lines: Lines<'_>,
    mut groups: Option<Groups>,
    cancel: &Cancel,
) -> Result<(), Error> {
    let total = shared.job.lines;
    let line_bytes = shared.program.encoding().most();
    let step = shared.options.step(shared.program).min(lines.most());
    let mut next = total;
    let (mut blocks, mut done) = (0, Vec::new());
    while let Some(mut block) = room(shared, &mut next, held_by(step, line_bytes)) {
        // The states of error diffusion are for a job that is taken up, and only a job with a record is.
        let diffusion = if groups.is_some() && blocks % STATES == 0 {
            lines.diffusion()
        } else {
            None
        };
        blocks += 1;
        let count = step.min(total - next);
        let (start, reading) = (Instant::now(), lines.reading());
        match lines.read(next, count, &mut block, cancel) {
            Ok(()) => {}
            // Whoever threw the switch ends the job.
            Err(_) if cancel.is_cancelled() => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        let took = start.elapsed();
        if let Some(groups) = &mut groups {
            groups.take(next, &block.ends, &block.bytes, &mut done);
        }
        next += count;
        let mut state = shared.lock();
        state.making += took;
        state.reading += lines.reading() - reading;
        state.made_bytes += block.bytes.len() as u64;
        state.made_lines += count;
        state.groups.append(&mut done);
        if let Some(groups) = &groups {
            state.digested = groups.next();
        }
        if state.is_complete(total) {
            state.course.step(Event::Done);
        }
        // Where making is to begin elsewhere by now, these lines are not those.
        if state.begin.is_none() && next > state.keep {
            state.push(block, diffusion);
            state.release();
        }
        drop(state);
        shared.changed.notify_all();
    }
    Ok(())
}

/// Waits for room in the look-ahead and gives memory for a block; `None` where the job is over.
fn room(shared: &Shared<'_>, next: &mut u64, held: u64) -> Option<Block> {
    let mut state: MutexGuard<'_, State> = shared.lock();
    loop {
        if state.course.is_over() {
            return None;
        }
        if let Some(begin) = state.begin.take() {
            *next = begin;
            state.making_began = true;
        }
        let fits = state.blocks.is_empty() || state.held + held <= shared.options.look_ahead;
        if *next < shared.job.lines && fits {
            state.resting = false;
            return Some(state.spare.take().unwrap_or_default());
        }
        if !state.resting {
            state.resting = true;
            state.news += 1;
            shared.changed.notify_all();
        }
        state = shared.wait(state);
    }
}
