//! From commands to objects.

use std::collections::HashMap;
use std::f64::consts::{FRAC_PI_2, PI};
use std::io::Read;

use super::Error;
use super::aperture::{Aperture, Macro};
use super::board::{Arc, Board, Object, STRAIGHT, Segment, Shape};
use super::words::{Next, Words, shown};
use crate::assembly::{Linear, product, turn};
use crate::limits::{Limits, Memory, Refused};

impl Board {
    /// Reads a file up to M02.
    ///
    /// # Errors
    /// Where it is no Gerber, ends too early or exceeds the limits.
    pub fn read(file: impl Read, limits: Limits) -> Result<Self, Error> {
        let mut reader = Reader::new(file, limits);
        loop {
            match reader.words.next()? {
                Next::Word if reader.words.is_comment() => {}
                Next::Word if reader.words.extended => reader.extended()?,
                Next::Word => {
                    if reader.command()? {
                        return reader.finish();
                    }
                }
                Next::End => {}
                Next::Nothing => {
                    let what = "the file ends before M02: it is cut short, or no Gerber";
                    return Err(reader.words.fault(what));
                }
            }
        }
    }
}

/// What an aperture or a look takes in the maps that know it.
const KNOWN: u64 = 128;

/// How coordinates are written.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Format {
    whole: u32,
    decimals: u32,
    /// Zeros are left out at the end, not at the begin.
    trailing: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Interpolation {
    Linear,
    Clockwise,
    Against,
}

/// What is open and takes objects.
struct Open {
    line: u64,
    purpose: Purpose,
    objects: Vec<Object>,
}

enum Purpose {
    Whole,
    /// The number of a block aperture.
    Aperture(u32),
    Repeat {
        columns: u32,
        rows: u32,
        step: (f64, f64),
    },
}

/// Segments that are being drawn.
struct Chain {
    from: (i64, i64),
    first: u32,
    /// The aperture and its look; none within a region.
    stroke: Option<(u32, u32)>,
}

struct Reader<R> {
    words: Words<R>,
    board: Board,
    /// 10^-`decimals` of it are a unit of a coordinate.
    unit: Option<(u64, u64)>,
    format: Option<Format>,
    /// Apertures by their D codes.
    codes: HashMap<u32, u32>,
    macros: HashMap<String, Macro>,
    looks: HashMap<[u64; 4], u32>,
    open: Vec<Open>,
    chain: Option<Chain>,
    at: (i64, i64),
    operation: Option<u32>,
    aperture: Option<u32>,
    interpolation: Interpolation,
    single_quadrant: Option<bool>,
    region: bool,
    clear: bool,
    mirror: (bool, bool),
    angle: f64,
    scale: f64,
    look: u32,
    objects: u64,
    /// Points and statements of macros.
    spent: u64,
}

impl<R: Read> Reader<R> {
    fn new(file: R, limits: Limits) -> Self {
        let identity: Linear = [1.0, 0.0, 0.0, 1.0];
        Self {
            words: Words::new(file, limits.bytes),
            board: Board {
                unit: (1, 1),
                per_unit: 1.0,
                apertures: Vec::new(),
                looks: vec![identity],
                blocks: Vec::new(),
                segments: Vec::new(),
                arcs: Vec::new(),
                limits,
                memory: Memory::new(&limits),
                warnings: Vec::new(),
                more: 0,
            },
            unit: None,
            format: None,
            codes: HashMap::new(),
            macros: HashMap::new(),
            looks: HashMap::from([(identity.map(f64::to_bits), 0)]),
            open: vec![Open {
                line: 1,
                purpose: Purpose::Whole,
                objects: Vec::new(),
            }],
            chain: None,
            at: (0, 0),
            operation: None,
            aperture: None,
            interpolation: Interpolation::Linear,
            single_quadrant: None,
            region: false,
            clear: false,
            mirror: (false, false),
            angle: 0.0,
            scale: 1.0,
            look: 0,
            objects: 0,
            spent: 0,
        }
    }

