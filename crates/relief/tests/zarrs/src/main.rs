//! Reads windows of Zarr stores by the crate `zarrs`: requests and answers as those of `readers.py`.
//!
//! ```text
//! cargo build --manifest-path crates/relief/tests/zarrs/Cargo.toml --target-dir target/zarrs
//! RELIEF_ZARRS=target/zarrs/debug/relief-read-by-zarrs RELIEF_READERS=… cargo test -p relief --test command readers::
//! ```

use std::error::Error;
use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use zarrs::array::{Array, ArraySubset, data_type};
use zarrs::filesystem::FilesystemStore;

fn main() -> Result<(), Box<dyn Error>> {
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let answer = read(&request).unwrap_or_else(|error| json!({"error": error.to_string()}));
        println!("{answer}");
    }
    Ok(())
}

fn read(request: &Value) -> Result<Value, Box<dyn Error>> {
    let text = |name: &str| request[name].as_str().ok_or("a request has a path and an output");
    let store = Arc::new(FilesystemStore::new(text("path")?)?);
    let array = Array::open(store, "/")?;
    let [height, width] = *array.shape() else {
        return Err("an array of two dimensions is expected".into());
    };
    let window = match request["window"].as_array() {
        None => [0, 0, width, height],
        Some(sides) => {
            let sides: Option<Vec<u64>> = sides.iter().map(Value::as_u64).collect();
            sides.and_then(|sides| sides.try_into().ok()).ok_or("a window has four numbers")?
        }
    };
    let [x, y, width, height] = window;
    let subset = ArraySubset::new_with_ranges(&[y..y + height, x..x + width]);
    let samples: Vec<u16> = if *array.data_type() == data_type::uint8() {
        let samples: Vec<u8> = array.retrieve_array_subset(&subset)?;
        samples.into_iter().map(u16::from).collect()
    } else {
        array.retrieve_array_subset(&subset)?
    };
    let bytes: Vec<u8> = samples.into_iter().flat_map(u16::to_le_bytes).collect();
    std::fs::write(Path::new(text("out")?), bytes)?;
    Ok(json!({"size": [width, height]}))
}
