//! `gerber`: a layer of a board.

use std::io::Read;
use std::sync::Arc;

use relief_vector::gerber;

use super::drawing::{ANTIALIAS, Drawn, gray};
use super::layout::{Layout, LayoutDraft, Origin, drawing_pixel, layout, sides};
use super::{NodeKind, NodeSource};
use crate::draft::{Asset, Budget, Checker, Doubt, Loaded, Unusable};
use crate::report::Problem;
use crate::signature::{DefaultExtent, DefaultValue, Signature, ValueType, optional, required};
use crate::visible;

/// A layer of a board.
#[derive(Clone, Debug, PartialEq)]
pub struct Gerber {
    /// The path as the design says it.
    pub path: Arc<str>,
    /// Its outlines in the node.
    pub drawn: Drawn,
}

/// Warnings of one file that are told one by one.
const MAX_WARNINGS: usize = 4;

const HELP: &str = "the path is relative to the folder of the design file; a board is a Gerber file, RS-274X or X2, not compressed";

impl NodeKind for Gerber {
    type Draft = LayoutDraft;

    const SIGNATURE: Signature = Signature {
        name: "gerber",
        meaning: "A layer of a board from a Gerber file: flashes, lines, arcs and regions, dark and clear in their order, measured by the \
                  `pixel` of the canvas. Places that are not dark are 0.",
        details: include_str!("gerber.md"),
        arguments: &[required(
            "file",
            ValueType::Path,
            "the path of the file, relative to the design file",
        )],
        properties: &[
            required("value", ValueType::Sample, "the sample of what is dark"),
            optional(
                "origin",
                ValueType::Word(Origin::WORDS),
                DefaultValue::Word(Origin::Box.word()),
                "\"box\": the node begins at the box of all that the file draws, dark and clear; \"datum\": the origin of the file is the \
                 bottom-left of the node, whose width and height are given",
            ),
            ANTIALIAS,
        ],
        extent: DefaultExtent::Natural,
        example: "gerber \"board.gbr\" value=255",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<LayoutDraft> {
        let values = source.values;
        let (path, at) = values.text("file")?;
        if values.broken {
            return None;
        }
        let value = gray(values.sample("value")?, checker.depth());
        let pixel = drawing_pixel(checker, at, "a board", "pixel=\"10um\" or dpi=2540")?;
        let origin = Origin::of(values);
        let asset = Asset {
            kind: Self::SIGNATURE.name,
            path: path.to_owned(),
            settings: vec![u64::from(value), origin as u64],
        };
        let options = gerber::Options::new(pixel).with(|with| {
            with.value = value;
            if origin == Origin::Datum {
                with.origin = gerber::Origin::Datum { height: 0 };
            }
        });
        let loaded = checker.drawing(asset, at, HELP, |file, budget| {
            load(file, path, origin, &options, budget)
        })?;
        for warning in &loaded.warnings {
            checker.warn(
                Problem::new("W213", warning.what.clone())
                    .label(at, "this file")
                    .help(warning.help),
            );
        }
        LayoutDraft::new::<Self>(source, checker, loaded)
    }

    layout!();
}

impl Layout for Gerber {
    const FEWER: &'static str = "use a board once in a `define`, or split it into several files";
    const DRAWN: &'static str = "board";
    const EMPTY: &'static str = "the file flashes no aperture and draws neither a line nor a region";

    fn new(path: Arc<str>, drawn: Drawn) -> Self {
        Self { path, drawn }
    }
}

/// Reads and draws a file. Its size is that of its box, or how far it reaches right of and above the origin of its file.
fn load(
    file: &mut dyn Read,
    path: &str,
    origin: Origin,
    options: &gerber::Options,
    budget: &Budget,
) -> Result<Loaded, Unusable> {
    let named = |error: gerber::Error| Unusable::new(format!("{}: {error}", visible(path)), error.refused());
    let board = gerber::Board::read(file, budget.limits()).map_err(named)?;
    let (all, more) = board.warnings();
    let told = all.len().min(MAX_WARNINGS);
    let more = more + (all.len() - told) as u64;
    let help = "write * at the end of the command, or let the program write it that made the file";
    let mut warnings: Vec<Doubt> = all[..told]
        .iter()
        .map(|warning| Doubt {
            what: format!("{}: {warning}", visible(path)),
            help,
        })
        .collect();
    if more > 0 {
        let what = format!("{}: {more} more commands have no *", visible(path));
        warnings.push(Doubt { what, help });
    }
    let layout = board.draw(options).map_err(named)?;
    let size = match origin {
        Origin::Datum => layout.reach,
        Origin::Box => layout.size,
    };
    let sides = sides(layout.size, 0.0, options.pixel, |pixel| {
        let finer = options.clone().with(|with| {
            with.pixel = pixel;
            with.origin = gerber::Origin::Box;
        });
        board.draw(&finer).ok()?.size
    });
    Ok(Loaded {
        drawing: Arc::new(layout.drawing),
        sides,
        unit: None,
        size: size.map(|(width, height)| (width as f64, height as f64)),
        text: Arc::default(),
        warnings,
    })
}
