//! Maps on a device: a unit (thread) loads its vectors before it stores one, as copies do.
//!
//! Cubes (blocks) are small, so that all units that a multiprocessor holds find a place: together they have about as
//! many bytes in flight as cover the latency of memory.
//!
//! A unit that makes gray takes three vectors of four words, 16 colours, and stores one: its loads are 48
//! bytes from its neighbour's, and what a load leaves of a line the next two find in the nearest cache.

use cubecl::prelude::*;

use relief_kernels::device::{
    Buffer, DeviceError, Gpu, Operand, cube_number, cubes, launch, on_client, start,
};
use relief_kernels::policy::{self, Space, Tuning};

/// The layouts of [`add_with`] and [`scale_with`].
pub const SPACE: Space = Space {
    units: &[64, 128, 256, 512, 1024],
    items: &[1, 2, 4],
    vectors: &[1, 2, 4],
};

/// The layouts of [`gray_with`]: its vectors have one width.
pub const GRAY_SPACE: Space = Space {
    units: &[64, 128, 256, 512, 1024],
    items: &[1, 2, 4],
    vectors: &[4],
};

/// The layout where no other was found.
pub const DEFAULT: Tuning = Tuning {
    units: 256,
    items: 1,
    vector: 4,
};

/// What is compiled into the kernel of a map of f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Map {
    Add,
    Scale,
}

/// out(i) = a(i) + b(i) for the first `count` f32 of the buffers. `out` may be `a` or `b`.
///
/// # Errors
/// Where the device fails, where a buffer does not hold `count` rounded up to a multiple of 4, and where `out` shares words with
/// a term but does not begin at the same one.
pub fn add(gpu: &Gpu, a: &Buffer, b: &Buffer, out: &Buffer, count: usize) -> Result<(), DeviceError> {
    let tuning = policy::tuning(gpu.report(), "map add", &SPACE, DEFAULT);
    add_with(gpu, tuning, a, b, out, count)
}

/// [`add()`] with another layout.
///
/// # Errors
/// As [`add()`], and where the layout is not of [`SPACE`].
pub fn add_with(
    gpu: &Gpu,
    tuning: Tuning,
    a: &Buffer,
    b: &Buffer,
    out: &Buffer,
    count: usize,
) -> Result<(), DeviceError> {
    map(gpu, tuning, Map::Add, [a, b], 0.0, out, count)
}

/// out(i) = factor · values(i) for the first `count` f32 of the buffers. `out` may be `values`.
///
/// # Errors
/// As [`add()`].
pub fn scale(gpu: &Gpu, values: &Buffer, factor: f32, out: &Buffer, count: usize) -> Result<(), DeviceError> {
    let tuning = policy::tuning(gpu.report(), "map scale", &SPACE, DEFAULT);
    scale_with(gpu, tuning, values, factor, out, count)
}

/// [`scale`] with another layout.
///
/// # Errors
/// As [`scale`], and where the layout is not of [`SPACE`].
pub fn scale_with(
    gpu: &Gpu,
    tuning: Tuning,
    values: &Buffer,
    factor: f32,
    out: &Buffer,
    count: usize,
) -> Result<(), DeviceError> {
    map(gpu, tuning, Map::Scale, [values, values], factor, out, count)
}

fn map(
    gpu: &Gpu,
    tuning: Tuning,
    which: Map,
    inputs: [&Buffer; 2],
    factor: f32,
    out: &Buffer,
    count: usize,
) -> Result<(), DeviceError> {
    gpu.check_layout(&SPACE, tuning)?;
    let buffers = [("a term", inputs[0]), ("a term", inputs[1]), ("the result", out)];
    let words = gpu.count_words(count as u64, &buffers)?;
    let vectors = words / tuning.vector;
    if vectors == 0 {
        return Ok(());
    }
    let grid = cubes(gpu, vectors.div_ceil(tuning.units * tuning.items));
    let memory = [
        Operand::read_elementwise("a term", inputs[0]),
        Operand::read_elementwise("a term", inputs[1]),
        Operand::write("the result", out),
    ];
    gpu.launch("map", &(which, tuning), &memory, || {
        on_client!(gpu, client => map_on(client, tuning, which, inputs, factor, out, vectors, grid.clone()))
    })
}

#[allow(unsafe_code, clippy::too_many_arguments)]
fn map_on<R: Runtime>(
    client: &ComputeClient<R>,
    tuning: Tuning,
    which: Map,
    [a, b]: [&Buffer; 2],
    factor: f32,
    out: &Buffer,
    vectors: u32,
    grid: CubeCount,
) {
    let width = tuning.vector as usize;
    // SAFETY: places are compared with `vectors`, and all buffers hold as many.
    start!(client, (grid, CubeDim::new_1d(tuning.units)), unsafe map_vectors(
        width, a.array(width), b.array(width), out.array(width), factor, vectors, tuning.units,
        tuning.items, which));
}

