//! The `scan` of a design: how a machine wants the raster.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

use relief_raster::Length;

use super::Checker;
use super::values::Values;
use crate::report::Problem;
use crate::scan::{
    AskedScreen, Bits, Gcode, Halftone, Interleave, Packing, PassAxes, Passes, Quarters, Scan, ScanNode,
    Screen, Stripe, Swath, Sweep, Zone,
};
use crate::signature::Signature;
use crate::syntax::{Element, Span};

/// The most pixels that lines are moved by.
const MAX_RETURN_OFFSET: f64 = 65_536.0;

/// The most passes.
const MAX_PASSES: u32 = 1 << 16;

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
        let gcode = inside("gcode").and_then(|child| self.gcode(child));
        let shares = passes
            .as_ref()
            .is_some_and(|(passes, _)| matches!(passes, Passes::Share { count } if *count > 1));
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
        let return_offset = self.return_offset(&values);
        Some(ScanNode {
            material,
            machine,
            gcode,
            asked_screen: halftone.and_then(|(_, asked)| asked),
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
                return_offset,
                interleave: count(&values, "interleave").map_or(Interleave::default(), Interleave),
                stripe,
                swath,
                overscan: overscan.unwrap_or_default(),
                pass_axes: passes.as_ref().map_or(PassAxes::Same, |(_, axes)| *axes),
                passes: passes.map_or(Passes::One, |(passes, _)| passes),
                halftone: halftone.map(|(halftone, _)| halftone),
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

    /// What lines that run backwards are moved by, in 256ths of a pixel.
    fn return_offset(&mut self, values: &Values) -> i32 {
        let Some((pixels, span)) = values.real("return-offset") else {
            return 0;
        };
        if pixels.abs() > MAX_RETURN_OFFSET {
            self.note(
                Problem::new("E402", format!("lines cannot be moved by {pixels} pixels"))
                    .label(span, "out of range")
                    .help(format!(
                        "write an offset of −{MAX_RETURN_OFFSET} to {MAX_RETURN_OFFSET} pixels"
                    )),
            );
            return 0;
        }
        // At most 2^24.
        (pixels * 256.0).round() as i32
    }

    /// How lines become G-code.
    fn gcode(&mut self, element: &Element<'_>) -> Option<Gcode> {
        let signature = Signature::of("gcode")?;
        let values = self.values(element, signature);
        let inner = self.inner(element, signature);
        if self.pixel.is_none() && !self.pixel_is_wrong {
            self.without_pixel("G-code moves in millimetres", element.name.span);
        }
        let mut zones: Vec<(Zone, Span)> = Vec::new();
        for child in &inner.parameters {
            let Some(zone) = self.zone(child) else { continue };
            let shares = |(other, _): &&(Zone, Span)| {
                zone.rows.start < other.rows.end && other.rows.start < zone.rows.end
            };
            if let Some((_, first)) = zones.iter().find(shares) {
                self.note(
                    Problem::new("E807", "two zones share rows, so that these have two feeds")
                        .label(child.name.span, "this one")
                        .label(*first, "and this one")
                        .help("end one of them where the other begins"),
                );
                continue;
            }
            zones.push((zone, child.name.span));
        }
        zones.sort_by_key(|(zone, _)| zone.rows.start);
        let sweep: Sweep = named(&values, "sweep");
        let gap = values.pixels("gap").zip(values.span("gap"));
        if let Some((_, span)) = gap.filter(|_| sweep == Sweep::Full) {
            self.note(
                Problem::new(
                    "E802",
                    "`gcode` with sweep=\"full\" takes no property `gap`: it runs over all of a line",
                )
                .label(span, "not here")
                .label(element.name.span, "of this")
                .help("remove it, or write sweep=\"segments\""),
            );
        }
        Some(Gcode {
            dialect: named(&values, "dialect"),
            feed: values.physical("feed")?,
            s_max: count(&values, "s-max")?,
            laser: named(&values, "laser"),
            origin: named(&values, "origin"),
            sweep,
            gap: gap.map(|(pixels, _)| pixels.unsigned_abs()),
            baud: count(&values, "baud")?,
            zones: zones.into_iter().map(|(zone, _)| zone).collect(),
        })
    }

    fn zone(&mut self, element: &Element<'_>) -> Option<Zone> {
        let values = self.parameter_values(element)?;
        let row = |name| values.pixels(name).map(i64::unsigned_abs);
        let (from, to, feed) = (row("from")?, row("to")?, values.physical("feed")?);
        let height = self.canvas.as_ref().map_or(u64::MAX, |canvas| canvas.height);
        if from >= to || to > height {
            let problem = if from >= to {
                format!("the zone from row {from} to row {to} has no row")
            } else {
                format!("the zone ends at row {to}, and the canvas has {height} rows")
            };
            self.note(
                Problem::new("E807", problem)
                    .label(values.span("to").unwrap_or(element.name.span), "here")
                    .help(format!(
                        "write to={} to {height}",
                        from.saturating_add(1).min(height)
                    )),
            );
            return None;
        }
        Some(Zone { rows: from..to, feed })
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

    fn passes(&mut self, element: &Element<'_>) -> Option<(Passes, PassAxes)> {
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
        let by_step = kind == "even" && values.span("step").is_some();
        let needs_count = matches!(kind, "even" | "share" | "curve") && !by_step;
        let given = |name| values.span(name);
        let good = [
            self.belongs(
                (&element.name.text, element.name.span),
                kind,
                if kind == "even" {
                    (
                        "the property `count`, or `step`",
                        "property `count` beside `step`",
                    )
                } else {
                    ("the property `count`", "property `count`")
                },
                given("count"),
                needs_count,
            ),
            self.belongs(
                (&element.name.text, element.name.span),
                kind,
                ("the property `step`", "property `step`"),
                given("step"),
                by_step,
            ),
            self.belongs(
                (&element.name.text, element.name.span),
                kind,
                ("the property `exponent`", "property `exponent`"),
                given("exponent"),
                kind == "curve",
            ),
            self.belongs(
                (&element.name.text, element.name.span),
                kind,
                ("a `slice` for each pass", "`slice`"),
                inner.parameters.first().map(|slice| slice.name.span),
                kind == "listed",
            ),
        ];
        if good.contains(&false) {
            return None;
        }
        let passes = match values.physical("step").zip(values.span("step")) {
            Some((step, span)) => Some(self.steps(step, span)?),
            None => count(&values, "count"),
        };
        let made = match kind {
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
        };
        Some((made, named(&values, "axes")))
    }

    /// The passes of at most so much that an amplitude takes: ⌈amplitude / step⌉.
    fn steps(&mut self, step: Length, span: Span) -> Option<u32> {
        let Some(amplitude) = self.amplitude else {
            // It would be right if the amplitude were.
            if !self.amplitude_is_wrong {
                let mut problem = Problem::new(
                    "E408",
                    "steps of a height are counted within the amplitude, which the canvas does not say",
                )
                .label(span, "a height");
                if let Some(canvas) = self.canvas_span {
                    problem = problem.label(canvas, "`amplitude` is missing here");
                }
                self.note(problem.help(
                    "add amplitude=\"80um\" (or what it is) to the canvas, or give the number of passes as `count`",
                ));
            }
            return None;
        };
        let ((above, below), (step_above, step_below)) = (amplitude.terms(), step.terms());
        let (whole, part) = (
            u128::from(above) * u128::from(step_below),
            u128::from(below) * u128::from(step_above),
        );
        let passes = whole.div_ceil(part);
        if passes > u128::from(MAX_PASSES) {
            self.note(
                Problem::new(
                    "E402",
                    format!("steps of {step} in an amplitude of {amplitude} are {passes} passes; {MAX_PASSES} are possible"),
                )
                .label(span, "too small")
                .help("write a greater step"),
            );
            return None;
        }
        u32::try_from(passes).ok()
    }

    fn halftone(&mut self, element: &Element<'_>) -> Option<(Halftone, Option<AskedScreen>)> {
        let values = self.parameter_values(element)?;
        self.halftone_of((&element.name.text, element.name.span), &values)
    }

    /// The halftone that the values of this word say, where it stands here.
    pub(crate) fn halftone_of(
        &mut self,
        word: (&str, Span),
        values: &Values,
    ) -> Option<(Halftone, Option<AskedScreen>)> {
        let kind = values.word("kind")?;
        let (is_screen, diffuses) = (
            kind == "screen",
            matches!(kind, "floyd-steinberg" | "jarvis" | "stucki" | "atkinson"),
        );
        let is_matrix = matches!(kind, "bayer" | "blue-noise");
        let mut good = true;
        for (name, needs, needed) in [
            ("level", "the property `level`", kind == "threshold"),
            ("frequency", "the property `frequency`", is_screen),
        ] {
            let takes = format!("property `{name}`");
            good &= self.belongs(word, kind, (needs, &takes), values.span(name), needed);
        }
        if kind == "bayer" {
            let needs = ("the property `size`", "property `size`");
            good &= self.belongs(word, kind, needs, values.span("size"), true);
        }
        for (name, takes) in [
            ("size", is_matrix),
            ("spot", is_matrix),
            ("angle", is_screen),
            ("dot", is_screen),
            ("direction", diffuses),
        ] {
            // What is given where it need not be belongs to its kind.
            let given = values.span(name).filter(|_| !takes);
            if given.is_some() {
                let says = format!("property `{name}`");
                good &= self.belongs(word, kind, ("", &says), given, false);
            }
        }
        if let (true, Some(size), Some(span)) = (is_matrix, count(values, "size"), values.span("size"))
            && (size > 16) != (kind == "blue-noise")
        {
            let sizes = if kind == "bayer" {
                "2, 4, 8 or 16"
            } else {
                "64 or 256"
            };
            self.note(
                Problem::new(
                    "E402",
                    format!("`{}` \"{kind}\" has no matrix of {size} × {size}", word.0),
                )
                .label(span, "not this")
                .help(format!("write a size of {sizes}")),
            );
            good = false;
        }
        if !good {
            return None;
        }
        let serpentine = values.word("direction") == Some("serpentine");
        let spot = values
            .pixels("spot")
            .map_or(Some(1), |pixels| u32::try_from(pixels).ok())?;
        let ready = match kind {
            "threshold" => Halftone::Threshold {
                level: values.sample("level")?,
            },
            "bayer" => Halftone::Bayer {
                size: count(values, "size")?,
                spot,
            },
            "blue-noise" => Halftone::BlueNoise {
                size: count(values, "size").unwrap_or(64),
                spot,
            },
            "screen" => return self.screen(word.1, values),
            "jarvis" => Halftone::Jarvis { serpentine },
            "stucki" => Halftone::Stucki { serpentine },
            "atkinson" => Halftone::Atkinson { serpentine },
            _ => Halftone::FloydSteinberg { serpentine },
        };
        Some((ready, None))
    }

    /// Dots of a frequency.
    fn screen(&mut self, here: Span, values: &Values) -> Option<(Halftone, Option<AskedScreen>)> {
        let (frequency, span) = values.real("frequency")?;
        let degrees = values.real("angle").map_or(45.0, |(degrees, _)| degrees);
        let Some(pixel) = self.pixel else {
            if !self.pixel_is_wrong {
                self.without_pixel("a screen has dots in an inch", here);
            }
            return None;
        };
        let Some(screen) = Screen::near(frequency, degrees, named(values, "dot"), pixel) else {
            let pitch = 1.0 / (frequency * pixel.to_metres());
            self.note(
                Problem::new(
                    "E808",
                    format!("the dots of this screen are {pitch:.3} pixels apart; 2 to 512 are possible"),
                )
                .label(span, if pitch < 2.0 { "too fine" } else { "too coarse" })
                .help(format!(
                    "with these pixels, write a frequency of {:.4} to {:.4} lpi",
                    0.0254 / pixel.to_metres() / 512.0,
                    0.0254 / pixel.to_metres() / 2.0
                )),
            );
            return None;
        };
        Some((Halftone::Screen(screen), Some(AskedScreen { frequency, degrees })))
    }

    /// Says that the canvas does not say how large a pixel is.
    fn without_pixel(&mut self, what: &str, span: Span) {
        let message = format!("{what}, and the canvas does not say how large a pixel is");
        let mut problem = Problem::new("E806", message).label(span, "here");
        if let Some(canvas) = self.canvas_span {
            problem = problem.label(canvas, "`pixel` is missing here");
        }
        self.note(problem.help("add pixel=\"0.1mm\" (or what it is) to the canvas"));
    }

    /// Whether a setting is given if and only if its kind needs it; if not, a problem says so.
    pub(crate) fn belongs(
        &mut self,
        (name, here): (&str, Span),
        kind: &str,
        (needs, takes): (&str, &str),
        given: Option<Span>,
        needed: bool,
    ) -> bool {
        let problem = match (given, needed) {
            (None, true) => Problem::new("E801", format!("`{name}` \"{kind}\" needs {needs}"))
                .label(here, "here")
                .help(format!("add {needs}, or choose another kind")),
            (Some(span), false) => Problem::new("E802", format!("`{name}` \"{kind}\" takes no {takes}"))
                .label(span, "not here")
                .label(here, "of this")
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
