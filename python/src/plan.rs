//! A plan as JSON, which Python shows.

use relief_engine::{Kept, Length, Plan, PlannedNode};
use serde_json::{Map, Value, json};

/// The most nodes that a plan tells of.
const MAX_NODES: usize = 100_000;

/// All that a plan says.
pub(crate) fn told(plan: &Plan) -> String {
    let (raster, shape, region, peak) = (plan.raster(), plan.shape(), plan.region(), plan.peak());
    let memory: Map<String, Value> = [
        ("bands", peak.bands),
        ("tile_cache", peak.cache),
        ("scratch", peak.scratch),
        ("images", peak.images),
        ("decoding", peak.decoding),
        ("preparing", peak.preparing),
        ("fonts", peak.fonts),
        ("design", peak.design),
        ("levels", peak.levels),
        ("tables", peak.tables),
        ("cells_and_patterns", peak.kept),
        ("output", peak.sink),
    ]
    .into_iter()
    .map(|(name, bytes)| (name.to_owned(), json!(bytes)))
    .collect();
    json!({
        "width": raster.width,
        "height": raster.height,
        "bits": raster.depth.bits(),
        "x": region.x(),
        "y": region.y(),
        "pixel_metres": raster.pixel.map(Length::to_metres),
        "peak_bytes": peak.total(),
        "memory": memory,
        "threads": plan.threads(),
        "levels": plan.levels(),
        "tile": [shape.tile_width, shape.tile_height],
        "band": [shape.band_width, shape.band_height],
        // More than 64 bits can count.
        "bands": plan.bands().to_string(),
        "bands_in_flight": shape.bands,
        "preparation_samples": plan.preparation().to_string(),
        "period": plan.period().map(|(period, valid)| json!({
            "columns": period.a(), "shift": period.b(), "rows": period.c(),
            "within": [valid.x(), valid.y(), valid.width(), valid.height()],
        })),
        "devices": plan.device().map(|device| json!({
            "ids": device.ids.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "bytes": device.bytes,
        })),
        "nodes": plan.nodes().iter().take(MAX_NODES).map(node).collect::<Vec<_>>(),
    })
    .to_string()
}

fn node(node: &PlannedNode) -> Value {
    let kept = match node.kept {
        Kept::Nothing => "nothing",
        Kept::Picture => "picture",
        Kept::Cell { .. } => "cell",
        Kept::Whole => "whole",
        Kept::Tiles { .. } => "tiles",
        Kept::Windows { .. } => "windows",
        Kept::Unused => "unused",
        _ => "other",
    };
    let children: Vec<Value> = node
        .children
        .iter()
        .map(|child| json!({ "node": child.node, "role": child.role.name(), "x": child.x, "y": child.y }))
        .collect();
    json!({
        "kind": node.kind,
        "line": node.line,
        "width": node.width,
        "height": node.height,
        "kept": kept,
        "bytes": node.bytes,
        "by_host": node.by_host,
        "children": children,
    })
}
