//! Stencils on a device, each in one pass: a pixel is read from memory about once and written once.
//!
//! - **Box, erosion, dilation**: strips of columns, a few rows at a step; the work does not grow with the
//!   radius (`slide`; of bytes `sums` and `extremes`). Large pictures of bytes go other routes: boxes by
//!   units (threads) of 16 columns (`wide`), extremes above r = 8 and boxes above r = 31 by cubes (blocks)
//!   that keep the rows of their windows in shared memory (`extremes::kept`). Software Vulkan keeps rows
//!   wherever they fit, and computes f32 down columns, then along rows (`lines`).
//! - **Gauss**: the same with weights (`weigh`).
//! - **Sobel, convolution**: small squares in registers (`square`; Sobel of bytes `edges`).
//! - Gauss filters and convolutions of bytes by matrix instructions, where a device has them (`matrix`).
//!
//! Rows of a picture are whole vectors of 16 bytes: [`row_words`]. What a row has past its width is not
//! looked at, and is 0 in results.

use cubecl::ir::features::MmaConfig;
use cubecl::ir::{ElemType, FloatKind, IntKind, UIntKind};
use cubecl::prelude::*;
use cubecl::zspace::{shape, strides};

use super::{Filter, MAX_RADIUS, Mask};
use relief_kernels::device::{
    Backend, Buffer, DeviceError, DeviceReport, Gpu, Operand, addresses, on_client,
};
use relief_kernels::policy::{self, Space, Tuning};

mod columns;
mod down;
mod edges;
mod extremes;
mod lines;
mod matrix;
mod pairs;
mod ring;
mod slide;
mod square;
mod strip;
mod sums;
mod weigh;
mod wide;

use self::down::Fold;
use self::extremes::kept::Kept;
use self::lines::Lines;
use self::pairs::Pairs;
use self::square::Square;
use self::strip::Strip;
use self::wide::Wide;

/// The samples of a picture on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Samples {
    /// Of 8 bits, four in a word, the first in the lowest bits.
    Bytes,
    /// Of 32 bits.
    Floats,
}

impl Samples {
    /// How many a word holds.
    #[must_use]
    pub const fn per_word(self) -> u32 {
        match self {
            Self::Bytes => 4,
            Self::Floats => 1,
        }
    }
}

/// A picture's size on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    /// What it consists of.
    pub samples: Samples,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

/// Words from one row to the next: whole vectors of four.
#[must_use]
pub const fn row_words(samples: Samples, width: u32) -> u32 {
    width.div_ceil(4 * samples.per_word()).saturating_mul(4)
}

/// What the kernel of a filter is called in policy files. Windows of sums and extremes suit other layouts as they grow: those whose
/// radius is above 8, and above 31, have names of their own; of sums of bytes those above 24.
#[must_use]
pub const fn kernel_name(filter: &Filter, samples: Samples) -> &'static str {
    match samples {
        Samples::Bytes => match filter {
            Filter::Box(0..=24) => "stencil box u8",
            Filter::Box(_) => "stencil box u8, r > 24",
            Filter::Erosion(0..=8) | Filter::Dilation(0..=8) => "stencil extreme u8",
            Filter::Erosion(9..=31) | Filter::Dilation(9..=31) => "stencil extreme u8, r > 8",
            Filter::Erosion(_) | Filter::Dilation(_) => "stencil extreme u8, r > 31",
            Filter::Gauss(_) => "stencil gauss u8",
            Filter::Sobel => "stencil sobel u8",
            Filter::Convolution(_) => "stencil convolution u8",
        },
        Samples::Floats => match filter {
            Filter::Box(0..=8) => "stencil box f32",
            Filter::Box(9..=31) => "stencil box f32, r > 8",
            Filter::Box(_) => "stencil box f32, r > 31",
            Filter::Erosion(0..=8) | Filter::Dilation(0..=8) => "stencil extreme f32",
            Filter::Erosion(9..=31) | Filter::Dilation(9..=31) => "stencil extreme f32, r > 8",
            Filter::Erosion(_) | Filter::Dilation(_) => "stencil extreme f32, r > 31",
            Filter::Gauss(_) => "stencil gauss f32",
            Filter::Sobel => "stencil sobel f32",
            Filter::Convolution(_) => "stencil convolution f32",
        },
    }
}

/// The layouts of a filter. [`Tuning::items`] is how many cubes a multiprocessor gets, from which follows how high the strips are;
/// of squares in registers, Sobel's filter of f32 and convolutions, the rows that a unit computes. [`Tuning::vector`] is how many rows
/// a step has, and how many words of a row a unit computes at once, in vectors of four; in erosions of bytes half as many,
/// of two rows; where these keep their rows, a fourth of the most units of a cube is given, and one cube for each multiprocessor. By matrix instructions rows of a step are given, and of convolutions the strips too.
#[must_use]
pub const fn space(filter: &Filter, samples: Samples) -> Space {
    const CUBES: &[u32] = &[1, 2, 3, 4, 6, 8, 12, 16, 32];
    match (filter, samples) {
        (Filter::Sobel, Samples::Bytes) => Space {
            units: &[32, 64, 128, 256],
            items: &[2, 4, 8, 16, 32],
            vectors: &[4],
        },
        (Filter::Sobel | Filter::Convolution(_), _) => Space {
            units: &[32, 64, 128, 256],
            items: &[2, 4, 8],
            vectors: &[4],
        },
        (Filter::Erosion(_) | Filter::Dilation(_), Samples::Bytes) => Space {
            units: &[64, 128, 256, 512],
            items: CUBES,
            vectors: &[8],
        },
        (Filter::Box(_), Samples::Bytes) => Space {
            units: &[32, 64, 128, 256, 512],
            items: CUBES,
            vectors: &[4, 8],
        },
        _ => Space {
            units: &[64, 128, 256, 512],
            items: CUBES,
            vectors: &[4, 8],
        },
    }
}

