//! Error diffusion in integers.
//!
//! With a(i, j) the sum of weight · error that pixel (i, j) has been given, in D-ths: w = v + ⌊(a + D/2) / D⌋, the output is M
//! where 2·w > M, else 0, and the error w − output goes to pixels that come, by the weights of a [`Kernel`]. What would leave the
//! raster is lost. All lines run from the first pixel to the last; with serpentine every second line, beginning with the second, runs
//! from the last to the first, its weights mirrored. A line depends on those before, so diffusion is the one screen that cannot
//! begin anywhere.
//!
//! Kernels: R. W. Floyd, L. Steinberg, "An adaptive algorithm for spatial grayscale", 1976; J. F. Jarvis, C. N. Judice,
//! W. H. Ninke, "A survey of techniques for the display of continuous tone pictures on bilevel displays", 1976; P. Stucki,
//! "MECCA, a multiple-error correcting computation algorithm for bilevel image hardcopy reproduction", 1981; Atkinson's, which
//! hands on six eighths of the error, is that of the Macintosh's HyperScan, 1987.

use relief_design::scan::Halftone;
use relief_raster::Sample;

/// Which part of an error goes where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// D.
    divisor: i32,
    /// The lines below that are given errors.
    below: usize,
    /// Pixels ahead, lines below, weight.
    taps: &'static [(isize, usize, i32)],
    serpentine: bool,
}

const FLOYD_STEINBERG: &[(isize, usize, i32)] = &[(1, 0, 7), (-1, 1, 3), (0, 1, 5), (1, 1, 1)];
const JARVIS: &[(isize, usize, i32)] = &[
    (1, 0, 7),
    (2, 0, 5),
    (-2, 1, 3),
    (-1, 1, 5),
    (0, 1, 7),
    (1, 1, 5),
    (2, 1, 3),
    (-2, 2, 1),
    (-1, 2, 3),
    (0, 2, 5),
    (1, 2, 3),
    (2, 2, 1),
];
const STUCKI: &[(isize, usize, i32)] = &[
    (1, 0, 8),
    (2, 0, 4),
    (-2, 1, 2),
    (-1, 1, 4),
    (0, 1, 8),
    (1, 1, 4),
    (2, 1, 2),
    (-2, 2, 1),
    (-1, 2, 2),
    (0, 2, 4),
    (1, 2, 2),
    (2, 2, 1),
];
const ATKINSON: &[(isize, usize, i32)] = &[(1, 0, 1), (2, 0, 1), (-1, 1, 1), (0, 1, 1), (1, 1, 1), (0, 2, 1)];

impl Kernel {
    /// That of a halftone, where it diffuses errors.
    pub(crate) const fn of(halftone: Halftone) -> Option<Self> {
        let (divisor, below, taps, serpentine) = match halftone {
            Halftone::FloydSteinberg { serpentine } => (16, 1, FLOYD_STEINBERG, serpentine),
            Halftone::Jarvis { serpentine } => (48, 2, JARVIS, serpentine),
            Halftone::Stucki { serpentine } => (42, 2, STUCKI, serpentine),
            Halftone::Atkinson { serpentine } => (8, 2, ATKINSON, serpentine),
            _ => return None,
        };
        Some(Self {
            divisor,
            below,
            taps,
            serpentine,
        })
    }

    /// Places of a line of errors: its pixels and a margin at both ends.
    const fn places(self, length: u64) -> u64 {
        length.saturating_add(2 * self.margin() as u64)
    }

    const fn margin(self) -> usize {
        self.below
    }

    /// The errors that a line hands on.
    pub(crate) const fn errors(self, length: u64) -> u64 {
        self.places(length).saturating_mul(self.below as u64)
    }

    /// The greatest sum that a pixel can have been given, and a little: by induction no error exceeds ⌈M / 2⌉.
    pub(crate) const fn bound(self, max: u16) -> i32 {
        (self.divisor / 2 + 1) * max as i32
    }

    /// The bytes that diffusion holds.
    pub(crate) const fn memory(self, length: u64) -> u64 {
        self.places(length).saturating_mul(4 * (self.below as u64 + 1))
    }
}

