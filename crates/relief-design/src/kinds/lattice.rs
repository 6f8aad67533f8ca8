//! `lattice`: copies along any two vectors, which may overlap.

use std::fmt;

use relief_raster::{MAX_SIDE, Period};

use super::{Doubts, IntoKind, NaturalChild, NaturalSize, NodeKind, NodeSource, Sizing, words};
use crate::draft::Checker;
use crate::length::Ratio;
use crate::report::Problem;
use crate::seam::{Gap, Seam};
use crate::signature::{Count, DefaultValue, Signature, ValueType, optional, parameter, role};
use crate::syntax::{Element, Span};
use crate::tree::{Axis, Role};
use crate::validate::Rules;

/// The most copies of a lattice's pattern that may cover one pixel.
pub const MAX_COPIES: u64 = 16_384;

/// The greatest denominator that the components of a lattice's vectors have in common along an axis.
pub const MAX_DENOMINATOR: u32 = 1 << 16;

/// Copies of one `Pattern` child with their top-left at its offset + ⌊(i·u + j·v) / denominators + ½⌋ for all integers i, j.
#[derive(Clone, Debug, PartialEq)]
pub struct Lattice {
    /// How copies that overlap are folded.
    pub blend: Blend,
    /// The first vector, times the denominators.
    pub u: (i64, i64),
    /// The second vector, times the denominators.
    pub v: (i64, i64),
    /// What the components of both vectors are divided by, along x and along y: 1 where they are whole numbers of pixels,
    /// at most [`MAX_DENOMINATOR`].
    pub denominators: (u32, u32),
    /// The period of the copies: that of the combinations that are whole, which `u` and `v` span where all are.
    pub period: Period,
}

/// How `lattice` folds the copies that cover a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blend {
    /// (2·sum + n) / (2·n) of the n samples other than 0; 0 for none.
    Mean,
    /// The greatest.
    Max,
    /// The least of those other than 0; 0 for none.
    Min,
    /// The sum, at most M.
    Sum,
    /// The sample other than 0 of the copy with the greatest (j, i); 0 for none.
    Last,
}

words!(Blend {
    Mean = "mean",
    Max = "max",
    Min = "min",
    Sum = "sum",
    Last = "last",
});

/// A lattice of which it is not known yet how many copies overlap.
#[derive(Debug)]
pub(crate) struct Vectors {
    blend: Blend,
    u: Vector,
    v: Vector,
}

/// A vector and where it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Vector {
    x: Ratio,
    y: Ratio,
    span: Span,
}

impl fmt::Display for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.x.told(), self.y.told())
    }
}

/// Two vectors over the denominators that they have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Scaled {
    u: (i64, i64),
    v: (i64, i64),
    denominators: (u32, u32),
}

impl Scaled {
    /// Nothing where a denominator would exceed [`MAX_DENOMINATOR`].
    fn of(u: Vector, v: Vector) -> Option<Self> {
        let along = |one: Ratio, other: Ratio| {
            let ((_, p), (_, q)) = (one.terms(), other.terms());
            let (p, q) = (u64::try_from(p).ok()?, u64::try_from(q).ok()?);
            let common = p.checked_mul(q / common_divisor(p, q))?;
            let denominator = u32::try_from(common).ok().filter(|&n| n <= MAX_DENOMINATOR)?;
            let times = |component: Ratio| {
                let scaled = component.times(Ratio::integer(denominator.into()))?.whole()?;
                i64::try_from(scaled).ok()
            };
            Some((times(one)?, times(other)?, denominator))
        };
        let ((ux, vx, dx), (uy, vy, dy)) = (along(u.x, v.x)?, along(u.y, v.y)?);
        Some(Self {
            u: (ux, uy),
            v: (vx, vy),
            denominators: (dx, dy),
        })
    }

    fn period(self) -> Option<Period> {
        Period::spanned_over(self.u, self.v, self.denominators)
    }

