//! Words that are said in other words before the engine sees them: sides and levels of distances, steps that are no whole
//! number of pixels, several tones, arrays and chains. Each is held to its definition, pixel by pixel.

use proptest::prelude::*;
use relief_engine::{NoImages, Options};

use crate::run::{parse, rendered, renderer};

/// All samples of a design, by tiles of odd sizes without anything kept, and as planned.
fn samples(text: &str) -> Vec<u16> {
    let design = parse(&format!("relief version=1\n{text}"));
    let ways = [
        Options::default(),
        Options::default().tile((7, 5)).kept(0).threads(2),
    ];
    let mut rasters = ways.map(|options| rendered(&renderer(&design, &NoImages, &options)).unwrap());
    assert!(rasters[0] == rasters[1], "{text}");
    std::mem::take(&mut rasters[0])
}

const WIDTH: i64 = 61;
const HEIGHT: i64 = 47;

/// What a mask of its own size holds at a place of a canvas of 61 × 47 pixels; 0 where it is not.
fn mask(raster: &[u16], (width, height): (i64, i64), (left, top): (i64, i64), x: i64, y: i64) -> u16 {
    let (x, y) = (x - left, y - top);
    if (0..width).contains(&x) && (0..height).contains(&y) {
        raster[(y * width + x) as usize]
    } else {
        0
    }
}

#[test]
fn distances_are_told_on_the_side_and_from_the_level_that_are_given() {
    let size = (50_i64, 41_i64);
    for (at, radius, level, bits) in [
        ((-7, 3), 6_i64, 1_i64, 8),
        ((4, -9), 9, 200, 8),
        ((0, 0), 4, 40_000, 16),
        ((20, 20), 7, 255, 8),
    ] {
        // Large areas of one sort, so that some pixels are far from the other.
        let spread =
            |place: &str| format!("equalise{place} {{ (source)gauss sigma=2.5 {{ (source)noise seed=5 }} }}");
        let (width, height) = size;
        let raster = samples(&format!(
            "canvas width={width} height={height} bits={bits}\n{}",
            spread("")
        ));
        let is_set = |x: i64, y: i64| i64::from(mask(&raster, size, at, x, y)) >= level;
        for (side, outside, inside) in [
            ("outside", true, false),
            ("inside", false, true),
            ("both", true, true),
        ] {
            let placed = spread(&format!(" x={} y={} width={width} height={height}", at.0, at.1));
            let found = samples(&format!(
                "canvas width={WIDTH} height={HEIGHT} bits={bits}\n\
                 distance radius={radius} side=\"{side}\" level={level} {{\n\
                 (mask){placed}\n profile \"7 + 10 * d\" beyond=3\n}}"
            ));
            for y in 0..HEIGHT {
                for x in 0..WIDTH {
                    let here = is_set(x, y);
                    let told = if here { inside } else { outside };
                    let nearest = if told {
                        let around =
                            (-radius..=radius).flat_map(|dy| (-radius..=radius).map(move |dx| (dx, dy)));
                        around
                            .filter(|(dx, dy)| is_set(x + dx, y + dy) != here)
                            .map(|(dx, dy)| dx * dx + dy * dy)
                            .filter(|square| *square <= radius * radius)
                            .min()
                    } else {
                        Some(0)
                    };
                    let expected = match nearest {
                        // Half away from zero; no value lies on a half.
                        Some(square) => (7.0 + 10.0 * (square as f64).sqrt()).round() as u16,
                        None => 3,
                    };
                    let index = (y * WIDTH + x) as usize;
                    assert_eq!(found[index], expected, "{side} level {level} at {x}, {y}");
                }
            }
        }
    }
}

