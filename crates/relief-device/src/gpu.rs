//! One started device, and the only door to a kernel on it: [`Gpu::launch`].
//!
//! A launch is told every buffer of its kernel as an [`Operand`]. Memory of another device, and outputs that share words with
//! an input or with each other, are refused before anything runs: no family of kernels has to think of it.
//!
//! The first launch of a kernel in each shape is proven, because the runtime compiles a kernel on a thread of its own, and a
//! panic there leaves no error behind: such a kernel just does not run, and its output would pass for a result. Three proofs
//! together leave no such gap, and none of them alters what a caller gave as input:
//!
//! 1. The launch runs on the runtime's own thread. There a kernel that cannot be compiled panics in the call that launches it,
//!    where it is caught. This also holds for each of several kernels that one launch starts.
//! 2. The device is waited for. That brings up what the compiler and the driver refuse.
//! 3. If an output's first word is overwritten whatever it was, and the output lies apart from all inputs, then that word is set
//!    to a value before, and has to be another one after. This finds what no layer reports, such as a launch without threads.
//!
//! A kernel that adds to its output or computes in place has the first two proofs alone: a value set in its output would be an
//! input. A word that every kernel writes as proof would be a further argument of all of them, whose price every later launch
//! would pay. Private copies of the outputs would double the memory of the first launch. Later launches of a proven kernel
//! neither wait nor read anything.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use cubecl::config::{CubeClRuntimeConfig, RuntimeConfig, cache::CacheConfig};
use cubecl::prelude::*;
use cubecl::server::ServerError;

use super::buffer::{Account, Buffer};
use super::operand::{self, Operand};
use super::reading::Reading;
use super::{DeviceError, DeviceId, DeviceReport};

/// One started device. Clones are the same device.
///
/// Every host thread has its own queue: drive a device from one thread, or from two on CUDA where computing should
/// overlap with copying to the host.
#[derive(Clone)]
pub struct Gpu {
    client: Client,
    shared: Arc<Shared>,
}

/// The runtime that drives a device; [`on_client!`](crate::on_client) takes it apart.
#[derive(Clone)]
pub enum Client {
    /// NVIDIA's.
    #[cfg(feature = "cuda")]
    Cuda(ComputeClient<super::cuda::Cuda>),
    /// Any with a Vulkan driver.
    #[cfg(feature = "vulkan")]
    Vulkan(ComputeClient<cubecl::wgpu::WgpuRuntime>),
}

/// Evaluates an expression for the client of whatever runtime a device has: `on_client!(gpu, client => launch(client))`
/// with `fn launch<R: Runtime>(client: &ComputeClient<R>)`.
#[cfg(all(feature = "cuda", feature = "vulkan"))]
#[macro_export]
macro_rules! on_client {
    ($gpu:expr, $client:ident => $body:expr) => {
        match $gpu.client() {
            $crate::Client::Cuda($client) => $body,
            $crate::Client::Vulkan($client) => $body,
        }
    };
}

/// Evaluates an expression for the client of whatever runtime a device has.
// One definition for each set of features, because those of the crate that uses a macro do not count.
#[cfg(all(feature = "cuda", not(feature = "vulkan")))]
#[macro_export]
macro_rules! on_client {
    ($gpu:expr, $client:ident => $body:expr) => {
        match $gpu.client() {
            $crate::Client::Cuda($client) => $body,
        }
    };
}

/// Evaluates an expression for the client of whatever runtime a device has.
#[cfg(all(feature = "vulkan", not(feature = "cuda")))]
#[macro_export]
macro_rules! on_client {
    ($gpu:expr, $client:ident => $body:expr) => {
        match $gpu.client() {
            $crate::Client::Vulkan($client) => $body,
        }
    };
}

/// Why nothing is heard of the runtime any more.
pub(super) const ENDED: &str = "the runtime's thread has ended";

/// Words from which on an upload is worth waiting for what was asked before.
#[cfg(feature = "cuda")]
const LARGE: usize = 1 << 18;

struct Shared {
    report: DeviceReport,
    account: Arc<Account>,
    /// Kernels that are known to compile and to write; by hash of everything that shapes them.
    proven: Mutex<HashSet<u64>>,
    /// What kernels get for a buffer that they do not read.
    nothing: Mutex<Option<Buffer>>,
    #[cfg(feature = "vulkan")]
    vulkan: Option<super::vulkan::Started>,
}

