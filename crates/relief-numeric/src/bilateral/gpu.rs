//! The bilateral grid on a device: three launches.
//!
//! *Splat*: a cube (block) computes some neighbouring columns of cells from the pixels that belong to them,
//! counting and adding in shared memory, blurs them along the values there, and writes each cell once: no
//! counter in memory has to be cleared or waited for. *Blur* takes 25 cells for each, along rows and columns
//! at once: the grid is small and stays in the cache. *Slice* reads four pairs of cells for each pixel, and
//! stores whole words.

use cubecl::prelude::*;

use super::{Bilateral, BilateralError, Cells, STEPS};
use crate::element::Element;
use crate::transpose::gpu::Matrix;
use relief_kernels::device::{Buffer, DeviceError, Gpu, Operand, on_client, start};

mod kernel;

/// The greatest value of samples of a kind; nothing for integers of 32 bits, which are no samples.
const fn greatest(element: Element) -> Option<u32> {
    match element {
        Element::U8 => Some(255),
        Element::U16 => Some(65_535),
        Element::F32 => Some(STEPS),
        Element::U32 | Element::I32 => None,
    }
}

/// Words of scratch: two grids of two floats for each cell.
///
/// # Errors
/// As [`Bilateral::cells`]; integers of 32 bits have none.
pub fn scratch_words(job: Bilateral, element: Element) -> Result<u64, BilateralError> {
    match greatest(element) {
        Some(greatest) => Ok((job.cells(greatest)?.count() * 4).next_multiple_of(4)),
        None => Ok(0),
    }
}

/// Units of a cube.
const UNITS: u32 = 256;

/// Pixels of a cube's row, at least, where shared memory allows it.
const LEAST_ROW: u32 = 64;

/// Words of shared memory that a cube takes, at most: several share a multiprocessor.
const SHARED: u32 = 4_096;

/// Rows of a cube that slices.
const ROWS: u32 = 8;

/// What is compiled into the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    bits: u32,
    float: bool,
    /// Cells along the values.
    deep: u32,
    /// Columns of cells of a cube.
    group: u32,
}

/// Filters a picture of `element`s, 8 or 16 bits or floats between 0 and 1. What follows a row of the result, up to its
/// pitch, becomes 0. `scratch` has [`scratch_words`].
///
/// # Errors
/// Where the device fails, the deviations are out of range, the buffers too small or overlapping, or the picture too large for
/// one launch.
pub fn bilateral(
    gpu: &Gpu,
    element: Element,
    job: Bilateral,
    from: Matrix<'_>,
    to: Matrix<'_>,
    scratch: &Buffer,
) -> Result<(), DeviceError> {
    let Some(greatest) = greatest(element) else {
        return Err(gpu.no_kind("a bilateral filter", "u8, u16 or f32", element.name()));
    };
    let cells = job
        .cells(greatest)
        .map_err(|error| gpu.no_kind("a bilateral filter", "deviations within their limits", error))?;
    if job.width == 0 || job.height == 0 {
        return Ok(());
    }
    let words = u64::from(job.width).div_ceil(u64::from(32 / element.bits()));
    for (matrix, what) in [(from, "the picture"), (to, "the result")] {
        gpu.rows_apart(what, words, matrix.pitch.into())?;
        let needed = u64::from(matrix.pitch) * u64::from(job.height);
        gpu.holds(what, matrix.buffer, needed)?;
        gpu.at_most("words of a picture", u32::MAX, needed)?;
    }
    gpu.holds("scratch memory", scratch, cells.count().saturating_mul(4))?;
    let fitting = (SHARED / (2 * cells.deep)).max(1);
    let group = LEAST_ROW.div_ceil(job.spatial).min(fitting).min(cells.across);
    gpu.grid(cells.across.div_ceil(group), cells.down)?;
    gpu.grid(to.pitch.div_ceil(UNITS / ROWS), job.height.div_ceil(ROWS))?;
    let launch = Launch {
        shape: Shape {
            bits: element.bits(),
            float: element == Element::F32,
            deep: cells.deep,
            group,
        },
        job,
        cells,
        from,
        to,
        scratch,
    };
    gpu.launch(
        "bilateral",
        &launch.shape,
        &[
            Operand::read("the picture", from.buffer),
            Operand::update("scratch memory", scratch),
            Operand::write("the result", to.buffer),
        ],
        || on_client!(gpu, client => launch.on(client)),
    )
}

struct Launch<'a> {
    shape: Shape,
    job: Bilateral,
    cells: Cells,
    from: Matrix<'a>,
    to: Matrix<'a>,
    scratch: &'a Buffer,
}

impl Launch<'_> {
    fn on<R: Runtime>(&self, client: &ComputeClient<R>) {
        let Self {
            shape, job, cells, ..
        } = *self;
        let count = cells.count() as u32;
        let cubes = count.div_ceil(UNITS);
        let grid_rows = cubes.div_ceil(65_535).max(1);
        // SAFETY: pixels are compared with the picture's size, which the buffers were checked to hold; cells with their count, of
        // which scratch holds twice as many; and a pixel's cells lie within the grid by its size.
        start!(
            client, (CubeCount::Static(cells.across.div_ceil(shape.group), cells.down, 1), CubeDim::new_1d(UNITS)),
            unsafe kernel::splat(
                2, self.from.buffer.array(1), self.scratch.array(2), job.width, job.height,
                self.from.pitch, job.spatial, job.range, cells.across, shape));
        start!(
            client, (CubeCount::Static(cubes.div_ceil(grid_rows), grid_rows, 1), CubeDim::new_1d(UNITS)),
            unsafe kernel::blur(2, self.scratch.array(2), cells.across, cells.down, count, shape));
        let words = self.to.pitch;
        start!(
            client, (CubeCount::Static(words.div_ceil(UNITS / ROWS), job.height.div_ceil(ROWS), 1), CubeDim::new_2d(UNITS / ROWS, ROWS)),
            unsafe kernel::slice(
                2, self.from.buffer.array(1), self.scratch.array(2), self.to.buffer.array(1), job.width,
                job.height, self.from.pitch, self.to.pitch, job.spatial, job.range, cells.across, count,
                shape));
    }
}
