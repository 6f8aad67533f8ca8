//! What is known of a job before its raster is cut.

use relief_raster::Rect;

use super::{MAX_THREADS, Options};
use crate::program::Program;

/// Everything that is known before the raster is cut.
pub(super) struct Draft<'a> {
    pub(super) program: Program,
    pub(super) region: Rect,
    pub(super) threads: usize,
    /// Jobs that stream at the same time.
    pub(super) readers: u64,
    pub(super) limit: u64,
    pub(super) options: &'a Options,
    /// The program for devices with equal nodes apart, where there are any.
    #[cfg(feature = "gpu")]
    pub(super) apart: Option<Program>,
    #[cfg(feature = "gpu")]
    pub(super) gpus: Option<super::devices::Target>,
}

/// Windows of levels that are read at the same time.
pub(super) fn level_readers(options: &Options) -> usize {
    options.level_readers.unwrap_or(1).clamp(1, MAX_THREADS)
}
