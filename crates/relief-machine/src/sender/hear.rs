//! Hears what the machine says.

use std::io::{self, Read};

use crate::Error;
use crate::frame::{self, Kind};
use crate::job_state::Event;
use crate::message::{Activity, Code, Message, Refusal, Status};

use super::ahead::Shared;
use super::link::{Ended, refused};

/// Hears until the machine says no more.
pub(super) fn hear(shared: &Shared<'_>, mut reader: Box<dyn Read + Send>) -> Ended {
    let mut payload = Vec::new();
    let lost = |kind, text: &str| Ended::Lost(io::Error::new(kind, text));
    let malformed = || lost(io::ErrorKind::InvalidData, "the machine's words make no sense");
    loop {
        let header = match frame::read_within(&mut reader, &mut payload, frame::MAX_CONTROL) {
            Ok(Some(header)) => header,
            Ok(None) => return lost(io::ErrorKind::UnexpectedEof, "the machine closed the connection"),
            Err(error) => return Ended::Lost(error),
        };
        match header.kind {
            Kind::Error => match Refusal::decode(&payload) {
                Some(refusal) => return refused(shared, refusal),
                None => return malformed(),
            },
            Kind::Status => {
                let Some(status) = Status::decode(&payload) else {
                    return malformed();
                };
                if let Err(error) = take(shared, &status) {
                    return Ended::Fatal(error);
                }
            }
            _ => return malformed(),
        }
    }
}

/// Takes what the machine says of itself.
fn take(shared: &Shared<'_>, status: &Status) -> Result<(), Error> {
    let mut state = shared.lock();
    if status.executed < state.executed || status.received > state.next {
        return Err(Error::Contradiction {
            said: status.executed,
            known: state.executed,
            lines: state.next,
        });
    }
    let arrived = status.received.saturating_sub(state.received);
    let line = shared.line_bytes();
    if let Some(largest) = state.frames.arrived(arrived.saturating_mul(line as u64), line) {
        state.largest = largest;
    }
    state.executed = status.executed;
    state.received = status.received;
    state.credit = status.credit;
    state.underruns = status.underruns;
    state.activity = status.activity;
    state.news += 1;
    state.release();
    match status.activity {
        Activity::Done if state.is_complete(shared.job.lines) => state.course.step(Event::Done),
        // Nothing is under way any more, and what lines are made for yet are digests.
        Activity::Done => state.course.step(Event::Halted),
        // A line that is under way will be executed; the machine says when it is.
        Activity::Aborted if state.abort && status.executed < status.received => {}
        Activity::Aborted if state.abort => state.course.step(Event::Halted),
        Activity::Aborted => {
            return Err(Error::Refused {
                address: shared.options.address.to_string(),
                code: Code::Aborted,
                text: "the job was aborted at the machine".to_owned(),
            });
        }
        _ => {}
    }
    drop(state);
    shared.changed.notify_all();
    Ok(())
}
