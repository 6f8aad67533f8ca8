//! The binary as people run it: real processes, their output and how they end.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by a panic")]

mod asked;
mod batches;
mod designs;
#[cfg(unix)]
mod exports;
mod failures;
#[cfg(unix)]
mod files;
mod foreign;
mod format;
mod formulas;
mod gcode;
#[cfg(unix)]
mod lab;
mod layers;
mod lengths;
mod levels;
mod outputs;
mod packs;
mod prepared;
mod process;
mod progress;
mod readers;
mod reference;
#[cfg(target_os = "linux")]
mod room;
#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod slips;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(all(unix, feature = "view"))]
mod view;
