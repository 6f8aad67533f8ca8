//! Reductions on a device have the bits of those on the CPU.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod support;

use relief_kernels::device::{DeviceError, Gpu};
use relief_kernels::element::Element;
use relief_kernels::reduce::gpu::{DEFAULT, Route, Rows, reduce, reduce_with, scratch_words};
use relief_kernels::reduce::{BLOCK, Operation, cpu};

/// Numbers of many sizes and both signs, whose sums depend on their order.
fn numbers(len: usize) -> Vec<f32> {
    let number = |i: usize| {
        let bits = (i as u32).wrapping_mul(2_654_435_761);
        (f32::from((bits >> 16) as u16) - 30_000.0) * f32::from((bits & 0xff) as u8)
    };
    (0..len).map(number).collect()
}

fn words(values: &[f32]) -> Vec<u32> {
    let mut words: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
    // What follows is not to be read.
    words.resize(values.len().next_multiple_of(4), 0x7fc0_0000);
    words
}

fn sums(gpu: &Gpu, route: Route, width: usize, height: usize, units: u32, items: u32) -> Vec<u32> {
    let rows = numbers(width * height);
    let packed: Vec<u32> = rows.chunks(width).flat_map(words).collect();
    let from = gpu.upload(&packed).unwrap();
    let scratch = gpu
        .buffer(scratch_words(Element::F32, width as u64, height as u32))
        .unwrap();
    let to = gpu.buffer(height).unwrap();
    let rows = Rows {
        buffer: &from,
        element: Element::F32,
        width: width as u64,
        height: height as u32,
        pitch: width.next_multiple_of(4) as u64,
    };
    let tuning = relief_kernels::policy::Tuning {
        units,
        items,
        ..DEFAULT
    };
    reduce_with(gpu, tuning, route, Operation::Sum, rows, &to, &scratch).unwrap();
    let bytes = gpu.read(&to, height).wait().unwrap();
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect()
}

#[test]
fn sums_of_floats_have_the_bits_of_the_cpu_in_every_layout() {
    let Some(gpu) = support::device() else { return };
    for (units, items) in [(256, 8), (64, 1), (128, 16)] {
        for (width, height) in [
            (1, 3),
            (5, 2),
            (99, 9),
            (1_024, 2),
            (1_025, 3),
            (BLOCK, 1),
            (3 * BLOCK + 777, 2),
        ] {
            let expected: Vec<u32> = numbers(width * height)
                .chunks(width)
                .map(|row| cpu::sum(row).to_bits())
                .collect();
            let found = sums(&gpu, Route::Blocks, width, height, units, items);
            assert_eq!(
                found, expected,
                "{width} × {height}, {units} units, {items} items"
            );
        }
    }
}

#[test]
fn blocks_in_turns_have_the_bits_of_blocks_at_once() {
    let Some(gpu) = support::device() else { return };
    let (width, height) = (1_030 * BLOCK + 777, 1);
    let expected = [cpu::sum(&numbers(width)).to_bits()];
    assert_eq!(sums(&gpu, Route::Blocks, width, height, 256, 8), expected);
    for ahead in [false, true] {
        for (units, items) in [(256, 8), (64, 2)] {
            let found = sums(&gpu, Route::Turns { ahead }, width, height, units, items);
            assert_eq!(found, expected, "{units} units, {items} items, ahead: {ahead}");
        }
    }
}

#[test]
fn sums_of_turns_do_not_overflow_and_their_least_is_the_least() {
    let Some(gpu) = support::device() else { return };
    // More than 1 024 blocks of 32 768 numbers: a turn of two of them exceeds 32 bits.
    let len = 1_100 * 32_768 + 99;
    let mut words = vec![u32::MAX; len / 2 + 16];
    words[17_000_000] = 0x0007_ffff;
    let from = gpu.upload(&words).unwrap();
    let rows = Rows::one(&from, Element::U16, len as u64);
    let scratch = gpu.buffer(scratch_words(Element::U16, len as u64, 1)).unwrap();
    let to = gpu.buffer(4).unwrap();
    let result = |operation| {
        let route = Route::Turns { ahead: true };
        reduce_with(&gpu, DEFAULT, route, operation, rows, &to, &scratch).unwrap();
        let bytes = gpu.read(&to, 2).wait().unwrap();
        u64::from_le_bytes(bytes[..8].try_into().unwrap())
    };
    assert_eq!(result(Operation::Sum), 0xffff * (len as u64 - 1) + 7);
    assert_eq!(result(Operation::Least) as u32, 7);
    assert_eq!(result(Operation::PlaceOfLeast), 34_000_001);
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(gpu) = support::device() else { return };
    let (from, to) = (gpu.buffer(64).unwrap(), gpu.buffer(4).unwrap());
    let refused = |rows: Rows<'_>| {
        let result = reduce(&gpu, Operation::Sum, rows, &to, &to);
        assert!(
            matches!(result, Err(DeviceError::Unsupported { .. })),
            "{result:?}"
        );
    };
    refused(Rows::one(&from, Element::U32, 65));
    refused(Rows::one(&from, Element::U32, u64::MAX));
    refused(Rows {
        height: 3,
        pitch: u64::MAX - 3,
        ..Rows::one(&from, Element::U32, 4)
    });
    // More results than there is room for.
    refused(Rows {
        height: 3,
        pitch: 4,
        ..Rows::one(&from, Element::U32, 4)
    });
    reduce(&gpu, Operation::Sum, Rows::one(&from, Element::U32, 64), &to, &to).unwrap();
}
