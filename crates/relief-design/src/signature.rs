//! The table of node signatures: every word of the design language, what it takes and what it means.
//!
//! The checks, the suggestions in problems, [`reference`](crate::reference) and [`schema`](crate::schema) all read
//! this one table.

use relief_raster::MAX_SIDE;

use crate::tree::Role;

/// The greatest radius of `distance`, in pixels.
pub const MAX_RADIUS: u32 = 4_096;

/// The most points of one profile or curve.
pub const MAX_POINTS: usize = 65_536;

/// The longest path or expression, in bytes.
pub const MAX_STRING: usize = 4_096;

const SIDE: i64 = MAX_SIDE as i64;

/// What a word stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// It describes the document: `relief`, `canvas`, `define`, `scan`.
    Document,
    /// It computes samples.
    Node,
    /// It is a parameter of the node it stands in, and takes no role.
    Parameter,
}

/// One word of the language.
#[derive(Debug)]
pub struct Signature {
    /// The word.
    pub name: &'static str,
    /// What it stands for.
    pub group: Group,
    /// What it computes or says.
    pub meaning: &'static str,
    /// More about it, in Markdown: paragraphs of the reference alone; empty where all is said.
    pub details: &'static str,
    /// Its values, in order.
    pub arguments: &'static [Parameter],
    /// Its values with a name, but for those of [`PLACEMENT`].
    pub properties: &'static [Parameter],
    /// Whether it takes the properties of [`PLACEMENT`].
    pub placed: bool,
    /// Its size where none is given; empty where it has none.
    pub extent: &'static str,
    /// What may stand between its braces.
    pub children: &'static [ChildRule],
    /// A design's lines with it.
    pub example: &'static str,
}

/// One value of a word.
#[derive(Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub value: ValueType,
    /// Whether it must be given.
    pub presence: Presence,
    /// What it means.
    pub meaning: &'static str,
}

/// Whether a value must be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It must.
    Required,
    /// It need not; this is what it then is.
    Optional(&'static str),
}

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// A whole number of pixels: a number, or a text with a unit.
    Length {
        /// The least, in pixels.
        least: i64,
        /// The greatest, in pixels.
        greatest: i64,
    },
    /// A distance in pixels that need not be whole: a number, or a text with a unit.
    Distance,
    /// The side of a pixel: a text with a metric unit.
    PixelSize,
    /// A sample, 0…M.
    Sample,
    /// A whole number of 64 bits.
    Seed,
    /// Any finite number.
    Real,
    /// A finite number above 0.
    PositiveReal,
    /// One of these whole numbers.
    Choice(&'static [i64]),
    /// A whole number of this range.
    Count {
        /// The least.
        least: i64,
        /// The greatest.
        greatest: i64,
    },
    /// One of these words.
    Word(&'static [&'static str]),
    /// A text that is not empty.
    Text,
    /// The path of a file.
    Path,
    /// An expression in this variable.
    Expression(&'static str),
}

impl ValueType {
    /// What it may be, for a sentence.
    #[must_use]
    pub fn describe(self) -> String {
        match self {
            Self::Length { least, greatest } => {
                format!("a length of {} to {} pixels", power(least), power(greatest))
            }
            Self::Distance => "a distance in pixels, or a text with a unit".into(),
            Self::PixelSize => "a length with a unit, between quotes, of 1 pm to 1 m".into(),
            Self::Sample => "a sample, 0 to M".into(),
            Self::Seed => "a whole number, −2^63 to 2^64 − 1".into(),
            Self::Real => "a number".into(),
            Self::PositiveReal => "a number above 0".into(),
            Self::Choice(numbers) => numbers
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" or "),
            Self::Count { least, greatest } => {
                format!("a whole number, {} to {}", power(least), power(greatest))
            }
            Self::Word(words) => words
                .iter()
                .map(|word| format!("\"{word}\""))
                .collect::<Vec<_>>()
                .join(" or "),
            Self::Text => "a text".into(),
            Self::Path => "the path of a file".into(),
            Self::Expression(variable) => format!("an expression in {variable}"),
        }
    }
}

