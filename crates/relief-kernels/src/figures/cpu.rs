//! Figures on the CPU.
//!
//! Three passes over what lies in the nearest cache: a loop that finds all three at once becomes no vectors. Of many rows, what lies in a column is
//! brought together first, so that numbers beside each other are added once for all rows.

use super::Figures;
use crate::isa::versions;

/// Samples whose sum fits the numbers that it is taken in: 16 bits for bytes, 32 for words.
const PART: usize = 256;

versions! {
    /// The figures of samples of 8 bits.
    pub fn of_bytes(samples: &[u8]) -> Figures {
        let mut figures = Figures::EMPTY;
        for part in samples.chunks(PART) {
            let mut sum = 0_u16;
            for sample in part {
                sum = sum.wrapping_add(u16::from(*sample));
            }
            let mut least = u8::MAX;
            for sample in part {
                least = least.min(*sample);
            }
            let mut greatest = 0;
            for sample in part {
                greatest = greatest.max(*sample);
            }
            figures.add(Figures { sum: sum.into(), least: least.into(), greatest: greatest.into() });
        }
        figures
    }
}

versions! {
    /// The figures of samples of 16 bits.
    pub fn of_words(samples: &[u16]) -> Figures {
        let mut figures = Figures::EMPTY;
        for part in samples.chunks(PART) {
            let mut sum = 0_u32;
            for sample in part {
                sum = sum.wrapping_add(u32::from(*sample));
            }
            let mut least = u16::MAX;
            for sample in part {
                least = least.min(*sample);
            }
            let mut greatest = 0;
            for sample in part {
                greatest = greatest.max(*sample);
            }
            figures.add(Figures { sum: sum.into(), least, greatest });
        }
        figures
    }
}

/// Columns whose figures stay in the nearest cache.
const STRIP: usize = 4_096;

/// Rows of bytes whose sum fits 16 bits.
const ROWS: usize = 256;

/// The figures of blocks of rows, of samples whose sums over [`ROWS`] rows fit such numbers.
macro_rules! rows_of {
    ($(#[$meta:meta])* $name:ident, $sample:ty, $sum:ty) => {
        versions! {
            $(#[$meta])*
            pub fn $name(samples: &[$sample], pitch: usize, columns: usize, rows: usize, side: usize, blocks: &mut [Figures]) {
                assert!(STRIP.is_multiple_of(side), "blocks of {side} columns in a strip of {STRIP}");
                let (mut least, mut greatest, mut sums) = ([<$sample>::MAX; STRIP], [0 as $sample; STRIP], [0 as $sum; STRIP]);
                for top in (0..rows).step_by(ROWS) {
                    for left in (0..columns).step_by(STRIP) {
                        let count = STRIP.min(columns - left);
                        let (least, greatest, sums) = (&mut least[..count], &mut greatest[..count], &mut sums[..count]);
                        least.fill(<$sample>::MAX);
                        greatest.fill(0);
                        sums.fill(0);
                        for row in top..rows.min(top + ROWS) {
                            let row = &samples[row * pitch + left..][..count];
                            for ((sample, least), greatest) in row.iter().zip(&mut *least).zip(&mut *greatest) {
                                *least = (*least).min(*sample);
                                *greatest = (*greatest).max(*sample);
                            }
                            for (sample, sum) in row.iter().zip(&mut *sums) {
                                *sum = sum.wrapping_add(<$sum>::from(*sample));
                            }
                        }
                        let all = least.chunks(side).zip(greatest.chunks(side)).zip(sums.chunks(side));
                        for (((least, greatest), sums), block) in all.zip(&mut blocks[left / side..]) {
                            block.add(Figures {
                                sum: sums.iter().fold(0, |all, one| all + u64::from(*one)),
                                least: least.iter().fold(<$sample>::MAX, |all, one| all.min(*one)).into(),
                                greatest: greatest.iter().fold(0, |all, one| all.max(*one)).into(),
                            });
                        }
                    }
                }
            }
        }
    };
}

rows_of! {
    /// Adds the figures of `rows` rows of samples of 8 bits, `pitch` from one to the next, to those of blocks of `side` columns, of which a strip of 4 096
    /// has a whole number. The last block may be narrower.
    ///
    /// # Panics
    /// Where there are fewer samples or blocks, and where `side` does not divide 4 096.
    add_rows_of_bytes, u8, u16
}

rows_of! {
    /// As [`add_rows_of_bytes`], of samples of 16 bits.
    ///
    /// # Panics
    /// As there.
    add_rows_of_words, u16, u32
}
