//! The distance on a device for radii up to 27, 32 pixels of a column in the bits of a word.
//!
//! 1. *Columns*: the mask becomes vertical words, bit r of a word being row r of 32, with a margin around the output.
//! 2. *Tiles*: a cube computes 32 rows. For every column x of the tile and its margins and every k it puts Vₖ(x) into
//!    shared memory, the rows that have white exactly k rows above or below: two funnel shifts. The pixels with white
//!    exactly d columns and k rows away are Vₖ(x − d) | Vₖ(x + d). Taken in the order of d² + k² they leave fewer and
//!    fewer pixels black, and the number of levels that leave a pixel black is its answer. It is counted in Gray code,
//!    one bit of which changes from level to level (`bits/levels.rs`): one exclusive or into one of up to eight planes.
//!    The planes are then transposed to bytes, which index the profile in the order of the codes.
//!
//! The work hardly depends on the mask: a unit stops where nothing around it is white, and once none of its pixels is
//! black, because no later level could count.
//!
//! **Counts** for a column of 32 pixels at a radius of 15, with two columns to a unit, as NVRTC 13.0 compiles it for
//! compute capability 9.0. Operations on integers: 193 pairs (d, k) of one operation with three inputs each, 64 to count
//! 87 levels, 52 for V, 40 to transpose, 51 to look up and pack; 400, or 12.5 for each pixel, where
//! [`tiles`](super::tiles) take 31 additions fused with a minimum. Words of shared memory: 193 of V read and 18 written,
//! 16 of codes, 32 samples, whose reads collide in banks. Both pipes have about the same to do, 64 operations and 32
//! words for each clock of a multiprocessor. More columns to a unit share more of what they read: 104 words of V with
//! four, for 157 registers instead of 64.
//!
//! Counted and not written: shifting for each pair, E_d = M(x − d) | M(x + d) by 16 ± k, takes three operations where a
//! read and one stand here. Minima of distances in bit planes, row by row, take some 40 operations for each of 31 rows.

mod columns;
mod levels;
mod tile;

use cubecl::prelude::*;
use relief_raster::{Depth, Rect};

use super::Profile;
use super::mask::Part;
use crate::device::{Buffer, DeviceError, Gpu, on_client};
use crate::fused::Plane;
use crate::fused::shape::per_word;

/// The greatest radius: the numbers of its levels fit a byte.
pub const MAX_RADIUS: u32 = 27;

/// Rows of a tile: bits of a word.
const ROWS: u32 = 32;

/// Columns of bits before the output's first and after its last; no less than the margin of any [`Shape`].
const HALO: u32 = 32;

/// How a tile is computed; what can be measured against alternatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Policy {
    /// Neighbouring columns of a unit, 1 to 4: the more, the fewer words each reads, and the more it holds.
    pub columns: u32,
    /// Units of a cube, a multiple of 8, halved until the tile fits shared memory.
    pub units: u32,
    /// Whether a unit looks, after levels far apart, if any of its pixels is still black.
    pub exits: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            columns: 2,
            units: 128,
            exits: true,
        }
    }
}

/// Everything that shapes the kernel of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    radius: u32,
    columns: u32,
    units: u32,
    exits: bool,
    /// Bits of a sample.
    depth: u32,
}

impl Shape {
    /// The tile of a policy, as wide as fits `shared` bytes; one of 8 units and 4 columns fits 12 KiB.
    fn new(policy: &Policy, radius: u32, depth: Depth, shared: u32) -> Self {
        let mut shape = Self {
            radius,
            columns: policy.columns.clamp(1, 4),
            units: policy.units.clamp(8, 1_024).next_multiple_of(8),
            exits: policy.exits,
            depth: depth.bits(),
        };
        while shape.units > 8 && shape.shared_bytes() > shared {
            shape.units = (shape.units / 2).next_multiple_of(8);
        }
        shape
    }

    /// Columns of a tile.
    const fn width(self) -> u32 {
        self.units * self.columns
    }

    /// Columns left and right of a tile, whole units.
    const fn margin(self) -> u32 {
        self.radius.next_multiple_of(self.columns)
    }

    /// Groups of a unit's columns in a tile with its margins.
    const fn across(self) -> u32 {
        self.units + 2 * self.margin() / self.columns
    }

    /// Columns of a tile with its margins.
    const fn span(self) -> u32 {
        self.across() * self.columns
    }

