//! Properties: attributes, style sheets and the attribute `style`, in rising order.

use std::borrow::Cow;
use std::rc::Rc;

use svgtypes::{Color, FontShorthand, Paint, PaintFallback};

use super::sheet::{Sheet, Spot, declarations, shortened};
use super::value::{Em, Length, MEDIUM, Units, plain};
use crate::Rule;
use crate::stroke::{Cap, Join};

pub(super) type Node<'a, 'i> = roxmltree::Node<'a, 'i>;

/// What paints an area.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ink {
    None,
    Color(Color),
    /// A gradient or a pattern, which is not drawn, by its name, and the colour where there is none of this name.
    Server(String, Option<Color>),
}

/// Which point of a text lies at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Which height of the letters lies at the place of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Baseline {
    Alphabetic,
    /// Half of the height of an x.
    Middle,
    /// The middle between ascent and descent.
    Central,
    Ascent,
    Descent,
}

/// A `font-size` as it is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum FontSize {
    /// So many times that of the element around.
    Times(f64),
    Length(Length),
}

impl FontSize {
    fn parse(word: &str) -> Option<Self> {
        // CSS Fonts 4, 2.5.
        let of_medium = match word {
            "xx-small" => 0.6,
            "x-small" => 0.75,
            "small" => 8.0 / 9.0,
            "medium" => 1.0,
            "large" => 1.2,
            "x-large" => 1.5,
            "xx-large" => 2.0,
            "xxx-large" => 3.0,
            "larger" => return Some(Self::Times(1.2)),
            "smaller" => return Some(Self::Times(1.0 / 1.2)),
            word => {
                let length = Length::parse(word).filter(|length| !length.is_negative())?;
                return Some(match length.percentage() {
                    Some(percentage) => Self::Times(percentage / 100.0),
                    None => Self::Length(length),
                });
            }
        };
        Some(Self::Length(Length::user(16.0 * of_medium)))
    }
}

/// The letters of a text; all of it is inherited.
#[derive(Clone, Debug)]
pub(super) struct Letters {
    /// As the document says it; nothing where it does not.
    pub(super) families: Option<Rc<str>>,
    pub(super) size: Em,
    /// What the element itself says, until `size` follows from it.
    pub(super) own_size: Option<FontSize>,
    pub(super) weight: f32,
    pub(super) is_slanted: bool,
    pub(super) anchor: Anchor,
    pub(super) baseline: Baseline,
    /// Lengths, which are read where the viewport is known.
    pub(super) letter_spacing: Length,
    pub(super) word_spacing: Length,
    pub(super) keeps_spaces: bool,
    /// Properties of texts that change what is drawn, but are not followed.
    pub(super) ignored: Vec<&'static str>,
}

impl Letters {
    fn root() -> Self {
        Self {
            families: None,
            size: MEDIUM,
            own_size: None,
            weight: 400.0,
            is_slanted: false,
            anchor: Anchor::Start,
            baseline: Baseline::Alphabetic,
            letter_spacing: Length::user(0.0),
            word_spacing: Length::user(0.0),
            keeps_spaces: false,
            ignored: Vec::new(),
        }
    }

    /// Takes a property from elsewhere.
    fn copy(&mut self, name: &str, from: &Self) {
        match name {
            "font-family" => self.families.clone_from(&from.families),
            "font-size" => (self.own_size, self.size) = (None, from.size.clone()),
            "font-weight" => self.weight = from.weight,
            "font-style" => self.is_slanted = from.is_slanted,
            "text-anchor" => self.anchor = from.anchor,
            "letter-spacing" => self.letter_spacing = from.letter_spacing,
            "word-spacing" => self.word_spacing = from.word_spacing,
            "white-space" => self.keeps_spaces = from.keeps_spaces,
            "font" => {
                for name in [
                    "font-family",
                    "font-size",
                    "font-weight",
                    "font-style",
                    "font-variant",
                    "font-stretch",
                ] {
                    self.copy(name, from);
                }
            }
            _ => {
                if name == "dominant-baseline" {
                    self.baseline = from.baseline;
                }
                if let Some(what) = told_as(name) {
                    self.ignored.retain(|other| *other != what);
                    if from.ignored.contains(&what) {
                        self.ignored.push(what);
                    }
                }
            }
        }
    }

