//! A record as one page that needs nothing else: no scripts, no fonts, no network.

use crate::record::Record;

use super::svg::escape;
use super::{Case, Section, plot, sections, summary, table, timeline};

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1d2433;--soft:#667085;--paper:#fff;--bar:#9db4d6;--own:#1f6f5c;--red:#b42318;\
--line:#e4e7ec;--roof:#b54708}\
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ef;--soft:#98a2b3;--paper:#12161f;--bar:#4a6796;--own:#4cc2a3;\
--red:#f97066;--line:#2a3140;--roof:#f79009}}\
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:var(--ink);\
background:var(--paper)}h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2.5rem;border-top:1px solid var(--line);\
padding-top:1rem}h3{font-size:.95rem;font-weight:600;margin-bottom:.2rem}\
pre{font-size:12.5px;overflow-x:auto;color:var(--soft)}details{margin:.5rem 0}summary{cursor:pointer;color:var(--soft)}\
svg{max-width:100%;height:auto;display:block;font:12px system-ui,sans-serif}text{fill:var(--ink)}\
.note,.tick{fill:var(--soft);font-size:11px}.note{paint-order:stroke;stroke:var(--paper);stroke-width:3}\
.bad{fill:var(--red)}.value{font-variant-numeric:tabular-nums}\
.bar{fill:var(--bar)}.production{fill:var(--own)}.bar.rival{fill:none;stroke:var(--soft);stroke-dasharray:3 2}.spread{stroke:var(--ink);stroke-width:1.5}\
.ceiling{stroke:var(--roof);stroke-width:1.5;stroke-dasharray:5 3}.grid{stroke:var(--line)}.axis{stroke:var(--soft)}\
.roof{fill:none;stroke:var(--roof);stroke-width:2}.dot{fill:var(--bar);stroke:var(--paper)}\
.dot.production{fill:var(--own)}.series{fill:none;stroke-width:1.5}\
.series.rival{stroke:var(--soft);stroke-dasharray:4 3}.dot.rival{fill:var(--soft)}\
.s0{color:#3b6fb6}.s1{color:#c2571a}.s2{color:#2c8f5f}.s3{color:#8a5bb5}.s4{color:#a8901f}.s5{color:#c23b7c}\
.s6{color:#1f9bb5}.s7{color:#8c7a68}\
.series.d0,.series.d1,.series.d2,.series.d3{stroke:currentColor}.dot.d0{fill:currentColor}\
.dot.d1,.dot.d2,.dot.d3{fill:var(--paper);stroke:currentColor;stroke-width:1.5}\
.series.d1{stroke-dasharray:7 3}.series.d2{stroke-dasharray:2 3}.series.d3{stroke-dasharray:9 3 2 3}\
.step.up{fill:#3b6fb6}.step.computed{fill:#b6603b}.step.down{fill:#3b9a6e}";

/// The page of one or more records.
#[must_use]
pub fn page(records: &[Record]) -> String {
    let mut body = String::from("<h1>Relief lab</h1>\n");
    for record in records {
        let folded =
            |title, text: &str| format!("<details><summary>{title}</summary>{}</details>\n", pre(text));
        body += &format!("{}\n", pre(&table::header(record)));
        body += &folded("Ceilings", &table::ceilings(record));
        for section in sections(record) {
            body += &show(&section, record);
        }
        body += &format!(
            "<h2>Production and the others</h2>\n{}\n",
            pre(&summary::summary(record))
        );
        body += &folded("Everything as a table", &table::table(record));
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" \
         content=\"width=device-width,initial-scale=1\"/>\n<title>Relief lab</title>\n<style>{STYLE}</style>\n</head>\n\
         <body>\n{body}</body>\n</html>\n"
    )
}

fn pre(text: &str) -> String {
    format!("<pre>{}</pre>", escape(text))
}

fn show(section: &Section<'_>, record: &Record) -> String {
    let mut text = format!("<h2>{}</h2>\n", escape(section.ladder));
    text += &note(section.source.map(|source| format!("source: {source}")));
    let swept = section.sweeps();
    if let Some(axis) = swept {
        for shown in [plot::Shown::Time, plot::Shown::Throughput] {
            text += &plot::sweep(section, axis, shown).unwrap_or_default();
        }
        text += &note(summary::worst(section));
    }
    let shown = with_bars(section);
    for case in &shown {
        text += &format!("<h3>{}</h3>\n", escape(case.name));
        text += &plot::bars(case);
        let standing = case.standing.as_ref().filter(|_| swept.is_none());
        text += &note(standing.map(summary::sentence));
    }
    if shown.len() < section.cases.len() {
        let (some, all) = (shown.len(), section.cases.len());
        text += &note(Some(format!(
            "bars of {some} of {all} cases; all are in the table below"
        )));
    }
    if let Some(roof) = plot::roof(section, &record.ceilings) {
        text += "<h3>Under the roof</h3>\n";
        text += &roof;
    }
    let timelines = record.timelines.iter();
    for spans in timelines.filter(|timeline| timeline.ladder == section.ladder) {
        text += &format!("<h3>When each chunk was where, {}</h3>\n", escape(&spans.name));
        text += &timeline::timeline(spans);
    }
    text
}

/// The cases that have bars: all, but of a long sweep the first, the middle and the last that were timed. The sweep's lines show the others.
fn with_bars<'a, 'b>(section: &'b Section<'a>) -> Vec<&'b Case<'a>> {
    let all: Vec<&Case<'_>> = section.cases.iter().collect();
    if section.sweeps().is_none() || all.len() <= 3 {
        return all;
    }
    let is_timed = |case: &&Case<'_>| case.rows.iter().any(|row| row.summary.is_some());
    let timed: Vec<&Case<'_>> = all.iter().copied().filter(is_timed).collect();
    let from = if timed.is_empty() { all } else { timed };
    let mut places = vec![0, from.len() / 2, from.len() - 1];
    places.dedup();
    places.into_iter().map(|place| from[place]).collect()
}

fn note(text: Option<String>) -> String {
    let text = text.map(|text| format!("<p class=\"note\">{}</p>\n", escape(&text)));
    text.unwrap_or_default()
}
