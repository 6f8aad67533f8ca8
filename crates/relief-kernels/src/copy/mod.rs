//! Copy: the words of one place written to another; and fill, one word written everywhere.
//!
//! Every word is one load and one store, so the bound is the bandwidth of memory: this family is the ceiling that others
//! are measured against.
//!
//! ```
//! use relief_kernels::copy::cpu;
//!
//! let (from, mut to) = ([7; 100], [0; 100]);
//! cpu::copy(&from, &mut to);
//! assert_eq!(to, from);
//! ```

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

#[cfg(test)]
mod tests;
