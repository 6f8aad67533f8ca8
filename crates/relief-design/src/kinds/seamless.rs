//! `seamless`: a source whose opposite edges fit each other.

use super::edge::SOURCE;
use super::{Bounds, IntoKind, NaturalChild, NaturalSize, NodeKind, NodeSource, Seen, Sizing};
use crate::draft::Checker;
use crate::report::Problem;
use crate::seam::{Gap, Interval, Seam};
use crate::signature::{DefaultExtent, Signature, ValueType, required};
use crate::syntax::Span;
use crate::validate::Rules;

/// The most columns and rows that are faded.
const MAX_OVERLAP: u32 = 1 << 16;

/// The first columns and rows of the one `Source` child faded into those behind the node's last ones: with w columns and the overlap o, column
/// x < o is (2x + 1)/2o of the source's column x and the rest of its column w + x.
#[derive(Clone, Debug, PartialEq)]
pub struct Seamless {
    /// o: columns and rows that are faded, 1…2^16, no more than the node has.
    pub overlap: u32,
}

/// What is known before its size is.
#[derive(Debug)]
pub(crate) struct Faded {
    overlap: u32,
    span: Span,
}

impl NodeKind for Seamless {
    type Draft = Faded;

    const SIGNATURE: Signature = Signature {
        name: "seamless",
        meaning: "The source made to fit itself, for `repeat`: the samples behind the last of this node's w × h samples are faded into the first ones. In an overlap of o, column x < o is (2x + 1)/2o of the source's column x and the rest of its column w + x, and rows likewise; the weighted \
                  sum over columns and rows is rounded once, halves up. All other samples are those of the source.",
        details: "The source is o pixels wider and higher than this node.",
        properties: &[required(
            "overlap",
            ValueType::Length {
                least: 1,
                greatest: MAX_OVERLAP as i64,
            },
            "o: how many columns and rows are faded, no more than this node has",
        )],
        extent: DefaultExtent::SourceWithoutOverlap,
        children: SOURCE,
        example: "repeat {\n    (pattern)seamless overlap=40 {\n        (source)image \"leather.png\"\n    }\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, _: &mut Checker<'_>) -> Option<Faded> {
        Some(Faded {
            overlap: u32::try_from(source.values.pixels("overlap")?).ok()?,
            span: source.values.span("overlap")?,
        })
    }

    fn natural_size(draft: &Faded, children: &[NaturalChild]) -> NaturalSize {
        let size = NaturalSize::around(children);
        // Of a source that is all overlap one pixel is left; that this is too few is noted where sizes are known.
        let without = |side: u64| side.saturating_sub(draft.overlap.into()).max(1);
        NaturalSize {
            width: size.width.map(without),
            height: size.height.map(without),
            ..size
        }
    }

    fn frame(draft: &Faded, (width, height): (u64, u64)) -> (u64, u64) {
        let with = |side: u64| (side + u64::from(draft.overlap)).min(relief_raster::MAX_SIDE);
        (with(width), with(height))
    }

    fn bounds(&self, seen: &Seen<'_>) -> Bounds {
        // Its source lies in another frame.
        seen.any()
    }

    fn is_smooth(&self, children: bool) -> bool {
        children
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        // Whatever the source is: what lies behind the last sample is faded into the first ones.
        if seam.window != Interval::side(seam.side() as u64) || seam.window.len() != seam.turn {
            seam.gap(Gap::Unproven(
                "`seamless` goes on over its own sides, which are not those of the canvas".to_owned(),
            ));
        }
    }

    fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
        if (1..=MAX_OVERLAP).contains(&self.overlap) {
            return Ok(());
        }
        Err(format!(
            "its overlap, {}, is not 1 to {MAX_OVERLAP}",
            self.overlap
        ))
    }
}

impl IntoKind<Seamless> for Faded {
    fn sized(&self, sizing: &mut Sizing<'_>) -> Option<Seamless> {
        let (overlap, size) = (self.overlap, sizing.size);
        if size.sure && size.width.min(size.height) < overlap.into() {
            let message = format!(
                "an overlap of {overlap} pixels in a node of {} × {}; it is at most the shorter side",
                size.width, size.height
            );
            sizing.note(
                Problem::new("E402", message)
                    .label(self.span, "too wide")
                    .help("a source of w columns makes w − overlap of them: an overlap of a tenth is usual"),
            );
            return None;
        }
        Some(Seamless { overlap })
    }
}
