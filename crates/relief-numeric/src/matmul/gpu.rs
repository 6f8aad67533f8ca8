//! Products on a device.
//!
//! Floats of 32 bits: [`multiply`]. Cubes compute tiles of the result from slices of 8 to 32 of k in shared memory, units blocks of
//! 8 × 8 or 8 × 16 sums in registers, so that a load of shared memory serves 8 operations or more; while one slice is
//! multiplied, the next is on its way: to shared memory where the device copies there by itself, else to registers, from which it is put into the other half of
//! shared memory. The bits are those that the [module](super) states.
//!
//! Numbers of 16 bits: [`multiply_halves`], by the matrix instructions of a device that has them.

use cubecl::ir::features::{MmaConfig, Tma};
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::*;
use cubecl::zspace::{shape, strides};

use relief_kernels::device::{Buffer, DeviceError, Gpu, Operand, addresses, cubes, launch, on_client, start};
use relief_kernels::policy::{self, Space, Tuning};

mod halves;
mod straight;
mod tiles;

use halves::multiply_halves as multiply_halves_kernel;
use straight::multiply_straight;
use tiles::{Tile, multiply_tiles};

/// The layouts of [`multiply_with`]: units of a cube, sums of a unit, and, in the place of a vector, numbers of k of a slice.
pub const SPACE: Space = Space {
    units: &[64, 128, 256],
    items: &[32, 64, 128],
    vectors: &[8, 16, 32],
};

/// The layout where no policy names another, except that slices are of 32 where a device copies to shared
/// memory by itself.
pub const DEFAULT: Tuning = Tuning {
    units: 256,
    items: 128,
    vector: 16,
};

/// Layouts with smaller tiles, for results that too few cubes compute otherwise.
const SMALLER: [Tuning; 2] = [
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
];

/// What stands for [`DEFAULT`] where a device copies to shared memory by itself, which takes fewer registers.
const STRAIGHT: Tuning = Tuning {
    vector: 32,
    ..DEFAULT
};

/// [`SMALLER`] there: 1 024³ takes three quarters of the time by the first.
const SMALLER_STRAIGHT: [Tuning; 2] = [
    Tuning {
        units: 128,
        items: 64,
        vector: 16,
    },
    Tuning {
        units: 64,
        items: 64,
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
    gpu.check_layout(&SPACE, tuning)?;
    let tuning = if copies(gpu) && tuning == DEFAULT {
        STRAIGHT
    } else {
        tuning
    };
    let smaller = if copies(gpu) { SMALLER_STRAIGHT } else { SMALLER };
    let mut tunings = [tuning].into_iter().chain(smaller);
    let enough = tunings.find(|tuning| fills(gpu, *tuning, shape));
    let tuning = enough.unwrap_or(smaller[smaller.len() - 1]);
    multiply_with(gpu, tuning, shape, left, right, result)
}

/// Whether a layout runs and gives work to nearly all multiprocessors of the device, or, where units bring slices by way of registers, two cubes to each.
fn fills(gpu: &Gpu, tuning: Tuning, shape: Shape) -> bool {
    let processors = gpu.multiprocessors();
    let wanted = if copies(gpu) {
        processors - processors / 8
    } else {
        2 * processors
    };
    let cubes = Tile::of(tuning).and_then(|tile| tile.count(shape));
    runs(gpu, tuning) && cubes.is_none_or(|cubes| cubes >= wanted)
}

fn runs(gpu: &Gpu, tuning: Tuning) -> bool {
    let most = gpu.most_shared_memory();
    Tile::of(tuning).is_some_and(|tile| tile.shared_bytes() <= most)
}

/// Whether a device copies to shared memory without registers.
fn copies(gpu: &Gpu) -> bool {
    on_client!(gpu, client => client.features().copy_async)
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
    gpu.check_layout(&SPACE, tuning)?;
    let tile = Tile::of(tuning).ok_or_else(|| gpu.no_layout(tuning, SPACE))?;
    gpu.at_most(
        "bytes of shared memory",
        gpu.most_shared_memory(),
        tile.shared_bytes().into(),
    )?;
    left.check(gpu, shape.rows, shape.inner)?;
    right.check(gpu, shape.inner, shape.columns)?;
    result.check(gpu, shape.rows, shape.columns)?;
    if shape.rows == 0 || shape.columns == 0 {
        return Ok(());
    }
    let count = tile.count(shape).ok_or_else(|| too_many(gpu, shape))?;
    // Numbers of the left matrix are counted in 32 bits then.
    let straight = copies(gpu)
        && tile.shared_bytes_straight() <= gpu.most_shared_memory()
        && u32::try_from(left.buffer.words()).is_ok();
    let memory = memory(left, right, result);
    let grid = (cubes(gpu, count), CubeDim::new_1d(tile.units));
    let width = shape.columns.div_ceil(4);
    if straight {
        // SAFETY: what is read is clamped to the last row, the last vector of a row and the last number of k, which the buffers hold; what is written
        // is compared with the rows and vectors of the result.
        launch!(
            gpu, "matrix product", &(tile, straight), &memory, grid,
            unsafe multiply_straight(
                4, left.buffer.array(1), right.buffer.array(4), result.buffer.array(4), shape.rows, shape.inner, width,
                left.pitch, right.pitch / 4, result.pitch / 4, 0, tile))
    } else {
        // SAFETY: what is read is clamped to the last row and the last vector of a row, which the buffers hold, or, where there are
        // no products, not read; what is written is compared with the rows and vectors of the result.
        launch!(
            gpu, "matrix product", &(tile, straight), &memory, grid,
            unsafe multiply_tiles(
                4, left.buffer.array(4), right.buffer.array(4), result.buffer.array(4), shape.rows, shape.inner, width,
                left.pitch / 4, right.pitch / 4, result.pitch / 4, 0, tile))
    }
}

const fn memory<'a>(left: Rows<'a>, right: Rows<'a>, result: Rows<'a>) -> [Operand<'a>; 3] {
    [
        Operand::read("the left matrix", left.buffer),
        Operand::read("the right matrix", right.buffer),
        Operand::write("the product", result.buffer),
    ]
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
        return Err(
            gpu.unsupported("it has no matrix instructions of such numbers, or cannot copy boxes for them")
        );
    }
    left.check(gpu, shape.rows, shape.inner.div_ceil(2))?;
    right.check(gpu, shape.inner, shape.columns.div_ceil(2))?;
    result.check(gpu, shape.rows, shape.columns)?;
    if shape.rows == 0 || shape.columns == 0 {
        return Ok(());
    }
    // Places of numbers are counted in 32 bits.
    let operand = left.buffer.words().max(right.buffer.words()) as u64;
    gpu.at_most("words of an operand", (1_u64 << 31) - 1, operand)?;
    gpu.at_most("words of a product", 1_u64 << 33, result.buffer.words() as u64)?;
    let count = halves::count(shape).filter(|count| *count < 1 << 31);
    let count = count.ok_or_else(|| too_many(gpu, shape))?;
    let launch = Launch {
        shape,
        left,
        right,
        result,
        count,
    };
    let memory = memory(left, right, result);
    gpu.launch("matrix product of halves", &half, &memory, || {
        on_client!(gpu, client => match half {
            Half::F16 => launch.halves_on::<half::f16, _>(gpu, client),
            Half::Bf16 => launch.halves_on::<half::bf16, _>(gpu, client),
        });
    })
}

