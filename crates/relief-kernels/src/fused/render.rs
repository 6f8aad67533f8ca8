//! Launching fused kernels.

use cubecl::prelude::*;
use relief_raster::{Depth, Rect};

use crate::device::{Buffer, DeviceError, Gpu, Operand, on_client, start};

use super::cell::CellLayout;
use super::expression::Expression;
use super::kernel::{rows_of_cell, rows_of_vectors, rows_of_words};
use super::lower::Lowering;
use super::shape::{Loads, Plan, Shape, per_word};

/// How a fused kernel is laid out; apart from the kernel, because devices differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Policy {
    /// Units of a cube.
    pub units: u32,
    /// Rows that a cube computes.
    pub rows: u32,
    /// Rows that a unit computes before it stores the first of them.
    pub unroll: u32,
    /// Whether units store words next to their neighbours' instead of vectors.
    pub interleaved: bool,
    /// The most copies of a table in shared memory, a power of two.
    pub lanes: u32,
    /// Bytes of shared memory for tables.
    pub shared: u32,
}

impl Policy {
    /// The layout for an expression: as [`for_device`](Self::for_device), except for a lone cell on software
    /// Vulkan. If the cell is loaded by vectors, a unit (thread) steps down eight rows; otherwise four rows
    /// at once share what is loaded for each lane. A larger tree stays at one row, because a kernel of four
    /// would take long to compile.
    #[must_use]
    pub fn fitting(gpu: &Gpu, expression: &Expression) -> Self {
        let usual = Self::for_device(gpu);
        match expression {
            Expression::Cell { cell, .. }
                if gpu.report().software && cell.layout() == CellLayout::Vectors =>
            {
                Self {
                    rows: 8,
                    unroll: 8,
                    ..usual
                }
            }
            Expression::Cell { .. } if gpu.report().software => Self {
                units: 128,
                rows: 32,
                unroll: 4,
                ..usual
            },
            _ => usual,
        }
    }

    /// Nothing where kernels can be laid out so: with other numbers they would divide by 0, or never come to an end.
    fn check(&self, gpu: &Gpu) -> Result<(), DeviceError> {
        let Self {
            units,
            rows,
            unroll,
            lanes,
            ..
        } = *self;
        let possible =
            (1..=1_024).contains(&units) && rows > 0 && (1..=64).contains(&unroll) && lanes.is_power_of_two();
        if possible {
            return Ok(());
        }
        Err(gpu.no_layout(
            format!("of {units} units, {rows} rows, {unroll} rows at once, {lanes} copies"),
            "1 to 1024 units, 1 row or more, 1 to 64 rows at once, and copies that are a power of two",
        ))
    }

    /// The default layout.
    #[must_use]
    pub fn for_device(gpu: &Gpu) -> Self {
        Self {
            units: 256,
            rows: 16,
            unroll: 1,
            interleaved: false,
            lanes: 1,
            shared: gpu.report().shared_memory.min(32 << 10),
        }
    }
}

/// Renders the pixels of `band` of `expression` into the rows of `output`, `pitch` words apart.
///
/// `raster` holds all pixels that will ever be asked for; bands of one raster share a kernel. Samples between the
/// band's right edge and the pitch are written too and mean nothing.
///
/// # Errors
/// Where the device fails or the band exceeds its limits. `pitch` has to be a multiple of 4 that holds a row.
pub fn render(
    gpu: &Gpu,
    expression: &Expression,
    depth: Depth,
    raster: Rect,
    band: Rect,
    output: &Buffer,
    pitch: u32,
) -> Result<(), DeviceError> {
    render_with(
        gpu,
        &Policy::fitting(gpu, expression),
        expression,
        depth,
        raster,
        band,
        output,
        pitch,
    )
}

/// [`render`] with another policy.
///
/// # Errors
/// As [`render`].
#[allow(clippy::too_many_arguments)]
pub fn render_with(
    gpu: &Gpu,
    policy: &Policy,
    expression: &Expression,
    depth: Depth,
    raster: Rect,
    band: Rect,
    output: &Buffer,
    pitch: u32,
) -> Result<(), DeviceError> {
    if band.is_empty() {
        return Ok(());
    }
    policy.check(gpu)?;
    check_output(gpu, depth, band, output, pitch)?;
    let mut done = 0;
    while done < band.height() {
        let rest = Rect::between(band.x(), band.y() + done as i64, band.right(), band.bottom());
        done += render_rows(gpu, policy, expression, depth, raster, rest, output, pitch, done)?;
    }
    Ok(())
}

pub(crate) fn check_output(
    gpu: &Gpu,
    depth: Depth,
    band: Rect,
    output: &Buffer,
    pitch: u32,
) -> Result<(), DeviceError> {
    let row = band.width().div_ceil(per_word(depth.bits()).into());
    gpu.holds_whole_rows("the output", output, (band.height(), row), pitch.into())?;
    gpu.at_most(
        "words of the output, or of a part that is given",
        1_u64 << 31,
        output.words() as u64,
    )?;
    gpu.at_most(
        "pixels of a side at once",
        (1_u64 << 31) - 1,
        band.width().max(band.height()),
    )
}

/// The buffers that a kernel names whatever the expression: the output, the spans of discs and the numbers.
pub const OWN_BUFFERS: usize = 3;

