//! Histograms on a device against counting one by one.

use relief_kernels::device::Gpu;
use relief_kernels::policy::Tuning;
use relief_numeric::histogram::even::Bins;
use relief_numeric::histogram::gpu::even::{even, even_count_words, even_scratch_words};
use relief_numeric::histogram::gpu::{
    DEFAULT, Route, SPACE, Samples, count_words, histogram, histogram_with, scratch_words,
};

use crate::support::{Random, device};

/// Which values there are.
#[derive(Clone, Copy, Debug)]
enum Values {
    Any,
    One(u32),
    /// The first, and as often the one so far from it.
    Two(u32, u32),
    /// Runs of 40 equal samples.
    Runs,
}

fn is_right(gpu: &Gpu, tuning: Tuning, bits: u32, len: usize, values: Values) {
    let usual = if bits == 8 { Route::Lanes } else { Route::EIGHTHS };
    // What few samples take, and what many do.
    let (few, many) = (Route::fitting(gpu, bits, 0), Route::fitting(gpu, bits, u64::MAX));
    let routes = [few, many, Route::Memory, usual];
    for (k, route) in routes.into_iter().enumerate() {
        if !routes[..k].contains(&route) {
            is_right_by(gpu, tuning, route, bits, len, values);
        }
    }
}

fn is_right_by(gpu: &Gpu, tuning: Tuning, route: Route, bits: u32, len: usize, values: Values) {
    let mut random = Random::new(len as u64 + u64::from(bits));
    let mut held = 0;
    let samples: Vec<u32> = (0..len)
        .map(|i| match values {
            Values::Any => random.next() & ((1 << bits) - 1),
            Values::One(value) => value,
            Values::Two(value, distance) => value + (i as u32 % 2) * distance,
            Values::Runs => {
                if i % 40 == 0 {
                    held = random.next() & ((1 << bits) - 1);
                }
                held
            }
        })
        .collect();
    let mut expected = vec![0_u32; count_words(bits)];
    samples
        .iter()
        .for_each(|sample| expected[*sample as usize * 2] += 1);
    // What follows the samples is not 0, which would be counted for a sample.
    let mut words = vec![0x7777_7777_u32; (len * bits as usize).div_ceil(128) * 4 + 4];
    for (i, sample) in samples.iter().enumerate() {
        let (word, shift) = (i * bits as usize / 32, i * bits as usize % 32);
        words[word] = words[word] & !((u32::MAX >> (32 - bits)) << shift) | sample << shift;
    }
    let from = gpu.upload(&words).unwrap();
    let counts = gpu.upload(&vec![0xA5A5_A5A5; count_words(bits)]).unwrap();
    let scratch = gpu.buffer(scratch_words(bits, len as u64) as usize).unwrap();
    let samples = Samples {
        buffer: &from,
        bits,
        len: len as u64,
    };
    histogram_with(gpu, tuning, route, samples, &counts, &scratch).unwrap();
    let bytes = gpu.read(&counts, count_words(bits)).wait().unwrap();
    let found: Vec<u32> = bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect();
    let first = found
        .iter()
        .zip(&expected)
        .position(|(found, right)| found != right);
    assert_eq!(
        first, None,
        "{len} samples of {bits} bits, {values:?}, {tuning}, {route:?}"
    );
}

#[test]
fn samples_of_any_number_and_distribution_are_counted() {
    let Some(gpu) = device() else { return };
    for bits in [8, 16] {
        for len in [0, 1, 15, 16, 17, 4_099, 300_001] {
            for values in [Values::Any, Values::One(0), Values::One(255), Values::Runs] {
                is_right(&gpu, DEFAULT, bits, len, values);
            }
        }
    }
}

#[test]
fn every_layout_counts_the_same() {
    let Some(gpu) = device() else { return };
    for bits in [8, 16] {
        for tuning in SPACE.all() {
            is_right(&gpu, tuning, bits, 100_003, Values::Any);
        }
    }
}

