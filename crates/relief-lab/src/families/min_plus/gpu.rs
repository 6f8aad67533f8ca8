//! The variants on devices.
#![allow(unsafe_code)]

use cubecl::prelude::*;
use relief_kernels::device::{Operand, cover, launch};
use relief_numeric::min_plus::gpu::{self as production, Layout, Matrix, Size, Step};

use super::{Numbers, Product};
use crate::array::Layout as Memory;
use crate::family::{Failure, OnGpu, Outcome, Problem as _, Variant};

pub(super) fn variants(numbers: Numbers) -> Vec<Variant<Product>> {
    let mut variants = Vec::new();
    let step = match numbers {
        Numbers::Signed | Numbers::NonNegative => Step::Found,
        Numbers::Integers => Step::Integer,
    };
    if numbers == Numbers::Signed {
        variants.extend(of_the_source());
    }
    let idea = "tiles by way of shared memory, results in registers, operands as vectors";
    if numbers == Numbers::NonNegative {
        let default = |_: &OnGpu<'_>| Layout::of(production::DEFAULT);
        let signed = "a minimum of floats for each sum";
        let bits = "a minimum of the bits of two sums and the least so far";
        variants.push(tiles("additions and minima", signed, default, Step::Signed));
        variants.push(tiles("three-way minima", bits, default, Step::NonNegative));
    }
    variants.push(tiles("tuned", idea, |call| Layout::of(call.tuning), step).tuned(
        production::NAME,
        production::SPACE,
        production::DEFAULT,
    ));
    variants.push(
        Variant::gpu(
            "production",
            "the tuned layout, small tiles where there are few",
            |p: &Product, call| {
                let (size, [a, b, c]) = operands(p, call);
                production::min_plus(call.gpu, p.numbers.element(), size, a, b, c, &call.scratch[0])?;
                Ok(())
            },
        )
        .scratch(padded)
        .production(),
    );
    variants
}

fn tiles(
    name: &'static str,
    idea: &'static str,
    layout: impl Fn(&OnGpu<'_>) -> Layout + Send + Sync + 'static,
    step: Step,
) -> Variant<Product> {
    Variant::gpu(name, idea, move |p: &Product, call| {
        let (size, [a, b, c]) = operands(p, call);
        let layout = layout(call);
        let (of, scratch) = (p.numbers.element(), &call.scratch[0]);
        production::min_plus_with(call.gpu, layout, step, of, size, a, b, c, scratch)?;
        Ok(())
    })
    .scratch(padded)
}

fn padded(problem: &Product) -> Vec<Memory> {
    vec![Memory::of::<u32>(
        production::scratch_words(size(problem)) as usize
    )]
}

fn size(problem: &Product) -> Size {
    let n = problem.n as u32;
    Size {
        rows: n,
        inner: n,
        columns: n,
    }
}

fn operands<'a>(problem: &Product, call: &'a OnGpu<'_>) -> (Size, [Matrix<'a>; 3]) {
    let pitch = (problem.pitch() * problem.numbers.kind().bytes() / 4) as u32;
    let matrix = |buffer| Matrix { buffer, pitch };
    let matrices = [&call.inputs[0], &call.inputs[1], &call.outputs[0]];
    (size(problem), matrices.map(matrix))
}

/// Results of a side beyond which the source's versions take seconds.
const SLOW: usize = 6_300;

