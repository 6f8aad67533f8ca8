//! Products on a device.
//!
//! Floats of 32 bits: [`multiply`]. Cubes compute tiles of the result from slices of 8 to 32 of k in shared memory, units blocks of
//! 8 × 8 or 8 × 16 sums in registers, so that a load of shared memory serves 8 operations or more; while one slice is
//! multiplied, the next is on its way from memory to registers and is put into the other half of shared memory. The bits are
//! those that the [module](super) states.
//!
//! Numbers of 16 bits: [`multiply_halves`], by the matrix instructions of a device that has them.

use cubecl::ir::features::{MmaConfig, Tma};
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::*;
use cubecl::zspace::{shape, strides};

use crate::device::{Buffer, DeviceError, Gpu, cubes, on_client};
use crate::policy::{self, Space, Tuning};

mod halves;
mod tiles;

use halves::{multiply_halves as multiply_halves_kernel, multiply_halves_by_boxes};
use tiles::{Tile, multiply_tiles};

/// The layouts of [`multiply_with`]: units of a cube, sums of a unit, and, in the place of a vector, numbers of k of a slice.
pub const SPACE: Space = Space {
    units: &[64, 128, 256],
    items: &[32, 64, 128],
    vectors: &[8, 16, 32],
};

/// The layout where no other was found. On an H200, 8 192³, cubes of 128 units with slices of 8 took 8 % longer.
pub const DEFAULT: Tuning = Tuning {
    units: 256,
    items: 128,
    vector: 16,
};

/// Layouts with smaller tiles, for results that too few cubes compute otherwise.
const SMALLER: [Tuning; 3] = [
    Tuning {
        units: 128,
        items: 64,
        vector: 8,
    },
    Tuning {
        units: 64,
        items: 64,
        vector: 8,
    },
    // Not smaller, but of more units: 1 024³ takes 82 µs instead of 85 (NVIDIA H200, `relief lab run matmul/f32 --device cuda --size 2^20`, 2026-11-22).
    Tuning {
        units: 128,
        items: 32,
        vector: 16,
    },
];

/// What the kernel is called in policy files.
pub const NAME: &str = "matrix-product";

/// Rows of the left matrix and of the result, products of a sum, columns of the right matrix and of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// m.
    pub rows: u32,
    /// k.
    pub inner: u32,
    /// n.
    pub columns: u32,
}

/// A matrix on a device, in row order, from the first word of a buffer on.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Where it lies.
    pub buffer: &'a Buffer,
    /// Words from one row to the next: a multiple of 4.
    pub pitch: u32,
}

/// C = A·B of floats of 32 bits. Of rows of the result whole vectors of 4 words are written.
///
/// # Errors
/// Where the device fails, where a matrix does not lie in its buffer, and where the result lies in the buffer of an operand.
pub fn multiply(
    gpu: &Gpu,
    shape: Shape,
    left: Rows<'_>,
    right: Rows<'_>,
    result: Rows<'_>,
) -> Result<(), DeviceError> {
    let tuning = policy::tuning(gpu.report(), NAME, &SPACE, DEFAULT);
    multiply_by(gpu, tuning, shape, left, right, result)
}

/// [`multiply`] with another layout, where the device has the shared memory for it and the result is large enough.
///
/// # Errors
/// As [`multiply`], and where the layout is not of [`SPACE`].
pub fn multiply_by(
    gpu: &Gpu,
    tuning: Tuning,
    shape: Shape,
    left: Rows<'_>,
    right: Rows<'_>,
    result: Rows<'_>,
) -> Result<(), DeviceError> {
    if !SPACE.contains(tuning) {
        return Err(gpu.unsupported(format!("the layout {tuning}")));
    }
    let mut tunings = [tuning].into_iter().chain(SMALLER);
    let enough = tunings.find(|tuning| fills(gpu, *tuning, shape));
    let tuning = enough.unwrap_or(SMALLER[SMALLER.len() - 1]);
    multiply_with(gpu, tuning, shape, left, right, result)
}

/// Whether a layout runs and gives two cubes to each processor of the device.
fn fills(gpu: &Gpu, tuning: Tuning, shape: Shape) -> bool {
    let processors = on_client!(gpu, client => client.properties().hardware.num_streaming_multiprocessors);
    let cubes = Tile::of(tuning).and_then(|tile| tile.count(shape));
    runs(gpu, tuning) && cubes.is_none_or(|cubes| cubes >= 2 * processors.unwrap_or(0))
}

fn runs(gpu: &Gpu, tuning: Tuning) -> bool {
    let most = gpu.most_shared_memory();
    Tile::of(tuning).is_some_and(|tile| tile.shared_bytes() <= most)
}

