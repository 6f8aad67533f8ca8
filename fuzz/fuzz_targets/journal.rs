//! Any bytes beside an output: the job is refused, or right at its end.
#![no_main]

#[path = "../record_properties.rs"]
#[allow(dead_code, reason = "each target checks one property")]
mod record_properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| record_properties::journal(bytes));
