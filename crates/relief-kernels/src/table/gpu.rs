//! Tables on a device.
//!
//! A table of 256 entries is kept in shared memory, four entries a word as it lies in memory: filling it is
//! one load for each of 64 units; a unit (thread) looks up the 16 samples of a vector of words. Copies of the
//! table for every lane would keep lanes from waiting for each other's banks, but filling them takes longer
//! than waiting. A table of 65 536 entries exceeds shared memory: it is read from where it lies, and stays in
//! the caches.
//!
//! On software Vulkan entries have a word each: no lane waits for another there, and taking one of four out
//! of a word is work.

use cubecl::prelude::*;
use relief_raster::Depth;

use crate::device::{Buffer, DeviceError, Gpu, Operand, cube_number, cubes, on_client, start};
use crate::policy::{self, Space, Tuning};

/// The layouts of [`map_with`].
pub const SPACE: Space = Space {
    units: &[64, 128, 256, 512, 1024],
    items: &[1, 2, 4, 8, 16],
    vectors: &[1, 2, 4],
};

/// The layout where no other was found.
pub const DEFAULT: Tuning = Tuning {
    units: 256,
    items: 4,
    vector: 4,
};

/// Cubes that a multiprocessor is to have.
const CUBES: u32 = 4;

/// Writes `table[v]` for every sample v of the first `words` words of `source`, packed as everywhere; `table` holds its
/// M + 1 entries packed the same way. `out` may be `source`.
///
/// # Errors
/// Where the device fails, where a buffer does not hold `words` rounded up to a multiple of 4, or the table, and where `out`
/// overlaps the table, or the source but does not begin at the same word.
pub fn map(
    gpu: &Gpu,
    depth: Depth,
    table: &Buffer,
    source: &Buffer,
    out: &Buffer,
    words: usize,
) -> Result<(), DeviceError> {
    let kernel = if depth == Depth::Eight {
        "table u8"
    } else {
        "table u16"
    };
    let tuning = policy::tuning(gpu.report(), kernel, &SPACE, DEFAULT);
    map_with(gpu, tuning, depth, table, source, out, words)
}

/// [`map`] with another layout.
///
/// # Errors
/// As [`map`], and where the layout is not of [`SPACE`].
pub fn map_with(
    gpu: &Gpu,
    tuning: Tuning,
    depth: Depth,
    table: &Buffer,
    source: &Buffer,
    out: &Buffer,
    words: usize,
) -> Result<(), DeviceError> {
    gpu.check_layout(&SPACE, tuning)?;
    let padded = gpu.count_words(words as u64, &[("the source", source), ("the result", out)])?;
    let entries = if depth == Depth::Eight { 64 } else { 32_768 };
    gpu.holds("the table", table, entries)?;
    if padded == 0 {
        return Ok(());
    }
    // A short array has few cubes, which are to leave no multiprocessor idle.
    let least = tuning.units * CUBES * gpu.multiprocessors();
    let vectors = padded / tuning.vector;
    let enough = (vectors / least).max(1);
    let tuning = Tuning {
        items: tuning.items.min(1 << enough.ilog2()),
        ..tuning
    };
    let grid = cubes(gpu, vectors.div_ceil(tuning.units * tuning.items));
    // An entry a word.
    let spread = gpu.report().software;
    let memory = [
        Operand::read("the table", table),
        Operand::read_elementwise("the source", source),
        Operand::write("the result", out),
    ];
    gpu.launch("table", &(tuning, depth, spread), &memory, || {
        on_client!(gpu, client => map_on(client, tuning, (depth, spread), [table, source, out], vectors, grid.clone()))
    })
}

fn map_on<R: Runtime>(
    client: &ComputeClient<R>,
    tuning: Tuning,
    (depth, spread): (Depth, bool),
    [table, source, out]: [&Buffer; 3],
    vectors: u32,
    grid: CubeCount,
) {
    let width = tuning.vector as usize;
    // SAFETY: places are compared with `vectors`, and both buffers hold as many; a sample is less than the number of
    // the table's entries, which was checked.
    let table = table.array(1);
    let source = source.array(width);
    let out = out.array(width);
    let (units, items) = (tuning.units, tuning.items);
    let dim = CubeDim::new_1d(units);
    match depth {
        Depth::Eight => start!(client, (grid, dim), unsafe map_bytes(
            width, table, source, out, vectors, units, items, width, spread)),
        Depth::Sixteen => start!(client, (grid, dim), unsafe map_halves(
            width, table, source, out, vectors, units, items, width)),
    }
}

#[cube(launch_unchecked)]
fn map_bytes<N: Size>(
    table: &Array<u32>,
    source: &Array<Vector<u32, N>>,
    out: &mut Array<Vector<u32, N>>,
    count: u32,
    #[comptime] units: u32,
    #[comptime] items: u32,
    #[comptime] width: usize,
    #[comptime] spread: bool,
) {
    let words = comptime!(if spread { 256u32 } else { 64u32 });
    let mut entries = SharedMemory::<u32>::new(comptime!(words as usize));
    let mut word = UNIT_POS_X;
    while word < words {
        entries[word as usize] = if comptime!(spread) {
            (table[(word >> 2u32) as usize] >> ((word & 3u32) * 8u32)) & 255u32
        } else {
            table[word as usize]
        };
        word += units;
    }
    sync_cube();
    let first = cube_number() * comptime!(units * items) + UNIT_POS_X;
    #[unroll]
    for k in 0..items {
        let at = first + comptime!(k * units);
        if at < count {
            let samples = source[at as usize];
            let mut result = Vector::<u32, N>::empty();
            #[unroll]
            for j in 0..width {
                let mut word = u32::new(0);
                #[unroll]
                for k in 0..4u32 {
                    let sample = (samples[j] >> comptime!(8 * k)) & 255u32;
                    let entry = if comptime!(spread) {
                        entries[sample as usize]
                    } else {
                        (entries[(sample >> 2u32) as usize] >> ((sample & 3u32) * 8u32)) & 255u32
                    };
                    word |= entry << comptime!(8 * k);
                }
                result[j] = word;
            }
            out[at as usize] = result;
        }
    }
}

#[cube(launch_unchecked)]
fn map_halves<N: Size>(
    table: &Array<u32>,
    source: &Array<Vector<u32, N>>,
    out: &mut Array<Vector<u32, N>>,
    count: u32,
    #[comptime] units: u32,
    #[comptime] items: u32,
    #[comptime] width: usize,
) {
    let first = cube_number() * comptime!(units * items) + UNIT_POS_X;
    #[unroll]
    for k in 0..items {
        let place = first + comptime!(k * units);
        if place < count {
            let samples = source[place as usize];
            let mut result = Vector::<u32, N>::empty();
            #[unroll]
            for j in 0..width {
                let low = entry(table, samples[j] & 0xffffu32);
                let high = entry(table, samples[j] >> 16u32);
                result[j] = low | (high << 16u32);
            }
            out[place as usize] = result;
        }
    }
}

/// An entry of 16 bits.
#[cube]
fn entry(table: &Array<u32>, sample: u32) -> u32 {
    (table[(sample >> 1u32) as usize] >> ((sample & 1u32) * 16u32)) & 0xffffu32
}