/// The layout where no other was found.
#[must_use]
pub const fn default(filter: &Filter, samples: Samples) -> Tuning {
    let (units, items, vector) = match (filter, samples) {
        (Filter::Sobel, Samples::Bytes) => (128, 32, 4),
        (Filter::Sobel | Filter::Convolution(_), _) => (128, 4, 4),
        // Weights of many words at once are loaded, and words taken apart, fewer times.
        (Filter::Gauss(_), Samples::Bytes) => (128, 12, 8),
        (Filter::Gauss(_), Samples::Floats) => (256, 32, 8),
        (Filter::Box(4..=24), Samples::Bytes) => (32, 32, 8),
        (Filter::Box(_), Samples::Bytes) => (64, 32, 8),
        (Filter::Erosion(_) | Filter::Dilation(_), Samples::Bytes) => (128, 32, 8),
        (Filter::Box(r) | Filter::Erosion(r) | Filter::Dilation(r), Samples::Floats) => match *r {
            0..=31 => (256, 12, 8),
            _ => (512, 1, 8),
        },
    };
    Tuning { units, items, vector }
}

/// Strips of planes (warps) that a multiprocessor gets, of convolutions by matrix instructions: several times
/// as many as it holds at once.
const PLANES: u32 = 96;

/// Cubes that a multiprocessor gets at most where rows are copied: all at once. High strips read fewer rows twice; of rows that units load low ones are
/// better, because caches have what their neighbours read.
const WAVE: u32 = 4;

/// How strips go down a picture, where they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Way {
    /// Whether shared memory keeps the rows that sums and extremes will leave, where a device has enough of it, and, for extremes of bytes, copies
    /// them by itself or is not asked to. Else they are read again.
    pub kept: bool,
    /// Steps whose rows are on their way, 1 to 4; of rows that are copied one more.
    pub ahead: u32,
    /// Whether rows of means of bytes that are not kept, where cubes are of a multiple of 64 units, and those of extremes of bytes that are kept are
    /// copied to shared memory by a device that does so by itself. Else units load them.
    pub copied: bool,
    /// Whether neighbours exchange vectors, where planes have one width, so that a store writes whole sectors of memory.
    pub exchange: bool,
    /// Whether weighted means and convolutions of bytes are computed by matrix instructions instead, where a device has them.
    pub matrix: bool,
    /// Whether means of squares of bytes are computed by units of 16 columns instead of four.
    pub wide: bool,
    /// Whether means of squares of bytes from a radius of 8 on are computed as extremes of bytes are whose rows are kept, with `copied` as there.
    pub as_extremes: bool,
    /// Whether means and extremes of squares of f32 are computed down columns, then along rows, by units that wait for no other.
    pub lines: bool,
}

impl Way {
    /// Rows again, one step ahead, and nothing else of all that.
    pub const PLAIN: Self = Self {
        kept: false,
        ahead: 1,
        copied: false,
        exchange: false,
        matrix: false,
        wide: false,
        as_extremes: false,
        lines: false,
    };
}

/// The route of a filter. Software Vulkan has caches for what is kept and prefetches by itself, and planes
/// that exchange are loops there: the plain route is as good as any or better.
#[must_use]
pub const fn way(report: &DeviceReport, filter: &Filter, samples: Samples) -> Way {
    if report.software {
        return Way {
            // Rows kept are a little cheaper than rows read again.
            kept: matches!(
                (filter, samples),
                (Filter::Erosion(_) | Filter::Dilation(_), Samples::Bytes)
            ),
            // Wherever the rows fit.
            as_extremes: matches!((filter, samples), (Filter::Box(8..), Samples::Bytes)),
            lines: true,
            ..Way::PLAIN
        };
    }
    let slow = report.has_slow_memory();
    let (kept, ahead) = match (filter, samples) {
        (Filter::Box(radius) | Filter::Erosion(radius) | Filter::Dilation(radius), Samples::Floats) => {
            match *radius {
                // No row of a window that is lower than a step is read again.
                0..=3 => (false, 2),
                // Where memory is slow, rows read again are cheaper; elsewhere rows kept are.
                4..=8 => (!slow, 1),
                // Caches still have them, and shared memory would be too much for many cubes. Slow memory
                // takes long to bring again what caches have lost: there rows are kept.
                9..=31 => (slow, 1),
                _ => (true, 1),
            }
        }
        // Where memory is slow, the rows of so small a window are read again.
        (Filter::Box(0..=1), Samples::Bytes) if slow => (false, 1),
        // The rows of wider windows are too much for as many units as are needed.
        (Filter::Box(0..=24), Samples::Bytes) => (true, 1),
        // Lower windows end within a run of columns or two.
        (Filter::Erosion(radius) | Filter::Dilation(radius), Samples::Bytes) => (*radius > 8, 1),
        _ => (false, 1),
    };
    let exchange = match (filter, samples) {
        // At larger radii that takes too many registers.
        (Filter::Box(radius), Samples::Bytes) => *radius <= 31,
        _ => true,
    };
    Way {
        kept,
        ahead,
        // Where a device has such copies and rows are not kept.
        copied: true,
        exchange,
        matrix: true,
        wide: true,
        as_extremes: match (filter, samples) {
            (Filter::Box(radius), Samples::Bytes) => *radius >= if slow { 12 } else { 32 },
            _ => false,
        },
        lines: false,
    }
}

