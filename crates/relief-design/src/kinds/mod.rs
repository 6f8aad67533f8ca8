//! The kinds of nodes: one file each, with all that the language knows of it.
//!
//! A file holds the struct that stands in the tree, its signature with the values of what is not given, how it is read,
//! which size it has of itself, and what holds of one that was built by hand. A new kind is a file and its lines in the
//! list below; nothing outside this folder names a kind or tells them apart.

mod affine;
mod bilateral;
mod box_mean;
mod cells;
mod compose;
mod convolve;
mod detrend;
mod disc;
mod distance;
mod dither;
mod doubts;
mod drawing;
mod dxf;
mod edge;
mod ellipse;
mod equalise;
mod fill;
mod flip;
mod formula;
mod gauss;
mod gds;
mod gerber;
mod gradient;
mod image;
mod lattice;
mod layout;
mod line;
mod local_threshold;
mod map;
mod marks;
mod median;
mod mesh;
mod morphology;
mod natural;
mod noise;
mod normalise;
mod oasis;
mod otsu;
mod path;
mod polygon;
mod ramp;
mod rectangle;
mod repeat;
mod resize;
mod seamless;
mod sharpen;
mod sobel;
mod svg;
mod text;
mod texture;
mod threshold;
mod turn;
mod visibility;

use std::fmt;

use relief_raster::{Depth, Extent};

pub use detrend::MAX_DETRENDED;
pub use distance::MAX_RADIUS;
pub(crate) use doubts::{Bounds, Doubts, Seen, covers, misses};
pub use drawing::{Antialias, Drawn};
pub use edge::Edge;
pub(crate) use formula::NAMES;
pub use formula::{Input, LANES, MAX_STEPS, Program, Separated, rounded};
pub use gauss::MAX_SIGMA;
pub use gradient::{GRADIENT_ONE, GradientKind, MAX_STOPS, Spread, Stop};
pub(crate) use image::{
    ARRAY as PICTURE_ARRAY, INDEX as PICTURE_INDEX, RAW as PICTURE_RAW, settings as picture_settings,
    sized as sized_picture,
};
pub use image::{Conversion, Gray, Raw, RawSample};
pub use lattice::{Blend, MAX_COPIES, MAX_DENOMINATOR};
pub use local_threshold::LocalLaw;
pub use morphology::Shape;
pub(crate) use natural::{NaturalChild, NaturalSize};
pub use resize::{Resampling, Taps};
pub use sobel::Component;
pub use texture::{Cells, Feature, MAX_OCTAVES};

use crate::draft::{Checker, DraftChild, DraftNode, Values};
use crate::length::Ratio;
use crate::pictures::ImageSource;
use crate::report::Problem;
use crate::resolve::Size;
use crate::scan::{AskedScreen, Screen};
use crate::seam::{Gap, Interval, Seam, Support};
use crate::signature::Signature;
use crate::syntax::{Element, Literal, Span};
use crate::tree::{Child, NodeId, Role};
use crate::validate::Rules;

/// Gives an enumeration the words of its variants: the list for a signature, the word of a variant, the variant of a word.
macro_rules! words {
    ($type:ident { $($variant:ident = $word:literal),* $(,)? }) => {
        #[allow(unreachable_pub, reason = "some words are of kinds that nothing else names")]
        impl $type {
            /// The words, in the order in which problems list them.
            pub(crate) const WORDS: &'static [&'static str] = &[$($word),*];

            /// The word for it in a design file.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),*
                }
            }

            /// The variant of this word.
            pub(crate) fn of_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use words;

/// A kind of nodes.
pub(crate) trait NodeKind: Sized {
    /// What is known of it before its children have sizes; the kind itself where they change nothing.
    type Draft: fmt::Debug + IntoKind<Self>;

    /// Its word, what it takes and what it means.
    const SIGNATURE: Signature;

    /// Reads a node whose values and children keep the signature, and notes what else is wrong with it.
    ///
    /// Nothing where a value that it needs is missing or wrong; that has been noted.
    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self::Draft>;

