//! Elements that are nodes: whether a node's values and children keep its signature.

use super::hints::{ALL_NODES, EXAMPLE_NODE, MANY_NODES, ONE_NODE, SOME_NODES, foreign};
use super::values::{Values, listed};
use super::{Anchor, Checker, DraftChild, DraftNode, Measure, What};
use crate::kinds::{Draft, NodeSource};
use crate::report::Problem;
use crate::signature::{ChildName, Count, Group, SIGNATURES, Signature};
use crate::syntax::{Element, Literal, Span, shortened};
use crate::tree::Role;

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
    /// The element as a node, and its name where its parent asks for one (`named`); all that is wrong with it and within
    /// it is noted.
    pub(super) fn node(&mut self, element: &Element<'_>, named: bool) -> (DraftNode, Option<(String, Span)>) {
        let span = element.name.span;
        let mut node = DraftNode {
            what: What::Broken,
            x: Measure::ZERO,
            y: Measure::ZERO,
            anchor: Anchor::default(),
            offset_span: span,
            width: None,
            height: None,
            children: Vec::new(),
            span,
            broken: true,
        };
        let signature = Signature::of(&element.name.text).filter(|signature| signature.group == Group::Node);
        let Some(signature) = signature else {
            self.unknown_node(element);
            return (node, None);
        };
        if !self.wants_more() {
            return (node, None);
        }
        let mut values = self.values_and_name(element, signature, named);
        let inner = self.inner(element, signature);
        // An offset that is wrong has been noted.
        node.x = values.measure("x").unwrap_or(Measure::ZERO);
        node.y = values.measure("y").unwrap_or(Measure::ZERO);
        node.anchor = values
            .word("anchor")
            .and_then(Anchor::of_word)
            .unwrap_or_default();
        node.offset_span = values.span("x").or(values.span("y")).unwrap_or(span);
        node.width = values.given_side("width");
        node.height = values.given_side("height");
        let name = values.name.take();
        if let Some(what) = self.what(signature, element, &values, &inner) {
            node.what = what;
            node.broken = values.broken || inner.broken;
        }
        node.children = inner.nodes;
        if std::ptr::eq(signature, Signature::of_array()) {
            spread(&mut node.children, &values);
        }
        (node, name)
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
                let hint = foreign(&name).map_or_else(String::new, |hint| format!("; as a node, {hint}"));
                format!("`{name}` is a parameter and takes no role{hint}")
            }
            Some(_) => format!("`{name}` stands at the top of the file only"),
            None => match (self.suggestions.near(&name, nodes()), foreign(&name)) {
                (Some(near), _) => format!("did you mean `{near}`? {ALL_NODES}"),
                (None, Some(hint)) => format!("{hint}; {ALL_NODES}"),
                (None, None) => format!("nodes are {}, and more; {ALL_NODES}", listed(SOME_NODES)),
            },
        };
        self.note(
            Problem::new("E301", format!("`{name}` is not a node"))
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
                let (node, name) = self.node(child, signature.named);
                inner.broken |= node.broken;
                inner.nodes.push(DraftChild { role, name, node });
            } else {
                inner.broken = true;
                self.misplaced(child, signature);
            }
        }
        inner.broken |= self.missing_children(element, signature, &inner);
        inner
    }

    /// Checks a child whose role is in doubt for what else is wrong with it.
    fn misplaced(&mut self, child: &Element<'_>, parent: &Signature) {
        if Signature::of(&child.name.text).is_some_and(|s| s.group == Group::Node) {
            self.node(child, parent.named);
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
            parameters.iter().find(|p| p.name.text == child.name.text)
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
        let message = format!("`{}` takes {what} once", signature.name);
        let help = match signature.group {
            Group::Node => format!("remove one of them; {MANY_NODES}"),
            _ => "remove one of them".to_owned(),
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
                    format!("it reads no other node; {ONE_NODE}")
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
                _ => EXAMPLE_NODE,
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
                format!("`{name}` is not a word that stands in `{}`", signature.name),
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
            && signature.some_of().next().is_some()
            && !signature.some_of().any(|name| inner.parameter(name).is_some())
        {
            missing.push(format!("at least one of {}", listed(signature.some_of())));
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

    /// What the node computes; nothing where a value that it needs is missing or wrong.
    fn what(
        &mut self,
        signature: &Signature,
        element: &Element<'_>,
        values: &Values,
        inner: &Inner<'_, '_>,
    ) -> Option<What> {
        if std::ptr::eq(signature, Signature::of_use()) {
            let (name, span) = values.text("name")?;
            return Some(What::Use {
                name: name.to_owned(),
                span,
            });
        }
        if std::ptr::eq(signature, Signature::of_array()) {
            return Some(What::Kind(Draft::fold()));
        }
        let source = NodeSource {
            values,
            span: element.name.span,
            parameters: &inner.parameters,
            children: &inner.nodes,
            bound: &element.bound,
        };
        Draft::read(signature, &source, self).map(What::Kind)
    }

    /// The values of a parameter that takes no children, or nothing where one is wrong.
    pub(crate) fn parameter_values(&mut self, element: &Element<'_>) -> Option<Values> {
        let signature = Signature::of(&element.name.text)?;
        let values = self.values(element, signature);
        let inner = self.inner(element, signature);
        (!values.broken && !inner.broken).then_some(values)
    }
}

/// Moves the copies of an array, of which there is one in the place of each number.
fn spread(copies: &mut [DraftChild], values: &Values) {
    let columns = values
        .choice("columns")
        .and_then(|columns| usize::try_from(columns).ok());
    let columns = columns.unwrap_or(1).max(1);
    for (name, is_x) in [("step-x", true), ("step-y", false)] {
        let Some(step) = values.measure(name) else {
            continue;
        };
        for (n, copy) in copies.iter_mut().enumerate() {
            let times = if is_x { n % columns } else { n / columns };
            let offset = if is_x { &mut copy.node.x } else { &mut copy.node.y };
            // What has too many digits is told where it is added up.
            if let Some(moved) = step.times(times).and_then(|by| offset.plus(by)) {
                *offset = moved;
            } else {
                copy.node.broken = true;
            }
        }
    }
}

fn roles_here(accepted: &[&str]) -> String {
    let subject = if accepted.len() == 1 {
        "the role here is"
    } else {
        "the roles here are"
    };
    format!("{subject} {}", listed(accepted.iter().copied()))
}

fn is_once(signature: &Signature, child: ChildName) -> bool {
    let rule = signature.children.iter().find(|rule| rule.child == child);
    rule.is_some_and(|rule| matches!(rule.count, Count::One | Count::AtMostOne))
}
