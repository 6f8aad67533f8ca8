//! `svg`: a drawing from an SVG file.

use std::io::Read;
use std::rc::Rc;
use std::sync::Arc;

use relief_vector::text::Font;
use relief_vector::{Affine, Pixel, svg};

use super::drawing::{ANTIALIAS, Antialias, Drawn, antialias, sides};
use super::visibility::{Measured, Visibility};
use super::{Bounds, Doubts, IntoKind, NaturalChild, NaturalSize, NodeKind, NodeSource, Seen, Sizing, words};
use crate::draft::{Asset, Budget, Checker, Doubt, Loaded, Unusable};
use crate::report::Problem;
use crate::signature::{
    Count, DefaultExtent, DefaultValue, Signature, ValueType, optional, parameter, required,
};
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
    /// Whether the design says how it fits.
    said: bool,
    gray: svg::Gray,
    /// By which its texts are laid out.
    fonts: Vec<Rc<Font>>,
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
        svg::Error::Depth { .. }
        | svg::Error::Loop { .. }
        | svg::Error::Styles { .. }
        | svg::Error::Refused { .. }
        | svg::Error::Font { .. } => {
            format!("{path}:{error}")
        }
        _ => format!("{path}: {error}"),
    }
}

/// Of all colours that show nothing, black is meant most often.
const IN_INK: &str = "write gray=\"ink\", by which black is M, or gray=\"opacity\"";
const NO_FONT: &str = "font=\"NAME.ttf\" on this node lays texts out by a font that is a file; or make paths of them in the program that drew them";
const OTHER_FONT: &str = "name the file of that font in a `font` between the braces of this node, or write another name in the drawing";
const NO_OUTLINE: &str = "what outlines cannot say is left out: change the drawing, for instance to paths, or make a picture of it for `image`";

fn given(fonts: &[Rc<Font>]) -> Vec<&Font> {
    fonts.iter().map(|font| &**font).collect()
}

fn load(
    file: &mut dyn Read,
    path: &str,
    pixel: Option<Pixel>,
    gray: svg::Gray,
    fonts: &[Rc<Font>],
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
            document.draw_with(&options, &given(fonts)).map_err(named)?,
        )
    };
    let told = picture.warnings.len().min(MAX_WARNINGS);
    let more = picture.more + (picture.warnings.len() - told) as u64;
    let mut warnings: Vec<Doubt> = picture.warnings[..told]
        .iter()
        .map(|warning| Doubt {
            what: format!("{}:{warning}", visible(path)),
            help: match warning.why {
                svg::Why::Black => IN_INK,
                svg::Why::NoFont => NO_FONT,
                svg::Why::OtherFont => OTHER_FONT,
                _ => NO_OUTLINE,
            },
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
        text: Arc::new(text),
        warnings,
    })
}

/// The fonts of a node with their paths; nothing where one cannot be used, which has been noted.
fn fonts(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<(Vec<Rc<Font>>, Vec<String>)> {
    let mut paths: Vec<(String, Span)> = Vec::new();
    if let Some((path, at)) = source.values.text("font") {
        paths.push((path.to_owned(), at));
    }
    let mut broken = false;
    for element in source.parameters {
        match checker.parameter_values(element) {
            Some(values) => paths.extend(values.text("file").map(|(path, at)| (path.to_owned(), at))),
            None => broken = true,
        }
    }
    let fonts: Vec<Option<Rc<Font>>> = paths.iter().map(|(path, at)| checker.font(path, *at)).collect();
    let fonts: Option<Vec<Rc<Font>>> = fonts.into_iter().collect();
    fonts
        .filter(|_| !broken)
        .map(|fonts| (fonts, paths.into_iter().map(|(path, _)| path).collect()))
}

impl NodeKind for Svg {
    type Draft = SvgDraft;

    const SIGNATURE: Signature = Signature {
        name: "svg",
        meaning: "A drawing from an SVG file: shapes, strokes, groups, clip paths and, by fonts that are files, texts, as outlines at \
                  any size. Places that nothing covers are 0.",
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
            optional(
                "font",
                ValueType::Path,
                DefaultValue::Absent("none: texts are not drawn"),
                "the path of an OpenType or TrueType file, relative to the design file, by which texts are laid out; more of them stand \
                 between braces",
            ),
            ANTIALIAS,
        ],
        children: &[parameter("font", Count::Any)],
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
        let (fonts, names) = fonts(source, checker)?;
        let mut settings = vec![gray as u64];
        for name in names {
            settings.push(name.len() as u64);
            settings.extend(name.bytes().map(u64::from));
        }
        let asset = Asset {
            kind: Self::SIGNATURE.name,
            path: path.to_owned(),
            settings,
        };
        let gray = gray.into();
        let loaded = checker.drawing(asset, at, HELP, |file, budget| {
            load(file, path, pixel, gray, &fonts, budget)
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
            said: values.span("fit").is_some(),
            gray,
            fonts,
            pixel,
            antialias,
            budget: checker.drawing_budget(),
        })
    }

    fn natural_size(draft: &SvgDraft, _: &[NaturalChild]) -> NaturalSize {
        match draft.page() {
            Some((width, height)) => NaturalSize::of(width, height),
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
        match draft.cropped(doubts) {
            Some(warning) => doubts.warn(warning),
            None => draft.visibility(doubts).doubt(doubts),
        }
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
        let transform = self.transform(doubts.size, is_sized);
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

    /// The whole pixels that its page takes, where the file says its size.
    fn page(&self) -> Option<(u64, u64)> {
        let side = |side: f64| (side.ceil() as u64).clamp(1, relief_raster::MAX_SIDE);
        self.loaded
            .size
            .map(|(width, height)| (side(width), side(height)))
    }

    /// That the canvas crops it, whose sides are those of no other node that says none; nothing where it is far too large, which is told
    /// otherwise.
    fn cropped(&self, doubts: &Doubts<'_>) -> Option<Problem> {
        const FAR: u64 = 100;
        let is_sized = doubts.node.width.is_some() || doubts.node.height.is_some();
        let (page, size) = (self.page()?, doubts.size);
        let is_cropped = page.0 > size.0 || page.1 > size.1;
        let is_far = page.0 / FAR >= size.0 && page.1 / FAR >= size.1;
        if is_sized || self.said || !is_cropped || is_far {
            return None;
        }
        let message = format!(
            "{} × {} pixels of the {} × {} of the drawing show: the canvas crops it",
            size.0.min(page.0),
            size.1.min(page.1),
            page.0,
            page.1
        );
        let warning = Problem::new("W202", message).label(doubts.node.span, "the drawing is cropped");
        Some(warning.help(
            "fit=\"contain\" scales all of it into the canvas; fit=\"none\" says that it is to be cropped",
        ))
    }

    /// From the pixels of the file to those of a node of this size; nothing where it is drawn as its file has it. Only of a node that fills
    /// the canvas is the size another than that of the file where no side is given.
    fn transform(&self, (width, height): (u64, u64), is_sized: bool) -> Option<Affine> {
        let fills = self.said && self.page() != Some((width, height));
        if !is_sized && !fills {
            return None;
        }
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
        let transform = self.transform(size, sizing.is_sized());
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
        let drawn = svg::Document::parse(&self.loaded.text, &limits)
            .and_then(|document| document.draw_with(&options, &given(&self.fonts)));
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
