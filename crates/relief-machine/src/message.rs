//! What the payloads of control frames hold. All numbers are little-endian; a payload may be longer than described,
//! which leaves room for later versions.

use relief_engine::Length;
use relief_scan::runs::{LONGEST, run_bytes};
use relief_scan::{BitOrder, Bits, ByteOrder, Encoding, Packing, Polarity, Program};

use crate::frame::{Kind, MAX_LINES};

/// The version of the protocol.
pub const VERSION: u16 = 1;

/// The most bytes of the text of an error.
const LONGEST_TEXT: usize = 1_024;

/// Why a connection ends; what [`Refusal::code`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Code {
    /// The versions differ.
    Version = 1,
    /// A frame or its payload makes no sense.
    Malformed = 2,
    /// A checksum is wrong.
    Checksum = 3,
    /// A frame is not the next one.
    Sequence = 4,
    /// Another sender drives the machine.
    Busy = 5,
    /// The machine has begun another job.
    OtherJob = 6,
    /// The machine cannot execute such lines.
    Unsupported = 7,
    /// A line does not fit in the machine's buffer.
    TooLarge = 8,
    /// The secret is wrong or missing.
    Unauthorised = 9,
    /// What was executed cannot be recorded.
    Storage = 10,
    /// Someone aborted the job.
    Aborted = 11,
    /// The machine has a fault.
    Fault = 12,
    /// More was sent than the credit allows.
    Credit = 13,
    /// Nothing was heard for too long.
    Silence = 14,
    /// A line could not be executed.
    Execution = 15,
    /// A code of a later version.
    Unknown = 0xFFFF,
}

impl Code {
    const ALL: [Self; 15] = [
        Self::Version,
        Self::Malformed,
        Self::Checksum,
        Self::Sequence,
        Self::Busy,
        Self::OtherJob,
        Self::Unsupported,
        Self::TooLarge,
        Self::Unauthorised,
        Self::Storage,
        Self::Aborted,
        Self::Fault,
        Self::Credit,
        Self::Silence,
        Self::Execution,
    ];

    fn of(code: u16) -> Self {
        Self::ALL
            .into_iter()
            .find(|known| *known as u16 == code)
            .unwrap_or(Self::Unknown)
    }

    /// Whether a new connection may do better: damage on the way or a machine that is not ready, not a decision.
    #[must_use]
    pub const fn is_passing(self) -> bool {
        matches!(
            self,
            Self::Checksum | Self::Sequence | Self::Malformed | Self::Silence | Self::Fault
        )
    }
}

impl std::fmt::Display for Code {
    /// Its number in `docs/protocol.md`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown => f.write_str("ERROR of a later version"),
            code => write!(f, "ERROR {}", *code as u16),
        }
    }
}

/// Reads fields from the front of a payload.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

/// The payload of [`Kind::Hello`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The version of the sender.
    pub version: u16,
    /// Random.
    pub nonce: [u8; 32],
}

/// The payload of [`Kind::Welcome`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// The version of the receiver.
    pub version: u16,
    /// Whether the receiver asks for a proof and gives its own.
    pub secret: bool,
    /// Random.
    pub nonce: [u8; 32],
    /// HMAC-SHA-256 by the secret of "relief receiver", the sender's nonce and this one; zeros without a secret.
    pub proof: [u8; 32],
}

