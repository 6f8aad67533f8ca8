//! Products against their definition, in the order that the module states.

use super::cpu::{
    BLOCK_SCRATCH, block_sums, blocks_of, matrix_vector, scratch_len, total, total_scratch, vector_matrix,
};
use super::{BLOCK, ROW_SUMS, ROWS, SUMS};
use crate::matrix::{Matrix, ShapeError};
use relief_kernels::isa::Isa;

/// Numbers of all signs whose sums round.
fn numbers(count: usize, seed: u32) -> Vec<f32> {
    (0..count as u32)
        .map(|i| {
            let bits = (i + seed).wrapping_mul(2_654_435_761) >> 9;
            bits as f32 / 8_388_608.0 - 0.4
        })
        .collect()
}

/// The order of the module's header, as it says.
fn sum_of(products: &[(f32, f32)], block: usize, sums: usize) -> f32 {
    let blocks: Vec<f32> = products
        .chunks(block)
        .map(|block| {
            let mut kept = vec![0.0_f32; sums];
            for (k, (a, b)) in block.iter().enumerate() {
                kept[k % sums] = a.mul_add(*b, kept[k % sums]);
            }
            let mut left: Vec<f32> = kept
                .chunks(4)
                .map(|four| (four[0] + four[1]) + (four[2] + four[3]))
                .collect();
            while left.len() > 1 {
                let half = left.len() / 2;
                left = (0..half).map(|k| left[k] + left[k + half]).collect();
            }
            left[0]
        })
        .collect();
    match blocks.len() {
        0 => 0.0,
        1 => blocks[0],
        _ => {
            let ones: Vec<(f32, f32)> = blocks.into_iter().map(|sum| (sum, 1.0)).collect();
            sum_of(&ones, block, sums)
        }
    }
}

/// M·x, of blocks and sums as the module's header has them along rows.
fn sums_of_rows(matrix: Matrix<'_, f32>, x: &[f32]) -> Vec<f32> {
    let products = |row| matrix.row(row).iter().copied().zip(x.iter().copied());
    (0..matrix.rows())
        .map(|row| sum_of(&products(row).collect::<Vec<_>>(), BLOCK, SUMS))
        .collect()
}

const SHAPES: [(usize, usize); 30] = [
    (0, 0),
    (0, 7),
    (7, 0),
    (1, 1),
    (3, 5),
    (5, 3),
    (65, 17),
    (17, 65),
    (130, 1_100),
    (ROWS + 1, 3),
    (3, 2 * BLOCK + SUMS + 5),
    (2 * ROWS + ROW_SUMS + 3, 1_029),
    (ROWS + 3, 4_100),
    (6, BLOCK + SUMS + 5),
    (9, 1),
    (18, 4),
    (7, 8),
    (37, 16),
    (21, 31),
    (10, 32),
    (130, 64),
    (3, 64),
    (64, 40),
    (200, 300),
    (48, 70),
    (51, 6_200),
    (8, 300),
    (63, 20),
    (6, BLOCK),
    (19, 2 * BLOCK),
];

#[test]
fn sums_along_rows_have_the_order_that_is_stated() {
    for (rows, columns) in SHAPES {
        let pitch = columns + 3;
        let (values, x) = (numbers(rows * pitch, 1), numbers(columns, 7));
        let matrix = Matrix::new(&values, rows, columns, pitch).unwrap();
        let expected = sums_of_rows(matrix, &x);
        Isa::each(|| {
            let mut y = vec![f32::NAN; rows];
            matrix_vector(matrix, &x, &mut y).unwrap();
            assert_eq!(y, expected, "{rows} × {columns}");
        });
    }
}

#[test]
fn short_rows_of_every_length_have_that_order_and_the_signs_of_zeros() {
    for columns in 0..=70 {
        for rows in 1..=11 {
            let pitch = columns + rows % 3;
            let mut values = numbers(rows * pitch, columns as u32);
            // Rows whose products are all zeros without or with a sign, and numbers outside of the matrix that would spoil any sum.
            for (row, values) in values.chunks_mut(pitch.max(1)).enumerate() {
                let (inside, outside) = values.split_at_mut(columns.min(values.len()));
                match row % 4 {
                    1 => inside.fill(-0.0),
                    3 => inside.fill(0.0),
                    _ => {}
                }
                outside.fill(f32::NAN);
            }
            let x = numbers(columns, 5);
            let matrix = Matrix::new(&values, rows, columns, pitch).unwrap();
            let bits = |sums: &[f32]| sums.iter().map(|sum| sum.to_bits()).collect::<Vec<_>>();
            let expected = sums_of_rows(matrix, &x);
            Isa::each(|| {
                let mut y = vec![f32::NAN; rows];
                matrix_vector(matrix, &x, &mut y).unwrap();
                assert_eq!(bits(&y), bits(&expected), "{rows} × {columns}");
            });
        }
    }
}

