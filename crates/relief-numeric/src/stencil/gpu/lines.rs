//! Sums, least and greatest of squares of f32 by units (threads) that go along lines, down columns and then,
//! in the place of the result, along rows. Of sums nothing is taken away again.
//!
//! A unit keeps the 2r samples before the ones that enter in registers, and the totals of blocks of them: a
//! step's windows are the end of what it keeps from each sample on, and the beginning of what enters. So each
//! sample is loaded once and stored once on either way, and no unit waits for another or needs anything of
//! it. A unit has a row to itself from end to end and is r samples ahead of what it stores, so rows need no
//! other place.
//!
//! That suits software Vulkan: each load and store there goes unit by unit, while arithmetic in registers is
//! by whole vectors. A device has too few rows for its units, and reaches for neighbouring samples at once
//! only down columns.

use cubecl::prelude::*;

use super::Samples;
use super::down::{Down, Fold, fold};
use super::pairs::Pairs;
use super::strip::Strip;

/// Samples of a step.
pub(super) const STEP: u32 = 8;

/// Units of a cube along rows: few, so that all threads have some.
pub(super) const UNITS: u32 = 64;

/// What is compiled into the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lines {
    pub(super) fold: Fold,
    pub(super) radius: u32,
}

impl Lines {
    const fn down(&self) -> Down {
        Down {
            samples: Samples::Floats,
            fold: self.fold,
            pairs: Pairs::Apart,
            radius: self.radius,
            strip: Strip {
                units: 0,
                rows: STEP,
                double: false,
                kept: false,
                ahead: 1,
                exchange: false,
            },
        }
    }

    /// Samples that a unit keeps.
    const fn kept(&self) -> usize {
        2 * self.radius as usize
    }

    /// Whole blocks of them, counted from the last sample, and the samples before.
    const fn blocks(&self) -> (usize, usize) {
        (self.kept() / STEP as usize, self.kept() % STEP as usize)
    }
}

/// What a unit keeps of its line.
#[derive(CubeType)]
struct Line {
    /// The samples before those that enter.
    samples: Array<f32>,
    /// The totals of all blocks of them but the first.
    totals: Array<f32>,
    /// Where the line begins in memory, and how far its samples are apart.
    origin: u32,
    apart: u32,
    /// Its last sample.
    last: i32,
}

/// The line so many samples after `origin`; its windows of the step from sample `first` on are the next.
#[cube]
fn line(
    source: &Array<f32>,
    origin: u32,
    apart: u32,
    count: u32,
    first: u32,
    #[comptime] plan: Lines,
) -> Line {
    let (kept, step) = comptime!((plan.kept(), STEP as usize));
    let mut samples = Array::<f32>::new(comptime!(kept.max(1)));
    #[unroll]
    for k in 0..kept {
        samples[k] = 0.0f32;
    }
    let blocks = comptime!(plan.blocks().0.max(2));
    let mut totals = Array::<f32>::new(comptime!(blocks - 1));
    #[unroll]
    for b in 0..comptime!(blocks - 1) {
        totals[b] = 0.0f32;
    }
    let mut line = Line {
        samples,
        totals,
        origin,
        apart,
        last: count as i32 - 1i32,
    };
    // Whole steps; what the first of them has too much leaves again.
    let steps = comptime!(kept.div_ceil(step) as u32);
    let begin = first as i32 + comptime!(plan.radius as i32 - (steps * STEP) as i32);
    for s in 0..steps {
        let entering = load(source, begin + (s * STEP) as i32, &line);
        let mut total = entering[0usize];
        #[unroll]
        for k in 1..step {
            total = fold::<f32>(total, entering[k], comptime!(plan.down()));
        }
        keep(&mut line, &entering, total, plan);
    }
    line
}

/// The samples of a step from sample `first` on; those outside of the line are the nearest inside.
#[cube]
fn load(source: &Array<f32>, first: i32, line: &Line) -> Array<f32> {
    let mut samples = Array::<f32>::new(comptime!(STEP as usize));
    #[unroll]
    for k in 0..comptime!(STEP as usize) {
        // Without a condition: both ways would be gone.
        let sample = max(min(first + comptime!(k as i32), line.last), 0i32) as u32;
        samples[k] = source[(line.origin + sample * line.apart) as usize];
    }
    samples
}

