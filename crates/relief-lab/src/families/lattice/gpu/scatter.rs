//! Over the copies: each is written or added to the raster.

use cubecl::prelude::*;
use relief_kernels::copy::gpu::fill;
use relief_kernels::device::{Buffer, Operand, cubes, launch, line, on_client, start};

use super::super::Copies;
use super::target::{mean, sample};
use super::{countable, pitch};
use crate::family::{Failure, OnGpu, Outcome};

/// Who writes a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Dealt {
    Cubes,
    Units,
}

/// How a sample is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Write {
    Store,
    Exchange,
    /// Bytes: sum and count in one word, the count in the top 8 bits.
    Add,
}

/// Units of a cube.
const UNITS: u32 = 256;

/// All copies, and those in a row of them.
struct Range {
    numbers: Vec<i32>,
    count: u32,
}

impl Range {
    fn of(copies: &Copies) -> Outcome<Self> {
        let [(i0, i1), (j0, j1)] = copies.all();
        let (across, down) = (i1 - i0 + 1, j1 - j0 + 1);
        let count = u32::try_from(across.saturating_mul(down)).ok();
        let count = count.filter(|count| *count < 1 << 31);
        let count = count.ok_or_else(|| Failure::Unsupported("too many copies".to_owned()))?;
        let [width, height, pitch] = [copies.width, copies.height, copies.pitch()].map(|count| count as i64);
        let numbers = copies.numbers().into_iter().chain([width, height, i0, j0, pitch]);
        Ok(Self {
            numbers: numbers.map(|number| number as i32).collect(),
            count,
        })
    }
}

/// Every sample of every copy is written to the raster, which holds 0 before.
pub(super) fn written(copies: &Copies, call: &OnGpu<'_>, dealt: Dealt, write: Write) -> Outcome {
    scatter(copies, call, &call.outputs[0], 32, dealt, write)
}

/// Every sample of every copy other than 0 is added and counted; then sums are divided. Of bytes.
pub(super) fn added(copies: &Copies, call: &OnGpu<'_>) -> Outcome {
    let (sums, out) = (&call.scratch[0], &call.outputs[0]);
    let words = u64::from(pitch(copies, 8)) * copies.height as u64;
    if words == 0 {
        return Ok(());
    }
    countable(call.gpu, sums)?;
    // 255 samples of 8 bits fit the 24 bits of a sum.
    if copies.overlap() > 64.0 {
        return Err(Failure::Unsupported("too many copies for a word".to_owned()));
    }
    fill(call.gpu, sums, sums.words(), 0)?;
    scatter(copies, call, sums, 8, Dealt::Cubes, Write::Add)?;
    let words = words as u32;
    // SAFETY: words are compared with their number, those between rows among them, of which the output holds as many; of sums
    // there is one for each sample of these words.
    launch!(
        call.gpu, "lattice divide", &(), &[Operand::write("the output", out)], line(call.gpu, words, UNITS),
        unsafe divide(sums.array(1), out.array(1), words))?;
    Ok(())
}

fn scatter(copies: &Copies, call: &OnGpu<'_>, to: &Buffer, bits: u32, dealt: Dealt, write: Write) -> Outcome {
    if copies.width == 0 || copies.height == 0 {
        return Ok(());
    }
    countable(call.gpu, to)?;
    let range = Range::of(copies)?;
    let [(first, last), _] = copies.all();
    let across = (last - first + 1) as u32;
    let wanted = match dealt {
        Dealt::Cubes => range.count,
        Dealt::Units => range.count.div_ceil(UNITS),
    };
    let grid = cubes(call.gpu, wanted);
    let (pattern, count) = (&call.inputs[0], range.count);
    // Where no copy covers the first pixel, nothing proves that the kernel ran: the comparison does.
    on_client!(call.gpu, client => {
        let (pattern, numbers) = (pattern.array(1), range.numbers.into_iter().collect());
        let (grid, to) = ((grid, CubeDim::new_1d(UNITS)), to.array(1));
        // SAFETY: copies are compared with their number, samples with the pattern's, pixels with the raster's sides; `to` holds a
        // word for each pixel and for what lies between rows. Stores that race store the same word.
        match write {
            Write::Store => start!(client, grid, unsafe stores(pattern, to, numbers, across, count, dealt)),
            _ => start!(client, grid, unsafe atomics(
                pattern, to, numbers, across, count, bits, dealt, write)),
        }
    });
    Ok(())
}

