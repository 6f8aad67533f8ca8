//! `otsu`: two samples, by the histogram.

use super::edge::SOURCE;
use super::{NodeKind, NodeSource};
use crate::draft::Checker;
use crate::seam::Seam;
use crate::signature::Signature;
use crate::validate::Rules;

/// M where the one `Source` child exceeds the level that parts all samples of the node's extent best, else 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Otsu;

impl NodeKind for Otsu {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "otsu",
        meaning: "M where the source exceeds the level t that parts its samples best into dark and light ones, else 0: the least t \
                  with the greatest (N·S(t) − C(t)·S)² / (C(t)·(N − C(t))), where C(t) of the N samples in this node's whole \
                  extent are at most t, S(t) is the sum of these and S that of all. Outside the source samples are 0 and count. If all samples are one, \
                  nothing exceeds it.",
        details: "This is the variance between both parts (N. Otsu, *A threshold selection method from gray-level histograms*, 1979), without a factor that is \
                  the same for all t. It is computed in binary64 from whole numbers; of 2^55 samples or more counts lose their lowest bits, as many as leave \
                  fewer than 2^55. The whole source is looked at before the first band, whatever region is computed.",
        children: SOURCE,
        example: "otsu {\n    (source)image \"page.png\"\n}",
        ..Signature::NODE
    };

    fn read(_: &NodeSource<'_, '_>, _: &mut Checker<'_>) -> Option<Self> {
        Some(Self)
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        seam.same_place();
    }

    fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
        Ok(())
    }
}
