//! Elements that are nodes: their kinds, their children, their tables.

use std::sync::Arc;

use super::hints::foreign;
use super::values::{Values, listed};
use super::{Checker, DraftChild, DraftNode, TableKey, Vector, What};
use crate::expression::Function;
use crate::report::Problem;
use crate::signature::{ChildName, Count, Group, MAX_POINTS, SIGNATURES, Signature};
use crate::syntax::{Element, Literal, Span, shortened};
use crate::table::{self, Fault, Points};
use crate::tree::{Axis, Blend, Conversion, Gray, Kind, Role};

/// The most operations that all tables of a design may take: 2^31, half a second of one processor: an addition counts
/// for 3, and all else for what it takes beside one.
///
/// A profile of the greatest radius has 2^24 + 1 values. A value counts for at least 16 operations, which
/// bounds the memory of all tables to 256 MiB.
pub const MAX_TABLE_WORK: u64 = 1 << 31;

/// The most files that a design may name as images, each counted once for every way in which its path is written.
pub const MAX_FILES: usize = 16_384;

/// The operations that a value of a table counts for at least.
const LEAST_WORK: u64 = 16;

/// The operations that a value of a tone curve by a power counts for.
const GAMMA_WORK: u64 = 112;

/// The greatest magnitude of the numbers that an image is converted by: products with 2·M stay finite.
const MAX_NUMBER: f64 = 1e300;

/// What stands between the braces of a node.
pub(super) struct Inner<'e, 'a> {
    nodes: Vec<DraftChild>,
    pub(super) parameters: Vec<&'e Element<'a>>,
    pub(super) broken: bool,
}

impl<'e, 'a> Inner<'e, 'a> {
    pub(super) fn parameter(&self, name: &str) -> Option<&'e Element<'a>> {
        self.parameters.iter().find(|e| e.name.text == name).copied()
    }
}

