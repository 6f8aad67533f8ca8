//! Between which samples a rectangle lies, told from the chains near it without computing it.

use relief_raster::{Rect, Sample};

use super::gather::scaled;
use super::grid::{Grid, Piece, rounded};
use super::visit::{Visit, Work, visit};
use crate::coverage::{Index, Rule, Sampling};

/// Chains and points that are looked at for one answer; what would take more is any of the values.
const MAX_CHAINS: usize = 1 << 12;
const MAX_POINTS: usize = 1 << 16;

/// An element of a copy, and whether it covers all of the rectangle or none of it, where one of both is known.
struct Covered {
    placement: u32,
    copy: u64,
    element: u32,
    all: Option<bool>,
}

/// The least and the greatest sample that the pixels of `rect` may have: sound, and one value where no edge comes near.
#[must_use]
pub fn within<S: Sample>(index: &Index, sampling: Sampling, rect: Rect) -> (u16, u16) {
    let bounds = index.bounds().map_or(Rect::EMPTY, |(left, top, right, bottom)| {
        Rect::between(left, top, right, bottom)
    });
    let near = rect.intersection(&bounds);
    if near.is_empty() {
        return (0, 0);
    }
    let grid = Grid::new::<S>(sampling);
    match uniform(index, &grid, near) {
        Some(value) if near == rect => (value, value),
        Some(value) => (0, value),
        None => (0, index.greatest()),
    }
}

/// The one value of all samples of a rectangle, where it is told without computing them.
fn uniform(index: &Index, grid: &Grid, rect: Rect) -> Option<u16> {
    let piece = Piece {
        x: rect.x(),
        y: rect.y(),
        width: usize::try_from(rect.width()).ok()?,
        height: usize::try_from(rect.height()).ok()?,
    };
    let (mut covered, mut looks) = (Vec::new(), (0, 0));
    let mut work = Work::up_to(MAX_CHAINS as u64);
    let told = visit(index, grid, &piece, &mut work, |visit| {
        let all = covers(index, grid, &piece, &visit, &mut looks);
        // What clips an element that covers nothing decides nothing.
        if looks.0 > MAX_CHAINS || looks.1 > MAX_POINTS || (all.is_none() && !index.clipped) {
            return false;
        }
        covered.push(Covered {
            placement: visit.placement,
            copy: visit.copy,
            element: visit.element,
            all,
        });
        true
    });
    if !told {
        return None;
    }
    covered.sort_unstable_by_key(|one| (one.placement, one.copy, one.element));
    // From the topmost down: the first whose clips all cover the place.
    let mut at = covered.len();
    while at > 0 {
        let last = &covered[at - 1];
        let group = index.group(last.element);
        let first = covered[..at].partition_point(|one| {
            (one.placement, one.copy, one.element) < (last.placement, last.copy, group.start)
        });
        let members = &covered[first..at];
        let uncovered = members.len() < group.len() || members.iter().any(|one| one.all == Some(false));
        if !uncovered {
            let all = members.iter().all(|one| one.all == Some(true));
            return all.then(|| index.elements[group.start as usize].value);
        }
        at = first;
    }
    Some(0)
}

/// Whether an element covers all of a piece or none of it; `None` where an edge may lie in it.
fn covers(
    index: &Index,
    grid: &Grid,
    piece: &Piece,
    visit: &Visit<'_>,
    looks: &mut (usize, usize),
) -> Option<bool> {
    let q = index.denominator;
    let lines = i64::try_from(piece.height)
        .ok()?
        .checked_mul(grid.lines() as i64)?;
    let width = i64::try_from(piece.width).ok()?.checked_mul(256)?;
    // Where the winding left of the piece changes, and by how much.
    let mut changes: Vec<(i64, i64)> = Vec::new();
    for chain in visit.chains() {
        looks.0 += 1;
        if looks.0 > MAX_CHAINS {
            return None;
        }
        let points = &index.points[chain.first as usize..][..chain.count as usize];
        let line = |point: &(i64, i64)| grid.line(rounded(point.1 + visit.offset.1, q));
        let (top, bottom) = (line(&points[0]), line(&points[points.len() - 1]));
        let (start, end) = (top.max(0), bottom.min(lines));
        if start >= end {
            continue;
        }
        // What ends at the line at which it begins is level and crosses nothing.
        let first = points.partition_point(|point| line(point) <= start).max(1);
        let (mut left, mut right) = (i64::MAX, i64::MIN);
        for edge in points[first - 1..].windows(2) {
            looks.1 += 1;
            if looks.1 > MAX_POINTS {
                return None;
            }
            let [from, to] = [edge[0], edge[1]]
                .map(|(x, y)| (rounded(x + visit.offset.0, q), rounded(y + visit.offset.1, q)));
            let (upper, lower) = (grid.line(from.1).max(start), grid.line(to.1).min(end) - 1);
            if upper > lower {
                continue;
            }
            // Between its first line in the piece and its last it lies between its crossings with both.
            for line in [upper, lower] {
                let x = from.0 + scaled(grid.height(line) - from.1, to.0 - from.0, to.1 - from.1).0;
                left = left.min(x);
                right = right.max(x);
            }
            if grid.line(to.1) >= end {
                break;
            }
        }
        if left >= width {
            continue;
        }
        if right > 0 {
            return None;
        }
        changes.push((start, i64::from(chain.winding)));
        changes.push((end, -i64::from(chain.winding)));
    }
    let inside = |winding: i64| match index.elements[visit.element as usize].rule {
        Rule::NonZero => winding != 0,
        Rule::EvenOdd => winding % 2 != 0,
    };
    changes.sort_unstable();
    let mut winding = 0;
    let mut all = None;
    let mut at = 0;
    while at < changes.len() {
        let line = changes[at].0;
        if line > 0 && at == 0 {
            all = Some(false);
        }
        while changes.get(at).is_some_and(|change| change.0 == line) {
            winding += changes[at].1;
            at += 1;
        }
        if line < lines {
            match all {
                None => all = Some(inside(winding)),
                Some(before) if before != inside(winding) => return None,
                Some(_) => {}
            }
        }
    }
    Some(all.unwrap_or(false))
}
