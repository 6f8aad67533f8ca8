//! A record as CSV (RFC 4180): a line for each row, times in seconds.

use crate::record::Record;

/// The rows of some records, under a line of names; the device and the date in every line, so that files can be joined.
#[must_use]
pub fn csv(records: &[Record]) -> String {
    let names = "date,revision,device,name,ladder,case,place,variant,production,tuning,verdict,reason,elements,read,\
                 written,operation,operations,median,p10,p90,samples,batch,working_set,bound,bound_seconds,reached,source";
    let mut text = format!("{names}\r\n");
    for (header, row) in records
        .iter()
        .flat_map(|record| record.rows.iter().map(|row| (&record.header, row)))
    {
        let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:e}"));
        let summary = row.summary;
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
            row.operations
                .map_or(String::new(), |(which, _)| which.name().to_owned()),
            row.operations
                .map_or(String::new(), |(_, count)| count.to_string()),
            number(summary.map(|summary| summary.median)),
            number(summary.map(|summary| summary.p10)),
            number(summary.map(|summary| summary.p90)),
            row.samples.len().to_string(),
            row.batch.to_string(),
            row.working_set.to_string(),
            row.bound
                .as_ref()
                .map_or(String::new(), |bound| bound.ceiling.clone()),
            number(row.bound.as_ref().map(|bound| bound.seconds)),
            number(row.reached()),
            row.source.clone().unwrap_or_default(),
        ];
        text.push_str(&cells.map(|cell| quoted(&cell)).join(","));
        text.push_str("\r\n");
    }
    text
}

fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}
