//! A node of a design as a design of its own.

use crate::tree::{Canvas, Design, Node, NodeId};

impl Design {
    /// The design of a node alone: its raster is the node's, with all that it reads and nothing else. It has no scan.
    ///
    /// ```
    /// use relief_design::{NoImages, NodeId};
    ///
    /// let text = "relief version=1\ncanvas width=40 height=30\n\
    ///     repeat step-x=8 step-y=8 { (pattern)disc diameter=6 value=200 }";
    /// let design = relief_design::parse("a.kdl", text, &NoImages)?;
    /// let disc = design.subtree(NodeId(0));
    /// assert_eq!((disc.canvas().width, disc.canvas().height, disc.nodes().len()), (6, 6, 1));
    /// assert_eq!(design.subtree(design.root()).nodes(), design.nodes());
    /// # Ok::<(), relief_design::Report>(())
    /// ```
    ///
    /// # Panics
    /// Where the number is not one of this design.
    #[must_use]
    pub fn subtree(&self, node: NodeId) -> Self {
        let mut read = vec![false; node.0 + 1];
        read[node.0] = true;
        // Children stand before their parents.
        for at in (0..=node.0).rev().filter(|&at| at < self.nodes.len()) {
            if read[at] {
                for child in &self.nodes[at].children {
                    read[child.node.0] = true;
                }
            }
        }
        let mut numbers = vec![NodeId(0); node.0 + 1];
        let mut nodes: Vec<Node> = Vec::new();
        for at in (0..=node.0).filter(|&at| read[at]) {
            numbers[at] = NodeId(nodes.len());
            let mut own = self.nodes[at].clone();
            for child in &mut own.children {
                child.node = numbers[child.node.0];
            }
            nodes.push(own);
        }
        let root = self.node(node);
        Self {
            canvas: Canvas {
                width: root.width,
                height: root.height,
                ..self.canvas
            },
            nodes,
            scan: None,
            rounding: self.rounding,
            font_bytes: self.font_bytes,
        }
    }
}
