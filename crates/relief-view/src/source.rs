//! Where designs come from.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use relief_design::{Design, ImageSource, Report};
use relief_engine::KnownLevels;

/// A design that may change while it is looked at.
pub trait DesignSource: Send + Sync {
    /// What it is called.
    fn name(&self) -> &str;

    /// The files that tell whether it has changed, while it was never opened without an error.
    fn files(&self) -> Vec<PathBuf>;

    /// Reads and checks it.
    ///
    /// # Errors
    /// What is wrong with it.
    fn open(&self) -> Result<Opened, OpenError>;
}

/// A design as it was read.
pub struct Opened {
    /// What it means.
    pub design: Design,
    /// Its pictures.
    pub images: Arc<dyn ImageSource>,
    /// A name for the samples that it makes: another one whenever they may be others. Hexadecimal digits.
    pub key: String,
    /// The files of its pictures by the names that it gives them, each with a name for what it holds, which is another one whenever that may
    /// be something else: of two designs, tiles that show nothing else need not be computed again.
    pub pictures: BTreeMap<String, String>,
    /// Its text, in which warnings point to lines.
    pub text: String,
    /// What is right and most likely not meant.
    pub warnings: Option<Report>,
    /// Figures of blocks that were written down when its raster was computed.
    pub known: Option<Arc<dyn KnownLevels>>,
    /// All files that it was read from. When one of them changes, it is opened again.
    pub files: Vec<PathBuf>,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened")
            .field("key", &self.key)
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

/// Why a design cannot be shown.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// Its text is wrong.
    Design {
        /// What is wrong.
        report: Box<Report>,
        /// The text.
        text: String,
    },
    /// It cannot be read.
    Unreadable(String),
}
