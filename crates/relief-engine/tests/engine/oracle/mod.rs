//! A second meaning of designs, slow and plain: a model of its own, the text it is written as, and its samples by
//! the definitions alone. It shares no code with the crates that it checks.
//!
//! A node kind is one file in `nodes/` and one line in the list there.

pub(crate) mod evaluate;
pub(crate) mod model;
pub(crate) mod nodes;
pub(crate) mod strategy;
pub(crate) mod write;
