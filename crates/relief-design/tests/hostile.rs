//! Text from outside: nothing panics, overflows the stack or runs long, and limits are errors.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by a panic")]

use proptest::prelude::*;
use relief_design::{MAX_DEPTH, MAX_PROBLEMS, MAX_TEXT, NoImages, Report, format, parse};

const HEAD: &str = "relief version=1\ncanvas width=400 height=300 pixel=\"10um\"\n";

fn refused(text: &str) -> Report {
    parse("hostile.kdl", text, &NoImages).expect_err("a hostile design")
}

fn code(text: &str) -> &'static str {
    refused(text).problems()[0].code()
}

fn nested(levels: usize) -> String {
    format!(
        "{HEAD}{}fill value=1{}",
        "compose { (base)".repeat(levels),
        " }".repeat(levels)
    )
}

#[test]
fn nesting_is_allowed_up_to_its_limit_and_refused_beyond() {
    assert!(parse("deep.kdl", &nested(MAX_DEPTH - 1), &NoImages).is_ok());
    let expression = format!("{}d{}", "min(-".repeat(30), ", 1)".repeat(30));
    let inner = format!("distance radius=9 {{ (mask)fill value=1; profile \"{expression}\" }}");
    assert!(
        parse(
            "deep.kdl",
            &nested(MAX_DEPTH - 2).replace("fill value=1", &inner),
            &NoImages
        )
        .is_ok()
    );
    for levels in [MAX_DEPTH, MAX_DEPTH + 1, 100_000] {
        assert_eq!(code(&nested(levels)), "E103", "{levels}");
    }
    for opening in ["a {", "a /-{", "/*", "/- a {", "(a", "((", "a=", "[", "\"\"\"\na"] {
        let text = opening.repeat(200_000);
        let found = code(&text);
        assert!(matches!(found, "E101" | "E103"), "{opening}: {found}");
    }
}

#[test]
fn a_chain_of_definitions_is_as_deep_as_the_nodes_in_it() {
    let chain = |length: usize| {
        let links: String = (1..length)
            .map(|i| format!("define \"d{i}\" {{ use \"d{}\" }}\n", i - 1))
            .collect();
        format!(
            "{HEAD}define \"d0\" {{ fill value=1 }}\n{links}use \"d{}\"",
            length - 1
        )
    };
    assert!(parse("chain.kdl", &chain(MAX_DEPTH - 1), &NoImages).is_ok());
    assert_eq!(code(&chain(MAX_DEPTH + 1)), "E103");
    assert_eq!(code(&chain(50_000)), "E103");
}

#[test]
fn a_circle_of_many_definitions_is_found() {
    let links: String = (0..50_000)
        .map(|i| format!("define \"d{i}\" {{ use \"d{}\" }}\n", (i + 1) % 50_000))
        .collect();
    assert_eq!(code(&format!("{HEAD}{links}use \"d7\"")), "E603");
}

#[test]
fn definitions_that_double_at_every_step_are_refused() {
    let steps: String = (1..25)
        .map(|i| {
            format!(
                "define \"d{i}\" {{ compose {{ (add)use \"d{0}\"; (add)use \"d{0}\" x=1 }} }}\n",
                i - 1
            )
        })
        .collect();
    assert_eq!(
        code(&format!(
            "{HEAD}define \"d0\" {{ fill value=1 }}\n{steps}use \"d24\""
        )),
        "E104"
    );
}

#[test]
fn a_wide_design_is_read_up_to_the_limit_of_nodes() {
    let wide = |nodes: usize| format!("{HEAD}compose {{\n{}}}", "(add)fill value=1\n".repeat(nodes));
    assert_eq!(
        parse("wide.kdl", &wide(65_535), &NoImages).unwrap().nodes.len(),
        65_536
    );
    assert_eq!(code(&wide(65_536)), "E104");
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    assert_eq!(code(&" ".repeat(MAX_TEXT + 1)), "E102");
    assert_eq!(code(&" ".repeat(MAX_TEXT)), "E201");
}

#[test]
fn a_report_has_a_bounded_number_of_problems() {
    for line in [
        "fil value=1\n",
        "}\n",
        "=\n",
        "a ]\n",
        "fill value=1 value=2 x=q\n",
        "use \"x\"\n",
        "(a)b c=#x\n",
        "define \"a\"\n",
    ] {
        let report = refused(&format!("{HEAD}{}", line.repeat(30_000)));
        assert!(report.problems().len() <= MAX_PROBLEMS, "{line}");
    }
    let properties = "width=1 ".repeat(50_000);
    assert_eq!(code(&format!("{HEAD}fill value=1 {properties}")), "E304");
}

#[test]
fn the_work_of_all_tables_together_is_bounded() {
    let profiles = |count: usize| {
        let one = |i: usize| {
            format!("(add)distance radius=4096 {{ (mask)fill value=1; profile {{ point {i} 9 }} }}\n")
        };
        format!("{HEAD}compose {{\n{}}}", (0..count).map(one).collect::<String>())
    };
    assert_eq!(code(&profiles(9)), "E105");
    // The same profile counts once, however often it stands.
    let one = "(add)distance radius=4096 { (mask)fill value=1; profile { point 1 9 } }\n";
    let same = format!("{HEAD}compose {{\n{}}}", one.repeat(20));
    assert_eq!(parse("same.kdl", &same, &NoImages).unwrap().nodes.len(), 41);
}

