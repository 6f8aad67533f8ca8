//! `gradient`, pixel by pixel: how far along a pixel lies is found by comparing whole numbers, bit by bit where there is no division.

use std::cmp::Ordering;
use std::fmt::Write;

use proptest::prelude::*;
use proptest::sample::select;

use super::polygon::Fraction;
use super::{Node, Weighted};
use crate::oracle::evaluate::At;
use crate::oracle::model::Model;
use crate::oracle::strategy::samples;

/// 1 along a gradient.
const ONE: i128 = 1 << 24;

#[derive(Clone, Debug)]
pub(crate) enum Course {
    Linear {
        from: [Option<Fraction>; 2],
        to: [Option<Fraction>; 2],
    },
    Radial {
        centre: [Option<Fraction>; 2],
        inner: Option<Fraction>,
        radius: Option<Fraction>,
    },
    Conical {
        centre: [Option<Fraction>; 2],
        /// In eighths of a degree.
        angle: i64,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Gradient {
    pub(crate) course: Course,
    /// "pad", "repeat" or "mirror".
    pub(crate) spread: &'static str,
    /// Places in thousandths, and samples.
    pub(crate) stops: Vec<(u32, u16)>,
}

/// In 1/256 px, halves up.
fn rounded((above, below): Fraction) -> i128 {
    let (above, below) = (i128::from(above), i128::from(below));
    (2 * 256 * above + below).div_euclid(2 * below)
}

/// Which of a² and b·2^48 is greater, for a below 2^80 and b below 2^100.
fn square_against(a: u128, b: u128) -> Ordering {
    let low_half = u128::from(u64::MAX);
    let (high, low) = (a >> 64, a & low_half);
    let square = low * low;
    let middle = 2 * high * low + (square >> 64);
    let square = (high * high + (middle >> 64), (middle << 64) | (square & low_half));
    square.cmp(&(b >> 80, b << 48))
}

impl Gradient {
    /// How far along a pixel lies, in 2^−24, before it is spread.
    fn place(&self, at: &At<'_, '_>) -> i128 {
        let (width, height) = at.size();
        let sides = [i128::from(width), i128::from(height)];
        let pixel = [256 * i128::from(at.x) + 128, 256 * i128::from(at.y) + 128];
        let around = |centre: &[Option<Fraction>; 2]| {
            [0, 1].map(|axis| centre[axis].map_or(128 * sides[axis], rounded))
        };
        match &self.course {
            Course::Linear { from, to } => {
                let from = from.map(|place| place.map_or(0, rounded));
                let to = match to {
                    [None, None] => [256 * sides[0], from[1]],
                    _ => [0, 1].map(|axis| to[axis].map_or(from[axis], rounded)),
                };
                let dot = |end: [i128; 2]| {
                    (0..2)
                        .map(|axis| (end[axis] - from[axis]) * (to[axis] - from[axis]))
                        .sum::<i128>()
                };
                (ONE * dot(pixel)).div_euclid(dot(to))
            }
            Course::Radial {
                centre,
                inner,
                radius,
            } => {
                let centre = around(centre);
                let inner = inner.map_or(0, rounded);
                let square = |place: [i128; 2]| -> u128 {
                    (0..2)
                        .map(|axis| (place[axis] - centre[axis]).unsigned_abs().pow(2))
                        .sum()
                };
                let radius = radius.map_or_else(
                    || {
                        let corners = [[0, 0], [1, 0], [0, 1], [1, 1]];
                        let ends = corners.map(|[x, y]| [x * 256 * sides[0], y * 256 * sides[1]]);
                        let most = ends.map(square).into_iter().max().unwrap();
                        // The least radius that reaches it.
                        let below = (0..52).rev().fold(0_u128, |root, bit| {
                            let more = root + (1 << bit);
                            if more * more < most { more } else { root }
                        });
                        below as i128 + 1
                    },
                    rounded,
                );
                // The greatest T with T·(R − r) + 2^24·r ≤ 2^24·distance.
                let squared = square(pixel);
                let reaches = |place: i128| {
                    let reach = place * (radius - inner) + ONE * inner;
                    reach <= 0 || square_against(reach as u128, squared) != Ordering::Greater
                };
                let least = -(ONE * inner).div_euclid(radius - inner) - 2;
                let bits = (0..76)
                    .rev()
                    .filter(|bit| (1_i128 << bit) * (radius - inner) < 1 << 78);
                bits.fold(least, |place, bit| {
                    let more = place + (1 << bit);
                    if reaches(more) { more } else { place }
                })
            }
            Course::Conical { centre, angle } => {
                let centre = around(centre);
                let [x, y] = [pixel[0] - centre[0], pixel[1] - centre[1]];
                let (short, long) = (x.abs().min(y.abs()), x.abs().max(y.abs()));
                let tangent = if long == 0 { 0 } else { (short << 26) / long };
                let turn = (1_i128 << 32) as f64;
                let known = |k: i128| {
                    let exact = (k as f64 / 4_096.0).atan() / std::f64::consts::TAU;
                    (exact * turn).round() as i128
                };
                let (k, f) = (tangent / 16_384, tangent % 16_384);
                let eighth = known(k) + (known(k + 1) - known(k)) * f / 16_384;
                let (quarter, turn) = (1_i128 << 30, 1_i128 << 32);
                // Clockwise from the right, quarter by quarter.
                let angle_there = match (x >= 0, y >= 0) {
                    (true, true) if x >= y => eighth,
                    (true, true) => quarter - eighth,
                    (false, true) if y > -x => quarter + eighth,
                    (false, true) => 2 * quarter - eighth,
                    (false, false) if -x >= -y => 2 * quarter + eighth,
                    (false, false) => 3 * quarter - eighth,
                    (true, false) if -y > x => 3 * quarter + eighth,
                    (true, false) => 4 * quarter - eighth,
                };
                let start = (i128::from(*angle) * turn * 2 + 8 * 360).div_euclid(2 * 8 * 360);
                (angle_there - start).rem_euclid(turn) / 256
            }
        }
    }

    fn spread_place(&self, place: i128) -> i128 {
        match self.spread {
            "pad" => place.clamp(0, ONE),
            "repeat" => place.rem_euclid(ONE),
            _ => {
                let (times, rest) = (place.div_euclid(ONE), place.rem_euclid(ONE));
                if times % 2 == 0 { rest } else { ONE - rest }
            }
        }
    }
}

impl Node for Gradient {
    const NAME: &'static str = "gradient";

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        let mut text = String::new();
        let mut write = |name: &str, value: Option<Fraction>| {
            if let Some((above, below)) = value {
                write!(text, " {name}=\"{above}/{below}\"").unwrap();
            }
        };
        let kind = match &self.course {
            Course::Linear { from, to } => {
                write("from-x", from[0]);
                write("from-y", from[1]);
                write("to-x", to[0]);
                write("to-y", to[1]);
                "linear"
            }
            Course::Radial {
                centre,
                inner,
                radius,
            } => {
                write("centre-x", centre[0]);
                write("centre-y", centre[1]);
                write("inner", *inner);
                write("radius", *radius);
                "radial"
            }
            Course::Conical { centre, angle } => {
                write("centre-x", centre[0]);
                write("centre-y", centre[1]);
                return format!(" \"conical\"{text} angle={}", *angle as f64 / 8.0);
            }
        };
        format!(" \"{kind}\"{text} spread=\"{}\"", self.spread)
    }

    fn parameters(&self) -> Vec<String> {
        let stops = self.stops.iter();
        stops
            .map(|(at, value)| format!("stop at=\"{}/10%\" value={value}", at))
            .collect()
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let place = self.spread_place(self.place(at));
        let mut stops: Vec<(i128, i128)> = self
            .stops
            .iter()
            .map(|(at, value)| {
                (
                    (2 * i128::from(*at) * ONE + 1_000).div_euclid(2_000),
                    i128::from(*value),
                )
            })
            .collect();
        if stops.is_empty() {
            stops = vec![(0, 0), (ONE, i128::from(at.max()))];
        }
        let before = stops.iter().rev().find(|(t, _)| *t <= place);
        let after = stops.iter().find(|(t, _)| *t > place);
        let value = match (before, after) {
            (Some((t, v)), Some((u, w))) => {
                let d = u - t;
                (2 * (v * (u - place) + w * (place - t)) + d).div_euclid(2 * d)
            }
            (Some((_, value)), None) | (None, Some((_, value))) => *value,
            (None, None) => unreachable!("there are stops"),
        };
        u16::try_from(value).unwrap()
    }

    fn leaves(max: u16) -> Option<Weighted<Self>> {
        let fraction = |whole: std::ops::Range<i64>| {
            let below = select(&[1_i64, 1, 2, 3, 256][..]);
            (whole, 0_i64..256, below).prop_map(|(whole, rest, below)| (whole * below + rest % below, below))
        };
        let pair = move || [0, 1].map(|_| proptest::option::of(fraction(-9..40)));
        let length = move || proptest::option::of(fraction(1..30));
        let course = prop_oneof![
            3 => (pair(), pair()).prop_map(|(from, to)| Course::Linear { from, to }),
            // Along an axis, by whole pixels: it repeats.
            1 => (any::<bool>(), 1_i64..9).prop_map(|(across, pixels)| {
                let mut to = [Some((pixels, 1)), None];
                to.rotate_right(usize::from(!across));
                Course::Linear { from: [None, None], to }
            }),
            2 => (pair(), length(), length()).prop_map(|(centre, inner, radius)| Course::Radial { centre, inner, radius }),
            2 => (pair(), -6_000_i64..6_000).prop_map(|(centre, angle)| Course::Conical { centre, angle }),
        ];
        let stop = || {
            let at = prop_oneof![0_u32..=1_000, select(&[0_u32, 250, 500, 1_000][..])];
            (at, samples(max))
        };
        let stops = prop_oneof![
            Just(Vec::new()),
            proptest::collection::vec(stop(), 2..4),
            proptest::collection::vec(stop(), 2..24)
        ];
        let spread = select(&["pad", "repeat", "mirror"][..]);
        let any = (course, spread, stops).prop_map(|(course, spread, mut stops)| {
            stops.sort_by_key(|(at, _)| *at);
            let spread = if matches!(course, Course::Conical { .. }) {
                "pad"
            } else {
                spread
            };
            Self {
                course: course.with_a_length(),
                spread,
                stops,
            }
        });
        Some((3, any.boxed()))
    }
}

impl Course {
    /// The same where it has a length whatever the size of its node, else one that has.
    fn with_a_length(self) -> Self {
        match self {
            Self::Linear { from, mut to } => {
                let begin = from.map(|place| place.map_or(0, rounded));
                let end = [0, 1].map(|axis| to[axis].map_or(begin[axis], rounded));
                if to != [None, None] && begin == end {
                    to[0] = Some((begin[0] as i64 + 77, 256));
                }
                // To the right side, which is nowhere else: from the left.
                let from = if to == [None, None] {
                    [Some((-1, 3)), from[1]]
                } else {
                    from
                };
                Self::Linear { from, to }
            }
            Self::Radial {
                centre,
                inner: Some(inner),
                radius,
            } => {
                let more = (inner.0 + 2 * inner.1, inner.1);
                let greater = radius.filter(|radius| rounded(*radius) > rounded(inner));
                Self::Radial {
                    centre,
                    inner: Some(inner),
                    radius: Some(greater.unwrap_or(more)),
                }
            }
            other => other,
        }
    }
}
