//! Tiles of x86-64. The compiler does not keep so many minima in registers of a plain loop, so these name them.
//!
//! The minimum of floats takes its second operand where the first is no number: the least so far.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::{FAR, Length, ROWS};

/// A tile whose rows are parts of `$count` registers, `$height` rows at a time.
macro_rules! tile {
    (
        $(#[$meta:meta])*
        $name:ident, $features:literal, $number:ty, $register:ty, $count:literal, $height:literal,
        $load:ident, $store:ident, $all:ident($as:ty), $plus:ident, $least:ident, $farthest:expr
    ) => {
        $(#[$meta])*
        ///
        /// # Safety
        /// As for every `Tile`, and the instructions that it is named for.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $name(
            inner: usize,
            left: *const $number,
            right: *const $number,
            result: *mut $number,
            pitch: usize,
            first: bool,
            _: *const $number,
        ) {
            const LANES: usize = size_of::<$register>() / size_of::<$number>();
            const PANEL: usize = <$number as Length>::PANEL;
            // SAFETY: the caller vouches for `inner` times the tile's rows and the panel's columns, and for the rows of the result; parts
            // of rows end at the panel's width, and the rows taken at a time divide those of the tile.
            unsafe {
                for top in (0..ROWS).step_by($height) {
                    for part in (0..PANEL).step_by($count * LANES) {
                        let place = |row: usize, at: usize| result.add((top + row) * pitch + part + at * LANES);
                        let mut least = [[$all($farthest as $as); $count]; $height];
                        if !first {
                            for (row, least) in least.iter_mut().enumerate() {
                                for (at, least) in least.iter_mut().enumerate() {
                                    *least = $load(place(row, at).cast());
                                }
                            }
                        }
                        let (mut left, mut right) = (left.add(top), right.add(part));
                        for _ in 0..inner {
                            let mut panel = [least[0][0]; $count];
                            for (at, panel) in panel.iter_mut().enumerate() {
                                *panel = $load(right.add(at * LANES).cast());
                            }
                            for (row, least) in least.iter_mut().enumerate() {
                                let number = $all(*left.add(row) as $as);
                                for (least, panel) in least.iter_mut().zip(panel) {
                                    *least = $least($plus(number, panel), *least);
                                }
                            }
                            left = left.add(ROWS);
                            right = right.add(PANEL);
                        }
                        for (row, least) in least.iter().enumerate() {
                            for (at, least) in least.iter().enumerate() {
                                $store(place(row, at).cast(), *least);
                            }
                        }
                    }
                }
            }
        }
    };
}

tile! {
    /// Floats: 24 registers of minima, three of the panel, one of the left matrix.
    f32_avx512, "avx512f", f32, __m512, 3, 8,
    _mm512_loadu_ps, _mm512_storeu_ps, _mm512_set1_ps(f32), _mm512_add_ps, _mm512_min_ps, f32::INFINITY
}

tile! {
    /// Floats: 12 registers of minima, two of the panel, one of the left matrix.
    f32_avx2, "avx2", f32, __m256, 3, 4,
    _mm256_loadu_ps, _mm256_storeu_ps, _mm256_set1_ps(f32), _mm256_add_ps, _mm256_min_ps, f32::INFINITY
}

tile! {
    /// Integers of 32 bits, as floats.
    i32_avx512, "avx512f", i32, __m512i, 3, 8,
    _mm512_loadu_si512, _mm512_storeu_si512, _mm512_set1_epi32(i32), _mm512_add_epi32, _mm512_min_epi32, FAR
}

tile! {
    /// Integers of 32 bits, as floats.
    i32_avx2, "avx2", i32, __m256i, 3, 4,
    _mm256_loadu_si256, _mm256_storeu_si256, _mm256_set1_epi32(i32), _mm256_add_epi32, _mm256_min_epi32, FAR
}

tile! {
    /// Integers of 16 bits; their saturating addition has one port only.
    u16_avx512, "avx512f,avx512bw", u16, __m512i, 3, 8,
    _mm512_loadu_si512, _mm512_storeu_si512, _mm512_set1_epi16(i16), _mm512_adds_epu16, _mm512_min_epu16, u16::MAX
}

tile! {
    /// Integers of 16 bits.
    u16_avx2, "avx2", u16, __m256i, 3, 4,
    _mm256_loadu_si256, _mm256_storeu_si256, _mm256_set1_epi16(i16), _mm256_adds_epu16, _mm256_min_epu16, u16::MAX
}
