//! The lattice on a device, blended pixel by pixel.
//!
//! With the lattice in Hermite normal form (a, 0), (b, c), the copies that can cover a pixel of row y have
//! their top on the rows y − dy with dy ≡ y mod c, one every c rows, and the nearest one to the left on each
//! of them lies r columns away, where r grows by b modulo a from one such row to the next: two additions for
//! each row of copies, no division. A unit (thread) first lists the copies that meet its pixels, then blends
//! them, so that units whose copies lie on different rows still blend at the same time. (Blending where a
//! copy is found was a fifth as fast on paper: the units of a plane (warp) find theirs on different rows.)
//!
//! Where the cell of the lattice fits memory, it is made once by this kernel, and repeated.

use cubecl::prelude::*;
use relief_raster::{Depth, Period, Rect};

use super::Blend;
use crate::device::{Buffer, DeviceError, Gpu, Operand, on_client, start};
use crate::fold::Fold;
use crate::fused::Plane;
use crate::fused::packed::{coverage, fold, funnel, non_zero, ones, quotient, reciprocal, remainder, top};
use crate::fused::shape::per_word;

/// A lattice on a device.
#[derive(Clone, Debug)]
pub struct Lattice {
    /// The pattern, whose depth the result has.
    pub pattern: Plane,
    /// How copies that overlap are folded.
    pub blend: Blend,
    /// Where the copy (0, 0) has its top-left.
    pub offset: (i64, i64),
    /// The first vector.
    pub u: (i64, i64),
    /// The second vector.
    pub v: (i64, i64),
}

/// What is compiled into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Plan {
    bits: u32,
    blend: Blend,
    /// Whether sums of a pixel fit 16 bits and counts 8.
    narrow: bool,
    units: u32,
    /// Copies that a unit lists before it blends them.
    listed: u32,
}

/// The lattice in the numbers of a launch.
struct Numbers {
    a: u32,
    b: u32,
    c: u32,
    /// The place of the band's first pixel relative to a copy.
    column: u32,
    row: u32,
    /// How i and j change with a step of (a, 0) and of (b, c).
    order: [u32; 4],
    /// The most rows of one launch.
    rows: u64,
    overlap: u64,
}

/// Renders the pixels of `band` into the rows of `output`, `pitch` words apart; `pitch` is a multiple of 4.
///
/// # Errors
/// Where the device fails, where the band does not fit `output`, and where the lattice exceeds 32 bits: a horizontal
/// period of 2^28 pixels or more, a vertical one of 2^29, or more than 32 767 copies on one pixel.
pub fn render(
    gpu: &Gpu,
    lattice: &Lattice,
    band: Rect,
    output: &Buffer,
    pitch: u32,
) -> Result<(), DeviceError> {
    if band.is_empty() {
        return Ok(());
    }
    crate::fused::check_output(gpu, lattice.pattern.depth(), band, output, pitch)?;
    let mut done = 0;
    while done < band.height() {
        let rest = Rect::between(band.x(), band.y() + done as i64, band.right(), band.bottom());
        let numbers = numbers(gpu, lattice, rest)?;
        let height = rest.height().min(numbers.rows);
        launch(gpu, lattice, &numbers, output, pitch, height as u32, done as u32)?;
        done += height;
    }
    Ok(())
}

fn numbers(gpu: &Gpu, lattice: &Lattice, band: Rect) -> Result<Numbers, DeviceError> {
    let refuse = |reason: &str| {
        gpu.unsupported(format!(
            "a lattice of ({}, {}) and ({}, {}): {reason}",
            lattice.u.0, lattice.u.1, lattice.v.0, lattice.v.1
        ))
    };
    let (width, height) = (
        u64::from(lattice.pattern.width()),
        u64::from(lattice.pattern.height()),
    );
    let (period, overlap) = check((width, height), lattice.blend, lattice.u, lattice.v).map_err(refuse)?;
    let (a, b, c) = (period.a() as u32, period.b() as u32, period.c() as u32);
    let (column, row) = period.reduce(band.x() - lattice.offset.0, band.y() - lattice.offset.1);
    // Turns of rows times b have to fit 32 bits.
    let turns = u32::MAX.checked_div(b).map_or(u64::MAX, u64::from);
    let rows = (turns - 1).saturating_mul(c.into());
    Ok(Numbers {
        a,
        b,
        c,
        column: column as u32,
        row: row as u32,
        order: order(lattice.u, lattice.v, period),
        rows,
        overlap,
    })
}

