//! The distance on a device for radii up to 118, tile by tile in shared memory.
//!
//! 1. *Blocks*: the mask becomes words of 4 columns × 8 rows, one bit per pixel: byte k of a word is column
//!    k, bit r of it row r. A margin of the radius, rounded up to 8, surrounds the output.
//! 2. *Tiles*: for each column of the tile and of the margin left and right of it a unit (thread) looks up
//!    and down from the tile for the nearest white pixel, four columns at once in the bytes of a word, and
//!    carries how far it is from block to block. The cube (block) then sweeps the blocks down and up, which
//!    gives g, the distance along the column; each unit takes eight pixels of a row and finds the least dx² +
//!    g² chunk by chunk of eight columns, outwards from its own. Chunks without a white pixel within the
//!    radius are not looked at: a bit for each says so, and the next one is found by counting zeros. A chunk
//!    is skipped where its least g cannot win, and the search ends where dx² alone cannot.
//!
//! Columns come first, the other way round than in [`render`](super::render): their sweeps are a few
//! operations for four pixels at once, where zeros in front of a bit take several for each, and eight
//! neighbours of a row share what is loaded and leave in one store. Only 1/8 of a byte per pixel lies in
//! memory between the steps.
//!
//! What limits: additions fused with a minimum, of which step 3 needs up to 2·radius + 1 per pixel.

mod blocks;
mod rows;
mod tile;

use std::hash::Hash;

use cubecl::prelude::*;
use relief_raster::{Depth, Rect};

use super::mask::{Part, check_depth};
use super::{Excess, Profile, memory};
use crate::device::{Buffer, DeviceError, Gpu, Operand, on_client, start};
use crate::fused::Plane;
use crate::fused::shape::per_word;

/// The greatest radius: bytes hold radius + 1 and a block's height more without their top bit, which comparisons use.
pub const MAX_RADIUS: u32 = 118;

/// Columns of a chunk and rows of a block.
const CHUNK: u32 = 8;

/// Units of a cube.
const UNITS: u32 = 256;

/// How a tile is computed; what can be measured against alternatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Policy {
    /// Chunks of 8 columns in a tile's width.
    pub chunks: u32,
    /// Blocks of 8 rows in a tile's height, halved until the tile fits shared memory.
    pub blocks: u32,
    /// Up to this radius all chunks are looked at, without the least g of each.
    pub nearby: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            chunks: 28,
            blocks: 8,
            nearby: 32,
        }
    }
}

impl Policy {
    /// The tiles of a picture: lower ones where there are not four of the usual for each multiprocessor, small ones where there are not two. They take no more
    /// memory, because their sides divide the usual.
    #[must_use]
    pub fn fitting(gpu: &Gpu, width: u32, height: u32) -> Self {
        let usual = Self::default();
        let tiles = u64::from(width.div_ceil(usual.chunks * CHUNK))
            * u64::from(height.div_ceil(usual.blocks * CHUNK));
        let multiprocessors = u64::from(gpu.multiprocessors());
        match tiles {
            _ if gpu.report().software => usual,
            tiles if tiles < 2 * multiprocessors => Self::SMALL,
            tiles if tiles < 4 * multiprocessors => Self::LOW,
            _ => usual,
        }
    }

    /// For pictures of which each multiprocessor would have two or three usual tiles: some end long before the others.
    const LOW: Self = Self {
        chunks: 28,
        blocks: 4,
        nearby: 32,
    };

    /// For small pictures.
    const SMALL: Self = Self {
        chunks: 14,
        blocks: 2,
        nearby: 32,
    };
}

/// Everything that shapes the kernel of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    radius: u32,
    /// Chunks left and right, blocks above and below.
    reach: u32,
    /// Chunks and blocks of a tile.
    chunks: u32,
    blocks: u32,
    nearby: bool,
    /// Bits of a sample.
    depth: u32,
    /// How shared memory holds the profile.
    table: Table,
    /// Whether units vote in planes of 32 instead of looking at 32 chunks one by one.
    ballots: bool,
}

/// How shared memory holds the profile, whose entries units ask for all over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Table {
    /// An entry in a word.
    Words,
    /// As it lies in memory, several entries in a word.
    Packed,
    /// Not at all: units ask memory.
    Elsewhere,
}

impl Shape {
    /// The tile of a policy, as high as fits `shared` bytes; a tile of one block does so from 4 KiB on.
    fn new(policy: &Policy, radius: u32, depth: Depth, shared: u32, ballots: bool) -> Self {
        let mut shape = Self {
            radius,
            reach: radius.div_ceil(CHUNK),
            chunks: policy.chunks.max(1),
            blocks: policy.blocks.max(1),
            nearby: radius <= policy.nearby,
            depth: depth.bits(),
            table: if radius <= 31 {
                Table::Words
            } else {
                Table::Elsewhere
            },
            ballots,
        };
        while shape.blocks > 1 && shape.shared_bytes() > shared {
            shape.blocks = shape.blocks.div_ceil(2);
        }
        while shape.chunks > 1 && shape.shared_bytes() > shared {
            shape.chunks = shape.chunks.div_ceil(2);
        }
        let packed = Self {
            table: Table::Packed,
            ..shape
        };
        match shape.table {
            Table::Elsewhere if packed.shared_bytes() <= shared => packed,
            _ => shape,
        }
        .looked_up()
    }

