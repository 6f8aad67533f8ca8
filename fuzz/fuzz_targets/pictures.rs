//! Any bytes in place of a picture are read as one, or refused.
#![no_main]

#[path = "../picture_properties.rs"]
mod picture_properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| picture_properties::picture(bytes));