/// Lets the oldest samples leave for those that have entered.
#[cube]
fn keep(line: &mut Line, entering: &Array<f32>, total: f32, #[comptime] plan: Lines) {
    let (kept, step) = comptime!((plan.kept(), STEP as usize));
    #[unroll]
    for k in 0..kept {
        if comptime!(k + step < kept) {
            line.samples[k] = line.samples[comptime!(k + step)];
        } else {
            line.samples[k] = entering[comptime!(k + step - kept)];
        }
    }
    let totals = comptime!(plan.blocks().0.max(1) - 1);
    #[unroll]
    for b in 0..totals {
        if comptime!(b + 1 < totals) {
            line.totals[b] = line.totals[comptime!(b + 1)];
        } else {
            line.totals[b] = total;
        }
    }
}

/// The windows of a step, whose last samples are those that enter.
#[cube]
fn windows(line: &mut Line, entering: &Array<f32>, #[comptime] plan: Lines) -> Array<f32> {
    let (kept, step) = comptime!((plan.kept(), STEP as usize));
    let (blocks, rest) = comptime!(plan.blocks());
    let mut windows = Array::<f32>::new(step);
    let mut begun = entering[0usize];
    if comptime!(blocks == 0) {
        // A window is lower than a step.
        #[unroll]
        for k in 0..step {
            let mut window = entering[k];
            #[unroll]
            for b in 1..comptime!(kept + 1) {
                if comptime!(b <= k) {
                    window = fold::<f32>(window, entering[comptime!(k - b)], comptime!(plan.down()));
                } else {
                    let before = line.samples[comptime!(kept + k - b)];
                    window = fold::<f32>(window, before, comptime!(plan.down()));
                }
            }
            windows[k] = window;
        }
    } else {
        // The ends, from the last sample of the first block on.
        let mut end = line.samples[comptime!(step + rest - 1)];
        #[unroll]
        for b in 0..comptime!(blocks - 1) {
            end = fold::<f32>(end, line.totals[b], comptime!(plan.down()));
        }
        #[unroll]
        for j in 0..comptime!(step + rest) {
            let k = comptime!(step + rest - 1 - j);
            if comptime!(j > 0) {
                end = fold::<f32>(end, line.samples[k], comptime!(plan.down()));
            }
            if comptime!(k < step) {
                windows[k] = end;
            }
        }
        #[unroll]
        for k in 0..step {
            if comptime!(k > 0) {
                begun = fold::<f32>(begun, entering[k], comptime!(plan.down()));
            }
            windows[k] = fold::<f32>(windows[k], begun, comptime!(plan.down()));
        }
    }
    keep(line, entering, begun, plan);
    windows
}

/// Folds the columns of windows, in strips of `steps` steps; CUBE_POS_Y counts these down.
#[cube(launch_unchecked, address_type = "dynamic")]
pub(super) fn columns(
    source: &Array<f32>,
    out: &mut Array<f32>,
    width: u32,
    height: u32,
    pitch: u32,
    steps: u32,
    #[comptime] plan: Lines,
) {
    let column = ABSOLUTE_POS_X;
    if column < width {
        let mut row = CUBE_POS_Y * steps * STEP;
        let mut line = line(source, column, pitch, height, row, plan);
        for _ in 0..steps {
            let entering = load(source, (row + comptime!(plan.radius)) as i32, &line);
            let windows = windows(&mut line, &entering, plan);
            #[unroll]
            for k in 0..comptime!(STEP as usize) {
                let below = row + comptime!(k as u32);
                if below < height {
                    out[(below * pitch + column) as usize] = windows[k];
                }
            }
            row += STEP;
        }
    }
}

/// Folds the rows of windows in their place; sums become sum · `inverse`. What lies past the width of a row becomes 0. `ran` becomes 1: the first word of what is computed in its
/// place tells nobody that it was.
#[cube(launch_unchecked, address_type = "dynamic")]
pub(super) fn rows(
    out: &mut Array<f32>,
    ran: &mut Array<u32>,
    width: u32,
    height: u32,
    pitch: u32,
    inverse: f32,
    #[comptime] plan: Lines,
) {
    let row = ABSOLUTE_POS_X;
    if row < height {
        if row == 0u32 {
            ran[0usize] = u32::new(1);
        }
        let origin = row * pitch;
        let mut first = u32::new(0);
        let mut line = line(out, origin, 1u32, width, first, plan);
        for _ in 0..pitch.div_ceil(STEP) {
            let entering = load(out, (first + comptime!(plan.radius)) as i32, &line);
            let windows = windows(&mut line, &entering, plan);
            #[unroll]
            for k in 0..comptime!(STEP as usize) {
                let column = first + comptime!(k as u32);
                let mut window = windows[k];
                if comptime!(plan.fold == Fold::Sum) {
                    window *= inverse;
                }
                if column < pitch {
                    out[(origin + column) as usize] = select(column < width, window, 0.0f32);
                }
            }
            first += STEP;
        }
    }
}
