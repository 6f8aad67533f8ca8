//! `repeat`: copies along the axes that do not overlap.

use super::{
    Bounds, Compose, Doubts, IntoKind, Lowering, MAX_COPIES, NaturalChild, NaturalSize, NodeKind, NodeSource,
    Seen, Sizing, moved,
};
use crate::draft::{Checker, Values};
use crate::length::Ratio;
use crate::report::Problem;
use crate::seam::Seam;
use crate::signature::{Count, DefaultValue, Signature, ValueType, optional, role};
use crate::syntax::Span;
use crate::tree::{Axis, Child, Role};
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

/// A repetition whose steps may be those of its pattern, or parts of its own sides.
#[derive(Debug)]
pub(crate) struct Steps {
    x: Option<Step>,
    y: Option<Step>,
}

/// From one copy to the next.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// So many pixels.
    Pixels(Ratio, Span),
    /// The side over this number.
    Part(u64, Span),
}

/// Copies along one side.
const COUNT: ValueType = ValueType::Count {
    least: 1,
    greatest: 1 << 40,
};

impl NodeKind for Repeat {
    type Draft = Steps;

    const SIGNATURE: Signature = Signature {
        name: "repeat",
        meaning: "The pattern, repeated along the axes: sample (x, y) is P((x − px) mod step-x, (y − py) mod step-y) \
                  with (px, py) the pattern's offset. A step larger than the pattern leaves zeros; for a smaller one \
                  there is `lattice`.",
        details: include_str!("repeat.md"),
        properties: &[
            optional(
                "step-x",
                ValueType::Pitch,
                DefaultValue::Absent("the pattern's width"),
                "the columns from one copy to the next",
            ),
            optional(
                "step-y",
                ValueType::Pitch,
                DefaultValue::Absent("the pattern's height"),
                "the rows from one copy to the next",
            ),
            optional(
                "count-x",
                COUNT,
                DefaultValue::Absent("by step-x"),
                "in place of step-x: copies along this node's width, which is exactly so many steps",
            ),
            optional(
                "count-y",
                COUNT,
                DefaultValue::Absent("by step-y"),
                "in place of step-y: copies along this node's height, which is exactly so many steps",
            ),
        ],
        children: &[role(Role::Pattern, Count::One)],
        example: "repeat step-x=120 {\n    (pattern)image \"cell.png\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Steps> {
        Some(Steps {
            x: step(source.values, ("step-x", "count-x"), checker),
            y: step(source.values, ("step-y", "count-y"), checker),
        })
    }

    /// Copies go on to any size.
    fn natural_size(_: &Steps, _: &[NaturalChild]) -> NaturalSize {
        NaturalSize::NONE
    }

    fn bounds(&self, seen: &Seen<'_>) -> Bounds {
        // What a child is outside of this node shows in its copies.
        seen.any()
    }

    fn is_smooth(&self, children: bool) -> bool {
        children
    }

    fn doubt(_: &Steps, doubts: &mut Doubts<'_>) {
        let Some(pattern) = doubts.seen.children.first() else {
            return;
        };
        let (extent, (width, height)) = (pattern.extent, doubts.size);
        if extent.width() >= width && extent.height() >= height {
            let message = format!(
                "the pattern of {} × {} pixels is as large as what it repeats over: it shows once",
                extent.width(),
                extent.height()
            );
            let warning = Problem::new("W201", message)
                .label(doubts.child(0), "this pattern")
                .label(doubts.node.span, format!("{width} × {height} pixels"));
            doubts.warn(warning.help("give the pattern the width and height of one copy"));
        }
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        seam.copies(match seam.axis {
            Axis::X => self.step_x,
            Axis::Y => self.step_y,
        });
    }

