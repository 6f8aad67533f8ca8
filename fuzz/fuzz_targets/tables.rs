//! Any text is a table or refused.
#![no_main]

#[path = "../table_properties.rs"]
mod table_properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| table_properties::table(bytes));
