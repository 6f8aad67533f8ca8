//! What a run leaves: a header, the ceilings, a row for each variant and case, other programs on the same cases, and how
//! production stands. Written as lines of JSON, one object each, so that records can be joined and searched with
//! the usual tools.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::family::{AnyLadder, Family, Operation};
use crate::standing::{Standing, standings};
use crate::statistics::Summary;

/// The longest file that [`read_text`] reads, in bytes: some hundred records of all ladders.
const MAX_BYTES: u64 = 32 << 20;

/// The text of a file of records.
///
/// # Errors
/// Where it cannot be read, where it is no text, and where it has more than 32 MiB.
pub fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        let long = format!(
            "it is longer than {} MiB, more than the lab reads",
            MAX_BYTES >> 20
        );
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, long));
    }
    Ok(text)
}

/// One run of the lab on one machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Where and when.
    pub header: Header,
    /// What the hardware allows.
    pub ceilings: Ceilings,
    /// What was measured, in the order of the ladders.
    pub rows: Vec<Row>,
    /// Other programs on the same cases.
    pub rivals: Vec<Rival>,
    /// When parts of problems were where.
    #[serde(default)]
    pub timelines: Vec<Timeline>,
    /// What is to be said of other programs: what was left out, and why.
    pub notes: Vec<String>,
}

/// Where and when a run was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The start, in UTC.
    pub date: String,
    /// The version of Relief.
    pub version: String,
    /// The revision of the sources, where it is known.
    pub revision: String,
    /// How the device is asked for: "cpu", "cuda:0".
    pub device: String,
    /// What it is.
    pub name: String,
    /// Its driver.
    pub driver: String,
    /// The operating system and the host's processor.
    pub host: String,
    /// Threads of the CPU variants.
    pub threads: usize,
    /// The largest cache, in bytes, where it is known.
    pub cache: Option<u64>,
    /// Whether a minute had to do.
    pub quick: bool,
    /// Clocks and temperature before.
    pub before: Conditions,
    /// Clocks and temperature after.
    pub after: Conditions,
    /// The machines that the figures of the sources are from, by family; records from before they were told have none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, String>,
}

impl Header {
    /// The machine that the source's figures of a ladder are from.
    #[must_use]
    pub fn source(&self, ladder: &str) -> Option<&str> {
        self.sources.get(family(ladder)).map(String::as_str)
    }

    /// Remembers the machines of the figures that these ladders have.
    pub fn tell_sources(&mut self, families: &[Family], ladders: &[&dyn AnyLadder]) {
        for ladder in ladders {
            let any = ladder.variants().iter().any(|about| about.source.is_some());
            let of = families.iter().find(|known| known.name == family(ladder.name()));
            if let (true, Some(of)) = (any, of) {
                self.sources.insert(of.name.to_owned(), of.source.to_owned());
            }
        }
    }

    /// Forgets the machines of these rows' figures: who has read a report of them knows.
    pub fn forget_sources(&mut self, rows: &[Row]) {
        for row in rows.iter().filter(|row| row.source.is_some()) {
            self.sources.remove(family(&row.ladder));
        }
    }
}

/// The family of a ladder: both are called the same where there is no other.
pub(crate) fn family(ladder: &str) -> &str {
    ladder.split('/').next().unwrap_or(ladder)
}

/// How fast and how hot a device is; nothing where it does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// The clock in MHz.
    pub clock: Option<f64>,
    /// The temperature in °C.
    pub temperature: Option<f64>,
    /// On processors, how many tasks waited or ran on average over the last minute.
    pub load: Option<f64>,
    /// On processors of a virtual machine, what its host did with their time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<Shares>,
}

/// The time of all processors of a virtual machine since it started, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shares {
    /// In which tasks of this machine ran.
    pub ran: u64,
    /// In which tasks wanted to run and the host ran something else: processors that it has promised to more than one machine. Two threads
    /// that wait for each other then take longer than one.
    pub stolen: u64,
}

impl Shares {
    /// The part of the time wanted since `before` that was stolen; nothing where none was wanted.
    #[must_use]
    pub fn stolen_since(self, before: Self) -> Option<f64> {
        let ran = self.ran.saturating_sub(before.ran);
        let stolen = self.stolen.saturating_sub(before.stolen);
        let wanted = ran.saturating_add(stolen);
        (wanted > 0).then(|| stolen as f64 / wanted as f64)
    }
}

