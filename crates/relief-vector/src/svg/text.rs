//! Texts: characters and their places, chunks and their anchors, letters as paths.
//!
//! The order is that of SVG 2, 11.5: white space is collapsed over the whole text, characters are counted, `x`, `y`, `dx` and `dy` are given
//! to them by their number, letters are shaped, and chunks, which begin where a place is absolute, are moved by their anchor.

use std::collections::HashMap;
use std::rc::Rc;

use kurbo::{Affine, BezPath};
use svgtypes::{FontFamily, parse_font_families};

use super::draw::{Drawer, State, UNREAD, shown};
use super::sheet::shortened;
use super::style::{Anchor, Baseline, Letters, Node};
use super::value::{Em, Length, Of, no_pixel};
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

/// How letters are laid out; those that have the same are shaped together.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Look {
    font: usize,
    size: f64,
    baseline: Baseline,
    /// What is added behind each letter and behind each space.
    spacing: [f64; 2],
}

/// The characters of a text, and the elements that they stand in.
struct Characters<'a, 'i> {
    all: Vec<Character>,
    styles: Vec<(Node<'a, 'i>, State)>,
    /// How the letters of each style are laid out.
    looks: Vec<Look>,
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
    letter: char,
    /// From font units.
    transform: Affine,
}

/// The outlines of the letters of a text, each drawn once.
struct Outlines<'f> {
    fonts: Vec<crate::font::Outlines<'f>>,
    glyphs: HashMap<(usize, u32), Rc<BezPath>>,
    /// What is counted for them.
    bytes: u64,
}

impl<'f> Outlines<'f> {
    fn new(fonts: Vec<crate::font::Outlines<'f>>) -> Self {
        Self {
            fonts,
            glyphs: HashMap::new(),
            bytes: 0,
        }
    }
}

/// The characters from one absolute place to the next.
struct Chunk {
    characters: std::ops::Range<usize>,
}

/// Bytes that a character takes until it is drawn, its letter and its glyph among them.
const CHARACTER: u64 = (size_of::<Character>() + size_of::<Letter>() + 160) as u64;

