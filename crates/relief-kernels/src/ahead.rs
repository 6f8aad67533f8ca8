//! Prefetches: memory is asked for before it is read.
//!
//! Processors see for themselves which memory a loop reads next, but no further than the end of a page, and not across a phase that
//! writes only.
//!
//! ```
//! use relief_kernels::ahead::{LINE, ask};
//!
//! let samples = vec![1_u8; 1 << 16];
//! let mut sum = 0_u64;
//! for (at, line) in samples.chunks(LINE).enumerate() {
//!     // Two pages ahead. Beyond the end nothing happens.
//!     ask(samples.as_ptr().wrapping_add(at * LINE + 8_192));
//!     sum += line.iter().map(|sample| u64::from(*sample)).sum::<u64>();
//! }
//! assert_eq!(sum, 1 << 16);
//! ```

/// Bytes of a line of the caches.
pub const LINE: usize = 64;

/// Asks for the line of memory at a place, which need not be one that may be read. Where the machine cannot be asked, nothing.
#[inline(always)]
pub fn ask<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }, T>(place);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// [`ask`] for what is needed so much later that the second cache is near enough. Memory that is read once,
/// line after line, is best asked for so: a first-level cache can wait for only a few dozen lines at a time,
/// and each of them takes the whole latency of memory.
#[inline(always)]
pub fn ask_for_later<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    prefetch::<{ std::arch::x86_64::_MM_HINT_T1 }, T>(place);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// [`ask`] for a line that will be written, which no other cache may hold then.
#[inline(always)]
pub fn ask_to_write<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    prefetch::<{ std::arch::x86_64::_MM_HINT_ET0 }, T>(place);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
#[inline(always)]
fn prefetch<const HINT: i32, T>(place: *const T) {
    // SAFETY: every x86-64 machine has it or passes over it, and it does nothing where there is no memory.
    unsafe { std::arch::x86_64::_mm_prefetch::<HINT>(place.cast()) };
}
