//! What is written can be read: by our own reader, and by those of others.

use relief_lab::family::Operation;
use relief_lab::statistics::Summary;
use relief_lab::{
    Again, Bound, Ceilings, Conditions, Header, Point, Record, Row, Shares, Span, Timeline, Transfer,
    Verdict, report,
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
}

#[test]
fn the_page_is_well_formed_and_shows_every_variant() {
    let page = report::page(&[record()]);
    let options = roxmltree::ParsingOptions {
        allow_dtd: true,
        ..Default::default()
    };
    let document = roxmltree::Document::parse_with_options(&page, options).unwrap();
    let pictures = document.descendants().filter(|node| node.has_tag_name("svg"));
    // Bars of copy and distance, times and throughput of a sweep, what is under each roof, and a timeline.
    assert_eq!(pictures.count(), 7);
    let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
    for row in record().rows {
        assert!(
            texts.iter().any(|text| text.trim() == row.variant),
            "{}",
            row.variant
        );
    }
    for number in document.descendants().flat_map(|node| node.attributes()) {
        let numeric =
            ["x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height"].contains(&number.name());
        let finite = || number.value().parse::<f64>().is_ok_and(f64::is_finite);
        assert!(!numeric || finite(), "{number:?}");
    }
    assert!(!page.contains("http"), "the page asks for nothing");
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
