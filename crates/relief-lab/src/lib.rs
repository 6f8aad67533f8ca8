//! The lab: every way of writing a data-parallel kernel, checked against a reference, then measured against the others
//! and against what the hardware allows.
//!
//! [`families`] holds the ladders: one file each, with the variants from naive to best. [`family`] is the form they
//! have. [`measure()`] runs a ladder on a [`Machine`]: nothing is timed that is not right. [`ceiling`] measures what the
//! hardware allows in the same run. What comes out is a [`Record`], which [`report`] writes as a table, as JSON lines,
//! as CSV and as a page, and which [`compare`](mod@compare) compares with another.

#[cfg(feature = "gpu")]
mod agreement;
pub mod array;
#[cfg(feature = "gpu")]
mod blocker;
pub mod ceiling;
pub mod check;
mod clock;
pub mod compare;
#[cfg(feature = "cuda")]
mod driver;
pub mod families;
pub mod family;
pub mod host;
mod machine;
mod measure;
mod quantity;
mod record;
pub mod report;
pub mod rivals;
pub mod sampling;
pub mod selection;
pub mod standing;
pub mod statistics;
pub mod tune;

pub use machine::{MAX_THREADS, Machine};
pub use relief_kernels::policy;

pub use measure::{Plan, Trial, Watch, measure, steps};
pub use record::{
    Again, Bound, Ceilings, Conditions, Header, Point, Record, Rival, Row, Shares, Span, Timeline, Transfer,
    Verdict, read_text,
};

/// What the lab cannot do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The pool of threads did not start.
    #[error("the threads cannot be started: {0}")]
    Threads(String),
    /// No family, ladder or variant is called so.
    #[error("there is no {what} \"{name}\"; there are {known}")]
    Unknown {
        /// What was looked for.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A record that cannot be read or written.
    #[error("not a record of the lab: {0}")]
    Record(String),
    /// A record of rivals that cannot be read.
    #[error("{file}, line {line}: expected {expected}; found {found}")]
    Rivals {
        /// Which file.
        file: String,
        /// Which line of it.
        line: usize,
        /// What should be there.
        expected: String,
        /// What is.
        found: String,
    },
    /// Only the CPU is there in this build.
    #[error("{0} cannot be measured: this program was built without devices")]
    NoDevices(relief_kernels::device::DeviceId),
    /// The device failed.
    #[cfg(feature = "gpu")]
    #[error(transparent)]
    Device(#[from] relief_kernels::device::DeviceError),
}
