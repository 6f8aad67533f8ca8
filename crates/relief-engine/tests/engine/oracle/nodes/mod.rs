//! The node kinds of the oracle: one file and one line each.

use std::fmt;

use proptest::strategy::{BoxedStrategy, Strategy};

use super::evaluate::At;
use super::model::{Item, Model, NaturalSize};
use super::strategy::Inner;

mod affine;
mod arithmetic;
mod array;
mod bilateral;
mod box_mean;
mod compose;
mod convolve;
mod definition;
mod detrend;
mod disc;
mod distance;
mod dither;
mod ellipse;
mod equalise;
mod fill;
mod flip;
mod formula;
mod fractional;
mod gauss;
mod gradient;
mod image;
mod lattice;
mod local_threshold;
mod map;
mod median;
mod mesh;
mod morphology;
mod noise;
mod normalise;
mod otsu;
mod outlines;
mod polygon;
mod ramp;
mod repeat;
mod resize;
mod seamless;
mod shapes;
mod sharpen;
mod sided;
mod sobel;
mod text;
mod texture;
mod threshold;
mod tones;
mod turn;

/// Strategies with how often each is taken.
type Weighted<T> = (u32, BoxedStrategy<T>);

/// A node kind.
pub(super) trait Node: Clone + fmt::Debug + 'static {
    /// Its word.
    const NAME: &'static str;

    /// Whether it takes its natural size, rather than its parent's, wherever none is given.
    const OWN_SIZE: bool = false;

    /// Its properties as text, each after a space; its children lie in a frame of this size.
    fn properties(&self, _model: &Model, _frame: Option<(u64, u64)>) -> String {
        String::new()
    }

    /// The lines between its braces that are no nodes.
    fn parameters(&self) -> Vec<String> {
        Vec::new()
    }

    /// Its children, each with its role.
    fn children(&self) -> Vec<(&'static str, &Item)> {
        Vec::new()
    }

    fn children_mut(&mut self) -> Vec<&mut Item> {
        Vec::new()
    }

    /// The children that its text has, where some follow from others.
    fn written(&self) -> Vec<(&'static str, &Item)> {
        self.children()
    }

    /// The name of a child.
    fn child_name(&self, _index: usize) -> Option<&'static str> {
        None
    }

    /// The size that it has whatever its parent's.
    fn natural_size(&self, model: &Model) -> NaturalSize {
        model.around(&self.children())
    }

    /// The other side of a node of which one side along `axis` is given, where it follows from that.
    fn other_side(&self, _model: &Model, _axis: usize, _side: u64) -> Option<u64> {
        None
    }

    /// The frame that its children lie in, of a node of this size.
    fn frame(&self, size: (u64, u64)) -> (u64, u64) {
        size
    }

    /// Its sample at a pixel within its extent.
    fn sample(&self, at: &mut At<'_, '_>) -> u16;

    /// Random ones of samples up to `max`, for a kind without children.
    fn leaves(_max: u16) -> Option<Weighted<Self>> {
        None
    }

    /// Random ones of samples up to `max`, for a kind with children.
    fn branches(_max: u16, _inner: &Inner) -> Option<Weighted<Self>> {
        None
    }
}

/// The methods of a kind with one child, which stands in this field.
macro_rules! one_child {
    ($field:ident) => {
        fn children(&self) -> Vec<(&'static str, &$crate::oracle::model::Item)> {
            vec![(stringify!($field), &self.$field)]
        }

        fn children_mut(&mut self) -> Vec<&mut $crate::oracle::model::Item> {
            vec![&mut self.$field]
        }
    };
}
use one_child;

/// The samples of the first child around a pixel of a filter, as far as this, each with where it lies from there.
fn around(at: &mut At<'_, '_>, edge: gauss::Edge, across: i64, down: i64) -> Vec<(i64, i64, i64)> {
    let (width, height) = at.size();
    let mut samples = Vec::new();
    for dy in -down..=down {
        for dx in -across..=across {
            let sample = match (edge.of(at.x + dx, width), edge.of(at.y + dy, height)) {
                (Some(x), Some(y)) => at.child(0, x, y),
                _ => 0,
            };
            samples.push((dx, dy, i64::from(sample)));
        }
    }
    samples
}