/// What the hardware allows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    /// Copies, by bytes read and written together.
    pub copy: Vec<Point>,
    /// Reads.
    pub read: Vec<Point>,
    /// Writes.
    pub write: Vec<Point>,
    /// Operations a second.
    pub rates: BTreeMap<Operation, f64>,
    /// Seconds that a launch takes: asked for, one after another.
    pub launch: Option<f64>,
    /// Seconds that a launch takes the device where the next ones wait already.
    #[serde(default)]
    pub launch_queued: Option<f64>,
    /// Seconds of a launch that is waited for.
    pub launch_waited: Option<f64>,
    /// Transfers between host and device, and the driver's own copies.
    pub transfers: Vec<Transfer>,
}

/// A bandwidth at one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Bytes moved by a call.
    pub bytes: u64,
    /// Bytes moved a second.
    pub rate: f64,
}

impl Point {
    /// Of so many calls a second.
    pub(crate) const fn of(bytes: u64, calls: f64) -> Self {
        Self {
            bytes,
            rate: calls * bytes as f64,
        }
    }
}

/// A way between host and device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    /// Which way, and through what memory.
    pub name: String,
    /// Bytes a second; nothing where it could not be measured.
    pub rate: Option<f64>,
    /// Why not.
    pub reason: Option<String>,
}

/// What became of a variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "is", content = "reason")]
pub enum Verdict {
    /// It computes what the reference does.
    Right,
    /// It does not; where first.
    Wrong(String),
    /// The device cannot run it; why.
    Unsupported(String),
    /// It should have run and did not; why.
    Failed(String),
}

impl Verdict {
    /// In a word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong(_) => "WRONG",
            Self::Unsupported(_) => "UNSUPPORTED",
            Self::Failed(_) => "FAILED",
        }
    }

    /// Why it is not right.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Right => None,
            Self::Wrong(reason) | Self::Unsupported(reason) | Self::Failed(reason) => Some(reason),
        }
    }
}

/// One variant on one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Of which ladder.
    pub ladder: String,
    /// Of which problem.
    pub case: String,
    /// What the ladder sweeps.
    pub axis: Option<String>,
    /// Where the problem stands on that axis.
    pub place: Option<f64>,
    /// Which variant.
    pub variant: String,
    /// Whether it is what production uses.
    pub production: bool,
    /// What the source measured for it.
    pub source: Option<String>,
    /// The layout it ran with, where that can be chosen.
    pub tuning: Option<String>,
    /// What became of it.
    pub verdict: Verdict,
    /// Elements of the problem.
    pub elements: u64,
    /// The least bytes read.
    pub read: u64,
    /// The least bytes written.
    pub written: u64,
    /// The least operations, and which.
    pub operations: Option<(Operation, u64)>,
    /// Bytes of all sets of inputs and outputs that were used in turn.
    pub working_set: u64,
    /// What binds, and the seconds it allows.
    pub bound: Option<Bound>,
    /// Calls of a batch.
    pub batch: u64,
    /// Seconds of a call, by batch.
    pub samples: Vec<f64>,
    /// Of the samples.
    pub summary: Option<Summary>,
    /// Of production: variants that were ahead by more than is allowed, timed once more in turn with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub again: Vec<Again>,
}

/// A variant in turn with production, after all had been timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Again {
    /// Which.
    pub variant: String,
    /// Its time over production's, by rounds.
    pub ratio: Summary,
}

impl Row {
    /// The least bytes read and written.
    #[must_use]
    pub const fn moved(&self) -> u64 {
        self.read.saturating_add(self.written)
    }

    /// The median time, where it is one that something can be divided by: a damaged record may hold any number.
    #[must_use]
    pub fn time(&self) -> Option<f64> {
        let time = self.summary?.median;
        (time.is_normal() && time > 0.0).then_some(time)
    }

    /// Bytes a second, by the least bytes.
    #[must_use]
    pub fn bandwidth(&self) -> Option<f64> {
        finite(self.moved() as f64 / self.time()?)
    }

