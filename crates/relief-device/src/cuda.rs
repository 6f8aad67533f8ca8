//! CUDA devices: looked for the way the runtime would load them.

#![allow(unsafe_code)]

mod ahead;
mod runtime;

use std::path::PathBuf;

use cubecl::client::ComputeClient;
use cudarc::driver::{result, sys};

pub use runtime::Cuda;

use super::{DeviceId, DeviceReport};

/// Launches of this thread that are noted, not done.
pub(super) struct Noting<'a> {
    client: &'a ComputeClient<Cuda>,
}

impl<'a> Noting<'a> {
    /// Begins. Everything that this thread asked of the device before is done.
    pub(super) fn begin(client: &'a ComputeClient<Cuda>) -> Self {
        client.info().begin();
        Self { client }
    }

    /// Ends, and compiles what was noted and is not kept, for device `ordinal`; the device has seen everything that was launched.
    /// Returns a number that no earlier call on this machine returned, where any was compiled.
    pub(super) fn compile(self, ordinal: u16) -> Option<usize> {
        let tasks = self.client.info().end();
        ahead::compile(capability(ordinal).ok()?, tasks)
    }
}

impl Drop for Noting<'_> {
    fn drop(&mut self) {
        self.client.info().end();
    }
}

fn capability(ordinal: u16) -> Result<(u32, u32), String> {
    use sys::CUdevice_attribute as Attribute;
    let explain = |e| format!("CUDA device {ordinal} does not answer: {e}");
    let device = result::device::get(i32::from(ordinal)).map_err(explain)?;
    let attribute = |which| {
        // SAFETY: `device` was just returned by the driver; attributes are only read.
        unsafe { result::device::get_attribute(device, which) }
            .map(i32::unsigned_abs)
            .map_err(explain)
    };
    Ok((
        attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    ))
}

/// All CUDA devices, or what is missing: the driver, NVRTC, the headers, or devices.
pub(super) fn devices() -> Result<Vec<DeviceReport>, String> {
    driver()?;
    // Both take their time, and neither needs the other.
    let (compiler, started) = std::thread::scope(|scope| {
        let compiler = scope.spawn(compiler);
        let started = result::init();
        (compiler.join(), started)
    });
    compiler.unwrap_or_else(|_| Err("NVRTC cannot be loaded".to_owned()))?;
    headers()?;
    started.map_err(|e| format!("the CUDA driver does not start: {e}"))?;
    let count = result::device::get_count().map_err(|e| format!("the CUDA driver lists no devices: {e}"))?;
    let ordinals = u16::try_from(count).unwrap_or(0);
    if ordinals == 0 {
        return Err("the CUDA driver is there, but no device".to_owned());
    }
    (0..ordinals).map(report).collect()
}

fn driver() -> Result<(), String> {
    // SAFETY: loads libcuda.so, whose initialisers are those the runtime would run; nothing of it is called.
    if unsafe { sys::is_culib_present() } {
        Ok(())
    } else {
        Err("no NVIDIA driver: libcuda.so cannot be loaded".to_owned())
    }
}

fn compiler() -> Result<(), String> {
    // SAFETY: as in `driver`.
    if unsafe { cudarc::nvrtc::sys::is_culib_present() } {
        // SAFETY: as above. It stays loaded, so that the runtime does not load its 100 MB again.
        let _ = unsafe { cudarc::nvrtc::sys::culib() };
        Ok(())
    } else {
        Err("no NVRTC: libnvrtc.so, which compiles kernels, cannot be loaded".to_owned())
    }
}

/// The runtime looks for headers in `$CUDA_PATH/include`, else beside the toolkit's usual places.
fn headers() -> Result<(), String> {
    let mut places: Vec<PathBuf> = Vec::new();
    match std::env::var("CUDA_PATH") {
        Ok(path) => places.push(PathBuf::from(path)),
        Err(_) => places.extend(["/usr/local/cuda", "/opt/cuda", "/usr"].map(PathBuf::from)),
    }
    let place = places.iter().find(|p| p.exists());
    let found = place.is_some_and(|p| p.join("include").join("cuda_runtime.h").exists());
    if found {
        return Ok(());
    }
    let looked: Vec<String> = places
        .iter()
        .map(|p| p.join("include").display().to_string())
        .collect();
    Err(format!(
        "no CUDA headers: cuda_runtime.h is not in {} (set CUDA_PATH to the toolkit)",
        looked.join(" or ")
    ))
}

