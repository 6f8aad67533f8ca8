//! Coverage: filled outlines as samples, exact in integers.
//!
//! # What is computed
//! Points are whole multiples of 1/(256·Q) px ([`Builder::new`]). They are placed exactly and then rounded once to 1/256 px,
//! halves up. A pixel has N sub-scanlines, at (2k + 1)/2N of its height: N is 16 for samples of 8 bits and 64 for 16. The
//! crossing of an edge with a sub-scanline is floored to 1/256 px. A sub-scanline belongs to an edge from its upper end, which
//! it includes, to its lower end, which it does not; a span includes its left crossing and not its right one. So shapes that
//! abut share no area and leave no gap.
//!
//! An element is a set of closed outlines under one fill [`Rule`], with a value. Within a sub-scanline the last element that
//! covers a place decides it: elements of one value unite, others hide what lies below. With T = 256·N and c(v) the length that
//! the value v covers in the N sub-scanlines of a pixel, in 1/256 px, its sample is ⌊(Σ v·c(v) + T/2) / T⌋.
//! [`Sampling::Centres`] has one sub-scanline a pixel, at its middle, and a pixel is covered where its centre is.
//!
//! # Why this way
//! Accumulated signed area, as fonts use it, counts overlaps twice. A renderer for screens has 4 × 4 samples and coordinates
//! of 24 bits. Here each outline is cut into chains that go down or up only. A row of pixels takes all sub-scanlines of a chain
//! at once, as a short vector of crossings. Where the vectors of neighbours are in order throughout, one look at the windings
//! serves all sub-scanlines; only where chains cross within a row is each sub-scanline sorted by itself.
//!
//! Copies in arrays are not expanded: an [`Index`] holds parts and where they are placed, and a tile visits the copies that
//! reach into it. Chains that lie left of a tile become numbers, so that the inside of a large outline costs nothing.
//!
//! ```
//! use relief_kernels::coverage::{Builder, Lattice, Limits, Rule, Sampling, cpu};
//! use relief_raster::ViewMut;
//!
//! // A square of one and a half pixels, of value 200.
//! let mut builder = Builder::new(1, Limits::default()).unwrap();
//! let part = builder.part();
//! builder.element(200, Rule::NonZero);
//! builder.outline(&[(0, 0), (384, 0), (384, 384), (0, 384)])?;
//! builder.place(part, Lattice::single((0, 0)))?;
//! let index = builder.finish()?;
//!
//! let mut samples = [0_u8; 4];
//! let mut scratch = vec![0; cpu::scratch_words::<u8>(&index, Sampling::Area)];
//! cpu::compute(&index, Sampling::Area, (0, 0), ViewMut::packed(&mut samples, 2, 2), &mut scratch);
//! assert_eq!(samples, [200, 100, 100, 50]);
//! # Ok::<(), relief_kernels::coverage::Error>(())
//! ```

mod build;
pub mod cpu;
mod density;
mod index;
mod lookup;
mod room;
mod weight;

#[cfg(test)]
mod tests;

pub use build::{Builder, Error, Limits};
pub use density::{MAX_WORK, WORK_OF_A_SECOND};
pub use index::{Index, Lattice, Part};
pub use weight::Weight;

/// Which places an element covers, by the winding number of its outlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Where the winding number is not 0.
    NonZero,
    /// Where the winding number is odd.
    EvenOdd,
}

/// How a pixel is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sampling {
    /// By the area covered.
    Area,
    /// By its centre alone.
    Centres,
}

/// The greatest coordinate of a placed point, in pixels from the origin: 2^44, as of a raster.
pub const MAX_COORDINATE: i64 = relief_raster::MAX_COORDINATE;
