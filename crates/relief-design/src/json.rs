//! The JSON form of a design: what [`schema`](crate::schema()) describes, for other programs to read and write.
//!
//! A node is an object with `name`, `role`, `arguments`, `properties` and `children`; a document is the array of its nodes.
//! Comments have no place in it, and numbers are written as the design writes them, in decimal.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Map, Number, Value as Json, json};

use crate::length::{Decimal, Ratio, decimal};
use crate::report::{Problem, Report};
use crate::syntax::{self, Element, Literal, MAX_DEPTH, MAX_TEXT, Value};

/// The JSON form of a design, an array of nodes. The design need not be a right one, but it must be KDL.
///
/// ```
/// let text = "relief version=1\ncanvas width=4 height=3\n(a)fill value=7 // seven";
/// let json = relief_design::to_json("a.kdl", text)?;
/// assert_eq!(json[2], serde_json::json!({ "name": "fill", "role": "a", "properties": { "value": 7 } }));
/// # Ok::<(), relief_design::Report>(())
/// ```
///
/// # Errors
/// A report of what is not KDL, or has no place in JSON: a property that is given twice, an annotation of a value.
pub fn to_json(name: &str, text: &str) -> Result<Json, Report> {
    let report = |problems| Report::new(name, text, problems);
    let elements = syntax::read(text).map_err(report)?;
    let mut problems = Vec::new();
    let nodes = elements
        .iter()
        .map(|element| node(element, &mut problems))
        .collect();
    if problems.is_empty() {
        Ok(Json::Array(nodes))
    } else {
        Err(Report::new(name, text, problems))
    }
}

fn node(element: &Element<'_>, problems: &mut Vec<Problem>) -> Json {
    let mut fields = Map::new();
    fields.insert("name".into(), json!(element.name.text));
    if let Some(role) = &element.annotation {
        fields.insert("role".into(), json!(role.text));
    }
    if !element.arguments.is_empty() {
        let arguments = element
            .arguments
            .iter()
            .map(|argument| value(argument, problems))
            .collect();
        fields.insert("arguments".into(), Json::Array(arguments));
    }
    if !element.properties.is_empty() {
        let mut properties = Map::new();
        for (name, given) in &element.properties {
            let given = value(given, problems);
            if properties.insert(name.text.to_string(), given).is_some() {
                let message = format!("the property `{}` is given twice", syntax::shortened(&name.text));
                let problem = Problem::new("E304", message).label(name.span, "given again");
                note(problems, problem.help("remove one of them"));
            }
        }
        fields.insert("properties".into(), Json::Object(properties));
    }
    if !element.children.is_empty() {
        let children = element
            .children
            .iter()
            .map(|child| node(child, problems))
            .collect();
        fields.insert("children".into(), Json::Array(children));
    }
    Json::Object(fields)
}

fn note(problems: &mut Vec<Problem>, problem: Problem) {
    if problems.len() < crate::report::MAX_COUNTED {
        problems.push(problem);
    }
}

fn value(value: &Value<'_>, problems: &mut Vec<Problem>) -> Json {
    if let Some(annotation) = &value.annotation {
        let problem = Problem::new("E312", "a value takes no type annotation").label(annotation.span, "here");
        note(problems, problem.help("remove it with its parentheses"));
    }
    match &value.literal {
        Literal::Text(text) => json!(text),
        Literal::Number(text) => number(text).unwrap_or_else(|| {
            let message = format!("{} cannot be written in JSON", value.literal.describe());
            let problem = Problem::new("E407", message).label(value.span, "too long");
            note(
                problems,
                problem.help("write at most 18 digits before and 18 after the decimal point"),
            );
            Json::Null
        }),
        Literal::Keyword("#true") => json!(true),
        Literal::Keyword("#false") => json!(false),
        Literal::Keyword("#null") | Literal::Broken => Json::Null,
        Literal::Keyword(_) => {
            let message = format!("{} cannot be written in JSON", value.literal.describe());
            let problem = Problem::new("E401", message).label(value.span, "here");
            note(problems, problem.help("no word of a design takes it"));
            Json::Null
        }
        Literal::Cell(text) => json!(text),
    }
}

/// A number in decimal, with all its digits.
fn number(text: &str) -> Option<Json> {
    if let Some(exact) = Decimal::parse(text) {
        let exact = Ratio::of(exact);
        if let Some(whole) = exact.whole() {
            let small = i64::try_from(whole).map(Number::from);
            let large = || u64::try_from(whole).map(Number::from);
            if let Ok(number) = small.or_else(|_| large()) {
                return Some(Json::Number(number));
            }
        }
        // As a binary64, where that says no other number.
        let real = exact.real();
        let back = Decimal::parse(&format!("{real}")).map(Ratio::of);
        if back
            .and_then(|back| back.minus(exact))
            .is_some_and(|rest| rest.whole() == Some(0) && rest == Ratio::ZERO)
            && let Some(number) = Number::from_f64(real)
        {
            return Some(Json::Number(number));
        }
        // A text is a length, too.
        return decimal(exact).map(Json::String);
    }
    let plain: String = text.chars().filter(|&c| c != '_').collect();
    let real = plain.parse::<f64>().ok().filter(|real| real.is_finite());
    real.and_then(Number::from_f64).map(Json::Number)
}

