//! Grey dilation and erosion on a device, in one pass.
//!
//! - **Any function**: tiles in shared memory, a vector of columns of some rows for a unit (thread)
//!   (`square`).
//! - **Separable functions**: strips of columns, a ring of rows in shared memory (`sum`); of 3 × 3 whole
//!   heights tiles as well.
//!
//! Samples of 8 and 16 bits are computed as integers of 32, of which Hopper adds two and takes the greater of
//! the sum and a third in one instruction; those of f32 take two. Heights are operands like samples, so that
//! another function is no other kernel.
//!
//! Rows of a picture are whole vectors of 16 bytes ([`Element::words`]). What a row has past its width is not
//! looked at, and is 0 in results.

use cubecl::prelude::*;

use super::function::Taps;
use super::{Height, Operator, StructuringFunction};
use crate::element::Element;
use relief_kernels::device::{Buffer, DeviceError, Gpu, Operand, launch};
use relief_kernels::policy::{self, Space, Tuning};

mod samples;
mod square;
mod sum;

use samples::Samples;

/// The layouts that are searched: units of a cube, and rows that a unit computes, four columns of each.
pub const SPACE: Space = Space {
    units: &[64, 128, 256],
    items: &[2, 4, 8],
    vectors: &[4],
};

/// The layout where no policy names another. More rows for a unit (thread) mean fewer loads for each sum; for
/// many heights they also mean more unrolled code.
#[must_use]
pub const fn default(separable: bool, radius: u32) -> Tuning {
    layout(128, if separable || radius == 3 { 4 } else { 8 })
}

/// What the kernel of a function is called in policy files.
#[must_use]
pub const fn kernel_name(separable: bool) -> &'static str {
    match separable {
        true => "morphology sum",
        false => "morphology square",
    }
}

/// A picture's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

/// Words from one row to the next, whole vectors of four.
#[must_use]
pub const fn row_words(element: Element, width: u32) -> u64 {
    element.words(width as u64)
}

/// Heights of structuring functions of samples of a device.
pub trait DeviceHeight: Height {
    /// The bits of a height.
    #[doc(hidden)]
    fn word(self) -> u32;
    /// Whether such heights are of such samples.
    #[doc(hidden)]
    fn is_of(element: Element) -> bool;
    /// Samples that such heights are of, as errors say it.
    #[doc(hidden)]
    const ELEMENTS: &'static str;
}

impl DeviceHeight for i32 {
    const ELEMENTS: &'static str = "samples of u8 or u16, as whole heights are";

    fn word(self) -> u32 {
        self.cast_unsigned()
    }

    fn is_of(element: Element) -> bool {
        matches!(element, Element::U8 | Element::U16)
    }
}

impl DeviceHeight for f32 {
    const ELEMENTS: &'static str = "samples of f32, as its heights are";

    fn word(self) -> u32 {
        self.to_bits()
    }

    fn is_of(element: Element) -> bool {
        matches!(element, Element::F32)
    }
}

/// The heights of a function as kernels take them.
#[must_use]
pub fn words<H: DeviceHeight>(operator: Operator, function: &StructuringFunction<H>) -> Vec<u32> {
    let side = 2 * function.radius() as usize + 1;
    let taps = squared(function).map_or_else(|| function.taps(operator), |square| square.taps(operator));
    match taps {
        Taps::Square(heights) => {
            // Whole vectors of the samples that a unit sees, of which the first may lie before the function.
            let plan = of_square(function.radius());
            let mut words = vec![H::ABSENT.word(); 4 * plan.heights() as usize];
            let rows = words.chunks_exact_mut(4 * plan.fours() as usize);
            for (row, heights) in rows.zip(heights.chunks_exact(side)) {
                for (word, height) in row[plan.offset() as usize..].iter_mut().zip(heights) {
                    *word = height.word();
                }
            }
            words
        }
        Taps::Sum { across, down } => across.iter().chain(&down).map(|height| height.word()).collect(),
    }
}

/// A separable function of 3 × 3 whole heights as a square of them: so few of them are fewer steps than a
/// strip takes. Sums of f32 would be rounded in another order.
fn squared<H: DeviceHeight>(function: &StructuringFunction<H>) -> Option<StructuringFunction<H>> {
    let reach = function.radius() as i32;
    if !function.is_separable() || reach > 1 || H::is_of(Element::F32) {
        return None;
    }
    let places = (-reach..=reach).flat_map(|t| (-reach..=reach).map(move |s| (s, t)));
    let heights: Vec<Option<H>> = places.map(|(s, t)| function.height(s, t)).collect();
    // Sums that are higher than heights may be stay sums.
    StructuringFunction::new(function.radius(), &heights).ok()
}

/// A plan for what does not depend on the layout.
const fn of_square(radius: u32) -> Plan {
    Plan {
        samples: Samples {
            element: Element::F32,
            down: false,
        },
        radius,
        units: (1, 1),
        rows: 1,
    }
}

