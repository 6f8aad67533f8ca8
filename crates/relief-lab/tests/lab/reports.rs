//! What is written can be read: by our own reader, and by those of others.

use relief_lab::family::Operation;
use relief_lab::statistics::Summary;
use relief_lab::{
    Again, Bound, Ceilings, Conditions, Header, Point, Record, Row, Shares, Span, Timeline, Transfer,
    Verdict, families, report,
};

fn row(ladder: &str, case: &str, variant: &str, times: &[f64]) -> Row {
    Row {
        ladder: ladder.to_owned(),
        case: case.to_owned(),
        axis: None,
        place: None,
        variant: variant.to_owned(),
        production: variant == "best",
        source: Some("861.8 µs, \"155.7 GB/s\"".to_owned()),
        tuning: None,
        verdict: Verdict::Right,
        elements: 1 << 20,
        read: 4 << 20,
        written: 4 << 20,
        operations: None,
        working_set: 1 << 28,
        bound: Some(Bound {
            ceiling: "copy".to_owned(),
            seconds: 1e-3,
        }),
        batch: 10,
        samples: times.to_vec(),
        summary: Summary::of(times),
        again: Vec::new(),
    }
}

/// A record with everything that a record can have.
fn record() -> Record {
    let mut wrong = row("copy", "2^20 u32", "odd, \"<b>&\"", &[]);
    wrong.verdict =
        Verdict::Wrong("3 elements, random:\noutput 0 has 1 at 2 where 5 is right; 1 differ".to_owned());
    let mut rows = vec![
        row("copy", "2^20 u32", "first", &[4e-3, 4.1e-3, 4.2e-3]),
        wrong,
        row("copy", "2^20 u32", "best", &[1e-3, 1.1e-3, 1.2e-3]),
    ];
    for (case, place) in [("k = 1", 1.0), ("k = 51", 51.0)] {
        let mut row = row("map/stride", case, "plain", &[place * 1e-6]);
        row.axis = Some("k".to_owned());
        row.place = Some(place);
        rows.push(row);
    }
    rows[2].again.push(Again {
        variant: "first".to_owned(),
        ratio: Summary {
            median: 0.97,
            p10: 0.9,
            p90: 1.25,
        },
    });
    let mut counted = row("distance", "r = 15", "window", &[2e-3]);
    counted.operations = Some((Operation::IntegerAddMin, 1 << 30));
    counted.bound = Some(Bound {
        ceiling: Operation::IntegerAddMin.name().to_owned(),
        seconds: 1.5e-3,
    });
    rows.push(counted);
    let points = |rate: f64| {
        let point = |bytes| Point { bytes, rate };
        vec![point(1 << 20), point(1 << 24)]
    };
    Record {
        header: Header {
            date: "2026-11-21T08:00:00Z".to_owned(),
            device: "cuda:0".to_owned(),
            name: "A <fast> device".to_owned(),
            before: Conditions {
                clock: Some(1_980.0),
                temperature: None,
                load: None,
                shares: Some(Shares { ran: 100, stolen: 10 }),
            },
            after: Conditions {
                shares: Some(Shares { ran: 130, stolen: 20 }),
                ..Conditions::default()
            },
            sources: [("copy".to_owned(), "a <K40>, 2^24 u32".to_owned())].into(),
            ..Header::default()
        },
        ceilings: Ceilings {
            copy: points(8e9),
            read: points(9e9),
            write: points(1e10),
            rates: [(Operation::IntegerAddMin, 1e12)].into(),
            launch: Some(4.6e-6),
            launch_queued: Some(2.1e-6),
            launch_waited: None,
            transfers: vec![Transfer {
                name: "host → device, pageable".to_owned(),
                rate: None,
                reason: Some("the runtime does not tell".to_owned()),
            }],
        },
        rows,
        timelines: vec![Timeline {
            ladder: "copy".to_owned(),
            name: "2 <queues>".to_owned(),
            spans: vec![
                span(0, [0.0, 1e-3, 2e-3, 3e-3]),
                span(1, [1e-3, 2e-3, 3e-3, 4e-3]),
            ],
        }],
        ..Record::default()
    }
}

const fn span(queue: usize, times: [f64; 4]) -> Span {
    Span { queue, times }
}

#[test]
fn a_record_comes_back_from_its_lines() {
    let text = record().to_json().unwrap();
    for line in text.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(value.as_object().unwrap().len(), 1, "{line}");
    }
    // And the header, the ceilings, and where production stands.
    let record_lines = record().rows.len() + record().timelines.len();
    assert_eq!(text.lines().count(), 3 + record_lines);
    let twice = format!("{text}\n{text}");
    assert_eq!(Record::from_json(&twice).unwrap(), [record(), record()]);
}

