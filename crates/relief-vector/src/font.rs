//! A font that is a file: what it is called, how its characters are shaped, and the outlines of its glyphs.
//!
//! Glyphs are chosen and placed by HarfBuzz's rules (`harfrust`), with the kerning and the ligatures of the font, and outlined without hints
//! (`skrifa`). Both count in whole font units, so that a text has the same shape at every size. No font of the system is looked at.

use std::sync::Arc;

use harfrust::{Buffer, Feature, ShapeOptions, ShaperFont, Tag};
use kurbo::BezPath;
use skrifa::attribute::Style;
use skrifa::bitmap::{BitmapFormat, BitmapStrikes};
use skrifa::instance::{LocationRef, Size};
use skrifa::outline::{DrawSettings, OutlinePen};
use skrifa::raw::TableProvider as _;
use skrifa::raw::tables::svg::Svg;
use skrifa::string::StringId;
use skrifa::{FontRef, GlyphId, MetadataProvider};

use crate::text::Error;

/// A font, read.
pub struct Font {
    bytes: Arc<Vec<u8>>,
    shapes: harfrust::Font,
    pub(crate) metrics: Metrics,
    families: Vec<String>,
    /// From 1 to 1 000; 400 is regular, 700 is bold.
    pub(crate) weight: f32,
    pub(crate) is_slanted: bool,
}

/// Family names that a font may have, and characters of each.
const MAX_FAMILIES: usize = 64;
const MAX_NAME: usize = 256;

impl std::fmt::Debug for Font {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Font")
            .field("bytes", &self.bytes.len())
            .field("families", &self.families)
            .field("weight", &self.weight)
            .field("is_slanted", &self.is_slanted)
            .field("metrics", &self.metrics)
            .finish_non_exhaustive()
    }
}

/// In font units, y up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metrics {
    pub(crate) em: f64,
    pub(crate) ascent: f64,
    /// Below the baseline, so 0 or less.
    pub(crate) descent: f64,
    /// From line to line.
    pub(crate) line: f64,
    pub(crate) cap: Option<f64>,
    pub(crate) x_height: Option<f64>,
}

/// A glyph of a shaped line. Lengths are in font units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Glyph {
    /// 0 where the font has none for the character.
    pub(crate) id: u32,
    /// The byte at which the characters begin that it stands for.
    pub(crate) cluster: usize,
    pub(crate) x_offset: i64,
    pub(crate) y_offset: i64,
    pub(crate) advance: i64,
}

