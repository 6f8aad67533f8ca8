//! `relief diff`: where two designs differ, and by how much.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use relief_engine::{Cancel, Compared, DEFAULT_MEMORY, Options, Plan, Rect, Renderer, compare, differing};
use serde::Serialize;

use crate::arguments::Reading;
use crate::design::{self, Opened, Warnings};
use crate::failure::Failure;
use crate::interrupt;
use crate::quantity::{bytes, effort_in_samples};

/// The most rectangles that are told as text.
const MOST_TOLD: usize = 20;

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The design
    first: PathBuf,
    /// The design that it is compared with
    second: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// The most samples that are computed of each design
    #[arg(long, value_name = "SAMPLES", default_value_t = 10_000_000_000, value_parser = effort_in_samples)]
    cost: u64,
    /// The most memory it may take, such as 64MiB or 2GB [default: 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    memory: Option<u64>,
    /// Worker threads [default: one for each processor]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Exits with 0 where both are the same, 1 where they differ and 2 where that could not be found out, as `diff` does.
pub(crate) fn run(diff: &Diff) -> ExitCode {
    match found(diff) {
        Ok(false) => ExitCode::SUCCESS,
        Ok(true) => ExitCode::from(1),
        Err(failure) => {
            let code = failure.report();
            if code == ExitCode::from(130) || code == ExitCode::SUCCESS {
                code
            } else {
                ExitCode::from(2)
            }
        }
    }
}

/// A rectangle in which the designs may differ, and what comparing it found.
struct Place {
    rect: Rect,
    found: Compared,
}

/// Whether the rasters of both differ.
fn found(diff: &Diff) -> Result<bool, Failure> {
    let first = design::open(
        &diff.first,
        &diff.reading.within(diff.memory),
        Warnings::unless(diff.json),
    )?;
    let second = design::open(
        &diff.second,
        &diff.reading.within(diff.memory),
        Warnings::unless(diff.json),
    )?;
    let (one, other) = (first.design.canvas(), second.design.canvas());
    let mut out = io::stdout();
    if one.depth != other.depth {
        if diff.json {
            writeln!(
                out,
                "{:#}",
                serde_json::json!({ "same": false, "bits": [one.depth.bits(), other.depth.bits()] })
            )?;
        } else {
            writeln!(out, "samples of {} and of {}", one.depth, other.depth)?;
        }
        return Ok(true);
    }
    let same = same_pictures(&first, &second)?;
    let rects = differing(&first.design, &second.design, &|name| same.contains(name))?;
    let sized = (one.width, one.height) != (other.width, other.height);
    let cancel = Cancel::new();
    let guard = interrupt::watch(&cancel, None);
    let places = if rects.is_empty() {
        Vec::new()
    } else {
        compared(diff, (&first, &second), &rects, &cancel)?
    };
    drop(guard);
    let all = places
        .iter()
        .fold(Compared::default(), |all, place| all.and(place.found));
    let open: u128 = places.iter().map(|place| place.rect.area()).sum::<u128>() - all.compared;
    let sizes = sized.then_some([[one.width, one.height], [other.width, other.height]]);
    if diff.json {
        let told = Told::of(&places, &all, open, sizes);
        serde_json::to_writer_pretty(&mut out, &told).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", as_text(&places, &all, open, sizes))?;
    }
    if sized || all.different > 0 {
        return Ok(true);
    }
    if open > 0 {
        return Err(Failure::Usage(format!(
            "no difference was found in the {} samples that were compared; {open} more may differ: give --cost more",
            all.compared
        )));
    }
    Ok(false)
}

/// The pictures that both designs name and that are the same bytes.
pub(super) fn same_pictures(first: &Opened, second: &Opened) -> Result<BTreeSet<String>, Failure> {
    let digest = |opened: &Opened, name: &str| {
        opened.files.digest(name).map_err(|source| Failure::File {
            action: "cannot read",
            path: name.to_owned(),
            source,
        })
    };
    let others: BTreeSet<&str> = second.design.files().collect();
    let names: BTreeSet<&str> = first
        .design
        .files()
        .filter(|name| others.contains(name))
        .collect();
    let mut same = BTreeSet::new();
    for name in names {
        if digest(first, name)? == digest(second, name)? {
            same.insert(name.to_owned());
        }
    }
    Ok(same)
}

