//! Reads from a device that overlap with what it computes next.

use std::ops::Deref;
use std::pin::Pin;

use cubecl::bytes::Bytes;
use cubecl::server::ServerError;

use super::{DeviceError, Gpu};

/// A read that was asked for; the copy runs until [`wait`](Self::wait) returns it.
///
/// Keep three reads of 16…64 MiB in flight to use a bus to the full.
#[must_use = "a read that nobody waits for is lost"]
pub struct Reading {
    gpu: Gpu,
    bytes: usize,
    answer: Answer,
}

/// The runtime's promise of the bytes.
pub(super) type Answer = Pin<Box<dyn Future<Output = Result<Vec<Bytes>, ServerError>> + Send>>;

impl Reading {
    pub(super) fn new(gpu: Gpu, bytes: usize, answer: Answer) -> Self {
        Self { gpu, bytes, answer }
    }

    /// The words read, as they lay on the device.
    ///
    /// # Errors
    /// Where anything that was asked of the device before the read failed.
    pub fn wait(self) -> Result<HostSamples, DeviceError> {
        let answer = cubecl::future::block_on(self.answer);
        let mut parts = answer.map_err(|e| self.gpu.explain("read", &e))?;
        self.gpu.health()?;
        match parts.pop() {
            Some(bytes) if bytes.len() >= self.bytes => Ok(HostSamples {
                bytes,
                len: self.bytes,
            }),
            _ => Err(DeviceError::Lost {
                device: self.gpu.id(),
                reason: "a read returned too few bytes".to_owned(),
            }),
        }
    }
}

/// Samples in host memory, page-locked where the device can copy there faster; given back when dropped.
pub struct HostSamples {
    bytes: Bytes,
    len: usize,
}

impl Deref for HostSamples {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
