//! Where error diffusion has come to, in a form that can be stored.
//!
//! Diffusion is the one screen whose lines depend on all before them. A job of terabytes that is taken up again would
//! compute everything once more; with the errors of one line it goes on from there.

use crate::program::Program;

const MAGIC: &[u8; 8] = b"RLFDIF\x00\x01";
const HEAD: usize = 40;

/// The errors that the lines done so far hand on to the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffusionState {
    pub(crate) pass: u32,
    /// The next line of the raster as laid.
    pub(crate) line: u64,
    /// The sums of weighted errors of the next lines, one or two, in parts of the kernel's divisor, each with as many places more
    /// at both ends as there are lines.
    pub(crate) errors: Vec<i32>,
    /// Whether pixels of the last lines are on: as many lines as two swaths share.
    pub(crate) tail: Vec<bool>,
    /// Pixels of a line.
    pub(crate) length: u64,
}

impl DiffusionState {
    /// Its bytes: magic, pass u32, 4 bytes 0, line u64, pixels of a line u64, lines of the tail u64, the errors as i32, the
    /// tail with eight pixels a byte; all little-endian.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let tail = self.tail.chunks(8).map(|eight| {
            let bit = |(place, &on): (usize, &bool)| u8::from(on) << place;
            eight.iter().enumerate().map(bit).sum::<u8>()
        });
        let lines = self.tail.len() as u64 / self.length.max(1);
        let mut bytes = Vec::with_capacity(HEAD + 4 * self.errors.len() + self.tail.len() / 8 + 1);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&u64::from(self.pass).to_le_bytes());
        for number in [self.line, self.length, lines] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend(self.errors.iter().flat_map(|error| error.to_le_bytes()));
        bytes.extend(tail);
        bytes
    }

    /// Reads what [`encode`](Self::encode) has made for such a program; `None` where it is anything else.
    #[must_use]
    pub fn decode(bytes: &[u8], program: &Program) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<HEAD>()?;
        let (numbers, _) = head.strip_prefix(MAGIC)?.as_chunks::<8>();
        let [pass, line, length, lines] = <[[u8; 8]; 4]>::try_from(numbers).ok()?.map(u64::from_le_bytes);
        let kernel = program.kernel()?;
        let pass = u32::try_from(pass).ok()?;
        let path = program.layout(pass).path;
        if length != path.length || lines > path.shared_lines() {
            return None;
        }
        let errors = usize::try_from(kernel.errors(length)).ok()?;
        let (errors, tail) = rest.split_at_checked(errors.checked_mul(4)?)?;
        let pixels = usize::try_from(lines * length).ok()?;
        if tail.len() != pixels.div_ceil(8) {
            return None;
        }
        let state = Self {
            pass,
            line,
            errors: errors
                .as_chunks()
                .0
                .iter()
                .map(|error| i32::from_le_bytes(*error))
                .collect(),
            tail: (0..pixels)
                .map(|index| tail[index / 8] >> (index % 8) & 1 == 1)
                .collect(),
            length,
        };
        state.fits(program).then_some(state)
    }

    /// Whether it can be one of this program.
    pub(crate) fn fits(&self, program: &Program) -> bool {
        let Some(kernel) = program.kernel() else {
            return false;
        };
        let bound = kernel.bound(program.raster.depth.max());
        let path = program.layout(self.pass).path;
        let lines = self.tail.len() as u64 / self.length.max(1);
        self.length == path.length
            && self.errors.len() as u64 == kernel.errors(self.length)
            && self.pass < program.passes()
            && self.line <= path.rows
            && lines <= path.shared_lines().min(self.line)
            && self.errors.iter().all(|error| error.abs() <= bound)
    }
}
