//! Min-plus products on a device: operands padded and one of them transposed first, then tiles by way of shared memory.
//!
//! Padding to whole tiles with `INFINITY` costs a read and a write of both operands, n² against the n³ of the product, and frees the loop from
//! every comparison. Transposing the left operand lets both be read along rows. A unit keeps 8 × 8 sums in registers, as
//! 2 × 2 squares of 4 × 4, so that all its loads from shared memory are vectors and those of a plane one line. The next slices are
//! on their way from memory in registers while those in shared memory are used; there are two of each, so that one barrier a slice does.
//!
//! **Floats that are not negative** are in the order of their bits, and Hopper has a minimum of three integers in one
//! instruction: two steps take three instructions instead of four. Whether there is a negative number is found out while
//! padding. There is a kernel for each, of which one has nothing to do; for small products one kernel holds both loops.

use std::fmt;

use cubecl::prelude::*;

use super::FAR;
use crate::element::Element;
use relief_kernels::copy::gpu::fill;
use relief_kernels::device::{Buffer, DeviceError, Gpu, Operand, addresses, launch, on_client, start};
use relief_kernels::policy::{self, Space, Tuning};

mod padding;
pub mod paths;
mod tiles;

use padding::{ROWS, SIDE, pad};
pub use tiles::{Arrival, Step};
use tiles::{Form, Shape, min_plus_tiles};

/// The layouts that are searched: units of a cube, and vectors of four sums of a unit, 8 × 8 or 8 × 16 sums.
pub const SPACE: Space = Space {
    units: &[64, 128, 256, 512],
    items: &[16, 32],
    vectors: &[4],
};

/// The layout where no policy names another: tiles of 64 × 256, for numbers that are not negative. The device
/// copies slices of 16 itself, and rows are loaded ahead.
pub const DEFAULT: Tuning = Tuning {
    units: 128,
    items: 32,
    vector: 4,
};

/// The layout of numbers of which some are negative, and that where a device does not copy to shared memory
/// by itself. Here three-way maxima of bits bind, and rows ahead are slower.
const SIGNED: Layout = Layout {
    units: 256,
    rows: 8,
    depth: 16,
    arrival: Arrival::Straight,
};
const SIGNED_HELD: Layout = Layout {
    units: 128,
    rows: 8,
    depth: 8,
    arrival: Arrival::Held,
};

/// How a product is dealt to the units of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Units of a cube: 64, 128, 256 or 512.
    pub units: u32,
    /// Rows that a unit has sums of, in 8 columns: 8 or 16.
    pub rows: u32,
    /// Rows of both operands that a cube holds at once: 8, 16 or 32.
    pub depth: u32,
    /// How the next rows come while those that are there are used.
    pub arrival: Arrival,
}

impl Layout {
    /// The layout where larger tiles would leave a device idle: 64 × 64 sums a cube.
    pub const SMALL: Self = Self {
        units: 64,
        rows: 8,
        depth: 8,
        arrival: Arrival::Held,
    };

    /// The layout of a tuning.
    #[must_use]
    pub const fn of(tuning: Tuning) -> Self {
        Self {
            units: tuning.units,
            rows: tuning.items / 2,
            depth: if tuning.units == 512 { 16 } else { 8 },
            arrival: Arrival::Held,
        }
    }

    /// Units across and down.
    const fn grid(self) -> Option<(u32, u32)> {
        match self.units {
            64 => Some((8, 8)),
            128 => Some((8, 16)),
            256 => Some((16, 16)),
            512 => Some((16, 32)),
            _ => None,
        }
    }
}

/// What the kernel is called in policy files.
pub const NAME: &str = "min-plus";

/// Sizes of a product: a(i, k) has `rows` × `inner`, b(k, j) `inner` × `columns`, c(i, j) `rows` × `columns` numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    /// Rows of a and c.
    pub rows: u32,
    /// Columns of a, rows of b.
    pub inner: u32,
    /// Columns of b and c.
    pub columns: u32,
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, inner, columns } = self;
        write!(f, "{rows} × {inner} by {inner} × {columns}")
    }
}

