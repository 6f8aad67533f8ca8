//! The distance on a device for every radius, by steps over whole rows.
//!
//! 1. *Whites*: the mask becomes one bit per pixel, with a margin of the radius on every side.
//! 2. *Rows*: g, how far the nearest white pixel of the same row is, from leading and trailing zeros of the bits of a
//!    word and, where that has none, of its neighbours up to the radius.
//! 3. *Columns*: a = min of g² + dy² over the rows within the radius, outwards from the pixel's own row until dy² alone
//!    is no less. Beyond a radius of 32, eight rows are skipped at once where the least g of them cannot win.
//!
//! g takes 8 bits up to a radius of 254, so that four pixels come with one word; up to 15 it is stored squared. What
//! limits step 3 is instructions: two or three for each pixel and row visited.

mod columns;
mod nearest;
mod whites;

use cubecl::prelude::*;
use relief_raster::{Depth, Rect};

use super::mask::check_depth;
use super::{Excess, Profile, memory};
use crate::device::{Buffer, DeviceError, Gpu, Operand, launch, on_client, start};
use crate::fused::Plane;

/// How g is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Stored {
    bits: u32,
    squared: bool,
}

impl Stored {
    const fn fitting(radius: u32) -> Self {
        Self {
            bits: if radius <= 254 { 8 } else { 16 },
            squared: radius <= 15,
        }
    }

    /// What stands for no white pixel within the radius; its square is beyond the radius too.
    const fn none(self, radius: u32) -> u32 {
        if self.squared { 255 } else { radius + 1 }
    }
}

/// The sizes of the steps' rasters.
#[derive(Clone, Copy, Debug)]
struct Region {
    radius: u32,
    /// Pixels of output.
    width: u32,
    height: u32,
    /// Rows with the margin.
    rows: u32,
    /// Pixels left and right, a multiple of 32.
    margin: u32,
    /// Words of bits in a row.
    bit_pitch: u32,
    /// Words of g in a row: those of a multiple of 32 pixels.
    row_pitch: u32,
    stored: Stored,
}

impl Region {
    fn new(width: u32, height: u32, radius: u32) -> Result<Self, Excess> {
        Excess::of_sides(width, height)?;
        let margin = radius.div_ceil(32) * 32;
        let stored = Stored::fitting(radius);
        let columns = width.div_ceil(32) * 32;
        let region = Self {
            radius,
            width,
            height,
            rows: height + 2 * radius,
            margin,
            bit_pitch: columns / 32 + 2 * margin / 32,
            row_pitch: columns / (32 / stored.bits),
            stored,
        };
        let pitch = region.bit_pitch.max(region.row_pitch);
        Excess::of_words(u64::from(pitch) * u64::from(region.rows))?;
        Ok(region)
    }

    /// Words of bits, of g and of its minima, each where a [`Buffer::part`] can begin.
    fn words(&self) -> [usize; 3] {
        let rows = self.rows as usize;
        let far = if self.radius > NEAR {
            self.rows.div_ceil(BLOCK) as usize
        } else {
            0
        };
        [
            self.bit_pitch as usize * rows,
            self.row_pitch as usize * rows,
            self.row_pitch as usize * far,
        ]
        .map(|words| words.next_multiple_of(64))
    }
}

/// Up to this radius rows are visited one by one.
const NEAR: u32 = 32;

/// Rows that are skipped at once beyond it.
const BLOCK: u32 = 8;

/// Bytes of device memory that [`render`] takes besides mask and output, or `None` where the sizes exceed 32 bits.
#[must_use]
pub fn scratch_bytes(width: u32, height: u32, radius: u32) -> Option<u64> {
    let words = Region::new(width, height, radius).ok()?.words();
    Some(words.iter().map(|words| *words as u64 * 4).sum())
}

