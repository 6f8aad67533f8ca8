//! Maps on the CPU: plain loops, compiled for each set of vector instructions; gray with byte permutes where
//! there are some, because compilers take colours apart badly.
//!
//! Large sums and multiples take non-temporal stores, so that what they overwrite is not read first; where
//! vectors are lines of the caches, from registers, so that memory reads and writes at once. Grays do not:
//! they are a quarter of what moves, and non-temporal stores cost more than they save.
#![allow(unsafe_code)]

use relief_kernels::copy::cpu::{LARGE, past_caches_part};
use relief_kernels::isa::{Isa, Level, versions};

/// out(i) = a(i) + b(i).
///
/// # Panics
/// Where the lengths differ.
pub fn add(a: &[f32], b: &[f32], out: &mut [f32]) {
    add_part(a, b, out, out.len());
}

/// [`add`] of a part of `whole` sums, of which other threads compute the rest: what suits all of them suits each.
///
/// # Panics
/// Where the lengths differ.
pub fn add_part(a: &[f32], b: &[f32], out: &mut [f32], whole: usize) {
    assert!(
        a.len() == out.len() && b.len() == out.len(),
        "slices of different lengths"
    );
    let isa = Isa::best();
    match isa.level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` of this level exists only where the machine has its instructions.
        Level::Avx512 | Level::Avx512Vbmi if bytes(whole) >= LARGE => unsafe { x86::add_past(a, b, out) },
        _ => past_caches_part(out, bytes(whole), |start, part| {
            let range = start..start + part.len();
            add_row(isa, &a[range.clone()], &b[range], part);
        }),
    }
}

versions! {
    fn add_row(a: &[f32], b: &[f32], out: &mut [f32]) {
        for ((a, b), out) in a.iter().zip(b).zip(out) {
            *out = a + b;
        }
    }
}

/// out(i) = factor · values(i).
///
/// # Panics
/// Where the lengths differ.
pub fn scale(values: &[f32], factor: f32, out: &mut [f32]) {
    scale_part(values, factor, out, out.len());
}

/// [`scale`] of a part of `whole` numbers, as [`add_part`].
///
/// # Panics
/// Where the lengths differ.
pub fn scale_part(values: &[f32], factor: f32, out: &mut [f32], whole: usize) {
    assert_eq!(values.len(), out.len(), "slices of different lengths");
    let isa = Isa::best();
    match isa.level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx512 | Level::Avx512Vbmi if bytes(whole) >= LARGE => unsafe {
            x86::scale_past(values, factor, out);
        },
        _ => past_caches_part(out, bytes(whole), |start, part| {
            scale_row(isa, &values[start..start + part.len()], factor, part);
        }),
    }
}

/// Of so many floats.
const fn bytes(floats: usize) -> usize {
    floats.saturating_mul(size_of::<f32>())
}

versions! {
    fn scale_row(values: &[f32], factor: f32, out: &mut [f32]) {
        for (value, out) in values.iter().zip(out) {
            *out = factor * value;
        }
    }
}

/// The gray of each colour; three bytes of `rgb` are one.
///
/// # Panics
/// Where `rgb` is not three times as long as `out`.
pub fn gray(rgb: &[u8], out: &mut [u8]) {
    assert_eq!(
        Some(rgb.len()),
        out.len().checked_mul(3),
        "three bytes make a gray"
    );
    gray_row(Isa::best(), rgb, out);
}

fn gray_row(isa: Isa, rgb: &[u8], out: &mut [u8]) {
    match isa.level() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` of this level exists only where the machine has its instructions.
        Level::Avx512Vbmi => unsafe { x86::gray(rgb, out) },
        _ => gray_loop(isa, rgb, out),
    }
}

