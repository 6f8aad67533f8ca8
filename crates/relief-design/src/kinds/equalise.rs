//! `equalise`: samples spread evenly over all levels.

use super::{NodeKind, NodeSource};
use crate::draft::Checker;
use crate::seam::Seam;
use crate::signature::{Count, Signature, role};
use crate::tree::Role;
use crate::validate::Rules;

/// The one `Source` child through the table ⌊(M·(C(v) − C(v₀)) + ⌊D/2⌋) / D⌋: C(v) samples of the node's whole extent are
/// at most v, v₀ is the least of them, and D = N − C(v₀) of all N are greater. Where D = 0 nothing changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Equalise;

impl NodeKind for Equalise {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "equalise",
        meaning: "Each sample v of the source becomes ⌊(M·(C(v) − C(v₀)) + ⌊D/2⌋) / D⌋, so that all levels are taken \
                  about equally often: C(v) of the N samples in this node's whole extent are at most v, v₀ is the \
                  least of them, D = N − C(v₀). Where the source is not, samples are 0 and count. Where D = 0 \
                  nothing changes.",
        details: "The whole source is looked at before the first band, whatever region is computed.",
        children: &[role(Role::Source, Count::One)],
        example: "equalise {\n    (source)image \"photo.png\"\n}",
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
