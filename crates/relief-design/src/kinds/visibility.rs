//! Whether a drawing shows, and whether its size can be the one that is meant.

use super::Doubts;
use super::layout::UNITS;
use crate::draft::What;
use crate::report::Problem;

/// The columns and rows of a node that something reaches over, as (left, top, right, bottom).
pub(crate) type Pixels = (i64, i64, i64, i64);

/// What the size of a drawing follows from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Measured {
    /// Lengths that the design says.
    Design,
    /// Numbers of a file that are so many metres; `unit` says how many.
    Unit(f64),
    /// Lengths of a file, by the side of a pixel.
    Pixel,
    /// Numbers of a file that are pixels, or are scaled to the node.
    File,
}

/// A drawing in its node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visibility {
    /// What it is called.
    pub(crate) noun: &'static str,
    /// Where it lies; nothing where it covers no place.
    pub(crate) pixels: Option<Pixels>,
    /// Its width and height in pixels, not rounded, where that is known.
    pub(crate) sides: Option<(f64, f64)>,
    pub(crate) measured: Measured,
    /// What to do where it covers no place.
    pub(crate) empty: &'static str,
}

/// How many times as large as the canvas a file is drawn by mistake: a unit of a file is 25 times another or 1 000 times.
const FAR_LARGER: f64 = 100.0;

/// The same of a shape: one may be made very large so that its edge is nearly straight.
const FAR_LARGER_SHAPE: f64 = 1_000.0;

impl Visibility {
    /// Notes where nothing shows, all of it is smaller than a pixel or far larger than the canvas, or it begins before the node does though
    /// nobody cut it.
    pub(crate) fn doubt(&self, doubts: &mut Doubts<'_>) {
        let warning = self.problem(doubts);
        if let Some(warning) = warning {
            doubts.warn(warning);
        }
    }

    fn problem(&self, doubts: &Doubts<'_>) -> Option<Problem> {
        let (noun, span) = (self.noun, doubts.node.span);
        let warning = |message: String, label: &'static str, help: String| {
            Problem::new("W211", message).label(span, label).help(help)
        };
        let shown = self.sides.map(|sides| size(sides, doubts));
        let side = |pixels: u64| pixels as f64;
        let canvas = (side(doubts.canvas.width), side(doubts.canvas.height));
        if let (Some((width, height)), Some(shown)) = (self.sides, &shown)
            && width < 1.0
            && height < 1.0
            && (width > 0.0 || height > 0.0)
        {
            let message = format!("the whole {noun} is smaller than a pixel: it has {shown}");
            return Some(warning(message, "smaller than a pixel", self.fitting(doubts)));
        }
        let Some((left, top, right, bottom)) = self.pixels else {
            let message = "nothing is drawn: no outline covers any place".to_owned();
            return Some(warning(message, "covers nothing", self.empty.to_owned()));
        };
        let (columns, rows) = doubts.size;
        let beyond = |start: i64, side: u64| i128::from(start) >= i128::from(side);
        let place =
            format!("it lies in the columns {left} to {right} and the rows {top} to {bottom} of the node");
        let is_file = self.measured != Measured::Design;
        // What has no width or no height covers nothing, and of a mesh no centre of a pixel.
        let is_empty = left >= right || top >= bottom;
        let far = if is_file { FAR_LARGER } else { FAR_LARGER_SHAPE };
        if let (Some((width, height)), Some(shown)) = (self.sides, &shown)
            && width >= far * canvas.0
            && height >= far * canvas.1
        {
            let message = format!(
                "the {noun} is far larger than the canvas: it has {shown}, the canvas {} × {}",
                canvas.0, canvas.1
            );
            return Some(warning(message, "hardly any of it shows", self.fitting(doubts)));
        }
        if is_empty || right <= 0 || bottom <= 0 || beyond(left, columns) || beyond(top, rows) {
            let has = match &shown {
                Some(shown) if is_file => format!("; it has {shown}"),
                _ => String::new(),
            };
            let message =
                format!("nothing of the {noun} shows: {place}, which has {columns} × {rows} pixels{has}");
            let is_too_large = self
                .sides
                .is_some_and(|sides| sides.0 > canvas.0 || sides.1 > canvas.1);
            let help = if is_too_large && matches!(self.measured, Measured::Unit(_)) {
                self.fitting(doubts)
            } else {
                let places = match self.measured {
                    Measured::File => "the file draws beside its own page: look at its viewBox",
                    _ => "places are those of the node, whose top-left is (0, 0)",
                };
                format!("{}{places}", begins_at_box(doubts))
            };
            return Some(warning(message, "lies outside", help));
        }
        let node = doubts.node;
        // What a file draws beside its own page is meant to be cut off.
        if self.measured != Measured::File
            && !doubts.is_root
            && ((left < 0 && node.width.is_none()) || (top < 0 && node.height.is_none()))
        {
            let message = format!("a part of the {noun} is cut off: {place}, which begins at 0");
            let help = format!(
                "{}a width and a height say that the rest is not meant to show",
                begins_at_box(doubts)
            );
            return Some(warning(message, "is cut off", help));
        }
        None
    }

    /// How it would have a size that fits the canvas.
    fn fitting(&self, doubts: &Doubts<'_>) -> String {
        let (sides, pixel) = (self.sides.unwrap_or_default(), doubts.canvas.pixel);
        let canvas = (doubts.canvas.width as f64, doubts.canvas.height as f64);
        let scaled = |by: f64| (sides.0 * by, sides.1 * by);
        match (self.measured, pixel) {
            (Measured::Unit(unit), Some(_)) => {
                let factor = |other: &str| super::layout::metres(other) / unit;
                // How many times as large as the canvas, or as small, whichever it is.
                let off = |by: f64| {
                    let (width, height) = scaled(by);
                    libm::log((width / canvas.0).max(height / canvas.1)).abs()
                };
                let nearest = UNITS
                    .iter()
                    .min_by(|a, b| off(factor(a)).total_cmp(&off(factor(b))));
                let Some(best) = nearest else {
                    return String::new();
                };
                let taken = format!("a number of the file is taken as {}", length(unit));
                if (factor(best) - 1.0).abs() < 1e-9 {
                    return format!("{taken}, and no unit fits better: look at the `pixel` of the canvas");
                }
                format!(
                    "{taken}; with unit=\"{best}\" the {} has {}",
                    self.noun,
                    size(scaled(factor(best)), doubts)
                )
            }
            (Measured::Pixel | Measured::File, Some(pixel)) => {
                let metres = pixel.to_metres();
                let needed = (sides.0 / canvas.0).max(sides.1 / canvas.1) * metres;
                let (text, side) = round_length(needed);
                let by = metres / side;
                let also = if self.measured == Measured::File {
                    "; with a width or a height it is scaled to its node"
                } else {
                    ""
                };
                format!(
                    "with pixel=\"{text}\" on the canvas it has {} pixels{also}",
                    pixels(scaled(by))
                )
            }
            (Measured::File, None) => "with a width or a height it is scaled to its node".to_owned(),
            _ => "write its lengths with the units that are meant, as size=\"3mm\"".to_owned(),
        }
    }
}

