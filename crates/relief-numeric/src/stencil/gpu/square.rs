//! Small squares in registers: a unit (thread) computes four words of each of a few rows, and finds what it
//! shares with its neighbours in the nearest cache.
//!
//! Samples are f32 there, those of 8 bits too: their sums are whole numbers below 2^24, so exact, and a GPU
//! adds and multiplies f32 at twice the rate of integers.

use cubecl::prelude::*;

use super::Samples;
use super::columns::{Column, column, load_rows, raster, store_run};

/// What is computed from a square.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Square {
    Sobel,
    /// Weights row after row, and the binary logarithm of what they are divided by.
    Weights {
        weights: Vec<i16>,
        shift: u32,
    },
}

/// What is compiled into the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Plan {
    pub(super) samples: Samples,
    pub(super) square: Square,
    pub(super) radius: u32,
    /// Units of a cube, side by side.
    pub(super) units: u32,
    /// Rows that a unit computes.
    pub(super) rows: u32,
    /// Words of a row that a unit computes: 4.
    pub(super) words: u32,
}

impl Plan {
    const fn side(&self) -> u32 {
        2 * self.radius + 1
    }

    /// Pixels that a unit computes of a row.
    const fn pixels(&self) -> u32 {
        self.words * self.samples.per_word()
    }

    /// Pixels of a row that it looks at.
    const fn span(&self) -> u32 {
        self.pixels() + 2 * self.radius
    }

    fn weight(&self, row: u32, column: u32) -> f32 {
        match &self.square {
            Square::Sobel => 0.0,
            Square::Weights { weights, shift } => {
                let weight = f32::from(weights[(row * self.side() + column) as usize]);
                match self.samples {
                    Samples::Floats => weight / (1_u32 << shift) as f32,
                    Samples::Bytes => weight,
                }
            }
        }
    }

    /// What sums of bytes are multiplied by, and what is then added, before they are rounded down.
    fn rounding(&self) -> (f32, f32) {
        match &self.square {
            Square::Sobel => (1.0, 0.0),
            Square::Weights { shift, .. } => {
                let divisor = (1_u32 << shift) as f32;
                // Both are exact, a power of two and a half (or nothing, where there is nothing to round).
                (1.0 / divisor, if *shift > 0 { 0.5 } else { 0.0 })
            }
        }
    }

    /// Whether sums may be negative.
    fn is_signed(&self) -> bool {
        match &self.square {
            Square::Sobel => false,
            Square::Weights { weights, .. } => weights.iter().any(|weight| *weight < 0),
        }
    }
}

/// Filters a picture; CUBE_POS_X counts cubes across, CUBE_POS_Y down.
#[cube(launch_unchecked)]
pub(super) fn squares<W: Numeric, N: Size>(
    source: &Array<W>,
    out: &mut Array<Vector<W, N>>,
    width: u32,
    height: u32,
    pitch: u32,
    #[comptime] plan: Plan,
) {
    let word = (CUBE_POS_X * comptime!(plan.units) + UNIT_POS) * comptime!(plan.words);
    let top = CUBE_POS_Y * comptime!(plan.rows);
    // Past the last word of a row nothing is computed.
    if word < pitch {
        match comptime!(plan.square.clone()) {
            Square::Sobel => sobel::<W, N>(source, out, word, top, width, height, pitch, plan),
            Square::Weights { .. } => convolve::<W, N>(source, out, word, top, width, height, pitch, plan),
        }
    }
}

/// The pixels of a row that a unit looks at.
#[cube]
#[allow(clippy::too_many_arguments)]
fn row_pixels<W: Numeric>(
    source: &Array<W>,
    pixels: &mut Array<f32>,
    word: u32,
    row: i32,
    width: u32,
    height: u32,
    pitch: u32,
    #[comptime] plan: Plan,
) {
    let samples = comptime!(plan.samples);
    let per_word = comptime!(samples.per_word());
    let left = comptime!(plan.radius.div_ceil(per_word));
    let skip = comptime!(left * per_word - plan.radius);
    let mut loaded = Array::<W>::new(1usize);
    #[unroll]
    for w in 0..comptime!((skip + plan.span()).div_ceil(per_word)) {
        let at = word as i32 + comptime!(w as i32 - left as i32);
        let column: Column = column(at, &raster(width, height, pitch), samples);
        load_rows::<W>(source, &mut loaded, row, &column, 0u32, 1u32, samples);
        #[unroll]
        for b in 0..per_word {
            let p = comptime!((w * per_word + b).wrapping_sub(skip));
            if comptime!(p < plan.span()) {
                if comptime!(matches!(samples, Samples::Floats)) {
                    pixels[comptime!(p as usize)] = f32::cast_from(loaded[0usize]);
                } else {
                    let bits = u32::cast_from(loaded[0usize]);
                    pixels[comptime!(p as usize)] = f32::cast_from((bits >> comptime!(8 * b)) & 255u32);
                }
            }
        }
    }
}

