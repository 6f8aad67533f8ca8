//! `gds`: a cell of a layout.

use std::io::Read;
use std::sync::Arc;

use relief_vector::{Drawing, gds};

use super::drawing::{ANTIALIAS, Antialias, Drawn, antialias, doubt, gray};
use super::{Bounds, Doubts, IntoKind, NaturalChild, NaturalSize, NodeKind, NodeSource, Seen, Sizing, words};
use crate::draft::{Asset, Budget, Checker, Loaded};
use crate::report::Problem;
use crate::signature::{DefaultExtent, DefaultValue, Signature, ValueType, optional, required};
use crate::syntax::Span;
use crate::validate::Rules;
use crate::visible;

/// A cell of a layout.
#[derive(Clone, Debug, PartialEq)]
pub struct Gds {
    /// The path as the design says it.
    pub path: Arc<str>,
    /// Its outlines in the node.
    pub drawn: Drawn,
}

/// Where the layout lies in the node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Origin {
    #[default]
    Datum,
    Box,
}

words!(Origin {
    Datum = "datum",
    Box = "box",
});

/// A cell that is drawn; how far down it lies follows from the height of the node.
#[derive(Debug)]
pub(crate) struct GdsDraft {
    path: Arc<str>,
    at: Span,
    loaded: Loaded,
    origin: Origin,
    antialias: Antialias,
    budget: Budget,
}

const HELP: &str =
    "the path is relative to the folder of the design file; a layout is a GDSII stream, not compressed";

impl NodeKind for Gds {
    type Draft = GdsDraft;

