//! Why a sample is what it is: the nodes that it is made of, and how each took part.

use relief_design::Design;
use relief_design::tree::{NodeId, Place, Role};
use relief_raster::Rect;

use crate::Error;
use crate::cancel::Cancel;
use crate::node::{Shows, Through};
use crate::plan::{Options, Plan};
use crate::program::Step;
use crate::renderer::Renderer;
use crate::source::ImageSource;

/// The most nodes that one sample is told of: a design may use one node along very many ways.
const MOST: usize = 1_024;

/// Columns and rows of what is planned around a pixel: a power of 2.
const AROUND: u64 = 64;

/// A sample and the nodes that it is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// The column of the canvas.
    pub x: i64,
    /// The row of the canvas.
    pub y: i64,
    /// The sample.
    pub value: u16,
    /// The nodes, each before its children; the root is the first.
    pub nodes: Vec<ExplainedNode>,
    /// Which of them decides the sample: the way to it follows from the root the child that changed the sample last, the copy whose
    /// sample is seen, or the only child. It ends where a node makes its sample of several, or of none.
    pub decides: usize,
    /// Whether there are more nodes than are told.
    pub cut: bool,
}

/// A node that a sample is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExplainedNode {
    /// Its number in the design.
    pub node: NodeId,
    /// Its kind, as the design says it.
    pub kind: &'static str,
    /// Where it stands in the file.
    pub place: Place,
    /// The node that reads it, by its number in [`Explanation::nodes`]; none reads the root.
    pub parent: Option<usize>,
    /// What it is to that node.
    pub role: Option<Role>,
    /// The column, in the node's own coordinates.
    pub x: i64,
    /// The row.
    pub y: i64,
    /// Whether the pixel lies in the node; beyond it the node counts as 0.
    pub inside: bool,
    /// The sample of the node there.
    pub value: u16,
    /// Of a child of `compose`: the sample before it was folded in, and after.
    pub folded: Option<(u16, u16)>,
    /// Where the parent reads more of the node than one sample: the part that it reads, in the node's own coordinates. The pixel is the one in
    /// the middle.
    pub window: Option<Rect>,
    /// How many of its children do not count here, because a later one replaces them.
    pub replaced: usize,
}

/// Explains the sample at column `x` and row `y` of the canvas. Plans a job of its own for the pixels near that one, on the CPU, with the memory
/// and threads of `options`; what must be known of whole sources is computed for it.
///
/// ```
/// use relief_engine::{Cancel, NoImages, Options, explain};
///
/// let text = "relief version=1\ncanvas width=100 height=100\n\
///     compose { (base)fill value=7; (max)disc diameter=10 value=200 x=20 y=30 }";
/// let design = relief_design::parse("a.kdl", text, &NoImages)?;
/// let why = explain(&design, &NoImages, &Options::default(), (25, 35), &Cancel::new())?;
/// let decides = &why.nodes[why.decides];
/// assert_eq!((why.value, decides.kind, decides.place.line), (200, "disc", 3));
/// assert_eq!((decides.x, decides.y, decides.folded), (5, 5, Some((7, 200))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`Plan::new`] and [`Renderer::new`]; [`Error::Region`] where the pixel does not lie in the canvas.
pub fn explain(
    design: &Design,
    images: &dyn ImageSource,
    options: &Options,
    (x, y): (i64, i64),
    cancel: &Cancel,
) -> Result<Explanation, Error> {
    let beyond = || Error::Region {
        region: format!("of the pixel {x},{y}"),
        width: design.canvas().width,
        height: design.canvas().height,
    };
    let pixel = Rect::new(x, y, 1, 1).ok_or_else(beyond)?;
    if !Rect::sized(design.canvas().width, design.canvas().height).contains(&pixel) {
        return Err(beyond());
    }
    // Tiles are no larger than what is planned, and what must be known of whole sources is computed by them.
    let around = Rect::sized(AROUND, AROUND)
        .translated(x & !(AROUND - 1).cast_signed(), y & !(AROUND - 1).cast_signed());
    let around = around.intersection(&Rect::sized(design.canvas().width, design.canvas().height));
    let mut options = options.clone().region(around).devices(Vec::new());
    options.probed = true;
    let plan = Plan::new(design, images, &options)?;
    let renderer = Renderer::new(plan, images, cancel)?;
    let mut walk = Walk {
        design,
        renderer: &renderer,
        nodes: Vec::new(),
        cut: false,
        cancel,
    };
    let root = Told {
        node: design.root(),
        parent: None,
        role: None,
        place: (x, y),
        window: None,
    };
    let found = walk.tell(root)?;
    Ok(Explanation {
        x,
        y,
        value: found.value,
        decides: found.decides.unwrap_or(0),
        cut: walk.cut,
        nodes: walk.nodes,
    })
}

struct Walk<'a> {
    design: &'a Design,
    renderer: &'a Renderer,
    nodes: Vec<ExplainedNode>,
    cut: bool,
    cancel: &'a Cancel,
}

