//! Additions whose terms the device copies to shared memory, and whose sums it copies to where they belong, box by box (the tensor memory accelerator of
//! Hopper). A box is of rows of 256 words, as if the array were a picture that wide; what is left behind the last whole box units add one by one.

#![allow(unsafe_code)]

use cubecl::prelude::barrier::Barrier;
use cubecl::prelude::*;
use cubecl::zspace::{shape, strides};

use relief_kernels::device::{Buffer, Operand, cubes, on_client};

use super::Add;
use crate::family::{Failure, OnGpu, Outcome};

/// Words of a row of a box; the widest that there are.
const ROW: u32 = 256;

/// Units of a cube.
const UNITS: u32 = 256;

/// Sums of a unit, as far apart as a cube is wide.
const ITEMS: u32 = 3;

/// Sums of a cube, and the rows that they are.
const WORDS: u32 = UNITS * ITEMS;
const ROWS: u32 = WORDS / ROW;

/// The sums of a problem by boxes.
pub(super) fn add(problem: &Add, call: &OnGpu<'_>) -> Outcome {
    if !call.gpu.copies_boxes() {
        return Err(Failure::Unsupported("the device does not copy boxes".to_owned()));
    }
    let (a, b, out) = (&call.inputs[0], &call.inputs[1], &call.outputs[0]);
    let count = problem.len as u32;
    if count == 0 {
        return Ok(());
    }
    let grid = cubes(call.gpu, count.div_ceil(WORDS));
    call.gpu
        .launch("add by boxes", &(), &[Operand::write("the output", out)], || {
            on_client!(call.gpu, client => {
                // A cube that has less than all of its boxes asks for none, so that the rows of the tensor are those before the end; at least one has to be.
                let rows = (count / ROW).max(1) as usize;
                let map = |buffer: &Buffer| {
                    // SAFETY: so many rows lie in the buffer, or none of them is asked for.
                    let tensor = unsafe {
                        TensorArg::from_raw_parts(
                            buffer.handle(),
                            strides![ROW as usize, 1],
                            shape![rows, ROW as usize],
                        )
                    };
                    let tile_size = shape![ROWS as usize, ROW as usize];
                    TensorMapArg::new(TiledArgs { tile_size }, tensor, f32::as_type_native_unchecked())
                };
                // SAFETY: places are compared with `count`, and all buffers hold as many.
                unsafe {
                    add_boxes::launch_unchecked(
                        client,
                        grid.clone(),
                        CubeDim::new_1d(UNITS),
                        a.array(1),
                        b.array(1),
                        out.array(1),
                        count,
                        map(a),
                        map(b),
                        map(out),
                    );
                }
            })
        })?;
    Ok(())
}

#[cube(launch_unchecked)]
fn add_boxes(
    a: &Array<f32>,
    b: &Array<f32>,
    out: &mut Array<f32>,
    count: u32,
    rows_of_a: &TensorMap<f32, Tiled>,
    rows_of_b: &TensorMap<f32, Tiled>,
    rows_of_out: &mut TensorMap<f32, Tiled>,
) {
    let mut shared = SharedMemory::<f32>::new_aligned(comptime!(2 * WORDS as usize), 128usize);
    let cube = CUBE_POS as u32;
    let first = cube * WORDS;
    let row = (cube * ROWS) as i32;
    let barrier = Barrier::shared(1u32, UNIT_POS == 0);
    sync_async_proxy_shared();
    if first + WORDS <= count {
        if UNIT_POS == 0 {
            barrier.arrive_and_expect_tx(1u32, comptime!(8 * WORDS).runtime());
            let mut left = shared.slice_mut(0usize, comptime!(WORDS as usize));
            barrier.tma_load_2d(rows_of_a, &mut left, row, 0i32);
            let mut right = shared.slice_mut(comptime!(WORDS as usize), comptime!(2 * WORDS as usize));
            barrier.tma_load_2d(rows_of_b, &mut right, row, 0i32);
        }
        barrier.wait_parity(0u32);
        #[unroll]
        for k in 0..ITEMS {
            let place = (UNIT_POS + comptime!(k * UNITS)) as usize;
            shared[place] += shared[place + comptime!(WORDS as usize)];
        }
        sync_async_proxy_shared();
        sync_cube();
        if UNIT_POS == 0 {
            tma_store_2d(
                &shared.slice(0usize, comptime!(WORDS as usize)),
                rows_of_out,
                row,
                0i32,
            );
            tma_group_commit();
            tma_group_wait_read(0u32);
        }
    } else {
        let mut place = first + UNIT_POS;
        while place < count {
            out[place as usize] = a[place as usize] + b[place as usize];
            place += UNITS;
        }
    }
}
