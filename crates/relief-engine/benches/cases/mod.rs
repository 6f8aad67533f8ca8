//! The jobs that are measured: designs, the pictures they name, and the options they run with.
#![allow(dead_code, reason = "each program uses a part")]
#![allow(clippy::unwrap_used, reason = "a measurement fails by a panic")]

use std::io;
use std::ops::ControlFlow;

use relief_design::Conversion;
use relief_engine::{
    Band, Cancel, ImageError, ImageSource, Options, Picture as Served, Plan, Raster, Rect, Renderer, Sink,
};
use relief_raster::Depth;

/// Columns and rows of the masks: more than two bands at every radius.
const MASK: (usize, usize) = (16_384, 8_192);

/// The masks: name, and the white pixels of 100 000; `lines` are rows and columns 40 pixels apart.
pub(crate) const MASKS: [(&str, u64); 4] = [("1%", 1_000), ("0.01%", 10), ("50%", 50_000), ("lines", 0)];

/// A job.
pub(crate) struct Case {
    /// How it is asked for.
    pub(crate) name: String,
    /// The design.
    pub(crate) design: String,
    /// [`Options::kept`].
    pub(crate) kept: Option<u64>,
}

/// All jobs.
pub(crate) fn all() -> Vec<Case> {
    let case = |name: &str, (width, height): (u64, u64), root: &str, kept| Case {
        name: name.to_owned(),
        design: format!("relief version=1\ncanvas width={width} height={height}\n{root}\n"),
        kept,
    };
    let usual = (32_768, 65_536);
    let repeat = "repeat {\n    (pattern)image \"100x100.pgm\"\n}";
    let table = format!("map {{\n    gamma 2.2\n    (source){repeat}\n}}");
    let two = |a: &str, b: &str| {
        format!(
            "map {{\n    gamma 2.2\n    (source)compose {{\n        (base)repeat {{ (pattern)image \"{a}.pgm\"; }}\n        \
             (max)repeat {{ (pattern)image \"{b}.pgm\"; }}\n    }}\n}}"
        )
    };
    let compose = two("100x100", "64x64");
    let lattice =
        "lattice blend=\"mean\" {\n    u 90 20\n    v -15 85\n    (pattern)image \"100x100.pgm\"\n}";
    let mut cases = vec![
        case("repeat", usual, repeat, None),
        // As many samples in rows as wide as those of the sheet of 3.6 TB.
        case("repeat-wide", (2_000_000, 1_072), repeat, None),
        case("repeat-table", usual, &table, None),
        case("compose", usual, &compose, None),
        case("compose-direct", usual, &compose, Some(0)),
        // The common period of these sizes, 10^12 samples, is not kept whatever the memory.
        case("compose-coprime", usual, &two("997x991", "1009x1013"), None),
        case("lattice", usual, lattice, None),
        case("lattice-direct", usual, lattice, Some(0)),
    ];
    let canvas = (MASK.0 as u64, MASK.1 as u64);
    // Spherical lenses 80 pixels apart, of which each pixel is computed.
    let lenses = "formula \"M / 40 * sqrt(max(0, 1600 - u * u - v * v))\" {\n    let \"u\" \"mod(x, 80) - 40\"\n    \
                  let \"v\" \"mod(y, 80) - 40\"\n}";
    cases.push(case("lenses", canvas, lenses, None));
    for (mask, _) in MASKS {
        for radius in [15, 100, 1000] {
            let root = format!(
                "distance radius={radius} {{\n    (mask)image \"mask-{mask}.pgm\"\n    \
                 profile \"255 * (1 - d / {radius})\" beyond=0\n}}"
            );
            cases.push(case(&format!("distance-{radius}-{mask}"), canvas, &root, None));
        }
    }
    cases
}

/// One picture in memory.
#[derive(Clone)]
pub(crate) struct Picture {
    name: String,
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) samples: Vec<u8>,
}

