//! Wide windows across sums of columns by prefix sums of sixteen columns at once (W. D. Hillis and G. L. Steele, "Data parallel
//! algorithms", 1986): what enters less what leaves, summed in four steps, and added to the window before. As many
//! instructions for any window; adding windows of 2, 4, 8, … columns takes twice as many for 101.
//!
//! The compiler does not find prefix sums in loops, so this is in AVX-512 alone.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m512i, _mm_storeu_si128, _mm256_loadu_si256, _mm512_add_epi32, _mm512_add_ps, _mm512_alignr_epi32,
    _mm512_cvtepi32_epi8, _mm512_cvtepi32_ps, _mm512_cvtepu16_epi32, _mm512_cvttps_epi32, _mm512_mul_ps,
    _mm512_permutexvar_epi32, _mm512_set1_epi32, _mm512_set1_ps, _mm512_setzero_si512, _mm512_sub_epi32,
};

use super::mean;
use relief_kernels::isa::{Isa, Level};

/// Columns at once.
const GROUP: usize = 16;

/// The means of windows of `window` columns, from sums of columns of which there are `window` − 1 more than means, to the
/// nearest; nothing where the machine has no AVX-512.
#[must_use]
pub(super) fn means(isa: Isa, sums: &[u16], window: usize, out: &mut [u8]) -> Option<()> {
    if isa.level() < Level::Avx512 {
        return None;
    }
    let divisor = (window * window) as u32;
    // SAFETY: an `Isa` of this level exists only where the machine has its instructions.
    let whole = unsafe { groups(sums, window, divisor, out) };
    let inverse = 1.0 / divisor as f32;
    for (x, out) in out.iter_mut().enumerate().skip(whole) {
        let sum = sums[x..x + window].iter().map(|sum| u32::from(*sum)).sum();
        *out = mean(sum, divisor, inverse);
    }
    Some(())
}

/// As many means as whole groups take; how many that are.
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
fn groups(sums: &[u16], window: usize, divisor: u32, out: &mut [u8]) -> usize {
    let half = _mm512_set1_ps(0.5 * divisor as f32);
    let inverse = _mm512_set1_ps(1.0 / divisor as f32);
    let zero = _mm512_setzero_si512();
    let last = _mm512_set1_epi32(15);
    let first: u32 = sums[..window - 1].iter().map(|sum| u32::from(*sum)).sum();
    // The window that ends before the first column of the group, with what leaves next gone already.
    let mut before = _mm512_set1_epi32(first as i32);
    let (groups, _) = out.as_chunks_mut::<GROUP>();
    for (group, out) in groups.iter_mut().enumerate() {
        let start = group * GROUP;
        let enters = widened(&sums[start + window - 1..]);
        let leaves = widened(&sums[start..]);
        // What has left when a column is the last of its window is what the columns before it lost.
        let change = _mm512_sub_epi32(enters, leaves);
        let sum = _mm512_add_epi32(change, _mm512_alignr_epi32::<15>(change, zero));
        let sum = _mm512_add_epi32(sum, _mm512_alignr_epi32::<14>(sum, zero));
        let sum = _mm512_add_epi32(sum, _mm512_alignr_epi32::<12>(sum, zero));
        let sum = _mm512_add_epi32(sum, _mm512_alignr_epi32::<8>(sum, zero));
        let windows = _mm512_add_epi32(before, _mm512_add_epi32(sum, leaves));
        before = _mm512_add_epi32(before, _mm512_permutexvar_epi32(last, sum));
        let real = _mm512_mul_ps(_mm512_add_ps(_mm512_cvtepi32_ps(windows), half), inverse);
        let bytes = _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(real));
        // SAFETY: a group is 16 bytes.
        unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), bytes) };
    }
    groups.len() * GROUP
}

/// The first 16 of some sums.
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
fn widened(sums: &[u16]) -> __m512i {
    let (first, _) = sums.as_chunks::<GROUP>();
    // SAFETY: 16 of them are 32 bytes.
    _mm512_cvtepu16_epi32(unsafe { _mm256_loadu_si256(first[0].as_ptr().cast()) })
}