/// Filters a picture, whose rows are [`row_words`] apart in `from` and `to`.
///
/// # Errors
/// Where the device fails, where a buffer is too short, and where the picture is too large for a launch or the radius
/// above [`MAX_RADIUS`].
pub fn apply(gpu: &Gpu, filter: &Filter, size: Size, from: &Buffer, to: &Buffer) -> Result<(), DeviceError> {
    let name = kernel_name(filter, size.samples);
    let tuning = policy::tuning(
        gpu.report(),
        name,
        &space(filter, size.samples),
        default(filter, size.samples),
    );
    apply_with(gpu, tuning, filter, size, from, to)
}

/// [`apply`] with another layout.
///
/// # Errors
/// As [`apply`], and where the layout is not of [`space`].
pub fn apply_with(
    gpu: &Gpu,
    tuning: Tuning,
    filter: &Filter,
    size: Size,
    from: &Buffer,
    to: &Buffer,
) -> Result<(), DeviceError> {
    let way = way(gpu.report(), filter, size.samples);
    let pixels = u64::from(size.width) * u64::from(size.height);
    let each = pixels / u64::from(gpu.multiprocessors().max(1));
    let way = match (size.samples, filter) {
        (Samples::Bytes, Filter::Erosion(9..=31) | Filter::Dilation(9..=31)) => Way {
            kept: way.kept && each >= KEPT_FROM,
            ..way
        },
        (Samples::Bytes, Filter::Box(radius)) => Way {
            // Small pictures keep the rows of 3 × 3 windows on every device.
            kept: way.kept || (*radius <= 1 && each < FEW && !gpu.report().software),
            wide: way.wide && (each >= WIDE_FROM || (*radius <= 1 && each < FEW)),
            as_extremes: way.as_extremes && as_extremes(gpu.report(), *radius, each),
            ..way
        },
        // Medium pictures: caches still hold the rows that are read again.
        (Samples::Floats, Filter::Box(9..=31) | Filter::Erosion(9..=31) | Filter::Dilation(9..=31)) => Way {
            kept: way.kept && each >= KEPT_FROM,
            ..way
        },
        // Small pictures: caches hold the rows that are read again.
        (Samples::Floats, Filter::Box(4..=8)) => Way {
            kept: way.kept && each >= FEW,
            ..way
        },
        (Samples::Bytes, Filter::Convolution(mask)) => Way {
            matrix: way.matrix
                && each
                    >= if mask.radius() <= 1 {
                        SQUARE_FROM
                    } else {
                        MATRIX_FROM
                    },
            ..way
        },
        (Samples::Bytes, Filter::Gauss(_)) => Way {
            matrix: way.matrix && each >= MATRIX_FROM,
            ..way
        },
        _ => way,
    };
    apply_by(gpu, way, tuning, filter, size, from, to)
}

/// Pixels for each multiprocessor from which on the rows of such windows are kept: with fewer, strips are so
/// low that they begin too often, and there are too few of them.
const KEPT_FROM: u64 = 1 << 18;

/// The same for boxes.
const AS_EXTREMES_FROM: u64 = 1 << 20;

/// The same where memory is slow: it pays sooner there.
const AS_EXTREMES_FROM_IF_SLOW: u64 = 3 << 17;

/// And of windows of r < 32 there.
const NARROW_AS_EXTREMES_FROM: u64 = 1 << 19;

/// Whether boxes of bytes whose way this is are computed as extremes are, of so many pixels for each multiprocessor.
fn as_extremes(report: &DeviceReport, radius: u32, each: u64) -> bool {
    let wide = radius > 31;
    report.software
        || (wide && each < AS_EXTREMES_BELOW)
        || each
            >= match (report.has_slow_memory(), wide) {
                (false, _) => AS_EXTREMES_FROM,
                (true, true) => AS_EXTREMES_FROM_IF_SLOW,
                (true, false) => NARROW_AS_EXTREMES_FROM,
            }
}

/// Pixels for each multiprocessor from which on boxes are computed by units of 16 columns: of fewer there are
/// not units enough.
const WIDE_FROM: u64 = 1 << 18;

/// Pixels for each multiprocessor below which boxes of r > 31 keep their rows as well.
const AS_EXTREMES_BELOW: u64 = 1 << 15;

/// Pixels for each multiprocessor below which a 3 × 3 box is computed by units of 16 columns all the same.
const FEW: u64 = 1 << 14;

/// Pixels for each multiprocessor from which on 3 × 3 convolutions are computed by matrix instructions;
/// smaller ones take longer that way.
const SQUARE_FROM: u64 = 1 << 16;

/// The same for other convolutions and weighted means by matrix instructions.
const MATRIX_FROM: u64 = 1 << 14;