    /// No fewer than the copies of a pattern of this size that can cover one pixel, and not many more.
    ///
    /// They are the points of the lattice of the scaled vectors in a box that is as many times larger as the denominators
    /// say.
    fn copies(self, width: u64, height: u64) -> u128 {
        let larger = |side: u64, denominator: u32| side.saturating_mul(denominator.into());
        let (width, height) = (
            larger(width, self.denominators.0),
            larger(height, self.denominators.1),
        );
        Period::spanned(self.u, self.v)
            .map_or(u128::MAX, |period| copies(self.u, self.v, period, width, height))
    }
}

fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

impl NodeKind for Lattice {
    type Draft = Vectors;

    const SIGNATURE: Signature = Signature {
        name: "lattice",
        meaning: "Copies of the pattern with their top-left at its offset + i·u + j·v, to the nearest pixel, for all \
                  integers i and j. A pixel takes the samples of all copies that cover it, at most 16 384: `mean` of those other than 0, \
                  (2·sum + n) / (2·n), 0 if none; `max`; `min` of those other than 0; `sum`, at most M; `last`, of \
                  those other than 0 the one of the copy with the greatest j, and where several have that j with the greatest i.",
        properties: &[optional(
            "blend",
            ValueType::Word(Blend::WORDS),
            DefaultValue::Word(Blend::Mean.word()),
            "how copies that overlap are folded",
        )],
        details: include_str!("lattice.md"),
        children: &[
            parameter("u", Count::One),
            parameter("v", Count::One),
            role(Role::Pattern, Count::One),
        ],
        example: "lattice blend=\"mean\" {\n    u 90 20\n    v -15 85\n    (pattern)image \"cell.png\"\n}",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Vectors> {
        let u = vector(source.parameter("u"), checker);
        let v = vector(source.parameter("v"), checker);
        // A wrong word has been noted; the vectors are checked all the same.
        let blend = source.values.word("blend").and_then(Blend::of_word);
        Some(Vectors {
            blend: blend.unwrap_or(Blend::Mean),
            u: u?,
            v: v?,
        })
    }

    /// Copies go on to any size.
    fn natural_size(_: &Vectors, _: &[NaturalChild]) -> NaturalSize {
        NaturalSize::NONE
    }

    fn is_smooth(&self, children: bool) -> bool {
        children
    }

    fn doubt(draft: &Vectors, doubts: &mut Doubts<'_>) {
        let Some(pattern) = doubts.seen.children.first() else {
            return;
        };
        let (extent, (width, height)) = (pattern.extent, doubts.size);
        let reaches = |component: Ratio, side: u64| component.rounded().unsigned_abs() >= u128::from(side);
        let leaves = |v: Vector| reaches(v.x, width) || reaches(v.y, height);
        if extent.width() >= width && extent.height() >= height && leaves(draft.u) && leaves(draft.v) {
            let message = format!(
                "the pattern of {} × {} pixels is as large as what it repeats over, and so are the vectors",
                extent.width(),
                extent.height()
            );
            let warning = Problem::new("W201", message)
                .label(doubts.child(0), "this pattern")
                .label(doubts.node.span, format!("{width} × {height} pixels"));
            doubts.warn(
                warning.help("give the pattern the width and height of one copy, and write shorter vectors"),
            );
        }
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        let turn = i64::try_from(seam.turn).unwrap_or(i64::MAX);
        let (x, y) = match seam.axis {
            Axis::X => (turn, 0),
            Axis::Y => (0, turn),
        };
        if !self.period.has(x, y) {
            seam.gap(Gap::Steps(Some(self.period)));
        }
    }

    fn vectors(draft: &Vectors, _: (u64, u64), _: (u64, u64)) -> Option<[[Ratio; 2]; 2]> {
        let (u, v) = (draft.u, draft.v);
        Some([[u.x, u.y], [v.x, v.y]])
    }

    fn validate(&self, rules: &Rules<'_>) -> Result<(), String> {
        let scaled = Scaled {
            u: self.u,
            v: self.v,
            denominators: self.denominators,
        };
        let (dx, dy) = self.denominators;
        let allowed = |(x, y): (i64, i64)| {
            x.unsigned_abs() <= MAX_SIDE.saturating_mul(dx.into())
                && y.unsigned_abs() <= MAX_SIDE.saturating_mul(dy.into())
        };
        let known = 1..=MAX_DENOMINATOR;
        if !known.contains(&dx) || !known.contains(&dy) {
            return Err(format!("its denominators are not 1 to {MAX_DENOMINATOR}"));
        }
        if !allowed(self.u) || !allowed(self.v) || scaled.period() != Some(self.period) {
            return Err("its vectors do not span its period".to_owned());
        }
        let (width, height) = rules.first_child();
        if scaled.copies(width, height) > u128::from(MAX_COPIES) {
            return Err(format!(
                "more than {MAX_COPIES} copies may cover one of its pixels"
            ));
        }
        Ok(())
    }
}

fn vector(element: Option<&Element<'_>>, checker: &mut Checker<'_>) -> Option<Vector> {
    let values = checker.parameter_values(element?)?;
    let ((x, first), (y, last)) = (values.fraction("x")?, values.fraction("y")?);
    Some(Vector {
        x,
        y,
        span: Span::new(first.start, last.end),
    })
}

impl IntoKind<Lattice> for Vectors {
    fn sized(&self, sizing: &mut Sizing<'_>) -> Option<Lattice> {
        let pattern = *sizing.children.first()?;
        let Some(scaled) = Scaled::of(self.u, self.v) else {
            sizing.note(too_fine(self.u, self.v));
            return None;
        };
        let Some(period) = scaled.period() else {
            sizing.note(no_period(self.u, self.v));
            return None;
        };
        let copies = scaled.copies(pattern.width, pattern.height);
        if copies > u128::from(MAX_COPIES) && pattern.sure {
            let message = format!(
                "up to {copies} copies of the pattern, {} × {} pixels, may cover one pixel; at most {MAX_COPIES} are allowed",
                pattern.width, pattern.height
            );
            let mut problem = Problem::new("E503", message)
                .label(self.v.span, "short vectors")
                .label(self.u.span, "with this");
            if let Some(child) = sizing.first_child() {
                problem = problem.label(child, "for this pattern");
            }
            sizing.note(problem.help("use longer vectors, or give the pattern a smaller width and height"));
        }
        let Scaled { u, v, denominators } = scaled;
        Some(Lattice {
            blend: self.blend,
            u,
            v,
            denominators,
            period,
        })
    }
}

/// Why two vectors have too large denominators.
fn too_fine(u: Vector, v: Vector) -> Problem {
    let message = format!(
        "the fractions of pixels of {u} and {v} have a common denominator of more than {MAX_DENOMINATOR}, \
         so that copies meet the pixels again too far away"
    );
    Problem::new("E506", message)
        .label(v.span, "v")
        .label(u.span, "u")
        .help("write vectors with fewer digits, or with smaller terms as fractions of pixels")
}

/// Why two vectors have no period.
fn no_period(u: Vector, v: Vector) -> Problem {
    // Where the products are too long the vectors are as well.
    let cross = |a: Ratio, b: Ratio| a.times(b);
    let parallel = cross(u.x, v.y)
        .zip(cross(u.y, v.x))
        .is_some_and(|(one, other)| one == other);
    if !parallel {
        return Problem::new("E506", "this lattice repeats after more than 2^62 pixels only")
            .label(v.span, "v")
            .label(u.span, "u")
            .help("use shorter vectors, or vectors whose components have a common divisor");
    }
    let message = format!("{u} and {v} are parallel and span no lattice");
    Problem::new("E502", message)
        .label(v.span, "v")
        .label(u.span, "u")
        .help("turn one of them, so that u.x·v.y − u.y·v.x is not 0")
}

/// No fewer than the copies that can cover one pixel, and not many more.
///
/// The copies that cover a pixel are the points of the lattice in a box of the pattern's size. Two bounds hold: by the
/// rows of the Hermite normal form, each with a point every a columns; and by the coordinates of the box along a
/// reduced basis. The lesser one counts.
fn copies(u: (i64, i64), v: (i64, i64), period: Period, width: u64, height: u64) -> u128 {
    let rows = u128::from(height.div_ceil(period.c())) * u128::from(width.div_ceil(period.a()));
    let ((ux, uy), (vx, vy)) = reduced((u.0.into(), u.1.into()), (v.0.into(), v.1.into()));
    let determinant = (ux * vy - uy * vx).unsigned_abs().max(1);
    let (w, h) = (u128::from(width - 1), u128::from(height - 1));
    let along = |x: i128, y: i128| (w * y.unsigned_abs() + h * x.unsigned_abs()) / determinant + 1;
    rows.min(along(vx, vy).saturating_mul(along(ux, uy)))
}

type Wide = (i128, i128);

/// The shortest basis of the lattice of two vectors that are not parallel, after Gauss and Lagrange.
fn reduced(mut u: Wide, mut v: Wide) -> (Wide, Wide) {
    let dot = |a: Wide, b: Wide| a.0 * b.0 + a.1 * b.1;
    loop {
        if dot(u, u) > dot(v, v) {
            std::mem::swap(&mut u, &mut v);
        }
        let square = dot(u, u).max(1);
        let quotient = (2 * dot(u, v) + square).div_euclid(2 * square);
        if quotient == 0 {
            return (u, v);
        }
        let shorter = (v.0 - quotient * u.0, v.1 - quotient * u.1);
        if dot(shorter, shorter) >= dot(v, v) {
            return (u, v);
        }
        v = shorter;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(u: (i64, i64), v: (i64, i64), width: u64, height: u64) -> u128 {
        copies(u, v, Period::spanned(u, v).unwrap(), width, height)
    }

    /// The most lattice points in any box of this size, by trying every place of the box.
    fn counted(u: (i64, i64), v: (i64, i64), width: i64, height: i64) -> u128 {
        let period = Period::spanned(u, v).unwrap();
        let boxes = (0..i64::try_from(period.cell()).unwrap())
            .map(|i| (i % period.a() as i64, i / period.a() as i64));
        boxes
            .map(|(x0, y0)| {
                (0..width * height)
                    .filter(|i| period.has(x0 + i % width, y0 + i / width))
                    .count() as u128
            })
            .max()
            .unwrap()
    }

    #[test]
    fn the_bound_on_copies_is_safe_and_not_far_off() {
        for (u, v) in [
            ((9, 2), (-2, 8)),
            ((1, 0), (0, 1)),
            ((7, 0), (3, 1)),
            ((1, 30), (0, 37)),
            ((5, 5), (5, -5)),
            ((0, 3), (4, 0)),
        ] {
            for (width, height) in [(1, 1), (10, 10), (3, 17), (20, 2)] {
                let (bound, exact) = (
                    bound(u, v, width, height),
                    counted(u, v, width as i64, height as i64),
                );
                assert!(bound >= exact, "{u:?} {v:?} {width}×{height}: {bound} < {exact}");
                assert!(
                    bound <= 6 * exact + 6,
                    "{u:?} {v:?} {width}×{height}: {bound} for {exact}"
                );
            }
        }
    }

    #[test]
    fn long_thin_cells_have_few_copies() {
        // A Hermite normal form with c = 1 alone would count a copy for each row.
        assert!(bound((1, 20_000), (-20_000, 1), 20_000, 20_000) <= 8);
        let far = 1 << 30;
        assert!(bound((far, 1), (-1, far), 1 << 30, 1 << 30) <= 9);
        assert!(bound((1, 0), (0, 1), 1 << 40, 1 << 40) > 1 << 79);
    }
}
