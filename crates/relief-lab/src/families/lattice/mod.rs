//! Lattice: copies of a pattern at every i·u + j·v, blended where they overlap, of bytes.
//!
//! `lattice/mean-u8`: out(x, y) is the mean of the samples other than 0 of all copies that cover (x, y), 0 where there is
//! none, rounded: (2·sum + n) / (2·n). `lattice/stores` is the question that
//! the source left open, whether an atomic operation is faster than a store: see its file.
//!
//! Least work: the raster is written once; the pattern is read once and stays in the caches. The raster has the period of
//! the lattice, so that a cell of |det(u, v)| samples holds all of it, and the mean itself is as good as free.
//!
//! A raster has any width. Its rows begin a multiple of 16 samples apart, whole vectors of 16 bytes, and follow each other
//! without a further gap; what lies between the end of a row and the next row means nothing, and variants may write there.
//! Patterns lie row after row without gaps.
//!
//! `target` on the CPU is the source's first, on devices its third.
//! `cell words` and `cell vectors` fold the cell anew in every call.
//!
//! The source's figures are of an RTX 2070 and of one thread of an i9-9900K: 6.3 ms for atomics, 9.8 ms for stores.

mod cpu;
#[cfg(feature = "gpu")]
mod gpu;
mod stores;

use rayon::prelude::*;
use relief_raster::Period;

use crate::array::{Array, Fill, Layout};
use crate::family::{Class, Family, Ladder, Problem, Rows, Scale, Work};

pub(super) fn family() -> Family {
    Family {
        name: "lattice",
        about: "copies of a pattern at every i·u + j·v, blended where they overlap",
        source: "RTX 2070, CUDA 10.2; i9-9900K, one thread",
        source_size: "",
        wins: "A lattice of integer vectors is periodic: one cell is blended once and then repeated at the \
               speed of memory, however many copies overlap.",
        loses: "The loop over the target blends every pixel again. Atomic additions do the work copy by \
                copy, with a read and a write each. In `lattice/stores` an atomic is faster than a store \
                only where neighbouring threads write pixels far apart; which hardware counter would show \
                why has not been recorded.",
        ladders: vec![Box::new(means()), Box::new(stores::ladder())],
    }
}

/// The mean of those that are not 0, 0 for none.
fn mean(samples: impl Iterator<Item = u8>) -> u8 {
    let set = samples.filter(|sample| *sample != 0);
    let (sum, n) = set.fold((0, 0), |(sum, n), sample| (sum + u32::from(sample), n + 1));
    quotient(sum, n)
}

/// The sum of `n` bytes by their number, rounded.
fn quotient(sum: u32, n: u32) -> u8 {
    (2 * sum + n).checked_div(2 * n).unwrap_or(0) as u8
}

type Point = (i64, i64);

/// A raster, and the lattice of copies in it: copy (i, j) has its top-left at `offset` + i·`u` + j·`v`.
#[derive(Clone, Copy, Debug)]
struct Copies {
    width: usize,
    height: usize,
    /// The size of the pattern.
    size: (usize, usize),
    offset: Point,
    u: Point,
    v: Point,
}

/// The source's pattern, on the vectors of the rivals' benchmarks: 1.26 copies over a pixel.
const PATTERN: (usize, usize) = (100, 100);
const VECTORS: (Point, Point) = ((90, 20), (-15, 85));

/// The side of the source's raster.
const SIDE: usize = 10_240;

impl Copies {
    const fn new(
        raster: (usize, usize),
        size: (usize, usize),
        offset: Point,
        (u, v): (Point, Point),
    ) -> Self {
        let (width, height) = raster;
        Self {
            width,
            height,
            size,
            offset,
            u,
            v,
        }
    }

    /// Samples from the start of a row to that of the next.
    const fn pitch(&self) -> usize {
        self.width.next_multiple_of(16)
    }

    /// Samples of a result, with those between rows.
    const fn stored(&self) -> usize {
        self.pitch() * self.height
    }

    const fn rows(&self) -> Rows {
        Rows {
            len: self.width,
            pitch: self.pitch(),
        }
    }

    const fn determinant(&self) -> i64 {
        self.u.0 * self.v.1 - self.u.1 * self.v.0
    }

