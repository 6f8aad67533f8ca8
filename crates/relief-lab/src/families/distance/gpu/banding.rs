//! The exact distance of the whole image by parallel banding.
//!
//! 1. *Columns*, in bands of 32 rows: the first and last white row of each band and column; from those the nearest white
//!    row above and below each band; then the distance along the column, stored transposed.
//! 2. *Rows*, in bands of columns: each band finds its own lower envelope of parabolas, a stack. Parabolas of
//!    neighbouring bands cross once, so that what is left of two envelopes is a front part of the one and a rear part
//!    of the other: a unit for each row goes over its bands from left to right, drops what is hidden from the
//!    rear of what it has and from the front of the next, and notes where each band begins to be lowest.
//! 3. *Colours*: each band looks for the parabola that is lowest at its first pixel, walks on from there, and turns
//!    what it finds back by way of shared memory.
//!
//! Because rows lie transposed, neighbouring units take neighbouring rows and all steps read and write runs. Where the
//! original links what is left of the bands in lists, the two ends of each band suffice here.
//!
//! Coordinates take 15 bits, so that squares and their sums take 31.

use cubecl::prelude::*;
use relief_kernels::device::{Buffer, Operand, on_client, start};

use super::super::Distance;
use super::byte;
use crate::array::Layout;
use crate::family::{Failure, OnGpu, Outcome};

/// Rows of a band of the first step, and lanes of its cubes.
const LANES: u32 = 32;

/// Columns of a band of the second step.
const BAND: u32 = 64;

/// Tiles of a cube.
const TILES: u32 = 4;

/// Stands for no row or no distance: more than any.
const NONE: u32 = 0x7fff;

/// The sizes of the steps' memory.
#[derive(Clone, Copy)]
struct Sizes {
    width: u32,
    height: u32,
    /// Bytes from the start of a row of mask and output to that of the next.
    pitch: u32,
    /// Columns and rows, padded.
    columns: u32,
    rows: u32,
    /// Bands from left to right.
    bands: u32,
}

impl Sizes {
    fn of(problem: &Distance) -> Option<Self> {
        if problem.width.max(problem.height) >= NONE as usize {
            return None;
        }
        let (width, height) = (problem.width as u32, problem.height as u32);
        let columns = width.next_multiple_of(BAND.max(LANES * TILES));
        Some(Self {
            width,
            height,
            pitch: problem.pitch() as u32,
            columns,
            rows: height.next_multiple_of(LANES),
            bands: columns / BAND,
        })
    }

    /// Words of what bands of rows know of each column.
    const fn ends(&self) -> u32 {
        self.columns * (self.rows / LANES)
    }

    const fn pixels(&self) -> u32 {
        self.columns * self.rows
    }

    /// Words of what bands of columns know of each row.
    const fn edges(&self) -> u32 {
        self.bands * self.rows
    }
}

/// First and last white rows, nearest ones beyond, distances, stacks, and the ends, the beginnings and the owners.
pub(super) fn scratch(problem: &Distance) -> Vec<Layout> {
    let Some(sizes) = Sizes::of(problem) else {
        return Vec::new();
    };
    let words = [
        sizes.ends(),
        sizes.ends(),
        sizes.pixels(),
        sizes.pixels(),
        sizes.edges(),
        sizes.edges(),
        sizes.edges(),
    ];
    words.map(|words| Layout::of::<u32>(words as usize)).into()
}

pub(super) fn run(problem: &Distance, call: &OnGpu<'_>) -> Outcome {
    let sizes = Sizes::of(problem);
    let sizes = sizes.ok_or_else(|| Failure::Unsupported("sides of 2^15 pixels or more".to_owned()))?;
    if problem.pixels() == 0 {
        return Ok(());
    }
    let steps = Steps {
        call,
        sizes,
        beyond: problem.squared() + 1,
    };
    let step = |name, output: &Buffer, step: Step| {
        call.gpu.launch(
            name,
            &0,
            &[Operand::write("the output", output)],
            || on_client!(call.gpu, client => steps.launch(client, step)),
        )
    };
    let scratch = call.scratch;
    // rung: distance on gpu: banding
    step("banding ends", &scratch[0], Step::Ends)?;
    step("banding carries", &scratch[1], Step::Carries)?;
    step("banding gaps", &scratch[2], Step::Gaps)?;
    step("banding stacks", &scratch[4], Step::Stacks)?;
    step("banding merge", &scratch[6], Step::Merge)?;
    step("banding colours", &call.outputs[0], Step::Colours)?;
    // end
    Ok(())
}

