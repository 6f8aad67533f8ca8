//! What can go wrong on a device.

use cubecl::server::{LaunchError, ServerError};

use super::DeviceId;

/// A failure of a device, with its cause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The device is not there or lacks a part it needs.
    #[error("device {device} cannot be used: {reason}")]
    Unavailable {
        /// The device.
        device: DeviceId,
        /// What is missing.
        reason: String,
    },
    /// A buffer does not fit.
    #[error("device {device} has no memory for {bytes} bytes: {reason}")]
    OutOfMemory {
        /// The device.
        device: DeviceId,
        /// What was asked for.
        bytes: u64,
        /// What there is.
        reason: String,
    },
    /// A kernel did not compile.
    #[error("device {device} could not compile the kernel {kernel}: {reason}")]
    Compilation {
        /// The device.
        device: DeviceId,
        /// The kernel.
        kernel: &'static str,
        /// What the compiler said.
        reason: String,
    },
    /// A kernel was launched and wrote nothing.
    #[error("device {device} did not run the kernel {kernel}")]
    NotRun {
        /// The device.
        device: DeviceId,
        /// The kernel.
        kernel: &'static str,
    },
    /// The device stopped working.
    #[error("device {device} failed: {reason}")]
    Lost {
        /// The device.
        device: DeviceId,
        /// What the driver said.
        reason: String,
    },
    /// A buffer holds fewer words than are read or written.
    #[error("{what} on device {device} holds {held} words, but {needed} are needed")]
    Short {
        /// The device.
        device: DeviceId,
        /// What the buffer is for.
        what: &'static str,
        /// Words that are needed.
        needed: u64,
        /// Words that there are.
        held: u64,
    },
    /// An output shares memory with an input or with another output.
    #[error(
        "device {device} cannot write {what} into memory that overlaps {with}: give each a buffer, or a part of one, of its own"
    )]
    Overlap {
        /// The device.
        device: DeviceId,
        /// The output.
        what: &'static str,
        /// What it shares memory with.
        with: &'static str,
    },
    /// A buffer was allocated by another device, or by another start of the same one.
    #[error(
        "device {device} cannot use {what}: its memory belongs to another device, or to one that was opened apart; upload it here"
    )]
    OtherDevice {
        /// The device that was to use it.
        device: DeviceId,
        /// What the buffer is for.
        what: &'static str,
    },
    /// More of something than the device or a kernel takes.
    #[error("device {device} takes at most {limit} {what}, not {asked}")]
    Limit {
        /// The device.
        device: DeviceId,
        /// What there is a limit of, with its unit: "pixels of a side at once".
        what: &'static str,
        /// The most that is possible.
        limit: u64,
        /// What was asked for.
        asked: u64,
    },
    /// Rows of a matrix or a picture overlap: one has more words than there are from its start to that of the next.
    #[error("rows of {what} on device {device} are {pitch} words apart, but have {row} words each")]
    Pitch {
        /// The device.
        device: DeviceId,
        /// What has the rows.
        what: &'static str,
        /// Words from the start of a row to that of the next.
        pitch: u64,
        /// Words of a row, in whole vectors.
        row: u64,
    },
    /// A count is no multiple of what kernels take at once.
    #[error("{what} on device {device} must be a multiple of {multiple}, not {found}")]
    Unaligned {
        /// The device.
        device: DeviceId,
        /// What is counted, with its unit: "words between rows of the picture".
        what: &'static str,
        /// What was found.
        found: u64,
        /// What it has to be a multiple of.
        multiple: u64,
    },
    /// Two things that belong together differ.
    #[error("{what} on device {device}: {found} where {expected} is right")]
    Mismatch {
        /// The device.
        device: DeviceId,
        /// What is compared, with its unit: "velocities, one for each body".
        what: &'static str,
        /// What was found.
        found: u64,
        /// What belongs to the rest.
        expected: u64,
    },
    /// Samples or numbers of a kind, or a parameter with a value, that a family of kernels has no kernel for.
    #[error("kernels of device {device} compute {what} of {possible}, not of {found}")]
    Kind {
        /// The device.
        device: DeviceId,
        /// What is computed: "a histogram".
        what: &'static str,
        /// What was asked for.
        found: String,
        /// What there are kernels for.
        possible: String,
    },
    /// A rectangle does not lie inside of what it is a part of.
    #[error(
        "device {device} cannot compute {} × {} samples at {}, {} of {what}, which has {} × {}",
        size.0, size.1, at.0, at.1, whole.0, whole.1
    )]
    Outside {
        /// The device.
        device: DeviceId,
        /// What it should be a part of.
        what: &'static str,
        /// The column and row of its first sample.
        at: (i64, i64),
        /// Its columns and rows.
        size: (u64, u64),
        /// Columns and rows of the whole.
        whole: (u64, u64),
    },
    /// A layout that a kernel does not have.
    #[error("kernels of device {device} have no layout {layout}: possible are {possible}")]
    Layout {
        /// The device.
        device: DeviceId,
        /// The layout.
        layout: String,
        /// Those that there are.
        possible: String,
    },
    /// The device lacks what a kernel is made of.
    #[error("device {device} cannot compute this: {reason}")]
    Unsupported {
        /// The device.
        device: DeviceId,
        /// What it lacks.
        reason: String,
    },
}

impl DeviceError {
    /// Whether the call was wrong and no device would do better: too short a buffer, memory that overlaps or is elsewhere, rows,
    /// kinds of samples or layouts that no kernel has. Other errors are of the device: what it lacks, its limits, its failures.
    #[must_use]
    pub const fn is_of_caller(&self) -> bool {
        matches!(
            self,
            Self::Short { .. }
                | Self::Overlap { .. }
                | Self::OtherDevice { .. }
                | Self::Pitch { .. }
                | Self::Unaligned { .. }
                | Self::Mismatch { .. }
                | Self::Kind { .. }
                | Self::Outside { .. }
                | Self::Layout { .. }
        )
    }

    /// What a failed answer of the runtime means.
    pub(crate) fn from_server(device: DeviceId, kernel: &'static str, error: &ServerError) -> Self {
        let reason = short(&error.to_string());
        match error {
            ServerError::Launch(LaunchError::CompilationError(_) | LaunchError::TooManyResources(_)) => {
                Self::Compilation {
                    device,
                    kernel,
                    reason,
                }
            }
            ServerError::Launch(LaunchError::OutOfMemory { .. }) => Self::OutOfMemory {
                device,
                bytes: 0,
                reason,
            },
            ServerError::ServerUnhealthy { errors, .. } => match errors.first() {
                Some(first) => Self::from_server(device, kernel, first),
                None => Self::Lost { device, reason },
            },
            _ => Self::Lost { device, reason },
        }
    }
}

/// The message without backtraces and kernel source, which the runtime appends.
fn short(message: &str) -> String {
    let end = ["\nBacktrace", "\n[Source]", "\n   0:"]
        .iter()
        .filter_map(|mark| message.find(mark))
        .min()
        .unwrap_or(message.len());
    message[..end].trim_end().to_owned()
}