    fn vectors(draft: &Steps, size: (u64, u64), pattern: (u64, u64)) -> Option<[[Ratio; 2]; 2]> {
        let [x, y] = draft.of(size, pattern);
        Some([[x, Ratio::ZERO], [Ratio::ZERO, y]])
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

fn step(values: &Values, (step, count): (&str, &str), checker: &mut Checker<'_>) -> Option<Step> {
    let copies = values.choice(count).zip(values.span(count));
    let copies = copies.and_then(|(copies, span)| Some((u64::try_from(copies).ok()?, span)));
    match (values.fraction(step), copies) {
        (Some((_, first)), Some((_, again))) => {
            let problem = Problem::new("E410", format!("`{step}` and `{count}` say the same"));
            let problem = problem.label(again, "said again").label(first, "said first");
            checker.note(problem.help("remove one of them"));
            None
        }
        (Some((pixels, span)), None) => Some(Step::Pixels(pixels, span)),
        (None, Some((copies, span))) => Some(Step::Part(copies, span)),
        (None, None) => None,
    }
}

impl Step {
    /// Pixels along a side of so many, and where they are written.
    fn of(self, side: u64) -> (Ratio, Span) {
        match self {
            Self::Pixels(pixels, span) => (pixels, span),
            Self::Part(copies, span) => (Ratio::fraction(side.into(), copies.max(1).into()), span),
        }
    }
}

/// The whole pixels after which copies repeat, and how many copies those are: p and q of a step of p / q.
fn cycle(step: Ratio) -> Option<(u64, u64)> {
    let (pixels, copies) = step.terms();
    Some((u64::try_from(pixels).ok()?, u64::try_from(copies).ok()?))
}

impl Steps {
    /// The exact steps of a node of this size with a pattern of this one.
    fn of(&self, size: (u64, u64), pattern: (u64, u64)) -> [Ratio; 2] {
        let step = |step: Option<Step>, side: u64, pattern: u64| {
            step.map_or(Ratio::integer(pattern.into()), |step| step.of(side).0)
        };
        [step(self.x, size.0, pattern.0), step(self.y, size.1, pattern.1)]
    }
}

impl IntoKind<Repeat> for Steps {
    fn sized(&self, sizing: &mut Sizing<'_>) -> Option<Repeat> {
        let (pattern, size) = (*sizing.children.first()?, sizing.size);
        let sure = pattern.sure && size.sure;
        let step_x = whole_step("step-x", self.x, (size.width, pattern.width), sure, sizing);
        let step_y = whole_step("step-y", self.y, (size.height, pattern.height), sure, sizing);
        Some(Repeat { step_x, step_y })
    }

    /// Copies with a step of p / q pixels, the i-th at ⌊i·p / q + ½⌋, are q of them that repeat every p pixels.
    fn lower(&self, node: &mut Lowering<'_>) {
        let Some(&pattern) = node.children.first() else {
            return;
        };
        let offset = (pattern.extent.x(), pattern.extent.y());
        let [x, y] = self.of(node.size, (pattern.extent.width(), pattern.extent.height()));
        let in_rows = unrolled(node, pattern, x, true);
        let unrolled = in_rows.and_then(|rows| unrolled(node, rows, y, false));
        if let Some(unrolled) = unrolled.and_then(|child| moved(child, Role::Pattern, offset)) {
            node.children = vec![unrolled];
        }
    }
}

/// The copies of one cycle along an axis, as one node; the child itself where its step is whole.
fn unrolled(node: &mut Lowering<'_>, child: Child, step: Ratio, is_x: bool) -> Option<Child> {
    let (pixels, copies) = cycle(step)?;
    if copies <= 1 {
        return Some(child);
    }
    let (width, height) = (child.extent.width(), child.extent.height());
    let children: Option<Vec<Child>> = (0..copies)
        .map(|i| {
            let at = i64::try_from(step.times(Ratio::integer(i.into()))?.rounded()).ok()?;
            moved(child, Role::Max, if is_x { (at, 0) } else { (0, at) })
        })
        .collect();
    let size = if is_x { (pixels, height) } else { (width, pixels) };
    node.child(Role::Pattern, Compose, (0, 0), size, children?)
}

/// The pixels after which copies repeat: the step itself where that is whole. What is wrong with it is noted.
fn whole_step(
    name: &str,
    given: Option<Step>,
    (side, pattern): (u64, u64),
    sure: bool,
    sizing: &mut Sizing<'_>,
) -> u64 {
    let Some(given) = given else { return pattern };
    let (step, span) = given.of(side);
    let least = u64::try_from(step.nearest().0).unwrap_or(0);
    if least < pattern {
        if sure {
            let found = step.told();
            let message = format!(
                "{name} is {found} pixels, less than the {pattern} of the pattern: its copies would overlap"
            );
            let mut problem = Problem::new("E501", message).label(span, format!("{found} px"));
            if let Some(child) = sizing.first_child() {
                problem = problem.label(child, format!("{pattern} px"));
            }
            let help = if matches!(given, Step::Part(..)) {
                "fewer copies have more room; `lattice` takes copies that overlap"
            } else {
                "use `lattice` for copies that overlap, or a step of at least the pattern's extent"
            };
            sizing.note(problem.help(help));
        }
        return pattern.max(least);
    }
    match cycle(step).filter(|&(pixels, copies)| copies <= MAX_COPIES && pixels <= relief_raster::MAX_SIDE) {
        Some((pixels, _)) => pixels,
        None => {
            let message = format!(
                "a step of {} pixels meets the pixels again after more than {MAX_COPIES} copies only",
                step.told()
            );
            let problem = Problem::new("E506", message).label(span, "this step");
            sizing
                .note(problem.help(
                    "choose a step, or a number of copies, with smaller terms as a fraction of pixels",
                ));
            pattern
        }
    }
}