impl Checker<'_> {
    /// The element as a node; all that is wrong with it and within it is noted.
    pub(super) fn node(&mut self, element: &Element<'_>) -> DraftNode {
        let span = element.name.span;
        let mut node = DraftNode {
            what: What::Broken,
            x: None,
            y: None,
            width: None,
            height: None,
            children: Vec::new(),
            span,
            broken: true,
        };
        let signature = Signature::of(&element.name.text).filter(|signature| signature.group == Group::Node);
        let Some(signature) = signature else {
            self.unknown_node(element);
            return node;
        };
        if !self.wants_more() {
            return node;
        }
        let values = self.values(element, signature);
        let inner = self.inner(element, signature);
        node.x = values.length("x");
        node.y = values.length("y");
        node.width = values.length("width");
        node.height = values.length("height");
        if let Some(what) = self.what(element, signature, &values, &inner) {
            node.what = what;
            node.broken = values.broken || inner.broken;
        }
        node.children = inner.nodes;
        node
    }

    fn unknown_node(&mut self, element: &Element<'_>) {
        if !self.wants_more() {
            return;
        }
        let name = shortened(&element.name.text);
        let nodes = || {
            SIGNATURES
                .iter()
                .filter(|s| s.group == Group::Node)
                .map(|s| s.name)
        };
        let help = match Signature::of(&element.name.text) {
            Some(signature) if signature.group == Group::Parameter => {
                format!("`{name}` is a parameter and takes no role")
            }
            Some(_) => format!("`{name}` stands at the top of the file only"),
            None => match (self.suggestions.near(&name, nodes()), foreign(&name)) {
                (Some(near), _) => format!("did you mean `{near}`? nodes are {}", listed(nodes())),
                (None, Some(hint)) => format!("{hint}; nodes are {}", listed(nodes())),
                (None, None) => format!("nodes are {}", listed(nodes())),
            },
        };
        self.note(
            Problem::new("E301", format!("`{name}` is no node"))
                .label(element.name.span, "unknown")
                .help(help),
        );
    }

    /// Sorts the children into nodes and parameters, against the rules of the signature.
    pub(super) fn inner<'e, 'a>(
        &mut self,
        element: &'e Element<'a>,
        signature: &'static Signature,
    ) -> Inner<'e, 'a> {
        let mut inner = Inner {
            nodes: Vec::new(),
            parameters: Vec::new(),
            broken: false,
        };
        let mut roles: Vec<(Role, Span)> = Vec::new();
        for child in &element.children {
            if !self.wants_more() {
                inner.broken = true;
                return inner;
            }
            if signature.parameters().any(|name| name == child.name.text) {
                inner.broken |= !self.parameter_child(child, &mut inner.parameters, signature);
            } else if let Some(role) = self.role(child, element, signature) {
                let span = child.annotation.as_ref().map_or(child.name.span, |a| a.span);
                if is_once(signature, ChildName::Role(role))
                    && let Some((_, first)) = roles.iter().find(|(r, _)| *r == role)
                {
                    inner.broken = true;
                    self.child_twice(
                        &format!("a child in the role `{}`", role.name()),
                        signature,
                        span,
                        *first,
                    );
                } else {
                    roles.push((role, span));
                }
                let node = self.node(child);
                inner.broken |= node.broken;
                inner.nodes.push(DraftChild { role, node });
            } else {
                inner.broken = true;
                self.misplaced(child);
            }
        }
        inner.broken |= self.missing_children(element, signature, &inner);
        inner
    }

    /// Checks a child whose role is in doubt for what else is wrong with it.
    fn misplaced(&mut self, child: &Element<'_>) {
        if Signature::of(&child.name.text).is_some_and(|s| s.group == Group::Node) {
            self.node(child);
        }
    }

    /// Keeps a parameter child; whether nothing is wrong with its standing here.
    fn parameter_child<'e, 'a>(
        &mut self,
        child: &'e Element<'a>,
        parameters: &mut Vec<&'e Element<'a>>,
        signature: &'static Signature,
    ) -> bool {
        let mut good = true;
        if let Some(annotation) = &child.annotation {
            let message = format!("`{}` is a parameter and takes no role", child.name.text);
            self.note(
                Problem::new("E312", message)
                    .label(annotation.span, "here")
                    .help("remove it with its parentheses"),
            );
            good = false;
        }
        let name = Signature::of(&child.name.text).map_or("", |s| s.name);
        let earlier = if is_once(signature, ChildName::Parameter(name)) {
            parameters
                .iter()
                .find(|p| p.name.text == child.name.text || both_one_of(signature, &p.name.text, name))
        } else {
            None
        };
        if let Some(first) = earlier {
            self.child_twice(
                &format!("the parameter `{name}`"),
                signature,
                child.name.span,
                first.name.span,
            );
            return false;
        }
        parameters.push(child);
        good
    }

    fn child_twice(&mut self, what: &str, signature: &Signature, again: Span, first: Span) {
        let one_of: Vec<&str> = one_of(signature).collect();
        let (message, help) = if one_of.is_empty() || what.starts_with("a child") {
            (
                format!("`{}` takes {what} once", signature.name),
                match signature.group {
                    Group::Node => "remove one of them; `compose` folds any number of nodes".to_owned(),
                    _ => "remove one of them".to_owned(),
                },
            )
        } else {
            (
                format!("`{}` takes one of {}", signature.name, listed(one_of)),
                format!("put one `{}` into another to apply both", signature.name),
            )
        };
        self.note(
            Problem::new("E311", message)
                .label(again, "given again")
                .label(first, "given first")
                .help(help),
        );
    }

    /// The role of a child that is no parameter of its parent.
    fn role(
        &mut self,
        child: &Element<'_>,
        parent: &Element<'_>,
        signature: &'static Signature,
    ) -> Option<Role> {
        let accepted: Vec<&str> = signature.roles().map(Role::name).collect();
        if accepted.is_empty() {
            let mut problem = Problem::new(
                "E307",
                format!(
                    "`{}` takes no `{}` between its braces",
                    signature.name,
                    shortened(&child.name.text)
                ),
            )
            .label(child.name.span, "not here")
            .label(parent.name.span, "in this");
            problem = problem.help(match signature.parameters().next() {
                Some(_) => format!("it takes {}", listed(signature.parameters())),
                None if signature.group == Group::Node => {
                    "it reads no other node; `compose` folds nodes into one".into()
                }
                None => "it takes nothing".into(),
            });
            self.note(problem);
            return None;
        }
        let Some(annotation) = &child.annotation else {
            let problem = self.missing_role(child, parent, signature, &accepted);
            self.note(problem);
            return None;
        };
        let found = Role::ALL.into_iter().find(|role| role.name() == annotation.text);
        if let Some(role) = found.filter(|role| signature.roles().any(|r| r == *role)) {
            return Some(role);
        }
        let name = shortened(&annotation.text);
        let near = self
            .suggestions
            .near(&name, accepted.iter().copied())
            .map(|near| format!("did you mean ({near})? "))
            .unwrap_or_default();
        let message = match found {
            Some(_) => format!("`{}` takes no child in the role `{name}`", signature.name),
            None => format!("the role `{name}` is unknown"),
        };
        let problem = Problem::new("E309", message)
            .label(annotation.span, "this role")
            .label(parent.name.span, "in this");
        self.note(problem.help(format!("{near}{}", roles_here(&accepted))));
        None
    }

    /// The problem of a child without a role that is no parameter.
    fn missing_role(
        &self,
        child: &Element<'_>,
        parent: &Element<'_>,
        signature: &Signature,
        accepted: &[&str],
    ) -> Problem {
        let name = shortened(&child.name.text);
        let is_node = |name: &str| Signature::of(name).is_some_and(|s| s.group == Group::Node);
        let problem = if is_node(&child.name.text) {
            Problem::new("E308", format!("`{name}` in `{}` has no role", signature.name))
                .label(child.name.span, "a role is missing")
                .help(format!(
                    "write it before the node: ({}){name}; {}",
                    accepted[0],
                    roles_here(accepted)
                ))
        } else if accepted.contains(&&*child.name.text) {
            let node = match child.arguments.first().map(|value| &value.literal) {
                Some(Literal::Text(text)) if is_node(text) => text,
                _ => "fill",
            };
            Problem::new("E308", format!("the role `{name}` stands without parentheses"))
                .label(child.name.span, "a role")
                .help(format!(
                    "write it between parentheses before a node: ({name}){node} …"
                ))
        } else {
            let parameters: Vec<&str> = signature.parameters().collect();
            let hint = match (
                self.suggestions.near(&name, parameters.iter().copied()),
                foreign(&name),
            ) {
                (Some(near), _) => format!("did you mean the parameter `{near}`? "),
                (None, Some(hint)) => format!("{hint}; "),
                (None, None) => String::new(),
            };
            let roles = accepted
                .iter()
                .map(|role| format!("({role})"))
                .collect::<Vec<_>>()
                .join(", ");
            let takes = if parameters.is_empty() {
                format!("`{}` takes nodes in a role: {roles}", signature.name)
            } else {
                format!(
                    "`{}` takes {}, and nodes as {roles}",
                    signature.name,
                    listed(parameters)
                )
            };
            Problem::new(
                "E301",
                format!("`{name}` is no word that stands in `{}`", signature.name),
            )
            .label(child.name.span, "unknown")
            .help(format!("{hint}{takes}"))
        };
        problem.label(parent.name.span, "in this")
    }

    /// Notes what the signature asks for and the element lacks; whether there is any.
    fn missing_children(
        &mut self,
        element: &Element<'_>,
        signature: &'static Signature,
        inner: &Inner<'_, '_>,
    ) -> bool {
        let mut missing = Vec::new();
        for rule in signature.children {
            let (stands, what) = match rule.child {
                // A child whose role is in doubt may be the one that is missing.
                ChildName::Role(role) => (
                    inner.nodes.iter().any(|c| c.role == role) || inner.broken,
                    format!("a child in the role `{0}`: ({0})…", role.name()),
                ),
                ChildName::Parameter(name) => {
                    (inner.parameter(name).is_some(), format!("the parameter `{name}`"))
                }
                ChildName::Node => (!element.children.is_empty(), "a node".into()),
            };
            if !stands && matches!(rule.count, Count::One | Count::Some) {
                missing.push(what);
            }
        }
        // A word in doubt may be the one that is missing.
        if !inner.broken
            && one_of(signature).next().is_some()
            && !one_of(signature).any(|name| inner.parameter(name).is_some())
        {
            missing.push(format!("one of {}", listed(one_of(signature))));
        }
        for what in &missing {
            let message = format!("`{}` needs {what}", signature.name);
            let help = format!("for instance:\n{}", signature.example);
            self.note(
                Problem::new("E310", message)
                    .label(element.name.span, "here")
                    .help(help),
            );
        }
        !missing.is_empty()
    }

    /// What the node computes. It stays a call of its own, as its tables would make every level of the recursion in
    /// [`Self::node`] take tens of kilobytes of stack.
    ///
    /// Nothing where a value that it needs is missing or wrong.
    #[inline(never)]
    fn what(
        &mut self,
        element: &Element<'_>,
        signature: &Signature,
        values: &Values,
        inner: &Inner<'_, '_>,
    ) -> Option<What> {
        let kind = match signature.name {
            "use" => {
                let (name, span) = values.text("name")?;
                return Some(What::Use {
                    name: name.to_owned(),
                    span,
                });
            }
            "repeat" => {
                return Some(What::Repeat {
                    step_x: values.length("step-x"),
                    step_y: values.length("step-y"),
                });
            }
            "lattice" => {
                let (u, v) = (
                    self.vector(inner.parameter("u")),
                    self.vector(inner.parameter("v")),
                );
                let blend = if values.broken {
                    Blend::Mean
                } else {
                    blend(values.word("blend"))
                };
                return Some(What::Lattice { blend, u: u?, v: v? });
            }
            "fill" => Kind::Fill {
                value: values.sample("value")?,
            },
            "image" => self.image(values)?,
            "ramp" => {
                let axis = if values.word("axis")? == "x" {
                    Axis::X
                } else {
                    Axis::Y
                };
                Kind::Ramp {
                    axis,
                    from: values.sample("from")?,
                    to: values.sample("to")?,
                }
            }
            "disc" => Kind::Disc {
                diameter: values.length("diameter")?.pixels.unsigned_abs(),
                value: values.sample("value")?,
            },
            "noise" => Kind::Noise {
                seed: values.seed("seed")?,
            },
            "distance" => self.distance(values, inner)?,
            "map" => Kind::Map {
                table: self.map(inner)?,
            },
            "threshold" => Kind::Threshold {
                level: values.sample("level")?,
            },
            "compose" => Kind::Compose,
            _ => {
                self.unknown_node(element);
                return None;
            }
        };
        Some(What::Ready(kind))
    }

    fn vector(&mut self, element: Option<&Element<'_>>) -> Option<Vector> {
        let values = self.parameter_values(element?)?;
        let (x, y) = (values.length("x")?, values.length("y")?);
        Some(Vector {
            x: x.pixels,
            y: y.pixels,
            span: Span::new(x.span.start, y.span.end),
        })
    }

    /// The values of a parameter that takes no children, or nothing where one is wrong.
    pub(super) fn parameter_values(&mut self, element: &Element<'_>) -> Option<Values> {
        let signature = Signature::of(&element.name.text)?;
        let values = self.values(element, signature);
        let inner = self.inner(element, signature);
        (!values.broken && !inner.broken).then_some(values)
    }

    fn image(&mut self, values: &Values) -> Option<Kind> {
        let conversion = self.conversion(values);
        let (path, span) = values.text("file")?;
        let conversion = conversion?;
        let range = conversion
            .range
            .map(|(low, high)| (low.to_bits(), high.to_bits()));
        let asked = (path.to_owned(), conversion.gray, range);
        if !self.known_images.contains_key(&asked) {
            if self.known_images.len() == MAX_FILES {
                let problem = Problem::new("E104", format!("the design names more than {MAX_FILES} images"));
                self.note(problem.label(span, "one too many").help(
                    "put several of them into one file and take parts of it, with x, y, width and height",
                ));
                return None;
            }
            let size = self.images.size(path, &conversion).and_then(|(width, height)| {
                let sides = 1..=relief_raster::MAX_SIDE;
                if sides.contains(&width) && sides.contains(&height) {
                    Ok((width, height))
                } else {
                    Err(format!(
                        "it has {width} × {height} pixels, where each side is 1 to 2^40"
                    ))
                }
            });
            self.known_images.insert(asked.clone(), size);
        }
        match self.known_images.get(&asked)? {
            &Ok((width, height)) => Some(Kind::Image {
                path: path.into(),
                conversion,
                width,
                height,
            }),
            Err(why) => {
                let problem =
                    Problem::new("E505", format!("the image cannot be used: {why}")).label(span, "this file");
                self.note(problem.help(
                    "paths are relative to the folder of the design file; images are PNG, TIFF, JPEG, PGM, PPM or BMP",
                ));
                None
            }
        }
    }

    /// How the pixels of an `image` become samples.
    fn conversion(&mut self, values: &Values) -> Option<Conversion> {
        let gray = match values.word("gray") {
            Some("average") => Gray::Average,
            Some("red") => Gray::Red,
            Some("green") => Gray::Green,
            Some("blue") => Gray::Blue,
            Some("cyan") => Gray::Cyan,
            Some("magenta") => Gray::Magenta,
            Some("yellow") => Gray::Yellow,
            Some("black") => Gray::Black,
            _ => Gray::Luma,
        };
        let range = match (values.real("low"), values.real("high")) {
            _ if values.broken => None,
            (None, None) => None,
            (Some((low, at)), Some((high, and))) => {
                let span = Span::new(at.start.min(and.start), at.end.max(and.end));
                let allowed = low.abs().max(high.abs()) <= MAX_NUMBER;
                if low == high || !allowed {
                    let (message, help) = if allowed {
                        (
                            "`low` and `high` are the same number",
                            "write two different numbers; low may be above high",
                        )
                    } else {
                        (
                            "`low` and `high` lie within −10^300 and 10^300",
                            "write smaller numbers",
                        )
                    };
                    self.note(Problem::new("E507", message).label(span, "here").help(help));
                    return None;
                }
                Some((low, high))
            }
            (Some((_, span)), None) | (None, Some((_, span))) => {
                let problem =
                    Problem::new("E507", "`low` and `high` stand together").label(span, "one of the two");
                self.note(
                    problem.help("low is the number in the file that becomes 0, high the one that becomes M"),
                );
                return None;
            }
        };
        Some(Conversion { gray, range })
    }

    fn distance(&mut self, values: &Values, inner: &Inner<'_, '_>) -> Option<Kind> {
        let radius = values
            .length("radius")
            .and_then(|given| u32::try_from(given.pixels).ok());
        let element = inner.parameter("profile")?;
        let given = self.parameter_values(element);
        if let Some((f, span)) = given.is_none().then(|| first_text(element)).flatten() {
            // The expression is checked though something else is wrong.
            self.function(&f, span, "d");
        }
        let points = if element.children.is_empty() {
            None
        } else {
            Some(self.points(element))
        };
        let given = given?;
        let table = match (given.text("f"), points) {
            (Some((_, span)), Some(_)) => {
                let first = element
                    .children
                    .first()
                    .map_or(element.name.span, |c| c.name.span);
                let message = "`profile` takes an expression or points, not both";
                let problem = Problem::new("E311", message)
                    .label(first, "points")
                    .label(span, "an expression");
                self.note(problem.help("remove one of them"));
                return None;
            }
            (None, None) => {
                let problem = Problem::new("E306", "`profile` needs a value: an expression in d, or points");
                let help = "write profile \"255 - d\" or profile { point 0 255; point 40 0 }";
                self.note(problem.label(element.name.span, "here").help(help));
                return None;
            }
            (Some((text, span)), None) => self.profile_of_text(text, span, radius)?,
            (None, Some(points)) => {
                let (points, radius) = (points?, radius?);
                let key = TableKey::PointProfile(radius, bits(&points));
                let depth = self.depth;
                self.table(key, 1, table::length(radius), element.name.span, |_| {
                    Ok((points.profile(radius, depth)?, 0))
                })
                .ok()?
            }
        };
        let beyond = given.sample("beyond").or_else(|| table.last().copied())?;
        Some(Kind::Distance {
            radius: radius?,
            profile: table,
            beyond,
        })
    }

    fn profile_of_text(&mut self, text: &str, span: Span, radius: Option<u32>) -> Option<Arc<[u16]>> {
        let function = self.function(text, span, "d")?;
        let radius = radius?;
        let key = TableKey::Profile(radius, text.to_owned());
        let depth = self.depth;
        let work = function.operations();
        let made = self.table(key, work, table::length(radius), span, |allowed| {
            table::profile_of(&function, radius, depth, allowed)
        });
        made.map_err(|at| {
            if let Some(a) = at {
                let message = format!(
                    "the expression is not a number at d = {} (d² = {a})",
                    (a as f64).sqrt()
                );
                self.note(not_a_number(message, span));
            }
        })
        .ok()
    }

    fn map(&mut self, inner: &Inner<'_, '_>) -> Option<Arc<[u16]>> {
        let element = one_of(Signature::of("map")?).find_map(|name| inner.parameter(name))?;
        let depth = self.depth;
        let (span, entries) = (element.name.span, usize::from(depth.max()) + 1);
        if element.name.text == "curve" {
            let _ = self.parameter_values(element)?;
            let points = self.points(element)?;
            let key = TableKey::Curve(bits(&points));
            return self
                .table(key, 1, entries, span, |_| Ok((points.map(depth)?, 0)))
                .ok();
        }
        let values = self.parameter_values(element)?;
        match &*element.name.text {
            "gamma" => {
                let (exponent, _) = values.real("G")?;
                self.table(
                    TableKey::Gamma(exponent.to_bits()),
                    GAMMA_WORK,
                    entries,
                    span,
                    |_| Ok((table::gamma(exponent, depth)?, 0)),
                )
                .ok()
            }
            "invert" => self
                .table(TableKey::Invert, 1, entries, span, |_| {
                    Ok((table::invert(depth)?, 0))
                })
                .ok(),
            "levels" => self.levels(&values, element, entries),
            _ => {
                let (text, span) = values.text("f")?;
                let function = self.function(text, span, "v")?;
                let key = TableKey::Map(text.to_owned());
                let made = self.table(key, function.operations(), entries, span, |allowed| {
                    table::map_of(&function, depth, allowed)
                });
                made.map_err(|at| {
                    if let Some(v) = at {
                        self.note(not_a_number(
                            format!("the expression is not a number at v = {v}"),
                            span,
                        ));
                    }
                })
                .ok()
            }
        }
    }

    fn levels(&mut self, values: &Values, element: &Element<'_>, entries: usize) -> Option<Arc<[u16]>> {
        let mut levels = [0; 4];
        for (level, name) in levels
            .iter_mut()
            .zip(["in-low", "in-high", "out-low", "out-high"])
        {
            *level = values.sample(name)?;
        }
        if levels[0] >= levels[1] {
            let message = format!("in-low, {}, is not less than in-high, {}", levels[0], levels[1]);
            let spans = [0, 1].map(|i| {
                element
                    .arguments
                    .get(i)
                    .map_or(element.name.span, |value| value.span)
            });
            let problem = Problem::new("E704", message)
                .label(spans[0], "in-low")
                .label(spans[1], "in-high");
            self.note(problem.help("to turn light into dark, exchange out-low and out-high"));
            return None;
        }
        let depth = self.depth;
        self.table(TableKey::Levels(levels), 1, entries, element.name.span, |_| {
            Ok((table::levels(levels, depth)?, 0))
        })
        .ok()
    }

    fn function(&mut self, text: &str, span: Span, variable: &'static str) -> Option<Arc<Function>> {
        if !self.wants_more() {
            return None;
        }
        // The same text may stand thousands of times.
        let known = self.functions.entry(variable).or_default();
        let read = match known.get(text) {
            Some(read) => read,
            None => known
                .entry(text.to_owned())
                .or_insert_with(|| Function::parse(text, variable).map(Arc::new)),
        };
        match read.clone() {
            Ok(function) => Some(function),
            Err(bad) => {
                // The text begins after the quote, and stands in the file as it is unless it has escapes.
                let raw = text.len() + 2 == span.end - span.start && text.is_ascii();
                let place = if raw {
                    Span::new(
                        span.start + 1 + bad.at,
                        span.start + 1 + (bad.at + 1).min(text.len()).max(bad.at),
                    )
                } else {
                    span
                };
                self.note(
                    Problem::new("E701", bad.message)
                        .label(place, "here")
                        .help(bad.help),
                );
                None
            }
        }
    }

    /// The table of this key: a known one, or one that is made now if the work of all tables stays in bounds. `make` gets
    /// the operations that it may take beyond `operations` for each entry, and gives those that it took. An error holds
    /// where the function has no value, or nothing where the table cannot be made; that is then noted.
    fn table(
        &mut self,
        key: TableKey,
        operations: u64,
        entries: usize,
        span: Span,
        make: impl FnOnce(u64) -> Result<(Arc<[u16]>, u64), Fault>,
    ) -> Result<Arc<[u16]>, Option<u64>> {
        if let Some(known) = self.tables.get(&key) {
            return known.clone().map_err(Some);
        }
        self.work = self.work.saturating_add(
            operations
                .max(LEAST_WORK)
                .saturating_mul(table::evaluated(entries)),
        );
        let made = match MAX_TABLE_WORK.checked_sub(self.work) {
            Some(allowed) => make(allowed),
            None => Err(Fault::Work),
        };
        match made {
            Ok((table, work)) => {
                self.work += work;
                self.tables.insert(key, Ok(Arc::clone(&table)));
                Ok(table)
            }
            Err(Fault::NotANumber(at)) => {
                self.tables.insert(key, Err(at));
                Err(Some(at))
            }
            Err(Fault::Work) => {
                // What follows is not tried.
                self.work = MAX_TABLE_WORK + 1;
                let message =
                    "the profiles and curves of this design take more than 2^31 operations to tabulate";
                let help = "use smaller radii, shorter expressions, or the same profile in more places; sines of numbers \
                            above 2^20 and numbers below 1e-307 take the longest";
                self.note(
                    Problem::new("E105", message)
                        .label(span, "with this one")
                        .help(help),
                );
                Err(None)
            }
            Err(Fault::Memory(bytes)) => {
                let message = format!("the system has no memory for a table of {bytes} bytes");
                let problem = Problem::new("E105", message).label(span, "for this one");
                self.note(problem.help("use a smaller radius, or give the program more memory"));
                Err(None)
            }
        }
    }

    /// The points between the braces of a profile or a curve.
    fn points(&mut self, element: &Element<'_>) -> Option<Points> {
        let signature = Signature::of("point")?;
        let points: Vec<&Element<'_>> = element
            .children
            .iter()
            .filter(|child| child.name.text == "point")
            .collect();
        if points.len() > MAX_POINTS {
            let message = format!("{} points are more than the {MAX_POINTS} allowed", points.len());
            let problem = Problem::new("E105", message).label(element.name.span, "here");
            self.note(problem.help("leave points out that lie on a line between their neighbours"));
            return None;
        }
        let mut read: Vec<(f64, f64)> = Vec::with_capacity(points.len());
        let mut last: Option<(f64, Span)> = None;
        let mut broken = false;
        for point in points {
            if !self.wants_more() {
                return None;
            }
            let values = self.values(point, signature);
            let inner = self.inner(point, signature);
            broken |= values.broken || inner.broken;
            let (Some((at, span)), Some((z, _))) = (values.real("at"), values.real("z")) else {
                continue;
            };
            if let Some((before, earlier)) = last.filter(|&(before, _)| at <= before) {
                broken = true;
                let message = format!("the point at {at} stands after the one at {before}: points ascend");
                let problem = Problem::new("E703", message)
                    .label(span, "not greater")
                    .label(earlier, "than this");
                self.note(problem.help("put the points in ascending order, each place once"));
            }
            last = Some((at, span));
            read.push((at, z));
        }
        (!broken && !read.is_empty()).then_some(Points(read))
    }
}