#[test]
fn copies_with_fractional_steps_lie_at_the_nearest_pixels() {
    // 2.1 mm at 100 dpi are 1 050 / 127 pixels; 47 / 5 rows.
    let (n, d, rows) = (1_050_i64, 127_i64, 5_i64);
    for (x0, y0) in [(0, 0), (3, -4), (-100, 77)] {
        let found = samples(&format!(
            "canvas width={WIDTH} height={HEIGHT} dpi=100\n\
             repeat step-x=\"2.1mm\" count-y={rows} {{ (pattern)noise seed=3 width=6 height=8 x={x0} y={y0} }}"
        ));
        let pattern = samples("canvas width=6 height=8\nnoise seed=3");
        let begin = |i: i64, n: i64, d: i64| (2 * i * n + d).div_euclid(2 * d);
        for y in 0..HEIGHT {
            for x in 0..WIDTH {
                // The copy whose begin is the greatest that is not beyond the pixel.
                let copy = |at: i64, n: i64, d: i64| {
                    let i = (-60..60).rev().find(|i| begin(*i, n, d) <= at).unwrap();
                    at - begin(i, n, d)
                };
                let (column, row) = (copy(x - x0, n, d), copy(y - y0, HEIGHT, rows));
                let expected = if column < 6 && row < 8 {
                    pattern[(row * 6 + column) as usize]
                } else {
                    0
                };
                assert_eq!(found[(y * WIDTH + x) as usize], expected, "{x0}, {y0}: {x}, {y}");
            }
        }
    }
}

#[test]
fn tones_are_applied_in_order_and_rounded_once() {
    let found = samples(
        "canvas width=256 height=1\n\
         map { brightness 12.5; contrast -40; gamma 2; invert; levels 10 250 255 20; expression \"v / 3\" \n\
         (source)ramp axis=\"x\" from=0 to=255 }",
    );
    for (v, found) in found.into_iter().enumerate() {
        let clamp = |v: f64| v.clamp(0.0, 255.0);
        let mut z = clamp(v as f64 + 255.0 * 12.5 / 100.0);
        z = clamp(127.5 + (z - 127.5) * 0.6);
        z = clamp(255.0 * (z / 255.0).powi(2));
        z = clamp(255.0 - z);
        z = clamp(255.0 + (20.0 - 255.0) * (z.clamp(10.0, 250.0) - 10.0) / 240.0);
        z = clamp(z / 3.0);
        // Values that lie within rounding of a half may go either way here; there are none.
        assert!(((z - z.floor()) - 0.5).abs() > 1e-6, "{v}");
        assert_eq!(f64::from(found), z.round(), "{v}");
    }
}

#[test]
fn chains_and_arrays_have_the_samples_of_what_they_stand_for() {
    let canvas = format!("canvas width={WIDTH} height={HEIGHT}\n");
    for (said, meant) in [
        (
            "chain { noise seed=4; gauss sigma=1.5; threshold level=128 }",
            "threshold level=128 { (source)gauss sigma=1.5 { (source)noise seed=4 } }",
        ),
        (
            "array columns=3 rows=2 step-x=20 step-y=\"50%\" { (max)disc diameter=\"${5 + 2 * i}\" value=\"${50 + 40 * n}\" }",
            "compose {
                (max)disc diameter=5 value=50
                (max)disc diameter=7 value=90 x=20
                (max)disc diameter=9 value=130 x=40
                (max)disc diameter=5 value=170 y=24
                (max)disc diameter=7 value=210 x=20 y=24
                (max)disc diameter=9 value=250 x=40 y=24
            }",
        ),
    ] {
        assert!(
            samples(&format!("{canvas}{said}")) == samples(&format!("{canvas}{meant}")),
            "{said}"
        );
    }
}

/// A child of a surface that may close: what it is and where it begins; nothing where it goes all around.
#[derive(Clone, Debug)]
struct Piece {
    role: &'static str,
    text: String,
    place: Option<(i64, i64)>,
}

/// A turn of the surfaces below.
const TURN: i64 = 24;

