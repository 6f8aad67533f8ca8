use proptest::prelude::*;
use relief_raster::Sample;

use super::cpu::{Axis, disc, noise, ramp};
use crate::canvas::Canvas;
use crate::isa::Isa;

/// round(a / b), half away from zero, in exact fractions.
fn rounded(a: i128, b: i128) -> i128 {
    let magnitude = (a.abs() * 2 + b) / (2 * b);
    if a < 0 { -magnitude } else { magnitude }
}

fn ramp_sample(from: u16, to: u16, n: u64, i: u64) -> u16 {
    if n <= 1 {
        return from;
    }
    let i = i.min(n - 1);
    let rise = (i128::from(to) - i128::from(from)) * i128::from(i);
    (i128::from(from) + rounded(rise, i128::from(n) - 1)) as u16
}

fn ramp_holds<S: Sample>(from: u16, to: u16, n: u64, start: u64, size: (usize, usize)) {
    let (from, to) = (S::from_u16(from), S::from_u16(to));
    for axis in [Axis::X, Axis::Y] {
        let mut out = Canvas::<S>::poisoned(size);
        ramp(axis, from, to, n, start, out.view());
        out.assert_is(|x, y| {
            let along = if axis == Axis::X { x } else { y };
            S::from_u16(ramp_sample(from.to_u16(), to.to_u16(), n, start + along as u64))
        });
    }
}

fn mixed(seed: u64, x: i64, y: i64) -> u64 {
    let wrap = |v: u128| (v & u128::from(u64::MAX)) as u64;
    let product = |a: u64, b: u64| wrap(u128::from(a) * u128::from(b));
    let sum = u128::from(seed)
        + u128::from(product(x as u64, 0x9E37_79B9_7F4A_7C15))
        + u128::from(product(y as u64, 0xC2B2_AE3D_27D4_EB4F));
    let mut z = wrap(sum);
    z = product(z ^ (z >> 30), 0xBF58_476D_1CE4_E5B9);
    z = product(z ^ (z >> 27), 0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn the_sum_of_a_ramp_is_that_of_its_samples(
        from: u16, to: u16, n in prop_oneof![0_u64..40, 500_u64..20_000, Just(1 << 40), 1_u64..1 << 40],
        at in 0.0..1.2_f64, count in 0..300_u64,
    ) {
        let start = (n as f64 * at) as u64;
        let samples = (start..start + count).map(|i| u128::from(ramp_sample(from, to, n, i)));
        prop_assert_eq!(super::ramp_sum(from, to, n, start, start + count), samples.sum::<u128>());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_ramp_is_the_rounded_line_between_its_ends(
        from: u16, to: u16, n in prop_oneof![0_u64..40, 500_u64..20_000, 1_u64 << 20..1 << 23, Just(1 << 40), 1_u64..1 << 40],
        at in 0.0..1.2_f64, width in 0..70_usize, height in 0..9_usize,
    ) {
        let start = (n as f64 * at) as u64;
        ramp_holds::<u8>(from % 256, to % 256, n, start, (width, height));
        ramp_holds::<u16>(from, to, n, start, (width, height));
    }

    #[test]
    fn a_disc_holds_the_pixels_whose_centre_is_within_its_radius(
        diameter in 0_u64..40, x in -50_i64..50, y in -50_i64..50, width in 0..70_usize, height in 0..40_usize,
    ) {
        let mut out = Canvas::<u8>::poisoned((width, height));
        disc(diameter, 9, x, y, out.view());
        let d = diameter as i64;
        out.assert_is(|i, j| {
            let (across, down) = (2 * (x + i as i64) - d + 1, 2 * (y + j as i64) - d + 1);
            if across * across + down * down <= d * d { 9 } else { 0 }
        });
    }

    #[test]
    fn the_edge_of_a_huge_disc_is_exact(
        diameter in 1_u64 << 30..=1 << 40, angle in 0.0..std::f64::consts::TAU, dx in -9_i64..9, dy in -9_i64..9,
    ) {
        let d = diameter as f64;
        let x = (d * (0.5 + 0.5 * angle.cos())) as i64 + dx - 8;
        let y = (d * (0.5 + 0.5 * angle.sin())) as i64 + dy - 8;
        let mut out = Canvas::<u16>::poisoned((16, 16));
        disc(diameter, 700, x, y, out.view());
        let d = i128::from(diameter);
        out.assert_is(|i, j| {
            let (x, y) = (i128::from(x) + i as i128, i128::from(y) + j as i128);
            let (across, down) = (2 * x - d + 1, 2 * y - d + 1);
            if across * across + down * down <= d * d { 700 } else { 0 }
        });
    }

    #[test]
    fn noise_is_the_mix_of_its_coordinates(
        seed: u64, x: i64, y: i64, width in 0..200_usize, height in 0..4_usize,
    ) {
        Isa::each(|| {
            let mut bytes = Canvas::<u8>::poisoned((width, height));
            noise(seed, x, y, bytes.view());
            let mix = |i: usize, j: usize| mixed(seed, x.wrapping_add(i as i64), y.wrapping_add(j as i64));
            bytes.assert_is(|i, j| (mix(i, j) >> 56) as u8);
            let mut words = Canvas::<u16>::poisoned((width, height));
            noise(seed, x, y, words.view());
            words.assert_is(|i, j| (mix(i, j) >> 48) as u16);
        });
    }
}

#[test]
fn a_ramp_of_two_samples_is_its_ends() {
    ramp_holds::<u8>(3, 200, 2, 0, (2, 2));
    ramp_holds::<u16>(65_535, 0, 2, 0, (2, 2));
}

#[test]
fn a_disc_is_symmetric_and_touches_its_square() {
    for diameter in 1..60_usize {
        let mut out = Canvas::<u8>::poisoned((diameter, diameter));
        disc(diameter as u64, 1, 0, 0, out.view());
        let at = |x, y| out.at(x, y);
        assert!(
            (0..diameter).any(|x| at(x, 0) == 1),
            "diameter {diameter} leaves its first row empty"
        );
        for y in 0..diameter {
            for x in 0..diameter {
                assert_eq!(at(x, y), at(y, x));
                assert_eq!(at(x, y), at(diameter - 1 - x, y));
            }
        }
    }
}