    fn fault(&self, what: impl Into<String>) -> Error {
        self.words.fault(what)
    }

    fn finish(mut self) -> Result<Board, Error> {
        if self.region {
            return Err(self.fault("the file ends within a region: G36 has no G37"));
        }
        self.end_chain()?;
        // Files that repeat to their end need not say so.
        while self.open.len() > 1 {
            if let Some(Open {
                line,
                purpose: Purpose::Aperture(code),
                ..
            }) = self.open.last()
            {
                let what =
                    format!("the file ends within the block aperture D{code}, which line {line} begins");
                return Err(self.fault(what));
            }
            self.close()?;
        }
        let whole = self.open.pop().map(|open| open.objects).unwrap_or_default();
        self.board.blocks.push(whole);
        let Some((above, below)) = self.unit else {
            return Err(self.fault("the file does not say its unit: %MOMM*% or %MOIN*% is missing"));
        };
        let per_unit = 10_u64.pow(self.format.map_or(0, |format| format.decimals));
        self.board.unit = (above, below * per_unit);
        self.board.per_unit = per_unit as f64;
        (self.board.warnings, self.board.more) = (self.words.warnings, self.words.more);
        Ok(self.board)
    }

    fn count(&mut self) -> Result<(), Error> {
        self.objects += 1;
        let limit = self.board.limits.items;
        if self.objects > limit {
            return Err(Refused::Items(limit).into());
        }
        Ok(())
    }

    fn add(&mut self, shape: Shape) -> Result<(), Error> {
        self.count()?;
        let clear = self.clear;
        if let Some(open) = self.open.last_mut() {
            let object = Object { clear, shape };
            self.board.memory.push(&mut open.objects, object)?;
        }
        Ok(())
    }

    /// A command that stands alone; whether it ends the file.
    fn command(&mut self) -> Result<bool, Error> {
        let text = self.words.text();
        let mut rest = text.as_str();
        let (mut x, mut y, mut i, mut j) = (None, None, None, None);
        let mut operation = None;
        while let Some(letter) = rest.chars().next() {
            let after = &rest[letter.len_utf8()..];
            let end = after
                .find(|c: char| !(c.is_ascii_digit() || matches!(c, '+' | '-' | '.')))
                .unwrap_or(after.len());
            let (number, next) = after.split_at(end);
            rest = next.trim_start();
            match letter {
                'X' => x = Some(self.coordinate(number)?),
                'Y' => y = Some(self.coordinate(number)?),
                'I' => i = Some(self.coordinate(number)?),
                'J' => j = Some(self.coordinate(number)?),
                'G' => self.general(self.code(number, &text)?)?,
                'D' => operation = Some(self.code(number, &text)?),
                'M' => {
                    return match self.code(number, &text)? {
                        0 | 2 => Ok(true),
                        1 => Ok(false),
                        other => Err(self.fault(format!("there is no M{other:02}"))),
                    };
                }
                // The number of a line.
                'N' => {}
                _ => return Err(self.fault(format!("{:?} is no command", shown(&text)))),
            }
        }
        let moved = x.is_some() || y.is_some() || i.is_some() || j.is_some();
        match operation {
            Some(code) if code >= 10 => {
                if moved {
                    return Err(self.fault(format!("D{code} with coordinates; it chooses an aperture")));
                }
                self.choose(code)?;
                return Ok(false);
            }
            None if !moved => return Ok(false),
            _ => {}
        }
        let Some(code) = operation.or(self.operation) else {
            return Err(self.fault("coordinates without D01, D02 or D03"));
        };
        self.operation = Some(code);
        let to = (x.unwrap_or(self.at.0), y.unwrap_or(self.at.1));
        match code {
            1 => self.draw(to, (i.unwrap_or(0), j.unwrap_or(0)))?,
            2 => self.end_chain()?,
            3 => self.flash(to)?,
            other => return Err(self.fault(format!("there is no D{other:02}"))),
        }
        self.at = to;
        Ok(false)
    }

