//! Vulkan adapters, listed and started here so that adapter N is the one that is listed as N, and so that errors of
//! the driver reach us instead of a panic in the runtime's thread.

#![allow(unsafe_code)]

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cubecl::future::block_on;
use cubecl::wgpu::{RuntimeOptions, WgpuDevice, WgpuSetup};

use super::report::MOST_BINDINGS;
use super::staging::Staging;
use super::{DeviceId, DeviceReport};

/// Where a started device leaves what its driver reports; the first report stays.
pub(super) type Fault = Arc<OnceLock<String>>;

/// A started adapter.
#[derive(Clone)]
pub(super) struct Started {
    /// What the runtime calls it.
    pub(super) device: WgpuDevice,
    pub(super) faults: Fault,
    pub(super) staging: Arc<Staging>,
}

/// All Vulkan adapters, or what is missing.
pub(super) fn devices() -> Result<Vec<DeviceReport>, String> {
    let (_, adapters) = adapters()?;
    Ok(adapters
        .iter()
        .zip(0..)
        .map(|(adapter, number)| report(adapter, number))
        .collect())
}

/// Adapter `number`, started once for the whole process.
pub(super) fn start(number: u16) -> Result<Started, String> {
    static STARTED: Mutex<Option<HashMap<u16, Started>>> = Mutex::new(None);
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    let started = started.get_or_insert_default();
    if let Some(known) = started.get(&number) {
        return Ok(known.clone());
    }
    let new = request(number)?;
    started.insert(number, new.clone());
    Ok(new)
}

/// The loader's adapters, listed once for the whole process.
fn adapters() -> Result<&'static (wgpu::Instance, Vec<wgpu::Adapter>), String> {
    static LISTED: OnceLock<Result<(wgpu::Instance, Vec<wgpu::Adapter>), String>> = OnceLock::new();
    LISTED.get_or_init(list).as_ref().map_err(Clone::clone)
}

fn list() -> Result<(wgpu::Instance, Vec<wgpu::Adapter>), String> {
    let list = || {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends: wgpu::Backends::VULKAN,
            flags: wgpu::InstanceFlags::empty(),
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        });
        let adapters = block_on(instance.enumerate_adapters(wgpu::Backends::VULKAN));
        (instance, adapters)
    };
    // A last resort: listing adapters does not panic, but the drivers it loads are not ours.
    let (instance, adapters) =
        catch_unwind(list).map_err(|_| "the Vulkan drivers failed while they were listed".to_owned())?;
    if adapters.is_empty() {
        return Err(
            "no Vulkan adapter: either the loader (libvulkan.so.1) or a driver is not installed".to_owned(),
        );
    }
    Ok((instance, adapters))
}

fn report(adapter: &wgpu::Adapter, number: u16) -> DeviceReport {
    let info = adapter.get_info();
    let limits = adapter.limits();
    DeviceReport {
        id: DeviceId::Vulkan(number),
        name: info.name,
        driver: format!("{} {}", info.driver, info.driver_info),
        software: info.device_type == wgpu::DeviceType::Cpu,
        memory: memory(adapter),
        bandwidth: None,
        multiprocessors: None,
        plane: (info.subgroup_min_size, info.subgroup_max_size),
        largest_buffer: limits.max_storage_buffer_binding_size.min(limits.max_buffer_size),
        shared_memory: limits.max_compute_workgroup_storage_size,
        cubes: limits.max_compute_workgroups_per_dimension,
        // The runtime keeps one for itself.
        bindings: limits
            .max_storage_buffers_per_shader_stage
            .saturating_sub(1)
            .min(MOST_BINDINGS),
    }
}

/// The sum of the heaps that belong to the device.
fn memory(adapter: &wgpu::Adapter) -> Option<u64> {
    // SAFETY: the adapter is only asked for its memory; nothing of it is kept or destroyed.
    let adapter = unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() }?;
    let instance = adapter.shared_instance().raw_instance();
    // SAFETY: the physical device belongs to this instance, and both are alive.
    let properties = unsafe { instance.get_physical_device_memory_properties(adapter.raw_physical_device()) };
    let heaps = properties.memory_heaps_as_slice();
    // Bit 0 is VK_MEMORY_HEAP_DEVICE_LOCAL_BIT.
    Some(
        heaps
            .iter()
            .filter(|heap| heap.flags.as_raw() & 1 != 0)
            .map(|heap| heap.size)
            .sum(),
    )
}

fn request(number: u16) -> Result<Started, String> {
    let (instance, adapters) = adapters()?;
    let count = adapters.len();
    let adapter = adapters
        .get(usize::from(number))
        .ok_or_else(|| format!("there are {count} Vulkan adapters, counted from 0"))?;
    let descriptor = wgpu::DeviceDescriptor {
        label: None,
        required_features: adapter.features() & wanted(),
        required_limits: adapter.limits(),
        memory_hints: wgpu::MemoryHints::MemoryUsage,
        ..Default::default()
    };
    let (device, queue) = block_on(adapter.request_device(&descriptor)).map_err(|e| e.to_string())?;
    let fault = Fault::default();
    watch(&device, &fault);
    let staging = Staging::new(device.clone(), queue.clone());
    let setup = WgpuSetup {
        instance: instance.clone(),
        adapter: adapter.clone(),
        device,
        queue,
        backend: wgpu::Backend::Vulkan,
    };
    let init = || cubecl::wgpu::init_device(setup, RuntimeOptions::default());
    let device = catch_unwind(AssertUnwindSafe(init))
        .map_err(|_| "the runtime could not start the adapter".to_owned())?;
    Ok(Started {
        device,
        faults: fault,
        staging,
    })
}

/// Features that kernels may use. The runtime infers what it may use from the adapter, so all of these are asked for.
fn wanted() -> wgpu::Features {
    wgpu::Features::SHADER_INT64
        | wgpu::Features::SUBGROUP
        | wgpu::Features::SUBGROUP_BARRIER
        | wgpu::Features::SHADER_F16
        | wgpu::Features::SHADER_F64
        | wgpu::Features::SHADER_FLOAT32_ATOMIC
        | wgpu::Features::TIMESTAMP_QUERY
        | wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS
}

fn watch(device: &wgpu::Device, fault: &Fault) {
    let uncaptured = Arc::clone(fault);
    device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
        // Only the first fault matters; what follows is its consequence.
        let _ = uncaptured.set(error.to_string());
    }));
    let lost = Arc::clone(fault);
    device.set_device_lost_callback(move |reason, message| {
        if reason != wgpu::DeviceLostReason::Destroyed {
            let _ = lost.set(format!("the device was lost: {message}"));
        }
    });
}
