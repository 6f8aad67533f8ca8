//! Other programs beside our own: their records are read strictly, join only what they belong to, and stand in every report.

use relief_lab::standing::standings;
use relief_lab::statistics::Summary;
use relief_lab::{Again, Header, Record, Row, Verdict, report, rivals};

const TOOL: &str = r#"{"tool":{"tool":"CUB","version":"3.0.1","device":"A device","driver":"CUDA 13.0","date":"2026-11-21T08:00:00Z","command":"run"}}"#;

fn timed(case: &str, name: &str, median: f64) -> String {
    format!(
        r#"{{"rival":{{"ladder":"copy","case":"{case}","name":"{name}","median":{median:e},"p10":{:e},"p90":{:e},"samples":20,"right":"every word"}}}}"#,
        0.9 * median,
        1.1 * median
    )
}

fn lines(lines: &[&str]) -> String {
    lines.join("\n") + "\n"
}

fn row(variant: &str, case: &str, median: Option<f64>) -> Row {
    Row {
        ladder: "copy".to_owned(),
        case: case.to_owned(),
        axis: None,
        place: None,
        variant: variant.to_owned(),
        production: variant == "ours",
        source: None,
        tuning: None,
        verdict: match median {
            Some(_) => Verdict::Right,
            None => Verdict::Wrong("at 0".to_owned()),
        },
        elements: 1 << 20,
        read: 4 << 20,
        written: 4 << 20,
        operations: None,
        working_set: 1 << 28,
        bound: None,
        batch: 1,
        samples: Vec::new(),
        summary: median.map(|median| Summary {
            median,
            p10: median,
            p90: median,
        }),
        again: Vec::new(),
    }
}

/// Two cases: one where production leads, one where it is a fifth slower than another variant.
fn record() -> Record {
    Record {
        header: Header {
            date: "2026-11-21T09:00:00Z".to_owned(),
            device: "cuda:0".to_owned(),
            name: "A device".to_owned(),
            ..Header::default()
        },
        ceilings: Default::default(),
        rows: vec![
            row("first", "2^20 u32", Some(2e-3)),
            row("ours", "2^20 u32", Some(1e-3)),
            row("wrong", "2^20 u32", None),
            row("first", "2^24 u32", Some(5e-3)),
            row("ours", "2^24 u32", Some(6e-3)),
        ],
        ..Record::default()
    }
}

fn joined(text: &str) -> Record {
    let mut record = record();
    rivals::join(&mut record, &rivals::read("rivals.json", text).unwrap());
    record
}

#[test]
fn records_may_follow_one_another_in_a_file() {
    let failed =
        r#"{"failed":{"ladder":"copy","case":"2^20 u32","name":"slow","reason":"it differs first at 7"}}"#;
    let text = lines(&[TOOL, &timed("2^20 u32", "fast", 2e-3), "", TOOL, failed]);
    let read = rivals::read("rivals.json", &text).unwrap();
    assert_eq!(read.len(), 2);
    let fast = &read[0].rivals[0];
    assert_eq!(
        (fast.program.as_str(), fast.device.as_str()),
        ("CUB 3.0.1", "A device")
    );
    assert_eq!(fast.summary.unwrap().median, 2e-3);
    let slow = &read[1].rivals[0];
    assert_eq!(
        (slow.summary, slow.reason.as_deref()),
        (None, Some("it differs first at 7"))
    );
}

#[test]
fn a_bad_file_is_refused_with_the_line_and_what_was_expected() {
    let without_median =
        r#"{"rival":{"ladder":"copy","case":"c","name":"n","p10":1,"p90":1,"samples":1,"right":"x"}}"#;
    let unordered = r#"{"rival":{"ladder":"copy","case":"c","name":"n","median":3,"p10":4,"p90":5,"samples":1,"right":"x"}}"#;
    let zero = unordered
        .replace("\"median\":3,\"p10\":4", "\"median\":0,\"p10\":0")
        .replace("5", "0");
    let word = unordered.replace("\"median\":3", "\"median\":\"3 ms\"");
    let more = TOOL.replace("\"command\"", "\"colour\":1,\"command\"");
    for (text, parts) in [
        (
            lines(&[TOOL, without_median]),
            ["line 2", "{\"rival\": …}", "missing field `median`"],
        ),
        (
            lines(&[TOOL, "", unordered]),
            ["line 3", "p10 ≤ median ≤ p90", "p10 4, median 3, p90 5"],
        ),
        (lines(&[TOOL, &zero]), ["line 2", "above 0", "median 0"]),
        (lines(&[TOOL, &word]), ["line 2", "{\"rival\": …}", "3 ms"]),
        (lines(&[unordered]), ["line 1", "p10 ≤ median ≤ p90", "median 3"]),
        (
            lines(&[&timed("c", "n", 1.0)]),
            ["line 1", "{\"tool\": …} before its rivals", "{\"rival\":"],
        ),
        (lines(&[&more]), ["line 1", "{\"tool\": …}", "colour"]),
        (
            "hello".to_owned(),
            ["line 1", "a line of a record of rivals", "hello: expected value"],
        ),
        (String::new(), ["line 1", "{\"tool\": …}", "an empty file"]),
    ] {
        let error = rivals::read("rivals.json", &text).unwrap_err().to_string();
        assert!(error.starts_with("rivals.json, line"), "{error}");
        for part in parts {
            assert!(error.contains(part), "'{part}' in: {error}");
        }
    }
}

