//! Where a scan reads its pixels.

use relief_engine::{Cancel, Raster, Rect, Renderer, SamplesMut, Workers};

/// A raster that can be read in windows, in any order.
pub trait Windows: Sync {
    /// The raster.
    fn raster(&self) -> Raster;

    /// Computes a window into `out`, packed rows of the raster's depth.
    ///
    /// # Errors
    /// Where it cannot be computed or the job is cancelled.
    fn read(&self, window: Rect, out: SamplesMut<'_>, cancel: &Cancel) -> Result<(), relief_engine::Error>;

    /// The threads that lines are packed on; `None` where that is done by the thread that asks for them.
    fn workers(&self) -> Option<&Workers> {
        None
    }
}

impl Windows for Renderer {
    fn raster(&self) -> Raster {
        self.plan().raster()
    }

    fn read(&self, window: Rect, out: SamplesMut<'_>, cancel: &Cancel) -> Result<(), relief_engine::Error> {
        Self::read(self, window, out, cancel)
    }

    fn workers(&self) -> Option<&Workers> {
        Some(Self::workers(self))
    }
}
