//! Sums of planes that repeat along the axes, folded over what a small cell tells: marks over a texture.
//!
//! A block of a raster that is a texture under marks has a sum that neither tells alone. So a copy of the planes is cut into cells of a few
//! pixels, and each is folded by itself, from the exact sum of the texture under it and from the least, the greatest and the sum of each
//! plane there: where a plane hardly changes within a cell, so hardly does what is said of it (sums of a texture under a window are found
//! in a table of all places of its cell, as in F. C. Crow, *Summed-area tables for texture mapping*, 1984). Most cells leave the texture as it is, or hide it; neither needs more.
//!
//! Small blocks are summed cell by cell. For large ones the copies are summed once for every place that the texture has under them: two
//! lattices have no more of these than one has cells in the other.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use relief_kernels::fold::Fold;
use relief_raster::{Period, Rect, Sample, View};

use crate::node::{Bounds, Through};

/// The most bytes of what is held of all of them.
const MOST_BYTES: u64 = 24 << 20;

/// The most bytes of copies that one answer needs.
pub(crate) const MOST_BYTES_OF_COPIES: u64 = 16 << 20;

/// The most bytes that all of it takes, cells that are being made among it.
pub(crate) const ALL_BYTES: u64 = MOST_BYTES + 2 * MOST_BYTES_OF_CELLS;

/// What the place of one takes that is held, beside itself.
const OVERHEAD: u64 = 128;

/// The most bytes of the cells of a copy.
const MOST_BYTES_OF_CELLS: u64 = 2 << 20;

/// The most pixels of a copy that are looked at.
const MOST_PIXELS: u128 = 1 << 26;

/// The most columns and rows of cells of a copy.
const MOST_SIDE: u64 = 1 << 14;

/// Columns and rows of cells of which it is seen at once that they change nothing.
const LOOKED_AT: u64 = 8;

/// A plane of a copy.
pub(crate) struct Layer<'a, S> {
    pub(crate) fold: Fold,
    /// Its samples; beyond them it is 0.
    pub(crate) samples: View<'a, S>,
    /// Where they lie in the copy.
    pub(crate) rect: Rect,
}

/// What is known of a plane in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    least: u16,
    greatest: u16,
    sum: u32,
}

/// Cells of a row that follow each other and do not leave what lies under them as it is.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) from: u32,
    pub(crate) to: u32,
    cells: Row,
}

/// Where what is known of them begins.
#[derive(Clone, Copy, Debug)]
enum Row {
    /// They hide it: sums.
    Hidden(usize),
    /// Parts, one of each plane.
    Mixed(usize),
}

/// One copy of planes in cells of `side` × `side` pixels.
pub(crate) struct Cells {
    /// Which one it is among those that were ever made.
    number: u64,
    pub(crate) side: u64,
    /// The first cell begins so far before the copy.
    pub(crate) before: (u64, u64),
    folds: Vec<Fold>,
    max: u16,
    pub(crate) rows: Vec<Vec<Run>>,
    /// The part of the copy in which it changes what lies under it, in cells.
    pub(crate) used: (Range<u32>, Range<u32>),
    hidden: Vec<u32>,
    parts: Vec<Part>,
    /// How many cells change what lies under them.
    pub(crate) count: u64,
}

/// What a sum is at least and at most.
pub(crate) type Span = (i64, i64);

/// A number of samples: their sum, the least and the greatest.
#[derive(Clone, Copy)]
struct Samples {
    sum: Span,
    bounds: Span,
}

