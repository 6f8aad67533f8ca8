//! What a record looks like: a table for terminals, CSV for spreadsheets, a page for browsers, and a page a family in Markdown. Other programs stand below our
//! variants, marked as such.

mod counters;
mod csv;
mod markdown;
mod page;
mod plot;
mod rungs;
mod summary;
mod svg;
mod table;
mod timeline;

pub use counters::{COUNTED, Counted};
pub use csv::csv;
pub use markdown::markdown;
pub use page::page;
pub use rungs::{Code, MAX_LINES, Rung, RungError, Rungs};
pub use summary::summary;
pub use table::{ceilings, conditions, header, table};

use crate::quantity::digits;
use crate::record::{Bound, Record, Rival, Row, Verdict, family};
use crate::standing::{Standing, standing};

/// The rows of one ladder, case by case.
struct Section<'a> {
    ladder: &'a str,
    axis: Option<&'a str>,
    /// The machine of the source's figures, where this is the first ladder of its family that has some.
    source: Option<&'a str>,
    cases: Vec<Case<'a>>,
}

impl Section<'_> {
    /// What is swept, where there is more than one case of it.
    fn sweeps(&self) -> Option<&str> {
        self.axis.filter(|_| self.cases.len() > 1)
    }
}

/// The first row of each variant, in their order.
fn variants<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<&'a Row> {
    let mut first: Vec<&Row> = Vec::new();
    for row in rows {
        if !first.iter().any(|known| known.variant == row.variant) {
            first.push(row);
        }
    }
    first
}

/// What part of what the binding ceiling allows was reached, where it is known.
fn reached(row: &Row) -> Option<String> {
    let part = row.reached()?;
    Some(format!("{} %", digits(part * 100.0, 3)))
}

/// One case: our variants in their order, other programs, and where production stands.
struct Case<'a> {
    name: &'a str,
    rows: Vec<&'a Row>,
    rivals: Vec<Other<'a>>,
    standing: Option<Standing>,
}

/// Another program on a case.
struct Other<'a> {
    rival: &'a Rival,
    /// Its time as if it were a variant of ours, for rates and ceilings.
    row: Row,
    /// How many times as fast production is.
    ratio: Option<f64>,
}

impl Other<'_> {
    /// The program and the day it ran.
    fn origin(&self) -> String {
        let day = self.rival.date.split('T').next().unwrap_or_default();
        format!("{}, {day}", self.rival.program)
    }
}

/// What marks another program's row.
const MARK: &str = "†";

fn sections(record: &Record) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for row in &record.rows {
        if sections.last().is_none_or(|section| section.ladder != row.ladder) {
            sections.push(Section {
                ladder: &row.ladder,
                axis: row.axis.as_deref(),
                source: None,
                cases: Vec::new(),
            });
        }
        let Some(section) = sections.last_mut() else {
            continue;
        };
        match section.cases.last_mut() {
            Some(case) if case.name == row.case => case.rows.push(row),
            _ => section.cases.push(Case {
                name: &row.case,
                rows: vec![row],
                rivals: others(record, row),
                standing: standing(record, &row.ladder, &row.case),
            }),
        }
    }
    let mut told: Vec<&str> = Vec::new();
    for section in &mut sections {
        let family = family(section.ladder);
        let mut rows = section.cases.iter().flat_map(|case| &case.rows);
        if rows.any(|row| row.source.is_some()) && !told.contains(&family) {
            told.push(family);
            section.source = record.header.source(section.ladder);
        }
    }
    sections
}

/// The programs that ran the case of a row.
fn others<'a>(record: &'a Record, row: &Row) -> Vec<Other<'a>> {
    let standing = standing(record, &row.ladder, &row.case);
    let rivals = record.rivals.iter();
    let of_case = rivals.filter(|rival| rival.ladder == row.ladder && rival.case == row.case);
    let other = |rival: &'a Rival| {
        let mut against = standing.iter().flat_map(|standing| &standing.rivals);
        let against = against.find(|against| against.name == rival.name);
        Other {
            rival,
            row: Row {
                variant: format!("{} {MARK}", rival.name),
                production: false,
                source: None,
                tuning: None,
                samples: Vec::new(),
                summary: rival.summary,
                verdict: rival.reason.clone().map_or(Verdict::Right, Verdict::Failed),
                ..row.clone()
            },
            ratio: against.map(|against| against.ratio),
        }
    };
    of_case.map(other).collect()
}

/// What is read off a row: a rate, and its unit, that of what binds it.
fn rate(row: &Row) -> Option<(f64, &'static str)> {
    let operations = row.operations.map(|(operation, _)| operation.name());
    let by_operations = |bound: &Bound| Some(bound.ceiling.as_str()) == operations;
    if row.moved() == 0 || row.bound.as_ref().is_some_and(by_operations) {
        return Some((row.rate()?, "op"));
    }
    Some((row.bandwidth()?, "B"))
}
