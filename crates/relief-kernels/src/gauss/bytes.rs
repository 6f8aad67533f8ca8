//! The weighted mean of samples of 8 bits by products of 16, where the processor has AVX2 or AVX-512.
//!
//! One instruction multiplies two numbers of 16 bits by a weight each and adds the two products (`VPMADDWD`). Down, samples at equal distance are
//! added first, and two distances stand beside each other. Across, neighbours do: a vector that begins at an even place makes the even
//! results, one that begins at an odd place the odd ones. The sum of a column has 24 bits. Its upper and its lower 12 are weighted across by themselves: with H of the upper
//! and L of the lower ones the whole sum is 2^12 · H + L, and ⌊(2^12 · H + L + 2^31) / 2^32⌋ = ⌊(H + ⌊L / 2^12⌋ + 2^19) / 2^20⌋, for 2^31 is
//! a multiple of 2^12. H and L stay below 2^28, so that nothing is rounded before the end: samples are those of [`super::cpu`].
#![allow(unsafe_code)]

use relief_raster::{Depth, Sample, View, ViewMut};

use super::{Bell, MAX_RADIUS};
use crate::isa::{Isa, Level};

/// Columns that are computed at once: their sums stay in the nearest cache.
const CHUNK: usize = 1_024;

/// The greatest weight of which a signed number of 16 bits holds one.
const MAX_WEIGHT: u32 = 32_767;

/// The fewest columns: those of the longest vector.
const LEAST: usize = 32;

/// Words of scratch memory for [`filter`].
pub(super) const fn scratch_words(radius: usize) -> usize {
    // Two numbers of 16 bits a column, and of each row one more, which is read and counts nothing.
    (2 * (CHUNK + 2 * radius + 1) * 2).div_ceil(8)
}

/// Two weights of 16 bits each, as one number of 32.
type Pairs = [i32; MAX_RADIUS + 1];

/// The weights of each two distances from the middle, 0 and 1, 2 and 3, and those of each two neighbours of all 2R + 1.
fn pairs(half: &[u32]) -> (Pairs, Pairs) {
    let (mut down, mut across) = ([0; MAX_RADIUS + 1], [0; MAX_RADIUS + 1]);
    let reach = half.len() - 1;
    let pair = |first: u32, second: Option<u32>| (first | second.unwrap_or(0) << 16).cast_signed();
    for (pair_of, weights) in down.iter_mut().zip(half.chunks(2)) {
        *pair_of = pair(weights[0], weights.get(1).copied());
    }
    for (number, pair_of) in across[..=reach].iter_mut().enumerate() {
        let weight = |place: usize| half.get(place.abs_diff(reach)).copied();
        *pair_of = pair(half[(2 * number).abs_diff(reach)], weight(2 * number + 1));
    }
    (down, across)
}

