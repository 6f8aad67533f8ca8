//! Tables on the CPU.
//!
//! A table of 256 bytes is four registers of AVX-512: two byte permutes (VBMI) and a blend look up 64 samples. With
//! AVX2 it is sixteen shuffles of 16 bytes, of which each sample hits one; that still beats a load per sample. Tables
//! of 65 536 words stay in memory: a load per sample.
#![allow(unsafe_code)]

use relief_raster::{Depth, Sample, View, ViewMut};

use crate::copy::cpu::past_caches;
use crate::isa::{Isa, Level, versions};

/// Replaces every sample v by `table[v]`.
///
/// # Panics
/// Where the table has not M + 1 entries.
pub fn apply<S: Sample>(table: &[S], mut samples: ViewMut<'_, S>) {
    let table = Table::new(table);
    for y in 0..samples.height() {
        table.replace(samples.row_mut(y));
    }
}

/// Writes `table[v]` for every sample v of `source`.
///
/// # Panics
/// Where the table has not M + 1 entries or the sizes differ.
pub fn map<S: Sample>(table: &[S], source: View<'_, S>, mut out: ViewMut<'_, S>) {
    assert_eq!(
        (out.width(), out.height()),
        (source.width(), source.height()),
        "views of different sizes"
    );
    let table = Table::new(table);
    for y in 0..out.height() {
        let (source, out) = (source.row(y), out.row_mut(y));
        match table {
            Table::Eight(..) => past_caches(out, |start, out| {
                table.map(&source[start..start + out.len()], out)
            }),
            // A load for each sample takes longer than memory does, and the nearest cache has enough to hold.
            Table::Sixteen(_) => table.map(source, out),
        }
    }
}

