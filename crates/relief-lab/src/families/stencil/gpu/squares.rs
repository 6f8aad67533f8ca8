//! Whole squares: from memory, or from tiles in shared memory.

use cubecl::prelude::*;
use relief_kernels::device::{Operand, on_client};
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
    /// In memory, inside of the picture.
    Inside,
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

/// Words and rows that a kernel computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Area {
    left: u32,
    top: u32,
    words: u32,
    rows: u32,
}

pub(super) fn naive(problem: &Stencil, call: &OnGpu<'_>) -> Outcome {
    near_enough(problem)?;
    if problem.is_empty() {
        return Ok(());
    }
    let whole = Area {
        left: 0,
        top: 0,
        words: problem.row_words(),
        rows: problem.height as u32,
    };
    launch(problem, call, Place::Anywhere, whole, false)
}

/// The interior by one kernel, the border by another, in four parts.
pub(super) fn apart(problem: &Stencil, call: &OnGpu<'_>) -> Outcome {
    near_enough(problem)?;
    if problem.is_empty() {
        return Ok(());
    }
    let (words, rows, radius) = (
        problem.row_words(),
        problem.height as u32,
        problem.radius() as u32,
    );
    let per_word = samples(problem.kind).per_word();
    let left = radius.div_ceil(per_word);
    // The words whose last pixel has all that it looks at.
    let right = (problem.width as u32).saturating_sub(radius) / per_word;
    let area = |left, top, right: u32, bottom: u32| Area {
        left,
        top,
        words: right.saturating_sub(left),
        rows: bottom.saturating_sub(top),
    };
    if right <= left || rows <= 2 * radius {
        return launch(problem, call, Place::Anywhere, area(0, 0, words, rows), true);
    }
    launch(
        problem,
        call,
        Place::Inside,
        area(left, radius, right, rows - radius),
        true,
    )?;
    for border in [
        area(0, 0, words, radius),
        area(0, rows - radius, words, rows),
        area(0, radius, left, rows - radius),
        area(right, radius, words, rows - radius),
    ] {
        if border.words > 0 && border.rows > 0 {
            launch(problem, call, Place::Anywhere, border, true)?;
        }
    }
    Ok(())
}

fn launch(problem: &Stencil, call: &OnGpu<'_>, place: Place, area: Area, in_parts: bool) -> Outcome {
    let shape = Shape {
        samples: samples(problem.kind),
        combine: Combine::of(&problem.filter),
        place,
    };
    let grid = CubeCount::Static(area.words.div_ceil(CUBE.0), area.rows.div_ceil(CUBE.1), 1);
    // A part need not hold the first word of the result, so each leaves a sign that it ran.
    let sign = if in_parts {
        &call.scratch[0]
    } else {
        &call.outputs[0]
    };
    call.gpu.launch("stencil ladder squares", &(shape, in_parts), &[Operand::write("the output", sign)], || {
        on_client!(call.gpu, client => match shape.samples {
            Samples::Bytes => squares_on::<u32, _>(client, problem, call, shape, area, in_parts, grid.clone()),
            Samples::Floats => squares_on::<f32, _>(client, problem, call, shape, area, in_parts, grid.clone()),
        });
    })?;
    Ok(())
}

fn squares_on<W: Numeric, R: Runtime>(
    client: &ComputeClient<R>,
    problem: &Stencil,
    call: &OnGpu<'_>,
    shape: Shape,
    area: Area,
    in_parts: bool,
    grid: CubeCount,
) {
    let (picture, weights, out) = (&call.inputs[0], &call.inputs[1], &call.outputs[0]);
    let sign = if in_parts {
        &call.scratch[0]
    } else {
        &call.inputs[2]
    };
    let (half, inverse) = problem.rounding();
    // SAFETY: words and rows are compared with those of the area, which is inside of the result; pixels are inside of the
    // picture, by the choice of the area or because the nearest is taken; there are as many weights as pixels of a square. The
    // sign has a word; where there is none, another buffer stands for it and is not written.
    unsafe {
        squares::launch_unchecked::<W, R>(
            client,
            grid,
            CubeDim::new_2d(CUBE.0, CUBE.1),
            ArrayArg::from_raw_parts(picture.handle(), picture.words()),
            ArrayArg::from_raw_parts(weights.handle(), weights.words()),
            ArrayArg::from_raw_parts(out.handle(), out.words()),
            ArrayArg::from_raw_parts(sign.handle(), sign.words()),
            problem.width as u32,
            problem.height as u32,
            problem.row_words(),
            problem.radius() as u32,
            half,
            inverse,
            area.left,
            area.top,
            area.words,
            area.rows,
            shape,
            in_parts,
        );
    }
}

