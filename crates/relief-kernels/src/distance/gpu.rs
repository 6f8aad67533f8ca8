//! The distance on a device: separable, exact, with early exits.
//!
//! Small radii are computed tile by tile in shared memory ([`tiles`]): three times as fast at a radius of 15, on every
//! mask measured. At a radius of 100 tiles win on dense masks and lose on thin lines, where the steps over rows below
//! keep what is the better of the worst cases (`docs/gpu.md`). They take every radius:
//!
//! 1. *Whites*: the mask becomes one bit per pixel, with a margin of the radius on every side.
//! 2. *Rows*: g, how far the nearest white pixel of the same row is, from leading and trailing zeros of the bits of a
//!    word and, where that has none, of its neighbours up to the radius.
//! 3. *Columns*: a = min of g² + dy² over the rows within the radius, outwards from the pixel's own row until dy² alone
//!    is no less. Beyond a radius of 32, eight rows are skipped at once where the least g of them cannot win.
//!
//! g takes 8 bits up to a radius of 254, so that four pixels come with one word; up to 15 it is stored squared. What
//! limits step 3 is instructions: two or three for each pixel and row visited.

#[doc(hidden)]
pub mod tiles;

use cubecl::prelude::*;
use relief_raster::{Depth, Rect, Sample};

use crate::device::{Buffer, DeviceError, Gpu, on_client};
use crate::fold::Fold;
use crate::fused::Plane;
use crate::fused::packed::{coverage, fold, funnel, non_zero, ones};
use crate::fused::shape::per_word;

/// A function of the distance on a device.
#[derive(Clone, Debug)]
pub struct Profile {
    table: Buffer,
    radius: u32,
    depth: Depth,
}

impl Profile {
    /// Uploads `values[a]` for a = dx² + dy², 0 ≤ a ≤ radius², and the sample beyond.
    ///
    /// # Errors
    /// Where it does not fit the device.
    ///
    /// # Panics
    /// Where there are not radius² + 1 values, or the radius exceeds 4 096.
    pub fn upload<S: Sample>(gpu: &Gpu, radius: u32, values: &[S], beyond: S) -> Result<Self, DeviceError> {
        assert!(radius <= 4_096, "a radius of at most 4 096");
        assert_eq!(
            values.len() as u64,
            u64::from(radius).pow(2) + 1,
            "a value for every square"
        );
        let bits = size_of::<S>() as u32 * 8;
        let all: Vec<S> = values.iter().copied().chain([beyond]).collect();
        let words: Vec<u32> = all
            .chunks(per_word(bits) as usize)
            .map(|part| {
                part.iter()
                    .rev()
                    .fold(0, |word, v| word << bits | u32::from(v.to_u16()))
            })
            .collect();
        Ok(Self {
            table: gpu.upload(&words)?,
            radius,
            depth: if bits == 8 { Depth::Eight } else { Depth::Sixteen },
        })
    }

    /// The radius.
    #[must_use]
    pub const fn radius(&self) -> u32 {
        self.radius
    }
}

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
    fn new(width: u32, height: u32, radius: u32) -> Option<Self> {
        if width >= 1 << 30 || height >= 1 << 30 {
            return None;
        }
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
        let words = |pitch: u32| u64::from(pitch) * u64::from(region.rows) < 1 << 31;
        (words(region.bit_pitch) && words(region.row_pitch)).then_some(region)
    }

    /// Words of bits, of g and of its minima.
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
    }
}

/// Up to this radius [`tiles`] compute the distance.
const TILED: u32 = 40;

/// Up to this radius rows are visited one by one.
const NEAR: u32 = 32;

/// Rows that are skipped at once beyond it.
const BLOCK: u32 = 8;

/// The most bytes of device memory that [`render`] takes besides mask and output, or `None` where the sizes exceed
/// 32 bits. Devices with little shared memory take a little less.
#[must_use]
pub fn scratch_bytes(width: u32, height: u32, radius: u32) -> Option<u64> {
    if radius <= TILED {
        return tiles::most_scratch_bytes(width, height, radius);
    }
    let words = Region::new(width, height, radius)?.words();
    Some(words.iter().map(|words| *words as u64 * 4).sum())
}

