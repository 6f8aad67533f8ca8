//! Between which samples a rectangle of a gradient lies.

use super::{Course, Gradient, ONE, PIXEL, Spread, away, turns};

impl Gradient {
    /// The least and the greatest that a sample from column `left` to column `right` and from row `top` to row `bottom` may be, all of them within: sound, and exact
    /// where samples change one way between these pixels.
    ///
    /// # Panics
    /// Where there is no such column or row.
    #[must_use]
    pub fn range(&self, (left, top): (i64, i64), (right, bottom): (i64, i64)) -> (u16, u16) {
        assert!(left <= right && top <= bottom, "a rectangle without pixels");
        let (least, greatest) = self.places((left, top), (right, bottom));
        let (first, last) = self.spread_range(least, greatest);
        let (first_sample, last_sample) = (self.sample(first), self.sample(last));
        let begin = self.stops.partition_point(|stop| stop.at <= first);
        let end = self.stops.partition_point(|stop| stop.at <= last);
        let within = self.stops[begin..end].iter().map(|stop| stop.value);
        within.fold(
            (first_sample.min(last_sample), first_sample.max(last_sample)),
            |(least, greatest), value| (least.min(value), greatest.max(value)),
        )
    }

    /// Between which T they lie before those are spread.
    fn places(&self, (left, top): (i64, i64), (right, bottom): (i64, i64)) -> (i128, i128) {
        match self.course {
            Course::Linear(_) => {
                let corners = [(left, top), (right, top), (left, bottom), (right, bottom)];
                let [a, b, c, d] = corners.map(|(x, y)| self.place(x, y));
                (a.min(b).min(c).min(d), a.max(b).max(c).max(d))
            }
            Course::Radial(ring) => {
                let (first, last) = (away(ring.centre, left, top), away(ring.centre, right, bottom));
                let (near_x, far_x) = distances(first.0, last.0);
                let (near_y, far_y) = distances(first.1, last.1);
                (ring.place(near_x, near_y), ring.place(far_x, far_y))
            }
            Course::Conical { centre, start } => {
                let corners = (away(centre, left, top), away(centre, right, bottom));
                let all = (0, i128::from(ONE) - 1);
                angles(corners, start).map_or(all, |(first, last)| ((first >> 8).into(), (last >> 8).into()))
            }
        }
    }

    /// The same after they are spread.
    fn spread_range(&self, least: i128, greatest: i128) -> (u32, u32) {
        let one = i128::from(ONE);
        let (time, same) = (
            least.div_euclid(one),
            least.div_euclid(one) == greatest.div_euclid(one),
        );
        match self.spread {
            Spread::Pad => (self.spread.of(least), self.spread.of(greatest)),
            Spread::Repeat if same => (self.spread.of(least), self.spread.of(greatest)),
            Spread::Mirror if same && time % 2 == 0 => (self.spread.of(least), self.spread.of(greatest)),
            Spread::Mirror if same => (self.spread.of(greatest), self.spread.of(least)),
            Spread::Repeat => (0, ONE - 1),
            Spread::Mirror => (0, ONE),
        }
    }
}

/// Between which angles from the start on the pixels of a rectangle lie, of which the top left and the bottom right one lie here from the centre. Nothing where they may
/// lie on both sides of the start.
///
/// Where the centre is outside, all lie within half a turn and the outermost at corners, as [`turns`] never decreases.
fn angles((first, last): ((i64, i64), (i64, i64)), start: u32) -> Option<(u32, u32)> {
    let beside = |from: i64, to: i64| from > 0 || to < 0;
    if !beside(first.0, last.0) && !beside(first.1, last.1) {
        return None;
    }
    let one = turns(first.0, first.1);
    let others = [(last.0, first.1), (first.0, last.1), last];
    let turned = others.map(|(x, y)| turns(x, y).wrapping_sub(one).cast_signed());
    // Half a turn: which way is not told.
    if turned.contains(&i32::MIN) {
        return None;
    }
    let [a, b, c] = turned.map(i64::from);
    let from_start = i64::from(one.wrapping_sub(start));
    let begin = from_start + a.min(b).min(c).min(0);
    let end = from_start + a.max(b).max(c).max(0);
    Some((u32::try_from(begin).ok()?, u32::try_from(end).ok()?))
}

/// The least and the greatest distance of pixels in a row from a place, the first and the last of which lie so far from it.
fn distances(first: i64, last: i64) -> (i64, i64) {
    let (one, other) = (first.abs(), last.abs());
    let near = if first < 0 && last > 0 {
        // Those on both sides of the place.
        let beyond = first.rem_euclid(PIXEL);
        beyond.min(PIXEL - beyond)
    } else {
        one.min(other)
    };
    (near, one.max(other))
}
