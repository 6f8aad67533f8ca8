//! From the white pixels: each lowers the minima of the pixels around it.

use cubecl::prelude::*;
use relief_kernels::copy::gpu::fill;
use relief_kernels::device::{Operand, launch, line, on_client, start};

use super::super::Distance;
use super::{PATIENCE, byte, is_white, row_words, words};
use crate::family::{Failure, OnGpu, Outcome};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Way {
    Plain,
    Spread,
    Check,
    Halves,
}

const UNITS: u32 = 256;

pub(super) fn run(problem: &Distance, call: &OnGpu<'_>, way: Way) -> Outcome {
    let words = words(problem)?;
    if words == 0 {
        return Ok(());
    }
    if words >= 1 << 29 {
        return Err(Failure::Unsupported("rasters of 2^31 bytes or more".to_owned()));
    }
    problem.patience(problem.lowered(way == Way::Halves), PATIENCE)?;
    let (mask, profile) = (&call.inputs[0], &call.inputs[1]);
    let (least, out) = (&call.scratch[0], &call.outputs[0]);
    let beyond = problem.squared() + 1;
    fill(call.gpu, least, least.words(), beyond)?;
    // An empty mask lowers nothing, so that nothing would prove that the kernel ran: the comparison does.
    on_client!(call.gpu, client => {
        // SAFETY: places are compared with the pitch times the height, of which mask and minima hold as many; pixels that are
        // looked at or lowered beside are compared with the width, no more than the pitch, and the height.
        start!(client, line(call.gpu, 4 * words, UNITS), unsafe lower(
            mask.array(1), least.array(1), problem.width as u32, problem.height as u32,
            row_words(problem), problem.radius, way));
    });
    // SAFETY: words are compared with their number, of which the output holds as many and the minima four times as many;
    // minima are at most `beyond`, the last place of the profile.
    launch!(
        call.gpu, "distance look-up", &0, &[Operand::write("the output", out)], line(call.gpu, words, UNITS),
        unsafe look_up(least.array(1), profile.array(1), out.array(1), words, beyond))?;
    Ok(())
}

#[cube(launch_unchecked)]
fn lower(
    mask: &Array<u32>,
    least: &mut Array<Atomic<u32>>,
    width: u32,
    height: u32,
    row_words: u32,
    radius: u32,
    #[comptime] way: Way,
) {
    let pitch = row_words * 4u32;
    let places = pitch * height;
    if comptime!(matches!(way, Way::Spread)) {
        let side = 2u32 * radius + 1u32;
        for k in 0..UNITS {
            let place = CUBE_POS as u32 * UNITS + k;
            let mut white = false;
            if place < places {
                white = byte(mask, place) != 0u32;
            }
            if white {
                // What lies between rows is no pixel. Only white places are divided by the pitch.
                if place % pitch < width {
                    // rung: distance on gpu: white, spread
                    let mut at = UNIT_POS;
                    while at < side * side {
                        // Left of or above the raster coordinates wrap to large ones.
                        let x = place % pitch + at % side - radius;
                        let y = place / pitch + at / side - radius;
                        if x < width && y < height {
                            lower_one(least, place, x, y, pitch, radius, way);
                        }
                        at += UNITS;
                    }
                    // end
                }
            }
        }
    } else {
        let place = ABSOLUTE_POS as u32;
        let mut white = false;
        if place < places {
            white = byte(mask, place) != 0u32;
        }
        if white {
            if place % pitch < width {
                lower_square(mask, least, place, width, height, row_words, radius, way);
            }
        }
    }
}

#[cube]
fn lower_square(
    mask: &Array<u32>,
    least: &mut Array<Atomic<u32>>,
    place: u32,
    width: u32,
    height: u32,
    row_words: u32,
    radius: u32,
    #[comptime] way: Way,
) {
    let pitch = row_words * 4u32;
    let x = place % pitch;
    let y = place / pitch;
    let mut up = min(radius, y);
    let mut down = min(radius, height - 1u32 - y);
    let mut left = min(radius, x);
    let mut right = min(radius, width - 1u32 - x);
    if comptime!(matches!(way, Way::Halves)) {
        let above = is_white(mask, x, y - 1u32, width, height, row_words);
        let below = is_white(mask, x, y + 1u32, width, height, row_words);
        let before = is_white(mask, x - 1u32, y, width, height, row_words);
        let after = is_white(mask, x + 1u32, y, width, height, row_words);
        // rung: distance on gpu: white, halves
        // What lies beyond a white neighbour is nearer to it.
        up = select(above, 0u32, up);
        down = select(below, 0u32, down);
        left = select(before, 0u32, left);
        right = select(after, 0u32, right);
        // end
    }
    // rung: distance on gpu: white
    let mut row = y - up;
    while row <= y + down {
        let mut column = x - left;
        while column <= x + right {
            lower_one(least, place, column, row, pitch, radius, way);
            column += 1u32;
        }
        row += 1u32;
    }
    // end
}

/// Lowers the minimum of (x, y) to its distance from pixel `place`, where it lies in the circle.
#[cube]
fn lower_one(
    least: &mut Array<Atomic<u32>>,
    place: u32,
    x: u32,
    y: u32,
    pitch: u32,
    radius: u32,
    #[comptime] way: Way,
) {
    let dx = x - place % pitch;
    let dy = y - place / pitch;
    // Squares of what wrapped are right, modulo 2^32.
    let squared = dx * dx + dy * dy;
    if squared <= radius * radius {
        let at = (y * pitch + x) as usize;
        let mut lower = true;
        // rung: distance on gpu: white, check
        if comptime!(!matches!(way, Way::Plain | Way::Spread)) {
            lower = least[at].load() > squared;
        }
        // end
        if lower {
            least[at].fetch_min(squared);
        }
    }
}

#[cube(launch_unchecked)]
fn look_up(least: &Array<u32>, profile: &Array<u32>, out: &mut Array<u32>, words: u32, beyond: u32) {
    let place = ABSOLUTE_POS as u32;
    if place < words {
        let mut word = u32::new(0);
        #[unroll]
        for k in 0..4u32 {
            let squared = min(least[(place * 4u32 + k) as usize], beyond);
            word |= byte(profile, squared) << comptime!(8 * k);
        }
        out[place as usize] = word;
    }
}
