//! The variants on devices.
#![allow(unsafe_code)]

use cubecl::prelude::*;
use relief_kernels::device::{Operand, launch};
use relief_kernels::policy::Tuning;
use relief_numeric::transpose::gpu::{self, Matrix, Route};

use super::Transpose;
use crate::family::{Failure, OnGpu, Outcome, Problem, Variant};

/// The sides of a tile in words, and the rows of a cube that copies it.
const TILE: u32 = 32;
const ROWS: u32 = 8;

pub(super) fn variants(bits: u32) -> Vec<Variant<Transpose>> {
    // The source's words have 32 bits.
    let of = |name, idea, way, figure| {
        let variant = Variant::gpu(name, idea, move |p: &Transpose, call| simple(p, call, way));
        match bits {
            32 => variant.source(figure),
            _ => variant,
        }
    };
    vec![
        of(
            "naive",
            "a unit for each word; loads follow rows, stores lie a row apart",
            Way::Naive,
            "68.98 GB/s",
        ),
        of(
            "tiled",
            "tiles by way of shared memory, columns in one bank",
            Way::Tiled(Place::Plain),
            "116.82 GB/s",
        ),
        of(
            "padded",
            "tiles with a column more for each row of words",
            Way::Tiled(Place::Padded),
            "121.83 GB/s",
        ),
        Variant::gpu(
            "blocks",
            "blocks of vectors turned in registers, no shared memory",
            move |p: &Transpose, call| vectors(p, call, gpu::default(bits), Route::Registers),
        ),
        Variant::gpu(
            "vectors",
            "blocks by way of shared memory, place y of column x at y xor x",
            |p: &Transpose, call| vectors(p, call, call.tuning, Route::Shared),
        )
        .tuned(gpu::name(bits), gpu::space(bits), gpu::default(bits)),
        Variant::gpu("production", "the one of both that suits the size", production).production(),
    ]
}

fn bits(problem: &Transpose) -> u32 {
    8 * problem.kind.bytes() as u32
}

/// Words from one row to the next of both sides.
fn pitches(problem: &Transpose) -> (u32, u32) {
    let words = |elements: usize| (elements * problem.kind.bytes() / 4) as u32;
    (words(problem.pitch_in()), words(problem.pitch_out()))
}

/// The width and height, the matrix and its transpose.
fn operands<'a>(problem: &Transpose, call: &'a OnGpu<'_>) -> ((u32, u32), Matrix<'a>, Matrix<'a>) {
    let (from_pitch, to_pitch) = pitches(problem);
    let from = Matrix {
        buffer: &call.inputs[0],
        pitch: from_pitch,
    };
    let to = Matrix {
        buffer: &call.outputs[0],
        pitch: to_pitch,
    };
    ((problem.width as u32, problem.height as u32), from, to)
}

fn vectors(problem: &Transpose, call: &OnGpu<'_>, tuning: Tuning, route: Route) -> Outcome {
    let (size, from, to) = operands(problem, call);
    gpu::transpose_with(call.gpu, tuning, route, bits(problem), size, from, to)?;
    Ok(())
}

fn production(problem: &Transpose, call: &OnGpu<'_>) -> Outcome {
    let (size, from, to) = operands(problem, call);
    gpu::transpose(call.gpu, bits(problem), size, from, to)?;
    Ok(())
}

/// Where a tile's words lie in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Plain,
    Padded,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Way {
    Naive,
    Tiled(Place),
}

