use proptest::prelude::*;
use relief_raster::{Sample, ViewMut};

use super::{Gradient, Kind, ONE, Spread, Stop, cpu, scaled_root, turns};
use crate::isa::Isa;

/// Samples of a rectangle, the same with every set of instructions.
fn samples<S: Sample>(gradient: &Gradient, at: (i64, i64), (width, height): (usize, usize)) -> Vec<u16> {
    let mut all: Option<Vec<u16>> = None;
    Isa::each(|| {
        let mut out = vec![S::from_u16(9); width * height];
        cpu::gradient(gradient, at, ViewMut::packed(&mut out, width, height));
        let found: Vec<u16> = out.iter().map(|sample| sample.to_u16()).collect();
        assert!(
            all.as_ref().is_none_or(|all| *all == found),
            "{gradient:?} at {at:?}"
        );
        all = Some(found);
    });
    all.unwrap()
}

fn stop(at: u32, value: u16) -> Stop {
    Stop { at, value }
}

fn spreads() -> impl Strategy<Value = Spread> {
    prop::sample::select(&[Spread::Pad, Spread::Repeat, Spread::Mirror][..])
}

/// Coordinates near 0, at all sizes, and as far as there are any.
fn coordinate() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => -2_000_i64..60_000,
        1 => prop::sample::select(&[0, 256, 128, 2_560, 1 << 48, -(1 << 48)][..]),
        1 => (0_u32..48, any::<i64>()).prop_map(|(bits, number)| number % (1 << bits).max(1)),
    ]
}

fn gradients() -> impl Strategy<Value = Gradient> {
    let pair = || (coordinate(), coordinate());
    let kind = prop_oneof![
        (pair(), pair()).prop_map(|(from, to)| Kind::Linear { from, to }),
        (pair(), coordinate()).prop_map(|(from, x)| Kind::Linear {
            from,
            to: (x, from.1)
        }),
        (pair(), coordinate()).prop_map(|(from, y)| Kind::Linear {
            from,
            to: (from.0, y)
        }),
        (pair(), coordinate(), coordinate()).prop_map(|(centre, inner, more)| Kind::Radial {
            centre,
            inner: inner.abs(),
            radius: inner.abs() + more.abs(),
        }),
        (pair(), any::<u32>()).prop_map(|(centre, start)| Kind::Conical { centre, start }),
    ];
    let place = prop_oneof![0..=ONE, (0_u32..=8).prop_map(|eighth| eighth * ONE / 8)];
    let value = prop_oneof![any::<u16>(), 0_u16..4];
    let stops = prop::collection::vec((place, value), 1..14);
    (kind, spreads(), stops).prop_filter_map("no length", |(kind, spread, stops)| {
        let mut stops: Vec<Stop> = stops.into_iter().map(|(at, value)| stop(at, value)).collect();
        stops.sort_by_key(|stop| stop.at);
        Gradient::new(kind, spread, &stops)
    })
}

/// Where a rectangle begins: near the beginning, and as far as there are pixels.
fn places() -> impl Strategy<Value = (i64, i64)> {
    let place = || {
        prop_oneof![
            3 => 0_i64..300,
            1 => prop::sample::select(&[1 << 20, (1 << 31) - 9, (1 << 40) - 600][..]),
        ]
    };
    (place(), place())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    /// Fixed point and binary64 give what 128 bits give, pixel by pixel, and all of it lies in its range.
    #[test]
    fn parts_of_rows_are_their_pixels(gradient in gradients(), at in places(), width in 1_usize..540) {
        let found = samples::<u16>(&gradient, at, (width, 2));
        let (least, greatest) = gradient.range(at, (at.0 + width as i64 - 1, at.1 + 1));
        for (i, sample) in found.iter().enumerate() {
            let (x, y) = (at.0 + (i % width) as i64, at.1 + (i / width) as i64);
            let place = gradient.spread.of(gradient.place(x, y));
            prop_assert_eq!(*sample, gradient.sample(place), "({}, {})", x, y);
            prop_assert!((least..=greatest).contains(sample), "{} to {}", least, greatest);
        }
    }

    /// Every vector of a period is one.
    #[test]
    fn periods_hold(gradient in gradients(), at in places()) {
        if let Some(period) = gradient.period() {
            let long = |step: u64| i64::try_from(step).ok().filter(|step| *step < 1 << 42);
            let vectors = [Some((long(period.a()), Some(0))), Some((long(period.b()), long(period.c())))];
            for (right, below) in vectors.into_iter().flatten() {
                if let (Some(right), Some(below)) = (right, below) {
                    let of = |x, y| gradient.spread.of(gradient.place(x, y));
                    prop_assert_eq!(of(at.0, at.1), of(at.0 + right, at.1 + below), "{:?}", period);
                }
            }
        }
    }

    /// The scaled root is the greatest whole number whose square is not above.
    #[test]
    fn roots_of_a_hundred_bits_are_exact(n in (0_u32..100, any::<u128>()).prop_map(|(bits, n)| n >> (127 - bits))) {
        let root = scaled_root(n).unsigned_abs();
        prop_assert!(square(root) <= shifted(n));
        prop_assert!(square(root + 1) > shifted(n));
    }

    /// Angles are near those of the real function, and none is less than that of a direction before it.
    #[test]
    fn angles_are_near_and_never_decrease(right in coordinate(), below in coordinate()) {
        let angle = f64::from(turns(right, below)) / 4_294_967_296.0;
        let exact = (below as f64).atan2(right as f64) / std::f64::consts::TAU;
        let off = (angle - exact).rem_euclid(1.0);
        prop_assert!(off.min(1.0 - off) < 1.0 / f64::from(1 << 28), "{angle} for {exact}");
        // A little further.
        if (right, below) != (0, 0) {
            let turned = turns(right - below.signum(), below + right.signum());
            prop_assert!(turned.wrapping_sub(turns(right, below)) < 1 << 31);
        }
    }
}

