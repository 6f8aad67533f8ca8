//! Where bands go.

use std::io;

use relief_raster::{Depth, Length, Rect};

use crate::Error;
use crate::workers::Workers;

/// Takes the samples of the next band in order.
pub(crate) type HandOver<'a, S> = dyn FnMut(Rect, &[S]) -> Result<(), Error> + 'a;

/// The raster that is streamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Raster {
    /// Columns.
    pub width: u64,
    /// Rows.
    pub height: u64,
    /// The depth of the samples.
    pub depth: Depth,
    /// The side of a pixel, where the design says it.
    pub pixel: Option<Length>,
}

impl Raster {
    /// A raster of so many columns and rows of samples of this depth.
    #[must_use]
    pub const fn new(width: u64, height: u64, depth: Depth) -> Self {
        Self {
            width,
            height,
            depth,
            pixel: None,
        }
    }

    /// With pixels of this side.
    #[must_use]
    pub const fn with_pixel(self, pixel: Option<Length>) -> Self {
        Self { pixel, ..self }
    }

    /// The bytes of all samples.
    #[must_use]
    pub fn bytes(&self) -> u128 {
        u128::from(self.width) * u128::from(self.height) * u128::from(self.depth.bytes())
    }
}

/// Samples of either depth, in the order of the raster: row by row, left to right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Samples<'a> {
    /// 8 bits.
    Eight(&'a [u8]),
    /// 16 bits.
    Sixteen(&'a [u16]),
}

impl<'a> Samples<'a> {
    /// The number of samples.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Eight(samples) => samples.len(),
            Self::Sixteen(samples) => samples.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The samples as they lie in memory: 16 bits in the byte order of this machine.
    #[must_use]
    pub fn native_bytes(&self) -> &'a [u8] {
        match self {
            Self::Eight(samples) => samples,
            Self::Sixteen(samples) => bytemuck::cast_slice(samples),
        }
    }
}

/// The unit that is streamed: a run of whole rows, or, of a raster whose rows are too wide for the memory given, a
/// part of one row. Bands come in the order of the raster, without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Band<'a> {
    /// The pixels, in coordinates of the raster that is streamed: its first pixel is (0, 0).
    pub rect: Rect,
    /// Their samples.
    pub samples: Samples<'a>,
}

impl<'a> Band<'a> {
    /// The band of these pixels.
    #[must_use]
    pub const fn new(rect: Rect, samples: Samples<'a>) -> Self {
        Self { rect, samples }
    }
}

/// Takes the bands of one raster, in order.
///
/// A sink that is dropped before [`finish`](Sink::finish) must leave nothing behind that could be taken for a
/// complete raster.
pub trait Sink {
    /// Called before [`begin`](Sink::begin) with the threads of the job, for a sink that works in parallel.
    fn use_workers(&mut self, workers: &Workers) {
        let _ = workers;
    }

    /// The bytes the sink holds while it works, for the plan.
    fn memory(&self, raster: &Raster) -> u64;

    /// The number of rows of which bands of such a raster should be a multiple, where memory allows: a sink that writes tiles
    /// then holds none back. The last band has what is left. [`Options::rows`](crate::Options::rows) takes it.
    fn wants(&self, raster: &Raster) -> u64 {
        let _ = raster;
        1
    }

    /// Called once, before the first band.
    ///
    /// # Errors
    /// Where the sink cannot take such a raster.
    fn begin(&mut self, raster: &Raster) -> io::Result<()>;

    /// Takes the next band.
    ///
    /// # Errors
    /// Where it could not be written; the raster is then lost.
    fn write(&mut self, band: &Band<'_>) -> io::Result<()>;

    /// Called once, after the last band: makes the raster appear.
    ///
    /// # Errors
    /// Where it could not be completed; nothing appears then.
    fn finish(&mut self) -> io::Result<()>;
}
