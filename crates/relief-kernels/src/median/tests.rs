use proptest::prelude::*;
use relief_raster::{Sample, View, ViewMut};

use super::{MAX_RADIUS, Rank, cpu};
use crate::isa::Isa;

/// The samples of the square, sorted.
fn by_definition<S: Sample>(source: &[S], width: usize, rank: Rank, x: usize, y: usize) -> S {
    let side = 2 * rank.radius() + 1;
    let mut square: Vec<S> = (y..y + side)
        .flat_map(|row| &source[row * width + x..row * width + x + side])
        .copied()
        .collect();
    square.sort_unstable();
    square[rank.rank() - 1]
}

fn check<S: Sample>(source: &[S], rank: Rank, width: usize, height: usize) {
    let (across, down) = (width + 2 * rank.radius(), height + 2 * rank.radius());
    let expected: Vec<S> = (0..width * height)
        .map(|i| by_definition(source, across, rank, i % width, i / width))
        .collect();
    Isa::each(|| {
        let mut out = vec![S::from_u16(77); width * height];
        let target = ViewMut::packed(&mut out, width, height);
        cpu::filter(View::packed(source, across, down), rank, target);
        assert!(out == expected, "{width} × {height}, {rank:?}, {:?}", Isa::best());
    });
}

fn noise<S: Sample>(count: usize, seed: u64) -> Vec<S> {
    let mut state = seed;
    let step = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        S::from_u16((state >> 40) as u16 & S::MAX.to_u16())
    };
    (0..count).map(step).collect()
}

/// The samples that a result of this size reads.
fn around(rank: Rank, width: usize, height: usize) -> usize {
    (width + 2 * rank.radius()) * (height + 2 * rank.radius())
}

#[test]
fn a_square_has_as_many_ranks_as_samples() {
    assert!(Rank::new(0, 1).is_some());
    for radius in 0..=MAX_RADIUS {
        let count = (2 * radius + 1).pow(2);
        assert!(Rank::new(radius, 0).is_none());
        assert!(Rank::new(radius, count).is_some());
        assert!(Rank::new(radius, count + 1).is_none());
    }
    for radius in [MAX_RADIUS + 1, usize::MAX] {
        assert!(Rank::new(radius, 1).is_none());
    }
}

#[test]
fn counts_of_the_greatest_square_do_not_overflow() {
    // All 1 089 samples lie below the rest, or none do, or one does.
    for rank in [1, 2, 255, 256, 257, 545, 1_088, 1_089] {
        let rank = Rank::new(MAX_RADIUS, rank).unwrap();
        let count = around(rank, 70, 2);
        for (most, one) in [(0, u16::MAX), (u16::MAX, 0), (128, 127), (32_768, 32_767)] {
            let mut eight = vec![u8::from_u16(most); count];
            eight[count / 2] = u8::from_u16(one);
            check(&eight, rank, 70, 2);
            let mut sixteen = vec![most; count];
            sixteen[count / 2] = one;
            check(&sixteen, rank, 70, 2);
        }
    }
}

#[test]
fn every_radius_and_every_width_around_a_block_is_as_by_definition() {
    for radius in 0..=MAX_RADIUS {
        let side = 2 * radius + 1;
        let rank = Rank::new(radius, (side * side).div_ceil(2)).unwrap();
        for width in [1, 7, 8, 9, 63, 64, 65, 129] {
            check::<u8>(&noise(around(rank, width, 2), 3), rank, width, 2);
            check::<u16>(&noise(around(rank, width, 1), 4), rank, width, 1);
        }
    }
}

#[test]
#[should_panic(expected = "a block of 5 × 5 samples for a result of 4 × 3 and a radius of 1")]
fn a_block_of_another_size_is_refused() {
    let mut out = [0_u8; 12];
    let rank = Rank::new(1, 5).unwrap();
    cpu::filter(
        View::packed(&[0; 25], 5, 5),
        rank,
        ViewMut::packed(&mut out, 4, 3),
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_rank_of_any_block_is_as_by_definition(
        radius in 0_usize..6,
        place in any::<proptest::sample::Index>(),
        width in 1_usize..80,
        height in 1_usize..12,
        seed in any::<u64>(),
        levels in prop::sample::select(&[2_u16, 5, u16::MAX][..]),
    ) {
        let side = 2 * radius + 1;
        let rank = Rank::new(radius, place.index(side * side) + 1).unwrap();
        let count = around(rank, width, height);
        // Few levels, so that many samples are equal.
        let eight: Vec<u8> = noise(count, seed);
        let few: Vec<u8> = eight.iter().map(|v| u8::from_u16(u16::from(*v) % levels)).collect();
        check(&few, rank, width, height);
        let sixteen: Vec<u16> = noise(count, seed);
        let few: Vec<u16> = sixteen.iter().map(|v| v % levels).collect();
        check(&few, rank, width, height);
    }
}
