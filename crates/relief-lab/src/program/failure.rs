//! What a command ends with when it fails, and how that is said.

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
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
    Device(#[from] relief_kernels::device::SelectionError),
    /// The arguments cannot be used together.
    #[error("{0}")]
    Usage(String),
    /// The lab cannot do what was asked.
    #[error(transparent)]
    Lab(#[from] relief_lab::Error),
    /// A variant could not be measured.
    #[error(transparent)]
    Measurement(#[from] relief_lab::family::Failure),
    /// Something that was measured is wrong, slower or broken.
    #[error("{0}")]
    Worse(String),
    /// The standard output failed.
    #[error("cannot write to the standard output")]
    Output(#[from] io::Error),
}

impl Failure {
    /// What was tried with a file and failed.
    pub(super) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::File { action, path, source }
    }

    /// Says what went wrong on the standard error, and gives the exit code.
    pub(super) fn report(&self) -> ExitCode {
        let code = self.code();
        if code != 0 {
            let mut text = format!("relief-lab: {self}");
            let mut cause = self.source();
            while let Some(error) = cause {
                text.push_str(&format!(": {error}"));
                cause = error.source();
            }
            // Nothing is left to tell where the standard error is closed.
            let _ = writeln!(io::stderr(), "{text}");
        }
        ExitCode::from(code)
    }

    fn code(&self) -> u8 {
        match self {
            // Whoever closed the pipe knows.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::Worse(_) => 5,
            Self::Usage(_) | Self::Lab(relief_lab::Error::Unknown { .. }) => 2,
            _ => 1,
        }
    }
}
