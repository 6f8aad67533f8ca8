//! Whole squares: from memory, or from tiles in shared memory.

use cubecl::prelude::*;
use relief_kernels::device::{Operand, cover, launch};
use relief_numeric::stencil::gpu::Samples;

use super::pixels::{nearest, pixel, word};
use super::{Combine, near_enough, samples};
use crate::families::stencil::Stencil;
use crate::family::{Failure, OnGpu, Outcome};

/// Units of a cube, across and down.
const CUBE: (u32, u32) = (32, 8);

/// Rows of words that a cube computes by a tile.
const TILE_ROWS: u32 = 16;

/// Where units find the pixels around theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// In memory; some may lie outside.
    Anywhere,
    /// In a tile.
    Tile(Tile),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Tile {
    width: u32,
    height: u32,
}

/// What is compiled into a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    samples: Samples,
    combine: Combine,
    place: Place,
}

pub(super) fn naive(problem: &Stencil, call: &OnGpu<'_>) -> Outcome {
    near_enough(problem)?;
    if problem.is_empty() {
        return Ok(());
    }
    let shape = Shape {
        samples: samples(problem.kind),
        combine: Combine::of(&problem.filter),
        place: Place::Anywhere,
    };
    match shape.samples {
        Samples::Bytes => squares_of::<u32>(problem, call, shape),
        Samples::Floats => squares_of::<f32>(problem, call, shape),
    }
}

fn squares_of<W: Numeric>(problem: &Stencil, call: &OnGpu<'_>, shape: Shape) -> Outcome {
    let (picture, weights, out) = (&call.inputs[0], &call.inputs[1], &call.outputs[0]);
    let (pitch, width, height) = (problem.row_words(), problem.width as u32, problem.height as u32);
    let (half, inverse) = problem.rounding();
    // SAFETY: words and rows are compared with those of the result; pixels are the nearest inside of the picture; there are as
    // many weights as pixels of a square.
    launch!(
        call.gpu, "stencil ladder squares", &shape, &[Operand::write("the output", out)],
        cover((pitch, height), CUBE),
        unsafe squares<W, _>(
            picture.array(1), weights.array(1), out.array(1), width, height, pitch, problem.radius() as u32,
            half, inverse, shape))?;
    Ok(())
}

#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn squares<W: Numeric>(
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
    let tile = SharedMemory::<f32>::new(1usize);
    let (w, y) = (ABSOLUTE_POS_X, ABSOLUTE_POS_Y);
    if w < pitch && y < height {
        let result = word_of::<W>(
            source, weights, &tile, w, y, 0u32, 0u32, width, height, pitch, radius, half, inverse, shape,
        );
        out[(y * pitch + w) as usize] = result;
    }
}

/// Word (`w`, `y`) of the result; its first pixel's square begins at (`x0`, `y0`) of the tile, where there is one.
#[cube]
#[allow(clippy::too_many_arguments)]
fn word_of<W: Numeric>(
    source: &Array<W>,
    weights: &Array<f32>,
    tile: &SharedMemory<f32>,
    w: u32,
    y: u32,
    x0: u32,
    y0: u32,
    width: u32,
    height: u32,
    pitch: u32,
    radius: u32,
    half: f32,
    inverse: f32,
    #[comptime] shape: Shape,
) -> W {
    let per_word = comptime!(shape.samples.per_word());
    let side = 2u32 * radius + 1u32;
    let mut values = Array::<f32>::new(comptime!(per_word as usize));
    #[unroll]
    for b in 0..per_word {
        let x = w * per_word + b;
        let mut value = f32::new(0.0);
        if x < width {
            let mut down = f32::new(0.0);
            for dy in 0..side {
                for dx in 0..side {
                    let p = match shape.place {
                        Place::Tile(t) => tile[((y0 + dy) * comptime!(t.width) + x0 + b + dx) as usize],
                        Place::Anywhere => {
                            // rung: stencil on gpu: naive
                            let column = nearest((x + dx) as i32 - radius as i32, width);
                            let row = nearest((y + dy) as i32 - radius as i32, height);
                            pixel::<W>(source, column, row, pitch, comptime!(shape.samples))
                            // end
                        }
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
                            down += p * f32::cast_from(j * (2i32 - i * i));
                        }
                    }
                }
            }
            if comptime!(matches!(shape.combine, Combine::Edges)) {
                value = f32::abs(value) + f32::abs(down);
            }
            if comptime!(matches!(shape.combine, Combine::Weighted)) {
                value = (value + half) * inverse;
                if comptime!(matches!(shape.samples, Samples::Bytes)) {
                    value = f32::floor(value);
                }
            }
        }
        values[comptime!(b as usize)] = value;
    }
    word::<W>(&values, comptime!(shape.samples))
}

