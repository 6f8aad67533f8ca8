//! A scan checked for one raster.

use relief_engine::Raster;
use relief_raster::Depth;

use crate::Error;
use crate::halftone::{Kernel, Screen};
use crate::packing::Pack;
use crate::passes::Slice;
use crate::path::{Path, Travel};
use crate::runs;
use crate::symmetry::Symmetry;
use crate::table::Tables;
use relief_design::scan::{Axis, Bits, Direction, Halftone, PassAxes, Passes, Scan};

/// The most samples of a line.
const MAX_SAMPLES: u64 = 1 << 31;

/// How long lines are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Every line has so many bytes.
    Fixed(u64),
    /// A line of runs has at most so many bytes.
    Runs(u64),
}

impl Encoding {
    /// The most bytes of a line.
    #[must_use]
    pub const fn most(self) -> u64 {
        match self {
            Self::Fixed(bytes) | Self::Runs(bytes) => bytes,
        }
    }
}

/// A scan made ready for one raster: the number and size of its lines, before any is computed.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) raster: Raster,
    pub(crate) scan: Scan,
    pub(crate) tables: Tables,
    /// How the lines of a pass lie; the second is that of every second pass where axes alternate.
    layouts: Vec<Layout>,
    pub(crate) screen: Option<Screen>,
    passes: u32,
    samples: u64,
}

/// How the lines of a pass lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) symmetry: Symmetry,
    pub(crate) path: Path,
}

/// The number of passes of a scan and the halftone that it ends with, where its tables, passes and halftone can be used.
pub(crate) fn checked(scan: &Scan, tables: &Tables, depth: Depth) -> Result<(u32, Option<Halftone>), Error> {
    for table in [&tables.material, &tables.machine].into_iter().flatten() {
        if table.entries().len() != usize::from(depth.max()) + 1 {
            let problem = format!("it has {} entries; the design has {depth}", table.entries().len());
            return Err(Error::Table {
                name: table.name().to_owned(),
                problem,
            });
        }
    }
    let passes = scan.passes.count(depth)?;
    let shares = matches!(scan.passes, Passes::Share { count } if count > 1);
    if shares && scan.packing.bits == Bits::One && scan.halftone.is_none() && tables.machine.is_none() {
        return Err(Error::Setting {
            setting: "passes",
            problem: "shares of a sample hardly ever reach the threshold of lines of 1 bit; choose a halftone, or even \
                      passes"
                .to_owned(),
        });
    }
    let halftone = match (scan.halftone, scan.packing.bits) {
        (None, Bits::One) => Some(Halftone::Threshold {
            level: depth.max() / 2 + 1,
        }),
        (halftone, _) => halftone,
    };
    Ok((passes, halftone))
}

impl Program {
    /// Checks a scan.
    ///
    /// # Errors
    /// Where a setting is out of range for this raster, a table has another depth, or next to nothing would be executed.
    pub fn new(scan: &Scan, tables: &Tables, raster: &Raster) -> Result<Self, Error> {
        let depth = raster.depth;
        let (passes, halftone) = checked(scan, tables, depth)?;
        let other = match scan.axis {
            Axis::Row => Axis::Column,
            Axis::Column => Axis::Row,
        };
        let crossed = scan.pass_axes == PassAxes::Alternate && passes > 1;
        let axes = [Some(scan.axis), crossed.then_some(other)];
        let layout = |axis: Axis| {
            let symmetry = Symmetry::of(scan, axis);
            let size = symmetry.size(raster.width, raster.height);
            // Crossed lines are as long as each other.
            let whole = if crossed { size.0.max(size.1) } else { size.0 };
            Ok::<_, Error>(Layout {
                symmetry,
                path: Path::new(scan, size, whole, passes)?,
            })
        };
        let layouts: Vec<Layout> = axes.into_iter().flatten().map(layout).collect::<Result<_, _>>()?;
        let path = layouts[0].path;
        let (before, after) = (u64::from(scan.overscan.0), u64::from(scan.overscan.1));
        let offset = i64::from(scan.return_offset);
        let (room, side) = if offset < 0 {
            (before, "before")
        } else {
            (after, "after")
        };
        if offset != 0 && scan.direction == Direction::Unidirectional {
            return Err(Error::Setting {
                setting: "return-offset",
                problem: "no line runs back; choose direction=\"serpentine\", or leave the offset out"
                    .to_owned(),
            });
        }
        let pixels = offset.unsigned_abs().div_ceil(256);
        if pixels > room {
            return Err(Error::Setting {
                setting: "return-offset",
                problem: format!(
                    "lines that are moved by {pixels} pixels need as much overscan {side} them, and have {room}; give the scan \
                     overscan {side}={pixels}"
                ),
            });
        }
        let samples = (path.stripe.0 + before + after)
            .checked_mul(path.swath.0)
            .filter(|&count| count <= MAX_SAMPLES);
        let Some(samples) = samples else {
            let problem = format!(
                "a line of {} pixels in {} channels has more than 2^31 samples; choose narrower stripes",
                path.stripe.0, path.swath.0
            );
            return Err(Error::Setting {
                setting: "stripe",
                problem,
            });
        };
        Ok(Self {
            raster: *raster,
            scan: scan.clone(),
            tables: tables.clone(),
            layouts,
            screen: halftone
                .map(|halftone| Screen::new(halftone, depth))
                .transpose()?,
            passes,
            samples,
        })
    }

    /// The raster.
    #[must_use]
    pub const fn raster(&self) -> &Raster {
        &self.raster
    }