fn report(ordinal: u16) -> Result<DeviceReport, String> {
    use sys::CUdevice_attribute as Attribute;
    let explain = |e| format!("CUDA device {ordinal} does not answer: {e}");
    let device = result::device::get(i32::from(ordinal)).map_err(explain)?;
    let name = result::device::get_name(device).map_err(explain)?;
    // SAFETY: `device` was just returned by the driver.
    let memory = unsafe { result::device::total_mem(device) }.map_err(explain)? as u64;
    let attribute = |which| {
        // SAFETY: as above; attributes are only read.
        unsafe { result::device::get_attribute(device, which) }
            .map(i32::unsigned_abs)
            .map_err(explain)
    };
    let plane = attribute(Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?;
    // Attributes that a driver may leave out, or zero. The clock is in kHz, the width in bits; memory carries two words a clock.
    let told = |which| attribute(which).ok().filter(|value| *value > 0);
    let clock = told(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
    let width = told(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
    let bandwidth = clock
        .zip(width)
        .map(|(clock, width)| u64::from(clock) * 1_000 * 2 * u64::from(width) / 8);
    let (major, minor) = capability(ordinal)?;
    Ok(DeviceReport {
        id: DeviceId::Cuda(ordinal),
        name,
        driver: format!("CUDA {}, compute capability {major}.{minor}", driver_version()),
        software: false,
        memory: Some(memory),
        bandwidth,
        multiprocessors: told(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        plane: (plane, plane),
        // The runtime's memory pools hand out no more than a quarter of the memory at once; kernels count words
        // of a buffer in 32 bits.
        largest_buffer: (memory / 4).min(16 << 30),
        shared_memory: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
        cubes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
        bindings: super::report::MOST_BINDINGS,
    })
}

/// Copies bytes to memory of a device that was started, and waits until they are there. The runtime would first page-lock
/// as much memory of the host, for which the driver takes longer than for the copy.
///
/// # Safety
/// As many bytes as these lie at `address` in the memory of the device, and nothing asked of it before uses them.
pub(super) unsafe fn copy(ordinal: u16, address: u64, bytes: &[u8]) -> Result<(), String> {
    let explain = |e| format!("the driver does not copy {} bytes: {e}", bytes.len());
    let device = result::device::get(i32::from(ordinal)).map_err(explain)?;
    // SAFETY: the context of a device that the driver returned is retained, and released below; the caller vouches for the
    // memory; the copy is over before this returns.
    unsafe {
        let context = result::primary_ctx::retain(device).map_err(explain)?;
        let copied = result::ctx::set_current(context)
            .and_then(|()| result::memcpy_htod_sync(address, bytes))
            .and_then(|()| result::ctx::synchronize());
        result::primary_ctx::release(device).map_err(explain)?;
        copied.map_err(explain)
    }
}

/// Asks a started device to fetch whole lines of 128 bytes from memory into its second-level cache; by
/// default it fetches 64. This is a hint: a device that ignores it computes the same.
pub(super) fn fetch_whole_lines(ordinal: u16) {
    const LINE: usize = 128;
    let Ok(device) = result::device::get(i32::from(ordinal)) else {
        return;
    };
    // SAFETY: the context of a device that the driver returned is retained, and released below; its limits are no memory.
    unsafe {
        let Ok(context) = result::primary_ctx::retain(device) else {
            return;
        };
        if result::ctx::set_current(context).is_ok() {
            let which = sys::CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY;
            let _ = sys::cuCtxSetLimit(which, LINE);
        }
        let _ = result::primary_ctx::release(device);
    }
}

fn driver_version() -> String {
    let mut version = 0;
    // SAFETY: writes one integer to a valid place.
    let status = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    if status == sys::CUresult::CUDA_SUCCESS {
        format!("{}.{}", version / 1_000, version % 1_000 / 10)
    } else {
        "of unknown version".to_owned()
    }
}
