//! Products of matrices on a device, whose bits are those of the CPU.

use crate::support::Random;
use relief_kernels::device::{DeviceError, Gpu};
use relief_kernels::policy::Tuning;
use relief_numeric::matmul::gpu::{
    DEFAULT, Half, Rows, SPACE, Shape, has_matrix_instructions, multiply, multiply_halves, multiply_with,
};
use relief_numeric::matmul::{bf16, cpu, f16};
use relief_numeric::matrix::{Matrix, MatrixMut};

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
    let Some(gpu) = crate::support::device() else {
        return;
    };
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
    let Some(gpu) = crate::support::device() else {
        return;
    };
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
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let (buffer, short) = (gpu.buffer(256).unwrap(), gpu.buffer(4).unwrap());
    let target = gpu.buffer(256).unwrap();
    let of = |pitch| Rows {
        buffer: &buffer,
        pitch,
    };
    let to = |pitch| Rows {
        buffer: &target,
        pitch,
    };
    let refused = |shape, left, right, result| {
        let found = multiply(&gpu, shape, left, right, result);
        assert!(
            found.as_ref().is_err_and(crate::support::is_refused),
            "{shape:?}: {found:?}"
        );
    };
    refused(shape(16, 16, 17), of(16), of(16), to(20));
    refused(shape(17, 16, 16), of(16), of(16), to(16));
    refused(shape(16, 16, 16), of(16), of(15), to(16));
    // A result in the memory of an operand.
    for (left, right) in [(of(16), to(16)), (to(16), of(16))] {
        let found = multiply(&gpu, shape(16, 16, 16), left, right, to(16));
        assert!(matches!(found, Err(DeviceError::Overlap { .. })), "{found:?}");
    }
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
        to(16),
    );
    multiply(&gpu, shape(16, 16, 16), of(16), of(16), to(16)).unwrap();
}

/// Small integers, whose products and sums are exact in any order.
fn integers(count: u32, seed: u64) -> Vec<f32> {
    let mut random = Random::new(seed);
    (0..count).map(|_| random.below(17) as f32 - 8.0).collect()
}

fn packed(values: &[f32], half: Half) -> Vec<u32> {
    let bits = |value: &f32| match half {
        Half::F16 => u32::from(f16::from_f32(*value).to_bits()),
        Half::Bf16 => u32::from(bf16::from_f32(*value).to_bits()),
    };
    values
        .chunks(2)
        .map(|two| bits(&two[0]) | bits(&two[1]) << 16)
        .collect()
}

#[test]
fn products_of_halves_are_exact_where_all_sums_are() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    for half in [Half::F16, Half::Bf16] {
        let nothing = gpu.buffer(4).unwrap();
        let of = Rows {
            buffer: &nothing,
            pitch: 0,
        };
        if !has_matrix_instructions(&gpu, half) {
            let found = multiply_halves(&gpu, half, shape(1, 0, 1), of, of, of);
            assert!(matches!(found, Err(DeviceError::Unsupported { .. })), "{found:?}");
            continue;
        }
        for shape in [
            shape(1, 1, 1),
            shape(3, 0, 6),
            shape(5, 7, 9),
            shape(128, 64, 256),
            shape(130, 200, 270),
            shape(300, 1_000, 77),
            shape(1_500, 70, 600),
        ] {
            halves_are_right(&gpu, half, shape);
        }
    }
}

fn halves_are_right(gpu: &Gpu, half: Half, shape: Shape) {
    let Shape { rows, inner, columns } = shape;
    // Behind each row lie numbers that are not to be read.
    let pitches = [inner, columns].map(|width| width.next_multiple_of(8) + 8);
    let [mut left, mut right] = [(rows, pitches[0], 1), (inner, pitches[1], 2)]
        .map(|(rows, pitch, seed)| integers(rows * pitch, seed));
    for (values, pitch, width) in [(&mut left, pitches[0], inner), (&mut right, pitches[1], columns)] {
        for row in values.chunks_mut(pitch as usize) {
            row[width as usize..].fill(f32::NAN);
        }
        values.resize(values.len().max(8), 0.0);
    }
    let pitch = columns.next_multiple_of(4) + 4;
    let words = (rows * pitch) as usize;
    let uploaded = [&left, &right].map(|values| gpu.upload(&packed(values, half)).unwrap());
    let result = gpu.upload(&vec![UNTOUCHED; words]).unwrap();
    let of = |buffer, pitch| Rows { buffer, pitch };
    multiply_halves(
        gpu,
        half,
        shape,
        of(&uploaded[0], pitches[0] / 2),
        of(&uploaded[1], pitches[1] / 2),
        of(&result, pitch),
    )
    .unwrap();
    let bytes = gpu.read(&result, words).wait().unwrap();
    let word = |at: usize| {
        u32::from_le_bytes([
            bytes[4 * at],
            bytes[4 * at + 1],
            bytes[4 * at + 2],
            bytes[4 * at + 3],
        ])
    };
    for y in 0..rows {
        for x in 0..columns {
            let sum: f32 = (0..inner)
                .map(|k| left[(y * pitches[0] + k) as usize] * right[(k * pitches[1] + x) as usize])
                .sum();
            let found = f32::from_bits(word((y * pitch + x) as usize));
            assert_eq!(found, sum, "({y}, {x}) of {shape:?}, {half:?}");
        }
        for x in columns.next_multiple_of(2)..pitch {
            assert_eq!(
                word((y * pitch + x) as usize),
                UNTOUCHED,
                "({y}, {x}) of {shape:?}"
            );
        }
    }
}
