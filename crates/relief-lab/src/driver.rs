//! Copies by NVIDIA's driver alone: what a bus and a memory allow without any runtime.
//!
//! The ceilings of transfers come from here, because a runtime that pools and stages memory cannot be asked for
//! page-locked memory one time and for ordinary memory the next.

#![allow(unsafe_code)]

pub(crate) mod streams;

use std::cell::Cell;

use cudarc::driver::sys::{self, CUdeviceptr, CUresult, CUstream};

/// A way between two memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Within the device.
    Within,
    /// To the device from page-locked memory.
    PinnedUp,
    /// To page-locked memory.
    PinnedDown,
    /// Both of these at once.
    PinnedBoth,
    /// To the device from ordinary memory.
    PageableUp,
    /// To ordinary memory.
    PageableDown,
}

impl Way {
    /// All of them, and what they are in words.
    pub(crate) const ALL: [(Self, &'static str); 6] = [
        (Self::Within, "device → device, by the driver"),
        (Self::PinnedUp, "host → device, pinned"),
        (Self::PinnedDown, "device → host, pinned"),
        (Self::PinnedBoth, "host ↔ device, pinned, both at once"),
        (Self::PageableUp, "host → device, pageable"),
        (Self::PageableDown, "device → host, pageable"),
    ];

    /// Bytes that a copy of `bytes` bytes moves: within a device it reads and writes them, both ways are two.
    pub(crate) const fn bytes(self, bytes: usize) -> usize {
        match self {
            Self::Within | Self::PinnedBoth => bytes.saturating_mul(2),
            _ => bytes,
        }
    }
}

/// The context of a device that the runtime uses too; it counts its users.
struct Context {
    device: sys::CUdevice,
    context: sys::CUcontext,
}

impl Context {
    fn open(ordinal: u16) -> Result<Self, String> {
        let (mut device, mut context) = (0, std::ptr::null_mut());
        // SAFETY: every pointer is to a place of the type that the driver writes.
        unsafe {
            check("starting", sys::cuInit(0))?;
            let found = sys::cuDeviceGet(&raw mut device, ordinal.into());
            check("the device", found)?;
            let retained = sys::cuDevicePrimaryCtxRetain(&raw mut context, device);
            check("the context", retained)?;
        }
        let context = Self { device, context };
        context.enter()?;
        Ok(context)
    }

    /// Makes it that of the calling thread.
    fn enter(&self) -> Result<(), String> {
        // SAFETY: it is retained until the drop.
        check("the context", unsafe { sys::cuCtxSetCurrent(self.context) })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it was retained by `open`. What cannot be given back is lost; there is nobody to tell.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// Memory on both sides of a bus, and two queues.
pub(crate) struct Copies {
    context: Context,
    bytes: usize,
    on_device: [CUdeviceptr; 2],
    pinned: [*mut std::ffi::c_void; 2],
    /// Written by the driver, never read.
    pageable: Vec<Cell<u8>>,
    queues: [CUstream; 2],
}

// SAFETY: everything in it belongs to the process, not to a thread; calls make the context that of their thread first.
unsafe impl Send for Copies {}

impl Copies {
    /// Takes `bytes` bytes four times: twice on the device, twice page-locked.
    ///
    /// # Errors
    /// What the driver says, and where the host has no memory for as many.
    pub(crate) fn open(ordinal: u16, bytes: usize) -> Result<Self, String> {
        let mut pageable = Vec::new();
        if pageable.try_reserve_exact(bytes).is_err() {
            return Err(format!("there is no memory for {bytes} bytes"));
        }
        pageable.resize(bytes, Cell::new(3));
        let mut copies = Self {
            context: Context::open(ordinal)?,
            bytes,
            on_device: [0; 2],
            pinned: [std::ptr::null_mut(); 2],
            pageable,
            queues: [std::ptr::null_mut(); 2],
        };
        // SAFETY: every pointer is to a place of the type that the driver writes. What is allocated is given back by
        // the drop, which passes over what is null.
        unsafe {
            for k in 0..2 {
                check("memory", sys::cuMemAlloc_v2(&raw mut copies.on_device[k], bytes))?;
                let locked = sys::cuMemHostAlloc(&raw mut copies.pinned[k], bytes, 0);
                check("page-locked memory", locked)?;
                check("a queue", sys::cuStreamCreate(&raw mut copies.queues[k], 1))?;
            }
        }
        Ok(copies)
    }

    /// Asks for a copy.
    pub(crate) fn start(&self, way: Way) -> Result<(), String> {
        self.context.enter()?;
        let ([near, far], [low, high], bytes) = (self.on_device, self.pinned, self.bytes);
        let [first, second] = self.queues;
        let ordinary = self.pageable.as_ptr();
        // SAFETY: all memories have `bytes` bytes and live until the drop, which waits for the queues. The bytes of the
        // ordinary memory are cells, which may change while they are shared.
        unsafe {
            let up = |from, queue| check("a copy", sys::cuMemcpyHtoDAsync_v2(near, from, bytes, queue));
            let down = |to, queue| check("a copy", sys::cuMemcpyDtoHAsync_v2(to, far, bytes, queue));
            match way {
                Way::Within => check("a copy", sys::cuMemcpyDtoDAsync_v2(near, far, bytes, first)),
                Way::PinnedUp => up(low.cast_const(), first),
                Way::PinnedDown => down(high, first),
                Way::PinnedBoth => up(low.cast_const(), first).and_then(|()| down(high, second)),
                Way::PageableUp => up(ordinary.cast(), first),
                Way::PageableDown => down(ordinary.cast_mut().cast(), first),
            }
        }
    }

    /// Waits for all copies.
    pub(crate) fn wait(&self) -> Result<(), String> {
        self.context.enter()?;
        for queue in self.queues {
            // SAFETY: the queue lives until the drop.
            check("a copy", unsafe { sys::cuStreamSynchronize(queue) })?;
        }
        Ok(())
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        let _ = self.wait();
        // SAFETY: each was allocated by `open`, or is null and passed over. What cannot be given back is lost.
        unsafe {
            for k in 0..2 {
                if !self.queues[k].is_null() {
                    let _ = sys::cuStreamDestroy_v2(self.queues[k]);
                }
                if !self.pinned[k].is_null() {
                    let _ = sys::cuMemFreeHost(self.pinned[k]);
                }
                if self.on_device[k] != 0 {
                    let _ = sys::cuMemFree_v2(self.on_device[k]);
                }
            }
        }
    }
}

fn check(what: &str, result: CUresult) -> Result<(), String> {
    match result {
        CUresult::CUDA_SUCCESS => Ok(()),
        _ => Err(format!("the CUDA driver refuses {what}: {result:?}")),
    }
}