macro_rules! kinds {
    ($($module:ident::$type:ident),* $(,)?) => {
        $(pub(crate) use $module::$type;)*

        /// Any node kind.
        #[derive(Clone, Debug)]
        pub(crate) enum Kind {
            $($type($type)),*
        }

        $(
            impl From<$type> for Kind {
                fn from(kind: $type) -> Self {
                    Self::$type(kind)
                }
            }
        )*

        impl Kind {
            pub(super) fn name(&self) -> &'static str {
                match self { $(Self::$type(_) => <$type as Node>::NAME),* }
            }

            pub(super) fn has_own_size(&self) -> bool {
                match self { $(Self::$type(_) => <$type as Node>::OWN_SIZE),* }
            }

            pub(super) fn properties(&self, model: &Model, frame: Option<(u64, u64)>) -> String {
                match self { $(Self::$type(kind) => kind.properties(model, frame)),* }
            }

            pub(super) fn parameters(&self) -> Vec<String> {
                match self { $(Self::$type(kind) => kind.parameters()),* }
            }

            pub(super) fn children(&self) -> Vec<(&'static str, &Item)> {
                match self { $(Self::$type(kind) => kind.children()),* }
            }

            pub(super) fn written(&self) -> Vec<(&'static str, &Item)> {
                match self { $(Self::$type(kind) => kind.written()),* }
            }

            pub(super) fn child_name(&self, index: usize) -> Option<&'static str> {
                match self { $(Self::$type(kind) => kind.child_name(index)),* }
            }

            pub(super) fn children_mut(&mut self) -> Vec<&mut Item> {
                match self { $(Self::$type(kind) => kind.children_mut()),* }
            }

            pub(super) fn natural_size(&self, model: &Model) -> NaturalSize {
                match self { $(Self::$type(kind) => kind.natural_size(model)),* }
            }

            pub(super) fn other_side(&self, model: &Model, axis: usize, side: u64) -> Option<u64> {
                match self { $(Self::$type(kind) => kind.other_side(model, axis, side)),* }
            }

            pub(super) fn frame(&self, size: (u64, u64)) -> (u64, u64) {
                match self { $(Self::$type(kind) => kind.frame(size)),* }
            }

            pub(super) fn sample(&self, at: &mut At<'_, '_>) -> u16 {
                match self { $(Self::$type(kind) => kind.sample(at)),* }
            }

            /// Random kinds without children.
            pub(super) fn leaves(max: u16) -> Vec<Weighted<Self>> {
                [$(<$type as Node>::leaves(max).map(any)),*].into_iter().flatten().collect()
            }

            /// Random kinds with children.
            pub(super) fn branches(max: u16, inner: &Inner) -> Vec<Weighted<Self>> {
                [$(<$type as Node>::branches(max, inner).map(any)),*].into_iter().flatten().collect()
            }
        }
    };
}

kinds! {
    affine::Affine,
    array::Array,
    bilateral::Bilateral,
    box_mean::BoxMean,
    compose::Compose,
    convolve::Convolve,
    definition::Use,
    detrend::Detrend,
    disc::Disc,
    distance::Distance,
    dither::Dither,
    ellipse::Ellipse,
    equalise::Equalise,
    fill::Fill,
    flip::Flip,
    formula::Formula,
    fractional::FractionalLattice,
    fractional::FractionalRepeat,
    gauss::Gauss,
    gradient::Gradient,
    image::Framed,
    image::Image,
    image::Pitched,
    image::Stretched,
    lattice::Lattice,
    local_threshold::LocalThreshold,
    map::Map,
    median::Median,
    median::Rank,
    mesh::Mesh,
    morphology::Close,
    morphology::Dilate,
    morphology::Erode,
    morphology::Open,
    morphology::TopHat,
    noise::Noise,
    normalise::Normalise,
    otsu::Otsu,
    outlines::Dxf,
    outlines::Fitted,
    outlines::Gds,
    outlines::Gerber,
    outlines::Oasis,
    polygon::Polygon,
    ramp::Ramp,
    repeat::Repeat,
    resize::Resize,
    seamless::Seamless,
    shapes::Line,
    shapes::Marks,
    shapes::Path,
    shapes::Rectangle,
    sharpen::Sharpen,
    sobel::Sobel,
    sided::SidedDistance,
    text::Text,
    texture::Perlin,
    texture::Worley,
    threshold::Threshold,
    tones::Tones,
    turn::Turn,
}

fn any<T: Into<Kind> + fmt::Debug + 'static>((weight, strategy): Weighted<T>) -> Weighted<Kind> {
    (weight, strategy.prop_map(Into::into).boxed())
}

pub(crate) use compose::Fold;
#[allow(unused_imports, reason = "the tests of devices name fewer")]
pub(crate) use distance::Profile;
#[allow(unused_imports, reason = "the tests of devices name fewer")]
pub(crate) use dither::Matrix;
#[allow(unused_imports, reason = "the tests of devices name fewer")]
pub(crate) use gauss::Edge;
#[allow(unused_imports, reason = "the tests of devices name fewer")]
pub(crate) use gradient::Course;
#[allow(unused_imports, reason = "the tests of devices name fewer")]
pub(crate) use lattice::Blend;
#[allow(unused_imports, reason = "the tests of devices name fewer")]
pub(crate) use local_threshold::Law;
#[allow(unused_imports, reason = "the tests of devices name fewer")]
pub(crate) use map::Tone;
#[allow(unused_imports, reason = "the tests of devices name fewer")]
pub(crate) use morphology::Element;
#[allow(unused_imports, reason = "the tests of devices name fewer")]
pub(crate) use outlines::Outlines;
#[allow(unused_imports, reason = "the tests of devices name fewer")]
pub(crate) use texture::Lattice as Cells;
