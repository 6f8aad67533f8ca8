//! How much work one tile may be: known before any is computed.
//!
//! A tile whose chains do not fit the room for them is computed in rows of 64 pixels, each of which looks at all copies that reach into
//! it (`cpu/dense.rs`). So the work of a copy is at most its edges, for every row and every 64 columns of the tile that they reach
//! over. What is far apart never meets in one tile: boxes are summed where they lie, by the bands of the index and within a
//! band from left to right.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::build::Error;
use super::index::{Index, Lattice, Part, Placed, Shapes};
use super::lookup::{Item, Lookup};

/// The most work of a tile, where no other limit is given: some ten seconds of a core at 8 bits.
pub const MAX_WORK: u64 = 1 << 30;

/// The sides of a tile that the work is measured with, in pixels.
const TILE: (i64, i64) = (1_024, 64);
/// Columns that are computed at once where there is much to look at.
const COLUMNS: i64 = 64;
/// Bands that the rows of a tile may lie in: a band has more than half as many.
const BANDS: usize = 3;

/// Refuses an index of which a tile might take too long.
pub(super) fn check(index: &Index, limit: u64) -> Result<(), Error> {
    let whole: Vec<u64> = index.parts.iter().map(|part| of_elements(index, part)).collect();
    let met = |placed: &Placed| meets(index, placed);
    let all = index
        .placed
        .iter()
        .map(|placed| met(placed).saturating_mul(whole[placed.part as usize]));
    if all.fold(0, u64::saturating_add) <= limit {
        return Ok(());
    }
    // Were all of it to meet one tile, it would be too much. So where does it lie?
    let mut near: Vec<Option<u64>> = vec![None; index.parts.len()];
    for placed in &index.placed {
        let part = placed.part as usize;
        near[part].get_or_insert_with(|| of_a_tile(index, &index.parts[part]));
    }
    let of = |placed: &Placed| met(placed).saturating_mul(near[placed.part as usize].unwrap_or(0));
    let most = heaviest(&index.lookup, width(index), |item, band, begins| {
        // Where it comes from above, it was counted there.
        if begins && item.entry as usize != band {
            return 0;
        }
        of(&index.placed[item.id as usize])
    });
    if most <= limit {
        return Ok(());
    }
    let Some(placed) = index.placed.iter().max_by_key(|placed| of(placed)) else {
        return Ok(());
    };
    Err(Error::Dense {
        part: Part(placed.part),
        copies: met(placed),
        work: most,
        limit,
    })
}

/// The width of a tile and what is rounded at its sides.
fn width(index: &Index) -> i64 {
    (TILE.0 + 1) * 256 * index.denominator
}

/// How many blocks of so many pixels a length reaches into, of as many as a tile has.
fn blocks(length: i64, pixels: i64, of: i64, index: &Index) -> u64 {
    let block = 256 * index.denominator * pixels;
    (length / block + 2).min(of / pixels + 1).unsigned_abs()
}

/// The work of a chain of an element: of all its edges, or of those that a tile may meet.
fn of_chain(index: &Index, number: u32, of_a_tile: bool) -> u64 {
    let chain = &index.chains[number as usize];
    let points = &index.points[chain.first as usize..][..chain.count as usize];
    let bounds = &index.elements[chain.element as usize].bounds;
    let columns = blocks(bounds.right - bounds.left, COLUMNS, TILE.0, index);
    let rows = blocks(points[points.len() - 1].1 - points[0].1, 1, TILE.1, index);
    let count = if of_a_tile {
        most_points(index, points)
    } else {
        points.len()
    };
    (rows + count as u64) * columns
}

/// How many points that go down may lie within the rows of a tile.
fn most_points(index: &Index, points: &[(i64, i64)]) -> usize {
    let height = (TILE.1 + 1) * 256 * index.denominator;
    let (mut first, mut most) = (0, 0);
    for (last, point) in points.iter().enumerate() {
        while point.1 - points[first].1 > height {
            first += 1;
        }
        most = most.max(last - first + 1);
    }
    // The edges that come in and go out.
    (most + 2).min(points.len())
}