/// Keeps compiled CUDA kernels under `directory`, so that the next process starts without compiling. Returns whether
/// that took effect: only before the first device of the process was started.
///
/// They are machine code, known by what they compute alone: devices of different compute capabilities need folders of their own.
pub fn persist_kernels(directory: &Path) -> bool {
    let set = || {
        // `CUBECL_DEBUG_LOG=FILE` keeps its meaning: the sources of kernels in a file.
        let mut config = CubeClRuntimeConfig::default().override_from_env();
        config.compilation.cache = Some(CacheConfig::File(directory.to_owned()));
        CubeClRuntimeConfig::set(config);
    };
    if CubeClRuntimeConfig::storage().lock().is_some() {
        return false;
    }
    catch_unwind(set).is_ok()
}

impl Gpu {
    /// Starts a device.
    ///
    /// # Errors
    /// Where it is not there or lacks a part, and where its driver or the runtime cannot start it.
    pub fn open(id: DeviceId) -> Result<Self, DeviceError> {
        let unavailable = |reason: String| DeviceError::Unavailable { device: id, reason };
        let report = super::report::device(id).map_err(unavailable)?;
        match id {
            #[cfg(feature = "cuda")]
            DeviceId::Cuda(ordinal) => {
                let device = cubecl::cuda::CudaDevice::new(usize::from(ordinal));
                let load = || <super::cuda::Cuda as Runtime>::client(&device);
                let client = catch_unwind(AssertUnwindSafe(load))
                    .map_err(|_| unavailable("the CUDA runtime could not start it".to_owned()))?;
                super::cuda::fetch_whole_lines(ordinal);
                Ok(Self::new(
                    Client::Cuda(client),
                    report,
                    #[cfg(feature = "vulkan")]
                    None,
                ))
            }
            #[cfg(feature = "vulkan")]
            DeviceId::Vulkan(number) => {
                let started = super::vulkan::start(number).map_err(&unavailable)?;
                let load = || <cubecl::wgpu::WgpuRuntime as Runtime>::client(&started.device);
                let client = catch_unwind(AssertUnwindSafe(load))
                    .map_err(|_| unavailable("the Vulkan runtime could not start it".to_owned()))?;
                Ok(Self::new(Client::Vulkan(client), report, Some(started)))
            }
            _ => Err(unavailable("it is not a GPU".to_owned())),
        }
    }

    fn new(
        client: Client,
        report: DeviceReport,
        #[cfg(feature = "vulkan")] vulkan: Option<super::vulkan::Started>,
    ) -> Self {
        // What the driver does not tell is unlimited here; a failed allocation is an error all the same.
        let account = Account::new(report.memory.unwrap_or(u64::MAX));
        Self {
            client,
            shared: Arc::new(Shared {
                report,
                account,
                proven: Mutex::new(HashSet::new()),
                nothing: Mutex::default(),
                #[cfg(feature = "vulkan")]
                vulkan,
            }),
        }
    }

    /// The runtime that drives it; see [`on_client!`](crate::on_client).
    #[must_use]
    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// Which device it is.
    #[must_use]
    pub fn id(&self) -> DeviceId {
        self.shared.report.id
    }

    /// What it is.
    #[must_use]
    pub fn report(&self) -> &DeviceReport {
        &self.shared.report
    }

    /// How many multiprocessors the device has; where its runtime does not tell, a guess. On software Vulkan,
    /// the threads that run it: as many as the processor has.
    #[must_use]
    pub fn multiprocessors(&self) -> u32 {
        // Asked for once: that may read files.
        static THREADS: LazyLock<u32> = LazyLock::new(|| {
            let threads = std::thread::available_parallelism();
            threads.map_or(1, |threads| u32::try_from(threads.get()).unwrap_or(u32::MAX))
        });
        if self.report().software {
            return *THREADS;
        }
        on_client!(self, client => client.properties().hardware.num_streaming_multiprocessors).unwrap_or(64)
    }

    /// Bytes of shared memory that a cube may have: on CUDA more than a kernel has without asking.
    #[must_use]
    pub fn most_shared_memory(&self) -> u32 {
        let most = on_client!(self, client => client.properties().hardware.max_shared_memory_size);
        u32::try_from(most).unwrap_or(u32::MAX)
    }

