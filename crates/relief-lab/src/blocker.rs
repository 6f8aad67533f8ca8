//! Something that keeps a device busy for about as long as is wanted, and no memory of it.
#![allow(unsafe_code)]

use std::time::Duration;

use cubecl::prelude::*;
use relief_kernels::device::{Buffer, Gpu, Operand, cubes, launch};

use crate::family::Outcome;

/// Holds up what is asked for behind it.
pub(crate) struct Blocker<'a> {
    gpu: &'a Gpu,
    output: Buffer,
}

/// As many as find a place at once on any device: all of it is awake.
const CUBES: u32 = 256;
const UNITS: u32 = 32;

/// About what a round takes: six operations, each of which waits for the last one.
const ROUND: Duration = Duration::from_nanos(15);

impl<'a> Blocker<'a> {
    pub(crate) fn new(gpu: &'a Gpu) -> Outcome<Self> {
        let output = gpu.buffer(64)?;
        Ok(Self { gpu, output })
    }

    /// Asks for about so long.
    pub(crate) fn hold(&self, time: Duration) -> Outcome {
        let rounds = u32::try_from(time.as_nanos() / ROUND.as_nanos()).unwrap_or(u32::MAX);
        let (gpu, output) = (self.gpu, &self.output);
        let grid = cubes(gpu, CUBES);
        // SAFETY: one word is written; the loop ends.
        launch!(gpu, "blocker", &(), &[Operand::write("the output", output)], (grid, CubeDim::new_1d(UNITS)),
            unsafe hold(output.array(1), rounds))?;
        Ok(())
    }
}

/// Marsaglia's xorshift of 32 bits (2003), which no compiler knows in closed form.
#[cube(launch_unchecked)]
fn hold(output: &mut Array<u32>, rounds: u32) {
    let mut state = UNIT_POS + 1u32;
    let mut round = 0u32;
    while round < rounds {
        state ^= state << 13u32;
        state ^= state >> 17u32;
        state ^= state << 5u32;
        round += 1u32;
    }
    // No state but zero leads to zero: only the first unit writes.
    if ABSOLUTE_POS == 0 || state == 0u32 {
        output[0] = state;
    }
}
