//! `formula`: a sample from the place of its pixel and from the samples of its children at the same place.
//!
//! What depends on columns alone or rows alone is tabulated once for a tile. Rows are evaluated in parts of [`PART`] pixels: columns of binary64
//! for what is read, a stack of blocks for what is computed, all in the scratch of the thread. Devices get the samples from the CPU: none of them promises that it
//! rounds every operation once.

use relief_design::kinds::{self, Input, LANES, Program, Separated};
use relief_design::tree;
use relief_raster::{Period, Rect, Sample, ViewMut};

use crate::Error;
#[cfg(feature = "gpu")]
use crate::node::device::Lowering;
use crate::node::{Filled, Inputs, Link, Node, Periodic, Request, Resources, Tile, read_padded, scratch};

/// Pixels of a row that are evaluated at once.
const PART: usize = 512;

/// What a column of the program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Column {
    X,
    Y,
    /// The samples of the child of this number.
    Child(usize),
    /// The table of columns of this number.
    Across(usize),
    /// The table of rows of this number.
    Down(usize),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Formula {
    program: Separated,
    columns: Vec<Column>,
}

/// The values of what depends on one coordinate alone, in a tile.
struct Tables<'t> {
    /// Those of all columns, one table after the other.
    across: &'t [f64],
    /// Those of all rows.
    down: &'t [f64],
}

impl Formula {
    /// The numbers of the children that are read, in the order of the columns.
    fn children(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().filter_map(|column| match column {
            Column::Child(child) => Some(*child),
            _ => None,
        })
    }

    /// Whether a sample depends on nothing but those of the children.
    fn is_placeless(&self) -> bool {
        self.children().count() == self.columns.len()
    }

    /// The numbers beside the stack.
    fn numbers(&self) -> usize {
        (self.columns.len() + 1) * PART
    }

    /// The numbers of the tables of a tile.
    fn tables(&self, width: u64, height: u64) -> (u64, u64) {
        (
            width.saturating_mul(self.program.across.len() as u64),
            height.saturating_mul(self.program.down.len() as u64),
        )
    }

    /// The blocks of the stack of all programs.
    fn depth(&self) -> usize {
        let parts = self.program.across.iter().chain(&self.program.down);
        parts
            .map(Program::depth)
            .fold(self.program.rest.depth(), usize::max)
    }

    /// Fills the tables of programs for places from `first` on; `columns` and `stack` are memory.
    fn tabulate(
        programs: &[Program],
        first: i64,
        side: usize,
        tables: &mut [f64],
        columns: &mut [f64],
        stack: &mut [[f64; LANES]],
    ) {
        for (program, table) in programs.iter().zip(tables.chunks_exact_mut(side)) {
            for (part, values) in table.chunks_mut(PART).enumerate() {
                let places = &mut columns[..values.len()];
                fill_places(first + (part * PART) as i64, places);
                program.evaluate(places, values, stack);
            }
        }
    }

    /// Fills the columns for `pixels` pixels from column `x` and row `y` of `rect` on. `samples` are those of the
    /// children in `rect`, one after the other.
    fn fill<S: Sample>(
        &self,
        rect: Rect,
        (x, y): (usize, usize),
        pixels: usize,
        samples: &[S],
        tables: &Tables<'_>,
        into: &mut [f64],
    ) {
        let (width, height) = (rect.width() as usize, rect.height() as usize);
        let area = width * height;
        let mut child = 0;
        for (column, values) in self.columns.iter().zip(into.chunks_exact_mut(pixels)) {
            match column {
                Column::X => fill_places(rect.x() + x as i64, values),
                Column::Y => values.fill((rect.y() + y as i64) as f64 + 0.5),
                Column::Across(table) => {
                    let from = table * width + x;
                    values.copy_from_slice(&tables.across[from..from + pixels]);
                }
                Column::Down(table) => values.fill(tables.down[table * height + y]),
                Column::Child(_) => {
                    let from = child * area + y * width + x;
                    for (value, sample) in values.iter_mut().zip(&samples[from..from + pixels]) {
                        *value = f64::from(sample.to_u16());
                    }
                    child += 1;
                }
            }
        }
    }
}

/// The middles of pixels from `first` on. Coordinates are at most 2^40 and exact, also with their halves.
fn fill_places(first: i64, places: &mut [f64]) {
    for (i, place) in places.iter_mut().enumerate() {
        *place = (first + i as i64) as f64 + 0.5;
    }
}

impl Node for Formula {
    fn period(&self, own: Rect, links: &[Link], children: &[Option<Periodic>]) -> Option<Periodic> {
        if !self.is_placeless() {
            return None;
        }
        let mut all = Periodic {
            period: Period::ONE,
            valid: own,
        };
        for child in self.children() {
            let (link, child) = (links.get(child)?, (*children.get(child)?)?);
            all.period = all.period.intersection(&child.period)?;
            let valid = child.valid.translated(link.extent.x(), link.extent.y());
            all.valid = all.valid.intersection(&valid);
        }
        Some(all)
    }

