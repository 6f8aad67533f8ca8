use proptest::prelude::*;

use super::cpu::{Element, Matrix, transpose};
use relief_kernels::isa::Isa;

/// Element by element: `transpose` of columns `first`… of a matrix, into rows that held `rest`.
fn columns<T: Copy>(
    from: &[T],
    (width, height, from_pitch): (usize, usize, usize),
    first: usize,
    (rows, pitch): (usize, usize),
    rest: T,
) -> Vec<T> {
    let at = |place: usize| {
        let (x, y) = (first + place / pitch, place % pitch);
        assert!(x < width);
        if y < height {
            from[y * from_pitch + x]
        } else {
            rest
        }
    };
    (0..rows * pitch).map(at).collect()
}

/// Transposes all columns from `first` on, with every version, at a target that begins anywhere in a line.
fn is_right<T: Element + PartialEq + std::fmt::Debug>(
    (width, height): (usize, usize),
    (gap, first, shift): (usize, usize, usize),
    element: fn(usize) -> T,
) {
    let (from_pitch, pitch) = (width + gap, height + gap % 5);
    let first = first.min(width);
    let from: Vec<T> = (0..from_pitch * height).map(element).collect();
    let rows = width - first;
    let expected = columns(
        &from,
        (width, height, from_pitch),
        first,
        (rows, pitch),
        element(7),
    );
    Isa::each(|| {
        let mut to = vec![element(7); rows * pitch + shift + 9];
        let matrix = Matrix::new(&from, width, height, from_pitch);
        transpose(matrix, first, &mut to[shift..shift + rows * pitch], pitch);
        let found = &to[shift..shift + rows * pitch];
        let wrong = found
            .iter()
            .zip(&expected)
            .position(|(found, expected)| found != expected);
        assert_eq!(
            wrong, None,
            "{width} × {height} + {gap} from {first}, shifted by {shift}"
        );
        let around = to[..shift].iter().chain(&to[shift + rows * pitch..]);
        assert!(
            around.copied().all(|other| other == element(7)),
            "written outside the target"
        );
    });
}

fn hash(i: usize) -> u32 {
    (i as u32).wrapping_mul(0x9E37_79B9) ^ (i as u32 >> 7)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn columns_become_rows(
        width in 0_usize..200, height in 0_usize..200, gap in 0_usize..70, first in 0_usize..150, shift in 0_usize..64,
    ) {
        is_right::<u8>((width, height), (gap, first, shift), |i| (hash(i) >> 24) as u8);
        is_right::<u16>((width, height), (gap, first, shift), |i| (hash(i) >> 16) as u16);
        is_right::<u32>((width, height), (gap, first, shift), hash);
    }
}

#[test]
fn large_matrices_that_are_stored_past_the_caches_are_the_same() {
    for (width, height) in [(2_048, 1_088), (2_200, 1_024), (2_051, 1_029)] {
        is_right::<u8>((width, height), (0, 0, 0), |i| (hash(i) >> 24) as u8);
        is_right::<u16>((width, height / 2), (0, 3, 0), |i| (hash(i) >> 16) as u16);
        is_right::<u32>((width / 2, height / 2), (0, 0, 1), hash);
    }
}

#[test]
fn every_size_around_a_tile_is_right() {
    for width in 61..=67 {
        for height in 61..=67 {
            is_right::<u8>((width, height), (0, 0, 3), |i| (hash(i) >> 24) as u8);
            is_right::<u32>((width, height), (2, 0, 1), hash);
        }
    }
}

#[test]
#[should_panic(expected = "columns that the matrix does not have")]
fn columns_that_are_not_there_are_refused() {
    let matrix = Matrix::new(&[0_u8; 12], 4, 3, 4);
    transpose(matrix, 2, &mut [0; 9], 3);
}

#[test]
#[should_panic(expected = "a matrix of more elements than there are")]
fn a_matrix_of_too_few_elements_is_refused() {
    let _ = Matrix::new(&[0_u8; 12], 4, usize::MAX, 5);
}
