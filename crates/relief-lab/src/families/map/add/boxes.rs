//! Additions whose sums the device copies from shared memory to where they belong, box by box, and whose terms, too, it may copy (the tensor memory accelerator of
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

/// How a cube adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Boxes {
    /// Units of a cube.
    pub(super) units: u32,
    /// Sums of a unit, as far apart as a cube is wide; those of a cube are a multiple of 256.
    pub(super) items: u32,
    /// Whether the device copies the terms to shared memory as well; else units load them.
    pub(super) copied: bool,
}

impl Boxes {
    const fn words(self) -> u32 {
        self.units * self.items
    }

    const fn rows(self) -> u32 {
        self.words() / ROW
    }
}

/// The sums of a problem by boxes.
pub(super) fn add(problem: &Add, call: &OnGpu<'_>, boxes: Boxes) -> Outcome {
    if !call.gpu.copies_boxes() {
        return Err(Failure::Unsupported("the device does not copy boxes".to_owned()));
    }
    let (a, b, out) = (&call.inputs[0], &call.inputs[1], &call.outputs[0]);
    let count = problem.len as u32;
    if count == 0 {
        return Ok(());
    }
    let grid = cubes(call.gpu, count.div_ceil(boxes.words()));
    call.gpu.launch(
        "add by boxes",
        &boxes,
        &[Operand::write("the output", out)],
        || {
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
                    let tile_size = shape![boxes.rows() as usize, ROW as usize];
                    TensorMapArg::new(TiledArgs { tile_size }, tensor, f32::as_type_native_unchecked())
                };
                // SAFETY: places are compared with `count`, and all buffers hold as many.
                unsafe {
                    add_boxes::launch_unchecked(
                        client,
                        grid.clone(),
                        CubeDim::new_1d(boxes.units),
                        a.array(1),
                        b.array(1),
                        out.array(1),
                        count,
                        map(a),
                        map(b),
                        map(out),
                        boxes,
                    );
                }
            })
        },
    )?;
    Ok(())
}

#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn add_boxes(
    a: &Array<f32>,
    b: &Array<f32>,
    out: &mut Array<f32>,
    count: u32,
    rows_of_a: &TensorMap<f32, Tiled>,
    rows_of_b: &TensorMap<f32, Tiled>,
    rows_of_out: &mut TensorMap<f32, Tiled>,
    #[comptime] boxes: Boxes,
) {
    let (units, words) = comptime!((boxes.units, boxes.words()));
    let places = comptime!(if boxes.copied {
        2 * boxes.words()
    } else {
        boxes.words()
    });
    let mut shared = SharedMemory::<f32>::new_aligned(comptime!(places as usize), 128usize);
    let cube = CUBE_POS as u32;
    let first = cube * words;
    let row = (cube * comptime!(boxes.rows())) as i32;
    if comptime!(boxes.copied) {
        let barrier = Barrier::shared(1u32, UNIT_POS == 0);
        sync_async_proxy_shared();
        if first + words <= count {
            if UNIT_POS == 0 {
                barrier.arrive_and_expect_tx(1u32, comptime!(8 * words).runtime());
                let mut left = shared.slice_mut(0usize, comptime!(words as usize));
                barrier.tma_load_2d(rows_of_a, &mut left, row, 0i32);
                let mut right = shared.slice_mut(comptime!(words as usize), comptime!(2 * words as usize));
                barrier.tma_load_2d(rows_of_b, &mut right, row, 0i32);
            }
            barrier.wait_parity(0u32);
            #[unroll]
            for k in 0..comptime!(boxes.items) {
                let place = (UNIT_POS + comptime!(k * units)) as usize;
                shared[place] += shared[place + comptime!(words as usize)];
            }
        }
    } else if first + words <= count {
        let mut held = Array::<f32>::new(comptime!(boxes.items as usize));
        #[unroll]
        for k in 0..comptime!(boxes.items) {
            let place = (first + UNIT_POS) as usize + comptime!((k * units) as usize);
            held[k as usize] = a[place] + b[place];
        }
        #[unroll]
        for k in 0..comptime!(boxes.items) {
            shared[(UNIT_POS + comptime!(k * units)) as usize] = held[k as usize];
        }
    }
    if first + words <= count {
        sync_async_proxy_shared();
        sync_cube();
        if UNIT_POS == 0 {
            tma_store_2d(
                &shared.slice(0usize, comptime!(words as usize)),
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
            place += units;
        }
    }
}
