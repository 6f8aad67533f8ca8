//! The corners of polygons and trapezoids, from the lower left of their box or from the first of them on.

use std::io::Read;

use super::bytes::Bytes;
use crate::layout::{Error, Library};
use crate::limits::Refused;

/// Reads a list of points, each from the first, which is (0, 0). Of a polygon whose sides lie along the axes in turn the last corner is not
/// written.
pub(super) fn point_list(
    bytes: &mut Bytes<impl Read>,
    library: &mut Library,
    is_polygon: bool,
    into: &mut Vec<(i64, i64)>,
) -> Result<(), Error> {
    let kind = bytes.unsigned()?;
    if kind > 5 {
        return Err(bytes.fault(format!("a list of points of the type {kind}; 0 to 5 are known")));
    }
    let count = bytes.unsigned()?;
    let limit = library.limits().points;
    if count >= limit {
        return Err(Refused::Points(limit).into());
    }
    let in_turn = kind < 2;
    if is_polygon && in_turn && count % 2 == 1 {
        return Err(bytes.fault(format!(
            "a polygon whose sides lie along the axes in turn has an even number of them, but {count} points"
        )));
    }
    into.clear();
    library.memory().push(into, (0, 0))?;
    let (mut at, mut before) = ((0_i64, 0_i64), (0, 0));
    for number in 0..count {
        let way = match kind {
            0 | 1 => {
                let along = bytes.coordinate()?;
                // Type 0 begins along x.
                if (number + kind) % 2 == 0 {
                    (along, 0)
                } else {
                    (0, along)
                }
            }
            2 => bytes.directed(4)?,
            3 => bytes.directed(8)?,
            4 => bytes.vector()?,
            _ => {
                let change = bytes.vector()?;
                before = (bytes.near(before.0 + change.0)?, bytes.near(before.1 + change.1)?);
                before
            }
        };
        at = (bytes.near(at.0 + way.0)?, bytes.near(at.1 + way.1)?);
        library.memory().push(into, at)?;
    }
    if is_polygon && in_turn {
        let last = if kind == 0 { (0, at.1) } else { (at.0, 0) };
        library.memory().push(into, last)?;
    }
    Ok(())
}

/// A trapezoid in a box of these sides: how far its second side lies beyond its first, at both ends. Its two parallel sides are level, or
/// upright.
pub(super) fn trapezoid(upright: bool, (w, h): (i64, i64), a: i64, b: i64) -> [(i64, i64); 4] {
    if upright {
        [
            (0, a.max(0)),
            (w, (-a).max(0)),
            (w, h - b.max(0)),
            (0, h + b.min(0)),
        ]
    } else {
        [
            ((-a).max(0), 0),
            (w - b.max(0), 0),
            (w + b.min(0), h),
            (a.max(0), h),
        ]
    }
}

/// What a kind of compressed trapezoids takes of a width and a height, the other following from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sides {
    Both,
    Width,
    Height,
}

/// The kinds of trapezoids with angles of 45° that only a number tells apart.
pub(super) const fn sides_of(kind: u64) -> Sides {
    match kind {
        16..=19 | 22 | 23 | 25 => Sides::Width,
        20 | 21 => Sides::Height,
        _ => Sides::Both,
    }
}

/// The box of a compressed trapezoid of which these sides are given.
pub(super) const fn box_of(kind: u64, (w, h): (i64, i64)) -> (i64, i64) {
    match kind {
        16..=19 | 25 => (w, w),
        20 | 21 => (2 * h, h),
        22 | 23 => (w, 2 * w),
        _ => (w, h),
    }
}

/// The corners of a compressed trapezoid in its box, or the least sides that it has.
pub(super) fn compressed(kind: u64, (w, h): (i64, i64)) -> Result<Vec<(i64, i64)>, String> {
    let least = |is: bool, what: &str| {
        is.then_some(())
            .ok_or_else(|| format!("a trapezoid of the kind {kind} has {what}, but sides of {w} and {h}"))
    };
    match kind {
        0..=3 | 6 | 7 => least(w >= h, "at least the width of its height")?,
        4 | 5 => least(w >= 2 * h, "at least twice the width of its height")?,
        8..=11 | 14 | 15 => least(h >= w, "at least the height of its width")?,
        12 | 13 => least(h >= 2 * w, "at least twice the height of its width")?,
        _ => {}
    }
    Ok(match kind {
        // Which ends of the lower side lie within by the height, then of the upper.
        0 => trapezoid(false, (w, h), 0, -h).to_vec(),
        1 => trapezoid(false, (w, h), 0, h).to_vec(),
        2 => trapezoid(false, (w, h), h, 0).to_vec(),
        3 => trapezoid(false, (w, h), -h, 0).to_vec(),
        4 => trapezoid(false, (w, h), h, -h).to_vec(),
        5 => trapezoid(false, (w, h), -h, h).to_vec(),
        6 => trapezoid(false, (w, h), h, h).to_vec(),
        7 => trapezoid(false, (w, h), -h, -h).to_vec(),
        8 => trapezoid(true, (w, h), 0, w).to_vec(),
        9 => trapezoid(true, (w, h), 0, -w).to_vec(),
        10 => trapezoid(true, (w, h), -w, 0).to_vec(),
        11 => trapezoid(true, (w, h), w, 0).to_vec(),
        12 => trapezoid(true, (w, h), -w, w).to_vec(),
        13 => trapezoid(true, (w, h), w, -w).to_vec(),
        14 => trapezoid(true, (w, h), -w, -w).to_vec(),
        15 => trapezoid(true, (w, h), w, w).to_vec(),
        16 => vec![(0, 0), (w, 0), (0, h)],
        17 => vec![(0, 0), (w, h), (0, h)],
        18 => vec![(0, 0), (w, 0), (w, h)],
        19 => vec![(w, 0), (w, h), (0, h)],
        20 => vec![(0, 0), (w, 0), (h, h)],
        21 => vec![(h, 0), (w, h), (0, h)],
        22 => vec![(0, 0), (w, w), (0, h)],
        23 => vec![(w, 0), (w, h), (0, w)],
        24 | 25 => vec![(0, 0), (w, 0), (w, h), (0, h)],
        other => return Err(format!("a trapezoid of the kind {other}; 0 to 25 are known")),
    })
}
