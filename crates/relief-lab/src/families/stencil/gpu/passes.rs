//! Columns, then rows: two kernels, and a picture of f32 between them.

use cubecl::prelude::*;
use relief_kernels::device::{Operand, cover, launch};
use relief_numeric::stencil::gpu::Samples;

use super::pixels::{nearest, pixel, word};
use super::{Combine, samples};
use crate::families::stencil::Stencil;
use crate::family::{OnGpu, Outcome};

/// Units of a cube, across and down.
const CUBE: (u32, u32) = (32, 8);

/// Pixels of a column, or words of a row, that a unit takes one after the other for running sums.
const RUN: u32 = 64;

/// What is compiled into a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    samples: Samples,
    combine: Combine,
    running: bool,
    down: bool,
}

/// Columns, then rows; sums from their neighbours' where they are `running`.
pub(super) fn both(problem: &Stencil, call: &OnGpu<'_>, running: bool) -> Outcome {
    if problem.is_empty() {
        return Ok(());
    }
    for down in [true, false] {
        let shape = Shape {
            samples: samples(problem.kind),
            combine: Combine::of(&problem.filter),
            running,
            down,
        };
        match shape.samples {
            Samples::Bytes => pass::<u32>(problem, call, shape)?,
            Samples::Floats => pass::<f32>(problem, call, shape)?,
        }
    }
    Ok(())
}

fn pass<W: Numeric>(problem: &Stencil, call: &OnGpu<'_>, shape: Shape) -> Outcome {
    let (picture, weights, out) = (&call.inputs[0], &call.inputs[2], &call.outputs[0]);
    let (name, between, (half, inverse)) = ("stencil ladder pass", &call.scratch[0], problem.rounding());
    let (width, height, radius) = (
        problem.width as u32,
        problem.height as u32,
        problem.radius() as u32,
    );
    let pitch = problem.row_words();
    let columns = pitch * shape.samples.per_word();
    let run = if shape.running { RUN } else { 1 };
    // SAFETY: pixels and words are compared with those of the results, what is between has `columns` pixels a row, and the
    // nearest pixels are inside; there are 2 · radius + 1 weights.
    if shape.down {
        launch!(
            call.gpu, name, &shape, &[Operand::write("the output", between)],
            cover((columns, height.div_ceil(run)), CUBE),
            unsafe columns_pass<W, _>(
                picture.array(1), weights.array(1), between.array(1), width, height, pitch, columns, radius,
                shape))?;
    } else {
        launch!(
            call.gpu, name, &shape, &[Operand::write("the output", out)],
            cover((pitch.div_ceil(run), height), CUBE),
            unsafe rows_pass<W, _>(
                between.array(1), weights.array(1), out.array(1), width, height, pitch, columns, radius, half,
                inverse, shape))?;
    }
    Ok(())
}

/// One more sample.
#[cube]
fn fold(value: f32, sample: f32, weight: f32, first: bool, #[comptime] combine: Combine) -> f32 {
    let mut folded = value + sample * weight;
    if comptime!(matches!(combine, Combine::Least)) {
        folded = min(value, sample);
    }
    if first && comptime!(!matches!(combine, Combine::Weighted)) {
        folded = sample;
    }
    folded
}

#[cube(launch_unchecked)]
fn columns_pass<W: Numeric>(
    source: &Array<W>,
    weights: &Array<f32>,
    between: &mut Array<f32>,
    width: u32,
    height: u32,
    pitch: u32,
    columns: u32,
    radius: u32,
    #[comptime] shape: Shape,
) {
    let samples = comptime!(shape.samples);
    let x = ABSOLUTE_POS_X;
    let mut first = ABSOLUTE_POS_Y;
    let mut count = u32::new(1);
    if comptime!(shape.running) {
        first = ABSOLUTE_POS_Y * RUN;
        count = u32::new(comptime!(RUN as i64));
    }
    if x < columns && first < height {
        let column = nearest(x as i32, width);
        let mut value = f32::new(0.0);
        // rung: stencil on gpu: separable
        for d in 0..(2u32 * radius + 1u32) {
            let row = nearest((first + d) as i32 - radius as i32, height);
            let sample = pixel::<W>(source, column, row, pitch, samples);
            value = fold(
                value,
                sample,
                weights[d as usize],
                d == 0,
                comptime!(shape.combine),
            );
        }
        between[(first * columns + x) as usize] = value;
        // end
        if comptime!(shape.running) {
            // rung: stencil on gpu: running sum
            for y in (first + 1u32)..min(first + count, height) {
                let enters = nearest((y + radius) as i32, height);
                let leaves = nearest(y as i32 - radius as i32 - 1i32, height);
                value += pixel::<W>(source, column, enters, pitch, samples)
                    - pixel::<W>(source, column, leaves, pitch, samples);
                between[(y * columns + x) as usize] = value;
            }
            // end
        }
    }
}

#[cube(launch_unchecked)]
fn rows_pass<W: Numeric>(
    between: &Array<f32>,
    weights: &Array<f32>,
    out: &mut Array<W>,
    width: u32,
    height: u32,
    pitch: u32,
    columns: u32,
    radius: u32,
    half: f32,
    inverse: f32,
    #[comptime] shape: Shape,
) {
    let samples = comptime!(shape.samples);
    let per_word = comptime!(samples.per_word());
    let y = ABSOLUTE_POS_Y;
    let mut first = ABSOLUTE_POS_X;
    let mut count = u32::new(1);
    if comptime!(shape.running) {
        first = ABSOLUTE_POS_X * RUN;
        count = u32::new(comptime!(RUN as i64));
    }
    if y < height {
        let mut value = f32::new(0.0);
        for w in first..min(first + count, pitch) {
            let mut values = Array::<f32>::new(comptime!(per_word as usize));
            #[unroll]
            for b in 0..per_word {
                let x = w * per_word + b;
                let mut again = true;
                if comptime!(shape.running) {
                    again = w == first && b == 0;
                }
                if again {
                    value = f32::new(0.0);
                    for d in 0..(2u32 * radius + 1u32) {
                        let column = nearest((x + d) as i32 - radius as i32, width);
                        let sample = between[(y * columns + column) as usize];
                        value = fold(
                            value,
                            sample,
                            weights[d as usize],
                            d == 0,
                            comptime!(shape.combine),
                        );
                    }
                } else {
                    let enters = nearest((x + radius) as i32, width);
                    let leaves = nearest(x as i32 - radius as i32 - 1i32, width);
                    value +=
                        between[(y * columns + enters) as usize] - between[(y * columns + leaves) as usize];
                }
                let mut result = value;
                if comptime!(matches!(shape.combine, Combine::Weighted)) {
                    result = (value + half) * inverse;
                }
                if x >= width {
                    result = f32::new(0.0);
                }
                values[comptime!(b as usize)] = result;
            }
            out[(y * pitch + w) as usize] = word::<W>(&values, samples);
        }
    }
}
