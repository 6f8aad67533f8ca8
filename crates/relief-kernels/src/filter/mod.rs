//! Filter: what the samples around a pixel come to, on a device, for every filter that reads a block of samples with a margin.
//!
//! **How.** What counts for a part of the result, its margins included, is brought into a block of packed samples first (`block.rs`), as on the
//! CPU: what lies beyond a border is looked up there and nowhere else, and rows begin at words. The kernels of a family (`sobel`, `window`,
//! `extremes`, `median`, `convolution`) read that block and know no edges. It costs writing and reading each sample once more, a byte of either where sums take
//! four.
//!
//! **Parts.** A band is cut so that the block and what lies between the steps take 32 MiB, however wide, high or deep it is: memory that is
//! known beforehand, and enough samples for a large device to compute at once. Parts are wide, so that units of a plane read
//! neighbours, and higher than their margins.
//!
//! ```
//! # fn main() -> Result<(), relief_kernels::device::DeviceError> {
//! use relief_kernels::device::{Gpu, devices};
//! use relief_kernels::edge::Edge;
//! use relief_kernels::filter::{Filter, render};
//! use relief_kernels::fused::Plane;
//! use relief_kernels::sobel::Component;
//! use relief_raster::{Depth, Rect};
//!
//! let Some(device) = devices().devices.into_iter().next() else { return Ok(()) };
//! let gpu = Gpu::open(device.id)?;
//! // Two rows of 16 equal samples have no slope, whatever counts beyond.
//! let plane = Plane::new(gpu.upload(&[0x0505_0505; 8])?, 0, 4, 16, 2, Depth::Eight).unwrap();
//! let filter = Filter::Sobel(Component::Magnitude);
//! let kept = filter.upload(&gpu)?;
//! let output = gpu.buffer(8)?;
//! let (size, band) = ((16, 2), Rect::new(0, 0, 16, 2).unwrap());
//! render(&gpu, None, &filter, &kept, &plane, (0, 0), size, Edge::Clamp, band, &output, 4)?;
//! assert_eq!(gpu.read(&output, 8).wait()?[..], [0; 32]);
//! # Ok(())
//! # }
//! ```

mod block;

use relief_raster::{Depth, Rect};

use crate::convolution::gpu::Taps;
use crate::convolution::{self, Mask};
use crate::device::{Buffer, DeviceError, Gpu, Operand};
use crate::edge::Edge;
use crate::edge::gpu::{MOST_SIDE, Places, check_band};
use crate::extremes::{self, Extreme, Shape};
use crate::fused::Plane;
use crate::fused::shape::per_word;
use crate::gauss::gpu::Weights;
use crate::gauss::sharpen::gpu::Steps;
use crate::gauss::{self, Bell, sharpen};
use crate::median::{self, Rank};
use crate::sobel::{self, Component};
use crate::window;

pub(crate) use block::Block;

/// What of the samples around a pixel becomes the sample.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Filter<'a> {
    /// Its slope, as [`sobel`] says.
    Sobel(Component),
    /// The mean of a square, as [`window`] says.
    Mean {
        /// R, in pixels: at most [`window::MAX_RADIUS`].
        radius: u32,
    },
    /// M where a sample is at least the mean of a square, less an offset, else 0: [`window::Law::Mean`].
    LocalMean {
        /// R, in pixels: at most [`window::MAX_THRESHOLD_RADIUS`].
        radius: u32,
        /// How far a sample may lie below the mean, −65 535…65 535.
        offset: i32,
    },
    /// The least or the greatest, as [`extremes`] says.
    Extreme {
        /// Which of them.
        extreme: Extreme,
        /// Of which samples.
        shape: Shape,
        /// R, in pixels: at most [`extremes::MAX_RADIUS`].
        radius: u32,
    },
    /// One by its rank, as [`median`] says.
    Rank(Rank),
    /// A weighted sum, as [`convolution`] says; see [`Filter::convolution`].
    Convolution(&'a Mask),
    /// What its mean takes away, put on top, as [`sharpen`] says.
    Sharpen {
        /// The weights of the mean.
        bell: &'a Bell,
        /// By how much.
        amount: f64,
        /// Smaller differences are left as they are.
        threshold: u16,
    },
}

