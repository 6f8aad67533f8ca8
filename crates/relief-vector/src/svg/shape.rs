//! The paths of shapes.

use kurbo::{Affine, BezPath};

use super::value::{Of, Viewport, length};
use super::{Document, Error};
use crate::{Pixel, shapes};

type Node<'a, 'i> = roxmltree::Node<'a, 'i>;

/// What a shape is drawn with.
pub(super) struct Context<'a, 'i> {
    pub(super) document: &'a Document<'i>,
    pub(super) viewport: Viewport,
    pub(super) pixel: Option<Pixel>,
    /// For the scale alone.
    pub(super) transform: Affine,
}

/// The path of a shape, and what is wrong with it if anything is; `None` where the element is no shape.
pub(super) fn path(
    context: &Context<'_, '_>,
    node: Node<'_, '_>,
) -> Result<Option<(BezPath, Option<String>)>, Error> {
    let number = |name: &str, of: Of| -> Result<Option<f64>, Error> {
        let Some(text) = node.attribute(name) else {
            return Ok(None);
        };
        let value = length(context.document, node, text, of, &context.viewport, context.pixel)?;
        Ok(value.filter(|value| value.is_finite()))
    };
    let or_zero = |name: &str, of: Of| number(name, of).map(|value| value.unwrap_or(0.0));
    let tolerance = shapes::arc_tolerance(context.transform);
    let empty = BezPath::new();
    let path = match node.tag_name().name() {
        "path" => {
            let data = node.attribute("d").unwrap_or("").trim();
            let (path, fault) = if data == "none" {
                (empty, None)
            } else {
                shapes::path(data, context.transform)
            };
            let fault =
                fault.map(|at| format!("the path has a fault at its byte {at}; it is drawn up to there"));
            return Ok(Some((path, fault)));
        }
        "rect" => {
            let (x, y) = (or_zero("x", Of::Width)?, or_zero("y", Of::Height)?);
            let (width, height) = (or_zero("width", Of::Width)?, or_zero("height", Of::Height)?);
            let radius = |value: Option<f64>| value.filter(|value| *value >= 0.0);
            let (rx, ry) = (
                radius(number("rx", Of::Width)?),
                radius(number("ry", Of::Height)?),
            );
            let (rx, ry) = (rx.or(ry).unwrap_or(0.0), ry.or(rx).unwrap_or(0.0));
            if width > 0.0 && height > 0.0 {
                shapes::rounded_rectangle((x, y), (width, height), (rx, ry), tolerance)
            } else {
                empty
            }
        }
        "circle" | "ellipse" => {
            let centre = (or_zero("cx", Of::Width)?, or_zero("cy", Of::Height)?);
            let (rx, ry) = if node.tag_name().name() == "circle" {
                let r = or_zero("r", Of::Diagonal)?;
                (r, r)
            } else {
                let radius = |value: Option<f64>| value.filter(|value| *value >= 0.0);
                let (rx, ry) = (
                    radius(number("rx", Of::Width)?),
                    radius(number("ry", Of::Height)?),
                );
                (rx.or(ry).unwrap_or(0.0), ry.or(rx).unwrap_or(0.0))
            };
            if rx > 0.0 && ry > 0.0 {
                shapes::ellipse_within(centre, (rx, ry), tolerance)
            } else {
                empty
            }
        }
        "line" => shapes::line(&[
            (or_zero("x1", Of::Width)?, or_zero("y1", Of::Height)?),
            (or_zero("x2", Of::Width)?, or_zero("y2", Of::Height)?),
        ]),
        name @ ("polyline" | "polygon") => {
            let points: Vec<_> =
                svgtypes::PointsParser::from(node.attribute("points").unwrap_or("")).collect();
            if points.len() < 2 {
                empty
            } else if name == "polygon" {
                shapes::polygon(&points)
            } else {
                shapes::line(&points)
            }
        }
        _ => return Ok(None),
    };
    Ok(Some((path, None)))
}
