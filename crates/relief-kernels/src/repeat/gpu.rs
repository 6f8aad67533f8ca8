//! Repeat on a device, from a cell that lies there: a unit (thread) puts one vector together and stores it in
//! a copy or several.
//!
//! The vector at column v of row j comes again in every row that is a multiple of the cell's height away. So
//! a unit takes one vector of one row of the cell, however its samples lie in words, and stores it down the
//! raster; what a copy costs is one store. Neighbouring units store neighbouring vectors.
//!
//! Fused kernels repeat cells too, as leaves of trees: they load a vector for each that they store, from a
//! cell that is stored as often as a vector has samples. That is as fast while all those copies stay near the
//! units; here the cell is small and as it is.

use cubecl::prelude::*;

use crate::device::{Buffer, DeviceError, DeviceReport, Gpu, Operand, launch};
use crate::policy::{self, Space, Tuning};

/// The layouts of [`expand_with`]: [`Tuning::items`] is in how many copies a unit stores its vector.
pub const SPACE: Space = Space {
    units: &[64, 128, 256, 512],
    items: &[1, 2, 4, 8, 16, 32],
    vectors: &[4],
};

/// The layout for samples of so many bits, a raster of so many vectors of 16 bytes and a cell of so many
/// bytes, where no policy names another; without a device, that of most. On software Vulkan starting a unit
/// (thread) costs, so each has eight stores; where memory is slow, a cell of more than 2 MiB is read once for many
/// copies.
#[must_use]
pub fn default(bits: u32, vectors: u64, cell: u64, device: Option<&DeviceReport>) -> Tuning {
    let software = device.is_some_and(|report| report.software);
    let slow = device.is_some_and(DeviceReport::has_slow_memory);
    let items = match bits {
        _ if software => 8,
        32 if vectors > 1 << 22 && slow && cell > LARGE => 16,
        _ => 2,
    };
    Tuning {
        units: 256,
        items,
        vector: 4,
    }
}

/// Bytes of a cell: between the 1 MB of 512² floats and the 4 MB of 1000².
const LARGE: u64 = 2 << 20;

/// Cubes along an axis of a grid, on every device.
const MOST: u64 = 65_535;

/// What the kernel for samples of so many bits is called in policy files.
#[must_use]
pub const fn name(bits: u32) -> &'static str {
    match bits {
        8 => "repeat 8",
        16 => "repeat 16",
        _ => "repeat 32",
    }
}

/// A cell on a device: `height` rows of `width` samples, packed in words, the first of them in the lowest bits.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    /// Where it lies, from the first word on.
    pub buffer: &'a Buffer,
    /// Samples of a row, at least 1.
    pub width: u32,
    /// Rows, at least 1.
    pub height: u32,
    /// Samples from one row to the next; rows may begin inside a word.
    pub pitch: u32,
}

/// A raster to be written on a device, packed in words.
#[derive(Clone, Copy, Debug)]
pub struct Raster<'a> {
    /// Where it lies, from the first word on.
    pub buffer: &'a Buffer,
    /// Samples of a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Words from one row to the next, a multiple of 4.
    pub pitch: u32,
}

/// Repeats a cell of samples of 8, 16 or 32 bits: sample (i, j) of the raster is sample ((x + i) mod width, (y + j) mod
/// height) of the cell. The pattern goes on to the next multiple of 16 bytes in each row; what follows is left as it is.
///
/// # Errors
/// Where the device fails, a buffer does not hold what it should, or the cell is empty.
pub fn expand(
    gpu: &Gpu,
    bits: u32,
    cell: Cell<'_>,
    origin: (u64, u64),
    to: Raster<'_>,
) -> Result<(), DeviceError> {
    let vectors = u64::from(to.width) * u64::from(to.height) / u64::from(128 / bits.clamp(1, 128));
    let samples = u64::from(cell.pitch) * u64::from(cell.height);
    let bytes = samples.saturating_mul(u64::from(bits)) / 8;
    let default = default(bits, vectors, bytes, Some(gpu.report()));
    let tuning = policy::tuning(gpu.report(), name(bits), &SPACE, default);
    expand_with(gpu, tuning, bits, cell, origin, to)
}

