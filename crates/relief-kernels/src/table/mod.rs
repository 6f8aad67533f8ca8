//! Table: every sample replaced by the entry of a table of M + 1 samples; and threshold, a table of one step.
//!
//! The bound is one load and one store per sample; for 8 bits the table fits into vector registers.

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

#[cfg(test)]
mod tests;
