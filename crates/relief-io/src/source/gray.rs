//! From the pixels of a file to gray samples of the depth asked for.
//!
//! In this order, each step in integers: colour becomes gray as (2126 r + 7152 g + 722 b + 5000) / 10000 in the
//! file's own depth; with transparency α of M the gray g becomes g·α / M, rounded, so that a transparent pixel reads
//! as 0, "nothing here"; then 8 bits become 16 as v·257, and 16 become 8 as (v + 128) / 257. Samples of fewer bits, or
//! of another maximum, have been scaled to 8 or 16 bits before.

use std::ops::ControlFlow;

use relief_raster::Depth;

/// What the samples of a pixel are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channels {
    Gray,
    GrayAlpha,
    Rgb,
    RgbAlpha,
}

impl Channels {
    /// Samples per pixel.
    pub(super) const fn count(self) -> usize {
        match self {
            Self::Gray => 1,
            Self::GrayAlpha => 2,
            Self::Rgb => 3,
            Self::RgbAlpha => 4,
        }
    }
}

/// What the pixels of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pixels {
    pub(super) channels: Channels,
    pub(super) depth: Depth,
}

impl Pixels {
    /// The bytes that [`GrayRows`] and its caller hold for a row of `width` pixels: samples and gray as `u16`.
    pub(super) fn row_memory(self, width: u64) -> u64 {
        width.saturating_mul(2 * (self.channels.count() as u64 + 1))
    }
}

/// Takes rows of pixels and hands them on as gray samples.
pub(super) struct GrayRows<'a> {
    depth: Depth,
    row: &'a mut dyn FnMut(u64, &[u16]) -> ControlFlow<()>,
    gray: Vec<u16>,
}

impl<'a> GrayRows<'a> {
    /// Hands rows of this depth to `row`.
    pub(super) fn new(depth: Depth, row: &'a mut dyn FnMut(u64, &[u16]) -> ControlFlow<()>) -> Self {
        Self {
            depth,
            row,
            gray: Vec::new(),
        }
    }

    /// Hands on row `number`, whose pixels have these samples.
    pub(super) fn take(&mut self, number: u64, pixels: Pixels, samples: &[u16]) -> ControlFlow<()> {
        let Self { depth, gray, .. } = self;
        let max = pixels.depth.max();
        let each = samples.chunks_exact(pixels.channels.count());
        gray.clear();
        match pixels.channels {
            Channels::Gray => gray.extend_from_slice(samples),
            Channels::GrayAlpha => gray.extend(each.map(|p| seen(p[0], p[1], max))),
            Channels::Rgb => gray.extend(each.map(|p| luminance(p[0], p[1], p[2]))),
            Channels::RgbAlpha => gray.extend(each.map(|p| seen(luminance(p[0], p[1], p[2]), p[3], max))),
        }
        match (pixels.depth, *depth) {
            (Depth::Eight, Depth::Sixteen) => gray.iter_mut().for_each(|v| *v = v.saturating_mul(257)),
            (Depth::Sixteen, Depth::Eight) => gray.iter_mut().for_each(|v| *v = sixteen_to_eight(*v)),
            _ => {}
        }
        (self.row)(number, gray)
    }
}

/// At most the greatest of the three, since the weights sum to 10 000.
fn luminance(r: u16, g: u16, b: u16) -> u16 {
    ((2_126 * u32::from(r) + 7_152 * u32::from(g) + 722 * u32::from(b) + 5_000) / 10_000) as u16
}

/// `gray`·α / `max` rounded. `max` is odd, so that a half cannot arise; the result is at most `gray`.
fn seen(gray: u16, alpha: u16, max: u16) -> u16 {
    ((u32::from(gray) * u32::from(alpha) + u32::from(max / 2)) / u32::from(max)) as u16
}

fn sixteen_to_eight(v: u16) -> u16 {
    ((u32::from(v) + 128) / 257) as u16
}

/// `v` of 0…`from` on the scale 0…`to`: v·to / from, rounded half up. Exact for 1, 2 and 4 bits to 8.
pub(super) fn scaled(v: u16, from: u16, to: u16) -> u16 {
    let (v, from, to) = (u64::from(v), u64::from(from.max(1)), u64::from(to));
    ((2 * v * to + from) / (2 * from)) as u16
}

/// 8-bit samples as `u16`, unscaled.
pub(super) fn widened(bytes: &[u8], into: &mut Vec<u16>) {
    into.clear();
    into.extend(bytes.iter().map(|&v| u16::from(v)));
}
