//! Where two designs may differ, and how far they do.
//!
//! Equal nodes of both are one step of one program, so that what is written alike is equal without computing it. Where a node has
//! children that are not equal, their differences go up as far as they are read.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use relief_design::Design;
use relief_raster::Rect;

use crate::Error;
use crate::cancel::Cancel;
use crate::drawings::Drawings;
use crate::error::describe;
use crate::node::{Footprint, Link, around, zero_is_identity};
use crate::program::{Program, Step};
use crate::renderer::{Renderer, SamplesMut};

/// The most rectangles that are told apart.
const MOST: usize = 1_024;

/// The most pairs of children that are compared to find those which are the same.
const MOST_PAIRS: usize = 1 << 22;

/// The samples of a window of which both rasters are held.
const WINDOW: u64 = 1 << 20;

/// What looking at both halves of a window counts as, in samples: what is known of every small part and of nothing larger has an end as well.
const LOOKING: u128 = 256;

/// The rectangles in which the rasters of two designs may differ, none of which meets another, within what both have: beyond them they
/// are equal, which is found without computing a sample. `same` says whether the picture of this name is the same file for both.
///
/// ```
/// use relief_engine::{NoImages, Rect, differing};
///
/// let design = |value: u8| {
///     let text = format!("relief version=1\ncanvas width=4000 height=4000\n\
///         compose {{ (base)noise seed=1; (max)disc diameter=10 value={value} x=20 y=30 }}");
///     relief_design::parse("a.kdl", &text, &NoImages)
/// };
/// let found = differing(&design(200)?, &design(201)?, &|_| true)?;
/// assert_eq!(found, [Rect::new(20, 30, 10, 10).ok_or("out of range")?]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Where a design is nested too deeply, has a drawing that cannot be computed, or both have
/// samples of different depths.
pub fn differing(first: &Design, second: &Design, same: &dyn Fn(&str) -> bool) -> Result<Vec<Rect>, Error> {
    let (one, other) = (first.canvas(), second.canvas());
    if one.depth != other.depth {
        return Err(Error::Option {
            option: "depth",
            problem: format!(
                "the designs have {} and {}; samples can be compared where both have the same",
                one.depth, other.depth
            ),
        });
    }
    let apart: HashSet<Arc<str>> = first.files().filter(|name| !same(name)).map(Arc::from).collect();
    let mut drawings = Drawings::new(one.depth, u64::MAX);
    let (steps, a, b) = Program::of_two((first, second), apart, &mut drawings)?;
    let mut pairs = Pairs {
        steps: &steps,
        known: HashMap::new(),
    };
    let common = Rect::sized(one.width.min(other.width), one.height.min(other.height));
    let found = pairs.differ(a, b);
    Ok(disjoint(found.into_iter().map(|rect| rect.intersection(&common))))
}

/// Pairs of nodes that were compared.
struct Pairs<'a> {
    steps: &'a [Step],
    known: HashMap<(usize, usize), Vec<Rect>>,
}

impl Pairs<'_> {
    /// Where two nodes may differ, in their own coordinates.
    fn differ(&mut self, a: usize, b: usize) -> Vec<Rect> {
        if a == b {
            return Vec::new();
        }
        if let Some(known) = self.known.get(&(a, b)) {
            return known.clone();
        }
        let (one, other) = (&self.steps[a], &self.steps[b]);
        let own = one.own().intersection(&other.own());
        let links = one.links.iter().zip(&other.links);
        let alike = one.kind == other.kind
            && one.own() == other.own()
            && one.links.len() == other.links.len()
            && links
                .clone()
                .all(|(a, b)| (a.role, a.extent) == (b.role, b.extent));
        let folds = |step: &Step| {
            let mut links = step.links.iter();
            !step.links.is_empty() && links.all(|link| step.kind.folds(link.role).is_some())
        };
        let found = if alike {
            let mut found = Vec::new();
            for (index, (a, b)) in links.enumerate() {
                let inner = self.differ(a.node, b.node);
                found.extend(inner.into_iter().map(|rect| reached(one, a, index, rect)));
            }
            found
        } else if folds(one) && folds(other) {
            self.folded(one, other)
        } else {
            vec![own]
        };
        let found = few(found.into_iter().map(|rect| rect.intersection(&own)).collect());
        self.known.insert((a, b), found.clone());
        found
    }

    /// Where two nodes differ that fold their children: beyond what only one of them has, both fold the same.
    fn folded(&mut self, one: &Step, other: &Step) -> Vec<Rect> {
        let own = one.own().union(&other.own());
        let beyond = |step: &Step, link: &Link| match step.kind.folds(link.role) {
            Some(fold) if zero_is_identity(fold) => link.extent.in_parent(),
            _ => own,
        };
        let mut found = Vec::new();
        for (left, right) in gaps(&one.links, &other.links) {
            let (left, right) = (&one.links[left], &other.links[right]);
            let paired = left.len() == right.len()
                && (left.iter().zip(right)).all(|(a, b)| (a.role, a.extent) == (b.role, b.extent));
            if paired {
                for (a, b) in left.iter().zip(right) {
                    let inner = self.differ(a.node, b.node);
                    let place = |rect: Rect| {
                        rect.translated(a.extent.x(), a.extent.y())
                            .intersection(&a.extent.in_parent())
                    };
                    found.extend(inner.into_iter().map(place));
                }
            } else {
                found.extend(left.iter().map(|link| beyond(one, link)));
                found.extend(right.iter().map(|link| beyond(other, link)));
            }
        }
        found
    }
}

