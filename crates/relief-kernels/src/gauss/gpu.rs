//! The weighted mean on a device: along the columns into sums of 32 bits, then along the rows.
//!
//! Both steps take four results along their axis at once, so that every sample is loaded once for four of them, and a weight once for four
//! samples; the weights are padded with zeros, so that the first and the last samples of the four need no case of their own.
//!
//! 1. *Down*: Σ w(j) · v over the 2R + 1 rows around each row, at most 65 535 · 2^16, which 32 bits hold. A sum has a place for each column
//!    that the rows read, those beyond the border included: what counts there is looked up here, once for a column and once for a row.
//! 2. *Across*: the upper and the lower 16 bits of these sums are weighted apart, as on the CPU, so that integers of 64 bits, which not every
//!    device has, are not needed. What they make together is at most 2^32 − 2^16 in units of 2^-16; with the half it still fits.
//!
//! A band is computed in parts of so many rows that their sums take 64 MiB, however high it is.

use cubecl::prelude::*;
use relief_raster::Rect;

use super::{Bell, MAX_RADIUS};
use crate::device::{Buffer, DeviceError, Gpu, Operand, cover, launch};
use crate::edge::Edge;
use crate::edge::gpu::{
    COLUMNS, LINES, MOST_SIDE, PLANE, Places, check_band, numbers, place, sample_at, word_at,
};
use crate::fused::Plane;
use crate::fused::packed::ones;
use crate::fused::shape::per_word;

/// The weights of a [`Bell`] on a device.
#[derive(Clone, Debug)]
pub struct Weights {
    buffer: Buffer,
    radius: u32,
}

impl Weights {
    /// Uploads the weights.
    ///
    /// # Errors
    /// Where they do not fit the device.
    pub fn upload(gpu: &Gpu, bell: &Bell) -> Result<Self, DeviceError> {
        // At most MAX_RADIUS, as every bell.
        let radius = bell.radius() as u32;
        let mut words = vec![0; Self::words(radius) as usize];
        let sides = bell.half().iter().skip(1);
        let all = sides.clone().rev().chain(bell.half()).copied();
        for (word, weight) in words.iter_mut().skip(PADDING as usize).zip(all) {
            *word = weight;
        }
        Ok(Self {
            buffer: gpu.upload(&words)?,
            radius,
        })
    }

    /// The words of device memory that [`upload`](Self::upload) takes.
    #[must_use]
    pub fn words(radius: u32) -> u64 {
        4 * u64::from(steps(radius)) + 4
    }

    /// How far it looks, in pixels.
    #[must_use]
    pub const fn radius(&self) -> u32 {
        self.radius
    }
}

/// Results along an axis that a unit computes at once.
const RUN: u32 = 4;

/// Zeros before the first weight.
const PADDING: u32 = RUN - 1;

/// Vectors of four sums that four results read.
const fn steps(radius: u32) -> u32 {
    (2 * radius + PADDING) / 4 + 1
}

/// Words of sums for which a part of a band is cut.
const SUMS: u64 = 1 << 24;

/// The most rows of a part: as many cubes as every device takes.
const MOST_ROWS: u64 = 1 << 16;

/// Units of a cube, along rows and along columns.
const CUBE: (u32, u32) = (64, 4);

/// Vectors of sums of a row of this width.
fn vectors(width: u64, radius: u32) -> u64 {
    width.div_ceil(4) + u64::from(steps(radius)) - 1
}

/// The most words of its memory that [`render`] takes of a device besides source, weights and output; no more where both sides are no
/// longer. `None` where the sizes exceed 32 bits.
#[must_use]
pub fn scratch_words(width: u64, height: u64, radius: u32) -> Option<u64> {
    if width >= MOST_SIDE || height >= MOST_SIDE || radius as usize > MAX_RADIUS {
        return None;
    }
    let row = 4 * vectors(width, radius);
    let most = SUMS.max(row * u64::from(RUN));
    Some(row.checked_mul(height)?.min(most))
}

/// Rows of a part of a band whose rows of sums have so many vectors.
fn rows_of_part(vectors: u64, height: u64) -> u64 {
    (SUMS / (4 * vectors))
        .clamp(u64::from(RUN), MOST_ROWS)
        .min(height)
}

