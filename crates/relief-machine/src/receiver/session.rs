//! One connection, from its greeting to its end.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Error;
use crate::conversation::{control, expect, send};
use crate::error::chain;
use crate::frame::{self, FrameError, Header, Kind};
use crate::journal::Journal;
use crate::message::{Accept, Activity, Code, Hello, Job, Refusal, VERSION, Welcome, check_lines};
use crate::secret::{Side, random};
use crate::transport::{Closer, Connection};

use super::guests::Stage;
use super::machine::Executor;
use super::piece::Piece;
use super::spawn;
use super::state::{Session, Shared, State, Work};
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

/// Serves the connection of this number until it ends. All up to the job must come before its deadline.
pub(super) fn serve(mut connection: Connection, number: u64, shared: &Arc<Shared>) -> io::Result<()> {
    let greeted = greet(
        connection.reader.as_mut(),
        connection.writer.as_mut(),
        number,
        shared,
    );
    let admitted = greeted.and_then(|job| {
        connection.closer.expect_within(None);
        admit(&job, number, &connection.closer, shared).map_err(|(code, text)| Ended::Refuse(code, text))
    });
    if let Err(ended) = admitted {
        return end(ended, Some(connection.writer.as_mut()));
    }
    drive(connection, number, shared)
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
fn greet(reader: &mut dyn Read, writer: &mut dyn Write, number: u64, shared: &Shared) -> Result<Job, Ended> {
    let options = &shared.options;
    let gone = |refusal: Refusal| Ended::Io(io::Error::other(refusal.text));
    let hello: Hello = expect(reader)?.map_err(gone)?;
    if hello.version != VERSION {
        let text = format!(
            "this machine speaks version {VERSION}, the sender {}",
            hello.version
        );
        return Err(Ended::Refuse(Code::Version, text));
    }
    shared.lock().guests.promote(number, Stage::Greeted);
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
        shared.lock().guests.promote(number, Stage::Admitted);
    }
    let job = expect(reader)?.map_err(gone)?;
    shared.lock().guests.promote(number, Stage::Admitted);
    Ok(job)
}

/// Whether the machine takes the job from the connection of this number.
fn admit(job: &Job, number: u64, closer: &Closer, shared: &Arc<Shared>) -> Result<(), (Code, String)> {
    let mut state = shared.lock();
    if state.refused < shared.options.machine.refuse {
        state.refused += 1;
        return Err((Code::Fault, "the machine is not ready".to_owned()));
    }
    if let Some(fault) = &state.fault {
        let refusal = fault.refusal();
        return Err((refusal.code, refusal.text));
    }
    // The same sender on a new connection knows that the old one is dead before we do.
    let deadline = Instant::now() + shared.options.idle_timeout;
    while let Some(session) = &mut state.session {
        if session.token != job.token {
            return Err((Code::Busy, "another sender drives the machine".to_owned()));
        }
        session.replaced = true;
        session.closer.close();
        if Instant::now() >= deadline {
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
            work.acknowledged = false;
        }
        None => begin(job, shared, &mut state)?,
    }
    state.session = Some(Session {
        number,
        token: job.token,
        closer: closer.clone(),
        bytes: 0,
        replaced: false,
    });
    Ok(())
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
    let frame = job.frame_bytes();
    let most = machine.buffer.min(u64::from(machine.largest));
    if frame > most {
        let text = format!("a line of {frame} bytes; the machine takes {most}");
        return Err((Code::TooLarge, text));
    }
    let storage = |error: Error| (Code::Storage, chain(&error));
    if let Some(place) = &state.place
        && place.holds().map_err(storage)?.is_some_and(|id| id != job.id)
    {
        let text = format!(
            "{} holds another job; give this one another output",
            place.path().display()
        );
        return Err((Code::OtherJob, text));
    }
    let journal = Journal::open(state.place.as_ref(), job).map_err(storage)?;
    let executed = journal.lines();
    let executor = Executor::new(journal, shared.clone()).map_err(storage)?;
    let started = spawn("relief-machine", move || executor.run()).map_err(storage)?;
    state.work = Some(Work::new(job, executed));
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
        // The teller ends with the session and gives the writer back, so that the sender can be told why.
        let leave = Leave(number, shared);
        let taken = take(reader.as_mut(), number, shared);
        drop(leave);
        let mut writer = teller
            .join()
            .map_err(|_| io::Error::other("the thread that tells the status failed"))?;
        match taken {
            // Whether the sender was told of the end is known once the teller has ended.
            Ok(Left::Closed) => {
                if let Some(work) = &mut shared.lock().work {
                    work.acknowledged |= work.told;
                }
                shared.changed.notify_all();
                Ok(())
            }
            Ok(Left::Otherwise) => Ok(()),
            Err(ended) => end(ended, writer.as_deref_mut()),
        }
    })
}

/// Ends a session, also where its thread panics: the one that tells the status would wait for it for ever.
struct Leave<'a>(u64, &'a Shared);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.1.lock().leave(self.0);
        self.1.changed.notify_all();
    }
}

