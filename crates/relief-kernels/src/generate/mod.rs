//! Generate: rasters that are functions of their coordinates alone.
//!
//! Ramps and discs write runs, so that memory is the bound; noise costs two 64-bit products per sample.

pub mod cpu;

#[cfg(test)]
mod tests;