    /// i·u + j·v.
    const fn point(&self, i: i64, j: i64) -> Point {
        (i * self.u.0 + j * self.v.0, i * self.u.1 + j * self.v.1)
    }

    /// The lattice coordinates of (x, y), times the determinant.
    const fn coordinates(&self, (x, y): Point) -> Point {
        (x * self.v.1 - y * self.v.0, self.u.0 * y - self.u.1 * x)
    }

    fn period(&self) -> Period {
        Period::spanned(self.u, self.v).unwrap_or(Period::ONE)
    }

    /// Vectors, offset and the pattern's size, in the order in which kernels take them.
    #[cfg(feature = "gpu")]
    const fn numbers(&self) -> [i64; 8] {
        let (width, height) = (self.size.0 as i64, self.size.1 as i64);
        let (u, v, offset) = (self.u, self.v, self.offset);
        [u.0, u.1, v.0, v.1, offset.0, offset.1, width, height]
    }

    /// Copies over a pixel, on average.
    fn overlap(&self) -> f64 {
        (self.size.0 * self.size.1) as f64 / self.determinant().abs() as f64
    }

    /// The least and the greatest lattice coordinates of a rectangle's corners.
    fn extent(&self, corners: [Point; 4]) -> [(f64, f64); 2] {
        let determinant = self.determinant() as f64;
        let all = corners.map(|corner| self.coordinates(corner));
        let range = |values: [i64; 4]| {
            let values = values.map(|value| value as f64 / determinant);
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            (least, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
        };
        [range(all.map(|(i, _)| i)), range(all.map(|(_, j)| j))]
    }

    /// The cells (i, j) relative to that of a pixel whose copies can cover it, as ranges with both ends. `slack` is by how
    /// much coordinates may be rounded.
    fn window(&self, slack: f64) -> [(i64, i64); 2] {
        let (w, h) = (self.size.0 as i64 - 1, self.size.1 as i64 - 1);
        // A pixel is (s, t) past the corner of its cell, s and t from 0 to 1, and lies in the pattern of copy (i, j) where
        // (s − i, t − j) are coordinates of a place in it.
        let cells = |(least, most): (f64, f64)| {
            let first = (-most - slack).ceil() as i64;
            (first, (1.0 - least + slack).floor() as i64)
        };
        self.extent([(0, 0), (w, 0), (0, h), (w, h)]).map(cells)
    }

    /// All (i, j) whose copies can meet the raster, as ranges with both ends.
    fn all(&self) -> [(i64, i64); 2] {
        let (x, y) = self.offset;
        let (left, top) = (-(self.size.0 as i64) - x, -(self.size.1 as i64) - y);
        let (right, bottom) = (self.width as i64 - x, self.height as i64 - y);
        self.extent([(left, top), (right, top), (left, bottom), (right, bottom)])
            .map(|(least, most)| (least.floor() as i64, most.ceil() as i64))
    }

    /// The places in the pattern that lie over (x, y), by trying all copies that reach it.
    fn over(&self, x: usize, y: usize) -> impl Iterator<Item = usize> + use<'_> {
        let (w, h) = (self.size.0 as i64, self.size.1 as i64);
        let (x, y) = (x as i64 - self.offset.0, y as i64 - self.offset.1);
        // The copies whose top-left lies up to the pattern's size to the left and above.
        let [(i0, i1), (j0, j1)] = self.extent([(x, y), (x - w, y), (x, y - h), (x - w, y - h)]);
        let i = move || i0.floor() as i64..=i1.ceil() as i64;
        (j0.floor() as i64..=j1.ceil() as i64)
            .flat_map(move |j| i().map(move |i| (i, j)))
            .filter_map(move |(i, j)| {
                let (left, top) = self.point(i, j);
                let (qx, qy) = (x - left, y - top);
                let inside = (0..w).contains(&qx) && (0..h).contains(&qy);
                inside.then_some((qy * w + qx) as usize)
            })
    }

    fn label(&self) -> String {
        let (width, height, (across, down)) = (self.width, self.height, self.size);
        let (u, v) = (self.u, self.v);
        format!("{width} × {height}, {across} × {down} along {u:?} and {v:?}")
    }
}

/// The mean of copies.
struct Mean(Copies);

impl Problem for Mean {
    fn label(&self) -> String {
        self.0.label()
    }

