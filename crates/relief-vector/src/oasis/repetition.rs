//! Where the copies of an element lie.

use std::io::Read;

use super::bytes::Bytes;
use crate::layout::{Array, Error, Library, Step};
use crate::limits::Refused;

/// Copies of an element, by their offsets from the first.
#[derive(Debug)]
pub(super) enum Repetition {
    /// Columns and rows.
    Regular(Array),
    /// Places of their own, of which the first is (0, 0).
    Places(Vec<(i64, i64)>),
}

/// More rows or columns than an array has in the drawing.
const MAX_COUNT: u64 = u32::MAX as u64;

/// Where the next copy lies, of those at places of their own.
#[derive(Clone, Copy)]
enum Along {
    X,
    Y,
    Any,
}

impl Repetition {
    /// Reads a repetition; nothing where it is the last one again.
    pub(super) fn read(bytes: &mut Bytes<impl Read>, library: &mut Library) -> Result<Option<Self>, Error> {
        let kind = bytes.unsigned()?;
        Ok(Some(match kind {
            0 => return Ok(None),
            1 => {
                let (columns, rows) = (count(bytes)?, count(bytes)?);
                let (u, v) = ((bytes.length()?, 0), (0, bytes.length()?));
                regular((columns, rows), u, v)
            }
            2 => {
                let columns = count(bytes)?;
                regular((columns, 1), (bytes.length()?, 0), (0, 0))
            }
            3 => {
                let rows = count(bytes)?;
                regular((1, rows), (0, 0), (0, bytes.length()?))
            }
            4 => places(bytes, library, Along::X, false)?,
            5 => places(bytes, library, Along::X, true)?,
            6 => places(bytes, library, Along::Y, false)?,
            7 => places(bytes, library, Along::Y, true)?,
            8 => {
                let counts = (count(bytes)?, count(bytes)?);
                let (u, v) = (bytes.vector()?, bytes.vector()?);
                regular(counts, u, v)
            }
            9 => {
                let columns = count(bytes)?;
                regular((columns, 1), bytes.vector()?, (0, 0))
            }
            10 => places(bytes, library, Along::Any, false)?,
            11 => places(bytes, library, Along::Any, true)?,
            other => {
                return Err(bytes.fault(format!("a repetition of the type {other}; 0 to 11 are known")));
            }
        }))
    }
}

/// A number of copies along a direction, which is two more than the file has.
fn count(bytes: &mut Bytes<impl Read>) -> Result<u32, Error> {
    let more = bytes.unsigned()?;
    if more > MAX_COUNT - 2 {
        return Err(bytes.fault(format!(
            "a repetition of {more} copies and 2; up to {MAX_COUNT} are read"
        )));
    }
    Ok(more as u32 + 2)
}

const fn regular((columns, rows): (u32, u32), u: (i64, i64), v: (i64, i64)) -> Repetition {
    // Copies in the same place cover what one covers.
    const fn counted(count: u32, way: (i64, i64)) -> u32 {
        if way.0 == 0 && way.1 == 0 { 1 } else { count }
    }
    Repetition::Regular(Array {
        columns: counted(columns, u),
        rows: counted(rows, v),
        across: Step { way: u, parts: 1 },
        down: Step { way: v, parts: 1 },
    })
}

/// Copies each with a way from the one before, in steps of a grid where there is one.
fn places(
    bytes: &mut Bytes<impl Read>,
    library: &mut Library,
    along: Along,
    has_grid: bool,
) -> Result<Repetition, Error> {
    let more = bytes.unsigned()?;
    let limit = library.limits().items;
    if more >= limit {
        return Err(Refused::Items(limit).into());
    }
    let grid = if has_grid { bytes.length()? } else { 1 };
    let mut places = Vec::new();
    library.memory().push(&mut places, (0, 0))?;
    let (mut at, mut same) = ((0, 0), true);
    let mut first = None;
    for _ in 0..=more {
        let (x, y) = match along {
            Along::X => (bytes.length()?, 0),
            Along::Y => (0, bytes.length()?),
            Along::Any => bytes.vector()?,
        };
        let on = |at: i64, way: i64| {
            let place = way.checked_mul(grid).and_then(|way| at.checked_add(way));
            bytes.near(place.unwrap_or(i64::MAX))
        };
        at = (on(at.0, x)?, on(at.1, y)?);
        same &= *first.get_or_insert(at) == (x * grid, y * grid);
        library.memory().push(&mut places, at)?;
    }
    let Some(step) = first.filter(|_| same && places.len() > 2) else {
        return Ok(Repetition::Places(places));
    };
    let columns = places.len() as u32;
    library.memory().give((places.capacity() * 16) as u64);
    Ok(regular((columns, 1), step, (0, 0)))
}
