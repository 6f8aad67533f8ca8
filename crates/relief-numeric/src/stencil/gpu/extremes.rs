//! Least and greatest of squares of bytes in one pass: cubes (blocks) stream down strips of columns, a few
//! rows at a step, two pixels at a time as the halves of a word ([`super::pairs`]).
//!
//! *Down* ([`super::down`]) the halves are pixels of one row. *Across* they are the same pixel of two rows,
//! so that a run is folded pixel by pixel for both at once: each unit takes a run of 2 K pixels of two rows.
//! A window is the end of the run in which it begins, whole runs, and the beginning of the run in which it
//! ends; the totals of runs are exchanged through shared memory. As down the columns, ends and beginnings are
//! kept of every other pixel alone. Shared memory holds vectors of four pairs; after each run a vector is
//! left out, so that units read different banks.
//!
//! A device with f16 compares both halves at once, where bytes are subnormal numbers; others one after the
//! other.

use cubecl::prelude::*;

use super::Samples;
use super::columns::{Raster, column, raster, store_run};
use super::down::{Down, Fold, descend, descent, fold, fold_three};
use super::pairs::{Pairs, firsts, seconds};
use super::strip::Strip;

pub(super) mod kept;

/// What is compiled into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Plan {
    /// Least or greatest.
    pub(super) fold: Fold,
    pub(super) pairs: Pairs,
    pub(super) radius: u32,
    /// A run has twice as many pixels as a step has rows.
    pub(super) strip: Strip,
}

impl Plan {
    const fn down(&self) -> Down {
        Down {
            samples: Samples::Bytes,
            fold: self.fold,
            pairs: self.pairs,
            radius: self.radius,
            strip: self.strip,
        }
    }

    /// Columns of words to the left of those that are computed.
    const fn left(&self) -> u32 {
        self.radius.div_ceil(4)
    }

    /// Words, and vectors of pairs, of a run.
    const fn vectors(&self) -> u32 {
        self.strip.rows / 2
    }

    /// Pixels of a run.
    const fn run(&self) -> u32 {
        2 * self.strip.rows
    }

    /// Columns of words that a cube computes: whole runs; 0 where the cube is too narrow.
    pub(super) const fn columns(&self) -> u32 {
        self.strip.columns(self.left(), self.vectors())
    }

    /// Vectors from one pair of rows of shared memory to the next.
    const fn pitch(&self) -> u32 {
        self.strip.pitch(self.vectors())
    }

    /// Vectors of a step's rows in shared memory.
    const fn step(&self) -> u32 {
        self.pitch() * (self.strip.rows / 2)
    }

    /// Bytes of shared memory.
    pub(super) const fn shared_bytes(&self) -> u32 {
        (16 * self.step() + 4 * self.strip.units) * self.strip.steps() + 4 * self.down().ring().words()
    }

    /// Whole runs across a window, and the pixels that are left.
    const fn runs(&self) -> (u32, u32) {
        (2 * self.radius / self.run(), 2 * self.radius % self.run())
    }

    /// Pixels from the beginning of a run of those that are read to the first window.
    const fn skip(&self) -> u32 {
        4 * self.left() - self.radius
    }

    /// Where in shared memory vector `vector` after the beginning of a run lies, from its own.
    const fn place(&self, vector: u32) -> u32 {
        vector + vector / self.vectors()
    }
}

/// Folds the squares of a strip of `steps` · K rows; CUBE_POS_X counts strips across, CUBE_POS_Y down.
#[cube(launch_unchecked, address_type = "dynamic")]
#[allow(clippy::too_many_arguments)]
pub(super) fn extremes<N: Size>(
    source: &Array<u32>,
    out: &mut Array<Vector<u32, N>>,
    width: u32,
    height: u32,
    pitch: u32,
    steps: u32,
    #[comptime] plan: Plan,
) {
    let rows = comptime!(plan.strip.rows);
    let mut shared =
        SharedMemory::<Vector<u32, N>>::new(comptime!((plan.step() * plan.strip.steps()) as usize));
    let mut totals = SharedMemory::<u32>::new(comptime!((plan.strip.units * plan.strip.steps()) as usize));
    let raster = raster(width, height, pitch);
    let left = CUBE_POS_X * comptime!(plan.columns());
    let column = column(
        left as i32 + UNIT_POS as i32 - comptime!(plan.left() as i32),
        &raster,
        comptime!(Samples::Bytes),
    );
    let first = CUBE_POS_Y * steps * rows;
    let top = first as i32 - comptime!(plan.radius as i32);
    let mut kept = SharedMemory::<u32>::new(comptime!(plan.down().ring().allocated()));
    let mut descent = descent::<u32>(source, &mut kept, column, top, comptime!(plan.down()));
    let at = UNIT_POS + UNIT_POS / comptime!(plan.vectors());

    for s in 0..steps {
        let step = s % comptime!(plan.strip.steps());
        let row = first + s * rows;
        let mut windows = Array::<u32>::new(comptime!((2 * rows) as usize));
        descend::<u32>(
            &mut descent,
            &mut windows,
            source,
            &mut kept,
            comptime!(plan.down()),
        );
        let place = (step * comptime!(plan.step()) + at) as usize;
        #[unroll]
        for k in 0..comptime!((rows / 2) as usize) {
            let vector = of_two_rows::<N>(&windows, k, comptime!(plan.pairs));
            shared[place + comptime!(k * plan.pitch() as usize)] = vector;
        }
        sync_cube();
        across::<N>(&shared, &mut totals, out, step, row, left, &raster, plan);
        // Of two steps' rows, the next step writes the others, and the one after only after the next one's wait.
        if comptime!(!plan.strip.double) {
            sync_cube();
        }
    }
}

