//! A record as text in columns.

use crate::quantity::{bytes, digits, rate as show_rate, seconds};
use crate::record::{Conditions, Point, Record, Row, Verdict};

use super::{Case, Section, rate, reached, sections, summary, variants};

/// Where and when, in a few lines.
#[must_use]
pub fn header(record: &Record) -> String {
    let header = &record.header;
    let cache = header.cache.map(|size| format!(", caches up to {}", bytes(size)));
    let cache = cache.unwrap_or_default();
    let quick = if header.quick { ", quick" } else { "" };
    format!(
        "{} {} ({}), {} threads{cache}\n{}\nrelief {}, revision {}, {}{quick}\n",
        header.device,
        header.name,
        header.driver,
        header.threads,
        header.host,
        header.version,
        header.revision,
        header.date,
    )
}

/// Clock, temperature and load before and after, where they are told.
#[must_use]
pub fn conditions(record: &Record) -> String {
    let (before, after) = (&record.header.before, &record.header.after);
    let shares = before.shares.zip(after.shares);
    let stolen = shares.and_then(|(before, after)| after.stolen_since(before));
    let stolen = stolen
        .filter(|part| *part >= 0.005)
        .map_or(String::new(), |part| {
            format!(
                "; the host ran others in {:.0} % of the time wanted",
                100.0 * part
            )
        });
    format!(
        "before: {}; after: {}{stolen}\n",
        condition(before),
        condition(after)
    )
}

fn condition(conditions: &Conditions) -> String {
    let show = |value: Option<f64>, unit: &str, what: &str| {
        let shown = value.map(|value| digits(value, 3) + unit);
        shown.unwrap_or_else(|| format!("{what} unknown"))
    };
    let clock = show(conditions.clock, " MHz", "clock");
    let temperature = show(conditions.temperature, " °C", "temperature");
    let load = conditions
        .load
        .map_or(String::new(), |load| format!(", load {load}"));
    format!("{clock}, {temperature}{load}")
}