/// The payload of [`Kind::Job`]: what the lines are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Names the job: the same design, tables, scan and pictures.
    pub id: [u8; 32],
    /// Names the sender: of two senders with the same token the later replaces the earlier.
    pub token: [u8; 16],
    /// The first line that the sender does not know to be executed.
    pub from: u64,
    /// All lines of the job.
    pub lines: u64,
    /// Samples of a line.
    pub samples: u64,
    /// Channels of a position.
    pub channels: u32,
    /// Passes; each has as many lines. 1 where they have not.
    pub passes: u32,
    /// Bytes of a line, or the most of one where lines are runs.
    pub line_bytes: u32,
    /// The side of a pixel, the nearest number of picometres; 0 where unknown.
    pub pixel: u64,
    /// Columns of the raster.
    pub width: u64,
    /// Rows of the raster.
    pub height: u64,
    /// How samples are packed.
    pub packing: Packing,
    /// Whether lines are runs.
    pub run_length: bool,
    /// BLAKE3 of the design file.
    pub design: [u8; 32],
    /// BLAKE3 of the scan program.
    pub scan: [u8; 32],
    /// BLAKE3 of the material table; zeros without one.
    pub material: [u8; 32],
    /// BLAKE3 of the machine table; zeros without one.
    pub machine: [u8; 32],
}

impl Job {
    /// The job of a program; `pictures` stands for the pictures that the design reads. Its name stands for all that
    /// decides the bytes of its lines: design, pictures, scan with its tables, and what a design means to this version
    /// ([`relief_design::MEANING`]).
    #[must_use]
    pub fn new(program: &Program, design: [u8; 32], pictures: [u8; 32], token: [u8; 16]) -> Self {
        let table = |table: &Option<relief_scan::Table>| {
            table.as_ref().map_or([0; 32], |table| *table.digest().as_bytes())
        };
        let raster = program.raster();
        let scan = *program.digest().as_bytes();
        // Another meaning of designs makes other bytes of the same text: it is another job.
        let meaning = relief_design::MEANING.to_le_bytes();
        let id = *blake3::hash(&[&design[..], &pictures, &scan, &meaning].concat()).as_bytes();
        Self {
            id,
            token,
            from: 0,
            lines: program.lines(),
            samples: program.samples(),
            channels: program.channels(),
            passes: program.equal_passes(),
            // A line that is longer than a frame is refused before the start.
            line_bytes: u32::try_from(program.encoding().most()).unwrap_or(u32::MAX),
            pixel: raster.pixel.map_or(0, Length::nearest_picometres),
            width: raster.width,
            height: raster.height,
            packing: program.scan().packing,
            run_length: matches!(program.encoding(), Encoding::Runs(_)),
            design,
            scan,
            material: table(&program.tables().material),
            machine: table(&program.tables().machine),
        }
    }
}

impl Job {
    /// The most bytes that one line takes of a frame, its length included where lines are runs.
    #[must_use]
    pub const fn frame_bytes(&self) -> u64 {
        self.line_bytes as u64 + if self.run_length { 4 } else { 0 }
    }

    /// The fewest bytes of a line.
    pub(crate) const fn least_bytes(&self) -> u64 {
        if self.run_length {
            self.samples.div_ceil(LONGEST as u64) * run_bytes(self.packing) as u64
        } else {
            self.line_bytes as u64
        }
    }

    /// Whether the bytes of a line are those of its samples.
    fn has_its_line_bytes(&self) -> bool {
        let bytes = match (self.run_length, self.packing.bits) {
            (true, _) => self.samples.checked_mul(run_bytes(self.packing) as u64),
            (false, Bits::One) => Some(self.samples.div_ceil(8)),
            (false, Bits::Eight) => Some(self.samples),
            (false, Bits::Sixteen) => self.samples.checked_mul(2),
        };
        let positions = self.channels > 0 && self.samples.is_multiple_of(u64::from(self.channels));
        let passes = self.passes > 0 && self.lines.is_multiple_of(u64::from(self.passes));
        positions && passes && self.line_bytes > 0 && bytes == Some(u64::from(self.line_bytes))
    }
}

/// The payload of [`Kind::Accept`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accept {
    /// Lines executed: all before this one.
    pub executed: u64,
    /// The line that must come next.
    pub next: u64,
    /// Bytes of payload of lines that may be sent on this connection.
    pub credit: u64,
    /// The most bytes of payload of one frame of lines.
    pub largest: u32,
    /// Milliseconds without a byte after which the receiver ends the connection.
    pub idle_timeout: u32,
}

