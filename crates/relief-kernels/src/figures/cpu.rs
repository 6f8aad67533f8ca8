//! Figures on the CPU.
//!
//! Three passes over what lies in the nearest cache: a loop that finds all three at once becomes no vectors.

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
