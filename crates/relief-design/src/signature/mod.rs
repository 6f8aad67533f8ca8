//! The table of signatures: every word of the design language, what it takes and what it means.
//!
//! The checks, the values of what is not given, the suggestions in problems, [`reference`](crate::reference) and
//! [`schema`](crate::schema) all read this one table. The signature of a node kind stands with the kind, in
//! `kinds/`; those of the document and of parameters stand here.

mod document;
mod parameters;

use std::fmt;

pub(crate) use parameters::{CURVE_POINT, LOCAL_HALFTONE};
use relief_raster::MAX_SIDE;

use crate::kinds;
use crate::tree::Role;

/// The most points of one profile or curve.
pub const MAX_POINTS: usize = 65_536;

/// The longest path or expression, in bytes.
pub const MAX_STRING: usize = 4_096;

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
    /// Its size where none is given.
    pub extent: DefaultExtent,
    /// What may stand between its braces.
    pub children: &'static [ChildRule],
    /// Whether it knows the nodes between its braces by names: each of them takes [`NAME`].
    pub named: bool,
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
    Optional(DefaultValue),
}

/// What a value is where it is not given: what the reader then takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultValue {
    /// This number, in the unit of the value.
    Number(i64),
    /// This word.
    Word(&'static str),
    /// No value: this says, in words, what then holds.
    Absent(&'static str),
}

/// As the reference shows it.
impl fmt::Display for DefaultValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Word(word) => write!(f, "\"{word}\""),
            Self::Absent(meaning) => f.write_str(meaning),
        }
    }
}

/// The size of a node where none is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultExtent {
    /// The word has no size.
    None,
    /// That of its parent.
    Parent,
    /// Its natural size, where it has one along the axis, else that of its parent: pictures, shapes.
    Natural,
    /// As `Natural`, of a node whose natural size is that of its source.
    Source,
    /// As `Source`, without the overlap of the node.
    SourceWithoutOverlap,
    /// That of the node of a definition.
    Definition,
}

impl DefaultExtent {
    /// Which size it is, for a sentence; empty where there is none.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Parent => "that of its parent",
            Self::Natural => "its own size; a given width or height crops it or pads it with 0",
            Self::Source => {
                "from where it begins to the right and the lower edge of its source, where that has a size of its \
                 own; else that of its parent"
            }
            Self::SourceWithoutOverlap => {
                "from where it begins to `overlap` before the right and the lower edge of its source, where that has a size of \
                 its own: 600 × 400 samples with an overlap of 40 give 560 × 360; else that of its parent"
            }
            Self::Definition => "that of the defined node",
        }
    }
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
    /// A place along a side of the parent: a length of −2^44 to 2^44 pixels, or a percentage of that side.
    Offset,
    /// A side of a node: a length of 1 to 2^40 pixels, or a percentage of the parent's.
    Side,
    /// A length that is not rounded and need not be whole where lengths are: a number, or a text with a unit.
    Step {
        /// The least, in pixels.
        least: i64,
        /// The greatest, in pixels.
        greatest: i64,
    },
    /// A step above 0 and up to 2^40 pixels, which is not rounded and need not be whole where lengths are.
    Pitch,
    /// A place of −2^40 to 2^40 pixels, which is not rounded and need not be whole.
    Coordinate,
    /// A length above 0 and up to 2^40 pixels, which is not rounded and need not be whole.
    Dimension,
    /// A distance in pixels that need not be whole: a number, or a text with a unit.
    Distance,
    /// The side of a pixel: a text with a metric unit.
    PixelSize,
    /// Pixels in an inch.
    Dpi,
    /// The height that M stands for: a text with a metric unit.
    Amplitude,
    /// The way that a head goes in a time: a text such as "3000mm/min".
    Feed,
    /// Dots along a length: a text such as "150lpi".
    Frequency,
    /// A sample, 0…M, or the height that it stands for.
    Sample,
    /// A sample, 0…M, the height that it stands for, or a part of M.
    SampleOrPart,
    /// A number of 0 to 1, or a percentage.
    Part,
    /// The place of a curve: a sample or a number between, or a height.
    Level,
    /// A number, or the height that it stands for.
    Height,
    /// A number, or a length with a unit that stands for one.
    Quantity,
    /// The side of a pixel of a picture: a text with a metric unit, or "file".
    PicturePitch,
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
    /// A number or a text.
    Any,
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
            Self::Offset => {
                "a length of −2^44 to 2^44 pixels, or a part of the parent's side, as \"50%\"".into()
            }
            Self::Side => "a length of 1 to 2^40 pixels, or a part of the parent's side, as \"50%\"".into(),
            Self::Step { least, greatest } => format!(
                "a length of {} to {} pixels, which is not rounded",
                power(least),
                power(greatest)
            ),
            Self::Pitch => "a length above 0 and up to 2^40 pixels".into(),
            Self::Coordinate => "a place of −2^40 to 2^40 pixels, which need not be whole".into(),
            Self::Dimension => "a length above 0 and up to 2^40 pixels, which need not be whole".into(),
            Self::Distance => "a distance in pixels, or a text with a unit".into(),
            Self::PixelSize | Self::Amplitude => {
                "a length with a unit, between quotes, of 1 pm to 1 m".into()
            }
            Self::Feed => {
                "a length a minute or a second, between quotes, of 0.001 mm/min to 1000 m/min".into()
            }
            Self::Frequency => {
                "a number of dots above 0 an inch, a centimetre or a millimetre, between quotes, as \"150lpi\", \"60lpcm\" or \"6lpmm\""
                    .into()
            }
            Self::Dpi => "a number above 0: pixels an inch".into(),
            Self::Sample => "a sample, 0 to M, or a height, as \"20um\"".into(),
            Self::SampleOrPart => "a sample, 0 to M, a height, as \"20um\", or a part of M, as \"50%\"".into(),
            Self::Part => "a number, 0 to 1, or a part, as \"40%\"".into(),
            Self::Level | Self::Height => "a number, or a height, as \"20um\"".into(),
            Self::Quantity => "a number, or a length with a unit, as \"20um\"".into(),
            Self::PicturePitch => "a length with a unit, of 1 pm to 1 m, as \"7.3um\", or \"file\"".into(),
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
            Self::Any => "a number or a text".into(),
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
    /// Once or more, or another child with this count in its place.
    SomeOf,
}

