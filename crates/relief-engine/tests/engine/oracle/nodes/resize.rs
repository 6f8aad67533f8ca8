//! `resize`: a sample as the sum of all of the source near its place, each weighted along both axes.

use proptest::prelude::*;
use proptest::sample::select;

use super::gauss::Edge;
use super::{Node, Weighted, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model};
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Resize {
    /// "box", "linear", "cubic" or "lanczos".
    pub(crate) by: &'static str,
    pub(crate) edge: Edge,
    pub(crate) source: Box<Item>,
}

fn curve(by: &str, t: f64) -> f64 {
    let far = t.abs();
    let sinc = |t: f64| {
        let angle = std::f64::consts::PI * t;
        if t == 0.0 { 1.0 } else { angle.sin() / angle }
    };
    match by {
        "box" => f64::from(u8::from(-0.5 < t && t <= 0.5)),
        "linear" => (1.0 - far).max(0.0),
        "cubic" if far < 1.0 => (1.5 * far - 2.5) * far * far + 1.0,
        "cubic" if far < 2.0 => ((-0.5 * far + 2.5) * far - 4.0) * far + 2.0,
        "lanczos" if far < 3.0 => sinc(far) * sinc(far / 3.0),
        _ => 0.0,
    }
}

/// The samples that count along an axis for sample `i` of `target`, of `source`, with their weights.
pub(super) fn taps(by: &str, i: i64, source: i64, target: i64) -> Vec<(i64, i64)> {
    // ⌊256·p + ½⌋ of p = ((2i + 1)·source/target − 1)/2.
    let [at, from, to] = [i, source, target].map(i128::from);
    let place = (256 * ((2 * at + 1) * from - to) + to).div_euclid(2 * to) as i64;
    around(by, place, (source as f64 / target as f64).max(1.0))
}

/// The samples that count for a place in 1/256 of a sample, with their weights, of a curve that is so many times as wide.
pub(super) fn around(by: &str, place: i64, stretched: f64) -> Vec<(i64, i64)> {
    let (whole, part) = (place.div_euclid(256), place.rem_euclid(256) as f64 / 256.0);
    let reach = match by {
        "box" => 0.5,
        "linear" => 1.0,
        "cubic" => 2.0,
        _ => 3.0,
    };
    let reach = (reach * stretched).ceil() as i64;
    let curve: Vec<(i64, f64)> = (1 - reach..=reach)
        .map(|at| (whole + at, curve(by, (at as f64 - part) / stretched)))
        .collect();
    let sum: f64 = curve.iter().map(|(_, weight)| weight).sum();
    let mut weights: Vec<(i64, i64)> = curve
        .iter()
        .map(|(at, weight)| (*at, (65_536.0 * weight / sum).round() as i64))
        .collect();
    let rest = 65_536 - weights.iter().map(|(_, weight)| weight).sum::<i64>();
    let most = weights.iter().map(|(_, weight)| *weight).max().unwrap();
    weights.iter_mut().find(|(_, weight)| *weight == most).unwrap().1 += rest;
    weights.retain(|(_, weight)| *weight != 0);
    weights
}

impl Node for Resize {
    const NAME: &'static str = "resize";

    const OWN_SIZE: bool = true;

    one_child!(source);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(" by={} edge=\"{}\"", self.by, self.edge.name())
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let ((width, height), child, offset) = (at.size(), at.child_size(0), at.child_offset(0));
        let (columns, rows) = (offset.0 + child.0, offset.1 + child.1);
        let across = taps(self.by, at.x, columns, width);
        let down = taps(self.by, at.y, rows, height);
        let mut sum = 0_i128;
        for (y, weight) in down {
            for (x, factor) in &across {
                if let (Some(x), Some(y)) = (self.edge.of(*x, columns), self.edge.of(y, rows)) {
                    sum += i128::from(weight * factor) * i128::from(at.child(0, x, y));
                }
            }
        }
        let rounded = (sum + (1 << 31)) >> 32;
        u16::try_from(rounded.clamp(0, i128::from(at.max()))).unwrap()
    }

    fn branches(_: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let by = select(&["box", "linear", "cubic", "lanczos"][..]);
        // A source of a few pixels, of which not too many become one.
        let any = (by, select(&Edge::ALL[..]), inner.pattern.clone()).prop_map(|(by, edge, source)| {
            let at = (source.x.abs() % 8, source.y.abs() % 8);
            Self {
                by,
                edge,
                source: Box::new(source.at(at.0, at.1)),
            }
        });
        Some((1, any.boxed()))
    }
}
