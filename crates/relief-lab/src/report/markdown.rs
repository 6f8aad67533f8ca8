//! A page a family, in Markdown: the problem and its bound, the ladder with the idea of each variant, why the winner wins
//! and what loses; and one page of the sources' figures beside those of the records.

use std::fmt::Write as _;

use crate::family::{About, AnyLadder, Family};
use crate::quantity::{bytes, count, seconds};
use crate::record::{Record, Row};

use super::counters::COUNTED;
use super::rungs::{Code, Rung, Rungs};
use super::table::relation;
use super::{reached, variants};

/// The most cases that a table has side by side: more are too wide to read.
const MAX_COLUMNS: usize = 8;

/// What says where a page comes from.
const ORIGIN: &str = "<!-- Written by `relief-lab show RECORD… --markdown FOLDER --sources crates`. \
                      The lesson stands in the source of the family, the figures in the records, the code in the sources. -->";

/// The pages of all families that the records have a timed row of: the name of a file, and its text. The last is
/// `sources.md`, unless no row has a figure of a source.
///
/// Of a ladder that several records of one device have, the one with the most timed rows counts, and of those the last.
/// Where no record has a family, there is no page of it. `rungs` are the lines of code that a page shows of each variant.
#[must_use]
pub fn markdown(records: &[Record], families: &[Family], rungs: &Rungs) -> Vec<(String, String)> {
    let of_family = |family: &Family| Some((format!("{}.md", family.name), page(records, family, rungs)?));
    let sources = sources(records, families).map(|text| ("sources.md".to_owned(), text));
    families.iter().filter_map(of_family).chain(sources).collect()
}

/// A ladder on one device.
struct Part<'a> {
    ladder: &'a dyn AnyLadder,
    record: &'a Record,
    /// Its cases that were timed, each with its rows.
    cases: Vec<(&'a str, Vec<&'a Row>)>,
    /// The variants of the record that the lab has no more, and the page therefore leaves out.
    gone: usize,
}

impl<'a> Part<'a> {
    /// The ladder in the record that has most of it.
    fn of(records: &[&'a Record], ladder: &'a dyn AnyLadder) -> Option<Self> {
        let timed = |record: &Record| {
            let of_ladder = record.rows.iter().filter(|row| row.ladder == ladder.name());
            of_ladder.filter(|row| row.time().is_some()).count()
        };
        let record = records.iter().copied().max_by_key(|record| timed(record))?;
        let known = known(ladder, record);
        let mut gone: Vec<&str> = Vec::new();
        let mut cases: Vec<(&str, Vec<&Row>)> = Vec::new();
        for row in record.rows.iter().filter(|row| row.ladder == ladder.name()) {
            // A lab that was built without devices knows none of their variants: then all stay.
            if !known.is_empty() && !known.iter().any(|about| about.name == row.variant) {
                if !gone.contains(&row.variant.as_str()) {
                    gone.push(&row.variant);
                }
                continue;
            }
            match cases.iter_mut().find(|(name, _)| *name == row.case) {
                Some((_, rows)) => rows.push(row),
                None => cases.push((&row.case, vec![row])),
            }
        }
        cases.retain(|(_, rows)| rows.iter().any(|row| row.time().is_some()));
        (!cases.is_empty()).then_some(Self {
            ladder,
            record,
            cases,
            gone: gone.len(),
        })
    }

    /// The case that shows the ladder best: with the most variants timed, and of those the largest.
    fn example(&self) -> &(&'a str, Vec<&'a Row>) {
        let worth = |(_, rows): &&(&str, Vec<&Row>)| {
            let timed = rows.iter().filter(|row| row.time().is_some()).count();
            (timed, rows.iter().map(|row| row.elements).max())
        };
        // There is a case: `of` makes no part without one.
        self.cases.iter().max_by_key(worth).unwrap_or(&self.cases[0])
    }

    /// The idea of a variant, where the lab knows it.
    fn idea(&self, row: &Row) -> &'static str {
        let known = known(self.ladder, self.record);
        let same = known.iter().find(|about| about.name == row.variant);
        same.map_or("", |about| about.idea)
    }
}

