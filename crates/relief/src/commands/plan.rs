//! `relief plan`: how a design would be computed.

use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};

use relief_design::Rounding;
use relief_engine::{Kept, Peak, Plan, PlannedChild, PlannedNode};
use relief_raster::Length;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Value, json};

use relief_io::Format;

use crate::arguments::PlanArguments;
use crate::batch::Batch;
use crate::design::{Opened, Warnings};
use crate::failure::Failure;
use crate::quantity::{counted, show_bytes};
use crate::{design, job};

use super::render::PlannedFile;
use super::room::Space;
use super::{gcode, render, stream};

pub(crate) fn run(arguments: &PlanArguments) -> Result<(), Failure> {
    let job = &arguments.job;
    let Some(batch) = Batch::of(&arguments.each, &job.file)? else {
        return one(
            arguments,
            &design::open(&job.file, &job.reading(), Warnings::unless(arguments.json))?,
        );
    };
    for row in batch.jobs() {
        batch.open(row, &job.file, &job.reading(), Warnings::Silent)?;
    }
    for row in batch.jobs() {
        let opened = batch.open(row, &job.file, &job.reading(), Warnings::unless(arguments.json))?;
        if !arguments.json {
            let values = format!("{}: {}", batch.place(row), batch.values(row));
            writeln!(io::stdout(), "{}", relief_design::visible(&values))?;
        }
        one(arguments, &opened).map_err(|failure| failure.of(batch.place(row)))?;
    }
    Ok(())
}

fn one(arguments: &PlanArguments, opened: &Opened) -> Result<(), Failure> {
    let sink = match arguments.look_ahead {
        Some(look_ahead) => stream::memory(opened, &arguments.job, look_ahead)?,
        None => 0,
    };
    let (plan, file) = match arguments.render() {
        Some(render) => {
            let (plan, file) = render::plan(&render, opened)?;
            (plan, Some(file))
        }
        None if arguments.export.is_given() || arguments.level.is_given() => {
            return Err(Failure::Usage(
                "what is said of a file is for --output: name the file that 'relief render' would write"
                    .to_owned(),
            ));
        }
        None => (job::plan(opened, &arguments.job, sink)?, None),
    };
    let file = file.as_ref();
    let rounding = opened.design.rounding();
    let machine = Machine::of(arguments, opened)?;
    if arguments.json {
        let mut out = BufWriter::new(io::stdout().lock());
        let plan = AsJson {
            plan: &plan,
            rounding,
            file,
            machine: &machine,
            warnings: opened.warnings.as_ref().map_or(0, relief_design::Report::total),
        };
        serde_json::to_writer_pretty(&mut out, &plan).map_err(io::Error::from)?;
        writeln!(out)?;
        out.flush()?;
    } else {
        io::stdout().write_all(as_text(&plan, rounding, file, &machine).as_bytes())?;
    }
    Ok(())
}

