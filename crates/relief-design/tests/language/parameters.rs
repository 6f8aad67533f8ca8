//! Parameters, texts that are made of them, and arrays.

use proptest::prelude::*;
use relief_design::{
    Conversion, Design, ImageError, ImageSource, Kind, Picture, Report, Setting, kinds, read,
};

/// Every image has this size, and these files have rows.
struct Files;

impl ImageSource for Files {
    fn open(&self, path: &str, conversion: &Conversion) -> Result<Box<dyn Picture>, ImageError> {
        (|_: &str| Ok((30, 20))).open(path, conversion)
    }

    fn data(&self, path: &str, limit: u64) -> Result<Vec<u8>, String> {
        assert!(limit > 0);
        match path {
            "rows.csv" => Ok(b"gray,file,side\n10,a.png,5\n20,b.png,\"0.06mm\"\n30,0012,7\n".to_vec()),
            "short.csv" => Ok(b"gray\n1\n".to_vec()),
            "clash.csv" => Ok(b"gray,n\n1,2\n".to_vec()),
            "ragged.csv" => Ok(b"gray,more\n1,2\n3\n".to_vec()),
            "text.csv" => Ok(b"gray\n1\nbright\n".to_vec()),
            _ => Err(format!("{path} does not exist")),
        }
    }
}

fn given(text: &str, settings: &[(&str, &str)]) -> Result<Design, Report> {
    let settings: Vec<Setting> = settings
        .iter()
        .map(|(name, value)| Setting {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
            origin: "--set".to_owned(),
        })
        .collect();
    read("test.kdl", text, &Files, &settings).map(|reading| reading.design)
}

fn design(text: &str) -> Design {
    given(text, &[]).unwrap_or_else(|report| panic!("{text}\n{:#?}", report.problems()))
}

fn report(text: &str) -> Report {
    given(text, &[]).expect_err(text)
}

fn codes(text: &str) -> Vec<&'static str> {
    report(text)
        .problems()
        .iter()
        .map(|problem| problem.code())
        .collect()
}

/// The design without the places of its nodes.
fn meaning(design: &Design) -> Design {
    let mut nodes = design.nodes().to_vec();
    for node in &mut nodes {
        node.place.line = 1;
        node.place.column = 1;
    }
    Design::new(design.canvas(), nodes, design.scan().cloned()).unwrap()
}

const CANVAS: &str = "canvas width=400 height=300 pixel=\"10um\"\n";

#[test]
fn a_design_with_parameters_is_that_with_their_values_written_by_hand() {
    for (parameters, with, by_hand) in [
        ("parameter \"v\" 7", "fill value=$v", "fill value=7"),
        ("parameter \"v\" 7", "fill value=\"$v\"", "fill value=7"),
        ("parameter \"v\" 7", "fill value=\"${v}\"", "fill value=7"),
        (
            "parameter \"v\" 7",
            "fill value=\"${v * 3 + 1}\"",
            "fill value=22",
        ),
        (
            "parameter v 7; parameter w \"${v}0\"",
            "fill value=$w",
            "fill value=70",
        ),
        (
            "parameter \"d\" \"2mm\"",
            "compose { (base)disc diameter=$d value=1 x=\"${3 / 2} mm\" }",
            "compose { (base)disc diameter=\"2mm\" value=1 x=\"1.5mm\" }",
        ),
        (
            "parameter \"axis\" \"y\"",
            "ramp axis=$axis from=0 to=9",
            "ramp axis=\"y\" from=0 to=9",
        ),
        (
            "parameter \"k\" 2",
            "map { (source)noise seed=$k; expression \"v / ${k} + ${0.1 + 0.2}\" }",
            "map { (source)noise seed=2; expression \"v / 2 + 0.3\" }",
        ),
        (
            "parameter \"third\" 1",
            "map { (source)fill value=1; expression \"v * ${third / 3}\" }",
            "map { (source)fill value=1; expression \"v * 0.333333333333333\" }",
        ),
        (
            "parameter \"name\" \"logo\"",
            "compose { (base)image \"${name}-$$.png\" }",
            "compose { (base)image \"logo-$$.png\" }",
        ),
        (
            "parameter \"n\" 0x10",
            "define \"a${n}\" { fill value=$n }; compose { (base)use a16 }",
            "define \"a16\" { fill value=16 }; compose { (base)use a16 }",
        ),
    ] {
        let made = design(&format!("relief version=1\n{parameters}\n{CANVAS}{with}"));
        let written = design(&format!("relief version=1\n{CANVAS}{by_hand}"));
        assert_eq!(meaning(&made), meaning(&written), "{with}");
    }
}

