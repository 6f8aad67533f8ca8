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
    /// What was asked for cannot be computed by device kernels.
    #[error("device {device} cannot compute this: {reason}")]
    Unsupported {
        /// The device.
        device: DeviceId,
        /// Which limit it exceeds.
        reason: String,
    },
}

impl DeviceError {
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
