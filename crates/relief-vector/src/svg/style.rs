//! Properties: attributes, style sheets and the attribute `style`, in rising order.

use std::rc::Rc;

use simplecss::{AttributeOperator, DeclarationTokenizer, PseudoClass, StyleSheet};
use svgtypes::{Color, FontShorthand, Paint, PaintFallback};

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

/// The letters of a text; all of it is inherited.
#[derive(Clone, Debug)]
pub(super) struct Letters {
    /// As the document says it; nothing where it does not.
    pub(super) families: Option<Rc<str>>,
    /// In user units.
    pub(super) size: f64,
    /// What the element itself says, until `size` follows from it.
    pub(super) own_size: Option<Rc<str>>,
    pub(super) weight: f32,
    pub(super) is_slanted: bool,
    pub(super) anchor: Anchor,
    pub(super) baseline: Baseline,
    /// Lengths, which are read where the viewport is known.
    pub(super) letter_spacing: Rc<str>,
    pub(super) word_spacing: Rc<str>,
    pub(super) keeps_spaces: bool,
    /// Properties of texts that change what is drawn, but are not followed.
    pub(super) ignored: Vec<&'static str>,
}

/// CSS Fonts, `medium`: what browsers take, too.
const MEDIUM: f64 = 16.0;

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
            letter_spacing: "normal".into(),
            word_spacing: "normal".into(),
            keeps_spaces: false,
            ignored: Vec::new(),
        }
    }

    /// Follows a property; those that are none of letters are passed over.
    fn set(&mut self, parent: &Self, name: &str, value: &str) {
        match name {
            "font" => {
                // Lines do not follow each other by themselves: how tall one is changes nothing.
                let without = without_line_height(value);
                if let Ok(font) = FontShorthand::from_str(&without) {
                    self.families = Some(font.font_family.into());
                    self.own_size = Some(font.font_size.into());
                    self.set(parent, "font-weight", font.font_weight.unwrap_or("normal"));
                    self.set(parent, "font-style", font.font_style.unwrap_or("normal"));
                    self.set(parent, "font-variant", font.font_variant.unwrap_or("normal"));
                    self.set(parent, "font-stretch", font.font_stretch.unwrap_or("normal"));
                }
            }
            "font-family" => self.families = Some(value.into()),
            "font-size" => self.own_size = Some(value.into()),
            "font-weight" => {
                self.weight = match value {
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
                    number => match number.parse() {
                        Ok(weight) if (1.0..=1_000.0).contains(&weight) => weight,
                        _ => self.weight,
                    },
                }
            }
            "font-style" => self.is_slanted = matches!(value, "italic") || value.starts_with("oblique"),
            "text-anchor" => {
                self.anchor = match value {
                    "start" => Anchor::Start,
                    "middle" => Anchor::Middle,
                    "end" => Anchor::End,
                    _ => self.anchor,
                }
            }
            "dominant-baseline" => {
                self.ignored.retain(|what| *what != NO_BASELINE);
                self.baseline = match value {
                    "auto" | "alphabetic" => Baseline::Alphabetic,
                    "middle" => Baseline::Middle,
                    "central" => Baseline::Central,
                    "text-before-edge" | "text-top" => Baseline::Ascent,
                    "text-after-edge" | "text-bottom" => Baseline::Descent,
                    _ => {
                        self.ignored.push(NO_BASELINE);
                        Baseline::Alphabetic
                    }
                }
            }
            "letter-spacing" => self.letter_spacing = value.into(),
            "word-spacing" => self.word_spacing = value.into(),
            "white-space" => self.keeps_spaces = matches!(value, "pre" | "pre-wrap" | "break-spaces"),
            _ => {
                if let Some((what, initial)) = UNFOLLOWED
                    .iter()
                    .find(|(known, ..)| *known == name)
                    .map(|(_, what, initial)| (*what, *initial))
                {
                    self.ignored.retain(|other| *other != what);
                    if !initial.contains(&value) {
                        self.ignored.push(what);
                    }
                }
            }
        }
    }
}

const NO_BASELINE: &str = "this `dominant-baseline`";

