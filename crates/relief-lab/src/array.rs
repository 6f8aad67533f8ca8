//! What goes into a variant and what comes out: arrays of samples or numbers, with guards around them.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use relief_numeric::element::Element as Number;

/// What an array holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Integers of 8 bits.
    U8,
    /// Integers of 16 bits.
    U16,
    /// Integers of 32 bits.
    U32,
    /// Floating-point numbers of 32 bits.
    F32,
}

impl Kind {
    /// Bytes of an element.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 | Self::F32 => 4,
        }
    }

    /// What labels call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::F32 => "f32",
        }
    }

    /// The numbers of production's kernels that it is.
    #[must_use]
    pub const fn element(self) -> Number {
        match self {
            Self::U8 => Number::U8,
            Self::U16 => Number::U16,
            Self::U32 => Number::U32,
            Self::F32 => Number::F32,
        }
    }

    /// What holds such numbers: integers with a sign by their bits.
    #[must_use]
    pub const fn of(element: Number) -> Self {
        match element {
            Number::U8 => Self::U8,
            Number::U16 => Self::U16,
            Number::U32 | Number::I32 => Self::U32,
            Number::F32 => Self::F32,
        }
    }
}

/// A type that arrays hold.
pub trait Element: Pod + Send + Sync {
    /// Which.
    const KIND: Kind;
}

impl Element for u8 {
    const KIND: Kind = Kind::U8;
}

impl Element for u16 {
    const KIND: Kind = Kind::U16;
}

impl Element for u32 {
    const KIND: Kind = Kind::U32;
}

impl Element for f32 {
    const KIND: Kind = Kind::F32;
}

/// Kind and length of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// What it holds.
    pub kind: Kind,
    /// How many.
    pub len: usize,
}

impl Layout {
    /// `len` elements of a kind.
    #[must_use]
    pub const fn new(kind: Kind, len: usize) -> Self {
        Self { kind, len }
    }

    /// `len` elements of type `T`.
    #[must_use]
    pub const fn of<T: Element>(len: usize) -> Self {
        Self { kind: T::KIND, len }
    }

    /// Bytes of the elements.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.kind.bytes() * self.len
    }

    /// Words of a device buffer that holds them: whole vectors of four.
    #[must_use]
    pub const fn words(self) -> usize {
        self.bytes().div_ceil(16) * 4
    }
}

/// How the inputs of a problem are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Independent and uniform: all bits of an integer, 0…1 for a float.
    Random,
    /// 1, 0, 3, 0, 5, 0, …: half of it zero, as in the sources.
    Structured,
}

/// The alignment of an array: a line of the caches, and the widest vector.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Lines before and after the elements that nobody may write.
const GUARD: usize = 64;

/// What guards hold; poisons of outputs are other bytes.
const UNTOUCHED: u8 = 0xC9;

/// Elements in memory, aligned to 64 bytes, with 4 KiB of guards before and after.
#[derive(Clone)]
pub struct Array {
    layout: Layout,
    lines: Vec<Line>,
}

