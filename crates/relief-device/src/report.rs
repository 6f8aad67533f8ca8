//! What is there, and why the rest is not.

use std::fmt;

use super::{DeviceChoice, DeviceId};

/// The most buffers that a kernel of ours names, whatever the device: with more, kernels compile for seconds.
#[cfg(feature = "gpu")]
pub(crate) const MOST_BINDINGS: u32 = 128;

/// A way to reach a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// NVIDIA's driver.
    Cuda,
    /// Any GPU with a Vulkan driver.
    Vulkan,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cuda => "cuda",
            Self::Vulkan => "vulkan",
        })
    }
}

/// A device that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceReport {
    /// How to ask for it.
    pub id: DeviceId,
    /// Its name as the driver gives it.
    pub name: String,
    /// The driver and its version.
    pub driver: String,
    /// Whether the device is software Vulkan (llvmpipe): a GPU that the processor emulates.
    pub software: bool,
    /// The memory of the device in bytes, where the driver tells it.
    pub memory: Option<u64>,
    /// The bytes a second that the memory carries at its clock and width, where the driver tells both.
    pub bandwidth: Option<u64>,
    /// How many multiprocessors it has, where the driver tells.
    pub multiprocessors: Option<u32>,
    /// The fewest and the most units of a plane (warp, subgroup).
    pub plane: (u32, u32),
    /// The largest buffer in bytes.
    pub largest_buffer: u64,
    /// Shared memory of a cube (workgroup) in bytes.
    pub shared_memory: u32,
    /// The most cubes along the second axis of a grid.
    pub cubes: u32,
    /// The most buffers that one kernel may name.
    pub bindings: u32,
}

/// Bytes a second for each multiprocessor below which memory counts as slow. The two groups known, H100 and
/// H200 (same multiprocessors, other memory), lie on either side (NVIDIA's data sheets).
const SLOW: u64 = 30_000_000_000;

impl DeviceReport {
    /// Whether memory carries so little for each multiprocessor that keeping on the chip what will be needed again pays sooner, as on an H100 and unlike on an
    /// H200. False where the driver does not tell.
    #[must_use]
    pub const fn has_slow_memory(&self) -> bool {
        match (self.bandwidth, self.multiprocessors) {
            (Some(bandwidth), Some(multiprocessors)) => {
                bandwidth < SLOW.saturating_mul(multiprocessors as u64)
            }
            _ => false,
        }
    }

    /// The bytes, at least `bytes`, that a buffer should have to be read in one go.
    ///
    /// The CUDA runtime copies to page-locked memory, which it takes in pages of a quarter, a sixteenth, … of the device's
    /// memory. A few megabytes are served from a page of 1/1024, 147 MB on a device of 150 GB, and locking it takes longer than all else
    /// of a short job; a read that fills four fifths of a smaller page is served from that.
    #[must_use]
    pub fn readable_bytes(&self, bytes: u64) -> u64 {
        let (Some(memory), DeviceId::Cuda(_)) = (self.memory, self.id) else {
            return bytes;
        };
        let mut page = memory / 4;
        // Of each size of pages, the largest first, how much a read may take of one.
        let mut share = 2;
        let mut pages = Vec::new();
        while page >= 32 << 20 {
            page /= 4;
            pages.push((page, page / share));
            share *= 2;
        }
        let served = |bytes: u64| {
            let fits = |(page, slice): &&(u64, u64)| bytes <= *slice || filled(*page).contains(&bytes);
            pages.iter().rev().find(fits).map(|(page, _)| *page)
        };
        let smallest = pages.iter().rev().find(|(page, _)| *filled(*page).end() >= bytes);
        match (served(bytes), smallest) {
            (Some(now), Some((page, _))) if *page < now => bytes.max(*filled(*page).start()),
            _ => bytes,
        }
    }
}

/// The bytes that fill a page so well that the runtime takes one for them, with some to spare for its alignment.
const fn filled(page: u64) -> std::ops::RangeInclusive<u64> {
    ((page / 5 * 4 + 1) | 0xFFFF) + 1..=(page - 1) & !0xFFFF
}

