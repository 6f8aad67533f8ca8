//! From KDL text to a checked, typed tree of nodes.

pub mod tree;

pub use tree::Design;
