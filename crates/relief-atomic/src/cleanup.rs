//! Removing a partial file from another thread.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tempfile::TempPath;

/// Removes a partial file, from any thread: for the handler of an interrupt, which ends the process without
/// dropping the file's writer.
#[derive(Clone, Debug, Default)]
pub struct Cleanup(Arc<Mutex<Partial>>);

/// The file that is being written.
#[derive(Debug, Default)]
pub(crate) enum Partial {
    /// None yet, or none any more.
    #[default]
    None,
    /// It has this temporary name; dropping that removes the file.
    Named(TempPath),
    /// No file may appear any more.
    Cancelled,
}

impl Cleanup {
    /// Removes the partial file, if there is one, and keeps its file from appearing. A file that is complete stays.
    pub fn remove(&self) {
        *self.lock() = Partial::Cancelled;
    }

    /// The temporary name of the file being written.
    #[must_use]
    pub fn temporary_path(&self) -> Option<PathBuf> {
        match &*self.lock() {
            Partial::Named(path) => Some(path.to_path_buf()),
            Partial::None | Partial::Cancelled => None,
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Partial> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
