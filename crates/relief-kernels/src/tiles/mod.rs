//! Tiles: a plane on a device from those of its tiles that hold more than one sample.
//!
//! What the host computes for a device is often empty for the most part: a drawing with a few marks, a mesh in a large raster. The
//! tiles of one sample come as a word each, the others packed one after the other, so that the bus carries what there is and the
//! memory of the device does the rest.

pub mod gpu;