#[test]
fn a_broken_record_names_its_line() {
    let text = record().to_json().unwrap();
    let (header, rest) = text.split_once('\n').unwrap();
    for (text, part) in [
        (format!("{header}\n{{\"row\": 1}}\n"), "line 2"),
        (rest.to_owned(), "line 1: a record begins with a header"),
        ("hello".to_owned(), "line 1"),
    ] {
        let error = Record::from_json(&text).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn csv_has_a_line_for_each_row_and_a_cell_for_each_name() {
    let text = report::csv(&[record(), record()]);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names = reader.headers().unwrap().clone();
    let place = |name: &str| names.iter().position(|known| known == name).unwrap();
    let lines: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(lines.len(), 2 * record().rows.len());
    assert_eq!(&lines[1][place("variant")], "odd, \"<b>&\"");
    assert_eq!(&lines[1][place("verdict")], "wrong");
    assert_eq!(&lines[1][place("median")], "");
    assert_eq!(lines[2][place("median")].parse(), Ok(1.1e-3));
    assert_eq!(&lines[5][place("operation")], "u32 add, min");
    assert_eq!(&lines[0][names.len() - 1], "a <K40>, 2^24 u32");
    assert_eq!(place("source_machine"), names.len() - 1);
    assert_eq!(&lines[3][place("source_machine")], "", "of another family");
}

#[test]
fn the_page_is_well_formed_and_shows_every_variant() {
    let page = report::page(&[record()]);
    let document = parsed(&page).unwrap();
    let pictures = document.descendants().filter(|node| node.has_tag_name("svg"));
    // Bars of copy, distance and two cases of a sweep, times and throughput of the sweep, what is under each roof, and a timeline.
    assert_eq!(pictures.count(), 10);
    let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
    for row in record().rows {
        assert!(
            texts.iter().any(|text| text.trim() == row.variant),
            "{}",
            row.variant
        );
    }
    assert_drawn(&document);
    assert!(!page.contains("http"), "the page asks for nothing");
}

fn parsed(page: &str) -> Result<roxmltree::Document<'_>, roxmltree::Error> {
    let options = roxmltree::ParsingOptions {
        allow_dtd: true,
        ..Default::default()
    };
    roxmltree::Document::parse_with_options(page, options)
}

/// Every shape has a place.
fn assert_drawn(document: &roxmltree::Document<'_>) {
    for number in document.descendants().flat_map(|node| node.attributes()) {
        let numeric =
            ["x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height"].contains(&number.name());
        let finite = || number.value().parse::<f64>().is_ok_and(f64::is_finite);
        assert!(!numeric || finite(), "{number:?}");
    }
}

#[test]
fn the_table_says_right_or_wrong_and_how_fast() {
    let text = report::table(&record());
    let line = |part: &str| text.lines().find(|line| line.contains(part)).unwrap();
    let cells: Vec<&str> = line("best *").split_whitespace().collect();
    // 8 MiB in 1.1 ms; the ceiling allows 1 ms; the first took 4.1 ms.
    let expected =
        "best * right 1.100 ms 1.020 ms–1.180 ms 7.626 GB/s 90.9 % 3.73 3.73 861.8 µs, \"155.7 GB/s\"";
    assert_eq!(cells, expected.split_whitespace().collect::<Vec<&str>>());
    assert!(
        line("<b>").contains("WRONG") && line("<b>").contains("output 0 has 1 at 2"),
        "{text}"
    );
    assert!(line("k = 51").contains("51.00 µs"), "{text}");
    assert!(
        line("window").contains("536.9 Gop/s") && line("window").contains("75.0 %"),
        "{text}"
    );
}

/// Five cases of thirteen variants, of which some have no times; a ladder of one case follows in the same family.
fn swept() -> Record {
    let mut record = record();
    record.rows.clear();
    for radius in [1, 5, 15, 50, 100] {
        for number in 1..=13 {
            let time = f64::from(radius * number) * 1e-4;
            let name = if number == 13 {
                "best".to_owned()
            } else {
                format!("way {number}")
            };
            let mut row = row(
                "stencil/box",
                &format!("r = {radius}"),
                &name,
                &[time, 1.1 * time],
            );
            row.verdict = match (radius, number) {
                (15, 2) => Verdict::Wrong("3 elements: <1> differs".to_owned()),
                (50, 3) => Verdict::Failed("it did not end".to_owned()),
                (_, 4) => Verdict::Unsupported("it takes r < 1".to_owned()),
                _ => Verdict::Right,
            };
            if row.verdict != Verdict::Right {
                (row.summary, row.samples) = (None, Vec::new());
            }
            row.source = (number == 1).then(|| format!("{radius} ms on <it>"));
            row.axis = Some("radius".to_owned());
            row.place = Some(f64::from(radius));
            record.rows.push(row);
        }
    }
    record
        .rows
        .push(row("stencil/other", "2^20 u32", "plain", &[1e-3]));
    let source = ("stencil".to_owned(), "a <GTX 690>, r = 3".to_owned());
    record.header.sources = [source].into();
    record
}

#[test]
fn the_table_of_a_sweep_has_every_row_of_every_case_below_an_overview() {
    let text = report::table(&swept());
    let (before, after) = text.split_once("\nr = 1; copy allows 1.000 ms\n").unwrap();
    assert!(
        before
            .trim_start()
            .starts_with("source: a <GTX 690>, r = 3\nstencil/box over radius\n"),
        "{text}"
    );
    let overview = |case: &str| {
        before
            .lines()
            .find(|line| line.trim_start().starts_with(case))
            .unwrap()
    };
    assert!(
        overview("r = 15").contains("WRONG") && overview("r = 50").contains("FAILED"),
        "{text}"
    );
    assert!(overview("radius").ends_with("best *"), "{text}");
    assert_eq!(
        text.matches("a <GTX 690>").count(),
        1,
        "once for the family: {text}"
    );
    assert_eq!(text.matches("× the best").count(), 1, "{text}");
    assert!(before.contains("at its worst, r = "), "{text}");

    let titles = "variant median p10–p90 rate ceiling × first × previous source";
    let words = |line: &str| line.split_whitespace().collect::<Vec<&str>>().join(" ");
    // Those of five cases, and of the ladder that is not swept.
    assert_eq!(
        text.lines().filter(|line| words(line) == titles).count(),
        6,
        "{text}"
    );
    for name in (1..=12).map(|number| format!("way {number}")) {
        let rows = after
            .lines()
            .filter(|line| words(line).starts_with(&format!("{name} ")));
        assert_eq!(rows.count(), 5, "{name}: {text}");
    }
    let case = after
        .split("\nr = 15; ")
        .nth(1)
        .unwrap()
        .split("\nr = ")
        .next()
        .unwrap();
    let row = |name: &str| {
        case.lines()
            .map(words)
            .find(|line| line.starts_with(name))
            .unwrap()
    };
    // A call took 1.575 ms by the first way, and 4.725 by the third; the second is wrong.
    assert_eq!(
        row("way 3 "),
        "way 3 right 4.725 ms 4.545 ms–4.905 ms 1.775 GB/s 21.2 % 0.33 0.33"
    );
    assert!(row("way 1 ").ends_with("15 ms on <it>"), "{case}");
    assert_eq!(row("way 2 "), "way 2 WRONG 3 elements: <1> differs");
    assert_eq!(row("way 4 "), "way 4 UNSUPPORTED it takes r < 1");
    assert!(row("best").starts_with("best * right 20.48 ms"), "{case}");
    let failed = after.lines().map(words).find(|line| line.contains("FAILED"));
    assert_eq!(failed.as_deref(), Some("way 3 FAILED it did not end"));
}

#[test]
fn the_page_of_a_sweep_has_lines_bars_and_a_roof() {
    let page = report::page(&[swept()]);
    let options = roxmltree::ParsingOptions {
        allow_dtd: true,
        ..Default::default()
    };
    let document = roxmltree::Document::parse_with_options(&page, options).unwrap();
    let title = |node: &roxmltree::Node<'_, '_>| node.attribute("aria-label").unwrap().to_owned();
    let pictures: Vec<_> = document
        .descendants()
        .filter(|node| node.has_tag_name("svg"))
        .collect();
    let titles: Vec<String> = pictures.iter().map(title).collect();
    // Of five cases the first, the middle and the last.
    let expected = [
        "stencil/box over radius",
        "stencil/box, elements a second, over radius",
        "r = 1",
        "r = 15",
        "r = 100",
        "Bandwidth of stencil/box",
        "2^20 u32",
        "Bandwidth of stencil/other",
    ];
    assert_eq!(titles, expected);
    let classes = |picture: usize, tag: &str| -> Vec<&str> {
        let nodes = pictures[picture]
            .descendants()
            .filter(|node| node.has_tag_name(tag));
        nodes.filter_map(|node| node.attribute("class")).collect()
    };
    // A line for each variant that was ever timed, no two of a kind.
    let mut lines = classes(0, "polyline");
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 13, "{lines:?}");
    for line in lines {
        let kinds = line.split(' ').map(|kind| format!(".{kind}"));
        assert!(
            kinds.into_iter().all(|kind| page.contains(&kind)),
            "{line} has a style"
        );
    }
    // Eleven of the middle case have times, one is wrong and one not supported.
    let bars = classes(3, "rect");
    assert_eq!(bars.iter().filter(|class| class.starts_with("bar")).count(), 11);
    assert_eq!(bars.iter().filter(|class| **class == "bar production").count(), 1);
    assert_eq!(
        classes(3, "text").iter().filter(|class| **class == "bad").count(),
        2
    );
    // Five times thirteen, less those without times.
    assert_eq!(classes(5, "circle").len(), 65 - 5 - 2);
    assert!(classes(5, "polyline").contains(&"roof"));
    let texts: Vec<&str> = pictures[5].descendants().filter_map(|node| node.text()).collect();
    assert!(
        texts.contains(&"way 1, radius 1.0") && texts.contains(&"best, radius 100"),
        "{texts:?}"
    );
    let heights = |picture: usize| -> Vec<f64> {
        let names = pictures[picture]
            .descendants()
            .filter(|node| node.has_tag_name("text"));
        names
            .filter_map(|node| node.attribute("y")?.parse().ok())
            .collect()
    };
    assert!(
        heights(1).iter().all(|y| (0.0..324.0).contains(y)),
        "names stay inside"
    );
    assert!(page.contains("source: a &lt;GTX 690&gt;, r = 3</p>"));
    assert!(page.contains("× previous"), "the table with all columns");
}