/// Properties of texts that are not followed, how they are called, and the values that change nothing.
const UNFOLLOWED: [(&str, &str, &[&str]); 15] = [
    (
        "baseline-shift",
        "`baseline-shift`",
        &["baseline", "0", "0%", "0px"],
    ),
    (
        "alignment-baseline",
        "`alignment-baseline`",
        &["auto", "baseline", "alphabetic"],
    ),
    ("direction", "`direction`", &["ltr"]),
    (
        "writing-mode",
        "`writing-mode`",
        &["lr-tb", "lr", "horizontal-tb"],
    ),
    ("text-decoration", "`text-decoration`", &["none"]),
    ("text-decoration-line", "`text-decoration`", &["none"]),
    ("text-transform", "`text-transform`", &["none"]),
    ("font-variant", "`font-variant`", &["normal"]),
    ("font-stretch", "`font-stretch`", &["normal", "100%"]),
    ("kerning", "`kerning`", &["auto"]),
    ("font-kerning", "`font-kerning`", &["auto", "normal"]),
    ("font-size-adjust", "`font-size-adjust`", &["none"]),
    ("font-feature-settings", "`font-feature-settings`", &["normal"]),
    (
        "font-variation-settings",
        "`font-variation-settings`",
        &["normal"],
    ),
    ("inline-size", "`inline-size`", &["auto", "0"]),
];