/// Where a parent differs because a child does in `rect`, in the child's own coordinates.
fn reached(step: &Step, link: &Link, index: usize, rect: Rect) -> Rect {
    let own = step.own();
    if step.kind.preparation().is_some() {
        return own;
    }
    let there = rect
        .translated(link.extent.x(), link.extent.y())
        .intersection(&link.extent.in_parent());
    match step.kind.footprint(link, index) {
        _ if there.is_empty() => Rect::EMPTY,
        Footprint::Point => there,
        Footprint::Margins(margin) => there.grown(margin),
        Footprint::Around(margin) if own.contains(&there.grown(margin)) => there.grown(margin),
        Footprint::Around(_) | Footprint::Map { .. } | Footprint::Anywhere => own,
    }
}

/// The children of both that are not the same, between those that are, in their order: a longest common subsequence.
fn gaps(left: &[Link], right: &[Link]) -> Vec<(std::ops::Range<usize>, std::ops::Range<usize>)> {
    let start = left.iter().zip(right).take_while(|(a, b)| a == b).count();
    let (inner, others) = (&left[start..], &right[start..]);
    let end = (inner.iter().rev().zip(others.iter().rev()))
        .take_while(|(a, b)| a == b)
        .count();
    let (inner, others) = (&inner[..inner.len() - end], &others[..others.len() - end]);
    let (n, m) = (inner.len(), others.len());
    if n == 0 && m == 0 {
        return Vec::new();
    }
    if n.saturating_mul(m) > MOST_PAIRS {
        return vec![(start..start + n, start..start + m)];
    }
    // The longest that begins at each pair.
    let mut longest = vec![0_u32; (n + 1) * (m + 1)];
    for i in (0..n).rev() {
        for j in (0..m).rev() {
            longest[i * (m + 1) + j] = if inner[i] == others[j] {
                longest[(i + 1) * (m + 1) + j + 1] + 1
            } else {
                longest[(i + 1) * (m + 1) + j].max(longest[i * (m + 1) + j + 1])
            };
        }
    }
    let (mut i, mut j, mut from) = (0, 0, (0, 0));
    let mut gaps = Vec::new();
    let mut close = |from: (usize, usize), to: (usize, usize)| {
        if from != to {
            gaps.push((start + from.0..start + to.0, start + from.1..start + to.1));
        }
    };
    while i < n && j < m {
        if inner[i] == others[j] {
            close(from, (i, j));
            (i, j) = (i + 1, j + 1);
            from = (i, j);
        } else if longest[(i + 1) * (m + 1) + j] >= longest[i * (m + 1) + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    close(from, (n, m));
    gaps
}

/// Rectangles that are not empty, or where they are very many the one around them.
fn few(mut rects: Vec<Rect>) -> Vec<Rect> {
    rects.retain(|rect| !rect.is_empty());
    if rects.len() > MOST {
        let hull = rects.into_iter().reduce(|all, rect| all.union(&rect));
        return hull.into_iter().collect();
    }
    rects
}

/// The same pixels by rectangles that do not meet, from top to bottom; where they would be very many, the one around them.
fn disjoint(rects: impl Iterator<Item = Rect>) -> Vec<Rect> {
    let rects = few(rects.collect());
    let mut all: Vec<Rect> = Vec::new();
    for rect in &rects {
        let mut left = vec![*rect];
        for there in &all {
            let mut next = Vec::new();
            for part in left {
                let shared = part.intersection(there);
                if shared.is_empty() {
                    next.push(part);
                } else {
                    around(part, shared, |rest| next.push(rest));
                }
            }
            left = next;
        }
        all.extend(left);
        if all.len() > 4 * MOST {
            let hull = rects.into_iter().reduce(|all, rect| all.union(&rect));
            return hull.into_iter().collect();
        }
    }
    all.sort_unstable_by_key(|rect| (rect.y(), rect.x()));
    all
}

/// What comparing the samples of two rasters found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compared {
    /// The pixels that were compared.
    pub compared: u128,
    /// Those of them of which both samples were computed.
    pub computed: u128,
    /// Those whose samples differ.
    pub different: u128,
    /// The largest difference of two samples.
    pub largest: u16,
    /// The least rectangle that holds all pixels whose samples differ.
    pub within: Option<Rect>,
}

impl Compared {
    /// The most bytes that comparing holds beside the plans of both renderers.
    #[must_use]
    pub const fn memory() -> u64 {
        2 * 2 * WINDOW
    }

    /// Of these and others.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            compared: self.compared + other.compared,
            computed: self.computed + other.computed,
            different: self.different + other.different,
            largest: self.largest.max(other.largest),
            within: match (self.within, other.within) {
                (Some(one), Some(other)) => Some(one.union(&other)),
                (one, other) => one.or(other),
            },
        }
    }
}