impl Font {
    /// Reads a font; of a collection the first. The bytes are held, not copied.
    ///
    /// # Errors
    /// Where the bytes are no OpenType or TrueType font with outlines, where a table reaches beyond them, and where one that every text needs
    /// is missing or too short.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, Error> {
        let font = FontRef::from_index(&bytes, 0).map_err(|_| Error::NotAFont)?;
        tables(&font, bytes.len())?;
        let bytes = Arc::new(bytes);
        let shared: Arc<dyn AsRef<[u8]> + Send + Sync> = bytes.clone();
        let shapes = harfrust::Font::new(harfrust::font::Blob::from(shared), 0).ok_or(Error::NotAFont)?;
        let font = FontRef::from_index(&bytes, 0).map_err(|_| Error::NotAFont)?;
        if font.outline_glyphs().format().is_none() {
            return Err(Error::NotAFont);
        }
        let metrics = font.metrics(Size::unscaled(), LocationRef::default());
        if metrics.units_per_em == 0 {
            return Err(Error::NotAFont);
        }
        let positive = |value: f32| (value.is_finite() && value > 0.0).then_some(f64::from(value));
        let em = f64::from(metrics.units_per_em);
        let line = positive(metrics.ascent - metrics.descent + metrics.leading);
        let attributes = font.attributes();
        let metrics = Metrics {
            em,
            ascent: f64::from(metrics.ascent),
            descent: f64::from(metrics.descent),
            line: line.unwrap_or(em),
            cap: metrics.cap_height.and_then(positive),
            x_height: metrics.x_height.and_then(positive),
        };
        let (families, is_slanted) = (families(&font), attributes.style != Style::Normal);
        Ok(Self {
            bytes,
            shapes,
            metrics,
            families,
            weight: attributes.weight.value(),
            is_slanted,
        })
    }

    /// The file that it was read from.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The name of its family, where it has one.
    #[must_use]
    pub fn family(&self) -> Option<&str> {
        self.families.first().map(String::as_str)
    }

    /// Whether it is of a family, in any of the languages in which the font says its name; capital letters do not matter.
    pub(crate) fn is_of(&self, family: &str) -> bool {
        let family = family.to_lowercase();
        self.families.iter().any(|own| own.to_lowercase() == family)
    }

    /// The glyphs of a line from left to right, which lie in one direction.
    ///
    /// # Errors
    /// Where the font is damaged.
    pub(crate) fn shape(&self, text: &str, ligatures: bool) -> Result<Vec<Glyph>, Error> {
        let mut buffer = Buffer::new();
        buffer.push_str(text);
        if buffer.is_empty() {
            return Ok(Vec::new());
        }
        buffer.guess_segment_properties();
        let off = [b"liga", b"clig"].map(|name| Feature::new(Tag::new(name), 0, ..));
        let options = if ligatures {
            ShapeOptions::new()
        } else {
            ShapeOptions::new().features(&off)
        };
        harfrust::shape(&ShaperFont::new(&self.shapes), &mut buffer, options)
            .map_err(|error| Error::Damaged(error.to_string()))?;
        let places = buffer.glyph_infos().iter().zip(buffer.glyph_positions());
        Ok(places
            .map(|(glyph, place)| Glyph {
                id: glyph.glyph_id,
                cluster: glyph.cluster as usize,
                x_offset: place.x_offset.into(),
                y_offset: place.y_offset.into(),
                advance: place.x_advance.into(),
            })
            .collect())
    }

    /// The outlines of glyphs.
    ///
    /// # Errors
    /// Where the font is damaged.
    pub(crate) fn outlines(&self) -> Result<Outlines<'_>, Error> {
        let font = FontRef::from_index(&self.bytes, 0).map_err(|_| Error::NotAFont)?;
        Ok(Outlines {
            outlines: font.outline_glyphs(),
            colours: font.color_glyphs(),
            documents: font.svg().ok(),
            pictures: [BitmapFormat::Sbix, BitmapFormat::Cbdt]
                .map(|format| BitmapStrikes::with_format(&font, format)),
        })
    }
}

/// Refuses a font of so many bytes whose tables are not all there.
fn tables(font: &FontRef<'_>, bytes: usize) -> Result<(), Error> {
    let damaged = |tag: Tag, what: String| Error::Table {
        table: tag.to_string(),
        what,
    };
    let records = font.table_directory().table_records();
    if records.len() < usize::from(font.table_directory().num_tables()) {
        return Err(Error::Damaged("its list of tables is cut short".to_owned()));
    }
    for record in records {
        let end = u64::from(record.offset()) + u64::from(record.length());
        if end > bytes as u64 {
            return Err(damaged(
                record.tag(),
                format!("reaches to byte {end} of a file of {bytes}"),
            ));
        }
    }
    let named = |name: &[u8; 4]| {
        let tag = Tag::new(name);
        font.table_data(tag).filter(|table| !table.is_empty()).ok_or(tag)
    };
    let needed = |name: &[u8; 4]| named(name).map_err(|tag| damaged(tag, "is missing".to_owned()));
    let number = |table: skrifa::raw::FontData<'_>, at: usize| table.read_at::<u16>(at).unwrap_or(0);
    let long = |name: &[u8; 4], least: u64| {
        let table = needed(name)?;
        let length = table.len() as u64;
        if length < least {
            let what = format!("has {length} bytes, not the {least} that it takes");
            return Err(damaged(Tag::new(name), what));
        }
        Ok(table)
    };
    // OpenType 1.9.1: `unitsPerEm`, `indexToLocFormat`, `numberOfHMetrics` and `numGlyphs`.
    let head = long(b"head", 54)?;
    let glyphs = u64::from(number(long(b"maxp", 6)?, 4));
    let metrics = u64::from(number(long(b"hhea", 36)?, 34));
    if number(head, 18) == 0 {
        return Err(damaged(
            Tag::new(b"head"),
            "says that an em is 0 units".to_owned(),
        ));
    }
    if metrics == 0 {
        return Err(damaged(
            Tag::new(b"hhea"),
            "says that no letter has a width".to_owned(),
        ));
    }
    long(b"hmtx", 4 * metrics)?;
    needed(b"cmap")?;
    if !font.charmap().has_map() {
        return Err(damaged(Tag::new(b"cmap"), "says no letter of Unicode".to_owned()));
    }
    let is_there = |name: &[u8; 4]| named(name).is_ok();
    if is_there(b"CFF ") || is_there(b"CFF2") {
        // What is wrong within is found where a glyph is drawn.
        return Ok(());
    }
    if !is_there(b"glyf") && !is_there(b"loca") {
        let pictures = [b"sbix", b"CBDT", b"EBDT", b"SVG "].into_iter().any(is_there);
        return Err(if pictures {
            Error::NotAFont
        } else {
            damaged(Tag::new(b"glyf"), "is missing".to_owned())
        });
    }
    let (glyf, is_long) = (needed(b"glyf")?, number(head, 50) != 0);
    let size = if is_long { 4 } else { 2 };
    let loca = long(b"loca", (glyphs + 1) * size)?;
    let place = |glyph: usize| {
        let place = if is_long {
            loca.read_at::<u32>(4 * glyph).map(u64::from)
        } else {
            loca.read_at::<u16>(2 * glyph).map(|half| 2 * u64::from(half))
        };
        place.unwrap_or(0)
    };
    let most = (0..=glyphs as usize).map(place).max().unwrap_or(0);
    if most > glyf.len() as u64 {
        let what = format!("says that `glyf` has {most} bytes; it has {}", glyf.len());
        return Err(damaged(Tag::new(b"loca"), what));
    }
    Ok(())
}

