//! `mesh`: the heights of an STL file, seen from above.

use std::sync::Arc;

use relief_raster::MAX_SIDE;
use relief_vector::mesh::{Solid, View};

use super::image::quantity;
use super::layout::{Origin, UNITS, has_sides, metres, pixel};
use super::visibility::{Measured, Visibility};
use super::{Bounds, Doubts, IntoKind, NaturalChild, NaturalSize, NodeKind, NodeSource, Seen, Sizing};
use crate::draft::{Checker, Unusable};
use crate::report::Problem;
use crate::seam::{Interval, Seam, Support};
use crate::signature::{DefaultExtent, DefaultValue, Signature, ValueType, optional, required};
use crate::syntax::Span;
use crate::tree::Role;
use crate::validate::Rules;

/// The heights of a mesh, seen from above; 0 where it is not.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    /// The path as the design says it.
    pub path: Arc<str>,
    /// Its triangles, for samples of the design's depth.
    pub solid: Arc<Solid>,
    /// How many rows below the top of the node the place (0, 0) of the triangles lies.
    pub down: u64,
}

/// A mesh; how far down it lies follows from the height of the node.
#[derive(Debug)]
pub(crate) struct MeshDraft {
    path: Arc<str>,
    solid: Arc<Solid>,
    origin: Origin,
    /// The columns and rows that it reaches over, before it is moved down.
    pixels: (i64, i64, i64, i64),
    /// Its width and height in pixels.
    sides: (f64, f64),
    /// The metres of its unit.
    unit: f64,
}

const HELP: &str =
    "the path is relative to the folder of the design file; a mesh is an STL file, binary or ASCII";

impl NodeKind for Mesh {
    type Draft = MeshDraft;

