//! The words every part of Relief speaks.
//!
//! A [`Rect`] is a rectangle of pixels, an [`Extent`] says where a node lies in its parent, a [`Sample`] is one
//! gray value of 8 or 16 bits, a [`Length`] is exact, a [`View`] borrows a rectangle of samples, and a [`Period`] says how a raster
//! repeats. Coordinates are `i64`, sizes `u64`; no side is longer than [`MAX_SIDE`] and no coordinate lies
//! farther than [`MAX_COORDINATE`] from the origin, so that sums and differences of two of them never overflow.

mod extent;
mod length;
mod period;
mod sample;
mod view;

pub use extent::{Extent, MAX_COORDINATE, MAX_SIDE, Rect};
pub use length::Length;
pub use period::{Period, floor_sum};
pub use sample::{Depth, Sample};
pub use view::{View, ViewMut};

/// The page of the package, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
