//! Histograms over bins of equal width on a device: counters of bins and lanes in shared memory, as those of bytes.
//!
//! An integer's bin is guessed in f32, which is at most one off, and put right by the remainder, which has 32 bits where bins lie within
//! 2^30; else by the bin's edges.

use cubecl::prelude::*;

use super::kernel;
use crate::histogram::even::{Bins, Range};
use relief_kernels::device::{Buffer, DeviceError, Gpu, Operand, cubes, on_client, start};

/// Units of a cube, and vectors that a unit loads before it counts.
const UNITS: u32 = 512;
const ITEMS: u32 = 4;

/// The most cubes.
const CUBES: u64 = 1_024;

/// Bins that are added up at a time.
const TOGETHER: u32 = 8;

/// Counters of a row, rounded up to what is added up at a time.
const fn stride(bins: &Bins) -> u32 {
    (bins.counters() as u32).next_multiple_of(TOGETHER)
}

/// Words of the counts of these bins: two for each of [`Bins::counters`], the lower first, and some that mean nothing.
#[must_use]
pub const fn even_count_words(bins: &Bins) -> usize {
    2 * stride(bins) as usize
}

/// Words of scratch for so many numbers.
#[must_use]
pub const fn even_scratch_words(bins: &Bins, len: u64) -> u64 {
    (rows(len) * stride(bins) as u64).next_multiple_of(4)
}

const fn rows(len: u64) -> u64 {
    let rows = len.div_ceil(1 << 14);
    if rows == 0 {
        1
    } else if rows < CUBES {
        rows
    } else {
        CUBES
    }
}

/// Counts how many of the first `len` numbers of a buffer, floats or integers as the bins are of, each counter has.
///
/// # Errors
/// Where the device fails, where the buffers do not hold the numbers (in whole vectors of four), [`even_count_words`] or
/// [`even_scratch_words`], and for 2^32 numbers or more.
pub fn even(
    gpu: &Gpu,
    bins: &Bins,
    numbers: &Buffer,
    len: u64,
    counts: &Buffer,
    scratch: &Buffer,
) -> Result<(), DeviceError> {
    gpu.count_words(len, &[("the numbers", numbers)])?;
    gpu.holds("the counts", counts, even_count_words(bins) as u64)?;
    gpu.holds("scratch memory", scratch, even_scratch_words(bins, len))?;
    let launch = Launch {
        shape: Shape::of(gpu, bins)?,
        range: bins.range(),
        numbers,
        len: len as u32,
        counts,
        scratch,
    };
    gpu.launch(
        "histogram even",
        &launch.shape,
        &[
            Operand::read("the numbers", numbers),
            Operand::update("scratch memory", scratch),
            Operand::write("the counts", counts),
        ],
        || on_client!(gpu, client => launch.on(gpu, client)),
    )
}

/// How the bin of a number is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Rule {
    Float,
    /// By the remainder: bins lie within 2^30.
    Remainder,
    /// By edges.
    Edges,
}

/// What is compiled into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    rule: Rule,
    bins: u32,
    stride: u32,
    /// Counters for each; a power of two.
    copies: u32,
}

impl Shape {
    fn of(gpu: &Gpu, bins: &Bins) -> Result<Self, DeviceError> {
        let stride = stride(bins);
        let words = gpu.report().shared_memory / 4;
        let fitting = [32, 16, 8, 4, 2, 1].into_iter().find(|n| stride * n <= words);
        Ok(Self {
            rule: match bins.range() {
                Range::F32 { .. } => Rule::Float,
                Range::I32 { width, .. } if width <= 1 << 30 => Rule::Remainder,
                Range::I32 { .. } => Rule::Edges,
            },
            bins: bins.count(),
            stride,
            copies: fitting.ok_or_else(|| gpu.unsupported("counters in so little shared memory"))?,
        })
    }
}

struct Launch<'a> {
    shape: Shape,
    range: Range,
    numbers: &'a Buffer,
    len: u32,
    counts: &'a Buffer,
    scratch: &'a Buffer,
}

impl Launch<'_> {
    fn on<R: Runtime>(&self, gpu: &Gpu, client: &ComputeClient<R>) {
        let Shape { stride, copies, .. } = self.shape;
        let together = (2_048 / UNITS).min((220 << 10) / (stride * copies * 4 + (1 << 10)));
        let wanted = u64::from(gpu.multiprocessors() * together.max(1));
        let rows = wanted.min(rows(u64::from(self.len))) as u32;
        let (low, high, scale) = match self.range {
            Range::F32 { low, high, scale } => (low.to_bits(), high.to_bits(), scale),
            Range::I32 { low, width } => (low as u32, width, self.shape.bins as f32 / width as f32),
        };
        // SAFETY: places of vectors are compared with those that hold `len` numbers, which the buffer was checked to hold. A number's
        // counter is below the stride. Scratch holds a row of that for each cube, the counts two words for each.
        start!(client, (cubes(gpu, rows), CubeDim::new_1d(UNITS)), unsafe count(
            4, self.numbers.array(4), self.scratch.array(1), self.len, rows, low, high, scale,
            self.shape));
        start!(client, (cubes(gpu, stride / TOGETHER), CubeDim::new_1d(256)), unsafe kernel::add_up(
            self.scratch.array(1), self.counts.array(1), rows, 1, stride, 256, TOGETHER));
    }
}

