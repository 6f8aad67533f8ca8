//! Stencils on a device, each in one pass: a pixel is read from memory about once and written once. [`way`]
//! is the table of which filter goes which way.
//!
//! - **Box, erosion, dilation**: strips of columns, a few rows at a step; the work does not grow with the
//!   radius (`slide`; of bytes `sums` and `extremes`). Large pictures of bytes go other ways: boxes by
//!   units (threads) of 16 columns (`wide`), extremes above r = 8 and boxes above r = 31 by cubes (blocks)
//!   that keep the rows of their windows in shared memory (`extremes::kept`).
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
use relief_kernels::device::{Backend, Buffer, DeviceError, Gpu, Operand, addresses, on_client};
use relief_kernels::policy::{self, Space, Tuning};

mod columns;
mod down;
mod edges;
mod extremes;
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

/// How a filter goes down a picture. What a filter, a picture or a device has no use for becomes
/// [`Way::Strips`]; results are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// Cubes go down strips of columns, a word of a row to a unit; small squares stay in registers.
    Strips {
        /// Whether shared memory keeps the rows that sums, and extremes of f32, will leave, where a device has enough of it. Else they are
        /// read again.
        kept: bool,
        /// Whether neighbours exchange vectors, where planes have one width, so that a store writes whole sectors of memory.
        exchange: bool,
    },
    /// Means of bytes: units of 16 columns in place of four.
    Wide {
        /// Whether shared memory keeps the rows of windows. Else those that leave are read again.
        kept: bool,
    },
    /// Means and extremes of bytes from a radius of 8 on: cubes that keep the rows of windows, each of which comes once.
    Kept {
        /// Whether the device copies rows to shared memory by itself. Else units load them.
        copied: bool,
    },
    /// Weighted means and convolutions of bytes: matrix instructions, where a device has them.
    Matrix,
}

