//! The columns of a row that have a white pixel within the radius, and the least dx² + g² where they are few.

use super::columns::Gap;
use super::{Carver, Layout};
use crate::isa::{Isa, versions};

/// Columns flagged together.
const WORD: usize = 64;

/// Pixels computed at once.
const LANES: usize = 64;

/// Where no more than one in so many columns is near, [`Near::least`] takes fewer steps than an envelope.
const FEW: usize = 16;

/// The columns of a row that are near a white pixel.
pub(super) struct Near<'s> {
    isa: Isa,
    layout: Layout,
    /// A byte for each column: 1 where it is near, else 0; and for up to 63 more, which nobody sets.
    flags: &'s mut [u64],
    /// The same in bits.
    bits: &'s mut [u8],
    columns: &'s mut [u32],
    count: usize,
}

/// 8-byte words of scratch memory, beside those of the columns.
pub(super) const fn flag_words(layout: &Layout) -> usize {
    9 * layout.columns.div_ceil(WORD)
}

/// Columns for which there must be room in the list.
pub(super) const fn room(layout: &Layout) -> usize {
    layout.columns + WORD
}

impl<'s> Near<'s> {
    pub(super) fn new(isa: Isa, layout: Layout, carver: &mut Carver<'s>) -> Self {
        let words = layout.columns.div_ceil(WORD);
        let flags = carver.take(8 * words);
        flags.fill(0);
        Self {
            isa,
            layout,
            flags,
            bits: carver.take(8 * words),
            columns: carver.take(room(&layout)),
            count: 0,
        }
    }

    /// Lists the near columns of a row, from left to right.
    pub(super) fn list<G: Gap>(&mut self, gaps: &[G]) {
        let flags = bytemuck::cast_slice_mut(self.flags);
        flag(self.isa, gaps, G::of(self.layout.radius), flags);
        gather(self.isa, self.flags, self.bits);
        let mut count = 0;
        let (words, _) = self.bits.as_chunks::<8>();
        // Columns are fewer than 2^30.
        for (word, start) in words.iter().zip((0_u32..).step_by(WORD)) {
            let mut near = u64::from_le_bytes(*word);
            let ends = count + near.count_ones() as usize;
            // Two at once, whether there are as many or not: how many there are nobody can foresee.
            while count < ends {
                for column in &mut self.columns[count..count + 2] {
                    *column = start + near.trailing_zeros();
                    near &= near.wrapping_sub(1);
                }
                count += 2;
            }
            count = ends;
        }
        self.count = count;
    }

    /// Whether the columns listed are so few that [`Near::least`] takes fewer steps than an envelope.
    pub(super) const fn are_few(&self) -> bool {
        self.count <= self.layout.columns / FEW
    }

    pub(super) fn columns(&self) -> &[u32] {
        &self.columns[..self.count]
    }

    /// Writes the least dx² + g² of each pixel of the row whose columns are listed, for radii up to 254; what is beyond the
    /// radius is greater than its square.
    pub(super) fn least<G: Gap>(&self, gaps: &[G], least: &mut [u16]) {
        let Layout { width, radius, .. } = self.layout;
        least_of_all(self.isa, gaps, self.columns(), width, radius, least);
    }
}

versions! {
    fn flag<G: Gap>(gaps: &[G], radius: G, flags: &mut [u8]) {
        for (flag, gap) in flags.iter_mut().zip(gaps) {
            *flag = u8::from(*gap <= radius);
        }
    }
}

versions! {
    /// The lowest bits of eight bytes that are 0 or 1, side by side: the product moves that of byte k to bit 56 + k, and
    /// no two to one place.
    fn gather(flags: &[u64], bits: &mut [u8]) {
        for (bits, flags) in bits.iter_mut().zip(flags) {
            *bits = (u64::from_le(*flags).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8;
        }
    }
}

versions! {
    fn least_of_all<G: Gap>(gaps: &[G], columns: &[u32], width: usize, radius: usize, least: &mut [u16]) {
        let (blocks, _) = least.as_chunks_mut::<LANES>();
        let mut within = 0..0;
        for (x, least) in (0..width).step_by(LANES).zip(blocks) {
            let (left, right) = (x, x + LANES + 2 * radius);
            while columns.get(within.start).is_some_and(|column| (*column as usize) < left) {
                within.start += 1;
            }
            while columns.get(within.end).is_some_and(|column| (*column as usize) < right) {
                within.end += 1;
            }
            let mut block = [u16::MAX; LANES];
            for column in &columns[within.clone()] {
                let gap: usize = gaps[*column as usize].into();
                // Less than 2^16, as is what follows: both are at most 254² or 255².
                let height = (gap * gap) as u16;
                let first = (x + radius).wrapping_sub(*column as usize) as i16;
                for (lane, least) in (0..).zip(&mut block) {
                    let away = first.wrapping_add(lane).unsigned_abs().min(255);
                    *least = (*least).min(away.wrapping_mul(away).saturating_add(height));
                }
            }
            *least = block;
        }
    }
}
