//! `erode` and `dilate`, and what is made of both: `open`, `close` and `top-hat`.

use super::box_mean::MAX_RADIUS;
use super::edge::{EDGE, SOURCE, is_radius, radius};
use super::{
    Bounds, Compose, Edge, IntoKind, Kind, Lowering, NodeKind, NodeSource, Seen, Sizing, moved, words,
};
use crate::draft::Checker;
use crate::seam::Seam;
use crate::signature::{DefaultValue, Parameter, Signature, ValueType, optional, required};
use crate::tree::{Child, Role};
use crate::validate::Rules;

/// The pixels around one that a filter reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Shape {
    /// −R ≤ dx, dy ≤ R.
    #[default]
    Square,
    /// dx² + dy² ≤ R².
    Disc,
}

words!(Shape {
    Square = "square",
    Disc = "disc",
});

const RADIUS: Parameter = required(
    "radius",
    ValueType::Length {
        least: 1,
        greatest: MAX_RADIUS as i64,
    },
    "R: how far the shape reaches from its middle",
);

const SHAPE: Parameter = optional(
    "shape",
    ValueType::Word(Shape::WORDS),
    DefaultValue::Word(Shape::Square.word()),
    "which pixels around one count: those of a square of 2R + 1 by 2R + 1, or those at dx, dy with dx² + dy² ≤ R²",
);

/// The values of all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Element {
    radius: u32,
    shape: Shape,
    edge: Edge,
}

impl Element {
    fn read(source: &NodeSource<'_, '_>) -> Option<Self> {
        Some(Self {
            radius: radius(source)?,
            shape: source.values.word("shape").and_then(Shape::of_word)?,
            edge: Edge::of(source)?,
        })
    }
}

/// A kind of a radius, a shape and an edge.
macro_rules! extreme {
    ($(#[$meta:meta])* $name:ident, $word:literal, $meaning:literal, $example:literal) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            /// R: how far the shape reaches from its middle, in pixels, 1…256.
            pub radius: u32,
            /// Which pixels count.
            pub shape: Shape,
            /// What is read beyond the node's extent.
            pub edge: Edge,
        }

        impl From<Element> for $name {
            fn from(Element { radius, shape, edge }: Element) -> Self {
                Self { radius, shape, edge }
            }
        }

        impl NodeKind for $name {
            type Draft = Self;

            const SIGNATURE: Signature = Signature {
                name: $word,
                meaning: $meaning,
                properties: &[RADIUS, SHAPE, EDGE],
                children: SOURCE,
                example: $example,
                ..Signature::NODE
            };

            fn read(source: &NodeSource<'_, '_>, _: &mut Checker<'_>) -> Option<Self> {
                Element::read(source).map(Self::from)
            }

            fn bounds(&self, seen: &Seen<'_>) -> Bounds {
                self.edge.around(seen)
            }

            fn is_smooth(&self, children: bool) -> bool {
                children
            }

            fn seam(&self, seam: &mut Seam<'_, '_>) {
                seam.filter(self.radius, self.edge);
            }

            fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
                is_radius(self.radius, MAX_RADIUS)
            }
        }
    };
}

extreme!(
    /// The least of the samples of the shape around the pixel, of the one `Source` child.
    Erode,
    "erode",
    "The least of the samples of the source in a square or disc around the pixel: what is bright shrinks. Zeros count as \
     samples. Within this node's extent the source is 0 where it is not; beyond it, what `edge` says.",
    "erode radius=7 shape=\"disc\" {\n    (source)image \"photo.png\"\n}"
);

extreme!(
    /// The greatest of the samples of the shape around the pixel, of the one `Source` child.
    Dilate,
    "dilate",
    "The greatest of the samples of the source in a square or disc around the pixel: what is bright grows. Zeros count as \
     samples. Within this node's extent the source is 0 where it is not; beyond it, what `edge` says.",
    "dilate radius=7 {\n    (source)image \"photo.png\"\n}"
);

/// `erode`, then `dilate` by the same shape.
#[derive(Clone, Debug)]
pub(crate) struct Open(Element);

/// `dilate`, then `erode` by the same shape.
#[derive(Clone, Debug)]
pub(crate) struct Close(Element);

/// What `open` takes away, or what `close` adds.
#[derive(Clone, Debug)]
pub(crate) struct TopHat {
    element: Element,
    /// Whether it shows what is darker than around it.
    dark: bool,
}

/// What a top-hat shows: what is brighter than around it, or darker.
const TONES: &[&str] = &["light", "dark"];

