//! Where image samples come from.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use relief_design::Conversion;
use relief_raster::Depth;

/// What a picture is and what reading it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageInfo {
    /// Columns.
    pub width: u64,
    /// Rows.
    pub height: u64,
    /// The most bytes that [`ImageSource::read`] holds at once, beyond what its caller keeps.
    pub memory: u64,
}

/// Why a picture cannot be had: a sentence, with a cause where there is one.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ImageError {
    message: String,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl ImageError {
    /// An error that has no cause of its own.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
        }
    }

    /// An error with its cause.
    #[must_use]
    pub fn caused(
        message: impl Into<String>,
        source: impl std::error::Error + Send + Sync + 'static,
    ) -> Self {
        Self {
            message: message.into(),
            source: Some(Box::new(source)),
        }
    }
}

/// Gives the pictures that a design names.
///
/// The engine knows no file format: `relief-io` reads files, and a machine builder may serve pictures from
/// anywhere else. A path is the text of the design; what it is relative to is for the source to say.
pub trait ImageSource: Send + Sync {
    /// What the picture is, without reading its samples.
    ///
    /// # Errors
    /// Where there is no such picture, it is of a kind or size that cannot be read, or its samples do not become gray
    /// samples by this conversion.
    fn info(&self, path: &str, conversion: &Conversion) -> Result<ImageInfo, ImageError>;

    /// Reads the picture as gray samples of this depth, by this conversion, and hands over every row once, in any
    /// order, each with its number and its `width` samples. Stops where `row` breaks.
    ///
    /// # Errors
    /// Where the picture cannot be read whole. Rows handed over before are void.
    fn read(
        &self,
        path: &str,
        conversion: &Conversion,
        depth: Depth,
        row: &mut dyn FnMut(u64, &[u16]) -> ControlFlow<()>,
    ) -> Result<(), ImageError>;
}

/// The source of designs without pictures: it has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoImages;

impl ImageSource for NoImages {
    fn info(&self, path: &str, _: &Conversion) -> Result<ImageInfo, ImageError> {
        Err(ImageError::new(format!(
            "there is no source of images for \"{path}\""
        )))
    }

    fn read(
        &self,
        path: &str,
        conversion: &Conversion,
        _: Depth,
        _: &mut dyn FnMut(u64, &[u16]) -> ControlFlow<()>,
    ) -> Result<(), ImageError> {
        self.info(path, conversion).map(|_| ())
    }
}

/// Asks a source, and makes an error of a panic: a source is not the engine's code.
pub(crate) fn guarded<T>(ask: impl FnOnce() -> Result<T, ImageError>) -> Result<T, ImageError> {
    catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(|panic| {
        let message = crate::panics::message(panic.as_ref());
        Err(ImageError::new(format!("its source panicked: {message}")))
    })
}
