//! Progress on the standard error.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use relief_engine::Progress;
use serde::Serialize;

use crate::arguments::Watch;

/// The time between two lines or drawings.
const PACE: Duration = Duration::from_millis(200);

/// Whether the standard error is a terminal that does more than show text line by line.
pub(crate) fn can_draw() -> bool {
    io::stderr().is_terminal() && !only_text()
}

/// Whether the terminal is said to show nothing but text.
pub(crate) fn only_text() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Shows how far a job is: a bar on a terminal, lines of JSON where asked for, else nothing.
pub(crate) struct Meter {
    show: Show,
    last: Option<Instant>,
    /// The latest that was told.
    progress: Option<Progress>,
    /// Whether it is what comes before the first band.
    preparing: bool,
}

enum Show {
    Nothing,
    Bar(ProgressBar),
    Json(Option<Progress>),
}

/// What is done before the first band, as progress names it.
const PREPARING: &str = "preparing";

impl Meter {
    pub(crate) fn new(watch: &Watch) -> Self {
        let show = if watch.json_progress {
            Show::Json(None)
        } else if watch.quiet || !can_draw() {
            Show::Nothing
        } else {
            let bar = ProgressBar::with_draw_target(Some(10_000), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{bar:32} {msg}") {
                bar.set_style(style);
            }
            Show::Bar(bar)
        };
        Self {
            show,
            last: None,
            progress: None,
            preparing: false,
        }
    }

    /// One for what must be known of whole sources before the first band.
    pub(crate) fn preparing(watch: &Watch) -> Self {
        Self {
            preparing: true,
            ..Self::new(watch)
        }
    }

    pub(crate) fn tell(&mut self, progress: Progress) {
        self.progress = Some(progress);
        if let Show::Json(latest) = &mut self.show {
            *latest = Some(progress);
        }
        if progress.done < progress.total && self.last.is_some_and(|last| last.elapsed() < PACE) {
            return;
        }
        self.last = Some(Instant::now());
        match &mut self.show {
            Show::Nothing => {}
            Show::Bar(bar) => {
                bar.set_position((progress.done as f64 / progress.total as f64 * 10_000.0) as u64);
                let doing = if self.preparing { PREPARING } else { "" };
                bar.set_message(format!("{}  {doing}", describe(&progress)).trim_end().to_owned());
            }
            Show::Json(latest) => {
                print(&progress, self.preparing);
                *latest = None;
            }
        }
    }

    /// Shows the end, and gives what was told last.
    pub(crate) fn end(&mut self, done: bool) -> Option<Progress> {
        match &mut self.show {
            Show::Nothing => {}
            Show::Bar(bar) if done => bar.finish(),
            Show::Bar(bar) => bar.abandon(),
            Show::Json(latest) => {
                if let Some(progress) = latest {
                    print(progress, self.preparing);
                }
            }
        }
        self.progress
    }
}

fn describe(progress: &Progress) -> String {
    let percent = progress.done as f64 / progress.total as f64 * 100.0;
    let left = match progress.left() {
        Some(left) if progress.done < progress.total => format!("{} left", clock(left)),
        _ => format!("in {}", clock(progress.elapsed)),
    };
    format!("{percent:5.1} %  {}  {left}", rate(progress.rate()))
}

/// How long a job took and how fast it was.
pub(crate) fn pace(progress: &Progress) -> String {
    format!("in {}, {}", clock(progress.elapsed), rate(progress.rate()))
}

fn rate(pixels_per_second: f64) -> String {
    let (value, unit) = match pixels_per_second {
        rate if rate >= 1e9 => (rate / 1e9, "Gpx/s"),
        rate if rate >= 1e6 => (rate / 1e6, "Mpx/s"),
        rate => (rate / 1e3, "kpx/s"),
    };
    format!("{value:.2} {unit}")
}

fn clock(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (
        seconds / 86_400,
        seconds / 3_600 % 24,
        seconds / 60 % 60,
        seconds % 60,
    ) {
        (0, 0, 0, _) => format!("{:.1} s", duration.as_secs_f64()),
        (0, 0, minutes, seconds) => format!("{minutes} min {seconds:02} s"),
        (0, hours, minutes, _) => format!("{hours} h {minutes:02} min"),
        (days, hours, ..) => format!("{days} d {hours} h"),
    }
}

/// A line of progress. Counts are whole numbers, of up to 80 bits.
#[derive(Serialize)]
struct Line {
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'static str>,
    done: u128,
    total: u128,
    elapsed_seconds: f64,
    pixels_per_second: f64,
    left_seconds: Option<f64>,
}

impl From<&Progress> for Line {
    fn from(progress: &Progress) -> Self {
        Self {
            stage: None,
            done: progress.done,
            total: progress.total,
            elapsed_seconds: progress.elapsed.as_secs_f64(),
            pixels_per_second: progress.rate(),
            left_seconds: progress.left().map(|left| left.as_secs_f64()),
        }
    }
}

fn print(progress: &Progress, preparing: bool) {
    let line = Line {
        stage: preparing.then_some(PREPARING),
        ..Line::from(progress)
    };
    if let Ok(line) = serde_json::to_string(&line) {
        // A job goes on when nobody listens any more.
        let _ = writeln!(io::stderr(), "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_whole_numbers_however_large() {
        let progress = Progress::new(1, 1 << 80, Duration::from_secs(2));
        let line = serde_json::to_string(&Line::from(&progress)).expect("a line");
        assert!(
            line.starts_with(r#"{"done":1,"total":1208925819614629174706176,"elapsed_seconds":2.0,"#),
            "{line}"
        );
    }
}
