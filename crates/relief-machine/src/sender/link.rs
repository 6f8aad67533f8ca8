//! Holds a connection, and makes a new one when it is lost.

use std::io::{self, Read, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::Error;
use crate::conversation::{expect, send};
use crate::frame::{self, Header, Kind};
use crate::job_state::Event;
use crate::message::{Accept, Code, Hello, Job, Refusal, VERSION, Welcome};
use crate::secret::{Side, random};
use crate::transport::{Closer, Connection, connect};

use super::ahead::{Shared, State};
use super::{hear, talk};

/// The first pause before a new connection, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// The longest idle timeout that a machine may ask for.
const LONGEST_IDLE_TIMEOUT: Duration = Duration::from_secs(3_600);

/// Why a connection is over.
pub(super) enum Ended {
    /// The job is over, one way or the other.
    Over,
    /// It was lost; a new one may do.
    Lost(io::Error),
    /// No connection will do.
    Fatal(Error),
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

/// Holds connections until the job is over. A lost one is tried again until the reconnect timeout of the sender, counted
/// from the first loss since the machine got further.
pub(super) fn link(shared: &Shared<'_>) {
    let address = shared.options.address.to_string();
    let mut failing = None;
    let mut pause = PAUSE.0;
    loop {
        let before = shared.lock().executed;
        let ended = session(shared);
        let mut state = shared.lock();
        state.connected = false;
        let source = match ended {
            Ended::Over => return,
            Ended::Fatal(error) => {
                drop(state);
                return shared.fail(error);
            }
            Ended::Lost(source) => source,
        };
        tracing::info!("the connection to {address} was lost: {source}");
        if state.sent > 0 {
            state.frames.lost();
            state.sent = 0;
        }
        if !state.course.goes_on() {
            // The machine cannot be asked any more.
            state.course.step(Event::Lost);
            drop(state);
            return shared.changed.notify_all();
        }
        if state.executed > before {
            (failing, pause) = (None, PAUSE.0);
        }
        let since: Instant = *failing.get_or_insert_with(Instant::now);
        if since.elapsed() >= shared.options.reconnect_timeout {
            let error = if state.connections == 0 {
                Error::Connect { address, source }
            } else {
                Error::Lost { address, source }
            };
            drop(state);
            return shared.fail(error);
        }
        let until = Instant::now() + pause;
        pause = (pause * 2).min(PAUSE.1);
        while state.course.goes_on() && Instant::now() < until {
            state = shared.wait_for(state, until.saturating_duration_since(Instant::now()));
        }
        if !state.course.goes_on() {
            state.course.step(Event::Lost);
            drop(state);
            return shared.changed.notify_all();
        }
    }
}

/// One connection.
fn session(shared: &Shared<'_>) -> Ended {
    let options = shared.options;
    let made = connect(
        &options.address,
        options.pin.as_ref(),
        options.idle_timeout,
        &|| !shared.lock().course.goes_on(),
        &|closer| shared.hold(closer),
    );
    let mut connection = match made {
        Ok(connection) => connection,
        Err(Error::Connect { source, .. }) if source.kind() != io::ErrorKind::InvalidData => {
            return Ended::Lost(source);
        }
        Err(error) => return Ended::Fatal(error),
    };
    connection.closer.expect_within(Some(options.idle_timeout));
    let idle_timeout = match agree(shared, &mut connection) {
        Ok(idle_timeout) => idle_timeout,
        Err(ended) => {
            // The last frame may say what the machine is to do.
            connection.closer.drain();
            return ended;
        }
    };
    let Connection {
        reader,
        writer,
        closer,
    } = connection;
    let heard = Mutex::new(None);
    let lost = &heard;
    let written = std::thread::scope(|scope| {
        let hearer = std::thread::Builder::new()
            .name("relief-hear".to_owned())
            .spawn_scoped(scope, move || {
                let ended = hear::hear(shared, reader);
                *lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
                drop(shared.lock());
                shared.changed.notify_all();
            });
        if let Err(error) = hearer {
            return Ended::Fatal(Error::Thread(error.to_string()));
        }
        let written = talk::talk(shared, writer, idle_timeout, lost);
        hang_up(shared, &closer, &written);
        written
    });
    match heard.into_inner().unwrap_or_else(PoisonError::into_inner) {
        // The machine's own words explain more than a broken pipe.
        Some(Ended::Fatal(error)) => Ended::Fatal(error),
        Some(heard @ Ended::Lost(_)) if matches!(written, Ended::Lost(_)) => heard,
        _ => written,
    }
}

/// Agrees with the machine on who both are and where the job goes on; gives the idle timeout after which the machine gives
/// up.
fn agree(shared: &Shared<'_>, connection: &mut Connection) -> Result<Duration, Ended> {
    let accept = introduce(shared, connection)?;
    if let Err(ended) = take_up(shared, &accept) {
        if !shared.lock().course.goes_on() {
            // A job lifts a pause; this one was stopped meanwhile.
            let abort = Header::new(Kind::Abort, 0, 0, &[]);
            let _ = frame::write(connection.writer.as_mut(), &abort, &[]);
        }
        return Err(ended);
    }
    let theirs = Duration::from_millis(u64::from(accept.idle_timeout.max(4)));
    let ours = shared.options.idle_timeout;
    // A machine that speaks seldom says so by its idle timeout; it may not keep us forever.
    let idle_timeout = theirs.clamp(ours, LONGEST_IDLE_TIMEOUT.max(ours));
    connection.closer.set_idle_timeout(idle_timeout)?;
    connection.closer.expect_within(None);
    Ok(theirs.min(ours))
}

/// Gives the machine a moment to say why it closes the connection before it is cut.
fn hang_up(shared: &Shared<'_>, closer: &Closer, written: &Ended) {
    let state = shared.lock();
    if matches!(written, Ended::Lost(_)) && !state.course.is_over() {
        drop(shared.wait_for(state, PAUSE.0));
    }
    closer.close();
}

pub(super) fn refused(shared: &Shared<'_>, refusal: Refusal) -> Ended {
    if refusal.code.is_passing() {
        return Ended::Lost(io::Error::other(refusal.text));
    }
    Ended::Fatal(Error::Refused {
        address: shared.options.address.to_string(),
        code: refusal.code,
        text: refusal.text,
    })
}

/// Hello, welcome, proof, job, accept.
fn introduce(shared: &Shared<'_>, connection: &mut Connection) -> Result<Accept, Ended> {
    let (reader, writer): (&mut dyn Read, &mut dyn Write) =
        (connection.reader.as_mut(), connection.writer.as_mut());
    let nonce = random::<32>().map_err(Ended::Fatal)?;
    let version = VERSION;
    send(writer, &Hello { version, nonce })?;
    let welcome: Welcome = expect(reader)?.map_err(|refusal| refused(shared, refusal))?;
    if welcome.version != VERSION {
        let text = format!(
            "this sender speaks version {VERSION}, the machine {}",
            welcome.version
        );
        let code = Code::Version;
        // The machine may have gone already; the user is told anyway.
        let _ = send(writer, &Refusal { code, text });
        return Err(Ended::Fatal(Error::Version {
            address: shared.options.address.to_string(),
            found: welcome.version,
        }));
    }
    let problem = match (&shared.options.secret, welcome.secret) {
        (None, false) => None,
        (Some(secret), true) if secret.knows(Side::Receiver, &nonce, &welcome.nonce, &welcome.proof) => {
            let proof = secret.proof(Side::Sender, &nonce, &welcome.nonce);
            frame::write(writer, &Header::new(Kind::Proof, 0, 0, &proof), &[&proof])?;
            None
        }
        (Some(_), true) => Some("the machine does not know the secret"),
        (Some(_), false) => Some("the machine asks for no secret, though one was given for it"),
        (None, true) => Some("the machine asks for a secret; --secret names a file that holds it"),
    };
    if let Some(problem) = problem {
        return Err(Ended::Fatal(Error::Option {
            option: "secret",
            problem: problem.to_owned(),
        }));
    }
    let from = shared.lock().executed;
    send(writer, &Job { from, ..shared.job })?;
    expect(reader)?.map_err(|refusal| refused(shared, refusal))
}

/// Goes on where the machine says.
fn take_up(shared: &Shared<'_>, accept: &Accept) -> Result<(), Ended> {
    let mut state = shared.lock();
    if !state.course.goes_on() {
        return Err(Ended::Lost(io::ErrorKind::ConnectionAborted.into()));
    }
    let line = shared.line_bytes();
    let first = state.connections == 0;
    let (executed, next) = (accept.executed, accept.next);
    check(shared, &state, accept, first).map_err(Ended::Fatal)?;
    state.executed = executed;
    state.received = next;
    (state.next, state.sent, state.credit) = (next, 0, accept.credit);
    state.largest = state.frames.agreed(accept.largest as usize, line);
    if first {
        state.before = executed;
    }
    // Lines from the first one not executed stay at hand: should the machine die with what it has received, they are
    // sent again.
    let at_hand = state
        .blocks
        .front()
        .map_or(next == state.made, |made| made.block.first <= next);
    if first || !at_hand {
        state.begin(next);
    }
    state.release();
    state.connections += 1;
    state.connected = true;
    state.agreed();
    state.news += 1;
    drop(state);
    shared.changed.notify_all();
    Ok(())
}

/// Whether a machine may go on where it says.
fn check(shared: &Shared<'_>, state: &State, accept: &Accept, first: bool) -> Result<(), Error> {
    let total = shared.job.lines;
    let (executed, next, known) = (accept.executed, accept.next, state.executed);
    let contradiction = || Error::Contradiction {
        said: next.min(executed),
        known,
        lines: total,
    };
    if next > total || (!first && (executed < known || next > state.made)) {
        return Err(contradiction());
    }
    if executed < known {
        return Err(Error::Behind {
            executed,
            known,
            lines: total,
        });
    }
    // Lines that nobody told this sender of: of another workpiece, for all it knows.
    if first && next > known && !state.taken {
        if executed == total {
            return Err(Error::ExecutedBefore { lines: total });
        }
        if !shared.options.go_on {
            return Err(Error::Begun {
                executed,
                received: next,
                known,
                lines: total,
            });
        }
    }
    let line = shared.line_bytes();
    if (accept.largest as usize) < line {
        return Err(Error::Line {
            bytes: line as u64,
            limit: u64::from(accept.largest),
            place: "a frame of this machine",
        });
    }
    Ok(())
}