/// A matrix on a device: rows of numbers, those of 16 bits packed, the first in the lowest bits.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    /// Where it lies, from the first word on.
    pub buffer: &'a Buffer,
    /// Words from one row to the next, a multiple of 4.
    pub pitch: u32,
}

/// Sides of all tiles that are computed are divisors of it.
const WHOLE: u64 = 256;

/// Words before the padded operands: the first tells whether there is a negative number, and word [`RAN`] is for kernels to write.
const FOUND: u64 = 128;
const RAN: u64 = 64;

/// Words of scratch memory that a product takes: both operands with sides that are multiples of 256, whatever numbers they are of.
#[must_use]
pub const fn scratch_words(size: Size) -> u64 {
    let Size { rows, inner, columns } = size;
    let rows = (rows as u64).next_multiple_of(WHOLE);
    let columns = (columns as u64).next_multiple_of(WHOLE);
    FOUND.saturating_add(padded_inner(inner).saturating_mul(rows + columns))
}

/// Rows of the padded operands.
const fn padded_inner(inner: u32) -> u64 {
    if inner == 0 {
        SIDE as u64
    } else {
        (inner as u64).next_multiple_of(SIDE as u64)
    }
}

/// Computes a product of `f32`, `i32` or `u16`. What follows in rows of `c`, up to the next multiple of 4 words, becomes
/// `INFINITY`.
///
/// `scratch` holds [`scratch_words`].
///
/// # Errors
/// Where the device fails, for other numbers, where a buffer is too short, and where there are more than 65 535 tiles of a side.
pub fn min_plus(
    gpu: &Gpu,
    element: Element,
    size: Size,
    a: Matrix<'_>,
    b: Matrix<'_>,
    c: Matrix<'_>,
    scratch: &Buffer,
) -> Result<(), DeviceError> {
    let shapes = fitting(gpu, element, size)?;
    Product::of(shapes, element, size, [a, b, c]).run(gpu, scratch)
}

/// The kernels of a product where nobody chooses.
fn fitting(gpu: &Gpu, element: Element, size: Size) -> Result<Shapes, DeviceError> {
    let tiles = u64::from(size.rows.div_ceil(128)) * u64::from(size.columns.div_ceil(128));
    // Software Vulkan is busy with a few.
    let large = gpu.report().software || tiles >= BUSY;
    let nearly = copies(gpu) && tiles >= NEARLY_BUSY;
    let step = match element {
        Element::F32 => Step::Found,
        _ => Step::Integer,
    };
    let tuned = Layout::of(policy::tuning(gpu.report(), NAME, &SPACE, DEFAULT));
    let (tuned, signed) = match copies(gpu) {
        true => (
            Layout {
                depth: 16,
                arrival: Arrival::Ahead,
                ..tuned
            },
            SIGNED,
        ),
        false => (tuned, SIGNED_HELD),
    };
    // Devices with little shared memory hold the small tiles.
    match shapes(gpu, tuned, signed, step, element) {
        Ok(shapes) if large => Ok(shapes),
        Ok(_) if nearly => shapes(gpu, SIGNED, SIGNED, step, element),
        _ => shapes(gpu, Layout::SMALL, Layout::SMALL, step, element),
    }
}

/// Whether a device copies to shared memory without registers.
fn copies(gpu: &Gpu) -> bool {
    on_client!(gpu, client => client.features().copy_async)
}

/// Tiles of 128 × 128 that a large device has on the way at once.
const BUSY: u64 = 264;

/// Nearly as many: one of 256 units each is then better than four times as many of 64.
const NEARLY_BUSY: u64 = 198;

/// [`min_plus`] with another layout, and by this step. [`Step::NonNegative`] gives wrong numbers, but nothing worse, where there are negative ones.
///
/// # Errors
/// As [`min_plus`], where there is no such layout or it takes more shared memory than the device has, and where the step is none
/// of such numbers.
#[allow(clippy::too_many_arguments)]
pub fn min_plus_with(
    gpu: &Gpu,
    layout: Layout,
    step: Step,
    element: Element,
    size: Size,
    a: Matrix<'_>,
    b: Matrix<'_>,
    c: Matrix<'_>,
    scratch: &Buffer,
) -> Result<(), DeviceError> {
    let shapes = shapes(gpu, layout, layout, step, element)?;
    Product::of(shapes, element, size, [a, b, c]).run(gpu, scratch)
}

