//! From every pixel: it looks outwards for the nearest white one, and stops where no row or column can be nearer.

use cubecl::prelude::*;
use relief_kernels::device::{Operand, launch, line};

use super::super::Distance;
use super::{PATIENCE, byte, is_white, row_words, words};
use crate::family::{OnGpu, Outcome};

const UNITS: u32 = 256;

pub(super) fn run(problem: &Distance, call: &OnGpu<'_>) -> Outcome {
    let words = words(problem)?;
    if words == 0 {
        return Ok(());
    }
    problem.patience(problem.looked_at(), 4.0 * PATIENCE)?;
    let out = &call.outputs[0];
    let (mask, profile) = (&call.inputs[0], &call.inputs[1]);
    // SAFETY: words are compared with those of a row times the height, of which mask and output hold as many; pixels that are
    // looked at are compared with the width, no more than a row's bytes, and the height; squares are at most R² + 1, the last
    // place of the profile.
    launch!(
        call.gpu, "distance black", &0, &[Operand::write("the output", out)], line(call.gpu, words, UNITS),
        unsafe look_outwards(
            mask.array(1), profile.array(1), out.array(1), problem.width as u32, problem.height as u32,
            row_words(problem), problem.squared() + 1))?;
    Ok(())
}

#[cube(launch_unchecked)]
fn look_outwards(
    mask: &Array<u32>,
    profile: &Array<u32>,
    out: &mut Array<u32>,
    width: u32,
    height: u32,
    pitch: u32,
    beyond: u32,
) {
    let place = ABSOLUTE_POS as u32;
    if place < pitch * height {
        let y = place / pitch;
        let mut word = u32::new(0);
        for k in 0..4u32 {
            let x = place % pitch * 4u32 + k;
            word |= byte(profile, nearest(mask, x, y, width, height, pitch, beyond)) << (8u32 * k);
        }
        out[place as usize] = word;
    }
}

/// The least square below `beyond` to a white pixel, else `beyond`.
#[cube]
fn nearest(mask: &Array<u32>, x: u32, y: u32, width: u32, height: u32, pitch: u32, beyond: u32) -> u32 {
    // rung: distance on gpu: black
    let mut least = beyond;
    let mut dy = u32::new(0);
    while dy * dy < least {
        let mut dx = u32::new(0);
        while dx * dx + dy * dy < least {
            // Coordinates less than 0 wrap to large ones, which are outside.
            if is_white(mask, x - dx, y - dy, width, height, pitch)
                || is_white(mask, x + dx, y - dy, width, height, pitch)
                || is_white(mask, x - dx, y + dy, width, height, pitch)
                || is_white(mask, x + dx, y + dy, width, height, pitch)
            {
                least = dx * dx + dy * dy;
            }
            dx += 1u32;
        }
        dy += 1u32;
    }
    least
    // end
}
