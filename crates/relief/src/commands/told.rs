//! What a scan and the screens of a design come to on their canvas, where that is not what was written.

use std::collections::BTreeSet;

use relief_design::scan::{AskedScreen, ScanNode};
use relief_design::{Canvas, Design};
use relief_raster::Length;
use relief_scan::{Halftone, Program, Screen};

/// A sentence for the screen and for lines that are moved, each where there is one.
pub(crate) fn of(node: &ScanNode, canvas: &Canvas, program: &Program) -> Vec<(&'static str, String)> {
    let mut told = Vec::new();
    if let (Some(Halftone::Screen(screen)), Some(asked), Some(pixel)) =
        (node.scan.halftone, node.asked_screen, canvas.pixel)
    {
        told.push(("screen", self::screen(&screen, &asked, pixel)));
    }
    let (asked, moved) = (i64::from(node.scan.return_offset), program.return_offset());
    if asked != 0 {
        let how = if moved % 256 == 0 {
            "whole pixels"
        } else {
            "means of two samples"
        };
        let asked = if asked == moved {
            String::new()
        } else {
            format!(" of the {} that are asked", short(asked as f64 / 256.0))
        };
        told.push((
            "return",
            format!(
                "lines that run back are moved by {} pixels{asked}, by {how}",
                short(moved as f64 / 256.0)
            ),
        ));
    }
    told
}

/// The most screens of nodes that are told.
const MOST_DITHERS: usize = 16;

/// A sentence for the screen of each `dither`, in the order of the file; those of one line that are alike once.
pub(crate) fn dithers(design: &Design) -> Vec<String> {
    let Some(pixel) = design.canvas().pixel else {
        return Vec::new();
    };
    let all: BTreeSet<(u32, String)> = design
        .nodes()
        .iter()
        .filter_map(|node| {
            let (screen, asked) = node.kind.screen()?;
            Some((node.place.line, self::screen(&screen, &asked, pixel)))
        })
        .collect();
    let more = all.len().saturating_sub(MOST_DITHERS);
    let told = all.into_iter().take(MOST_DITHERS);
    let mut told: Vec<String> = told
        .map(|(line, text)| format!("the dither of line {line}: {text}"))
        .collect();
    if more > 0 {
        told.push(format!("and {more} more dithers with screens"));
    }
    told
}

/// What a screen comes to on pixels of this side.
pub(crate) fn screen(screen: &Screen, asked: &AskedScreen, pixel: Length) -> String {
    let inch = 0.0254;
    format!(
        "{} lpi at {}°, where {} lpi at {}° are asked; it repeats after {} pixels with {} dots",
        short(screen.frequency(pixel) * inch),
        short(screen.angle()),
        short(asked.frequency * inch),
        short(asked.degrees),
        screen.area(),
        u64::from(screen.cells) * u64::from(screen.cells)
    )
}

/// At most four digits after the point.
fn short(number: f64) -> String {
    let text = format!("{number:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}
