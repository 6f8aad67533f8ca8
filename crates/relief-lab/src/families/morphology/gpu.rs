//! The variants on devices.
#![allow(unsafe_code)]

use cubecl::prelude::*;
use relief_kernels::device::{Operand, cover, launch};
use relief_kernels::policy::Tuning;
use relief_numeric::element::Element;
use relief_numeric::morphology::Operator;
use relief_numeric::morphology::gpu::{self as production, Morphology, Size};

use super::Dilation;
use crate::array::{Kind, Layout};
use crate::family::{Failure, OnGpu, Outcome, Problem as _, Variant};

pub(super) fn variants(separable: bool) -> Vec<Variant<Dilation>> {
    let of = |name, idea, way| Variant::gpu(name, idea, move |p: &Dilation, call| simple(p, call, way));
    let mut variants = vec![
        of(
            "definition",
            "a unit for each word, samples and heights from memory",
            Way::Memory,
        ),
        of("tile", "the same with a tile in shared memory", Way::Tile),
    ];
    if separable {
        variants.push(
            of(
                "rows, then columns",
                "a kernel for each, 32-bit numbers in memory in between",
                Way::Lines,
            )
            .scratch(|p| vec![Layout::of::<u32>(p.width * p.height)]),
        );
    }
    let idea = "four columns of some rows for a unit, from vectors in shared memory";
    variants.push(
        Variant::gpu("tuned", idea, |p, call| tuned(p, call, Some(call.tuning))).tuned(
            production::kernel_name(separable),
            production::SPACE,
            production::default(separable, 15),
        ),
    );
    variants
        .push(Variant::gpu("production", "the tuned layout", |p, call| tuned(p, call, None)).production());
    variants
}

/// Heights as production's kernels take them.
pub(super) fn words(p: &Dilation) -> Vec<u32> {
    let words = match p.kind {
        Kind::F32 => p
            .function()
            .map(|function| production::words(Operator::Dilation, &function)),
        _ => p
            .whole_function()
            .map(|function| production::words(Operator::Dilation, &function)),
    };
    words.unwrap_or_default()
}

const fn size(p: &Dilation) -> Size {
    Size {
        width: p.width as u32,
        height: p.height as u32,
    }
}

// rung: morphology on gpu: tuned = the kernels of `relief_numeric::morphology::gpu`, in the layout that was found for the device
// rung: morphology on gpu: production = `tuned` in the layout of production
/// Production's kernels, in a layout or in the tuned one.
fn tuned(p: &Dilation, call: &OnGpu<'_>, tuning: Option<Tuning>) -> Outcome {
    let (gpu, of, element) = (call.gpu, Operator::Dilation, p.kind.element());
    let heights = call.inputs[1].clone();
    let none = || Failure::Failed("no such function".to_owned());
    let morphology = match p.kind {
        Kind::F32 => Morphology::with_heights(gpu, of, &p.function().ok_or_else(none)?, element, heights)?,
        _ => Morphology::with_heights(gpu, of, &p.whole_function().ok_or_else(none)?, element, heights)?,
    };
    let (from, to) = (&call.inputs[0], &call.outputs[0]);
    match tuning {
        Some(tuning) => morphology.apply_with(call.gpu, tuning, size(p), from, to)?,
        None => morphology.apply(call.gpu, size(p), from, to)?,
    }
    Ok(())
}

/// Where samples come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Way {
    Memory,
    Tile,
    Lines,
}

/// What is compiled into the simple kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Plan {
    element: Element,
    separable: bool,
    radius: u32,
    tile: bool,
}

impl Plan {
    const fn side(&self) -> u32 {
        2 * self.radius + 1
    }

    const fn per_word(&self) -> u32 {
        32 / self.element.bits()
    }

    const fn is_float(&self) -> bool {
        matches!(self.element, Element::F32)
    }

    /// The greatest sample, where it is a whole number.
    const fn most(&self) -> u32 {
        match self.element {
            Element::U8 => 0xff,
            _ => 0xffff,
        }
    }

    /// Columns and rows of the tile that a cube sees.
    const fn seen(&self) -> (u32, u32) {
        let across = UNITS.0 * self.per_word() + 2 * self.radius;
        (across, UNITS.1 + 2 * self.radius)
    }