/// Whether [`render`] computes a lattice with a pattern of this size: its period, and the most copies on one pixel.
///
/// # Errors
/// Which limit it exceeds.
pub fn check(
    (width, height): (u64, u64),
    blend: Blend,
    u: (i64, i64),
    v: (i64, i64),
) -> Result<(Period, u64), &'static str> {
    let period = Period::spanned(u, v).ok_or("its determinant is 0 or too large")?;
    if period.a() >= 1 << 28 || period.c() >= 1 << 29 {
        return Err("its period is too long for 32 bits");
    }
    if width >= 1 << 28 || height >= 1 << 28 {
        return Err("its pattern is too long for 32 bits");
    }
    let overlap = width.div_ceil(period.a()) * height.div_ceil(period.c());
    if overlap > 32_767 {
        return Err("too many copies cover one pixel");
    }
    // Points at most 2^31 pixels away on either axis.
    let determinant = i128::from(u.0) * i128::from(v.1) - i128::from(u.1) * i128::from(v.0);
    let reach = |(p, q): (i64, i64)| ((i128::from(p).abs() + i128::from(q).abs()) << 31) / determinant.abs();
    if blend == Blend::Last && reach(u).max(reach(v)) > 1 << 40 {
        return Err("its vectors are too long");
    }
    Ok((period, overlap))
}

/// i and j of (a, 0), then of (b, c), by Cramer's rule. Only sums of these matter, and those near a band fit 31 bits:
/// what is lost here wraps back.
fn order(u: (i64, i64), v: (i64, i64), period: Period) -> [u32; 4] {
    let wide = |(x, y): (i64, i64)| (i128::from(x), i128::from(y));
    let ((ux, uy), (vx, vy)) = (wide(u), wide(v));
    let determinant = ux * vy - uy * vx;
    let of = |x: i128, y: i128| [(x * vy - y * vx) / determinant, (ux * y - uy * x) / determinant];
    let (a, b, c) = (period.a().into(), period.b().into(), period.c().into());
    let [ai, aj] = of(a, 0);
    let [bi, bj] = of(b, c);
    [ai, aj, bi, bj].map(|n| n as u32)
}

fn launch(
    gpu: &Gpu,
    lattice: &Lattice,
    numbers: &Numbers,
    output: &Buffer,
    pitch: u32,
    height: u32,
    skipped: u32,
) -> Result<(), DeviceError> {
    let plan = Plan {
        bits: lattice.pattern.depth().bits(),
        blend: lattice.blend,
        narrow: lattice.pattern.depth() == Depth::Eight && numbers.overlap < 256,
        units: 128,
        listed: 6,
    };
    let pattern = &lattice.pattern;
    let vectors = pitch / 4;
    let rows = height.div_ceil(gpu.report().cubes.min(65_535));
    let columns = vectors.div_ceil(plan.units);
    let output_of = match skipped {
        0 => Operand::write,
        // The first rows were written before.
        _ => Operand::update,
    };
    let memory = [
        Operand::read("the pattern", pattern.buffer()),
        output_of("the output", output),
    ];
    gpu.launch("lattice", &plan, &memory, || {
        on_client!(gpu, client => launch_on(client, &plan, pattern, numbers, output, (vectors, height, skipped * vectors), (columns, rows)))
    })
}

