//! The variants on devices.
#![allow(unsafe_code)]

mod cells;
mod kept;
mod scatter;
mod target;

use relief_kernels::copy::gpu::fill;
use relief_kernels::device::{Buffer, Gpu};
use relief_kernels::fused::{Expression, render};
use relief_kernels::lattice::gpu::Lattice;
use relief_kernels::lattice::{self, Blend};
use relief_kernels::policy::{Space, Tuning};
use relief_raster::{Depth, Rect};

use self::kept::Kept;
use self::scatter::{Dealt, Write};
use super::stores::Agreeing;
use super::{Copies, Mean};
use crate::array::Layout;
use crate::family::{Outcome, Variant, tuning};

/// The layouts of `cell vectors`: the rows that a unit repeats are its items.
const SPACE: Space = Space {
    units: &[64, 128, 256, 512],
    items: &[1, 2, 4, 8, 16, 32],
    vectors: &[4],
};

const DEFAULT: Tuning = tuning(256, 8, 4);

// rung: lattice on gpu: fused = the engine's kernel of trees, made of an expression

pub(super) fn variants() -> Vec<Variant<Mean>> {
    let mut variants = vec![
        target::variant(),
        Variant::gpu(
            "atomic",
            "each copy added to a sum and a count in a word by atomics, then divided",
            |p: &Mean, call| scatter::added(&p.0, call),
        )
        .scratch(|p| vec![Layout::of::<u32>(p.0.stored())]),
        direct(),
    ];
    variants.extend(cells::variants());
    variants.push(fused());
    variants
}

pub(super) fn stores() -> Vec<Variant<Agreeing>> {
    let of = |name, idea, dealt, write| {
        Variant::gpu(name, idea, move |p: &Agreeing, call| {
            fill(call.gpu, &call.outputs[0], call.outputs[0].words(), 0)?;
            scatter::written(&p.copies, call, dealt, write)
        })
    };
    let cube = "a cube for each copy, units next to each other";
    let unit = "a unit for each copy, stores a vector apart";
    vec![
        target::any(),
        of("cubes store", cube, Dealt::Cubes, Write::Store),
        of("cubes exchange", cube, Dealt::Cubes, Write::Exchange),
        of("units store", unit, Dealt::Units, Write::Store).source("9.8 ms"),
        of("units exchange", unit, Dealt::Units, Write::Exchange).source("6.3 ms"),
    ]
}

/// Words from the start of a row to that of the next: whole vectors of four.
fn pitch(copies: &Copies, bits: u32) -> u32 {
    (copies.pitch() / (32 / bits as usize)) as u32
}

fn direct() -> Variant<Mean> {
    let kept = Kept::default();
    Variant::gpu(
        "direct",
        "rows of copies listed, then blended: production where no cell fits",
        move |Mean(copies): &Mean, call| {
            let plane = |bytes: &[u8]| kept::plane(call.gpu, copies, bytes);
            let lattice = Lattice {
                pattern: kept.of(call.gpu, copies, &call.inputs[0], plane)?,
                blend: Blend::Mean,
                offset: copies.offset,
                u: copies.u,
                v: copies.v,
            };
            let band = Rect::sized(copies.width as u64, copies.height as u64);
            lattice::gpu::render(call.gpu, &lattice, band, &call.outputs[0], pitch(copies, 8))?;
            Ok(())
        },
    )
    .keeps()
}

/// Production's expansion of a cell.
fn fused() -> Variant<Mean> {
    let kept = Kept::default();
    Variant::gpu(
        "fused",
        "the leaf of a fused kernel; its cell was folded and stored before",
        move |Mean(copies): &Mean, call| {
            let fold = |bytes: &[u8]| kept::cell(call.gpu, copies, bytes);
            let cell = kept.of(call.gpu, copies, &call.inputs[0], fold)?;
            let band = Rect::sized(copies.width as u64, copies.height as u64);
            let expression = Expression::Cell { cell, x: 0, y: 0 };
            let (out, pitch) = (&call.outputs[0], pitch(copies, 8));
            render(call.gpu, &expression, Depth::Eight, band, band, out, pitch)?;
            Ok(())
        },
    )
    .keeps()
    .production()
}

/// Samples of a vector.
const SAMPLES: u32 = 16;

/// The bytes of a cell that is stored as often as a vector has samples, as words.
fn shifted_words(copies: &Copies) -> usize {
    let (period, samples) = (copies.period(), u64::from(SAMPLES));
    (samples * period.c() * period.a().div_ceil(samples) * 4) as usize
}

/// Where 32 bits count all words of a raster.
fn countable(gpu: &Gpu, buffer: &Buffer) -> Outcome {
    Ok(gpu.at_most("words of a raster", (1_u64 << 31) - 1, buffer.words() as u64)?)
}
