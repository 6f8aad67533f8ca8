//! From windows of a raster to the lines of a machine.
//!
//! A [`Scan`] says how a machine wants the raster: which corner first, along rows or columns, turned or mirrored, one
//! way or back and forth, in which order, in how many passes, with how many bits. A [`Program`] is a scan checked for
//! one raster: it knows the number and the size of all lines without computing any. [`Lines`] makes any run of lines
//! in bounded memory from [`Windows`] of the raster, so that a job can begin anywhere.
//!
//! The bytes of a line depend on the raster, the scan and the [`Tables`] alone: not on the run it is made in, on
//! memory or on threads.
//!
//! # Order
//!
//! The raster is mirrored, then turned clockwise. Its pixels S(i, j) are then counted from the start corner: i along
//! a line, j from line to line. A [`Stripe`] covers a part of all lines, a [`Swath`] several lines in one *travel* of
//! the head; a travel is what a machine line holds. All travels of a stripe come in the order of `interleave`, then
//! the next stripe, and after the last stripe the next pass.

mod covered;
mod diffusion_state;
mod error;
mod gcode;
mod halftone;
mod layers;
mod lines;
mod packing;
mod passes;
mod path;
mod program;
pub mod runs;
mod screened;
mod symmetry;
mod table;
mod windows;

pub use covered::{Area, Covered};
pub use diffusion_state::DiffusionState;
pub use error::Error;
pub use gcode::{GcodeLine, GcodeProgram};
pub use halftone::{bayer, blue_noise, blue_noise_of_256};
pub use layers::{Layered, Layers};
pub use lines::{Block, Lines};
pub use packing::unpack;
pub use path::Travel;
pub use program::{Encoding, Program};
pub use relief_design::scan::{
    Axis, BitOrder, Bits, ByteOrder, Corner, Dialect, Direction, Dot, Gcode, Halftone, Interleave, Laser,
    Mirror, Origin, Packing, PassAxes, Passes, Polarity, Quarters, Scan, Screen, Stripe, Swath, Sweep, Zone,
};
pub use screened::Screened;
pub use table::{Table, Tables};
pub use windows::Windows;

/// The page of the package, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
