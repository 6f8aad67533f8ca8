//! From the tree of a document to elements.

use std::collections::HashMap;
use std::rc::Rc;

use kurbo::{Affine, BezPath, Shape as _};
use svgtypes::Color;

use super::clip::{Clip, Outline};
use super::shape::path;
use super::sheet::{Sheet, Spot, Text, is_for_print, shortened};
use super::style::{Ink, Node, Style};
use super::value::{Em, Length, MEDIUM, Of, Units, Viewport, fit, no_pixel, size, view_box};
use super::{Document, Error, Gray, MAX_WARNINGS, Options, Picture, Place, SVG, Warning, Why};
use crate::data::Segments;
use crate::limits::Refused;
use crate::text::Font;
use crate::{Pixel, Sketch, Stroke, shapes};

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

/// What a warning is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Node(roxmltree::NodeId),
    Sheet(Spot),
}

pub(super) struct Drawer<'a, 'i> {
    pub(super) document: &'a Document<'i>,
    pub(super) options: &'a Options,
    pub(super) fonts: &'a [&'a Font],
    sheet: Sheet<'a>,
    pub(super) units: Units,
    names: HashMap<&'a str, Node<'a, 'i>>,
    pub(super) sketch: Sketch,
    visited: u64,
    /// What matching an element with all rules comes to.
    ways: u64,
    /// Uses and clip paths that are being drawn.
    open: Vec<roxmltree::NodeId>,
    warnings: Vec<Warning>,
    /// What they are about, in their order: to find a place takes long.
    told: Vec<Source>,
    more: u64,
    /// Something was painted, and something that shows.
    painted: (bool, bool),
    mixed: bool,
}

/// Why an attribute is told.
pub(super) const UNREAD: &str = "is not read, and counts as if it were not written";

/// Ways to match rules of style sheets with elements: a rule that names ancestors is tried with each choice of so many among those of an element.
const MAX_MATCHES: u64 = 1 << 28;

/// Bytes of all style sheets, and of a `style` attribute: their reader takes time by the square of them.
const MAX_SHEETS: usize = 256 << 10;
const MAX_STYLE: usize = 4 << 10;

