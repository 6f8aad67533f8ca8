//! A check that only the border needs: everywhere, or by cubes of their own.

use crate::array::{Array, Fill, Layout};
use crate::family::{Ladder, OnCpu, Problem, Scale, Variant, Work};

/// A picture of words.
pub(super) struct Picture {
    width: usize,
    height: usize,
}

impl Problem for Picture {
    fn label(&self) -> String {
        format!("{} × {} u32", self.width, self.height)
    }

    fn elements(&self) -> u64 {
        (self.width * self.height) as u64
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        vec![Array::filled(
            Layout::of::<u32>(self.width * self.height),
            fill,
            1,
        )]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<u32>(self.width * self.height)]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        sums(self, inputs[0].slice(), outputs[0].slice_mut());
    }

    fn work(&self) -> Work {
        Work::bytes(4 * self.elements(), 4 * self.elements())
    }
}

/// Sums of 3 × 3 words; those outside are the nearest inside.
fn sums(picture: &Picture, from: &[u32], out: &mut [u32]) {
    let (width, height) = (picture.width as i64, picture.height as i64);
    for y in 0..height {
        for x in 0..width {
            let mut sum = 0_u32;
            for (dx, dy) in (-1..=1).flat_map(|dy| [(-1, dy), (0, dy), (1, dy)]) {
                let (x, y) = ((x + dx).clamp(0, width - 1), (y + dy).clamp(0, height - 1));
                sum = sum.wrapping_add(from[(y * width + x) as usize]);
            }
            out[(y * width + x) as usize] = sum;
        }
    }
}

pub(super) fn ladder() -> Ladder<Picture> {
    #[allow(unused_mut)]
    let mut variants = vec![
        Variant::cpu(
            "check everywhere",
            "every sum asks where its neighbours lie",
            |p: &Picture, call: OnCpu<'_>| {
                let out = call.outputs[0].slice_mut::<u32>();
                let from = call.inputs[0].slice::<u32>();
                for (i, out) in out.iter_mut().enumerate() {
                    *out = clamped(p, from, i % p.width, i / p.width);
                }
                Ok(())
            },
        ),
        Variant::cpu(
            "interior apart",
            "only sums at the border ask",
            |p: &Picture, call: OnCpu<'_>| {
                let out = call.outputs[0].slice_mut::<u32>();
                let from = call.inputs[0].slice::<u32>();
                for (y, out) in out.chunks_mut(p.width.max(1)).enumerate() {
                    let inside = y > 0 && y + 1 < p.height && p.width > 2;
                    let (left, right) = if inside {
                        (1, p.width - 1)
                    } else {
                        (p.width, p.width)
                    };
                    for x in (0..left).chain(right..p.width) {
                        out[x] = clamped(p, from, x, y);
                    }
                    if inside {
                        let row = |y: usize| &from[y * p.width..(y + 1) * p.width];
                        let rows = [row(y - 1), row(y), row(y + 1)];
                        for x in left..right {
                            let of = |row: &[u32]| row[x - 1].wrapping_add(row[x]).wrapping_add(row[x + 1]);
                            out[x] = of(rows[0]).wrapping_add(of(rows[1])).wrapping_add(of(rows[2]));
                        }
                    }
                }
                Ok(())
            },
        ),
    ];
    #[cfg(feature = "gpu")]
    variants.extend(gpu::variants());
    Ladder {
        name: "votes/border",
        about: "out(x, y) = the sum of the 3 × 3 words around it, clamped at the edges",
        axis: None,
        checks: || {
            let of = |(width, height)| Picture { width, height };
            let sizes = [
                (0, 0),
                (1, 1),
                (1, 50),
                (50, 1),
                (2, 2),
                (31, 33),
                (32, 8),
                (64, 16),
                (100, 70),
                (257, 41),
            ];
            sizes.map(of).into()
        },
        cases: |scale: Scale| {
            let of = |size: u64| {
                let width = size.isqrt().max(1) as usize;
                Picture {
                    width,
                    height: (size as usize / width).max(1),
                }
            };
            scale.sizes().into_iter().map(of).collect()
        },
        huge: || {
            vec![Picture {
                width: 32_780,
                height: 32_777,
            }]
        },
        variants,
    }
}

