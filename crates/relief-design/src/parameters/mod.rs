//! Parameters: values that have a name. They take the places of `$name` and `${…}` before anything is typed, and what they
//! bring is never read again.

mod arithmetic;
mod data;

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::ImageSource;
use crate::expression::{is_name, is_taken, words};
use crate::length::{Decimal, Ratio, decimal, is_decimal};
use crate::report::{MAX_COUNTED, Problem};
use crate::resolve::MAX_NODES;
use crate::signature::{MAX_STRING, Signature, ValueType};
use crate::suggestion::Suggestions;
use crate::syntax::{Element, Literal, MAX_ELEMENTS, Origin, Span, Value, quoted, shortened};

pub use data::{MAX_DATA, Rows};

/// The most bytes of all texts that parameters make: 64 MiB.
const MAX_MADE: usize = 64 << 20;

/// The most numbers and names that expressions in texts may hold all together.
const MAX_OPERANDS: usize = 1 << 20;

/// The most parameters of a design.
const MAX_PARAMETERS: usize = 4_096;

/// A value for a parameter, in place of its default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The parameter.
    pub name: String,
    /// The value as text: a number where the default is one.
    pub value: String,
    /// Where it comes from, for messages: `--set`, or a row of a file.
    pub origin: String,
}

/// What a name stands for.
#[derive(Clone, Debug)]
struct Bound<'a> {
    literal: Literal<'a>,
    origin: Arc<Origin>,
}

/// Names with what they stand for.
struct Scope<'o, 'a> {
    names: HashMap<String, Bound<'a>>,
    /// What a name stands for that is nowhere else, where a file that would name it cannot be used.
    any: Option<Bound<'a>>,
    outer: Option<&'o Scope<'o, 'a>>,
}

impl<'a> Scope<'_, 'a> {
    fn get(&self, name: &str) -> Option<&Bound<'a>> {
        let found = self.names.get(name);
        let outer = || self.outer.and_then(|outer| outer.get(name));
        found.or_else(outer).or(self.any.as_ref())
    }

    fn all(&self) -> Vec<&str> {
        let mut names = self.outer.map_or_else(Vec::new, Self::all);
        names.extend(self.names.keys().map(String::as_str));
        names.sort_unstable();
        names
    }
}

/// Puts the values of parameters in their places and writes out arrays. What is wrong is noted; a value that cannot be told
/// becomes one of which nothing more is said.
pub(crate) fn apply<'a>(
    elements: &mut [Element<'a>],
    settings: &[Setting],
    files: &dyn ImageSource,
    problems: &mut Vec<Problem>,
) {
    let mut pass = Pass {
        files,
        problems,
        tables: HashMap::new(),
        suggestions: Suggestions::default(),
        elements: elements.iter().map(count).sum(),
        made: 0,
        operands: MAX_OPERANDS,
        spent: false,
    };
    let scope = pass.parameters(elements, settings);
    pass.unknown_settings(elements, settings, &scope);
    for element in elements
        .iter_mut()
        .filter(|element| element.name.text != "parameter")
    {
        pass.element(element, &scope);
    }
}

/// An element with all within it.
fn count(element: &Element<'_>) -> usize {
    1 + element.children.iter().map(count).sum::<usize>()
}

struct Pass<'p> {
    files: &'p dyn ImageSource,
    problems: &'p mut Vec<Problem>,
    /// The files of rows that were read, or why they cannot be used.
    tables: HashMap<String, Result<Rc<Rows>, String>>,
    suggestions: Suggestions,
    /// The elements that there are, with those that arrays have made.
    elements: usize,
    /// The bytes of the texts that were made.
    made: usize,
    /// The numbers and names that expressions may yet hold.
    operands: usize,
    /// Whether they have held too many, which has been told; nothing more is computed then.
    spent: bool,
}

