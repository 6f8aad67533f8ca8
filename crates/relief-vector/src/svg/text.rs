//! Texts: characters and their places, chunks and their anchors, letters as paths.
//!
//! The order is that of SVG 2, 11.5: white space is collapsed over the whole text, characters are counted, `x`, `y`, `dx` and `dy` are given
//! to them by their number, letters are shaped, and chunks, which begin where a place is absolute, are moved by their anchor.

use kurbo::{Affine, BezPath};
use svgtypes::{FontFamily, Length, LengthUnit, parse_font_families};

use super::draw::{Drawer, State, shown};
use super::style::{Anchor, Baseline, Letters, Node};
use super::value::{Of, Viewport, length};
use super::{Error, SVG, Why};
use crate::Rule;
use crate::limits::Refused;
use crate::text::Font;

/// A character that is laid out.
struct Character {
    letter: char,
    /// Which of the styles it has.
    style: usize,
    /// Where it is put.
    at: [Option<f64>; 2],
    /// How far it is moved from where it would follow.
    by: [f64; 2],
}

/// The characters of a text, and the elements that they stand in.
struct Characters<'a, 'i> {
    all: Vec<Character>,
    styles: Vec<(Node<'a, 'i>, State)>,
    /// Elements with the numbers of the characters within them, the outer before the inner.
    elements: Vec<(Node<'a, 'i>, usize, std::ops::Range<usize>)>,
    /// A space that is not kept may not follow.
    after_space: bool,
}

/// An outline in the coordinates of the text, by its style.
struct Letter {
    style: usize,
    font: usize,
    glyph: u32,
    /// From font units.
    transform: Affine,
}

/// The characters from one absolute place to the next.
struct Chunk {
    characters: std::ops::Range<usize>,
}

/// Bytes that a character takes until it is drawn, its letter and its glyph among them.
const CHARACTER: u64 = (size_of::<Character>() + size_of::<Letter>() + 160) as u64;

impl<'a, 'i> Drawer<'a, 'i> {
    /// A `font-size` in user units; nothing where it is not read.
    pub(super) fn font_size(
        &self,
        node: Node<'_, '_>,
        text: &str,
        outer: f64,
        viewport: &Viewport,
    ) -> Result<Option<f64>, Error> {
        // CSS Fonts 4, 2.5.
        let medium = match text {
            "xx-small" => Some(0.6),
            "x-small" => Some(0.75),
            "small" => Some(8.0 / 9.0),
            "medium" => Some(1.0),
            "large" => Some(1.2),
            "x-large" => Some(1.5),
            "xx-large" => Some(2.0),
            "xxx-large" => Some(3.0),
            _ => None,
        };
        let size = match (medium, text) {
            (Some(times), _) => Some(16.0 * times),
            (None, "larger") => Some(outer * 1.2),
            (None, "smaller") => Some(outer / 1.2),
            (None, text) => match text.parse::<Length>() {
                Ok(length) if length.unit == LengthUnit::Percent => Some(length.number / 100.0 * outer),
                _ => self.in_letters(node, text, Of::Diagonal, outer, viewport)?,
            },
        };
        Ok(size.filter(|size| size.is_finite() && *size >= 0.0))
    }

    /// A length, which may be in units of a font of this size.
    fn in_letters(
        &self,
        node: Node<'_, '_>,
        text: &str,
        of: Of,
        font_size: f64,
        viewport: &Viewport,
    ) -> Result<Option<f64>, Error> {
        let found = match text.trim().parse::<Length>() {
            Ok(length) if length.unit == LengthUnit::Em => Some(length.number * font_size),
            // Half an em, as CSS has it where a font does not say.
            Ok(length) if length.unit == LengthUnit::Ex => Some(length.number * font_size / 2.0),
            _ => length(self.document, node, text, of, viewport, self.options.pixel)?,
        };
        Ok(found.filter(|value| value.is_finite()))
    }

