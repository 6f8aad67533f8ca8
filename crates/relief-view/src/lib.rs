//! Shows a raster that is never stored, over HTTP: tiles of every level with what is proved of them, a page that draws them, Zarr and
//! Deep Zoom for other programs.
//!
//! A [`Server`] shows the designs of one or two [`DesignSource`]s, which say where a design comes from and when it is another one. It
//! computes what is asked for and keeps nothing but what the plans of its renderers hold. All of it stays within
//! [`ServerOptions::memory`].
//!
//! ```no_run
//! use relief_view::{DesignSource, OpenError, Opened, Server, ServerOptions};
//!
//! # fn source() -> Box<dyn DesignSource> { unimplemented!() }
//! let server = Server::bind(vec![source()], ServerOptions::default())?;
//! println!("{}", server.url());
//! server.run()?;
//! # Ok::<(), relief_view::Error>(())
//! ```
//!
//! What there is to ask for stands in `docs/viewer.md`.

// That what computes may be shared by threads is proved through all types of the devices.
#![recursion_limit = "256"]

mod answer;
mod body;
mod dzi;
mod error;
mod events;
mod fault;
mod job;
mod options;
mod page;
mod patient;
mod queue;
mod raster;
mod renderers;
mod request;
mod routes;
mod scene;
mod server;
mod source;
mod stage;
mod why;
mod zarr;

pub use error::Error;
pub use options::ServerOptions;
pub use server::{Server, Stopper};
pub use source::{DesignSource, OpenError, Opened};

/// The page of the package, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
