//! `relief stats`: figures of a raster, without computing all of it where that can be.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use relief_engine::{Cancel, Counts, Raster, Runs, Statistic, Summary};
use relief_io::StatisticsSink;
use relief_raster::{Depth, Rect};
use serde::Serialize;

use crate::arguments::{Job, Watch};
use crate::design::{self, Warnings};
use crate::failure::Failure;
use crate::quantity::{cost_in_samples, effort_in_samples};
use crate::{interrupt, job};

/// Rasters of up to so many samples are computed whole: that takes no longer than looking at parts of them until little is open.
const WHOLE: u64 = 1 << 30;

/// The most samples of others that are computed.
const EFFORT: u64 = 1 << 28;

/// The bars of a histogram as text.
const BARS: usize = 16;

#[derive(Debug, Args)]
pub(crate) struct Stats {
    #[command(flatten)]
    job: Job,
    /// Compute what is not known, up to --cost samples, so that every figure is exact
    #[arg(long)]
    exact: bool,
    /// The most samples that --exact computes; more are refused before the start
    #[arg(long, value_name = "SAMPLES", default_value_t = 100_000_000_000, value_parser = cost_in_samples)]
    cost: u64,
    /// The most samples that are computed without --exact [default: all of up to 2^30, of others 2^28]
    #[arg(long, value_name = "SAMPLES", value_parser = effort_in_samples)]
    effort: Option<u64>,
    /// Take the sum, the least and the greatest sample from the overview that rendering the whole raster left behind [default: one that lies beside
    /// the design or in the working folder, if there is one]
    #[arg(long, value_name = "OUTPUT.overview", conflicts_with_all = ["region", "exact"])]
    overview: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    watch: Watch,
}

/// What is known of a raster: each pair is the least and the greatest that a figure may be.
#[derive(Debug)]
struct Figures {
    exact: bool,
    summary: Summary,
    /// How often each sample is there, at least and at most.
    histogram: (Vec<u128>, Vec<u128>),
    /// The runs of set pixels along rows.
    runs: Runs,
}

pub(crate) fn run(stats: &Stats) -> Result<(), Failure> {
    let opened = design::open(
        &stats.job.file,
        &stats.job.reading(),
        Warnings::unless(stats.watch.is_silent() || stats.json),
    )?;
    let raster = job::raster(&opened.design, &stats.job)?;
    let written = match &stats.overview {
        Some(path) => {
            let found = job::overview(&opened, path)?.summary();
            Some(found.map_err(|source| Failure::File {
                action: "cannot read the overview",
                path: path.display().to_string(),
                source,
            })?)
        }
        None if stats.job.region.is_none() && !stats.exact => {
            let found = job::nearby_overview(&opened, &stats.job.file);
            found.and_then(|(path, found)| {
                tracing::info!("taken from {}", path.display());
                found.summary().ok()
            })
        }
        None => None,
    };
    let pixels = u128::from(raster.width) * u128::from(raster.height);
    let cancel = Cancel::new();
    let guard = interrupt::watch(&cancel, None);
    let by_computing = || -> Result<Figures, Failure> {
        let mut sink = StatisticsSink::new();
        let plan = job::plan_for(&opened, &stats.job, &sink)?;
        job::run(&opened, plan, None, &mut sink, &stats.watch, &cancel)?;
        Ok(computed(&sink))
    };
    let effort = stats.effort.unwrap_or(EFFORT);
    let figures = if pixels <= u128::from(stats.effort.unwrap_or(WHOLE)) {
        by_computing()?
    } else {
        let plan = job::plan_counts(&opened, &stats.job)?;
        let renderer = job::renderer(&opened, plan, None, &stats.watch, &cancel)?;
        let all = Rect::sized(raster.width, raster.height);
        let counts = renderer.counts(all, effort, &cancel)?;
        let figures = |summary: Summary| -> Result<Figures, Failure> {
            let runs = renderer.runs(all, &summary)?;
            Ok(of_counts(&counts, runs, summary))
        };
        let known = match counts.is_exact() {
            true => Some(figures(counts.summary())?),
            false => None,
        };
        if stats.exact && known.as_ref().is_none_or(|known| !known.exact) {
            drop(renderer);
            if pixels > u128::from(stats.cost) {
                return Err(Failure::Usage(format!(
                    "--exact would compute {pixels} samples, --cost allows {}; give it more, a --region, or leave --exact out",
                    stats.cost
                )));
            }
            by_computing()?
        } else if let Some(written) = written {
            figures(written.and_known(counts.summary()))?
        } else if let Some(known) = known {
            known
        } else {
            // Sums are known better than the histogram says, also of what it does not tell apart.
            let summary = renderer.summary(all, Statistic::Mean, effort, &cancel)?;
            figures(summary.and_known(counts.summary()))?
        }
    };
    drop(guard);
    let mut out = io::stdout();
    if stats.json {
        let told = Told::of(&raster, &figures);
        serde_json::to_writer_pretty(&mut out, &told).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        write!(out, "{}", as_text(&opened.name, &raster, &figures))?;
    }
    Ok(())
}

