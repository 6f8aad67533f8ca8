//! The exact distance within a radius on the CPU.

use relief_raster::{Sample, View, ViewMut};

/// The greatest radius, in pixels.
pub const MAX_RADIUS: u32 = 4_096;

/// The words of scratch memory that a [`Transform`] of a tile of `width` × `height` pixels needs.
#[must_use]
pub fn scratch_words(width: usize, height: usize, radius: u32) -> usize {
    let _ = radius;
    width * height
}

/// The distance transform of one tile, fed with the rows of its mask from the top.
///
/// For a tile of w × h pixels and radius R the mask is w + 2R columns wide and h + 2R rows high: R rows above the
/// tile, h rows of it, R rows below. Rows are handed over in chunks of any height; rows that are not handed over
/// before [`finish`](Self::finish) are black.
#[derive(Debug)]
pub struct Transform<'s> {
    scratch: &'s mut [u64],
}

impl<'s> Transform<'s> {
    /// A transform that has seen no row yet.
    ///
    /// # Panics
    /// Where the radius is more than [`MAX_RADIUS`] or the scratch memory is shorter than [`scratch_words`].
    #[must_use]
    pub fn new(width: usize, height: usize, radius: u32, scratch: &'s mut [u64]) -> Self {
        let _ = (width, height, radius);
        Self { scratch }
    }

    /// The next rows of the mask: samples other than 0 are white.
    ///
    /// # Panics
    /// Where they are not w + 2R columns wide or more than the rows still missing.
    pub fn push<S: Sample>(&mut self, rows: View<'_, S>) {
        let _ = (rows, &self.scratch);
    }

    /// The next `count` rows of the mask are black.
    ///
    /// # Panics
    /// Where they are more than the rows still missing.
    pub fn push_black(&mut self, count: usize) {
        let _ = count;
    }

    /// Writes `profile[a]` for every pixel of the tile, where a is the least dx² + dy² over white pixels with
    /// a ≤ R², or `beyond` where there is none.
    ///
    /// # Panics
    /// Where `out` has not the size of the tile or the profile has not R² + 1 entries.
    pub fn finish<S: Sample>(self, profile: &[S], beyond: S, out: ViewMut<'_, S>) {
        let _ = (profile, beyond, out);
    }
}

/// The whole transform of a mask that is R pixels larger than `out` on every side; see [`Transform`].
///
/// # Panics
/// As the functions of [`Transform`].
pub fn bounded<S: Sample>(
    mask: View<'_, S>,
    radius: u32,
    profile: &[S],
    beyond: S,
    out: ViewMut<'_, S>,
    scratch: &mut [u64],
) {
    let mut transform = Transform::new(out.width(), out.height(), radius, scratch);
    transform.push(mask);
    transform.finish(profile, beyond, out);
}