/// Renders the pixels of `band` into the rows of `output`, `pitch` words apart; `pitch` is a multiple of 4. The mask's
/// top-left lies at (x, y) in the same coordinates; outside it is black.
///
/// # Errors
/// Where the device fails, and where the band does not fit `output` or 32 bits.
#[allow(clippy::too_many_arguments)]
pub fn render(
    gpu: &Gpu,
    mask: &Plane,
    (x, y): (i64, i64),
    profile: &Profile,
    band: Rect,
    output: &Buffer,
    pitch: u32,
) -> Result<(), DeviceError> {
    if profile.radius <= TILED {
        return tiles::render(
            gpu,
            &tiles::Policy::default(),
            mask,
            (x, y),
            profile,
            band,
            output,
            pitch,
        );
    }
    render_by_rows(gpu, mask, (x, y), profile, band, output, pitch)
}

/// [`render`] by the steps over rows, whatever the radius: for measurements only.
///
/// # Errors
/// As [`render`].
#[doc(hidden)]
#[allow(clippy::too_many_arguments)]
pub fn render_by_rows(
    gpu: &Gpu,
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
    let region = Region::new(band.width() as u32, band.height() as u32, radius)
        .ok_or_else(|| gpu.unsupported("a distance over so many pixels at once"))?;
    let [bits, rows, minima] = region.words();
    let steps = Steps {
        gpu,
        region,
        bits: gpu.buffer(bits)?,
        rows: gpu.buffer(rows)?,
        minima: gpu.buffer(minima)?,
    };
    steps.whites(mask, profile.depth, (x, y), band)?;
    steps.rows()?;
    if radius > NEAR {
        steps.minima()?;
    }
    steps.columns(profile, output, pitch)
}

/// Times each step of [`render`] with `time`: for measurements only.
///
/// # Errors
/// As [`render`]; of the launches that are timed, none.
#[doc(hidden)]
#[allow(clippy::too_many_arguments)]
pub fn profile_steps(
    gpu: &Gpu,
    mask: &Plane,
    place: (i64, i64),
    profile: &Profile,
    band: Rect,
    output: &Buffer,
    pitch: u32,
    time: impl Fn(&dyn Fn()) -> f64,
) -> Vec<(&'static str, f64)> {
    let Some(region) = Region::new(band.width() as u32, band.height() as u32, profile.radius) else {
        return Vec::new();
    };
    let [bits, rows, minima] = region.words();
    let (Ok(bits), Ok(rows), Ok(minima)) = (gpu.buffer(bits), gpu.buffer(rows), gpu.buffer(minima)) else {
        return Vec::new();
    };
    let steps = Steps {
        gpu,
        region,
        bits,
        rows,
        minima,
    };
    let run = |step: Result<(), DeviceError>| drop(step);
    let mut times = vec![
        (
            "whites",
            time(&|| run(steps.whites(mask, profile.depth, place, band))),
        ),
        ("rows", time(&|| run(steps.rows()))),
    ];
    if profile.radius > NEAR {
        times.push(("minima", time(&|| run(steps.minima()))));
    }
    times.push(("columns", time(&|| run(steps.columns(profile, output, pitch)))));
    times
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

impl Steps<'_> {
    /// A grid that covers `columns` × `rows` units, cubes along the second axis limited by the device; and the rows of
    /// the grid.
    fn grid(&self, columns: u32, rows: u32) -> Result<(CubeCount, u32), DeviceError> {
        let across = columns.div_ceil(CUBE.0);
        let down = rows.div_ceil(CUBE.1).min(self.gpu.report().cubes.min(65_535));
        if across > 65_535 {
            return Err(self.gpu.unsupported("rows of 4 194 240 words or more"));
        }
        Ok((CubeCount::Static(across, down, 1), down * CUBE.1))
    }

    fn whites(&self, mask: &Plane, depth: Depth, (x, y): (i64, i64), band: Rect) -> Result<(), DeviceError> {
        let region = &self.region;
        let around = Rect::between(
            band.x() - i64::from(region.margin),
            band.y() - i64::from(region.radius),
            band.right() + i64::from(region.margin),
            band.bottom() + i64::from(region.radius),
        );
        let there = Rect::sized(mask.width.into(), mask.height.into())
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
            mask.height - 1,
            mask.pitch,
            mask.offset,
        ];
        let (grid, stride) = self.grid(region.bit_pitch, region.rows)?;
        let bits = depth.bits();
        self.gpu.launch("distance: whites", &bits, &self.bits, || {
            on_client!(self.gpu, client => whites_on(client, grid.clone(), mask, numbers, &self.bits, region, stride, bits))
        })
    }

    fn rows(&self) -> Result<(), DeviceError> {
        let region = &self.region;
        let (grid, stride) = self.grid(region.row_pitch / 4, region.rows)?;
        self.gpu.launch("distance: rows", &region.stored, &self.rows, || {
            on_client!(self.gpu, client => rows_on(client, grid.clone(), &self.bits, &self.rows, region, stride))
        })
    }

    fn minima(&self) -> Result<(), DeviceError> {
        let region = &self.region;
        let (grid, stride) = self.grid(region.row_pitch, region.rows.div_ceil(BLOCK))?;
        self.gpu.launch("distance: minima", &region.stored, &self.minima, || {
            on_client!(self.gpu, client => minima_on(client, grid.clone(), &self.rows, &self.minima, region, stride))
        })
    }

    fn columns(&self, profile: &Profile, output: &Buffer, pitch: u32) -> Result<(), DeviceError> {
        let region = &self.region;
        let (grid, stride) = self.grid(region.width.div_ceil(4), region.height)?;
        let shape = (region.stored, profile.depth, region.radius > NEAR);
        self.gpu.launch("distance: columns", &shape, output, || {
            on_client!(self.gpu, client => {
                columns_on(client, grid.clone(), self, profile, output, pitch, stride)
            })
        })
    }
}

