//! The distance on a device for radii up to 27, 32 pixels of a column in the bits of a word.
//!
//! 1. *Columns*: the mask becomes vertical words, bit r of a word being row r of 32, with a margin around the
//!    output.
//! 2. *Tiles*: a cube (block) computes 32 rows. For every column x of the tile and its margins and every k it
//!    puts Vₖ(x) into shared memory, the rows that have white exactly k rows above or below: two funnel
//!    shifts. The pixels with white exactly d columns and k rows away are Vₖ(x − d) | Vₖ(x + d). Taken in the
//!    order of d² + k² they leave fewer and fewer pixels black, and the number of levels that leave a pixel
//!    black is its answer. It is counted in Gray code, one bit of which changes from level to level
//!    (`bits/levels.rs`): one exclusive or into one of up to eight planes. The planes are then transposed to
//!    bytes, which index the profile in the order of the codes.
//!
//! The work hardly depends on the mask: a unit (thread) stops where nothing around it is white, and once none
//! of its pixels is black, because no later level could count.
//!
//! **Counts** for a column of 32 pixels at a radius of 15, with two columns to a unit, as NVRTC 13.0 compiles
//! it for compute capability 9.0. Operations on integers: 193 pairs (d, k) of one operation with three inputs
//! each, 64 to count 87 levels, 54 for V, 38 to transpose, 60 to look up and pack; 409, or 13 for each pixel,
//! where [`tiles`](super::tiles) take 31 additions fused with a minimum. Words of shared memory: 193 of V
//! read and 18 written, 16 of codes, 32 samples, whose reads collide in banks. Both pipes have about the same
//! to do, 64 operations and 32 words for each clock of a multiprocessor. More columns to a unit share more of
//! what they read: 104 words of V with four, for 157 registers instead of 64.
//!
//! Counted and not written: shifting for each pair, E_d = M(x − d) | M(x + d) by 16 ± k, takes three
//! operations where a read and one stand here. Minima of distances in bit planes, row by row, take
//! some 40 operations for each of 31 rows.

mod columns;
mod levels;
mod shape;
mod tile;

use cubecl::prelude::*;
use relief_raster::Rect;

pub use shape::Policy;
use shape::{HALO, Shape};

use super::mask::{Part, check_depth};
use super::{Excess, Profile, memory};
use crate::device::{Buffer, DeviceError, Gpu, Operand, launch, on_client, start};
use crate::fused::Plane;
use crate::fused::shape::per_word;

/// The greatest radius: the numbers of its levels fit a byte.
pub const MAX_RADIUS: u32 = 27;

/// Rows of a tile: bits of a word.
const ROWS: u32 = 32;

/// The sizes of the vertical words.
#[derive(Clone, Copy, Debug)]
struct Region {
    width: u32,
    height: u32,
    /// Words in a row, a multiple of 4.
    pitch: u32,
    /// Tiles from top to bottom.
    down: u32,
}

impl Region {
    fn new(width: u32, height: u32) -> Result<Self, Excess> {
        Excess::of_sides(width, height)?;
        let region = Self {
            width,
            height,
            pitch: width.next_multiple_of(4) + 2 * HALO,
            down: height.div_ceil(ROWS),
        };
        let words = u64::from(region.pitch) * (u64::from(region.down) + 2);
        Excess::of_words(words)?;
        Ok(region)
    }

    const fn words(&self) -> usize {
        self.pitch as usize * (self.down as usize + 2)
    }
}

/// Bytes of device memory that [`render`] takes besides mask and output, or `None` where the sizes exceed 32 bits.
#[must_use]
pub fn scratch_bytes(width: u32, height: u32) -> Option<u64> {
    Some(Region::new(width, height).ok()?.words() as u64 * 4)
}

/// For each code the index into a profile: its square, or radius² + 1 for beyond. `None` where the radius exceeds
/// [`MAX_RADIUS`].
pub(super) fn squares_of_codes(radius: u32) -> Option<Vec<u32>> {
    (radius <= MAX_RADIUS).then(|| levels::squares_of_codes(radius))
}

/// Renders the pixels of `band` into the rows of `output`, `pitch` words apart; `pitch` is a multiple of 4. The mask's
/// top-left lies at (x, y) in the same coordinates; outside it is black. `scratch` is as of [`super::render`].
///
/// # Errors
/// Where the device fails, where the radius exceeds [`MAX_RADIUS`], and where the band does not fit `output` or 32 bits.
#[allow(clippy::too_many_arguments)]
pub fn render(
    gpu: &Gpu,
    policy: &Policy,
    scratch: Option<&Buffer>,
    mask: &Plane,
    place: (i64, i64),
    profile: &Profile,
    band: Rect,
    output: &Buffer,
    pitch: u32,
) -> Result<(), DeviceError> {
    if band.is_empty() {
        return Ok(());
    }
    let steps = Steps::new(gpu, policy, scratch, profile, band, output, pitch)?;
    steps.columns(mask, place, band)?;
    steps.tiles(output, pitch)
}

