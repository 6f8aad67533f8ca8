//! `detrend`: a source without its slope.

use super::edge::SOURCE;
use super::{IntoKind, NodeKind, NodeSource, Sizing};
use crate::draft::Checker;
use crate::report::Problem;
use crate::signature::{DefaultValue, Signature, ValueType, optional};
use crate::syntax::Span;
use crate::validate::Rules;

/// The longest side, so that sums of squares of places are exact.
pub const MAX_DETRENDED: u64 = 1 << 20;

/// The one `Source` child less the plane, or the surface of second degree, that lies nearest to it over the node's extent; its mean stays.
#[derive(Clone, Debug, PartialEq)]
pub struct Detrend {
    /// 1 or 2.
    pub degree: u8,
}

/// What is known before its size is.
#[derive(Debug)]
pub(crate) struct Levelled {
    degree: u8,
    span: Span,
}

impl NodeKind for Detrend {
    type Draft = Levelled;

    const SIGNATURE: Signature = Signature {
        name: "detrend",
        meaning: "The source without its slope, as of an uneven light or a tilted scan: less the plane (degree 1) or the surface of second degree that is nearest to it by least squares \
                  over this node's whole extent. Its mean stays. Outside the source samples are 0 and count.",
        details: "With X = 2x + 1 − W, Y = 2y + 1 − H, P = 3X² − (W² − 1) and Q = 3Y² − (H² − 1) the products 1, X, Y, XY, P and Q are orthogonal over W × H samples: the coefficient \
                  of each B is Σv·B / ΣB², of exact sums, rounded down to 2^−64, and 0 where ΣB² is. T sums the coefficients times X and Y, in degree 2 also XY, P and Q, and the sample is \
                  ⌊v − T + ½⌋, taken to 0…M. The whole source is looked at before the first band, whatever region is computed. Sides are at most 2^20 pixels.",
        properties: &[optional(
            "degree",
            ValueType::Choice(&[1, 2]),
            DefaultValue::Number(1),
            "1 takes a slope away, 2 also a bulge and a twist",
        )],
        children: SOURCE,
        example: "detrend degree=2 {\n    (source)image \"page.png\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, _: &mut Checker<'_>) -> Option<Levelled> {
        Some(Levelled {
            degree: u8::try_from(source.values.choice("degree")?).ok()?,
            span: source.span,
        })
    }

    fn is_smooth(&self, _: bool) -> bool {
        true
    }

    fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
        if (1..=2).contains(&self.degree) {
            return Ok(());
        }
        Err(format!("its degree, {}, is not 1 or 2", self.degree))
    }
}

impl IntoKind<Detrend> for Levelled {
    fn sized(&self, sizing: &mut Sizing<'_>) -> Option<Detrend> {
        let size = sizing.size;
        let longest = size.width.max(size.height);
        if size.sure && longest > MAX_DETRENDED {
            let message = format!("a side of {longest} pixels; a `detrend` has at most 2^20");
            sizing.note(
                Problem::new("E402", message)
                    .label(self.span, "too large")
                    .help("take the slope away from a smaller part, or from a picture before it is repeated"),
            );
            return None;
        }
        Some(Detrend { degree: self.degree })
    }
}
