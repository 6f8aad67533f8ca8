//! Sobel's filter of bytes: a unit (thread) owns a vector of 16 pixels and goes down a strip of rows.
//!
//! Even and odd pixels of a word are two pairs ([`super::pairs`]). Columns are weighted as whole numbers of
//! 16 bits, two at once, with what makes an f16 of them added on the way; then |gx| + |gy| is computed as
//! f16, where a size costs nothing. A pixel's neighbours in a row are the other pair of its word, or lie half
//! in this word and half in the next.

use cubecl::prelude::*;

use super::Samples;
use super::columns::{raster, store_run};
use super::pairs::{Pairs, between, bits, evens, odds, pair, twice};

/// What is compiled into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Plan {
    /// Units of a cube, side by side.
    pub(super) units: u32,
    /// Rows that a unit loads at once.
    pub(super) rows: u32,
    pub(super) pairs: Pairs,
}

/// Pairs of a row that a unit looks at, even or odd: its own four words', and one of the word beside.
const PAIRS: u32 = 5;

/// Words that are kept of a row until it is taken apart: four, and the pixels before and after them.
const LOADED: u32 = 6;

/// The edges of a strip of `steps` · rows; CUBE_POS_X counts cubes across, CUBE_POS_Y strips down.
#[cube(launch_unchecked)]
pub(super) fn edges<N: Size>(
    source: &Array<Vector<u32, N>>,
    out: &mut Array<Vector<u32, N>>,
    width: u32,
    height: u32,
    pitch: u32,
    steps: u32,
    #[comptime] plan: Plan,
) {
    let rows = comptime!(plan.rows);
    let vector = CUBE_POS_X * comptime!(plan.units) + UNIT_POS;
    // Past the last vector of a row nothing is computed.
    if vector < pitch / 4u32 {
        let first = CUBE_POS_Y * steps * rows;
        let mut even = Array::<u32>::new(comptime!(((rows + 2) * PAIRS) as usize));
        let mut odd = Array::<u32>::new(comptime!(((rows + 2) * PAIRS) as usize));
        let mut next = Array::<u32>::new(comptime!((rows.max(2) * LOADED) as usize));
        load::<N>(
            source,
            &mut next,
            vector,
            first as i32 - 1i32,
            width,
            height,
            pitch,
            2u32,
        );
        take_apart(&next, &mut even, &mut odd, 0u32, 2u32);
        load::<N>(
            source,
            &mut next,
            vector,
            first as i32 + 1i32,
            width,
            height,
            pitch,
            rows,
        );
        for s in 0..steps {
            let row = first + s * rows;
            take_apart(&next, &mut even, &mut odd, 2u32, rows);
            let after = row as i32 + comptime!(rows as i32 + 1);
            load::<N>(source, &mut next, vector, after, width, height, pitch, rows);
            #[unroll]
            for k in 0..rows {
                let mut words = Array::<u32>::new(4usize);
                edges_of(&even, &odd, &mut words, k, comptime!(plan.pairs));
                store_run::<u32, N>(
                    out,
                    &words,
                    row + k,
                    vector * 4u32,
                    &raster(width, height, pitch),
                    4u32,
                    comptime!(Samples::Bytes),
                );
            }
            #[unroll]
            for p in 0..comptime!((2 * PAIRS) as usize) {
                even[p] = even[comptime!(p + (rows * PAIRS) as usize)];
                odd[p] = odd[comptime!(p + (rows * PAIRS) as usize)];
            }
        }
    }
}

/// The words of a vector in `count` rows from `first` on, the pixel before them and the pixel after them.
#[cube]
#[allow(clippy::too_many_arguments)]
fn load<N: Size>(
    source: &Array<Vector<u32, N>>,
    words: &mut Array<u32>,
    vector: u32,
    first: i32,
    width: u32,
    height: u32,
    pitch: u32,
    #[comptime] count: u32,
) {
    let of_row = pitch / 4u32;
    let last = height as i32 - 1i32;
    // The next vector has a pixel of the picture.
    let more = (vector + 1u32) * 16u32 < width;
    // 0 ≤ row < height, and the vector and its neighbours are kept within the row; far from the picture's ends that need
    // not be looked at for each.
    let mut far = max(first, 0i32) == min(first, last - comptime!(count as i32 - 1i32));
    far = far && more && vector > 0u32;
    if far {
        let place = first as u32 * of_row + vector;
        #[unroll]
        for k in 0..count {
            let at = comptime!((k * LOADED) as usize);
            let here = source[(place + k * of_row) as usize];
            #[unroll]
            for w in 0..4usize {
                words[comptime!(at + w)] = here[w];
            }
            words[comptime!(at + 4)] = source[(place + k * of_row - 1u32) as usize][3usize] >> 24u32;
            words[comptime!(at + 5)] = source[(place + k * of_row + 1u32) as usize][0usize] & 255u32;
        }
    } else {
        #[unroll]
        for k in 0..count {
            let at = comptime!((k * LOADED) as usize);
            let row = max(min(first + comptime!(k as i32), last), 0i32) as u32;
            let place = row * of_row + vector;
            let here = source[place as usize];
            #[unroll]
            for w in 0..4usize {
                words[comptime!(at + w)] = here[w];
            }
            if !more {
                repeat_last(words, width - vector * 16u32, k);
            }
            let mut before = words[at] & 255u32;
            if vector > 0u32 {
                before = source[(place - 1u32) as usize][3usize] >> 24u32;
            }
            words[comptime!(at + 4)] = before;
            let mut after = words[comptime!(at + 3)] >> 24u32;
            if more {
                after = source[(place + 1u32) as usize][0usize] & 255u32;
            }
            words[comptime!(at + 5)] = after;
        }
    }
}

