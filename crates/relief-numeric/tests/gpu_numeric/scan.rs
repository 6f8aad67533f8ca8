//! Scans on a device against a loop on the host.

use relief_kernels::device::{Buffer, DeviceError, Gpu};
use relief_kernels::policy::Tuning;
use relief_numeric::element::Element;
use relief_numeric::scan::Kind;
use relief_numeric::scan::gpu::{Route, SPACE, default, scan, scan_each_row, scan_with, scratch_words};
use relief_numeric::transpose::gpu::Matrix;

use crate::support::{Random, device};

/// Numbers that end vectors, units, tiles and shares in every way.
const LENS: [usize; 7] = [1, 3, 513, 1_000, 8_192, 70_001, 300_007];

/// Whole floats, whose sums are exact in any order; and any integers.
fn numbers(element: Element, count: usize) -> Vec<u32> {
    let mut random = Random::new(count as u64);
    let mut number = || match element {
        Element::U8 => random.below(256),
        Element::U16 => random.below(1 << 16),
        Element::U32 | Element::I32 => random.next() << 1 ^ random.next(),
        Element::F32 => (random.below(9) as f32).to_bits(),
    };
    (0..count).map(|_| number()).collect()
}

/// Numbers packed into words.
fn packed(element: Element, numbers: &[u32]) -> Vec<u32> {
    let bits = element.bits();
    let mut words = vec![0_u32; element.words(numbers.len() as u64) as usize];
    for (at, number) in numbers.iter().enumerate() {
        let at = at * bits as usize;
        words[at / 32] |= number << (at % 32);
    }
    words
}

fn sums(kind: Kind, element: Element, numbers: &[u32]) -> Vec<u32> {
    let mut sum = 0_u32;
    let plus = |sum: u32, number: u32| match element {
        Element::F32 => (f32::from_bits(sum) + f32::from_bits(number)).to_bits(),
        _ => sum.wrapping_add(number),
    };
    let step = |number: &u32| {
        let before = sum;
        sum = plus(sum, *number);
        match kind {
            Kind::Inclusive => sum,
            Kind::Exclusive => before,
        }
    };
    numbers.iter().map(step).collect()
}

fn read(gpu: &Gpu, buffer: &Buffer, words: usize) -> Vec<u32> {
    let bytes = gpu.read(buffer, words).wait().unwrap();
    let words = bytes.as_chunks::<4>().0.iter();
    words.map(|word| u32::from_le_bytes(*word)).collect()
}

/// A scan by one route in one layout is that of the loop.
fn is_right(gpu: &Gpu, tuning: Tuning, route: Route, element: Element, len: usize) {
    let numbers = numbers(element, len);
    let from = gpu.upload(&packed(element, &numbers)).unwrap();
    let scratch = gpu.buffer(scratch_words(len as u64)).unwrap();
    for kind in [Kind::Inclusive, Kind::Exclusive] {
        let to = gpu.buffer(len.next_multiple_of(4)).unwrap();
        scan_with(
            gpu, tuning, route, kind, element, len as u64, &from, &to, &scratch,
        )
        .unwrap();
        let right = sums(kind, element, &numbers);
        assert!(
            read(gpu, &to, len) == right,
            "{len} {element:?}, {kind:?}, {route:?}, {tuning}"
        );
    }
}

#[test]
fn sums_are_those_of_a_loop_for_all_numbers() {
    let Some(gpu) = device() else { return };
    for element in Element::ALL {
        for len in LENS {
            is_right(&gpu, default(element), Route::fitting(gpu.report()), element, len);
            is_right(&gpu, default(element), Route::ReduceThenScan, element, len);
        }
    }
}

#[test]
fn layouts_compute_the_same() {
    let Some(gpu) = device() else { return };
    for tuning in SPACE.all() {
        is_right(&gpu, tuning, Route::ReduceThenScan, Element::U32, 70_001);
    }
}

#[test]
fn a_look_back_is_right_where_threads_may_wait_and_refused_elsewhere() {
    let Some(gpu) = device() else { return };
    if Route::fitting(gpu.report()) == Route::LookBack {
        return is_right(
            &gpu,
            default(Element::U32),
            Route::LookBack,
            Element::U32,
            300_007,
        );
    }
    let buffer = gpu.buffer(4_096).unwrap();
    let [to, scratch] = [(); 2].map(|()| gpu.buffer(8_192).unwrap());
    let (tuning, kind) = (default(Element::U32), Kind::Inclusive);
    let refused = scan_with(
        &gpu,
        tuning,
        Route::LookBack,
        kind,
        Element::U32,
        4_096,
        &buffer,
        &to,
        &scratch,
    );
    assert!(
        matches!(refused, Err(DeviceError::Unsupported { .. })),
        "{refused:?}"
    );
}

#[test]
fn rows_are_scanned_apart() {
    let Some(gpu) = device() else { return };
    for (width, height) in [(1, 1), (3, 70), (1_000, 9), (5_000, 3)] {
        let pitch = (width as u32).next_multiple_of(4) + 4;
        let numbers: Vec<Vec<u32>> = (0..height)
            .map(|y| numbers(Element::U32, width + y)[..width].to_vec())
            .collect();
        let mut words = vec![7; pitch as usize * height];
        for (row, numbers) in words.chunks_mut(pitch as usize).zip(&numbers) {
            row[..width].copy_from_slice(numbers);
        }
        let (from, to) = (gpu.upload(&words).unwrap(), gpu.buffer(words.len()).unwrap());
        let matrix = |buffer| Matrix { buffer, pitch };
        let size = (width as u32, height as u32);
        scan_each_row(
            &gpu,
            Kind::Inclusive,
            Element::U32,
            size,
            matrix(&from),
            matrix(&to),
        )
        .unwrap();
        let found = read(&gpu, &to, words.len());
        for (row, numbers) in found.chunks(pitch as usize).zip(&numbers) {
            assert!(
                row[..width] == sums(Kind::Inclusive, Element::U32, numbers),
                "{width} × {height}"
            );
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(gpu) = device() else { return };
    let [from, to] = [(); 2].map(|()| gpu.buffer(1_024).unwrap());
    let scratch = gpu.buffer(scratch_words(1_024)).unwrap();
    let run = |len, from: &Buffer, to: &Buffer, scratch: &Buffer| {
        scan(&gpu, Kind::Inclusive, Element::U32, len, from, to, scratch)
    };
    assert!(run(1_025, &from, &to, &scratch).is_err());
    assert!(run(u64::MAX, &from, &to, &scratch).is_err());
    assert!(run(1_024, &from, &to, &to).is_err());
    for (to, scratch) in [(&from, &scratch), (&scratch, &scratch)] {
        let shared = run(1_024, &from, to, scratch);
        assert!(matches!(shared, Err(DeviceError::Overlap { .. })), "{shared:?}");
    }
    run(1_024, &from, &to, &scratch).unwrap();
}
