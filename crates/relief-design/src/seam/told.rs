//! Gaps of a surface, as problems: by how much it is open, and what would close it.

use relief_raster::{Length, MAX_SIDE, Period};

use super::{Gap, Interval};
use crate::length::{Ratio, decimal};
use crate::report::Problem;
use crate::syntax::Span;
use crate::tree::{Axis, Node};

/// The copies of a node, before anything is rounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Copies {
    /// The vectors along which they lie.
    pub(crate) vectors: [[Ratio; 2]; 2],
    /// The columns and rows of one.
    pub(crate) pattern: [u64; 2],
}

/// A gap with all that is to be told of it.
pub(crate) struct Told<'t> {
    pub(crate) axis: Axis,
    /// The pixels of a turn.
    pub(crate) turn: u64,
    pub(crate) pixel: Option<Length>,
    pub(crate) node: &'t Node,
    pub(crate) span: Span,
    /// Where the canvas says that it closes.
    pub(crate) wrap: Span,
    pub(crate) copies: Option<Copies>,
}

impl Told<'_> {
    pub(crate) fn problem(&self, gap: &Gap) -> Problem {
        let axis = self.axis.word();
        let open =
            |message: String| Problem::new("E508", format!("the surface is open along {axis}: {message}"));
        let (problem, at, help) = match gap {
            Gap::Cut {
                support,
                window,
                halves,
            } => (
                open(self.cut(*support, *window)),
                "cut at the seam".to_owned(),
                self.uncut(*halves),
            ),
            Gap::Steps(period) => {
                let (message, help) = match (*period, self.copies) {
                    (Some(period), Some(copies)) => self.lattice(copies, period),
                    (_, copies) => self.steps(copies),
                };
                (open(message), "these copies".to_owned(), help)
            }
            Gap::Changes(what) => (
                open(what.clone()),
                "differs at the seam".to_owned(),
                format!(
                    "let it end before the seam, or repeat a part of it: \
                     repeat {} {{ (pattern)… }} closes, and shows each part again",
                    self.one_count()
                ),
            ),
            Gap::Edge(radius, edge) => (
                open(format!(
                    "a filter reads {radius} pixels over the seam, where edge=\"{}\" gives it no samples from \
                     the other side",
                    edge.word()
                )),
                "reads over the seam".to_owned(),
                format!(
                    "write edge=\"wrap\" and give it the {} of the canvas, or make it {radius} pixels larger on both sides",
                    self.side_word()
                ),
            ),
            Gap::Unproven(why) => (
                Problem::new(
                    "W209",
                    format!("whether the surface closes along {axis} cannot be proven: {why}"),
                ),
                "unknown at the seam".to_owned(),
                format!(
                    "look at both ends side by side; where they meet, repeat {} {{ (pattern)… }} says so",
                    self.one_count()
                ),
            ),
        };
        problem
            .label(self.span, at)
            .label(
                self.wrap,
                format!("a turn is {}", self.told(Ratio::integer(self.turn.into()))),
            )
            .help(help)
    }

    fn one_count(&self) -> String {
        format!("count-{}=1", self.axis.word())
    }

    const fn side_word(&self) -> &'static str {
        match self.axis {
            Axis::X => "width",
            Axis::Y => "height",
        }
    }

    /// A length in pixels, and in millimetres where those are known.
    fn told(&self, pixels: Ratio) -> String {
        let number = pixels.real();
        let metric = self.pixel.map_or(String::new(), |pixel| {
            format!(" ({} mm)", short(number * pixel.to_metres() * 1e3))
        });
        format!("{} pixels{metric}", short(number))
    }

    fn cut(&self, support: Interval, window: Interval) -> String {
        let (name, before) = (self.node.kind.name(), window.from - support.from);
        let beyond = support.to - window.to;
        let told = |pixels: i128| self.told(Ratio::integer(pixels));
        match (before > 0, beyond > 0) {
            (true, true) => format!(
                "this `{name}` reaches {} and {} over it",
                told(before),
                told(beyond)
            ),
            (true, false) => format!("{} of this `{name}` lie before its first pixel", told(before)),
            (false, true) => format!("{} of this `{name}` lie beyond its last pixel", told(beyond)),
            (false, false) => {
                format!("what reads this `{name}` reads over the seam, where it does not go on")
            }
        }
    }

    fn uncut(&self, halves: bool) -> String {
        let turn = self.turn;
        let axis = self.axis.word();
        if halves {
            format!(
                "put it inside, or put the same node beside it once more, in the same role, {turn} pixels along {axis}: \
                 {axis} and {axis} + {turn}"
            )
        } else {
            format!(
                "give it a place and a {} within the canvas, or all around it",
                self.side_word()
            )
        }
    }

    fn steps(&self, copies: Option<Copies>) -> (String, String) {
        let (axis, along) = (self.axis.word(), self.axis as usize);
        let turn = Ratio::integer(self.turn.into());
        let found = copies.and_then(|copies| {
            let step = copies.vectors[along][along];
            let count = turn.over(step)?.nearest().0;
            let left = turn.minus(step.times(Ratio::integer(count))?)?;
            Some((step, count, left, copies.pattern[along]))
        });
        let Some((step, count, left, pattern)) = found else {
            return (
                "a turn is not a whole number of steps".to_owned(),
                format!("write count-{axis}=… in place of the step"),
            );
        };
        let message = format!(
            "{count} steps of {} leave {} of a turn",
            self.told(step),
            self.told(left)
        );
        let mut ways: Vec<String> = [count, count + 1]
            .into_iter()
            .filter(|&count| count > 0)
            .filter_map(|count| {
                let step = turn.over(Ratio::integer(count))?;
                (step.nearest().0 >= i128::from(pattern)).then(|| {
                    let fills = self.side_of_node() == self.turn;
                    match fills {
                        true => format!("count-{axis}={count} (a step of {})", self.told(step)),
                        false => format!("step-{axis}={} ({count} in a turn)", as_written(step)),
                    }
                })
            })
            .collect();
        ways.extend(self.sizes(step.terms().0));
        (message, would_close(&ways))
    }

    fn side_of_node(&self) -> u64 {
        match self.axis {
            Axis::X => self.node.width,
            Axis::Y => self.node.height,
        }
    }

    /// The nearest sides of the canvas that are multiples of so many pixels, unless those are far from it.
    fn sizes(&self, cycle: i128) -> Option<String> {
        let turn = i128::from(self.turn);
        let below = turn / cycle.max(1) * cycle;
        let most = turn.saturating_mul(4).min(MAX_SIDE.into());
        let sizes: Vec<String> = [below, below + cycle]
            .into_iter()
            .filter(|size| (1..=most).contains(size))
            .map(|size| self.told(Ratio::integer(size)))
            .collect();
        let side = self.side_word();
        (!sizes.is_empty()).then(|| format!("a canvas {side} of {}", sizes.join(" or ")))
    }

    /// The combination of the vectors that comes nearest to one turn, and what would make it one.
    fn lattice(&self, copies: Copies, period: Period) -> (String, String) {
        // The least period along the axis.
        let cycle = match self.axis {
            Axis::X => i128::from(period.a()),
            Axis::Y => {
                let (a, b) = (period.a(), period.b());
                i128::from(period.c()) * i128::from(a / common_divisor(a, b))
            }
        };
        let Some((count, off, change)) = self.nearest_combination(copies.vectors) else {
            let message = "no whole combination of its vectors is one turn".to_owned();
            return (
                message,
                would_close(&self.sizes(cycle).into_iter().collect::<Vec<_>>()),
            );
        };
        let sign = if count.1 < 0 { '−' } else { '+' };
        let message = format!(
            "the copy nearest to one turn, {}·u {sign} {}·v, is off by ({}, {}) pixels",
            count.0,
            count.1.abs(),
            short(off[0].real()),
            short(off[1].real())
        );
        let change = change.map(|(name, [x, y])| format!("{name} {} {}", as_written(x), as_written(y)));
        let ways: Vec<String> = change.into_iter().chain(self.sizes(cycle)).collect();
        (message, would_close(&ways))
    }

    #[allow(clippy::type_complexity, reason = "read once, beside")]
    fn nearest_combination(
        &self,
        [u, v]: [[Ratio; 2]; 2],
    ) -> Option<((i128, i128), [Ratio; 2], Option<(&'static str, [Ratio; 2])>)> {
        let turn = Ratio::integer(self.turn.into());
        let goal = match self.axis {
            Axis::X => [turn, Ratio::ZERO],
            Axis::Y => [Ratio::ZERO, turn],
        };
        let cross = |a: [Ratio; 2], b: [Ratio; 2]| a[0].times(b[1])?.minus(a[1].times(b[0])?);
        let determinant = cross(u, v)?;
        let i = cross(goal, v)?.over(determinant)?.rounded();
        let j = cross(u, goal)?.over(determinant)?.rounded();
        let off = |axis: usize| {
            let along = u[axis]
                .times(Ratio::integer(i))?
                .plus(v[axis].times(Ratio::integer(j))?)?;
            goal[axis].minus(along)
        };
        let off = [off(0)?, off(1)?];
        // The vector that is taken more often changes less.
        let (name, vector, count) = if i.abs() >= j.abs() {
            ("u", u, i)
        } else {
            ("v", v, j)
        };
        let changed = |axis: usize| vector[axis].plus(off[axis].over(Ratio::integer(count))?);
        let change = (count != 0)
            .then(|| Some((name, [changed(0)?, changed(1)?])))
            .flatten();
        Some(((i, j), off, change))
    }
}

/// What would close a surface, for a sentence.
fn would_close(ways: &[String]) -> String {
    if ways.is_empty() {
        "choose steps or vectors of which a turn is a whole number, or another size of the canvas".to_owned()
    } else {
        format!("{} would close it", ways.join(", or "))
    }
}

const fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    if a == 0 { 1 } else { a }
}

/// A number of pixels as a design says it exactly.
fn as_written(pixels: Ratio) -> String {
    decimal(pixels).unwrap_or_else(|| {
        let (above, below) = pixels.terms();
        format!("\"{above}/{below}px\"")
    })
}

/// A number with at most four digits after the point.
fn short(number: f64) -> String {
    let text = format!("{number:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}