#[test]
fn values_from_outside_take_the_place_of_defaults() {
    let text = format!(
        "relief version=1\nparameter \"v\" 7\nparameter \"f\" \"a\"\n{CANVAS}fill value=\"${{v + 1}}\""
    );
    for (settings, value) in [
        (&[][..], 8),
        (&[("v", "9")], 10),
        (&[("v", "9"), ("v", "11")], 12),
        (&[("f", "anything $at ${all}")], 8),
    ] {
        let found = given(&text, settings).unwrap();
        assert_eq!(
            found.nodes()[0].kind,
            Kind::Fill(kinds::Fill { value }),
            "{settings:?}"
        );
    }
    for settings in [
        [("v", "x")],
        [("v", "")],
        [("v", "5mm")],
        [("w", "5")],
        [("v", "1e999")],
        [("v", "NaN")],
    ] {
        let report = given(&text, &settings).expect_err("a wrong value");
        assert_eq!(report.problems()[0].code(), "E607", "{settings:?}");
    }
    let long = "x".repeat(5_000);
    assert_eq!(
        given(&text, &[("f", &long)]).unwrap_err().problems()[0].code(),
        "E607"
    );
    // What fits the parameter and not its place is told where it stands, with where it comes from.
    let report = given(&text, &[("v", "600")]).unwrap_err();
    let problem = &report.problems()[0];
    assert_eq!(problem.code(), "E402");
    let last = problem.pointers().last().unwrap();
    assert_eq!((last.place.line, last.text), (2, "`$v` is set by --set"));
}

#[test]
fn what_a_value_brings_is_not_read_again() {
    let text = format!(
        "relief version=1\nparameter \"f\" \"a\"\n{CANVAS}compose {{ (base)image $f; (base)image \"${{f}}.png\" }}"
    );
    let found = given(&text, &[("f", "$f ${f} $$")]).unwrap();
    let files: Vec<&str> = found.files().collect();
    assert_eq!(files, ["$f ${f} $$", "$f ${f} $$.png"]);
}

#[test]
fn wrong_parameters_are_told_all_at_once_and_once() {
    for (text, expected) in [
        ("CANVAS fill value=$a", vec!["E605"]),
        ("parameter \"serial\" 1; CANVAS fill value=$seriel", vec!["E605"]),
        ("parameter \"a\" 1; CANVAS fill value=\"$a px\"", vec!["E605"]),
        ("parameter \"a\" 1; CANVAS fill value=\"${a\"", vec!["E605"]),
        ("parameter \"a\" 1; CANVAS fill value=\"$\"", vec!["E605"]),
        ("parameter \"a\" 1; CANVAS fill value=\"${}\"", vec!["E609"]),
        (
            "parameter \"a\" 1; CANVAS fill value=\"${1 / (a - 1)}\"",
            vec!["E609"],
        ),
        (
            "parameter \"a\" \"x\"; CANVAS fill value=\"${a + 1}\"",
            vec!["E609"],
        ),
        (
            "parameter \"a\" 1; parameter \"a\" 2; CANVAS fill value=$a",
            vec!["E606"],
        ),
        ("parameter \"2a\" 1; CANVAS fill value=1", vec!["E606"]),
        ("CANVAS parameter \"a\" 1; fill value=$a", vec!["E606"]),
        ("parameter \"a\"; CANVAS fill value=$a", vec!["E306"]),
        ("parameter \"a\" 1 2; CANVAS fill value=$a", vec!["E305"]),
        ("parameter \"a\" #true; CANVAS fill value=$a", vec!["E401"]),
        (
            "parameter \"a\" 1 { fill value=2 }; CANVAS fill value=$a",
            vec!["E307"],
        ),
        // No parameter knows itself or a later one.
        ("parameter \"a\" \"${a}\"; CANVAS fill value=$a", vec!["E605"]),
        (
            "parameter \"a\" \"${b}\"; parameter \"b\" \"${a}\"; CANVAS fill value=$a",
            vec!["E605"],
        ),
        (
            "parameter \"a\" 1; CANVAS compose { (base)fill value=$b; (base)fil value=1; (base)fill value=$c }",
            vec!["E605", "E301", "E605"],
        ),
    ] {
        let text = format!("relief version=1\n{}", text.replace("CANVAS ", CANVAS));
        assert_eq!(codes(&text), expected, "{text}");
    }
}

