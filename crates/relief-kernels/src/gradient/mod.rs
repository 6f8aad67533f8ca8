//! Gradients: samples by the place of a pixel along a line, from a centre outwards or around it, in integers.
//!
//! Coordinates are in 1/256 pixel; pixel (x, y) lies at (256x + 128, 256y + 128). T says how far along the gradient it lies, in 2^−24 of the whole,
//! rounded down. With P the pixel:
//!
//! - linear from A to B: T = ⌊2^24·(P − A)·(B − A) / |B − A|²⌋;
//! - radial around C from r to R: T = ⌊2^24·(|P − C| − r) / (R − r)⌋;
//! - conical around C: the angle in 2^−32 of a turn, less that at which it begins, divided by 2^8 ([`turns`]).
//!
//! [`Stop`]s say which samples belong to which T.
//!
//! **How.** [`cpu`] computes the T of a part of a row in a few vector instructions a pixel: a linear one in steps of fixed point, the others in
//! binary64. Both may be off where the exact number lies very near a whole one. How near is known; the few pixels where that is so are computed once more
//! in 128 bits. A division for each pixel of a linear gradient was slower by far, and so was a table of all 2^24 samples.
//!
//! ```
//! use relief_kernels::gradient::{Gradient, Kind, ONE, Spread, Stop, cpu};
//! use relief_raster::ViewMut;
//!
//! // From 0 at the left to 200 four pixels further. Samples stand for the middles of pixels.
//! let kind = Kind::Linear { from: (0, 0), to: (4 << 8, 0) };
//! let stops = [Stop { at: 0, value: 0 }, Stop { at: ONE, value: 200 }];
//! let gradient = Gradient::new(kind, Spread::Pad, &stops).unwrap();
//! let mut out = [0_u8; 5];
//! cpu::gradient(&gradient, (0, 0), ViewMut::packed(&mut out, 5, 1));
//! assert_eq!(out, [25, 75, 125, 175, 200]);
//! ```

mod angle;
pub mod cpu;
mod range;
#[cfg(test)]
mod tests;

use relief_raster::Period;

pub use angle::turns;

/// What stands for 1 in T.
pub const ONE: u32 = 1 << 24;

/// The most stops.
pub const MAX_STOPS: usize = 256;

/// Coordinates in a pixel.
const PIXEL: i64 = 256;

/// The greatest coordinate: 2^40 pixels.
const FAR: i64 = PIXEL << 40;

/// The greatest radius.
const MAX_REACH: i64 = FAR << 2;

/// Where T is 0 and where it is 1; coordinates in 1/256 pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Along a line.
    Linear {
        /// Where T is 0.
        from: (i64, i64),
        /// Where T is 1.
        to: (i64, i64),
    },
    /// From a centre outwards.
    Radial {
        /// The centre.
        centre: (i64, i64),
        /// The radius at which T is 0.
        inner: i64,
        /// The radius at which T is 1.
        radius: i64,
    },
    /// Around a centre, clockwise.
    Conical {
        /// The centre.
        centre: (i64, i64),
        /// The angle at which T is 0, clockwise from the right, in 2^−32 of a turn.
        start: u32,
    },
}

/// What follows below 0 and above 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spread {
    /// The ends: T is taken to 0…2^24.
    Pad,
    /// T mod 2^24.
    Repeat,
    /// The lesser of T mod 2^25 and 2^25 less that.
    Mirror,
}

/// The sample at a T.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stop {
    /// T, at most [`ONE`].
    pub at: u32,
    /// The sample.
    pub value: u16,
}

/// A gradient. The sample between stops (t, v) and (t + d, w) is ⌊(2·(v·(t + d − T) + w·(T − t)) + d) / 2d⌋; before the first stop it is that of the
/// first, from the last on that of the last. Of stops at one T the last counts.
///
/// # Guarantees
/// A linear one begins and ends at two places, a radial one ends at a greater radius than it begins. Coordinates are at most 2^40 pixels, radii 2^42. There are
/// 1 to [`MAX_STOPS`] stops, ascending.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gradient {
    course: Course,
    spread: Spread,
    stops: Box<[Stop]>,
}