fn simple(problem: &Transpose, call: &OnGpu<'_>, way: Way) -> Outcome {
    if problem.elements() == 0 {
        return Ok(());
    }
    let words = call.inputs[0].words().max(call.outputs[0].words()) as u64;
    if words > u64::from(u32::MAX) {
        return Err(Failure::Unsupported("more than 2^32 words".to_owned()));
    }
    let (from_pitch, to_pitch) = pitches(problem);
    let (width, height) = (problem.width as u32, problem.height as u32);
    let bits = bits(problem);
    let side = TILE * 32 / bits;
    let (across, down) = match way {
        Way::Naive => (width.div_ceil(TILE), to_pitch.div_ceil(ROWS)),
        Way::Tiled(_) => (width.div_ceil(side), height.div_ceil(side)),
    };
    if across.max(down) > 65_535 {
        return Err(Failure::Unsupported(format!("{across} × {down} cubes")));
    }
    let grid = (CubeCount::Static(across, down, 1), CubeDim::new_2d(TILE, ROWS));
    let (name, shape, (from, to)) = (
        "transpose ladder",
        (way, bits),
        (&call.inputs[0], &call.outputs[0]),
    );
    let output = [Operand::write("the output", to)];
    // SAFETY: rows and columns are compared with the size and the pitches, of which the buffers hold as many; places in shared memory are
    // below what is allocated: a tile of 32 words in 32 · 32 / bits rows, padded by a word for each 32 / bits of them.
    match way {
        Way::Naive => launch!(call.gpu, name, &shape, &output, grid, unsafe naive(
            from.array(1), to.array(1), width, height, from_pitch, to_pitch, bits))?,
        Way::Tiled(place) => launch!(call.gpu, name, &shape, &output, grid, unsafe tiled(
            from.array(1), to.array(1), width, height, from_pitch, to_pitch, bits, place))?,
    }
    Ok(())
}

/// Word `ABSOLUTE_POS_Y` of row `ABSOLUTE_POS_X` of the result.
#[cube(launch_unchecked)]
fn naive(
    from: &Array<u32>,
    to: &mut Array<u32>,
    width: u32,
    height: u32,
    from_pitch: u32,
    to_pitch: u32,
    #[comptime] bits: u32,
) {
    let per = comptime!(32 / bits);
    let (x, word) = (ABSOLUTE_POS_X, ABSOLUTE_POS_Y);
    if x < width && word < to_pitch {
        let mut result = u32::new(0);
        #[unroll]
        // rung: transpose on gpu: naive
        for k in 0..per {
            let y = word * per + k;
            if y < height {
                let held = from[(y * from_pitch + x / per) as usize];
                result |= sample(held, x % per, bits) << comptime!(k * bits);
            }
        }
        to[(x * to_pitch + word) as usize] = result;
        // end
    }
}

/// Sample `at` of a word.
#[cube]
fn sample(word: u32, at: u32, #[comptime] bits: u32) -> u32 {
    (word >> (at * bits)) & comptime!(u32::MAX >> (32 - bits))
}

#[cube(launch_unchecked)]
fn tiled(
    from: &Array<u32>,
    to: &mut Array<u32>,
    width: u32,
    height: u32,
    from_pitch: u32,
    to_pitch: u32,
    #[comptime] bits: u32,
    #[comptime] place: Place,
) {
    let per = comptime!(32 / bits);
    let side = comptime!(TILE * 32 / bits);
    let mut tile = SharedMemory::<u32>::new(comptime!((side * TILE + TILE) as usize));
    let (lane, line) = (UNIT_POS_X, UNIT_POS_Y);

    let column = CUBE_POS_X * comptime!(TILE) + lane;
    let mut row = line;
    while row < side {
        let y = CUBE_POS_Y * side + row;
        let mut word = u32::new(0);
        if y < height && column < from_pitch {
            word = from[(y * from_pitch + column) as usize];
        }
        tile[place_of(lane, row, per, place) as usize] = word;
        row += comptime!(ROWS);
    }
    sync_cube();

    let word = CUBE_POS_Y * comptime!(TILE) + lane;
    let mut column = line;
    while column < side {
        let x = CUBE_POS_X * side + column;
        if x < width && word < to_pitch {
            let mut result = u32::new(0);
            #[unroll]
            for k in 0..per {
                let held = tile[place_of(column / per, lane * per + k, per, place) as usize];
                result |= sample(held, column % per, bits) << comptime!(k * bits);
            }
            to[(x * to_pitch + word) as usize] = result;
        }
        column += comptime!(ROWS);
    }
}

/// Where word `x` of row `y` of a tile lies. A word of the result takes `per` rows, so what has to lie in different banks is every
/// `per`-th row.
#[cube]
fn place_of(x: u32, y: u32, #[comptime] per: u32, #[comptime] place: Place) -> u32 {
    match place {
        // rung: transpose on gpu: tiled
        Place::Plain => y * comptime!(TILE) + x,
        // end
        // rung: transpose on gpu: padded
        Place::Padded => y * comptime!(TILE) + y / per + x,
        // end
    }
}