/// The square of a number of 75 bits, as its upper and its lower 64 bits and more.
fn square(n: u128) -> (u128, u128) {
    let (high, low) = (n >> 64, n & u128::from(u64::MAX));
    let middle = 2 * high * low;
    let rest = low * low;
    let carried = middle + (rest >> 64);
    (
        high * high + (carried >> 64),
        (carried << 64) | (rest & u128::from(u64::MAX)),
    )
}

/// 2^48 times a number, in the same parts.
fn shifted(n: u128) -> (u128, u128) {
    (n >> 80, n << 48)
}

/// T of the first pixel lies so near below a whole number that fixed point and binary64 take it for that number.
#[test]
fn what_lies_just_below_a_whole_number_is_rounded_down() {
    let ends = [stop(0, 0), stop(ONE, 65_535)];
    let first = |kind, spread, stops: &[Stop]| {
        let gradient = Gradient::new(kind, spread, stops).unwrap();
        samples::<u16>(&gradient, (0, 0), (3, 1))[0]
    };
    // (−1, 1)·(2^40, 2^40 − 1) is −1: T is −1, not 0.
    let far = 1 << 40;
    let line = Kind::Linear {
        from: (129, 127),
        to: (129 + far, 126 + far),
    };
    assert_eq!(first(line, Spread::Repeat, &ends), 65_535);
    // 2^44 + 2^86 is (2^43 + 1)² − 1: T is 5, not 6.
    let inner = (1 << 43) - 5;
    let ring = Kind::Radial {
        centre: (128 - (1 << 22), 128 - (1 << 43)),
        inner,
        radius: inner + (1 << 24),
    };
    assert_eq!(first(ring, Spread::Pad, &[stop(6, 0), stop(6, 100)]), 0);
    // 2^26·short is (2^26 − 1)·long − 1: a tangent below the one at which the gradient begins.
    let (long, short) = ((1 << 48) - 1, (1 << 48) - (1 << 22) - 1);
    let cone = Kind::Conical {
        centre: (128 - long, 128 - short),
        start: super::angle::within_eighth((1 << 26) - 1),
    };
    assert_eq!(first(cone, Spread::Pad, &ends), 65_535);
}

#[test]
fn angles_of_the_table_are_the_nearest() {
    for k in 0..=4_096_u32 {
        let exact = (f64::from(k) / 4_096.0).atan() / std::f64::consts::TAU * 4_294_967_296.0;
        assert_eq!(super::angle::within_eighth(k << 14), exact.round() as u32, "{k}");
    }
}

/// The gradients that designs have without stops, by hand.
#[test]
fn a_line_is_divided_evenly() {
    let stops = [stop(0, 0), stop(ONE, 255)];
    let line = |from, to, spread| Gradient::new(Kind::Linear { from, to }, spread, &stops).unwrap();
    // Of 5 pixels 25.5, 76.5, 127.5, …: T is rounded down, but for the middle one, whose half goes up.
    let across = line((0, 0), (5 * 256, 0), Spread::Pad);
    assert_eq!(
        samples::<u8>(&across, (0, 0), (7, 2))[..7],
        [25, 76, 128, 178, 229, 255, 255]
    );
    // Of 4 pixels T is whole: 31.875, 95.625, …
    let there = [32, 96, 159, 223];
    for (spread, after) in [
        (Spread::Pad, [255; 4]),
        (Spread::Repeat, there),
        (Spread::Mirror, [223, 159, 96, 32]),
    ] {
        let down = line((0, 0), (0, 4 * 256), spread);
        assert_eq!(
            samples::<u8>(&down, (9, 0), (1, 8)),
            [there, after].concat(),
            "{spread:?}"
        );
    }
}