/// A backend without devices, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The backend.
    pub backend: Backend,
    /// What is missing, and where it was looked for.
    pub reason: String,
}

/// All devices and all that is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// GPUs that can be used, CUDA before Vulkan; the CPU is always there and not listed.
    pub devices: Vec<DeviceReport>,
    /// Backends without devices.
    pub missing: Vec<Missing>,
}

/// A choice of devices that cannot be met.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// The backend has no devices.
    #[error("no {backend} device: {reason}")]
    Missing {
        /// The backend.
        backend: Backend,
        /// What is missing.
        reason: String,
    },
    /// The backend has devices, but not this one.
    #[error("no device {id}: {backend} has {found}")]
    Number {
        /// What was asked for.
        id: DeviceId,
        /// The backend.
        backend: Backend,
        /// What there is.
        found: String,
    },
    /// Only software adapters are there and none was asked for by number.
    #[error("no vulkan hardware: only {found}; ask for it by number to use it all the same")]
    OnlySoftware {
        /// The software adapters.
        found: String,
    },
}

/// Looks for devices. Nothing is started, and nothing that is not there is loaded.
#[must_use]
pub fn devices() -> Inventory {
    let mut inventory = Inventory::default();
    inventory.look(Backend::Cuda);
    inventory.look(Backend::Vulkan);
    inventory
}

/// The devices that [`select`] needs to know for this choice. Loading a driver takes a tenth of a second: those that the
/// choice leaves out are not looked for.
#[must_use]
pub fn devices_for(choice: &DeviceChoice) -> Inventory {
    let mut inventory = Inventory::default();
    match choice {
        DeviceChoice::Cpu => {}
        DeviceChoice::Auto => {
            inventory.look(Backend::Cuda);
            if inventory.devices.is_empty() {
                inventory.look(Backend::Vulkan);
            }
        }
        DeviceChoice::CudaAll | DeviceChoice::Cuda(_) => inventory.look(Backend::Cuda),
        DeviceChoice::Vulkan | DeviceChoice::VulkanAdapters(_) => inventory.look(Backend::Vulkan),
    }
    inventory
}

/// One device.
///
/// # Errors
/// What is missing where it is not there.
pub fn device(id: DeviceId) -> Result<DeviceReport, String> {
    let mut inventory = Inventory::default();
    match id {
        DeviceId::Cpu => return Err("the CPU is no GPU".to_owned()),
        DeviceId::Cuda(_) => inventory.look(Backend::Cuda),
        DeviceId::Vulkan(_) => inventory.look(Backend::Vulkan),
    }
    let missing = inventory.missing.pop().map(|missing| missing.reason);
    let found = inventory.devices.into_iter().find(|report| report.id == id);
    found.ok_or_else(|| missing.unwrap_or_else(|| "there is no device of this number".to_owned()))
}

impl Inventory {
    fn look(&mut self, backend: Backend) {
        let found = match backend {
            Backend::Cuda => cuda(),
            Backend::Vulkan => vulkan(),
        };
        match found {
            Ok(devices) => self.devices.extend(devices),
            Err(reason) => self.missing.push(Missing { backend, reason }),
        }
    }
}

#[cfg(feature = "cuda")]
fn cuda() -> Result<Vec<DeviceReport>, String> {
    super::cuda::devices()
}

#[cfg(not(feature = "cuda"))]
fn cuda() -> Result<Vec<DeviceReport>, String> {
    Err("this program was built without the feature cuda".to_owned())
}

#[cfg(feature = "vulkan")]
fn vulkan() -> Result<Vec<DeviceReport>, String> {
    super::vulkan::devices()
}

#[cfg(not(feature = "vulkan"))]
fn vulkan() -> Result<Vec<DeviceReport>, String> {
    Err("this program was built without the feature vulkan".to_owned())
}

