//! `affine`: a sample as the sum of those around the place that the inverse matrix gives, weighted along both axes.

use proptest::prelude::*;
use proptest::sample::select;

use super::gauss::Edge;
use super::resize::around;
use super::{Node, Weighted, one_child};
use crate::oracle::evaluate::At;
use crate::oracle::model::{Item, Model};
use crate::oracle::strategy::Inner;

#[derive(Clone, Debug)]
pub(crate) struct Affine {
    /// In degrees, clockwise.
    pub(crate) angle: f64,
    pub(crate) scale: (f64, f64),
    pub(crate) shear: f64,
    /// In quarters of a pixel.
    pub(crate) shift: (i64, i64),
    /// "nearest", "linear", "cubic" or "lanczos".
    pub(crate) by: &'static str,
    pub(crate) edge: Edge,
    pub(crate) source: Box<Item>,
}

impl Affine {
    /// The matrix from the node to the source, in 2^−40.
    fn inverse(&self) -> [i128; 4] {
        let angle = self.angle.rem_euclid(360.0);
        let quarters = [(0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0)];
        // Right angles are exact.
        let (sine, cosine) = if angle % 90.0 == 0.0 {
            quarters[(angle / 90.0) as usize]
        } else {
            angle.to_radians().sin_cos()
        };
        let (across, down) = self.scale;
        [
            (cosine + self.shear * sine) / across,
            (sine - self.shear * cosine) / across,
            -sine / down,
            cosine / down,
        ]
        .map(|coefficient| (coefficient * 2_f64.powi(40)).round() as i128)
    }
}

impl Node for Affine {
    const NAME: &'static str = "affine";

    const OWN_SIZE: bool = true;

    one_child!(source);

    fn properties(&self, _: &Model, _: Option<(u64, u64)>) -> String {
        format!(
            " angle={:?} scale-x={:?} scale-y={:?} shear={:?} shift-x=\"{}/4px\" shift-y=\"{}/4px\" by={} edge=\"{}\"",
            self.angle,
            self.scale.0,
            self.scale.1,
            self.shear,
            self.shift.0,
            self.shift.1,
            self.by,
            self.edge.name()
        )
    }

    fn sample(&self, at: &mut At<'_, '_>) -> u16 {
        let ((width, height), child, offset) = (at.size(), at.child_size(0), at.child_offset(0));
        let source = (offset.0 + child.0, offset.1 + child.1);
        let [a, b, c, d] = self.inverse();
        // Twice the way from the middle of the node.
        let (x, y) = (
            i128::from(2 * at.x + 1 - width),
            i128::from(2 * at.y + 1 - height),
        );
        let (s, t) = (i128::from(self.shift.0) << 14, i128::from(self.shift.1) << 14);
        let place = |along: i128, down: i128, side: i64| {
            let moved = (along * s + down * t).div_euclid(1 << 15);
            let place = along * x + down * y - moved + (i128::from(side - 1) << 40);
            // ⌊256·p + ½⌋ of p / 2^41.
            i64::try_from((512 * place + (1 << 41)).div_euclid(1 << 42)).unwrap()
        };
        let by = if self.by == "nearest" { "box" } else { self.by };
        let across = around(by, place(a, b, source.0), 1.0);
        let down = around(by, place(c, d, source.1), 1.0);
        let mut sum = 0_i128;
        for (y, weight) in down {
            for (x, factor) in &across {
                if let (Some(x), Some(y)) = (self.edge.of(*x, source.0), self.edge.of(y, source.1)) {
                    sum += i128::from(weight * factor) * i128::from(at.child(0, x, y));
                }
            }
        }
        let rounded = (sum + (1 << 31)) >> 32;
        u16::try_from(rounded.clamp(0, i128::from(at.max()))).unwrap()
    }

    fn branches(_: u16, inner: &Inner) -> Option<Weighted<Self>> {
        let by = select(&["nearest", "linear", "cubic", "lanczos"][..]);
        // Of which no coefficient comes near a half, where two libraries could round it apart.
        let angle = select(&[0.0, 90.0, -180.0, 270.0, 30.0, 45.0, -12.5, 200.25][..]);
        let scale = || select(&[1.0, 0.5, 2.0, -1.5, 0.3, 7.0][..]);
        let shear = select(&[0.0, 0.0, 0.5, -1.25][..]);
        let matrix = (angle, (scale(), scale()), shear);
        let values = (matrix, (-20_i64..20, -20_i64..20), by, select(&Edge::ALL[..]));
        let any =
            (values, inner.pattern.clone()).prop_map(|(((angle, scale, shear), shift, by, edge), source)| {
                let at = (source.x.abs() % 8, source.y.abs() % 8);
                Self {
                    angle,
                    scale,
                    shear,
                    shift,
                    by,
                    edge,
                    source: Box::new(source.at(at.0, at.1)),
                }
            });
        Some((1, any.boxed()))
    }
}
