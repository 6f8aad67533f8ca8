//! The cells of a layout as its file has them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::Error;
use crate::Limits;
use crate::limits::{Memory, Refused};

/// A layout, read.
#[derive(Debug)]
pub struct Library {
    pub(crate) unit: Unit,
    /// Cells, and parts of cells that are copied; those without shapes that only were named as well.
    pub(super) structures: Vec<Structure>,
    /// The cells that the file holds, in its order.
    pub(super) order: Vec<u32>,
    pub(super) names: HashMap<Arc<str>, u32>,
    /// Layers and datatypes, by their numbers.
    layers: Vec<(i64, i64)>,
    layer_numbers: HashMap<(i64, i64), u32>,
    /// All points, of all elements.
    pub(super) points: Vec<(i32, i32)>,
    pub(super) limits: Limits,
    pub(super) memory: Memory,
    items: u64,
}

/// The database unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    pub(crate) metres: f64,
    /// The same as a fraction, where the file has one.
    pub(crate) exact: Option<(u64, u64)>,
}

#[derive(Debug, Default)]
pub(super) struct Structure {
    /// None of a part, which only the cell places that it is of.
    pub(super) name: Option<Arc<str>>,
    pub(super) is_defined: bool,
    pub(super) shapes: Vec<Shape>,
    pub(super) references: Vec<Reference>,
}

#[derive(Debug)]
pub(super) struct Shape {
    pub(super) points: Range<u32>,
    /// The number of its layer and datatype.
    pub(super) layer: u32,
    /// Whether its layer is one of those chosen.
    pub(super) drawn: bool,
    pub(super) path: Option<Box<Path>>,
}

/// The line along a path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Path {
    /// Less than 0: not magnified.
    pub(crate) width: i64,
    /// 0 flush, 1 round, 2 half the width beyond, 4 as far as `before` and `after` say.
    pub(crate) ends: i16,
    pub(crate) before: i64,
    pub(crate) after: i64,
}

#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) cell: u32,
    pub(crate) mirrored: bool,
    pub(crate) magnification: f64,
    /// In degrees, against the clock.
    pub(crate) angle: f64,
    pub(crate) at: (i64, i64),
    pub(crate) array: Option<Box<Array>>,
}

impl Reference {
    /// One copy, neither turned nor magnified.
    pub(crate) const fn plain(cell: u32, at: (i64, i64)) -> Self {
        Self {
            cell,
            mirrored: false,
            magnification: 1.0,
            angle: 0.0,
            at,
            array: None,
        }
    }
}

/// Columns and rows, at least one of each, and the step from one to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Array {
    pub(crate) columns: u32,
    pub(crate) rows: u32,
    pub(crate) across: Step,
    pub(crate) down: Step,
}

/// One of `parts` equal parts of a way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) way: (i64, i64),
    pub(crate) parts: u32,
}

/// A layer and a datatype, and how many shapes lie on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Layer {
    /// The layer.
    pub layer: i64,
    /// The datatype.
    pub datatype: i64,
    /// The shapes, each counted for every copy of its cell.
    pub shapes: u128,
}

/// What a layer takes in the map that knows it.
const KNOWN_LAYER: u64 = 2 * (size_of::<((i64, i64), u32)>() as u64 + 1);

/// What a name takes in a map, beside its letters.
const NAMED: u64 = 2 * (size_of::<(Arc<str>, u32)>() as u64 + 1) + 16;