/// The work of all elements of a part, were all of them to meet a tile, and of the copy itself.
fn of_elements(index: &Index, part: &Shapes) -> u64 {
    // Chains stand with every band that they reach into: no fewer are counted than there are.
    let chains = part.entries.iter().map(|entry| of_chain(index, *entry, false));
    chains.fold(1, u64::saturating_add)
}

/// The most work of any tile with a copy of a part.
fn of_a_tile(index: &Index, part: &Shapes) -> u64 {
    let most = heaviest(&part.lookup, width(index), |item, band, begins| {
        let entries = &part.entries[item.entry as usize..part.ends[band + 1] as usize];
        let own = entries
            .iter()
            .take_while(|entry| index.chains[**entry as usize].element == item.id);
        let new = own.filter(|entry| {
            let top = index.points[index.chains[**entry as usize].first as usize].1;
            !begins || part.lookup.bands.of(top, top).start == band
        });
        new.map(|entry| of_chain(index, *entry, true))
            .fold(0, u64::saturating_add)
    });
    most + 1
}

/// The greatest sum of all items that may meet in one tile. `of` tells the work of an item in a band: all of it, or of what begins there.
fn heaviest(lookup: &Lookup, width: i64, of: impl Fn(&Item, usize, bool) -> u64) -> u64 {
    let mut most = 0_u64;
    // Of the bands before: what a tile meets that begins in each of them.
    let mut sums = [0_u64; BANDS];
    for band in 0..lookup.bands.count() {
        let begins = greatest(lookup, band, width, |item| of(item, band, true));
        for back in 1..BANDS.min(band + 1) {
            let sum = &mut sums[(band - back) % BANDS];
            *sum = sum.saturating_add(begins);
            most = most.max(*sum);
        }
        let all = greatest(lookup, band, width, |item| of(item, band, false));
        sums[band % BANDS] = all;
        most = most.max(all);
    }
    most
}

/// The greatest sum of the items of a band that may meet in so many units from left to right.
fn greatest(lookup: &Lookup, band: usize, width: i64, of: impl Fn(&Item) -> u64) -> u64 {
    let mut open = BinaryHeap::new();
    let (mut sum, mut greatest) = (0_u64, 0_u64);
    // A tile that ends where an item begins meets none that begins later.
    for item in lookup.band(band) {
        while let Some(Reverse((right, work))) = open.peek().copied() {
            if right >= item.left.saturating_sub(width) {
                break;
            }
            open.pop();
            sum = sum.saturating_sub(work);
        }
        // So that sums of 2^32 items stay below 2^64.
        let work = of(item).min(u64::MAX >> 32);
        open.push(Reverse((item.right, work)));
        sum = sum.saturating_add(work);
        greatest = greatest.max(sum);
    }
    greatest
}

/// How many copies of a part a tile may meet.
fn meets(index: &Index, placed: &Placed) -> u64 {
    let own = &index.parts[placed.part as usize].bounds;
    let unit = 256 * index.denominator;
    let size = (
        TILE.0.saturating_mul(unit).saturating_add(own.right - own.left),
        TILE.1.saturating_mul(unit).saturating_add(own.bottom - own.top),
    );
    let Lattice {
        u, v, columns, rows, ..
    } = placed.lattice;
    along(u, columns, size).saturating_mul(along(v, rows, size))
}

/// How many of `count` steps a box of this size, moved by `step`, can take without leaving a tile.
fn along(step: (i64, i64), count: u32, size: (i64, i64)) -> u64 {
    let along = |step: i64, size: i64| match step.unsigned_abs() {
        0 => u64::MAX,
        step => size.unsigned_abs() / step + 2,
    };
    u64::from(count)
        .min(along(step.0, size.0))
        .min(along(step.1, size.1))
}