fn clamped(picture: &Picture, from: &[u32], x: usize, y: usize) -> u32 {
    let mut sum = 0_u32;
    for y in [y.saturating_sub(1), y, (y + 1).min(picture.height - 1)] {
        for x in [x.saturating_sub(1), x, (x + 1).min(picture.width - 1)] {
            sum = sum.wrapping_add(from[y * picture.width + x]);
        }
    }
    sum
}

#[cfg(feature = "gpu")]
mod gpu {
    #![allow(unsafe_code)]

    use cubecl::prelude::*;
    use relief_kernels::device::{Operand, launch};

    use super::Picture;
    use crate::family::{Failure, OnGpu, Outcome, Variant};

    const ACROSS: u32 = 32;
    const DOWN: u32 = 8;

    pub(super) fn variants() -> Vec<Variant<Picture>> {
        let of = |name, idea, apart| {
            Variant::gpu(name, idea, move |p: &Picture, call: OnGpu<'_>| {
                run(p, &call, apart)
            })
        };
        vec![
            of(
                "check everywhere",
                "every unit asks where its neighbours lie",
                false,
            ),
            of("interior apart", "only units of cubes at the border ask", true),
        ]
    }

    fn run(problem: &Picture, call: &OnGpu<'_>, apart: bool) -> Outcome {
        let (width, height) = (problem.width as u32, problem.height as u32);
        if width == 0 || height == 0 {
            return Ok(());
        }
        let (across, down) = (width.div_ceil(ACROSS), height.div_ceil(DOWN));
        if across > 65_535 || down > 65_535 {
            return Err(Failure::Unsupported(format!("{across} × {down} cubes")));
        }
        let grid = CubeCount::Static(across, down, 1);
        let (from, out) = (&call.inputs[0], &call.outputs[0]);
        // SAFETY: units inside write their own word; neighbours are clamped to the picture, or those of a cube none of whose units
        // lies at an edge.
        launch!(
            call.gpu, "border", &apart, &[Operand::write("the output", &call.outputs[0])],
            (grid, CubeDim::new_2d(ACROSS, DOWN)),
            unsafe sums(from.array(1), out.array(1), width, height, apart))?;
        Ok(())
    }

    #[cube(launch_unchecked)]
    fn sums(from: &Array<u32>, out: &mut Array<u32>, width: u32, height: u32, #[comptime] apart: bool) {
        let (x, y) = (ABSOLUTE_POS_X, ABSOLUTE_POS_Y);
        let mut inside = false;
        if comptime!(apart) {
            let (left, top) = (CUBE_POS_X * ACROSS, CUBE_POS_Y * DOWN);
            if left > 0 {
                if top > 0 {
                    if left + ACROSS < width {
                        inside = top + DOWN < height;
                    }
                }
            }
        }
        if inside {
            let at = y * width + x;
            let mut sum = u32::new(0);
            #[unroll]
            for dy in 0..3u32 {
                #[unroll]
                for dx in 0..3u32 {
                    sum += from[(at + dy * width + dx - width - 1u32) as usize];
                }
            }
            out[at as usize] = sum;
        } else {
            if x < width {
                if y < height {
                    let mut sum = u32::new(0);
                    #[unroll]
                    for dy in 0..3u32 {
                        #[unroll]
                        for dx in 0..3u32 {
                            let nx = min(max(x + dx, 1u32) - 1u32, width - 1u32);
                            let ny = min(max(y + dy, 1u32) - 1u32, height - 1u32);
                            sum += from[(ny * width + nx) as usize];
                        }
                    }
                    out[(y * width + x) as usize] = sum;
                }
            }
        }
    }
}
