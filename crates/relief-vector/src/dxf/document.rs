//! The entities of a file as it has them.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use super::Error;
use super::groups::Groups;
use crate::limits::{Limits, Memory, Refused};

/// A drawing, read.
#[derive(Debug)]
pub struct Document {
    /// The metres of its unit.
    pub(super) unit: Option<f64>,
    /// Names of layers, in capitals, by their numbers.
    pub(super) layers: Vec<String>,
    layer_numbers: HashMap<String, u32>,
    /// Layers of which nothing is there, nor what is inserted on them.
    pub(super) frozen: HashSet<u32>,
    /// Layers whose own entities are not drawn; what is inserted on them shows where it lies on other layers.
    pub(super) off: HashSet<u32>,
    /// All blocks, the drawing itself last.
    pub(super) blocks: Vec<Block>,
    /// Numbers of blocks by their names in capitals.
    pub(super) names: HashMap<Arc<str>, u32>,
    /// The corners of all polylines, with the bulge of the side from each to the next.
    pub(super) corners: Vec<(f64, f64, f64)>,
    /// Widths of the sides of polylines that have more than one, at the begin and at the end of each.
    pub(super) widths: Vec<[f64; 2]>,
    pub(super) limits: Limits,
    pub(super) memory: Memory,
}

/// Entities by one name.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) name: Arc<str>,
    pub(super) base: (f64, f64),
    pub(super) entities: Vec<Entity>,
}

#[derive(Debug)]
pub(super) struct Entity {
    pub(super) line: u64,
    pub(super) layer: u32,
    /// Seen from below: x points left.
    pub(super) mirrored: bool,
    pub(super) shape: Shape,
}

#[derive(Debug)]
pub(super) enum Shape {
    Polyline {
        corners: Range<usize>,
        closed: bool,
        /// The width of a line along it, above 0.
        width: Option<f64>,
    },
    /// A polyline of more than one width.
    Tapered {
        corners: Range<usize>,
        closed: bool,
        /// Those of its sides.
        widths: Range<usize>,
    },
    /// A quadrilateral or a triangle that is filled.
    Solid(Range<usize>),
    /// Angles in degrees, against the clock.
    Arc {
        centre: (f64, f64),
        radius: f64,
        from: f64,
        to: f64,
    },
    Circle {
        centre: (f64, f64),
        radius: f64,
    },
    /// Parameters in radians.
    Ellipse {
        centre: (f64, f64),
        major: (f64, f64),
        ratio: f64,
        from: f64,
        to: f64,
    },
    Insert(Box<Insert>),
    /// What is not drawn.
    Other(&'static str),
}

/// Copies of a block.
#[derive(Debug)]
pub(super) struct Insert {
    pub(super) name: String,
    pub(super) at: (f64, f64),
    pub(super) scale: (f64, f64),
    /// In degrees, against the clock.
    pub(super) angle: f64,
    pub(super) columns: u32,
    pub(super) rows: u32,
    pub(super) spacing: (f64, f64),
}

/// What a name takes in a map, beside its letters.
const NAMED: u64 = 2 * (size_of::<(String, u32)>() as u64 + 1);

/// The layer whose entities lie on that of the insert of their block.
pub(super) const INHERITED: u32 = 0;

/// An entity while it is read.
struct Open {
    kind: String,
    line: u64,
    layer: u32,
    name: String,
    /// The numbers of the codes 10 to 79, the first of each.
    numbers: [Option<f64>; 70],
    /// The third number of the direction that it is seen from.
    up: f64,
    /// Whether that points along no axis.
    slanted: bool,
    paper: bool,
    corners: Range<usize>,
    /// Of the sides that begin at its corners.
    widths: Vec<Written>,
}

/// The widths of a side of a polyline at its begin and at its end, where they are written.
type Written = [Option<f64>; 2];

impl Open {
    fn number(&self, code: usize) -> f64 {
        self.optional(code).unwrap_or(0.0)
    }