/// Whether a device has the instructions of [`multiply_halves`], copies boxes of a matrix to shared memory by itself, and has shared memory for it.
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
            && features.tma.contains(Tma::Base)
            && features.matmul.ldmatrix.contains(&number)
            && features.matmul.mma.contains(&product)
            && client.properties().hardware.max_shared_memory_size >= halves::SHARED
    })
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
    fn halves_on<E: Float, R: Runtime>(&self, gpu: &Gpu, client: &ComputeClient<R>) {
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
                    // Nothing is read of a matrix without numbers, but a box has to be of some.
                    shape![rows.max(1) as usize, columns.max(1) as usize],
                )
            };
            let tile_size = shape![height as usize, halves::BOX as usize];
            TensorMapArg::new(TiledArgs { tile_size }, tensor, E::as_type_native_unchecked())
                .with_swizzle(TensorMapSwizzle::B128)
        };
        // SAFETY: what is read outside of the operands is 0; what is written is compared with the rows and pairs of the result.
        start!(
            client, (cubes(gpu, self.count), CubeDim::new_1d(halves::UNITS)),
            unsafe multiply_halves_kernel<E, _>(
                addresses(gpu), 2, of(rows, inner, self.left, halves::ROWS),
                of(inner, columns, self.right, halves::SLICE), result.buffer.array(2), rows, inner,
                columns, result.pitch / 2));
    }
}

impl Rows<'_> {
    /// Whether so many rows of so many words lie in the buffer and apart.
    fn check(&self, gpu: &Gpu, rows: u32, words: u32) -> Result<(), DeviceError> {
        let row = u64::from(words).next_multiple_of(4);
        gpu.holds_rows("a matrix", self.buffer, (rows.into(), row), self.pitch.into())?;
        // Places of vectors are counted in 32 bits, and rows past the last one.
        gpu.at_most(
            "vectors of a buffer",
            0xF000_0000_u32,
            self.buffer.words() as u64 / 4,
        )?;
        gpu.at_most("rows and columns", u32::MAX - 1_024, rows.max(words).into())
    }
}

/// The error of more sums than cubes can be counted for.
fn too_many(gpu: &Gpu, shape: Shape) -> DeviceError {
    DeviceError::Limit {
        device: gpu.id(),
        what: "sums of a product in tiles of one launch",
        limit: u32::MAX.into(),
        asked: u64::from(shape.rows) * u64::from(shape.columns),
    }
}
