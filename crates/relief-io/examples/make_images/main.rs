//! Draws the pictures of the designs in `examples/`, all by arithmetic that is exact on every machine:
//!
//! ```text
//! cargo run -p relief-io --example make_images [FOLDER]
//! ```
//!
//! FOLDER takes the place of `examples/`: `.ci/examples` compares what is drawn there with what is committed.

mod draw;
mod font;

use std::io;
use std::path::{Path, PathBuf};

use draw::{Gray, Mask};
use relief_engine::sink::{Band, Raster, Samples, Sink};
use relief_io::{FileSink, Format, Target};
use relief_raster::{Depth, Rect};

fn main() -> io::Result<()> {
    let committed = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let examples = std::env::args_os().nth(1).map_or_else(committed, PathBuf::from);
    let (cell, logo) = (cell(), logo());
    for folder in ["texture", "logo", "sheet"] {
        save_gray(examples.join(folder).join("cell.png"), &cell, Depth::Eight)?;
    }
    for folder in ["logo", "sheet"] {
        save_mask(examples.join(folder).join("logo.png"), &logo)?;
    }
    save_mask(examples.join("label/text.png"), &label())?;
    save_gray(examples.join("label/emblem.tiff"), &emblem(), Depth::Sixteen)?;
    save_gray(examples.join("label/knurl.pgm"), &knurl(), Depth::Eight)?;
    save_gray(examples.join("lenses/lens.tiff"), &lens(), Depth::Sixteen)
}

/// A pebble of leather, 100 × 100: a dome with fine wrinkles, nowhere 0, so that its copies cover the plane.
fn cell() -> Gray {
    Gray::draw(100, 100, |x, y| {
        let (dx, dy) = (2 * x - 99, 2 * y - 99);
        // 1 in the middle, 0 at a distance of 60 pixels.
        let dome = (1.0 - f64::from(dx * dx + dy * dy) / 14_400.0).max(0.0);
        let wrinkles = draw::value_noise(x, y, 9, 1) - 0.5;
        let grain = draw::value_noise(x, y, 4, 2) - 0.5;
        (40.0 + 180.0 * dome * dome * (1.5 - 0.5 * dome) + 36.0 * wrinkles + 14.0 * grain) / 255.0
    })
}

/// The mark, 1 200 × 700: a ring with a range of hills, and a word under it.
fn logo() -> Mask {
    let mut mask = Mask::new(1_200, 700);
    mask.disc((600, 240), 220, true);
    mask.disc((600, 240), 184, false);
    mask.polygon(&[(440, 340), (545, 165), (610, 265), (660, 205), (760, 340)]);
    mask.disc((690, 150), 30, true);
    mask.text("RELIEF", (165, 510), 150, 34);
    mask
}

/// The words of a type plate, 2 400 × 1 000.
fn label() -> Mask {
    let mut mask = Mask::new(2_400, 1_000);
    mask.text("RELIEF", (40, 40), 300, 62);
    mask.text("TYPE 2048-16", (40, 460), 170, 34);
    mask.text("SERIAL 000042", (40, 760), 170, 34);
    mask
}

/// An emblem with a rounded rim, 300 × 300, 16 bits.
fn emblem() -> Gray {
    Gray::draw(300, 300, |x, y| {
        let (dx, dy) = (f64::from(2 * x - 299) / 2.0, f64::from(2 * y - 299) / 2.0);
        let r = (dx * dx + dy * dy).sqrt();
        let rim = (1.0 - ((r - 130.0) / 18.0).powi(2)).max(0.0).sqrt();
        // A star of eight soft rays: the distance to the nearest of four lines through the middle.
        let diagonal = std::f64::consts::FRAC_1_SQRT_2;
        let line = dx
            .abs()
            .min(dy.abs())
            .min(((dx - dy) * diagonal).abs())
            .min(((dx + dy) * diagonal).abs());
        let ray = (1.0 - line / (3.0 + (100.0 - r).max(0.0) / 5.0)).max(0.0) * f64::from(u8::from(r < 104.0));
        rim.max(0.8 * ray)
    })
}

/// One pyramid of a knurled ground, 24 × 24.
fn knurl() -> Gray {
    Gray::draw(24, 24, |x, y| {
        let (dx, dy) = (f64::from((2 * x - 23).abs()), f64::from((2 * y - 23).abs()));
        1.0 - dx.max(dy) / 24.0
    })
}

/// A lens, 200 × 200, 16 bits: a paraboloid, 0 outside its circle.
fn lens() -> Gray {
    Gray::draw(200, 200, |x, y| {
        let (dx, dy) = (2 * x - 199, 2 * y - 199);
        (1.0 - f64::from(dx * dx + dy * dy) / 40_000.0).max(0.0)
    })
}

fn save_mask(path: PathBuf, mask: &Mask) -> io::Result<()> {
    let samples: Vec<u8> = mask
        .pixels
        .iter()
        .map(|&white| if white { 255 } else { 0 })
        .collect();
    save(
        path,
        mask.width,
        mask.height,
        Samples::Eight(&samples),
        Depth::Eight,
    )
}

fn save_gray(path: PathBuf, gray: &Gray, depth: Depth) -> io::Result<()> {
    let scaled = gray
        .pixels
        .iter()
        .map(|&v| (v.clamp(0.0, 1.0) * f64::from(depth.max())).round() as u16);
    match depth {
        Depth::Eight => {
            let samples: Vec<u8> = scaled.map(|v| v as u8).collect();
            save(path, gray.width, gray.height, Samples::Eight(&samples), depth)
        }
        Depth::Sixteen => {
            let samples: Vec<u16> = scaled.collect();
            save(path, gray.width, gray.height, Samples::Sixteen(&samples), depth)
        }
    }
}

fn save(path: PathBuf, width: i32, height: i32, samples: Samples<'_>, depth: Depth) -> io::Result<()> {
    let format =
        Format::from_extension(&path).ok_or_else(|| io::Error::other("no format has this extension"))?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let (width, height) = (width.unsigned_abs().into(), height.unsigned_abs().into());
    let mut sink = FileSink::new(Target::Path(path), format);
    sink.begin(&Raster::new(width, height, depth))?;
    sink.write(&Band::new(Rect::sized(width, height), samples))?;
    sink.finish()
}