/// The pixels of rows 2 `k` and 2 `k` + 1, whose even and odd ones lie side by side, as pairs of both rows.
#[cube]
fn of_two_rows<N: Size>(
    windows: &Array<u32>,
    #[comptime] k: usize,
    #[comptime] pairs: Pairs,
) -> Vector<u32, N> {
    let (even, odd) = (windows[comptime!(4 * k)], windows[comptime!(4 * k + 1)]);
    let (below, beside) = (windows[comptime!(4 * k + 2)], windows[comptime!(4 * k + 3)]);
    let mut vector = Vector::<u32, N>::empty();
    vector[0usize] = firsts(even, below, pairs);
    vector[1usize] = firsts(odd, beside, pairs);
    vector[2usize] = seconds(even, below, pairs);
    vector[3usize] = seconds(odd, beside, pairs);
    vector
}

/// `count` pairs of a row in shared memory, from where the windows of the run at `place` begin, and `after` whole vectors later.
#[cube]
fn pixels<N: Size>(
    shared: &SharedMemory<Vector<u32, N>>,
    pixels: &mut Array<u32>,
    place: usize,
    #[comptime] after: u32,
    #[comptime] count: u32,
    #[comptime] plan: Plan,
) {
    let skip = comptime!(plan.skip());
    #[unroll]
    for v in 0..comptime!((skip + count).div_ceil(4)) {
        let read = shared[place + comptime!(plan.place(after + v) as usize)];
        #[unroll]
        for b in 0..4u32 {
            // The pixel's number, beyond `count` where it is not asked for.
            let p = comptime!((v * 4 + b).wrapping_sub(skip));
            if comptime!(p < count) {
                pixels[comptime!(p as usize)] = read[comptime!(b as usize)];
            }
        }
    }
}

