//! `image`: a picture from a file.

use std::ops::ControlFlow;
use std::sync::Arc;

use relief_raster::{Depth, Length, MAX_SIDE, Rect};

use super::{
    Compose, Doubts, Edge, IntoKind, Lowering, NaturalChild, NaturalSize, NodeKind, NodeSource, Resampling,
    Resize, Sizing, words,
};
use crate::draft::{Asset, Checker, Known, Values};
use crate::length::{Ratio, UNITS};
use crate::pictures::ImageSource;
use crate::report::Problem;
use crate::seam::{Interval, Seam, Support};
use crate::signature::{DefaultExtent, DefaultValue, Parameter, Signature, ValueType, optional, required};
use crate::syntax::Span;
use crate::tree::{Child, Role};
use crate::validate::Rules;

/// The greatest magnitude of the numbers that an image is converted by: products with 2·M stay finite.
const MAX_NUMBER: f64 = 1e300;

/// The most pixels of a picture that are looked at to tell whether it has grays.
const MAX_LOOK: u64 = 1 << 24;

/// A picture from a file, of `width` × `height` pixels; cropped or padded with 0 to the extent.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// The path as the design says it.
    pub path: Arc<str>,
    /// How its pixels become samples.
    pub conversion: Conversion,
    /// Columns of the picture.
    pub width: u64,
    /// Rows of the picture.
    pub height: u64,
}

/// Which gray the colour of a picture becomes. r, g and b are the colour in 0…1; gray g is r = g = b.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Gray {
    /// 0.2126 r + 0.7152 g + 0.0722 b.
    #[default]
    Luma,
    /// (r + g + b) / 3.
    Average,
    /// r.
    Red,
    /// g.
    Green,
    /// b.
    Blue,
    /// The cyan ink of a CMYK file; else 1 − r.
    Cyan,
    /// The magenta ink of a CMYK file; else 1 − g.
    Magenta,
    /// The yellow ink of a CMYK file; else 1 − b.
    Yellow,
    /// The black ink of a CMYK file; else 1 − max(r, g, b).
    Black,
}

words!(Gray {
    Luma = "luma",
    Average = "average",
    Red = "red",
    Green = "green",
    Blue = "blue",
    Cyan = "cyan",
    Magenta = "magenta",
    Yellow = "yellow",
    Black = "black",
});

/// How the pixels of a picture's file become samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conversion {
    /// Which gray the colour becomes.
    pub gray: Gray,
    /// The numbers of the file that become 0 and M, two different finite ones; numbers between become
    /// M·(v − low) / (high − low), rounded half up, numbers beyond are clamped. Where it is missing, 0 becomes 0 and the
    /// greatest sample that the file can hold becomes M.
    pub range: Option<(f64, f64)>,
    /// Of a group of Zarr the path of the array within it; where it is missing, its array `0`.
    pub array: Option<Arc<str>>,
    /// Of an array of more than two dimensions the place along each before the last two; where it is empty, each of them has one
    /// element.
    pub index: Arc<[u64]>,
    /// Where the file has no header: what it holds.
    pub raw: Option<Raw>,
}

/// Samples of a file without a header, one a pixel, row by row from the top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw {
    /// Columns.
    pub width: u64,
    /// Rows.
    pub height: u64,
    /// What a sample is.
    pub sample: RawSample,
    /// Whether the most significant byte of a sample comes first.
    pub big_endian: bool,
    /// The bytes before the first sample.
    pub offset: u64,
}

/// What a sample of a file without a header is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawSample {
    /// A whole number from 0 on, of 8 bits.
    Uint8,
    /// A whole number from 0 on, of 16 bits.
    Uint16,
    /// A whole number from 0 on, of 32 bits.
    Uint32,
    /// A signed whole number of 8 bits.
    Int8,
    /// A signed whole number of 16 bits.
    Int16,
    /// A signed whole number of 32 bits.
    Int32,
    /// A floating point number of 16 bits.
    Float16,
    /// A floating point number of 32 bits.
    Float32,
    /// A floating point number of 64 bits.
    Float64,
}

words!(RawSample {
    Uint8 = "uint8",
    Uint16 = "uint16",
    Uint32 = "uint32",
    Int8 = "int8",
    Int16 = "int16",
    Int32 = "int32",
    Float16 = "float16",
    Float32 = "float32",
    Float64 = "float64",
});

