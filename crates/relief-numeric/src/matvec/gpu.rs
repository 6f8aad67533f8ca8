//! Products on a device: M·x by teams that take rows, x·M by cubes (blocks) that walk down columns.
//!
//! Both read 16 bytes at once and have at least eight such loads of the matrix on the way for each unit
//! (thread), because memory answers late and nothing is read twice. A team of M·x takes several rows, so that
//! a vector of x is loaded once for all of them; a cube of x·M has units side by side along a row, and groups
//! of them take rows four at a time. Where a sum has several blocks, what they come to is written and summed
//! by a launch of the same kernel with 1 for x: the order is that of the [module](super), and there is no
//! atomic.

use cubecl::prelude::*;

use super::{BLOCK, ROWS};
use relief_kernels::device::{Buffer, DeviceError, Gpu, Operand, cubes, on_client, start};
use relief_kernels::policy::{self, Space, Tuning};

mod columns;
mod rows;

use columns::{Across, MERGED, MERGED_SIDE, sum_columns};
use rows::{Along, sum_rows};

/// The most cubes of a launch, whose number kernels count in 32 bits.
const MOST_CUBES: u32 = (1 << 31) - 1;

/// The layouts of M·x: units of a cube, and rows that a team takes at once.
pub const ROWS_SPACE: Space = Space {
    units: &[64, 128, 256],
    items: &[1, 2, 4, 8],
    vectors: &[4],
};

/// The layout of M·x where no policy names another: small cubes (blocks) with two rows, so that wide matrices
/// of few rows still fill the device.
pub const ROWS_DEFAULT: Tuning = Tuning {
    units: 128,
    items: 2,
    vector: 4,
};

/// What the kernel of M·x is called in policy files.
pub const ROWS_NAME: &str = "matrix-vector";

/// The layouts of x·M where cubes do not merge blocks: units of a cube, vectors of a row that it takes side by side, and, in the place of a vector,
/// rounds of 64 rows that a unit loads at once.
pub const COLUMNS_SPACE: Space = Space {
    units: &[64, 128, 256, 512],
    items: &[8, 16, 32, 64],
    vectors: &[1, 2],
};

/// The layout of x·M where no other was found.
pub const COLUMNS_DEFAULT: Tuning = Tuning {
    units: 256,
    items: 32,
    vector: 1,
};

/// What the kernel of x·M is called in policy files.
pub const COLUMNS_NAME: &str = "vector-matrix";

/// A matrix of floats on a device, in row order, from the first word of a buffer on.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    /// Where it lies.
    pub buffer: &'a Buffer,
    /// Rows.
    pub rows: u32,
    /// Numbers of a row.
    pub columns: u32,
    /// Words from one row to the next: a multiple of 4.
    pub pitch: u32,
}

/// Words of scratch memory that M·x takes.
#[must_use]
pub const fn rows_scratch_words(rows: u32, columns: u32) -> usize {
    let mut words = 0;
    let mut blocks = columns.div_ceil(BLOCK as u32);
    while blocks > 1 {
        words += (rows as usize * blocks.next_multiple_of(4) as usize).next_multiple_of(64);
        blocks = blocks.div_ceil(BLOCK as u32);
    }
    words
}

/// Words of scratch memory that x·M takes.
#[must_use]
pub const fn columns_scratch_words(rows: u32, columns: u32) -> usize {
    let mut words = 0;
    let mut blocks = rows.div_ceil(ROWS as u32);
    while blocks > 1 {
        words += (blocks as usize * (columns as usize).next_multiple_of(4)).next_multiple_of(64);
        blocks = blocks.div_ceil(ROWS as u32);
    }
    words
}

/// y = M·x. Number r of `y` is the sum of the products of row r with the first numbers of `x`.
///
/// `scratch` holds [`rows_scratch_words`]; without any it may be any buffer.
///
/// # Errors
/// Where the device fails, where a buffer is too short, for more than 2³² vectors of 16 bytes, and where `y` or the scratch memory that is
/// needed is one of the other buffers.
pub fn matrix_vector(
    gpu: &Gpu,
    matrix: Matrix<'_>,
    x: &Buffer,
    y: &Buffer,
    scratch: &Buffer,
) -> Result<(), DeviceError> {
    let tuning = policy::tuning(gpu.report(), ROWS_NAME, &ROWS_SPACE, ROWS_DEFAULT);
    matrix_vector_with(gpu, tuning, matrix, x, y, scratch)
}