fn compared(
    diff: &Diff,
    (first, second): (&Opened, &Opened),
    rects: &[Rect],
    cancel: &Cancel,
) -> Result<Vec<Place>, Failure> {
    // Both are held at the same time.
    let memory = diff.memory.unwrap_or(DEFAULT_MEMORY) / 2;
    let hull = rects.iter().copied().reduce(|all, rect| all.union(&rect));
    let hull = hull.unwrap_or(Rect::EMPTY);
    let renderer = |opened: &Opened| -> Result<Renderer, Failure> {
        let options = Options::default()
            .memory(memory)
            .region(hull)
            .sink(Compared::memory())
            .with(|with| with.threads = diff.threads);
        let plan = Plan::new(&opened.design, &opened.files, &options)?;
        Ok(Renderer::new(plan, &opened.files, cancel)?)
    };
    let (first, second) = (renderer(first)?, renderer(second)?);
    let mut left = u128::from(diff.cost);
    let mut places = Vec::new();
    for rect in rects {
        let there = rect.translated(-hull.x(), -hull.y());
        let mut found = compare(&first, &second, there, left, cancel)?;
        left = left.saturating_sub(found.computed);
        found.within = found.within.map(|rect| rect.translated(hull.x(), hull.y()));
        places.push(Place { rect: *rect, found });
    }
    Ok(places)
}

fn shown(rect: &Rect) -> String {
    format!("{},{},{}x{}", rect.x(), rect.y(), rect.width(), rect.height())
}

fn as_text(places: &[Place], all: &Compared, open: u128, sizes: Option<[[u64; 2]; 2]>) -> String {
    let mut text = String::new();
    if let Some([[w, h], [other_w, other_h]]) = sizes {
        let _ = writeln!(
            text,
            "{w} × {h} and {other_w} × {other_h} pixels; what both have is compared"
        );
    }
    if places.is_empty() {
        text.push_str("no pixel can differ: the designs compute the same\n");
        return text;
    }
    let _ = writeln!(
        text,
        "{} of {} samples differ, by at most {}",
        all.different, all.compared, all.largest
    );
    if let Some(within) = all.within {
        let _ = writeln!(text, "all of them lie in {}", shown(&within));
    }
    if open > 0 {
        let _ = writeln!(text, "{open} samples are not compared: --cost allows no more");
    }
    text.push_str("the designs may differ in\n");
    for place in places.iter().take(MOST_TOLD) {
        let found = &place.found;
        let _ = writeln!(
            text,
            "  {:<32} {} of {} differ, by at most {}",
            shown(&place.rect),
            found.different,
            found.compared,
            found.largest
        );
    }
    if places.len() > MOST_TOLD {
        let _ = writeln!(text, "  and {} more rectangles", places.len() - MOST_TOLD);
    }
    text
}

/// What was found as JSON. Counts are whole numbers, of up to 80 bits.
#[derive(Serialize)]
struct Told {
    same: Option<bool>,
    sizes: Option<[[u64; 2]; 2]>,
    compared: u128,
    not_compared: u128,
    different: u128,
    largest: u16,
    within: Option<ToldRect>,
    rectangles: Vec<ToldPlace>,
}

#[derive(Serialize)]
struct ToldRect {
    x: i64,
    y: i64,
    width: u64,
    height: u64,
}

#[derive(Serialize)]
struct ToldPlace {
    #[serde(flatten)]
    rect: ToldRect,
    compared: u64,
    different: u64,
    largest: u16,
}

impl From<&Rect> for ToldRect {
    fn from(rect: &Rect) -> Self {
        Self {
            x: rect.x(),
            y: rect.y(),
            width: rect.width(),
            height: rect.height(),
        }
    }
}

impl Told {
    fn of(places: &[Place], all: &Compared, open: u128, sizes: Option<[[u64; 2]; 2]>) -> Self {
        let different = sizes.is_some() || all.different > 0;
        Self {
            same: (different || open == 0).then_some(!different),
            sizes,
            compared: all.compared,
            not_compared: open,
            different: all.different,
            largest: all.largest,
            within: all.within.as_ref().map(ToldRect::from),
            rectangles: places
                .iter()
                .map(|place| ToldPlace {
                    rect: ToldRect::from(&place.rect),
                    compared: u64::try_from(place.found.compared).unwrap_or(u64::MAX),
                    different: u64::try_from(place.found.different).unwrap_or(u64::MAX),
                    largest: place.found.largest,
                })
                .collect(),
        }
    }
}
