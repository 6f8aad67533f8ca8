//! The top of the file: `relief`, `canvas`, definitions, the root.

use std::collections::HashMap;

use relief_raster::Depth;

use super::hints::{ALL_NODES, EXAMPLE_ROOT, ONE_DEFINITION, ONE_ROOT, foreign};
use super::values::listed;
use super::{Asset, Checker, Definition, DraftNode, Values, What};
use crate::kinds::{picture_settings, sized_picture};
use crate::report::Problem;
use crate::scan::ScanNode;
use crate::signature::{Group, SIGNATURES, Signature};
use crate::syntax::{Element, Span, shortened};
use crate::tree::{Axis, Canvas};
use crate::visible;

/// A checked file, but for what depends on sizes.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) canvas: Option<Canvas>,
    pub(crate) canvas_span: Option<Span>,
    /// The axes along which the surface is to close, and where that is written.
    pub(crate) wrap: Option<(&'static [Axis], Span)>,
    pub(crate) definitions: Vec<Definition>,
    /// The definitions by their names.
    pub(crate) by_name: HashMap<String, usize>,
    pub(crate) root: Option<DraftNode>,
    pub(crate) scan: Option<ScanNode>,
    /// Where the passes of the scan stand.
    pub(crate) passes_span: Option<Span>,
    /// The largest rounding of a length, in pixels, and where that is written.
    pub(crate) rounding: Option<(f64, Span)>,
    /// The bytes of all fonts.
    pub(crate) font_bytes: u64,
}

