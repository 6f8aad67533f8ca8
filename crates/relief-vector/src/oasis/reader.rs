//! From records to cells.

use std::io::Read;

use super::bytes::Bytes;
use super::names::Names;
use super::repetition::Repetition;
use super::shapes::{Sides, box_of, compressed, point_list, sides_of, trapezoid};
use crate::Limits;
use crate::layout::{Array, Error, Layers, Library, Path, Reference, Unit};

/// The numbers of records.
mod record {
    pub(super) const PAD: u8 = 0;
    pub(super) const START: u8 = 1;
    pub(super) const END: u8 = 2;
    pub(super) const CELLNAME: u8 = 3;
    pub(super) const CELLNAME_NUMBERED: u8 = 4;
    /// Texts, names and values of properties: without and with a number of their own, in turn.
    pub(super) const TEXTSTRING: u8 = 5;
    pub(super) const PROPSTRING_NUMBERED: u8 = 10;
    pub(super) const LAYERNAME: u8 = 11;
    pub(super) const LAYERNAME_OF_TEXT: u8 = 12;
    pub(super) const CELL_NUMBERED: u8 = 13;
    pub(super) const CELL: u8 = 14;
    pub(super) const XYABSOLUTE: u8 = 15;
    pub(super) const XYRELATIVE: u8 = 16;
    pub(super) const PLACEMENT: u8 = 17;
    pub(super) const PLACEMENT_TURNED: u8 = 18;
    pub(super) const TEXT: u8 = 19;
    pub(super) const RECTANGLE: u8 = 20;
    pub(super) const POLYGON: u8 = 21;
    pub(super) const PATH: u8 = 22;
    pub(super) const TRAPEZOID: u8 = 23;
    pub(super) const TRAPEZOID_A: u8 = 24;
    pub(super) const TRAPEZOID_B: u8 = 25;
    pub(super) const CTRAPEZOID: u8 = 26;
    pub(super) const CIRCLE: u8 = 27;
    pub(super) const PROPERTY: u8 = 28;
    pub(super) const PROPERTY_AGAIN: u8 = 29;
    pub(super) const XNAME: u8 = 30;
    pub(super) const XNAME_NUMBERED: u8 = 31;
    pub(super) const XELEMENT: u8 = 32;
    pub(super) const XGEOMETRY: u8 = 33;
    pub(super) const CBLOCK: u8 = 34;
}

/// As many copies of a shape are written out: an array of so few costs more where its cell is placed than it saves in the cell.
const WRITTEN_OUT: u64 = 64;

/// What elements leave out where it is as in the last that had it. Nothing is known where a cell begins, but where it lies.
#[derive(Default)]
struct Modal {
    is_relative: bool,
    placement: (i64, i64),
    text: (i64, i64),
    geometry: (i64, i64),
    cell: Option<u32>,
    layer: Option<u64>,
    datatype: Option<u64>,
    width: Option<i64>,
    height: Option<i64>,
    has_polygon: bool,
    has_path: bool,
    half_width: Option<i64>,
    before: Option<i64>,
    after: Option<i64>,
    kind: Option<u64>,
    radius: Option<i64>,
    repetition: Option<Repetition>,
}

struct Reader<'l, R> {
    bytes: Bytes<R>,
    library: Library,
    layers: &'l Layers,
    names: Names,
    current: Option<u32>,
    modal: Modal,
    /// The last lists of points of a polygon and of a path.
    polygon: Vec<(i64, i64)>,
    path: Vec<(i64, i64)>,
}

/// Reads a layout from its first byte to the record END, and verifies its CRC or checksum, where it has one. Elements of layers that are not
/// chosen count for boxes only.
///
/// # Errors
/// Where it is no OASIS, is damaged or exceeds the limits.
pub fn read(reader: impl Read, layers: &Layers, limits: Limits) -> Result<Library, Error> {
    let mut reader = Reader {
        bytes: Bytes::new(reader, limits.bytes),
        library: Library::new(limits),
        layers,
        names: Names::default(),
        current: None,
        modal: Modal::default(),
        polygon: Vec::new(),
        path: Vec::new(),
    };
    let has_offsets = reader.start()?;
    while reader.record(has_offsets)? {}
    let Reader {
        bytes,
        mut library,
        names,
        ..
    } = reader;
    names.settle(&bytes, &mut library)?;
    Ok(library)
}