#[test]
fn a_record_without_machines_of_figures_is_read() {
    let mut record = record();
    let text = record.to_json().unwrap();
    let header: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(header["header"]["sources"]["copy"], "a <K40>, 2^24 u32");
    record.header.sources.clear();
    let text = record.to_json().unwrap();
    assert!(!text.contains("sources"));
    assert_eq!(Record::from_json(&text).unwrap(), [record.clone()]);
    assert!(!report::table(&record).contains("source: "));
}

#[test]
fn a_header_knows_the_machines_of_the_figures_of_its_ladders() {
    let families = relief_lab::families::all();
    let asked = ["select".to_owned(), "morphology".to_owned()];
    let ladders = relief_lab::selection::ladders(&families, &asked).unwrap();
    let mut header = Header::default();
    header.tell_sources(&families, &ladders);
    // Morphology has no figures.
    assert_eq!(header.sources.len(), 1);
    assert!(header.source("select/densities").unwrap().contains("GTX 690"));
    let mut rows = [row("select/sizes", "2^10 u32", "best", &[1e-3])];
    rows[0].source = None;
    header.forget_sources(&rows);
    assert!(header.source("select/sizes").is_some());
    rows[0].source = Some("1 ms".to_owned());
    header.forget_sources(&rows);
    assert_eq!(header.source("select/sizes"), None);
}

