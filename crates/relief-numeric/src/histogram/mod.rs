//! Histogram: how often each value occurs among samples of 8 or 16 bits, or how many numbers of 32 bits lie in each of some bins of
//! equal width, as numbers of 64 bits.
//!
//! Samples are read once, so the bound is the bandwidth of memory. What takes care is that many samples are counted at
//! once: two of one value must not lose a count, and must not wait for each other when all samples are the same.
//!
//! ```
//! use relief_numeric::histogram::cpu;
//!
//! let mut counts = [0; 256];
//! cpu::eight(&[3, 200, 3], &mut counts);
//! assert_eq!((counts[3], counts[200], counts[0]), (2, 1, 0));
//! ```

pub mod cpu;
pub mod even;
#[cfg(feature = "gpu")]
pub mod gpu;

#[cfg(test)]
mod tests;
