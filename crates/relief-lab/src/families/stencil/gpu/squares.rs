//! Whole squares: from memory, or from tiles in shared memory.

use cubecl::prelude::*;
use relief_kernels::device::{Operand, launch};
use relief_numeric::stencil::gpu::Samples;

use super::pixels::{nearest, pixel, word};
use super::{Combine, near_enough, samples};
use crate::families::stencil::Stencil;
use crate::family::{Failure, OnGpu, Outcome};

/// Units of a cube, across and down.
const CUBE: (u32, u32) = (32, 8);

/// Rows of words that a cube computes by a tile.
const TILE_ROWS: u32 = 16;

/// What is compiled into a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    samples: Samples,
    combine: Combine,
    /// Pixels around a cube's own that its tile has, where it has one.
    border: Option<u32>,
}

impl Shape {
    /// Rows of words of a cube.
    const fn rows(self) -> u32 {
        match self.border {
            Some(_) => TILE_ROWS,
            None => CUBE.1,
        }
    }

    /// Columns and rows of a tile.
    const fn tile(self) -> (u32, u32) {
        match self.border {
            Some(radius) => (
                CUBE.0 * self.samples.per_word() + 2 * radius,
                TILE_ROWS + 2 * radius,
            ),
            None => (1, 1),
        }
    }
}

/// From memory or, `tiled`, from a tile for each cube.
pub(super) fn squares(problem: &Stencil, call: &OnGpu<'_>, tiled: bool) -> Outcome {
    near_enough(problem)?;
    if problem.is_empty() {
        return Ok(());
    }
    let shape = Shape {
        samples: samples(problem.kind),
        combine: Combine::of(&problem.filter),
        border: tiled.then(|| problem.radius() as u32),
    };
    let (across, down) = shape.tile();
    if 4 * across * down > call.gpu.report().shared_memory {
        let kib = across * down / 256;
        return Err(Failure::Unsupported(format!(
            "a tile of {kib} KiB of shared memory"
        )));
    }
    match shape.samples {
        Samples::Bytes => squares_of::<u32>(problem, call, shape),
        Samples::Floats => squares_of::<f32>(problem, call, shape),
    }
}

fn squares_of<W: Numeric>(problem: &Stencil, call: &OnGpu<'_>, shape: Shape) -> Outcome {
    let (picture, weights, out) = (&call.inputs[0], &call.inputs[1], &call.outputs[0]);
    let (pitch, width, height) = (problem.row_words(), problem.width as u32, problem.height as u32);
    let ((half, inverse), radius) = (problem.rounding(), problem.radius() as u32);
    let cubes = CubeCount::Static(pitch.div_ceil(CUBE.0), height.div_ceil(shape.rows()), 1);
    // SAFETY: words and rows are compared with those of the result; pixels are the nearest inside of the picture, or lie in the
    // tile; there are as many weights as pixels of a square.
    launch!(
        call.gpu, "stencil ladder squares", &shape, &[Operand::write("the output", out)],
        (cubes, CubeDim::new_2d(CUBE.0, CUBE.1)),
        unsafe square_sums<W, _>(
            picture.array(1), weights.array(1), out.array(1), width, height, pitch, radius, half, inverse,
            shape))?;
    Ok(())
}

/// The radius is no constant here: loops of a length that compilers know are unrolled, for minutes.
#[cube(launch_unchecked)]
fn square_sums<W: Numeric>(
    source: &Array<W>,
    weights: &Array<f32>,
    out: &mut Array<W>,
    width: u32,
    height: u32,
    pitch: u32,
    radius: u32,
    half: f32,
    inverse: f32,
    #[comptime] shape: Shape,
) {
    let samples = comptime!(shape.samples);
    let per_word = comptime!(samples.per_word());
    let (across, down) = comptime!(shape.tile());
    let mut tile = SharedMemory::<f32>::new(comptime!((across * down) as usize));
    let (left, top) = (
        CUBE_POS_X * comptime!(CUBE.0),
        CUBE_POS_Y * comptime!(shape.rows()),
    );
    if comptime!(shape.border.is_some()) {
        // rung: stencil on gpu: tiled
        let mut row = UNIT_POS_Y;
        while row < down {
            let mut column = UNIT_POS_X;
            while column < across {
                let x = nearest((left * per_word + column) as i32 - radius as i32, width);
                let y = nearest((top + row) as i32 - radius as i32, height);
                tile[(row * across + column) as usize] = pixel::<W>(source, x, y, pitch, samples);
                column += comptime!(CUBE.0);
            }
            row += comptime!(CUBE.1);
        }
        sync_cube();
        // end
    }
    let side = 2u32 * radius + 1u32;
    #[unroll]
    for k in 0..comptime!(shape.rows() / CUBE.1) {
        let line = UNIT_POS_Y + comptime!(k * CUBE.1);
        let (w, y) = (left + UNIT_POS_X, top + line);
        if w < pitch && y < height {
            let mut values = Array::<f32>::new(comptime!(per_word as usize));
            #[unroll]
            for b in 0..per_word {
                let x = w * per_word + b;
                let mut value = f32::new(0.0);
                let mut slope = f32::new(0.0);
                if x < width {
                    for dy in 0..side {
                        for dx in 0..side {
                            let p = if comptime!(shape.border.is_some()) {
                                tile[((line + dy) * across + UNIT_POS_X * per_word + b + dx) as usize]
                            } else {
                                // rung: stencil on gpu: naive
                                let column = nearest((x + dx) as i32 - radius as i32, width);
                                let row = nearest((y + dy) as i32 - radius as i32, height);
                                pixel::<W>(source, column, row, pitch, samples)
                                // end
                            };
                            match comptime!(shape.combine) {
                                Combine::Weighted => {
                                    value += p * weights[(dy * side + dx) as usize];
                                }
                                Combine::Least => {
                                    if dy + dx == 0 {
                                        value = p;
                                    }
                                    value = min(value, p);
                                }
                                Combine::Edges => {
                                    // 1, 2, 1 times −1, 0, 1.
                                    let (i, j) = (dx as i32 - 1i32, dy as i32 - 1i32);
                                    value += p * f32::cast_from(i * (2i32 - j * j));
                                    slope += p * f32::cast_from(j * (2i32 - i * i));
                                }
                            }
                        }
                    }
                    if comptime!(matches!(shape.combine, Combine::Edges)) {
                        value = f32::abs(value) + f32::abs(slope);
                    }
                    if comptime!(matches!(shape.combine, Combine::Weighted)) {
                        value = (value + half) * inverse;
                    }
                }
                values[comptime!(b as usize)] = value;
            }
            out[(y * pitch + w) as usize] = word::<W>(&values, samples);
        }
    }
}