/// The variants of a ladder on such a device as a record's.
fn known<'a>(ladder: &'a dyn AnyLadder, record: &Record) -> Vec<&'a About> {
    let gpu = record.header.device != "cpu";
    let mut variants = ladder.variants();
    variants.retain(|about| about.gpu == gpu);
    variants
}

/// The ladders of a family, device by device in the order of the records.
fn parts<'a>(records: &'a [Record], family: &'a Family) -> Vec<(&'a str, Vec<Part<'a>>)> {
    let mut devices: Vec<(&str, Vec<&Record>)> = Vec::new();
    for record in records {
        let name = record.header.name.as_str();
        match devices.iter_mut().find(|(known, _)| *known == name) {
            Some((_, of)) => of.push(record),
            None => devices.push((name, vec![record])),
        }
    }
    let of_device = |(name, of): (&'a str, Vec<&'a Record>)| {
        let parts = family
            .ladders
            .iter()
            .filter_map(|ladder| Part::of(&of, &**ladder));
        (name, parts.collect())
    };
    let mut parts: Vec<(&str, Vec<Part<'_>>)> = devices.into_iter().map(of_device).collect();
    parts.retain(|(_, parts)| !parts.is_empty());
    parts
}

/// The page of a family; nothing where the records have nothing of it.
fn page(records: &[Record], family: &Family, rungs: &Rungs) -> Option<String> {
    let devices = parts(records, family);
    if devices.is_empty() {
        return None;
    }
    let mut text = format!("{ORIGIN}\n\n# {}\n\n{}.\n\n", family.name, sentence(family.about));
    let Family {
        name, wins, loses, ..
    } = family;
    let _ = writeln!(
        text,
        "**Why the winner wins.** {wins}\n\n**What loses, and why.** {loses}\n"
    );
    text.push_str(&counted(name));
    let _ = writeln!(
        text,
        "See it on your own device, in under a minute: `relief-lab run {name} --quick`. The code is the module `{}` of \
         `crates/relief-lab/src/families`.",
        name.replace('-', "_")
    );
    for (device, parts) in &devices {
        let _ = write!(text, "\n## {}\n", escaped(device));
        for part in parts {
            text.push_str(&ladder(part, family.source));
        }
    }
    text.push_str(&code(&devices, rungs));
    Some(text)
}