impl Raw {
    /// Reads `40000x30000 uint16`, after which may stand `big` or `little`, and the bytes before the first sample, as `+512`.
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let (width, height) = words.next()?.split_once(['x', '×'])?;
        let side = |side: &str| side.parse().ok().filter(|side| (1..=MAX_SIDE).contains(side));
        let mut raw = Self {
            width: side(width)?,
            height: side(height)?,
            sample: RawSample::of_word(words.next()?)?,
            big_endian: false,
            offset: 0,
        };
        for word in words {
            match (word, word.strip_prefix('+')) {
                ("big", _) => raw.big_endian = true,
                ("little", _) => raw.big_endian = false,
                (_, Some(offset)) => raw.offset = offset.parse().ok()?,
                _ => return None,
            }
        }
        Some(raw)
    }
}

/// How a picture fills a node whose width or height is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fit {
    #[default]
    None,
    Contain,
    Cover,
    Stretch,
}

words!(Fit {
    None = "none",
    Contain = "contain",
    Cover = "cover",
    Stretch = "stretch",
});

/// The units that numbers of a file can have.
const NUMBER_UNITS: &[&str] = &["pm", "nm", "um", "mm", "cm", "m", "in", "mil"];

/// A picture, and how it is to be shown once the size of the node is known.
#[derive(Debug)]
pub(crate) struct ImageDraft {
    image: Image,
    /// Where its path is written.
    at: Span,
    /// Columns and rows that it has of itself, in pixels of the canvas.
    own: [Ratio; 2],
    fit: Fit,
    /// Whether the design says how it fits.
    said: bool,
}

impl NodeKind for Image {
    type Draft = ImageDraft;

