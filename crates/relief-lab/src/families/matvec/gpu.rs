//! The variants on devices.
#![allow(unsafe_code)]

use cubecl::prelude::*;
use relief_kernels::device::{Operand, cubes, launch};
use relief_numeric::matmul::gpu as product;
use relief_numeric::matvec::gpu as production;

use super::{Product, Side};
use crate::array::Layout;
use crate::family::{Failure, OnGpu, Outcome, Variant, lanes};

/// Units of a cube of the ladder, and the side of its tiles.
const UNITS: u32 = 256;
const TILE: u32 = 16;

/// A step of a ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Tiles,
    ColumnTile,
    ColumnVectors,
    Row,
    Plane,
    PlaneVectors,
}

pub(super) fn variants(side: Side) -> Vec<Variant<Product>> {
    let of = |name, idea, step| Variant::gpu(name, idea, move |p: &Product, call| simple(p, call, step));
    match side {
        Side::Columns => vec![
            Variant::gpu(
                "matrix product",
                "the production kernel of products of matrices, with one row",
                |p: &Product, call| {
                    let shape = product::Shape {
                        rows: 1,
                        inner: p.rows as u32,
                        columns: p.columns as u32,
                    };
                    let rows = |buffer, pitch| product::Rows { buffer, pitch };
                    let x = rows(&call.inputs[1], p.rows.next_multiple_of(4) as u32);
                    let [matrix, y] = [&call.inputs[0], &call.outputs[0]].map(|it| rows(it, p.columns as u32));
                    Ok(product::multiply(call.gpu, shape, x, matrix, y)?)
                },
            )
            .source("9 266–11 468 ms"),
            of(
                "tiles of both",
                "x and the matrix by way of shared memory",
                Step::Tiles,
            )
            .source("10.1–10.3 ms"),
            of(
                "tile of the vector",
                "x in shared memory, the matrix straight from memory",
                Step::ColumnTile,
            )
            .source("9.7 ms"),
            of("vectors", "both straight from memory, four columns a unit", Step::ColumnVectors),
            Variant::gpu(
                "split",
                "blocks of rows, a cube for 128 columns of each and a launch for their sums; few blocks in one cube",
                |p: &Product, call| {
                    let (x, matrix) = (&call.inputs[1], matrix(p, call));
                    let (y, scratch) = (&call.outputs[0], &call.scratch[0]);
                    Ok(production::vector_matrix_with(call.gpu, call.tuning, x, matrix, y, scratch)?)
                },
            )
            .tuned(
                production::COLUMNS_NAME,
                production::COLUMNS_SPACE,
                production::COLUMNS_DEFAULT,
            )
            .scratch(|p| {
                let words = production::columns_scratch_words(p.rows as u32, p.columns as u32);
                vec![Layout::of::<f32>(words)]
            })
            .production(),
        ],
        Side::Rows => vec![
            of(
                "unit per row",
                "neighbouring units read numbers a row apart",
                Step::Row,
            ),
            of(
                "plane per row",
                "lanes take neighbouring numbers and add up at the end",
                Step::Plane,
            ),
            of(
                "plane per row, vectors",
                "four numbers at a load",
                Step::PlaneVectors,
            ),
            Variant::gpu(
                "blocks",
                "a cube takes several rows at once, planes short ones",
                |p: &Product, call| {
                    let (x, matrix) = (&call.inputs[1], matrix(p, call));
                    let (y, scratch) = (&call.outputs[0], &call.scratch[0]);
                    Ok(production::matrix_vector_with(call.gpu, call.tuning, matrix, x, y, scratch)?)
                },
            )
            .tuned(
                production::ROWS_NAME,
                production::ROWS_SPACE,
                production::ROWS_DEFAULT,
            )
            .scratch(|p| {
                let words = production::rows_scratch_words(p.rows as u32, p.columns as u32);
                vec![Layout::of::<f32>(words)]
            })
            .production(),
        ],
    }
}