    /// Draws a text.
    pub(super) fn text(&mut self, node: Node<'a, 'i>, outer: &State) -> Result<(), Error> {
        let Some(state) = self.enter(node, outer, None)? else {
            return Ok(());
        };
        let (letters, styles, held) = self.letters(node, state)?;
        let fonts = self.outlines(node)?;
        let mut rest = &letters[..];
        while let Some(first) = rest.first() {
            // What stands in one element is filled, then lined, or the other way round.
            let end = rest
                .iter()
                .position(|letter| letter.style != first.style)
                .unwrap_or(rest.len());
            let (run, later) = rest.split_at(end);
            rest = later;
            let (element, state) = &styles[first.style];
            if !state.style.visible {
                continue;
            }
            for stroke in [state.style.stroke_first, !state.style.stroke_first] {
                for letter in run {
                    let path = fonts[letter.font]
                        .of(letter.glyph)
                        .map_err(|cause| self.damaged(*element, cause))?;
                    if path.elements().is_empty() {
                        continue;
                    }
                    if stroke {
                        self.paint_stroke(*element, state, &(letter.transform * path))?;
                    } else if let Some(value) =
                        self.value(*element, state, &state.style.fill, state.style.fill_opacity)
                    {
                        let placed = state.transform * letter.transform;
                        self.emit(*element, state, |sketch| {
                            sketch.fill(&path, placed, value, Rule::NonZero)
                        })?;
                    }
                }
            }
        }
        self.sketch.memory().give(held);
        Ok(())
    }

    /// The outlines of a text as one path in its own coordinates.
    pub(super) fn text_path(&mut self, node: Node<'a, 'i>, state: &State) -> Result<BezPath, Error> {
        let (letters, styles, held) = self.letters(node, state.clone())?;
        let fonts = self.outlines(node)?;
        let mut whole = BezPath::new();
        for letter in letters
            .iter()
            .filter(|letter| styles[letter.style].1.style.visible)
        {
            let path = fonts[letter.font]
                .of(letter.glyph)
                .map_err(|cause| self.damaged(node, cause))?;
            let bytes =
                (2 * (whole.elements().len() + path.elements().len()) * size_of::<kurbo::PathEl>()) as u64;
            self.room(node, bytes)?;
            whole.extend(letter.transform * path);
        }
        self.sketch.memory().give(held);
        Ok(whole)
    }

