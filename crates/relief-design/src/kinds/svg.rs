//! `svg`: a drawing from an SVG file.

use std::io::Read;
use std::sync::Arc;

use relief_vector::{Affine, Pixel, svg};

use super::drawing::{ANTIALIAS, Antialias, Drawn, antialias, sides};
use super::visibility::{Measured, Visibility};
use super::{Bounds, Doubts, IntoKind, NaturalChild, NaturalSize, NodeKind, NodeSource, Seen, Sizing, words};
use crate::draft::{Asset, Budget, Checker, Doubt, Loaded, Unusable};
use crate::report::Problem;
use crate::signature::{DefaultExtent, DefaultValue, Signature, ValueType, optional, required};
use crate::syntax::Span;
use crate::validate::Rules;
use crate::visible;

/// A drawing from an SVG file.
#[derive(Clone, Debug, PartialEq)]
pub struct Svg {
    /// The path as the design says it.
    pub path: Arc<str>,
    /// Its outlines in the node.
    pub drawn: Drawn,
}

/// How a drawing fills a node whose width or height is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fit {
    #[default]
    Contain,
    Cover,
    Stretch,
    None,
}

words!(Fit {
    Contain = "contain",
    Cover = "cover",
    Stretch = "stretch",
    None = "none",
});

/// Which gray a colour becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Shade {
    #[default]
    Luma,
    Ink,
    Opacity,
}

words!(Shade {
    Luma = "luma",
    Ink = "ink",
    Opacity = "opacity",
});

impl From<Shade> for svg::Gray {
    fn from(shade: Shade) -> Self {
        match shade {
            Shade::Luma => Self::Luma,
            Shade::Ink => Self::Ink,
            Shade::Opacity => Self::Opacity,
        }
    }
}

/// The file, and how it is to be drawn once the size of the node is known.
#[derive(Debug)]
pub(crate) struct SvgDraft {
    path: Arc<str>,
    at: Span,
    loaded: Loaded,
    fit: Fit,
    gray: svg::Gray,
    pixel: Option<Pixel>,
    antialias: Antialias,
    budget: Budget,
}

/// Warnings of one file that are told one by one.
const MAX_WARNINGS: usize = 16;

const HELP: &str =
    "the path is relative to the folder of the design file; a drawing is SVG in UTF-8, not compressed";

/// What is wrong with a file, after its name and a place in it.
fn named(path: &str, error: &svg::Error) -> String {
    let path = visible(path);
    match error {
        svg::Error::NoPixel { place, length } => {
            format!(
                "{path}:{place}: {length} needs the side of a pixel: add pixel=\"10um\" or dpi=1200 (or what it is) to the canvas"
            )
        }
        svg::Error::Depth { .. } | svg::Error::Loop { .. } | svg::Error::Refused { .. } => {
            format!("{path}:{error}")
        }
        _ => format!("{path}: {error}"),
    }
}

/// Of all colours that show nothing, black is meant most often.
const IN_INK: &str = "write gray=\"ink\", by which black is M, or gray=\"opacity\"";
const NO_OUTLINE: &str = "what outlines cannot say is left out: change the drawing, for instance to paths, or make a picture of it for `image`";