/// The source's versions.
fn of_the_source() -> Vec<Variant<Product>> {
    let of = |name, idea, way| {
        Variant::gpu(name, idea, move |p: &Product, call| simple(p, call, way)).scratch(padded)
    };
    vec![
        of(
            "version 0",
            "a unit for each result, those of a plane below one another: loads lie a row apart",
            Way::Down,
        ),
        of(
            "version 1",
            "units of a plane beside one another: loads are runs, one for each operation",
            Way::Across,
        )
        .source("8 s"),
        of(
            "version 2",
            "padded, transposed; 8 × 8 results of a unit, 8 apart, in registers",
            Way::Registers,
        )
        .source("1.2 s, 58 %"),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Way {
    Down,
    Across,
    Registers,
}

/// Sides of a cube of [`Way::Down`] and [`Way::Across`], and of tiles that are transposed.
const SIDE: u32 = 32;
const LINES: u32 = 8;
/// Of [`Way::Registers`]: units and results of a side of a cube and of a unit, and results of a side of a cube.
const EIGHT: u32 = 8;
const TILE: u32 = 64;

fn simple(problem: &Product, call: &OnGpu<'_>, way: Way) -> Outcome {
    if problem.elements() == 0 {
        return Ok(());
    }
    if problem.n > SLOW {
        return Err(Failure::Unsupported("it takes seconds".to_owned()));
    }
    let (gpu, n, pitch) = (call.gpu, problem.n as u32, problem.pitch() as u32);
    let (infinity, padded) = (f32::INFINITY.to_bits(), n.next_multiple_of(TILE));
    let (a, b, between, out) = (
        &call.inputs[0],
        &call.inputs[1],
        &call.scratch[0],
        &call.outputs[0],
    );
    if way == Way::Registers {
        let grid = cover((padded, padded / SIDE * LINES), (SIDE, LINES));
        // SAFETY: numbers are read where both coordinates are below n; scratch memory holds both operands with padded sides, and as
        // many words of each are written.
        launch!(gpu, "min-plus pad", &(), &[Operand::write("the output", between)], grid, unsafe pad(
            a.array(1), b.array(1), between.array(1), n, pitch, padded, infinity))?;
    }
    // Results up to the pitch are stored: those past n have no operands.
    let (name, output) = ("min-plus ladder", [Operand::write("the output", out)]);
    let tiles = CubeCount::Static(pitch.div_ceil(TILE), n.div_ceil(TILE), 1);
    // SAFETY: of a and b rows and columns below n are read, of the padded ones those of whole tiles; rows below n and columns below the
    // pitch are stored.
    match way {
        Way::Down => launch!(gpu, name, &way, &output, cover((n, pitch), (SIDE, LINES)), unsafe one_each(
            a.array(1), b.array(1), out.array(1), n, pitch, infinity, true))?,
        Way::Across => launch!(gpu, name, &way, &output, cover((pitch, n), (SIDE, LINES)), unsafe one_each(
            a.array(1), b.array(1), out.array(1), n, pitch, infinity, false))?,
        Way::Registers => launch!(
            gpu, name, &way, &output, (tiles, CubeDim::new_2d(EIGHT, EIGHT)),
            unsafe registers(between.array(1), out.array(1), n, pitch, padded, infinity))?,
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn one_each(
    a: &Array<f32>,
    b: &Array<f32>,
    out: &mut Array<f32>,
    n: u32,
    pitch: u32,
    infinity: u32,
    #[comptime] down: bool,
) {
    let (mut i, mut j) = (ABSOLUTE_POS_Y, ABSOLUTE_POS_X);
    // rung: min-plus on gpu: version 0
    if comptime!(down) {
        i = ABSOLUTE_POS_X;
        j = ABSOLUTE_POS_Y;
    }
    // end
    let mut least = f32::reinterpret(infinity);
    if i < n {
        if j < n {
            // rung: min-plus on gpu: version 1
            for k in 0..n {
                least = min(least, a[(i * pitch + k) as usize] + b[(k * pitch + j) as usize]);
            }
            // end
        }
        if j < pitch {
            out[(i * pitch + j) as usize] = least;
        }
    }
}

/// Writes the transpose of a, and then b, both with `padded` rows of as many numbers.
#[cube(launch_unchecked)]
fn pad(a: &Array<f32>, b: &Array<f32>, to: &mut Array<f32>, n: u32, pitch: u32, padded: u32, infinity: u32) {
    let mut tile = SharedMemory::<f32>::new(comptime!((SIDE * (SIDE + 1)) as usize));
    let x = CUBE_POS_X * SIDE + UNIT_POS_X;
    #[unroll]
    for part in 0..comptime!(SIDE / LINES) {
        let line = part * LINES + UNIT_POS_Y;
        let y = CUBE_POS_Y * SIDE + line;
        let mut of_a = f32::reinterpret(infinity);
        let mut of_b = f32::reinterpret(infinity);
        if x < n {
            if y < n {
                of_a = a[(y * pitch + x) as usize];
                of_b = b[(y * pitch + x) as usize];
            }
        }
        tile[(line * comptime!(SIDE + 1) + UNIT_POS_X) as usize] = of_a;
        to[((padded + y) * padded + x) as usize] = of_b;
    }
    sync_cube();
    let y = CUBE_POS_Y * SIDE + UNIT_POS_X;
    #[unroll]
    for part in 0..comptime!(SIDE / LINES) {
        let line = part * LINES + UNIT_POS_Y;
        let x = CUBE_POS_X * SIDE + line;
        to[(x * padded + y) as usize] = tile[(UNIT_POS_X * comptime!(SIDE + 1) + line) as usize];
    }
}

// rung: min-plus on gpu: production = the kernel of `tuned`, with smaller tiles where there are few

// rung: min-plus on gpu: additions and minima | three-way minima = the kernel of `tuned`, whose step is another instruction

/// The source's version 2.
#[cube(launch_unchecked)]
fn registers(padded: &Array<f32>, out: &mut Array<f32>, n: u32, pitch: u32, side: u32, infinity: u32) {
    let mut least = Array::<f32>::new(comptime!((EIGHT * EIGHT) as usize));
    #[unroll]
    for q in 0..comptime!((EIGHT * EIGHT) as usize) {
        least[q] = f32::reinterpret(infinity);
    }
    let (first_i, first_j) = (CUBE_POS_Y * TILE + UNIT_POS_Y, CUBE_POS_X * TILE + UNIT_POS_X);
    // rung: min-plus on gpu: version 2
    for k in 0..n {
        let mut a = Array::<f32>::new(comptime!(EIGHT as usize));
        let mut b = Array::<f32>::new(comptime!(EIGHT as usize));
        #[unroll]
        for q in 0..EIGHT {
            a[comptime!(q as usize)] = padded[(k * side + first_i + comptime!(q * EIGHT)) as usize];
            b[comptime!(q as usize)] = padded[((side + k) * side + first_j + comptime!(q * EIGHT)) as usize];
        }
        #[unroll]
        for i in 0..comptime!(EIGHT as usize) {
            #[unroll]
            for j in 0..comptime!(EIGHT as usize) {
                let q = comptime!(i * EIGHT as usize + j);
                least[q] = min(least[q], a[i] + b[j]);
            }
        }
    }
    // end
    #[unroll]
    for i in 0..EIGHT {
        let y = first_i + comptime!(i * EIGHT);
        #[unroll]
        for j in 0..EIGHT {
            let x = first_j + comptime!(j * EIGHT);
            if y < n {
                if x < pitch {
                    out[(y * pitch + x) as usize] = least[comptime!((i * EIGHT + j) as usize)];
                }
            }
        }
    }
}
