//! The shared secret: both sides prove that they know it, and neither says it.
//!
//! Each proof is HMAC-SHA-256 over both nonces and who speaks, so that it cannot be used again or sent back. The machine
//! proves first, to whoever asks: a secret that can be guessed can so be found by trying, without asking again, so that
//! it must be random. The proofs are not bound to the connection and frames that follow are not signed: against someone
//! who can relay or change them on the way, TLS is what helps.

use std::path::Path;

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use crate::Error;
use crate::bounded::read_bounded;

/// A secret that sender and receiver share: at least 16 bytes, any, drawn at random.
#[derive(Clone)]
pub struct Secret(hmac::Key);

/// Who gives a proof.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    Sender,
    Receiver,
}

impl Secret {
    /// The fewest bytes of a secret.
    pub const LEAST: usize = 16;

    /// The most bytes of a file that holds one.
    pub const MOST: u64 = 64 << 10;

    /// The secret that a regular file holds: all its bytes but one end of a line (LF or CR LF) after them.
    ///
    /// # Errors
    /// Where it cannot be read, or is too long or too short to be one.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let bytes = read_bounded(path, Self::MOST)?;
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        Self::new(bytes.strip_suffix(b"\r").unwrap_or(bytes))
    }

    /// A secret of these bytes.
    ///
    /// # Errors
    /// Where it is too short to be one.
    pub fn new(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() < Self::LEAST {
            let problem = format!(
                "it has {} bytes; at least {} are needed",
                bytes.len(),
                Self::LEAST
            );
            return Err(Error::Option {
                option: "secret",
                problem,
            });
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, bytes)))
    }

    pub(crate) fn proof(&self, side: Side, sender: &[u8; 32], receiver: &[u8; 32]) -> [u8; 32] {
        let mut proof = [0; 32];
        proof.copy_from_slice(hmac::sign(&self.0, &text(side, sender, receiver)).as_ref());
        proof
    }

    /// Checks a proof in constant time.
    pub(crate) fn knows(&self, side: Side, sender: &[u8; 32], receiver: &[u8; 32], proof: &[u8; 32]) -> bool {
        hmac::verify(&self.0, &text(side, sender, receiver), proof).is_ok()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

fn text(side: Side, sender: &[u8; 32], receiver: &[u8; 32]) -> Vec<u8> {
    let who = match side {
        Side::Sender => b"relief sender".as_slice(),
        Side::Receiver => b"relief receiver",
    };
    [who, sender, receiver].concat()
}

/// Bytes that nobody can guess.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| Error::Random)?;
    Ok(bytes)
}
