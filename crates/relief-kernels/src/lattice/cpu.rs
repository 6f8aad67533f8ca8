//! Lattices on the CPU.

use relief_raster::{Period, Sample, View, ViewMut};

use super::Blend;

/// The most copies that may cover one pixel: sums of so many 16-bit samples fit into 32 bits with room to round.
pub const MAX_OVERLAP: u128 = 16_384;

/// The words of scratch memory that [`cell`] and an [`Accumulator`] for `width` × `height` pixels need.
#[must_use]
pub fn scratch_words<S: Sample>(blend: Blend, overlap: u128, width: usize, height: usize) -> usize {
    let _ = (blend, overlap);
    width * height
}

/// One cell of the lattice: the blended samples (0, 0)…(a − 1, c − 1) of the raster in which copies of `pattern` lie
/// at `offset` + i·`u` + j·`v`, where a and c are those of [`Period::spanned`]`(u, v)` and the size of `out`.
///
/// # Panics
/// Where `u` and `v` span no period, `out` is not one cell, or the scratch memory is shorter than
/// [`scratch_words`].
pub fn cell<S: Sample>(
    pattern: View<'_, S>,
    offset: (i64, i64),
    blend: Blend,
    u: (i64, i64),
    v: (i64, i64),
    out: ViewMut<'_, S>,
    scratch: &mut [u64],
) {
    let _ = (pattern, offset, blend, Period::spanned(u, v), out, scratch);
}

/// Blends copies into a tile, one after the other.
#[derive(Debug)]
pub struct Accumulator<'s, S> {
    blend: Blend,
    planes: &'s mut [u64],
    samples: std::marker::PhantomData<S>,
}

impl<'s, S: Sample> Accumulator<'s, S> {
    /// An empty tile of `width` × `height` pixels of which no pixel will be covered by more than `overlap` copies.
    ///
    /// # Panics
    /// Where the scratch memory is shorter than [`scratch_words`] or `overlap` is more than [`MAX_OVERLAP`].
    #[must_use]
    pub fn new(blend: Blend, overlap: u128, width: usize, height: usize, scratch: &'s mut [u64]) -> Self {
        let _ = (overlap, width, height);
        Self {
            blend,
            planes: scratch,
            samples: std::marker::PhantomData,
        }
    }

    /// Folds a copy, or a part of one, whose top-left lies at (x, y) of the tile; what lies outside is left out.
    pub fn add(&mut self, x: i64, y: i64, part: View<'_, S>) {
        let _ = (x, y, part, &self.blend, &self.planes);
    }

    /// Writes the blended tile.
    ///
    /// # Panics
    /// Where `out` has not the size of the tile.
    pub fn finish(self, out: ViewMut<'_, S>) {
        let _ = out;
    }
}
