//! The variants on the CPU.

use rayon::prelude::*;
use relief_kernels::matmul::cpu::{
    INNER, LEFT_LEN, Operand, multiply, multiply_packed, pack_block, packed_len, scratch_len,
};
use relief_kernels::matrix::{Matrix, MatrixMut};

use super::Product;
use crate::array::Layout;
use crate::family::{Failure, OnCpu, Outcome, Variant};

pub(super) fn variants() -> Vec<Variant<Product>> {
    vec![
        Variant::cpu("naive", "one sum after the other", naive),
        Variant::cpu("rows", "the inner loop runs along rows", rows),
        Variant::cpu("blocked", "the same, in blocks that stay in the caches", blocked),
        Variant::cpu("packed", "the production kernel on one thread", |p, call| {
            let (left, right) = operands(p, &call)?;
            let result = call.outputs[0].slice_mut::<f32>();
            let result = MatrixMut::new(result, p.rows, p.columns, p.columns)?;
            Ok(multiply(left, right, result, call.scratch[0].slice_mut())?)
        })
        .scratch(|p| vec![Layout::of::<f32>(scratch_len(p.inner, p.columns))]),
        Variant::cpu(
            "crate gemm",
            "another program's: the crate gemm, on all threads",
            gemm,
        ),
        Variant::cpu(
            "threads",
            "all threads pack the right operand, then take rows each",
            threads,
        )
        .scratch(|p| {
            vec![
                Layout::of::<f32>(packed_len(p.inner, p.columns)),
                Layout::of::<f32>(LEFT_LEN * p.rows.div_ceil(height(p.rows)).max(1)),
            ]
        })
        .production(),
    ]
}

type Operands<'a> = (Matrix<'a, f32>, Matrix<'a, f32>);

fn operands<'a>(p: &Product, call: &OnCpu<'a>) -> Outcome<Operands<'a>> {
    let left = Matrix::new(call.inputs[0].slice(), p.rows, p.inner, p.pitch())?;
    let right = Matrix::new(call.inputs[1].slice(), p.inner, p.columns, p.columns)?;
    Ok((left, right))
}

/// Rows that a thread takes at once.
pub(super) fn height(rows: usize) -> usize {
    rows.div_ceil(2 * rayon::current_num_threads())
        .next_multiple_of(14)
        .max(14)
}

fn threads(p: &Product, call: OnCpu<'_>) -> Outcome {
    let (left, right) = operands(p, &call)?;
    let [packed, scratch] = call.scratch else {
        return Err(Failure::Failed("no scratch memory".to_owned()));
    };
    let result = call.outputs[0].slice_mut();
    deal(left, right, result, packed.slice_mut(), scratch.slice_mut())
}

/// Packs the right operand and multiplies, on all threads. Of the scratch memory, parts of rows have [`LEFT_LEN`] each.
pub(super) fn deal<T: Operand>(
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
    result: &mut [f32],
    packed: &mut [f32],
    scratch: &mut [f32],
) -> Outcome {
    let (inner, columns) = (right.rows(), right.columns());
    if columns == 0 {
        return Ok(());
    }
    let block = packed_len(INNER, columns);
    let blocks = packed.par_chunks_mut(block).enumerate();
    blocks.try_for_each(|(k, packed)| {
        let rows = k * INNER..inner.min((k + 1) * INNER);
        pack_block(right.rows_of(rows), packed)
    })?;
    let height = height(left.rows());
    let results = result.par_chunks_mut(height * columns);
    let parts = results.zip(scratch.par_chunks_mut(LEFT_LEN)).enumerate();
    parts.try_for_each(|(k, (result, scratch))| {
        let rows = result.len() / columns;
        let left = left.rows_of(k * height..k * height + rows);
        let result = MatrixMut::new(result, rows, columns, columns)?;
        Ok(multiply_packed(left, packed, result, scratch)?)
    })
}

/// Multiply-adds that a variant without blocks may take: a minute.
const PATIENCE: u64 = 1 << 31;

pub(super) fn patient(p: &Product) -> Outcome {
    if p.steps() > PATIENCE {
        return Err(Failure::Unsupported("it would take minutes".to_owned()));
    }
    Ok(())
}

fn naive(p: &Product, call: OnCpu<'_>) -> Outcome {
    patient(p)?;
    let (left, _) = operands(p, &call)?;
    let right = call.inputs[1].slice::<f32>();
    let result = call.outputs[0].slice_mut::<f32>();
    for (at, sum) in result.iter_mut().enumerate() {
        let (row, column) = (left.row(at / p.columns), at % p.columns);
        *sum = 0.0;
        for (k, number) in row.iter().enumerate() {
            *sum += number * right[k * p.columns + column];
        }
    }
    Ok(())
}

fn rows(p: &Product, call: OnCpu<'_>) -> Outcome {
    patient(p)?;
    let (left, right) = operands(p, &call)?;
    let result = call.outputs[0].slice_mut::<f32>();
    for (i, sums) in result.chunks_mut(p.columns.max(1)).enumerate() {
        sums.fill(0.0);
        for (k, number) in left.row(i).iter().enumerate() {
            for (sum, other) in sums.iter_mut().zip(right.row(k)) {
                *sum += number * other;
            }
        }
    }
    Ok(())
}

fn blocked(p: &Product, call: OnCpu<'_>) -> Outcome {
    const SIDE: usize = 64;
    patient(p)?;
    let (left, right) = operands(p, &call)?;
    let result = call.outputs[0].slice_mut::<f32>();
    result.fill(0.0);
    for top in (0..p.rows).step_by(SIDE) {
        for begin in (0..p.inner).step_by(SIDE) {
            for x in (0..p.columns).step_by(4 * SIDE) {
                let columns = x..p.columns.min(x + 4 * SIDE);
                for i in top..p.rows.min(top + SIDE) {
                    let sums = &mut result[i * p.columns..][columns.clone()];
                    for k in begin..p.inner.min(begin + SIDE) {
                        let number = left.row(i)[k];
                        for (sum, other) in sums.iter_mut().zip(&right.row(k)[columns.clone()]) {
                            *sum += number * other;
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

#[allow(unsafe_code)]
fn gemm(p: &Product, call: OnCpu<'_>) -> Outcome {
    let (left, right) = (call.inputs[0].slice::<f32>(), call.inputs[1].slice::<f32>());
    let result = call.outputs[0].slice_mut::<f32>();
    let (pitch, columns) = (p.pitch() as isize, p.columns as isize);
    // SAFETY: the slices hold as many rows and columns, one number from column to column and these pitches from row to row.
    unsafe {
        gemm::gemm(
            p.rows,
            p.columns,
            p.inner,
            result.as_mut_ptr(),
            1,
            columns,
            false,
            left.as_ptr(),
            1,
            pitch,
            right.as_ptr(),
            1,
            columns,
            0.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::Rayon(rayon::current_num_threads()),
        );
    }
    Ok(())
}
