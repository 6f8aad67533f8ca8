//! Integral images on a device: what enters a tile from the left and from above first, then everything else
//! in one pass.
//!
//! A picture is cut in strips of 128 columns and bands of some rows; where both meet is a tile, and a tile is
//! a plane's. What it has to know is for each of its rows the sum of all samples to its left, and for each of
//! its columns the integral image in the row above it. Five launches:
//! 1. each tile sums its rows and its columns: the picture is read once;
//! 2. what its rows sum up to is added along the strips: the sums to the left;
//! 3. what its columns sum up to is added along the bands, down;
//! 4. and then along the columns: the integral image in the row above each band;
//! 5. a plane (warp) walks down its tile: it scans a row (lanes exchange registers), adds the sum to its
//!    left, and adds that to what its columns have so far.
//!
//! Steps 2 to 4 move a few percent of what 1 and 5 move. So 8 bits are read twice and 32 written once: 6
//! bytes a sample, where the least is 5. A pass over rows and one over columns move 13. One pass with
//! look-back along both axes moves 5, and waits.

use cubecl::prelude::*;

use super::Sums;
use crate::element::Element;
use crate::look_back::lanes;
use crate::scan::Kind;
use crate::scan::gpu::tiles::Plan as ScanPlan;
use crate::transpose::gpu::Matrix;
use relief_kernels::device::{Buffer, DeviceError, Gpu, Operand, cubes, on_client, start};
use relief_kernels::policy::{self, Space, Tuning};

mod carries;
mod tiles;
pub mod windows;

use carries::{add_across, add_down};
use tiles::{Plan, STRIP, finish_tiles, sum_tiles};

/// The layouts of [`integral_with`]: units of a cube, and eights of rows of a band.
pub const SPACE: Space = Space {
    units: &[64, 128, 256, 512],
    items: &[4, 8, 16, 32],
    vectors: &[4],
};

/// The layout where no other was found.
pub const DEFAULT: Tuning = Tuning {
    units: 256,
    items: 8,
    vector: 4,
};

/// What the kernel is called in policy files.
#[must_use]
pub const fn name(sums: Sums) -> &'static str {
    match sums {
        Sums::Short => "integral 8 to 32",
        Sums::Long => "integral 8 to 64",
        Sums::Floats => "integral floats",
    }
}

/// The fewest rows of a band.
const LEAST: u32 = 32;

/// Words of scratch memory that an integral image takes, whatever its layout.
#[must_use]
pub const fn scratch_words(sums: Sums, width: u32, height: u32) -> usize {
    let (strips, bands) = (width.div_ceil(STRIP) as usize, height.div_ceil(LEAST) as usize);
    // Rows of sums to the left are as long as the picture is high, whatever the height of bands.
    let left = strips * (height as usize).next_multiple_of(256);
    let above = bands * strips * STRIP as usize;
    (left + above * (1 + sums.words() as usize)).next_multiple_of(64) + 128
}

/// Computes the integral image of `width` × `height` samples. Sums of [`Sums::Long`] are two words, the lower first. What follows in a
/// row of the result, up to a multiple of 4 sums, is as if samples that follow were 0.
///
/// # Errors
/// Where the device fails, where a buffer does not hold its rows, or `scratch` [`scratch_words`], and for sides of more than
/// 2²³ samples.
pub fn integral(
    gpu: &Gpu,
    sums: Sums,
    size: (u32, u32),
    from: Matrix<'_>,
    to: Matrix<'_>,
    scratch: &Buffer,
) -> Result<(), DeviceError> {
    let tuning = policy::tuning(gpu.report(), name(sums), &SPACE, DEFAULT);
    integral_with(gpu, tuning, sums, size, from, to, scratch)
}

/// [`integral`] with another layout.
///
/// # Errors
/// As [`integral`], and where the layout is not of [`SPACE`].
pub fn integral_with(
    gpu: &Gpu,
    tuning: Tuning,
    sums: Sums,
    (width, height): (u32, u32),
    from: Matrix<'_>,
    to: Matrix<'_>,
    scratch: &Buffer,
) -> Result<(), DeviceError> {
    gpu.check_layout(&SPACE, tuning)?;
    gpu.at_most("pixels of a side", 1_u64 << 23, width.max(height).into())?;
    let matrices = [
        ("the picture", from, sums.bits()),
        ("the integral image", to, 32 * sums.words()),
    ];
    for (what, matrix, bits) in matrices {
        let row = u64::from(width.div_ceil(128 / bits.min(32))) * 4 * u64::from(bits.div_ceil(32));
        gpu.holds_whole_rows(what, matrix.buffer, (height.into(), row), matrix.pitch.into())?;
    }
    gpu.holds(
        "scratch memory",
        scratch,
        scratch_words(sums, width, height) as u64,
    )?;
    if width == 0 || height == 0 {
        return Ok(());
    }
    let plan = Plan::new(sums, tuning, lanes(gpu.report()));
    let launch = Launch::new(gpu, plan, (width, height), from, to, scratch)?;
    let memory = [
        Operand::read("the picture", from.buffer),
        Operand::update("scratch memory", scratch),
        Operand::write("the integral image", to.buffer),
    ];
    // All of it is one launch, because what one kernel leaves another overwrites where it lies.
    gpu.launch(
        "integral",
        &plan,
        &memory,
        || on_client!(gpu, client => launch.on(gpu, client)),
    )
}

