//! Formulas against an evaluation of their texts that shares no code with the language's: names, numbers, signs,
//! `+ - * /`, `sqrt`, `abs`, `floor`, `min` and `max`, each by what `f64` of the standard library gives.

use std::collections::HashMap;

use proptest::prelude::*;
use relief_engine::{Depth, Kept, NoImages, Options, Rect};

use crate::oracle::model::Picture;
use crate::pictures::Pictures;
use crate::run::{parse, part, rendered, renderer, window};

type Names<'n> = HashMap<&'n str, f64>;

/// Reads an expression and computes it at once.
struct Calculator<'t> {
    rest: &'t str,
    names: &'t Names<'t>,
}

impl Calculator<'_> {
    fn takes(&mut self, sign: char) -> bool {
        let rest = self.rest.trim_start();
        let taken = rest.strip_prefix(sign);
        self.rest = taken.unwrap_or(rest);
        taken.is_some()
    }

    fn sum(&mut self) -> f64 {
        let mut sum = self.product();
        loop {
            if self.takes('+') {
                sum += self.product();
            } else if self.takes('-') {
                sum -= self.product();
            } else {
                return sum;
            }
        }
    }

    fn product(&mut self) -> f64 {
        let mut product = self.signed();
        loop {
            if self.takes('*') {
                product *= self.signed();
            } else if self.takes('/') {
                product /= self.signed();
            } else {
                return product;
            }
        }
    }

    fn signed(&mut self) -> f64 {
        if self.takes('-') {
            return -self.signed();
        }
        if self.takes('(') {
            let value = self.sum();
            assert!(self.takes(')'));
            return value;
        }
        let rest = self.rest.trim_start();
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.')
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        self.rest = after;
        if let Ok(number) = word.parse() {
            return number;
        }
        if let Some(value) = self.names.get(word) {
            return *value;
        }
        assert!(self.takes('('), "{word} is no name");
        let a = self.sum();
        let value = match word {
            "sqrt" => a.sqrt(),
            "abs" => a.abs(),
            "floor" => a.floor(),
            "min" | "max" => {
                assert!(self.takes(','));
                let b = self.sum();
                match word {
                    _ if a.is_nan() || b.is_nan() => f64::NAN,
                    // Of equal ones the first, as its zero may have another sign.
                    "min" if b < a => b,
                    "max" if b > a => b,
                    _ => a,
                }
            }
            _ => panic!("{word} is no function"),
        };
        assert!(self.takes(')'));
        value
    }
}

fn calculated(text: &str, names: &Names<'_>) -> f64 {
    let mut calculator = Calculator { rest: text, names };
    let value = calculator.sum();
    assert_eq!(calculator.rest.trim(), "", "{text}");
    value
}

fn sample(value: f64, max: f64) -> u16 {
    if value.is_nan() {
        0
    } else {
        value.clamp(0.0, max).round() as u16
    }
}

/// What every formula of a node of this size may name at a pixel.
fn given<'n>((x, y): (u64, u64), (width, height): (u64, u64), max: f64) -> Names<'n> {
    let (x, y) = (x as f64 + 0.5, y as f64 + 0.5);
    let (w, h) = (width as f64, height as f64);
    let (dx, dy) = (x - w / 2.0, y - h / 2.0);
    HashMap::from([
        ("x", x),
        ("y", y),
        ("w", w),
        ("h", h),
        ("M", max),
        ("r", (dx * dx + dy * dy).sqrt()),
        ("pi", std::f64::consts::PI),
    ])
}

/// The samples of a design, the same however it is cut.
fn samples(text: &str, pictures: &Pictures) -> Vec<u16> {
    let design = relief_design::parse("test.kdl", text, pictures)
        .unwrap_or_else(|report| panic!("{:#?}\n{text}", report.problems()));
    let (width, height) = (design.canvas().width, design.canvas().height);
    let options = |threads, tile, kept| {
        Options::default()
            .threads(threads)
            .with(|with| with.tile = tile)
            .with(|with| with.kept = kept)
    };
    let whole = rendered(&renderer(&design, pictures, &options(1, None, None))).unwrap();
    for other in [
        options(3, Some((7, 3)), None),
        options(2, Some((64, 1)), Some(0)),
        options(1, Some((1, 64)), Some(0)),
    ] {
        let cut = renderer(&design, pictures, &other);
        assert!(
            rendered(&cut).unwrap() == whole,
            "{other:?} changes samples:\n{text}"
        );
        let some = Rect::between(
            width as i64 / 3,
            height as i64 / 4,
            width.cast_signed(),
            height.cast_signed(),
        );
        assert!(window(&cut, some).unwrap() == part(&whole, width, some));
    }
    whole
}

