//! Least and greatest of squares, and sums, of f32 in one pass: cubes (blocks) stream down strips of columns,
//! a few rows at a step. Of sums nothing is taken away again, because what rounding left of it would stay.
//!
//! *Down* see [`super::down`]. *Across* the K rows lie in shared memory; each unit takes a run of K pixels of
//! one of them and does the same along it: the end of the run in which a window begins, whole runs, the
//! beginning of the run in which it ends. The totals of runs are exchanged through shared memory. Each K
//! pixels one is left out, so that units read different banks.
//!
//! Bytes have ways of their own (`extremes`, `sums`).

use cubecl::prelude::*;

use super::Samples;
use super::columns::{Raster, column, raster, store_run, store_two_runs};
use super::down::{Down, Fold, descend, descent, fold};
use super::pairs::Pairs;
use super::strip::Strip;

/// What is compiled into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Plan {
    pub(super) fold: Fold,
    pub(super) radius: u32,
    /// A run is as long as a step is high.
    pub(super) strip: Strip,
}

impl Plan {
    const fn down(&self) -> Down {
        Down {
            samples: Samples::Floats,
            fold: self.fold,
            pairs: Pairs::Apart,
            radius: self.radius,
            strip: self.strip,
        }
    }

    /// Columns that a cube computes: whole runs; 0 where the cube is too narrow.
    pub(super) const fn columns(&self) -> u32 {
        self.strip.columns(self.radius, self.strip.rows)
    }

    /// Words from one row of shared memory to the next.
    const fn pitch(&self) -> u32 {
        self.strip.pitch(self.strip.rows)
    }

    /// Words of a step's rows in shared memory.
    const fn step(&self) -> u32 {
        self.pitch() * self.strip.rows
    }

    /// Bytes of shared memory.
    pub(super) const fn shared_bytes(&self) -> u32 {
        4 * ((self.step() + self.strip.units) * self.strip.steps() + self.down().ring().words())
    }

    /// Whole runs across a window, and the pixels that are left.
    const fn runs(&self) -> (u32, u32) {
        (
            2 * self.radius / self.strip.rows,
            2 * self.radius % self.strip.rows,
        )
    }

    /// Where in shared memory pixel `pixel` after the beginning of a run lies, from its own.
    const fn place(&self, pixel: u32) -> u32 {
        pixel + pixel / self.strip.rows
    }
}

/// Folds the squares of a strip of `steps` · K rows; CUBE_POS_X counts strips across, CUBE_POS_Y down. Sums become
/// sum · `inverse`.
#[cube(launch_unchecked, address_type = "dynamic")]
#[allow(clippy::too_many_arguments)]
pub(super) fn slide<N: Size>(
    source: &Array<f32>,
    out: &mut Array<Vector<f32, N>>,
    width: u32,
    height: u32,
    pitch: u32,
    steps: u32,
    inverse: f32,
    #[comptime] plan: Plan,
) {
    let rows = comptime!(plan.strip.rows);
    let mut shared = SharedMemory::<f32>::new(comptime!((plan.step() * plan.strip.steps()) as usize));
    let mut totals = SharedMemory::<f32>::new(comptime!((plan.strip.units * plan.strip.steps()) as usize));
    let raster = raster(width, height, pitch);
    let left = CUBE_POS_X * comptime!(plan.columns());
    let column = column(
        left as i32 + UNIT_POS as i32 - comptime!(plan.radius as i32),
        &raster,
        comptime!(Samples::Floats),
    );
    let first = CUBE_POS_Y * steps * rows;
    let top = first as i32 - comptime!(plan.radius as i32);
    let mut kept = SharedMemory::<f32>::new(comptime!(plan.down().ring().allocated()));
    let mut descent = descent::<f32>(source, &mut kept, column, top, comptime!(plan.down()));
    let at = UNIT_POS + UNIT_POS / rows;

    for s in 0..steps {
        let step = s % comptime!(plan.strip.steps());
        let row = first + s * rows;
        // rung: stencil on gpu: one pass
        let mut windows = Array::<f32>::new(comptime!(rows as usize));
        descend::<f32>(
            &mut descent,
            &mut windows,
            source,
            &mut kept,
            comptime!(plan.down()),
        );
        let place = (step * comptime!(plan.step()) + at) as usize;
        #[unroll]
        for k in 0..comptime!(rows as usize) {
            shared[place + comptime!(k * plan.pitch() as usize)] = windows[k];
        }
        // end
        sync_cube();
        across::<N>(&shared, &mut totals, out, step, row, left, &raster, inverse, plan);
        // Of two steps' rows, the next step writes the others, and the one after only after the next one's wait.
        if comptime!(!plan.strip.double) {
            sync_cube();
        }
    }
}

/// `count` pixels of a row in shared memory, from the run at `place` on and `after` pixels later.
#[cube]
fn pixels(
    shared: &SharedMemory<f32>,
    pixels: &mut Array<f32>,
    place: usize,
    #[comptime] after: u32,
    #[comptime] count: u32,
    #[comptime] plan: Plan,
) {
    #[unroll]
    for p in 0..count {
        pixels[comptime!(p as usize)] = shared[place + comptime!(plan.place(after + p) as usize)];
    }
}

