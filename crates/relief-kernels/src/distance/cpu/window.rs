//! The least dx² + g² of each pixel of a row by looking at growing dx.
//!
//! Blocks of pixels go together: once no pixel of a block has a minimum above dx², the search of all of them ends,
//! and every step is a vector operation: two loads, two minima and a saturating sum for a pair ±dx.
//!
//! Up to distance 15 squares fit in 8 bits, and a vector holds twice as many of them. For larger radii a block is
//! searched in 8 bits first where that was enough for the block before, and again in 16 where one of its pixels is farther away.

use super::columns::Gap;
use super::{BYTE_RADIUS, Carver, Layout};
use crate::isa::{Isa, versions};

/// Pixels of a block: one AVX-512 register of 8-bit squares, two of 16-bit ones.
pub(super) const LANES: usize = 64;

/// Pairs ±dx between two looks at the minima.
const STEPS: usize = 4;

/// A square; the greatest number stands for all from it on.
pub(super) trait Square: bytemuck::Pod + Ord {
    const MOST: Self;

    fn of(gap: usize) -> Self;

    fn plus(self, other: Self) -> Self;

    /// The number before it, which stands for itself alone.
    fn exact(self) -> Self;
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

    #[inline(always)]
    fn exact(self) -> Self {
        self.min(Self::MAX - 1)
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

    #[inline(always)]
    fn exact(self) -> Self {
        self.min(Self::MAX - 1)
    }
}

/// The search of one row in 8 bits, for radii up to [`BYTE_RADIUS`].
pub(super) struct Bytes<'s> {
    isa: Isa,
    layout: Layout,
    /// Of the columns of the mask, and of as many more as blocks reach beyond them.
    squares: &'s mut [u8],
    least: &'s mut [u8],
}

impl<'s> Bytes<'s> {
    pub(super) fn new(isa: Isa, layout: Layout, carver: &mut Carver<'s>) -> Self {
        let squares = carver.take(layout.columns + LANES);
        squares.fill(u8::MOST);
        Self {
            isa,
            layout,
            squares,
            least: carver.take(layout.width + LANES),
        }
    }

    /// The least dx² + g² of each pixel of the row; what is beyond the radius is greater than its square.
    pub(super) fn least<G: Gap>(&mut self, gaps: &[G]) -> &[u8] {
        let Layout { width, radius, .. } = self.layout;
        square(self.isa, gaps, self.squares);
        search_bytes(self.isa, self.squares, width, radius, self.least);
        &self.least[..width]
    }
}

/// The search of one row in 16 bits, or in 8 where they do.
pub(super) struct Words<'s> {
    isa: Isa,
    layout: Layout,
    /// As in [`Bytes`], in 8 bits and in 16.
    bytes: &'s mut [u8],
    squares: &'s mut [u16],
    least: &'s mut [u16],
    /// Whether 8 bits did for the last block.
    near: bool,
}

impl<'s> Words<'s> {
    pub(super) fn new(isa: Isa, layout: Layout, carver: &mut Carver<'s>) -> Self {
        let bytes = carver.take(layout.columns + LANES);
        let squares = carver.take(layout.columns + LANES);
        bytes.fill(u8::MOST);
        squares.fill(u16::MOST);
        Self {
            isa,
            layout,
            bytes,
            squares,
            least: carver.take(layout.width + LANES),
            near: true,
        }
    }