fn launch_on<R: Runtime>(
    client: &ComputeClient<R>,
    plan: &Plan,
    pattern: &Plane,
    numbers: &Numbers,
    output: &Buffer,
    (vectors, height, skipped): (u32, u32, u32),
    (columns, rows): (u32, u32),
) {
    let list = [
        numbers.a,
        reciprocal(numbers.a),
        numbers.b,
        numbers.c,
        reciprocal(numbers.c),
        numbers.column,
        numbers.row,
        pattern.offset(),
        pattern.pitch(),
        pattern.width(),
        pattern.height(),
        numbers.order[0],
        numbers.order[1],
        numbers.order[2],
        numbers.order[3],
        pattern.row_words() - 1,
    ];
    // SAFETY: rows and columns of the output were checked against its size, words of the pattern are clamped to its
    // rows, which `Plane` has checked to lie in its buffer, and every loop ends after at most overlap + height / c + 1 steps.
    start!(
        client, (CubeCount::Static(columns, height.div_ceil(rows), 1), CubeDim::new_1d(plan.units)),
        unsafe rows_of_copies(
            4, pattern.buffer().array(1), list.into_iter().collect(), output.array(4), vectors, height,
            rows, skipped, *plan));
}

#[cube(launch_unchecked)]
fn rows_of_copies<N: Size>(
    pattern: &Array<u32>,
    numbers: &Sequence<u32>,
    output: &mut Array<Vector<u32, N>>,
    pitch: u32,
    height: u32,
    rows: u32,
    offset: u32,
    #[comptime] plan: Plan,
) {
    let mut list = SharedMemory::<u32>::new(comptime!(
        (plan.listed * plan.units * words_listed(plan)) as usize
    ));
    let column = ABSOLUTE_POS_X;
    let mut y = CUBE_POS_Y * rows;
    let end = min(y + rows, height);
    if column < pitch {
        while y < end {
            output[(offset + y * pitch + column) as usize] =
                blend::<N>(pattern, numbers, &mut list, column, y, plan);
            y += 1u32;
        }
    }
}

/// Words that a listed copy takes.
const fn words_listed(plan: Plan) -> u32 {
    if matches!(plan.blend, Blend::Last) { 4 } else { 2 }
}

/// The pixels of one unit: four words of row `y` from vector `column` on.
#[cube]
fn blend<N: Size>(
    pattern: &Array<u32>,
    numbers: &Sequence<u32>,
    list: &mut SharedMemory<u32>,
    column: u32,
    y: u32,
    #[comptime] plan: Plan,
) -> Vector<u32, N> {
    let pixels = comptime!(4 * per_word(plan.bits));
    let a = *numbers.index(0usize);
    let b = *numbers.index(2usize);
    let c = *numbers.index(3usize);
    let width = *numbers.index(9usize);
    let height = *numbers.index(10usize);
    // Copies whose left edge is r columns left of the unit's last pixel, and meets any of its pixels, have r < reach.
    let reach = width + comptime!(pixels - 1);
    let line = y + *numbers.index(6usize);
    let turns = quotient(line, c, *numbers.index(4usize));
    let mut dy = line - turns * c;
    let from = column * pixels + comptime!(pixels - 1) + *numbers.index(5usize);
    let shift = remainder(turns * b, a, *numbers.index(1usize));
    let place = from + a - shift;
    let mut n = quotient(place, a, *numbers.index(1usize));
    let mut first = place - n * a;
    let mut r = first;
    // How often (a, 0) and (b, c) were added: place / a − 1 − ⌊turns·b / a⌋ and turns.
    n -= quotient(turns * b, a, *numbers.index(1usize)) + 1u32;
    let mut m = turns;
    let mut state = Array::<u32>::new(comptime!(state_words(plan)));
    #[unroll]
    for k in 0..comptime!(state_words(plan)) {
        state[k] = comptime!(initial(plan, k));
    }
    while dy < height {
        let mut count = u32::new(0);
        while dy < height && count < comptime!(plan.listed) {
            // rung: lattice on gpu: direct
            if r < reach {
                let slot = count * comptime!(plan.units) + UNIT_POS_X;
                list[slot as usize] = r;
                list[(slot + comptime!(plan.listed * plan.units)) as usize] = dy;
                if comptime!(matches!(plan.blend, Blend::Last)) {
                    let i = n * *numbers.index(11usize) + m * *numbers.index(13usize);
                    let j = n * *numbers.index(12usize) + m * *numbers.index(14usize);
                    // With the top bit flipped, signed numbers order like unsigned ones.
                    list[(slot + comptime!(2 * plan.listed * plan.units)) as usize] = i ^ 0x8000_0000u32;
                    list[(slot + comptime!(3 * plan.listed * plan.units)) as usize] = j ^ 0x8000_0000u32;
                }
                count += 1u32;
                r += a;
                n -= 1u32;
            } else {
                // Back to the nearest copy of this row, then up to the next row of copies.
                n += quotient(r - first, a, *numbers.index(1usize));
                dy += c;
                m -= 1u32;
                first += b;
                if first >= a {
                    first -= a;
                    n += 1u32;
                }
                r = first;
            }
            // end
        }
        let mut t = u32::new(0);
        while t < count {
            let slot = t * comptime!(plan.units) + UNIT_POS_X;
            let r = list[slot as usize];
            let row = list[(slot + comptime!(plan.listed * plan.units)) as usize];
            let mut i = u32::new(0);
            let mut j = u32::new(0);
            if comptime!(matches!(plan.blend, Blend::Last)) {
                i = list[(slot + comptime!(2 * plan.listed * plan.units)) as usize];
                j = list[(slot + comptime!(3 * plan.listed * plan.units)) as usize];
            }
            let start = *numbers.index(7usize) + row * *numbers.index(8usize);
            #[unroll]
            for k in 0..4usize {
                let word = word_of_copy(pattern, numbers, start, r, k, plan);
                add(&mut state, word, i, j, k, plan);
            }
            t += 1u32;
        }
    }
    let mut result = Vector::<u32, N>::empty();
    #[unroll]
    for k in 0..4usize {
        result[k] = finish(&state, k, plan);
    }
    result
}

