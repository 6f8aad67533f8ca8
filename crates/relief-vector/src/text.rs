//! Text: lines of glyphs of a font that is a file.
//!
//! A line is shaped in whole font units; a point is scaled in binary64 and rounded once.

use kurbo::Affine;

pub use crate::font::Font;
use crate::limits::{Limits, Refused};
use crate::{Drawing, Rule, Sketch};

/// Which length of a font its size measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// The em, as in typesetting.
    #[default]
    Em,
    /// The height of its capital letters.
    Cap,
}

/// How lines lie within the widest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    /// They begin where it does.
    #[default]
    Left,
    /// Their middles are its middle.
    Centre,
    /// They end where it does.
    Right,
}

/// How a text is drawn. Lengths are in pixels.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The size of the letters.
    pub size: f64,
    /// What that is.
    pub measure: Measure,
    /// How lines lie.
    pub align: Align,
    /// From line to line; as the font says where `None`.
    pub line: Option<f64>,
    /// The gray, of 65 535.
    pub value: u16,
    /// How much it may hold.
    pub limits: Limits,
}

impl Options {
    /// Letters of this size, as far apart as their font says.
    #[must_use]
    pub fn sized(size: f64) -> Self {
        Self {
            size,
            measure: Measure::Em,
            align: Align::Left,
            line: None,
            value: u16::MAX,
            limits: Limits::default(),
        }
    }

    /// Changed in place.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// A drawn text.
#[derive(Debug)]
pub struct Text {
    /// The outlines. The top of the first line lies at 0: its ascent, or the top of its capital letters where those are measured.
    pub drawing: Drawing,
    /// Characters that the font has no glyph for, each once; nothing is drawn for them.
    pub missing: Vec<char>,
}

/// Why a text cannot be drawn.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The bytes are no font.
    #[error("it is no font that is read: OpenType and TrueType with outlines are")]
    NotAFont,
    /// The font does not say how high its capital letters are.
    #[error("the font does not say how high its capital letters are")]
    NoCapitals,
    /// A table is missing, or reaches beyond the file.
    #[error("the font is damaged: its table `{table}` {what}")]
    Table {
        /// Its name.
        table: String,
        /// What is wrong with it.
        what: String,
    },
    /// A glyph cannot be drawn, or the characters cannot be shaped.
    #[error("the font is damaged: {0}")]
    Damaged(String),
    /// Too large, or too far out.
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl Error {
    /// The limit that was passed, where one was.
    #[must_use]
    pub const fn refused(&self) -> Option<Refused> {
        match self {
            Self::Refused(refused) => Some(*refused),
            _ => None,
        }
    }
}

impl Font {
    /// Draws lines, which are separated by line feeds.
    ///
    /// # Errors
    /// Where the font is damaged, does not say what is measured, or the text is too large.
    pub fn draw(&self, text: &str, options: &Options) -> Result<Text, Error> {
        let (unit, top) = match options.measure {
            Measure::Em => (self.metrics.em, self.metrics.ascent),
            Measure::Cap => {
                let cap = self.metrics.cap.ok_or(Error::NoCapitals)?;
                (cap, cap)
            }
        };
        let mut missing = Vec::new();
        let lines: Vec<Line> = text
            .split('\n')
            .map(|line| self.line(line.trim_end_matches('\r'), &mut missing))
            .collect::<Result<_, _>>()?;
        let widest = lines.iter().map(|line| line.width).max().unwrap_or(0);
        // Lengths of the font times this are pixels.
        let scale = options.size / unit;
        let down = options.line.unwrap_or(self.metrics.line * scale);
        let outlines = self.outlines()?;
        let mut sketch = Sketch::new(options.limits);
        for (number, line) in lines.iter().enumerate() {
            let free = (widest - line.width) as f64;
            let left = match options.align {
                Align::Left => 0.0,
                Align::Centre => free / 2.0,
                Align::Right => free,
            };
            let baseline = top * scale + number as f64 * down;
            for glyph in &line.glyphs {
                let path = outlines.of(glyph.id)?;
                if path.elements().is_empty() {
                    continue;
                }
                let (x, y) = (left + glyph.x as f64, glyph.y as f64);
                let placed = Affine::new([scale, 0.0, 0.0, -scale, x * scale, baseline - y * scale]);
                sketch.fill(&path, placed, options.value, Rule::NonZero)?;
            }
        }
        Ok(Text {
            drawing: sketch.finish(),
            missing,
        })
    }