#[derive(Clone, Copy)]
enum Step {
    Ends,
    Carries,
    Gaps,
    Stacks,
    Merge,
    Colours,
}

struct Steps<'a> {
    call: &'a OnGpu<'a>,
    sizes: Sizes,
    beyond: u32,
}

impl Steps<'_> {
    fn launch<R: Runtime>(&self, client: &ComputeClient<R>, step: Step) {
        let Sizes {
            width,
            height,
            pitch,
            columns,
            rows,
            bands,
        } = self.sizes;
        let (mask, profile, out) = (&self.call.inputs[0], &self.call.inputs[1], &self.call.outputs[0]);
        let scratch = self.call.scratch;
        // No side of a grid is more than 2^15 / 32.
        let grid = |x: u32, y: u32| CubeCount::Static(x, y, 1);
        let (line, tiles) = (CubeDim::new_1d(LANES * TILES), CubeDim::new_2d(LANES, TILES));
        let down = rows / LANES;
        // SAFETY: padded columns and rows are whole tiles and bands, of which all memory was sized to hold as many; rows
        // and columns of mask and output are compared with the height and the width, and rows are padded to whole words; stacks
        // hold at most a band's columns, and what lies in a stack is below its end.
        let of = |k: usize| scratch[k].array(1);
        match step {
            Step::Ends => start!(client, (grid(columns / (LANES * TILES), down), line), unsafe ends(
                mask.array(1), of(0), width, height, pitch, columns)),
            Step::Carries => start!(client, (grid(columns / (LANES * TILES), 1), line), unsafe carries(
                of(0), of(1), columns, down)),
            Step::Gaps => start!(client, (grid(columns / (LANES * TILES), down), tiles), unsafe gaps(
                mask.array(1), of(1), of(2), width, height, pitch, columns, rows)),
            Step::Stacks => start!(client, (grid(down, bands.div_ceil(TILES)), tiles), unsafe stacks(
                of(2), of(3), of(4), rows, bands)),
            Step::Merge => start!(client, (grid(down, 1), CubeDim::new_1d(LANES)), unsafe merge(
                of(3), of(4), of(5), of(6), rows, bands)),
            Step::Colours => start!(client, (grid(down, bands.div_ceil(TILES)), tiles), unsafe colours(
                of(3), of(4), of(6), profile.array(1), out.array(1), width, height, pitch, rows, bands,
                self.beyond)),
        }
    }
}

/// The first white row of a band in the low half, the last in the high one; all bits where there is none.
#[cube(launch_unchecked)]
fn ends(mask: &Array<u32>, ends: &mut Array<u32>, width: u32, height: u32, pitch: u32, columns: u32) {
    let x = ABSOLUTE_POS_X;
    let top = CUBE_POS_Y * LANES;
    let mut first = u32::new(0xffff);
    let mut last = u32::new(0xffff);
    if x < width {
        for k in 0..LANES {
            let y = top + k;
            if y < height {
                if byte(mask, y * pitch + x) != 0u32 {
                    first = min(first, y);
                    last = y;
                }
            }
        }
    }
    ends[(CUBE_POS_Y * columns + x) as usize] = first | (last << 16u32);
}

/// The nearest white row above a band in the low half, below it in the high one.
#[cube(launch_unchecked)]
fn carries(ends: &Array<u32>, carries: &mut Array<u32>, columns: u32, bands: u32) {
    let x = ABSOLUTE_POS_X;
    let mut nearest = u32::new(0xffff);
    let mut band = u32::new(0);
    while band < bands {
        let place = (band * columns + x) as usize;
        carries[place] = nearest;
        let last = ends[place] >> 16u32;
        nearest = select(last == 0xffffu32, nearest, last);
        band += 1u32;
    }
    nearest = u32::new(0xffff);
    while band > 0u32 {
        band -= 1u32;
        let place = (band * columns + x) as usize;
        carries[place] = carries[place] | (nearest << 16u32);
        let first = ends[place] & 0xffffu32;
        nearest = select(first == 0xffffu32, nearest, first);
    }
}