/// Counts the first `len` numbers; a row of counts for each of `rows` cubes.
#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn count<N: Size>(
    from: &Array<Vector<u32, N>>,
    scratch: &mut Array<u32>,
    len: u32,
    rows: u32,
    low: u32,
    high: u32,
    scale: f32,
    #[comptime] shape: Shape,
) {
    let words = comptime!(shape.stride * shape.copies);
    let counters = SharedMemory::<Atomic<u32>>::new(comptime!((shape.stride * shape.copies) as usize));
    let mut place = UNIT_POS;
    while place < words {
        counters[place as usize].store(0u32);
        place += UNITS;
    }
    sync_cube();
    let lane = UNIT_POS % comptime!(shape.copies);
    let row = CUBE_POS as u32;
    let chunk = comptime!(UNITS * ITEMS);
    let whole = len / 4;
    // Cubes that fill the last row of the grid have nothing to do.
    let mut first = row * chunk;
    if row >= rows {
        first = whole;
    }
    while first + chunk <= whole {
        let mut held = Array::<Vector<u32, N>>::new(comptime!(ITEMS as usize));
        #[unroll]
        for k in 0..ITEMS {
            held[comptime!(k as usize)] = from[(first + UNIT_POS + comptime!(k * UNITS)) as usize];
        }
        #[unroll]
        for k in 0..ITEMS {
            #[unroll]
            for n in 0..4u32 {
                let word = held[comptime!(k as usize)][comptime!(n as usize)];
                add(&counters, counter(word, low, high, scale, shape), lane, shape);
            }
        }
        first += rows * chunk;
    }
    // What is left is less than a chunk.
    #[unroll]
    for k in 0..ITEMS {
        let place = first + UNIT_POS + comptime!(k * UNITS);
        if place < whole {
            if row < rows {
                let vector = from[place as usize];
                #[unroll]
                for n in 0..4u32 {
                    let word = vector[comptime!(n as usize)];
                    add(&counters, counter(word, low, high, scale, shape), lane, shape);
                }
            }
        }
    }
    if row == 0 {
        if UNIT_POS == 0 {
            if len % 4 > 0 {
                let vector = from[whole as usize];
                #[unroll]
                for n in 0..3u32 {
                    if n < len % 4 {
                        let word = vector[comptime!(n as usize)];
                        add(&counters, counter(word, low, high, scale, shape), lane, shape);
                    }
                }
            }
        }
    }
    sync_cube();
    if row < rows {
        let mut value = UNIT_POS;
        while value < comptime!(shape.stride) {
            let mut sum = u32::new(0);
            #[unroll]
            for i in 0..comptime!(shape.copies) {
                // Units begin with different lanes, which lie in different banks.
                let copy = (i + value) % comptime!(shape.copies);
                sum += counters[(value * comptime!(shape.copies) + copy) as usize].load();
            }
            scratch[(row * comptime!(shape.stride) + value) as usize] = sum;
            value += UNITS;
        }
    }
}

#[cube]
fn add(counters: &SharedMemory<Atomic<u32>>, counter: u32, lane: u32, #[comptime] shape: Shape) {
    counters[(counter * comptime!(shape.copies) + lane) as usize].fetch_add(1u32);
}

/// The counter of a number; `high` is the width of the range for integers.
#[cube]
fn counter(word: u32, low: u32, high: u32, scale: f32, #[comptime] shape: Shape) -> u32 {
    let bins = comptime!(shape.bins);
    let mut counter = u32::new(comptime!(i64::from(shape.bins + 2)));
    if comptime!(shape.rule == Rule::Float) {
        let x = f32::reinterpret(word);
        let (least, most) = (f32::reinterpret(low), f32::reinterpret(high));
        // None of these holds for what is no number.
        if x < least {
            counter = bins;
        }
        if x >= most {
            counter = comptime!(shape.bins + 1);
        }
        if x >= least {
            if x < most {
                counter = min(u32::cast_from((x - least) * scale), comptime!(shape.bins - 1));
            }
        }
    } else {
        let from_low = word - low;
        if i32::reinterpret(word) < i32::reinterpret(low) {
            counter = bins;
        } else if from_low >= high {
            counter = comptime!(shape.bins + 1);
        } else {
            let guess = min(
                u32::cast_from(f32::cast_from(from_low) * scale),
                comptime!(shape.bins - 1),
            );
            counter = guess;
            if comptime!(shape.rule == Rule::Remainder) {
                // Between minus the range and twice the range.
                let rest = from_low * bins - guess * high;
                if rest >= 0x8000_0000u32 {
                    counter = guess - 1u32;
                } else if rest >= high {
                    counter = guess + 1u32;
                }
            } else {
                if from_low < edge(guess, high, bins) {
                    counter = guess - 1u32;
                } else if guess + 1u32 < bins {
                    if from_low >= edge(guess + 1u32, high, bins) {
                        counter = guess + 1u32;
                    }
                }
            }
        }
    }
    counter
}

/// ⌈bin · range / bins⌉, the first place of a bin. Both products are below 2^32.
#[cube]
fn edge(bin: u32, range: u32, #[comptime] bins: u32) -> u32 {
    bin * (range / bins) + (bin * (range % bins) + comptime!(bins - 1)) / bins
}
