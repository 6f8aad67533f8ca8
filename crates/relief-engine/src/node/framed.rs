//! A source with what counts beyond a filter's extent.

use relief_design::kinds;
use relief_kernels::edge::{Edge, From};
use relief_raster::{Rect, Sample, ViewMut};

use super::{
    Bounds, Filled, Footprint, Inputs, Known, Link, Periodic, Request, clear_around, part, read_padded,
    scratch,
};
use crate::Error;

/// The edge that a design says.
pub(crate) const fn edge(edge: kinds::Edge) -> Edge {
    match edge {
        kinds::Edge::Clamp => Edge::Clamp,
        kinds::Edge::Mirror => Edge::Mirror,
        kinds::Edge::Wrap => Edge::Wrap,
        kinds::Edge::Zero => Edge::Zero,
    }
}

/// How a filter of this edge and radius reads its source.
pub(crate) const fn footprint(edge: Edge, radius: u32) -> Footprint {
    match edge {
        // Near one border the other is read.
        Edge::Wrap => Footprint::Around(radius),
        _ => Footprint::Margins(radius),
    }
}

/// How a filter of this radius repeats within `own`: as its source, but nearer than the radius to where that ends, to
/// where it stops repeating and to the filter's own borders.
pub(crate) fn period(
    own: Rect,
    radius: u32,
    links: &[Link],
    children: &[Option<Periodic>],
) -> Option<Periodic> {
    let (link, source) = (links.first()?, (*children.first()?)?);
    let valid = source.valid.translated(link.extent.x(), link.extent.y());
    Some(Periodic {
        period: source.period,
        valid: valid.intersection(&own).shrunk(radius),
    })
}

/// The words of a block of samples of `bytes` bytes that reaches `radius` beyond `request` on every side.
pub(crate) fn block_words(radius: u32, request: &Request, bytes: u64) -> u64 {
    let around = 2 * u64::from(radius);
    let block = request
        .width
        .saturating_add(around)
        .saturating_mul(request.height.saturating_add(around));
    scratch::words(block, bytes)
}

/// Between which samples those lie that count for `window`, and so does what lies between them.
pub(crate) fn bounds(known: &dyn Known, link: &Link, own: Rect, edge: Edge, window: Rect) -> Bounds {
    let inside = known.child(link, reads(own, edge, window));
    if edge == Edge::Zero && !own.contains(&window) {
        inside.or(Bounds::ZERO)
    } else {
        inside
    }
}

/// The pixels within a filter's extent `own` that count for those of `window`.
pub(crate) fn reads(own: Rect, edge: Edge, window: Rect) -> Rect {
    let inner = window.intersection(&own);
    if edge != Edge::Wrap || inner == window {
        return inner;
    }
    let side = |from: i64, to: i64, own: i64| {
        if from < 0 || to > own {
            (0, own)
        } else {
            (from, to)
        }
    };
    let (left, right) = side(window.x(), window.right(), own.right());
    let (top, bottom) = side(window.y(), window.bottom(), own.bottom());
    Rect::between(left, top, right, bottom)
}

/// Reads `window`, in the coordinates of a filter with the extent `own` at (0, 0), into `out`, which has its size: 0 where
/// the source is not within the extent, and beyond it what `edge` says. The window meets the extent.
pub(crate) fn read<S: Sample>(
    inputs: &dyn Inputs<S>,
    link: &Link,
    own: Rect,
    edge: Edge,
    window: Rect,
    mut out: ViewMut<'_, S>,
    scratch: &mut [u64],
) -> Result<Filled<S>, Error> {
    let inner = window.intersection(&own);
    if edge == Edge::Wrap && inner != window {
        return wrapped(inputs, link, own, window, out, scratch);
    }
    let here = inner.translated(-window.x(), -window.y());
    let filled = read_padded(inputs, link, inner, part(&mut out, here), scratch)?;
    if inner == window
        || (filled != Filled::Written && edge != Edge::Zero)
        || filled == Filled::Uniform(S::ZERO)
    {
        return Ok(filled);
    }
    filled.write(part(&mut out, here));
    if edge == Edge::Zero {
        clear_around(&mut out, here);
        return Ok(Filled::Written);
    }
    // Columns of the rows that are there, then whole rows.
    let (left, right) = (here.x() as usize, here.right() as usize);
    let (top, bottom) = (here.y() as usize, here.bottom() as usize);
    let beyond = (0..left).chain(right..out.width());
    let columns: Vec<(usize, usize)> = beyond
        .filter_map(|column| {
            let place = edge.inside(window.x() + column as i64, own.width())?;
            Some((column, (place.cast_signed() - window.x()) as usize))
        })
        .collect();
    for y in top..bottom {
        let row = out.row_mut(y);
        for (to, from) in &columns {
            row[*to] = row[*from];
        }
    }
    for y in (0..top).chain(bottom..out.height()) {
        if let Some(place) = edge.inside(window.y() + y as i64, own.height()) {
            let (from, to) = out.row_pair((place.cast_signed() - window.y()) as usize, y);
            to.copy_from_slice(from);
        }
    }
    Ok(Filled::Written)
}

/// [`read`] of a window that reaches beyond the extent, where the other end counts.
fn wrapped<S: Sample>(
    inputs: &dyn Inputs<S>,
    link: &Link,
    own: Rect,
    window: Rect,
    mut out: ViewMut<'_, S>,
    scratch: &mut [u64],
) -> Result<Filled<S>, Error> {
    // All samples so far are this one, and none of them is written.
    let mut uniform: Option<S> = None;
    let mut written = false;
    for down in Edge::Wrap.runs(window.y()..window.bottom(), own.height()) {
        for across in Edge::Wrap.runs(window.x()..window.right(), own.width()) {
            let (From::Forwards(x), From::Forwards(y)) = (across.from, down.from) else {
                return Err(Error::defect(window, "what is wrapped runs forwards"));
            };
            let (x, y) = (x.cast_signed(), y.cast_signed());
            let from = Rect::between(x, y, x + across.count as i64, y + down.count as i64);
            let here = Rect::sized(from.width(), from.height()).translated(across.at as i64, down.at as i64);
            let filled = read_padded(inputs, link, from, part(&mut out, here), scratch)?;
            match (filled, uniform) {
                (Filled::Uniform(value), None) if !written && (across.at, down.at) == (0, 0) => {
                    uniform = Some(value);
                }
                (Filled::Uniform(value), Some(all)) if value == all && !written => {}
                (filled, so_far) => {
                    if let (Some(value), false) = (so_far, written) {
                        // All before this part, and it all: parts after it are written one by one.
                        write_before(&mut out, value, here);
                    }
                    written = true;
                    filled.write(part(&mut out, here));
                }
            }
        }
    }
    Ok(match (written, uniform) {
        (false, Some(value)) => Filled::Uniform(value),
        _ => Filled::Written,
    })
}

/// Writes a sample to all parts before `here` in the order of [`wrapped`]: the rows above it, and what lies left of it.
fn write_before<S: Sample>(out: &mut ViewMut<'_, S>, value: S, here: Rect) {
    let width = out.width() as u64;
    let above = Rect::sized(width, here.y().unsigned_abs());
    let left = Rect::between(0, here.y(), here.x(), here.bottom());
    for rect in [above, left] {
        if !rect.is_empty() {
            part(out, rect).fill(value);
        }
    }
}
