//! `distance`: a profile of the distance to what is set in a mask.

use std::sync::Arc;

use super::{
    Bounds, Compose, Doubts, IntoKind, Kind, Lowering, Map, NodeKind, NodeSource, Seen, Sizing, Threshold,
    moved,
};
use crate::draft::{Checker, TableKey, not_a_number};
use crate::report::Problem;
use crate::seam::Seam;
use crate::signature::{Count, DefaultValue, Signature, ValueType, optional, parameter, required, role};
use crate::syntax::{Element, Literal, Span};
use crate::table;
use crate::tree::{Child, Role};
use crate::validate::Rules;

/// The greatest radius of `distance`, in pixels.
pub const MAX_RADIUS: u32 = 4_096;

/// From which pixels distances are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    /// From those that are not set, to the nearest that is.
    Outside,
    /// From those that are set, to the nearest that is not.
    Inside,
    /// From all, to the nearest of the other sort.
    Both,
}

impl Side {
    const WORDS: &'static [&'static str] = &["outside", "inside", "both"];

    fn of_word(word: &str) -> Option<Self> {
        match word {
            "outside" => Some(Self::Outside),
            "inside" => Some(Self::Inside),
            "both" => Some(Self::Both),
            _ => None,
        }
    }
}

/// A distance with what counts as set, and the side that it is told on.
#[derive(Debug)]
pub(crate) struct Sided {
    distance: Distance,
    side: Side,
    /// Samples of at least this are set.
    level: u16,
    level_is_given: bool,
    /// The greatest sample.
    max: u16,
}

/// A function of the distance to the nearest white pixel of one `Mask` child.
#[derive(Clone, Debug, PartialEq)]
pub struct Distance {
    /// The greatest distance that is told apart, in pixels, 0…4 096.
    pub radius: u32,
    /// `profile[a]` for a = dx² + dy², 0 ≤ a ≤ radius².
    pub profile: Arc<[u16]>,
    /// The sample where no white pixel lies within the radius.
    pub beyond: u16,
}

impl NodeKind for Distance {
    type Draft = Sided;

    const SIGNATURE: Signature = Signature {
        name: "distance",
        meaning: "A function of the distance d to the nearest pixel of the mask that is set: whose sample is at least \
                  `level`. Pixels outside the mask's extent are not set; those that are set outside this node's \
                  extent count.",
        properties: &[
            required(
                "radius",
                ValueType::Length {
                    least: 0,
                    greatest: MAX_RADIUS as i64,
                },
                "R: how far the profile reaches; a pixel with nothing set within R takes `beyond`",
            ),
            optional(
                "side",
                ValueType::Word(Side::WORDS),
                DefaultValue::Word("outside"),
                "where distances are told: \"outside\" what is set, where they are 0 inside; \"inside\", to the nearest \
                 pixel that is not set; or on \"both\" sides, to the nearest of the other sort",
            ),
            optional(
                "level",
                ValueType::Sample,
                DefaultValue::Number(1),
                "the least sample that is set; for an anti-aliased mask half of M",
            ),
        ],
        children: &[role(Role::Mask, Count::One), parameter("profile", Count::One)],
        example: "distance radius=40 {\n    (mask)image \"logo.png\"\n    profile \"255 * (1 - (d / 40) ^ 2)\" beyond=0\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Sided> {
        let side = source.values.word("side").and_then(Side::of_word);
        let level = source.values.sample("level");
        if level == Some(0) {
            let span = source.values.span("level").unwrap_or_default();
            let problem = Problem::new(
                "E402",
                "a level of 0 would set every pixel, also those that are not there",
            );
            checker.note(
                problem
                    .label(span, "out of range")
                    .help("write a level of at least 1"),
            );
            return None;
        }
        let radius = source
            .values
            .pixels("radius")
            .and_then(|pixels| u32::try_from(pixels).ok());
        let element = source.parameter("profile")?;
        let given = checker.parameter_values(element);
        if let Some((f, span)) = given.is_none().then(|| first_text(element)).flatten() {
            // The expression is checked though something else is wrong.
            checker.function(&f, span, "d");
        }
        let points = if element.children.is_empty() {
            None
        } else {
            Some(checker.points(element))
        };
        let given = given?;
        let profile = match (given.text("f"), points) {
            (Some((_, span)), Some(_)) => {
                let first = element
                    .children
                    .first()
                    .map_or(element.name.span, |c| c.name.span);
                let message = "`profile` takes an expression or points, not both";
                let problem = Problem::new("E311", message)
                    .label(first, "points")
                    .label(span, "an expression");
                checker.note(problem.help("remove one of them"));
                return None;
            }
            (None, None) => {
                let problem = Problem::new("E306", "`profile` needs a value: an expression in d, or points");
                let help = "write profile \"255 - d\" or profile { point 0 255; point 40 0 }";
                checker.note(problem.label(element.name.span, "here").help(help));
                return None;
            }
            (Some((text, span)), None) => profile_of_text(text, span, radius, checker)?,
            (None, Some(points)) => {
                let (points, radius) = (points?, radius?);
                let mut numbers = vec![radius.into()];
                numbers.extend(points.bits());
                let key = TableKey::of_numbers("point profile", numbers);
                let depth = checker.depth();
                checker
                    .table(key, 1, table::length(radius), element.name.span, |_| {
                        Ok((points.profile(radius, depth)?, 0))
                    })
                    .ok()?
            }
        };
        let beyond = given.sample("beyond").or_else(|| profile.last().copied())?;
        Some(Sided {
            distance: Self {
                radius: radius?,
                profile,
                beyond,
            },
            side: side?,
            level: level?,
            level_is_given: source.values.span("level").is_some(),
            max: checker.depth().max(),
        })
    }