    /// The least dx² + g² of each pixel of the row with |dx| ≤ `limit`; what is beyond the radius is greater than its
    /// square. Nothing where a pixel needs a greater |dx|.
    ///
    /// # Panics
    /// Where the limit is more than [`LANES`].
    pub(super) fn least<G: Gap>(&mut self, gaps: &[G], limit: usize) -> Option<&[u16]> {
        let Layout { width, radius, .. } = self.layout;
        square(self.isa, gaps, self.bytes);
        square(self.isa, gaps, self.squares);
        let limit = limit.min(radius);
        let found = search_words(
            self.isa,
            self.bytes,
            self.squares,
            width,
            radius,
            limit,
            &mut self.near,
            self.least,
        );
        found.then(|| &self.least[..width])
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
    fn search_bytes(squares: &[u8], width: usize, radius: usize, least: &mut [u8]) {
        let (least, _) = least.as_chunks_mut::<LANES>();
        for (x, least) in (0..width).step_by(LANES).zip(least) {
            search(&squares[x..x + 2 * radius + LANES], radius, radius, least);
        }
    }
}

versions! {
    fn search_words(
        bytes: &[u8],
        squares: &[u16],
        width: usize,
        radius: usize,
        limit: usize,
        near: &mut bool,
        least: &mut [u16],
    ) -> bool {
        let mut block = [0; LANES];
        let (least, _) = least.as_chunks_mut::<LANES>();
        for (x, least) in (0..width).step_by(LANES).zip(least) {
            let window = x..x + 2 * radius + LANES;
            if *near && search(&bytes[window.clone()], radius, limit.min(BYTE_RADIUS), &mut block) {
                for lane in 0..LANES {
                    least[lane] = block[lane].into();
                }
                continue;
            }
            if !search(&squares[window], radius, limit, least) && limit < radius {
                return false;
            }
            *near = !is_above(least, u16::from(u8::MOST.exact()));
        }
        true
    }
}

/// Writes the least dx² + g² of a block with |dx| ≤ `limit`, and tells whether no greater |dx| can lower one of them.
#[inline(always)]
fn search<Q: Square>(window: &[Q], radius: usize, limit: usize, least: &mut [Q; LANES]) -> bool {
    // An array of its own, which the compiler keeps in registers.
    let mut block = [Q::MOST; LANES];
    block.copy_from_slice(&window[radius..radius + LANES]);
    let found = lower(window, radius, limit, &mut block);
    *least = block;
    found
}

#[inline(always)]
fn lower<Q: Square>(window: &[Q], radius: usize, limit: usize, block: &mut [Q]) -> bool {
    if !is_above(block, Q::of(1)) {
        return true;
    }
    // No more than a block is looked at on either side, so that three blocks cover all that is.
    assert!(limit <= LANES, "{limit} columns to either side");
    let before = &window[radius - limit..][..LANES];
    let after = &window[radius + limit..][..LANES];
    let mut nearest = Q::MOST;
    for lane in 0..LANES {
        nearest = nearest.min(block[lane].min(before[lane]).min(after[lane]));
    }
    if nearest == Q::MOST {
        return false;
    }
    let mut dx = 1;
    loop {
        if dx + STEPS <= limit + 1 {
            step::<Q, STEPS>(window, radius, dx, block);
            dx += STEPS;
        } else if dx <= limit {
            step::<Q, 1>(window, radius, dx, block);
            dx += 1;
        } else {
            return !is_above(block, Q::of(dx).exact());
        }
        if !is_above(block, Q::of(dx).exact()) {
            return true;
        }
    }
}

/// Whether a minimum is above a square.
#[inline(always)]
fn is_above<Q: Square>(block: &[Q], square: Q) -> bool {
    let mut any = 0_u8;
    for least in block {
        any |= u8::from(*least > square);
    }
    any != 0
}

/// Takes the pairs ±dx … ±(dx + N − 1) into the least of a block.
#[inline(always)]
fn step<Q: Square, const N: usize>(window: &[Q], radius: usize, dx: usize, block: &mut [Q]) {
    let block = &mut block[..LANES];
    for dx in dx..dx + N {
        let (before, after) = (&window[radius - dx..][..LANES], &window[radius + dx..][..LANES]);
        let added = Q::of(dx);
        for lane in 0..LANES {
            block[lane] = block[lane].min(before[lane].min(after[lane]).plus(added));
        }
    }
}