/// [`apply_with`] in another way; results are the same.
///
/// # Errors
/// As [`apply_with`].
pub fn apply_by(
    gpu: &Gpu,
    way: Way,
    tuning: Tuning,
    filter: &Filter,
    size: Size,
    from: &Buffer,
    to: &Buffer,
) -> Result<(), DeviceError> {
    if !space(filter, size.samples).contains(tuning) || !matches!(way.ahead, 1..=4) {
        return Err(gpu.unsupported(format!("the layout {tuning}")));
    }
    if !filter.is_supported() {
        return Err(gpu.unsupported(format!("a radius above {MAX_RADIUS}")));
    }
    let Some(call) = Call::new(gpu, way, size, from, to)? else {
        return Ok(());
    };
    let by_matrix = way.matrix && has_matrix_instructions(gpu);
    match filter {
        Filter::Box(radius) => match size.samples {
            Samples::Bytes => match (call.kept_sums(*radius), call.wide(tuning, *radius)) {
                (Some(kept), _) => call.extremes_kept(kept),
                (None, Some(wide)) => call.wide_sums(tuning, wide),
                (None, None) => call.sums(tuning, *radius),
            },
            Samples::Floats => call.floats(tuning, Fold::Sum, *radius),
        },
        Filter::Erosion(radius) => match size.samples {
            Samples::Bytes => match call.kept(tuning, Fold::Least, *radius) {
                Some(kept) => call.extremes_kept(kept),
                None => call.extremes(tuning, Fold::Least, *radius),
            },
            Samples::Floats => call.floats(tuning, Fold::Least, *radius),
        },
        Filter::Dilation(radius) => match size.samples {
            Samples::Bytes => match call.kept(tuning, Fold::Greatest, *radius) {
                Some(kept) => call.extremes_kept(kept),
                None => call.extremes(tuning, Fold::Greatest, *radius),
            },
            Samples::Floats => call.floats(tuning, Fold::Greatest, *radius),
        },
        Filter::Gauss(weights) => {
            let weights: Vec<u32> = match size.samples {
                Samples::Bytes => weights.whole().iter().map(|weight| u32::from(*weight)).collect(),
                Samples::Floats => weights.real().iter().map(|weight| weight.to_bits()).collect(),
            };
            let near = weights.len() as u32 <= matrix::weigh::REACH + 1
                && weights.iter().all(|weight| *weight < 256);
            match size.samples {
                Samples::Bytes if near && by_matrix => call.weigh_by_matrix(tuning, weights),
                _ => call.weigh(tuning, weights),
            }
        }
        Filter::Sobel => match size.samples {
            Samples::Bytes => call.edges(tuning),
            Samples::Floats => call.square(tuning, Square::Sobel, 1),
        },
        Filter::Convolution(mask) if size.samples == Samples::Bytes && by_matrix => {
            call.convolve_by_matrix(tuning, mask)
        }
        Filter::Convolution(mask) => {
            let square = Square::Weights {
                weights: mask.weights().to_vec(),
                shift: mask.shift(),
            };
            call.square(tuning, square, mask.radius())
        }
    }
}

/// How a device computes with pairs: the runtime for Vulkan cannot see two f16 in a word.
fn pairs(gpu: &Gpu) -> Pairs {
    let half = ElemType::Float(FloatKind::F16);
    let has_halves = on_client!(gpu, client => client.properties().supports_type(half));
    match gpu.report().backend() {
        Some(Backend::Cuda) if has_halves => Pairs::Halves,
        _ => Pairs::Apart,
    }
}

/// Whether a device multiplies matrices of bytes, the left ones with a sign or without.
fn has_matrix_instructions(gpu: &Gpu) -> bool {
    let byte = ElemType::UInt(UIntKind::U8);
    let of = |left: ElemType| MmaConfig {
        a_type: left.into(),
        b_type: byte.into(),
        cd_type: ElemType::Int(IntKind::I32).into(),
        m: 16,
        n: 8,
        k: 32,
    };
    let products = [of(byte), of(ElemType::Int(IntKind::I8))];
    let has_products = on_client!(gpu, client => {
        let there = &client.features().matmul.mma;
        products.iter().all(|product| there.contains(product))
    });
    has_products && gpu.report().plane == (32, 32) && pairs(gpu) == Pairs::Halves
}

/// What strips of columns are computed with.
trait Stream {
    /// Columns of words that a cube computes; 0 where it is too narrow.
    fn columns(&self) -> u32;

    /// Bytes of shared memory of a cube.
    fn shared_bytes(&self) -> u32;
}

macro_rules! streams {
    ($($plan:ty),*) => {
        $(
            impl Stream for $plan {
                fn columns(&self) -> u32 {
                    self.columns()
                }

                fn shared_bytes(&self) -> u32 {
                    self.shared_bytes()
                }
            }
        )*
    };
}

streams!(extremes::Plan, slide::Plan, sums::Plan, weigh::Plan);

/// Launches a kernel from a picture's words to its result's, so many to a vector.
macro_rules! launch {
    ($call:expr, $client:expr, $($kernel:ident)::+ $(::<$word:ty, _>)?, $grid:expr, $units:expr $(; $places:expr)?, $from:expr => $to:expr, $($argument:expr),+) => {
        // SAFETY: both buffers hold `height` rows of `pitch` words, whole vectors of four; rows and words are kept within for
        // loads, and compared with both for stores.
        unsafe {
            $($kernel)::+$(::<$word, _>)?(
                $client,
                $grid,
                CubeDim::new_1d($units),
                $($places,)?
                $from.max($to),
                ArrayArg::from_raw_parts($call.from.handle(), $call.from.words() / $from),
                ArrayArg::from_raw_parts($call.to.handle(), $call.to.words() / $to),
                $call.size.width,
                $call.size.height,
                $call.pitch,
                $($argument),+
            )
        }
    };
}

