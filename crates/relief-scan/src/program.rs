//! A scan checked for one raster.

use relief_engine::Raster;

use crate::Error;
use crate::halftone::{Diffusion, Screen};
use crate::packing::Pack;
use crate::passes::Slice;
use crate::path::{Path, Travel};
use crate::runs;
use crate::symmetry::Symmetry;
use crate::table::Tables;
use relief_design::scan::{Bits, Halftone, Passes, Scan};

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
    pub(crate) symmetry: Symmetry,
    pub(crate) path: Path,
    pub(crate) screen: Option<Screen>,
    passes: u32,
    samples: u64,
}

impl Program {
    /// Checks a scan.
    ///
    /// # Errors
    /// Where a setting is out of range for this raster, a table has another depth, or next to nothing would be executed.
    pub fn new(scan: &Scan, tables: &Tables, raster: &Raster) -> Result<Self, Error> {
        let depth = raster.depth;
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
        let symmetry = Symmetry::of(scan);
        let path = Path::new(scan, symmetry.size(raster.width, raster.height), passes)?;
        let halftone = match (scan.halftone, scan.packing.bits) {
            (None, Bits::One) => Some(Halftone::Threshold {
                level: depth.max() / 2 + 1,
            }),
            (halftone, _) => halftone,
        };
        let (before, after) = (u64::from(scan.overscan.0), u64::from(scan.overscan.1));
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
            symmetry,
            path,
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
    pub const fn lines(&self) -> u64 {
        self.path.total
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
    pub const fn positions(&self) -> u64 {
        self.samples / self.path.swath.0
    }

    /// The channels: lines of the raster in one travel.
    #[must_use]
    pub const fn channels(&self) -> u32 {
        // A swath has a u32 of lines.
        self.path.swath.0 as u32
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
    pub const fn diffusion_bytes(&self) -> u64 {
        match self.screen {
            Some(Screen::Diffusion) => {
                let length = self.path.length;
                Diffusion::memory(length).saturating_add(
                    length.saturating_mul(self.path.shared_lines() * self.raster.depth.bytes()),
                )
            }
            _ => 0,
        }
    }

    /// What a line covers; `None` past the last.
    #[must_use]
    pub fn travel(&self, line: u64) -> Option<Travel> {
        (line < self.lines()).then(|| self.path.travel(line))
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
