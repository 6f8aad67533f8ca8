//! Means over windows of any size by an integral image, and adaptive thresholds by those, on the CPU.
//!
//! A window's sum is four sums whatever its radius, so what a mean costs is memory and a division. The division by the number of
//! samples is a product in f64: (n + ½) · (1 / count) is nowhere as near to an integer as its rounding errors are large, so the
//! integer below it is exact.

#![allow(unsafe_code)]

use super::Window;
use super::cpu::{Picture, Sum};
use relief_kernels::isa::{Isa, versions};

/// Sums of bytes whose differences are the sums of windows.
pub trait Differences: Sum<Sample = u8> {
    /// The most samples of a window.
    const MOST: u64;

    /// a − b.
    #[doc(hidden)]
    fn minus(a: Self, b: Self) -> Self;

    /// The sum of a window over the number of its samples, to the nearest, halves up.
    #[doc(hidden)]
    fn mean(self, count: Count) -> u8;

    /// The means of the middle of a row, whose windows lie within the picture.
    #[doc(hidden)]
    fn middle(isa: Isa, corners: Corners<'_, Self>, count: Count, out: &mut [u8]);
}

/// How many samples a window has, as a mean takes it.
///
/// # Guarantees
/// `half` is positive and finite, `inverse` is in (0, 1]: neither is NaN, so that means lie between 0 and 255.
///
/// ```compile_fail,E0061,E0308
/// # use relief_numeric::integral::windows::Differences;
/// <u32 as Differences>::mean(1, f64::NEG_INFINITY, 1.0);
/// ```
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Count {
    /// Half of the count, without its fraction, and the half that keeps the product from integers.
    half: f64,
    inverse: f64,
}

impl Count {
    /// # Panics
    /// Where there are none.
    fn of(samples: u64) -> Self {
        assert!(samples > 0, "a window without samples");
        let count = samples as f64;
        Self {
            half: (count / 2.0).floor() + 0.5,
            inverse: 1.0 / count,
        }
    }
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
            fn mean(self, count: Count) -> u8 {
                let mean = ((self as f64 + count.half) * count.inverse).min(255.0);
                // SAFETY: it is neither negative nor more than 255: an integer without a sign and a `Count` are finite and positive.
                unsafe { mean.to_int_unchecked::<i32>() as u8 }
            }

            fn middle(isa: Isa, corners: Corners<'_, Self>, count: Count, out: &mut [u8]) {
                versions! {
                    fn run(corners: Corners<'_, $type>, count: Count, out: &mut [u8]) {
                        let (right, left) = corners.below;
                        let below = right.iter().zip(left).map(|(right, left)| <$type>::minus(*right, *left));
                        match corners.above {
                            None => {
                                for (below, out) in below.zip(out) {
                                    *out = below.mean(count);
                                }
                            }
                            Some((right, left)) => {
                                let above = right.iter().zip(left);
                                let above = above.map(|(right, left)| <$type>::minus(*right, *left));
                                for ((below, above), out) in below.zip(above).zip(out) {
                                    *out = <$type>::minus(below, above).mean(count);
                                }
                            }
                        }
                    }
                }
                run(isa, corners, count, out);
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
    assert!(y < height, "row {y} of {height}");
    integral.assert_holds_rows();
    if width == 0 {
        return;
    }
    let bottom = y.saturating_add(radius).min(height - 1);
    let top = y.checked_sub(radius).and_then(|top| top.checked_sub(1));
    let rows = (bottom + 1 - top.map_or(0, |top| top + 1)) as u64;
    let columns = radius.saturating_mul(2).saturating_add(1).min(width) as u64;
    assert!(rows * columns <= S::MOST, "sums of windows of so many samples");
    let below = integral.row(bottom);
    let above = top.map(|top| integral.row(top));

    let count = |columns: usize| Count::of(rows * columns as u64);
    let single = |x: usize| {
        let right = x.saturating_add(radius).min(width - 1);
        let left = x.checked_sub(radius).and_then(|left| left.checked_sub(1));
        let across = |row: &[S]| left.map_or(row[right], |left| S::minus(row[right], row[left]));
        let sum = above.map_or(across(below), |above| S::minus(across(below), across(above)));
        sum.mean(count(right + 1 - left.map_or(0, |left| left + 1)))
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
        S::middle(Isa::best(), corners, count(2 * radius + 1), &mut out[first..end]);
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
