//! The variants on the CPU.

use rayon::prelude::*;
use relief_numeric::matrix::{Matrix, ShapeError};
use relief_numeric::matvec::{ROWS, cpu};

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
                // rung: matvec/rows on cpu: threads
                let height = share(y.len()).next_multiple_of(4);
                y.par_chunks_mut(height).enumerate().try_for_each(|(k, y)| {
                    let rows = k * height..k * height + y.len();
                    Ok(cpu::matrix_vector(matrix.rows_of(rows), x, y)?)
                })
                // end
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
            .scratch(|p| vec![Layout::of::<f32>(cpu::scratch_len(p.rows, p.columns))]),
            Variant::cpu(
                "threads",
                "blocks of rows, or of columns, dealt to all threads",
                deal,
            )
            .scratch(|p| {
                let parts = Parts::of(p);
                vec![
                    Layout::of::<f32>(cpu::blocks_of(p.rows) * p.columns),
                    Layout::of::<f32>(cpu::BLOCK_SCRATCH * parts.count(p)),
                    Layout::of::<f32>(cpu::total_scratch(p.rows, p.columns)),
                ]
            })
            .production(),
        ],
    }
}

// rung: matvec on cpu: vectors = the loops of `eight sums` and `row by row`, compiled for each set of vector instructions

/// How x·M is dealt out.
struct Parts {
    /// Blocks of rows of a part.
    blocks: usize,
    /// Columns of a part, which has one block where these are not all.
    columns: usize,
}

impl Parts {
    /// Whole blocks, and of few blocks columns, but no runs of rows so short that memory is read slowly.
    fn of(p: &Product) -> Self {
        const LEAST: usize = 2_048;
        let wanted = 4 * rayon::current_num_threads();
        let blocks = cpu::blocks_of(p.rows).max(1);
        let strips = (wanted / blocks).clamp(1, p.columns.div_ceil(LEAST).max(1));
        Self {
            blocks: blocks.div_ceil(wanted),
            columns: p.columns.div_ceil(strips).next_multiple_of(16).max(16),
        }
    }

    fn count(&self, p: &Product) -> usize {
        cpu::blocks_of(p.rows).div_ceil(self.blocks) * p.columns.div_ceil(self.columns)
    }
}

/// Sums of blocks by all threads, and then what these come to.
fn deal(p: &Product, call: OnCpu<'_>) -> Outcome {
    let (matrix, x) = operands(p, &call)?;
    let [sums, scratch, rest] = call.scratch else {
        return Err(Failure::Failed("no scratch memory".to_owned()));
    };
    let (sums, y) = (sums.slice_mut::<f32>(), call.outputs[0].slice_mut::<f32>());
    if cpu::blocks_of(p.rows) == 1 {
        return deal_blocks(p, (matrix, x), y, scratch.slice_mut());
    }
    deal_blocks(p, (matrix, x), sums, scratch.slice_mut())?;
    let sums = Matrix::new(sums, cpu::blocks_of(p.rows), p.columns, p.columns)?;
    Ok(cpu::total(sums, y, rest.slice_mut())?)
}

/// Sums of blocks by all threads.
fn deal_blocks(
    p: &Product,
    (matrix, x): (Matrix<'_, f32>, &[f32]),
    sums: &mut [f32],
    scratch: &mut [f32],
) -> Outcome {
    let parts = Parts::of(p);
    let (height, columns) = (parts.blocks * ROWS, p.columns);
    let whole = parts.columns >= columns;
    let of_rows = sums.chunks_mut((parts.blocks * columns).max(1)).enumerate();
    let all: Vec<_> = of_rows
        .flat_map(|(row, sums)| {
            let width = if whole { sums.len() } else { parts.columns };
            sums.chunks_mut(width).enumerate().map(move |part| (row, part))
        })
        .zip(scratch.chunks_mut(cpu::BLOCK_SCRATCH))
        .collect();
    // rung: matvec/columns on cpu: threads
    all.into_par_iter()
        .try_for_each(|((row, (strip, sums)), scratch)| {
            let rows = row * height..p.rows.min((row + 1) * height);
            let begin = strip * parts.columns;
            let columns = begin..columns.min(begin + parts.columns);
            let part = matrix.rows_of(rows.clone()).columns_of(columns);
            Ok(cpu::block_sums(&x[rows], part, sums, scratch)?)
        })
    // end
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
    // rung: matvec/rows on cpu: naive
    for (r, y) in call.outputs[0].slice_mut::<f32>().iter_mut().enumerate() {
        *y = matrix.row(r).iter().zip(x).fold(0.0, |sum, (a, b)| sum + a * b);
    }
    // end
    Ok(())
}

fn eight_sums(p: &Product, call: OnCpu<'_>) -> Outcome {
    let (matrix, x) = operands(p, &call)?;
    for (r, y) in call.outputs[0].slice_mut::<f32>().iter_mut().enumerate() {
        let (row, rest) = matrix.row(r).as_chunks::<8>();
        let (xs, x_rest) = x.as_chunks::<8>();
        // rung: matvec on cpu: eight sums
        let mut sums = [0.0_f32; 8];
        for (row, x) in row.iter().zip(xs) {
            for ((sum, a), b) in sums.iter_mut().zip(row).zip(x) {
                *sum += a * b;
            }
        }
        let tail: f32 = rest.iter().zip(x_rest).map(|(a, b)| a * b).sum();
        *y = sums.iter().sum::<f32>() + tail;
        // end
    }
    Ok(())
}

fn naive_columns(p: &Product, call: OnCpu<'_>) -> Outcome {
    let (matrix, x) = (call.inputs[0].slice::<f32>(), call.inputs[1].slice::<f32>());
    // rung: matvec/columns on cpu: naive
    for (c, y) in call.outputs[0].slice_mut::<f32>().iter_mut().enumerate() {
        *y = 0.0;
        for (r, x) in x.iter().enumerate() {
            *y += matrix[r * p.columns + c] * x;
        }
    }
    // end
    Ok(())
}

fn row_by_row(p: &Product, call: OnCpu<'_>) -> Outcome {
    let (matrix, x) = operands(p, &call)?;
    let y = call.outputs[0].slice_mut::<f32>();
    y.fill(0.0);
    // rung: matvec on cpu: row by row
    for (r, x) in x.iter().enumerate() {
        for (y, number) in y.iter_mut().zip(matrix.row(r)) {
            *y += number * x;
        }
    }
    // end
    Ok(())
}
