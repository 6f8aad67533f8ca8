//! `resize`: a source of other sides.

use relief_raster::MAX_SIDE;

use super::edge::{EDGE, SOURCE};
use super::{Bounds, Doubts, Edge, IntoKind, NodeKind, NodeSource, Seen, Sizing, words};
use crate::draft::Checker;
use crate::report::Problem;
use crate::signature::{DefaultExtent, DefaultValue, Signature, ValueType, optional};
use crate::syntax::Span;
use crate::validate::Rules;

/// How many samples of the source may become one, along an axis.
const MAX_SHRINKAGE: u64 = 64;

/// Places between two samples that are told apart.
const PHASES: u32 = 256;

/// The sum of the weights of a place.
const TOTAL: i32 = 1 << 16;

/// What the samples around a place are weighted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Resampling {
    /// 1 up to half a sample away: the nearest sample, or the mean of all that become one.
    Box,
    /// 1 − |t|.
    Linear,
    /// The cubic through the samples with slopes of their neighbours (Catmull–Rom).
    #[default]
    Cubic,
    /// sinc(t)·sinc(t/3) up to 3 samples away.
    Lanczos,
}

words!(Resampling {
    Box = "box",
    Linear = "linear",
    Cubic = "cubic",
    Lanczos = "lanczos",
});

impl Resampling {
    /// How far samples count.
    const fn support(self) -> f64 {
        match self {
            Self::Box => 0.5,
            Self::Linear => 1.0,
            Self::Cubic => 2.0,
            Self::Lanczos => 3.0,
        }
    }

    /// The weight at t.
    fn weight(self, t: f64) -> f64 {
        let far = t.abs();
        match self {
            Self::Box if -0.5 < t && t <= 0.5 => 1.0,
            Self::Linear if far < 1.0 => 1.0 - far,
            Self::Cubic if far < 1.0 => (1.5 * far - 2.5) * far * far + 1.0,
            Self::Cubic if far < 2.0 => ((-0.5 * far + 2.5) * far - 4.0) * far + 2.0,
            Self::Lanczos if far < 3.0 => sinc(far) * sinc(far / 3.0),
            _ => 0.0,
        }
    }

    /// The weights of all places, of curves that are so many times as wide: 1 to 64.
    pub(super) fn taps(self, stretched: f64) -> Taps {
        // At most 3 times 64.
        let reach = libm::ceil(self.support() * stretched) as i32;
        let weights = (0..PHASES).flat_map(|phase| {
            let place = f64::from(phase) / f64::from(PHASES);
            rounded((1 - reach..=reach).map(|at| self.weight((f64::from(at) - place) / stretched)))
        });
        Taps {
            first: i64::from(1 - reach),
            weights: weights.collect(),
        }
    }
}

/// sin(πt) / πt.
fn sinc(t: f64) -> f64 {
    if t == 0.0 {
        return 1.0;
    }
    let angle = std::f64::consts::PI * t;
    libm::sin(angle) / angle
}

/// The w × h samples of the one `Source` child from (0, 0) on, as so many as the node has: sample i lies at
/// ((2i + 1)·w/w′ − 1)/2 of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Resize {
    /// What samples are weighted by.
    pub by: Resampling,
    /// Columns and rows of the source, from (0, 0) to where its child ends.
    pub source: (u64, u64),
    /// What is read beyond them.
    pub edge: Edge,
}

/// Weights of the samples around every place between two.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Taps {
    /// Where the first sample lies, from the one at or before the place.
    pub first: i64,
    /// Of 256 places the weights of as many samples, each place's in a row. Their sum is 2^16.
    pub weights: Vec<i32>,
}

/// What is known before the size of the source is.
#[derive(Debug)]
pub(crate) struct Resized {
    by: Resampling,
    edge: Edge,
    span: Span,
}

impl NodeKind for Resize {
    type Draft = Resized;

