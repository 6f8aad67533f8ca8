//! The data-parallel algorithms of Relief on views of samples.
//!
//! One folder per family: its `mod.rs` says what is computed and why this way, `cpu` computes it on the CPU and,
//! with the feature `gpu`, `gpu` does so in device kernels. Nothing here knows designs, nodes or files, and both
//! ways give the same bytes.
//!
//! CPU kernels never allocate: scratch memory is handed in as words, and each family that needs some has a
//! `scratch_words` that says how many. They detect the vector instructions of the machine when they run.

pub mod ahead;
pub mod bilateral;
#[cfg(test)]
mod canvas;
pub mod copy;
pub mod coverage;
pub mod device;
pub mod distance;
pub mod edge;
pub mod element;
pub mod fold;
#[cfg(feature = "gpu")]
pub mod fused;
pub mod gauss;
pub mod generate;
pub mod histogram;
pub mod integral;
pub mod isa;
pub mod lattice;
pub mod map;
pub mod matmul;
pub mod matrix;
pub mod matvec;
pub mod min_plus;
pub mod morphology;
pub mod nbody;
#[cfg(feature = "gpu")]
pub mod pieces;
pub mod policy;
pub mod progress;
pub mod reduce;
pub mod repeat;
pub mod scan;
mod sealed;
pub mod select;
pub mod stencil;
pub mod table;
pub mod transpose;
mod turns;
pub mod uniform;
