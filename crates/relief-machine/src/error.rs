//! What can go wrong.

use std::io;
use std::path::PathBuf;

use crate::message::Code;

/// Why a job could not be sent or received.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option cannot be used.
    #[error("{option}: {problem}")]
    Option {
        /// Which.
        option: &'static str,
        /// What is wrong and what would work.
        problem: String,
    },
    /// The address is none.
    #[error(
        "'{address}' is not an address; tcp://HOST:PORT, tls://HOST:PORT, unix:/PATH or file:/PATH is expected"
    )]
    Address {
        /// What was given.
        address: String,
    },
    /// There is no connection.
    #[error("no connection to {address}")]
    Connect {
        /// Where to.
        address: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The connection was lost and could not be had again.
    #[error("the connection to {address} was lost and did not come back")]
    Lost {
        /// Where to.
        address: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The other side ended the connection with a reason.
    #[error("{address} refused: {text} ({code})")]
    Refused {
        /// Who.
        address: String,
        /// The code.
        code: Code,
        /// In its words.
        text: String,
    },
    /// The machine says what cannot be.
    #[error(
        "the machine contradicts itself: it says line {said}, where lines {known} to {lines} were possible"
    )]
    Contradiction {
        /// What it says now.
        said: u64,
        /// What it had said.
        known: u64,
        /// The most that can be.
        lines: u64,
    },
    /// The machine has executed less than it is known to have.
    #[error(
        "the machine says that {executed} of {lines} lines are executed, but {known} are known to be; \
         where the machine is right, --executed {executed} has the lines after them executed again"
    )]
    Behind {
        /// Lines executed, as the machine says.
        executed: u64,
        /// Lines that are known or were said to be executed.
        known: u64,
        /// The lines of the job.
        lines: u64,
    },
    /// The machine has begun a job that was to begin at another line.
    #[error(
        "the machine has begun this job: it has executed {executed} of {lines} lines and has {received}, \
         where line {known} was to be the first; to go on where it is, on the workpiece that is in it, add --continue; \
         to begin with another workpiece, have the machine forget the job"
    )]
    Begun {
        /// Lines executed, as the machine says.
        executed: u64,
        /// Lines that the machine has.
        received: u64,
        /// The line that was to be the first.
        known: u64,
        /// The lines of the job.
        lines: u64,
    },
    /// The machine speaks another version of the protocol.
    #[error(
        "{address} speaks version {found} of the protocol; this sender speaks version {}",
        crate::message::VERSION
    )]
    Version {
        /// Who.
        address: String,
        /// Its version.
        found: u16,
    },
    /// The machine has executed all of a job that was to begin.
    #[error(
        "the machine has executed all {lines} lines of this job before; \
         to execute it once more, have the machine forget it"
    )]
    ExecutedBefore {
        /// The lines of the job.
        lines: u64,
    },
    /// A file cannot be read or written.
    #[error("{action} {}", path.display())]
    File {
        /// What was tried: "cannot write".
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// A manifest cannot be used.
    #[error("the manifest {}: {problem}", path.display())]
    Manifest {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Something is not what the job began with.
    #[error(
        "{what} changed: it has the digest {found} now, the job began with {expected}. What was executed is of the one then: \
         put it back as it was, or begin another job"
    )]
    Changed {
        /// The design, a picture, a table.
        what: String,
        /// The digest now.
        found: String,
        /// The digest then.
        expected: String,
    },
    /// Files do not hold what a job has executed.
    #[error("{}: {problem}", path.display())]
    Executed {
        /// The first of them.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A file is not what was executed.
    #[error("lines {first} to {end} differ: the file has the digest {found}, the job has {expected}")]
    Differs {
        /// The first line of the band.
        first: u64,
        /// One past its last.
        end: u64,
        /// The digest of the file's band.
        found: String,
        /// That of the job's.
        expected: String,
    },
    /// TLS cannot be set up.
    #[error("TLS: {problem}")]
    Tls {
        /// What is wrong.
        problem: String,
    },
    /// A line is too long.
    #[error("a line of {bytes} bytes does not fit in {place}, which has {limit}; choose narrower stripes")]
    Line {
        /// The bytes of a line.
        bytes: u64,
        /// What fits.
        limit: u64,
        /// In what.
        place: &'static str,
    },
    /// The job was stopped.
    #[error("the job was stopped after {executed} executed lines")]
    Stopped {
        /// Lines executed.
        executed: u64,
    },
    /// The job was stopped, and the machine was not heard to stop.
    #[error(
        "the job was stopped, but the machine was not heard to stop: it has executed {executed} lines or more, \
         and may execute what it has in its buffer; --resume asks it"
    )]
    Unheard {
        /// Lines that are known to be executed.
        executed: u64,
    },
    /// The machine failed.
    #[error("the machine failed: {problem}")]
    Machine {
        /// How.
        problem: String,
    },
    /// A line could not be executed.
    #[error("line {line} could not be executed: {problem}")]
    Execution {
        /// The number of the line.
        line: u64,
        /// What drives the machine says, or that it panicked.
        problem: String,
    },
    /// What is recorded of a job does not fit it.
    #[error("the journal {}: {problem}", path.display())]
    Journal {
        /// Which.
        path: PathBuf,
        /// What is wrong and what would work.
        problem: String,
    },
    /// The system has no random numbers.
    #[error("the system gives no random numbers")]
    Random,
    /// Lines could not be made.
    #[error(transparent)]
    Scan(#[from] relief_scan::Error),
    /// A thread could not be started, or ended with a panic: a defect.
    #[error("a thread failed: {0}")]
    Thread(String),
}

/// An error with its causes, in one line.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
