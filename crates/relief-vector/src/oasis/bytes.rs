//! The bytes of a file, those of its compressed blocks among them, and the numbers and strings that they make.

use std::io::Read;

use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::layout::{Error, Format, Place};

/// Bytes that are read at once.
const BUFFER: usize = 1 << 16;

/// No stream of Deflate unpacks to more than this often its bytes: 258 bytes of two bits.
const MAX_RATIO: u64 = 1_032;

/// The farthest that anything lies from the origin of its cell, in database units: sums and multiples of a few stay in range.
pub(super) const MAX_PLACE: i64 = 1 << 40;

/// The bytes of the record END.
const END: u64 = 256;

/// The longest name of a cell.
const MAX_NAME: u64 = 1 << 16;

/// A compressed block that is being read.
struct Block {
    /// Where its record begins.
    at: u64,
    /// Bytes of the file that it has yet.
    packed: u64,
    /// Bytes that it unpacks to yet, beside those that are unpacked.
    plain: u64,
    /// How many bytes of it were taken.
    taken: u64,
}

pub(super) struct Bytes<R> {
    file: R,
    raw: Vec<u8>,
    /// What of `raw` is not taken yet.
    next: usize,
    filled: usize,
    /// What of `raw` is in the sums.
    summed: usize,
    /// The place of the next byte in the file.
    at: u64,
    /// Bytes that may be read, and those that blocks may unpack to.
    limit: u64,
    unpacked: u64,
    crc: Crc,
    sum: u32,
    block: Option<Block>,
    inflate: Decompress,
    plain: Vec<u8>,
    plain_next: usize,
    plain_filled: usize,
    /// Where the record at hand begins.
    record: (u64, Option<u64>),
    /// The cell that is being read, as messages show it.
    pub(super) cell: Option<String>,
}

/// A number with its fraction, where it is a whole number of 1 024ths.
fn exactly(value: f64) -> (f64, Option<(u64, u64)>) {
    let parts = value * 1_024.0;
    let is_whole = libm::trunc(parts) == parts && (0.0..9_007_199_254_740_992.0).contains(&parts);
    let shift = |parts: u64| parts.trailing_zeros().min(10);
    let fraction = is_whole.then_some(parts as u64);
    (
        value,
        fraction.map(|parts| (parts >> shift(parts), 1_024 >> shift(parts))),
    )
}

impl<R: Read> Bytes<R> {
    pub(super) fn new(file: R, limit: u64) -> Self {
        Self {
            file,
            raw: vec![0; BUFFER],
            next: 0,
            filled: 0,
            summed: 0,
            at: 0,
            limit,
            unpacked: 0,
            crc: Crc::new(),
            sum: 0,
            block: None,
            inflate: Decompress::new(false),
            plain: vec![0; BUFFER],
            plain_next: 0,
            plain_filled: 0,
            record: (0, None),
            cell: None,
        }
    }

    /// A fault of the record at hand.
    pub(super) fn fault(&self, what: impl Into<String>) -> Error {
        let (at, block) = self.record;
        Error::Record {
            place: Box::new(Place {
                at,
                block,
                cell: self.cell.clone(),
            }),
            what: what.into(),
        }
    }

    /// Begins a record: its number. A block that is read to its end is left.
    pub(super) fn begin(&mut self) -> Result<u8, Error> {
        let is_over = |block: &Block, left: usize| block.plain == 0 && left == 0;
        let left = self.plain_filled - self.plain_next;
        if let Some(block) = self.block.take_if(|block| is_over(block, left)) {
            self.finish_block(block)?;
        }
        self.record = match &self.block {
            Some(block) => (block.taken, Some(block.at)),
            None => (self.at, None),
        };
        self.byte()
    }

    /// Where the record at hand begins, and the block that it is in.
    pub(super) const fn begun(&self) -> (u64, Option<u64>) {
        self.record
    }

    pub(super) const fn is_in_block(&self) -> bool {
        self.block.is_some()
    }

