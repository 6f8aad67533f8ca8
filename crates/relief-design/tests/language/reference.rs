//! The pages that are generated from the table of signatures.

use std::path::Path;

use relief_design::{Group, NoImages, SIGNATURES, parse, reference, schema};

use crate::files;

#[test]
fn the_reference_on_disk_is_that_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/nodes.md");
    if std::env::var_os("RELIEF_BLESS").is_some() {
        std::fs::write(&path, reference()).unwrap();
    }
    let on_disk = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        on_disk,
        reference(),
        "docs/nodes.md is stale; RELIEF_BLESS=1 writes it anew"
    );
}

/// The example of every node, in a design where it can stand.
#[test]
fn every_example_of_the_reference_is_a_right_design() {
    let images = files::Drawings(&[]);
    for signature in &SIGNATURES {
        let node = match (signature.group, signature.name) {
            (Group::Document, "define") => format!("{}\nuse \"dot\"", signature.example),
            (Group::Document, "parameter") => "fill value=1".to_owned(),
            (Group::Document, "scan") => format!("{}\nfill value=1", signature.example),
            (Group::Document, _) => continue,
            (Group::Node, "use") => format!(
                "define \"dot\" {{ fill value=1 }}\ncompose {{\n{}\n}}",
                signature.example
            ),
            (Group::Node, _) if signature.example.starts_with('(') => {
                format!("compose {{\n{}\n}}", signature.example)
            }
            (Group::Node, _) => format!("compose {{\n(base){}\n}}", signature.example),
            (Group::Parameter, "u") => format!(
                "lattice {{\n{}\nv 0 90\n(pattern)image \"a\"\n}}",
                signature.example
            ),
            (Group::Parameter, "v") => format!(
                "lattice {{\n{}\nu 90 0\n(pattern)image \"a\"\n}}",
                signature.example
            ),
            (Group::Parameter, "profile") => format!(
                "distance radius=40 {{\n{}\n(mask)image \"a\"\n}}",
                signature.example
            ),
            (Group::Parameter, "point") => format!(
                "map {{\n(source)image \"a\"\ncurve {{\n{}\n}}\n}}",
                signature.example
            ),
            (Group::Parameter, "slice") => {
                format!(
                    "scan {{ passes \"listed\" {{ {} }} }}\nfill value=1",
                    signature.example
                )
            }
            (
                Group::Parameter,
                "stripe" | "swath" | "overscan" | "passes" | "halftone" | "material" | "machine" | "gcode",
            ) => {
                format!("scan {{\n{}\n}}\nfill value=1", signature.example)
            }
            (Group::Parameter, "vertex") => {
                format!("line stroke=1 value=1 {{\nvertex 0 0\n{}\n}}", signature.example)
            }
            (Group::Parameter, "stop") => {
                format!(
                    "gradient \"linear\" {{\nstop at=0 value=0\n{}\n}}",
                    signature.example
                )
            }
            (Group::Parameter, "zone") => format!(
                "scan {{ gcode feed=\"1mm/s\" {{ {} }} }}\nfill value=1",
                signature.example
            ),
            (Group::Parameter, "font") => format!("svg \"logo.svg\" {{ {} }}", signature.example),
            (Group::Parameter, "let") => format!("formula \"u\" {{\n{}\n}}", signature.example),
            (Group::Parameter, _) => format!("map {{\n(source)image \"a\"\n{}\n}}", signature.example),
        };
        let before = if signature.name == "parameter" {
            signature.example
        } else {
            ""
        };
        let text =
            format!("relief version=1\n{before}\ncanvas width=400 height=300 pixel=\"10um\"\n{node}\n");
        if let Err(report) = parse(signature.name, &text, &images) {
            panic!("{}: {:?}", signature.name, report.problems());
        }
    }
    let canvas = SIGNATURES.iter().find(|s| s.name == "canvas").unwrap().example;
    assert!(
        parse(
            "canvas",
            &format!("relief version=1\n{canvas}\nfill value=1"),
            &NoImages
        )
        .is_ok()
    );
}

