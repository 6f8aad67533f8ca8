//! Gerber: layers of boards, as RS-274X and X2 have them.
//!
//! [`Board::read`] reads a file, command by command; [`Board::draw`] makes a [`Drawing`](crate::Drawing) of it. An aperture that is flashed becomes a
//! cell for each way it is turned, mirrored and scaled, a block aperture a cell of cells, and what is stepped and repeated an array.
//!
//! What is dark has the value of the drawing, what is clear the value 0: it erases what was drawn before it, wherever that lies. Clear
//! parts of a macro and holes of apertures only take away from their own aperture.
//!
//! Lines and regions are rounded once to 1/256 px. Apertures are rounded to that around their origin, where they are flashed to 1/65 536 of it.
//!
//! Format: Ucamco, *The Gerber Layer Format Specification*, and what earlier revisions have that files still hold.

mod aperture;
mod board;
mod draw;
mod reader;
mod words;

pub use board::Board;
pub use draw::{Layout, Options, Origin};

/// Something that is read though the format does not have it so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The line of the file, counted from 1.
    pub line: u64,
    /// What was found, and what it is read as.
    pub what: String,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

/// Why a file cannot be read or drawn.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("the board cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// A command that is none, or that nothing here follows.
    #[error("line {line}: {what}")]
    Command {
        /// Counted from 1.
        line: u64,
        /// What is wrong.
        what: String,
    },
    /// Blocks are nested too deeply.
    #[error("blocks are nested more than {0} deep")]
    Depth(u32),
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
