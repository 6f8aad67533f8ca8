//! Handing a drawing to what computes samples, and where it repeats.

use relief_raster::{Period, Rect};

use crate::Rule;
use crate::drawing::{Drawing, Lattice, spread};
use crate::limits::{Limits, Refused};

/// Takes the outlines of a drawing. Calls come part by part: a part, its elements and their outlines, and at the end where the
/// parts are placed, from the lowest to the topmost.
pub trait Target {
    /// Why it cannot take them.
    type Error;

    /// Begins a part.
    fn part(&mut self);
    /// Begins an element of the part; `value` is of 65 535.
    fn element(&mut self, value: u16, rule: Rule);
    /// Restricts the element to outlines that follow.
    fn clip(&mut self, rule: Rule);
    /// A closed outline of the element, in 1/(256·Q) px.
    ///
    /// # Errors
    /// Where it cannot take it.
    fn outline(&mut self, points: &[(i64, i64)]) -> Result<(), Self::Error>;
    /// Copies of the part of this number, counted from 0.
    ///
    /// # Errors
    /// Where it cannot take them.
    fn place(&mut self, part: u32, lattice: Lattice) -> Result<(), Self::Error>;
}

/// A part and where it is placed.
struct Placed {
    cell: u32,
    lattice: Lattice,
}