/// The devices that a choice means here: [`DeviceId::Cpu`] alone, or one or more GPUs.
///
/// # Errors
/// Where a device asked for is not there, with what is missing; `auto` always finds the CPU.
pub fn select(choice: &DeviceChoice, inventory: &Inventory) -> Result<Vec<DeviceId>, SelectionError> {
    let of = |backend| {
        inventory
            .devices
            .iter()
            .filter(move |d| d.backend() == Some(backend))
    };
    let hardware = || of(Backend::Vulkan).find(|d| !d.software).map(|d| d.id);
    match choice {
        DeviceChoice::Cpu => Ok(vec![DeviceId::Cpu]),
        DeviceChoice::Auto => {
            let first = of(Backend::Cuda).next().map(|d| d.id).or_else(hardware);
            Ok(vec![first.unwrap_or(DeviceId::Cpu)])
        }
        DeviceChoice::CudaAll => {
            some_of(inventory, Backend::Cuda)?;
            Ok(of(Backend::Cuda).map(|d| d.id).collect())
        }
        DeviceChoice::Vulkan => {
            some_of(inventory, Backend::Vulkan)?;
            match hardware() {
                Some(id) => Ok(vec![id]),
                None => Err(SelectionError::OnlySoftware {
                    found: names(inventory, Backend::Vulkan),
                }),
            }
        }
        DeviceChoice::Cuda(list) => numbered(inventory, Backend::Cuda, list, DeviceId::Cuda),
        DeviceChoice::VulkanAdapters(list) => numbered(inventory, Backend::Vulkan, list, DeviceId::Vulkan),
    }
}

impl DeviceReport {
    /// How it is reached; nothing for the CPU.
    #[must_use]
    pub const fn backend(&self) -> Option<Backend> {
        match self.id {
            DeviceId::Cpu => None,
            DeviceId::Cuda(_) => Some(Backend::Cuda),
            DeviceId::Vulkan(_) => Some(Backend::Vulkan),
        }
    }
}

fn some_of(inventory: &Inventory, backend: Backend) -> Result<(), SelectionError> {
    match inventory.missing.iter().find(|m| m.backend == backend) {
        Some(missing) => Err(SelectionError::Missing {
            backend,
            reason: missing.reason.clone(),
        }),
        None => Ok(()),
    }
}

fn numbered(
    inventory: &Inventory,
    backend: Backend,
    list: &[u16],
    id: fn(u16) -> DeviceId,
) -> Result<Vec<DeviceId>, SelectionError> {
    some_of(inventory, backend)?;
    let there = |id: &DeviceId| inventory.devices.iter().any(|d| d.id == *id);
    let ids: Vec<DeviceId> = list.iter().copied().map(id).collect();
    match ids.iter().find(|id| !there(id)) {
        Some(id) => Err(SelectionError::Number {
            id: *id,
            backend,
            found: names(inventory, backend),
        }),
        None => Ok(ids),
    }
}