#[allow(unsafe_code, clippy::too_many_arguments)]
fn whites_on<R: Runtime>(
    client: &ComputeClient<R>,
    grid: CubeCount,
    mask: &Plane,
    numbers: [u32; 9],
    bits: &Buffer,
    region: &Region,
    stride: u32,
    depth: u32,
) {
    // SAFETY: the bits have `rows` rows of `bit_pitch` words, and words of the mask are clamped to its rows.
    unsafe {
        whites::launch_unchecked::<R>(
            client,
            grid,
            CubeDim::new_2d(CUBE.0, CUBE.1),
            ArrayArg::from_raw_parts(mask.buffer.handle(), mask.buffer.words()),
            numbers.into_iter().collect(),
            ArrayArg::from_raw_parts(bits.handle(), bits.words()),
            region.bit_pitch,
            region.rows,
            stride,
            depth,
        );
    }
}

#[allow(unsafe_code)]
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
    unsafe {
        rows_of_distances::launch_unchecked::<R>(
            client,
            grid,
            CubeDim::new_2d(CUBE.0, CUBE.1),
            4,
            ArrayArg::from_raw_parts(bits.handle(), bits.words()),
            ArrayArg::from_raw_parts(rows.handle(), rows.words() / 4),
            region.bit_pitch,
            region.row_pitch / 4,
            region.rows,
            region.margin / 32,
            region.radius,
            region.stored.none(region.radius),
            stride,
            region.stored,
        );
    }
}

#[allow(unsafe_code)]
fn minima_on<R: Runtime>(
    client: &ComputeClient<R>,
    grid: CubeCount,
    rows: &Buffer,
    minima: &Buffer,
    region: &Region,
    stride: u32,
) {
    // SAFETY: the last block is clamped to the rows there are.
    unsafe {
        minima_of_blocks::launch_unchecked::<R>(
            client,
            grid,
            CubeDim::new_2d(CUBE.0, CUBE.1),
            ArrayArg::from_raw_parts(rows.handle(), rows.words()),
            ArrayArg::from_raw_parts(minima.handle(), minima.words()),
            region.row_pitch,
            region.rows,
            stride,
            region.stored.bits,
        );
    }
}

