//! From the tree of a document to elements.

use std::collections::HashMap;
use std::rc::Rc;

use kurbo::{Affine, BezPath, Shape as _};
use simplecss::StyleSheet;
use svgtypes::Color;

use super::clip::{Clip, Outline};
use super::shape::{Context, path};
use super::style::{Ink, Node, Style};
use super::value::{Of, Viewport, fit, length, size, view_box};
use super::{Document, Error, Gray, MAX_WARNINGS, Options, Picture, SVG, Warning, Why};
use crate::limits::Refused;
use crate::text::Font;
use crate::{Sketch, Stroke, shapes};

/// What an element inherits.
#[derive(Clone)]
pub(super) struct State {
    pub(super) style: Style,
    pub(super) transform: Affine,
    opacity: f64,
    clip: Clip,
    pub(super) viewport: Viewport,
    pub(super) depth: u32,
}

pub(super) struct Drawer<'a, 'i> {
    pub(super) document: &'a Document<'i>,
    pub(super) options: &'a Options,
    pub(super) fonts: &'a [&'a Font],
    sheet: StyleSheet<'a>,
    names: HashMap<&'a str, Node<'a, 'i>>,
    pub(super) sketch: Sketch,
    visited: u64,
    /// What matching an element with all rules comes to.
    ways: u64,
    /// Uses and clip paths that are being drawn.
    open: Vec<roxmltree::NodeId>,
    warnings: Vec<Warning>,
    more: u64,
    /// Something was painted, and something that shows.
    painted: (bool, bool),
    mixed: bool,
}

/// Ways to match rules of style sheets with elements: a rule that names ancestors is tried with each choice of so many among those of an element.
const MAX_MATCHES: u64 = 1 << 28;

/// Bytes of all style sheets, and of a `style` attribute: their reader takes time by the square of them.
const MAX_SHEETS: usize = 256 << 10;
const MAX_STYLE: usize = 4 << 10;

/// How many ways there are to choose `count` of `all`.
fn choices(all: u64, count: u64) -> u64 {
    let step = |ways: u64, number: u64| ways.saturating_mul(all.saturating_sub(number)) / (number + 1);
    (0..count.min(all)).fold(1, step).max(1)
}

/// Refuses style sheets that take long to read, and tells how long each element takes to match with their rules, in rules that name
/// no ancestors.
fn matching(document: &Document<'_>, sheet: &StyleSheet<'_>, depth: u64) -> Result<u64, Error> {
    let mut bytes = 0;
    for node in document
        .tree
        .root_element()
        .descendants()
        .filter(Node::is_element)
    {
        let refused = |what: String| Error::Styles {
            place: document.place(node),
            what,
        };
        if node.tag_name().name() == "style" {
            bytes += node.text().map_or(0, str::len);
            if bytes > MAX_SHEETS {
                return Err(refused(format!(
                    "style sheets have more than {MAX_SHEETS} bytes; write colours as attributes"
                )));
            }
        }
        if node
            .attribute("style")
            .is_some_and(|style| style.len() > MAX_STYLE)
        {
            return Err(refused(format!("a `style` has more than {MAX_STYLE} bytes")));
        }
    }
    // A selector names its ancestors one after the other, with blanks between.
    let named = |rule: &simplecss::Rule<'_>| rule.selector.to_string().split_whitespace().count() as u64;
    let ways = |rule| choices(depth, named(rule).saturating_sub(1));
    Ok(sheet.rules.iter().map(ways).fold(0, u64::saturating_add))
}

