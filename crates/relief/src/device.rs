//! From `--device` to the devices of this machine.

use relief_engine::{DeviceChoice, DeviceId, devices_for};

use crate::failure::Failure;

/// The devices that a choice means here. Looks at no GPU where the CPU is asked for.
pub(crate) fn select(choice: &DeviceChoice) -> Result<Vec<DeviceId>, Failure> {
    if *choice == DeviceChoice::Cpu || (*choice == DeviceChoice::Auto && !may_have_gpu()) {
        return Ok(vec![DeviceId::Cpu]);
    }
    let there = devices_for(choice);
    let chosen = relief_engine::select(choice, &there)?;
    if chosen.iter().any(|id| *id != DeviceId::Cpu) {
        let reports = there.devices.iter().filter(|report| chosen.contains(&report.id));
        keep_kernels(reports.map(|report| report.driver.as_str()).collect());
        load_policies();
    }
    Ok(chosen)
}

/// Whether this machine may have a GPU at all. Loading GPU drivers takes tens of milliseconds, and without a display
/// some of them write to the standard error, so a Linux that has no device file of any GPU is not asked further.
fn may_have_gpu() -> bool {
    const FILES: [&str; 6] = [
        "/dev/dri",
        "/dev/nvidiactl",
        "/dev/dxg",
        "/dev/nvmap",
        "/dev/kgsl-3d0",
        "/dev/mali0",
    ];
    !cfg!(target_os = "linux") || FILES.iter().any(|file| std::path::Path::new(file).exists())
}

/// Keeps compiled kernels for the next run, so that it starts sooner. They are machine code for one kind of device, and the
/// runtime knows them by what they compute alone: each driver and compute capability has a folder of its own, and a job on
/// devices of several kinds keeps none.
fn keep_kernels(mut drivers: Vec<&str>) {
    drivers.dedup();
    #[cfg(feature = "gpu")]
    if let ([driver], Some(folder)) = (drivers.as_slice(), kernel_folder())
        && let folder = folder.join(name_of(driver))
        && std::fs::create_dir_all(&folder).is_ok()
    {
        let kept = relief_engine::persist_kernels(&folder);
        tracing::debug!(kept, "compiled kernels in {}", folder.display());
    }
}

/// A text as a file's name.
#[cfg(feature = "gpu")]
fn name_of(text: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' {
            c
        } else {
            '-'
        }
    };
    text.chars().map(plain).collect()
}

/// Makes the layouts that were found for this machine's devices hold, where there are any.
fn load_policies() {
    if let Some(file) = policy_file() {
        let found = relief_lab::policy::load(&file);
        tracing::debug!(found, "layouts in {}", file.display());
    }
}

/// Where layouts of kernels are kept.
pub(crate) fn policy_file() -> Option<std::path::PathBuf> {
    match std::env::var_os("RELIEF_POLICIES") {
        Some(file) if file.is_empty() => None,
        Some(file) => Some(file.into()),
        None => kernel_folder().map(|folder| folder.join("policies")),
    }
}

/// Where what is compiled and found for devices is kept; nowhere where the user wants so.
fn kernel_folder() -> Option<std::path::PathBuf> {
    match std::env::var_os("RELIEF_KERNEL_CACHE") {
        Some(folder) if folder.is_empty() => None,
        Some(folder) => Some(folder.into()),
        None => cache_folder().map(|folder| folder.join("relief")),
    }
}

/// The user's folder for what can be made again.
fn cache_folder() -> Option<std::path::PathBuf> {
    let absolute =
        |path: std::ffi::OsString| Some(std::path::PathBuf::from(path)).filter(|path| path.is_absolute());
    let of = |variable: &str| std::env::var_os(variable).and_then(absolute);
    of("XDG_CACHE_HOME").or_else(|| of("HOME").map(|home| home.join(".cache")))
}
