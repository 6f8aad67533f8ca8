//! How large a picture may be.

use relief_raster::MAX_SIDE;

use super::failure::Failure;

/// How large a picture may be. A file that claims more is refused before anything is allocated for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The longest side, in pixels; never more than [`MAX_SIDE`].
    pub side: u64,
    /// The most pixels.
    pub pixels: u64,
    /// The most bytes that reading may hold at once, beyond what its caller keeps.
    pub memory: u64,
}

impl Limits {
    /// Changed in place.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl Default for Limits {
    /// Sides up to 2^31 − 1, 2^32 pixels, 1 GiB.
    fn default() -> Self {
        Self {
            side: (1 << 31) - 1,
            pixels: 1 << 32,
            memory: 1 << 30,
        }
    }
}

impl Limits {
    /// Whether a picture of this size may be read while so many bytes are held.
    pub(super) fn check(&self, width: u64, height: u64, memory: u64) -> Result<(), Failure> {
        if width == 0 || height == 0 {
            return Err(Failure::damaged(format!(
                "it says it has {width} × {height} pixels"
            )));
        }
        let pixels = u128::from(width) * u128::from(height);
        if width.max(height) > self.side.min(MAX_SIDE) || pixels > u128::from(self.pixels) {
            let (side, pixels) = (self.side.min(MAX_SIDE), self.pixels);
            return Err(Failure::TooLarge(format!(
                "it has {width} × {height} pixels; a picture has at most {side} on a side and {pixels} in all"
            )));
        }
        if memory > self.memory {
            return Err(Failure::TooLarge(format!(
                "reading its {width} × {height} pixels would hold {memory} bytes of memory, more than {}; \
                 a PNG without interlacing, a PGM, a BMP or a TIFF in small strips is read row by row",
                self.memory
            )));
        }
        Ok(())
    }

    /// The bytes that may be held, for decoders that keep count themselves.
    pub(super) fn memory_bytes(&self) -> usize {
        usize::try_from(self.memory).unwrap_or(usize::MAX)
    }
}
