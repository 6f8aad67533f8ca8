//! From the pixels of a file to gray samples of the depth asked for.
//!
//! The samples of a file are fractions of the greatest one that it can hold. Gray g, in 0…1, is a sum of them, the
//! fraction α of transparency multiplies it, and the sample is ⌊M·g·α + 1/2⌋, computed exactly and rounded once. With a
//! range, gray without α goes to 0…M directly; colour, and gray with α, goes to 0…65 535 before that.

use std::ops::ControlFlow;

use relief_design::{Conversion, Gray};
use relief_raster::Depth;

use super::orientation::Orientation;
use super::range::Range;

/// What the colour samples of a pixel are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colors {
    Gray,
    Rgb,
    /// Inks: the greatest sample covers all.
    Cmyk,
}

impl Colors {
    /// Samples per pixel.
    pub(super) const fn count(self) -> usize {
        match self {
            Self::Gray => 1,
            Self::Rgb => 3,
            Self::Cmyk => 4,
        }
    }
}

/// What the sample after the colour is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alpha {
    /// There is none.
    None,
    /// Transparency; the colour has not been multiplied by it.
    Straight,
    /// Transparency; the colour has been multiplied by it already.
    Associated,
}

/// What the samples of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// Whole numbers from 0 to the greatest, which means all.
    Whole { max: u32 },
    /// Signed or floating point numbers, which mean nothing without a range; an α of 1 hides nothing.
    Numbers,
}

/// What the pixels of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pixels {
    pub(super) colors: Colors,
    pub(super) alpha: Alpha,
    pub(super) scale: Scale,
}

impl Pixels {
    /// Samples per pixel, as they are handed to [`GrayRows`].
    pub(super) fn count(self) -> usize {
        self.colors.count() + usize::from(self.alpha != Alpha::None)
    }

    /// The bytes that [`GrayRows`] and its caller hold for a row of `width` pixels: samples as read and as converted,
    /// and gray.
    pub(super) fn row_memory(self, width: u64) -> u64 {
        let sample = match self.scale {
            Scale::Whole { .. } => 4,
            Scale::Numbers => 8,
        };
        width.saturating_mul((sample + 4) * self.count() as u64 + 2)
    }
}

/// The samples of a row, pixel after pixel: those of the colour, then α.
#[derive(Clone, Copy, Debug)]
pub(super) enum Row<'a> {
    Whole(&'a [u32]),
    Numbers(&'a [f64]),
}

/// Takes rows of pixels and hands them on as gray samples.
pub(super) struct GrayRows<'a> {
    gray: Gray,
    range: Option<Range>,
    depth: Depth,
    /// The number in the file that stands for "nothing here".
    nothing: Option<f64>,
    oriented: Orientation,
    row: &'a mut dyn FnMut(u64, &[u16]) -> ControlFlow<()>,
    line: Vec<u16>,
    scaled: Vec<u32>,
}

impl<'a> GrayRows<'a> {
    /// Hands rows of this depth to `row`, turned as they are to be seen.
    pub(super) fn new(
        conversion: &Conversion,
        depth: Depth,
        oriented: Orientation,
        row: &'a mut dyn FnMut(u64, &[u16]) -> ControlFlow<()>,
    ) -> Self {
        Self {
            gray: conversion.gray,
            range: conversion.range.map(|(low, high)| Range::new(low, high)),
            depth,
            nothing: None,
            oriented,
            row,
            line: Vec::new(),
            scaled: Vec::new(),
        }
    }

    /// This number in the file, and every one that is no number, reads as 0 where there is a range.
    pub(super) fn read_as_nothing(&mut self, number: Option<f64>) {
        self.nothing = number;
    }

    /// Whether samples are numbers that a range puts on the scale 0…M.
    pub(super) fn has_range(&self) -> bool {
        self.range.is_some()
    }

    /// Hands on row `number` of the file.
    pub(super) fn take(&mut self, number: u64, pixels: Pixels, row: Row<'_>) -> ControlFlow<()> {
        self.line.clear();
        self.convert(pixels, row);
        self.oriented.take(number, &mut self.line, self.row)
    }

    /// The gray of a part of a row, which is handed on by [`hand`](Self::hand) once all of them are known.
    pub(super) fn gray(&mut self, pixels: Pixels, row: Row<'_>) -> &[u16] {
        self.line.clear();
        self.convert(pixels, row);
        &self.line
    }

    /// Hands on row `number` of the file, whose gray is known.
    pub(super) fn hand(&mut self, number: u64, line: &mut [u16]) -> ControlFlow<()> {
        self.oriented.take(number, line, self.row)
    }

