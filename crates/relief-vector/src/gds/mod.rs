//! GDSII: layouts of cells, arrays and paths.
//!
//! [`Library::read`] reads a stream, record by record; [`Library::draw`] makes a [`Drawing`](crate::Drawing) of one cell. Cells and
//! arrays stay what they are, so a layout of 10^8 polygons takes the memory of its cells.
//!
//! Points are whole numbers of database units. Where cells are turned by quarter turns and magnified by whole factors, they stay
//! exact until they are placed, and are then rounded once to 1/256 px. Otherwise, and along paths, they are first rounded to
//! 1/1024 of that.

mod draw;
mod layers;
mod library;
mod records;

pub use draw::{Layout, Options, Origin};
pub use layers::{BadLayers, Layers};
pub use library::Library;

/// Why a layout cannot be read or drawn.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("the layout cannot be read")]
    Io(#[from] std::io::Error),
    /// The bytes are no GDSII, or end too early.
    #[error("byte {at} of the layout: {what}")]
    Record {
        /// Where the record begins.
        at: u64,
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