#[allow(unsafe_code)]
fn columns_on<R: Runtime>(
    client: &ComputeClient<R>,
    grid: CubeCount,
    steps: &Steps<'_>,
    profile: &Profile,
    output: &Buffer,
    pitch: u32,
    stride: u32,
) {
    let region = &steps.region;
    let dim = CubeDim::new_2d(CUBE.0, CUBE.1);
    // SAFETY: visited rows lie within the radius of an output row, so inside g; the table has an entry for every square
    // up to radius² + 1; the output was checked to hold the band.
    unsafe {
        let array = |b: &Buffer| ArrayArg::from_raw_parts(b.handle(), b.words());
        if region.radius > NEAR {
            columns_far::launch_unchecked::<R>(
                client,
                grid,
                dim,
                array(&steps.rows),
                array(&steps.minima),
                array(&profile.table),
                array(output),
                region.row_pitch,
                pitch,
                region.width,
                region.height,
                region.radius,
                stride,
                region.stored,
                profile.depth.bits(),
            );
        } else {
            columns_near::launch_unchecked::<R>(
                client,
                grid,
                dim,
                array(&steps.rows),
                array(&profile.table),
                array(output),
                region.row_pitch,
                pitch,
                region.width,
                region.height,
                region.radius,
                stride,
                region.stored,
                profile.depth.bits(),
            );
        }
    }
}

/// Numbers: left, right, top, bottom of the mask in the region; column and row of its top-left; its last row, its pitch,
/// its first word.
#[cube(launch_unchecked)]
fn whites(
    mask: &Array<u32>,
    numbers: &Sequence<u32>,
    bits: &mut Array<u32>,
    pitch: u32,
    rows: u32,
    stride: u32,
    #[comptime] depth: u32,
) {
    let lanes = comptime!(per_word(depth));
    let place = ABSOLUTE_POS_X;
    let mut y = ABSOLUTE_POS_Y;
    if place < pitch {
        while y < rows {
            let mut word = u32::new(0);
            if y >= *numbers.index(2usize) && y < *numbers.index(3usize) {
                let row = min(y - *numbers.index(5usize), *numbers.index(6usize));
                let pitch = *numbers.index(7usize);
                let start = *numbers.index(8usize) + row * pitch;
                let x = place * 32u32;
                // One word to the right, so that nothing that counts is left of the row's start.
                let column = x + lanes - *numbers.index(4usize);
                let first = column / lanes;
                // Divided anew for every word, because a column left of the row's start wraps at 2³² and its word
                // would not.
                let shift = (column % lanes) * depth;
                let mut low = mask[(start + min(max(first, 1u32) - 1u32, pitch - 1u32)) as usize];
                #[unroll]
                for k in 0..comptime!(32 / lanes) {
                    // A word left of the row's start wraps and is cut off by the coverage.
                    let next = (column + comptime!(k * lanes)) / lanes;
                    let high = mask[(start + min(next, pitch - 1u32)) as usize];
                    let at = x + comptime!(k * lanes);
                    let inside = coverage(at, *numbers.index(0usize), *numbers.index(1usize), depth);
                    let white = non_zero(funnel(low, high, shift) & inside, depth);
                    if comptime!(depth == 8) {
                        word |=
                            (((white & 0x0101_0101u32) * 0x1020_4080u32) >> 28u32) << comptime!(k * lanes);
                    } else {
                        word |= ((white & 1u32) | ((white >> 30u32) & 2u32)) << comptime!(k * lanes);
                    }
                    low = high;
                }
            }
            bits[(y * pitch + place) as usize] = word;
            y += stride;
        }
    }
}

