//! The settings of a scan: how a machine wants the raster. What lines they make of it is in `relief-scan`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The `scan` of a design.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScanNode {
    /// The settings.
    pub scan: Scan,
    /// The file of the material table, relative to the design file.
    pub material: Option<Arc<str>>,
    /// The file of the machine table, relative to the design file.
    pub machine: Option<Arc<str>>,
}

/// How a machine wants the raster. The default is the raster as it is: rows from the top left, one way, one pass, 8
/// bits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scan {
    /// Mirrors the raster, before it is turned.
    pub mirror: Mirror,
    /// Turns the raster clockwise.
    pub rotate: Quarters,
    /// Whether a line lies along a row or along a column of the turned raster.
    pub axis: Axis,
    /// The corner of the turned raster at which the first line starts.
    pub start: Corner,
    /// Whether every second travel runs backwards.
    pub direction: Direction,
    /// Every n-th travel first: 0, n, 2n, …, 1, n + 1, …; 1 is the plain order.
    pub interleave: Interleave,
    /// Parts of all lines, one after the other; all of a line at once where `None`.
    pub stripe: Option<Stripe>,
    /// Several lines in one travel; one line where `None`.
    pub swath: Option<Swath>,
    /// Blank positions before and after the pixels of a travel, as it runs.
    pub overscan: (u32, u32),
    /// The passes over the whole raster.
    pub passes: Passes,
    /// How grays become 0 or M.
    pub halftone: Option<Halftone>,
    /// How samples lie in the bytes of a line.
    pub packing: Packing,
    /// Whether a line is a list of runs, "n pixels of value v", rather than packed samples.
    pub run_length: bool,
}

/// The step of interleaving, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Interleave(pub u32);

impl Default for Interleave {
    fn default() -> Self {
        Self(1)
    }
}

/// A mirror.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mirror {
    /// As it is.
    #[default]
    None,
    /// Left and right change places.
    Horizontal,
    /// Top and bottom change places.
    Vertical,
}

/// A turn clockwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Quarters {
    /// As it is.
    #[default]
    #[serde(rename = "0")]
    None,
    /// The left column becomes the top row.
    #[serde(rename = "90")]
    One,
    /// Upside down.
    #[serde(rename = "180")]
    Two,
    /// The right column becomes the top row.
    #[serde(rename = "270")]
    Three,
}

/// Along which side a line lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// A line is a row.
    #[default]
    Row,
    /// A line is a column.
    Column,
}

/// A corner of the raster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Corner {
    /// Column 0, row 0.
    #[default]
    TopLeft,
    /// The last column of row 0.
    TopRight,
    /// Column 0 of the last row.
    BottomLeft,
    /// The last column of the last row.
    BottomRight,
}

/// Which way the head runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Every travel the same way.
    #[default]
    Unidirectional,
    /// Every second travel of a stripe, in the order they are run, backwards; each stripe begins forwards.
    Serpentine,
}

/// A part of all lines: the travels of one stripe come before those of the next. The last one is filled with blank
/// positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stripe {
    /// Pixels along the line.
    pub width: u64,
    /// Pixels that a stripe shares with the next one; less than `width`.
    #[serde(default)]
    pub overlap: u64,
}

/// Several lines in one travel, for heads with several channels. The samples of a travel come position by position,
/// at each position channel by channel; channels beyond the last line are blank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Swath {
    /// Lines, one for each channel.
    pub lines: u32,
    /// Lines that a swath shares with the next one; fewer than `lines`.
    #[serde(default)]
    pub overlap: u32,
}

/// What is made of a gray in each pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum Passes {
    /// One pass with the grays as they are.
    #[default]
    One,
    /// N slices of a height map at even heights: pass i gives M where the sample is above i·M / N, else 0. A sample v
    /// fires in ⌈v·N / M⌉ passes.
    Even {
        /// N, at least 1.
        count: u32,
    },
    /// A slice for each threshold: M where the sample is at least as great, else 0.
    Listed {
        /// The thresholds, in the order of the passes.
        thresholds: Vec<u16>,
    },
    /// N slices along a curve: pass i gives M where the sample is above (i / N)^exponent · M, else 0.
    Curve {
        /// N, at least 1.
        count: u32,
        /// The exponent, above 0.
        exponent: f64,
    },
    /// The gray shared out over N passes: pass i gives ⌊(i + 1)·v / N⌋ − ⌊i·v / N⌋; all passes sum up to v.
    Share {
        /// N, at least 1.
        count: u32,
    },
}

/// How grays become 0 or M. M is 255 or 65 535.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum Halftone {
    /// M where the sample is at least `level`.
    Threshold {
        /// The level.
        level: u16,
    },
    /// Ordered by Bayer's matrix of n × n: M where 2·v·n² > (2·r + 1)·M with r the rank at (i mod n, j mod n).
    Bayer {
        /// n: 2, 4, 8 or 16.
        size: u32,
    },
    /// Ordered by a blue-noise matrix of 64 × 64 made by void and cluster, in the same way.
    BlueNoise,
    /// Error diffusion of Floyd and Steinberg over all of the raster, always along the lines from the first to the
    /// last, whatever the order of travels.
    FloydSteinberg,
}

/// How samples lie in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Packing {
    /// 1, 8 or 16 bits of a sample. 16 become 8 as (v + 128) / 257, 8 become 16 as v·257.
    pub bits: Bits,
    /// Where the first of eight samples of 1 bit lies in its byte.
    pub bit_order: BitOrder,
    /// Which byte of a sample of 16 bits comes first.
    pub byte_order: ByteOrder,
    /// Whether 0 or the greatest value means blank.
    pub polarity: Polarity,
}

/// Bits of a packed sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Bits {
    /// On or off.
    #[serde(rename = "1")]
    One,
    /// A byte.
    #[default]
    #[serde(rename = "8")]
    Eight,
    /// Two bytes.
    #[serde(rename = "16")]
    Sixteen,
}

/// Where the first sample of eight lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BitOrder {
    /// In the bit of value 128.
    #[default]
    MostFirst,
    /// In the bit of value 1.
    LeastFirst,
}

/// Which byte comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ByteOrder {
    /// The one of lesser weight.
    #[default]
    Little,
    /// The one of greater weight.
    Big,
}

/// What blank is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Polarity {
    /// 0 is blank.
    #[default]
    Normal,
    /// Every value v becomes the greatest minus v, blank ones too.
    Inverted,
}
