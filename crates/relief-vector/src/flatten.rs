//! Curves to points, in integers.
//!
//! A curve is halved, by de Casteljau's rule in 2^-16 px, until its control points lie within 1/16 px of its chord. Whether they
//! do is asked in integers too, so the points depend on nothing but the curve, and are the same from either end.

use crate::limits::Refused;
use kurbo::Point;

/// A position in 2^-16 px.
pub(crate) type Fine = (i64, i64);

/// 1/16 px.
const TOLERANCE: u128 = 1 << 12;
/// No curve within the greatest coordinates needs more halvings: each quarters the distance from the chord.
const MAX_DEPTH: u32 = 26;
/// The greatest coordinate in pixels.
pub(crate) const MAX: f64 = (1_u64 << 40) as f64;

/// The nearest whole number, halves up. `value` lies within ±2^62.
pub(crate) fn nearest(value: f64) -> i64 {
    // Cut towards 0, which is one more than the floor of what is less than 0 and not whole.
    let cut = value as i64;
    let floor = cut.saturating_sub(i64::from(cut as f64 > value));
    floor.saturating_add(i64::from(value - floor as f64 >= 0.5))
}

/// A position in pixels to 1/256 px, if it is one.
pub(crate) fn coarse(point: Point) -> Result<(i64, i64), Refused> {
    check(point)?;
    Ok((nearest(point.x * 256.0), nearest(point.y * 256.0)))
}

/// A position in pixels to 2^-16 px, if it is one.
pub(crate) fn fine(point: Point) -> Result<Fine, Refused> {
    check(point)?;
    Ok((nearest(point.x * 65_536.0), nearest(point.y * 65_536.0)))
}

fn check(point: Point) -> Result<(), Refused> {
    // Not a number is not within either.
    let within = |v: f64| v.abs() <= MAX;
    if within(point.x) && within(point.y) {
        Ok(())
    } else {
        Err(Refused::Far(point.x, point.y))
    }
}

/// 2^-16 px to 1/256 px, halves up.
pub(crate) const fn coarsened(point: Fine) -> (i64, i64) {
    ((point.0 + 128) >> 8, (point.1 + 128) >> 8)
}

/// Hands over the points at which a quadratic curve was halved, in order, without its ends.
pub(crate) fn quadratic<E>(
    curve: [Fine; 3],
    depth: u32,
    each: &mut impl FnMut(Fine) -> Result<(), E>,
) -> Result<(), E> {
    let [a, b, c] = curve;
    if depth == MAX_DEPTH || near(b, a, c) {
        return Ok(());
    }
    let (left, right) = (middle(a, b), middle(b, c));
    let on = middle(left, right);
    quadratic([a, left, on], depth + 1, each)?;
    each(on)?;
    quadratic([on, right, c], depth + 1, each)
}

/// Hands over the points at which a cubic curve was halved, in order, without its ends.
pub(crate) fn cubic<E>(
    curve: [Fine; 4],
    depth: u32,
    each: &mut impl FnMut(Fine) -> Result<(), E>,
) -> Result<(), E> {
    let [a, b, c, d] = curve;
    if depth == MAX_DEPTH || (near(b, a, d) && near(c, a, d)) {
        return Ok(());
    }
    let (ab, bc, cd) = (middle(a, b), middle(b, c), middle(c, d));
    let (left, right) = (middle(ab, bc), middle(bc, cd));
    let on = middle(left, right);
    cubic([a, ab, left, on], depth + 1, each)?;
    each(on)?;
    cubic([on, right, cd, d], depth + 1, each)
}

const fn middle(a: Fine, b: Fine) -> Fine {
    ((a.0 + b.0) >> 1, (a.1 + b.1) >> 1)
}

/// Whether `p` lies within 1/16 px of the chord from `a` to `b`. Roots are floored, so a hair beyond counts as beyond.
fn near(p: Fine, a: Fine, b: Fine) -> bool {
    let (chord, place) = ((b.0 - a.0, b.1 - a.1), (p.0 - a.0, p.1 - a.1));
    // Nearly all curves are so short that products of two sides fit 64 bits.
    let is_short = |(x, y): Fine| x.unsigned_abs() < SHORT && y.unsigned_abs() < SHORT;
    if is_short(chord) && is_short(place) {
        near_in_64_bits(place, chord)
    } else {
        near_in_128_bits(place, chord)
    }
}

/// Sides of which the sum of two products is less than 2^61.
const SHORT: u64 = 1 << 30;

fn near_in_64_bits((px, py): Fine, (dx, dy): Fine) -> bool {
    const TOLERANCE: u64 = self::TOLERANCE as u64;
    let along = px * dx + py * dy;
    let length = dx * dx + dy * dy;
    let from = |x: i64, y: i64| (x * x + y * y).unsigned_abs() <= TOLERANCE * TOLERANCE;
    if along <= 0 {
        return from(px, py);
    }
    if along >= length {
        return from(px - dx, py - dy);
    }
    (px * dy - py * dx).unsigned_abs() <= TOLERANCE * short_root(length.unsigned_abs())
}