fn load(
    file: &mut dyn Read,
    path: &str,
    pixel: Option<Pixel>,
    gray: svg::Gray,
    budget: &Budget,
) -> Result<Loaded, Unusable> {
    let mut bytes = Vec::new();
    let limits = budget.limits();
    // One byte more says that it is too long.
    file.take(limits.memory.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| format!("{}: {error}", visible(path)))?;
    if bytes.len() as u64 > limits.memory {
        return Err(Unusable::memory(path, limits.memory));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let byte = error.utf8_error().valid_up_to();
        format!("{}: byte {byte} is not UTF-8", visible(path))
    })?;
    let options = svg::Options::default().with(|with| {
        with.pixel = pixel;
        with.gray = gray;
        with.limits = limits;
    });
    let (size, picture) = {
        let named = |error: svg::Error| Unusable::new(named(path, &error), error.refused());
        let document = svg::Document::parse(&text, &limits).map_err(named)?;
        (
            document.size(pixel).map_err(named)?,
            document.draw(&options).map_err(named)?,
        )
    };
    let told = picture.warnings.len().min(MAX_WARNINGS);
    let more = picture.more + (picture.warnings.len() - told) as u64;
    let mut warnings: Vec<Doubt> = picture.warnings[..told]
        .iter()
        .map(|warning| Doubt {
            what: format!("{}:{warning}", visible(path)),
            help: if warning.is_black { IN_INK } else { NO_OUTLINE },
        })
        .collect();
    if more > 0 {
        let what = format!("{}: {more} more things are not drawn", visible(path));
        warnings.push(Doubt {
            what,
            help: NO_OUTLINE,
        });
    }
    budget.take_memory(text.len() as u64);
    Ok(Loaded {
        sides: sides(&picture.drawing),
        drawing: Arc::new(picture.drawing),
        size,
        unit: None,
        text: text.into(),
        warnings,
    })
}

impl NodeKind for Svg {
    type Draft = SvgDraft;

    const SIGNATURE: Signature = Signature {
        name: "svg",
        meaning: "A drawing from an SVG file: shapes, strokes, groups and clip paths, as outlines at any size. Places that nothing \
                  covers are 0.",
        details: include_str!("svg.md"),
        arguments: &[required(
            "file",
            ValueType::Path,
            "the path of the file, relative to the design file",
        )],
        properties: &[
            optional(
                "fit",
                ValueType::Word(Fit::WORDS),
                DefaultValue::Word(Fit::Contain.word()),
                "how it fills a node with a width or a height: all of it shows, nothing of the node stays empty, it is \
                 stretched, or it keeps its own size",
            ),
            optional(
                "gray",
                ValueType::Word(Shade::WORDS),
                DefaultValue::Word(Shade::Luma.word()),
                "what colours become: white is M, black is M, or whatever is painted is M; times their opacity",
            ),
            ANTIALIAS,
        ],
        extent: DefaultExtent::Natural,
        example: "svg \"logo.svg\" width=\"3mm\" gray=\"ink\"",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<SvgDraft> {
        let values = source.values;
        let fit = values.word("fit").and_then(Fit::of_word).unwrap_or_default();
        let gray = values.word("gray").and_then(Shade::of_word).unwrap_or_default();
        let antialias = antialias(values);
        let (path, at) = values.text("file")?;
        let pixel = checker.drawing_pixel();
        let asset = Asset {
            kind: Self::SIGNATURE.name,
            path: path.to_owned(),
            settings: vec![gray as u64],
        };
        let gray = gray.into();
        let loaded = checker.drawing(asset, at, HELP, |file, budget| {
            load(file, path, pixel, gray, budget)
        })?;
        for warning in &loaded.warnings {
            checker.warn(
                Problem::new("W210", warning.what.clone())
                    .label(at, "this file")
                    .help(warning.help),
            );
        }
        Some(SvgDraft {
            path: path.into(),
            at,
            loaded,
            fit,
            gray,
            pixel,
            antialias,
            budget: checker.drawing_budget(),
        })
    }

    fn natural_size(draft: &SvgDraft, _: &[NaturalChild]) -> NaturalSize {
        let side = |side: f64| (side.ceil() as u64).clamp(1, relief_raster::MAX_SIDE);
        match draft.loaded.size {
            Some((width, height)) => NaturalSize::of(side(width), side(height)),
            None => NaturalSize::NONE,
        }
    }

    fn other_side(draft: &SvgDraft, axis: usize, side: f64) -> Option<u64> {
        let (width, height) = draft.loaded.size.filter(|_| draft.fit != Fit::None)?;
        let aspect = if axis == 0 { height / width } else { width / height };
        // Halves up.
        let other = (side * aspect + 0.5).floor();
        Some((other as u64).clamp(1, relief_raster::MAX_SIDE))
    }

    fn bounds(&self, seen: &Seen<'_>) -> Bounds {
        self.drawn.bounds(seen.max)
    }

    fn is_smooth(&self, _: bool) -> bool {
        self.drawn.is_smooth()
    }

    fn doubt(draft: &SvgDraft, doubts: &mut Doubts<'_>) {
        draft.visibility(doubts).doubt(doubts);
    }

    fn validate(&self, rules: &Rules<'_>) -> Result<(), String> {
        self.drawn.validate(rules)
    }
}

impl SvgDraft {
    fn drawn(&self, drawing: Arc<relief_vector::Drawing>) -> Drawn {
        Drawn {
            drawing,
            antialias: self.antialias,
        }
    }