struct Launch<'a> {
    plan: Plan,
    size: (u32, u32),
    strips: u32,
    bands: u32,
    from: Matrix<'a>,
    to: Matrix<'a>,
    /// Sums of rows, then those to the left: a row for each strip, as long as all bands are high.
    left: Buffer,
    /// Sums of columns, then those above: a row for each band, of all strips.
    down: Buffer,
    /// The integral image above each band; of two words, all lower ones first.
    above: Buffer,
}

impl<'a> Launch<'a> {
    fn new(
        gpu: &Gpu,
        plan: Plan,
        (width, height): (u32, u32),
        from: Matrix<'a>,
        to: Matrix<'a>,
        scratch: &Buffer,
    ) -> Result<Self, DeviceError> {
        let (strips, bands) = (width.div_ceil(plan.strip()), height.div_ceil(plan.rows()));
        let left = u64::from(strips * bands * plan.rows());
        let down = u64::from(strips * bands * plan.strip());
        let mut start = 0;
        let mut part = |words: u64| {
            let part = gpu.part("scratch memory", scratch, start, words);
            start += words.next_multiple_of(64);
            part
        };
        Ok(Self {
            plan,
            size: (width, height),
            strips,
            bands,
            from,
            to,
            left: part(left)?,
            down: part(down)?,
            above: part(down * u64::from(plan.sums.words()))?,
        })
    }

    fn on<R: Runtime>(&self, gpu: &Gpu, client: &ComputeClient<R>) {
        self.sum_tiles(gpu, client);
        let rows = self.bands * self.plan.rows();
        self.add_down(gpu, client, &self.left, rows, self.strips);
        self.add_down(
            gpu,
            client,
            &self.down,
            self.strips * self.plan.strip(),
            self.bands,
        );
        self.add_across(gpu, client);
        self.finish_tiles(gpu, client);
    }

    /// As many cubes as have a plane for each tile of a band's strips.
    fn tiles(&self, gpu: &Gpu) -> CubeCount {
        cubes(gpu, self.strips.div_ceil(self.plan.planes()) * self.bands)
    }

    fn sum_tiles<R: Runtime>(&self, gpu: &Gpu, client: &ComputeClient<R>) {
        let words = self.plan.words_in();
        // SAFETY: rows and vectors are compared with the size, of which the picture has as many; sums are written for existing tiles,
        // of which both parts of the scratch memory hold as many.
        start!(client, (self.tiles(gpu), CubeDim::new_1d(self.plan.units)), unsafe sum_tiles(
            words, 4, self.from.buffer.array(words), self.down.array(4), self.left.array(1), self.size.0,
            self.size.1, self.from.pitch / words as u32, self.strips, self.bands, self.plan));
    }

    fn add_down<R: Runtime>(
        &self,
        gpu: &Gpu,
        client: &ComputeClient<R>,
        words: &Buffer,
        columns: u32,
        rows: u32,
    ) {
        // SAFETY: columns and rows are compared with their numbers, of which the part holds as many.
        start!(
            client, (cubes(gpu, columns.div_ceil(carries::COLUMNS)), CubeDim::new_1d(carries::COLUMNS * carries::PARTS)),
            unsafe add_down(words.array(1), columns, rows, self.plan.float()));
    }

    fn add_across<R: Runtime>(&self, gpu: &Gpu, client: &ComputeClient<R>) {
        let vectors = self.strips * self.plan.strip() / 4;
        let element = if self.plan.float() {
            Element::F32
        } else {
            Element::U32
        };
        let tuning = Tuning {
            units: if vectors <= 512 { 128 } else { 256 },
            items: match vectors {
                0..=256 => 2,
                257..=1_024 => 4,
                _ => 8,
            },
            vector: 4,
        };
        let scan = ScanPlan::new(tuning, element, Kind::Inclusive, self.plan.lanes);
        // SAFETY: vectors are compared with those of a row and rows with the bands, of which both parts hold as many.
        start!(client, (cubes(gpu, self.bands), CubeDim::new_1d(scan.units)), unsafe add_across(
            4, self.down.array(4), self.above.array(4), vectors, self.bands, self.plan.sums == Sums::Long,
            scan));
    }

    fn finish_tiles<R: Runtime>(&self, gpu: &Gpu, client: &ComputeClient<R>) {
        let words = self.plan.words_in();
        // SAFETY: as of `sum_tiles`; and the result holds as many vectors of sums.
        start!(client, (self.tiles(gpu), CubeDim::new_1d(self.plan.units)), unsafe finish_tiles(
            words, 4, self.from.buffer.array(words), self.above.array(4), self.left.array(1),
            self.to.buffer.array(4), self.size.0, self.size.1, self.from.pitch / words as u32,
            self.to.pitch / 4, self.strips, self.bands, self.plan));
    }
}
