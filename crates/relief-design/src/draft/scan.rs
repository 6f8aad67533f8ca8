//! The `scan` of a design: how a machine wants the raster.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

use super::Checker;
use super::values::Values;
use crate::report::Problem;
use crate::scan::{Bits, Halftone, Interleave, Packing, Passes, Quarters, Scan, ScanNode, Stripe, Swath};
use crate::signature::Signature;
use crate::syntax::{Element, Span};

impl Checker<'_> {
    /// The settings; all that is wrong with them is noted.
    pub(super) fn scan(&mut self, element: &Element<'_>) -> Option<ScanNode> {
        let signature = Signature::of("scan")?;
        let values = self.values(element, signature);
        let inner = self.inner(element, signature);
        let inside = |name| inner.parameter(name);
        let stripe = inside("stripe").and_then(|child| self.stripe(child));
        let swath = inside("swath").and_then(|child| self.swath(child));
        let overscan = inside("overscan").and_then(|child| self.overscan(child));
        let passes = inside("passes").and_then(|child| self.passes(child));
        let halftone = inside("halftone").and_then(|child| self.halftone(child));
        let material = inside("material").and_then(|child| self.table_file(child));
        let machine = inside("machine").and_then(|child| self.table_file(child));
        let shares = passes
            .as_ref()
            .is_some_and(|passes| matches!(passes, Passes::Share { count } if *count > 1));
        if let Some(span) = values.span("bits").filter(|_| values.choice("bits") == Some(1))
            && shares
            && inside("halftone").is_none()
            && inside("machine").is_none()
        {
            let problem = Problem::new(
                "E805",
                "shares of a sample never reach the threshold of lines of 1 bit: next to nothing would fire",
            );
            let passes = inside("passes").map_or(element.name.span, |child| child.name.span);
            self.note(
                problem
                    .label(passes, "a pass gets a part of the sample")
                    .label(span, "with a threshold of half of M")
                    .help("use `even` passes, or add a `halftone`, such as halftone \"blue-noise\""),
            );
        }
        Some(ScanNode {
            material,
            machine,
            scan: Scan {
                mirror: named(&values, "mirror"),
                rotate: match values.choice("rotate") {
                    Some(90) => Quarters::One,
                    Some(180) => Quarters::Two,
                    Some(270) => Quarters::Three,
                    _ => Quarters::None,
                },
                axis: named(&values, "axis"),
                start: named(&values, "start"),
                direction: named(&values, "direction"),
                interleave: count(&values, "interleave").map_or(Interleave::default(), Interleave),
                stripe,
                swath,
                overscan: overscan.unwrap_or_default(),
                passes: passes.unwrap_or_default(),
                halftone,
                packing: Packing {
                    bits: match values.choice("bits") {
                        Some(1) => Bits::One,
                        Some(16) => Bits::Sixteen,
                        _ => Bits::Eight,
                    },
                    bit_order: named(&values, "bit-order"),
                    byte_order: named(&values, "byte-order"),
                    polarity: named(&values, "polarity"),
                },
                run_length: values.word("encoding") == Some("runs"),
            },
        })
    }

    /// The path of a table, if its file can be used.
    fn table_file(&mut self, element: &Element<'_>) -> Option<Arc<str>> {
        let values = self.parameter_values(element)?;
        let (path, span) = values.text("file")?;
        if let Err(why) = self.images.table(path, self.depth) {
            let problem = Problem::new("E804", format!("the table cannot be used: {why}"));
            self.note(problem.label(span, "this file").help(
                "paths are relative to the folder of the design file; a table is JSON with a name and points or entries: \
                 {\"name\": \"steel\", \"points\": [[0, 0], [255, 200]]}",
            ));
            return None;
        }
        Some(path.into())
    }

    fn stripe(&mut self, element: &Element<'_>) -> Option<Stripe> {
        let values = self.parameter_values(element)?;
        let pixels = |name| values.pixels(name).map(i64::unsigned_abs);
        let (width, overlap) = (pixels("width")?, pixels("overlap")?);
        self.overlaps(element, &values, width, overlap)
            .then_some(Stripe { width, overlap })
    }

    fn swath(&mut self, element: &Element<'_>) -> Option<Swath> {
        let values = self.parameter_values(element)?;
        let (lines, overlap) = (count(&values, "lines")?, count(&values, "overlap")?);
        self.overlaps(element, &values, lines.into(), overlap.into())
            .then_some(Swath { lines, overlap })
    }

    /// Whether an overlap is less than what overlaps; if not, a problem says so.
    fn overlaps(&mut self, element: &Element<'_>, values: &Values, size: u64, overlap: u64) -> bool {
        if overlap < size {
            return true;
        }
        let message = format!(
            "an overlap of {overlap} leaves nothing of a {} of {size}",
            element.name.text
        );
        self.note(
            Problem::new("E803", message)
                .label(values.span("overlap").unwrap_or(element.name.span), "not less")
                .label(element.name.span, "of this")
                .help(format!("write an overlap below {size}")),
        );
        false
    }

    fn overscan(&mut self, element: &Element<'_>) -> Option<(u32, u32)> {
        let values = self.parameter_values(element)?;
        let pixels = |name| values.pixels(name).and_then(|pixels| u32::try_from(pixels).ok());
        Some((pixels("before")?, pixels("after")?))
    }

    fn passes(&mut self, element: &Element<'_>) -> Option<Passes> {
        let signature = Signature::of("passes")?;
        let values = self.values(element, signature);
        let inner = self.inner(element, signature);
        let slices: Vec<Option<u16>> = inner
            .parameters
            .iter()
            .map(|slice| self.parameter_values(slice)?.sample("level"))
            .collect();
        let kind = values.word("kind")?;
        if values.broken || inner.broken {
            return None;
        }
        let (needs_count, needs_exponent) = (matches!(kind, "even" | "share" | "curve"), kind == "curve");
        let given = |name| values.span(name);
        let good = [
            self.belongs(
                element,
                kind,
                ("the property `count`", "property `count`"),
                given("count"),
                needs_count,
            ),
            self.belongs(
                element,
                kind,
                ("the property `exponent`", "property `exponent`"),
                given("exponent"),
                needs_exponent,
            ),
            self.belongs(
                element,
                kind,
                ("a `slice` for each pass", "`slice`"),
                inner.parameters.first().map(|slice| slice.name.span),
                kind == "listed",
            ),
        ];
        if good.contains(&false) {
            return None;
        }
        let passes = count(&values, "count");
        Some(match kind {
            "even" => Passes::Even { count: passes? },
            "share" => Passes::Share { count: passes? },
            "curve" => Passes::Curve {
                count: passes?,
                exponent: values.real("exponent")?.0,
            },
            "listed" => Passes::Listed {
                thresholds: slices.into_iter().collect::<Option<_>>()?,
            },
            _ => Passes::One,
        })
    }

    fn halftone(&mut self, element: &Element<'_>) -> Option<Halftone> {
        let values = self.parameter_values(element)?;
        let kind = values.word("kind")?;
        let given = |name| values.span(name);
        let good = [
            self.belongs(
                element,
                kind,
                ("the property `level`", "property `level`"),
                given("level"),
                kind == "threshold",
            ),
            self.belongs(
                element,
                kind,
                ("the property `size`", "property `size`"),
                given("size"),
                kind == "bayer",
            ),
        ];
        if good.contains(&false) {
            return None;
        }
        Some(match kind {
            "threshold" => Halftone::Threshold {
                level: values.sample("level")?,
            },
            "bayer" => Halftone::Bayer {
                size: count(&values, "size")?,
            },
            "blue-noise" => Halftone::BlueNoise,
            _ => Halftone::FloydSteinberg,
        })
    }

    /// Whether a setting is given if and only if its kind needs it; if not, a problem says so.
    fn belongs(
        &mut self,
        element: &Element<'_>,
        kind: &str,
        (needs, takes): (&str, &str),
        given: Option<Span>,
        needed: bool,
    ) -> bool {
        let name = &element.name.text;
        let problem = match (given, needed) {
            (None, true) => Problem::new("E801", format!("`{name}` \"{kind}\" needs {needs}"))
                .label(element.name.span, "here")
                .help(format!("add {needs}, or choose another kind")),
            (Some(span), false) => Problem::new("E802", format!("`{name}` \"{kind}\" takes no {takes}"))
                .label(span, "not here")
                .label(element.name.span, "of this")
                .help("remove it, or choose another kind"),
            _ => return true,
        };
        self.note(problem);
        false
    }
}

/// A setting by its word; any one where the word is wrong.
fn named<'de, T: Deserialize<'de> + Default>(values: &Values, name: &str) -> T {
    let word = values.word(name).map(|word| {
        let word: StrDeserializer<'static, Error> = word.into_deserializer();
        T::deserialize(word)
    });
    word.and_then(Result::ok).unwrap_or_default()
}

fn count(values: &Values, name: &str) -> Option<u32> {
    values.choice(name).and_then(|count| u32::try_from(count).ok())
}
