//! `compose`: nodes folded into one.

use relief_raster::Rect;

use super::{Bounds, Doubts, NodeKind, NodeSource, Seen};
use crate::draft::Checker;
use crate::report::Problem;
use crate::seam::{Interval, Seam, Support};
use crate::signature::{Count, Signature, role};
use crate::tree::Role;
use crate::validate::Rules;

/// Any number of children folded in the order written, by their roles, starting from 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Compose;

impl NodeKind for Compose {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "compose",
        meaning: "Folds its children in the order written, starting from acc = 0. The role of a child says what becomes of acc.",
        children: &[
            role(Role::Base, Count::Any),
            role(Role::Add, Count::Any),
            role(Role::Subtract, Count::Any),
            role(Role::Multiply, Count::Any),
            role(Role::Mean, Count::Any),
            role(Role::Max, Count::Any),
            role(Role::Min, Count::Any),
            role(Role::Over, Count::Any),
            role(Role::Mask, Count::Any),
        ],
        details: "With v the sample of the child:

| role | acc becomes | |
|---|---|---|
| `base` | v | replaces everywhere |
| `over` | v where v is not 0, otherwise acc | replaces where non-zero |
| `mask` | acc where v is not 0, otherwise 0 | clears where zero |
| `add` | acc + v, at most M | |
| `subtract` | acc − v, at least 0 | |
| `multiply` | ⌊(acc·v + ⌊M/2⌋) / M⌋ | |
| `mean` | ⌊(acc + v + 1) / 2⌋ | |
| `max`, `min` | the greater, the smaller of acc and v | |

A `mask` has no grays: all samples of it other than 0 leave acc as it is. To weaken by grays use `multiply`.

Outside its own extent a child is 0 and takes part all the same: a small child under `base`, `multiply`, `min` or `mask` makes everything around it 0,
and one under `mean` halves it. Give such a child the size of the `compose`, or use `over`.",
        example: "compose {\n    (base)fill value=200\n    (subtract)disc diameter=50 value=100\n}",
        ..Signature::NODE
    };

    fn read(_: &NodeSource<'_, '_>, _: &mut Checker<'_>) -> Option<Self> {
        Some(Self)
    }

    fn bounds(&self, seen: &Seen<'_>) -> Bounds {
        let max = u32::from(seen.max);
        seen.children
            .iter()
            .zip(seen.bounds)
            .fold(Bounds::ZERO, |acc, (child, &v)| match child.role {
                Role::Add => acc.with(v, |acc, v| (acc + v).min(max)),
                Role::Subtract => acc.with(v, u32::saturating_sub),
                Role::Multiply => acc.with(v, |acc, v| (acc * v + max / 2) / max),
                Role::Mean => acc.with(v, |acc, v| (acc + v).div_ceil(2)),
                Role::Max => acc.with(v, u32::max),
                Role::Min => acc.with(v, u32::min),
                Role::Over if v.least > 0 => v,
                Role::Over if v.greatest == 0 => acc,
                Role::Over => acc.or(v),
                Role::Mask if v.least > 0 => acc,
                Role::Mask if v.greatest == 0 => Bounds::ZERO,
                Role::Mask => acc.or(Bounds::ZERO),
                _ => v,
            })
    }

    fn is_smooth(&self, children: bool) -> bool {
        children
    }

    fn doubt(_: &Self, doubts: &mut Doubts<'_>) {
        let all = Rect::sized(doubts.size.0, doubts.size.1);
        // Where something may be so far: a child is 0 beyond its extent.
        let mut there = Rect::EMPTY;
        for (i, child) in doubts.seen.children.iter().enumerate() {
            let (name, at) = (child.role.name(), doubts.child(i));
            let (extent, is_nothing) = (child.extent, doubts.seen.bounds[i].greatest == 0);
            let own = extent.in_parent();
            let clears = matches!(child.role, Role::Multiply | Role::Min | Role::Mask | Role::Base);
            if child.role == Role::Mask && is_nothing {
                let warning = Problem::new(
                    "W203",
                    "no pixel of this mask is set, so that nothing is left under it",
                );
                doubts.warnings.push(
                    warning
                        .label(at, "0 everywhere")
                        .help("give it samples other than 0 where something is to stay, or leave it out"),
                );
            }
            if child.role == Role::Mask && doubts.smooth.get(i) == Some(&true) {
                let warning = Problem::new(
                    "W205",
                    "this mask has grays, and all of them leave what is under it as it is: 0 alone clears",
                );
                doubts.warnings.push(
                    warning
                        .label(at, "gray, or gray at its edges")
                        .help("make it (multiply) where its grays are to weaken what is under it, or its edges hard: antialias=\"none\", or a `map` to two levels"),
                );
            }
            if clears && !own.contains(&there) && !(child.role == Role::Mask && is_nothing) {
                let message = format!(
                    "this `{name}` of {} × {} pixels clears all that lies outside of it in the {} × {} of its `compose`",
                    extent.width(),
                    extent.height(),
                    doubts.size.0,
                    doubts.size.1
                );
                let warning = Problem::new("W206", message).label(at, "outside of it all becomes 0");
                doubts.warnings.push(if child.role == Role::Base {
                    warning.help(
                        "give it the size of its `compose`, or where what lies around it is to stay make it (over), (max) or (add)",
                    )
                } else {
                    warning.help(format!(
                        "give it the size of its `compose`, or where this is meant put it into a `compose` of that size: \
                         ({name})compose {{ (base)… }}"
                    ))
                });
            }
            let shown = if is_nothing {
                Rect::EMPTY
            } else {
                own.intersection(&all)
            };
            there = match child.role {
                Role::Subtract => there,
                Role::Multiply | Role::Min | Role::Mask => there.intersection(&shown),
                Role::Base => shown,
                _ => there.union(&shown),
            };
        }
    }

    fn support(&self, _: (u64, u64), children: &[(Role, Support)]) -> Support {
        let start = [Interval::EMPTY; 2];
        children.iter().fold(start, |acc, &(role, v)| {
            let with = |f: fn(Interval, Interval) -> Interval| [f(acc[0], v[0]), f(acc[1], v[1])];
            match role {
                Role::Add | Role::Max | Role::Over | Role::Mean => with(Interval::hull),
                Role::Subtract => acc,
                Role::Multiply | Role::Min | Role::Mask => with(Interval::intersection),
                _ => v,
            }
        })
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        seam.fold();
    }

    fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
        Ok(())
    }
}
