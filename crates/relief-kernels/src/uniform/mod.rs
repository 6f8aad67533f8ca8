//! Uniform: whether all samples of a raster are the same.

pub mod cpu;

#[cfg(test)]
mod tests;
