//! Simple shapes as paths. Lengths are in pixels where nothing else is said by the transform that they are drawn with.

use std::convert::Infallible;

use kurbo::{Affine, Arc, BezPath, PathEl, Point, SvgArc, Vec2};

use crate::data::Segments;

/// How far a cubic may lie from the arc that it stands for, in units of its path, where the scale is not known: 2^-20.
///
/// [`svg`](crate::svg) knows the scale and allows 2^-10 px.
pub(crate) const TOLERANCE: f64 = 1.0 / 1_048_576.0;

/// No cubic stands for less than this part of its radius, so that a turn has about a thousand cubics at most. Only what lies farther out than any place may
/// would need more.
const LEAST_TOLERANCE: f64 = 1.0 / (1_u64 << 60) as f64;

/// Hands over the cubics that stand for an arc, in order, of any numbers.
pub(crate) fn cubics(arc: Arc, tolerance: f64, each: impl FnMut(Point, Point, Point)) {
    let radius = arc.radii.x.abs().max(arc.radii.y.abs());
    arc.to_cubic_beziers(tolerance.max(radius * LEAST_TOLERANCE), each);
}

/// The controls of the cubic that stands for a flat arc from `a` to `b`. `bulge` is the tangent of a quarter of its angle, above 0 where it lies on the
/// side of the chord turned by a right angle from y to x, and at most 1/1024: the cubic then lies within any tolerance. A centre, which may lie very far away, is not needed.
pub(crate) fn flat_arc(a: Point, b: Point, bulge: f64) -> (Point, Point) {
    let chord = b - a;
    let side = Vec2::new(chord.y, -chord.x) * (2.0 / 3.0 * bulge);
    let along = chord * ((1.0 - bulge * bulge) / 3.0);
    (a + along + side, b - along + side)
}

/// A rectangle of this top-left and size.
#[must_use]
pub fn rectangle((x, y): (f64, f64), (width, height): (f64, f64)) -> BezPath {
    polygon(&[(x, y), (x + width, y), (x + width, y + height), (x, y + height)])
}

/// A rectangle with elliptic corners, which are at most half as large as the rectangle.
#[must_use]
pub fn rounded_rectangle(
    (x, y): (f64, f64),
    (width, height): (f64, f64),
    (rx, ry): (f64, f64),
    tolerance: f64,
) -> BezPath {
    let (rx, ry) = (rx.min(width / 2.0), ry.min(height / 2.0));
    if !(rx > 0.0 && ry > 0.0) {
        return rectangle((x, y), (width, height));
    }
    let quarter = std::f64::consts::FRAC_PI_2;
    let corners = [
        ((x + width - rx, y), (x + width - rx, y + ry), -quarter),
        (
            (x + width, y + height - ry),
            (x + width - rx, y + height - ry),
            0.0,
        ),
        ((x + rx, y + height), (x + rx, y + height - ry), quarter),
        ((x, y + ry), (x + rx, y + ry), 2.0 * quarter),
    ];
    let mut path = BezPath::new();
    path.move_to((x + rx, y));
    for (start, centre, angle) in corners {
        path.line_to(start);
        let arc = Arc::new(centre, Vec2::new(rx, ry), angle, quarter, 0.0);
        cubics(arc, tolerance, |a, b, p| path.curve_to(a, b, p));
    }
    path.close_path();
    path
}

/// An ellipse of this centre and these radii, to 2^-20.
#[must_use]
pub fn ellipse(centre: (f64, f64), radii: (f64, f64)) -> BezPath {
    ellipse_within(centre, radii, TOLERANCE)
}

/// As [`ellipse`], within `tolerance`.
#[must_use]
pub fn ellipse_within((x, y): (f64, f64), (rx, ry): (f64, f64), tolerance: f64) -> BezPath {
    let mut path = BezPath::new();
    let quarter = std::f64::consts::FRAC_PI_2;
    // The ends of the axes are exact.
    let ends = [(x, y + ry), (x - rx, y), (x, y - ry), (x + rx, y)];
    path.move_to((x + rx, y));
    for (number, end) in ends.into_iter().enumerate() {
        let arc = Arc::new((x, y), Vec2::new(rx, ry), quarter * number as f64, quarter, 0.0);
        let mut all = Vec::new();
        cubics(arc, tolerance, |a, b, p| all.push((a, b, p)));
        if let Some(last) = all.last_mut() {
            last.2 = Point::from(end);
        }
        for (a, b, p) in all {
            path.curve_to(a, b, p);
        }
    }
    path.close_path();
    path
}