/// Word k of a unit in the row of a copy that begins at word `start`, with 0 outside the pattern.
#[cube]
fn word_of_copy(
    pattern: &Array<u32>,
    numbers: &Sequence<u32>,
    start: u32,
    r: u32,
    #[comptime] k: usize,
    #[comptime] plan: Plan,
) -> u32 {
    let lanes = comptime!(per_word(plan.bits));
    let pixels = comptime!(4 * lanes);
    let last = *numbers.index(15usize);
    // The column in the pattern, plus a unit's pixels so that it is never negative.
    let column = r + comptime!(1 + k as u32 * lanes);
    let word = column / lanes;
    let low = pattern[(start + min(max(word, 4u32) - 4u32, last)) as usize];
    let high = pattern[(start + min(max(word, 3u32) - 3u32, last)) as usize];
    let inside = coverage(
        column,
        pixels,
        *numbers.index(9usize) + pixels,
        comptime!(plan.bits),
    );
    funnel(low, high, (column % lanes) * comptime!(plan.bits)) & inside
}

/// Words of state for each of the four words of a unit.
fn state_per_word(plan: Plan) -> usize {
    let lanes = per_word(plan.bits) as usize;
    match plan.blend {
        Blend::Mean if plan.narrow => 3,
        Blend::Mean => 2 * lanes,
        Blend::Sum => lanes,
        Blend::Max => 1,
        Blend::Min => 2,
        Blend::Last => 3 * lanes,
    }
}

fn state_words(plan: Plan) -> usize {
    4 * state_per_word(plan)
}

fn initial(plan: Plan, place: usize) -> u32 {
    // The least so far; beside it, the samples that were not 0.
    if plan.blend == Blend::Min && place.is_multiple_of(2) {
        u32::MAX
    } else {
        0
    }
}

