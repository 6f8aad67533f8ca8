//! What a record looks like: a table for terminals, CSV for spreadsheets, a page for browsers.

mod csv;
mod page;
mod plot;
mod svg;
mod table;

pub use csv::csv;
pub use page::page;
pub use table::{ceilings, header, table};

use crate::record::{Record, Row};

/// The rows of one ladder, case by case, each in the order of its variants.
struct Section<'a> {
    ladder: &'a str,
    axis: Option<&'a str>,
    cases: Vec<(&'a str, Vec<&'a Row>)>,
}

fn sections(record: &Record) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for row in &record.rows {
        if sections.last().is_none_or(|section| section.ladder != row.ladder) {
            sections.push(Section {
                ladder: &row.ladder,
                axis: row.axis.as_deref(),
                cases: Vec::new(),
            });
        }
        let Some(section) = sections.last_mut() else {
            continue;
        };
        match section.cases.last_mut() {
            Some((case, rows)) if *case == row.case => rows.push(row),
            _ => section.cases.push((&row.case, vec![row])),
        }
    }
    sections
}

/// What is read off a row: a rate in the unit of what binds it.
#[derive(Clone, Copy)]
struct Rate {
    value: f64,
    unit: &'static str,
}

fn rate(row: &Row) -> Option<Rate> {
    let operations = row.operations.map(|(operation, _)| operation.name());
    let by_operations = row
        .bound
        .as_ref()
        .is_some_and(|bound| Some(bound.ceiling.as_str()) == operations);
    if by_operations || row.read + row.written == 0 {
        let value = row.rate()?;
        return Some(Rate { value, unit: "op" });
    }
    let value = row.bandwidth()?;
    Some(Rate { value, unit: "B" })
}
