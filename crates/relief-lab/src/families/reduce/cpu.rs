//! The variants on the CPU.

use std::ops::{Add, AddAssign};

use bytemuck::Pod;
use rayon::prelude::*;
use relief_numeric::element::Element;
use relief_numeric::matrix::Matrix;
use relief_numeric::reduce::cpu::{self, Reducible};
use relief_numeric::reduce::{BLOCK, Operation};

use super::Reduce;
use crate::array::{Array, Layout};
use crate::families::{part, share};
use crate::family::{OnCpu, Outcome, Variant};

pub(super) fn variants(operation: Operation) -> Vec<Variant<Reduce>> {
    let of = |name, idea, way| Variant::cpu(name, idea, move |p: &Reduce, call| all(p, call, way));
    let mut variants = vec![of("naive", "one number after the other, one result", Way::Naive)];
    if operation == Operation::Sum {
        let idea = "eight results on the way at once, put together at the end";
        variants.push(of("eight sums", idea, Way::EightSums));
    }
    variants.extend([
        of("vectors", "the production kernel on one thread", Way::Vectors),
        of("threads", "blocks dealt to all threads", Way::Threads)
            .scratch(|p| vec![Layout::of::<u32>(2 * p.width.div_ceil(BLOCK))])
            .production(),
    ]);
    variants
}

/// Numbers that the variants reduce.
trait Value: Reducible<Sum: Pod> {
    /// Where sums of them neither overflow nor stand still.
    type Wide: Copy + Default + AddAssign + Add<Output = Self::Wide>;
    fn wide(self) -> Self::Wide;
    /// The words of a result.
    fn words(sum: Self::Wide) -> [u32; 2];
    /// The words of a result of production.
    fn sum_words(sum: Self::Sum) -> [u32; 2];
}

const fn halves(long: u64) -> [u32; 2] {
    [long as u32, (long >> 32) as u32]
}

macro_rules! integers {
    ($($type:ty, $wide:ty;)+) => {$(
        impl Value for $type {
            type Wide = $wide;

            fn wide(self) -> $wide {
                self.into()
            }

            fn words(sum: $wide) -> [u32; 2] {
                halves(sum as u64)
            }

            fn sum_words(sum: $wide) -> [u32; 2] {
                Self::words(sum)
            }
        }
    )+};
}

integers! { u8, u64; u16, u64; u32, u64; i32, i64; }

impl Value for f32 {
    type Wide = f64;

    fn wide(self) -> f64 {
        self.into()
    }

    fn words(sum: f64) -> [u32; 2] {
        [(sum as Self).to_bits(), 0]
    }

    fn sum_words(sum: Self) -> [u32; 2] {
        [sum.to_bits(), 0]
    }
}

/// The words of the number of a key.
fn number<T: Value>(key: u32) -> [u32; 2] {
    let number = T::from_key(key);
    let mut word = [0; 4];
    word[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&number));
    [u32::from_le_bytes(word), 0]
}

/// How a row is reduced.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Naive,
    EightSums,
    Vectors,
    Threads,
}

/// Reduces all rows.
fn all(problem: &Reduce, call: OnCpu<'_>, way: Way) -> Outcome {
    match problem.element {
        Element::U8 => rows::<u8>(problem, call, way)?,
        Element::U16 => rows::<u16>(problem, call, way)?,
        Element::U32 => rows::<u32>(problem, call, way)?,
        Element::I32 => rows::<i32>(problem, call, way)?,
        Element::F32 => rows::<f32>(problem, call, way)?,
    }
    Ok(())
}