    const SIGNATURE: Signature = Signature {
        name: "resize",
        meaning: "The source made larger or smaller, to the size of this node. The source is what lies between (0, 0) and its lower right \
                  corner, w × h samples; of w′ columns the one of number i lies at ((2i + 1)·w/w′ − 1)/2 of them, to 1/256 of a sample, halves up, and rows \
                  likewise. Beyond the source `edge` says what is read.",
        details: "Weights are those of `by` at the distances of the samples from the place, which are divided by w/w′ where the source shrinks, so that \
                  all samples count: \"box\" 1 for −½ < t ≤ ½, \"linear\" 1 − |t|, \"cubic\" that of Catmull and Rom, \"lanczos\" sinc(t)·sinc(t/3). \
                  Along each axis they are rounded to whole numbers that sum to 2^16; what rounding leaves goes to the greatest weight, of equal ones \
                  to the first. The sum over columns and rows is exact, and rounded once: ⌊(S + 2^31) / 2^32⌋, taken to 0…M.\n\nAt most 64 samples become one along \
                  an axis; for smaller results stands one `resize` in another.",
        properties: &[
            optional(
                "by",
                ValueType::Word(Resampling::WORDS),
                DefaultValue::Word(Resampling::Cubic.word()),
                "how samples between samples follow: from the nearest, or the mean of all that become one, by straight lines, by cubics, or with the finest detail",
            ),
            EDGE,
        ],
        extent: DefaultExtent::Source,
        children: SOURCE,
        example: "resize width=800 height=600 by=\"lanczos\" {\n    (source)image \"photo.png\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, _: &mut Checker<'_>) -> Option<Resized> {
        Some(Resized {
            by: source.values.word("by").and_then(Resampling::of_word)?,
            edge: Edge::of(source)?,
            span: source.children.first().map(|child| child.node.span)?,
        })
    }

    fn bounds(&self, seen: &Seen<'_>) -> Bounds {
        // Its source lies in another frame.
        seen.any()
    }

    fn is_smooth(&self, children: bool) -> bool {
        children || self.by != Resampling::Box
    }

    fn doubt(_: &Resized, doubts: &mut Doubts<'_>) {
        doubts.warn_of_frame(Self::SIGNATURE.name);
    }

    fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
        let (width, height) = self.source;
        if (1..=MAX_SIDE).contains(&width) && (1..=MAX_SIDE).contains(&height) {
            return Ok(());
        }
        Err(format!(
            "its source of {width} × {height} has no samples, or a side above 2^40 pixels"
        ))
    }
}

impl Resize {
    /// The weights along an axis of `source` samples that become `target`. Nothing where more than 64 would become one.
    #[must_use]
    pub fn taps(&self, source: u64, target: u64) -> Option<Taps> {
        if !fits(source, target) {
            return None;
        }
        Some(self.by.taps((source as f64 / target as f64).max(1.0)))
    }
}

/// Whether so many samples may become so many.
fn fits(source: u64, target: u64) -> bool {
    target > 0 && source.div_ceil(target) <= MAX_SHRINKAGE
}

/// Weights as whole numbers that sum to 2^16: rounded half away from zero, with the rest for the greatest, the first of equal ones.
fn rounded(weights: impl Iterator<Item = f64> + Clone) -> Vec<i32> {
    let sum: f64 = weights.clone().sum();
    let mut whole: Vec<i32> = weights
        .map(|weight| libm::round(f64::from(TOTAL) * weight / sum) as i32)
        .collect();
    let rest = TOTAL - whole.iter().sum::<i32>();
    let mut greatest = 0;
    for (i, weight) in whole.iter().enumerate() {
        if *weight > whole[greatest] {
            greatest = i;
        }
    }
    if let Some(weight) = whole.get_mut(greatest) {
        *weight += rest;
    }
    whole
}