/// The text of a node in a surface of so many turns: `<n>` is its width and n more, `<role|node|x>` a shape that stands at x in
/// every turn, and what says how often it stands along a side says so of one turn.
fn over_turns(text: &str, count: i64) -> String {
    let mut found = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        found.push_str(before);
        let (inner, after) = after.split_once('>').unwrap();
        rest = after;
        match inner.split('|').collect::<Vec<_>>()[..] {
            [role, node, x] => {
                let x: i64 = x.parse().unwrap();
                for turn in 0..count {
                    found.push_str(&format!("({role}){node} x={} y=3\n", x + turn * TURN));
                }
            }
            _ => found.push_str(&(count * TURN + inner.parse::<i64>().unwrap()).to_string()),
        }
    }
    found.push_str(rest);
    match found.split_once("count-x=").filter(|_| count > 1) {
        Some((before, after)) => {
            let (number, after) = after.split_once(' ').unwrap();
            format!("{before}step-x=\"{TURN}/{number}px\" {after}")
        }
        None => found,
    }
}

/// Pieces of which some close, some do not, and some do where others are beside them.
fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let around = prop_oneof![
        Just("fill value=9".to_owned()),
        Just("ramp axis=\"y\" from=3 to=90".to_owned()),
        Just("ramp axis=\"x\" from=3 to=90".to_owned()),
        Just("noise seed=3".to_owned()),
        (3_i64..30).prop_map(|step| format!("repeat step-x={step} step-y=4 {{ (pattern)noise seed=1 width=3 height=3 }}")),
        (2_i64..7).prop_map(|count| format!(
            "repeat count-x={count} count-y=2 {{ (pattern)disc diameter=3 value=70 }}"
        )),
        (1_i64..40, 1_i64..6, -3_i64..4, 1_i64..7).prop_map(|(n, d, x, y)| format!(
            "lattice blend=\"sum\" {{ u \"{n}/{d}px\" 0; v {x} {y}; (pattern)disc diameter=3 value=30 }}"
        )),
        (1_i64..30, -3_i64..4, -9_i64..9, 2_i64..7).prop_map(|(ux, uy, x, y)| format!(
            "lattice blend=\"last\" {{ u {ux} {uy}; v {x} {}; (pattern)noise seed=4 width=4 height=3 }}",
            if ux * y == uy * x { y + 1 } else { y }
        )),
        (prop_oneof![Just("wrap"), Just("clamp"), Just("zero")], 2_i64..13).prop_map(|(edge, step)| format!(
            "gauss sigma=0.7 edge=\"{edge}\" {{ (source)repeat step-x={step} step-y=3 {{ (pattern)fill value=90 width=2 height=1 }} }}"
        )),
        (0_i64..12, 0_i64..5).prop_map(|(x, width)| format!(
            "median radius=1 edge=\"mirror\" {{ (source)compose {{ <max|noise seed=9 width={}|{x}> }} }}",
            width + 1
        )),
        (0_i64..20, 1_i64..4).prop_map(|(x, radius)| format!(
            "distance radius={radius} {{ (mask)compose {{ <max|disc diameter=3 value=1|{x}> }}; profile \"9 + 20 * d\" }}"
        )),
        (1_i64..4, 2_i64..9).prop_map(|(radius, step)| format!(
            "distance radius={radius} side=\"both\" {{ (mask)repeat x={} width=<{}> step-x={step} step-y=5 \
             {{ (pattern)fill value=1 width=1 height=1 }}; profile \"9 + 20 * d\" }}",
            -step,
            2 * step
        )),
        (2_i64..9).prop_map(|step| format!(
            "flip axis=\"x\" {{ (source)repeat step-x={step} step-y=5 {{ (pattern)noise seed=2 width=2 height=2 }} }}"
        )),
        (
            prop::sample::select(&[6_i64, 12, 16, 24, 48, 9, 5][..]),
            prop::sample::select(&[0_i64, 0, 6, -24, 7][..]),
            prop::sample::select(&["pad", "repeat", "mirror"][..]),
        )
            .prop_map(|(x, y, spread)| format!(
                "gradient \"linear\" from-x=3 to-x=\"{}/2\" to-y=\"{y}/2\" spread=\"{spread}\"",
                x + 6
            )),
        (0_i64..20).prop_map(|x| format!("map {{ invert; (source)compose {{ <add|disc diameter=5 value=90|{x}> }} }}")),
    ];
    let shape = prop_oneof![
        (2_i64..9).prop_map(|diameter| format!("disc diameter={diameter} value=40")),
        (1_i64..12).prop_map(|width| format!("ramp axis=\"x\" from=10 to=90 width={width} height=4")),
        (1_i64..30).prop_map(|width| format!("noise seed=7 width={width} height=3")),
    ];
    let role = prop_oneof![
        3 => Just("add"), 2 => Just("max"), 2 => Just("over"), 1 => Just("subtract"), 1 => Just("mean"), 1 => Just("base"),
    ];
    let piece = prop_oneof![
        2 => (role.clone(), around).prop_map(|(role, text)| vec![Piece { role, text, place: None }]),
        1 => (role.clone(), shape.clone(), -6_i64..TURN, 0_i64..6).prop_map(|(role, text, x, y)| {
            vec![Piece { role, text, place: Some((x, y)) }]
        }),
        // Two halves of a shape, in either order.
        2 => (role, shape, -8_i64..0, 0_i64..6, any::<bool>()).prop_map(|(role, text, x, y, turned)| {
            let half = |x: i64| Piece { role, text: text.clone(), place: Some((x, y)) };
            let mut halves = vec![half(x), half(x + TURN)];
            if turned {
                halves.reverse();
            }
            halves
        }),
    ];
    proptest::collection::vec(piece, 1..4).prop_flat_map(|pieces| {
        // Pieces may come between halves.
        (Just(pieces.concat()), any::<Option<(usize, usize)>>()).prop_map(|(mut pieces, swap)| {
            if let Some((one, other)) = swap {
                let count = pieces.len();
                pieces.swap(one % count, other % count);
            }
            pieces
        })
    })
}

