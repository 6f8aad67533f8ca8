//! Which copies of an array meet a window: its rows, and the columns of each.
//!
//! Copy (i, j) is moved by i·u + j·v from where copy (0, 0) lies, and meets the window where that lies in a box. Three things follow for j:
//! - u × (i·u + j·v) = j·(u × v), whatever i is, so that j·(u × v) lies between the extremes of u × d over the corners d of the box;
//! - i has an end, so that j·v lies in the box or short of it by no more than (columns - 1)·u, on each axis;
//! - where u is longer than the box, j·v lies in it but for whole multiples of u, on each axis.

use crate::coverage::index::Lattice;
use crate::coverage::lookup::Bounds;

/// Rows that are looked at in the time in which the next one is found that has a copy.
const GAP: u64 = 64;

/// No number.
pub(super) const NONE: (i64, i64) = (1, 0);

/// The copies of an array whose boxes meet a window.
pub(super) struct Steps<'a> {
    lattice: &'a Lattice,
    /// How far copy (0, 0) may be moved and still meet the window.
    across: (i64, i64),
    down: (i64, i64),
    /// The first row and the last that may have a copy.
    rows: (i64, i64),
    gaps: Option<Gaps>,
}

impl<'a> Steps<'a> {
    pub(super) fn new(lattice: &'a Lattice, own: &Bounds, window: &Bounds) -> Self {
        let across = (
            window.left - own.right - lattice.origin.0,
            window.right - own.left - lattice.origin.0,
        );
        let down = (
            window.top - own.bottom - lattice.origin.1,
            window.bottom - own.top - lattice.origin.1,
        );
        let (u, v) = (lattice.u, lattice.v);
        let last = i64::from(lattice.columns) - 1;
        let mut rows = (0, i64::from(lattice.rows) - 1);
        rows = steps(v.0, 0, short_of(across, last * u.0), rows);
        rows = steps(v.1, 0, short_of(down, last * u.1), rows);
        if u.0 != 0 && u.1 != 0 && rows.0 < rows.1 {
            rows = between_parallels(u, v, (across, down), rows);
        }
        Self {
            lattice,
            across,
            down,
            rows,
            gaps: if rows.1 - rows.0 < GAP as i64 {
                None
            } else {
                Gaps::new(u, v, (across, down))
            },
        }
    }

    /// The rows that may have a copy, from the first to the last or from the last to the first.
    pub(super) fn rows<const DOWN: bool>(&self) -> impl Iterator<Item = i64> {
        let (first, last) = self.rows;
        let mut next = if DOWN { last } else { first };
        std::iter::from_fn(move || {
            let mut row = next;
            if let Some(gaps) = &self.gaps
                && (first..=last).contains(&row)
            {
                let on = i64::try_from(gaps.rows_on::<DOWN>(row)?).ok()?;
                row = if DOWN {
                    row.checked_sub(on)?
                } else {
                    row.checked_add(on)?
                };
            }
            next = if DOWN { row - 1 } else { row + 1 };
            (first..=last).contains(&row).then_some(row)
        })
    }

    /// The first and the last of the rows that may have a copy, where all between are looked at.
    pub(super) const fn all_rows(&self) -> Option<(i64, i64)> {
        if self.gaps.is_some() {
            None
        } else {
            Some(self.rows)
        }
    }

    /// The first column and the last of the copies of a row.
    pub(super) fn columns(&self, j: i64) -> (i64, i64) {
        let (u, v) = (self.lattice.u, self.lattice.v);
        let columns = (0, i64::from(self.lattice.columns) - 1);
        let columns = steps(u.0, j * v.0, self.across, columns);
        steps(u.1, j * v.1, self.down, columns)
    }

    /// Rows in the time of which one is found.
    pub(super) const fn effort(&self) -> u64 {
        if self.gaps.is_some() { GAP } else { 1 }
    }
}

/// From where something moved by 0 to `by` gets into a range.
fn short_of((low, high): (i64, i64), by: i64) -> (i64, i64) {
    (low - by.max(0), high - by.min(0))
}

/// The i of `range` for which i·`step` + `start` lies within `within`.
fn steps(step: i64, start: i64, within: (i64, i64), range: (i64, i64)) -> (i64, i64) {
    let (low, high) = (within.0 - start, within.1 - start);
    let (from, to) = match step {
        0 if low <= 0 && high >= 0 => return range,
        0 => return NONE,
        1.. => (-(-low).div_euclid(step), high.div_euclid(step)),
        _ => (-high.div_euclid(-step), (-low).div_euclid(-step)),
    };
    (range.0.max(from), range.1.min(to))
}