/// [`multiply`] with another layout.
///
/// # Errors
/// As [`multiply`], and where the layout is not of [`SPACE`] or the device lacks the shared memory.
pub fn multiply_with(
    gpu: &Gpu,
    tuning: Tuning,
    shape: Shape,
    left: Rows<'_>,
    right: Rows<'_>,
    result: Rows<'_>,
) -> Result<(), DeviceError> {
    let tile = Tile::of(tuning).filter(|_| SPACE.contains(tuning) && runs(gpu, tuning));
    let tile = tile.ok_or_else(|| gpu.unsupported(format!("the layout {tuning}")))?;
    left.check(gpu, shape.rows, shape.inner)?;
    right.check(gpu, shape.inner, shape.columns)?;
    result.check(gpu, shape.rows, shape.columns)?;
    if shape.rows == 0 || shape.columns == 0 {
        return Ok(());
    }
    gpu.unless_in_place("a product", result.buffer, &[left.buffer, right.buffer])?;
    let count = tile.count(shape);
    let launch = Launch {
        shape,
        left,
        right,
        result,
        count: count.ok_or_else(|| gpu.unsupported(format!("{} × {} sums", shape.rows, shape.columns)))?,
    };
    gpu.launch(
        "matrix product",
        &tile,
        result.buffer,
        || on_client!(gpu, client => launch.on(gpu, client, tile)),
    )
}

struct Launch<'a> {
    shape: Shape,
    left: Rows<'a>,
    right: Rows<'a>,
    result: Rows<'a>,
    count: u32,
}

impl Launch<'_> {
    #[allow(unsafe_code)]
    fn on<R: Runtime>(&self, gpu: &Gpu, client: &ComputeClient<R>, tile: Tile) {
        let (left, right, result) = (self.left, self.right, self.result);
        // SAFETY: what is read is clamped to the last row and the last vector of a row, which the buffers hold, or, where there are
        // no products, not read; what is written is compared with the rows and vectors of the result.
        unsafe {
            multiply_tiles::launch_unchecked::<R>(
                client,
                cubes(gpu, self.count),
                CubeDim::new_1d(tile.units),
                4,
                ArrayArg::from_raw_parts(left.buffer.handle(), left.buffer.words() / 4),
                ArrayArg::from_raw_parts(right.buffer.handle(), right.buffer.words() / 4),
                ArrayArg::from_raw_parts(result.buffer.handle(), result.buffer.words() / 4),
                self.shape.rows,
                self.shape.inner,
                self.shape.columns.div_ceil(4),
                left.pitch / 4,
                right.pitch / 4,
                result.pitch / 4,
                0,
                tile,
            );
        }
    }
}

/// Numbers of 16 bits, packed, the first of a word in its lower half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Half {
    /// [`f16`](struct@super::f16): 11 bits of precision.
    F16,
    /// [`bf16`](super::bf16): 8 bits of precision, and the range of an f32.
    Bf16,
}

/// C = A·B of numbers of 16 bits into floats of 32, by matrix instructions. Of rows of the result whole pairs of words are
/// written.
///
/// The sum of k products has an error of at most k · 2⁻²² of the sum of their sizes; its bits are those of the device.
///
/// # Errors
/// Where the device fails or lacks the instructions, where a matrix does not lie in its buffer, and where the result lies in the buffer of an
/// operand.
pub fn multiply_halves(
    gpu: &Gpu,
    half: Half,
    shape: Shape,
    left: Rows<'_>,
    right: Rows<'_>,
    result: Rows<'_>,
) -> Result<(), DeviceError> {
    if !has_matrix_instructions(gpu, half) {
        return Err(gpu.unsupported("a product by matrix instructions, which it lacks"));
    }
    left.check(gpu, shape.rows, shape.inner.div_ceil(2))?;
    right.check(gpu, shape.inner, shape.columns.div_ceil(2))?;
    result.check(gpu, shape.rows, shape.columns)?;
    if shape.rows == 0 || shape.columns == 0 {
        return Ok(());
    }
    gpu.unless_in_place("a product", result.buffer, &[left.buffer, right.buffer])?;
    // Places of numbers are counted in 32 bits.
    let counted =
        left.buffer.words().max(right.buffer.words()) < 1 << 31 && result.buffer.words() as u64 <= 1 << 33;
    let count = halves::count(shape).filter(|count| counted && *count < 1 << 31);
    let count = count.ok_or_else(|| gpu.unsupported(format!("{} × {} sums", shape.rows, shape.columns)))?;
    let launch = Launch {
        shape,
        left,
        right,
        result,
        count,
    };
    if has_boxes(gpu) && shape.inner > 0 {
        return gpu.launch("matrix product of halves", &half, result.buffer, || {
            on_client!(gpu, client => match half {
                Half::F16 => launch.boxes_on::<half::f16, _>(gpu, client),
                Half::Bf16 => launch.boxes_on::<half::bf16, _>(gpu, client),
            });
        });
    }
    // Then no slice is there partly.
    let whole = shape.inner > 0 && shape.inner.is_multiple_of(halves::SLICE);
    gpu.launch("matrix product of halves", &(half, whole), result.buffer, || {
        on_client!(gpu, client => match half {
            Half::F16 => launch.halves_on::<half::f16, _>(gpu, client, whole),
            Half::Bf16 => launch.halves_on::<half::bf16, _>(gpu, client, whole),
        });
    })
}

