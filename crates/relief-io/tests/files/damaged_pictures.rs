//! Damaged pictures are read or refused: every picture of `corpus/files` with bytes changed, cut out or put in, and what
//! fuzzing kept in `fuzz/corpus/pictures`.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "../../../../fuzz/picture_properties.rs"]
mod picture_properties;

use std::fs;
use std::path::{Path, PathBuf};

use picture_properties::{picture, zarr};

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .map(|entries| entries.map(|entry| entry.unwrap().path()).collect())
        .unwrap_or_default();
    files.sort();
    files
}

#[test]
fn what_fuzzing_kept_is_read_or_refused() {
    for file in files("../../fuzz/corpus/pictures") {
        picture(&fs::read(file).unwrap());
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }
}

fn damage(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    let place = numbers.below(bytes.len());
    match numbers.below(8) {
        0 => bytes.truncate(place),
        1 => {
            let end = (place + 1 + numbers.below(40)).min(bytes.len());
            bytes.drain(place..end);
        }
        2 => {
            let part: Vec<u8> = bytes
                .iter()
                .skip(numbers.below(bytes.len()))
                .take(1 + numbers.below(40))
                .copied()
                .collect();
            bytes.splice(place..place, part);
        }
        3 => {
            // Numbers at which arithmetic breaks.
            let odd = [0_u32, 1, u32::MAX, 1 << 31, (1 << 31) - 1, 1 << 16, 0xFFFF];
            let number = odd[numbers.below(odd.len())];
            let number = if numbers.below(2) == 0 {
                number.to_le_bytes()
            } else {
                number.to_be_bytes()
            };
            let count = 1 << numbers.below(3);
            for (to, from) in bytes.iter_mut().skip(place).take(count).zip(number) {
                *to = from;
            }
        }
        _ => {
            if let Some(byte) = bytes.get_mut(place) {
                *byte = numbers.below(256) as u8;
            }
        }
    }
}

#[test]
fn a_damaged_zarr_array_is_read_or_refused_without_a_panic() {
    for file in files("../../fuzz/corpus/zarr") {
        let whole = fs::read(file).unwrap();
        zarr(&whole);
        let mut numbers = Numbers(7);
        for _ in 0..100 {
            let mut bytes = whole.clone();
            for _ in 0..=numbers.below(3) {
                damage(&mut bytes, &mut numbers);
            }
            zarr(&bytes);
        }
    }
}

#[test]
fn a_damaged_picture_is_read_or_refused_without_a_panic() {
    // More rounds by hand: a fuzzer that needs no other compiler.
    let rounds = std::env::var("RELIEF_ROUNDS").map_or(6, |rounds| rounds.parse().unwrap());
    let mut numbers = Numbers(1);
    for file in files("tests/corpus/files") {
        let whole = fs::read(&file).unwrap();
        for _ in 0..rounds {
            let mut bytes = whole.clone();
            for _ in 0..=numbers.below(4) {
                damage(&mut bytes, &mut numbers);
            }
            picture(&bytes);
        }
    }
}
