//! Textures on the CPU.

use relief_raster::{Sample, ViewMut};

use super::{Cells, MAX_OCTAVES, bits};
use crate::isa::{Isa, versions};

/// 1 in fixed point.
const ONE: i64 = 1 << 16;

/// Squares around one of which points count, along each axis.
const AROUND: i64 = 2;

/// Points that count.
const POINTS: usize = ((2 * AROUND + 1) * (2 * AROUND + 1)) as usize;

/// Words of scratch of [`perlin`] for so many columns.
#[must_use]
pub const fn perlin_words(columns: u64) -> u64 {
    // A sum, and a cell, a place and a fade.
    columns.saturating_mul(4)
}

/// Words of scratch of [`worley`] for so many columns.
#[must_use]
pub const fn worley_words(columns: u64) -> u64 {
    columns.saturating_mul(2)
}

/// Smooth noise of `octaves` octaves, from the pixel (x, y) ≥ 0 on.
///
/// # Panics
/// Where `scratch` has less than [`perlin_words`], or there are no or more than 8 octaves.
pub fn perlin<S: Sample>(
    seed: u64,
    [across, down]: &[Cells; 2],
    octaves: u32,
    (x, y): (i64, i64),
    mut out: ViewMut<'_, S>,
    scratch: &mut [u64],
) {
    assert!(
        (1..=MAX_OCTAVES).contains(&octaves),
        "{octaves} octaves, not 1 to {MAX_OCTAVES}"
    );
    let isa = Isa::best();
    let width = out.width();
    let scratch = bytemuck::cast_slice_mut::<u64, i64>(&mut scratch[..4 * width]);
    let (sums, columns) = scratch.split_at_mut(width);
    for row in 0..out.height() {
        sums.fill(0);
        for octave in 0..octaves {
            // The only octave keeps its columns for all rows.
            if octaves > 1 || row == 0 {
                for (i, column) in columns.chunks_exact_mut(3).enumerate() {
                    let (cell, part) = across.place(x + i as i64, octave);
                    column.copy_from_slice(&[cell, part, fade(part)]);
                }
            }
            let seed = seed.wrapping_add(octave.into());
            let (cell, part) = down.place(y + row as i64, octave);
            let (above, below) = (down.number(cell, octave), down.number(cell + 1, octave));
            let height = octaves - 1 - octave;
            let gradients = |column: i64| {
                let (left, right) = (across.number(column, octave), across.number(column + 1, octave));
                [(left, above), (right, above), (left, below), (right, below)]
                    .map(|(i, j)| gradient(seed, i, j))
            };
            // Columns of one cell share its gradients.
            let mut rest = 0..width;
            while let Some(first) = rest.next() {
                let cell = columns[3 * first];
                let end = (first + 1..width)
                    .find(|i| columns[3 * i] != cell)
                    .unwrap_or(width);
                add(
                    isa,
                    gradients(cell),
                    part,
                    height,
                    &columns[3 * first..3 * end],
                    &mut sums[first..end],
                );
                rest = end..width;
            }
        }
        let all = ONE * ((1 << octaves) - 1);
        round(isa, sums, all, out.row_mut(row));
    }
}

/// 6f⁵ − 15f⁴ + 10f³ of f / 2^16.
#[inline(always)]
fn fade(part: i64) -> i64 {
    let square = (part * part) >> 16;
    let cube = (square * part) >> 16;
    (cube * (6 * square - 15 * part + 10 * ONE)) >> 16
}

/// The gradient of a corner.
#[inline(always)]
fn gradient(seed: u64, i: u64, j: u64) -> (i64, i64) {
    const GRADIENTS: [(i64, i64); 8] = [
        (1, 0),
        (-1, 0),
        (0, 1),
        (0, -1),
        (1, 1),
        (-1, 1),
        (1, -1),
        (-1, -1),
    ];
    GRADIENTS[(bits(seed, i, j) >> 61) as usize]
}