fn accept(state: &State, options: &ReceiverOptions) -> Option<Accept> {
    let status = state.status(options.machine.buffer)?;
    Some(Accept {
        executed: status.executed,
        next: status.received,
        credit: status.credit,
        largest: largest(&options.machine),
        idle_timeout: u32::try_from(options.idle_timeout.as_millis()).unwrap_or(u32::MAX),
    })
}

fn largest(machine: &Machine) -> u32 {
    machine.largest.min(frame::MAX_LINES as u32)
}

/// How a connection ended without a reason to tell.
enum Left {
    /// The sender closed it.
    Closed,
    Otherwise,
}

/// Takes frames off the wire.
fn take(reader: &mut dyn Read, number: u64, shared: &Shared) -> Result<Left, Ended> {
    let machine = &shared.options.machine;
    let mut payload = Vec::new();
    let mut since_cut = 0;
    loop {
        let header = match frame::read(&mut { &mut *reader }, &mut payload) {
            Ok(Some(header)) => header,
            Ok(None) => break,
            // Inside TLS a sender that closes its socket ends the stream without a word.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(error.into()),
        };
        let mut state = shared.lock();
        if !state.is_driven_by(number) {
            return Ok(Left::Otherwise);
        }
        let State {
            work: Some(work),
            session: Some(session),
            ..
        } = &mut *state
        else {
            return Ok(Left::Otherwise);
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
            Kind::Error => return Ok(Left::Otherwise),
            kind => {
                let text = format!("{kind} does not come after JOB");
                return Err(Ended::Refuse(Code::Malformed, text));
            }
        }
        work.changes += 1;
        drop(state);
        shared.changed.notify_all();
    }
    // A sender that has come back had this connection closed here.
    let state = shared.lock();
    let is_closed = state
        .session
        .as_ref()
        .is_some_and(|session| session.number == number && !session.replaced);
    Ok(if is_closed { Left::Closed } else { Left::Otherwise })
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
    let count = u64::from(header.count);
    if count > work.job.lines - work.received {
        let text = format!(
            "{count} lines came where {} are left",
            work.job.lines - work.received
        );
        return refuse(Code::Malformed, text);
    }
    let start = match check_lines(&work.job, header.count, &payload) {
        Ok(lines) => payload.len() - lines.len(),
        Err(problem) => {
            let text = format!("the frame of line {}: {problem}", header.sequence);
            return refuse(Code::Malformed, text);
        }
    };
    let (first, generation) = (work.received, work.generation);
    work.received += count;
    work.buffered += bytes;
    session.bytes = session.bytes.saturating_add(bytes);
    let joined = work
        .queue
        .back_mut()
        .is_some_and(|last| last.join(&payload, start, count, generation));
    if joined {
        return Ok(payload);
    }
    let piece = Piece::new(&work.job, payload, start, first, count, generation);
    work.queue.push_back(piece);
    Ok(work.spare.pop().unwrap_or_default())
}

/// Tells the sender how far the machine is until the connection ends; gives the writer back where it still works.
fn tell(mut writer: Box<dyn Write + Send>, number: u64, shared: &Shared) -> Option<Box<dyn Write + Send>> {
    let pace = shared.options.idle_timeout / 4;
    let (mut told, mut ended) = (None, false);
    loop {
        let mut state = shared.lock();
        let due = Instant::now() + pace;
        let news = loop {
            if !state.is_driven_by(number) {
                return Some(writer);
            }
            if let Some(fault) = &state.fault {
                break Err(fault.refusal());
            }
            let changes = state.work.as_ref().map(|work| work.changes);
            // A sender that was told of the end closes the connection: what it has not read then would reset it.
            if (changes != told && !ended) || Instant::now() >= due {
                told = changes;
                break Ok(state.status(shared.options.machine.buffer));
            }
            state = shared.wait_for(state, due.saturating_duration_since(Instant::now()));
        };
        drop(state);
        let is_told_why = news.is_err();
        let sent = match news {
            Ok(Some(status)) => send(writer.as_mut(), &status).map(|()| status.activity == Activity::Done),
            Ok(None) => Ok(false),
            Err(refusal) => send(writer.as_mut(), &refusal).and(Err(io::ErrorKind::ConnectionAborted.into())),
        };
        let mut state = shared.lock();
        let Ok(done) = sent else {
            if let Some(session) = state.session.as_ref().filter(|session| session.number == number) {
                if is_told_why {
                    // The thread that reads goes on until the sender has read why and closes its side.
                    session.closer.finish();
                } else {
                    session.closer.close();
                }
            }
            state.leave(number);
            drop(state);
            shared.changed.notify_all();
            return None;
        };
        ended |= done;
        if let Some(work) = &mut state.work {
            work.told |= done;
        }
        // Several changes make one frame.
        drop(shared.wait_for(state, Duration::from_millis(1)));
    }
}
