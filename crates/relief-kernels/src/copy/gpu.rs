//! Copies on a device.
//!
//! A unit (thread) loads several vectors of 16 bytes before it stores the first of them, so that many loads
//! are on the way at once; neighbouring units load neighbouring vectors.
//!
//! On software Vulkan starting a cube (block) costs as much as copying several KiB, so a few planes (warps)
//! copy long sequences.

use cubecl::prelude::*;

use crate::device::{Buffer, DeviceError, Gpu, Operand, cube_number, cubes, launch, on_client, start};
use crate::policy::{self, Space, Tuning};

/// The layouts of [`copy_with`].
pub const SPACE: Space = Space {
    units: &[64, 128, 256, 512, 1024],
    items: &[1, 2, 4, 8],
    vectors: &[1, 2, 4],
};

/// The layout where no policy names another (`relief lab tune copy` searches for one).
pub const DEFAULT: Tuning = Tuning {
    units: 128,
    items: 1,
    vector: 4,
};

/// The layout of [`fill`]: stores wait for nothing, so that cubes of one store are gone before the next ones have begun.
pub const FILL: Tuning = Tuning {
    units: 256,
    items: 8,
    vector: 4,
};

/// Copies the first `words` words of a buffer; what follows, up to a multiple of 4 words, may be copied too.
///
/// # Errors
/// Where the device fails, where a buffer does not hold `words` rounded up to a multiple of 4, and where the buffers share
/// words but do not begin at the same one.
pub fn copy(gpu: &Gpu, from: &Buffer, to: &Buffer, words: usize) -> Result<(), DeviceError> {
    if gpu.report().software {
        return copy_sequences(gpu, SEQUENCES, 4, from, to, words);
    }
    copy_with(
        gpu,
        policy::tuning(gpu.report(), "copy", &SPACE, DEFAULT),
        from,
        to,
        words,
    )
}

/// [`copy`] with another layout.
///
/// # Errors
/// As [`copy`], and where the layout is not of [`SPACE`].
pub fn copy_with(
    gpu: &Gpu,
    tuning: Tuning,
    from: &Buffer,
    to: &Buffer,
    words: usize,
) -> Result<(), DeviceError> {
    let count = vectors(gpu, tuning, words, &[("the source", from), ("the copy", to)])?;
    if count == 0 {
        return Ok(());
    }
    let grid = cubes(gpu, count.div_ceil(tuning.units * tuning.items));
    let vector = tuning.vector as usize;
    // SAFETY: places are compared with `count`, and both buffers hold as many vectors.
    launch!(gpu, "copy", &tuning, &operands(from, to), (grid, CubeDim::new_1d(tuning.units)),
        unsafe copy_vectors(vector, from.array(vector), to.array(vector), count, tuning.units, tuning.items))
}

/// A buffer may be copied onto itself.
const fn operands<'a>(from: &'a Buffer, to: &'a Buffer) -> [Operand<'a>; 2] {
    [
        Operand::read_elementwise("the source", from),
        Operand::write("the copy", to),
    ]
}

/// Planes with a sequence each: many for each processor.
const SEQUENCES: u32 = 512;

/// Units of a cube of them.
const SEQUENCES_UNITS: u32 = 128;

/// The most vectors of a unit: software ends loops after 65 535 rounds.
const ROUNDS: u32 = 1 << 15;

/// [`copy`] by about so many planes, or as many more as it takes, each with a sequence of vectors of 1, 2 or 4 words.
///
/// # Errors
/// As [`copy`], and for other vectors.
pub fn copy_sequences(
    gpu: &Gpu,
    planes: u32,
    vector: u32,
    from: &Buffer,
    to: &Buffer,
    words: usize,
) -> Result<(), DeviceError> {
    let tuning = Tuning { vector, ..DEFAULT };
    let count = vectors(gpu, tuning, words, &[("the source", from), ("the copy", to)])?;
    if count == 0 {
        return Ok(());
    }
    let lanes = gpu.report().plane.1.clamp(1, SEQUENCES_UNITS);
    let planes = planes.max(count.div_ceil(lanes * ROUNDS));
    let wanted = planes.div_ceil(SEQUENCES_UNITS / lanes);
    let grid = cubes(gpu, wanted);
    let each = count.div_ceil(lanes).div_ceil(planes) * lanes;
    gpu.launch(
        "copy sequences",
        &(vector, lanes),
        &operands(from, to),
        || on_client!(gpu, client => sequences_on(client, (vector, lanes), from, to, count, each, grid.clone())),
    )
}