/// A table of M + 1 entries, by depth.
enum Table<'t> {
    Eight(&'t [u8; 256], Isa),
    Sixteen(&'t [u16; 65_536]),
}

impl<'t> Table<'t> {
    fn new<S: Sample>(entries: &'t [S]) -> Self {
        let isa = Isa::best();
        let table = match S::DEPTH {
            Depth::Eight => bytemuck::cast_slice(entries)
                .try_into()
                .map(|entries| Self::Eight(entries, isa)),
            Depth::Sixteen => bytemuck::cast_slice(entries).try_into().map(Self::Sixteen),
        };
        let Ok(table) = table else {
            panic!(
                "a table of {} entries for samples up to {}",
                entries.len(),
                S::MAX
            );
        };
        table
    }

    fn map<S: Sample>(&self, source: &[S], out: &mut [S]) {
        match self {
            Self::Eight(table, isa) => map_bytes(
                *isa,
                table,
                bytemuck::cast_slice(source),
                bytemuck::cast_slice_mut(out),
            ),
            Self::Sixteen(table) => {
                let (source, rest) = bytemuck::cast_slice::<S, u16>(source).as_chunks();
                let (out, last) = bytemuck::cast_slice_mut::<S, u16>(out).as_chunks_mut();
                for (samples, out) in source.iter().zip(out) {
                    *out = four(table, *samples);
                }
                for (sample, out) in rest.iter().zip(last) {
                    *out = table[usize::from(*sample)];
                }
            }
        }
    }

    fn replace<S: Sample>(&self, row: &mut [S]) {
        match self {
            Self::Eight(table, isa) => replace_bytes(*isa, table, bytemuck::cast_slice_mut(row)),
            Self::Sixteen(table) => {
                let (row, rest) = bytemuck::cast_slice_mut::<S, u16>(row).as_chunks_mut();
                for samples in row {
                    *samples = four(table, *samples);
                }
                for sample in rest {
                    *sample = table[usize::from(*sample)];
                }
            }
        }
    }
}

/// The entries of four samples, which are loaded and stored as one word: loads of the table are what the
/// others wait for.
#[inline(always)]
fn four(table: &[u16; 65_536], samples: [u16; 4]) -> [u16; 4] {
    let word: u64 = bytemuck::cast(samples);
    let entry = |k: u32| u64::from(table[usize::from((word >> (16 * k)) as u16)]) << (16 * k);
    bytemuck::cast(entry(0) | entry(1) | entry(2) | entry(3))
}

/// Replaces every byte v by `table[v]`.
fn replace_bytes(isa: Isa, table: &[u8; 256], row: &mut [u8]) {
    // One pointer for both, as a second borrow would end the first.
    #[cfg(target_arch = "x86_64")]
    let (samples, len) = (row.as_mut_ptr(), row.len());
    match isa.level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` of this level exists only where the machine has its instructions; `row` may be read and written.
        Level::Avx512Vbmi => unsafe { x86::map_vbmi(table, samples, samples, len) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above; the level between holds AVX2 too.
        Level::Avx512 | Level::Avx2 => unsafe { x86::map_avx2(table, samples, samples, len) },
        Level::Portable => {
            for sample in row {
                *sample = table[usize::from(*sample)];
            }
        }
    }
}

/// Writes `table[v]` for every byte v of `source`.
///
/// # Panics
/// Where the lengths differ.
pub(crate) fn map_bytes(isa: Isa, table: &[u8; 256], source: &[u8], out: &mut [u8]) {
    assert_eq!(source.len(), out.len(), "rows of different lengths");
    match isa.level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` of this level exists only where the machine has its instructions; the lengths are the same.
        Level::Avx512Vbmi => unsafe { x86::map_vbmi(table, source.as_ptr(), out.as_mut_ptr(), out.len()) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above; the level between holds AVX2 too.
        Level::Avx512 | Level::Avx2 => unsafe {
            x86::map_avx2(table, source.as_ptr(), out.as_mut_ptr(), out.len())
        },
        Level::Portable => {
            for (sample, out) in source.iter().zip(out) {
                *out = table[usize::from(*sample)];
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// Writes `table[v]` for each of `len` bytes.
    ///
    /// # Safety
    /// `source` can be read and `out` be written; they are the same memory, or have none in common.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) unsafe fn map_vbmi(table: &[u8; 256], source: *const u8, out: *mut u8, len: usize) {
        let quarter = |k: usize| {
            // SAFETY: 64 bytes from 64·k on lie inside the table for k < 4.
            unsafe { _mm512_loadu_si512(table.as_ptr().add(64 * k).cast()) }
        };
        let quarters = [quarter(0), quarter(1), quarter(2), quarter(3)];
        let look_up = |v: __m512i| {
            let low = _mm512_permutex2var_epi8(quarters[0], v, quarters[1]);
            let high = _mm512_permutex2var_epi8(quarters[2], v, quarters[3]);
            _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(v), high)
        };
        let whole = len - len % 64;
        // Masked stores, of which a later load gets nothing before they are in the cache, are for the end alone.
        for at in (0..whole).step_by(64) {
            // SAFETY: 64 bytes from `at` on are before `whole`.
            unsafe {
                let v = _mm512_loadu_si512(source.add(at).cast());
                _mm512_storeu_si512(out.add(at).cast(), look_up(v));
            }
        }
        if whole < len {
            // Bits of the bytes that are left.
            let mask = u64::MAX >> (64 - (len - whole));
            // SAFETY: the mask keeps both accesses to bytes before `len`.
            unsafe {
                let v = _mm512_maskz_loadu_epi8(mask, source.add(whole).cast());
                _mm512_mask_storeu_epi8(out.add(whole).cast(), mask, look_up(v));
            }
        }
    }

    /// As [`map_vbmi`].
    ///
    /// # Safety
    /// As of [`map_vbmi`].
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn map_avx2(table: &[u8; 256], source: *const u8, out: *mut u8, len: usize) {
        let sixteenth = |k: usize| {
            // SAFETY: 16 bytes from 16·k on lie inside the table for k < 16.
            _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(table.as_ptr().add(16 * k).cast()) })
        };
        let sixteenths: [__m256i; 16] = std::array::from_fn(sixteenth);
        let whole = len - len % 32;
        for at in (0..whole).step_by(32) {
            // SAFETY: 32 bytes from `at` on are before `whole`.
            let v = unsafe { _mm256_loadu_si256(source.add(at).cast()) };
            let mut entries = _mm256_setzero_si256();
            for (k, part) in sixteenths.iter().enumerate() {
                // 0…15 where the sample lies in this part. Adding 0x70 sets the top bit of all others, which
                // makes the shuffle give 0.
                let index = _mm256_xor_si256(v, _mm256_set1_epi8((k << 4) as i8));
                let index = _mm256_adds_epu8(index, _mm256_set1_epi8(0x70));
                entries = _mm256_or_si256(entries, _mm256_shuffle_epi8(*part, index));
            }
            // SAFETY: as the load.
            unsafe { _mm256_storeu_si256(out.add(at).cast(), entries) };
        }
        for at in whole..len {
            // SAFETY: before `len`.
            unsafe { *out.add(at) = table[usize::from(*source.add(at))] };
        }
    }
}

/// Replaces every sample v by M where v ≥ `level`, else by 0.
pub fn threshold<S: Sample>(level: S, mut samples: ViewMut<'_, S>) {
    let isa = Isa::best();
    for y in 0..samples.height() {
        threshold_row(isa, level, samples.row_mut(y));
    }
}

versions! {
    fn threshold_row<S: Sample>(level: S, row: &mut [S]) {
        for sample in row {
            *sample = if *sample >= level { S::MAX } else { S::ZERO };
        }
    }
}
