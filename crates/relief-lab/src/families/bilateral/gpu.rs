//! The variants on devices.

use relief_numeric::bilateral::gpu::{bilateral, scratch_words};
use relief_numeric::transpose::gpu::Matrix;

use super::{Picture, Way};
use crate::array::{Kind, Layout};
use crate::family::{OnGpu, Outcome, Variant};

#[allow(unsafe_code)]
mod sums;

pub(super) fn variants(way: Way, kind: Kind) -> Vec<Variant<Picture>> {
    let disc = |name, idea, way| Variant::gpu(name, idea, move |p: &Picture, call| sums::disc(p, call, way));
    match way {
        Way::Disc => {
            let mut variants = vec![
                disc("naive", "an exponential for each neighbour", sums::Way::Naive),
                disc(
                    "tiled",
                    "weights of places, and the neighbourhood of a cube's pixels, in shared memory",
                    sums::Way::Tiled,
                ),
            ];
            if kind == Kind::U8 {
                let idea = "weights of differences there too";
                variants.push(disc("tiled, range table", idea, sums::Way::Tables));
            }
            variants
        }
        // What the approximation costs is seen on processors.
        Way::Separable => Vec::new(),
        Way::Grid => vec![
            Variant::gpu(
                "production",
                "splat in shared memory, blur, slice: three launches",
                grid,
            )
            .source("0.25 ms (GTX 690)")
            .scratch(|p| {
                let words = scratch_words(p.job(), p.kind.element()).unwrap_or(0);
                vec![Layout::of::<u32>(words as usize)]
            })
            .production(),
        ],
    }
}

fn words_of_row(picture: &Picture) -> u32 {
    (picture.pitch() * picture.kind.bytes() / 4) as u32
}

fn grid(picture: &Picture, call: &OnGpu<'_>) -> Outcome {
    let pitch = words_of_row(picture);
    let matrix = |buffer| Matrix { buffer, pitch };
    let (from, to) = (matrix(&call.inputs[0]), matrix(&call.outputs[0]));
    let (job, scratch) = (picture.job(), &call.scratch[0]);
    bilateral(call.gpu, picture.kind.element(), job, from, to, scratch)?;
    Ok(())
}
