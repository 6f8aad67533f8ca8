//! The first pass: elements become nodes whose values have been checked, but whose sizes may still depend on
//! where they are used.

mod document;
mod hints;
mod kinds;
mod scan;
mod values;

use std::collections::HashMap;
use std::sync::Arc;

use relief_raster::Depth;

use crate::ImageSizes;
use crate::expression::{BadExpression, Function};
use crate::report::{MAX_COUNTED, Problem};
use crate::suggestion::Suggestions;
use crate::syntax::Span;
use crate::tree::{Blend, Canvas, Gray, Kind, Role};

pub(crate) use document::Document;
pub use kinds::{MAX_FILES, MAX_TABLE_WORK};

/// What an image was asked for: its path, its gray and the bits of its range.
type Asked = (String, Gray, Option<(u64, u64)>);

/// A number of pixels and where it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Given {
    pub(crate) pixels: i64,
    pub(crate) span: Span,
}

/// A node that may be put anywhere.
#[derive(Debug)]
pub(crate) struct DraftNode {
    pub(crate) what: What,
    pub(crate) x: Option<Given>,
    pub(crate) y: Option<Given>,
    pub(crate) width: Option<Given>,
    pub(crate) height: Option<Given>,
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
    pub(crate) node: DraftNode,
}

/// What a node computes, as far as it is known without its size.
#[derive(Debug)]
pub(crate) enum What {
    /// A kind that is the same wherever it is used.
    Ready(Kind),
    /// A repetition whose steps may be those of its pattern.
    Repeat {
        step_x: Option<Given>,
        step_y: Option<Given>,
    },
    /// A lattice whose overlaps depend on its pattern.
    Lattice { blend: Blend, u: Vector, v: Vector },
    /// The node of a definition.
    Use { name: String, span: Span },
    /// Nothing that can be told.
    Broken,
}

/// A vector of a lattice and where it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Vector {
    pub(crate) x: i64,
    pub(crate) y: i64,
    pub(crate) span: Span,
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
    images: &'c dyn ImageSizes,
    /// What every image that was asked for answered.
    known_images: HashMap<Asked, Result<(u64, u64), String>>,
    /// Every expression that was read, by its variable and its text.
    functions: HashMap<&'static str, HashMap<String, Result<Arc<Function>, BadExpression>>>,
    suggestions: Suggestions,
    canvas: Option<Canvas>,
    canvas_span: Option<Span>,
    depth: Depth,
    depth_span: Option<Span>,
    pixel: Option<u64>,
    /// Whether the side of a pixel is given, but wrong: what needs it is then no further problem.
    pixel_is_wrong: bool,
    /// Tables that were computed, by all that they depend on.
    tables: HashMap<TableKey, Result<Arc<[u16]>, u64>>,
    /// Operations that tables have taken.
    work: u64,
    pub(crate) problems: Vec<Problem>,
}

/// All that a table depends on, but for the depth, which is one for a design.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum TableKey {
    Profile(u32, String),
    PointProfile(u32, Vec<(u64, u64)>),
    Map(String),
    Curve(Vec<(u64, u64)>),
    Gamma(u64),
    Levels([u16; 4]),
    Invert,
}

impl<'c> Checker<'c> {
    pub(crate) fn new(images: &'c dyn ImageSizes) -> Self {
        Self {
            images,
            known_images: HashMap::new(),
            functions: HashMap::new(),
            suggestions: Suggestions::default(),
            canvas: None,
            canvas_span: None,
            depth: Depth::Eight,
            depth_span: None,
            pixel: None,
            pixel_is_wrong: false,
            tables: HashMap::new(),
            work: 0,
            problems: Vec::new(),
        }
    }

    /// Notes a problem. A report holds far fewer than a hostile design may have.
    fn note(&mut self, problem: Problem) {
        if self.wants_more() {
            self.problems.push(problem);
        }
    }

    /// Whether another problem would still be kept.
    fn wants_more(&self) -> bool {
        self.problems.len() < MAX_COUNTED
    }
}