/// The sum of `n` samples between `bounds` with a sum in `sum` after parts of planes are folded into them, and between which they lie then:
/// what [`Summary::fold`](crate::node::Summary) says, in numbers of 64 bits, because there are very many.
fn folded<const MAX: i64>(n: i64, below: Samples, folds: &[Fold], parts: &[Part]) -> Samples {
    let mut all = below;
    for (fold, part) in folds.iter().zip(parts) {
        let (s, (a0, a1)) = (all.sum, all.bounds);
        let (b0, b1, t) = (
            i64::from(part.least),
            i64::from(part.greatest),
            i64::from(part.sum),
        );
        let one = |a: i64, b: i64| match u8::try_from(MAX) {
            Ok(_) => i64::from(fold.apply(a as u8, b as u8)),
            Err(_) => i64::from(fold.apply(a as u16, b as u16)),
        };
        let nothing = b1 == 0;
        let (sum, bounds) = match fold {
            Fold::Base => ((t, t), (b0, b1)),
            Fold::Add if a1 + b1 <= MAX => ((s.0 + t, s.1 + t), (a0 + b0, a1 + b1)),
            Fold::Add => ((s.0.max(t), s.1 + t), (one(a0, b0), one(a1, b1))),
            Fold::Subtract if a0 >= b1 => ((s.0 - t, s.1 - t), (a0 - b1, a1 - b0)),
            Fold::Subtract => ((s.0 - t, s.1), (one(a0, b1), one(a1, b0))),
            Fold::Multiply if b0 == MAX => continue,
            Fold::Multiply if b1 == 0 => ((0, 0), (0, 0)),
            Fold::Multiply => {
                let low = (a0 * t + b0 * s.0 - n * a0 * b0).max(a1 * t + b1 * s.0 - n * a1 * b1);
                let high = (a1 * t + b0 * s.1 - n * a1 * b0).min(a0 * t + b1 * s.1 - n * a0 * b1);
                // What rounding may add to or take from each: less than a half.
                let half = n * (MAX / 2);
                let sum = (((low - half).max(0) + MAX - 1) / MAX, (high + half) / MAX);
                (sum, (one(a0, b0), one(a1, b1)))
            }
            // Halves go up.
            Fold::Mean => (
                (((s.0 + t) + 1) / 2, (s.1 + t + n) / 2),
                (one(a0, b0), one(a1, b1)),
            ),
            Fold::Max if b1 <= a0 => continue,
            Fold::Max => ((s.0.max(t), s.1 + t - n * a0.min(b0)), (a0.max(b0), a1.max(b1))),
            Fold::Min if a1 <= b0 => continue,
            Fold::Min => ((s.0 + t - n * a1.max(b1), s.1.min(t)), (a0.min(b0), a1.min(b1))),
            Fold::Over if nothing => continue,
            Fold::Over if b0 > 0 => ((t, t), (b0, b1)),
            Fold::Over => ((t, t + n * a1), (a0.min(1), a1.max(b1))),
            Fold::Mask if b0 > 0 => continue,
            Fold::Mask if nothing => ((0, 0), (0, 0)),
            Fold::Mask => ((0, s.1), (0, a1)),
        };
        all = Samples {
            sum: (sum.0.max(n * bounds.0), sum.1.min(n * bounds.1)),
            bounds,
        };
    }
    all
}

fn folded_at(max: u16, n: i64, below: Samples, folds: &[Fold], parts: &[Part]) -> Samples {
    match max {
        255 => folded::<255>(n, below, folds, parts),
        _ => folded::<65_535>(n, below, folds, parts),
    }
}