    fn ignore(&mut self, what: &'static str, is_ignored: bool) {
        self.ignored.retain(|other| *other != what);
        if is_ignored {
            self.ignored.push(what);
        }
    }

    /// Follows a property; those that are none of letters are passed over. Whether the value is read.
    fn set(&mut self, parent: &Self, name: &str, value: &str, word: &str) -> bool {
        match name {
            "font" => return self.set_font(parent, value),
            "font-family" => {
                if svgtypes::parse_font_families(value).is_err() {
                    return false;
                }
                self.families = Some(value.into());
            }
            "font-size" => match FontSize::parse(word) {
                Some(size) => self.own_size = Some(size),
                None => return false,
            },
            "font-weight" => {
                self.weight = match word {
                    "normal" => 400.0,
                    "bold" => 700.0,
                    // CSS Fonts 4, 2.2.1.
                    "bolder" => match parent.weight {
                        ..350.0 => 400.0,
                        350.0..550.0 => 700.0,
                        _ => 900.0,
                    },
                    "lighter" => match parent.weight {
                        ..550.0 => 100.0,
                        550.0..750.0 => 400.0,
                        _ => 700.0,
                    },
                    number => match plain(number) {
                        Some(weight) if (1.0..=1_000.0).contains(&weight) => weight as f32,
                        _ => return false,
                    },
                }
            }
            "font-style" => {
                self.is_slanted = match word {
                    "normal" => false,
                    "italic" => true,
                    word if word.starts_with("oblique") => true,
                    _ => return false,
                }
            }
            "text-anchor" => {
                self.anchor = match word {
                    "start" => Anchor::Start,
                    "middle" => Anchor::Middle,
                    "end" => Anchor::End,
                    _ => return false,
                }
            }
            "dominant-baseline" => {
                let baseline = match word {
                    "auto" | "alphabetic" => Some(Baseline::Alphabetic),
                    "middle" => Some(Baseline::Middle),
                    "central" => Some(Baseline::Central),
                    "text-before-edge" | "text-top" => Some(Baseline::Ascent),
                    "text-after-edge" | "text-bottom" => Some(Baseline::Descent),
                    _ => None,
                };
                self.ignore(NO_BASELINE, baseline.is_none());
                self.baseline = baseline.unwrap_or(Baseline::Alphabetic);
            }
            "letter-spacing" | "word-spacing" => {
                let length = match word {
                    "normal" => Length::user(0.0),
                    word => match Length::parse(word).filter(|length| !length.is_percentage()) {
                        Some(length) => length,
                        None => return false,
                    },
                };
                match name {
                    "letter-spacing" => self.letter_spacing = length,
                    _ => self.word_spacing = length,
                }
            }
            "white-space" => {
                self.keeps_spaces = match word {
                    "normal" | "nowrap" => false,
                    "pre" | "pre-wrap" | "break-spaces" => true,
                    _ => return false,
                }
            }
            _ => {
                if let Some((what, initial)) = UNFOLLOWED
                    .iter()
                    .find(|(known, ..)| *known == name)
                    .map(|(_, what, initial)| (*what, *initial))
                {
                    // As browsers write out what they computed: `none solid rgb(0, 0, 0)`.
                    let is_initial =
                        initial.contains(&word) || name == "text-decoration" && word.starts_with("none ");
                    self.ignore(what, !is_initial);
                }
            }
        }
        true
    }