    fn optional(&self, code: usize) -> Option<f64> {
        self.numbers[code - 10]
    }

    fn point(&self, code: usize) -> (f64, f64) {
        (self.number(code), self.number(code + 10))
    }

    fn flags(&self) -> u32 {
        self.number(70) as u32
    }
}

/// The metres of a unit of $INSUNITS.
fn metres(unit: i64) -> Option<f64> {
    Some(match unit {
        1 => 0.0254,
        2 => 0.3048,
        3 => 1_609.344,
        4 => 1e-3,
        5 => 1e-2,
        6 => 1.0,
        7 => 1e3,
        8 => 0.0254e-6,
        9 => 0.0254e-3,
        10 => 0.9144,
        11 => 1e-10,
        12 => 1e-9,
        13 => 1e-6,
        14 => 0.1,
        15 => 10.0,
        16 => 100.0,
        _ => return None,
    })
}

impl Document {
    /// Reads a file from its first group to 0 EOF.
    ///
    /// # Errors
    /// Where it is no ASCII DXF or exceeds the limits.
    pub fn read(reader: impl Read, limits: Limits) -> Result<Self, Error> {
        let mut document = Self {
            unit: None,
            layers: vec!["0".to_owned()],
            layer_numbers: HashMap::from([("0".to_owned(), INHERITED)]),
            frozen: HashSet::new(),
            off: HashSet::new(),
            blocks: Vec::new(),
            names: HashMap::new(),
            corners: Vec::new(),
            widths: Vec::new(),
            limits,
            memory: Memory::new(&limits),
        };
        let mut groups = Groups::new(reader, limits.bytes);
        let mut whole = Block::default();
        groups.next()?;
        loop {
            if groups.code != 0 {
                // A comment.
                if groups.code != 999 {
                    return Err(groups.fault("a DXF begins with the group 0 SECTION"));
                }
                groups.next()?;
                continue;
            }
            if groups.is("EOF") {
                break;
            }
            if !groups.is("SECTION") {
                return Err(groups.fault(format!(
                    "expected 0 SECTION or 0 EOF, found 0 {:?}",
                    groups.text()
                )));
            }
            groups.next()?;
            match groups.text().as_str() {
                "HEADER" => document.header(&mut groups)?,
                "TABLES" => document.tables(&mut groups)?,
                "BLOCKS" => document.read_blocks(&mut groups)?,
                "ENTITIES" => {
                    groups.next()?;
                    document.entities(&mut groups, &mut whole, "ENDSEC")?;
                }
                _ => {
                    while !(groups.code == 0 && groups.is("ENDSEC")) {
                        groups.next()?;
                    }
                }
            }
            groups.next()?;
        }
        document.memory.push(&mut document.blocks, whole)?;
        Ok(document)
    }

    /// The metres of the unit of its numbers, where it says one.
    #[must_use]
    pub fn unit(&self) -> Option<f64> {
        self.unit
    }

    /// The names of its layers, in capitals.
    pub fn layers(&self) -> impl Iterator<Item = &str> {
        self.layers.iter().map(String::as_str)
    }

    /// Whether a layer is frozen or off.
    pub(super) fn is_hidden(&self, layer: u32) -> bool {
        self.frozen.contains(&layer) || self.off.contains(&layer)
    }

    fn layer(&mut self, name: &str) -> Result<u32, Error> {
        let name = name.to_uppercase();
        if let Some(number) = self.layer_numbers.get(&name) {
            return Ok(*number);
        }
        let number = self.layers.len();
        if number as u64 > self.limits.items {
            return Err(Refused::Items(self.limits.items).into());
        }
        self.memory.take(NAMED + 2 * name.len() as u64)?;
        self.memory.push(&mut self.layers, name.clone())?;
        self.layer_numbers.insert(name, number as u32);
        Ok(number as u32)
    }

    fn header<R: Read>(&mut self, groups: &mut Groups<R>) -> Result<(), Error> {
        let mut of_units = false;
        loop {
            groups.next()?;
            match groups.code {
                0 => return Ok(()),
                9 => of_units = groups.is("$INSUNITS"),
                70 if of_units => self.unit = metres(groups.integer()?),
                _ => {}
            }
        }
    }

