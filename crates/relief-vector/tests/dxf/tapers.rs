//! Areas of lines of more than one width.

use std::f64::consts::PI;

use relief_vector::{Limits, Refused, Stroke};

use super::{area, drawn, file, options, read};
use crate::support;

/// A polyline of these corners: places, the widths of the side that begins there, and its bulge.
fn polyline(closed: bool, corners: &[(f64, f64, [f64; 2], f64)]) -> String {
    let corners: String = corners
        .iter()
        .map(|(x, y, [begin, end], bulge)| {
            format!("10 {x:.12} | 20 {y:.12} | 40 {begin:.12} | 41 {end:.12} | 42 {bulge:.12} |")
        })
        .collect();
    format!("0 LWPOLYLINE | 70 {} | {corners}", u8::from(closed))
}

/// Its area in square millimetres, with pixels of a twentieth of a millimetre.
fn area_of(closed: bool, corners: &[(f64, f64, [f64; 2], f64)]) -> f64 {
    let layout = drawn(&file("", &polyline(closed, corners)), &options(50));
    assert_eq!(layout.warnings, []);
    area(&layout) / 400.0
}

fn assert_near(is: f64, expected: f64, what: &str) {
    assert!(
        (is - expected).abs() <= 0.004 * expected,
        "{what}: an area of {is}, not {expected}"
    );
}

/// So little that a line has as good as one width, and is yet drawn as one of several.
const HAIR: f64 = 1e-9;

#[test]
fn a_straight_side_is_a_trapezoid() {
    for (x, y, widths) in [
        (20.0, 0.0, [2.0, 0.0]),
        (12.0, 9.0, [1.0, 3.0]),
        (0.0, -15.0, [0.0, 4.0]),
    ] {
        let is = area_of(false, &[(0.0, 0.0, widths, 0.0), (x, y, [0.0; 2], 0.0)]);
        assert_near(
            is,
            f64::hypot(x, y) * (widths[0] + widths[1]) / 2.0,
            "a trapezoid",
        );
    }
}

#[test]
fn an_arc_has_the_area_of_its_length_and_its_mean_width() {
    // Across its middle line as much lies within as without, so that the curvature adds nothing.
    for bulge in [1.0_f64, -0.4, 0.1, 1.0 / 3_000.0, -2.5, 0.0] {
        let chord = 20.0;
        let angle = 4.0 * bulge.atan();
        let length = if bulge == 0.0 {
            chord
        } else {
            chord * (angle / 2.0) / (angle / 2.0).sin()
        };
        let is = area_of(
            false,
            &[(0.0, 0.0, [3.0, 1.0], bulge), (chord, 0.0, [0.0; 2], 0.0)],
        );
        assert_near(is, length * 2.0, &format!("a bulge of {bulge}"));
    }
}

#[test]
fn an_arc_that_is_wider_than_its_radius_covers_what_lies_beyond_its_centre() {
    // Half a turn of the radius 2, half the width h going from `begin` to `end`: (2 + h)² / 2 outside of the centre, (h − 2)² / 2 beyond it, and as much less
    // before it.
    for (begin, end) in [(3.0, 3.0 + HAIR), (1.0, 4.0), (4.0, 0.5)] {
        let steps = 100_000;
        let expected: f64 = (0..steps)
            .map(|step| {
                let h = begin + (end - begin) * (f64::from(step) + 0.5) / f64::from(steps);
                let inner = h - 2.0;
                ((2.0 + h).powi(2) + inner * inner.abs()) / 2.0 * PI / f64::from(steps)
            })
            .sum();
        let corners = [
            (0.0, 0.0, [2.0 * begin, 2.0 * end], 1.0),
            (4.0, 0.0, [0.0; 2], 0.0),
        ];
        assert_near(
            area_of(false, &corners),
            expected,
            &format!("from {begin} to {end}"),
        );
    }
}

#[test]
fn corners_are_those_of_lines_of_one_width() {
    // Of all sharpness to both sides, pointed and cut off, between straight sides and arcs, open and closed.
    for degrees in (10..=170).step_by(10).flat_map(|angle| [angle, -angle]) {
        for (bulge, closed) in [(0.0, false), (0.25, false), (-0.25, false), (0.0, true)] {
            let (sin, cos) = f64::from(degrees).to_radians().sin_cos();
            let line = |hair: f64| {
                [
                    (0.0, 0.0, [2.0, 2.0], 0.0),
                    (20.0, 0.0, [2.0, 2.0 + hair], bulge),
                    (20.0 + 15.0 * cos, 15.0 * sin, [2.0, 2.0], 0.0),
                ]
            };
            let (is, expected) = (area_of(closed, &line(HAIR)), area_of(closed, &line(0.0)));
            assert_near(
                is,
                expected,
                &format!("a corner of {degrees}° with a bulge of {bulge}"),
            );
        }
    }
}

