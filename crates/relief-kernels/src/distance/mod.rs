//! Distance: a function of the squared Euclidean distance to the nearest white pixel of a mask, up to a radius.
//!
//! The squared distance is separable: with g(x, y) the distance to the nearest white pixel of the column x, it is
//! the least dx² + g(x + dx, y)² (T. Saito, J.-I. Toriwaki, *New algorithms for Euclidean distance transformation*,
//! 1994). Each pixel of the mask is read once and each sample written once; in between lie a few operations for g and,
//! for each dx that can still win, two for the minimum.

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

#[cfg(test)]
mod tests;