    fn tables<R: Read>(&mut self, groups: &mut Groups<R>) -> Result<(), Error> {
        let mut open: Option<(String, i64, i64)> = None;
        loop {
            groups.next()?;
            match groups.code {
                0 => {
                    if let Some((name, flags, colour)) = open.take() {
                        let number = self.layer(&name)?;
                        if flags & 1 != 0 {
                            self.frozen.insert(number);
                        }
                        if colour < 0 {
                            self.off.insert(number);
                        }
                    }
                    if groups.is("ENDSEC") {
                        return Ok(());
                    }
                    open = groups.is("LAYER").then(|| (String::new(), 0, 7));
                }
                code => {
                    let Some((name, flags, colour)) = &mut open else {
                        continue;
                    };
                    match code {
                        2 => *name = groups.text(),
                        70 => *flags = groups.integer()?,
                        62 => *colour = groups.integer()?,
                        _ => {}
                    }
                }
            }
        }
    }

    fn read_blocks<R: Read>(&mut self, groups: &mut Groups<R>) -> Result<(), Error> {
        groups.next()?;
        loop {
            if groups.code != 0 {
                groups.next()?;
                continue;
            }
            if groups.is("ENDSEC") {
                return Ok(());
            }
            if !groups.is("BLOCK") {
                groups.next()?;
                continue;
            }
            let mut block = Block::default();
            loop {
                groups.next()?;
                match groups.code {
                    0 => break,
                    2 => block.name = groups.text().to_uppercase().into(),
                    10 => block.base.0 = groups.number()?,
                    20 => block.base.1 = groups.number()?,
                    _ => {}
                }
            }
            self.entities(groups, &mut block, "ENDBLK")?;
            if self.blocks.len() as u64 >= self.limits.items {
                return Err(Refused::Items(self.limits.items).into());
            }
            let number = self.blocks.len() as u32;
            if self.names.insert(Arc::clone(&block.name), number).is_some() {
                return Err(groups.fault(format!("a second block is named {:?}", block.name)));
            }
            self.memory.take(NAMED + 2 * block.name.len() as u64)?;
            self.memory.push(&mut self.blocks, block)?;
            groups.next()?;
        }
    }

    /// Reads entities up to the group 0 `end`; the group at hand is the first.
    fn entities<R: Read>(
        &mut self,
        groups: &mut Groups<R>,
        block: &mut Block,
        end: &str,
    ) -> Result<(), Error> {
        // The polyline whose corners follow.
        let mut polyline: Option<Open> = None;
        while !(groups.code == 0 && groups.is(end)) {
            if groups.code != 0 {
                groups.next()?;
                continue;
            }
            // Its corners follow each other, so that nothing else may come between them.
            if let Some(whole) = &polyline
                && !groups.is("VERTEX")
                && !groups.is("SEQEND")
            {
                return Err(unfinished(groups, whole));
            }
            if groups.is("EOF") || groups.is("ENDSEC") {
                return Err(groups.fault(format!("expected 0 {end}, found 0 {}", groups.text())));
            }
            let open = self.entity(groups)?;
            match (open.kind.as_str(), &mut polyline) {
                ("POLYLINE", _) => polyline = Some(open),
                ("VERTEX", Some(whole)) => {
                    // Control points of a spline are no corners, and those of faces have no place.
                    if open.flags() & (16 | 128) == 0 {
                        self.corner((open.number(10), open.number(20), open.number(42)))?;
                        whole.corners.end = self.corners.len();
                        let widths = [40, 41].map(|code| open.optional(code));
                        self.memory.push(&mut whole.widths, widths)?;
                    }
                }
                ("SEQEND", whole) => {
                    if let Some(whole) = whole.take() {
                        self.finish(whole, block)?;
                    }
                }
                _ => self.finish(open, block)?,
            }
        }
        polyline.map_or(Ok(()), |whole| Err(unfinished(groups, &whole)))
    }