/// The words of a row of results.
#[cube]
fn words_of<W: Numeric>(pixels: &Array<f32>, words: &mut Array<W>, #[comptime] plan: Plan) {
    let (factor, half) = comptime!(plan.rounding());
    #[unroll]
    for w in 0..comptime!(plan.words) {
        if comptime!(matches!(plan.samples, Samples::Floats)) {
            words[comptime!(w as usize)] = W::cast_from(pixels[comptime!(w as usize)]);
        } else {
            let mut bytes = u32::new(0);
            #[unroll]
            for b in 0..4u32 {
                let mut value = pixels[comptime!((4 * w + b) as usize)];
                if comptime!(half > 0.0) {
                    value = value * f32::new(factor) + f32::new(half);
                }
                if comptime!(plan.is_signed()) {
                    value = max(value, f32::new(0.0));
                }
                // Not negative, so rounding towards 0 is rounding down.
                bytes += u32::cast_from(min(value, f32::new(255.0))) << comptime!(8 * b);
            }
            words[comptime!(w as usize)] = W::cast_from(bytes);
        }
    }
}

#[cube]
#[allow(clippy::too_many_arguments)]
fn sobel<W: Numeric, N: Size>(
    source: &Array<W>,
    out: &mut Array<Vector<W, N>>,
    word: u32,
    top: u32,
    width: u32,
    height: u32,
    pitch: u32,
    #[comptime] plan: Plan,
) {
    let span = comptime!(plan.span() as usize);
    let mut above = Array::<f32>::new(span);
    let mut row = Array::<f32>::new(span);
    let mut below = Array::<f32>::new(span);
    row_pixels::<W>(
        source,
        &mut above,
        word,
        top as i32 - 1i32,
        width,
        height,
        pitch,
        comptime!(plan.clone()),
    );
    row_pixels::<W>(
        source,
        &mut row,
        word,
        top as i32,
        width,
        height,
        pitch,
        comptime!(plan.clone()),
    );
    #[unroll]
    for k in 0..comptime!(plan.rows) {
        row_pixels::<W>(
            source,
            &mut below,
            word,
            (top + k) as i32 + 1i32,
            width,
            height,
            pitch,
            comptime!(plan.clone()),
        );
        let mut smooth = Array::<f32>::new(span);
        let mut slope = Array::<f32>::new(span);
        #[unroll]
        for p in 0..span {
            smooth[p] = above[p] + (row[p] + row[p]) + below[p];
            slope[p] = below[p] - above[p];
        }
        let mut edges = Array::<f32>::new(comptime!(plan.pixels() as usize));
        #[unroll]
        for p in 0..comptime!(plan.pixels() as usize) {
            let right = smooth[comptime!(p + 2)] - smooth[p];
            let down =
                slope[p] + (slope[comptime!(p + 1)] + slope[comptime!(p + 1)]) + slope[comptime!(p + 2)];
            edges[p] = f32::abs(right) + f32::abs(down);
        }
        let mut words = Array::<W>::new(comptime!(plan.words as usize));
        words_of::<W>(&edges, &mut words, comptime!(plan.clone()));
        store_run::<W, N>(
            out,
            &words,
            top + k,
            word,
            &raster(width, height, pitch),
            comptime!(plan.words),
            comptime!(plan.samples),
        );
        #[unroll]
        for p in 0..span {
            above[p] = row[p];
            row[p] = below[p];
        }
    }
}

#[cube]
#[allow(clippy::too_many_arguments)]
fn convolve<W: Numeric, N: Size>(
    source: &Array<W>,
    out: &mut Array<Vector<W, N>>,
    word: u32,
    top: u32,
    width: u32,
    height: u32,
    pitch: u32,
    #[comptime] plan: Plan,
) {
    let count = comptime!(plan.pixels());
    let mut sums = Array::<f32>::new(comptime!((plan.rows * count) as usize));
    #[unroll]
    for k in 0..comptime!(plan.rows * count) {
        sums[comptime!(k as usize)] = f32::new(0.0);
    }
    let mut pixels = Array::<f32>::new(comptime!(plan.span() as usize));
    #[unroll]
    for i in 0..comptime!(plan.rows + 2 * plan.radius) {
        let row = top as i32 + comptime!(i as i32 - plan.radius as i32);
        row_pixels::<W>(
            source,
            &mut pixels,
            word,
            row,
            width,
            height,
            pitch,
            comptime!(plan.clone()),
        );
        #[unroll]
        for k in 0..comptime!(plan.rows) {
            // Row `i` of those looked at is row `i - k` of the square around row `k`.
            if comptime!(i >= k && i - k < plan.side()) {
                #[unroll]
                for x in 0..comptime!(plan.side()) {
                    let weight = f32::new(comptime!(plan.weight(i - k, x)));
                    #[unroll]
                    for p in 0..count {
                        let s = comptime!((k * count + p) as usize);
                        sums[s] = sums[s] + pixels[comptime!((p + x) as usize)] * weight;
                    }
                }
            }
        }
    }
    #[unroll]
    for k in 0..comptime!(plan.rows) {
        let mut row = Array::<f32>::new(comptime!(count as usize));
        #[unroll]
        for p in 0..comptime!(count as usize) {
            row[p] = sums[comptime!(k as usize * count as usize + p)];
        }
        let mut words = Array::<W>::new(comptime!(plan.words as usize));
        words_of::<W>(&row, &mut words, comptime!(plan.clone()));
        store_run::<W, N>(
            out,
            &words,
            top + k,
            word,
            &raster(width, height, pitch),
            comptime!(plan.words),
            comptime!(plan.samples),
        );
    }
}
