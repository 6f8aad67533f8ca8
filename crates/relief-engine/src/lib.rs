//! From a checked design to ordered bands of pixels in bounded memory.
//!
//! A [`Plan`] says how a design is computed and how much memory that takes, before the start. A [`Renderer`] holds
//! what the plan keeps, and computes windows ([`Renderer::read`]), bands one by one ([`Renderer::bands`]) or all of
//! them into a [`Sink`] ([`Renderer::render`]). The samples depend on the design alone.
//!
//! ```
//! use relief_engine::{Cancel, NoImages, Options, Plan, Rect, Renderer, SamplesMut};
//!
//! let text = r#"
//! relief version=1
//! canvas width=640 height=480
//! repeat step-x=8 step-y=8 {
//!     (pattern)disc diameter=8 value=200
//! }
//! "#;
//! let no_images = |path: &str| Err(format!("there is no {path}"));
//! let design = relief_design::parse("dots.kdl", text, &no_images)?;
//!
//! let plan = Plan::new(&design, &NoImages, &Options::default().memory(32 << 20))?;
//! assert!(plan.peak().total() <= 32 << 20);
//!
//! let cancel = Cancel::new();
//! let renderer = Renderer::new(plan, &NoImages, &cancel)?;
//! let mut window = vec![0; 4];
//! let corner = Rect::new(8, 12, 4, 1).ok_or("out of range")?;
//! renderer.read(corner, SamplesMut::Eight(&mut window), &cancel)?;
//! assert_eq!(window, [200, 200, 200, 200]);
//!
//! let mut rows = 0;
//! for band in renderer.bands(&cancel) {
//!     rows += band?.rect.height();
//! }
//! assert_eq!(rows, 480);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cache;
mod cancel;
mod counts;
mod cpu;
mod deal;
mod difference;
mod drawings;
mod error;
#[cfg(feature = "gpu")]
mod gpu;
mod levels;
mod node;
mod nodes;
mod panics;
mod plan;
mod prepared;
mod program;
mod progress;
mod renderer;
pub mod sink;
pub mod source;
mod tiles;
mod why;
mod workers;

pub use cancel::Cancel;
pub use counts::Counts;
pub use difference::{Compared, compare, differing};
pub use drawings::SlowDrawing;
pub use error::Error;
pub use levels::{Effort, Exactness, KnownLevels, MAX_LEVEL, Statistic};
pub use node::{Runs, Summary};
pub use plan::{
    DEFAULT_MEMORY, DevicePlan, Kept, MAX_THREADS, Options, Peak, Plan, PlannedChild, PlannedNode, Shape,
};
pub use prepared::Prepared;
pub use program::MAX_NESTING;
pub use progress::Progress;
#[cfg(feature = "gpu")]
pub use relief_kernels::device::persist_kernels;
pub use relief_kernels::device::{
    DeviceChoice, DeviceId, Inventory, SelectionError, devices, devices_for, select, select_prepared,
};
pub use relief_raster::{Depth, Length, Period, Rect, Sample, ViewMut};
pub use renderer::{Bands, OwnedBand, OwnedSamples, Renderer, SamplesMut};
pub use sink::{Band, Raster, Samples, Sink};
pub use source::{ImageError, ImageSource, NoImages, Picture};
pub use tiles::{Grid, Tile, TileSink};
pub use why::{ExplainedNode, Explanation, explain};
pub use workers::Workers;

/// The page for those who embed the engine, of which all code is tested.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct Embedding;

/// The page for those who build a controller, of which the Rust is tested.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/book/controller.md")]
struct Controller;

/// The page of the package, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