#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn squares<W: Numeric>(
    source: &Array<W>,
    weights: &Array<f32>,
    out: &mut Array<W>,
    sign: &mut Array<u32>,
    width: u32,
    height: u32,
    pitch: u32,
    radius: u32,
    half: f32,
    inverse: f32,
    left: u32,
    top: u32,
    words: u32,
    rows: u32,
    #[comptime] shape: Shape,
    #[comptime] in_parts: bool,
) {
    let tile = SharedMemory::<f32>::new(1usize);
    let (w, y) = (ABSOLUTE_POS_X, ABSOLUTE_POS_Y);
    if w + y == 0 && comptime!(in_parts) {
        sign[0usize] = 1u32;
    }
    if w < words && y < rows {
        let result = word_of::<W>(
            source,
            weights,
            &tile,
            left + w,
            top + y,
            0u32,
            0u32,
            width,
            height,
            pitch,
            radius,
            half,
            inverse,
            shape,
        );
        out[((top + y) * pitch + left + w) as usize] = result;
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
    let mut values = Array::<f32>::new(comptime!(per_word as usize));
    #[unroll]
    for b in 0..per_word {
        let x = w * per_word + b;
        let mut value = f32::new(0.0);
        if x < width {
            value = value_of::<W>(
                source,
                weights,
                tile,
                x,
                y,
                x0 + b,
                y0,
                width,
                height,
                pitch,
                radius,
                shape,
            );
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

/// Pixel (`dx` − radius, `dy` − radius) from pixel (x, y).
#[cube]
#[allow(clippy::too_many_arguments)]
fn around<W: Numeric>(
    source: &Array<W>,
    tile: &SharedMemory<f32>,
    x: u32,
    y: u32,
    x0: u32,
    y0: u32,
    dx: u32,
    dy: u32,
    width: u32,
    height: u32,
    pitch: u32,
    radius: u32,
    #[comptime] shape: Shape,
) -> f32 {
    match shape.place {
        Place::Tile(t) => tile[((y0 + dy) * comptime!(t.width) + x0 + dx) as usize],
        Place::Inside => pixel::<W>(
            source,
            x + dx - radius,
            y + dy - radius,
            pitch,
            comptime!(shape.samples),
        ),
        Place::Anywhere => {
            let column = nearest((x + dx) as i32 - radius as i32, width);
            let row = nearest((y + dy) as i32 - radius as i32, height);
            pixel::<W>(source, column, row, pitch, comptime!(shape.samples))
        }
    }
}

#[cube]
#[allow(clippy::too_many_arguments)]
fn value_of<W: Numeric>(
    source: &Array<W>,
    weights: &Array<f32>,
    tile: &SharedMemory<f32>,
    x: u32,
    y: u32,
    x0: u32,
    y0: u32,
    width: u32,
    height: u32,
    pitch: u32,
    radius: u32,
    #[comptime] shape: Shape,
) -> f32 {
    let side = 2u32 * radius + 1u32;
    let mut value = f32::new(0.0);
    let mut down = f32::new(0.0);
    for dy in 0..side {
        for dx in 0..side {
            let p = around::<W>(
                source, tile, x, y, x0, y0, dx, dy, width, height, pitch, radius, shape,
            );
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
                Combine::Greatest => {
                    if dy + dx == 0 {
                        value = p;
                    }
                    value = max(value, p);
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
    value
}

/// Words of a copy of the picture with its border; none where it would not be used.
pub(super) fn padded_words(problem: &Stencil) -> usize {
    let padded = padded(problem);
    padded.pitch as usize * padded.rows as usize
}

/// A picture with its border.
#[derive(Clone, Copy)]
struct Padded {
    /// Words to its left.
    left: u32,
    /// Words from one row to the next.
    pitch: u32,
    rows: u32,
}

fn padded(problem: &Stencil) -> Padded {
    let (per_word, radius) = (samples(problem.kind).per_word(), problem.radius() as u32);
    let left = radius.div_ceil(per_word);
    // Tiles are read whole, so the picture ends with one.
    let words = problem.row_words().next_multiple_of(CUBE.0);
    Padded {
        left,
        pitch: words + 2 * left,
        rows: (problem.height as u32).next_multiple_of(TILE_ROWS) + 2 * radius,
    }
}

pub(super) fn tiled(problem: &Stencil, call: &OnGpu<'_>, from_padded: bool) -> Outcome {
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
    if from_padded {
        let padded = padded(problem);
        let grid = CubeCount::Static(padded.pitch.div_ceil(CUBE.0), padded.rows.div_ceil(CUBE.1), 1);
        call.gpu.launch(
            "stencil ladder pad",
            &samples,
            &[Operand::write("the output", &call.scratch[0])],
            || {
                on_client!(call.gpu, client => match samples {
                    Samples::Bytes => pad_on::<u32, _>(client, problem, call, grid.clone()),
                    Samples::Floats => pad_on::<f32, _>(client, problem, call, grid.clone()),
                });
            },
        )?;
    }
    let grid = CubeCount::Static(
        problem.row_words().div_ceil(CUBE.0),
        (problem.height as u32).div_ceil(TILE_ROWS),
        1,
    );
    call.gpu.launch("stencil ladder tiles", &(shape, from_padded, radius), &[Operand::write("the output", &call.outputs[0])], || {
        on_client!(call.gpu, client => match samples {
            Samples::Bytes => tiles_on::<u32, _>(client, problem, call, shape, from_padded, grid.clone()),
            Samples::Floats => tiles_on::<f32, _>(client, problem, call, shape, from_padded, grid.clone()),
        });
    })?;
    Ok(())
}

fn pad_on<W: Numeric, R: Runtime>(
    client: &ComputeClient<R>,
    problem: &Stencil,
    call: &OnGpu<'_>,
    grid: CubeCount,
) {
    let (picture, copy) = (&call.inputs[0], &call.scratch[0]);
    let padded = padded(problem);
    // SAFETY: words and rows are compared with those of the copy, which are as many as it has; the nearest pixels are inside.
    unsafe {
        pad::launch_unchecked::<W, R>(
            client,
            grid,
            CubeDim::new_2d(CUBE.0, CUBE.1),
            ArrayArg::from_raw_parts(picture.handle(), picture.words()),
            ArrayArg::from_raw_parts(copy.handle(), copy.words()),
            problem.width as u32,
            problem.height as u32,
            problem.row_words(),
            problem.radius() as u32,
            padded.left,
            padded.pitch,
            padded.rows,
            samples(problem.kind),
        );
    }
}

#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn pad<W: Numeric>(
    source: &Array<W>,
    copy: &mut Array<W>,
    width: u32,
    height: u32,
    pitch: u32,
    radius: u32,
    left: u32,
    words: u32,
    rows: u32,
    #[comptime] samples: Samples,
) {
    let per_word = comptime!(samples.per_word());
    let (w, y) = (ABSOLUTE_POS_X, ABSOLUTE_POS_Y);
    if w < words && y < rows {
        let row = nearest(y as i32 - radius as i32, height);
        let mut values = Array::<f32>::new(comptime!(per_word as usize));
        #[unroll]
        for b in 0..per_word {
            let column = nearest((w * per_word + b) as i32 - (left * per_word) as i32, width);
            values[comptime!(b as usize)] = pixel::<W>(source, column, row, pitch, samples);
        }
        copy[(y * words + w) as usize] = word::<W>(&values, samples);
    }
}

fn tiles_on<W: Numeric, R: Runtime>(
    client: &ComputeClient<R>,
    problem: &Stencil,
    call: &OnGpu<'_>,
    shape: Shape,
    from_padded: bool,
    grid: CubeCount,
) {
    let (weights, out) = (&call.inputs[1], &call.outputs[0]);
    let source = if from_padded {
        &call.scratch[0]
    } else {
        &call.inputs[0]
    };
    let padded = padded(problem);
    let (half, inverse) = problem.rounding();
    // SAFETY: words and rows are compared with those of the result; the nearest pixels are inside, and so is everything that
    // tiles of the padded picture read; there are as many weights as pixels of a square.
    unsafe {
        tiles::launch_unchecked::<W, R>(
            client,
            grid,
            CubeDim::new_2d(CUBE.0, CUBE.1),
            ArrayArg::from_raw_parts(source.handle(), source.words()),
            ArrayArg::from_raw_parts(weights.handle(), weights.words()),
            ArrayArg::from_raw_parts(out.handle(), out.words()),
            problem.width as u32,
            problem.height as u32,
            problem.row_words(),
            half,
            inverse,
            padded.pitch,
            problem.radius() as u32,
            problem.radius() as u32,
            shape,
            from_padded,
        );
    }
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
    padded_pitch: u32,
    reach: u32,
    #[comptime] radius: u32,
    #[comptime] shape: Shape,
    #[comptime] from_padded: bool,
) {
    let samples = comptime!(shape.samples);
    let per_word = comptime!(samples.per_word());
    let (across, down) = comptime!((CUBE.0 * per_word + 2 * radius, TILE_ROWS + 2 * radius));
    let mut tile = SharedMemory::<f32>::new(comptime!((across * down) as usize));
    let (left, top) = (CUBE_POS_X * comptime!(CUBE.0), CUBE_POS_Y * TILE_ROWS);
    let mut row = UNIT_POS_Y;
    while row < down {
        let mut column = UNIT_POS_X;
        while column < across {
            let value = if comptime!(from_padded) {
                let skip = comptime!(radius.div_ceil(per_word) * per_word - radius);
                pixel::<W>(
                    source,
                    left * per_word + column + skip,
                    top + row,
                    padded_pitch,
                    samples,
                )
            } else {
                let x = nearest(
                    (left * per_word + column) as i32 - comptime!(radius as i32),
                    width,
                );
                let y = nearest((top + row) as i32 - comptime!(radius as i32), height);
                pixel::<W>(source, x, y, pitch, samples)
            };
            tile[(row * across + column) as usize] = value;
            column += comptime!(CUBE.0);
        }
        row += comptime!(CUBE.1);
    }
    sync_cube();
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