/// What the hardware allows.
#[must_use]
pub fn ceilings(record: &Record) -> String {
    let ceilings = &record.ceilings;
    let titles = ["bytes moved", "copy", "read", "write"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    for point in &ceilings.copy {
        let at = |points: &[Point]| {
            let same = points.iter().find(|other| other.bytes == point.bytes);
            same.map_or(String::new(), |point| show_rate(point.rate, "B"))
        };
        let rates = [&ceilings.copy, &ceilings.read, &ceilings.write].map(|points| at(points));
        rows.push([&[bytes(point.bytes)], &rates[..]].concat());
    }
    let mut text = String::from("Ceilings\n");
    text.push_str(&columns(&rows, &[0]));
    let rates = ceilings.rates.iter();
    let rates = rates.map(|(operation, rate)| vec![operation.name().to_owned(), show_rate(*rate, "op")]);
    let mut rows: Vec<Vec<String>> = rates.collect();
    for (name, time) in [
        ("launch, one after another", ceilings.launch),
        ("launch, of a full queue", ceilings.launch_queued),
        ("launch and wait", ceilings.launch_waited),
    ] {
        rows.extend(time.map(|time| vec![name.to_owned(), seconds(time)]));
    }
    let transfers = ceilings.transfers.iter();
    let known = transfers
        .clone()
        .filter_map(|transfer| Some((&transfer.name, transfer.rate?)));
    rows.extend(known.map(|(name, rate)| vec![name.clone(), show_rate(rate, "B")]));
    text.push_str(&columns(&rows, &[0]));
    for transfer in transfers.filter(|transfer| transfer.rate.is_none()) {
        let reason = transfer.reason.as_deref().unwrap_or("it could not be measured");
        text.push_str(&format!("  {}: unknown: {reason}\n", transfer.name));
    }
    text
}

/// All ladders of a record.
#[must_use]
pub fn table(record: &Record) -> String {
    let mut text = String::new();
    for section in sections(record) {
        text.push('\n');
        if let Some(source) = section.source {
            text.push_str(&format!("source: {source}\n"));
        }
        let swept = section.sweeps();
        if let Some(axis) = swept {
            text.push_str(&sweep(&section, axis));
        }
        for case in &section.cases {
            let title = match swept {
                // The ladder is named above all of them.
                Some(_) => format!("\n{}", case.name),
                None => format!("{}, {}", section.ladder, case.name),
            };
            text.push_str(&ladder(title, case, record.header.cache));
            if let (None, Some(standing)) = (swept, &case.standing) {
                text.push_str(&format!("  {}\n", summary::sentence(standing)));
            }
        }
    }
    text
}

/// One case, a row for each variant and other program.
fn ladder(title: String, case: &Case<'_>, cache: Option<u64>) -> String {
    let rows = &case.rows;
    let mut text = title;
    if let Some(bound) = rows.first().and_then(|row| row.bound.as_ref()) {
        text.push_str(&format!("; {} allows {}", bound.ceiling, seconds(bound.seconds)));
    }
    let set = rows.iter().map(|row| row.working_set).max().unwrap_or(0);
    if set > 0 && cache.is_some_and(|cache| set < cache.saturating_mul(2)) {
        text.push_str(&format!("; {} in turn: a cache may answer", bytes(set)));
    }
    text.push('\n');
    let titles = [
        "variant",
        "",
        "median",
        "p10–p90",
        "rate",
        "ceiling",
        "× first",
        "× previous",
        if case.rivals.is_empty() { "" } else { "× rival" },
        "source",
    ];
    let mut table = vec![titles.map(str::to_owned).to_vec()];
    let first = rows.iter().find_map(|row| Some(row.summary?.median));
    let mut previous = None;
    for row in rows {
        let name = marked(&row.variant, row.production);
        let relations = [relation(row, first), relation(row, previous), String::new()];
        table.push(cells(
            row,
            name,
            relations,
            row.source.clone().unwrap_or_default(),
        ));
        previous = row.summary.map(|summary| summary.median).or(previous);
    }
    for other in &case.rivals {
        let ratio = other.ratio.map_or(String::new(), |ratio| digits(ratio, 3));
        let name = other.row.variant.clone();
        let relations = [relation(&other.row, first), String::new(), ratio];
        table.push(cells(&other.row, name, relations, other.origin()));
    }
    if case.rivals.is_empty() {
        table.iter_mut().for_each(|line| drop(line.remove(8)));
    }
    text.push_str(&columns(&table, &[0, table[0].len() - 1]));
    text
}

/// A variant's name, and whether production uses it.
fn marked(variant: &str, production: bool) -> String {
    format!("{variant}{}", if production { " *" } else { "" })
}

/// How many times as fast as another time a row is.
pub(super) fn relation(row: &Row, other: Option<f64>) -> String {
    let ratio = other.and_then(|other| Some(other / row.summary?.median));
    ratio.map_or(String::new(), |ratio| digits(ratio, 3))
}

/// A row as cells; where it was not timed, why.
fn cells(row: &Row, name: String, [first, previous, rival]: [String; 3], source: String) -> Vec<String> {
    let word = row.verdict.word().to_owned();
    let Some(summary) = row.summary else {
        let reason = row.verdict.reason().map(|reason| reason.replace('\n', " "));
        let mut cells = vec![String::new(); 10];
        (cells[0], cells[1], cells[9]) = (name, word, reason.unwrap_or(source));
        return cells;
    };
    vec![
        name,
        word,
        seconds(summary.median),
        format!("{}–{}", seconds(summary.p10), seconds(summary.p90)),
        rate(row).map_or(String::new(), |(rate, unit)| show_rate(rate, unit)),
        reached(row).unwrap_or_default(),
        first,
        previous,
        rival,
        source,
    ]
}

/// A ladder whose cases differ in one number, at a glance: a row for each, a column for each variant.
fn sweep(section: &Section<'_>, axis: &str) -> String {
    let variants = variants(section.cases.iter().flat_map(|case| case.rows.iter().copied()));
    let names = variants.iter().map(|row| marked(&row.variant, row.production));
    let mut table: Vec<Vec<String>> = vec![std::iter::once(axis.to_owned()).chain(names).collect()];
    for case in &section.cases {
        let mut line: Vec<String> = vec![case.name.to_owned()];
        for first in &variants {
            let row = case.rows.iter().find(|row| row.variant == first.variant);
            line.push(row.map_or(String::new(), |row| at_a_glance(row)));
        }
        table.push(line);
    }
    let mut text = format!("{} over {axis}\n{}", section.ladder, columns(&table, &[0]));
    for case in &section.cases {
        for other in &case.rivals {
            let (name, origin) = (&other.row.variant, other.origin());
            let time = other.rival.summary.map(|summary| seconds(summary.median));
            let what = time.or(other.rival.reason.clone()).unwrap_or_default();
            let ratio = other.ratio.map(|ratio| format!(", × rival {}", digits(ratio, 3)));
            let ratio = ratio.unwrap_or_default();
            text.push_str(&format!("  {}: {name} {what}{ratio} ({origin})\n", case.name));
        }
    }
    if let Some(sentence) = summary::worst(section) {
        text.push_str(&format!("  {sentence}\n"));
    }
    text
}

/// How long and how fast; what became of it where it is not right, whatever else is known.
fn at_a_glance(row: &Row) -> String {
    let rate = rate(row).map(|(rate, unit)| show_rate(rate, unit));
    match (&row.verdict, row.summary) {
        (Verdict::Right, Some(summary)) => {
            let cell = format!("{} {}", seconds(summary.median), rate.unwrap_or_default());
            cell.trim_end().to_owned()
        }
        _ => row.verdict.word().to_owned(),
    }
}

/// Columns two blanks apart, aligned right but for those named.
pub(super) fn columns(rows: &[Vec<String>], left: &[usize]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let pad = widths[column];
            match left.contains(&column) {
                true => line.push_str(&format!("  {cell:<pad$}")),
                false => line.push_str(&format!("  {cell:>pad$}")),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