    const SIGNATURE: Signature = Signature {
        name: "mesh",
        meaning: "The heights of a mesh from an STL file, seen from above: of all its surfaces the highest, at the centre of every pixel. Places \
                  above which it has none are 0.",
        details: include_str!("mesh.md"),
        arguments: &[required(
            "file",
            ValueType::Path,
            "the path of the file, relative to the design file",
        )],
        properties: &[
            optional(
                "low",
                ValueType::Quantity,
                DefaultValue::Absent("an error that says the heights of the mesh"),
                "the height that becomes 0, as a length or a number of the file",
            ),
            optional(
                "high",
                ValueType::Quantity,
                DefaultValue::Absent("an error that says the heights of the mesh"),
                "the height that becomes M, above low",
            ),
            optional(
                "unit",
                ValueType::Word(UNITS),
                DefaultValue::Word("mm"),
                "the unit of the numbers in the file",
            ),
            optional(
                "origin",
                ValueType::Word(Origin::WORDS),
                DefaultValue::Word(Origin::Box.word()),
                "\"box\": the node begins at the box of the mesh; \"datum\": the origin of the file is the bottom-left of the node, \
                 whose width and height are given",
            ),
        ],
        extent: DefaultExtent::Natural,
        example: "mesh \"coin.stl\" low=\"0mm\" high=\"0.3mm\"",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<MeshDraft> {
        let values = source.values;
        let (path, at) = values.text("file")?;
        let origin = Origin::of(values);
        if values.broken {
            return None;
        }
        let unit = values.word("unit")?;
        let pixel = pixel(checker, at, "a mesh", "pixel=\"10um\" or dpi=1200")?;
        let mesh = checker.mesh(path, at, HELP)?;
        let [[left, right], [front, back], [lowest, highest]] = mesh.bounds()?;
        let height = |name: &str| quantity(values, name, Some(unit));
        let (Some(low), Some(high)) = (height("low"), height("high")) else {
            let problem = Problem::new("E303", "`mesh` needs the properties `low` and `high`")
                .label(source.span, "here");
            checker.note(problem.help(format!(
                "low=\"{}{unit}\" high=\"{}{unit}\" are the least and the greatest height of this mesh",
                lowest as f32, highest as f32
            )));
            return None;
        };
        if low.partial_cmp(&high) != Some(std::cmp::Ordering::Less) {
            let span = |name: &str| values.span(name).unwrap_or(source.span);
            let (one, other) = (span("low"), span("high"));
            let both = Span::new(one.start.min(other.start), one.end.max(other.end));
            let problem = Problem::new("E507", "`low` is not below `high`").label(both, "here");
            checker.note(problem.help("low becomes 0 and high M; `map` with `invert` turns samples round"));
            return None;
        }
        let scale = metres(unit) / pixel.to_metres();
        let (x, y) = match origin {
            Origin::Box => (left, back),
            Origin::Datum => (0.0, 0.0),
        };
        let view = View {
            scale,
            left: x,
            top: y,
            low,
            high,
            max: checker.depth().max(),
        };
        let budget = checker.drawing_budget();
        let refused = |why: String| {
            let problem = Problem::new("E510", format!("the mesh cannot be used: {why}"));
            problem.label(at, "this file")
        };
        if mesh.points() as u64 > budget.limits().points {
            let problem = refused(
                "the drawings and meshes of the design have more points than the 2^26 allowed".into(),
            );
            checker.note(problem.help("use a mesh once in a `define`, or one with fewer triangles"));
            return None;
        }
        // Its points as they are seen and its triangles; while points are gathered, they are there twice.
        let (points, triangles) = (mesh.points() as u64, mesh.triangles() as u64);
        if !budget.has_memory(2 * 24 * points + 12 * triangles) {
            let unusable = Unusable::memory(path, budget.limits().memory);
            checker.note(unusable.problem("mesh", at, "use a mesh with fewer triangles"));
            return None;
        }
        budget.take_memory(24 * points + 12 * triangles);
        let solid = match mesh.seen(&view) {
            Ok(solid) => solid,
            Err(error) => {
                let problem = refused(format!("{}: {error}", crate::visible(path)));
                checker.note(problem.help(format!(
                    "its numbers are taken as {unit}: it has {} × {} × {} {unit}, and begins at ({}, {}, {})",
                    (right - left) as f32,
                    (back - front) as f32,
                    (highest - lowest) as f32,
                    left as f32,
                    front as f32,
                    lowest as f32
                )));
                return None;
            }
        };
        budget.take_points(mesh.points() as u64);
        let pixels = solid.pixels()?;
        let draft = MeshDraft {
            path: path.into(),
            solid: Arc::new(solid),
            origin,
            pixels,
            sides: ((right - left) * scale, (back - front) * scale),
            unit: metres(unit),
        };
        let reach = |pixels: i64| u64::try_from(pixels).unwrap_or(0);
        let sides = (reach(draft.pixels.2), reach(-draft.pixels.1));
        has_sides::<Self>(source, checker, origin, "mesh", sides).then_some(draft)
    }

    fn natural_size(draft: &MeshDraft, _: &[NaturalChild]) -> NaturalSize {
        let side = |reach: i64| {
            u64::try_from(reach.div_euclid(256) + i64::from(reach.rem_euclid(256) > 0))
                .map_or(1, |side| side.max(1))
        };
        match draft.solid.reach() {
            Some((right, bottom)) => NaturalSize::of(side(right), side(bottom)),
            None => NaturalSize::NONE,
        }
    }

    fn bounds(&self, seen: &Seen<'_>) -> Bounds {
        Bounds::new(0, self.solid.greatest().min(seen.max))
    }

    fn is_smooth(&self, _: bool) -> bool {
        true
    }

    fn support(&self, _: (u64, u64), _: &[(Role, Support)]) -> Support {
        let Some((left, top, right, bottom)) = self.solid.pixels() else {
            return [Interval::EMPTY; 2];
        };
        let down = self.down.cast_signed();
        let side = |from: i64, to: i64| Interval {
            from: from.into(),
            to: to.into(),
        };
        [side(left, right), side(top + down, bottom + down)]
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        seam.shape("a mesh goes all around, and whether its ends meet is not looked at");
    }

    fn doubt(draft: &MeshDraft, doubts: &mut Doubts<'_>) {
        let down = draft.origin.down(doubts.size.1).cast_signed();
        let (left, top, right, bottom) = draft.pixels;
        let visibility = Visibility {
            noun: "mesh",
            pixels: Some((left, top + down, right, bottom + down)),
            sides: Some(draft.sides),
            measured: Measured::Unit(draft.unit),
            empty: "it has no triangles",
        };
        visibility.doubt(doubts);
    }

    fn validate(&self, _: &Rules<'_>) -> Result<(), String> {
        if self.down > MAX_SIDE {
            return Err("its origin lies more than 2^40 pixels below it".to_owned());
        }
        Ok(())
    }
}

impl IntoKind<Mesh> for MeshDraft {
    fn sized(&self, sizing: &mut Sizing<'_>) -> Option<Mesh> {
        Some(Mesh {
            path: Arc::clone(&self.path),
            solid: Arc::clone(&self.solid),
            down: self.origin.down(sizing.size.height),
        })
    }
}
