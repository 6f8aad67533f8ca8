//! Filters that look at a small square at once: Sobel's, and convolutions.

use super::{Carver, Picture, Target};
use crate::isa::versions;
use crate::stencil::Mask;

pub(super) fn sobel_u8(source: Picture<'_, u8>, mut target: Target<'_, u8>, scratch: &mut [u64]) {
    let isa = target.isa;
    for tile in target.tiles(1) {
        let mut carver = Carver(&mut *scratch);
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
        let mut carver = Carver(&mut *scratch);
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

pub(super) fn convolve_u8(
    source: Picture<'_, u8>,
    mask: &Mask,
    mut target: Target<'_, u8>,
    scratch: &mut [u64],
) {
    let (isa, reach) = (target.isa, mask.radius as usize);
    for tile in target.tiles(reach) {
        let mut carver = Carver(&mut *scratch);
        let row = carver.take::<u8>(tile.span());
        let sums = carver.take::<i32>(tile.columns);
        let held = carver.take(tile.columns);
        for y in target.rows.clone() {
            sums.fill((1 << mask.shift) >> 1);
            for (k, weights) in mask.weights.chunks_exact(2 * reach + 1).enumerate() {
                row[tile.within()].copy_from_slice(tile.of(&source, (y + k) as isize - reach as isize));
                tile.replicate(row);
                add_u8(isa, row, weights, sums);
            }
            target.write(y, &tile, held, |out| clamp(isa, sums, mask.shift, out));
        }
    }
}

/// Columns whose sums stay in registers.
const GROUP: usize = 64;

versions! {
    fn add_u8(row: &[u8], weights: &[i16], sums: &mut [i32]) {
        let (groups, rest) = sums.as_chunks_mut::<GROUP>();
        for (group, sums) in groups.iter_mut().enumerate() {
            let mut held = *sums;
            for (k, weight) in weights.iter().enumerate() {
                let row = &row[group * GROUP + k..][..GROUP];
                for (sum, sample) in held.iter_mut().zip(row) {
                    *sum += i32::from(*sample) * i32::from(*weight);
                }
            }
            *sums = held;
        }
        let start = groups.len() * GROUP;
        for (x, sum) in rest.iter_mut().enumerate() {
            for (sample, weight) in row[start + x..].iter().zip(weights) {
                *sum += i32::from(*sample) * i32::from(*weight);
            }
        }
    }
}

versions! {
    fn clamp(sums: &[i32], shift: u32, out: &mut [u8]) {
        for (sum, out) in sums.iter().zip(out) {
            *out = (sum >> shift).clamp(0, 255) as u8;
        }
    }
}

pub(super) fn convolve_f32(
    source: Picture<'_, f32>,
    mask: &Mask,
    mut target: Target<'_, f32>,
    scratch: &mut [u64],
) {
    let (isa, reach) = (target.isa, mask.radius as usize);
    let scale = 1.0 / (1_u32 << mask.shift) as f32;
    for tile in target.tiles(reach) {
        let mut carver = Carver(&mut *scratch);
        let row = carver.take::<f32>(tile.span());
        let sums = carver.take::<f32>(tile.columns);
        let held = carver.take(tile.columns);
        for y in target.rows.clone() {
            sums.fill(0.0);
            for (k, weights) in mask.weights.chunks_exact(2 * reach + 1).enumerate() {
                row[tile.within()].copy_from_slice(tile.of(&source, (y + k) as isize - reach as isize));
                tile.replicate(row);
                add_f32(isa, row, weights, scale, sums);
            }
            target.write(y, &tile, held, |out| out.copy_from_slice(sums));
        }
    }
}

versions! {
    fn add_f32(row: &[f32], weights: &[i16], scale: f32, sums: &mut [f32]) {
        let (groups, rest) = sums.as_chunks_mut::<GROUP>();
        for (group, sums) in groups.iter_mut().enumerate() {
            let mut held = *sums;
            for (k, weight) in weights.iter().enumerate() {
                let row = &row[group * GROUP + k..][..GROUP];
                let weight = f32::from(*weight) * scale;
                for (sum, sample) in held.iter_mut().zip(row) {
                    *sum += sample * weight;
                }
            }
            *sums = held;
        }
        let start = groups.len() * GROUP;
        for (x, sum) in rest.iter_mut().enumerate() {
            for (sample, weight) in row[start + x..].iter().zip(weights) {
                *sum += sample * (f32::from(*weight) * scale);
            }
        }
    }
}
