//! A small design has the same samples however it is computed.
#![no_main]

#[path = "../properties.rs"]
#[allow(dead_code, reason = "each target checks one property")]
mod properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| properties::whole_design(bytes));
