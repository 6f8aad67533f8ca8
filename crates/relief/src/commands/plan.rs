//! `relief plan`: how a design would be computed.

use std::fmt::Write as _;
use std::io::{self, Write};

use relief_engine::{Kept, Plan, PlannedNode};
use serde_json::{Value, json};

use crate::arguments::PlanArguments;
use crate::failure::Failure;
use crate::quantity::show_bytes;
use crate::{design, job};

use super::stream;

pub(crate) fn run(arguments: &PlanArguments) -> Result<(), Failure> {
    let opened = design::open(&arguments.job.file)?;
    let sink = match arguments.look_ahead {
        Some(look_ahead) => stream::memory(&opened, &arguments.job, look_ahead)?,
        None => 0,
    };
    let plan = job::plan(&opened, &arguments.job, sink)?;
    if arguments.json {
        writeln!(io::stdout(), "{:#}", as_json(&plan))?;
    } else {
        io::stdout().write_all(as_text(&plan).as_bytes())?;
    }
    Ok(())
}

fn as_text(plan: &Plan) -> String {
    let (raster, shape, peak) = (plan.raster(), plan.shape(), plan.peak());
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "raster   {} × {} pixels, {}, {}",
        raster.width,
        raster.height,
        raster.depth,
        show_bytes(raster.bytes())
    );
    let _ = writeln!(
        text,
        "bands    {} of {} × {} pixels, {} in flight",
        plan.bands(),
        shape.band_width,
        shape.band_height,
        shape.bands
    );
    let _ = writeln!(
        text,
        "tiles    {} × {} pixels on {} threads",
        shape.tile_width,
        shape.tile_height,
        plan.threads()
    );
    if let Some(device) = plan.device() {
        let ids: Vec<String> = device.ids.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            text,
            "devices  {}: {} each, {} lanes with {} bands on the way",
            ids.join(", "),
            show_bytes(u128::from(device.bytes)),
            device.lanes,
            device.depth
        );
        if device.strip > 1 {
            let _ = writeln!(
                text,
                "         planes that halos read serve {} bands",
                device.strip
            );
        }
    }
    let _ = writeln!(text, "memory   {} at most", show_bytes(u128::from(peak.total())));
    for (name, bytes) in parts(plan) {
        if bytes > 0 {
            let _ = writeln!(text, "         {:>10}  {name}", show_bytes(u128::from(bytes)));
        }
    }
    let _ = writeln!(text, "nodes");
    let nodes = plan.nodes();
    let mut shown = vec![false; nodes.len()];
    if let Some(root) = nodes.len().checked_sub(1) {
        tree(&nodes, root, "", "", &mut shown, &mut text);
    }
    text
}

/// One line a node; a node used again is named, not shown again.
fn tree(nodes: &[PlannedNode], index: usize, lead: &str, label: &str, shown: &mut [bool], text: &mut String) {
    let node = &nodes[index];
    let again = std::mem::replace(&mut shown[index], true);
    let kept = match node.kept {
        _ if again => "as above".to_owned(),
        Kept::Nothing => String::new(),
        Kept::Picture => format!("in memory, {}", show_bytes(u128::from(node.bytes))),
        Kept::Cell { columns, rows } => {
            format!(
                "one cell of {columns} × {rows} in memory, {}",
                show_bytes(u128::from(node.bytes))
            )
        }
        Kept::Whole => format!("whole in memory, {}", show_bytes(u128::from(node.bytes))),
        Kept::Tiles { columns, rows } => format!("cached in tiles of {columns} × {rows}"),
        Kept::Unused => "not read".to_owned(),
    };
    let separator = if kept.is_empty() { "" } else { "; " };
    let _ = writeln!(
        text,
        "  {lead}{label}{} (line {}) {} × {}{separator}{kept}",
        node.kind, node.line, node.width, node.height
    );
    if again {
        return;
    }
    let below = if label.is_empty() {
        lead.to_owned()
    } else {
        format!("{lead}    ")
    };
    for child in &node.children {
        let at = if (child.x, child.y) == (0, 0) {
            String::new()
        } else {
            format!(" at {},{}", child.x, child.y)
        };
        let halo = if child.halo > 0 {
            format!(" halo {}", child.halo)
        } else {
            String::new()
        };
        let label = format!("({}{at}{halo}) ", child.role.name());
        tree(nodes, child.node, &below, &label, shown, text);
    }
}

fn parts(plan: &Plan) -> [(&'static str, u64); 8] {
    let peak = plan.peak();
    [
        ("bands", peak.bands),
        ("tile cache", peak.cache),
        ("scratch", peak.scratch),
        ("images", peak.images),
        ("decoding", peak.decoding),
        ("tables", peak.tables),
        ("cells and patterns", peak.kept),
        ("output", peak.sink),
    ]
}

fn as_json(plan: &Plan) -> Value {
    let (raster, shape, region) = (plan.raster(), plan.shape(), plan.region());
    let memory: serde_json::Map<String, Value> = parts(plan)
        .into_iter()
        .map(|(name, bytes)| (name.replace(' ', "_"), json!(bytes)))
        .collect();
    let nodes: Vec<Value> = plan.nodes().iter().map(node_as_json).collect();
    json!({
        "raster": {
            "width": raster.width,
            "height": raster.height,
            "depth": raster.depth.bits(),
            "pixel_picometres": raster.pixel,
            "x": region.x(),
            "y": region.y(),
        },
        "bands": {
            "count": plan.bands() as f64,
            "width": shape.band_width,
            "height": shape.band_height,
            "in_flight": shape.bands,
        },
        "tile": { "width": shape.tile_width, "height": shape.tile_height },
        "threads": plan.threads(),
        "devices": plan.device().map(|device| json!({
            "ids": device.ids.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "bytes": device.bytes,
            "lanes": device.lanes,
            "depth": device.depth,
            "strip": device.strip,
        })),
        "peak_bytes": plan.peak().total(),
        "memory": memory,
        "nodes": nodes,
    })
}

fn node_as_json(node: &PlannedNode) -> Value {
    let kept = match node.kept {
        Kept::Nothing => json!({ "as": "nothing" }),
        Kept::Picture => json!({ "as": "picture" }),
        Kept::Cell { columns, rows } => json!({ "as": "cell", "width": columns, "height": rows }),
        Kept::Whole => json!({ "as": "whole" }),
        Kept::Tiles { columns, rows } => json!({ "as": "tiles", "width": columns, "height": rows }),
        Kept::Unused => json!({ "as": "unused" }),
    };
    let children: Vec<Value> = node
        .children
        .iter()
        .map(|child| {
            json!({
                "role": child.role.name(),
                "node": child.node,
                "x": child.x,
                "y": child.y,
                "halo": child.halo,
            })
        })
        .collect();
    json!({
        "kind": node.kind,
        "line": node.line,
        "width": node.width,
        "height": node.height,
        "kept": kept,
        "bytes": node.bytes,
        "children": children,
    })
}