impl Cells {
    /// Those of a copy of `across` × `down` pixels, of which the first begins `before` it; `bounds` says between which samples those of a
    /// part of a plane lie. `None` where there are too many, or where some lie across the edge of the copy.
    pub(crate) fn of<S: Sample>(
        layers: &[Layer<'_, S>],
        (across, down): (u64, u64),
        side: u64,
        before: (u64, u64),
        bounds: impl Fn(usize, Rect) -> Bounds,
    ) -> Option<Self> {
        let max = S::MAX.to_u16();
        let (columns, rows) = (
            (across + before.0).div_ceil(side),
            (down + before.1).div_ceil(side),
        );
        if columns > MOST_SIDE || rows > MOST_SIDE || u128::from(across) * u128::from(down) > MOST_PIXELS {
            return None;
        }
        static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let mut cells = Self {
            number: NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed),
            side,
            before,
            folds: layers.iter().map(|layer| layer.fold).collect(),
            max,
            rows: vec![Vec::new(); rows as usize],
            used: (0..0, 0..0),
            hidden: Vec::new(),
            parts: Vec::new(),
            count: 0,
        };
        let copy = Rect::sized(across, down);
        let place = |cell: u64, before: u64| (cell * side) as i64 - before as i64;
        let rect = |column: u64, row: u64, (wide, high): (u64, u64)| {
            let (x, y) = (place(column, before.0), place(row, before.1));
            let (right, bottom) = (x + (wide * side) as i64, y + (high * side) as i64);
            Rect::between(x, y, right, bottom).intersection(&copy)
        };
        let passes = |part: (usize, u16, u16)| {
            let (layer, least, greatest) = part;
            least == greatest && Through::Folded(layers[layer].fold, least).changes_nothing(max)
        };
        let mut parts = Vec::new();
        // Rows of cells that are looked at together, as they are found.
        let mut strip: [Vec<(u32, Vec<Part>)>; LOOKED_AT as usize] = std::array::from_fn(|_| Vec::new());
        for top in (0..rows).step_by(LOOKED_AT as usize) {
            let high = LOOKED_AT.min(rows - top);
            for left in (0..columns).step_by(LOOKED_AT as usize) {
                let wide = LOOKED_AT.min(columns - left);
                // Most of a copy changes nothing: that is seen at once.
                let all = rect(left, top, (wide, high));
                let passes_all = (0..layers.len()).all(|layer| {
                    let own = layers[layer].rect;
                    let shown = all.intersection(&own);
                    let mut known = Bounds::ZERO;
                    if !shown.is_empty() {
                        known = bounds(layer, shown.translated(-own.x(), -own.y()));
                    }
                    if shown != all {
                        known = known.or(Bounds::ZERO);
                    }
                    passes((layer, known.least, known.greatest))
                });
                if passes_all {
                    continue;
                }
                for (row, found) in (top..top + high).zip(&mut strip) {
                    for column in left..left + wide {
                        let cell = rect(column, row, (1, 1));
                        parts.clear();
                        parts.extend(layers.iter().map(|layer| layer.part(cell)));
                        let known = |(layer, part): (usize, &Part)| (layer, part.least, part.greatest);
                        if parts.iter().enumerate().map(known).all(passes) {
                            continue;
                        }
                        if cell.area() != u128::from(side * side) {
                            return None;
                        }
                        found.push((column as u32, parts.clone()));
                    }
                }
            }
            for (row, found) in (top..top + high).zip(&mut strip) {
                for (column, parts) in found.drain(..) {
                    cells.add(column, row as u32, &parts);
                }
                cells.rows[row as usize].shrink_to_fit();
            }
            if cells.bytes() > MOST_BYTES_OF_CELLS {
                return None;
            }
        }
        cells.hidden.shrink_to_fit();
        cells.parts.shrink_to_fit();
        Some(cells)
    }

    /// A cell that is right of all others of its row so far, and below all of the rows before.
    fn add(&mut self, column: u32, row: u32, parts: &[Part]) {
        let n = (self.side * self.side).cast_signed();
        let any = i64::from(self.max);
        let anything = Samples {
            sum: (0, n * any),
            bounds: (0, any),
        };
        let sum = folded_at(self.max, n, anything, &self.folds, parts).sum;
        let cells = if sum.0 == sum.1 {
            self.hidden.push(sum.0 as u32);
            Row::Hidden(self.hidden.len() - 1)
        } else {
            self.parts.extend_from_slice(parts);
            Row::Mixed(self.parts.len() - parts.len())
        };
        let alike = |run: &Run| std::mem::discriminant(&run.cells) == std::mem::discriminant(&cells);
        let runs = &mut self.rows[row as usize];
        match runs.last_mut().filter(|run| run.to == column && alike(run)) {
            Some(run) => run.to += 1,
            None => runs.push(Run {
                from: column,
                to: column + 1,
                cells,
            }),
        }
        let grown = |used: &Range<u32>, place: u32| match self.count {
            0 => place..place + 1,
            _ => used.start.min(place)..used.end.max(place + 1),
        };
        self.used = (grown(&self.used.0, column), grown(&self.used.1, row));
        self.count += 1;
    }

