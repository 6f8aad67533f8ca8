//! The least dx² + g² of each pixel of a row by the lower envelope of the parabolas of all columns.
//!
//! The scan of A. Meijster, J. B. T. M. Roerdink, W. H. Hesselink, *A general algorithm for computing distance
//! transforms in linear time*, 2000, in integers, restricted to the columns of the tile. Of the columns beside the
//! tile only those can win that are nearer to white than all between them and the tile; a look at blocks passes
//! over the others.

use relief_raster::Sample;

use super::columns::Gap;
use super::near::Near;
use super::profile::Profile;
use super::{Carver, Layout, window};
use crate::isa::{Isa, versions};

/// Columns beside the tile that are passed over at once.
const BLOCK: usize = 64;

/// Pixels evaluated at once: one AVX-512 register of 16-bit numbers. What is written beyond the end of a parabola is overwritten by the next.
const LANES: usize = 32;

/// As far as this, clamped distances along a row of [`LANES`] pixels exceed every radius, and fit in 16 bits.
const FAR: i64 = 16_000;

/// A least squared distance; numbers above the square of the radius stand for all.
pub(super) trait Least: bytemuck::Pod {
    const MOST: Self;

    /// dx² + g² for dx = `first` + `lane` and g² = `height`.
    fn of(first: i16, lane: i16, height: u32) -> Self;

    fn look_up<S: Sample>(profile: &Profile<'_, S>, least: &[Self], out: &mut [S]);

    /// Computes `least` without an envelope, where it can and few columns are near.
    fn of_few<G: Gap>(near: &Near<'_>, gaps: &[G], least: &mut [Self]) -> bool;
}

/// For radii up to 254.
impl Least for u16 {
    const MOST: Self = Self::MAX;

    #[inline(always)]
    fn of(first: i16, lane: i16, height: u32) -> Self {
        let away = first.wrapping_add(lane).unsigned_abs().min(255);
        away.wrapping_mul(away).saturating_add(height as Self)
    }

    fn look_up<S: Sample>(profile: &Profile<'_, S>, least: &[Self], out: &mut [S]) {
        profile.look_up(least, out);
    }

    fn of_few<G: Gap>(near: &Near<'_>, gaps: &[G], least: &mut [Self]) -> bool {
        let few = near.are_few();
        if few {
            near.least(gaps, least);
        }
        few
    }
}

/// For every radius.
impl Least for u32 {
    const MOST: Self = Self::MAX;

    #[inline(always)]
    fn of(first: i16, lane: i16, height: u32) -> Self {
        let away = Self::from(first.wrapping_add(lane).unsigned_abs());
        // Less than 2^28 and 2^24.
        away.wrapping_mul(away).wrapping_add(height)
    }

    fn look_up<S: Sample>(profile: &Profile<'_, S>, least: &[Self], out: &mut [S]) {
        profile.look_up_far(least, out);
    }

    fn of_few<G: Gap>(_: &Near<'_>, _: &[G], _: &mut [Self]) -> bool {
        false
    }
}

/// The scan of one row.
pub(super) struct Envelope<'s, L> {
    isa: Isa,
    layout: Layout,
    /// The columns whose parabolas make up the envelope, and where each begins to be the lowest.
    sites: &'s mut [u32],
    starts: &'s mut [u32],
    count: usize,
    /// Columns to the left of the tile that may win, from the last one on.
    beside: &'s mut [u32],
    near: Near<'s>,
    least: &'s mut [L],
}

impl<'s, L: Least> Envelope<'s, L> {
    pub(super) fn new(isa: Isa, layout: Layout, carver: &mut Carver<'s>) -> Self {
        let columns = layout.columns;
        Self {
            isa,
            layout,
            sites: carver.take(columns),
            starts: carver.take(columns),
            count: 0,
            beside: carver.take(columns),
            near: Near::new(isa, layout, carver),
            least: carver.take(layout.width + window::LANES),
        }
    }

    /// The least dx² + g² of each pixel of the row; what is beyond the radius is greater than its square.
    pub(super) fn least<G: Gap>(&mut self, gaps: &[G]) -> &[L] {
        let Layout { width, radius, .. } = self.layout;
        self.near.list(gaps);
        if L::of_few(&self.near, gaps, self.least) {
            return &self.least[..width];
        }
        self.count = 0;
        for k in (0..self.left_of(gaps)).rev() {
            self.push(gaps, self.beside[k]);
        }
        for k in 0..self.near.columns().len() {
            let column = self.near.columns()[k];
            if (radius..radius + width).contains(&(column as usize)) {
                self.push(gaps, column);
            }
        }
        self.right_of(gaps);
        self.evaluate(gaps);
        &self.least[..width]
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
            return self.least.fill(L::MOST);
        }
        let (sites, starts) = (&self.sites[..self.count], &self.starts[..self.count]);
        lowest(self.isa, gaps, sites, starts, radius, self.least);
    }
}

versions! {
    /// The height of each pixel's parabola.
    fn lowest<G: Gap, L: Least>(gaps: &[G], sites: &[u32], starts: &[u32], radius: usize, least: &mut [L]) {
        let end = radius + least.len() - window::LANES;
        for (k, (site, start)) in sites.iter().zip(starts).enumerate() {
            let (start, end) = (*start as usize, starts.get(k + 1).map_or(end, |start| *start as usize));
            let height = (gaps[*site as usize].into() as u32).pow(2);
            for x in (start..end).step_by(LANES) {
                let first = (x as i64 - i64::from(*site)).clamp(-FAR, FAR) as i16;
                let least = &mut least[x - radius..x - radius + LANES];
                for (lane, least) in (0..).zip(least) {
                    *least = L::of(first, lane, height);
                }
            }
        }
    }
}

versions! {
    fn least_of<G: Gap>(gaps: &[G]) -> usize {
        gaps.iter().fold(G::NONE, |least, gap| least.min(*gap)).into()
    }
}