/// What a filter keeps on a device, made once.
#[derive(Clone, Debug)]
pub struct Kept(Inner);

#[derive(Clone, Debug)]
enum Inner {
    Nothing,
    Taps(Taps),
    Sharpen(Weights, Steps),
}

/// Words of a part: of its block and of what lies between the steps.
const PART: u64 = 1 << 23;

/// The most columns of a part, and the fewest for which it is cut. Parts begin at words of the output.
const MOST_COLUMNS: u64 = 1 << 14;
const FEWEST_COLUMNS: u64 = 1 << 10;

/// The most rows of a part: as many cubes as every device takes.
const MOST_ROWS: u64 = 1 << 16;

/// Buffers begin at multiples of so many words.
const ALIGNED: u64 = 64;

impl<'a> Filter<'a> {
    /// A weighted sum. Nothing where sums might exceed 32 bits.
    #[must_use]
    pub fn convolution(mask: &'a Mask) -> Option<Self> {
        mask.fits_devices().then_some(Self::Convolution(mask))
    }

    /// Uploads what the filter reads beside samples.
    ///
    /// # Errors
    /// Where it does not fit the device.
    pub fn upload(&self, gpu: &Gpu) -> Result<Kept, DeviceError> {
        Ok(Kept(match self {
            Self::Convolution(mask) => Inner::Taps(Taps::upload(gpu, mask)?),
            Self::Sharpen {
                bell,
                amount,
                threshold,
            } => Inner::Sharpen(
                Weights::upload(gpu, bell)?,
                Steps::upload(gpu, *amount, *threshold)?,
            ),
            _ => Inner::Nothing,
        }))
    }

    /// The words of device memory that [`upload`](Self::upload) takes.
    #[must_use]
    pub fn upload_words(&self) -> u64 {
        match self {
            Self::Convolution(mask) => mask.words(),
            Self::Sharpen { bell, .. } => Weights::words(bell.radius() as u32) + sharpen::gpu::WORDS,
            _ => 0,
        }
    }

    /// R: how far it looks, in pixels.
    #[must_use]
    pub fn radius(&self) -> u32 {
        match self {
            Self::Sobel(_) => 1,
            Self::Mean { radius } | Self::LocalMean { radius, .. } | Self::Extreme { radius, .. } => *radius,
            // At most 16.
            Self::Rank(rank) => rank.radius() as u32,
            // At most 7, the greater of both.
            Self::Convolution(mask) => mask.reach().0.max(mask.reach().1) as u32,
            // At most 256.
            Self::Sharpen { bell, .. } => bell.radius() as u32,
        }
    }

    /// Whether its values are within what the family has.
    fn is_known(&self) -> bool {
        let most = match self {
            Self::LocalMean { offset, .. } if offset.unsigned_abs() > 65_535 => return false,
            Self::LocalMean { .. } => window::MAX_THRESHOLD_RADIUS,
            Self::Mean { .. } => window::MAX_RADIUS,
            Self::Extreme { .. } => extremes::MAX_RADIUS,
            // What others are made of says so.
            _ => usize::MAX,
        };
        self.radius() as usize <= most
    }

    /// What the memory of a part is: buffers of the size of its block, the block among them, and for each row of the result words for each
    /// word of a row of the block.
    fn copies(&self, bits: u32) -> (u64, u64) {
        match self {
            Self::Sobel(_) | Self::Rank(_) | Self::Convolution(_) => (1, 0),
            // It needs no block, see `scratch_words`.
            Self::Sharpen { .. } => (1, 0),
            Self::Mean { radius } if window::gpu::is_near(*radius) => (1, 0),
            // A sum for every sample.
            Self::Mean { .. } | Self::LocalMean { .. } => (1, per_word(bits).into()),
            Self::Extreme { shape, radius, .. } => match shape {
                Shape::Square => (1, 1),
                Shape::Disc => (extremes::gpu::levels(*radius).into(), 0),
            },
        }
    }