    const SIGNATURE: Signature = Signature {
        name: "gds",
        meaning: "A cell of a GDSII layout: boundaries, boxes and paths of the chosen layers, measured by the `pixel` of the \
                  canvas. Cells and arrays stay what they are. Places that nothing covers are 0.",
        details: include_str!("gds.md"),
        arguments: &[required(
            "file",
            ValueType::Path,
            "the path of the file, relative to the design file",
        )],
        properties: &[
            required("value", ValueType::Sample, "the sample inside"),
            optional(
                "layer",
                ValueType::Text,
                DefaultValue::Absent("all layers"),
                "layers and datatypes, as \"1/0,2/*\"",
            ),
            optional(
                "cell",
                ValueType::Text,
                DefaultValue::Absent("the one that no other places"),
                "the name of the cell",
            ),
            optional(
                "origin",
                ValueType::Word(Origin::WORDS),
                DefaultValue::Word(Origin::Datum.word()),
                "\"datum\": the origin of the file is the bottom-left of the node, whose width and height are given; \
                 \"box\": the node is the box of the cell over all layers",
            ),
            ANTIALIAS,
        ],
        extent: DefaultExtent::Natural,
        example: "gds \"mask.gds\" layer=\"1/0\" origin=\"box\" value=255",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<GdsDraft> {
        let values = source.values;
        let (path, at) = values.text("file")?;
        let value = gray(values.sample("value")?, checker.depth());
        let origin = values
            .word("origin")
            .and_then(Origin::of_word)
            .unwrap_or_default();
        let antialias = antialias(values);
        let layers = match values.text("layer") {
            None => gds::Layers::all(),
            Some((text, span)) => match gds::Layers::parse(text) {
                Ok(layers) => layers,
                Err(bad) => {
                    let problem = Problem::new("E512", bad.to_string()).label(span, "no layer");
                    checker.note(
                        problem.help("layer=\"1/0\" is layer 1 of datatype 0, layer=\"1\" all of layer 1"),
                    );
                    return None;
                }
            },
        };
        if values.broken {
            return None;
        }
        let Some(pixel) = checker.drawing_pixel() else {
            let problem = Problem::new(
                "E406",
                "a layout needs the side of a pixel, which the canvas does not say",
            );
            checker.note(
                problem
                    .label(at, "measured in metres")
                    .help("add pixel=\"1um\" or dpi=25400 (or what it is) to the canvas"),
            );
            return None;
        };
        let cell = values.text("cell").map(|(name, _)| name.to_owned());
        let layer = values.text("layer").map_or("", |(text, _)| text);
        // Both names decide what is drawn; they are told apart by a character that no text of a design holds.
        let asset = Asset {
            kind: Self::SIGNATURE.name,
            path: path.to_owned(),
            settings: std::iter::once(u64::from(value))
                .chain([origin as u64])
                .chain(
                    format!("{layer}\0{}", cell.as_deref().unwrap_or(""))
                        .bytes()
                        .map(u64::from),
                )
                .collect(),
        };
        let options = gds::Options {
            pixel,
            origin: match origin {
                Origin::Datum => gds::Origin::Datum { height: 0 },
                Origin::Box => gds::Origin::Box,
            },
            cell,
            value,
        };
        let loaded = checker.drawing(asset, at, HELP, |file, budget| {
            load(file, path, &layers, &options, budget)
        })?;
        if origin == Origin::Datum && (values.span("width").is_none() || values.span("height").is_none()) {
            let (right, top) = loaded.size.unwrap_or((1.0, 1.0));
            let message = "`gds` with origin=\"datum\" needs the properties `width` and `height`";
            let problem = Problem::new("E303", message).label(source.span, "here");
            checker.note(problem.help(format!(
                "width={} height={} shows all of the cell that lies right of and above the origin of the file; \
                 origin=\"box\" begins at the cell's own box",
                right.max(1.0),
                top.max(1.0)
            )));
            return None;
        }
        Some(GdsDraft {
            path: path.into(),
            at,
            loaded,
            origin,
            antialias,
            budget: checker.drawing_budget(),
        })
    }

    fn natural_size(draft: &GdsDraft, _: &[NaturalChild]) -> NaturalSize {
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

    fn doubt(draft: &GdsDraft, doubts: &mut Doubts<'_>) {
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

/// Reads and draws a cell. Its size is that of its box, or how far it reaches right of and above the origin of its file.
fn load(
    file: &mut dyn Read,
    path: &str,
    layers: &gds::Layers,
    options: &gds::Options,
    budget: &Budget,
) -> Result<Loaded, String> {
    let named = |error: gds::Error| format!("{}: {error}", visible(path));
    let library = gds::Library::read(file, layers, budget.limits()).map_err(named)?;
    let layout = library.draw(options).map_err(named)?;
    let size = match options.origin {
        gds::Origin::Datum { .. } => layout.reach,
        gds::Origin::Box => layout.size,
    };
    Ok(Loaded {
        drawing: Arc::new(layout.drawing),
        size: size.map(|(width, height)| (width as f64, height as f64)),
        text: "".into(),
        warnings: Vec::new(),
    })
}

impl GdsDraft {
    fn drawn(&self, drawing: Arc<Drawing>) -> Drawn {
        Drawn {
            drawing,
            antialias: self.antialias,
        }
    }

    /// The outlines in a node of so many rows.
    fn placed(&self, height: u64) -> Arc<Drawing> {
        let drawing = &self.loaded.drawing;
        let down = i64::try_from(height)
            .ok()
            .and_then(|rows| rows.checked_mul(256 * i64::from(drawing.denominator())));
        match (self.origin, down) {
            (Origin::Datum, Some(down)) => Arc::new(Drawing::clone(drawing).moved((0, down))),
            _ => Arc::clone(drawing),
        }
    }
}

impl IntoKind<Gds> for GdsDraft {
    fn sized(&self, sizing: &mut Sizing<'_>) -> Option<Gds> {
        let drawing = self.placed(sizing.size.height);
        if self.origin == Origin::Datum {
            if drawing.points() as u64 > self.budget.limits().points {
                let message = "the drawings of the design have more points than the 2^26 allowed";
                let problem = Problem::new("E510", message).label(self.at, "this file");
                sizing.note(problem.help("use a layout once in a `define`, or draw fewer layers of it"));
                return None;
            }
            self.budget.take(&drawing);
        }
        Some(Gds {
            path: Arc::clone(&self.path),
            drawn: self.drawn(drawing),
        })
    }
}