/// [`expand`] with another layout.
///
/// # Errors
/// As [`expand`], and where the layout is not of [`SPACE`].
pub fn expand_with(
    gpu: &Gpu,
    tuning: Tuning,
    bits: u32,
    cell: Cell<'_>,
    (x, y): (u64, u64),
    to: Raster<'_>,
) -> Result<(), DeviceError> {
    check(gpu, tuning, bits, cell, to)?;
    if to.width == 0 || to.height == 0 {
        return Ok(());
    }
    let vectors = to.width.div_ceil(128 / bits);
    let (bits, cell, x) = widest(bits, cell, (x % u64::from(cell.width)) as u32);
    let side = 128 / bits;
    // Units past the end of a row have nothing to do, and on software take as long as others.
    let units = tuning
        .units
        .min(vectors.next_multiple_of(gpu.report().plane.1.max(1)));
    let tuning = Tuning { units, ..tuning };
    // Rows of the cell that come up, and parts of their copies. Where software would store a second copy of few rows, each row is one
    // of its own: it takes as long for what lies below the raster as for what lies inside.
    let (rows, copies) = match to.height.div_ceil(cell.height) {
        2 if gpu.report().software => (to.height, 1),
        copies => (cell.height.min(to.height), copies),
    };
    let mut items = tuning.items;
    while gpu.report().software && items / 2 >= copies {
        items /= 2;
    }
    let tuning = Tuning { items, ..tuning };
    let parts = copies.div_ceil(tuning.items);
    let lines = u64::from(rows) * u64::from(parts);
    let across = vectors.div_ceil(tuning.units);
    let layers = lines.div_ceil(MOST);
    gpu.at_most("cubes along a side of a grid", MOST, layers.max(across.into()))?;
    let order = match u64::from(rows.max(parts)) {
        // Each cube costs, so that short rows share one.
        0..=MOST => Order::Rows((256 / tuning.units).max(1)),
        _ => Order::Folded,
    };
    let (down, deep) = match order {
        Order::Rows(high) => (rows.div_ceil(high), parts),
        Order::Folded => (lines.div_ceil(layers) as u32, layers as u32),
    };
    let high = order.rows_of_cube();
    let exact = gpu.report().software
        && order != Order::Folded
        && vectors.is_multiple_of(tuning.units)
        && rows.is_multiple_of(high)
        && u64::from(rows) * u64::from(parts) * u64::from(tuning.items) == u64::from(to.height);
    let whole = [cell.width, cell.pitch, x]
        .iter()
        .all(|samples| samples.is_multiple_of(side));
    let shape = Shape {
        bits,
        tuning,
        order,
        exact,
        whole,
        software: gpu.report().software,
    };
    let origin = (x, (y % u64::from(cell.height)) as u32);
    let width = if shape.whole { 4 } else { 1 };
    // SAFETY: columns and rows of the cell are taken modulo its sides, and its buffer holds all of its samples; rows of
    // the raster are compared with its height, columns with its vectors, and its buffer holds as many.
    launch!(
        gpu, "repeat", &shape,
        &[Operand::read("the cell", cell.buffer), Operand::write("the raster", to.buffer)],
        (CubeCount::Static(across, down, deep), CubeDim::new_2d(shape.tuning.units, shape.order.rows_of_cube())),
        unsafe store_copies(
            width, 4, cell.buffer.array(width), to.buffer.array(4), cell.width, cell.height, cell.pitch,
            origin.0, origin.1, to.height, to.pitch / 4, vectors, rows,
            shape))
}

/// The same cell and column of it as the widest samples that its rows are whole in: a vector is put together
/// of fewer loads.
fn widest(bits: u32, cell: Cell<'_>, x: u32) -> (u32, Cell<'_>, u32) {
    let halves = (cell.width | cell.pitch | x)
        .trailing_zeros()
        .min(5 - bits.ilog2());
    let cell = Cell {
        width: cell.width >> halves,
        pitch: cell.pitch >> halves,
        ..cell
    };
    (bits << halves, cell, x >> halves)
}

fn check(gpu: &Gpu, tuning: Tuning, bits: u32, cell: Cell<'_>, to: Raster<'_>) -> Result<(), DeviceError> {
    if !matches!(bits, 8 | 16 | 32) {
        return Err(gpu.no_kind("repeats", "samples of 8, 16 or 32 bits", format!("{bits} bits")));
    }
    gpu.check_layout(&SPACE, tuning)?;
    let per = u64::from(32 / bits);
    let last = u64::from(cell.height.saturating_sub(1)) * u64::from(cell.pitch) + u64::from(cell.width);
    if cell.width == 0 || cell.height == 0 {
        return Err(gpu.no_kind("repeats", "cells with samples", "a cell without any"));
    }
    gpu.holds("the cell", cell.buffer, last.div_ceil(per))?;
    // Samples of the cell and columns of the raster are counted in 32 bits, before they wrap; so are rows a few copies
    // below the raster.
    gpu.at_most("samples of a cell", 1_u64 << 31, last)?;
    gpu.at_most("columns", 1_u64 << 30, to.width.max(cell.width).into())?;
    gpu.at_most("rows", 1_u64 << 26, to.height.into())?;
    let row = u64::from(to.width.div_ceil(128 / bits)) * 4;
    let words = gpu.holds_whole_rows("the raster", to.buffer, (to.height.into(), row), to.pitch.into())?;
    gpu.at_most("vectors of a raster", u32::MAX, words / 4)
}