#[test]
fn a_long_line_is_not_repeated_whole() {
    let text = "ü".repeat(5_000);
    let error = rivals::read("rivals.json", &text).unwrap_err().to_string();
    assert!(error.chars().count() < 300, "{error}");
}

#[test]
fn what_ran_on_another_device_is_left_out_and_said() {
    let elsewhere = TOOL.replace("A device", "Another");
    let record = joined(&lines(&[&elsewhere, &timed("2^20 u32", "fast", 2e-3)]));
    assert_eq!(record.rivals, []);
    let summary = report::summary(&record);
    assert!(
        summary.contains("left out, of Another, not of A device: CUB 3.0.1"),
        "{summary}"
    );
}

#[test]
fn cases_that_a_run_lacks_are_named_and_ladders_that_it_lacks_are_not() {
    let other = timed("2^10 f32", "sum", 1e-3).replace("copy", "reduce");
    let record = joined(&lines(&[TOOL, &timed("2^28 u32", "fast", 2e-3), &other]));
    assert_eq!(record.rivals, []);
    assert_eq!(
        record.notes,
        ["CUB 3.0.1: cases that this run does not have: 1, such as copy, 2^28 u32"]
    );
}

#[test]
fn of_what_ran_twice_the_later_counts() {
    let earlier = TOOL.replace("T08", "T07");
    let (old, new) = (timed("2^20 u32", "fast", 3e-3), timed("2^20 u32", "fast", 2e-3));
    for text in [
        lines(&[&earlier, &old, TOOL, &new]),
        lines(&[TOOL, &new, &earlier, &old]),
    ] {
        let record = joined(&text);
        assert_eq!(record.rivals.len(), 1);
        assert_eq!(record.rivals[0].summary.unwrap().median, 2e-3);
    }
}

#[test]
fn production_is_measured_against_the_best_of_its_table_and_against_rivals() {
    let record = joined(&lines(&[TOOL, &timed("2^20 u32", "fast", 2.5e-3)]));
    let all = standings(&record);
    let [leads, behind] = &all[..] else {
        panic!("two cases: {all:?}");
    };
    assert_eq!(
        (leads.best.as_str(), leads.ratio, leads.within),
        ("ours", 1.0, true)
    );
    assert_eq!(
        (leads.rivals[0].name.as_str(), leads.rivals[0].ratio),
        ("fast", 2.5)
    );
    assert_eq!((behind.best.as_str(), behind.within), ("first", false));
    assert!((behind.ratio - 5.0 / 6.0).abs() < 1e-12);
    let summary = report::summary(&record);
    assert!(
        summary.contains("within 5 % of the best of its table in 1 of 2 cases"),
        "{summary}"
    );
    let line = |part: &str| {
        summary
            .lines()
            .find(|line| line.contains(part))
            .unwrap()
            .to_owned()
    };
    assert!(line("2^20 u32").ends_with("2.50 fast"), "{summary}");
    assert!(line("2^24 u32").contains("0.83  BEHIND  first"), "{summary}");
}

#[test]
fn five_per_cent_more_than_the_best_is_as_good_and_six_is_not() {
    for (own, within) in [(1.05, true), (1.06, false)] {
        let mut record = record();
        record.rows = vec![row("other", "c", Some(1.0)), row("ours", "c", Some(own))];
        assert_eq!(standings(&record)[0].within, within, "{own}");
    }
}

#[test]
fn what_was_timed_again_in_turn_counts_and_the_table_is_told_beside_it() {
    let again = |variant: &str, median: f64| Again {
        variant: variant.to_owned(),
        ratio: Summary::of(&[median]).unwrap(),
    };
    // By medians one is 0.8 and the other 0.85 of production.
    let cases = [
        ([0.99, 0.97], ("other", 0.97, true)),
        ([0.99, 0.9], ("other", 0.9, false)),
        ([1.02, 1.2], ("ours", 1.0, true)),
    ];
    for ([first, other], (best, ratio, within)) in cases {
        let mut record = record();
        record.rows = vec![
            row("first", "c", Some(0.8)),
            row("other", "c", Some(0.85)),
            row("ours", "c", Some(1.0)),
        ];
        record.rows[2].again = vec![again("first", first), again("other", other)];
        let standing = &standings(&record)[0];
        assert_eq!(
            (standing.best.as_str(), standing.ratio, standing.within),
            (best, ratio, within)
        );
        assert_eq!(standing.before, Some(("first".to_owned(), 0.8)));
        let table = report::table(&record);
        let rounds = match best {
            "ours" => String::new(),
            _ => format!(" ({ratio:.2} to {ratio:.2})"),
        };
        let said = format!("timed again in turn{rounds}; 0.80 × first before");
        assert!(table.contains(&said), "{table}");
    }
}

