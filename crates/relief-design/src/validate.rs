//! What holds of every design, checked of one that was built by hand.

use std::fmt;

use relief_raster::{MAX_COORDINATE, MAX_SIDE, Period};

use crate::resolve::{MAX_COPIES, MAX_NODES, copies};
use crate::signature::MAX_RADIUS;
use crate::tree::{Child, Design, Kind, Node, NodeId, Role};

/// Why a design is none: a rule that [`parse`](crate::parse) keeps and a design that was built by hand does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidDesign {
    node: Option<NodeId>,
    problem: String,
}

impl InvalidDesign {
    /// The node that breaks the rule, if it is one node.
    #[must_use]
    pub fn node(&self) -> Option<NodeId> {
        self.node
    }
}

impl fmt::Display for InvalidDesign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node {
            Some(NodeId(index)) => write!(f, "node {index} of the design: {}", self.problem),
            None => write!(f, "the design: {}", self.problem),
        }
    }
}

impl std::error::Error for InvalidDesign {}

impl Design {
    /// Checks what every design that [`parse`](crate::parse) gives keeps: there is a node, children stand before their
    /// parents, sizes, offsets and samples are in range, tables have their lengths, and every kind has the children that
    /// it reads.
    ///
    /// # Errors
    /// The first rule that is broken.
    ///
    /// ```
    /// let text = "relief version=1\ncanvas width=4 height=3\nfill value=7";
    /// let mut design = relief_design::parse("a.kdl", text, &relief_design::NoImages)?;
    /// assert!(design.validate().is_ok());
    /// design.nodes.clear();
    /// assert_eq!(design.validate().unwrap_err().to_string(), "the design: it has no node");
    /// # Ok::<(), relief_design::Report>(())
    /// ```
    pub fn validate(&self) -> Result<(), InvalidDesign> {
        let whole = |problem: &str| InvalidDesign {
            node: None,
            problem: problem.to_owned(),
        };
        let sides = 1..=MAX_SIDE;
        let canvas = self.canvas;
        if !sides.contains(&canvas.width) || !sides.contains(&canvas.height) {
            return Err(whole("the sides of its canvas are not 1 to 2^40 pixels"));
        }
        let Some(root) = self.nodes.last() else {
            return Err(whole("it has no node"));
        };
        if (root.width, root.height) != (canvas.width, canvas.height) {
            return Err(whole("its root has not the size of its canvas"));
        }
        let mut measures: Vec<Measure> = Vec::with_capacity(self.nodes.len());
        for (index, node) in self.nodes.iter().enumerate() {
            let measure = self
                .node_is_valid(node, &measures)
                .map_err(|problem| InvalidDesign {
                    node: Some(NodeId(index)),
                    problem,
                })?;
            measures.push(measure);
        }
        Ok(())
    }

    /// Whether a node keeps the rules, with the measures of those before it.
    fn node_is_valid(&self, node: &Node, before: &[Measure]) -> Result<Measure, String> {
        let sides = 1..=MAX_SIDE;
        if !sides.contains(&node.width) || !sides.contains(&node.height) {
            return Err("its sides are not 1 to 2^40 pixels".to_owned());
        }
        let mut measure = Measure {
            reach: node.width.max(node.height).cast_signed(),
            nodes: 1,
        };
        for child in &node.children {
            let Some(inner) = before.get(child.node.0) else {
                return Err(format!("its child {} does not stand before it", child.node.0));
            };
            let (extent, read) = (child.extent, &self.nodes[child.node.0]);
            if (extent.width(), extent.height()) != (read.width, read.height) {
                return Err(format!(
                    "the extent of its child {} has not the size of that node",
                    child.node.0
                ));
            }
            let offset = extent.x().abs().max(extent.y().abs());
            measure.reach = measure.reach.max(offset.saturating_add(inner.reach));
            measure.nodes = measure.nodes.saturating_add(inner.nodes);
        }
        if measure.reach > MAX_COORDINATE {
            return Err("it reaches further than 2^44 pixels".to_owned());
        }
        if measure.nodes > MAX_NODES {
            return Err(format!("it has more than {MAX_NODES} nodes in it"));
        }
        reads(&node.kind, &node.children)?;
        self.kind_is_valid(node)?;
        Ok(measure)
    }

