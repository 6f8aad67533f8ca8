//! One pass over tiles with look-back along both axes: bytes are read once, sums written once.
//!
//! A tile is a plane's: four columns for each lane, as many rows as there are lanes. It
//! 1. publishes the sums of its columns, and adds up those of the tiles above until one knows all above it;
//! 2. adds to that its rows, so that it knows for each row what its columns hold from the top down, and publishes the sums of
//!    these; adds up those of the tiles to its left until one knows all to its left: that is the integral image left of it;
//! 3. goes down its rows once more.
//!
//! Sums of columns are below 2^30, so that they share a word with their status. Those of rows are told in halves that carry one
//! each; a reader waits until both are the same. Tiles are given out by a counter, row by row, so that those above and to the
//! left have been started.
#![allow(unsafe_code)]

use cubecl::prelude::*;
use relief_kernels::copy::gpu::fill;
use relief_kernels::device::{Operand, cubes, on_client, start};
use relief_numeric::integral::Sums;
use relief_numeric::transpose::gpu::Matrix;

use super::Integral;
use crate::array::Layout;
use crate::family::{Failure, OnGpu, Outcome, Problem as _, Variant};

/// Units of a cube.
const UNITS: u32 = 128;

/// Words before the states: the counter.
const HEAD: u32 = 4;

pub(super) fn variant() -> Variant<Integral> {
    Variant::gpu(
        "look-back along both axes",
        "one pass: tiles tell each other the sums of their columns, then of their rows",
        run,
    )
    .scratch(|p| {
        // A tile of l lanes has 4 · l² samples and 6 · l words of state; planes have at least 8 lanes.
        let (width, height) = (p.width.next_multiple_of(256), p.height.next_multiple_of(64));
        vec![Layout::of::<u32>(width * height * 6 / 32 + HEAD as usize)]
    })
}

fn run(problem: &Integral, call: OnGpu<'_>) -> Outcome {
    let unsupported = |reason: &str| Err(Failure::Unsupported(reason.to_owned()));
    let report = call.gpu.report();
    let lanes = match report.plane {
        (least, most) if least == most && matches!(most, 8 | 16 | 32 | 64) => most,
        _ => return unsupported("planes of several sizes"),
    };
    if report.software {
        return unsupported("software ends loops that wait");
    }
    if problem.sums != Sums::Short || problem.width.max(problem.height) >= 1 << 22 {
        return unsupported("sums of columns of more than 30 bits");
    }
    if problem.elements() == 0 {
        return Ok(());
    }
    let (width, height) = (problem.width as u32, problem.height as u32);
    let shape = Tiles {
        lanes,
        strips: width.div_ceil(4 * lanes),
        bands: height.div_ceil(lanes),
    };
    let from = Matrix {
        buffer: &call.inputs[0],
        pitch: problem.pitch_in() as u32 / 4,
    };
    let to = Matrix {
        buffer: &call.outputs[0],
        pitch: problem.pitch_out() as u32,
    };
    let states = shape.words();
    fill(call.gpu, &call.scratch[0], states as usize, 0)?;
    // The first sum is below 256, so one launch proves the kernel: a second would find its tiles given out.
    call.gpu.launch(
        "integral look-back",
        &lanes,
        &[Operand::write("the output", to.buffer)],
        || on_client!(call.gpu, client => launch(client, &call, shape, (width, height), from, to)),
    )?;
    Ok(())
}

#[derive(Clone, Copy)]
struct Tiles {
    lanes: u32,
    strips: u32,
    bands: u32,
}

impl Tiles {
    const fn words(&self) -> u32 {
        HEAD + self.strips * self.bands * 6 * self.lanes
    }
}

fn launch<R: Runtime>(
    client: &ComputeClient<R>,
    call: &OnGpu<'_>,
    tiles: Tiles,
    (width, height): (u32, u32),
    from: Matrix<'_>,
    to: Matrix<'_>,
) {
    let count = tiles.strips * tiles.bands;
    let state = &call.scratch[0];
    // SAFETY: samples and sums are compared with the size; states are those of existing tiles, of which there are as many.
    start!(
        client, (cubes(call.gpu, count.div_ceil(UNITS / tiles.lanes)), CubeDim::new_1d(UNITS)),
        unsafe integral_at_once(
            4, from.buffer.array(1), to.buffer.array(4), state.array(1), width, height, from.pitch,
            to.pitch / 4, tiles.strips, count, tiles.lanes));
}

