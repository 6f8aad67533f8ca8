//! Two records, row by row: faster, slower, the same, or not to be told.
//!
//! A row has an interval, p10–p90 of its samples. Dividing the intervals of two rows gives the interval of their
//! ratio: from the new p10 over the old p90 to the new p90 over the old p10. Means and medians alone would call noise a
//! change.

use std::fmt;

use crate::quantity::digits;
use crate::record::{Record, Row, Verdict as Result};

/// How a new row stands to an old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The ratio is 1, within the margin.
    Same,
    /// All of the ratio's interval is below 1.
    Faster,
    /// All of it is above 1.
    Slower,
    /// The interval holds 1 and more.
    Unsure,
    /// It was right and is not any more, or does not run any more on the same device.
    Broken,
    /// It is in one of the records only, or was not timed in one.
    Alone,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Same => "SAME",
            Self::Faster => "FASTER",
            Self::Slower => "SLOWER",
            Self::Unsure => "UNSURE",
            Self::Broken => "BROKEN",
            Self::Alone => "ALONE",
        })
    }
}

/// One row of two records.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Ladder, case, variant and device.
    pub name: String,
    /// How the new row stands to the old one.
    pub verdict: Verdict,
    /// The ratio of the new time to the old one: of the medians, and the interval.
    pub ratio: Option<(f64, [f64; 2])>,
}

/// Ratios within this part of 1 are the same.
pub const MARGIN: f64 = 0.03;

/// Compares all rows of two sets of records, in the order of the new.
#[must_use]
pub fn compare(old: &[Record], new: &[Record], margin: f64) -> Vec<Comparison> {
    let old = named(old);
    let new = named(new);
    let mut all = Vec::new();
    for (name, device, row) in &new {
        let before = old.iter().find(|(known, ..)| known == name);
        let same_device = before.is_some_and(|(_, before, _)| before == device);
        let before = before.map(|(.., row)| *row);
        all.push(judge(name.clone(), before, Some(row), same_device, margin));
    }
    for (name, _, row) in &old {
        if !new.iter().any(|(known, ..)| known == name) {
            all.push(judge(name.clone(), Some(row), None, false, margin));
        }
    }
    all
}