impl IntoKind<Resize> for Resized {
    fn sized(&self, sizing: &mut Sizing<'_>) -> Option<Resize> {
        let end = |begin: i64, side: u64| {
            let end = i128::from(begin) + i128::from(side);
            u64::try_from(end).ok().filter(|end| (1..=MAX_SIDE).contains(end))
        };
        let extent = sizing.placed.first()?.extent;
        let source = end(extent.x(), extent.width()).zip(end(extent.y(), extent.height()));
        let Some(source) = source else {
            let problem = Problem::new(
                "E402",
                "no pixel of this source lies right of and below the corner of its `resize`",
            );
            sizing.note(
                problem
                    .label(self.span, "left of it, or above")
                    .help("leave x and y out: what is resized begins at (0, 0)"),
            );
            return None;
        };
        let size = (sizing.size.width, sizing.size.height);
        for ((from, to), what) in [((source.0, size.0), "columns"), ((source.1, size.1), "rows")] {
            if !fits(from, to) {
                let message = format!("{from} {what} become {to}; at most {MAX_SHRINKAGE} become one");
                let problem = Problem::new("E402", message).label(self.span, format!("{from} {what}"));
                sizing.note(problem.help("put one `resize` into another: each shrinks it by up to 64"));
                return None;
            }
        }
        Some(Resize {
            by: self.by,
            source,
            edge: self.edge,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taps(by: Resampling, source: u64, target: u64) -> Taps {
        let resize = Resize {
            by,
            source: (1, 1),
            edge: Edge::Clamp,
        };
        resize.taps(source, target).unwrap()
    }

    #[test]
    fn weights_between_samples_are_those_of_their_curves() {
        // Half-way between two samples.
        let at = |taps: &Taps, phase: usize| {
            let count = taps.weights.len() / 256;
            taps.weights[phase * count..(phase + 1) * count].to_vec()
        };
        let nearest = taps(Resampling::Box, 5, 9);
        assert_eq!(
            (at(&nearest, 127), at(&nearest, 128)),
            (vec![65_536, 0], vec![0, 65_536])
        );
        assert_eq!(at(&taps(Resampling::Linear, 5, 9), 64), [49_152, 16_384]);
        let cubic = taps(Resampling::Cubic, 5, 9);
        assert_eq!(cubic.first, -1);
        assert_eq!(at(&cubic, 0), [0, 65_536, 0, 0]);
        assert_eq!(at(&cubic, 128), [-4_096, 36_864, 36_864, -4_096]);
        let lanczos = at(&taps(Resampling::Lanczos, 5, 9), 128);
        assert_eq!(lanczos, [1_603, -8_904, 40_068, 40_070, -8_904, 1_603]);
        // Of four that become one, each counts as much.
        assert_eq!(at(&taps(Resampling::Box, 8, 2), 128), [16_384; 4]);
    }

    #[test]
    fn weights_sum_to_one_whatever_the_sizes() {
        for by in [
            Resampling::Box,
            Resampling::Linear,
            Resampling::Cubic,
            Resampling::Lanczos,
        ] {
            for (source, target) in [
                (1, 1),
                (7, 3),
                (100, 99),
                (99, 100),
                (64, 1),
                (1_000, 17),
                (1, 1 << 40),
            ] {
                let taps = taps(by, source, target);
                let count = taps.weights.len() / 256;
                for place in taps.weights.chunks_exact(count) {
                    assert_eq!(place.iter().sum::<i32>(), TOTAL, "{by:?} {source} {target}");
                    assert!(place.iter().map(|weight| weight.abs()).sum::<i32>() < 2 * TOTAL);
                }
            }
            assert!(
                Resize {
                    by,
                    source: (1, 1),
                    edge: Edge::Clamp
                }
                .taps(65, 1)
                .is_none()
            );
            assert!(
                Resize {
                    by,
                    source: (1, 1),
                    edge: Edge::Clamp
                }
                .taps(1, 0)
                .is_none()
            );
        }
    }
}
