//! `bilateral`: means that keep edges.

use std::sync::Arc;

use relief_raster::Depth;

use super::edge::{EDGE, SOURCE};
use super::{Bounds, Edge, NodeKind, NodeSource, Seen};
use crate::draft::Checker;
use crate::report::Problem;
use crate::seam::Seam;
use crate::signature::{Signature, ValueType, required};
use crate::validate::Rules;

/// The greatest σ, in pixels: R = ⌈2σ⌉ is then 16.
const MAX_SIGMA: f64 = 8.0;

/// The greatest radius, in pixels.
const MAX_RADIUS: u32 = 16;

/// The weight of the pixel itself.
const ONE: u16 = 1 << 12;

/// ⌊(2Σ w·v + W) / 2W⌋ over the square of radius R around the pixel, with w = ws·wr of the place and of the difference of samples and W = Σ w,
/// of the one `Source` child.
#[derive(Clone, Debug, PartialEq)]
pub struct Bilateral {
    /// R, 1…16.
    pub radius: u32,
    /// ws(dx, dy) of the (2R + 1)² places, row by row, at most 2^12; 2^12 in the middle.
    pub space: Arc<[u16]>,
    /// wr by the difference of samples, at most 2^12, of difference 0 2^12; 0 for greater differences than are here.
    pub range: Arc<[u16]>,
    /// What is read beyond the node's extent.
    pub edge: Edge,
}

impl NodeKind for Bilateral {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "bilateral",
        meaning: "Means of the source in which what lies far, or differs much, counts little, so that edges stay: \
                  ⌊(2·Σ w·v + W) / 2W⌋ over the square of radius R = ⌈2σ⌉, with W = Σ w and w = ws·wr, \
                  ws = round(2^12·e^(−(dx² + dy²) / 2σ²)), wr = round(2^12·e^(−d² / 2ρ²)) of the difference d from the sample in \
                  the middle. Within this node's extent the source is 0 where it is not; beyond it, what `edge` says.",
        properties: &[
            required(
                "sigma",
                ValueType::Distance,
                "σ, above 0 and at most 8 pixels: how far samples count",
            ),
            required(
                "range",
                ValueType::Height,
                "ρ, above 0, a number of levels or a height: how much samples may differ and still count",
            ),
            EDGE,
        ],
        children: SOURCE,
        example: "bilateral sigma=2 range=20 {\n    (source)image \"photo.png\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self> {
        let (sigma, sigma_span) = source.values.real("sigma")?;
        let (range, range_span) = source.values.real("range")?;
        if !(sigma > 0.0 && sigma <= MAX_SIGMA) {
            let message = format!("a sigma of {sigma} pixels; it is above 0 and at most {MAX_SIGMA}");
            checker.note(
                Problem::new("E402", message)
                    .label(sigma_span, "out of range")
                    .help("filter a coarser raster for more, or use `gauss`, which goes up to 64 pixels"),
            );
            return None;
        }
        if range <= 0.0 {
            let message = format!("a range of {range}; it is above 0");
            checker.note(
                Problem::new("E402", message)
                    .label(range_span, "out of range")
                    .help("write about the difference between samples that are to be evened out"),
            );
            return None;
        }
        Some(Self::new(sigma, range, checker.depth(), Edge::of(source)?))
    }

    fn bounds(&self, seen: &Seen<'_>) -> Bounds {
        self.edge.around(seen)
    }

    fn is_smooth(&self, children: bool) -> bool {
        children
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        seam.filter(self.radius, self.edge);
    }

    fn validate(&self, rules: &Rules<'_>) -> Result<(), String> {
        super::edge::is_radius(self.radius, MAX_RADIUS)?;
        let side = 2 * self.radius as usize + 1;
        if self.space.len() != side * side || self.space.get(self.space.len() / 2) != Some(&ONE) {
            return Err(format!(
                "its weights by place are not {} with {ONE} in the middle",
                side * side
            ));
        }
        if self.range.first() != Some(&ONE) || self.range.len() > usize::from(rules.max()) + 1 {
            return Err(format!(
                "its weights by difference are not up to M + 1, the first of them {ONE}"
            ));
        }
        if self
            .space
            .iter()
            .chain(self.range.iter())
            .any(|weight| *weight > ONE)
        {
            return Err(format!("one of its weights is above {ONE}"));
        }
        Ok(())
    }
}

impl Bilateral {
    /// The filter of these deviations. Weights are rounded once, half away from zero.
    fn new(sigma: f64, range: f64, depth: Depth, edge: Edge) -> Self {
        let weight = |squared: f64, deviation: f64| {
            let bell = libm::exp(-squared / (2.0 * deviation * deviation));
            // Of the pixel itself the quotient may be 0 / 0.
            if squared > 0.0 {
                libm::round(f64::from(ONE) * bell) as u16
            } else {
                ONE
            }
        };
        let radius = libm::ceil(2.0 * sigma) as i32;
        let places = (-radius..=radius).flat_map(|dy| (-radius..=radius).map(move |dx| dx * dx + dy * dy));
        let space: Vec<u16> = places.map(|squared| weight(f64::from(squared), sigma)).collect();
        let of_difference = |d: u16| weight(f64::from(d) * f64::from(d), range);
        let range: Vec<u16> = (0..=depth.max())
            .map(of_difference)
            .take_while(|weight| *weight > 0)
            .collect();
        Self {
            radius: radius.unsigned_abs(),
            space: space.into(),
            range: range.into(),
            edge,
        }
    }
}