    fn scratch(&self, _: &[Link], request: &Request, bytes: u64) -> u64 {
        let children = self.children().count() as u64;
        let samples = request
            .width
            .saturating_mul(request.height)
            .saturating_mul(children);
        let numbers = self.numbers() + self.depth() * LANES;
        let (across, down) = self.tables(request.width, request.height);
        scratch::words(samples, bytes)
            .saturating_add(across)
            .saturating_add(down)
            .saturating_add(numbers as u64)
    }

    fn cost(&self) -> u64 {
        self.program.rest.operations().saturating_add(4)
    }

    #[cfg(feature = "gpu")]
    fn lowering(&self) -> Lowering {
        Lowering::Host
    }
}

impl Tile for Formula {
    type Design = kinds::Formula;

    fn new(kind: &kinds::Formula, node: &tree::Node, _: &mut dyn Resources) -> Result<Self, Error> {
        let program = kind.program.of_size(node.width, node.height).separated();
        let column = |input: &Input| match *input {
            Input::X => Ok(Column::X),
            Input::Y => Ok(Column::Y),
            Input::Across(table) => Ok(Column::Across(table)),
            Input::Down(table) => Ok(Column::Down(table)),
            Input::Child(child) if child < node.children.len() => Ok(Column::Child(child)),
            Input::Child(_) => Err(Error::defect(
                Rect::EMPTY,
                "a formula reads a child that it has not",
            )),
            Input::Width | Input::Height => Err(Error::defect(
                Rect::EMPTY,
                "a formula does not know the size of its node",
            )),
        };
        let columns = program
            .rest
            .inputs()
            .iter()
            .map(column)
            .collect::<Result<_, Error>>()?;
        Ok(Self { program, columns })
    }

    fn tile<S: Sample>(
        &self,
        inputs: &dyn Inputs<S>,
        links: &[Link],
        rect: Rect,
        mut out: ViewMut<'_, S>,
        scratch: &mut [u64],
    ) -> Result<Filled<S>, Error> {
        let (width, height) = (rect.width() as usize, rect.height() as usize);
        let area = width * height;
        let (numbers, rest) = scratch.split_at_mut(self.numbers());
        let (stack, rest) = rest.split_at_mut(self.depth() * LANES);
        let (across, down) = self.tables(rect.width(), rect.height());
        let (across, rest) = rest.split_at_mut(across as usize);
        let (down, rest) = rest.split_at_mut(down as usize);
        let (across, down) = (
            bytemuck::cast_slice_mut::<u64, f64>(across),
            bytemuck::cast_slice_mut::<u64, f64>(down),
        );
        let (columns, values) =
            bytemuck::cast_slice_mut::<u64, f64>(numbers).split_at_mut(self.columns.len() * PART);
        let stack: &mut [[f64; LANES]] = bytemuck::cast_slice_mut(stack);
        let (samples, rest) = scratch::carve::<S>(rest, self.children().count() * area);

        let mut uniform = self.is_placeless();
        for (child, samples) in self.children().zip(samples.chunks_exact_mut(area)) {
            let mut view = ViewMut::packed(samples, width, height);
            let filled = read_padded(inputs, &links[child], rect, view.reborrow(), rest)?;
            uniform &= matches!(filled, Filled::Uniform(_));
            filled.write(view);
        }
        let program = &self.program.rest;
        let sample = |value: f64| S::from_u16(kinds::rounded(value, S::DEPTH));
        if uniform {
            let columns = &mut columns[..self.columns.len()];
            let tables = Tables {
                across: &[],
                down: &[],
            };
            self.fill(rect, (0, 0), 1, samples, &tables, columns);
            program.evaluate(columns, &mut values[..1], stack);
            return Ok(Filled::Uniform(sample(values[0])));
        }
        // Without a column there is no table: memory of one is enough for each.
        Self::tabulate(&self.program.across, rect.x(), width, across, columns, stack);
        Self::tabulate(&self.program.down, rect.y(), height, down, columns, stack);
        let tables = Tables { across, down };
        for y in 0..height {
            inputs.check()?;
            for (part, out) in out.row_mut(y).chunks_mut(PART).enumerate() {
                let columns = &mut columns[..self.columns.len() * out.len()];
                let values = &mut values[..out.len()];
                self.fill(rect, (part * PART, y), out.len(), samples, &tables, columns);
                program.evaluate(columns, values, stack);
                for (out, value) in out.iter_mut().zip(values) {
                    *out = sample(*value);
                }
            }
        }
        Ok(Filled::Written)
    }
}