    /// The words of a part of so many columns and rows of results.
    fn words(&self, bits: u32, columns: u64, rows: u64) -> u64 {
        let (blocks, more) = self.copies(bits);
        let pitch = self.pitch(bits, columns);
        let block = self.block_words(pitch, rows);
        blocks
            .saturating_mul(block)
            .saturating_add(more.saturating_mul(pitch).saturating_mul(rows))
    }

    /// Words of a row of a block for so many columns of results.
    fn pitch(&self, bits: u32, columns: u64) -> u64 {
        Block::pitch(bits, columns + 2 * u64::from(self.radius()))
    }

    fn block_words(&self, pitch: u64, rows: u64) -> u64 {
        pitch
            .saturating_mul(rows.saturating_add(2 * u64::from(self.radius())))
            .next_multiple_of(ALIGNED)
    }

    /// The most rows of results of a part of so many columns.
    fn rows(&self, bits: u32, columns: u64) -> u64 {
        let (blocks, more) = self.copies(bits);
        let pitch = self.pitch(bits, columns);
        let margins = blocks * (2 * u64::from(self.radius()) * pitch + ALIGNED);
        (PART.saturating_sub(margins) / ((blocks + more) * pitch)).clamp(1, MOST_ROWS)
    }

    /// The most columns of results of a part.
    fn columns(&self, bits: u32) -> u64 {
        let mut columns = MOST_COLUMNS;
        while columns > FEWEST_COLUMNS && self.rows(bits, columns) < (2 * u64::from(self.radius())).max(64) {
            columns /= 2;
        }
        columns
    }
}

/// The most words of its memory that [`render`] takes of a device besides source and output; no more where both sides are no longer.
/// `None` where the sizes exceed 32 bits.
#[must_use]
pub fn scratch_words(filter: &Filter<'_>, depth: Depth, width: u64, height: u64) -> Option<u64> {
    if width >= MOST_SIDE || height >= MOST_SIDE || !filter.is_known() {
        return None;
    }
    if let Filter::Sharpen { bell, .. } = filter {
        return gauss::gpu::scratch_words(width, height, bell.radius() as u32);
    }
    let bits = depth.bits();
    let columns = width.min(filter.columns(bits));
    Some(filter.words(bits, columns, height).min(PART))
}

/// Renders the pixels of `band` into the rows of `output`, `pitch` words apart; `pitch` is a multiple of 4. The filter has `size` columns
/// and rows from (0, 0) on, and the band lies in them. The source's top-left lies at `place` in the same coordinates: within the filter it is 0
/// where it is not, and beyond the filter `edge` says what counts. `kept` is what [`Filter::upload`] of this filter gave. `scratch` is memory for a part, [`scratch_words`] of it; without it,
/// and where it is too short, memory is taken for this call.
///
/// # Errors
/// Where the device fails, where the band does not fit `output` or lies beyond the filter, where a side of it or of the source has 2^29 pixels
/// or more, and where the radius exceeds what the family has.
#[allow(clippy::too_many_arguments)]
pub fn render(
    gpu: &Gpu,
    scratch: Option<&Buffer>,
    filter: &Filter<'_>,
    kept: &Kept,
    source: &Plane,
    place: (i64, i64),
    size: (u64, u64),
    edge: Edge,
    band: Rect,
    output: &Buffer,
    pitch: u32,
) -> Result<(), DeviceError> {
    if band.is_empty() {
        return Ok(());
    }
    crate::fused::check_output(gpu, source.depth(), band, output, pitch)?;
    check_band(gpu, band, size)?;
    let sides = [
        u64::from(source.width()),
        source.height().into(),
        band.width(),
        band.height(),
    ];
    for side in sides {
        gpu.at_most("pixels of a side at once", MOST_SIDE - 1, side)?;
    }
    if !filter.is_known() {
        let found = format!("a radius of {}, or by its offset", filter.radius());
        return Err(gpu.no_kind("filters", "radii and offsets within their limits", found));
    }
    if let (Filter::Sharpen { .. }, Inner::Sharpen(weights, steps)) = (filter, &kept.0) {
        gauss::gpu::render(
            gpu, scratch, source, place, size, edge, weights, band, output, pitch,
        )?;
        return sharpen::gpu::sharpen(gpu, source, place, size, steps, band, output, pitch);
    }
    let bits = source.depth().bits();
    let columns = filter.columns(bits).min(band.width());
    let rows = filter.rows(bits, columns).min(band.height());
    // At most `PART`.
    let words = filter.words(bits, columns, rows) as usize;
    let given = scratch.and_then(|scratch| scratch.part(0, words));
    let memory = given.map_or_else(|| gpu.buffer(words), Ok)?;
    // The source is read again after the first part is written.
    gpu.check_memory(&[
        Operand::read("the source", source.buffer()),
        Operand::write("blocks of samples", &memory),
        Operand::write("the output", output),
    ])?;
    for top in (0..band.height()).step_by(rows as usize) {
        for left in (0..band.width()).step_by(columns as usize) {
            let (width, height) = (columns.min(band.width() - left), rows.min(band.height() - top));
            // Offsets lie within the band, whose places are positive.
            let (x, y) = (band.x() + left.cast_signed(), band.y() + top.cast_signed());
            let radius = filter.radius();
            let part = Part {
                gpu,
                filter,
                kept,
                memory: &memory,
                bits,
                pitch: filter.pitch(bits, width),
                rows: height,
                target: Target {
                    output,
                    // Within the output, whose words are counted in 32 bits.
                    offset: (top * u64::from(pitch) + left / u64::from(per_word(bits))) as u32,
                    pitch,
                    words: width.div_ceil(per_word(bits).into()) as u32,
                    rows: height as u32,
                },
            };
            let across = Places::new(place.0, source.width(), size.0, x, width, radius);
            let down = Places::new(place.1, source.height(), size.1, y, height, radius);
            part.render(source, across, down, edge)?;
        }
    }
    Ok(())
}

