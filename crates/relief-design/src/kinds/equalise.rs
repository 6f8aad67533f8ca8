//! `equalise`: samples spread evenly over all levels.

use super::edge::SOURCE;
use super::{NodeKind, NodeSource};
use crate::draft::Checker;
use crate::report::Problem;
use crate::seam::Seam;
use crate::signature::{DefaultValue, Signature, ValueType, optional};
use crate::validate::Rules;

/// The greatest limit: as many levels as there may be.
const MAX_LIMIT: f64 = 65_536.0;

/// The parts of 1 that a limit is a whole number of.
const PARTS: f64 = 65_536.0;

/// The one `Source` child through the table ⌊(M·(C(v) − C(v₀)) + ⌊D/2⌋) / D⌋: C(v) samples of the node's whole extent are
/// at most v, v₀ is the least of them, and D = N − C(v₀) of all N are greater. Where D = 0 nothing changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Equalise {
    /// 2^16 times how often the mean count of a level each level counts at most, 1 to 2^16 of it; nothing where all samples count.
    pub limit: Option<u64>,
}

impl NodeKind for Equalise {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "equalise",
        meaning: "Each sample v of the source becomes ⌊(M·(C(v) − C(v₀)) + ⌊D/2⌋) / D⌋, so that all levels are taken \
                  about equally often: C(v) of the N samples in this node's whole extent are at most v, v₀ is the \
                  least of them, D = N − C(v₀). Outside the source samples are 0 and count. If D = 0 nothing changes.",
        details: "The whole source is looked at before the first band, whatever region is computed.\n\nWith a `limit` of L no level counts for more \
                  than max(1, ⌊L·N / (M + 1)⌋) samples, L being a whole number of 65 536ths: what is more is left out, of N in the formula as \
                  well. So the contrast of levels that are very common is raised to about L times at most.",
        properties: &[optional(
            "limit",
            ValueType::PositiveReal,
            DefaultValue::Absent("none: all samples count"),
            "L, 1 to 65536: how many times the mean count of a level a level counts at most",
        )],
        children: SOURCE,
        example: "equalise {\n    (source)image \"photo.png\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self> {
        let Some((limit, span)) = source.values.real("limit") else {
            return Some(Self { limit: None });
        };
        if !(1.0..=MAX_LIMIT).contains(&limit) {
            let message = format!("a limit of {limit}; it is 1 to {MAX_LIMIT}");
            checker.note(
                Problem::new("E402", message)
                    .label(span, "out of range")
                    .help("2 to 5 are usual; without a limit all samples count"),
            );
            return None;
        }
        Some(Self {
            limit: Some(libm::round(limit * PARTS) as u64),
        })
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        seam.same_place();
    }

    fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
        match self.limit {
            Some(limit) if !(1 << 16..=1_u64 << 32).contains(&limit) => {
                Err(format!("its limit, {limit} 65 536ths, is not 1 to {MAX_LIMIT}"))
            }
            _ => Ok(()),
        }
    }
}