/// [`matrix_vector`] with another layout.
///
/// # Errors
/// As [`matrix_vector`], and where the layout is not of [`ROWS_SPACE`].
pub fn matrix_vector_with(
    gpu: &Gpu,
    tuning: Tuning,
    matrix: Matrix<'_>,
    x: &Buffer,
    y: &Buffer,
    scratch: &Buffer,
) -> Result<(), DeviceError> {
    gpu.check_layout(&ROWS_SPACE, tuning)?;
    matrix.check(gpu)?;
    let needed = rows_scratch_words(matrix.rows, matrix.columns);
    gpu.holds("x", x, u64::from(matrix.columns).next_multiple_of(4))?;
    gpu.holds("y", y, matrix.rows.into())?;
    gpu.holds("scratch memory", scratch, needed as u64)?;
    if matrix.rows == 0 {
        return Ok(());
    }
    apart(gpu, [matrix.buffer, x], y, (needed > 0).then_some(scratch))?;
    let (mut from, mut ones, mut place) = (matrix, false, 0);
    // What holds the sums of blocks, while they are read.
    let mut held;
    loop {
        let blocks = from.columns.div_ceil(BLOCK as u32).max(1);
        if blocks == 1 {
            return along(gpu, tuning, from, (!ones).then_some(x), y, 1);
        }
        let pitch = blocks.next_multiple_of(4);
        let words = (u64::from(from.rows) * u64::from(pitch)).next_multiple_of(64);
        let part = gpu.part("scratch memory", scratch, place, words)?;
        along(gpu, tuning, from, (!ones).then_some(x), &part, pitch)?;
        place += words;
        held = part;
        from = Matrix {
            buffer: &held,
            rows: matrix.rows,
            columns: blocks,
            pitch,
        };
        ones = true;
    }
}

/// One launch of M·x: sums of blocks; those of row r from word r · `pitch` of `to` on. Without `x`, numbers are added.
fn along(
    gpu: &Gpu,
    tuning: Tuning,
    from: Matrix<'_>,
    x: Option<&Buffer>,
    to: &Buffer,
    pitch: u32,
) -> Result<(), DeviceError> {
    let plan = Along::of(gpu, tuning, from.columns, x.is_none());
    let blocks = from.columns.div_ceil(BLOCK as u32).max(1);
    let count = u64::from(blocks) * u64::from(from.rows.div_ceil(plan.rows_of_cube()));
    gpu.at_most("cubes of a product", MOST_CUBES, count)?;
    let launch = RowsLaunch {
        from,
        x: x.unwrap_or(from.buffer),
        to,
        blocks,
        pitch,
        count: count as u32,
    };
    gpu.launch(
        "matrix × vector",
        &plan,
        // Where numbers are added, x is the matrix again.
        &[
            Operand::read("the matrix", from.buffer),
            Operand::read("x", launch.x),
            Operand::write("y", to),
        ],
        || on_client!(gpu, client => launch.on(gpu, client, plan)),
    )
}

struct RowsLaunch<'a> {
    from: Matrix<'a>,
    x: &'a Buffer,
    to: &'a Buffer,
    blocks: u32,
    pitch: u32,
    count: u32,
}

impl RowsLaunch<'_> {
    fn on<R: Runtime>(&self, gpu: &Gpu, client: &ComputeClient<R>, plan: Along) {
        let from = self.from;
        // SAFETY: rows are clamped to the last, vectors compared with those of a row, and the buffer holds as many, x a row of them;
        // results are written for existing blocks of existing rows, `pitch` words apart, and the target holds as many.
        start!(client, (cubes(gpu, self.count), CubeDim::new_1d(plan.units())), unsafe sum_rows(
            4, from.buffer.array(4), self.x.array(4), self.to.array(1), from.columns, from.pitch / 4,
            from.rows, self.blocks, self.pitch, plan));
    }
}

/// y = x·M. Number c of `y` is the sum of the products of column c with the first numbers of `x`. Whole vectors of 4 words
/// of `y` are written.
///
/// `scratch` holds [`columns_scratch_words`]; without any it may be any buffer.
///
/// # Errors
/// Where the device fails, where a buffer is too short, for more than 2³² vectors of 16 bytes, and where `y` or the scratch memory that is
/// needed is one of the other buffers.
pub fn vector_matrix(
    gpu: &Gpu,
    x: &Buffer,
    matrix: Matrix<'_>,
    y: &Buffer,
    scratch: &Buffer,
) -> Result<(), DeviceError> {
    let tuning = policy::tuning(gpu.report(), COLUMNS_NAME, &COLUMNS_SPACE, COLUMNS_DEFAULT);
    vector_matrix_with(gpu, tuning, x, matrix, y, scratch)
}

