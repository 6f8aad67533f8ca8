//! Reductions on a device, in two launches: blocks, then their results.
//!
//! A cube (block) of 256 units (threads; a team) reduces a block of 16 rows of 256 vectors: neighbouring
//! units load neighbouring vectors, and a unit has eight loads on the way: each that it takes into account
//! makes room for the next. What units are left with is halved by way of shared memory until one plane (warp)
//! holds it, and then by exchanges within the plane (Harris, "Optimizing parallel reduction in CUDA", 2007,
//! with the planes of later devices). Where a row is shorter than a row of a block, a plane is team enough,
//! and eight rows share a cube.
//!
//! Cubes that stay and take block after block, leaving few results to the second launch, are no faster.
//!
//! One launch, in which the last cube to end reduces the results of all, needs a counter that is 0 before,
//! and costs as much as the second launch that it saves.

use cubecl::prelude::*;

use super::Operation;
use crate::element::Element;
use crate::look_back::lanes;
use relief_kernels::device::{Buffer, DeviceError, Gpu, Operand, cubes, on_client, start};
use relief_kernels::policy::{self, Space, Tuning};

mod blocks;

use blocks::{Plan, reduce_blocks, reduce_results};

/// The layouts of [`reduce_with`]: units of a cube, and vectors that a unit loads before it takes the first.
pub const SPACE: Space = Space {
    units: &[64, 128, 256],
    items: &[1, 2, 4, 8, 16],
    vectors: &[4],
};

/// The layout where no other was found.
pub const DEFAULT: Tuning = Tuning {
    units: 256,
    items: 8,
    vector: 4,
};

/// What the kernel is called in policy files.
pub const NAME: &str = "reduce";

/// Rows of an array of numbers on a device, packed, each from a multiple of 4 words on.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Where they lie, from the first word on.
    pub buffer: &'a Buffer,
    /// What they are.
    pub element: Element,
    /// Numbers of a row.
    pub width: u64,
    /// How many rows.
    pub height: u32,
    /// Words from one row to the next, a multiple of 4.
    pub pitch: u64,
}

impl<'a> Rows<'a> {
    /// The first `len` numbers of a buffer as one row.
    #[must_use]
    pub const fn one(buffer: &'a Buffer, element: Element, len: u64) -> Self {
        Self {
            buffer,
            element,
            width: len,
            height: 1,
            pitch: element.words(len),
        }
    }
}

/// Words of a row's result: 2, the lower one first, for sums of integers and for places, else 1. The least and greatest of
/// shorter numbers are extended with zeros.
#[must_use]
pub const fn result_words(operation: Operation, element: Element) -> usize {
    match (operation, element) {
        (Operation::Sum, Element::F32) | (Operation::Least | Operation::Greatest, _) => 1,
        (Operation::Sum | Operation::PlaceOfLeast, _) => 2,
    }
}

/// Words of scratch memory that rows of `width` numbers take.
#[must_use]
pub const fn scratch_words(element: Element, width: u64, height: u32) -> usize {
    let blocks = blocks_of(element.words(width) / 4);
    if blocks > 1 {
        blocks.saturating_mul(height as u64 * 2) as usize
    } else {
        0
    }
}

/// Vectors of a row of a block; rows of a block; and results that the second launch takes at once.
const SPAN: u32 = 256;
const ROUNDS: u32 = 16;
const RESULTS: u32 = 1_024;

const fn blocks_of(vectors: u64) -> u64 {
    vectors.div_ceil((SPAN * ROUNDS) as u64)
}

/// Reduces each row to one number; result r lies at r · [`result_words`] of `to`.
///
/// `scratch` holds [`scratch_words`]; without any it may be any buffer.
///
/// # Errors
/// Where the device fails, where a buffer is too short, and where the results or the scratch memory that is needed share words
/// with the numbers or each other.
pub fn reduce(
    gpu: &Gpu,
    operation: Operation,
    from: Rows<'_>,
    to: &Buffer,
    scratch: &Buffer,
) -> Result<(), DeviceError> {
    let tuning = policy::tuning(gpu.report(), NAME, &SPACE, DEFAULT);
    reduce_with(gpu, tuning, operation, from, to, scratch)
}