    /// The size that it has of itself. By default it reaches as far as its children do.
    fn natural_size(draft: &Self::Draft, children: &[NaturalChild]) -> NaturalSize {
        let _ = draft;
        NaturalSize::around(children)
    }

    /// The other side of a node of which one side is given, along `axis` (0 for its width, 1 for its height), where it follows from
    /// that: of what is scaled.
    fn other_side(draft: &Self::Draft, axis: usize, side: f64) -> Option<u64> {
        let _ = (draft, axis, side);
        None
    }

    /// Columns and rows of the frame that its children lie in, of a node of this size.
    fn frame(draft: &Self::Draft, size: (u64, u64)) -> (u64, u64) {
        let _ = draft;
        size
    }

    /// The path of the file that it shows, as the design says it.
    fn file(&self) -> Option<&str> {
        None
    }

    /// The screen that it makes dots by, and the one that was asked for.
    fn screen(&self) -> Option<(Screen, AskedScreen)> {
        None
    }

    /// What samples it can have within its extent: as near as is told in a moment, and never too few.
    fn bounds(&self, seen: &Seen<'_>) -> Bounds {
        seen.any()
    }

    /// Whether it has samples between those of both sides of an edge; `children` says it of its children.
    fn is_smooth(&self, children: bool) -> bool {
        let _ = children;
        false
    }

    /// Whether it shows a file with samples between 0 and M, as far as that is told without much work.
    fn has_grays(&self, images: &dyn ImageSource, depth: Depth) -> bool {
        let _ = (images, depth);
        false
    }

    /// Notes what is right and most likely not meant.
    fn doubt(draft: &Self::Draft, doubts: &mut Doubts<'_>) {
        let _ = (draft, doubts);
    }

    /// The columns and rows of its own beyond which it is 0, in a node of this size; `children` says it of what it reads.
    fn support(&self, size: (u64, u64), children: &[(Role, Support)]) -> Support {
        let _ = children;
        [Interval::side(size.0), Interval::side(size.1)]
    }

    /// Whether it gives the same samples a turn apart, for columns that it covers: it asks its children, and notes why where it
    /// does not. By default nothing is known of it.
    fn seam(&self, seam: &mut Seam<'_, '_>) {
        seam.gap(Gap::Unproven(format!(
            "nothing is known of how this `{}` goes on",
            Self::SIGNATURE.name
        )));
    }

    /// The exact vectors along which copies lie in a node of this size, of a pattern of that one.
    fn vectors(draft: &Self::Draft, size: (u64, u64), pattern: (u64, u64)) -> Option<[[Ratio; 2]; 2]> {
        let _ = (draft, size, pattern);
        None
    }

    /// Whether a node that was built by hand is one that [`Self::read`] could give. That it has the children of its
    /// signature has been checked.
    ///
    /// # Errors
    /// The rule that is broken, as a part of a sentence.
    fn validate(&self, rules: &Rules<'_>) -> Result<(), String>;
}

/// What becomes a node of this kind once the sizes of its children are known.
pub(crate) trait IntoKind<K> {
    /// The kind. Nothing where there is none; why has been noted.
    fn sized(&self, sizing: &mut Sizing<'_>) -> Option<K>;

    /// Says it in other kinds, where it is one that those can say.
    fn lower(&self, node: &mut Lowering<'_>) {
        let _ = node;
    }
}

impl<K: NodeKind + Clone> IntoKind<K> for K {
    fn sized(&self, _: &mut Sizing<'_>) -> Option<K> {
        Some(self.clone())
    }
}

/// What stands in the text for a node.
pub(crate) struct NodeSource<'s, 'a> {
    /// Its values, checked against its signature.
    pub(crate) values: &'s Values,
    /// Its word.
    pub(crate) span: Span,
    /// The parameters between its braces, each with a name that its signature lists.
    pub(crate) parameters: &'s [&'s Element<'a>],
    /// The nodes between its braces.
    pub(crate) children: &'s [DraftChild],
    /// The parameters of the design that its expressions name, with their values.
    pub(crate) bound: &'s [(String, Literal<'a>)],
}

