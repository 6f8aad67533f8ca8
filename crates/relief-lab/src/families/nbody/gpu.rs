//! The variants on devices.
#![allow(unsafe_code)]

use cubecl::prelude::*;
use relief_kernels::device::{Operand, launch, line};
use relief_kernels::policy::Tuning;
use relief_numeric::nbody::gpu::{self as production, Bodies};

use super::{Pull, SOFTENING, interaction};
use crate::array::Layout;
use crate::family::{Failure, OnGpu, Outcome, Variant};

/// Units of a cube of the ladder.
const UNITS: u32 = 128;

pub(super) fn variants() -> Vec<Variant<Pull>> {
    vec![
        Variant::gpu(
            "naive",
            "a unit for each body, four loads for each that pulls",
            |p: &Pull, call| far(p, call, 1),
        )
        .source("229–329 GFLOPS"),
        Variant::gpu("vectors", "one load of 16 bytes", |p, call| far(p, call, 4)),
        Variant::gpu(
            "shared tiles",
            "a cube loads what pulls once for all of its units",
            |p: &Pull, call| tiles(p, call, layout(), 1),
        ),
        Variant::gpu(
            "split",
            "one body a unit; what pulls is cut into parts, a cube for each",
            |p: &Pull, call| tiles(p, call, layout(), parts(p)),
        )
        .scratch(scratch),
        Variant::gpu("mixed", "several bodies a unit, and parts", |p: &Pull, call| {
            tiles(p, call, call.tuning, parts(p))
        })
        .tuned(production::NAME, production::SPACE, production::DEFAULT)
        .scratch(scratch)
        .production(),
    ]
}

fn parts(problem: &Pull) -> usize {
    production::parts(problem.0, problem.0)
}

fn layout() -> Tuning {
    Tuning {
        units: UNITS,
        items: 1,
        ..production::DEFAULT
    }
}

fn scratch(problem: &Pull) -> Vec<Layout> {
    let words = production::scratch_words(problem.0, parts(problem));
    vec![Layout::of::<f32>(words)]
}

/// The production kernel in some layout.
fn tiles(problem: &Pull, call: &OnGpu<'_>, tuning: Tuning, parts: usize) -> Outcome {
    let bodies = Bodies {
        buffer: &call.inputs[0],
        count: problem.0,
    };
    let scratch = call.scratch.first().unwrap_or(&call.outputs[0]);
    let (of, to) = (interaction()?, &call.outputs[0]);
    production::accelerations_with(call.gpu, tuning, parts, &of, bodies, bodies, to, scratch)?;
    Ok(())
}

/// Straight from memory, in loads of so many words.
fn far(problem: &Pull, call: &OnGpu<'_>, vector: u32) -> Outcome {
    if problem.0 == 0 {
        return Ok(());
    }
    let Ok(count) = u32::try_from(problem.0) else {
        return Err(Failure::Unsupported("more than 2^32 bodies".to_owned()));
    };
    let (from, to) = (&call.inputs[0], &call.outputs[0]);
    // SAFETY: bodies are compared with `count`, and both buffers have four words for each.
    launch!(
        call.gpu, "nbody far", &vector, &[Operand::write("the output", to)], line(call.gpu, count, UNITS),
        unsafe pull_far(
            vector as usize, from.array(vector as usize), to.array(1), count, SOFTENING * SOFTENING, vector))?;
    Ok(())
}

#[cube(launch_unchecked)]
fn pull_far<N: Size>(
    from: &Array<Vector<f32, N>>,
    to: &mut Array<f32>,
    count: u32,
    softening: f32,
    #[comptime] vector: u32,
) {
    let place = CUBE_POS as u32 * comptime!(UNITS) + UNIT_POS;
    if place < count {
        let mut x = 0.0f32;
        let mut y = 0.0f32;
        let mut z = 0.0f32;
        let own = load::<N>(from, place, vector);
        let mut other = 0u32;
        // rung: nbody on gpu: naive | vectors
        while other < count {
            let body = load::<N>(from, other, vector);
            let dx = body[0usize] - own[0usize];
            let dy = body[1usize] - own[1usize];
            let dz = body[2usize] - own[2usize];
            let root = fma(dx, dx, fma(dy, dy, fma(dz, dz, softening))).inverse_sqrt();
            let weight = (body[3usize] * root) * (root * root);
            x = fma(weight, dx, x);
            y = fma(weight, dy, y);
            z = fma(weight, dz, z);
            other += 1u32;
        }
        // end
        let at = (4u32 * place) as usize;
        to[at] = x;
        to[at + 1] = y;
        to[at + 2] = z;
        to[at + 3] = 0.0f32;
    }
}

/// The four numbers of a body.
#[cube]
fn load<N: Size>(from: &Array<Vector<f32, N>>, place: u32, #[comptime] vector: u32) -> Array<f32> {
    let mut body = Array::<f32>::new(4usize);
    if comptime!(vector == 4) {
        let whole = from[place as usize];
        #[unroll]
        for k in 0..4usize {
            body[k] = whole[k];
        }
    } else {
        #[unroll]
        for k in 0..4usize {
            body[k] = from[(4u32 * place) as usize + k][0usize];
        }
    }
    body
}
