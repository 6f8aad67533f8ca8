//! The binary as people run it: real processes, their output and how they end.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by a panic")]

mod designs;
mod failures;
mod format;
#[cfg(unix)]
mod lab;
mod outputs;
mod process;
mod progress;
mod reference;
#[cfg(unix)]
mod signals;
