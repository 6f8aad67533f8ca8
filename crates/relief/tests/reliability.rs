//! The counts in `docs/reliability.md` are no more than those of the tests: read from their sources, or counted in what they go
//! through. `RELIEF_BLESS=1` writes the table anew.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the table begins and ends.
const BEGIN: &str = "<!-- counts: RELIEF_BLESS=1 cargo test -p relief --test reliability -->\n";
const END: &str = "<!-- end -->";

/// How often something is tried.
enum Count {
    /// The number that follows the marker, after the text before it, in a test's source: the bound of its loop, or
    /// the cases of its properties.
    Source {
        file: &'static str,
        after: &'static str,
        marker: &'static str,
    },
    /// The lines of a committed file, each of which is compared by the test.
    Lines { file: &'static str, test: &'static str },
    /// The files in a committed folder, each of which the test goes through.
    Files {
        folder: &'static str,
        extension: &'static str,
        test: &'static str,
    },
}

use Count::{Files, Lines, Source};

const HOSTILE: &str = "crates/relief-design/tests/language/hostile.rs";
const MACHINE: &str = "crates/relief/tests/machine.rs";
const CORPUS: &str = "crates/relief-engine/tests/engine/corpus.rs";

const ROWS: &[(&str, Count)] = &[
    (
        "designs drawn at random, compared with the oracle",
        Source {
            file: "crates/relief-engine/tests/engine/designs.rs",
            after: "proptest! {",
            marker: "proptest_config(config(",
        },
    ),
    (
        "designs made of any bytes, computed in several layouts",
        Source {
            file: CORPUS,
            after: "fn designs_made_of_any_bytes_have_the_same_samples_in_every_way",
            marker: "for _ in 0..",
        },
    ),
    (
        "committed digests of designs and examples",
        Lines {
            file: "crates/relief-engine/tests/golden/digests.txt",
            test: "crates/relief-engine/tests/golden.rs",
        },
    ),
    (
        "plans drawn at random that stay within the memory allowed",
        Source {
            file: "crates/relief-engine/tests/engine/memory.rs",
            after: "proptest! {",
            marker: "cases: ",
        },
    ),
    (
        "rasters drawn at random, written in a format and read back by another decoder",
        Source {
            file: "crates/relief-io/tests/files/sinks.rs",
            after: "proptest! {",
            marker: "ProptestConfig::with_cases(",
        },
    ),
    (
        "writes of one file by several threads at once, by each thread",
        Source {
            file: "crates/relief-atomic/tests/atomic.rs",
            after: "fn many_writers_at_once_give_one_whole_file_and_nothing_else",
            marker: "for _ in 0..",
        },
    ),
    (
        "senders killed in one job",
        Source {
            file: MACHINE,
            after: "fn a_sender_killed_fifty_times_loses_and_repeats_nothing",
            marker: "for _ in 0..",
        },
    ),
    (
        "machines killed in one job",
        Source {
            file: MACHINE,
            after: "fn a_machine_killed_fifty_times_loses_and_repeats_nothing",
            marker: "for _ in 0..",
        },
    ),
    (
        "texts of any characters, texts of words, texts after a right beginning, and expressions: of each",
        Source {
            file: HOSTILE,
            after: "proptest! {",
            marker: "cases: ",
        },
    ),
    (
        "committed messages for wrong designs",
        Files {
            folder: "crates/relief-design/tests/wrong",
            extension: "txt",
            test: "crates/relief-design/tests/language/wrong_designs.rs",
        },
    ),
    (
        "texts and designs that a fuzzer found to reach new code",
        Files {
            folder: "fuzz/corpus/design_text",
            extension: "",
            test: CORPUS,
        },
    ),
    (
        "pictures with bytes changed at random",
        Source {
            file: "crates/relief-io/tests/files/sources.rs",
            after: "proptest! {",
            marker: "ProptestConfig::with_cases(",
        },
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

impl Count {
    /// The count and the test that it is of.
    fn found(&self) -> (u64, &'static str) {
        match *self {
            Source { file, after, marker } => {
                let text = read(file);
                let rest = text
                    .split_once(after)
                    .unwrap_or_else(|| panic!("{file} has no {after}"))
                    .1;
                let rest = rest
                    .split_once(marker)
                    .unwrap_or_else(|| panic!("{file} has no {marker}"))
                    .1;
                let digits: String = rest
                    .chars()
                    .take_while(|c| c.is_ascii_digit() || *c == '_')
                    .filter(|c| *c != '_')
                    .collect();
                let count = digits
                    .parse()
                    .unwrap_or_else(|_| panic!("{file}: no number after {marker}"));
                (count, file)
            }
            Lines { file, test } => (read(file).lines().count() as u64, test),
            Files {
                folder,
                extension,
                test,
            } => {
                let entries = fs::read_dir(root().join(folder)).unwrap();
                let of_kind = |path: PathBuf| {
                    extension.is_empty() || path.extension().is_some_and(|found| found == extension)
                };
                let count = entries
                    .filter(|entry| of_kind(entry.as_ref().unwrap().path()))
                    .count();
                (count as u64, test)
            }
        }
    }
}

fn table() -> String {
    let mut table = "| tried | times | by |\n|---|--:|---|\n".to_owned();
    for (what, count) in ROWS {
        let (count, test) = count.found();
        writeln!(table, "| {what} | {count} | `{test}` |").unwrap();
    }
    table
}

/// What the rows of a table say: what is tried, how often, by which test.
fn rows(table: &str) -> Vec<(&str, u64, &str)> {
    let rows = table.lines().skip(2).map(|line| line.split('|').map(str::trim));
    rows.map(|mut row| {
        let mut cell = || row.by_ref().find(|cell| !cell.is_empty()).unwrap();
        (cell(), cell().parse().unwrap(), cell())
    })
    .collect()
}

#[test]
fn the_page_says_no_more_than_the_tests_try() {
    let page = root().join("docs/reliability.md");
    let text = fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (said, after) = rest.split_once(END).unwrap();
    let table = table();
    if std::env::var_os("RELIEF_BLESS").is_some() {
        fs::write(&page, [before, BEGIN, &table, END, after].concat()).unwrap();
        return;
    }
    let (said, tried) = (rows(said), rows(&table));
    assert_eq!(said.len(), tried.len(), "RELIEF_BLESS=1 writes the table anew");
    for (said, tried) in said.iter().zip(&tried) {
        assert_eq!(
            (said.0, said.2),
            (tried.0, tried.2),
            "RELIEF_BLESS=1 writes the table anew"
        );
        assert!(
            said.1 <= tried.1,
            "{}: {} are said, {} tried",
            said.0,
            said.1,
            tried.1
        );
    }
}

#[test]
fn every_test_that_the_page_names_is_there() {
    let text = read("docs/reliability.md");
    let named: Vec<&str> = text.split('`').filter(|word| word.ends_with(".rs")).collect();
    assert!(named.len() > 10);
    for name in named {
        assert!(root().join(name).is_file(), "{name}");
    }
}