/// What differs between the devices, drivers and hosts of records of the same backend, a line each: their rows meet all the same, and whoever reads the ratios should
/// know that they are not of one machine.
#[must_use]
pub fn differences(old: &[Record], new: &[Record]) -> Vec<String> {
    let mut lines = Vec::new();
    for after in new.iter().map(|record| &record.header) {
        for before in old.iter().map(|record| &record.header) {
            if backend(&before.device) != backend(&after.device) {
                continue;
            }
            let pairs = [
                ("device", &before.name, &after.name),
                ("driver", &before.driver, &after.driver),
                ("host", &before.host, &after.host),
            ];
            let other = pairs.into_iter().filter(|(_, before, after)| before != after);
            let other =
                other.map(|(what, before, after)| format!("another {what}: {before} before, {after} now"));
            let (before, after) = (before.threads, after.threads);
            let threads = format!("other threads: {before} before, {after} now");
            for line in other.chain((before != after).then_some(threads)) {
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
        }
    }
    lines
}

fn backend(device: &str) -> &str {
    device.split(':').next().unwrap_or_default()
}

/// The rows by what they meet by, with what their device is called.
fn named(records: &[Record]) -> Vec<(String, &str, &Row)> {
    let mut named = Vec::new();
    for record in records {
        let backend = backend(&record.header.device);
        named.extend(record.rows.iter().map(|row| {
            let name = format!("{} | {} | {} | {backend}", row.ladder, row.case, row.variant);
            (name, record.header.name.as_str(), row)
        }));
    }
    named
}

fn judge(name: String, old: Option<&Row>, new: Option<&Row>, same_device: bool, margin: f64) -> Comparison {
    let verdict = |verdict, ratio| Comparison { name, verdict, ratio };
    let (Some(old), Some(new)) = (old, new) else {
        return verdict(Verdict::Alone, None);
    };
    // Another device may lack what a variant needs.
    let broken = match &new.verdict {
        Result::Wrong(_) | Result::Failed(_) => true,
        Result::Unsupported(_) => same_device,
        Result::Right => false,
    };
    if old.verdict == Result::Right && broken {
        return verdict(Verdict::Broken, None);
    }
    let (Some(old), Some(new)) = (old.summary, new.summary) else {
        return verdict(Verdict::Alone, None);
    };
    let interval = [new.p10 / old.p90, new.p90 / old.p10];
    let ratio = Some((new.median / old.median, interval));
    let [low, high] = interval;
    let same = low >= 1.0 - margin && high <= 1.0 + margin;
    let found = match () {
        () if same => Verdict::Same,
        () if high < 1.0 => Verdict::Faster,
        () if low > 1.0 => Verdict::Slower,
        () => Verdict::Unsure,
    };
    verdict(found, ratio)
}

/// The comparisons as a table, and how many there are of each kind.
#[must_use]
pub fn table(comparisons: &[Comparison]) -> String {
    let mut text = String::new();
    for Comparison { name, verdict, ratio } in comparisons {
        let ratio = ratio.map_or(String::new(), |(ratio, [low, high])| {
            format!("× {} ({}–{})", digits(ratio, 4), digits(low, 4), digits(high, 4))
        });
        text.push_str(format!("{verdict:<7} {ratio:<24} {name}").trim_end());
        text.push('\n');
    }
    let kinds = [
        Verdict::Same,
        Verdict::Faster,
        Verdict::Slower,
        Verdict::Unsure,
        Verdict::Broken,
        Verdict::Alone,
    ];
    let counts = kinds.map(|kind| {
        let same = comparisons.iter().filter(|comparison| comparison.verdict == kind);
        format!("{} {kind}", same.count())
    });
    text.push_str(&counts.join(", "));
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Summary;

    fn row(times: Option<[f64; 3]>) -> Row {
        Row {
            ladder: "copy".to_owned(),
            case: "2^20 u32".to_owned(),
            axis: None,
            place: None,
            variant: "memcpy".to_owned(),
            production: false,
            source: None,
            tuning: None,
            verdict: Result::Right,
            elements: 1,
            read: 4,
            written: 4,
            operations: None,
            working_set: 8,
            bound: None,
            batch: 1,
            samples: Vec::new(),
            summary: times.map(|[p10, median, p90]| Summary { median, p10, p90 }),
            again: Vec::new(),
        }
    }

    fn verdict(old: [f64; 3], new: [f64; 3]) -> Verdict {
        judge(
            String::new(),
            Some(&row(Some(old))),
            Some(&row(Some(new))),
            true,
            0.03,
        )
        .verdict
    }

    #[test]
    fn intervals_decide() {
        let old = [9.9, 10.0, 10.1];
        assert_eq!(verdict(old, [9.95, 10.0, 10.05]), Verdict::Same);
        assert_eq!(verdict(old, [8.0, 8.5, 9.0]), Verdict::Faster);
        assert_eq!(verdict(old, [11.0, 11.5, 12.0]), Verdict::Slower);
        // The median is a fifth longer, but one time in ten is shorter than before.
        assert_eq!(verdict(old, [9.5, 12.0, 13.0]), Verdict::Unsure);
        assert_eq!(verdict([8.0, 10.0, 12.0], old), Verdict::Unsure);
    }

    #[test]
    fn what_broke_or_stands_alone_has_no_ratio() {
        let mut broken = row(None);
        broken.verdict = Result::Wrong("at 0".to_owned());
        let comparison = judge(
            String::new(),
            Some(&row(Some([1.0; 3]))),
            Some(&broken),
            false,
            0.03,
        );
        assert_eq!((comparison.verdict, comparison.ratio), (Verdict::Broken, None));
        assert_eq!(
            judge(String::new(), None, Some(&row(Some([1.0; 3]))), true, 0.03).verdict,
            Verdict::Alone
        );
        assert_eq!(
            judge(String::new(), Some(&row(None)), Some(&row(None)), true, 0.03).verdict,
            Verdict::Alone
        );
        // What the same device ran before it should run again; another may lack what it needs.
        broken.verdict = Result::Unsupported("too many units".to_owned());
        for (same_device, verdict) in [(true, Verdict::Broken), (false, Verdict::Alone)] {
            let timed = row(Some([1.0; 3]));
            let comparison = judge(String::new(), Some(&timed), Some(&broken), same_device, 0.03);
            assert_eq!(comparison.verdict, verdict);
        }
    }

    #[test]
    fn records_of_other_machines_are_told() {
        let record = |device: &str, name: &str, threads| Record {
            header: crate::Header {
                device: device.to_owned(),
                name: name.to_owned(),
                threads,
                ..Default::default()
            },
            ..Record::default()
        };
        let old = [record("cuda:0", "one", 2), record("cpu", "host", 2)];
        let new = [record("cuda:1", "other", 2), record("cpu", "host", 4)];
        assert_eq!(differences(&old, &old), [""; 0]);
        assert_eq!(
            differences(&old, &new),
            [
                "another device: one before, other now",
                "other threads: 2 before, 4 now"
            ]
        );
    }

    #[test]
    fn rows_meet_by_ladder_case_variant_and_backend() {
        let record = |device: &str, variant: &str| Record {
            header: crate::Header {
                device: device.to_owned(),
                ..Default::default()
            },
            ceilings: Default::default(),
            rows: vec![Row {
                variant: variant.to_owned(),
                ..row(Some([1.0; 3]))
            }],
            ..Record::default()
        };
        let old = [record("cuda:0", "a"), record("cpu", "b")];
        let all = compare(&old, &[record("cuda:1", "a"), record("cpu", "c")], MARGIN);
        let verdicts: Vec<Verdict> = all.iter().map(|comparison| comparison.verdict).collect();
        assert_eq!(verdicts, [Verdict::Same, Verdict::Alone, Verdict::Alone]);
        let text = table(&all);
        assert!(
            text.contains("SAME    × 1.000 (1.000–1.000)    copy | 2^20 u32 | a | cuda"),
            "{text}"
        );
        assert!(
            text.ends_with("1 SAME, 0 FASTER, 0 SLOWER, 0 UNSURE, 0 BROKEN, 2 ALONE\n"),
            "{text}"
        );
    }
}