    fn bounds(&self, seen: &Seen<'_>) -> Bounds {
        seen.table(Some(&self.profile)).or(Bounds::only(self.beyond))
    }

    fn doubt(draft: &Sided, doubts: &mut Doubts<'_>) {
        let at = doubts.child(0);
        // What is set around this node counts as well; what is never set anywhere is not.
        let Some(mask) = doubts.seen.bounds.first() else {
            return;
        };
        if mask.greatest < draft.level {
            let message = match draft.level {
                1 => "no pixel of this mask is set".to_owned(),
                level => format!("no pixel of this mask reaches the level of {level}"),
            };
            let warning = Problem::new("W203", message).label(at, "nothing is set");
            doubts
                .warn(warning.help("the distance to it is the same everywhere; show something in the mask"));
        } else if doubts.smooth.first() == Some(&true) && draft.level == 1 && !draft.level_is_given {
            let warning = Problem::new(
                "W205",
                "this mask has grays at its edges, all of which count as set where no `level` is given",
            );
            doubts.warn(
                warning
                    .label(at, "gray at its edges")
                    .help("add level=\"…\" to the `distance`: half of M takes edges where they are"),
            );
        }
    }

    /// What is set around this node counts.
    fn seam(&self, seam: &mut Seam<'_, '_>) {
        seam.child(0, seam.axis, seam.window.grown(self.radius.into()));
    }

    fn validate(&self, rules: &Rules<'_>) -> Result<(), String> {
        if self.radius > MAX_RADIUS {
            return Err(format!("its radius is above {MAX_RADIUS}"));
        }
        rules.table(&self.profile, table::length(self.radius))?;
        rules.sample(self.beyond)
    }
}

impl IntoKind<Distance> for Sided {
    fn sized(&self, _: &mut Sizing<'_>) -> Option<Distance> {
        Some(self.distance.clone())
    }

    /// Levels and sides are those of masks: what is set, and what is not.
    fn lower(&self, node: &mut Lowering<'_>) {
        let Some(&mask) = node.children.first() else {
            return;
        };
        let set = if self.level == 1 {
            Some(mask)
        } else {
            self.set(node, mask)
        };
        let lowered = match self.side {
            Side::Outside => set.map(|set| (node.kind.clone(), vec![set])),
            Side::Inside => self
                .not_set(node, mask)
                .map(|mask| (node.kind.clone(), vec![mask])),
            Side::Both => self.both(node, mask, set),
        };
        if let Some((kind, children)) = lowered {
            (node.kind, node.children) = (kind, children);
        }
    }
}

impl Sided {
    /// M where the mask is set, as a mask in its place.
    fn set(&self, node: &mut Lowering<'_>, mask: Child) -> Option<Child> {
        let source = moved(mask, Role::Source, (0, 0))?;
        let (extent, level) = (mask.extent, self.level);
        node.child(
            Role::Mask,
            Threshold { level },
            (extent.x(), extent.y()),
            (extent.width(), extent.height()),
            vec![source],
        )
    }

    /// M where the mask is not set, in this node and as far around it as distances reach.
    fn not_set(&self, node: &mut Lowering<'_>, mask: Child) -> Option<Child> {
        let around = i64::from(self.distance.radius);
        let table: Vec<u16> = (0..=self.max)
            .map(|v| if v < self.level { self.max } else { 0 })
            .collect();
        let at = (mask.extent.x() + around, mask.extent.y() + around);
        let source = moved(mask, Role::Source, at)?;
        let side = |side: u64| (side + 2 * around.unsigned_abs()).min(relief_raster::MAX_SIDE);
        node.child(
            Role::Mask,
            Map { table: table.into() },
            (-around, -around),
            (side(node.size.0), side(node.size.1)),
            vec![source],
        )
    }

    /// Distances inside where the mask is set, and distances outside where it is not.
    fn both(&self, node: &mut Lowering<'_>, mask: Child, set: Option<Child>) -> Option<(Kind, Vec<Child>)> {
        let (set, unset) = (set?, self.not_set(node, mask)?);
        let size = node.size;
        let mut half = |to: Child, within: Child, role: Role| {
            let distances = node.child(Role::Base, self.distance.clone(), (0, 0), size, vec![to])?;
            node.child(role, Compose, (0, 0), size, vec![distances, within])
        };
        // A mask keeps what lies under it, whatever its sample.
        let outside = half(set, unset, Role::Base)?;
        let inside = half(unset, set, Role::Add)?;
        Some((Compose.into(), vec![outside, inside]))
    }
}

fn profile_of_text(
    text: &str,
    span: Span,
    radius: Option<u32>,
    checker: &mut Checker<'_>,
) -> Option<Arc<[u16]>> {
    let function = checker.function(text, span, "d")?;
    let radius = radius?;
    let key = TableKey::of_text("profile", text, vec![radius.into()]);
    let depth = checker.depth();
    let work = function.operations();
    let made = checker.table(key, work, table::length(radius), span, |allowed| {
        table::profile_of(&function, radius, depth, allowed)
    });
    made.map_err(|at| {
        if let Some(a) = at {
            let message = format!(
                "the expression is not a number at d = {} (d² = {a})",
                (a as f64).sqrt()
            );
            checker.note(not_a_number(message, span));
        }
    })
    .ok()
}

/// The first value of an element, where it is a text.
fn first_text(element: &Element<'_>) -> Option<(String, Span)> {
    let value = element.arguments.first()?;
    match &value.literal {
        Literal::Text(text) if !text.is_empty() => Some((text.to_string(), value.span)),
        _ => None,
    }
}