/// Refuses style sheets that take long to read.
fn measure(document: &Document<'_>) -> Result<(), Error> {
    let mut bytes = 0;
    for node in elements(document) {
        let refused = |what: String| Error::Styles {
            place: document.place(node),
            what,
        };
        if node.tag_name().name() == "style" {
            bytes += node
                .children()
                .filter_map(|text| text.text())
                .map(str::len)
                .sum::<usize>();
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
    Ok(())
}

fn elements<'a, 'i>(document: &'a Document<'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    document
        .tree
        .root_element()
        .descendants()
        .filter(Node::is_element)
}

/// The style sheets of a document that are for a picture like this one, and what is not read among them.
fn sheets<'a>(document: &'a Document<'_>) -> (Vec<Text<'a>>, Vec<(Node<'a, 'a>, String)>) {
    let (mut texts, mut untold) = (Vec::new(), Vec::new());
    for node in document.tree.root().children().filter(|node| node.is_pi()) {
        if node.pi().is_some_and(|pi| pi.target == "xml-stylesheet") {
            untold.push((
                node,
                "no other file is opened: the style sheet is not followed".to_owned(),
            ));
        }
    }
    for node in elements(document).filter(|node| node.tag_name().name() == "style") {
        let kind = node
            .attribute("type")
            .map(str::trim)
            .filter(|kind| !kind.is_empty());
        if let Some(kind) = kind.filter(|kind| !kind.to_ascii_lowercase().starts_with("text/css")) {
            untold.push((
                node,
                format!("a style sheet of the type {kind:?} is not followed"),
            ));
            continue;
        }
        match node.attribute("media").map_or(Some(true), is_for_print) {
            Some(true) => texts.extend(node.children().filter(Node::is_text).map(Text::new)),
            Some(false) => {}
            None => {
                let media = node.attribute("media").unwrap_or_default();
                untold.push((
                    node,
                    format!("a style sheet for {:?} is not followed", shortened(media)),
                ));
            }
        }
    }
    (texts, untold)
}

/// The size of the font of the root.
pub(super) fn root_em(document: &Document<'_>, pixel: Option<Pixel>) -> Em {
    if measure(document).is_err() {
        return MEDIUM;
    }
    let (texts, _) = sheets(document);
    let sheet = Sheet::read(&texts);
    root_style(document, &sheet, &Units::unknown(pixel)).letters.size
}

fn root_style(document: &Document<'_>, sheet: &Sheet<'_>, units: &Units) -> Style {
    Style::root().of(document.tree.root_element(), sheet, units)
}

pub(super) fn draw(document: &Document<'_>, options: &Options, fonts: &[&Font]) -> Result<Picture, Error> {
    let root = document.tree.root_element();
    // Before they are read.
    measure(document)?;
    let (texts, untold) = sheets(document);
    let sheet = Sheet::read(&texts);
    let mut names = HashMap::new();
    let (mut depths, mut deepest) = (Vec::new(), 0_u32);
    for node in elements(document) {
        // Parents stand before their children.
        let outer = node
            .parent_element()
            .and_then(|parent| depths.get(parent.id().get_usize()));
        let depth = outer.map_or(0, |outer: &u32| outer + 1);
        depths.resize(node.id().get_usize() + 1, 0);
        depths[node.id().get_usize()] = depth;
        deepest = deepest.max(depth);
        if let Some(name) = node.attribute("id") {
            names.entry(name).or_insert(node);
        }
    }
    let (width, height) =
        size(document, root, options.pixel, || root_em(document, options.pixel))?.unwrap_or((100.0, 100.0));
    let mut units = Units::unknown(options.pixel);
    units.page = Viewport { width, height };
    units.rem = root_style(document, &sheet, &units).letters.size;
    let mut drawer = Drawer {
        document,
        ways: sheet.ways(deepest.into()),
        options,
        fonts,
        sheet,
        units,
        names,
        sketch: Sketch::new(options.limits),
        visited: 0,
        open: Vec::new(),
        warnings: Vec::new(),
        told: Vec::new(),
        more: 0,
        painted: (false, false),
        mixed: false,
    };
    for (node, what) in untold {
        drawer.warn(node, what);
    }
    for (spot, what) in std::mem::take(&mut drawer.sheet.untold) {
        drawer.tell_of(Source::Sheet(spot), what, Why::Undrawn);
    }
    let mut state = State {
        style: Style::root(),
        transform: options.transform,
        opacity: 1.0,
        clip: Clip::everything(),
        viewport: Viewport { width, height },
        depth: 0,
    };
    for (name, of) in [("width", Of::Width), ("height", Of::Height)] {
        // Read for what is told alone: the size is known.
        drawer.side(root, name, of, &state)?;
    }
    if root
        .attribute("transform")
        .is_some_and(|own| !own.trim().is_empty())
    {
        drawer.warn(root, "the transform of the whole document is not followed");
    }
    drawer.frame(root, &mut state, (width, height));
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

/// The data of a path of which nothing but the inside is asked for, once, and that begins without a fault.
fn filled_data<'a>(node: Node<'a, '_>, state: &State) -> Option<&'a str> {
    let style = &state.style;
    let is_once = state.clip.sets().len() == 1 && style.clip_path.is_none();
    if node.tag_name().name() != "path" || !is_once || !style.visible {
        return None;
    }
    if style.stroke != Ink::None || style.fill == Ink::None {
        return None;
    }
    let data = node.attribute("d")?.trim();
    Segments::new(data).next()?.ok()?;
    Some(data)
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

/// Elements that draw nothing where they stand, or whose parent has told of them.
fn draws_nothing(name: &str) -> bool {
    matches!(
        name,
        "clipPath"
            | "color-profile"
            | "cursor"
            | "defs"
            | "desc"
            | "filter"
            | "font"
            | "font-face"
            | "hatch"
            | "linearGradient"
            | "marker"
            | "mask"
            | "mesh"
            | "meshgradient"
            | "metadata"
            | "pattern"
            | "radialGradient"
            | "solidColor"
            | "solidcolor"
            | "stop"
            | "style"
            | "symbol"
            | "title"
            | "tspan"
            | "view"
    ) || is_animation(name)
}

/// Elements that change another one in time.
fn is_animation(name: &str) -> bool {
    matches!(
        name,
        "animate" | "animateColor" | "animateMotion" | "animateTransform" | "set" | "discard"
    )
}

pub(super) fn href<'a>(node: Node<'a, '_>) -> Option<&'a str> {
    node.attribute("href")
        .or_else(|| node.attribute(("http://www.w3.org/1999/xlink", "href")))
        .map(str::trim)
}

impl<'a, 'i> Drawer<'a, 'i> {
    pub(super) fn warn(&mut self, node: Node<'_, '_>, what: impl Into<String>) {
        self.tell(node, what.into(), Why::Undrawn);
    }

    pub(super) fn tell(&mut self, node: Node<'_, '_>, what: String, why: Why) {
        self.tell_of(Source::Node(node.id()), what, why);
    }

    fn tell_of(&mut self, source: Source, what: String, why: Why) {
        let mut told = self.told.iter().zip(&self.warnings);
        if told.any(|(told, warning)| *told == source && warning.what == what) {
            return;
        }
        if self.warnings.len() >= MAX_WARNINGS {
            self.more += 1;
            return;
        }
        let place = match source {
            Source::Node(id) => self
                .document
                .tree
                .get_node(id)
                .map(|node| self.document.place(node)),
            Source::Sheet(spot) => self.sheet.place(self.document, spot),
        };
        let place = place.unwrap_or(Place { line: 1, column: 1 });
        self.told.push(source);
        self.warnings.push(Warning { place, what, why });
    }

    pub(super) fn refused(&self, node: Node<'_, '_>) -> impl Fn(Refused) -> Error {
        let place = self.document.place(node);
        let element = super::sheet::shortened(node.tag_name().name());
        move |cause| Error::Refused {
            place,
            element: element.clone(),
            cause,
        }
    }

    /// Counts a visit and looks at the depth.
    pub(super) fn visit(&mut self, node: Node<'_, '_>, depth: u32) -> Result<(), Error> {
        let limits = &self.options.limits;
        self.visited += 1;
        if self.visited > limits.items {
            return Err(self.refused(node)(Refused::Items(limits.items)));
        }
        if self.visited.saturating_mul(self.ways) > MAX_MATCHES {
            let rules = self.sheet.len();
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
        match self.enter(node, outer)? {
            Some(state) => self.children(node, &state),
            None => Ok(()),
        }
    }

    fn children(&mut self, node: Node<'a, 'i>, state: &State) -> Result<(), Error> {
        for child in node.children().filter(Node::is_element) {
            self.element(child, state)?;
        }
        Ok(())
    }

    /// The style of an element within one of the style `outer`.
    pub(super) fn style(&mut self, node: Node<'a, 'i>, outer: &Style) -> Style {
        let mut style = outer.of(node, &self.sheet, &self.units);
        for fault in std::mem::take(&mut style.faults) {
            if fault.is_told_once && self.warnings.iter().any(|told| told.what == fault.what) {
                continue;
            }
            let source = fault.spot.map_or(Source::Node(node.id()), Source::Sheet);
            self.tell_of(source, fault.what, Why::Undrawn);
        }
        style
    }

    /// The state within an element, without its transform and its clip path; nothing where it is not drawn.
    fn begin(&mut self, node: Node<'a, 'i>, outer: &State) -> Option<State> {
        let style = self.style(node, &outer.style);
        if !style.displayed || style.opacity == 0.0 {
            return None;
        }
        self.tell_ignored(node, &style);
        Some(State {
            opacity: outer.opacity * style.opacity,
            depth: outer.depth + 1,
            style,
            ..outer.clone()
        })
    }

    /// Tells what of an element is not followed.
    fn tell_ignored(&mut self, node: Node<'a, 'i>, style: &Style) {
        for what in &style.ignored {
            self.warn(node, format!("{what} is not followed"));
        }
        let moves = |child: &Node<'_, '_>| child.is_element() && is_animation(child.tag_name().name());
        if let Some(child) = node.children().find(moves) {
            let name = child.tag_name().name();
            self.warn(
                child,
                format!("<{name}> is not followed: the picture is that without it"),
            );
        }
    }

    /// Restricts an element to its clip path; `path` is its own where it is a shape.
    fn clipped(
        &mut self,
        node: Node<'a, 'i>,
        state: &mut State,
        path: Option<&BezPath>,
    ) -> Result<(), Error> {
        let Some(name) = state.style.clip_path.take() else {
            return Ok(());
        };
        match self.clip(&name, node, state, path)? {
            Some(clip) => {
                let both = state.clip.and(&clip);
                state.clip =
                    both.ok_or_else(|| self.refused(node)(Refused::Items(self.options.limits.items)))?;
            }
            None => self.warn(node, format!("the clip path {name:?} is not followed")),
        }
        Ok(())
    }

    /// The state within an element that is no shape, without its transform; nothing where it is not drawn.
    pub(super) fn enter(&mut self, node: Node<'a, 'i>, outer: &State) -> Result<Option<State>, Error> {
        let Some(mut state) = self.begin(node, outer) else {
            return Ok(None);
        };
        self.clipped(node, &mut state, None)?;
        Ok(Some(state))
    }

    fn element(&mut self, node: Node<'a, 'i>, outer: &State) -> Result<(), Error> {
        self.visit(node, outer.depth)?;
        let name = node.tag_name().name();
        if node.tag_name().namespace() != Some(SVG) {
            if node.tag_name().namespace() == Some("http://www.w3.org/1999/xhtml") {
                self.warn(node, format!("<{}> of HTML is not followed", shortened(name)));
            }
            return Ok(());
        }
        if !shown(node) {
            return Ok(());
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
            "script" => {
                self.warn(node, "scripts are not run");
                Ok(())
            }
            name if draws_nothing(name) => Ok(()),
            _ => {
                self.warn(node, format!("<{}> is not known and not drawn", shortened(name)));
                Ok(())
            }
        }
    }

    /// The first child that is known and whose conditions hold: English, and no extensions.
    fn switch(&mut self, node: Node<'a, 'i>, outer: &State) -> Result<(), Error> {
        let Some(state) = self.enter(node, outer)? else {
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

    /// A length of an element in user units.
    pub(super) fn resolve(
        &self,
        node: Node<'_, '_>,
        length: Length,
        of: Of,
        state: &State,
    ) -> Result<f64, Error> {
        let em = &state.style.letters.size;
        let value = length.resolved(of, &state.viewport, em, &self.units);
        value.map_err(|length| no_pixel(self.document, node, &length))
    }

    /// Tells that an attribute is not read.
    pub(super) fn unread(&mut self, node: Node<'_, '_>, name: &str, text: &str, why: &str) {
        self.warn(node, format!("{name}={:?} {why}", shortened(text)));
    }

    /// A length that is an attribute; what is none is told, and counts as if it were not written.
    pub(super) fn length(
        &mut self,
        node: Node<'_, '_>,
        name: &str,
        of: Of,
        state: &State,
    ) -> Result<Option<f64>, Error> {
        let Some(text) = node
            .attribute(name)
            .map(str::trim)
            .filter(|text| !text.is_empty())
        else {
            return Ok(None);
        };
        let value = match Length::parse(text) {
            Some(length) => self.resolve(node, length, of, state)?,
            None => f64::NAN,
        };
        if !value.is_finite() {
            self.unread(node, name, text, UNREAD);
            return Ok(None);
        }
        Ok(Some(value))
    }

    /// As [`Drawer::length`], of one that may be `auto` and is not negative.
    pub(super) fn side(
        &mut self,
        node: Node<'_, '_>,
        name: &str,
        of: Of,
        state: &State,
    ) -> Result<Option<f64>, Error> {
        if node.attribute(name).is_some_and(|text| text.trim() == "auto") {
            return Ok(None);
        }
        let value = self.length(node, name, of, state)?;
        if value.is_some_and(|value| value < 0.0) {
            let text = node.attribute(name).unwrap_or_default();
            self.unread(
                node,
                name,
                text,
                "is negative, and counts as if it were not written",
            );
            return Ok(None);
        }
        Ok(value)
    }

    fn aspect(&mut self, node: Node<'_, '_>) -> svgtypes::AspectRatio {
        let Some(text) = node
            .attribute("preserveAspectRatio")
            .filter(|text| !text.trim().is_empty())
        else {
            return svgtypes::AspectRatio::default();
        };
        text.trim().parse().unwrap_or_else(|_| {
            self.unread(node, "preserveAspectRatio", text, UNREAD);
            svgtypes::AspectRatio::default()
        })
    }

    /// Goes into the view box of an element whose viewport has this size.
    fn frame(&mut self, node: Node<'_, '_>, state: &mut State, (width, height): (f64, f64)) {
        state.viewport = Viewport { width, height };
        if let Some(view) = view_box(node) {
            state.transform *= fit(&view, self.aspect(node), (width, height));
            state.viewport = Viewport {
                width: view.w,
                height: view.h,
            };
        } else if let Some(text) = node.attribute("viewBox").filter(|text| !text.trim().is_empty()) {
            self.unread(
                node,
                "viewBox",
                text,
                "is no box with an area, and counts as if it were not written",
            );
        }
    }

    /// An `svg` or `symbol` within another: a viewport of its own. `sized` is the element that has its size.
    fn nested(&mut self, node: Node<'a, 'i>, sized: Node<'a, 'i>, outer: &State) -> Result<(), Error> {
        let Some(mut state) = self.begin(node, outer) else {
            return Ok(());
        };
        let (around, whole) = (state.clone(), outer.viewport);
        let mut side = |name, of, whole: f64| -> Result<f64, Error> {
            let own = self.side(sized, name, of, outer)?;
            let own = if own.is_none() {
                self.side(node, name, of, &around)?
            } else {
                own
            };
            Ok(own.unwrap_or(whole))
        };
        let (width, height) = (
            side("width", Of::Width, whole.width)?,
            side("height", Of::Height, whole.height)?,
        );
        if !(width > 0.0 && height > 0.0) {
            return Ok(());
        }
        if node.tag_name().name() == "svg" {
            let x = self.length(node, "x", Of::Width, &around)?.unwrap_or(0.0);
            let y = self.length(node, "y", Of::Height, &around)?.unwrap_or(0.0);
            state.transform *= Affine::translate((x, y));
        } else {
            for name in ["refX", "refY"] {
                if node.attribute(name).is_some_and(|place| place.trim() != "0") {
                    self.warn(node, format!("`{name}` of a symbol is not followed"));
                }
            }
        }
        if !state.style.overflows {
            let window = Outline {
                path: Rc::new(shapes::rectangle((0.0, 0.0), (width, height))),
                transform: state.transform,
                rule: crate::Rule::NonZero,
            };
            match state.clip.and(&Clip::any(vec![vec![window]])) {
                Some(clip) => state.clip = clip,
                None => self.warn(node, "its viewport does not clip it: too many clip paths meet"),
            }
        }
        self.frame(node, &mut state, (width, height));
        self.clipped(node, &mut state, None)?;
        self.children(node, &state)
    }

    fn find(&mut self, node: Node<'a, 'i>) -> Option<Node<'a, 'i>> {
        let Some(target) = href(node) else {
            self.warn(
                node,
                format!("<{}> names nothing by `href`", node.tag_name().name()),
            );
            return None;
        };
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
        let Some(mut state) = self.enter(node, outer)? else {
            return Ok(());
        };
        let x = self.length(node, "x", Of::Width, &state)?.unwrap_or(0.0);
        let y = self.length(node, "y", Of::Height, &state)?.unwrap_or(0.0);
        state.transform *= Affine::translate((x, y));
        self.open(target, node)?;
        let done = match target.tag_name().name() {
            "symbol" => {
                self.visit(target, state.depth)?;
                match transform(target) {
                    Some(own) => state.transform *= own,
                    None => self.warn(
                        target,
                        "its transform cannot be read, and counts as if it were not written",
                    ),
                }
                self.nested(target, node, &state)
            }
            "svg" => {
                self.visit(target, state.depth)?;
                self.nested(target, node, &state)
            }
            name if draws_nothing(name) => {
                self.warn(node, format!("<use> of a <{name}> draws nothing"));
                Ok(())
            }
            _ => self.element(target, &state),
        };
        self.open.pop();
        done
    }

    fn shape(&mut self, node: Node<'a, 'i>, outer: &State) -> Result<(), Error> {
        let Some(mut state) = self.begin(node, outer) else {
            return Ok(());
        };
        if let Some(data) = filled_data(node, &state) {
            return self.fill_data(node, &state, data);
        }
        let Some(path) = path(self, node, &state)? else {
            return Ok(());
        };
        self.clipped(node, &mut state, Some(&path))?;
        if !state.style.visible || path.elements().is_empty() {
            return Ok(());
        }
        self.tell_of_shape(node, &state);
        for stroke in [state.style.stroke_first, !state.style.stroke_first] {
            if stroke {
                if let Some((value, look)) = self.line(node, &state, &path)? {
                    self.emit(node, &state, |sketch| {
                        sketch.stroke(&path, state.transform, value, &look)
                    })?;
                }
            } else if let Some(value) = self.value(node, &state, &state.style.fill, state.style.fill_opacity)
            {
                self.emit(node, &state, |sketch| {
                    sketch.fill(&path, state.transform, value, state.style.fill_rule)
                })?;
            }
        }
        Ok(())
    }

    /// Tells what of a shape is not followed.
    fn tell_of_shape(&mut self, node: Node<'a, 'i>, state: &State) {
        let has_marks = matches!(
            node.tag_name().name(),
            "path" | "line" | "polyline" | "polygon" | "circle" | "ellipse" | "rect"
        );
        if has_marks && state.style.markers.contains(&true) {
            self.warn(node, "markers are not drawn");
        }
        if state.style.crisp {
            self.warn(
                node,
                "`shape-rendering` is not followed; antialias=\"none\" samples all by centres of pixels",
            );
        }
    }

    /// Fills a path that is not needed otherwise.
    fn fill_data(&mut self, node: Node<'a, 'i>, state: &State, data: &str) -> Result<(), Error> {
        self.tell_of_shape(node, state);
        let Some(value) = self.value(node, state, &state.style.fill, state.style.fill_opacity) else {
            return Ok(());
        };
        let mut fault = None;
        self.emit(node, state, |sketch| {
            fault = sketch.fill_data(data, state.transform, value, state.style.fill_rule)?;
            Ok(())
        })?;
        if let Some(at) = fault {
            self.warn(node, super::shape::faulty(at));
        }
        Ok(())
    }

    /// The value and the look of the line along a path; nothing where there is none.
    pub(super) fn line(
        &mut self,
        node: Node<'a, 'i>,
        state: &State,
        path: &BezPath,
    ) -> Result<Option<(u16, Stroke)>, Error> {
        let style = &state.style;
        let Some(value) = self.value(node, state, &style.stroke, style.stroke_opacity) else {
            return Ok(None);
        };
        let width = self.resolve(node, style.stroke_width, Of::Diagonal, state)?;
        if width <= 0.0 {
            return Ok(None);
        }
        let mut look = Stroke::solid(width);
        (look.cap, look.join, look.miter_limit) = (style.cap, style.join, style.miter_limit);
        if !style.dashes.is_empty() {
            let per_unit = self.dash_unit(node, path);
            let read = |length: Length| Ok(self.resolve(node, length, Of::Diagonal, state)? * per_unit);
            look.dashes = style
                .dashes
                .iter()
                .map(|dash| read(*dash))
                .collect::<Result<_, Error>>()?;
            look.dash_offset = read(style.dash_offset)?;
        }
        Ok(Some((value, look)))
    }

    /// How long a unit of dashes is: SVG 2, 9.6, has `pathLength` be the length of the whole path.
    fn dash_unit(&mut self, node: Node<'_, '_>, path: &BezPath) -> f64 {
        const ACCURACY: f64 = 1.0 / 1_024.0;
        let is_shape = !matches!(node.tag_name().name(), "text" | "tspan" | "a");
        let Some(text) = node
            .attribute("pathLength")
            .filter(|text| is_shape && !text.trim().is_empty())
        else {
            return 1.0;
        };
        let parts = path.segments();
        let length: f64 = parts
            .map(|part| kurbo::ParamCurveArclen::arclen(&part, ACCURACY))
            .sum();
        match super::value::plain(text)
            .filter(|whole| *whole > 0.0)
            .map(|whole| length / whole)
        {
            Some(unit) if unit.is_finite() => unit,
            _ => {
                self.unread(node, "pathLength", text, UNREAD);
                1.0
            }
        }
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
            inner.style = self.style(ancestor, &inner.style);
        }
        let style = inner.style.clone();
        self.tell_ignored(target, &style);
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
        let name = child.tag_name().name();
        if child.tag_name().namespace() != Some(SVG) || !shown(child) || draws_nothing(name) {
            return Ok(());
        }
        let Some(own) = transform(child) else {
            self.warn(child, "its transform cannot be read; it does not clip");
            return Ok(());
        };
        let mut state = outer.clone();
        state.transform *= own;
        state.depth += 1;
        let is_text = name == "text";
        let is_shape = matches!(
            name,
            "path" | "rect" | "circle" | "ellipse" | "line" | "polyline" | "polygon"
        );
        if !is_text && !is_shape && name != "use" {
            self.warn(
                child,
                format!("<{}> in a clip path does not clip", shortened(name)),
            );
            return Ok(());
        }
        state.style = self.style(child, &state.style);
        if !state.style.displayed {
            return Ok(());
        }
        let style = state.style.clone();
        self.tell_ignored(child, &style);
        if name == "use" {
            let Some(target) = self.find(child) else {
                return Ok(());
            };
            if target.tag_name().name() == "use" {
                self.warn(child, "<use> of a <use> in a clip path does not clip");
                return Ok(());
            }
            let x = self.length(child, "x", Of::Width, &state)?.unwrap_or(0.0);
            let y = self.length(child, "y", Of::Height, &state)?.unwrap_or(0.0);
            state.transform *= Affine::translate((x, y));
            let (clip, first) = (state.style.clip_path.take(), sets.len());
            self.clip_child(target, &state, sets)?;
            return self.restrict(clip, child, &state, None, sets, first);
        }
        if is_text && self.fonts.is_empty() {
            let what = "<text> does not clip, as no font is given";
            self.tell(child, what.to_owned(), Why::NoFont);
            return Ok(());
        }
        let path = if is_text {
            self.text_path(child, &state)?
        } else {
            path(self, child, &state)?.unwrap_or_default()
        };
        if !state.style.visible || path.elements().is_empty() {
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
