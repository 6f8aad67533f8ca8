//! The variants on the CPU.

use rayon::prelude::*;
use relief_kernels::isa::{Isa, versions};
use relief_numeric::matrix::{Matrix, MatrixMut};
use relief_numeric::min_plus::Length;
use relief_numeric::min_plus::cpu::{
    INNER, LEFT_LEN, min_plus, min_plus_packed, pack_block, packed_len, scratch_len,
};

use super::{Numbers, Product};
use crate::array::Layout;
use crate::family::{Failure, OnCpu, Outcome, Variant};

/// Both operands; rows begin `pitch` numbers apart.
struct Operands<'a, T> {
    n: usize,
    pitch: usize,
    a: &'a [T],
    b: &'a [T],
}

impl<'a, T: Length> Operands<'a, T> {
    fn matrices(&self) -> Outcome<(Matrix<'a, T>, Matrix<'a, T>)> {
        let of = |numbers| Matrix::new(numbers, self.n, self.n, self.pitch);
        Ok((of(self.a)?, of(self.b)?))
    }

    fn row_of_a(&self, i: usize) -> &'a [T] {
        &self.a[i * self.pitch..][..self.n]
    }

    fn row_of_b(&self, k: usize) -> &'a [T] {
        &self.b[k * self.pitch..][..self.n]
    }
}

/// How a product is computed; what follows rows of the result is set afterwards.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Way {
    Naive,
    Transposed { vectors: bool },
    EightRows,
    Packed,
    Threads,
}

pub(super) fn variants() -> Vec<Variant<Product>> {
    vec![
        variant(
            "naive",
            "by the definition: b is read down its columns",
            Way::Naive,
        ),
        variant(
            "transposed",
            "b is turned first: both are read along rows",
            Way::Transposed { vectors: false },
        ),
        variant(
            "vectors",
            "a minimum for each lane of some vectors instead of one",
            Way::Transposed { vectors: true },
        ),
        variant(
            "eight rows",
            "a row of results takes a(i, k) + row k of b, of eight rows at a time: no chain",
            Way::EightRows,
        ),
        variant(
            "packed",
            "production on one thread: tiles in registers",
            Way::Packed,
        ),
        variant(
            "threads",
            "production: tiles in registers, rows for each thread",
            Way::Threads,
        )
        .production(),
    ]
}

fn variant(name: &'static str, idea: &'static str, way: Way) -> Variant<Product> {
    let variant = Variant::cpu(name, idea, move |p: &Product, call| {
        // A minute and more.
        if p.n > 2_048 && way < Way::EightRows {
            return Err(Failure::Unsupported("it would take minutes".to_owned()));
        }
        match p.numbers {
            Numbers::Signed | Numbers::NonNegative => run::<f32, f32>(p, call, way),
            Numbers::Integers => run::<u32, i32>(p, call, way),
        }
    });
    variant.scratch(|p| {
        let words = match p.numbers {
            Numbers::Signed | Numbers::NonNegative => scratch::<f32>(p),
            Numbers::Integers => scratch::<i32>(p),
        };
        vec![Layout::new(p.numbers.kind(), words)]
    })
}

/// Numbers of scratch memory that the greediest variant takes.
fn scratch<T: Length>(p: &Product) -> usize {
    let parts = p.n.div_ceil(height(p.n)).max(1);
    packed_len::<T>(p.n, p.n).max(p.n * p.n) + LEFT_LEN * parts
}

/// Runs with arrays of `E` as lengths of `T`, which have the same bits.
fn run<E: crate::array::Element, T: Length>(p: &Product, call: OnCpu<'_>, way: Way) -> Outcome {
    let operands = Operands {
        n: p.n,
        pitch: p.pitch(),
        a: bytemuck::cast_slice(call.inputs[0].slice::<E>()),
        b: bytemuck::cast_slice(call.inputs[1].slice::<E>()),
    };
    let result: &mut [T] = bytemuck::cast_slice_mut(call.outputs[0].slice_mut::<E>());
    let scratch: &mut [T] = bytemuck::cast_slice_mut(call.scratch[0].slice_mut::<E>());
    if p.n == 0 {
        return Ok(());
    }
    match way {
        Way::Naive => naive(&operands, result),
        Way::Transposed { vectors } => transposed(&operands, result, scratch, vectors),
        Way::EightRows => eight_rows(&operands, result),
        Way::Packed => packed(&operands, result, scratch)?,
        Way::Threads => threads(&operands, result, scratch)?,
    }
    for row in result.chunks_exact_mut(p.pitch()) {
        row[p.n..].fill(T::INFINITY);
    }
    Ok(())
}

/// The lesser of two, the second where they have no order.
#[inline(always)]
fn lesser<T: Length>(one: T, other: T) -> T {
    if one < other { one } else { other }
}

fn naive<T: Length>(operands: &Operands<'_, T>, result: &mut [T]) {
    for (i, result) in result.chunks_exact_mut(operands.pitch).enumerate() {
        for (j, result) in result[..operands.n].iter_mut().enumerate() {
            // rung: min-plus on cpu: naive
            let mut least = T::FARTHEST;
            for (k, a) in operands.row_of_a(i).iter().enumerate() {
                let b = operands.b[k * operands.pitch + j];
                least = lesser(a.operand().plus(b.operand()), least);
            }
            *result = least.result();
            // end
        }
    }
}