#[test]
fn a_ring_begins_at_its_inner_radius() {
    let kind = Kind::Radial {
        centre: (128, 128),
        inner: 512,
        radius: 1_024,
    };
    let ring = Gradient::new(kind, Spread::Pad, &[stop(0, 0), stop(ONE, 100)]).unwrap();
    assert_eq!(samples::<u8>(&ring, (0, 0), (6, 1)), [0, 0, 0, 50, 100, 100]);
    // 3 pixels right and 4 below lie 5 away.
    assert_eq!(samples::<u8>(&ring, (3, 4), (1, 1)), [100]);
}

#[test]
fn a_cone_has_its_quarters_and_its_step() {
    let kind = |start| Kind::Conical {
        centre: (640, 640),
        start,
    };
    let stops = [stop(0, 0), stop(ONE, 160)];
    let cone = Gradient::new(kind(0), Spread::Pad, &stops).unwrap();
    // Right, right below, below, left, above, and the centre itself.
    for (x, y, expected) in [
        (4, 2, 0),
        (4, 4, 20),
        (2, 4, 40),
        (0, 2, 80),
        (2, 0, 120),
        (2, 2, 0),
    ] {
        assert_eq!(samples::<u16>(&cone, (x, y), (1, 1)), [expected], "{x} {y}");
    }
    let turned = Gradient::new(kind(1 << 30), Spread::Pad, &stops).unwrap();
    assert_eq!(samples::<u16>(&turned, (2, 4), (1, 1)), [0]);
    assert_eq!(samples::<u16>(&turned, (4, 2), (1, 1)), [120]);
}

#[test]
fn of_stops_at_one_place_the_last_counts_from_there_on() {
    let kind = Kind::Linear {
        from: (128, 0),
        to: (128 + 256 * 8, 0),
    };
    let stops = [
        stop(ONE / 4, 10),
        stop(ONE / 2, 20),
        stop(ONE / 2, 99),
        stop(ONE / 2, 50),
        stop(3 * (ONE / 4), 40),
    ];
    let steps = Gradient::new(kind, Spread::Pad, &stops).unwrap();
    assert_eq!(
        samples::<u8>(&steps, (0, 0), (9, 1)),
        [10, 10, 10, 15, 50, 45, 40, 40, 40]
    );
    assert_eq!(steps.range((0, 0), (2, 0)), (10, 10));
    assert_eq!(steps.range((0, 0), (3, 0)), (10, 15));
    assert_eq!(steps.range((5, 0), (8, 5)), (40, 45));
}

#[test]
fn more_pieces_than_are_written_one_after_the_other_are_looked_up() {
    let stops: Vec<Stop> = (0..=200)
        .map(|i| stop(i * (ONE / 200), (i * i % 256) as u16))
        .collect();
    let kind = Kind::Linear {
        from: (0, 0),
        to: (256 * 600, 256),
    };
    let many = Gradient::new(kind, Spread::Mirror, &stops).unwrap();
    let found = samples::<u8>(&many, (0, 0), (700, 1));
    for (x, sample) in found.iter().enumerate() {
        let place = many.spread.of(many.place(x as i64, 0));
        assert_eq!(*sample, many.sample(place), "{x}");
    }
}

#[test]
fn what_is_no_gradient_is_refused() {
    let stops = [stop(0, 0), stop(ONE, 255)];
    let is_one = |kind, stops: &[Stop]| Gradient::new(kind, Spread::Pad, stops).is_some();
    let ring = |inner, radius| Kind::Radial {
        centre: (0, 0),
        inner,
        radius,
    };
    let line = |to| Kind::Linear { from: (0, 0), to };
    assert!(is_one(ring(0, 1), &stops) && is_one(line((0, 1 << 48)), &stops));
    for kind in [
        ring(1, 1),
        ring(-1, 1),
        ring(0, (1 << 50) + 1),
        line((0, 0)),
        line((1 << 49, 0)),
    ] {
        assert!(!is_one(kind, &stops), "{kind:?}");
    }
    let many = [stop(0, 0); super::MAX_STOPS + 1];
    for stops in [&[][..], &[stop(1, 0), stop(0, 0)], &[stop(ONE + 1, 0)], &many] {
        assert!(!is_one(ring(0, 1), stops), "{stops:?}");
    }
    // A period that takes more than 64 bits is none.
    let far = line(((1 << 48) - 1, (1 << 48) - 3));
    let far = Gradient::new(far, Spread::Repeat, &stops).unwrap();
    assert_eq!(far.period(), None);
    let short = line((384, 0));
    let short = Gradient::new(short, Spread::Mirror, &stops).unwrap();
    assert_eq!(short.period(), relief_raster::Period::grid(3, 1));
}