/// What the machine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Activity {
    /// It waits for lines.
    Waiting = 0,
    /// It executes.
    Running = 1,
    /// It was paused.
    Paused = 2,
    /// It has executed all lines.
    Done = 3,
    /// It has dropped what was not executed.
    Aborted = 4,
}

/// The payload of [`Kind::Status`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Lines executed: all before this one.
    pub executed: u64,
    /// Lines received: all before this one.
    pub received: u64,
    /// Bytes of payload of lines that may be sent on this connection, all that were sent counted.
    pub credit: u64,
    /// Bytes received and not executed.
    pub buffered: u64,
    /// How often the machine had nothing to execute since the job began.
    pub underruns: u32,
    /// What it does.
    pub activity: Activity,
}

/// The payload of [`Kind::Error`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub code: Code,
    /// In words; UTF-8, at most 1 024 bytes.
    pub text: String,
}

/// A payload that can be written and read.
pub trait Message: Sized {
    /// The kind of frame that carries it.
    const KIND: Kind;

    /// Its bytes.
    fn encode(&self) -> Vec<u8>;

    /// Reads it; `None` where it is too short or a number is out of range.
    fn decode(bytes: &[u8]) -> Option<Self>;
}

impl Message for Hello {
    const KIND: Kind = Kind::Hello;

    fn encode(&self) -> Vec<u8> {
        let mut bytes = self.version.to_le_bytes().to_vec();
        bytes.extend_from_slice(&[0, 0]);
        bytes.extend_from_slice(&self.nonce);
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let version = fields.u16()?;
        fields.u16()?;
        Some(Self {
            version,
            nonce: fields.array()?,
        })
    }
}

impl Message for Welcome {
    const KIND: Kind = Kind::Welcome;

    fn encode(&self) -> Vec<u8> {
        let mut bytes = self.version.to_le_bytes().to_vec();
        bytes.extend_from_slice(&u16::from(self.secret).to_le_bytes());
        bytes.extend_from_slice(&self.nonce);
        bytes.extend_from_slice(&self.proof);
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let (version, flags) = (fields.u16()?, fields.u16()?);
        Some(Self {
            version,
            secret: flags & 1 == 1,
            nonce: fields.array()?,
            proof: fields.array()?,
        })
    }
}

impl Message for Job {
    const KIND: Kind = Kind::Job;

    fn encode(&self) -> Vec<u8> {
        let mut bytes = [self.id.as_slice(), &self.token].concat();
        for number in [self.from, self.lines, self.samples] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for number in [self.channels, self.passes, self.line_bytes] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for number in [self.pixel, self.width, self.height] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let bits = match self.packing.bits {
            Bits::One => 1,
            Bits::Eight => 8,
            Bits::Sixteen => 16,
        };
        let flags = u8::from(self.packing.bit_order == BitOrder::LeastFirst)
            | u8::from(self.packing.byte_order == ByteOrder::Big) << 1
            | u8::from(self.packing.polarity == Polarity::Inverted) << 2
            | u8::from(self.run_length) << 3;
        bytes.extend_from_slice(&[bits, flags, 0, 0]);
        for digest in [self.design, self.scan, self.material, self.machine] {
            bytes.extend_from_slice(&digest);
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let (id, token) = (fields.array()?, fields.array()?);
        let [from, lines, samples] = [fields.u64()?, fields.u64()?, fields.u64()?];
        let [channels, passes, line_bytes] = [fields.u32()?, fields.u32()?, fields.u32()?];
        let [pixel, width, height] = [fields.u64()?, fields.u64()?, fields.u64()?];
        let bits = match fields.u8()? {
            1 => Bits::One,
            8 => Bits::Eight,
            16 => Bits::Sixteen,
            _ => return None,
        };
        let flags = fields.u8()?;
        fields.u16()?;
        let packing = Packing {
            bits,
            bit_order: if flags & 1 == 0 {
                BitOrder::MostFirst
            } else {
                BitOrder::LeastFirst
            },
            byte_order: if flags & 2 == 0 {
                ByteOrder::Little
            } else {
                ByteOrder::Big
            },
            polarity: if flags & 4 == 0 {
                Polarity::Normal
            } else {
                Polarity::Inverted
            },
        };
        let job = Self {
            id,
            token,
            from,
            lines,
            samples,
            channels,
            passes,
            line_bytes,
            pixel,
            width,
            height,
            packing,
            run_length: flags & 8 != 0,
            design: fields.array()?,
            scan: fields.array()?,
            material: fields.array()?,
            machine: fields.array()?,
        };
        let sound =
            lines > 0 && from <= lines && line_bytes as usize <= MAX_LINES && job.has_its_line_bytes();
        sound.then_some(job)
    }
}

impl Message for Accept {
    const KIND: Kind = Kind::Accept;

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [self.executed, self.next, self.credit] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for number in [self.largest, self.idle_timeout] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let [executed, next, credit] = [fields.u64()?, fields.u64()?, fields.u64()?];
        let accept = Self {
            executed,
            next,
            credit,
            largest: fields.u32()?,
            idle_timeout: fields.u32()?,
        };
        (executed <= next && accept.largest > 0).then_some(accept)
    }
}

