//! The engine as its users see it: designs as text, rasters out.
//!
//! `oracle` evaluates designs pixel by pixel from the definitions alone; the other modules hold the engine to it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by a panic"
)]

mod asked;
mod bounds;
mod collect;
mod corpus;
mod designs;
mod drawings;
mod far;
mod filters;
mod formulas;
mod jobs;
mod language;
mod levels;
mod memory;
mod oracle;
mod parts;
mod pictures;
mod preparations;
mod run;
mod sharing;
mod sources;
mod tiles;
mod walls;
mod ways;