    /// Follows the short form of all properties of a font.
    fn set_font(&mut self, parent: &Self, value: &str) -> bool {
        // Lines do not follow each other by themselves: how tall one is changes nothing.
        let without = without_line_height(value);
        let Ok(font) = FontShorthand::from_str(&without) else {
            return false;
        };
        let Some(size) = FontSize::parse(&font.font_size.to_ascii_lowercase()) else {
            return false;
        };
        self.own_size = Some(size);
        let own = [
            ("font-family", Some(font.font_family)),
            ("font-weight", font.font_weight),
            ("font-style", font.font_style),
            ("font-variant", font.font_variant),
            ("font-stretch", font.font_stretch),
        ];
        let mut is_read = true;
        for (name, value) in own {
            let value = value.unwrap_or("normal");
            is_read &= self.set(parent, name, value, &value.to_ascii_lowercase());
        }
        is_read
    }
}

const NO_BASELINE: &str = "this `dominant-baseline`";

/// How a property of texts that is not followed is called.
fn told_as(name: &str) -> Option<&'static str> {
    if name == "dominant-baseline" {
        return Some(NO_BASELINE);
    }
    UNFOLLOWED
        .iter()
        .find(|(known, ..)| *known == name)
        .map(|(_, what, _)| *what)
}

/// Properties of texts that are not followed, how they are called, and the values that change nothing.
const UNFOLLOWED: [(&str, &str, &[&str]); 33] = [
    (
        "baseline-shift",
        "`baseline-shift`",
        &["baseline", "0", "0%", "0px"],
    ),
    ("vertical-align", "`vertical-align`", &["baseline", "0", "0px"]),
    (
        "alignment-baseline",
        "`alignment-baseline`",
        &["auto", "baseline", "alphabetic"],
    ),
    ("direction", "`direction`", &["ltr"]),
    ("unicode-bidi", "`unicode-bidi`", &["normal", "embed", "isolate"]),
    (
        "writing-mode",
        "`writing-mode`",
        &["lr-tb", "lr", "horizontal-tb"],
    ),
    (
        "glyph-orientation-vertical",
        "`glyph-orientation-vertical`",
        &["auto", "0", "0deg"],
    ),
    (
        "glyph-orientation-horizontal",
        "`glyph-orientation-horizontal`",
        &["auto", "0", "0deg"],
    ),
    ("text-decoration", "`text-decoration`", &["none"]),
    ("text-decoration-line", "`text-decoration`", &["none"]),
    ("text-transform", "`text-transform`", &["none"]),
    ("text-shadow", "`text-shadow`", &["none"]),
    ("text-emphasis", "`text-emphasis`", &["none"]),
    ("text-overflow", "`text-overflow`", &["clip"]),
    ("text-indent", "`text-indent`", &["0", "0px", "0%"]),
    ("font-variant", "`font-variant`", &["normal"]),
    ("font-variant-caps", "`font-variant-caps`", &["normal"]),
    ("font-variant-ligatures", "`font-variant-ligatures`", &["normal"]),
    ("font-variant-numeric", "`font-variant-numeric`", &["normal"]),
    ("font-variant-position", "`font-variant-position`", &["normal"]),
    (
        "font-variant-alternates",
        "`font-variant-alternates`",
        &["normal"],
    ),
    (
        "font-variant-east-asian",
        "`font-variant-east-asian`",
        &["normal"],
    ),
    ("font-stretch", "`font-stretch`", &["normal", "100%"]),
    ("font-width", "`font-stretch`", &["normal", "100%"]),
    ("kerning", "`kerning`", &["auto"]),
    ("font-kerning", "`font-kerning`", &["auto", "normal"]),
    ("font-size-adjust", "`font-size-adjust`", &["none"]),
    ("font-feature-settings", "`font-feature-settings`", &["normal"]),
    (
        "font-variation-settings",
        "`font-variation-settings`",
        &["normal"],
    ),
    ("inline-size", "`inline-size`", &["auto", "0", "0px"]),
    ("shape-inside", "`shape-inside`", &["auto", "none"]),
    ("shape-subtract", "`shape-subtract`", &["none"]),
    ("white-space-collapse", "`white-space-collapse`", &["collapse"]),
];