    /// Numbers in shared memory.
    const fn shared(&self) -> u32 {
        let (across, down) = self.seen();
        if self.tile { across * down } else { 1 }
    }
}

/// Units of a cube, a word of the result for each.
const UNITS: (u32, u32) = (32, 8);

fn simple(p: &Dilation, call: &OnGpu<'_>, way: Way) -> Outcome {
    if p.is_empty() {
        return Ok(());
    }
    if p.elements() * (p.side() as u64).pow(2) > 1 << 35 && way != Way::Lines {
        return Err(Failure::Unsupported("it would take long".to_owned()));
    }
    let plan = Plan {
        element: p.kind.element(),
        separable: p.separable,
        radius: p.radius,
        tile: way == Way::Tile,
    };
    if p.height.div_ceil(UNITS.1 as usize) > 65_535 {
        return Err(Failure::Unsupported("more rows than a launch has".to_owned()));
    }
    match plan.is_float() {
        true => launched::<f32>(p, call, way, plan, f32::NEG_INFINITY.to_bits()),
        false => launched::<i32>(p, call, way, plan, (-1_i32 << 20).cast_unsigned()),
    }
}

fn launched<L: Numeric>(p: &Dilation, call: &OnGpu<'_>, way: Way, plan: Plan, least: u32) -> Outcome {
    let (picture, heights, out) = (&call.inputs[0], &call.inputs[2], &call.outputs[0]);
    let (width, height, pitch) = (
        p.width as u32,
        p.height as u32,
        p.pitch() as u32 / plan.per_word(),
    );
    let grid = cover((pitch, height), UNITS);
    let output = [Operand::write("the output", out)];
    // SAFETY: samples are read where row and column are the picture's, heights below the number of taps; words are stored in rows of the picture, up
    // to their pitch. Places of shared memory are those of the tile. Numbers between are as many as the picture has pixels, and read and written where
    // row and column are its.
    if way != Way::Lines {
        launch!(call.gpu, "morphology simple", &plan, &output, grid, unsafe dilate_words<L, _>(
            picture.array(1), heights.array(1), out.array(1), width, height, pitch, least, plan))?;
        return Ok(());
    }
    let (name, between) = ("morphology lines", &call.scratch[0]);
    let first = [Operand::write("the output", between)];
    launch!(call.gpu, name, &(plan, false), &first, grid.clone(), unsafe dilate_rows<L, _>(
        picture.array(1), heights.array(1), between.array(1), width, height, pitch, least, plan))?;
    launch!(call.gpu, name, &(plan, true), &output, grid, unsafe dilate_columns<L, _>(
        between.array(1), heights.array(1), out.array(1), width, height, pitch, least, plan))?;
    Ok(())
}

/// The sample at (x, y), the least outside.
#[cube]
fn sample<L: Numeric>(
    source: &Array<u32>,
    x: u32,
    y: u32,
    width: u32,
    height: u32,
    pitch: u32,
    least: u32,
    #[comptime] plan: Plan,
) -> L {
    let mut number = L::reinterpret(least);
    // Left of the first and above it is beyond the last.
    if y < height {
        if x < width {
            if comptime!(plan.is_float()) {
                number = L::reinterpret(source[(y * pitch + x) as usize]);
            } else {
                let per = comptime!(plan.per_word());
                let word = source[(y * pitch + x / per) as usize];
                let bits = (word >> (x % per * comptime!(32 / per))) & comptime!(plan.most());
                number = L::reinterpret(bits);
            }
        }
    }
    number
}

/// A result as a sample's bits; 0 past the width.
#[cube]
fn finished<L: Numeric>(most: L, x: u32, width: u32, #[comptime] plan: Plan) -> u32 {
    let mut bits = u32::reinterpret(most);
    if comptime!(!plan.is_float()) {
        let most = min(i32::reinterpret(most), comptime!(plan.most() as i32));
        bits = u32::reinterpret(max(most, 0i32));
    }
    select(x < width, bits, 0u32)
}

