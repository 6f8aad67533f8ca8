//! Stencils on a device, each in one pass: a pixel is read from memory about once and written once.
//!
//! - **Box, erosion, dilation**: strips of columns, a few rows at a step; the work does not grow with the radius (`slide`, and
//!   `sums` for bytes).
//! - **Gauss**: the same with weights (`weigh`).
//! - **Sobel, convolution**: small squares in registers (`square`).
//!
//! Rows of a picture are whole vectors of 16 bytes: [`row_words`]. What a row has past its width is not looked at, and is 0
//! in results.

use cubecl::prelude::*;

use super::{Filter, MAX_RADIUS};
use crate::device::{Buffer, DeviceError, Gpu, on_client};
use crate::policy::{self, Space, Tuning};

mod columns;
mod slide;
mod square;
mod sums;
mod weigh;

use self::slide::Fold;
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
    width.div_ceil(4 * samples.per_word()) * 4
}

/// The kernels, which are tuned apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kernel {
    Slide,
    Weigh,
    Square,
}

const fn kernel(filter: &Filter) -> Kernel {
    match filter {
        Filter::Box(_) | Filter::Erosion(_) | Filter::Dilation(_) => Kernel::Slide,
        Filter::Gauss(_) => Kernel::Weigh,
        Filter::Sobel | Filter::Convolution(_) => Kernel::Square,
    }
}

/// What the kernel of a filter is called in policy files.
#[must_use]
pub const fn kernel_name(filter: &Filter, samples: Samples) -> &'static str {
    match (filter, samples) {
        (Filter::Box(_), Samples::Bytes) => "stencil box u8",
        (Filter::Box(_), Samples::Floats) => "stencil box f32",
        (Filter::Erosion(_) | Filter::Dilation(_), Samples::Bytes) => "stencil extreme u8",
        (Filter::Erosion(_) | Filter::Dilation(_), Samples::Floats) => "stencil extreme f32",
        (Filter::Gauss(_), Samples::Bytes) => "stencil gauss u8",
        (Filter::Gauss(_), Samples::Floats) => "stencil gauss f32",
        (Filter::Sobel, Samples::Bytes) => "stencil sobel u8",
        (Filter::Sobel, Samples::Floats) => "stencil sobel f32",
        (Filter::Convolution(_), Samples::Bytes) => "stencil convolution u8",
        (Filter::Convolution(_), Samples::Floats) => "stencil convolution f32",
    }
}

/// The layouts of a filter. [`Tuning::items`] is how many cubes a multiprocessor gets, from which follows how high the strips are, but
/// of Sobel's filter and of convolutions the rows that a unit computes. [`Tuning::vector`] is the words of a row that a unit computes at once, in vectors of
/// four; of a strip that is also how many rows a step has.
#[must_use]
pub const fn space(filter: &Filter) -> Space {
    match kernel(filter) {
        Kernel::Square => Space {
            units: &[32, 64, 128, 256],
            items: &[2, 4, 8],
            vectors: &[4],
        },
        _ => Space {
            units: &[64, 128, 256, 512],
            items: &[1, 2, 3, 4, 6, 8, 12, 16, 32],
            vectors: &[4, 8],
        },
    }
}

/// The layout where no other was found.
#[must_use]
pub const fn default(filter: &Filter, samples: Samples) -> Tuning {
    let (units, items, vector) = match (filter, samples) {
        (Filter::Sobel | Filter::Convolution(_), _) => (128, 4, 4),
        // Weights of many words at once are loaded, and words taken apart, fewer times.
        (Filter::Gauss(_), Samples::Bytes) => (128, 16, 8),
        (Filter::Gauss(_), Samples::Floats) => (256, 8, 8),
        (Filter::Box(_), Samples::Bytes) => (256, 16, 8),
        // Small windows have few blocks and runs, whatever these hold.
        (Filter::Erosion(0..=4) | Filter::Dilation(0..=4), Samples::Bytes) => (256, 16, 4),
        (Filter::Erosion(_) | Filter::Dilation(_), Samples::Bytes) => (128, 16, 8),
        (Filter::Box(r) | Filter::Erosion(r) | Filter::Dilation(r), Samples::Floats) => match *r {
            0..=8 => (512, 4, 4),
            9..=31 => (256, 12, 8),
            _ => (512, 1, 8),
        },
    };
    Tuning { units, items, vector }
}