/// The j of `rows` for which the line of all i·u + j·v crosses a box.
#[inline(never)]
fn between_parallels(
    u: (i64, i64),
    v: (i64, i64),
    (across, down): ((i64, i64), (i64, i64)),
    rows: (i64, i64),
) -> (i64, i64) {
    let product = |a: i64, b: i64| i128::from(a) * i128::from(b);
    let ends = |factor: i64, (low, high): (i64, i64)| {
        let (one, other) = (product(factor, low), product(factor, high));
        (one.min(other), one.max(other))
    };
    let (ups, sides) = (ends(u.0, down), ends(u.1, across));
    let (mut low, mut high) = (ups.0 - sides.1, ups.1 - sides.0);
    let mut by_row = product(u.0, v.1) - product(u.1, v.0);
    if by_row == 0 {
        return if low <= 0 && 0 <= high { rows } else { NONE };
    }
    if by_row < 0 {
        (low, high, by_row) = (-high, -low, -by_row);
    }
    let from = (-(-low).div_euclid(by_row)).max(i128::from(rows.0));
    let to = high.div_euclid(by_row).min(i128::from(rows.1));
    // Both lie in `rows`.
    if from <= to {
        (from as i64, to as i64)
    } else {
        NONE
    }
}

/// On one axis, where the step from column to column is much longer than the box: a row has a copy there where j·`v` lies in the box but for
/// multiples of that step.
struct Gaps {
    v: i64,
    /// Where the box begins, and how long it is.
    low: i64,
    length: u64,
    modulus: u64,
}

impl Gaps {
    #[inline(never)]
    fn new(u: (i64, i64), v: (i64, i64), (across, down): ((i64, i64), (i64, i64))) -> Option<Self> {
        let size = |(low, high): (i64, i64)| (high - low).unsigned_abs();
        // The axis on which a line along u leaves the box: of rows with a copy there about half have one in the box.
        let reach = |u: i64, length: u64| u128::from(u.unsigned_abs()) * u128::from(length);
        let (u, v, within) = if reach(u.1, size(across)) <= reach(u.0, size(down)) {
            (u.0, v.0, across)
        } else {
            (u.1, v.1, down)
        };
        let (modulus, length) = (u.unsigned_abs(), size(within));
        (length < modulus / GAP).then_some(Self {
            v,
            low: within.0,
            length,
            modulus,
        })
    }

    /// How many rows lie between row j and the next, or the one before, that has a copy; `None` where no row has.
    #[inline(never)]
    fn rows_on<const DOWN: bool>(&self, j: i64) -> Option<u64> {
        let modulo = |n: i128| n.rem_euclid(i128::from(self.modulus)) as u64;
        let place = modulo(i128::from(j) * i128::from(self.v) - i128::from(self.low));
        if place <= self.length {
            return Some(0);
        }
        let step = modulo(i128::from(self.v) * if DOWN { -1 } else { 1 });
        let low = self.modulus - place;
        first_within(step, self.modulus, (low, low + self.length))
    }
}