    /// The glyphs of a line and where they stand, in font units.
    fn line(&self, text: &str, missing: &mut Vec<char>) -> Result<Line, Error> {
        let mut line = Line::default();
        for glyph in self.shape(text, true)? {
            if glyph.id == 0 {
                let character = text.get(glyph.cluster..).and_then(|rest| rest.chars().next());
                if let Some(character) = character
                    && !missing.contains(&character)
                {
                    missing.push(character);
                }
                continue;
            }
            line.glyphs.push(Placed {
                id: glyph.id,
                x: line.width + glyph.x_offset,
                y: glyph.y_offset,
            });
            line.width += glyph.advance;
        }
        Ok(line)
    }
}

#[derive(Debug, Default)]
struct Line {
    glyphs: Vec<Placed>,
    width: i64,
}

#[derive(Clone, Copy, Debug)]
struct Placed {
    id: u32,
    x: i64,
    y: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn font() -> Font {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../examples/plate/FredokaOne-Regular.ttf"
        );
        Font::parse(std::fs::read(path).unwrap()).unwrap()
    }

    /// A pixel being a font unit.
    fn units() -> Options {
        Options::sized(1_000.0)
    }

    /// The box around a drawing in pixels, and its area by its outlines.
    fn measured(drawing: &Drawing) -> ([f64; 4], f64) {
        let (left, top, right, bottom) = drawing.bounds().unwrap();
        let pixels = |n: i64| n as f64 / 256.0;
        let mut twice = 0;
        for element in &drawing.cells()[0].elements {
            for number in element.outlines.clone() {
                let outline = drawing.outline(number);
                let next = outline.iter().cycle().skip(1);
                twice += outline
                    .iter()
                    .zip(next)
                    .map(|(a, b)| i128::from(a.0) * i128::from(b.1) - i128::from(a.1) * i128::from(b.0))
                    .sum::<i128>();
            }
        }
        let bounds = [pixels(left), pixels(top), pixels(right), pixels(bottom)];
        (bounds, twice.unsigned_abs() as f64 / 2.0 / 65_536.0)
    }

