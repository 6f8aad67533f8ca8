//! CCITT Group 4: lines of bits as differences from the line above.
//!
//! Format: ITU-T T.6, §2. The tables of run lengths are those of the crate `fax`; its encoder takes a line pixel by pixel and
//! fails beyond column 32 767, so lines are coded here, by words of 64 bits.

use fax::maps::{black, white};

/// Codes one after the other, the first bit in the most significant of a byte.
struct Codes<'a> {
    out: &'a mut Vec<u8>,
    /// Bits that fill no byte yet, at the top.
    bits: u64,
    count: u32,
}

impl Codes<'_> {
    /// Appends the lowest `length` bits of `code`, at most 16.
    fn put(&mut self, code: u64, length: u32) {
        self.bits |= code << (64 - self.count - length);
        self.count += length;
        while self.count >= 8 {
            self.out.push((self.bits >> 56) as u8);
            self.bits <<= 8;
            self.count -= 8;
        }
    }

    /// A run of pixels of one colour.
    fn run(&mut self, is_black: bool, mut length: u64) {
        let entries = if is_black {
            &black::ENTRIES
        } else {
            &white::ENTRIES
        };
        let mut put = |index: u64| {
            let (_, code) = entries[index as usize];
            self.put(u64::from(code.data), u32::from(code.len));
        };
        while length >= 2_560 {
            put(63 + 2_560 / 64);
            length -= 2_560;
        }
        if length >= 64 {
            put(63 + length / 64);
            length %= 64;
        }
        put(length);
    }
}

/// The first pixel from `from` on whose bit is not `bit`; `width` where there is none.
fn next_other(line: &[u8], from: u64, width: u64, bit: bool) -> u64 {
    if from >= width {
        return width;
    }
    let flip = if bit { u64::MAX } else { 0 };
    let mut byte = (from / 8) as usize;
    // The bits before `from` of the first byte do not count.
    let first = (u64::from(line[byte]) ^ flip) & (0xFF >> (from % 8));
    if first != 0 {
        return width.min(byte as u64 * 8 + u64::from((first as u8).leading_zeros()));
    }
    byte += 1;
    while let Some(word) = line.get(byte..byte + 8) {
        let word = word.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)) ^ flip;
        if word != 0 {
            return width.min(byte as u64 * 8 + u64::from(word.leading_zeros()));
        }
        byte += 8;
    }
    for (at, &bits) in line.iter().enumerate().skip(byte) {
        let bits = bits ^ flip as u8;
        if bits != 0 {
            return width.min(at as u64 * 8 + u64::from(bits.leading_zeros()));
        }
    }
    width
}

/// One line, after a line `above` of the same width; both as bits, the first in the most significant.
fn line(codes: &mut Codes<'_>, above: &[u8], line: &[u8], width: u64) {
    // a0, a1, a2, b1 and b2 are those of T.6, §2.2.1. At the start a0 lies before the first pixel, which is white.
    let (mut a0, mut colour, mut started) = (0, false, false);
    while a0 < width {
        let a1 = next_other(line, a0, width, colour);
        // The first change to the other colour right of a0: before the start the pixel left of the line is white.
        let same = if started {
            next_other(above, a0, width, !colour)
        } else {
            0
        };
        let b1 = next_other(above, same, width, colour);
        let b2 = next_other(above, b1, width, !colour);
        started = true;
        if b2 < a1 {
            codes.put(0b0001, 4);
            a0 = b2;
            continue;
        }
        let vertical = match (a1 as i64) - (b1 as i64) {
            0 => Some((0b1, 1)),
            1 => Some((0b011, 3)),
            2 => Some((0b00_0011, 6)),
            3 => Some((0b000_0011, 7)),
            -1 => Some((0b010, 3)),
            -2 => Some((0b00_0010, 6)),
            -3 => Some((0b000_0010, 7)),
            _ => None,
        };
        if let Some((code, length)) = vertical {
            codes.put(code, length);
            a0 = a1;
            colour = !colour;
        } else {
            let a2 = next_other(line, a1, width, !colour);
            codes.put(0b001, 3);
            codes.run(colour, a1 - a0);
            codes.run(!colour, a2 - a1);
            a0 = a2;
        }
    }
}

/// Appends the code of lines of `width` pixels, packed to whole bytes; bits of 1 are black.
pub(super) fn encode(bits: &[u8], width: u64, out: &mut Vec<u8>) {
    let row_bytes = width.div_ceil(8).max(1) as usize;
    let first = vec![0; row_bytes];
    let mut above: &[u8] = &first;
    let mut codes = Codes {
        out,
        bits: 0,
        count: 0,
    };
    for row in bits.chunks_exact(row_bytes) {
        line(&mut codes, above, row, width);
        above = row;
    }
    // The end of the block, and what fills its last byte.
    codes.put(1, 12);
    codes.put(1, 12);
    if codes.count > 0 {
        codes.put(0, 8 - codes.count);
    }
}
