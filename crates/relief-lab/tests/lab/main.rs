//! What the lab promises: one program, so that the lab's kernels are linked once.
#![allow(clippy::unwrap_used)]

#[cfg(feature = "gpu")]
#[path = "../support/mod.rs"]
mod support;

mod families;
mod names;
mod program;
mod reports;
mod rivals;
mod wrong;