/// The columns of a shape, as its text says them.
fn columns(node: &str) -> i64 {
    let (_, number) = node
        .split_once("diameter=")
        .or(node.split_once("width="))
        .unwrap();
    number.split(' ').next().unwrap().parse().unwrap()
}

/// A surface of so many turns side by side: what goes all around is as much longer, a shape stands in every turn, those that
/// reach in from outside among them, and halves that are the same shape a turn apart are one.
fn turns(pieces: &[Piece], count: i64, wrap: &str) -> String {
    let mut text = format!(
        "canvas width={} height=10 rounding=\"nearest\"{wrap}\ncompose {{\n",
        count * TURN
    );
    let mut shown = std::collections::HashSet::new();
    for Piece {
        role,
        text: node,
        place,
    } in pieces
    {
        let Some((x, y)) = place else {
            text.push_str(&format!("({role}){}\n", over_turns(node, count)));
            continue;
        };
        if count == 1 {
            text.push_str(&format!("({role}){node} x={x} y={y}\n"));
            continue;
        }
        // What lies outside of the one turn is not seen there.
        let is_seen = |x: i64| x < TURN && x + columns(node) > 0;
        let first = x.rem_euclid(TURN);
        let places = (-3..=count).map(|turn| first + turn * TURN);
        if ["mean", "base"].contains(role) {
            // Where it is 0 it counts as well: all its places are one child.
            let shapes: String = places
                .filter(|_| is_seen(*x))
                .map(|x| format!("(max){node} x={x} y={y}\n"))
                .collect();
            text.push_str(&format!("({role})compose {{\n{shapes}}}\n"));
            continue;
        }
        let has_twin = pieces.iter().any(|other| {
            let is_twin = |(ox, oy): (i64, i64)| oy == *y && (ox - x).abs() == TURN && is_seen(ox);
            other.role == *role && other.text == *node && other.place.is_some_and(is_twin)
        });
        if is_seen(*x) && (!has_twin || shown.insert((*role, node.clone(), first, *y))) {
            text.extend(places.map(|x| format!("({role}){node} x={x} y={y}\n")));
        }
    }
    text.push_str("}\n");
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// What is said to close is the middle turn of a surface of five: nothing is seen of the seam.
    #[test]
    fn a_surface_that_closes_is_a_turn_of_a_longer_one(pieces in pieces()) {
        let one = turns(&pieces, 1, " wrap=\"x\"");
        let reading = relief_design::read("test.kdl", &format!("relief version=1\n{one}"), &relief_design::NoImages, &[]);
        let closes = match &reading {
            Ok(reading) => !reading.warnings.iter().flat_map(|report| report.problems()).any(|problem| problem.code() == "W209"),
            Err(report) => {
                prop_assert!(report.problems().iter().all(|problem| problem.code() == "E508"), "{one}\n{report:?}");
                false
            }
        };
        if !closes {
            return Ok(());
        }
        // Filters and masks of one turn know their own end; what is longer has another one, two turns away.
        let long = samples(&turns(&pieces, 5, ""));
        let short = samples(&one);
        for y in 0..10 {
            for x in 0..TURN {
                let found = short[(y * TURN + x) as usize];
                let expected = long[(y * 5 * TURN + 2 * TURN + x) as usize];
                prop_assert_eq!(found, expected, "{} {}\n{}\n{}", x, y, one, turns(&pieces, 5, ""));
            }
        }
    }
}