fn sequences_on<R: Runtime>(
    client: &ComputeClient<R>,
    (vector, lanes): (u32, u32),
    from: &Buffer,
    to: &Buffer,
    count: u32,
    each: u32,
    grid: CubeCount,
) {
    let width = vector as usize;
    // SAFETY: places are compared with `count`, and both buffers hold as many vectors.
    start!(client, (grid, CubeDim::new_1d(SEQUENCES_UNITS)), unsafe copy_each(
        width, from.array(width), to.array(width), count, each, lanes));
}

/// A plane copies `each` vectors, as many at once as it has lanes.
#[cube(launch_unchecked)]
fn copy_each<N: Size>(
    from: &Array<Vector<u32, N>>,
    to: &mut Array<Vector<u32, N>>,
    count: u32,
    each: u32,
    #[comptime] lanes: u32,
) {
    let unit = CUBE_POS as u32 * comptime!(SEQUENCES_UNITS) + UNIT_POS;
    let first = unit / lanes * each;
    let mut place = first + unit % lanes;
    // Planes after the last that is needed begin past the end.
    if first < count {
        let end = min(first + each, count);
        while place < end {
            to[place as usize] = from[place as usize];
            place += lanes;
        }
    }
}

/// Writes `value` into the first `words` words of a buffer; what follows, up to a multiple of 4 words, may be
/// overwritten too.
///
/// # Errors
/// Where the device fails, and where the buffer does not hold `words` rounded up to a multiple of 4.
pub fn fill(gpu: &Gpu, to: &Buffer, words: usize, value: u32) -> Result<(), DeviceError> {
    fill_with(gpu, FILL, to, words, value)
}

/// [`fill`] with another layout.
///
/// # Errors
/// As [`fill`], and where the layout is not of [`SPACE`].
pub fn fill_with(
    gpu: &Gpu,
    tuning: Tuning,
    to: &Buffer,
    words: usize,
    value: u32,
) -> Result<(), DeviceError> {
    let count = vectors(gpu, tuning, words, &[("what is filled", to)])?;
    if count == 0 {
        return Ok(());
    }
    let grid = cubes(gpu, count.div_ceil(tuning.units * tuning.items));
    // SAFETY: places are compared with `count`, and the buffer holds as many vectors.
    launch!(
        gpu, "fill", &tuning, &[Operand::write("what is filled", to)], (grid, CubeDim::new_1d(tuning.units)),
        unsafe fill_vectors(
            tuning.vector as usize, to.array(tuning.vector as usize), value, count, tuning.units,
            tuning.items))
}

/// How many vectors hold `words` words, checked against the buffers and the layout.
fn vectors(
    gpu: &Gpu,
    tuning: Tuning,
    words: usize,
    buffers: &[(&'static str, &Buffer)],
) -> Result<u32, DeviceError> {
    let padded = gpu.count_words(words as u64, buffers)?;
    gpu.check_layout(&SPACE, tuning)?;
    Ok(padded / tuning.vector)
}

#[cube(launch_unchecked)]
fn copy_vectors<N: Size>(
    from: &Array<Vector<u32, N>>,
    to: &mut Array<Vector<u32, N>>,
    count: u32,
    #[comptime] units: u32,
    #[comptime] items: u32,
) {
    let first = cube_number() * comptime!(units * items) + UNIT_POS_X;
    if first + comptime!(units * (items - 1)) < count {
        // rung: copy on gpu: several quads
        let mut held = Array::<Vector<u32, N>>::new(comptime!(items as usize));
        #[unroll]
        for k in 0..comptime!(items as usize) {
            held[k] = from[first as usize + comptime!(k * units as usize)];
        }
        #[unroll]
        for k in 0..comptime!(items as usize) {
            to[first as usize + comptime!(k * units as usize)] = held[k];
        }
        // end
    } else {
        let mut place = first;
        while place < count {
            to[place as usize] = from[place as usize];
            place += units;
        }
    }
}

#[cube(launch_unchecked)]
fn fill_vectors<N: Size>(
    to: &mut Array<Vector<u32, N>>,
    value: u32,
    count: u32,
    #[comptime] units: u32,
    #[comptime] items: u32,
) {
    let first = cube_number() * comptime!(units * items) + UNIT_POS_X;
    #[unroll]
    for k in 0..items {
        let place = first + comptime!(k * units);
        if place < count {
            to[place as usize] = Vector::new(value);
        }
    }
}
