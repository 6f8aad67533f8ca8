//! Copies to a device and back with a kernel between, chunk by chunk, in several queues of NVIDIA's driver: what computing
//! beside transfers can come to where nothing stands between.
//!
//! A device has a unit for copies each way, and multiprocessors: three things that can be busy at once, if their work lies in
//! different queues. One queue does one thing after another.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::time::{Duration, Instant};

use cudarc::driver::result;
use cudarc::driver::sys::{self, CUdeviceptr, CUstream};

use super::{Context, check};

/// How long is waited for queues to become empty. A gigabyte takes a fiftieth of a second.
const PATIENCE: Duration = Duration::from_secs(20);

/// The most queues.
pub(crate) const MOST: usize = 8;

/// The kernel, in the assembly language that the driver itself translates.
const KERNEL: &std::ffi::CStr = c".version 7.0
.target sm_50
.address_size 64
.visible .entry multiply_words(.param .u64 from, .param .u64 to, .param .u32 count)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %d<6>;
    ld.param.u64 %d1, [from];
    ld.param.u64 %d2, [to];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    cvta.to.global.u64 %d1, %d1;
    cvta.to.global.u64 %d2, %d2;
    mul.wide.u32 %d3, %r5, 4;
    add.s64 %d4, %d1, %d3;
    add.s64 %d5, %d2, %d3;
    ld.global.u32 %r6, [%d4];
    mad.lo.u32 %r7, %r6, 2654435761, 1;
    st.global.u32 [%d5], %r7;
DONE:
    ret;
}
";

/// Page-locked words, memory of a device for as many, queues, and the kernel.
pub(crate) struct Streams {
    /// Not given back where the device is stuck.
    context: ManuallyDrop<Context>,
    module: sys::CUmodule,
    kernel: sys::CUfunction,
    words: usize,
    near: CUdeviceptr,
    host: [*mut u32; 2],
    queues: Vec<CUstream>,
    /// By which one queue waits for another.
    events: Vec<sys::CUevent>,
    /// Whether a wait was given up: what the device may still use is then neither read nor written nor given back.
    stuck: bool,
}

// SAFETY: everything in it belongs to the process, not to a thread; calls make the context that of their thread first.
unsafe impl Send for Streams {}

/// When a chunk was where, in seconds from the start of the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Span {
    /// Its queue.
    pub(crate) queue: usize,
    /// The start of its copy to the device, that copy's end, the kernel's end, and the end of the copy back.
    pub(crate) times: [f64; 4],
}

/// Which queues take a chunk.
#[derive(Clone, Copy)]
enum In {
    /// One for all of its steps, chunk k the k mod n-th.
    Turn(usize),
    /// One for each step.
    Steps,
}

impl Streams {
    /// Takes `words` words on the device and twice as many page-locked ones.
    ///
    /// # Errors
    /// What the driver says, and where no memory has as many words.
    pub(crate) fn open(ordinal: u16, words: usize) -> Result<Self, String> {
        let bytes = bytes_of(words)?;
        let mut streams = Self {
            context: ManuallyDrop::new(Context::open(ordinal)?),
            module: std::ptr::null_mut(),
            kernel: std::ptr::null_mut(),
            words,
            near: 0,
            host: [std::ptr::null_mut(); 2],
            queues: Vec::new(),
            events: Vec::new(),
            stuck: false,
        };
        // SAFETY: every pointer is to a place of the type that the driver writes; the kernel ends with a zero. What is allocated is
        // given back by the drop, which passes over what is null.
        unsafe {
            let loaded = sys::cuModuleLoadData(&raw mut streams.module, KERNEL.as_ptr().cast());
            check("a kernel", loaded)?;
            let name = c"multiply_words".as_ptr();
            let found = sys::cuModuleGetFunction(&raw mut streams.kernel, streams.module, name);
            check("a kernel", found)?;
            check("memory", sys::cuMemAlloc_v2(&raw mut streams.near, bytes))?;
            for host in &mut streams.host {
                let mut memory: *mut c_void = std::ptr::null_mut();
                let locked = sys::cuMemHostAlloc(&raw mut memory, bytes, 0);
                check("page-locked memory", locked)?;
                *host = memory.cast();
                // The driver gives out zeroed pages, but does not say so.
                std::ptr::write_bytes(*host, 0, words);
            }
            for _ in 0..MOST {
                let mut queue = std::ptr::null_mut();
                // 1: it does not wait for the default queue.
                check("a queue", sys::cuStreamCreate(&raw mut queue, 1))?;
                streams.queues.push(queue);
            }
        }
        Ok(streams)
    }

