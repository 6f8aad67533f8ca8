//! Tells how a job goes: warnings before the start, a line or JSON while it runs, every underrun with its cause.

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use relief_engine::Renderer;
use relief_machine::{Estimate, JobState, Motion, Phase, Progress};
use relief_scan::Program;

use super::estimate::{sentence, time};
use super::slow::Slow;
use crate::arguments::Watch;

/// The time between two reports.
const PACE: Duration = Duration::from_millis(200);

/// The time without a connection after which that is told.
const PATIENCE: Duration = Duration::from_secs(2);

/// The time over which the live rate is taken.
const RECENT: Duration = Duration::from_secs(5);

pub(super) struct Report<'a> {
    json: bool,
    line: bool,
    quiet: bool,
    /// Whether there is a machine that is asked when the job is to stop, and whether the user was told that it is.
    asked: bool,
    stopping: bool,
    began_waiting: Option<Instant>,
    told_waiting: bool,
    program: &'a Program,
    rate: Option<f64>,
    motion: Option<Motion>,
    slow: Slow<'a>,
    underruns: u32,
    last: Option<Instant>,
    began: Option<(Instant, u64)>,
    recent: VecDeque<(Instant, u64, Duration)>,
}

impl<'a> Report<'a> {
    pub(super) fn new(
        watch: &Watch,
        rate: Option<u64>,
        motion: Option<Motion>,
        program: &'a Program,
        renderer: &'a Renderer,
        asked: bool,
    ) -> Self {
        Self {
            json: watch.json_progress,
            line: !watch.quiet && !watch.json_progress && io::stderr().is_terminal(),
            quiet: watch.quiet,
            asked,
            stopping: false,
            began_waiting: None,
            told_waiting: false,
            program,
            rate: rate.map(|rate| rate as f64),
            motion,
            slow: Slow::new(renderer),
            underruns: 0,
            last: None,
            began: None,
            recent: VecDeque::new(),
        }
    }

    pub(super) fn tell(&mut self, progress: &Progress) {
        match progress.phase {
            Phase::Filling => {}
            Phase::Ready => self.before_the_start(progress),
            Phase::Running => {
                self.began.get_or_insert((Instant::now(), progress.executed));
            }
        }
        if progress.state == JobState::Stopping && self.asked && !self.stopping {
            self.stopping = true;
            let text =
                "stopping: waiting for the machine to say what it has executed; a second Ctrl-C ends at once";
            self.note("stopping", text);
        }
        self.waiting(progress);
        if progress.underruns > self.underruns {
            self.underruns = progress.underruns;
            let cause = self.cause(progress);
            let (count, line) = (progress.underruns, progress.executed);
            self.note("underrun", &format!("underrun {count} at line {line}: {cause}"));
        }
        let done = progress.executed == progress.lines;
        if done || self.last.is_none_or(|last| last.elapsed() >= PACE) {
            self.last = Some(Instant::now());
            self.progress(progress);
        }
    }

    pub(super) fn end(&self) {
        if self.line {
            let _ = writeln!(io::stderr());
        }
    }

    /// Bytes a second that the machine takes: as it was said, or as its motion has it.
    fn demand(&self, progress: &Progress) -> Option<f64> {
        let bytes = progress.line_bytes()?;
        let moved = self.motion.map(|motion| bytes / motion.period(self.program));
        match (self.rate, moved) {
            (Some(rate), Some(moved)) => Some(rate.min(moved)),
            (rate, moved) => rate.or(moved),
        }
    }

    /// Says how long the job takes, and warns where lines are not made faster than the machine takes them.
    fn before_the_start(&mut self, progress: &Progress) {
        if progress.before > 0 && !self.quiet {
            let (before, lines) = (progress.before, progress.lines);
            let text = format!("going on after {before} of {lines} lines, which are executed");
            self.note("resumed", &text);
        }
        let making = progress.making.as_secs_f64() / progress.made_lines.max(1) as f64;
        let estimate = Estimate::new(
            self.program,
            progress.executed,
            self.motion.as_ref(),
            self.rate,
            (progress.made_lines > 0).then_some(making),
            progress.line_bytes().unwrap_or(0.0),
        );
        if let Some(text) = sentence(&estimate, self.asked).filter(|_| !self.quiet) {
            self.note("estimate", &text);
        }
        let slow = self.slow.part(progress);
        if let (Some(made), Some(demand)) = (progress.rate(), self.demand(progress))
            && made <= demand
        {
            let text = format!(
                "warning: lines are made at {}/s, the machine takes {}/s and will run dry; {slow}",
                size(made),
                size(demand)
            );
            self.note("warning", &text);
        }
    }