impl<R: Read> Reader<'_, R> {
    /// Reads the record START; whether END has the offsets of tables.
    fn start(&mut self) -> Result<bool, Error> {
        self.bytes.magic()?;
        if self.bytes.begin()? != record::START {
            return Err(self.bytes.fault("the first record of an OASIS layout is START"));
        }
        let version = self.bytes.name()?;
        if version != "1.0" {
            return Err(self.bytes.fault(format!(
                "the layout is of the version {version:?}; only \"1.0\" is known"
            )));
        }
        let (steps, fraction) = self.bytes.real()?;
        // Steps of the grid in a micrometre.
        let metres = 1e-6 / steps;
        if !(1e-15..=1.0).contains(&metres) {
            return Err(self.bytes.fault(format!(
                "{steps} database units in a micrometre; from 1e-6 to 1e9 are read"
            )));
        }
        let exact = fraction.and_then(|(above, below)| Some((below, above.checked_mul(1_000_000)?)));
        self.library.unit = Unit { metres, exact };
        match self.bytes.unsigned()? {
            0 => {
                self.skip_offsets()?;
                Ok(false)
            }
            1 => Ok(true),
            other => Err(self.bytes.fault(format!(
                "the offsets of tables stand at the place {other}; 0, the begin, and 1, the end, are known"
            ))),
        }
    }

    /// Passes over where six tables begin, and whether each holds all of its kind.
    fn skip_offsets(&mut self) -> Result<(), Error> {
        for _ in 0..6 {
            let strict = self.bytes.unsigned()?;
            if strict > 1 {
                return Err(self.bytes.fault(format!(
                    "a table of names is {strict}; 0, not strict, and 1, strict, are known"
                )));
            }
            self.bytes.unsigned()?;
        }
        Ok(())
    }

    /// Reads a record; whether more follow.
    fn record(&mut self, end_has_offsets: bool) -> Result<bool, Error> {
        let kind = self.bytes.begin()?;
        match kind {
            record::PAD => {}
            record::START => return Err(self.bytes.fault("a second record START")),
            record::END => {
                if self.bytes.is_in_block() {
                    return Err(self.bytes.fault("the record END within a compressed block"));
                }
                self.leave_cell();
                if end_has_offsets {
                    self.skip_offsets()?;
                }
                self.bytes.skip_string()?;
                self.bytes.verify()?;
                return Ok(false);
            }
            record::CELLNAME | record::CELLNAME_NUMBERED => {
                self.leave_cell();
                let numbered = kind == record::CELLNAME_NUMBERED;
                self.names.read(&mut self.bytes, numbered, &mut self.library)?;
            }
            record::TEXTSTRING..=record::PROPSTRING_NUMBERED => {
                self.leave_cell();
                self.bytes.skip_string()?;
                if kind % 2 == 0 {
                    self.bytes.unsigned()?;
                }
            }
            record::LAYERNAME | record::LAYERNAME_OF_TEXT => {
                self.leave_cell();
                self.bytes.skip_string()?;
                self.skip_interval()?;
                self.skip_interval()?;
            }
            record::XNAME | record::XNAME_NUMBERED => {
                self.leave_cell();
                self.bytes.unsigned()?;
                self.bytes.skip_string()?;
                if kind == record::XNAME_NUMBERED {
                    self.bytes.unsigned()?;
                }
            }
            record::CELL_NUMBERED => {
                let number = self.bytes.unsigned()?;
                let cell = self.names.cell(number, &mut self.library)?;
                let shown = self.names.shown(number);
                self.enter_cell(cell, shown)?;
            }
            record::CELL => {
                let name = self.bytes.name()?;
                let cell = self.library.cell(&name)?;
                self.enter_cell(cell, format!("{name:?}"))?;
            }
            record::XYABSOLUTE => self.modal.is_relative = false,
            record::XYRELATIVE => self.modal.is_relative = true,
            record::PROPERTY => self.skip_property()?,
            record::PROPERTY_AGAIN => {}
            record::XELEMENT => {
                self.bytes.unsigned()?;
                self.bytes.skip_string()?;
            }
            record::CBLOCK => self.bytes.begin_block()?,
            record::PLACEMENT..=record::CIRCLE | record::XGEOMETRY => self.element(kind)?,
            other => {
                return Err(self
                    .bytes
                    .fault(format!("there is no record {other}; 0 to 34 are known")));
            }
        }
        Ok(true)
    }

    fn skip_interval(&mut self) -> Result<(), Error> {
        let numbers = match self.bytes.unsigned()? {
            0 => 0,
            1..=3 => 1,
            4 => 2,
            other => {
                return Err(self.bytes.fault(format!(
                    "an interval of layers of the type {other}; 0 to 4 are known"
                )));
            }
        };
        for _ in 0..numbers {
            self.bytes.unsigned()?;
        }
        Ok(())
    }

    /// Passes over a property: its name, then its values, of which up to 14 are counted in the first byte.
    fn skip_property(&mut self) -> Result<(), Error> {
        let info = self.bytes.byte()?;
        match info & 0x06 {
            0x04 => self.bytes.skip_string()?,
            0x06 => {
                self.bytes.unsigned()?;
            }
            _ => {}
        }
        if info & 0x08 != 0 {
            return Ok(());
        }
        let count = match info >> 4 {
            15 => self.bytes.unsigned()?,
            count => count.into(),
        };
        for _ in 0..count {
            self.bytes.skip_value()?;
        }
        Ok(())
    }

    fn enter_cell(&mut self, cell: u32, shown: String) -> Result<(), Error> {
        self.leave_cell();
        self.names.begin(cell, &shown, &self.bytes, &mut self.library)?;
        self.bytes.cell = Some(shown);
        self.current = Some(cell);
        Ok(())
    }

    fn leave_cell(&mut self) {
        self.bytes.cell = None;
        self.current = None;
        self.forget_repetition();
        self.modal = Modal::default();
    }

    fn forget_repetition(&mut self) {
        if let Some(Repetition::Places(places)) = self.modal.repetition.take() {
            self.library.memory().give((places.capacity() * 16) as u64);
        }
    }

    /// An element of the cell that is open.
    fn element(&mut self, kind: u8) -> Result<(), Error> {
        let Some(into) = self.current else {
            return Err(self.bytes.fault("an element outside of a cell"));
        };
        self.library.count()?;
        // The first of XELEMENT's kin has its attribute before all else.
        if kind == record::XGEOMETRY {
            let info = self.bytes.byte()?;
            self.bytes.unsigned()?;
            self.layer(info)?;
            self.bytes.skip_string()?;
            self.geometry(info)?;
            return Ok(());
        }
        let info = self.bytes.byte()?;
        match kind {
            record::PLACEMENT | record::PLACEMENT_TURNED => self.placement(kind, info, into),
            record::TEXT => self.text(info),
            _ => {
                let layer = self.layer(info)?;
                self.shape(kind, info, layer, into)
            }
        }
    }

    /// The number of the layer and the datatype of a shape, and whether they are drawn.
    fn layer(&mut self, info: u8) -> Result<(u32, bool), Error> {
        if info & 0x01 != 0 {
            self.modal.layer = Some(self.bytes.unsigned()?);
        }
        if info & 0x02 != 0 {
            self.modal.datatype = Some(self.bytes.unsigned()?);
        }
        let (Some(layer), Some(datatype)) = (self.modal.layer, self.modal.datatype) else {
            return Err(self.bytes.fault("a shape without a layer or a datatype"));
        };
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let (layer, datatype) = (number(layer), number(datatype));
        Ok((
            self.library.layer(layer, datatype)?,
            self.layers.has(layer, datatype),
        ))
    }

    /// Where a shape lies and how it is repeated; whether it is.
    fn geometry(&mut self, info: u8) -> Result<bool, Error> {
        self.modal.geometry = self.place(self.modal.geometry, info & 0x10 != 0, info & 0x08 != 0)?;
        self.repetition(info & 0x04 != 0)
    }

    fn place(&mut self, before: (i64, i64), has_x: bool, has_y: bool) -> Result<(i64, i64), Error> {
        let mut place = before;
        let base = |before: i64, is_relative: bool| if is_relative { before } else { 0 };
        if has_x {
            let x = self.bytes.coordinate()?;
            place.0 = self.bytes.near(base(before.0, self.modal.is_relative) + x)?;
        }
        if has_y {
            let y = self.bytes.coordinate()?;
            place.1 = self.bytes.near(base(before.1, self.modal.is_relative) + y)?;
        }
        Ok(place)
    }

    /// Reads a repetition into what is known; whether the element is repeated.
    fn repetition(&mut self, is_there: bool) -> Result<bool, Error> {
        if !is_there {
            return Ok(false);
        }
        match Repetition::read(&mut self.bytes, &mut self.library)? {
            Some(repetition) => {
                self.forget_repetition();
                self.modal.repetition = Some(repetition);
            }
            None if self.modal.repetition.is_none() => {
                return Err(self
                    .bytes
                    .fault("a repetition as the last one, but the cell has none yet"));
            }
            None => {}
        }
        Ok(true)
    }

    fn text(&mut self, info: u8) -> Result<(), Error> {
        match info & 0x60 {
            0x40 => self.bytes.skip_string()?,
            0x60 => {
                self.bytes.unsigned()?;
            }
            _ => {}
        }
        for bit in [0x01, 0x02] {
            if info & bit != 0 {
                self.bytes.unsigned()?;
            }
        }
        self.modal.text = self.place(self.modal.text, info & 0x10 != 0, info & 0x08 != 0)?;
        self.repetition(info & 0x04 != 0).map(|_| ())
    }

    fn placement(&mut self, kind: u8, info: u8, into: u32) -> Result<(), Error> {
        match info & 0xC0 {
            0x80 => {
                let name = self.bytes.name()?;
                self.modal.cell = Some(self.library.cell(&name)?);
            }
            0xC0 => {
                let number = self.bytes.unsigned()?;
                self.modal.cell = Some(self.names.cell(number, &mut self.library)?);
            }
            _ => {}
        }
        let Some(cell) = self.modal.cell else {
            return Err(self
                .bytes
                .fault("a placement of the last cell, but none was placed yet"));
        };
        let (mut magnification, mut angle) = (1.0, 0.0);
        if kind == record::PLACEMENT {
            angle = f64::from((info >> 1) & 3) * 90.0;
        } else {
            if info & 0x04 != 0 {
                magnification = self.bytes.real()?.0;
                if !(1e-9..=1e9).contains(&magnification) {
                    return Err(self.bytes.fault(format!(
                        "a magnification of {magnification}; from 1e-9 to 1e9 are read"
                    )));
                }
            }
            if info & 0x02 != 0 {
                angle = self.bytes.real()?.0;
                if !(-1e9..=1e9).contains(&angle) {
                    return Err(self.bytes.fault(format!("an angle of {angle}°")));
                }
                angle %= 360.0;
            }
        }
        self.modal.placement = self.place(self.modal.placement, info & 0x20 != 0, info & 0x10 != 0)?;
        let is_repeated = self.repetition(info & 0x08 != 0)?;
        let reference = |at: (i64, i64), array: Option<Box<Array>>| Reference {
            cell,
            mirrored: info & 0x01 != 0,
            magnification,
            angle,
            at,
            array,
        };
        let at = self.modal.placement;
        match self.modal.repetition.as_ref().filter(|_| is_repeated) {
            None => self.library.place(into, reference(at, None)),
            Some(Repetition::Regular(array)) => {
                self.library.place(into, reference(at, Some(Box::new(*array))))
            }
            Some(Repetition::Places(places)) => {
                for (x, y) in places {
                    self.library.count()?;
                    self.library.place(into, reference((at.0 + x, at.1 + y), None))?;
                }
                Ok(())
            }
        }
    }

    fn side(&self, side: Option<i64>, what: &str) -> Result<i64, Error> {
        side.ok_or_else(|| {
            self.bytes
                .fault(format!("{what} as before, but the cell has none yet"))
        })
    }

    /// Reads the width and the height of a shape, of those that it has.
    fn sides(&mut self, info: u8) -> Result<(), Error> {
        if info & 0x40 != 0 {
            self.modal.width = Some(self.bytes.length()?);
        }
        if info & 0x20 != 0 {
            self.modal.height = Some(self.bytes.length()?);
        }
        Ok(())
    }

    fn box_at_hand(&self) -> Result<(i64, i64), Error> {
        Ok((
            self.side(self.modal.width, "a width")?,
            self.side(self.modal.height, "a height")?,
        ))
    }

    fn shape(&mut self, kind: u8, info: u8, layer: (u32, bool), into: u32) -> Result<(), Error> {
        let mut path = None;
        let corners: Vec<(i64, i64)> = match kind {
            record::RECTANGLE => {
                self.sides(info)?;
                if info & 0x80 != 0 {
                    if info & 0x20 != 0 {
                        return Err(self.bytes.fault("a square with a height beside its width"));
                    }
                    self.modal.height = self.modal.width;
                }
                let (w, h) = self.box_at_hand()?;
                vec![(0, 0), (w, 0), (w, h), (0, h)]
            }
            record::POLYGON => {
                if info & 0x20 != 0 {
                    point_list(&mut self.bytes, &mut self.library, true, &mut self.polygon)?;
                    self.modal.has_polygon = true;
                } else if !self.modal.has_polygon {
                    return Err(self
                        .bytes
                        .fault("a polygon as the last one, but the cell has none yet"));
                }
                Vec::new()
            }
            record::PATH => {
                path = Some(self.line(info)?);
                Vec::new()
            }
            record::TRAPEZOID | record::TRAPEZOID_A | record::TRAPEZOID_B => {
                self.sides(info)?;
                let mut delta = |is_there: bool| if is_there { self.bytes.coordinate() } else { Ok(0) };
                let a = delta(kind != record::TRAPEZOID_B)?;
                let b = delta(kind != record::TRAPEZOID_A)?;
                trapezoid(info & 0x80 != 0, self.box_at_hand()?, a, b).to_vec()
            }
            record::CTRAPEZOID => self.compressed(info)?,
            _ => {
                if info & 0x20 != 0 {
                    self.modal.radius = Some(self.bytes.length()?);
                }
                let radius = self.side(self.modal.radius, "a radius")?;
                // A line of no length with round ends.
                path = Some(Path {
                    width: 2 * radius,
                    ends: 1,
                    ..Path::default()
                });
                vec![(0, 0)]
            }
        };
        let is_repeated = self.geometry(info)?;
        let corners = match kind {
            record::POLYGON => &self.polygon,
            record::PATH => &self.path,
            _ => &corners,
        };
        let shape = Copied { corners, layer, path };
        let at = self.modal.geometry;
        let repetition = self.modal.repetition.as_ref().filter(|_| is_repeated);
        shape
            .add(&mut self.library, into, at, repetition)
            .map_err(|fault| match fault {
                Fault::Large => self.bytes.fault("a shape is larger than 2^31 database units"),
                Fault::Other(error) => error,
            })
    }

    /// A trapezoid of which a number says the kind.
    fn compressed(&mut self, info: u8) -> Result<Vec<(i64, i64)>, Error> {
        if info & 0x80 != 0 {
            self.modal.kind = Some(self.bytes.unsigned()?);
        }
        let Some(kind) = self.modal.kind else {
            return Err(self
                .bytes
                .fault("a trapezoid of the last kind, but the cell has none yet"));
        };
        let sides = sides_of(kind);
        if (sides == Sides::Width && info & 0x20 != 0) || (sides == Sides::Height && info & 0x40 != 0) {
            return Err(self.bytes.fault(format!(
                "a trapezoid of the kind {kind} has one side, the other follows from it"
            )));
        }
        self.sides(info)?;
        match sides {
            Sides::Both => {}
            Sides::Width => {
                let width = self.side(self.modal.width, "a width")?;
                self.modal.height = Some(box_of(kind, (width, 0)).1);
            }
            Sides::Height => {
                let height = self.side(self.modal.height, "a height")?;
                self.modal.width = Some(box_of(kind, (0, height)).0);
            }
        }
        compressed(kind, self.box_at_hand()?).map_err(|what| self.bytes.fault(what))
    }

    /// The line of a path; its points are those of the last list.
    fn line(&mut self, info: u8) -> Result<Path, Error> {
        if info & 0x40 != 0 {
            self.modal.half_width = Some(self.bytes.length()?);
        }
        let half = self.side(self.modal.half_width, "a width")?;
        if info & 0x80 != 0 {
            let scheme = self.bytes.unsigned()?;
            let mut end = |kind: u64, before: Option<i64>| match kind {
                0 => Ok(before),
                1 => Ok(Some(0)),
                2 => Ok(Some(half)),
                _ => self.bytes.coordinate().map(Some),
            };
            self.modal.before = end((scheme >> 2) & 3, self.modal.before)?;
            self.modal.after = end(scheme & 3, self.modal.after)?;
        }
        if info & 0x20 != 0 {
            point_list(&mut self.bytes, &mut self.library, false, &mut self.path)?;
            self.modal.has_path = true;
        } else if !self.modal.has_path {
            return Err(self
                .bytes
                .fault("a path as the last one, but the cell has none yet"));
        }
        let before = self.side(self.modal.before, "an end of a path")?;
        let after = self.side(self.modal.after, "an end of a path")?;
        let ends = match (before, after) {
            (0, 0) => 0,
            (before, after) if before == half && after == half => 2,
            _ => 4,
        };
        Ok(Path {
            width: 2 * half,
            ends,
            before,
            after,
        })
    }
}

