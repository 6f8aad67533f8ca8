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
use super::room::Room;

/// The most work of a tile, where no other limit is given: some ten seconds of a core for copies of one part at 8 bits. What is no copy of another
/// takes longer, but there are never as many.
pub const MAX_WORK: u64 = 1 << 30;

/// The work of [`Index::work`] that takes a second of a core at 8 bits, and two at 16. Measured: from 0.5 to 3.4 million where nothing is a
/// copy, the fewest where many short edges meet in few columns.
pub const WORK_OF_A_SECOND: u64 = 1_400_000;

/// How many copies of an array take as long as one that is none: of those that hide each other few are looked at. Measured: from 4 to 50.
const COPIES_AS_ONE: u64 = 16;

/// What is summed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Measure {
    /// No tile takes more than this.
    Bound,
    /// What most drawings take.
    Likely,
}

/// The sides of a tile that the work is measured with, in pixels.
const TILE: (i64, i64) = (1_024, 64);
/// Columns that are computed at once where there is much to look at.
const COLUMNS: i64 = 64;
/// Bands that the rows of a tile may lie in: a band has more than half as many.
const BANDS: usize = 3;

/// The likely work of a tile, or more where that is little. Refuses an index of which a tile might take too long.
pub(super) fn check(index: &Index, limit: u64, room: &mut Room) -> Result<u64, Error> {
    // Two numbers for each part now, and another where it has to be known what is near it.
    room.take(index.parts.len() as u64 * (2 * size_of::<u64>() + size_of::<Option<u64>>()) as u64)?;
    // What two lists of what is open at the same time take, where they are needed.
    let parts = index.parts.iter().map(|part| part.lookup.longest());
    let open = parts.fold(index.lookup.longest(), usize::max);
    let open = 2 * (open * size_of::<Open>()) as u64;
    let mut is_open = false;
    let mut take = || {
        if std::mem::replace(&mut is_open, true) {
            Ok(())
        } else {
            room.take(open)
        }
    };
    most(index, (limit, limit), Measure::Bound, &mut take)?;
    most(index, (WORK_OF_A_SECOND, u64::MAX), Measure::Likely, &mut take)
}

/// The most work of a tile, or a bound of it that is no more than `little`. Refuses what is more than `limit`.
fn most(
    index: &Index,
    (little, limit): (u64, u64),
    measure: Measure,
    take: &mut dyn FnMut() -> Result<(), Error>,
) -> Result<u64, Error> {
    let whole: Vec<u64> = index
        .parts
        .iter()
        .map(|part| of_elements(index, part, measure))
        .collect();
    let met = |placed: &Placed| match measure {
        Measure::Bound => meets(index, placed),
        Measure::Likely => meets(index, placed).div_ceil(COPIES_AS_ONE),
    };
    let of_all = |placed: &Placed| met(placed).saturating_mul(whole[placed.part as usize]);
    let all = index.placed.iter().map(of_all).fold(0, u64::saturating_add);
    if all <= little {
        return Ok(all);
    }
    // Most lies in other bands than a tile does.
    let banded = in_bands(index, of_all);
    if banded <= little {
        return Ok(banded);
    }
    // So does most of what a part has.
    let own: Vec<u64> = index
        .parts
        .iter()
        .map(|part| of_bands(index, part, measure))
        .collect();
    let banded = in_bands(index, |placed| {
        met(placed).saturating_mul(own[placed.part as usize])
    });
    if banded <= little {
        return Ok(banded);
    }
    // Were all of it to meet one tile, it would be too much. So where does it lie? Of a band, all may be open at the same time.
    take()?;
    let mut near: Vec<Option<u64>> = vec![None; index.parts.len()];
    for placed in &index.placed {
        let part = placed.part as usize;
        near[part].get_or_insert_with(|| of_a_tile(index, &index.parts[part], measure));
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
        return Ok(most);
    }
    let Some(placed) = index.placed.iter().max_by_key(|placed| of(placed)) else {
        return Ok(most);
    };
    Err(Error::Dense {
        part: Part(placed.part),
        copies: meets(index, placed),
        work: most,
        limit,
    })
}

/// The greatest sum of all that lies in the bands of a tile, wherever it lies in them.
fn in_bands(index: &Index, of: impl Fn(&Placed) -> u64) -> u64 {
    let (mut most, mut sums) = (0, [0_u64; BANDS]);
    for band in 0..index.lookup.bands.count() {
        let own = index.lookup.band(band).iter();
        sums[band % BANDS] = own
            .map(|item| of(&index.placed[item.id as usize]))
            .fold(0, u64::saturating_add);
        most = most.max(sums.into_iter().fold(0, u64::saturating_add));
    }
    most
}

/// The width of a tile and what is rounded at its sides.
fn width(index: &Index) -> i64 {
    (TILE.0 + 1) * 256 * index.denominator
}

