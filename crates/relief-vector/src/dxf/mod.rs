//! DXF: drawings of lines, arcs, circles, ellipses, polylines and filled quadrilaterals, in layers and blocks.
//!
//! [`Document::read`] reads a file, group by group; [`Document::draw`] makes a [`Drawing`](crate::Drawing) of it. A block that is inserted becomes a cell
//! for each way it is turned and scaled, and an array of inserts an array of that cell; where the rule is even-odd, all are written out.
//!
//! Places within a block are rounded once to 1/256 px, where blocks lie and the steps of their arrays to 1/65 536 of that.
//!
//! Format: Autodesk, *DXF Reference*, ASCII form.

mod document;
mod draw;
mod groups;
mod taper;

pub use document::Document;
pub use draw::{Layout, NotDrawn, Options, Origin, Warning};

/// Why a file cannot be read or drawn.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("the drawing cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// The bytes are no DXF, or end too early.
    #[error("line {line}: {what}")]
    Group {
        /// Counted from 1.
        line: u64,
        /// What is wrong.
        what: String,
    },
    /// A block is inserted that the file does not have.
    #[error("line {line}: the file has no block {name:?}")]
    NoBlock {
        /// Where it is inserted.
        line: u64,
        /// Its name.
        name: String,
    },
    /// A block contains itself.
    #[error("line {line}: the block {name:?} contains itself")]
    Loop {
        /// Where it is inserted.
        line: u64,
        /// Its name.
        name: String,
    },
    /// Blocks are nested too deeply.
    #[error("blocks are nested more than {0} deep")]
    Depth(u32),
    /// Neither the file nor the caller says what its numbers are.
    #[error("the file does not say the unit of its numbers ($INSUNITS is missing or 0)")]
    NoUnit,
    /// Too large, or too far out.
    #[error(transparent)]
    Refused(#[from] crate::Refused),
}

impl Error {
    /// The limit that was passed, where one was.
    #[must_use]
    pub const fn refused(&self) -> Option<crate::Refused> {
        match self {
            Self::Refused(refused) => Some(*refused),
            _ => None,
        }
    }
}
