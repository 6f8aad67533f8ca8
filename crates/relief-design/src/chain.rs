//! `chain`: nesting written from the inside out. It is written out before anything is checked, so that it is the same tree.

use crate::report::{MAX_COUNTED, Problem};
use crate::signature::{ChildName, Count, Group, Signature};
use crate::syntax::{Element, MAX_DEPTH, Name};
use crate::tree::Role;

/// Writes out all chains. What is wrong is noted.
pub(crate) fn apply(elements: &mut [Element<'_>], problems: &mut Vec<Problem>) {
    for element in elements {
        within(element, 1, problems);
    }
}

/// Writes out the chains of an element at this depth, and the element itself where it is one; how deep it is then.
fn within(element: &mut Element<'_>, depth: usize, problems: &mut Vec<Problem>) -> usize {
    let mut deepest = depth;
    for child in &mut element.children {
        deepest = deepest.max(within(child, depth + 1, problems));
    }
    if element.name.text != "chain" {
        return deepest;
    }
    let links = element.children.len();
    if links == 0 {
        // Its signature asks for a node.
        return deepest;
    }
    let note = |problems: &mut Vec<Problem>, problem: Problem| {
        if problems.len() < MAX_COUNTED {
            problems.push(problem);
        }
    };
    if deepest.saturating_add(links) > MAX_DEPTH {
        let message = format!("a chain of {links} nodes here is nested more than {MAX_DEPTH} deep");
        let problem = Problem::new("E103", message).label(element.name.span, "too deep");
        note(
            problems,
            problem.help("leave levels out, or name a part of it with `define`"),
        );
        element.children.truncate(1);
    }
    if let Some(value) = element.arguments.first() {
        let problem = Problem::new("E305", "`chain` takes no value");
        note(
            problems,
            problem
                .label(value.span, "one too many")
                .help("values stand with the nodes in it"),
        );
    }
    if let Some((name, _)) = element.properties.first() {
        let problem = Problem::new("E302", "`chain` has no properties").label(name.span, "unknown");
        note(
            problems,
            problem.help("give them to the last node in it, which the chain is"),
        );
    }
    let mut nodes = std::mem::take(&mut element.children).into_iter();
    let Some(mut chained) = nodes.next() else {
        return deepest;
    };
    no_role(&chained, problems);
    for mut node in nodes {
        no_role(&node, problems);
        if let Some(role) = reads(&node, problems) {
            chained.annotation = Some(Name {
                text: role.name().into(),
                span: chained.name.span,
            });
            node.children.insert(0, chained);
        }
        chained = node;
    }
    chained.annotation = element.annotation.take();
    *element = chained;
    deepest + links
}

/// A node in a chain has no role: its place says it.
fn no_role(node: &Element<'_>, problems: &mut Vec<Problem>) {
    if let Some(annotation) = &node.annotation
        && problems.len() < MAX_COUNTED
    {
        let problem = Problem::new("E312", "a node in a chain has no role").label(annotation.span, "here");
        problems.push(problem.help("remove it with its parentheses: each node reads the one before it"));
    }
}

/// The role in which a node reads the one before it.
fn reads(node: &Element<'_>, problems: &mut Vec<Problem>) -> Option<Role> {
    let signature = Signature::of(&node.name.text).filter(|signature| signature.group == Group::Node);
    // An unknown word is told with all others.
    let signature = signature?;
    let mut roles = signature.children.iter().filter_map(|rule| match rule.child {
        ChildName::Role(role) => Some((role, rule.count)),
        _ => None,
    });
    let only = match (roles.next(), roles.next()) {
        (Some((role, Count::One)), None) => Some(role),
        _ => None,
    };
    if only.is_none() && problems.len() < MAX_COUNTED {
        let message = format!(
            "`{}` does not read exactly one node, and stands first in a chain alone",
            signature.name
        );
        let problem = Problem::new("E311", message).label(node.name.span, "in a chain");
        problems.push(problem.help("nest it: the node before it stands between its braces, in a role"));
    }
    only
}
