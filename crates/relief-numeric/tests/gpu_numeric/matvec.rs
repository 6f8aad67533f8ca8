//! Products of a matrix and a vector on a device, whose bits are those of the CPU.

use crate::support::Random;
use relief_kernels::device::Gpu;
use relief_kernels::policy::Tuning;
use relief_numeric::matrix;
use relief_numeric::matvec::gpu::{
    COLUMNS_DEFAULT, COLUMNS_SPACE, Matrix, ROWS_DEFAULT, ROWS_SPACE, columns_scratch_words, matrix_vector,
    matrix_vector_with, rows_scratch_words, vector_matrix, vector_matrix_with,
};
use relief_numeric::matvec::{BLOCK, ROWS, cpu};

/// Numbers whose sums round, and after each row some that are not to be read.
struct Case {
    rows: usize,
    columns: usize,
    pitch: usize,
    values: Vec<f32>,
}

impl Case {
    fn new(rows: usize, columns: usize) -> Self {
        let pitch = columns.next_multiple_of(4) + 4;
        let mut values = floats(rows * pitch, 1);
        for row in values.chunks_mut(pitch) {
            row[columns..].fill(f32::NAN);
        }
        Self {
            rows,
            columns,
            pitch,
            values,
        }
    }

    fn on_cpu(&self) -> matrix::Matrix<'_, f32> {
        matrix::Matrix::new(&self.values, self.rows, self.columns, self.pitch).unwrap()
    }
}

/// Numbers of 12 bits: products of two are exact, so that it does not matter whether a device rounds them, but sums are not.
fn floats(count: usize, seed: u64) -> Vec<f32> {
    let mut random = Random::new(seed);
    (0..count)
        .map(|_| (random.below(1 << 12) as f32 - 1_500.0) / 4_096.0)
        .collect()
}

fn words(values: &[f32]) -> Vec<u32> {
    let mut words: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
    // What follows is not to be read.
    words.resize(values.len().next_multiple_of(4).max(4), f32::NAN.to_bits());
    words
}

fn read(gpu: &Gpu, buffer: &relief_kernels::device::Buffer, count: usize) -> Vec<u32> {
    if count == 0 {
        return Vec::new();
    }
    let bytes = gpu.read(buffer, count).wait().unwrap();
    let word = |word: &[u8]| u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
    bytes[..4 * count].chunks_exact(4).map(word).collect()
}

fn along(gpu: &Gpu, tuning: Tuning, case: &Case) -> Vec<u32> {
    let buffer = gpu.upload(&words(&case.values)).unwrap();
    let x = gpu.upload(&words(&floats(case.columns, 2))).unwrap();
    let y = gpu.buffer(case.rows).unwrap();
    let (rows, columns) = (case.rows as u32, case.columns as u32);
    let scratch = gpu.buffer(rows_scratch_words(rows, columns)).unwrap();
    let matrix = Matrix {
        buffer: &buffer,
        rows,
        columns,
        pitch: case.pitch as u32,
    };
    matrix_vector_with(gpu, tuning, matrix, &x, &y, &scratch).unwrap();
    read(gpu, &y, case.rows)
}

fn across(gpu: &Gpu, tuning: Tuning, case: &Case) -> Vec<u32> {
    let buffer = gpu.upload(&words(&case.values)).unwrap();
    let x = gpu.upload(&words(&floats(case.rows, 2))).unwrap();
    let y = gpu.buffer(case.columns.next_multiple_of(4)).unwrap();
    let (rows, columns) = (case.rows as u32, case.columns as u32);
    let scratch = gpu.buffer(columns_scratch_words(rows, columns)).unwrap();
    let matrix = Matrix {
        buffer: &buffer,
        rows,
        columns,
        pitch: case.pitch as u32,
    };
    vector_matrix_with(gpu, tuning, &x, matrix, &y, &scratch).unwrap();
    read(gpu, &y, case.columns)
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn expected_along(case: &Case) -> Vec<u32> {
    let mut y = vec![0.0; case.rows];
    cpu::matrix_vector(case.on_cpu(), &floats(case.columns, 2), &mut y).unwrap();
    bits(&y)
}

fn expected_across(case: &Case) -> Vec<u32> {
    let mut y = vec![0.0; case.columns];
    let mut scratch = vec![0.0; cpu::scratch_len(case.rows, case.columns)];
    cpu::vector_matrix(&floats(case.rows, 2), case.on_cpu(), &mut y, &mut scratch).unwrap();
    bits(&y)
}

const SHAPES: [(usize, usize); 14] = [
    (1, 1),
    (5, 3),
    (3, 5),
    (1, 33),
    (64, 64),
    (129, 31),
    (33, 257),
    (130, 1_024),
    (9, 1_025),
    (11, 5_003),
    (5, 2 * BLOCK + 777),
    (ROWS, 40),
    (3 * ROWS + 65, 130),
    (7, 0),
];

#[test]
fn sums_along_rows_have_the_bits_of_the_cpu() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    for (rows, columns) in SHAPES {
        let case = Case::new(rows, columns);
        assert_eq!(
            along(&gpu, ROWS_DEFAULT, &case),
            expected_along(&case),
            "{rows} × {columns}"
        );
    }
}

