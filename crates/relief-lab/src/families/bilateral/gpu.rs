//! The variants on devices.
#![allow(unsafe_code)]

use cubecl::prelude::*;
use relief_kernels::device::{Operand, cubes, launch};
use relief_numeric::bilateral::gpu::{bilateral, scratch_words};
use relief_numeric::element::Element;
use relief_numeric::transpose::gpu::Matrix;

use super::{Picture, Temporal, Way};
use crate::array::{Kind, Layout};
use crate::family::{OnGpu, Outcome, Variant};

mod sums;

pub(super) fn variants(way: Way, kind: Kind) -> Vec<Variant<Picture>> {
    let tables = sums::Way {
        places: true,
        ..sums::Way::NAIVE
    };
    match way {
        Way::Disc => disc(kind, tables),
        Way::Separable => {
            let of = |name, idea, way| {
                Variant::gpu(name, idea, move |p: &Picture, call| {
                    sums::separable(p, &call, way)
                })
                .scratch(sums::between)
            };
            vec![
                of("naive", "an exponential for each neighbour", sums::Way::NAIVE),
                of("tables", "weights of places in shared memory", tables),
            ]
        }
        Way::Grid => vec![
            Variant::gpu(
                "production",
                "splat in shared memory, blur, slice: three launches",
                grid,
            )
            .source("0.25 ms (GTX 690)")
            .scratch(|p| {
                let words = scratch_words(p.job(), element(p)).unwrap_or(0);
                vec![Layout::of::<u32>(words as usize)]
            })
            .production(),
        ],
    }
}

fn disc(kind: Kind, tables: sums::Way) -> Vec<Variant<Picture>> {
    let of = |name, idea, way| Variant::gpu(name, idea, move |p: &Picture, call| sums::disc(p, &call, way));
    let tiled = sums::Way {
        tiled: true,
        ..tables
    };
    let mut variants = vec![
        of("naive", "an exponential for each neighbour", sums::Way::NAIVE),
        of("tables", "weights of places in shared memory", tables),
        of("tiled", "the neighbourhood of a cube's pixels there too", tiled),
    ];
    if kind == Kind::U8 {
        let with = |way| sums::Way {
            differences: true,
            ..way
        };
        variants.extend([
            of(
                "range table",
                "weights of places and of differences in shared memory",
                with(tables),
            ),
            of("tiled, range table", "all of it in shared memory", with(tiled)),
        ]);
    }
    variants
}

fn element(picture: &Picture) -> Element {
    match picture.kind {
        Kind::U8 => Element::U8,
        Kind::U16 => Element::U16,
        _ => Element::F32,
    }
}

fn words_of_row(picture: &Picture) -> u32 {
    (picture.pitch() * picture.kind.bytes() / 4) as u32
}

fn grid(picture: &Picture, call: OnGpu<'_>) -> Outcome {
    let pitch = words_of_row(picture);
    let matrix = |buffer| Matrix { buffer, pitch };
    let (from, to) = (matrix(&call.inputs[0]), matrix(&call.outputs[0]));
    bilateral(
        call.gpu,
        element(picture),
        picture.job(),
        from,
        to,
        &call.scratch[0],
    )?;
    Ok(())
}

// rung: bilateral on gpu: tiled, range table = those of `tiled` and of `range table` together

pub(super) fn temporal() -> Vec<Variant<Temporal>> {
    vec![
        Variant::gpu(
            "words",
            "four pixels of a word, all frames",
            |p: &Temporal, call| {
                let count = p.pixels.div_ceil(4) as u32;
                if count == 0 {
                    return Ok(());
                }
                let (gpu, to) = (call.gpu, &call.outputs[0]);
                let grid = cubes(gpu, count.div_ceil(256));
                let (inputs, log) = (call.inputs, p.log_frames);
                // SAFETY: places are compared with `count`, words that all buffers hold.
                launch!(
                    gpu, "temporal", &log, &[Operand::write("the output", to)], (grid, CubeDim::new_1d(256)),
                    unsafe mean_of_frames(inputs.iter().map(|frame| frame.array(1)).collect(), to.array(1), count, log))?;
                Ok(())
            },
        )
        .production(),
    ]
}

/// Bytes in pairs of 16 bits each.
#[cube(launch_unchecked)]
fn mean_of_frames(frames: &Sequence<Array<u32>>, to: &mut Array<u32>, count: u32, #[comptime] log: u32) {
    let place = CUBE_POS as u32 * 256u32 + UNIT_POS;
    if place < count {
        let half = comptime!((1u32 << log) / 2 * 0x0001_0001);
        let mut even = u32::new(half as i64);
        // rung: bilateral on gpu: words
        let mut odd = u32::new(half as i64);
        #[unroll]
        for k in 0..comptime!(1usize << log) {
            let word = frames.index(k)[place as usize];
            even += word & 0x00FF_00FFu32;
            odd += (word >> 8u32) & 0x00FF_00FFu32;
        }
        to[place as usize] = ((even >> log) & 0x00FF_00FFu32) | (((odd >> log) & 0x00FF_00FFu32) << 8u32);
        // end
    }
}