/// [`reduce`] with another layout.
///
/// # Errors
/// As [`reduce`], and where the layout is not of [`SPACE`].
pub fn reduce_with(
    gpu: &Gpu,
    tuning: Tuning,
    operation: Operation,
    from: Rows<'_>,
    to: &Buffer,
    scratch: &Buffer,
) -> Result<(), DeviceError> {
    let size = Counts::of(gpu, tuning, operation, from, to, scratch)?;
    if from.height == 0 {
        return Ok(());
    }
    let lanes = lanes(gpu.report());
    let last = size.blocks == 1;
    let target = if last { to } else { scratch };
    let mut plan = Plan::blocks(operation, from.element, tuning, lanes, size.vectors);
    plan.last = last;
    let launch = Launch {
        from,
        size,
        to: target,
    };
    if !last {
        gpu.check_memory(&[
            Operand::read("the numbers", from.buffer),
            Operand::update("scratch memory", scratch),
            Operand::write("the results", to),
        ])?;
    }
    gpu.launch(
        "reduce",
        &plan,
        &[
            Operand::read("the numbers", from.buffer),
            Operand::write(if last { "the results" } else { "scratch memory" }, target),
        ],
        || on_client!(gpu, client => launch.blocks(gpu, client, plan)),
    )?;
    if last {
        return Ok(());
    }
    let plan = Plan::results(operation, from.element, lanes, gpu.report().software);
    let count = (size.blocks, from.height);
    gpu.launch(
        "reduce results",
        &plan,
        &[
            Operand::read("scratch memory", scratch),
            Operand::write("the results", to),
        ],
        || on_client!(gpu, client => results(gpu, client, plan, count, scratch, to)),
    )
}

/// What is known of the rows, in vectors.
#[derive(Clone, Copy)]
struct Counts {
    /// Of a row; and those of them that are full.
    vectors: u32,
    whole: u32,
    pitch: u32,
    blocks: u32,
}

impl Counts {
    fn of(
        gpu: &Gpu,
        tuning: Tuning,
        operation: Operation,
        from: Rows<'_>,
        to: &Buffer,
        scratch: &Buffer,
    ) -> Result<Self, DeviceError> {
        let Rows {
            buffer,
            element,
            width,
            height,
            pitch,
        } = from;
        gpu.check_layout(&SPACE, tuning)?;
        let row = element.words(width);
        gpu.holds_rows("the numbers", buffer, (height.into(), row), pitch)?;
        let blocks = blocks_of(row / 4).max(1);
        // Places of vectors and of blocks are counted in 32 bits, past the last one too.
        gpu.at_most("vectors of a buffer", 0xF000_0000_u32, buffer.words() as u64 / 4)?;
        let all = blocks.saturating_mul(u64::from(height));
        gpu.at_most("blocks of numbers at once", (1_u64 << 31) - 1, all)?;
        let results = result_words(operation, element) * height as usize;
        gpu.holds("the results", to, results as u64)?;
        gpu.holds(
            "scratch memory",
            scratch,
            scratch_words(element, width, height) as u64,
        )?;
        Ok(Self {
            vectors: (row / 4) as u32,
            whole: (width / element.per_vector()) as u32,
            pitch: (pitch / 4) as u32,
            blocks: blocks as u32,
        })
    }
}

#[derive(Clone, Copy)]
struct Launch<'a> {
    from: Rows<'a>,
    size: Counts,
    to: &'a Buffer,
}

impl Launch<'_> {
    fn blocks<R: Runtime>(&self, gpu: &Gpu, client: &ComputeClient<R>, plan: Plan) {
        let (from, size) = (self.from, self.size);
        let grid = cubes(gpu, (size.blocks * from.height).div_ceil(plan.teams));
        // SAFETY: vectors are compared with those of a row and rows with their number, and the buffer holds as many; results
        // are written for existing blocks of existing rows, and the target holds 2 words, or a result, for each.
        start!(client, (grid, CubeDim::new_1d(plan.team * plan.teams)), unsafe reduce_blocks(
            4, from.buffer.array(4), self.to.array(1), size.vectors, size.whole,
            (from.width % from.element.per_vector()) as u32, size.pitch, from.height, size.blocks, plan));
    }
}

/// Reduces the results of so many blocks of so many rows.
fn results<R: Runtime>(
    gpu: &Gpu,
    client: &ComputeClient<R>,
    plan: Plan,
    (blocks, rows): (u32, u32),
    scratch: &Buffer,
    to: &Buffer,
) {
    // SAFETY: results are compared with their number, and rows with theirs; scratch memory holds as many pairs, the target a
    // result for each row.
    start!(client, (cubes(gpu, rows), CubeDim::new_1d(plan.team)), unsafe reduce_results(
        2, scratch.array(2), to.array(1), blocks, rows, plan));
}
