//! The variants on the CPU.

use rayon::prelude::*;
use relief_numeric::bilateral::Level;
use relief_numeric::bilateral::cpu::{Filter, bilateral, grid_len};

use super::{Picture, Way};
use crate::array::{Array, Element, Kind};
use crate::family::{Failure, Outcome, Variant};

/// Types that pictures hold.
pub trait Sample: Level + Element + PartialEq {}

impl<T: Level + Element + PartialEq> Sample for T {}

/// By the picture's way, on one thread or on all.
fn run(picture: &Picture, image: &Array, output: &mut Array, threads: bool) -> Outcome {
    match picture.kind {
        Kind::U8 => rows::<u8>(picture, image.slice(), output.slice_mut(), threads),
        Kind::U16 => rows::<u16>(picture, image.slice(), output.slice_mut(), threads),
        _ => rows::<f32>(picture, image.slice(), output.slice_mut(), threads),
    }
}

/// The lab's pictures end in zeros from a row's last pixel to the next row.
fn rows<T: Sample>(picture: &Picture, image: &[T], output: &mut [T], threads: bool) -> Outcome {
    match picture.way {
        Way::Disc | Way::Separable => sums(picture, image, output, threads),
        Way::Grid => grid(picture, image, output, threads)?,
    }
    for row in output.chunks_mut(picture.pitch().max(1)) {
        row[picture.width..].fill(T::zeroed());
    }
    Ok(())
}

pub(super) fn variants(way: Way) -> Vec<Variant<Picture>> {
    let of = |name, idea, threads| {
        Variant::cpu(name, idea, move |p: &Picture, call| {
            run(p, &call.inputs[0], &mut call.outputs[0], threads)
        })
    };
    match way {
        Way::Disc | Way::Separable => vec![
            of("naive", "an exponential for each neighbour", false),
            of("threads naive", "the same, rows shared by all threads", true),
        ],
        Way::Grid => vec![
            of("one thread", "splat, blur and slice on one thread", false).source("32 ms (CPU)"),
            of(
                "threads production",
                "rows of cells and of pixels shared by all threads",
                true,
            )
            .production(),
        ],
    }
}

/// Sums over neighbours.
fn sums<T: Sample>(picture: &Picture, image: &[T], output: &mut [T], threads: bool) {
    if picture.width == 0 || picture.height == 0 {
        return;
    }
    let radius = picture.radius();
    let space = -0.5 / (picture.sigma as f32).powi(2);
    let range = -0.5 / (picture.range() as f32).powi(2);
    let weight =
        |square: i64, difference: f32| (square as f32 * space + difference * difference * range).exp();
    let (pitch, width, last) = (picture.pitch(), picture.width, picture.height as i64 - 1);
    let level = |x: i64, y: i64| {
        let x = x.clamp(0, width as i64 - 1) as usize;
        image[y.clamp(0, last) as usize * pitch + x].level() as f32
    };
    let square = || (-radius..=radius).flat_map(|dy| (-radius..=radius).map(move |dx| (dx, dy)));
    let disc: Vec<(i64, i64)> = square()
        .filter(|(dx, dy)| dx * dx + dy * dy <= radius * radius)
        .collect();
    match picture.way {
        Way::Separable => {
            let mut rows = vec![0.0_f32; width * picture.height];
            in_rows(threads, &mut rows, width, |y, row| {
                for (x, sample) in (0..).zip(row) {
                    let near = (-radius..=radius).map(|d| (d * d, level(x + d, y)));
                    *sample = mean(&weight, level(x, y), near);
                }
            });
            let at = |x: usize, y: i64| rows[y.clamp(0, last) as usize * width + x];
            in_rows(threads, output, pitch, |y, row| {
                for (x, sample) in row[..width].iter_mut().enumerate() {
                    let near = (-radius..=radius).map(|d| (d * d, at(x, y + d)));
                    *sample = T::from_level(mean(&weight, at(x, y), near));
                }
            });
        }
        _ => in_rows(threads, output, pitch, |y, row| {
            for (x, sample) in (0..).zip(&mut row[..width]) {
                let near = disc
                    .iter()
                    .map(|(dx, dy)| (dx * dx + dy * dy, level(x + dx, y + dy)));
                *sample = T::from_level(mean(&weight, level(x, y), near));
            }
        }),
    }
}

/// The mean of values at squared distances, seen from a pixel of value `middle`.
#[inline(always)]
fn mean(weight: &impl Fn(i64, f32) -> f32, middle: f32, near: impl Iterator<Item = (i64, f32)>) -> f32 {
    // rung: bilateral on cpu: naive
    let (mut sum, mut weights) = (0.0, 0.0);
    for (square, value) in near {
        let weight = weight(square, value - middle);
        sum += weight * value;
        weights += weight;
    }
    sum / weights
    // end
}

fn in_rows<T: Send>(threads: bool, output: &mut [T], pitch: usize, row: impl Fn(i64, &mut [T]) + Sync) {
    if threads {
        // rung: bilateral on cpu: threads naive
        let rows = output.par_chunks_mut(pitch).enumerate();
        rows.for_each(|(y, samples)| row(y as i64, samples));
    } else {
        // end
        for (y, samples) in output.chunks_mut(pitch).enumerate() {
            row(y as i64, samples);
        }
    }
}

/// The bilateral grid.
fn grid<T: Sample>(picture: &Picture, image: &[T], output: &mut [T], threads: bool) -> Outcome {
    let refused = |error: relief_numeric::bilateral::BilateralError| Failure::Unsupported(error.to_string());
    let filter = Filter::new::<T>(picture.job()).map_err(refused)?;
    let (len, row_len, pitch) = (grid_len(filter.cells()), filter.row_len(), picture.pitch());
    if !threads {
        let mut scratch = vec![0.0; 2 * len + row_len];
        let mut counts = vec![0; row_len];
        return bilateral(picture.job(), image, output, pitch, &mut scratch, &mut counts).map_err(refused);
    }
    if picture.width == 0 || picture.height == 0 {
        return Ok(());
    }
    let mut first = vec![0.0_f32; len];
    let rows = first.par_chunks_mut(row_len).enumerate();
    rows.for_each_init(
        || vec![0; row_len],
        |counts, (down, row)| filter.splat(image, pitch, down as u32, row, counts),
    );
    let mut second = vec![0.0_f32; len];
    let rows = second.par_chunks_mut(row_len).enumerate();
    rows.for_each_init(
        || vec![0.0; row_len],
        |scratch, (down, row)| filter.blur(&first, down as u32, row, scratch),
    );
    let rows = output.par_chunks_mut(pitch).enumerate();
    rows.for_each_init(
        || vec![0.0; row_len],
        |scratch, (y, row)| {
            let samples = &image[y * pitch..][..picture.width];
            filter.slice(&second, y as u32, samples, &mut row[..picture.width], scratch);
        },
    );
    Ok(())
}

// rung: bilateral on cpu: threads production = rows of cells and of pixels of `relief_numeric::bilateral::cpu`, shared by all threads

// rung: bilateral on cpu: one thread = the steps of `threads production`, one row after the other
