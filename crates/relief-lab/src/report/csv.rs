//! A record as CSV (RFC 4180): a line for each row, times in seconds.

use super::sections;
use crate::family::Operation;
use crate::record::{Header, Record, Row};

/// The rows of some records, under a line of names; the device and the date in every line, so that files can be joined;
/// other programs have no device, and the name of what they ran on.
#[must_use]
pub fn csv(records: &[Record]) -> String {
    let names = "date,revision,device,name,ladder,case,place,variant,production,tuning,verdict,reason,elements,read,\
                 written,operation,operations,median,p10,p90,samples,batch,working_set,bound,bound_seconds,reached,\
                 source,program,times_production,source_machine";
    let mut text = format!("{names}\r\n");
    for record in records {
        for row in &record.rows {
            line(&mut text, &record.header, row, "relief", None);
        }
        for case in sections(record).into_iter().flat_map(|section| section.cases) {
            for other in &case.rivals {
                let header = Header {
                    date: other.rival.date.clone(),
                    name: other.rival.device.clone(),
                    ..Header::default()
                };
                let row = Row {
                    variant: other.rival.name.clone(),
                    ..other.row.clone()
                };
                line(&mut text, &header, &row, &other.rival.program, other.ratio);
            }
        }
    }
    text
}

/// One row; `program` is whose, `ratio` how many times as fast our production is.
fn line(text: &mut String, header: &Header, row: &Row, program: &str, ratio: Option<f64>) {
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:e}"));
    let (summary, bound) = (row.summary, row.bound.as_ref());
    let (operation, operations) = row.operations.unzip();
    // Of the figure before it: nothing where there is none.
    let machine = row.source.as_ref().and_then(|_| header.source(&row.ladder));
    let cells = [
        header.date.clone(),
        header.revision.clone(),
        header.device.clone(),
        header.name.clone(),
        row.ladder.clone(),
        row.case.clone(),
        row.place.map_or(String::new(), |place| place.to_string()),
        row.variant.clone(),
        row.production.to_string(),
        row.tuning.clone().unwrap_or_default(),
        row.verdict.word().to_lowercase(),
        row.verdict.reason().unwrap_or_default().to_owned(),
        row.elements.to_string(),
        row.read.to_string(),
        row.written.to_string(),
        operation.map_or("", Operation::name).to_owned(),
        operations.map_or(String::new(), |count| count.to_string()),
        number(summary.map(|summary| summary.median)),
        number(summary.map(|summary| summary.p10)),
        number(summary.map(|summary| summary.p90)),
        row.samples.len().to_string(),
        row.batch.to_string(),
        row.working_set.to_string(),
        bound.map_or(String::new(), |bound| bound.ceiling.clone()),
        number(bound.map(|bound| bound.seconds)),
        number(row.reached()),
        row.source.clone().unwrap_or_default(),
        program.to_owned(),
        number(ratio),
        machine.unwrap_or_default().to_owned(),
    ];
    text.push_str(&cells.map(|cell| quoted(&cell)).join(","));
    text.push_str("\r\n");
}

fn quoted(cell: &str) -> String {
    match cell.contains(['"', ',', '\r', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}
