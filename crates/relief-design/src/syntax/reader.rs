//! A recursive descent over KDL 2. Depth is bounded by [`MAX_DEPTH`]; every step consumes text.

use std::borrow::Cow;

use super::characters::{is_disallowed, is_identifier, is_newline, is_number, is_space};
use super::strings::{BadString, read_string};
use super::{
    Element, Literal, MAX_DEPTH, MAX_ELEMENTS, MAX_ENTRIES, MAX_SLASHDASH_DEPTH, MAX_TEXT, Name, Span, Value,
    quoted,
};
use crate::report::{MAX_PROBLEMS, Problem};

/// The elements of a document, or what is wrong with its text.
pub(crate) fn read(text: &str) -> Result<Vec<Element<'_>>, Vec<Problem>> {
    if text.len() > MAX_TEXT {
        let message = format!(
            "the design file has {} bytes, more than the {MAX_TEXT} allowed",
            text.len()
        );
        return Err(vec![Problem::new("E102", message).help(
            "split the design, or draw its repetitions with `repeat`, `lattice` or `use`",
        )]);
    }
    let mut reader = Reader {
        text,
        at: 0,
        depth: 0,
        slashdash_depth: 0,
        elements: 0,
        entries: 0,
        problems: Vec::new(),
    };
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    let elements = reader.elements(None).unwrap_or_default();
    if reader.problems.is_empty() {
        Ok(elements)
    } else {
        Err(reader.problems)
    }
}

/// How far a fault reaches; what it is has been noted.
enum Fault {
    /// The rest of the line is skipped.
    Line,
    /// Nothing after it can be trusted.
    End,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    slashdash_depth: usize,
    /// Elements and entries read so far, with those that are commented out.
    elements: usize,
    entries: usize,
    problems: Vec<Problem>,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn note(&mut self, span: Span, message: impl Into<String>, label: &str, help: &str) {
        self.problems
            .push(Problem::new("E101", message).label(span, label).help(help));
    }

    /// A fault at the character read next.
    fn unexpected(&mut self, expected: &str) -> Fault {
        let start = self.at;
        match self.peek() {
            None => {
                let span = Span::new(start, start);
                self.note(
                    span,
                    "the file ends too early",
                    "here",
                    &format!("{expected} is missing"),
                );
                Fault::End
            }
            Some(c) => {
                let span = Span::new(start, start + c.len_utf8());
                let found = if is_newline(c) {
                    "the end of the line".into()
                } else {
                    quoted(&c.to_string())
                };
                self.note(
                    span,
                    format!("expected {expected}, found {found}"),
                    "unexpected",
                    "the file is read as KDL 2: https://kdl.dev",
                );
                Fault::Line
            }
        }
    }

    fn space_in_line(&mut self) -> bool {
        let before = self.at;
        while self.peek().is_some_and(is_space) {
            self.bump();
        }
        self.at > before
    }

    /// A comment between `/*` and `*/`, which may hold others.
    fn block_comment(&mut self) -> Result<bool, Fault> {
        let start = self.at;
        if !self.eat("/*") {
            return Ok(false);
        }
        let mut open = 1_usize;
        while open > 0 {
            if self.eat("/*") {
                open += 1;
                if open > MAX_DEPTH {
                    self.problems
                        .push(too_deep(Span::new(start, start + 2), "comments", MAX_DEPTH));
                    return Err(Fault::End);
                }
            } else if self.eat("*/") {
                open -= 1;
            } else {
                match self.bump() {
                    None => {
                        self.note(
                            Span::new(start, start + 2),
                            "this comment is not closed",
                            "opened here",
                            "close it with */",
                        );
                        return Err(Fault::End);
                    }
                    Some(c) if is_disallowed(c) => return Err(self.disallowed(c)),
                    Some(_) => {}
                }
            }
        }
        Ok(true)
    }

    fn disallowed(&mut self, c: char) -> Fault {
        let span = Span::new(self.at - c.len_utf8(), self.at);
        let message = format!(
            "the character U+{:04X} may not stand in a design file",
            u32::from(c)
        );
        self.note(span, message, "here", "remove it");
        Fault::Line
    }

