//! Designs on a device: the CPU's samples, whatever the device, the bands and the memory.
//!
//! `RELIEF_TEST_DEVICE` names the device ("vulkan:0", "cuda"); else it is the first Vulkan adapter, which may be one
//! of software Vulkan. Without one, tests say that they were skipped, unless `RELIEF_REQUIRE_GPU` is set to
//! "vulkan" or "cuda": then that is a failure.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by a panic")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

#[path = "../engine/collect.rs"]
mod collect;
#[allow(dead_code, reason = "the engine's own tests use the rest")]
#[path = "../engine/oracle/mod.rs"]
mod oracle;
#[path = "../engine/pictures.rs"]
mod pictures;
#[allow(dead_code, reason = "the engine's own tests use the rest")]
#[path = "../engine/run.rs"]
mod run;

mod compare;
mod cutting;
mod device;
mod distances;
mod elsewhere;
mod host;
mod jobs;
mod levels;
mod memory;
mod nodes;
mod random;
mod repetitions;
mod trees;
