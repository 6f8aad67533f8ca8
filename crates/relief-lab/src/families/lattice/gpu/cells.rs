//! One cell, folded by a kernel and repeated.

use cubecl::prelude::*;
use relief_kernels::device::{Operand, launch, line};

use super::super::{Copies, Mean};
use super::target::{blended, numbers, sample};
use super::{DEFAULT, SAMPLES, SPACE, countable, pitch, shifted_words};
use crate::array::Layout;
use crate::family::{Failure, OnGpu, Outcome, Variant, tuning};

const UNITS: u32 = 256;

pub(super) fn variants() -> [Variant<Mean>; 2] {
    let scratch = |p: &Mean| vec![Layout::of::<u32>(shifted_words(&p.0))];
    [
        Variant::gpu(
            "cell words",
            "one cell folded, then a word for each unit, sample by sample",
            |p: &Mean, call| run(&p.0, call, false),
        )
        .scratch(scratch),
        Variant::gpu(
            "cell vectors",
            "one cell folded, stored with every shift; a vector is one load, several rows for a unit",
            |p: &Mean, call| run(&p.0, call, true),
        )
        .scratch(scratch)
        .tuned("lattice ladder u8", SPACE, DEFAULT),
    ]
}

fn run(copies: &Copies, call: &OnGpu<'_>, vectors: bool) -> Outcome {
    if copies.width == 0 || copies.height == 0 {
        return Ok(());
    }
    let (cell, out) = (&call.scratch[0], &call.outputs[0]);
    countable(call.gpu, out)?;
    let period = copies.period();
    let fits = period.a() < 1 << 20 && period.c() < 1 << 20 && copies.pitch() < 1 << 28;
    if !fits || period.b() * (copies.height as u64 / period.c() + 1) >= 1 << 31 {
        return Err(Failure::Unsupported("a lattice of too long a period".to_owned()));
    }
    let numbers = numbers(copies)?;
    let words = shifted_words(copies) as u32;
    let [a, b, c] = [period.a(), period.b(), period.c()].map(|number| number as u32);
    let row = a.div_ceil(SAMPLES);
    let (pattern, inverse) = (&call.inputs[0], 1.0 / copies.determinant() as f32);
    // SAFETY: words are compared with their number, of which the buffer of the cell holds as many.
    launch!(
        call.gpu, "lattice ladder cell", &(), &[Operand::write("the output", cell)],
        line(call.gpu, words, UNITS),
        unsafe fold_cell(
            pattern.array(1), cell.array(1), numbers.iter().copied().collect(), inverse, a, c, row, words))?;
    let tuning = if vectors { call.tuning } else { tuning(UNITS, 1, 1) };
    let (columns, height) = (pitch(copies, 8) / tuning.vector, copies.height as u32);
    let down = height.div_ceil(tuning.items);
    // Taller grids have several layers.
    let layers = down.div_ceil(65_535);
    let grid = CubeCount::Static(columns.div_ceil(tuning.units), down.div_ceil(layers), layers);
    let width = tuning.vector as usize;
    // SAFETY: columns are compared with the vectors from one row to the next and rows with the raster's, and the output holds
    // as many vectors; columns of the cell are remainders by a and rows by c, so that every place lies in what was stored.
    launch!(
        call.gpu, "lattice ladder repeat", &tuning, &[Operand::write("the output", out)],
        (grid, CubeDim::new_1d(tuning.units)),
        unsafe repeat_cell(
            width, cell.array(width), cell.array(1), out.array(width), a, b, c, row, columns, height,
            tuning.items, tuning.vector))?;
    Ok(())
}

#[cube(launch_unchecked)]
fn fold_cell(
    pattern: &Array<u32>,
    cell: &mut Array<u32>,
    numbers: &Sequence<i32>,
    inverse: f32,
    a: u32,
    c: u32,
    row: u32,
    words: u32,
) {
    let place = ABSOLUTE_POS as u32;
    if place < words {
        let vector = place / 4u32;
        let line = vector / row;
        let shift = line / c;
        let y = i32::cast_from(line % c);
        let first = vector % row * SAMPLES + shift + place % 4u32 * 4u32;
        let mut word = u32::new(0);
        #[unroll]
        for k in 0..4u32 {
            let x = i32::cast_from((first + k) % a);
            word |= blended(pattern, numbers, inverse, x, y, 8u32) << comptime!(8 * k);
        }
        cell[place as usize] = word;
    }
}

#[cube(launch_unchecked)]
fn repeat_cell<N: Size>(
    cell: &Array<Vector<u32, N>>,
    words: &Array<u32>,
    out: &mut Array<Vector<u32, N>>,
    a: u32,
    b: u32,
    c: u32,
    row: u32,
    columns: u32,
    height: u32,
    #[comptime] items: u32,
    #[comptime] vector: u32,
) {
    let samples = comptime!(vector * 4);
    let column = ABSOLUTE_POS_X;
    let mut y = (CUBE_POS_Z * CUBE_COUNT_Y + CUBE_POS_Y) * items;
    if column < columns && y < height {
        let turns = y / c;
        let mut line = y - turns * c;
        let mut x = (column * samples + a - turns * b % a) % a;
        #[unroll]
        for _ in 0..items {
            if y < height {
                let place = y * columns + column;
                if comptime!(vector == 4) {
                    // rung: lattice on gpu: cell vectors
                    let shift = x % samples;
                    out[place as usize] = cell[((shift * c + line) * row + x / samples) as usize];
                    // end
                } else {
                    // rung: lattice on gpu: cell words
                    let mut word = u32::new(0);
                    let mut from = x;
                    #[unroll]
                    for k in 0..samples {
                        // The copies without a shift hold their samples in order, row by row.
                        let held = line * row * SAMPLES + from;
                        word |= sample(words, held, 8u32) << comptime!(8 * k);
                        from += 1u32;
                        if from == a {
                            from = u32::new(0);
                        }
                    }
                    out[place as usize] = Vector::<u32, N>::new(word);
                    // end
                }
                y += 1u32;
                line += 1u32;
                if line == c {
                    line = u32::new(0);
                    if x < b {
                        x += a;
                    }
                    x -= b;
                }
            }
        }
    }
}
