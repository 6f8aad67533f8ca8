//! The variants on devices.
#![allow(unsafe_code)]

use cubecl::prelude::*;
use relief_kernels::device::{Operand, cubes, launch};
use relief_kernels::policy::Tuning;
use relief_numeric::matmul::gpu as production;

use super::Product;
use crate::family::{Failure, OnGpu, Outcome, Variant, tuning};

/// The side of a cube of the first variants, and of their tiles.
const TILE: u32 = 16;

/// Sums of a unit along a side, numbers of k of a slice.
const EIGHT: u32 = 8;

/// A step of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Naive,
    Coalesced,
    Shared,
    Columns,
    Squares,
    Vectors,
}

pub(super) fn variants() -> Vec<Variant<Product>> {
    let of = |name, idea, step| Variant::gpu(name, idea, move |p: &Product, call| simple(p, call, step));
    vec![
        of(
            "naive",
            "a unit for each sum, neighbours below each other",
            Step::Naive,
        ),
        of(
            "coalesced",
            "a unit for each sum, neighbours side by side",
            Step::Coalesced,
        ),
        of(
            "shared tiles",
            "16 × 16 tiles of both in shared memory",
            Step::Shared,
        ),
        of(
            "columns of eight",
            "8 sums of a column for each unit",
            Step::Columns,
        ),
        of("squares of eight", "8 × 8 sums for each unit", Step::Squares),
        of(
            "vectors",
            "four numbers at a load, the left operand transposed in shared memory",
            Step::Vectors,
        ),
        Variant::gpu(
            "double-buffered",
            "the next slices are on their way meanwhile; 8 × 8 sums",
            |p, call| blocks(p, call, Some(tuning(256, 64, 8))),
        ),
        Variant::gpu(
            "blocks",
            "up to 8 × 16 sums for each unit; smaller tiles where those would leave the device idle",
            |p, call| blocks(p, call, None),
        )
        .tuned(production::NAME, production::SPACE, production::DEFAULT)
        .production(),
    ]
}

/// By a layout, or as production does it by the one that is tuned.
fn blocks(p: &Product, call: &OnGpu<'_>, tuning: Option<Tuning>) -> Outcome {
    let shape = production::Shape {
        rows: p.rows as u32,
        inner: p.inner as u32,
        columns: p.columns as u32,
    };
    let of = |buffer, pitch: usize| production::Rows {
        buffer,
        pitch: pitch as u32,
    };
    let (left, right) = (&call.inputs[0], &call.inputs[1]);
    let (left, right) = (of(left, p.pitch()), of(right, p.columns));
    let result = of(&call.outputs[0], p.columns);
    match tuning {
        Some(tuning) => production::multiply_with(call.gpu, tuning, shape, left, right, result)?,
        None => production::multiply_by(call.gpu, call.tuning, shape, left, right, result)?,
    }
    Ok(())
}

fn simple(p: &Product, call: &OnGpu<'_>, step: Step) -> Outcome {
    // Seconds on the fastest device, and more than a driver waits for on others.
    let slow = matches!(step, Step::Naive | Step::Coalesced | Step::Shared);
    if slow && p.steps() > 1 << 37 {
        return Err(Failure::Unsupported("it would take seconds".to_owned()));
    }
    if p.rows.max(p.inner).max(p.columns) >= 1 << 15 {
        return Err(Failure::Unsupported("more than 2^15 numbers a side".to_owned()));
    }
    // Nothing is written: there is nothing to launch.
    if p.rows == 0 || p.columns == 0 {
        return Ok(());
    }
    let (rows, columns) = (p.rows as u32, p.columns as u32);
    let count = match step {
        Step::Naive | Step::Coalesced | Step::Shared => rows.div_ceil(TILE) * columns.div_ceil(TILE),
        Step::Columns => rows.div_ceil(64) * columns.div_ceil(64),
        Step::Squares | Step::Vectors => rows.div_ceil(128) * columns.div_ceil(128),
    };
    let (left, right, result) = (&call.inputs[0], &call.inputs[1], &call.outputs[0]);
    let (inner, pitch) = (p.inner as u32, p.pitch() as u32);
    let output = [Operand::write("the output", result)];
    let square = CubeDim::new_2d(TILE, TILE);
    let line = CubeDim::new_1d;
    // A kernel, its cubes and the width of its vectors, if it has any; the width of the three arrays; what else it takes.
    macro_rules! step {
        ($kernel:ident, $cube:expr $(, $vector:literal)?; $width:literal; $($also:expr)?) => {
            launch!(call.gpu, "matmul ladder", &step, &output, (cubes(call.gpu, count), $cube), unsafe $kernel(
                $($vector,)? left.array($width), right.array($width), result.array($width), rows, inner,
                pitch / $width, columns / $width, $($also)?))?
        };
    }
    // SAFETY: rows, columns and numbers of k are compared with how many there are, or clamped to the last, and the buffers hold
    // as many.
    match step {
        Step::Naive => step!(sums, square; 1; true),
        Step::Coalesced => step!(sums, square; 1; false),
        Step::Shared => step!(tiles, square; 1;),
        Step::Columns => step!(eight_rows, line(512); 1; 1u32),
        Step::Squares => step!(eight_rows, line(256); 1; 8u32),
        Step::Vectors => step!(vectors, line(256), 4; 4;),
    }
    Ok(())
}

