//! Copies, fills, maps and tables on a device, in every layout, against loops on the host.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod support;

use relief_kernels::copy::gpu as copy;
use relief_kernels::device::{Buffer, DeviceError, Gpu};
use relief_kernels::map::gpu as map;
use relief_kernels::table::gpu as table;
use relief_raster::Depth;

use support::{Random, device};

/// Words that end vectors, units, cubes and grids in every way.
const COUNTS: [usize; 7] = [1, 3, 4, 63, 1_000, 4_099, 70_001];

/// What outputs hold before.
const UNTOUCHED: u32 = 0x5EED_CAFE;

fn words(seed: u64, count: usize) -> Vec<u32> {
    let mut random = Random::new(seed);
    (0..count).map(|_| random.next() ^ random.next() << 11).collect()
}

fn floats(seed: u64, count: usize) -> Vec<f32> {
    let mut random = Random::new(seed);
    let float = |random: &mut Random| random.below(1 << 24) as f32 / 1_024.0 - 8_000.0;
    (0..count).map(|_| float(&mut random)).collect()
}

fn read(gpu: &Gpu, buffer: &Buffer) -> Vec<u32> {
    let bytes = gpu.read(buffer, buffer.words()).wait().unwrap();
    let words = bytes.as_chunks::<4>().0.iter();
    words.map(|word| u32::from_le_bytes(*word)).collect()
}

/// A buffer of whole vectors of four words, with a few more behind.
fn padded(gpu: &Gpu, words: &[u32]) -> Buffer {
    let mut padded = words.to_vec();
    padded.resize(words.len().next_multiple_of(4) + 8, UNTOUCHED);
    gpu.upload(&padded).unwrap()
}

fn target(gpu: &Gpu, count: usize) -> Buffer {
    padded(gpu, &vec![UNTOUCHED; count])
}

/// The words are these, and none is written beyond the last vector of four.
fn holds(gpu: &Gpu, buffer: &Buffer, right: &[u32], what: &str) {
    let found = read(gpu, buffer);
    let at = found.iter().zip(right).position(|(found, right)| found != right);
    assert_eq!(at, None, "{what}: a word of {}", right.len());
    let beyond = &found[right.len().next_multiple_of(4)..];
    assert!(
        beyond.iter().all(|word| *word == UNTOUCHED),
        "{what}: {beyond:x?}"
    );
}

#[test]
fn copies_are_what_is_copied() {
    let Some(gpu) = device() else { return };
    for count in COUNTS {
        let right = words(count as u64, count);
        let from = padded(&gpu, &right);
        let copied = |what: &str, copy: &dyn Fn(&Buffer) -> Result<(), DeviceError>| {
            let to = target(&gpu, count);
            copy(&to).unwrap();
            holds(&gpu, &to, &right, what);
        };
        copied("copy", &|to| copy::copy(&gpu, &from, to, count));
        for tuning in copy::SPACE.all() {
            copied(&format!("{tuning}"), &|to| {
                copy::copy_with(&gpu, tuning, &from, to, count)
            });
        }
        for (planes, vector) in [(1, 1), (7, 2), (512, 4)] {
            copied("sequences", &|to| {
                copy::copy_sequences(&gpu, planes, vector, &from, to, count)
            });
        }
    }
}

#[test]
fn fills_are_one_word_over_and_over() {
    let Some(gpu) = device() else { return };
    for count in COUNTS {
        for tuning in copy::SPACE.all() {
            let to = target(&gpu, count);
            copy::fill_with(&gpu, tuning, &to, count, 0x0BAD_CAFE).unwrap();
            holds(&gpu, &to, &vec![0x0BAD_CAFE; count], &format!("{tuning}"));
        }
    }
}

#[test]
fn sums_and_multiples_are_those_of_floats() {
    let Some(gpu) = device() else { return };
    for count in COUNTS {
        let (a, b) = (floats(1, count), floats(2, count));
        let bits = |floats: &[f32]| floats.iter().map(|v| v.to_bits()).collect::<Vec<u32>>();
        let sums: Vec<u32> = a.iter().zip(&b).map(|(a, b)| (a + b).to_bits()).collect();
        let multiples: Vec<u32> = a.iter().map(|a| (a * -2.5).to_bits()).collect();
        let (a, b) = (padded(&gpu, &bits(&a)), padded(&gpu, &bits(&b)));
        for tuning in map::SPACE.all() {
            let to = target(&gpu, count);
            map::add_with(&gpu, tuning, &a, &b, &to, count).unwrap();
            holds(&gpu, &to, &sums, &format!("sums, {tuning}"));
            let to = target(&gpu, count);
            map::scale_with(&gpu, tuning, &a, -2.5, &to, count).unwrap();
            holds(&gpu, &to, &multiples, &format!("multiples, {tuning}"));
        }
        // In place.
        map::add(&gpu, &a, &b, &a, count).unwrap();
        let found = read(&gpu, &a);
        assert!(found[..count] == sums, "{count} sums in place");
    }
}

