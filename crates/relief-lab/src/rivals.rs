//! Other programs on the same problems: their records, written by the drivers in `bench/rivals`, and how they join a run.
//!
//! A record is lines of JSON, one object each: `{"tool": …}` says which program, which version, on what and when; the
//! `{"rival": …}` and `{"failed": …}` that follow are its cases, named by the lab's own ladders and labels. Several records
//! may follow one another in a file. Only what ran on the same device as a run joins it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::Error;
use crate::record::{Record, Rival};
use crate::statistics::Summary;

/// What one program measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Which program, on what, when.
    pub tool: Tool,
    /// Its cases.
    pub rivals: Vec<Rival>,
}

/// A program, and where and when it ran.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// What it is called.
    pub tool: String,
    /// Its version.
    pub version: String,
    /// The device or the processor, as the header of a run names it.
    pub device: String,
    /// The driver of the device.
    pub driver: String,
    /// When, in UTC.
    pub date: String,
    /// What was called.
    pub command: String,
}

/// Seconds of a call, and what the result was compared with before.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Timed {
    ladder: String,
    case: String,
    name: String,
    median: f64,
    p10: f64,
    p90: f64,
    samples: u64,
    right: String,
}

/// Why there are none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Failed {
    ladder: String,
    case: String,
    name: String,
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Tool(Tool),
    Rival(Timed),
    Failed(Failed),
}

/// Reads the records of a file; `file` is what errors call it.
///
/// # Errors
/// Where a line is not of a record, with its number, what was expected and what was found.
pub fn read(file: &str, text: &str) -> Result<Vec<Measured>, Error> {
    let mut all: Vec<Measured> = Vec::new();
    let lines = text.lines().enumerate();
    for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let refuse = |expected: &str, found: String| Error::Rivals {
            file: file.to_owned(),
            line: number + 1,
            expected: expected.to_owned(),
            found,
        };
        let parsed = serde_json::from_str(line).map_err(|error| {
            let expected = "a line of a record of rivals: {\"tool\": …}, {\"rival\": …} or {\"failed\": …}";
            refuse(expected, format!("{}: {error}", shortened(line)))
        })?;
        let rival = match parsed {
            Line::Tool(tool) => {
                all.push(Measured {
                    tool,
                    rivals: Vec::new(),
                });
                continue;
            }
            Line::Rival(timed) => of_timed(timed).map_err(|found| {
                let expected = "seconds above 0 with p10 ≤ median ≤ p90, of at least one sample";
                refuse(expected, found)
            })?,
            Line::Failed(failed) => of_failed(failed),
        };
        let Some(measured) = all.last_mut() else {
            return Err(refuse("{\"tool\": …} before its rivals", shortened(line)));
        };
        measured.rivals.push(Rival {
            program: format!("{} {}", measured.tool.tool, measured.tool.version),
            device: measured.tool.device.clone(),
            date: measured.tool.date.clone(),
            ..rival
        });
    }
    if all.is_empty() {
        return Err(Error::Rivals {
            file: file.to_owned(),
            line: 1,
            expected: "{\"tool\": …}".to_owned(),
            found: "an empty file".to_owned(),
        });
    }
    Ok(all)
}

/// The start of a line, as much as one wants to read.
fn shortened(line: &str) -> String {
    const MOST: usize = 60;
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

fn of_timed(timed: Timed) -> Result<Rival, String> {
    let Timed { median, p10, p90, .. } = timed;
    let ordered = 0.0 < p10 && p10 <= median && median <= p90 && p90.is_finite() && timed.samples > 0;
    if !ordered {
        let Timed { samples, name, .. } = timed;
        return Err(format!(
            "p10 {p10}, median {median}, p90 {p90} of {samples} samples of {name}"
        ));
    }
    Ok(Rival {
        ladder: timed.ladder,
        case: timed.case,
        name: timed.name,
        right: Some(timed.right),
        summary: Some(Summary { median, p10, p90 }),
        ..Rival::default()
    })
}

fn of_failed(failed: Failed) -> Rival {
    Rival {
        ladder: failed.ladder,
        case: failed.case,
        name: failed.name,
        reason: Some(failed.reason),
        ..Rival::default()
    }
}

/// Adds what ran on the device of a run, on cases that the run has; of what ran twice, the later. What is left out
/// is noted.
pub fn join(record: &mut Record, all: &[Measured]) {
    let own = record.header.name.clone();
    let mut abroad: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut absent: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for Measured { tool, rivals } in all {
        let program = format!("{} {}", tool.tool, tool.version);
        if tool.device != own {
            abroad.entry(&tool.device).or_default().insert(program);
            continue;
        }
        for rival in rivals {
            let of_ladder = || record.rows.iter().filter(|row| row.ladder == rival.ladder);
            if of_ladder().any(|row| row.case == rival.case) {
                add(&mut record.rivals, rival);
            } else if of_ladder().next().is_some() {
                let cases = absent.entry(program.clone()).or_default();
                cases.insert(format!("{}, {}", rival.ladder, rival.case));
            }
        }
    }
    for (device, programs) in abroad {
        let programs: Vec<String> = programs.into_iter().collect();
        let programs = programs.join("; ");
        let note = format!("left out, of {device}, not of {own}: {programs}");
        record.notes.push(note);
    }
    for (program, cases) in absent {
        let some: Vec<&str> = cases.iter().map(String::as_str).take(3).collect();
        let (count, some) = (cases.len(), some.join("; "));
        let note = format!("{program}: cases that this run does not have: {count}, such as {some}");
        record.notes.push(note);
    }
}

fn add(known: &mut Vec<Rival>, rival: &Rival) {
    let same = |other: &&mut Rival| {
        (&other.ladder, &other.case, &other.name) == (&rival.ladder, &rival.case, &rival.name)
    };
    match known.iter_mut().find(same) {
        Some(other) if other.date <= rival.date => *other = rival.clone(),
        Some(_) => {}
        None => known.push(rival.clone()),
    }
}
