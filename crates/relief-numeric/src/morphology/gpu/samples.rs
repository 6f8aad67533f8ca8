//! Four samples of a row at once: between memory, where they are packed, and numbers.

use cubecl::prelude::*;

use crate::element::Element;

/// Samples and which operator sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Samples {
    /// Of 8, 16 or 32 bits.
    pub(super) element: Element,
    /// Whether they are seen upside down, for an erosion.
    pub(super) down: bool,
}

impl Samples {
    /// Words of four samples.
    pub(super) const fn words(self) -> usize {
        match self.element {
            Element::U8 => 1,
            Element::U16 => 2,
            _ => 4,
        }
    }

    /// What one is less than, where it is a whole number.
    const fn most(self) -> i64 {
        match self.element {
            Element::U8 => 0xff,
            _ => 0xffff,
        }
    }

    const fn is_float(self) -> bool {
        matches!(self.element, Element::F32)
    }
}

/// A picture in memory: rows of `pitch` fours, of which `width` samples count.
#[derive(CubeType, Clone, Copy)]
pub(super) struct Picture {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) pitch: u32,
    /// The bits of what lies outside.
    pub(super) least: u32,
}

/// Four samples of row `y` from column 4 `four` on; what lies outside is the least.
// On a device both sides of `&&` are computed, and there is no `div_ceil`.
#[cube]
#[allow(clippy::manual_div_ceil, clippy::collapsible_if)]
pub(super) fn load<L: Numeric, V: Size, W: Size>(
    source: &Array<Vector<u32, W>>,
    four: i32,
    y: i32,
    picture: Picture,
    #[comptime] samples: Samples,
) -> Vector<L, V> {
    let mut lanes = Vector::<L, V>::empty();
    #[unroll]
    for k in 0..4u32 {
        lanes[comptime!(k as usize)] = L::reinterpret(picture.least);
    }
    // A column left of the first is beyond the last.
    let x = four as u32;
    if (y as u32) < picture.height {
        if x < (picture.width + 3u32) / 4u32 {
            let words = source[(y as u32 * picture.pitch + x) as usize];
            #[unroll]
            for k in 0..4u32 {
                if x * 4u32 + k < picture.width {
                    lanes[comptime!(k as usize)] = lane::<L, W>(words, k, samples);
                }
            }
        }
    }
    lanes
}

/// Sample `k` of four.
#[cube]
fn lane<L: Numeric, W: Size>(words: Vector<u32, W>, #[comptime] k: u32, #[comptime] samples: Samples) -> L {
    if comptime!(samples.is_float()) {
        let mut bits = words[comptime!(k as usize)];
        if comptime!(samples.down) {
            bits ^= 0x8000_0000u32;
        }
        L::reinterpret(bits)
    } else {
        let bits = comptime!(match samples.element {
            Element::U8 => 8u32,
            _ => 16u32,
        });
        let most = comptime!(samples.most() as u32);
        let mut sample = (words[comptime!((k * bits / 32) as usize)] >> comptime!(k * bits % 32)) & most;
        if comptime!(samples.down) {
            sample ^= most;
        }
        L::reinterpret(sample)
    }
}

/// Stores four results of row `y` from column 4 `four` on; samples past the width become 0.
#[cube]
pub(super) fn store<L: Numeric, W: Size>(
    out: &mut Array<Vector<u32, W>>,
    results: &Array<L>,
    #[comptime] first: u32,
    four: u32,
    y: u32,
    picture: Picture,
    #[comptime] samples: Samples,
) {
    // Rows and columns past the picture are not its memory.
    if y < picture.height {
        if four < picture.pitch {
            let mut words = Vector::<u32, W>::empty();
            #[unroll]
            for k in 0..comptime!(samples.words()) {
                words[k] = u32::new(0);
            }
            #[unroll]
            for k in 0..4u32 {
                let mut bits = bits::<L>(results[comptime!((first + k) as usize)], samples);
                if four * 4u32 + k >= picture.width {
                    bits = u32::new(0);
                }
                let place = comptime!(k * 8 * samples.words() as u32);
                words[comptime!((place / 32) as usize)] |= bits << comptime!(place % 32);
            }
            out[(y * picture.pitch + four) as usize] = words;
        }
    }
}

/// The bits of a result.
#[cube]
fn bits<L: Numeric>(result: L, #[comptime] samples: Samples) -> u32 {
    if comptime!(samples.is_float()) {
        let mut number = f32::reinterpret(result);
        if comptime!(samples.down) {
            // 0 − 0 is 0, where a change of the sign is −0.
            number = 0.0f32 - number;
        }
        u32::reinterpret(number)
    } else {
        let most = comptime!(samples.most() as i32);
        let mut sample = u32::reinterpret(max(min(i32::reinterpret(result), most), 0i32));
        if comptime!(samples.down) {
            sample ^= comptime!(most as u32);
        }
        sample
    }
}