#[test]
fn grays_are_weighted_sums_to_the_nearest() {
    let Some(gpu) = device() else { return };
    for colours in [4_usize, 12, 63 * 4, 4_100, 70_000] {
        let rgb = words(colours as u64, 3 * colours / 4);
        let bytes: Vec<u8> = rgb.iter().flat_map(|word| word.to_le_bytes()).collect();
        let gray = |c: &[u8; 3]| {
            let [r, g, b] = c.map(u32::from);
            ((2_126 * r + 7_152 * g + 722 * b + 5_000) / 10_000) as u8
        };
        let grays: Vec<u8> = bytes.as_chunks::<3>().0.iter().map(gray).collect();
        let right: Vec<u32> = grays
            .as_chunks::<4>()
            .0
            .iter()
            .map(|word| u32::from_le_bytes(*word))
            .collect();
        let rgb = padded(&gpu, &rgb);
        for tuning in map::GRAY_SPACE.all() {
            let to = target(&gpu, right.len());
            map::gray_with(&gpu, tuning, &rgb, &to, colours).unwrap();
            holds(&gpu, &to, &right, &format!("{colours} colours, {tuning}"));
        }
    }
}

#[test]
fn tables_are_looked_up_sample_by_sample() {
    let Some(gpu) = device() else { return };
    for depth in [Depth::Eight, Depth::Sixteen] {
        let bits = depth.bits();
        let per = (32 / bits) as usize;
        let sample = |words: &[u32], at: usize| {
            words[at / per] >> (at % per * bits as usize) & (u32::MAX >> (32 - bits))
        };
        let entries = words(7, (1 << bits) / per);
        let on_device = gpu.upload(&entries).unwrap();
        for count in COUNTS {
            let source = words(count as u64, count);
            let looked_up = |word: usize| {
                let entry = |k: usize| sample(&entries, sample(&source, word * per + k) as usize);
                (0..per)
                    .rev()
                    .fold(0, |word, k| (u64::from(word) << bits) as u32 | entry(k))
            };
            let right: Vec<u32> = (0..count).map(looked_up).collect();
            let from = padded(&gpu, &source);
            for tuning in table::SPACE.all() {
                let to = target(&gpu, count);
                table::map_with(&gpu, tuning, depth, &on_device, &from, &to, count).unwrap();
                holds(&gpu, &to, &right, &format!("{depth:?}, {tuning}"));
            }
            // In place.
            table::map(&gpu, depth, &on_device, &from, &from, count).unwrap();
            assert!(
                read(&gpu, &from)[..count] == right,
                "{depth:?}, {count} words in place"
            );
        }
    }
}

#[test]
fn buffers_that_are_too_short_are_refused_whatever_the_count() {
    let Some(gpu) = device() else { return };
    let (short, long) = (gpu.buffer(8).unwrap(), gpu.buffer(1 << 15).unwrap());
    let is_short = |result: Result<(), DeviceError>| {
        assert!(matches!(result, Err(DeviceError::Short { .. })), "{result:?}");
    };
    // Rounding the last of these up overflows.
    for count in [9, usize::MAX - 8, usize::MAX] {
        is_short(copy::copy(&gpu, &short, &long, count));
        is_short(copy::copy(&gpu, &long, &short, count));
        is_short(copy::fill(&gpu, &short, count, 1));
        is_short(map::add(&gpu, &short, &long, &long, count));
        is_short(map::scale(&gpu, &long, 2.0, &short, count));
        is_short(map::gray(&gpu, &long, &short, 4 * count.min(usize::MAX / 4)));
        is_short(table::map(&gpu, Depth::Eight, &long, &short, &long, count));
        is_short(table::map(&gpu, Depth::Sixteen, &short, &long, &long, 4));
    }
}
