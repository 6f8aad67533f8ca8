//! Cells by their numbers, and the names of these.

use std::collections::HashMap;
use std::io::Read;

use super::bytes::Bytes;
use crate::layout::{Error, Library, Place};

/// What an entry of a map takes.
const ENTRY: u64 = 2 * (size_of::<(u64, String)>() as u64 + 1);

/// Where the record of a cell begins, and the block that it is in.
type Begin = (u64, Option<u64>);

#[derive(Default)]
pub(super) struct Names {
    /// The structures of cells that were named by a number.
    cells: HashMap<u64, u32>,
    /// The names of numbers.
    names: HashMap<u64, String>,
    /// Where the cells begin that the file holds.
    begun: HashMap<u32, Begin>,
    /// Whether names have numbers of their own, or those of their order.
    is_numbered: Option<bool>,
}

impl Names {
    /// The structure of the cell of this number.
    pub(super) fn cell(&mut self, number: u64, library: &mut Library) -> Result<u32, Error> {
        if let Some(cell) = self.cells.get(&number) {
            return Ok(*cell);
        }
        library.memory().take(ENTRY)?;
        let cell = library.part()?;
        self.cells.insert(number, cell);
        Ok(cell)
    }

    /// Notes that a cell begins with the record at hand.
    pub(super) fn begin(
        &mut self,
        cell: u32,
        shown: &str,
        bytes: &Bytes<impl Read>,
        library: &mut Library,
    ) -> Result<(), Error> {
        if !library.define(cell)? {
            let first = self.place(cell);
            return Err(bytes.fault(format!("a second cell is {shown}; the first is at {first}")));
        }
        library.memory().take(ENTRY)?;
        self.begun.insert(cell, bytes.begun());
        Ok(())
    }

    fn place(&self, cell: u32) -> Place {
        let (at, block) = self.begun.get(&cell).copied().unwrap_or_default();
        Place {
            at,
            block,
            cell: None,
        }
    }

    /// The number of a cell for messages: its name, if that is known.
    pub(super) fn shown(&self, number: u64) -> String {
        match self.names.get(&number) {
            Some(name) => format!("{name:?}"),
            None => format!("number {number}"),
        }
    }

    /// Reads a name, with the number that it is of or with the next one.
    pub(super) fn read(
        &mut self,
        bytes: &mut Bytes<impl Read>,
        numbered: bool,
        library: &mut Library,
    ) -> Result<(), Error> {
        let name = bytes.name()?;
        if *self.is_numbered.get_or_insert(numbered) != numbered {
            return Err(bytes.fault("names of cells with numbers of their own beside names that are counted"));
        }
        let number = if numbered {
            bytes.unsigned()?
        } else {
            self.names.len() as u64
        };
        library.count()?;
        library.memory().take(ENTRY + name.len() as u64)?;
        if let Some(other) = self.names.insert(number, name) {
            return Err(bytes.fault(format!(
                "the cell {number} has a second name; its first is {other:?}"
            )));
        }
        Ok(())
    }

    /// Gives all cells their names, at the end of the file.
    pub(super) fn settle(self, bytes: &Bytes<impl Read>, library: &mut Library) -> Result<(), Error> {
        let mut joined: Vec<u32> = Vec::new();
        // Which cell has the contents of one that has a name, but none of its own.
        let mut filled: HashMap<u32, u32> = HashMap::new();
        library.memory().take(self.cells.len() as u64 * 16)?;
        let mut cells: Vec<(u64, u32)> = self.cells.iter().map(|(number, cell)| (*number, *cell)).collect();
        cells.sort_unstable();
        for (number, cell) in cells {
            let Some(name) = self.names.get(&number) else {
                return Err(bytes.fault(format!("the cell number {number} has no name (CELLNAME)")));
            };
            let Some(other) = library.call(cell, name)? else {
                continue;
            };
            if library.is_defined(cell) {
                let own = library.is_defined(other).then_some(other);
                if let Some(first) = own.or_else(|| filled.get(&other).copied()) {
                    let mut places = [first, cell].map(|cell| self.place(cell));
                    places.sort_by_key(|place| place.block.map_or((place.at, 0), |block| (block, place.at)));
                    let [first, second] = places;
                    return Err(bytes.fault(format!(
                        "a second cell is named {name:?}; one is at {first}, another at {second}"
                    )));
                }
                library.memory().take(ENTRY)?;
                filled.insert(other, cell);
            }
            // The same cell was named by its name as well.
            if joined.is_empty() {
                let count = library.structures();
                library.memory().take(count as u64 * 4)?;
                joined = (0..count as u32).collect();
            }
            joined[cell as usize] = other;
        }
        if !joined.is_empty() {
            library.join(&joined);
        }
        Ok(())
    }
}