fn matrix<'a>(p: &Product, call: &OnGpu<'a>) -> production::Matrix<'a> {
    production::Matrix {
        buffer: &call.inputs[0],
        rows: p.rows as u32,
        columns: p.columns as u32,
        pitch: p.columns as u32,
    }
}

fn simple(p: &Product, call: &OnGpu<'_>, step: Step) -> Outcome {
    if p.rows as u64 * p.columns as u64 >= 1 << 32 {
        return Err(Failure::Unsupported("more than 2^32 numbers".to_owned()));
    }
    // Nothing is written: there is nothing to launch.
    if p.outer() == 0 {
        return Ok(());
    }
    let lanes = match step {
        Step::Plane | Step::PlaneVectors => lanes(call.gpu, 2..)?,
        _ => 1,
    };
    let (rows, columns) = (p.rows as u32, p.columns as u32);
    let count = match step {
        Step::ColumnTile => columns.div_ceil(UNITS),
        Step::ColumnVectors => (columns / 4).div_ceil(UNITS),
        Step::Tiles => columns.div_ceil(TILE),
        Step::Row => rows.div_ceil(UNITS),
        Step::Plane | Step::PlaneVectors => rows.div_ceil(UNITS / lanes),
    };
    let (matrix, x, y) = (&call.inputs[0], &call.inputs[1], &call.outputs[0]);
    let (shape, output) = ((step, lanes), [Operand::write("the output", y)]);
    let (line, square) = (CubeDim::new_1d(UNITS), CubeDim::new_2d(TILE, TILE));
    // A kernel, its cubes and the width of its vectors, if it has any; the widths of the three arrays; what else it takes.
    macro_rules! step {
        ($kernel:ident, $cube:expr $(, $vector:literal)?; $of_matrix:literal, $of_x:literal, $of_y:literal; $($also:expr),*) => {
            launch!(call.gpu, "matvec ladder", &shape, &output, (cubes(call.gpu, count), $cube), unsafe $kernel(
                $($vector,)? matrix.array($of_matrix), x.array($of_x), y.array($of_y), rows,
                columns.div_ceil($of_matrix), $($also),*))?
        };
    }
    // SAFETY: rows and columns are compared with their numbers, which the buffers hold; every loop ends.
    match step {
        Step::ColumnTile => step!(down_columns, line; 1, 1, 1;),
        Step::ColumnVectors => step!(down_vectors, line, 4; 4, 1, 4;),
        Step::Tiles => step!(tiles, square; 1, 1, 1;),
        Step::Row => step!(along_row, line; 1, 1, 1;),
        Step::Plane => step!(planes, line, 1; 1, 1, 1; lanes, 1),
        Step::PlaneVectors => step!(planes, line, 4; 4, 4, 1; lanes, 4),
    }
    Ok(())
}

// rung: matvec on gpu: matrix product = the kernel of `matmul`, with one row

/// A unit for each column.
#[cube(launch_unchecked)]
fn down_columns(matrix: &Array<f32>, x: &Array<f32>, y: &mut Array<f32>, rows: u32, columns: u32) {
    let column = CUBE_POS as u32 * UNITS + UNIT_POS;
    let mut sum = f32::new(0.0);
    let mut part = SharedMemory::<f32>::new(comptime!(UNITS as usize));
    let mut begin = u32::new(0);
    // rung: matvec on gpu: tile of the vector
    while begin < rows {
        if begin + UNIT_POS < rows {
            part[UNIT_POS as usize] = x[(begin + UNIT_POS) as usize];
        }
        sync_cube();
        if column < columns {
            for k in 0..min(rows - begin, UNITS) {
                sum = fma(
                    part[k as usize],
                    matrix[((begin + k) * columns + column) as usize],
                    sum,
                );
            }
        }
        sync_cube();
        begin += UNITS;
    }
    // end
    if column < columns {
        y[column as usize] = sum;
    }
}

