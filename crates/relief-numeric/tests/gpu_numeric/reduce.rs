//! Reductions on a device have the bits of those on the CPU.

use relief_kernels::device::Gpu;
use relief_numeric::element::Element;
use relief_numeric::reduce::gpu::{DEFAULT, Rows, reduce, reduce_with, scratch_words};
use relief_numeric::reduce::{BLOCK, Operation, cpu};

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

fn sums(gpu: &Gpu, width: usize, height: usize, units: u32, items: u32) -> Vec<u32> {
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
    reduce_with(gpu, tuning, Operation::Sum, rows, &to, &scratch).unwrap();
    let bytes = gpu.read(&to, height).wait().unwrap();
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect()
}

#[test]
fn sums_of_floats_have_the_bits_of_the_cpu_in_every_layout() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
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
            let found = sums(&gpu, width, height, units, items);
            assert_eq!(
                found, expected,
                "{width} × {height}, {units} units, {items} items"
            );
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let (from, to) = (gpu.buffer(64).unwrap(), gpu.buffer(4).unwrap());
    let refused = |rows: Rows<'_>| {
        let result = reduce(&gpu, Operation::Sum, rows, &to, &to);
        assert!(
            result.as_ref().is_err_and(crate::support::is_refused),
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
