//! Lines with a width, as outlines.

use kurbo::{Affine, BezPath, PathEl, Point, Shape as _, StrokeOpts};

use crate::limits::Refused;

/// How the ends of an open line look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cap {
    /// Cut off at the end.
    Butt,
    /// Half a disc beyond the end.
    Round,
    /// Half a square beyond the end.
    Square,
}

/// How two segments of a line meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// Cut off.
    Bevel,
    /// A disc.
    Round,
    /// A point, cut off where it is longer than the limit.
    Miter,
}

/// The look of a line. Lengths are in the units of its path.
#[derive(Clone, Debug, PartialEq)]
pub struct Stroke {
    /// The width.
    pub width: f64,
    /// Both ends of an open line, and of dashes.
    pub cap: Cap,
    /// The corners.
    pub join: Join,
    /// The greatest length of a miter, in widths.
    pub miter_limit: f64,
    /// Lengths of dashes and gaps in turn; none for a solid line.
    pub dashes: Vec<f64>,
    /// Where in the dashes the line begins.
    pub dash_offset: f64,
}

impl Stroke {
    /// A solid line with butt ends and mitered corners, as SVG has it without more.
    #[must_use]
    pub const fn solid(width: f64) -> Self {
        Self {
            width,
            cap: Cap::Butt,
            join: Join::Miter,
            miter_limit: 4.0,
            dashes: Vec::new(),
            dash_offset: 0.0,
        }
    }
}

/// How far an outline may lie from the true one, in pixels.
const TOLERANCE: f64 = 1.0 / 64.0;

/// The bytes that the outline of a line takes while it is made, for each point of the line.
pub(crate) const STROKED: u64 = 1 << 10;

/// The bytes of a part of a path in a list that grows.
pub(crate) const PART: u64 = 2 * size_of::<PathEl>() as u64;

/// The greatest length that the transform gives to a unit.
pub(crate) fn scale(transform: Affine) -> f64 {
    let [a, b, c, d, ..] = transform.as_coeffs();
    let (sum, difference) = (libm::hypot(a + d, b - c), libm::hypot(a - d, b + c));
    (sum + difference) / 2.0
}

/// The outlines of a line, to be filled where the winding number is not 0, before `transform`. At most `limit` dashes.
pub(crate) fn outline(
    path: &BezPath,
    stroke: &Stroke,
    transform: Affine,
    limit: u64,
) -> Result<BezPath, Refused> {
    let lengths = [
        ("the width of a line", stroke.width),
        ("the limit of miters", stroke.miter_limit),
    ];
    let dashes = stroke.dashes.iter().map(|dash| ("a dash", *dash));
    for (what, length) in lengths.into_iter().chain(dashes) {
        if !(0.0..=f64::MAX).contains(&length) {
            return Err(Refused::Negative(what, length));
        }
    }
    for element in path.elements() {
        finite(*element)?;
    }
    let scale = scale(transform);
    if stroke.width == 0.0 || scale == 0.0 {
        return Ok(BezPath::new());
    }
    let across = scale * stroke.width;
    if !across.is_finite() || across > crate::flatten::MAX {
        return Err(Refused::Far(across, 0.0));
    }
    let mut style = kurbo::Stroke::new(stroke.width)
        .with_caps(match stroke.cap {
            Cap::Butt => kurbo::Cap::Butt,
            Cap::Round => kurbo::Cap::Round,
            Cap::Square => kurbo::Cap::Square,
        })
        .with_join(match stroke.join {
            Join::Bevel => kurbo::Join::Bevel,
            Join::Round => kurbo::Join::Round,
            Join::Miter => kurbo::Join::Miter,
        })
        .with_miter_limit(stroke.miter_limit.max(1.0));
    let period: f64 = stroke.dashes.iter().sum();
    if period > 0.0 {
        let dashes = length_bound(path) / period * stroke.dashes.len() as f64;
        if !dashes.is_finite() || dashes > limit as f64 {
            return Err(Refused::Points(limit));
        }
        let offset = stroke.dash_offset - libm::floor(stroke.dash_offset / (2.0 * period)) * 2.0 * period;
        if !offset.is_finite() {
            return Err(Refused::Far(stroke.dash_offset, 0.0));
        }
        // An odd number of lengths is read twice.
        let twice = if stroke.dashes.len() % 2 == 1 { 2 } else { 1 };
        let all: Vec<f64> = stroke
            .dashes
            .iter()
            // A dash of no length still has its ends: a disc or a square.
            .map(|dash| {
                dash.max(if stroke.cap == Cap::Butt {
                    0.0
                } else {
                    stroke.width / 65_536.0
                })
            })
            .cycle()
            .take(stroke.dashes.len() * twice)
            .collect();
        style = style.with_dashes(offset, all);
    }
    let mut out = kurbo::stroke(
        path.elements().iter().copied(),
        &style,
        &StrokeOpts::default(),
        TOLERANCE / scale,
    );
    if period == 0.0 {
        dots(path, stroke, TOLERANCE / scale, &mut out);
    }
    Ok(out)
}