/// A number, as a power of two where it is a great one.
fn power(number: i64) -> String {
    let magnitude = number.unsigned_abs();
    let sign = if number < 0 { "−" } else { "" };
    if magnitude >= 1 << 20 && magnitude.is_power_of_two() {
        format!("{sign}2^{}", magnitude.trailing_zeros())
    } else {
        format!("{sign}{magnitude}")
    }
}

/// What may stand between the braces of a word.
#[derive(Debug)]
pub struct ChildRule {
    /// The role of a node, or the name of a parameter.
    pub child: ChildName,
    /// How often.
    pub count: Count,
}

/// What a child is known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildName {
    /// A node in this role.
    Role(Role),
    /// A node without a role.
    Node,
    /// A parameter of this name.
    Parameter(&'static str),
}

/// How often a child stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Once.
    One,
    /// Once or not at all.
    AtMostOne,
    /// Any number of times.
    Any,
    /// Once or more.
    Some,
    /// Once, or another child with this count in its place.
    OneOf,
}

const fn required(name: &'static str, value: ValueType, meaning: &'static str) -> Parameter {
    Parameter {
        name,
        value,
        presence: Presence::Required,
        meaning,
    }
}

const fn optional(
    name: &'static str,
    value: ValueType,
    default: &'static str,
    meaning: &'static str,
) -> Parameter {
    Parameter {
        name,
        value,
        presence: Presence::Optional(default),
        meaning,
    }
}

const fn role(role: Role, count: Count) -> ChildRule {
    ChildRule {
        child: ChildName::Role(role),
        count,
    }
}

const fn parameter(name: &'static str, count: Count) -> ChildRule {
    ChildRule {
        child: ChildName::Parameter(name),
        count,
    }
}

const OFFSET: ValueType = ValueType::Length {
    least: -(1 << 44),
    greatest: 1 << 44,
};
const SIZE: ValueType = ValueType::Length {
    least: 1,
    greatest: SIDE,
};
const COMPONENT: ValueType = ValueType::Length {
    least: -SIDE,
    greatest: SIDE,
};

/// The most channels of a swath.
const MAX_CHANNELS: i64 = 1 << 16;

/// The most passes.
const MAX_PASSES: i64 = 1 << 16;

const CHANNELS: ValueType = ValueType::Count {
    least: 1,
    greatest: MAX_CHANNELS,
};
const BLANKS: ValueType = ValueType::Length {
    least: 0,
    greatest: 1 << 31,
};

/// Where a node lies in its parent's coordinates, and its size: every node takes these.
pub static PLACEMENT: [Parameter; 4] = [
    optional("x", OFFSET, "0", "the column of the parent at which it begins"),
    optional("y", OFFSET, "0", "the row of the parent at which it begins"),
    optional("width", SIZE, "its default extent", "its columns"),
    optional("height", SIZE, "its default extent", "its rows"),
];

const PARENT: &str = "that of its parent";
const OWN: &str = "its own size; a given width or height crops it or pads it with 0";

const IMAGES: &str = include_str!("images.md");

const BLANK: Signature = Signature {
    name: "",
    group: Group::Node,
    meaning: "",
    details: "",
    arguments: &[],
    properties: &[],
    placed: true,
    extent: PARENT,
    children: &[],
    example: "",
};

const DOCUMENT: Signature = Signature {
    group: Group::Document,
    placed: false,
    extent: "",
    ..BLANK
};
const INNER: Signature = Signature {
    group: Group::Parameter,
    placed: false,
    extent: "",
    ..BLANK
};

