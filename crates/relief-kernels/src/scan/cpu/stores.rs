//! Where the sums of a block go: to the caches, or past them.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

/// Where the sums of a block go, sixteen of 32 bits each at a time.
pub(super) trait Stores: Copy {
    /// Stores sixteen, when so many of the block have been stored.
    ///
    /// # Safety
    /// Sixteen sums lie there, and the machine has AVX-512F.
    unsafe fn by_64(self, to: *mut u32, sums: __m512i, done: usize);

    /// The same by halves.
    ///
    /// # Safety
    /// Sixteen sums lie there, and the machine has AVX2.
    unsafe fn by_32(self, to: *mut u32, sums: [__m256i; 2], done: usize);
}

/// To the caches.
#[derive(Clone, Copy)]
pub(super) struct Cached;

impl Stores for Cached {
    #[inline(always)]
    unsafe fn by_64(self, to: *mut u32, sums: __m512i, _: usize) {
        // SAFETY: as the caller says.
        unsafe { _mm512_storeu_si512(to.cast(), sums) };
    }

    #[inline(always)]
    unsafe fn by_32(self, to: *mut u32, sums: [__m256i; 2], _: usize) {
        // SAFETY: as the caller says.
        unsafe {
            _mm256_storeu_si256(to.cast(), sums[0]);
            _mm256_storeu_si256(to.add(8).cast(), sums[1]);
        }
    }
}

/// Past the caches, to whole lines; meanwhile the second cache is asked for what is read next, from this number on.
pub(super) struct Past<T>(pub(super) *const T);

impl<T> Clone for Past<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Past<T> {}

impl<T> Past<T> {
    #[inline(always)]
    fn ask(self, done: usize) {
        // SAFETY: to ask for memory that is not there does nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(self.0.wrapping_add(done).cast()) };
    }
}

impl<T> Stores for Past<T> {
    #[inline(always)]
    unsafe fn by_64(self, to: *mut u32, sums: __m512i, done: usize) {
        self.ask(done);
        // SAFETY: as the caller says.
        unsafe { _mm512_stream_si512(to.cast(), sums) };
    }

    #[inline(always)]
    unsafe fn by_32(self, to: *mut u32, sums: [__m256i; 2], done: usize) {
        self.ask(done);
        // SAFETY: as the caller says.
        unsafe {
            _mm256_stream_si256(to.cast(), sums[0]);
            _mm256_stream_si256(to.add(8).cast(), sums[1]);
        }
    }
}
