//! The data-parallel algorithms of Relief on views of samples.
//!
//! One folder per family: its `mod.rs` says what is computed and why this way, `cpu` computes it on the CPU and,
//! with the feature `gpu`, `gpu` does so in device kernels. Nothing here knows designs, nodes or files, and both
//! ways give the same bytes.
//!
//! CPU kernels never allocate: scratch memory is handed in as words, and each family that needs some has a
//! `scratch_words` that says how many. They detect the vector instructions of the machine when they run.

pub mod affine;
pub mod ahead;
pub mod bilateral;
mod block;
#[cfg(test)]
mod canvas;
pub mod convolution;
pub mod copy;
pub mod coverage;
pub mod distance;
pub mod dither;
pub mod edge;
pub mod extremes;
pub mod figures;
#[cfg(feature = "gpu")]
pub mod filter;
pub mod fold;
#[cfg(feature = "gpu")]
pub mod fused;
pub mod gauss;
pub mod generate;
pub mod gradient;
pub mod isa;
pub mod lattice;
pub mod median;
pub mod mesh;
pub mod repeat;
pub mod resample;
pub mod seam;
pub mod sobel;
pub mod table;
pub mod texture;
#[cfg(feature = "gpu")]
pub mod tiles;
pub mod turn;
pub mod uniform;
pub mod window;

// Where kernels run: the same names as in `relief-device`.
pub use relief_device::{self as device, policy};

/// The page of the package, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
