//! Polylines of more than one width, as outlines.
//!
//! Each side covers what lies between its edges. Across the middle line, from its begin to its end, half the width w lies on either side, and w goes evenly from
//! the width at the begin to that at the end. So a straight side is a trapezoid, and an arc lies between two spirals of Archimedes. Where two sides
//! meet at an angle, their outer edges go on until they meet, up to 4 half widths from the corner; else the corner is cut off, as where a
//! line of one width has such a corner.
//!
//! A bulge b is an arc that turns by φ = 4 atan b. With s from 0 to 1 along it, of the chord c its middle line is at
//! c · sin(sφ/2) / sin(φ/2), turned by (s − 1)·φ/2, and its direction there is that of the chord turned by (s − 1/2)·φ: no centre is needed, which would lie
//! very far from an arc that is nearly straight.

use kurbo::{BezPath, Point, Vec2};

use crate::limits::{Memory, Refused};
use crate::stroke::{PART, closed, turned};

/// How far edges may go on at a corner, in half widths: as [`Stroke::solid`](crate::Stroke::solid) has it.
const MITER_LIMIT: f64 = 4.0;

/// The most curves along an edge.
const MAX_CURVES: f64 = 65_536.0;

/// A polyline with the widths of its sides.
pub(super) struct Taper<'a> {
    /// Corners, each with the bulge of the side from it to the next.
    pub(super) corners: &'a [(f64, f64, f64)],
    pub(super) closed: bool,
    /// At the begin and at the end of each side.
    pub(super) widths: &'a [[f64; 2]],
    /// How far an edge may lie from the true one.
    pub(super) tolerance: f64,
    /// The most points.
    pub(super) limit: u64,
    pub(super) memory: &'a Memory,
}

impl Taper<'_> {
    /// Pieces that cover it together, all turned the same way.
    pub(super) fn outline(&self) -> Result<BezPath, Refused> {
        let mut out = BezPath::new();
        let (mut first, mut last): (Option<Side>, Option<Side>) = (None, None);
        let next = self.corners.iter().cycle().skip(1);
        for ((&(ax, ay, bulge), &(bx, by, _)), widths) in self.corners.iter().zip(next).zip(self.widths) {
            let (from, to) = (Point::new(ax, ay), Point::new(bx, by));
            // A width below 0 is none.
            let Some(side) = Side::new(from, to, bulge, widths.map(|width| width.max(0.0) / 2.0)) else {
                continue;
            };
            side.cover(self.tolerance, &mut out);
            if let Some(before) = &last {
                join(before, &side, &mut out);
            }
            self.check(&out)?;
            first.get_or_insert(side);
            last = Some(side);
        }
        if let (true, Some(last), Some(first)) = (self.closed, last, first) {
            join(&last, &first, &mut out);
        }
        Ok(out)
    }

    fn check(&self, out: &BezPath) -> Result<(), Refused> {
        let parts = out.elements().len() as u64;
        if parts > self.limit {
            return Err(Refused::Points(self.limit));
        }
        self.memory.room(parts * PART)
    }
}

/// One side of a length above 0.
#[derive(Clone, Copy)]
struct Side {
    from: Point,
    to: Point,
    /// The chord, of length 1.
    chord: Vec2,
    /// Its length.
    reach: f64,
    /// The angle of the arc, against the clock; 0 where it is straight.
    angle: f64,
    /// Half the widths at its begin and at its end.
    halves: [f64; 2],
}

/// By how much something changes along the whole side.
fn along(s: f64, [begin, end]: [f64; 2]) -> f64 {
    begin + (end - begin) * s
}

const fn left(way: Vec2) -> Vec2 {
    Vec2::new(-way.y, way.x)
}

fn rotated(way: Vec2, angle: f64) -> Vec2 {
    let (sin, cos) = libm::sincos(angle);
    Vec2::new(way.x * cos - way.y * sin, way.x * sin + way.y * cos)
}

impl Side {
    fn new(from: Point, to: Point, bulge: f64, halves: [f64; 2]) -> Option<Self> {
        let way = to - from;
        let reach = libm::hypot(way.x, way.y);
        // Not a number is no length either.
        (reach > 0.0 && reach.is_finite()).then(|| Self {
            from,
            to,
            chord: way / reach,
            reach,
            angle: 4.0 * libm::atan(bulge),
            halves,
        })
    }

    /// The length of the middle line.
    fn length(&self) -> f64 {
        let half = self.angle / 2.0;
        if half == 0.0 {
            self.reach
        } else {
            self.reach * half / libm::sin(half)
        }
    }

    /// The direction of the middle line.
    fn way(&self, s: f64) -> Vec2 {
        rotated(self.chord, (s - 0.5) * self.angle)
    }

    fn middle(&self, s: f64) -> Point {
        if s == 0.0 {
            return self.from;
        }
        if s == 1.0 {
            return self.to;
        }
        let half = self.angle / 2.0;
        let share = if half == 0.0 {
            s
        } else {
            libm::sin(s * half) / libm::sin(half)
        };
        self.from + rotated(self.chord, (s - 1.0) * half) * (self.reach * share)
    }