    fn corner(&mut self, corner: (f64, f64, f64)) -> Result<(), Error> {
        if self.corners.len() as u64 >= self.limits.points {
            return Err(Refused::Points(self.limits.points).into());
        }
        Ok(self.memory.push(&mut self.corners, corner)?)
    }

    /// Reads the entity whose group 0 is at hand, and the group after it.
    fn entity<R: Read>(&mut self, groups: &mut Groups<R>) -> Result<Open, Error> {
        let start = self.corners.len();
        let mut open = Open {
            kind: groups.text(),
            line: groups.line,
            layer: INHERITED,
            name: String::new(),
            numbers: [None; 70],
            up: 1.0,
            slanted: false,
            paper: false,
            corners: start..start,
            widths: Vec::new(),
        };
        let of_corners = open.kind == "LWPOLYLINE";
        loop {
            groups.next()?;
            match groups.code {
                0 => break,
                2 => open.name = groups.text().to_uppercase(),
                8 => open.layer = self.layer(&groups.text())?,
                67 => open.paper = groups.integer()? == 1,
                10 if of_corners => {
                    let x = groups.number()?;
                    self.corner((x, 0.0, 0.0))?;
                    open.corners.end = self.corners.len();
                    self.memory.push(&mut open.widths, [None; 2])?;
                }
                code @ (20 | 40..=42) if of_corners => {
                    let number = groups.number()?;
                    if open.corners.is_empty() {
                        continue;
                    }
                    if let Some(corner) = self.corners.last_mut() {
                        match code {
                            20 => corner.1 = number,
                            42 => corner.2 = number,
                            _ => {
                                if let Some(last) = open.widths.last_mut() {
                                    last[usize::from(code == 41)] = Some(number);
                                }
                            }
                        }
                    }
                }
                code @ 10..=79 => {
                    let number = groups.number()?;
                    open.numbers[code as usize - 10].get_or_insert(number);
                }
                210 | 220 => open.slanted |= groups.number()?.abs() > 1e-9,
                230 => open.up = groups.number()?,
                _ => {}
            }
        }
        open.slanted |= (open.up.abs() - 1.0).abs() > 1e-9;
        Ok(open)
    }

    fn finish(&mut self, open: Open, block: &mut Block) -> Result<(), Error> {
        let taken = (open.widths.capacity() * size_of::<Written>()) as u64;
        let finished = self.shape(open, block);
        self.memory.give(taken);
        finished
    }

