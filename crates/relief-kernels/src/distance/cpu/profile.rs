//! The samples of a row for its squared distances.
//!
//! A profile of bytes up to distance 15 is a table of 256 entries, which byte permutes look up 64 at a time
//! (`table::cpu`). Of a longer profile they look up the first 2 048 entries, as 2, 4 or 8 such tables. Where
//! one of 64 pixels is farther away, each of them takes a load, which is several times slower.
#![allow(unsafe_code)]
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, unused_imports))]

use relief_raster::{Depth, Sample};

use crate::isa::{Isa, Level, versions};
use crate::table::cpu::map_bytes;

/// Entries of a profile that byte permutes look up.
const NEAR: usize = 2_048;

/// Pixels looked up at once.
const LANES: usize = 64;

/// The samples for squared distances.
pub(super) struct Profile<'p, S> {
    isa: Isa,
    entries: &'p [S],
    pub(super) beyond: S,
    /// The samples for all squared distances of 8 bits.
    first: [S; 256],
    near: Near,
}

/// The first entries of a profile of bytes, followed by 0 where there are fewer.
#[repr(align(64))]
struct Near([u8; NEAR]);

impl<'p, S: Sample> Profile<'p, S> {
    pub(super) fn new(isa: Isa, entries: &'p [S], beyond: S) -> Self {
        let mut near = Near([0; NEAR]);
        if S::DEPTH == Depth::Eight {
            let entries: &[u8] = bytemuck::cast_slice(&entries[..entries.len().min(NEAR)]);
            near.0[..entries.len()].copy_from_slice(entries);
        }
        Self {
            isa,
            entries,
            beyond,
            first: std::array::from_fn(|a| entries.get(a).copied().unwrap_or(beyond)),
            near,
        }
    }

    /// The samples for squared distances in 8 bits.
    pub(super) fn look_up_bytes(&self, least: &[u8], out: &mut [S]) {
        match S::DEPTH {
            Depth::Eight => {
                let (out, table) = (
                    bytemuck::cast_slice_mut::<S, u8>(out),
                    bytemuck::cast_slice(&self.first),
                );
                // 256 entries of one byte.
                if let Ok(table) = table.try_into() {
                    map_bytes(self.isa, table, least, out);
                }
            }
            Depth::Sixteen => {
                for (out, a) in out.iter_mut().zip(least) {
                    *out = self.first[usize::from(*a)];
                }
            }
        }
    }

    /// The samples for squared distances in 16 bits.
    pub(super) fn look_up(&self, least: &[u16], out: &mut [S]) {
        match (S::DEPTH, self.isa.level()) {
            #[cfg(target_arch = "x86_64")]
            (Depth::Eight, Level::Avx512Vbmi) => {
                let ((blocks, least), (into, out)) = (least.as_chunks(), out.as_chunks_mut::<LANES>());
                let last = u16::try_from(self.entries.len() - 1).unwrap_or(u16::MAX);
                let beyond = self.beyond.to_u16() as u8;
                for (least, out) in blocks.iter().zip(into) {
                    // SAFETY: an `Isa` of this level exists only where the machine has its instructions.
                    match unsafe { x86::look_up(&self.near, last, beyond, least) } {
                        Block::Near(entries) => bytemuck::cast_slice_mut(out).copy_from_slice(&entries),
                        Block::Within => {
                            let entries = bytemuck::cast_slice(self.entries);
                            // SAFETY: none is above `last`, the last entry.
                            unsafe { look_up_within(entries, least, bytemuck::cast_slice_mut(out)) };
                        }
                        Block::Mixed => self.look_up_far(least, out),
                    }
                }
                self.look_up_far(least, out);
            }
            #[cfg(target_arch = "x86_64")]
            (Depth::Eight, Level::Avx512 | Level::Avx2) => {
                let mut bytes = [0; LANES];
                for (least, out) in least.chunks(LANES).zip(out.chunks_mut(LANES)) {
                    let bytes = &mut bytes[..least.len()];
                    if narrow(self.isa, least, bytes) {
                        self.look_up_bytes(bytes, out);
                    } else {
                        self.look_up_far(least, out);
                    }
                }
            }
            _ => self.look_up_far(least, out),
        }
    }

    /// A load for each pixel.
    pub(super) fn look_up_far<L: Copy + Into<u32>>(&self, least: &[L], out: &mut [S]) {
        let entry = |least: L| {
            let entry = self.entries.get(least.into() as usize);
            entry.copied().unwrap_or(self.beyond)
        };
        let (least, least_rest) = least.as_chunks::<8>();
        let (out, out_rest) = out.as_chunks_mut::<8>();
        for (out, least) in out.iter_mut().zip(least) {
            for (out, least) in out.iter_mut().zip(least) {
                *out = entry(*least);
            }
        }
        for (out, least) in out_rest.iter_mut().zip(least_rest) {
            *out = entry(*least);
        }
    }
}

