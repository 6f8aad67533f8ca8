use proptest::prelude::*;
use relief_raster::Sample;

use super::{Law, MAX_RADIUS, MAX_THRESHOLD_RADIUS, cpu};
use crate::block::testing::{Case, WIDTHS};

/// n, the sum of the square around a pixel, and that of its squares.
fn sums<S: Sample>(case: &Case<S>, radius: i64, x: usize, y: usize) -> (i128, i128, i128) {
    let (mut count, mut sum, mut squares) = (0, 0, 0);
    for dy in -radius..=radius {
        for dx in -radius..=radius {
            let sample = i128::from(case.at(x, y, dx, dy));
            count += 1;
            sum += sample;
            squares += sample * sample;
        }
    }
    (count, sum, squares)
}

fn means<S: Sample>(case: &Case<S>, radius: usize) {
    let mut scratch = vec![u64::MAX; cpu::scratch_words(radius)];
    let scratch = std::cell::RefCell::new(&mut scratch);
    case.check(
        &format!("mean of radius {radius}"),
        |block, out| cpu::mean(block.as_view(), radius, out, &mut scratch.borrow_mut()),
        |x, y| {
            let (count, sum, _) = sums(case, radius as i64, x, y);
            ((2 * sum + count) / (2 * count)) as i64
        },
    );
}

fn thresholds<S: Sample>(case: &Case<S>, radius: usize, law: Law) {
    let mut scratch = vec![u64::MAX; cpu::scratch_words(radius)];
    let scratch = std::cell::RefCell::new(&mut scratch);
    let max = i64::from(S::MAX.to_u16());
    case.check(
        &format!("{law:?} of radius {radius}"),
        |block, out| cpu::threshold(block.as_view(), radius, law, out, &mut scratch.borrow_mut()),
        |x, y| {
            let (count, sum, squares) = sums(case, radius as i64, x, y);
            let sample = case.at(x, y, 0, 0);
            let set = match law {
                Law::Mean { offset } => count * i128::from(sample + i64::from(offset)) >= sum,
                Law::Sauvola { k } => {
                    let mean = sum as f64 / count as f64;
                    let deviation = ((count * squares - sum * sum) as f64).sqrt() / count as f64;
                    sample as f64 >= mean * (1.0 + k * (deviation / (max as f64 / 2.0) - 1.0))
                }
            };
            if set { max } else { 0 }
        },
    );
}

#[test]
fn means_of_every_width_around_a_block_are_as_by_definition() {
    for radius in [0, 1, 2, 5] {
        for (seed, width) in WIDTHS.into_iter().enumerate() {
            means::<u8>(&Case::noise(width, 3, (radius, radius), seed as u64), radius);
            means::<u16>(&Case::noise(width, 3, (radius, radius), seed as u64 + 1), radius);
        }
    }
    // Wider than what is computed at once.
    means::<u8>(&Case::noise(1_100, 2, (1, 1), 2), 1);
    means::<u16>(&Case::noise(1_100, 2, (2, 2), 3), 2);
}

#[test]
fn sums_of_the_greatest_squares_do_not_overflow() {
    for radius in [63, 64, 127, 128, MAX_RADIUS] {
        for sample in [u16::MAX, 1] {
            let case = |width, height| (width + 2 * radius) * (height + 2 * radius);
            let mut eight = Case::<u8>::noise(3, 2, (radius, radius), 2);
            eight.samples = vec![u8::from_u16(sample); case(3, 2)];
            means(&eight, radius);
            let mut sixteen = Case::<u16>::noise(3, 2, (radius, radius), 2);
            sixteen.samples = vec![sample; case(3, 2)];
            sixteen.samples[7] = 0;
            means(&sixteen, radius);
            if radius <= MAX_THRESHOLD_RADIUS {
                for law in [Law::Mean { offset: 0 }, Law::Sauvola { k: 0.2 }] {
                    thresholds(&eight, radius, law);
                    thresholds(&sixteen, radius, law);
                }
            }
        }
    }
}

#[test]
fn every_sum_of_8_bits_is_rounded_to_its_nearest_mean() {
    // As [`cpu::mean`] divides: the sums of all squares for which it takes f32.
    for side in [3_u32, 5, 7, 31, 101, 121, 123, 125, 127] {
        let count = side * side;
        let inverse = (1.0 / f64::from(count)) as f32;
        for sum in 0..=count * 255 {
            let mean = sum as i32 as f32 * inverse + 8_388_608.0;
            if mean.to_bits() & 0xFF != (2 * sum + count) / (2 * count) {
                panic!("{sum} of {count}");
            }
        }
    }
}

#[test]
#[should_panic(expected = "a block of 5 × 5 samples for a result of 4 × 3 and margins of 1 and 1")]
fn a_block_of_another_size_is_refused() {
    let mut out = [0_u8; 12];
    let mut scratch = vec![0; cpu::scratch_words(1)];
    cpu::mean(
        relief_raster::View::packed(&[0; 25], 5, 5),
        1,
        relief_raster::ViewMut::packed(&mut out, 4, 3),
        &mut scratch,
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn means_and_thresholds_of_any_block_are_as_by_definition(
        radius in prop_oneof![4 => 0_usize..7, 1 => 7_usize..40],
        (width, height) in (1_usize..70, 1_usize..12),
        seed in any::<u64>(),
        offset in prop_oneof![Just(0), -300_i32..300],
        k in prop::sample::select(&[0.0, 0.2, 0.34, -0.5, 1.0][..]),
    ) {
        let margins = (radius, radius);
        let (eight, sixteen) = (
            Case::<u8>::noise(width, height, margins, seed),
            Case::<u16>::noise(width, height, margins, seed),
        );
        means(&eight, radius);
        means(&sixteen, radius);
        for law in [Law::Mean { offset }, Law::Sauvola { k }] {
            thresholds(&eight, radius, law);
            thresholds(&sixteen, radius, law);
        }
    }
}
