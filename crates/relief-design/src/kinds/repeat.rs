//! `repeat`: copies along the axes that do not overlap.

use super::{IntoKind, NaturalChild, NaturalSize, NodeKind, NodeSource, Sizing};
use crate::draft::{Checker, Given};
use crate::report::Problem;
use crate::signature::{Count, DefaultValue, STEP, Signature, optional, role};
use crate::tree::Role;
use crate::validate::Rules;

/// One `Pattern` child, repeated along the axes: sample (x, y) is P((x − px) mod step_x, (y − py) mod step_y) with
/// (px, py) the child's offset.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeat {
    /// The horizontal step; at least the pattern's width.
    pub step_x: u64,
    /// The vertical step; at least the pattern's height.
    pub step_y: u64,
}

/// A repetition whose steps may be those of its pattern.
#[derive(Debug)]
pub(crate) struct Steps {
    x: Option<Given>,
    y: Option<Given>,
}

impl NodeKind for Repeat {
    type Draft = Steps;

    const SIGNATURE: Signature = Signature {
        name: "repeat",
        meaning: "The pattern, repeated along the axes: sample (x, y) is P((x − px) mod step-x, (y − py) mod step-y) \
                  with (px, py) the pattern's offset. A step larger than the pattern leaves zeros; for a smaller one \
                  there is `lattice`.",
        properties: &[
            optional(
                "step-x",
                STEP,
                DefaultValue::Absent("the pattern's width"),
                "the columns from one copy to the next",
            ),
            optional(
                "step-y",
                STEP,
                DefaultValue::Absent("the pattern's height"),
                "the rows from one copy to the next",
            ),
        ],
        children: &[role(Role::Pattern, Count::One)],
        example: "repeat step-x=120 {\n    (pattern)image \"cell.png\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, _: &mut Checker<'_>) -> Option<Steps> {
        Some(Steps {
            x: source.values.given_length("step-x"),
            y: source.values.given_length("step-y"),
        })
    }

    /// Copies go on to any size.
    fn natural_size(_: &Steps, _: &[NaturalChild]) -> NaturalSize {
        NaturalSize::NONE
    }

    fn validate(&self, rules: &Rules<'_>) -> Result<(), String> {
        rules.side(self.step_x, "step")?;
        rules.side(self.step_y, "step")?;
        let (width, height) = rules.first_child();
        if self.step_x < width || self.step_y < height {
            return Err("its step is less than its pattern".to_owned());
        }
        Ok(())
    }
}

impl IntoKind<Repeat> for Steps {
    fn sized(&self, sizing: &mut Sizing<'_>) -> Option<Repeat> {
        let pattern = *sizing.children.first()?;
        Some(Repeat {
            step_x: step("step-x", self.x, pattern.width, pattern.sure, sizing),
            step_y: step("step-y", self.y, pattern.height, pattern.sure, sizing),
        })
    }
}

fn step(name: &str, given: Option<Given>, pattern: u64, sure: bool, sizing: &mut Sizing<'_>) -> u64 {
    let Some(given) = given else { return pattern };
    let step = given.pixels.unsigned_abs();
    if step < pattern && sure {
        let message = format!(
            "{name} is {step} pixels, less than the {pattern} of the pattern: its copies would overlap"
        );
        let mut problem = Problem::new("E501", message).label(given.span, format!("{step} px"));
        if let Some(child) = sizing.first_child() {
            problem = problem.label(child, format!("{pattern} px"));
        }
        sizing.note(
            problem.help("use `lattice` for copies that overlap, or a step of at least the pattern's extent"),
        );
    }
    step.max(pattern)
}