#[cube(launch_unchecked)]
fn rows_of_distances<N: Size>(
    bits: &Array<u32>,
    rows: &mut Array<Vector<u32, N>>,
    bit_pitch: u32,
    pitch: u32,
    height: u32,
    words: u32,
    radius: u32,
    none: u32,
    stride: u32,
    #[comptime] stored: Stored,
) {
    let lanes = comptime!(per_word(stored.bits));
    let place = ABSOLUTE_POS_X;
    let mut y = ABSOLUTE_POS_Y;
    if place < pitch {
        while y < height {
            let x = place * comptime!(4 * lanes);
            let at = y * bit_pitch + words + x / 32u32;
            let word = bits[at as usize];
            // From the word's first bit to the nearest white left of it, from its last to the nearest right of it.
            let mut left = u32::new(65_536);
            let mut right = u32::new(65_536);
            let mut k = u32::new(1);
            while k <= words {
                let bits_left = bits[(at - k) as usize];
                let bits_right = bits[(at + k) as usize];
                if left == 65_536u32 && bits_left != 0u32 {
                    left = 32u32 * (k - 1u32) + 1u32 + bits_left.leading_zeros();
                }
                if right == 65_536u32 && bits_right != 0u32 {
                    right = 32u32 * (k - 1u32) + 1u32 + bits_right.trailing_zeros();
                }
                k += 1u32;
                if left != 65_536u32 && right != 65_536u32 {
                    k = words + 1u32;
                }
            }
            let from = x % 32u32;
            let mut result = Vector::<u32, N>::empty();
            #[unroll]
            for j in 0..4usize {
                let mut packed = u32::new(0);
                #[unroll]
                for l in 0..lanes {
                    let b = from + comptime!(j as u32 * lanes + l);
                    let before = word << (31u32 - b);
                    let after = word >> b;
                    let g = min(
                        select(before == 0u32, left + b, before.leading_zeros()),
                        select(after == 0u32, right + 31u32 - b, after.trailing_zeros()),
                    );
                    let mut value = min(g, none);
                    if comptime!(stored.squared) {
                        value = select(g <= radius, g * g, none);
                    }
                    packed |= value << comptime!(l * stored.bits);
                }
                result[j] = packed;
            }
            rows[(y * pitch + place) as usize] = result;
            y += stride;
        }
    }
}

/// The least g of every eight rows.
#[cube(launch_unchecked)]
fn minima_of_blocks(
    rows: &Array<u32>,
    minima: &mut Array<u32>,
    pitch: u32,
    height: u32,
    stride: u32,
    #[comptime] bits: u32,
) {
    let place = ABSOLUTE_POS_X;
    let mut block = ABSOLUTE_POS_Y;
    if place < pitch {
        while block * BLOCK < height {
            let mut least = u32::new(0xffff_ffffi64);
            #[unroll]
            for k in 0..BLOCK {
                let row = min(block * BLOCK + k, height - 1u32);
                least = fold(least, rows[(row * pitch + place) as usize], Fold::Min, bits);
            }
            minima[(block * pitch + place) as usize] = least;
            block += stride;
        }
    }
}

/// The four values of g at `place`, counted in four pixels: their squares.
#[cube]
fn squares(rows: &Array<u32>, place: u32, #[comptime] stored: Stored) -> Array<u32> {
    let mut squares = Array::<u32>::new(4usize);
    #[unroll]
    for k in 0..4u32 {
        let per = comptime!(per_word(stored.bits));
        let word = rows[(place * comptime!(4 / per) + comptime!(k / per)) as usize];
        let g = (word >> comptime!((k % per) * stored.bits)) & comptime!(ones(stored.bits));
        if comptime!(stored.squared) {
            squares[k as usize] = g;
        } else {
            squares[k as usize] = g * g;
        }
    }
    squares
}

/// Takes the row `dy` rows away, whose values are at `place`, into the least sums so far.
#[cube]
fn visit(rows: &Array<u32>, place: u32, square: u32, best: &mut Array<u32>, #[comptime] stored: Stored) {
    let found = squares(rows, place, stored);
    #[unroll]
    for k in 0..4usize {
        best[k] = min(best[k], found[k] + square);
    }
}

#[cube]
fn greatest(best: &Array<u32>) -> u32 {
    max(max(best[0], best[1]), max(best[2], best[3]))
}

/// Looks the four sums up and stores the samples.
#[cube]
fn store(
    profile: &Array<u32>,
    output: &mut Array<u32>,
    start: u32,
    place: u32,
    best: &Array<u32>,
    radius: u32,
    #[comptime] depth: u32,
) {
    let lanes = comptime!(per_word(depth));
    let beyond = radius * radius + 1u32;
    #[unroll]
    for j in 0..comptime!(4 / lanes) {
        let mut word = u32::new(0);
        #[unroll]
        for l in 0..lanes {
            let a = min(best[comptime!((j * lanes + l) as usize)], beyond);
            let entry = profile[(a / lanes) as usize] >> ((a % lanes) * depth);
            word |= (entry & comptime!(ones(depth))) << comptime!(l * depth);
        }
        output[(start + place * comptime!(4 / lanes) + j) as usize] = word;
    }
}