/// A picture that is there, and where its result goes.
struct Call<'a> {
    gpu: &'a Gpu,
    way: Way,
    size: Size,
    pitch: u32,
    from: &'a Buffer,
    to: &'a Buffer,
}

impl<'a> Call<'a> {
    /// Nothing where there are no pixels.
    fn new(
        gpu: &'a Gpu,
        way: Way,
        size: Size,
        from: &'a Buffer,
        to: &'a Buffer,
    ) -> Result<Option<Self>, DeviceError> {
        let Size {
            samples,
            width,
            height,
        } = size;
        if width == 0 || height == 0 {
            return Ok(None);
        }
        let refuse = |what: &str| gpu.unsupported(format!("{what} of {width} × {height} samples"));
        // Rows and columns around the picture are counted in 32 bits with a sign.
        if width > 1 << 30 || height > 1 << 30 {
            return Err(refuse("a picture"));
        }
        let pitch = row_words(samples, width);
        match pitch.checked_mul(height) {
            Some(words) if from.words().min(to.words()) < words as usize => {
                Err(refuse("a buffer too short for a picture"))
            }
            Some(words) if words < 0xF000_0000 => Ok(Some(Self {
                gpu,
                way,
                size,
                pitch,
                from,
                to,
            })),
            _ => Err(refuse("a picture")),
        }
    }

    const fn memory(&self) -> [Operand<'a>; 2] {
        [
            Operand::read("the picture", self.from),
            Operand::write("the result", self.to),
        ]
    }

    /// A grid of so many cubes across and down.
    fn grid(&self, across: u32, down: u32) -> Result<CubeCount, DeviceError> {
        let most = self.gpu.report().cubes.min(65_535);
        if across > most || down > most {
            let Size { width, height, .. } = self.size;
            return Err(self
                .gpu
                .unsupported(format!("{width} × {height} samples in one launch")));
        }
        Ok(CubeCount::Static(across, down, 1))
    }

    /// The strips, and the steps of `rows` rows that each takes, for `across` cubes side by side and `cubes` on each
    /// multiprocessor.
    ///
    /// A window's first row is read again when it has left the window, 2 · radius rows later. Few cubes with high strips still find
    /// it in the device's cache, and read fewer rows twice where strips meet.
    fn strips(&self, cubes: u32, across: u32, radius: u32, rows: u32) -> (u32, u32) {
        let height = self.size.height;
        let wanted = (self.gpu.multiprocessors() * cubes / across).max(1);
        // Rows that are read beside those that are computed: as many at most. Where that leaves multiprocessors with less than two cubes,
        // single steps.
        let few = (2 * self.gpu.multiprocessors() / across).min(height.div_ceil((2 * radius).max(rows)));
        let strips = wanted.min(height.div_ceil((2 * radius).max(4 * rows)).max(few));
        let steps = height.div_ceil(strips).div_ceil(rows);
        (height.div_ceil(steps * rows), steps)
    }

    /// Whether units of a plane may exchange vectors: neighbours are where they should be.
    fn exchanges(&self) -> bool {
        let (least, most) = self.gpu.report().plane;
        self.way.exchange && least == most && least.is_multiple_of(2)
    }

    /// What cubes of about `wide` units compute strips with: with the rows of two steps in shared memory, else of one, else with
    /// half the units; and before that the same with the rows of windows in shared memory, where that is the way.
    fn plan<P: Stream>(
        &self,
        wide: u32,
        rows: u32,
        what: &str,
        plan: impl Fn(Strip) -> P,
    ) -> Result<P, DeviceError> {
        let usual = self.gpu.report().shared_memory;
        let most = self.gpu.most_shared_memory();
        let kept = [(wide, true, true, most), (wide, false, true, most)];
        let again = [
            (wide, true, false, usual),
            (wide, false, false, usual),
            (wide / 2, false, false, usual),
        ];
        let layouts = kept.into_iter().filter(|_| self.way.kept).chain(again);
        let plan = layouts
            .map(|(units, double, kept, most)| {
                let strip = Strip {
                    units,
                    rows,
                    double,
                    kept,
                    ahead: self.way.ahead,
                    exchange: self.exchanges(),
                };
                (plan(strip), most)
            })
            .find(|(plan, most)| plan.shared_bytes() <= *most && plan.columns() > 0);
        plan.map(|(plan, _)| plan)
            .ok_or_else(|| self.gpu.unsupported(what.to_owned()))
    }

    /// Cubes of which a multiprocessor holds but one, because they keep the rows of wide windows: narrower by some planes where that
    /// leaves fewer multiprocessors without a cube.
    fn narrower(&self, plan: slide::Plan, of: impl Fn(u32) -> slide::Plan) -> slide::Plan {
        let most = self.gpu.most_shared_memory();
        if !plan.strip.kept || plan.strip.units < 512 || plan.radius <= 31 {
            return plan;
        }
        let multiprocessors = self.gpu.multiprocessors();
        // The columns of a cube times the rows that it goes down.
        let cost = |plan: &slide::Plan| {
            let across = self.pitch.div_ceil(plan.columns().max(1));
            let waves = across.div_ceil(multiprocessors).max(1);
            let strips = (waves * multiprocessors / across).max(1);
            let rows = self.size.height.div_ceil(strips) + 2 * plan.radius;
            u64::from(waves) * u64::from(plan.strip.units) * u64::from(rows)
        };
        let narrow = [512, 480, 448, 416, 384].map(of).into_iter();
        let fitting = narrow.filter(|plan| plan.shared_bytes() <= most && plan.columns() > 0);
        fitting.min_by_key(cost).unwrap_or(plan)
    }

