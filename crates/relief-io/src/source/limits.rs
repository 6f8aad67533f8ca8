//! How large a picture may be.

use relief_raster::MAX_SIDE;

use super::failure::Failure;

/// How large a picture may be. A file that claims more is refused before anything is allocated for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The longest side, in pixels; never more than [`MAX_SIDE`].
    pub side: u64,
    /// The most pixels of a picture that is read from its first row on.
    pub pixels: u64,
    /// The most pixels of a picture of which windows are read, which may be larger than memory.
    pub windowed_pixels: u64,
    /// The most bytes of decompressed parts that a picture keeps while windows of it are read; one part, where that is more.
    pub cache: u64,
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
    /// Sides up to 2^31 − 1, 2^32 pixels, 2^48 where windows are read, 64 MiB of their parts, 1 GiB.
    fn default() -> Self {
        Self {
            side: (1 << 31) - 1,
            pixels: 1 << 32,
            windowed_pixels: 1 << 48,
            cache: 64 << 20,
            memory: 1 << 30,
        }
    }
}

impl Limits {
    /// Whether a picture of this size may be read from its first row on, while so many bytes are held.
    pub(super) fn check(&self, width: u64, height: u64, memory: u64) -> Result<(), Failure> {
        self.check_sides(width, height)?;
        self.check_pixels(width, height, self.pixels)?;
        self.check_memory(width, height, memory)
    }

    /// The same of a picture of which windows are read.
    pub(super) fn check_windowed(&self, width: u64, height: u64, memory: u64) -> Result<(), Failure> {
        self.check_sides(width, height)?;
        self.check_pixels(width, height, self.windowed_pixels)?;
        self.check_memory(width, height, memory)
    }

    /// Whether a picture may have sides of this length.
    pub(super) fn check_sides(&self, width: u64, height: u64) -> Result<(), Failure> {
        if width == 0 || height == 0 {
            return Err(Failure::damaged(format!(
                "it says it has {width} × {height} pixels"
            )));
        }
        if width.max(height) > self.side.min(MAX_SIDE) {
            return self.too_many(width, height, self.pixels);
        }
        Ok(())
    }

    fn check_pixels(&self, width: u64, height: u64, most: u64) -> Result<(), Failure> {
        if u128::from(width) * u128::from(height) > u128::from(most) {
            return self.too_many(width, height, most);
        }
        Ok(())
    }

    fn too_many(&self, width: u64, height: u64, most: u64) -> Result<(), Failure> {
        let side = self.side.min(MAX_SIDE);
        Err(Failure::TooLarge(format!(
            "it has {width} × {height} pixels; a picture has at most {side} on a side and {most} in all"
        )))
    }

    /// Whether so many bytes may be held.
    pub(super) fn check_memory(&self, width: u64, height: u64, memory: u64) -> Result<(), Failure> {
        if memory > self.memory {
            return Err(Failure::TooLarge(format!(
                "reading its {width} × {height} pixels would hold {memory} bytes of memory, more than {}; \
                 a PNG without interlacing, a PGM, a BMP or a TIFF in small strips or tiles is read in parts",
                self.memory
            )));
        }
        Ok(())
    }

    /// The bytes of the cache of a picture of which windows are read: no more than a quarter of all that may be held.
    pub(super) fn cache_bytes(&self) -> u64 {
        self.cache.min(self.memory / 4)
    }

    /// The bytes that may be held, for decoders that keep count themselves.
    pub(super) fn memory_bytes(&self) -> usize {
        usize::try_from(self.memory).unwrap_or(usize::MAX)
    }
}
