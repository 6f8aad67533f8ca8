//! The frame: 32 bytes of header, then the payload. `docs/protocol.md` says what a controller must know of it.
//!
//! The header has a checksum of its own, so that a damaged length is never waited for.

use std::io::{self, IoSlice, Read, Write};

/// The bytes of a header.
pub const HEADER: usize = 32;

/// The most bytes of the payload of [`Kind::Lines`].
pub const MAX_LINES: usize = 1 << 24;

/// The most bytes of any other payload.
pub const MAX_CONTROL: usize = 1 << 12;

/// The first bytes of every frame; the last is the version of the framing.
pub const MAGIC: [u8; 4] = *b"RLF\x01";

/// What a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Sender: who is there?
    Hello = 1,
    /// Receiver: the answer.
    Welcome = 2,
    /// Sender: proof that it knows the secret.
    Proof = 3,
    /// Sender: what is to come.
    Job = 4,
    /// Receiver: the job is taken, and where it goes on.
    Accept = 5,
    /// Sender: lines.
    Lines = 6,
    /// Sender: there are no more lines.
    End = 7,
    /// Sender: stop after the line being executed.
    Pause = 8,
    /// Sender: go on.
    Continue = 9,
    /// Sender: drop what has not been executed.
    Abort = 10,
    /// Sender: still there.
    Ping = 11,
    /// Receiver: how far it is.
    Status = 12,
    /// Either: why the connection ends.
    Error = 13,
}

impl Kind {
    const fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Hello,
            2 => Self::Welcome,
            3 => Self::Proof,
            4 => Self::Job,
            5 => Self::Accept,
            6 => Self::Lines,
            7 => Self::End,
            8 => Self::Pause,
            9 => Self::Continue,
            10 => Self::Abort,
            11 => Self::Ping,
            12 => Self::Status,
            13 => Self::Error,
            _ => return None,
        })
    }

    /// The most bytes of its payload.
    #[must_use]
    pub const fn limit(self) -> usize {
        match self {
            Self::Lines => MAX_LINES,
            _ => MAX_CONTROL,
        }
    }
}

impl std::fmt::Display for Kind {
    /// Its name in `docs/protocol.md`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Hello => "HELLO",
            Self::Welcome => "WELCOME",
            Self::Proof => "PROOF",
            Self::Job => "JOB",
            Self::Accept => "ACCEPT",
            Self::Lines => "LINES",
            Self::End => "END",
            Self::Pause => "PAUSE",
            Self::Continue => "CONTINUE",
            Self::Abort => "ABORT",
            Self::Ping => "PING",
            Self::Status => "STATUS",
            Self::Error => "ERROR",
        })
    }
}

/// Why bytes are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// They do not begin as a frame does.
    #[error("the bytes do not begin with those of a frame; the other side speaks another protocol")]
    Magic,
    /// The header is damaged.
    #[error("the header has the checksum {found:08x}, its bytes have {expected:08x}")]
    Header {
        /// What it says.
        found: u32,
        /// What its bytes have.
        expected: u32,
    },
    /// The payload is damaged.
    #[error("frame {sequence}: the payload has the checksum {expected:08x}, the header says {found:08x}")]
    Payload {
        /// The sequence number of the frame.
        sequence: u64,
        /// What the header says.
        found: u32,
        /// What its bytes have.
        expected: u32,
    },
    /// Nobody knows this kind.
    #[error("a frame of the unknown kind {0}")]
    Kind(u8),
    /// The payload is longer than such a frame may have.
    #[error("a payload of {length} bytes; such a frame has at most {limit}")]
    Length {
        /// What the header says.
        length: u32,
        /// What is allowed.
        limit: usize,
    },
}

/// What stands in a header, but for the checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the frame says.
    pub kind: Kind,
    /// For lines the number of the first, for the end the number of all lines, else 0.
    pub sequence: u64,
    /// The bytes of the payload.
    pub length: u32,
    /// The lines in the payload.
    pub count: u32,
    /// The CRC-32C of the payload.
    pub checksum: u32,
}

impl Header {
    /// The header of a payload.
    ///
    /// # Panics
    /// Where the payload is longer than [`Kind::limit`].
    #[must_use]
    pub fn new(kind: Kind, sequence: u64, count: u32, payload: &[u8]) -> Self {
        Self::sized(kind, sequence, count, payload.len(), crc32c::crc32c(payload))
    }

