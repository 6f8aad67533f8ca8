//! Bilateral filter: a mean over the neighbourhood in which what differs in value counts little, so that edges stay.
//!
//! `bilateral/…` is the definition: over the disc of radius 1.5 σ around a pixel, places outside taken from the nearest
//! pixel of the border, each weighted by exp(−d²/2σ² − v²/2ρ²), d its distance, v its difference in value. σ is 16 pixels, ρ a
//! tenth of the values. Its work grows with σ².
//!
//! `bilateral/separable-…` is an approximation: rows first, then columns of the result, weighted by the same function of one axis
//! (Pham and van Vliet, 2005), on processors alone. Its work grows with σ, and edges that are neither horizontal nor vertical leave streaks.
//!
//! `bilateral/grid-…` is production: the bilateral grid of Paris and Durand, defined in `relief_numeric::bilateral`. Its work
//! hardly depends on σ, which `bilateral/grid-sigma` sweeps. `production` uses all threads; `one thread` tells what they bring.
//!
//! Least work: a sample read and written. How near the approximations come to the definition, in dB, is told by
//! `cargo run --release -p relief-lab --example bilateral_accuracy`.
//!
//! The source measured the grid on 640 × 480 grays, σ = 16, ρ = 0.1: CPU 32 ms; GTX 690 0.25 ms and 0.45 ms upload; HD 5700 0.55 and 0.55 ms.

pub mod cpu;
#[cfg(feature = "gpu")]
mod gpu;

use rayon::prelude::*;
use relief_numeric::bilateral::{Bilateral, Level};

use crate::array::{Array, Fill, Kind, Layout, mix};
use crate::family::{Class, Family, Ladder, Operation, Problem, Scale, Tolerance, Work};

pub(super) fn family() -> Family {
    Family {
        name: "bilateral",
        about: "a mean that stops at edges: by its definition, and on a grid of places and values",
        source: "GTX 690, 640 × 480",
        source_size: "640 × 480",
        wins: "The bilateral grid: samples are gathered into coarse cells of place and value, blurred, and \
               read back by interpolation. Its work hardly depends on σ.",
        loses: "The definition costs an exponential for each neighbour; tables and shared memory help by a \
                constant and leave the σ² work. The separable approximation costs σ and leaves streaks.",
        ladders: vec![
            Box::new(filters("bilateral/u8", Kind::U8, Way::Disc)),
            Box::new(filters("bilateral/f32", Kind::F32, Way::Disc)),
            Box::new(filters("bilateral/separable-u8", Kind::U8, Way::Separable)),
            Box::new(filters("bilateral/grid-u8", Kind::U8, Way::Grid)),
            Box::new(filters("bilateral/grid-u16", Kind::U16, Way::Grid)),
            Box::new(filters("bilateral/grid-f32", Kind::F32, Way::Grid)),
            Box::new(sweep()),
        ],
    }
}

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The definition.
    Disc,
    /// Rows, then columns.
    Separable,
    /// The bilateral grid.
    Grid,
}

/// A picture to filter.
#[derive(Clone, Copy, Debug)]
pub struct Picture {
    /// Of what.
    pub kind: Kind,
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The standard deviation in space, in pixels.
    pub sigma: u32,
    /// What is computed of it.
    pub way: Way,
    /// Whether the deviation is what a sweep changes.
    swept: bool,
}

impl Picture {
    /// Of this size, with a deviation of `sigma` pixels.
    #[must_use]
    pub const fn new(kind: Kind, way: Way, (width, height): (usize, usize), sigma: u32) -> Self {
        Self {
            kind,
            width,
            height,
            sigma,
            way,
            swept: false,
        }
    }

    /// Samples from one row to the next: whole vectors.
    #[must_use]
    pub const fn pitch(&self) -> usize {
        self.width.next_multiple_of(16 / self.kind.bytes())
    }

    /// The greatest value.
    #[must_use]
    pub fn greatest(&self) -> u32 {
        match self.kind {
            Kind::U8 => u8::GREATEST,
            Kind::U16 => u16::GREATEST,
            _ => f32::GREATEST,
        }
    }

    /// The standard deviation in value: a tenth of all values.
    #[must_use]
    pub fn range(&self) -> u32 {
        self.greatest().div_ceil(10)
    }

    /// What production is asked for.
    #[must_use]
    pub fn job(&self) -> Bilateral {
        Bilateral {
            width: self.width as u32,
            height: self.height as u32,
            spatial: self.sigma,
            range: self.range(),
        }
    }

    /// The radius of the definition's disc: 1.5 σ.
    #[must_use]
    pub const fn radius(&self) -> i64 {
        (self.sigma as i64 * 3 + 1) / 2
    }

