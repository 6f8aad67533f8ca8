//! What can go wrong.

use std::io;

use relief_raster::Rect;

use crate::source::ImageError;

/// Why a design could not be planned or computed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The job does not fit in the memory given.
    #[error("the job needs {needed} bytes, {limit} are allowed; {advice}")]
    Memory {
        /// The fewest bytes that any plan of this job needs.
        needed: u64,
        /// The bytes allowed.
        limit: u64,
        /// What would fit.
        advice: String,
    },
    /// Nodes are nested too deeply.
    #[error("nodes are nested {depth} deep, at most {limit} are allowed; flatten the design")]
    TooDeep {
        /// How deep.
        depth: usize,
        /// How deep is allowed.
        limit: usize,
    },
    /// The region asked for is empty or leaves the canvas.
    #[error("the region {region} does not lie in the canvas of {width}×{height} pixels")]
    Region {
        /// The region, as X,Y,W×H.
        region: String,
        /// Columns of the canvas.
        width: u64,
        /// Rows of the canvas.
        height: u64,
    },
    /// An option has a value that cannot be used.
    #[error("{option}: {problem}")]
    Option {
        /// Which option.
        option: &'static str,
        /// What is wrong and what would work.
        problem: String,
    },
    /// A picture cannot be had.
    #[error("image \"{path}\"")]
    Image {
        /// Its path as the design says it.
        path: String,
        /// Why.
        #[source]
        source: ImageError,
    },
    /// A picture is not the one that the design was checked with.
    #[error("image \"{path}\" has {found} pixels, the design was checked with {expected}; check it again")]
    ImageChanged {
        /// Its path as the design says it.
        path: String,
        /// Its size now.
        found: String,
        /// Its size then.
        expected: String,
    },
    /// Memory that the plan counts on was refused by the system.
    #[error("the system refused {bytes} bytes for {purpose}; give the job less memory")]
    Allocation {
        /// How much.
        bytes: u64,
        /// For what.
        purpose: &'static str,
    },
    /// The sink failed.
    #[error("the output failed")]
    Sink(#[source] io::Error),
    /// The threads of the job could not be started.
    #[error("threads could not be started")]
    Threads(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The job was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// A worker panicked: a defect of Relief. No pixel of the band was handed on.
    #[error("a worker failed while it computed {rect}: {message}")]
    Panic {
        /// The pixels that were being computed.
        rect: String,
        /// What the worker said.
        message: String,
    },
}

impl Error {
    /// A state that cannot be: a defect of Relief, reported rather than computed over.
    pub(crate) fn defect(rect: Rect, message: &str) -> Self {
        Self::Panic {
            rect: describe(rect),
            message: message.to_owned(),
        }
    }
}

/// A rectangle as people write it: W×H at X,Y.
pub(crate) fn describe(rect: Rect) -> String {
    format!(
        "{}×{} pixels at {},{}",
        rect.width(),
        rect.height(),
        rect.x(),
        rect.y()
    )
}