/// How a node begins at what is drawn, where it has a word for that.
fn begins_at_box(doubts: &Doubts<'_>) -> &'static str {
    let has_origin = match &doubts.node.what {
        What::Kind(kind) => kind
            .signature()
            .properties
            .iter()
            .any(|known| known.name == "origin"),
        _ => false,
    };
    if has_origin {
        "origin=\"box\" begins at what is drawn; "
    } else {
        ""
    }
}

/// Width and height, as lengths where the canvas says the side of a pixel, and in pixels.
fn size((width, height): (f64, f64), doubts: &Doubts<'_>) -> String {
    let pixels = format!("{} pixels", pixels((width, height)));
    match doubts.canvas.pixel {
        Some(pixel) => {
            let metres = pixel.to_metres();
            format!(
                "{} × {}, or {pixels}",
                length(width * metres),
                length(height * metres)
            )
        }
        None => pixels,
    }
}

fn pixels((width, height): (f64, f64)) -> String {
    format!("{} × {}", number(width), number(height))
}

/// A number of four digits or more, without zeros at the end.
fn number(value: f64) -> String {
    if value >= 1_000.0 {
        return format!("{value:.0}");
    }
    if value < 1e-9 {
        return if value > 0.0 {
            format!("{value:.1e}")
        } else {
            "0".to_owned()
        };
    }
    // Four digits, wherever they begin.
    let places = (3.0 - libm::floor(libm::log10(value))).clamp(0.0, 12.0) as usize;
    let text = format!("{value:.places$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A length in the unit in which it has few digits.
fn length(metres: f64) -> String {
    let (factor, unit) = match metres {
        0.0 => (1.0, "m"),
        metres if metres < 0.999_95e-9 => (1e12, "pm"),
        metres if metres < 0.999_95e-6 => (1e9, "nm"),
        metres if metres < 0.999_95e-3 => (1e6, "µm"),
        metres if metres < 0.999_95 => (1e3, "mm"),
        metres if metres < 0.999_95e3 => (1.0, "m"),
        _ => (1e-3, "km"),
    };
    format!("{} {unit}", number(metres * factor))
}

/// The least of 1, 2, 5, 10, 20, … of a unit that is not below a length, as a design writes it, and its metres.
fn round_length(metres: f64) -> (String, f64) {
    let mut best = ("1m".to_owned(), 1.0);
    for (unit, of) in [
        ("pm", 1e-12),
        ("nm", 1e-9),
        ("um", 1e-6),
        ("mm", 1e-3),
        ("m", 1.0),
    ] {
        for count in [1, 2, 5, 10, 20, 50, 100, 200, 500] {
            best = (format!("{count}{unit}"), f64::from(count) * of);
            if best.1 >= metres * (1.0 - 1e-9) {
                return best;
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_lengths_have_few_digits() {
        let cases = [
            (4_800_000.4, "4800000"),
            (1_234.6, "1235"),
            (25.4, "25.4"),
            (9.999_96, "10"),
            (0.0048, "0.0048"),
            (0.000_123_456, "0.0001235"),
            (3.2e-12, "3.2e-12"),
            (0.0, "0"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        let cases = [
            (4.8e-9, "4.8 nm"),
            (1e-9, "1 nm"),
            (0.0254, "25.4 mm"),
            (0.304_8, "304.8 mm"),
            (1_609.344, "1.609 km"),
            (0.0, "0 m"),
        ];
        for (metres, text) in cases {
            assert_eq!(length(metres), text);
        }
    }

    #[test]
    fn a_rounded_length_is_not_below_its_own() {
        assert_eq!(round_length(3.1e-6).0, "5um");
        assert_eq!(round_length(5e-6).0, "5um");
        assert_eq!(round_length(5.01e-7).0, "1um");
        assert_eq!(round_length(0.0).0, "1pm");
        assert_eq!(round_length(1e9).0, "500m");
    }
}
