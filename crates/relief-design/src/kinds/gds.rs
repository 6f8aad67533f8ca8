//! `gds`: a cell of a layout.

use std::io::Read;
use std::sync::Arc;

use relief_vector::gds;

use super::drawing::{ANTIALIAS, Drawn, gray};
use super::layout::{Layout, LayoutDraft, Origin, drawing_pixel, layout};
use super::{NodeKind, NodeSource};
use crate::draft::{Asset, Budget, Checker, Loaded};
use crate::report::Problem;
use crate::signature::{DefaultExtent, DefaultValue, Signature, ValueType, optional, required};
use crate::visible;

/// A cell of a layout.
#[derive(Clone, Debug, PartialEq)]
pub struct Gds {
    /// The path as the design says it.
    pub path: Arc<str>,
    /// Its outlines in the node.
    pub drawn: Drawn,
}

const HELP: &str =
    "the path is relative to the folder of the design file; a layout is a GDSII stream, not compressed";

impl NodeKind for Gds {
    type Draft = LayoutDraft;

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

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<LayoutDraft> {
        let values = source.values;
        let (path, at) = values.text("file")?;
        let value = gray(values.sample("value")?, checker.depth());
        let origin = Origin::of(values);
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
        let pixel = drawing_pixel(checker, at, "a layout", "pixel=\"1um\" or dpi=25400")?;
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
        LayoutDraft::new::<Self>(source, checker, loaded)
    }

    layout!();
}

impl Layout for Gds {
    const FEWER: &'static str = "use a layout once in a `define`, or draw fewer layers of it";
    const DRAWN: &'static str = "cell";

    fn new(path: Arc<str>, drawn: Drawn) -> Self {
        Self { path, drawn }
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
