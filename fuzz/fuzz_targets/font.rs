//! Any bytes are a font by which a text is drawn within its limits, or refused.
#![no_main]

#[path = "../drawing_properties.rs"]
mod drawing_properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drawing_properties::font(bytes));
