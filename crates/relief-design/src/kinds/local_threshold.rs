//! `local-threshold`: two samples, by what lies around.

use super::edge::{EDGE, SOURCE, is_radius, radius};
use super::{Edge, NodeKind, NodeSource};
use crate::draft::Checker;
use crate::report::Problem;
use crate::seam::Seam;
use crate::signature::{DefaultValue, Signature, ValueType, optional, required};
use crate::validate::Rules;

/// The greatest radius, in pixels.
const MAX_RADIUS: u32 = 127;

/// The greatest offset.
const MAX_OFFSET: i32 = 65_535;

/// k of Sauvola's threshold where it is not given.
const SAUVOLA: f64 = 0.2;

/// The threshold of a pixel, by the n = (2R + 1)² samples of the square around it with the sum Σ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LocalLaw {
    /// Set where n·(v + offset) ≥ Σ.
    Mean {
        /// How far a sample may lie below the mean, −65 535…65 535.
        offset: i32,
    },
    /// Set where v ≥ m·(1 + k·(s / (M/2) − 1)), with m the mean and s the deviation.
    Sauvola {
        /// k, −1…1.
        k: f64,
    },
}

/// M where the one `Source` child reaches what its law makes of the samples around, else 0.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalThreshold {
    /// R: how far the square reaches from its middle, in pixels, 1…127.
    pub radius: u32,
    /// Which pixels are set.
    pub law: LocalLaw,
    /// What is read beyond the node's extent.
    pub edge: Edge,
}

/// How the threshold follows.
const METHODS: &[&str] = &["mean", "sauvola"];

impl NodeKind for LocalThreshold {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "local-threshold",
        meaning: "M where the source reaches a threshold that follows from the n = (2R + 1)² samples in a square around the pixel, \
                  else 0. \"mean\": where n·(v + offset) ≥ Σ, their sum. \"sauvola\": where v ≥ m·(1 + k·(s / (M/2) − 1)), with \
                  their mean m = Σ/n and their deviation s = √(n·Q − Σ²) / n, Q being the sum of their squares; computed in binary64, \
                  each operation rounded once. Zeros count as samples. Within this node's extent the source is 0 \
                  where it is not; beyond it, what `edge` says.",
        properties: &[
            required(
                "radius",
                ValueType::Length {
                    least: 1,
                    greatest: MAX_RADIUS as i64,
                },
                "R: how far the square reaches from its middle",
            ),
            optional(
                "method",
                ValueType::Word(METHODS),
                DefaultValue::Word(METHODS[0]),
                "the threshold: their mean, or that of Sauvola and Pietikäinen, which leaves even grounds alone",
            ),
            optional(
                "offset",
                ValueType::Count {
                    least: -(MAX_OFFSET as i64),
                    greatest: MAX_OFFSET as i64,
                },
                DefaultValue::Absent("0; only with \"mean\""),
                "how many levels a sample may lie below the mean and be set",
            ),
            optional(
                "k",
                ValueType::Real,
                DefaultValue::Absent("0.2; only with \"sauvola\""),
                "k, −1 to 1: how much lower the threshold is where samples differ little",
            ),
            EDGE,
        ],
        children: SOURCE,
        example: "local-threshold radius=20 method=\"sauvola\" k=0.3 {\n    (source)image \"page.png\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self> {
        let method = source.values.word("method")?;
        let by_mean = method == METHODS[0];
        let (other, takes) = if by_mean { ("k", "offset") } else { ("offset", "k") };
        if let Some(span) = source.values.span(other) {
            let message = format!("`{other}` has no meaning with method=\"{}\"", method);
            let help = format!("leave it out, or write the other method; this one takes `{takes}`");
            checker.note(
                Problem::new("E302", message)
                    .label(span, "not with this method")
                    .help(help),
            );
            return None;
        }
        let law = if by_mean {
            let offset = source.values.choice("offset").unwrap_or(0);
            LocalLaw::Mean {
                offset: i32::try_from(offset).ok()?,
            }
        } else {
            let k = source.values.real("k");
            if let Some((k, span)) = k.filter(|(k, _)| !(-1.0..=1.0).contains(k)) {
                let message = format!("a k of {k}; it is −1 to 1");
                checker.note(
                    Problem::new("E402", message)
                        .label(span, "out of range")
                        .help("0.2 to 0.5 are usual"),
                );
                return None;
            }
            LocalLaw::Sauvola {
                k: k.map_or(SAUVOLA, |(k, _)| k),
            }
        };
        Some(Self {
            radius: radius(source)?,
            law,
            edge: Edge::of(source)?,
        })
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        seam.filter(self.radius, self.edge);
    }

    fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
        is_radius(self.radius, MAX_RADIUS)?;
        match self.law {
            LocalLaw::Mean { offset } if offset.unsigned_abs() > MAX_OFFSET.unsigned_abs() => Err(format!(
                "its offset, {offset}, is not −{MAX_OFFSET} to {MAX_OFFSET}"
            )),
            LocalLaw::Sauvola { k } if !(-1.0..=1.0).contains(&k) => {
                Err(format!("its k, {k}, is not −1 to 1"))
            }
            _ => Ok(()),
        }
    }
}