/// Distances along columns, transposed: row y of column x at x · rows + y.
#[cube(launch_unchecked)]
fn gaps(
    mask: &Array<u32>,
    carries: &Array<u32>,
    gaps: &mut Array<u32>,
    width: u32,
    height: u32,
    pitch: u32,
    columns: u32,
    rows: u32,
) {
    // A word more in each row, so that columns lie in all banks.
    let mut tile = SharedMemory::<u32>::new(comptime!((TILES * LANES * (LANES + 1)) as usize));
    let base = UNIT_POS_Y * comptime!(LANES * (LANES + 1));
    let left = (CUBE_POS_X * TILES + UNIT_POS_Y) * LANES;
    let x = left + UNIT_POS_X;
    let top = CUBE_POS_Y * LANES;
    let carry = carries[(CUBE_POS_Y * columns + x) as usize];
    let above = carry & 0xffffu32;
    let below = carry >> 16u32;
    let mut gap = select(above == 0xffffu32, NONE, top - above - 1u32);
    for k in 0..LANES {
        let y = top + k;
        gap = min(gap + 1u32, NONE);
        if x < width {
            if y < height {
                if byte(mask, y * pitch + x) != 0u32 {
                    gap = u32::new(0);
                }
            }
        }
        tile[(base + k * comptime!(LANES + 1) + UNIT_POS_X) as usize] = gap;
    }
    gap = select(below == 0xffffu32, NONE, below - top - comptime!(LANES));
    for k in 0..LANES {
        let place = (base + (comptime!(LANES - 1) - k) * comptime!(LANES + 1) + UNIT_POS_X) as usize;
        gap = min(gap + 1u32, tile[place]);
        tile[place] = gap;
    }
    sync_cube();
    for k in 0..LANES {
        gaps[((left + k) * rows + top + UNIT_POS_X) as usize] =
            tile[(base + UNIT_POS_X * comptime!(LANES + 1) + k) as usize];
    }
}

/// The first pixel at which parabola b is lower than a, which stands left of it; parabolas are x · 2^16 + height.
#[cube]
fn crossing(a: u32, b: u32) -> u32 {
    let xa = a >> 16u32;
    let xb = b >> 16u32;
    let ga = a & 0xffffu32;
    let gb = b & 0xffffu32;
    let lifted_a = xa * xa + ga * ga;
    let lifted_b = xb * xb + gb * gb;
    let mut first = u32::new(0);
    if lifted_b >= lifted_a {
        first = (lifted_b - lifted_a) / (2u32 * (xb - xa)) + 1u32;
    }
    first
}

/// Where parabola `k` of a band lies.
#[cube]
fn at(band: u32, k: u32, rows: u32, y: u32) -> usize {
    ((band * BAND + k) * rows + y) as usize
}

/// The lower envelope of each band alone, and how many parabolas it has.
#[cube(launch_unchecked)]
fn stacks(gaps: &Array<u32>, stack: &mut Array<u32>, ends: &mut Array<u32>, rows: u32, bands: u32) {
    let y = CUBE_POS_X * LANES + UNIT_POS_X;
    let band = CUBE_POS_Y * TILES + UNIT_POS_Y;
    if band < bands {
        let mut count = u32::new(0);
        // The last parabola, and from where on it is the lowest.
        let mut last = u32::new(0);
        let mut from = u32::new(0);
        for k in 0..BAND {
            let x = band * BAND + k;
            let gap = gaps[(x * rows + y) as usize];
            if gap < NONE {
                let next = (x << 16u32) | gap;
                let mut start = u32::new(0);
                let mut hidden = count > 0u32;
                while hidden {
                    start = crossing(last, next);
                    hidden = start <= from;
                    if hidden {
                        count -= 1u32;
                        start = u32::new(0);
                        if count == 0u32 {
                            hidden = false;
                        } else {
                            last = stack[at(band, count - 1u32, rows, y)];
                            from = u32::new(0);
                            if count > 1u32 {
                                from = crossing(stack[at(band, count - 2u32, rows, y)], last);
                            }
                        }
                    }
                }
                stack[at(band, count, rows, y)] = next;
                last = next;
                from = start;
                count += 1u32;
            }
        }
        ends[(band * rows + y) as usize] = count;
    }
}

