//! `sharpen`: what a mean takes away, put on top.

use std::sync::Arc;

use super::edge::{EDGE, SOURCE};
use super::gauss::{is_bell, sigma, weights};
use super::{Edge, NodeKind, NodeSource};
use crate::draft::Checker;
use crate::report::Problem;
use crate::seam::Seam;
use crate::signature::{DefaultValue, Signature, ValueType, optional, required};
use crate::validate::Rules;

/// The greatest amount.
const MAX_AMOUNT: f64 = 100.0;

/// v + amount·(v − g) where |v − g| exceeds the threshold, g being the `gauss` of the one `Source` child.
#[derive(Clone, Debug, PartialEq)]
pub struct Sharpen {
    /// As those of [`Gauss`](super::Gauss).
    pub weights: Arc<[u32]>,
    /// How much of the difference is added, above 0 and at most 100.
    pub amount: f64,
    /// Differences up to this change nothing.
    pub threshold: u16,
    /// What is read beyond the node's extent.
    pub edge: Edge,
}

impl NodeKind for Sharpen {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "sharpen",
        meaning: "The source v with what `gauss` takes away put on top: with d = v − gauss(v), v ± ⌊amount·|d| + ½⌋ in the direction of d, \
                  taken to 0…M, where |d| is above the threshold; else v. The product is one of binary64. Within this \
                  node's extent the source is 0 where it is not; beyond it, what `edge` says.",
        properties: &[
            required(
                "sigma",
                ValueType::Distance,
                "σ of the `gauss`, above 0 and at most 64 pixels: how wide the edges are that stand out",
            ),
            required(
                "amount",
                ValueType::PositiveReal,
                "how much of the difference is added, at most 100: 1 doubles it",
            ),
            optional(
                "threshold",
                ValueType::Sample,
                DefaultValue::Number(0),
                "differences up to this change nothing, such as those of noise",
            ),
            EDGE,
        ],
        children: SOURCE,
        example: "sharpen sigma=2 amount=0.8 threshold=3 {\n    (source)image \"photo.png\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self> {
        let sigma = sigma(source, checker);
        let (amount, span) = source.values.real("amount")?;
        if amount > MAX_AMOUNT {
            let message = format!("an amount of {amount}; it is above 0 and at most {MAX_AMOUNT}");
            checker.note(
                Problem::new("E402", message)
                    .label(span, "out of range")
                    .help("1 doubles what stands out; write a number, not a percentage"),
            );
            return None;
        }
        Some(Self {
            weights: weights(sigma?).into(),
            amount,
            threshold: source.values.sample("threshold")?,
            edge: Edge::of(source)?,
        })
    }

    fn is_smooth(&self, children: bool) -> bool {
        children
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        seam.filter(self.weights.len().saturating_sub(1) as u32, self.edge);
    }

    fn validate(&self, rules: &Rules<'_>) -> Result<(), String> {
        is_bell(&self.weights)?;
        if !(self.amount > 0.0 && self.amount <= MAX_AMOUNT) {
            return Err(format!(
                "its amount, {}, is not above 0 and at most {MAX_AMOUNT}",
                self.amount
            ));
        }
        rules.sample(self.threshold)
    }
}
