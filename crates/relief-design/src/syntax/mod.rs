//! The syntax of a design file: KDL 2, read into elements with their places.
//!
//! Why not the `kdl` crate: on text from outside it is not safe (version 6.7 overflows the
//! stack on 16 kB of `=` or `}`, and takes time exponential in the depth of nested `/-{`), it stores numbers as
//! `f64`, where lengths need every digit, and its layout drops comments. This reader is strict, linear in
//! the text and bounded in depth; the tests compare it with that crate.

mod characters;
mod reader;
mod strings;
mod tokens;

use std::borrow::Cow;
use std::sync::Arc;

pub(crate) use reader::read;
pub(crate) use tokens::{Token, tokens};

use crate::visible::visible;

/// The longest design file, in bytes: 16 MiB.
pub const MAX_TEXT: usize = 16 << 20;

/// The deepest nesting of braces, and of nodes once every `use` is followed.
pub const MAX_DEPTH: usize = 64;

/// The deepest nesting of children blocks that are commented out with `/-`.
pub const MAX_SLASHDASH_DEPTH: usize = 4;

/// The most nodes and parameters that a design file may hold as written: 2^18.
pub const MAX_ELEMENTS: usize = 1 << 18;

/// The most values that a design file may hold, with a name or without: 2^19.
pub const MAX_ENTRIES: usize = 1 << 19;

/// A piece of the text: bytes `start..end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    pub(crate) const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }
}

/// A word with its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Name<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) span: Span,
}

/// A KDL value as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal<'a> {
    /// A string, unquoted, with its escapes resolved.
    Text(Cow<'a, str>),
    /// A number as written, for instance `-1_000.5e3` or `0x1F`.
    Number(Cow<'a, str>),
    /// `#true`, `#false`, `#null`, `#inf`, `#-inf` or `#nan`.
    Keyword(&'a str),
    /// What parameters make in a text, or a file of rows holds: a number where one is asked for and it is one, else a text.
    Cell(String),
    /// A value that cannot be told; why has been noted.
    Broken,
}

impl Literal<'_> {
    /// The bytes that a copy of it takes beside itself.
    pub(crate) fn owned(&self) -> usize {
        match self {
            Self::Text(Cow::Owned(text)) | Self::Number(Cow::Owned(text)) | Self::Cell(text) => text.len(),
            _ => 0,
        }
    }

    /// What it is, for a sentence.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Text(text) => format!("the text {}", quoted(text)),
            Self::Number(text) => format!("the number {}", shortened(text)),
            Self::Keyword(text) => format!("the keyword {text}"),
            Self::Cell(text) => format!("the text {}", quoted(text)),
            Self::Broken => "nothing".to_owned(),
        }
    }
}

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Value<'a> {
    pub(crate) literal: Literal<'a>,
    pub(crate) annotation: Option<Name<'a>>,
    pub(crate) span: Span,
    /// The parameter that it is the value of.
    pub(crate) origin: Option<Arc<Origin>>,
}

/// Where the value of a parameter comes from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Where it is written.
    pub(crate) span: Span,
    /// What is there, for a label.
    pub(crate) note: String,
}

/// A KDL node as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Element<'a> {
    pub(crate) annotation: Option<Name<'a>>,
    pub(crate) name: Name<'a>,
    pub(crate) arguments: Vec<Value<'a>>,
    pub(crate) properties: Vec<(Name<'a>, Value<'a>)>,
    pub(crate) children: Vec<Element<'a>>,
    /// The parameters that its expressions name, with their values.
    pub(crate) bound: Vec<(String, Literal<'a>)>,
    /// The whole of it, from its annotation to the end of its children.
    pub(crate) span: Span,
}

/// The text in quotes, cut where it is long.
pub(crate) fn quoted(text: &str) -> String {
    let (start, mark) = cut(text);
    format!("\"{}{mark}\"", visible(&start.escape_debug().to_string()))
}

/// At most 60 characters of the text, without control characters.
pub(crate) fn shortened(text: &str) -> Cow<'_, str> {
    match cut(text) {
        (start, "") => visible(start),
        (start, mark) => Cow::Owned(format!("{}{mark}", visible(start))),
    }
}

/// The first 60 characters, and the mark that there are more.
fn cut(text: &str) -> (&str, &'static str) {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        None => (text, ""),
        Some((end, _)) => (&text[..end], "…"),
    }
}

/// Whether two texts say the same, but for where they say it.
pub(crate) fn same(first: &[Element<'_>], second: &[Element<'_>]) -> bool {
    let same_value = |a: &Value<'_>, b: &Value<'_>| {
        a.annotation.as_ref().map(|n| &n.text) == b.annotation.as_ref().map(|n| &n.text)
            && a.literal == b.literal
    };
    first.len() == second.len()
        && first.iter().zip(second).all(|(a, b)| {
            a.name.text == b.name.text
                && a.annotation.as_ref().map(|n| &n.text) == b.annotation.as_ref().map(|n| &n.text)
                && a.arguments.len() == b.arguments.len()
                && a.arguments
                    .iter()
                    .zip(&b.arguments)
                    .all(|(a, b)| same_value(a, b))
                && a.properties.len() == b.properties.len()
                && a.properties
                    .iter()
                    .zip(&b.properties)
                    .all(|(a, b)| a.0.text == b.0.text && same_value(&a.1, &b.1))
                && same(&a.children, &b.children)
        })
}