    /// Says once that nobody answers yet: connections are tried again without a word.
    fn waiting(&mut self, progress: &Progress) {
        if self.told_waiting || self.quiet || !self.asked || progress.connections > 0 {
            return;
        }
        let since = *self.began_waiting.get_or_insert_with(Instant::now);
        if since.elapsed() >= PATIENCE {
            self.told_waiting = true;
            let text = "no connection yet; it is tried again until --reconnect-timeout is over";
            self.note("waiting", text);
        }
    }

    /// Why the machine had nothing to execute.
    fn cause(&mut self, progress: &Progress) -> String {
        let slow = self.slow.part(progress);
        if !progress.connected {
            "there was no connection".to_owned()
        } else if progress.resting {
            "lines did not arrive in time, though they were made".to_owned()
        } else {
            format!("lines were not made in time; {slow}")
        }
    }

    /// A sentence of its own.
    fn note(&self, kind: &str, text: &str) {
        let mut out = io::stderr();
        let text = &*relief_design::visible(text);
        let _ = if self.json {
            writeln!(out, "{}", serde_json::json!({ kind: text }))
        } else if self.line {
            writeln!(out, "\r{text}\x1b[K")
        } else {
            writeln!(out, "{text}")
        };
    }

    /// Bytes a second at which lines are made now: over the last seconds in which any were.
    fn recent_rate(&mut self, progress: &Progress) -> Option<f64> {
        let now = Instant::now();
        self.recent.push_back((now, progress.made, progress.making));
        while self.recent.len() > 2 && now - self.recent[1].0 > RECENT {
            self.recent.pop_front();
        }
        let (_, made, making) = *self.recent.front()?;
        let seconds = progress.making.saturating_sub(making).as_secs_f64();
        if seconds > 0.0 && progress.made > made {
            Some((progress.made - made) as f64 / seconds)
        } else {
            progress.rate()
        }
    }

    fn progress(&mut self, progress: &Progress) {
        let made = self.recent_rate(progress);
        if self.quiet {
            return;
        }
        let lines_per_second = self.began.map_or(0.0, |(since, executed)| {
            progress.executed.saturating_sub(executed) as f64 / since.elapsed().as_secs_f64().max(1e-9)
        });
        let taken = lines_per_second * progress.line_bytes().unwrap_or(0.0);
        let demand = self.demand(progress).or((taken > 0.0).then_some(taken));
        let margin = made.zip(demand).map(|(made, demand)| made / demand);
        let left = progress.lines - progress.executed;
        let left = (lines_per_second > 0.0).then(|| left as f64 / lines_per_second);
        if self.json {
            let line = serde_json::json!({
                "phase": match progress.phase {
                    Phase::Filling => "filling",
                    Phase::Ready => "ready",
                    Phase::Running => "running",
                },
                "executed": progress.executed,
                "lines": progress.lines,
                "received": progress.received,
                "lines_per_second": lines_per_second,
                "made_bytes_per_second": made,
                "margin": margin,
                "ahead_bytes": progress.ahead,
                "underruns": progress.underruns,
                "connected": progress.connected,
                "left_seconds": left,
            });
            let _ = writeln!(io::stderr(), "{line}");
        } else if self.line {
            let ahead = demand.map_or(String::new(), |demand| {
                format!(" ({})", time(progress.ahead as f64 / demand))
            });
            let text = format!(
                "\r{} of {} lines  {}/s  margin {}  {} ahead{ahead}  {} left\x1b[K",
                progress.executed,
                progress.lines,
                size(taken),
                margin.map_or("-".to_owned(), |margin| format!("{:.1}×", margin.min(999.0))),
                size(progress.ahead as f64),
                left.map_or("-".to_owned(), time),
            );
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }
}

/// Bytes as rates of machines are given.
fn size(bytes: f64) -> String {
    match bytes {
        ..1e6 => format!("{:.1} kB", bytes / 1e3),
        ..1e9 => format!("{:.1} MB", bytes / 1e6),
        _ => format!("{:.1} GB", bytes / 1e9),
    }
}