    fn bytes(&self) -> u64 {
        let runs: usize = self
            .rows
            .iter()
            .map(|row| row.capacity() * size_of::<Run>())
            .sum();
        let rows = self.rows.capacity() * size_of::<Vec<Run>>();
        (runs + rows + self.hidden.capacity() * 4 + self.parts.capacity() * size_of::<Part>()) as u64
    }

    /// By how much the cells `from..to` of a run change the sum of what lies under them.
    pub(crate) fn change(&self, run: &Run, (from, to): (u32, u32), below: Below<'_>) -> Span {
        let n = (self.side * self.side).cast_signed();
        let first = (from - run.from) as usize;
        let count = (to - from) as usize;
        match run.cells {
            Row::Hidden(at) => {
                let all: i64 = self.hidden[at + first..][..count]
                    .iter()
                    .map(|sum| i64::from(*sum))
                    .sum();
                let under: i64 = below.sums(count, self.side).sum();
                (all - under, all - under)
            }
            Row::Mixed(at) => {
                let layers = self.folds.len();
                let parts = self.parts[at + first * layers..][..count * layers].chunks_exact(layers);
                let bounds = below.bounds();
                let mut all = (0, 0);
                for (sum, parts) in below.sums(count, self.side).zip(parts) {
                    let under = Samples {
                        sum: (sum, sum),
                        bounds,
                    };
                    let folded = folded_at(self.max, n, under, &self.folds, parts).sum;
                    all = (all.0 + folded.0 - sum, all.1 + folded.1 - sum);
                }
                all
            }
        }
    }

    /// By how much a pixel of the cells `from..to` of a run may change what lies under it, which lies between `bounds`.
    pub(crate) fn change_of_one(&self, run: &Run, (from, to): (u32, u32), bounds: Span) -> Span {
        let first = (from - run.from) as usize;
        let count = (to - from) as usize;
        let hidden = |sum: u32| {
            // All samples are between 0 and what the sum allows.
            (0, i64::from(sum).min(i64::from(self.max)))
        };
        let shown = match run.cells {
            Row::Hidden(at) => (self.hidden[at + first..][..count].iter())
                .map(|sum| hidden(*sum))
                .fold((i64::MAX, i64::MIN), hull),
            Row::Mixed(at) => {
                let layers = self.folds.len();
                let parts = self.parts[at + first * layers..][..count * layers].chunks_exact(layers);
                let of = |parts: &[Part]| {
                    let n = (self.side * self.side).cast_signed();
                    let any = Samples {
                        sum: (n * bounds.0, n * bounds.1),
                        bounds,
                    };
                    folded_at(self.max, n, any, &self.folds, parts).bounds
                };
                parts.map(of).fold((i64::MAX, i64::MIN), hull)
            }
        };
        (shown.0 - bounds.1, shown.1 - bounds.0)
    }
}

pub(crate) fn hull(one: Span, other: Span) -> Span {
    (one.0.min(other.0), one.1.max(other.1))
}

