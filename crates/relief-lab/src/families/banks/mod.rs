//! Banks: what an access pattern costs in shared memory, predicted and measured.
//!
//! Shared memory lies in 32 banks of 4 bytes: word w in bank w mod 32. A bank serves one word at a time, to as many units as
//! ask for that word; units of a plane that ask for different words of one bank wait for each other. [`conflicts`] predicts how often
//! an access is repeated for that: its degree, 1 where nobody waits.
//!
//! A [`Pattern`] is an index expression in t, x and y, the number of a unit and its place in a cube, with the type
//! of what is read. Result: out(t) = rounds / 4 · Σ table(w + 32 k) for k = 0…3, with w the word (for types of 8
//! and 16 bytes: the words) that the unit's index falls into; sums wrap.
//!
//! Cases are the source's table (u8: t, t mod 4, t + 1, 2 t, 8 t, 12 t, of which only 8 t conflicts, two-way), columns of tiles for a transpose
//! as they are, padded and swizzled, and wide types. The command line adds patterns of its own.

pub mod conflicts;
mod expression;
#[cfg(feature = "gpu")]
mod gpu;
mod pattern;

use crate::array::{Array, Fill, Layout};
use crate::family::{Class, Family, Ladder, Problem, Work};

pub use expression::{Expression, Operator, SyntaxError};
pub use pattern::{Pattern, PatternError, REACH, UNITS};

/// The source's table and what follows from it.
const PATTERNS: [&str; 17] = [
    "u8: t",
    "u8: t % 4",
    "u8: t + 1",
    "u8: 2 * t",
    "u8: 8 * t",
    "u8: 12 * t",
    "u32: t",
    "u32: 2 * t",
    "u32: 3 * t",
    "u32: 32 * x + y",
    "u32: 33 * x + y",
    "u32: 32 * x + (x + y) % 32",
    "u32/16: 16 * x + y",
    "u32/16: 16 * x + (x + y) % 16",
    "u64: t",
    "u128: t",
    "u128: 2 * t",
];

pub(super) fn family() -> Family {
    let usual = PATTERNS.iter().filter_map(|text| text.parse().ok());
    family_of(usual.collect())
}

/// The family, for these patterns.
#[must_use]
pub fn family_of(patterns: Vec<Pattern>) -> Family {
    let variants = on_both!(Vec::new(), gpu::variants());
    let timed = patterns.clone();
    let of = |patterns: &[Pattern], cubes, rounds| -> Vec<Reads> {
        let reads = |pattern: &Pattern| Reads {
            pattern: pattern.clone(),
            cubes,
            rounds,
        };
        patterns.iter().map(reads).collect()
    };
    let about = "rounds of reads from shared memory, where an index expression says";
    let ladder = Ladder::new("banks", about, variants)
        .checks(move || of(&patterns, 1, 4))
        // On a device, enough cubes to fill it and enough rounds to dwarf a launch.
        .cases(move |scale| match (scale.class, scale.size.is_some()) {
            (Class::Gpu, false) => of(&timed, 4_224, 1_024),
            _ => of(&timed, 2, 64),
        });
    Family {
        name: "banks",
        about: "which access patterns conflict in the banks of shared memory",
        source: "a course's table: 32 banks of 4 bytes",
        source_size: "",
        wins: "Accesses without conflict: neighbouring threads read different banks, or the same word. The \
               prediction by the model of 32 banks of 4 bytes says which patterns conflict, and in which \
               order.",
        loses: "Strides that share a factor with 32 put several threads' words into one bank, and they wait \
                in turn: 8 t on bytes two-way, columns of an unpadded 32 × 32 tile 32-way. Wide types \
                conflict less than their word addresses suggest, because a warp's access is split.",
        ladders: vec![Box::new(ladder)],
    }
}

/// Words of the table that is read.
const TABLE: usize = 4_096;

/// Reads of a round, 32 words after each other, which leaves the bank as it is.
const READS: usize = 4;

/// So many rounds of reads by every unit of so many cubes.
#[derive(Clone)]
struct Reads {
    pattern: Pattern,
    cubes: u32,
    /// A multiple of [`READS`].
    rounds: u32,
}

impl Reads {
    /// Words of one read.
    fn words(&self) -> usize {
        self.pattern.bytes().div_ceil(4) as usize
    }

    /// The first word that a unit reads.
    fn word(&self, unit: u32) -> usize {
        (self.pattern.address(unit) / 4) as usize
    }

    /// What a unit computes, for word k of its read.
    fn sum(&self, table: &[u32], unit: u32, k: usize) -> u32 {
        let reads = (0..READS).map(|read| table[self.word(unit) + k + 32 * read]);
        let sum = reads.fold(0_u32, u32::wrapping_add);
        sum.wrapping_mul(self.rounds / READS as u32)
    }
}

impl Problem for Reads {
    fn label(&self) -> String {
        let degree = conflicts::degree(&self.pattern);
        let degree = match degree {
            1 => "no conflict".to_owned(),
            degree => format!("{degree}-way"),
        };
        format!("{}, predicted: {degree}", self.pattern)
    }

    fn elements(&self) -> u64 {
        u64::from(self.cubes) * u64::from(UNITS) * u64::from(self.rounds)
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        vec![Array::filled(Layout::of::<u32>(TABLE), fill, 1)]
    }

    fn outputs(&self) -> Vec<Layout> {
        let units = (self.cubes * UNITS) as usize;
        vec![Layout::of::<u32>(units * self.words())]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let (table, words) = (inputs[0].slice::<u32>(), self.words());
        for (place, out) in outputs[0].slice_mut::<u32>().iter_mut().enumerate() {
            let unit = (place / words) as u32 % UNITS;
            *out = self.sum(table, unit, place % words);
        }
    }

    fn work(&self) -> Work {
        let out = u64::from(self.cubes) * u64::from(UNITS) * self.words() as u64 * 4;
        Work::bytes(4 * TABLE as u64, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_the_usual_patterns_are_patterns() {
        for text in PATTERNS {
            assert!(text.parse::<Pattern>().is_ok(), "{text}");
        }
    }
}
