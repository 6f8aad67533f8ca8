//! What `gds` and `oasis` share: a cell of a layout, by layers.

use std::io::Read;
use std::ops::RangeInclusive;
use std::sync::Arc;

use relief_vector::Limits;
use relief_vector::layout::{self, Error, Format, Layers, Library};

use super::NodeSource;
use super::drawing::gray;
use super::layout::{Layout, LayoutDraft, Origin, drawing_pixel, sides};
use crate::draft::{Asset, Budget, Checker, Doubt, Loaded, Unusable};
use crate::report::Problem;
use crate::signature::{DefaultValue, Parameter, ValueType, optional, required};
use crate::suggestion::Suggestions;
use crate::visible;

pub(super) const FILE: Parameter = required(
    "file",
    ValueType::Path,
    "the path of the file, relative to the design file",
);
pub(super) const VALUE: Parameter = required("value", ValueType::Sample, "the sample inside");
pub(super) const LAYER: Parameter = optional(
    "layer",
    ValueType::Text,
    DefaultValue::Absent("all layers"),
    "layers and datatypes, as \"1/0,2/*\"",
);
pub(super) const CELL: Parameter = optional(
    "cell",
    ValueType::Text,
    DefaultValue::Absent("the one that no other places"),
    "the name of the cell",
);
pub(super) const ORIGIN: Parameter = optional(
    "origin",
    ValueType::Word(Origin::WORDS),
    DefaultValue::Word(Origin::Datum.word()),
    "\"datum\": the origin of the file is the bottom-left of the node, whose width and height are given; \
     \"box\": the node is the box of the cell over all layers",
);

/// A kind that draws a cell of a file of one format.
pub(super) trait Cells: Layout {
    /// The numbers that its layers have.
    const LAYERS: RangeInclusive<i64>;
    const HELP: &'static str;

    fn library(file: &mut dyn Read, layers: &Layers, limits: Limits) -> Result<Library, Error>;
}

pub(super) fn read<K: Cells>(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<LayoutDraft> {
    let values = source.values;
    let (path, at) = values.text("file")?;
    let value = gray(values.sample("value")?, checker.depth());
    let origin = Origin::of(values);
    let layers = match values.text("layer") {
        None => Layers::all(),
        Some((text, span)) => match Layers::parse(text, &K::LAYERS) {
            Ok(layers) => layers,
            Err(bad) => {
                let problem = Problem::new("E512", bad.to_string()).label(span, "no layer");
                checker
                    .note(problem.help("layer=\"1/0\" is layer 1 of datatype 0, layer=\"1\" all of layer 1"));
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
        kind: K::SIGNATURE.name,
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
    let options = layout::Options {
        pixel,
        origin: match origin {
            Origin::Datum => layout::Origin::Datum { height: 0 },
            Origin::Box => layout::Origin::Box,
        },
        cell,
        value,
    };
    let loaded = checker.drawing(asset, at, K::HELP, |file, budget| {
        load::<K>(file, path, &layers, &options, budget)
    })?;
    for warning in &loaded.warnings {
        let span = values.span("layer").unwrap_or(at);
        checker.warn(
            Problem::new("W211", warning.what.clone())
                .label(span, "nothing lies here")
                .help(warning.help),
        );
    }
    let is_told = !loaded.warnings.is_empty();
    Some(LayoutDraft::new::<K>(source, checker, loaded)?.told(is_told))
}

/// Layers of a cell that are named one by one.
const MAX_LAYERS: usize = 12;

/// The parts of a selection of layers on which a cell has nothing, with those that it has.
fn absent(library: &Library, layers: &Layers, cell: Option<&str>) -> Result<Option<String>, Error> {
    let there = library.layers(cell)?;
    let mut absent = layers.absent(&there);
    let shown = match cell.or_else(|| library.tops().first().copied()) {
        Some(cell) => format!("the cell {:?}", visible(cell)),
        None => "the layout".to_owned(),
    };
    if absent.is_empty() {
        return Ok(None);
    }
    if there.is_empty() {
        return Ok(Some(format!(
            "{shown} has no shapes, neither itself nor in the cells that it places"
        )));
    }
    let (count, more) = (absent.len(), there.len().saturating_sub(MAX_LAYERS));
    absent.truncate(MAX_LAYERS);
    if count > MAX_LAYERS {
        absent.push("…".to_owned());
    }
    let layers = there.iter().take(MAX_LAYERS).map(|layer| {
        let (ending, number) = (if layer.shapes == 1 { "" } else { "s" }, layer.shapes);
        format!("{}/{} ({number} shape{ending})", layer.layer, layer.datatype)
    });
    let mut layers: Vec<String> = layers.collect();
    if more > 0 {
        layers.push(format!("{more} more"));
    }
    Ok(Some(format!(
        "{shown} has nothing on {}; it has {}",
        absent.join(", "),
        layers.join(", ")
    )))
}

/// Reads and draws a cell. Its size is that of its box, or how far it reaches right of and above the origin of its file.
fn load<K: Cells>(
    file: &mut dyn Read,
    path: &str,
    layers: &Layers,
    options: &layout::Options,
    budget: &Budget,
) -> Result<Loaded, Unusable> {
    let name = visible(path);
    let library = K::library(file, layers, budget.limits());
    let near = match (&library, &options.cell) {
        (Ok(library), Some(cell)) if !library.cells().any(|other| other == cell) => {
            Suggestions::default().near(cell, library.cells())
        }
        _ => None,
    };
    let near = near
        .map(|near| format!("; did you mean cell=\"{}\"?", visible(near)))
        .unwrap_or_default();
    let named = |error: Error| {
        let why = match error {
            Error::NoCell { .. } => format!("{name}: {error}{near}"),
            Error::Format(Format::Gds) => format!("{name}: {error}; write gds \"{name}\""),
            Error::Format(Format::Oasis) => format!("{name}: {error}; write oasis \"{name}\""),
            Error::Format(Format::Gzip) => format!("{name}: {error}; unpack it"),
            _ => format!("{name}: {error}"),
        };
        Unusable::new(why, error.refused())
    };
    let library = library.map_err(named)?;
    let layout = library.draw(options).map_err(named)?;
    let absent = absent(&library, layers, options.cell.as_deref()).map_err(named)?;
    let warnings = absent.map(|what| Doubt {
        what: format!("{name}: {what}"),
        help: "layers are LAYER/DATATYPE; numbers of an editor may be those of its own table",
    });
    let size = match options.origin {
        layout::Origin::Datum { .. } => layout.reach,
        layout::Origin::Box => layout.size,
    };
    let sides = sides(layout.size, 0.0, options.pixel, |pixel| {
        let finer = layout::Options {
            pixel,
            origin: layout::Origin::Box,
            ..options.clone()
        };
        library.draw(&finer).ok()?.size
    });
    Ok(Loaded {
        drawing: Arc::new(layout.drawing),
        sides,
        unit: None,
        size: size.map(|(width, height)| (width as f64, height as f64)),
        text: Arc::default(),
        warnings: warnings.into_iter().collect(),
    })
}
