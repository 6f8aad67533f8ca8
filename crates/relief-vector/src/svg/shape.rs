//! The paths of shapes.

use kurbo::BezPath;

use super::Error;
use super::draw::{Drawer, State};
use super::style::Node;
use super::value::Of;
use crate::shapes;

/// The path of a shape, up to what is wrong with it, which is told; `None` where the element is no shape.
pub(super) fn path(
    drawer: &mut Drawer<'_, '_>,
    node: Node<'_, '_>,
    state: &State,
) -> Result<Option<BezPath>, Error> {
    let tolerance = shapes::arc_tolerance(state.transform);
    let mut place = |name: &str, of: Of| -> Result<f64, Error> {
        Ok(drawer.length(node, name, of, state)?.unwrap_or(0.0))
    };
    let empty = BezPath::new();
    let path = match node.tag_name().name() {
        "path" => {
            let data = node.attribute("d").unwrap_or("").trim();
            if data == "none" {
                return Ok(Some(empty));
            }
            let (path, fault) = shapes::path(data, state.transform);
            if let Some(at) = fault {
                drawer.warn(node, faulty(at));
            }
            path
        }
        "rect" => {
            let (x, y) = (place("x", Of::Width)?, place("y", Of::Height)?);
            let mut side = |name: &str, of: Of| drawer.side(node, name, of, state);
            let (width, height) = (
                side("width", Of::Width)?.unwrap_or(0.0),
                side("height", Of::Height)?.unwrap_or(0.0),
            );
            let (rx, ry) = (side("rx", Of::Width)?, side("ry", Of::Height)?);
            let (rx, ry) = (rx.or(ry).unwrap_or(0.0), ry.or(rx).unwrap_or(0.0));
            if width > 0.0 && height > 0.0 {
                shapes::rounded_rectangle((x, y), (width, height), (rx, ry), tolerance)
            } else {
                empty
            }
        }
        "circle" | "ellipse" => {
            let centre = (place("cx", Of::Width)?, place("cy", Of::Height)?);
            let mut side = |name: &str, of: Of| drawer.side(node, name, of, state);
            let (rx, ry) = if node.tag_name().name() == "circle" {
                let r = side("r", Of::Diagonal)?.unwrap_or(0.0);
                (r, r)
            } else {
                let (rx, ry) = (side("rx", Of::Width)?, side("ry", Of::Height)?);
                (rx.or(ry).unwrap_or(0.0), ry.or(rx).unwrap_or(0.0))
            };
            if rx > 0.0 && ry > 0.0 {
                shapes::ellipse_within(centre, (rx, ry), tolerance)
            } else {
                empty
            }
        }
        "line" => shapes::line(&[
            (place("x1", Of::Width)?, place("y1", Of::Height)?),
            (place("x2", Of::Width)?, place("y2", Of::Height)?),
        ]),
        name @ ("polyline" | "polygon") => {
            let text = node.attribute("points").unwrap_or("").trim();
            let (points, whole) = points(text);
            if !whole {
                let why = "the list of points has a fault, or a number without a second one";
                drawer.warn(node, format!("{why}: {} of them are drawn", points.len()));
            }
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
    Ok(Some(path))
}

/// What is told of a path with a fault.
pub(super) fn faulty(at: usize) -> String {
    format!("the path has a fault at its byte {at}; it is drawn up to there")
}

/// The points of a list up to the first fault in it, and whether it has none.
fn points(text: &str) -> (Vec<(f64, f64)>, bool) {
    let mut points = Vec::new();
    let mut first = None;
    for number in svgtypes::NumberListParser::from(text) {
        match (number, first) {
            (Ok(number), None) => first = Some(number),
            (Ok(y), Some(x)) => {
                points.push((x, y));
                first = None;
            }
            (Err(_), _) => return (points, false),
        }
    }
    (points, first.is_none())
}
