//! Paths of layouts against what they cover by definition, place by place.

use proptest::prelude::*;
use relief_vector::layout::{Layers, Options, Origin};
use relief_vector::{Limits, Pixel, oasis};

use crate::oasis::write;
use crate::support;

type Vector = (f64, f64);

fn dot(a: Vector, b: Vector) -> f64 {
    a.0 * b.0 + a.1 * b.1
}

fn minus(a: Vector, b: Vector) -> Vector {
    (a.0 - b.0, a.1 - b.1)
}

/// The way from one place to another, of length 1.
fn way(from: Vector, to: Vector) -> Vector {
    let (x, y) = minus(to, from);
    (x / x.hypot(y), y / x.hypot(y))
}

/// Whether a path of flush ends covers a place: that lies within half a width of a side and between its ends; or beyond the end of a side,
/// before the begin of the next, and within half a width of both their lines. Where the path turns by more than a right angle, the last is cut off where the
/// sides have gone on by half a width.
fn is_covered(place: Vector, line: &[Vector], half: f64) -> bool {
    let across = |from: Vector, along: Vector| {
        let (x, y) = minus(place, from);
        (along.0 * y - along.1 * x).abs()
    };
    let on_side = line.windows(2).any(|side| {
        let along = way(side[0], side[1]);
        let reach = dot(minus(place, side[0]), along);
        reach >= 0.0 && reach <= dot(minus(side[1], side[0]), along) && across(side[0], along) <= half
    });
    let at_corner = line.windows(3).any(|corner| {
        let at = corner[1];
        let (one, two) = (way(corner[0], at), way(at, corner[2]));
        let from = minus(place, at);
        let beyond = dot(from, one) >= 0.0 && dot(from, two) <= 0.0;
        let within = across(at, one) <= half && across(at, two) <= half;
        let sharpness = dot(one, two);
        let cut = if sharpness < 0.0 {
            // Along the middle of the corner; half a width on, from half a width beside the side.
            let middle = way(two, one);
            let side = ((1.0 + sharpness) / 2.0).sqrt();
            dot(from, middle) > half * (dot(one, middle) + side)
        } else {
            false
        };
        beyond && within && !cut
    });
    on_side || at_corner
}

/// Sides of a path, each by its length in half widths and by how far it turns from the one before, in degrees.
fn sides(most: f64) -> impl Strategy<Value = Vec<(f64, f64)>> {
    let length = prop_oneof![0.05..0.6_f64, 0.6..4.0_f64];
    prop::collection::vec((length, -most..most), 1..6)
}

const HALF: i64 = 400;
const SIDE: u64 = 100;
const FINE: i32 = 8;

fn check(sides: &[(f64, f64)]) -> Result<(), TestCaseError> {
    let mut angle = 0.3_f64;
    let mut line = vec![(0.0, 0.0)];
    let mut deltas = Vec::new();
    let mut at = (0_i64, 0_i64);
    for (length, turn) in sides {
        angle += turn.to_radians();
        let reach = length * HALF as f64;
        let (x, y) = (
            (reach * angle.cos()).round() as i64,
            (reach * angle.sin()).round() as i64,
        );
        if (x, y) == (0, 0) {
            continue;
        }
        at = (at.0 + x, at.1 + y);
        line.push((at.0 as f64, at.1 as f64));
        deltas.push((x, y));
    }
    prop_assume!(!deltas.is_empty());
    let vector = |(x, y): (i64, i64)| {
        let head = x.unsigned_abs() << 2 | u64::from(x < 0) << 1 | 1;
        [write::unsigned(head), write::signed(y)].concat()
    };
    // Of layer 1, flush at both ends, by vectors of any direction.
    let head = [
        vec![22, 0xFB, 1, 0],
        write::unsigned(HALF as u64),
        vec![0b0101, 4],
    ];
    let list = [
        write::unsigned(deltas.len() as u64),
        deltas.into_iter().flat_map(vector).collect(),
    ];
    let records = [write::cell("TOP"), head.concat(), list.concat(), vec![0, 0]].concat();
    let library = oasis::read(&write::file(&records)[..], &Layers::all(), Limits::default()).unwrap();
    let options = Options {
        pixel: Pixel::metres(SIDE, 1_000_000_000).unwrap(),
        origin: Origin::Box,
        cell: None,
        value: 65_535,
    };
    let layout = library.draw(&options).unwrap();
    let (left, .., top) = layout.extent.unwrap();
    let (columns, rows) = layout.size.unwrap();
    let samples = support::render::<u16>(&layout.drawing, (columns as usize, rows as usize));
    for (number, sample) in samples.iter().enumerate() {
        let (column, row) = (number as u64 % columns, number as u64 / columns);
        let place = |fine: i32| (f64::from(fine) + 0.5) / f64::from(FINE);
        let within = (0..FINE * FINE).filter(|fine| {
            let x = left as f64 + (column as f64 + place(fine % FINE)) * SIDE as f64;
            let y = top as f64 - (row as f64 + place(fine / FINE)) * SIDE as f64;
            is_covered((x, y), &line, HALF as f64)
        });
        let share = within.count() as f64 / f64::from(FINE * FINE);
        let is = f64::from(*sample) / 65_535.0;
        // An edge passes over at most so many of the places. The box is one of whole units.
        prop_assert!(
            (is - share).abs() < 0.25,
            "column {column}, row {row}: {is}, not {share}"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn paths_with_blunt_corners_lose_nothing_where_sides_are_short(sides in sides(89.0)) {
        check(&sides)?;
    }

    #[test]
    fn paths_with_corners_of_any_sharpness_lose_nothing_where_sides_are_short(sides in sides(179.0)) {
        check(&sides)?;
    }
}
