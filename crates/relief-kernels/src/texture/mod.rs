//! Textures: smooth noise of gradients on a lattice (K. Perlin, "Improving noise", 2002) and cells around random points (S. Worley, "A cellular
//! texture basis function", 1996), as functions of a seed and a place, in integers.
//!
//! **How.** Where the columns of a tile lie in the lattice is found once for all its rows. What belongs to a cell of the lattice, its four
//! gradients or the points around it, is found once for all pixels of a row within it.
//!
//! ```
//! use relief_kernels::texture::{Cells, cpu};
//! use relief_raster::ViewMut;
//!
//! // Cells of 8 pixels, of which every tenth column begins anew.
//! let cells = [Cells::new(10, 80, true).unwrap(), Cells::new(10, 80, true).unwrap()];
//! let noise = |x| {
//!     let mut out = [0_u8; 16];
//!     let mut scratch = vec![0; cpu::perlin_words(16) as usize];
//!     cpu::perlin(7, &cells, 2, (x, 3), ViewMut::packed(&mut out, 16, 1), &mut scratch);
//!     out
//! };
//! assert_eq!(noise(0), noise(80));
//! assert_ne!(noise(0), noise(16));
//! ```

pub mod cpu;

#[cfg(test)]
mod tests;

/// The most octaves of noise.
pub const MAX_OCTAVES: u32 = 8;

/// Cells of a lattice along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cells {
    count: u64,
    pixels: u64,
    wraps: bool,
}

impl Cells {
    /// So many cells in so many pixels, after which they begin anew if the lattice `wraps`. Nothing where one is 0 or above 2^40.
    #[must_use]
    pub fn new(count: u64, pixels: u64, wraps: bool) -> Option<Self> {
        let sides = 1..=1_u64 << 40;
        (sides.contains(&count) && sides.contains(&pixels)).then_some(Self { count, pixels, wraps })
    }

    /// Where the middle of pixel `at` ≥ 0 lies, in 2^−16 of a cell of this octave: the cell and how far within it.
    fn place(&self, at: i64, octave: u32) -> (i64, i64) {
        // At most 2^41 times 2^40 times 2^7 times 2^16.
        let numerator = (i128::from(2 * at + 1) * i128::from(self.count)) << (octave + 16);
        let place = numerator.div_euclid(2 * i128::from(self.pixels));
        ((place >> 16) as i64, (place & 0xFFFF) as i64)
    }

    /// The number of a cell of this octave that its random bits depend on.
    fn number(&self, cell: i64, octave: u32) -> u64 {
        if self.wraps {
            cell.rem_euclid((self.count << octave).cast_signed())
                .cast_unsigned()
        } else {
            cell.cast_unsigned()
        }
    }
}

/// The random bits of a cell.
#[inline(always)]
fn bits(seed: u64, i: u64, j: u64) -> u64 {
    let mut z = seed
        .wrapping_add(i.wrapping_mul(0x9E37_79B9_7F4A_7C15))
        .wrapping_add(j.wrapping_mul(0xC2B2_AE3D_27D4_EB4F));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
