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
    // Units that are served together.
    let size = PLANE.min(BANKS * 4 / pattern.bytes());
    let groups = (0..UNITS / size).map(|group| group * size..(group + 1) * size);
    let count = |group| words(pattern, group).iter().map(BTreeSet::len).max();
    groups.filter_map(count).max().unwrap_or(1) as u32
}

/// The different words that each bank has to serve to a group.
fn words(pattern: &Pattern, group: Range<u32>) -> Vec<BTreeSet<u32>> {
    let mut banks = vec![BTreeSet::new(); BANKS as usize];
    for unit in group {
        // The words that hold what it reads.
        let first = pattern.address(unit) / 4;
        for word in first..first + pattern.bytes().div_ceil(4) {
            banks[(word % BANKS) as usize].insert(word);
        }
    }
    banks
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
}
