//! The node kinds: one file each, one line each in the list below. Nothing outside this folder tells them apart.

mod affine;
mod bilateral;
mod box_mean;
mod compose;
mod convolve;
mod detrend;
mod disc;
mod distance;
mod dither;
mod drawing;
mod equalise;
mod fill;
mod flip;
mod formula;
mod gauss;
mod gradient;
mod hosted;
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
mod ramp;
mod repeat;
mod resize;
mod seamless;
mod sharpen;
mod sobel;
mod texture;
mod threshold;
mod turn;

use relief_design::tree;
use relief_raster::{Rect, Sample, ViewMut};

use crate::Error;
use crate::node::{Filled, Inputs, Link, Node, Resources, Tile};

/// One row a kind: the variant, the file that implements it, and how it is made of a node of the design. All words that draw are one
/// kind.
macro_rules! kinds {
    ($($module:ident :: $type:ident),* $(,)?; $drawings:ident :: $drawing:ident of $($drawn:ident),* $(,)?) => {
        /// Any node kind.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Kind {
            $($type($module::$type),)*
            $drawing($drawings::$drawing),
        }

        impl std::ops::Deref for Kind {
            type Target = dyn Node;

            fn deref(&self) -> &Self::Target {
                match self {
                    $(Self::$type(node) => node,)*
                    Self::$drawing(node) => node,
                }
            }
        }

        impl Kind {
            /// The kind of a node of the design.
            pub(crate) fn new(node: &tree::Node, resources: &mut dyn Resources) -> Result<Self, Error> {
                match &node.kind {
                    $(tree::Kind::$type(kind) => <$module::$type as Tile>::new(kind, node, resources).map(Self::$type),)*
                    $(
                        tree::Kind::$drawn(kind) => <$drawings::$drawing as Tile>::new(&kind.drawn, node, resources).map(Self::$drawing),
                    )*
                }
            }

            /// Computes `rect`, in the node's own coordinates and inside its extent, into `out`, which has its size.
            pub(crate) fn tile<S: Sample>(
                &self,
                inputs: &dyn Inputs<S>,
                links: &[Link],
                rect: Rect,
                out: ViewMut<'_, S>,
                scratch: &mut [u64],
            ) -> Result<Filled<S>, Error> {
                match self {
                    $(Self::$type(node) => node.tile(inputs, links, rect, out, scratch),)*
                    Self::$drawing(node) => node.tile(inputs, links, rect, out, scratch),
                }
            }
        }
    };
}

kinds! {
    affine::Affine,
    bilateral::Bilateral,
    box_mean::BoxMean,
    compose::Compose,
    convolve::Convolve,
    detrend::Detrend,
    disc::Disc,
    distance::Distance,
    dither::Dither,
    equalise::Equalise,
    fill::Fill,
    flip::Flip,
    formula::Formula,
    gauss::Gauss,
    gradient::Gradient,
    image::Image,
    lattice::Lattice,
    local_threshold::LocalThreshold,
    map::Map,
    median::Median,
    mesh::Mesh,
    morphology::Dilate,
    morphology::Erode,
    noise::Noise,
    normalise::Normalise,
    otsu::Otsu,
    ramp::Ramp,
    repeat::Repeat,
    resize::Resize,
    seamless::Seamless,
    sharpen::Sharpen,
    sobel::Sobel,
    texture::Perlin,
    texture::Worley,
    threshold::Threshold,
    turn::Turn;
    // Words that draw.
    drawing::Drawing of Rectangle, Ellipse, Polygon, Line, Path, Marks, Svg, Gds, Oasis, Dxf, Gerber, Text,
}
