//! Where the sums of a block go: cached or non-temporal stores.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::GROUP;

/// Where the sums of a block go, sixteen of 32 bits each at a time: one vector of 64 bytes, or two of 32.
pub(super) trait Stores<V>: Copy {
    /// Stores sixteen, when so many of the block have been stored.
    ///
    /// # Safety
    /// Sixteen sums lie there, and the machine has the vectors.
    unsafe fn store(self, to: *mut u32, sums: V, done: usize);
}

/// Scans a block by `group`, which makes sums of sixteen numbers; what is missing in the last are zeros. It
/// is compiled into functions that have the instructions of `group`.
///
/// # Safety
/// The machine has the vectors, and sums have 32 bits. Where they take non-temporal stores, they begin with a
/// line of them.
#[inline(always)]
pub(super) unsafe fn each_group<T: Copy + Default, S: Copy + Default, V>(
    values: &[T],
    out: &mut [S],
    stores: impl Stores<V>,
    mut group: impl FnMut(&[T; GROUP]) -> V,
) where
    Cached: Stores<V>,
{
    let (groups, rest) = values.as_chunks::<GROUP>();
    let (targets, last) = out.as_chunks_mut::<GROUP>();
    let mut done = 0;
    for (values, target) in groups.iter().zip(targets) {
        // SAFETY: there are sixteen sums.
        unsafe { stores.store(target.as_mut_ptr().cast(), group(values), done) };
        done += GROUP;
    }
    if !rest.is_empty() {
        let mut values = [T::default(); GROUP];
        values[..rest.len()].copy_from_slice(rest);
        let mut target = [S::default(); GROUP];
        // SAFETY: as above.
        unsafe { Cached.store(target.as_mut_ptr().cast(), group(&values), done) };
        last.copy_from_slice(&target[..last.len()]);
    }
}

/// To the caches.
#[derive(Clone, Copy)]
pub(super) struct Cached;

impl Stores<__m512i> for Cached {
    #[inline(always)]
    unsafe fn store(self, to: *mut u32, sums: __m512i, _: usize) {
        // SAFETY: as the caller says.
        unsafe { _mm512_storeu_si512(to.cast(), sums) };
    }
}

impl Stores<[__m256i; 2]> for Cached {
    #[inline(always)]
    unsafe fn store(self, to: *mut u32, sums: [__m256i; 2], _: usize) {
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

impl<T> Stores<__m512i> for Past<T> {
    #[inline(always)]
    unsafe fn store(self, to: *mut u32, sums: __m512i, done: usize) {
        self.ask(done);
        // SAFETY: as the caller says.
        unsafe { _mm512_stream_si512(to.cast(), sums) };
    }
}

impl<T> Stores<[__m256i; 2]> for Past<T> {
    #[inline(always)]
    unsafe fn store(self, to: *mut u32, sums: [__m256i; 2], done: usize) {
        self.ask(done);
        // SAFETY: as the caller says.
        unsafe {
            _mm256_stream_si256(to.cast(), sums[0]);
            _mm256_stream_si256(to.add(8).cast(), sums[1]);
        }
    }
}
