//! Seams: a raster whose first columns and rows are faded into what lies behind its last ones, so that copies of it fit each other.
//!
//! Of an overlap of o, column x < o weighs (2x + 1) parts of 2o, and what is faded into it the rest; rows likewise. The sum over both is exact,
//! and rounded once, halves up.

pub mod cpu;

#[cfg(test)]
mod tests;
