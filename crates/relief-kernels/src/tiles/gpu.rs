//! Tiles on a device: a unit (thread) writes one vector of four words, and looks up in which tile it lies.

use cubecl::prelude::*;

use crate::device::{Buffer, DeviceError, Gpu, Operand, launch};

/// Units of a cube: vectors of a row, and rows.
const CUBE: (u32, u32) = (32, 8);

/// Set in the entry of a tile of one sample.
const UNIFORM: u32 = 1 << 31;

/// A plane and the tiles that it is cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Words of a row of the plane, a multiple of 4.
    pub pitch: u32,
    /// Rows of the plane.
    pub height: u32,
    /// Words of a row of a tile, a multiple of 4.
    pub words: u32,
    /// Rows of a tile.
    pub rows: u32,
}

impl Grid {
    /// Tiles side by side; the last one may reach beyond the plane.
    #[must_use]
    pub const fn across(&self) -> u32 {
        self.pitch.div_ceil(self.words)
    }

    /// All tiles, row by row.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.across() as u64 * self.height.div_ceil(self.rows) as u64
    }

    /// Words of a tile.
    #[must_use]
    pub const fn tile(&self) -> u64 {
        self.words as u64 * self.rows as u64
    }
}

/// The entry of the tile of this number among those that are packed.
#[must_use]
pub const fn packed(number: u32) -> u32 {
    number & !UNIFORM
}

/// The entry of a tile of which every sample is this one: of 8 bits twice in the 16.
#[must_use]
pub const fn uniform(samples: u16) -> u32 {
    UNIFORM | samples as u32
}

/// Writes a plane of which `entries` says what each tile is, made by [`packed()`] or [`uniform`]; `tiles` holds those that are packed, whole,
/// each row by row. What of a tile lies beyond the plane is not written.
///
/// # Errors
/// Where the device fails, where the plane does not fit `output`, and where entries and tiles do not suit the grid.
pub fn expand(
    gpu: &Gpu,
    grid: Grid,
    entries: &[u32],
    tiles: &[u32],
    output: &Buffer,
) -> Result<(), DeviceError> {
    if grid.pitch == 0 || grid.height == 0 {
        return Ok(());
    }
    if grid.words == 0 || grid.rows == 0 {
        return Err(gpu.no_kind("planes", "tiles with samples", "tiles without any"));
    }
    gpu.multiple_of("words of a row of a tile", 4, grid.words.into())?;
    let (pitch, height) = (u64::from(grid.pitch), u64::from(grid.height));
    let words = gpu.holds_rows("the plane", output, (height, pitch), pitch)?;
    let there = tiles.len() as u64;
    gpu.matches("entries, one for each tile", grid.count(), entries.len() as u64)?;
    let stored = entries.iter().filter(|entry| **entry & UNIFORM == 0);
    let last = stored.max().map_or(0, |entry| u64::from(*entry) + 1);
    gpu.at_most("tiles, as many as are given", there / grid.tile(), last)?;
    gpu.at_most("words of a plane", (1_u64 << 31) - 1, words)?;
    gpu.at_most("words of tiles", (1_u64 << 31) - 1, there)?;
    let (entries, tiles) = (
        gpu.upload(entries)?,
        gpu.upload(if there < 4 { &[0; 4] } else { tiles })?,
    );
    let (vectors, height) = (grid.pitch / 4, grid.height);
    let across = vectors.div_ceil(CUBE.0).min(65_535);
    let down = height.div_ceil(CUBE.1).min(65_535);
    // SAFETY: every vector lies in the rows of the plane, which fit the output; an entry is there for each tile, and names one that is
    // packed whole or none.
    launch!(
        gpu, "tiles", &(),
        &[
            Operand::read("the entries of tiles", &entries),
            Operand::read("the tiles", &tiles),
            Operand::write("the plane", output),
        ],
        (CubeCount::Static(across, down, 1), CubeDim::new_2d(CUBE.0, CUBE.1)),
        unsafe expanded(
            4, entries.array(1), tiles.array(4), output.array(4), vectors, height,
            grid.words / 4, grid.rows, grid.across(), across * CUBE.0, down * CUBE.1))
}

#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn expanded<N: Size>(
    entries: &Array<u32>,
    tiles: &Array<Vector<u32, N>>,
    output: &mut Array<Vector<u32, N>>,
    vectors: u32,
    height: u32,
    tile_vectors: u32,
    tile_rows: u32,
    across: u32,
    stride_x: u32,
    stride_y: u32,
) {
    let mut y = ABSOLUTE_POS_Y;
    while y < height {
        let first = y / tile_rows * across;
        let row = y % tile_rows;
        let mut x = ABSOLUTE_POS_X;
        while x < vectors {
            let entry = entries[(first + x / tile_vectors) as usize];
            let mut vector = Vector::<u32, N>::empty();
            if entry >= UNIFORM {
                let word = (entry & 0xFFFF) | (entry << 16);
                #[unroll]
                for k in 0..4usize {
                    vector[k] = word;
                }
            } else {
                vector = tiles[((entry * tile_rows + row) * tile_vectors + x % tile_vectors) as usize];
            }
            output[(y * vectors + x) as usize] = vector;
            x += stride_x;
        }
        y += stride_y;
    }
}