impl<S: Sample> Layer<'_, S> {
    /// What is known of it in a cell.
    fn part(&self, cell: Rect) -> Part {
        let shown = cell.intersection(&self.rect);
        let (mut least, mut greatest, mut sum) = (u16::MAX, 0_u16, 0_u32);
        if shown.area() < cell.area() {
            least = 0;
        }
        let local = shown.translated(-self.rect.x(), -self.rect.y());
        for y in local.y()..local.bottom() {
            for sample in &self.samples.row(y as usize)[local.x() as usize..local.right() as usize] {
                let sample = sample.to_u16();
                (least, greatest, sum) = (least.min(sample), greatest.max(sample), sum + u32::from(sample));
            }
        }
        Part { least, greatest, sum }
    }
}

/// The sums of all windows of a texture of `side` × `side` pixels, each sample through a table, by the place in its cell where they begin.
pub(crate) struct Windows {
    number: u64,
    period: Period,
    bounds: Span,
    sums: Vec<u32>,
}

impl Windows {
    pub(crate) fn of<S: Sample>(
        period: Period,
        cell: View<'_, S>,
        side: u64,
        number: impl Fn(S) -> u16,
    ) -> Self {
        static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let (a, c) = (period.a() as usize, period.c() as usize);
        let (mut least, mut greatest) = (u16::MAX, 0);
        let mut runs = vec![0_u32; a * c];
        for (samples, runs) in cell.rows().zip(runs.chunks_exact_mut(a)) {
            let samples: Vec<u16> = samples.iter().map(|sample| number(*sample)).collect();
            for sample in &samples {
                (least, greatest) = (least.min(*sample), greatest.max(*sample));
            }
            let at = |x: usize| u32::from(samples[x % a]);
            let mut sum: u32 = (0..side as usize).map(at).sum();
            for (x, run) in runs.iter_mut().enumerate() {
                *run = sum;
                sum = sum + at(x + side as usize) - at(x);
            }
        }
        let mut sums = vec![0_u32; a * c];
        for (row, sums) in sums.chunks_exact_mut(a).enumerate() {
            for dy in 0..side {
                let (shift, row) = period.reduce(0, (row as u64 + dy) as i64);
                let (before, after) = runs[row as usize * a..][..a].split_at(shift as usize);
                for (sum, run) in sums.iter_mut().zip(after.iter().chain(before)) {
                    *sum += run;
                }
            }
        }
        Self {
            number: NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed),
            period,
            bounds: (least.into(), greatest.into()),
            sums,
        }
    }

    fn bytes(&self) -> u64 {
        self.sums.len() as u64 * 4
    }
}

/// What lies under a cell, and under those to the right of it.
#[derive(Clone, Copy)]
pub(crate) enum Below<'a> {
    /// One sample.
    One(u16),
    /// A texture; the place of the cell in that of its cell.
    Texture(&'a Windows, (u64, u64)),
}

impl<'a> Below<'a> {
    /// Samples lie between these.
    pub(crate) fn bounds(self) -> Span {
        match self {
            Self::One(sample) => (sample.into(), sample.into()),
            Self::Texture(windows, _) => windows.bounds,
        }
    }

    /// Places of a texture and its number; those of one sample are alike.
    fn key(self) -> (u64, (u64, u64)) {
        match self {
            Self::One(sample) => (u64::MAX - u64::from(sample), (0, 0)),
            Self::Texture(windows, place) => (windows.number, place),
        }
    }

    /// So many pixels to the right.
    pub(crate) fn across(self, x: u64) -> Self {
        match self {
            Self::One(_) => self,
            Self::Texture(windows, (column, row)) => {
                Self::Texture(windows, ((column + x) % windows.period.a(), row))
            }
        }
    }

    /// So many pixels to the right and down.
    fn moved(self, (x, y): (i64, i64)) -> Self {
        match self {
            Self::One(_) => self,
            Self::Texture(windows, (column, row)) => {
                let place = windows
                    .period
                    .reduce(column.cast_signed() + x, row.cast_signed() + y);
                Self::Texture(windows, place)
            }
        }
    }