impl Message for Status {
    const KIND: Kind = Kind::Status;

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [self.executed, self.received, self.credit, self.buffered] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.underruns.to_le_bytes());
        bytes.extend_from_slice(&[self.activity as u8, 0, 0, 0]);
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let [executed, received, credit, buffered] =
            [fields.u64()?, fields.u64()?, fields.u64()?, fields.u64()?];
        let underruns = fields.u32()?;
        let activity = match fields.u8()? {
            0 => Activity::Waiting,
            1 => Activity::Running,
            2 => Activity::Paused,
            3 => Activity::Done,
            4 => Activity::Aborted,
            _ => return None,
        };
        let status = Self {
            executed,
            received,
            credit,
            buffered,
            underruns,
            activity,
        };
        (executed <= received).then_some(status)
    }
}

impl Message for Refusal {
    const KIND: Kind = Kind::Error;

    fn encode(&self) -> Vec<u8> {
        let text = &self.text[..self.text.floor_char_boundary(LONGEST_TEXT)];
        [&(self.code as u16).to_le_bytes(), text.as_bytes()].concat()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let code = Code::of(fields.u16()?);
        let text = &fields.0[..fields.0.len().min(LONGEST_TEXT)];
        // What comes off the wire is shown on terminals: no characters that control one or turn a line around.
        let shown =
            |c: &char| !c.is_control() && !matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
        let mut text: String = String::from_utf8_lossy(text).chars().filter(shown).collect();
        // A byte that is no UTF-8 becomes three.
        text.truncate(text.floor_char_boundary(LONGEST_TEXT));
        Some(Self { code, text })
    }
}

/// Where the lines of a payload end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ends {
    /// All lines have so many bytes.
    Every {
        /// The bytes of a line.
        bytes: usize,
        /// The lines.
        lines: u64,
    },
    /// Each ends there.
    Listed(Vec<usize>),
}

impl Ends {
    /// The number of lines.
    #[must_use]
    pub const fn count(&self) -> u64 {
        match self {
            Self::Every { lines, .. } => *lines,
            Self::Listed(ends) => ends.len() as u64,
        }
    }

    /// Where line `index` ends; that of the last where there is none.
    #[must_use]
    pub fn end(&self, index: u64) -> usize {
        match self {
            Self::Every { bytes, lines } => bytes * (index + 1).min(*lines) as usize,
            Self::Listed(ends) => {
                let index = usize::try_from(index).unwrap_or(usize::MAX);
                ends.get(index).or(ends.last()).copied().unwrap_or(0)
            }
        }
    }
}