/// What is known of a machine that makes the design.
#[derive(Default)]
struct Machine {
    gcode: Option<gcode::Estimate>,
    seconds: Option<f64>,
    /// What an hour and the job cost.
    cost: Option<(f64, f64)>,
    /// What the scan comes to.
    told: Vec<(&'static str, String)>,
    /// What the screens of nodes come to.
    dithers: Vec<String>,
}

impl Machine {
    fn of(arguments: &PlanArguments, opened: &Opened) -> Result<Self, Failure> {
        let node = opened.design.scan();
        let has_gcode = node.is_some_and(|node| node.gcode.is_some());
        let (gcode, seconds) = if has_gcode {
            let acceleration = arguments.motion.acceleration(opened.design.canvas().pixel)?;
            let gcode = gcode::Estimate::new(opened, &arguments.job, acceleration)?;
            let seconds = gcode.as_ref().map(gcode::Estimate::seconds);
            (gcode, seconds)
        } else {
            (
                None,
                stream::seconds_of_motion(opened, &arguments.job, &arguments.motion)?,
            )
        };
        if arguments.per_hour.is_some() && seconds.is_none() {
            return Err(Failure::Usage(
                "--per-hour needs the time of the job: give --speed, or the design a scan { gcode feed=… }"
                    .to_owned(),
            ));
        }
        let mut told = match node {
            Some(node) => stream::told(opened, &arguments.job, node)?,
            None => Vec::new(),
        };
        if let Some(halftone) = &arguments.export.halftone {
            told.retain(|(name, _)| *name != "screen");
            let text = halftone.told(opened.design.canvas().pixel);
            told.extend(text.map(|text| ("screen", text)));
        }
        Ok(Self {
            gcode,
            seconds,
            told,
            dithers: super::told::dithers(&opened.design),
            cost: arguments
                .per_hour
                .zip(seconds)
                .map(|(hour, seconds)| (hour, hour * seconds / 3_600.0)),
        })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (name, what) in &self.told {
            let _ = writeln!(text, "{name:8} {what}");
        }
        for what in &self.dithers {
            let _ = writeln!(text, "{:8} {what}", "screen");
        }
        match (&self.gcode, self.seconds) {
            (Some(gcode), _) => text.push_str(&gcode.text()),
            (None, Some(seconds)) => {
                let _ = writeln!(
                    text,
                    "time     {} by the motion of the machine",
                    stream::time(seconds)
                );
            }
            (None, None) => {}
        }
        if let Some((hour, cost)) = self.cost {
            let _ = writeln!(text, "cost     {cost:.2}, at {hour} an hour");
        }
        text
    }
}

fn as_text(plan: &Plan, rounding: Option<Rounding>, file: Option<&PlannedFile>, machine: &Machine) -> String {
    let (raster, shape) = (plan.raster(), plan.shape());
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
        "tiles    {} × {} pixels on {}",
        shape.tile_width,
        shape.tile_height,
        counted(plan.threads() as u64, "thread")
    );
    if plan.preparation() > 0 {
        let _ = writeln!(
            text,
            "before   {} samples are looked at before the first band",
            plan.preparation()
        );
    }
    if let Some(device) = plan.device() {
        let ids: Vec<String> = device.ids.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            text,
            "devices  {}: {} each, {} with {} on the way",
            ids.join(", "),
            show_bytes(u128::from(device.bytes)),
            counted(device.lanes as u64, "lane"),
            counted(device.depth as u64, "band")
        );
        if device.strip > 1 {
            let _ = writeln!(
                text,
                "         planes that halos read serve {} bands",
                device.strip
            );
        }
    }
    if let Some(Rounding { pixels, place }) = rounding {
        let _ = writeln!(
            text,
            "rounding {} px at most, at line {}",
            short(pixels),
            place.line
        );
    }
    for drawing in plan.slow_drawings() {
        let _ = writeln!(
            text,
            "slow     the outlines of line {} lie close together: 1024 × 64 pixels of them may take {:.0} s of a core; smaller pixels or fewer copies take less",
            drawing.line,
            drawing.seconds.ceil()
        );
    }
    let nodes = plan.nodes();
    text.push_str(&by_host(&nodes));
    memory(plan, &mut text);
    if let Some(file) = file {
        output(file, &mut text);
    }
    text.push_str(&machine.text());
    let _ = writeln!(text, "nodes");
    let mut shown = vec![false; nodes.len()];
    if let Some(root) = nodes.len().checked_sub(1) {
        tree(&nodes, root, "", "", &mut shown, &mut text);
    }
    text
}

/// What the host computes of every band for GPUs, and what it copies; nothing where it computes none.
fn by_host(nodes: &[PlannedNode]) -> String {
    const NAMED: usize = 3;
    let copied: Vec<(&PlannedNode, u64)> = nodes
        .iter()
        .filter_map(|node| node.by_host.filter(|bytes| *bytes > 0).map(|bytes| (node, bytes)))
        .collect();
    if copied.is_empty() {
        return String::new();
    }
    let mut names: Vec<String> = copied
        .iter()
        .take(NAMED)
        .map(|(node, _)| format!("{} (line {})", node.kind, node.line))
        .collect();
    if copied.len() > NAMED {
        names.push(format!("{} more", copied.len() - NAMED));
    }
    let last = names.pop().unwrap_or_default();
    let names = if names.is_empty() {
        last
    } else {
        format!("{} and {last}", names.join(", "))
    };
    let bytes = copied.iter().map(|(_, bytes)| u128::from(*bytes)).sum();
    format!(
        "host     computes {names} and copies at most {} to a GPU for each band\n",
        show_bytes(bytes)
    )
}