impl<'a, 'i> Drawer<'a, 'i> {
    /// Draws a text.
    pub(super) fn text(&mut self, node: Node<'a, 'i>, outer: &State) -> Result<(), Error> {
        let Some(state) = self.enter(node, outer)? else {
            return Ok(());
        };
        let (letters, styles, held) = self.letters(node, state)?;
        let mut outlines = Outlines::new(self.outlines(node)?);
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
            if state.style.visible {
                self.paint(*element, state, run, &mut outlines)?;
            }
        }
        self.sketch.memory().give(held + outlines.bytes);
        Ok(())
    }

    /// Paints the letters of one element.
    fn paint(
        &mut self,
        element: Node<'a, 'i>,
        state: &State,
        run: &[Letter],
        outlines: &mut Outlines<'a>,
    ) -> Result<(), Error> {
        // Letters of one element differ by where they stand alone.
        let mut lined: HashMap<(usize, u32), Rc<BezPath>> = HashMap::new();
        let mut kept = 0;
        for stroke in [state.style.stroke_first, !state.style.stroke_first] {
            let (mut fill, mut line) = (None, None);
            if stroke {
                line = self.line(element, state, &BezPath::new())?;
            } else {
                fill = self.value(element, state, &state.style.fill, state.style.fill_opacity);
            }
            for letter in run {
                let path = self.outline(element, letter, outlines)?;
                if path.elements().is_empty() {
                    self.tell_empty(element, letter);
                    continue;
                }
                if outlines.fonts[letter.font].is_coloured(letter.glyph) {
                    let font = name(self.fonts[letter.font]);
                    let what = format!("{font} has colours for its letters, which are not drawn");
                    self.tell(element, what, Why::OtherFont);
                }
                if let Some(value) = fill {
                    let placed = state.transform * letter.transform;
                    self.emit(element, state, |sketch| {
                        sketch.fill(&path, placed, value, Rule::NonZero)
                    })?;
                }
                let Some((value, look)) = &line else { continue };
                let [a, b, c, d, x, y] = letter.transform.as_coeffs();
                let key = (letter.font, letter.glyph);
                let outline = match lined.get(&key) {
                    Some(outline) => Rc::clone(outline),
                    None => {
                        let own = Affine::new([a, b, c, d, 0.0, 0.0]) * &*path;
                        let outline = self.sketch.stroked(&own, state.transform, look);
                        let outline = outline.map_err(|cause| self.refused(element)(cause))?;
                        kept += self.keep(element, &outline)?;
                        let outline = Rc::new(outline);
                        lined.insert(key, Rc::clone(&outline));
                        outline
                    }
                };
                let placed = state.transform * Affine::translate((x, y));
                self.emit(element, state, |sketch| {
                    sketch.fill(&outline, placed, *value, Rule::NonZero)
                })?;
            }
        }
        self.sketch.memory().give(kept);
        Ok(())
    }

    /// Counts a path that is kept while a text is drawn.
    fn keep(&self, node: Node<'_, '_>, path: &BezPath) -> Result<u64, Error> {
        let bytes = (2 * size_of_val(path.elements()) + 128) as u64;
        self.take(node, bytes)?;
        Ok(bytes)
    }

    /// The outline of a letter in font units.
    fn outline(
        &self,
        node: Node<'_, '_>,
        letter: &Letter,
        outlines: &mut Outlines<'a>,
    ) -> Result<Rc<BezPath>, Error> {
        let key = (letter.font, letter.glyph);
        if let Some(path) = outlines.glyphs.get(&key) {
            return Ok(Rc::clone(path));
        }
        let path = outlines.fonts[letter.font].of(letter.glyph);
        let path = Rc::new(path.map_err(|cause| self.damaged(node, cause))?);
        outlines.bytes += self.keep(node, &path)?;
        outlines.glyphs.insert(key, Rc::clone(&path));
        Ok(path)
    }

    /// Tells a letter that has no outline, but should show something.
    fn tell_empty(&mut self, node: Node<'_, '_>, letter: &Letter) {
        if !is_blank(letter.letter) {
            let font = name(self.fonts[letter.font]);
            let what = format!("{font} has no outline for {}", named(letter.letter));
            self.tell(node, what, Why::OtherFont);
        }
    }

    /// The outlines of a text as one path in its own coordinates.
    pub(super) fn text_path(&mut self, node: Node<'a, 'i>, state: &State) -> Result<BezPath, Error> {
        let (letters, styles, held) = self.letters(node, state.clone())?;
        let mut outlines = Outlines::new(self.outlines(node)?);
        let mut whole = BezPath::new();
        for letter in &letters {
            if !styles[letter.style].1.style.visible {
                continue;
            }
            let path = self.outline(node, letter, &mut outlines)?;
            if path.elements().is_empty() {
                self.tell_empty(node, letter);
            }
            let bytes =
                (2 * (whole.elements().len() + path.elements().len()) * size_of::<kurbo::PathEl>()) as u64;
            self.room(node, bytes)?;
            whole.extend(letter.transform * &*path);
        }
        self.sketch.memory().give(held + outlines.bytes);
        Ok(whole)
    }

    fn outlines(&self, node: Node<'_, '_>) -> Result<Vec<crate::font::Outlines<'a>>, Error> {
        let outlines = self.fonts.iter().map(|font| font.outlines());
        outlines
            .collect::<Result<_, _>>()
            .map_err(|cause| self.damaged(node, cause))
    }

    fn damaged(&self, node: Node<'_, '_>, cause: crate::text::Error) -> Error {
        match cause {
            crate::text::Error::Refused(cause) => self.refused(node)(cause),
            cause => Error::Font {
                place: self.document.place(node),
                cause,
            },
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
            looks: Vec::new(),
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
        for number in 0..text.styles.len() {
            let look = self.look(&text.styles[number])?;
            text.looks.push(look);
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
                        if let Some(inner) = self.enter(child, &outer)? {
                            self.collect(child, inner, text)?;
                        }
                    }
                    "tspan" | "a" | "title" | "desc" | "metadata" | "style" => {}
                    // Told of the element that they stand in.
                    "animate" | "animateColor" | "animateMotion" | "animateTransform" | "set" | "discard" => {
                    }
                    name => {
                        self.visit(child, depth)?;
                        self.warn(child, format!("<{}> in a text is not drawn", shortened(name)));
                    }
                }
            } else if child.is_element() {
                let name = shortened(child.tag_name().name());
                self.warn(
                    child,
                    format!("<{name}> of another namespace in a text is not drawn"),
                );
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
        &mut self,
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
                let mut characters = all.get_mut(within.start..end).unwrap_or_default().iter_mut();
                for word in words {
                    let value = match Length::parse(word) {
                        Some(length) => self.resolve(node, length, of, state)?,
                        None => f64::NAN,
                    };
                    if !value.is_finite() {
                        self.unread(node, name, word, UNREAD);
                        break;
                    }
                    let Some(character) = characters.next() else { break };
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
        let leftward = characters.iter().filter(|one| is_leftward(one.letter)).count();
        let rightward = |one: &Character| one.letter.is_alphabetic() && !is_leftward(one.letter);
        if leftward > 0 {
            let look = &text.looks[first.style];
            let is_one = characters.iter().all(|one| text.looks[one.style] == *look);
            if !is_one || characters.iter().any(rightward) {
                let what =
                    "letters from right to left beside others, or in several styles, are not put in order";
                self.warn(text.styles[first.style].0, what);
            }
            if look.spacing[0] != 0.0 {
                let what = "`letter-spacing` parts letters that are joined from right to left";
                self.warn(text.styles[first.style].0, what);
            }
        }
        let (start, begun) = (pen[0], letters.len());
        let mut rest = characters;
        while let Some(first) = rest.first() {
            let look = &text.looks[first.style];
            let end = rest
                .iter()
                .position(|next| next.style != first.style && text.looks[next.style] != *look)
                .unwrap_or(rest.len());
            let (run, later) = rest.split_at(end);
            let is_first = rest.len() == characters.len();
            self.run(text, run, (look, is_first), pen, letters)?;
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

    /// How the letters of a style are laid out.
    fn look(&mut self, (node, state): &(Node<'a, 'i>, State)) -> Result<Look, Error> {
        let letters = &state.style.letters;
        let size = match &letters.size {
            Em::Known(size) => *size,
            Em::Needs(length) => return Err(no_pixel(self.document, *node, length)),
        };
        let read = |length: Length| self.resolve(*node, length, Of::Width, state);
        Ok(Look {
            spacing: [read(letters.letter_spacing)?, read(letters.word_spacing)?],
            font: self.font(*node, letters),
            size,
            baseline: letters.baseline,
        })
    }

    /// Shapes characters of one font and size.
    fn run(
        &mut self,
        text: &Characters<'a, 'i>,
        run: &[Character],
        (look, is_first): (&Look, bool),
        pen: &mut [f64; 2],
        letters: &mut Vec<Letter>,
    ) -> Result<(), Error> {
        let node = &text.styles[run[0].style].0;
        let (number, spacing) = (look.font, look.spacing);
        let font = self.fonts[number];
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
                    letter: run[own].letter,
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
            let missing: Vec<String> = missing.into_iter().map(named).collect();
            let what = format!("{} has no letter for {}", name(font), missing.join(", "));
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

/// A character with its number.
fn named(letter: char) -> String {
    format!("{:?} (U+{:04X})", letter.to_string(), u32::from(letter))
}

/// Whether a character shows nothing by itself.
fn is_blank(letter: char) -> bool {
    letter.is_whitespace()
        || letter.is_control()
        || matches!(
            letter,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'
                | '\u{1160}'
                | '\u{17b4}'
                | '\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Whether a character is of a script that is written from right to left.
fn is_leftward(letter: char) -> bool {
    matches!(
        letter,
        '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}'
    )
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