    fn outlines(&self, node: Node<'_, '_>) -> Result<Vec<crate::font::Outlines<'a>>, Error> {
        let outlines = self.fonts.iter().map(|font| font.outlines());
        outlines
            .collect::<Result<_, _>>()
            .map_err(|cause| self.damaged(node, cause))
    }

    fn damaged(&self, node: Node<'_, '_>, cause: crate::text::Error) -> Error {
        let place = self.document.place(node);
        match cause {
            crate::text::Error::Refused(cause) => Error::Refused { place, cause },
            cause => Error::Font { place, cause },
        }
    }

    fn room(&self, node: Node<'_, '_>, bytes: u64) -> Result<(), Error> {
        let room = self.sketch.memory().room(bytes);
        room.map_err(|cause| self.refused(node)(cause))
    }

    /// The letters of a text, the elements whose styles they have, and the bytes that were counted for them.
    #[expect(clippy::type_complexity, reason = "it is taken apart where it is called")]
    fn letters(
        &mut self,
        node: Node<'a, 'i>,
        state: State,
    ) -> Result<(Vec<Letter>, Vec<(Node<'a, 'i>, State)>, u64), Error> {
        let held = self.sketch.memory().held();
        let mut text = Characters {
            all: Vec::new(),
            styles: Vec::new(),
            elements: Vec::new(),
            after_space: true,
        };
        self.collect(node, state, &mut text)?;
        // A space at the end is not kept either.
        if let Some(last) = text.all.last()
            && last.letter == ' '
            && !text.styles[last.style].1.style.letters.keeps_spaces
        {
            text.all.pop();
        }
        for (element, style, characters) in &text.elements {
            let state = &text.styles[*style].1;
            self.place(*element, state, &mut text.all, characters)?;
        }
        let mut letters = Vec::with_capacity(text.all.len());
        let mut pen = [0.0; 2];
        for chunk in chunks(&text.all) {
            self.chunk(&text, &chunk, &mut pen, &mut letters)?;
        }
        let held = self.sketch.memory().held() - held;
        Ok((letters, text.styles, held))
    }

    /// Adds the characters of an element.
    fn collect(
        &mut self,
        node: Node<'a, 'i>,
        mut state: State,
        text: &mut Characters<'a, 'i>,
    ) -> Result<(), Error> {
        match node.attribute(("http://www.w3.org/XML/1998/namespace", "space")) {
            Some("preserve") => state.style.letters.keeps_spaces = true,
            Some("default") => state.style.letters.keeps_spaces = false,
            _ => {}
        }
        for what in state.style.letters.ignored.clone() {
            self.warn(node, format!("{what} is not followed"));
        }
        for name in ["rotate", "textLength"] {
            let is_followed = |value: &str| name == "rotate" && value.trim() == "0";
            if node.attribute(name).is_some_and(|value| !is_followed(value)) {
                self.warn(node, format!("`{name}` is not followed"));
            }
        }
        let bytes = 2 * (size_of::<State>() + 2 * size_of::<Node<'_, '_>>() + 64) as u64;
        self.take(node, bytes)?;
        let (style, first, depth) = (text.styles.len(), text.all.len(), state.depth);
        let keeps = state.style.letters.keeps_spaces;
        text.styles.push((node, state));
        let number = text.elements.len();
        text.elements.push((node, style, first..first));
        for child in node.children() {
            if let Some(words) = child.text().filter(|_| child.is_text()) {
                self.words(node, words, (style, keeps), text)?;
            } else if child.is_element() && child.tag_name().namespace() == Some(SVG) {
                match child.tag_name().name() {
                    "tspan" | "a" if shown(child) => {
                        self.visit(child, depth)?;
                        let outer = text.styles[style].1.clone();
                        if let Some(inner) = self.enter(child, &outer, None)? {
                            self.collect(child, inner, text)?;
                        }
                    }
                    name @ ("textPath" | "tref" | "altGlyph") => {
                        self.visit(child, depth)?;
                        self.warn(child, format!("<{name}> is not drawn"));
                    }
                    _ => {}
                }
            }
        }
        text.elements[number].2.end = text.all.len();
        Ok(())
    }

    fn take(&self, node: Node<'_, '_>, bytes: u64) -> Result<(), Error> {
        let taken = self.sketch.memory().take(bytes);
        taken.map_err(|cause| self.refused(node)(cause))
    }

    /// Adds the characters of a text in the file. Spaces that are not kept are one, as are ends of lines and tabs.
    fn words(
        &mut self,
        node: Node<'a, 'i>,
        words: &str,
        (style, keeps): (usize, bool),
        text: &mut Characters<'a, 'i>,
    ) -> Result<(), Error> {
        self.take(node, words.len() as u64 * CHARACTER)?;
        let limit = self.options.limits.items;
        for letter in words.chars() {
            let letter = if matches!(letter, '\n' | '\r' | '\t') {
                ' '
            } else {
                letter
            };
            if letter == ' ' && text.after_space && !keeps {
                continue;
            }
            text.after_space = letter == ' ';
            if text.all.len() as u64 >= limit {
                return Err(self.refused(node)(Refused::Items(limit)));
            }
            text.all.push(Character {
                letter,
                style,
                at: [None; 2],
                by: [0.0; 2],
            });
        }
        Ok(())
    }

    /// Gives the places of an element to its characters.
    fn place(
        &self,
        node: Node<'_, '_>,
        state: &State,
        all: &mut [Character],
        within: &std::ops::Range<usize>,
    ) -> Result<(), Error> {
        for (axis, (at, by, of)) in [("x", "dx", Of::Width), ("y", "dy", Of::Height)]
            .into_iter()
            .enumerate()
        {
            for (name, is_place) in [(at, true), (by, false)] {
                let Some(list) = node.attribute(name) else {
                    continue;
                };
                let words = list
                    .split([',', ' ', '\t', '\n', '\r'])
                    .filter(|word| !word.is_empty());
                let end = within.end.min(all.len());
                let Some(characters) = all.get_mut(within.start..end) else {
                    continue;
                };
                for (character, word) in characters.iter_mut().zip(words) {
                    let size = state.style.letters.size;
                    let Some(value) = self.in_letters(node, word, of, size, &state.viewport)? else {
                        break;
                    };
                    if is_place {
                        character.at[axis] = Some(value);
                    } else {
                        character.by[axis] = value;
                    }
                }
            }
        }
        Ok(())
    }

    /// Lays a chunk out from `pen`, which is moved to its end.
    fn chunk(
        &mut self,
        text: &Characters<'a, 'i>,
        chunk: &Chunk,
        pen: &mut [f64; 2],
        letters: &mut Vec<Letter>,
    ) -> Result<(), Error> {
        let characters = &text.all[chunk.characters.clone()];
        let Some(first) = characters.first() else {
            return Ok(());
        };
        for (axis, at) in first.at.iter().enumerate() {
            pen[axis] = at.unwrap_or(pen[axis]) + first.by[axis];
        }
        let (start, begun) = (pen[0], letters.len());
        let mut rest = characters;
        while let Some(first) = rest.first() {
            let state = &text.styles[first.style].1;
            let font = self.font(text.styles[first.style].0, &state.style.letters);
            let spacing = self.spacing(&text.styles[first.style])?;
            let mut end = 1;
            while let Some(next) = rest.get(end) {
                if next.style != first.style {
                    let other = &text.styles[next.style];
                    if other.1.style.letters.size != state.style.letters.size
                        || other.1.style.letters.baseline != state.style.letters.baseline
                        || self.font(other.0, &other.1.style.letters) != font
                        || self.spacing(other)? != spacing
                    {
                        break;
                    }
                }
                end += 1;
            }
            let (run, later) = rest.split_at(end);
            let is_first = rest.len() == characters.len();
            self.run(text, run, (font, spacing, is_first), pen, letters)?;
            rest = later;
        }
        let shift = match text.styles[first.style].1.style.letters.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => (start - pen[0]) / 2.0,
            Anchor::End => start - pen[0],
        };
        if shift != 0.0 {
            for letter in &mut letters[begun..] {
                letter.transform = Affine::translate((shift, 0.0)) * letter.transform;
            }
            pen[0] += shift;
        }
        Ok(())
    }

    /// What is added behind each letter and behind each space.
    fn spacing(&self, (node, state): &(Node<'a, 'i>, State)) -> Result<[f64; 2], Error> {
        let letters = &state.style.letters;
        let read = |text: &str| -> Result<f64, Error> {
            if text == "normal" {
                return Ok(0.0);
            }
            let value = self.in_letters(*node, text, Of::Width, letters.size, &state.viewport)?;
            Ok(value.unwrap_or(0.0))
        };
        Ok([read(&letters.letter_spacing)?, read(&letters.word_spacing)?])
    }

    /// Shapes characters of one font and size.
    fn run(
        &mut self,
        text: &Characters<'a, 'i>,
        run: &[Character],
        (number, spacing, is_first): (usize, [f64; 2], bool),
        pen: &mut [f64; 2],
        letters: &mut Vec<Letter>,
    ) -> Result<(), Error> {
        let (node, state) = &text.styles[run[0].style];
        let (font, look) = (self.fonts[number], &state.style.letters);
        let scale = look.size / font.metrics.em;
        let down = scale * baseline(font, look.baseline);
        let words: String = run.iter().map(|character| character.letter).collect();
        // The bytes at which characters begin, by which glyphs tell theirs.
        let places: Vec<usize> = words.char_indices().map(|(at, _)| at).collect();
        let character = |byte: usize| places.partition_point(|at| *at <= byte).saturating_sub(1);
        let glyphs = font
            .shape(&words, spacing[0] == 0.0)
            .map_err(|cause| self.damaged(*node, cause))?;
        let mut clusters: Vec<usize> = glyphs.iter().map(|glyph| character(glyph.cluster)).collect();
        clusters.sort_unstable();
        clusters.dedup();
        let mut last = None;
        let mut missing = Vec::new();
        for (at, glyph) in glyphs.iter().enumerate() {
            let own = character(glyph.cluster);
            if last != Some(own) {
                // A cluster has the moves of all its characters.
                let next = clusters.partition_point(|cluster| *cluster <= own);
                let end = clusters.get(next).copied().unwrap_or(run.len());
                // That of the first of its chunk has been taken.
                let from = own.max(usize::from(is_first));
                for moved in run.get(from..end).unwrap_or_default() {
                    pen[0] += moved.by[0];
                    pen[1] += moved.by[1];
                }
                last = Some(own);
            }
            if glyph.id == 0 {
                let letter = run[own].letter;
                if !missing.contains(&letter) && missing.len() < 8 {
                    missing.push(letter);
                }
            } else {
                let x = pen[0] + glyph.x_offset as f64 * scale;
                let y = pen[1] + down - glyph.y_offset as f64 * scale;
                letters.push(Letter {
                    style: run[own].style,
                    font: number,
                    glyph: glyph.id,
                    transform: Affine::new([scale, 0.0, 0.0, -scale, x, y]),
                });
                pen[0] += glyph.advance as f64 * scale;
            }
            let ends = glyphs
                .get(at + 1)
                .is_none_or(|next| character(next.cluster) != own);
            if ends {
                pen[0] += spacing[0];
                if matches!(run[own].letter, ' ' | '\u{a0}') {
                    pen[0] += spacing[1];
                }
            }
        }
        if !missing.is_empty() {
            let named: Vec<String> = missing
                .iter()
                .map(|c| format!("{:?} (U+{:04X})", c.to_string(), u32::from(*c)))
                .collect();
            let what = format!("{} has no letter for {}", name(font), named.join(", "));
            self.tell(*node, what, Why::OtherFont);
        }
        Ok(())
    }

    /// The font for these letters by its number; where it is not the one that they name, that is told.
    fn font(&mut self, node: Node<'_, '_>, letters: &Letters) -> usize {
        let families = letters
            .families
            .as_ref()
            .and_then(|text| parse_font_families(text).ok())
            .unwrap_or_default();
        let mut named = None;
        let mut family = None;
        for wanted in &families {
            let FontFamily::Named(wanted) = wanted else {
                // Any font may stand for a kind of fonts.
                break;
            };
            family = self.fonts.iter().find(|font| font.is_of(wanted)).map(|_| wanted);
            if family.is_some() {
                break;
            }
            named = named.or(Some(wanted));
        }
        let of_family = |font: &Font| match family {
            Some(family) => font.is_of(family),
            None => self.fonts[0].family().is_none_or(|family| font.is_of(family)),
        };
        let order = |font: &Font| {
            let (slant, weight) = (
                font.is_slanted != letters.is_slanted,
                distance(letters.weight, font.weight),
            );
            (slant, weight)
        };
        let best = (0..self.fonts.len())
            .filter(|number| of_family(self.fonts[*number]))
            .min_by(|a, b| {
                let (a, b) = (order(self.fonts[*a]), order(self.fonts[*b]));
                a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
            })
            .unwrap_or(0);
        let font = self.fonts[best];
        if family.is_none()
            && let Some(named) = named
        {
            let what = format!(
                "no font given is of the family {named:?}; {} is taken",
                name(font)
            );
            self.tell(node, what, Why::OtherFont);
        }
        // Fonts are often a little lighter or bolder than their names say.
        if (font.weight - letters.weight).abs() >= 100.0 || font.is_slanted != letters.is_slanted {
            let style = |weight: f32, slanted: bool| {
                format!("weight {weight}{}", if slanted { ", italic" } else { "" })
            };
            let what = format!(
                "no font given of its family has {}; {} of {} is taken",
                style(letters.weight, letters.is_slanted),
                name(font),
                style(font.weight, font.is_slanted)
            );
            self.tell(node, what, Why::OtherFont);
        }
        best
    }
}

