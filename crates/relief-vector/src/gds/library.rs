//! The cells of a layout as the file has them.

use std::collections::HashMap;
use std::io::Read;

use super::records::{Record, Records, kind};
use super::{Error, Layers};
use crate::Limits;
use crate::limits::Refused;

/// A layout, read.
#[derive(Debug)]
pub struct Library {
    /// The database unit in metres, as the file has it.
    pub(super) unit: f64,
    pub(super) structures: Vec<Structure>,
    pub(super) names: HashMap<String, u32>,
    /// All points, of all elements.
    pub(super) points: Vec<(i32, i32)>,
    pub(super) limits: Limits,
}

#[derive(Debug, Default)]
pub(super) struct Structure {
    pub(super) name: String,
    pub(super) shapes: Vec<Shape>,
    pub(super) references: Vec<Reference>,
}

#[derive(Debug)]
pub(super) struct Shape {
    pub(super) points: std::ops::Range<u32>,
    /// Whether its layer is one of those chosen.
    pub(super) drawn: bool,
    pub(super) path: Option<Path>,
}

/// The line along a path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Path {
    /// Less than 0: not magnified.
    pub(super) width: i32,
    pub(super) ends: i16,
    pub(super) before: i32,
    pub(super) after: i32,
}

#[derive(Debug)]
pub(super) struct Reference {
    pub(super) name: String,
    pub(super) mirrored: bool,
    pub(super) magnification: f64,
    /// In degrees, against the clock.
    pub(super) angle: f64,
    pub(super) at: (i32, i32),
    pub(super) array: Option<Array>,
}

/// Columns and rows, and the points after the last of each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Array {
    pub(super) columns: u32,
    pub(super) rows: u32,
    pub(super) across: (i32, i32),
    pub(super) down: (i32, i32),
}

/// An element while it is read.
#[derive(Default)]
struct Open {
    kind: u8,
    at: u64,
    layer: i16,
    datatype: i16,
    path: Path,
    first: usize,
    name: String,
    mirrored: bool,
    magnification: f64,
    angle: f64,
    counts: Option<(i16, i16)>,
}

impl Library {
    /// Reads a layout from its first byte to the record ENDLIB. Elements of layers that are not chosen count for boxes only.
    ///
    /// # Errors
    /// Where it is no GDSII or exceeds the limits.
    pub fn read(reader: impl Read, layers: &Layers, limits: Limits) -> Result<Self, Error> {
        let mut records = Records::new(reader, limits.bytes);
        let mut library = Self {
            unit: 0.0,
            structures: Vec::new(),
            names: HashMap::new(),
            points: Vec::new(),
            limits,
        };
        let first = records.next()?;
        if first.kind != kind::HEADER {
            return Err(first.fault("a GDSII layout begins with the record HEADER"));
        }
        let mut current: Option<Structure> = None;
        let mut items = 0;
        loop {
            let record = records.next()?;
            match record.kind {
                kind::ENDLIB => break,
                kind::UNITS => {
                    library.unit = record.real(1)?;
                    if !(1e-15..=1.0).contains(&library.unit) {
                        return Err(record.fault(format!(
                            "a database unit of {} m; from 1e-15 m to 1 m are read",
                            library.unit
                        )));
                    }
                }
                kind::BGNSTR => current = Some(Structure::default()),
                kind::STRNAME => match &mut current {
                    Some(structure) => structure.name = record.text(),
                    None => return Err(record.fault("the name of a cell outside of one")),
                },
                kind::ENDSTR => {
                    let structure = current.take().ok_or_else(|| record.fault("the end of no cell"))?;
                    let number = library.structures.len() as u32;
                    if library.names.insert(structure.name.clone(), number).is_some() {
                        return Err(record.fault(format!("a second cell is named {:?}", structure.name)));
                    }
                    library.structures.push(structure);
                }
                kind::BOUNDARY
                | kind::PATH
                | kind::BOX
                | kind::SREF
                | kind::AREF
                | kind::TEXT
                | kind::NODE => {
                    let Some(structure) = &mut current else {
                        return Err(record.fault("an element outside of a cell"));
                    };
                    items += 1;
                    if items > limits.items {
                        return Err(Refused::Items(limits.items).into());
                    }
                    let open = Open {
                        kind: record.kind,
                        at: record.at,
                        first: library.points.len(),
                        magnification: 1.0,
                        ..Open::default()
                    };
                    library.element(&mut records, open, layers, structure)?;
                }
                kind::BGNLIB | kind::LIBNAME => {}
                // Properties, styles of libraries and extensions of single programs say nothing of shapes.
                _ => {}
            }
        }
        if library.unit == 0.0 {
            return Err(Error::Record {
                at: 0,
                what: "the layout has no record UNITS".into(),
            });
        }
        Ok(library)
    }