    fn shape(&mut self, open: Open, block: &mut Block) -> Result<(), Error> {
        // What lies on paper is a picture of the drawing.
        if open.paper {
            return Ok(());
        }
        // What is hidden one by one, as states of dynamic blocks and attributes of their own are.
        if open.number(60) == 1.0 || (open.kind == "ATTRIB" && open.flags() & 1 != 0) {
            return Ok(());
        }
        let closed = open.flags() & 1 != 0;
        let shape = match open.kind.as_str() {
            kind if open.slanted && !matches!(kind, "LINE" | "POINT") => {
                Shape::Other("an entity that is not seen from above")
            }
            "LINE" => {
                let start = self.corners.len();
                for (x, y) in [open.point(10), open.point(11)] {
                    self.corner((x, y, 0.0))?;
                }
                Shape::Polyline {
                    corners: start..self.corners.len(),
                    closed: false,
                    width: None,
                }
            }
            "LWPOLYLINE" | "POLYLINE" => {
                let is_old = open.kind == "POLYLINE";
                // A width of the whole counts for all sides; those of an old polyline are for sides that have none.
                let constant = open.optional(43).filter(|width| !is_old && *width != 0.0);
                let given = if is_old {
                    [open.number(40), open.number(41)]
                } else {
                    [0.0; 2]
                };
                // The last corner of an open polyline begins no side.
                let sides = open.widths.len() - usize::from(!closed && !open.widths.is_empty());
                let widths = open.widths[..sides].iter().map(|[begin, end]| match constant {
                    Some(width) => [width; 2],
                    None => [begin.unwrap_or(given[0]), end.unwrap_or(given[1])],
                });
                let mut all = widths.clone().flatten();
                let first = all.next().unwrap_or(0.0);
                if is_old && open.flags() & (16 | 64) != 0 {
                    Shape::Other("a mesh")
                } else if all.any(|width| width != first) {
                    let start = self.widths.len();
                    self.memory.reserve(&mut self.widths, sides)?;
                    self.widths.extend(widths);
                    Shape::Tapered {
                        corners: open.corners.clone(),
                        closed,
                        widths: start..self.widths.len(),
                    }
                } else {
                    Shape::Polyline {
                        corners: open.corners.clone(),
                        closed,
                        width: (first > 0.0).then_some(first),
                    }
                }
            }
            "CIRCLE" => Shape::Circle {
                centre: open.point(10),
                radius: open.number(40).abs(),
            },
            "ARC" => Shape::Arc {
                centre: open.point(10),
                radius: open.number(40).abs(),
                from: open.number(50),
                to: open.number(51),
            },
            "ELLIPSE" => Shape::Ellipse {
                centre: open.point(10),
                major: open.point(11),
                ratio: open.number(40),
                from: open.number(41),
                to: open.optional(42).unwrap_or(2.0 * std::f64::consts::PI),
            },
            "SOLID" | "TRACE" => {
                let start = self.corners.len();
                // The last two stand crosswise.
                let fourth = if open.optional(13).is_some() { 13 } else { 12 };
                for code in [10, 11, fourth, 12] {
                    let (x, y) = open.point(code);
                    self.corner((x, y, 0.0))?;
                }
                Shape::Solid(start..self.corners.len())
            }
            "INSERT" => {
                let count = |code: usize| match open.optional(code) {
                    Some(count) if count >= 1.0 => count.min(f64::from(u32::MAX)) as u32,
                    _ => 1,
                };
                let scale = |code: usize| open.optional(code).unwrap_or(1.0);
                Shape::Insert(Box::new(Insert {
                    name: open.name.clone(),
                    at: open.point(10),
                    scale: (scale(41), scale(42)),
                    angle: open.number(50),
                    columns: count(70),
                    rows: count(71),
                    spacing: (open.number(44), open.number(45)),
                }))
            }
            "SPLINE" => Shape::Other("a SPLINE"),
            "HATCH" | "MPOLYGON" => Shape::Other("a HATCH"),
            "TEXT" | "MTEXT" | "ATTRIB" | "ARCTEXT" => Shape::Other("a text"),
            "DIMENSION" | "LEADER" | "MULTILEADER" => Shape::Other("a dimension"),
            "3DFACE" | "3DSOLID" | "MESH" | "BODY" | "REGION" => Shape::Other("a body or a face"),
            "IMAGE" | "OLE2FRAME" | "WIPEOUT" => Shape::Other("a picture"),
            // They cover nothing.
            "POINT" | "ATTDEF" | "VIEWPORT" | "SEQEND" | "VERTEX" | "RAY" | "XLINE" => return Ok(()),
            _ => Shape::Other("an entity of a kind that is not read"),
        };
        if block.entities.len() as u64 >= self.limits.items {
            return Err(Refused::Items(self.limits.items).into());
        }
        if let Shape::Insert(insert) = &shape {
            self.memory
                .take(size_of::<Insert>() as u64 + insert.name.len() as u64)?;
        }
        let entity = Entity {
            line: open.line,
            layer: open.layer,
            // Lines have places of their own.
            mirrored: open.up < 0.0 && open.kind != "LINE",
            shape,
        };
        Ok(self.memory.push(&mut block.entities, entity)?)
    }
}

fn unfinished<R: Read>(groups: &Groups<R>, polyline: &Open) -> Error {
    groups.fault(format!("the POLYLINE of line {} has no SEQEND", polyline.line))
}