#[test]
fn an_array_is_its_copies_written_by_hand() {
    for (array, by_hand) in [
        (
            "array columns=3 rows=2 step-x=60 step-y=\"0.5mm\" { (add)disc diameter=\"${20 + i}\" value=\"${10 * n}\" x=5 y=$j }",
            "compose {
                (add)disc diameter=20 value=0 x=5 y=0
                (add)disc diameter=21 value=10 x=65 y=0
                (add)disc diameter=22 value=20 x=125 y=0
                (add)disc diameter=20 value=30 x=5 y=51
                (add)disc diameter=21 value=40 x=65 y=51
                (add)disc diameter=22 value=50 x=125 y=51
            }",
        ),
        (
            "array columns=2 rows=2 step-x=\"50%\" step-y=\"-1mm\" data=\"rows.csv\" {
                (over)compose width=$side height=9 { (base)image $file; (max)fill value=$gray width=\"${gray / 10}\" }
            }",
            "compose {
                (over)compose width=5 height=9 { (base)image \"a.png\"; (max)fill value=10 width=1 }
                (over)compose width=\"0.06mm\" height=9 x=200 { (base)image \"b.png\"; (max)fill value=20 width=2 }
                (over)compose width=7 height=9 y=-100 { (base)image \"0012\"; (max)fill value=30 width=3 }
            }",
        ),
        (
            "array columns=2 rows=1 step-x=9 step-y=0 { (max)array columns=1 rows=2 step-x=0 step-y=4 { (max)fill value=\"${i + 2 * j}\" width=2 height=2 } }",
            "compose {
                (max)compose { (max)fill value=0 width=2 height=2; (max)fill value=2 width=2 height=2 y=4 }
                (max)compose x=9 { (max)fill value=0 width=2 height=2; (max)fill value=2 width=2 height=2 y=4 }
            }",
        ),
    ] {
        let made = design(&format!("relief version=1\n{CANVAS}{array}"));
        let written = design(&format!("relief version=1\n{CANVAS}{by_hand}"));
        assert_eq!(meaning(&made), meaning(&written), "{array}");
    }
}

#[test]
fn wrong_arrays_are_told() {
    let copy = "{ (add)fill value=1 width=2 height=2 }";
    for (array, expected) in [
        (format!("array columns=2 rows=2 step-x=5 {copy}"), vec!["E303"]),
        (
            format!("array columns=0 rows=2 step-x=5 step-y=5 {copy}"),
            vec!["E402"],
        ),
        (
            format!("array columns=2.5 rows=2 step-x=5 step-y=5 {copy}"),
            vec!["E401"],
        ),
        (
            format!("array columns=65536 rows=65536 step-x=5 step-y=5 {copy}"),
            vec!["E104"],
        ),
        (
            format!("array columns=65536 rows=1 step-x=0 step-y=0 {copy}"),
            vec!["E104"],
        ),
        (
            format!("array columns=1152921504606846976 rows=1 step-x=0 step-y=0 {copy}"),
            vec!["E104", "E402"],
        ),
        (
            "array columns=2 rows=2 step-x=5 step-y=5".to_owned(),
            vec!["E310"],
        ),
        (
            "array columns=2 rows=2 step-x=5 step-y=5 { fill value=1 }".to_owned(),
            vec!["E308"],
        ),
        (
            "array columns=2 rows=2 step-x=5 step-y=5 { (add)fill value=1; (add)fill value=2 }".to_owned(),
            vec!["E311"],
        ),
        (
            format!("array columns=2 rows=2 step-x=5 step-y=5 data=\"none.csv\" {copy}"),
            vec!["E608"],
        ),
        (
            format!("array columns=2 rows=1 step-x=5 step-y=5 data=\"rows.csv\" {copy}"),
            vec!["E608"],
        ),
        (
            format!("array columns=2 rows=1 step-x=5 step-y=5 data=\"clash.csv\" {copy}"),
            vec!["E608"],
        ),
        (
            format!("array columns=2 rows=1 step-x=5 step-y=5 data=\"ragged.csv\" {copy}"),
            vec!["E608"],
        ),
        (
            "array columns=2 rows=1 step-x=5 step-y=5 data=\"short.csv\" { (add)fill value=$grey }"
                .to_owned(),
            vec!["E605"],
        ),
        (
            "array columns=2 rows=1 step-x=5 step-y=5 data=\"text.csv\" { (add)fill value=$gray }".to_owned(),
            vec!["E401"],
        ),
        (
            "array columns=2 rows=1 step-x=0.5 step-y=5 { (add)fill value=1 }".to_owned(),
            vec!["E405"],
        ),
    ] {
        assert_eq!(
            codes(&format!("relief version=1\n{CANVAS}{array}")),
            expected,
            "{array}"
        );
    }
    // A wrong cell is named by its row and its column.
    let text = format!(
        "relief version=1\n{CANVAS}array columns=2 rows=1 step-x=5 step-y=5 data=\"text.csv\" {{ (add)fill value=$gray }}"
    );
    let report = report(&text);
    let last = report.problems()[0].pointers().last().unwrap();
    assert_eq!(last.text, "column \"gray\" of row 2 is \"bright\"");
}

