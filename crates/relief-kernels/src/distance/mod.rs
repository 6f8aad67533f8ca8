//! Distance: a function of the squared Euclidean distance to the nearest white pixel of a mask, up to a radius.

pub mod cpu;

#[cfg(test)]
mod tests;