/// As [`super::render`], whatever the radius.
///
/// # Errors
/// As [`super::render`].
#[allow(clippy::too_many_arguments)]
pub fn render(
    gpu: &Gpu,
    scratch: Option<&Buffer>,
    mask: &Plane,
    (x, y): (i64, i64),
    profile: &Profile,
    band: Rect,
    output: &Buffer,
    pitch: u32,
) -> Result<(), DeviceError> {
    if band.is_empty() {
        return Ok(());
    }
    crate::fused::check_output(gpu, profile.depth, band, output, pitch)?;
    let radius = profile.radius;
    let region = Region::new(band.width() as u32, band.height() as u32, radius);
    let region = region.map_err(|excess| excess.on(gpu))?;
    let steps = Steps::new(gpu, region, scratch)?;
    steps.whites(mask, profile.depth, (x, y), band)?;
    steps.rows()?;
    if radius > NEAR {
        steps.minima()?;
    }
    steps.columns(profile, output, pitch)
}

struct Steps<'a> {
    gpu: &'a Gpu,
    region: Region,
    bits: Buffer,
    rows: Buffer,
    minima: Buffer,
}

/// Units of a cube: a plane's worth or more along the row, a few rows.
const CUBE: (u32, u32) = (64, 4);

impl<'a> Steps<'a> {
    fn new(gpu: &'a Gpu, region: Region, scratch: Option<&Buffer>) -> Result<Self, DeviceError> {
        let [bits, rows, minima] = region.words();
        let all = memory(gpu, scratch, bits + rows + minima)?;
        let part = |start, words: usize| {
            // One of no words is a few that nobody reads.
            let part = all.part(start, words.max(64));
            part.map_or_else(|| gpu.part("scratch memory", &all, 0, 64), Ok)
        };
        Ok(Self {
            gpu,
            region,
            bits: part(0, bits)?,
            rows: part(bits, rows)?,
            minima: part(bits + rows, minima)?,
        })
    }

    /// A grid that covers `columns` × `rows` units, cubes along the second axis limited by the device; and the rows of
    /// the grid.
    fn grid(&self, columns: u32, rows: u32) -> Result<(CubeCount, u32), DeviceError> {
        let across = columns.div_ceil(CUBE.0);
        let down = rows.div_ceil(CUBE.1).min(self.gpu.report().cubes.min(65_535));
        self.gpu.at_most(
            "words of a row at once",
            u64::from(65_535 * CUBE.0),
            columns.into(),
        )?;
        Ok((CubeCount::Static(across, down, 1), down * CUBE.1))
    }

    fn whites(&self, mask: &Plane, depth: Depth, (x, y): (i64, i64), band: Rect) -> Result<(), DeviceError> {
        check_depth(self.gpu, mask, depth.bits())?;
        let region = &self.region;
        let around = Rect::between(
            band.x() - i64::from(region.margin),
            band.y() - i64::from(region.radius),
            band.right() + i64::from(region.margin),
            band.bottom() + i64::from(region.radius),
        );
        let there = Rect::sized(mask.width().into(), mask.height().into())
            .translated(x, y)
            .intersection(&around);
        let inside = |v: i64, origin: i64| {
            if there.is_empty() {
                0
            } else {
                (v - origin) as i32 as u32
            }
        };
        let numbers = [
            inside(there.x(), around.x()),
            inside(there.right(), around.x()),
            inside(there.y(), around.y()),
            inside(there.bottom(), around.y()),
            inside(x, around.x()),
            inside(y, around.y()),
            mask.height() - 1,
            mask.pitch(),
            mask.offset(),
            mask.row_words() - 1,
        ];
        let (grid, stride) = self.grid(region.bit_pitch, region.rows)?;
        let bits = depth.bits();
        let memory = [
            Operand::read("the mask", mask.buffer()),
            Operand::write("bits of the mask", &self.bits),
        ];
        self.gpu.launch("distance: whites", &bits, &memory, || {
            on_client!(self.gpu, client => whites_on(client, grid.clone(), mask, numbers, &self.bits, region, stride, bits))
        })
    }