impl Drawing {
    /// Hands all outlines and placements to `target`. Cells within cells become placements of the drawing; an array of a cell stays
    /// an array.
    ///
    /// # Errors
    /// Those of `target`; the second kind where more placements would be needed than the limits allow.
    pub fn lower<T: Target>(&self, limits: &Limits, target: &mut T) -> Result<Result<(), T::Error>, Refused> {
        let placed = self.placed(limits)?;
        let mut parts = vec![0; self.cells.len()];
        let mut count = 0;
        for (number, cell) in self.cells.iter().enumerate() {
            if cell.elements.is_empty() {
                continue;
            }
            parts[number] = count;
            count += 1;
            target.part();
            for element in &cell.elements {
                if element.clip {
                    target.clip(element.rule);
                } else {
                    target.element(element.value, element.rule);
                }
                for outline in element.outlines.clone() {
                    if let Err(error) = target.outline(self.outline(outline)) {
                        return Ok(Err(error));
                    }
                }
            }
        }
        for place in placed {
            if let Err(error) = target.place(parts[place.cell as usize], place.lattice) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    /// All placements of cells that have elements, in the drawing.
    fn placed(&self, limits: &Limits) -> Result<Vec<Placed>, Refused> {
        let mut out = Vec::new();
        let Some(root) = self.cells.len().checked_sub(1) else {
            return Ok(out);
        };
        let full = self.boxes();
        // An array that lies in no array stays one, so there are no fewer than this: cells that double each other are found out here.
        let mut least: Vec<u64> = Vec::with_capacity(self.cells.len());
        for (cell, full) in self.cells.iter().zip(&full) {
            let placed = cell
                .placements
                .iter()
                .map(|placement| least[placement.cell as usize]);
            let sum = placed.fold(u64::from(!cell.elements.is_empty()), u64::saturating_add);
            least.push(if full.is_some() { sum } else { 0 });
        }
        if least[root] > limits.items {
            return Err(Refused::Items(limits.items));
        }
        // Depth first, so that the order of painting stays.
        let mut open = vec![(root as u32, Lattice::single((0, 0)))];
        let mut steps = 0;
        while let Some((number, lattice)) = open.pop() {
            steps += 1;
            if steps > limits.items || open.len() as u64 > limits.items {
                return Err(Refused::Items(limits.items));
            }
            let cell = &self.cells[number as usize];
            if full[number as usize].is_none() {
                continue;
            }
            if !cell.elements.is_empty() {
                out.push(Placed {
                    cell: number,
                    lattice,
                });
            }
            for placement in cell.placements.iter().rev() {
                within(&lattice, &placement.lattice, limits, &mut |combined| {
                    open.push((placement.cell, combined));
                    open.len() as u64 <= limits.items
                })?;
            }
        }
        Ok(out)
    }

    /// A period of the samples and the pixels in which it holds, where most of the drawing is one array along the axes whose steps
    /// are whole pixels: of several such, that of the greatest area.
    ///
    /// # Errors
    /// Where more placements would be needed than the limits allow.
    pub fn period(&self, limits: &Limits) -> Result<Option<(Period, Rect)>, Refused> {
        let placed = self.placed(limits)?;
        let boxes = self.own_boxes();
        let mut kinds: Vec<Kind> = Vec::new();
        let unit = 256 * i64::from(self.denominator);
        for place in &placed {
            let Some(own) = boxes[place.cell as usize] else {
                continue;
            };
            let whole = pixels(spread(own, &place.lattice), unit);
            let Some((key, region)) = regular(&place.lattice, own, unit) else {
                if kinds.len() >= 1_024 {
                    return Ok(None);
                }
                kinds.push(Kind {
                    key: None,
                    region: Rect::EMPTY,
                    whole,
                });
                continue;
            };
            match kinds.iter().position(|kind| kind.key == Some(key)) {
                Some(number) => {
                    let kind = &mut kinds[number];
                    kind.region = kind.region.intersection(&region);
                    kind.whole = hull(&kind.whole, &whole);
                }
                None if kinds.len() < 1_024 => kinds.push(Kind {
                    key: Some(key),
                    region,
                    whole,
                }),
                None => return Ok(None),
            }
        }
        let mut best: Option<(Period, Rect)> = None;
        for (number, kind) in kinds.iter().enumerate() {
            let Some((step, counts)) = kind.key else { continue };
            let mut region = kind.region;
            for (other, beside) in kinds.iter().enumerate() {
                if other != number {
                    region = without(&region, &beside.whole);
                }
            }
            // Along an axis with one copy nothing repeats within the region.
            let along = |count: u32, step: i64, side: u64| {
                if count > 1 {
                    step.unsigned_abs()
                } else {
                    side.max(1)
                }
            };
            let period = Period::grid(
                along(counts.0, step.0, region.width()),
                along(counts.1, step.1, region.height()),
            );
            if let Some(period) = period
                && !region.is_empty()
                && best.is_none_or(|(_, before)| before.area() < region.area())
            {
                best = Some((period, region));
            }
        }
        Ok(best)
    }

    /// The box of the elements of each cell.
    fn own_boxes(&self) -> Vec<Option<(i64, i64, i64, i64)>> {
        self.cells
            .iter()
            .map(|cell| {
                let outlines = cell
                    .elements
                    .iter()
                    .filter(|e| !e.clip)
                    .flat_map(|e| e.outlines.clone());
                let mut points = outlines.flat_map(|outline| self.outline(outline));
                let &(x, y) = points.next()?;
                Some(points.fold((x, y, x, y), |b, &(x, y)| {
                    (b.0.min(x), b.1.min(y), b.2.max(x), b.3.max(y))
                }))
            })
            .collect()
    }
}

/// Step in pixels and counts of an array along the axes.
type Key = ((i64, i64), (u32, u32));

/// Arrays with the same steps and counts: where all of them repeat, and what they touch.
struct Kind {
    key: Option<Key>,
    region: Rect,
    whole: Rect,
}

/// Copies of copies: both arrays as one where that is one, else the smaller written out.
fn within(
    outer: &Lattice,
    inner: &Lattice,
    limits: &Limits,
    each: &mut impl FnMut(Lattice) -> bool,
) -> Result<(), Refused> {
    let (less, more) = if outer.copies() < inner.copies() {
        (outer, inner)
    } else {
        (inner, outer)
    };
    let refused = Refused::Items(limits.items);
    if less.copies() > limits.items {
        return Err(refused);
    }
    for j in 0..i64::from(less.rows) {
        for i in 0..i64::from(less.columns) {
            let moved = |origin: i64, less: i64, u: i64, v: i64| {
                origin
                    .checked_add(less)?
                    .checked_add(i.checked_mul(u)?)?
                    .checked_add(j.checked_mul(v)?)
            };
            let x = moved(more.origin.0, less.origin.0, less.u.0, less.v.0);
            let y = moved(more.origin.1, less.origin.1, less.u.1, less.v.1);
            let (Some(x), Some(y)) = (x, y) else {
                return Err(Refused::Far(f64::INFINITY, f64::INFINITY));
            };
            if !each(Lattice {
                origin: (x, y),
                ..*more
            }) {
                return Err(refused);
            }
        }
    }
    Ok(())
}

/// The pixels that a box may touch.
fn pixels(b: (i64, i64, i64, i64), unit: i64) -> Rect {
    let high = |n: i64| n.div_euclid(unit) + 2;
    let low = |n: i64| n.div_euclid(unit) - 1;
    Rect::between(low(b.0), low(b.1), high(b.2), high(b.3))
}

/// The steps of an array along the axes, and the pixels that no missing copy would touch.
fn regular(lattice: &Lattice, own: (i64, i64, i64, i64), unit: i64) -> Option<(Key, Rect)> {
    // Columns go across, or down.
    let ((across, columns), (down, rows)) = if lattice.u.1 == 0 && lattice.v.0 == 0 {
        ((lattice.u.0, lattice.columns), (lattice.v.1, lattice.rows))
    } else if lattice.u.0 == 0 && lattice.v.1 == 0 {
        ((lattice.v.0, lattice.rows), (lattice.u.1, lattice.columns))
    } else {
        return None;
    };
    if columns.max(rows) < 2 || across % unit != 0 || down % unit != 0 {
        return None;
    }
    // One axis at a time: from behind the copy before the first to ahead of the one after the last.
    let span = |origin: i64, step: i64, count: u32, low: i64, high: i64| {
        let far = step.checked_mul(i64::from(count) - 1)?;
        let (first, last) = (origin.checked_add(far.min(0))?, origin.checked_add(far.max(0))?);
        if count == 1 || step == 0 {
            let (low, high) = (first.checked_add(low)?, last.checked_add(high)?);
            return Some((low.div_euclid(unit) - 1, high.div_euclid(unit) + 2));
        }
        let behind = first.checked_add(high)?.checked_sub(step.abs())?;
        let ahead = last.checked_add(low)?.checked_add(step.abs())?;
        Some((behind.div_euclid(unit) + 2, ahead.div_euclid(unit) - 1))
    };
    let (left, right) = span(lattice.origin.0, across, columns, own.0, own.2)?;
    let (top, bottom) = span(lattice.origin.1, down, rows, own.1, own.3)?;
    let key = ((across / unit, down / unit), (columns, rows));
    Some((key, Rect::between(left, top, right, bottom)))
}

fn hull(a: &Rect, b: &Rect) -> Rect {
    Rect::between(
        a.x().min(b.x()),
        a.y().min(b.y()),
        a.right().max(b.right()),
        a.bottom().max(b.bottom()),
    )
}

/// The greatest of the four parts of `region` beside `hole`, or all of it where they do not meet.
fn without(region: &Rect, hole: &Rect) -> Rect {
    if region.intersection(hole).is_empty() {
        return *region;
    }
    let (left, top, right, bottom) = (region.x(), region.y(), region.right(), region.bottom());
    [
        Rect::between(left, top, hole.x(), bottom),
        Rect::between(hole.right(), top, right, bottom),
        Rect::between(left, top, right, hole.y()),
        Rect::between(left, hole.bottom(), right, bottom),
    ]
    .into_iter()
    .max_by_key(Rect::area)
    .unwrap_or(Rect::EMPTY)
}
