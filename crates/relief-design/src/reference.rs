//! The reference of nodes, written from the table of signatures.

use std::fmt::Write as _;

use crate::expression::{Binary, Unary};
use crate::signature::{
    ChildName, ChildRule, Count, Group, NAME, PLACEMENT, Parameter, Presence, SIGNATURES, Signature,
};
use crate::suggestion::Suggestions;

const HEAD: &str = "# Reference of nodes

This page is generated from the signatures in `crates/relief-design/src/`, those of nodes in `kinds/`, the others in
`signature/`: change them there, then run `RELIEF_BLESS=1 cargo test -p relief-design`. The pictures are made by Relief of the
examples beside them, at a third of their size: `RELIEF_BLESS=1 cargo test -p relief-io --test files reference_pictures`.

A design is a KDL file: `relief version=1`, a `canvas`, any number of `define`, and one node, the root, which fills the
canvas. M is the greatest sample: 255 with 8 bits, 65 535 with 16. Outside its extent a node is 0. A length is a number of
pixels or a text with a unit, `pm nm um mm cm m in mil pt px`: `37`, `\"20mm\"`, `\"-1.5um\"`, `\"1/3in\"`. It is a whole number
of pixels unless the canvas says `rounding=\"nearest\"`. A node within another says its role between parentheses before its name. The offsets of nested nodes and the greater side of the innermost add up to
at most 2^44 pixels.

Samples of 16 bits are written little-endian to raw files.
";

/// How expressions are read and computed, before the list of their functions.
const EXPRESSIONS: &str = "
An expression is a formula between quotes, in one variable, d in a `profile` and v in an `expression`, or in those of a
`formula`. It holds numbers
(`12`, `0.5`, `1e-3`), the constants `pi` and `e`, the operators `+ - * /`, powers as `^`, parentheses and functions. `^`
binds tightest and to the right: `-d^2` is −(d²), `2^3^2` is 2^(3²). Every number is a binary64, and each operation is
rounded once, in the order written; the functions give the same on every host. In a `formula` a number may have a unit of
length, pm, nm, um, mm, cm, m, in, mil or pt, and is in metres then: `50mm` is 0.05.
";

/// The reference of all words of the language, in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut page = HEAD.to_owned();
    for (title, group) in [
        ("The document", Group::Document),
        ("Nodes", Group::Node),
        ("Parameters", Group::Parameter),
    ] {
        line(&mut page, &format!("\n## {title}"));
        if group == Group::Node {
            line(
                &mut page,
                "\nEvery node but `use`, which takes x, y and anchor only, and `chain`, which takes none, takes these properties as\nwell:\n",
            );
            table(&mut page, "property", PLACEMENT.iter());
        }
        for signature in SIGNATURES.iter().filter(|s| s.group == group) {
            section(&mut page, signature, true);
        }
    }
    expressions(&mut page);
    page
}

/// The reference of one word.
///
/// ```
/// assert!(relief_design::reference_of("repeat").unwrap().contains("`count-x`"));
/// assert_eq!(relief_design::reference_of("repaet"), Err(Some("repeat")));
/// ```
///
/// # Errors
/// A word that is near, if there is one.
pub fn reference_of(name: &str) -> Result<String, Option<&'static str>> {
    let Some(signature) = Signature::of(name) else {
        let words = SIGNATURES.iter().map(|signature| signature.name);
        return Err(Suggestions::default().near(name, words));
    };
    let mut page = String::new();
    section(&mut page, signature, false);
    if signature.placed {
        line(&mut page, "\nIt takes these properties as well:\n");
        table(&mut page, "property", PLACEMENT.iter());
    }
    Ok(page.trim_start().to_owned())
}

fn expressions(page: &mut String) {
    line(page, &format!("\n## Expressions\n{EXPRESSIONS}"));
    line(page, "| function | value |\n|---|---|");
    for function in Unary::ALL {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "| `{}(a)` | {} |", function.name(), function.meaning());
    }
    for function in Binary::NAMED {
        let _ = writeln!(page, "| `{}(a, b)` | {} |", function.name(), function.meaning());
    }
}

