//! The least dx² + g² of each pixel of a row by looking at growing dx.
//!
//! Blocks of pixels go together, so that one look at the greatest minimum of a block ends the search of all of them,
//! and every step is a vector operation: two loads, two minima and a saturating sum for a pair ±dx.

use super::columns::Gap;
use super::{Carver, Layout};
use crate::isa::{Isa, versions};

/// Pixels of a block: one AVX-512 register of 8-bit squares, two of 16-bit ones.
pub(super) const LANES: usize = 64;

/// Pairs ±dx between two looks at the greatest minimum.
const STEPS: usize = 4;

/// A square; the greatest number stands for all from it on.
pub(super) trait Square: bytemuck::Pod + Ord + Into<usize> {
    const MOST: Self;

    fn of(gap: usize) -> Self;

    fn plus(self, other: Self) -> Self;
}

impl Square for u8 {
    const MOST: Self = Self::MAX;

    #[inline(always)]
    fn of(gap: usize) -> Self {
        let gap = gap.min(16) as u16;
        (gap * gap).min(255) as Self
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

impl Square for u16 {
    const MOST: Self = Self::MAX;

    #[inline(always)]
    fn of(gap: usize) -> Self {
        let gap = gap.min(256) as u32;
        (gap * gap).min(65_535) as Self
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

/// The search of one row.
pub(super) struct Window<'s, Q> {
    isa: Isa,
    layout: Layout,
    /// Of the columns of the mask, and of as many more as blocks reach beyond them.
    squares: &'s mut [Q],
    least: &'s mut [Q],
}

impl<'s, Q: Square> Window<'s, Q> {
    pub(super) fn new(isa: Isa, layout: Layout, carver: &mut Carver<'s>) -> Self {
        let squares = carver.take::<Q>(layout.columns + LANES);
        squares.fill(Q::MOST);
        Self {
            isa,
            layout,
            squares,
            least: carver.take(layout.width + LANES),
        }
    }

    /// Computes the row from the distances along columns with |dx| ≤ `limit`. False where a pixel needs farther ones.
    pub(super) fn least<G: Gap>(&mut self, gaps: &[G], limit: usize) -> bool {
        square(self.isa, gaps, self.squares);
        let Layout { width, radius, .. } = self.layout;
        search(
            self.isa,
            self.squares,
            width,
            radius,
            limit.min(radius),
            self.least,
        )
    }

    /// The row computed last. What is beyond the radius is greater than its square.
    pub(super) fn row(&self) -> &[Q] {
        &self.least[..self.layout.width]
    }
}

versions! {
    fn square<G: Gap, Q: Square>(gaps: &[G], squares: &mut [Q]) {
        for (square, gap) in squares.iter_mut().zip(gaps) {
            *square = Q::of((*gap).into());
        }
    }
}

versions! {
    fn search<Q: Square>(squares: &[Q], width: usize, radius: usize, limit: usize, least: &mut [Q]) -> bool {
        for x in (0..width).step_by(LANES) {
            let window = &squares[x..x + 2 * radius + LANES];
            let block = &mut least[x..x + LANES];
            block.copy_from_slice(&window[radius..radius + LANES]);
            let mut dx = 1;
            loop {
                let most: usize = block.iter().fold(Q::of(0), |most, least| most.max(*least)).into();
                if dx * dx >= most {
                    break;
                }
                if dx > limit {
                    if limit < radius {
                        return false;
                    }
                    break;
                }
                if dx + STEPS <= limit + 1 {
                    step::<Q, STEPS>(window, radius, dx, block);
                    dx += STEPS;
                } else {
                    step::<Q, 1>(window, radius, dx, block);
                    dx += 1;
                }
            }
        }
        true
    }
}

/// Takes the pairs ±dx … ±(dx + N − 1) into the least of a block.
#[inline(always)]
fn step<Q: Square, const N: usize>(window: &[Q], radius: usize, dx: usize, block: &mut [Q]) {
    let before: [&[Q]; N] = std::array::from_fn(|n| &window[radius - dx - n..][..LANES]);
    let after: [&[Q]; N] = std::array::from_fn(|n| &window[radius + dx + n..][..LANES]);
    let added: [Q; N] = std::array::from_fn(|n| Q::of(dx + n));
    let block = &mut block[..LANES];
    for lane in 0..LANES {
        let mut least = block[lane];
        for n in 0..N {
            least = least.min(before[n][lane].min(after[n][lane]).plus(added[n]));
        }
        block[lane] = least;
    }
}
