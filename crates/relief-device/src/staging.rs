//! Reads from a Vulkan device that overlap with what it computes next.
//!
//! The runtime's own reads wait inside the driver, and hold a lock meanwhile that every submission takes: the next band is
//! not even begun before the last has arrived. Here the copy is submitted like a kernel, and whoever waits for it asks
//! now and then whether it is done, so that the queue always has more to do.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cubecl::prelude::ComputeClient;
use cubecl::server::Handle;
use cubecl::wgpu::WgpuRuntime;

/// How long a read is asked for without a pause.
const EAGER: Duration = Duration::from_micros(30);

/// The pause between two questions: a band of 64 MiB takes more than a millisecond.
const PAUSE: Duration = Duration::from_micros(40);

/// The queue that copies to the host, and memory that the host may read, used again and again.
#[derive(Debug)]
pub(super) struct Staging {
    device: wgpu::Device,
    queue: wgpu::Queue,
    spare: Mutex<Vec<wgpu::Buffer>>,
}

impl Staging {
    pub(super) fn new(device: wgpu::Device, queue: wgpu::Queue) -> Arc<Self> {
        Arc::new(Self {
            device,
            queue,
            spare: Mutex::default(),
        })
    }

    /// Submits the copy of `bytes` bytes of a buffer, behind everything that this thread has asked for.
    pub(super) fn read(
        self: &Arc<Self>,
        client: &ComputeClient<WgpuRuntime>,
        handle: Handle,
        bytes: u64,
    ) -> Result<Copy, String> {
        let source = client.get_resource(handle).map_err(|e| e.to_string())?;
        client.flush().map_err(|e| e.to_string())?;
        let host = self.memory(bytes);
        let resource = source.resource();
        let mut encoder = self
            .device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(&resource.buffer, resource.offset, &host, 0, bytes);
        self.queue.submit([encoder.finish()]);
        let state = Arc::new(AtomicU8::new(WAITING));
        let tell = Arc::clone(&state);
        host.map_async(wgpu::MapMode::Read, ..bytes, move |mapped| {
            tell.store(if mapped.is_ok() { MAPPED } else { FAILED }, Ordering::Release);
        });
        Ok(Copy {
            staging: Arc::clone(self),
            host: Some(host),
            bytes,
            state,
        })
    }

    /// Memory for at least so many bytes. All bands of a job have the same size: what another left is too small or right.
    fn memory(&self, bytes: u64) -> wgpu::Buffer {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let fitting = |buffer: &wgpu::Buffer| buffer.size() >= bytes && buffer.size() / 2 <= bytes;
        if let Some(place) = spare.iter().position(fitting) {
            return spare.swap_remove(place);
        }
        spare.clear();
        drop(spare);
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("samples on their way to the host"),
            size: bytes,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    }
}

const WAITING: u8 = 0;
const MAPPED: u8 = 1;
const FAILED: u8 = 2;

/// A copy that was submitted.
pub(super) struct Copy {
    staging: Arc<Staging>,
    host: Option<wgpu::Buffer>,
    bytes: u64,
    state: Arc<AtomicU8>,
}

impl Copy {
    /// Waits until the bytes are there; `healthy` is asked meanwhile, because a device that is lost answers no more.
    pub(super) fn wait<E>(
        mut self,
        healthy: impl Fn() -> Result<(), E>,
        failed: impl Fn(&str) -> E,
    ) -> Result<Mapped, E> {
        let start = Instant::now();
        loop {
            match self.state.load(Ordering::Acquire) {
                MAPPED => break,
                FAILED => {
                    healthy()?;
                    return Err(failed("its memory could not be shown to the host"));
                }
                _ => {}
            }
            if let Err(error) = self.staging.device.poll(wgpu::PollType::Poll) {
                healthy()?;
                return Err(failed(&error.to_string()));
            }
            healthy()?;
            if self.state.load(Ordering::Acquire) == WAITING && start.elapsed() > EAGER {
                std::thread::sleep(PAUSE);
            }
        }
        let Some(host) = self.host.take() else {
            return Err(failed("its memory is gone"));
        };
        let view = host.get_mapped_range(..self.bytes);
        Ok(Mapped {
            staging: Arc::clone(&self.staging),
            view: Some(view),
            host: Some(host),
        })
    }
}

/// Samples that the host may read; their memory is given back with them.
pub(super) struct Mapped {
    staging: Arc<Staging>,
    view: Option<wgpu::BufferView>,
    host: Option<wgpu::Buffer>,
}

impl Mapped {
    pub(super) fn bytes(&self) -> &[u8] {
        self.view.as_deref().unwrap_or_default()
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // The view must go before the memory is the device's again.
        drop(self.view.take());
        if let Some(host) = self.host.take() {
            host.unmap();
            let mut spare = self.staging.spare.lock().unwrap_or_else(PoisonError::into_inner);
            spare.push(host);
        }
    }
}
