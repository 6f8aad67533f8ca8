//! The words between the braces of a node or of a `scan` that take no role.

use relief_raster::MAX_SIDE;

use crate::kinds;

use super::{Count, DefaultValue, Parameter, SIZE, Signature, ValueType, optional, parameter, required};

/// What says of a halftone that is local which one it is.
pub(crate) const LOCAL_HALFTONE: [Parameter; 6] = [
    optional(
        "level",
        ValueType::Sample,
        DefaultValue::Absent("none: `threshold` needs it"),
        "the level of a threshold",
    ),
    optional(
        "size",
        ValueType::Choice(&[2, 4, 8, 16, 64, 256]),
        DefaultValue::Absent("64 for `blue-noise`; `bayer` needs it"),
        "n of the matrix: 2, 4, 8 or 16 of Bayer's, 64 or 256 of blue noise",
    ),
    optional(
        "spot",
        ValueType::Length {
            least: 1,
            greatest: 1 << 16,
        },
        DefaultValue::Absent("1"),
        "the side of a place of the matrix in pixels, for a beam that is wider than a pixel: `bayer` and `blue-noise`",
    ),
    optional(
        "frequency",
        ValueType::Frequency,
        DefaultValue::Absent("none: `screen` needs it"),
        "dots along an inch, a centimetre or a millimetre; the canvas needs `pixel`",
    ),
    optional(
        "angle",
        ValueType::Real,
        DefaultValue::Absent("45"),
        "degrees by which the rows of dots of a screen are turned against the clock",
    ),
    optional(
        "dot",
        ValueType::Word(&["round", "ellipse", "line", "diamond"]),
        DefaultValue::Absent("\"round\""),
        "the shape of the dots of a screen",
    ),
];

/// What says of any halftone which one it is.
const HALFTONE: [Parameter; 7] = {
    let [level, size, spot, frequency, angle, dot] = LOCAL_HALFTONE;
    let direction = optional(
        "direction",
        ValueType::Word(&["unidirectional", "serpentine"]),
        DefaultValue::Absent("\"unidirectional\""),
        "whether error diffusion runs back on every second line",
    );
    [level, size, spot, frequency, angle, dot, direction]
};

const COMPONENT: ValueType = ValueType::Step {
    least: -SIDE,
    greatest: SIDE,
};

const SIDE: i64 = MAX_SIDE as i64;

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

const ROW: ValueType = ValueType::Length {
    least: 0,
    greatest: SIDE,
};

/// A point of a curve: its place is a sample. The reference shows it with that of a profile.
pub(crate) static CURVE_POINT: Signature = Signature {
    name: "point",
    meaning: "A point of a curve (v, z).",
    arguments: &[
        required("at", ValueType::Level, "v"),
        required("z", ValueType::Height, "the value there"),
    ],
    example: "point 128 200",
    ..Signature::PARAMETER
};

