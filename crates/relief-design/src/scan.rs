//! The settings of a scan: how a machine wants the raster. What lines they make of it is in `relief-scan`.

use std::ops::Range;
use std::sync::Arc;

use relief_raster::Length;
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
    /// How the lines become G-code, where the design says so.
    pub gcode: Option<Gcode>,
    /// What was asked for where the halftone is a [`Screen`], which comes near to it.
    pub asked_screen: Option<AskedScreen>,
}

/// What was asked of a screen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AskedScreen {
    /// Dots a metre.
    pub frequency: f64,
    /// Degrees against the clock.
    pub degrees: f64,
}

/// How lines become G-code for a laser. One millimetre of the workpiece is one of the machine; y points away from the user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gcode {
    /// What the controller runs.
    pub dialect: Dialect,
    /// The feed along the lines: the way in a minute.
    pub feed: Length,
    /// The power word of M: S, at least 1.
    pub s_max: u32,
    /// How the power follows the feed.
    pub laser: Laser,
    /// The point of the canvas that lies at X0 Y0.
    pub origin: Origin,
    /// Which part of a line the head runs over.
    pub sweep: Sweep,
    /// Of [`Sweep::Segments`]: so many pixels without power are crossed without feed; none are where `None`.
    pub gap: Option<u64>,
    /// Bits a second of the serial link.
    pub baud: u32,
    /// Bands of rows with a feed of their own, in ascending order. No two share a row.
    pub zones: Vec<Zone>,
}

impl Gcode {
    /// With this feed, and the defaults of the language.
    #[must_use]
    pub const fn new(feed: Length) -> Self {
        Self {
            dialect: Dialect::Grbl,
            feed,
            s_max: 1_000,
            laser: Laser::Dynamic,
            origin: Origin::BottomLeft,
            sweep: Sweep::Full,
            gap: None,
            baud: 115_200,
            zones: Vec::new(),
        }
    }

    /// The feed along a row of the canvas.
    #[must_use]
    pub fn feed_of(&self, row: u64) -> Length {
        let zone = self.zones.iter().find(|zone| zone.rows.contains(&row));
        zone.map_or(self.feed, |zone| zone.feed)
    }
}

/// What a controller of G-code runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// Grbl 1.1, whose lines have at most 79 characters.
    #[default]
    Grbl,
    /// FluidNC.
    FluidNc,
}

/// How the power of a laser follows the feed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Laser {
    /// In proportion to the speed of the head.
    #[default]
    #[serde(rename = "M4")]
    Dynamic,
    /// Not at all.
    #[serde(rename = "M3")]
    Constant,
}

/// A point of the canvas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The lower left corner.
    #[default]
    BottomLeft,
    /// The lower right corner.
    BottomRight,
    /// The upper left corner.
    TopLeft,
    /// The upper right corner.
    TopRight,
    /// The middle.
    Centre,
}

/// Which part of a line a head runs over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sweep {
    /// All of it.
    #[default]
    Full,
    /// From the first pixel with power to the last.
    Segments,
}

/// A band of rows of the canvas with a feed of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// The rows.
    pub rows: Range<u64>,
    /// The way in a minute.
    pub feed: Length,
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
    /// What lines that run backwards are moved by along their way, in 256ths of a pixel.
    #[serde(skip_serializing_if = "is_zero")]
    pub return_offset: i32,
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
    /// Along which side the lines of a pass lie.
    #[serde(skip_serializing_if = "PassAxes::are_the_same")]
    pub pass_axes: PassAxes,
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

/// Along which side the lines of each pass lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PassAxes {
    /// Along that of the scan.
    #[default]
    Same,
    /// Along that of the scan in passes 0, 2, 4, …, along the other in passes 1, 3, 5, ….
    Alternate,
}

impl PassAxes {
    const fn are_the_same(&self) -> bool {
        matches!(self, Self::Same)
    }
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
    /// Ordered by Bayer's matrix of n × n: M where 2·v·n² > (2·r + 1)·M with r the rank at (⌊i / spot⌋ mod n, ⌊j / spot⌋ mod n).
    Bayer {
        /// n: 2, 4, 8 or 16.
        size: u32,
        /// Pixels of a place of the matrix along both axes, at least 1.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        spot: u32,
    },
    /// Ordered by a blue-noise matrix of n × n made by void and cluster, in the same way.
    BlueNoise {
        /// n: 64 or 256.
        #[serde(default = "sixty_four", skip_serializing_if = "is_sixty_four")]
        size: u32,
        /// Pixels of a place of the matrix along both axes, at least 1.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        spot: u32,
    },
    /// Ordered by dots on a square grid that is turned.
    Screen(Screen),
    /// Error diffusion of Floyd and Steinberg over all of the raster, always along the lines from the first to the
    /// last, whatever the order of travels.
    FloydSteinberg {
        /// Whether every second line is done from its last pixel to its first.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        serpentine: bool,
    },
    /// Error diffusion of Jarvis, Judice and Ninke, in the same way.
    Jarvis {
        /// Whether every second line is done from its last pixel to its first.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        serpentine: bool,
    },
    /// Error diffusion of Stucki, in the same way.
    Stucki {
        /// Whether every second line is done from its last pixel to its first.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        serpentine: bool,
    },
    /// Error diffusion of Atkinson, in the same way.
    Atkinson {
        /// Whether every second line is done from its last pixel to its first.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        serpentine: bool,
    },
}