fn computed(sink: &StatisticsSink) -> Figures {
    let counts: Vec<u128> = sink.counts().iter().map(|count| u128::from(*count)).collect();
    Figures {
        exact: true,
        summary: Summary::of_counts(&counts),
        histogram: (counts.clone(), counts),
        runs: Runs::counted(sink.runs(), sink.longest()),
    }
}

fn of_counts(counts: &Counts, runs: Runs, summary: Summary) -> Figures {
    Figures {
        exact: counts.is_exact() && runs.is_exact(),
        summary,
        histogram: (counts.least().to_vec(), counts.most()),
        runs,
    }
}

/// A figure between two, as text.
fn between<T: PartialEq + std::fmt::Display>((least, most): (T, T)) -> String {
    if least == most {
        least.to_string()
    } else {
        format!("{least} to {most}")
    }
}

fn mean(summary: &Summary) -> (f64, f64) {
    let mean = |sum: u128| sum as f64 / summary.pixels as f64;
    (mean(summary.sum.0), mean(summary.sum.1))
}

/// How many samples are not 0.
const fn set(summary: &Summary) -> (u128, u128) {
    (summary.pixels - summary.zeros.1, summary.pixels - summary.zeros.0)
}

fn as_text(name: &str, raster: &Raster, figures: &Figures) -> String {
    let summary = &figures.summary;
    let mut text = format!(
        "{}: {} × {} samples of {}, {}\n",
        relief_design::visible(name),
        raster.width,
        raster.height,
        raster.depth,
        if figures.exact {
            "all figures exact"
        } else if summary.is_exact() && figures.histogram.0 == figures.histogram.1 {
            "all figures exact but the runs; --exact computes them"
        } else {
            "figures within what is proved; --exact computes them"
        }
    );
    let (low, high) = mean(summary);
    let mut line = |what: &str, value: String| {
        let _ = writeln!(text, "{what:<10}{value}");
    };
    line("sum", between(summary.sum));
    line("mean", between((format!("{low:.4}"), format!("{high:.4}"))));
    line("least", between(summary.least));
    line("greatest", between(summary.greatest));
    line("set", format!("{} (samples above 0)", between(set(summary))));
    line("clear", between(summary.zeros));
    line(
        "runs",
        format!(
            "{} of set samples along rows, the longest of {}",
            between(figures.runs.count),
            between(figures.runs.longest)
        ),
    );
    text.push_str("histogram\n");
    let (least, most) = &figures.histogram;
    let each = least.len() / BARS;
    for bar in 0..BARS {
        let from = bar * each;
        let sum = |counts: &[u128]| counts[from..from + each].iter().sum::<u128>();
        // What is only known within bounds may lie in one sample of several, and counts once.
        let most = sum(most).min(summary.pixels);
        let range = format!("{from}…{}", from + each - 1);
        let _ = writeln!(text, "  {range:<14}{}", between((sum(least), most)));
    }
    text
}

/// The figures as JSON. Counts are whole numbers, of up to 96 bits.
#[derive(Serialize)]
struct Told<'a> {
    width: u64,
    height: u64,
    bits: u32,
    exact: bool,
    pixels: u128,
    sum: Pair<u128>,
    mean: Pair<f64>,
    least: Pair<u16>,
    greatest: Pair<u16>,
    set: Pair<u128>,
    clear: Pair<u128>,
    runs: ToldRuns,
    histogram: Histogram<'a>,
}

#[derive(Serialize)]
struct Pair<T> {
    at_least: T,
    at_most: T,
}

impl<T> From<(T, T)> for Pair<T> {
    fn from((at_least, at_most): (T, T)) -> Self {
        Self { at_least, at_most }
    }
}

#[derive(Serialize)]
struct ToldRuns {
    count: Pair<u128>,
    longest: Pair<u64>,
}

#[derive(Serialize)]
struct Histogram<'a> {
    at_least: &'a [u128],
    at_most: &'a [u128],
}

impl<'a> Told<'a> {
    fn of(raster: &Raster, figures: &'a Figures) -> Self {
        let summary = &figures.summary;
        Self {
            width: raster.width,
            height: raster.height,
            bits: match raster.depth {
                Depth::Eight => 8,
                Depth::Sixteen => 16,
            },
            exact: figures.exact,
            pixels: summary.pixels,
            sum: summary.sum.into(),
            mean: mean(summary).into(),
            least: summary.least.into(),
            greatest: summary.greatest.into(),
            set: set(summary).into(),
            clear: summary.zeros.into(),
            runs: ToldRuns {
                count: figures.runs.count.into(),
                longest: figures.runs.longest.into(),
            },
            histogram: Histogram {
                at_least: &figures.histogram.0,
                at_most: &figures.histogram.1,
            },
        }
    }
}