pub(super) fn draw(document: &Document<'_>, options: &Options, fonts: &[&Font]) -> Result<Picture, Error> {
    let root = document.tree.root_element();
    let mut sheet = StyleSheet::new();
    // Before they are read.
    matching(document, &sheet, 0)?;
    let mut names = HashMap::new();
    let (mut depths, mut deepest) = (Vec::new(), 0_u32);
    for node in root.descendants().filter(Node::is_element) {
        // Parents stand before their children.
        let outer = node
            .parent_element()
            .and_then(|parent| depths.get(parent.id().get_usize()));
        let depth = outer.map_or(0, |outer: &u32| outer + 1);
        depths.resize(node.id().get_usize() + 1, 0);
        depths[node.id().get_usize()] = depth;
        deepest = deepest.max(depth);
        if node.tag_name().name() == "style"
            && node.attribute("type").is_none_or(|kind| kind == "text/css")
            && let Some(text) = node.text()
        {
            sheet.parse_more(text);
        }
        if let Some(name) = node.attribute("id") {
            names.entry(name).or_insert(node);
        }
    }
    let ways = matching(document, &sheet, deepest.into())?;
    let mut drawer = Drawer {
        document,
        ways,
        options,
        fonts,
        sheet,
        names,
        sketch: Sketch::new(options.limits),
        visited: 0,
        open: Vec::new(),
        warnings: Vec::new(),
        more: 0,
        painted: (false, false),
        mixed: false,
    };
    let (width, height) = size(document, root, options.pixel)?.unwrap_or((100.0, 100.0));
    let mut state = State {
        style: Style::root(),
        transform: options.transform,
        opacity: 1.0,
        clip: Clip::everything(),
        viewport: Viewport { width, height },
        depth: 0,
    };
    if let Some(view) = view_box(root) {
        state.transform *= fit(&view, aspect(root), (width, height));
        state.viewport = Viewport {
            width: view.w,
            height: view.h,
        };
    }
    drawer.container(root, &state)?;
    if drawer.painted == (true, false) && options.gray == Gray::Luma {
        let what = "everything is painted black, whose gray is 0; its ink or its opacity would show it";
        drawer.tell(root, what.to_owned(), Why::Black);
    }
    Ok(Picture {
        drawing: drawer.sketch.finish(),
        warnings: drawer.warnings,
        more: drawer.more,
    })
}

fn aspect(node: Node<'_, '_>) -> svgtypes::AspectRatio {
    node.attribute("preserveAspectRatio")
        .and_then(|text| text.parse().ok())
        .unwrap_or_default()
}

fn transform(node: Node<'_, '_>) -> Option<Affine> {
    let Some(text) = node.attribute("transform") else {
        return Some(Affine::IDENTITY);
    };
    let t: svgtypes::Transform = text.parse().ok()?;
    let all = [t.a, t.b, t.c, t.d, t.e, t.f];
    all.iter().all(|v| v.is_finite()).then(|| Affine::new(all))
}

/// Whether the conditions of an element hold: English, and no extensions.
pub(super) fn shown(node: Node<'_, '_>) -> bool {
    let english = |word: &str| word.trim() == "en" || word.trim().starts_with("en-");
    let fits = |list: &str| list.split(',').any(english);
    node.attribute("systemLanguage").is_none_or(fits) && node.attribute("requiredExtensions").is_none()
}

/// Whether an element is one that a `switch` may choose.
fn is_known(node: Node<'_, '_>) -> bool {
    matches!(
        node.tag_name().name(),
        "a" | "circle"
            | "ellipse"
            | "foreignObject"
            | "g"
            | "image"
            | "line"
            | "path"
            | "polygon"
            | "polyline"
            | "rect"
            | "svg"
            | "switch"
            | "text"
            | "use"
    )
}

/// Attributes of a text that are read in units of its font.
const LETTERS: [&str; 6] = ["x", "y", "dx", "dy", "letter-spacing", "word-spacing"];

/// Whether a value is a length in `em` or `ex`.
fn in_font_units(value: &str) -> bool {
    use svgtypes::{Length, LengthUnit};
    (value.ends_with("em") || value.ends_with("ex"))
        && value
            .parse::<Length>()
            .is_ok_and(|l| matches!(l.unit, LengthUnit::Em | LengthUnit::Ex))
}

fn href<'a>(node: Node<'a, '_>) -> Option<&'a str> {
    node.attribute("href")
        .or_else(|| node.attribute(("http://www.w3.org/1999/xlink", "href")))
        .map(str::trim)
}