fn near_in_128_bits((px, py): Fine, (dx, dy): Fine) -> bool {
    let (dx, dy) = (i128::from(dx), i128::from(dy));
    let (px, py) = (i128::from(px), i128::from(py));
    let along = px * dx + py * dy;
    let length = dx * dx + dy * dy;
    let from = |x: i128, y: i128| (x * x + y * y).unsigned_abs() <= TOLERANCE * TOLERANCE;
    if along <= 0 {
        return from(px, py);
    }
    if along >= length {
        return from(px - dx, py - dy);
    }
    (px * dy - py * dx).unsigned_abs() <= TOLERANCE * root(length.unsigned_abs())
}

/// The floored root of a number less than 2^62.
fn short_root(n: u64) -> u64 {
    // Off by one at most: the number is rounded to 53 bits, and the root once more.
    let root = libm::sqrt(n as f64) as u64;
    if root * root > n {
        root - 1
    } else if (root + 1) * (root + 1) <= n {
        root + 1
    } else {
        root
    }
}

fn root(n: u128) -> u128 {
    match u64::try_from(n) {
        Ok(n) => u128::from(n.isqrt()),
        Err(_) => n.isqrt(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn points(curve: [Fine; 4]) -> Vec<Fine> {
        let mut out = vec![curve[0]];
        let done: Result<(), ()> = cubic(curve, 0, &mut |point| {
            out.push(point);
            Ok(())
        });
        done.unwrap();
        out.push(curve[3]);
        out
    }

    /// The curve by its polynomial, in floating point.
    fn at(curve: [Fine; 4], t: f64) -> (f64, f64) {
        let u = 1.0 - t;
        let weights = [u * u * u, 3.0 * u * u * t, 3.0 * u * t * t, t * t * t];
        let sum = |f: fn(&Fine) -> i64| curve.iter().zip(weights).map(|(p, w)| f(p) as f64 * w).sum();
        (sum(|p| p.0), sum(|p| p.1))
    }

    fn distance(p: (f64, f64), a: Fine, b: Fine) -> f64 {
        let (ax, ay) = (a.0 as f64, a.1 as f64);
        let (dx, dy) = (b.0 as f64 - ax, b.1 as f64 - ay);
        let t = (((p.0 - ax) * dx + (p.1 - ay) * dy) / (dx * dx + dy * dy).max(1.0)).clamp(0.0, 1.0);
        f64::hypot(p.0 - ax - t * dx, p.1 - ay - t * dy)
    }

    #[test]
    fn the_chords_stay_within_a_sixteenth_of_a_pixel_of_the_curve() {
        let mut state = 3_u64;
        for size in [1_i64 << 12, 1 << 20, 1 << 30, 1 << 40] {
            let mut random = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 11) as i64 % size
            };
            let curve = [(); 4].map(|()| (random(), random()));
            let chords = points(curve);
            for i in 0..=1_000 {
                let p = at(curve, f64::from(i) / 1_000.0);
                let least = chords
                    .windows(2)
                    .map(|c| distance(p, c[0], c[1]))
                    .fold(f64::MAX, f64::min);
                // Halving rounds by less than 2^-16 px each time.
                assert!(least <= 4_096.0 + 64.0, "{} px from the chords", least / 65_536.0);
            }
        }
    }

    proptest! {
        #[test]
        fn short_curves_are_halved_as_in_128_bits(
            shift in 0..18_u32, place in (-TO..TO, -TO..TO), chord in (-TO..TO, -TO..TO), off in -5_000..5_000_i64,
        ) {
            let cut = |(x, y): Fine| (x >> shift, y >> shift);
            let (place, chord) = (cut(place), cut(chord));
            prop_assert_eq!(near_in_64_bits(place, chord), near_in_128_bits(place, chord));
            // About as far from the chord as may be.
            let beside = (chord.0 / 2 + off, chord.1 / 2 - off / 3);
            prop_assert_eq!(near_in_64_bits(beside, chord), near_in_128_bits(beside, chord));
        }

        #[test]
        fn roots_are_floored(root in 0..1_u64 << 31, more in 0..3_u64) {
            for n in [root * root, (root * root).saturating_sub(1), root * root + more] {
                prop_assert_eq!(short_root(n), n.isqrt());
            }
        }
    }

    const TO: i64 = SHORT as i64;

    #[test]
    fn a_curve_has_the_same_points_from_either_end() {
        let curve = [
            (0, 0),
            (812_331, -99_123),
            (-77_777, 1_234_567),
            (655_361, 655_359),
        ];
        let mut back = points([curve[3], curve[2], curve[1], curve[0]]);
        back.reverse();
        assert_eq!(points(curve), back);
    }

    #[test]
    fn a_control_point_beyond_an_end_is_not_near_the_chord() {
        // All on one line: the curve goes past its end and comes back.
        let curve = [(0, 0), (65_536 * 30, 0), (65_536 * 30, 0), (65_536, 0)];
        assert!(points(curve).iter().any(|p| p.0 > 65_536 * 20));
    }

    #[test]
    fn halves_go_up_and_what_is_just_less_does_not() {
        assert_eq!(
            [
                nearest(0.5),
                nearest(-0.5),
                nearest(-1.5),
                nearest(0.499_999_999_999_999_94)
            ],
            [1, 0, -1, 0]
        );
        assert_eq!(nearest(4_503_599_627_370_497.0), 4_503_599_627_370_497);
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for bad in [f64::NAN, f64::INFINITY, -1e300, MAX * 1.000_001] {
            assert!(coarse(Point::new(0.0, bad)).is_err() && fine(Point::new(bad, 0.0)).is_err());
        }
        assert!(fine(Point::new(MAX, -MAX)).is_ok());
    }
}