/// Renders as many of the first rows of `band` as one launch can, `skipped` rows into `output`; returns how many.
#[allow(clippy::too_many_arguments)]
fn render_rows(
    gpu: &Gpu,
    policy: &Policy,
    expression: &Expression,
    depth: Depth,
    raster: Rect,
    band: Rect,
    output: &Buffer,
    pitch: u32,
    skipped: u64,
) -> Result<u64, DeviceError> {
    let bits = depth.bits();
    let step = if policy.interleaved {
        policy.units * per_word(bits)
    } else {
        per_word(bits)
    };
    let shared = (policy.shared / 1_024) as usize;
    let vectors = pitch / 4;
    let across = if policy.interleaved {
        vectors.div_ceil(policy.units).saturating_mul(policy.units)
    } else {
        vectors
    };
    let launched = u64::from(across) * u64::from(4 * per_word(bits));
    let lower = |band: Rect| {
        let mut lowering = Lowering::new(gpu, bits, step, !policy.interleaved, shared, band, launched);
        let shape = lowering.lower(expression, 0, 0, raster)?;
        Ok::<_, DeviceError>((lowering, shape))
    };
    let (mut lowering, mut shape) = lower(band)?;
    if lowering.upside_down && lowering.rows < band.height() {
        // From the last of its rows on there have to be as few as from the first.
        let bottom = band.y() + lowering.rows as i64;
        (lowering, shape) = lower(Rect::between(band.x(), band.y(), band.right(), bottom))?;
    }
    let buffers = lowering.words.len() + lowering.vectors.len() + OWN_BUFFERS;
    let most = gpu.report().bindings;
    gpu.at_most(
        "pictures, cells, tables and planes of a tree",
        most,
        buffers as u64,
    )?;
    let height = band.height().min(lowering.rows);
    let stepped = match shape {
        Shape::Cell {
            at,
            slot,
            loads: Loads::Vector,
            ..
        } if gpu.report().software => Some((at, slot)),
        _ => None,
    };
    // Units past the end of a row have nothing to do, and on software take as long as others.
    let units = match stepped {
        Some(_) => policy
            .units
            .min(vectors.next_multiple_of(gpu.report().plane.1.max(1))),
        None => policy.units,
    };
    let tables = lowering.tables.len().max(1) as u32;
    let room = (policy.shared / 1_024 / tables).max(1);
    let plan = Plan {
        bits,
        step,
        unroll: policy.unroll,
        lanes: policy.lanes.min(1 << room.ilog2()),
        units,
        tables: lowering.tables.clone(),
        shape,
    };
    let spans = if lowering.spans.is_empty() {
        gpu.nothing()?
    } else {
        gpu.upload(&lowering.spans)?
    };
    let launch = Launch {
        words: &lowering.words,
        vectors: &lowering.vectors,
        spans: &spans,
        numbers: &lowering.numbers,
        output,
        pitch: if policy.interleaved { pitch } else { vectors },
        height: height as u32,
        rows: policy
            .rows
            .max((height as u32).div_ceil(gpu.report().cubes.min(65_535))),
        offset: (skipped * u64::from(if policy.interleaved { pitch } else { vectors })) as u32,
        columns: vectors.div_ceil(units),
        interleaved: policy.interleaved,
        stepped,
        plan: &plan,
    };
    gpu.at_most("cubes of a row", 65_535_u32, launch.columns.into())?;
    let shape = (&plan, policy.interleaved, stepped, lowering.numbers.len());
    let read = |buffer| Operand::read("a plane, a cell or a table of the tree", buffer);
    let mut memory: Vec<_> = lowering.words.iter().chain(&lowering.vectors).map(read).collect();
    memory.push(match skipped {
        0 => Operand::write("the output", output),
        // The first rows were written before.
        _ => Operand::update("the output", output),
    });
    gpu.launch(
        "fused",
        &shape,
        &memory,
        || on_client!(gpu, client => launch.on(client)),
    )?;
    Ok(height)
}

struct Launch<'a> {
    words: &'a [Buffer],
    vectors: &'a [Buffer],
    spans: &'a Buffer,
    numbers: &'a [u32],
    output: &'a Buffer,
    pitch: u32,
    height: u32,
    rows: u32,
    offset: u32,
    columns: u32,
    interleaved: bool,
    /// Of a cell alone, where its numbers and its buffer are.
    stepped: Option<(usize, usize)>,
    plan: &'a Plan,
}

impl Launch<'_> {
    fn on<R: Runtime>(&self, client: &ComputeClient<R>) {
        let count = CubeCount::Static(self.columns, self.height.div_ceil(self.rows), 1);
        let dim = CubeDim::new_1d(self.plan.units);
        // SAFETY: every index is below the words of its buffer: rows of the output were checked against its size, columns and rows of
        // cells are remainders, rows of planes are clamped to the last and words of rows to the last word of a row, which
        // `Plane` has checked, and a `Table` has M + 1 entries. All of them have the depth of the raster, which lowering has checked.
        let vector = |b: &Buffer| b.array(4);
        let words: SequenceArg<R, Array<u32>> = self.words.iter().map(|words| words.array(1)).collect();
        let numbers: SequenceArg<R, u32> = self.numbers.iter().copied().collect();
        let spans = self.spans.array(1);
        if let Some((at, slot)) = self.stepped {
            start!(client, (count, dim), unsafe rows_of_cell(
                4, vector(&self.vectors[slot]), numbers, vector(self.output), self.pitch, self.height,
                self.rows, self.offset, at, self.plan.bits, self.plan.unroll));
        } else if self.interleaved {
            start!(client, (count, dim), unsafe rows_of_words(
                4, words, self.vectors.iter().map(vector).collect(), spans, numbers, self.output.array(1),
                self.pitch, self.height, self.rows, self.offset, self.plan.clone()));
        } else {
            start!(client, (count, dim), unsafe rows_of_vectors(
                4, words, self.vectors.iter().map(vector).collect(), spans, numbers, vector(self.output),
                self.pitch, self.height, self.rows, self.offset, self.plan.clone()));
        }
    }
}
