//! Kernels that are compiled ahead are those that run, and compiling them computes nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod support;

use std::path::Path;

use relief_kernels::device::{DeviceError, DeviceId, Gpu, persist_kernels};
use relief_kernels::repeat::gpu::{Cell, Raster, SPACE, expand_with};

use support::device;

const UNTOUCHED: u32 = 0x5A5A_5A5A;

/// How many kernels the runtime keeps there.
fn kept(folder: &Path) -> usize {
    let toc = folder.join("cuda/0.10.0/ptx/toc.json.log");
    std::fs::read_to_string(toc).map_or(0, |toc| toc.lines().count())
}

#[test]
fn kernels_compiled_ahead_are_kept_and_run_and_nothing_is_computed_before() -> Result<(), DeviceError> {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(persist_kernels(folder.path()), "no device was started before");
    let Some(gpu) = device() else { return Ok(()) };
    let cell: Vec<u32> = (0..64).collect();
    let cell = gpu.upload(&cell)?;
    let output = gpu.upload(&[UNTOUCHED; 64])?;
    let layouts: Vec<_> = SPACE.all().take(4).collect();
    assert_eq!(layouts.len(), 4);
    let ask = |gpu: &Gpu| {
        layouts.iter().try_for_each(|tuning| {
            let from = Cell {
                buffer: &cell,
                width: 8,
                height: 8,
                pitch: 8,
            };
            let to = Raster {
                buffer: &output,
                width: 8,
                height: 8,
                pitch: 8,
            };
            expand_with(gpu, *tuning, 32, from, (0, 0), to)
        })
    };
    let mut asked = false;
    gpu.compile_ahead(|| {
        asked = true;
        ask(&gpu)
    })?;
    gpu.sync()?;
    let untouched = gpu.read(&output, 64).wait()?;
    assert!(
        untouched.chunks(4).all(|word| word == UNTOUCHED.to_le_bytes()),
        "something was computed"
    );
    let ahead = kept(folder.path());
    if matches!(gpu.id(), DeviceId::Cuda(_)) {
        assert!(asked);
        assert!(
            ahead > 4,
            "four layouts, and the one that makes the runtime look, are kept: {ahead}"
        );
    } else {
        assert!(!asked, "another runtime compiles by itself");
    }
    ask(&gpu)?;
    let found = gpu.read(&output, 64).wait()?;
    let expected: Vec<u8> = (0..64_u32).flat_map(u32::to_le_bytes).collect();
    assert_eq!(&found[..], &expected[..]);
    assert_eq!(
        kept(folder.path()),
        ahead,
        "the runtime compiled what was compiled ahead"
    );
    Ok(())
}
