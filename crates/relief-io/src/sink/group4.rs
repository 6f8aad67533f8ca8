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

#[cfg(test)]
mod tests {
    use fax::Color;
    use proptest::prelude::*;

    use super::*;

    /// The bits of lines, by another decoder.
    fn decoded(code: &[u8], width: u64, height: usize) -> Vec<bool> {
        let mut bits = Vec::new();
        let mut take = |changes: &[u32]| {
            bits.extend(fax::decoder::pels(changes, width as u32).map(|colour| colour == Color::Black));
        };
        fax::decoder::decode_g4(code.iter().copied(), width as u32, Some(height as u32), &mut take).unwrap();
        bits
    }

    fn packed(bits: &[bool], width: u64) -> Vec<u8> {
        let byte = |bits: &[bool]| {
            (0..)
                .zip(bits)
                .fold(0, |byte, (at, &bit)| byte | u8::from(bit) << (7 - at))
        };
        bits.chunks(width as usize)
            .flat_map(|row| row.chunks(8).map(byte))
            .collect()
    }

    fn encoded(bits: &[bool], width: u64) -> Vec<u8> {
        let mut code = Vec::new();
        encode(&packed(bits, width), width, &mut code);
        code
    }

    proptest! {
        /// Runs of any lengths, so that lines differ a little or much from those above.
        #[test]
        fn lines_decode_to_what_they_were(
            width in 1_u64..5_500,
            runs in proptest::collection::vec(prop_oneof![1_usize..5, 1_usize..200, 2_000_usize..6_000], 1..60),
        ) {
            let mut bits: Vec<bool> = Vec::new();
            for (number, run) in runs.iter().enumerate() {
                bits.extend(std::iter::repeat_n(number % 2 == 1, *run));
            }
            let height = bits.len() / width as usize;
            bits.truncate(height * width as usize);
            prop_assert!(decoded(&encoded(&bits, width), width, height) == bits);
        }
    }

    #[test]
    fn lines_that_are_alike_take_a_bit_for_each_change() {
        let width = 1_000;
        let line: Vec<bool> = (0..width).map(|x| x / 10 % 2 == 1).collect();
        let bits = line.repeat(101);
        let one = encoded(&line, width as u64).len();
        let all = encoded(&bits, width as u64).len();
        // 99 changes and the end of the line: 100 lines of 100 bits.
        assert!((all - one).abs_diff(100 * 100 / 8) <= 1, "{one} and {all} bytes");
        assert!(decoded(&encoded(&bits, width as u64), width as u64, 101) == bits);
    }

    #[test]
    fn the_bytes_of_lines_are_bounded() {
        use crate::sink::Compression;
        for width in [1, 8, 9, 64, 1_001_usize] {
            for pattern in [0b01, 0b10, 0b0011, 0b0101_0110] {
                let bits: Vec<bool> = (0..width * 40)
                    .map(|at| (pattern >> ((at % width + at / width) % 8)) & 1 == 1)
                    .collect();
                let row = width.div_ceil(8) as u64;
                let most = Compression::Group4.most(row * 40, row);
                let found = encoded(&bits, width as u64).len() as u64;
                assert!(
                    found <= most,
                    "{found} bytes of at most {most}: {width}, {pattern:b}"
                );
            }
        }
    }
}