    /// The sums of the windows one after the other.
    fn sums(self, count: usize, side: u64) -> impl Iterator<Item = i64> + use<'a> {
        let (row, a, mut at, one) = match self {
            Self::One(sample) => (&[][..], 1, 0, i64::from(sample) * (side * side).cast_signed()),
            Self::Texture(windows, (column, row)) => {
                let a = windows.period.a() as usize;
                (&windows.sums[row as usize * a..][..a], a, column as usize, 0)
            }
        };
        let step = side as usize % a;
        (0..count).map(move |_| {
            let sum = row.get(at).map_or(one, |sum| i64::from(*sum));
            at += step;
            at -= if at >= a { a } else { 0 };
            sum
        })
    }
}

/// By how much one copy changes the sum of what lies under it, in groups of cells: sums of all groups above and to the left of each.
pub(crate) struct Copy {
    /// Columns and rows of cells of a group.
    group: u64,
    columns: usize,
    sums: Vec<Span>,
    /// By how much a pixel of a group may change.
    ones: Arc<Vec<Span>>,
}

/// By how much a pixel of each group of cells may change what lies under it, which lies between `bounds`.
fn ones(cells: &Cells, bounds: Span, group: u64) -> Vec<Span> {
    let (across, down) = &cells.used;
    let columns = across.len().div_ceil(group as usize);
    let mut ones = vec![(0, 0); columns * down.len().div_ceil(group as usize)];
    for row in down.clone() {
        let place = u64::from(row - down.start) / group;
        for run in &cells.rows[row as usize] {
            for cell in run.from..run.to {
                let column = u64::from(cell - across.start) / group;
                let one = &mut ones[place as usize * columns + column as usize];
                *one = hull(*one, cells.change_of_one(run, (cell, cell + 1), bounds));
            }
        }
    }
    ones
}

impl Copy {
    /// That of a copy whose first pixel lies over `below`. Groups count from the first cell that is used.
    fn of(cells: &Cells, below: Below<'_>, of: u64, ones: Arc<Vec<Span>>) -> Self {
        let group = of as u32;
        let (across, down) = &cells.used;
        let (columns, rows) = (
            across.len().div_ceil(of as usize),
            down.len().div_ceil(of as usize),
        );
        let mut sums = vec![(0, 0); (columns + 1) * (rows + 1)];
        for row in down.clone() {
            let place = ((row - down.start) / group) as usize;
            let y = i64::from(row) * cells.side.cast_signed() - cells.before.1.cast_signed();
            let below = below.moved((-cells.before.0.cast_signed(), y));
            for run in &cells.rows[row as usize] {
                let mut from = run.from;
                while from < run.to {
                    let column = (from - across.start) / group;
                    let to = run.to.min(across.start + (column + 1) * group);
                    let change = cells.change(run, (from, to), below.across(u64::from(from) * cells.side));
                    let sum = &mut sums[(place + 1) * (columns + 1) + column as usize + 1];
                    *sum = (sum.0 + change.0, sum.1 + change.1);
                    from = to;
                }
            }
        }
        for row in 1..=rows {
            let mut line = (0, 0);
            for column in 1..=columns {
                let at = row * (columns + 1) + column;
                line = (line.0 + sums[at].0, line.1 + sums[at].1);
                let above = sums[at - columns - 1];
                sums[at] = (above.0 + line.0, above.1 + line.1);
            }
        }
        Self {
            group: of,
            columns,
            sums,
            ones,
        }
    }

    /// The most bytes of one.
    pub(crate) fn most_bytes(cells: &Cells, group: u64) -> u64 {
        let (across, down) = &cells.used;
        let along = |cells: &Range<u32>| (cells.len() as u64).div_ceil(group) + 1;
        along(across) * along(down) * size_of::<Span>() as u64 + OVERHEAD
    }

    fn bytes(&self) -> u64 {
        OVERHEAD + (self.sums.len() * size_of::<Span>()) as u64
    }

