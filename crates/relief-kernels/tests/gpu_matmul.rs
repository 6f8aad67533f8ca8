//! Products of matrices on a device, whose bits are those of the CPU.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod support;

use relief_kernels::device::{DeviceError, Gpu};
use relief_kernels::matmul::cpu;
use relief_kernels::matmul::gpu::{DEFAULT, Rows, SPACE, Shape, multiply, multiply_with};
use relief_kernels::matrix::{Matrix, MatrixMut};
use relief_kernels::policy::Tuning;
use support::Random;

const UNTOUCHED: u32 = 0x7FC0_1234;

/// Numbers of 12 bits in rows with a gap: products of two are exact, so that it does not matter whether a device rounds them.
fn rows_of(rows: u32, columns: u32, seed: u64) -> (Vec<f32>, u32) {
    let pitch = columns.next_multiple_of(4) + 4;
    let mut random = Random::new(seed);
    let value = |random: &mut Random| (random.below(1 << 12) as f32 - 1_500.0) / 4_096.0;
    let mut values: Vec<f32> = (0..rows * pitch).map(|_| value(&mut random)).collect();
    for row in values.chunks_mut(pitch as usize) {
        // What lies behind a row is not to be read.
        row[columns as usize..].fill(f32::NAN);
    }
    values.resize(values.len().max(4), 0.0);
    (values, pitch)
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn is_right(gpu: &Gpu, tuning: Tuning, shape: Shape) {
    let Shape { rows, inner, columns } = shape;
    let (left, left_pitch) = rows_of(rows, inner, 1);
    let (right, right_pitch) = rows_of(inner, columns, 2);
    let matrix = |values, rows, columns, pitch| {
        Matrix::new(values, rows as usize, columns as usize, pitch as usize).unwrap()
    };
    let mut expected = vec![0.0; (rows * columns) as usize];
    let mut scratch = vec![0.0; cpu::scratch_len(inner as usize, columns as usize)];
    cpu::multiply(
        matrix(&left, rows, inner, left_pitch),
        matrix(&right, inner, columns, right_pitch),
        MatrixMut::new(&mut expected, rows as usize, columns as usize, columns as usize).unwrap(),
        &mut scratch,
    )
    .unwrap();

    let pitch = columns.next_multiple_of(4) + 4;
    let words = (rows * pitch).max(4) as usize;
    let (left, right) = (
        gpu.upload(&bits(&left)).unwrap(),
        gpu.upload(&bits(&right)).unwrap(),
    );
    let result = gpu.upload(&vec![UNTOUCHED; words]).unwrap();
    let of = |buffer, pitch| Rows { buffer, pitch };
    let (left, right) = (of(&left, left_pitch), of(&right, right_pitch));
    multiply_with(gpu, tuning, shape, left, right, of(&result, pitch)).unwrap();
    let bytes = gpu.read(&result, words).wait().unwrap();
    let found: Vec<u32> = bytes[..4 * words]
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    let whole = columns.next_multiple_of(4) as usize;
    for (y, found) in found.chunks(pitch as usize).take(rows as usize).enumerate() {
        let expected = bits(&expected[y * columns as usize..][..columns as usize]);
        assert_eq!(
            found[..columns as usize],
            expected,
            "row {y}, {shape:?}, {tuning}"
        );
        assert!(
            found[whole..].iter().all(|word| *word == UNTOUCHED),
            "{shape:?}, {tuning}"
        );
    }
}

const fn shape(rows: u32, inner: u32, columns: u32) -> Shape {
    Shape { rows, inner, columns }
}

#[test]
fn products_have_the_bits_of_the_cpu() {
    let Some(gpu) = support::device() else { return };
    let small = Tuning {
        units: 64,
        items: 64,
        ..DEFAULT
    };
    for shape in [
        shape(1, 1, 1),
        shape(3, 0, 5),
        shape(0, 3, 5),
        shape(5, 3, 0),
        shape(7, 15, 9),
        shape(64, 16, 64),
        shape(65, 33, 70),
        shape(200, 47, 130),
        shape(700, 20, 65),
    ] {
        is_right(&gpu, small, shape);
    }
}

#[test]
fn layouts_compute_the_same() {
    let Some(gpu) = support::device() else { return };
    let mut ran = 0;
    for tuning in SPACE.all() {
        let nothing = gpu.buffer(4).unwrap();
        let of = Rows {
            buffer: &nothing,
            pitch: 0,
        };
        if multiply_with(&gpu, tuning, shape(0, 0, 0), of, of, of).is_ok() {
            is_right(&gpu, tuning, shape(150, 35, 270));
            ran += 1;
        }
    }
    assert!(ran >= 2, "{ran} layouts ran");
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(gpu) = support::device() else { return };
    let (buffer, short) = (gpu.buffer(256).unwrap(), gpu.buffer(4).unwrap());
    let of = |pitch| Rows {
        buffer: &buffer,
        pitch,
    };
    let refused = |shape, left, right, result| {
        let found = multiply(&gpu, shape, left, right, result);
        assert!(
            matches!(found, Err(DeviceError::Unsupported { .. })),
            "{shape:?}: {found:?}"
        );
    };
    refused(shape(16, 16, 17), of(16), of(16), of(20));
    refused(shape(17, 16, 16), of(16), of(16), of(16));
    refused(shape(16, 16, 16), of(16), of(15), of(16));
    refused(
        shape(16, 16, 16),
        of(16),
        of(16),
        Rows {
            buffer: &short,
            pitch: 16,
        },
    );
    refused(
        shape(u32::MAX, u32::MAX, u32::MAX),
        of(u32::MAX - 3),
        of(16),
        of(16),
    );
    multiply(&gpu, shape(16, 16, 16), of(16), of(16), of(16)).unwrap();
}