/// Renders the pixels of `band` into the rows of `output`, `pitch` words apart; `pitch` is a multiple of 4. The filter has `size` columns
/// and rows from (0, 0) on, and the band lies in them. The source's top-left lies at `place` in the same coordinates: within the filter it is 0
/// where it is not, and beyond the filter `edge` says what counts. `scratch` is memory for what lies between the steps, [`scratch_words`]
/// of it; without it, and where it is too short, memory is taken for this call.
///
/// # Errors
/// Where the device fails, where the band does not fit `output` or lies beyond the filter, and where a side of it or of the source has
/// 2^29 pixels or more.
#[allow(clippy::too_many_arguments)]
pub fn render(
    gpu: &Gpu,
    scratch: Option<&Buffer>,
    source: &Plane,
    place: (i64, i64),
    size: (u64, u64),
    edge: Edge,
    weights: &Weights,
    band: Rect,
    output: &Buffer,
    pitch: u32,
) -> Result<(), DeviceError> {
    if band.is_empty() {
        return Ok(());
    }
    crate::fused::check_output(gpu, source.depth(), band, output, pitch)?;
    check_band(gpu, band, size)?;
    let sides = [
        u64::from(source.width()),
        source.height().into(),
        band.width(),
        band.height(),
    ];
    let radius = weights.radius;
    let row = vectors(band.width(), radius);
    for side in sides {
        gpu.at_most("pixels of a side at once", MOST_SIDE - 1, side)?;
    }
    gpu.at_most("cubes of a row", 65_535_u32, row.div_ceil(CUBE.0.into()))?;
    let rows = rows_of_part(row, band.height());
    // Both are below 2^31, see `scratch_words`.
    let words = (4 * row * rows) as usize;
    let given = scratch.and_then(|scratch| scratch.part(0, words.max(4)));
    let sums = given.map_or_else(|| gpu.buffer(words), Ok)?;
    let source_operand = Operand::read("the source", source.buffer());
    let weights_operand = Operand::read("the weights", &weights.buffer);
    let sums_operand = Operand::write("sums of columns", &sums);
    // The source is read again after the first rows are written.
    gpu.check_memory(&[
        source_operand,
        weights_operand,
        sums_operand,
        Operand::write("the output", output),
    ])?;
    let columns = Places::new(place.0, source.width(), size.0, band.x(), band.width(), radius);
    let lines = Places::new(place.1, source.height(), size.1, band.y(), band.height(), radius);
    let bits = source.depth().bits();
    let mut done = 0;
    while done < band.height() {
        let vectors = row as u32;
        let quads = band.width().div_ceil(4) as u32;
        let rows = (band.height() - done).min(rows) as u32;
        let numbers = numbers(source, columns, lines);
        let blocks = rows.div_ceil(RUN);
        // SAFETY: rows and words of the source are clamped to those of its plane, which `Plane` has checked to lie in its buffer; the weights
        // have as many words as are read for 2R + 4 rows; rows of sums are compared with those that there is memory for.
        launch!(
            gpu, "gauss: down", &(bits, edge), &[source_operand, weights_operand, sums_operand],
            cover((vectors, blocks), CUBE),
            unsafe down(
                4, source.buffer().array(1), weights.buffer.array(1), numbers.iter().copied().collect(),
                sums.array(4), vectors, rows, done as u32, 2 * weights.radius + RUN,
                bits, edge))?;
        let output_of = match done {
            0 => Operand::write,
            // The first rows were written before.
            _ => Operand::update,
        };
        // SAFETY: a row of sums has as many vectors as its last run of results reads, and the weights one more; runs of results lie in rows of
        // the output, which was checked to hold them.
        launch!(
            gpu, "gauss: across", &bits,
            &[Operand::read("sums of columns", &sums), weights_operand, output_of("the output", output)],
            cover((quads, rows), CUBE),
            unsafe across(
                4, sums.array(4), weights.buffer.array(4), output.array(1), vectors,
                quads, rows, done as u32 * pitch, pitch, steps(weights.radius),
                bits))?;
        done += u64::from(rows);
    }
    Ok(())
}