/// What counters show of a family's kernels; nothing where none were read.
fn counted(family: &str) -> String {
    let mut text = String::new();
    for of in COUNTED.iter().filter(|counted| counted.family == family) {
        if text.is_empty() {
            text.push_str("**What counters show**, on an NVIDIA H200 (`ncu`):\n\n");
            let titles = ["kernel", "a call", "counted", "what follows", "record"];
            heading(&mut text, &titles.map(str::to_owned));
        }
        let record = format!("[{}](../../bench/record/{})", of.record, of.record);
        let cells = [of.kernel, of.time, of.counters, of.shows].map(escaped);
        line(&mut text, &[&cells[..], &[record]].concat());
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// The lines that make each variant of a page what it is, those of devices first; nothing where none are marked.
fn code(devices: &[(&str, Vec<Part<'_>>)], rungs: &Rungs) -> String {
    let mut text = String::new();
    for (gpu, title) in [(true, "on devices"), (false, "on processors")] {
        // Each once, with the variants it is of.
        let mut shown: Vec<(&Rung, Vec<(&str, &str)>)> = Vec::new();
        let parts = devices.iter().flat_map(|(_, parts)| parts);
        for part in parts.filter(|part| (part.record.header.device != "cpu") == gpu) {
            let rows = part.cases.iter().flat_map(|(_, rows)| rows);
            for row in rows {
                let name = row.variant.as_str();
                let Some(rung) = rungs.find(part.ladder.name(), gpu, name) else {
                    continue;
                };
                match shown.iter_mut().find(|(known, _)| *known == rung) {
                    Some((_, names)) if names.iter().any(|(known, _)| *known == name) => {}
                    Some((_, names)) => names.push((name, part.idea(row))),
                    None => shown.push((rung, vec![(name, part.idea(row))])),
                }
            }
        }
        if shown.is_empty() {
            continue;
        }
        let _ = write!(text, "\n## The lines of each variant, {title}\n");
        for (rung, names) in shown {
            let all: Vec<String> = names.iter().map(|(name, _)| format!("`{name}`")).collect();
            let mut of = all.join(", ");
            if rung.path.contains('/') {
                of = format!("{of} of {}", rung.path);
            }
            let _ = match &rung.code {
                Code::Lines { file, text: lines } => {
                    let idea = escaped(names.first().map_or("", |(_, idea)| idea));
                    write!(
                        text,
                        "\n{of}: {idea} (`crates/{file}`)\n\n```rust\n{lines}\n```\n"
                    )
                }
                Code::None(why) => writeln!(text, "\n{of}: no lines of its own: {}.", escaped(why)),
            };
        }
    }
    text
}

/// A ladder: its definition, its bound, the table of one case, and the medians of the others.
fn ladder(part: &Part<'_>, machine: &str) -> String {
    let header = &part.record.header;
    let (case, rows) = part.example();
    let about = escaped(part.ladder.about().trim_end_matches('.'));
    let mut text = format!("\n### {}\n\n{about}.\n", part.ladder.name());
    let _ = write!(text, "\n**Bound.** {}: {}", escaped(case), work(rows[0]));
    if let Some(bound) = &rows[0].bound {
        let time = seconds(bound.seconds);
        let _ = write!(text, "; the ceiling of {} allows {time}", bound.ceiling);
    }
    let day = header.date.split('T').next().unwrap_or_default();
    let quick = if header.quick { ", quick" } else { "" };
    let by = match header.device.as_str() {
        "cpu" => format!(", {} threads", header.threads),
        _ => format!(", {}", header.driver),
    };
    let _ = write!(text, ". Measured {day}{quick}{by}");
    let figures = rows.iter().any(|row| row.source.is_some());
    if figures {
        let _ = write!(text, "; the source: {machine}");
    }
    text.push_str(".\n\n");
    let titles = [
        "variant",
        "idea",
        "median",
        "of the bound",
        "× first",
        "× previous",
        "source",
    ];
    let shown = titles.len() - usize::from(!figures);
    heading(&mut text, &titles.map(str::to_owned)[..shown]);
    let first = rows.iter().find_map(|row| row.time());
    let mut previous = None;
    for row in rows {
        let mut cells = vec![name(row), escaped(part.idea(row)), median(row)];
        cells.push(reached(row).unwrap_or_default());
        cells.extend([relation(row, first), relation(row, previous)]);
        if figures {
            cells.push(escaped(row.source.as_deref().unwrap_or_default()));
        }
        line(&mut text, &cells);
        previous = row.time().or(previous);
    }
    if part.gone > 0 {
        let (gone, variants) = (part.gone, if part.gone == 1 { "variant" } else { "variants" });
        let _ = writeln!(
            text,
            "\nThe record has {gone} {variants} more, which the lab has no longer."
        );
    }
    if part.cases.len() > 1 {
        text.push_str(&medians(part));
    }
    text
}

/// The medians of a ladder over its cases, evenly chosen where they are many.
fn medians(part: &Part<'_>) -> String {
    let shown = part.cases.len().min(MAX_COLUMNS);
    let chosen = (0..shown).map(|at| &part.cases[at * (part.cases.len() - 1) / (shown - 1).max(1)]);
    let chosen: Vec<&(&str, Vec<&Row>)> = chosen.collect();
    let mut text = String::from("\nMedians by case:\n\n");
    let mut titles = vec!["variant".to_owned()];
    titles.extend(chosen.iter().map(|(case, _)| escaped(case)));
    heading(&mut text, &titles);
    for variant in variants(chosen.iter().flat_map(|(_, rows)| rows.iter().copied())) {
        let mut cells = vec![name(variant)];
        for (_, rows) in &chosen {
            let row = rows.iter().find(|row| row.variant == variant.variant);
            cells.push(row.map_or(String::new(), |row| median(row)));
        }
        line(&mut text, &cells);
    }
    text
}

/// The figures of the sources beside those of the records; nothing where there are none.
fn sources(records: &[Record], families: &[Family]) -> Option<String> {
    let mut text = format!(
        "{ORIGIN}\n\n# What the sources measured, beside today\n\nEach row is a figure of one of the documents that the ladders \
         come from, on the machine of its day, beside the same idea on a machine of the records: at the size of the source \
         where a record has it. Where sizes differ, compare the order of the variants, not single times.\n"
    );
    let before = text.len();
    for family in families {
        let mut table = String::new();
        for (device, parts) in parts(records, family) {
            for part in parts {
                let size = match family.source_size {
                    "" => "not told",
                    size => size,
                };
                let same = part.cases.iter().find(|(case, _)| case.starts_with(size));
                let (case, rows) = same.unwrap_or(part.example());
                for row in rows.iter().filter(|row| row.time().is_some()) {
                    let Some(figure) = &row.source else { continue };
                    let cells = [
                        escaped(&row.ladder),
                        name(row),
                        escaped(figure),
                        escaped(size),
                        median(row),
                        escaped(case),
                        escaped(device),
                    ];
                    line(&mut table, &cells);
                }
            }
        }
        if !table.is_empty() {
            let _ = write!(text, "\n## {}\n\nThe source: {}.\n\n", family.name, family.source);
            let titles = [
                "problem",
                "variant",
                "the source",
                "its size",
                "today",
                "size today",
                "on",
            ];
            heading(&mut text, &titles.map(str::to_owned));
            text.push_str(&table);
        }
    }
    (text.len() > before).then_some(text)
}

/// The least work of a row's problem.
fn work(row: &Row) -> String {
    let mut parts = Vec::new();
    if row.read > 0 {
        parts.push(format!("{} read", bytes(row.read)));
    }
    if row.written > 0 {
        parts.push(format!("{} written", bytes(row.written)));
    }
    if let Some((operation, times)) = &row.operations {
        parts.push(format!("{} × {}", count(*times), operation.name()));
    }
    if parts.is_empty() {
        return "nothing that has to be moved or computed".to_owned();
    }
    format!("at least {}", parts.join(", "))
}

/// A variant; production in bold.
fn name(row: &Row) -> String {
    let name = format!("`{}`", row.variant.replace(['`', '|', '\n'], " "));
    if row.production {
        format!("**{name}**")
    } else {
        name
    }
}

/// The median, or in a word why there is none.
fn median(row: &Row) -> String {
    match (row.time(), row.verdict.reason()) {
        (Some(time), _) => seconds(time),
        (None, Some(_)) => row.verdict.word().to_lowercase(),
        (None, None) => "–".to_owned(),
    }
}

/// A text that begins a sentence.
fn sentence(text: &str) -> String {
    let mut letters = text.trim_end_matches('.').chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    escaped(&(first.unwrap_or_default() + letters.as_str()))
}

/// Text that means nothing else in a cell of a table.
fn escaped(text: &str) -> String {
    let text = text.replace('\n', " ").replace('|', "\\|");
    text.replace('*', "\\*").replace('<', "&lt;")
}

fn heading(text: &mut String, titles: &[String]) {
    line(text, titles);
    line(text, &vec!["---".to_owned(); titles.len()]);
}

fn line(text: &mut String, cells: &[String]) {
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}