#[test]
fn the_schema_describes_every_word_and_refers_to_nothing_else() {
    fn references<'v>(value: &'v serde_json::Value, found: &mut Vec<&'v str>) {
        match value {
            serde_json::Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                if name == "$ref" {
                    found.push(value.as_str().unwrap());
                }
                references(value, found);
            }),
            serde_json::Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let schema = schema();
    let definitions = schema["$defs"].as_object().unwrap();
    for signature in &SIGNATURES {
        let name = &definitions[signature.name]["properties"]["name"]["const"];
        assert_eq!(name, signature.name);
    }
    let mut found = Vec::new();
    references(&schema, &mut found);
    assert!(found.len() > SIGNATURES.len());
    for reference in found {
        assert!(
            definitions.contains_key(reference.strip_prefix("#/$defs/").unwrap()),
            "{reference}"
        );
    }
}

/// The pattern of lengths takes what the reader takes.
#[test]
fn the_schema_takes_the_lengths_that_the_reader_takes() {
    let schema = schema();
    let pattern = |property: &str| {
        let value = &schema["$defs"]["canvas"]["properties"]["properties"]["properties"][property];
        let value = value["oneOf"].get(1).unwrap_or(value);
        jsonschema::validator_for(value).unwrap()
    };
    let (length, pixel) = (pattern("width"), pattern("pixel"));
    for text in [
        "", " ", "_", "mm", "px", ".", "1.", ".5", "+.5", "5", " 5 ", "5mm", "5 mm", "-5mm", "1_0um", "_1",
        "4e1um", "4E+1 px", "4e", "4e+mm", "1.5e-1cm", "1.2.3", "--1", "0,5mm", "5 miles", "5µm", "5μm",
        "5in", "5 m m", "1._5mm", "1.5_mm",
    ] {
        let read = |canvas: &str| match parse(
            "a.kdl",
            &format!("relief version=1\ncanvas {canvas}\nfill value=1"),
            &NoImages,
        ) {
            Ok(_) => true,
            Err(report) => !report
                .problems()
                .iter()
                .any(|p| ["E401", "E404"].contains(&p.code())),
        };
        let width = read(&format!("width=\"{text}\" height=1 pixel=\"1um\""));
        assert_eq!(length.is_valid(&text.into()), width, "{text:?}");
        let side = read(&format!("width=1 height=1 pixel=\"{text}\""));
        assert_eq!(pixel.is_valid(&text.into()), side, "{text:?}");
    }
}

#[test]
fn the_schema_is_a_schema() {
    jsonschema::meta::validate(&schema()).unwrap();
}

/// Children have names where their parent asks for them, and nowhere else.
#[test]
fn the_schema_takes_the_names_that_the_reader_takes() {
    let schema = schema();
    let validator = |value: &serde_json::Value| jsonschema::validator_for(value).unwrap();
    let node = validator(&schema["$defs"]["fill"]);
    for (parent, argument, role) in [("formula", "\"1\"", "source"), ("compose", "", "base")] {
        // The last rule of a child is that it is a node.
        let rules = &schema["$defs"][parent]["properties"]["children"]["items"]["oneOf"][0]["allOf"];
        let rules = validator(&serde_json::json!({ "allOf": rules.as_array().unwrap()[..2] }));
        for name in [None, Some("a")] {
            let written = name.map_or(String::new(), |name| format!("name=\"{name}\""));
            let text = format!(
                "relief version=1\ncanvas width=9 height=9\n{parent} {argument} {{ ({role})fill value=1 {written} }}"
            );
            let mut child = serde_json::json!({ "name": "fill", "role": role, "properties": { "value": 1 } });
            if let Some(name) = name {
                child["properties"]["name"] = name.into();
            }
            let read = parse("a.kdl", &text, &NoImages).is_ok();
            assert_eq!(read, name.is_some() == (parent == "formula"), "{text}");
            assert!(node.is_valid(&child), "{child}");
            assert_eq!(rules.is_valid(&child), read, "{child}");
        }
    }
}
