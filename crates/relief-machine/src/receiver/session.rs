//! One connection, from its greeting to its end.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Error;
use crate::conversation::{control, expect, send};
use crate::frame::{self, FrameError, Header, Kind};
use crate::journal::{self, Journal};
use crate::message::{Accept, Activity, Code, Hello, Job, Refusal, VERSION, Welcome, lines};
use crate::secret::{Side, random};
use crate::transport::{Closer, Connection};

use super::machine::Executor;
use super::spawn;
use super::state::{Piece, Session, Shared, State, Work};
use super::{Machine, ReceiverOptions};

/// Why a connection ends.
enum Ended {
    /// It failed, or the sender closed it.
    Io(io::Error),
    /// The sender is told why.
    Refuse(Code, String),
}

impl From<io::Error> for Ended {
    /// What the sender is told of an error of reading.
    fn from(error: io::Error) -> Self {
        let frame = error
            .get_ref()
            .and_then(|cause| cause.downcast_ref::<FrameError>());
        let code = match (frame, error.kind()) {
            (Some(FrameError::Header { .. } | FrameError::Payload { .. }), _) => Code::Checksum,
            (Some(_), _) | (_, io::ErrorKind::InvalidData) => Code::Malformed,
            (_, io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Self::Refuse(Code::Silence, "nothing was heard for too long".to_owned());
            }
            _ => return Self::Io(error),
        };
        Self::Refuse(code, error.to_string())
    }
}

/// Serves a connection until it ends.
pub(super) fn serve(mut connection: Connection, shared: &Arc<Shared>) -> io::Result<()> {
    let silence = shared.options.silence;
    connection.closer.expect_within(Some(silence));
    let greeted = greet(
        connection.reader.as_mut(),
        connection.writer.as_mut(),
        &shared.options,
    );
    let admitted = greeted.and_then(|job| {
        connection.closer.expect_within(None);
        admit(&job, &connection.closer, shared).map_err(|(code, text)| Ended::Refuse(code, text))
    });
    let number = match admitted {
        Ok(number) => number,
        Err(ended) => return end(ended, Some(connection.writer.as_mut())),
    };
    let outcome = drive(connection, number, shared);
    shared.lock().leave(number);
    shared.changed.notify_all();
    outcome
}

