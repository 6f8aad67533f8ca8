//! Arithmetic on words of packed samples: four of 8 bits or two of 16, all at once.
//!
//! The sums and differences keep carries inside a sample by working on all but its top bit and mending that after; see
//! H. S. Warren, *Hacker's Delight*, §2-18. A comparison leaves its answer in the top bit of each sample, which a
//! product spreads over the whole sample.

use cubecl::prelude::*;

use crate::fold::Fold;

/// The top bit of each sample.
pub(crate) const fn top(bits: u32) -> u32 {
    if bits == 8 { 0x8080_8080 } else { 0x8000_8000 }
}

/// M.
pub(crate) const fn ones(bits: u32) -> u32 {
    if bits == 8 { 0xff } else { 0xffff }
}

/// M in every sample whose top bit is set in `flags`, which has no other bits.
#[cube]
pub(crate) fn spread(flags: u32, #[comptime] bits: u32) -> u32 {
    (flags >> comptime!(bits - 1)) * comptime!(ones(bits))
}

/// M in every sample with a ≥ b.
#[cube]
pub(crate) fn at_least(a: u32, b: u32, #[comptime] bits: u32) -> u32 {
    spread(not_below(a, b, bits), bits)
}

/// The top bit of every sample with a ≥ b.
#[cube]
pub(crate) fn not_below(a: u32, b: u32, #[comptime] bits: u32) -> u32 {
    let low = (a | comptime!(top(bits))) - (b & comptime!(!top(bits)));
    ((a & !b) | (!(a ^ b) & low)) & comptime!(top(bits))
}

/// M in every sample that is not 0.
#[cube]
pub(crate) fn non_zero(a: u32, #[comptime] bits: u32) -> u32 {
    let flags = (((a & comptime!(!top(bits))) + comptime!(!top(bits))) | a) & comptime!(top(bits));
    spread(flags, bits)
}

#[cube]
fn add(a: u32, b: u32, #[comptime] bits: u32) -> u32 {
    let low = (a & comptime!(!top(bits))) + (b & comptime!(!top(bits)));
    let carry = ((a & b) | ((a | b) & low)) & comptime!(top(bits));
    (low ^ ((a ^ b) & comptime!(top(bits)))) | spread(carry, bits)
}

#[cube]
fn subtract(a: u32, b: u32, #[comptime] bits: u32) -> u32 {
    let low = (a | comptime!(top(bits))) - (b & comptime!(!top(bits)));
    let difference = low ^ (!(a ^ b) & comptime!(top(bits)));
    difference & at_least(a, b, bits)
}

#[cube]
fn mean(a: u32, b: u32, #[comptime] bits: u32) -> u32 {
    (a | b) - (((a ^ b) >> 1u32) & comptime!(!top(bits)))
}

/// (a·b + ⌊M/2⌋) / M in each sample: t / M = (t + 1 + (t >> bits)) >> bits for every such t.
#[cube]
fn multiply(a: u32, b: u32, #[comptime] bits: u32) -> u32 {
    let mut result = 0u32;
    #[unroll]
    for k in 0..comptime!(32 / bits) {
        let shift = comptime!(k * bits);
        let x = (a >> shift) & comptime!(ones(bits));
        let y = (b >> shift) & comptime!(ones(bits));
        let t = x * y + comptime!(ones(bits) / 2);
        result |= ((t + 1u32 + (t >> bits)) >> bits) << shift;
    }
    result
}

/// `layer` folded onto `below`.
#[cube]
pub(crate) fn fold(below: u32, layer: u32, #[comptime] fold: Fold, #[comptime] bits: u32) -> u32 {
    match fold {
        Fold::Base => layer,
        Fold::Add => add(below, layer, bits),
        Fold::Subtract => subtract(below, layer, bits),
        Fold::Multiply => multiply(below, layer, bits),
        Fold::Mean => mean(below, layer, bits),
        Fold::Max => {
            let mask = at_least(below, layer, bits);
            (below & mask) | (layer & !mask)
        }
        Fold::Min => {
            let mask = at_least(below, layer, bits);
            (layer & mask) | (below & !mask)
        }
        Fold::Over => (below & !non_zero(layer, bits)) | layer,
        Fold::Mask => below & non_zero(layer, bits),
    }
}

/// All bits of the first `count` samples of a word; of all for any greater count.
#[cube]
fn first(count: u32, #[comptime] bits: u32) -> u32 {
    let some = (1u32 << ((count * bits) & 31u32)) - 1u32;
    select(count >= comptime!(32 / bits), 0xffff_ffffu32, some)
}

/// All bits of the samples of the word at column `x` that lie in the columns `left..right`.
#[cube]
pub(crate) fn coverage(x: u32, left: u32, right: u32, #[comptime] bits: u32) -> u32 {
    first(max(right, x) - x, bits) & !first(max(left, x) - x, bits)
}

/// The samples of a word in the opposite order.
#[cube]
pub(crate) fn reversed(word: u32, #[comptime] bits: u32) -> u32 {
    let halves = funnel(word, word, 16u32);
    if comptime!(bits == 8) {
        ((halves & 0x00ff_00ffu32) << 8u32) | ((halves >> 8u32) & 0x00ff_00ffu32)
    } else {
        halves
    }
}

/// The 32 bits that begin at bit `shift` < 32 of `low`, followed by `high`.
#[cube]
pub(crate) fn funnel(low: u32, high: u32, shift: u32) -> u32 {
    (low >> shift) | ((high << 1u32) << (31u32 - shift))
}

/// The samples of `low` and `high` from sample `count` of `low` on, which is one of its samples.
#[cube]
pub(crate) fn samples_from(low: u32, high: u32, #[comptime] count: u32, #[comptime] bits: u32) -> u32 {
    let shift = comptime!(count * bits);
    if comptime!(shift == 0) {
        low
    } else {
        (low >> shift) | (high << comptime!(32 - shift))
    }
}

/// ⌊n / d⌋ and n mod d for 0 < d, with `reciprocal` = min(⌊2^32 / d⌋, 2^32 − 1): the product is too small by 1 at most.
#[cube]
pub(crate) fn quotient(n: u32, d: u32, reciprocal: u32) -> u32 {
    let q = n.mul_hi(reciprocal);
    select(n - q * d >= d, q + 1u32, q)
}

/// n mod d; see [`quotient`].
#[cube]
pub(crate) fn remainder(n: u32, d: u32, reciprocal: u32) -> u32 {
    let r = n - n.mul_hi(reciprocal) * d;
    min(r, r - d)
}

/// See [`quotient`].
pub(crate) fn reciprocal(d: u32) -> u32 {
    u32::try_from((1_u64 << 32) / u64::from(d.max(1))).unwrap_or(u32::MAX)
}