#[test]
fn outer_edges_meet_where_they_go_on_to() {
    // A right angle from a width of 2 to one of 4: both outer edges are level and upright.
    let corners = [
        (0.0, 0.0, [2.0, 2.0], 0.0),
        (10.0, 0.0, [4.0, 4.0], 0.0),
        (10.0, 10.0, [0.0; 2], 0.0),
    ];
    // 10 × 2 and 10 × 4 overlap in 2 × 1; the corner beyond is 2 × 1.
    assert_near(
        area_of(false, &corners),
        20.0 + 40.0 - 2.0 + 2.0,
        "a step at a corner",
    );
    // Tapered: the outer edge of the first goes from (0, −2) to (10, −1) and on to (11.1…, −0.88…), where the upright edge from (11, 0) begins.
    let corners = [
        (0.0, 0.0, [4.0, 2.0], 0.0),
        (10.0, 0.0, [2.0, 2.0], 0.0),
        (10.0, 10.0, [0.0; 2], 0.0),
    ];
    // The kite (10, 0), (10, −1), (11, −0.9), (11, 0), less what both sides cover: from (9, 0) to (10, 0), up to the edge at 1.1 and 1.
    let kite = 0.95;
    assert_near(
        area_of(false, &corners),
        30.0 + 20.0 - 1.05 + kite,
        "a tapered corner",
    );
}

#[test]
fn an_arrow_has_all_of_its_head() {
    let arrow = [
        (0.0, 0.0, [1.0, 1.0], 0.0),
        (12.0, 5.0, [5.0, 0.0], 0.0),
        (24.0, 10.0, [0.0; 2], 0.0),
    ];
    assert_near(area_of(false, &arrow), 13.0 + 13.0 * 2.5, "an arrow");
}

#[test]
fn a_stroke_is_as_wide_as_it_says_whatever_the_widths() {
    let line = |end: f64| {
        let corners = [(0.0, 0.0, [3.0, end], 0.5), (20.0, 5.0, [0.0; 2], 0.0)];
        let mut options = options(50);
        options.stroke = Some(Stroke::solid(30.0));
        let layout = drawn(&file("", &polyline(false, &corners)), &options);
        let (width, height) = layout.size.unwrap();
        support::render::<u16>(&layout.drawing, (width as usize, height as usize))
    };
    assert_eq!(line(1.0), line(3.0));
}

#[test]
fn sides_of_no_length_and_widths_below_zero_cover_nothing() {
    let plain = [
        (0.0, 0.0, [2.0, 1.0], 0.0),
        (10.0, 4.0, [1.0, 3.0], 0.3),
        (20.0, 0.0, [0.0; 2], 0.0),
    ];
    let mut doubled = plain.to_vec();
    doubled.insert(1, (10.0, 4.0, [9.0, 7.0], 0.0));
    assert_eq!(area_of(false, &plain), area_of(false, &doubled));
    let negative = [(0.0, 0.0, [2.0, -2.0], 0.0), (10.0, 0.0, [0.0; 2], 0.0)];
    assert_near(area_of(false, &negative), 10.0, "a width below 0");
    // Turned back upon itself, on its own line.
    let back = [
        (0.0, 0.0, [2.0, 1.0], 0.0),
        (10.0, 0.0, [1.0, 1.0], 0.0),
        (4.0, 0.0, [0.0; 2], 0.0),
    ];
    assert_near(area_of(false, &back), 15.0, "a line that turns back");
}

#[test]
fn hostile_widths_are_refused_within_the_limits() {
    let draw = |corners: &[(f64, f64, [f64; 2], f64)], limits: Limits| {
        let text = file("", &polyline(false, corners));
        let document = relief_vector::dxf::Document::read(text.as_bytes(), limits)?;
        document
            .draw(&options(1_000))
            .map(|layout| layout.drawing.points())
    };
    let end = (20.0, 0.0, [0.0; 2], 0.0);
    let far = draw(&[(0.0, 0.0, [1e30, 1.0], 0.0), end], Limits::default());
    assert!(
        matches!(far, Err(relief_vector::dxf::Error::Refused(Refused::Far(..)))),
        "{far:?}"
    );
    // As large as may be: the points along its edges count.
    let large = [(0.0, 0.0, [1.0, 2.0], 1.0), (1e9, 0.0, [0.0; 2], 0.0)];
    let few = Limits {
        points: 1_000,
        ..Limits::default()
    };
    assert!(matches!(
        draw(&large, few),
        Err(relief_vector::dxf::Error::Refused(Refused::Points(_)))
    ));
    assert!(draw(&large, Limits::default()).unwrap() > 100_000);
    for bulge in [1e300, -1e15, 1e-300, f64::MIN_POSITIVE] {
        let _ = draw(&[(0.0, 0.0, [1.0, 2.0], bulge), end], Limits::default());
    }
    // Widths are held while they are read.
    let corners: Vec<_> = (0..20_000)
        .map(|n| (f64::from(n), 0.0, [1.0, 2.0], 0.0))
        .collect();
    let narrow = Limits {
        memory: 1 << 19,
        ..Limits::default()
    };
    let text = file("", &polyline(false, &corners));
    let refused = relief_vector::dxf::Document::read(text.as_bytes(), narrow);
    assert!(matches!(
        refused,
        Err(relief_vector::dxf::Error::Refused(Refused::Memory(_)))
    ));
    assert!(read(&text).draw(&options(1_000)).is_ok());
}