/// A node that is to be told of.
#[derive(Clone, Copy)]
struct Told {
    node: NodeId,
    parent: Option<usize>,
    role: Option<Role>,
    place: (i64, i64),
    window: Option<Rect>,
}

/// What was found of one.
#[derive(Clone, Copy)]
struct Found {
    value: u16,
    /// Its number among those told, if it is one.
    number: Option<usize>,
    /// That of the node below it which decides.
    decides: Option<usize>,
}

impl<'a> Walk<'a> {
    fn step(&self, node: NodeId) -> (usize, &'a Step) {
        let program = &self.renderer.plan().program;
        let number = program.places[node.0];
        (number, &program.steps[number])
    }

    fn tell(&mut self, told: Told) -> Result<Found, Error> {
        let (number, step) = self.step(told.node);
        let (x, y) = told.place;
        let inside = step.own().contains(&Rect::sized(1, 1).translated(x, y));
        let value = if inside {
            self.renderer.sample(number, told.place, self.cancel)?
        } else {
            0
        };
        if self.nodes.len() == MOST {
            self.cut = true;
            return Ok(Found {
                value,
                number: None,
                decides: None,
            });
        }
        let own = self.nodes.len();
        let node = &self.design.nodes()[told.node.0];
        self.nodes.push(ExplainedNode {
            node: told.node,
            kind: node.kind.name(),
            place: node.place,
            parent: told.parent,
            role: told.role,
            x,
            y,
            inside,
            value,
            folded: None,
            window: told.window,
            replaced: 0,
        });
        let below = match (inside, step.links.first()) {
            (false, _) | (_, None) => None,
            (true, Some(link)) if step.kind.folds(link.role).is_some() => {
                self.folded(own, told.node, told.place)?
            }
            (true, Some(_)) => self.read(own, told.node, told.place, value)?,
        };
        Ok(Found {
            value,
            number: Some(own),
            decides: Some(below.unwrap_or(own)),
        })
    }

    /// The children of a node that folds them; which node below decides.
    fn folded(&mut self, own: usize, node: NodeId, (x, y): (i64, i64)) -> Result<Option<usize>, Error> {
        let (_, step) = self.step(node);
        let pixel = Rect::sized(1, 1).translated(x, y);
        let max = self.renderer.plan().depth().max();
        let replaces = |role: Role, inside: bool| inside && role == Role::Base;
        let first = step
            .links
            .iter()
            .rposition(|link| replaces(link.role, link.extent.in_parent().contains(&pixel)))
            .unwrap_or(0);
        self.nodes[own].replaced = first;
        let (mut so_far, mut decides) = (0, None);
        for (link, child) in step
            .links
            .iter()
            .zip(&self.design.nodes()[node.0].children)
            .skip(first)
        {
            let Some(fold) = step.kind.folds(link.role) else {
                continue;
            };
            let inside = link.extent.in_parent().contains(&pixel);
            if !inside && Through::Folded(fold, 0).apply(so_far, |_, _| 0, max) == so_far {
                continue;
            }
            let found = self.tell(Told {
                node: child.node,
                parent: Some(own),
                role: Some(link.role),
                place: (x - link.extent.x(), y - link.extent.y()),
                window: None,
            })?;
            // A node may be larger than the part of it that its parent takes.
            let value = if inside { found.value } else { 0 };
            let after = Through::Folded(fold, value).apply(so_far, |_, _| 0, max);
            let Some(number) = found.number else { break };
            let told = &mut self.nodes[number];
            told.folded = Some((so_far, after));
            told.inside &= inside;
            if after != so_far || replaces(link.role, inside) {
                decides = found.decides;
            }
            so_far = after;
        }
        Ok(decides)
    }

    /// The children of any other node; which node below decides.
    fn read(
        &mut self,
        own: usize,
        node: NodeId,
        place: (i64, i64),
        value: u16,
    ) -> Result<Option<usize>, Error> {
        let (_, step) = self.step(node);
        let children = &self.design.nodes()[node.0].children;
        let alone = step.links.len() == 1;
        let mut decides = None;
        for (index, (link, child)) in step.links.iter().zip(children).enumerate() {
            let mut told = Told {
                node: child.node,
                parent: Some(own),
                role: Some(link.role),
                place,
                window: None,
            };
            match step.kind.shows(link, index, place) {
                Shows::Nothing => {}
                Shows::Pixel(x, y) => {
                    told.place = (x, y);
                    let found = self.tell(told)?;
                    if alone {
                        decides = found.decides;
                    }
                }
                Shows::Copies { pixels, one } => {
                    for pixel in pixels {
                        told.place = pixel;
                        let found = self.tell(told)?;
                        if one && found.value == value {
                            decides = found.decides;
                        }
                        // Nothing would be told of more copies.
                        if found.number.is_none() {
                            break;
                        }
                    }
                }
                Shows::Window(window) => {
                    told.place = (
                        window.x().midpoint(window.right() - 1),
                        window.y().midpoint(window.bottom() - 1),
                    );
                    told.window = Some(window);
                    self.tell(told)?;
                }
            }
        }
        Ok(decides)
    }
}
