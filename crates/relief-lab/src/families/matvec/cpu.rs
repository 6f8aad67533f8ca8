//! The variants on the CPU.

use rayon::prelude::*;
use relief_kernels::matrix::{Matrix, ShapeError};
use relief_kernels::matvec::cpu;

use super::{Product, Side};
use crate::array::Layout;
use crate::families::share;
use crate::family::{Failure, OnCpu, Outcome, Variant};

pub(super) fn variants(side: Side) -> Vec<Variant<Product>> {
    match side {
        Side::Rows => vec![
            Variant::cpu("naive", "one product after the other, one sum", naive_rows),
            Variant::cpu("eight sums", "eight sums on the way at once", eight_sums),
            Variant::cpu("vectors", "the production kernel on one thread", |p, call| {
                let (matrix, x) = operands(p, &call)?;
                let y = call.outputs[0].slice_mut::<f32>();
                Ok(cpu::matrix_vector(matrix, x, y)?)
            }),
            Variant::cpu("threads", "rows dealt to all threads", |p, call| {
                let (matrix, x) = operands(p, &call)?;
                let y = call.outputs[0].slice_mut::<f32>();
                let height = share(y.len()).next_multiple_of(4);
                y.par_chunks_mut(height).enumerate().try_for_each(|(k, y)| {
                    let rows = k * height..k * height + y.len();
                    Ok(cpu::matrix_vector(matrix.rows_of(rows), x, y)?)
                })
            })
            .production(),
        ],
        Side::Columns => vec![
            Variant::cpu("naive", "column by column, one sum", naive_columns),
            Variant::cpu("row by row", "each row is added to all sums", row_by_row),
            Variant::cpu("vectors", "the production kernel on one thread", |p, call| {
                let (matrix, x) = operands(p, &call)?;
                let scratch = call.scratch[0].slice_mut::<f32>();
                let y = call.outputs[0].slice_mut::<f32>();
                Ok(cpu::vector_matrix(x, matrix, y, scratch)?)
            })
            .scratch(|p| vec![Layout::of::<f32>(cpu::scratch_len(p.rows))]),
            Variant::cpu("threads", "columns dealt to all threads", |p, call| {
                let (matrix, x) = operands(p, &call)?;
                let len = cpu::scratch_len(p.rows);
                let scratch = call.scratch[0].slice_mut::<f32>();
                let y = call.outputs[0].slice_mut::<f32>();
                let width = strip(y.len());
                let parts = y.par_chunks_mut(width).zip(scratch.par_chunks_mut(len));
                parts.enumerate().try_for_each(|(k, (y, scratch))| {
                    let columns = k * width..k * width + y.len();
                    Ok(cpu::vector_matrix(x, matrix.columns_of(columns), y, scratch)?)
                })
            })
            .scratch(|p| {
                let parts = p.columns.div_ceil(strip(p.columns)).max(1);
                vec![Layout::of::<f32>(cpu::scratch_len(p.rows) * parts)]
            })
            .production(),
        ],
    }
}

/// Columns that a thread takes: rows of them are half a page or more, or memory is read in too short runs.
fn strip(columns: usize) -> usize {
    columns
        .div_ceil(2 * rayon::current_num_threads())
        .next_multiple_of(64)
        .max(512)
}

impl From<ShapeError> for Failure {
    fn from(error: ShapeError) -> Self {
        Self::Failed(error.to_string())
    }
}

fn operands<'a>(p: &Product, call: &OnCpu<'a>) -> Outcome<(Matrix<'a, f32>, &'a [f32])> {
    let matrix = Matrix::new(call.inputs[0].slice(), p.rows, p.columns, p.columns)?;
    Ok((matrix, call.inputs[1].slice()))
}

fn naive_rows(p: &Product, call: OnCpu<'_>) -> Outcome {
    let (matrix, x) = operands(p, &call)?;
    for (r, y) in call.outputs[0].slice_mut::<f32>().iter_mut().enumerate() {
        *y = matrix.row(r).iter().zip(x).fold(0.0, |sum, (a, b)| sum + a * b);
    }
    Ok(())
}

fn eight_sums(p: &Product, call: OnCpu<'_>) -> Outcome {
    let (matrix, x) = operands(p, &call)?;
    for (r, y) in call.outputs[0].slice_mut::<f32>().iter_mut().enumerate() {
        let (row, rest) = matrix.row(r).as_chunks::<8>();
        let (xs, x_rest) = x.as_chunks::<8>();
        let mut sums = [0.0_f32; 8];
        for (row, x) in row.iter().zip(xs) {
            for ((sum, a), b) in sums.iter_mut().zip(row).zip(x) {
                *sum += a * b;
            }
        }
        let tail: f32 = rest.iter().zip(x_rest).map(|(a, b)| a * b).sum();
        *y = sums.iter().sum::<f32>() + tail;
    }
    Ok(())
}

fn naive_columns(p: &Product, call: OnCpu<'_>) -> Outcome {
    let (matrix, x) = (call.inputs[0].slice::<f32>(), call.inputs[1].slice::<f32>());
    for (c, y) in call.outputs[0].slice_mut::<f32>().iter_mut().enumerate() {
        *y = 0.0;
        for (r, x) in x.iter().enumerate() {
            *y += matrix[r * p.columns + c] * x;
        }
    }
    Ok(())
}

fn row_by_row(p: &Product, call: OnCpu<'_>) -> Outcome {
    let (matrix, x) = operands(p, &call)?;
    let y = call.outputs[0].slice_mut::<f32>();
    y.fill(0.0);
    for (r, x) in x.iter().enumerate() {
        for (y, number) in y.iter_mut().zip(matrix.row(r)) {
            *y += number * x;
        }
    }
    Ok(())
}
