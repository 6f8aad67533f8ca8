//! `polygon`: of every sub-scanline, place by place of 1/256 px, the winding number of the outline in exact fractions.

use proptest::prelude::*;
use proptest::sample::select;

use super::{Node, Weighted};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Model, NaturalSize};
use crate::oracle::strategy::samples;

/// A number and what it is divided by.
pub(crate) type Fraction = (i64, i64);

#[derive(Clone, Debug)]
pub(crate) struct Polygon {
    pub(crate) value: u16,
    pub(crate) even_odd: bool,
    /// Pixels are taken by their centres.
    pub(crate) centres: bool,
    pub(crate) vertices: Vec<(Fraction, Fraction)>,
}

/// In 1/256 px, halves up.
pub(super) fn rounded((above, below): Fraction) -> i64 {
    (2 * 256 * above + below).div_euclid(2 * below)
}

impl Polygon {
    fn places(&self) -> Vec<(i64, i64)> {
        let vertices = self.vertices.iter();
        vertices.map(|(x, y)| (rounded(*x), rounded(*y))).collect()
    }

    /// How many of the places [x, x + 1) / 256 with x in `left..right` it covers at this height, in 1/256 px.
    fn covered(&self, left: i64, right: i64, height: i64) -> i64 {
        let places = self.places();
        let mut crossings = Vec::new();
        for (number, &from) in places.iter().enumerate() {
            let to = places[(number + 1) % places.len()];
            let (upper, lower) = if from.1 < to.1 { (from, to) } else { (to, from) };
            if upper.1 <= height && height < lower.1 {
                let along = (height - upper.1) * (lower.0 - upper.0);
                let winding = if from.1 < to.1 { 1 } else { -1 };
                crossings.push((upper.0 + along.div_euclid(lower.1 - upper.1), winding));
            }
        }
        crossings.sort_unstable();
        let (mut winding, mut covered, mut since) = (0, 0, left);
        for (x, by) in crossings.into_iter().chain([(right, 0)]) {
            let x = x.clamp(left, right);
            let inside = if self.even_odd {
                winding % 2 != 0
            } else {
                winding != 0
            };
            covered += if inside { x - since } else { 0 };
            (winding, since) = (winding + by, x);
        }
        covered
    }

    /// The places that are left where neighbours in one place are one.
    fn distinct(&self) -> usize {
        let mut places = self.places();
        places.dedup();
        places.len()
    }
}

impl Node for Polygon {
    const NAME: &'static str = "polygon";

    const OWN_SIZE: bool = true;

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        let rule = if self.even_odd { " rule=\"evenodd\"" } else { "" };
        let antialias = if self.centres { " antialias=\"none\"" } else { "" };
        format!(" value={}{rule}{antialias}", self.value)
    }

    fn parameters(&self) -> Vec<String> {
        let text = |(above, below): &Fraction| format!("\"{above}/{below}\"");
        self.vertices
            .iter()
            .map(|(x, y)| format!("vertex {} {}", text(x), text(y)))
            .collect()
    }

    fn natural_size(&self, _: &Model) -> NaturalSize {
        let reach = |of: fn(&(Fraction, Fraction)) -> Fraction| {
            let end = self.vertices.iter().map(|vertex| rounded(of(vertex))).max()?;
            // To the end of the pixel in which it ends.
            let pixels = -(-end).div_euclid(256);
            (pixels > 0).then_some(pixels as u64)
        };
        if self.distinct() < 3 {
            return (None, None);
        }
        (reach(|vertex| vertex.0), reach(|vertex| vertex.1))
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let (left, top) = (256 * at.x, 256 * at.y);
        if self.centres {
            let covered = self.covered(left + 128, left + 129, top + 128);
            return if covered > 0 { self.value } else { 0 };
        }
        let lines = if at.max() == 255 { 16 } else { 64 };
        let heights = (0..lines).map(|k| top + (2 * k + 1) * 256 / (2 * lines));
        let covered: i64 = heights.map(|height| self.covered(left, left + 256, height)).sum();
        let total = 256 * lines;
        ((i64::from(self.value) * covered + total / 2) / total) as u16
    }

    fn leaves(max: u16) -> Option<Weighted<Self>> {
        let fraction = || {
            let below = select(&[1_i64, 1, 2, 3, 7, 256][..]);
            (-4_i64..12, 0_i64..256, below)
                .prop_map(|(whole, rest, below)| (whole * below + rest % below, below))
        };
        let vertices = proptest::collection::vec((fraction(), fraction()), 3..7);
        let any = (
            samples(max),
            any::<bool>(),
            proptest::bool::weighted(0.2),
            vertices,
        )
            .prop_map(|(value, even_odd, centres, vertices)| Self {
                value,
                even_odd,
                centres,
                vertices,
            });
        Some((2, any.boxed()))
    }
}