/// Lines of no length: a disc or a square, as SVG has it, and nothing with butt ends.
fn dots(path: &BezPath, stroke: &Stroke, tolerance: f64, out: &mut BezPath) {
    use kurbo::Shape;
    let mut start = None;
    let mut moved = false;
    let mut drawn = false;
    let mut emit = |at: Option<kurbo::Point>, moved: bool, drawn: bool| {
        let (Some(at), false, true) = (at, moved, drawn) else {
            return;
        };
        let half = stroke.width / 2.0;
        match stroke.cap {
            Cap::Butt => {}
            Cap::Round => out.extend(kurbo::Circle::new(at, half).path_elements(tolerance)),
            Cap::Square => {
                out.extend(
                    kurbo::Rect::from_center_size(at, (2.0 * half, 2.0 * half)).path_elements(tolerance),
                );
            }
        }
    };
    for element in path.elements() {
        let same = |p: kurbo::Point| start == Some(p);
        match *element {
            PathEl::MoveTo(p) => {
                emit(start, moved, drawn);
                (start, moved, drawn) = (Some(p), false, false);
            }
            PathEl::LineTo(p) => moved |= !same(p),
            PathEl::QuadTo(a, p) => moved |= !same(a) || !same(p),
            PathEl::CurveTo(a, b, p) => moved |= !same(a) || !same(b) || !same(p),
            PathEl::ClosePath => {}
        }
        drawn |= !matches!(element, PathEl::MoveTo(_));
    }
    emit(start, moved, drawn);
}

/// The outline around these corners.
pub(crate) fn closed(corners: &[Point]) -> BezPath {
    let mut path = BezPath::with_capacity(corners.len() + 1);
    for (number, corner) in corners.iter().enumerate() {
        if number == 0 {
            path.move_to(*corner);
        } else {
            path.line_to(*corner);
        }
    }
    path.close_path();
    path
}

/// Adds a piece, turned so that all pieces cover together what one of them does.
pub(crate) fn turned(piece: BezPath, out: &mut BezPath) {
    out.extend(if piece.area() < 0.0 {
        piece.reverse_subpaths()
    } else {
        piece
    });
}

fn finite(element: PathEl) -> Result<(), Refused> {
    let points = match element {
        PathEl::MoveTo(p) | PathEl::LineTo(p) => [p; 3],
        PathEl::QuadTo(a, p) => [a, p, p],
        PathEl::CurveTo(a, b, p) => [a, b, p],
        PathEl::ClosePath => return Ok(()),
    };
    match points
        .iter()
        .find(|p| !(p.x.abs() <= 1e100 && p.y.abs() <= 1e100))
    {
        Some(point) => Err(Refused::Far(point.x, point.y)),
        None => Ok(()),
    }
}

/// A length that the path does not exceed: that of its control points.
fn length_bound(path: &BezPath) -> f64 {
    let (mut sum, mut at, mut start) = (0.0, kurbo::Point::ZERO, kurbo::Point::ZERO);
    let mut go = |at: &mut kurbo::Point, to: kurbo::Point| {
        sum += libm::hypot(to.x - at.x, to.y - at.y);
        *at = to;
    };
    for element in path.elements() {
        match *element {
            PathEl::MoveTo(p) => (at, start) = (p, p),
            PathEl::LineTo(p) => go(&mut at, p),
            PathEl::QuadTo(a, p) => [a, p].into_iter().for_each(|p| go(&mut at, p)),
            PathEl::CurveTo(a, b, p) => [a, b, p].into_iter().for_each(|p| go(&mut at, p)),
            PathEl::ClosePath => go(&mut at, start),
        }
    }
    sum
}
