//! The variants on the CPU.

use std::sync::LazyLock;

use rayon::prelude::*;
use relief_kernels::distance::cpu::{Transform, scratch_words};
use relief_raster::{View, ViewMut};

use super::Distance;
use crate::array::Layout;
use crate::family::{OnCpu, Outcome, Variant};

/// Steps that one thread takes in a second or two.
const PATIENCE: f64 = 2e9;

pub(super) fn variants() -> Vec<Variant<Distance>> {
    let squares = |problem: &Distance| vec![Layout::of::<u32>(problem.stored())];
    vec![
        Variant::cpu(
            "white",
            "each white pixel lowers the minima of its circle",
            |p: &Distance, call| {
                p.patience(p.lowered(false), PATIENCE)?;
                white(p, call, false)
            },
        )
        .scratch(squares),
        Variant::cpu(
            "white, neighbours",
            "a white neighbour spares that half of the circle",
            |p: &Distance, call| {
                p.patience(p.lowered(true), PATIENCE)?;
                white(p, call, true)
            },
        )
        .scratch(squares),
        Variant::cpu(
            "black",
            "each pixel looks outwards for the nearest white one",
            black,
        ),
        Variant::cpu(
            "separable",
            "distances along columns, then the least of the whole window along rows",
            separable,
        )
        .scratch(|problem| vec![Layout::of::<u16>(problem.stored())]),
        Variant::cpu(
            "threads production",
            "bounded, in tiles: vectorised passes down, up and across, with early ends",
            tiled,
        )
        .scratch(|problem| vec![Layout::of::<u32>(2 * Tiles::of(problem).words() * parts())])
        .production(),
    ]
}

fn white(problem: &Distance, call: OnCpu<'_>, halves: bool) -> Outcome {
    let (mask, profile) = (call.inputs[0].slice::<u8>(), call.inputs[1].slice::<u8>());
    let least = call.scratch[0].slice_mut::<u32>();
    least.fill(problem.squared() + 1);
    let (width, height, radius) = (problem.width, problem.height, problem.radius as usize);
    let pitch = problem.pitch();
    for at in (0..mask.len()).filter(|at| mask[*at] != 0) {
        let (x, y) = (at % pitch, at / pitch);
        if x >= width {
            continue;
        }
        let white = |there: bool, neighbour: usize| halves && there && mask[neighbour] != 0;
        let [up, down, left, right] = [
            white(y > 0, at.wrapping_sub(pitch)),
            white(y + 1 < height, at + pitch),
            white(x > 0, at.wrapping_sub(1)),
            white(x + 1 < width, at + 1),
        ]
        .map(|spared| if spared { 0 } else { radius });
        for row in y.saturating_sub(up)..=(y + down).min(height - 1) {
            let dy = row.abs_diff(y) as u32;
            for column in x.saturating_sub(left)..=(x + right).min(width - 1) {
                let dx = column.abs_diff(x) as u32;
                let place = &mut least[row * pitch + column];
                *place = (*place).min(dx * dx + dy * dy);
            }
        }
    }
    for (least, out) in least.iter().zip(call.outputs[0].slice_mut::<u8>()) {
        *out = profile[*least as usize];
    }
    Ok(())
}

fn black(problem: &Distance, call: OnCpu<'_>) -> Outcome {
    problem.patience(problem.looked_at(), PATIENCE)?;
    let (mask, profile) = (call.inputs[0].slice::<u8>(), call.inputs[1].slice::<u8>());
    let (width, height, pitch) = (problem.width, problem.height, problem.pitch());
    for (at, out) in call.outputs[0].slice_mut::<u8>().iter_mut().enumerate() {
        let (x, y) = (at % pitch, at / pitch);
        if x >= width {
            continue;
        }
        let mut least = problem.squared() as usize + 1;
        let mut dy = 0;
        while dy * dy < least {
            let above = y.checked_sub(dy);
            let below = Some(y + dy).filter(|y| *y < height);
            for row in above.into_iter().chain(below) {
                let row = &mask[row * pitch..][..width];
                let mut dx = 0;
                while dx * dx + dy * dy < least {
                    let left = x.checked_sub(dx).is_some_and(|x| row[x] != 0);
                    if left || row.get(x + dx).is_some_and(|white| *white != 0) {
                        least = dx * dx + dy * dy;
                    }
                    dx += 1;
                }
            }
            dy += 1;
        }
        *out = profile[least];
    }
    Ok(())
}