#[test]
fn numbers_at_every_limit_are_taken_or_refused() {
    for number in [
        "0",
        "-1",
        "1e18",
        "1e400",
        "-1e400",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551616",
        "0xFFFFFFFFFFFFFFFFFF",
        "1099511627776",
        "1099511627777",
        "17592186044416",
        "-17592186044417",
        "0.5",
        "1e-400",
        "1e99999999999999999999",
        "\"1e9m\"",
        "\"999999999999999999m\"",
        "\"-999999999999999999999in\"",
        "\"0.000000000000000001nm\"",
    ] {
        for node in [
            format!("fill value={number}"),
            format!("disc diameter={number} value=1 x={number} y={number} width={number}"),
            format!("noise seed={number}"),
            format!("repeat step-x={number} step-y={number} {{ (pattern)fill value=1 width={number} }}"),
            format!(
                "lattice {{ u {number} 1; v 1 {number}; (pattern)fill value=1 width={number} height={number} }}"
            ),
            format!(
                "distance radius={number} {{ (mask)fill value=1; profile {{ point {number} {number} }} }}"
            ),
            format!("map {{ (source)fill value=1; gamma {number} }}"),
            format!("map {{ (source)fill value=1; levels {number} {number} {number} {number} }}"),
        ] {
            let _ = parse("a.kdl", &format!("{HEAD}compose {{ (base){node} }}"), &NoImages);
        }
        let _ = parse(
            "a.kdl",
            &format!(
                "relief version={number}\ncanvas width={number} height={number} pixel={number}\nfill value=1"
            ),
            &NoImages,
        );
    }
}

#[test]
fn offsets_that_add_up_beyond_the_coordinates_are_refused() {
    let half = 1_i64 << 43;
    let text = format!(
        "{HEAD}compose {{ (base)compose x={half} {{ (base)compose x={half} {{ (base)fill value=1 }} }} }}"
    );
    assert_eq!(code(&text), "E504");
    let used = format!(
        "{HEAD}define \"a\" {{ fill value=1 x=-17592186044416 width=1 }}\ncompose {{ (add)use \"a\" x=-1 }}"
    );
    assert_eq!(code(&used), "E504");
}

#[test]
fn sizes_of_images_from_outside_are_checked() {
    for size in [(0, 1), (1, 0), (u64::MAX, 1), (1, (1 << 40) + 1)] {
        let report = parse("a.kdl", &format!("{HEAD}image \"a\""), &move |_: &str| Ok(size)).unwrap_err();
        assert_eq!(report.problems()[0].code(), "E505");
    }
}

fn soup() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "relief version=1\n",
        "canvas width=40 height=30\n",
        "canvas width=\"4mm\" height=30 pixel=\"10um\" depth=16\n",
        "define \"a\" {",
        "use \"a\" ",
        "use \"b\"",
        "fill value=1",
        "fill",
        "image \"logo.png\"",
        "ramp axis=x from=0 to=9",
        "disc diameter=5 value=9",
        "noise seed=-1",
        "repeat {",
        "repeat step-x=3 {",
        "lattice {",
        "lattice blend=sum {",
        "u 9 2;",
        "v 1 9;",
        "u 1",
        "distance radius=5 {",
        "profile \"d * 2\";",
        "profile {",
        "point 1 2;",
        "point 3 4;",
        "map {",
        "gamma 2;",
        "invert;",
        "levels 1 2 3 4;",
        "curve {",
        "expression \"v\";",
        "threshold level=3 {",
        "compose {",
        "(base)",
        "(add)",
        "(mask)",
        "(pattern)",
        "(source)",
        "(",
        ")",
        "{",
        "}",
        "}",
        "}\n",
        ";",
        "\n",
        " ",
        "=",
        "x=1 ",
        "y=\"1mm\" ",
        "width=7 ",
        "/-",
        "/*",
        "*/",
        "// c\n",
        "\\\n",
        "\\",
        "\"",
        "\"\"\"\n",
        "#\"",
        "\"#",
        "#true",
        "1e9",
        "-",
        "0x",
        "é",
        "\u{feff}",
        "\r\n",
        "\u{2028}",
    ]);
    prop::collection::vec(words, 0..60).prop_map(|words| words.concat())
}

fn check(text: &str) {
    let images = |_: &str| Ok((10, 10));
    if let Err(report) = parse("soup.kdl", text, &images) {
        assert!(!report.problems().is_empty());
        for problem in report.problems() {
            for pointer in problem.pointers() {
                let (start, length) = pointer.bytes;
                assert!(
                    text.get(start..start + length).is_some(),
                    "{problem} points into a character"
                );
            }
        }
    }
    if let Ok(laid_out) = format("soup.kdl", text) {
        assert_eq!(format("soup.kdl", &laid_out).unwrap(), laid_out);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn any_soup_of_words_is_read_or_refused(text in soup()) {
        check(&text);
    }

    #[test]
    fn any_soup_after_a_right_head_is_read_or_refused(text in soup()) {
        check(&format!("{HEAD}compose {{\n{text}\n}}"));
    }

    #[test]
    fn any_expression_is_tabulated_or_refused(text in "[-+*/^(),.0-9dpie minsqrtlogabe]{0,40}") {
        check(&format!("{HEAD}distance radius=9 {{\n(mask)fill value=1\nprofile \"{text}\"\n}}"));
    }
}
