//! Tables on a device.
//!
//! A table of 256 entries is kept in shared memory, four entries a word as it lies in memory: filling it is
//! one load for each of 64 units; a unit (thread) looks up the 16 samples of a vector of words. Copies of the
//! table for every lane would keep lanes from waiting for each other's banks, but filling them takes longer
//! than waiting. Of few samples the table is read from where it lies. A table of 65 536 entries exceeds
//! shared memory: it is read from where it lies, and stays in the caches.
//!
//! On software Vulkan entries have a word each: no lane waits for another there, and taking one of four out
//! of a word is work.

use cubecl::prelude::*;
use relief_raster::Depth;

use crate::device::{Buffer, DeviceError, DeviceReport, Gpu, Operand, cube_number, cubes, on_client};
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

/// The same for a device. Where memory is slow, a unit of bytes takes one vector, not four.
#[must_use]
pub fn default(report: &DeviceReport, depth: Depth) -> Tuning {
    let items = match depth {
        Depth::Eight if report.has_slow_memory() => 1,
        _ => DEFAULT.items,
    };
    Tuning { items, ..DEFAULT }
}

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
    let tuning = policy::tuning(gpu.report(), kernel, &SPACE, default(gpu.report(), depth));
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
    if !SPACE.contains(tuning) {
        return Err(gpu.unsupported(format!("the layout {tuning}")));
    }
    // No buffer holds so many words that rounding them up overflows.
    let padded = words.checked_next_multiple_of(4).unwrap_or(usize::MAX);
    let entries = if depth == Depth::Eight { 64 } else { 32_768 };
    gpu.holds("the table", table, entries)?;
    gpu.holds("the source", source, padded as u64)?;
    gpu.holds("the result", out, padded as u64)?;
    // Places past the end are counted too, up to a cube for each row of the grid.
    let padded = match u32::try_from(padded) {
        Ok(0) => return Ok(()),
        Ok(padded) if padded < 0xF000_0000 => padded,
        _ => return Err(gpu.unsupported(format!("{words} words at once"))),
    };
    // A short array has few cubes, which are to leave no multiprocessor idle.
    let least = tuning.units * CUBES * gpu.multiprocessors();
    let vector = match depth {
        // Units wait for entries in memory, so many units are better than wide ones.
        Depth::Sixteen if !gpu.report().software && padded / tuning.vector < least => 1,
        _ => tuning.vector,
    };
    let vectors = padded / vector;
    let enough = (vectors / least).max(1);
    let tuning = Tuning {
        items: tuning.items.min(1 << enough.ilog2()),
        vector,
        ..tuning
    };
    let grid = cubes(gpu, vectors.div_ceil(tuning.units * tuning.items));
    let place = match gpu.report().software {
        true => Place::Shared,
        false if padded <= FEW => Place::Memory,
        false => Place::Packed,
    };
    let memory = [
        Operand::read("the table", table),
        Operand::read_elementwise("the source", source),
        Operand::write("the result", out),
    ];
    gpu.launch("table", &(tuning, depth, place), &memory, || {
        on_client!(gpu, client => map_on(client, tuning, (depth, place), [table, source, out], vectors, grid.clone()))
    })
}

/// Words of samples up to which a table of 256 entries is read from where it lies: filling shared memory
/// would not pay.
const FEW: u32 = 1 << 18;

/// Where a table of 256 entries is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// Where it lies.
    Memory,
    /// In shared memory, an entry a word.
    Shared,
    /// In shared memory, four entries a word.
    Packed,
}

#[allow(unsafe_code)]
fn map_on<R: Runtime>(
    client: &ComputeClient<R>,
    tuning: Tuning,
    (depth, place): (Depth, Place),
    [table, source, out]: [&Buffer; 3],
    vectors: u32,
    grid: CubeCount,
) {
    let width = tuning.vector as usize;
    // SAFETY: places are compared with `vectors`, and both buffers hold as many; a sample is less than the number of
    // the table's entries, which was checked.
    unsafe {
        let table = ArrayArg::from_raw_parts(table.handle(), table.words());
        let source = ArrayArg::from_raw_parts(source.handle(), source.words() / width);
        let out = ArrayArg::from_raw_parts(out.handle(), out.words() / width);
        let (units, items) = (tuning.units, tuning.items);
        let dim = CubeDim::new_1d(units);
        match depth {
            Depth::Eight => map_bytes::launch_unchecked::<R>(
                client, grid, dim, width, table, source, out, vectors, units, items, width, place,
            ),
            Depth::Sixteen => map_halves::launch_unchecked::<R>(
                client, grid, dim, width, table, source, out, vectors, units, items, width,
            ),
        }
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
    #[comptime] place: Place,
) {
    let words = comptime!(if place == Place::Shared { 256u32 } else { 64u32 });
    let mut entries = SharedMemory::<u32>::new(comptime!(words as usize));
    if comptime!(place != Place::Memory) {
        let mut word = UNIT_POS_X;
        while word < words {
            if comptime!(place == Place::Packed) {
                entries[word as usize] = table[word as usize];
            } else {
                entries[word as usize] = (table[(word >> 2u32) as usize] >> ((word & 3u32) * 8u32)) & 255u32;
            }
            word += units;
        }
        sync_cube();
    }
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
                    let entry = if comptime!(place == Place::Shared) {
                        entries[sample as usize]
                    } else if comptime!(place == Place::Packed) {
                        (entries[(sample >> 2u32) as usize] >> ((sample & 3u32) * 8u32)) & 255u32
                    } else {
                        (table[(sample >> 2u32) as usize] >> ((sample & 3u32) * 8u32)) & 255u32
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