#[cube(launch_unchecked)]
fn dilate_words<L: Numeric>(
    source: &Array<u32>,
    heights: &Array<L>,
    out: &mut Array<u32>,
    width: u32,
    height: u32,
    pitch: u32,
    least: u32,
    #[comptime] plan: Plan,
) {
    let (per, side) = comptime!((plan.per_word(), plan.side()));
    let (across, down) = comptime!(plan.seen());
    let mut seen = SharedMemory::<L>::new(comptime!(plan.shared() as usize));
    if comptime!(plan.tile) {
        let left = CUBE_POS_X * comptime!(UNITS.0 * plan.per_word()) - comptime!(plan.radius);
        let top = CUBE_POS_Y * comptime!(UNITS.1) - comptime!(plan.radius);
        // rung: morphology on gpu: tile
        let mut place = UNIT_POS;
        while place < comptime!(across * down) {
            let (x, y) = (left + place % across, top + place / across);
            seen[place as usize] = sample::<L>(source, x, y, width, height, pitch, least, plan);
            place += comptime!(UNITS.0 * UNITS.1);
        }
        sync_cube();
        // end
    }
    let (column, y) = (ABSOLUTE_POS_X, ABSOLUTE_POS_Y);
    if y < height {
        if column < pitch {
            let mut word = u32::new(0);
            #[unroll]
            for k in 0..per {
                let x = column * per + k;
                let mut most = L::reinterpret(least);
                for t in 0..side {
                    for s in 0..side {
                        let mut number = if comptime!(plan.tile) {
                            seen[((UNIT_POS_Y + t) * across + UNIT_POS_X * per + k + s) as usize]
                        } else {
                            let (x, y) = (x + s - comptime!(plan.radius), y + t - comptime!(plan.radius));
                            sample::<L>(source, x, y, width, height, pitch, least, plan)
                        };
                        // rung: morphology on gpu: definition
                        if comptime!(plan.separable) {
                            number = number + heights[s as usize] + heights[(side + t) as usize];
                        } else {
                            number += heights[(t * side + s) as usize];
                        }
                        most = max(number, most);
                        // end
                    }
                }
                word |= finished::<L>(most, x, width, plan) << comptime!(k * 32 / per % 32);
            }
            out[(y * pitch + column) as usize] = word;
        }
    }
}

#[cube(launch_unchecked)]
fn dilate_rows<L: Numeric>(
    source: &Array<u32>,
    heights: &Array<L>,
    between: &mut Array<L>,
    width: u32,
    height: u32,
    pitch: u32,
    least: u32,
    #[comptime] plan: Plan,
) {
    let per = comptime!(plan.per_word());
    let y = ABSOLUTE_POS_Y;
    #[unroll]
    for k in 0..per {
        // Units of a plane beside one another.
        let x = CUBE_POS_X * comptime!(UNITS.0 * plan.per_word()) + comptime!(k * UNITS.0) + UNIT_POS_X;
        if y < height {
            if x < width {
                let mut most = L::reinterpret(least);
                // rung: morphology on gpu: rows, then columns
                for s in 0..comptime!(plan.side()) {
                    let seen = x + s - comptime!(plan.radius);
                    let number = sample::<L>(source, seen, y, width, height, pitch, least, plan);
                    most = max(number + heights[s as usize], most);
                }
                // end
                between[(y * width + x) as usize] = most;
            }
        }
    }
}

#[cube(launch_unchecked)]
fn dilate_columns<L: Numeric>(
    between: &Array<L>,
    heights: &Array<L>,
    out: &mut Array<u32>,
    width: u32,
    height: u32,
    pitch: u32,
    least: u32,
    #[comptime] plan: Plan,
) {
    let (per, side) = comptime!((plan.per_word(), plan.side()));
    let (column, y) = (ABSOLUTE_POS_X, ABSOLUTE_POS_Y);
    if y < height {
        if column < pitch {
            let mut word = u32::new(0);
            #[unroll]
            for k in 0..per {
                let x = column * per + k;
                let mut most = L::reinterpret(least);
                // rung: morphology on gpu: rows, then columns
                for t in 0..side {
                    let seen = y + t - comptime!(plan.radius);
                    if seen < height {
                        if x < width {
                            let number = between[(seen * width + x) as usize];
                            most = max(number + heights[(side + t) as usize], most);
                        }
                    }
                }
                // end
                word |= finished::<L>(most, x, width, plan) << comptime!(k * 32 / per % 32);
            }
            out[(y * pitch + column) as usize] = word;
        }
    }
}
