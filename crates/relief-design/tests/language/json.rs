//! The JSON form of designs: described by the schema, and read back as the same design.

use std::path::Path;

use proptest::prelude::*;
use relief_design::{
    Conversion, Design, ImageError, ImageSource, Picture, from_json, parse, schema, to_json,
};

use crate::files;

/// Any file.
struct Any;

impl ImageSource for Any {
    fn open(&self, path: &str, conversion: &Conversion) -> Result<Box<dyn Picture>, ImageError> {
        (|_: &str| Ok((30, 20))).open(path, conversion)
    }

    fn data(&self, path: &str, _: u64) -> Result<Vec<u8>, String> {
        match path {
            // Of the numbered plates.
            "bits.csv" => Ok(include_bytes!("../../../../examples/batch/bits.csv").to_vec()),
            "depths.csv" => Ok(include_bytes!("../../../../examples/field/depths.csv").to_vec()),
            _ => Ok(files::drawing(path).unwrap_or_else(|| b"picture\na.png\n".to_vec())),
        }
    }
}

fn meaning(text: &str) -> Result<Design, String> {
    let design = parse("test.kdl", text, &Any).map_err(|report| report.to_string())?;
    let mut nodes = design.nodes().to_vec();
    for node in &mut nodes {
        (node.place.line, node.place.column) = (1, 1);
    }
    Design::new(design.canvas(), nodes, design.scan().cloned()).map_err(|error| error.to_string())
}

/// All designs of the tests of the engine and of the examples.
fn designs() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files: Vec<_> = std::fs::read_dir(root.join("crates/relief-engine/tests/golden"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .chain(
            std::fs::read_dir(root.join("examples"))
                .unwrap()
                .map(|entry| entry.unwrap().path().join("design.kdl")),
        )
        .filter(|path| path.extension().is_some_and(|extension| extension == "kdl"))
        .collect();
    files.sort();
    assert!(files.len() > 50);
    let read =
        |path: &std::path::PathBuf| (path.display().to_string(), std::fs::read_to_string(path).unwrap());
    files.iter().map(read).collect()
}

#[test]
fn every_design_is_described_by_the_schema_and_read_back_the_same() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for (name, text) in designs() {
        let json = to_json(&name, &text).unwrap();
        assert!(
            validator.is_valid(&json),
            "{name}: {:#?}",
            validator.iter_errors(&json).next()
        );
        let back = from_json(&json.to_string()).unwrap();
        assert_eq!(
            meaning(&back).unwrap(),
            meaning(&text).unwrap(),
            "{name}:\n{back}"
        );
        // What is read back is laid out.
        assert_eq!(relief_design::format(&name, &back).unwrap(), back);
        assert_eq!(to_json(&name, &back).unwrap(), json);
    }
}

#[test]
fn numbers_keep_their_digits() {
    let text =
        "a 0x10 1_000 -7 0.1 1.5e3 18446744073709551615 -9223372036854775808 0.1234567890123456789 1e-300";
    let json = to_json("a", text).unwrap();
    let expected = serde_json::json!([
        16,
        1000,
        -7,
        0.1,
        1500,
        18446744073709551615_u64,
        i64::MIN,
        "0.1234567890123456789",
        1e-300
    ]);
    assert_eq!(
        json[0]["arguments"].as_array().unwrap()[..7],
        expected.as_array().unwrap()[..7]
    );
    assert_eq!(json[0]["arguments"][8], expected[8]);
}

#[test]
fn what_is_no_design_in_json_is_told_with_its_place() {
    for (json, says) in [
        ("", "it is not JSON"),
        ("{}", "an array of nodes"),
        ("[1]", "node 0: a node is an object"),
        ("[{}]", "node 0: `name` is a text"),
        (
            r#"[{"name": "a", "children": [{"name": "b"}, {"name": 2}]}]"#,
            "node 0.1: `name` is a text",
        ),
        (r#"[{"name": "a", "childs": []}]"#, "\"childs\""),
        (r#"[{"name": "a", "role": 5}]"#, "`role` is a text"),
        (r#"[{"name": "a", "arguments": {}}]"#, "`arguments` is an array"),
        (
            r#"[{"name": "a", "arguments": [[]]}]"#,
            "a value is a text or a number",
        ),
        (
            r#"[{"name": "a", "properties": []}]"#,
            "`properties` is an object",
        ),
        (r#"[{"name": "a", "children": {}}]"#, "`children` is an array"),
    ] {
        let why = from_json(json).unwrap_err();
        assert!(why.contains(says), "{json}: {why}");
    }
    let deep = format!(
        "[{}{}]",
        r#"{"name": "a", "children": ["#.repeat(100),
        "]}".repeat(100)
    );
    assert!(from_json(&deep).is_err());
    assert!(from_json(&"[".repeat(1_000_000)).is_err());
    assert_eq!(
        to_json("a", "a x=1 x=2").unwrap_err().problems()[0].code(),
        "E304"
    );
    assert_eq!(to_json("a", "a (t)1").unwrap_err().problems()[0].code(), "E312");
    assert_eq!(to_json("a", "a #inf").unwrap_err().problems()[0].code(), "E401");
    assert_eq!(to_json("a", "a {").unwrap_err().problems()[0].code(), "E101");
}

proptest! {
    /// Any names and texts come through.
    #[test]
    fn any_text_comes_back(name in any::<String>(), role in any::<String>(), value in any::<String>(), number: i64) {
        let json = serde_json::json!([{
            "name": name, "role": role, "arguments": [value, number], "properties": { name.clone(): value.clone() },
            "children": [{ "name": value }],
        }]);
        let text = from_json(&json.to_string()).unwrap();
        let back = to_json("a", &text).map_err(|report| TestCaseError::fail(format!("{report}\n{text}")))?;
        prop_assert_eq!(back, json);
    }
}