impl Pass<'_> {
    fn note(&mut self, problem: Problem) {
        if self.problems.len() < MAX_COUNTED {
            self.problems.push(problem);
        }
    }

    /// The parameters of the design with their values.
    fn parameters<'o, 'a>(&mut self, elements: &[Element<'a>], settings: &[Setting]) -> Scope<'o, 'a> {
        let mut scope = Scope {
            names: HashMap::new(),
            any: None,
            outer: None,
        };
        let mut spans: HashMap<String, Span> = HashMap::new();
        let mut canvas = None;
        for element in elements {
            match &*element.name.text {
                "canvas" => canvas = canvas.or(Some(element.name.span)),
                "parameter" => {
                    if let Some(canvas) = canvas {
                        let problem = Problem::new("E606", "a parameter stands before the canvas");
                        self.note(
                            problem
                                .label(element.name.span, "after it")
                                .label(canvas, "the canvas")
                                .help("move it up, so that all that follows may use it"),
                        );
                    }
                    self.parameter(element, settings, &mut scope, &mut spans);
                }
                _ => {}
            }
        }
        scope
    }

    /// One parameter. What its signature asks for is checked with all other signatures.
    fn parameter<'a>(
        &mut self,
        element: &Element<'a>,
        settings: &[Setting],
        scope: &mut Scope<'_, 'a>,
        spans: &mut HashMap<String, Span>,
    ) {
        let Some(Value {
            literal: Literal::Text(name),
            span,
            ..
        }) = element.arguments.first()
        else {
            return;
        };
        if !is_name(name) {
            let message = format!("{} is not a name of a parameter", quoted(name));
            self.note(
                Problem::new("E606", message)
                    .label(*span, "here")
                    .help("letters, digits and _, not beginning with a digit: it stands as $name then"),
            );
            return;
        }
        if let Some(&first) = spans.get(&**name) {
            let message = format!("the parameter {} stands twice", quoted(name));
            self.note(
                Problem::new("E606", message)
                    .label(*span, "again")
                    .label(first, "first")
                    .help("remove one of them"),
            );
            return;
        }
        if spans.len() == MAX_PARAMETERS {
            let message = format!("the design has more than {MAX_PARAMETERS} parameters");
            self.note(
                Problem::new("E104", message)
                    .label(*span, "one too many")
                    .help("use fewer"),
            );
            return;
        }
        spans.insert(name.to_string(), *span);
        let default = element.arguments.get(1).map(|value| {
            let mut value = value.clone();
            self.value(&mut value, scope);
            value
        });
        let (literal, note) = match default {
            // This is told with all other values.
            Some(Value {
                literal: Literal::Keyword(_),
                ..
            })
            | None => (Literal::Broken, String::new()),
            Some(default) => match settings.iter().rev().find(|setting| setting.name == **name) {
                Some(setting) => (self.set(setting, &default), format!("by {}", setting.origin)),
                None => (default.literal, "here".to_owned()),
            },
        };
        let origin = Arc::new(Origin {
            span: *span,
            note: format!("`${name}` is set {note}"),
        });
        scope.names.insert(name.to_string(), Bound { literal, origin });
    }

    /// A value from outside in place of a default, whose type it has.
    fn set<'a>(&mut self, setting: &Setting, default: &Value<'a>) -> Literal<'a> {
        let Setting { name, value, origin } = setting;
        match &default.literal {
            Literal::Number(_) if is_decimal(value) && Decimal::parse(value).is_some() => {
                Literal::Number(Cow::Owned(value.clone()))
            }
            Literal::Number(number) => {
                let message = format!(
                    "`{name}` is a number, {} by default, and {origin} gives the text {}",
                    shortened(number),
                    quoted(value)
                );
                let problem = Problem::new("E607", message).label(default.span, "its default");
                self.note(problem.help(format!("give a number, such as {name}=12.5")));
                Literal::Broken
            }
            Literal::Text(_) | Literal::Cell(_) if value.len() > MAX_STRING => {
                let message = format!(
                    "{origin} gives `{name}` {} bytes, more than the {MAX_STRING} allowed",
                    value.len()
                );
                let problem = Problem::new("E607", message).label(default.span, "its default");
                self.note(problem.help("shorten it"));
                Literal::Broken
            }
            Literal::Text(_) | Literal::Cell(_) => Literal::Text(Cow::Owned(value.clone())),
            // What is wrong with the default is told where it stands.
            _ => Literal::Broken,
        }
    }

    fn unknown_settings(&mut self, elements: &[Element<'_>], settings: &[Setting], scope: &Scope<'_, '_>) {
        for setting in settings
            .iter()
            .filter(|setting| scope.get(&setting.name).is_none())
        {
            let Setting { name, origin, .. } = setting;
            // A broken parameter is known all the same.
            let broken = |element: &Element<'_>| {
                element.name.text == "parameter"
                    && matches!(element.arguments.first(), Some(Value { literal: Literal::Text(text), .. }) if text == name)
            };
            if elements.iter().any(broken) {
                continue;
            }
            let names = scope.all();
            let near = self.suggestions.near(name, names.iter().copied());
            let help = match (near, names.as_slice()) {
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, []) => format!("add it before the canvas: parameter \"{}\" 0", shortened(name)),
                (None, names) => format!("parameters are {}", some(names)),
            };
            let message = format!(
                "{origin} gives a value to {}, and the design has no such parameter",
                quoted(name)
            );
            let last = elements.iter().rfind(|element| element.name.text == "parameter");
            let at = last.or(elements.first()).map_or(Span::default(), |e| e.name.span);
            self.note(Problem::new("E607", message).label(at, "after this").help(help));
        }
    }

    fn element<'a>(&mut self, element: &mut Element<'a>, scope: &Scope<'_, 'a>) {
        let named = element.properties.iter_mut().map(|(_, value)| value);
        for value in element.arguments.iter_mut().chain(named) {
            self.value(value, scope);
        }
        if element.name.text == "array" {
            self.array(element, scope);
            return;
        }
        for child in &mut element.children {
            self.element(child, scope);
        }
        if Signature::of(&element.name.text).is_some_and(|signature| signature.named) {
            element.bound = self.bound(element, scope);
        }
    }

    /// The parameters that the expressions of an element and of those in it name.
    fn bound<'a>(&mut self, element: &Element<'a>, scope: &Scope<'_, 'a>) -> Vec<(String, Literal<'a>)> {
        let mut bound: Vec<(String, Literal<'a>)> = Vec::new();
        let parts = std::iter::once(element).chain(&element.children);
        for (value, place) in parts.flat_map(|part| {
            let signature = Signature::of(&part.name.text);
            part.arguments
                .iter()
                .zip(signature.map_or(&[][..], |signature| signature.arguments))
        }) {
            let text: &str = match (&value.literal, place.value) {
                (Literal::Text(text), ValueType::Expression(_)) => text,
                (Literal::Cell(text), ValueType::Expression(_)) => text,
                _ => continue,
            };
            for name in words(text) {
                if is_taken(name) || bound.iter().any(|(known, _)| known == name) {
                    continue;
                }
                let Some(found) = scope.get(name) else {
                    continue;
                };
                let literal = found.literal.clone();
                if self.makes(literal.owned(), value.span) {
                    bound.push((name.to_owned(), literal));
                } else {
                    return bound;
                }
            }
        }
        bound
    }

    /// Puts the values of parameters into a value.
    fn value<'a>(&mut self, value: &mut Value<'a>, scope: &Scope<'_, 'a>) {
        let Literal::Text(text) = &value.literal else {
            return;
        };
        if !text.contains('$') {
            return;
        }
        if self.spent {
            value.literal = Literal::Broken;
            return;
        }
        if let Some(name) = text.strip_prefix('$').filter(|name| is_name(name)) {
            match scope.get(name) {
                Some(bound) => {
                    let bytes = bound.literal.owned();
                    let (literal, origin) = (bound.literal.clone(), Arc::clone(&bound.origin));
                    value.literal = if self.makes(bytes, value.span) {
                        literal
                    } else {
                        Literal::Broken
                    };
                    value.origin = Some(origin);
                }
                None => {
                    let problem = self.unknown(name, value.span, scope);
                    self.note(problem);
                    value.literal = Literal::Broken;
                }
            }
            return;
        }
        let mut origin = None;
        match self.text(text, value.span, scope, &mut origin) {
            Ok(made) => {
                value.literal = if self.makes(made.len(), value.span) {
                    Literal::Cell(made)
                } else {
                    Literal::Broken
                };
                value.origin = origin;
            }
            Err(problem) => {
                self.note(problem);
                value.literal = Literal::Broken;
            }
        }
    }

    /// Whether so many bytes more may be made; a problem says if not.
    fn makes(&mut self, bytes: usize, span: Span) -> bool {
        self.made = self.made.saturating_add(bytes);
        if self.made <= MAX_MADE {
            return true;
        }
        let message = format!("parameters make more than {} MiB of texts", MAX_MADE >> 20);
        let problem = Problem::new("E104", message).label(span, "with this");
        self.note(problem.help("use shorter texts, or fewer copies of them"));
        false
    }

    /// The text with the values of all `${…}` in their places.
    fn text(
        &mut self,
        text: &str,
        span: Span,
        scope: &Scope<'_, '_>,
        origin: &mut Option<Arc<Origin>>,
    ) -> Result<String, Problem> {
        let mut made = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            made.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('$') {
                made.push('$');
                rest = after;
            } else if let Some(inner) = rest.strip_prefix('{') {
                let Some((expression, after)) = inner.split_once('}') else {
                    let problem = Problem::new("E605", "`${` has no end").label(span, "in this text");
                    return Err(problem.help("write ${name}, or $${ for these two characters"));
                };
                made.push_str(&self.filled(expression, span, scope, origin)?);
                rest = after;
            } else {
                return Err(self.lone(rest, span, scope));
            }
            if made.len() > MAX_STRING {
                let message = format!("this text becomes more than the {MAX_STRING} bytes allowed");
                let problem = Problem::new("E402", message).label(span, "too long");
                return Err(problem.help("shorten it, or the parameters in it"));
            }
        }
        made.push_str(rest);
        Ok(made)
    }

    /// What an expression brings into a text: a text as it is, or a number.
    fn filled(
        &mut self,
        expression: &str,
        span: Span,
        scope: &Scope<'_, '_>,
        origin: &mut Option<Arc<Origin>>,
    ) -> Result<String, Problem> {
        let name = expression.trim();
        if is_name(name) {
            let Some(bound) = scope.get(name) else {
                return Err(self.unknown(name, span, scope));
            };
            origin.get_or_insert_with(|| Arc::clone(&bound.origin));
            return Ok(match &bound.literal {
                Literal::Text(text) => text.to_string(),
                Literal::Cell(text) => text.clone(),
                Literal::Number(number) => {
                    let exact = Decimal::parse(number).map(Ratio::of).and_then(decimal);
                    exact.unwrap_or_else(|| number.to_string())
                }
                Literal::Keyword(_) | Literal::Broken => String::new(),
            });
        }
        let mut unknown = None;
        let mut broken = false;
        let mut lookup = |name: &str| {
            let Some(bound) = scope.get(name) else {
                unknown = Some(name.to_owned());
                return Err(String::new());
            };
            origin.get_or_insert_with(|| Arc::clone(&bound.origin));
            match &bound.literal {
                Literal::Number(number) => Decimal::parse(number).map(Ratio::of),
                Literal::Cell(text) if is_decimal(text) => Decimal::parse(text).map(Ratio::of),
                Literal::Broken => {
                    broken = true;
                    Some(Ratio::integer(1))
                }
                _ => None,
            }
            .ok_or_else(|| format!("`{name}` is a text, and only numbers can be computed with"))
        };
        let value = arithmetic::evaluate(name, &mut self.operands, &mut lookup);
        if value.is_err() && self.operands == 0 {
            self.spent = true;
            let message =
                format!("expressions in texts hold more than {MAX_OPERANDS} numbers and names all together");
            let problem = Problem::new("E105", message).label(span, "with this one");
            return Err(problem.help("write shorter expressions, or numbers where nothing is to be computed"));
        }
        if let Some(name) = unknown {
            return Err(self.unknown(&name, span, scope));
        }
        match value {
            Ok(_) | Err(_) if broken => Ok(String::new()),
            Ok(value) => Ok(written_out(value)),
            Err(why) => {
                let message = format!("the expression {} cannot be computed: {why}", quoted(expression));
                let problem = Problem::new("E609", message).label(span, "in this text");
                let functions: Vec<&str> = arithmetic::functions().collect();
                Err(problem.help(format!(
                    "it takes numbers, parameters, + - * /, parentheses and {}",
                    functions.join(", ")
                )))
            }
        }
    }

    fn unknown(&self, name: &str, span: Span, scope: &Scope<'_, '_>) -> Problem {
        let names = scope.all();
        let near = self.suggestions.near(name, names.iter().copied());
        let help = match (near, names.as_slice()) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, []) => format!(
                "add it before the canvas: parameter \"{}\" 0; a dollar sign is written $$",
                shortened(name)
            ),
            (None, names) => format!("names here are {}; a dollar sign is written $$", some(names)),
        };
        Problem::new("E605", format!("no parameter is called {}", quoted(name)))
            .label(span, "unknown")
            .help(help)
    }

    /// The problem of a dollar sign that begins nothing.
    fn lone(&self, rest: &str, span: Span, scope: &Scope<'_, '_>) -> Problem {
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        let name = &rest[..end];
        let help = if is_name(name) && scope.get(name).is_some() {
            format!("within a text write ${{{name}}}; a dollar sign is written $$")
        } else {
            "a dollar sign is written $$; $name stands alone, and ${name} within a text".to_owned()
        };
        Problem::new("E605", "a dollar sign that begins no parameter")
            .label(span, "in this text")
            .help(help)
    }

    /// Writes out the copies of an array, each with its own numbers and its row.
    fn array<'a>(&mut self, element: &mut Element<'a>, scope: &Scope<'_, 'a>) {
        let rows = self.rows(element);
        let copies = self.copies(element, rows.as_ref());
        let mut children = std::mem::take(&mut element.children).into_iter();
        let Some(child) = children.next() else {
            let problem = Problem::new("E310", "`array` needs the node that it copies");
            self.note(problem.label(element.name.span, "here").help(
                "for instance:\narray columns=3 rows=2 step-x=50 step-y=40 {\n    (add)disc diameter=30 value=200\n}",
            ));
            return;
        };
        if let Some(other) = children.next() {
            let problem = Problem::new("E311", "`array` copies one node, found another")
                .label(other.name.span, "another")
                .label(child.name.span, "the first");
            self.note(problem.help("fold them into one with `compose`"));
        }
        let Copies {
            columns,
            count: copies,
        } = copies;
        let wanted = count(&child).saturating_mul(copies);
        self.elements = self.elements.saturating_add(wanted);
        if self.elements > MAX_ELEMENTS {
            let message = format!(
                "{copies} copies of this would make more than the {MAX_ELEMENTS} nodes and parameters allowed"
            );
            let problem = Problem::new("E104", message).label(element.name.span, "here");
            self.note(
                problem.help("copies that are all alike are one `repeat`, or many `use` of one definition"),
            );
            return;
        }
        element.children.reserve_exact(copies);
        for n in 0..copies {
            let (i, j) = (n % columns, n / columns);
            let origin = |note: String| {
                Arc::new(Origin {
                    span: element.name.span,
                    note,
                })
            };
            let place = origin(format!("of copy {n}, at column {i} and row {j}"));
            let mut names: HashMap<String, Bound<'a>> = HashMap::new();
            for (name, number) in [("i", i), ("j", j), ("n", n)] {
                let literal = Literal::Number(Cow::Owned(number.to_string()));
                let origin = Arc::clone(&place);
                names.insert(name.to_owned(), Bound { literal, origin });
            }
            if let Some(table) = &rows {
                for (name, cell) in table.row(n) {
                    let literal = Literal::Cell(cell.to_owned());
                    let origin = origin(format!(
                        "column {} of row {} is {}",
                        quoted(name),
                        n + 1,
                        quoted(cell)
                    ));
                    names.insert(name.to_owned(), Bound { literal, origin });
                }
            }
            let any = element.properties.iter().any(|(name, _)| name.text == "data") && rows.is_none();
            let any = any.then(|| Bound {
                literal: Literal::Broken,
                origin: Arc::clone(&place),
            });
            let inner = Scope {
                names,
                any,
                outer: Some(scope),
            };
            let mut copy = child.clone();
            self.element(&mut copy, &inner);
            element.children.push(copy);
            if self.problems.len() >= MAX_COUNTED {
                break;
            }
        }
    }

    /// The rows that an array names.
    fn rows(&mut self, element: &Element<'_>) -> Option<Rc<Rows>> {
        let (_, value) = element.properties.iter().find(|(name, _)| name.text == "data")?;
        let path: &str = match &value.literal {
            Literal::Text(path) => path,
            Literal::Cell(path) => path,
            _ => return None,
        };
        if path.is_empty() || path.len() > MAX_STRING || path.contains('\0') {
            // This is told with all other values.
            return None;
        }
        let files = self.files;
        let table = self.tables.entry(path.to_owned()).or_insert_with(|| {
            let bytes = files.data(path, MAX_DATA)?;
            Rows::parse(&bytes).map(Rc::new)
        });
        match table.clone() {
            Ok(table) => {
                if let Some(name) = table
                    .header()
                    .iter()
                    .find(|name| ["i", "j", "n"].contains(&name.as_str()))
                {
                    let message = format!("the column {} has the name of a number of the copy", quoted(name));
                    let problem = Problem::new("E608", message).label(value.span, "in this file");
                    self.note(problem.help("give it another name: $i, $j and $n count the copies"));
                }
                Some(table)
            }
            Err(why) => {
                let problem = Problem::new("E608", format!("the rows cannot be used: {why}"));
                self.note(problem.label(value.span, "this file").help(
                    "a file of rows is CSV in UTF-8: a header that names the columns, then a row for each copy; \
                     its path is relative to the folder of the design file",
                ));
                None
            }
        }
    }

    /// How many copies there are: one where that cannot be told, which is told elsewhere.
    fn copies(&mut self, element: &Element<'_>, rows: Option<&Rc<Rows>>) -> Copies {
        let side = |name: &str| {
            let (_, value) = element.properties.iter().find(|(given, _)| given.text == name)?;
            let number = match &value.literal {
                Literal::Number(number) => Decimal::parse(number)?,
                Literal::Cell(text) if is_decimal(text) => Decimal::parse(text)?,
                _ => return None,
            };
            let number = number.integer().and_then(|number| u64::try_from(number).ok());
            number.filter(|&number| number > 0)
        };
        let one = Copies { columns: 1, count: 1 };
        let (Some(columns), Some(lines)) = (side("columns"), side("rows")) else {
            return one;
        };
        let count = columns.saturating_mul(lines);
        if count > MAX_NODES {
            let message = format!(
                "{} copies are more than the {MAX_NODES} nodes that a design may have",
                u128::from(columns) * u128::from(lines)
            );
            let problem = Problem::new("E104", message).label(element.name.span, "here");
            self.note(problem.help("copies that are all alike are one `repeat`"));
            return one;
        }
        let (columns, count) = (columns as usize, count as usize);
        let Some(table) = rows else {
            return Copies { columns, count };
        };
        if table.len() > count {
            let message = format!("the file has {} rows, the array {count} copies", table.len());
            let at = element.properties.iter().find(|(name, _)| name.text == "data");
            let span = at.map_or(element.name.span, |(_, value)| value.span);
            let problem = Problem::new("E608", message).label(span, "too many rows");
            self.note(problem.help("give the array more rows or columns; places without a row stay empty"));
        }
        Copies {
            columns,
            count: count.min(table.len()),
        }
    }
}

struct Copies {
    columns: usize,
    count: usize,
}

/// The first few of many names.
fn some(names: &[&str]) -> String {
    const SHOWN: usize = 20;
    let shown: Vec<String> = names
        .iter()
        .take(SHOWN)
        .map(|name| format!("`{}`", shortened(name)))
        .collect();
    let more = if names.len() > SHOWN { ", …" } else { "" };
    shown.join(", ") + more
}

/// A number as a text has it: in decimal, with at most 15 digits after the point.
fn written_out(value: Ratio) -> String {
    if let Some(text) = decimal(value) {
        return text;
    }
    const DIGITS: i128 = 1_000_000_000_000_000;
    let scaled = value.times(Ratio::integer(DIGITS)).map(Ratio::rounded);
    let rounded = scaled.and_then(|scaled| decimal(Ratio::fraction(scaled, DIGITS)));
    rounded.unwrap_or_else(|| value.real().to_string())
}
