//! How a picture is laid out for each kernel: strips of columns, their height and the steps that go down them, and which of a
//! kernel's plans the shared memory of a device holds. What kernels are started with stands in [`super::kernels`].

use cubecl::prelude::*;

use super::down::Fold;
use super::extremes::kept::Kept;
use super::kernels::Kernel;
use super::square::Square;
use super::strip::Strip;
use super::wide::Wide;
use super::{Size, Way, edges, extremes, matrix, pairs, row_words, slide, square, sums, weigh};
use crate::stencil::Mask;
use relief_kernels::device::{Backend, Buffer, DeviceError, Gpu, Operand, on_client};
use relief_kernels::policy::Tuning;

/// Strips of planes (warps) that a multiprocessor gets, of convolutions by matrix instructions: several times
/// as many as it holds at once.
const PLANES: u32 = 96;

/// What a plan says of itself: columns of words that a cube computes, 0 where it is too narrow; or bytes of shared memory of a cube.
type Of<P> = fn(&P) -> u32;

/// A picture that is there, and where its result goes.
pub(super) struct Call<'a> {
    pub(super) gpu: &'a Gpu,
    way: Way,
    pub(super) size: Size,
    /// Words from row to row, whole vectors of four.
    pub(super) pitch: u32,
    pub(super) from: &'a Buffer,
    pub(super) to: &'a Buffer,
}

