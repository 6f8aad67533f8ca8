//! Whether two names mean one file.

use std::fs::File;
use std::io;
use std::path::Path;

/// What makes two names those of one file, whatever links lead to it: device and number on Unix, elsewhere the path
/// without links.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity(Which);

#[cfg(unix)]
type Which = (u64, u64);
#[cfg(not(unix))]
type Which = std::path::PathBuf;

impl Identity {
    /// That of the file at `path`; links are followed, nothing is opened.
    ///
    /// # Errors
    /// Where there is none or it cannot be looked at.
    #[cfg(unix)]
    pub fn of(path: &Path) -> io::Result<Self> {
        Ok(Self::of_metadata(&std::fs::metadata(path)?))
    }

    /// That of the file at `path`; links are followed, nothing is opened.
    ///
    /// # Errors
    /// Where there is none or it cannot be looked at.
    #[cfg(not(unix))]
    pub fn of(path: &Path) -> io::Result<Self> {
        Ok(Self(std::fs::canonicalize(path)?))
    }

    /// That of an open file, where the system can say.
    #[must_use]
    #[cfg(unix)]
    pub fn of_open(file: &File) -> Option<Self> {
        file.metadata().ok().map(|metadata| Self::of_metadata(&metadata))
    }

    /// That of an open file, where the system can say.
    #[must_use]
    #[cfg(not(unix))]
    pub fn of_open(_: &File) -> Option<Self> {
        None
    }

    #[cfg(unix)]
    fn of_metadata(metadata: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self((metadata.dev(), metadata.ino()))
    }
}
