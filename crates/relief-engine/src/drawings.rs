//! The drawings and meshes of a design, each sorted once into an index of its edges or triangles.

use std::collections::HashMap;
use std::sync::Arc;

use relief_design::tree::Place;
use relief_kernels::{coverage, mesh};
use relief_raster::Depth;
use relief_vector::mesh::Solid;
use relief_vector::{Cell, Drawing, Lattice, Limits, Rule, Target};

use crate::Error;
use crate::node::{Periodic, Ready};

/// The indices of all drawings of a design, by what they hold; equal drawings have one.
pub(crate) struct Drawings {
    depth: Depth,
    by_content: HashMap<Arc<Drawing>, usize>,
    /// Drawings that nodes share are looked at once each.
    by_place: HashMap<*const Drawing, usize>,
    ready: Vec<Arc<Ready>>,
    meshes: HashMap<Arc<Solid>, (usize, Arc<mesh::Index>)>,
    bytes: u64,
}

impl Drawings {
    pub(crate) fn new(depth: Depth) -> Self {
        Self {
            depth,
            by_content: HashMap::new(),
            by_place: HashMap::new(),
            ready: Vec::new(),
            meshes: HashMap::new(),
            bytes: 0,
        }
    }

    pub(crate) const fn depth(&self) -> Depth {
        self.depth
    }

    /// The bytes of all drawings and meshes as the design holds them, and of their indices.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number and the index of the drawing of a node.
    pub(crate) fn get(&mut self, drawing: &Arc<Drawing>, place: Place) -> Result<(usize, Arc<Ready>), Error> {
        let by_place = self.by_place.get(&Arc::as_ptr(drawing));
        if let Some(number) = by_place {
            return Ok((*number, Arc::clone(&self.ready[*number])));
        }
        self.bytes = self.bytes.saturating_add(drawing.bytes());
        let number = match self.by_content.get(drawing) {
            Some(number) => *number,
            None => {
                let ready = ready(drawing, self.depth).map_err(|problem| Error::Drawing {
                    line: place.line,
                    problem,
                })?;
                self.bytes = self.bytes.saturating_add(ready.index.bytes());
                self.ready.push(Arc::new(ready));
                self.by_content.insert(Arc::clone(drawing), self.ready.len() - 1);
                self.ready.len() - 1
            }
        };
        self.by_place.insert(Arc::as_ptr(drawing), number);
        Ok((number, Arc::clone(&self.ready[number])))
    }
}

impl Drawings {
    /// The number and the index of the mesh of a node; equal meshes have one.
    pub(crate) fn mesh(
        &mut self,
        solid: &Arc<Solid>,
        place: Place,
    ) -> Result<(usize, Arc<mesh::Index>), Error> {
        if let Some((number, index)) = self.meshes.get(solid) {
            return Ok((*number, Arc::clone(index)));
        }
        let index = mesh::Index::new(Arc::clone(solid.points()), solid.triangles());
        let index = index.ok_or_else(|| Error::Drawing {
            line: place.line,
            problem: "its triangles lie too far out, or are too many".to_owned(),
        })?;
        self.bytes = self
            .bytes
            .saturating_add(solid.bytes())
            .saturating_add(index.bytes());
        let (number, index) = (self.meshes.len(), Arc::new(index));
        self.meshes
            .insert(Arc::clone(solid), (number, Arc::clone(&index)));
        Ok((number, index))
    }
}

/// Sorts a drawing into an index of samples of this depth.
fn ready(drawing: &Drawing, depth: Depth) -> Result<Ready, String> {
    // As many as a design may have in files; what is copied without end would fill memory before it is refused.
    let limits = Limits {
        items: 1 << 22,
        ..Limits::default()
    };
    let builder = coverage::Builder::new(drawing.denominator(), coverage::Limits::default());
    let mut sorter = Sorter {
        builder: builder.ok_or("its points have no common denominator of at most 2^24")?,
        parts: Vec::new(),
        depth,
    };
    drawing
        .lower(&limits, &mut sorter)
        .map_err(|refused| refused.to_string())?
        .map_err(|error| error.to_string())?;
    let period = drawing.period(&limits).map_err(|refused| refused.to_string())?;
    let index = sorter.builder.finish().map_err(|error| match error {
        coverage::Error::Dense {
            part,
            copies,
            work,
            limit,
        } => dense(drawing, part.number(), copies, work.div_ceil(limit)),
        _ => error.to_string(),
    })?;
    Ok(Ready {
        index,
        period: period.map(|(period, valid)| Periodic { period, valid }),
    })
}

/// Says which outlines lie too close together.
fn dense(drawing: &Drawing, part: u32, copies: u64, times: u64) -> String {
    // Cells without elements are no parts; the parts of a cell have no name, but it has one.
    let cells = drawing.cells();
    let mut parts = (0..cells.len()).filter(|cell| !cells[*cell].elements.is_empty());
    let number = parts.nth(part as usize).unwrap_or(0);
    let places = |cell: &&Cell| cell.placements.iter().any(|place| place.cell as usize == number);
    let own = cells.get(number).and_then(|cell| cell.name.as_deref());
    let name = own.or_else(|| cells.iter().find(places)?.name.as_deref());
    let who = match (name, copies) {
        (Some(name), _) => format!(
            "up to {copies} copies of the cell \"{}\"",
            relief_design::visible(name)
        ),
        (None, 0..=1) => "those".to_owned(),
        (None, _) => format!("up to {copies} copies of the same outlines"),
    };
    format!(
        "outlines lie too close together: {who} meet in 1024 × 64 pixels, and with all that lies there they have {times} times \
         the edges that are computed at once; draw it in smaller pixels, draw fewer layers of it, or leave out copies that \
         lie on each other"
    )
}

/// Hands the outlines of a drawing to the kernel's index.
struct Sorter {
    builder: coverage::Builder,
    parts: Vec<coverage::Part>,
    depth: Depth,
}

const fn rule(rule: Rule) -> coverage::Rule {
    match rule {
        Rule::NonZero => coverage::Rule::NonZero,
        Rule::EvenOdd => coverage::Rule::EvenOdd,
    }
}

impl Target for Sorter {
    type Error = coverage::Error;

    fn part(&mut self) {
        let part = self.builder.part();
        self.parts.push(part);
    }

    fn element(&mut self, value: u16, fill: Rule) {
        let value = match self.depth {
            // A gray of 65 535 to the nearest of 255.
            Depth::Eight => ((u32::from(value) + 128) / 257) as u16,
            Depth::Sixteen => value,
        };
        self.builder.element(value, rule(fill));
    }

    fn clip(&mut self, fill: Rule) {
        self.builder.clip(rule(fill));
    }

    fn outline(&mut self, points: &[(i64, i64)]) -> Result<(), coverage::Error> {
        self.builder.outline(points)
    }

    fn place(&mut self, part: u32, lattice: Lattice) -> Result<(), coverage::Error> {
        let lattice = coverage::Lattice {
            origin: lattice.origin,
            u: lattice.u,
            v: lattice.v,
            columns: lattice.columns,
            rows: lattice.rows,
        };
        match self.parts.get(part as usize) {
            Some(part) => self.builder.place(*part, lattice),
            None => Ok(()),
        }
    }
}