pub(crate) const fn required(name: &'static str, value: ValueType, meaning: &'static str) -> Parameter {
    Parameter {
        name,
        value,
        presence: Presence::Required,
        meaning,
    }
}

pub(crate) const fn optional(
    name: &'static str,
    value: ValueType,
    default: DefaultValue,
    meaning: &'static str,
) -> Parameter {
    Parameter {
        name,
        value,
        presence: Presence::Optional(default),
        meaning,
    }
}

pub(crate) const fn role(role: Role, count: Count) -> ChildRule {
    ChildRule {
        child: ChildName::Role(role),
        count,
    }
}

pub(crate) const fn parameter(name: &'static str, count: Count) -> ChildRule {
    ChildRule {
        child: ChildName::Parameter(name),
        count,
    }
}

/// The greatest distance of a node from where its parent begins, in pixels.
pub(crate) const MAX_OFFSET: i64 = 1 << 44;

/// A side of a raster.
pub(crate) const SIZE: ValueType = ValueType::Length {
    least: 1,
    greatest: MAX_SIDE as i64,
};

const DEFAULT_EXTENT: DefaultValue = DefaultValue::Absent("its default extent");

/// The point of a node that its offset places.
pub(crate) const ANCHOR: Parameter = optional(
    "anchor",
    ValueType::Word(crate::draft::ANCHORS),
    DefaultValue::Word("top-left"),
    "the point of it that x and y place",
);

/// Where a node lies in its parent's coordinates, and its size: every node takes these.
pub static PLACEMENT: [Parameter; 5] = [
    optional(
        "x",
        ValueType::Offset,
        DefaultValue::Number(0),
        "the column of the parent at which it begins, or at which its anchor lies",
    ),
    optional(
        "y",
        ValueType::Offset,
        DefaultValue::Number(0),
        "the row of the parent at which it begins, or at which its anchor lies",
    ),
    optional("width", ValueType::Side, DEFAULT_EXTENT, "its columns"),
    optional("height", ValueType::Side, DEFAULT_EXTENT, "its rows"),
    ANCHOR,
];

/// The name of a node, which nodes take whose parent knows its children by names.
pub static NAME: Parameter = required("name", ValueType::Text, "the name by which its parent knows it");

/// The words of the language.
const WORDS: usize = document::DOCUMENT.len() + 3 + kinds::SIGNATURES.len() + parameters::PARAMETERS.len();

/// All words, in the order in which the reference lists them: the document, nodes, parameters.
pub static SIGNATURES: [&Signature; WORDS] = {
    let mut words = [&document::USE; WORDS];
    let mut next = 0;
    let mut i = 0;
    while i < document::DOCUMENT.len() {
        words[next] = &document::DOCUMENT[i];
        (next, i) = (next + 1, i + 1);
    }
    // `use`, `array` and `chain` stand first among the nodes.
    words[next + 1] = &document::ARRAY;
    words[next + 2] = &document::CHAIN;
    next += 3;
    i = 0;
    while i < kinds::SIGNATURES.len() {
        words[next] = kinds::SIGNATURES[i];
        (next, i) = (next + 1, i + 1);
    }
    i = 0;
    while i < parameters::PARAMETERS.len() {
        words[next] = &parameters::PARAMETERS[i];
        (next, i) = (next + 1, i + 1);
    }
    words
};

impl Signature {
    /// A node of its parent's size that takes nothing: what the signatures of nodes begin with.
    pub(crate) const NODE: Self = Self {
        name: "",
        group: Group::Node,
        meaning: "",
        details: "",
        arguments: &[],
        properties: &[],
        placed: true,
        extent: DefaultExtent::Parent,
        children: &[],
        named: false,
        example: "",
    };

    /// What the signatures of the document begin with.
    const DOCUMENT: Self = Self {
        group: Group::Document,
        placed: false,
        extent: DefaultExtent::None,
        ..Self::NODE
    };

    /// What the signatures of parameters begin with.
    const PARAMETER: Self = Self {
        group: Group::Parameter,
        ..Self::DOCUMENT
    };

    /// The signature of this word.
    #[must_use]
    pub fn of(name: &str) -> Option<&'static Self> {
        SIGNATURES
            .iter()
            .find(|signature| signature.name == name)
            .copied()
    }

    /// The signature of the word that stands for the node of a definition.
    pub(crate) fn of_use() -> &'static Self {
        &document::USE
    }

    /// The signature of the word that copies a node, each time with other values.
    pub(crate) fn of_array() -> &'static Self {
        &document::ARRAY
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

    /// The parameters of which at least one must stand between its braces.
    pub(crate) fn some_of(&self) -> impl Iterator<Item = &'static str> {
        self.children
            .iter()
            .filter_map(|rule| match (rule.child, rule.count) {
                (ChildName::Parameter(name), Count::SomeOf) => Some(name),
                _ => None,
            })
    }
}