    /// The same without the profile in shared memory where to put it there takes more loads than to look samples up.
    const fn looked_up(self) -> Self {
        let samples = self.rows() * self.chunks * CHUNK;
        if samples < self.table_words() {
            let table = Table::Elsewhere;
            return Self { table, ..self };
        }
        self
    }

    /// Chunks of a tile with its margins.
    const fn span(self) -> u32 {
        self.chunks + 2 * self.reach
    }

    /// Rows of a tile.
    const fn rows(self) -> u32 {
        self.blocks * CHUNK
    }

    /// Words that hold the least g of the chunks, four rows a word.
    const fn least_words(self) -> u32 {
        if self.nearby {
            1
        } else {
            self.blocks * 2 * self.span()
        }
    }

    /// Words that say which chunks of four rows have a white pixel within the radius, a bit for each, and one more.
    const fn flag_words(self) -> u32 {
        self.span().div_ceil(32) + 1
    }

    /// The same of all rows.
    const fn all_flag_words(self) -> u32 {
        if self.nearby {
            1
        } else {
            self.blocks * 2 * self.flag_words()
        }
    }

    /// Words of the profile in shared memory.
    const fn table_words(self) -> u32 {
        let entries = self.radius * self.radius + 2;
        match self.table {
            Table::Words => entries,
            Table::Packed => entries.div_ceil(32 / self.depth),
            Table::Elsewhere => 1,
        }
    }

    const fn shared_bytes(self) -> u32 {
        4 * (self.rows() * self.span() * 2 + self.least_words() + self.all_flag_words() + self.table_words())
    }
}

/// The sizes of the steps' rasters.
#[derive(Clone, Copy, Debug)]
struct Region {
    shape: Shape,
    width: u32,
    height: u32,
    /// Tiles across and down.
    tiles: (u32, u32),
    /// Chunks in a row of blocks, margins included.
    span: u32,
    /// Rows of blocks without margins.
    blocks: u32,
}

impl Region {
    fn new(width: u32, height: u32, shape: Shape) -> Result<Self, Excess> {
        Excess::of_sides(width, height)?;
        let tiles = (
            width.div_ceil(shape.chunks * CHUNK),
            height.div_ceil(shape.rows()),
        );
        let region = Self {
            shape,
            width,
            height,
            tiles,
            span: tiles.0 * shape.chunks + 2 * shape.reach,
            blocks: tiles.1 * shape.blocks,
        };
        let words = u64::from(region.span) * 2 * u64::from(region.blocks + 2 * shape.reach);
        Excess::of_words(words)?;
        Ok(region)
    }

    /// Words of the blocks.
    const fn words(&self) -> usize {
        self.span as usize * 2 * (self.blocks + 2 * self.shape.reach) as usize
    }
}

/// Bytes of device memory that [`render`] takes besides mask and output, or `None` where the sizes exceed 32 bits or
/// the radius [`MAX_RADIUS`].
#[must_use]
pub fn scratch_bytes(gpu: &Gpu, policy: &Policy, width: u32, height: u32, radius: u32) -> Option<u64> {
    scratch_with(policy, width, height, radius, gpu.report().shared_memory)
}

/// What [`scratch_bytes`] gives at the most, whatever the shared memory of the device: tiles that it makes smaller are
/// padded less.
pub(super) fn most_scratch_bytes(width: u32, height: u32, radius: u32) -> Option<u64> {
    scratch_with(&Policy::default(), width, height, radius, u32::MAX)
}

fn scratch_with(policy: &Policy, width: u32, height: u32, radius: u32, shared: u32) -> Option<u64> {
    if radius > MAX_RADIUS {
        return None;
    }
    // The depth takes no part in the sizes.
    let shape = Shape::new(policy, radius, Depth::Eight, shared, false);
    Some(Region::new(width, height, shape).ok()?.words() as u64 * 4)
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
    steps.blocks(mask, place, band)?;
    steps.tiles(profile, output, pitch)
}

struct Steps<'a> {
    gpu: &'a Gpu,
    region: Region,
    blocks: Buffer,
}

/// Units of a cube of the first two steps: blocks of a row.
const ROW: u32 = 128;

