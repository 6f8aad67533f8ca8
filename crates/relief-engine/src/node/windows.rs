//! Rectangles of samples within rectangles.

use relief_raster::{Rect, Sample, ViewMut};

use super::{Filled, Inputs, Link, Periodic};
use crate::Error;

/// Writes 0 to the parts of `out` that lie outside `inner`, which is given in the coordinates of `out`.
pub(crate) fn clear_around<S: Sample>(out: &mut ViewMut<'_, S>, inner: Rect) {
    around(
        Rect::sized(out.width() as u64, out.height() as u64),
        inner,
        |border| part(out, border).fill(S::ZERO),
    );
}

/// Calls `each` with the up to four rectangles that make up `outer` without `inner`, which lies inside it.
pub(crate) fn around(outer: Rect, inner: Rect, mut each: impl FnMut(Rect)) {
    if inner.is_empty() {
        if !outer.is_empty() {
            each(outer);
        }
        return;
    }
    for border in [
        Rect::between(outer.x(), outer.y(), outer.right(), inner.y()),
        Rect::between(outer.x(), inner.y(), inner.x(), inner.bottom()),
        Rect::between(inner.right(), inner.y(), outer.right(), inner.bottom()),
        Rect::between(outer.x(), inner.bottom(), outer.right(), outer.bottom()),
    ] {
        if !border.is_empty() {
            each(border);
        }
    }
}

/// The part of `out` that holds `inner`, which is given in the coordinates of `out`.
pub(crate) fn part<'a, S>(out: &'a mut ViewMut<'_, S>, inner: Rect) -> ViewMut<'a, S> {
    out.part(
        inner.x() as usize,
        inner.y() as usize,
        inner.width() as usize,
        inner.height() as usize,
    )
}

/// Reads the only child of a node into `out`, 0 where the child is not.
pub(crate) fn read_padded<S: Sample>(
    inputs: &dyn Inputs<S>,
    link: &Link,
    rect: Rect,
    mut out: ViewMut<'_, S>,
    scratch: &mut [u64],
) -> Result<Filled<S>, Error> {
    let covered = rect.intersection(&link.extent.in_parent());
    if covered.is_empty() {
        return Ok(Filled::Uniform(S::ZERO));
    }
    let local = link.local(rect);
    if covered == rect {
        return inputs.read(link.node, local, out, scratch);
    }
    let inner = covered.translated(-rect.x(), -rect.y());
    let filled = inputs.read(link.node, local, part(&mut out, inner), scratch)?;
    if filled == Filled::Uniform(S::ZERO) {
        return Ok(filled);
    }
    filled.write(part(&mut out, inner));
    clear_around(&mut out, inner);
    Ok(Filled::Written)
}

/// How a node repeats that computes every sample from the sample of its only child at the same place.
pub(crate) fn through(own: Rect, links: &[Link], children: &[Option<Periodic>]) -> Option<Periodic> {
    let (link, child) = (links.first()?, (*children.first()?)?);
    let valid = child
        .valid
        .translated(link.extent.x(), link.extent.y())
        .intersection(&own);
    Some(Periodic {
        period: child.period,
        valid,
    })
}