    /// The edge to the left where `sign` is 1, to the right where it is −1.
    fn edge(&self, sign: f64, s: f64) -> Point {
        self.middle(s) + left(self.way(s)) * (sign * along(s, self.halves))
    }

    /// How the edge changes with s.
    fn change(&self, sign: f64, s: f64) -> Vec2 {
        let way = self.way(s);
        let [begin, end] = self.halves;
        // The left turns against the way as the arc turns.
        way * (self.length() - sign * along(s, self.halves) * self.angle) + left(way) * (sign * (end - begin))
    }

    /// Adds what lies between both edges.
    fn cover(&self, tolerance: f64, out: &mut BezPath) {
        if self.halves == [0.0; 2] {
            return;
        }
        if self.angle == 0.0 {
            let corners = [(1.0, 0.0), (1.0, 1.0), (-1.0, 1.0), (-1.0, 0.0)];
            turned(closed(&corners.map(|(sign, s)| self.edge(sign, s))), out);
            return;
        }
        // Where half the width is more than the radius, the inner edge lies beyond the centre.
        let radius = (self.length() / self.angle).abs();
        let [begin, end] = self.halves;
        let crossing = (radius - begin) / (end - begin);
        let parts = if crossing > 0.0 && crossing < 1.0 {
            vec![(0.0, crossing), (crossing, 1.0)]
        } else {
            vec![(0.0, 1.0)]
        };
        for (from, to) in parts {
            let count = self.curves(tolerance, to - from);
            if along((from + to) / 2.0, self.halves) <= radius {
                let mut piece = BezPath::new();
                piece.move_to(self.edge(1.0, from));
                self.follow(1.0, (from, to), count, &mut piece);
                piece.line_to(self.edge(-1.0, to));
                self.follow(-1.0, (to, from), count, &mut piece);
                piece.close_path();
                turned(piece, out);
                continue;
            }
            // All that lies between the centre and either edge.
            let middle = (from + to) / 2.0;
            let centre = self.middle(middle) + left(self.way(middle)) * (self.length() / self.angle);
            for sign in [1.0, -1.0] {
                let mut piece = BezPath::new();
                piece.move_to(centre);
                piece.line_to(self.edge(sign, from));
                self.follow(sign, (from, to), count, &mut piece);
                piece.close_path();
                turned(piece, out);
            }
        }
    }

    /// Curves of third degree along a part of an edge: one with the ends and the directions of a curve lies as far from it as 1/384 of the fourth power of its length
    /// in s, times the greatest fourth derivative.
    fn curves(&self, tolerance: f64, part: f64) -> u32 {
        let [begin, end] = self.halves;
        let (angle, widest) = (self.angle.abs(), begin.max(end));
        let fourth = self.length() * angle.powi(3)
            + widest * angle.powi(4)
            + 4.0 * (end - begin).abs() * angle.powi(3);
        let needed = libm::sqrt(libm::sqrt(fourth / (384.0 * tolerance))) * part;
        // An eighth of a turn at most.
        let turning = angle * part / std::f64::consts::FRAC_PI_4;
        needed.max(turning).ceil().clamp(1.0, MAX_CURVES) as u32
    }

    /// Goes along a part of an edge.
    fn follow(&self, sign: f64, (from, to): (f64, f64), count: u32, piece: &mut BezPath) {
        let step = (to - from) / f64::from(count);
        for number in 0..count {
            let s = from + step * f64::from(number);
            let e = if number + 1 == count { to } else { s + step };
            let (a, b) = (self.edge(sign, s), self.edge(sign, e));
            let (before, after) = (
                self.change(sign, s) * (step / 3.0),
                self.change(sign, e) * (step / 3.0),
            );
            piece.curve_to(a + before, b - after, b);
        }
    }
}

/// Adds what lies at the outside of the corner between two sides.
fn join(one: &Side, two: &Side, out: &mut BezPath) {
    let (before, after) = (one.way(1.0), two.way(0.0));
    let turn = before.cross(after);
    let at = one.to;
    // Where it turns to the left, the outside is to the right.
    let sign = if turn > 0.0 { -1.0 } else { 1.0 };
    let (from, to) = (one.edge(sign, 1.0), two.edge(sign, 0.0));
    let half = one.halves[1].max(two.halves[0]);
    if half == 0.0 || from == to || turn == 0.0 {
        return;
    }
    let (ahead, back) = (one.change(sign, 1.0), -two.change(sign, 0.0));
    // from + u·ahead = to + v·back
    let across = ahead.cross(back);
    let (u, v) = (
        (to - from).cross(back) / across,
        (to - from).cross(ahead) / across,
    );
    let tip = from + ahead * u;
    let is_ahead = u > 0.0 && v > 0.0;
    let corners = if is_ahead && libm::hypot(tip.x - at.x, tip.y - at.y) <= MITER_LIMIT * half {
        vec![at, from, tip, to]
    } else {
        vec![at, from, to]
    };
    turned(closed(&corners), out);
}
