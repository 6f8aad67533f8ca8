//! The kernels of stencils: how each is named and started.
//!
//! A plan is all that is compiled into a kernel. All of them are told the picture and its result in vectors of so many words,
//! columns, rows, and the words from row to row; what follows differs.

use std::hash::Hash;

use cubecl::prelude::*;
use cubecl::zspace::{shape, strides};

use super::call::Call;
use super::extremes::kept::{self, Kept};
use super::wide::Wide;
use super::{Samples, edges, extremes, matrix, slide, square, sums, weigh, wide};
use relief_kernels::device::addresses;

/// A kernel with all that is compiled into it.
pub(super) trait Kernel: Hash + Sync {
    /// What it is called where it fails.
    const NAME: &'static str;

    /// Starts it on a picture, on a grid of strips of `steps` steps.
    fn start<R: Runtime>(&self, call: &Call<'_>, client: &ComputeClient<R>, grid: CubeCount, steps: u32);
}

/// Starts a kernel from a picture's words to its result's, so many to a vector.
macro_rules! start {
    (
        $call:ident, $client:ident, $grid:ident, $units:expr,
        $($kernel:ident)::+ $(<$word:ty>)? ($($places:expr)?; $from:expr => $to:expr; $($argument:expr),+)
    ) => {
        // SAFETY: both buffers hold `height` rows of `pitch` words, whole vectors of four; rows and words are kept within for
        // loads, and compared with both for stores.
        unsafe {
            $($kernel)::+::launch_unchecked$(::<$word, _>)?(
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

/// `plan, name, |plan, call, steps| units, kernel(how it counts places, where it asks; words of a vector read => written; what follows)`
macro_rules! kernels {
    ($(
        $plan:ty, $name:literal, |$this:ident, $call:ident, $steps:ident| $units:expr,
        $($kernel:ident)::+ ($($places:expr)?; $from:expr => $to:expr; $($argument:expr),+);
    )*) => {
        $(
            #[allow(unsafe_code)]
            impl Kernel for $plan {
                const NAME: &'static str = $name;

                fn start<R: Runtime>(
                    &self,
                    $call: &Call<'_>,
                    client: &ComputeClient<R>,
                    grid: CubeCount,
                    $steps: u32,
                ) {
                    let $this = self;
                    start!(
                        $call, client, grid, $units,
                        $($kernel)::+ ($($places)?; $from => $to; $($argument),+)
                    );
                }
            }
        )*
    };
}

kernels! {
    slide::Plan, "stencil slide", |plan, call, steps| plan.strip.units,
        slide::slide(addresses(call.gpu); 1 => 4; steps, inverse(plan.radius), *plan);
    sums::Plan, "stencil sums", |plan, call, steps| plan.strip.units,
        sums::sums(addresses(call.gpu); 1 => 4; steps, inverse(plan.radius), *plan);
    extremes::Plan, "stencil extremes", |plan, call, steps| plan.strip.units,
        extremes::extremes(addresses(call.gpu); 1 => 4; steps, *plan);
    Wide, "stencil wide sums", |plan, call, steps| plan.units,
        wide::wide_sums(addresses(call.gpu); 4 => 4; steps, inverse(plan.radius), sums::BESIDE, *plan);
    edges::Plan, "stencil edges", |plan, call, steps| plan.units,
        edges::edges(; 4 => 4; steps, *plan);
    matrix::weigh::Plan, "stencil weigh by matrix", |plan, call, steps| plan.units,
        matrix::weigh::weigh_by_matrix(; 4 => 4; call.from.array(1), steps, plan.clone());
    matrix::convolve::Plan, "stencil convolve by matrix", |plan, call, steps| plan.units,
        matrix::convolve::convolve_by_matrix(; plan.vector() as usize => 1; steps, plan.clone());
}

#[allow(unsafe_code)]
impl Kernel for weigh::Plan {
    const NAME: &'static str = "stencil weigh";

    fn start<R: Runtime>(&self, call: &Call<'_>, client: &ComputeClient<R>, grid: CubeCount, steps: u32) {
        let (units, places) = (self.strip.units, addresses(call.gpu));
        match self.samples {
            Samples::Bytes => {
                start!(call, client, grid, units, weigh::weigh<u32>(places; 1 => 4; steps, self.clone()));
            }
            Samples::Floats => {
                start!(call, client, grid, units, weigh::weigh<f32>(places; 1 => 4; steps, self.clone()));
            }
        }
    }
}

#[allow(unsafe_code)]
impl Kernel for square::Plan {
    const NAME: &'static str = "stencil square";

    fn start<R: Runtime>(&self, call: &Call<'_>, client: &ComputeClient<R>, grid: CubeCount, _: u32) {
        let units = self.units;
        match self.samples {
            Samples::Bytes => {
                start!(call, client, grid, units, square::squares<u32>(; 1 => 4; self.clone()));
            }
            Samples::Floats => {
                start!(call, client, grid, units, square::squares<f32>(; 1 => 4; self.clone()));
            }
        }
    }
}

#[allow(unsafe_code)]
impl Kernel for Kept {
    const NAME: &'static str = "stencil extremes kept";

    fn start<R: Runtime>(&self, call: &Call<'_>, client: &ComputeClient<R>, grid: CubeCount, steps: u32) {
        let (units, places, inverse) = (self.units(), addresses(call.gpu), inverse(self.radius));
        match self.copied {
            true => start!(call, client, grid, units, kept::extremes_copied(
                places; 1 => 4; steps, boxes(call, kept::ROWS), boxes(call, 1), inverse, sums::BESIDE, *self)),
            false => start!(call, client, grid, units, kept::extremes_kept(
                places; 1 => 4; steps, inverse, sums::BESIDE, *self)),
        }
    }
}

/// What a square's sum is multiplied by.
fn inverse(radius: u32) -> f32 {
    1.0 / f64::from(2 * radius + 1).powi(2) as f32
}

/// The picture as boxes of so many rows, as wide as a group of words.
#[allow(unsafe_code)]
fn boxes<R: Runtime>(call: &Call<'_>, rows: u32) -> TensorMapArg<R, Tiled> {
    let (height, pitch) = (call.size.height as usize, call.pitch as usize);
    // SAFETY: so many rows of the pitch lie in the buffer.
    let tensor =
        unsafe { TensorArg::from_raw_parts(call.from.handle(), strides![pitch, 1], shape![height, pitch]) };
    let tile_size = shape![rows as usize, kept::ALIGNED as usize];
    TensorMapArg::new(TiledArgs { tile_size }, tensor, u32::as_type_native_unchecked())
}
