//! Symmetric weights along the columns, then along the rows.
//!
//! 8 bits: with weights in 256ths a column's sum is at most 65 280, exact in 16 bits, where 32 or more lanes are computed at
//! once; a row's sum of those is below 2^24, exact in f32, where a multiply-add is one operation (32-bit integers would
//! take three).

use super::product::{Product, with_products};
use super::{Carver, Picture, Target};
use relief_kernels::isa::versions;

pub(super) fn filter_u8(
    source: Picture<'_, u8>,
    weights: &[u16],
    mut target: Target<'_, u8>,
    scratch: &mut [u64],
) {
    let (isa, reach) = (target.isa, weights.len() - 1);
    for tile in target.tiles(reach) {
        let mut carver = Carver::new(&mut *scratch);
        let row = carver.take::<f32>(tile.span());
        let held = carver.take(tile.columns);
        for y in target.rows.clone() {
            let at = |k: isize| tile.of(&source, y as isize + k);
            columns_u8(isa, &at, weights, &mut row[tile.within()]);
            tile.replicate(row);
            target.write(y, &tile, held, |out| {
                with_products!(rows_u8(isa, row, weights, out))
            });
        }
    }
}

pub(super) fn filter_f32(
    source: Picture<'_, f32>,
    weights: &[f32],
    mut target: Target<'_, f32>,
    scratch: &mut [u64],
) {
    let (isa, reach) = (target.isa, weights.len() - 1);
    for tile in target.tiles(reach) {
        let mut carver = Carver::new(&mut *scratch);
        let row = carver.take::<f32>(tile.span());
        let held = carver.take(tile.columns);
        for y in target.rows.clone() {
            let at = |k: isize| tile.of(&source, y as isize + k);
            columns_f32(isa, &at, weights, &mut row[tile.within()]);
            tile.replicate(row);
            target.write(y, &tile, held, |out| {
                with_products!(rows_f32(isa, row, weights, out))
            });
        }
    }
}

/// Columns that are summed in registers before they are stored.
const GROUP: usize = 64;

/// The samples of the rows around a row.
trait Rows<'a, T: 'a>: Fn(isize) -> &'a [T] {}
impl<'a, T: 'a, F: Fn(isize) -> &'a [T]> Rows<'a, T> for F {}

fn columns_u8<'a>(isa: relief_kernels::isa::Isa, at: &impl Rows<'a, u8>, weights: &[u16], out: &mut [f32]) {
    let mut rows: [(&[u8], &[u8]); 33] = [(&[], &[]); 33];
    let rows = &mut rows[..weights.len()];
    for (k, pair) in rows.iter_mut().enumerate() {
        *pair = (at(-(k as isize)), at(k as isize));
    }
    pairs_u8(isa, rows, weights, out);
}

versions! {
    fn pairs_u8(rows: &[(&[u8], &[u8])], weights: &[u16], out: &mut [f32]) {
        let middle = rows[0].0;
        let groups = out.len() / GROUP;
        for group in 0..groups {
            let start = group * GROUP;
            let mut sums = [0_u16; GROUP];
            for (sum, sample) in sums.iter_mut().zip(&middle[start..start + GROUP]) {
                *sum = u16::from(*sample) * weights[0];
            }
            for ((above, below), weight) in rows.iter().zip(weights).skip(1) {
                let (above, below) = (&above[start..start + GROUP], &below[start..start + GROUP]);
                for ((sum, above), below) in sums.iter_mut().zip(above).zip(below) {
                    *sum += (u16::from(*above) + u16::from(*below)) * weight;
                }
            }
            for (out, sum) in out[start..start + GROUP].iter_mut().zip(&sums) {
                *out = f32::from(*sum);
            }
        }
        for x in groups * GROUP..out.len() {
            let pairs = rows.iter().zip(weights).skip(1);
            let pairs = pairs.map(|((above, below), weight)| (u16::from(above[x]) + u16::from(below[x])) * weight);
            out[x] = f32::from(u16::from(middle[x]) * weights[0] + pairs.sum::<u16>());
        }
    }
}