    /// The settings.
    #[must_use]
    pub const fn scan(&self) -> &Scan {
        &self.scan
    }

    /// The tables.
    #[must_use]
    pub const fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The lines of the whole job.
    #[must_use]
    pub fn lines(&self) -> u64 {
        (0..self.layouts.len() as u32)
            .map(|first| self.layout(first).path.total * u64::from(self.passes_like(first)))
            .sum()
    }

    /// The passes, where all have as many lines; else 1. Those whose axes alternate have as many lines on a square.
    #[must_use]
    pub fn equal_passes(&self) -> u32 {
        let total = self.layouts[0].path.total;
        let are_equal = self.layouts.iter().all(|layout| layout.path.total == total);
        if are_equal { self.passes } else { 1 }
    }

    /// How the lines of a pass lie.
    pub(crate) fn layout(&self, pass: u32) -> &Layout {
        &self.layouts[pass as usize % self.layouts.len()]
    }

    /// How the lines of any pass lie: one layout, or two.
    pub(crate) fn layouts(&self) -> &[Layout] {
        &self.layouts
    }

    /// The passes that lie as pass `first` does, one of the first.
    const fn passes_like(&self, first: u32) -> u32 {
        let layouts = self.layouts.len() as u32;
        (self.passes + layouts - 1 - first) / layouts
    }

    /// The pass of a line and its number within the pass.
    pub(crate) fn place(&self, line: u64) -> (u32, u64) {
        let round: u64 = self.layouts.iter().map(|layout| layout.path.total).sum();
        let (rounds, mut rest) = (line / round, line % round);
        // There are at most 65 536 passes.
        let mut pass = rounds as u32 * self.layouts.len() as u32;
        while rest >= self.layout(pass).path.total {
            rest -= self.layout(pass).path.total;
            pass += 1;
        }
        (pass, rest)
    }

    /// The travel of a line that exists.
    pub(crate) fn travel_of(&self, line: u64) -> Travel {
        let (pass, number) = self.place(line);
        self.layout(pass).path.travel(pass, number)
    }

    /// One past the last line that lies in the same stripe of the same pass as `line`.
    pub(crate) fn group_end(&self, line: u64) -> u64 {
        let (pass, number) = self.place(line);
        let travels = self.layout(pass).path.travels;
        line - number % travels + travels
    }

    /// Lines of a travel; the same in all passes.
    pub(crate) fn high(&self) -> u64 {
        self.layouts[0].path.swath.0
    }

    /// Positions of a travel without overscan; the same in all passes.
    pub(crate) fn wide(&self) -> u64 {
        self.layouts[0].path.stripe.0
    }

    /// The passes.
    #[must_use]
    pub const fn passes(&self) -> u32 {
        self.passes
    }

    /// The samples of a line, overscan and all channels counted.
    #[must_use]
    pub const fn samples(&self) -> u64 {
        self.samples
    }

    /// The positions of a line, overscan counted; each has a sample for every channel.
    #[must_use]
    pub fn positions(&self) -> u64 {
        self.samples / self.high()
    }

    /// The channels: lines of the raster in one travel.
    #[must_use]
    pub fn channels(&self) -> u32 {
        // A swath has a u32 of lines.
        self.high() as u32
    }

    /// How long lines are.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        if self.scan.run_length {
            Encoding::Runs(self.samples * runs::run_bytes(self.scan.packing) as u64)
        } else {
            Encoding::Fixed(self.scan.packing.bytes(self.samples))
        }
    }

    /// The most bytes of all lines.
    #[must_use]
    pub fn bytes(&self) -> u128 {
        self.lines() as u128 * self.encoding().most() as u128
    }

    /// The bytes that error diffusion holds between two lines, and so those of its state; 0 without it.
    #[must_use]
    pub fn diffusion_bytes(&self) -> u64 {
        let Some(Screen::Diffusion(kernel)) = &self.screen else {
            return 0;
        };
        let bytes = self.layouts.iter().map(|layout| {
            let length = layout.path.length;
            let shared = layout.path.shared_lines() * self.raster.depth.bytes();
            kernel
                .memory(length)
                .saturating_add(length.saturating_mul(shared))
        });
        bytes.max().unwrap_or(0)
    }

    /// What lines that run backwards are moved by along their way, in 256ths of a pixel: a whole number of pixels, halves up, where
    /// there is a halftone, which has no part of one.
    #[must_use]
    pub const fn return_offset(&self) -> i64 {
        let offset = self.scan.return_offset as i64;
        if self.screen.is_some() {
            (offset + 128).div_euclid(256) * 256
        } else {
            offset
        }
    }

    /// The kernel of error diffusion.
    pub(crate) const fn kernel(&self) -> Option<Kernel> {
        match &self.screen {
            Some(Screen::Diffusion(kernel)) => Some(*kernel),
            _ => None,
        }
    }

    /// What a line covers; `None` past the last.
    #[must_use]
    pub fn travel(&self, line: u64) -> Option<Travel> {
        (line < self.lines()).then(|| self.travel_of(line))
    }

    /// The BLAKE3 of everything that decides the bytes of all lines but the samples of the raster: its size and
    /// depth, the settings and the digests of the tables.
    #[must_use]
    pub fn digest(&self) -> blake3::Hash {
        let table = |table: &Option<crate::Table>| table.as_ref().map(|table| table.digest().to_string());
        let text = serde_json::json!([
            self.raster.width,
            self.raster.height,
            self.raster.depth.bits(),
            self.scan,
            table(&self.tables.material),
            table(&self.tables.machine),
        ]);
        blake3::hash(text.to_string().as_bytes())
    }
}