impl<'s, 'a> NodeSource<'s, 'a> {
    /// The first parameter of this name.
    pub(crate) fn parameter(&self, name: &str) -> Option<&'s Element<'a>> {
        self.parameters
            .iter()
            .find(|element| element.name.text == name)
            .copied()
    }
}

/// A node before it stands in the design: nodes may be put between it and its children, and it may become another one.
pub(crate) struct Lowering<'l> {
    /// What it computes.
    pub(crate) kind: Kind,
    /// Columns and rows.
    pub(crate) size: (u64, u64),
    /// What it reads.
    pub(crate) children: Vec<Child>,
    /// Puts a node into the design.
    pub(crate) push: &'l mut dyn FnMut(Kind, (u64, u64), Vec<Child>) -> Option<NodeId>,
}

impl Lowering<'_> {
    /// A new node as a child at this place, unless the design has too many.
    pub(crate) fn child(
        &mut self,
        role: Role,
        kind: impl Into<Kind>,
        (x, y): (i64, i64),
        size: (u64, u64),
        children: Vec<Child>,
    ) -> Option<Child> {
        let node = (self.push)(kind.into(), size, children)?;
        Some(Child {
            role,
            node,
            extent: Extent::new(x, y, size.0, size.1)?,
        })
    }
}

/// The child in another role and at another place.
pub(crate) fn moved(child: Child, role: Role, (x, y): (i64, i64)) -> Option<Child> {
    let extent = Extent::new(x, y, child.extent.width(), child.extent.height())?;
    Some(Child {
        role,
        extent,
        ..child
    })
}

/// What a node learns once its children have sizes.
pub(crate) struct Sizing<'s> {
    node: &'s DraftNode,
    /// Its own size.
    pub(crate) size: Size,
    /// The sizes of its children, in the order written.
    pub(crate) children: &'s [Size],
    /// Its children in their places, but for those that lie too far.
    pub(crate) placed: &'s [Child],
    pub(crate) problems: Vec<Problem>,
}

impl<'s> Sizing<'s> {
    pub(crate) fn new(node: &'s DraftNode, size: Size, children: &'s [Size], placed: &'s [Child]) -> Self {
        Self {
            node,
            size,
            children,
            placed,
            problems: Vec::new(),
        }
    }