/// A polygon through these points.
#[must_use]
pub fn polygon(points: &[(f64, f64)]) -> BezPath {
    let mut path = line(points);
    if !points.is_empty() {
        path.close_path();
    }
    path
}

/// An open line through these points.
#[must_use]
pub fn line(points: &[(f64, f64)]) -> BezPath {
    let mut path = BezPath::new();
    for (number, point) in points.iter().enumerate() {
        if number == 0 {
            path.move_to(*point);
        } else {
            path.line_to(*point);
        }
    }
    path
}

/// The most parts of a path. A drawing of more points is refused by any limits that a design has, and arcs make many parts of few bytes.
const MAX_PARTS: usize = 1 << 26;

/// The path that the data of an SVG path describes, up to the first fault in it, and where that is, as a byte. More
/// than 2^26 parts are a fault at its end.
///
/// `transform` tells the scale, so that arcs lie within 2^-10 px; it is not applied.
#[must_use]
pub fn path(data: &str, transform: Affine) -> (BezPath, Option<usize>) {
    let mut path = BezPath::new();
    let fault = parts(data, transform, |part| {
        path.push(part);
        Ok::<(), Infallible>(())
    });
    match fault {
        Ok(fault) => (path, fault),
    }
}

/// Hands over the parts of the path that the data of an SVG path describes, as [`path`] does.
pub(crate) fn parts<E>(
    data: &str,
    transform: Affine,
    mut each: impl FnMut(PathEl) -> Result<(), E>,
) -> Result<Option<usize>, E> {
    use svgtypes::PathSegment as Segment;
    let tolerance = arc_tolerance(transform);
    let mut count = 0;
    let mut each = |part: PathEl| {
        count += 1;
        each(part).map(|()| count > MAX_PARTS)
    };
    let (mut at, mut start) = (Point::ZERO, Point::ZERO);
    // The last control point, for a smooth curve of the same kind.
    let (mut cubic, mut quad) = (None::<Point>, None::<Point>);
    let mut is_full = false;
    for segment in Segments::new(data) {
        let segment = match segment {
            Ok(segment) => segment,
            Err(error) => return Ok(Some(position(&error, data))),
        };
        if is_full {
            return Ok(Some(data.len()));
        }
        let from = at;
        let place = |abs: bool, x: f64, y: f64| {
            if abs {
                Point::new(x, y)
            } else {
                Point::new(from.x + x, from.y + y)
            }
        };
        let (mut next_cubic, mut next_quad) = (None, None);
        is_full = match segment {
            Segment::MoveTo { abs, x, y } => {
                at = place(abs, x, y);
                start = at;
                each(PathEl::MoveTo(at))?
            }
            Segment::LineTo { abs, x, y } => {
                at = place(abs, x, y);
                each(PathEl::LineTo(at))?
            }
            Segment::HorizontalLineTo { abs, x } => {
                at.x = if abs { x } else { from.x + x };
                each(PathEl::LineTo(at))?
            }
            Segment::VerticalLineTo { abs, y } => {
                at.y = if abs { y } else { from.y + y };
                each(PathEl::LineTo(at))?
            }
            Segment::CurveTo {
                abs,
                x1,
                y1,
                x2,
                y2,
                x,
                y,
            } => {
                let b = place(abs, x2, y2);
                at = place(abs, x, y);
                next_cubic = Some(b);
                each(PathEl::CurveTo(place(abs, x1, y1), b, at))?
            }
            Segment::SmoothCurveTo { abs, x2, y2, x, y } => {
                let b = place(abs, x2, y2);
                at = place(abs, x, y);
                next_cubic = Some(b);
                each(PathEl::CurveTo(mirrored(from, cubic), b, at))?
            }
            Segment::Quadratic { abs, x1, y1, x, y } => {
                let a = place(abs, x1, y1);
                at = place(abs, x, y);
                next_quad = Some(a);
                each(PathEl::QuadTo(a, at))?
            }
            Segment::SmoothQuadratic { abs, x, y } => {
                let a = mirrored(from, quad);
                at = place(abs, x, y);
                next_quad = Some(a);
                each(PathEl::QuadTo(a, at))?
            }
            Segment::EllipticalArc {
                abs,
                rx,
                ry,
                x_axis_rotation,
                large_arc,
                sweep,
                x,
                y,
            } => {
                at = place(abs, x, y);
                let arc = SvgArc {
                    from,
                    to: at,
                    radii: Vec2::new(rx, ry),
                    x_rotation: x_axis_rotation.to_radians(),
                    large_arc,
                    sweep,
                };
                let mut all = Vec::new();
                if let Some((a, b)) = flat_svg_arc(&arc) {
                    all.push((a, b, at));
                } else if let Some(arc) = Arc::from_svg_arc(&arc) {
                    cubics(arc, tolerance, |a, b, p| all.push((a, b, p)));
                }
                // It ends where the data say, not a rounding away.
                let mut is_full = match all.last_mut() {
                    Some(last) => {
                        last.2 = at;
                        false
                    }
                    None => each(PathEl::LineTo(at))?,
                };
                for (a, b, p) in all {
                    is_full = each(PathEl::CurveTo(a, b, p))?;
                }
                is_full
            }
            Segment::ClosePath { .. } => {
                at = start;
                each(PathEl::ClosePath)?
            }
        };
        (cubic, quad) = (next_cubic, next_quad);
    }
    Ok(None)
}

