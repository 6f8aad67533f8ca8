//! Copies on the CPU.
//!
//! An ordinary store first reads the line that it overwrites into the cache. A non-temporal store does not, which saves
//! a third of the traffic of a copy, and leaves the target outside the cache, which costs whoever reads it next. So a
//! copy that stays in the cache is left to the platform's `memcpy`, and [`stream`] is for what is larger.
#![allow(unsafe_code)]

use crate::isa::{Isa, Level};

/// From so many bytes on, [`copy`] leaves the caches alone.
pub const LARGE: usize = 4 << 20;

/// Copies bytes, in the way that suits their number.
///
/// # Panics
/// Where the lengths differ.
pub fn copy(from: &[u8], to: &mut [u8]) {
    copy_part(from, to, from.len());
}

/// [`copy`] of a part of `whole` bytes, of which other threads copy the rest: what suits all of them suits each.
///
/// # Panics
/// Where the lengths differ.
pub fn copy_part(from: &[u8], to: &mut [u8], whole: usize) {
    if whole >= LARGE {
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
    stream_open(from, to, &[]);
    fence();
}

/// [`stream`] whose stores other threads may not see before a [`fence`], which waits for all of them; meanwhile memory is asked for what is
/// read next, so that it does not rest from reading. Of much of that only for the beginning.
///
/// # Panics
/// As [`stream`].
pub fn stream_open(from: &[u8], to: &mut [u8], ahead: &[u8]) {
    assert_eq!(from.len(), to.len(), "a copy between slices of different lengths");
    match Isa::best().level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` of this level exists only where the machine has its instructions.
        Level::Avx512 | Level::Avx512Vbmi => unsafe { x86::stream_avx512(from, to, ahead) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2 => unsafe { x86::stream_avx2(from, to) },
        Level::Portable => {
            let _ = ahead;
            to.copy_from_slice(from);
        }
    }
}

/// Non-temporal stores are ordered with what other threads see only by this.
pub fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 machine has it.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Bytes that are computed before non-temporal stores take them: a part of the nearest cache.
const PART: usize = 8 << 10;

/// A part, aligned as vectors are.
#[repr(align(64))]
struct Part([u8; PART]);

/// Computes `out` by parts, which `compute` gets with the index of their first element. Where it is large, a
/// part is computed in the nearest cache and then stored by [`stream`], non-temporally.
pub fn past_caches<T: bytemuck::Pod>(out: &mut [T], compute: impl Fn(usize, &mut [T])) {
    past_caches_part(out, size_of_val(out), compute);
}

/// [`past_caches`] of a part of a result of `whole` bytes.
pub fn past_caches_part<T: bytemuck::Pod>(out: &mut [T], whole: usize, compute: impl Fn(usize, &mut [T])) {
    if whole < LARGE {
        compute(0, out);
        return;
    }
    let mut part = Part([0; PART]);
    let held: &mut [T] = bytemuck::cast_slice_mut(&mut part.0);
    let mut start = 0;
    for out in out.chunks_mut(held.len()) {
        let held = &mut held[..out.len()];
        compute(start, held);
        stream_open(bytemuck::cast_slice(held), bytemuck::cast_slice_mut(out), &[]);
        start += out.len();
    }
    fence();
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use crate::ahead::{LINE, ask};

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

    /// The most lines that are asked for with each that is stored.
    const ASKED: usize = 4;

    #[target_feature(enable = "avx512f")]
    pub(super) fn stream_avx512(from: &[u8], to: &mut [u8], ahead: &[u8]) {
        // rung: copy on cpu: non-temporal
        let (from, to) = aligned(from, to, LINE);
        let each = ahead.len().div_ceil(from.len().max(1)).min(ASKED);
        let mut ahead = ahead.chunks(LINE);
        for (from, to) in from.chunks_exact(LINE).zip(to.chunks_exact_mut(LINE)) {
            ahead.by_ref().take(each).for_each(|line| ask(line.as_ptr()));
            // SAFETY: both chunks have 64 bytes, and `aligned` has aligned the target.
            unsafe { _mm512_stream_si512(to.as_mut_ptr().cast(), _mm512_loadu_si512(from.as_ptr().cast())) };
        }
        // end
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn stream_avx2(from: &[u8], to: &mut [u8]) {
        let (from, to) = aligned(from, to, 32);
        for (from, to) in from.chunks_exact(32).zip(to.chunks_exact_mut(32)) {
            // SAFETY: both chunks have 32 bytes, and `aligned` has aligned the target.
            unsafe { _mm256_stream_si256(to.as_mut_ptr().cast(), _mm256_loadu_si256(from.as_ptr().cast())) };
        }
    }
}