/// Compares the samples of a window of two rasters of one depth, in coordinates of both. What is one known sample in both is not computed.
/// `effort` is the most samples that are computed of each, with 256 for each window of more than 2^20 pixels that is looked at in halves: what is left out is not
/// counted in [`Compared::compared`].
///
/// # Errors
/// Where the window leaves one of them, depths differ, or the job is cancelled.
pub fn compare(
    first: &Renderer,
    second: &Renderer,
    window: Rect,
    effort: u128,
    cancel: &Cancel,
) -> Result<Compared, Error> {
    let (one, other) = (first.plan().raster(), second.plan().raster());
    if one.depth != other.depth {
        return Err(Error::Option {
            option: "depth",
            problem: format!(
                "samples of {} cannot be compared with samples of {}",
                one.depth, other.depth
            ),
        });
    }
    for raster in [one, other] {
        if !Rect::sized(raster.width, raster.height).contains(&window) {
            return Err(Error::Region {
                region: describe(window),
                width: raster.width,
                height: raster.height,
            });
        }
    }
    let mut found = Compared::default();
    if window.is_empty() {
        return Ok(found);
    }
    // Halved where it is not known, so that what is known of much is not asked for in parts.
    let (mut left, mut open) = (effort, vec![window]);
    while let Some(part) = open.pop() {
        cancel.check()?;
        let bounds = (first.bounds(part)?, second.bounds(part)?);
        if bounds.0 == bounds.1 && bounds.0.0 == bounds.0.1 {
            found.compared += part.area();
        } else if part.area() > u128::from(WINDOW) {
            let Some(rest) = left.checked_sub(LOOKING) else {
                return Ok(found);
            };
            left = rest;
            // That which lies above, or to the left, is looked at first.
            let (one, other) = halves(part);
            open.extend([other, one]);
        } else if left >= part.area() {
            left -= part.area();
            found = found.and(of_samples(first, second, part, cancel)?);
        } else {
            return Ok(found);
        }
    }
    Ok(found)
}

/// A rectangle of two pixels or more, cut in two across its longer side.
fn halves(rect: Rect) -> (Rect, Rect) {
    let (x, y, right, bottom) = (rect.x(), rect.y(), rect.right(), rect.bottom());
    if rect.width() > rect.height() {
        let middle = x.midpoint(right);
        (
            Rect::between(x, y, middle, bottom),
            Rect::between(middle, y, right, bottom),
        )
    } else {
        let middle = y.midpoint(bottom);
        (
            Rect::between(x, y, right, middle),
            Rect::between(x, middle, right, bottom),
        )
    }
}

/// Compares all samples of a small window.
fn of_samples(first: &Renderer, second: &Renderer, window: Rect, cancel: &Cancel) -> Result<Compared, Error> {
    let count = window.area() as usize;
    let width = window.width() as usize;
    if first.plan().depth().bytes() == 1 {
        let (mut a, mut b) = (vec![0_u8; count], vec![0_u8; count]);
        first.read(window, SamplesMut::Eight(&mut a), cancel)?;
        second.read(window, SamplesMut::Eight(&mut b), cancel)?;
        Ok(of_rows(window, a.chunks_exact(width).zip(b.chunks_exact(width))))
    } else {
        let (mut a, mut b) = (vec![0_u16; count], vec![0_u16; count]);
        first.read(window, SamplesMut::Sixteen(&mut a), cancel)?;
        second.read(window, SamplesMut::Sixteen(&mut b), cancel)?;
        Ok(of_rows(window, a.chunks_exact(width).zip(b.chunks_exact(width))))
    }
}

fn of_rows<'a, S: relief_raster::Sample>(
    window: Rect,
    rows: impl Iterator<Item = (&'a [S], &'a [S])>,
) -> Compared {
    let mut found = Compared {
        compared: window.area(),
        computed: window.area(),
        ..Compared::default()
    };
    for (y, (a, b)) in (window.y()..).zip(rows).filter(|(_, (a, b))| a != b) {
        let mut ends = None;
        for (x, (a, b)) in (window.x()..).zip(a.iter().zip(b)) {
            let difference = a.to_u16().abs_diff(b.to_u16());
            if difference > 0 {
                found.different += 1;
                found.largest = found.largest.max(difference);
                ends = Some((ends.map_or(x, |(first, _)| first), x + 1));
            }
        }
        if let Some((first, end)) = ends {
            let row = Rect::between(first, y, end, y + 1);
            found.within = Some(found.within.map_or(row, |all| all.union(&row)));
        }
    }
    found
}
