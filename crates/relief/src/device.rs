//! From `--device` to the devices of this machine.

use relief_engine::{DeviceChoice, DeviceId, devices_for};

use crate::failure::Failure;

/// The devices that a choice means here. Looks at no GPU where the CPU is asked for.
pub(crate) fn select(choice: &DeviceChoice) -> Result<Vec<DeviceId>, Failure> {
    if *choice == DeviceChoice::Cpu || (*choice == DeviceChoice::Auto && !may_have_gpu()) {
        return Ok(vec![DeviceId::Cpu]);
    }
    let chosen = relief_engine::select(choice, &devices_for(choice))?;
    if chosen.iter().any(|id| *id != DeviceId::Cpu) {
        keep_kernels();
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

/// Keeps compiled kernels for the next run, so that it starts sooner.
fn keep_kernels() {
    #[cfg(feature = "gpu")]
    if let Some(folder) = kernel_folder()
        && std::fs::create_dir_all(&folder).is_ok()
    {
        let kept = relief_engine::persist_kernels(&folder);
        tracing::debug!(kept, "compiled kernels in {}", folder.display());
    }
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
