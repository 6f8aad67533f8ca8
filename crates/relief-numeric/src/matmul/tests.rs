//! Products against their definition: sums in the order of k, each step rounded once.

use half::{bf16, f16};

use super::cpu::{INNER, LEFT_LEN, Operand, multiply, multiply_packed, pack_block, packed_len, scratch_len};
use crate::matrix::{Matrix, MatrixMut};
use relief_kernels::isa::Isa;

fn numbers(count: usize, seed: u32) -> Vec<f32> {
    (0..count as u32)
        .map(|i| {
            let bits = (i + seed).wrapping_mul(2_654_435_761) >> 9;
            bits as f32 / 8_388_608.0 - 0.4
        })
        .collect()
}

fn expected<T: Operand>(left: Matrix<'_, T>, right: Matrix<'_, T>) -> Vec<f32> {
    let mut result = Vec::new();
    for row in 0..left.rows() {
        for column in 0..right.columns() {
            let products = left.row(row).iter().enumerate();
            result.push(products.fold(0.0_f32, |sum, (k, number)| {
                number.widen().mul_add(right.row(k)[column].widen(), sum)
            }));
        }
    }
    result
}

fn is_right<T: Operand>((rows, inner, columns): (usize, usize, usize), narrow: impl Fn(f32) -> T) {
    let narrowed = |count, seed| -> Vec<T> { numbers(count, seed).into_iter().map(&narrow).collect() };
    let (left, right) = (
        narrowed(rows * (inner + 1), 1),
        narrowed(inner * (columns + 2), 5),
    );
    let left = Matrix::new(&left, rows, inner, inner + 1).unwrap();
    let right = Matrix::new(&right, inner, columns, columns + 2).unwrap();
    let expected = expected(left, right);
    Isa::each(|| {
        let mut found = vec![f32::NAN; rows * (columns + 1)];
        let mut scratch = vec![f32::NAN; scratch_len(inner, columns)];
        let result = MatrixMut::new(&mut found, rows, columns, columns + 1).unwrap();
        multiply(left, right, result, &mut scratch).unwrap();
        for (row, found) in found.chunks(columns + 1).enumerate() {
            let expected = &expected[row * columns..][..columns];
            assert_eq!(
                &found[..columns],
                expected,
                "row {row} of {rows} × {inner} × {columns}"
            );
            assert!(found[columns].is_nan(), "nothing is written between rows");
        }
    });
}

const SHAPES: [(usize, usize, usize); 11] = [
    (0, 3, 4),
    (3, 0, 4),
    (3, 4, 0),
    (1, 1, 1),
    (2, 3, 5),
    (14, 7, 32),
    (15, 9, 33),
    (13, 300, 31),
    (29, 2 * INNER, 65),
    (61, 2 * INNER + 1, 7),
    (340, 20, 40),
];

#[test]
fn products_of_floats_are_sums_in_the_order_of_k() {
    for shape in SHAPES {
        is_right(shape, |number| number);
    }
}

#[test]
fn results_of_any_height_are_right() {
    for rows in 1..=30 {
        is_right((rows, 37, 45), |number| number);
    }
}

#[test]
fn numbers_of_16_bits_are_widened() {
    for shape in [(3, 4, 5), (15, 300, 33)] {
        is_right(shape, bf16::from_f32);
        is_right(shape, f16::from_f32);
    }
}

#[test]
fn rows_may_be_dealt_out() {
    let (rows, inner, columns) = (50, INNER + 44, 40);
    let (left, right) = (numbers(rows * inner, 2), numbers(inner * columns, 3));
    let left = Matrix::new(&left, rows, inner, inner).unwrap();
    let right = Matrix::new(&right, inner, columns, columns).unwrap();
    let mut packed = vec![0.0; packed_len(inner, columns)];
    let (first, second) = packed.split_at_mut(packed_len(INNER, columns));
    pack_block(right.rows_of(INNER..inner), second).unwrap();
    pack_block(right.rows_of(0..INNER), first).unwrap();
    let mut found = vec![0.0; rows * columns];
    let mut scratch = vec![0.0; LEFT_LEN];
    let result = MatrixMut::new(&mut found, rows, columns, columns).unwrap();
    let (above, below) = result.split_at(17);
    multiply_packed(left.rows_of(17..rows), &packed, below, &mut scratch).unwrap();
    multiply_packed(left.rows_of(0..17), &packed, above, &mut scratch).unwrap();
    assert_eq!(found, expected(left, right));
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let values = numbers(100, 1);
    let of = |rows, columns| Matrix::new(&values, rows, columns, columns).unwrap();
    let mut scratch = vec![0.0; scratch_len(5, 6)];
    let refused =
        |left: (usize, usize), right: (usize, usize), result: (usize, usize), scratch: &mut [f32]| {
            let mut found = vec![0.0; 100];
            let result = MatrixMut::new(&mut found, result.0, result.1, result.1).unwrap();
            multiply(of(left.0, left.1), of(right.0, right.1), result, scratch).is_err()
        };
    assert!(!refused((4, 5), (5, 6), (4, 6), &mut scratch));
    assert!(refused((4, 4), (5, 6), (4, 6), &mut scratch));
    assert!(refused((4, 5), (5, 6), (5, 6), &mut scratch));
    assert!(refused((4, 5), (5, 6), (4, 5), &mut scratch));
    assert!(refused((4, 5), (5, 6), (4, 6), &mut scratch[1..]));
    assert!(pack_block(of(5, 6), &mut [0.0; 30]).is_err());
}