/// Filters a block as [`super::cpu::filter`] does, where this processor and these weights let it; whether it did. `scratch` has
/// [`scratch_words`].
pub(super) fn filter<S: Sample>(
    isa: Isa,
    source: View<'_, S>,
    bell: &Bell,
    out: &mut ViewMut<'_, S>,
    scratch: &mut [u64],
) -> bool {
    let (reach, half) = (bell.radius(), bell.half());
    let (width, height) = (out.width(), out.height());
    if S::DEPTH != Depth::Eight || width < LEAST || half.iter().any(|weight| *weight > MAX_WEIGHT) {
        return false;
    }
    let wide = match isa.level() {
        Level::Portable => return false,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => false,
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 | Level::Avx512Vbmi => true,
    };
    let planes = bytemuck::cast_slice_mut::<u64, u16>(&mut scratch[..scratch_words(reach)]);
    let (upper, lower) = planes.split_at_mut(CHUNK + 2 * reach + 1);
    let (down, across) = pairs(half);
    let weights = (&down[..=reach / 2], &across[..=reach]);
    for start in (0..width).step_by(CHUNK) {
        // The last chunk reaches back over the one before it where it would be shorter than a vector.
        let columns = CHUNK.min(width - start).max(LEAST);
        let start = start.min(width - columns);
        let span = columns + 2 * reach;
        let (upper, lower) = (&mut upper[..=span], &mut lower[..=span]);
        for y in 0..height {
            let rows = source.part(start, y, span, 2 * reach + 1);
            let out = bytemuck::cast_slice_mut(&mut out.row_mut(y)[start..start + columns]);
            #[cfg(target_arch = "x86_64")]
            // SAFETY: an `Isa` of these levels exists only where the machine has their instructions.
            unsafe {
                if wide {
                    x86::avx512::row(rows, weights, upper, lower, out);
                } else {
                    x86::avx2::row(rows, weights, upper, lower, out);
                }
            }
        }
    }
    true
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use relief_raster::{Sample, View};

    /// Half of 2^20, and the bits of the lower part.
    const ROUND: i32 = 1 << 19;
    const LOWER: i32 = (1 << 12) - 1;

    /// Where vectors of `lanes` begin that cover `length`: the last reaches back over the one before it.
    fn places(length: usize, lanes: usize) -> impl Iterator<Item = usize> {
        (0..length).step_by(lanes).map(move |at| at.min(length - lanes))
    }

    /// The two passes, once for each width of vectors.
    macro_rules! passes {
        ($name:ident, $features:literal, $lanes:literal, $vector:ty, $half:ty, $load_half:ident, $load:ident, $store:ident,
         $wide:ident, $add16:ident, $low:ident, $high:ident, $multiply:ident, $add:ident, $one:ident, $zero:ident,
         $shift:ident, $left:ident, $and:ident, $or:ident, $pack:ident, $put:expr) => {
            pub(super) mod $name {
                use super::*;

                /// A row of results of at least a vector. `upper` and `lower` have its columns, the radius more on both sides, and one more
                /// at the end.
                #[target_feature(enable = $features)]
                pub(in super::super) fn row<S: Sample>(
                    rows: View<'_, S>,
                    (down, across): (&[i32], &[i32]),
                    upper: &mut [u16],
                    lower: &mut [u16],
                    out: &mut [u8],
                ) {
                    let reach = across.len() - 1;
                    let span = rows.width();
                    assert!(
                        upper.len() == span + 1 && lower.len() == span + 1 && span == out.len() + 2 * reach,
                        "planes of the same columns"
                    );
                    assert!(
                        rows.height() == 2 * reach + 1 && out.len() >= $lanes,
                        "all rows, and a vector"
                    );
                    // Several vectors together, so that finding a row is little beside them.
                    if span >= 4 * $lanes {
                        places(span, 4 * $lanes).for_each(|at| columns::<S, 4>(rows, down, at, upper, lower));
                    } else {
                        places(span, $lanes).for_each(|at| columns::<S, 1>(rows, down, at, upper, lower));
                    }
                    places(out.len(), $lanes).for_each(|at| results(across, at, upper, lower, out));
                }

                /// The sums of the columns of `V` vectors from column `at` on.
                #[inline]
                #[target_feature(enable = $features)]
                fn columns<S: Sample, const V: usize>(
                    rows: View<'_, S>,
                    weights: &[i32],
                    at: usize,
                    upper: &mut [u16],
                    lower: &mut [u16],
                ) {
                    let reach = rows.height() / 2;
                    let row = |y: usize| -> [$vector; V] {
                        let samples: &[u8] = bytemuck::cast_slice(&rows.row(y)[at..at + V * $lanes]);
                        assert!(samples.len() == V * $lanes, "samples of 8 bits");
                        std::array::from_fn(|number| {
                            let samples = &samples[number * $lanes..][..$lanes];
                            // SAFETY: there are as many samples as the vector has bytes.
                            $wide(unsafe { $load_half(samples.as_ptr().cast::<$half>()) })
                        })
                    };
                    let both = |k: usize| -> [$vector; V] {
                        let (above, below) = (row(reach - k), row(reach + k));
                        std::array::from_fn(|number| $add16(above[number], below[number]))
                    };
                    let mut sums = [[$zero(); 2]; V];
                    for (number, weights) in weights.iter().enumerate() {
                        let k = 2 * number;
                        let near = if k == 0 { row(reach) } else { both(k) };
                        // Where the last distance stands alone its weight is 0.
                        let far = if k < reach { both(k + 1) } else { [$zero(); V] };
                        let weights = $one(*weights);
                        for (sums, (near, far)) in sums.iter_mut().zip(near.into_iter().zip(far)) {
                            sums[0] = $add(sums[0], $multiply($low(near, far), weights));
                            sums[1] = $add(sums[1], $multiply($high(near, far), weights));
                        }
                    }
                    let lower_bits = $one(LOWER);
                    for (number, [first, second]) in sums.into_iter().enumerate() {
                        let place = at + number * $lanes;
                        let parts = [
                            (
                                &mut *upper,
                                $pack($shift::<12>(first), $shift::<12>(second)),
                            ),
                            (
                                &mut *lower,
                                $pack($and(first, lower_bits), $and(second, lower_bits)),
                            ),
                        ];
                        for (plane, part) in parts {
                            let plane = &mut plane[place..place + $lanes];
                            // SAFETY: there are as many numbers as the vector has.
                            unsafe { $store(plane.as_mut_ptr().cast(), part) };
                        }
                    }
                }

                /// A vector of results from column `at` on.
                #[inline]
                #[target_feature(enable = $features)]
                fn results(weights: &[i32], at: usize, upper: &[u16], lower: &[u16], out: &mut [u8]) {
                    // What the last result of a row reads beyond the columns has no weight.
                    let end = at + 2 * weights.len() + $lanes - 1;
                    let planes = [&upper[at..end], &lower[at..end]];
                    let mut sums = [[$zero(); 2]; 2];
                    for (number, weights) in weights.iter().enumerate() {
                        let weights = $one(*weights);
                        for (sums, plane) in sums.iter_mut().zip(planes) {
                            for (sum, from) in sums.iter_mut().zip(2 * number..) {
                                let numbers = &plane[from..from + $lanes];
                                // SAFETY: there are as many numbers as the vector has.
                                let numbers = unsafe { $load(numbers.as_ptr().cast()) };
                                *sum = $add(*sum, $multiply(numbers, weights));
                            }
                        }
                    }
                    let rounded = |high: $vector, low: $vector| {
                        $shift::<20>($add($add(high, $shift::<12>(low)), $one(ROUND)))
                    };
                    let [even, odd] = [0, 1].map(|place| rounded(sums[0][place], sums[1][place]));
                    $put($or(even, $left::<16>(odd)), &mut out[at..at + $lanes]);
                }
            }
        };
    }

    passes!(
        avx2,
        "avx2",
        16,
        __m256i,
        __m128i,
        _mm_loadu_si128,
        _mm256_loadu_si256,
        _mm256_storeu_si256,
        _mm256_cvtepu8_epi16,
        _mm256_add_epi16,
        _mm256_unpacklo_epi16,
        _mm256_unpackhi_epi16,
        _mm256_madd_epi16,
        _mm256_add_epi32,
        _mm256_set1_epi32,
        _mm256_setzero_si256,
        _mm256_srli_epi32,
        _mm256_slli_epi32,
        _mm256_and_si256,
        _mm256_or_si256,
        _mm256_packus_epi32,
        |numbers: __m256i, out: &mut [u8]| {
            // Both halves are packed by themselves: the bytes stand in the first and the third quarter.
            let bytes = _mm256_permute4x64_epi64::<0b10_00>(_mm256_packus_epi16(numbers, numbers));
            // SAFETY: 16 bytes are there.
            unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), _mm256_castsi256_si128(bytes)) };
        }
    );
    passes!(
        avx512,
        "avx512f,avx512bw",
        32,
        __m512i,
        __m256i,
        _mm256_loadu_si256,
        _mm512_loadu_si512,
        _mm512_storeu_si512,
        _mm512_cvtepu8_epi16,
        _mm512_add_epi16,
        _mm512_unpacklo_epi16,
        _mm512_unpackhi_epi16,
        _mm512_madd_epi16,
        _mm512_add_epi32,
        _mm512_set1_epi32,
        _mm512_setzero_si512,
        _mm512_srli_epi32,
        _mm512_slli_epi32,
        _mm512_and_si512,
        _mm512_or_si512,
        _mm512_packus_epi32,
        |numbers: __m512i, out: &mut [u8]| {
            // SAFETY: 32 bytes are there.
            unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), _mm512_cvtepi16_epi8(numbers)) };
        }
    );
}