    /// Operations a second, by the least operations.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        finite(self.operations?.1 as f64 / self.time()?)
    }

    /// Elements of the problem a second.
    #[must_use]
    pub fn throughput(&self) -> Option<f64> {
        finite(self.elements as f64 / self.time()?)
    }

    /// What part of what the binding ceiling allows was reached.
    #[must_use]
    pub fn reached(&self) -> Option<f64> {
        finite(self.bound.as_ref()?.seconds / self.time()?)
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// The ceiling that binds a problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Which.
    pub ceiling: String,
    /// The seconds it allows.
    pub seconds: f64,
}

/// Another program on one case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rival {
    /// Of which ladder.
    pub ladder: String,
    /// Of which problem.
    pub case: String,
    /// What was called.
    pub name: String,
    /// The program, with its version.
    pub program: String,
    /// What it ran on.
    pub device: String,
    /// When, in UTC.
    pub date: String,
    /// What its result was compared with.
    pub right: Option<String>,
    /// Why it has no time.
    pub reason: Option<String>,
    /// Seconds of a call.
    pub summary: Option<Summary>,
}

/// When the chunks of a problem were where, from one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Of which ladder.
    pub ladder: String,
    /// How it ran.
    pub name: String,
    /// In the order in which they were asked for.
    pub spans: Vec<Span>,
}

/// When a chunk was where.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// Its queue.
    pub queue: usize,
    /// Seconds from the start of the first chunk: the start of its copy to the device, that copy's end, the kernel's end, and the end
    /// of the copy back. What waits for a unit that another queue's chunk has is part of its step.
    pub times: [f64; 4],
}

/// A line of a record.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    Header(Header),
    Ceilings(Ceilings),
    Row(Box<Row>),
    Rival(Rival),
    Timeline(Timeline),
    Note(String),
    /// For other readers; ours computes it from the rows.
    Standing(Standing),
}

impl Record {
    /// As lines of JSON.
    ///
    /// # Errors
    /// Never for what a run leaves; numbers that are not finite have no JSON.
    pub fn to_json(&self) -> Result<String, Error> {
        let header = Line::Header(self.header.clone());
        let ceilings = Line::Ceilings(self.ceilings.clone());
        let rows = self.rows.iter().map(|row| Line::Row(Box::new(row.clone())));
        let mut text = String::new();
        let rivals = self.rivals.iter().cloned().map(Line::Rival);
        let notes = self.notes.iter().cloned().map(Line::Note);
        let standings = standings(self).into_iter().map(Line::Standing);
        let timelines = self.timelines.iter().cloned().map(Line::Timeline);
        let tail = rivals.chain(timelines).chain(notes).chain(standings);
        for line in [header, ceilings].into_iter().chain(rows).chain(tail) {
            text.push_str(&serde_json::to_string(&line).map_err(|e| Error::Record(e.to_string()))?);
            text.push('\n');
        }
        Ok(text)
    }

    /// From lines of JSON; records of several machines, one after the other, are several records.
    ///
    /// # Errors
    /// Where a line is not of a record, with its number.
    pub fn from_json(text: &str) -> Result<Vec<Self>, Error> {
        let mut records: Vec<Self> = Vec::new();
        let lines = text.lines().enumerate();
        for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let refuse = |reason: &str| Error::Record(format!("line {}: {reason}", number + 1));
            let line: Line = serde_json::from_str(line).map_err(|e| refuse(&e.to_string()))?;
            match (line, records.last_mut()) {
                (Line::Header(header), _) => records.push(Self {
                    header,
                    ..Self::default()
                }),
                (Line::Ceilings(ceilings), Some(record)) => record.ceilings = ceilings,
                (Line::Row(row), Some(record)) => record.rows.push(*row),
                (Line::Rival(rival), Some(record)) => record.rivals.push(rival),
                (Line::Timeline(timeline), Some(record)) => record.timelines.push(timeline),
                (Line::Note(note), Some(record)) => record.notes.push(note),
                (Line::Standing(_), Some(_)) => {}
                (_, None) => return Err(refuse("a record begins with a header")),
            }
        }
        Ok(records)
    }
}