/// A [`Kind`] as it is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Course {
    Linear(Line),
    Radial(Ring),
    Conical { centre: (i64, i64), start: u32 },
}

impl Gradient {
    /// Nothing where a guarantee would be broken. The spread of conical ones makes no difference.
    #[must_use]
    pub fn new(kind: Kind, spread: Spread, stops: &[Stop]) -> Option<Self> {
        let near = |(x, y): (i64, i64)| x.unsigned_abs().max(y.unsigned_abs()) <= FAR.unsigned_abs();
        let is_one = match kind {
            Kind::Linear { from, to } => near(from) && near(to) && from != to,
            Kind::Radial {
                centre,
                inner,
                radius,
            } => near(centre) && 0 <= inner && inner < radius && radius <= MAX_REACH,
            Kind::Conical { centre, .. } => near(centre),
        };
        let ascend = stops.is_sorted_by_key(|stop| stop.at) && stops.last()?.at <= ONE;
        if !is_one || !ascend || stops.len() > MAX_STOPS {
            return None;
        }
        Some(Self {
            course: match kind {
                Kind::Linear { from, to } => Course::Linear(Line::of(from, to)),
                Kind::Radial {
                    centre,
                    inner,
                    radius,
                } => Course::Radial(Ring {
                    centre,
                    inner,
                    radius,
                }),
                Kind::Conical { centre, start } => Course::Conical { centre, start },
            },
            spread,
            stops: stops.into(),
        })
    }

    /// How it repeats in whole pixels; nothing where it does not, or where that is too long for a [`Period`].
    ///
    /// (p, q) is a period of a linear gradient with the vector (dx, dy) = g·(a, b), a and b coprime, where 256·(p·dx + q·dy) / (dx² + dy²) is whole, or even where it
    /// is mirrored: where p·a + q·b is a multiple of m = M / gcd(M, 256), M = g·(a² + b²) or twice that. So (−b, a) is one, and any vector for which
    /// p·a + q·b = m.
    #[must_use]
    pub fn period(&self) -> Option<Period> {
        let Course::Linear(line) = self.course else {
            return None;
        };
        let times = match self.spread {
            Spread::Pad => return None,
            Spread::Repeat => 1,
            Spread::Mirror => 2,
        };
        let Line { a, b, whole, .. } = line;
        let whole = whole.checked_mul(times)?;
        let m = whole >> whole.trailing_zeros().min(PIXEL.trailing_zeros());
        let (s, t) = coefficients(a, b);
        let (x, y) = (m.checked_mul(s)?, m.checked_mul(t)?);
        // As near to 0 as multiples of (−b, a) bring it.
        let across = y.checked_mul(a)?.checked_sub(x.checked_mul(b)?)?;
        let times = across.div_euclid(a * a + b * b);
        let near = (x + times * b, y - times * a);
        let short = |number: i128| i64::try_from(number).ok();
        Period::spanned((short(-b)?, short(a)?), (short(near.0)?, short(near.1)?))
    }

    /// T of a pixel before it is spread.
    fn place(&self, x: i64, y: i64) -> i128 {
        match self.course {
            Course::Linear(line) => line.numerator(x, y).div_euclid(line.divisor),
            Course::Radial(ring) => {
                let (right, below) = away(ring.centre, x, y);
                ring.place(right, below)
            }
            Course::Conical { centre, start } => {
                let (right, below) = away(centre, x, y);
                (turns(right, below).wrapping_sub(start) >> 8).into()
            }
        }
    }

    /// The sample at a T that is spread.
    fn sample(&self, place: u32) -> u16 {
        let next = self.stops.partition_point(|stop| stop.at <= place);
        let (from, to) = self.between(next);
        if from.at >= to.at {
            return from.value;
        }
        let (place, whole) = (u64::from(place - from.at), u64::from(to.at - from.at));
        let sum = u64::from(from.value) * (whole - place) + u64::from(to.value) * place;
        // Between both values.
        ((2 * sum + whole) / (2 * whole)) as u16
    }