/// Properties that change any element, how they are told where they are not followed, and the values that change nothing.
const UNDRAWN: [(&str, &str, &[&str]); 15] = [
    ("mask", "a mask", &["none"]),
    ("mask-image", "a mask", &["none"]),
    ("mask-border", "a mask", &["none"]),
    ("mask-border-source", "a mask", &["none"]),
    ("filter", "a filter", &["none"]),
    ("mix-blend-mode", "a blend mode", &["normal"]),
    ("vector-effect", "a vector effect", &["none"]),
    ("clip", "`clip`", &["auto"]),
    ("color-interpolation", "`color-interpolation`", &["auto", "srgb"]),
    ("offset-path", "`offset-path`", &["none"]),
    ("offset", "`offset`", &["none"]),
    ("zoom", "`zoom`", &["1", "normal", "100%"]),
    ("content-visibility", "`content-visibility`", &["visible", "auto"]),
    ("animation", "an animation", &["none"]),
    ("animation-name", "an animation", &["none"]),
];

/// Attributes of elements that are properties in a style, where only attributes are read, by the elements that have them.
const GEOMETRY: [(&str, &[&str]); 10] = [
    ("x", &["rect", "svg", "use", "image", "foreignObject"]),
    ("y", &["rect", "svg", "use", "image", "foreignObject"]),
    ("width", &["rect", "svg", "use", "image", "foreignObject"]),
    ("height", &["rect", "svg", "use", "image", "foreignObject"]),
    ("cx", &["circle", "ellipse"]),
    ("cy", &["circle", "ellipse"]),
    ("r", &["circle"]),
    ("rx", &["rect", "ellipse"]),
    ("ry", &["rect", "ellipse"]),
    ("d", &["path"]),
];

/// What properties of one program begin with.
const VENDORS: [&str; 8] = [
    "-webkit-",
    "-moz-",
    "-ms-",
    "-o-",
    "-khtml-",
    "-apple-",
    "-inkscape-",
    "-epub-",
];

/// Properties of one program that change nothing of a picture that is printed.
const VENDOR_HINTS: [&str; 12] = [
    "-inkscape-font-specification",
    "-moz-osx-font-smoothing",
    "-moz-text-size-adjust",
    "-moz-user-select",
    "-ms-text-size-adjust",
    "-ms-user-select",
    "-webkit-font-smoothing",
    "-webkit-print-color-adjust",
    "-webkit-tap-highlight-color",
    "-webkit-text-size-adjust",
    "-webkit-touch-callout",
    "-webkit-user-select",
];

/// Whether a property is one of a program alone that may change the picture.
fn is_of_vendor(name: &str) -> bool {
    VENDORS.iter().any(|vendor| name.starts_with(vendor)) && !VENDOR_HINTS.contains(&name)
}

/// Something of an element that is not read, and the rule that says it, where one does.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) spot: Option<Spot>,
    pub(super) what: String,
    /// It is told where it is met first, and not again in the document.
    pub(super) is_told_once: bool,
}

/// The properties of an element; all but the last six are inherited.
#[derive(Clone, Debug)]
pub(super) struct Style {
    pub(super) color: Color,
    pub(super) fill: Ink,
    pub(super) fill_opacity: f64,
    pub(super) fill_rule: Rule,
    pub(super) clip_rule: Rule,
    pub(super) stroke: Ink,
    pub(super) stroke_opacity: f64,
    /// The lengths are read where the viewport is known.
    pub(super) stroke_width: Length,
    pub(super) dashes: Rc<[Length]>,
    pub(super) dash_offset: Length,
    pub(super) cap: Cap,
    pub(super) join: Join,
    pub(super) miter_limit: f64,
    pub(super) stroke_first: bool,
    pub(super) visible: bool,
    pub(super) markers: [bool; 3],
    pub(super) crisp: bool,
    pub(super) letters: Letters,
    pub(super) displayed: bool,
    pub(super) opacity: f64,
    pub(super) clip_path: Option<String>,
    /// Whether what leaves a viewport shows.
    pub(super) overflows: bool,
    /// Properties that change what is drawn, but are not followed.
    pub(super) ignored: Vec<&'static str>,
    /// Values that are not read.
    pub(super) faults: Vec<Fault>,
}

/// One property of an element.
struct Said<'s> {
    name: &'s str,
    value: &'s str,
    /// Not by an attribute of its own.
    is_declared: bool,
    spot: Option<Spot>,
}

