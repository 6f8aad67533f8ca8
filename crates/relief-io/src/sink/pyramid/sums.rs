//! Sums of units on the disk, until the levels above them are made of them: so a job that was stopped goes on without what its units
//! were made of, and no more is held than a tile of each level.

use std::fs::File;
use std::io;

use crate::sink::positioned::{read_at, write_all_at};

/// The file of sums: a slot for every unit, with a check sum before its sums.
#[derive(Debug)]
pub(super) struct Sums {
    file: File,
    /// The number of sums of a unit.
    count: u64,
}

/// What stands before the sums of a unit: "sum", a check sum of all that follows, and the number of the unit.
const HEAD: u64 = 16;

impl Sums {
    pub(super) const fn new(file: File, count: u64) -> Self {
        Self { file, count }
    }

    const fn slot(&self, unit: u64) -> u64 {
        unit * (HEAD + self.count * 8)
    }

    fn head(unit: u64, bytes: &[u8]) -> [u8; HEAD as usize] {
        let mut head = [0; HEAD as usize];
        head[8..].copy_from_slice(&unit.to_le_bytes());
        let sum = crc32c::crc32c_append(crc32c::crc32c(&head[8..]), bytes);
        head[..4].copy_from_slice(b"sum ");
        head[4..8].copy_from_slice(&sum.to_le_bytes());
        head
    }

    /// Keeps the sums of a unit.
    pub(super) fn write(&self, unit: u64, sums: &[u64], bytes: &mut Vec<u8>) -> io::Result<()> {
        bytes.clear();
        bytes.resize(HEAD as usize, 0);
        bytes.extend(sums.iter().flat_map(|sum| sum.to_le_bytes()));
        let head = Self::head(unit, &bytes[HEAD as usize..]);
        bytes[..HEAD as usize].copy_from_slice(&head);
        write_all_at(&self.file, bytes, self.slot(unit))
    }

    /// Reads the sums of a unit; false where they are not there.
    pub(super) fn read(&self, unit: u64, sums: &mut Vec<u64>, bytes: &mut Vec<u8>) -> io::Result<bool> {
        bytes.resize((HEAD + self.count * 8) as usize, 0);
        read_at(&self.file, bytes, self.slot(unit))?;
        let (head, rest) = bytes.split_at(HEAD as usize);
        if head != Self::head(unit, rest) {
            return Ok(false);
        }
        sums.clear();
        sums.extend(rest.as_chunks().0.iter().map(|&sum| u64::from_le_bytes(sum)));
        Ok(true)
    }
}
