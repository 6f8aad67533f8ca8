//! SVG: a subset that makes outlines.
//!
//! Shapes, paths, strokes, groups, transforms, `use`, `symbol`, nested `svg`, `switch`, clip paths, fill rules, style sheets and
//! opacity are read, and texts where their fonts are given. Everything else, such as pictures, gradients, patterns, masks, markers and
//! filters, is not drawn: each is a [`Warning`] with its place.
//!
//! A unit of the file without a name, or `px`, is a pixel before the transform; `mm`, `in` and the like are measured by the side
//! of a pixel that the caller gives. Arcs become cubics only here, where the scale is known, within 2^-10 px. Nothing is ever
//! downloaded, and no other file is opened.

mod clip;
mod draw;
mod shape;
mod sheet;
mod style;
mod text;
mod value;

use kurbo::Affine;

use crate::text::Font;
use crate::{Drawing, Limits, Pixel, Refused};

/// What a colour becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gray {
    /// Its luma, (2126 r + 7152 g + 722 b) / 10 000, times its opacity: white is M, black is 0.
    Luma,
    /// What is missing of its luma, times its opacity: black is M, white is 0.
    Ink,
    /// Its opacity: whatever is painted is M.
    Opacity,
}

/// How a document is drawn.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The side of a pixel, for absolute units.
    pub pixel: Option<Pixel>,
    /// From the pixels of the document to those of the raster.
    pub transform: Affine,
    /// What colours become.
    pub gray: Gray,
    /// How much it may hold.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            pixel: None,
            transform: Affine::IDENTITY,
            gray: Gray::Luma,
            limits: Limits::default(),
        }
    }
}

impl Options {
    /// Changed in place.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// A line and a column of the document, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// What is not drawn as the document has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Where the element begins.
    pub place: Place,
    /// What it is.
    pub what: String,
    /// Why, which says what would help.
    pub why: Why,
}

/// Why something is not drawn as the document has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// Outlines cannot say it, or it is not followed.
    Undrawn,
    /// Everything shows nothing because it is black.
    Black,
    /// It is a text, and no font was given.
    NoFont,
    /// No font that was given is the one that the document names, or has the letter.
    OtherFont,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// A drawn document.
#[derive(Debug)]
pub struct Picture {
    /// The outlines.
    pub drawing: Drawing,
    /// What is not drawn as the document has it, at most [`MAX_WARNINGS`] of them.
    pub warnings: Vec<Warning>,
    /// How many more warnings there were.
    pub more: u64,
}

/// Warnings that are told one by one.
pub const MAX_WARNINGS: usize = 64;

/// Why a document cannot be drawn.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// It is no XML.
    #[error("the drawing is no XML: {0}")]
    Xml(String),
    /// It is XML, but no SVG.
    #[error("the drawing begins with <{0}>, not with <svg> of the namespace http://www.w3.org/2000/svg")]
    NotSvg(String),
    /// The file is longer than the limits allow.
    #[error("the drawing is longer than {0} bytes")]
    Long(u64),
    /// Elements are nested too deeply.
    #[error("{place}: elements are nested more than {limit} deep")]
    Depth {
        /// Where.
        place: Place,
        /// The limit.
        limit: u32,
    },
    /// Style sheets that would take too long to match.
    #[error("{place}: {what}")]
    Styles {
        /// Where.
        place: Place,
        /// What there is too much of, and what may be.
        what: String,
    },
    /// An element contains itself.
    #[error("{place}: {what} refers to itself")]
    Loop {
        /// Where.
        place: Place,
        /// The reference.
        what: String,
    },
    /// A font by which a text is laid out is damaged.
    #[error("{place}: {cause}")]
    Font {
        /// The text.
        place: Place,
        /// Why.
        #[source]
        cause: crate::text::Error,
    },
    /// An absolute unit, but no side of a pixel.
    #[error("{place}: {length} has an absolute unit; give the side of a pixel")]
    NoPixel {
        /// Where.
        place: Place,
        /// The length.
        length: String,
    },
    /// Too large, or too far out.
    #[error("{place}: <{element}>: {cause}")]
    Refused {
        /// Where the element begins.
        place: Place,
        /// Its name.
        element: String,
        /// Why.
        #[source]
        cause: Refused,
    },
}