/// It is not only refused: most surfaces that a person would call closed are.
#[test]
fn surfaces_that_close_are_said_to() {
    for node in [
        "repeat count-x=7 step-y=5 { (pattern)disc diameter=3 value=9 }",
        "repeat step-x=\"8/3px\" step-y=5 { (pattern)disc diameter=2 value=9 }",
        "lattice { u \"12/5px\" 0; v 1 3; (pattern)disc diameter=5 value=9 }",
        "lattice { u 3 2; v 2 \"-4/3px\"; (pattern)disc diameter=5 value=9 }",
        "lattice { u 5 1; v 1 5; (pattern)disc diameter=5 value=9 }",
        "disc diameter=24 value=9",
        "gradient \"linear\" to-y=5",
        "gradient \"linear\" from-x=7 to-x=15 spread=\"repeat\"",
        "gradient \"linear\" to-x=-6 spread=\"mirror\"",
        "gradient \"linear\" to-x=12 to-y=12 spread=\"repeat\"",
        "gauss sigma=1 edge=\"wrap\" { (source)repeat step-x=8 step-y=5 { (pattern)disc diameter=3 value=9 } }",
        "gauss sigma=1 { (source)disc diameter=10 value=9 x=6 }",
        "gauss sigma=1 { (source)ramp axis=\"y\" from=0 to=200 }",
        "distance radius=3 { (mask)compose { (add)disc diameter=9 value=1 x=5 }; profile \"d\" }",
        "distance radius=3 level=5 { (mask)compose { (add)disc diameter=9 value=9 x=5 }; profile \"d\" }",
        "distance radius=3 { (mask)repeat x=-8 width=40 step-x=8 step-y=5 { (pattern)disc diameter=3 value=9 }; profile \"d\" }",
        "compose { (over)disc diameter=9 value=9 x=-4; (over)disc diameter=9 value=9 x=20 }",
        "compose { (add)disc diameter=9 value=9 x=-4; (add)noise seed=1 width=24 x=0 y=0 height=2; (add)disc diameter=9 value=9 x=20 }"
            .replace("noise seed=1 width=24", "fill value=3").as_str(),
        "array columns=14 rows=1 step-x=2 step-y=1 { (max)disc diameter=5 value=9 x=-4 }",
        "turn { (source)repeat step-x=5 step-y=8 { (pattern)disc diameter=3 value=9 } }",
        "chain { repeat step-x=6 step-y=5 { (pattern)disc diameter=3 value=9 }; threshold level=3; map { invert } }",
        "formula \"a * y\" { (source)repeat step-x=6 step-y=5 name=\"a\" { (pattern)disc diameter=3 value=9 } }",
    ] {
        let text = format!("relief version=1\ncanvas width=24 height=30 rounding=\"nearest\" wrap=\"x\"\n{node}");
        let reading = relief_design::read("test.kdl", &text, &relief_design::NoImages, &[]);
        let reading = reading.unwrap_or_else(|report| panic!("{node}\n{:#?}", report.problems()));
        let unproven = reading.warnings.iter().flat_map(|report| report.problems()).any(|problem| problem.code() == "W209");
        assert!(!unproven, "{node}");
    }
}
