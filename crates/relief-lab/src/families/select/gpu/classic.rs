//! Compactions in three phases, as the article's best: a plane counts the words of its sequence, a scan makes places of the counts, and the
//! plane moves its words there (Billeter, Olsson, Assarsson).
#![allow(unsafe_code)]

use cubecl::prelude::*;
use relief_kernels::device::{Operand, cubes, launch};
use relief_numeric::element::Element;
use relief_numeric::scan::Kind;
use relief_numeric::scan::gpu::{scan, scratch_words};

use crate::array::Layout;
use crate::families::select::Select;
use crate::family::{Failure, OnGpu, Outcome, Variant, lanes};

/// Units of a cube.
const UNITS: u32 = 256;

/// With so many planes, which load vectors of so many words.
pub(super) fn variant<const PLANES: u32, const WIDTH: u32>(
    name: &'static str,
    idea: &'static str,
) -> Variant<Select> {
    Variant::gpu(name, idea, |p: &Select, call| compact(p, call, PLANES, WIDTH)).scratch(|_| {
        [PLANES as usize, PLANES as usize, scratch_words(PLANES.into())]
            .map(Layout::of::<u32>)
            .into()
    })
}

/// All three phases.
fn compact(problem: &Select, call: &OnGpu<'_>, planes: u32, width: u32) -> Outcome {
    let Ok(words) = u32::try_from(problem.len) else {
        return Err(Failure::Unsupported(format!("{} words", problem.len)));
    };
    let (gpu, from, out, count) = (call.gpu, &call.inputs[0], &call.outputs[0], &call.outputs[1]);
    let (counts, places, scanned) = (&call.scratch[0], &call.scratch[1], &call.scratch[2]);
    let lanes = lanes(gpu, ..=32)?;
    let shape = Shape { planes, width, lanes };
    // Whole chunks as wide as a plane.
    let each = words.div_ceil(lanes * width).div_ceil(planes) * lanes * width;
    let grid = (cubes(gpu, planes.div_ceil(UNITS / lanes)), CubeDim::new_1d(UNITS));
    let vector = width as usize;
    // SAFETY: words are compared with their number and planes with theirs, which the buffers hold.
    launch!(
        gpu, "select count", &shape, &[Operand::write("the output", counts)], grid.clone(),
        unsafe count_owned(vector, from.array(vector), counts.array(1), words, each, shape))?;
    let (kind, element) = (Kind::Exclusive, Element::U32);
    scan(gpu, kind, element, planes.into(), counts, places, scanned)?;
    // SAFETY: as above; a word is written after those that are kept before it, so none past their number.
    launch!(
        gpu, "select move", &shape, &[Operand::write("the output", count)], grid,
        unsafe move_owned(
            vector, from.array(vector), counts.array(1), places.array(1), out.array(1), count.array(1), words,
            each, shape))?;
    Ok(())
}

/// What is compiled into the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    planes: u32,
    width: u32,
    lanes: u32,
}

/// The vector at `place`, 0 from word `words` on.
#[cube]
fn load<N: Size>(
    from: &Array<Vector<u32, N>>,
    place: u32,
    words: u32,
    #[comptime] width: u32,
) -> Vector<u32, N> {
    let mut vector = Vector::new(0u32);
    let first = place * width;
    if first < words {
        let held = from[place as usize];
        #[unroll]
        for k in 0..width {
            vector[k as usize] = select(first + k < words, held[k as usize], 0u32);
        }
    }
    vector
}

#[cube]
fn set_words<N: Size>(vector: Vector<u32, N>, #[comptime] width: u32) -> u32 {
    let mut count = u32::new(0);
    #[unroll]
    for k in 0..width {
        count += u32::cast_from(vector[k as usize] != 0);
    }
    count
}

#[cube(launch_unchecked)]
fn count_owned<N: Size>(
    from: &Array<Vector<u32, N>>,
    counts: &mut Array<u32>,
    words: u32,
    each: u32,
    #[comptime] shape: Shape,
) {
    let (width, lanes) = comptime!((shape.width, shape.lanes));
    let lane = UNIT_POS % lanes;
    let plane = CUBE_POS as u32 * comptime!(UNITS / shape.lanes) + UNIT_POS / lanes;
    if plane < comptime!(shape.planes) {
        let mut chunk = plane * each;
        let end = min(chunk + each, words);
        let mut own = u32::new(0);
        while chunk < end {
            own += set_words::<N>(load::<N>(from, chunk / width + lane, end, width), width);
            chunk += comptime!(shape.lanes * shape.width);
        }
        let sum = plane_sum(own);
        if lane == 0 {
            counts[plane as usize] = sum;
        }
    }
}

#[cube(launch_unchecked)]
fn move_owned<N: Size>(
    from: &Array<Vector<u32, N>>,
    counts: &Array<u32>,
    places: &Array<u32>,
    out: &mut Array<u32>,
    count: &mut Array<u32>,
    words: u32,
    each: u32,
    #[comptime] shape: Shape,
) {
    let (width, lanes) = comptime!((shape.width, shape.lanes));
    let lane = UNIT_POS % lanes;
    let plane = CUBE_POS as u32 * comptime!(UNITS / shape.lanes) + UNIT_POS / lanes;
    if plane < comptime!(shape.planes) {
        let mut chunk = plane * each;
        let end = min(chunk + each, words);
        let mut at = places[plane as usize];
        while chunk < end {
            let vector = load::<N>(from, chunk / width + lane, end, width);
            let own = set_words::<N>(vector, width);
            let inclusive = plane_inclusive_sum(own);
            let mut to = at + inclusive - own;
            #[unroll]
            for k in 0..width {
                if vector[k as usize] != 0 {
                    out[to as usize] = vector[k as usize];
                    to += 1u32;
                }
            }
            at += plane_broadcast(inclusive, comptime!(shape.lanes - 1));
            chunk += comptime!(shape.lanes * shape.width);
        }
    }
    if CUBE_POS == 0 {
        if UNIT_POS == 0 {
            let last = comptime!(shape.planes as usize - 1);
            count[0] = places[last] + counts[last];
            count[1] = 0u32;
        }
    }
}
