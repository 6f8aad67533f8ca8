//! Lattice: copies of a pattern at every integer combination of two vectors, blended where they overlap. Vectors may have
//! fractional components: each copy then lies at the nearest pixels, so that copies never drift.
//!
//! The blended raster is periodic: one cell of |det(u, v)| samples holds all of it ([`cpu::cell`]), and
//! [`crate::repeat`] expands it. However many copies overlap, making the cell costs one fold for each pattern
//! pixel. Where the cell is too large to keep, a tile is blended from the copies that meet it
//! ([`cpu::Accumulator`], [`copies`]).
//!
//! ```
//! use relief_kernels::lattice::{Blend, cpu, overlap};
//! use relief_raster::{View, ViewMut};
//!
//! // Copies of a row of three samples, two apart: every second pixel has two of them.
//! let (u, v) = ((2, 0), (0, 1));
//! let copies = overlap((3, 1), u, v);
//! assert_eq!(copies, 2);
//! let mut out = [0_u8; 2];
//! let mut scratch = vec![0; cpu::scratch_words::<u8>(Blend::Sum, copies, 2, 1)];
//! let pattern = View::packed(&[1, 20, 100], 3, 1);
//! cpu::cell(pattern, (0, 0), Blend::Sum, u, v, ViewMut::packed(&mut out, 2, 1), &mut scratch);
//! assert_eq!(out, [101, 20]);
//! ```

mod copies;
pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

#[cfg(test)]
mod tests;

pub use copies::{
    Copies, MAX_DENOMINATOR, Placement, copies, fractional_copies, fractional_overlap, overlap,
};

/// How the samples of the copies that cover a pixel become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blend {
    /// (2·sum + n) / (2·n) of the n samples other than 0; 0 for none.
    Mean,
    /// The greatest.
    Max,
    /// The least of those other than 0; 0 for none.
    Min,
    /// The sum, at most M.
    Sum,
    /// The sample other than 0 of the copy added last, which for copies added in ascending order is that with
    /// the greatest (j, i); 0 for none.
    Last,
}
