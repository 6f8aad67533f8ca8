//! What is wrong with a design, and where.

use std::fmt;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};

use crate::syntax::Span;
use crate::tree::Place;

/// The most problems that one report holds.
pub const MAX_PROBLEMS: usize = 100;

/// One thing that is wrong with a design.
///
/// As a [`Diagnostic`] it underlines its places in the text.
#[derive(Clone, Debug)]
pub struct Problem {
    code: &'static str,
    message: String,
    help: Option<String>,
    labels: Vec<Label>,
    source: Option<Arc<NamedSource<String>>>,
}

#[derive(Clone, Debug, PartialEq)]
struct Label {
    span: Span,
    place: Place,
    text: String,
}

/// A place that a problem points to, and what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer<'a> {
    /// Line and column, counted from 1.
    pub place: Place,
    /// The bytes of the text that are meant: their offset and their number.
    pub bytes: (usize, usize),
    /// What is there.
    pub text: &'a str,
}

impl Problem {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            help: None,
            labels: Vec::new(),
            source: None,
        }
    }

    pub(crate) fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        let place = Place { line: 1, column: 1 };
        self.labels.push(Label {
            span,
            place,
            text: text.into(),
        });
        self
    }

    pub(crate) fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    pub(crate) fn with_message(mut self, message: String) -> Self {
        self.message = message;
        self
    }

    pub(crate) fn with_code(mut self, code: &'static str) -> Self {
        self.code = code;
        self
    }

    /// The code that [`explain`](crate::explain) knows.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// What is wrong: what was expected and what was found.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What would work.
    #[must_use]
    pub fn help_text(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The places concerned; the first is where the problem is, others are what it conflicts with.
    pub fn pointers(&self) -> impl Iterator<Item = Pointer<'_>> {
        self.labels.iter().map(|label| Pointer {
            place: label.place,
            bytes: (label.span.start, label.span.end - label.span.start),
            text: &label.text,
        })
    }

    /// What tells two problems apart: a node used twice is wrong only once.
    pub(crate) fn key(&self) -> (&'static str, Option<Span>, &str) {
        (
            self.code,
            self.labels.first().map(|label| label.span),
            &self.message,
        )
    }

    fn start(&self) -> usize {
        self.labels.first().map_or(0, |label| label.span.start)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display + 'a>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_deref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        if self.labels.is_empty() {
            return None;
        }
        Some(Box::new(self.labels.iter().enumerate().map(|(i, label)| {
            let (text, bytes) = (
                Some(label.text.clone()),
                (label.span.start, label.span.end - label.span.start),
            );
            if i == 0 {
                LabeledSpan::new_primary_with_span(text, bytes)
            } else {
                LabeledSpan::new_with_span(text, bytes)
            }
        })))
    }
}

/// All that is wrong with a design: at least one [`Problem`], in the order of the text.
///
/// It displays as plain lines `file:line:column: CODE: message`; as a [`Diagnostic`] it relates its problems.
#[derive(Clone, Debug)]
pub struct Report {
    name: String,
    problems: Vec<Problem>,
    total: usize,
}

impl Report {
    /// The report of these problems with the text called `name`; only the first [`MAX_PROBLEMS`] are kept.
    pub(crate) fn new(name: &str, text: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(Problem::start);
        let total = problems.len();
        problems.truncate(MAX_PROBLEMS);
        let source = Arc::new(NamedSource::new(name, text.to_owned()));
        let lines = Lines::new(text);
        for problem in &mut problems {
            problem.source = Some(Arc::clone(&source));
            for label in &mut problem.labels {
                label.place = lines.place(label.span.start);
            }
        }
        Self {
            name: name.to_owned(),
            problems,
            total,
        }
    }

    /// The problems, in the order of the text; at most [`MAX_PROBLEMS`].
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// How many problems were found, with those that the report leaves out.
    #[must_use]
    pub fn total(&self) -> usize {
        self.total
    }

    /// The name of the text, as it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.total == 1 { "problem" } else { "problems" };
        write!(f, "{}: {} {plural}", self.name, self.total)?;
        if self.total > self.problems.len() {
            write!(f, ", of which the first {} are shown", self.problems.len())?;
        }
        Ok(())
    }
}

impl std::error::Error for Report {}

impl Diagnostic for Report {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(
            self.problems.iter().map(|problem| problem as &dyn Diagnostic),
        ))
    }
}

/// Lines and columns of a text.
///
/// Characters are counted once, at every [`STRIDE`](Lines::STRIDE)th byte and at every start of a line, so that a
/// column is found in constant time even in one long line.
pub(crate) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
    counted: Vec<usize>,
}

impl<'t> Lines<'t> {
    const STRIDE: usize = 256;

    pub(crate) fn new(text: &'t str) -> Self {
        let starts = std::iter::once(0).chain(
            text.bytes()
                .enumerate()
                .filter(|&(_, b)| b == b'\n')
                .map(|(i, _)| i + 1),
        );
        let mut counted = vec![0];
        for chunk in text.as_bytes().chunks(Self::STRIDE) {
            counted.push(counted.last().copied().unwrap_or(0) + characters(chunk));
        }
        Self {
            text,
            starts: starts.collect(),
            counted,
        }
    }

    /// The number of characters that begin before the byte `offset`.
    fn before(&self, offset: usize) -> usize {
        let chunk = offset / Self::STRIDE;
        self.counted.get(chunk).copied().unwrap_or(0)
            + characters(&self.text.as_bytes()[chunk * Self::STRIDE..offset])
    }

    pub(crate) fn place(&self, offset: usize) -> Place {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|&start| start <= offset);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let column = self.before(offset) - self.before(start) + 1;
        let bounded = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Place {
            line: bounded(line),
            column: bounded(column),
        }
    }
}

/// The number of characters that begin in these bytes of UTF-8.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&b| b & 0xC0 != 0x80).count()
}