    pub(crate) fn sized(kind: Kind, sequence: u64, count: u32, length: usize, checksum: u32) -> Self {
        assert!(length <= kind.limit(), "a payload of {length} bytes");
        Self {
            kind,
            sequence,
            length: length as u32,
            count,
            checksum,
        }
    }

    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = self.kind as u8;
        bytes[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.length.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.count.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.checksum.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[..28]);
        bytes[28..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads a header; its length is within the limit of its kind.
    ///
    /// # Errors
    /// Where the bytes are no header.
    pub fn decode(bytes: &[u8; HEADER]) -> Result<Self, FrameError> {
        if bytes[..4] != MAGIC {
            return Err(FrameError::Magic);
        }
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let (found, expected) = (word(28), crc32c::crc32c(&bytes[..28]));
        if found != expected {
            return Err(FrameError::Header { found, expected });
        }
        let kind = Kind::of(bytes[4]).ok_or(FrameError::Kind(bytes[4]))?;
        let length = word(16);
        if length as usize > kind.limit() {
            return Err(FrameError::Length {
                length,
                limit: kind.limit(),
            });
        }
        let sequence = u64::from(word(8)) | u64::from(word(12)) << 32;
        Ok(Self {
            kind,
            sequence,
            length,
            count: word(20),
            checksum: word(24),
        })
    }

    /// Checks a payload.
    ///
    /// # Errors
    /// Where it has another checksum.
    pub fn check(&self, payload: &[u8]) -> Result<(), FrameError> {
        let expected = crc32c::crc32c(payload);
        if expected == self.checksum {
            Ok(())
        } else {
            Err(FrameError::Payload {
                sequence: self.sequence,
                found: self.checksum,
                expected,
            })
        }
    }
}

/// The header of a frame, its payload, and the bytes that both take.
pub type Decoded<'a> = (Header, &'a [u8], usize);

/// The first frame of `bytes` with the bytes it takes; `None` where more are needed.
///
/// # Errors
/// Where they are no frame.
pub fn decode(bytes: &[u8]) -> Result<Option<Decoded<'_>>, FrameError> {
    let Some(header) = bytes.first_chunk::<HEADER>() else {
        let known = bytes.len().min(MAGIC.len());
        return if bytes[..known] == MAGIC[..known] {
            Ok(None)
        } else {
            Err(FrameError::Magic)
        };
    };
    let header = Header::decode(header)?;
    let end = HEADER + header.length as usize;
    let Some(payload) = bytes.get(HEADER..end) else {
        return Ok(None);
    };
    header.check(payload)?;
    Ok(Some((header, payload, end)))
}

/// Reads one frame; `None` at the end of the stream between two frames. `payload` is used again.
///
/// # Errors
/// Where reading fails, the stream ends within a frame, or the bytes are no frame (as
/// [`io::ErrorKind::InvalidData`] around a [`FrameError`]).
pub fn read(input: &mut impl Read, payload: &mut Vec<u8>) -> io::Result<Option<Header>> {
    read_within(input, payload, MAX_LINES)
}

/// Reads one frame of at most `most` bytes of payload.
pub(crate) fn read_within(
    input: &mut impl Read,
    payload: &mut Vec<u8>,
    most: usize,
) -> io::Result<Option<Header>> {
    let mut bytes = [0; HEADER];
    let mut have = 0;
    while have < HEADER {
        match input.read(&mut bytes[have..]) {
            Ok(0) if have == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => have += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    let header = Header::decode(&bytes).map_err(invalid)?;
    if header.length as usize > most {
        return Err(invalid(FrameError::Length {
            length: header.length,
            limit: most,
        }));
    }
    payload.resize(header.length as usize, 0);
    input.read_exact(payload)?;
    header.check(payload).map_err(invalid)?;
    Ok(Some(header))
}

/// Writes one frame whose payload is `parts`, one after the other.
///
/// # Errors
/// Where writing fails.
pub fn write(output: &mut (impl Write + ?Sized), header: &Header, parts: &[&[u8]]) -> io::Result<()> {
    let head = header.encode();
    let mut slices: Vec<IoSlice<'_>> = vec![IoSlice::new(&head)];
    slices.extend(
        parts
            .iter()
            .filter(|part| !part.is_empty())
            .map(|part| IoSlice::new(part)),
    );
    let mut rest = slices.as_mut_slice();
    while !rest.is_empty() {
        match output.write_vectored(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => IoSlice::advance_slices(&mut rest, count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