#[test]
fn counters_that_wrap_around_lose_nothing() {
    let Some(gpu) = device() else { return };
    for bits in [8, 16] {
        for of in [8, 16, 32] {
            // A cube for all values, or several that share them.
            for bytes in [4 << 10, 32 << 10] {
                let route = Route::Values { bits: of, bytes };
                let fits = bits == 8 || bytes > 4 << 10;
                for values in [
                    Values::One(255),
                    Values::One(1 << (bits - 1)),
                    Values::Runs,
                    Values::Any,
                ] {
                    // More than a counter of 16 bits holds; planes that agree, and the rest.
                    let len = if fits { 400_013 } else { 5_003 };
                    is_right_by(&gpu, DEFAULT, route, bits, len, values);
                }
            }
        }
    }
    // Neighbours of a word wrap around, the lower into the upper.
    for distance in [64, 128, 1 << 13, 1 << 14] {
        let route = Route::Values {
            bits: 8,
            bytes: 32 << 10,
        };
        is_right_by(&gpu, DEFAULT, route, 16, 400_009, Values::Two(7, distance));
    }
}

/// Numbers of all sizes, among them those next to edges, and of floats those outside and what is no number.
fn bits(bins: &Bins, len: usize, float: bool, low: i64, width: u64) -> Vec<u32> {
    let mut random = Random::new(len as u64 + width);
    let count = u64::from(bins.count());
    (0..len)
        .map(|i| match (i % 5, float) {
            (0, _) => random.next(),
            (k, false) => {
                let edge = (u64::from(random.next()) % count * width).div_ceil(count) as i64;
                (low + edge + k as i64 - 3) as i32 as u32
            }
            (_, true) => {
                let part = f64::from(random.next()) / f64::from(u32::MAX) * 1.2 - 0.1;
                ((low as f64 + part * width as f64) as f32).to_bits()
            }
        })
        .collect()
}

#[test]
fn numbers_lie_in_the_bins_that_the_cpu_finds() {
    let Some(gpu) = device() else { return };
    for (low, width, count, float) in [
        (-5, 10_u64, 4, true),
        (0, 1, 256, true),
        (-1_000_000, 2_000_000, 4_096, true),
        (-7, 100, 7, false),
        (i64::from(i32::MIN), u64::from(u32::MAX), 4_093, false),
        (-(1 << 29), 1 << 30, 1_000, false),
        (3, 2, 50, false),
    ] {
        let bins = match float {
            true => Bins::f32(low as f32, (low + width as i64) as f32, count),
            false => Bins::i32(low as i32, (low + width as i64) as i32, count),
        };
        let bins = bins.unwrap();
        for len in [0, 1, 3, 4, 4_099, 50_001] {
            let numbers = bits(&bins, len, float, low, width);
            let mut expected = vec![0_u64; bins.counters()];
            for number in &numbers {
                expected[bins.counter(*number) as usize] += 1;
            }
            let mut words = numbers.clone();
            words.resize(len.next_multiple_of(4) + 4, 0x7777_7777);
            let from = gpu.upload(&words).unwrap();
            let counts = gpu.upload(&vec![0xA5A5_A5A5; even_count_words(&bins)]).unwrap();
            let scratch = gpu
                .buffer(even_scratch_words(&bins, len as u64) as usize)
                .unwrap();
            even(&gpu, &bins, &from, len as u64, &counts, &scratch).unwrap();
            let bytes = gpu.read(&counts, 2 * bins.counters()).wait().unwrap();
            let found = bytes
                .chunks_exact(8)
                .map(|count| u64::from_le_bytes(count.try_into().unwrap()));
            let first = found.zip(&expected).position(|(found, right)| found != *right);
            assert_eq!(first, None, "{len} numbers, {bins:?}");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(gpu) = device() else { return };
    let buffer = gpu.buffer(1_024).unwrap();
    let refused = |bits, len| {
        let samples = Samples {
            buffer: &buffer,
            bits,
            len,
        };
        histogram(&gpu, samples, &buffer, &buffer).is_err()
    };
    assert!(refused(8, 4_097));
    assert!(refused(12, 10));
    assert!(refused(16, 10), "the counts are too short");
    assert!(refused(8, u64::MAX));
}