/// [`min_plus`], of which the numbers of `old` are taken where they are less; `old` and `c` are two matrices with the same pitch.
///
/// # Errors
/// As [`min_plus`], and where `old` has another pitch or too few numbers, or is `c`.
#[allow(clippy::too_many_arguments)]
pub fn lessen(
    gpu: &Gpu,
    element: Element,
    size: Size,
    a: Matrix<'_>,
    b: Matrix<'_>,
    old: Matrix<'_>,
    c: Matrix<'_>,
    scratch: &Buffer,
) -> Result<(), DeviceError> {
    let mut shapes = fitting(gpu, element, size)?;
    shapes.first.lessens = true;
    if let Some(other) = &mut shapes.other {
        other.lessens = true;
    }
    gpu.matches(
        "words from row to row of what the product is compared with",
        c.pitch.into(),
        old.pitch.into(),
    )?;
    gpu.check_memory(&[
        Operand::read("what is compared", old.buffer),
        Operand::write("the product", c.buffer),
    ])?;
    check(gpu, element, (size.rows, size.columns), old, "what is compared")?;
    let product = Product::of(shapes, element, size, [a, b, c]);
    let old = Some(old);
    Product { old, ..product }.run(gpu, scratch)
}

/// What is asked for.
#[derive(Clone, Copy)]
struct Product<'a> {
    shapes: Shapes,
    element: Element,
    size: Size,
    a: Matrix<'a>,
    b: Matrix<'a>,
    old: Option<Matrix<'a>>,
    c: Matrix<'a>,
}

