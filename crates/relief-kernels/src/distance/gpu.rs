//! The distance on a device: exact, and the same for every way of computing it.
//!
//! Three algorithms (`docs/gpu.md` has the measurements). On hardware the radius decides:
//!
//! - [`bits`], up to 20: 32 pixels of a column in a word, one unit (thread) a word, white pixels at every
//!   offset taken in the order of their distance. What they cost grows with the square of the radius and
//!   hardly depends on the mask.
//! - [`tiles`], up to 118: distances along columns, then along rows, in shared memory.
//! - [`rows`], for every radius: steps over whole rows.
//!
//! Software Vulkan skips what a plane (warp) of eight agrees to skip, and its shared memory is its nearest
//! cache. There tiles win at every radius that they can compute.

#[doc(hidden)]
pub mod bits;
mod mask;
#[doc(hidden)]
pub mod rows;
#[doc(hidden)]
pub mod tiles;

use relief_raster::{Depth, Rect, Sample};

use crate::device::{Buffer, DeviceError, DeviceReport, Gpu};
use crate::fused::Plane;
use crate::fused::shape::per_word;

#[doc(hidden)]
pub use rows::render as render_by_rows;

/// Up to this radius [`bits`] compute the distance. They stay ahead of tiles a little longer, but the kernel
/// grows with the square of the radius, and compiling it must not hold up the first band.
const BITS: u32 = 20;

/// Up to this radius [`tiles`] do, beyond it [`rows`].
const TILED: u32 = tiles::MAX_RADIUS;

/// How the distance is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Bits,
    Tiles,
    Rows,
}

impl Way {
    const fn fitting(report: &DeviceReport, radius: u32) -> Self {
        match radius {
            radius if report.software && radius <= tiles::MAX_RADIUS => Self::Tiles,
            radius if radius <= BITS => Self::Bits,
            radius if radius <= TILED => Self::Tiles,
            _ => Self::Rows,
        }
    }
}

/// A function of the distance on a device.
#[derive(Clone, Debug)]
pub struct Profile {
    table: Buffer,
    /// The samples in the order of the codes of [`bits`], one in a word.
    samples_of_codes: Option<Buffer>,
    radius: u32,
    depth: Depth,
}

impl Profile {
    /// Uploads `values[a]` for a = dx² + dy², 0 ≤ a ≤ radius², and the sample beyond.
    ///
    /// # Errors
    /// Where it does not fit the device.
    ///
    /// # Panics
    /// Where there are not radius² + 1 values, or the radius exceeds 4 096.
    pub fn upload<S: Sample>(gpu: &Gpu, radius: u32, values: &[S], beyond: S) -> Result<Self, DeviceError> {
        assert!(radius <= 4_096, "a radius of at most 4 096");
        assert_eq!(
            values.len() as u64,
            u64::from(radius).pow(2) + 1,
            "a value for every square"
        );
        let depth = size_of::<S>() as u32 * 8;
        let all: Vec<S> = values.iter().copied().chain([beyond]).collect();
        let words: Vec<u32> = all
            .chunks(per_word(depth) as usize)
            .map(|part| {
                part.iter()
                    .rev()
                    .fold(0, |word, v| word << depth | u32::from(v.to_u16()))
            })
            .collect();
        let samples_of_codes = bits::squares_of_codes(radius)
            .map(|squares| {
                squares
                    .iter()
                    .map(|a| all[*a as usize].to_u16().into())
                    .collect::<Vec<u32>>()
            })
            .map(|samples| gpu.upload(&samples))
            .transpose()?;
        Ok(Self {
            table: gpu.upload(&words)?,
            samples_of_codes,
            radius,
            depth: if depth == 8 { Depth::Eight } else { Depth::Sixteen },
        })
    }

    /// The words of device memory that [`upload`](Self::upload) takes.
    #[must_use]
    pub fn words(radius: u32, depth: Depth) -> u64 {
        let values = u64::from(radius).pow(2) + 2;
        let codes = bits::squares_of_codes(radius).map_or(0, |codes| codes.len() as u64);
        values.div_ceil(per_word(depth.bits()).into()).max(4) + codes
    }

    /// The radius.
    #[must_use]
    pub const fn radius(&self) -> u32 {
        self.radius
    }
}

/// The most bytes of its memory that [`render`] takes of a device besides mask and output, or `None` where the sizes exceed
/// 32 bits; no more where both sides are no longer. Devices with little shared memory take a little less.
#[must_use]
pub fn scratch_bytes(report: &DeviceReport, width: u32, height: u32, radius: u32) -> Option<u64> {
    match Way::fitting(report, radius) {
        Way::Bits => bits::scratch_bytes(width, height),
        Way::Tiles => tiles::most_scratch_bytes(width, height, radius),
        Way::Rows => rows::scratch_bytes(width, height, radius),
    }
}

/// Renders the pixels of `band` into the rows of `output`, `pitch` words apart; `pitch` is a multiple of 4. The mask's
/// top-left lies at (x, y) in the same coordinates; outside it is black. `scratch` is memory for what lies between the steps,
/// [`scratch_bytes`] of it; without it, and where it is too short, memory is taken for this call, which keeps the device waiting where
/// a band is small.
///
/// # Errors
/// Where the device fails, and where the band does not fit `output` or 32 bits.
#[allow(clippy::too_many_arguments)]
pub fn render(
    gpu: &Gpu,
    scratch: Option<&Buffer>,
    mask: &Plane,
    place: (i64, i64),
    profile: &Profile,
    band: Rect,
    output: &Buffer,
    pitch: u32,
) -> Result<(), DeviceError> {
    match Way::fitting(gpu.report(), profile.radius) {
        Way::Bits => {
            let policy = bits::Policy::default();
            bits::render(gpu, &policy, scratch, mask, place, profile, band, output, pitch)
        }
        Way::Tiles => {
            let policy = tiles::Policy::fitting(gpu, band.width() as u32, band.height() as u32);
            tiles::render(gpu, &policy, scratch, mask, place, profile, band, output, pitch)
        }
        Way::Rows => rows::render(gpu, scratch, mask, place, profile, band, output, pitch),
    }
}

/// What kernels cannot count: pixels of a side in 30 bits, words of memory between two steps in 31.
struct Excess {
    what: &'static str,
    limit: u64,
    asked: u64,
}

impl Excess {
    /// Nothing where no side has 2^30 pixels.
    fn of_sides(width: u32, height: u32) -> Result<(), Self> {
        let (limit, asked) = ((1 << 30) - 1, width.max(height).into());
        let what = "pixels of a side of a distance at once";
        (asked <= limit).then_some(()).ok_or(Self { what, limit, asked })
    }

    /// Nothing where there are less than 2^31 words.
    fn of_words(asked: u64) -> Result<(), Self> {
        let limit = (1 << 31) - 1;
        let what = "words between the steps of a distance";
        (asked <= limit).then_some(()).ok_or(Self { what, limit, asked })
    }

    fn on(self, gpu: &Gpu) -> DeviceError {
        let Self { what, limit, asked } = self;
        DeviceError::Limit {
            device: gpu.id(),
            what,
            limit,
            asked,
        }
    }
}

/// The first `words` words of the memory that a caller gave, where it has as many, else some for this call.
fn memory(gpu: &Gpu, scratch: Option<&Buffer>, words: usize) -> Result<Buffer, DeviceError> {
    let given = scratch.and_then(|scratch| scratch.part(0, words.max(4)));
    given.map_or_else(|| gpu.buffer(words), Ok)
}