impl Library {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            unit: Unit {
                metres: 0.0,
                exact: None,
            },
            structures: Vec::new(),
            order: Vec::new(),
            names: HashMap::new(),
            layers: Vec::new(),
            layer_numbers: HashMap::new(),
            points: Vec::new(),
            limits,
            memory: Memory::new(&limits),
            items: 0,
        }
    }

    /// The names of the cells that no other places.
    #[must_use]
    pub fn tops(&self) -> Vec<&str> {
        let mut placed = vec![false; self.structures.len()];
        for reference in self.structures.iter().flat_map(|structure| &structure.references) {
            placed[reference.cell as usize] = true;
        }
        let tops = self.order.iter().filter(|number| !placed[**number as usize]);
        tops.map(|number| self.name(*number)).collect()
    }

    /// The names of all cells, in the order of the file.
    pub fn cells(&self) -> impl Iterator<Item = &str> {
        self.order.iter().map(|number| self.name(*number))
    }

    /// The layers of a structure and of all that it places, ascending.
    pub(super) fn layers_of(&self, root: u32) -> Result<Vec<Layer>, Refused> {
        // The order and what waits, what was seen, and how many copies there are.
        let (structures, layers) = (self.structures.len() as u64, self.layers.len() as u64);
        self.memory
            .room(structures * (2 * 32 + 1 + 16) + layers * 3 * 32)?;
        // Each structure before those that it places; one that contains itself is left to who draws it.
        let (mut order, mut state) = (Vec::new(), vec![false; self.structures.len()]);
        let mut open = vec![(root, 0)];
        state[root as usize] = true;
        while let Some((number, next)) = open.last_mut() {
            match self.structures[*number as usize].references.get(*next) {
                Some(reference) => {
                    *next += 1;
                    if !std::mem::replace(&mut state[reference.cell as usize], true) {
                        open.push((reference.cell, 0));
                    }
                }
                None => {
                    order.push(*number);
                    open.pop();
                }
            }
        }
        let (mut copies, mut shapes) = (
            vec![0_u128; self.structures.len()],
            vec![0_u128; self.layers.len()],
        );
        copies[root as usize] = 1;
        for number in order.into_iter().rev() {
            let (structure, own) = (&self.structures[number as usize], copies[number as usize]);
            for shape in &structure.shapes {
                let sum = &mut shapes[shape.layer as usize];
                *sum = sum.saturating_add(own);
            }
            for reference in &structure.references {
                let array = reference.array.as_ref();
                let count = array.map_or(1, |array| u64::from(array.columns) * u64::from(array.rows));
                let sum = &mut copies[reference.cell as usize];
                *sum = sum.saturating_add(own.saturating_mul(count.into()));
            }
        }
        let mut layers: Vec<Layer> = self
            .layers
            .iter()
            .zip(shapes)
            .filter(|(_, shapes)| *shapes > 0)
            .map(|(&(layer, datatype), shapes)| Layer {
                layer,
                datatype,
                shapes,
            })
            .collect();
        layers.sort_unstable();
        Ok(layers)
    }

    /// The name of a cell; that of a part is empty.
    pub(super) fn name(&self, number: u32) -> &str {
        self.structures[number as usize].name.as_deref().unwrap_or("")
    }

    pub(crate) const fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(crate) const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Counts an element, a placement or a name.
    pub(crate) const fn count(&mut self) -> Result<(), Refused> {
        self.items += 1;
        if self.items > self.limits.items {
            return Err(Refused::Items(self.limits.items));
        }
        Ok(())
    }

    /// A structure without a name.
    pub(crate) fn part(&mut self) -> Result<u32, Error> {
        self.count()?;
        let number = self.structures.len() as u32;
        self.memory.push(&mut self.structures, Structure::default())?;
        Ok(number)
    }

    /// The number of the cell of this name, whether or not it is there yet.
    pub(crate) fn cell(&mut self, name: &str) -> Result<u32, Error> {
        if let Some(number) = self.names.get(name) {
            return Ok(*number);
        }
        let number = self.part()?;
        self.call(number, name)?;
        Ok(number)
    }

    /// Names a structure that has no name; the cell that has the name already, if there is one.
    pub(crate) fn call(&mut self, number: u32, name: &str) -> Result<Option<u32>, Error> {
        if let Some(other) = self.names.get(name) {
            return Ok(Some(*other));
        }
        self.memory.take(NAMED + name.len() as u64)?;
        let name: Arc<str> = name.into();
        self.structures[number as usize].name = Some(Arc::clone(&name));
        self.names.insert(name, number);
        Ok(None)
    }

    /// Notes that the file holds a cell; whether it did not before.
    pub(crate) fn define(&mut self, number: u32) -> Result<bool, Error> {
        let structure = &mut self.structures[number as usize];
        if std::mem::replace(&mut structure.is_defined, true) {
            return Ok(false);
        }
        self.memory.push(&mut self.order, number)?;
        Ok(true)
    }

    /// Makes all that names `from` name `to`, of which at most one has contents: two numbers of one cell.
    ///
    /// `to` of each is given, or the number itself.
    pub(crate) fn join(&mut self, to: &[u32]) {
        for (from, to) in to.iter().enumerate() {
            if from as u32 != *to && self.structures[from].is_defined {
                let taken = std::mem::take(&mut self.structures[from]);
                let into = &mut self.structures[*to as usize];
                (into.shapes, into.references, into.is_defined) = (taken.shapes, taken.references, true);
            }
        }
        for number in &mut self.order {
            *number = to[*number as usize];
        }
        for reference in self
            .structures
            .iter_mut()
            .flat_map(|structure| &mut structure.references)
        {
            reference.cell = to[reference.cell as usize];
        }
    }

    pub(crate) fn is_defined(&self, number: u32) -> bool {
        self.structures[number as usize].is_defined
    }

    pub(crate) const fn structures(&self) -> usize {
        self.structures.len()
    }

    /// How many points there are; what was added after may be taken back.
    pub(crate) const fn points(&self) -> usize {
        self.points.len()
    }

    pub(crate) fn take_back(&mut self, points: usize) {
        self.points.truncate(points);
    }

    pub(crate) fn points_after(&self, first: usize) -> &[(i32, i32)] {
        &self.points[first..]
    }

    /// Adds points of a shape that follows.
    pub(crate) fn extend(
        &mut self,
        points: impl ExactSizeIterator<Item = (i32, i32)>,
    ) -> Result<(), Refused> {
        let limit = self.limits.points.min(1 << 31);
        if self.points.len() as u64 + points.len() as u64 > limit {
            return Err(Refused::Points(self.limits.points));
        }
        self.memory.reserve(&mut self.points, points.len())?;
        self.points.extend(points);
        Ok(())
    }

    /// The number of a layer and a datatype.
    pub(crate) fn layer(&mut self, layer: i64, datatype: i64) -> Result<u32, Refused> {
        if let Some(number) = self.layer_numbers.get(&(layer, datatype)) {
            return Ok(*number);
        }
        let number = self.layers.len() as u32;
        self.memory.take(KNOWN_LAYER)?;
        self.memory.push(&mut self.layers, (layer, datatype))?;
        self.layer_numbers.insert((layer, datatype), number);
        Ok(number)
    }

    /// A shape of a cell, of all points after the `first`, on a layer by its number.
    pub(crate) fn shape(
        &mut self,
        into: u32,
        first: usize,
        (layer, drawn): (u32, bool),
        path: Option<Path>,
    ) -> Result<(), Error> {
        let shape = Shape {
            points: first as u32..self.points.len() as u32,
            layer,
            drawn,
            path: match path {
                Some(path) => {
                    self.memory.take(size_of::<Path>() as u64)?;
                    Some(Box::new(path))
                }
                None => None,
            },
        };
        let shapes = &mut self.structures[into as usize].shapes;
        self.memory.push(shapes, shape)?;
        Ok(())
    }

    /// A placement in a cell.
    pub(crate) fn place(&mut self, into: u32, reference: Reference) -> Result<(), Error> {
        if reference.array.is_some() {
            self.memory.take(size_of::<Array>() as u64)?;
        }
        let references = &mut self.structures[into as usize].references;
        self.memory.push(references, reference)?;
        Ok(())
    }
}