/// The text of a design that is written in JSON, laid out as [`format`](crate::format()) does.
///
/// ```
/// let json = r#"[{ "name": "relief", "properties": { "version": 1 } }, { "name": "canvas", "properties": { "width": 4 } }]"#;
/// assert_eq!(relief_design::from_json(json).unwrap(), "relief version=1\ncanvas width=4\n");
/// ```
///
/// # Errors
/// A sentence that says what is no such JSON, and where.
pub fn from_json(text: &str) -> Result<String, String> {
    if text.len() > MAX_TEXT {
        return Err(format!(
            "it has {} bytes, more than the {MAX_TEXT} allowed",
            text.len()
        ));
    }
    let json: Json = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    let Json::Array(nodes) = json else {
        return Err("a design in JSON is an array of nodes".to_owned());
    };
    let mut out = String::new();
    for (i, node) in nodes.iter().enumerate() {
        write_node(&mut out, node, 0, &mut vec![i])?;
    }
    if out.len() > MAX_TEXT {
        return Err(format!(
            "as a design it would have more than the {MAX_TEXT} bytes allowed"
        ));
    }
    Ok(out)
}

/// Where something stands: the numbers of nodes, from the outermost.
fn place(path: &[usize]) -> String {
    let numbers: Vec<String> = path.iter().map(ToString::to_string).collect();
    format!("node {}", numbers.join("."))
}

fn write_node(out: &mut String, node: &Json, level: usize, path: &mut Vec<usize>) -> Result<(), String> {
    let wrong = |path: &[usize], why: &str| Err(format!("{}: {why}", place(path)));
    if level >= MAX_DEPTH {
        return wrong(path, &format!("nodes are nested more than {MAX_DEPTH} deep"));
    }
    let Json::Object(fields) = node else {
        return wrong(path, "a node is an object");
    };
    let known = ["name", "role", "arguments", "properties", "children"];
    if let Some(other) = fields.keys().find(|key| !known.contains(&key.as_str())) {
        return wrong(
            path,
            &format!(
                "the field {} is none of {}",
                syntax::quoted(other),
                known.join(", ")
            ),
        );
    }
    let Some(Json::String(name)) = fields.get("name") else {
        return wrong(path, "`name` is a text");
    };
    out.push_str(&"    ".repeat(level));
    match fields.get("role") {
        None => {}
        Some(Json::String(role)) => {
            let _ = write!(out, "({})", word(role));
        }
        Some(_) => return wrong(path, "`role` is a text"),
    }
    out.push_str(&word(name));
    match fields.get("arguments") {
        None => {}
        Some(Json::Array(arguments)) => {
            for argument in arguments {
                let _ = write!(
                    out,
                    " {}",
                    literal(argument).map_err(|why| format!("{}: {why}", place(path)))?
                );
            }
        }
        Some(_) => return wrong(path, "`arguments` is an array"),
    }
    match fields.get("properties") {
        None => {}
        Some(Json::Object(properties)) => {
            for (name, value) in properties {
                let value = literal(value).map_err(|why| format!("{}: {why}", place(path)))?;
                let _ = write!(out, " {}={value}", word(name));
            }
        }
        Some(_) => return wrong(path, "`properties` is an object"),
    }
    match fields.get("children") {
        None => out.push('\n'),
        Some(Json::Array(children)) if children.is_empty() => out.push('\n'),
        Some(Json::Array(children)) => {
            out.push_str(" {\n");
            for (i, child) in children.iter().enumerate() {
                path.push(i);
                write_node(out, child, level + 1, path)?;
                path.pop();
                if out.len() > MAX_TEXT {
                    return wrong(
                        path,
                        &format!("the design is longer than the {MAX_TEXT} bytes allowed"),
                    );
                }
            }
            out.push_str(&"    ".repeat(level));
            out.push_str("}\n");
        }
        Some(_) => return wrong(path, "`children` is an array"),
    }
    Ok(())
}

/// A name as KDL: bare where it is letters, digits and hyphens, else between quotes.
fn word(text: &str) -> Cow<'_, str> {
    let bare = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        // Words that KDL keeps for itself.
        && !["true", "false", "null", "inf", "nan"].contains(&text);
    if bare { text.into() } else { string(text).into() }
}

/// A text between quotes.
fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Ends of lines, and characters that KDL does not allow as they are.
            c if c.is_control()
                || ('\u{2028}'..='\u{202e}').contains(&c)
                || ('\u{2066}'..='\u{2069}').contains(&c)
                || matches!(c, '\u{200e}' | '\u{200f}' | '\u{feff}' | '\u{85}') =>
            {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A value as KDL.
fn literal(value: &Json) -> Result<String, String> {
    match value {
        Json::String(text) => Ok(string(text)),
        Json::Number(number) => Ok(number.to_string()),
        Json::Bool(true) => Ok("#true".to_owned()),
        Json::Bool(false) => Ok("#false".to_owned()),
        Json::Null => Ok("#null".to_owned()),
        Json::Array(_) | Json::Object(_) => {
            Err("a value is a text or a number, found a list or an object".to_owned())
        }
    }
}
