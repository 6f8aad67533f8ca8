//! GDSII: layouts of cells, arrays and paths as streams of records.

mod reader;
mod records;

pub use reader::read;