/// Where chunks begin and end.
fn chunks(all: &[Character]) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = Vec::new();
    for (number, character) in all.iter().enumerate() {
        match chunks.last_mut() {
            Some(chunk) if character.at == [None; 2] => chunk.characters.end = number + 1,
            _ => chunks.push(Chunk {
                characters: number..number + 1,
            }),
        }
    }
    chunks
}

/// How far a weight is from the one that is wanted, by the order of CSS Fonts 4, 5.2: within 400 to 500 first, then on the side on which it lies.
fn distance(wanted: f32, weight: f32) -> f32 {
    const FAR: f32 = 2_000.0;
    let away = (weight - wanted).abs();
    match wanted {
        400.0..=500.0 if (wanted..=500.0).contains(&weight) => away,
        400.0..=500.0 if weight < wanted => FAR + away,
        400.0..=500.0 => 2.0 * FAR + away,
        ..400.0 if weight <= wanted => away,
        ..400.0 => FAR + away,
        _ if weight >= wanted => away,
        _ => FAR + away,
    }
}

/// How far below its place the baseline of a text lies, in font units.
fn baseline(font: &Font, which: Baseline) -> f64 {
    let metrics = &font.metrics;
    match which {
        Baseline::Alphabetic => 0.0,
        Baseline::Middle => metrics.x_height.unwrap_or(metrics.em / 2.0) / 2.0,
        Baseline::Central => (metrics.ascent + metrics.descent) / 2.0,
        Baseline::Ascent => metrics.ascent,
        Baseline::Descent => metrics.descent,
    }
}

fn name(font: &Font) -> String {
    font.family()
        .map_or_else(|| "a font without a name".to_owned(), |name| format!("{name:?}"))
}