fn names(inventory: &Inventory, backend: Backend) -> String {
    let names: Vec<String> = inventory
        .devices
        .iter()
        .filter(|d| d.backend() == Some(backend))
        .map(|d| format!("{} ({})", d.id, d.name))
        .collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(id: DeviceId, software: bool) -> DeviceReport {
        DeviceReport {
            id,
            name: format!("device {id}"),
            driver: String::new(),
            software,
            memory: None,
            bandwidth: None,
            multiprocessors: None,
            plane: (32, 32),
            largest_buffer: 1 << 30,
            shared_memory: 32 << 10,
            cubes: 65_535,
            bindings: 64,
        }
    }

    fn without(backend: Backend, devices: Vec<DeviceReport>) -> Inventory {
        Inventory {
            devices,
            missing: vec![Missing {
                backend,
                reason: "no driver".to_owned(),
            }],
        }
    }

    #[test]
    fn auto_never_takes_a_software_adapter() {
        let inventory = without(Backend::Cuda, vec![device(DeviceId::Vulkan(0), true)]);
        assert_eq!(select(&DeviceChoice::Auto, &inventory), Ok(vec![DeviceId::Cpu]));
        let inventory = without(
            Backend::Cuda,
            vec![
                device(DeviceId::Vulkan(0), true),
                device(DeviceId::Vulkan(1), false),
            ],
        );
        assert_eq!(
            select(&DeviceChoice::Auto, &inventory),
            Ok(vec![DeviceId::Vulkan(1)])
        );
    }

    #[test]
    fn a_software_adapter_is_used_where_it_is_asked_for_by_number() {
        let inventory = without(Backend::Cuda, vec![device(DeviceId::Vulkan(0), true)]);
        let by_number = DeviceChoice::VulkanAdapters(vec![0]);
        assert_eq!(select(&by_number, &inventory), Ok(vec![DeviceId::Vulkan(0)]));
        assert!(matches!(
            select(&DeviceChoice::Vulkan, &inventory),
            Err(SelectionError::OnlySoftware { .. })
        ));
    }

    #[test]
    fn what_is_missing_is_said() {
        let inventory = without(Backend::Cuda, vec![]);
        let error = select(&DeviceChoice::CudaAll, &inventory).unwrap_err();
        assert_eq!(error.to_string(), "no cuda device: no driver");
        let inventory = without(Backend::Vulkan, vec![device(DeviceId::Cuda(0), false)]);
        let error = select(&DeviceChoice::Cuda(vec![0, 4]), &inventory).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no device cuda:4: cuda has cuda:0 (device cuda:0)"
        );
    }

    #[test]
    fn looking_for_devices_never_panics_and_accounts_for_every_backend() {
        let inventory = devices();
        for backend in [Backend::Cuda, Backend::Vulkan] {
            let there = inventory.devices.iter().any(|d| d.backend() == Some(backend));
            let missing = inventory.missing.iter().any(|m| m.backend == backend);
            assert!(there != missing, "{backend}: {inventory:?}");
        }
    }

    fn sized(id: DeviceId, memory: u64) -> DeviceReport {
        DeviceReport {
            memory: Some(memory),
            ..device(id, false)
        }
    }

    #[test]
    fn reads_are_enlarged_to_fill_a_small_page() {
        let device = sized(DeviceId::Cuda(0), 150_109_880_320);
        // The runtime's pages: 9.16 MB, 36.6 MB, 147 MB, 586 MB; of each it gives out 1/64, 1/32, 1/16, 1/8, or four fifths and more.
        for bytes in [1, 100_000, 8 << 20, 32 << 20, 8_000_000_000] {
            assert_eq!(
                device.readable_bytes(bytes),
                bytes,
                "served from the smallest page already"
            );
        }
        let small = device.readable_bytes(2_400_000);
        assert!((7_330_000..9_162_000).contains(&small), "{small}");
        let large = device.readable_bytes(16 << 20);
        assert!((29_320_000..36_648_000).contains(&large), "{large}");
        assert_eq!(
            sized(DeviceId::Vulkan(0), 150_109_880_320).readable_bytes(2_400_000),
            2_400_000
        );
    }

    #[test]
    fn memory_is_slow_beside_as_many_multiprocessors_and_unknown_memory_is_not() {
        let of = |bandwidth, multiprocessors| DeviceReport {
            bandwidth,
            multiprocessors,
            ..device(DeviceId::Cuda(0), false)
        };
        assert!(of(Some(3_352_320_000_000), Some(132)).has_slow_memory(), "H100");
        assert!(!of(Some(4_810_000_000_000), Some(132)).has_slow_memory(), "H200");
        assert!(!of(Some(3_352_320_000_000), Some(78)).has_slow_memory());
        assert!(!of(None, Some(132)).has_slow_memory());
        assert!(!of(Some(1), None).has_slow_memory());
        assert!(of(Some(1), Some(u32::MAX)).has_slow_memory());
    }

    #[test]
    fn reads_are_never_made_smaller() {
        for memory in [0, 1 << 20, 1 << 30, 8 << 30, 24 << 30, 150_109_880_320] {
            let device = sized(DeviceId::Cuda(0), memory);
            for bytes in (0..40).flat_map(|k| [1_u64 << k, (1 << k) + 12_345, (3 << k) - 1]) {
                assert!(device.readable_bytes(bytes) >= bytes, "{memory} {bytes}");
            }
        }
    }
}