/// [`vector_matrix`] with another layout.
///
/// # Errors
/// As [`vector_matrix`], and where the layout is not of [`COLUMNS_SPACE`].
pub fn vector_matrix_with(
    gpu: &Gpu,
    tuning: Tuning,
    x: &Buffer,
    matrix: Matrix<'_>,
    y: &Buffer,
    scratch: &Buffer,
) -> Result<(), DeviceError> {
    gpu.check_layout(&COLUMNS_SPACE, tuning)?;
    matrix.check(gpu)?;
    let needed = columns_scratch_words(matrix.rows, matrix.columns);
    gpu.holds("x", x, u64::from(matrix.rows).next_multiple_of(4))?;
    gpu.holds("y", y, u64::from(matrix.columns).next_multiple_of(4))?;
    gpu.holds("scratch memory", scratch, needed as u64)?;
    if matrix.columns == 0 {
        return Ok(());
    }
    apart(gpu, [matrix.buffer, x], y, (needed > 0).then_some(scratch))?;
    let (mut from, mut ones, mut place) = (matrix, false, 0);
    // What holds the sums of blocks, while they are read.
    let mut held;
    loop {
        let blocks = from.rows.div_ceil(ROWS as u32).max(1);
        if blocks == 1 || merges(gpu, from) {
            return across(gpu, tuning, (!ones).then_some(x), from, y);
        }
        let pitch = matrix.columns.next_multiple_of(4);
        let words = (u64::from(blocks) * u64::from(pitch)).next_multiple_of(64);
        let part = gpu.part("scratch memory", scratch, place, words)?;
        across(gpu, tuning, (!ones).then_some(x), from, &part)?;
        place += words;
        held = part;
        from = Matrix {
            buffer: &held,
            rows: blocks,
            columns: matrix.columns,
            pitch,
        };
        ones = true;
    }
}

/// Whether a cube takes all blocks of its columns: where there are some, and not so many columns that a second launch is short beside them.
fn merges(gpu: &Gpu, matrix: Matrix<'_>) -> bool {
    let blocks = matrix.rows.div_ceil(ROWS as u32);
    let cubes = matrix.columns.div_ceil(4 * MERGED_SIDE);
    (2..=MERGED).contains(&blocks) && cubes <= 8 * gpu.multiprocessors()
}

/// One launch of x·M: sums of blocks, rows of as many vectors as a row of the matrix has. Without `x`, numbers are added.
fn across(
    gpu: &Gpu,
    tuning: Tuning,
    x: Option<&Buffer>,
    from: Matrix<'_>,
    to: &Buffer,
) -> Result<(), DeviceError> {
    let vectors = from.columns.div_ceil(4);
    let blocks = from.rows.div_ceil(ROWS as u32).max(1);
    let plan = if merges(gpu, from) {
        Across::merging(blocks, vectors, x.is_none())
    } else {
        Across::of(tuning, vectors, x.is_none())
    };
    let count = u64::from(blocks.div_ceil(plan.blocks)) * u64::from(vectors.div_ceil(plan.side));
    gpu.at_most("cubes of a product", MOST_CUBES, count)?;
    let launch = ColumnsLaunch {
        from,
        x: x.unwrap_or(from.buffer),
        to,
        vectors,
        count: count as u32,
    };
    gpu.launch(
        "vector × matrix",
        &plan,
        // Where numbers are added, x is the matrix again.
        &[
            Operand::read("the matrix", from.buffer),
            Operand::read("x", launch.x),
            Operand::write("y", to),
        ],
        || on_client!(gpu, client => launch.on(gpu, client, plan)),
    )
}

struct ColumnsLaunch<'a> {
    from: Matrix<'a>,
    x: &'a Buffer,
    to: &'a Buffer,
    vectors: u32,
    count: u32,
}

impl ColumnsLaunch<'_> {
    fn on<R: Runtime>(&self, gpu: &Gpu, client: &ComputeClient<R>, plan: Across) {
        let from = self.from;
        // SAFETY: rows are compared with their number, or clamped, and columns clamped to the last vector, and the buffer holds as
        // many, x a number for each row up to whole vectors; results are written for existing blocks and columns, and the target
        // holds a row of vectors for each block.
        start!(client, (cubes(gpu, self.count), CubeDim::new_1d(plan.units())), unsafe sum_columns(
            4, from.buffer.array(4), self.x.array(4), self.to.array(4), self.vectors, from.pitch / 4,
            from.rows, plan));
    }
}

impl Matrix<'_> {
    fn check(&self, gpu: &Gpu) -> Result<(), DeviceError> {
        let Self {
            buffer,
            rows,
            columns,
            pitch,
        } = *self;
        let row = u64::from(columns).next_multiple_of(4);
        gpu.holds_rows("the matrix", buffer, (rows.into(), row), pitch.into())?;
        // Places of vectors are counted in 32 bits, past the last one too.
        gpu.at_most("vectors of a buffer", 0xF000_0000_u32, buffer.words() as u64 / 4)?;
        gpu.at_most("rows and columns", u32::MAX - 3, rows.max(columns).into())
    }
}

/// Whether what is written is no memory that is read, in all launches together.
fn apart(
    gpu: &Gpu,
    [matrix, x]: [&Buffer; 2],
    y: &Buffer,
    scratch: Option<&Buffer>,
) -> Result<(), DeviceError> {
    let needed = [
        Operand::read("the matrix", matrix),
        Operand::read("x", x),
        Operand::write("y", y),
    ];
    match scratch {
        Some(scratch) => {
            let [matrix, x, y] = needed;
            gpu.check_memory(&[matrix, x, y, Operand::update("scratch memory", scratch)])
        }
        None => gpu.check_memory(&needed),
    }
}