/// What the file would be.
fn output(planned: &PlannedFile, text: &mut String) {
    let PlannedFile {
        path,
        format,
        file,
        space,
    } = planned;
    let name = match path {
        Some(path) => relief_design::visible(&path.display().to_string()).into_owned(),
        None => "nothing is written".to_owned(),
    };
    let (files, each) = match file.files {
        Some(1) => ("a file of ".to_owned(), ""),
        Some(files) => (format!("{files} files of "), "each "),
        None => (String::new(), ""),
    };
    let size = file.bytes.map_or(String::new(), |bytes| {
        let more = if file.exact {
            String::new()
        } else if file.compressed && file.least > 0 {
            format!(
                " at most, before it is compressed, and {} at least",
                show_bytes(file.least)
            )
        } else {
            let why = match (file.compressed, *format) {
                (true, _) => ", before it is compressed",
                (false, Format::Zarr) => ", where no chunk is 0 alone",
                (false, _) => "",
            };
            format!(" at most{why}")
        };
        format!(", {each}{}{more}", show_bytes(bytes))
    });
    let _ = writeln!(text, "output   {name}: {files}{format}{size}");
    if let Some(((width, height), tiles)) = file.tiles {
        let distinct = file
            .distinct
            .map(|distinct| format!(", at most {distinct} of them different"));
        let reason = file.reason.as_ref().map(|reason| format!(": {reason}"));
        let levels = file
            .levels
            .filter(|levels| *levels > 0)
            .map(|levels| format!(", those of {} among them", counted(levels, "level")));
        let _ = writeln!(
            text,
            "         {} of {width} × {height} pixels{}{}{}",
            counted(tiles, "tile"),
            levels.unwrap_or_default(),
            distinct.unwrap_or_default(),
            reason.unwrap_or_default()
        );
    }
    if let Some(space) = space {
        let _ = writeln!(text, "         {}", space.text());
    }
    let words = [
        if file.parallel {
            "written by all threads"
        } else {
            "written in order"
        },
        if file.resumable {
            "goes on where it was left"
        } else {
            "begins anew where it was left"
        },
        if file.parts {
            "may be written in parts"
        } else {
            "is written by one process"
        },
    ];
    let _ = writeln!(text, "         {}", words.join(", "));
}

/// The file as JSON.
fn output_as_json(planned: &PlannedFile) -> Value {
    let PlannedFile {
        path,
        format,
        file,
        space,
    } = planned;
    json!({
        "path": path.as_ref().map(|path| path.display().to_string()),
        "format": format.name(),
        "files": file.files.unwrap_or(1),
        "bytes": file.bytes.map(|bytes| bytes.to_string()),
        "exact": file.exact,
        "least_bytes": file.bytes.map(|_| file.least.to_string()),
        "room": space.as_ref().map(Space::as_json),
        "tile": file.tiles.map(|((width, height), _)| json!({ "width": width, "height": height })),
        "tiles": file.tiles.map(|(_, tiles)| tiles.to_string()),
        "distinct_tiles": file.distinct.map(|distinct| distinct.to_string()),
        "reason": file.reason,
        "levels": file.levels,
        "resumable": file.resumable,
        "parallel": file.parallel,
        "parts": file.parts,
    })
}

