//! From KDL text to a checked, typed tree of nodes.
//!
//! [`parse`] reads a design and returns a [`Design`], or a [`Report`] of all that is wrong with it: each
//! [`Problem`] has a code, which [`explain`] tells more about, the places concerned, and what would work. [`read`] tells
//! what is right and most likely not meant as well.
//!
//! ```
//! use relief_design::kinds::Repeat;
//! use relief_design::{Kind, NoImages};
//!
//! let text = r#"
//! relief version=1
//! canvas width="4mm" height="3mm" pixel="10um"
//! repeat step-x=50 step-y=50 {
//!     (pattern)disc diameter=40 value=200
//! }
//! "#;
//! let design = relief_design::parse("dots.kdl", text, &NoImages)?;
//! assert_eq!((design.canvas().width, design.canvas().height), (400, 300));
//! assert_eq!(design.node(design.root()).kind, Kind::Repeat(Repeat { step_x: 50, step_y: 50 }));
//! # Ok::<(), relief_design::Report>(())
//! ```
//!
//! Sizes of images are asked for by the path as written; any function from a path to a size will do:
//!
//! ```
//! let text = "relief version=1\ncanvas width=10 height=10\nimage \"lgo.png\"";
//! let sizes = |path: &str| match path {
//!     "logo.png" => Ok((640, 480)),
//!     _ => Err(format!("{path} does not exist")),
//! };
//! let report = relief_design::parse("logo.kdl", text, &sizes).unwrap_err();
//! let problem = &report.problems()[0];
//! assert_eq!(problem.code(), "E505");
//! assert_eq!(problem.message(), "the image cannot be used: lgo.png does not exist");
//! let place = problem.pointers().next().unwrap().place;
//! assert_eq!((place.line, place.column), (3, 7));
//! ```
//!
//! A design comes from outside: its size, its depth, the number of its nodes, values and files, the work of its tables and
//! what is said of it are bounded, and no text makes this crate panic, overflow or run long.

mod chain;
mod codes;
mod draft;
mod excerpt;
mod expression;
mod format;
pub mod halftone;
mod json;
pub mod kinds;
mod length;
mod parameters;
mod pictures;
mod reference;
mod report;
mod resolve;
pub mod scan;
mod schema;
mod seam;
mod signature;
mod subtree;
mod suggestion;
mod syntax;
mod table;
pub mod tree;
mod validate;
mod visible;

use std::collections::HashSet;

pub use codes::{codes, explain};
pub use draft::{MAX_DRAWING_POINTS, MAX_FILES, MAX_SHAPE_POINTS, MAX_TABLE_WORK};
pub use format::format;
pub use json::{from_json, to_json};
pub use kinds::{MAX_COPIES, MAX_RADIUS};
pub use length::{GivenLength, RectangleError, given_frequency, given_length, rectangle};
pub use parameters::{MAX_DATA, Rows, Setting};
pub use pictures::{ImageError, ImageSource, NoImages, Picture};
pub use reference::{reference, reference_of};
pub use report::{MAX_PROBLEMS, Pointer, Problem, Report, Underlined};
pub use resolve::MAX_NODES;
pub use schema::schema;
pub use signature::{
    ChildName, ChildRule, Count, DefaultExtent, DefaultValue, Group, MAX_POINTS, MAX_STRING, NAME, PLACEMENT,
    Parameter, Presence, SIGNATURES, Signature, ValueType,
};
pub use suggestion::near;
pub use syntax::{MAX_DEPTH, MAX_ELEMENTS, MAX_ENTRIES, MAX_SLASHDASH_DEPTH, MAX_TEXT};
pub use tree::{
    Axis, Blend, Canvas, Child, Conversion, Design, Gray, Kind, Node, NodeId, Place, Raw, RawSample, Role,
    Rounding,
};
pub use validate::InvalidDesign;
pub use visible::{visible, visible_lines};

/// The version of what designs mean: which samples a design makes.
///
/// It is raised with every release in which some design that was accepted before makes other samples: a node's
/// definition changes, a function of tables rounds otherwise, pictures are read otherwise, a default changes. It stays
/// where designs that were refused are accepted, where only speed or messages change, and where a new node or parameter
/// leaves all others as they were. A job's name on the wire holds it, so that a job is never gone on with by a version
/// that would make other bytes of it.
pub const MEANING: u32 = 2;

/// A design with what is right in its text and most likely not meant.
#[derive(Clone, Debug)]
pub struct Reading {
    /// What the text means.
    pub design: Design,
    /// At least one warning, where there is any.
    pub warnings: Option<Report>,
}

/// Reads and checks a design. `name` is what problems call the text, most often the path of its file.
///
/// # Errors
/// A report of all independent problems, where there is any.
pub fn parse(name: &str, text: &str, images: &dyn ImageSource) -> Result<Design, Report> {
    read(name, text, images, &[]).map(|reading| reading.design)
}

/// As [`parse`], with the warnings, and with values for parameters in place of their defaults. Of several values for one
/// parameter the last counts.
///
/// ```
/// use relief_design::{Kind, NoImages, Setting, kinds};
///
/// let text = "relief version=1\nparameter \"gray\" 7\ncanvas width=4 height=3 depth=16\nfill value=$gray";
/// let setting = Setting { name: "gray".into(), value: "9".into(), origin: "--set".into() };
/// let reading = relief_design::read("a.kdl", text, &NoImages, &[setting])?;
/// assert_eq!(reading.design.nodes()[0].kind, Kind::Fill(kinds::Fill { value: 9 }));
/// assert_eq!(reading.warnings.unwrap().problems()[0].code(), "W101");
/// # Ok::<(), relief_design::Report>(())
/// ```
///
/// # Errors
/// A report of all independent problems, where there is any.
pub fn read(
    name: &str,
    text: &str,
    images: &dyn ImageSource,
    settings: &[Setting],
) -> Result<Reading, Report> {
    let mut elements = syntax::read(text).map_err(|problems| Report::new(name, text, problems))?;
    let mut checker = draft::Checker::new(images);
    parameters::apply(&mut elements, settings, images, &mut checker.problems);
    chain::apply(&mut elements, &mut checker.problems);
    let document = checker.document(&elements);
    let mut problems = std::mem::take(&mut checker.problems);
    // Where definitions use themselves there is nothing to resolve.
    let cyclic = problems.iter().any(|problem| problem.code() == "E603");
    let design = if cyclic {
        None
    } else {
        resolve::resolve(&document, text, images, &mut problems, &mut checker.warnings)
    };
    let design = design.filter(|_| problems.is_empty());
    let Some(design) = design else {
        return Err(Report::new(name, text, distinct(problems)));
    };
    let warnings = distinct(checker.warnings);
    let warnings = (!warnings.is_empty()).then(|| Report::new(name, text, warnings));
    Ok(Reading { design, warnings })
}

/// Each problem once.
fn distinct(mut problems: Vec<Problem>) -> Vec<Problem> {
    let mut seen = HashSet::new();
    problems.retain(|problem| {
        let (code, span, message) = problem.key();
        seen.insert((code, span, message.to_owned()))
    });
    problems
}

/// The page of the package, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
