//! Picture scale: every pixel of a picture doubled, f32: the first kernel of the course.
//!
//! Least work: a word read, a word written, a multiplication. The source's picture has 62 × 76 pixels and is
//! cut into blocks of 16 × 16, so that blocks at its edges hang over: their units check the border, and some
//! planes diverge.

use rayon::prelude::*;
use relief_numeric::map::cpu;

use super::super::part;
use crate::array::{Array, Fill, Layout};
use crate::family::{Ladder, OnCpu, Outcome, Problem, Variant, Work};

pub(super) struct Picture {
    width: usize,
    height: usize,
}

const FACTOR: f32 = 2.0;

impl Problem for Picture {
    fn label(&self) -> String {
        format!("{} × {} f32", self.width, self.height)
    }

    fn inputs(&self, fill: Fill) -> Vec<Array> {
        let layout = Layout::of::<f32>(self.width * self.height);
        vec![Array::filled(layout, fill, 1)]
    }

    fn outputs(&self) -> Vec<Layout> {
        vec![Layout::of::<f32>(self.width * self.height)]
    }

    fn reference(&self, inputs: &[Array], outputs: &mut [Array]) {
        for y in 0..self.height {
            for x in 0..self.width {
                let i = y * self.width + x;
                outputs[0].slice_mut::<f32>()[i] = FACTOR * inputs[0].slice::<f32>()[i];
            }
        }
    }

    fn work(&self) -> Work {
        Work::bytes(4 * self.elements(), 4 * self.elements())
    }
}

pub(super) fn ladder() -> Ladder<Picture> {
    let variants = vec![
        Variant::cpu(
            "plain",
            "one after the other, as the compiler likes it",
            |_: &Picture, call| {
                double(call.inputs[0].slice(), call.outputs[0].slice_mut());
                Ok(())
            },
        ),
        Variant::cpu("threads", "a part for each thread, ordinary stores", |_, call| {
            parts(call, double)
        }),
        Variant::cpu(
            "production",
            "a part for each thread; large results take non-temporal stores",
            |problem: &Picture, call| {
                let whole = problem.width * problem.height;
                parts(call, |values, out| cpu::scale_part(values, FACTOR, out, whole))
            },
        )
        .production(),
    ];
    let variants = on_both!(variants, gpu::variants());
    let of = |(width, height)| Picture { width, height };
    const SOURCE: (usize, usize) = (62, 76);
    Ladder::new("map/scale", "every pixel doubled, f32", variants)
        .checks(move || {
            let sizes = [(0, 0), (1, 1), (5, 3), (17, 33), (1, 300), (300, 1), (256, 16)];
            sizes.into_iter().chain([SOURCE]).map(of).collect()
        })
        .cases(move |scale| {
            let side = |size: u64| size.isqrt() as usize;
            let squares = scale.sizes().into_iter().map(|size| (side(size), side(size)));
            let source = scale.size.is_none().then_some(SOURCE);
            source.into_iter().chain(squares).map(of).collect()
        })
        .huge(move || vec![of((32_768, 32_769))])
}

fn double(values: &[f32], out: &mut [f32]) {
    for (value, out) in values.iter().zip(out) {
        *out = FACTOR * value;
    }
}

fn parts(call: OnCpu<'_>, scale: impl Fn(&[f32], &mut [f32]) + Sync) -> Outcome {
    let values = call.inputs[0].slice::<f32>();
    let part = part(values.len());
    let outputs = call.outputs[0].slice_mut::<f32>().par_chunks_mut(part);
    let parts = values.par_chunks(part).zip(outputs);
    parts.for_each(|(values, out)| scale(values, out));
    Ok(())
}

#[cfg(feature = "gpu")]
mod gpu {
    #![allow(unsafe_code)]

    use cubecl::prelude::*;
    use relief_kernels::device::{Operand, cover, launch};
    use relief_numeric::map::gpu::{DEFAULT, SPACE, scale_with};

    use super::{FACTOR, Picture};
    use crate::family::{Failure, OnGpu, Outcome, Variant};

    pub(super) fn variants() -> Vec<Variant<Picture>> {
        vec![
            Variant::gpu(
                "blocks 16 × 16",
                "a pixel for each unit of a square cube",
                |picture, call| blocks(picture, call, (16, 16)),
            ),
            Variant::gpu(
                "rows",
                "a pixel for each unit of a cube along a row",
                |picture, call| blocks(picture, call, (256, 1)),
            ),
            Variant::gpu(
                "several quads",
                "flat vectors, as many for each unit as tuned",
                |picture: &Picture, call| {
                    let (from, to) = (&call.inputs[0], &call.outputs[0]);
                    let count = picture.width * picture.height;
                    Ok(scale_with(call.gpu, call.tuning, from, FACTOR, to, count)?)
                },
            )
            .tuned("map scale", SPACE, DEFAULT)
            .production(),
        ]
    }

    fn blocks(picture: &Picture, call: &OnGpu<'_>, (width, height): (u32, u32)) -> Outcome {
        let size = (picture.width as u32, picture.height as u32);
        let cubes = (size.0.div_ceil(width), size.1.div_ceil(height));
        if cubes.0 == 0 || cubes.1 == 0 {
            return Ok(());
        }
        if cubes.1 > call.gpu.report().cubes.min(65_535) || cubes.0 > 65_535 {
            return Err(Failure::Unsupported(format!("{} rows of cubes", cubes.1)));
        }
        let (values, out) = (&call.inputs[0], &call.outputs[0]);
        // SAFETY: columns and rows are compared with the picture's, and both buffers hold it.
        launch!(
            call.gpu, "scale blocks", &(width, height), &[Operand::write("the output", out)],
            cover(size, (width, height)),
            unsafe scale_pixels(values.array(1), out.array(1), size.0, size.1, FACTOR))?;
        Ok(())
    }

    #[cube(launch_unchecked)]
    fn scale_pixels(values: &Array<f32>, out: &mut Array<f32>, width: u32, height: u32, factor: f32) {
        // rung: map/scale on gpu: blocks 16 × 16 | rows
        if ABSOLUTE_POS_X < width && ABSOLUTE_POS_Y < height {
            let place = (ABSOLUTE_POS_Y * width + ABSOLUTE_POS_X) as usize;
            out[place] = factor * values[place];
        }
        // end
    }
}
