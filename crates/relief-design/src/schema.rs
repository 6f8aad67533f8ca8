//! A JSON Schema of designs, written from the table of signatures.
//!
//! A node is mapped to JSON as an object: `name`, `role` (its type annotation), `arguments` (an array), `properties`
//! (an object) and `children` (an array of nodes). A document is the array of its nodes.

use serde_json::{Map, Value, json};

use crate::signature::{
    ChildName, Count, Group, MAX_OFFSET, MAX_POINTS, MAX_STRING, NAME, Parameter, Presence, SIGNATURES,
    Signature, ValueType,
};

/// The JSON Schema (2020-12) of a design, for editors and generators.
///
/// A node `(add)disc diameter=5 value=9` is the object `{"name": "disc", "role": "add", "properties": {"diameter": 5,
/// "value": 9}}`; values without a name stand in `arguments`, what is between braces in `children`. Conditions that
/// join several values, such as that vectors are not parallel, are beyond a schema.
#[must_use]
pub fn schema() -> Value {
    let mut definitions = Map::new();
    for signature in SIGNATURES {
        definitions.insert(signature.name.to_owned(), node(signature, &SIGNATURES));
    }
    let of_group = |group| {
        SIGNATURES
            .iter()
            .filter(move |s| s.group == group)
            .map(|signature| reference(signature))
            .collect::<Vec<_>>()
    };
    // By its name, so that what is in a node is looked at once, however deep nodes are nested.
    let nodes = || SIGNATURES.iter().filter(|s| s.group == Group::Node);
    let by_name: Vec<Value> = nodes()
        .map(|signature| json!({ "if": named_so(signature.name), "then": reference(signature) }))
        .collect();
    let names: Vec<&str> = nodes().map(|signature| signature.name).collect();
    definitions.insert(
        "node".to_owned(),
        json!({ "type": "object", "required": ["name"], "properties": { "name": { "enum": names } }, "allOf": by_name }),
    );
    let top: Vec<Value> = of_group(Group::Document)
        .into_iter()
        .chain([json!({ "allOf": [nameless(), { "$ref": "#/$defs/node" }] })])
        .collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Relief design, version 1",
        "description": "The nodes of a KDL document as JSON objects",
        "type": "array",
        "prefixItems": [{ "$ref": "#/$defs/relief" }],
        "items": { "oneOf": top },
        "allOf": [
            { "contains": named_so("canvas"), "minContains": 1, "maxContains": 1 },
            { "contains": { "properties": { "name": { "enum": names } } }, "minContains": 1, "maxContains": 1 },
            { "contains": named_so("scan"), "minContains": 0, "maxContains": 1 },
        ],
        "$defs": definitions,
    })
}

/// What holds of the nodes with this name.
fn named_so(name: &str) -> Value {
    json!({ "properties": { "name": { "const": name } }, "required": ["name"] })
}

fn reference(signature: &Signature) -> Value {
    json!({ "$ref": format!("#/$defs/{}", signature.name) })
}

fn node(signature: &Signature, all: &[&Signature]) -> Value {
    let mut fields = Map::new();
    let mut needed = vec![json!("name")];
    fields.insert("name".into(), json!({ "const": signature.name }));
    if signature.group == Group::Node {
        let roles: Vec<&str> = crate::Role::ALL.iter().map(|role| role.name()).collect();
        fields.insert("role".into(), json!({ "enum": roles }));
    }
    if !signature.arguments.is_empty() {
        let items: Vec<Value> = signature.arguments.iter().map(value).collect();
        let least = signature
            .arguments
            .iter()
            .filter(|p| p.presence == Presence::Required)
            .count();
        if least > 0 {
            needed.push(json!("arguments"));
        }
        fields.insert(
            "arguments".into(),
            json!({ "type": "array", "prefixItems": items, "items": false, "minItems": least }),
        );
    }
    let properties: Map<String, Value> = signature
        .all_properties()
        .chain((signature.group == Group::Node).then_some(&NAME))
        .map(|property| (property.name.to_owned(), value(property)))
        .collect();
    if !properties.is_empty() {
        let required = signature
            .all_properties()
            .filter(|p| p.presence == Presence::Required);
        let required: Vec<&str> = required.map(|p| p.name).collect();
        if !required.is_empty() {
            needed.push(json!("properties"));
        }
        fields.insert(
            "properties".into(),
            json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false }),
        );
    }
    if !signature.children.is_empty() {
        let (children, required) = children(signature, all);
        if required {
            needed.push(json!("children"));
        }
        fields.insert("children".into(), children);
    }
    json!({
        "description": signature.meaning,
        "type": "object",
        "properties": fields,
        "required": needed,
        "additionalProperties": false,
    })
}

