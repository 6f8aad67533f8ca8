//! Drawings: outlines of exact points, from SVG, GDSII, OASIS, DXF, Gerber and simple shapes.
//!
//! A [`Drawing`] holds cells. A cell holds elements, which are closed outlines under a fill rule with a value, and placements of
//! other cells, which may be arrays. Points are whole multiples of 1/(256·Q) px and placements are exact, so that a copy lies
//! where its outlines would if they were written out. [`Drawing::lower`] hands all this to whatever computes samples; this crate
//! knows none.
//!
//! Positions are computed in binary64 with `libm`, never with the host's functions, then rounded once. So a drawing has the same
//! points on every machine.
//!
//! ```
//! use relief_vector::{Affine, Limits, Rule, Sketch, shapes};
//!
//! let mut sketch = Sketch::new(Limits::default());
//! sketch.fill(&shapes::ellipse((50.0, 40.0), (30.0, 20.0)), Affine::IDENTITY, 65_535, Rule::NonZero)?;
//! let drawing = sketch.finish();
//! assert_eq!(drawing.bounds().unwrap(), (20 * 256, 20 * 256, 80 * 256, 60 * 256));
//! # Ok::<(), relief_vector::Refused>(())
//! ```

mod assembly;
mod data;
mod drawing;
pub mod dxf;
mod flatten;
mod font;
pub mod gds;
pub mod gerber;
pub mod layout;
mod length;
mod limits;
mod lower;
pub mod mesh;
pub mod oasis;
pub mod shapes;
mod sketch;
mod stroke;
pub mod svg;
pub mod text;

pub use assembly::Origin;
pub use drawing::{Cell, Drawing, Element, Lattice, Placement};
pub use kurbo::{Affine, BezPath, Point};
pub use length::Pixel;
pub use limits::{Limits, Refused};
pub use lower::Target;
pub use sketch::Sketch;
pub use stroke::{Cap, Join, Stroke};

/// Which places an element covers, by the winding number of its outlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Where the winding number is not 0.
    NonZero,
    /// Where the winding number is odd.
    EvenOdd,
}

/// The page of the package, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
