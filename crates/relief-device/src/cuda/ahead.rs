//! Kernels compiled before they are launched, on all processors at once.
//!
//! The runtime compiles a kernel when it is first launched, and asks NVRTC for PTX, which the driver assembles once more; both
//! one kernel after the other. Here NVRTC's own machine code is taken, of several kernels at a time, and written where the
//! runtime keeps what it compiled: it then finds them there. What goes wrong here goes wrong again when the runtime compiles
//! the kernel itself, and is reported there.

#![allow(unsafe_code)]

use std::collections::HashSet;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use cubecl::Runtime;
use cubecl::cache::{Cache, CacheOption};
use cubecl::compilation_cache::CompilationCache;
use cubecl::config::{CubeClRuntimeConfig, RuntimeConfig};
use cubecl::hash::StableHash;
use cubecl::server::ExecutionMode;
use cudarc::nvrtc;

use super::runtime::{Cuda, Task};

type Options = <<Cuda as Runtime>::Compiler as cubecl::Compiler>::CompilationOptions;

/// What the runtime writes for a kernel (`PtxCacheEntry` of CubeCL 0.10), field by field: the file is read by name. The
/// driver loads machine code as it loads PTX.
#[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Compiled {
    entrypoint_name: String,
    shared_mem_bytes: usize,
    ptx: Vec<c_char>,
}

/// Of several devices that start a job together the first compiles for all.
static ALONE: Mutex<()> = Mutex::new(());

/// Compiles the kernels that the runtime does not have, for a device of this compute capability, if the runtime keeps what it
/// compiles. Returns how many kernels were kept before, where any was added: the runtime sees what others wrote when it
/// writes something itself.
pub(super) fn compile(capability: (u32, u32), tasks: Vec<(Task, ExecutionMode)>) -> Option<usize> {
    let config = CubeClRuntimeConfig::get();
    let place = config.compilation.cache.as_ref()?;
    let option = || CacheOption::default().name("cuda").root(place.root());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // The names alone first: usually everything is there.
    let kept = catch_unwind(|| Cache::<StableHash, String>::new("ptx/toc", option())).ok()?;
    let mut seen = HashSet::new();
    let missing: Vec<_> = tasks
        .into_iter()
        .map(|(task, mode)| {
            let mut id = task.id();
            id.mode(mode);
            (id.stable_hash(), task, mode)
        })
        .filter(|(hash, ..)| seen.insert(*hash) && kept.get(hash).is_none())
        .collect();
    if missing.len() < 2 {
        return None;
    }
    let mut sources = on_all_processors(&missing, |(hash, task, mode)| {
        source(capability, task, *mode).map(|source| (*hash, source))
    });
    // NVRTC reads one text at a time and optimises several: the longest is read first.
    sources.sort_by_key(|(_, source)| std::cmp::Reverse(source.text.as_bytes().len()));
    let compiled = on_all_processors(&sources, |(hash, source)| {
        let ptx = assemble(capability, &source.text)?;
        let (entrypoint_name, shared_mem_bytes) = (source.name.clone(), source.shared);
        Some((
            *hash,
            Compiled {
                entrypoint_name,
                shared_mem_bytes,
                ptx,
            },
        ))
    });
    let write = AssertUnwindSafe(|| {
        let mut cache = CompilationCache::new("ptx", option());
        let write = |(hash, code)| cache.insert(hash, code).is_ok();
        compiled.into_iter().map(write).filter(|written| *written).count()
    });
    let written = catch_unwind(write).unwrap_or(0);
    (written > 0).then(|| kept.len())
}

/// What `f` makes of each of these, in any order; nothing where it panics.
fn on_all_processors<T: Sync, U: Send>(all: &[T], f: impl Fn(&T) -> Option<U> + Sync) -> Vec<U> {
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get());
    let (next, made) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..processors.min(all.len()) {
            scope.spawn(|| {
                while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Ok(Some(one)) = catch_unwind(AssertUnwindSafe(|| f(one))) {
                        made.lock().unwrap_or_else(PoisonError::into_inner).push(one);
                    }
                }
            });
        }
    });
    made.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// A kernel in CUDA C++.
struct Source {
    name: String,
    /// Bytes of shared memory.
    shared: usize,
    text: CString,
}

fn source(capability: (u32, u32), task: &Task, mode: ExecutionMode) -> Option<Source> {
    let kernel = task
        .compile(
            &mut Default::default(),
            &options(capability),
            mode,
            task.address_type(),
        )
        .ok()?;
    Some(Source {
        name: kernel.entrypoint_name,
        shared: kernel.repr?.shared_memory_size(),
        text: CString::new(kernel.source).ok()?,
    })
}

/// The options that the runtime writes CUDA C++ with for such a device.
fn options((major, _): (u32, u32)) -> Options {
    let mut options = Options::default();
    options.supports_features.fast_math = true;
    options.supports_features.grid_constants = major >= 7;
    options.supports_features.clusters = major >= 9;
    options.supports_features.elect_sync = major >= 9;
    options
}

/// From CUDA C++ to machine code by NVRTC.
fn assemble((major, minor): (u32, u32), source: &CString) -> Option<Vec<c_char>> {
    let own = if major >= 9 { "a" } else { "" };
    let architecture = format!("--gpu-architecture=sm_{major}{minor}{own}");
    let headers = cubecl::cuda::install::include_path();
    let mut options = vec![architecture, format!("--include-path={}", headers.display())];
    let cccl = headers.join("cccl");
    if cccl.exists() {
        options.push(format!("--include-path={}", cccl.display()));
    }
    // Leaves out built-in headers that kernels do not use. A compiler that does not know it compiles without.
    options.push("--minimal".to_owned());
    translate(source, &options).or_else(|| translate(source, &options[..options.len() - 1]))
}

fn translate(source: &CString, options: &[String]) -> Option<Vec<c_char>> {
    let program = nvrtc::result::create_program(source, None).ok()?;
    // SAFETY: the program was made just now, is used by this thread alone, and is destroyed once, below.
    unsafe {
        let code = nvrtc::result::compile_program(program, options)
            .ok()
            .and_then(|()| code(program));
        let _ = nvrtc::result::destroy_program(program);
        code
    }
}

/// # Safety
/// The program exists and was compiled for a real architecture.
unsafe fn code(program: nvrtc::sys::nvrtcProgram) -> Option<Vec<c_char>> {
    let mut size = 0;
    // SAFETY: the caller vouches for the program; the size is written to a valid place, then as many bytes as it says.
    unsafe {
        nvrtc::sys::nvrtcGetCUBINSize(program, &raw mut size)
            .result()
            .ok()?;
        let mut code = vec![0; size];
        nvrtc::sys::nvrtcGetCUBIN(program, code.as_mut_ptr())
            .result()
            .ok()?;
        Some(code).filter(|code| !code.is_empty())
    }
}