impl Checker<'_> {
    /// Checks all elements of a file.
    pub(crate) fn document(&mut self, elements: &[Element<'_>]) -> Document {
        self.version(elements);
        self.canvas(elements);
        let mut document = Document {
            canvas: self.canvas,
            canvas_span: self.canvas_span,
            wrap: self.wrap,
            definitions: Vec::new(),
            by_name: HashMap::new(),
            root: None,
            scan: None,
            passes_span: elements
                .iter()
                .find(|element| element.name.text == "scan")
                .and_then(|scan| scan.children.iter().find(|child| child.name.text == "passes"))
                .map(|passes| passes.name.span),
            rounding: None,
            font_bytes: 0,
        };
        document.scan = self.only_scan(elements);
        let mut root_span: Option<Span> = None;
        for element in elements {
            if !self.wants_more() {
                break;
            }
            match &*element.name.text {
                "relief" | "canvas" | "scan" => self.no_role(element),
                "parameter" => self.parameter(element),
                "define" => self.define(element, &mut document),
                _ if !self.may_be_root(element) => {}
                _ => {
                    self.no_role(element);
                    let (node, _) = self.node(element, false);
                    if let Some(first) = root_span {
                        let problem = Problem::new("E205", "a design has one root, found another");
                        let problem = problem
                            .label(element.name.span, "another root")
                            .label(first, "the first root");
                        self.note(problem.help(ONE_ROOT));
                    } else {
                        root_span = Some(element.name.span);
                        document.root = Some(node);
                    }
                }
            }
        }
        if root_span.is_none() && self.problems.is_empty() {
            let problem = Problem::new("E204", "the design has no root: no node to fill the canvas");
            let problem = match elements.last() {
                Some(last) => problem.label(last.name.span, "nothing after this"),
                None => problem,
            };
            self.note(problem.help(format!("add one, for instance: {EXAMPLE_ROOT}")));
        }
        self.check_uses(&document);
        self.check_canvas_from();
        document.rounding = self.rounding();
        document.font_bytes = self.font_bytes;
        document
    }

    fn version(&mut self, elements: &[Element<'_>]) {
        let mut found = elements
            .iter()
            .enumerate()
            .filter(|(_, e)| e.name.text == "relief");
        let help = "begin the file with: relief version=1";
        let Some((i, element)) = found.next() else {
            let first = elements.first().map_or(Span::default(), |e| e.name.span);
            self.note(
                Problem::new("E201", "the file does not say that it is a design")
                    .label(first, "before this")
                    .help(help),
            );
            return;
        };
        if i > 0 {
            let problem =
                Problem::new("E201", "`relief` does not stand first").label(element.name.span, "here");
            self.note(problem.help(help));
        }
        for (_, again) in found.take(4) {
            self.twice(again, element);
        }
        if let Some(signature) = Signature::of("relief") {
            let before = self.problems.len();
            self.values(element, signature);
            self.nothing_inside(element, signature);
            for problem in self
                .problems
                .iter_mut()
                .skip(before)
                .filter(|p| p.code() == "E402")
            {
                *problem = problem
                    .clone()
                    .with_code("E202")
                    .help("this version of Relief reads designs of version 1");
            }
        }
    }

    fn canvas(&mut self, elements: &[Element<'_>]) {
        let mut found = elements.iter().filter(|e| e.name.text == "canvas");
        let (Some(element), Some(signature)) = (found.next(), Signature::of("canvas")) else {
            let last = elements.first().map_or(Span::default(), |e| e.name.span);
            let problem = Problem::new("E203", "the design has no canvas").label(last, "after this");
            self.note(problem.help("add its size, for instance: canvas width=800 height=600"));
            return;
        };
        for again in found.take(4) {
            self.twice(again, element);
        }
        self.canvas_span = Some(element.name.span);
        // The side of a pixel and the depth decide what the other values mean, so they are read on their own first.
        let known = self.problems.len();
        let values = self.values(element, signature);
        self.problems.truncate(known);
        let given = |name: &str| element.properties.iter().any(|(given, _)| given.text == name);
        self.pixel = values.physical("pixel").or_else(|| values.physical("dpi"));
        self.pixel_is_wrong = self.pixel.is_none() && (given("pixel") || given("dpi"));
        self.amplitude = values.physical("amplitude");
        self.amplitude_is_wrong = self.amplitude.is_none() && given("amplitude");
        self.nearest = values
            .word("rounding")
            .map_or(given("dpi"), |rounding| rounding == "nearest");
        let former = given("depth") && !given("bits");
        let bits = if former { "depth" } else { "bits" };
        self.depth_span = values.span(bits);
        self.depth = match values.choice(bits) {
            Some(8) => Depth::Eight,
            // A depth that is wrong makes no sample wrong.
            _ => Depth::Sixteen,
        };
        let values = self.values(element, signature);
        self.nothing_inside(element, signature);
        let wraps: &[Axis] = match values.word("wrap") {
            Some("x") => &[Axis::X],
            Some("y") => &[Axis::Y],
            Some("both") => &[Axis::X, Axis::Y],
            _ => &[],
        };
        self.wrap = values.span("wrap").map(|span| (wraps, span));
        for (one, other) in [("dpi", "pixel"), ("depth", "bits")] {
            if let (Some(again), Some(first)) =
                (values.span(one), values.span(other).filter(|_| given(other)))
            {
                let problem = Problem::new("E410", format!("`{one}` and `{other}` say the same"));
                let problem = problem.label(again, "said again").label(first, "said first");
                self.note(problem.help(format!("remove `{one}`")));
            }
        }
        if let Some(span) = values.span("depth").filter(|_| former) {
            self.warn(
                Problem::new(
                    "W101",
                    "`depth` is called `bits` now, since depth also means a height",
                )
                .label(span, "the former word")
                .help(format!("write bits={}", self.depth.bits())),
            );
        }
        if let Some((width, height)) = self.canvas_size(element, signature, &values) {
            self.canvas = Some(Canvas {
                width,
                height,
                pixel: self.pixel,
                amplitude: self.amplitude,
                depth: self.depth,
            });
        }
    }

    /// The columns and rows of the canvas: those that it says, or those of the picture that it names.
    fn canvas_size(
        &mut self,
        element: &Element<'_>,
        signature: &Signature,
        values: &Values,
    ) -> Option<(u64, u64)> {
        let given = |name: &str| element.properties.iter().find(|(given, _)| given.text == name);
        let sides = ["width", "height"];
        let Some((from, _)) = given("from") else {
            for (name, _) in ["raw", "array", "index"].into_iter().filter_map(given) {
                let problem = Problem::new(
                    "E505",
                    format!("`{}` is of the picture that `from` names", name.text),
                );
                let problem = problem.label(name.span, "of no picture");
                self.note(problem.help("name it by `from`, or remove this"));
            }
            let missing = sides.into_iter().filter(|side| given(side).is_none());
            for parameter in missing.filter_map(|side| signature.all_properties().find(|p| p.name == side)) {
                self.missing_property(element, signature, parameter);
            }
            let side = |name: &str| values.pixels(name).map(i64::unsigned_abs);
            return Some((side("width")?, side("height")?));
        };
        for (side, _) in sides.into_iter().filter_map(given) {
            let problem = Problem::new("E410", format!("`{}` and `from` both say the size", side.text));
            let problem = problem
                .label(side.span, "said again")
                .label(from.span, "said first");
            self.note(problem.help(format!("remove `{}`", side.text)));
        }
        let (path, span) = values.text("from")?;
        self.canvas_from = Some((path.to_owned(), span));
        let conversion = sized_picture(values, self)?;
        let asset = Asset {
            kind: signature.name,
            path: path.to_owned(),
            settings: picture_settings(&conversion),
        };
        match self.asset_size(asset, span, |files| files.open(path, &conversion))? {
            Ok(known) => Some(known.size),
            Err(why) => {
                let problem = Problem::new("E505", format!("the picture cannot be used: {why}"));
                let problem = problem.label(span, "this file");
                self.note(problem.help(
                    "name a picture that an `image` of the design shows, or write `width` and `height`",
                ));
                None
            }
        }
    }

    /// The picture that gives the canvas its size belongs to the design, so that whatever carries a design carries it.
    fn check_canvas_from(&mut self) {
        let Some((path, span)) = self.canvas_from.take() else {
            return;
        };
        let shown = self
            .assets
            .keys()
            .any(|asset| asset.kind == "image" && asset.path == path);
        if !shown && self.problems.is_empty() {
            let problem = Problem::new(
                "E505",
                "no `image` of the design shows the picture that gives the canvas its size",
            );
            let problem = problem.label(span, "this file");
            self.note(problem.help(format!(
                "show it by image \"{}\", or write `width` and `height`",
                visible(&path)
            )));
        }
    }

    fn only_scan(&mut self, elements: &[Element<'_>]) -> Option<ScanNode> {
        let mut found = elements.iter().filter(|e| e.name.text == "scan");
        let element = found.next()?;
        for again in found.take(4) {
            self.twice(again, element);
        }
        self.scan(element)
    }

    fn nothing_inside(&mut self, element: &Element<'_>, signature: &Signature) {
        if let Some(child) = element.children.first() {
            let problem = Problem::new(
                "E307",
                format!("`{}` takes nothing between braces", signature.name),
            );
            let problem = problem
                .label(child.name.span, "not here")
                .label(element.name.span, "in this");
            self.note(problem.help("nodes stand after it, not in it"));
        }
    }

    fn twice(&mut self, again: &Element<'_>, first: &Element<'_>) {
        let problem = Problem::new("E206", format!("`{}` stands twice", first.name.text));
        let problem = problem
            .label(again.name.span, "again")
            .label(first.name.span, "first");
        self.note(problem.help("remove one of them"));
    }

    fn no_role(&mut self, element: &Element<'_>) {
        if let Some(annotation) = &element.annotation {
            let problem = Problem::new(
                "E312",
                format!(
                    "`{}` stands in no node and takes no role",
                    shortened(&element.name.text)
                ),
            );
            self.note(
                problem
                    .label(annotation.span, "here")
                    .help("remove it with its parentheses"),
            );
        }
    }

    /// Whether the element could be a root; if not, a problem says so.
    fn may_be_root(&mut self, element: &Element<'_>) -> bool {
        let name = &element.name.text;
        if Signature::of(name).is_some_and(|s| s.group == Group::Node) {
            return true;
        }
        if self.wants_more() {
            let words = || {
                SIGNATURES
                    .iter()
                    .filter(|s| s.group != Group::Parameter)
                    .map(|s| s.name)
            };
            let others = || {
                let others = SIGNATURES.iter().filter(|s| s.group == Group::Document);
                others.map(|s| s.name)
            };
            let near = match (self.suggestions.near(name, words()), foreign(name)) {
                (Some(near), _) => format!("did you mean `{near}`? "),
                (None, Some(hint)) => format!("{hint}; "),
                (None, None) => String::new(),
            };
            let message = format!("`{}` is not a word of the top of a design", shortened(name));
            let problem = Problem::new("E301", message).label(element.name.span, "unknown");
            let all = if near.is_empty() {
                format!("words here are {}, and all nodes; {ALL_NODES}", listed(others()))
            } else {
                ALL_NODES.to_owned()
            };
            self.note(problem.help(format!("{near}{all}")));
        }
        false
    }

    /// A parameter, whose value has been put into its places already.
    fn parameter(&mut self, element: &Element<'_>) {
        self.no_role(element);
        if let Some(signature) = Signature::of("parameter") {
            self.values(element, signature);
            self.nothing_inside(element, signature);
        }
    }

    fn define(&mut self, element: &Element<'_>, document: &mut Document) {
        self.no_role(element);
        let Some(signature) = Signature::of("define") else {
            return;
        };
        let values = self.values(element, signature);
        let mut nodes = element.children.iter();
        let node = nodes.next().map(|child| {
            self.no_role(child);
            self.node(child, false).0
        });
        let other = nodes.next();
        if node.is_none() || other.is_some() {
            let message = if node.is_none() {
                "`define` holds no node"
            } else {
                "`define` holds more than one node"
            };
            let problem =
                Problem::new("E604", message).label(other.map_or(element.name.span, |o| o.name.span), "here");
            self.note(problem.help(format!("a definition names one node; {ONE_DEFINITION}")));
        }
        let Some((name, span)) = values.text("name") else {
            return;
        };
        if let Some(&first) = document.by_name.get(name) {
            let problem = Problem::new(
                "E602",
                format!("the name {} is defined twice", crate::syntax::quoted(name)),
            );
            let problem = problem
                .label(span, "defined again")
                .label(document.definitions[first].span, "defined first");
            self.note(problem.help("give one of them another name"));
            return;
        }
        document
            .by_name
            .insert(name.to_owned(), document.definitions.len());
        document.definitions.push(Definition {
            name: name.to_owned(),
            span,
            node,
        });
    }

    /// Every `use` names a definition, and no definition uses itself.
    fn check_uses(&mut self, document: &Document) {
        let mut edges: Vec<Vec<(usize, Span)>> = Vec::with_capacity(document.definitions.len());
        for definition in &document.definitions {
            let mut uses = Vec::new();
            definition
                .node
                .iter()
                .for_each(|node| collect_uses(node, &mut uses));
            edges.push(self.known_uses(&uses, document));
        }
        let mut uses = Vec::new();
        document
            .root
            .iter()
            .for_each(|root| collect_uses(root, &mut uses));
        self.known_uses(&uses, document);
        for (user, span, used) in closing_edges(&edges) {
            let name = &document.definitions[used].name;
            let message = format!("the definition {} uses itself", crate::syntax::quoted(name));
            let mut problem = Problem::new("E603", message)
                .label(span, "used here")
                .label(document.definitions[used].span, "defined here");
            if user != used {
                problem = problem.label(document.definitions[user].span, "through this");
            }
            self.note(problem.help("a node cannot be part of itself; remove one `use`"));
        }
    }

    fn known_uses(&mut self, uses: &[(&str, Span)], document: &Document) -> Vec<(usize, Span)> {
        let mut known = Vec::new();
        for &(name, span) in uses {
            if let Some(&i) = document.by_name.get(name) {
                known.push((i, span));
            } else if self.wants_more() {
                let names = document.definitions.iter().take(1_000).map(|d| d.name.as_str());
                let near = self.suggestions.near(name, names);
                let help = match near {
                    Some(near) => format!("did you mean {}?", crate::syntax::quoted(near)),
                    None => format!(
                        "add it at the top of the file: define {} {{ … }}",
                        crate::syntax::quoted(name)
                    ),
                };
                let problem = Problem::new(
                    "E601",
                    format!("nothing is defined as {}", crate::syntax::quoted(name)),
                );
                self.note(problem.label(span, "unknown").help(help));
            }
        }
        known
    }
}

/// All names that are used within the node; its depth is bounded by that of the file.
fn collect_uses<'d>(node: &'d DraftNode, uses: &mut Vec<(&'d str, Span)>) {
    if let What::Use { name, span } = &node.what {
        uses.push((name, *span));
    }
    for child in &node.children {
        collect_uses(&child.node, uses);
    }
}

/// The edges of a graph that lead back to where a walk came from: there is one in every cycle.
///
/// The walk keeps its own stack: a chain of definitions may be longer than the machine's.
fn closing_edges(edges: &[Vec<(usize, Span)>]) -> Vec<(usize, Span, usize)> {
    #[derive(Clone, Copy, PartialEq)]
    enum Visit {
        Not,
        On,
        Done,
    }
    let mut visits = vec![Visit::Not; edges.len()];
    let mut closing = Vec::new();
    for start in 0..edges.len() {
        if visits[start] != Visit::Not {
            continue;
        }
        visits[start] = Visit::On;
        let mut stack = vec![(start, 0_usize)];
        while let Some((node, next)) = stack.last_mut() {
            let node = *node;
            let Some(&(to, span)) = edges[node].get(*next) else {
                visits[node] = Visit::Done;
                stack.pop();
                continue;
            };
            *next += 1;
            match visits[to] {
                Visit::Not => {
                    visits[to] = Visit::On;
                    stack.push((to, 0));
                }
                Visit::On => closing.push((node, span, to)),
                Visit::Done => {}
            }
        }
    }
    closing
}
