//! The language as its users meet it: designs as text, what they mean, what is said of wrong ones.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by a panic"
)]

mod files;
mod hostile;
mod json;
mod kdl;
mod lengths;
mod natural;
mod nodes;
mod parameters;
mod reference;
mod visibility;
mod warnings;
mod wrong_designs;