    /// Notes what is wrong with its size.
    pub(crate) fn note(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Whether a width or a height is given for it.
    pub(crate) fn is_sized(&self) -> bool {
        self.node.width.is_some() || self.node.height.is_some()
    }

    /// Where the word of its first child stands.
    pub(crate) fn first_child(&self) -> Option<Span> {
        self.node.children.first().map(|child| child.node.span)
    }
}

/// One line a kind, then one a word that stands for other kinds, with the one that its node becomes. The order is that of the reference.
macro_rules! kinds {
    (
        $($module:ident::$name:ident),* $(,)? ;
        $($word_module:ident::$word:ident => $stands_for:ident),* $(,)?
    ) => {
        $(pub use $module::$name;)*
        $(use $word_module::$word;)*

        /// What a node computes. Samples are never above M of the design's depth.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Kind {
            $(
                #[doc = concat!("A node `", stringify!($module), "`: see [`", stringify!($name), "`].")]
                $name($name),
            )*
        }

        $(
            impl From<$name> for Kind {
                fn from(kind: $name) -> Self {
                    Self::$name(kind)
                }
            }
        )*

        impl Kind {
            /// Its signature.
            #[must_use]
            pub const fn signature(&self) -> &'static Signature {
                match self {
                    $(Self::$name(_) => &<$name as NodeKind>::SIGNATURE,)*
                }
            }

            /// The path of the file that it shows, as the design says it.
            #[must_use]
            pub fn file(&self) -> Option<&str> {
                match self {
                    $(Self::$name(kind) => kind.file(),)*
                }
            }

            /// The screen that it makes dots by, and the one that was asked for, which that comes near to.
            #[must_use]
            pub fn screen(&self) -> Option<(Screen, AskedScreen)> {
                match self {
                    $(Self::$name(kind) => kind.screen(),)*
                }
            }

            pub(crate) fn validate(&self, rules: &Rules<'_>) -> Result<(), String> {
                match self {
                    $(Self::$name(kind) => kind.validate(rules),)*
                }
            }

            /// What samples it can have.
            pub(crate) fn bounds(&self, seen: &Seen<'_>) -> Bounds {
                match self {
                    $(Self::$name(kind) => kind.bounds(seen),)*
                }
            }

            /// The columns and rows of its own beyond which it is 0.
            pub(crate) fn support(&self, size: (u64, u64), children: &[(Role, Support)]) -> Support {
                match self {
                    $(Self::$name(kind) => kind.support(size, children),)*
                }
            }

            /// Whether it gives the same samples a turn apart.
            pub(crate) fn seam(&self, seam: &mut Seam<'_, '_>) {
                match self {
                    $(Self::$name(kind) => kind.seam(seam),)*
                }
            }

            /// Whether it shows a file with samples between 0 and M.
            pub(crate) fn has_grays(&self, images: &dyn ImageSource, depth: Depth) -> bool {
                match self {
                    $(Self::$name(kind) => kind.has_grays(images, depth),)*
                }
            }

            /// Whether it has samples between those of both sides of an edge.
            pub(crate) fn is_smooth(&self, children: bool) -> bool {
                match self {
                    $(Self::$name(kind) => kind.is_smooth(children),)*
                }
            }
        }

        /// What a node computes, as far as it is known without the sizes of its children.
        #[derive(Debug)]
        pub(crate) enum Draft {
            $($name(<$name as NodeKind>::Draft),)*
            $($word(<$word as NodeKind>::Draft),)*
        }

        impl Draft {
            /// Reads a node of the kind with this signature; nothing where it is broken or the kind is none.
            ///
            /// It stays a call of its own, as the tables that some kinds make would make every level of the recursion
            /// that reads nested nodes take tens of kilobytes of stack.
            #[inline(never)]
            pub(crate) fn read(
                signature: &Signature,
                source: &NodeSource<'_, '_>,
                checker: &mut Checker<'_>,
            ) -> Option<Self> {
                $(
                    if signature.name == <$name as NodeKind>::SIGNATURE.name {
                        return <$name as NodeKind>::read(source, checker).map(Self::$name);
                    }
                )*
                $(
                    if signature.name == <$word as NodeKind>::SIGNATURE.name {
                        return <$word as NodeKind>::read(source, checker).map(Self::$word);
                    }
                )*
                None
            }

            /// The signature of its kind.
            pub(crate) const fn signature(&self) -> &'static Signature {
                match self {
                    $(Self::$name(_) => &<$name as NodeKind>::SIGNATURE,)*
                    $(Self::$word(_) => &<$word as NodeKind>::SIGNATURE,)*
                }
            }

            /// The size that it has of itself.
            pub(crate) fn natural_size(&self, children: &[NaturalChild]) -> NaturalSize {
                match self {
                    $(Self::$name(draft) => <$name as NodeKind>::natural_size(draft, children),)*
                    $(Self::$word(draft) => <$word as NodeKind>::natural_size(draft, children),)*
                }
            }

            /// The other side of a node of which one side is given.
            pub(crate) fn other_side(&self, axis: usize, side: f64) -> Option<u64> {
                match self {
                    $(Self::$name(draft) => <$name as NodeKind>::other_side(draft, axis, side),)*
                    $(Self::$word(draft) => <$word as NodeKind>::other_side(draft, axis, side),)*
                }
            }

