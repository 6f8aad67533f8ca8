//! Stencils on a device, each in one pass: a pixel is read from memory about once and written once. [`way`]
//! chooses:
//!
//! | filter | samples | algorithm | where |
//! |---|---|---|---|
//! | box | bytes | `sums`: what enters a window is added, what leaves taken away; a word of a row to a unit (thread) | small pictures |
//! | | | `wide`: the same by units of 16 columns | from 2^18 pixels a multiprocessor on |
//! | | | `extremes::kept`: cubes (blocks) whose shared memory keeps the rows of windows | r > 31, and r > 11 on slow memory |
//! | erosion, dilation | bytes | `extremes`: pairs of pixels, van Herk's blocks | r ≤ 8, and small pictures |
//! | | | `extremes::kept` | r > 8 |
//! | box, erosion, dilation | f32 | `slide`: van Herk's blocks, of sums as well, because none is taken away again | |
//! | Gauss | bytes | `matrix::weigh`: matrix instructions, where a device has them; else `weigh` | |
//! | | f32 | `weigh`: columns, then rows, weight by weight | |
//! | Sobel | bytes | `edges`: pairs of pixels | |
//! | | f32 | `square`: small squares in registers | |
//! | convolution | bytes | `matrix::convolve`; of 3 × 3 in small pictures, and without the instructions, `square` | |
//! | | f32 | `square` | |
//!
//! All but `square` are strips of columns that cubes go down, a few rows at a step, with a window's reach read on either side: `call` says how wide
//! and high they are, `kernels` how each kernel is started.
//!
//! Rows of a picture are whole vectors of 16 bytes: [`row_words`]. What a row has past its width is not
//! looked at, and is 0 in results.

use cubecl::ir::features::MmaConfig;
use cubecl::ir::{ElemType, FloatKind, IntKind, UIntKind};

use super::{Filter, MAX_RADIUS};
use relief_kernels::device::{Backend, Buffer, DeviceError, Gpu, on_client};
use relief_kernels::policy::{self, Space, Tuning};

mod call;
mod columns;
mod down;
mod edges;
mod extremes;
mod kernels;
mod matrix;
mod pairs;
mod ring;
mod slide;
mod square;
mod strip;
mod sums;
mod weigh;
mod wide;

use self::call::Call;
use self::down::Fold;
use self::pairs::Pairs;
use self::square::Square;

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
