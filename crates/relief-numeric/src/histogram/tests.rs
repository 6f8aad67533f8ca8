use proptest::prelude::*;

use super::cpu::{SCRATCH_WORDS, eight, sixteen};
use super::even::{Bins, BinsError, even};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn each_value_is_counted(samples in prop::collection::vec(any::<u16>(), 0..300), few in 1..300_u16) {
        let samples: Vec<u16> = samples.iter().map(|v| v % few * (u16::MAX / few)).collect();
        let bytes: Vec<u8> = samples.iter().map(|v| (v >> 8) as u8).collect();
        let mut found = [3; 256];
        eight(&bytes, &mut found);
        for (v, count) in found.iter().enumerate() {
            let right = bytes.iter().filter(|byte| usize::from(**byte) == v).count();
            prop_assert_eq!(*count, 3 + right as u64);
        }
        let mut found = Box::new([0; 65_536]);
        sixteen(&samples, &mut found, &mut [7; SCRATCH_WORDS]);
        prop_assert_eq!(found.iter().sum::<u64>(), samples.len() as u64);
        for v in &samples {
            let right = samples.iter().filter(|other| *other == v).count();
            prop_assert_eq!(found[usize::from(*v)], right as u64);
        }
    }

    #[test]
    fn many_bytes_are_counted_whatever_follows_what(
        parts in prop::collection::vec((0..5_u8, any::<u8>(), 1..200_000_usize), 1..6),
        seed in any::<u32>(),
    ) {
        // One value, two in turn, random ones, runs of random ones, and random ones of four, whose pairs are more than a byte counts.
        let mut random = u64::from(seed) << 1 | 1;
        let mut samples = Vec::new();
        for (kind, value, len) in parts {
            for i in 0..len {
                if kind == 2 || kind == 4 || i % 23 == 0 {
                    random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
                }
                samples.push(match kind {
                    0 => value,
                    1 => value ^ (i & 1) as u8,
                    4 => value ^ (random >> 62) as u8,
                    _ => (random >> 56) as u8,
                });
            }
        }
        let mut found = [5; 256];
        eight(&samples, &mut found);
        let mut sorted = samples;
        sorted.sort_unstable();
        for (v, count) in found.iter().enumerate() {
            let v = v as u8;
            let right = sorted.partition_point(|s| *s <= v) - sorted.partition_point(|s| *s < v);
            prop_assert_eq!(*count, 5 + right as u64);
        }
    }


}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn integers_lie_in_the_bins_of_their_quotients(
        low in any::<i32>(), width in 1..u32::MAX, count in 1..=Bins::MOST, places in prop::collection::vec(any::<u32>(), 0..200),
    ) {
        let Some(high) = low.checked_add_unsigned(width) else { return Ok(()) };
        let bins = Bins::i32(low, high, count).unwrap();
        let edge = |bin: u32| (u64::from(bin) * u64::from(width)).div_ceil(u64::from(count)) as u32;
        for place in places {
            // Anywhere, and on both sides of an edge.
            for from_low in [place, edge(place % count), edge(place % count).wrapping_sub(1)] {
                let x = low.wrapping_add_unsigned(from_low);
                let quotient = (i128::from(x) - i128::from(low)) * i128::from(count) / i128::from(width);
                let right = if x < low { count } else if x >= high { count + 1 } else { quotient as u32 };
                prop_assert_eq!(bins.counter(x as u32), right, "{} of {:?}", x, bins);
            }
        }
    }

    #[test]
    fn floats_lie_in_bins_that_rise_with_them_and_nearly_where_reals_do(
        low in -1e6_f32..1e6, width in 1e-1_f32..1e6, count in 1..=Bins::MOST, parts in prop::collection::vec(-0.2..1.2_f64, 2..200),
    ) {
        let bins = Bins::f32(low, low + width, count);
        prop_assume!(bins.is_ok());
        let bins = bins.unwrap();
        let mut numbers: Vec<f32> = parts.iter().map(|part| (f64::from(low) + part * f64::from(width)) as f32).collect();
        numbers.sort_by(f32::total_cmp);
        let inside = |x: &f32| (low..low + width).contains(x);
        let found: Vec<u32> = numbers.iter().filter(|x| inside(x)).map(|x| bins.counter(x.to_bits())).collect();
        prop_assert!(found.is_sorted() && found.iter().all(|bin| *bin < count));
        for x in numbers.iter().filter(|x| !inside(x)) {
            prop_assert_eq!(bins.counter(x.to_bits()), if *x < low { count } else { count + 1 });
        }
        for (x, bin) in numbers.iter().filter(|x| inside(x)).zip(found) {
            let place = (f64::from(*x) - f64::from(low)) / (f64::from(low + width) - f64::from(low)) * f64::from(count);
            prop_assert!((place - f64::from(bin) - 0.5).abs() < 0.51 + place * 1e-6);
        }
    }
}

#[test]
fn what_lies_outside_of_bins_is_counted_apart() {
    let bins = Bins::f32(0.0, 1.0, 4).unwrap();
    let numbers = [
        0.0,
        -0.0,
        0.25,
        0.999,
        1.0,
        -1e-30,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        -f32::NAN,
    ];
    let bits: Vec<u32> = numbers.iter().map(|x: &f32| x.to_bits()).collect();
    let mut counts = [10; 7];
    even(&bins, &bits, &mut counts);
    assert_eq!(counts, [12, 11, 10, 11, 12, 12, 12]);
    let many = bits.repeat(20_000);
    let mut counts = [0; 7];
    even(&bins, &many, &mut counts);
    assert_eq!(counts, [2, 1, 0, 1, 2, 2, 2].map(|n: u64| n * 20_000));
}

#[test]
fn bins_that_are_none_are_refused() {
    assert_eq!(Bins::f32(0.0, 1.0, 0), Err(BinsError::Count(0)));
    assert_eq!(
        Bins::i32(0, 1, Bins::MOST + 1),
        Err(BinsError::Count(Bins::MOST + 1))
    );
    let refused = |low, high| matches!(Bins::f32(low, high, 9), Err(BinsError::Bounds { .. }));
    assert!(refused(1.0, 1.0) && refused(2.0, 1.0) && refused(f32::NAN, 1.0) && refused(0.0, f32::INFINITY));
    assert!(refused(-3e38, 3e38) && refused(0.0, 1e-45));
    assert!(matches!(Bins::i32(5, 5, 9), Err(BinsError::Bounds { .. })));
}
