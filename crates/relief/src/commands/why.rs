//! `relief why`: a sample as a story, node by node.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use relief_design::tree::Role;
use relief_engine::{Cancel, ExplainedNode, Explanation, Options, explain};
use serde_json::{Value, json};

use crate::arguments::Reading;
use crate::design::{self, Opened, Warnings};
use crate::failure::Failure;
use crate::interrupt;
use crate::quantity::bytes;

#[derive(Debug, Args)]
pub(crate) struct Why {
    /// The design file; '-' for the standard input
    file: PathBuf,
    /// The column: a pixel counted from 0, or a length such as 12.5mm
    #[arg(value_name = "X", allow_hyphen_values = true)]
    x: String,
    /// The row, as the column
    #[arg(value_name = "Y", allow_hyphen_values = true)]
    y: String,
    #[command(flatten)]
    reading: Reading,
    /// The most memory it may take, such as 64MiB or 2GB [default: 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    memory: Option<u64>,
    /// Worker threads [default: one for each processor]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(why: &Why) -> Result<(), Failure> {
    let opened = design::open(
        &why.file,
        &why.reading.within(why.memory),
        Warnings::unless(why.json),
    )?;
    let canvas = opened.design.canvas();
    let pixel = relief_design::rectangle([&why.x, &why.y, "1", "1"], canvas.pixel)
        .map_err(|problem| Failure::Usage(format!("the place {} {}: {problem}", why.x, why.y)))?;
    let inside = |place: i64, side: u64| u64::try_from(place).is_ok_and(|place| place < side);
    if !inside(pixel.x(), canvas.width) || !inside(pixel.y(), canvas.height) {
        return Err(Failure::Usage(format!(
            "there is no pixel {}, {} on the canvas of {}×{} pixels: columns are 0 to {}, rows 0 to {}",
            pixel.x(),
            pixel.y(),
            canvas.width,
            canvas.height,
            canvas.width.saturating_sub(1),
            canvas.height.saturating_sub(1)
        )));
    }
    let options = Options::default()
        .with(|with| with.memory = why.memory)
        .with(|with| with.threads = why.threads);
    let cancel = Cancel::new();
    let guard = interrupt::watch(&cancel, None);
    let story = explain(
        &opened.design,
        &opened.files,
        &options,
        (pixel.x(), pixel.y()),
        &cancel,
    )?;
    drop(guard);
    let mut out = io::stdout();
    if why.json {
        writeln!(out, "{:#}", as_json(&opened, &story))?;
    } else {
        write!(out, "{}", as_text(&opened, &story))?;
    }
    Ok(())
}

/// How many nodes lie above one.
fn depth(story: &Explanation, node: &ExplainedNode) -> usize {
    std::iter::successors(node.parent, |parent| story.nodes[*parent].parent).count()
}

fn as_text(opened: &Opened, story: &Explanation) -> String {
    let name = relief_design::visible(&opened.name);
    let max = opened.design.canvas().depth.max();
    let mut text = format!(
        "{name}: the sample at {}, {} is {} of {max}\n",
        story.x, story.y, story.value
    );
    let lines: Vec<(String, &ExplainedNode)> = story
        .nodes
        .iter()
        .map(|node| {
            let role = node
                .role
                .map_or(String::new(), |role| format!("({})", role.name()));
            let indent = "  ".repeat(depth(story, node));
            let place = node.place;
            (
                format!("{indent}{role}{} {}:{}", node.kind, place.line, place.column),
                node,
            )
        })
        .collect();
    let wide = lines.iter().map(|(line, _)| line.chars().count()).max();
    let wide = wide.unwrap_or(0).min(60);
    for (number, (line, node)) in lines.iter().enumerate() {
        let _ = write!(text, "{line:wide$}  at {}, {}: {}", node.x, node.y, node.value);
        if !node.inside {
            text.push_str(", beyond its edge");
        }
        if let Some(window) = node.window {
            let _ = write!(
                text,
                ", the middle of {}×{} that are read",
                window.width(),
                window.height()
            );
        }
        match (node.folded, node.role) {
            (Some((before, after)), Some(Role::Base)) if number > 0 => {
                let _ = write!(text, "; replaces {before} by {after}");
            }
            (Some((before, after)), _) if before == after => {
                let _ = write!(text, "; leaves {before}");
            }
            (Some((before, after)), _) => {
                let _ = write!(text, "; makes {after} of {before}");
            }
            (None, _) => {}
        }
        if node.replaced > 0 {
            let children = crate::quantity::counted(node.replaced as u64, "child");
            let children = children.replace("childs", "children");
            let _ = write!(text, "; {children} replaced by a later one");
        }
        text.push('\n');
    }
    if story.cut {
        let _ = writeln!(text, "… and more nodes: {} are told", story.nodes.len());
    }
    let decides = &story.nodes[story.decides];
    let _ = writeln!(
        text,
        "{name}:{}:{}: {} decides",
        decides.place.line, decides.place.column, decides.kind
    );
    text
}

fn as_json(opened: &Opened, story: &Explanation) -> Value {
    let nodes: Vec<Value> = story
        .nodes
        .iter()
        .map(|node| {
            json!({
                "kind": node.kind,
                "role": node.role.map(Role::name),
                "parent": node.parent,
                "line": node.place.line,
                "column": node.place.column,
                "x": node.x,
                "y": node.y,
                "inside": node.inside,
                "value": node.value,
                "folded": node.folded.map(|(before, after)| json!({ "before": before, "after": after })),
                "reads": node.window.map(|rect| json!({
                    "x": rect.x(), "y": rect.y(), "width": rect.width(), "height": rect.height(),
                })),
                "replaced": node.replaced,
            })
        })
        .collect();
    json!({
        "file": opened.name,
        "x": story.x,
        "y": story.y,
        "value": story.value,
        "greatest": opened.design.canvas().depth.max(),
        "decides": story.decides,
        "cut": story.cut,
        "warnings": opened.warnings.as_ref().map_or(0, relief_design::Report::total),
        "nodes": nodes,
    })
}
