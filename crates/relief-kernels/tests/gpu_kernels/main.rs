//! Families on a device against loops on the host: one program, so that a device is started and the kernels' crate is linked once.
//!
//! Tests that need a process of their own stand beside it: what is compiled ahead (`gpu_ahead`) concerns kernels before the first device of
//! the process was started, and a policy file (`policy`) holds for the whole process.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

#[path = "../support/mod.rs"]
mod support;

mod device;
mod distance;
mod distance_bits;
mod distance_tiles;
mod filters;
mod framed;
mod fused;
mod gauss;
mod lattice;
mod pointwise;
mod repeat;
mod tiles;
mod turn;
