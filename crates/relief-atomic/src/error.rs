//! Why a file could not be written.

use std::io;

/// Why a file could not be written: a reason that goes on after "cannot write PATH: ", and what the system said, as
/// its source.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct Error {
    reason: &'static str,
    #[source]
    source: Option<io::Error>,
    cancelled: bool,
}

impl Error {
    pub(crate) const fn new(reason: &'static str, source: Option<io::Error>) -> Self {
        Self {
            reason,
            source,
            cancelled: false,
        }
    }

    pub(crate) const fn cancelled() -> Self {
        Self {
            reason: "writing was cancelled",
            source: None,
            cancelled: true,
        }
    }

    /// What is wrong.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        self.reason
    }

    /// Whether a [`Cleanup`](crate::Cleanup) ended the writing.
    #[must_use]
    pub const fn is_cancelled(&self) -> bool {
        self.cancelled
    }

    /// The reason, and what the system said.
    #[must_use]
    pub fn into_parts(self) -> (&'static str, Option<io::Error>) {
        (self.reason, self.source)
    }

    /// The kind of the system's error; [`io::ErrorKind::InvalidInput`] where there is none.
    #[must_use]
    pub fn kind(&self) -> io::ErrorKind {
        match &self.source {
            _ if self.cancelled => io::ErrorKind::Interrupted,
            Some(source) => source.kind(),
            None => io::ErrorKind::InvalidInput,
        }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        Self::new(error.kind(), error)
    }
}