    /// Whether the device copies boxes of a plane to and from shared memory by itself, as Hopper's tensor memory accelerator does.
    #[must_use]
    pub fn copies_boxes(&self) -> bool {
        on_client!(self, client => client.features().tma.contains(cubecl::ir::features::Tma::Base))
    }

    pub(super) fn account(&self) -> &Arc<Account> {
        &self.shared.account
    }

    /// Bytes of all buffers that exist.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.shared.account.used()
    }

    /// The most bytes that all buffers together have taken so far.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.shared.account.peak()
    }

    /// How many bytes all buffers together may take.
    #[must_use]
    pub fn budget(&self) -> u64 {
        self.shared.account.budget()
    }

    /// Limits the bytes of all buffers together; buffers that exist stay.
    pub fn set_budget(&self, bytes: u64) {
        self.shared.account.set_budget(bytes);
    }

    /// A buffer of `words` words whose content is undefined.
    ///
    /// # Errors
    /// Where it exceeds the budget, the largest buffer of the device, or the memory that is left.
    pub fn buffer(&self, words: usize) -> Result<Buffer, DeviceError> {
        let lease = self.lease(words)?;
        let words = words.max(4);
        let handle = self.guarded(words, || on_client!(self, client => client.empty(words * 4)))?;
        Ok(Buffer::new(handle, words, lease))
    }

    /// A buffer that holds `words`.
    ///
    /// # Errors
    /// As [`buffer`](Self::buffer).
    pub fn upload(&self, words: &[u32]) -> Result<Buffer, DeviceError> {
        #[cfg(feature = "cuda")]
        if let (Client::Cuda(_), DeviceId::Cuda(ordinal)) = (&self.client, self.id())
            && words.len() >= LARGE
        {
            return self.upload_directly(ordinal, words);
        }
        let lease = self.lease(words.len())?;
        let bytes: &[u8] = bytemuck::cast_slice(if words.is_empty() { &[0; 4] } else { words });
        let create = || on_client!(self, client => client.create_from_slice(bytes));
        let handle = self.guarded(words.len(), create)?;
        Ok(Buffer::new(handle, bytes.len() / 4, lease))
    }

    /// [`Self::upload`] by the driver itself.
    #[cfg(feature = "cuda")]
    #[allow(unsafe_code)]
    fn upload_directly(&self, ordinal: u16, words: &[u32]) -> Result<Buffer, DeviceError> {
        let buffer = self.buffer(words.len())?;
        // The runtime allocates in order with its kernels, of which the driver knows nothing.
        self.sync()?;
        let Client::Cuda(client) = &self.client else {
            return Err(self.unsupported("a copy by another driver"));
        };
        let resource = client
            .get_resource(buffer.handle())
            .map_err(|e| self.explain("upload", &e))?;
        // SAFETY: the buffer has as many words, was allocated just now, and is alive until the copy is over.
        let copied =
            unsafe { super::cuda::copy(ordinal, resource.resource().ptr, bytemuck::cast_slice(words)) };
        let lost = |reason| DeviceError::Lost {
            device: self.id(),
            reason,
        };
        copied.map_err(lost)?;
        Ok(buffer)
    }

    /// A few words for kernels that have no use for a buffer: the same buffer each time.
    ///
    /// # Errors
    /// As [`upload`](Self::upload), the first time.
    pub fn nothing(&self) -> Result<Buffer, DeviceError> {
        // Held while it is made: a second one would be counted as well.
        let mut known = self.shared.nothing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(nothing) = known.as_ref() {
            return Ok(nothing.clone());
        }
        let nothing = self.upload(&[0; 4])?;
        Ok(known.insert(nothing).clone())
    }

    fn lease(&self, words: usize) -> Result<super::buffer::Lease, DeviceError> {
        let bytes = (words as u64).saturating_mul(4);
        let refuse = |reason: String| DeviceError::OutOfMemory {
            device: self.id(),
            bytes,
            reason,
        };
        let largest = self.shared.report.largest_buffer;
        if bytes > largest {
            return Err(refuse(format!("its largest buffer is {largest} bytes")));
        }
        self.shared.account.take(bytes).ok_or_else(|| {
            refuse(format!(
                "{} of {} bytes are in use",
                self.used(),
                self.shared.account.budget()
            ))
        })
    }

    /// Allocates, and asks the runtime whether the memory is really there: it reports a failed allocation to its own
    /// thread only.
    fn guarded(
        &self,
        words: usize,
        allocate: impl FnOnce() -> cubecl::server::Handle,
    ) -> Result<cubecl::server::Handle, DeviceError> {
        let refuse = |reason: &str| DeviceError::OutOfMemory {
            device: self.id(),
            bytes: words as u64 * 4,
            reason: reason.to_owned(),
        };
        let attempt = || {
            let handle = allocate();
            let there = on_client!(self, client => client.get_resource(handle.clone()).is_ok());
            (handle, there)
        };
        let (handle, there) =
            catch_unwind(AssertUnwindSafe(attempt)).map_err(|_| refuse("the allocation failed"))?;
        self.health()?;
        if there {
            Ok(handle)
        } else {
            Err(refuse("the allocation failed"))
        }
    }

    /// Asks for the first `words` words of a buffer; for none of them, nothing but the success of what was asked before.
    ///
    /// [`Reading::wait`] returns [`DeviceError::Short`] if the buffer does not hold as many, and [`DeviceError::OtherDevice`] if
    /// another device holds it.
    pub fn read(&self, buffer: &Buffer, words: usize) -> Reading {
        let what = "a buffer that is read";
        let readable = self
            .check_memory(&[Operand::read(what, buffer)])
            .and_then(|()| self.holds(what, buffer, words as u64));
        if let Err(error) = readable {
            return Reading::refused(self.clone(), error);
        }
        let asked = words * 4;
        // Not every driver copies nothing.
        let words = words.max(1);
        #[cfg(feature = "vulkan")]
        if let (Client::Vulkan(client), Some(vulkan)) = (&self.client, &self.shared.vulkan) {
            let copy = || vulkan.staging.read(client, buffer.handle(), words as u64 * 4);
            let copy = catch_unwind(AssertUnwindSafe(copy)).unwrap_or_else(|_| Err(ENDED.to_owned()));
            return Reading::submitted(self.clone(), asked, copy);
        }
        // What fills a page of page-locked memory better, where the buffer has it.
        let readable = self.report().readable_bytes(words as u64 * 4).div_ceil(4);
        let unread = (buffer.words() as u64).saturating_sub(readable) * 4;
        let handle = buffer.handle().offset_end(unread);
        let answer: super::reading::Answer = on_client!(self, client => {
            let client = client.clone();
            Box::pin(async move { client.read_async(vec![handle]).await })
        });
        Reading::new(self.clone(), asked, answer)
    }

    /// Waits until everything asked of this device by this thread is done.
    ///
    /// # Errors
    /// Where any of it failed.
    pub fn sync(&self) -> Result<(), DeviceError> {
        self.settle("sync")
    }

    fn settle(&self, kernel: &'static str) -> Result<(), DeviceError> {
        self.mark()?.reached(kernel)
    }

    /// Marks what this thread has asked of this device so far, so that more can be asked before that is waited for. On Vulkan the mark may be
    /// reached only with what was asked since.
    ///
    /// # Errors
    /// Where the device is lost.
    pub fn mark(&self) -> Result<Mark, DeviceError> {
        let ask = || -> Settled { on_client!(self, client => client.sync()) };
        let done = catch_unwind(AssertUnwindSafe(ask)).map_err(|_| DeviceError::Lost {
            device: self.id(),
            reason: ENDED.to_owned(),
        })?;
        Ok(Mark {
            gpu: self.clone(),
            done,
        })
    }

    pub(super) fn explain(&self, kernel: &'static str, error: &ServerError) -> DeviceError {
        match self.health() {
            Err(fault) => fault,
            Ok(()) => DeviceError::from_server(self.id(), kernel, error),
        }
    }

    /// What the driver reported outside of any call.
    pub(super) fn health(&self) -> Result<(), DeviceError> {
        #[cfg(feature = "vulkan")]
        if let Some(fault) = self.shared.vulkan.as_ref().and_then(|v| v.faults.get()) {
            return Err(DeviceError::Lost {
                device: self.id(),
                reason: fault.clone(),
            });
        }
        Ok(())
    }

    /// Launches a kernel, or several that belong together, on this memory; the first time for each `shape`, makes sure that it
    /// compiled and ran. `memory` is every buffer that the kernel reads or writes.
    ///
    /// `launch` may be called twice, and on another thread.
    ///
    /// # Errors
    /// Where an output overlaps other memory of the kernel or a buffer belongs to another device, and where the kernel does not
    /// compile or does not run.
    pub fn launch(
        &self,
        kernel: &'static str,
        shape: &impl Hash,
        memory: &[Operand<'_>],
        launch: impl Fn() + Sync,
    ) -> Result<(), DeviceError> {
        self.check_memory(memory)?;
        let mut hasher = DefaultHasher::new();
        (kernel, shape).hash(&mut hasher);
        let key = hasher.finish();
        let run = || {
            catch_unwind(AssertUnwindSafe(&launch)).map_err(|_| DeviceError::Lost {
                device: self.id(),
                reason: ENDED.to_owned(),
            })
        };
        if self.is_noting() {
            // Everything that is launched the first time.
            if let Some(any) = memory.first() {
                on_client!(self, client => poison_on(client, any.buffer(), 0, 0));
            }
            return run();
        }
        if self.lock_proven().contains(&key) {
            return run();
        }
        match operand::witness(memory) {
            Some(witness) => self.prove(kernel, witness, &launch)?,
            None => self.run_there(kernel, &launch)?,
        }
        self.lock_proven().insert(key);
        Ok(())
    }

    /// Runs a launch that is not proven, and makes sure that it overwrites the witness's first word: whichever of two poisons
    /// that was, as one of them may be the result. Where the launch fails the word is what it was before.
    fn prove(
        &self,
        kernel: &'static str,
        witness: &Buffer,
        launch: &(impl Fn() + Sync),
    ) -> Result<(), DeviceError> {
        let before = self.first_word(witness)?;
        let prove = || {
            for poison in [0x5AA5_C33C_u32, 0xA55A_3CC3] {
                self.poison(witness, poison)?;
                self.run_there(kernel, launch)?;
                if self.first_word(witness)? != poison {
                    return Ok(());
                }
            }
            Err(DeviceError::NotRun {
                device: self.id(),
                kernel,
            })
        };
        let proven = prove();
        if proven.is_err() {
            on_client!(self, client => poison_on(client, witness, before, 0));
        }
        proven
    }

    /// Runs a launch on the runtime's own thread, where a panic while a kernel is compiled is one of the call that launches it,
    /// and waits until it is done.
    fn run_there(&self, kernel: &'static str, launch: &(impl Fn() + Sync)) -> Result<(), DeviceError> {
        let device = self.id();
        let caught = || catch_unwind(AssertUnwindSafe(launch)).is_ok();
        let ask = || on_client!(self, client => client.exclusive(caught).ok());
        let ran = catch_unwind(AssertUnwindSafe(ask)).ok().flatten();
        let ran = ran.ok_or_else(|| DeviceError::Lost {
            device,
            reason: ENDED.to_owned(),
        })?;
        // What the compiler said, where it said anything, rather than that nothing ran.
        self.settle(kernel)?;
        match ran {
            true => Ok(()),
            false => Err(DeviceError::NotRun { device, kernel }),
        }
    }

    /// Compiles the kernels that `ask` launches, several at a time, where the device's runtime would compile them one after the
    /// other, and keeps what it compiled; see [`persist_kernels`]. Nothing that `ask` launches is computed, so it must not wait
    /// for results. Elsewhere `ask` is not called.
    ///
    /// # Errors
    /// Those of `ask`, and where the device is lost. A kernel that does not compile is an error when it is launched.
    pub fn compile_ahead<E: From<DeviceError>>(&self, ask: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        #[cfg(feature = "cuda")]
        if let (Client::Cuda(client), DeviceId::Cuda(ordinal)) = (&self.client, self.id()) {
            // What this thread asked before is launched; what it asks next is noted, and has been when it is settled.
            self.settle("sync")?;
            let noting = super::cuda::Noting::begin(client);
            ask()?;
            self.settle("sync")?;
            if let Some(before) = noting.compile(ordinal) {
                // The runtime looks for what was added when it compiles something that is new to it.
                let somewhere = self.buffer(1)?;
                poison_on(client, &somewhere, 0, before as u32 + 1);
            }
        }
        #[cfg(not(feature = "cuda"))]
        let _ = ask;
        Ok(())
    }

    /// Whether launches of this thread are noted, not done.
    fn is_noting(&self) -> bool {
        #[cfg(feature = "cuda")]
        if let Client::Cuda(client) = &self.client {
            return client.info().is_noting();
        }
        false
    }

    fn lock_proven(&self) -> std::sync::MutexGuard<'_, HashSet<u64>> {
        self.shared.proven.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn first_word(&self, buffer: &Buffer) -> Result<u32, DeviceError> {
        let bytes = self.read(buffer, 1).wait()?;
        let mut word = [0; 4];
        word.copy_from_slice(&bytes[..4]);
        Ok(u32::from_le_bytes(word))
    }

    /// Writes the first word, and reads it back where the kernel that writes it is not proven yet.
    fn poison(&self, buffer: &Buffer, value: u32) -> Result<(), DeviceError> {
        // Not the hash of any kernel's shape but with odds of 2⁻⁶⁴.
        const POISON: u64 = 0x706f_6973_6f6e_0000;
        on_client!(self, client => poison_on(client, buffer, value, 0));
        self.settle("poison")?;
        if self.lock_proven().contains(&POISON) {
            return Ok(());
        }
        if self.first_word(buffer)? != value {
            return Err(DeviceError::NotRun {
                device: self.id(),
                kernel: "poison",
            });
        }
        if value == 0xA55A_3CC3 {
            self.lock_proven().insert(POISON);
            return Ok(());
        }
        // What was there before may have been the same word by chance: once more with another.
        self.poison(buffer, 0xA55A_3CC3)?;
        self.poison(buffer, value)
    }
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Gpu").field(&self.id()).finish()
    }
}

