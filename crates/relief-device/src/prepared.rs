//! What a program keeps between its runs for the devices of this machine: compiled kernels, and layouts that were found to
//! suit them.
//!
//! Everything here is for programs: a library that embeds the kernels chooses its own folder ([`super::persist_kernels`])
//! and its own layouts ([`crate::policy::load`]), or none.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{DeviceChoice, DeviceId, SelectionError, devices_for, select};
use crate::policy;

/// The devices that a choice means here, with their kept kernels and layouts at hand. Looks at no GPU where the CPU is
/// asked for.
///
/// Kernels are kept in the folder that `RELIEF_KERNEL_CACHE` names, else in `relief` in the user's folder of caches;
/// layouts are read from [`policy_file`].
///
/// # Errors
/// Those of [`select`].
pub fn select_prepared(choice: &DeviceChoice) -> Result<Vec<DeviceId>, SelectionError> {
    if *choice == DeviceChoice::Cpu || (*choice == DeviceChoice::Auto && !may_have_gpu()) {
        return Ok(vec![DeviceId::Cpu]);
    }
    let there = devices_for(choice);
    let chosen = select(choice, &there)?;
    if chosen.iter().any(|id| *id != DeviceId::Cpu) {
        let reports = there.devices.iter().filter(|report| chosen.contains(&report.id));
        keep_kernels(reports.map(|report| report.driver.as_str()).collect());
        if let Some(file) = policy_file() {
            policy::load(&file);
        }
    }
    Ok(chosen)
}

/// Where layouts of kernels are kept: `RELIEF_POLICIES`, else `policies` in the folder of kept kernels; nowhere where the
/// user wants so (an empty variable).
#[must_use]
pub fn policy_file() -> Option<PathBuf> {
    match env::var_os("RELIEF_POLICIES") {
        Some(file) if file.is_empty() => None,
        Some(file) => Some(file.into()),
        None => kernel_folder().map(|folder| folder.join("policies")),
    }
}

/// Whether this machine may have a GPU at all. Loading GPU drivers takes tens of milliseconds, and without a display some
/// of them write to the standard error, so a Linux that has no device file of any GPU is not asked further.
fn may_have_gpu() -> bool {
    const FILES: [&str; 6] = [
        "/dev/dri",
        "/dev/nvidiactl",
        "/dev/dxg",
        "/dev/nvmap",
        "/dev/kgsl-3d0",
        "/dev/mali0",
    ];
    !cfg!(target_os = "linux") || FILES.iter().any(|file| Path::new(file).exists())
}

/// Keeps compiled kernels for the next run, so that it starts sooner. They are machine code for one kind of device, and
/// the runtime knows them by what they compute alone: each driver and compute capability has a folder of its own, and a
/// job on devices of several kinds keeps none.
fn keep_kernels(mut drivers: Vec<&str>) {
    drivers.dedup();
    #[cfg(feature = "gpu")]
    if let ([driver], Some(folder)) = (drivers.as_slice(), kernel_folder())
        && let folder = folder.join(name_of(driver))
        && std::fs::create_dir_all(&folder).is_ok()
    {
        super::persist_kernels(&folder);
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

/// Where what is compiled and found for devices is kept.
fn kernel_folder() -> Option<PathBuf> {
    match env::var_os("RELIEF_KERNEL_CACHE") {
        Some(folder) if folder.is_empty() => None,
        Some(folder) => Some(folder.into()),
        None => cache_folder().map(|folder| folder.join("relief")),
    }
}

/// The user's folder for what can be made again.
fn cache_folder() -> Option<PathBuf> {
    let absolute = |path: OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    let of = |variable: &str| env::var_os(variable).and_then(absolute);
    of("XDG_CACHE_HOME").or_else(|| of("HOME").map(|home| home.join(".cache")))
}
