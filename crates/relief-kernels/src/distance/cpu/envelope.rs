//! The least dx² + g² of each pixel of a row by the lower envelope of the parabolas of all columns.
//!
//! The scan of A. Meijster, J. B. T. M. Roerdink, W. H. Hesselink, *A general algorithm for computing distance
//! transforms in linear time*, 2000, in integers, restricted to the columns of the tile. Of the columns beside the
//! tile only those can win that are nearer to white than all between them and the tile; a look at blocks passes
//! over the others.

use super::columns::Gap;
use super::{Carver, Layout};
use crate::isa::{Isa, versions};

/// Columns beside the tile that are passed over at once.
const BLOCK: usize = 64;

/// Farther than this, a squared distance exceeds that of every radius, and its sum with another fits in 32 bits.
const FAR: u32 = 8_192;

/// The scan of one row.
pub(super) struct Envelope<'s> {
    isa: Isa,
    layout: Layout,
    /// The columns whose parabolas make up the envelope, and where each begins to be the lowest.
    sites: &'s mut [u32],
    starts: &'s mut [u32],
    count: usize,
    /// Columns to the left of the tile that may win, from the last one on.
    beside: &'s mut [u32],
    /// A byte for each column of the tile: 1 where a white pixel is near along the column, else 0.
    near: &'s mut [u64],
    least: &'s mut [u32],
}

impl<'s> Envelope<'s> {
    pub(super) fn new(isa: Isa, layout: Layout, carver: &mut Carver<'s>) -> Self {
        let columns = layout.columns;
        let near = carver.take(layout.width.div_ceil(8));
        // Beside the last column there are up to seven flags that nobody sets.
        near.fill(0);
        Self {
            isa,
            layout,
            sites: carver.take(columns),
            starts: carver.take(columns),
            count: 0,
            beside: carver.take(columns),
            near,
            least: carver.take(layout.width),
        }
    }

    /// The least dx² + g² of each pixel of the row; what is beyond the radius is greater than its square.
    pub(super) fn least<G: Gap>(&mut self, gaps: &[G]) -> &[u32] {
        self.count = 0;
        let Layout { width, radius, .. } = self.layout;
        let (left, right) = (radius, radius + width);
        for k in (0..self.left_of(gaps)).rev() {
            self.push(gaps, self.beside[k]);
        }
        let flags = bytemuck::cast_slice_mut(self.near);
        flag_near(self.isa, &gaps[left..right], G::of(radius), flags);
        for word in 0..self.near.len() {
            let mut near = u64::from_le(self.near[word]);
            while near != 0 {
                let column = left + 8 * word + near.trailing_zeros() as usize / 8;
                near &= near - 1;
                // Columns are fewer than 2^30.
                self.push(gaps, column as u32);
            }
        }
        self.right_of(gaps);
        self.evaluate(gaps);
        self.least
    }

    /// Lists the columns to the left of the tile that may win, from right to left, and tells how many.
    fn left_of<G: Gap>(&mut self, gaps: &[G]) -> usize {
        let radius = self.layout.radius;
        let (mut end, mut nearest, mut count) = (radius, gaps[radius].into().min(radius + 1), 0);
        while end > 0 && nearest > 0 {
            let start = end.saturating_sub(BLOCK);
            if least_of(self.isa, &gaps[start..end]) < nearest {
                for column in (start..end).rev() {
                    let gap = gaps[column].into();
                    if gap < nearest {
                        nearest = gap;
                        self.beside[count] = column as u32;
                        count += 1;
                    }
                }
            }
            end = start;
        }
        count
    }

    /// Pushes the columns to the right of the tile that may win.
    fn right_of<G: Gap>(&mut self, gaps: &[G]) {
        let Layout {
            width,
            radius,
            columns,
            ..
        } = self.layout;
        let mut start = radius + width;
        let mut nearest = gaps[start - 1].into().min(radius + 1);
        while start < columns && nearest > 0 {
            let end = (start + BLOCK).min(columns);
            if least_of(self.isa, &gaps[start..end]) < nearest {
                for column in start..end {
                    let gap = gaps[column].into();
                    if gap < nearest {
                        nearest = gap;
                        self.push(gaps, column as u32);
                    }
                }
            }
            start = end;
        }
    }

    /// Adds the parabola of a column to the right of all before.
    fn push<G: Gap>(&mut self, gaps: &[G], column: u32) {
        let (left, right) = (
            self.layout.radius as i64,
            (self.layout.radius + self.layout.width) as i64,
        );
        let height = |site: u32| (gaps[site as usize].into() as i64).pow(2);
        let at = |x: u32, site: u32| (i64::from(x) - i64::from(site)).pow(2) + height(site);
        while let Some(top) = self.count.checked_sub(1) {
            let (site, start) = (self.sites[top], self.starts[top]);
            if at(start, site) <= at(start, column) {
                // The last place where the older parabola is not above the newer one is
                // ⌊(column² − site² + g(column)² − g(site)²) / (2·(column − site))⌋; taken apart so that 32 bits do.
                let apart = column - site;
                let rise = (height(column) - height(site)) as i32 + ((column + site) % 2 * apart) as i32;
                let last = i64::from((column + site) / 2) + i64::from(rise.div_euclid(2 * apart as i32));
                if last + 1 < right {
                    self.set(self.count, column, (last + 1) as u32);
                }
                return;
            }
            self.count = top;
        }
        self.set(0, column, left as u32);
    }

    fn set(&mut self, at: usize, site: u32, start: u32) {
        (self.sites[at], self.starts[at]) = (site, start);
        self.count = at + 1;
    }

    fn evaluate<G: Gap>(&mut self, gaps: &[G]) {
        let radius = self.layout.radius;
        if self.count == 0 {
            return self.least.fill(u32::MAX);
        }
        let (sites, starts) = (&self.sites[..self.count], &self.starts[..self.count]);
        lowest(self.isa, gaps, sites, starts, radius, self.least);
    }
}

versions! {
    /// The height of each pixel's parabola.
    fn lowest<G: Gap>(gaps: &[G], sites: &[u32], starts: &[u32], radius: usize, least: &mut [u32]) {
        let end = radius + least.len();
        for (k, (site, start)) in sites.iter().zip(starts).enumerate() {
            let end = starts.get(k + 1).map_or(end, |start| *start as usize);
            let height = (gaps[*site as usize].into() as u32).pow(2);
            let least = &mut least[*start as usize - radius..end - radius];
            for (x, least) in (*start..).zip(least) {
                let away = x.abs_diff(*site).min(FAR);
                *least = away * away + height;
            }
        }
    }
}

versions! {
    fn flag_near<G: Gap>(gaps: &[G], radius: G, near: &mut [u8]) {
        for (near, gap) in near.iter_mut().zip(gaps) {
            *near = u8::from(*gap <= radius);
        }
    }
}

versions! {
    fn least_of<G: Gap>(gaps: &[G]) -> usize {
        gaps.iter().fold(G::NONE, |least, gap| least.min(*gap)).into()
    }
}
