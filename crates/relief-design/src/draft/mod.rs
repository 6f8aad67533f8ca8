//! The first pass: elements become nodes whose values have been checked, but whose sizes may still depend on
//! where they are used.

mod assets;
mod document;
mod drawings;
pub(crate) mod hints;
mod meshes;
mod node;
mod scan;
mod tables;
mod values;

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use relief_raster::{Depth, Length};
use relief_vector::mesh::Mesh;
use relief_vector::text::Font;

use crate::ImageSource;
use crate::expression::{BadExpression, Function};
use crate::kinds::Draft;
use crate::length::Ratio;
use crate::report::{MAX_COUNTED, Problem};
use crate::suggestion::Suggestions;
use crate::syntax::Span;
use crate::tree::{Axis, Canvas, Role};

pub use assets::MAX_FILES;
pub(crate) use assets::{Asset, Known};
pub(crate) use document::Document;
pub use drawings::MAX_DRAWING_POINTS;
pub(crate) use drawings::{Budget, Doubt, Loaded, MORE_MEMORY, Unusable};
pub use tables::MAX_TABLE_WORK;
pub(crate) use tables::{TableKey, not_a_number};
pub(crate) use values::{Values, vanishing};

/// The most points of all shapes of a design, those of a definition counted once.
pub const MAX_SHAPE_POINTS: u64 = 1 << 22;

/// A length along an axis of a parent, or a place on it: a part of the parent's side, and so many pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measure {
    pub(crate) of_parent: Ratio,
    pub(crate) pixels: Ratio,
}

impl Measure {
    pub(crate) const ZERO: Self = Self::pixels(Ratio::ZERO);

    pub(crate) const fn pixels(pixels: Ratio) -> Self {
        Self {
            of_parent: Ratio::ZERO,
            pixels,
        }
    }

    /// Pixels in a parent with this side. `None` where they cannot be kept exactly.
    pub(crate) fn of(self, parent: u64) -> Option<Ratio> {
        if self.is_absolute() {
            return Some(self.pixels);
        }
        let part = self.of_parent.times(Ratio::integer(parent.into()))?;
        part.plus(self.pixels)
    }

    /// The sum of both.
    pub(crate) fn plus(self, other: Self) -> Option<Self> {
        Some(Self {
            of_parent: self.of_parent.plus(other.of_parent)?,
            pixels: self.pixels.plus(other.pixels)?,
        })
    }

    /// So many times this.
    pub(crate) fn times(self, times: usize) -> Option<Self> {
        let times = Ratio::integer(i128::try_from(times).ok()?);
        Some(Self {
            of_parent: self.of_parent.times(times)?,
            pixels: self.pixels.times(times)?,
        })
    }

    /// Pixels, where the parent's side does not matter.
    pub(crate) fn absolute(self) -> Option<Ratio> {
        self.is_absolute().then_some(self.pixels)
    }

    fn is_absolute(self) -> bool {
        self.of_parent == Ratio::ZERO
    }
}

/// A side of a node and where it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct GivenSide {
    pub(crate) measure: Measure,
    pub(crate) span: Span,
}

/// Which point of a node its x and y place, in halves of its sides: 0, 1 or 2 of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub(crate) x: u8,
    pub(crate) y: u8,
}

impl Anchor {
    /// The words for the points, row by row.
    pub(crate) const WORDS: &'static [&'static str] = &[
        "top-left",
        "top",
        "top-right",
        "left",
        "centre",
        "right",
        "bottom-left",
        "bottom",
        "bottom-right",
    ];

    pub(crate) fn of_word(word: &str) -> Option<Self> {
        let index = Self::WORDS.iter().position(|known| *known == word)?;
        Some(Self {
            x: (index % 3) as u8,
            y: (index / 3) as u8,
        })
    }
}

/// A node that may be put anywhere.
#[derive(Debug)]
pub(crate) struct DraftNode {
    pub(crate) what: What,
    pub(crate) x: Measure,
    pub(crate) y: Measure,
    pub(crate) anchor: Anchor,
    /// Where the offset is written, or its name where it is not.
    pub(crate) offset_span: Span,
    pub(crate) width: Option<GivenSide>,
    pub(crate) height: Option<GivenSide>,
    pub(crate) children: Vec<DraftChild>,
    /// Its name in the text.
    pub(crate) span: Span,
    /// Whether something is wrong with it, so that what follows from its size is no further problem.
    pub(crate) broken: bool,
}

/// A node in its role.
#[derive(Debug)]
pub(crate) struct DraftChild {
    pub(crate) role: Role,
    /// Its name, where its parent knows its children by names.
    pub(crate) name: Option<(String, Span)>,
    pub(crate) node: DraftNode,
}

/// The words for the points of a node that its offset may place.
pub(crate) const ANCHORS: &[&str] = Anchor::WORDS;

/// What a node computes, as far as it is known without its size.
#[derive(Debug)]
pub(crate) enum What {
    /// A node of a kind.
    Kind(Draft),
    /// The node of a definition.
    Use { name: String, span: Span },
    /// Nothing that can be told.
    Broken,
}

/// A named node.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) name: String,
    /// The name in the text.
    pub(crate) span: Span,
    /// Nothing where it holds no node.
    pub(crate) node: Option<DraftNode>,
}