const fn is_zero(number: &i32) -> bool {
    *number == 0
}

const fn one() -> u32 {
    1
}

const fn is_one(number: &u32) -> bool {
    *number == 1
}

const fn sixty_four() -> u32 {
    64
}

const fn is_sixty_four(number: &u32) -> bool {
    *number == 64
}

impl Halftone {
    /// Bayer's matrix of n × n, a pixel a place.
    #[must_use]
    pub const fn bayer(size: u32) -> Self {
        Self::Bayer { size, spot: 1 }
    }

    /// Blue noise of 64 × 64, a pixel a place.
    pub const BLUE_NOISE: Self = Self::BlueNoise { size: 64, spot: 1 };

    /// Floyd and Steinberg's, every line the same way.
    pub const FLOYD_STEINBERG: Self = Self::FloydSteinberg { serpentine: false };
}

/// Dots on a square grid that is turned: an amplitude-modulated screen.
///
/// The vectors from dot to dot are (a, −b) / n and (b, a) / n pixels, y down, so that the screen repeats by (a, −b) and (b, a) and
/// is exact: `cells` × `cells` dots in a² + b² pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Screen {
    /// a and b, not both 0; a² + b² is at most [`Screen::MAX_AREA`].
    pub vector: (i32, i32),
    /// n, at least 1.
    pub cells: u32,
    /// The shape of the dots.
    pub dot: Dot,
}

/// The shape of the dots of a screen. In the square from −1 to 1 around a dot, s along the first vector and t along the second,
/// pixels are set in ascending order of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dot {
    /// s² + t².
    #[default]
    Round,
    /// 4·s² + 9·t²: half as long again along the first vector.
    Ellipse,
    /// |t|: lines along the first vector.
    Line,
    /// |s| + |t|.
    Diamond,
}

impl Screen {
    /// The most pixels after which a screen repeats.
    pub const MAX_AREA: u64 = 1 << 18;

    /// The fewest pixels after which a screen repeats, so that it shows 256 grays.
    pub const MIN_AREA: u64 = 256;

    /// A relative error of the vectors that is small enough.
    const GOOD: f64 = 1e-3;

    /// The screen that comes near to a frequency in dots a metre, turned by degrees against the clock, on pixels of this side:
    /// the fewest cells whose vectors are right to 10⁻³ of their length, else those that are nearest.
    ///
    /// `None` where the dots are closer than 2 pixels or further apart than a screen can be.
    #[must_use]
    pub fn near(frequency: f64, degrees: f64, dot: Dot, pixel: Length) -> Option<Self> {
        let pitch = 1.0 / (frequency * pixel.to_metres());
        // A pitch of 2 pixels may be a little less in binary.
        if !(pitch.is_finite() && pitch > 1.999_999 && pitch * pitch <= Self::MAX_AREA as f64) {
            return None;
        }
        let turn = libm::fmod(degrees, 360.0) * std::f64::consts::PI / 180.0;
        let wanted = (pitch * libm::cos(turn), pitch * libm::sin(turn));
        let mut best: Option<(f64, Self)> = None;
        let mut cells = 1;
        loop {
            let n = f64::from(cells);
            let (a, b) = (libm::round(n * wanted.0), libm::round(n * wanted.1));
            let area = a * a + b * b;
            if area > Self::MAX_AREA as f64 {
                break;
            }
            let error = libm::hypot(a / n - wanted.0, b / n - wanted.1) / pitch;
            if area >= Self::MIN_AREA as f64 && best.is_none_or(|(least, _)| error < least) {
                // At most 2^9 each.
                let vector = (a as i32, b as i32);
                best = Some((error, Self { vector, cells, dot }));
                if error <= Self::GOOD {
                    break;
                }
            }
            cells += 1;
        }
        best.map(|(_, screen)| screen)
    }

    /// a² + b².
    #[must_use]
    pub const fn area(&self) -> u64 {
        let (a, b) = (
            self.vector.0.unsigned_abs() as u64,
            self.vector.1.unsigned_abs() as u64,
        );
        a * a + b * b
    }

    /// The dots a metre that it has, on pixels of this side.
    #[must_use]
    pub fn frequency(&self, pixel: Length) -> f64 {
        f64::from(self.cells) / (libm::sqrt(self.area() as f64) * pixel.to_metres())
    }

    /// The degrees by which it is turned against the clock, from −180 to 180.
    #[must_use]
    pub fn angle(&self) -> f64 {
        libm::atan2(f64::from(self.vector.1), f64::from(self.vector.0)) * 180.0 / std::f64::consts::PI
    }
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