    /// The grid of strips, and the steps of each.
    fn lay(&self, columns: u32, cubes: u32, radius: u32, rows: u32) -> Result<(CubeCount, u32), DeviceError> {
        let across = self.pitch.div_ceil(columns);
        let (strips, steps) = self.strips(cubes, across, radius, rows);
        Ok((self.grid(across, strips)?, steps))
    }

    fn floats(&self, tuning: Tuning, fold: Fold, radius: u32) -> Result<(), DeviceError> {
        match self.way.lines {
            true => self.lines(tuning, Lines { fold, radius }),
            false => self.slide(tuning, fold, radius),
        }
    }

    #[allow(unsafe_code)]
    fn lines(&self, tuning: Tuning, lines: Lines) -> Result<(), DeviceError> {
        let (grid, steps) = self.lay(tuning.units, tuning.items, lines.radius, lines::STEP)?;
        let along = self.grid(self.size.height.div_ceil(lines::UNITS), 1)?;
        let inverse = 1.0 / f64::from(2 * lines.radius + 1).powi(2) as f32;
        self.gpu
            .launch("stencil lines down", &lines, &self.memory(), || {
                // SAFETY: both buffers hold `height` rows of `pitch` words; rows are kept within for loads, and compared with the height for stores, columns with the width.
                on_client!(self.gpu, client => unsafe {
                    lines::columns::launch_unchecked(
                        client,
                        grid.clone(),
                        CubeDim::new_1d(tuning.units),
                        addresses(self.gpu),
                        ArrayArg::from_raw_parts(self.from.handle(), self.from.words()),
                        ArrayArg::from_raw_parts(self.to.handle(), self.to.words()),
                        self.size.width,
                        self.size.height,
                        self.pitch,
                        steps,
                        lines,
                    )
                });
            })?;
        let ran = self.gpu.buffer(1)?;
        let memory = [
            Operand::update("the result", self.to),
            Operand::write("a word of its own", &ran),
        ];
        self.gpu.launch("stencil lines along", &lines, &memory, || {
            // SAFETY: the buffer holds `height` rows of `pitch` words; rows and columns are kept within for loads, and compared with both for stores.
            on_client!(self.gpu, client => unsafe {
                lines::rows::launch_unchecked(
                    client,
                    along.clone(),
                    CubeDim::new_1d(lines::UNITS),
                    addresses(self.gpu),
                    ArrayArg::from_raw_parts(self.to.handle(), self.to.words()),
                    ArrayArg::from_raw_parts(ran.handle(), ran.words()),
                    self.size.width,
                    self.size.height,
                    self.pitch,
                    inverse,
                    lines,
                )
            });
        })
    }

    #[allow(unsafe_code)]
    fn slide(&self, tuning: Tuning, fold: Fold, radius: u32) -> Result<(), DeviceError> {
        // More rows a step mean fewer blocks in registers and fewer runs to add, but more rows of registers.
        let rows = if radius <= 16 { tuning.vector } else { 8 };
        // Three quarters of the columns that a cube reads are computed, where that is possible.
        let wide = tuning.units.max((8 * radius).next_power_of_two()).min(512);
        let of = |strip| slide::Plan { fold, radius, strip };
        let plan = self.plan(wide, rows, "a window of such a radius", |strip| {
            self.narrower(of(strip), |units| of(Strip { units, ..strip }))
        })?;
        let (grid, steps) = self.lay(plan.columns(), tuning.items, radius, rows)?;
        let inverse = 1.0 / f64::from(2 * radius + 1).powi(2) as f32;
        self.gpu.launch("stencil slide", &plan, &self.memory(), || {
            on_client!(self.gpu, client => launch!(
                self, client, slide::slide::launch_unchecked, grid.clone(), plan.strip.units; addresses(self.gpu), 1 => 4, steps, inverse, plan
            ));
        })
    }

    #[allow(unsafe_code)]
    fn extremes(&self, tuning: Tuning, fold: Fold, radius: u32) -> Result<(), DeviceError> {
        let (rows, pairs) = (tuning.vector, pairs(self.gpu));
        let wide = tuning.units.max((2 * radius).next_power_of_two()).min(512);
        let plan = self.plan(wide, rows, "a window of such a radius", |strip| extremes::Plan {
            fold,
            pairs,
            radius,
            strip: Strip { kept: false, ..strip },
        })?;
        let (grid, steps) = self.lay(plan.columns(), tuning.items, radius, rows)?;
        self.gpu.launch("stencil extremes", &plan, &self.memory(), || {
            on_client!(self.gpu, client => launch!(
                self, client, extremes::extremes::launch_unchecked, grid.clone(), plan.strip.units; addresses(self.gpu), 1 => 4, steps, plan
            ));
        })
    }

    /// How cubes that keep the rows of windows take strips of least and greatest bytes of this radius, where that is the way.
    fn kept(&self, tuning: Tuning, fold: Fold, radius: u32) -> Option<Kept> {
        match self.way.kept {
            true => self.kept_by((4 * tuning.units).min(512), fold, radius),
            false => None,
        }
    }

