use proptest::prelude::*;
use relief_raster::Sample;

use super::{MAX_DIVISOR, MAX_SIDE, MAX_WEIGHT, Mask, cpu};
use crate::block::testing::{Case, WIDTHS};

/// Weights with columns, divisor and offset.
type Numbers = (Vec<i32>, usize, u32, i32);

fn check<S: Sample>((weights, columns, divisor, offset): &Numbers, size: (usize, usize), seed: u64) {
    let mask = Mask::new(weights, *columns, *divisor, *offset).unwrap();
    let case = Case::<S>::noise(size.0, size.1, mask.reach(), seed);
    let max = S::MAX.to_u16();
    let (across, down) = (mask.reach().0 as i64, mask.reach().1 as i64);
    let (least, greatest) = case
        .samples
        .iter()
        .fold((u16::MAX, 0), |(least, greatest), sample| {
            (least.min(sample.to_u16()), greatest.max(sample.to_u16()))
        });
    let range = mask.range(least, greatest, max);
    case.check(
        &format!("{mask:?}"),
        |block, out| cpu::filter(block.as_view(), &mask, out),
        |x, y| {
            let mut sum = 0;
            for (place, weight) in weights.iter().enumerate() {
                let (i, j) = ((place % columns) as i64 - across, (place / columns) as i64 - down);
                sum += i128::from(*weight) * i128::from(case.at(x, y, i, j));
            }
            let divisor = i128::from(*divisor);
            let rounded = (2 * sum + 2 * i128::from(*offset) * divisor + divisor).div_euclid(2 * divisor);
            let sample = rounded.clamp(0, i128::from(max)) as u16;
            assert!(
                (range.0..=range.1).contains(&sample),
                "{sample}, not of {range:?}"
            );
            i64::from(sample)
        },
    );
}

fn sharpening() -> Numbers {
    (vec![0, -1, 0, -1, 5, -1, 0, -1, 0], 3, 1, 0)
}

#[test]
fn sums_of_every_width_around_a_block_are_as_by_definition() {
    for (seed, width) in WIDTHS.into_iter().enumerate() {
        for numbers in [
            sharpening(),
            (vec![1, 2, 1, 2, 4, 2, 1, 2, 1], 3, 16, 0),
            (vec![-1, 0, 1], 3, 2, 128),
            (vec![-1, 1, 3], 1, 7, -4),
            (vec![0], 1, 5, 9),
        ] {
            check::<u8>(&numbers, (width, 3), seed as u64);
            check::<u16>(&numbers, (width, 3), seed as u64 + 1);
        }
    }
}

#[test]
fn sums_of_the_greatest_weights_do_not_overflow() {
    for weight in [MAX_WEIGHT, -MAX_WEIGHT] {
        for divisor in [1, 225 * 32_767, MAX_DIVISOR] {
            for offset in [-65_535, 0, 65_535] {
                let numbers = (vec![weight; MAX_SIDE * MAX_SIDE], MAX_SIDE, divisor, offset);
                for seed in [0, 3] {
                    check::<u8>(&numbers, (9, 2), seed);
                    check::<u16>(&numbers, (9, 2), seed);
                }
            }
        }
    }
}

#[test]
fn masks_that_are_none_are_refused() {
    assert!(Mask::new(&[1; 225], 15, 1, 0).is_some());
    for (weights, columns, divisor, offset) in [
        (vec![], 1, 1, 0),
        (vec![1; 9], 0, 1, 0),
        (vec![1; 4], 2, 1, 0),
        (vec![1; 6], 3, 1, 0),
        (vec![1; 8], 3, 1, 0),
        (vec![1; 17], 17, 1, 0),
        (vec![1; 17], 1, 1, 0),
        (vec![32_768], 1, 1, 0),
        (vec![-32_768], 1, 1, 0),
        (vec![i32::MIN], 1, 1, 0),
        (vec![1], 1, 0, 0),
        (vec![1], 1, MAX_DIVISOR + 1, 0),
        (vec![1], 1, 1, 65_536),
        (vec![1], 1, 1, i32::MIN),
    ] {
        assert!(
            Mask::new(&weights, columns, divisor, offset).is_none(),
            "{weights:?} {columns} {divisor} {offset}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_mask_over_any_block_is_as_by_definition(
        (weights, columns) in (0_usize..4, 0_usize..4).prop_flat_map(|(across, down)| {
            let weight = prop_oneof![Just(0), -4_i32..5, -MAX_WEIGHT..=MAX_WEIGHT];
            (prop::collection::vec(weight, (2 * across + 1) * (2 * down + 1)), Just(2 * across + 1))
        }),
        divisor in prop_oneof![1_u32..20, 1_u32..=MAX_DIVISOR],
        offset in prop_oneof![Just(0), -300_i32..300],
        size in (1_usize..50, 1_usize..6),
        seed in any::<u64>(),
    ) {
        let numbers = (weights, columns, divisor, offset);
        check::<u8>(&numbers, size, seed);
        check::<u16>(&numbers, size, seed);
    }
}
