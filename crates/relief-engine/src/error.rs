//! What can go wrong.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use relief_raster::Rect;

use crate::panics::message;
use crate::source::ImageError;

/// Why a design could not be planned or computed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The job does not fit in the memory given.
    #[error("the job needs {}, {} are allowed; {advice}", shown(*.needed, *.limit, true), shown(*.limit, *.limit, false))]
    Memory {
        /// Bytes that would do: a plan with so many was found.
        needed: u64,
        /// The bytes allowed.
        limit: u64,
        /// What would fit.
        advice: String,
    },
    /// A drawing cannot be computed.
    #[error("the drawing of line {line}: {problem}")]
    Drawing {
        /// The line of the design where its node stands.
        line: u32,
        /// Why.
        problem: String,
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
    /// A part asked for is empty or leaves the region of the job that it is a part of.
    #[error("the part of {part} does not lie in the region of {region}")]
    Part {
        /// The part, as W×H at X,Y.
        part: String,
        /// The region, as W×H at X,Y.
        region: String,
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
    #[error("image \"{path}\" has {found}, the design was checked with {expected}; check it again")]
    ImageChanged {
        /// Its path as the design says it.
        path: String,
        /// Its size now.
        found: String,
        /// Its size then.
        expected: String,
    },
    /// What was said to be known of a whole source is not that of this design.
    #[error("what is prepared for the node of line {line} is not for this design; prepare it again")]
    Prepared {
        /// The line of the design where the node stands.
        line: u32,
    },
    /// Memory that the plan counts on was refused by the system.
    #[error("the system refused {bytes} bytes for {purpose}; allow the job less memory")]
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
    /// The job does not fit in the memory of a device.
    #[error(
        "the job needs {} of {device}, {} are allowed; allow more device memory, or compute on the cpu",
        shown(*.needed, *.limit, true), shown(*.limit, *.limit, false)
    )]
    DeviceMemory {
        /// Which device.
        device: String,
        /// The bytes of buffers that the job needs.
        needed: u64,
        /// The bytes that a job may take.
        limit: u64,
    },
    /// A buffer of the job is too large for a device.
    #[error(
        "{device} has buffers of at most {limit} bytes, the job needs one of {needed}; compute on the cpu"
    )]
    DeviceBuffer {
        /// Which device.
        device: String,
        /// The bytes of the buffer.
        needed: u64,
        /// The bytes that a buffer may have.
        limit: u64,
    },
    /// A device cannot compute the design.
    #[error("the device cannot compute {what}; {advice}")]
    Unsupported {
        /// What it cannot compute.
        what: String,
        /// What would work.
        advice: String,
    },
    /// A device failed.
    #[cfg(feature = "gpu")]
    #[error("{job} failed on {device}")]
    Device {
        /// What was being done: which band was being computed.
        job: String,
        /// Which device.
        device: String,
        /// Why.
        #[source]
        source: Box<relief_kernels::device::DeviceError>,
    },
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

/// Bytes in the unit that suits `limit`, so that both can be compared: rounded up, or down.
pub(crate) fn shown(bytes: u64, limit: u64, up: bool) -> String {
    let (unit, name) = match limit {
        0..0x10_0000 => (1, "bytes"),
        0x10_0000..0x40_0000_0000 => (1 << 20, "MiB"),
        _ => (1 << 30, "GiB"),
    };
    let count = if up { bytes.div_ceil(unit) } else { bytes / unit };
    format!("{count} {name}")
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

/// Does `work` on the pixels of `rect`; a panic becomes an error that names them.
pub(crate) fn caught<T>(rect: Rect, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        Err(Error::Panic {
            rect: describe(rect),
            message: message(panic.as_ref()),
        })
    })
}
