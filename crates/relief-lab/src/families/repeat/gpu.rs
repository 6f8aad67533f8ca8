//! The variants on devices.
#![allow(unsafe_code)]

use cubecl::prelude::*;
use relief_kernels::device::{Buffer, Gpu, Operand, Reading, cover, launch};
use relief_kernels::repeat::gpu::{self as production, Cell, Raster};

use super::Repeat;
use crate::array::Kind;
use crate::family::{Failure, OnGpu, Outcome, Problem, Variant};

/// Units of a cube: 32 wide, so that a row's words are whole lines.
const WIDE: u32 = 32;
const HIGH: u32 = 8;

/// Bytes that are read back at once, and how many such reads are on the way.
const PART: usize = 32 << 20;
const IN_FLIGHT: usize = 3;

pub(super) fn variants(kind: Kind) -> Vec<Variant<Repeat>> {
    let of = |name, idea, way| {
        Variant::gpu(name, idea, move |p: &Repeat, call| {
            simple(p, call.gpu, way, &call.inputs[0], &call.outputs[0])
        })
    };
    let own = 8 * kind.bytes() as u32;
    vec![
        Variant::gpu(
            "modulo and transfers",
            "the pattern up, a unit for each word, the result down",
            transfers,
        )
        .source("34 000 µs"),
        of(
            "modulo",
            "a unit for each word of the result, cubes 32 wide",
            Way::Modulo,
        )
        .source("2 030 µs; 2.5 ms at 16² and 32², 2.3 at 64² and 128²"),
        of(
            "shared, one loads",
            "the first unit of each cube copies the pattern to shared memory",
            Way::Shared,
        )
        .source("816 000 µs"),
        of(
            "repeater grid",
            "a unit for each word of the pattern writes all of its copies",
            Way::Grid,
        )
        .source("3 200 µs; 10.1 ms at 16², 7.3 at 32², 1.8 at 64², 1.4 at 128²"),
        of(
            "vectors",
            "a unit for each vector, one modulo for each axis",
            Way::Vectors,
        ),
        Variant::gpu(
            "copies",
            "a unit stores one vector down many copies",
            |p: &Repeat, call| {
                let side = p.side as u32;
                let cell = Cell {
                    buffer: &call.inputs[0],
                    width: side,
                    height: side,
                    pitch: side,
                };
                let to = Raster {
                    buffer: &call.outputs[0],
                    width: p.width as u32,
                    height: p.height as u32,
                    pitch: pitch(p),
                };
                production::expand_with(call.gpu, call.tuning, bits(p), cell, (0, 0), to)?;
                Ok(())
            },
        )
        .tuned(
            production::name(own),
            production::SPACE,
            production::default(own, 1, 0, None),
        )
        .tuned_by(|p, device| {
            let vectors = (p.width * p.kind.bytes()).div_ceil(16) * p.height;
            let cell = p.side * p.side * p.kind.bytes();
            let default = production::default(bits(p), vectors as u64, cell as u64, Some(device));
            (production::name(bits(p)), production::SPACE, default)
        })
        .production(),
    ]
}

fn bits(problem: &Repeat) -> u32 {
    8 * problem.kind.bytes() as u32
}

/// Words of a row of the raster.
fn pitch(problem: &Repeat) -> u32 {
    (problem.pitch() * problem.kind.bytes() / 4) as u32
}

