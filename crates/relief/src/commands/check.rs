//! `relief check`: a design is right, and what it makes.

use std::io::{self, Write};

use crate::arguments::Check;
use crate::design;
use crate::failure::Failure;
use crate::quantity::counted;

pub(crate) fn run(check: &Check) -> Result<(), Failure> {
    let opened = design::open(&check.file)?;
    let canvas = opened.design.canvas;
    let pixel = canvas.pixel.map_or(String::new(), |pixel| {
        format!(" of {}", length(u128::from(pixel)))
    });
    let size = canvas.pixel.map_or(String::new(), |pixel| {
        let side = |count: u64| length(u128::from(count) * u128::from(pixel));
        format!(", {} × {}", side(canvas.width), side(canvas.height))
    });
    writeln!(
        io::stdout(),
        "{}: {} × {} pixels{pixel}{size}, {}, {}",
        opened.name,
        canvas.width,
        canvas.height,
        canvas.depth,
        counted(opened.design.nodes.len() as u64, "node")
    )?;
    Ok(())
}

/// Picometres as people read them.
fn length(picometres: u128) -> String {
    let (factor, unit) = match picometres {
        0..1_000_000 => (1e3, "nm"),
        1_000_000..1_000_000_000 => (1e6, "µm"),
        1_000_000_000..1_000_000_000_000 => (1e9, "mm"),
        _ => (1e12, "m"),
    };
    let value = format!("{:.3}", picometres as f64 / factor);
    format!("{} {unit}", value.trim_end_matches('0').trim_end_matches('.'))
}
