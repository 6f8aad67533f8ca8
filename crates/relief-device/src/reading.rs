//! Reads from a device that overlap with what it computes next.

use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use cubecl::bytes::Bytes;
use cubecl::server::ServerError;

use super::gpu::ENDED;
#[cfg(feature = "vulkan")]
use super::staging::{Copy, Mapped};
use super::{DeviceError, Gpu};

/// A read that was asked for; the copy runs until [`wait`](Self::wait) returns it.
///
/// Keep three reads of 16…64 MiB in flight to use a bus to the full.
#[must_use = "a read that nobody waits for is lost"]
pub struct Reading {
    gpu: Gpu,
    bytes: usize,
    state: State,
}

enum State {
    #[cfg(feature = "vulkan")]
    Copying(Copy),
    Pending(Answer),
    /// It could not be asked for.
    Refused(DeviceError),
    Done(Result<Vec<Bytes>, ServerError>),
    /// The runtime's thread is gone.
    Ended,
}

/// The runtime's promise of the bytes.
pub(super) type Answer = Pin<Box<dyn Future<Output = Result<Vec<Bytes>, ServerError>> + Send>>;

impl Reading {
    /// Polls once, because the runtime is asked for the copy only by the first poll.
    pub(super) fn new(gpu: Gpu, bytes: usize, mut answer: Answer) -> Self {
        let poll = || answer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let state = match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(Poll::Ready(result)) => State::Done(result),
            Ok(Poll::Pending) => State::Pending(answer),
            Err(_) => State::Ended,
        };
        Self { gpu, bytes, state }
    }

    /// A copy that was submitted, or why it could not be.
    #[cfg(feature = "vulkan")]
    pub(super) fn submitted(gpu: Gpu, bytes: usize, copy: Result<Copy, String>) -> Self {
        let state = match copy {
            Ok(copy) => State::Copying(copy),
            Err(reason) => State::Refused(DeviceError::Lost {
                device: gpu.id(),
                reason,
            }),
        };
        Self { gpu, bytes, state }
    }

    /// A read of what cannot be read.
    pub(super) const fn refused(gpu: Gpu, error: DeviceError) -> Self {
        Self {
            gpu,
            bytes: 0,
            state: State::Refused(error),
        }
    }

    /// The words read, as they lay on the device.
    ///
    /// # Errors
    /// Where anything that was asked of the device before the read failed; and where the buffer is too short or of
    /// another device, see [`Gpu::read`].
    pub fn wait(mut self) -> Result<HostSamples, DeviceError> {
        let lost = |reason: &str| DeviceError::Lost {
            device: self.gpu.id(),
            reason: reason.to_owned(),
        };
        let answer = match std::mem::replace(&mut self.state, State::Ended) {
            #[cfg(feature = "vulkan")]
            State::Copying(copy) => {
                let mapped = copy.wait(|| self.gpu.health(), lost)?;
                self.gpu.health()?;
                return Ok(HostSamples {
                    host: Host::Mapped(mapped),
                    len: self.bytes,
                });
            }
            State::Refused(error) => {
                self.gpu.health()?;
                return Err(error);
            }
            State::Done(result) => result,
            State::Pending(answer) => catch_unwind(AssertUnwindSafe(|| cubecl::future::block_on(answer)))
                .map_err(|_| lost(ENDED))?,
            State::Ended => return Err(lost(ENDED)),
        };
        let mut parts = answer.map_err(|e| self.gpu.explain("read", &e))?;
        self.gpu.health()?;
        match parts.pop() {
            Some(bytes) if bytes.len() >= self.bytes => Ok(HostSamples {
                host: Host::Owned(bytes),
                len: self.bytes,
            }),
            _ => Err(lost("a read returned too few bytes")),
        }
    }
}

impl Drop for Reading {
    /// Waits for a copy that nobody wants any more: its memory is taken for the next, and a driver that finds it still
    /// in use gives the whole device up.
    fn drop(&mut self) {
        if let State::Pending(answer) = std::mem::replace(&mut self.state, State::Ended) {
            // Whatever it came to, nobody asks.
            let _ = catch_unwind(AssertUnwindSafe(|| cubecl::future::block_on(answer)));
        }
    }
}

/// Samples in host memory, page-locked where the device can copy there faster; given back when dropped.
pub struct HostSamples {
    host: Host,
    /// Bytes that were asked for; there may be more.
    len: usize,
}

enum Host {
    Owned(Bytes),
    #[cfg(feature = "vulkan")]
    Mapped(Mapped),
}

impl Deref for HostSamples {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let bytes = match &self.host {
            Host::Owned(bytes) => &bytes[..],
            #[cfg(feature = "vulkan")]
            Host::Mapped(mapped) => mapped.bytes(),
        };
        &bytes[..self.len]
    }
}