/// The weighted sums of four columns of four rows.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn down<N: Size>(
    source: &Array<u32>,
    weights: &Array<u32>,
    numbers: &Sequence<u32>,
    sums: &mut Array<Vector<u32, N>>,
    vectors: u32,
    rows: u32,
    done: u32,
    taps: u32,
    #[comptime] bits: u32,
    #[comptime] edge: Edge,
) {
    let column = ABSOLUTE_POS_X;
    let top = ABSOLUTE_POS_Y * RUN;
    if column < vectors && top < rows {
        let at = column * 4u32;
        // Four neighbours within the filter are neighbours in the plane.
        let together = at >= *numbers.index(comptime!(COLUMNS + 3))
            && at + 4u32 <= *numbers.index(comptime!(COLUMNS + 4));
        let mut columns = Array::<u32>::new(4usize);
        #[unroll]
        for k in 0..4usize {
            columns[k] = place(numbers, at + k as u32, COLUMNS, edge);
        }
        let mut totals = Array::<u32>::new(16usize);
        #[unroll]
        for k in 0..16usize {
            totals[k] = 0u32;
        }
        let mut recent = Array::<u32>::new(4usize);
        #[unroll]
        for k in 0..4usize {
            recent[k] = 0u32;
        }
        let height = *numbers.index(comptime!(PLANE + 3));
        let mut tap = u32::new(0);
        while tap < taps {
            #[unroll]
            for k in 0..3usize {
                recent[comptime!(3 - k)] = recent[comptime!(2 - k)];
            }
            recent[0] = weights[(tap + PADDING) as usize];
            let row = place(numbers, done + top + tap, LINES, edge);
            if row < height {
                let start = *numbers.index(PLANE) + row * *numbers.index(comptime!(PLANE + 1));
                let mut samples = Array::<u32>::new(4usize);
                if together {
                    four(source, numbers, start, columns[0], &mut samples, bits);
                } else {
                    one_by_one(source, numbers, start, &columns, &mut samples, bits);
                }
                #[unroll]
                for r in 0..4usize {
                    #[unroll]
                    for k in 0..4usize {
                        totals[comptime!(4 * r + k)] += recent[r] * samples[k];
                    }
                }
            }
            tap += 1u32;
        }
        #[unroll]
        for r in 0..4usize {
            let row = top + r as u32;
            if row < rows {
                let mut result = Vector::<u32, N>::empty();
                #[unroll]
                for k in 0..4usize {
                    result[k] = totals[comptime!(4 * r + k)];
                }
                sums[(row * vectors + column) as usize] = result;
            }
        }
    }
}

/// Four neighbours of the row that begins at word `start`, 0 outside of the plane.
#[cube]
fn four(
    source: &Array<u32>,
    numbers: &Sequence<u32>,
    start: u32,
    column: u32,
    samples: &mut Array<u32>,
    #[comptime] bits: u32,
) {
    let lanes = comptime!(per_word(bits));
    #[unroll]
    for j in 0..comptime!(4 / lanes) {
        let both = word_at(source, numbers, start, column + comptime!(j * lanes), bits);
        #[unroll]
        for l in 0..lanes {
            samples[comptime!((j * lanes + l) as usize)] =
                (both >> comptime!(l * bits)) & comptime!(ones(bits));
        }
    }
}

/// Four samples of the row that begins at word `start`, 0 outside of the plane.
#[cube]
fn one_by_one(
    source: &Array<u32>,
    numbers: &Sequence<u32>,
    start: u32,
    columns: &Array<u32>,
    samples: &mut Array<u32>,
    #[comptime] bits: u32,
) {
    #[unroll]
    for k in 0..4usize {
        samples[k] = sample_at(source, numbers, start, columns[k], bits);
    }
}

/// The weighted sums of four neighbours across, rounded: ⌊(S + 2^31) / 2^32⌋ with S = `above` · 2^16 + `below`.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn across<N: Size>(
    sums: &Array<Vector<u32, N>>,
    weights: &Array<Vector<u32, N>>,
    output: &mut Array<u32>,
    vectors: u32,
    quads: u32,
    rows: u32,
    offset: u32,
    pitch: u32,
    steps: u32,
    #[comptime] bits: u32,
) {
    let quad = ABSOLUTE_POS_X;
    let y = ABSOLUTE_POS_Y;
    if quad < quads && y < rows {
        let mut above = Array::<u32>::new(4usize);
        let mut below = Array::<u32>::new(4usize);
        #[unroll]
        for k in 0..4usize {
            above[k] = 0u32;
            below[k] = 0u32;
        }
        let from = y * vectors + quad;
        let mut before = weights[0];
        let mut step = u32::new(0);
        while step < steps {
            let after = weights[(step + 1u32) as usize];
            let four = sums[(from + step) as usize];
            #[unroll]
            for i in 0..4usize {
                let sum = four[i];
                let (high, low) = (sum >> 16u32, sum & 0xffffu32);
                #[unroll]
                for k in 0..4usize {
                    // The weight of result k for sum 4 · step + i.
                    let weight = if comptime!(i < k + 1) {
                        before[comptime!(i + 3 - k)]
                    } else {
                        after[comptime!((i + 3 - k) % 4)]
                    };
                    above[k] += weight * high;
                    below[k] += weight * low;
                }
            }
            before = after;
            step += 1u32;
        }
        let lanes = comptime!(per_word(bits));
        let place = offset + y * pitch + quad * comptime!(4 / lanes);
        #[unroll]
        for j in 0..comptime!(4 / lanes) {
            let mut word = u32::new(0);
            #[unroll]
            for l in 0..lanes {
                let k = comptime!((j * lanes + l) as usize);
                let rounded = (above[k] + (below[k] >> 16u32) + 0x8000u32) >> 16u32;
                word |= rounded << comptime!(l * bits);
            }
            output[(place + j) as usize] = word;
        }
    }
}
