//! `noise`: white noise.

use super::{NodeKind, NodeSource};
use crate::draft::Checker;
use crate::seam::{Gap, Seam};
use crate::signature::{Signature, ValueType, required};
use crate::validate::Rules;

/// White noise: a function of (seed, x, y).
#[derive(Clone, Debug, PartialEq)]
pub struct Noise {
    /// The seed.
    pub seed: u64,
}

impl NodeKind for Noise {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "noise",
        meaning: "White noise: the top 8 or 16 bits of the SplitMix64 finaliser of \
                  seed + x·0x9E3779B97F4A7C15 + y·0xC2B2AE3D27D4EB4F, wrapping, in its own coordinates.",
        properties: &[required("seed", ValueType::Seed, "tells one noise from another")],
        example: "noise seed=42",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, _: &mut Checker<'_>) -> Option<Self> {
        Some(Self {
            seed: source.values.seed("seed")?,
        })
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        // One row, or one column, is no noise along the other axis, but has only one sample there.
        if seam.side() > 1 {
            seam.gap(Gap::Changes("`noise` never repeats".to_owned()));
        }
    }

    fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
        Ok(())
    }
}
