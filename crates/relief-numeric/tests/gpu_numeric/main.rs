//! Families on a device against loops on the host: one program, so that a device is started and the kernels' crate is linked once.
//!
//! What every family promises about memory (`gpu_contract`) is a program of its own: it concerns kernels that a device meets for the first
//! time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

#[path = "../../../relief-kernels/tests/support/mod.rs"]
mod support;

mod bilateral;
mod histogram;
mod integral;
mod map;
mod matmul;
mod matvec;
mod min_plus;
mod morphology;
mod nbody;
mod reduce;
mod refusals;
mod scan;
mod select;
mod sizes;
mod stencil;
mod transpose;