    fn elements(&self) -> u64 {
        self.0.width as u64 * self.0.height as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        let (w, h) = self.0.size;
        vec![Array::filled(Layout::of::<u8>(w * h), fill, 1)]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<u8>(self.0.stored())]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let pattern = inputs[0].slice::<u8>();
        let rows = outputs[0].slice_mut::<u8>().par_chunks_mut(self.0.pitch().max(1));
        rows.enumerate().for_each(|(y, row)| {
            for (x, out) in row[..self.0.width].iter_mut().enumerate() {
                *out = mean(self.0.over(x, y).map(|place| pattern[place]));
            }
        });
    }

    fn work(&self) -> Work {
        let (w, h) = self.0.size;
        Work::bytes((w * h) as u64, self.elements())
    }

    fn rows(&self) -> Option<Rows> {
        Some(self.0.rows())
    }
}

fn means() -> Ladder<Mean> {
    let of = |raster, offset| Mean(Copies::new(raster, PATTERN, offset, VECTORS));
    let about = "out(x, y) = the mean of the samples other than 0 of the copies over (x, y)";
    let variants = on_both!(cpu::variants(), gpu::variants());
    Ladder::new("lattice/mean-u8", about, variants)
        .checks(|| checks().into_iter().map(Mean).collect())
        .cases(move |scale| {
            let rasters = rasters(scale).into_iter();
            rasters.map(|raster| of(raster, (0, 0))).collect()
        })
        // Of fewer rows a word for each sample is more than 2^32 bytes already.
        .huge(move || {
            let of = |rows| of((65_600, rows), (3, 5));
            [4 * 4_103, 4 * 16_411].map(of).into()
        })
}

/// Small rasters: empty ones, a single pixel, row and column, few and many copies over a pixel, gaps between copies, vectors of every
/// direction, and odd widths that end inside words, vectors, tiles and cubes.
fn checks() -> Vec<Copies> {
    vec![
        Copies::new((0, 0), (3, 3), (0, 0), ((3, 0), (0, 3))),
        Copies::new((0, 7), (3, 3), (0, 0), ((3, 0), (0, 3))),
        Copies::new((16, 0), (3, 3), (0, 0), ((3, 0), (0, 3))),
        Copies::new((16, 1), (1, 1), (0, 0), ((1, 0), (0, 1))),
        Copies::new((1, 1), (1, 1), (0, 0), ((1, 0), (0, 1))),
        Copies::new((1, 1), (5, 5), (-2, -1), ((2, 1), (-1, 2))),
        Copies::new((1, 40), (10, 10), (0, 0), ((9, 2), (-2, 8))),
        Copies::new((33, 1), (7, 5), (1, 1), ((2, 1), (-1, 2))),
        Copies::new((64, 40), (10, 10), (0, 0), ((9, 2), (-2, 8))),
        Copies::new((67, 40), (10, 10), (0, 0), ((9, 2), (-2, 8))),
        Copies::new((208, 51), (100, 100), (-7, 13), VECTORS),
        Copies::new((209, 51), (100, 100), (-7, 13), VECTORS),
        Copies::new((48, 17), (7, 5), (1, 1), ((2, 1), (-1, 2))),
        Copies::new((80, 31), (3, 3), (-2, 9), ((13, 5), (4, -11))),
        Copies::new((32, 60), (5, 40), (0, 0), ((0, 7), (6, 1))),
        Copies::new((48, 20), (20, 20), (1, 2), ((-3, -7), (5, -6))),
        Copies::new((272, 131), (33, 2), (4, 4), ((17, 0), (5, 3))),
        Copies::new((271, 131), (33, 2), (4, 4), ((17, 0), (5, 3))),
        // Wider than a cube's vectors of bytes.
        Copies::new((4_099, 67), (33, 2), (4, 4), ((17, 0), (5, 3))),
    ]
}

/// Sizes of the rasters that are timed, about square.
fn rasters(scale: Scale) -> Vec<(usize, usize)> {
    let square = |size: u64| {
        let width = (size.isqrt() as usize).next_multiple_of(16).max(16);
        (width, (size as usize).div_ceil(width))
    };
    let mut rasters: Vec<_> = scale.sizes().into_iter().map(square).collect();
    if scale.size.is_none() && scale.class == Class::Gpu && !scale.quick {
        rasters.push((SIDE, SIDE));
    }
    rasters
}
