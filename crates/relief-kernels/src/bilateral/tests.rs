use relief_raster::Sample;

use super::{MAX_RADIUS, ONE, Weights, cpu};
use crate::block::testing::{Case, WIDTHS};

/// Weights that fall by a fraction for each pixel and each level.
fn weights(radius: usize, levels: usize) -> (Vec<u16>, Vec<u16>) {
    let side = 2 * radius + 1;
    let space = (0..side * side)
        .map(|i| {
            let far = (i % side).abs_diff(radius) + (i / side).abs_diff(radius);
            ONE - (ONE - 1) * far.min(7) as u16 / 7
        })
        .collect();
    let range = (0..levels)
        .map(|d| ONE - (usize::from(ONE) * d / levels) as u16)
        .collect();
    (space, range)
}

fn check<S: Sample>(radius: usize, levels: usize, (width, height): (usize, usize), seed: u64) {
    let (space, range) = weights(radius, levels);
    let filter = Weights::new(radius, &space, &range).unwrap();
    let case = Case::<S>::noise(width, height, (radius, radius), seed);
    let reach = radius as i64;
    case.check(
        &format!("radius {radius}, {levels} levels"),
        |block, out| {
            let mut scratch = vec![0; cpu::scratch_words(S::DEPTH)];
            cpu::filter(block.as_view(), &filter, out, &mut scratch);
        },
        |x, y| {
            let middle = case.at(x, y, 0, 0);
            let (mut total, mut sum) = (0, 0);
            for (place, space) in space.iter().enumerate() {
                let (dx, dy) = (
                    place as i64 % (2 * reach + 1) - reach,
                    place as i64 / (2 * reach + 1) - reach,
                );
                let sample = case.at(x, y, dx, dy);
                let range = range
                    .get((sample - middle).unsigned_abs() as usize)
                    .copied()
                    .unwrap_or(0);
                let weight = i128::from(*space) * i128::from(range);
                total += weight;
                sum += weight * i128::from(sample);
            }
            ((2 * sum + total) / (2 * total)) as i64
        },
    );
}

#[test]
fn means_of_every_width_around_a_block_are_as_by_definition() {
    for (seed, width) in WIDTHS.into_iter().enumerate() {
        for (radius, levels) in [(0, 1), (1, 3), (2, 256), (4, 40)] {
            check::<u8>(radius, levels, (width, 3), seed as u64);
            check::<u16>(radius, levels * 100, (width, 3), seed as u64 + 1);
        }
    }
}

#[test]
fn sums_of_the_greatest_square_do_not_overflow() {
    let side = 2 * MAX_RADIUS + 1;
    let filter = Weights::new(MAX_RADIUS, &vec![ONE; side * side], &[ONE; 1 << 16]).unwrap();
    let mut case = Case::<u16>::noise(9, 2, (MAX_RADIUS, MAX_RADIUS), 0);
    case.samples.fill(u16::MAX);
    case.check(
        "the greatest",
        |block, out| {
            let mut scratch = vec![u64::MAX; cpu::scratch_words(u16::DEPTH)];
            cpu::filter(block.as_view(), &filter, out, &mut scratch);
        },
        |_, _| 65_535,
    );
    check::<u16>(MAX_RADIUS, 1 << 16, (9, 2), 3);
    check::<u8>(MAX_RADIUS, 256, (9, 2), 3);
    assert_eq!(case.view().width(), 9 + 2 * MAX_RADIUS);
}

#[test]
fn weights_that_are_none_are_refused() {
    let (space, range) = weights(1, 9);
    assert!(Weights::new(1, &space, &range).is_some());
    assert!(Weights::new(2, &space, &range).is_none());
    assert!(Weights::new(usize::MAX, &space, &range).is_none());
    assert!(Weights::new(1, &space, &[]).is_none());
    assert!(Weights::new(1, &space, &[ONE - 1]).is_none());
    assert!(Weights::new(1, &space, &[ONE, ONE + 1]).is_none());
    assert!(Weights::new(1, &[ONE - 1; 9], &range).is_none());
}