impl<'a> Product<'a> {
    const fn of(shapes: Shapes, element: Element, size: Size, [a, b, c]: [Matrix<'a>; 3]) -> Self {
        Self {
            shapes,
            element,
            size,
            a,
            b,
            old: None,
            c,
        }
    }

    fn run(self, gpu: &Gpu, scratch: &Buffer) -> Result<(), DeviceError> {
        let Self {
            shapes,
            element,
            size,
            a,
            b,
            old,
            c,
        } = self;
        check(gpu, element, (size.rows, size.inner), a, "the left matrix")?;
        check(gpu, element, (size.inner, size.columns), b, "the right matrix")?;
        check(gpu, element, (size.rows, size.columns), c, "the product")?;
        if size.rows == 0 || size.columns == 0 {
            return Ok(());
        }
        let (width, height) = shapes.tile();
        let inner = padded_inner(size.inner);
        let padded = Size {
            rows: size.rows.next_multiple_of(height),
            inner: inner as u32,
            columns: size.columns.next_multiple_of(width),
        };
        let side = u64::from(padded.rows.max(padded.columns));
        gpu.at_most(
            "numbers along a side of a product",
            65_535 * u64::from(SIDE),
            inner.max(side),
        )?;
        gpu.at_most("numbers of an operand", u32::MAX, inner.saturating_mul(side))?;
        let (left_words, right_words) = (inner * u64::from(padded.rows), inner * u64::from(padded.columns));
        let part = |start, words| gpu.part("scratch memory", scratch, start, words);
        let (found, ran) = (part(0, RAN)?, part(RAN, FOUND - RAN)?);
        let left = part(FOUND, left_words)?;
        let right = part(FOUND + left_words, right_words)?;
        let shape = shapes.first;
        if shape.step == Step::Found || shape.guarded {
            fill(gpu, &found, RAN as usize, 0)?;
        }
        let launch = Launch {
            product: &self,
            shape,
            padded,
            found: &found,
            ran: &ran,
            left: &left,
            right: &right,
        };
        launch.pad(gpu, true)?;
        launch.pad(gpu, false)?;
        for shape in [Some(shapes.first), shapes.other].into_iter().flatten() {
            let launch = Launch { shape, ..launch };
            // A kernel that has nothing to do overwrites `ran` alone.
            let (product, word) = match shape.guarded {
                true => (
                    Operand::update("the product", c.buffer),
                    Operand::write("scratch memory", &ran),
                ),
                false => (
                    Operand::write("the product", c.buffer),
                    Operand::update("scratch memory", &ran),
                ),
            };
            gpu.launch(
                "min-plus",
                &shape,
                &[
                    Operand::read("scratch memory", &left),
                    Operand::read("scratch memory", &right),
                    Operand::read("scratch memory", &found),
                    Operand::read("what is compared", old.map_or(&left, |old| old.buffer)),
                    product,
                    word,
                ],
                || on_client!(gpu, client => launch.product(gpu, client)),
            )?;
        }
        Ok(())
    }
}

/// The kernel of a product, or two of which one finds nothing to do: each then has registers for its own loop alone.
#[derive(Clone, Copy)]
struct Shapes {
    first: Shape,
    other: Option<Shape>,
}

impl Shapes {
    /// Sums of the tiles of both, across and down: of powers of two the greater.
    fn tile(&self) -> (u32, u32) {
        let (first, other) = (self.first.tile(), self.other.unwrap_or(self.first).tile());
        (first.0.max(other.0), first.1.max(other.1))
    }
}

/// The kernels of a step: `layout`, and `signed` for numbers of which some are negative.
fn shapes(
    gpu: &Gpu,
    layout: Layout,
    signed: Layout,
    step: Step,
    element: Element,
) -> Result<Shapes, DeviceError> {
    // A small product takes less time than a launch.
    if step != Step::Found || layout.units < 128 {
        let first = shape(gpu, layout, step, element)?;
        return Ok(Shapes { first, other: None });
    }
    let guarded = |layout, step| {
        shape(gpu, layout, step, element).map(|shape| Shape {
            guarded: true,
            ..shape
        })
    };
    Ok(Shapes {
        first: guarded(layout, Step::NonNegative)?,
        other: Some(guarded(signed, Step::Settling)?),
    })
}

fn shape(gpu: &Gpu, layout: Layout, step: Step, element: Element) -> Result<Shape, DeviceError> {
    let (form, fits) = match element {
        Element::F32 => (Form::Float, step != Step::Integer),
        Element::I32 => (Form::Signed, step == Step::Integer),
        Element::U16 => (Form::Short, step == Step::Integer),
        _ => (Form::Signed, false),
    };
    if !fits {
        let found = format!("{} {}", element.name(), step.way());
        return Err(gpu.no_kind(
            "a min-plus product",
            "f32 by sums of floats, i32 and u16 by those of integers",
            found,
        ));
    }
    let refused = || {
        gpu.no_layout(
            format!(
                "of {} units with {} rows each, {} rows of the operands at once",
                layout.units, layout.rows, layout.depth
            ),
            "64, 128, 256 or 512 units with 8 or 16 rows and 8, 16 or 32 rows of the operands at once",
        )
    };
    let units = layout.grid().ok_or_else(refused)?;
    if !matches!(layout.rows, 8 | 16) || !matches!(layout.depth, 8 | 16 | 32) {
        return Err(refused());
    }
    // Operands are padded to whole tiles of all layouts but the widest, which is of no use: it takes 80 KiB.
    if WHOLE % u64::from(units.1 * layout.rows) != 0 {
        return Err(refused());
    }
    let shape = Shape {
        step,
        form,
        units,
        block: (8, layout.rows),
        depth: layout.depth,
        arrival: layout.arrival,
        lessens: false,
        votes: {
            let (least, most) = gpu.report().plane;
            least == most
        },
        guarded: false,
    };
    if layout.arrival.is_straight() && !copies(gpu) {
        return Err(gpu.unsupported("it has no copies to shared memory that pass no registers"));
    }
    // Every unit of a cube brings a vector of each slice.
    let most = match layout.arrival {
        Arrival::Straight | Arrival::Ahead => gpu.most_shared_memory(),
        _ => gpu.report().shared_memory.min(48 << 10),
    };
    if !shape.is_dealt() {
        return Err(refused());
    }
    gpu.at_most("bytes of shared memory", most, shape.shared().into())?;
    Ok(shape)
}

/// Makes sure that a buffer holds `rows` × `columns` numbers.
fn check(
    gpu: &Gpu,
    element: Element,
    (rows, columns): (u32, u32),
    matrix: Matrix<'_>,
    what: &'static str,
) -> Result<(), DeviceError> {
    let row = element.words(u64::from(columns));
    let words = gpu.holds_rows(what, matrix.buffer, (rows.into(), row), matrix.pitch.into())?;
    gpu.at_most("words of a matrix", u32::MAX, words)
}

#[derive(Clone, Copy)]
struct Launch<'a> {
    product: &'a Product<'a>,
    shape: Shape,
    /// Sizes of the padded operands.
    padded: Size,
    found: &'a Buffer,
    ran: &'a Buffer,
    left: &'a Buffer,
    right: &'a Buffer,
}

