//! `dxf`: a drawing from a DXF file.

use std::io::Read;
use std::sync::Arc;

use relief_vector::{Drawing, dxf};

use super::drawing::{ANTIALIAS, Antialias, CAP, Drawn, FillRule, JOIN, antialias, doubt, gray, stroke};
use super::{Bounds, Doubts, IntoKind, NaturalChild, NaturalSize, NodeKind, NodeSource, Seen, Sizing, words};
use crate::draft::{Asset, Budget, Checker, Loaded, Values};
use crate::report::Problem;
use crate::signature::{DefaultExtent, DefaultValue, Signature, ValueType, optional, required};
use crate::syntax::Span;
use crate::validate::Rules;
use crate::visible;

/// A drawing from a DXF file.
#[derive(Clone, Debug, PartialEq)]
pub struct Dxf {
    /// The path as the design says it.
    pub path: Arc<str>,
    /// Its outlines in the node.
    pub drawn: Drawn,
}

/// Where the drawing lies in the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Origin {
    #[default]
    Box,
    Datum,
}

words!(Origin {
    Box = "box",
    Datum = "datum",
});

/// The units that numbers of a file can have.
const UNITS: &[&str] = &["mm", "um", "nm", "cm", "m", "in", "mil"];

/// A drawing; how far down it lies follows from the height of the node.
#[derive(Debug)]
pub(crate) struct DxfDraft {
    path: Arc<str>,
    at: Span,
    loaded: Loaded,
    origin: Origin,
    antialias: Antialias,
    budget: Budget,
}

const HELP: &str =
    "the path is relative to the folder of the design file; a drawing is a DXF in its ASCII form";

/// Warnings of one file that are told one by one.
const MAX_WARNINGS: usize = 16;

impl NodeKind for Dxf {
    type Draft = DxfDraft;