    /// The result in units of values, row after row without gaps.
    fn expected<T: Level>(&self, image: &[T]) -> Vec<f64> {
        let level = |x: i64, y: i64| {
            let x = x.clamp(0, self.width as i64 - 1) as usize;
            let y = y.clamp(0, self.height as i64 - 1) as usize;
            f64::from(image[y * self.pitch() + x].level())
        };
        match self.way {
            Way::Disc => self.each(|x, y| {
                let r = self.radius();
                let square = (-r..=r).flat_map(|dy| (-r..=r).map(move |dx| (dx, dy)));
                let disc = square.filter(|(dx, dy)| dx * dx + dy * dy <= r * r);
                self.mean(
                    level(x, y),
                    disc.map(|(dx, dy)| (dx * dx + dy * dy, level(x + dx, y + dy))),
                )
            }),
            Way::Separable => {
                let r = self.radius();
                let rows =
                    self.each(|x, y| self.mean(level(x, y), (-r..=r).map(|d| (d * d, level(x + d, y)))));
                let row = |x: i64, y: i64| {
                    rows[y.clamp(0, self.height as i64 - 1) as usize * self.width + x as usize]
                };
                self.each(|x, y| self.mean(row(x, y), (-r..=r).map(|d| (d * d, row(x, y + d)))))
            }
            Way::Grid => self.on_grid(&level),
        }
    }

    fn each(&self, at: impl Fn(i64, i64) -> f64 + Sync) -> Vec<f64> {
        let pixels = (0..self.width * self.height).into_par_iter();
        pixels
            .map(|i| at((i % self.width) as i64, (i / self.width) as i64))
            .collect()
    }

    /// The mean of values at squared distances, seen from a pixel of value `middle`.
    fn mean(&self, middle: f64, near: impl Iterator<Item = (i64, f64)>) -> f64 {
        let space = 0.5 / f64::from(self.sigma).powi(2);
        let range = 0.5 / f64::from(self.range()).powi(2);
        let (mut sum, mut weights) = (0.0, 0.0);
        for (square, value) in near {
            let weight = (-(square as f64 * space + (value - middle).powi(2) * range)).exp();
            sum += weight * value;
            weights += weight;
        }
        sum / weights
    }

    /// The grid in f64, an axis after the other.
    fn on_grid(&self, level: &(impl Fn(i64, i64) -> f64 + Sync)) -> Vec<f64> {
        let (s, r) = (self.sigma as usize, self.range() as usize);
        if self.width == 0 || self.height == 0 {
            return Vec::new();
        }
        let size = [
            self.greatest() as usize / r + 2,
            (self.width - 1) / s + 2,
            (self.height - 1) / s + 2,
        ];
        let mut grid = vec![[0.0_f64; 2]; size.iter().product()];
        for y in 0..self.height {
            for x in 0..self.width {
                let value = level(x as i64, y as i64);
                let (i, j, k) = ((x + s / 2) / s, (y + s / 2) / s, (value as usize + r / 2) / r);
                let cell = &mut grid[(j * size[1] + i) * size[0] + k];
                cell[0] += value;
                cell[1] += 1.0;
            }
        }
        let mut step = 1;
        for len in size {
            let before = grid.clone();
            grid.par_iter_mut().enumerate().for_each(|(place, cell)| {
                let at = place / step % len;
                *cell = [0.0; 2];
                for (tap, weight) in [1.0, 4.0, 6.0, 4.0, 1.0].into_iter().enumerate() {
                    if (2..len + 2).contains(&(at + tap)) {
                        let near = before[place + tap * step - 2 * step];
                        cell[0] += weight * near[0];
                        cell[1] += weight * near[1];
                    }
                }
            });
            step *= len;
        }
        self.each(|x, y| {
            let value = level(x, y);
            let place = [value, x as f64, y as f64];
            let steps = [r as f64, s as f64, s as f64];
            let (mut sum, mut count) = (0.0, 0.0);
            for corner in 0..8_usize {
                let (mut weight, mut cell, mut stride) = (1.0, 0, 1);
                for axis in 0..3 {
                    let (whole, part) = (
                        (place[axis] / steps[axis]).floor(),
                        place[axis] / steps[axis] % 1.0,
                    );
                    let far = corner >> axis & 1;
                    weight *= if far == 1 { part } else { 1.0 - part };
                    cell += (whole as usize + far) * stride;
                    stride *= size[axis];
                }
                if weight > 0.0 {
                    sum += weight * grid[cell][0];
                    count += weight * grid[cell][1];
                }
            }
            sum / count
        })
    }

    fn refer<T: Level>(&self, image: &[T], output: &mut [T]) {
        let expected = self.expected(image);
        if self.width == 0 {
            return;
        }
        for (row, expected) in output.chunks_mut(self.pitch()).zip(expected.chunks(self.width)) {
            for (sample, expected) in row.iter_mut().zip(expected) {
                *sample = T::from_level(*expected as f32);
            }
        }
    }

