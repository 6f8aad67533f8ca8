//! Where image samples come from.

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use relief_design::{ImageError, ImageSource, NoImages, Picture};

/// Asks a source, and makes an error of a panic: a source is not the engine's code.
pub(crate) fn guarded<T>(ask: impl FnOnce() -> Result<T, ImageError>) -> Result<T, ImageError> {
    catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(|panic| {
        let message = crate::panics::message(panic.as_ref());
        Err(ImageError::new(format!("its source panicked: {message}")))
    })
}
