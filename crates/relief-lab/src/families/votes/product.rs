//! The product of two matrices by tiles in shared memory, whose last tiles are cut: what it costs that every unit asks, at every load,
//! whether it lies inside.

use rayon::prelude::*;

use super::divergence::Blocks;
use crate::array::{Array, Fill, Layout};
use crate::families::factors;
use crate::family::{Class, Ladder, OnCpu, Operation, Problem, Tolerance, Variant, Work};

/// Units of a cube along both axes, and elements of a tile.
const SIDE: u32 = 16;

/// Two square matrices of f32.
pub(super) struct Square {
    side: usize,
}

impl Problem for Square {
    /// With how many planes diverge where all of them ask, predicted for planes of 32 lanes.
    fn label(&self) -> String {
        let blocks = Blocks {
            width: SIDE,
            height: SIDE,
            lanes: 32,
        };
        let [inside, edge] = blocks.product(self.side as u64);
        let (part, all) = (inside.divergent + edge.divergent, inside.planes + edge.planes);
        let side = self.side;
        format!(
            "{side} × {side} f32, {:.1} % of the planes' loads diverge",
            100.0 * part as f64 / all.max(1) as f64
        )
    }

    fn elements(&self) -> u64 {
        (self.side * self.side) as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        let of = |seed| factors(self.side * self.side, fill, seed, self.side);
        vec![of(1), of(2)]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<f32>(self.side * self.side)]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        let (a, b) = (inputs[0].slice::<f32>(), inputs[1].slice::<f32>());
        let n = self.side;
        let out = outputs[0].slice_mut::<f32>();
        out.par_chunks_mut(n.max(1)).enumerate().for_each(|(y, row)| {
            let mut sums = vec![0.0_f64; n];
            for k in 0..n {
                let factor = f64::from(a[y * n + k]);
                for (sum, b) in sums.iter_mut().zip(&b[k * n..]) {
                    *sum += factor * f64::from(*b);
                }
            }
            row.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum as f32);
        });
    }

    fn work(&self) -> Work {
        let n = self.side as u64;
        Work::bytes(8 * n * n, 4 * n * n).operations(Operation::F32MultiplyAdd, n * n * n)
    }

    fn tolerance(&self) -> Tolerance {
        Tolerance::Relative(1e-4)
    }
}

pub(super) fn ladder() -> Ladder<Square> {
    let variants = vec![Variant::cpu(
        "loop",
        "row by row; nothing lies outside",
        |p: &Square, call: OnCpu<'_>| {
            let (a, b) = (call.inputs[0].slice::<f32>(), call.inputs[1].slice::<f32>());
            let n = p.side.max(1);
            let out = call.outputs[0].slice_mut::<f32>();
            for (row, a) in out.chunks_mut(n).zip(a.chunks(n)) {
                row.fill(0.0);
                for (a, b) in a.iter().zip(b.chunks(n)) {
                    row.iter_mut().zip(b).for_each(|(out, b)| *out += a * b);
                }
            }
            Ok(())
        },
    )];
    let variants = on_both!(variants, gpu::variants());
    let about = "C(i, j) = Σ A(i, k)·B(k, j), f32, by tiles of 16 × 16 of which the last are cut";
    let of = |side| Square { side };
    Ladder::new("votes/product", about, variants)
        .checks(move || [0, 1, 15, 16, 17, 33, 64, 100].map(of).into())
        .cases(move |scale| {
            match (scale.size, scale.class, scale.quick) {
                // More take minutes to refer to. Beside a side that may end with a tile, one that does not.
                (Some(size), ..) => {
                    let side = size.min(1 << 24).isqrt().max(1) as usize;
                    vec![of(side), of(side + 1)]
                }
                (None, Class::Gpu, false) => [100, 1_000, 2_048, 2_049].map(of).into(),
                (None, Class::Gpu, true) => [100, 1_000].map(of).into(),
                (None, Class::Cpu, _) => [100, 512].map(of).into(),
                (None, Class::Software, _) => vec![of(100)],
            }
        })
}

#[cfg(feature = "gpu")]
mod gpu {
    #![allow(unsafe_code)]

    use cubecl::prelude::*;
    use relief_kernels::device::{Operand, launch};

    use super::{SIDE, Square};
    use crate::family::{OnGpu, Outcome, Variant};

    pub(super) fn variants() -> Vec<Variant<Square>> {
        let of = |name, idea, apart| {
            Variant::gpu(name, idea, move |p: &Square, call: OnGpu<'_>| {
                run(p, &call, apart)
            })
        };
        vec![
            of(
                "check everywhere",
                "every unit asks at every load whether it lies inside",
                false,
            ),
            of(
                "interior apart",
                "cubes inside do not ask but for the last, cut tile",
                true,
            ),
        ]
    }

    fn run(problem: &Square, call: &OnGpu<'_>, apart: bool) -> Outcome {
        // At most 2^12 + 1, by the cases.
        let side = problem.side as u32;
        if side == 0 {
            return Ok(());
        }
        let grid = CubeCount::Static(side.div_ceil(SIDE), side.div_ceil(SIDE), 1);
        let (a, b, out) = (&call.inputs[0], &call.inputs[1], &call.outputs[0]);
        // SAFETY: loads and stores are of rows and columns below `side`: asked for, or of a cube and a tile that end before.
        launch!(
            call.gpu, "cut product", &apart, &[Operand::write("the output", &call.outputs[0])],
            (grid, CubeDim::new_2d(SIDE, SIDE)),
            unsafe multiply(a.array(1), b.array(1), out.array(1), side, apart))?;
        Ok(())
    }

    #[cube(launch_unchecked)]
    fn multiply(a: &Array<f32>, b: &Array<f32>, out: &mut Array<f32>, side: u32, #[comptime] apart: bool) {
        let mut left = SharedMemory::<f32>::new(comptime!((SIDE * SIDE) as usize));
        let mut right = SharedMemory::<f32>::new(comptime!((SIDE * SIDE) as usize));
        let (column, row) = (ABSOLUTE_POS_X, ABSOLUTE_POS_Y);
        let mut whole = false;
        if comptime!(apart) {
            if (CUBE_POS_X + 1u32) * SIDE <= side {
                whole = (CUBE_POS_Y + 1u32) * SIDE <= side;
            }
        }
        let mut sum = 0.0f32;
        let mut first = u32::new(0);
        while first < side {
            let mut one = 0.0f32;
            let mut other = 0.0f32;
            let mut free = false;
            if whole {
                free = first + SIDE <= side;
            }
            if free {
                // rung: votes on gpu: interior apart
                one = a[(row * side + first + UNIT_POS_X) as usize];
                other = b[((first + UNIT_POS_Y) * side + column) as usize];
                // end
            } else {
                // rung: votes on gpu: check everywhere
                if row < side {
                    if first + UNIT_POS_X < side {
                        one = a[(row * side + first + UNIT_POS_X) as usize];
                    }
                }
                if column < side {
                    if first + UNIT_POS_Y < side {
                        other = b[((first + UNIT_POS_Y) * side + column) as usize];
                    }
                }
                // end
            }
            left[UNIT_POS as usize] = one;
            right[UNIT_POS as usize] = other;
            sync_cube();
            #[unroll]
            for k in 0..SIDE {
                sum += left[(UNIT_POS_Y * SIDE + k) as usize] * right[(k * SIDE + UNIT_POS_X) as usize];
            }
            sync_cube();
            first += SIDE;
        }
        if row < side {
            if column < side {
                out[(row * side + column) as usize] = sum;
            }
        }
    }
}
