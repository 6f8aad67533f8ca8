//! Words on a device: made, laid out with a margin, and compared.

use relief_kernels::device::{Buffer, Gpu};

use super::Random;

/// Words that end vectors, units, cubes and grids in every way.
pub(crate) const COUNTS: [usize; 7] = [1, 3, 4, 63, 1_000, 4_099, 70_001];

/// What outputs hold before.
const UNTOUCHED: u32 = 0x5EED_CAFE;

pub(crate) fn words(seed: u64, count: usize) -> Vec<u32> {
    let mut random = Random::new(seed);
    (0..count).map(|_| random.next() ^ random.next() << 11).collect()
}

pub(crate) fn read(gpu: &Gpu, buffer: &Buffer) -> Vec<u32> {
    let bytes = gpu.read(buffer, buffer.words()).wait().unwrap();
    let words = bytes.as_chunks::<4>().0.iter();
    words.map(|word| u32::from_le_bytes(*word)).collect()
}

/// A buffer of whole vectors of four words, with a few more behind.
pub(crate) fn padded(gpu: &Gpu, words: &[u32]) -> Buffer {
    let mut padded = words.to_vec();
    padded.resize(words.len().next_multiple_of(4) + 8, UNTOUCHED);
    gpu.upload(&padded).unwrap()
}

pub(crate) fn target(gpu: &Gpu, count: usize) -> Buffer {
    padded(gpu, &vec![UNTOUCHED; count])
}

/// The words are these, and none is written beyond the last vector of four.
pub(crate) fn holds(gpu: &Gpu, buffer: &Buffer, right: &[u32], what: &str) {
    let found = read(gpu, buffer);
    let at = found.iter().zip(right).position(|(found, right)| found != right);
    assert_eq!(at, None, "{what}: a word of {}", right.len());
    let beyond = &found[right.len().next_multiple_of(4)..];
    assert!(
        beyond.iter().all(|word| *word == UNTOUCHED),
        "{what}: {beyond:x?}"
    );
}
