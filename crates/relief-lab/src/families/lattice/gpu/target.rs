//! Over the target: each pixel finds the copies that cover it.

use cubecl::prelude::*;
use relief_kernels::device::{Operand, launch, line};

use super::super::stores::Agreeing;
use super::super::{Copies, Mean};
use super::{countable, pitch};
use crate::family::{Failure, OnGpu, Outcome, Variant};

/// Units of a cube.
const UNITS: u32 = 256;

/// How far from right rounded coordinates may be.
const SLACK: f64 = 0.01;

pub(super) fn variant() -> Variant<Mean> {
    Variant::gpu(
        "target",
        "a unit for each word, the copies in a window of cells around its coordinates",
        |problem: &Mean, call| run(&problem.0, call, 8),
    )
}

pub(super) fn any() -> Variant<Agreeing> {
    Variant::gpu(
        "target",
        "a unit for each pixel, the last copy in a window of cells",
        |problem: &Agreeing, call| run(&problem.copies, call, 32),
    )
}

/// The lattice in the numbers of a launch.
pub(super) fn numbers(copies: &Copies) -> Outcome<Vec<i32>> {
    // Coordinates are computed in floats of 24 bits.
    let reach = |(x, y): (i64, i64)| x.abs().max(y.abs()) as f64;
    let period = copies.period();
    let sides = (copies.width as u64).max(period.a()) + (copies.height as u64).max(period.c());
    let farthest = sides as f64 + reach(copies.offset);
    let longest = reach(copies.u).max(reach(copies.v));
    if farthest * longest * 4.0 / 16_777_216.0 > SLACK * copies.determinant().abs() as f64 {
        return Err(Failure::Unsupported("vectors too long for floats".to_owned()));
    }
    let [(i0, i1), (j0, j1)] = copies.window(SLACK);
    let numbers = copies.numbers().into_iter().chain([i0, i1, j0, j1]);
    Ok(numbers.map(|number| number as i32).collect())
}

fn run(copies: &Copies, call: &OnGpu<'_>, bits: u32) -> Outcome {
    let words = u64::from(pitch(copies, bits)) * copies.height as u64;
    if words == 0 {
        return Ok(());
    }
    let numbers = numbers(copies)?;
    let out = &call.outputs[0];
    countable(call.gpu, out)?;
    let (words, pitch, pattern) = (words as u32, pitch(copies, bits), &call.inputs[0]);
    let inverse = 1.0 / copies.determinant() as f32;
    // SAFETY: words are compared with their number, those between rows among them, of which the output holds as many; places
    // in the pattern are compared with its sides.
    launch!(
        call.gpu, "lattice over the target", &bits, &[Operand::write("the output", out)],
        line(call.gpu, words, UNITS),
        unsafe over_target(
            pattern.array(1), out.array(1), numbers.iter().copied().collect(), inverse, pitch, words, bits))?;
    Ok(())
}

#[cube(launch_unchecked)]
fn over_target(
    pattern: &Array<u32>,
    out: &mut Array<u32>,
    numbers: &Sequence<i32>,
    inverse: f32,
    pitch: u32,
    words: u32,
    #[comptime] bits: u32,
) {
    let place = ABSOLUTE_POS as u32;
    if place < words {
        let y = i32::cast_from(place / pitch);
        let first = i32::cast_from(place % pitch * comptime!(32 / bits));
        let mut word = u32::new(0);
        #[unroll]
        for k in 0..comptime!(32 / bits) {
            let x = first + comptime!(k as i32);
            let sample = blended(pattern, numbers, inverse, x, y, bits);
            word |= sample << comptime!(k * bits);
        }
        out[place as usize] = word;
    }
}

/// The mean of the copies over (x, y), of bytes, or any of their samples, of words.
#[cube]
pub(super) fn blended(
    pattern: &Array<u32>,
    numbers: &Sequence<i32>,
    inverse: f32,
    x: i32,
    y: i32,
    #[comptime] bits: u32,
) -> u32 {
    let ux = *numbers.index(0usize);
    let uy = *numbers.index(1usize);
    let vx = *numbers.index(2usize);
    let vy = *numbers.index(3usize);
    let x = x - *numbers.index(4usize);
    let y = y - *numbers.index(5usize);
    let width = *numbers.index(6usize);
    let height = *numbers.index(7usize);
    let i = i32::cast_from(Floor::floor(f32::cast_from(vy * x - vx * y) * inverse));
    let j = i32::cast_from(Floor::floor(f32::cast_from(ux * y - uy * x) * inverse));
    let mut result = u32::new(0);
    let mut sum = u32::new(0);
    let mut count = u32::new(0);
    // rung: lattice on gpu: target
    let mut b = *numbers.index(10usize);
    while b <= *numbers.index(11usize) {
        let mut a = *numbers.index(8usize);
        let mut qx = x - (i + a) * ux - (j + b) * vx;
        let mut qy = y - (i + a) * uy - (j + b) * vy;
        while a <= *numbers.index(9usize) {
            if qx >= 0i32 && qx < width && qy >= 0i32 && qy < height {
                let sample = sample(pattern, u32::cast_from(qy * width + qx), bits);
                if comptime!(bits == 32) {
                    result = sample;
                } else if sample != 0u32 {
                    sum += sample;
                    count += 1u32;
                }
            }
            qx -= ux;
            qy -= uy;
            a += 1i32;
        }
        b += 1i32;
    }
    // end
    if comptime!(bits == 8) {
        result = mean(sum, count);
    }
    result
}

/// Sample `at` of a pattern without gaps, as bits.
#[cube]
pub(super) fn sample(pattern: &Array<u32>, at: u32, #[comptime] bits: u32) -> u32 {
    if comptime!(bits == 32) {
        pattern[at as usize]
    } else {
        let per = comptime!(32 / bits);
        (pattern[(at / per) as usize] >> (at % per * bits)) & comptime!(u32::MAX >> (32 - bits))
    }
}

/// The mean of `count` bytes, 0 for none: (2·sum + n) / (2·n), whose quotient a half more in the numerator moves up by less than to the
/// next integer, and by far more than a division is rounded by, for n < 256.
#[cube]
pub(super) fn mean(sum: u32, count: u32) -> u32 {
    let numerator = f32::cast_from(2u32 * sum + count) + 0.5f32;
    u32::cast_from(numerator / f32::cast_from(2u32 * max(count, 1u32)))
}
