//! Words of a picture down a column, as filters see them: what lies outside is the nearest inside; and runs of words of a
//! result.

use cubecl::prelude::*;

use super::Samples;

/// A column of words that a unit looks at; it may lie outside of the picture.
#[derive(CubeType, Clone)]
pub(super) struct Column {
    /// The nearest column inside.
    word: u32,
    /// The bits of it that lie outside.
    outside: u32,
    /// Where in it the sample lies that stands for all others.
    shift: u32,
}

/// Column `word` of a picture of `width` samples a row.
#[cube]
pub(super) fn column(word: i32, width: u32, #[comptime] samples: Samples) -> Column {
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
    }
}

#[cube]
impl Column {
    /// The nearest column inside.
    pub(super) fn word(&self) -> u32 {
        self.word
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
#[allow(clippy::too_many_arguments, clippy::collapsible_if)]
pub(super) fn load_rows<W: Numeric>(
    source: &Array<W>,
    words: &mut Array<W>,
    first: i32,
    column: &Column,
    height: u32,
    pitch: u32,
    #[comptime] at: u32,
    #[comptime] count: u32,
    #[comptime] samples: Samples,
) {
    let last = height as i32 - 1i32;
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

/// Stores `count` words, whole vectors, from column `first` of words on, as far as the row goes; samples past `width` are 0.
#[cube]
#[allow(clippy::too_many_arguments)]
pub(super) fn store_run<W: Numeric, N: Size>(
    out: &mut Array<Vector<W, N>>,
    words: &Array<W>,
    row: u32,
    first: u32,
    width: u32,
    height: u32,
    pitch: u32,
    #[comptime] count: u32,
    #[comptime] samples: Samples,
) {
    // Rows and words past the picture are not its memory.
    if row < height {
        #[unroll]
        for v in 0..comptime!(count / 4) {
            let word = first + comptime!(4 * v);
            if word < pitch {
                let mut vector = Vector::<W, N>::empty();
                #[unroll]
                for k in 0..4u32 {
                    vector[comptime!(k as usize)] = words[comptime!((4 * v + k) as usize)];
                }
                if (word + 4u32) * comptime!(samples.per_word()) > width {
                    #[unroll]
                    for k in 0..4u32 {
                        vector[comptime!(k as usize)] =
                            within::<W>(vector[comptime!(k as usize)], word + k, width, samples);
                    }
                }
                out[((row * pitch + word) / 4u32) as usize] = vector;
            }
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
