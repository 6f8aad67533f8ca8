//! Filters that look at a small square at once: Sobel's, and convolutions.

use super::product::{Product, with_products};
use super::{Carver, Picture, Target, Tile};
use crate::stencil::{MAX_MASK_RADIUS, Mask};
use relief_kernels::isa::versions;

pub(super) fn sobel_u8(source: Picture<'_, u8>, mut target: Target<'_, u8>, scratch: &mut [u64]) {
    let isa = target.isa;
    for tile in target.tiles(1) {
        let mut carver = Carver::new(&mut *scratch);
        let smooth = carver.take::<i16>(tile.span());
        let slope = carver.take::<i16>(tile.span());
        let held = carver.take(tile.columns);
        for y in target.rows.clone() {
            let at = |k: isize| tile.of(&source, y as isize + k);
            let within = tile.within();
            down_u8(
                isa,
                at(-1),
                at(0),
                at(1),
                &mut smooth[within.clone()],
                &mut slope[within],
            );
            tile.replicate(smooth);
            tile.replicate(slope);
            target.write(y, &tile, held, |out| across_i16(isa, smooth, slope, out));
        }
    }
}

versions! {
    fn down_u8(above: &[u8], row: &[u8], below: &[u8], smooth: &mut [i16], slope: &mut [i16]) {
        for ((((above, row), below), smooth), slope) in above.iter().zip(row).zip(below).zip(smooth).zip(slope) {
            let (above, row, below) = (i16::from(*above), i16::from(*row), i16::from(*below));
            *smooth = above + 2 * row + below;
            *slope = below - above;
        }
    }
}

versions! {
    fn across_i16(smooth: &[i16], slope: &[i16], out: &mut [u8]) {
        let smooth = smooth.iter().zip(&smooth[2..]);
        let slope = slope.iter().zip(&slope[1..]).zip(&slope[2..]);
        for (((left, right), ((a, b), c)), out) in smooth.zip(slope).zip(out) {
            *out = ((right - left).abs() + (a + 2 * b + c).abs()).min(255) as u8;
        }
    }
}

pub(super) fn sobel_f32(source: Picture<'_, f32>, mut target: Target<'_, f32>, scratch: &mut [u64]) {
    let isa = target.isa;
    for tile in target.tiles(1) {
        let mut carver = Carver::new(&mut *scratch);
        let smooth = carver.take::<f32>(tile.span());
        let slope = carver.take::<f32>(tile.span());
        let held = carver.take(tile.columns);
        for y in target.rows.clone() {
            let at = |k: isize| tile.of(&source, y as isize + k);
            let within = tile.within();
            down_f32(
                isa,
                at(-1),
                at(0),
                at(1),
                &mut smooth[within.clone()],
                &mut slope[within],
            );
            tile.replicate(smooth);
            tile.replicate(slope);
            target.write(y, &tile, held, |out| across_f32(isa, smooth, slope, out));
        }
    }
}

versions! {
    fn down_f32(above: &[f32], row: &[f32], below: &[f32], smooth: &mut [f32], slope: &mut [f32]) {
        for ((((above, row), below), smooth), slope) in above.iter().zip(row).zip(below).zip(smooth).zip(slope) {
            *smooth = above + 2.0 * row + below;
            *slope = below - above;
        }
    }
}

versions! {
    fn across_f32(smooth: &[f32], slope: &[f32], out: &mut [f32]) {
        let smooth = smooth.iter().zip(&smooth[2..]);
        let slope = slope.iter().zip(&slope[1..]).zip(&slope[2..]);
        for (((left, right), ((a, b), c)), out) in smooth.zip(slope).zip(out) {
            *out = (right - left).abs() + (a + 2.0 * b + c).abs();
        }
    }
}

/// In f32, where sums of 8-bit samples are exact, and whose multiplications are faster than those of integers.
pub(super) fn convolve_u8(
    source: Picture<'_, u8>,
    mask: &Mask,
    mut target: Target<'_, u8>,
    scratch: &mut [u64],
) {
    let isa = target.isa;
    let weights: Vec<f32> = mask.weights.iter().map(|weight| f32::from(*weight)).collect();
    for tile in target.tiles(mask.radius as usize) {
        let mut carver = Carver::new(&mut *scratch);
        let mut window = Window::new(tile, mask, &mut carver);
        let sums = carver.take::<f32>(tile.columns);
        let held = carver.take(tile.columns);
        for y in target.rows.clone() {
            let rows = window.down_to(y, |y, row| widen(isa, tile.of(&source, y), row));
            with_products!(weighted(isa, &rows, &weights, sums));
            target.write(y, &tile, held, |out| shorten(isa, sums, mask.shift, out));
        }
    }
}

