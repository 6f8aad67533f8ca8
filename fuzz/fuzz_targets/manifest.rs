//! Any bytes are a manifest that reads the same when it is written, or refused.
#![no_main]

#[path = "../record_properties.rs"]
#[allow(dead_code, reason = "each target checks one property")]
mod record_properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| record_properties::manifest(bytes));
