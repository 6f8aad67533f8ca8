//! The reads on devices.
//!
//! Everything that a round needs beside its reads is one addition, so that the banks are what limits it: four reads
//! lie 32 words after each other, which an instruction adds by itself. The first place depends on the last sum, by
//! a number that is 0 but not known to be, so that no read can be taken out of the loop.
#![allow(unsafe_code)]

use cubecl::prelude::*;
use relief_kernels::device::{Operand, launch};

use super::expression::{Expression, Operator};
use super::pattern::{Pattern, UNITS};
use super::{READS, Reads, TABLE};
use crate::family::{OnGpu, Outcome, Variant};

pub(super) fn variants() -> Vec<Variant<Reads>> {
    vec![
        Variant::gpu(
            "conflict-free",
            "the words that unit t reads at place t",
            |p: &Reads, call| read(p, call, false),
        ),
        Variant::gpu(
            "as indexed",
            "the words where the pattern has them",
            |p: &Reads, call| read(p, call, true),
        ),
    ]
}

/// What is compiled into the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Shape {
    pattern: Pattern,
    indexed: bool,
}

fn read(problem: &Reads, call: &OnGpu<'_>, indexed: bool) -> Outcome {
    let shape = Shape {
        pattern: problem.pattern.clone(),
        indexed,
    };
    let width = problem.words();
    let (table, out) = (&call.inputs[0], &call.outputs[0]);
    // SAFETY: the table has as many words as are copied from it, places of it are below REACH / 4 + 96 words, and the output has
    // a vector for each unit of each cube.
    launch!(
        call.gpu, "banks", &shape, &[Operand::write("the output", &call.outputs[0])],
        (CubeCount::Static(problem.cubes, 1, 1), CubeDim::new_1d(UNITS)),
        unsafe read_rounds(
            width, table.array(width), out.array(width), problem.rounds / READS as u32, 0, width,
            shape.clone()))?;
    Ok(())
}

#[cube(launch_unchecked)]
fn read_rounds<N: Size>(
    table: &Array<Vector<u32, N>>,
    out: &mut Array<Vector<u32, N>>,
    rounds: u32,
    zero: u32,
    #[comptime] width: usize,
    #[comptime] shape: Shape,
) {
    let mut shared = SharedMemory::<Vector<u32, N>>::new(comptime!(TABLE / width));
    let t = UNIT_POS;
    let row = comptime!(shape.pattern.width());
    let place = index(t, t % row, t / row, comptime!(shape.pattern.index().clone()));
    // Which element, where elements are less than words: which word.
    let place = place * comptime!(shape.pattern.bytes()) / comptime!(4 * width as u32);
    let ahead = comptime!(32 / width);
    let mut first = t as usize;
    if comptime!(shape.indexed) {
        // rung: banks on gpu: as indexed
        let mut k = t as usize;
        while k < comptime!(TABLE / width) {
            shared[k] = table[k];
            k += comptime!(UNITS as usize);
        }
        first = place as usize;
        // end
    } else {
        // rung: banks on gpu: conflict-free
        #[unroll]
        for k in 0..READS {
            shared[t as usize + comptime!(k * UNITS as usize)] = table[place as usize + comptime!(k * ahead)];
        }
        // end
    }
    let apart = comptime!(if shape.indexed { ahead } else { UNITS as usize });
    sync_cube();
    let mut sum = Vector::<u32, N>::new(0u32);
    for _ in 0..rounds {
        let now = first + (sum[0usize] & zero) as usize;
        #[unroll]
        for k in 0..READS {
            sum += shared[now + comptime!(k * apart)];
        }
    }
    out[(CUBE_POS_X * UNITS + t) as usize] = sum;
}

/// An index expression, compiled.
#[cube]
fn index(t: u32, x: u32, y: u32, #[comptime] expression: Expression) -> u32 {
    match expression {
        Expression::Number(number) => number.runtime(),
        Expression::Unit => t,
        Expression::X => x,
        Expression::Y => y,
        Expression::Of(operator, a, b) => {
            let a = index(t, x, y, comptime!(*a));
            let b = index(t, x, y, comptime!(*b));
            match operator {
                Operator::Or => a | b,
                Operator::ExclusiveOr => a ^ b,
                Operator::And => a & b,
                Operator::Left => a << b,
                Operator::Right => a >> b,
                Operator::Add => a + b,
                Operator::Subtract => a - b,
                Operator::Multiply => a * b,
                Operator::Divide => a / b,
                Operator::Remainder => a % b,
            }
        }
    }
}
