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

/// Bytes that indices may take where a job is allowed fewer. It is refused all the same, but with the fewest bytes that do: those of an index that was
/// not built are bounded, not known.
const LEAST: u64 = 4 << 20;

/// A drawing whose outlines lie so close together that a tile may take more than a second.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SlowDrawing {
    /// The line of the design where it stands.
    pub line: u32,
    /// About how many seconds a core takes for 1 024 × 64 pixels of it: within a factor of 5 on a common processor.
    pub seconds: f64,
}

/// The indices of all drawings of a design, by what they hold; equal drawings have one.
pub(crate) struct Drawings {
    depth: Depth,
    by_content: HashMap<Arc<Drawing>, usize>,
    /// Drawings that nodes share are looked at once each.
    by_place: HashMap<*const Drawing, usize>,
    ready: Vec<Arc<Ready>>,
    meshes: HashMap<Arc<Solid>, (usize, Arc<mesh::Index>)>,
    bytes: u64,
    /// Those of which a tile may take more than a second.
    slow: Vec<SlowDrawing>,
    /// The bytes that all of this may take.
    memory: u64,
}

impl Drawings {
    /// Indices of samples of this depth, in no more than `memory` bytes or a few MiB: what does not fit is weighed, not built.
    pub(crate) fn new(depth: Depth, memory: u64) -> Self {
        Self {
            memory: memory.max(LEAST),
            depth,
            by_content: HashMap::new(),
            by_place: HashMap::new(),
            ready: Vec::new(),
            meshes: HashMap::new(),
            bytes: 0,
            slow: Vec::new(),
        }
    }

    /// Those of which a tile may take more than a second, each once.
    pub(crate) fn slow(&self) -> &[SlowDrawing] {
        &self.slow
    }

    pub(crate) const fn depth(&self) -> Depth {
        self.depth
    }

    /// The bytes of all drawings and meshes as the design holds them, and of their indices. Those that did not fit are counted with what building
    /// them takes, so that these are more than may be: no plan does, and what would do is told as of any job that is too large.
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
                let room = self.memory.saturating_sub(self.bytes);
                let (ready, bytes) = ready(drawing, self.depth, room).map_err(|problem| Error::Drawing {
                    line: place.line,
                    problem,
                })?;
                self.bytes = self.bytes.saturating_add(bytes);
                let second = coverage::WORK_OF_A_SECOND;
                if ready.index.work() > second {
                    // At 16 bits there are four times as many sub-scanlines, of which an edge crosses all at once.
                    let times = if self.depth == Depth::Eight { 1.0 } else { 2.0 };
                    self.slow.push(SlowDrawing {
                        line: place.line,
                        seconds: times * ready.index.work() as f64 / second as f64,
                    });
                }
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
        self.bytes = self.bytes.saturating_add(solid.bytes());
        let room = self.memory.saturating_sub(self.bytes);
        let needed = mesh::Index::bytes_to_build(solid.triangles().len() as u64);
        // As of drawings: an index of nothing, with the bytes that do.
        let triangles = if needed > room { &[] } else { solid.triangles() };
        let index = mesh::Index::new(Arc::clone(solid.points()), triangles);
        let index = index.ok_or_else(|| Error::Drawing {
            line: place.line,
            problem: "its triangles lie too far out, or are too many".to_owned(),
        })?;
        let held = if needed > room { needed } else { index.bytes() };
        self.bytes = self.bytes.saturating_add(held);
        let (number, index) = (self.meshes.len(), Arc::new(index));
        self.meshes
            .insert(Arc::clone(solid), (number, Arc::clone(&index)));
        Ok((number, index))
    }
}

/// What scratch memory a drawing may take beyond that of an index of nothing, for each of a few threads.
const LAYERS: u64 = 1 << 20;