versions! {
    #[allow(clippy::needless_range_loop)]
    fn rows_u8<M: Product>(row: &[f32], weights: &[u16], out: &mut [u8]) {
        let reach = weights.len() - 1;
        let mut real = [0.0_f32; 33];
        for (real, weight) in real.iter_mut().zip(weights) {
            *real = f32::from(*weight);
        }
        let (groups, rest) = out.as_chunks_mut::<GROUP>();
        for (group, out) in groups.iter_mut().enumerate() {
            let start = group * GROUP;
            let sums = weighted::<M, GROUP>(&row[start..], &real[..=reach]);
            for (out, sum) in out.iter_mut().zip(&sums) {
                *out = rounded(*sum);
            }
        }
        let start = groups.len() * GROUP;
        for (x, out) in rest.iter_mut().enumerate() {
            let [sum] = weighted::<M, 1>(&row[start + x..], &real[..=reach]);
            *out = rounded(sum);
        }
    }
}

versions! {
    fn rows_f32<M: Product>(row: &[f32], weights: &[f32], out: &mut [f32]) {
        let (groups, rest) = out.as_chunks_mut::<GROUP>();
        for (group, out) in groups.iter_mut().enumerate() {
            *out = weighted::<M, GROUP>(&row[group * GROUP..], weights);
        }
        let start = groups.len() * GROUP;
        for (x, out) in rest.iter_mut().enumerate() {
            [*out] = weighted::<M, 1>(&row[start + x..], weights);
        }
    }
}

/// Σ w(|k|) · row(i + reach + k), for i < N.
#[inline(always)]
fn weighted<M: Product, const N: usize>(row: &[f32], weights: &[f32]) -> [f32; N] {
    let reach = weights.len() - 1;
    let mut sums = [0.0; N];
    for (sum, sample) in sums.iter_mut().zip(&row[reach..reach + N]) {
        *sum = sample * weights[0];
    }
    for (k, weight) in weights.iter().enumerate().skip(1) {
        let (left, right) = (&row[reach - k..reach - k + N], &row[reach + k..reach + k + N]);
        for ((sum, left), right) in sums.iter_mut().zip(left).zip(right) {
            *sum = M::plus(left + right, *weight, *sum);
        }
    }
    sums
}

/// A sum in 65 536ths, to the nearest, half-way upwards.
#[inline(always)]
#[allow(unsafe_code)]
fn rounded(sum: f32) -> u8 {
    let real = (sum + 32_768.0) * (1.0 / 65_536.0);
    // SAFETY: not negative and at most 255.5: the sum is at most 255 · 65 536.
    unsafe { real.to_int_unchecked::<i32>() as u8 }
}

fn columns_f32<'a>(isa: relief_kernels::isa::Isa, at: &impl Rows<'a, f32>, weights: &[f32], out: &mut [f32]) {
    let mut rows: [(&[f32], &[f32]); 33] = [(&[], &[]); 33];
    let rows = &mut rows[..weights.len()];
    for (k, pair) in rows.iter_mut().enumerate() {
        *pair = (at(-(k as isize)), at(k as isize));
    }
    with_products!(pairs_f32(isa, rows, weights, out));
}

versions! {
    fn pairs_f32<M: Product>(rows: &[(&[f32], &[f32])], weights: &[f32], out: &mut [f32]) {
        let middle = rows[0].0;
        let groups = out.len() / GROUP;
        for group in 0..groups {
            let start = group * GROUP;
            let mut sums = [0.0_f32; GROUP];
            for (sum, sample) in sums.iter_mut().zip(&middle[start..start + GROUP]) {
                *sum = sample * weights[0];
            }
            for ((above, below), weight) in rows.iter().zip(weights).skip(1) {
                let (above, below) = (&above[start..start + GROUP], &below[start..start + GROUP]);
                for ((sum, above), below) in sums.iter_mut().zip(above).zip(below) {
                    *sum = M::plus(above + below, *weight, *sum);
                }
            }
            out[start..start + GROUP].copy_from_slice(&sums);
        }
        for x in groups * GROUP..out.len() {
            let mut sum = middle[x] * weights[0];
            for ((above, below), weight) in rows.iter().zip(weights).skip(1) {
                sum = M::plus(above[x] + below[x], *weight, sum);
            }
            out[x] = sum;
        }
    }
}