/// How many blocks of so many pixels a length reaches into, of as many as a tile has.
fn blocks(length: i64, pixels: i64, of: i64, index: &Index) -> u64 {
    let block = 256 * index.denominator * pixels;
    // Most are small, and a division takes as long as all else.
    if length < block {
        return 2.min(of / pixels + 1).unsigned_abs();
    }
    (length / block + 2).min(of / pixels + 1).unsigned_abs()
}

/// The work of a chain of an element: of all its edges, or of those that a tile may meet.
fn of_chain(index: &Index, number: u32, of_a_tile: bool, measure: Measure) -> u64 {
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
    let edges = rows + count as u64;
    match measure {
        Measure::Bound => edges * columns,
        // A chain is gone through once a row where there is room for all of them, and passed over where it is far. Those of a wide element are
        // spread along it, some of them twice as close as others.
        Measure::Likely => {
            if bounds.right - bounds.left <= 2 * TILE.0 * 256 * index.denominator {
                return edges;
            }
            let width = (bounds.right - bounds.left) / (256 * index.denominator);
            (edges * 2 * TILE.0.unsigned_abs()).div_ceil(width.max(2 * TILE.0).unsigned_abs())
        }
    }
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
fn of_elements(index: &Index, part: &Shapes, measure: Measure) -> u64 {
    // Chains stand with every band that they reach into: no fewer are counted than there are.
    let chains = part
        .entries
        .iter()
        .map(|entry| of_chain(index, *entry, false, measure));
    chains.fold(1, u64::saturating_add)
}

/// The greatest work of all that lies in the bands of a tile, of those of a part, and of the copy itself.
fn of_bands(index: &Index, part: &Shapes, measure: Measure) -> u64 {
    let (mut most, mut sums) = (0, [0_u64; BANDS]);
    for (band, ends) in part.ends.windows(2).enumerate() {
        let entries = &part.entries[ends[0] as usize..ends[1] as usize];
        let chains = entries.iter().map(|entry| of_chain(index, *entry, true, measure));
        sums[band % BANDS] = chains.fold(0, u64::saturating_add);
        most = most.max(sums.into_iter().fold(0, u64::saturating_add));
    }
    most.saturating_add(1)
}

/// The most work of any tile with a copy of a part.
fn of_a_tile(index: &Index, part: &Shapes, measure: Measure) -> u64 {
    let most = heaviest(&part.lookup, width(index), |item, band, begins| {
        let entries = &part.entries[item.entry as usize..part.ends[band + 1] as usize];
        let own = entries
            .iter()
            .take_while(|entry| index.chains[**entry as usize].element == item.id);
        let new = own.filter(|entry| {
            let top = index.points[index.chains[**entry as usize].first as usize].1;
            !begins || part.lookup.bands.of(top, top).start == band
        });
        new.map(|entry| of_chain(index, *entry, true, measure))
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

/// Where an item ends, and its work.
type Open = Reverse<(i64, u64)>;

/// The greatest sum of the items of a band that may meet in so many units from left to right.
fn greatest(lookup: &Lookup, band: usize, width: i64, of: impl Fn(&Item) -> u64) -> u64 {
    let mut open: BinaryHeap<Open> = BinaryHeap::new();
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
    // A tile is a pixel larger than its sides, by what is rounded there.
    let side = |tile: i64, own: i64| ((tile + 1) * 256 * index.denominator + own).unsigned_abs();
    let size = (
        side(TILE.0, own.right - own.left),
        side(TILE.1, own.bottom - own.top),
    );
    copies(&placed.lattice, size)
}

/// How many copies of an array may meet a tile, a copy being moved within a box of `size`, ends included, while it does.
fn copies(lattice: &Lattice, size: (u64, u64)) -> u64 {
    let Lattice {
        u, v, columns, rows, ..
    } = *lattice;
    // Each row has as many columns as fit, and each column as many rows: both are bounds.
    let by_rows = lines((u, columns), (v, rows), size).saturating_mul(along(u, columns, size));
    let by_columns = lines((v, rows), (u, columns), size).saturating_mul(along(v, rows, size));
    by_rows.min(by_columns)
}

/// How many rows of an array may have copies in a box of `size`.
///
/// With i·u + j·v in the box, j·v lies in it or short of it by as much as a row is long, on each axis. And u × (i·u + j·v) = j·(u × v) for any i: it
/// lies between the extremes of u × d over the corners d of the box, which are |u.x|·height + |u.y|·width apart wherever the box lies.
fn lines((u, columns): ((i64, i64), u32), (v, rows): ((i64, i64), u32), size: (u64, u64)) -> u64 {
    let long = |u: i64, size: u64| {
        u.unsigned_abs()
            .saturating_mul(u64::from(columns - 1))
            .saturating_add(size)
    };
    let count = along(v, rows, (long(u.0, size.0), long(u.1, size.1)));
    let product = |a: i64, b: i64| i128::from(a) * i128::from(b);
    let by_row = (product(u.0, v.1) - product(u.1, v.0)).unsigned_abs();
    let reach = |u: i64, size: u64| u128::from(u.unsigned_abs()) * u128::from(size);
    let apart = reach(u.0, size.1) + reach(u.1, size.0);
    // Of parallel u and v all rows may lie on one line.
    match apart.checked_div(by_row) {
        Some(crossed) => count.min(u64::try_from(crossed).map_or(u64::MAX, |n| n.saturating_add(1))),
        None => count,
    }
}

/// How many of `count` places, each a step from the one before, lie in a box of `size`.
fn along(step: (i64, i64), count: u32, size: (u64, u64)) -> u64 {
    let along = |step: i64, size: u64| match step.unsigned_abs() {
        0 => u64::MAX,
        step => (size / step).saturating_add(1),
    };
    u64::from(count)
        .min(along(step.0, size.0))
        .min(along(step.1, size.1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The most copies in a box of `size`, wherever it lies: one with a copy at its left side and one at its top.
    fn counted(lattice: &Lattice, size: (u64, u64)) -> u64 {
        let (u, v) = (lattice.u, lattice.v);
        let rows = 0..i64::from(lattice.rows);
        let places: Vec<(i64, i64)> = rows
            .flat_map(|j| {
                (0..i64::from(lattice.columns)).map(move |i| (i * u.0 + j * v.0, i * u.1 + j * v.1))
            })
            .collect();
        let within = |from: i64, at: i64, size: u64| (from..=from + size as i64).contains(&at);
        let mut most = 0;
        for left in &places {
            for top in &places {
                let met = places
                    .iter()
                    .filter(|at| within(left.0, at.0, size.0) && within(top.1, at.1, size.1));
                most = most.max(met.count() as u64);
            }
        }
        most
    }

    fn lattice(u: (i64, i64), v: (i64, i64), (columns, rows): (u32, u32)) -> Lattice {
        Lattice {
            origin: (0, 0),
            u,
            v,
            columns,
            rows,
        }
    }

    /// Two steps in any directions, at right angles, parallel, and nearly so.
    fn two_steps() -> impl Strategy<Value = ((i64, i64), (i64, i64))> {
        let step = (-30..30_i64, -30..30_i64);
        prop_oneof![
            (step.clone(), step.clone()),
            (step.clone(), -2..3_i64).prop_map(|((x, y), k)| ((x, y), (-k * y, k * x))),
            (step.clone(), -3..4_i64, -3..4_i64).prop_map(|((x, y), k, m)| ((k * x, k * y), (m * x, m * y))),
            (step, -3..4_i64, -1..2_i64)
                .prop_map(|((x, y), k, off)| ((x, y), (k * x + off, k * y - off / 2))),
        ]
    }

    proptest! {
        #[test]
        fn no_box_meets_more_copies_than_are_counted(
            (u, v) in two_steps(), counts in (1..9_u32, 1..9_u32), size in (0..90_u64, 0..90_u64),
        ) {
            let lattice = lattice(u, v, counts);
            let (most, bound) = (counted(&lattice, size), copies(&lattice, size));
            prop_assert!(most <= bound, "{most} copies, {bound} counted");
        }
    }

    #[test]
    fn arrays_are_counted_about_as_often_as_they_are_met() {
        let size = (100, 60);
        for (u, v) in [
            ((10, 0), (0, 10)),
            ((7, 7), (-7, 7)),
            ((9, 4), (-4, 9)),
            ((10, 0), (9, 5)),
            ((12, 1), (13, 2)),
        ] {
            // So many that a box in their middle meets no end.
            let lattice = lattice(u, v, (200, 200));
            let mut met = 0;
            for j in -400..400_i64 {
                for i in -400..400_i64 {
                    let at = (i * u.0 + j * v.0, i * u.1 + j * v.1);
                    met += u64::from((0..=100).contains(&at.0) && (0..=60).contains(&at.1));
                }
            }
            let bound = copies(&lattice, size);
            assert!(
                bound >= met && bound <= 3 * met,
                "{u:?}, {v:?}: {bound} counted, {met} met"
            );
        }
    }

    #[test]
    fn what_one_step_takes_out_of_a_tile_another_brings_back() {
        let million = (1_000_000, 1_000_000);
        let size = (1_024_000, 64_000);
        let bound = |v| copies(&lattice((1_000, 0), v, million), size);
        // All rows lie on one line, each with all its columns on it.
        assert_eq!(bound((-1_000, 0)), 1_025 * 1_000_000);
        assert_eq!(bound((-1_000, 1)), 1_025 * 64_001);
        assert_eq!(bound((0, 1_000)), 1_025 * 65);
        // Two columns, of which either ends where the other begins.
        let two = lattice((1_000, 1_000), (1_000, -1_000), (2, 1_000_000));
        assert!((130..300).contains(&copies(&two, size)), "{}", copies(&two, size));
    }
}
