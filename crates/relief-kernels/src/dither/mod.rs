//! Ordered dithering: samples become M where they reach the level of their place in a matrix, else 0.

pub mod cpu;

#[cfg(test)]
mod tests;