impl Array {
    /// Zeros.
    #[must_use]
    pub fn new(layout: Layout) -> Self {
        let mut lines: Vec<Line> = bytemuck::zeroed_vec(2 * GUARD + layout.bytes().div_ceil(64));
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut lines);
        bytes[..GUARD * 64].fill(UNTOUCHED);
        bytes[GUARD * 64 + layout.bytes()..].fill(UNTOUCHED);
        Self { layout, lines }
    }

    /// The elements that `at` gives for their indices.
    #[must_use]
    pub fn from_fn<T: Element>(len: usize, at: impl Fn(usize) -> T + Sync) -> Self {
        const CHUNK: usize = 1 << 14;
        let mut array = Self::new(Layout::of::<T>(len));
        let chunks = array.slice_mut::<T>().par_chunks_mut(CHUNK).enumerate();
        chunks.for_each(|(chunk, elements)| {
            for (k, element) in elements.iter_mut().enumerate() {
                *element = at(chunk * CHUNK + k);
            }
        });
        array
    }

    /// Elements filled in a usual way; `seed` tells inputs of one problem apart.
    #[must_use]
    pub fn filled(layout: Layout, fill: Fill, seed: u64) -> Self {
        let structured = |i: usize| if i.is_multiple_of(2) { i as u32 + 1 } else { 0 };
        let random = |i: usize| mix(seed, i as u64);
        let pick = move |i| match fill {
            Fill::Random => random(i),
            Fill::Structured => structured(i),
        };
        match layout.kind {
            Kind::U8 => Self::from_fn(layout.len, |i| pick(i) as u8),
            Kind::U16 => Self::from_fn(layout.len, |i| pick(i) as u16),
            Kind::U32 => Self::from_fn(layout.len, pick),
            // 24 bits, so that every number is exact.
            Kind::F32 => Self::from_fn(layout.len, |i| match fill {
                Fill::Random => (random(i) >> 8) as f32 / 16_777_216.0,
                Fill::Structured => (structured(i) & 0xff_ffff) as f32,
            }),
        }
    }

    /// Kind and length.
    #[must_use]
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    /// The elements.
    ///
    /// # Panics
    /// Where they are not of type `T`.
    #[must_use]
    pub fn slice<T: Element>(&self) -> &[T] {
        assert_eq!(self.layout.kind, T::KIND, "the array holds other elements");
        bytemuck::cast_slice(self.bytes())
    }

    /// The elements, to be written.
    ///
    /// # Panics
    /// Where they are not of type `T`.
    pub fn slice_mut<T: Element>(&mut self) -> &mut [T] {
        assert_eq!(self.layout.kind, T::KIND, "the array holds other elements");
        bytemuck::cast_slice_mut(self.bytes_mut())
    }

    /// The elements as bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.lines)[self.inside()]
    }

    /// The elements as bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let inside = self.inside();
        &mut bytemuck::cast_slice_mut(&mut self.lines)[inside]
    }

    /// The elements as the words of a device buffer, padded with 0 to whole vectors of four.
    #[must_use]
    pub fn to_words(&self) -> Vec<u32> {
        const CHUNK: usize = 1 << 20;
        let mut words = vec![0_u32; self.layout.words()];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        let parts = bytes.par_chunks_mut(CHUNK).zip(self.bytes().par_chunks(CHUNK));
        parts.for_each(|(to, from)| to[..from.len()].copy_from_slice(from));
        words
    }

    /// How far before the first element (negative) or after the last byte of the elements a guard was overwritten.
    pub(crate) fn trespass(&self) -> Option<i64> {
        trespass(bytemuck::cast_slice(&self.lines), &self.inside(), UNTOUCHED)
    }

    const fn inside(&self) -> Range<usize> {
        GUARD * 64..GUARD * 64 + self.layout.bytes()
    }
}

/// How far before or after a range bytes are not those of a guard.
pub(crate) fn trespass(all: &[u8], inside: &Range<usize>, guard: u8) -> Option<i64> {
    let touched = |byte: &u8| *byte != guard;
    let before = all[..inside.start].iter().rposition(touched);
    let before = before.map(|at| at as i64 - inside.start as i64);
    before.or_else(|| all[inside.end..].iter().position(touched).map(|at| at as i64))
}

impl std::fmt::Debug for Array {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Array of {} {:?}", self.layout.len, self.layout.kind)
    }
}

/// 32 bits that depend on all bits of both: the finaliser of SplitMix64.
#[must_use]
pub fn mix(seed: u64, place: u64) -> u32 {
    let mut z = (seed ^ (place << 8))
        .wrapping_add(place)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_aligned_and_guards_notice_a_write_next_to_them() {
        for len in [0, 1, 63, 64, 65, 1_000] {
            let mut array = Array::new(Layout::of::<u8>(len));
            array.slice_mut::<u8>().fill(7);
            assert_eq!(array.bytes().as_ptr().align_offset(64), 0);
            assert_eq!(array.trespass(), None);
            let end = array.inside().end;
            for (place, distance) in [(end, 0), (end + 5, 5), (GUARD * 64 - 1, -1)] {
                let mut array = array.clone();
                bytemuck::cast_slice_mut::<Line, u8>(&mut array.lines)[place] = 7;
                assert_eq!(array.trespass(), Some(distance), "{len} elements");
            }
        }
    }

    #[test]
    fn words_of_a_device_hold_the_elements_and_zeros() {
        let array = Array::from_fn(5, |i| i as u8 + 1);
        assert_eq!(array.to_words(), [0x0403_0201, 5, 0, 0]);
    }

    #[test]
    fn structured_input_is_half_zero() {
        let array = Array::filled(Layout::of::<u32>(6), Fill::Structured, 1);
        assert_eq!(array.slice::<u32>(), [1, 0, 3, 0, 5, 0]);
    }
}