/// A dilation or an erosion by a structuring function, whose heights lie on the device.
pub struct Morphology {
    samples: Samples,
    radius: u32,
    separable: bool,
    least: u32,
    heights: Buffer,
}

impl Morphology {
    /// An operator and its function, for samples of `u8`, `u16` (heights of `i32`) or `f32`.
    ///
    /// # Errors
    /// Where the device fails, and for other samples.
    pub fn new<H: DeviceHeight>(
        gpu: &Gpu,
        operator: Operator,
        function: &StructuringFunction<H>,
        element: Element,
    ) -> Result<Self, DeviceError> {
        let heights = gpu.upload(&words(operator, function))?;
        Self::with_heights(gpu, operator, function, element, heights)
    }

    /// [`new`](Self::new), of which the [`words`] lie on the device.
    ///
    /// # Errors
    /// For other samples, and where there are fewer words.
    pub fn with_heights<H: DeviceHeight>(
        gpu: &Gpu,
        operator: Operator,
        function: &StructuringFunction<H>,
        element: Element,
        heights: Buffer,
    ) -> Result<Self, DeviceError> {
        if !H::is_of(element) {
            let found = format!("samples of {}", element.name());
            return Err(gpu.no_kind("a structuring function", H::ELEMENTS, found));
        }
        let radius = function.radius();
        let separable = function.is_separable() && squared(function).is_none();
        let needed = match separable {
            true => 2 * (2 * radius + 1),
            false => 4 * of_square(radius).heights(),
        };
        gpu.holds("the heights", &heights, needed.into())?;
        Ok(Self {
            samples: Samples {
                element,
                down: operator == Operator::Erosion,
            },
            radius,
            separable,
            least: H::ABSENT.word(),
            heights,
        })
    }

    /// Computes a picture's dilation or erosion; its rows are [`row_words`] apart in `from` and `to`.
    ///
    /// # Errors
    /// Where the device fails, where a buffer is too short, and where the picture is too large for a launch or the device has too
    /// little shared memory for the radius.
    pub fn apply(&self, gpu: &Gpu, size: Size, from: &Buffer, to: &Buffer) -> Result<(), DeviceError> {
        let name = kernel_name(self.separable);
        let mut tuning = policy::tuning(gpu.report(), name, &SPACE, default(self.separable, self.radius));
        if !self.separable && self.plan(tuning).tiles(size) < u64::from(FEW * gpu.multiprocessors()) {
            tuning = layout(256, 2);
        }
        // Devices with little shared memory hold smaller tiles.
        let smaller = [
            tuning,
            layout(128, 4),
            layout(64, 4),
            layout(64, 2),
            layout(32, 2),
        ];
        let fits = |tuning: &&Tuning| self.shared(**tuning) <= gpu.report().shared_memory;
        let tuning = smaller.iter().find(fits).copied().unwrap_or(tuning);
        self.run(gpu, tuning, size, from, to)
    }

    /// [`apply`](Self::apply) with another layout.
    ///
    /// # Errors
    /// As [`apply`](Self::apply), and where the layout is not of [`SPACE`].
    pub fn apply_with(
        &self,
        gpu: &Gpu,
        tuning: Tuning,
        size: Size,
        from: &Buffer,
        to: &Buffer,
    ) -> Result<(), DeviceError> {
        gpu.check_layout(&SPACE, tuning)?;
        self.run(gpu, tuning, size, from, to)
    }

    fn plan(&self, tuning: Tuning) -> Plan {
        Plan {
            samples: self.samples,
            radius: self.radius,
            units: units(tuning),
            rows: tuning.items,
        }
    }

    /// Bytes of shared memory that a layout takes.
    fn shared(&self, tuning: Tuning) -> u32 {
        match self.separable {
            true => self.plan(tuning).shared_by_strip(),
            false => self.plan(tuning).shared_by_tile(),
        }
    }

    fn run(
        &self,
        gpu: &Gpu,
        tuning: Tuning,
        size: Size,
        from: &Buffer,
        to: &Buffer,
    ) -> Result<(), DeviceError> {
        let Size { width, height } = size;
        if width == 0 || height == 0 {
            return Ok(());
        }
        // Rows and columns around the picture are counted in 32 bits with a sign.
        gpu.at_most("pixels of a side", 1_u64 << 30, width.max(height).into())?;
        let words = row_words(self.samples.element, width).saturating_mul(u64::from(height));
        gpu.count_words(words, &[("the picture", from), ("the result", to)])?;
        let shared = gpu.report().shared_memory.min(48 << 10);
        gpu.at_most("bytes of shared memory", shared, self.shared(tuning).into())?;
        let call = Call {
            morphology: self,
            gpu,
            size,
            from,
            to,
        };
        let plan = self.plan(tuning);
        match (self.separable, self.samples.element) {
            (true, Element::F32) => call.strips::<f32>(plan),
            (true, _) => call.strips::<i32>(plan),
            (false, Element::F32) => call.tiles::<f32>(plan),
            (false, _) => call.tiles::<i32>(plan),
        }
    }
}

