//! The variants on the CPU.

use bytemuck::Pod;
use relief_kernels::integral::Sums;

use super::Integral;
use crate::family::{OnCpu, Outcome, Variant};

pub(super) fn variants() -> Vec<Variant<Integral>> {
    vec![
        Variant::cpu(
            "naive",
            "the sum of the row so far, added to the sum above",
            |p, call| each(p, call, &Naive),
        ),
        Variant::cpu("two passes", "all rows, then all columns", |p, call| {
            each(p, call, &TwoPasses)
        }),
    ]
}

/// Sums and what they are of.
trait Sum: Pod {
    type Sample: Pod;
    fn one(sample: Self::Sample) -> Self;
    fn plus(self, other: Self) -> Self;
}

macro_rules! sums {
    ($($type:ty, $sample:ty, $plus:expr;)+) => {$(
        impl Sum for $type {
            type Sample = $sample;

            fn one(sample: $sample) -> Self {
                sample.into()
            }

            fn plus(self, other: Self) -> Self {
                $plus(self, other)
            }
        }
    )+};
}

sums! {
    u32, u8, u32::wrapping_add;
    u64, u8, u64::wrapping_add;
    f32, f32, |a: f32, b: f32| a + b;
}

/// A way of summing.
trait Way {
    fn sum<S: Sum>(&self, problem: &Integral, from: &[S::Sample], to: &mut [S]);
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
    way.sum(problem, from, to);
    // What follows in a row is as if there were zeros.
    for row in to.chunks_mut(problem.pitch_out()) {
        let last = row[problem.width - 1];
        row[problem.width..].fill(last);
    }
}

struct Naive;

impl Way for Naive {
    fn sum<S: Sum>(&self, problem: &Integral, from: &[S::Sample], to: &mut [S]) {
        let (width, pitch) = (problem.width, problem.pitch_out());
        for (y, row) in from.chunks(problem.pitch_in()).enumerate() {
            let (above, here) = to[..(y + 1) * pitch].split_at_mut(y * pitch);
            let above = above.chunks(pitch).next_back();
            let mut sum = S::zeroed();
            for x in 0..width {
                sum = sum.plus(S::one(row[x]));
                here[x] = above.map_or(sum, |above| sum.plus(above[x]));
            }
        }
    }
}

struct TwoPasses;

impl Way for TwoPasses {
    fn sum<S: Sum>(&self, problem: &Integral, from: &[S::Sample], to: &mut [S]) {
        let (width, pitch) = (problem.width, problem.pitch_out());
        for (row, to) in from.chunks(problem.pitch_in()).zip(to.chunks_mut(pitch)) {
            let mut sum = S::zeroed();
            for (sample, to) in row[..width].iter().zip(to) {
                sum = sum.plus(S::one(*sample));
                *to = sum;
            }
        }
        for y in 1..problem.height {
            let (above, here) = to.split_at_mut(y * pitch);
            let above = &above[(y - 1) * pitch..];
            for (sum, above) in here.iter_mut().zip(above) {
                *sum = sum.plus(*above);
            }
        }
    }
}
