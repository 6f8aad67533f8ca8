//! Repeat: a raster expanded from one cell of its period.
//!
//! Every sample is one load and one store, so the bound is the speed at which memory is written.

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

#[cfg(test)]
mod tests;
