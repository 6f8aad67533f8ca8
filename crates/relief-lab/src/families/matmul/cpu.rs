//! The variants on the CPU.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use relief_numeric::matmul::cpu::{
    INNER, LEFT_LEN, Operand, PANEL, multiply, multiply_packed, pack_block, packed_len, scratch_len,
    tile_rows,
};
use relief_numeric::matrix::{Matrix, MatrixMut};

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
        .scratch(|p| scratch_of_deal(p.inner, p.columns))
        .production(),
    ]
}

type Operands<'a> = (Matrix<'a, f32>, Matrix<'a, f32>);

fn operands<'a>(p: &Product, call: &OnCpu<'a>) -> Outcome<Operands<'a>> {
    let left = Matrix::new(call.inputs[0].slice(), p.rows, p.inner, p.pitch())?;
    let right = Matrix::new(call.inputs[1].slice(), p.inner, p.columns, p.columns)?;
    Ok((left, right))
}

/// Scratch memory of [`deal`]: the packed right operand, and a packed part of the left one for each thread.
pub(super) fn scratch_of_deal(inner: usize, columns: usize) -> Vec<Layout> {
    vec![
        Layout::of::<f32>(packed_len(inner, columns)),
        Layout::of::<f32>(LEFT_LEN * rayon::current_num_threads()),
    ]
}

fn threads(p: &Product, call: OnCpu<'_>) -> Outcome {
    let (left, right) = operands(p, &call)?;
    let [packed, scratch] = call.scratch else {
        return Err(Failure::Failed("no scratch memory".to_owned()));
    };
    let result = call.outputs[0].slice_mut();
    deal(left, right, result, packed.slice_mut(), scratch.slice_mut())
}

/// Parts that a thread takes of either phase: enough that a thread that comes late finds some left.
const PARTS: usize = 3;

/// Packs the right operand and multiplies, on all threads. The scratch memory is that of [`scratch_of_deal`].
pub(super) fn deal<T: Operand>(
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
    result: &mut [f32],
    packed: &mut [f32],
    scratch: &mut [f32],
) -> Outcome {
    let columns = right.columns();
    if columns == 0 {
        return Ok(());
    }
    let wanted = PARTS * rayon::current_num_threads();
    pack(right, packed, wanted)?;
    let rows = left.rows();
    let tiles = rows.div_ceil(tile_rows());
    let count = tiles.min(wanted);
    let mut parts = Vec::with_capacity(count);
    let (mut rest, mut top) = (result, 0);
    for part in 1..=count {
        // As many tiles as each other, but for one.
        let bottom = rows.min(part * tiles / count * tile_rows());
        let (result, others) = rest.split_at_mut((bottom - top) * columns);
        parts.push((top..bottom, result));
        (rest, top) = (others, bottom);
    }
    // A thread's own, which stays in its second cache.
    let scratch: Vec<_> = scratch.chunks_mut(LEFT_LEN).map(Mutex::new).collect();
    parts.into_par_iter().try_for_each(|(rows, result)| {
        let own = rayon::current_thread_index().unwrap_or(0) % scratch.len();
        let mut scratch = scratch[own].lock().unwrap_or_else(PoisonError::into_inner);
        let result = MatrixMut::new(result, rows.len(), columns, columns)?;
        Ok(multiply_packed(left.rows_of(rows), packed, result, &mut scratch)?)
    })
}

/// Packs the right operand in about so many parts: of blocks, and of one block whole panels.
fn pack<T: Operand>(right: Matrix<'_, T>, packed: &mut [f32], wanted: usize) -> Outcome {
    let (inner, columns) = (right.rows(), right.columns());
    let strips = wanted.div_ceil(inner.div_ceil(INNER).max(1));
    let width = columns.div_ceil(strips).next_multiple_of(PANEL);
    let mut parts = Vec::new();
    let blocks = packed.chunks_mut(packed_len(INNER, columns)).enumerate();
    for (block, packed) in blocks {
        let rows = block * INNER..inner.min((block + 1) * INNER);
        let strips = packed.chunks_mut(packed_len(rows.len(), width)).enumerate();
        parts.extend(strips.map(|(strip, packed)| {
            let begin = strip * width;
            let part = right.rows_of(rows.clone());
            (part.columns_of(begin..columns.min(begin + width)), packed)
        }));
    }
    // rung: matmul on cpu: threads
    parts
        .into_par_iter()
        .try_for_each(|(part, packed)| Ok(pack_block(part, packed)?))
    // end
}

// rung: matmul on cpu: crate gemm = another program's

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
    // rung: matmul on cpu: naive
    for (at, sum) in result.iter_mut().enumerate() {
        let (row, column) = (left.row(at / p.columns), at % p.columns);
        *sum = 0.0;
        for (k, number) in row.iter().enumerate() {
            *sum += number * right[k * p.columns + column];
        }
    }
    // end
    Ok(())
}

fn rows(p: &Product, call: OnCpu<'_>) -> Outcome {
    patient(p)?;
    let (left, right) = operands(p, &call)?;
    let result = call.outputs[0].slice_mut::<f32>();
    // rung: matmul on cpu: rows
    for (i, sums) in result.chunks_mut(p.columns.max(1)).enumerate() {
        sums.fill(0.0);
        for (k, number) in left.row(i).iter().enumerate() {
            for (sum, other) in sums.iter_mut().zip(right.row(k)) {
                *sum += number * other;
            }
        }
    }
    // end
    Ok(())
}

fn blocked(p: &Product, call: OnCpu<'_>) -> Outcome {
    const SIDE: usize = 64;
    patient(p)?;
    let (left, right) = operands(p, &call)?;
    let result = call.outputs[0].slice_mut::<f32>();
    result.fill(0.0);
    // rung: matmul on cpu: blocked
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
    // end
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
