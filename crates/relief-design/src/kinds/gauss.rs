//! `gauss`: means weighted by a bell.

use std::sync::Arc;

use super::edge::{EDGE, SOURCE};
use super::{Bounds, Edge, NodeKind, NodeSource, Seen};
use crate::draft::Checker;
use crate::report::Problem;
use crate::seam::Seam;
use crate::signature::{Signature, ValueType, required};
use crate::validate::Rules;

/// The greatest σ of `gauss`, in pixels.
pub const MAX_SIGMA: f64 = 64.0;

/// The sum of all weights of one axis.
const TOTAL: u32 = 1 << 16;

/// ⌊(Σ w(i)·w(j)·v(x + i, y + j) + 2^31) / 2^32⌋ over −R ≤ i, j ≤ R of the one `Source` child.
#[derive(Clone, Debug, PartialEq)]
pub struct Gauss {
    /// w(0), w(1), … w(R): all but w(0) count twice, and their sum is 2^16.
    pub weights: Arc<[u32]>,
    /// What is read beyond the node's extent.
    pub edge: Edge,
}

impl NodeKind for Gauss {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "gauss",
        meaning: "Means of the source weighted by a bell: ⌊(Σ w(i)·w(j)·v(x + i, y + j) + 2^31) / 2^32⌋ over \
                  −R ≤ i, j ≤ R, with R = ⌈4σ⌉ and w(k) = round(2^16·e^(−k² / 2σ²) / Σ), Σ being the sum of all \
                  exponentials; w(0) takes what is missing to 2^16. Within this node's extent the source is 0 where \
                  it is not; beyond it, what `edge` says.",
        properties: &[
            required(
                "sigma",
                ValueType::Distance,
                "σ, above 0 and at most 64 pixels: two thirds of the weight lie within σ",
            ),
            EDGE,
        ],
        children: SOURCE,
        example: "gauss sigma=2.5 {\n    (source)image \"photo.png\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self> {
        let edge = Edge::of(source)?;
        Some(Self {
            weights: weights(sigma(source, checker)?).into(),
            edge,
        })
    }

    fn bounds(&self, seen: &Seen<'_>) -> Bounds {
        // Means of samples lie between them.
        self.edge.around(seen)
    }

    fn is_smooth(&self, _: bool) -> bool {
        true
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        seam.filter(self.weights.len().saturating_sub(1) as u32, self.edge);
    }

    fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
        is_bell(&self.weights)
    }
}

/// Whether these are weights from the middle outwards.
pub(super) fn is_bell(weights: &[u32]) -> Result<(), String> {
    let sides = weights.iter().skip(1).map(|weight| 2 * u64::from(*weight));
    let sum = sides.sum::<u64>() + u64::from(weights.first().copied().unwrap_or(0));
    if weights.len() > 4 * MAX_SIGMA as usize + 1 {
        return Err(format!("has {} weights, at most 257 are possible", weights.len()));
    }
    if sum != u64::from(TOTAL) {
        return Err(format!("has weights that sum to {sum}, not to {TOTAL}"));
    }
    Ok(())
}

/// The distance `sigma` of a filter, in pixels. That it is out of range is noted.
pub(super) fn sigma(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<f64> {
    let (sigma, span) = source.values.real("sigma")?;
    if sigma > 0.0 && sigma <= MAX_SIGMA {
        return Some(sigma);
    }
    let message = format!("a sigma of {sigma} pixels; it is above 0 and at most {MAX_SIGMA}");
    let help = if sigma > MAX_SIGMA {
        "blur a coarser raster for more: `gauss` of a picture that was made smaller".to_owned()
    } else {
        "write a sigma above 0, or leave the filter out where nothing is to be blurred".to_owned()
    };
    checker.note(
        Problem::new("E402", message)
            .label(span, "out of range")
            .help(help),
    );
    None
}

/// The weights of one axis, from the middle outwards. Exponentials are summed from the outermost inwards; each weight is
/// rounded once, half away from zero, and the middle takes the rest.
pub(super) fn weights(sigma: f64) -> Vec<u32> {
    let radius = libm::ceil(4.0 * sigma);
    let fall = |k: f64| libm::exp(-(k * k) / (2.0 * sigma * sigma));
    let steps = radius as u32;
    let outside: f64 = (1..=steps).rev().map(|k| fall(f64::from(k))).sum();
    let all = 2.0 * outside + 1.0;
    let sides: Vec<u32> = (1..=steps)
        .map(|k| libm::round(f64::from(TOTAL) * fall(f64::from(k)) / all) as u32)
        .collect();
    let middle = TOTAL.saturating_sub(2 * sides.iter().sum::<u32>());
    std::iter::once(middle).chain(sides).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_sum_to_one_and_fall_from_the_middle() {
        // Every σ that makes another radius, and many between.
        for step in 1..=6_400 {
            let sigma = f64::from(step) / 100.0;
            let weights = weights(sigma);
            let sum = weights[0] + 2 * weights[1..].iter().sum::<u32>();
            assert_eq!(sum, TOTAL, "σ = {sigma}");
            assert_eq!(weights.len(), (4.0 * sigma).ceil() as usize + 1, "σ = {sigma}");
            assert!(
                weights[1..].windows(2).all(|pair| pair[0] >= pair[1]),
                "σ = {sigma}"
            );
            // Rounding may leave the middle a little less than its neighbours.
            assert!(weights[0] + 256 >= weights[1], "σ = {sigma}: {weights:?}");
        }
        assert_eq!(weights(f64::MIN_POSITIVE), [TOTAL, 0]);
    }

    #[test]
    fn the_second_moment_is_that_of_the_bell() {
        for sigma in [1.0, 2.5, 8.0, 31.0, 64.0] {
            let moment: f64 = weights(sigma)
                .iter()
                .enumerate()
                .map(|(k, weight)| 2.0 * (k * k) as f64 * f64::from(*weight))
                .sum();
            let found = (moment / f64::from(TOTAL)).sqrt();
            assert!((found / sigma - 1.0).abs() < 0.01, "σ = {sigma}: {found}");
        }
    }
}
