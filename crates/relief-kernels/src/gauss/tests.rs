use proptest::prelude::*;
use relief_raster::{Sample, View, ViewMut};

use super::{Bell, MAX_RADIUS, cpu};
use crate::isa::Isa;

/// A bell of this σ by the host's own exp, good enough for a test: any weights that sum to 2^16 do.
fn bell(sigma: f64) -> Bell {
    let radius = (4.0 * sigma).ceil() as i32;
    let fall = |k: i32| (-f64::from(k * k) / (2.0 * sigma * sigma)).exp();
    let sum: f64 = (-radius..=radius).map(fall).sum();
    let mut half: Vec<u32> = (0..=radius)
        .map(|k| (65_536.0 * fall(k) / sum).round() as u32)
        .collect();
    half[0] = 65_536 - 2 * half[1..].iter().sum::<u32>();
    Bell::new(&half).unwrap()
}

/// Every product by itself, in 128 bits.
fn by_definition<S: Sample>(source: &[S], width: usize, bell: &Bell, x: usize, y: usize) -> u16 {
    let reach = bell.radius() as i64;
    let weight = |k: i64| u128::from(bell.half()[k.unsigned_abs() as usize]);
    let mut sum = 0;
    for j in -reach..=reach {
        for i in -reach..=reach {
            let (x, y) = (x as i64 + reach + i, y as i64 + reach + j);
            sum += weight(i) * weight(j) * u128::from(source[y as usize * width + x as usize].to_u16());
        }
    }
    ((sum + (1 << 31)) >> 32) as u16
}

fn check<S: Sample>(source: &[S], bell: &Bell, width: usize, height: usize) {
    let reach = bell.radius();
    let (across, down) = (width + 2 * reach, height + 2 * reach);
    let expected: Vec<S> = (0..width * height)
        .map(|i| S::from_u16(by_definition(source, across, bell, i % width, i / width)))
        .collect();
    let mut scratch = vec![!0; cpu::scratch_words(bell)];
    Isa::each(|| {
        let mut out = vec![S::from_u16(77); width * height];
        let target = ViewMut::packed(&mut out, width, height);
        cpu::filter(View::packed(source, across, down), bell, target, &mut scratch);
        assert!(
            out == expected,
            "{width} × {height}, radius {reach}, {:?}",
            Isa::best()
        );
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

#[test]
fn weights_that_do_not_sum_to_a_whole_are_no_bell() {
    assert!(Bell::new(&[]).is_none());
    assert!(Bell::new(&[65_535]).is_none());
    assert!(Bell::new(&[0, 1 << 15]).is_some());
    assert!(
        Bell::new(&[1 << 31, 1 << 31]).is_none(),
        "sums of 32 bits would wrap"
    );
    let mut long = vec![0; MAX_RADIUS + 2];
    long[0] = 65_536;
    assert!(Bell::new(&long).is_none() && Bell::new(&long[1..]).is_none());
    assert!(Bell::new(&long[..=MAX_RADIUS]).is_some());
}

#[test]
fn the_greatest_samples_stay_the_greatest() {
    // Every sum is as great as it gets, and the whole weight lies in one place or at two ends.
    for half in [&[65_536][..], &[0, 32_768], &[65_536, 0, 0], &[2, 1, 32_766]] {
        let bell = Bell::new(half).unwrap();
        let side = 5 + 2 * bell.radius();
        check(&vec![u8::MAX; side * side], &bell, 5, 5);
        check(&vec![u16::MAX; side * side], &bell, 5, 5);
    }
}

#[test]
fn a_result_half_way_is_rounded_up() {
    // Half of the weight on one side, where the samples are 1: 0.5 becomes 1.
    let bell = Bell::new(&[0, 32_768]).unwrap();
    let mut source = vec![0_u8; 9];
    source[0] = 1;
    source[6] = 1;
    let mut out = [9];
    let mut scratch = vec![0; cpu::scratch_words(&bell)];
    cpu::filter(
        View::packed(&source, 3, 3),
        &bell,
        ViewMut::packed(&mut out, 1, 1),
        &mut scratch,
    );
    assert_eq!(out, [1]);
}

#[test]
fn the_widest_bell_is_exact() {
    let bell = bell(64.0);
    assert_eq!(bell.radius(), MAX_RADIUS);
    let side = 3 + 2 * MAX_RADIUS;
    check::<u16>(&noise(side * side, 1), &bell, 3, 3);
}

#[test]
fn rows_longer_than_a_chunk_have_no_seam() {
    let bell = bell(1.3);
    let width = 2_500;
    check::<u8>(
        &noise((width + 2 * bell.radius()) * (2 + 2 * bell.radius()), 2),
        &bell,
        width,
        2,
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_block_is_as_by_definition(
        sigma in 0.2_f64..5.0, width in 1_usize..100, height in 1_usize..12, seed in any::<u64>(),
    ) {
        let bell = bell(sigma);
        let count = (width + 2 * bell.radius()) * (height + 2 * bell.radius());
        check::<u8>(&noise(count, seed), &bell, width, height);
        check::<u16>(&noise(count, seed), &bell, width, height);
    }
}
