//! What can go wrong.

/// Why a scan cannot be made or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting of the scan cannot be used with this raster.
    #[error("{setting}: {problem}")]
    Setting {
        /// Which setting.
        setting: &'static str,
        /// What is wrong and what would work.
        problem: String,
    },
    /// A table cannot be used.
    #[error("{}: {problem}", table(name))]
    Table {
        /// Its name, or its file; empty where neither is known.
        name: String,
        /// What is wrong and what would work.
        problem: String,
    },
    /// One line does not fit in the memory given.
    #[error("one line of the machine takes {needed} bytes while it is made, {limit} are allowed; {advice}")]
    Memory {
        /// The fewest bytes.
        needed: u64,
        /// The bytes allowed.
        limit: u64,
        /// What would help.
        advice: &'static str,
    },
    /// Lines were asked for that the job has not.
    #[error("lines {first} to {end} were asked for; the job has {lines}")]
    Range {
        /// The first line asked for.
        first: u64,
        /// One past the last.
        end: u64,
        /// The lines of the job.
        lines: u64,
    },
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] relief_engine::Error),
}

/// A table for a sentence.
fn table(name: &str) -> String {
    if name.is_empty() {
        "the table".to_owned()
    } else {
        format!("the table \"{name}\"")
    }
}