    pub(crate) const fn words(&self) -> usize {
        self.words
    }

    /// The words that are copied to the device.
    ///
    /// # Errors
    /// Where the device may still use them, because a wait for its end was given up.
    pub(crate) fn source(&mut self) -> Result<&mut [u32], String> {
        self.unless_stuck()?;
        // SAFETY: so many words, initialised by `open`, borrowed as long as `self`; the driver uses them only within `run`, which waits for
        // its end, or else never gives them out again.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.host[0], self.words) })
    }

    /// The words that came back, as [`Self::source`].
    pub(crate) fn result(&self) -> Result<&[u32], String> {
        self.unless_stuck()?;
        // SAFETY: as for `source`.
        Ok(unsafe { std::slice::from_raw_parts(self.host[1], self.words) })
    }

    /// Nothing where the memory is that of this process alone: the device has come to the end of what was asked.
    fn unless_stuck(&self) -> Result<(), String> {
        let reason = "the device did not end what it was asked for, and may still use the memory";
        if self.stuck {
            Err(reason.to_owned())
        } else {
            Ok(())
        }
    }

    /// Fills with zeros what came back and what was copied to the device, so that only a copy can bring a word there.
    pub(crate) fn clear(&mut self) -> Result<(), String> {
        self.unless_stuck()?;
        self.context.enter()?;
        // SAFETY: as many words lie at both places, and no queue has work: `run` has waited for its end.
        unsafe {
            std::ptr::write_bytes(self.host[1], 0, self.words);
            check("zeros", sys::cuMemsetD32_v2(self.near, 0, self.words))?;
            check("zeros", sys::cuCtxSynchronize())
        }
    }

    /// Copies all words to the device in chunks of `chunk`, multiplies them into the memory at `to`, and copies them back: chunk k in
    /// queue k mod `queues`. Waits until all are back, 20 s at most.
    ///
    /// # Errors
    /// What the driver says, for no chunks or more than [`MOST`] queues, and where the device does not come to an end.
    ///
    /// # Safety
    /// As many words as these lie at `to` in the memory of the device, and nothing that was asked of it uses them.
    pub(crate) unsafe fn run(&mut self, queues: usize, chunk: usize, to: CUdeviceptr) -> Result<(), String> {
        // SAFETY: the caller vouches for the target.
        let issued = unsafe { self.issue(In::Turn(queues), chunk, to, |_, _| Ok(())) };
        // What was asked for before a refusal still uses the memory.
        let waited = self.wait();
        issued.and(waited)
    }

    /// As [`Self::run`], but with a queue for each of the three steps: chunks follow each other in each, and wait for the step before by an event.
    ///
    /// # Safety
    /// As for [`Self::run`].
    pub(crate) unsafe fn run_by_steps(&mut self, chunk: usize, to: CUdeviceptr) -> Result<(), String> {
        let explain = |e| format!("the CUDA driver refuses an event: {e}");
        self.context.enter()?;
        // Two for each chunk, which later runs use again.
        let mut events = std::mem::take(&mut self.events);
        let (queues, mut noted, mut used) = (self.queues.clone(), 0, 0);
        let mut hand_over = |_: usize, queue: CUstream| {
            // Between the steps of a chunk what follows is for the next queue.
            let after = noted % 4;
            noted += 1;
            if !(1..3).contains(&after) {
                return Ok(());
            }
            if used == events.len() {
                let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING;
                events.push(result::event::create(flags).map_err(explain)?);
            }
            let event = events[used];
            used += 1;
            // SAFETY: all live until the drop, which waits for the queues.
            unsafe {
                result::event::record(event, queue).map_err(explain)?;
                check("to wait", sys::cuStreamWaitEvent(queues[after], event, 0))
            }
        };
        // SAFETY: the caller vouches for the target.
        let issued = unsafe { self.issue(In::Steps, chunk, to, &mut hand_over) };
        self.events = events;
        let waited = self.wait();
        issued.and(waited)
    }

