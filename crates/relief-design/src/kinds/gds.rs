//! `gds`: a cell of a GDSII layout.

use std::io::Read;
use std::ops::RangeInclusive;
use std::sync::Arc;

use relief_vector::layout::{Error, Layers, Library};
use relief_vector::{Limits, gds};

use super::cells::{self, CELL, Cells, FILE, LAYER, ORIGIN, VALUE};
use super::drawing::{ANTIALIAS, Drawn};
use super::layout::{Layout, LayoutDraft, layout};
use super::{NodeKind, NodeSource};
use crate::draft::Checker;
use crate::signature::{DefaultExtent, Signature};

/// A cell of a GDSII layout.
#[derive(Clone, Debug, PartialEq)]
pub struct Gds {
    /// The path as the design says it.
    pub path: Arc<str>,
    /// Its outlines in the node.
    pub drawn: Drawn,
}

impl NodeKind for Gds {
    type Draft = LayoutDraft;

    const SIGNATURE: Signature = Signature {
        name: "gds",
        meaning: "A cell of a GDSII layout: boundaries, boxes and paths of the chosen layers, measured by the `pixel` of the \
                  canvas. Cells and arrays stay what they are. Places that nothing covers are 0.",
        details: include_str!("gds.md"),
        arguments: &[FILE],
        properties: &[VALUE, LAYER, CELL, ORIGIN, ANTIALIAS],
        extent: DefaultExtent::Natural,
        example: "gds \"mask.gds\" layer=\"1/0\" origin=\"box\" value=255",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<LayoutDraft> {
        cells::read::<Self>(source, checker)
    }

    layout!();
}

impl Layout for Gds {
    const FEWER: &'static str = "use a layout once in a `define`, or draw fewer layers of it";
    const DRAWN: &'static str = "cell";
    const EMPTY: &'static str = "look at `layer` and at `cell`: neither texts nor nodes cover anything";

    fn new(path: Arc<str>, drawn: Drawn) -> Self {
        Self { path, drawn }
    }
}

impl Cells for Gds {
    const LAYERS: RangeInclusive<i64> = Layers::GDS;
    const HELP: &'static str =
        "the path is relative to the folder of the design file; a layout is a GDSII stream, not compressed";

    fn library(file: &mut dyn Read, layers: &Layers, limits: Limits) -> Result<Library, Error> {
        gds::read(file, layers, limits)
    }
}