#[test]
fn ceilings_say_what_is_unknown_and_why() {
    let text = report::ceilings(&record());
    assert!(
        text.contains("8.000 GB/s") && text.contains("1.000 Top/s") && text.contains("4.600 µs"),
        "{text}"
    );
    assert!(text.contains("unknown: the runtime does not tell"), "{text}");
}

#[test]
fn a_report_tells_what_the_host_took() {
    let mut record = record();
    let said = report::conditions(&record);
    assert!(
        said.contains("the host ran others in 25 % of the time wanted"),
        "{said}"
    );
    record.header.after.shares = record.header.before.shares;
    let said = report::conditions(&record);
    assert!(!said.contains("host"), "{said}");
}

/// Texts whose numbers are one of these where they had another, for each place of a number in a record.
fn damaged(text: &str, numbers: &[&str]) -> Vec<String> {
    let mut texts = Vec::new();
    let bytes = text.as_bytes();
    let starts = (1..bytes.len()).filter(|at| {
        let before = bytes[at - 1];
        bytes[*at].is_ascii_digit() && matches!(before, b':' | b',' | b'[')
    });
    for start in starts {
        let rest = &text[start..];
        let len = rest
            .find(|c: char| !matches!(c, '0'..='9' | '.' | 'e' | '-' | '+'))
            .unwrap_or(rest.len());
        texts.extend(
            numbers
                .iter()
                .map(|number| format!("{}{number}{}", &text[..start], &rest[len..])),
        );
    }
    texts
}

