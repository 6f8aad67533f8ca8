//! Maps on the CPU: plain loops, compiled for each set of vector instructions; gray with byte permutes where there are
//! some, because compilers take colours apart badly.
//!
//! Large results go past the caches, so that what they overwrite is not read first.
#![allow(unsafe_code)]

use crate::copy::cpu::past_caches;
use crate::isa::{Isa, Level, versions};

/// out(i) = a(i) + b(i).
///
/// # Panics
/// Where the lengths differ.
pub fn add(a: &[f32], b: &[f32], out: &mut [f32]) {
    assert!(
        a.len() == out.len() && b.len() == out.len(),
        "slices of different lengths"
    );
    let isa = Isa::best();
    past_caches(out, |start, part| {
        let range = start..start + part.len();
        add_row(isa, &a[range.clone()], &b[range], part);
    });
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
    assert_eq!(values.len(), out.len(), "slices of different lengths");
    let isa = Isa::best();
    past_caches(out, |start, part| {
        scale_row(isa, &values[start..start + part.len()], factor, part)
    });
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
    let isa = Isa::best();
    past_caches(out, |start, part| {
        gray_row(isa, &rgb[3 * start..3 * (start + part.len())], part)
    });
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

    /// Sixteen colours at a time: bytes to pairs of 16 bits, two products and sums each, a division in f32.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) fn gray(rgb: &[u8], out: &mut [u8]) {
        // (r, g) and (b, 1) of each colour, as 16 bits; zero where the masks leave a byte out.
        let place = |k: usize, byte: usize| (3 * (k / 4) + byte) as i8;
        let first: [i8; 64] = std::array::from_fn(|k| place(k, k % 4 / 2));
        let second: [i8; 64] = std::array::from_fn(|k| place(k, 2));
        let load = |bytes: &[i8; 64]| {
            // SAFETY: the array has 64 bytes.
            unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
        };
        let (first, second) = (load(&first), load(&second));
        let red_green = _mm512_set1_epi32((7152 << 16) | 2126);
        let blue_one = _mm512_set1_epi32((5000 << 16) | 722);
        let one = _mm512_set1_epi32(1 << 16);
        let mut colours = rgb.chunks_exact(48);
        let mut grays = out.chunks_exact_mut(16);
        for (colours, grays) in (&mut colours).zip(&mut grays) {
            // SAFETY: the mask keeps the load to 48 bytes, and 16 are stored.
            unsafe {
                let bytes = _mm512_maskz_loadu_epi8((1 << 48) - 1, colours.as_ptr().cast());
                let pairs = _mm512_maskz_permutexvar_epi8(0x5555_5555_5555_5555, first, bytes);
                let blues = _mm512_maskz_permutexvar_epi8(0x1111_1111_1111_1111, second, bytes);
                let sum = _mm512_add_epi32(
                    _mm512_madd_epi16(pairs, red_green),
                    _mm512_madd_epi16(_mm512_or_si512(blues, one), blue_one),
                );
                let real = _mm512_add_ps(_mm512_cvtepi32_ps(sum), _mm512_set1_ps(0.5));
                let gray = _mm512_cvttps_epi32(_mm512_mul_ps(real, _mm512_set1_ps(1e-4)));
                _mm_storeu_si128(grays.as_mut_ptr().cast(), _mm512_cvtepi32_epi8(gray));
            }
        }
        let rest = colours.remainder().as_chunks::<3>().0;
        for (rgb, out) in rest.iter().zip(grays.into_remainder()) {
            *out = crate::map::gray(rgb[0], rgb[1], rgb[2]);
        }
    }
}
