//! Where the pictures of a design come from: the language asks for their sizes, the engine for their samples.

use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::ops::ControlFlow;

use relief_raster::{Depth, Length, Rect};

use crate::kinds::Conversion;

/// Why a picture cannot be had: a sentence, with a cause where there is one.
#[derive(Debug)]
pub struct ImageError {
    message: String,
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

impl std::fmt::Display for ImageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ImageError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}

/// A picture whose header has been read.
pub trait Picture: Send + Sync {
    /// Columns and rows, as it is to be seen.
    fn size(&self) -> (u64, u64);

    /// The bits of one of its samples, as it is stored.
    fn bits(&self) -> u32 {
        16
    }

    /// The sides of one of its pixels, across and down, where its file says them.
    fn pitch(&self) -> Option<[Length; 2]> {
        None
    }

    /// The most bytes that one [`read`](Self::read) holds at once, beyond what its caller keeps.
    fn memory(&self) -> u64 {
        0
    }

    /// The bytes that it holds as long as it is open, for all windows together: lists, and a cache of what was read.
    fn held(&self) -> u64 {
        0
    }

    /// Whether reading a window takes about as long as the window is large. Such a picture may be larger than memory: the
    /// engine then reads it window by window, from several threads at once, and keeps it open. Any other is read once, and held as far
    /// as the design shows it.
    fn windowed(&self) -> bool {
        false
    }

    /// Columns and rows of the parts that it is stored in, from its top-left on, each of which is decoded as a whole; none where rows are read one by one. Whoever
    /// reads much of a picture reads it part by part, or a few beside each other: rows of many parts take each of them apart again and again.
    fn parts(&self) -> Option<(u64, u64)> {
        None
    }

    /// Reads `window`, which lies in the picture, as gray samples of this depth, and hands over each of its rows once, in any order:
    /// the number of the row in the picture, and its samples from the window's first column to its last. Stops where
    /// `row` breaks.
    ///
    /// # Errors
    /// Where the window cannot be read whole. Rows handed over before are void.
    fn read(
        &self,
        window: Rect,
        depth: Depth,
        row: &mut dyn FnMut(u64, &[u16]) -> ControlFlow<()>,
    ) -> Result<(), ImageError>;
}

/// Gives the pictures that a design names, and says what is known of its other files.
///
/// Neither the language nor the engine knows a file format: `relief-io` reads files, and a machine builder may serve
/// pictures from anywhere else. A path is the text of the design; what it is relative to is for the source to say.
///
/// To check a design, sizes are enough: any function `Fn(&str) -> Result<(u64, u64), String>` from paths to columns and
/// rows is a source of pictures without samples, and so is a map of them. They take every table.
pub trait ImageSource: Send + Sync {
    /// The picture of this path, read by this conversion. Looks at its header alone.
    ///
    /// # Errors
    /// Where there is no such picture, it is of a kind or size that cannot be read, or its samples do not become gray
    /// samples by this conversion: a sentence that says why.
    fn open(&self, path: &str, conversion: &Conversion) -> Result<Box<dyn Picture>, ImageError>;

    /// Whether the file of this path, as the design writes it, is a table for samples of this depth: the `material` or
    /// the `machine` of a scan. Every one is, unless this says otherwise.
    ///
    /// # Errors
    /// A sentence that says why the table cannot be used.
    fn table(&self, path: &str, depth: Depth) -> Result<(), String> {
        let _ = (path, depth);
        Ok(())
    }

    /// The bytes of the file of this path, as the design writes it, of at most `limit` bytes: of one that is read whole, such as
    /// rows, a drawing or a font. There is none, unless this says otherwise.
    ///
    /// # Errors
    /// A sentence that says why the file cannot be used.
    fn data(&self, path: &str, limit: u64) -> Result<Vec<u8>, String> {
        let _ = limit;
        Err(format!("{path} cannot be read here"))
    }

    /// The bytes of memory that drawings, meshes and fonts may take while they are read and drawn, all of them together. There is no
    /// limit, unless this says otherwise.
    fn memory(&self) -> u64 {
        u64::MAX
    }

    /// The same bytes from their begin on, of a file that is read through and not held: a layout. They are held, unless this is
    /// done otherwise.
    ///
    /// # Errors
    /// As [`data`](Self::data).
    fn reader(&self, path: &str, limit: u64) -> Result<Box<dyn Read + '_>, String> {
        Ok(Box::new(Cursor::new(self.data(path, limit)?)))
    }
}

/// A picture of which only the size is known.
struct Size(u64, u64);

impl Picture for Size {
    fn size(&self) -> (u64, u64) {
        (self.0, self.1)
    }

    fn read(
        &self,
        _: Rect,
        _: Depth,
        _: &mut dyn FnMut(u64, &[u16]) -> ControlFlow<()>,
    ) -> Result<(), ImageError> {
        Err(ImageError::new("only its size is known"))
    }
}

fn sized(size: Result<(u64, u64), String>) -> Result<Box<dyn Picture>, ImageError> {
    match size {
        Ok((width, height)) => Ok(Box::new(Size(width, height))),
        Err(why) => Err(ImageError::new(why)),
    }
}

impl<F: Fn(&str) -> Result<(u64, u64), String> + Send + Sync> ImageSource for F {
    fn open(&self, path: &str, _: &Conversion) -> Result<Box<dyn Picture>, ImageError> {
        sized(self(path))
    }
}

impl ImageSource for HashMap<String, (u64, u64)> {
    fn open(&self, path: &str, _: &Conversion) -> Result<Box<dyn Picture>, ImageError> {
        let size = self.get(path).copied();
        sized(size.ok_or_else(|| format!("{path} is unknown")))
    }
}

/// The source of designs without pictures: it has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoImages;

impl ImageSource for NoImages {
    fn open(&self, path: &str, _: &Conversion) -> Result<Box<dyn Picture>, ImageError> {
        Err(ImageError::new(format!("{path} is unknown")))
    }
}