/// What is compiled into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    /// Of the samples that a vector is put together of.
    bits: u32,
    tuning: Tuning,
    order: Order,
    /// Whether no unit has a copy outside of the raster, on software Vulkan, which loads each size for each
    /// lane. A kernel without these comparisons is faster by a quarter or more.
    exact: bool,
    /// Whether vectors of the raster are vectors of the cell.
    whole: bool,
    /// Whether the device is software Vulkan.
    software: bool,
}

/// How rows and parts of their copies are dealt out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Order {
    /// So many rows a cube along the second axis, parts along the third.
    Rows(u32),
    /// There are too many for an axis each: a row of a part for each cube, counted along both.
    Folded,
}

impl Order {
    const fn rows_of_cube(self) -> u32 {
        match self {
            Self::Rows(rows) => rows,
            Self::Folded => 1,
        }
    }
}

#[cube(launch_unchecked)]
fn store_copies<M: Size, N: Size>(
    cell: &Array<Vector<u32, M>>,
    to: &mut Array<Vector<u32, N>>,
    cell_width: u32,
    cell_height: u32,
    cell_pitch: u32,
    x: u32,
    y: u32,
    height: u32,
    pitch: u32,
    vectors: u32,
    rows: u32,
    #[comptime] shape: Shape,
) {
    let items = comptime!(shape.tuning.items);
    let vector = CUBE_POS_X * comptime!(shape.tuning.units) + UNIT_POS_X;
    // Rows of the cell first: what cubes store at the same time lies near each other.
    let mut row = CUBE_POS_Y * comptime!(shape.order.rows_of_cube()) + UNIT_POS_Y;
    let mut part = CUBE_POS_Z;
    if comptime!(shape.order == Order::Folded) {
        let line = CUBE_POS_Z * CUBE_COUNT_Y + CUBE_POS_Y;
        part = line / rows;
        row = line - part * rows;
    }
    // At most 35 times the raster's rows, of which there are 2^26, and 32 for each cube past the last line.
    let mut j = row + part * items * rows;
    if comptime!(shape.exact) || (vector < vectors && row < rows && j < height) {
        // Fewer than three times the cell's height: without quotients, which software Vulkan computes one
        // lane after the other.
        let below = y + row;
        let below = select(below >= cell_height, below - cell_height, below);
        let source = select(below >= cell_height, below - cell_height, below) * cell_pitch;
        let column = (x + vector * comptime!(128 / shape.bits)) % cell_width;
        let width = if comptime!(shape.software) {
            held(cell_width)
        } else {
            cell_width
        };
        let value = if comptime!(shape.whole) {
            Vector::cast_from(cell[((source + column) / comptime!(128 / shape.bits)) as usize])
        } else {
            vector_at::<M, N>(cell, source, column, width, comptime!(shape.bits))
        };
        // Copies are the cell's height apart, which is `rows` where there is a second one.
        if comptime!(shape.software) {
            // rung: repeat on gpu: copies
            let (apart, end) = (held(rows), held(height));
            let stride = held(rows * pitch);
            let mut place = j * pitch + vector;
            to[place as usize] = value;
            #[unroll]
            for _ in 1..items {
                j += apart;
                place += stride;
                if comptime!(shape.exact) || j < end {
                    to[place as usize] = value;
                }
            }
            // end
        } else {
            to[(j * pitch + vector) as usize] = value;
            #[unroll]
            for _ in 1..items {
                j += rows;
                if j < height {
                    to[(j * pitch + vector) as usize] = value;
                }
            }
        }
    }
}

/// A number in a variable: on software Vulkan, each lane reads a number of the launch from memory wherever it
/// is used.
#[cube]
pub(crate) fn held(number: u32) -> u32 {
    let mut held = u32::new(0);
    held += number;
    held
}

/// The vector of samples `column`… of the cell's row that begins at sample `source`.
#[cube]
fn vector_at<M: Size, N: Size>(
    cell: &Array<Vector<u32, M>>,
    source: u32,
    column: u32,
    width: u32,
    #[comptime] bits: u32,
) -> Vector<u32, N> {
    let per = comptime!(32 / bits);
    let mut column = column;
    let mut result = Vector::<u32, N>::empty();
    #[unroll]
    for k in 0..4usize {
        let mut word = u32::new(0);
        #[unroll]
        for b in 0..per {
            let place = source + column;
            let held = cell[(place / per) as usize][0usize] >> (place % per * bits);
            word |= (held & comptime!(u32::MAX >> (32 - bits))) << comptime!(b * bits);
            column += 1u32;
            column = select(column == width, 0u32, column);
        }
        result[k] = word;
    }
    result
}
