//! Words of a picture down a column, as filters see them: what lies outside is the nearest inside; and runs of words of a
//! result.

use cubecl::prelude::*;

use super::Samples;

/// How a picture lies in memory: samples of a row, rows, words from one row to the next.
#[derive(CubeType, Clone)]
pub(super) struct Raster {
    width: u32,
    height: u32,
    pitch: u32,
}

#[cube]
pub(super) fn raster(width: u32, height: u32, pitch: u32) -> Raster {
    Raster { width, height, pitch }
}

/// A column of words that a unit looks at; it may lie outside of the picture.
#[derive(CubeType, Clone)]
pub(super) struct Column {
    /// The nearest column inside.
    pub(super) word: u32,
    /// The bits of it that lie outside.
    pub(super) outside: u32,
    /// Where in it the sample lies that stands for all others.
    shift: u32,
    /// Rows of the picture.
    height: u32,
    /// Words from one row to the next.
    pitch: u32,
}

/// Column `word` of a picture.
#[cube]
pub(super) fn column(word: i32, raster: &Raster, #[comptime] samples: Samples) -> Column {
    let width = raster.width;
    let per_word = comptime!(samples.per_word());
    let last = (width + comptime!(per_word - 1)) / per_word - 1u32;
    let mut outside = u32::new(0);
    let mut shift = u32::new(0);
    if comptime!(matches!(samples, Samples::Bytes)) {
        // Samples of the last word that are inside: 1…4.
        let end = width - last * 4u32;
        if word < 0i32 {
            outside = 0xffff_ffffu32;
        } else {
            if word as u32 >= last {
                shift = (end - 1u32) * 8u32;
                outside = 0xffff_ffffu32;
                if word as u32 == last {
                    outside = 0xffff_ff00u32 << shift;
                }
            }
        }
    }
    Column {
        word: max(min(word, last as i32), 0i32) as u32,
        outside,
        shift,
        height: raster.height,
        pitch: raster.pitch,
    }
}

/// A word of bytes in a column, those outside of the picture replaced.
#[cube]
pub(super) fn mended(word: u32, column: &Column) -> u32 {
    let nearest = ((word >> column.shift) & 255u32) * 0x0101_0101u32;
    (word & !column.outside) | (nearest & column.outside)
}

/// The words of rows `first`, `first` + 1, … in a column, to `words[at]`, …; rows outside are the nearest inside.
// One condition is the compiler's, the other the device's.
#[cube]
#[allow(clippy::collapsible_if)]
pub(super) fn load_rows<W: Numeric>(
    source: &Array<W>,
    words: &mut Array<W>,
    first: i32,
    column: &Column,
    #[comptime] at: u32,
    #[comptime] count: u32,
    #[comptime] samples: Samples,
) {
    let (pitch, last) = (column.pitch, column.height as i32 - 1i32);
    // 0 ≤ row < height and the word is one of its row; far from both ends that need not be looked at for each.
    if max(first, 0i32) == min(first, last - comptime!(count as i32 - 1i32)) {
        let place = first as u32 * pitch + column.word;
        #[unroll]
        for k in 0..count {
            words[comptime!((at + k) as usize)] = source[(place + k * pitch) as usize];
        }
    } else {
        #[unroll]
        for k in 0..count {
            let row = max(min(first + comptime!(k as i32), last), 0i32) as u32;
            words[comptime!((at + k) as usize)] = source[(row * pitch + column.word) as usize];
        }
    }
    if comptime!(matches!(samples, Samples::Bytes)) {
        if column.outside != 0u32 {
            #[unroll]
            for k in 0..count {
                let word = u32::cast_from(words[comptime!((at + k) as usize)]);
                words[comptime!((at + k) as usize)] = W::cast_from(mended(word, column));
            }
        }
    }
}

