//! `relief check`: a design is right, and what it makes.

use std::io::{self, Write};

use relief_design::scan::ScanNode;
use relief_engine::Raster;
use relief_scan::{GcodeProgram, Program, Tables};

use crate::arguments::Check;
use crate::batch::Batch;
use crate::design::{self, Opened, Warnings};
use crate::failure::Failure;
use crate::quantity::counted;

use super::told;

pub(crate) fn run(check: &Check) -> Result<(), Failure> {
    let Some(batch) = Batch::of(&check.each, &check.file)? else {
        return one(&design::open(&check.file, &check.reading, Warnings::Shown)?);
    };
    for row in batch.jobs() {
        let opened = batch.open(row, &check.file, &check.reading, Warnings::Shown)?;
        one(&opened).map_err(|failure| failure.of(batch.place(row)))?;
    }
    Ok(())
}

fn one(opened: &Opened) -> Result<(), Failure> {
    let told = match opened.design.scan() {
        Some(node) => told::of(node, &opened.design.canvas(), &prove(opened, node)?),
        None => Vec::new(),
    };
    let canvas = opened.design.canvas();
    let pixel = canvas.pixel.map_or(String::new(), |pixel| format!(" of {pixel}"));
    let size = canvas.pixel.map_or(String::new(), |pixel| {
        let side = |count: u64| length(count as f64 * pixel.to_metres());
        format!(", {} × {}", side(canvas.width), side(canvas.height))
    });
    writeln!(
        io::stdout(),
        "{}: {} × {} pixels{pixel}{size}, {}, {}",
        relief_design::visible(&opened.name),
        canvas.width,
        canvas.height,
        canvas.depth,
        counted(opened.design.nodes().len() as u64, "node")
    )?;
    let told = told.into_iter().map(|(_, text)| text);
    for text in told.chain(told::dithers(&opened.design)) {
        writeln!(io::stdout(), "{}: {text}", relief_design::visible(&opened.name))?;
    }
    Ok(())
}

/// The scan of the design, which can be made of its canvas.
fn prove(opened: &Opened, node: &ScanNode) -> Result<Program, Failure> {
    let canvas = opened.design.canvas();
    let table = |path: Option<&str>| {
        path.map(|path| {
            let bytes = opened
                .files
                .bytes(path, design::MAX_TABLE)
                .map_err(Failure::Usage)?;
            Ok::<_, Failure>(design::table(&bytes, path, canvas.depth).map_err(relief_machine::Error::from)?)
        })
        .transpose()
    };
    let tables = Tables {
        material: table(node.material.as_deref())?,
        machine: table(node.machine.as_deref())?,
    };
    let raster = Raster::new(canvas.width, canvas.height, canvas.depth).with_pixel(canvas.pixel);
    let program = Program::new(&node.scan, &tables, &raster).map_err(relief_machine::Error::from)?;
    if let Some(gcode) = &node.gcode {
        let size = (canvas.width, canvas.height);
        GcodeProgram::new(gcode, &node.scan, &tables, &raster, size, (0, 0))
            .map_err(relief_machine::Error::from)?;
    }
    Ok(program)
}

/// Metres as people read them.
fn length(metres: f64) -> String {
    let (factor, unit) = match metres {
        metres if metres < 1e-6 => (1e9, "nm"),
        metres if metres < 1e-3 => (1e6, "µm"),
        metres if metres < 1.0 => (1e3, "mm"),
        _ => (1.0, "m"),
    };
    let value = format!("{:.3}", metres * factor);
    format!("{} {unit}", value.trim_end_matches('0').trim_end_matches('.'))
}
