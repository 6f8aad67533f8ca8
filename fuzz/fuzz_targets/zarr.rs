//! Any bytes as the metadata and a chunk of a Zarr array are read, or refused.
#![no_main]

#[path = "../picture_properties.rs"]
mod picture_properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| picture_properties::zarr(bytes));