/// Whether a device has the instructions of [`multiply_halves`], and shared memory for it.
#[must_use]
pub fn has_matrix_instructions(gpu: &Gpu, half: Half) -> bool {
    let kind = match half {
        Half::F16 => FloatKind::F16,
        Half::Bf16 => FloatKind::BF16,
    };
    let (number, sum) = (
        ElemType::Float(kind).into(),
        ElemType::Float(FloatKind::F32).into(),
    );
    let product = MmaConfig {
        a_type: number,
        b_type: number,
        cd_type: sum,
        m: 16,
        n: 8,
        k: 16,
    };
    on_client!(gpu, client => {
        let features = client.features();
        gpu.report().plane == (32, 32)
            && features.copy_async
            && features.matmul.ldmatrix.contains(&number)
            && features.matmul.mma.contains(&product)
            && client.properties().hardware.max_shared_memory_size >= halves::SHARED
    })
}

/// Whether a device copies boxes of a matrix to shared memory by itself.
fn has_boxes(gpu: &Gpu) -> bool {
    on_client!(gpu, client => client.features().tma.contains(Tma::Base))
}

impl Launch<'_> {
    #[allow(unsafe_code)]
    fn boxes_on<E: Float, R: Runtime>(&self, gpu: &Gpu, client: &ComputeClient<R>) {
        let result = self.result;
        let Shape { rows, inner, columns } = self.shape;
        let of = |rows: u32, columns: u32, matrix: Rows<'_>, height: u32| {
            // That of a single row may be anything.
            let pitch = (matrix.pitch as usize * 2).max((columns as usize).next_multiple_of(8));
            // SAFETY: so many rows of the pitch lie in the buffer, see `Rows::check`.
            let tensor = unsafe {
                TensorArg::from_raw_parts(
                    matrix.buffer.handle(),
                    strides![pitch, 1],
                    shape![rows as usize, columns as usize],
                )
            };
            let tile_size = shape![height as usize, halves::BOX as usize];
            TensorMapArg::new(TiledArgs { tile_size }, tensor, E::as_type_native_unchecked())
                .with_swizzle(TensorMapSwizzle::B128)
        };
        // SAFETY: what is read outside of the operands is 0; what is written is compared with the rows and pairs of the result.
        unsafe {
            multiply_halves_by_boxes::launch_unchecked::<E, R>(
                client,
                cubes(gpu, self.count),
                CubeDim::new_1d(halves::UNITS),
                2,
                of(rows, inner, self.left, halves::ROWS),
                of(inner, columns, self.right, halves::SLICE),
                ArrayArg::from_raw_parts(result.buffer.handle(), result.buffer.words() / 2),
                rows,
                inner,
                columns,
                result.pitch / 2,
            );
        }
    }

    #[allow(unsafe_code)]
    fn halves_on<E: Float, R: Runtime>(&self, gpu: &Gpu, client: &ComputeClient<R>, whole: bool) {
        let (left, right, result) = (self.left, self.right, self.result);
        // SAFETY: what is read is clamped to the last row and the last vector of a row, which the buffers hold, and to the last slice, of
        // which there is one where `whole` says so; what is written is compared with the rows and pairs of the result.
        unsafe {
            multiply_halves_kernel::launch_unchecked::<E, R>(
                client,
                cubes(gpu, self.count),
                CubeDim::new_1d(halves::UNITS),
                2,
                ArrayArg::from_raw_parts(left.buffer.handle(), left.buffer.words() * 2),
                ArrayArg::from_raw_parts(right.buffer.handle(), right.buffer.words() * 2),
                ArrayArg::from_raw_parts(result.buffer.handle(), result.buffer.words() / 2),
                self.shape.rows,
                self.shape.inner,
                self.shape.columns,
                left.pitch * 2,
                right.pitch * 2,
                result.pitch / 2,
                whole,
            );
        }
    }
}

impl Rows<'_> {
    /// Whether so many rows of so many words lie in the buffer and apart.
    fn check(&self, gpu: &Gpu, rows: u32, words: u32) -> Result<(), DeviceError> {
        let row = u64::from(words).next_multiple_of(4);
        let apart = row <= u64::from(self.pitch) || rows <= 1;
        let end = u64::from(self.pitch) * u64::from(rows.saturating_sub(1)) + row;
        let held = rows == 0 || words == 0 || end <= self.buffer.words() as u64;
        // Places of vectors are counted in 32 bits, and rows past the last one.
        let counted = self.buffer.words() as u64 / 4 <= 0xF000_0000 && rows.max(words) <= u32::MAX - 1_024;
        if apart && held && counted && self.pitch.is_multiple_of(4) {
            return Ok(());
        }
        Err(gpu.unsupported(format!(
            "{rows} rows of {words} words, {} words apart, in a buffer of {}",
            self.pitch,
            self.buffer.words()
        )))
    }
}