/// The schema of what stands between braces, and whether something must.
fn children(signature: &Signature, all: &[&Signature]) -> (Value, bool) {
    let mut items = Vec::new();
    let mut counts = Vec::new();
    let mut some_of = Vec::new();
    for rule in signature.children {
        // What stands first is told apart in a moment, and counted by.
        let (known_by, item) = match rule.child {
            // A node in a chain reads the one before it, and lacks what it would read else.
            ChildName::Node if signature.group == Group::Node => {
                let node = json!({ "type": "object", "required": ["name"], "properties": { "role": false } });
                (json!({ "required": ["name"] }), node)
            }
            ChildName::Node => {
                let node = json!({ "allOf": [nameless(), { "$ref": "#/$defs/node" }] });
                (json!({ "required": ["name"] }), node)
            }
            ChildName::Role(role) => {
                let role =
                    json!({ "properties": { "role": { "const": role.name() } }, "required": ["role"] });
                let name = if signature.named { named() } else { nameless() };
                (
                    role.clone(),
                    json!({ "allOf": [role, name, { "$ref": "#/$defs/node" }] }),
                )
            }
            ChildName::Parameter(name) => {
                let parameter = all
                    .iter()
                    .find(|s| s.name == name)
                    .map_or(json!(false), |signature| reference(signature));
                (named_so(name), parameter)
            }
        };
        match rule.count {
            Count::One => counts.push(json!({ "contains": known_by, "minContains": 1, "maxContains": 1 })),
            Count::AtMostOne => {
                counts.push(json!({ "contains": known_by, "minContains": 0, "maxContains": 1 }))
            }
            Count::Some => {
                counts.push(json!({ "contains": known_by, "minContains": 1, "maxContains": MAX_POINTS }))
            }
            Count::SomeOf => some_of.push(known_by),
            Count::Any => {}
        }
        items.push(item);
    }
    if !some_of.is_empty() {
        counts.push(json!({ "contains": { "oneOf": some_of }, "minContains": 1 }));
    }
    let required = signature
        .children
        .iter()
        .any(|rule| !matches!(rule.count, Count::Any | Count::AtMostOne));
    let mut schema = json!({ "type": "array", "items": { "oneOf": items } });
    // JSON Schema takes no empty list here.
    if !counts.is_empty() {
        schema["allOf"] = counts.into();
    }
    (schema, required)
}

/// What holds of a node whose parent knows it by a name.
fn named() -> Value {
    json!({ "properties": { "properties": { "required": [NAME.name] } }, "required": ["properties"] })
}

/// What holds of every other node: it has no name.
fn nameless() -> Value {
    json!({ "properties": { "properties": { "properties": { NAME.name: false } } } })
}

fn value(parameter: &Parameter) -> Value {
    let mut schema = match parameter.value {
        ValueType::Any | ValueType::Text | ValueType::Path | ValueType::Expression(_) => {
            value_type(parameter.value)
        }
        // A parameter may stand in place of it.
        value => json!({ "anyOf": [value_type(value), { "type": "string", "pattern": r"\$" }] }),
    };
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("description".into(), json!(parameter.meaning));
        if let Presence::Optional(default) = parameter.presence {
            fields.insert("$comment".into(), json!(format!("default: {default}")));
        }
    }
    schema
}