/// What is known of a block of squared distances.
#[cfg(target_arch = "x86_64")]
enum Block {
    /// Their entries.
    Near([u8; LANES]),
    /// All are within the profile.
    Within,
    /// Some are, and some are beyond.
    Mixed,
}

/// The entries of squared distances that are all within a profile of bytes: two loads and half a store each.
///
/// # Safety
/// Every one of `least` is less than the number of entries.
#[cfg(target_arch = "x86_64")]
unsafe fn look_up_within(entries: &[u8], least: &[u16; LANES], out: &mut [u8]) {
    let (least, out) = (least.as_chunks::<2>().0, out.as_chunks_mut::<2>().0);
    for (out, least) in out.iter_mut().zip(least) {
        // SAFETY: as above.
        let entry = |k: usize| u16::from(unsafe { *entries.get_unchecked(usize::from(least[k])) });
        *out = (entry(0) | entry(1) << 8).to_le_bytes();
    }
}

versions! {
    /// The squared distances in 8 bits, and whether these are enough for them.
    fn narrow(least: &[u16], bytes: &mut [u8]) -> bool {
        let mut most = 0;
        for (byte, least) in bytes.iter_mut().zip(least) {
            most = most.max(*least);
            *byte = *least as u8;
        }
        most <= u16::from(u8::MAX)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Block, LANES, NEAR, Near};

    /// The entries at `least`, or `beyond` above `last`, where those up to `last` are all among the first.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) fn look_up(near: &Near, last: u16, beyond: u8, least: &[u16; LANES]) -> Block {
        const EVEN: [u8; LANES] = bytes_from(0);
        const ODD: [u8; LANES] = bytes_from(1);
        // SAFETY: each load is of one of two halves of 64 words, or of 64 bytes.
        let (first, second, even, odd) = unsafe {
            (
                _mm512_loadu_si512(least.as_ptr().cast()),
                _mm512_loadu_si512(least.as_ptr().add(LANES / 2).cast()),
                _mm512_loadu_si512(EVEN.as_ptr().cast()),
                _mm512_loadu_si512(ODD.as_ptr().cast()),
            )
        };
        let bound = _mm512_set1_epi16(last.cast_signed());
        let within = [
            _mm512_cmple_epu16_mask(first, bound),
            _mm512_cmple_epu16_mask(second, bound),
        ];
        // What is beyond counts as 0 until the end.
        let first = _mm512_maskz_mov_epi16(within[0], first);
        let second = _mm512_maskz_mov_epi16(within[1], second);
        let most = _mm512_max_epu16(first, second);
        let all_below = |end: usize| _mm512_cmpge_epu16_mask(most, _mm512_set1_epi16(end as i16)) == 0;
        let lower = _mm512_permutex2var_epi8(first, even, second);
        let upper = _mm512_permutex2var_epi8(first, odd, second);
        let entries = if all_below(512) {
            tables::<2>(near, lower, upper)
        } else if all_below(1_024) {
            tables::<4>(near, lower, upper)
        } else if all_below(NEAR) {
            tables::<{ NEAR / 256 }>(near, lower, upper)
        } else if within == [u32::MAX; 2] {
            return Block::Within;
        } else {
            return Block::Mixed;
        };
        let within = u64::from(within[0]) | u64::from(within[1]) << 32;
        let entries = _mm512_mask_mov_epi8(_mm512_set1_epi8(beyond.cast_signed()), within, entries);
        let mut bytes = [0; LANES];
        // SAFETY: 64 bytes.
        unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), entries) };
        Block::Near(bytes)
    }

    /// Looks up in each of the first N tables of 256 entries and takes what belongs to the upper bytes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn tables<const N: usize>(near: &Near, lower: __m512i, upper: __m512i) -> __m512i {
        const { assert!(256 * N <= NEAR) };
        let top = _mm512_movepi8_mask(lower);
        let mut entries = _mm512_setzero_si512();
        for k in 0..N {
            // SAFETY: 64 bytes from 256·k + 64·quarter on lie inside the table for k < N, and start at a multiple of 64.
            let quarter = |quarter: usize| unsafe {
                _mm512_load_si512(near.0.as_ptr().add(256 * k + 64 * quarter).cast())
            };
            let low = _mm512_permutex2var_epi8(quarter(0), lower, quarter(1));
            let high = _mm512_permutex2var_epi8(quarter(2), lower, quarter(3));
            let these = _mm512_cmpeq_epi8_mask(upper, _mm512_set1_epi8(k as i8));
            entries = _mm512_mask_mov_epi8(entries, these, _mm512_mask_mov_epi8(low, top, high));
        }
        entries
    }

    /// The lower or the upper bytes of 64 words in two registers.
    const fn bytes_from(first: u8) -> [u8; LANES] {
        let mut bytes = [0; LANES];
        let mut k = 0;
        while k < LANES {
            bytes[k] = 2 * k as u8 + first;
            k += 1;
        }
        bytes
    }
}