    /// The names of the cells that no other places.
    #[must_use]
    pub fn tops(&self) -> Vec<&str> {
        let mut placed = vec![false; self.structures.len()];
        for reference in self.structures.iter().flat_map(|structure| &structure.references) {
            if let Some(number) = self.names.get(&reference.name) {
                placed[*number as usize] = true;
            }
        }
        let tops = self.structures.iter().zip(placed).filter(|(_, placed)| !placed);
        tops.map(|(structure, _)| structure.name.as_str()).collect()
    }

    /// The names of all cells, in the order of the file.
    pub fn cells(&self) -> impl Iterator<Item = &str> {
        self.structures.iter().map(|structure| structure.name.as_str())
    }

    fn element(
        &mut self,
        records: &mut Records<impl Read>,
        mut open: Open,
        layers: &Layers,
        into: &mut Structure,
    ) -> Result<(), Error> {
        loop {
            let record = records.next()?;
            match record.kind {
                kind::ENDEL => break,
                kind::LAYER => open.layer = record.short()?,
                kind::DATATYPE | kind::BOXTYPE => open.datatype = record.short()?,
                kind::WIDTH => open.path.width = record.long()?,
                kind::PATHTYPE => open.path.ends = path_ends(&record)?,
                kind::BGNEXTN => open.path.before = record.long()?,
                kind::ENDEXTN => open.path.after = record.long()?,
                kind::SNAME => open.name = record.text(),
                kind::STRANS => {
                    let bits = record.short()?;
                    open.mirrored = bits < 0;
                    if bits & 6 != 0 {
                        return Err(record.fault("absolute magnification and angles are not read"));
                    }
                }
                kind::MAG => open.magnification = positive(&record)?,
                kind::ANGLE => open.angle = finite(&record)?,
                kind::COLROW => {
                    let counts = record.shorts(2)?;
                    if counts[0] < 1 || counts[1] < 1 {
                        return Err(record.fault(format!(
                            "an array of {} columns and {} rows; there is at least one of each",
                            counts[0], counts[1]
                        )));
                    }
                    open.counts = Some((counts[0], counts[1]));
                }
                kind::XY => {
                    let points = record.points()?;
                    if self.points.len() as u64 + record.data.len() as u64 / 8
                        > self.limits.points.min(1 << 31)
                    {
                        return Err(Refused::Points(self.limits.points).into());
                    }
                    self.points.extend(points);
                }
                kind::BGNSTR | kind::ENDSTR | kind::ENDLIB => {
                    return Err(record.fault("an element without an end"));
                }
                _ => {}
            }
        }
        self.close(&open, layers, into)
    }

    /// Adds an element whose records are read.
    fn close(&mut self, open: &Open, layers: &Layers, into: &mut Structure) -> Result<(), Error> {
        let fault = |what: &str| Error::Record {
            at: open.at,
            what: what.into(),
        };
        let points = &self.points[open.first..];
        match open.kind {
            kind::SREF | kind::AREF => {
                let array = match (open.kind, open.counts, points) {
                    (kind::SREF, _, [_]) => None,
                    (kind::AREF, Some((columns, rows)), [at, across, down]) => {
                        Some((columns, rows, *at, *across, *down))
                    }
                    (kind::SREF, ..) => return Err(fault("a placed cell has one point")),
                    _ => {
                        return Err(fault(
                            "an array has three points and a number of columns and rows",
                        ));
                    }
                };
                into.references.push(Reference {
                    name: open.name.clone(),
                    mirrored: open.mirrored,
                    magnification: open.magnification,
                    angle: open.angle,
                    at: points[0],
                    array: array.map(|(columns, rows, _, across, down)| Array {
                        columns: columns.unsigned_abs().into(),
                        rows: rows.unsigned_abs().into(),
                        across,
                        down,
                    }),
                });
                self.points.truncate(open.first);
            }
            kind::BOUNDARY | kind::BOX | kind::PATH => {
                let is_path = open.kind == kind::PATH;
                if points.is_empty() {
                    return Err(fault("an element without points"));
                }
                into.shapes.push(Shape {
                    points: open.first as u32..self.points.len() as u32,
                    drawn: layers.has(open.layer, open.datatype),
                    path: is_path.then_some(open.path),
                });
            }
            // Texts and nodes cover nothing.
            _ => self.points.truncate(open.first),
        }
        Ok(())
    }
}

fn path_ends(record: &Record<'_>) -> Result<i16, Error> {
    match record.short()? {
        ends @ (0 | 1 | 2 | 4) => Ok(ends),
        ends => Err(record.fault(format!("path ends of type {ends}; 0, 1, 2 and 4 are known"))),
    }
}

fn positive(record: &Record<'_>) -> Result<f64, Error> {
    match record.real(0)? {
        value if (1e-9..=1e9).contains(&value) => Ok(value),
        value => Err(record.fault(format!("a magnification of {value}; from 1e-9 to 1e9 are read"))),
    }
}

fn finite(record: &Record<'_>) -> Result<f64, Error> {
    match record.real(0)? {
        value if value.abs() <= 1e9 => Ok(value % 360.0),
        value => Err(record.fault(format!("an angle of {value}°"))),
    }
}
