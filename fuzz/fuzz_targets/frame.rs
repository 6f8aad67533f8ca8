//! Any bytes off the wire are a frame, a part of one, or refused; its payload is a message or refused.
#![no_main]

#[path = "../wire_properties.rs"]
mod wire_properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wire_properties::frame(bytes));