/// Parameters, in the order in which the reference lists them.
pub(super) static PARAMETERS: [Signature; 25] = [
    Signature {
        name: "u",
        meaning: "The first vector of a lattice.",
        arguments: &[
            required("x", COMPONENT, "its horizontal component"),
            required("y", COMPONENT, "its vertical component"),
        ],
        example: "u 90 20",
        ..Signature::PARAMETER
    },
    Signature {
        name: "v",
        meaning: "The second vector of a lattice, not parallel to the first.",
        arguments: &[
            required("x", COMPONENT, "its horizontal component"),
            required("y", COMPONENT, "its vertical component"),
        ],
        example: "v \"-0.15mm\" \"0.85mm\"",
        ..Signature::PARAMETER
    },
    Signature {
        name: "vertex",
        meaning: "A place of a polygon or of a line, from the top-left of its node. It is not rounded to whole pixels.",
        arguments: &[
            required("x", ValueType::Coordinate, "to the right"),
            required("y", ValueType::Coordinate, "down"),
        ],
        example: "vertex \"1.25mm\" 40.5",
        ..Signature::PARAMETER
    },
    Signature {
        name: "font",
        meaning: "One more font by which texts of an `svg` are laid out: each text takes the one whose family, weight and style it names.",
        arguments: &[required(
            "file",
            ValueType::Path,
            "the path of an OpenType or TrueType file, relative to the design file",
        )],
        example: "font \"plate-bold.ttf\"",
        ..Signature::PARAMETER
    },
    Signature {
        name: "stop",
        meaning: "A place of a gradient and its sample. Stops stand in ascending order; of two at one place the later one counts from there on.",
        properties: &[
            required(
                "at",
                ValueType::Part,
                "0 where the gradient begins, 1 where it ends",
            ),
            required("value", ValueType::SampleOrPart, "the sample there"),
        ],
        example: "stop at=0.4 value=200",
        ..Signature::PARAMETER
    },
    Signature {
        name: "profile",
        meaning: "z = f(d), rounded half away from zero and clamped to 0…M: an expression, or points between which it \
                  is linear, constant before the first and after the last.",
        arguments: &[optional(
            "f",
            ValueType::Expression("d"),
            DefaultValue::Absent("the points"),
            "f, with d in pixels",
        )],
        properties: &[optional(
            "beyond",
            ValueType::Sample,
            DefaultValue::Absent("f(R)"),
            "the sample where no white pixel is within R",
        )],
        children: &[parameter("point", Count::Any)],
        example: "profile {\n    point 0 255\n    point 12.5 100\n    point 40 0\n}",
        ..Signature::PARAMETER
    },
    Signature {
        name: "curve",
        meaning: "A curve of the sample v: linear between its points, constant before the first and after the last, \
                  rounded half away from zero and clamped to 0…M.",
        children: &[parameter("point", Count::Some)],
        example: "curve {\n    point 0 20\n    point 128 200\n    point 255 255\n}",
        ..Signature::PARAMETER
    },
    Signature {
        name: "point",
        meaning: "A point of a profile (d, z) or of a curve (v, z). Points stand in ascending order.",
        arguments: &[
            required(
                "at",
                ValueType::Distance,
                "d in pixels or with a unit; in a curve v, a number or a height",
            ),
            required("z", ValueType::Height, "the value there"),
        ],
        example: "point 12.5 100",
        ..Signature::PARAMETER
    },
    Signature {
        name: "gamma",
        meaning: "z = M·(v / M)^G, rounded half away from zero.",
        arguments: &[required("G", ValueType::PositiveReal, "the exponent")],
        example: "gamma 2.2",
        ..Signature::PARAMETER
    },
    Signature {
        name: "invert",
        meaning: "z = M − v.",
        example: "invert",
        ..Signature::PARAMETER
    },
    Signature {
        name: "brightness",
        meaning: "z = v + M·B / 100.",
        arguments: &[required(
            "B",
            ValueType::Real,
            "hundredths of M; below 0 it darkens",
        )],
        example: "brightness 10",
        ..Signature::PARAMETER
    },
    Signature {
        name: "contrast",
        meaning: "z = M / 2 + (v − M / 2)·(1 + C / 100).",
        arguments: &[required(
            "C",
            ValueType::Real,
            "hundredths; −100 leaves gray alone",
        )],
        example: "contrast 25",
        ..Signature::PARAMETER
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
        ..Signature::PARAMETER
    },
    Signature {
        name: "expression",
        meaning: "z = f(v) with v in 0…M, rounded half away from zero and clamped to 0…M.",
        arguments: &[required("f", ValueType::Expression("v"), "f")],
        example: "expression \"255 * sin(v / 255 * pi / 2)\"",
        ..Signature::PARAMETER
    },
    Signature {
        name: "let",
        meaning: "A name for the value of an expression, in all expressions of its `formula` that follow. However often \
                  the name stands, it is computed once: constants before the first pixel, what depends on the column or the row \
                  alone once for each of them in a tile, the rest once for a pixel.",
        arguments: &[
            required(
                "name",
                ValueType::Text,
                "letters, digits and _, not beginning with a digit; no name that a formula has already",
            ),
            required("f", ValueType::Expression(kinds::NAMES), "what it stands for"),
        ],
        example: "let \"u\" \"r / 40\"",
        ..Signature::PARAMETER
    },
    Signature {
        name: "stripe",
        meaning: "Cuts the raster into stripes across its lines: all lines of the first stripe come first, then all lines of the \
                  second, and so on. Every line is as long as a stripe is wide. Where the last stripe reaches beyond the raster, \
                  blank positions stand in place of pixels.",
        properties: &[
            required("width", SIZE, "pixels along a line"),
            optional(
                "overlap",
                ValueType::Length {
                    least: 0,
                    greatest: SIDE,
                },
                DefaultValue::Number(0),
                "pixels that a stripe shares with the next, fewer than its width",
            ),
        ],
        example: "stripe width=4096 overlap=64",
        ..Signature::PARAMETER
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
                DefaultValue::Number(0),
                "lines that a swath shares with the next, fewer than its lines",
            ),
        ],
        example: "swath lines=8 overlap=2",
        ..Signature::PARAMETER
    },
    Signature {
        name: "overscan",
        meaning: "Blank positions before and after the pixels of a line, as it runs.",
        properties: &[
            optional("before", BLANKS, DefaultValue::Number(0), "the positions before"),
            optional("after", BLANKS, DefaultValue::Number(0), "the positions after"),
        ],
        example: "overscan before=\"0.2mm\" after=\"0.2mm\"",
        ..Signature::PARAMETER
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
                DefaultValue::Absent("none: `curve` and `share` need it, and `even` without `step`"),
                "N",
            ),
            optional(
                "step",
                ValueType::Amplitude,
                DefaultValue::Absent("none: `count` says how many"),
                "the height that an `even` pass takes at most: N = ⌈amplitude / step⌉",
            ),
            optional(
                "exponent",
                ValueType::PositiveReal,
                DefaultValue::Absent("none: `curve` needs it"),
                "the exponent of a curve",
            ),
            optional(
                "axes",
                ValueType::Word(&["same", "alternate"]),
                DefaultValue::Word("same"),
                "whether the lines of passes 1, 3, 5, … lie along the other axis than those of passes 0, 2, 4, …: crossed lines \
                 leave no grooves. Without a `stripe` lines of both are as long as the longer side, filled with blank positions",
            ),
        ],
        children: &[parameter("slice", Count::Any)],
        example: "passes \"curve\" count=12 exponent=1.5",
        ..Signature::PARAMETER
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
        ..Signature::PARAMETER
    },
    Signature {
        name: "halftone",
        meaning: "Grays to 0 or M. `threshold`: M where v is at least the level. `bayer`, by Bayer's matrix of n × n, and \
                  `blue-noise`, by one of 64 × 64 or 256 × 256 made by void and cluster: M where 2·v·n² > (2·r + 1)·M with r the \
                  rank at (⌊i / spot⌋ mod n, ⌊j / spot⌋ mod n). `screen`: dots that grow, on a grid that is turned. \
                  `floyd-steinberg`, `jarvis`, `stucki` and `atkinson`: error diffusion. Lines of 1 bit without a halftone have \
                  a threshold of ⌊M / 2⌋ + 1. The halftone comes last, after the tables and the passes: dots are 0 or M \
                  whatever the `machine` table says.",
        details: include_str!("halftone.md"),
        arguments: &[required(
            "kind",
            ValueType::Word(&[
                "threshold",
                "bayer",
                "blue-noise",
                "screen",
                "floyd-steinberg",
                "jarvis",
                "stucki",
                "atkinson",
            ]),
            "how",
        )],
        properties: &HALFTONE,
        example: "halftone \"bayer\" size=8",
        ..Signature::PARAMETER
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
        ..Signature::PARAMETER
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
        ..Signature::PARAMETER
    },
    Signature {
        name: "gcode",
        meaning: "How `relief render` writes the lines as G-code for a laser, to a file that ends in .gcode, .nc or .gc. The \
                  canvas needs `pixel`. A pixel is a run of its side at the power S = s-max·v / M, rounded half up; runs of \
                  equal power are one. [G-code](files.md#g-code) says more.",
        properties: &[
            required("feed", ValueType::Feed, "the feed along the lines"),
            optional(
                "dialect",
                ValueType::Word(&["grbl", "fluidnc"]),
                DefaultValue::Word("grbl"),
                "what the controller runs",
            ),
            optional(
                "s-max",
                ValueType::Count {
                    least: 1,
                    greatest: 1_000_000,
                },
                DefaultValue::Number(1_000),
                "S for M",
            ),
            optional(
                "laser",
                ValueType::Word(&["M4", "M3"]),
                DefaultValue::Word("M4"),
                "whether the power follows the speed of the head (M4) or not (M3)",
            ),
            optional(
                "origin",
                ValueType::Word(&["bottom-left", "bottom-right", "top-left", "top-right", "centre"]),
                DefaultValue::Word("bottom-left"),
                "the point of the canvas that lies at X0 Y0; Y points up",
            ),
            optional(
                "sweep",
                ValueType::Word(&["full", "segments"]),
                DefaultValue::Word("full"),
                "whether the head runs over every line from end to end, or from the first pixel with power to the last",
            ),
            optional(
                "gap",
                ValueType::Length {
                    least: 1,
                    greatest: SIDE,
                },
                DefaultValue::Absent("none: a line is one segment"),
                "with \"segments\": so much without power is crossed by G0",
            ),
            optional(
                "baud",
                ValueType::Count {
                    least: 300,
                    greatest: 100_000_000,
                },
                DefaultValue::Number(115_200),
                "bits a second of the serial link, ten for each character: `relief plan` says whether that is enough",
            ),
        ],
        children: &[parameter("zone", Count::Any)],
        example: "gcode feed=\"3000mm/min\" s-max=1000 laser=\"M4\" origin=\"bottom-left\"",
        ..Signature::PARAMETER
    },
    Signature {
        name: "zone",
        meaning: "A band of rows of the canvas with a feed of its own. No two zones share a row.",
        properties: &[
            required("from", ROW, "the first row"),
            required("to", ROW, "the row after the last"),
            required("feed", ValueType::Feed, "the feed along them"),
        ],
        example: "zone from=\"1mm\" to=\"2mm\" feed=\"1500mm/min\"",
        ..Signature::PARAMETER
    },
];
