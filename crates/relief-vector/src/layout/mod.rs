//! Layouts of cells, arrays and paths, whatever format they come in: [`gds`](crate::gds) and [`oasis`](crate::oasis) read them.
//!
//! [`Library::draw`] makes a [`Drawing`](crate::Drawing) of one cell. Cells and arrays stay what they are, so a layout of 10^8 polygons takes
//! the memory of its cells.
//!
//! Points are whole numbers of database units. Where cells are turned by quarter turns and magnified by whole factors, they stay
//! exact until they are placed, and are then rounded once to 1/256 px. Otherwise, and along paths and circles, they are first rounded to
//! 1/1024 of that.

use std::fmt;

mod draw;
mod layers;
mod library;

pub use draw::{Layout, Options, Origin};
pub use layers::{BadLayers, Layers};
pub(crate) use library::{Array, Path, Reference, Step, Unit};
pub use library::{Layer, Library};

/// What a file is that was taken for a layout of another format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A GDSII stream: [`gds`](crate::gds).
    Gds,
    /// An OASIS file: [`oasis`](crate::oasis).
    Oasis,
    /// Compressed by gzip, whatever is in it.
    Gzip,
}

impl Format {
    /// The format of a file that begins with these bytes, if it is one of those.
    pub(crate) fn of(first: &[u8]) -> Option<Self> {
        match first {
            [b'%', b'S', b'E', b'M', ..] => Some(Self::Oasis),
            [0x1F, 0x8B, ..] => Some(Self::Gzip),
            // The record HEADER with the number of a version.
            [0, 6, 0, 2, ..] => Some(Self::Gds),
            _ => None,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gds => "a GDSII layout",
            Self::Oasis => "an OASIS layout",
            Self::Gzip => "compressed by gzip",
        })
    }
}

/// Where in a file something is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The byte of the file; within a compressed block the byte of what it unpacks to.
    pub at: u64,
    /// Where the compressed block begins in the file, if it is in one.
    pub block: Option<u64>,
    /// The name of the cell, or its number where it has none yet.
    pub cell: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {} of the ", self.at)?;
        match self.block {
            Some(block) => write!(f, "compressed block at byte {block} of the layout")?,
            None => f.write_str("layout")?,
        }
        match &self.cell {
            Some(cell) => write!(f, ", in the cell {cell}"),
            None => Ok(()),
        }
    }
}

/// Why a layout cannot be read or drawn.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("the layout cannot be read")]
    Io(#[from] std::io::Error),
    /// The file is of another format.
    #[error("the file is {0}")]
    Format(Format),
    /// The bytes are none of the format, or end too early.
    #[error("{place}: {what}")]
    Record {
        /// Where the record begins.
        place: Box<Place>,
        /// What is wrong.
        what: String,
    },
    /// A cell is needed that the layout does not have.
    #[error("the layout has no cell {name:?}; it has {known}")]
    NoCell {
        /// The cell that was asked for, or that another places.
        name: String,
        /// Some that there are.
        known: String,
    },
    /// The layout has no cells.
    #[error("the layout has no cells")]
    Empty,
    /// Several cells are placed by no other, and none was chosen.
    #[error("{count} cells are placed by no other: {names}; choose one")]
    ManyTops {
        /// How many.
        count: usize,
        /// Some of them.
        names: String,
    },
    /// A cell contains itself.
    #[error("cell {0:?} contains itself")]
    Loop(String),
    /// Cells are nested too deeply.
    #[error("cells are nested more than {0} deep")]
    Depth(u32),
    /// The database unit and the pixel have no common measure that is large enough.
    #[error(
        "a database unit of {unit} m is no multiple of a fraction of the pixel that is coarse enough; choose a pixel of fewer digits"
    )]
    Unit {
        /// The database unit in metres.
        unit: f64,
    },
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
