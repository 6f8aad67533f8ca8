//! The variants on the CPU.

use rayon::prelude::*;
use relief_numeric::integral::Sums;
use relief_numeric::integral::cpu::{self, BAND, Picture, Sum};

use super::Integral;
use crate::array::Layout;
use crate::family::{OnCpu, Outcome, Variant};

pub(super) fn variants() -> Vec<Variant<Integral>> {
    vec![
        Variant::cpu(
            "naive",
            "the sum of the row so far, added to the sum above",
            |p, call| each(p, call, &Naive),
        ),
        Variant::cpu(
            "threads",
            "strips of columns that stay in the nearest cache, in as many bands at a time as there are threads",
            |p, call| each(p, call, &Bands),
        )
        .scratch(bands)
        .production(),
    ]
}

/// A row for each band.
fn bands(problem: &Integral) -> Vec<Layout> {
    let sums = problem.height.div_ceil(BAND) * problem.width;
    vec![Layout::of::<u32>(sums * problem.sums.words() as usize)]
}

/// A way of summing.
trait Way {
    fn sum<S: Sum>(&self, problem: &Integral, from: &[S::Sample], to: &mut [S], scratch: &mut [S]);
}

fn each(problem: &Integral, call: OnCpu<'_>, way: &impl Way) -> Outcome {
    match problem.sums {
        Sums::Short => run::<u32>(problem, call, way),
        Sums::Long => run::<u64>(problem, call, way),
        Sums::Floats => run::<f32>(problem, call, way),
    }
    Ok(())
}

fn run<S: Sum>(problem: &Integral, call: OnCpu<'_>, way: &impl Way) {
    let from = bytemuck::cast_slice(call.inputs[0].bytes());
    let to: &mut [S] = bytemuck::cast_slice_mut(call.outputs[0].bytes_mut());
    if problem.width == 0 {
        return;
    }
    let scratch = call.scratch.first_mut();
    let scratch = scratch.map(|scratch| bytemuck::cast_slice_mut(scratch.bytes_mut()));
    way.sum(problem, from, to, scratch.unwrap_or_default());
    // What follows in a row is as if there were zeros.
    for row in to.chunks_mut(problem.pitch_out()) {
        let last = row[problem.width - 1];
        row[problem.width..].fill(last);
    }
}

struct Naive;

impl Way for Naive {
    fn sum<S: Sum>(&self, problem: &Integral, from: &[S::Sample], to: &mut [S], _: &mut [S]) {
        let (width, pitch) = (problem.width, problem.pitch_out());
        // rung: integral on cpu: naive
        for (y, row) in from.chunks(problem.pitch_in()).enumerate() {
            let (above, here) = to[..(y + 1) * pitch].split_at_mut(y * pitch);
            let above = above.chunks(pitch).next_back();
            let mut sum = S::default();
            for x in 0..width {
                sum = S::plus(sum, S::one(row[x]));
                here[x] = above.map_or(sum, |above| S::plus(sum, above[x]));
            }
        }
        // end
    }
}

struct Bands;

impl Way for Bands {
    fn sum<S: Sum>(&self, problem: &Integral, from: &[S::Sample], to: &mut [S], scratch: &mut [S]) {
        let picture = Picture {
            samples: from,
            width: problem.width,
            height: problem.height,
            pitch: problem.pitch_in(),
        };
        by_threads(picture, scratch, to, problem.pitch_out());
    }
}

/// Computes an integral image by as many bands at a time as there are threads: what they have summed they find in their caches
/// again.
pub(super) fn by_threads<S: Sum>(
    picture: Picture<'_, S::Sample>,
    scratch: &mut [S],
    to: &mut [S],
    pitch: usize,
) {
    let (width, turn) = (picture.width, rayon::current_num_threads());
    for (k, out) in to.chunks_mut(turn * BAND * pitch).enumerate() {
        let first = k * turn;
        let (before, own) = scratch.split_at_mut(first * width);
        let before = before.chunks_exact(width).next_back();
        let own = &mut own[..out.len().div_ceil(BAND * pitch) * width];
        let sums = own.par_chunks_mut(width).enumerate();
        sums.for_each(|(band, sums)| cpu::column_sums(picture, first + band, sums));
        cpu::last_rows(before, own, width);
        let own = &*own;
        let targets = out.par_chunks_mut(BAND * pitch).enumerate();
        targets.for_each(|(band, out)| {
            let above = band.checked_sub(1).map(|above| &own[above * width..][..width]);
            cpu::band(picture, first + band, above.or(before), out, pitch);
        });
    }
}