/// The names of the family, that of all its weights and widths first, that of the system's four styles after it; English ones first.
fn families(font: &FontRef<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for id in [StringId::TYPOGRAPHIC_FAMILY_NAME, StringId::FAMILY_NAME] {
        let english = font.localized_strings(id).english_or_first();
        for name in english.into_iter().chain(font.localized_strings(id)) {
            if names.len() == MAX_FAMILIES {
                return names;
            }
            let name: String = name.chars().take(MAX_NAME).collect();
            if !name.is_empty() && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// The outlines of a font.
pub(crate) struct Outlines<'f> {
    outlines: skrifa::outline::OutlineGlyphCollection<'f>,
    colours: skrifa::color::ColorGlyphCollection<'f>,
    /// Glyphs as SVG, and as pictures.
    documents: Option<Svg<'f>>,
    pictures: [Option<BitmapStrikes<'f>>; 2],
}

/// Sizes of pictures that are looked at: a font has a few, each of which has all its letters.
const MAX_STRIKES: usize = 8;

impl Outlines<'_> {
    /// Whether a glyph has layers of colours, or is a picture or a drawing beside its outline.
    pub(crate) fn is_coloured(&self, glyph: u32) -> bool {
        let glyph = GlyphId::new(glyph);
        let mut strikes = self
            .pictures
            .iter()
            .flatten()
            .flat_map(|strikes| strikes.iter().take(MAX_STRIKES));
        self.colours.get(glyph).is_some()
            || self
                .documents
                .as_ref()
                .is_some_and(|svg| svg.glyph_data(glyph).is_some())
            || strikes.any(|strike| strike.get(glyph).is_some())
    }

    /// The outline of a glyph in font units, y up; empty where it has none.
    ///
    /// # Errors
    /// Where the font is damaged.
    pub(crate) fn of(&self, glyph: u32) -> Result<BezPath, Error> {
        let mut path = Path::default();
        if let Some(outline) = self.outlines.get(GlyphId::new(glyph)) {
            let settings = DrawSettings::unhinted(Size::unscaled(), LocationRef::default());
            outline
                .draw(settings, &mut path)
                .map_err(|error| Error::Damaged(error.to_string()))?;
        }
        Ok(path.0)
    }
}

/// An outline in font units.
#[derive(Default)]
struct Path(BezPath);

fn point(x: f32, y: f32) -> (f64, f64) {
    (f64::from(x), f64::from(y))
}

impl OutlinePen for Path {
    fn move_to(&mut self, x: f32, y: f32) {
        self.0.move_to(point(x, y));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.0.line_to(point(x, y));
    }

    fn quad_to(&mut self, cx: f32, cy: f32, x: f32, y: f32) {
        self.0.quad_to(point(cx, cy), point(x, y));
    }

    fn curve_to(&mut self, cx0: f32, cy0: f32, cx1: f32, cy1: f32, x: f32, y: f32) {
        self.0.curve_to(point(cx0, cy0), point(cx1, cy1), point(x, y));
    }

    fn close(&mut self) {
        self.0.close_path();
    }
}