/// Of each generation a kernel of its own.
#[allow(unsafe_code)]
fn poison_on<R: Runtime>(client: &ComputeClient<R>, buffer: &Buffer, value: u32, generation: u32) {
    // SAFETY: the buffer has at least the one word that is written.
    unsafe {
        poison_word::launch_unchecked::<R>(
            client,
            CubeCount::Static(1, 1, 1),
            CubeDim::new_1d(1),
            ArrayArg::from_raw_parts(buffer.handle(), buffer.words()),
            value,
            generation,
        );
    }
}

#[cube(launch_unchecked)]
fn poison_word(output: &mut Array<u32>, value: u32, #[comptime] _generation: u32) {
    if ABSOLUTE_POS == 0 {
        output[0] = value;
    }
}

/// The runtime's promise to tell when work is done.
type Settled = Pin<Box<dyn Future<Output = Result<(), ServerError>> + Send>>;

/// A place in what a thread asks of a device.
pub struct Mark {
    gpu: Gpu,
    done: Settled,
}

impl std::fmt::Debug for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mark")
            .field("gpu", &self.gpu)
            .finish_non_exhaustive()
    }
}

impl Mark {
    /// Waits until everything asked before is done.
    ///
    /// # Errors
    /// Where any of it failed.
    pub fn wait(self) -> Result<(), DeviceError> {
        self.reached("sync")
    }