impl<'a> Call<'a> {
    /// Nothing where there are no pixels.
    pub(super) fn new(
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
    fn plan<P>(
        &self,
        wide: u32,
        rows: u32,
        [columns, shared_bytes]: [Of<P>; 2],
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
        for (units, double, kept, most) in kept.into_iter().filter(|_| keeps).chain(again) {
            let plan = plan(Strip {
                units,
                rows,
                double,
                kept,
                exchange,
            });
            if shared_bytes(&plan) <= most && columns(&plan) > 0 {
                return Ok(plan);
            }
        }
        Err(self
            .gpu
            .unsupported("its shared memory holds no strip of such a window"))
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
        Ok((self.gpu.grid(across, strips)?, steps))
    }

    /// Means and extremes of bytes.
    pub(super) fn bytes(&self, tuning: Tuning, fold: Fold, radius: u32) -> Result<(), DeviceError> {
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

    /// Means and extremes of f32.
    pub(super) fn slide(&self, tuning: Tuning, fold: Fold, radius: u32) -> Result<(), DeviceError> {
        // More rows a step mean fewer blocks in registers and fewer runs to add, but more rows of registers.
        let rows = if radius <= 16 { tuning.vector } else { 8 };
        // Three quarters of the columns that a cube reads are computed, where that is possible.
        let wide = tuning.units.max((8 * radius).next_power_of_two()).min(512);
        let of = |strip| slide::Plan { fold, radius, strip };
        let of_strip: [Of<slide::Plan>; 2] = [slide::Plan::columns, slide::Plan::shared_bytes];
        let plan = self.plan(wide, rows, of_strip, |strip| {
            self.narrower(of(strip), |units| of(Strip { units, ..strip }))
        })?;
        self.go(&plan, self.lay(plan.columns(), tuning.items, radius, rows)?)
    }

    fn extremes(&self, tuning: Tuning, fold: Fold, radius: u32) -> Result<(), DeviceError> {
        let (rows, pairs) = (tuning.vector, pairs(self.gpu));
        let wide = tuning.units.max((2 * radius).next_power_of_two()).min(512);
        let of_strip: [Of<extremes::Plan>; 2] = [extremes::Plan::columns, extremes::Plan::shared_bytes];
        let plan = self.plan(wide, rows, of_strip, |strip| extremes::Plan {
            fold,
            pairs,
            radius,
            strip: Strip { kept: false, ..strip },
        })?;
        self.go(&plan, self.lay(plan.columns(), tuning.items, radius, rows)?)
    }

    fn sums(&self, tuning: Tuning, radius: u32) -> Result<(), DeviceError> {
        // Wide windows are summed from runs: longer ones are fewer.
        let rows = if radius <= 16 { tuning.vector } else { 8 };
        // Of 32 units, which suit units of 16 columns, too many would only read.
        let wide = tuning
            .units
            .max(64)
            .max((2 * radius).next_power_of_two())
            .min(512);
        let of_strip: [Of<sums::Plan>; 2] = [sums::Plan::columns, sums::Plan::shared_bytes];
        let plan = self.plan(wide, rows, of_strip, |strip| sums::Plan { radius, strip })?;
        self.go(&plan, self.lay(plan.columns(), tuning.items, radius, rows)?)
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

    fn extremes_kept(&self, kept: Kept) -> Result<(), DeviceError> {
        let across = self.pitch.div_ceil(kept.columns());
        let (strips, steps) = self.strips(1, across, kept.radius, extremes::kept::ROWS);
        self.go(&kept, (self.gpu.grid(across, strips)?, steps))
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

    fn wide_sums(&self, tuning: Tuning, wide: Wide) -> Result<(), DeviceError> {
        let rows = wide.rows * wide.parts();
        self.go(&wide, self.lay(wide.columns(), tuning.items, wide.radius, rows)?)
    }

    /// Weighted means.
    pub(super) fn weigh(&self, tuning: Tuning, weights: Vec<u32>) -> Result<(), DeviceError> {
        let radius = weights.len() as u32 - 1;
        let left = radius.div_ceil(self.size.samples.per_word());
        let wide = tuning.units.max((8 * left).next_power_of_two()).min(512);
        let rows = tuning.vector;
        let of_strip: [Of<weigh::Plan>; 2] = [weigh::Plan::columns, weigh::Plan::shared_bytes];
        let plan = self.plan(wide, rows, of_strip, |strip| weigh::Plan {
            samples: self.size.samples,
            weights: weights.clone(),
            strip,
        })?;
        self.go(&plan, self.lay(plan.columns(), tuning.items, radius, rows)?)
    }

    /// Weights of bytes by matrix instructions, each at most 255.
    pub(super) fn weigh_by_matrix(&self, tuning: Tuning, weights: Vec<u32>) -> Result<(), DeviceError> {
        let units = tuning.units;
        let plan = matrix::weigh::Plan { weights, units };
        let (reach, rows) = (matrix::weigh::REACH, matrix::weigh::Plan::rows());
        self.go(&plan, self.lay(plan.columns(), tuning.items, reach, rows)?)
    }

    /// Convolutions of bytes by matrix instructions.
    pub(super) fn convolve_by_matrix(&self, tuning: Tuning, mask: &Mask) -> Result<(), DeviceError> {
        let plan = matrix::convolve::Plan {
            weights: mask.weights().to_vec(),
            radius: mask.radius(),
            shift: mask.shift(),
            units: tuning.units,
            rows: 8,
        };
        let cubes = PLANES * 32 / plan.units;
        let rows = matrix::convolve::STAGES * plan.rows;
        self.go(&plan, self.lay(plan.columns(), cubes, mask.radius(), rows)?)
    }

    /// Sobel's filter of bytes.
    pub(super) fn edges(&self, tuning: Tuning) -> Result<(), DeviceError> {
        let plan = edges::Plan {
            // Units past the end of a row would only wait.
            units: tuning.units.min((self.pitch / 4).next_multiple_of(32)),
            rows: tuning.vector,
            pairs: pairs(self.gpu),
        };
        self.go(&plan, self.lay(4 * plan.units, tuning.items, 1, plan.rows)?)
    }

    /// Small squares, whose pixels stay in registers.
    pub(super) fn square(&self, tuning: Tuning, square: Square, radius: u32) -> Result<(), DeviceError> {
        let plan = square::Plan {
            samples: self.size.samples,
            square,
            radius,
            units: tuning.units,
            // Every weight of every row is compiled.
            rows: if radius > 2 { 2 } else { tuning.items },
            words: 4,
        };
        let across = self.pitch.div_ceil(plan.units * plan.words);
        let grid = self.gpu.grid(across, self.size.height.div_ceil(plan.rows))?;
        self.go(&plan, (grid, 1))
    }

    /// Launches a kernel on a grid of strips of so many steps.
    fn go<K: Kernel>(&self, kernel: &K, (grid, steps): (CubeCount, u32)) -> Result<(), DeviceError> {
        let memory = [
            Operand::read("the picture", self.from),
            Operand::write("the result", self.to),
        ];
        self.gpu.launch(K::NAME, kernel, &memory, || {
            on_client!(self.gpu, client => kernel.start(self, client, grid.clone(), steps));
        })
    }
}