#[test]
fn texts_that_grow_are_refused_within_bounds() {
    // Each parameter is twice the one before.
    let doubling: String = (1..40)
        .map(|i| format!("parameter \"p{i}\" \"${{p{0}}}${{p{0}}}\"\n", i - 1))
        .collect();
    let text = format!("relief version=1\nparameter \"p0\" \"xxxx\"\n{doubling}{CANVAS}fill value=$p39");
    assert!(codes(&text).contains(&"E402"));
    // Many copies of a long text.
    let long = "y".repeat(4_000);
    let uses = "(add)image \"${long}!\"\n".repeat(60_000);
    let text = format!("relief version=1\nparameter \"long\" \"{long}\"\n{CANVAS}compose {{\n{uses}}}");
    assert_eq!(codes(&text)[0], "E104");
    // Arrays in arrays.
    let nested = format!(
        "{}(add)fill value=1{}",
        "(add)array columns=1000 rows=60 step-x=1 step-y=1 { ".repeat(40),
        " }".repeat(40)
    );
    let text = format!("relief version=1\n{CANVAS}compose {{ {nested} }}");
    assert_eq!(codes(&text)[0], "E104");
    // Long expressions in many texts.
    let expression = format!("(add)fill value=\"${{mod({}1, 2)}}\"\n", "1+".repeat(1_000));
    let text = format!(
        "relief version=1\n{CANVAS}compose {{\n{}}}",
        expression.repeat(2_000)
    );
    assert!(codes(&text).contains(&"E105"));
    let many: String = (0..10_000).map(|i| format!("parameter \"p{i}\" {i}\n")).collect();
    assert_eq!(
        codes(&format!("relief version=1\n{many}{CANVAS}fill value=1"))[0],
        "E104"
    );
}

#[test]
fn copies_of_an_array_never_drift() {
    // 7.3 mm at 1 200 dpi are 344.88 pixels.
    let text = "relief version=1\ncanvas width=\"800mm\" height=9 dpi=1200
        array columns=100 rows=1 step-x=\"7.3mm\" step-y=0 { (max)fill value=1 width=\"7.3mm\" }";
    let design = design(text);
    let root = design.node(design.root());
    let mut end = 0;
    for (i, child) in root.children.iter().enumerate() {
        let i = i128::try_from(i).unwrap();
        // 7.3 / 25.4 · 1200 = 43 800 / 127.
        let nearest = (2 * i * 43_800 + 127).div_euclid(254);
        assert_eq!(i128::from(child.extent.x()), nearest);
        assert_eq!(child.extent.x(), end);
        end = child.extent.x() + child.extent.width().cast_signed();
    }
}

proptest! {
    /// Any texts with dollar signs are read or refused, and what is made of them is the same each time.
    #[test]
    fn any_text_with_dollar_signs_is_read_or_refused(text in "[$a{}b +*/()0-9.,-]{0,24}", value in "[ -~]{0,12}") {
        let design = format!(
            "relief version=1\nparameter \"a\" 3\nparameter \"b\" \"x\"\n{CANVAS}compose {{ (base)image #\"{text}\"# }}"
        );
        let settings = [("b", value.as_str())];
        let paths = |found: Result<Design, Report>| {
            found.map(|design| design.files().map(str::to_owned).collect::<Vec<_>>()).map_err(|report| report.to_string())
        };
        let first = paths(given(&design, &settings));
        if !text.contains('$') && !text.is_empty() {
            prop_assert_eq!(first.as_ref().ok(), Some(&vec![text]));
        }
        prop_assert_eq!(first, paths(given(&design, &settings)));
    }
}
