//! Columns, then rows: the plain separable transform within a radius of at most 254.

use cubecl::prelude::*;
use relief_kernels::device::{Operand, launch, line};

use super::super::Distance;
use super::{byte, row_words, sample, words};
use crate::family::{OnGpu, Outcome};

const UNITS: u32 = 256;

pub(super) fn run(problem: &Distance, call: &OnGpu<'_>) -> Outcome {
    let words = words(problem)?;
    if words == 0 {
        return Ok(());
    }
    let (gaps, out) = (&call.scratch[0], &call.outputs[0]);
    let grid = line(call.gpu, words, UNITS);
    let (mask, profile) = (&call.inputs[0], &call.inputs[1]);
    // SAFETY: rows are compared with the height, and units with the words, of which both buffers hold as many.
    launch!(
        call.gpu, "distance columns", &0, &[Operand::write("the output", gaps)], grid.clone(),
        unsafe along_columns(
            mask.array(1), gaps.array(1), row_words(problem), problem.height as u32, problem.radius))?;
    // SAFETY: units are compared with the words, of which both buffers hold as many; columns lie left of a unit's own, which is
    // one of a row's bytes, or are compared with the width, no more than these; squares are at most R² + 1, the last place of the
    // profile.
    launch!(
        call.gpu, "distance rows", &0, &[Operand::write("the output", out)], grid,
        unsafe along_rows(
            gaps.array(1), profile.array(1), out.array(1), problem.width as u32, problem.height as u32,
            row_words(problem), problem.squared() + 1))?;
    Ok(())
}

/// How far the nearest white pixel of the column is, at most R + 1, in the bytes of a word.
#[cube(launch_unchecked)]
fn along_columns(mask: &Array<u32>, gaps: &mut Array<u32>, pitch: u32, height: u32, radius: u32) {
    let place = ABSOLUTE_POS as u32;
    if place < pitch * height {
        let y = place / pitch;
        let column = place % pitch;
        let mut found = u32::new(0);
        let mut result = (radius + 1u32) * 0x0101_0101u32;
        let mut dy = u32::new(0);
        // rung: distance on gpu: separable
        while dy <= radius && found != !u32::new(0) {
            let mut white = u32::new(0);
            if dy <= y {
                white = whites(mask[((y - dy) * pitch + column) as usize]);
            }
            if y + dy < height {
                white |= whites(mask[((y + dy) * pitch + column) as usize]);
            }
            let fresh = white & !found;
            result = (result & !fresh) | ((dy * 0x0101_0101u32) & fresh);
            found |= white;
            dy += 1u32;
        }
        // end
        gaps[place as usize] = result;
    }
}

/// 255 for each byte that is not 0.
#[cube]
fn whites(word: u32) -> u32 {
    let top = (((word & 0x7f7f_7f7fu32) + 0x7f7f_7f7fu32) | word) & 0x8080_8080u32;
    (top >> 7u32) * 255u32
}

#[cube(launch_unchecked)]
fn along_rows(
    gaps: &Array<u32>,
    profile: &Array<u32>,
    out: &mut Array<u32>,
    width: u32,
    height: u32,
    pitch: u32,
    beyond: u32,
) {
    let place = ABSOLUTE_POS as u32;
    if place < pitch * height {
        let row = place / pitch * pitch;
        let mut word = u32::new(0);
        for k in 0..4u32 {
            let x = place % pitch * 4u32 + k;
            let mut least = beyond;
            let mut dx = u32::new(0);
            // rung: distance on gpu: separable
            while dx * dx < least {
                if dx <= x {
                    let gap = sample(gaps, row, x - dx);
                    least = min(least, dx * dx + gap * gap);
                }
                if x + dx < width {
                    let gap = sample(gaps, row, x + dx);
                    least = min(least, dx * dx + gap * gap);
                }
                dx += 1u32;
            }
            // end
            word |= byte(profile, least) << (8u32 * k);
        }
        out[place as usize] = word;
    }
}
