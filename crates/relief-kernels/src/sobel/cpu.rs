//! Slopes on the CPU.

use relief_raster::{Sample, View, ViewMut};

use super::Component;
use crate::block::{self, blocks};
use crate::isa::{Isa, versions};

/// Samples as the numbers that slopes are computed in.
trait Slope: Sample {
    /// Holds 4M and −4M.
    type Number: Copy + Default + std::ops::Add<Output = Self::Number> + std::ops::Sub<Output = Self::Number>;

    fn number(self) -> Self::Number;
    /// ⌊(g + 4M + 4) / 8⌋.
    fn component(slope: Self::Number) -> Self;
    fn magnitude(x: Self::Number, y: Self::Number) -> Self;
}

impl Slope for u8 {
    type Number = i16;

    #[inline(always)]
    fn number(self) -> i16 {
        i16::from(self)
    }

    #[inline(always)]
    fn component(slope: i16) -> Self {
        ((slope + 4 * 255 + 4) >> 3) as Self
    }

    #[inline(always)]
    fn magnitude(x: i16, y: i16) -> Self {
        let (x, y) = (f32::from(x), f32::from(y));
        let root = (x * x + y * y).sqrt();
        // The nearest whole number, in the lowest bits.
        let root = if root < 255.0 { root } else { 255.0 } + 8_388_608.0;
        root.to_bits() as Self
    }
}

impl Slope for u16 {
    type Number = i32;

    #[inline(always)]
    fn number(self) -> i32 {
        i32::from(self)
    }

    #[inline(always)]
    fn component(slope: i32) -> Self {
        ((slope + 4 * 65_535 + 4) >> 3) as Self
    }

    #[inline(always)]
    fn magnitude(x: i32, y: i32) -> Self {
        let (x, y) = (f64::from(x), f64::from(y));
        let root = (x * x + y * y).sqrt();
        let root = if root < 65_535.0 { root } else { 65_535.0 } + (1_u64 << 52) as f64;
        root.to_bits() as Self
    }
}

/// The slope at every pixel. `source` has one more column and row on every side than `out`.
///
/// # Panics
/// Where it has not.
pub fn filter<S: Sample>(source: View<'_, S>, component: Component, mut out: ViewMut<'_, S>) {
    block::check(&source, (out.width(), out.height()), 1, 1);
    let isa = Isa::best();
    for y in 0..out.height() {
        let rows = [source.row(y), source.row(y + 1), source.row(y + 2)];
        let out = out.row_mut(y);
        match S::DEPTH {
            relief_raster::Depth::Eight => row::<u8>(
                isa,
                rows.map(bytemuck::cast_slice),
                component,
                bytemuck::cast_slice_mut(out),
            ),
            relief_raster::Depth::Sixteen => row::<u16>(
                isa,
                rows.map(bytemuck::cast_slice),
                component,
                bytemuck::cast_slice_mut(out),
            ),
        }
    }
}

versions! {
    fn row<S: Slope>(rows: [&[S]; 3], component: Component, out: &mut [S]) {
        match component {
            Component::Magnitude => blocks!(out.len(), at, N, {
                let (x, y) = (along_x::<S, N>(rows, at), along_y::<S, N>(rows, at));
                for ((out, x), y) in out[at..at + N].iter_mut().zip(&x).zip(&y) {
                    *out = S::magnitude(*x, *y);
                }
            }),
            Component::X => blocks!(out.len(), at, N, {
                let slopes = along_x::<S, N>(rows, at);
                for (out, slope) in out[at..at + N].iter_mut().zip(&slopes) {
                    *out = S::component(*slope);
                }
            }),
            Component::Y => blocks!(out.len(), at, N, {
                let slopes = along_y::<S, N>(rows, at);
                for (out, slope) in out[at..at + N].iter_mut().zip(&slopes) {
                    *out = S::component(*slope);
                }
            }),
        }
    }
}

/// One, twice the middle, and the other.
#[inline(always)]
fn weighted<S: Slope>(one: S, middle: S, other: S) -> S::Number {
    let middle = middle.number();
    one.number() + middle + middle + other.number()
}

// Loops, since what `array::from_fn` calls is compiled apart, without the instructions of the caller.

#[inline(always)]
fn along_x<S: Slope, const N: usize>([above, here, below]: [&[S]; 3], at: usize) -> [S::Number; N] {
    let (above, here, below) = (
        &above[at..at + N + 2],
        &here[at..at + N + 2],
        &below[at..at + N + 2],
    );
    let mut slopes = [S::Number::default(); N];
    for (i, slope) in slopes.iter_mut().enumerate() {
        *slope = weighted(above[i + 2], here[i + 2], below[i + 2]) - weighted(above[i], here[i], below[i]);
    }
    slopes
}

#[inline(always)]
fn along_y<S: Slope, const N: usize>([above, _, below]: [&[S]; 3], at: usize) -> [S::Number; N] {
    let (above, below) = (&above[at..at + N + 2], &below[at..at + N + 2]);
    let mut slopes = [S::Number::default(); N];
    for (i, slope) in slopes.iter_mut().enumerate() {
        *slope =
            weighted(below[i], below[i + 1], below[i + 2]) - weighted(above[i], above[i + 1], above[i + 2]);
    }
    slopes
}