    const SIGNATURE: Signature = Signature {
        name: "dxf",
        meaning: "A drawing from a DXF file: lines, arcs, circles, ellipses, polylines and solids of the chosen layers, with blocks and their arrays, \
                  measured by the `pixel` of the canvas. Places that nothing covers are 0.",
        details: include_str!("dxf.md"),
        arguments: &[required(
            "file",
            ValueType::Path,
            "the path of the file, relative to the design file",
        )],
        properties: &[
            required("value", ValueType::Sample, "the sample of what is drawn"),
            optional(
                "layer",
                ValueType::Text,
                DefaultValue::Absent("all that are neither frozen nor off"),
                "names of layers, separated by commas",
            ),
            optional(
                "unit",
                ValueType::Word(UNITS),
                DefaultValue::Absent("that of the file"),
                "the unit of the numbers in the file",
            ),
            optional(
                "stroke",
                ValueType::Dimension,
                DefaultValue::Absent("the inside of closed curves is drawn"),
                "the width of lines along all curves, not rounded",
            ),
            optional(
                "rule",
                ValueType::Word(FillRule::WORDS),
                DefaultValue::Word(FillRule::EvenOdd.word()),
                "where closed curves lie in others or cross, the inside is where the winding number is not 0, or where it is odd",
            ),
            CAP,
            JOIN,
            optional(
                "origin",
                ValueType::Word(Origin::WORDS),
                DefaultValue::Word(Origin::Box.word()),
                "\"box\": the node begins at the box of the drawing over all layers; \"datum\": the origin of the file is the bottom-left \
                 of the node, whose width and height are given",
            ),
            ANTIALIAS,
        ],
        extent: DefaultExtent::Natural,
        example: "dxf \"sheet.dxf\" value=255",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<DxfDraft> {
        let values = source.values;
        let (path, at) = values.text("file")?;
        let origin = values
            .word("origin")
            .and_then(Origin::of_word)
            .unwrap_or_default();
        if values.broken {
            return None;
        }
        let value = gray(values.sample("value")?, checker.depth());
        let Some(pixel) = checker.drawing_pixel() else {
            let message = "a DXF needs the side of a pixel, which the canvas does not say";
            checker.note(
                Problem::new("E406", message)
                    .label(at, "measured in metres")
                    .help("add pixel=\"10um\" or dpi=1200 (or what it is) to the canvas"),
            );
            return None;
        };
        let options = options(values, pixel, value);
        let layer = values.text("layer").map_or("", |(text, _)| text);
        let look = format!(
            "{:?}\0{:?}\0{:?}\0{layer}",
            options.stroke, options.rule, options.unit
        );
        let asset = Asset {
            kind: Self::SIGNATURE.name,
            path: path.to_owned(),
            settings: [u64::from(value), origin as u64]
                .into_iter()
                .chain(look.bytes().map(u64::from))
                .collect(),
        };
        let loaded = checker.drawing(asset, at, HELP, |file, budget| {
            load(file, path, origin, &options, budget)
        })?;
        for warning in &loaded.warnings {
            let help = if warning.contains("open curve") {
                "stroke=\"0.1mm\" draws lines along all curves; close the curve to fill it"
            } else if warning.contains("that is equal") {
                "it is drawn once; delete one of both in the file"
            } else {
                "explode it into lines, arcs and polylines, or export the drawing as SVG"
            };
            checker.warn(
                Problem::new("W210", warning.clone())
                    .label(at, "this file")
                    .help(help),
            );
        }
        if origin == Origin::Datum && (values.span("width").is_none() || values.span("height").is_none()) {
            let (right, top) = loaded.size.unwrap_or((1.0, 1.0));
            let message = "`dxf` with origin=\"datum\" needs the properties `width` and `height`";
            let problem = Problem::new("E303", message).label(source.span, "here");
            checker.note(problem.help(format!(
                "width={} height={} shows all of the drawing that lies right of and above the origin of the file; \
                 origin=\"box\" begins at the drawing's own box",
                right.max(1.0),
                top.max(1.0)
            )));
            return None;
        }
        Some(DxfDraft {
            path: path.into(),
            at,
            loaded,
            origin,
            antialias: antialias(values),
            budget: checker.drawing_budget(),
        })
    }

    fn natural_size(draft: &DxfDraft, _: &[NaturalChild]) -> NaturalSize {
        let side = |side: f64| (side as u64).clamp(1, relief_raster::MAX_SIDE);
        match draft.loaded.size {
            Some((width, height)) => NaturalSize::of(side(width), side(height)),
            None => NaturalSize::NONE,
        }
    }

    fn bounds(&self, seen: &Seen<'_>) -> Bounds {
        self.drawn.bounds(seen.max)
    }

    fn is_smooth(&self, _: bool) -> bool {
        self.drawn.is_smooth()
    }

    fn doubt(draft: &DxfDraft, doubts: &mut Doubts<'_>) {
        let down = match draft.origin {
            Origin::Datum => doubts.size.1.cast_signed(),
            Origin::Box => 0,
        };
        let pixels = draft.loaded.drawing.pixels();
        let moved = |(left, top, right, bottom)| (left, top + down, right, bottom + down);
        doubt(pixels.map(moved), doubts);
    }

    fn validate(&self, rules: &Rules<'_>) -> Result<(), String> {
        self.drawn.validate(rules)
    }
}

fn options(values: &Values, pixel: relief_vector::Pixel, value: u16) -> dxf::Options {
    let names = |text: &str| text.split(',').map(|name| name.trim().to_owned()).collect();
    let rule = values
        .word("rule")
        .and_then(FillRule::of_word)
        .unwrap_or_default();
    dxf::Options {
        pixel,
        unit: values.word("unit").map(super::mesh::metres),
        origin: dxf::Origin::Box,
        layers: values.text("layer").map(|(text, _)| names(text)),
        value,
        stroke: values.ratio("stroke").map(|width| stroke(values, width.real())),
        rule: rule.into(),
    }
}

/// Reads and draws a file. Its size is that of its box, or how far it reaches right of and above the origin of its file.
fn load(
    file: &mut dyn Read,
    path: &str,
    origin: Origin,
    options: &dxf::Options,
    budget: &Budget,
) -> Result<Loaded, String> {
    let name = visible(path);
    let named = |error: dxf::Error| match error {
        dxf::Error::Group { .. } | dxf::Error::NoBlock { .. } | dxf::Error::Loop { .. } => {
            format!("{name}: {error}")
        }
        dxf::Error::NoUnit => format!("{name}: {error}; write unit=\"mm\", or what it is"),
        _ => format!("{name}: {error}"),
    };
    let document = dxf::Document::read(file, budget.limits()).map_err(named)?;
    if let Some(layers) = &options.layers {
        let known: Vec<&str> = document.layers().collect();
        if let Some(missing) = layers
            .iter()
            .find(|layer| !known.contains(&layer.to_uppercase().as_str()))
        {
            let mut some: Vec<String> = known
                .iter()
                .take(9)
                .map(|layer| visible(layer).into_owned())
                .collect();
            if known.len() > 9 {
                some.push("…".to_owned());
            }
            return Err(format!(
                "{name}: the file has no layer {:?}; it has {}",
                visible(missing),
                some.join(", ")
            ));
        }
    }
    let options = dxf::Options {
        origin: match origin {
            Origin::Datum => dxf::Origin::Datum { height: 0 },
            Origin::Box => dxf::Origin::Box,
        },
        ..options.clone()
    };
    let layout = document.draw(&options).map_err(named)?;
    let size = match origin {
        Origin::Datum => layout.reach,
        Origin::Box => layout.size,
    };
    let told = layout.warnings.len().min(MAX_WARNINGS);
    let more = layout.more + (layout.warnings.len() - told) as u64;
    let mut warnings: Vec<String> = layout.warnings[..told]
        .iter()
        .map(|warning| format!("{name}:{warning}"))
        .collect();
    if more > 0 {
        warnings.push(format!("{name}: {more} more things are not drawn"));
    }
    Ok(Loaded {
        drawing: Arc::new(layout.drawing),
        size: size.map(|(width, height)| (width as f64, height as f64)),
        text: "".into(),
        warnings,
    })
}

impl IntoKind<Dxf> for DxfDraft {
    fn sized(&self, sizing: &mut Sizing<'_>) -> Option<Dxf> {
        let drawing = &self.loaded.drawing;
        let rows = i64::try_from(sizing.size.height).ok();
        let down = rows.and_then(|rows| rows.checked_mul(256 * i64::from(drawing.denominator())));
        if self.origin == Origin::Datum && down.is_none() {
            let message = "a node of so many rows is too high for a drawing by its datum";
            let problem = Problem::new("E510", message).label(self.at, "this file");
            sizing.note(problem.help("write origin=\"box\", or a height below 2^38 pixels"));
            return None;
        }
        let placed = match (self.origin, down) {
            (Origin::Datum, Some(down)) => {
                if drawing.points() as u64 > self.budget.limits().points {
                    let message = "the drawings of the design have more points than the 2^26 allowed";
                    let problem = Problem::new("E510", message).label(self.at, "this file");
                    sizing.note(problem.help("use a drawing once in a `define`, or draw fewer layers of it"));
                    return None;
                }
                self.budget.take(drawing);
                Arc::new(Drawing::clone(drawing).moved((0, down)))
            }
            _ => Arc::clone(drawing),
        };
        Some(Dxf {
            path: Arc::clone(&self.path),
            drawn: Drawn {
                drawing: placed,
                antialias: self.antialias,
            },
        })
    }
}