/// Filters a picture, whose rows are [`row_words`] apart in `from` and `to`.
///
/// # Errors
/// Where the device fails, where a buffer is too short, and where the picture is too large for a launch or the radius
/// above [`MAX_RADIUS`].
pub fn apply(gpu: &Gpu, filter: &Filter, size: Size, from: &Buffer, to: &Buffer) -> Result<(), DeviceError> {
    let name = kernel_name(filter, size.samples);
    let tuning = policy::tuning(gpu.report(), name, &space(filter), default(filter, size.samples));
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
    if !space(filter).contains(tuning) {
        return Err(gpu.unsupported(format!("the layout {tuning}")));
    }
    if !filter.is_supported() {
        return Err(gpu.unsupported(format!("a radius above {MAX_RADIUS}")));
    }
    let Some(call) = Call::new(gpu, size, from, to)? else {
        return Ok(());
    };
    match filter {
        Filter::Box(radius) => match size.samples {
            Samples::Bytes => call.sums(tuning, *radius),
            Samples::Floats => call.slide(tuning, Fold::Sum, *radius),
        },
        Filter::Erosion(radius) => call.slide(tuning, Fold::Least, *radius),
        Filter::Dilation(radius) => call.slide(tuning, Fold::Greatest, *radius),
        Filter::Gauss(weights) => {
            let weights = match size.samples {
                Samples::Bytes => weights.whole().iter().map(|weight| u32::from(*weight)).collect(),
                Samples::Floats => weights.real().iter().map(|weight| weight.to_bits()).collect(),
            };
            call.weigh(tuning, weights)
        }
        Filter::Sobel => call.square(tuning, Square::Sobel, 1),
        Filter::Convolution(mask) => {
            let square = Square::Weights {
                weights: mask.weights().to_vec(),
                shift: mask.shift(),
            };
            call.square(tuning, square, mask.radius())
        }
    }
}

/// Units of a cube, and whether it has the rows of two steps in shared memory: the best first, for devices with little of it.
const fn layouts(units: u32) -> [(u32, bool); 3] {
    [(units, true), (units, false), (units / 2, false)]
}

/// A picture that is there, and where its result goes.
struct Call<'a> {
    gpu: &'a Gpu,
    size: Size,
    pitch: u32,
    from: &'a Buffer,
    to: &'a Buffer,
}