    fn code(&self, number: &str, text: &str) -> Result<u32, Error> {
        let code = number.parse::<u32>().ok().filter(|code| *code < 1 << 31);
        code.ok_or_else(|| self.fault(format!("{:?} is no command", shown(text))))
    }

    fn coordinate(&self, digits: &str) -> Result<i64, Error> {
        let Some(format) = self.format else {
            return Err(self.fault("a coordinate before its format, %FSLAX…Y…*%"));
        };
        let wrong = |what: &str| self.fault(format!("the coordinate {:?} {what}", shown(digits)));
        let (negative, digits) = match digits.as_bytes().first() {
            Some(b'-') => (true, &digits[1..]),
            Some(b'+') => (false, &digits[1..]),
            _ => (false, digits),
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong(
                "is no whole number; places after the point are those of %FS",
            ));
        }
        let all = (format.whole + format.decimals) as usize;
        // Zeros at the begin may be written.
        let digits = if format.trailing {
            digits
        } else {
            digits.trim_start_matches('0')
        };
        if digits.len() > all.max(1) {
            return Err(wrong("has more digits than the format of the file"));
        }
        let mut value: i64 = digits
            .bytes()
            .fold(0, |sum, byte| 10 * sum + i64::from(byte - b'0'));
        if format.trailing {
            for _ in digits.len()..all {
                value *= 10;
            }
        }
        Ok(if negative { -value } else { value })
    }

    fn general(&mut self, code: u32) -> Result<(), Error> {
        match code {
            1 => self.interpolation = Interpolation::Linear,
            2 => self.interpolation = Interpolation::Clockwise,
            3 => self.interpolation = Interpolation::Against,
            // Comments, apertures and flashes announced, absolute coordinates.
            4 | 54 | 55 | 90 => {}
            36 => {
                self.end_chain()?;
                if self.region {
                    return Err(self.fault("a region within a region: G36 again before G37"));
                }
                self.region = true;
            }
            37 => {
                if !self.region {
                    return Err(self.fault("G37 ends a region, but none is open"));
                }
                self.end_chain()?;
                self.region = false;
            }
            70 => self.measure((254, 10_000))?,
            71 => self.measure((1, 1_000))?,
            74 => self.single_quadrant = Some(true),
            75 => self.single_quadrant = Some(false),
            91 => return Err(self.fault("coordinates that count from the last one (G91) are not read")),
            other => return Err(self.fault(format!("there is no G{other:02}"))),
        }
        Ok(())
    }

    fn measure(&mut self, unit: (u64, u64)) -> Result<(), Error> {
        if self.unit.is_some_and(|before| before != unit) {
            return Err(self.fault("the file changes its unit"));
        }
        self.unit = Some(unit);
        Ok(())
    }

    fn choose(&mut self, code: u32) -> Result<(), Error> {
        let Some(aperture) = self.codes.get(&code).copied() else {
            return Err(self.fault(format!("the aperture D{code} is not defined")));
        };
        self.end_chain()?;
        self.aperture = Some(aperture);
        Ok(())
    }

    fn current(&self) -> Result<u32, Error> {
        self.aperture
            .ok_or_else(|| self.fault("nothing says with which aperture: D10 or higher is missing"))
    }

    fn flash(&mut self, at: (i64, i64)) -> Result<(), Error> {
        self.end_chain()?;
        if self.region {
            return Err(self.fault("a flash (D03) within a region"));
        }
        let (aperture, look) = (self.current()?, self.look);
        self.add(Shape::Flash { at, aperture, look })
    }

    fn draw(&mut self, to: (i64, i64), offset: (i64, i64)) -> Result<(), Error> {
        let stroke = if self.region {
            None
        } else {
            Some((self.current()?, self.look))
        };
        let arc = match self.interpolation {
            Interpolation::Linear => None,
            Interpolation::Clockwise | Interpolation::Against => self.arc(to, offset)?,
        };
        if let Some((aperture, _)) = stroke {
            let draws = match &self.board.apertures[aperture as usize] {
                Aperture::Circle { hole: None, .. } => true,
                Aperture::Rectangle { hole: None, .. } => arc.is_none(),
                _ => false,
            };
            if !draws {
                let what = "only discs, and rectangles along straight lines, both without a hole, draw lines (D01); \
                            others are flashed (D03)";
                return Err(self.fault(what));
            }
        }
        let limit = self.board.limits.points.min(1 << 31);
        if self.board.segments.len() as u64 >= limit {
            return Err(Refused::Points(limit).into());
        }
        if self.chain.is_none() {
            self.chain = Some(Chain {
                from: self.at,
                first: self.board.segments.len() as u32,
                stroke,
            });
        }
        let number = self.board.arcs.len() as u32;
        let segment = Segment {
            to,
            arc: if arc.is_some() { number } else { STRAIGHT },
        };
        if let Some(arc) = arc {
            self.board.memory.push(&mut self.board.arcs, arc)?;
        }
        self.board.memory.push(&mut self.board.segments, segment)?;
        Ok(())
    }

    /// An arc; none where it is a point.
    fn arc(&self, to: (i64, i64), offset: (i64, i64)) -> Result<Option<Arc>, Error> {
        let Some(single) = self.single_quadrant else {
            return Err(self.fault("an arc before G74 or G75, which say what its I and J mean"));
        };
        let from = (self.at.0 as f64, self.at.1 as f64);
        let end = (to.0 as f64, to.1 as f64);
        let around = |i: f64, j: f64| {
            let centre = (from.0 + i, from.1 + j);
            let radii = (libm::hypot(i, j), libm::hypot(end.0 - centre.0, end.1 - centre.1));
            let start = libm::atan2(from.1 - centre.1, from.0 - centre.0);
            let stop = libm::atan2(end.1 - centre.1, end.0 - centre.0);
            let sweep = match self.interpolation {
                Interpolation::Clockwise => -(start - stop).rem_euclid(2.0 * PI),
                _ => (stop - start).rem_euclid(2.0 * PI),
            };
            (centre, (radii.0 - radii.1).abs(), sweep, radii.0.max(radii.1))
        };
        let (i, j) = (offset.0 as f64, offset.1 as f64);
        let (centre, off, sweep, radius) = if single {
            if self.at == to {
                return Ok(None);
            }
            let (i, j) = (i.abs(), j.abs());
            let all = [(i, j), (-i, j), (i, -j), (-i, -j)].map(|(i, j)| around(i, j));
            let near = all.into_iter().filter(|arc| arc.2.abs() <= FRAC_PI_2 + 1e-3);
            match near.min_by(|a, b| a.1.total_cmp(&b.1)) {
                Some(arc) => arc,
                None => return Err(self.fault("an arc of G74 that turns by more than 90°")),
            }
        } else if self.at == to {
            let (centre, off, _, radius) = around(i, j);
            let whole = if self.interpolation == Interpolation::Clockwise {
                -2.0 * PI
            } else {
                2.0 * PI
            };
            (centre, off, whole, radius)
        } else {
            around(i, j)
        };
        // Coordinates are rounded, so the ends of an arc lie on no common circle.
        if off > 4.0 + radius / 20.0 {
            return Err(self.fault(format!(
                "an arc whose ends lie {off:.0} units of a coordinate nearer to and farther from its middle than each other"
            )));
        }
        Ok((radius > 0.0).then_some(Arc { centre, sweep }))
    }

    /// Adds the line or the contour that is being drawn.
    fn end_chain(&mut self) -> Result<(), Error> {
        let Some(Chain { from, first, stroke }) = self.chain.take() else {
            return Ok(());
        };
        let segments = first..self.board.segments.len() as u32;
        self.add(match stroke {
            Some((aperture, look)) => Shape::Line {
                from,
                segments,
                aperture,
                look,
            },
            None => Shape::Contour { from, segments },
        })
    }

    /// A command between `%`.
    fn extended(&mut self) -> Result<(), Error> {
        let text = self.words.text();
        let Some((name, rest)) = text.split_at_checked(2) else {
            return Err(self.fault(format!("{:?} is no command", shown(&text))));
        };
        let rest = rest.trim();
        match name {
            // Attributes and names say nothing of shapes.
            "TF" | "TA" | "TO" | "TD" | "IN" | "LN" => Ok(()),
            "FS" => self.format(rest),
            "MO" => match rest {
                "MM" => self.measure((1, 1_000)),
                "IN" => self.measure((254, 10_000)),
                _ => Err(self.fault(format!("the unit {:?}; it is MM or IN", shown(rest)))),
            },
            "AM" => self.define_macro(rest.to_owned()),
            "AD" => self.define(rest),
            "AB" => self.block(rest),
            "SR" => self.repeat(rest),
            "LP" => {
                self.end_chain()?;
                self.clear = match rest {
                    "D" => false,
                    "C" => true,
                    _ => return Err(self.fault(format!("the polarity {:?}; it is D or C", shown(rest)))),
                };
                Ok(())
            }
            "LM" => {
                self.mirror = match rest {
                    "N" => (false, false),
                    "X" => (true, false),
                    "Y" => (false, true),
                    "XY" => (true, true),
                    _ => {
                        return Err(self.fault(format!("the mirroring {:?}; it is N, X, Y or XY", shown(rest))));
                    }
                };
                self.new_look()
            }
            "LR" => {
                self.angle = self.number(rest)?.rem_euclid(360.0);
                self.new_look()
            }
            "LS" => {
                self.scale = match self.number(rest)? {
                    scale if (1e-6..=1e6).contains(&scale) => scale,
                    scale => return Err(self.fault(format!("a scale of {scale}; from 1e-6 to 1e6 are read"))),
                };
                self.new_look()
            }
            // What earlier revisions have of a whole picture, where it changes nothing.
            "IP" if rest == "POS" => Ok(()),
            "IP" => Err(self.fault("a negative picture (IP NEG) is not read; `map` with `invert` turns samples round")),
            "AS" if rest == "AXBY" => Ok(()),
            "IR" if rest == "0" => Ok(()),
            "MI" if rest.bytes().all(|byte| b"AB0".contains(&byte)) => Ok(()),
            "OF" | "IO" if rest.bytes().all(|byte| b"AB0.+-".contains(&byte)) => Ok(()),
            "SF" if ["", "A1B1", "A1.0B1.0", "A1.B1."].contains(&rest) => Ok(()),
            "AS" | "IR" | "MI" | "OF" | "IO" | "SF" => Err(self.fault(format!(
                "%{name} moves or turns the whole picture, which is not read; `turn`, `flip` and `x`, `y` of the node do"
            ))),
            _ => Err(self.fault(format!("there is no command %{}", shown(&text)))),
        }
    }

    fn number(&self, text: &str) -> Result<f64, Error> {
        // Numbers of a file have no exponent.
        let plain = text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b".+-".contains(&byte));
        let number = text
            .parse::<f64>()
            .ok()
            .filter(|number| plain && number.is_finite());
        number.ok_or_else(|| self.fault(format!("expected a number, found {:?}", shown(text))))
    }

    fn format(&mut self, text: &str) -> Result<(), Error> {
        let wrong = || {
            self.fault(format!(
                "the format {:?}; it is as LAX26Y26, with at most 9 digits each",
                shown(text)
            ))
        };
        let (mut trailing, mut digits) = (false, [None; 2]);
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match letter {
                'L' | 'D' => trailing = false,
                'T' => trailing = true,
                'A' => {}
                'I' => {
                    let what = "coordinates that count from the last one (FS…I) are not read";
                    return Err(self.fault(what));
                }
                // Digits of codes, as early files have them.
                'N' | 'G' | 'M' => {
                    letters.next();
                }
                'X' | 'Y' => {
                    let mut digit = || letters.next().and_then(|c| c.to_digit(10));
                    digits[usize::from(letter == 'Y')] = digit().zip(digit());
                }
                _ => return Err(wrong()),
            }
        }
        let [Some((whole, decimals)), Some(other)] = digits else {
            return Err(wrong());
        };
        if other != (whole, decimals) {
            return Err(self.fault("coordinates of X and Y in different formats are not read"));
        }
        let format = Format {
            whole,
            decimals,
            trailing,
        };
        if self.format.is_some_and(|before| before != format) {
            return Err(self.fault("the file changes the format of its coordinates"));
        }
        self.format = Some(format);
        Ok(())
    }

    fn new_look(&mut self) -> Result<(), Error> {
        self.end_chain()?;
        let (sin, cos) = turn(self.angle);
        let sign = |mirrored: bool| if mirrored { -self.scale } else { self.scale };
        // Mirrored before it is turned.
        let look = product(
            [cos, sin, -sin, cos],
            [sign(self.mirror.0), 0.0, 0.0, sign(self.mirror.1)],
        );
        let key = look.map(f64::to_bits);
        if let Some(known) = self.looks.get(&key) {
            self.look = *known;
            return Ok(());
        }
        self.count()?;
        self.look = self.board.looks.len() as u32;
        self.board.memory.take(KNOWN)?;
        self.board.memory.push(&mut self.board.looks, look)?;
        self.looks.insert(key, self.look);
        Ok(())
    }

    /// Takes the statements of a macro, up to the `%` after it.
    fn define_macro(&mut self, name: String) -> Result<(), Error> {
        if name.is_empty() {
            return Err(self.fault("a macro without a name"));
        }
        // A macro of the same name gives way to it.
        self.board.memory.take(name.len() as u64 + KNOWN)?;
        let mut statements = Vec::new();
        loop {
            match self.words.next()? {
                Next::Word => {
                    self.count()?;
                    let statement = self.words.text();
                    self.board.memory.take(statement.len() as u64)?;
                    self.board.memory.push(&mut statements, statement)?;
                }
                Next::End => break,
                Next::Nothing => return Err(self.fault(format!("the file ends within the macro {name:?}"))),
            }
        }
        self.macros.insert(name, Macro { statements });
        Ok(())
    }

    fn define(&mut self, text: &str) -> Result<(), Error> {
        let wrong = || self.fault(format!("the aperture {:?}; it is as D10C,0.5", shown(text)));
        let after = text.strip_prefix('D').ok_or_else(wrong)?;
        let end = after.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let (code, rest) = after.split_at(end);
        let code = code.parse::<u32>().map_err(|_| wrong())?;
        if code < 10 {
            return Err(self.fault(format!("the aperture D{code}; apertures begin at D10")));
        }
        let (name, numbers) = rest.split_once(',').unwrap_or((rest, ""));
        let numbers = numbers
            .split('X')
            .map(str::trim)
            .filter(|_| !numbers.trim().is_empty())
            .map(|number| self.number(number))
            .collect::<Result<Vec<f64>, Error>>()?;
        let name = name.trim();
        let aperture = if let "C" | "R" | "O" | "P" = name {
            Aperture::standard(name, &numbers)
        } else {
            let Some(law) = self.macros.get(name) else {
                return Err(self.fault(format!("there is no macro {:?}", shown(name))));
            };
            law.primitives(&numbers, &self.board.limits, &self.board.memory, &mut self.spent)
                .map(Aperture::Macro)
                .map_err(|what| format!("the aperture D{code} of the macro {:?}: {what}", shown(name)))
        };
        let aperture = aperture.map_err(|what| self.fault(what))?;
        self.keep(code, aperture)
    }

    fn keep(&mut self, code: u32, aperture: Aperture) -> Result<(), Error> {
        self.count()?;
        self.codes.insert(code, self.board.apertures.len() as u32);
        self.board.memory.take(KNOWN)?;
        self.board.memory.push(&mut self.board.apertures, aperture)?;
        Ok(())
    }

    fn block(&mut self, text: &str) -> Result<(), Error> {
        self.end_chain()?;
        if self.region {
            return Err(self.fault("a block aperture within a region"));
        }
        if text.is_empty() {
            return match self.open.last().map(|open| &open.purpose) {
                Some(Purpose::Aperture(_)) => self.close(),
                _ => Err(self.fault("%AB*% ends a block aperture, but none is open")),
            };
        }
        let code = text.strip_prefix('D').and_then(|code| code.parse::<u32>().ok());
        match code.filter(|code| *code >= 10) {
            Some(code) => self.begin(Purpose::Aperture(code)),
            None => Err(self.fault(format!("the block aperture {:?}; it is as D10", shown(text)))),
        }
    }

    fn begin(&mut self, purpose: Purpose) -> Result<(), Error> {
        let depth = self.board.limits.depth;
        if self.open.len() as u64 > u64::from(depth) {
            return Err(Error::Depth(depth));
        }
        self.open.push(Open {
            line: self.words.line,
            purpose,
            objects: Vec::new(),
        });
        Ok(())
    }

    fn repeat(&mut self, text: &str) -> Result<(), Error> {
        self.end_chain()?;
        if self.region {
            return Err(self.fault("step and repeat within a region"));
        }
        if let Some(Open {
            purpose: Purpose::Repeat { .. },
            ..
        }) = self.open.last()
        {
            self.close()?;
        } else if text.is_empty() {
            return Err(self.fault("%SR*% ends what is repeated, but nothing is"));
        }
        if text.is_empty() {
            return Ok(());
        }
        let (mut counts, mut step) = ((1, 1), (0.0, 0.0));
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            let after = &rest[letter.len_utf8()..];
            let end = after
                .find(|c: char| c.is_ascii_alphabetic())
                .unwrap_or(after.len());
            let (number, next) = after.split_at(end);
            rest = next;
            let wrong = |what: &str| self.fault(format!("{what} in %SR{}", shown(text)));
            match letter {
                'X' | 'Y' => {
                    let count = number.trim().parse::<u32>().ok().filter(|count| *count >= 1);
                    let count = count.ok_or_else(|| wrong("no number of copies"))?;
                    *(if letter == 'X' {
                        &mut counts.0
                    } else {
                        &mut counts.1
                    }) = count;
                }
                'I' => step.0 = self.number(number.trim())?,
                'J' => step.1 = self.number(number.trim())?,
                _ => return Err(wrong("neither X, Y, I nor J")),
            }
        }
        self.begin(Purpose::Repeat {
            columns: counts.0,
            rows: counts.1,
            step,
        })
    }

    /// Ends what is open.
    fn close(&mut self) -> Result<(), Error> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let block = self.board.blocks.len() as u32;
        self.board.memory.push(&mut self.board.blocks, open.objects)?;
        match open.purpose {
            Purpose::Whole => Ok(()),
            Purpose::Aperture(code) => self.keep(code, Aperture::Block(block)),
            Purpose::Repeat { columns, rows, step } => {
                // Its objects have their own polarity.
                let clear = std::mem::replace(&mut self.clear, false);
                let added = self.add(Shape::Repeat {
                    block,
                    columns,
                    rows,
                    step,
                });
                self.clear = clear;
                added
            }
        }
    }
}