/// All words, in the order in which the reference lists them.
pub static SIGNATURES: [Signature; 33] = [
    Signature {
        name: "relief",
        meaning: "Says that the file is a design, and of which version of the language. It stands first.",
        properties: &[required(
            "version",
            ValueType::Choice(&[1]),
            "the version of the language",
        )],
        example: "relief version=1",
        ..DOCUMENT
    },
    Signature {
        name: "canvas",
        meaning: "The raster that the root fills.",
        properties: &[
            required("width", SIZE, "its columns"),
            required("height", SIZE, "its rows"),
            optional(
                "pixel",
                ValueType::PixelSize,
                "none: lengths are in pixels",
                "the side of a pixel",
            ),
            optional(
                "depth",
                ValueType::Choice(&[8, 16]),
                "8",
                "the bits of a sample: M is 255 or 65 535",
            ),
        ],
        example: "canvas width=\"20mm\" height=\"12mm\" pixel=\"10um\" depth=8",
        ..DOCUMENT
    },
    Signature {
        name: "define",
        meaning: "Names a node, which `use` then puts anywhere. It is computed once. A definition without a size \
                  takes that of the parent in which it is used.",
        arguments: &[required("name", ValueType::Text, "the name that `use` refers to")],
        children: &[ChildRule {
            child: ChildName::Node,
            count: Count::One,
        }],
        example: "define \"dot\" { disc diameter=5 value=200 }",
        ..DOCUMENT
    },
    Signature {
        name: "scan",
        meaning: "How a machine wants the raster. The raster is mirrored, then turned clockwise; lines are counted from \
                  the corner `start`. The options of `relief stream` have the same names, and override it.",
        properties: &[
            optional(
                "mirror",
                ValueType::Word(&["none", "horizontal", "vertical"]),
                "\"none\"",
                "mirrors the raster, before it is turned",
            ),
            optional(
                "rotate",
                ValueType::Choice(&[0, 90, 180, 270]),
                "0",
                "turns the raster clockwise, by degrees",
            ),
            optional(
                "axis",
                ValueType::Word(&["row", "column"]),
                "\"row\"",
                "whether a line lies along a row or a column of the turned raster",
            ),
            optional(
                "start",
                ValueType::Word(&["top-left", "top-right", "bottom-left", "bottom-right"]),
                "\"top-left\"",
                "the corner of the turned raster at which the first line starts",
            ),
            optional(
                "direction",
                ValueType::Word(&["unidirectional", "serpentine"]),
                "\"unidirectional\"",
                "whether every second line runs backwards",
            ),
            optional(
                "interleave",
                ValueType::Count {
                    least: 1,
                    greatest: 1 << 31,
                },
                "1",
                "every n-th line first: 0, n, 2n, …, 1, n + 1, …",
            ),
            optional(
                "encoding",
                ValueType::Word(&["packed", "runs"]),
                "\"packed\"",
                "lines as packed samples, or as runs of n samples of one value",
            ),
            optional(
                "bits",
                ValueType::Choice(&[1, 8, 16]),
                "8",
                "the bits of a packed sample: 16 become 8 as (v + 128) / 257, 8 become 16 as v·257, so that 16 bits of \
                 a design of depth 8 have 256 levels. The last byte of a line of 1 bit is filled with blank samples",
            ),
            optional(
                "bit-order",
                ValueType::Word(&["most-first", "least-first"]),
                "\"most-first\"",
                "where the first of eight samples of 1 bit lies: in the bit of value 128, or of value 1",
            ),
            optional(
                "byte-order",
                ValueType::Word(&["little", "big"]),
                "\"little\"",
                "which byte of 16 bits comes first: that of lesser weight, or of greater",
            ),
            optional(
                "polarity",
                ValueType::Word(&["normal", "inverted"]),
                "\"normal\"",
                "whether 0 is blank, or every value v becomes the greatest minus v",
            ),
        ],
        children: &[
            parameter("stripe", Count::AtMostOne),
            parameter("swath", Count::AtMostOne),
            parameter("overscan", Count::AtMostOne),
            parameter("passes", Count::AtMostOne),
            parameter("halftone", Count::AtMostOne),
            parameter("material", Count::AtMostOne),
            parameter("machine", Count::AtMostOne),
        ],
        example: "scan start=\"bottom-left\" direction=\"serpentine\" bits=1 {\n    overscan before=20 after=20\n    halftone \"blue-noise\"\n}",
        ..DOCUMENT
    },
    Signature {
        name: "use",
        meaning: "The node of a definition. Its x and y are added to those of the defined node.",
        arguments: &[required("name", ValueType::Text, "the name of a definition")],
        properties: &[
            optional("x", OFFSET, "0", "moves the defined node to the right"),
            optional("y", OFFSET, "0", "moves the defined node down"),
        ],
        placed: false,
        extent: "that of the defined node",
        example: "(add)use \"dot\" x=10 y=20",
        ..BLANK
    },
    Signature {
        name: "fill",
        meaning: "The same sample everywhere.",
        properties: &[required("value", ValueType::Sample, "the sample")],
        example: "fill value=128",
        ..BLANK
    },
    Signature {
        name: "image",
        meaning: "A picture from a file: PNG, TIFF, JPEG, PGM, PPM or BMP, told apart by its content. Colour becomes gray, \
                  transparent pixels become 0, and the greatest sample of the file becomes M.",
        details: IMAGES,
        arguments: &[required(
            "file",
            ValueType::Path,
            "the path of the file, relative to the design file",
        )],
        properties: &[
            optional(
                "gray",
                ValueType::Word(&[
                    "luma", "average", "red", "green", "blue", "cyan", "magenta", "yellow", "black",
                ]),
                "\"luma\"",
                "which gray the colour becomes",
            ),
            optional(
                "low",
                ValueType::Real,
                "none",
                "the number in the file that becomes 0, of magnitude up to 10^300",
            ),
            optional(
                "high",
                ValueType::Real,
                "none",
                "the number in the file that becomes M; required with low",
            ),
        ],
        extent: OWN,
        example: "image \"logo.png\" x=\"2mm\" y=\"1mm\"",
        ..BLANK
    },
    Signature {
        name: "ramp",
        meaning: "from + round((to − from)·i / (n − 1)), rounded half away from zero, with i along the axis and n the \
                  extent along it; from where n = 1.",
        properties: &[
            required(
                "axis",
                ValueType::Word(&["x", "y"]),
                "the axis along which it changes",
            ),
            required("from", ValueType::Sample, "the first sample"),
            required("to", ValueType::Sample, "the last sample"),
        ],
        example: "ramp axis=\"x\" from=0 to=255",
        ..BLANK
    },
    Signature {
        name: "disc",
        meaning: "The pixels whose centre is within D/2 of the centre of the D×D square: \
                  (2i − D + 1)² + (2j − D + 1)² ≤ D². The others are 0.",
        properties: &[
            required("diameter", SIZE, "D"),
            required("value", ValueType::Sample, "the sample inside"),
        ],
        extent: OWN,
        example: "disc diameter=\"0.2mm\" value=255",
        ..BLANK
    },
    Signature {
        name: "noise",
        meaning: "White noise: the top 8 or 16 bits of the SplitMix64 finaliser of \
                  seed + x·0x9E3779B97F4A7C15 + y·0xC2B2AE3D27D4EB4F, wrapping, in its own coordinates.",
        properties: &[required("seed", ValueType::Seed, "tells one noise from another")],
        example: "noise seed=42",
        ..BLANK
    },
    Signature {
        name: "repeat",
        meaning: "The pattern, repeated along the axes: sample (x, y) is P((x − px) mod step-x, (y − py) mod step-y) \
                  with (px, py) the pattern's offset. A step larger than the pattern leaves zeros; for a smaller one \
                  there is `lattice`.",
        properties: &[
            optional(
                "step-x",
                SIZE,
                "the pattern's width",
                "the columns from one copy to the next",
            ),
            optional(
                "step-y",
                SIZE,
                "the pattern's height",
                "the rows from one copy to the next",
            ),
        ],
        children: &[role(Role::Pattern, Count::One)],
        example: "repeat step-x=120 {\n    (pattern)image \"cell.png\"\n}",
        ..BLANK
    },
    Signature {
        name: "lattice",
        meaning: "Copies of the pattern with their top-left at its offset + i·u + j·v for all integers i and j. A pixel \
                  takes the samples of all copies that cover it, at most 16 384: `mean` of those other than 0, \
                  (2·sum + n) / (2·n), 0 if none; `max`; `min` of those other than 0; `sum`, at most M; `last`, the \
                  sample other than 0 of the copy with the greatest (j, i).",
        properties: &[optional(
            "blend",
            ValueType::Word(&["mean", "max", "min", "sum", "last"]),
            "\"mean\"",
            "how copies that overlap are folded",
        )],
        children: &[
            parameter("u", Count::One),
            parameter("v", Count::One),
            role(Role::Pattern, Count::One),
        ],
        example: "lattice blend=\"mean\" {\n    u 90 20\n    v -15 85\n    (pattern)image \"cell.png\"\n}",
        ..BLANK
    },
    Signature {
        name: "distance",
        meaning: "A function of the distance d to the nearest white pixel (other than 0) of the mask. Pixels outside \
                  the mask's extent are black; its white pixels outside this node's extent count.",
        properties: &[required(
            "radius",
            ValueType::Length {
                least: 0,
                greatest: MAX_RADIUS as i64,
            },
            "R: greater distances are not told apart",
        )],
        children: &[role(Role::Mask, Count::One), parameter("profile", Count::One)],
        example: "distance radius=40 {\n    (mask)image \"logo.png\"\n    profile \"255 * (1 - (d / 40) ^ 2)\" beyond=0\n}",
        ..BLANK
    },
    Signature {
        name: "map",
        meaning: "The source through a table of M + 1 samples.",
        children: &[
            role(Role::Source, Count::One),
            parameter("gamma", Count::OneOf),
            parameter("invert", Count::OneOf),
            parameter("levels", Count::OneOf),
            parameter("curve", Count::OneOf),
            parameter("expression", Count::OneOf),
        ],
        example: "map {\n    (source)image \"photo.png\"\n    gamma 2.2\n}",
        ..BLANK
    },
    Signature {
        name: "threshold",
        meaning: "M where the source is at least the level, else 0.",
        properties: &[required("level", ValueType::Sample, "the level")],
        children: &[role(Role::Source, Count::One)],
        example: "threshold level=128 {\n    (source)image \"photo.png\"\n}",
        ..BLANK
    },
    Signature {
        name: "compose",
        meaning: "Folds its children in the order written, starting from acc = 0. By the role of a child with sample \
                  v: `base` is v; `add` acc + v, at most M; `subtract` acc − v, at least 0; `multiply` \
                  (acc·v + ⌊M/2⌋) / M; `mean` (acc + v + 1) / 2; `max` and `min`; `over` v where it is not 0, else \
                  acc; `mask` acc where v is not 0, else 0. A child is 0 outside its own extent and takes part there \
                  like anywhere.",
        children: &[
            role(Role::Base, Count::Any),
            role(Role::Add, Count::Any),
            role(Role::Subtract, Count::Any),
            role(Role::Multiply, Count::Any),
            role(Role::Mean, Count::Any),
            role(Role::Max, Count::Any),
            role(Role::Min, Count::Any),
            role(Role::Over, Count::Any),
            role(Role::Mask, Count::Any),
        ],
        example: "compose {\n    (base)fill value=200\n    (subtract)disc diameter=50 value=100\n}",
        ..BLANK
    },
    Signature {
        name: "u",
        meaning: "The first vector of a lattice.",
        arguments: &[
            required("x", COMPONENT, "its horizontal component"),
            required("y", COMPONENT, "its vertical component"),
        ],
        example: "u 90 20",
        ..INNER
    },
    Signature {
        name: "v",
        meaning: "The second vector of a lattice, not parallel to the first.",
        arguments: &[
            required("x", COMPONENT, "its horizontal component"),
            required("y", COMPONENT, "its vertical component"),
        ],
        example: "v \"-0.15mm\" \"0.85mm\"",
        ..INNER
    },
    Signature {
        name: "profile",
        meaning: "z = f(d), rounded half away from zero and clamped to 0…M: an expression, or points between which it \
                  is linear, constant before the first and after the last.",
        arguments: &[optional(
            "f",
            ValueType::Expression("d"),
            "the points",
            "f, with d in pixels",
        )],
        properties: &[optional(
            "beyond",
            ValueType::Sample,
            "f(R)",
            "the sample where no white pixel is within R",
        )],
        children: &[parameter("point", Count::Any)],
        example: "profile {\n    point 0 255\n    point 12.5 100\n    point 40 0\n}",
        ..INNER
    },
    Signature {
        name: "curve",
        meaning: "A curve of the sample v: linear between its points, constant before the first and after the last, \
                  rounded half away from zero and clamped to 0…M.",
        children: &[parameter("point", Count::Some)],
        example: "curve {\n    point 0 20\n    point 128 200\n    point 255 255\n}",
        ..INNER
    },
    Signature {
        name: "point",
        meaning: "A point of a profile (d, z) or of a curve (v, z). Points stand in ascending order.",
        arguments: &[
            required("at", ValueType::Distance, "d in pixels or with a unit, or v"),
            required("z", ValueType::Real, "the value there"),
        ],
        example: "point 12.5 100",
        ..INNER
    },
    Signature {
        name: "gamma",
        meaning: "z = M·(v / M)^G, rounded half away from zero.",
        arguments: &[required("G", ValueType::PositiveReal, "the exponent")],
        example: "gamma 2.2",
        ..INNER
    },
    Signature {
        name: "invert",
        meaning: "z = M − v.",
        example: "invert",
        ..INNER
    },
    Signature {
        name: "levels",
        meaning: "Linear from (in-low, out-low) to (in-high, out-high), constant outside, rounded half away from zero. \
                  in-low is less than in-high; out-low may be greater than out-high.",
        arguments: &[
            required(
                "in-low",
                ValueType::Sample,
                "this sample and all below it become out-low",
            ),
            required(
                "in-high",
                ValueType::Sample,
                "this sample and all above it become out-high",
            ),
            required("out-low", ValueType::Sample, "what in-low becomes"),
            required("out-high", ValueType::Sample, "what in-high becomes"),
        ],
        example: "levels 20 235 0 255",
        ..INNER
    },
    Signature {
        name: "expression",
        meaning: "z = f(v) with v in 0…M, rounded half away from zero and clamped to 0…M.",
        arguments: &[required("f", ValueType::Expression("v"), "f")],
        example: "expression \"255 * sin(v / 255 * pi / 2)\"",
        ..INNER
    },
    Signature {
        name: "stripe",
        meaning: "Covers the lines in parts: all lines of one stripe come before those of the next. The last one, or the \
                  only one, is filled with blank positions.",
        properties: &[
            required("width", SIZE, "pixels along a line"),
            optional(
                "overlap",
                ValueType::Length {
                    least: 0,
                    greatest: SIDE,
                },
                "0",
                "pixels that a stripe shares with the next, fewer than its width",
            ),
        ],
        example: "stripe width=4096 overlap=64",
        ..INNER
    },
    Signature {
        name: "swath",
        meaning: "Takes several lines in one travel, for heads with several channels: position by position, at each \
                  channel by channel. Channels beyond the last line are blank.",
        properties: &[
            required("lines", CHANNELS, "the channels"),
            optional(
                "overlap",
                ValueType::Count {
                    least: 0,
                    greatest: MAX_CHANNELS,
                },
                "0",
                "lines that a swath shares with the next, fewer than its lines",
            ),
        ],
        example: "swath lines=8 overlap=2",
        ..INNER
    },
    Signature {
        name: "overscan",
        meaning: "Blank positions before and after the pixels of a line, as it runs.",
        properties: &[
            optional("before", BLANKS, "0", "the positions before"),
            optional("after", BLANKS, "0", "the positions after"),
        ],
        example: "overscan before=\"0.2mm\" after=\"0.2mm\"",
        ..INNER
    },
    Signature {
        name: "passes",
        meaning: "Runs over the raster N times: all lines of a pass come before those of the next. A pass turns a sample v \
                  into M where it fires, else into 0. `even`: pass i, counted from 0, fires where v > i·M / N; `curve`: \
                  where v > M·(i / N)^exponent; `listed`: where v is at least the level of its `slice`. `share`: pass i \
                  gives ⌊(i + 1)·v / N⌋ − ⌊i·v / N⌋, which sum up to v; lines of 1 bit then need a `halftone`.",
        arguments: &[required(
            "kind",
            ValueType::Word(&["one", "even", "listed", "curve", "share"]),
            "what a pass makes of a sample",
        )],
        properties: &[
            optional(
                "count",
                ValueType::Count {
                    least: 1,
                    greatest: MAX_PASSES,
                },
                "none: `even`, `curve` and `share` need it",
                "N",
            ),
            optional(
                "exponent",
                ValueType::PositiveReal,
                "none: `curve` needs it",
                "the exponent of a curve",
            ),
        ],
        children: &[parameter("slice", Count::Any)],
        example: "passes \"curve\" count=12 exponent=1.5",
        ..INNER
    },
    Signature {
        name: "slice",
        meaning: "A pass of `listed` passes.",
        arguments: &[required(
            "level",
            ValueType::Sample,
            "it fires where the sample is at least this",
        )],
        example: "slice 128",
        ..INNER
    },
    Signature {
        name: "halftone",
        meaning: "Grays to 0 or M. `threshold`: M where v is at least the level; `bayer`, by Bayer's matrix of n × n, and \
                  `blue-noise`, by one of 64 × 64 made by void and cluster: M where 2·v·n² > (2·r + 1)·M with r the rank at \
                  (i mod n, j mod n); `floyd-steinberg`: error diffusion, along the lines from the first to the last, each from \
                  its first pixel: M where 2·w > M with w = v + ⌊(a + 8) / 16⌋, where a sums what a pixel was given. Of \
                  the error w − output, 7 go to the next pixel and 3, 5 and 1 to those before, at and after it on the \
                  next line; what leaves the raster is lost. Lines of 1 bit without a halftone have a threshold of \
                  ⌊M / 2⌋ + 1. The halftone comes last, after the tables and the passes: dots are 0 or M whatever \
                  the `machine` table says.",
        arguments: &[required(
            "kind",
            ValueType::Word(&["threshold", "bayer", "blue-noise", "floyd-steinberg"]),
            "how",
        )],
        properties: &[
            optional(
                "level",
                ValueType::Sample,
                "none: `threshold` needs it",
                "the level of a threshold",
            ),
            optional(
                "size",
                ValueType::Choice(&[2, 4, 8, 16]),
                "none: `bayer` needs it",
                "n of Bayer's matrix",
            ),
        ],
        example: "halftone \"bayer\" size=8",
        ..INNER
    },
    Signature {
        name: "material",
        meaning: "The table that samples go through first: what the material needs. A JSON file with a name and points \
                  or entries: {\"name\": \"steel\", \"points\": [[0, 0], [255, 200]]}.",
        arguments: &[required(
            "file",
            ValueType::Path,
            "the path of the file, relative to the design file",
        )],
        example: "material \"steel.json\"",
        ..INNER
    },
    Signature {
        name: "machine",
        meaning: "The table that samples go through after the passes and before the halftone, from gray to power. A JSON file \
                  like that of `material`.",
        arguments: &[required(
            "file",
            ValueType::Path,
            "the path of the file, relative to the design file",
        )],
        example: "machine \"laser.json\"",
        ..INNER
    },
];

impl Signature {
    /// The signature of this word.
    #[must_use]
    pub fn of(name: &str) -> Option<&'static Self> {
        SIGNATURES.iter().find(|signature| signature.name == name)
    }

    /// All its properties, with those of [`PLACEMENT`].
    pub fn all_properties(&self) -> impl Iterator<Item = &'static Parameter> {
        self.properties
            .iter()
            .chain(if self.placed { PLACEMENT.iter() } else { [].iter() })
    }

    /// The roles that its children may take.
    pub fn roles(&self) -> impl Iterator<Item = Role> {
        self.children.iter().filter_map(|rule| match rule.child {
            ChildName::Role(role) => Some(role),
            _ => None,
        })
    }

    /// The parameters that may stand between its braces.
    pub fn parameters(&self) -> impl Iterator<Item = &'static str> {
        self.children.iter().filter_map(|rule| match rule.child {
            ChildName::Parameter(name) => Some(name),
            _ => None,
        })
    }
}