    pub(super) fn byte(&mut self) -> Result<u8, Error> {
        if self.block.is_none() {
            return self.raw_byte();
        }
        if self.plain_next == self.plain_filled {
            self.unpack()?;
        }
        if let Some(block) = &mut self.block {
            block.taken += 1;
        }
        self.plain_next += 1;
        Ok(self.plain[self.plain_next - 1])
    }

    fn raw_byte(&mut self) -> Result<u8, Error> {
        if self.next == self.filled {
            self.fill()?;
        }
        self.next += 1;
        self.at += 1;
        Ok(self.raw[self.next - 1])
    }

    /// Takes in what was read since.
    fn sum_up(&mut self) {
        let new = &self.raw[self.summed..self.next];
        self.crc.update(new);
        self.sum = new
            .iter()
            .fold(self.sum, |sum, byte| sum.wrapping_add(u32::from(*byte)));
        self.summed = self.next;
    }

    /// Reads on in the file; at least one byte.
    fn fill(&mut self) -> Result<(), Error> {
        self.sum_up();
        (self.next, self.filled, self.summed) = (0, 0, 0);
        while self.filled == 0 {
            match self.file.read(&mut self.raw) {
                Ok(0) => return Err(self.fault("the layout ends here, without the record END")),
                Ok(count) => self.filled = count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        if self.at + self.filled as u64 > self.limit {
            return Err(self.fault(format!("the layout is longer than {} bytes", self.limit)));
        }
        Ok(())
    }

    /// Begins a compressed block, whose record is at hand.
    pub(super) fn begin_block(&mut self) -> Result<(), Error> {
        if self.block.is_some() {
            return Err(self.fault("a compressed block within a compressed block"));
        }
        let kind = self.unsigned()?;
        if kind != 0 {
            return Err(self.fault(format!(
                "a block compressed by the method {kind}; only 0, which is Deflate, is known"
            )));
        }
        let (plain, packed) = (self.unsigned()?, self.unsigned()?);
        if plain > packed.saturating_mul(MAX_RATIO) {
            return Err(self.fault(format!(
                "a compressed block says that its {packed} bytes unpack to {plain}, more than Deflate can hold"
            )));
        }
        self.unpacked = self.unpacked.saturating_add(plain);
        if self.unpacked > self.limit {
            return Err(self.fault(format!(
                "the compressed blocks of the layout unpack to more than {} bytes",
                self.limit
            )));
        }
        self.inflate.reset(false);
        (self.plain_next, self.plain_filled) = (0, 0);
        self.block = Some(Block {
            at: self.record.0,
            packed,
            plain,
            taken: 0,
        });
        Ok(())
    }

    /// Unpacks a part of the block into `plain`; at least one byte.
    fn unpack(&mut self) -> Result<(), Error> {
        let room = self.block.as_ref().map_or(0, |block| block.plain);
        if room == 0 {
            return Err(self.fault("a record goes on behind the end of its compressed block"));
        }
        let room = room.min(BUFFER as u64) as usize;
        let (count, is_end) = self.inflate(room)?;
        if count == 0 {
            let what = if is_end {
                "a compressed block unpacks to fewer bytes than it says"
            } else {
                "a compressed block ends within its data"
            };
            return Err(self.fault(what));
        }
        if let Some(block) = &mut self.block {
            block.plain -= count as u64;
        }
        (self.plain_next, self.plain_filled) = (0, count);
        Ok(())
    }

    /// Unpacks at most so many bytes: how many, and whether the data are over. None only where there are no more.
    fn inflate(&mut self, room: usize) -> Result<(usize, bool), Error> {
        loop {
            let Some(packed) = self.block.as_ref().map(|block| block.packed) else {
                return Ok((0, true));
            };
            if packed > 0 && self.next == self.filled {
                self.fill()?;
            }
            let most = packed.min((self.filled - self.next) as u64) as usize;
            let input = &self.raw[self.next..self.next + most];
            let (before_in, before_out) = (self.inflate.total_in(), self.inflate.total_out());
            let status = self
                .inflate
                .decompress(input, &mut self.plain[..room], FlushDecompress::None);
            let taken = self.inflate.total_in() - before_in;
            let made = (self.inflate.total_out() - before_out) as usize;
            self.next += taken as usize;
            self.at += taken;
            if let Some(block) = &mut self.block {
                block.packed -= taken;
            }
            let is_end = match status {
                Ok(status) => status == Status::StreamEnd,
                Err(error) => {
                    return Err(self.fault(format!("the data of a compressed block are damaged: {error}")));
                }
            };
            if made > 0 || is_end || (taken == 0 && packed == 0) {
                return Ok((made, is_end));
            }
            if taken == 0 {
                return Err(self.fault("the data of a compressed block are damaged"));
            }
        }
    }

    /// Leaves a block of which all that it says was taken.
    fn finish_block(&mut self, block: Block) -> Result<(), Error> {
        self.record = (block.taken, Some(block.at));
        let announced = block.taken;
        self.block = Some(block);
        let (made, is_end) = self.inflate(1)?;
        let left = self.block.take().map_or(0, |block| block.packed);
        let what = if made > 0 {
            format!("a compressed block unpacks to more than the {announced} bytes that it says")
        } else if !is_end {
            "a compressed block ends within its data".to_owned()
        } else if left > 0 {
            format!("{left} bytes follow the data of a compressed block")
        } else {
            return Ok(());
        };
        Err(self.fault(what))
    }

    /// Checks the bytes before the sum that ends a file, and how long its last record is: one that is not would hide where the sum stands.
    pub(super) fn verify(&mut self) -> Result<(), Error> {
        self.verify_sum()?;
        let length = self.at - self.record.0;
        if length == END {
            Ok(())
        } else {
            Err(self.fault(format!("the record END has {END} bytes, but here {length}")))
        }
    }

    fn verify_sum(&mut self) -> Result<(), Error> {
        let scheme = self.unsigned()?;
        self.sum_up();
        let (name, is) = match scheme {
            0 => return Ok(()),
            1 => ("CRC", self.crc.sum()),
            2 => ("checksum", self.sum),
            other => {
                return Err(self.fault(format!(
                    "the file is validated by the scheme {other}; 0, 1 and 2 are known"
                )));
            }
        };
        let mut says = [0; 4];
        for byte in &mut says {
            *byte = self.byte()?;
        }
        let says = u32::from_le_bytes(says);
        if is == says {
            Ok(())
        } else {
            Err(self.fault(format!(
                "the layout is damaged: its {name} is {is:08x}, but it says {says:08x}"
            )))
        }
    }

    /// A whole number, of which zeros may be written out to any length.
    pub(super) fn unsigned(&mut self) -> Result<u64, Error> {
        let (mut value, mut place) = (0_u64, 0_u32);
        loop {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            let placed = bits.checked_shl(place).unwrap_or(0);
            if bits > 0 && (place >= 64 || placed >> place != bits) {
                return Err(self.fault("a number of more than 64 bits"));
            }
            value |= placed;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            place = place.saturating_add(7);
        }
    }

    /// A whole number with its sign in the lowest bit.
    fn signed(&mut self) -> Result<i64, Error> {
        let value = self.unsigned()?;
        Ok(with_sign(value >> 1, value & 1 == 1))
    }

    /// A place or a length with a sign, in database units.
    pub(super) fn coordinate(&mut self) -> Result<i64, Error> {
        let value = self.signed()?;
        self.near(value)
    }

    /// A length in database units.
    pub(super) fn length(&mut self) -> Result<i64, Error> {
        let value = self.unsigned()?;
        self.near(i64::try_from(value).unwrap_or(i64::MAX))
    }

    /// A place, if it is near enough.
    pub(super) fn near(&self, value: i64) -> Result<i64, Error> {
        if value.unsigned_abs() > MAX_PLACE.unsigned_abs() {
            return Err(self.fault(format!(
                "a place or length of {value} database units; up to 2^40 are read"
            )));
        }
        Ok(value)
    }

    /// A vector along an axis, of 4 directions, or a diagonal as well, of 8.
    pub(super) fn directed(&mut self, directions: u64) -> Result<(i64, i64), Error> {
        let value = self.unsigned()?;
        self.along(value % directions, value / directions)
    }

    fn along(&self, direction: u64, length: u64) -> Result<(i64, i64), Error> {
        let n = self.near(i64::try_from(length).unwrap_or(i64::MAX))?;
        Ok(match direction {
            0 => (n, 0),
            1 => (0, n),
            2 => (-n, 0),
            3 => (0, -n),
            4 => (n, n),
            5 => (-n, n),
            6 => (-n, -n),
            _ => (n, -n),
        })
    }

    /// Any vector: along 8 directions, or its two coordinates.
    pub(super) fn vector(&mut self) -> Result<(i64, i64), Error> {
        let first = self.unsigned()?;
        if first & 1 == 0 {
            return self.along((first >> 1) & 7, first >> 4);
        }
        let x = with_sign(first >> 2, first & 2 != 0);
        let second = self.unsigned()?;
        let y = with_sign(second >> 1, second & 1 != 0);
        Ok((self.near(x)?, self.near(y)?))
    }

    /// A number that need not be whole, with the fraction that it is, where the file has one.
    pub(super) fn real(&mut self) -> Result<(f64, Option<(u64, u64)>), Error> {
        let kind = self.unsigned()?;
        self.real_of(kind)
    }

    fn real_of(&mut self, kind: u64) -> Result<(f64, Option<(u64, u64)>), Error> {
        let (above, below) = match kind {
            0 | 1 => (self.unsigned()?, 1),
            2 | 3 => (1, self.unsigned()?),
            4 | 5 => (self.unsigned()?, self.unsigned()?),
            6 => {
                let mut bytes = [0; 4];
                for byte in &mut bytes {
                    *byte = self.byte()?;
                }
                return Ok(exactly(f32::from_le_bytes(bytes).into()));
            }
            7 => {
                let mut bytes = [0; 8];
                for byte in &mut bytes {
                    *byte = self.byte()?;
                }
                return Ok(exactly(f64::from_le_bytes(bytes)));
            }
            other => {
                return Err(self.fault(format!("a real number of the type {other}; 0 to 7 are known")));
            }
        };
        if below == 0 {
            return Err(self.fault("a fraction with the denominator 0"));
        }
        let value = above as f64 / below as f64;
        Ok(if kind % 2 == 1 {
            (-value, None)
        } else {
            (value, Some((above, below)))
        })
    }

    /// A name, of which at least one byte is there.
    pub(super) fn name(&mut self) -> Result<String, Error> {
        let length = self.unsigned()?;
        if !(1..=MAX_NAME).contains(&length) {
            return Err(self.fault(format!("a name of {length} bytes; from 1 to {MAX_NAME} are read")));
        }
        let mut bytes = Vec::new();
        for _ in 0..length {
            bytes.push(self.byte()?);
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Passes over a string.
    pub(super) fn skip_string(&mut self) -> Result<(), Error> {
        for _ in 0..self.unsigned()? {
            self.byte()?;
        }
        Ok(())
    }

    /// Passes over a value of a property.
    pub(super) fn skip_value(&mut self) -> Result<(), Error> {
        match self.unsigned()? {
            kind @ 0..=7 => self.real_of(kind).map(|_| ()),
            8 | 9 | 13..=15 => self.unsigned().map(|_| ()),
            10..=12 => self.skip_string(),
            other => Err(self.fault(format!("a property of the type {other}; 0 to 15 are known"))),
        }
    }

    /// The begin of a file, up to its first record.
    pub(super) fn magic(&mut self) -> Result<(), Error> {
        const MAGIC: &[u8] = b"%SEMI-OASIS\r\n";
        let mut found = Vec::new();
        for byte in MAGIC {
            found.push(self.byte()?);
            let format = (found.len() == 4).then(|| Format::of(&found)).flatten();
            if let Some(format) = format.filter(|format| *format != Format::Oasis) {
                return Err(Error::Format(format));
            }
            if found.len() >= 4 && found.last() != Some(byte) {
                break;
            }
        }
        if found == MAGIC {
            Ok(())
        } else {
            Err(self.fault("an OASIS layout begins with %SEMI-OASIS and the end of a line"))
        }
    }
}

const fn with_sign(value: u64, negative: bool) -> i64 {
    // Of 63 bits.
    let value = value.cast_signed();
    if negative { -value } else { value }
}