    /// The same for means, where that is the way.
    fn kept_sums(&self, radius: u32) -> Option<Kept> {
        match self.way.as_extremes {
            true => self.kept_by(512, Fold::Sum, radius),
            false => None,
        }
    }

    /// How cubes of at most so many units that compute do.
    fn kept_by(&self, units: u32, fold: Fold, radius: u32) -> Option<Kept> {
        let (least, most) = self.gpu.report().plane;
        if least != most || least == 0 {
            return None;
        }
        // Where units would load the rows that a device was to copy, few of them would wait for memory.
        let copied = self.way.copied;
        if copied && !self.gpu.copies_boxes() {
            return None;
        }
        let of = Kept {
            fold,
            pairs: pairs(self.gpu),
            radius,
            plane: least,
            segments: 0,
            words: 0,
            copied,
        };
        let room = self.gpu.most_shared_memory();
        Kept::best(
            of,
            self.pitch,
            self.size.height,
            units,
            room,
            self.gpu.multiprocessors(),
        )
    }

    #[allow(unsafe_code)]
    fn extremes_kept(&self, kept: Kept) -> Result<(), DeviceError> {
        let across = self.pitch.div_ceil(kept.columns());
        let (strips, steps) = self.strips(1, across, kept.radius, extremes::kept::ROWS);
        let grid = self.grid(across, strips)?;
        let inverse = 1.0 / f64::from(2 * kept.radius + 1).powi(2) as f32;
        self.gpu.launch("stencil extremes kept", &kept, &self.memory(), || match kept.copied {
            true => on_client!(self.gpu, client => launch!(
                self, client, extremes::kept::extremes_copied::launch_unchecked, grid.clone(), kept.units(); addresses(self.gpu), 1 => 4,
                steps, self.boxes(extremes::kept::ROWS, extremes::kept::ALIGNED), self.boxes(1, extremes::kept::ALIGNED), inverse, sums::BESIDE, kept
            )),
            false => on_client!(self.gpu, client => launch!(
                self, client, extremes::kept::extremes_kept::launch_unchecked, grid.clone(), kept.units(); addresses(self.gpu), 1 => 4, steps, inverse, sums::BESIDE, kept
            )),
        })
    }

    #[allow(unsafe_code)]
    fn sums(&self, tuning: Tuning, radius: u32) -> Result<(), DeviceError> {
        // Wide windows are summed from runs: longer ones are fewer.
        let rows = if radius <= 16 { tuning.vector } else { 8 };
        // Of 32 units, which suit units of 16 columns, too many would only read.
        let wide = tuning
            .units
            .max(64)
            .max((2 * radius).next_power_of_two())
            .min(512);
        let plan = self.plan(wide, rows, "a window of such a radius", |strip| sums::Plan {
            radius,
            strip,
        })?;
        let (grid, steps) = self.lay(plan.columns(), tuning.items, radius, rows)?;
        let inverse = 1.0 / f64::from(2 * radius + 1).powi(2) as f32;
        self.gpu.launch("stencil sums", &plan, &self.memory(), || {
            on_client!(self.gpu, client => launch!(
                self, client, sums::sums::launch_unchecked, grid.clone(), plan.strip.units; addresses(self.gpu), 1 => 4, steps, inverse, plan
            ));
        })
    }

    /// How units of 16 columns take strips of squares of this radius, where that is the way.
    fn wide(&self, tuning: Tuning, radius: u32) -> Option<Wide> {
        let copied = self.way.copied && !self.way.kept && (tuning.units * 4).is_multiple_of(wide::BOX);
        let copied = copied && self.gpu.copies_boxes();
        let wide = Wide {
            radius,
            rows: tuning.vector / 2,
            units: tuning.units,
            kept: self.way.kept && self.gpu.report().backend() == Some(Backend::Cuda),
            copied,
            ahead: self.way.ahead + u32::from(copied),
        };
        let fits = wide.columns() > 0 && wide.shared_bytes() <= self.gpu.most_shared_memory();
        (self.way.wide && fits).then_some(wide)
    }

    #[allow(unsafe_code)]
    fn wide_sums(&self, tuning: Tuning, wide: Wide) -> Result<(), DeviceError> {
        let rows = wide.rows * wide.parts();
        let cubes = match wide.copied {
            true => tuning.items.min(WAVE),
            false => tuning.items,
        };
        let (grid, steps) = self.lay(wide.columns(), cubes, wide.radius, rows)?;
        let inverse = 1.0 / f64::from(2 * wide.radius + 1).powi(2) as f32;
        self.gpu.launch("stencil wide sums", &wide, &self.memory(), || {
            on_client!(self.gpu, client => match wide.copied {
                true => launch!(
                    self, client, wide::wide_sums_copied::launch_unchecked, grid.clone(), wide.units; addresses(self.gpu), 4 => 4,
                    steps, inverse, sums::BESIDE, self.boxes(1, wide::BOX), wide
                ),
                false => launch!(
                    self, client, wide::wide_sums::launch_unchecked, grid.clone(), wide.units; addresses(self.gpu), 4 => 4,
                    steps, inverse, sums::BESIDE, wide
                ),
            });
        })
    }