#[cube(launch_unchecked)]
fn columns_near(
    rows: &Array<u32>,
    profile: &Array<u32>,
    output: &mut Array<u32>,
    row_pitch: u32,
    pitch: u32,
    width: u32,
    height: u32,
    radius: u32,
    stride: u32,
    #[comptime] stored: Stored,
    #[comptime] depth: u32,
) {
    let place = ABSOLUTE_POS_X;
    let mut y = ABSOLUTE_POS_Y;
    // Four pixels at a time.
    let step = row_pitch / comptime!(stored.bits / 8);
    if place * 4u32 < width {
        while y < height {
            let own = (y + radius) * step + place;
            let mut best = squares(rows, own, stored);
            let mut dy = u32::new(1);
            while dy <= radius {
                let square = dy * dy;
                if greatest(&best) <= square {
                    dy = radius + 1u32;
                } else {
                    visit(rows, own - dy * step, square, &mut best, stored);
                    visit(rows, own + dy * step, square, &mut best, stored);
                    dy += 1u32;
                }
            }
            store(profile, output, y * pitch, place, &best, radius, depth);
            y += stride;
        }
    }
}

#[allow(clippy::collapsible_if)]
#[cube(launch_unchecked)]
fn columns_far(
    rows: &Array<u32>,
    minima: &Array<u32>,
    profile: &Array<u32>,
    output: &mut Array<u32>,
    row_pitch: u32,
    pitch: u32,
    width: u32,
    height: u32,
    radius: u32,
    stride: u32,
    #[comptime] stored: Stored,
    #[comptime] depth: u32,
) {
    let place = ABSOLUTE_POS_X;
    let mut y = ABSOLUTE_POS_Y;
    let step = row_pitch / comptime!(stored.bits / 8);
    if place * 4u32 < width {
        while y < height {
            let middle = y + radius;
            let block = middle / BLOCK;
            let mut best = squares(rows, middle * step + place, stored);
            let rows_there = height + 2u32 * radius;
            visit_block(rows, step, place, block, middle, rows_there, &mut best, stored);
            let mut k = u32::new(1);
            let mut going = true;
            while going {
                // The nearest rows of the k-th blocks above and below.
                let above = middle - (block - k) * BLOCK - comptime!(BLOCK - 1);
                let below = (block + k) * BLOCK - middle;
                let limit = greatest(&best);
                let up = k <= block && above <= radius && above * above < limit;
                let down = (block + k) * BLOCK < rows_there && below <= radius && below * below < limit;
                // Nested, because `&&` computes both sides on a device, and a block that is not there must not be read.
                if up {
                    if promising(minima, (block - k) * step + place, above * above, &best, stored) {
                        visit_block(
                            rows,
                            step,
                            place,
                            block - k,
                            middle,
                            rows_there,
                            &mut best,
                            stored,
                        );
                    }
                }
                // Nested, because `&&` computes both sides on a device, and a block that is not there must not be read.
                if down {
                    if promising(minima, (block + k) * step + place, below * below, &best, stored) {
                        visit_block(
                            rows,
                            step,
                            place,
                            block + k,
                            middle,
                            rows_there,
                            &mut best,
                            stored,
                        );
                    }
                }
                going = up || down;
                k += 1u32;
            }
            store(profile, output, y * pitch, place, &best, radius, depth);
            y += stride;
        }
    }
}

/// Whether a row at least `square` away (squared) with the least g at `place` would win for any of the four pixels.
#[cube]
fn promising(
    minima: &Array<u32>,
    place: u32,
    square: u32,
    best: &Array<u32>,
    #[comptime] stored: Stored,
) -> bool {
    let least = squares(minima, place, stored);
    least[0] + square < best[0]
        || least[1] + square < best[1]
        || least[2] + square < best[2]
        || least[3] + square < best[3]
}

/// Visits all rows of a block. Rows beyond the radius are visited too: they cannot win against what lies beyond.
#[cube]
fn visit_block(
    rows: &Array<u32>,
    step: u32,
    place: u32,
    block: u32,
    middle: u32,
    rows_there: u32,
    best: &mut Array<u32>,
    #[comptime] stored: Stored,
) {
    #[unroll]
    for k in 0..BLOCK {
        let row = min(block * BLOCK + k, rows_there - 1u32);
        let dy = row - middle;
        visit(rows, row * step + place, dy * dy, best, stored);
    }
}
