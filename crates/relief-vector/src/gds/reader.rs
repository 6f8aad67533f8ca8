//! The elements of a stream.

use std::io::Read;

use super::records::{Record, Records, kind};
use crate::Limits;
use crate::layout::{Array, Error, Layers, Library, Path, Reference, Step, Unit};

/// An element while it is read.
#[derive(Default)]
struct Open {
    kind: u8,
    at: u64,
    layer: i16,
    datatype: i16,
    path: Path,
    first: usize,
    /// The cell that it places.
    cell: Option<u32>,
    mirrored: bool,
    magnification: f64,
    angle: f64,
    counts: Option<(u32, u32)>,
}

/// Reads a layout from its first byte to the record ENDLIB. Elements of layers that are not chosen count for boxes only.
///
/// # Errors
/// Where it is no GDSII or exceeds the limits.
pub fn read(reader: impl Read, layers: &Layers, limits: Limits) -> Result<Library, Error> {
    let mut records = Records::new(reader, limits.bytes);
    let mut library = Library::new(limits);
    let first = records.next()?;
    if first.kind != kind::HEADER {
        return Err(first.fault("a GDSII layout begins with the record HEADER"));
    }
    let mut is_open = false;
    let mut current = None;
    loop {
        let record = records.next()?;
        match record.kind {
            kind::ENDLIB => break,
            kind::UNITS => {
                let metres = record.real(1)?;
                if !(1e-15..=1.0).contains(&metres) {
                    return Err(record.fault(format!(
                        "a database unit of {metres} m; from 1e-15 m to 1 m are read"
                    )));
                }
                library.unit = Unit { metres, exact: None };
            }
            kind::BGNSTR => {
                (is_open, current) = (true, None);
                records.cell = None;
            }
            kind::STRNAME => {
                if !is_open {
                    return Err(record.fault("the name of a cell outside of one"));
                }
                let name = record.text();
                let number = library.cell(&name)?;
                if !library.define(number)? {
                    return Err(record.fault(format!("a second cell is named {name:?}")));
                }
                current = Some(number);
                records.cell = Some(format!("{name:?}"));
            }
            kind::ENDSTR => {
                if !is_open {
                    return Err(record.fault("the end of no cell"));
                }
                (is_open, current) = (false, None);
                records.cell = None;
            }
            kind::BOUNDARY | kind::PATH | kind::BOX | kind::SREF | kind::AREF | kind::TEXT | kind::NODE => {
                let Some(into) = current else {
                    return Err(record.fault(if is_open {
                        "an element of a cell without a name"
                    } else {
                        "an element outside of a cell"
                    }));
                };
                library.count()?;
                let open = Open {
                    kind: record.kind,
                    at: record.at,
                    first: library.points(),
                    magnification: 1.0,
                    ..Open::default()
                };
                element(&mut library, &mut records, open, layers, into)?;
            }
            kind::BGNLIB | kind::LIBNAME => {}
            // Properties, styles of libraries and extensions of single programs say nothing of shapes.
            _ => {}
        }
    }
    if library.unit.metres == 0.0 {
        return Err(records.fault(0, "the layout has no record UNITS"));
    }
    Ok(library)
}

fn element(
    library: &mut Library,
    records: &mut Records<impl Read>,
    mut open: Open,
    layers: &Layers,
    into: u32,
) -> Result<(), Error> {
    loop {
        let record = records.next()?;
        match record.kind {
            kind::ENDEL => break,
            kind::LAYER => open.layer = record.short()?,
            kind::DATATYPE | kind::BOXTYPE => open.datatype = record.short()?,
            kind::WIDTH => open.path.width = record.long()?.into(),
            kind::PATHTYPE => open.path.ends = path_ends(&record)?,
            kind::BGNEXTN => open.path.before = record.long()?.into(),
            kind::ENDEXTN => open.path.after = record.long()?.into(),
            kind::SNAME => open.cell = Some(library.cell(&record.text())?),
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
                open.counts = Some((counts[0].unsigned_abs().into(), counts[1].unsigned_abs().into()));
            }
            kind::XY => library.extend(record.points()?)?,
            kind::BGNSTR | kind::ENDSTR | kind::ENDLIB => {
                return Err(record.fault("an element without an end"));
            }
            _ => {}
        }
    }
    close(library, &open, layers, into).map_err(|fault| match fault {
        Fault::Element(what) => records.fault(open.at, what),
        Fault::Other(error) => error,
    })
}

enum Fault {
    /// What is wrong with the element.
    Element(&'static str),
    Other(Error),
}

impl<E: Into<Error>> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

/// Adds an element whose records are read.
fn close(library: &mut Library, open: &Open, layers: &Layers, into: u32) -> Result<(), Fault> {
    let points = library.points_after(open.first);
    match open.kind {
        kind::SREF | kind::AREF => {
            let wide = |(x, y): (i32, i32)| (i64::from(x), i64::from(y));
            let (at, array) = match (open.kind, open.counts, points) {
                (kind::SREF, _, [at]) => (wide(*at), None),
                (kind::AREF, Some((columns, rows)), [at, across, down]) => {
                    let at = wide(*at);
                    let step = |to: (i32, i32), parts: u32| {
                        let to = wide(to);
                        Step {
                            way: (to.0 - at.0, to.1 - at.1),
                            parts,
                        }
                    };
                    let array = Array {
                        columns,
                        rows,
                        across: step(*across, columns),
                        down: step(*down, rows),
                    };
                    (at, Some(Box::new(array)))
                }
                (kind::SREF, ..) => return Err(Fault::Element("a placed cell has one point")),
                _ => {
                    return Err(Fault::Element(
                        "an array has three points and a number of columns and rows",
                    ));
                }
            };
            let Some(cell) = open.cell else {
                return Err(Fault::Element("a placement without the name of its cell"));
            };
            let reference = Reference {
                cell,
                mirrored: open.mirrored,
                magnification: open.magnification,
                angle: open.angle,
                at,
                array,
            };
            library.place(into, reference)?;
            library.take_back(open.first);
        }
        kind::BOUNDARY | kind::BOX | kind::PATH => {
            if points.is_empty() {
                return Err(Fault::Element("an element without points"));
            }
            let (layer, datatype) = (open.layer.into(), open.datatype.into());
            let layer = (library.layer(layer, datatype)?, layers.has(layer, datatype));
            let path = (open.kind == kind::PATH).then_some(open.path);
            library.shape(into, open.first, layer, path)?;
        }
        // Texts and nodes cover nothing.
        _ => library.take_back(open.first),
    }
    Ok(())
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