fn transposed<T: Length>(operands: &Operands<'_, T>, result: &mut [T], scratch: &mut [T], vectors: bool) {
    let n = operands.n;
    let turned = &mut scratch[..n * n];
    // rung: min-plus on cpu: transposed
    for k in 0..n {
        for (j, b) in operands.row_of_b(k).iter().enumerate() {
            turned[j * n + k] = b.operand();
        }
    }
    // end
    let isa = Isa::best();
    for (i, result) in result.chunks_exact_mut(operands.pitch).enumerate() {
        let row = operands.row_of_a(i);
        for (result, column) in result.iter_mut().zip(turned.chunks_exact(n)) {
            let least = match vectors {
                true => along_vectors(isa, row, column),
                false => along::<T, 1>(row, column),
            };
            *result = least.result();
        }
    }
}

/// The least sum of a row and a column, by so many chains.
#[inline(always)]
fn along<T: Length, const CHAINS: usize>(row: &[T], column: &[T]) -> T {
    // rung: min-plus on cpu: vectors
    let mut least = [T::FARTHEST; CHAINS];
    let ((rows, row), (columns, column)) = (row.as_chunks::<CHAINS>(), column.as_chunks::<CHAINS>());
    for (a, b) in rows.iter().zip(columns) {
        for k in 0..CHAINS {
            least[k] = lesser(a[k].operand().plus(b[k]), least[k]);
        }
    }
    let rest = row.iter().zip(column).map(|(a, b)| a.operand().plus(*b));
    rest.chain(least)
        .fold(T::FARTHEST, |least, sum| lesser(sum, least))
    // end
}

versions! {
    fn along_vectors<T: Length>(row: &[T], column: &[T]) -> T {
        along::<T, 64>(row, column)
    }
}

fn eight_rows<T: Length>(operands: &Operands<'_, T>, result: &mut [T]) {
    let isa = Isa::best();
    for (i, result) in result.chunks_exact_mut(operands.pitch).enumerate() {
        let result = &mut result[..operands.n];
        result.fill(T::FARTHEST);
        let (row, whole) = (operands.row_of_a(i), operands.n / 8 * 8);
        for k in (0..whole).step_by(8) {
            let rows = [0, 1, 2, 3, 4, 5, 6, 7].map(|q| operands.row_of_b(k + q));
            let numbers = [0, 1, 2, 3, 4, 5, 6, 7].map(|q| row[k + q].operand());
            take_eight(isa, numbers, rows, result);
        }
        for (k, a) in row.iter().enumerate().skip(whole) {
            for (result, b) in result.iter_mut().zip(operands.row_of_b(k)) {
                *result = lesser(a.operand().plus(b.operand()), *result);
            }
        }
        result.iter_mut().for_each(|value| *value = value.result());
    }
}

versions! {
    fn take_eight<T: Length>(a: [T; 8], rows: [&[T]; 8], result: &mut [T]) {
        let rows = rows.map(|row| &row[..result.len()]);
        // rung: min-plus on cpu: eight rows
        for j in 0..result.len() {
            let mut least = result[j];
            for k in 0..8 {
                least = lesser(a[k].plus(rows[k][j].operand()), least);
            }
            result[j] = least;
        }
        // end
    }
}

fn packed<T: Length>(operands: &Operands<'_, T>, result: &mut [T], scratch: &mut [T]) -> Outcome {
    // rung: min-plus on cpu: packed
    let n = operands.n;
    let (left, right) = operands.matrices()?;
    let result = MatrixMut::new(result, n, n, operands.pitch)?;
    Ok(min_plus(
        left,
        right,
        result,
        &mut scratch[..scratch_len::<T>(n, n)],
    )?)
    // end
}

/// Rows that a thread takes at once.
pub(super) fn height(rows: usize) -> usize {
    let rows = rows.div_ceil(2 * rayon::current_num_threads());
    rows.next_multiple_of(8).max(8)
}

fn threads<T: Length>(operands: &Operands<'_, T>, result: &mut [T], scratch: &mut [T]) -> Outcome {
    let n = operands.n;
    let (left, right) = operands.matrices()?;
    let (packed, rest) = scratch.split_at_mut(packed_len::<T>(n, n));
    let block = packed_len::<T>(INNER, n);
    let blocks = packed.par_chunks_mut(block).enumerate();
    blocks
        .try_for_each(|(k, packed)| pack_block(right.rows_of(k * INNER..n.min((k + 1) * INNER)), packed))?;
    // rung: min-plus on cpu: threads
    let height = height(n);
    let results = result.par_chunks_mut(height * operands.pitch);
    let scratch = rest.par_chunks_mut(LEFT_LEN);
    results
        .zip(scratch)
        .enumerate()
        .try_for_each(|(k, (result, scratch))| {
            let rows = result.len() / operands.pitch;
            let left = left.rows_of(k * height..k * height + rows);
            let result = MatrixMut::new(result, rows, n, operands.pitch)?;
            Ok(min_plus_packed(left, packed, result, scratch)?)
        })
    // end
}