/// Tells the sender why, where it can be told.
fn end(ended: Ended, writer: Option<&mut (dyn Write + Send + 'static)>) -> io::Result<()> {
    match ended {
        Ended::Io(error) => Err(error),
        Ended::Refuse(code, text) => {
            if let Some(writer) = writer {
                let text = text.clone();
                send(writer, &Refusal { code, text })?;
            }
            Err(io::Error::other(text))
        }
    }
}

/// Hello, welcome, proof, job.
fn greet(reader: &mut dyn Read, writer: &mut dyn Write, options: &ReceiverOptions) -> Result<Job, Ended> {
    let gone = |refusal: Refusal| Ended::Io(io::Error::other(refusal.text));
    let hello: Hello = expect(reader)?.map_err(gone)?;
    if hello.version != VERSION {
        let text = format!(
            "this machine speaks version {VERSION}, the sender {}",
            hello.version
        );
        return Err(Ended::Refuse(Code::Version, text));
    }
    let nonce = random::<32>().map_err(io::Error::other)?;
    let proof = options.secret.as_ref().map_or([0; 32], |secret| {
        secret.proof(Side::Receiver, &hello.nonce, &nonce)
    });
    let secret = options.secret.is_some();
    let version = VERSION;
    send(
        writer,
        &Welcome {
            version,
            secret,
            nonce,
            proof,
        },
    )?;
    if let Some(secret) = &options.secret {
        let (kind, payload) = control(reader)?;
        let proof: Option<&[u8; 32]> = payload.first_chunk();
        let known = kind == Kind::Proof
            && proof.is_some_and(|proof| secret.knows(Side::Sender, &hello.nonce, &nonce, proof));
        if !known {
            return Err(Ended::Refuse(
                Code::Unauthorised,
                "the secret is wrong".to_owned(),
            ));
        }
    }
    expect(reader)?.map_err(gone)
}

/// Whether the machine takes the job from this connection; the number of the session.
fn admit(job: &Job, closer: &Closer, shared: &Arc<Shared>) -> Result<u64, (Code, String)> {
    let mut state = shared.lock();
    if state.refused < shared.options.machine.refuse {
        state.refused += 1;
        return Err((Code::Fault, "the machine is not ready".to_owned()));
    }
    if let Some(fault) = &state.fault {
        return Err((Code::Storage, fault.clone()));
    }
    // The same sender on a new connection knows that the old one is dead before we do.
    let patience = Instant::now() + shared.options.silence;
    while let Some(session) = &state.session {
        if session.token != job.token {
            return Err((Code::Busy, "another sender drives the machine".to_owned()));
        }
        session.closer.close();
        if Instant::now() >= patience {
            return Err((Code::Fault, "the connection before does not end".to_owned()));
        }
        state = shared.wait_for(state, Duration::from_millis(50));
    }
    match &mut state.work {
        Some(work) if !same_lines(&work.job, job) => {
            return Err((Code::OtherJob, "the machine has begun another job".to_owned()));
        }
        Some(work) => {
            work.aborted = false;
            work.paused = false;
        }
        None => begin(job, shared, &mut state)?,
    }
    state.sessions += 1;
    let number = state.sessions;
    state.session = Some(Session {
        number,
        token: job.token,
        closer: closer.clone(),
        bytes: 0,
    });
    Ok(number)
}

/// Whether two headers are of one job; what the sender knows of it may differ.
fn same_lines(one: &Job, other: &Job) -> bool {
    let (token, from) = (one.token, one.from);
    *one == Job {
        token,
        from,
        ..*other
    }
}

/// Opens the record of a job and starts the machine.
fn begin(job: &Job, shared: &Arc<Shared>, state: &mut State) -> Result<(), (Code, String)> {
    let machine = &shared.options.machine;
    let frame = u64::from(job.line_bytes) + if job.run_length { 4 } else { 0 };
    let most = machine.buffer.min(u64::from(machine.largest));
    if frame > most {
        let text = format!("a line of {frame} bytes; the machine takes {most}");
        return Err((Code::TooLarge, text));
    }
    let storage = |error: Error| (Code::Storage, error.to_string());
    let output = shared.options.output.as_deref();
    if let Some(path) = output
        && journal::holds(path)
            .map_err(storage)?
            .is_some_and(|id| id != job.id)
    {
        return Err((Code::OtherJob, format!("{} holds another job", path.display())));
    }
    let journal = Journal::open(output, &job.id, job.from).map_err(storage)?;
    if journal.lines() > job.lines {
        let text = "the record of the machine has more lines than the job".to_owned();
        return Err((Code::Storage, text));
    }
    state.work = Some(Work::new(job, journal.lines()));
    let executor = Executor::new(journal, shared.clone());
    let started = spawn("relief-machine", move || executor.run()).map_err(storage)?;
    state.machine = Some(started);
    Ok(())
}

/// Takes frames until the connection ends, while another thread tells how far the machine is.
fn drive(connection: Connection, number: u64, shared: &Shared) -> io::Result<()> {
    let Connection {
        mut reader,
        mut writer,
        ..
    } = connection;
    let Some(accept) = accept(&shared.lock(), &shared.options) else {
        return Ok(());
    };
    send(writer.as_mut(), &accept)?;
    std::thread::scope(|scope| {
        let teller = std::thread::Builder::new()
            .name("relief-status".to_owned())
            .spawn_scoped(scope, || tell(writer, number, shared))?;
        let taken = take(reader.as_mut(), number, shared);
        // The teller ends with the session and gives the writer back, so that the sender can be told why.
        shared.lock().leave(number);
        shared.changed.notify_all();
        let mut writer = teller
            .join()
            .map_err(|_| io::Error::other("the thread that tells the status failed"))?;
        match taken {
            Ok(()) => Ok(()),
            Err(ended) => end(ended, writer.as_deref_mut()),
        }
    })
}

fn accept(state: &State, options: &ReceiverOptions) -> Option<Accept> {
    let status = state.status(options.machine.buffer)?;
    Some(Accept {
        executed: status.executed,
        next: status.received,
        credit: status.credit,
        largest: largest(&options.machine),
        silence: u32::try_from(options.silence.as_millis()).unwrap_or(u32::MAX),
    })
}

fn largest(machine: &Machine) -> u32 {
    machine.largest.min(frame::MAX_LINES as u32)
}

/// Takes frames off the wire.
fn take(reader: &mut dyn Read, number: u64, shared: &Shared) -> Result<(), Ended> {
    let machine = &shared.options.machine;
    let mut payload = Vec::new();
    let mut since_cut = 0;
    while let Some(header) = frame::read(&mut { &mut *reader }, &mut payload)? {
        let mut state = shared.lock();
        if !state.is_driven_by(number) {
            return Ok(());
        }
        let State {
            work: Some(work),
            session: Some(session),
            ..
        } = &mut *state
        else {
            return Ok(());
        };
        match header.kind {
            Kind::Lines => {
                payload = enqueue(&header, payload, work, session, machine)?;
                since_cut += u64::from(header.count);
                if machine.drop_after.is_some_and(|lines| since_cut >= lines) {
                    session.closer.close();
                    return Err(Ended::Io(io::ErrorKind::ConnectionAborted.into()));
                }
            }
            Kind::End if header.sequence == work.job.lines && work.received == work.job.lines => {}
            Kind::End => {
                let text = format!("the end came after {} of {} lines", work.received, work.job.lines);
                return Err(Ended::Refuse(Code::Sequence, text));
            }
            Kind::Pause => work.paused = true,
            Kind::Continue => work.paused = false,
            Kind::Abort => work.abort(),
            Kind::Ping => {}
            Kind::Error => return Ok(()),
            kind => {
                let text = format!("{kind:?} does not come here");
                return Err(Ended::Refuse(Code::Malformed, text));
            }
        }
        work.changes += 1;
        drop(state);
        shared.changed.notify_all();
    }
    Ok(())
}

/// Puts lines into the buffer; gives back memory for the next payload.
fn enqueue(
    header: &Header,
    payload: Vec<u8>,
    work: &mut Work,
    session: &mut Session,
    machine: &Machine,
) -> Result<Vec<u8>, Ended> {
    let refuse = |code, text: String| Err(Ended::Refuse(code, text));
    let bytes = payload.len() as u64;
    if work.aborted {
        return Ok(payload);
    }
    if header.sequence != work.received {
        let text = format!("line {} came where {} was next", header.sequence, work.received);
        return refuse(Code::Sequence, text);
    }
    if bytes > u64::from(largest(machine)) || work.buffered + bytes > machine.buffer {
        return refuse(Code::Credit, "more came than there is room for".to_owned());
    }
    let fits = u64::from(header.count) <= work.job.lines - work.received;
    let Some((lines, ends)) = lines(&work.job, header.count, &payload).filter(|_| fits) else {
        return refuse(
            Code::Malformed,
            "the lines of a frame do not fit the job".to_owned(),
        );
    };
    let start = payload.len() - lines.len();
    let first = work.received;
    work.received += u64::from(header.count);
    work.buffered += bytes;
    session.bytes += bytes;
    work.queue.push_back(Piece {
        payload,
        start,
        ends,
        first,
        generation: work.generation,
    });
    Ok(work.spare.pop().unwrap_or_default())
}

/// Tells the sender how far the machine is until the connection ends; gives the writer back where it still works.
fn tell(mut writer: Box<dyn Write + Send>, number: u64, shared: &Shared) -> Option<Box<dyn Write + Send>> {
    let pace = shared.options.silence / 4;
    let mut told = None;
    loop {
        let mut state = shared.lock();
        let due = Instant::now() + pace;
        let news = loop {
            if !state.is_driven_by(number) {
                return Some(writer);
            }
            if let Some(fault) = &state.fault {
                break Err(fault.clone());
            }
            let changes = state.work.as_ref().map(|work| work.changes);
            if changes != told || Instant::now() >= due {
                told = changes;
                break Ok(state.status(shared.options.machine.buffer));
            }
            state = shared.wait_for(state, due.saturating_duration_since(Instant::now()));
        };
        drop(state);
        let sent = match news {
            Ok(Some(status)) => send(writer.as_mut(), &status).map(|()| status.activity == Activity::Done),
            Ok(None) => Ok(false),
            Err(text) => {
                let code = Code::Storage;
                send(writer.as_mut(), &Refusal { code, text })
                    .and(Err(io::ErrorKind::ConnectionAborted.into()))
            }
        };
        let mut state = shared.lock();
        let Ok(done) = sent else {
            if let Some(session) = state.session.as_ref().filter(|session| session.number == number) {
                session.closer.close();
            }
            state.leave(number);
            drop(state);
            shared.changed.notify_all();
            return None;
        };
        if let Some(work) = &mut state.work {
            work.told |= done;
        }
        // Several changes make one frame.
        drop(shared.wait_for(state, Duration::from_millis(1)));
    }
}