    /// By how much it changes the sum of a rectangle, in pixels of the copy.
    pub(crate) fn change(&self, cells: &Cells, rect: Rect) -> Span {
        let side = (cells.side * self.group).cast_signed();
        let origin =
            |first: u32, before: u64| i64::from(first) * cells.side.cast_signed() - before.cast_signed();
        let (left, top) = (
            origin(cells.used.0.start, cells.before.0),
            origin(cells.used.1.start, cells.before.1),
        );
        let rows = (self.ones.len() / self.columns.max(1)) as i64;
        let all = Rect::between(left, top, left + self.columns as i64 * side, top + rows * side);
        let rect = rect.intersection(&all).translated(-left, -top);
        if rect.is_empty() {
            return (0, 0);
        }
        let whole = |from: i64, to: i64| ((from + side - 1) / side, to / side);
        let ((x0, x1), (y0, y1)) = (whole(rect.x(), rect.right()), whole(rect.y(), rect.bottom()));
        let at = |x: i64, y: i64| self.sums[y as usize * (self.columns + 1) + x as usize];
        let of = |x0: i64, y0: i64, x1: i64, y1: i64| {
            let (a, b, c, d) = (at(x1, y1), at(x0, y1), at(x1, y0), at(x0, y0));
            (a.0 - b.0 - c.0 + d.0, a.1 - b.1 - c.1 + d.1)
        };
        let mut sum = if x0 < x1 && y0 < y1 {
            of(x0, y0, x1, y1)
        } else {
            (0, 0)
        };
        // Groups at its edges, of which a part counts.
        for y in rect.y() / side..=(rect.bottom() - 1) / side {
            let inner = (y0..y1).contains(&y) && x0 < x1;
            let mut x = rect.x() / side;
            while x <= (rect.right() - 1) / side {
                if inner && x == x0 {
                    x = x1;
                    continue;
                }
                let group = Rect::sized(side as u64, side as u64).translated(x * side, y * side);
                let (part, n) = (group.intersection(&rect).area() as i64, group.area() as i64);
                let (one, all) = (
                    self.ones[y as usize * self.columns + x as usize],
                    of(x, y, x + 1, y + 1),
                );
                let rest = n - part;
                sum.0 += (part * one.0).max(all.0 - rest * one.1);
                sum.1 += (part * one.1).min(all.1 - rest * one.0);
                x += 1;
            }
        }
        sum
    }
}

/// By which copies are told apart: their cells, how many of these are together, and what lies under the first pixel.
type Key = (u64, u64, u64, (u64, u64));

/// By which cells are told apart: the node, how many of its last children they are of, their side, and how far before the copy they begin.
type CellsKey = (usize, usize, u64, (u64, u64));

/// One that is held.
struct Entry<T> {
    value: T,
    bytes: u64,
    /// Whether it was asked for since room was made last.
    is_used: bool,
}

/// Those of one kind that are held.
struct Entries<K, T>(HashMap<K, Entry<T>>);

impl<K, T> Default for Entries<K, T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Eq + Hash, T: Clone> Entries<K, T> {
    fn get(&mut self, key: &K) -> Option<T> {
        let entry = self.0.get_mut(key)?;
        entry.is_used = true;
        Some(entry.value.clone())
    }

    /// Lets go of those that nobody asked for since this was done last; the bytes of those that stay.
    fn sweep(&mut self) -> u64 {
        self.0
            .retain(|_, entry| std::mem::replace(&mut entry.is_used, false));
        self.0.values().map(|entry| entry.bytes).sum()
    }
}

/// What is held of all of them.
#[derive(Default)]
struct Held {
    cells: Entries<CellsKey, Option<Arc<Cells>>>,
    windows: Entries<(usize, u64, Vec<Through>), Arc<Windows>>,
    ones: Entries<(u64, u64, u64), Arc<Vec<Span>>>,
    copies: Entries<Key, Arc<Copy>>,
    bytes: u64,
}