fn value_type(value: ValueType) -> Value {
    let decimal = r"[+-]?(_*[0-9][0-9_]*(\._*[0-9][0-9_]*)?|_*\._*[0-9][0-9_]*)([eE][+-]?[0-9]+)?";
    let number = format!(r"{decimal}(\s*/\s*{decimal})?");
    let units = "pm|nm|um|µm|μm|mm|cm|m|in|mil|pt";
    let metric = format!(r"^\s*{number}\s*({units})\s*$");
    let unit = format!(r"^\s*{number}\s*({units}|px)?\s*$");
    let part = format!(r"^\s*{number}\s*({units}|px|%)?\s*$");
    let percent = format!(r"^\s*{number}\s*%\s*$");
    let number_or =
        |number: Value, pattern: &str| json!({ "oneOf": [number, { "type": "string", "pattern": pattern }] });
    match value {
        ValueType::Length { least, greatest } | ValueType::Step { least, greatest } => number_or(
            json!({ "type": "number", "minimum": least, "maximum": greatest }),
            &unit,
        ),
        ValueType::Coordinate => number_or(
            json!({ "type": "number", "minimum": -(relief_raster::MAX_SIDE as i64), "maximum": relief_raster::MAX_SIDE }),
            &unit,
        ),
        ValueType::Pitch | ValueType::Dimension => number_or(
            json!({ "type": "number", "exclusiveMinimum": 0, "maximum": relief_raster::MAX_SIDE }),
            &unit,
        ),
        ValueType::Offset => number_or(
            json!({ "type": "number", "minimum": -MAX_OFFSET, "maximum": MAX_OFFSET }),
            &part,
        ),
        ValueType::Side => number_or(
            json!({ "type": "number", "exclusiveMinimum": 0, "maximum": relief_raster::MAX_SIDE }),
            &part,
        ),
        ValueType::Distance => number_or(json!({ "type": "number" }), &unit),
        ValueType::PixelSize | ValueType::Amplitude => json!({ "type": "string", "pattern": metric }),
        ValueType::PicturePitch => {
            json!({ "anyOf": [{ "const": "file" }, { "type": "string", "pattern": metric }] })
        }
        ValueType::Feed => {
            let feed = format!(r"^\s*{number}\s*({units})\s*/\s*(min|s)\s*$");
            json!({ "type": "string", "pattern": feed })
        }
        ValueType::Frequency => {
            let frequency = format!(r"^\s*{number}\s*(lpi|lpcm|lpmm)\s*$");
            json!({ "type": "string", "pattern": frequency })
        }
        ValueType::Dpi | ValueType::PositiveReal => json!({ "type": "number", "exclusiveMinimum": 0 }),
        ValueType::Sample => number_or(
            json!({ "type": "integer", "minimum": 0, "maximum": 65_535 }),
            &metric,
        ),
        ValueType::SampleOrPart => number_or(
            json!({ "type": "integer", "minimum": 0, "maximum": 65_535 }),
            &format!("{metric}|{percent}"),
        ),
        ValueType::Part => number_or(json!({ "type": "number", "minimum": 0, "maximum": 1 }), &percent),
        ValueType::Level | ValueType::Height | ValueType::Quantity => {
            number_or(json!({ "type": "number" }), &metric)
        }
        ValueType::Any => json!({ "type": ["number", "string"] }),
        ValueType::Seed => json!({ "type": "integer", "minimum": i64::MIN, "maximum": u64::MAX }),
        ValueType::Real => json!({ "type": "number" }),
        ValueType::Choice(numbers) => json!({ "enum": numbers }),
        ValueType::Count { least, greatest } => {
            json!({ "type": "integer", "minimum": least, "maximum": greatest })
        }
        ValueType::Word(words) => json!({ "enum": words }),
        ValueType::Text | ValueType::Path | ValueType::Expression(_) => {
            json!({ "type": "string", "minLength": 1, "maxLength": MAX_STRING })
        }
    }
}