impl<'a> Call<'a> {
    /// Nothing where there are no pixels.
    fn new(gpu: &'a Gpu, size: Size, from: &'a Buffer, to: &'a Buffer) -> Result<Option<Self>, DeviceError> {
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
                size,
                pitch,
                from,
                to,
            })),
            _ => Err(refuse("a picture")),
        }
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
        // Rows that are read beside those that are computed: as many at most.
        let strips = wanted.min(height.div_ceil((2 * radius).max(4 * rows)));
        let steps = height.div_ceil(strips).div_ceil(rows);
        (height.div_ceil(steps * rows), steps)
    }

    fn slide(&self, tuning: Tuning, fold: Fold, radius: u32) -> Result<(), DeviceError> {
        // More rows a step mean fewer blocks in registers and fewer runs to add, but more rows of registers.
        let rows = if radius <= 16 { tuning.vector } else { 8 };
        let left = radius.div_ceil(self.size.samples.per_word());
        let plan = |(units, double)| slide::Plan {
            samples: self.size.samples,
            fold,
            radius,
            units,
            rows,
            double,
        };
        // Three quarters of the columns that a cube reads are computed, where that is possible.
        let wide = tuning.units.max((8 * left).next_power_of_two()).min(512);
        let fits =
            |plan: &slide::Plan| plan.shared_bytes() <= self.gpu.report().shared_memory && plan.columns() > 0;
        let plan = layouts(wide).into_iter().map(plan).find(fits);
        let plan = plan.ok_or_else(|| self.gpu.unsupported(format!("a window of radius {radius}")))?;
        let across = self.pitch.div_ceil(plan.columns());
        let (strips, steps) = self.strips(tuning.items, across, radius, rows);
        let grid = self.grid(across, strips)?;
        let count = f64::from(2 * radius + 1).powi(2);
        let inverse = 1.0 / count as f32;
        self.gpu.launch("stencil slide", &plan, self.to, || {
            on_client!(self.gpu, client => match plan.samples {
                Samples::Bytes => self.slide_on::<u32, _>(client, grid.clone(), steps, inverse, plan),
                Samples::Floats => self.slide_on::<f32, _>(client, grid.clone(), steps, inverse, plan),
            });
        })
    }

    #[allow(unsafe_code)]
    fn slide_on<W: Numeric, R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        grid: CubeCount,
        steps: u32,
        inverse: f32,
        plan: slide::Plan,
    ) {
        // SAFETY: both buffers hold `height` rows of `pitch` words; rows and words are kept within for loads, and compared
        // with both for stores.
        unsafe {
            slide::slide::launch_unchecked::<W, R>(
                client,
                grid,
                CubeDim::new_1d(plan.units),
                4,
                ArrayArg::from_raw_parts(self.from.handle(), self.from.words()),
                ArrayArg::from_raw_parts(self.to.handle(), self.to.words() / 4),
                self.size.width,
                self.size.height,
                self.pitch,
                steps,
                inverse,
                plan,
            );
        }
    }

    fn sums(&self, tuning: Tuning, radius: u32) -> Result<(), DeviceError> {
        // Wide windows are summed from runs: longer ones are fewer.
        let rows = if radius <= 16 { tuning.vector } else { 8 };
        let plan = |(units, double)| sums::Plan {
            radius,
            units,
            rows,
            double,
        };
        let wide = tuning.units.max((2 * radius).next_power_of_two()).min(512);
        let fits =
            |plan: &sums::Plan| plan.shared_bytes() <= self.gpu.report().shared_memory && plan.columns() > 0;
        let plan = layouts(wide).into_iter().map(plan).find(fits);
        let plan = plan.ok_or_else(|| self.gpu.unsupported(format!("a window of radius {radius}")))?;
        let across = self.pitch.div_ceil(plan.columns());
        let (strips, steps) = self.strips(tuning.items, across, radius, rows);
        let grid = self.grid(across, strips)?;
        let inverse = 1.0 / f64::from(2 * radius + 1).powi(2) as f32;
        self.gpu.launch("stencil sums", &plan, self.to, || {
            on_client!(self.gpu, client => self.sums_on(client, grid.clone(), steps, inverse, plan));
        })
    }

    #[allow(unsafe_code)]
    fn sums_on<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        grid: CubeCount,
        steps: u32,
        inverse: f32,
        plan: sums::Plan,
    ) {
        // SAFETY: as of `slide_on`.
        unsafe {
            sums::sums::launch_unchecked::<R>(
                client,
                grid,
                CubeDim::new_1d(plan.units),
                4,
                ArrayArg::from_raw_parts(self.from.handle(), self.from.words()),
                ArrayArg::from_raw_parts(self.to.handle(), self.to.words() / 4),
                self.size.width,
                self.size.height,
                self.pitch,
                steps,
                inverse,
                plan,
            );
        }
    }

    fn weigh(&self, tuning: Tuning, weights: Vec<u32>) -> Result<(), DeviceError> {
        let radius = weights.len() as u32 - 1;
        let left = radius.div_ceil(self.size.samples.per_word());
        let wide = tuning.units.max((8 * left).next_power_of_two()).min(512);
        let plan = |(units, double)| weigh::Plan {
            samples: self.size.samples,
            weights: weights.clone(),
            units,
            rows: tuning.vector,
            double,
        };
        let fits =
            |plan: &weigh::Plan| plan.shared_bytes() <= self.gpu.report().shared_memory && plan.columns() > 0;
        let plan = layouts(wide).into_iter().map(plan).find(fits);
        let plan = plan.ok_or_else(|| self.gpu.unsupported(format!("the layout {tuning}")))?;
        let across = self.pitch.div_ceil(plan.columns());
        let (strips, steps) = self.strips(tuning.items, across, radius, plan.rows);
        let grid = self.grid(across, strips)?;
        self.gpu.launch("stencil weigh", &plan, self.to, || {
            on_client!(self.gpu, client => match plan.samples {
                Samples::Bytes => self.weigh_on::<u32, _>(client, grid.clone(), steps, &plan),
                Samples::Floats => self.weigh_on::<f32, _>(client, grid.clone(), steps, &plan),
            });
        })
    }

    #[allow(unsafe_code)]
    fn weigh_on<W: Numeric, R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        grid: CubeCount,
        steps: u32,
        plan: &weigh::Plan,
    ) {
        // SAFETY: as of `slide_on`.
        unsafe {
            weigh::weigh::launch_unchecked::<W, R>(
                client,
                grid,
                CubeDim::new_1d(plan.units),
                4,
                ArrayArg::from_raw_parts(self.from.handle(), self.from.words()),
                ArrayArg::from_raw_parts(self.to.handle(), self.to.words() / 4),
                self.size.width,
                self.size.height,
                self.pitch,
                steps,
                plan.clone(),
            );
        }
    }

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
        self.gpu.launch("stencil square", &plan, self.to, || {
            on_client!(self.gpu, client => match plan.samples {
                Samples::Bytes => self.square_on::<u32, _>(client, grid.clone(), &plan),
                Samples::Floats => self.square_on::<f32, _>(client, grid.clone(), &plan),
            });
        })
    }

    #[allow(unsafe_code)]
    fn square_on<W: Numeric, R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        grid: CubeCount,
        plan: &square::Plan,
    ) {
        // SAFETY: as of `slide_on`.
        unsafe {
            square::squares::launch_unchecked::<W, R>(
                client,
                grid,
                CubeDim::new_1d(plan.units),
                4,
                ArrayArg::from_raw_parts(self.from.handle(), self.from.words()),
                ArrayArg::from_raw_parts(self.to.handle(), self.to.words() / 4),
                self.size.width,
                self.size.height,
                self.pitch,
                plan.clone(),
            );
        }
    }
}