    /// The stops around every T that so many stops are not above; one stop twice where one end is open.
    fn between(&self, next: usize) -> (Stop, Stop) {
        let last = self.stops.len() - 1;
        (self.stops[next.saturating_sub(1)], self.stops[next.min(last)])
    }
}

impl Spread {
    /// T taken to 0…2^24.
    fn of(self, place: i128) -> u32 {
        let (one, two) = (i128::from(ONE), 2 * i128::from(ONE));
        let taken = match self {
            Self::Pad => place.clamp(0, one),
            Self::Repeat => place.rem_euclid(one),
            Self::Mirror => {
                let place = place.rem_euclid(two);
                place.min(two - place)
            }
        };
        taken as u32
    }
}

/// Where a pixel lies from here, at most 2^41 pixels away.
const fn away(centre: (i64, i64), x: i64, y: i64) -> (i64, i64) {
    (PIXEL * x + PIXEL / 2 - centre.0, PIXEL * y + PIXEL / 2 - centre.1)
}

/// A linear gradient as a fraction: T = ⌊2^24·((P − A)·(a, b)) / `whole`⌋, with (a, b) the shortest whole vector along it. What
/// 2^24 and `whole` have in common is divided out of `scale` and `divisor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Line {
    from: (i64, i64),
    a: i128,
    b: i128,
    whole: i128,
    scale: u32,
    divisor: i128,
}

impl Line {
    fn of(from: (i64, i64), to: (i64, i64)) -> Self {
        let (x, y) = (
            i128::from(to.0) - i128::from(from.0),
            i128::from(to.1) - i128::from(from.1),
        );
        let common = gcd(x.abs(), y.abs());
        let (a, b) = (x / common, y / common);
        // At most 2^99.
        let whole = common * (a * a + b * b);
        let twos = whole.trailing_zeros().min(ONE.trailing_zeros());
        Self {
            from,
            a,
            b,
            whole,
            scale: ONE.trailing_zeros() - twos,
            divisor: whole >> twos,
        }
    }

    /// What is divided for a pixel: at most 2^123.
    fn numerator(&self, x: i64, y: i64) -> i128 {
        let (right, below) = away(self.from, x, y);
        (i128::from(right) * self.a + i128::from(below) * self.b) << self.scale
    }

    /// How much the numerator grows from a pixel to the one right of it.
    fn step(&self) -> i128 {
        (i128::from(PIXEL) * self.a) << self.scale
    }
}

/// A radial gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Ring {
    centre: (i64, i64),
    inner: i64,
    radius: i64,
}

impl Ring {
    /// T of a pixel so far from the centre.
    fn place(&self, right: i64, below: i64) -> i128 {
        let square = |side: i64| u128::from(side.unsigned_abs()) * u128::from(side.unsigned_abs());
        let root = scaled_root(square(right) + square(below));
        (root - (i128::from(self.inner) << 24)).div_euclid(i128::from(self.radius - self.inner))
    }
}

/// ⌊2^24·√n⌋ for n of at most 100 bits.
fn scaled_root(n: u128) -> i128 {
    if n < 1 << 80 {
        return (n << 48).isqrt().cast_signed();
    }
    // 2^14 times the root fits, and the other ten bits follow: (2^10·m + j)² ≤ 2^48·n where 2^11·m·j + j² ≤ 2^20·rest.
    let (m, wide) = ((n << 28).isqrt(), n << 28);
    let rest = wide - m * m;
    let j = ((rest << 20) / (m << 11)).min(1_023);
    let j = j - u128::from((m << 11) * j + j * j > rest << 20);
    ((m << 10) + j).cast_signed()
}

/// The greatest common divisor of two numbers of which one is above 0.
fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// s and t with s·a + t·b = 1, of coprime numbers.
fn coefficients(a: i128, b: i128) -> (i128, i128) {
    let (mut r, mut s, mut t) = ((a, b), (1, 0), (0, 1));
    while r.1 != 0 {
        let quotient = r.0 / r.1;
        r = (r.1, r.0 - quotient * r.1);
        s = (s.1, s.0 - quotient * s.1);
        t = (t.1, t.0 - quotient * t.1);
    }
    // What is left is 1 or −1.
    (s.0 * r.0, t.0 * r.0)
}
