//! From a checked design to ordered bands of pixels in bounded memory.

pub mod sink;
pub mod source;