/// The pattern comes down first, a few microseconds, because the lab hands it over on the device.
fn transfers(problem: &Repeat, call: &OnGpu<'_>) -> Outcome {
    let (gpu, from, out) = (call.gpu, &call.inputs[0], &call.outputs[0]);
    let bytes = gpu.read(from, from.words()).wait()?;
    let words = bytes.as_chunks::<4>().0.iter();
    let words: Vec<u32> = words.map(|word| u32::from_le_bytes(*word)).collect();
    simple(problem, gpu, Way::Modulo, &gpu.upload(&words)?, out)?;
    // rung: repeat on gpu: modulo and transfers
    let mut flying: std::collections::VecDeque<Reading> = std::collections::VecDeque::new();
    let words = pitch(problem) as usize * problem.height;
    for start in (0..words).step_by(PART / 4) {
        if flying.len() == IN_FLIGHT
            && let Some(reading) = flying.pop_front()
        {
            reading.wait()?;
        }
        let count = (PART / 4).min(words - start);
        let part = out.part(start, count);
        let part = part.ok_or_else(|| Failure::Failed("a part outside its buffer".to_owned()))?;
        flying.push_back(gpu.read(&part, count));
    }
    for reading in flying {
        reading.wait()?;
    }
    // end
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Way {
    Modulo,
    Shared,
    Grid,
    Vectors,
}

/// What is compiled into a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    way: Way,
    bits: u32,
    /// Words of the pattern, where it goes to shared memory.
    shared: u32,
}

fn simple(problem: &Repeat, gpu: &Gpu, way: Way, pattern: &Buffer, out: &Buffer) -> Outcome {
    if problem.elements() == 0 {
        return Ok(());
    }
    let (bits, pitch, height) = (bits(problem), pitch(problem), problem.height as u32);
    let side = problem.side as u32;
    let words = (side * side).div_ceil(32 / bits);
    let shape = Shape {
        way,
        bits,
        shared: if way == Way::Shared { words } else { 0 },
    };
    if 4 * shape.shared > gpu.report().shared_memory.min(48 << 10) {
        let reason = format!("a pattern of {} bytes in shared memory", 4 * words);
        return Err(Failure::Unsupported(reason));
    }
    // A pattern's row may end inside a word: the words of its copies come again after as many rows' lengths as a word has
    // samples, or fewer.
    let per = 32 / bits;
    let period = side * (per >> side.trailing_zeros().min(per.ilog2())) / per;
    let (across, down) = match way {
        Way::Modulo | Way::Shared => (pitch, height),
        Way::Grid => (period.min(pitch), side.min(height)),
        Way::Vectors => (pitch / 4, height),
    };
    // Where shared memory holds it as large as the source's, which makes the most of a copy of the pattern.
    let high = if way == Way::Shared { WIDE } else { HIGH };
    let cubes = (across.div_ceil(WIDE), down.div_ceil(high));
    if cubes.0.max(cubes.1) > 65_535 || out.words() as u64 > u64::from(u32::MAX) {
        return Err(Failure::Unsupported(format!("{} × {} cubes", cubes.0, cubes.1)));
    }
    let (name, grid) = ("repeat ladder", cover((across, down), (WIDE, high)));
    let output = [Operand::write("the output", out)];
    // SAFETY: columns and rows are compared with the raster's, of which the buffer holds as many words, those that fill rows
    // up among them; samples of the pattern are taken modulo its side.
    match way {
        Way::Modulo => launch!(gpu, name, &shape, &output, grid, unsafe modulo(
            pattern.array(1), out.array(1), side, pitch, height, shape))?,
        Way::Shared => launch!(gpu, name, &shape, &output, grid, unsafe whole_pattern(
            pattern.array(1), out.array(1), side, pitch, height, shape))?,
        Way::Grid => launch!(gpu, name, &shape, &output, grid, unsafe repeater_grid(
            pattern.array(1), out.array(1), side, period, pitch, height, shape))?,
        Way::Vectors => launch!(gpu, name, &shape, &output, grid, unsafe vectors(
            4, pattern.array(1), out.array(4), side, pitch / 4, height, shape))?,
    }
    Ok(())
}

/// Sample `place` of packed words.
#[cube]
fn sample(words: &Array<u32>, place: u32, #[comptime] bits: u32) -> u32 {
    let per = comptime!(32 / bits);
    (words[(place / per) as usize] >> (place % per * bits)) & comptime!(u32::MAX >> (32 - bits))
}