fn line(page: &mut String, text: &str) {
    page.push_str(text);
    page.push('\n');
}

/// The section of a word: its example, what that looks like where there are `pictures`, and then what holds of it.
fn section(page: &mut String, signature: &Signature, pictures: bool) {
    let name = signature.name;
    line(
        page,
        &format!("\n### `{name}`\n\n```kdl\n{}\n```\n", signature.example),
    );
    if pictures && signature.group == Group::Node {
        line(
            page,
            &format!("![What this `{name}` makes](images/nodes/{name}.png)\n"),
        );
    }
    line(page, signature.meaning);
    if !signature.arguments.is_empty() {
        line(page, "");
        table(page, "value", signature.arguments.iter());
    }
    if !signature.properties.is_empty() {
        line(page, "");
        table(page, "property", signature.properties.iter());
    }
    if !signature.children.is_empty() {
        line(page, &format!("\nBetween its braces: {}.", children(signature)));
    }
    let extent = signature.extent.describe();
    if !extent.is_empty() {
        line(page, &format!("\nSize without `width=` and `height=`: {extent}."));
    }
    if !signature.details.is_empty() {
        line(page, &format!("\n{}", signature.details.trim_end()));
    }
}

fn table<'p>(page: &mut String, title: &str, parameters: impl Iterator<Item = &'p Parameter>) {
    line(
        page,
        &format!("| {title} | what | default | meaning |\n|---|---|---|---|"),
    );
    for parameter in parameters {
        let default = match parameter.presence {
            Presence::Required => "required".to_owned(),
            Presence::Optional(default) => default.to_string(),
        };
        let (name, what) = (parameter.name, parameter.value.describe());
        // Writing to a string cannot fail.
        let _ = writeln!(page, "| `{name}` | {what} | {default} | {} |", parameter.meaning);
    }
}

/// Which children a word has: those of one kind that may stand equally often are named together.
fn children(signature: &Signature) -> String {
    let kind = |rule: &ChildRule| match rule.child {
        ChildName::Role(_) => "node as",
        ChildName::Node => "node without a role",
        ChildName::Parameter(_) => "",
    };
    let groups = signature
        .children
        .chunk_by(|one, other| one.count == other.count && kind(one) == kind(other));
    let described = groups.map(|rules| {
        let names: Vec<String> = rules.iter().filter_map(child).collect();
        let (node, nodes) = match kind(&rules[0]) {
            "node as" => ("node as ", "nodes as "),
            "node without a role" => ("node without a role", "nodes without a role"),
            _ => ("", ""),
        };
        let named = if signature.named && node == "node as " {
            format!(", each with a `{}`", NAME.name)
        } else {
            String::new()
        };
        let text = match (rules[0].count, names.len()) {
            (Count::One, 0 | 1) => format!("one {node}{}", listed(&names, "and")),
            (Count::One, _) => format!("one {node}each of {}", listed(&names, "and")),
            (Count::AtMostOne, 0 | 1) => format!("at most one {node}{}", listed(&names, "and")),
            (Count::AtMostOne, _) => format!("at most one {node}each of {}", listed(&names, "and")),
            (Count::Any, _) => format!("any number of {nodes}{}", listed(&names, "or")),
            (Count::Some, 0 | 1) => format!("one or more {nodes}{}", listed(&names, "and")),
            (Count::Some, _) => format!("one or more {nodes}each of {}", listed(&names, "and")),
            (Count::SomeOf, _) => format!("one or more {nodes}of {}", listed(&names, "or")),
        };
        text + &named
    });
    described.collect::<Vec<_>>().join("; ")
}

/// How a child is written, where it has a name.
fn child(rule: &ChildRule) -> Option<String> {
    match rule.child {
        ChildName::Role(role) => Some(format!("`({})`", role.name())),
        ChildName::Node => None,
        ChildName::Parameter(name) => Some(format!("`{name}`")),
    }
}

/// Names as people list them: with commas, and a word before the last one.
fn listed(names: &[String], word: &str) -> String {
    match names {
        [] => String::new(),
        [name] => name.clone(),
        [first @ .., last] => format!("{} {word} {last}", first.join(", ")),
    }
}