impl Launch<'_> {
    /// The bits of what stands for no path.
    fn infinity(&self) -> u32 {
        match self.shape.form {
            Form::Float => f32::INFINITY.to_bits(),
            Form::Signed => FAR.cast_unsigned(),
            Form::Short => u32::from(u16::MAX),
        }
    }

    /// Pads the left operand, transposed, or the right one.
    fn pad(&self, gpu: &Gpu, is_left: bool) -> Result<(), DeviceError> {
        let Product { size, a, b, .. } = *self.product;
        let (name, what, from, to) = match is_left {
            true => ("min-plus left", "the left matrix", a, self.left),
            false => ("min-plus right", "the right matrix", b, self.right),
        };
        let sides = |size: Size| match is_left {
            true => (size.rows, size.inner),
            false => (size.inner, size.columns),
        };
        let ((rows, columns), (down, across)) = (sides(size), sides(self.padded));
        let width = if is_left { down } else { across };
        let memory = [
            Operand::read(what, from.buffer),
            Operand::update("scratch memory", self.found),
            Operand::write("scratch memory", to),
        ];
        // SAFETY: numbers are read at most at row `rows` − 1, column `columns` − 1 of `from`, which holds as many rows of its pitch; as
        // many words are written as there are units, `down` × `across`, which is how long `to` was cut.
        launch!(
            gpu, name, &self.shape.form, &memory,
            (CubeCount::Static(across / SIDE, down / SIDE, 1), CubeDim::new_2d(SIDE, ROWS)),
            unsafe pad(
                from.buffer.array(1), to.array(1), self.found.array(1), columns, rows, from.pitch, width,
                self.infinity(), is_left, self.shape.form))
    }

    fn product<R: Runtime>(&self, gpu: &Gpu, client: &ComputeClient<R>) {
        match self.shape.step {
            Step::Integer => self.product_of::<i32, R>(gpu, client),
            _ => self.product_of::<f32, R>(gpu, client),
        }
    }

    fn product_of<T: Numeric, R: Runtime>(&self, gpu: &Gpu, client: &ComputeClient<R>) {
        let shape = self.shape;
        let Product {
            element,
            size,
            old,
            c,
            ..
        } = *self.product;
        let steps = size.inner.div_ceil(shape.depth).max(1);
        // Stored vectors have the results of four columns.
        let width = shape.form.words() as usize;
        let (tile_width, tile_height) = shape.tile();
        let grid = CubeCount::Static(
            size.columns.div_ceil(tile_width),
            size.rows.div_ceil(tile_height),
            1,
        );
        let units = CubeDim::new_1d(shape.all_units());
        let (left, right, found) = (self.left.array(4), self.right.array(4), self.found.array(1));
        // What is not read may be anything but the result.
        let old = old.map_or(self.left, |old| old.buffer).array(width);
        let out = c.buffer.array(width);
        let pitches = (
            self.padded.rows / 4,
            self.padded.columns / 4,
            c.pitch / width as u32,
        );
        let rows = size.rows;
        let addresses = addresses(gpu);
        // Whole vectors of four words.
        let vectors = (element.words(u64::from(size.columns)) / width as u64) as u32;
        // SAFETY: slices reach to row steps · depth of the padded operands, which is at most `padded.inner` because the depth divides
        // that, and the operands are padded to the tiles of all cubes; one word of `ran` is written; places of shared memory are below the slices that it holds. Lines of the
        // result are compared with `rows`, vectors with those of a row, which its pitch holds.
        start!(client, (grid, units), unsafe min_plus_tiles<T, _>(
            addresses, 4, width, left, right, found, old, out, self.ran.array(1), pitches.0, pitches.1,
            steps, rows, vectors, pitches.2, self.infinity(), shape));
    }
}