/// The controls of an arc whose chord is less than a millionth of its radii; nothing of all others. By its centre it would be off by as much as the numbers
/// of a centre so far away are rounded.
fn flat_svg_arc(arc: &SvgArc) -> Option<(Point, Point)> {
    let (rx, ry) = (arc.radii.x.abs(), arc.radii.y.abs());
    let (sin, cos) = libm::sincos(arc.x_rotation);
    let chord = arc.to - arc.from;
    // Where its ellipse is a circle of radius 1.
    let (x, y) = (
        (chord.x * cos + chord.y * sin) / rx,
        (chord.y * cos - chord.x * sin) / ry,
    );
    let length = libm::hypot(x, y);
    if arc.large_arc || !(length > 0.0 && length < 1.0 / 1_048_576.0 && rx.is_finite() && ry.is_finite()) {
        return None;
    }
    // The angle at the centre is so small that it is its sine.
    let bulge = if arc.sweep { length / 4.0 } else { -length / 4.0 };
    let (a, b) = flat_arc(Point::ZERO, Point::new(x, y), bulge);
    let back = |p: Point| {
        let (x, y) = (p.x * rx, p.y * ry);
        arc.from + Vec2::new(x * cos - y * sin, x * sin + y * cos)
    };
    Some((back(a), back(b)))
}

fn mirrored(at: Point, control: Option<Point>) -> Point {
    control.map_or(at, |c| Point::new(2.0 * at.x - c.x, 2.0 * at.y - c.y))
}

/// 2^-10 px in the units before `transform`.
pub(crate) fn arc_tolerance(transform: Affine) -> f64 {
    let scale = crate::stroke::scale(transform);
    let tolerance = 1.0 / (1_024.0 * scale);
    if tolerance.is_normal() {
        tolerance
    } else {
        TOLERANCE
    }
}

/// The byte that an error of the parser names.
fn position(error: &svgtypes::Error, data: &str) -> usize {
    use svgtypes::Error as E;
    let characters = match error {
        E::UnexpectedData(at) | E::InvalidChar(_, at) | E::InvalidString(_, at) | E::InvalidNumber(at) => *at,
        _ => return data.len(),
    };
    data.char_indices()
        .nth(characters.saturating_sub(1))
        .map_or(data.len(), |(byte, _)| byte)
}
