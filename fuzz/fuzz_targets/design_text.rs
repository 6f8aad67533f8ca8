//! Any text is read and laid out anew.
#![no_main]

#[path = "../properties.rs"]
#[allow(dead_code, reason = "each target checks one property")]
mod properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| properties::design_text(bytes));