impl Picture {
    /// The picture of this name: a mask, or noise of the size that the name says.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let stem = name.strip_suffix(".pgm")?;
        let (width, height, samples) = if let Some(mask) = stem.strip_prefix("mask-") {
            let (_, white) = MASKS.iter().find(|(name, _)| *name == mask)?;
            (MASK.0, MASK.1, mask_samples(mask, *white))
        } else {
            let (width, height) = stem.split_once('x')?;
            let (width, height) = (width.parse().ok()?, height.parse().ok()?);
            let samples = (0..width * height).map(|at| mix(at as u64) as u8).collect();
            (width, height, samples)
        };
        Some(Self {
            name: name.to_owned(),
            width,
            height,
            samples,
        })
    }
}

fn mask_samples(mask: &str, white: u64) -> Vec<u8> {
    let (width, height) = MASK;
    let is_white = |at: usize| match mask {
        "lines" => (at % width).is_multiple_of(40) || (at / width).is_multiple_of(40),
        _ => mix(at as u64) % 100_000 < white,
    };
    (0..width * height)
        .map(|at| if is_white(at) { 255 } else { 0 })
        .collect()
}

/// SplitMix64 (Steele, Lea and Flood 2014): the number at place `at` of its sequence.
const fn mix(at: u64) -> u64 {
    let mut z = at.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Served for Picture {
    fn size(&self) -> (u64, u64) {
        (self.width as u64, self.height as u64)
    }

    fn read(
        &self,
        window: Rect,
        _: Depth,
        row: &mut dyn FnMut(u64, &[u16]) -> ControlFlow<()>,
    ) -> Result<(), ImageError> {
        let columns = window.x() as usize..window.right() as usize;
        let mut wide = vec![0; columns.len()];
        for y in window.y()..window.bottom() {
            let start = y as usize * self.width;
            let samples = &self.samples[start..start + self.width];
            for (to, from) in wide.iter_mut().zip(&samples[columns.clone()]) {
                *to = u16::from(*from);
            }
            if row(y as u64, &wide).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// The pictures that a case names.
pub(crate) struct Pictures(Vec<Picture>);

impl Pictures {
    pub(crate) fn of(case: &Case) -> Self {
        let names = case.design.split('"').skip(1).step_by(2);
        Self(names.filter_map(Picture::named).collect())
    }

    fn find(&self, path: &str) -> Result<&Picture, ImageError> {
        let found = self.0.iter().find(|picture| picture.name == path);
        found.ok_or_else(|| ImageError::new(format!("there is no {path}")))
    }
}

impl ImageSource for Pictures {
    fn open(&self, path: &str, _: &Conversion) -> Result<Box<dyn Served>, ImageError> {
        Ok(Box::new(self.find(path)?.clone()))
    }
}

/// The case ready to run with so many threads: pictures read, cells made.
pub(crate) fn renderer(case: &Case, threads: usize) -> Renderer {
    let pictures = Pictures::of(case);
    let size = |path: &str| {
        let picture = pictures.find(path).map_err(|error| error.to_string())?;
        Ok((picture.width as u64, picture.height as u64))
    };
    let design = relief_design::parse("case.kdl", &case.design, &size).unwrap();
    let options = Options::default()
        .threads(threads)
        .with(|with| with.kept = case.kept);
    let plan = Plan::new(&design, &pictures, &options).unwrap();
    Renderer::new(plan, &pictures, &Cancel::new()).unwrap()
}

/// Computes the whole raster and throws it away; gives the number of its samples.
pub(crate) fn run(renderer: &Renderer) -> u64 {
    let mut sink = Nowhere(0);
    renderer.render(&mut sink, &mut |_| (), &Cancel::new()).unwrap();
    sink.0
}

/// Counts samples and throws them away.
struct Nowhere(u64);

impl Sink for Nowhere {
    fn memory(&self, _: &Raster) -> u64 {
        0
    }

    fn begin(&mut self, _: &Raster) -> io::Result<()> {
        Ok(())
    }

    fn write(&mut self, band: &Band<'_>) -> io::Result<()> {
        self.0 += band.samples.len() as u64;
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}