#[test]
fn reports_of_damaged_records_come_to_an_end() {
    // Every number in turn is one that nothing can be divided by or drawn at; where it is of no such kind, the record is refused.
    let numbers = ["0", "0.0", "-1.5", "1e-320", "1e300", "18446744073709551615"];
    let mut read = 0;
    for text in [record(), swept()]
        .iter()
        .flat_map(|record| damaged(&record.to_json().unwrap(), &numbers))
    {
        let Ok(records) = Record::from_json(&text) else {
            continue;
        };
        read += 1;
        let page = report::page(&records);
        assert_drawn(&parsed(&page).unwrap());
        for record in &records {
            assert!(!report::table(record).is_empty());
            assert!(!report::ceilings(record).is_empty());
            let _ = report::summary(record);
        }
        assert!(!report::csv(&records).is_empty());
        assert!(!relief_lab::compare::compare(&records, &records, 0.03).is_empty());
    }
    assert!(read > 200, "{read} records were read");
}

#[test]
fn files_longer_than_any_record_are_not_read_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("record.json");
    std::fs::write(&path, record().to_json().unwrap()).unwrap();
    let text = relief_lab::read_text(&path).unwrap();
    assert_eq!(Record::from_json(&text).unwrap(), [record()]);
    // A file of any length that takes no room.
    let long = std::fs::File::create(&path).unwrap();
    long.set_len(1 << 40).unwrap();
    let refused = relief_lab::read_text(&path).unwrap_err();
    assert!(refused.to_string().contains("32 MiB"), "{refused}");
}

#[test]
fn a_page_of_a_family_has_its_lesson_its_bound_and_the_ladder() {
    let mut record = record();
    record.header.device = "cpu".to_owned();
    record.rows[0].variant = "scalar".to_owned();
    record.rows[1].variant = "memcpy".to_owned();
    record.rows[2].variant = "threads production".to_owned();
    record.rows.insert(2, row("copy", "2^20 u32", "of old", &[2e-3]));
    let mut rungs = report::Rungs::default();
    let marked =
        "// rung: copy on cpu: scalar\n    copy();\n// end\n// rung: copy on cpu: memcpy = the platform's\n";
    rungs.add("relief-lab/a.rs", marked).unwrap();
    let pages = report::markdown(&[record], &families::all(), &rungs);
    let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["copy.md", "map.md", "sources.md"]);
    let (copy, map, sources) = (&pages[0].1, &pages[1].1, &pages[2].1);
    let all = families::all();
    let family = all.iter().find(|family| family.name == "copy").unwrap();
    assert!(copy.contains(family.wins) && copy.contains(family.loses));
    assert!(copy.contains("\n## A &lt;fast> device\n"), "{copy}");
    assert!(
        copy.contains(
            "**Bound.** 2^20 u32: at least 4.00 MiB read, 4.00 MiB written; the ceiling of copy allows 1.000 ms."
        ),
        "{copy}"
    );
    // 4.1 ms and 1.1 ms; the one between is wrong and has no time, and one is in the lab no more.
    let variants = family.ladders[0].variants();
    let idea = |name: &str| variants.iter().find(|about| about.name == name).unwrap().idea;
    let figure = "861.8 µs, \"155.7 GB/s\"";
    let lines = [
        format!(
            "| `scalar` | {} | 4.100 ms | 24.4 % | 1.00 |  | {figure} |",
            idea("scalar")
        ),
        format!("| `memcpy` | {} | wrong |  |  |  | {figure} |", idea("memcpy")),
        format!(
            "| **`threads production`** | {} | 1.100 ms | 90.9 % | 3.73 | 3.73 | {figure} |",
            idea("threads production")
        ),
        "The record has 1 variant more, which the lab has no longer.".to_owned(),
    ];
    for line in lines {
        assert!(copy.contains(&line), "{line}\n{copy}");
    }
    assert!(!copy.contains("of old"), "{copy}");
    let (_, code) = copy
        .split_once("## The lines of each variant, on processors\n")
        .unwrap();
    assert!(
        code.contains("`scalar`") && code.contains("(`crates/relief-lab/a.rs`)\n\n```rust\ncopy();\n```\n"),
        "{code}"
    );
    assert!(
        code.contains("`memcpy`: no lines of its own: the platform's.\n"),
        "{code}"
    );
    assert!(map.contains("| variant | k = 1 | k = 51 |\n"), "{map}");
    assert!(map.contains("| `plain` | 1.000 µs | 51.00 µs |\n"), "{map}");
    assert!(
        sources.contains(&format!(
            "| copy | **`threads production`** | {figure} | 2^24 u32 | 1.100 ms | 2^20 u32 | A &lt;fast> device |"
        )),
        "{sources}"
    );
}

