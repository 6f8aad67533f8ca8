//! What each pass makes of a gray: one table for each pass, with the two tables of the job folded in.

use relief_raster::Depth;

use crate::Error;
use crate::table::Tables;
use relief_design::scan::Passes;

/// The most passes of a job.
pub(crate) const MAX_PASSES: u32 = 65_536;

/// What passes make of grays.
pub(crate) trait Slice {
    /// How many passes.
    fn count(&self, depth: Depth) -> Result<u32, Error>;

    /// The table of a pass: material, pass, machine; `None` where it changes nothing.
    fn table(&self, pass: u32, depth: Depth, tables: &Tables) -> Option<Vec<u16>>;
}

impl Slice for Passes {
    fn count(&self, depth: Depth) -> Result<u32, Error> {
        let wrong = |problem: String| {
            Err(Error::Setting {
                setting: "passes",
                problem,
            })
        };
        let count = match self {
            Self::One => 1,
            Self::Even { count } | Self::Share { count } | Self::Curve { count, .. } => *count,
            Self::Listed { thresholds } => u32::try_from(thresholds.len()).unwrap_or(u32::MAX),
        };
        if count == 0 || count > MAX_PASSES {
            return wrong(format!(
                "{count} passes were asked for; 1 to {MAX_PASSES} are possible"
            ));
        }
        match self {
            Self::Curve { exponent, .. } if !(exponent.is_finite() && *exponent > 0.0) => {
                wrong(format!("the exponent {exponent} must be a number above 0"))
            }
            Self::Listed { thresholds } => match thresholds.iter().find(|&&level| level > depth.max()) {
                Some(level) => wrong(format!(
                    "the threshold {level} is above the greatest sample, {}",
                    depth.max()
                )),
                None => Ok(count),
            },
            _ => Ok(count),
        }
    }

    fn table(&self, pass: u32, depth: Depth, tables: &Tables) -> Option<Vec<u16>> {
        if *self == Self::One && *tables == Tables::default() {
            return None;
        }
        let max = depth.max();
        let look = |table: &Option<crate::Table>, v: u16| {
            table.as_ref().map_or(v, |table| table.entries()[usize::from(v)])
        };
        let through = |v| look(&tables.machine, gray(self, pass, max, look(&tables.material, v)));
        Some((0..=max).map(through).collect())
    }
}

/// What pass `pass` makes of a sample of maximum `max`.
fn gray(passes: &Passes, pass: u32, max: u16, v: u16) -> u16 {
    let slice = |fires: bool| if fires { max } else { 0 };
    let (pass, wide) = (u64::from(pass), u64::from(v));
    match passes {
        Passes::One => v,
        Passes::Even { count } => slice(wide * u64::from(*count) > pass * u64::from(max)),
        Passes::Listed { thresholds } => slice(v >= thresholds[pass as usize]),
        Passes::Curve { count, exponent } => {
            let height = libm::pow(pass as f64 / f64::from(*count), *exponent) * f64::from(max);
            slice(f64::from(v) > height)
        }
        Passes::Share { count } => {
            let count = u64::from(*count);
            // The difference is at most ⌈v / N⌉.
            ((pass + 1) * wide / count - pass * wide / count) as u16
        }
    }
}