/// The word of the raster for sample `at` of a copy, or `u32::MAX` where it lies outside.
#[cube]
fn word_of(numbers: &Sequence<i32>, copy: u32, across: u32, at: u32) -> u32 {
    let i = i32::cast_from(copy % across) + *numbers.index(10usize);
    let j = i32::cast_from(copy / across) + *numbers.index(11usize);
    let width = *numbers.index(8usize);
    let columns = u32::cast_from(*numbers.index(6usize));
    let x = i * *numbers.index(0usize)
        + j * *numbers.index(2usize)
        + *numbers.index(4usize)
        + i32::cast_from(at % columns);
    let y = i * *numbers.index(1usize)
        + j * *numbers.index(3usize)
        + *numbers.index(5usize)
        + i32::cast_from(at / columns);
    let mut word = !u32::new(0);
    if x >= 0i32 && x < width && y >= 0i32 && y < *numbers.index(9usize) {
        word = u32::cast_from(y * *numbers.index(12usize) + x);
    }
    word
}

/// The copy of a unit, its first sample, and the step to the next: those of its cube's copy in turn, or all of its own.
#[cube]
fn share(#[comptime] dealt: Dealt) -> (u32, u32, u32) {
    let mut copy = CUBE_POS as u32;
    let mut first = UNIT_POS;
    let mut step = u32::new(comptime!(UNITS as i64));
    if comptime!(matches!(dealt, Dealt::Units)) {
        copy = copy * comptime!(UNITS) + UNIT_POS;
        first = u32::new(0);
        step = u32::new(1);
    }
    (copy, first, step)
}

#[cube(launch_unchecked)]
fn stores(
    pattern: &Array<u32>,
    to: &mut Array<u32>,
    numbers: &Sequence<i32>,
    across: u32,
    count: u32,
    #[comptime] dealt: Dealt,
) {
    let (copy, first, step) = share(dealt);
    let samples = u32::cast_from(*numbers.index(6usize) * *numbers.index(7usize));
    let mut at = first;
    if copy < count {
        // rung: lattice/stores on gpu: cubes store | units store
        while at < samples {
            let word = word_of(numbers, copy, across, at);
            if word != 0xffff_ffffu32 {
                to[word as usize] = pattern[at as usize];
            }
            at += step;
        }
        // end
    }
}

#[cube(launch_unchecked)]
fn atomics(
    pattern: &Array<u32>,
    to: &mut Array<Atomic<u32>>,
    numbers: &Sequence<i32>,
    across: u32,
    count: u32,
    #[comptime] bits: u32,
    #[comptime] dealt: Dealt,
    #[comptime] write: Write,
) {
    let (copy, first, step) = share(dealt);
    let samples = u32::cast_from(*numbers.index(6usize) * *numbers.index(7usize));
    let mut at = first;
    if copy < count {
        while at < samples {
            let word = word_of(numbers, copy, across, at);
            if word != 0xffff_ffffu32 {
                let sample = sample(pattern, at, bits);
                if comptime!(matches!(write, Write::Exchange)) {
                    // rung: lattice/stores on gpu: cubes exchange | units exchange
                    to[word as usize].swap(sample);
                    // end
                } else if sample != 0u32 {
                    // rung: lattice on gpu: atomic
                    to[word as usize].fetch_add(sample | 0x0100_0000u32);
                    // end
                }
            }
            at += step;
        }
    }
}

#[cube(launch_unchecked)]
fn divide(sums: &Array<u32>, out: &mut Array<u32>, words: u32) {
    let place = ABSOLUTE_POS as u32;
    if place < words {
        let mut word = u32::new(0);
        #[unroll]
        for k in 0..4u32 {
            let both = sums[(place * 4u32 + k) as usize];
            word |= mean(both & 0x00ff_ffffu32, both >> 24u32) << comptime!(8 * k);
        }
        out[place as usize] = word;
    }
}