/// The windows across the rows of a step, to memory.
#[cube]
#[allow(clippy::too_many_arguments)]
fn across<N: Size>(
    shared: &SharedMemory<f32>,
    totals: &mut SharedMemory<f32>,
    out: &mut Array<Vector<f32, N>>,
    step: u32,
    row: u32,
    left: u32,
    raster: &Raster,
    inverse: f32,
    #[comptime] plan: Plan,
) {
    let (runs, rest) = comptime!(plan.runs());
    let count = comptime!(plan.strip.rows);
    let of_row = comptime!(plan.strip.units / plan.strip.rows);
    let computed = comptime!(plan.columns() / plan.strip.rows);
    let (k, run) = (UNIT_POS / of_row, UNIT_POS % of_row);
    let place = (step * comptime!(plan.step())
        + k * comptime!(plan.pitch())
        + run * comptime!(plan.strip.rows + 1)) as usize;
    let mut windows = Array::<f32>::new(comptime!(count as usize));

    if comptime!(runs == 0) {
        if run < computed {
            // The window of the run's last pixel ends within the words that the cube has read.
            near(shared, &mut windows, place, plan);
        }
    } else {
        let mut ends = Array::<f32>::new(comptime!(count as usize));
        let spot = (step * comptime!(plan.strip.units) + UNIT_POS) as usize;
        // Runs that lie between the ends of a window, or are one.
        if run < comptime!(computed + runs - 1) {
            pixels(shared, &mut ends, place, 0u32, count, plan);
            #[unroll]
            for j in 1..count {
                let p = comptime!((count - 1 - j) as usize);
                ends[p] = fold::<f32>(ends[p], ends[comptime!(p + 1)], comptime!(plan.down()));
            }
            if comptime!(runs > 1) {
                totals[spot] = ends[0usize];
            }
        }
        if comptime!(runs > 1) {
            sync_cube();
        }
        if run < computed {
            let mut begins = Array::<f32>::new(comptime!((count + rest) as usize));
            pixels(
                shared,
                &mut begins,
                place,
                comptime!(runs * plan.strip.rows),
                comptime!(count + rest),
                plan,
            );
            if comptime!(runs > 1) {
                let mut total = totals[spot + 1usize];
                for b in 2..runs {
                    total = fold::<f32>(total, totals[spot + b as usize], comptime!(plan.down()));
                }
                begins[0usize] = fold::<f32>(total, begins[0usize], comptime!(plan.down()));
            }
            #[unroll]
            for p in 1..comptime!((count + rest) as usize) {
                begins[p] = fold::<f32>(begins[comptime!(p - 1)], begins[p], comptime!(plan.down()));
            }
            #[unroll]
            for p in 0..comptime!(count as usize) {
                windows[p] = fold::<f32>(
                    ends[p],
                    begins[comptime!(p + rest as usize)],
                    comptime!(plan.down()),
                );
            }
        }
    }
    if comptime!(plan.fold == Fold::Sum) {
        #[unroll]
        for p in 0..comptime!(count as usize) {
            windows[p] *= inverse;
        }
    }
    let samples = comptime!(Samples::Floats);
    if comptime!(plan.strip.exchange && count == 8) {
        store_two_runs::<f32, N>(out, &windows, row + k, left, run, raster, computed, samples);
    } else if run < computed {
        let first = left + run * count;
        store_run::<f32, N>(out, &windows, row + k, first, raster, count, samples);
    }
}

/// The windows of a run that are narrower than it: the same from blocks as wide as a window.
#[cube]
fn near(shared: &SharedMemory<f32>, windows: &mut Array<f32>, place: usize, #[comptime] plan: Plan) {
    let count = comptime!(plan.strip.rows as usize);
    let reach = comptime!(2 * plan.radius as usize);
    let mut ends = Array::<f32>::new(comptime!(count + reach));
    let mut begins = Array::<f32>::new(comptime!(count + reach));
    pixels(
        shared,
        &mut ends,
        place,
        0u32,
        comptime!((count + reach) as u32),
        plan,
    );
    #[unroll]
    for p in 0..comptime!(count + reach) {
        if comptime!(p % (reach + 1) == 0) {
            begins[p] = ends[p];
        } else {
            begins[p] = fold::<f32>(begins[comptime!(p - 1)], ends[p], comptime!(plan.down()));
        }
    }
    #[unroll]
    for j in 1..comptime!(count + reach) {
        let p = comptime!(count + reach - 1 - j);
        if comptime!((p + 1) % (reach + 1) != 0) {
            ends[p] = fold::<f32>(ends[p], ends[comptime!(p + 1)], comptime!(plan.down()));
        }
    }
    #[unroll]
    for p in 0..count {
        if comptime!(p % (reach + 1) == 0) {
            windows[p] = ends[p];
        } else {
            windows[p] = fold::<f32>(ends[p], begins[comptime!(p + reach)], comptime!(plan.down()));
        }
    }
}
