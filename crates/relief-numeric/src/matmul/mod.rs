//! Products of matrices in row order: C = A·B, into floats of 32 bits.
//!
//! m × n sums of k products each: 2·m·n·k operations on (m + n)·k numbers, so that arithmetic is the bound as soon as
//! numbers are used often enough where they are at hand: in registers first, then in the nearest memory.
//!
//! **What results are.** A sum begins with 0 and takes the products in the order of k, each product and its addition rounded once
//! (a fused multiply-add). So the bits are the same for every layout and number of threads, on the CPU and on devices, but for
//! Vulkan drivers that round twice. Inputs of 16 bits ([`struct@f16`], [`bf16`]) are widened, which is exact; on a device the tensor
//! cores multiply them, in an order and with roundings of their own ([`gpu`]).

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

#[cfg(test)]
mod tests;

pub use half::{bf16, f16};