    /// Where Vₖ of the column `ahead` of the first of unit 0 lies; that of unit t lies t words on.
    const fn place(self, ahead: i32, k: u32) -> u32 {
        let column = self.margin().strict_add_signed(ahead);
        k * self.span() + column % self.columns * self.across() + column / self.columns
    }

    /// Columns left and right of a tile, whole groups of four.
    const fn margin_of_fours(self) -> u32 {
        self.radius.next_multiple_of(4)
    }

    /// Groups of four columns of which shared memory holds whether they have white; one more than the tile and its
    /// margins have, which the last unit may read.
    const fn white_words(self) -> u32 {
        if self.exits {
            (self.width() + 2 * self.margin_of_fours()) / 4 + 1
        } else {
            1
        }
    }

    /// Groups of four columns that hold those of a unit and the radius left and right, wherever in a group they begin.
    const fn whites_of_unit(self) -> u32 {
        (3 + self.columns - 1 + 2 * self.radius) / 4 + 1
    }

    /// The rows of the words above and below that lie within the radius.
    fn rows_within(self) -> (u32, u32) {
        let first = (1 << self.radius) - 1;
        (u32::reverse_bits(first), first)
    }

    const fn dilated_words(self) -> u32 {
        (self.radius + 1) * self.span()
    }

    /// Words from codes to those of the next row: nine for eight columns, so that units that read eight columns each
    /// read different banks.
    const fn code_pitch(self) -> u32 {
        self.width() / 8 * 9
    }

    const fn code_words(self) -> u32 {
        8 * self.code_pitch()
    }

    fn table_words(self) -> u32 {
        1 << levels::planes(self.radius)
    }

    fn shared_bytes(self) -> u32 {
        4 * (self.dilated_words() + self.white_words() + self.code_words() + self.table_words())
    }

    /// Levels counted between two looks at what is black: the first and the one after the last.
    fn stages(self) -> Vec<(usize, usize)> {
        let squares = levels::squares(self.radius);
        let looks = EXITS.iter().filter(|_| self.exits);
        let mut ends: Vec<usize> = looks.map(|e| squares.partition_point(|a| a <= e)).collect();
        ends.push(squares.len());
        ends.dedup();
        let starts = [0].into_iter().chain(ends.clone());
        starts.zip(ends).collect()
    }
}

/// Squares after which a unit looks whether any pixel is still black: where every second, every tenth and every fiftieth
/// pixel is white, hardly one of a plane's pixels is.
const EXITS: [u32; 3] = [5, 26, 100];

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
    fn new(width: u32, height: u32) -> Option<Self> {
        if width >= 1 << 30 || height >= 1 << 30 {
            return None;
        }
        let region = Self {
            width,
            height,
            pitch: width.next_multiple_of(4) + 2 * HALO,
            down: height.div_ceil(ROWS),
        };
        let words = u64::from(region.pitch) * (u64::from(region.down) + 2);
        (words < 1 << 31).then_some(region)
    }

    const fn words(&self) -> usize {
        self.pitch as usize * (self.down as usize + 2)
    }
}

/// Bytes of device memory that [`render`] takes besides mask and output, or `None` where the sizes exceed 32 bits.
#[must_use]
pub fn scratch_bytes(width: u32, height: u32) -> Option<u64> {
    Some(Region::new(width, height)?.words() as u64 * 4)
}

/// For each code the index into a profile: its square, or radius² + 1 for beyond. `None` where the radius exceeds
/// [`MAX_RADIUS`].
pub(super) fn squares_of_codes(radius: u32) -> Option<Vec<u32>> {
    (radius <= MAX_RADIUS).then(|| levels::squares_of_codes(radius))
}

/// Renders the pixels of `band` into the rows of `output`, `pitch` words apart; `pitch` is a multiple of 4. The mask's
/// top-left lies at (x, y) in the same coordinates; outside it is black.
///
/// # Errors
/// Where the device fails, where the radius exceeds [`MAX_RADIUS`], and where the band does not fit `output` or 32 bits.
#[allow(clippy::too_many_arguments)]
pub fn render(
    gpu: &Gpu,
    policy: &Policy,
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
    let steps = Steps::new(gpu, policy, profile, band, output, pitch)?;
    steps.columns(mask, place, band)?;
    steps.tiles(output, pitch)
}