pub(super) fn tiled(problem: &Stencil, call: &OnGpu<'_>) -> Outcome {
    near_enough(problem)?;
    if problem.is_empty() {
        return Ok(());
    }
    let (samples, radius) = (samples(problem.kind), problem.radius() as u32);
    let tile = Tile {
        width: CUBE.0 * samples.per_word() + 2 * radius,
        height: TILE_ROWS + 2 * radius,
    };
    if 4 * tile.width * tile.height > call.gpu.report().shared_memory {
        let kib = tile.width * tile.height / 256;
        return Err(Failure::Unsupported(format!(
            "a tile of {kib} KiB of shared memory"
        )));
    }
    let shape = Shape {
        samples,
        combine: Combine::of(&problem.filter),
        place: Place::Tile(tile),
    };
    match samples {
        Samples::Bytes => tiles_of::<u32>(problem, call, shape),
        Samples::Floats => tiles_of::<f32>(problem, call, shape),
    }
}

fn tiles_of<W: Numeric>(problem: &Stencil, call: &OnGpu<'_>, shape: Shape) -> Outcome {
    let (picture, weights, out) = (&call.inputs[0], &call.inputs[1], &call.outputs[0]);
    let (pitch, width, height) = (problem.row_words(), problem.width as u32, problem.height as u32);
    let ((half, inverse), radius) = (problem.rounding(), problem.radius() as u32);
    let cubes = CubeCount::Static(pitch.div_ceil(CUBE.0), height.div_ceil(TILE_ROWS), 1);
    // SAFETY: as in `squares_of`.
    launch!(
        call.gpu, "stencil ladder tiles", &(shape, radius), &[Operand::write("the output", out)],
        (cubes, CubeDim::new_2d(CUBE.0, CUBE.1)),
        unsafe tiles<W, _>(
            picture.array(1), weights.array(1), out.array(1), width, height, pitch, half, inverse, radius,
            radius, shape))?;
    Ok(())
}

/// `reach` is the radius once more: loops of a length that compilers know are unrolled, for minutes.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn tiles<W: Numeric>(
    source: &Array<W>,
    weights: &Array<f32>,
    out: &mut Array<W>,
    width: u32,
    height: u32,
    pitch: u32,
    half: f32,
    inverse: f32,
    reach: u32,
    #[comptime] radius: u32,
    #[comptime] shape: Shape,
) {
    let samples = comptime!(shape.samples);
    let per_word = comptime!(samples.per_word());
    let (across, down) = comptime!((CUBE.0 * per_word + 2 * radius, TILE_ROWS + 2 * radius));
    let mut tile = SharedMemory::<f32>::new(comptime!((across * down) as usize));
    let (left, top) = (CUBE_POS_X * comptime!(CUBE.0), CUBE_POS_Y * TILE_ROWS);
    // rung: stencil on gpu: tiled
    let mut row = UNIT_POS_Y;
    while row < down {
        let mut column = UNIT_POS_X;
        while column < across {
            let x = nearest(
                (left * per_word + column) as i32 - comptime!(radius as i32),
                width,
            );
            let y = nearest((top + row) as i32 - comptime!(radius as i32), height);
            tile[(row * across + column) as usize] = pixel::<W>(source, x, y, pitch, samples);
            column += comptime!(CUBE.0);
        }
        row += comptime!(CUBE.1);
    }
    sync_cube();
    // end
    #[unroll]
    for k in 0..comptime!(TILE_ROWS / CUBE.1) {
        let y = UNIT_POS_Y + comptime!(k * CUBE.1);
        let w = left + UNIT_POS_X;
        if w < pitch && top + y < height {
            let result = word_of::<W>(
                source,
                weights,
                &tile,
                w,
                top + y,
                UNIT_POS_X * per_word,
                y,
                width,
                height,
                pitch,
                reach,
                half,
                inverse,
                shape,
            );
            out[((top + y) * pitch + w) as usize] = result;
        }
    }
}
