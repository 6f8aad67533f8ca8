//! What a command ends with when it fails, and how that is said.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use miette::{GraphicalReportHandler, GraphicalTheme};
use relief_io::SinkError;

use crate::quantity::{counted, show_bytes, slip};
use crate::show::can_draw;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The design is wrong.
    #[error("the design is wrong")]
    Design(#[from] Box<relief_design::Report>),
    /// Reading the files of a design takes more memory than a number that most likely lacks its unit.
    #[error("the design is wrong")]
    Slip {
        report: Box<relief_design::Report>,
        /// The memory that was allowed.
        memory: u64,
        /// What would do, where that was found.
        least: Option<u64>,
    },
    /// The engine or an output failed.
    #[error(transparent)]
    Engine(#[from] relief_engine::Error),
    /// A file cannot be read or written.
    #[error("{action} {path}")]
    File {
        /// What was tried: "cannot read".
        action: &'static str,
        /// Which file.
        path: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// No device is what was asked for.
    #[error(transparent)]
    Device(#[from] relief_engine::SelectionError),
    /// A machine, or what drives it, failed.
    #[error(transparent)]
    Machine(#[from] relief_machine::Error),
    /// The raster cannot be written as was asked for.
    #[error(transparent)]
    Sink(#[from] relief_io::SinkError),
    /// The arguments cannot be used together.
    #[error("{0}")]
    Usage(String),
    /// The file system has no room for the output.
    #[error("{0}")]
    Room(String),
    /// What was executed could not all be compared.
    #[error("{0}")]
    Unverified(String),
    /// What is doubtful, where that was to fail.
    #[error("{0}")]
    Doubtful(String),
    /// A file is not laid out as `fmt` would.
    #[error("{0} would change")]
    Unformatted(String),
    /// The program of the lab is not installed.
    #[error(
        "`relief lab` runs the program relief-lab, which is neither beside relief nor on the PATH; \
         install it from a clone of Relief by `cargo install --path crates/relief-lab`"
    )]
    NoLab,
    /// The server of a viewer failed.
    #[cfg(feature = "view")]
    #[error(transparent)]
    View(#[from] relief_view::Error),
    /// One of many jobs failed.
    #[error("{place}")]
    Job {
        /// Which one.
        place: String,
        /// Why.
        #[source]
        failure: Box<Failure>,
    },
    /// The standard output failed.
    #[error("cannot write to the standard output")]
    Output(#[from] io::Error),
}

impl Failure {
    /// The failure of one of many jobs. A report names the job itself.
    pub(crate) fn of(self, place: String) -> Self {
        match self {
            Self::Design(_) | Self::Slip { .. } | Self::Job { .. } => self,
            failure if failure.is_quiet() => failure,
            failure => Self::Job {
                place,
                failure: Box::new(failure),
            },
        }
    }

    /// Says what went wrong on the standard error, and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        let code = self.code();
        if self.is_quiet() {
            return ExitCode::from(code);
        }
        let mut text = String::new();
        match self {
            Self::Design(report) => {
                text = shown(report);
            }
            Self::Slip {
                report,
                memory,
                least,
            } => {
                text = shown(report);
                let slip = slip(*memory).unwrap_or_default();
                let least = least.map_or(String::new(), |least| {
                    let least = show_bytes(least.into());
                    format!(" {least} are the least that reads it, of those that are powers of 2")
                });
                text.push_str(&format!("relief: --memory is {slip}{least}"));
            }
            _ => {
                text.push_str("relief: ");
                text.push_str(&chain(self));
                let slip = match self {
                    Self::Engine(relief_engine::Error::Memory { limit, .. }) => {
                        slip(*limit).map(|slip| format!("; --memory is {slip}"))
                    }
                    Self::Engine(relief_engine::Error::DeviceMemory { limit, .. }) => {
                        slip(*limit).map(|slip| format!("; --device-memory is {slip}"))
                    }
                    _ => None,
                };
                text.push_str(&slip.unwrap_or_default());
                // Paths, names and what others say are part of it.
                text = relief_design::visible(&text).into_owned();
            }
        }
        // Nothing is left to tell where the standard error is closed.
        let _ = writeln!(io::stderr(), "{text}");
        ExitCode::from(code)
    }

    /// Whether the user knows already: they closed the pipe or pressed Ctrl-C.
    fn is_quiet(&self) -> bool {
        self.closed_pipe() || matches!(self, Self::Engine(relief_engine::Error::Cancelled))
    }

    /// Whether the same job would fail at the same samples again, whatever is written of it already.
    pub(crate) fn comes_again(&self) -> bool {
        matches!(self.of_sink(), Some(SinkError::NotTwoValued { .. }))
    }

    /// Whether what lies at the place of the output is not of this job, or another process writes it.
    pub(crate) fn is_of_another(&self) -> bool {
        matches!(
            self.of_sink(),
            Some(SinkError::OtherJob { .. } | SinkError::Busy { .. })
        )
    }

    /// What a sink says.
    fn of_sink(&self) -> Option<&SinkError> {
        match self {
            Self::Engine(relief_engine::Error::Sink(error)) => {
                error.get_ref().and_then(|error| error.downcast_ref())
            }
            Self::Sink(error) => Some(error),
            _ => None,
        }
    }

    fn closed_pipe(&self) -> bool {
        match self {
            Self::Engine(relief_engine::Error::Sink(error)) | Self::Output(error) => {
                error.kind() == io::ErrorKind::BrokenPipe
            }
            _ => false,
        }
    }

    fn code(&self) -> u8 {
        match self {
            _ if self.closed_pipe() => 0,
            Self::Job { failure, .. } => failure.code(),
            Self::Usage(_)
            | Self::Engine(
                relief_engine::Error::Option { .. }
                | relief_engine::Error::Region { .. }
                | relief_engine::Error::Part { .. },
            ) => 2,
            Self::Sink(
                SinkError::TileShape { .. }
                | SinkError::Levels { .. }
                | SinkError::OneBitOnly { .. }
                | SinkError::PartsInOrder { .. },
            ) => 2,
            #[cfg(feature = "view")]
            Self::View(relief_view::Error::Option { .. }) => 2,
            Self::Design(report) if report.is_short_of_memory() => 4,
            Self::Slip { .. } => 4,
            Self::Design(_)
            | Self::Doubtful(_)
            | Self::Engine(relief_engine::Error::TooDeep { .. } | relief_engine::Error::Drawing { .. }) => 3,
            Self::Engine(relief_engine::Error::Memory { .. } | relief_engine::Error::DeviceMemory { .. }) => {
                4
            }
            Self::Engine(relief_engine::Error::Cancelled)
            | Self::Machine(relief_machine::Error::Stopped { .. } | relief_machine::Error::Unheard { .. }) => {
                130
            }
            Self::Machine(relief_machine::Error::Option { .. } | relief_machine::Error::Address { .. }) => 2,
            Self::Machine(relief_machine::Error::Scan(
                relief_scan::Error::Setting { .. } | relief_scan::Error::Table { .. },
            )) => 2,
            Self::Machine(relief_machine::Error::Scan(relief_scan::Error::Memory { .. })) => 4,
            _ => 1,
        }
    }
}

/// Says what is doubtful in a design on the standard error.
pub(crate) fn tell(warnings: &relief_design::Report) {
    // A job goes on when nobody listens any more.
    let _ = writeln!(io::stderr(), "{}", shown(warnings));
}

/// A report with excerpts of its text.
fn shown(report: &relief_design::Report) -> String {
    let mut text = String::new();
    if handler().render_report(&mut text, &report.underlined()).is_err() {
        text = report.to_string();
    }
    text
}

/// Says on the standard error how many things are doubtful in a design, and what shows them. Whether its parameters were given values decides
/// which they are.
pub(crate) fn count(warnings: &relief_design::Report, design: &Path, given: bool) {
    let count = counted(warnings.total() as u64, "warning");
    let them = if warnings.total() == 1 { "it" } else { "them" };
    let with = if given { " with the same values" } else { "" };
    let text = format!(
        "relief: {count}; `relief check {}`{with} shows {them}",
        design.display()
    );
    // A job goes on when nobody listens any more.
    let _ = writeln!(io::stderr(), "{}", relief_design::visible(&text));
}

/// An error with its causes, each told once: many say their cause themselves.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.ends_with(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    text
}

fn handler() -> GraphicalReportHandler {
    let plain = !can_draw() || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let theme = if plain {
        GraphicalTheme::unicode_nocolor()
    } else {
        GraphicalTheme::unicode()
    };
    GraphicalReportHandler::new_themed(theme)
        .with_links(false)
        .with_width(110)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Told {
        text: &'static str,
        source: Option<Box<Told>>,
    }

    fn told(text: &'static str, source: Option<Told>) -> Told {
        Told {
            text,
            source: source.map(Box::new),
        }
    }

    #[test]
    fn a_cause_is_told_once() {
        let cause = || told("no driver", None);
        assert_eq!(chain(&told("no device", Some(cause()))), "no device: no driver");
        assert_eq!(
            chain(&told("no device: no driver", Some(cause()))),
            "no device: no driver"
        );
        let nested = told("it failed", Some(told("no driver", Some(cause()))));
        assert_eq!(chain(&nested), "it failed: no driver");
    }
}