/// What is left of each band: `edges` become the beginnings in the low half and the ends in the high one; `begins` from
/// which pixel on a band is lowest; `owners` the band of the parabola that is lowest at a band's first pixel.
#[cube(launch_unchecked)]
fn merge(
    stack: &Array<u32>,
    edges: &mut Array<u32>,
    begins: &mut Array<u32>,
    owners: &mut Array<u32>,
    rows: u32,
    bands: u32,
) {
    let y = CUBE_POS_X * LANES + UNIT_POS_X;
    // The last parabola so far: its band, its place, its value, from where on it is the lowest.
    let mut some = false;
    let mut tail_band = u32::new(0);
    let mut tail_place = u32::new(0);
    let mut tail = u32::new(0);
    let mut tail_from = u32::new(0);
    let mut band = u32::new(0);
    while band < bands {
        let place = (band * rows + y) as usize;
        let end = edges[place];
        let mut start = u32::new(0);
        let mut from = u32::new(0);
        if end > 0u32 {
            let mut head = stack[at(band, 0u32, rows, y)];
            let mut busy = some;
            while busy {
                from = crossing(tail, head);
                if from <= tail_from {
                    // The tail is hidden: back to the one before.
                    from = u32::new(0);
                    let edge = edges[(tail_band * rows + y) as usize];
                    edges[(tail_band * rows + y) as usize] = edge - 0x1_0000u32;
                    if tail_place > (edge & 0xffffu32) {
                        tail_place -= 1u32;
                    } else {
                        some = false;
                        while tail_band > 0u32 && !some {
                            tail_band -= 1u32;
                            let before = edges[(tail_band * rows + y) as usize];
                            if (before >> 16u32) > (before & 0xffffu32) {
                                some = true;
                                tail_place = (before >> 16u32) - 1u32;
                            }
                        }
                    }
                    if some {
                        tail = stack[at(tail_band, tail_place, rows, y)];
                        let first = edges[(tail_band * rows + y) as usize] & 0xffffu32;
                        if tail_place > first {
                            tail_from = crossing(stack[at(tail_band, tail_place - 1u32, rows, y)], tail);
                        } else {
                            tail_from = begins[(tail_band * rows + y) as usize];
                        }
                    } else {
                        busy = false;
                    }
                } else {
                    busy = false;
                    if start + 1u32 < end {
                        let next = stack[at(band, start + 1u32, rows, y)];
                        if crossing(head, next) <= from {
                            // The head is hidden.
                            start += 1u32;
                            head = next;
                            busy = true;
                        }
                    }
                }
            }
            some = true;
            tail_band = band;
            tail_place = end - 1u32;
            tail = head;
            tail_from = from;
            if tail_place > start {
                tail = stack[at(band, tail_place, rows, y)];
                tail_from = crossing(stack[at(band, tail_place - 1u32, rows, y)], tail);
            }
        }
        edges[place] = start | (end << 16u32);
        begins[place] = from;
        band += 1u32;
    }
    // For each band of pixels, the last band of parabolas that begins no later than its first pixel.
    let mut owner = u32::new(0xffff);
    let mut next = u32::new(0);
    band = u32::new(0);
    while band < bands {
        let mut ahead = next < bands;
        while ahead {
            let edge = edges[(next * rows + y) as usize];
            if (edge >> 16u32) > (edge & 0xffffu32) {
                ahead = begins[(next * rows + y) as usize] <= band * BAND;
                if ahead {
                    owner = next;
                }
            }
            if ahead {
                next += 1u32;
                ahead = next < bands;
            }
        }
        owners[(band * rows + y) as usize] = owner;
        band += 1u32;
    }
}