    fn convert(&mut self, pixels: Pixels, row: Row<'_>) {
        let Self {
            gray,
            range,
            depth,
            nothing,
            line,
            scaled,
            ..
        } = self;
        let (to, range, nothing) = ((*depth).max(), *range, *nothing);
        let ranged = |value: f64, to: u16| match range {
            Some(range) if Some(value) != nothing => range.sample(value, to),
            _ => 0,
        };
        let plain = pixels.colors == Colors::Gray && pixels.alpha == Alpha::None;
        match (row, range.is_some()) {
            (Row::Whole(samples), false) => whole(pixels, *gray, to, samples, line),
            // A gray picture's red, green and blue are its gray; its inks are what is missing of it.
            (Row::Whole(samples), true) if plain && !is_ink(*gray) => {
                line.extend(samples.iter().map(|&v| ranged(f64::from(v), to)));
            }
            (Row::Numbers(samples), _) if plain && !is_ink(*gray) => {
                line.extend(samples.iter().map(|&v| ranged(v, to)));
            }
            (row, _) => {
                let colors = pixels.colors.count();
                let alpha_max = match pixels.scale {
                    Scale::Whole { max } => f64::from(max),
                    Scale::Numbers => 1.0,
                };
                let alpha = Range::new(0.0, alpha_max);
                let each = |(i, value): (usize, f64)| {
                    u32::from(if i % pixels.count() < colors {
                        ranged(value, u16::MAX)
                    } else {
                        alpha.sample(value, u16::MAX)
                    })
                };
                scaled.clear();
                match row {
                    Row::Whole(samples) => {
                        scaled.extend(samples.iter().map(|&v| f64::from(v)).enumerate().map(each));
                    }
                    Row::Numbers(samples) => scaled.extend(samples.iter().copied().enumerate().map(each)),
                }
                let max = u32::from(u16::MAX);
                let pixels = Pixels {
                    scale: Scale::Whole { max },
                    ..pixels
                };
                whole(pixels, *gray, to, scaled, line);
            }
        }
    }
}

fn is_ink(gray: Gray) -> bool {
    matches!(gray, Gray::Cyan | Gray::Magenta | Gray::Yellow | Gray::Black)
}

/// Appends the gray of pixels of whole samples.
fn whole(pixels: Pixels, gray: Gray, to: u16, samples: &[u32], line: &mut Vec<u16>) {
    let Scale::Whole { max } = pixels.scale else {
        return;
    };
    match (pixels.colors, pixels.alpha, max) {
        (Colors::Gray, Alpha::None, _) if !is_ink(gray) => {
            line.extend(samples.iter().map(|&v| scaled(v, max, to)));
        }
        (Colors::Rgb, Alpha::None, 0..=65_535) if gray == Gray::Luma => {
            let (to, whole) = (u64::from(to), 10_000 * u64::from(max));
            let luma = |p: &[u32]| 2_126 * u64::from(p[0]) + 7_152 * u64::from(p[1]) + 722 * u64::from(p[2]);
            let each = samples.chunks_exact(3);
            line.extend(each.map(|p| ((2 * luma(p) * to + whole) / (2 * whole)) as u16));
        }
        _ => line.extend(
            samples
                .chunks_exact(pixels.count())
                .map(|p| exact(pixels, gray, max, to, p)),
        ),
    }
}

/// `v` of 0…`from` on the scale 0…`to`: v·to / from, rounded half up.
fn scaled(v: u32, from: u32, to: u16) -> u16 {
    if from == u32::from(to) {
        return v as u16;
    }
    let (v, from, to) = (u64::from(v), u64::from(from.max(1)), u64::from(to));
    ((2 * v * to + from) / (2 * from)) as u16
}

/// The sample of one pixel: the numerator of M·g·α over its denominator, rounded half up.
///
/// With samples up to 2^32 − 1 no number exceeds 10^4 · 2^(3·32 + 16 + 1) < 2^127.
fn exact(pixels: Pixels, gray: Gray, max: u32, to: u16, pixel: &[u32]) -> u16 {
    let m = u128::from(max);
    let at = |i: usize| u128::from(pixel.get(i).copied().unwrap_or(0)).min(m);
    let alpha = match pixels.alpha {
        Alpha::None => m,
        Alpha::Straight | Alpha::Associated => at(pixels.colors.count()),
    };
    // What is full where the colour stands alone: of colour that has been multiplied by α, α.
    let full = if pixels.alpha == Alpha::Associated {
        alpha
    } else {
        m
    };
    // Red, green and blue over `unit`, and inks over m.
    let (rgb, unit) = match pixels.colors {
        Colors::Gray => ([at(0); 3], m),
        Colors::Rgb => ([at(0), at(1), at(2)], m),
        Colors::Cmyk => ([0, 1, 2].map(|i| (m - at(i)) * (m - at(3))), m * m),
    };
    let [r, g, b] = rgb;
    let ink = |i: usize, shown: u128| match pixels.colors {
        Colors::Cmyk => at(i),
        _ => full.saturating_sub(shown),
    };
    let (value, whole) = match gray {
        Gray::Luma => (2_126 * r + 7_152 * g + 722 * b, 10_000 * unit),
        Gray::Average => (r + g + b, 3 * unit),
        Gray::Red => (r, unit),
        Gray::Green => (g, unit),
        Gray::Blue => (b, unit),
        Gray::Cyan => (ink(0, r), m),
        Gray::Magenta => (ink(1, g), m),
        Gray::Yellow => (ink(2, b), m),
        Gray::Black => (ink(3, r.max(g).max(b)), m),
    };
    let (value, whole) = if pixels.alpha == Alpha::Straight {
        (value * alpha, whole * m)
    } else {
        (value, whole)
    };
    let (to, whole) = (u128::from(to), whole.max(1));
    let sample = (value * to + whole / 2) / whole;
    sample.min(to) as u16
}
