//! Text from outside: nothing panics, overflows the stack or runs long, and limits are errors.

#[path = "../hostile/texts.rs"]
mod texts;

use self::texts::HEAD;
use miette::{GraphicalReportHandler, GraphicalTheme};
use proptest::prelude::*;
use relief_design::{
    Conversion, Design, ImageError, ImageSource, InvalidDesign, MAX_DEPTH, MAX_ELEMENTS, MAX_ENTRIES,
    MAX_FILES, MAX_PROBLEMS, MAX_TABLE_WORK, MAX_TEXT, NoImages, Picture, Report, format, parse,
};

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
        parse("wide.kdl", &wide(65_535), &NoImages).unwrap().nodes().len(),
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

/// What a terminal would get.
fn shown(report: &Report) -> String {
    let mut out = String::new();
    GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
        .with_width(110)
        .render_report(&mut out, &report.underlined())
        .unwrap();
    out
}

#[test]
fn a_text_of_many_elements_or_values_is_not_read_to_its_end() {
    for (text, allowed) in [
        ("a\n", MAX_ELEMENTS),
        ("a;", MAX_ELEMENTS),
        ("/-a;", MAX_ELEMENTS),
        ("bogus\t;", MAX_ELEMENTS),
        ("a{b}\n", MAX_ELEMENTS / 2),
        (" 1", MAX_ENTRIES),
        (" value=1", MAX_ENTRIES),
        (" /-1", MAX_ENTRIES),
        (" \"a\"", MAX_ENTRIES),
    ] {
        let many = |count: usize| {
            format!(
                "a{}{}",
                if text.starts_with(' ') { "" } else { ";" },
                text.repeat(count)
            )
        };
        assert_eq!(code(&many(allowed + 1)), "E104", "{text:?}");
        // One fewer, for the element before.
        let found = parse("a.kdl", &many(allowed - 1), &NoImages).unwrap_err();
        assert!(
            found.problems().iter().all(|problem| problem.code() != "E104"),
            "{text:?}"
        );
    }
}

#[test]
fn the_images_of_a_design_are_counted_by_their_paths() {
    let images = |count: usize, distinct: usize| {
        let one = |i: usize| format!("(add)image \"{}\"\n", i % distinct);
        format!("{HEAD}compose {{\n{}}}", (0..count).map(one).collect::<String>())
    };
    let sizes = |_: &str| Ok((1, 1));
    assert!(parse("a.kdl", &images(MAX_FILES + 1, MAX_FILES), &sizes).is_ok());
    let report = parse("a.kdl", &images(MAX_FILES + 1, MAX_FILES + 1), &sizes).unwrap_err();
    assert_eq!(report.problems()[0].code(), "E104");
}

/// No file can be used, for a long reason with whatever the path holds.
struct Nowhere;

impl ImageSource for Nowhere {
    fn open(&self, path: &str, _: &Conversion) -> Result<Box<dyn Picture>, ImageError> {
        let controls = "\u{1b}[2J".repeat(1_000);
        Err(ImageError::new(format!("{path} is not there; {controls}")))
    }
}

#[test]
fn what_is_shown_of_any_text_is_short() {
    let wide = "\u{10FFFF}".repeat(60);
    let texts = [
        format!("{HEAD}{}", "bogus\t;".repeat(200_000)),
        format!("{HEAD}fill {}", "value=1 ".repeat(100_000)),
        format!("{HEAD}fill {}", "valeu=1 ".repeat(100_000)),
        format!("{HEAD}{}", "a ]\n".repeat(100_000)),
        format!("{HEAD}{}", "\u{7}\n".repeat(100_000)),
        format!(
            "{HEAD}{}",
            format!("// {}\n", "\u{202e}".repeat(2_000)).repeat(200)
        ),
        format!("{HEAD}{}\n", format!("use \"{wide}\"; ").repeat(5_000)),
        format!(
            "{HEAD}compose {{ {} }}",
            format!("({wide}){wide} {wide}={wide}; ").repeat(5_000)
        ),
        format!(
            "{HEAD}compose {{ {} }}",
            format!("(base)image \"{}\"; ", "\\u{1}".repeat(500)).repeat(200)
        ),
        format!(
            "{HEAD}compose {{ {} }}",
            format!("(base)image \"{}\"\n", "\\u{202e}".repeat(500)).repeat(200)
        ),
        format!(
            "{HEAD}{}",
            format!("fill value=\"\"\"\n{}\n\"\"\"\n", "long\n".repeat(1_000)).repeat(200)
        ),
        format!(
            "{HEAD}compose {{ {} }}",
            format!(
                "(base)map {{ (source)fill value=1; expression \"{}\" }}; ",
                "é(".repeat(1_000)
            )
            .repeat(200)
        ),
        (0..1_000)
            .map(|i| format!("define \"{i:063}\" {{ fill value=1 }}\n"))
            .collect::<String>()
            + &(0..2_000)
                .map(|i| format!("use \"{:063}\"\n", i * 7 + 1))
                .collect::<String>(),
        "#".repeat(1_000_000),
        "x".repeat(4_000_000),
    ];
    let long = texts::long().into_iter().map(|(_, text)| text);
    for text in texts.into_iter().chain(long) {
        let name = format!("{}\u{1b}]0;x", "directory/".repeat(400));
        let report = parse(&name, &text, &Nowhere).expect_err("a hostile design");
        let shown = shown(&report);
        let start: String = text.chars().take(100).collect();
        assert!(shown.len() <= 1 << 20, "{} bytes for {start}", shown.len());
        assert!(
            !shown.contains(is_unseen),
            "a terminal would obey what is shown of {start}"
        );
        assert!(report.to_string().len() < 1 << 20);
        assert!(!report.to_string().contains(is_unseen));
    }
}