impl<'a, 'i> Drawer<'a, 'i> {
    pub(super) fn warn(&mut self, node: Node<'_, '_>, what: impl Into<String>) {
        self.tell(node, what.into(), Why::Undrawn);
    }

    pub(super) fn tell(&mut self, node: Node<'_, '_>, what: String, why: Why) {
        if self.warnings.len() >= MAX_WARNINGS {
            self.more += 1;
            return;
        }
        let place = self.document.place(node);
        let warning = Warning { place, what, why };
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    pub(super) fn refused(&self, node: Node<'_, '_>) -> impl Fn(Refused) -> Error {
        let place = self.document.place(node);
        move |cause| Error::Refused { place, cause }
    }

    /// Counts a visit and looks at the depth.
    pub(super) fn visit(&mut self, node: Node<'_, '_>, depth: u32) -> Result<(), Error> {
        let limits = &self.options.limits;
        self.visited += 1;
        if self.visited > limits.items {
            return Err(self.refused(node)(Refused::Items(limits.items)));
        }
        if self.visited.saturating_mul(self.ways) > MAX_MATCHES {
            let rules = self.sheet.rules.len();
            return Err(Error::Styles {
                place: self.document.place(node),
                what: format!(
                    "matching the {rules} rules of style sheets with all elements takes too long; name fewer ancestors in selectors, or write attributes"
                ),
            });
        }
        if depth > limits.depth {
            return Err(Error::Depth {
                place: self.document.place(node),
                limit: limits.depth,
            });
        }
        Ok(())
    }

    /// Draws the children of an element whose own transform is in `outer` already.
    fn container(&mut self, node: Node<'a, 'i>, outer: &State) -> Result<(), Error> {
        let Some(state) = self.enter(node, outer, None)? else {
            return Ok(());
        };
        for child in node.children().filter(Node::is_element) {
            self.element(child, &state)?;
        }
        Ok(())
    }

    /// The style of an element within one of the style `outer`.
    pub(super) fn style(
        &self,
        node: Node<'a, 'i>,
        outer: &Style,
        viewport: &Viewport,
    ) -> Result<Style, Error> {
        let mut style = outer.of(node, &self.sheet);
        // A unit that the document does not explain matters only where there is text to lay out.
        if let Some(size) = style.letters.own_size.take()
            && !self.fonts.is_empty()
            && let Some(size) = self.font_size(node, &size, outer.letters.size, viewport)?
        {
            style.letters.size = size;
        }
        Ok(style)
    }

    /// The state within an element, without its transform; nothing where it is not drawn.
    pub(super) fn enter(
        &mut self,
        node: Node<'a, 'i>,
        outer: &State,
        path: Option<&BezPath>,
    ) -> Result<Option<State>, Error> {
        let style = self.style(node, &outer.style, &outer.viewport)?;
        if !style.displayed || style.opacity == 0.0 {
            return Ok(None);
        }
        for what in style.ignored.clone() {
            self.warn(node, format!("{what} is not followed"));
        }
        let mut state = State {
            opacity: outer.opacity * style.opacity,
            depth: outer.depth + 1,
            style,
            ..outer.clone()
        };
        if let Some(name) = state.style.clip_path.take() {
            match self.clip(&name, node, &state, path)? {
                Some(clip) => {
                    let both = state.clip.and(&clip);
                    state.clip =
                        both.ok_or_else(|| self.refused(node)(Refused::Items(self.options.limits.items)))?;
                }
                None => self.warn(node, format!("the clip path {name:?} is not followed")),
            }
        }
        Ok(Some(state))
    }

    fn element(&mut self, node: Node<'a, 'i>, outer: &State) -> Result<(), Error> {
        self.visit(node, outer.depth)?;
        if node.tag_name().namespace() != Some(SVG) {
            return Ok(());
        }
        let name = node.tag_name().name();
        if !shown(node) {
            return Ok(());
        }
        let is_read = |attribute: &str| {
            !self.fonts.is_empty()
                && (attribute.starts_with("font")
                    || node.tag_name().name() == "text" && LETTERS.contains(&attribute))
        };
        let in_font_units: Vec<(&str, &str)> = node
            .attributes()
            .filter(|a| in_font_units(a.value()) && !is_read(a.name()))
            .map(|a| (a.name(), a.value()))
            .collect();
        for (name, value) in in_font_units {
            self.warn(
                node,
                format!("{name}={value:?} is in units of a font and not read"),
            );
        }
        let Some(own) = transform(node) else {
            self.warn(node, "its transform cannot be read; the element is not drawn");
            return Ok(());
        };
        let mut state = outer.clone();
        state.transform *= own;
        match name {
            "g" | "a" => self.container(node, &state),
            "switch" => self.switch(node, &state),
            "svg" => self.nested(node, node, &state),
            "use" => self.reference(node, &state),
            "path" | "rect" | "circle" | "ellipse" | "line" | "polyline" | "polygon" => {
                self.shape(node, &state)
            }
            "text" if !self.fonts.is_empty() => self.text(node, &state),
            "text" => {
                self.tell(
                    node,
                    "<text> is not drawn, as no font is given".to_owned(),
                    Why::NoFont,
                );
                Ok(())
            }
            "image" | "foreignObject" | "video" | "iframe" | "canvas" | "audio" => {
                self.warn(node, format!("<{name}> is not drawn"));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The first child that is known and whose conditions hold: English, and no extensions.
    fn switch(&mut self, node: Node<'a, 'i>, outer: &State) -> Result<(), Error> {
        let Some(state) = self.enter(node, outer, None)? else {
            return Ok(());
        };
        match node
            .children()
            .filter(Node::is_element)
            .find(|child| child.tag_name().namespace() == Some(SVG) && is_known(*child) && shown(*child))
        {
            Some(child) => self.element(child, &state),
            None => Ok(()),
        }
    }

    pub(super) fn length(
        &self,
        node: Node<'_, '_>,
        name: &str,
        of: Of,
        viewport: &Viewport,
    ) -> Result<Option<f64>, Error> {
        let Some(text) = node.attribute(name) else {
            return Ok(None);
        };
        let value = length(self.document, node, text, of, viewport, self.options.pixel)?;
        Ok(value.filter(|value| value.is_finite()))
    }

    /// An `svg` or `symbol` within another: a viewport of its own. `sized` is the element that has its size.
    fn nested(&mut self, node: Node<'a, 'i>, sized: Node<'a, 'i>, outer: &State) -> Result<(), Error> {
        let mut state = outer.clone();
        let view = &outer.viewport;
        let side = |name, of, whole: f64| -> Result<f64, Error> {
            let own = self.length(sized, name, of, view)?;
            let own = if own.is_none() {
                self.length(node, name, of, view)?
            } else {
                own
            };
            Ok(own.unwrap_or(whole))
        };
        let (width, height) = (
            side("width", Of::Width, view.width)?,
            side("height", Of::Height, view.height)?,
        );
        if !(width > 0.0 && height > 0.0) {
            return Ok(());
        }
        if node.tag_name().name() == "svg" {
            let x = self.length(node, "x", Of::Width, view)?.unwrap_or(0.0);
            let y = self.length(node, "y", Of::Height, view)?.unwrap_or(0.0);
            state.transform *= Affine::translate((x, y));
        }
        if !matches!(node.attribute("overflow"), Some("visible" | "auto")) {
            let window = Outline {
                path: Rc::new(shapes::rectangle((0.0, 0.0), (width, height))),
                transform: state.transform,
                rule: crate::Rule::NonZero,
            };
            if let Some(clip) = state.clip.and(&Clip::any(vec![vec![window]])) {
                state.clip = clip;
            }
        }
        state.viewport = Viewport { width, height };
        if let Some(view) = view_box(node) {
            state.transform *= fit(&view, aspect(node), (width, height));
            state.viewport = Viewport {
                width: view.w,
                height: view.h,
            };
        }
        self.container(node, &state)
    }

    fn find(&mut self, node: Node<'a, 'i>) -> Option<Node<'a, 'i>> {
        let target = href(node)?;
        let found = target
            .strip_prefix('#')
            .and_then(|name| self.names.get(name))
            .copied();
        if found.is_none() {
            self.warn(node, format!("there is nothing named {target:?} in the drawing"));
        }
        found
    }

    /// Marks an element as being drawn, unless it is already.
    fn open(&mut self, target: Node<'_, '_>, from: Node<'_, '_>) -> Result<(), Error> {
        if self.open.contains(&target.id()) {
            return Err(Error::Loop {
                place: self.document.place(from),
                what: format!("<{}>", from.tag_name().name()),
            });
        }
        self.open.push(target.id());
        Ok(())
    }

    fn reference(&mut self, node: Node<'a, 'i>, outer: &State) -> Result<(), Error> {
        let Some(target) = self.find(node) else {
            return Ok(());
        };
        if node.ancestors().any(|ancestor| ancestor == target) {
            return Err(Error::Loop {
                place: self.document.place(node),
                what: "<use>".into(),
            });
        }
        let Some(mut state) = self.enter(node, outer, None)? else {
            return Ok(());
        };
        let x = self.length(node, "x", Of::Width, &outer.viewport)?.unwrap_or(0.0);
        let y = self
            .length(node, "y", Of::Height, &outer.viewport)?
            .unwrap_or(0.0);
        state.transform *= Affine::translate((x, y));
        self.open(target, node)?;
        let done = match target.tag_name().name() {
            "symbol" => {
                self.visit(target, state.depth)?;
                state.transform *= transform(target).unwrap_or(Affine::IDENTITY);
                self.nested(target, node, &state)
            }
            "svg" => {
                self.visit(target, state.depth)?;
                self.nested(target, node, &state)
            }
            _ => self.element(target, &state),
        };
        self.open.pop();
        done
    }

    fn context(&self, state: &State) -> Context<'a, 'i> {
        Context {
            document: self.document,
            viewport: state.viewport,
            pixel: self.options.pixel,
            transform: state.transform,
        }
    }

    fn shape(&mut self, node: Node<'a, 'i>, outer: &State) -> Result<(), Error> {
        let Some((path, fault)) = path(&self.context(outer), node)? else {
            return Ok(());
        };
        if let Some(fault) = fault {
            self.warn(node, fault);
        }
        let Some(state) = self.enter(node, outer, Some(&path))? else {
            return Ok(());
        };
        if !state.style.visible || path.elements().is_empty() {
            return Ok(());
        }
        if state.style.marker {
            self.warn(node, "markers are not drawn");
        }
        for stroke in [state.style.stroke_first, !state.style.stroke_first] {
            if stroke {
                self.paint_stroke(node, &state, &path)?;
            } else if let Some(value) = self.value(node, &state, &state.style.fill, state.style.fill_opacity)
            {
                self.emit(node, &state, |sketch| {
                    sketch.fill(&path, state.transform, value, state.style.fill_rule)
                })?;
            }
        }
        Ok(())
    }

    pub(super) fn paint_stroke(
        &mut self,
        node: Node<'a, 'i>,
        state: &State,
        path: &BezPath,
    ) -> Result<(), Error> {
        let (style, document, pixel) = (&state.style, self.document, self.options.pixel);
        let Some(value) = self.value(node, state, &style.stroke, style.stroke_opacity) else {
            return Ok(());
        };
        let read = |text: &str| {
            let value = length(document, node, text, Of::Diagonal, &state.viewport, pixel);
            value.map(|value| value.filter(|value| value.is_finite()))
        };
        let Some(width) = read(&style.stroke_width)?.filter(|width| *width > 0.0) else {
            return Ok(());
        };
        let mut look = Stroke::solid(width);
        (look.cap, look.join, look.miter_limit) = (style.cap, style.join, style.miter_limit);
        if style.dashes != "none" {
            let words = style
                .dashes
                .split([',', ' ', '\t', '\n', '\r'])
                .filter(|word| !word.is_empty());
            let mut dashes = Vec::new();
            for word in words {
                match read(word)? {
                    Some(dash) if dash >= 0.0 => dashes.push(dash),
                    // One that is none makes the line solid.
                    _ => {
                        self.warn(node, format!("the dash {word:?} is not read; the line is solid"));
                        dashes.clear();
                        break;
                    }
                }
            }
            look.dashes = dashes;
            look.dash_offset = read(&style.dash_offset)?.unwrap_or(0.0);
        }
        self.emit(node, state, |sketch| {
            sketch.stroke(path, state.transform, value, &look)
        })
    }

    /// The value of an area; nothing where it is not painted.
    pub(super) fn value(
        &mut self,
        node: Node<'_, '_>,
        state: &State,
        ink: &Ink,
        opacity: f64,
    ) -> Option<u16> {
        let color: Color = match ink {
            Ink::None => return None,
            Ink::Server(name, fallback) => match fallback {
                Some(color) if !self.names.contains_key(name.as_str()) => *color,
                _ => {
                    self.warn(node, format!("the gradient or pattern {name:?} is not drawn"));
                    return None;
                }
            },
            Ink::Color(color) => *color,
        };
        let alpha = state.opacity * opacity * f64::from(color.alpha) / 255.0;
        if alpha <= 0.0 {
            return None;
        }
        if alpha < 1.0 && !std::mem::replace(&mut self.mixed, true) {
            self.warn(
                node,
                "opacity makes a gray smaller, but what lies below is hidden, not mixed in",
            );
        }
        let (r, g, b) = (
            f64::from(color.red),
            f64::from(color.green),
            f64::from(color.blue),
        );
        let luma = (2_126.0 * r + 7_152.0 * g + 722.0 * b) / 2_550_000.0;
        let gray = match self.options.gray {
            Gray::Luma => luma,
            Gray::Ink => 1.0 - luma,
            Gray::Opacity => 1.0,
        };
        let value = libm::floor(65_535.0 * gray * alpha + 0.5).clamp(0.0, 65_535.0) as u16;
        self.painted = (true, self.painted.1 || value > 0);
        Some(value)
    }

    /// Adds an element once for each set of the clip.
    pub(super) fn emit(
        &mut self,
        node: Node<'_, '_>,
        state: &State,
        mut add: impl FnMut(&mut Sketch) -> Result<(), Refused>,
    ) -> Result<(), Error> {
        let mut all = || {
            for set in state.clip.sets() {
                add(&mut self.sketch)?;
                for outline in set {
                    self.sketch.clip(&outline.path, outline.transform, outline.rule)?;
                }
            }
            Ok(())
        };
        let done: Result<(), Refused> = all();
        done.map_err(|cause| self.refused(node)(cause))
    }

    /// What a clip path keeps; nothing where it cannot be followed.
    fn clip(
        &mut self,
        name: &str,
        node: Node<'a, 'i>,
        state: &State,
        path: Option<&BezPath>,
    ) -> Result<Option<Clip>, Error> {
        let Some(target) = self
            .names
            .get(name)
            .copied()
            .filter(|t| t.tag_name().name() == "clipPath")
        else {
            return Ok(None);
        };
        self.visit(target, state.depth)?;
        let mut inner = State {
            style: Style::root(),
            clip: Clip::everything(),
            depth: state.depth + 1,
            ..state.clone()
        };
        let Some(own) = transform(target) else {
            return Ok(None);
        };
        inner.transform *= own;
        if target.attribute("clipPathUnits") == Some("objectBoundingBox") {
            let Some(path) = path else { return Ok(None) };
            let b = path.bounding_box();
            inner.transform *= Affine::new([b.width(), 0.0, 0.0, b.height(), b.x0, b.y0]);
        }
        self.open(target, node)?;
        // It inherits from where it stands, not from what it clips.
        let ancestors: Vec<_> = target.ancestors().filter(Node::is_element).collect();
        for ancestor in ancestors.into_iter().rev() {
            self.visit(target, state.depth)?;
            inner.style = self.style(ancestor, &inner.style, &inner.viewport)?;
        }
        for what in std::mem::take(&mut inner.style.ignored) {
            self.warn(target, format!("{what} is not followed"));
        }
        let mut sets = Vec::new();
        for child in target.children().filter(Node::is_element) {
            self.clip_child(child, &inner, &mut sets)?;
        }
        let mut clip = Clip::any(sets);
        if let Some(name) = inner.style.clip_path.take() {
            let outer = self.clip(&name, target, &inner, path)?;
            match outer.map(|outer| clip.and(&outer)) {
                Some(Some(both)) => clip = both,
                _ => self.warn(target, format!("the clip path {name:?} is not followed")),
            }
        }
        self.open.pop();
        Ok(Some(clip))
    }

    fn clip_child(
        &mut self,
        child: Node<'a, 'i>,
        outer: &State,
        sets: &mut Vec<Vec<Outline>>,
    ) -> Result<(), Error> {
        self.visit(child, outer.depth)?;
        let Some(own) = transform(child) else {
            return Ok(());
        };
        let mut state = outer.clone();
        state.transform *= own;
        state.depth += 1;
        if child.tag_name().name() == "use" {
            let Some(target) = self.find(child) else {
                return Ok(());
            };
            state.style = self.style(child, &state.style, &state.viewport)?;
            if !state.style.displayed || target.tag_name().name() == "use" {
                return Ok(());
            }
            let x = self
                .length(child, "x", Of::Width, &outer.viewport)?
                .unwrap_or(0.0);
            let y = self
                .length(child, "y", Of::Height, &outer.viewport)?
                .unwrap_or(0.0);
            state.transform *= Affine::translate((x, y));
            let (clip, first) = (state.style.clip_path.take(), sets.len());
            self.clip_child(target, &state, sets)?;
            return self.restrict(clip, child, &state, None, sets, first);
        }
        let is_text = child.tag_name().name() == "text";
        let path = match path(&self.context(&state), child)? {
            Some((path, _)) => path,
            None if is_text && self.fonts.is_empty() => {
                let what = "<text> does not clip, as no font is given";
                self.tell(child, what.to_owned(), Why::NoFont);
                return Ok(());
            }
            None if is_text => BezPath::new(),
            None => return Ok(()),
        };
        state.style = self.style(child, &state.style, &state.viewport)?;
        let path = if is_text && state.style.displayed {
            self.text_path(child, &state)?
        } else {
            path
        };
        if !state.style.displayed || !state.style.visible || path.elements().is_empty() {
            return Ok(());
        }
        let first = sets.len();
        let path = Rc::new(path);
        sets.push(vec![Outline {
            path: Rc::clone(&path),
            transform: state.transform,
            rule: if is_text {
                crate::Rule::NonZero
            } else {
                state.style.clip_rule
            },
        }]);
        let clip = state.style.clip_path.take();
        let boxed = (!is_text).then_some(&*path);
        self.restrict(clip, child, &state, boxed, sets, first)
    }

    /// Restricts the sets from `first` on to a clip path.
    fn restrict(
        &mut self,
        clip: Option<String>,
        node: Node<'a, 'i>,
        state: &State,
        path: Option<&BezPath>,
        sets: &mut Vec<Vec<Outline>>,
        first: usize,
    ) -> Result<(), Error> {
        let Some(name) = clip else { return Ok(()) };
        let own = Clip::any(sets.split_off(first));
        match self.clip(&name, node, state, path)?.map(|clip| own.and(&clip)) {
            Some(Some(both)) => sets.extend(both.sets().iter().cloned()),
            _ => {
                sets.extend(own.sets().iter().cloned());
                self.warn(node, format!("the clip path {name:?} is not followed"));
            }
        }
        Ok(())
    }
}