    /// [`Self::run`] with times.
    ///
    /// # Safety
    /// As for [`Self::run`].
    pub(crate) unsafe fn timeline(
        &mut self,
        queues: usize,
        chunk: usize,
        to: CUdeviceptr,
    ) -> Result<Vec<Span>, String> {
        if queues == 0 {
            return Err("no queues".to_owned());
        }
        self.context.enter()?;
        let explain = |e| format!("the CUDA driver refuses a time: {e}");
        let mut events = Vec::new();
        let mut note = |number: usize, queue: CUstream| {
            let event = result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).map_err(explain)?;
            events.push((number, event));
            // SAFETY: both live until the queues are empty.
            unsafe { result::event::record(event, queue) }.map_err(explain)
        };
        // SAFETY: the caller vouches for the target.
        let issued = unsafe { self.issue(In::Turn(queues), chunk, to, &mut note) };
        let waited = self.wait();
        let times = events.iter().map(|(_, event)| {
            // SAFETY: both were recorded in queues that are empty now.
            unsafe { result::event::elapsed(events[0].1, *event) }
                .map(|milliseconds| f64::from(milliseconds) / 1e3)
                .map_err(explain)
        });
        let times: Result<Vec<f64>, String> = issued.and(waited).and_then(|()| times.collect());
        let spans = times.map(|times| {
            let chunks = times.chunks_exact(4).zip(events.chunks_exact(4));
            chunks
                .map(|(times, events)| Span {
                    queue: events[0].0 % queues,
                    times: [times[0], times[1], times[2], times[3]],
                })
                .collect()
        });
        for (_, event) in events {
            // SAFETY: nobody knows it any more. What cannot be given back is lost.
            let _ = unsafe { result::event::destroy(event) };
        }
        spans
    }

    /// Asks for everything; `note` is called with the number of the chunk at its start, between its steps, and at its end.
    ///
    /// # Safety
    /// As for [`Self::run`], until [`Self::wait`] returns.
    unsafe fn issue(
        &mut self,
        queues: In,
        chunk: usize,
        to: CUdeviceptr,
        mut note: impl FnMut(usize, CUstream) -> Result<(), String>,
    ) -> Result<(), String> {
        const UNITS: u32 = 256;
        self.unless_stuck()?;
        let of = |number: usize| match queues {
            In::Turn(queues) => [number % queues; 3],
            In::Steps => [0, 1, 2],
        };
        let many = if let In::Turn(queues) = queues { queues } else { 3 };
        if chunk == 0 || chunk > 1 << 30 || !(1..=MOST).contains(&many) {
            return Err(format!("chunks of {chunk} words in {many} queues"));
        }
        self.context.enter()?;
        for (number, start) in (0..self.words).step_by(chunk).enumerate() {
            let [up, queue, down] = of(number).map(|queue| self.queues[queue]);
            let len = chunk.min(self.words - start);
            let place = 4 * start as u64;
            let (mut from, mut target, mut count) = (self.near + place, to + place, len as u32);
            let mut arguments: [*mut c_void; 3] = [
                (&raw mut from).cast(),
                (&raw mut target).cast(),
                (&raw mut count).cast(),
            ];
            // SAFETY: `start` + `len` is at most `words`, which all memories have, the target by the caller's word. The driver copies
            // the arguments, which are those of the kernel, before it returns. The kernel compares places with the count.
            unsafe {
                note(number, up)?;
                let source = self.host[0].add(start).cast();
                check("a copy", sys::cuMemcpyHtoDAsync_v2(from, source, 4 * len, up))?;
                note(number, up)?;
                let launched = sys::cuLaunchKernel(
                    self.kernel,
                    count.div_ceil(UNITS),
                    1,
                    1,
                    UNITS,
                    1,
                    1,
                    0,
                    queue,
                    arguments.as_mut_ptr(),
                    std::ptr::null_mut(),
                );
                check("a launch", launched)?;
                note(number, queue)?;
                let result = self.host[1].add(start).cast();
                check("a copy", sys::cuMemcpyDtoHAsync_v2(result, target, 4 * len, down))?;
                note(number, down)?;
            }
        }
        Ok(())
    }

    fn wait(&mut self) -> Result<(), String> {
        let end = Instant::now() + PATIENCE;
        for queue in &self.queues {
            loop {
                // SAFETY: the queue lives until the drop.
                match unsafe { sys::cuStreamQuery(*queue) } {
                    sys::CUresult::CUDA_ERROR_NOT_READY if Instant::now() > end => {
                        self.stuck = true;
                        return Err(format!(
                            "the device does not end what it was asked for in {PATIENCE:?}"
                        ));
                    }
                    sys::CUresult::CUDA_ERROR_NOT_READY => std::thread::yield_now(),
                    sys::CUresult::CUDA_SUCCESS => break,
                    refused => {
                        // What the other queues do is not known any more.
                        self.stuck = true;
                        return check("a copy", refused);
                    }
                }
            }
        }
        Ok(())
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        // What cannot be given back is lost; there is nobody to tell.
        if !self.stuck {
            let _ = self.context.enter().and_then(|()| self.wait());
        }
        if self.stuck {
            return;
        }
        // SAFETY: each was allocated by `open`, or is null and passed over; the context is used no more.
        unsafe {
            for queue in self.queues.drain(..) {
                let _ = sys::cuStreamDestroy_v2(queue);
            }
            for event in self.events.drain(..) {
                let _ = sys::cuEventDestroy_v2(event);
            }
            for host in self.host {
                if !host.is_null() {
                    let _ = sys::cuMemFreeHost(host.cast());
                }
            }
            if self.near != 0 {
                let _ = sys::cuMemFree_v2(self.near);
            }
            if !self.module.is_null() {
                let _ = sys::cuModuleUnload(self.module);
            }
            ManuallyDrop::drop(&mut self.context);
        }
    }
}

