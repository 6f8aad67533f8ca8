//! The first pass: elements become nodes whose values have been checked, but whose sizes may still depend on
//! where they are used.

mod assets;
mod document;
pub(crate) mod hints;
mod node;
mod scan;
mod tables;
mod values;

use std::collections::HashMap;
use std::sync::Arc;

use relief_raster::Depth;

use crate::ImageSource;
use crate::expression::{BadExpression, Function};
use crate::kinds::Draft;
use crate::report::{MAX_COUNTED, Problem};
use crate::suggestion::Suggestions;
use crate::syntax::Span;
use crate::tree::{Canvas, Role};

pub(crate) use assets::Asset;
pub use assets::MAX_FILES;
pub(crate) use document::Document;
pub use tables::MAX_TABLE_WORK;
pub(crate) use tables::{TableKey, not_a_number};
pub(crate) use values::Values;

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
    pub(crate) x: i64,
    pub(crate) y: i64,
    /// Where the offset is written, or its name where it is not.
    pub(crate) offset_span: Span,
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
    /// Its name, where its parent knows its children by names.
    pub(crate) name: Option<(String, Span)>,
    pub(crate) node: DraftNode,
}

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
    assets: HashMap<Asset, Result<(u64, u64), String>>,
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

impl<'c> Checker<'c> {
    pub(crate) fn new(images: &'c dyn ImageSource) -> Self {
        Self {
            images,
            assets: HashMap::new(),
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

    /// The depth of every sample of the design.
    pub(crate) fn depth(&self) -> Depth {
        self.depth
    }

    /// The side of a pixel in picometres, where the canvas says it; some side where what it says is wrong, so that what
    /// needs one is no further problem.
    pub(crate) fn pixel(&self) -> Option<u64> {
        self.pixel.or(self.pixel_is_wrong.then_some(1))
    }

    /// Notes a problem. A report holds far fewer than a hostile design may have.
    pub(crate) fn note(&mut self, problem: Problem) {
        if self.wants_more() {
            self.problems.push(problem);
        }
    }

    /// Whether another problem would still be kept.
    fn wants_more(&self) -> bool {
        self.problems.len() < MAX_COUNTED
    }
}
