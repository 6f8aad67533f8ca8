use proptest::prelude::*;

use super::BLOCK;
use super::cpu::*;
use crate::matrix::Matrix;
use relief_kernels::isa::Isa;

/// The order of a sum of floats, once more and to the letter.
fn ordered(values: &[f32]) -> f32 {
    fn take(values: &[f32]) -> Vec<f32> {
        let mut sums = vec![0.0; 1_024];
        for (i, value) in values.iter().enumerate() {
            sums[i % 1_024] += value;
        }
        sums
    }
    fn halve(mut sums: Vec<f32>) -> f32 {
        while sums.len() > 1 {
            let half = sums.len() / 2;
            sums = (0..half).map(|j| sums[j] + sums[j + half]).collect();
        }
        sums[0]
    }
    let block = |values: &[f32]| {
        let sums = take(values);
        let fours = sums.chunks(4).map(|s| (s[0] + s[1]) + (s[2] + s[3]));
        halve(fours.collect())
    };
    let blocks: Vec<f32> = values.chunks(BLOCK).map(block).collect();
    match blocks[..] {
        [] => 0.0,
        [one] => one,
        _ => halve(take(&blocks)),
    }
}

fn floats(len: usize, seed: u32) -> Vec<f32> {
    let number = |i: usize| (i as u32).wrapping_mul(2_654_435_761).wrapping_add(seed) >> 7;
    (0..len).map(|i| number(i) as f32 * 1e-3 - 1_000.0).collect()
}

#[test]
fn a_sum_of_floats_has_the_bits_of_its_order_with_all_vectors_and_for_all_parts() {
    for len in [
        0,
        1,
        3,
        5,
        16,
        17,
        64,
        65,
        100,
        256,
        257,
        900,
        1_024,
        1_025,
        5_000,
        BLOCK,
        BLOCK + 1,
        5 * BLOCK + 77,
    ] {
        let values = floats(len, 5);
        let expected = ordered(&values).to_bits();
        Isa::each(|| {
            assert_eq!(sum(&values).to_bits(), expected, "{len}");
            let mut sums = vec![0.0; len.div_ceil(BLOCK)];
            let (first, second) = sums.split_at_mut(len.div_ceil(BLOCK) / 2);
            let middle = first.len() * BLOCK;
            block_sums(&values[..middle], first);
            block_sums(&values[middle..], second);
            assert_eq!(total::<f32>(&sums).to_bits(), expected, "{len} in parts");
        });
    }
}

#[test]
fn sums_of_rows_are_those_of_each_row() {
    for (height, width) in [
        (3, 0),
        (0, 16),
        (15, 16),
        (77, 16),
        (20, 3),
        (5, 17),
        (4, 1_024),
        (3, 1_025),
        (2, BLOCK + 5),
    ] {
        for pitch in [width, width + 3] {
            let mut values = floats(height * pitch, 9);
            // Nothing but -0 sums up to 0.
            values.iter_mut().take(width).for_each(|value| *value = -0.0);
            let rows = Matrix::new(&values, height, width, pitch).unwrap();
            let expected: Vec<u32> = (0..height).map(|y| ordered(rows.row(y)).to_bits()).collect();
            Isa::each(|| {
                let mut sums = vec![f32::NAN; height];
                sum_rows(rows, &mut sums);
                let found: Vec<u32> = sums.iter().map(|sum| sum.to_bits()).collect();
                assert_eq!(found, expected, "{height} rows of {width}, {pitch} apart");
            });
        }
    }
    let bytes = [1_u8, 2, 3, 255, 255, 255];
    let mut sums = [0; 2];
    sum_rows(Matrix::new(&bytes, 2, 3, 3).unwrap(), &mut sums);
    assert_eq!(sums, [6, 765]);
}

#[test]
fn sums_of_integers_do_not_overflow() {
    assert_eq!(sum(&vec![255_u8; 70_000]), 255 * 70_000);
    assert_eq!(sum(&vec![u16::MAX; 70_000]), 65_535 * 70_000);
    assert_eq!(sum(&vec![u32::MAX; 70_000]), 0xffff_ffff * 70_000);
    assert_eq!(sum(&vec![i32::MIN; 70_000]), -(70_000_i64 << 31));
}

#[test]
fn of_nothing_there_is_no_least() {
    assert_eq!(sum::<f32>(&[]), 0.0);
    assert_eq!(least::<u8>(&[]), None);
    assert_eq!(greatest::<f32>(&[]), None);
    assert_eq!(place_of_least::<i32>(&[]), None);
}

#[test]
fn floats_are_in_total_order() {
    let values = [1.0, -0.0, 0.0, f32::NAN, f32::INFINITY];
    assert_eq!(least(&values).map(f32::to_bits), Some((-0.0_f32).to_bits()));
    assert!(greatest(&values).is_some_and(f32::is_nan));
    assert_eq!(place_of_least(&values), Some(1));
    assert_eq!(place_of_least(&[f32::NAN, f32::NAN]), Some(0));
}

proptest! {
    #[test]
    fn the_least_is_first_where_it_is_found(values in prop::collection::vec(-3..3_i32, 1..50), copies in 1..2_000_usize) {
        let values: Vec<i32> = values.repeat(copies);
        let expected = values.iter().copied().min();
        prop_assert_eq!(least(&values), expected);
        prop_assert_eq!(greatest(&values), values.iter().copied().max());
        let place = values.iter().position(|value| Some(*value) == expected);
        prop_assert_eq!(place_of_least(&values), place.map(|place| place as u64));
        prop_assert_eq!(sum(&values), values.iter().map(|value| i64::from(*value)).sum::<i64>());
    }
}