/// What all elements are checked against, and what was found.
pub(crate) struct Checker<'c> {
    images: &'c dyn ImageSource,
    /// The sizes of all files that were asked for, or why they cannot be used.
    assets: HashMap<Asset, Result<Known, String>>,
    /// Every expression that was read, by its variable and its text.
    functions: HashMap<&'static str, HashMap<String, Result<Arc<Function>, BadExpression>>>,
    suggestions: Suggestions,
    canvas: Option<Canvas>,
    canvas_span: Option<Span>,
    /// The picture that gives the canvas its size, and where that is written.
    canvas_from: Option<(String, Span)>,
    /// The axes along which the surface is to close, and where that is written.
    wrap: Option<(&'static [Axis], Span)>,
    depth: Depth,
    depth_span: Option<Span>,
    pixel: Option<Length>,
    /// Whether the side of a pixel is given, but wrong: what needs it is then no further problem.
    pixel_is_wrong: bool,
    amplitude: Option<Length>,
    /// As `pixel_is_wrong`.
    amplitude_is_wrong: bool,
    /// Whether lengths become the nearest whole pixels.
    nearest: bool,
    /// The largest rounding of a length, in pixels, and where that is written.
    rounding: Cell<Option<(f64, Span)>>,
    /// Tables that were computed, by all that they depend on.
    tables: HashMap<TableKey, Result<Arc<[u16]>, u64>>,
    /// Operations that tables have taken.
    work: u64,
    /// Points that shapes may yet have.
    shape_points: u64,
    /// All drawings that were read from files, or why they cannot be used.
    drawings: HashMap<Asset, Result<Loaded, Unusable>>,
    drawing_budget: Budget,
    /// All meshes that were read, or why they cannot be used.
    meshes: HashMap<String, Result<Rc<Mesh>, Unusable>>,
    /// All fonts that were read, or why they cannot be used.
    fonts: HashMap<String, Result<Rc<Font>, Unusable>>,
    /// The bytes of all of them, those of equal ones once.
    font_bytes: u64,
    pub(crate) problems: Vec<Problem>,
    /// What is right and most likely not meant.
    pub(crate) warnings: Vec<Problem>,
}

impl<'c> Checker<'c> {
    pub(crate) fn new(images: &'c dyn ImageSource) -> Self {
        Self {
            images,
            assets: HashMap::new(),
            functions: HashMap::new(),
            suggestions: Suggestions::default(),
            canvas: None,
            canvas_span: None,
            canvas_from: None,
            wrap: None,
            depth: Depth::Eight,
            depth_span: None,
            pixel: None,
            pixel_is_wrong: false,
            amplitude: None,
            amplitude_is_wrong: false,
            nearest: false,
            rounding: Cell::new(None),
            tables: HashMap::new(),
            work: 0,
            shape_points: MAX_SHAPE_POINTS,
            drawings: HashMap::new(),
            drawing_budget: Budget::new(images.memory()),
            meshes: HashMap::new(),
            fonts: HashMap::new(),
            font_bytes: 0,
            problems: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The depth of every sample of the design.
    pub(crate) fn depth(&self) -> Depth {
        self.depth
    }

    /// The side of a pixel, where the canvas says it; some side where what it says is wrong, so that what needs one is
    /// no further problem.
    pub(crate) fn pixel(&self) -> Option<Length> {
        let some = || self.pixel_is_wrong.then(|| Length::picometres(1)).flatten();
        self.pixel.or_else(some)
    }

    /// The height that M stands for, where the canvas says it; some height where what it says is wrong, as for
    /// [`pixel`](Self::pixel).
    pub(crate) fn amplitude(&self) -> Option<Length> {
        let some = || self.amplitude_is_wrong.then(|| Length::picometres(1)).flatten();
        self.amplitude.or_else(some)
    }

    /// The problem of what needs an [`amplitude`](Self::amplitude) where there is none: `label` stands at `span`.
    pub(crate) fn no_amplitude(&self, message: String, span: Span, label: &str, help: &str) -> Problem {
        let mut problem = Problem::new("E408", message).label(span, label);
        if let Some(canvas) = self.canvas_span {
            problem = problem.label(canvas, "`amplitude` is missing here");
        }
        problem.help(help)
    }

    /// The points that shapes may yet have.
    pub(crate) fn shape_points(&self) -> u64 {
        self.shape_points
    }

    /// Notes that shapes have so many points more.
    pub(crate) fn take_shape_points(&mut self, points: u64) {
        self.shape_points = self.shape_points.saturating_sub(points);
    }

    /// The largest rounding of a length that was read.
    pub(crate) fn rounding(&self) -> Option<(f64, Span)> {
        self.rounding.get()
    }

    /// Notes a problem. A report holds far fewer than a hostile design may have.
    pub(crate) fn note(&mut self, problem: Problem) {
        if self.wants_more() {
            self.problems.push(problem);
        }
    }

    /// Notes what is right and most likely not meant.
    pub(crate) fn warn(&mut self, warning: Problem) {
        if self.warnings.len() < MAX_COUNTED {
            self.warnings.push(warning);
        }
    }

    /// Whether another problem would still be kept.
    fn wants_more(&self) -> bool {
        self.problems.len() < MAX_COUNTED
    }
}
