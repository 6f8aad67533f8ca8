//! What is asked of surfaces: why a sample is what it is, how often each sample is there, and where two surfaces differ. Each is a job of
//! its own, with the memory of the surface.

use std::collections::BTreeSet;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use relief_design::visible;
use relief_engine::{
    Cancel, Compared, Counts, DEFAULT_MEMORY, Explanation, Options, Plan, Rect, Renderer, compare, differing,
    explain,
};

use crate::design::{Means, Opened};
use crate::errors::Failure;

/// x, y, width and height.
fn told_rect(rect: Rect) -> (i64, i64, u64, u64) {
    (rect.x(), rect.y(), rect.width(), rect.height())
}

/// The nodes that a sample of the canvas is made of.
pub(crate) fn why(
    opened: &Opened,
    means: &Means,
    place: (i64, i64),
    cancel: &Cancel,
) -> Result<Explanation, Failure> {
    Ok(explain(
        &opened.design,
        &opened.source,
        &means.options(),
        place,
        cancel,
    )?)
}

/// An explanation as a dictionary, its nodes as tuples.
pub(crate) fn told_why<'py>(
    py: Python<'py>,
    opened: &Opened,
    story: &Explanation,
) -> PyResult<Bound<'py, PyDict>> {
    let nodes = PyList::empty(py);
    for node in &story.nodes {
        nodes.append((
            node.kind,
            node.role.map(relief_design::tree::Role::name),
            node.parent,
            (node.place.line, node.place.column),
            (node.x, node.y),
            node.inside,
            node.value,
            node.folded,
            node.window.map(told_rect),
            node.replaced,
        ))?;
    }
    let told = PyDict::new(py);
    told.set_item("name", visible(&opened.name).to_string())?;
    told.set_item("x", story.x)?;
    told.set_item("y", story.y)?;
    told.set_item("value", story.value)?;
    told.set_item("greatest", opened.design.canvas().depth.max())?;
    told.set_item("decides", story.decides)?;
    told.set_item("cut", story.cut)?;
    told.set_item("nodes", nodes)?;
    Ok(told)
}

/// How often each sample stands in a region of the canvas.
pub(crate) fn counts(
    opened: &Opened,
    means: &Means,
    region: Rect,
    effort: u64,
    cancel: &Cancel,
) -> Result<Counts, Failure> {
    let depth = opened.design.canvas().depth;
    let options = means
        .options()
        .region(region)
        .sink(Counts::memory(depth, means.threads()))
        // What repeats is counted by the host.
        .devices(Vec::new())
        .levels();
    let plan = Plan::new(&opened.design, &opened.source, &options)?;
    let renderer = Renderer::new(plan, &opened.source, cancel)?;
    let all = Rect::sized(region.width(), region.height());
    Ok(renderer.counts(all, effort, cancel)?)
}

/// What two surfaces differ in.
pub(crate) enum Difference {
    /// In the bits of a sample, so that samples are not compared.
    Depth(u32, u32),
    /// In at most these rectangles of the canvas, none of which meets another, by what comparing them found.
    Places(Vec<(Rect, Compared)>),
}

/// Where the samples of two designs differ in a region of their canvases. At most `effort` samples of each are computed.
pub(crate) fn difference(
    (first, second): (&Opened, &Opened),
    means: &Means,
    region: Rect,
    effort: u64,
    cancel: &Cancel,
) -> Result<Difference, Failure> {
    let (one, other) = (first.design.canvas().depth, second.design.canvas().depth);
    if one != other {
        return Ok(Difference::Depth(one.bits(), other.bits()));
    }
    let same = same_pictures(first, second)?;
    let rects: Vec<Rect> = differing(&first.design, &second.design, &|name| same.contains(name))?
        .into_iter()
        .map(|rect| rect.intersection(&region))
        .filter(|rect| !rect.is_empty())
        .collect();
    let Some(hull) = rects.iter().copied().reduce(|all, rect| all.union(&rect)) else {
        return Ok(Difference::Places(Vec::new()));
    };
    let renderer = |opened: &Opened| -> Result<Renderer, Failure> {
        let options = Options::default()
            // Both are held at the same time.
            .memory(means.memory.unwrap_or(DEFAULT_MEMORY) / 2)
            .region(hull)
            .sink(Compared::memory())
            .with(|with| with.threads = means.threads);
        let plan = Plan::new(&opened.design, &opened.source, &options)?;
        Ok(Renderer::new(plan, &opened.source, cancel)?)
    };
    let (first, second) = (renderer(first)?, renderer(second)?);
    let mut left = u128::from(effort);
    let mut places = Vec::new();
    for rect in rects {
        let there = rect.translated(-hull.x(), -hull.y());
        let mut found = compare(&first, &second, there, left, cancel)?;
        left = left.saturating_sub(found.computed);
        found.within = found.within.map(|within| within.translated(hull.x(), hull.y()));
        places.push((rect, found));
    }
    Ok(Difference::Places(places))
}

/// The pictures that both designs name and that are the same bytes, or equal arrays.
fn same_pictures(first: &Opened, second: &Opened) -> Result<BTreeSet<String>, Failure> {
    let others: BTreeSet<&str> = second.pictures().into_iter().collect();
    let mut same = BTreeSet::new();
    for name in first.pictures() {
        if others.contains(name) && first.source.digest(name)? == second.source.digest(name)? {
            same.insert(name.to_owned());
        }
    }
    Ok(same)
}

/// A difference as a dictionary, in coordinates of the region.
pub(crate) fn told_difference<'py>(
    py: Python<'py>,
    difference: &Difference,
    region: Rect,
) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    let places = match difference {
        Difference::Depth(one, other) => {
            told.set_item("bits", (one, other))?;
            &Vec::new()
        }
        Difference::Places(places) => {
            told.set_item("bits", py.None())?;
            places
        }
    };
    let here = |rect: Rect| told_rect(rect.translated(-region.x(), -region.y()));
    let all = places
        .iter()
        .fold(Compared::default(), |all, (_, found)| all.and(*found));
    let area: u128 = places.iter().map(|(rect, _)| rect.area()).sum();
    told.set_item("compared", all.compared)?;
    told.set_item("not_compared", area - all.compared)?;
    told.set_item("different", all.different)?;
    told.set_item("largest", all.largest)?;
    told.set_item("within", all.within.map(here))?;
    let rects = PyList::empty(py);
    for (rect, found) in places {
        rects.append((here(*rect), found.compared, found.different, found.largest))?;
    }
    told.set_item("rectangles", rects)?;
    Ok(told)
}
