//! Why a file could not be read as a picture.

use std::fmt::Display;
use std::io;

/// Why a file could not be read as a picture; the path is added by [`Files`](super::Files).
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The picture is of a kind that is not read.
    #[error("{0}")]
    Unsupported(String),
    /// The picture exceeds a limit.
    #[error("{0}")]
    TooLarge(String),
    /// The bytes are not a picture of their format.
    #[error("the file is damaged or cut short: {0}")]
    Damaged(String),
    /// The system failed to read.
    #[error("reading failed: {0}")]
    Read(io::Error),
}

impl Failure {
    pub(super) fn damaged(what: impl Display) -> Self {
        Self::Damaged(what.to_string())
    }

    pub(super) fn unsupported(what: impl Display) -> Self {
        Self::Unsupported(what.to_string())
    }

    /// The same failure, with the row at which it arose.
    pub(super) fn at_row(self, row: u64) -> Self {
        match self {
            Self::Damaged(what) => Self::Damaged(format!("at row {row}: {what}")),
            other => other,
        }
    }
}

impl From<io::Error> for Failure {
    /// Bytes that end too early are a damaged file; the rest is the system's.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::damaged("it ends too early"),
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other => {
                Self::damaged(error)
            }
            _ => Self::Read(error),
        }
    }
}
