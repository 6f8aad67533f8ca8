//! What is wrong with a design, and where.

use std::fmt;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, Severity, SourceCode};

use crate::excerpt::{Excerpt, Excerpts};
use crate::syntax::Span;
use crate::tree::Place;
use crate::visible::{visible, visible_lines};

/// The most problems that one report holds.
pub const MAX_PROBLEMS: usize = 100;

/// The most problems that are counted; a text with more is not read further.
pub(crate) const MAX_COUNTED: usize = 20 * MAX_PROBLEMS;

/// The longest message, label or help of a problem, in bytes.
const MAX_SENTENCE: usize = 1_000;

/// The longest name of a text in a report, in bytes.
const MAX_NAME: usize = 250;

/// One thing that is wrong with a design.
///
/// As a [`Diagnostic`] it underlines its places in an excerpt of the text: the lines concerned and those beside them, cut
/// where they are long, with control characters written as escapes. Offsets of its labels are those in the excerpt; the
/// ones in the text are in [`Pointer::bytes`].
#[derive(Clone, Debug)]
pub struct Problem {
    code: &'static str,
    message: String,
    help: Option<String>,
    labels: Vec<Label>,
    excerpt: Option<Box<Excerpt>>,
    is_short_of_memory: bool,
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
            excerpt: None,
            is_short_of_memory: false,
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

    /// Says that with more memory it would be right.
    pub(crate) fn short_of_memory(mut self, is: bool) -> Self {
        self.is_short_of_memory = is;
        self
    }

    /// Whether it would be right if more memory were allowed.
    #[must_use]
    pub fn is_short_of_memory(&self) -> bool {
        self.is_short_of_memory
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

    /// Whether the design is right, though most likely not what is meant.
    #[must_use]
    pub fn is_warning(&self) -> bool {
        self.code.starts_with('W')
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

    fn severity(&self) -> Option<Severity> {
        Some(if self.is_warning() {
            Severity::Warning
        } else {
            Severity::Error
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|help| Box::new(help) as Box<dyn fmt::Display + 'a>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.excerpt.as_deref().map(|excerpt| excerpt as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let excerpt = self.excerpt.as_deref().filter(|_| !self.labels.is_empty())?;
        let labels = self.labels.iter().zip(excerpt.labels());
        Some(Box::new(labels.enumerate().map(|(i, (label, &bytes))| {
            let text = Some(label.text.clone());
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
/// It displays as how many problems the text has and a line `file:line:column: CODE: message` for each, as compilers write
/// them. [`Report::underlined`] shows the same with excerpts of the text. Whatever the text was, a report shows at most
/// 1 MiB.
///
/// ```
/// let text = "relief version=1\ncanvas width=4 height=3\nfill value=700";
/// let report = relief_design::parse("a.kdl", text, &relief_design::NoImages).unwrap_err();
/// assert_eq!(report.headline(), "a.kdl: 1 problem");
/// assert!(report.to_string().starts_with("a.kdl: 1 problem\na.kdl:3:12: E"));
/// ```
#[derive(Clone, Debug)]
pub struct Report {
    name: String,
    /// The name as it is shown.
    shown: Arc<str>,
    problems: Vec<Problem>,
    total: usize,
}

/// The text, cut to so many bytes.
fn bounded(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

impl Report {
    /// The report of these problems with the text called `name`; only the first [`MAX_PROBLEMS`] are kept.
    pub(crate) fn new(name: &str, text: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(Problem::start);
        let total = problems.len();
        problems.truncate(MAX_PROBLEMS);
        let shown: Arc<str> = bounded(&visible(name), MAX_NAME).into();
        let mut excerpts = Excerpts::new(Arc::clone(&shown), text);
        for problem in &mut problems {
            let sentences = [&mut problem.message].into_iter().chain(&mut problem.help);
            for sentence in sentences.chain(problem.labels.iter_mut().map(|label| &mut label.text)) {
                *sentence = bounded(&visible_lines(sentence), MAX_SENTENCE);
            }
            let spans: Vec<Span> = problem.labels.iter().map(|label| label.span).collect();
            for label in &mut problem.labels {
                label.place = excerpts.lines.place(label.span.start);
            }
            problem.excerpt = Some(Box::new(excerpts.of(&spans)));
        }
        Self {
            name: name.to_owned(),
            shown,
            problems,
            total,
        }
    }

    /// The problems, in the order of the text; at most [`MAX_PROBLEMS`].
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Whether nothing is wrong but that reading files takes more memory than is allowed. Warnings do not count.
    #[must_use]
    pub fn is_short_of_memory(&self) -> bool {
        let mut errors = self
            .problems
            .iter()
            .filter(|problem| !problem.is_warning())
            .peekable();
        errors.peek().is_some() && errors.all(Problem::is_short_of_memory)
    }

    /// How many problems were found, with those that the report leaves out. A text is not read further where it has
    /// twenty times [`MAX_PROBLEMS`].
    #[must_use]
    pub fn total(&self) -> usize {
        self.total
    }

    /// The name of the text, as it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many problems the text has, in one line.
    #[must_use]
    pub fn headline(&self) -> String {
        let warnings = self.problems.iter().all(Problem::is_warning);
        let noun = if warnings { "warning" } else { "problem" };
        let plural = if self.total == 1 { "" } else { "s" };
        let more = if self.total >= MAX_COUNTED { " or more" } else { "" };
        let mut line = format!("{}: {}{more} {noun}{plural}", self.shown, self.total);
        if self.total > self.problems.len() {
            line += &format!(", of which the first {} are shown", self.problems.len());
        }
        line
    }

    /// The report as what a renderer of [`Diagnostic`]s shows: each problem underlined in an excerpt of the text.
    #[must_use]
    pub fn underlined(&self) -> Underlined<'_> {
        Underlined(self)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline())?;
        for problem in &self.problems {
            write!(f, "\n{}", self.shown)?;
            if let Some(pointer) = problem.pointers().next() {
                write!(f, ":{}:{}", pointer.place.line, pointer.place.column)?;
            }
            write!(f, ": {}: {}", problem.code, visible(&problem.message))?;
        }
        Ok(())
    }
}

impl std::error::Error for Report {}

/// A [`Report`] as a [`Diagnostic`]: its headline, to which its problems are related, each with an excerpt of the text.
#[derive(Clone, Copy, Debug)]
pub struct Underlined<'r>(&'r Report);

impl fmt::Display for Underlined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.headline())
    }
}

impl std::error::Error for Underlined<'_> {}

impl Diagnostic for Underlined<'_> {
    fn severity(&self) -> Option<Severity> {
        self.0.problems.first().and_then(Diagnostic::severity)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(
            self.0.problems.iter().map(|problem| problem as &dyn Diagnostic),
        ))
    }
}