/// A word that stands for other kinds, which this says.
macro_rules! word {
    ($name:ident => $kind:ident, $signature:expr, $read:expr) => {
        impl NodeKind for $name {
            type Draft = Self;

            const SIGNATURE: Signature = $signature;

            fn read(source: &NodeSource<'_, '_>, _: &mut Checker<'_>) -> Option<Self> {
                let read: fn(&NodeSource<'_, '_>) -> Option<Self> = $read;
                read(source)
            }

            fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
                Ok(())
            }
        }

        impl IntoKind<$kind> for $name {
            fn sized(&self, _: &mut Sizing<'_>) -> Option<$kind> {
                Some(self.kind())
            }

            fn lower(&self, node: &mut Lowering<'_>) {
                if let Some(children) = self.children(node) {
                    node.children = children;
                }
            }
        }
    };
}

word!(
    Open => Dilate,
    Signature {
        name: "open",
        meaning: "`erode`, then `dilate` by the same shape: what is bright and does not hold the shape goes, all else stays. \
                  Beyond this node's extent `edge` says what is read, of the source and of what is eroded.",
        properties: &[RADIUS, SHAPE, EDGE],
        children: SOURCE,
        example: "open radius=3 shape=\"disc\" {\n    (source)image \"photo.png\"\n}",
        ..Signature::NODE
    },
    |source| Element::read(source).map(Self)
);

impl Open {
    fn kind(&self) -> Dilate {
        self.0.into()
    }

    fn children(&self, node: &mut Lowering<'_>) -> Option<Vec<Child>> {
        let source = node.children.first().copied()?;
        Some(vec![first(node, Erode::from(self.0), Role::Source, source)?])
    }
}

word!(
    Close => Erode,
    Signature {
        name: "close",
        meaning: "`dilate`, then `erode` by the same shape: what is dark and does not hold the shape goes, all else stays. \
                  Beyond this node's extent `edge` says what is read, of the source and of what is dilated.",
        properties: &[RADIUS, SHAPE, EDGE],
        children: SOURCE,
        example: "close radius=3 shape=\"disc\" {\n    (source)image \"photo.png\"\n}",
        ..Signature::NODE
    },
    |source| Element::read(source).map(Self)
);

impl Close {
    fn kind(&self) -> Erode {
        self.0.into()
    }

    fn children(&self, node: &mut Lowering<'_>) -> Option<Vec<Child>> {
        let source = node.children.first().copied()?;
        Some(vec![first(node, Dilate::from(self.0), Role::Source, source)?])
    }
}

word!(
    TopHat => Compose,
    Signature {
        name: "top-hat",
        meaning: "The part that `open` takes away from the source, v − open(v), or that `close` adds to it, close(v) − v: small marks, \
                  without the background that they stand on.",
        properties: &[
            RADIUS,
            SHAPE,
            optional(
                "of",
                ValueType::Word(TONES),
                DefaultValue::Word(TONES[0]),
                "what is shown: marks that are lighter than around them, or darker",
            ),
            EDGE,
        ],
        children: SOURCE,
        example: "top-hat radius=9 of=\"dark\" {\n    (source)image \"photo.png\"\n}",
        ..Signature::NODE
    },
    |source| {
        Some(Self {
            element: Element::read(source)?,
            dark: source.values.word("of")? == TONES[1],
        })
    }
);

impl TopHat {
    #[allow(clippy::unused_self, reason = "every word says its kind")]
    fn kind(&self) -> Compose {
        Compose
    }

    fn children(&self, node: &mut Lowering<'_>) -> Option<Vec<Child>> {
        let source = node.children.first().copied()?;
        let at = (source.extent.x(), source.extent.y());
        let (erode, dilate): (Kind, Kind) = (
            Erode::from(self.element).into(),
            Dilate::from(self.element).into(),
        );
        let (one, other, role) = if self.dark {
            (dilate, erode, Role::Base)
        } else {
            (erode, dilate, Role::Subtract)
        };
        let (between, size) = (first(node, one, Role::Source, source)?, node.size);
        let smoothed = node.child(role, other, (0, 0), size, vec![between])?;
        Some(if self.dark {
            vec![smoothed, moved(source, Role::Subtract, at)?]
        } else {
            vec![moved(source, Role::Base, at)?, smoothed]
        })
    }
}

/// A kind over the source, of the size of the node.
fn first(node: &mut Lowering<'_>, kind: impl Into<Kind>, role: Role, source: Child) -> Option<Child> {
    let size = node.size;
    node.child(role, kind, (0, 0), size, vec![source])
}
