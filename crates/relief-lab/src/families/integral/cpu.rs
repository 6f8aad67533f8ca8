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
            |p, call| each(p, call, false),
        ),
        Variant::cpu(
            "threads",
            "strips of columns that stay in the nearest cache, in as many bands at a time as there are threads",
            |p, call| each(p, call, true),
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

fn each(problem: &Integral, call: OnCpu<'_>, threads: bool) -> Outcome {
    match problem.sums {
        Sums::Short => run::<u32>(problem, call, threads),
        Sums::Long => run::<u64>(problem, call, threads),
        Sums::Floats => run::<f32>(problem, call, threads),
    }
    Ok(())
}

fn run<S: Sum>(problem: &Integral, call: OnCpu<'_>, threads: bool) {
    let picture = Picture {
        samples: bytemuck::cast_slice(call.inputs[0].bytes()),
        width: problem.width,
        height: problem.height,
        pitch: problem.pitch_in(),
    };
    let to: &mut [S] = bytemuck::cast_slice_mut(call.outputs[0].bytes_mut());
    let pitch = problem.pitch_out();
    if problem.width == 0 {
        return;
    }
    if threads {
        let scratch = bytemuck::cast_slice_mut(call.scratch[0].bytes_mut());
        by_threads(picture, scratch, to, pitch);
    } else {
        naive(problem, picture.samples, to);
    }
    // What follows in a row is as if there were zeros.
    for row in to.chunks_mut(pitch) {
        let last = row[problem.width - 1];
        row[problem.width..].fill(last);
    }
}

fn naive<S: Sum>(problem: &Integral, from: &[S::Sample], to: &mut [S]) {
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