#[test]
fn sums_along_columns_have_the_bits_of_the_cpu() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let tall = [(ROWS * ROWS + 70, 3), (0, 7), (10 * ROWS, 1)];
    // Blocks that share a cube, down to where they do not: nine of them, or many columns.
    let merged = [
        (ROWS + 1, 33),
        (2 * ROWS, 4_200),
        (5 * ROWS - 3, 1),
        (7 * ROWS + 129, 70),
        (8 * ROWS, 31),
        (8 * ROWS + 1, 31),
    ];
    for (rows, columns) in SHAPES.into_iter().chain(tall).chain(merged) {
        let case = Case::new(rows, columns);
        assert_eq!(
            across(&gpu, COLUMNS_DEFAULT, &case),
            expected_across(&case),
            "{rows} × {columns}"
        );
    }
}

#[test]
fn layouts_compute_the_same() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let case = Case::new(21, 2_345);
    for tuning in ROWS_SPACE.all().step_by(3) {
        assert_eq!(along(&gpu, tuning, &case), expected_along(&case), "{tuning}");
    }
    // More blocks than share a cube.
    let case = Case::new(8 * ROWS + 100, 133);
    for tuning in COLUMNS_SPACE.all().step_by(3) {
        assert_eq!(across(&gpu, tuning, &case), expected_across(&case), "{tuning}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let (buffer, short) = (gpu.buffer(256).unwrap(), gpu.buffer(4).unwrap());
    let [target, scratch] = [(); 2].map(|()| gpu.buffer(256).unwrap());
    let of = |rows, columns, pitch| Matrix {
        buffer: &buffer,
        rows,
        columns,
        pitch,
    };
    let refused = |matrix, x, y| {
        for result in [
            matrix_vector(&gpu, matrix, x, y, &scratch),
            vector_matrix(&gpu, x, matrix, y, &scratch),
        ] {
            assert!(
                result.as_ref().is_err_and(crate::support::is_refused),
                "{matrix:?}: {result:?}"
            );
        }
    };
    refused(of(16, 17, 16), &buffer, &target);
    refused(of(17, 16, 16), &buffer, &target);
    refused(of(16, 16, 15), &buffer, &target);
    refused(of(u32::MAX, u32::MAX, u32::MAX - 3), &buffer, &target);
    refused(of(16, 16, 16), &short, &target);
    refused(of(16, 16, 16), &buffer, &short);
    // A result in the memory of the matrix, or of the vector.
    refused(of(16, 16, 16), &target, &buffer);
    refused(of(16, 16, 16), &target, &target);
    // More blocks than there is scratch memory for.
    let large = gpu.buffer(2 * BLOCK).unwrap();
    let matrix = Matrix {
        buffer: &large,
        rows: 1,
        columns: 2 * BLOCK as u32,
        pitch: 0,
    };
    assert!(matrix_vector(&gpu, matrix, &large, &buffer, &short).is_err());
    let matrix = Matrix {
        buffer: &large,
        rows: 2 * BLOCK as u32 / 4,
        columns: 4,
        pitch: 4,
    };
    assert!(vector_matrix(&gpu, &large, matrix, &buffer, &short).is_err());
    // Scratch memory that is needed, in the memory of what is read.
    let matrix = Matrix {
        buffer: &large,
        rows: 1,
        columns: 2 * BLOCK as u32,
        pitch: 0,
    };
    assert!(matrix_vector(&gpu, matrix, &large, &buffer, &large).is_err());
    matrix_vector(&gpu, of(16, 16, 16), &buffer, &large, &short).unwrap();
}