/// The parabola after place `k` of a band, as its band, its place, and whether there is one.
#[cube]
fn after(edges: &Array<u32>, band: u32, k: u32, rows: u32, y: u32, bands: u32) -> (u32, u32, bool) {
    let mut band = band;
    let mut place = k + 1u32;
    let mut found = place < edges[(band * rows + y) as usize] >> 16u32;
    while !found && band + 1u32 < bands {
        band += 1u32;
        let edge = edges[(band * rows + y) as usize];
        place = edge & 0xffffu32;
        found = place < edge >> 16u32;
    }
    (band, place, found)
}

#[cube(launch_unchecked)]
fn colours(
    stack: &Array<u32>,
    edges: &Array<u32>,
    owners: &Array<u32>,
    profile: &Array<u32>,
    out: &mut Array<u32>,
    width: u32,
    height: u32,
    pitch: u32,
    rows: u32,
    bands: u32,
    beyond: u32,
) {
    let mut tile = SharedMemory::<u32>::new(comptime!((TILES * LANES * (LANES + 1)) as usize));
    let base = UNIT_POS_Y * comptime!(LANES * (LANES + 1));
    let top = CUBE_POS_X * LANES;
    let y = top + UNIT_POS_X;
    let band = CUBE_POS_Y * TILES + UNIT_POS_Y;
    let left = band * BAND;
    let mut owner = u32::new(0xffff);
    if band < bands {
        owner = owners[(band * rows + y) as usize];
    }
    // The parabola that is the lowest, where the next one begins to be, and which that is.
    let some = owner != 0xffffu32;
    let mut current = u32::new(0);
    let mut change = !u32::new(0);
    let mut next = u32::new(0);
    let mut next_band = u32::new(0);
    let mut next_place = u32::new(0);
    if some {
        let edge = edges[(owner * rows + y) as usize];
        let mut low = edge & 0xffffu32;
        let mut high = (edge >> 16u32) - 1u32;
        while low < high {
            let middle = high - (high - low) / 2u32;
            let from = crossing(
                stack[at(owner, middle - 1u32, rows, y)],
                stack[at(owner, middle, rows, y)],
            );
            if from <= left {
                low = middle;
            } else {
                high = middle - 1u32;
            }
        }
        current = stack[at(owner, low, rows, y)];
        let (found_band, found_place, found) = after(edges, owner, low, rows, y, bands);
        next_band = found_band;
        next_place = found_place;
        if found {
            next = stack[at(next_band, next_place, rows, y)];
            change = crossing(current, next);
        }
    }
    let mut part = u32::new(0);
    while part < BAND {
        for k in 0..LANES {
            let x = left + part + k;
            while x >= change {
                current = next;
                change = !u32::new(0);
                let (found_band, found_place, found) = after(edges, next_band, next_place, rows, y, bands);
                next_band = found_band;
                next_place = found_place;
                if found {
                    next = stack[at(next_band, next_place, rows, y)];
                    change = crossing(current, next);
                }
            }
            let mut squared = beyond;
            if some {
                let dx = x - (current >> 16u32);
                let dy = current & 0xffffu32;
                // The square of what wrapped is right, modulo 2^32.
                squared = min(dx * dx + dy * dy, beyond);
            }
            tile[(base + UNIT_POS_X * comptime!(LANES + 1) + k) as usize] = byte(profile, squared);
        }
        sync_cube();
        for k in 0..comptime!(LANES / 4) {
            let word = k * LANES + UNIT_POS_X;
            let row = word / comptime!(LANES / 4);
            let column = word % comptime!(LANES / 4) * 4u32;
            let mut packed = u32::new(0);
            #[unroll]
            for l in 0..4u32 {
                packed |= tile[(base + row * comptime!(LANES + 1) + column + l) as usize] << comptime!(8 * l);
            }
            let x = left + part + column;
            // Of a word that begins in a row the rest may lie between rows.
            if x < width && top + row < height {
                out[(((top + row) * pitch + x) / 4u32) as usize] = packed;
            }
        }
        sync_cube();
        part += LANES;
    }
}