#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn integral_at_once<M: Size>(
    from: &Array<u32>,
    to: &mut Array<Vector<u32, M>>,
    state: &mut Array<Atomic<u32>>,
    width: u32,
    height: u32,
    pitch: u32,
    to_pitch: u32,
    strips: u32,
    tiles: u32,
    #[comptime] lanes: u32,
) {
    let lane = UNIT_POS % lanes;
    let mut taken = u32::new(0);
    if lane == 0 {
        taken = state[0usize].fetch_add(1u32);
    }
    let tile = plane_broadcast(taken, 0u32);
    if tile < tiles {
        let (band, strip) = (tile / strips, tile % strips);
        let x = (strip * lanes + lane) * 4;
        let mut held = Array::<u32>::new(comptime!(lanes as usize));
        let mut columns = Array::<u32>::new(4usize);
        let mut even = u32::new(0);
        let mut odd = u32::new(0);
        #[unroll]
        for r in 0..lanes {
            let mut word = u32::new(0);
            if x < width {
                if band * lanes + r < height {
                    word = from[((band * lanes + r) * pitch + x / 4) as usize];
                }
            }
            held[comptime!(r as usize)] = word;
            even += word & 0x00ff_00ffu32;
            odd += (word >> 8u32) & 0x00ff_00ffu32;
        }
        // rung: integral on gpu: look-back along both axes
        columns[0usize] = even & 0xffffu32;
        columns[1usize] = odd & 0xffffu32;
        columns[2usize] = even >> 16u32;
        columns[3usize] = odd >> 16u32;
        let mut above = look_up(state, &columns, tile, band, strips, lane, lanes);

        // What the columns hold from the top down to each row, together.
        let mut total = plane_sum(above[0usize] + above[1usize] + above[2usize] + above[3usize]);
        let mut own = u32::new(0);
        #[unroll]
        for r in 0..lanes {
            total += plane_sum(sum_bytes(held[comptime!(r as usize)]));
            own = select(lane == r, total, own);
        }
        let left = look_left(state, own, tile, strip, tiles, lane, lanes);
        // end

        #[unroll]
        for r in 0..lanes {
            let word = held[comptime!(r as usize)];
            let mut sums = Vector::<u32, M>::empty();
            let mut sum = u32::new(0);
            #[unroll]
            for k in 0..4u32 {
                above[comptime!(k as usize)] += (word >> comptime!(8 * k)) & 0xffu32;
                sum += above[comptime!(k as usize)];
                sums[comptime!(k as usize)] = sum;
            }
            let before = plane_inclusive_sum(sum) - sum + plane_broadcast(left, r);
            #[unroll]
            for k in 0..4usize {
                sums[k] = sums[k] + before;
            }
            let y = band * lanes + r;
            if y < height {
                if x < width {
                    to[(y * to_pitch + x / 4) as usize] = sums;
                }
            }
        }
    }
}

#[cube]
fn sum_bytes(word: u32) -> u32 {
    let pairs = (word & 0x00ff_00ffu32) + ((word >> 8u32) & 0x00ff_00ffu32);
    (pairs & 0xffffu32) + (pairs >> 16u32)
}

/// Publishes the sums of a tile's columns, and returns what is above them.
#[cube]
fn look_up(
    state: &mut Array<Atomic<u32>>,
    columns: &Array<u32>,
    tile: u32,
    band: u32,
    strips: u32,
    lane: u32,
    #[comptime] lanes: u32,
) -> Array<u32> {
    let mut above = Array::<u32>::new(4usize);
    #[unroll]
    for k in 0..4u32 {
        above[comptime!(k as usize)] = u32::new(0);
        if band > 0 {
            let place = HEAD + tile * comptime!(4 * lanes) + 4 * lane + k;
            state[place as usize].store(columns[comptime!(k as usize)] | 0x4000_0000u32);
        }
    }
    #[unroll]
    for k in 0..4u32 {
        let mut other = tile;
        let mut going = band > 0;
        while going {
            other -= strips;
            let place = HEAD + other * comptime!(4 * lanes) + 4 * lane + k;
            let mut word = state[place as usize].load();
            while word >> 30u32 == 0u32 {
                word = state[place as usize].load();
            }
            above[comptime!(k as usize)] += word & 0x3fff_ffffu32;
            going = word >> 30u32 == 1u32;
        }
    }
    #[unroll]
    for k in 0..4u32 {
        let place = HEAD + tile * comptime!(4 * lanes) + 4 * lane + k;
        let all = above[comptime!(k as usize)] + columns[comptime!(k as usize)];
        state[place as usize].store(all | 0x8000_0000u32);
    }
    above
}

/// Publishes what a tile's columns hold down to the row of each lane, and returns what those to its left do.
#[cube]
fn look_left(
    state: &mut Array<Atomic<u32>>,
    own: u32,
    tile: u32,
    strip: u32,
    tiles: u32,
    lane: u32,
    #[comptime] lanes: u32,
) -> u32 {
    let base = HEAD + tiles * comptime!(4 * lanes) + 2 * lane;
    let mut left = u32::new(0);
    if strip > 0 {
        tell(state, base + tile * comptime!(2 * lanes), own, 0x4000_0000u32);
        let mut other = tile;
        let mut going = true;
        while going {
            other -= 1u32;
            let place = base + other * comptime!(2 * lanes);
            let mut low = u32::new(0);
            let mut high = u32::new(1073741824);
            while low >> 30u32 == 0u32 || low >> 30u32 != high >> 30u32 {
                low = state[place as usize].load();
                high = state[(place + 1) as usize].load();
            }
            left += (low & 0xffffu32) | (high << 16u32);
            going = low >> 30u32 == 1u32;
        }
    }
    tell(
        state,
        base + tile * comptime!(2 * lanes),
        left + own,
        0x8000_0000u32,
    );
    left
}

/// Tells a sum in halves of a status.
#[cube]
fn tell(state: &mut Array<Atomic<u32>>, place: u32, sum: u32, status: u32) {
    state[place as usize].store((sum & 0xffffu32) | status);
    state[(place + 1) as usize].store((sum >> 16u32) | status);
}