/// Times each step of [`render`] with `time`: for measurements only.
///
/// # Errors
/// As [`render`]; of the launches that are timed, none.
#[doc(hidden)]
#[allow(clippy::too_many_arguments)]
pub fn profile_steps(
    gpu: &Gpu,
    policy: &Policy,
    mask: &Plane,
    place: (i64, i64),
    profile: &Profile,
    band: Rect,
    output: &Buffer,
    pitch: u32,
    time: impl Fn(&dyn Fn()) -> f64,
) -> Result<Vec<(&'static str, f64)>, DeviceError> {
    let steps = Steps::new(gpu, policy, profile, band, output, pitch)?;
    let run = |step: Result<(), DeviceError>| drop(step);
    steps.columns(mask, place, band)?;
    steps.tiles(output, pitch)?;
    Ok(vec![
        ("columns", time(&|| run(steps.columns(mask, place, band)))),
        ("tiles", time(&|| run(steps.tiles(output, pitch)))),
    ])
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
        profile: &'a Profile,
        band: Rect,
        output: &Buffer,
        pitch: u32,
    ) -> Result<Self, DeviceError> {
        crate::fused::check_output(gpu, profile.depth, band, output, pitch)?;
        let radius = profile.radius;
        let Some(samples_of_codes) = &profile.samples_of_codes else {
            return Err(gpu.unsupported(format!("bits of a radius of {radius}, more than {MAX_RADIUS}")));
        };
        let shared = gpu.report().shared_memory;
        let shape = Shape::new(policy, radius, profile.depth, shared);
        let needed = shape.shared_bytes();
        if needed > shared {
            return Err(gpu.unsupported(format!(
                "{needed} bytes of shared memory, of which it has {shared}"
            )));
        }
        let region = Region::new(band.width() as u32, band.height() as u32)
            .ok_or_else(|| gpu.unsupported("a distance over so many pixels at once"))?;
        let most = gpu.report().cubes.min(65_535);
        let across = region
            .width
            .div_ceil(shape.width())
            .max((region.pitch / 4).div_ceil(ROW));
        if across > most || region.down + 2 > most {
            return Err(gpu.unsupported("a distance over so many columns or rows at once"));
        }
        Ok(Self {
            gpu,
            shape,
            region,
            bits: gpu.buffer(region.words())?,
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
        let there = Rect::sized(mask.width.into(), mask.height.into())
            .translated(x, y)
            .intersection(&around(radius, radius));
        let part = Part::of(mask, (x, y), there, around(HALO, ROWS), per_word(depth));
        let aligned = part.aligned(per_word(depth));
        let grid = CubeCount::Static((self.region.pitch / 4).div_ceil(ROW), self.region.down + 2, 1);
        self.gpu
            .launch("distance: columns of bits", &(depth, aligned), &self.bits, || {
                on_client!(self.gpu, client => {
                    columns_on(client, grid.clone(), mask, part, &self.bits, &self.region, depth, aligned)
                })
            })
    }

    fn tiles(&self, output: &Buffer, pitch: u32) -> Result<(), DeviceError> {
        let across = self.region.width.div_ceil(self.shape.width());
        let grid = CubeCount::Static(across, self.region.down, 1);
        self.gpu.launch(
            "distance: tiles of bits",
            &self.shape,
            output,
            || on_client!(self.gpu, client => tiles_on(client, grid.clone(), self, output, pitch)),
        )
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
    // the mask are clamped to its rows.
    unsafe {
        columns::pack::launch_unchecked::<R>(
            client,
            grid,
            CubeDim::new_1d(ROW),
            4,
            ArrayArg::from_raw_parts(mask.buffer.handle(), mask.buffer.words()),
            ArrayArg::from_raw_parts(bits.handle(), bits.words() / 4),
            region.pitch / 4,
            part.offset,
            part.pitch,
            part.words,
            part.left,
            part.right,
            part.top,
            part.bottom,
            part.column,
            depth,
            aligned,
        );
    }
}

#[allow(unsafe_code)]
fn tiles_on<R: Runtime>(
    client: &ComputeClient<R>,
    grid: CubeCount,
    steps: &Steps<'_>,
    output: &Buffer,
    pitch: u32,
) {
    let region = &steps.region;
    let samples = 8 / per_word(steps.shape.depth);
    // SAFETY: of the bits, columns are clamped to the pitch and there are two rows more than the grid has; the table
    // has an entry for every code. In shared memory, places lie within the span, because the margin holds the radius,
    // and codes are bytes of as many bits as the table has entries for. Eight samples are written where the first lies
    // in the band, and rows are padded to as many.
    unsafe {
        tile::render::launch_unchecked::<R>(
            client,
            grid,
            CubeDim::new_1d(steps.shape.units),
            samples as usize,
            ArrayArg::from_raw_parts(steps.bits.handle(), steps.bits.words()),
            ArrayArg::from_raw_parts(steps.samples_of_codes.handle(), steps.samples_of_codes.words()),
            ArrayArg::from_raw_parts(output.handle(), output.words() / samples as usize),
            region.pitch,
            pitch / samples,
            region.width,
            region.height,
            steps.shape,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes() -> impl Iterator<Item = (Shape, u32)> {
        let policies = [(8, true), (24, false), (64, true), (128, true), (1_024, false)];
        (0..=MAX_RADIUS).flat_map(move |radius| {
            (1..=4).flat_map(move |columns| {
                policies.into_iter().flat_map(move |(units, exits)| {
                    let policy = Policy {
                        columns,
                        units,
                        exits,
                    };
                    [12 << 10, 16 << 10, 32 << 10, 48 << 10, 227 << 10]
                        .map(|shared| (Shape::new(&policy, radius, Depth::Eight, shared), shared))
                })
            })
        })
    }

    #[test]
    fn every_tile_fits_shared_memory_and_whole_groups_of_eight_columns() {
        for (shape, shared) in shapes() {
            assert!(shape.shared_bytes() <= shared, "{shape:?} in {shared} bytes");
            assert_eq!(shape.width() % 8, 0, "{shape:?}");
            assert!(
                shape.margin() <= HALO && shape.margin_of_fours() <= HALO,
                "{shape:?}"
            );
        }
    }

    /// Software Vulkan hides reads outside of shared memory, which CUDA does not.
    #[test]
    fn every_word_of_shared_memory_that_a_unit_touches_is_there() {
        for (shape, _) in shapes() {
            let (radius, last) = (shape.radius as i32, shape.units - 1);
            for k in 0..=shape.radius {
                let right = shape.columns as i32 - 1 + radius;
                for ahead in -radius..=right {
                    let place = shape.place(ahead, k) + last;
                    assert!(place < shape.dilated_words(), "{ahead}, {k} of {shape:?}");
                }
            }
            let column = last * shape.columns + shape.columns - 1;
            let code = column + column / 8 + 7 * shape.code_pitch();
            assert!(code < shape.code_words(), "{shape:?}");
            if shape.exits {
                let first = (last * shape.columns + shape.margin_of_fours() - shape.radius) / 4;
                assert!(first + shape.whites_of_unit() <= shape.white_words(), "{shape:?}");
            }
        }
    }

    #[test]
    fn places_are_of_the_columns_that_shared_memory_was_filled_with() {
        for (shape, _) in shapes() {
            for unit in [0, 1, shape.units - 1] {
                for ahead in [-(shape.radius as i32), 0, shape.radius as i32] {
                    let place = shape.place(ahead, 0) + unit;
                    // As `dilate` computes it, counted from the first column of the tile.
                    let column = place % shape.across() * shape.columns + place / shape.across();
                    let want = (unit * shape.columns + shape.margin()).strict_add_signed(ahead);
                    assert_eq!(column, want, "{shape:?}");
                }
            }
        }
    }

    #[test]
    fn groups_of_whites_hold_all_columns_within_the_radius_of_a_unit() {
        for (shape, _) in shapes().filter(|(shape, _)| shape.exits) {
            for unit in 0..shape.units {
                let first = unit * shape.columns + shape.margin_of_fours() - shape.radius;
                let last = first + shape.columns - 1 + 2 * shape.radius;
                assert!(
                    last / 4 < first / 4 + shape.whites_of_unit(),
                    "{unit} of {shape:?}"
                );
            }
        }
    }

    #[test]
    fn stages_hold_every_level_once() {
        for (shape, _) in shapes() {
            let numbers: Vec<usize> = shape.stages().into_iter().flat_map(|(a, b)| a..b).collect();
            let levels = levels::squares(shape.radius).len();
            assert!(numbers.into_iter().eq(0..levels), "{shape:?}");
        }
    }
}
