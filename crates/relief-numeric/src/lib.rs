//! Data-parallel algorithms that no node of a design runs: sums, scans and selections, filters, products, shortest paths, bodies.
//!
//! They are written as those of [`relief_kernels`] are: one folder per family, `cpu` for the CPU and, with the feature `gpu`, `gpu` for
//! devices, the same bytes from both, scratch memory handed in as words. Devices, buffers, launches and vector instructions come from
//! there. They have a crate of their own so that nobody compiles them to compute a design; a family moves to [`relief_kernels`] when a
//! node comes to run it.

pub mod bilateral;
pub mod element;
pub mod histogram;
pub mod integral;
#[cfg(feature = "gpu")]
mod look_back;
pub mod map;
pub mod matmul;
pub mod matrix;
pub mod matvec;
pub mod min_plus;
pub mod morphology;
pub mod nbody;
mod product;
#[cfg(feature = "gpu")]
pub mod progress;
pub mod reduce;
pub mod scan;
mod sealed;
pub mod select;
pub mod stencil;
pub mod transpose;
mod turns;

/// A device of any kind, the software adapter included. Without one, nothing, unless `RELIEF_REQUIRE_GPU` is set: then that is
/// a failure.
#[cfg(all(test, feature = "gpu"))]
fn device_of_tests() -> Option<relief_kernels::device::Gpu> {
    use relief_kernels::device::{Gpu, devices};
    let any = devices().devices.iter().find_map(|d| Gpu::open(d.id).ok());
    let required = std::env::var_os("RELIEF_REQUIRE_GPU").is_some();
    assert!(
        any.is_some() || !required,
        "RELIEF_REQUIRE_GPU is set, but there is no device"
    );
    any
}

/// The page of the package, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
