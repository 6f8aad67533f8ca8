//! `median`: the middle of the samples around a pixel, or another of them by its rank.

use relief_raster::Depth;

use super::edge::{EDGE, SOURCE, is_radius};
use super::{Bounds, Edge, IntoKind, NodeKind, NodeSource, Seen, Sizing};
use crate::draft::Checker;
use crate::report::Problem;
use crate::seam::Seam;
use crate::signature::{DefaultValue, Parameter, Signature, ValueType, optional, required};
use crate::validate::Rules;

/// The greatest radius of `median` in a design of 8 bits, in pixels.
const MAX_RADIUS_EIGHT: u32 = 16;

/// The greatest radius of `median` in a design of 16 bits, in pixels.
const MAX_RADIUS_SIXTEEN: u32 = 8;

/// The `rank`-th smallest of the (2·`radius` + 1)² samples of the square around the pixel, of the one `Source` child.
#[derive(Clone, Debug, PartialEq)]
pub struct Median {
    /// R: how far the square reaches from its middle, in pixels; 1…16 in a design of 8 bits, 1…8 in one of 16.
    pub radius: u32,
    /// Which of the (2R + 1)² samples, in rising order: 1 is the least.
    pub rank: u32,
    /// What is read beyond the node's extent.
    pub edge: Edge,
}

impl Median {
    /// The greatest radius in a design of this depth, in pixels.
    #[must_use]
    pub const fn max_radius(depth: Depth) -> u32 {
        match depth {
            Depth::Eight => MAX_RADIUS_EIGHT,
            Depth::Sixteen => MAX_RADIUS_SIXTEEN,
        }
    }
}

const RADIUS: Parameter = required(
    "radius",
    ValueType::Length {
        least: 1,
        greatest: MAX_RADIUS_EIGHT as i64,
    },
    "R: how far the square reaches from its middle; at most 8 pixels at depth 16",
);

/// The samples of a square: (2R + 1)².
const fn samples(radius: u32) -> u32 {
    (2 * radius + 1) * (2 * radius + 1)
}

impl NodeKind for Median {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "median",
        meaning: "The middle of the n = (2R + 1)² samples of the source in a square around the pixel: the \
                  (n + 1) / 2-th smallest, or the `rank`-th. It removes specks and preserves edges. Zeros count as samples. \
                  Within this node's extent the source is 0 where it is not; beyond it, what `edge` says.",
        properties: &[
            RADIUS,
            optional(
                "rank",
                ValueType::Count {
                    least: 1,
                    greatest: samples(MAX_RADIUS_EIGHT) as i64,
                },
                DefaultValue::Absent("the middle, (n + 1) / 2"),
                "which of the n samples in rising order: 1 is the least, n the greatest",
            ),
            EDGE,
        ],
        children: SOURCE,
        example: "median radius=2 {\n    (source)image \"photo.png\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self> {
        read(source, checker)
    }

    fn bounds(&self, seen: &Seen<'_>) -> Bounds {
        // Whatever its rank, it is one of the samples.
        self.edge.around(seen)
    }

    fn is_smooth(&self, children: bool) -> bool {
        children
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        seam.filter(self.radius, self.edge);
    }

    fn validate(&self, rules: &Rules<'_>) -> Result<(), String> {
        let greatest = if rules.max() == Depth::Eight.max() {
            MAX_RADIUS_EIGHT
        } else {
            MAX_RADIUS_SIXTEEN
        };
        is_radius(self.radius, greatest)?;
        let count = samples(self.radius);
        if !(1..=count).contains(&self.rank) {
            return Err(format!("its rank, {}, is not 1 to {count}", self.rank));
        }
        Ok(())
    }
}

/// The values of `median` and `rank`.
fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Median> {
    let edge = Edge::of(source);
    let pixels = source.values.pixels("radius")?;
    let span = source.values.span("radius")?;
    let radius = u32::try_from(pixels).ok()?;
    let (depth, greatest) = (checker.depth(), Median::max_radius(checker.depth()));
    if radius > greatest {
        // The signature bounds it at 8 bits, so this is a design of 16.
        let message = format!("a radius of {radius} pixels; it is at most {greatest} at {depth}");
        checker.note(
                Problem::new("E402", message)
                    .label(span, "out of range")
                    .help(format!(
                        "write a radius of 1 to {greatest}, or depth=8 at the canvas, where up to {MAX_RADIUS_EIGHT} are possible"
                    )),
            );
        return None;
    }
    let count = samples(radius);
    let rank = match source.values.choice("rank") {
        Some(rank) => u32::try_from(rank).ok()?,
        None => count.div_ceil(2),
    };
    if rank > count {
        let message = format!("a rank of {rank}; a square of radius {radius} has {count} samples");
        let mut problem = Problem::new("E402", message);
        if let Some(rank) = source.values.span("rank") {
            problem = problem.label(rank, "out of range");
        }
        checker.note(problem.label(span, "for this radius").help(format!(
            "write a rank of 1, the least, to {count}, the greatest; the middle is {}",
            count.div_ceil(2)
        )));
        return None;
    }
    Some(Median {
        radius,
        rank,
        edge: edge?,
    })
}

/// The `rank`-th smallest of the samples around the pixel: what `median` takes, with a rank that must be given.
#[derive(Clone, Debug)]
pub(crate) struct Rank(Median);

impl NodeKind for Rank {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "rank",
        meaning: "The `rank`-th smallest of the n = (2R + 1)² samples of the source in a square around the pixel: `median` with a \
                  rank that must be given. 1 is the least, as of `erode`, n the greatest, as of `dilate`, between them \
                  lie percentiles.",
        properties: &[
            RADIUS,
            required(
                "rank",
                ValueType::Count {
                    least: 1,
                    greatest: samples(MAX_RADIUS_EIGHT) as i64,
                },
                "which of the n samples in rising order: 1 is the least, n the greatest",
            ),
            EDGE,
        ],
        children: SOURCE,
        example: "rank radius=2 rank=3 {\n    (source)image \"photo.png\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self> {
        read(source, checker).map(Self)
    }

    fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
        Ok(())
    }
}

impl IntoKind<Median> for Rank {
    fn sized(&self, _: &mut Sizing<'_>) -> Option<Median> {
        Some(self.0.clone())
    }
}