fn rows<T: Value>(problem: &Reduce, call: OnCpu<'_>, way: Way) -> Outcome {
    let words: &mut [u32] = bytemuck::cast_slice_mut(call.outputs[0].bytes_mut());
    let each = problem.result_words();
    // Many rows are dealt to threads whole.
    if way == Way::Threads && problem.height >= 2 * rayon::current_num_threads() {
        let part = share(problem.height);
        let numbers = bytemuck::cast_slice(call.inputs[0].bytes());
        let matrix = Matrix::<T>::new(numbers, problem.height, problem.width, problem.pitch())?;
        let parts = words.par_chunks_mut(part * each).enumerate();
        parts.for_each(|(k, words)| {
            let first = k * part;
            if problem.operation == Operation::Sum {
                let rows = matrix.rows_of(first..first + words.len() / each);
                return cpu::sum_rows(rows, bytemuck::cast_slice_mut(words));
            }
            let rows = problem.rows_from::<T>(&call.inputs[0], first);
            for (row, to) in rows.zip(words.chunks_mut(each)) {
                to.copy_from_slice(&vectors(problem.operation, row)[..each]);
            }
        });
        return Ok(());
    }
    let rows = problem.rows_from::<T>(&call.inputs[0], 0);
    for (row, to) in rows.zip(words.chunks_mut(each)) {
        let result = match way {
            Way::Naive => naive(problem.operation, row),
            Way::EightSums => eight_sums(row),
            Way::Vectors => vectors(problem.operation, row),
            Way::Threads => threads(problem.operation, row, call.scratch),
        };
        to.copy_from_slice(&result[..each]);
    }
    Ok(())
}

fn naive<T: Value>(operation: Operation, row: &[T]) -> [u32; 2] {
    match operation {
        Operation::Sum => {
            // rung: reduce on cpu: naive
            let mut sum = T::Wide::default();
            for value in row {
                sum += value.wide();
            }
            T::words(sum)
            // end
        }
        Operation::Least => number::<T>(row.iter().fold(u32::MAX, |least, value| least.min(value.key()))),
        Operation::Greatest => number::<T>(row.iter().fold(0, |most, value| most.max(value.key()))),
        Operation::PlaceOfLeast => {
            let (mut least, mut place) = (u32::MAX, u64::MAX);
            for (i, value) in row.iter().enumerate() {
                if value.key() < least || place == u64::MAX {
                    (least, place) = (value.key(), i as u64);
                }
            }
            halves(place)
        }
    }
}

fn eight_sums<T: Value>(row: &[T]) -> [u32; 2] {
    let (eights, rest) = row.as_chunks::<8>();
    // rung: reduce on cpu: eight sums
    let mut sums = [T::Wide::default(); 8];
    for eight in eights {
        for (sum, value) in sums.iter_mut().zip(eight) {
            *sum += value.wide();
        }
    }
    for (sum, value) in sums.iter_mut().zip(rest) {
        *sum += value.wide();
    }
    let [a, b, c, d, e, f, g, h] = sums;
    T::words(((a + b) + (c + d)) + ((e + f) + (g + h)))
    // end
}

fn vectors<T: Value>(operation: Operation, row: &[T]) -> [u32; 2] {
    // rung: reduce on cpu: vectors
    match operation {
        Operation::Sum => T::sum_words(cpu::sum(row)),
        Operation::Least => number::<T>(cpu::least(row).map_or(u32::MAX, T::key)),
        Operation::Greatest => number::<T>(cpu::greatest(row).map_or(0, T::key)),
        Operation::PlaceOfLeast => halves(cpu::place_of_least(row).unwrap_or(u64::MAX)),
    }
    // end
}

fn threads<T: Value>(operation: Operation, row: &[T], scratch: &mut [Array]) -> [u32; 2] {
    // Small rows are done before a thread has woken up.
    if size_of_val(row) < 1 << 16 {
        return vectors(operation, row);
    }
    let part = part(row.len()).next_multiple_of(BLOCK);
    let parts = row.par_chunks(part);
    match operation {
        Operation::Sum => {
            // rung: reduce on cpu: threads
            let sums: &mut [T::Sum] = bytemuck::cast_slice_mut(scratch[0].bytes_mut());
            let sums = &mut sums[..row.len().div_ceil(BLOCK)];
            let targets = sums.par_chunks_mut(part / BLOCK);
            parts
                .zip(targets)
                .for_each(|(part, sums)| cpu::block_sums(part, sums));
            T::sum_words(cpu::total::<T>(sums))
            // end
        }
        Operation::Least => {
            let least = parts.filter_map(cpu::least).map(T::key).min();
            number::<T>(least.unwrap_or(u32::MAX))
        }
        Operation::Greatest => {
            let greatest = parts.filter_map(cpu::greatest).map(T::key).max();
            number::<T>(greatest.unwrap_or(0))
        }
        Operation::PlaceOfLeast => {
            let least = parts.enumerate().filter_map(|(k, values)| {
                let place = cpu::place_of_least(values)?;
                Some((values[place as usize].key(), (k * part) as u64 + place))
            });
            halves(least.min().map_or(u64::MAX, |(_, place)| place))
        }
    }
}
