//! `compose`: nodes folded into one.

use super::{NodeKind, NodeSource};
use crate::draft::Checker;
use crate::signature::{Count, Signature, role};
use crate::tree::Role;
use crate::validate::Rules;

/// Any number of children folded in the order written, by their roles, starting from 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Compose;

impl NodeKind for Compose {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "compose",
        meaning: "Folds its children in the order written, starting from acc = 0. By the role of a child with sample \
                  v: `base` is v; `add` acc + v, at most M; `subtract` acc − v, at least 0; `multiply` \
                  (acc·v + ⌊M/2⌋) / M; `mean` (acc + v + 1) / 2; `max` and `min`; `over` v where it is not 0, else \
                  acc; `mask` acc where v is not 0, else 0. A child is 0 outside its own extent and takes part there \
                  like anywhere.",
        children: &[
            role(Role::Base, Count::Any),
            role(Role::Add, Count::Any),
            role(Role::Subtract, Count::Any),
            role(Role::Multiply, Count::Any),
            role(Role::Mean, Count::Any),
            role(Role::Max, Count::Any),
            role(Role::Min, Count::Any),
            role(Role::Over, Count::Any),
            role(Role::Mask, Count::Any),
        ],
        example: "compose {\n    (base)fill value=200\n    (subtract)disc diameter=50 value=100\n}",
        ..Signature::NODE
    };

    fn read(_: &NodeSource<'_, '_>, _: &mut Checker<'_>) -> Option<Self> {
        Some(Self)
    }

    fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
        Ok(())
    }
}