#[test]
fn sums_along_columns_have_the_order_that_is_stated() {
    let tall = [(ROWS * ROWS + 3 * ROWS + 9, 2), (ROWS * ROWS, 1)];
    for (rows, columns) in SHAPES.into_iter().chain(tall) {
        let pitch = columns + 1;
        let (values, x) = (numbers(rows * pitch, 3), numbers(rows, 11));
        let matrix = Matrix::new(&values, rows, columns, pitch).unwrap();
        let expected: Vec<f32> = (0..columns)
            .map(|column| {
                let products: Vec<_> = (0..rows).map(|row| (matrix.row(row)[column], x[row])).collect();
                sum_of(&products, ROWS, ROW_SUMS)
            })
            .collect();
        Isa::each(|| {
            let mut y = vec![f32::NAN; columns];
            let mut scratch = vec![f32::NAN; scratch_len(rows, columns)];
            vector_matrix(&x, matrix, &mut y, &mut scratch).unwrap();
            assert_eq!(y, expected, "{rows} × {columns}");
        });
    }
}

#[test]
fn parts_by_blocks_and_columns_give_the_same_bits() {
    for (rows, columns) in [(0, 5), (3, 7), (ROWS, 70), (5 * ROWS + 9, 33), (2 * ROWS, 6_200)] {
        let (values, x) = (numbers(rows * columns, 5), numbers(rows, 13));
        let matrix = Matrix::new(&values, rows, columns, columns).unwrap();
        let mut expected = vec![f32::NAN; columns];
        vector_matrix(
            &x,
            matrix,
            &mut expected,
            &mut vec![0.0; scratch_len(rows, columns)],
        )
        .unwrap();
        for width in [columns, 19] {
            let mut scratch = vec![f32::NAN; BLOCK_SCRATCH.max(total_scratch(rows, columns))];
            let mut sums = vec![f32::NAN; columns * blocks_of(rows)];
            for (block, sums) in sums.chunks_mut(columns).enumerate() {
                let part = block * ROWS..rows.min((block + 1) * ROWS);
                for (strip, sums) in sums.chunks_mut(width).enumerate() {
                    let first = strip * width;
                    let matrix = matrix.rows_of(part.clone()).columns_of(first..first + sums.len());
                    block_sums(&x[part.clone()], matrix, sums, &mut scratch).unwrap();
                }
            }
            let mut y = vec![f32::NAN; columns];
            let sums = Matrix::new(&sums, blocks_of(rows), columns, columns).unwrap();
            total(sums, &mut y, &mut scratch).unwrap();
            assert_eq!(y, expected, "{rows} × {columns} in strips of {width}");
        }
    }
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    let values = [1.0; 12];
    let matrix = Matrix::new(&values, 3, 4, 4).unwrap();
    let mut scratch = vec![0.0; scratch_len(3, 4)];
    let mismatch = |result: Result<(), ShapeError>| assert!(result.is_err(), "{result:?}");
    mismatch(matrix_vector(matrix, &[1.0; 3], &mut [0.0; 3]));
    mismatch(matrix_vector(matrix, &[1.0; 4], &mut [0.0; 4]));
    mismatch(vector_matrix(&[1.0; 4], matrix, &mut [0.0; 4], &mut scratch));
    mismatch(vector_matrix(&[1.0; 3], matrix, &mut [0.0; 3], &mut scratch));
    mismatch(vector_matrix(&[1.0; 3], matrix, &mut [0.0; 4], &mut scratch[1..]));
    vector_matrix(&[1.0; 3], matrix, &mut [0.0; 4], &mut scratch).unwrap();
}

#[test]
fn one_row_has_any_pitch() {
    for columns in [1, 64, 65, 100, BLOCK, BLOCK + 1, 16_384, 16_385, 40_000] {
        let (values, x) = (vec![1.0; columns], vec![1.0; columns]);
        for pitch in [0, columns - 1, columns, usize::MAX] {
            let matrix = Matrix::new(&values, 1, columns, pitch).unwrap();
            let mut y = [0.0];
            matrix_vector(matrix, &x, &mut y).unwrap();
            assert_eq!(y, [columns as f32], "{columns} columns, pitch {pitch}");
            let mut z = vec![0.0; columns];
            let mut scratch = vec![0.0; scratch_len(1, columns)];
            vector_matrix(&[2.0], matrix, &mut z, &mut scratch).unwrap();
            assert!(z.iter().all(|z| *z == 2.0), "{columns} columns, pitch {pitch}");
        }
        let none = Matrix::new(&values, 0, columns, 0).unwrap();
        matrix_vector(none, &x, &mut []).unwrap();
    }
}
