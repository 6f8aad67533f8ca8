//! Expressions and the tables that are made of them, each once however often it is written.

use std::sync::Arc;

use super::Checker;
use crate::expression::{BadExpression, Function};
use crate::report::Problem;
use crate::signature::{CURVE_POINT, MAX_POINTS, Signature};
use crate::syntax::{Element, Span};
use crate::table::{self, Fault, Points};

/// The most operations that all tables of a design may take: 2^31, half a second of one processor: an addition counts
/// for 3, and all else for what it takes beside one.
///
/// A profile of the greatest radius has 2^24 + 1 values. A value counts for at least 16 operations, which
/// bounds the memory of all tables to 256 MiB.
pub const MAX_TABLE_WORK: u64 = 1 << 31;

/// The operations that a value of a table counts for at least.
const LEAST_WORK: u64 = 16;

/// All that a table depends on, but for the depth, which is one for a design.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TableKey {
    /// What makes the table.
    maker: &'static str,
    /// The text of the expression.
    text: String,
    /// Numbers, or the bits of numbers.
    numbers: Vec<u64>,
}

impl TableKey {
    /// A table that depends on a text and on numbers.
    pub(crate) fn of_text(maker: &'static str, text: &str, numbers: Vec<u64>) -> Self {
        Self {
            maker,
            text: text.to_owned(),
            numbers,
        }
    }

    /// A table that depends on numbers alone.
    pub(crate) fn of_numbers(maker: &'static str, numbers: Vec<u64>) -> Self {
        Self::of_text(maker, "", numbers)
    }
}

impl Checker<'_> {
    /// The function that a text is; what is wrong with it is noted.
    pub(crate) fn function(
        &mut self,
        text: &str,
        span: Span,
        variable: &'static str,
    ) -> Option<Arc<Function>> {
        if !self.wants_more() {
            return None;
        }
        // The same text may stand thousands of times.
        let known = self.functions.entry(variable).or_default();
        let read = match known.get(text) {
            Some(read) => read,
            None => known
                .entry(text.to_owned())
                .or_insert_with(|| Function::parse(text, variable).map(Arc::new)),
        };
        match read.clone() {
            Ok(function) => Some(function),
            Err(bad) => {
                self.bad_expression(bad, text, span);
                None
            }
        }
    }

    /// Notes what is wrong with an expression that stands at `span`.
    pub(crate) fn bad_expression(&mut self, bad: BadExpression, text: &str, span: Span) {
        // The text begins after the quote, and stands in the file as it is unless it has escapes.
        let raw = text.len() + 2 == span.end - span.start && text.is_ascii();
        let place = if raw {
            Span::new(
                span.start + 1 + bad.at,
                span.start + 1 + (bad.at + 1).min(text.len()).max(bad.at),
            )
        } else {
            span
        };
        let problem = Problem::new(bad.code, bad.message).label(place, "here");
        self.note(problem.help(bad.help));
    }

    /// The table of this key: a known one, or one that is made now if the work of all tables stays in bounds. `make` gets
    /// the operations that it may take beyond `operations` for each entry, and gives those that it took. An error holds
    /// where the function has no value, or nothing where the table cannot be made; that is then noted.
    pub(crate) fn table(
        &mut self,
        key: TableKey,
        operations: u64,
        entries: usize,
        span: Span,
        make: impl FnOnce(u64) -> Result<(Arc<[u16]>, u64), Fault>,
    ) -> Result<Arc<[u16]>, Option<u64>> {
        if let Some(known) = self.tables.get(&key) {
            return known.clone().map_err(Some);
        }
        self.work = self.work.saturating_add(
            operations
                .max(LEAST_WORK)
                .saturating_mul(table::evaluated(entries)),
        );
        let made = match MAX_TABLE_WORK.checked_sub(self.work) {
            Some(allowed) => make(allowed),
            None => Err(Fault::Work),
        };
        match made {
            Ok((table, work)) => {
                self.work += work;
                self.tables.insert(key, Ok(Arc::clone(&table)));
                Ok(table)
            }
            Err(Fault::NotANumber(at)) => {
                self.tables.insert(key, Err(at));
                Err(Some(at))
            }
            Err(Fault::Work) => {
                // What follows is not tried.
                self.work = MAX_TABLE_WORK + 1;
                let message =
                    "the profiles and curves of this design take more than 2^31 operations to tabulate";
                let help = "use smaller radii, shorter expressions, or the same profile in more places; sines of numbers \
                            above 2^20 and numbers below 1e-307 take the longest";
                self.note(
                    Problem::new("E105", message)
                        .label(span, "with this one")
                        .help(help),
                );
                Err(None)
            }
            Err(Fault::Memory(bytes)) => {
                let message = format!("the system has no memory for a table of {bytes} bytes");
                let problem = Problem::new("E105", message).label(span, "for this one");
                self.note(problem.help("use a smaller radius, or give the program more memory"));
                Err(None)
            }
        }
    }

    /// The points between the braces of a profile or a curve.
    pub(crate) fn points(&mut self, element: &Element<'_>) -> Option<Points> {
        let signature = if element.name.text == "curve" {
            &CURVE_POINT
        } else {
            Signature::of("point")?
        };
        let points: Vec<&Element<'_>> = element
            .children
            .iter()
            .filter(|child| child.name.text == "point")
            .collect();
        if points.len() > MAX_POINTS {
            let message = format!("{} points are more than the {MAX_POINTS} allowed", points.len());
            let problem = Problem::new("E105", message).label(element.name.span, "here");
            self.note(problem.help("leave points out that lie on a line between their neighbours"));
            return None;
        }
        let mut read: Vec<(f64, f64)> = Vec::with_capacity(points.len());
        let mut last: Option<(f64, Span)> = None;
        let mut broken = false;
        for point in points {
            if !self.wants_more() {
                return None;
            }
            let values = self.values(point, signature);
            let inner = self.inner(point, signature);
            broken |= values.broken || inner.broken;
            let (Some((at, span)), Some((z, _))) = (values.real("at"), values.real("z")) else {
                continue;
            };
            if let Some((before, earlier)) = last.filter(|&(before, _)| at <= before) {
                broken = true;
                let message = format!("the point at {at} stands after the one at {before}: points ascend");
                let problem = Problem::new("E703", message)
                    .label(span, "not greater")
                    .label(earlier, "than this");
                self.note(problem.help("put the points in ascending order, each place once"));
            }
            last = Some((at, span));
            read.push((at, z));
        }
        (!broken && !read.is_empty()).then_some(Points(read))
    }
}

/// The problem of an expression that has no value somewhere; the message says where.
pub(crate) fn not_a_number(message: String, span: Span) -> Problem {
    Problem::new("E702", message)
        .label(span, "0/0, √ or a logarithm of a negative number, …")
        .help("change the expression so that it has a value everywhere; max(…, 0) under a root, for instance")
}