fn separable(problem: &Distance, call: OnCpu<'_>) -> Outcome {
    let reach = 2 * problem.radius as usize + 1;
    problem.patience((problem.pixels() * reach) as f64, PATIENCE)?;
    let (mask, profile) = (call.inputs[0].slice::<u8>(), call.inputs[1].slice::<u8>());
    let (width, radius) = (problem.width, problem.radius as usize);
    // A width of 0 has no rows, but chunks want a length.
    let pitch = problem.pitch().max(1);
    let gaps = call.scratch[0].slice_mut::<u16>();
    gaps_along(mask, pitch, radius as u16 + 1, gaps);
    let rows = call.outputs[0].slice_mut::<u8>().chunks_mut(pitch);
    for (gaps, out) in gaps.chunks(pitch).zip(rows) {
        for (x, out) in out[..width].iter_mut().enumerate() {
            let window = x.saturating_sub(radius)..(x + radius + 1).min(width);
            let start = window.start;
            let squares = gaps[window].iter().enumerate().map(|(k, gap)| {
                let dx = (start + k).abs_diff(x) as u32;
                dx * dx + u32::from(*gap) * u32::from(*gap)
            });
            let least = squares.min().unwrap_or(u32::MAX);
            *out = profile[least.min(problem.squared() + 1) as usize];
        }
    }
    Ok(())
}

/// How far the nearest white pixel of the column is, at most `far`; the same of what lies between rows, which are `pitch`
/// apart.
fn gaps_along(mask: &[u8], pitch: usize, far: u16, gaps: &mut [u16]) {
    for (at, white) in mask.iter().enumerate() {
        let above = if at < pitch { far } else { gaps[at - pitch] };
        gaps[at] = if *white == 0 { far.min(above + 1) } else { 0 };
    }
    for at in (0..gaps.len().saturating_sub(pitch)).rev() {
        gaps[at] = gaps[at].min(gaps[at + pitch] + 1);
    }
}

/// Parts of rows that production computes at the same time, each with its own memory.
fn parts() -> usize {
    // Asked once: on Linux the answer is in files, and reading them takes as long as a part of a call.
    static PARTS: LazyLock<usize> =
        LazyLock::new(|| 2 * std::thread::available_parallelism().map_or(1, usize::from));
    *PARTS
}

/// Rows of a part. As many as the radius are looked at above and below as well: where these would be more than half of its own, there are only as
/// many parts as threads.
fn rows(problem: &Distance) -> usize {
    let rows = problem.height.div_ceil(parts());
    if rows < 4 * problem.radius as usize {
        problem.height.div_ceil(parts().div_ceil(2))
    } else {
        rows
    }
}

/// The tiles of a part.
struct Tiles {
    width: usize,
    height: usize,
    radius: usize,
}

impl Tiles {
    fn of(problem: &Distance) -> Self {
        let (width, radius) = (problem.width.clamp(1, 4_096), problem.radius as usize);
        // Rows whose distances along columns, a byte each, fit in a core's second cache.
        let height = (1 << 20) / (width + 2 * radius);
        Self {
            width,
            height: rows(problem).clamp(1, height),
            radius,
        }
    }

    /// Words of the transform.
    fn words(&self) -> usize {
        scratch_words(self.width, self.height, self.radius as u32)
    }
}

fn tiled(problem: &Distance, call: OnCpu<'_>) -> Outcome {
    if problem.pixels() == 0 {
        return Ok(());
    }
    let (mask, profile) = (call.inputs[0].slice::<u8>(), call.inputs[1].slice::<u8>());
    let tiles = Tiles::of(problem);
    let (rows, pitch) = (rows(problem), problem.pitch());
    let out = call.outputs[0].slice_mut::<u8>().par_chunks_mut(rows * pitch);
    let scratch: &mut [u64] = bytemuck::cast_slice_mut(call.scratch[0].bytes_mut());
    let parts = out.zip(scratch.par_chunks_mut(tiles.words()));
    parts.enumerate().for_each(|(part, (out, scratch))| {
        let height = out.len() / pitch;
        let mut out = ViewMut::new(out, problem.width, height, pitch);
        for top in (0..height).step_by(tiles.height) {
            let down = tiles.height.min(height - top);
            for left in (0..problem.width).step_by(tiles.width) {
                let across = tiles.width.min(problem.width - left);
                let out = out.part(left, top, across, down);
                let place = (left, part * rows + top);
                tile(problem, mask, profile, place, out, &tiles, scratch);
            }
        }
    });
    Ok(())
}

fn tile(
    problem: &Distance,
    mask: &[u8],
    profile: &[u8],
    (left, top): (usize, usize),
    out: ViewMut<'_, u8>,
    tiles: &Tiles,
    scratch: &mut [u64],
) {
    let (width, height, radius) = (out.width(), out.height(), tiles.radius);
    let mut transform = Transform::new(width, height, problem.radius, scratch);
    // Rows and columns of the mask; those outside of it are black.
    let rows = top.saturating_sub(radius)..(top + height + radius).min(problem.height);
    let inside = left.saturating_sub(radius)..(left + width + radius).min(problem.width);
    let mask = View::new(mask, problem.width, problem.height, problem.pitch());
    transform.push_black(rows.start + radius - top);
    transform.push_part(
        mask.part(inside.start, rows.start, inside.len(), rows.len()),
        inside.start + radius - left,
    );
    let (last, entries) = profile
        .split_last()
        .map_or((0, profile), |(last, rest)| (*last, rest));
    transform.finish(entries, last, out);
}