struct Steps<'a> {
    gpu: &'a Gpu,
    shape: Shape,
    region: Region,
    bits: Buffer,
    samples_of_codes: &'a Buffer,
}

/// Units of a cube of the first step: groups of four columns in a row.
const ROW: u32 = 128;

impl<'a> Steps<'a> {
    fn new(
        gpu: &'a Gpu,
        policy: &Policy,
        scratch: Option<&Buffer>,
        profile: &'a Profile,
        band: Rect,
        output: &Buffer,
        pitch: u32,
    ) -> Result<Self, DeviceError> {
        crate::fused::check_output(gpu, profile.depth, band, output, pitch)?;
        let radius = profile.radius;
        let Some(samples_of_codes) = &profile.samples_of_codes else {
            return Err(DeviceError::Limit {
                device: gpu.id(),
                what: "pixels of a radius by bits",
                limit: MAX_RADIUS.into(),
                asked: radius.into(),
            });
        };
        let shared = gpu.report().shared_memory;
        let shape = Shape::new(policy, radius, profile.depth, shared);
        let needed = shape.shared_bytes();
        gpu.at_most("bytes of shared memory", shared, needed.into())?;
        let region = Region::new(band.width() as u32, band.height() as u32);
        let region = region.map_err(|excess| excess.on(gpu))?;
        let across = region
            .width
            .div_ceil(shape.width())
            .max((region.pitch / 4).div_ceil(ROW));
        gpu.grid(across, region.down + 2)?;
        Ok(Self {
            gpu,
            shape,
            region,
            bits: memory(gpu, scratch, region.words())?,
            samples_of_codes,
        })
    }

    fn columns(&self, mask: &Plane, (x, y): (i64, i64), band: Rect) -> Result<(), DeviceError> {
        let around = |columns: u32, rows: u32| {
            let (columns, rows) = (i64::from(columns), i64::from(rows));
            let (left, top) = (band.x() - columns, band.y() - rows);
            Rect::between(left, top, band.right() + columns, band.bottom() + rows)
        };
        let (radius, depth) = (self.shape.radius, self.shape.depth);
        check_depth(self.gpu, mask, depth)?;
        let there = Rect::sized(mask.width().into(), mask.height().into())
            .translated(x, y)
            .intersection(&around(radius, radius));
        let part = Part::of(mask, (x, y), there, around(HALO, ROWS), per_word(depth));
        let aligned = part.aligned(per_word(depth));
        let grid = CubeCount::Static((self.region.pitch / 4).div_ceil(ROW), self.region.down + 2, 1);
        let memory = [
            Operand::read("the mask", mask.buffer()),
            Operand::write("scratch memory", &self.bits),
        ];
        self.gpu
            .launch("distance: columns of bits", &(depth, aligned), &memory, || {
                on_client!(self.gpu, client => {
                    columns_on(client, grid.clone(), mask, part, &self.bits, &self.region, depth, aligned)
                })
            })
    }

    fn tiles(&self, output: &Buffer, pitch: u32) -> Result<(), DeviceError> {
        let across = self.region.width.div_ceil(self.shape.width());
        let grid = CubeCount::Static(across, self.region.down, 1);
        let region = &self.region;
        let samples = 8 / per_word(self.shape.depth);
        // SAFETY: of the bits, columns are clamped to the pitch and there are two rows more than the grid has; the table
        // has an entry for every code. In shared memory, places lie within the span, because the margin holds the radius,
        // and codes are bytes of as many bits as the table has entries for. Eight samples are written where the first lies
        // in the band, and rows are padded to as many.
        launch!(
            self.gpu, "distance: tiles of bits", &self.shape,
            &[
                Operand::read("scratch memory", &self.bits),
                Operand::read("the samples of distances", self.samples_of_codes),
                Operand::write("the output", output),
            ],
            (grid, CubeDim::new_1d(self.shape.units)),
            unsafe tile::render(
                samples as usize, self.bits.array(1), self.samples_of_codes.array(1),
                output.array(samples as usize), region.pitch, pitch / samples, region.width, region.height,
                self.shape))
    }
}

#[allow(unsafe_code, clippy::too_many_arguments)]
fn columns_on<R: Runtime>(
    client: &ComputeClient<R>,
    grid: CubeCount,
    mask: &Plane,
    part: Part,
    bits: &Buffer,
    region: &Region,
    depth: u32,
    aligned: bool,
) {
    // SAFETY: vectors are written to the grid's rows and `pitch` / 4 columns alone, for which there is memory; words of
    // the mask are clamped to its rows, which `Plane` has checked to lie in its buffer.
    start!(client, (grid, CubeDim::new_1d(ROW)), unsafe columns::pack(
        4, mask.buffer().array(1), bits.array(4), region.pitch / 4, part.offset, part.pitch, part.words,
        part.left, part.right, part.top, part.bottom, part.column, depth, aligned));
}