#[cube(launch_unchecked)]
fn map_vectors<N: Size>(
    a: &Array<Vector<f32, N>>,
    b: &Array<Vector<f32, N>>,
    out: &mut Array<Vector<f32, N>>,
    factor: f32,
    count: u32,
    #[comptime] units: u32,
    #[comptime] items: u32,
    #[comptime] which: Map,
) {
    let first = cube_number() * comptime!(units * items) + UNIT_POS_X;
    if first + comptime!(units * (items - 1)) < count {
        // rung: map on gpu: several quads
        let mut held = Array::<Vector<f32, N>>::new(comptime!(items as usize));
        #[unroll]
        for k in 0..comptime!(items as usize) {
            held[k] = element::<N>(
                a,
                b,
                factor,
                first as usize + comptime!(k * units as usize),
                which,
            );
        }
        #[unroll]
        for k in 0..comptime!(items as usize) {
            out[first as usize + comptime!(k * units as usize)] = held[k];
        }
        // end
    } else {
        let mut place = first;
        while place < count {
            out[place as usize] = element::<N>(a, b, factor, place as usize, which);
            place += units;
        }
    }
}

#[cube]
fn element<N: Size>(
    a: &Array<Vector<f32, N>>,
    b: &Array<Vector<f32, N>>,
    factor: f32,
    place: usize,
    #[comptime] which: Map,
) -> Vector<f32, N> {
    match which {
        Map::Add => a[place] + b[place],
        Map::Scale => a[place] * Vector::new(factor),
    }
}

/// The gray of each of `count` colours: three bytes of `rgb` for a byte of `out`, both packed in words.
///
/// # Errors
/// Where the device fails, where a buffer does not hold its bytes rounded up to a multiple of 16, and where the buffers overlap.
pub fn gray(gpu: &Gpu, rgb: &Buffer, out: &Buffer, count: usize) -> Result<(), DeviceError> {
    gray_with(
        gpu,
        policy::tuning(gpu.report(), "map gray", &GRAY_SPACE, DEFAULT),
        rgb,
        out,
        count,
    )
}

/// [`gray`] with another layout.
///
/// # Errors
/// As [`gray`], and where the layout is not of [`GRAY_SPACE`].
pub fn gray_with(
    gpu: &Gpu,
    tuning: Tuning,
    rgb: &Buffer,
    out: &Buffer,
    count: usize,
) -> Result<(), DeviceError> {
    gpu.check_layout(&GRAY_SPACE, tuning)?;
    gpu.count_words(
        (count.saturating_mul(3).div_ceil(4)) as u64,
        &[("the colours", rgb)],
    )?;
    let vectors = gpu.count_words(count.div_ceil(4) as u64, &[("the grays", out)])? / 4;
    if vectors == 0 {
        return Ok(());
    }
    let grid = cubes(gpu, vectors.div_ceil(tuning.units * tuning.items));
    // SAFETY: places of the output are compared with `vectors`, those of the input clamped to its last vector.
    launch!(
        gpu, "gray", &tuning, &[Operand::read("the colours", rgb), Operand::write("the grays", out)],
        (grid, CubeDim::new_1d(tuning.units)),
        unsafe gray_vectors(
            4, rgb.array(4), out.array(4), vectors, (rgb.words() / 4) as u32 - 1, tuning.units, tuning.items))
}

#[cube(launch_unchecked)]
fn gray_vectors<N: Size>(
    rgb: &Array<Vector<u32, N>>,
    out: &mut Array<Vector<u32, N>>,
    count: u32,
    last: u32,
    #[comptime] units: u32,
    #[comptime] items: u32,
) {
    let first = cube_number() * comptime!(units * items) + UNIT_POS_X;
    #[unroll]
    for k in 0..items {
        let place = first + comptime!(k * units);
        if place < count {
            // rung: map on gpu: several vectors
            // The last colours may end before the third vector.
            let at = place * 3u32;
            let a = rgb[min(at, last) as usize];
            let b = rgb[min(at + 1u32, last) as usize];
            let c = rgb[min(at + 2u32, last) as usize];
            let mut grays = Vector::<u32, N>::empty();
            grays[0usize] = gray_word(a[0usize], a[1usize], a[2usize]);
            grays[1usize] = gray_word(a[3usize], b[0usize], b[1usize]);
            grays[2usize] = gray_word(b[2usize], b[3usize], c[0usize]);
            grays[3usize] = gray_word(c[1usize], c[2usize], c[3usize]);
            out[place as usize] = grays;
            // end
        }
    }
}

/// Four grays from the twelve bytes of three words.
#[cube]
fn gray_word(a: u32, b: u32, c: u32) -> u32 {
    let first = gray_of(a & 255u32, (a >> 8u32) & 255u32, (a >> 16u32) & 255u32);
    let second = gray_of(a >> 24u32, b & 255u32, (b >> 8u32) & 255u32);
    let third = gray_of((b >> 16u32) & 255u32, b >> 24u32, c & 255u32);
    let fourth = gray_of((c >> 8u32) & 255u32, (c >> 16u32) & 255u32, c >> 24u32);
    first | (second << 8u32) | (third << 16u32) | (fourth << 24u32)
}

/// The gray of a colour.
#[cube]
fn gray_of(r: u32, g: u32, b: u32) -> u32 {
    (r * 2126u32 + g * 7152u32 + b * 722u32 + 5000u32) / 10_000u32
}
