//! The words at the top of a design, and `use`, which stands for a node and computes nothing.

use super::{
    ANCHOR, ChildName, ChildRule, Count, DefaultExtent, DefaultValue, SIZE, Signature, ValueType, optional,
    parameter, required, role,
};
use crate::tree::Role;

/// Words of the document, in the order in which the reference lists them.
pub(super) static DOCUMENT: [Signature; 5] = [
    Signature {
        name: "relief",
        meaning: "Says that the file is a design, and of which version of the language. It stands first.",
        properties: &[required(
            "version",
            ValueType::Choice(&[1]),
            "the version of the language",
        )],
        example: "relief version=1",
        ..Signature::DOCUMENT
    },
    Signature {
        name: "parameter",
        meaning: "A value that has a name, given from outside by `--set` or by the rows of a file (`--each`). Parameters \
                  stand before the canvas.",
        details: include_str!("parameter.md"),
        arguments: &[
            required(
                "name",
                ValueType::Text,
                "letters, digits and _, not beginning with a digit",
            ),
            required(
                "default",
                ValueType::Any,
                "what it is where no other value is given; any other is a number where this is one",
            ),
        ],
        example: "parameter \"serial\" 1",
        ..Signature::DOCUMENT
    },
    Signature {
        name: "canvas",
        meaning: "The raster that the root fills.",
        properties: &[
            optional(
                "width",
                SIZE,
                DefaultValue::Absent("none: it is required, unless `from` says it"),
                "its columns",
            ),
            optional(
                "height",
                SIZE,
                DefaultValue::Absent("none: it is required, unless `from` says it"),
                "its rows",
            ),
            optional(
                "from",
                ValueType::Path,
                DefaultValue::Absent("none: `width` and `height` say it"),
                "a picture that an `image` of the design shows: the canvas has as many columns and rows",
            ),
            crate::kinds::PICTURE_RAW,
            crate::kinds::PICTURE_ARRAY,
            crate::kinds::PICTURE_INDEX,
            optional(
                "pixel",
                ValueType::PixelSize,
                DefaultValue::Absent("none: lengths are in pixels"),
                "the side of a pixel",
            ),
            optional(
                "dpi",
                ValueType::Dpi,
                DefaultValue::Absent("none: `pixel` says it"),
                "pixels an inch, in place of `pixel`: the side of a pixel is exactly 25.4 mm / dpi",
            ),
            optional(
                "rounding",
                ValueType::Word(&["exact", "nearest"]),
                DefaultValue::Absent("\"exact\"; with `dpi` \"nearest\""),
                "what becomes of lengths that are no whole number of pixels: an error, or the nearest pixels",
            ),
            optional(
                "bits",
                ValueType::Choice(&[8, 16]),
                DefaultValue::Number(8),
                "the bits of a sample: M is 255 or 65 535",
            ),
            optional(
                "amplitude",
                ValueType::Amplitude,
                DefaultValue::Absent("none: samples are numbers"),
                "the height that M stands for: samples may then be written as heights",
            ),
            optional(
                "wrap",
                ValueType::Word(&["none", "x", "y", "both"]),
                DefaultValue::Word("none"),
                "the axes along which the surface has to close, as on a roller; it changes no sample",
            ),
            optional(
                "depth",
                ValueType::Choice(&[8, 16]),
                DefaultValue::Absent("as `bits`"),
                "the former word for `bits`",
            ),
        ],
        details: include_str!("canvas.md"),
        example: "canvas width=\"20mm\" height=\"12mm\" pixel=\"10um\" bits=8",
        ..Signature::DOCUMENT
    },
    Signature {
        name: "define",
        meaning: "Names a node, which `use` then puts anywhere. Its samples are computed once, even if several places use it. A definition without `width=` and `height=` is as large as the node in which a `use` stands: used in two nodes of \
                  other sizes it is two rasters.",
        arguments: &[required("name", ValueType::Text, "the name that `use` refers to")],
        children: &[ChildRule {
            child: ChildName::Node,
            count: Count::One,
        }],
        example: "define \"dot\" { disc diameter=5 value=200 }",
        ..Signature::DOCUMENT
    },
    Signature {
        name: "scan",
        meaning: "How a machine wants the raster. The raster is mirrored, then turned clockwise; lines are counted from \
                  the corner `start`. The options of `relief stream` have the same names, and override it.",
        properties: &[
            optional(
                "mirror",
                ValueType::Word(&["none", "horizontal", "vertical"]),
                DefaultValue::Word("none"),
                "mirrors the raster, before it is turned",
            ),
            optional(
                "rotate",
                ValueType::Choice(&[0, 90, 180, 270]),
                DefaultValue::Number(0),
                "turns the raster clockwise, by degrees",
            ),
            optional(
                "axis",
                ValueType::Word(&["row", "column"]),
                DefaultValue::Word("row"),
                "whether a line lies along a row or a column of the turned raster",
            ),
            optional(
                "start",
                ValueType::Word(&["top-left", "top-right", "bottom-left", "bottom-right"]),
                DefaultValue::Word("top-left"),
                "the corner of the turned raster at which the first line starts",
            ),
            optional(
                "direction",
                ValueType::Word(&["unidirectional", "serpentine"]),
                DefaultValue::Word("unidirectional"),
                "whether every second line runs backwards",
            ),
            optional(
                "return-offset",
                ValueType::Distance,
                DefaultValue::Absent("0"),
                "how far lines that run backwards are moved along their direction, to a 256th of a pixel: against a head that answers late. A part of a pixel is the mean of two samples, weighted; after a halftone whole pixels count. The overscan takes the samples that are moved",
            ),
            optional(
                "interleave",
                ValueType::Count {
                    least: 1,
                    greatest: 1 << 31,
                },
                DefaultValue::Number(1),
                "every n-th line first: 0, n, 2n, …, 1, n + 1, …",
            ),
            optional(
                "encoding",
                ValueType::Word(&["packed", "runs"]),
                DefaultValue::Word("packed"),
                "lines as packed samples, or as runs of n samples of one value",
            ),
            optional(
                "bits",
                ValueType::Choice(&[1, 8, 16]),
                DefaultValue::Number(8),
                "the bits of a packed sample: 16 become 8 as (v + 128) / 257, 8 become 16 as v·257, so that 16 bits of \
                 a design of depth 8 have 256 levels. The last byte of a line of 1 bit is filled with blank samples",
            ),
            optional(
                "bit-order",
                ValueType::Word(&["most-first", "least-first"]),
                DefaultValue::Word("most-first"),
                "where the first of eight samples of 1 bit lies: in the bit of value 128, or of value 1",
            ),
            optional(
                "byte-order",
                ValueType::Word(&["little", "big"]),
                DefaultValue::Word("little"),
                "which byte of 16 bits comes first: that of lesser weight, or of greater",
            ),
            optional(
                "polarity",
                ValueType::Word(&["normal", "inverted"]),
                DefaultValue::Word("normal"),
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
            parameter("gcode", Count::AtMostOne),
        ],
        example: "scan start=\"bottom-left\" direction=\"serpentine\" bits=1 {\n    overscan before=20 after=20\n    halftone \"blue-noise\"\n}",
        ..Signature::DOCUMENT
    },
];

/// The node of a definition.
pub(super) static USE: Signature = Signature {
    name: "use",
    meaning: "The node of a definition. Its x and y are added to those of the defined node.",
    arguments: &[required("name", ValueType::Text, "the name of a definition")],
    properties: &[
        optional(
            "x",
            ValueType::Offset,
            DefaultValue::Number(0),
            "moves the defined node to the right",
        ),
        optional(
            "y",
            ValueType::Offset,
            DefaultValue::Number(0),
            "moves the defined node down",
        ),
        ANCHOR,
    ],
    placed: false,
    extent: DefaultExtent::Definition,
    example: "(add)use \"dot\" x=10 y=20",
    ..Signature::NODE
};

const ROLE: Count = Count::Any;

/// Copies of a node, each with its own values.
pub(super) static ARRAY: Signature = Signature {
    name: "array",
    meaning: "Copies of one node, folded as `compose` folds its children, row by row. In each $i is its column, $j its \
              row and $n = j·columns + i its number, all from 0. Copy (i, j) is moved by i·step-x and j·step-y, which \
              are exact: only the edges of the copy are rounded.",
    details: include_str!("array.md"),
    properties: &[
        required("columns", COPIES, "the copies side by side"),
        required("rows", COPIES, "the copies one below the other"),
        required("step-x", ValueType::Offset, "from one column to the next"),
        required("step-y", ValueType::Offset, "from one row to the next"),
        optional(
            "data",
            ValueType::Path,
            DefaultValue::Absent("none"),
            "a CSV file with a row for each copy: $name is the cell in the column of this name",
        ),
    ],
    children: &[
        role(Role::Base, ROLE),
        role(Role::Add, ROLE),
        role(Role::Subtract, ROLE),
        role(Role::Multiply, ROLE),
        role(Role::Mean, ROLE),
        role(Role::Max, ROLE),
        role(Role::Min, ROLE),
        role(Role::Over, ROLE),
        role(Role::Mask, ROLE),
    ],
    example: "array columns=5 rows=2 step-x=60 step-y=50 {\n    (add)disc diameter=\"${20 + 4 * i}\" value=\"${255 - 20 * n}\"\n}",
    ..Signature::NODE
};

const COPIES: ValueType = ValueType::Count {
    least: 1,
    greatest: crate::resolve::MAX_NODES as i64,
};

/// Nodes that each read the one before.
pub(super) static CHAIN: Signature = Signature {
    name: "chain",
    meaning: "Nesting written from the inside out: each node reads the one before it, as its source, its mask or its \
              pattern. `chain { a; b; c }` is c of b of a, the same tree. Its role is that of the last node; nodes in it \
              have none.",
    children: &[ChildRule {
        child: ChildName::Node,
        count: Count::Some,
    }],
    placed: false,
    extent: DefaultExtent::None,
    example: "chain {\n    image \"photo.png\"\n    gauss sigma=2\n    map { invert }\n}",
    ..Signature::NODE
};