/// The way of a filter of a picture.
///
/// Sizes are pixels for each multiprocessor: a way whose strips begin with the rows of a window, or whose units
/// take many columns, has too few of them where a picture is small. Software Vulkan has caches for what is
/// kept, prefetches by itself, and planes that exchange are loops there.
#[must_use]
pub fn way(gpu: &Gpu, filter: &Filter, size: Size) -> Way {
    let each = u64::from(size.width) * u64::from(size.height) / u64::from(gpu.multiprocessors().max(1));
    let (software, slow) = (gpu.report().software, gpu.report().has_slow_memory());
    let strips = |kept| Way::Strips {
        kept,
        exchange: !software,
    };
    let copied = gpu.copies_boxes();
    let keeps = Way::Kept { copied };
    match (size.samples, filter) {
        // Rows that units load themselves are too few on their way, but on software.
        (Samples::Bytes, Filter::Box(8..) | Filter::Erosion(9..) | Filter::Dilation(9..)) if software => {
            keeps
        }
        (Samples::Bytes, Filter::Box(32..) | Filter::Erosion(32..) | Filter::Dilation(32..)) if copied => {
            keeps
        }
        (Samples::Bytes, Filter::Erosion(9..=31) | Filter::Dilation(9..=31)) if copied && each >= 1 << 18 => {
            keeps
        }
        // It takes longer to bring again what caches have lost.
        (Samples::Bytes, Filter::Box(12..=31)) if slow && copied && each >= 1 << 19 => keeps,
        (Samples::Bytes, Filter::Box(0..=1)) if each < 1 << 14 && !software => Way::Wide { kept: true },
        (Samples::Bytes, Filter::Box(radius)) if each >= 1 << 18 && !software => Way::Wide {
            // The rows of wider windows are too much for as many units as are needed; those of the lowest come again soon enough.
            kept: *radius <= 24 && !(slow && *radius <= 1),
        },
        (Samples::Bytes, Filter::Box(radius)) => strips(*radius <= 24 && !software),
        // Small squares take longer than by sums.
        (Samples::Bytes, Filter::Convolution(mask)) if mask.radius() <= 1 && each < 1 << 16 => strips(false),
        (Samples::Bytes, Filter::Gauss(_) | Filter::Convolution(_)) if each >= 1 << 14 && !software => {
            Way::Matrix
        }
        // Of lower windows no row is read again. Caches still have those of medium ones, but for slow memory; and shared memory would be
        // too much for many cubes.
        (Samples::Floats, Filter::Box(radius) | Filter::Erosion(radius) | Filter::Dilation(radius)) => {
            strips(
                !software
                    && match *radius {
                        0..=3 => false,
                        9..=31 => slow && each >= 1 << 18,
                        _ => true,
                    },
            )
        }
        _ => strips(false),
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
    apply_by(gpu, way(gpu, filter, size), tuning, filter, size, from, to)
}

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
    gpu.check_layout(&space(filter, size.samples), tuning)?;
    if !filter.is_supported() {
        gpu.at_most("pixels of a radius", MAX_RADIUS, filter.radius().into())?;
    }
    let Some(call) = Call::new(gpu, way, size, from, to)? else {
        return Ok(());
    };
    let by_matrix = way == Way::Matrix && has_matrix_instructions(gpu);
    let fold = match filter {
        Filter::Erosion(_) => Fold::Least,
        Filter::Dilation(_) => Fold::Greatest,
        _ => Fold::Sum,
    };
    match filter {
        Filter::Box(radius) | Filter::Erosion(radius) | Filter::Dilation(radius) => match size.samples {
            Samples::Bytes => call.bytes(tuning, fold, *radius),
            Samples::Floats => call.slide(tuning, fold, *radius),
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
                $call.from.array($from),
                $call.to.array($to),
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
        // Rows and columns around the picture are counted in 32 bits with a sign.
        gpu.at_most("pixels of a side", 1_u64 << 30, width.max(height).into())?;
        let pitch = row_words(samples, width);
        let words = u64::from(pitch) * u64::from(height);
        gpu.count_words(words, &[("the picture", from), ("the result", to)])?;
        Ok(Some(Self {
            gpu,
            way,
            size,
            pitch,
            from,
            to,
        }))
    }

    const fn memory(&self) -> [Operand<'a>; 2] {
        [
            Operand::read("the picture", self.from),
            Operand::write("the result", self.to),
        ]
    }

    /// A grid of so many cubes across and down.
    fn grid(&self, across: u32, down: u32) -> Result<CubeCount, DeviceError> {
        self.gpu.grid(across, down)
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

    /// Whether the way keeps rows, and whether units of a plane may exchange vectors: neighbours are where they should be.
    fn strip(&self) -> (bool, bool) {
        let (least, most) = self.gpu.report().plane;
        match self.way {
            Way::Strips { kept, exchange } => (kept, exchange && least == most && least.is_multiple_of(2)),
            _ => (false, false),
        }
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
        let (keeps, exchange) = self.strip();
        let usual = self.gpu.report().shared_memory;
        let most = self.gpu.most_shared_memory();
        let kept = [(wide, true, true, most), (wide, false, true, most)];
        let again = [
            (wide, true, false, usual),
            (wide, false, false, usual),
            (wide / 2, false, false, usual),
        ];
        let layouts = kept.into_iter().filter(|_| keeps).chain(again);
        let plan = layouts
            .map(|(units, double, kept, most)| {
                let strip = Strip {
                    units,
                    rows,
                    double,
                    kept,
                    exchange,
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

    /// Means and extremes of bytes.
    fn bytes(&self, tuning: Tuning, fold: Fold, radius: u32) -> Result<(), DeviceError> {
        match (self.way, fold) {
            (Way::Kept { copied }, _) => match self.kept(tuning, copied, fold, radius) {
                Some(kept) => self.extremes_kept(kept),
                None => self.strips_of_bytes(tuning, fold, radius),
            },
            (Way::Wide { kept }, Fold::Sum) => match self.wide(tuning, kept, radius) {
                Some(wide) => self.wide_sums(tuning, wide),
                None => self.sums(tuning, radius),
            },
            _ => self.strips_of_bytes(tuning, fold, radius),
        }
    }

    fn strips_of_bytes(&self, tuning: Tuning, fold: Fold, radius: u32) -> Result<(), DeviceError> {
        match fold {
            Fold::Sum => self.sums(tuning, radius),
            Fold::Least | Fold::Greatest => self.extremes(tuning, fold, radius),
        }
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

    /// How cubes that keep the rows of windows take strips of least and greatest bytes, or of means, of this radius, where they can.
    fn kept(&self, tuning: Tuning, copied: bool, fold: Fold, radius: u32) -> Option<Kept> {
        let (least, most) = self.gpu.report().plane;
        if least != most || least == 0 || (copied && !self.gpu.copies_boxes()) {
            return None;
        }
        let units = match fold {
            Fold::Sum => 512,
            Fold::Least | Fold::Greatest => (4 * tuning.units).min(512),
        };
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
        let (height, multiprocessors) = (self.size.height, self.gpu.multiprocessors());
        Kept::best(of, self.pitch, height, units, room, multiprocessors)
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
                steps, self.boxes(extremes::kept::ROWS), self.boxes(1), inverse, sums::BESIDE, kept
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

    /// How units of 16 columns take strips of squares of this radius, where they can.
    fn wide(&self, tuning: Tuning, kept: bool, radius: u32) -> Option<Wide> {
        let wide = Wide {
            radius,
            rows: tuning.vector / 2,
            units: tuning.units,
            kept: kept && self.gpu.report().backend() == Some(Backend::Cuda),
        };
        let fits = wide.columns() > 0 && wide.shared_bytes() <= self.gpu.most_shared_memory();
        fits.then_some(wide)
    }

    #[allow(unsafe_code)]
    fn wide_sums(&self, tuning: Tuning, wide: Wide) -> Result<(), DeviceError> {
        let rows = wide.rows * wide.parts();
        let (grid, steps) = self.lay(wide.columns(), tuning.items, wide.radius, rows)?;
        let inverse = 1.0 / f64::from(2 * wide.radius + 1).powi(2) as f32;
        self.gpu.launch("stencil wide sums", &wide, &self.memory(), || {
            on_client!(self.gpu, client => launch!(
                self, client, wide::wide_sums::launch_unchecked, grid.clone(), wide.units; addresses(self.gpu), 4 => 4,
                steps, inverse, sums::BESIDE, wide
            ));
        })
    }

    /// The picture as boxes of so many rows, as wide as a group of words.
    #[allow(unsafe_code)]
    fn boxes<R: Runtime>(&self, rows: u32) -> TensorMapArg<R, Tiled> {
        let (height, pitch) = (self.size.height as usize, self.pitch as usize);
        // SAFETY: so many rows of the pitch lie in the buffer.
        let tensor = unsafe {
            TensorArg::from_raw_parts(self.from.handle(), strides![pitch, 1], shape![height, pitch])
        };
        let tile_size = shape![rows as usize, extremes::kept::ALIGNED as usize];
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
                self.from.array(1), steps, plan.clone()
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