/// A unit for each sum.
#[cube(launch_unchecked)]
fn sums(
    left: &Array<f32>,
    right: &Array<f32>,
    result: &mut Array<f32>,
    rows: u32,
    inner: u32,
    pitch: u32,
    columns: u32,
    #[comptime] down: bool,
) {
    let across = (columns + comptime!(TILE - 1)) / TILE;
    let (top, start) = (
        (CUBE_POS as u32 / across) * TILE,
        (CUBE_POS as u32 % across) * TILE,
    );
    let mut row = top + UNIT_POS_Y;
    let mut column = start + UNIT_POS_X;
    // rung: matmul on gpu: naive
    if comptime!(down) {
        row = top + UNIT_POS_X;
        column = start + UNIT_POS_Y;
    }
    // end
    if row < rows {
        if column < columns {
            // rung: matmul on gpu: coalesced
            let mut sum = f32::new(0.0);
            for k in 0..inner {
                sum = fma(
                    left[(row * pitch + k) as usize],
                    right[(k * columns + column) as usize],
                    sum,
                );
            }
            // end
            result[(row * columns + column) as usize] = sum;
        }
    }
}

/// Tiles of both in shared memory.
#[cube(launch_unchecked)]
fn tiles(
    left: &Array<f32>,
    right: &Array<f32>,
    result: &mut Array<f32>,
    rows: u32,
    inner: u32,
    pitch: u32,
    columns: u32,
) {
    let mut lefts = SharedMemory::<f32>::new(comptime!((TILE * TILE) as usize));
    let mut rights = SharedMemory::<f32>::new(comptime!((TILE * TILE) as usize));
    let across = (columns + comptime!(TILE - 1)) / TILE;
    let row = (CUBE_POS as u32 / across) * TILE + UNIT_POS_Y;
    let column = (CUBE_POS as u32 % across) * TILE + UNIT_POS_X;
    let mut sum = f32::new(0.0);
    let mut begin = u32::new(0);
    while begin < inner {
        let mut number = f32::new(0.0);
        if row < rows {
            if begin + UNIT_POS_X < inner {
                number = left[(row * pitch + begin + UNIT_POS_X) as usize];
            }
        }
        let mut other = f32::new(0.0);
        if begin + UNIT_POS_Y < inner {
            if column < columns {
                other = right[((begin + UNIT_POS_Y) * columns + column) as usize];
            }
        }
        // rung: matmul on gpu: shared tiles
        lefts[(UNIT_POS_Y * TILE + UNIT_POS_X) as usize] = number;
        rights[(UNIT_POS_Y * TILE + UNIT_POS_X) as usize] = other;
        sync_cube();
        #[unroll]
        for k in 0..TILE {
            sum = fma(
                lefts[(UNIT_POS_Y * TILE + k) as usize],
                rights[(comptime!(k * TILE) + UNIT_POS_X) as usize],
                sum,
            );
        }
        sync_cube();
        begin += TILE;
        // end
    }
    if row < rows {
        if column < columns {
            result[(row * columns + column) as usize] = sum;
        }
    }
}