/// Whether a terminal would obey the character.
fn is_unseen(c: char) -> bool {
    (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[test]
fn a_layout_that_would_be_too_long_is_refused() {
    let deep = |inner: &str| format!("{}{inner}{}", "a {\n".repeat(60), "}\n".repeat(60));
    for inner in ["\\\n".repeat(80_000), "// c\n".repeat(80_000)] {
        let text = deep(&format!("a {inner}\n"));
        let report = format("a.kdl", &text).unwrap_err();
        assert_eq!(report.problems()[0].code(), "E102");
    }
    // Ends of lines alone are many tokens and no text.
    assert_eq!(format("a.kdl", &"\n".repeat(4_000_000)).unwrap(), "");
}

#[test]
fn an_expression_that_stands_often_is_read_once() {
    let long = format!("1{}", "+1".repeat(2_000));
    let one = format!("(add)map {{ (source)fill value=1; expression \"{long}\" }}\n");
    let design = parse(
        "a.kdl",
        &format!("{HEAD}compose {{\n{}}}", one.repeat(500)),
        &NoImages,
    )
    .unwrap();
    let tables: std::collections::HashSet<*const u16> = design
        .nodes()
        .iter()
        .filter_map(|node| match &node.kind {
            relief_design::Kind::Map(relief_design::kinds::Map { table }) => Some(table.as_ptr()),
            _ => None,
        })
        .collect();
    assert_eq!(tables.len(), 1);
}

#[test]
fn usual_profiles_of_the_greatest_radius_are_taken() {
    for profile in [
        "255 * (1 - (d / 40) ^ 2) * exp(-d / 9)",
        "255 * (1 - d / 4096) ^ 2.5",
        "127.5 + 127.5 * cos(2 * pi * d / 40)",
        "max(0, 255 - sqrt(4096 ^ 2 - d ^ 2) / 20)",
        "255 * exp(-(d / 900) ^ 2) * sin(d / 40)",
    ] {
        let text = format!("{HEAD}distance radius=4096 {{ (mask)fill value=1; profile \"{profile}\" }}");
        assert!(parse("a.kdl", &text, &NoImages).is_ok(), "{profile}");
    }
}

/// Small tables of long expressions are as much work as large ones of short expressions.
#[test]
fn the_work_of_many_small_tables_is_bounded() {
    let maps = |count: usize| {
        let one = |i: usize| {
            format!(
                "(add)map {{ (source)fill value=1; expression \"{i}{}\" }}\n",
                "+1".repeat(2_000)
            )
        };
        format!("{HEAD}compose {{\n{}}}", (0..count).map(one).collect::<String>())
    };
    // 2 000 numbers and as many sums at 256 values.
    let work = 256 * 2_000 * (2 + 3);
    let fit = usize::try_from(MAX_TABLE_WORK / work).unwrap();
    assert!(parse("a.kdl", &maps(fit / 2), &NoImages).is_ok());
    assert_eq!(code(&maps(fit + 1)), "E105");
    // A profile of one value is evaluated as a block, and counts as one.
    let profiles = |count: usize| {
        let one = |i: usize| {
            let long = "+exp(1)".repeat(580);
            format!("(add)distance radius=0 {{ (mask)fill value=1; profile \"{i}{long}\" }}\n")
        };
        format!("{HEAD}compose {{\n{}}}", (0..count).map(one).collect::<String>())
    };
    let fit = usize::try_from(MAX_TABLE_WORK / (32 * 580 * (2 + 3 + 24))).unwrap();
    assert!(fit * 4_100 < MAX_TEXT && fit > 3_000);
    assert!(parse("a.kdl", &profiles(fit / 2), &NoImages).is_ok());
    assert_eq!(code(&profiles(fit + 1)), "E105");
}

#[test]
fn slow_arguments_of_expressions_count_for_what_they_take() {
    let profile = |function: &str| {
        format!("{HEAD}distance radius=4096 {{ (mask)fill value=1; profile \"{function}\" }}")
    };
    assert!(parse("a.kdl", &profile("tan(d)"), &NoImages).is_ok());
    for function in [
        "tan(1e300*d)",
        "tan(1e300*d)+sin(1e300*d)",
        "d*1e-310*1*1*1*1*1*1",
    ] {
        assert_eq!(code(&profile(function)), "E105", "{function}");
    }
}

#[test]
fn strings_of_several_lines_point_to_where_they_are_wrong() {
    let text = "relief version=1\ncanvas width=4 height=4\ndefine \"\"\"\n  é\r\n  é\\é\n  \"\"\" { fill value=1 }\nfill value=1\n";
    let report = refused(text);
    let pointer = report.problems()[0].pointers().next().unwrap();
    assert_eq!(&text[pointer.bytes.0..][..pointer.bytes.1], "\\");
    assert_eq!((pointer.place.line, pointer.place.column), (5, 4));
    // Only an escaped end of line may stand in a string of one line.
    for (string, taken) in [
        ("a \\\n b", true),
        ("a \\\n b\nc", false),
        ("a \\\\\n b", false),
        ("a\\\n\n b", true),
    ] {
        let text = format!("{HEAD}define \"{string}\" {{ fill value=1 }}\nfill value=1");
        assert_eq!(parse("a.kdl", &text, &NoImages).is_ok(), taken, "{string:?}");
        assert_eq!(text.parse::<kdl::KdlDocument>().is_ok(), taken, "{string:?}");
    }
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
    assert_eq!(parse("same.kdl", &same, &NoImages).unwrap().nodes().len(), 41);
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
        "parameter \"p\" 3\n",
        "parameter \"q\" \"${p}\"\n",
        "array columns=2 rows=$p step-x=1 step-y=\"10%\" {",
        "array columns=2 rows=2 step-x=1 step-y=1 data=\"rows.csv\" {",
        "$p ",
        "\"${p + i}\"",
        "anchor=\"centre\" ",
        "x=\"1/3%\" ",
        "rounding=\"nearest\" ",
        "amplitude=\"80um\" ",
        "value=\"20um\" ",
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

/// Strings between three quotes, right ones and wrong ones.
fn lines_of_strings() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "é",
        "\\",
        "\\é",
        "\\n",
        "\\u{e9}",
        "\\u{}",
        "\\ ",
        " ",
        "\u{3000}",
        "\t",
        "\n",
        "\r\n",
        "\r",
        "\u{2028}",
        "\n  ",
        "\n\u{3000}",
        "\"",
        "\"\"",
        "\\\"",
        "a",
        "𝔘",
    ]);
    let body = prop::collection::vec(pieces, 0..20).prop_map(|pieces| pieces.concat());
    let quotes = prop::sample::select(vec![
        ("\"\"\"\n", "\n\"\"\""),
        ("\"\"\"\n", "\n  \"\"\""),
        ("#\"\"\"\n", "\n\"\"\"#"),
        ("\"", "\""),
    ]);
    (quotes, body)
        .prop_map(|((open, close), body)| format!("define {open}{body}{close} {{ fill value=1 }}\n"))
}

fn check(text: &str) {
    let images = |_: &str| Ok((10, 10));
    match parse("soup.kdl", text, &images) {
        Ok(design) => assert_eq!(valid(&design), Ok(())),
        Err(report) => assert!(!shown(&report).contains(is_unseen), "{text:?}"),
    }
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
    fn any_string_is_read_or_pointed_into(strings in prop::collection::vec(lines_of_strings(), 1..4)) {
        check(&format!("{HEAD}{}fill value=1\n", strings.concat()));
    }

    #[test]
    fn any_expression_is_tabulated_or_refused(text in "[-+*/^(),.0-9dpie minsqrtlogabe]{0,40}") {
        check(&format!("{HEAD}distance radius=9 {{\n(mask)fill value=1\nprofile \"{text}\"\n}}"));
    }
}

/// What [`Design::new`] says of the nodes of a design.
fn valid(design: &Design) -> Result<(), InvalidDesign> {
    Design::new(design.canvas(), design.nodes().to_vec(), None).map(|_| ())
}
