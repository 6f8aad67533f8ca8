//! The native part of the Python package `relief_surfaces`: designs become surfaces, whose windows become NumPy arrays.
//!
//! What people see is written in Python; here is what computes. Nothing computes while it holds the lock of the
//! interpreter, and everything that takes long can be interrupted ([`watch`]).

mod asked;
mod bundle;
mod design;
mod devices;
mod errors;
mod export;
mod language;
mod plan;
mod source;
mod surface;
mod watch;

use pyo3::prelude::*;

/// The native part of the package.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("MEANING", relief_design::MEANING)?;
    module.add("MAX_LEVEL", relief_engine::MAX_LEVEL)?;
    module.add("GPU", cfg!(feature = "gpu"))?;
    module.add_class::<surface::Surface>()?;
    module.add_function(wrap_pyfunction!(design::open, module)?)?;
    module.add_function(wrap_pyfunction!(design::check, module)?)?;
    module.add_function(wrap_pyfunction!(design::canvas, module)?)?;
    module.add_function(wrap_pyfunction!(design::read_text, module)?)?;
    module.add_function(wrap_pyfunction!(language::format, module)?)?;
    module.add_function(wrap_pyfunction!(language::explain, module)?)?;
    module.add_function(wrap_pyfunction!(language::signatures, module)?)?;
    module.add_function(wrap_pyfunction!(devices::devices, module)?)?;
    Ok(())
}