    #[test]
    fn letters_stand_where_harfbuzz_puts_them_and_look_as_the_font_says() {
        let font = font();
        let mut seen = 0;
        for line in include_str!("../tests/text/letters.expected").lines() {
            let [text, _, bounds, area] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
            let bounds: Vec<f64> = bounds.split(' ').map(|side| side.parse().unwrap()).collect();
            let drawn = font.draw(text, &units()).unwrap();
            assert_eq!(drawn.missing, []);
            let (found, found_area) = measured(&drawn.drawing);
            // y points up in the font; chords lie within 1/16 px of the curves.
            let expected = [
                bounds[0],
                font.metrics.ascent - bounds[3],
                bounds[2],
                font.metrics.ascent - bounds[1],
            ];
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() <= 0.07, "{text}: {found} for {expected}");
            }
            let area: f64 = area.parse().unwrap();
            assert!(
                (found_area - area).abs() <= area / 2_000.0,
                "{text}: {found_area} for {area}"
            );
            seen += 1;
        }
        assert_eq!(seen, 6);
    }

    #[test]
    fn a_text_of_another_size_is_the_same_one() {
        let font = font();
        let height = |size: f64, measure: Measure| {
            let options = Options::sized(size).with(|with| with.measure = measure);
            measured(&font.draw("HI", &options).unwrap().drawing).0
        };
        let (small, large) = (height(40.0, Measure::Em), height(4_000.0, Measure::Em));
        for (small, large) in small.iter().zip(large) {
            assert!((small - large / 100.0).abs() <= 1.0 / 256.0);
        }
        // Capital letters of this font are 733 of 1000 high.
        let capitals = height(733.0, Measure::Cap);
        let em = height(1_000.0, Measure::Em);
        assert_eq!((capitals[0], capitals[2]), (em[0], em[2]));
        assert_eq!(capitals[1] - em[1], 733.0 - font.metrics.ascent);
    }

    #[test]
    fn lines_lie_as_they_are_aligned() {
        let font = font();
        let bounds = |align: Align| {
            let options = units().with(|with| {
                with.align = align;
                with.line = Some(2_000.0);
            });
            let drawn = font.draw("AVATAR\nA", &options).unwrap().drawing;
            let element = drawn.cells()[0].elements.last().unwrap().clone();
            let points = element.outlines.flat_map(|number| drawn.outline(number).to_vec());
            let (mut left, mut right, mut top) = (i64::MAX, i64::MIN, i64::MAX);
            for (x, y) in points {
                (left, right, top) = (left.min(x), right.max(x), top.min(y));
            }
            (left / 256, right / 256, top / 256)
        };
        let [left, centre, right] = [Align::Left, Align::Centre, Align::Right].map(bounds);
        let one = measured(&font.draw("A", &units()).unwrap().drawing).0;
        assert_eq!(left.0, one[0] as i64);
        assert_eq!(left.2, 2_000 + one[1] as i64);
        assert!((centre.0 - (left.0 + right.0) / 2).abs() <= 1 && left.0 < centre.0);
        // As far from the end of the widest line, 3803 units, as alone from its own.
        assert_eq!(right.1 - right.0, left.1 - left.0);
        assert!(right.1 < 3_803 && right.1 > 3_700, "{}", right.1);
    }

    #[test]
    fn characters_that_the_font_has_not_are_told() {
        let drawn = font().draw("a漢字漢", &units()).unwrap();
        assert_eq!(drawn.missing, ['漢', '字']);
        assert_eq!(
            drawn.drawing.bounds(),
            font().draw("a", &units()).unwrap().drawing.bounds()
        );
        assert_eq!(font().draw("\n", &units()).unwrap().drawing.bounds(), None);
    }

    #[test]
    fn what_is_no_font_or_too_large_is_refused() {
        assert_eq!(Font::parse(b"no font".to_vec()).err(), Some(Error::NotAFont));
        assert_eq!(Font::parse(Vec::new()).err(), Some(Error::NotAFont));
        let huge = font().draw("A", &Options::sized(1e15));
        assert!(matches!(huge, Err(Error::Refused(Refused::Far(..)))));
        let few = units().with(|with| with.limits.points = 20);
        assert!(matches!(
            font().draw("AVATAR", &few),
            Err(Error::Refused(Refused::Points(20)))
        ));
        // A damaged file is drawn or refused.
        let bytes = std::fs::read(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../examples/plate/FredokaOne-Regular.ttf"
        ))
        .unwrap();
        for at in (0..bytes.len()).step_by(997) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xA5;
            if let Ok(font) = Font::parse(damaged) {
                let _ = font.draw("Waffle\n42", &units());
            }
        }
    }

    fn file() -> Vec<u8> {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../examples/plate/FredokaOne-Regular.ttf"
        );
        std::fs::read(path).unwrap()
    }

    /// Where the entry of a table stands in the list of them: its name, a sum, where it begins and its length.
    fn entry(font: &[u8], table: &[u8; 4]) -> usize {
        let mut entries = (0..usize::from(font[5])).map(|number| 12 + 16 * number);
        entries.find(|at| &font[*at..*at + 4] == table).unwrap()
    }

    #[test]
    fn a_font_that_is_cut_short_anywhere_is_refused() {
        let whole = file();
        let number = |at: usize| u32::from_be_bytes(whole[at..at + 4].try_into().unwrap()) as usize;
        let tables = (0..usize::from(whole[5])).map(|number| 12 + 16 * number);
        let end = tables.map(|at| number(at + 8) + number(at + 12)).max().unwrap();
        let lengths = (0..600).chain((600..end).step_by(331)).chain([end - 1]);
        for length in lengths {
            let refused = Font::parse(whole[..length].to_vec());
            let is_told = matches!(
                refused,
                Err(Error::NotAFont | Error::Table { .. } | Error::Damaged(_))
            );
            assert!(is_told, "{length} of {end} bytes: {refused:?}");
        }
        assert!(Font::parse(whole[..end].to_vec()).is_ok());
        // The table is named.
        let error = Font::parse(whole[..end - 1].to_vec()).unwrap_err().to_string();
        assert!(
            error.contains(&format!("reaches to byte {end} of a file of {}", end - 1)),
            "{error}"
        );
    }

    #[test]
    fn a_font_without_a_table_that_it_needs_is_refused_with_its_name() {
        for table in [b"cmap", b"glyf", b"loca", b"head", b"hhea", b"hmtx", b"maxp"] {
            let name = std::str::from_utf8(table).unwrap();
            let mut font = file();
            let at = entry(&font, table);
            font[at..at + 4].copy_from_slice(b"none");
            let error = Font::parse(font).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("the font is damaged: its table `{name}` is missing")
            );
            // As long as a few numbers.
            let mut font = file();
            font[at + 12..at + 16].copy_from_slice(&3_u32.to_be_bytes());
            let error = Font::parse(font).unwrap_err().to_string();
            // That of outlines is measured by the list of their places.
            let named = if table == b"glyf" { "loca" } else { name };
            assert!(
                error.starts_with(&format!("the font is damaged: its table `{named}` ")),
                "{error}"
            );
        }
        // What a text can do without.
        for table in [b"GPOS", b"GSUB", b"post"] {
            let mut font = file();
            let at = entry(&font, table);
            font[at..at + 4].copy_from_slice(b"none");
            assert!(Font::parse(font).unwrap().draw("A", &units()).is_ok());
        }
    }
}