/// At most three digits after the point.
fn short(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
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
        Kept::Whole => format!(
            "all that is read in memory, {}",
            show_bytes(u128::from(node.bytes))
        ),
        Kept::Tiles { columns, rows } => format!("cached in tiles of {columns} × {rows}"),
        Kept::Windows { columns, rows } => format!("read by windows, cached in tiles of {columns} × {rows}"),
        Kept::Unused => "not read".to_owned(),
        _ => "cached".to_owned(),
    };
    let host = match node.by_host {
        None => String::new(),
        Some(_) if again => String::new(),
        Some(0) => "by the host".to_owned(),
        Some(bytes) => format!(
            "by the host, at most {} a band copied",
            show_bytes(u128::from(bytes))
        ),
    };
    let notes = [host, kept].into_iter().filter(|note| !note.is_empty());
    let notes: String = notes.map(|note| format!("; {note}")).collect();
    let _ = writeln!(
        text,
        "  {lead}{label}{} (line {}) {} × {}{notes}",
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

/// A part of the memory of a job: its name, and what it holds.
type Part = (&'static str, u64);

/// What a job holds from its start to its end, before the first band one after the other, and from then on. So its peak is the sum of the first and
/// of the larger of the two others, of which the middle one counts as its largest part.
fn phases(peak: &Peak) -> (Vec<Part>, Vec<Part>, Vec<Part>) {
    let Peak {
        bands,
        cache,
        scratch,
        images,
        decoding,
        preparing,
        fonts,
        design,
        levels,
        tables,
        kept,
        sink,
        ..
    } = *peak;
    (
        vec![
            ("scratch", scratch),
            ("images", images),
            ("design", design),
            ("tables", tables),
            ("cells and patterns", kept),
            ("sums of levels", levels),
        ],
        vec![("decoding", decoding), ("preparing", preparing), ("fonts", fonts)],
        vec![("bands", bands), ("tile cache", cache), ("output", sink)],
    )
}

fn sum(parts: &[Part]) -> u64 {
    parts.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
}

fn largest(parts: &[Part]) -> u64 {
    parts.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0)
}

/// The peak, and what stands at the same time in it.
fn memory(plan: &Plan, text: &mut String) {
    let peak = plan.peak();
    let (always, before, then) = phases(&peak);
    let show = |bytes: u64| show_bytes(u128::from(bytes));
    let before_peak = largest(&before);
    let _ = writeln!(
        text,
        "memory   {} at most: {} all the time and {}",
        show(peak.total()),
        show(sum(&always)),
        if before_peak == 0 {
            format!("{} while bands are computed", show(sum(&then)))
        } else {
            format!(
                "the larger of {} before the first band and {} while bands are computed",
                show(before_peak),
                show(sum(&then))
            )
        }
    );
    let more = if before.iter().filter(|(_, bytes)| *bytes > 0).count() > 1 {
        ", one after the other"
    } else {
        ""
    };
    for (when, more, parts) in [
        ("all the time", "", always),
        ("before the first band", more, before),
        ("while bands are computed", "", then),
    ] {
        for (name, bytes) in parts.into_iter().filter(|(_, bytes)| *bytes > 0) {
            let _ = writeln!(text, "         {:>10}  {name}, {when}{more}", show(bytes));
        }
    }
}

/// The parts of the memory, and which of them stand at the same time.
fn memory_as_json(peak: &Peak) -> (Value, Value) {
    let key = |name: &str| name.replace(' ', "_");
    let (always, before, then) = phases(peak);
    let names = |parts: &[Part]| parts.iter().map(|(name, _)| key(name)).collect::<Vec<_>>();
    let phases = json!({
        "always": { "bytes": sum(&always), "sum_of": names(&always) },
        "before_bands": { "bytes": largest(&before), "largest_of": names(&before) },
        "bands": { "bytes": sum(&then), "sum_of": names(&then) },
    });
    let all = always.into_iter().chain(before).chain(then);
    let parts: serde_json::Map<String, Value> = all.map(|(name, bytes)| (key(name), json!(bytes))).collect();
    (Value::Object(parts), phases)
}

/// A plan as JSON. Its nodes, of which there may be many, are made one by one as they are written.
struct AsJson<'a> {
    plan: &'a Plan,
    rounding: Option<Rounding>,
    file: Option<&'a PlannedFile>,
    machine: &'a Machine,
    /// How many things are doubtful in the design.
    warnings: usize,
}

