//! `image`: a picture from a file.

use std::ops::ControlFlow;
use std::sync::Arc;

use relief_raster::{Depth, Rect};

use super::{Doubts, NaturalChild, NaturalSize, NodeKind, NodeSource, words};
use crate::draft::{Asset, Checker, Values};
use crate::pictures::ImageSource;
use crate::report::Problem;
use crate::seam::{Interval, Seam, Support};
use crate::signature::{DefaultExtent, DefaultValue, Signature, ValueType, optional, required};
use crate::syntax::Span;
use crate::tree::Role;
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
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Conversion {
    /// Which gray the colour becomes.
    pub gray: Gray,
    /// The numbers of the file that become 0 and M, two different finite ones; numbers between become
    /// M·(v − low) / (high − low), rounded half up, numbers beyond are clamped. Where it is missing, 0 becomes 0 and the
    /// greatest sample that the file can hold becomes M.
    pub range: Option<(f64, f64)>,
}

impl NodeKind for Image {
    type Draft = Self;

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
                ValueType::Real,
                DefaultValue::Absent("none"),
                "the number in the file that becomes 0, of magnitude up to 10^300",
            ),
            optional(
                "high",
                ValueType::Real,
                DefaultValue::Absent("none"),
                "the number in the file that becomes M; required with low",
            ),
        ],
        extent: DefaultExtent::Natural,
        example: "image \"logo.png\" x=\"2mm\" y=\"1mm\"",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self> {
        let conversion = conversion(source.values, checker);
        let (path, span) = source.values.text("file")?;
        let conversion = conversion?;
        let mut settings = vec![conversion.gray as u64];
        settings.extend(
            conversion
                .range
                .iter()
                .flat_map(|(low, high)| [low.to_bits(), high.to_bits()]),
        );
        let asset = Asset {
            kind: Self::SIGNATURE.name,
            path: path.to_owned(),
            settings,
        };
        let size = checker.asset_size(asset, span, |files| files.open(path, &conversion))?;
        match size {
            Ok((width, height)) => Some(Self {
                path: path.into(),
                conversion,
                width,
                height,
            }),
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

    fn natural_size(draft: &Self, _: &[NaturalChild]) -> NaturalSize {
        NaturalSize::of(draft.width, draft.height)
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

    fn doubt(draft: &Self, doubts: &mut Doubts<'_>) {
        let ((width, height), node) = (doubts.size, doubts.node);
        let cut = |given: bool, side: u64, own: u64| given && side < own;
        if cut(node.width.is_some() || doubts.is_root, width, draft.width)
            || cut(node.height.is_some() || doubts.is_root, height, draft.height)
        {
            let message = format!(
                "{width} × {height} pixels of the {} × {} of the picture show: a width or height crops it",
                draft.width, draft.height
            );
            let given = node.width.or(node.height).map_or(node.span, |given| given.span);
            let warning = Problem::new("W202", message).label(given, "the picture is cropped");
            doubts.warn(warning.help(
                "leave width and height out to show all of it; where it is to be cropped, put it into a `compose` of that size",
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

/// How the pixels become samples.
fn conversion(values: &Values, checker: &mut Checker<'_>) -> Option<Conversion> {
    // A wrong word has been noted; the file is looked at all the same.
    let gray = values.word("gray").and_then(Gray::of_word).unwrap_or_default();
    let range = match (values.real("low"), values.real("high")) {
        _ if values.broken => None,
        (None, None) => None,
        (Some((low, at)), Some((high, and))) => {
            let span = Span::new(at.start.min(and.start), at.end.max(and.end));
            let allowed = low.abs().max(high.abs()) <= MAX_NUMBER;
            if low == high || !allowed {
                let (message, help) = if allowed {
                    (
                        "`low` and `high` are the same number",
                        "write two different numbers; low may be above high",
                    )
                } else {
                    (
                        "`low` and `high` lie within −10^300 and 10^300",
                        "write smaller numbers",
                    )
                };
                checker.note(Problem::new("E507", message).label(span, "here").help(help));
                return None;
            }
            Some((low, high))
        }
        (Some((_, span)), None) | (None, Some((_, span))) => {
            let problem =
                Problem::new("E507", "`low` and `high` stand together").label(span, "one of the two");
            checker.note(
                problem.help("low is the number in the file that becomes 0, high the one that becomes M"),
            );
            return None;
        }
    };
    Some(Conversion { gray, range })
}
