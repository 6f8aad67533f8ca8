//! CubeCL's runtime for CUDA with one thing added: launches can be noted instead of done, so that the kernels they need are
//! compiled all at once ([`super::ahead`]). The runtime alone compiles each kernel when it is first launched, one after
//! the other. All else is handed on.

#![allow(unsafe_code)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cubecl::bytes::Bytes;
use cubecl::client::ComputeClient;
use cubecl::cuda::{CudaDevice, CudaRuntime};
use cubecl::device::{DeviceId, DeviceService, ServerUtilitiesHandle};
use cubecl::future::DynFut;
use cubecl::ir::TargetProperties;
use cubecl::profile::ProfileDuration;
use cubecl::server::{
    Binding, ComputeServer, CopyDescriptor, CubeCount, ExecutionMode, KernelArguments, ProfileError,
    ProfilingToken, ServerCommunication, ServerError, ServerUtilities,
};
use cubecl::stream_id::StreamId;
use cubecl::zspace::{Shape, Strides};
use cubecl::{MemoryAllocationMode, MemoryUsage, Runtime};
use cubecl_runtime::allocator::PitchedMemoryLayoutPolicy;
use cubecl_runtime::logging::ServerLogger;
use cubecl_runtime::memory_management::ManagedMemoryHandle;
use cubecl_runtime::storage::{ComputeStorage, ManagedResource};

type Inner = <CudaRuntime as Runtime>::Server;

/// A kernel that has not been compiled.
pub(super) type Task = <Inner as ComputeServer>::Kernel;

/// NVIDIA's devices.
#[derive(Clone, Debug)]
pub struct Cuda;

impl Runtime for Cuda {
    type Compiler = <CudaRuntime as Runtime>::Compiler;
    type Server = Server;
    type Device = CudaDevice;

    fn client(device: &Self::Device) -> ComputeClient<Self> {
        ComputeClient::load(device)
    }

    fn name(_client: &ComputeClient<Self>) -> &'static str {
        "cuda"
    }

    fn require_array_lengths() -> bool {
        CudaRuntime::require_array_lengths()
    }

    fn max_cube_count() -> (u32, u32, u32) {
        CudaRuntime::max_cube_count()
    }

    fn can_read_tensor(shape: &Shape, strides: &Strides) -> bool {
        CudaRuntime::can_read_tensor(shape, strides)
    }

    fn target_properties() -> TargetProperties {
        CudaRuntime::target_properties()
    }

    fn enumerate_devices(type_id: u16, _: &Arc<Noted>) -> Vec<DeviceId> {
        CudaRuntime::enumerate_devices(type_id, &())
    }
}

/// Launches that were noted, for each queue that notes instead of launching.
#[derive(Default)]
pub struct Noted {
    queues: Mutex<HashMap<StreamId, Vec<(Task, ExecutionMode)>>>,
}

impl Noted {
    /// Notes what this thread launches from now on.
    pub(super) fn begin(&self) {
        self.lock().insert(StreamId::current(), Vec::new());
    }

    /// What was noted since; launches are done again.
    pub(super) fn end(&self) -> Vec<(Task, ExecutionMode)> {
        self.lock().remove(&StreamId::current()).unwrap_or_default()
    }

    /// Whether launches of this thread are noted.
    pub(crate) fn is_noting(&self) -> bool {
        self.lock().contains_key(&StreamId::current())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<StreamId, Vec<(Task, ExecutionMode)>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Noted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Noted").finish_non_exhaustive()
    }
}

/// The thread's end of a device.
#[derive(Debug)]
pub struct Server {
    inner: Inner,
    utilities: Arc<ServerUtilities<Self>>,
}

impl DeviceService for Server {
    fn init(device: DeviceId) -> Self {
        let inner = <Inner as DeviceService>::init(device);
        let known = ComputeServer::utilities(&inner);
        let policy = PitchedMemoryLayoutPolicy::new(known.properties.memory.alignment as usize);
        let utilities = ServerUtilities::new(
            known.properties.clone(),
            known.logger.clone(),
            Arc::default(),
            policy,
        );
        Self {
            inner,
            utilities: Arc::new(utilities),
        }
    }

    fn utilities(&self) -> ServerUtilitiesHandle {
        self.utilities.clone()
    }
}

impl ServerCommunication for Server {
    const SERVER_COMM_ENABLED: bool = false;
}

impl ComputeServer for Server {
    type Kernel = Task;
    type Info = Arc<Noted>;
    type MemoryLayoutPolicy = PitchedMemoryLayoutPolicy;
    type Storage = <Inner as ComputeServer>::Storage;

    fn initialize_memory(&mut self, memory: ManagedMemoryHandle, size: u64, stream: StreamId) {
        self.inner.initialize_memory(memory, size, stream);
    }

    fn staging(&mut self, sizes: &[usize], stream: StreamId) -> Result<Vec<Bytes>, ServerError> {
        self.inner.staging(sizes, stream)
    }

    fn logger(&self) -> Arc<ServerLogger> {
        self.inner.logger()
    }

    fn utilities(&self) -> Arc<ServerUtilities<Self>> {
        self.utilities.clone()
    }

    fn read(
        &mut self,
        descriptors: Vec<CopyDescriptor>,
        stream: StreamId,
    ) -> DynFut<Result<Vec<Bytes>, ServerError>> {
        self.inner.read(descriptors, stream)
    }

    fn write(&mut self, descriptors: Vec<(CopyDescriptor, Bytes)>, stream: StreamId) {
        self.inner.write(descriptors, stream);
    }

    fn sync(&mut self, stream: StreamId) -> DynFut<Result<(), ServerError>> {
        self.inner.sync(stream)
    }

    fn get_resource(
        &mut self,
        binding: Binding,
        stream: StreamId,
    ) -> Result<ManagedResource<<Self::Storage as ComputeStorage>::Resource>, ServerError> {
        self.inner.get_resource(binding, stream)
    }

    unsafe fn launch(
        &mut self,
        kernel: Self::Kernel,
        count: CubeCount,
        bindings: KernelArguments,
        mode: ExecutionMode,
        stream: StreamId,
    ) {
        if let Some(noted) = self.utilities.info.lock().get_mut(&stream) {
            noted.push((kernel, mode));
            return;
        }
        // SAFETY: whoever calls this vouches for the same.
        unsafe { self.inner.launch(kernel, count, bindings, mode, stream) };
    }

    fn flush(&mut self, stream: StreamId) -> Result<(), ServerError> {
        self.inner.flush(stream)
    }

    fn memory_usage(&mut self, stream: StreamId) -> Result<MemoryUsage, ServerError> {
        self.inner.memory_usage(stream)
    }

    fn memory_cleanup(&mut self, stream: StreamId) {
        self.inner.memory_cleanup(stream);
    }

    fn start_profile(&mut self, stream: StreamId) -> Result<ProfilingToken, ServerError> {
        self.inner.start_profile(stream)
    }

    fn end_profile(
        &mut self,
        stream: StreamId,
        token: ProfilingToken,
    ) -> Result<ProfileDuration, ProfileError> {
        self.inner.end_profile(stream, token)
    }

    fn allocation_mode(&mut self, mode: MemoryAllocationMode, stream: StreamId) {
        self.inner.allocation_mode(mode, stream);
    }
}
