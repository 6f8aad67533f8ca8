//! Two numbers of 16 bits in a word. Where a device has f16 it computes with both at once.
//!
//! As f16 a whole number up to 2 047 is this number of the least steps, subnormal or not: its bits are the number, and neither way
//! is a conversion. With 1 024 added, a number up to 1 023 lies in the lowest bits of a normal one. Sums and differences
//! of whole numbers up to 2 048 are exact.

use cubecl::prelude::*;
use half::f16;

/// How a device computes with pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pairs {
    /// As f16, subnormal ones too.
    Halves,
    /// As whole numbers, one after the other.
    Apart,
}

/// Two f16, the first in the lower half.
pub(super) type Pair = Vector<f16, Const<2>>;

/// A pair from its bits.
#[cube]
pub(super) fn pair(bits: u32) -> Pair {
    Pair::reinterpret(bits)
}

/// The same number twice.
#[cube]
pub(super) fn twice(#[comptime] number: f32) -> Pair {
    Pair::new(f16::new(number))
}

/// The bits of a pair.
#[cube]
pub(super) fn bits(pair: Pair) -> u32 {
    u32::reinterpret(pair)
}

/// Bytes 0 and 2 of a word.
#[cube]
pub(super) fn evens(word: u32) -> u32 {
    word & 0x00ff_00ffu32
}

/// Bytes 1 and 3 of a word.
#[cube]
pub(super) fn odds(word: u32) -> u32 {
    (word >> 8u32) & 0x00ff_00ffu32
}

/// The first numbers of two pairs.
#[cube]
pub(super) fn firsts(a: u32, b: u32, #[comptime] pairs: Pairs) -> u32 {
    match pairs {
        // One instruction, where shifts are two.
        Pairs::Halves => {
            let mut both = Pair::empty();
            both[0usize] = pair(a)[0usize];
            both[1usize] = pair(b)[0usize];
            bits(both)
        }
        Pairs::Apart => (a & 0xffffu32) | (b << 16u32),
    }
}

/// The second numbers of two pairs.
#[cube]
pub(super) fn seconds(a: u32, b: u32, #[comptime] pairs: Pairs) -> u32 {
    match pairs {
        Pairs::Halves => {
            let mut both = Pair::empty();
            both[0usize] = pair(a)[1usize];
            both[1usize] = pair(b)[1usize];
            bits(both)
        }
        Pairs::Apart => (a >> 16u32) | (b & 0xffff_0000u32),
    }
}

/// The second of one pair and the first of the next.
#[cube]
pub(super) fn between(first: u32, second: u32) -> u32 {
    (first >> 16u32) | (second << 16u32)
}

/// The lesser of each.
#[cube]
pub(super) fn least(a: u32, b: u32, #[comptime] pairs: Pairs) -> u32 {
    match pairs {
        Pairs::Halves => bits(min(pair(a), pair(b))),
        // Lower bits do not count.
        Pairs::Apart => (min(a, b) & 0xffff_0000u32) | (min(a << 16u32, b << 16u32) >> 16u32),
    }
}

/// The greater of each.
#[cube]
pub(super) fn greatest(a: u32, b: u32, #[comptime] pairs: Pairs) -> u32 {
    match pairs {
        Pairs::Halves => bits(max(pair(a), pair(b))),
        Pairs::Apart => (max(a, b) & 0xffff_0000u32) | (max(a << 16u32, b << 16u32) >> 16u32),
    }
}