            /// Columns and rows of the frame that its children lie in, of a node of this size.
            pub(crate) fn frame(&self, size: (u64, u64)) -> (u64, u64) {
                match self {
                    $(Self::$name(draft) => <$name as NodeKind>::frame(draft, size),)*
                    $(Self::$word(draft) => <$word as NodeKind>::frame(draft, size),)*
                }
            }

            /// The kind, now that the sizes of its children are known.
            pub(crate) fn sized(&self, sizing: &mut Sizing<'_>) -> Option<Kind> {
                match self {
                    $(Self::$name(draft) => IntoKind::<$name>::sized(draft, sizing).map(Kind::$name),)*
                    $(Self::$word(draft) => IntoKind::<$stands_for>::sized(draft, sizing).map(Kind::$stands_for),)*
                }
            }
        }

        impl Draft {
            /// The exact vectors along which copies lie.
            pub(crate) fn vectors(&self, size: (u64, u64), pattern: (u64, u64)) -> Option<[[Ratio; 2]; 2]> {
                match self {
                    $(Self::$name(draft) => <$name as NodeKind>::vectors(draft, size, pattern),)*
                    $(Self::$word(draft) => <$word as NodeKind>::vectors(draft, size, pattern),)*
                }
            }

            /// Notes what is right and most likely not meant.
            pub(crate) fn doubt(&self, doubts: &mut Doubts<'_>) {
                match self {
                    $(Self::$name(draft) => <$name as NodeKind>::doubt(draft, doubts),)*
                    $(Self::$word(draft) => <$word as NodeKind>::doubt(draft, doubts),)*
                }
            }

            /// Says the node in other kinds, where it is one that those can say.
            pub(crate) fn lower(&self, node: &mut Lowering<'_>) {
                match self {
                    $(Self::$name(draft) => IntoKind::<$name>::lower(draft, node),)*
                    $(Self::$word(draft) => IntoKind::<$stands_for>::lower(draft, node),)*
                }
            }
        }

        /// The signatures of all kinds, in the order in which the reference lists them.
        pub(crate) static SIGNATURES: [&Signature; [$(stringify!($name),)* $(stringify!($word),)*].len()] =
            [$(&<$name as NodeKind>::SIGNATURE,)* $(&<$word as NodeKind>::SIGNATURE,)*];
    };
}

kinds! {
    fill::Fill,
    image::Image,
    ramp::Ramp,
    gradient::Gradient,
    disc::Disc,
    rectangle::Rectangle,
    ellipse::Ellipse,
    polygon::Polygon,
    line::Line,
    path::Path,
    marks::Marks,
    svg::Svg,
    gds::Gds,
    oasis::Oasis,
    dxf::Dxf,
    gerber::Gerber,
    text::Text,
    mesh::Mesh,
    noise::Noise,
    texture::Perlin,
    texture::Worley,
    repeat::Repeat,
    lattice::Lattice,
    distance::Distance,
    map::Map,
    threshold::Threshold,
    dither::Dither,
    gauss::Gauss,
    box_mean::BoxMean,
    median::Median,
    morphology::Erode,
    morphology::Dilate,
    bilateral::Bilateral,
    sharpen::Sharpen,
    sobel::Sobel,
    convolve::Convolve,
    local_threshold::LocalThreshold,
    equalise::Equalise,
    normalise::Normalise,
    otsu::Otsu,
    detrend::Detrend,
    formula::Formula,
    flip::Flip,
    turn::Turn,
    resize::Resize,
    affine::Affine,
    seamless::Seamless,
    compose::Compose;
    median::Rank => Median,
    morphology::Open => Dilate,
    morphology::Close => Erode,
    morphology::TopHat => Compose,
}

impl Draft {
    /// What folds its children in the order written.
    pub(crate) const fn fold() -> Self {
        Self::Compose(Compose)
    }
}

impl Kind {
    /// The name of the node kind in a design file.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.signature().name
    }

    /// What stands in the place of a node that cannot be told, in a design that is refused.
    pub(crate) const fn placeholder() -> Self {
        Self::Fill(Fill { value: 0 })
    }
}