impl Error {
    /// The limit that was passed, where one was.
    #[must_use]
    pub const fn refused(&self) -> Option<Refused> {
        match self {
            Self::Refused { cause, .. } => Some(*cause),
            _ => None,
        }
    }
}

/// A document, read.
#[derive(Debug)]
pub struct Document<'a> {
    tree: roxmltree::Document<'a>,
}

/// The namespace of SVG.
const SVG: &str = "http://www.w3.org/2000/svg";
/// Bytes of a node and of an attribute in the tree, in lists that grow.
const NODE: u64 = 192;
const ATTRIBUTE: u64 = 160;
/// Nodes of a document.
const MAX_NODES: u32 = 1 << 26;

impl<'a> Document<'a> {
    /// Reads a document.
    ///
    /// # Errors
    /// Where it is too long, no XML or no SVG.
    pub fn parse(text: &'a str, limits: &Limits) -> Result<Self, Error> {
        if text.len() as u64 > limits.bytes {
            return Err(Error::Long(limits.bytes));
        }
        // A tag begins with <, and an attribute has =; the text itself and the places of its lines are held as well.
        let count = |of: u8| {
            // As many as a byte counts, so that a vector of bytes does.
            let parts = text.as_bytes().chunks(255);
            let of_part = |part: &[u8]| part.iter().fold(0_u8, |sum, byte| sum + u8::from(*byte == of));
            parts.map(|part| u64::from(of_part(part))).sum::<u64>()
        };
        let tree = 2 * count(b'<') * NODE + count(b'=') * ATTRIBUTE + 2 * text.len() as u64;
        if tree > limits.memory {
            let cause = Refused::Memory(limits.memory);
            let place = Place { line: 1, column: 1 };
            let element = "svg".to_owned();
            return Err(Error::Refused {
                place,
                element,
                cause,
            });
        }
        let options = roxmltree::ParsingOptions {
            allow_dtd: true,
            nodes_limit: u32::try_from(limits.items.saturating_mul(2))
                .unwrap_or(MAX_NODES)
                .min(MAX_NODES),
            ..roxmltree::ParsingOptions::default()
        };
        let tree = roxmltree::Document::parse_with_options(text, options)
            .map_err(|error| Error::Xml(error.to_string()))?;
        let root = tree.root_element().tag_name();
        if root.name() != "svg" || root.namespace() != Some(SVG) {
            return Err(Error::NotSvg(root.name().to_owned()));
        }
        Ok(Self { tree })
    }

    /// The size of the document in pixels, before any transform: its width and height, else those of its `viewBox`. `None` where
    /// it has neither.
    ///
    /// # Errors
    /// Where it is given in an absolute unit, but the side of a pixel is not known.
    pub fn size(&self, pixel: Option<Pixel>) -> Result<Option<(f64, f64)>, Error> {
        value::size(self, self.tree.root_element(), pixel, || {
            draw::root_em(self, pixel)
        })
    }

    /// Draws the document without its texts.
    ///
    /// # Errors
    /// Where it exceeds the limits, refers to itself, or uses absolute units without a pixel.
    pub fn draw(&self, options: &Options) -> Result<Picture, Error> {
        draw::draw(self, options, &[])
    }

    /// Draws the document, and its texts by these fonts: each by the one whose family, style and weight it names, or comes nearest to,
    /// and by the first where none is of a family that it names.
    ///
    /// # Errors
    /// As those of [`Document::draw`], and where a font is damaged.
    pub fn draw_with(&self, options: &Options, fonts: &[&Font]) -> Result<Picture, Error> {
        draw::draw(self, options, fonts)
    }

    fn place(&self, node: roxmltree::Node<'_, '_>) -> Place {
        let place = self.tree.text_pos_at(node.range().start);
        Place {
            line: place.row,
            column: place.col,
        }
    }
}