/// Where a kernel writes its results: words of packed samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    pub(crate) output: &'a Buffer,
    /// The word of the first sample.
    pub(crate) offset: u32,
    /// Words from one row to the next.
    pub(crate) pitch: u32,
    /// Words of a row. Samples of the last that lie beyond the result are any.
    pub(crate) words: u32,
    pub(crate) rows: u32,
}

impl<'a> Target<'a> {
    /// As a launch is told.
    pub(crate) fn operand(&self) -> Operand<'a> {
        match self.offset {
            0 => Operand::write("the output", self.output),
            // The first word was written before.
            _ => Operand::update("the output", self.output),
        }
    }
}

/// A part of a band.
struct Part<'a> {
    gpu: &'a Gpu,
    filter: &'a Filter<'a>,
    kept: &'a Kept,
    memory: &'a Buffer,
    bits: u32,
    /// Words of a row of the block.
    pitch: u64,
    /// Rows of the result.
    rows: u64,
    target: Target<'a>,
}

impl Part<'_> {
    fn render(&self, source: &Plane, across: Places, down: Places, edge: Edge) -> Result<(), DeviceError> {
        let gpu = self.gpu;
        let block = Block {
            samples: self.buffer(0)?,
            pitch: self.pitch as u32,
            rows: self.rows as u32 + 2 * self.filter.radius(),
            bits: self.bits,
        };
        block.gather(gpu, source, across, down, edge)?;
        match *self.filter {
            Filter::Sobel(component) => sobel::gpu::filter(gpu, &block, component, &self.target),
            Filter::Mean { radius } if window::gpu::is_near(radius) => {
                window::gpu::near(gpu, &block, radius, &self.target)
            }
            Filter::Mean { radius } => {
                let sums = self.between()?;
                window::gpu::mean(gpu, &block, &sums, radius, None, &self.target)
            }
            Filter::LocalMean { radius, offset } => {
                let sums = self.between()?;
                window::gpu::mean(gpu, &block, &sums, radius, Some(offset), &self.target)
            }
            Filter::Extreme {
                extreme,
                shape: Shape::Square,
                radius,
            } => {
                let between = self.between()?;
                extremes::gpu::square(gpu, &block, &between, extreme, radius, &self.target)
            }
            Filter::Extreme {
                extreme,
                shape: Shape::Disc,
                radius,
            } => {
                let levels = (0..u64::from(extremes::gpu::levels(radius)))
                    .map(|level| self.buffer(level))
                    .collect::<Result<Vec<_>, _>>()?;
                let all = self.part(
                    0,
                    levels.len() as u64 * self.filter.block_words(self.pitch, self.rows),
                )?;
                extremes::gpu::disc(gpu, &block, &levels, &all, extreme, radius, &self.target)
            }
            Filter::Rank(rank) => median::gpu::filter(gpu, &block, rank, &self.target),
            Filter::Convolution(_) | Filter::Sharpen { .. } => match &self.kept.0 {
                Inner::Taps(taps) => convolution::gpu::filter(gpu, &block, taps, &self.target),
                Inner::Nothing | Inner::Sharpen(..) => {
                    Err(gpu.no_kind("a filter", "what it keeps on the device", "what another keeps"))
                }
            },
        }
    }

    /// A buffer of the size of the block.
    fn buffer(&self, number: u64) -> Result<Buffer, DeviceError> {
        let words = self.filter.block_words(self.pitch, self.rows);
        self.part(number * words, words)
    }

    /// What lies behind the block.
    fn between(&self) -> Result<Buffer, DeviceError> {
        let (_, more) = self.filter.copies(self.bits);
        let block = self.filter.block_words(self.pitch, self.rows);
        self.part(block, more * self.pitch * self.rows)
    }

    fn part(&self, start: u64, words: u64) -> Result<Buffer, DeviceError> {
        self.gpu.part("memory of a filter", self.memory, start, words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Filter<'static>> {
        let mut all = vec![
            Filter::Sobel(Component::X),
            Filter::Rank(Rank::new(16, 1).unwrap()),
        ];
        for radius in [0, 1, 2, 7, 63, 128, 256] {
            all.push(Filter::Mean { radius });
            for shape in [Shape::Square, Shape::Disc] {
                all.push(Filter::Extreme {
                    extreme: Extreme::Least,
                    shape,
                    radius,
                });
            }
        }
        all
    }

    #[test]
    fn parts_are_wide_higher_than_their_margins_and_within_their_memory() {
        for filter in all() {
            for bits in [8, 16] {
                let columns = filter.columns(bits);
                let rows = filter.rows(bits, columns);
                assert!(columns.is_multiple_of(FEWEST_COLUMNS), "{filter:?}");
                assert!(
                    rows >= 2 * u64::from(filter.radius()) && rows >= 64,
                    "{filter:?}: {rows}"
                );
                for fewer in [1, 5, 100, columns / 2, columns - 1, columns] {
                    let rows = filter.rows(bits, fewer);
                    assert!(
                        filter.words(bits, fewer, rows) <= PART,
                        "{filter:?}, {fewer} columns"
                    );
                }
            }
        }
    }

    #[test]
    fn memory_that_is_said_to_be_enough_is() {
        for filter in all() {
            for depth in [Depth::Eight, Depth::Sixteen] {
                let said = |width, height| scratch_words(&filter, depth, width, height).unwrap();
                for (width, height) in [(1_u64, 1), (1, 1 << 20), (1 << 23, 3), (4_000, 4_000), (33, 17)] {
                    for (less, lower) in [
                        (width, height / 2),
                        (width / 2, height),
                        (width.div_ceil(3), height),
                    ] {
                        assert!(said(less, lower) <= said(width, height), "{filter:?}");
                    }
                    let columns = filter.columns(depth.bits()).min(width);
                    let rows = filter.rows(depth.bits(), columns).min(height);
                    assert!(filter.words(depth.bits(), columns, rows) <= said(width, height));
                }
            }
        }
        assert_eq!(scratch_words(&all()[0], Depth::Eight, 1 << 29, 1), None);
        assert_eq!(scratch_words(&all()[0], Depth::Eight, 1, u64::MAX), None);
        let wide = Filter::Mean { radius: 257 };
        assert_eq!(scratch_words(&wide, Depth::Eight, 1, 1), None);
    }
}