versions! {
    /// Adds the noise of pixels of one cell, at `down` of its rows, times 2^`height`.
    fn add(gradients: [(i64, i64); 4], down: i64, height: u32, columns: &[i64], sums: &mut [i64]) {
        let fade_down = fade(down);
        let [a, b, c, d] = gradients;
        for (sum, column) in sums.iter_mut().zip(columns.chunks_exact(3)) {
            let (part, fade_across) = (column[1], column[2]);
            let dot = |(x, y): (i64, i64), right: i64, below: i64| x * (part - right) + y * (down - below);
            let between = |p: i64, q: i64, fade: i64| p + (((q - p) * fade) >> 16);
            let above = between(dot(a, 0, 0), dot(b, ONE, 0), fade_across);
            let below = between(dot(c, 0, ONE), dot(d, ONE, ONE), fade_across);
            *sum += between(above, below, fade_down) << height;
        }
    }
}

versions! {
    fn round<S: Sample>(sums: &[i64], all: i64, out: &mut [S]) {
        let max = i64::from(S::MAX.to_u16());
        for (out, sum) in out.iter_mut().zip(sums) {
            let rounded = (2 * (sum + all) * max + 2 * all).div_euclid(4 * all);
            *out = S::from_u16(rounded.clamp(0, max) as u16);
        }
    }
}

/// What a sample of cells is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// The distance of the nearest point.
    Nearest,
    /// That of the second nearest.
    Second,
    /// The difference of both.
    Edge,
    /// The sample of the nearest point.
    Cell,
}

/// Cells around random points, from the pixel (x, y) ≥ 0 on.
///
/// # Panics
/// Where `scratch` has less than [`worley_words`].
pub fn worley<S: Sample>(
    seed: u64,
    [across, down]: &[Cells; 2],
    of: Feature,
    (x, y): (i64, i64),
    mut out: ViewMut<'_, S>,
    scratch: &mut [u64],
) {
    let isa = Isa::best();
    let width = out.width();
    let columns = bytemuck::cast_slice_mut::<u64, i64>(&mut scratch[..2 * width]);
    for (i, column) in columns.chunks_exact_mut(2).enumerate() {
        let (cell, part) = across.place(x + i as i64, 0);
        column.copy_from_slice(&[cell, part]);
    }
    for row in 0..out.height() {
        let (cell, part) = down.place(y + row as i64, 0);
        let out = out.row_mut(row);
        let mut rest = 0..width;
        while let Some(first) = rest.next() {
            let column = columns[2 * first];
            let end = (first + 1..width)
                .find(|i| columns[2 * i] != column)
                .unwrap_or(width);
            // Where the points lie from the corner of the cell: across, squared down, and what they are.
            let mut points = [(0, 0, 0); POINTS];
            let squares = (-AROUND..=AROUND).flat_map(|j| (-AROUND..=AROUND).map(move |i| (i, j)));
            for (point, (i, j)) in points.iter_mut().zip(squares) {
                let bits = bits(seed, across.number(column + i, 0), down.number(cell + j, 0));
                let (right, below) = ((bits >> 48) as i64, ((bits >> 32) & 0xFFFF) as i64);
                let below = (j << 16) + below - part;
                *point = ((i << 16) + right, below * below, (bits & 0xFFFF) as u16);
            }
            cells(
                isa,
                &points,
                of,
                &columns[2 * first..2 * end],
                &mut out[first..end],
            );
            rest = end..width;
        }
    }
}

versions! {
    /// Samples of pixels of one square.
    fn cells<S: Sample>(points: &[(i64, i64, u16); POINTS], of: Feature, columns: &[i64], out: &mut [S]) {
        let max = i64::from(S::MAX.to_u16());
        for (out, column) in out.iter_mut().zip(columns.chunks_exact(2)) {
            let (mut nearest, mut second, mut which) = (i64::MAX, i64::MAX, 0);
            for (right, below, bits) in points {
                let right = right - column[1];
                let square = right * right + below;
                second = second.min(square.max(nearest));
                which = if square < nearest { *bits } else { which };
                nearest = nearest.min(square);
            }
            // Squares are below 2^37: their roots in binary64 do not round up to a whole number.
            let root = |square: i64| (square as f64).sqrt() as i64;
            let sample = |distance: i64| ((distance * max + (1 << 15)) >> 16).min(max) as u16;
            let value = match of {
                Feature::Nearest => sample(root(nearest)),
                Feature::Second => sample(root(second)),
                Feature::Edge => sample(root(second) - root(nearest)),
                Feature::Cell => which >> (16 - 8 * S::DEPTH.bytes() as u32),
            };
            *out = S::from_u16(value);
        }
    }
}