impl Held {
    /// Holds one more where it fits. What was not asked for of late makes room, and everything where that is not half of it.
    fn hold<K: Eq + Hash, T: Clone>(
        &mut self,
        kind: fn(&mut Self) -> &mut Entries<K, T>,
        key: K,
        value: T,
        bytes: u64,
    ) {
        if self.bytes + bytes > MOST_BYTES {
            self.bytes = self.cells.sweep() + self.windows.sweep() + self.ones.sweep() + self.copies.sweep();
        }
        if self.bytes > MOST_BYTES / 2 && self.bytes + bytes > MOST_BYTES {
            *self = Self::default();
        }
        if self.bytes + bytes > MOST_BYTES {
            return;
        }
        let entry = Entry {
            value,
            bytes,
            is_used: false,
        };
        let before = kind(self).0.insert(key, entry);
        self.bytes += bytes - before.map_or(0, |before| before.bytes);
    }
}

/// What is held of planes over textures, as much as there is room for.
#[derive(Default)]
pub(crate) struct Laid {
    held: Mutex<Held>,
    /// Cells are made one after the other.
    making: Mutex<()>,
}

impl Laid {
    fn held<T>(&self, take: impl FnOnce(&mut Held) -> T) -> T {
        take(&mut self.held.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The cells of the last children of a node, so many of them: see [`Cells::of`].
    pub(crate) fn cells(
        &self,
        (node, layers): (usize, usize),
        side: u64,
        before: (u64, u64),
        make: impl FnOnce() -> Option<Cells>,
    ) -> Option<Arc<Cells>> {
        let key = (node, layers, side, before);
        let known = || self.held(|held| held.cells.get(&key));
        if let Some(cells) = known() {
            return cells;
        }
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cells) = known() {
            return cells;
        }
        let cells = make().map(Arc::new);
        let bytes = OVERHEAD + cells.as_ref().map_or(0, |cells| cells.bytes());
        self.held(|held| held.hold(|held| &mut held.cells, key, cells.clone(), bytes));
        cells
    }

    /// The windows of a node whose samples go through `steps`.
    pub(crate) fn windows(
        &self,
        node: usize,
        side: u64,
        steps: Vec<Through>,
        make: impl FnOnce() -> Windows,
    ) -> Arc<Windows> {
        let key = (node, side, steps);
        if let Some(windows) = self.held(|held| held.windows.get(&key)) {
            return windows;
        }
        let windows = Arc::new(make());
        let bytes = windows.bytes() + OVERHEAD;
        self.held(|held| held.hold(|held| &mut held.windows, key, Arc::clone(&windows), bytes));
        windows
    }

    /// By how much a pixel of each group may change what lies under it, which has a number and bounds.
    fn ones(&self, cells: &Cells, (number, bounds): (u64, Span), group: u64) -> Arc<Vec<Span>> {
        let key = (cells.number, group, number);
        if let Some(ones) = self.held(|held| held.ones.get(&key)) {
            return ones;
        }
        let ones = Arc::new(ones(cells, bounds, group));
        let bytes = OVERHEAD + size_of_val(&ones[..]) as u64;
        self.held(|held| held.hold(|held| &mut held.ones, key, Arc::clone(&ones), bytes));
        ones
    }

    /// The copy of these cells over what lies under its first pixel.
    pub(crate) fn copy(&self, cells: &Cells, below: Below<'_>, group: u64) -> Arc<Copy> {
        let (number, place) = below.key();
        let key = (cells.number, group, number, place);
        if let Some(copy) = self.held(|held| held.copies.get(&key)) {
            return copy;
        }
        let ones = self.ones(cells, (number, below.bounds()), group);
        let copy = Arc::new(Copy::of(cells, below, group, ones));
        self.held(|held| held.hold(|held| &mut held.copies, key, Arc::clone(&copy), copy.bytes()));
        copy
    }
}
