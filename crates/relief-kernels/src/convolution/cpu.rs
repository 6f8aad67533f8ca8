//! Weighted sums on the CPU.

use relief_raster::{Sample, View, ViewMut};

use super::Mask;
use crate::block::{self, blocks};
use crate::isa::{Isa, versions};

/// What sums are computed in.
trait Sum: Copy {
    const ZERO: Self;
    fn plus(self, weight: i32, sample: u16) -> Self;
    fn real(self) -> f64;
}

impl Sum for i32 {
    const ZERO: Self = 0;

    #[inline(always)]
    fn plus(self, weight: i32, sample: u16) -> Self {
        self.wrapping_add(weight.wrapping_mul(Self::from(sample)))
    }

    #[inline(always)]
    fn real(self) -> f64 {
        f64::from(self)
    }
}

impl Sum for i64 {
    const ZERO: Self = 0;

    #[inline(always)]
    fn plus(self, weight: i32, sample: u16) -> Self {
        self.wrapping_add(Self::from(weight) * Self::from(sample))
    }

    /// Of a sum within ±2^51: its bits with those of 1.5·2^52.
    #[inline(always)]
    fn real(self) -> f64 {
        const MAGIC: f64 = 6_755_399_441_055_744.0;
        f64::from_bits((MAGIC.to_bits().cast_signed().wrapping_add(self)).cast_unsigned()) - MAGIC
    }
}

/// The weighted sum around every pixel. `source` has as many more columns and rows on every side than `out` as the mask reaches.
///
/// # Panics
/// Where it has not.
pub fn filter<S: Sample>(source: View<'_, S>, mask: &Mask, mut out: ViewMut<'_, S>) {
    let (across, down) = mask.reach();
    block::check(&source, (out.width(), out.height()), across, down);
    let isa = Isa::best();
    let most = mask.sums.0.max(mask.sums.1) * u64::from(S::MAX.to_u16());
    for y in 0..out.height() {
        let rows = source.part(0, y, source.width(), mask.rows);
        if most <= i32::MAX as u64 {
            row::<S, i32>(isa, rows, mask, out.row_mut(y));
        } else {
            row::<S, i64>(isa, rows, mask, out.row_mut(y));
        }
    }
}

versions! {
    fn row<S: Sample, T: Sum>(rows: View<'_, S>, mask: &Mask, out: &mut [S]) {
        blocks!(out.len(), at, N, columns::<S, T, N>(rows, mask, at, out));
    }
}

/// `N` results from column `at` on.
#[inline(always)]
fn columns<S: Sample, T: Sum, const N: usize>(rows: View<'_, S>, mask: &Mask, at: usize, out: &mut [S]) {
    let mut sums = [T::ZERO; N];
    for tap in &mask.taps {
        let samples = &rows.row(tap.row)[at + tap.column..][..N];
        for (sum, sample) in sums.iter_mut().zip(samples) {
            *sum = sum.plus(tap.weight, sample.to_u16());
        }
    }
    // ⌊(2·S + 2·offset·D + D) / 2D⌋, all whole numbers below 2^53. Below 0 the sample is 0, whatever the fraction.
    let divisor = f64::from(mask.divisor);
    let more = (2.0 * f64::from(mask.offset) + 1.0) * divisor;
    let max = f64::from(S::MAX.to_u16());
    for (out, sum) in out[at..at + N].iter_mut().zip(&sums) {
        let quotient = (2.0 * sum.real() + more) / (2.0 * divisor);
        let quotient = if quotient > 0.0 { quotient } else { 0.0 };
        let quotient = if quotient < max { quotient } else { max };
        *out = S::from_u16(quotient as i32 as u16);
    }
}