    /// The picture as boxes of so many rows and words.
    #[allow(unsafe_code)]
    fn boxes<R: Runtime>(&self, rows: u32, words: u32) -> TensorMapArg<R, Tiled> {
        let (height, pitch) = (self.size.height as usize, self.pitch as usize);
        // SAFETY: so many rows of the pitch lie in the buffer.
        let tensor = unsafe {
            TensorArg::from_raw_parts(self.from.handle(), strides![pitch, 1], shape![height, pitch])
        };
        let tile_size = shape![rows as usize, words as usize];
        TensorMapArg::new(TiledArgs { tile_size }, tensor, u32::as_type_native_unchecked())
    }

    #[allow(unsafe_code)]
    fn weigh(&self, tuning: Tuning, weights: Vec<u32>) -> Result<(), DeviceError> {
        let radius = weights.len() as u32 - 1;
        let left = radius.div_ceil(self.size.samples.per_word());
        let wide = tuning.units.max((8 * left).next_power_of_two()).min(512);
        let rows = tuning.vector;
        let plan = self.plan(wide, rows, "such weights in this layout", |strip| weigh::Plan {
            samples: self.size.samples,
            weights: weights.clone(),
            strip,
        })?;
        let (grid, steps) = self.lay(plan.columns(), tuning.items, radius, rows)?;
        self.gpu.launch("stencil weigh", &plan, &self.memory(), || {
            on_client!(self.gpu, client => match plan.samples {
                Samples::Bytes => launch!(
                    self, client, weigh::weigh::launch_unchecked::<u32, _>, grid.clone(), plan.strip.units; addresses(self.gpu), 1 => 4, steps, plan.clone()
                ),
                Samples::Floats => launch!(
                    self, client, weigh::weigh::launch_unchecked::<f32, _>, grid.clone(), plan.strip.units; addresses(self.gpu), 1 => 4, steps, plan.clone()
                ),
            });
        })
    }

    /// Weights of bytes by matrix instructions, each at most 255.
    #[allow(unsafe_code)]
    fn weigh_by_matrix(&self, tuning: Tuning, weights: Vec<u32>) -> Result<(), DeviceError> {
        let plan = matrix::weigh::Plan {
            weights,
            units: tuning.units,
        };
        let columns = plan.columns();
        let rows = matrix::weigh::Plan::rows();
        let (grid, steps) = self.lay(columns, tuning.items, matrix::weigh::REACH, rows)?;
        self.gpu.launch("stencil weigh by matrix", &plan, &self.memory(), || {
            on_client!(self.gpu, client => launch!(
                self, client, matrix::weigh::weigh_by_matrix::launch_unchecked, grid.clone(), plan.units, 4 => 4,
                ArrayArg::from_raw_parts(self.from.handle(), self.from.words()), steps, plan.clone()
            ));
        })
    }

    /// Convolutions of bytes by matrix instructions.
    #[allow(unsafe_code)]
    fn convolve_by_matrix(&self, tuning: Tuning, mask: &Mask) -> Result<(), DeviceError> {
        let plan = matrix::convolve::Plan {
            weights: mask.weights().to_vec(),
            radius: mask.radius(),
            shift: mask.shift(),
            units: tuning.units,
            rows: 8,
        };
        let cubes = PLANES * 32 / plan.units;
        let rows = matrix::convolve::STAGES * plan.rows;
        let (grid, steps) = self.lay(plan.columns(), cubes, mask.radius(), rows)?;
        let from = plan.vector() as usize;
        self.gpu.launch("stencil convolve by matrix", &plan, &self.memory(), || {
            on_client!(self.gpu, client => launch!(
                self, client, matrix::convolve::convolve_by_matrix::launch_unchecked, grid.clone(), plan.units, from => 1, steps, plan.clone()
            ));
        })
    }

    #[allow(unsafe_code)]
    fn edges(&self, tuning: Tuning) -> Result<(), DeviceError> {
        let plan = edges::Plan {
            // Units past the end of a row would only wait.
            units: tuning.units.min((self.pitch / 4).next_multiple_of(32)),
            rows: tuning.vector,
            pairs: pairs(self.gpu),
        };
        let (grid, steps) = self.lay(4 * plan.units, tuning.items, 1, plan.rows)?;
        self.gpu.launch("stencil edges", &plan, &self.memory(), || {
            on_client!(self.gpu, client => launch!(
                self, client, edges::edges::launch_unchecked, grid.clone(), plan.units, 4 => 4, steps, plan
            ));
        })
    }

    #[allow(unsafe_code)]
    fn square(&self, tuning: Tuning, square: Square, radius: u32) -> Result<(), DeviceError> {
        let large = radius > 2;
        let plan = square::Plan {
            samples: self.size.samples,
            square,
            radius,
            units: tuning.units,
            // Every weight of every row is compiled.
            rows: if large { 2 } else { tuning.items },
            words: 4,
        };
        let across = self.pitch.div_ceil(plan.units * plan.words);
        let grid = self.grid(across, self.size.height.div_ceil(plan.rows))?;
        self.gpu.launch("stencil square", &plan, &self.memory(), || {
            on_client!(self.gpu, client => match plan.samples {
                Samples::Bytes => launch!(
                    self, client, square::squares::launch_unchecked::<u32, _>, grid.clone(), plan.units, 1 => 4, plan.clone()
                ),
                Samples::Floats => launch!(
                    self, client, square::squares::launch_unchecked::<f32, _>, grid.clone(), plan.units, 1 => 4, plan.clone()
                ),
            });
        })
    }
}