/// Puts the last of `inside` pixels, 1…16, in place of those that follow in row `k`.
#[cube]
fn repeat_last(words: &mut Array<u32>, inside: u32, #[comptime] k: u32) {
    let at = comptime!((k * LOADED) as usize);
    let mut nearest = u32::new(0);
    #[unroll]
    for w in 0..4usize {
        if inside > comptime!(4 * w as u32) {
            let shift = (min(inside - comptime!(4 * w as u32), 4u32) - 1u32) * 8u32;
            nearest = ((words[comptime!(at + w)] >> shift) & 255u32) * 0x0101_0101u32;
            // Nothing is shifted out where all four are inside.
            let outside = 0xffff_ff00u32 << shift;
            words[comptime!(at + w)] = (words[comptime!(at + w)] & !outside) | (nearest & outside);
        } else {
            words[comptime!(at + w)] = nearest;
        }
    }
}

/// Loaded rows as pairs, to row `at` of those and the rows that follow.
#[cube]
fn take_apart(
    words: &Array<u32>,
    even: &mut Array<u32>,
    odd: &mut Array<u32>,
    #[comptime] at: u32,
    #[comptime] count: u32,
) {
    #[unroll]
    for k in 0..count {
        let from = comptime!((k * LOADED) as usize);
        let to = comptime!(((at + k) * PAIRS) as usize);
        #[unroll]
        for w in 0..4usize {
            let word = words[comptime!(from + w)];
            even[comptime!(to + w)] = evens(word);
            odd[comptime!(to + w + 1)] = odds(word);
        }
        odd[to] = words[comptime!(from + 4)] << 16u32;
        even[comptime!(to + 4)] = words[comptime!(from + 5)];
    }
}

/// The edges of the row between rows `k` and `k + 2`.
#[cube]
fn edges_of(
    even: &Array<u32>,
    odd: &Array<u32>,
    words: &mut Array<u32>,
    #[comptime] k: u32,
    #[comptime] pairs: Pairs,
) {
    let mut smooth = Array::<u32>::new(comptime!((2 * PAIRS) as usize));
    let mut slope = Array::<u32>::new(comptime!((2 * PAIRS) as usize));
    #[unroll]
    for p in 0..comptime!(PAIRS as usize) {
        let (a, b, c) = comptime!({
            let place = |row: u32| (row * PAIRS) as usize + p;
            (place(k), place(k + 1), place(k + 2))
        });
        smooth[p] = smoothed(even[a], even[b], even[c]);
        slope[p] = sloped(even[a], even[c]);
        smooth[comptime!(p + PAIRS as usize)] = smoothed(odd[a], odd[b], odd[c]);
        slope[comptime!(p + PAIRS as usize)] = sloped(odd[a], odd[c]);
    }
    #[unroll]
    for w in 0..4usize {
        let (e, o) = comptime!((w, w + PAIRS as usize));
        // Beside even pixels lie odd ones: those of the word on the right, and half of those before on the left.
        let even = size_of(
            between(smooth[o], smooth[comptime!(o + 1)]),
            smooth[comptime!(o + 1)],
            between(slope[o], slope[comptime!(o + 1)]),
            slope[e],
            slope[comptime!(o + 1)],
            pairs,
        );
        let odd = size_of(
            smooth[e],
            between(smooth[e], smooth[comptime!(e + 1)]),
            slope[e],
            slope[comptime!(o + 1)],
            between(slope[e], slope[comptime!(e + 1)]),
            pairs,
        );
        words[w] = even + (odd << 8u32);
    }
}

/// a + 2 b + c, at most 1 020.
#[cube]
fn smoothed(a: u32, b: u32, c: u32) -> u32 {
    a + (b + b) + c
}

/// c − a, with the bits of 1 280 as f16.
#[cube]
fn sloped(a: u32, c: u32) -> u32 {
    c - a + 0x6500_6500u32
}

/// min(|gx| + |gy|, 255), from smoothed columns left and right and slopes left, here and right.
#[cube]
fn size_of(left: u32, right: u32, before: u32, here: u32, after: u32, #[comptime] pairs: Pairs) -> u32 {
    match pairs {
        Pairs::Halves => {
            // The smoothed are so many of the least steps of f16; so is their difference, at most 1 020 of them in size.
            let across = pair(bits(pair(right) - pair(left)) & 0x7fff_7fffu32);
            // 4 · 1 280 are taken away from twice the slope here: an even number from −3 070 to −2 050. With the other two it is at
            // most 2 045 in size, then 1 020.
            let down = pair(here) * twice(2.0) + twice(-5_120.0) + pair(before) + pair(after);
            let down = pair(bits(down) & 0x7fff_7fffu32);
            // 2⁻²⁴: so many least steps.
            let size = down * twice(5.960_464_5e-8) + across;
            bits(min(size, twice(255.0 * 5.960_464_5e-8)))
        }
        Pairs::Apart => {
            let low = size_of_half(left, right, before, here, after);
            let high = size_of_half(
                left >> 16u32,
                right >> 16u32,
                before >> 16u32,
                here >> 16u32,
                after >> 16u32,
            );
            low | (high << 16u32)
        }
    }
}

/// The same of the lower halves.
#[cube]
fn size_of_half(left: u32, right: u32, before: u32, here: u32, after: u32) -> u32 {
    let half = 0xffffu32;
    // The bits of 1 280 four times are taken away.
    let across = (right & half) as i32 - (left & half) as i32;
    let down = ((before & half) + 2u32 * (here & half) + (after & half)) as i32 - 103_424i32;
    min(max(across, -across) + max(down, -down), 255i32) as u32
}
