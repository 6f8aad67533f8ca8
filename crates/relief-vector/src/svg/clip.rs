//! Clip paths, as a choice of outlines of which at least one set has to cover a place.

use std::rc::Rc;

use kurbo::{Affine, BezPath};

use crate::Rule;

/// One outline that has to cover a place.
#[derive(Clone, Debug)]
pub(super) struct Outline {
    pub(super) path: Rc<BezPath>,
    pub(super) transform: Affine,
    pub(super) rule: Rule,
}

/// A place is kept where all outlines of one of the sets cover it.
#[derive(Clone, Debug)]
pub(super) struct Clip(Rc<Vec<Vec<Outline>>>);

/// Sets of one clip.
const MAX_SETS: usize = 1 << 12;

impl Clip {
    /// Everything.
    pub(super) fn everything() -> Self {
        Self(Rc::new(vec![Vec::new()]))
    }

    /// What one of these sets covers.
    pub(super) fn any(sets: Vec<Vec<Outline>>) -> Self {
        Self(Rc::new(sets))
    }

    /// What both keep; `None` where there would be too many sets.
    pub(super) fn and(&self, other: &Self) -> Option<Self> {
        if self.0.len().saturating_mul(other.0.len()) > MAX_SETS {
            return None;
        }
        let both = |one: &Vec<Outline>| {
            let one = one.clone();
            other
                .0
                .iter()
                .map(move |other| one.iter().chain(other).cloned().collect())
                .collect::<Vec<_>>()
        };
        Some(Self::any(self.0.iter().flat_map(both).collect()))
    }

    pub(super) fn sets(&self) -> &[Vec<Outline>] {
        &self.0
    }
}