/// Word `column` of row y, an index from x and y for each of its samples.
#[cube]
fn word_at(pattern: &Array<u32>, column: u32, y: u32, side: u32, #[comptime] bits: u32) -> u32 {
    let per = comptime!(32 / bits);
    let mut word = u32::new(0);
    #[unroll]
    for k in 0..per {
        let place = y % side * side + (column * per + k) % side;
        word |= sample(pattern, place, bits) << comptime!(k * bits);
    }
    word
}

#[cube(launch_unchecked)]
fn modulo(
    pattern: &Array<u32>,
    out: &mut Array<u32>,
    side: u32,
    pitch: u32,
    height: u32,
    #[comptime] shape: Shape,
) {
    let (column, y) = (ABSOLUTE_POS_X, ABSOLUTE_POS_Y);
    // rung: repeat on gpu: modulo
    if column < pitch && y < height {
        out[(y * pitch + column) as usize] = word_at(pattern, column, y, side, comptime!(shape.bits));
    }
    // end
}

/// By way of a copy of the whole pattern for each cube. (`shared` is a word of WGSL.)
#[cube(launch_unchecked)]
fn whole_pattern(
    pattern: &Array<u32>,
    out: &mut Array<u32>,
    side: u32,
    pitch: u32,
    height: u32,
    #[comptime] shape: Shape,
) {
    let bits = comptime!(shape.bits);
    let per = comptime!(32 / bits);
    let mut copy = SharedMemory::<u32>::new(comptime!(shape.shared as usize));
    if UNIT_POS == 0 {
        // rung: repeat on gpu: shared, one loads
        for place in 0..comptime!(shape.shared) {
            copy[place as usize] = pattern[place as usize];
        }
        // end
    }
    sync_cube();
    let (column, y) = (ABSOLUTE_POS_X, ABSOLUTE_POS_Y);
    if column < pitch && y < height {
        let mut word = u32::new(0);
        #[unroll]
        for k in 0..per {
            let place = y % side * side + (column * per + k) % side;
            let held = copy[(place / per) as usize] >> (place % per * bits);
            word |= (held & comptime!(u32::MAX >> (32 - bits))) << comptime!(k * bits);
        }
        out[(y * pitch + column) as usize] = word;
    }
}

/// Unit (x, y) writes word x of the first period, row y of the pattern, wherever it belongs.
#[cube(launch_unchecked)]
fn repeater_grid(
    pattern: &Array<u32>,
    out: &mut Array<u32>,
    side: u32,
    period: u32,
    pitch: u32,
    height: u32,
    #[comptime] shape: Shape,
) {
    let (first, top) = (ABSOLUTE_POS_X, ABSOLUTE_POS_Y);
    if first < min(period, pitch) && top < min(side, height) {
        // rung: repeat on gpu: repeater grid
        let word = word_at(pattern, first, top, side, comptime!(shape.bits));
        let mut y = top;
        while y < height {
            let mut column = first;
            while column < pitch {
                out[(y * pitch + column) as usize] = word;
                column += period;
            }
            y += side;
        }
        // end
    }
}

#[cube(launch_unchecked)]
fn vectors<N: Size>(
    pattern: &Array<u32>,
    out: &mut Array<Vector<u32, N>>,
    side: u32,
    pitch: u32,
    height: u32,
    #[comptime] shape: Shape,
) {
    let bits = comptime!(shape.bits);
    let per = comptime!(32 / bits);
    let (column, y) = (ABSOLUTE_POS_X, ABSOLUTE_POS_Y);
    if column < pitch && y < height {
        // rung: repeat on gpu: vectors
        let start = y % side * side;
        let mut x = column * comptime!(4 * per) % side;
        let mut result = Vector::<u32, N>::empty();
        #[unroll]
        for k in 0..4usize {
            let mut word = u32::new(0);
            #[unroll]
            for b in 0..per {
                word |= sample(pattern, start + x, bits) << comptime!(b * bits);
                x += 1u32;
                x = select(x == side, 0u32, x);
            }
            result[k] = word;
        }
        out[(y * pitch + column) as usize] = result;
        // end
    }
}