#[cube]
fn add(state: &mut Array<u32>, word: u32, i: u32, j: u32, #[comptime] k: usize, #[comptime] plan: Plan) {
    let lanes = comptime!(per_word(plan.bits));
    let at = comptime!(k * state_per_word(plan));
    match plan.blend {
        Blend::Max => {
            state[at] = fold(state[at], word, Fold::Max, comptime!(plan.bits));
        }
        Blend::Min => {
            let some = non_zero(word, comptime!(plan.bits));
            state[at] = fold(state[at], word | !some, Fold::Min, comptime!(plan.bits));
            state[comptime!(at + 1)] = state[comptime!(at + 1)] | some;
        }
        Blend::Sum =>
        {
            #[unroll]
            for l in 0..lanes {
                let place = comptime!(at + l as usize);
                state[place] =
                    state[place] + ((word >> comptime!(l * plan.bits)) & comptime!(ones(plan.bits)));
            }
        }
        Blend::Mean => {
            if comptime!(plan.narrow) {
                let flags = (((word & comptime!(!top(8))) + comptime!(!top(8))) | word) & comptime!(top(8));
                state[at] = state[at] + (word & 0x00ff_00ffu32);
                state[comptime!(at + 1)] = state[comptime!(at + 1)] + ((word >> 8u32) & 0x00ff_00ffu32);
                state[comptime!(at + 2)] = state[comptime!(at + 2)] + (flags >> 7u32);
            } else {
                #[unroll]
                for l in 0..lanes {
                    let v = (word >> comptime!(l * plan.bits)) & comptime!(ones(plan.bits));
                    let place = comptime!(at + 2 * l as usize);
                    state[place] = state[place] + v;
                    state[comptime!(place + 1)] = state[comptime!(place + 1)] + min(v, 1u32);
                }
            }
        }
        Blend::Last =>
        {
            #[unroll]
            for l in 0..lanes {
                let v = (word >> comptime!(l * plan.bits)) & comptime!(ones(plan.bits));
                let place = comptime!(at + 3 * l as usize);
                let later = j > state[comptime!(place + 2)]
                    || (j == state[comptime!(place + 2)] && i >= state[comptime!(place + 1)]);
                if v != 0u32 && later {
                    state[place] = v;
                    state[comptime!(place + 1)] = i;
                    state[comptime!(place + 2)] = j;
                }
            }
        }
    }
}

/// Word k of the blended samples.
#[cube]
fn finish(state: &Array<u32>, #[comptime] k: usize, #[comptime] plan: Plan) -> u32 {
    let lanes = comptime!(per_word(plan.bits));
    let at = comptime!(k * state_per_word(plan));
    match plan.blend {
        Blend::Max => state[at],
        Blend::Min => state[at] & state[comptime!(at + 1)],
        Blend::Sum => {
            let mut word = u32::new(0);
            #[unroll]
            for l in 0..lanes {
                let v = min(state[comptime!(at + l as usize)], comptime!(ones(plan.bits)));
                word |= v << comptime!(l * plan.bits);
            }
            word
        }
        Blend::Mean => {
            let mut word = u32::new(0);
            #[unroll]
            for l in 0..lanes {
                if comptime!(plan.narrow) {
                    let half = comptime!(16 * (l / 2));
                    let sum = (state[comptime!(at + (l as usize) % 2)] >> half) & 0xffffu32;
                    let count = (state[comptime!(at + 2)] >> comptime!(8 * l)) & 0xffu32;
                    word |= narrow_mean(sum, count) << comptime!(l * plan.bits);
                } else {
                    let sum = state[comptime!(at + 2 * l as usize)];
                    let count = state[comptime!(at + 2 * l as usize + 1)];
                    let v = (2u32 * sum + count) / max(2u32 * count, 1u32);
                    word |= v << comptime!(l * plan.bits);
                }
            }
            word
        }
        Blend::Last => {
            let mut word = u32::new(0);
            #[unroll]
            for l in 0..lanes {
                word |= state[comptime!(at + 3 * l as usize)] << comptime!(l * plan.bits);
            }
            word
        }
    }
}

/// (2·sum + count) / (2·count) for count < 256 and a quotient below 256, in f32: half a unit more in the numerator moves
/// an exact quotient up by at least 2⁻¹⁰, a hundred times the error of a division, and never to the next integer.
#[cube]
fn narrow_mean(sum: u32, count: u32) -> u32 {
    let numerator = f32::cast_from(2u32 * sum + count) + 0.5f32;
    let denominator = f32::cast_from(max(2u32 * count, 1u32));
    u32::cast_from(numerator / denominator)
}
