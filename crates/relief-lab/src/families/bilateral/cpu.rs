//! The variants on the CPU.

use rayon::prelude::*;
use relief_numeric::bilateral::Level;
use relief_numeric::bilateral::cpu::{Filter, bilateral, grid_len};

use super::{Picture, Way};
use crate::array::{Array, Element, Kind};
use crate::family::{Failure, OnCpu, Outcome, Variant};

/// Types that pictures hold.
pub trait Sample: Level + Element + PartialEq {}

impl<T: Level + Element + PartialEq> Sample for T {}

/// A step that is written once for all types of samples.
trait Step {
    fn run<T: Sample>(&self, picture: &Picture, image: &[T], output: &mut [T]) -> Outcome;
}

fn variant(
    name: &'static str,
    idea: &'static str,
    step: impl Step + Send + Sync + 'static,
) -> Variant<Picture> {
    Variant::cpu(name, idea, move |p: &Picture, call: OnCpu<'_>| {
        run(&step, p, &call.inputs[0], &mut call.outputs[0])
    })
}

fn run(step: &impl Step, picture: &Picture, image: &Array, output: &mut Array) -> Outcome {
    match picture.kind {
        Kind::U8 => rows(step, picture, image.slice::<u8>(), output.slice_mut()),
        Kind::U16 => rows(step, picture, image.slice::<u16>(), output.slice_mut()),
        _ => rows(step, picture, image.slice::<f32>(), output.slice_mut()),
    }
}

/// The lab's pictures end in zeros from a row's last pixel to the next row.
fn rows<T: Sample>(step: &impl Step, picture: &Picture, image: &[T], output: &mut [T]) -> Outcome {
    step.run(picture, image, output)?;
    for row in output.chunks_mut(picture.pitch().max(1)) {
        row[picture.width..].fill(T::zeroed());
    }
    Ok(())
}

pub(super) fn variants(way: Way) -> Vec<Variant<Picture>> {
    match way {
        Way::Disc | Way::Separable => vec![
            variant(
                "naive",
                "an exponential for each neighbour",
                Sums { threads: false },
            ),
            variant(
                "threads naive",
                "the same, rows shared by all threads",
                Sums { threads: true },
            ),
        ],
        Way::Grid => vec![
            variant(
                "one thread",
                "splat, blur and slice on one thread",
                Grid { threads: false },
            )
            .source("32 ms (CPU)"),
            variant(
                "threads production",
                "rows of cells and of pixels shared by all threads",
                Grid { threads: true },
            )
            .production(),
        ],
    }
}

/// Sums over neighbours.
#[derive(Clone, Copy)]
struct Sums {
    threads: bool,
}

impl Step for Sums {
    fn run<T: Sample>(&self, picture: &Picture, image: &[T], output: &mut [T]) -> Outcome {
        if picture.width == 0 || picture.height == 0 {
            return Ok(());
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
                self.rows(&mut rows, width, |y, row| {
                    for (x, sample) in (0..).zip(row) {
                        let near = (-radius..=radius).map(|d| (d * d, level(x + d, y)));
                        *sample = mean(&weight, level(x, y), near);
                    }
                });
                let at = |x: usize, y: i64| rows[y.clamp(0, last) as usize * width + x];
                self.rows(output, pitch, |y, row| {
                    for (x, sample) in row[..width].iter_mut().enumerate() {
                        let near = (-radius..=radius).map(|d| (d * d, at(x, y + d)));
                        *sample = T::from_level(mean(&weight, at(x, y), near));
                    }
                });
            }
            _ => self.rows(output, pitch, |y, row| {
                for (x, sample) in (0..).zip(&mut row[..width]) {
                    let near = disc
                        .iter()
                        .map(|(dx, dy)| (dx * dx + dy * dy, level(x + dx, y + dy)));
                    *sample = T::from_level(mean(&weight, level(x, y), near));
                }
            }),
        }
        Ok(())
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

impl Sums {
    fn rows<T: Send>(&self, output: &mut [T], pitch: usize, row: impl Fn(i64, &mut [T]) + Sync) {
        if self.threads {
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
}

/// The bilateral grid.
struct Grid {
    threads: bool,
}

impl Step for Grid {
    fn run<T: Sample>(&self, picture: &Picture, image: &[T], output: &mut [T]) -> Outcome {
        let refused =
            |error: relief_numeric::bilateral::BilateralError| Failure::Unsupported(error.to_string());
        let filter = Filter::new::<T>(picture.job()).map_err(refused)?;
        let (len, row_len, pitch) = (grid_len(filter.cells()), filter.row_len(), picture.pitch());
        if !self.threads {
            let mut scratch = vec![0.0; 2 * len + row_len];
            let mut counts = vec![0; row_len];
            return bilateral(picture.job(), image, output, pitch, &mut scratch, &mut counts)
                .map_err(refused);
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
}

// rung: bilateral on cpu: threads production = rows of cells and of pixels of `relief_numeric::bilateral::cpu`, shared by all threads

// rung: bilateral on cpu: one thread = the steps of `threads production`, one row after the other
