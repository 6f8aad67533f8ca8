//! The reader against the `kdl` crate, which shares no code with it: what one takes the other takes, as the same.
//!
//! The texts are short and shallow: on others the `kdl` crate is not safe. `/-` stands within nodes only: before a node,
//! version 6.7 of that crate takes `/-a{}b`, which lacks an end, and refuses `/-a;`.

use proptest::prelude::*;
use relief_design::{NoImages, format, parse};

/// Whether the reader takes the text as KDL; it may still be a wrong design.
fn is_kdl(text: &str) -> bool {
    match parse("a.kdl", text, &NoImages) {
        Ok(_) => true,
        Err(report) => report
            .problems()
            .iter()
            .all(|problem| problem.code() != "E101" && problem.code() != "E103"),
    }
}

fn soup() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "a", "bc", "\"q\"", "\"\"", "#\"r\"#", "\"\\n\"", "\"\\q\"", "1", "-2.5", "1e3", "0x1F", "1__0",
        "1a", ".5", "-.5", "+", "-", ".", "#true", "#x", "#inf", "true", "=", " = ", "(t)", "( t )", "(",
        ")", " ", " ", " ", " ", "\n", "\n", ";", "{", "}", "{ }", "{ b }", "a /-1", "a /-b=1", "a /-{ }",
        "a /- 1", "// c\n", "/* c */", "\\\n", "é", "[", "a=1", "b=\"x\"",
    ]);
    prop::collection::vec(words, 0..9).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_reader_takes_what_the_kdl_crate_takes(text in soup()) {
        prop_assert_eq!(is_kdl(&text), kdl::KdlDocument::parse_v2(&text).is_ok(), "{:?}", text);
    }

    #[test]
    fn laying_out_keeps_what_a_text_means(text in soup()) {
        if let Ok(laid_out) = format("a.kdl", &text) {
            let strip = |text: &str| {
                let mut document = kdl::KdlDocument::parse_v2(text).unwrap();
                document.clear_format_recursive();
                document
            };
            prop_assert_eq!(strip(&text).to_string(), strip(&laid_out).to_string(), "{:?}", text);
            prop_assert_eq!(text.matches("// c").count() + text.matches("/* c */").count(),
                laid_out.matches("// c").count() + laid_out.matches("/* c */").count(), "{:?}", text);
        }
    }
}