impl<'a> Steps<'a> {
    fn new(
        gpu: &'a Gpu,
        policy: &Policy,
        scratch: Option<&Buffer>,
        profile: &Profile,
        band: Rect,
        output: &Buffer,
        pitch: u32,
    ) -> Result<Self, DeviceError> {
        crate::fused::check_output(gpu, profile.depth, band, output, pitch)?;
        let radius = profile.radius;
        gpu.at_most("pixels of a radius by tiles", MAX_RADIUS, radius.into())?;
        let shared = gpu.report().shared_memory;
        let ballots = gpu.report().plane == (32, 32);
        let shape = Shape::new(policy, radius, profile.depth, shared, ballots);
        let needed = shape.shared_bytes();
        gpu.at_most("bytes of shared memory", shared, needed.into())?;
        let region = Region::new(band.width() as u32, band.height() as u32, shape);
        let region = region.map_err(|excess| excess.on(gpu))?;
        let across = region.tiles.0.max((region.span * 2).div_ceil(ROW));
        gpu.grid(across, region.blocks + 2 * shape.reach)?;
        Ok(Self {
            gpu,
            region,
            blocks: memory(gpu, scratch, region.words())?,
        })
    }

    fn blocks(&self, mask: &Plane, (x, y): (i64, i64), band: Rect) -> Result<(), DeviceError> {
        let region = &self.region;
        let depth = region.shape.depth;
        check_depth(self.gpu, mask, depth)?;
        let margin = i64::from(region.shape.reach * CHUNK);
        let around = Rect::between(
            band.x() - margin,
            band.y() - margin,
            band.right() + margin,
            band.bottom() + margin,
        );
        let there = Rect::sized(mask.width().into(), mask.height().into())
            .translated(x, y)
            .intersection(&around);
        let part = Part::of(mask, (x, y), there, around, per_word(depth));
        let aligned = part.aligned(per_word(depth));
        let grid = CubeCount::Static(
            (region.span * 2).div_ceil(ROW),
            region.blocks + 2 * region.shape.reach,
            1,
        );
        let memory = [
            Operand::read("the mask", mask.buffer()),
            Operand::write("scratch memory", &self.blocks),
        ];
        self.gpu
            .launch("distance: blocks", &(depth, aligned), &memory, || {
                on_client!(self.gpu, client => {
                    blocks_on(client, grid.clone(), mask, part, &self.blocks, region, aligned)
                })
            })
    }

    fn tiles(&self, profile: &Profile, output: &Buffer, pitch: u32) -> Result<(), DeviceError> {
        let region = &self.region;
        let grid = CubeCount::Static(region.tiles.0, region.tiles.1, 1);
        self.gpu.launch(
            "distance: tiles",
            &region.shape,
            &[
                Operand::read("scratch memory", &self.blocks),
                Operand::read("the samples of distances", &profile.table),
                Operand::write("the output", output),
            ],
            || {
                on_client!(self.gpu, client => {
                    let region = &self.region;
                    let samples = 8 / per_word(region.shape.depth);
                    // SAFETY: the blocks hold every tile with its margins; the table has an entry for every square up to
                    // radius² + 1; eight samples are written where the first lies in the band, and rows are padded to as many.
                    let pairs = |b: &Buffer| b.array(2);
                    start!(client, (grid.clone(), CubeDim::new_1d(UNITS)), unsafe tile::render(
                        2, samples as usize, pairs(&self.blocks), profile.table.array(1),
                        output.array(samples as usize), region.span, pitch / samples, region.width,
                        region.height, region.shape));
                })
            },
        )
    }
}

fn blocks_on<R: Runtime>(
    client: &ComputeClient<R>,
    grid: CubeCount,
    mask: &Plane,
    part: Part,
    blocks: &Buffer,
    region: &Region,
    aligned: bool,
) {
    // SAFETY: words are written to blocks of the grid's rows and `span` × 2 columns alone, for which there is memory;
    // words of the mask are clamped to its rows, which `Plane` has checked to lie in its buffer.
    start!(client, (grid, CubeDim::new_1d(ROW)), unsafe blocks::pack(
        mask.buffer().array(1), blocks.array(1), region.span * 2, part.offset, part.pitch, part.words,
        part.left, part.right, part.top, part.bottom, part.column, region.shape.depth, aligned));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_and_smaller_tiles_take_no_more_memory_than_what_is_said_of_all() {
        for radius in [0, 15, 16, 32, 100, MAX_RADIUS] {
            for width in 1..600 {
                let height = 1 + width * 7 % 301;
                for shared in [16 << 10, 48 << 10, u32::MAX] {
                    let said = most_scratch_bytes(width, height, radius);
                    for policy in [Policy::LOW, Policy::SMALL] {
                        let taken = scratch_with(&policy, width, height, radius, shared);
                        assert!(
                            taken <= said,
                            "{width} × {height}, radius {radius}, {policy:?}: {taken:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_said_of_memory_is_no_less_for_longer_sides() {
        for radius in [0, 32, MAX_RADIUS] {
            for side in 1..600 {
                let said = |width, height| most_scratch_bytes(width, height, radius).unwrap();
                assert!(said(side, 70) <= said(side + 1, 70), "{side}");
                assert!(said(70, side) <= said(70, side + 1), "{side}");
            }
        }
    }
}
