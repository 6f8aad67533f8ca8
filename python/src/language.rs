//! The words of the language, for the builder of designs.

use pyo3::prelude::*;
use relief_design::{ChildName, Count, DefaultValue, Group, Parameter, Presence, SIGNATURES};
use serde_json::{Value, json};

use crate::errors::Failure;

/// A design laid out as Relief lays designs out.
#[pyfunction]
pub(crate) fn format(py: Python<'_>, name: &str, text: &str) -> PyResult<String> {
    relief_design::format(name, text)
        .map_err(|report| Failure::Design(Box::new(report), text.to_owned()).raised(py))
}

/// What a code of a problem means.
#[pyfunction]
pub(crate) fn explain(code: &str) -> Option<&'static str> {
    relief_design::explain(code)
}

/// All words of the language as JSON, from the table that the parser reads.
#[pyfunction]
pub(crate) fn signatures() -> String {
    let words: Vec<Value> = SIGNATURES
        .iter()
        .map(|signature| {
            json!({
                "name": signature.name,
                "group": match signature.group {
                    Group::Document => "document",
                    Group::Node => "node",
                    Group::Parameter => "parameter",
                },
                "meaning": signature.meaning,
                "arguments": signature.arguments.iter().map(parameter).collect::<Vec<_>>(),
                "properties": signature.all_properties().map(parameter).collect::<Vec<_>>(),
                "children": signature.children.iter().map(|rule| {
                    let (kind, name) = match rule.child {
                        ChildName::Role(role) => ("role", role.name()),
                        ChildName::Node => ("node", ""),
                        ChildName::Parameter(name) => ("parameter", name),
                    };
                    let count = match rule.count {
                        Count::One => "one",
                        Count::AtMostOne => "at most one",
                        Count::Any => "any",
                        Count::Some => "some",
                        Count::SomeOf => "some of",
                    };
                    json!({ "kind": kind, "name": name, "count": count })
                }).collect::<Vec<_>>(),
                "named": signature.named,
                "example": signature.example,
            })
        })
        .collect();
    Value::from(words).to_string()
}

fn parameter(parameter: &Parameter) -> Value {
    let default = match parameter.presence {
        Presence::Required => Value::Null,
        Presence::Optional(default) => match default {
            DefaultValue::Number(number) => json!(number),
            DefaultValue::Word(word) => json!(word),
            DefaultValue::Absent(_) => Value::Null,
        },
    };
    json!({
        "name": parameter.name,
        "required": parameter.presence == Presence::Required,
        "default": default,
        "type": parameter.value.describe(),
        "meaning": parameter.meaning,
    })
}
