//! The commands, one file each.

pub(crate) mod check;
pub(crate) mod devices;
pub(crate) mod diff;
pub(crate) mod digest;
pub(crate) mod export;
pub(crate) mod fmt;
pub(crate) mod gcode;
pub(crate) mod halftone;
pub(crate) mod lab;
pub(crate) mod layers;
pub(crate) mod pack;
pub(crate) mod plan;
pub(crate) mod prepare;
pub(crate) mod receive;
pub(crate) mod reference;
pub(crate) mod render;
mod room;
pub(crate) mod stats;
pub(crate) mod stream;
pub(crate) mod told;
pub(crate) mod verify;
#[cfg(feature = "view")]
pub(crate) mod view;
pub(crate) mod why;
