//! A design that is shown, and what is told of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use relief_design::{Design, ImageSource, NodeId, Report, visible};
use relief_engine::{KnownLevels, MAX_LEVEL, Rect, differing};
use serde_json::{Value, json};

use crate::source::Opened;

/// The most nodes that are listed.
const MAX_LISTED: usize = 5_000;

/// The most characters of a line that are shown.
const MAX_LINE: usize = 240;

/// The most rectangles that are told in which a design differs from the one before.
const MAX_RECTS: usize = 256;

/// In what a design differs from the one before.
pub(crate) struct Since {
    /// The key of the one before.
    key: String,
    /// Beyond them the rasters are the same.
    rects: Vec<Rect>,
}

impl Since {
    fn json(&self) -> Value {
        let rects: Vec<Value> = (self.rects.iter())
            .map(|rect| json!([rect.x(), rect.y(), rect.width(), rect.height()]))
            .collect();
        json!({ "key": self.key, "rects": rects })
    }
}

/// A design as it is shown.
pub(crate) struct Scene {
    pub(crate) key: String,
    pub(crate) design: Design,
    pub(crate) images: Arc<dyn ImageSource>,
    pub(crate) pictures: BTreeMap<String, String>,
    pub(crate) known: Option<Arc<dyn KnownLevels>>,
    pub(crate) text: String,
    pub(crate) warnings: Vec<Value>,
}

impl Scene {
    pub(crate) fn new(opened: Opened) -> Self {
        let warnings = opened.warnings.as_ref();
        Self {
            warnings: warnings.map_or_else(Vec::new, |report| problems(report, &opened.text)),
            key: opened.key,
            design: opened.design,
            images: opened.images,
            pictures: opened.pictures,
            known: opened.known,
            text: opened.text,
        }
    }

    /// The node of this number: the root where it is `root`.
    pub(crate) fn node(&self, text: &str) -> Option<NodeId> {
        if text == "root" {
            return Some(self.design.root());
        }
        let number: usize = text.parse().ok()?;
        (number < self.design.nodes().len()).then_some(NodeId(number))
    }

    /// The design of a node: itself for its root.
    pub(crate) fn design_of(&self, node: NodeId) -> Design {
        if node == self.design.root() {
            self.design.clone()
        } else {
            self.design.subtree(node)
        }
    }

    /// Where its raster may be another than that of `before`, if that is worth telling: both are as large, and parts are the same.
    pub(crate) fn since(&self, before: &Self) -> Option<Since> {
        let size = |scene: &Self| (scene.design.canvas().width, scene.design.canvas().height);
        if size(self) != size(before) {
            return None;
        }
        let same = |name: &str| {
            let of = |scene: &Self| scene.pictures.get(name).cloned();
            of(self).is_some_and(|picture| of(before) == Some(picture))
        };
        let rects = differing(&before.design, &self.design, &same).ok()?;
        let all: u128 = rects.iter().map(Rect::area).sum();
        let worth = rects.len() <= MAX_RECTS && all < Rect::sized(size(self).0, size(self).1).area();
        worth.then(|| Since {
            key: before.key.clone(),
            rects,
        })
    }

    /// The raster and its nodes, for the page.
    pub(crate) fn json(&self, since: Option<&Since>) -> Value {
        let canvas = &self.design.canvas();
        let lines: Vec<&str> = self.text.lines().collect();
        let first = self.design.nodes().len().saturating_sub(MAX_LISTED);
        let nodes: Vec<Value> = (self.design.nodes().iter().enumerate().skip(first))
            .map(|(id, node)| {
                let children: Vec<Value> = (node.children.iter().filter(|child| child.node.0 >= first))
                    .map(|child| {
                        json!({
                            "role": child.role.name(), "node": child.node.0,
                            "x": child.extent.x(), "y": child.extent.y(),
                        })
                    })
                    .collect();
                json!({
                    "id": id, "kind": node.kind.name(), "width": node.width, "height": node.height,
                    "line": node.place.line, "column": node.place.column,
                    "text": lines.get(node.place.line as usize - 1).map(|line| shown(line.trim())),
                    "children": children,
                })
            })
            .collect();
        json!({
            "key": self.key,
            "width": canvas.width, "height": canvas.height,
            "bits": canvas.depth.bits(), "max": canvas.depth.max(),
            "pixel": canvas.pixel.map(relief_raster::Length::to_metres),
            "amplitude": canvas.amplitude.map(relief_raster::Length::to_metres),
            "levels": levels(canvas.width, canvas.height),
            "root": self.design.root().0,
            "nodes": nodes,
            "warnings": self.warnings,
            "since": since.map(Since::json),
        })
    }
}

/// The coarsest level that says more than the one below: the first of a single tile.
pub(crate) fn levels(width: u64, height: u64) -> u32 {
    (0..MAX_LEVEL)
        .find(|level| width.max(height).div_ceil(1 << level) <= 256)
        .unwrap_or(MAX_LEVEL)
}

/// A line of a file, as far as it is shown.
fn shown(line: &str) -> String {
    let mut text: String = visible(line).chars().take(MAX_LINE).collect();
    if text.len() < line.len() && text.chars().count() == MAX_LINE {
        text.push('…');
    }
    text
}

/// What is wrong with a text, or doubtful, for the page.
pub(crate) fn problems(report: &Report, text: &str) -> Vec<Value> {
    let lines: Vec<&str> = text.lines().collect();
    (report.problems().iter())
        .map(|problem| {
            let places: Vec<Value> = problem
                .pointers()
                .map(|pointer| {
                    let line = lines.get(pointer.place.line as usize - 1).copied().unwrap_or("");
                    let (start, length) = pointer.bytes;
                    let marked = text.get(start..start + length).map_or(1, |marked| {
                        marked
                            .lines()
                            .next()
                            .map_or(1, |line| line.chars().count().max(1))
                    });
                    json!({
                        "line": pointer.place.line, "column": pointer.place.column,
                        "length": marked, "label": pointer.text, "text": shown(line),
                    })
                })
                .collect();
            json!({
                "code": problem.code(), "warning": problem.is_warning(),
                "message": problem.message(), "help": problem.help_text(), "places": places,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coarsest_level_is_one_tile() {
        assert_eq!(levels(1, 1), 0);
        assert_eq!(levels(256, 256), 0);
        assert_eq!(levels(257, 1), 1);
        assert_eq!(levels(2_000_000, 1_800_000), 13);
        assert_eq!(levels(1 << 40, 1), 32);
    }
}