    fn kind_is_valid(&self, node: &Node) -> Result<(), String> {
        let max = self.canvas.depth.max();
        let sample = |value: u16| {
            if value > max {
                return Err(format!("the sample {value} is above {max}"));
            }
            Ok(())
        };
        let table = |table: &[u16], entries: usize| {
            if table.len() != entries {
                return Err(format!("its table has {} entries, not {entries}", table.len()));
            }
            table.iter().try_for_each(|&value| sample(value))
        };
        let side = |pixels: u64, what: &str| {
            if (1..=MAX_SIDE).contains(&pixels) {
                return Ok(());
            }
            Err(format!("its {what}, {pixels}, is not 1 to 2^40 pixels"))
        };
        // A kind that reads one node has one.
        let pattern = node
            .children
            .first()
            .map_or((0, 0), |child| (child.extent.width(), child.extent.height()));
        match &node.kind {
            Kind::Fill { value } => sample(*value),
            Kind::Image { width, height, .. } => {
                side(*width, "width of the picture")?;
                side(*height, "height of the picture")
            }
            Kind::Ramp { from, to, .. } => sample(*from).and_then(|()| sample(*to)),
            Kind::Disc { diameter, value } => {
                side(*diameter, "diameter")?;
                sample(*value)
            }
            Kind::Repeat { step_x, step_y } => {
                side(*step_x, "step")?;
                side(*step_y, "step")?;
                if *step_x < pattern.0 || *step_y < pattern.1 {
                    return Err("its step is less than its pattern".to_owned());
                }
                Ok(())
            }
            Kind::Lattice { u, v, period, .. } => lattice(*u, *v, *period, pattern),
            Kind::Distance {
                radius,
                profile,
                beyond,
            } => {
                if *radius > MAX_RADIUS {
                    return Err(format!("its radius is above {MAX_RADIUS}"));
                }
                table(profile, crate::table::length(*radius))?;
                sample(*beyond)
            }
            Kind::Map { table: entries } => table(entries, usize::from(max) + 1),
            Kind::Threshold { level } => sample(*level),
            Kind::Noise { .. } | Kind::Compose => Ok(()),
        }
    }
}

/// How far the nodes within a node lie from its origin, and how many they are.
#[derive(Clone, Copy, Debug)]
struct Measure {
    reach: i64,
    nodes: u64,
}

fn lattice(u: (i64, i64), v: (i64, i64), period: Period, (width, height): (u64, u64)) -> Result<(), String> {
    let allowed = |(x, y): (i64, i64)| x.unsigned_abs().max(y.unsigned_abs()) <= MAX_SIDE;
    if !allowed(u) || !allowed(v) || Period::spanned(u, v) != Some(period) {
        return Err("its vectors do not span its period".to_owned());
    }
    if copies(u, v, period, width, height) > u128::from(MAX_COPIES) {
        return Err(format!(
            "more than {MAX_COPIES} copies may cover one of its pixels"
        ));
    }
    Ok(())
}

/// Whether these are the children that a kind reads.
fn reads(kind: &Kind, children: &[Child]) -> Result<(), String> {
    let one = match kind {
        Kind::Repeat { .. } | Kind::Lattice { .. } => Some(Role::Pattern),
        Kind::Distance { .. } => Some(Role::Mask),
        Kind::Map { .. } | Kind::Threshold { .. } => Some(Role::Source),
        Kind::Compose => {
            let wrong = children
                .iter()
                .find(|child| matches!(child.role, Role::Pattern | Role::Source));
            return match wrong {
                Some(child) => Err(format!("a compose has no {}", child.role.name())),
                None => Ok(()),
            };
        }
        _ => None,
    };
    match (one, children) {
        (None, []) => Ok(()),
        (Some(role), [child]) if child.role == role => Ok(()),
        (None, _) => Err(format!("a {} reads no other node", kind.name())),
        (Some(role), _) => Err(format!(
            "a {} reads one node, as its {}",
            kind.name(),
            role.name()
        )),
    }
}