    fn line_comment(&mut self) -> Result<bool, Fault> {
        if !self.rest().starts_with("//") {
            return Ok(false);
        }
        while let Some(c) = self.peek().filter(|&c| !is_newline(c)) {
            self.bump();
            if is_disallowed(c) {
                return Err(self.disallowed(c));
            }
        }
        Ok(true)
    }

    fn newline(&mut self) -> bool {
        if self.eat("\r\n") {
            return true;
        }
        let found = self.peek().is_some_and(is_newline);
        if found {
            self.bump();
        }
        found
    }

    /// Whitespace, comments and escaped ends of lines within a node. Whether there was any.
    fn node_space(&mut self) -> Result<bool, Fault> {
        let before = self.at;
        loop {
            if self.space_in_line() || self.block_comment()? {
                continue;
            }
            if self.rest().starts_with('\\') {
                self.bump();
                self.space_in_line();
                self.line_comment()?;
                if !self.newline() && self.peek().is_some() {
                    return Err(self.unexpected("the end of the line after \\"));
                }
                continue;
            }
            return Ok(self.at > before);
        }
    }

    /// Everything that may stand between nodes.
    fn line_space(&mut self) -> Result<(), Fault> {
        while self.node_space()? || self.newline() || self.line_comment()? {}
        Ok(())
    }

