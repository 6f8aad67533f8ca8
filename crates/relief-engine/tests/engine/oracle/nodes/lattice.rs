//! `lattice`: copies of a pattern along two vectors, folded where they overlap.

use proptest::prelude::*;
use proptest::sample::select;

use super::{Node, Weighted, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model, NaturalSize};
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Lattice {
    pub(crate) blend: Blend,
    pub(crate) u: (i64, i64),
    pub(crate) v: (i64, i64),
    pub(crate) pattern: Box<Item>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Blend {
    Mean,
    Max,
    Min,
    Sum,
    Last,
}

pub(super) const BLENDS: [Blend; 5] = [Blend::Mean, Blend::Max, Blend::Min, Blend::Sum, Blend::Last];

impl Blend {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Max => "max",
            Self::Min => "min",
            Self::Sum => "sum",
            Self::Last => "last",
        }
    }
}

/// What the samples of the copies over a pixel, each with the (j, i) of its copy, become.
pub(super) fn blended(blend: Blend, mut covering: Vec<((i128, i128), u64)>, max: u16) -> u16 {
    covering.retain(|(_, sample)| *sample != 0);
    let samples = covering.iter().map(|(_, sample)| *sample);
    let blended = match blend {
        Blend::Mean => {
            let (sum, n) = (samples.clone().sum::<u64>(), samples.count() as u64);
            if n == 0 { 0 } else { (2 * sum + n) / (2 * n) }
        }
        Blend::Max => samples.max().unwrap_or(0),
        Blend::Min => samples.min().unwrap_or(0),
        Blend::Sum => samples.sum::<u64>().min(u64::from(max)),
        Blend::Last => covering
            .iter()
            .max_by_key(|(order, _)| *order)
            .map_or(0, |(_, sample)| *sample),
    };
    u16::try_from(blended).unwrap()
}

impl Node for Lattice {
    const NAME: &'static str = "lattice";

    one_child!(pattern);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(" blend=\"{}\"", self.blend.name())
    }

    fn parameters(&self) -> Vec<String> {
        let (u, v) = (self.u, self.v);
        vec![format!("u {} {}", u.0, u.1), format!("v {} {}", v.0, v.1)]
    }

    fn natural_size(&self, _: &Model) -> NaturalSize {
        (None, None)
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let wide = |(x, y): (i64, i64)| (i128::from(x), i128::from(y));
        let (u, v) = (wide(self.u), wide(self.v));
        let ((width, height), offset) = (at.child_size(0), at.child_offset(0));
        let determinant = u.0 * v.1 - u.1 * v.0;
        // Every pixel of the pattern may lie here, if its copy begins at i·u + j·v for whole i and j (Cramer's rule).
        let mut covering = Vec::new();
        for dy in 0..height {
            for dx in 0..width {
                let (left, top) = wide((at.x - dx - offset.0, at.y - dy - offset.1));
                let (i, j) = (left * v.1 - top * v.0, u.0 * top - u.1 * left);
                if i % determinant == 0 && j % determinant == 0 {
                    let sample = at.within_child(0, dx, dy);
                    covering.push(((j / determinant, i / determinant), u64::from(sample)));
                }
            }
        }
        blended(self.blend, covering, at.max())
    }

    fn branches(_: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let any =
            (select(&BLENDS[..]), vectors(), inner.pattern.clone()).prop_map(|(blend, (u, v), pattern)| {
                Self {
                    blend,
                    u,
                    v,
                    pattern: Box::new(pattern),
                }
            });
        Some((2, any.boxed()))
    }
}

fn vectors() -> impl Strategy<Value = ((i64, i64), (i64, i64))> {
    let component = || -9_i64..=9;
    ((component(), component()), (component(), component()))
        .prop_filter("parallel", |(u, v)| u.0 * v.1 != u.1 * v.0)
}
