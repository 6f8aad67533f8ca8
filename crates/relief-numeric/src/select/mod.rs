//! Selection (stream compaction): the elements that are wanted, in their order, without gaps.
//!
//! What is wanted is what is not zero, or what a flag marks. The result is the elements themselves, where they lay, or both
//! halves: what is kept and what is left. The order is that of the input, so every result has one right answer.
//!
//! Each element is read once and each kept element is written once; what takes care is where to write it, which depends on
//! all elements before. On a device, one pass does both: a cube counts its tile, learns from its predecessors how many
//! elements they keep, and writes (decoupled look-back; Merrill and Garland, *Single-pass Parallel Prefix Scan with
//! Decoupled Look-back*, 2016). Where cubes cannot rely on each other's progress, three launches count, add up and
//! write.
//!
//! ```
//! use relief_numeric::select::cpu::{Wanted, select};
//!
//! let mut kept = [0_u32; 4];
//! let count = select(&[7, 0, 0, 5], Wanted::NonZero, &mut kept);
//! assert_eq!(kept[..count], [7, 5]);
//! ```

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

#[cfg(test)]
mod tests;
