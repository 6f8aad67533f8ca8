//! Properties: attributes, style sheets and the attribute `style`, in rising order.

use simplecss::{AttributeOperator, DeclarationTokenizer, PseudoClass, StyleSheet};
use svgtypes::{Color, Paint, PaintFallback};

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