fn blend(word: Option<&str>) -> Blend {
    match word {
        Some("max") => Blend::Max,
        Some("min") => Blend::Min,
        Some("sum") => Blend::Sum,
        Some("last") => Blend::Last,
        _ => Blend::Mean,
    }
}

/// The first value of an element, where it is a text.
fn first_text(element: &Element<'_>) -> Option<(String, Span)> {
    let value = element.arguments.first()?;
    match &value.literal {
        Literal::Text(text) if !text.is_empty() => Some((text.to_string(), value.span)),
        _ => None,
    }
}

fn bits(points: &Points) -> Vec<(u64, u64)> {
    points
        .0
        .iter()
        .map(|(at, z)| (at.to_bits(), z.to_bits()))
        .collect()
}

fn not_a_number(message: String, span: Span) -> Problem {
    Problem::new("E702", message)
        .label(span, "0/0, √ or a logarithm of a negative number, …")
        .help("change the expression so that it has a value everywhere; max(…, 0) under a root, for instance")
}

fn roles_here(accepted: &[&str]) -> String {
    let subject = if accepted.len() == 1 {
        "the role here is"
    } else {
        "the roles here are"
    };
    format!("{subject} {}", listed(accepted.iter().copied()))
}

fn one_of(signature: &Signature) -> impl Iterator<Item = &'static str> {
    signature
        .children
        .iter()
        .filter_map(|rule| match (rule.child, rule.count) {
            (ChildName::Parameter(name), Count::OneOf) => Some(name),
            _ => None,
        })
}

fn both_one_of(signature: &Signature, first: &str, second: &str) -> bool {
    one_of(signature).any(|name| name == first) && one_of(signature).any(|name| name == second)
}

fn is_once(signature: &Signature, child: ChildName) -> bool {
    let rule = signature.children.iter().find(|rule| rule.child == child);
    rule.is_some_and(|rule| matches!(rule.count, Count::One | Count::AtMostOne | Count::OneOf))
}