pub(super) fn convolve_f32(
    source: Picture<'_, f32>,
    mask: &Mask,
    mut target: Target<'_, f32>,
    scratch: &mut [u64],
) {
    let isa = target.isa;
    let scale = 1.0 / (1_u32 << mask.shift) as f32;
    let weights: Vec<f32> = mask
        .weights
        .iter()
        .map(|weight| f32::from(*weight) * scale)
        .collect();
    for tile in target.tiles(mask.radius as usize) {
        let mut carver = Carver::new(&mut *scratch);
        let mut window = Window::new(tile, mask, &mut carver);
        let held = carver.take(tile.columns);
        for y in target.rows.clone() {
            let rows = window.down_to(y, |y, row| row.copy_from_slice(tile.of(&source, y)));
            target.write(y, &tile, held, |out| {
                with_products!(weighted(isa, &rows, &weights, out))
            });
        }
    }
}

/// The most rows of a square.
const MOST: usize = 2 * MAX_MASK_RADIUS as usize + 1;

/// The rows of a tile that the squares of a row cover, with what lies outside of the picture.
struct Window<'s> {
    tile: Tile,
    rows: &'s mut [f32],
    side: usize,
    /// The next row that enters; none has yet where there is none.
    next: Option<usize>,
}

impl<'s> Window<'s> {
    fn new(tile: Tile, mask: &Mask, carver: &mut Carver<'s>) -> Self {
        let side = 2 * mask.radius as usize + 1;
        Self {
            tile,
            rows: carver.take(tile.span() * side),
            side,
            next: None,
        }
    }

    /// The rows around row `y`, from the top; `load` fills what lies inside of the picture. Rows follow one another.
    fn down_to(&mut self, y: usize, load: impl Fn(isize, &mut [f32])) -> [&[f32]; MOST] {
        let (side, span) = (self.side, self.tile.span());
        // Row `place` − radius of the picture is row `place` % side of the window.
        for place in self.next.unwrap_or(y)..y + side {
            let row = &mut self.rows[place % side * span..][..span];
            load(place as isize - (side / 2) as isize, &mut row[self.tile.within()]);
            self.tile.replicate(row);
        }
        self.next = Some(y + side);
        let mut rows: [&[f32]; MOST] = [&[]; MOST];
        for (k, row) in rows[..side].iter_mut().enumerate() {
            *row = &self.rows[(y + k) % side * span..][..span];
        }
        rows
    }
}

/// Columns whose sums stay in registers.
const GROUP: usize = 64;

versions! {
    /// As many rows as there are weights of a row, and others that do not count.
    fn weighted<M: Product>(rows: &[&[f32]], weights: &[f32], out: &mut [f32]) {
        let side = weights.len().isqrt();
        let squares = || rows.iter().zip(weights.chunks_exact(side));
        let (groups, rest) = out.as_chunks_mut::<GROUP>();
        for (group, out) in groups.iter_mut().enumerate() {
            let mut sums = [0.0; GROUP];
            for (row, weights) in squares() {
                for (k, weight) in weights.iter().enumerate() {
                    let row = &row[group * GROUP + k..][..GROUP];
                    for (sum, sample) in sums.iter_mut().zip(row) {
                        *sum = M::plus(*sample, *weight, *sum);
                    }
                }
            }
            *out = sums;
        }
        let start = groups.len() * GROUP;
        for (x, out) in rest.iter_mut().enumerate() {
            *out = 0.0;
            for (row, weights) in squares() {
                for (sample, weight) in row[start + x..].iter().zip(weights) {
                    *out = M::plus(*sample, *weight, *out);
                }
            }
        }
    }
}

versions! {
    fn widen(samples: &[u8], row: &mut [f32]) {
        for (sample, out) in samples.iter().zip(row) {
            *out = f32::from(*sample);
        }
    }
}

versions! {
    #[allow(unsafe_code)]
    fn shorten(sums: &[f32], shift: u32, out: &mut [u8]) {
        let half = (1_i32 << shift) >> 1;
        for (sum, out) in sums.iter().zip(out) {
            // SAFETY: a whole number below 2^24, of either sign: weights sum to at most 65 535.
            let sum = unsafe { sum.to_int_unchecked::<i32>() };
            *out = ((sum + half) >> shift).clamp(0, 255) as u8;
        }
    }
}