    fn reached(self, kernel: &'static str) -> Result<(), DeviceError> {
        let Self { gpu, done } = self;
        let wait = || cubecl::future::block_on(done);
        catch_unwind(AssertUnwindSafe(wait))
            .map_err(|_| DeviceError::Lost {
                device: gpu.id(),
                reason: ENDED.to_owned(),
            })?
            .map_err(|e| gpu.explain(kernel, &e))?;
        gpu.health()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device_of_tests;

    #[cube(launch_unchecked)]
    fn too_much_shared_memory(output: &mut Array<u32>) {
        let mut shared = SharedMemory::<u32>::new(1_048_576usize);
        shared[UNIT_POS as usize] = UNIT_POS;
        sync_cube();
        output[0] = shared[0];
    }

    #[allow(unsafe_code)]
    fn launch_too_much<R: Runtime>(client: &ComputeClient<R>, output: &Buffer) {
        // SAFETY: writes the first word; it is not compiled anyway.
        unsafe {
            too_much_shared_memory::launch_unchecked::<R>(
                client,
                CubeCount::Static(1, 1, 1),
                CubeDim::new_1d(1),
                ArrayArg::from_raw_parts(output.handle(), output.words()),
            );
        }
    }

    #[test]
    fn a_launch_that_writes_nothing_is_an_error() {
        let Some(gpu) = device_of_tests() else { return };
        let output = gpu.buffer(16).unwrap();
        for _ in 0..2 {
            let memory = [Operand::write("the output", &output)];
            let error = gpu.launch("idle", &0, &memory, || {}).unwrap_err();
            assert!(
                matches!(error, DeviceError::NotRun { kernel: "idle", .. }),
                "{error}"
            );
        }
    }

    #[test]
    fn a_kernel_that_does_not_compile_is_an_error_and_the_device_lives_on() {
        let Some(gpu) = device_of_tests() else { return };
        let output = gpu.upload(&[7; 16]).unwrap();
        let launch = || on_client!(gpu, client => launch_too_much(client, &output));
        for memory in [
            Operand::write("the output", &output),
            Operand::update("the output", &output),
        ] {
            let error = gpu.launch("too much", &0, &[memory], launch).unwrap_err();
            assert!(
                matches!(
                    error,
                    DeviceError::Compilation {
                        kernel: "too much",
                        ..
                    }
                ),
                "{error:?}"
            );
            let words = gpu.read(&output, 2).wait().unwrap();
            assert_eq!(words[..], [7, 0, 0, 0, 7, 0, 0, 0]);
        }
    }

    #[cube(launch_unchecked)]
    fn one_more(output: &mut Array<u32>, #[comptime] panics: bool) {
        comptime!(assert!(!panics, "a kernel that cannot be expanded"));
        if ABSOLUTE_POS == 0 {
            output[0] += 1;
        }
    }

    #[allow(unsafe_code)]
    fn launch_one_more<R: Runtime>(client: &ComputeClient<R>, output: &Buffer, panics: bool) {
        // SAFETY: reads and writes the first word.
        unsafe {
            one_more::launch_unchecked::<R>(
                client,
                CubeCount::Static(1, 1, 1),
                CubeDim::new_1d(1),
                ArrayArg::from_raw_parts(output.handle(), output.words()),
                panics,
            );
        }
    }

    #[test]
    fn a_kernel_that_adds_to_its_output_is_right_from_the_first_launch_on() {
        let Some(gpu) = device_of_tests() else { return };
        let output = gpu.upload(&[40; 16]).unwrap();
        for sum in [41, 42] {
            let launch = || on_client!(gpu, client => launch_one_more(client, &output, false));
            let memory = [Operand::update("the sum", &output)];
            gpu.launch("one more", &0, &memory, launch).unwrap();
            assert_eq!(gpu.read(&output, 1).wait().unwrap()[..], [sum, 0, 0, 0]);
        }
    }

    #[test]
    fn a_kernel_whose_compilation_panics_is_an_error_also_where_it_adds_and_the_device_lives_on() {
        let Some(gpu) = device_of_tests() else { return };
        let output = gpu.upload(&[40; 16]).unwrap();
        for memory in [
            Operand::update("the sum", &output),
            Operand::write("the sum", &output),
        ] {
            let launch = || on_client!(gpu, client => launch_one_more(client, &output, true));
            let error = gpu.launch("panics", &0, &[memory], launch).unwrap_err();
            assert!(
                matches!(error, DeviceError::NotRun { kernel: "panics", .. }),
                "{error:?}"
            );
            assert_eq!(gpu.read(&output, 1).wait().unwrap()[..], [40, 0, 0, 0]);
        }
    }

    #[test]
    fn of_two_kernels_of_a_launch_the_one_that_does_not_compile_is_an_error() {
        let Some(gpu) = device_of_tests() else { return };
        let output = gpu.upload(&[40; 16]).unwrap();
        let launch = || {
            on_client!(gpu, client => {
                launch_one_more(client, &output, true);
                poison_on(client, &output, 1, 0);
            });
        };
        let memory = [Operand::write("the sum", &output)];
        let error = gpu.launch("two", &0, &memory, launch).unwrap_err();
        assert!(
            matches!(error, DeviceError::NotRun { kernel: "two", .. }),
            "{error:?}"
        );
    }
}