    /// How it lies in a node.
    fn visibility(&self, doubts: &Doubts<'_>) -> Visibility {
        let is_sized = doubts.node.width.is_some() || doubts.node.height.is_some();
        let transform = self.transform(doubts.size).filter(|_| is_sized);
        let [x, _, _, y, left, top] = transform.unwrap_or_default().as_coeffs();
        let bounds = self.loaded.drawing.pixels();
        let low = |place: i64, by: f64, from: f64| (place as f64 * by + from).floor() as i64;
        let high = |place: i64, by: f64, from: f64| (place as f64 * by + from).ceil() as i64;
        let pixels = bounds.map(|b| {
            (
                low(b.0, x, left),
                low(b.1, y, top),
                high(b.2, x, left),
                high(b.3, y, top),
            )
        });
        let sides = self.loaded.size.or(self.loaded.sides);
        let sides = sides.map(|(width, height)| (width * x, height * y));
        Visibility {
            noun: "drawing",
            pixels,
            sides,
            measured: Measured::File,
            empty: "the file has no shape that is filled or has a line along it",
        }
    }

    /// As its file has it.
    fn natural(&self) -> Drawn {
        self.drawn(Arc::clone(&self.loaded.drawing))
    }

    /// From the pixels of the file to those of a node of this size.
    fn transform(&self, (width, height): (u64, u64)) -> Option<Affine> {
        let (own, node) = (self.loaded.size?, (width as f64, height as f64));
        let (x, y) = (node.0 / own.0, node.1 / own.1);
        let (x, y) = match self.fit {
            Fit::Contain => (x.min(y), x.min(y)),
            Fit::Cover => (x.max(y), x.max(y)),
            Fit::Stretch => (x, y),
            Fit::None => return None,
        };
        let free = ((node.0 - own.0 * x) / 2.0, (node.1 - own.1 * y) / 2.0);
        Some(Affine::new([x, 0.0, 0.0, y, free.0, free.1]))
    }
}

impl IntoKind<Svg> for SvgDraft {
    fn sized(&self, sizing: &mut Sizing<'_>) -> Option<Svg> {
        let kind = |drawn| Svg {
            path: Arc::clone(&self.path),
            drawn,
        };
        let size = (sizing.size.width, sizing.size.height);
        let transform = self.transform(size).filter(|_| sizing.is_sized());
        let Some(transform) = transform else {
            return Some(kind(self.natural()));
        };
        let limits = self.budget.limits();
        let options = svg::Options::default().with(|with| {
            with.pixel = self.pixel;
            with.gray = self.gray;
            with.transform = transform;
            with.limits = limits;
        });
        let drawn =
            svg::Document::parse(&self.loaded.text, &limits).and_then(|document| document.draw(&options));
        match drawn {
            Ok(picture) => {
                self.budget.take(&picture.drawing);
                Some(kind(self.drawn(Arc::new(picture.drawing))))
            }
            Err(error) => {
                let unusable = Unusable::new(named(&self.path, &error), error.refused());
                let help = "draw it smaller, or fewer of such drawings";
                sizing.note(unusable.problem("drawing", self.at, help));
                None
            }
        }
    }
}