    const SIGNATURE: Signature = Signature {
        name: "image",
        meaning: "A picture from a file: PNG, TIFF, JPEG, PBM, PGM, PPM, BMP or Zarr, told apart by its content. Colour becomes gray, \
                  transparent pixels become 0, and the greatest sample of the file becomes M.",
        details: include_str!("image.md"),
        arguments: &[required(
            "file",
            ValueType::Path,
            "the path of the file, relative to the design file",
        )],
        properties: &[
            optional(
                "gray",
                ValueType::Word(Gray::WORDS),
                DefaultValue::Word(Gray::Luma.word()),
                "which gray the colour becomes",
            ),
            optional(
                "low",
                ValueType::Quantity,
                DefaultValue::Absent("none"),
                "the number in the file that becomes 0, of magnitude up to 10^300, or the height that it stands for",
            ),
            optional(
                "high",
                ValueType::Quantity,
                DefaultValue::Absent("none"),
                "the number in the file that becomes M, or its height; required with low",
            ),
            optional(
                "unit",
                ValueType::Word(NUMBER_UNITS),
                DefaultValue::Absent("none"),
                "the unit of the numbers in the file; required where low or high is a height",
            ),
            RAW,
            ARRAY,
            INDEX,
            optional(
                "fit",
                ValueType::Word(Fit::WORDS),
                DefaultValue::Word(Fit::None.word()),
                "how it fills a node with a width or a height: it has its own size, all of it shows, nothing of the node stays empty, or it is stretched",
            ),
            optional(
                "pitch",
                ValueType::PicturePitch,
                DefaultValue::Absent("that of the canvas"),
                "the side of a pixel of the picture, which is resampled to those of the canvas; \"file\": as its file says",
            ),
        ],
        extent: DefaultExtent::Natural,
        example: "image \"logo.png\" x=\"2mm\" y=\"1mm\"",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<ImageDraft> {
        let values = source.values;
        let conversion = conversion(values, checker);
        let fit = values.word("fit").and_then(Fit::of_word).unwrap_or_default();
        let (path, span) = values.text("file")?;
        let conversion = conversion?;
        let asset = Asset {
            kind: Self::SIGNATURE.name,
            path: path.to_owned(),
            settings: settings(&conversion),
        };
        let known = checker.asset_size(asset, span, |files| files.open(path, &conversion))?;
        match known {
            Ok(known) => {
                let own = own_size(values, checker, known)?;
                let (width, height) = known.size;
                Some(ImageDraft {
                    image: Self {
                        path: path.into(),
                        conversion,
                        width,
                        height,
                    },
                    at: span,
                    own,
                    fit,
                    said: values.span("fit").is_some(),
                })
            }
            Err(why) => {
                let problem =
                    Problem::new("E505", format!("the image cannot be used: {why}")).label(span, "this file");
                checker.note(problem.help(
                    "paths are relative to the folder of the design file; images are PNG, TIFF, JPEG, PBM, PGM, PPM, BMP or Zarr",
                ));
                None
            }
        }
    }

    fn natural_size(draft: &ImageDraft, _: &[NaturalChild]) -> NaturalSize {
        let (width, height) = draft.natural();
        NaturalSize::of(width, height)
    }

    fn other_side(draft: &ImageDraft, axis: usize, side: f64) -> Option<u64> {
        let (by, from) = (draft.own[1 - axis], draft.own[axis]);
        let other = (draft.fit != Fit::None).then(|| scaled(side, by, from))?;
        Some(other.clamp(1, MAX_SIDE))
    }

    fn file(&self) -> Option<&str> {
        Some(&self.path)
    }

    fn has_grays(&self, images: &dyn ImageSource, depth: Depth) -> bool {
        // A larger picture takes too long to look through; one that is read in windows is most likely large.
        if self.width.saturating_mul(self.height) > MAX_LOOK {
            return false;
        }
        let Ok(picture) = images.open(&self.path, &self.conversion) else {
            return false;
        };
        let mut grays = false;
        let read = picture.read(Rect::sized(self.width, self.height), depth, &mut |_, row| {
            grays |= row.iter().any(|&sample| sample != 0 && sample != depth.max());
            if grays {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        grays && read.is_ok()
    }

    fn doubt(draft: &ImageDraft, doubts: &mut Doubts<'_>) {
        if draft.fit != Fit::None || draft.said {
            return;
        }
        let ((width, height), node) = (doubts.size, doubts.node);
        let own = draft.natural();
        let cut = |given: bool, side: u64, own: u64| given && side < own;
        if cut(node.width.is_some() || doubts.is_root, width, own.0)
            || cut(node.height.is_some() || doubts.is_root, height, own.1)
        {
            let message = format!(
                "{} × {} pixels of the {} × {} of the picture show: a width or height crops it",
                width.min(own.0),
                height.min(own.1),
                own.0,
                own.1
            );
            let given = node.width.or(node.height).map_or(node.span, |given| given.span);
            let warning = Problem::new("W202", message).label(given, "the picture is cropped");
            doubts.warn(warning.help(
                "fit=\"contain\" scales all of it into this size; fit=\"none\" says that it is to be cropped",
            ));
        }
    }

    fn support(&self, _: (u64, u64), _: &[(Role, Support)]) -> Support {
        [Interval::side(self.width), Interval::side(self.height)]
    }

    fn seam(&self, seam: &mut Seam<'_, '_>) {
        seam.shape("a picture goes all around, and what its ends show is not looked at");
    }

    fn validate(&self, rules: &Rules<'_>) -> Result<(), String> {
        rules.side(self.width, "width of the picture")?;
        rules.side(self.height, "height of the picture")
    }
}

/// What a file without a header holds.
pub(crate) const RAW: Parameter = optional(
    "raw",
    ValueType::Text,
    DefaultValue::Absent("the header of the file says it"),
    "of a file without a header, its columns and rows and what a sample is, as \"40000x30000 uint16\"",
);

/// Which array of a group.
pub(crate) const ARRAY: Parameter = optional(
    "array",
    ValueType::Text,
    DefaultValue::Absent("the array 0"),
    "of a group of Zarr, the path of the array within it",
);

/// Where along further dimensions.
pub(crate) const INDEX: Parameter = optional(
    "index",
    ValueType::Any,
    DefaultValue::Absent("none"),
    "of an array of more than two dimensions, the place from 0 on along each before rows and columns, as 3 or \"3,0\"",
);

/// All on which the size of a picture depends beside its path.
pub(crate) fn settings(conversion: &Conversion) -> Vec<u64> {
    let mut settings = vec![conversion.gray as u64];
    let (low, high) = conversion.range.unwrap_or((0.0, 0.0));
    settings.extend([low.to_bits(), high.to_bits(), conversion.index.len() as u64]);
    settings.extend(conversion.index.iter());
    settings.extend(conversion.raw.iter().flat_map(|raw| {
        let kind = 2 * raw.sample as u64 + u64::from(raw.big_endian);
        [raw.width, raw.height, kind, raw.offset]
    }));
    // A path is not empty, so that none is told apart.
    settings.extend(
        conversion
            .array
            .iter()
            .flat_map(|array| array.bytes())
            .map(u64::from),
    );
    settings
}

/// How the pixels become samples.
fn conversion(values: &Values, checker: &mut Checker<'_>) -> Option<Conversion> {
    // A wrong word has been noted; the file is looked at all the same.
    let gray = values.word("gray").and_then(Gray::of_word).unwrap_or_default();
    let range = range(values, checker)?;
    let (array, index, raw) = (
        array(values, checker)?,
        index(values, checker)?,
        raw(values, checker)?,
    );
    Some(Conversion {
        gray,
        range,
        array,
        index,
        raw,
    })
}

/// How a picture is opened of which only the size is asked for, by the values of [`ARRAY`], [`INDEX`] and [`RAW`]; nothing where one is
/// wrong, which has been noted.
pub(crate) fn sized(values: &Values, checker: &mut Checker<'_>) -> Option<Conversion> {
    let (array, index, raw) = (
        array(values, checker)?,
        index(values, checker)?,
        raw(values, checker)?,
    );
    Some(Conversion {
        // Of numbers as well.
        range: Some((0.0, 1.0)),
        array,
        index,
        raw,
        ..Conversion::default()
    })
}

/// What a file without a header holds, if it has none; nothing where that is wrong.
fn raw(values: &Values, checker: &mut Checker<'_>) -> Option<Option<Raw>> {
    let Some((text, span)) = values.text("raw") else {
        return Some(None);
    };
    let raw = Raw::parse(text);
    if raw.is_none() {
        let problem = Problem::new("E402", "`raw` is columns and rows, and what a sample is");
        checker.note(problem.label(span, "not that").help(format!(
            "raw=\"40000x30000 uint16\", for instance, after which may stand big or little and the bytes before the first sample, as +512; \
             samples are {}",
            RawSample::WORDS.join(", ")
        )));
    }
    raw.map(Some)
}

/// The most dimensions before rows and columns.
const MAX_DIMENSIONS: usize = 32;

/// The path of an array within its group, if any; nothing where it is wrong.
fn array(values: &Values, checker: &mut Checker<'_>) -> Option<Option<Arc<str>>> {
    let Some((text, span)) = values.text("array") else {
        return Some(None);
    };
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.contains(['\\', ':']);
    if text.split('/').all(is_name) {
        return Some(Some(text.into()));
    }
    let problem = Problem::new(
        "E402",
        "`array` is a path within the group: names with slashes between them",
    );
    checker.note(
        problem
            .label(span, "no such path")
            .help("array=\"labels/cells\", for instance, is the array `cells` of the group `labels`"),
    );
    None
}

/// Whole numbers, separated by commas; nothing where they are wrong.
fn index(values: &Values, checker: &mut Checker<'_>) -> Option<Arc<[u64]>> {
    let Some((text, span)) = values.text("index") else {
        return Some(Arc::default());
    };
    let numbers: Option<Vec<u64>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    match numbers.filter(|numbers| numbers.len() <= MAX_DIMENSIONS) {
        Some(numbers) => Some(numbers.into()),
        None => {
            let problem = Problem::new("E402", "`index` is whole numbers from 0 on, separated by commas");
            checker.note(problem.label(span, "not that").help(
                "index=\"3,0\", for instance, is the first element of the fourth, of an array of four dimensions",
            ));
            None
        }
    }
}

/// The numbers of the file that become 0 and M, if any; nothing where they are wrong.
fn range(values: &Values, checker: &mut Checker<'_>) -> Option<Option<(f64, f64)>> {
    let mut wrong = |message: &str, span: Span, label: &str, help: &str| {
        let problem = Problem::new("E507", message.to_owned());
        checker.note(problem.label(span, label.to_owned()).help(help.to_owned()));
    };
    let (low, high) = (values.span("low"), values.span("high"));
    let ends = match (low, high) {
        _ if values.broken => return Some(None),
        (None, None) => {
            if let Some(span) = values.span("unit") {
                wrong(
                    "`unit` stands with `low` and `high`",
                    span,
                    "a unit of nothing",
                    "low=\"0um\" high=\"80um\", for instance, are the heights that become 0 and M",
                );
                return None;
            }
            return Some(None);
        }
        (Some(low), Some(high)) => (low, high),
        (Some(span), None) | (None, Some(span)) => {
            wrong(
                "`low` and `high` stand together",
                span,
                "one of the two",
                "low is the number in the file that becomes 0, high the one that becomes M",
            );
            return None;
        }
    };
    let mut numbers = [0.0; 2];
    for (number, (name, span)) in numbers.iter_mut().zip([("low", ends.0), ("high", ends.1)]) {
        *number = match quantity(values, name, values.word("unit")) {
            Some(number) => number,
            None => {
                wrong(
                    "a height needs `unit`: the numbers of the file have none of their own",
                    span,
                    "a height",
                    "unit=\"um\" says that the numbers in the file are micrometres",
                );
                return None;
            }
        };
    }
    let [low, high] = numbers;
    let span = Span::new(ends.0.start.min(ends.1.start), ends.0.end.max(ends.1.end));
    if low.abs().max(high.abs()) > MAX_NUMBER {
        wrong(
            "`low` and `high` lie within −10^300 and 10^300",
            span,
            "here",
            "write smaller numbers",
        );
        return None;
    }
    if low == high {
        wrong(
            "`low` and `high` are the same number",
            span,
            "here",
            "write two different numbers; low may be above high",
        );
        return None;
    }
    Some(Some((low, high)))
}

/// A number of a file, given as such or as a length in its unit; nothing where it is not given, or is a length and there is no unit.
pub(super) fn quantity(values: &Values, name: &str, unit: Option<&str>) -> Option<f64> {
    match (values.real(name), values.fraction(name)) {
        (Some((number, _)), _) => Some(number),
        (None, Some((metres, _))) => in_units(metres, unit?),
        _ => None,
    }
}

/// So many metres in this unit, with one rounding where numerator and denominator are below 2^53.
fn in_units(metres: Ratio, unit: &str) -> Option<f64> {
    let (_, (above, below)) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let unit = Ratio::fraction(*above, below * 1_000_000_000_000);
    let (above, below) = metres.over(unit)?.terms();
    Some(above as f64 / below as f64)
}

/// Columns and rows of a picture in pixels of the canvas; nothing where they cannot be told, which has been noted.
fn own_size(values: &Values, checker: &mut Checker<'_>, known: Known) -> Option<[Ratio; 2]> {
    let size = [known.size.0, known.size.1].map(|side| Ratio::integer(side.into()));
    let Some(span) = values.span("pitch") else {
        // A wrong one has been noted.
        return Some(size);
    };
    let Some(pixel) = checker.pixel() else {
        let message = "the pitch of a picture needs the side of a pixel, which the canvas does not say";
        checker.note(
            Problem::new("E406", message)
                .label(span, "measured in metres")
                .help("add pixel=\"10um\" or dpi=1200 (or what it is) to the canvas"),
        );
        return None;
    };
    let pitch = match values.physical("pitch") {
        Some(pitch) => Some([pitch; 2]),
        None => known.pitch,
    };
    let Some(pitch) = pitch else {
        let message = "the image cannot be used: its file does not say the side of its pixels";
        checker.note(
            Problem::new("E505", message)
                .label(span, "asks the file")
                .help("write the side of its pixels, for instance pitch=\"7.3um\""),
        );
        return None;
    };
    let ratio = |length: Length| {
        let (above, below) = length.terms();
        Ratio::fraction(above.into(), below.into())
    };
    let scaled = |side: Ratio, pitch: Length| side.times(ratio(pitch).over(ratio(pixel))?);
    let own = scaled(size[0], pitch[0]).zip(scaled(size[1], pitch[1]));
    let sides = 1..=i128::from(MAX_SIDE);
    match own {
        Some((across, down)) if [across, down].iter().all(|side| sides.contains(&side.rounded())) => {
            Some([across, down])
        }
        _ => {
            let shown = |side: Option<Ratio>| side.map_or(f64::INFINITY, Ratio::real);
            let message = format!(
                "with this pitch the picture has {} × {} pixels of the canvas; sides are 1 to 2^40",
                shown(own.map(|own| own.0)),
                shown(own.map(|own| own.1))
            );
            let problem = Problem::new("E402", message).label(span, "out of range");
            checker.note(problem.help("compare the pitch with the `pixel` of the canvas"));
            None
        }
    }
}

/// side·by/from, rounded halves up: exactly for whole sides, unless a term does not fit.
fn scaled(side: f64, by: Ratio, from: Ratio) -> u64 {
    let whole = ((0.0..9e15).contains(&side) && side.fract() == 0.0).then(|| Ratio::integer(side as i128));
    let exact = whole.and_then(|side| side.times(by.over(from)?));
    match exact {
        Some(exact) => u64::try_from(exact.rounded()).unwrap_or(u64::MAX),
        None => (side * by.real() / from.real() + 0.5).floor() as u64,
    }
}

impl ImageDraft {
    /// The size that it has of itself.
    fn natural(&self) -> (u64, u64) {
        let side = |side: Ratio| u64::try_from(side.rounded()).unwrap_or(MAX_SIDE);
        (side(self.own[0]), side(self.own[1]))
    }

    /// Where the picture lies in a node of this size, and the sides that it has there. A side may be above 2^40.
    fn placed(&self, (width, height): (u64, u64)) -> ((i64, i64), (u64, u64)) {
        let [across, down] = self.own;
        let as_wide = || (width, scaled(width as f64, down, across).max(1));
        let as_high = || (scaled(height as f64, across, down).max(1), height);
        let is_wide = || {
            let (one, other) = (
                across.times(Ratio::integer(height.into())),
                down.times(Ratio::integer(width.into())),
            );
            match one.zip(other).and_then(|(one, other)| one.minus(other)) {
                Some(over) => !over.is_negative(),
                None => across.real() * height as f64 >= down.real() * width as f64,
            }
        };
        let node = (width, height);
        let sides = match self.fit {
            Fit::None => return ((0, 0), self.natural()),
            // A side that follows from the other one leaves nothing.
            _ if as_wide() == node || as_high() == node => return ((0, 0), node),
            Fit::Stretch => return ((0, 0), node),
            Fit::Contain if is_wide() => as_wide(),
            Fit::Contain => as_high(),
            Fit::Cover if is_wide() => as_high(),
            Fit::Cover => as_wide(),
        };
        let begin = |side: u64, own: u64| (side as i128 - own as i128).div_euclid(2) as i64;
        ((begin(width, sides.0), begin(height, sides.1)), sides)
    }
}

/// The most samples that one resampling makes one, along an axis.
const MAX_SHRINKAGE: u64 = 64;

impl IntoKind<Image> for ImageDraft {
    fn sized(&self, sizing: &mut Sizing<'_>) -> Option<Image> {
        let (_, (width, height)) = self.placed((sizing.size.width, sizing.size.height));
        if width.max(height) > MAX_SIDE {
            let message =
                format!("the picture would have {width} × {height} pixels here; sides are 1 to 2^40");
            let problem = Problem::new("E402", message).label(self.at, "this file");
            sizing.note(problem.help("fit=\"contain\" makes no side longer than that of the node"));
            return None;
        }
        Some(self.image.clone())
    }

    fn lower(&self, node: &mut Lowering<'_>) {
        if let Some((kind, children)) = self.resampled(node) {
            (node.kind, node.children) = (kind, children);
        }
    }
}

impl ImageDraft {
    /// The picture of other sides, or elsewhere, in other kinds. Nothing where it is as its file has it.
    fn resampled(&self, node: &mut Lowering<'_>) -> Option<(super::Kind, Vec<Child>)> {
        let (at, sides) = self.placed(node.size);
        let mut size = (self.image.width, self.image.height);
        if sides == size {
            if at == (0, 0) {
                return None;
            }
            let child = node.child(Role::Base, self.image.clone(), at, size, Vec::new())?;
            return Some((Compose.into(), vec![child]));
        }
        let mut child = node.child(Role::Source, self.image.clone(), (0, 0), size, Vec::new())?;
        loop {
            let kind = Resize {
                by: Resampling::default(),
                source: size,
                edge: Edge::Clamp,
            };
            let side = |own: u64, side: u64| side.max(own.div_ceil(MAX_SHRINKAGE));
            size = (side(size.0, sides.0), side(size.1, sides.1));
            if size != sides {
                child = node.child(Role::Source, kind, (0, 0), size, vec![child])?;
            } else if at == (0, 0) && sides == node.size {
                return Some((kind.into(), vec![child]));
            } else {
                let child = node.child(Role::Base, kind, at, sides, vec![child])?;
                return Some((Compose.into(), vec![child]));
            }
        }
    }
}
