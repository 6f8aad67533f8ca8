//! `dxf`: a drawing from a DXF file.

use std::io::Read;
use std::sync::Arc;

use relief_vector::{Stroke, dxf};

use super::drawing::{ANTIALIAS, CAP, Drawn, FillRule, JOIN, gray, stroke};
use super::layout::{Layout, LayoutDraft, Origin, UNITS, drawing_pixel, layout, metres, sides};
use super::{NodeKind, NodeSource};
use crate::draft::{Asset, Budget, Checker, Doubt, Loaded, Unusable, Values};
use crate::report::Problem;
use crate::signature::{DefaultExtent, DefaultValue, Signature, ValueType, optional, required};
use crate::suggestion::Suggestions;
use crate::visible;

/// A drawing from a DXF file.
#[derive(Clone, Debug, PartialEq)]
pub struct Dxf {
    /// The path as the design says it.
    pub path: Arc<str>,
    /// Its outlines in the node.
    pub drawn: Drawn,
}

const HELP: &str =
    "the path is relative to the folder of the design file; a drawing is a DXF in its ASCII form";

/// Warnings of one file that are told one by one.
const MAX_WARNINGS: usize = 16;

impl NodeKind for Dxf {
    type Draft = LayoutDraft;

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

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<LayoutDraft> {
        let values = source.values;
        let (path, at) = values.text("file")?;
        let origin = Origin::of(values);
        if values.broken {
            return None;
        }
        let value = gray(values.sample("value")?, checker.depth());
        let pixel = drawing_pixel(checker, at, "a DXF", "pixel=\"10um\" or dpi=1200")?;
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
            checker.warn(
                Problem::new("W210", warning.what.clone())
                    .label(at, "this file")
                    .help(warning.help),
            );
        }
        LayoutDraft::new::<Self>(source, checker, loaded)
    }

    layout!();
}

impl Layout for Dxf {
    const FEWER: &'static str = "use a drawing once in a `define`, or draw fewer layers of it";
    const DRAWN: &'static str = "drawing";
    const EMPTY: &'static str = "look at `layer`; `stroke` draws curves that are open";

    fn new(path: Arc<str>, drawn: Drawn) -> Self {
        Self { path, drawn }
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
        unit: values.word("unit").map(metres),
        origin: dxf::Origin::Box,
        layers: values.text("layer").map(|(text, _)| names(text)),
        value,
        stroke: values.ratio("stroke").map(|width| stroke(values, width.real())),
        rule: rule.into(),
    }
}

/// Reads and draws a file. Its size is that of its box, or how far it reaches right of and above the origin of its file.
const EXPLODE: &str = "explode it into lines, arcs and polylines, or export the drawing as SVG";

fn load(
    file: &mut dyn Read,
    path: &str,
    origin: Origin,
    options: &dxf::Options,
    budget: &Budget,
) -> Result<Loaded, Unusable> {
    let name = visible(path);
    let named = |error: dxf::Error| {
        let why = match error {
            dxf::Error::NoUnit => format!("{name}: {error}; write unit=\"mm\", or what it is"),
            _ => format!("{name}: {error}"),
        };
        Unusable::new(why, error.refused())
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
            let near = Suggestions::default().near(missing, known);
            let near = near.map_or_else(String::new, |near| {
                format!("did you mean layer=\"{}\"? ", visible(near))
            });
            return Err(format!(
                "{name}: the file has no layer {:?}; {near}it has {}",
                visible(missing),
                some.join(", ")
            )
            .into());
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
    let mut warnings: Vec<Doubt> = layout.warnings[..told]
        .iter()
        .map(|warning| Doubt {
            what: format!("{name}:{warning}"),
            help: match warning.why {
                dxf::NotDrawn::Open => {
                    "stroke=\"0.1mm\" draws lines along all curves; close the curve to fill it"
                }
                dxf::NotDrawn::Again => "it is drawn once; delete one of both in the file",
                dxf::NotDrawn::Kind => EXPLODE,
            },
        })
        .collect();
    if more > 0 {
        let what = format!("{name}: {more} more things are not drawn");
        warnings.push(Doubt { what, help: EXPLODE });
    }
    // Without a stroke, which has its width however small the drawing is.
    let thin = |pixel| dxf::Options {
        pixel,
        origin: dxf::Origin::Box,
        stroke: options.stroke.as_ref().map(|_| Stroke::solid(1.0 / 256.0)),
        ..options.clone()
    };
    let width = options.stroke.as_ref().map_or(0.0, |stroke| stroke.width);
    let sides = sides(layout.size, width, options.pixel, |pixel| {
        document.draw(&thin(pixel)).ok()?.size
    });
    Ok(Loaded {
        drawing: Arc::new(layout.drawing),
        sides,
        unit: options.unit.or(document.unit()),
        size: size.map(|(width, height)| (width as f64, height as f64)),
        text: Arc::default(),
        warnings,
    })
}
