//! `repeat` and `lattice` whose steps and vectors are no whole numbers of pixels: copy (i, j) at the nearest ones.

use proptest::prelude::*;
use proptest::sample::select;

use super::lattice::{BLENDS, Blend, blended};
use super::{Node, Weighted, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model, NaturalSize};
use crate::oracle::strategy::Inner;

/// A lattice of vectors over a denominator for each axis.
#[derive(Clone, Debug)]
pub(crate) struct FractionalLattice {
    pub(crate) blend: Blend,
    pub(crate) u: (i64, i64),
    pub(crate) v: (i64, i64),
    pub(crate) over: (i64, i64),
    pub(crate) pattern: Box<Item>,
}

/// A repeat whose steps are those of the pattern and such fractions of pixels more.
#[derive(Clone, Debug)]
pub(crate) struct FractionalRepeat {
    pub(crate) gaps: ((i64, i64), (i64, i64)),
    pub(crate) pattern: Box<Item>,
}

/// ⌊n / d + ½⌋.
fn nearest(n: i128, d: i64) -> i128 {
    (2 * n + i128::from(d)).div_euclid(2 * i128::from(d))
}

/// The whole numbers from the least to the greatest of these quotients, and one more at each end.
fn around(numerators: [i128; 4], denominator: i128) -> std::ops::RangeInclusive<i128> {
    let quotients = numerators.map(|n| n.div_euclid(denominator));
    let least = quotients.iter().min().unwrap() - 1;
    least..=quotients.iter().max().unwrap() + 2
}

impl Node for FractionalLattice {
    const NAME: &'static str = "lattice";

    one_child!(pattern);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(" blend=\"{}\"", self.blend.name())
    }

    fn parameters(&self) -> Vec<String> {
        let vector = |name: &str, (x, y): (i64, i64)| {
            format!("{name} \"{x}/{}px\" \"{y}/{}\"", self.over.0, self.over.1)
        };
        vec![vector("u", self.u), vector("v", self.v)]
    }

    fn natural_size(&self, _: &Model) -> NaturalSize {
        (None, None)
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let wide = |(x, y): (i64, i64)| (i128::from(x), i128::from(y));
        let (u, v, over) = (wide(self.u), wide(self.v), wide(self.over));
        let ((width, height), offset) = (at.child_size(0), wide(at.child_offset(0)));
        let here = (i128::from(at.x) - offset.0, i128::from(at.y) - offset.1);
        // A copy over this pixel begins at most its size and a pixel from it. What i and j such places have is linear
        // in the place, so that those of the corners bound them (Cramer's rule).
        let (far_x, far_y) = (i128::from(width) + 1, i128::from(height) + 1);
        let corners = [(-far_x, -far_y), (1, -far_y), (-far_x, 1), (1, 1)]
            .map(|(dx, dy)| ((here.0 + dx) * over.0, (here.1 + dy) * over.1));
        let determinant = u.0 * v.1 - u.1 * v.0;
        let mut covering = Vec::new();
        for j in around(corners.map(|(x, y)| u.0 * y - u.1 * x), determinant) {
            for i in around(corners.map(|(x, y)| x * v.1 - y * v.0), determinant) {
                let x = here.0 - nearest(i * u.0 + j * v.0, self.over.0);
                let y = here.1 - nearest(i * u.1 + j * v.1, self.over.1);
                if (0..i128::from(width)).contains(&x) && (0..i128::from(height)).contains(&y) {
                    let sample = at.within_child(0, x as i64, y as i64);
                    covering.push(((j, i), u64::from(sample)));
                }
            }
        }
        blended(self.blend, covering, at.max())
    }

    fn branches(_: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let component = || -19_i64..=19;
        let vectors = ((component(), component()), (component(), component()))
            .prop_filter("parallel", |(u, v)| u.0 * v.1 != u.1 * v.0);
        let any = (
            select(&BLENDS[..]),
            vectors,
            (1_i64..6, 1_i64..6),
            inner.pattern.clone(),
        )
            .prop_map(|(blend, (u, v), over, pattern)| Self {
                blend,
                u,
                v,
                over,
                pattern: Box::new(pattern),
            });
        Some((1, any.boxed()))
    }
}

impl Node for FractionalRepeat {
    const NAME: &'static str = "repeat";

    one_child!(pattern);

    fn properties(&self, model: &Model, frame: Option<(u64, u64)>) -> String {
        let (width, height) = model
            .size("pattern", &self.pattern, frame)
            .expect("a pattern has a size");
        let step = |side: u64, (n, d): (i64, i64)| format!("\"{}/{d}px\"", side as i64 * d + n);
        format!(
            " step-x={} step-y={}",
            step(width, self.gaps.0),
            step(height, self.gaps.1)
        )
    }

    fn natural_size(&self, _: &Model) -> NaturalSize {
        (None, None)
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let ((width, height), (left, top)) = (at.child_size(0), at.child_offset(0));
        // How far the pixel lies from the last copy that begins at or before it.
        let within = |place: i64, side: i64, (n, d): (i64, i64)| {
            let (place, step) = (i128::from(place), i128::from(side * d + n));
            let last = place * i128::from(d) / step + 2;
            let begins = (last - 5..=last).map(|i| nearest(i * step, d));
            (place - begins.filter(|begin| *begin <= place).max().unwrap()) as i64
        };
        let x = within(at.x - left, width, self.gaps.0);
        let y = within(at.y - top, height, self.gaps.1);
        at.within_child(0, x, y)
    }

    fn branches(_: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let gap = || (0_i64..30, 1_i64..7);
        let any = (gap(), gap(), inner.pattern.clone()).prop_map(|(x, y, pattern)| Self {
            gaps: (x, y),
            pattern: Box::new(pattern),
        });
        Some((1, any.boxed()))
    }
}