/// Tiles for each multiprocessor below which some wait while others have two: then tiles are low and cubes
/// large.
const FEW: u32 = 4;

const fn layout(units: u32, items: u32) -> Tuning {
    Tuning {
        units,
        items,
        vector: 4,
    }
}

/// Units across and down: as many across as a plane has, of a small cube half as many.
const fn units(tuning: Tuning) -> (u32, u32) {
    let across = if tuning.units < 128 { 16 } else { 32 };
    (across, tuning.units / across)
}

/// What is compiled into a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Plan {
    samples: Samples,
    radius: u32,
    /// Units of a cube, across and down.
    units: (u32, u32),
    /// Rows of a tile or of a step that a unit computes, in fours of columns.
    rows: u32,
}

impl Plan {
    const fn cube(&self) -> CubeDim {
        CubeDim::new_1d(self.units.0 * self.units.1)
    }

    /// Rows and columns of a function.
    const fn side(&self) -> u32 {
        2 * self.radius + 1
    }

    /// Fours left of a tile or a strip that are seen.
    const fn halo(&self) -> u32 {
        self.radius.div_ceil(4)
    }

    /// Samples between the first of the fours that a unit sees and the first that counts.
    const fn offset(&self) -> u32 {
        4 * self.halo() - self.radius
    }

    /// Fours of samples that a unit sees, but the last.
    const fn fours(&self) -> u32 {
        (self.offset() + self.side()).div_ceil(4)
    }
}

/// A picture that is there, and where its result goes.
struct Call<'a> {
    morphology: &'a Morphology,
    gpu: &'a Gpu,
    size: Size,
    from: &'a Buffer,
    to: &'a Buffer,
}

impl Call<'_> {
    const fn memory(&self) -> [Operand<'_>; 3] {
        [
            Operand::read("the picture", self.from),
            Operand::read("the heights", &self.morphology.heights),
            Operand::write("the result", self.to),
        ]
    }

    /// Fours from one row to the next.
    fn pitch(&self) -> u32 {
        let samples = self.morphology.samples;
        (row_words(samples.element, self.size.width) / samples.words() as u64) as u32
    }

    fn tiles<L: Numeric>(&self, plan: Plan) -> Result<(), DeviceError> {
        let (columns, rows) = plan.tile();
        let (across, down) = (
            (4 * self.pitch()).div_ceil(columns),
            self.size.height.div_ceil(rows),
        );
        // SAFETY: samples are read and results written where row and column are the picture's, of which both buffers hold as many; heights are
        // as many as `plan.heights()`, which does not depend on the layout. A unit sees fours x…x + `fours()` of rows of `units.0` +
        // `fours()`, and rows to `rows` · y + `rows` − 1 + 2 `radius` of as many as the tile has and 2 `radius`.
        launch!(
            self.gpu, "morphology square", &plan, &self.memory(), (self.gpu.grid(across, down)?, plan.cube()),
            unsafe square::dilate_tiles<L, _>(
                4, plan.samples.words(), self.from.array(plan.samples.words()),
                self.morphology.heights.array(4), self.to.array(plan.samples.words()), self.size.width,
                self.size.height, self.pitch(), self.morphology.least, plan))
    }

    fn strips<L: Numeric>(&self, plan: Plan) -> Result<(), DeviceError> {
        let across = (4 * self.pitch()).div_ceil(plan.columns());
        // As many strips as the device has on the way at once, but none with fewer rows than it reads beside its own.
        let wanted = (self.gpu.multiprocessors() * CUBES / across).max(1);
        let most = self.size.height.div_ceil(plan.step() * plan.ahead().max(1));
        let steps = self.size.height.div_ceil(wanted.min(most)).div_ceil(plan.step());
        let down = self.size.height.div_ceil(steps * plan.step());
        // SAFETY: as of `tiles`; heights are those of two sides. Rows of the ring are less than as many as it has: of a step they begin at a
        // multiple of its rows, and what a unit sees from there on ends at most once.
        launch!(
            self.gpu, "morphology sum", &plan, &self.memory(), (self.gpu.grid(across, down)?, plan.cube()),
            unsafe sum::dilate_strips<L, _>(
                4, plan.samples.words(), self.from.array(plan.samples.words()),
                self.morphology.heights.array(1), self.to.array(plan.samples.words()), self.size.width,
                self.size.height, self.pitch(), self.morphology.least, steps, plan))
    }
}

/// Cubes of strips for each multiprocessor.
const CUBES: u32 = 8;
