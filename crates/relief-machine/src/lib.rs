//! Streams the lines of a job to a machine controller: ordered, acknowledged, resumable.
//!
//! [`send`] is the sender, [`Receiver`] the reference receiver, which can emulate a machine. [`Manifest`] is what a
//! job is and how far it has come. The protocol is described in `docs/protocol.md`; [`frame`] and [`message`] hold
//! its words.

mod address;
mod bands;
mod bounded;
mod conversation;
mod error;
pub mod frame;
mod job_state;
mod journal;
mod manifest;
pub mod message;
mod motion;
mod receiver;
mod record;
mod secret;
mod sender;
mod tls;
mod transport;
mod verify;

pub use address::Address;
pub use bands::{Band, Cut};
pub use error::Error;
pub use job_state::JobState;
pub use manifest::{
    Input, Manifest, ManifestLock, NamedInput, Parameter, PreparedTable, Region, SCHEMA, digest_file,
};
pub use motion::{Binding, Estimate, Motion};
pub use receiver::{LineFault, Machine, OnLine, Pace, Received, Receiver, ReceiverOptions};
pub use record::Record;
pub use secret::Secret;
pub use sender::{Control, Phase, Progress, SenderOptions, Sent, send};
pub use tls::{Acceptor, Pin};
pub use verify::{Verified, verify};

/// A new name for a sender on the wire.
///
/// # Errors
/// Where the system gives no random numbers.
pub fn token() -> Result<[u8; 16], Error> {
    secret::random()
}