impl Serialize for AsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Nodes(Vec<PlannedNode>);

        impl Serialize for Nodes {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(self.0.iter().map(node_as_json))
            }
        }

        let mut map = serializer.serialize_map(None)?;
        for (key, value) in summary(self.plan) {
            map.serialize_entry(&key, &value)?;
        }
        let rounding = self.rounding.map(|rounding| {
            json!({
                "pixels": rounding.pixels,
                "line": rounding.place.line,
                "column": rounding.place.column,
            })
        });
        map.serialize_entry("rounding", &rounding)?;
        map.serialize_entry("warnings", &self.warnings)?;
        if let Some(file) = self.file {
            map.serialize_entry("output", &output_as_json(file))?;
        }
        let Machine {
            gcode,
            seconds,
            cost,
            told,
            dithers,
        } = self.machine;
        let told: Vec<&str> = told.iter().map(|(_, text)| text.as_str()).collect();
        map.serialize_entry("scan", &told)?;
        map.serialize_entry("dithers", dithers)?;
        map.serialize_entry("gcode", gcode)?;
        map.serialize_entry("machine_seconds", seconds)?;
        map.serialize_entry("cost", &cost.map(|(_, cost)| cost))?;
        let shape = self.plan.shape();
        let bands = Bands {
            count: self.plan.bands(),
            width: shape.band_width,
            height: shape.band_height,
            in_flight: shape.bands,
        };
        let slow = self.plan.slow_drawings().iter();
        let slow: Vec<Value> = slow
            .map(|slow| json!({ "line": slow.line, "seconds": slow.seconds }))
            .collect();
        map.serialize_entry("slow_drawings", &slow)?;
        map.serialize_entry("bands", &bands)?;
        map.serialize_entry("nodes", &Nodes(self.plan.nodes()))?;
        map.end()
    }
}

/// The bands of a plan: more than 64 bits can count.
#[derive(Serialize)]
struct Bands {
    count: u128,
    width: u64,
    height: u64,
    in_flight: usize,
}

/// Everything but the bands and the nodes.
fn summary(plan: &Plan) -> serde_json::Map<String, Value> {
    let (raster, shape, region) = (plan.raster(), plan.shape(), plan.region());
    let (memory, phases) = memory_as_json(&plan.peak());
    let summary = json!({
        "raster": {
            "width": raster.width,
            "height": raster.height,
            "depth": raster.depth.bits(),
            "pixel_picometres": raster.pixel.map(Length::nearest_picometres),
            "pixel_metres": raster.pixel.map(Length::terms),
            "x": region.x(),
            "y": region.y(),
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
        "preparation_samples": plan.preparation().to_string(),
        "peak_bytes": plan.peak().total(),
        "memory": memory,
        "phases": phases,
    });
    match summary {
        Value::Object(map) => map,
        _ => serde_json::Map::new(),
    }
}

/// A node as JSON.
#[derive(Serialize)]
struct NodeAsJson<'a> {
    bytes: u64,
    by_host: Option<Value>,
    #[serde(serialize_with = "children")]
    children: &'a [PlannedChild],
    height: u64,
    kept: Value,
    kind: &'a str,
    line: u32,
    width: u64,
}

/// A child of a node as JSON.
#[derive(Serialize)]
struct ChildAsJson {
    halo: u32,
    node: usize,
    role: &'static str,
    x: i64,
    y: i64,
}

fn children<S: Serializer>(children: &[PlannedChild], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(children.iter().map(|child| ChildAsJson {
        halo: child.halo,
        node: child.node,
        role: child.role.name(),
        x: child.x,
        y: child.y,
    }))
}

fn node_as_json(node: &PlannedNode) -> NodeAsJson<'_> {
    NodeAsJson {
        bytes: node.bytes,
        by_host: node
            .by_host
            .map(|bytes| json!({ "copied_bytes_per_band": bytes })),
        children: &node.children,
        height: node.height,
        kept: match node.kept {
            Kept::Nothing => json!({ "as": "nothing" }),
            Kept::Picture => json!({ "as": "picture" }),
            Kept::Cell { columns, rows } => json!({ "as": "cell", "width": columns, "height": rows }),
            Kept::Whole => json!({ "as": "whole" }),
            Kept::Tiles { columns, rows } => json!({ "as": "tiles", "width": columns, "height": rows }),
            Kept::Windows { columns, rows } => json!({ "as": "windows", "width": columns, "height": rows }),
            Kept::Unused => json!({ "as": "unused" }),
            _ => json!({ "as": "other" }),
        },
        kind: node.kind,
        line: node.line,
        width: node.width,
    }
}
