//! Only the lines of a job are said to agree with its manifest.
#![no_main]

#[path = "../record_properties.rs"]
#[allow(dead_code, reason = "each target checks one property")]
mod record_properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| record_properties::verified(bytes));