/// The windows across the rows of a step, to memory.
#[cube]
#[allow(clippy::too_many_arguments)]
fn across<N: Size>(
    shared: &SharedMemory<Vector<u32, N>>,
    totals: &mut SharedMemory<u32>,
    out: &mut Array<Vector<u32, N>>,
    step: u32,
    row: u32,
    left: u32,
    raster: &Raster,
    #[comptime] plan: Plan,
) {
    let (runs, rest) = comptime!(plan.runs());
    let count = comptime!(plan.run());
    let of_row = comptime!(plan.strip.units / plan.vectors());
    let computed = comptime!(plan.columns() / plan.vectors());
    let (k, run) = (UNIT_POS / of_row, UNIT_POS % of_row);
    let place = (step * comptime!(plan.step())
        + k * comptime!(plan.pitch())
        + run * comptime!(plan.vectors() + 1)) as usize;
    let mut windows = Array::<u32>::new(comptime!(count as usize));

    if comptime!(runs == 0) {
        if run < computed {
            // The window of the run's last pixel ends within the words that the cube has read.
            near::<N>(shared, &mut windows, place, plan);
        }
    } else {
        let half = comptime!((count / 2) as usize);
        let mut first = Array::<u32>::new(comptime!(count as usize));
        // Of pixel 2 p the end of the run from there on.
        let mut ends = Array::<u32>::new(half);
        let spot = (step * comptime!(plan.strip.units) + UNIT_POS) as usize;
        // Runs that lie between the ends of a window, or are one.
        if run < comptime!(computed + runs - 1) {
            pixels::<N>(shared, &mut first, place, 0u32, count, plan);
            ends[comptime!(half - 1)] = fold::<u32>(
                first[comptime!(2 * half - 2)],
                first[comptime!(2 * half - 1)],
                comptime!(plan.down()),
            );
            #[unroll]
            for j in 1..half {
                let p = comptime!(half - 1 - j);
                ends[p] = fold_three::<u32>(
                    ends[comptime!(p + 1)],
                    first[comptime!(2 * p)],
                    first[comptime!(2 * p + 1)],
                    comptime!(plan.down()),
                );
            }
            if comptime!(runs > 1) {
                totals[spot] = ends[0usize];
            }
        }
        if comptime!(runs > 1) {
            sync_cube();
        }
        if run < computed {
            let mut last = Array::<u32>::new(comptime!((count + rest) as usize));
            let after = comptime!(runs * plan.vectors());
            pixels::<N>(shared, &mut last, place, after, comptime!(count + rest), plan);
            if comptime!(runs > 1) {
                let mut total = totals[spot + 1usize];
                #[unroll]
                for b in 2..runs {
                    total = fold::<u32>(
                        total,
                        totals[spot + comptime!(b as usize)],
                        comptime!(plan.down()),
                    );
                }
                last[0usize] = fold::<u32>(total, last[0usize], comptime!(plan.down()));
            }
            // The beginning of the run up to pixel 2 p + 1 + rest.
            let mut begun = u32::new(0);
            #[unroll]
            for q in 0..comptime!(half + rest as usize / 2) {
                let (even, odd) = (last[comptime!(2 * q)], last[comptime!(2 * q + 1)]);
                if comptime!(2 * q >= rest as usize) {
                    let p = comptime!(q - rest as usize / 2);
                    if comptime!(q == 0) {
                        windows[comptime!(2 * p)] = fold::<u32>(ends[p], even, comptime!(plan.down()));
                    } else {
                        windows[comptime!(2 * p)] =
                            fold_three::<u32>(ends[p], begun, even, comptime!(plan.down()));
                    }
                }
                if comptime!(q == 0) {
                    begun = fold::<u32>(even, odd, comptime!(plan.down()));
                } else {
                    begun = fold_three::<u32>(begun, even, odd, comptime!(plan.down()));
                }
                if comptime!(2 * q >= rest as usize) {
                    let p = comptime!(q - rest as usize / 2);
                    let end = first[comptime!(2 * p + 1)];
                    if comptime!(p + 1 == half) {
                        windows[comptime!(2 * p + 1)] = fold::<u32>(end, begun, comptime!(plan.down()));
                    } else {
                        windows[comptime!(2 * p + 1)] =
                            fold_three::<u32>(ends[comptime!(p + 1)], end, begun, comptime!(plan.down()));
                    }
                }
            }
        }
    }
    if run < computed {
        let mut upper = Array::<u32>::new(comptime!(plan.vectors() as usize));
        let mut lower = Array::<u32>::new(comptime!(plan.vectors() as usize));
        #[unroll]
        for w in 0..comptime!(plan.vectors() as usize) {
            // Two neighbours' bytes in each half.
            let two = windows[comptime!(4 * w)] + (windows[comptime!(4 * w + 1)] << 8u32);
            let more = windows[comptime!(4 * w + 2)] + (windows[comptime!(4 * w + 3)] << 8u32);
            upper[w] = firsts(two, more, comptime!(plan.pairs));
            lower[w] = seconds(two, more, comptime!(plan.pairs));
        }
        let word = left + run * comptime!(plan.vectors());
        let (count, bytes) = comptime!((plan.vectors(), Samples::Bytes));
        let row = row + 2u32 * k;
        store_run::<u32, N>(out, &upper, row, word, raster, count, bytes);
        store_run::<u32, N>(out, &lower, row + 1u32, word, raster, count, bytes);
    }
}

/// The windows of a run that are narrower than it, from such of three pixels, and of a third of their width.
#[cube]
fn near<N: Size>(
    shared: &SharedMemory<Vector<u32, N>>,
    windows: &mut Array<u32>,
    place: usize,
    #[comptime] plan: Plan,
) {
    let (count, width) = comptime!((plan.run() as usize, 2 * plan.radius as usize + 1));
    let read = comptime!(count + width - 1);
    let mut pixels_read = Array::<u32>::new(read);
    pixels::<N>(
        shared,
        &mut pixels_read,
        place,
        0u32,
        comptime!(read as u32),
        plan,
    );
    if comptime!(width == 1) {
        #[unroll]
        for p in 0..count {
            windows[p] = pixels_read[p];
        }
    } else {
        let third = comptime!(if width <= 3 { 1 } else { width.div_ceil(3).max(3) });
        if comptime!(third > 1) {
            #[unroll]
            for p in 0..comptime!(read - 2) {
                pixels_read[p] = fold_three::<u32>(
                    pixels_read[p],
                    pixels_read[comptime!(p + 1)],
                    pixels_read[comptime!(p + 2)],
                    comptime!(plan.down()),
                );
            }
        }
        if comptime!(third > 3) {
            #[unroll]
            for p in 0..comptime!(read + 1 - third) {
                pixels_read[p] = fold::<u32>(
                    pixels_read[p],
                    pixels_read[comptime!(p + third - 3)],
                    comptime!(plan.down()),
                );
            }
        }
        #[unroll]
        for p in 0..count {
            windows[p] = fold_three::<u32>(
                pixels_read[p],
                pixels_read[comptime!(p + (width - third) / 2)],
                pixels_read[comptime!(p + width - third)],
                comptime!(plan.down()),
            );
        }
    }
}
