//! `distance`: a profile of the distance to what is set in a mask.

use std::sync::Arc;

use super::{NodeKind, NodeSource};
use crate::draft::{Checker, TableKey, not_a_number};
use crate::report::Problem;
use crate::signature::{Count, Signature, ValueType, parameter, required, role};
use crate::syntax::{Element, Literal, Span};
use crate::table;
use crate::tree::Role;
use crate::validate::Rules;

/// The greatest radius of `distance`, in pixels.
pub const MAX_RADIUS: u32 = 4_096;

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
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "distance",
        meaning: "A function of the distance d to the nearest white pixel (other than 0) of the mask. Pixels outside \
                  the mask's extent are black; its white pixels outside this node's extent count.",
        properties: &[required(
            "radius",
            ValueType::Length {
                least: 0,
                greatest: MAX_RADIUS as i64,
            },
            "R: greater distances are not told apart",
        )],
        children: &[role(Role::Mask, Count::One), parameter("profile", Count::One)],
        example: "distance radius=40 {\n    (mask)image \"logo.png\"\n    profile \"255 * (1 - (d / 40) ^ 2)\" beyond=0\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self> {
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
        Some(Self {
            radius: radius?,
            profile,
            beyond,
        })
    }

    fn validate(&self, rules: &Rules<'_>) -> Result<(), String> {
        if self.radius > MAX_RADIUS {
            return Err(format!("its radius is above {MAX_RADIUS}"));
        }
        rules.table(&self.profile, table::length(self.radius))?;
        rules.sample(self.beyond)
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
