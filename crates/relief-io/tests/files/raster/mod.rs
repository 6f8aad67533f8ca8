//! Rasters to stream, and ways to cut them into bands.

#![allow(dead_code, reason = "not every test file needs all of it")]

use std::fs;
use std::io;
use std::path::Path;

use relief_engine::sink::{Band, Raster, Samples, Sink};
use relief_raster::{Depth, Rect};

/// A raster with its samples.
#[derive(Clone, Debug)]
pub(crate) struct Whole {
    pub(crate) raster: Raster,
    pub(crate) samples: Vec<u16>,
}

impl Whole {
    pub(crate) fn new(width: u64, height: u64, depth: Depth) -> Self {
        let modulus = u64::from(depth.max()) + 1;
        let scattered = |i: u64| ((i.wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 40) % modulus) as u16;
        let samples = (0..width * height).map(scattered).collect();
        Self {
            raster: Raster::new(width, height, depth),
            samples,
        }
    }

    /// Hands over the pixels of `rect`.
    pub(crate) fn write(&self, sink: &mut impl Sink, rect: Rect) -> io::Result<()> {
        let width = self.raster.width as usize;
        let start = rect.y() as usize * width + rect.x() as usize;
        let samples = &self.samples[start..start + rect.area() as usize];
        match self.raster.depth {
            Depth::Sixteen => sink.write(&Band::new(rect, Samples::Sixteen(samples))),
            Depth::Eight => {
                let samples: Vec<u8> = samples.iter().map(|&v| v as u8).collect();
                sink.write(&Band::new(rect, Samples::Eight(&samples)))
            }
        }
    }

    /// All of its pixels.
    pub(crate) fn raster_rect(&self) -> Rect {
        Rect::sized(self.raster.width, self.raster.height)
    }

    /// Hands over everything in bands cut by `cut`.
    pub(crate) fn stream(&self, sink: &mut impl Sink, cut: Cut) -> io::Result<()> {
        sink.begin(&self.raster)?;
        for rect in cut.bands(&self.raster) {
            self.write(sink, rect)?;
        }
        sink.finish()
    }
}

/// How a raster is cut into bands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cut {
    /// Bands of so many rows.
    Rows(u64),
    /// Parts of rows of so many columns.
    Columns(u64),
    /// Rows whole and in parts by turns.
    Mixed(u64),
}

impl Cut {
    fn bands(self, raster: &Raster) -> Vec<Rect> {
        let (width, height) = (raster.width, raster.height);
        let rows = |y: u64, n: u64| Rect::new(0, y as i64, width, n.min(height - y)).unwrap();
        let parts = |y: u64, n: u64| {
            let part = move |x: u64| Rect::new(x as i64, y as i64, n.min(width - x), 1).unwrap();
            (0..width).step_by(n as usize).map(part)
        };
        match self {
            Self::Rows(n) => (0..height).step_by(n as usize).map(|y| rows(y, n)).collect(),
            Self::Columns(n) => (0..height).flat_map(|y| parts(y, n)).collect(),
            Self::Mixed(n) => (0..height)
                .flat_map(|y| {
                    if y % 2 == 0 {
                        parts(y, n).collect()
                    } else {
                        vec![rows(y, 1)]
                    }
                })
                .collect(),
        }
    }
}

/// The names of everything in a folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
