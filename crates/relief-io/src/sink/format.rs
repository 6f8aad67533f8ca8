//! The formats of a raster on its way out, by name.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use relief_engine::sink::Raster;

use super::SinkError;

/// How samples are laid out in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// The samples alone, row by row, 16 bits little-endian.
    Raw,
    /// Portable graymap (P5), 16 bits big-endian.
    Pgm,
    /// PNG, gray, sides up to 2^31 − 1.
    Png,
    /// TIFF, uncompressed gray in strips, sides up to 2^32 − 1; BigTIFF where it would exceed 4 GiB.
    Tiff,
    /// BMP, gray of 8 bits or 1 bit, from the bottom up; a file of at most 4 GiB.
    Bmp,
    /// STL, a closed solid; at most 2^32 − 1 triangles.
    Stl,
    /// DZI, Deep Zoom: a file and a folder of tiles, by [`DziSink`](crate::DziSink) alone; sides up to 2^24.
    Dzi,
    /// Zarr version 3: a folder of chunks, by [`ZarrSink`](crate::ZarrSink) alone.
    Zarr,
    /// G-code: lines of a machine, which no sink of rasters writes; [`ByteFile`](crate::ByteFile) takes its text.
    Gcode,
    /// Nothing: the raster is checked and thrown away.
    Null,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 10] = [
        Self::Raw,
        Self::Pgm,
        Self::Png,
        Self::Tiff,
        Self::Bmp,
        Self::Stl,
        Self::Dzi,
        Self::Zarr,
        Self::Gcode,
        Self::Null,
    ];

    /// The name: `raw`, `pgm`, `png`, `tiff`, `bmp`, `stl`, `dzi`, `zarr`, `gcode` or `null`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Pgm => "pgm",
            Self::Png => "png",
            Self::Tiff => "tiff",
            Self::Bmp => "bmp",
            Self::Stl => "stl",
            Self::Dzi => "dzi",
            Self::Zarr => "zarr",
            Self::Gcode => "gcode",
            Self::Null => "null",
        }
    }

    /// The longest side of a raster that the format can hold; `None` where it sets no limit.
    #[must_use]
    pub const fn max_side(self) -> Option<u64> {
        match self {
            Self::Png | Self::Bmp => Some((1 << 31) - 1),
            Self::Dzi => Some(1 << 24),
            Self::Tiff | Self::Stl => Some((1 << 32) - 1),
            Self::Raw | Self::Pgm | Self::Zarr | Self::Gcode | Self::Null => None,
        }
    }

    /// Whether the format can hold a raster.
    ///
    /// # Errors
    /// [`SinkError::TooLarge`], with the formats that can.
    pub fn check(self, raster: &Raster) -> Result<(), SinkError> {
        let Raster { width, height, .. } = *raster;
        match self.max_side() {
            Some(limit) if width.max(height) > limit => Err(SinkError::TooLarge {
                format: self,
                limit,
                width,
                height,
                others: holding(raster, &[Self::Tiff, Self::Zarr, Self::Pgm, Self::Raw]),
            }),
            _ => Ok(()),
        }
    }

    /// The format that the extension of this path stands for: `raw`, `bin`, `pgm`, `png`, `tif`, `tiff`, `btf`,
    /// `bmp`, `stl`, `dzi`, `zarr`, `gcode`, `nc`, `gc`, in any case.
    #[must_use]
    pub fn from_extension(path: &Path) -> Option<Self> {
        let extension = path.extension().and_then(OsStr::to_str)?.to_ascii_lowercase();
        match extension.as_str() {
            "raw" | "bin" => Some(Self::Raw),
            "pgm" => Some(Self::Pgm),
            "png" => Some(Self::Png),
            "tif" | "tiff" | "btf" => Some(Self::Tiff),
            "bmp" => Some(Self::Bmp),
            "stl" => Some(Self::Stl),
            "dzi" => Some(Self::Dzi),
            "zarr" => Some(Self::Zarr),
            "gcode" | "nc" | "gc" => Some(Self::Gcode),
            _ => None,
        }
    }
}

/// Those of some formats that hold a raster with such sides.
pub(super) fn holding(raster: &Raster, formats: &[Format]) -> Vec<Format> {
    let side = raster.width.max(raster.height);
    let holds = |format: &Format| format.max_side().is_none_or(|limit| side <= limit);
    formats.iter().copied().filter(holds).collect()
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that names no format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no format; there are raw, pgm, png, tiff, bmp, stl, dzi, zarr, gcode and null")]
pub struct UnknownFormat(pub String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| UnknownFormat(text.to_owned()))
    }
}