/// The properties of an element; all but the last four are inherited.
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
    pub(super) stroke_width: String,
    pub(super) dashes: String,
    pub(super) dash_offset: String,
    pub(super) cap: Cap,
    pub(super) join: Join,
    pub(super) miter_limit: f64,
    pub(super) stroke_first: bool,
    pub(super) visible: bool,
    pub(super) marker: bool,
    pub(super) letters: Letters,
    pub(super) displayed: bool,
    pub(super) opacity: f64,
    pub(super) clip_path: Option<String>,
    /// Properties that change what is drawn, but are not followed.
    pub(super) ignored: Vec<&'static str>,
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
            stroke_width: "1".into(),
            dashes: "none".into(),
            dash_offset: "0".into(),
            cap: Cap::Butt,
            join: Join::Miter,
            miter_limit: 4.0,
            stroke_first: false,
            visible: true,
            marker: false,
            letters: Letters::root(),
            displayed: true,
            opacity: 1.0,
            clip_path: None,
            ignored: Vec::new(),
        }
    }

    /// The style of an element within one of this style.
    pub(super) fn of(&self, node: Node<'_, '_>, sheet: &StyleSheet<'_>) -> Self {
        let mut style = Self {
            displayed: true,
            opacity: 1.0,
            clip_path: None,
            ignored: Vec::new(),
            ..self.clone()
        };
        let mut properties: Vec<(&str, &str)> = Vec::new();
        for attribute in node.attributes().filter(|a| a.namespace().is_none()) {
            properties.push((attribute.name(), attribute.value()));
        }
        let attributes = properties.len();
        let mut important = Vec::new();
        let mut declare = |name, value, is_important: bool, properties: &mut Vec<_>| {
            if is_important {
                important.push((name, value))
            } else {
                properties.push((name, value))
            }
        };
        for rule in sheet
            .rules
            .iter()
            .filter(|rule| rule.selector.matches(&Element(node)))
        {
            for declaration in &rule.declarations {
                declare(
                    declaration.name,
                    declaration.value,
                    declaration.important,
                    &mut properties,
                );
            }
        }
        if let Some(text) = node.attribute("style") {
            for declaration in DeclarationTokenizer::from(text) {
                declare(
                    declaration.name,
                    declaration.value,
                    declaration.important,
                    &mut properties,
                );
            }
        }
        properties.extend(important);
        // The colour first: others may refer to it.
        for (name, value) in &properties {
            if *name == "color"
                && let Ok(color) = value.trim().parse()
            {
                style.color = color;
            }
        }
        for (number, (name, value)) in properties.into_iter().enumerate() {
            style.set(self, name, value.trim(), number >= attributes);
        }
        style
    }

    fn set(&mut self, parent: &Self, name: &str, value: &str, declared: bool) {
        let inherits = value == "inherit";
        match name {
            "fill" => {
                let ink = if inherits {
                    Some(parent.fill.clone())
                } else {
                    self.ink(value)
                };
                self.fill = ink.unwrap_or(std::mem::replace(&mut self.fill, Ink::None));
            }
            "stroke" => {
                let ink = if inherits {
                    Some(parent.stroke.clone())
                } else {
                    self.ink(value)
                };
                self.stroke = ink.unwrap_or(std::mem::replace(&mut self.stroke, Ink::None));
            }
            "fill-opacity" => opacity(value, &mut self.fill_opacity),
            "stroke-opacity" => opacity(value, &mut self.stroke_opacity),
            "opacity" if inherits => self.opacity = parent.opacity,
            "opacity" => opacity(value, &mut self.opacity),
            "fill-rule" => rule(value, &mut self.fill_rule),
            "clip-rule" => rule(value, &mut self.clip_rule),
            "stroke-width" if !inherits => self.stroke_width = value.into(),
            "stroke-dasharray" if !inherits => self.dashes = value.into(),
            "stroke-dashoffset" if !inherits => self.dash_offset = value.into(),
            "stroke-linecap" => {
                self.cap = match value {
                    "butt" => Cap::Butt,
                    "round" => Cap::Round,
                    "square" => Cap::Square,
                    _ => self.cap,
                }
            }
            "stroke-linejoin" => {
                self.join = match value {
                    "miter" => Join::Miter,
                    "miter-clip" | "arcs" => {
                        self.ignored.push("this kind of corner");
                        Join::Miter
                    }
                    "round" => Join::Round,
                    "bevel" => Join::Bevel,
                    _ => self.join,
                }
            }
            "stroke-miterlimit" => {
                if let Some(limit) = value
                    .parse()
                    .ok()
                    .filter(|limit: &f64| *limit >= 1.0 && limit.is_finite())
                {
                    self.miter_limit = limit;
                }
            }
            "paint-order" => {
                let place = |what| {
                    value
                        .split_whitespace()
                        .position(|word| word == what)
                        .unwrap_or(9)
                };
                let stroke = place("stroke");
                self.stroke_first = stroke < place("fill") && stroke < 9;
            }
            "visibility" if !inherits => self.visible = value == "visible",
            "display" if inherits => self.displayed = parent.displayed,
            "display" => self.displayed = value != "none",
            "clip-path" if inherits => self.clip_path.clone_from(&parent.clip_path),
            "clip-path" => self.clip_path = reference(value).map(str::to_owned),
            "marker" | "marker-start" | "marker-mid" | "marker-end" => self.marker = value != "none",
            "mask" if value != "none" => self.ignored.push("a mask"),
            "filter" if value != "none" => self.ignored.push("a filter"),
            "mix-blend-mode" if value != "normal" => self.ignored.push("a blend mode"),
            "vector-effect" if value != "none" => self.ignored.push("a vector effect"),
            "transform-origin" if !inherits => self.ignored.push("a transform origin"),
            "transform" if declared => self.ignored.push("a transform in a style"),
            // All are inherited.
            _ if !inherits => self.letters.set(&parent.letters, name, value),
            _ => {}
        }
    }

    fn ink(&mut self, value: &str) -> Option<Ink> {
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

/// The name in `url(#name)`.
fn reference(value: &str) -> Option<&str> {
    let inner = value.strip_prefix("url(")?.split(')').next()?;
    inner.trim().trim_matches(['"', '\'']).strip_prefix('#')
}

fn opacity(value: &str, into: &mut f64) {
    let (number, scale) = value
        .strip_suffix('%')
        .map_or((value, 1.0), |number| (number, 100.0));
    if let Ok(number) = number.parse::<f64>()
        && number.is_finite()
    {
        *into = (number / scale).clamp(0.0, 1.0);
    }
}

fn rule(value: &str, into: &mut Rule) {
    match value {
        "nonzero" => *into = Rule::NonZero,
        "evenodd" => *into = Rule::EvenOdd,
        _ => {}
    }
}

/// An element as style sheets ask for it.
struct Element<'a, 'i>(Node<'a, 'i>);

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

impl simplecss::Element for Element<'_, '_> {
    fn parent_element(&self) -> Option<Self> {
        self.0.parent_element().map(Element)
    }

    fn prev_sibling_element(&self) -> Option<Self> {
        self.0.prev_sibling_element().map(Element)
    }

    fn has_local_name(&self, name: &str) -> bool {
        self.0.tag_name().name() == name
    }

    fn attribute_matches(&self, name: &str, operator: AttributeOperator<'_>) -> bool {
        self.0
            .attribute(name)
            .is_some_and(|value| operator.matches(value))
    }

    fn pseudo_class_matches(&self, class: PseudoClass<'_>) -> bool {
        matches!(class, PseudoClass::FirstChild) && self.prev_sibling_element().is_none()
    }
}
