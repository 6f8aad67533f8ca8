//! `text`: lines of letters of a font file.

use std::sync::Arc;

use relief_vector::{Refused, text};

use super::drawing::{ANTIALIAS, Drawn, ORIGIN, VALUE, antialias, at_origin, drawn, gray};
use super::{NodeKind, NodeSource, words};
use crate::draft::{Checker, MORE_MEMORY};
use crate::report::Problem;
use crate::signature::{DefaultExtent, DefaultValue, Signature, ValueType, optional, required};
use crate::visible;

/// A text.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// The outlines of its letters.
    pub drawn: Drawn,
}

/// Which length of the font the size is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Measure {
    #[default]
    Em,
    Cap,
}

words!(Measure { Em = "em", Cap = "cap" });

/// How lines lie within the widest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Align {
    #[default]
    Left,
    Centre,
    Right,
}

words!(Align {
    Left = "left",
    Centre = "centre",
    Right = "right",
});

impl NodeKind for Text {
    type Draft = Self;

    const SIGNATURE: Signature = Signature {
        name: "text",
        meaning: "Lines of letters of a font, as outlines at any size, with the kerning and the ligatures of the font.",
        details: include_str!("text.md"),
        arguments: &[required(
            "text",
            ValueType::Text,
            "the text; a line feed, written \\n, begins a line",
        )],
        properties: &[
            required(
                "font",
                ValueType::Path,
                "the path of an OpenType or TrueType file, relative to the design file",
            ),
            required(
                "size",
                ValueType::Dimension,
                "the size of the letters, not rounded",
            ),
            VALUE,
            optional(
                "measure",
                ValueType::Word(Measure::WORDS),
                DefaultValue::Word(Measure::Em.word()),
                "what the size is: the em, as in typesetting, or the height of capital letters",
            ),
            optional(
                "align",
                ValueType::Word(Align::WORDS),
                DefaultValue::Word(Align::Left.word()),
                "how lines lie within the widest",
            ),
            optional(
                "line-height",
                ValueType::Dimension,
                DefaultValue::Absent("that of the font"),
                "from line to line, not rounded",
            ),
            ORIGIN,
            ANTIALIAS,
        ],
        extent: DefaultExtent::Natural,
        example: "text \"No. 0042\" font=\"plate.ttf\" size=\"0.8mm\" measure=\"cap\" value=255",
        ..Signature::NODE
    };

    fn read(source: &NodeSource<'_, '_>, checker: &mut Checker<'_>) -> Option<Self> {
        let values = source.values;
        let (path, at) = values.text("font")?;
        let font = checker.font(path, at)?;
        let (letters, span) = values.text("text")?;
        let size = values.ratio("size")?.real();
        let value = gray(values.sample("value")?, checker.depth());
        if values.broken {
            return None;
        }
        let budget = checker.drawing_budget();
        let options = text::Options::sized(size).with(|with| {
            with.measure = match values
                .word("measure")
                .and_then(Measure::of_word)
                .unwrap_or_default()
            {
                Measure::Em => text::Measure::Em,
                Measure::Cap => text::Measure::Cap,
            };
            with.align = match values.word("align").and_then(Align::of_word).unwrap_or_default() {
                Align::Left => text::Align::Left,
                Align::Centre => text::Align::Centre,
                Align::Right => text::Align::Right,
            };
            with.line = values.ratio("line-height").map(|height| height.real());
            with.value = value;
            with.limits = budget.limits();
        });
        let drawing = match font.draw(letters, &options) {
            Ok(text) => {
                if !text.missing.is_empty() {
                    let characters: Vec<String> = text
                        .missing
                        .iter()
                        .take(8)
                        .map(|c| format!("{} (U+{:04X})", visible(&c.to_string()), u32::from(*c)))
                        .collect();
                    let message = format!("{} has no letter for {}", visible(path), characters.join(", "));
                    let warning = Problem::new("W210", message).label(span, "is left out");
                    checker.warn(warning.help("write other letters, or take a font that has them"));
                }
                text.drawing
            }
            Err(error) => {
                let message = format!("the text cannot be drawn with {}: {error}", visible(path));
                let problem = Problem::new("E510", message).label(at, "this font");
                let is_short = error.refused().is_some_and(|refused| refused.is_memory());
                let help = match error {
                    text::Error::Refused(Refused::Memory(_)) => MORE_MEMORY,
                    text::Error::NoCapitals => "leave measure=\"cap\" out, or take another font",
                    _ => "take another font, or write a smaller size",
                };
                checker.note(problem.help(help).short_of_memory(is_short));
                return None;
            }
        };
        budget.take(&drawing);
        Some(Self {
            drawn: Drawn {
                drawing: Arc::new(at_origin(values, drawing)),
                antialias: antialias(values),
            },
        })
    }

    drawn!();
}