/// The bytes of so many words, at least one.
fn bytes_of(words: usize) -> Result<usize, String> {
    let bytes = words.max(1).checked_mul(size_of::<u32>());
    let bytes = bytes.filter(|bytes| isize::try_from(*bytes).is_ok());
    bytes.ok_or_else(|| format!("{words} words are more than any memory holds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_words_than_memory_can_hold_are_refused_before_any_is_taken() {
        assert_eq!(bytes_of(0), Ok(4));
        assert_eq!(bytes_of(1 << 20), Ok(4 << 20));
        // The bytes of the second are 4 modulo 2^64.
        for words in [usize::MAX, (1 << (usize::BITS - 2)) + 1, 1 << (usize::BITS - 3)] {
            let error = Streams::open(0, words).err();
            assert!(
                error.is_some_and(|error| error.contains(&words.to_string())),
                "{words}"
            );
        }
    }

    #[test]
    fn memory_that_the_device_may_still_use_is_not_given_out() {
        let mut words = [[0_u32; 4]; 2];
        let host = words.each_mut().map(|words| words.as_mut_ptr());
        let context = Context {
            device: 0,
            context: std::ptr::null_mut(),
        };
        let mut streams = Streams {
            context: ManuallyDrop::new(context),
            module: std::ptr::null_mut(),
            kernel: std::ptr::null_mut(),
            words: 4,
            near: 0,
            host,
            queues: Vec::new(),
            events: Vec::new(),
            stuck: false,
        };
        assert_eq!(streams.source().map(|source| source.len()), Ok(4));
        assert_eq!(streams.result().map(<[u32]>::len), Ok(4));
        streams.stuck = true;
        assert!(streams.source().is_err());
        assert!(streams.result().is_err());
        assert!(streams.clear().is_err());
        // SAFETY: nothing is asked of a device.
        assert!(unsafe { streams.run(1, 4, 0) }.is_err());
    }
}