    fn rows(&self) -> Result<(), DeviceError> {
        let region = &self.region;
        let (grid, stride) = self.grid(region.row_pitch / 4, region.rows)?;
        let memory = [
            Operand::read("bits of the mask", &self.bits),
            Operand::write("distances along rows", &self.rows),
        ];
        self.gpu.launch("distance: rows", &region.stored, &memory, || {
            on_client!(self.gpu, client => rows_on(client, grid.clone(), &self.bits, &self.rows, region, stride))
        })
    }

    fn minima(&self) -> Result<(), DeviceError> {
        let region = &self.region;
        let (grid, stride) = self.grid(region.row_pitch, region.rows.div_ceil(BLOCK))?;
        let memory = [
            Operand::read("distances along rows", &self.rows),
            Operand::write("least distances of blocks", &self.minima),
        ];
        self.gpu.launch("distance: minima", &region.stored, &memory, || {
            on_client!(self.gpu, client => minima_on(client, grid.clone(), &self.rows, &self.minima, region, stride))
        })
    }

    fn columns(&self, profile: &Profile, output: &Buffer, pitch: u32) -> Result<(), DeviceError> {
        let region = &self.region;
        let (grid, stride) = self.grid(region.width.div_ceil(4), region.height)?;
        let shape = (region.stored, profile.depth, region.radius > NEAR);
        let memory = [
            Operand::read("distances along rows", &self.rows),
            Operand::read("least distances of blocks", &self.minima),
            Operand::read("the samples of distances", &profile.table),
            Operand::write("the output", output),
        ];
        let region = &self.region;
        // SAFETY: visited rows lie within the radius of an output row, so inside g, and blocks of the minima are those of
        // such rows; the table has an entry for every square up to radius² + 1; the output was checked to hold the band.
        launch!(self.gpu, "distance: columns", &shape, &memory, (grid, CubeDim::new_2d(CUBE.0, CUBE.1)),
            unsafe columns::columns(
                self.rows.array(1), self.minima.array(1), profile.table.array(1), output.array(1),
                region.row_pitch, pitch, region.width, region.height, region.radius, stride, region.stored,
                profile.depth.bits(), region.radius > NEAR))
    }
}

#[allow(unsafe_code, clippy::too_many_arguments)]
fn whites_on<R: Runtime>(
    client: &ComputeClient<R>,
    grid: CubeCount,
    mask: &Plane,
    numbers: [u32; 10],
    bits: &Buffer,
    region: &Region,
    stride: u32,
    depth: u32,
) {
    // SAFETY: the bits have `rows` rows of `bit_pitch` words, and words of the mask are clamped to its rows, which `Plane` has
    // checked to lie in its buffer.
    start!(client, (grid, CubeDim::new_2d(CUBE.0, CUBE.1)), unsafe whites::whites(
        mask.buffer().array(1), numbers.into_iter().collect(), bits.array(1), region.bit_pitch,
        region.rows, stride, depth));
}

fn rows_on<R: Runtime>(
    client: &ComputeClient<R>,
    grid: CubeCount,
    bits: &Buffer,
    rows: &Buffer,
    region: &Region,
    stride: u32,
) {
    // SAFETY: g has `rows` rows of `row_pitch` words, a multiple of 4, and reads of the bits reach no farther than the
    // margin.
    start!(client, (grid, CubeDim::new_2d(CUBE.0, CUBE.1)), unsafe nearest::rows_of_distances(
        4, bits.array(1), rows.array(4), region.bit_pitch, region.row_pitch / 4, region.rows,
        region.margin / 32, region.radius, region.stored.none(region.radius), stride, region.stored));
}

fn minima_on<R: Runtime>(
    client: &ComputeClient<R>,
    grid: CubeCount,
    rows: &Buffer,
    minima: &Buffer,
    region: &Region,
    stride: u32,
) {
    // SAFETY: the last block is clamped to the rows there are.
    start!(client, (grid, CubeDim::new_2d(CUBE.0, CUBE.1)), unsafe nearest::minima_of_blocks(
        rows.array(1), minima.array(1), region.row_pitch, region.rows, stride, region.stored.bits));
}
