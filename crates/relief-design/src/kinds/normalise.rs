//! `normalise`: samples stretched over all levels.

use super::edge::SOURCE;
use super::{NodeKind, NodeSource};
use crate::draft::Checker;
use crate::report::Problem;
use crate::seam::Seam;
use crate::signature::{DefaultValue, Signature, ValueType, optional};
use crate::validate::Rules;

/// The parts of a hundredth that percentiles are whole numbers of.
const PARTS: u32 = 1_000;

/// All samples.
const ALL: u32 = 100 * PARTS;

/// ⌊(M·(v − a) + ⌊(b − a)/2⌋) / (b − a)⌋, taken to 0…M, of the one `Source` child, with a the least level such that more than `low`
/// of all samples of the node's extent are at most a, b the least such that at least `high` are at most b. Where a = b nothing changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Normalise {
    /// Thousandths of a hundredth of all samples, less than `high`.
    pub low: u32,
    /// As `low`, at most 100 000.
    pub high: u32,
}

impl NodeKind for Normalise {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "normalise",
        meaning: "The source stretched over all levels: a sample v becomes ⌊(M·(v − a) + ⌊(b − a)/2⌋) / (b − a)⌋, taken to 0…M. a and b are \
                  the least and the greatest sample in this node's whole extent, or percentiles of them. Outside the source samples are 0 and count. If a = b nothing changes.",
        details: "C(v) of all N samples are at most v: a is the least level with 100·C(a) > low·N, b the least with 100·C(b) ≥ high·N. The whole source \
                  is looked at before the first band, whatever region is computed.",
        properties: &[
            optional(
                "low",
                ValueType::Real,
                DefaultValue::Absent("0: a is the least sample"),
                "the percentage of samples that may become 0, to a thousandth",
            ),
            optional(
                "high",
                ValueType::Real,
                DefaultValue::Absent("100: b is the greatest sample"),
                "the percentage of samples that are not cut off at M, to a thousandth; above `low`",
            ),
        ],
        children: SOURCE,
        example: "normalise low=0.5 high=99.5 {\n    (source)image \"photo.png\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self> {
        let given = |name: &str, default: f64| {
            let real = source.values.real(name);
            real.map_or((default, None), |(real, span)| (real, Some(span)))
        };
        let (low, high) = (given("low", 0.0), given("high", 100.0));
        for ((value, span), name) in [(low, "low"), (high, "high")] {
            if let (false, Some(span)) = ((0.0..=100.0).contains(&value), span) {
                let message = format!("`{name}` is {value}; a percentage is 0 to 100");
                let help = "write how many of 100 samples are less: low=0.5 high=99.5";
                checker.note(
                    Problem::new("E402", message)
                        .label(span, "out of range")
                        .help(help),
                );
                return None;
            }
        }
        let parts = |value: f64| libm::round(value * f64::from(PARTS)) as u32;
        let (found, high_span, low_span) = (
            Self {
                low: parts(low.0),
                high: parts(high.0),
            },
            high.1,
            low.1,
        );
        if found.low >= found.high {
            let message = format!("`low` is {}, which is not below `high`, {}", low.0, high.0);
            let mut problem = Problem::new("E402", message);
            if let Some(span) = low_span.or(high_span) {
                problem = problem.label(span, "nothing is left between them");
            }
            checker.note(problem.help("write low=0.5 high=99.5, for instance"));
            return None;
        }
        Some(found)
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        seam.same_place();
    }

    fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
        if self.low < self.high && self.high <= ALL {
            return Ok(());
        }
        let Self { low, high } = self;
        Err(format!(
            "its percentiles {low} and {high} do not rise, or exceed {ALL}"
        ))
    }
}
