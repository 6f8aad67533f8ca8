//! Any bytes are a layout that is drawn within its limits, or refused.
#![no_main]

#[path = "../drawing_properties.rs"]
mod drawing_properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drawing_properties::oasis(bytes));