    /// The nodes up to the end of the file or, with the place of the brace that opened them, up to the one that
    /// closes them.
    fn elements(&mut self, opened: Option<Span>) -> Result<Vec<Element<'a>>, Fault> {
        let mut elements = Vec::new();
        loop {
            match self.next_element(opened) {
                Ok(Some(element)) => elements.extend(element),
                Ok(None) => return Ok(elements),
                Err(Fault::Line) if self.problems.len() < MAX_PROBLEMS => {
                    while self.peek().is_some_and(|c| !is_newline(c)) {
                        self.bump();
                    }
                }
                Err(_) => return Err(Fault::End),
            }
        }
    }

    /// One node; inside it another `Option`, empty for one that is commented out.
    #[allow(
        clippy::option_option,
        reason = "the end of the nodes and a node left out are two things"
    )]
    fn next_element(&mut self, opened: Option<Span>) -> Result<Option<Option<Element<'a>>>, Fault> {
        self.line_space()?;
        match self.peek() {
            None => match opened {
                None => return Ok(None),
                Some(span) => {
                    self.note(span, "this brace is not closed", "opened here", "close it with }");
                    return Err(Fault::End);
                }
            },
            Some('}') if opened.is_some() => return Ok(None),
            Some('}') => {
                let span = Span::new(self.at, self.at + 1);
                self.note(
                    span,
                    "this brace closes nothing",
                    "no { belongs to it",
                    "remove it, or open a { before it",
                );
                return Err(Fault::End);
            }
            Some(_) => {}
        }
        if self.eat("/-") {
            self.line_space()?;
            self.element()?;
            return Ok(Some(None));
        }
        Ok(Some(Some(self.element()?)))
    }

    fn element(&mut self) -> Result<Element<'a>, Fault> {
        let start = self.at;
        let annotation = self.annotation()?;
        if annotation.is_some() {
            self.node_space()?;
        }
        let Some(name) = self.word()? else {
            return Err(self.unexpected("the name of a node"));
        };
        self.elements += 1;
        if self.elements > MAX_ELEMENTS {
            return Err(self.too_many(name.span, MAX_ELEMENTS, "nodes and parameters"));
        }
        let mut element = Element {
            annotation,
            span: Span::new(start, name.span.end),
            name,
            arguments: Vec::new(),
            properties: Vec::new(),
            children: Vec::new(),
            bound: Vec::new(),
        };
        let (mut entries_allowed, mut block_allowed) = (true, true);
        loop {
            let spaced = self.node_space()?;
            match self.peek() {
                None | Some('}') => return Ok(element),
                Some(';') => {
                    self.bump();
                    return Ok(element);
                }
                Some(c) if is_newline(c) => return Ok(element),
                Some('/') if self.line_comment()? => return Ok(element),
                Some('/') if (spaced || !entries_allowed) && self.eat("/-") => {
                    self.slashdashed(&mut entries_allowed)?
                }
                Some('{') if block_allowed => {
                    element.children = self.children()?;
                    (entries_allowed, block_allowed) = (false, false);
                    element.span.end = self.at;
                }
                Some(_) if !entries_allowed || !spaced => {
                    return Err(self.unexpected("a space, the end of the line or ;"));
                }
                Some(_) => {
                    self.entry(&mut element)?;
                    element.span.end = self.at;
                }
            }
        }
    }

    /// What follows a `/-` within a node: an entry or a children block that is left out.
    fn slashdashed(&mut self, entries_allowed: &mut bool) -> Result<(), Fault> {
        let start = self.at - 2;
        self.line_space()?;
        if self.peek() != Some('{') {
            if !*entries_allowed {
                return Err(self.unexpected("a children block"));
            }
            let mut nowhere = Element {
                annotation: None,
                name: Name {
                    text: Cow::Borrowed(""),
                    span: Span::default(),
                },
                arguments: Vec::new(),
                properties: Vec::new(),
                children: Vec::new(),
                bound: Vec::new(),
                span: Span::default(),
            };
            return self.entry(&mut nowhere);
        }
        self.slashdash_depth += 1;
        if self.slashdash_depth > MAX_SLASHDASH_DEPTH {
            self.problems.push(too_deep(
                Span::new(start, start + 2),
                "blocks commented out with /-",
                MAX_SLASHDASH_DEPTH,
            ));
            return Err(Fault::End);
        }
        self.children()?;
        self.slashdash_depth -= 1;
        // No entry may follow a children block, left out or not.
        *entries_allowed = false;
        Ok(())
    }

    fn children(&mut self) -> Result<Vec<Element<'a>>, Fault> {
        let opened = Span::new(self.at, self.at + 1);
        self.bump();
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.problems.push(too_deep(opened, "nodes", MAX_DEPTH));
            return Err(Fault::End);
        }
        let elements = self.elements(Some(opened))?;
        self.bump();
        self.depth -= 1;
        Ok(elements)
    }

    fn entry(&mut self, element: &mut Element<'a>) -> Result<(), Fault> {
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            let next = self.peek().map_or(0, char::len_utf8);
            let span = Span::new(self.at, self.at + next);
            return Err(self.too_many(span, MAX_ENTRIES, "values"));
        }
        if self.peek() != Some('(')
            && let Some(name) = self.word()?
        {
            let mark = self.at;
            self.node_space()?;
            if self.eat("=") {
                self.node_space()?;
                let value = self.value()?;
                push(&mut element.properties, (name, value));
            } else {
                self.at = mark;
                let value = Value {
                    literal: Literal::Text(name.text),
                    annotation: None,
                    span: name.span,
                    origin: None,
                };
                push(&mut element.arguments, value);
            }
            return Ok(());
        }
        let value = self.value()?;
        push(&mut element.arguments, value);
        Ok(())
    }

    fn annotation(&mut self) -> Result<Option<Name<'a>>, Fault> {
        if !self.eat("(") {
            return Ok(None);
        }
        self.node_space()?;
        let Some(name) = self.word()? else {
            return Err(self.unexpected("a word between the parentheses"));
        };
        self.node_space()?;
        if !self.eat(")") {
            return Err(self.unexpected("a closing parenthesis"));
        }
        Ok(Some(name))
    }

    fn value(&mut self) -> Result<Value<'a>, Fault> {
        let start = self.at;
        let annotation = self.annotation()?;
        if annotation.is_some() {
            self.node_space()?;
        }
        let literal = if let Some(word) = self.word()? {
            Literal::Text(word.text)
        } else {
            self.number_or_keyword()?
        };
        Ok(Value {
            literal,
            annotation,
            span: Span::new(start, self.at),
            origin: None,
        })
    }

    fn number_or_keyword(&mut self) -> Result<Literal<'a>, Fault> {
        let start = self.at;
        let keyword = self.eat("#");
        while self.peek().is_some_and(is_identifier) {
            self.bump();
        }
        let text = &self.text[start..self.at];
        if text.is_empty() || text == "#" {
            self.at = start;
            return Err(self.unexpected("a value"));
        }
        if keyword && matches!(text, "#true" | "#false" | "#null" | "#inf" | "#-inf" | "#nan") {
            return Ok(Literal::Keyword(text));
        }
        if !keyword && is_number(text) {
            return Ok(Literal::Number(text.into()));
        }
        let span = Span::new(start, self.at);
        let (message, help) = if keyword {
            ("keyword", "keywords are #true #false #null #inf #-inf #nan")
        } else {
            (
                "number",
                "a number is written 12, -0.5, 1e6 or 0xFF; a length with its unit stands between quotes: \"20mm\"",
            )
        };
        self.note(
            span,
            format!("{} is not a {message}", quoted(text)),
            "not understood",
            help,
        );
        Err(Fault::Line)
    }

    /// A string of any form, or nothing where a number, a keyword or anything else begins.
    fn word(&mut self) -> Result<Option<Name<'a>>, Fault> {
        let start = self.at;
        let rest = self.rest();
        let raw = rest.starts_with('#') && rest.trim_start_matches('#').starts_with('"');
        if rest.starts_with('"') || raw {
            return match read_string(rest) {
                Ok((text, length)) => {
                    self.at += length;
                    Ok(Some(Name {
                        text,
                        span: Span::new(start, self.at),
                    }))
                }
                Err(bad) => Err(self.bad_string(&bad)),
            };
        }
        let end = rest.find(|c| !is_identifier(c)).unwrap_or(rest.len());
        let text = &rest[..end];
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let numeric = unsigned
            .strip_prefix('.')
            .unwrap_or(unsigned)
            .starts_with(|c: char| c.is_ascii_digit());
        if text.is_empty() || numeric {
            return Ok(None);
        }
        self.at += end;
        let span = Span::new(start, self.at);
        if matches!(text, "true" | "false" | "null" | "inf" | "-inf" | "nan") {
            let help = format!("write #{text} for the keyword or \"{text}\" for the text");
            self.note(
                span,
                format!("the bare word {text} is not a value"),
                "here",
                &help,
            );
            return Err(Fault::Line);
        }
        Ok(Some(Name {
            text: Cow::Borrowed(text),
            span,
        }))
    }

    fn too_many(&mut self, span: Span, most: usize, what: &str) -> Fault {
        let problem = Problem::new("E104", format!("the design file holds more than {most} {what}"));
        self.problems.push(problem.label(span, "one too many").help(
            "draw repetitions with `repeat` or `lattice`, and leave points out that lie on a line between their neighbours",
        ));
        Fault::End
    }

    fn bad_string(&mut self, bad: &BadString) -> Fault {
        let at = self.at + bad.at;
        let length = self
            .text
            .get(at..)
            .and_then(|rest| rest.chars().next())
            .map_or(0, char::len_utf8);
        self.note(Span::new(at, at + length), bad.message, "here", bad.help);
        // An unclosed string swallows the rest of the file.
        Fault::End
    }
}

/// Appends a value. Most elements have one or two, and room for more would outweigh a hostile text many times.
fn push<T>(values: &mut Vec<T>, value: T) {
    if values.len() == values.capacity() {
        values.reserve_exact(values.len().max(1));
    }
    values.push(value);
}

fn too_deep(span: Span, what: &str, limit: usize) -> Problem {
    Problem::new("E103", format!("{what} are nested more than {limit} deep"))
        .label(span, format!("level {} begins here", limit + 1))
        .help("name inner nodes with `define` and refer to them with `use`, or leave levels out")
}