#[test]
fn production_is_neither_within_nor_behind_where_its_rounds_differ_too_much() {
    // A tenth of the rounds are above the last number of each.
    let cases = [
        ([0.8, 0.9, 0.94], "BEHIND"),
        ([0.8, 0.9, 0.96], "unsure"),
        ([0.8, 0.96, 1.1], "within"),
    ];
    for (rounds, verdict) in cases {
        let mut record = record();
        record.rows = vec![row("first", "c", Some(0.8)), row("ours", "c", Some(1.0))];
        let [p10, median, p90] = rounds;
        record.rows[1].again = vec![Again {
            variant: "first".to_owned(),
            ratio: Summary { median, p10, p90 },
        }];
        let standing = &standings(&record)[0];
        assert_eq!(
            (standing.within, standing.is_unsure()),
            (verdict == "within", verdict == "unsure")
        );
        let summary = report::summary(&record);
        assert!(summary.lines().any(|line| line.contains(verdict)), "{summary}");
        assert_eq!(
            summary.contains("in 0 of 1 cases; in 1 of the others rounds differ too much to tell"),
            verdict == "unsure",
            "{summary}"
        );
    }
}

#[test]
fn a_ladder_without_a_timed_production_has_no_standing() {
    let mut record = record();
    record.rows = vec![row("first", "c", Some(1.0)), row("ours", "c", None)];
    assert_eq!(standings(&record), []);
    assert_eq!(report::summary(&record), "");
}

#[test]
fn rivals_stand_below_our_variants_in_every_report() {
    let failed = r#"{"failed":{"ladder":"copy","case":"2^20 u32","name":"odd <&>","reason":"it differs"}}"#;
    let record = joined(&lines(&[TOOL, &timed("2^20 u32", "fast", 2e-3), failed]));
    let table = report::table(&record);
    let lines: Vec<&str> = table.lines().collect();
    let place = |part: &str| lines.iter().position(|line| line.contains(part)).unwrap();
    let cells: Vec<&str> = lines[place("fast †")].split_whitespace().collect();
    // Twice our time of 1 ms; 8 MiB in 2 ms; as fast as the first.
    let expected = "fast † right 2.000 ms 1.800 ms–2.200 ms 4.194 GB/s 1.00 2.00 CUB 3.0.1, 2026-11-21";
    assert_eq!(cells, expected.split_whitespace().collect::<Vec<_>>());
    assert!(lines[place("odd <&> †")].contains("FAILED") && lines[place("odd <&> †")].contains("it differs"));
    assert!(place("ours *") < place("fast †"), "{table}");
    assert!(
        place("fast †") < place("production = 1.00 × the best, ours"),
        "{table}"
    );

    let csv = report::csv(std::slice::from_ref(&record));
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let names = reader.headers().unwrap().clone();
    let at = |name: &str| names.iter().position(|known| known == name).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 5 + 2);
    assert_eq!(
        (&rows[0][at("program")], &rows[0][at("times_production")]),
        ("relief", "")
    );
    let fast = rows.iter().find(|row| &row[at("variant")] == "fast").unwrap();
    assert_eq!(
        (&fast[at("program")], &fast[at("date")]),
        ("CUB 3.0.1", "2026-11-21T08:00:00Z")
    );
    assert_eq!(fast[at("times_production")].parse(), Ok(2.0));

    let page = report::page(std::slice::from_ref(&record));
    assert!(page.contains("fast †") && page.contains("odd &lt;&amp;&gt; †") && page.contains("bar rival"));
    assert!(page.contains("production = 1.00 × the best, ours"));
}

#[test]
fn a_sweep_says_its_rivals_below_and_production_at_its_worst() {
    let mut record = record();
    for (row, place) in record.rows.iter_mut().zip([1.0, 1.0, 1.0, 2.0, 2.0]) {
        row.axis = Some("size".to_owned());
        row.place = Some(place);
    }
    let text = lines(&[
        TOOL,
        &timed("2^20 u32", "fast", 2e-3),
        &timed("2^24 u32", "fast", 9e-3),
    ]);
    rivals::join(&mut record, &rivals::read("rivals.json", &text).unwrap());
    let table = report::table(&record);
    assert!(
        table.contains("2^24 u32: fast † 9.000 ms, × rival 1.50 (CUB 3.0.1, 2026-11-21)"),
        "{table}"
    );
    assert!(
        table.contains("production = 0.83 × the best, first; at its worst, 2^24 u32"),
        "{table}"
    );
    let page = report::page(&[record]);
    assert!(page.contains("series rival"), "a line for the rival");
}

#[test]
fn rivals_and_standings_are_lines_of_the_record_and_come_back() {
    let elsewhere = TOOL.replace("A device", "Another");
    let record = joined(&lines(&[TOOL, &timed("2^20 u32", "fast", 2e-3), &elsewhere]));
    let text = record.to_json().unwrap();
    assert_eq!(Record::from_json(&text).unwrap(), [record]);
    let values: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let standing = values.iter().find_map(|value| value.get("standing")).unwrap();
    assert_eq!(standing["rivals"][0]["ratio"], 2.0);
    assert_eq!(standing["within"], true);
}
