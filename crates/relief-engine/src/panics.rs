//! Panics as errors: a defect of one tile or of a foreign source ends a job, not the process.

use std::panic::{AssertUnwindSafe, catch_unwind};

use relief_raster::Rect;

use crate::Error;
use crate::error::describe;

/// What a panic said.
pub(crate) fn message(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

/// Does `work` on the pixels of `rect`; a panic becomes an error that names them.
pub(crate) fn caught<T>(rect: Rect, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        Err(Error::Panic {
            rect: describe(rect),
            message: message(panic.as_ref()),
        })
    })
}
