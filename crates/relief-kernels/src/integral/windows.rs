//! Means over windows of any size by an integral image, and adaptive thresholds by those, on the CPU.
//!
//! A window's sum is four sums whatever its radius, so what a mean costs is memory and a division. The division by the number of
//! samples is a product in f64: (n + ½) · (1 / count) is nowhere as near to an integer as its rounding errors are large, so the
//! integer below it is exact.

#![allow(unsafe_code)]

use super::Window;
use super::cpu::{Picture, Sum};
use crate::isa::{Isa, versions};

/// Sums of bytes whose differences are the sums of windows.
pub trait Differences: Sum<Sample = u8> {
    /// The most samples of a window.
    const MOST: u64;

    /// a − b.
    #[doc(hidden)]
    fn minus(a: Self, b: Self) -> Self;

    /// The sum of a window, rounded up by half of `count`, over `count`.
    #[doc(hidden)]
    fn mean(self, half: f64, inverse: f64) -> u8;

    /// The means of the middle of a row, whose windows lie within the picture.
    #[doc(hidden)]
    fn middle(isa: Isa, corners: Corners<'_, Self>, half: f64, inverse: f64, out: &mut [u8]);
}

/// Sums right and left of windows in the rows below and above them, as many as there are windows.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Corners<'a, S> {
    below: (&'a [S], &'a [S]),
    above: Option<(&'a [S], &'a [S])>,
}

macro_rules! differences {
    ($($type:ty, $most:expr;)+) => {$(
        impl Differences for $type {
            const MOST: u64 = $most;

            #[inline(always)]
            fn minus(a: Self, b: Self) -> Self {
                a.wrapping_sub(b)
            }

            #[inline(always)]
            fn mean(self, half: f64, inverse: f64) -> u8 {
                let mean = ((self as f64 + half) * inverse).min(255.0);
                // SAFETY: it is neither negative nor more than 255, and no number here is infinite.
                unsafe { mean.to_int_unchecked::<i32>() as u8 }
            }

            fn middle(isa: Isa, corners: Corners<'_, Self>, half: f64, inverse: f64, out: &mut [u8]) {
                versions! {
                    fn run(corners: Corners<'_, $type>, half: f64, inverse: f64, out: &mut [u8]) {
                        let (right, left) = corners.below;
                        let below = right.iter().zip(left).map(|(right, left)| <$type>::minus(*right, *left));
                        match corners.above {
                            None => {
                                for (below, out) in below.zip(out) {
                                    *out = below.mean(half, inverse);
                                }
                            }
                            Some((right, left)) => {
                                let above = right.iter().zip(left);
                                let above = above.map(|(right, left)| <$type>::minus(*right, *left));
                                for ((below, above), out) in below.zip(above).zip(out) {
                                    *out = <$type>::minus(below, above).mean(half, inverse);
                                }
                            }
                        }
                    }
                }
                run(isa, corners, half, inverse, out);
            }
        }
    )+};
}

differences! {
    u32, 1 << 24;
    u64, 1 << 40;
}

/// The means of the windows around the samples of row `y`, rounded to the nearest, halves up.
///
/// # Panics
/// Where the integral image does not hold its rows or has no row `y`, where `out` is not as long as a row, and where windows have
/// more than [`Differences::MOST`] samples.
pub fn means<S: Differences>(integral: Picture<'_, S>, window: Window, y: usize, out: &mut [u8]) {
    let (width, height, radius) = (integral.width, integral.height, window.radius as usize);
    assert_eq!(width, out.len(), "a mean for each sample");
    let bottom = y.saturating_add(radius).min(height - 1);
    let top = y.checked_sub(radius).and_then(|top| top.checked_sub(1));
    let rows = (bottom + 1 - top.map_or(0, |top| top + 1)) as u64;
    let columns = radius.saturating_mul(2).saturating_add(1).min(width) as u64;
    assert!(rows * columns <= S::MOST, "sums of windows of so many samples");
    let below = integral.row(bottom);
    let above = top.map(|top| integral.row(top));

    let divisor = |columns: usize| {
        let count = (rows * columns as u64) as f64;
        // Half of the count, without its fraction, and the half that keeps the product from integers.
        ((count / 2.0).floor() + 0.5, 1.0 / count)
    };
    let single = |x: usize| {
        let right = x.saturating_add(radius).min(width - 1);
        let left = x.checked_sub(radius).and_then(|left| left.checked_sub(1));
        let across = |row: &[S]| left.map_or(row[right], |left| S::minus(row[right], row[left]));
        let sum = above.map_or(across(below), |above| S::minus(across(below), across(above)));
        let (half, inverse) = divisor(right + 1 - left.map_or(0, |left| left + 1));
        sum.mean(half, inverse)
    };
    // The first window that has something to its left, and the last that does not end beyond the picture.
    let first = radius.saturating_add(1).min(width);
    let end = width.saturating_sub(radius).max(first);
    for (x, out) in out[..first].iter_mut().enumerate() {
        *out = single(x);
    }
    if first < end {
        let sides = |row| -> (&[S], &[S]) {
            let row: &[S] = row;
            (
                &row[first + radius..end + radius],
                &row[first - radius - 1..end - radius - 1],
            )
        };
        let corners = Corners {
            below: sides(below),
            above: above.map(sides),
        };
        let (half, inverse) = divisor(2 * radius + 1);
        S::middle(Isa::best(), corners, half, inverse, &mut out[first..end]);
    }
    for (x, out) in out.iter_mut().enumerate().skip(end) {
        *out = single(x);
    }
}

/// Makes of the means around the samples of a row 255 where a sample is above its mean less `offset`, else 0.
///
/// # Panics
/// Where there are not as many means as samples.
pub fn threshold(row: &[u8], offset: i32, means: &mut [u8]) {
    assert_eq!(row.len(), means.len(), "a mean for each sample");
    // Beyond 255 nothing changes any more.
    apply(Isa::best(), row, offset.clamp(-256, 256) as i16, means);
}

versions! {
    fn apply(row: &[u8], offset: i16, means: &mut [u8]) {
        for (sample, mean) in row.iter().zip(means) {
            *mean = if i16::from(*sample) > i16::from(*mean) - offset { 255 } else { 0 };
        }
    }
}