/// Why a payload holds no lines of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinesError {
    /// A frame holds one line at least.
    #[error("it holds no line")]
    None,
    /// Lines of a fixed length take other bytes.
    #[error("its {count} lines of {line_bytes} bytes do not take {found} bytes")]
    Size {
        /// The lines that the header says.
        count: u32,
        /// The bytes of a line.
        line_bytes: u32,
        /// The bytes of the payload.
        found: usize,
    },
    /// The lengths, or the lines that they tell of, do not end with the payload.
    #[error("its table of {count} lengths does not fit its {found} bytes")]
    Table {
        /// The lines that the header says.
        count: u32,
        /// The bytes of the payload.
        found: usize,
    },
    /// A line is not made of whole runs.
    #[error("line {index} of it has {found} bytes: {most} at most, in whole runs of {run}, are expected")]
    Runs {
        /// Which line, from 0.
        index: usize,
        /// Its bytes.
        found: usize,
        /// The most of a line.
        most: u32,
        /// The bytes of a run.
        run: usize,
    },
    /// The runs of a line do not sum up.
    #[error("line {index} of it has runs of {found} samples: {samples} are expected, in runs of at least 1")]
    Samples {
        /// Which line, from 0.
        index: usize,
        /// The sum of its runs.
        found: u64,
        /// The samples of a line.
        samples: u64,
    },
}

/// The lines in the payload of a frame of lines. Each is checked: it has the bytes of the job's lines or, where lines
/// are runs, whole runs that sum up to its samples.
///
/// # Errors
/// Where `count` and the payload do not fit each other or the job.
pub fn check_lines<'a>(job: &Job, count: u32, payload: &'a [u8]) -> Result<&'a [u8], LinesError> {
    let found = payload.len();
    if count == 0 {
        return Err(LinesError::None);
    }
    if !job.run_length {
        let fits = u64::from(count).checked_mul(u64::from(job.line_bytes)) == Some(found as u64);
        let line_bytes = job.line_bytes;
        return fits.then_some(payload).ok_or(LinesError::Size {
            count,
            line_bytes,
            found,
        });
    }
    let table = || LinesError::Table { count, found };
    let (lengths, bytes) = (count as usize)
        .checked_mul(4)
        .and_then(|table| payload.split_at_checked(table))
        .ok_or_else(table)?;
    let (most, run) = (job.line_bytes, run_bytes(job.packing));
    let mut rest = bytes;
    for (index, length) in lengths.as_chunks::<4>().0.iter().enumerate() {
        let length = u32::from_le_bytes(*length) as usize;
        if length == 0 || length > most as usize || !length.is_multiple_of(run) {
            let found = length;
            return Err(LinesError::Runs {
                index,
                found,
                most,
                run,
            });
        }
        let (line, tail) = rest.split_at_checked(length).ok_or_else(table)?;
        rest = tail;
        let (mut found, mut shortest) = (0_u64, u16::MAX);
        for run in line.chunks_exact(run) {
            let samples = u16::from_le_bytes([run[0], run[1]]);
            found += u64::from(samples);
            shortest = shortest.min(samples);
        }
        if shortest == 0 || found != job.samples {
            let samples = job.samples;
            return Err(LinesError::Samples {
                index,
                found,
                samples,
            });
        }
    }
    rest.is_empty().then_some(bytes).ok_or_else(table)
}

/// The lines in the payload of a frame of lines, and where each ends. `None` where `count` and the payload do not fit
/// each other or the job; [`check_lines`] says why.
#[must_use]
pub fn lines<'a>(job: &Job, count: u32, payload: &'a [u8]) -> Option<(&'a [u8], Ends)> {
    let lines = check_lines(job, count, payload).ok()?;
    if !job.run_length {
        let bytes = job.line_bytes as usize;
        let every = Ends::Every {
            bytes,
            lines: u64::from(count),
        };
        return Some((lines, every));
    }
    let mut end = 0;
    let table = payload[..payload.len() - lines.len()].as_chunks::<4>().0.iter();
    let ends = table.map(|length| {
        end += u32::from_le_bytes(*length) as usize;
        end
    });
    Some((lines, Ends::Listed(ends.collect())))
}
