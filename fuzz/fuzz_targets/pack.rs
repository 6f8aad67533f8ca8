//! Any bytes are a packed job, whose files are those of its list, or refused.
#![no_main]

#[path = "../pack_properties.rs"]
mod pack_properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pack_properties::packed(bytes));