/// Eight rows of sums for each unit, `across` columns of them, 1 or 8: 64 × 64 or 128 × 128 of a cube.
#[cube(launch_unchecked)]
fn eight_rows(
    left: &Array<f32>,
    right: &Array<f32>,
    result: &mut Array<f32>,
    rows: u32,
    inner: u32,
    pitch: u32,
    columns: u32,
    #[comptime] across: u32,
) {
    let side = comptime!(if across == 1 { 64u32 } else { 128u32 });
    let units = comptime!(side * side / (EIGHT * across));
    let mut lefts = SharedMemory::<f32>::new(comptime!((side * EIGHT) as usize));
    let mut rights = SharedMemory::<f32>::new(comptime!((side * EIGHT) as usize));
    let cubes = (columns + comptime!(side - 1)) / side;
    let (top, start) = ((CUBE_POS as u32 / cubes) * side, (CUBE_POS as u32 % cubes) * side);
    let of_row = comptime!(side / across);
    let (row, column) = ((UNIT_POS / of_row) * EIGHT, (UNIT_POS % of_row) * across);
    let mut sums = Array::<f32>::new(comptime!((EIGHT * across) as usize));
    #[unroll]
    for i in 0..comptime!((EIGHT * across) as usize) {
        sums[i] = f32::new(0.0);
    }
    let mut begin = u32::new(0);
    while begin < inner {
        // A slice of both operands: `side` rows of the left one and as many columns of the right one.
        #[unroll]
        for i in 0..comptime!(side * EIGHT / units) {
            let place = UNIT_POS + comptime!(i * units);
            let (y, k) = (top + place / EIGHT, begin + place % EIGHT);
            let mut number = f32::new(0.0);
            if y < rows {
                if k < inner {
                    number = left[(y * pitch + k) as usize];
                }
            }
            lefts[place as usize] = number;
            let (k, x) = (begin + place / side, start + place % side);
            let mut other = f32::new(0.0);
            if k < inner {
                if x < columns {
                    other = right[(k * columns + x) as usize];
                }
            }
            rights[place as usize] = other;
        }
        sync_cube();
        // rung: matmul on gpu: columns of eight | squares of eight
        #[unroll]
        for k in 0..EIGHT {
            let mut others = Array::<f32>::new(comptime!(across as usize));
            #[unroll]
            for j in 0..across {
                others[comptime!(j as usize)] = rights[(comptime!(k * side) + column + j) as usize];
            }
            #[unroll]
            for i in 0..EIGHT {
                let number = lefts[((row + i) * EIGHT + k) as usize];
                #[unroll]
                for j in 0..across {
                    let at = comptime!((i * across + j) as usize);
                    sums[at] = fma(number, others[comptime!(j as usize)], sums[at]);
                }
            }
        }
        sync_cube();
        begin += EIGHT;
        // end
    }
    #[unroll]
    for i in 0..EIGHT {
        #[unroll]
        for j in 0..across {
            if top + row + i < rows {
                if start + column + j < columns {
                    let to = (top + row + i) * columns + start + column + j;
                    result[to as usize] = sums[comptime!((i * across + j) as usize)];
                }
            }
        }
    }
}

/// 8 × 8 sums for each unit, by vectors of four. Widths and pitches are in vectors.
#[cube(launch_unchecked)]
fn vectors<N: Size>(
    left: &Array<Vector<f32, N>>,
    right: &Array<Vector<f32, N>>,
    result: &mut Array<Vector<f32, N>>,
    rows: u32,
    inner: u32,
    pitch: u32,
    width: u32,
) {
    // The left operand's rows of one k next to each other, and a few words between those of k and of k + 1.
    let mut lefts = SharedMemory::<f32>::new(comptime!((EIGHT * 132) as usize));
    let mut rights = SharedMemory::<Vector<f32, N>>::new(256usize);
    let across = (width + comptime!(32 - 1)) / 32;
    let (top, start) = ((CUBE_POS as u32 / across) * 128, (CUBE_POS as u32 % across) * 32);
    let (row, column) = ((UNIT_POS / 16) * EIGHT, UNIT_POS % 16);
    let mut sums = Array::<Vector<f32, N>>::new(16usize);
    #[unroll]
    for i in 0..16usize {
        sums[i] = Vector::empty().fill(0.0f32);
    }
    let mut begin = u32::new(0);
    while begin < inner {
        let (y, part) = (UNIT_POS / 2, UNIT_POS % 2);
        let mut numbers = Vector::<f32, N>::empty().fill(0.0f32);
        if top + y < rows {
            if begin / 4 + part < pitch {
                numbers = left[((top + y) * pitch + begin / 4 + part) as usize];
            }
        }
        #[unroll]
        for e in 0..4u32 {
            lefts[((4 * part + e) * 132 + y) as usize] = numbers[comptime!(e as usize)];
        }
        let (k, x) = (UNIT_POS / 32, UNIT_POS % 32);
        let mut others = Vector::<f32, N>::empty().fill(0.0f32);
        if begin + k < inner {
            if start + x < width {
                others = right[((begin + k) * width + start + x) as usize];
            }
        }
        rights[UNIT_POS as usize] = others;
        sync_cube();
        // rung: matmul on gpu: vectors
        #[unroll]
        for k in 0..EIGHT {
            let first = rights[(comptime!(k * 32) + column) as usize];
            let second = rights[(comptime!(k * 32 + 16) + column) as usize];
            #[unroll]
            for i in 0..8u32 {
                let number = lefts[(comptime!(k * 132) + row + i) as usize];
                let number = Vector::<f32, N>::empty().fill(number);
                let at = comptime!((2 * i) as usize);
                sums[at] = fma(number, first, sums[at]);
                sums[comptime!(at + 1)] = fma(number, second, sums[comptime!(at + 1)]);
            }
        }
        // end
        sync_cube();
        begin += EIGHT;
    }
    #[unroll]
    for i in 0..8u32 {
        #[unroll]
        for j in 0..2u32 {
            let x = start + comptime!(16 * j) + column;
            if top + row + i < rows {
                if x < width {
                    result[((top + row + i) * width + x) as usize] = sums[comptime!((2 * i + j) as usize)];
                }
            }
        }
    }
}
