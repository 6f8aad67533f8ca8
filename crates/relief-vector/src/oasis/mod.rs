//! OASIS: layouts of cells, repetitions and paths in few bytes.
//!
//! Format: SEMI P39, *Open Artwork System Interchange Standard*. Names are taken wherever they stand: the offsets of tables are not used, so
//! strict and other files are read alike, and a file is read as a stream.
//!
//! A regular repetition of many copies becomes an array; few copies, and those at places of their own, become elements of their cell, since
//! an array within a cell that is placed often would be a placement of its own each time.

mod bytes;
mod names;
mod reader;
mod repetition;
mod shapes;

pub use reader::read;