/// A shape with its corners from the place at which it lies.
struct Copied<'s> {
    corners: &'s [(i64, i64)],
    /// The number of its layer, and whether it is drawn.
    layer: (u32, bool),
    path: Option<Path>,
}

enum Fault {
    /// A corner is too far from the others.
    Large,
    Other(Error),
}

impl<E: Into<Error>> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

impl Copied<'_> {
    fn add(
        &self,
        library: &mut Library,
        into: u32,
        at: (i64, i64),
        repetition: Option<&Repetition>,
    ) -> Result<(), Fault> {
        match repetition {
            None => self.one(library, into, at),
            Some(Repetition::Places(places)) => {
                for (x, y) in places {
                    library.count()?;
                    self.one(library, into, (at.0 + x, at.1 + y))?;
                }
                Ok(())
            }
            Some(Repetition::Regular(array))
                if u64::from(array.columns) * u64::from(array.rows) <= WRITTEN_OUT =>
            {
                let (u, v) = (array.across.way, array.down.way);
                for j in 0..i64::from(array.rows) {
                    for i in 0..i64::from(array.columns) {
                        library.count()?;
                        let place = (at.0 + i * u.0 + j * v.0, at.1 + i * u.1 + j * v.1);
                        self.one(library, into, place)?;
                    }
                }
                Ok(())
            }
            Some(Repetition::Regular(array)) => self.part(library, into, at, Some(Box::new(*array))),
        }
    }

    /// A copy of the shape as an element of the cell, or as a part of it where it lies too far from its origin.
    fn one(&self, library: &mut Library, into: u32, at: (i64, i64)) -> Result<(), Fault> {
        if self.points(library, into, at)? {
            return Ok(());
        }
        self.part(library, into, at, None)
    }

    fn part(
        &self,
        library: &mut Library,
        into: u32,
        at: (i64, i64),
        array: Option<Box<Array>>,
    ) -> Result<(), Fault> {
        let part = library.part()?;
        if !self.points(library, part, (0, 0))? {
            return Err(Fault::Large);
        }
        let reference = Reference {
            array,
            ..Reference::plain(part, at)
        };
        Ok(library.place(into, reference)?)
    }

    /// Adds the shape where its corners are of 32 bits; whether they are.
    fn points(&self, library: &mut Library, into: u32, at: (i64, i64)) -> Result<bool, Error> {
        let placed = |&(x, y): &(i64, i64)| (i32::try_from(at.0 + x), i32::try_from(at.1 + y));
        if self
            .corners
            .iter()
            .map(placed)
            .any(|(x, y)| x.is_err() || y.is_err())
        {
            return Ok(false);
        }
        let first = library.points();
        // All are of 32 bits.
        let near = |v: i64| v as i32;
        library.extend(self.corners.iter().map(|(x, y)| (near(at.0 + x), near(at.1 + y))))?;
        library.shape(into, first, self.layer, self.path)?;
        Ok(true)
    }
}
