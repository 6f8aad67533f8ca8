//! Folds on the CPU: plain loops that the compiler turns into vector instructions.
//!
//! The one division, that of `multiply` by M = 2^k − 1, is ⌊t / M⌋ = (t + 1 + ⌊t / 2^k⌋) / 2^k for 0 ≤ t < 2^2k − 1. With
//! t = q·M + r = q·2^k + (r − q), 0 ≤ r < M, q ≤ M: where r ≥ q, ⌊t / 2^k⌋ = q and the sum is q·2^k + r + 1; else
//! ⌊t / 2^k⌋ = q − 1 and it is q·2^k + r. Both lie in q·2^k … q·2^k + M. The greatest t is M² + ⌊M/2⌋.

use relief_raster::{Depth, Sample, View, ViewMut};

use super::Fold;
use crate::isa::{Isa, versions};

/// Folds every sample of `v` into that of `acc`.
///
/// # Panics
/// Where the sizes differ.
pub fn fold<S: Sample>(op: Fold, mut acc: ViewMut<'_, S>, v: View<'_, S>) {
    assert_eq!(
        (acc.width(), acc.height()),
        (v.width(), v.height()),
        "views of different sizes"
    );
    let isa = Isa::best();
    for y in 0..acc.height() {
        let (acc, v) = (acc.row_mut(y), v.row(y));
        match S::DEPTH {
            Depth::Eight => fold_row::<u8>(isa, op, bytemuck::cast_slice_mut(acc), bytemuck::cast_slice(v)),
            Depth::Sixteen => {
                fold_row::<u16>(isa, op, bytemuck::cast_slice_mut(acc), bytemuck::cast_slice(v))
            }
        }
    }
}

/// Folds the same sample into every sample of `acc`.
pub fn fold_uniform<S: Sample>(op: Fold, mut acc: ViewMut<'_, S>, value: S) {
    let isa = Isa::best();
    match (op, value == S::ZERO) {
        (Fold::Base, _) | (Fold::Over, false) => return acc.fill(value),
        (Fold::Multiply | Fold::Min | Fold::Mask, true) => return acc.fill(S::ZERO),
        (Fold::Over | Fold::Add | Fold::Subtract | Fold::Max, true) | (Fold::Mask, false) => return,
        _ => {}
    }
    for y in 0..acc.height() {
        let acc = acc.row_mut(y);
        match S::DEPTH {
            Depth::Eight => {
                // A sample of 8 bits is at most 255.
                fold_row_uniform::<u8>(isa, op, bytemuck::cast_slice_mut(acc), value.to_u16() as u8);
            }
            Depth::Sixteen => fold_row_uniform::<u16>(isa, op, bytemuck::cast_slice_mut(acc), value.to_u16()),
        }
    }
}

/// The arithmetic of one depth, in the least number of bits.
trait Lane: Sample {
    fn add(self, v: Self) -> Self;
    fn subtract(self, v: Self) -> Self;
    fn multiply(self, v: Self) -> Self;
    fn mean(self, v: Self) -> Self;
}

impl Lane for u8 {
    #[inline(always)]
    fn add(self, v: Self) -> Self {
        self.saturating_add(v)
    }

    #[inline(always)]
    fn subtract(self, v: Self) -> Self {
        self.saturating_sub(v)
    }

    #[inline(always)]
    fn multiply(self, v: Self) -> Self {
        let t = u16::from(self) * u16::from(v) + 127;
        ((t + 1 + (t >> 8)) >> 8) as Self
    }

    #[inline(always)]
    fn mean(self, v: Self) -> Self {
        ((u16::from(self) + u16::from(v) + 1) >> 1) as Self
    }
}

impl Lane for u16 {
    #[inline(always)]
    fn add(self, v: Self) -> Self {
        self.saturating_add(v)
    }

    #[inline(always)]
    fn subtract(self, v: Self) -> Self {
        self.saturating_sub(v)
    }

    #[inline(always)]
    fn multiply(self, v: Self) -> Self {
        let t = u32::from(self) * u32::from(v) + 32_767;
        ((t + 1 + (t >> 16)) >> 16) as Self
    }

    #[inline(always)]
    fn mean(self, v: Self) -> Self {
        ((u32::from(self) + u32::from(v) + 1) >> 1) as Self
    }
}

versions! {
    fn fold_row<L: Lane>(op: Fold, acc: &mut [L], v: &[L]) {
        match op {
            Fold::Base => acc.copy_from_slice(v),
            Fold::Add => each(acc, v, L::add),
            Fold::Subtract => each(acc, v, L::subtract),
            Fold::Multiply => each(acc, v, L::multiply),
            Fold::Mean => each(acc, v, L::mean),
            Fold::Max => each(acc, v, L::max),
            Fold::Min => each(acc, v, L::min),
            Fold::Over => each(acc, v, |acc, v| if v == L::ZERO { acc } else { v }),
            Fold::Mask => each(acc, v, |acc, v| if v == L::ZERO { L::ZERO } else { acc }),
        }
    }
}

versions! {
    fn fold_row_uniform<L: Lane>(op: Fold, acc: &mut [L], v: L) {
        match op {
            Fold::Add => all(acc, |acc| acc.add(v)),
            Fold::Subtract => all(acc, |acc| acc.subtract(v)),
            Fold::Multiply => all(acc, |acc| acc.multiply(v)),
            Fold::Mean => all(acc, |acc| acc.mean(v)),
            Fold::Max => all(acc, |acc| acc.max(v)),
            Fold::Min => all(acc, |acc| acc.min(v)),
            // What is left replaces or keeps whole views, which `fold_uniform` has done.
            Fold::Base | Fold::Over | Fold::Mask => all(acc, |acc| op.apply(acc, v)),
        }
    }
}

#[inline(always)]
fn each<L: Lane>(acc: &mut [L], v: &[L], f: impl Fn(L, L) -> L) {
    for (acc, v) in acc.iter_mut().zip(v) {
        *acc = f(*acc, *v);
    }
}

#[inline(always)]
fn all<L: Lane>(acc: &mut [L], f: impl Fn(L) -> L) {
    for acc in acc {
        *acc = f(*acc);
    }
}