    /// A picture: waves, an edge, and noise on it.
    fn samples(&self, fill: Fill) -> Array {
        let pitch = self.pitch().max(1);
        let level = |i: usize| {
            let (x, y) = ((i % pitch) as f64, (i / pitch) as f64);
            if (i % pitch) >= self.width {
                return 0.0;
            }
            let noise = f64::from(mix(3, i as u64)) / f64::from(u32::MAX);
            match fill {
                Fill::Random => {
                    let waves = 0.2 * (x * 0.013).sin() * (y * 0.017).cos();
                    let edge = if (x * 0.6 + y) % 300.0 < 150.0 { 0.3 } else { 0.7 };
                    (waves + edge + 0.1 * (noise - 0.5)).clamp(0.0, 1.0)
                }
                // Fields of one value each, among them the least and the greatest.
                Fill::Structured => f64::from(mix(4, ((x / 7.0) as u64) << 32 | (y / 5.0) as u64) % 5) / 4.0,
            }
        };
        let len = self.pitch() * self.height;
        match self.kind {
            Kind::U8 => Array::from_fn(len, |i| (level(i) * 255.0).round() as u8),
            Kind::U16 => Array::from_fn(len, |i| (level(i) * 65_535.0).round() as u16),
            // Whole steps, so that every device takes the same one.
            _ => Array::from_fn(len, |i| {
                (level(i) * f64::from(f32::GREATEST)).round() as f32 / f32::GREATEST as f32
            }),
        }
    }
}

impl Problem for Picture {
    fn label(&self) -> String {
        let kind = self.kind.name();
        format!("{} × {} {kind}, sigma {}", self.width, self.height, self.sigma)
    }

    fn elements(&self) -> u64 {
        self.width as u64 * self.height as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        vec![self.samples(fill)]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::new(self.kind, self.pitch() * self.height)]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        match self.kind {
            Kind::U8 => self.refer(inputs[0].slice::<u8>(), outputs[0].slice_mut()),
            Kind::U16 => self.refer(inputs[0].slice::<u16>(), outputs[0].slice_mut()),
            _ => self.refer(inputs[0].slice::<f32>(), outputs[0].slice_mut()),
        }
    }

    fn work(&self) -> Work {
        let bytes = self.elements() * self.kind.bytes() as u64;
        let work = Work::bytes(bytes, bytes);
        let side = 2 * self.radius() as u64 + 1;
        // A difference, its square with its weight, two sums; the exponential is not counted.
        let neighbours = match self.way {
            Way::Disc => side * side * 11 / 14,
            Way::Separable => 2 * side,
            Way::Grid => return work,
        };
        work.operations(Operation::F32MultiplyAdd, self.elements() * neighbours * 4)
    }

    fn tolerance(&self, _: Fill) -> Tolerance {
        match self.kind {
            // Rounding to the next integer.
            Kind::U8 | Kind::U16 => Tolerance::Absolute(1.0),
            _ => Tolerance::Absolute(1e-4),
        }
    }

    fn place(&self) -> Option<f64> {
        self.swept.then_some(f64::from(self.sigma))
    }
}

/// The ladder of a filter.
fn filters(name: &'static str, kind: Kind, way: Way) -> Ladder<Picture> {
    let about = match way {
        Way::Disc => "the definition, over a disc",
        Way::Separable => "rows, then columns",
        Way::Grid => "the bilateral grid",
    };
    Ladder::new(
        name,
        about,
        on_both!(cpu::variants(way), gpu::variants(way, kind)),
    )
    .checks(move || checks(kind, way))
    .cases(move |scale| cases(kind, way, scale))
}

fn checks(kind: Kind, way: Way) -> Vec<Picture> {
    let sizes = [(0, 0), (1, 1), (1, 40), (33, 1), (5, 7), (40, 30), (67, 19)];
    let sigmas = if way == Way::Grid {
        &[1, 3, 16, 64][..]
    } else {
        &[1, 4][..]
    };
    let all = sizes
        .into_iter()
        .flat_map(|size| sigmas.iter().map(move |sigma| (size, *sigma)));
    all.map(|(size, sigma)| Picture::new(kind, way, size, sigma))
        .collect()
}

fn cases(kind: Kind, way: Way, scale: Scale) -> Vec<Picture> {
    let square = |size: u64| {
        let side = size.isqrt().max(1) as usize;
        (side, side)
    };
    let sizes = match (scale.size, way) {
        (Some(size), _) => vec![square(size)],
        // The definition at 4 096² takes minutes to refer to, and on processors half a minute at the source's size.
        (None, Way::Disc) if scale.quick && scale.class != Class::Gpu => vec![(160, 120)],
        (None, Way::Disc) => vec![(640, 480)],
        (None, _) if scale.quick => vec![(640, 480)],
        (None, _) => vec![(640, 480), (4_096, 4_096)],
    };
    let of = |size| Picture::new(kind, way, size, 16);
    sizes.into_iter().map(of).collect()
}

fn sweep() -> Ladder<Picture> {
    let variants = on_both!(cpu::variants(Way::Grid), gpu::variants(Way::Grid, Kind::U8));
    let about = "the bilateral grid, by the deviation in space";
    let ladder = Ladder::new("bilateral/grid-sigma", about, variants).axis("sigma");
    ladder.cases(|scale| {
        let size = scale.or(if scale.quick { 1 << 16 } else { 1 << 20 });
        let side = size.isqrt().max(1) as usize;
        let of = |sigma| Picture {
            swept: true,
            ..Picture::new(Kind::U8, Way::Grid, (side, side), sigma)
        };
        [1, 2, 4, 8, 16, 32, 64].map(of).into()
    })
}