/// Sorts a drawing into an index of samples of this depth, in no more than `room` bytes, and tells those that it takes. Where they are
/// more, the index is one of nothing.
fn ready(drawing: &Drawing, depth: Depth, room: u64) -> Result<(Ready, u64), String> {
    // As many as a design may have in files; what is copied without end would fill memory before it is refused.
    let limits = Limits {
        items: 1 << 22,
        ..Limits::default()
    };
    let lists = Lists::of(drawing, &limits);
    if lists.while_written() > room {
        return without(drawing, &lists, room);
    }
    // Before there is an index beside what this takes.
    let period = drawing.period(&limits).map_err(|refused| refused.to_string())?;
    let builder = coverage::Builder::new(
        drawing.denominator(),
        coverage::Limits {
            memory: room.saturating_sub(lists.while_read()),
            ..coverage::Limits::default()
        },
    );
    let mut sorter = Sorter {
        builder: builder.ok_or(NO_DENOMINATOR)?,
        parts: Vec::new(),
        depth,
    };
    let sorted = sorter
        .builder
        .expect(u32::try_from(lists.placements).unwrap_or(u32::MAX))
        .map(|()| drawing.lower(&limits, &mut sorter));
    let lowered = match sorted {
        Ok(lowered) => lowered.map_err(|refused| refused.to_string())?,
        Err(error) => Err(error),
    };
    // The lists are gone.
    sorter.builder.set_memory(room);
    let index = match lowered.and_then(|()| sorter.builder.finish()) {
        Ok(index) => index,
        Err(coverage::Error::Memory(_)) => return without(drawing, &lists, room),
        Err(coverage::Error::Dense {
            part,
            copies,
            work,
            limit,
        }) => return Err(dense(drawing, part.number(), copies, work.div_ceil(limit))),
        Err(error) => return Err(error.to_string()),
    };
    let bytes = index.bytes();
    let period = period.map(|(period, valid)| Periodic { period, valid });
    Ok((Ready { index, period }, bytes))
}

const NO_DENOMINATOR: &str = "its points have no common denominator of at most 2^24";

/// An index of nothing for a drawing, and the bytes that do for building its own, more than `room`.
fn without(drawing: &Drawing, lists: &Lists, room: u64) -> Result<(Ready, u64), String> {
    let limits = coverage::Limits::default();
    let nothing = coverage::Builder::new(drawing.denominator(), limits).ok_or(NO_DENOMINATOR)?;
    let mut weight = coverage::Weight::new(drawing.denominator());
    for cell in drawing.cells().iter().filter(|cell| !cell.elements.is_empty()) {
        weight.part();
        for element in &cell.elements {
            weight.element();
            for outline in element.outlines.clone() {
                weight.outline(drawing.outline(outline));
            }
        }
    }
    weight.placements(lists.placements);
    let written = lists.while_written();
    let placed = weight.bytes_placed().saturating_add(lists.while_read());
    let needed = weight.bytes().max(placed).max(written).saturating_add(LAYERS);
    let needed = needed.max(room.saturating_add(1));
    let ready = Ready {
        index: nothing.finish().map_err(|error| error.to_string())?,
        period: None,
    };
    Ok((ready, needed))
}

/// The lists of placements that are there while a drawing is lowered.
struct Lists {
    /// Placements once cells within cells are written out, an array within no array being one: at least so many.
    placements: u64,
}

impl Lists {
    /// The bytes of a placement in such a list.
    const PLACEMENT: u64 = size_of::<(u32, Lattice)>() as u64;

    fn of(drawing: &Drawing, limits: &Limits) -> Self {
        let mut counts: Vec<u64> = Vec::with_capacity(drawing.cells().len());
        for cell in drawing.cells() {
            let placed = cell
                .placements
                .iter()
                .map(|placement| counts[placement.cell as usize]);
            let own = u64::from(!cell.elements.is_empty());
            counts.push(placed.fold(own, u64::saturating_add));
        }
        Self {
            // With more than may be, lowering refuses it before it makes a list.
            placements: counts
                .last()
                .copied()
                .filter(|count| *count <= limits.items)
                .unwrap_or(0),
        }
    }

    /// While cells are written out: those that are, and those that will be. Lists double as they grow.
    const fn while_written(&self) -> u64 {
        2 * self.while_read()
    }

    const fn while_read(&self) -> u64 {
        self.placements.next_power_of_two() * Self::PLACEMENT
    }
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