#[test]
fn counters_on_pages_are_those_of_their_records() {
    let records = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/record");
    let families = families::all();
    for counted in report::COUNTED {
        assert!(
            families.iter().any(|family| family.name == counted.family),
            "{counted:?}"
        );
        let text = std::fs::read_to_string(records.join(counted.record)).unwrap();
        for figure in counted.figures {
            assert!(text.contains(figure), "{} has no {figure:?}", counted.record);
        }
    }
}

/// Variants of devices tell their ideas only where the lab has them.
#[cfg(feature = "gpu")]
#[test]
fn every_page_of_the_documentation_is_that_of_its_records() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = root.join("docs/lab");
    let list = std::fs::read_to_string(docs.join("records")).unwrap();
    let records: Vec<Record> = list
        .lines()
        .filter(|line| !line.is_empty())
        .flat_map(|name| {
            let text = relief_lab::read_text(&root.join("bench/record").join(name)).unwrap();
            Record::from_json(&text).unwrap()
        })
        .collect();
    let families = families::all();
    let rungs = report::Rungs::read(&root.join("crates")).unwrap();
    every_mark_is_of_a_variant(&rungs, &families);
    every_variant_has_lines_or_says_why_not(&records, &rungs, &families);
    let pages = report::markdown(&records, &families, &rungs);
    if std::env::var_os("RELIEF_BLESS").is_some() {
        for (name, text) in &pages {
            std::fs::write(docs.join(name), text).unwrap();
        }
    }
    for (name, text) in &pages {
        let written = std::fs::read_to_string(docs.join(name)).unwrap_or_default();
        assert!(
            written == *text,
            "docs/lab/{name} is stale; RELIEF_BLESS=1 writes it anew"
        );
    }
    let mut known: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
    known.extend(["lessons.md", "records"]);
    for entry in std::fs::read_dir(&docs).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(known.contains(&name.as_str()), "docs/lab/{name} is of no record");
    }
}

/// Marks of a variant that is called otherwise by now would be shown nowhere.
#[cfg(feature = "gpu")]
fn every_mark_is_of_a_variant(rungs: &report::Rungs, families: &[relief_lab::family::Family]) {
    for rung in rungs.all() {
        for name in &rung.names {
            let known = families.iter().flat_map(|family| &family.ladders).any(|ladder| {
                let of_path =
                    ladder.name() == rung.path || ladder.name().starts_with(&format!("{}/", rung.path));
                let is_it = |about: &&relief_lab::family::About| about.gpu == rung.gpu && about.name == *name;
                of_path && ladder.variants().iter().any(is_it)
            });
            assert!(known, "no ladder {} has a variant {name}: {rung:?}", rung.path);
        }
        if let report::Code::Lines { file, text } = &rung.code {
            let lines = text.lines().count();
            assert!(
                lines <= report::MAX_LINES,
                "{lines} lines of {:?} in {file}: only those that make the difference",
                rung.names
            );
        }
    }
}

/// What a page has in its tables.
#[cfg(feature = "gpu")]
fn every_variant_has_lines_or_says_why_not(
    records: &[Record],
    rungs: &report::Rungs,
    families: &[relief_lab::family::Family],
) {
    let mut without: Vec<String> = Vec::new();
    for record in records {
        let gpu = record.header.device != "cpu";
        for row in &record.rows {
            let ladder = families
                .iter()
                .flat_map(|family| &family.ladders)
                .find(|ladder| ladder.name() == row.ladder);
            let Some(ladder) = ladder else { continue };
            let shown = ladder
                .variants()
                .iter()
                .any(|about| about.gpu == gpu && about.name == row.variant);
            if shown && rungs.find(&row.ladder, gpu, &row.variant).is_none() {
                without.push(format!(
                    "{} on {}: {}",
                    row.ladder,
                    if gpu { "gpu" } else { "cpu" },
                    row.variant
                ));
            }
        }
    }
    without.sort();
    without.dedup();
    assert!(
        without.is_empty(),
        "variants of pages without '// rung:' in the sources:\n{}",
        without.join("\n")
    );
}