/// Stores `count` words, whole vectors, from column `first` of words on, as far as the row goes; samples past its width are 0.
#[cube]
pub(super) fn store_run<W: Numeric, N: Size>(
    out: &mut Array<Vector<W, N>>,
    words: &Array<W>,
    row: u32,
    first: u32,
    raster: &Raster,
    #[comptime] count: u32,
    #[comptime] samples: Samples,
) {
    #[unroll]
    for v in 0..comptime!(count / 4) {
        let mut vector = Vector::<W, N>::empty();
        #[unroll]
        for k in 0..4u32 {
            vector[comptime!(k as usize)] = words[comptime!((4 * v + k) as usize)];
        }
        store_vector::<W, N>(out, vector, row, first + comptime!(4 * v), raster, samples);
    }
}

/// Stores the runs of eight words of all units of a plane, which are side by side from column `left` of words
/// on, those of an even and of an odd unit beside each other; `run` is this unit's, and those from `runs` on
/// are left out.
///
/// Where each unit stores its own, each store of a plane writes every other vector: half a sector of memory
/// at a time, and each sector twice. So two neighbours exchange a vector each, and store first the one's run,
/// then the other's. Far from all ends no vector is checked against them.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(super) fn store_two_runs<W: Numeric, N: Size>(
    out: &mut Array<Vector<W, N>>,
    words: &Array<W>,
    row: u32,
    left: u32,
    run: u32,
    raster: &Raster,
    #[comptime] runs: u32,
    #[comptime] samples: Samples,
) {
    let odd = run % 2u32;
    let mut first = Vector::<W, N>::empty();
    let mut second = Vector::<W, N>::empty();
    #[unroll]
    for k in 0..4u32 {
        let (upper, lower) = (words[comptime!(k as usize)], words[comptime!((4 + k) as usize)]);
        let mut sent = lower;
        if odd == 1u32 {
            sent = upper;
        }
        let got = plane_shuffle_xor(sent, 1u32);
        let mut of_even = upper;
        let mut of_odd = got;
        if odd == 1u32 {
            of_even = got;
            of_odd = lower;
        }
        first[comptime!(k as usize)] = of_even;
        second[comptime!(k as usize)] = of_odd;
    }
    let even = run - odd;
    let word = left + even * 8u32 + odd * 4u32;
    let beyond = left + (even + 2u32) * 8u32;
    let mut whole = row < raster.height && even + 1u32 < runs;
    whole = whole && beyond * comptime!(samples.per_word()) <= raster.width;
    if whole {
        let place = ((row * raster.pitch + word) / 4u32) as usize;
        out[place] = first;
        out[place + 2usize] = second;
    } else {
        if even < runs {
            store_vector::<W, N>(out, first, row, word, raster, samples);
        }
        if even + 1u32 < runs {
            store_vector::<W, N>(out, second, row, word + 8u32, raster, samples);
        }
    }
}

/// Stores four words from column `word` of words on.
#[cube]
pub(super) fn store_vector<W: Numeric, N: Size>(
    out: &mut Array<Vector<W, N>>,
    vector: Vector<W, N>,
    row: u32,
    word: u32,
    raster: &Raster,
    #[comptime] samples: Samples,
) {
    // Rows and words past the picture are not its memory.
    if row < raster.height {
        if word < raster.pitch {
            let mut inside = vector;
            if (word + 4u32) * comptime!(samples.per_word()) > raster.width {
                #[unroll]
                for k in 0..4u32 {
                    inside[comptime!(k as usize)] =
                        within::<W>(vector[comptime!(k as usize)], word + k, raster.width, samples);
                }
            }
            out[((row * raster.pitch + word) / 4u32) as usize] = inside;
        }
    }
}

/// A word of a row without the samples past `width`.
// On a device both sides of `&&` are computed.
#[cube]
#[allow(clippy::collapsible_if)]
pub(super) fn within<W: Numeric>(word: W, place: u32, width: u32, #[comptime] samples: Samples) -> W {
    let mut inside = word;
    let first = place * comptime!(samples.per_word());
    if first >= width {
        inside = W::from_int(0);
    }
    if comptime!(matches!(samples, Samples::Bytes)) {
        if first < width {
            if first + 4u32 > width {
                let bits = u32::cast_from(inside) & ((1u32 << ((width - first) * 8u32)) - 1u32);
                inside = W::cast_from(bits);
            }
        }
    }
    inside
}