versions! {
    fn gray_loop(rgb: &[u8], out: &mut [u8]) {
        for (rgb, out) in rgb.as_chunks::<3>().0.iter().zip(out) {
            *out = super::gray(rgb[0], rgb[1], rgb[2]);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use relief_kernels::ahead::{LINE, ask};
    use relief_kernels::copy::cpu::fence;

    /// How far ahead of what is computed memory is asked for: processors look no further than the end of a page.
    const AHEAD: usize = 1536;

    /// Floats of a vector, which is a line of the caches.
    const LANES: usize = LINE / size_of::<f32>();

    /// Sums of floats, by non-temporal stores.
    #[target_feature(enable = "avx512f")]
    pub(super) fn add_past(a: &[f32], b: &[f32], out: &mut [f32]) {
        let (a, b) = (&a[..out.len()], &b[..out.len()]);
        past(
            out,
            |at| a[at] + b[at],
            |at| _mm512_add_ps(load(a, at), load(b, at)),
        );
    }

    /// Multiples of floats, by non-temporal stores.
    #[target_feature(enable = "avx512f")]
    pub(super) fn scale_past(values: &[f32], factor: f32, out: &mut [f32]) {
        let (values, factors) = (&values[..out.len()], _mm512_set1_ps(factor));
        past(
            out,
            |at| factor * values[at],
            |at| _mm512_mul_ps(factors, load(values, at)),
        );
    }

    /// Sixteen floats from one on; and asks for those that follow after a while.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(values: &[f32], at: usize) -> __m512 {
        let values = &values[at..at + LANES];
        ask(values.as_ptr().wrapping_byte_add(AHEAD));
        // SAFETY: there are sixteen.
        unsafe { _mm512_loadu_ps(values.as_ptr()) }
    }

    /// Lines of the caches by `vector`, which gets the place of the first of sixteen floats, and what is no whole line by `one`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn past(out: &mut [f32], one: impl Fn(usize) -> f32, vector: impl Fn(usize) -> __m512) {
        let head = out.as_ptr().align_offset(LINE).min(out.len());
        let (first, rest) = out.split_at_mut(head);
        let (lines, last) = rest.as_chunks_mut::<LANES>();
        let mut at = 0;
        for out in first {
            *out = one(at);
            at += 1;
        }
        for line in lines {
            // SAFETY: the line has sixteen floats and begins where a line of the caches does.
            unsafe { _mm512_stream_ps(line.as_mut_ptr(), vector(at)) };
            at += LANES;
        }
        for out in last {
            *out = one(at);
            at += 1;
        }
        fence();
    }

    /// Sixty-four colours at a time, in quarters: bytes to pairs of 16 bits, two products and a sum each, a division in f32.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) fn gray(rgb: &[u8], out: &mut [u8]) {
        // (r, g) and (b, 0) of each colour from byte `skip` on, as 16 bits; zero where the masks leave a byte out.
        let place = |skip: usize, k: usize, byte: usize| (skip + 3 * (k / 4) + byte) as i8;
        let load = |bytes: [i8; 64]| {
            // SAFETY: the array has 64 bytes.
            unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
        };
        let places = |skip: usize| {
            let first = load(std::array::from_fn(|k| place(skip, k, k % 4 / 2)));
            (first, load(std::array::from_fn(|k| place(skip, k, 2))))
        };
        // The last quarter is loaded from 16 bytes before it, so as not to read past the end.
        let (quarter, last) = (places(0), places(16));
        let red_green = _mm512_set1_epi32((7152 << 16) | 2126);
        let blue = _mm512_set1_epi32(722);
        let grays = |bytes: __m512i, (first, second): (__m512i, __m512i)| {
            // rung: map/gray on cpu: one thread
            let pairs = _mm512_maskz_permutexvar_epi8(0x5555_5555_5555_5555, first, bytes);
            let blues = _mm512_maskz_permutexvar_epi8(0x1111_1111_1111_1111, second, bytes);
            let sum = _mm512_add_epi32(
                _mm512_madd_epi16(pairs, red_green),
                _mm512_madd_epi16(blues, blue),
            );
            // end
            // (sum + 5000 + ½)·10⁻⁴, rounded down.
            let half = _mm512_set1_ps(0.500_05);
            _mm512_cvttps_epi32(_mm512_fmadd_ps(
                _mm512_cvtepi32_ps(sum),
                _mm512_set1_ps(1e-4),
                half,
            ))
        };
        // Quarters are packed within each 128 bits.
        let order: [i32; 16] = std::array::from_fn(|i| (4 * (i % 4) + i / 4) as i32);
        // SAFETY: the array has 64 bytes.
        let order = unsafe { _mm512_loadu_si512(order.as_ptr().cast()) };
        let mut colours = rgb.chunks_exact(192);
        let mut found = out.chunks_exact_mut(64);
        for (colours, found) in (&mut colours).zip(&mut found) {
            for line in 0..3 {
                ask(colours.as_ptr().wrapping_add(AHEAD + LINE * line));
            }
            let at = |byte: usize| {
                // SAFETY: a chunk has 192 bytes, and `byte` is at most 128.
                unsafe { _mm512_loadu_si512(colours.as_ptr().add(byte).cast()) }
            };
            let (a, b) = (grays(at(0), quarter), grays(at(48), quarter));
            let (c, d) = (grays(at(96), quarter), grays(at(128), last));
            let packed = _mm512_packus_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
            // SAFETY: a chunk has 64 bytes.
            unsafe {
                _mm512_storeu_si512(found.as_mut_ptr().cast(), _mm512_permutexvar_epi32(order, packed))
            };
        }
        let rest = colours.remainder().as_chunks::<3>().0;
        for (rgb, out) in rest.iter().zip(found.into_remainder()) {
            *out = crate::map::gray(rgb[0], rgb[1], rgb[2]);
        }
    }
}