/// Expressions of names, of functions that are exact, and of numbers.
fn expressions(names: &'static [&'static str]) -> impl Strategy<Value = String> {
    let numbers = prop::sample::select(vec!["0", "0.1", "1", "2.5", "7", "300", "0.000001"]);
    let leaf = prop_oneof![
        3 => prop::sample::select(names).prop_map(str::to_owned),
        1 => numbers.prop_map(str::to_owned),
    ];
    leaf.prop_recursive(5, 30, 2, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            4 => (two.clone(), prop::sample::select(vec!["+", "-", "*", "/"]))
                .prop_map(|((a, b), sign)| format!("({a}) {sign} ({b})")),
            1 => (two.clone(), prop::sample::select(vec!["+", "-"]))
                .prop_map(|((a, b), sign)| format!("{a} {sign} {b}")),
            1 => (two, prop::sample::select(vec!["min", "max"]))
                .prop_map(|((a, b), f)| format!("{f}({a}, {b})")),
            1 => (inner.clone(), prop::sample::select(vec!["sqrt", "abs", "floor"]))
                .prop_map(|(a, f)| format!("{f}({a})")),
            1 => inner.prop_map(|a| format!("-({a})")),
        ]
    })
}

fn picture(width: u64, height: u64, seed: u64, depth: Depth) -> Picture {
    let values = u64::from(depth.max()) + 1;
    let sample = |i: u64| ((i + seed) * 2_654_435_761 % 65_521 % values) as u16;
    Picture {
        width,
        height,
        samples: (0..width * height).map(sample).collect(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_sample_is_that_of_the_text(
        first in expressions(&["x", "y", "r", "w", "h", "M", "pi", "a", "b"]),
        second in expressions(&["u", "x", "a", "M"]),
        result in expressions(&["u", "v", "y", "b", "r"]),
        (width, height) in (1_u64..40, 1_u64..30),
        (ax, ay, bx, by) in (-8_i64..20, -8_i64..20, -8_i64..20, -8_i64..20),
        sixteen in any::<bool>(),
    ) {
        let depth = if sixteen { Depth::Sixteen } else { Depth::Eight };
        let pictures = Pictures(vec![picture(9, 14, 3, depth), picture(25, 6, 8, depth)]);
        let bits = depth.bits();
        let text = format!(
            "relief version=1\ncanvas width={width} height={height} depth={bits}\n\
             formula \"{result}\" {{\n    (source)image \"p0\" x={ax} y={ay} name=\"a\"\n    let \"u\" \"{first}\"\n    \
             let \"v\" \"{second}\"\n    (source)image \"p1\" x={bx} y={by} name=\"b\"\n}}"
        );
        let found = samples(&text, &pictures);
        let max = f64::from(depth.max());
        for (i, found) in found.iter().enumerate() {
            let (column, row) = (i as u64 % width, i as u64 / width);
            let shown = |picture: &Picture, x: i64, y: i64| {
                let (x, y) = (column.cast_signed() - x, row.cast_signed() - y);
                let inside = (0..picture.width as i64).contains(&x) && (0..picture.height as i64).contains(&y);
                if inside { f64::from(picture.samples[(y * picture.width as i64 + x) as usize]) } else { 0.0 }
            };
            let mut names = given((column, row), (width, height), max);
            names.insert("a", shown(&pictures.0[0], ax, ay));
            names.insert("b", shown(&pictures.0[1], bx, by));
            for (name, expression) in [("u", &first), ("v", &second)] {
                let value = calculated(expression, &names);
                names.insert(name, value);
            }
            let value = calculated(&result, &names);
            prop_assert_eq!(*found, sample(value, max), "({}, {}): {}\n{}", column, row, value, &text);
        }
    }
}

fn plain(text: &str) -> Vec<u16> {
    samples(text, &Pictures::default())
}

#[test]
fn values_that_are_infinite_are_clamped_and_what_is_no_number_is_0() {
    let one = |expression: &str| {
        let canvas = "relief version=1\ncanvas width=1 height=1";
        plain(&format!("{canvas}\nformula \"{expression}\""))[0]
    };
    for (expression, expected) in [
        ("1 / 0", 255),
        ("-1 / 0", 0),
        ("0 / 0", 0),
        ("sqrt(-1)", 0),
        ("1 / 0 - 1 / 0", 0),
        ("max(0 / 0, 9)", 0),
        ("1 / (1 / 0) + 7", 7),
        ("2.5", 3),
        ("3.5", 4),
        ("0.49999999999999994", 0),
        ("-0.5", 0),
        ("254.5", 255),
        ("1e300 * 1e300", 255),
        ("ln(0)", 0),
        // Sums in the order written.
        ("(0.1 + 0.2 - 0.3) * 1e17", 6),
        ("(0.1 + (0.2 - 0.3)) * 1e17", 3),
        // (2^27 + 1)² − 2^54 − 2^28 is 0, as the product is rounded before the difference.
        (
            "((134217728.5 + x) * (134217728.5 + x) - 18014398777917440) * 100 + 7",
            7,
        ),
    ] {
        assert_eq!(one(expression), expected, "{expression}");
    }
}

#[test]
fn an_array_of_lenses_is_a_repeat_of_a_formula() {
    let text = "relief version=1\ncanvas width=93 height=61 depth=16\nrepeat step-x=20 step-y=17 {\n    \
                (pattern)formula \"M * sqrt(max(0, 1 - u * u))\" width=20 height=17 {\n        let \"u\" \"r / 9\"\n    }\n}";
    for (i, found) in plain(text).into_iter().enumerate() {
        let (x, y) = (i % 93 % 20, i / 93 % 17);
        let (dx, dy) = (x as f64 + 0.5 - 10.0, y as f64 + 0.5 - 8.5);
        let u = (dx * dx + dy * dy).sqrt() / 9.0;
        let lens = 65_535.0 * (1.0 - u * u).max(0.0).sqrt();
        assert_eq!(found, sample(lens, 65_535.0), "({x}, {y})");
    }
}

/// The zones of a lens of a focal length of 50 mm for light of 633 nm, in metres.
#[test]
fn a_fresnel_lens_counts_in_metres() {
    let text = "relief version=1\ncanvas width=120 height=3 pixel=\"12.5um\"\n\
                formula \"M * (1 - mod(phase, 1))\" {\n    let \"phase\" \"(X * X + Y * Y) / (2 * 633e-9 * 50e-3)\"\n}";
    let px = 12_500_000.0 / 1e12;
    for (i, found) in plain(text).into_iter().enumerate() {
        let (x, y) = (((i % 120) as f64 + 0.5) * px, ((i / 120) as f64 + 0.5) * px);
        let phase = (x * x + y * y) / (2.0 * 633e-9 * 50e-3);
        assert_eq!(
            found,
            sample(255.0 * (1.0 - (phase - phase.floor())), 255.0),
            "{i}"
        );
    }
}

/// M·height / amplitude, whatever the height is.
#[test]
fn a_height_is_that_part_of_the_amplitude() {
    for (bits, max) in [(8, 255.0_f64), (16, 65_535.0)] {
        let text = format!(
            "relief version=1\ncanvas width=90 height=2 bits={bits} pixel=\"1um\" amplitude=\"2.1um\"\n\
             formula \"x * 3.1e-8 - 2e-7 + y * a / 255e7\" of=\"height\" {{\n    (source)fill value=7 name=\"a\"\n}}"
        );
        let found = plain(&text);
        assert!(found.contains(&0) && found.contains(&(max as u16)), "{found:?}");
        for (i, found) in found.into_iter().enumerate() {
            let (x, y) = ((i % 90) as f64 + 0.5, (i / 90) as f64 + 0.5);
            let height = x * 3.1e-8 - 2e-7 + y * 7.0 / 255e7;
            assert_eq!(found, sample(max * height / 2.1e-6, max), "{i}");
        }
    }
    // As heights that are written where a sample stands.
    for height in ["0um", "0.3um", "1.1um", "2.1um"] {
        let node = |node: &str| {
            plain(&format!(
                "relief version=1\ncanvas width=2 height=1 bits=16 amplitude=\"2.1um\"\n{node}"
            ))
        };
        assert_eq!(
            node(&format!("formula \"{height}\" of=\"height\"")),
            node(&format!("fill value=\"{height}\"")),
            "{height}"
        );
    }
}

/// A length is one number of metres, however it comes into the formula.
#[test]
fn parameters_are_names_and_lengths_are_metres() {
    let of = |parameters: &str, expression: &str| {
        plain(&format!(
            "relief version=1\n{parameters}\ncanvas width=70 height=5 pixel=\"3um\"\nformula \"{expression}\""
        ))
    };
    let expected = of("", "r / 3 + X / 0.05 * 1e6 * 2.5");
    for (parameters, expression) in [
        ("parameter \"f\" \"50mm\"", "r / 3 + X / f * 1e6 * 2.5"),
        ("parameter \"f\" \"50mm\"", "r / 3 + X / ${f} * 1e6 * 2.5"),
        ("parameter \"f\" \"5 cm\"", "r / 3 + X / ${f} * 1e6 * 2.5"),
        ("parameter \"f\" \"0.05m\"", "r / 3 + X / f * 1e6 * 2.5"),
        ("parameter \"k\" 2.5", "r / 3 + X / 50mm * 1e6 * k"),
        ("parameter \"k\" 25e-1", "r / 3 + X / 5.cm * 1e6 * ${k}"),
        (
            "parameter \"f\" \"50000µm\"\nparameter \"three\" 0x3",
            "r / three + X / f * 1e6 * 2.5",
        ),
        // What a formula has is no parameter.
        (
            "parameter \"r\" 7\nparameter \"X\" \"no number\"",
            "r / 3 + X / 0.05 * 1e6 * 2.5",
        ),
    ] {
        assert_eq!(of(parameters, expression), expected, "{parameters} {expression}");
    }
    let inch = of("parameter \"third\" \"1/3in\"", "third * 1e4 + 1mil * 1e6");
    assert_eq!(inch[0], sample(0.0254 / 3.0 * 1e4 + 25.4e-6 * 1e6, 255.0));
    assert_eq!(of("parameter \"down\" \"-3mm\"", "7 - down * 1e3")[0], 10);
}

#[test]
fn what_a_formula_names_hides_a_parameter() {
    let text = |inner: &str, expression: &str| {
        format!(
            "relief version=1\nparameter \"a\" 200\ncanvas width=2 height=1\nformula \"{expression}\" {{\n{inner}\n}}"
        )
    };
    assert_eq!(plain(&text("let \"a\" \"9\"", "a"))[0], 9);
    assert_eq!(plain(&text("(source)fill value=8 name=\"a\"", "a"))[0], 8);
    assert_eq!(plain(&text("let \"b\" \"a + 1\"", "b"))[0], 201);
    assert_eq!(plain(&text("let \"a\" \"${a} + 2\"", "a"))[0], 202);
}

#[test]
fn copies_of_an_array_have_their_numbers_in_formulas() {
    let text = "relief version=1\nparameter \"n\" 99\nparameter \"base\" 10\ncanvas width=6 height=4\n\
                array columns=3 rows=2 step-x=2 step-y=2 {\n    (add)formula \"u + j\" width=2 height=2 {\n        \
                let \"u\" \"base + 20 * n + i\"\n    }\n}";
    for (at, found) in plain(text).into_iter().enumerate() {
        let (i, j) = (at % 6 / 2, at / 6 / 2);
        assert_eq!(usize::from(found), 10 + 20 * (j * 3 + i) + i + j, "{at}");
    }
}

#[test]
fn a_setting_is_what_the_formula_counts_with() {
    let text = "relief version=1\nparameter \"f\" \"50mm\"\nparameter \"k\" 3\ncanvas width=1 height=1\nformula \"f * 1e3 + k\"";
    let set = |name: &str, value: &str| {
        let settings = [relief_design::Setting {
            name: name.to_owned(),
            value: value.to_owned(),
            origin: "--set".to_owned(),
        }];
        relief_design::read("test.kdl", text, &NoImages, &settings)
    };
    let first = |name, value| {
        let design = set(name, value).unwrap_or_else(|report| panic!("{:#?}", report.problems()));
        rendered(&renderer(&design.design, &NoImages, &Options::default())).unwrap()[0]
    };
    assert_eq!(first("f", "0.12m"), 123);
    assert_eq!(first("k", "40"), 90);
    // A number without a unit is no length.
    assert!(set("f", "120").is_err());
}

#[test]
fn the_angle_runs_clockwise_around_the_middle() {
    let text = "relief version=1\ncanvas width=9 height=9\nformula \"100 + 20 * theta\"";
    let found = plain(text);
    let expected = |quarters: f64| sample(100.0 + 20.0 * quarters * std::f64::consts::FRAC_PI_2, 255.0);
    // Right, below, left, above.
    assert_eq!(
        [4 * 9 + 8, 8 * 9 + 4, 4 * 9, 4].map(|at| found[at]),
        [0.0, 1.0, 2.0, -1.0].map(expected)
    );
}

#[test]
fn formulas_of_children_alone_repeat_as_they_do_and_stay_uniform() {
    let child = |name: &str, step: u32| {
        format!(
            "(source)repeat step-x={step} step-y={step} name=\"{name}\" {{\n\
             (pattern)ramp axis=\"x\" from=0 to=90 width={step} height={step}\n}}"
        )
    };
    let text = format!(
        "relief version=1\ncanvas width=400 height=300\nformula \"a + b\" {{\n{}\n{}\n}}",
        child("a", 6),
        child("b", 4)
    );
    let ramp = |x: usize, length: usize| (2 * 90 * x + (length - 1)) / (2 * (length - 1));
    for (i, found) in plain(&text).into_iter().enumerate() {
        let x = i % 400;
        assert_eq!(usize::from(found), ramp(x % 6, 6) + ramp(x % 4, 4), "{i}");
    }
    // A cell of 12 × 12 is all that is computed.
    let plan = relief_engine::Plan::new(&parse(&text), &NoImages, &Options::default()).unwrap();
    assert!(
        plan.nodes().iter().any(|node| node.kept
            == Kept::Cell {
                columns: 12,
                rows: 12
            }),
        "{:?}",
        plan.nodes()
    );
}
