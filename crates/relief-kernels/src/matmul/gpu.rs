//! Products on a device.
//!
//! Floats of 32 bits: [`multiply`]. Cubes compute tiles of the result from slices of 16 of k in shared memory, units blocks of
//! 8 × 8 or 8 × 16 sums in registers, so that a load of shared memory serves 8 operations or more; while one slice is
//! multiplied, the next is on its way from memory to registers and is put into the other half of shared memory. The bits are
//! those that the [module](super) states.

use cubecl::prelude::*;

use crate::device::{Buffer, DeviceError, Gpu, cubes, on_client};
use crate::policy::{self, Space, Tuning};

mod tiles;

use tiles::{Tile, multiply_tiles};

/// The layouts of [`multiply_with`]: units of a cube, and sums of a unit.
pub const SPACE: Space = Space {
    units: &[64, 128, 256],
    items: &[64, 128],
    vectors: &[4],
};

/// The layout where no other was found.
pub const DEFAULT: Tuning = Tuning {
    units: 256,
    items: 128,
    vector: 4,
};

/// The layout of devices with little shared memory.
const SMALL: Tuning = Tuning {
    units: 64,
    items: 64,
    vector: 4,
};

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
/// Where the device fails, and where a matrix does not lie in its buffer.
pub fn multiply(
    gpu: &Gpu,
    shape: Shape,
    left: Rows<'_>,
    right: Rows<'_>,
    result: Rows<'_>,
) -> Result<(), DeviceError> {
    let mut tuning = policy::tuning(gpu.report(), NAME, &SPACE, DEFAULT);
    if !runs(gpu, tuning) {
        tuning = SMALL;
    }
    multiply_with(gpu, tuning, shape, left, right, result)
}

fn runs(gpu: &Gpu, tuning: Tuning) -> bool {
    Tile::of(tuning).is_some_and(|tile| tile.shared_bytes() <= gpu.report().shared_memory)
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
    let tile = Tile::of(tuning).filter(|_| runs(gpu, tuning));
    let tile = tile.ok_or_else(|| gpu.unsupported(format!("the layout {tuning}")))?;
    left.check(gpu, shape.rows, shape.inner)?;
    right.check(gpu, shape.inner, shape.columns)?;
    result.check(gpu, shape.rows, shape.columns)?;
    if shape.rows == 0 || shape.columns == 0 {
        return Ok(());
    }
    let launch = Launch {
        shape,
        left,
        right,
        result,
        count: tile.count(gpu, shape)?,
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
                tile,
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
