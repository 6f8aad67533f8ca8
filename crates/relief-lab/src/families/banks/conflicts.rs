//! The model: how often an access to shared memory is repeated because its words lie in the same banks.
//!
//! Units of a plane of 32 are served together where each reads 4 bytes or less, 16 of them where each reads 8, and 8 where each
//! reads 16, so that a group asks for no more than 32 words. In a pass, each bank serves one word, to everybody who asks for it. So a
//! group takes as many passes as some bank has different words to serve.

use std::collections::BTreeSet;
use std::ops::Range;

use super::pattern::{Pattern, UNITS};

/// How many banks there are; each is a word of 4 bytes wide.
pub const BANKS: u32 = 32;

/// Units of a plane.
const PLANE: u32 = 32;

/// The most passes that any group of the cube takes: 1 where there is no conflict.
#[must_use]
pub fn degree(pattern: &Pattern) -> u32 {
    let count = |group| words(pattern, group).iter().map(BTreeSet::len).max();
    groups(pattern).filter_map(count).max().unwrap_or(1) as u32
}

/// The units that are served together.
pub fn groups(pattern: &Pattern) -> impl Iterator<Item = Range<u32>> {
    let size = PLANE.min(BANKS * 4 / pattern.bytes());
    (0..UNITS / size).map(move |group| group * size..(group + 1) * size)
}

/// The different words that each bank has to serve to a group.
fn words(pattern: &Pattern, group: Range<u32>) -> Vec<BTreeSet<u32>> {
    let mut banks = vec![BTreeSet::new(); BANKS as usize];
    for unit in group {
        for word in read_by(pattern, unit) {
            banks[(word % BANKS) as usize].insert(word);
        }
    }
    banks
}

/// The words that hold what a unit reads.
fn read_by(pattern: &Pattern, unit: u32) -> Range<u32> {
    let first = pattern.address(unit) / 4;
    first..first + pattern.bytes().div_ceil(4)
}

/// Which units get which of their words in each pass of a group.
#[must_use]
pub fn passes(pattern: &Pattern, group: Range<u32>) -> Vec<Vec<(u32, u32)>> {
    let mut passes: Vec<Vec<(u32, u32)>> = Vec::new();
    for bank in words(pattern, group.clone()) {
        for (pass, word) in bank.into_iter().enumerate() {
            if passes.len() == pass {
                passes.push(Vec::new());
            }
            let asks = |unit: u32| {
                let read = read_by(pattern, unit);
                read.contains(&word).then(|| (unit, word - read.start))
            };
            passes[pass].extend(group.clone().filter_map(asks));
        }
    }
    passes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn degree_of(text: &str) -> u32 {
        degree(&text.parse().unwrap())
    }

    #[test]
    fn the_table_of_the_source_is_reproduced() {
        for (text, expected) in [
            ("u8: t", 1),
            ("u8: t % 4", 1),
            ("u8: t + 1", 1),
            ("u8: 2 * t", 1),
            ("u8: 8 * t", 2),
            ("u8: 12 * t", 1),
        ] {
            assert_eq!(degree_of(text), expected, "{text}");
        }
    }

    #[test]
    fn a_stride_of_words_conflicts_as_often_as_it_shares_factors_with_the_banks() {
        for stride in 1..=15_u32 {
            let shared = 1 << stride.trailing_zeros();
            assert_eq!(degree_of(&format!("u32: {stride} * t")), shared, "{stride}");
        }
    }

    #[test]
    fn columns_of_tiles_conflict_unless_they_are_padded_or_swizzled() {
        for (text, expected) in [
            ("u32: 32 * x + y", 32),
            ("u32: 33 * x + y", 1),
            ("u32: 32 * x + (x + y) % 32", 1),
            ("u32: 32 * x + (x ^ y)", 1),
            ("u32/16: 16 * x + y", 8),
            ("u32/16: 17 * x + y", 2),
            ("u32/16: 16 * x + (x + y) % 16", 1),
        ] {
            assert_eq!(degree_of(text), expected, "{text}");
        }
    }

    #[test]
    fn one_word_for_all_is_no_conflict_and_wide_types_are_served_in_groups() {
        for (text, expected) in [
            ("u32: 7", 1),
            ("u16: t / 32", 1),
            ("u64: t", 1),
            ("u64: 2 * t", 2),
            ("u128: t", 1),
            ("u128: 2 * t", 2),
            ("u128: t % 2 * 8", 2),
        ] {
            assert_eq!(degree_of(text), expected, "{text}");
        }
    }

    #[test]
    fn passes_are_as_many_as_predicted_and_serve_every_word_once() {
        for text in [
            "u8: 8 * t",
            "u32: 6 * t",
            "u64: 3 * t % 50",
            "u128: 2 * t",
            "u16/16: 9 * x + y * y",
        ] {
            let pattern: Pattern = text.parse().unwrap();
            let all: Vec<_> = groups(&pattern).map(|group| passes(&pattern, group)).collect();
            assert_eq!(
                all.iter().map(Vec::len).max(),
                Some(degree(&pattern) as usize),
                "{text}"
            );
            let mut served: Vec<(u32, u32)> = all.concat().concat();
            served.sort_unstable();
            let words = pattern.bytes().div_ceil(4);
            let expected: Vec<_> = (0..UNITS)
                .flat_map(|unit| (0..words).map(move |k| (unit, k)))
                .collect();
            assert_eq!(served, expected, "{text}");
        }
    }
}
