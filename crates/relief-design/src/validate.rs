//! What holds of every design, checked of one that was built by hand.

use std::fmt;

use relief_raster::{MAX_COORDINATE, MAX_SIDE};

use crate::resolve::MAX_NODES;
use crate::scan::ScanNode;
use crate::signature::{ChildName, Count, Signature};
use crate::tree::{Canvas, Child, Design, Node, NodeId, Role, nodes_within};

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
    /// The design of these nodes, once it keeps what every design keeps: there is a node, children stand before their
    /// parents, sizes, offsets and samples are in range, tables have their lengths, every kind has the children that it
    /// reads, and the root, which stands last, fills the canvas. The scan is taken as it is: the program of its lines
    /// checks it.
    ///
    /// # Errors
    /// The first rule that is broken.
    ///
    /// ```
    /// use relief_design::{Design, NoImages};
    ///
    /// let text = "relief version=1\ncanvas width=4 height=3\nfill value=7";
    /// let design = relief_design::parse("a.kdl", text, &NoImages)?;
    /// let again = Design::new(design.canvas(), design.nodes().to_vec(), design.scan().cloned());
    /// assert_eq!(again, Ok(design.clone()));
    /// let empty = Design::new(design.canvas(), Vec::new(), None);
    /// assert_eq!(empty.unwrap_err().to_string(), "the design: it has no node");
    /// # Ok::<(), relief_design::Report>(())
    /// ```
    pub fn new(canvas: Canvas, nodes: Vec<Node>, scan: Option<ScanNode>) -> Result<Self, InvalidDesign> {
        let design = Self {
            canvas,
            nodes,
            scan,
            rounding: None,
            font_bytes: 0,
        };
        design.validate()?;
        Ok(design)
    }

    /// Whether the design keeps the rules.
    fn validate(&self) -> Result<(), InvalidDesign> {
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
        }
        measure.nodes = nodes_within(&node.children, |id| {
            before.get(id.0).map_or(0, |inner| inner.nodes)
        });
        if measure.reach > MAX_COORDINATE {
            return Err("it reaches further than 2^44 pixels".to_owned());
        }
        if measure.nodes > MAX_NODES {
            return Err(format!("it has more than {MAX_NODES} nodes in it"));
        }
        reads(node.kind.signature(), &node.children)?;
        node.kind.validate(&Rules {
            max: self.canvas.depth.max(),
            children: &node.children,
        })?;
        Ok(measure)
    }
}

/// What the parts of a node are checked against.
pub(crate) struct Rules<'r> {
    max: u16,
    children: &'r [Child],
}

impl Rules<'_> {
    /// The greatest sample.
    pub(crate) fn max(&self) -> u16 {
        self.max
    }

    /// How many children there are.
    pub(crate) fn children(&self) -> usize {
        self.children.len()
    }

    /// Columns and rows of the first child; none where there is no child.
    pub(crate) fn first_child(&self) -> (u64, u64) {
        self.children
            .first()
            .map_or((0, 0), |child| (child.extent.width(), child.extent.height()))
    }

    /// Whether it is a sample.
    pub(crate) fn sample(&self, value: u16) -> Result<(), String> {
        if value > self.max {
            return Err(format!("the sample {value} is above {}", self.max));
        }
        Ok(())
    }

    /// Whether it is a table of so many samples.
    pub(crate) fn table(&self, table: &[u16], entries: usize) -> Result<(), String> {
        if table.len() != entries {
            return Err(format!("its table has {} entries, not {entries}", table.len()));
        }
        table.iter().try_for_each(|&value| self.sample(value))
    }

    /// Whether it is a side of a raster; `what` says which.
    pub(crate) fn side(&self, pixels: u64, what: &str) -> Result<(), String> {
        if (1..=MAX_SIDE).contains(&pixels) {
            return Ok(());
        }
        Err(format!("its {what}, {pixels}, is not 1 to 2^40 pixels"))
    }
}

/// How far the nodes within a node lie from its origin, and how many they are.
#[derive(Clone, Copy, Debug)]
struct Measure {
    reach: i64,
    nodes: u64,
}

/// Whether these are the children that a signature asks for: one in each role that stands once, any number in those that
/// stand any number of times, no others.
fn reads(signature: &Signature, children: &[Child]) -> Result<(), String> {
    let name = signature.name;
    let mut once = signature.children.iter().filter_map(|rule| match rule.child {
        ChildName::Role(role) if rule.count == Count::One => Some(role),
        _ => None,
    });
    if signature.roles().next().is_none() {
        return match children {
            [] => Ok(()),
            _ => Err(format!("a {name} reads no other node")),
        };
    }
    let in_role = |role: Role| children.iter().filter(|child| child.role == role).count();
    if let Some(role) = once.find(|&role| in_role(role) != 1 || children.len() != 1) {
        return Err(format!("a {name} reads one node, as its {}", role.name()));
    }
    match children
        .iter()
        .find(|child| !signature.roles().any(|role| role == child.role))
    {
        Some(child) => Err(format!("a {name} has no {}", child.role.name())),
        None => Ok(()),
    }
}
