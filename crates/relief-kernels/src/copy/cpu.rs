//! Copies on the CPU.
//!
//! An ordinary store first reads the line that it overwrites into the cache. A non-temporal store does not, which saves
//! a third of the traffic of a copy, and leaves the target outside the cache, which costs whoever reads it next. So a
//! copy that stays in the cache is left to the platform's `memcpy`, and [`stream`] is for what is larger.
#![allow(unsafe_code)]

use crate::isa::{Isa, Level};

/// From so many bytes on, [`copy`] leaves the caches alone.
pub(crate) const LARGE: usize = 4 << 20;

/// Copies bytes, in the way that suits their number.
///
/// # Panics
/// Where the lengths differ.
pub fn copy(from: &[u8], to: &mut [u8]) {
    if from.len() >= LARGE {
        stream(from, to);
    } else {
        to.copy_from_slice(from);
    }
}

/// Copies bytes with stores that leave the caches alone; where the machine has none, as `copy_from_slice`.
///
/// # Panics
/// Where the lengths differ.
pub fn stream(from: &[u8], to: &mut [u8]) {
    assert_eq!(from.len(), to.len(), "a copy between slices of different lengths");
    match Isa::best().level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` of this level exists only where the machine has its instructions.
        Level::Avx512 | Level::Avx512Vbmi => unsafe { x86::stream_avx512(from, to) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2 => unsafe { x86::stream_avx2(from, to) },
        Level::Portable => to.copy_from_slice(from),
    }
}

/// Bytes that are computed before they are stored past the caches: a part of the nearest one.
const PART: usize = 8 << 10;

/// A part, aligned as vectors are.
#[repr(align(64))]
struct Part([u8; PART]);

/// Computes `out` by parts, which `compute` gets with the index of their first element. Where it is large, a part is
/// computed in the nearest cache and then stored past the caches by [`stream`].
pub(crate) fn past_caches<T: bytemuck::Pod>(out: &mut [T], compute: impl Fn(usize, &mut [T])) {
    if size_of_val(out) < LARGE {
        compute(0, out);
        return;
    }
    let mut part = Part([0; PART]);
    let held: &mut [T] = bytemuck::cast_slice_mut(&mut part.0);
    let mut start = 0;
    for out in out.chunks_mut(held.len()) {
        let held = &mut held[..out.len()];
        compute(start, held);
        stream(bytemuck::cast_slice(held), bytemuck::cast_slice_mut(out));
        start += out.len();
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// Splits a copy where the target is aligned to `align` bytes: what lies before and after is copied at once.
    fn aligned<'a>(from: &'a [u8], to: &'a mut [u8], align: usize) -> (&'a [u8], &'a mut [u8]) {
        let head = to.as_ptr().align_offset(align).min(to.len());
        let body = (to.len() - head) / align * align;
        let (first, rest) = to.split_at_mut(head);
        let (middle, last) = rest.split_at_mut(body);
        first.copy_from_slice(&from[..head]);
        last.copy_from_slice(&from[head + body..]);
        (&from[head..head + body], middle)
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn stream_avx512(from: &[u8], to: &mut [u8]) {
        let (from, to) = aligned(from, to, 64);
        for (from, to) in from.chunks_exact(64).zip(to.chunks_exact_mut(64)) {
            // SAFETY: both chunks have 64 bytes, and `aligned` has aligned the target.
            unsafe { _mm512_stream_si512(to.as_mut_ptr().cast(), _mm512_loadu_si512(from.as_ptr().cast())) };
        }
        // Non-temporal stores are ordered with what other threads see only by a fence.
        _mm_sfence();
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn stream_avx2(from: &[u8], to: &mut [u8]) {
        let (from, to) = aligned(from, to, 32);
        for (from, to) in from.chunks_exact(32).zip(to.chunks_exact_mut(32)) {
            // SAFETY: both chunks have 32 bytes, and `aligned` has aligned the target.
            unsafe { _mm256_stream_si256(to.as_mut_ptr().cast(), _mm256_loadu_si256(from.as_ptr().cast())) };
        }
        _mm_sfence();
    }
}