/// The least t for which t·`step` modulo `modulus` lies within `low..=high`, where 0 < `low` and `high` < `modulus`, `step` < `modulus` ≤ 2^63.
///
/// Where no multiple of `step` lies there before it wraps, it does after y times for which one lies within `low` + y·`modulus` and
/// `high` + y·`modulus`. Modulo `step` that is the same question of y, as in Euclid's algorithm.
fn first_within(step: u64, modulus: u64, (low, high): (u64, u64)) -> Option<u64> {
    if step == 0 {
        return None;
    }
    if step > modulus - step {
        return first_within(modulus - step, modulus, (modulus - high, modulus - low));
    }
    let count = low.div_ceil(step);
    if count * step <= high {
        return Some(count);
    }
    let inner = (step - modulus % step) % step;
    let wraps = first_within(inner, step, (low % step, high % step))?;
    let at = u128::from(low) + u128::from(wraps) * u128::from(modulus);
    u64::try_from(at.div_ceil(u128::from(step))).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_multiple_within_a_range_is_the_one_that_trying_finds(
            modulus in 2..300_u64, step in 0..300_u64, ends in (1..300_u64, 1..300_u64),
        ) {
            let (step, ends) = (step % modulus, (1 + ends.0 % (modulus - 1), 1 + ends.1 % (modulus - 1)));
            let (low, high) = (ends.0.min(ends.1), ends.0.max(ends.1));
            let tried = (0..modulus).find(|t| (low..=high).contains(&(t * step % modulus)));
            prop_assert_eq!(first_within(step, modulus, (low, high)), tried);
        }

        #[test]
        fn multiples_of_large_steps_lie_within_their_ranges(
            modulus in 1_u64 << 20..1 << 62, step in any::<u64>(), low in any::<u64>(), length in 0..1_u64 << 20,
        ) {
            let (step, low) = (step % modulus, 1 + low % (modulus - 1));
            let high = low.saturating_add(length).min(modulus - 1);
            let at = |t: u64| (u128::from(t) * u128::from(step) % u128::from(modulus)) as u64;
            let found = first_within(step, modulus, (low, high));
            if let Some(t) = found {
                prop_assert!((low..=high).contains(&at(t)));
            }
            let tried = (0..4_096).find(|t| (low..=high).contains(&at(*t)));
            prop_assert!(tried.is_none() || tried == found);
        }

        #[test]
        fn every_copy_that_meets_a_window_is_found_once_in_order(
            u in (-60..60_i64, -60..60_i64), v in (-60..60_i64, -60..60_i64), scale in prop_oneof![Just((1, 1)), Just((400, 1)), Just((1, 700)), Just((500, 600))],
            counts in (1..40_u32, 1..400_u32), origin in (-500..500_i64, -500..500_i64),
            own in (0..9_i64, 0..9_i64), window in (-300..300_i64, -300..300_i64), size in (0..50_i64, 0..50_i64),
        ) {
            let lattice = Lattice {
                origin,
                u: (u.0 * scale.0, u.1 * scale.0),
                v: (v.0 * scale.1 + 1, v.1 * scale.1),
                columns: counts.0,
                rows: counts.1,
            };
            let own = Bounds { left: -own.0, top: 0, right: 2, bottom: own.1 };
            let window = Bounds { left: window.0, top: window.1, right: window.0 + size.0, bottom: window.1 + size.1 };
            let mut expected = Vec::new();
            for j in 0..i64::from(lattice.rows) {
                for i in 0..i64::from(lattice.columns) {
                    let x = origin.0 + i * lattice.u.0 + j * lattice.v.0;
                    let y = origin.1 + i * lattice.u.1 + j * lattice.v.1;
                    let copy = Bounds { left: own.left + x, top: own.top + y, right: own.right + x, bottom: own.bottom + y };
                    if copy.meets(&window) {
                        expected.push((j, i));
                    }
                }
            }
            let steps = Steps::new(&lattice, &own, &window);
            let found = |rows: Vec<i64>| -> Vec<(i64, i64)> {
                rows.iter().flat_map(|j| {
                    let (first, last) = steps.columns(*j);
                    (first..=last).map(|i| (*j, i))
                }).collect()
            };
            prop_assert_eq!(found(steps.rows::<false>().collect()), expected.clone());
            let mut down = found(steps.rows::<true>().collect());
            down.sort_unstable();
            prop_assert_eq!(down, expected);
            let up: Vec<i64> = steps.rows::<false>().collect();
            let mut back: Vec<i64> = steps.rows::<true>().collect();
            back.reverse();
            prop_assert_eq!(up, back);
        }
    }

    #[test]
    fn of_steps_far_longer_than_the_window_few_rows_are_looked_at() {
        // Each row crosses the window, and of a thousand one has a copy in it.
        let (u, v, middle) = ((1_000_003, 1), (1_618_037, 1), 100_000_000);
        let lattice = Lattice {
            origin: (-middle * (u.0 + v.0), -middle * (u.1 + v.1)),
            u,
            v,
            columns: 1 << 30,
            rows: 1 << 30,
        };
        let own = Bounds {
            left: 0,
            top: 0,
            right: 500,
            bottom: 500,
        };
        let window = Bounds {
            left: 0,
            top: 0,
            right: 500,
            bottom: 1_000_000,
        };
        let steps = Steps::new(&lattice, &own, &window);
        let rows: Vec<i64> = steps.rows::<false>().collect();
        let copies: i64 = rows
            .iter()
            .map(|j| (steps.columns(*j).1 - steps.columns(*j).0 + 1).max(0))
            .sum();
        let span = steps.rows.1 - steps.rows.0;
        assert!(
            copies > 0 && (rows.len() as i64) < 4 * copies + 16 && span > 100 * copies,
            "{copies} copies in {} rows of {span}",
            rows.len()
        );
    }

    #[test]
    fn of_an_oblique_array_only_rows_near_the_window_are_looked_at() {
        let middle = 15_000;
        for (u, v) in [
            ((256, 256), (-256, 256)),
            ((256, 3), (-3, 256)),
            ((256, 256), (512, 300)),
        ] {
            let lattice = Lattice {
                origin: (-middle * (u.0 + v.0), -middle * (u.1 + v.1)),
                u,
                v,
                columns: 30_000,
                rows: 30_000,
            };
            let own = Bounds {
                left: 0,
                top: 0,
                right: 128,
                bottom: 128,
            };
            let window = Bounds {
                left: 0,
                top: 0,
                right: 64 * 256,
                bottom: 64 * 256,
            };
            let rows: Vec<i64> = Steps::new(&lattice, &own, &window).rows::<false>().collect();
            let hit = |j: &i64| {
                (0..30_000_i64).any(|i| {
                    let x = lattice.origin.0 + i * u.0 + j * v.0;
                    let y = lattice.origin.1 + i * u.1 + j * v.1;
                    (-128..=64 * 256).contains(&x) && (-128..=64 * 256).contains(&y)
                })
            };
            let hits = rows.iter().filter(|j| hit(j)).count();
            assert!(hits > 60 && rows.len() <= hits + 2, "{hits} of {}", rows.len());
            assert!(!hit(&(rows[0] - 1)) && !hit(&(rows[rows.len() - 1] + 1)));
        }
    }
}