impl Style {
    pub(super) fn root() -> Self {
        Self {
            color: Color::black(),
            fill: Ink::Color(Color::black()),
            fill_opacity: 1.0,
            fill_rule: Rule::NonZero,
            clip_rule: Rule::NonZero,
            stroke: Ink::None,
            stroke_opacity: 1.0,
            stroke_width: Length::user(1.0),
            dashes: Rc::new([]),
            dash_offset: Length::user(0.0),
            cap: Cap::Butt,
            join: Join::Miter,
            miter_limit: 4.0,
            stroke_first: false,
            visible: true,
            markers: [false; 3],
            crisp: false,
            letters: Letters::root(),
            displayed: true,
            opacity: 1.0,
            clip_path: None,
            overflows: false,
            ignored: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// The style of an element within one of this style.
    pub(super) fn of(&self, node: Node<'_, '_>, sheet: &Sheet<'_>, units: &Units) -> Self {
        let mut style = Self {
            displayed: true,
            opacity: 1.0,
            clip_path: None,
            overflows: false,
            ignored: Vec::new(),
            faults: Vec::new(),
            ..self.clone()
        };
        let inline: Vec<_> = node
            .attribute("style")
            .into_iter()
            .flat_map(declarations)
            .collect();
        let mut all: Vec<Said<'_>> = Vec::new();
        let mut important = Vec::new();
        for attribute in node.attributes().filter(|a| a.namespace().is_none()) {
            all.push(Said {
                name: attribute.name(),
                value: attribute.value(),
                is_declared: false,
                spot: None,
            });
        }
        let inline = inline.iter().filter_map(|one| match one {
            Ok(declaration) => Some((declaration, None)),
            Err((_, text)) => {
                style.faults.push(Fault {
                    spot: None,
                    what: format!("{:?} in `style` is no declaration", shortened(text)),
                    is_told_once: false,
                });
                None
            }
        });
        for (declaration, spot) in sheet.of(node).map(|(one, spot)| (one, Some(*spot))).chain(inline) {
            let said = Said {
                name: &declaration.name,
                value: declaration.value,
                is_declared: true,
                spot,
            };
            if declaration.is_important {
                important.push(said);
            } else {
                all.push(said);
            }
        }
        all.append(&mut important);
        // The colour first: others may refer to it.
        for said in all.iter().filter(|said| said.name == "color") {
            style.say(self, node, said);
        }
        for said in all.iter().filter(|said| said.name != "color") {
            style.say(self, node, said);
        }
        style.settle(self, units);
        style
    }

    /// Turns lengths in units of the font into those that are inherited.
    fn settle(&mut self, parent: &Self, units: &Units) {
        let letters = &mut self.letters;
        let outer = &parent.letters.size;
        if let Some(size) = letters.own_size.take() {
            letters.size = match size {
                FontSize::Times(times) => outer.times(times),
                // A percentage is a number of times, so that no side matters.
                FontSize::Length(length) => {
                    match length.resolved(super::value::Of::Diagonal, &units.page, outer, units) {
                        Ok(size) => Em::Known(size),
                        Err(length) => Em::Needs(length),
                    }
                }
            };
            if matches!(letters.size, Em::Known(size) if !size.is_finite()) {
                letters.size = outer.clone();
            }
        }
        let em = letters.size.clone();
        for length in [
            &mut letters.letter_spacing,
            &mut letters.word_spacing,
            &mut self.stroke_width,
            &mut self.dash_offset,
        ] {
            *length = length.settled(&em, units);
        }
        if self.dashes.iter().any(|dash| dash.is_of_font()) {
            self.dashes = self.dashes.iter().map(|dash| dash.settled(&em, units)).collect();
        }
    }

    /// Follows what is said of an element, or notes that it cannot be.
    fn say(&mut self, parent: &Self, node: Node<'_, '_>, said: &Said<'_>) {
        let (name, value) = (said.name, said.value.trim());
        if value.is_empty() {
            return;
        }
        let word = if value.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(value.to_ascii_lowercase())
        } else {
            Cow::Borrowed(value)
        };
        let element = node.tag_name().name();
        if said.is_declared {
            if GEOMETRY
                .iter()
                .any(|(known, on)| *known == name && on.contains(&element))
            {
                if word != "auto" {
                    let what = format!("`{name}` in a style is not followed; write it as an attribute");
                    self.fault(said, what);
                }
                return;
            }
            let is_root = node.parent_element().is_none();
            match name {
                "transform" | "translate" | "rotate" | "scale" => {
                    if word != "none" {
                        let what =
                            format!("`{name}` in a style is not followed; write `transform` as an attribute");
                        self.fault(said, what);
                    }
                    return;
                }
                "all" => {
                    self.fault(said, "`all` in a style is not followed".to_owned());
                    return;
                }
                name if is_of_vendor(name) => {
                    // What browsers write out of what they computed holds many that are not set.
                    let is_unset = matches!(
                        &*word,
                        "none"
                            | "normal"
                            | "auto"
                            | "initial"
                            | "inherit"
                            | "unset"
                            | "revert"
                            | "revert-layer"
                    );
                    if !is_unset {
                        self.faults.push(Fault {
                            spot: said.spot,
                            what: format!("`{}` is not followed", shortened(name)),
                            is_told_once: true,
                        });
                    }
                    return;
                }
                "background" | "background-color" | "background-image" if is_root => {
                    if !matches!(&*word, "none" | "transparent" | "initial" | "unset") {
                        self.fault(said, format!("`{name}` is not drawn"));
                    }
                    return;
                }
                _ => {}
            }
        }
        let is_read = match &*word {
            "inherit" => {
                self.copy(name, parent);
                true
            }
            "initial" => {
                self.copy(name, &Self::root());
                true
            }
            // The style of a program that shows a document has no more than the initial values.
            "unset" | "revert" | "revert-layer" => {
                if matches!(name, "display" | "opacity" | "clip-path" | "overflow") {
                    self.copy(name, &Self::root());
                } else {
                    self.copy(name, parent);
                }
                true
            }
            word => self.set(parent, node, name, value, word),
        };
        if !is_read {
            let what = format!(
                "{name}={:?} is not read, and counts as if it were not written",
                shortened(value)
            );
            self.fault(said, what);
        }
    }

    fn fault(&mut self, said: &Said<'_>, what: String) {
        self.faults.push(Fault {
            spot: said.spot,
            what,
            is_told_once: false,
        });
    }

    /// Takes a property from elsewhere.
    fn copy(&mut self, name: &str, from: &Self) {
        match name {
            "color" => self.color = from.color,
            "fill" => self.fill = from.fill.clone(),
            "stroke" => self.stroke = from.stroke.clone(),
            "fill-opacity" => self.fill_opacity = from.fill_opacity,
            "stroke-opacity" => self.stroke_opacity = from.stroke_opacity,
            "opacity" => self.opacity = from.opacity,
            "fill-rule" => self.fill_rule = from.fill_rule,
            "clip-rule" => self.clip_rule = from.clip_rule,
            "stroke-width" => self.stroke_width = from.stroke_width,
            "stroke-dasharray" => self.dashes = Rc::clone(&from.dashes),
            "stroke-dashoffset" => self.dash_offset = from.dash_offset,
            "stroke-linecap" => self.cap = from.cap,
            "stroke-linejoin" => self.join = from.join,
            "stroke-miterlimit" => self.miter_limit = from.miter_limit,
            "paint-order" => self.stroke_first = from.stroke_first,
            "visibility" => self.visible = from.visible,
            "display" => self.displayed = from.displayed,
            "clip-path" => self.clip_path.clone_from(&from.clip_path),
            "overflow" => self.overflows = from.overflows,
            "marker" => self.markers = from.markers,
            "marker-start" => self.markers[0] = from.markers[0],
            "marker-mid" => self.markers[1] = from.markers[1],
            "marker-end" => self.markers[2] = from.markers[2],
            "shape-rendering" => self.crisp = from.crisp,
            _ => self.letters.copy(name, &from.letters),
        }
    }

    /// Follows a property, whose value in small letters is `word`. Whether it is read.
    fn set(&mut self, parent: &Self, node: Node<'_, '_>, name: &str, value: &str, word: &str) -> bool {
        match name {
            "color" => match color(word) {
                Some(color) => self.color = color,
                // CSS Color 4, 6.2: as if it were inherited.
                None if word == "currentcolor" => self.color = parent.color,
                None => return false,
            },
            "fill" | "stroke" => {
                let Some(ink) = self.ink(value, word) else {
                    return false;
                };
                match name {
                    "fill" => self.fill = ink,
                    _ => self.stroke = ink,
                }
            }
            "fill-opacity" => return put(opacity(word), &mut self.fill_opacity),
            "stroke-opacity" => return put(opacity(word), &mut self.stroke_opacity),
            "opacity" => return put(opacity(word), &mut self.opacity),
            "fill-rule" => return put(rule(word), &mut self.fill_rule),
            "clip-rule" => return put(rule(word), &mut self.clip_rule),
            "stroke-width" => {
                let width = Length::parse(word).filter(|width| !width.is_negative());
                return put(width, &mut self.stroke_width);
            }
            "stroke-dasharray" => return put(dashes(word), &mut self.dashes),
            "stroke-dashoffset" => return put(Length::parse(word), &mut self.dash_offset),
            "stroke-linecap" => {
                self.cap = match word {
                    "butt" => Cap::Butt,
                    "round" => Cap::Round,
                    "square" => Cap::Square,
                    _ => return false,
                }
            }
            "stroke-linejoin" => {
                self.join = match word {
                    "miter" => Join::Miter,
                    "miter-clip" | "arcs" => {
                        self.ignored.push("this kind of corner");
                        Join::Miter
                    }
                    "round" => Join::Round,
                    "bevel" => Join::Bevel,
                    _ => return false,
                }
            }
            "stroke-miterlimit" => {
                let limit = plain(word).filter(|limit| *limit >= 1.0);
                return put(limit, &mut self.miter_limit);
            }
            "paint-order" => {
                let mut words: Vec<&str> = word.split_whitespace().collect();
                let is_one = |word: &&str| matches!(*word, "fill" | "stroke" | "markers");
                if words != ["normal"] && !words.iter().all(is_one) {
                    return false;
                }
                words.retain(|word| *word != "markers");
                self.stroke_first = words.first() == Some(&"stroke");
            }
            "visibility" => {
                self.visible = match word {
                    "visible" => true,
                    "hidden" | "collapse" => false,
                    _ => return false,
                }
            }
            "display" => {
                // A box that is not there has no shape either; a group is none but what it holds.
                let is_shape = !matches!(
                    node.tag_name().name(),
                    "g" | "a" | "svg" | "switch" | "use" | "tspan"
                );
                self.displayed = word != "none" && !(word == "contents" && is_shape);
            }
            "clip-path" => match reference(value) {
                Some(name) => self.clip_path = Some(name.to_owned()),
                None if word == "none" => self.clip_path = None,
                None => self.ignored.push("a clip path that is not url(#name)"),
            },
            "overflow" => {
                self.overflows = match word {
                    "visible" | "auto" => true,
                    "hidden" | "scroll" | "clip" => false,
                    _ => return false,
                }
            }
            "marker" => self.markers = [word != "none"; 3],
            "marker-start" => self.markers[0] = word != "none",
            "marker-mid" => self.markers[1] = word != "none",
            "marker-end" => self.markers[2] = word != "none",
            "shape-rendering" => {
                self.crisp = match word {
                    "crispedges" | "optimizespeed" => true,
                    "auto" | "geometricprecision" => false,
                    _ => return false,
                }
            }
            "transform-origin" => {
                // A place at the origin is the one that a transform has without it.
                let is_zero =
                    |word: &str| Length::parse(word).is_some_and(|length| length == Length::user(0.0));
                if node.has_attribute("transform") && !word.split_whitespace().all(is_zero) {
                    self.ignored.push("a transform origin");
                }
            }
            "transform-box" => {
                // The origin of a transform is then a place of the element.
                let is_of_element = matches!(word, "fill-box" | "content-box" | "stroke-box" | "border-box");
                if node.has_attribute("transform") && is_of_element {
                    self.ignored.push("`transform-box`");
                }
            }
            "outline" | "outline-style" => {
                if !word
                    .split_whitespace()
                    .any(|word| matches!(word, "none" | "0" | "0px"))
                {
                    self.ignored.push("`outline`");
                }
            }
            _ => {
                let undrawn = UNDRAWN.iter().find(|(known, ..)| *known == name);
                let Some((_, what, initial)) = undrawn else {
                    return self.letters.set(&parent.letters, name, value, word);
                };
                if !initial.contains(&word) {
                    self.ignored.push(what);
                }
            }
        }
        true
    }

    fn ink(&mut self, value: &str, word: &str) -> Option<Ink> {
        if word == "currentcolor" {
            return Some(Ink::Color(self.color));
        }
        // SVG 1.1, 11.2: what stands before it is for those who do not follow it.
        let plain = word.split("icc-color(").next().unwrap_or_default();
        if let Some(color) = color(plain) {
            return Some(Ink::Color(color));
        }
        // Names have small and large letters, all others have not.
        let value = if word.starts_with("url(") { value } else { word };
        Some(match Paint::from_str(value).ok()? {
            Paint::None => Ink::None,
            Paint::CurrentColor => Ink::Color(self.color),
            Paint::Color(color) => Ink::Color(color),
            Paint::FuncIRI(name, fallback) => Ink::Server(
                name.to_owned(),
                match fallback {
                    Some(PaintFallback::Color(color)) => Some(color),
                    Some(PaintFallback::CurrentColor) => Some(self.color),
                    Some(PaintFallback::None) | None => None,
                },
            ),
            Paint::ContextFill | Paint::ContextStroke => {
                self.ignored.push("the paint of a context");
                Ink::None
            }
            Paint::Inherit => return None,
        })
    }
}

/// Whether there is a value, which is put into its place then.
fn put<T>(value: Option<T>, into: &mut T) -> bool {
    match value {
        Some(value) => {
            *into = value;
            true
        }
        None => false,
    }
}

fn color(word: &str) -> Option<Color> {
    word.trim().parse().ok()
}

/// The name in `url(#name)`.
fn reference(value: &str) -> Option<&str> {
    let inner = value.get(..4).filter(|start| start.eq_ignore_ascii_case("url("));
    let inner = value.get(inner?.len()..)?.strip_suffix(')')?;
    inner.trim().trim_matches(['"', '\'']).strip_prefix('#')
}

/// The lengths of dashes and gaps; none for a solid line.
fn dashes(word: &str) -> Option<Rc<[Length]>> {
    if word == "none" {
        return Some(Rc::new([]));
    }
    word.split([',', ' ', '\t', '\n', '\r'])
        .filter(|word| !word.is_empty())
        .map(|word| Length::parse(word).filter(|dash| !dash.is_negative()))
        .collect()
}

fn opacity(word: &str) -> Option<f64> {
    let value = match word.strip_suffix('%') {
        Some(number) => plain(number)? / 100.0,
        None => plain(word)?,
    };
    Some(value.clamp(0.0, 1.0))
}

fn rule(word: &str) -> Option<Rule> {
    match word {
        "nonzero" => Some(Rule::NonZero),
        "evenodd" => Some(Rule::EvenOdd),
        _ => None,
    }
}

/// A `font` without the height of a line, which follows the size after a slash.
fn without_line_height(font: &str) -> String {
    let families = font.find(['"', '\'', ',']).unwrap_or(font.len());
    let Some(slash) = font[..families].find('/') else {
        return font.to_owned();
    };
    let height = font[slash + 1..].trim_start();
    let rest = height.find(char::is_whitespace).map_or("", |end| &height[end..]);
    format!("{}{rest}", font[..slash].trim_end())
}