/// What the lines done so far hand on to the next.
#[derive(Debug)]
pub(crate) struct Diffusion {
    kernel: Kernel,
    /// The next line of the raster.
    line: u64,
    places: usize,
    /// a of the next line and of those below, in a ring; the last of them has been given nothing.
    given: Vec<i32>,
    /// Which row of the ring is that of the next line.
    next: usize,
}

impl Diffusion {
    /// Before the first line of `length` pixels.
    pub(crate) fn new(kernel: Kernel, length: usize) -> Self {
        Self::after(kernel, length, 0, &[])
    }

    /// After `line` lines that left these errors.
    pub(crate) fn after(kernel: Kernel, length: usize, line: u64, errors: &[i32]) -> Self {
        let places = length + 2 * kernel.margin();
        let mut given = errors.to_vec();
        given.resize(places * (kernel.below + 1), 0);
        Self {
            kernel,
            line,
            places,
            given,
            next: 0,
        }
    }

    /// Where row `down` of the ring begins, counted from that of the next line.
    const fn row(&self, down: usize) -> usize {
        (self.next + down) % (self.kernel.below + 1) * self.places
    }

    /// What the next lines are given.
    pub(crate) fn errors(&self) -> Vec<i32> {
        let rows = (0..self.kernel.below).map(|down| &self.given[self.row(down)..][..self.places]);
        rows.collect::<Vec<_>>().concat()
    }

    /// Screens the next line in place.
    pub(crate) fn line<S: Sample>(&mut self, samples: &mut [S]) {
        let back = self.kernel.serpentine && self.line % 2 == 1;
        if self.kernel.taps == FLOYD_STEINBERG && !back {
            self.floyd_steinberg(samples);
        } else {
            self.any(samples, back);
        }
        // What this line was given has been spent.
        let spent = self.row(0);
        self.given[spent..][..self.places].fill(0);
        self.next = (self.next + 1) % (self.kernel.below + 1);
        self.line += 1;
    }

    /// Any kernel, either way.
    fn any<S: Sample>(&mut self, samples: &mut [S], back: bool) {
        let Kernel { divisor, taps, .. } = self.kernel;
        let rows = [self.row(0), self.row(1), self.row(2)];
        let max = i32::from(S::DEPTH.max());
        let (margin, count, way) = (self.kernel.margin(), samples.len(), if back { -1 } else { 1 });
        for step in 0..count {
            let pixel = if back { count - 1 - step } else { step };
            let at = margin + pixel;
            let sample = &mut samples[pixel];
            let wanted =
                i32::from(sample.to_u16()) + (self.given[rows[0] + at] + divisor / 2).div_euclid(divisor);
            let on = 2 * wanted > max;
            let error = wanted - if on { max } else { 0 };
            *sample = if on { S::MAX } else { S::ZERO };
            if error != 0 {
                for &(ahead, down, weight) in taps {
                    let to = (rows[down] + at).wrapping_add_signed(way * ahead);
                    self.given[to] += weight * error;
                }
            }
        }
        // What left the raster is lost, and is no part of what is stored.
        for line in self.given.chunks_exact_mut(self.places) {
            line[..margin].fill(0);
            line[self.places - margin..].fill(0);
        }
    }

    /// Floyd and Steinberg's kernel, forwards. The pixel below and to the left has all that it will be given once this one is done:
    /// errors stay in registers and every sum is stored once.
    fn floyd_steinberg<S: Sample>(&mut self, samples: &mut [S]) {
        let max = i32::from(S::DEPTH.max());
        let (count, mut before, mut last) = (samples.len(), 0, 0);
        let (first, second) = self.given.split_at_mut(self.places);
        let (next, below) = if self.next == 0 {
            (first, second)
        } else {
            (second, first)
        };
        for ((sample, given), below) in samples.iter_mut().zip(&next[1..]).zip(&mut *below) {
            let wanted = i32::from(sample.to_u16()) + ((given + 7 * last + 8) >> 4);
            let on = 2 * wanted > max;
            let error = wanted - if on { max } else { 0 };
            *sample = if on { S::MAX } else { S::ZERO };
            *below = 3 * error + 5 * last + before;
            (before, last) = (last, error);
        }
        below[count] = 5 * last + before;
        // What left the raster is lost.
        below[0] = 0;
        below[count + 1] = 0;
    }
}