/// A unit for each vector of columns.
#[cube(launch_unchecked)]
fn down_vectors<N: Size>(
    matrix: &Array<Vector<f32, N>>,
    x: &Array<f32>,
    y: &mut Array<Vector<f32, N>>,
    rows: u32,
    width: u32,
) {
    let column = CUBE_POS as u32 * UNITS + UNIT_POS;
    // rung: matvec/columns on gpu: vectors
    if column < width {
        let mut sum = Vector::<f32, N>::empty().fill(0.0f32);
        for row in 0..rows {
            let factor = Vector::<f32, N>::empty().fill(x[row as usize]);
            sum = fma(factor, matrix[(row * width + column) as usize], sum);
        }
        y[column as usize] = sum;
    }
    // end
}

/// Tiles of the matrix and parts of x in shared memory: 16 sums of a cube.
#[cube(launch_unchecked)]
fn tiles(matrix: &Array<f32>, x: &Array<f32>, y: &mut Array<f32>, rows: u32, columns: u32) {
    let mut tile = SharedMemory::<f32>::new(comptime!((TILE * TILE) as usize));
    let mut part = SharedMemory::<f32>::new(comptime!(TILE as usize));
    let (across, below) = (UNIT_POS_X, UNIT_POS_Y);
    let column = CUBE_POS as u32 * TILE + across;
    let mut sum = f32::new(0.0);
    let mut begin = u32::new(0);
    while begin < rows {
        let row = begin + below;
        let mut number = f32::new(0.0);
        if row < rows {
            if column < columns {
                number = matrix[(row * columns + column) as usize];
            }
        }
        tile[(below * TILE + across) as usize] = number;
        if below == 0 {
            let mut factor = f32::new(0.0);
            if begin + across < rows {
                factor = x[(begin + across) as usize];
            }
            part[across as usize] = factor;
        }
        sync_cube();
        // rung: matvec/columns on gpu: tiles of both
        // Unit k of the first 16 has sum k.
        if below == 0 {
            #[unroll]
            for k in 0..TILE {
                let number = tile[(comptime!(k * TILE) + across) as usize];
                sum = fma(part[comptime!(k as usize)], number, sum);
            }
        }
        // end
        sync_cube();
        begin += TILE;
    }
    if below == 0 {
        if column < columns {
            y[column as usize] = sum;
        }
    }
}

/// A unit for each row.
#[cube(launch_unchecked)]
fn along_row(matrix: &Array<f32>, x: &Array<f32>, y: &mut Array<f32>, rows: u32, columns: u32) {
    let row = CUBE_POS as u32 * UNITS + UNIT_POS;
    if row < rows {
        // rung: matvec on gpu: unit per row
        let mut sum = f32::new(0.0);
        for column in 0..columns {
            sum = fma(x[column as usize], matrix[(row * columns + column) as usize], sum);
        }
        y[row as usize] = sum;
        // end
    }
}

/// A plane for each row, of `width` vectors.
#[cube(launch_unchecked)]
fn planes<N: Size>(
    matrix: &Array<Vector<f32, N>>,
    x: &Array<Vector<f32, N>>,
    y: &mut Array<f32>,
    rows: u32,
    width: u32,
    #[comptime] lanes: u32,
    #[comptime] numbers: u32,
) {
    let row = CUBE_POS as u32 * comptime!(UNITS / lanes) + UNIT_POS / lanes;
    let lane = UNIT_POS % lanes;
    let mut sums = Vector::<f32, N>::empty().fill(0.0f32);
    // rung: matvec on gpu: plane per row | plane per row, vectors
    if row < rows {
        let mut at = lane;
        while at < width {
            sums = fma(x[at as usize], matrix[(row * width + at) as usize], sums);
            at += lanes;
        }
    }
    // end
    let mut sum = sums[0usize];
    #[unroll]
    for k in 1..numbers {
        sum += sums[comptime!(k as usize)];
    }
    // rung: matvec on gpu: plane per row | plane per row, vectors
    #[unroll]
    for step in 0..comptime!(lanes.ilog2()) {
        sum += plane_shuffle_xor(sum, comptime!(lanes >> (step + 1)));
    }
    // end
    if lane == 0 {
        if row < rows {
            y[row as usize] = sum;
        }
    }
}
