//! Lines as G-code for a laser.
//!
//! A pixel is a run along its line, from edge to edge at the middle of its row, with a power of its own; pixels of one power
//! are one run. Every line begins with G0 to its first point and says its feed, so that a file may begin with any of them.
//!
//! Places are whole numbers of 256ths of a pixel until they are written: each is rounded once, for itself, and nothing drifts.

use std::io::Write;
use std::ops::Range;

use relief_design::scan::{
    Axis, Bits, Corner, Dialect, Gcode, Laser, Mirror, Origin, Packing, PassAxes, Polarity, Quarters, Scan,
    Sweep,
};
use relief_engine::{Cancel, Raster};
use relief_raster::{Depth, Length};

use crate::Error;
use crate::lines::{Block, Lines};
use crate::path::Travel;
use crate::program::{self, Program};
use crate::table::Tables;
use crate::windows::Windows;

/// The most bytes of samples that are made at once, where lines are shorter than that.
const CHUNK: u64 = 4 << 20;

/// The most lines that are made at once.
const CHUNK_LINES: u64 = 64;

/// More bytes than a run takes, its characters and what it is made of.
const RUN: u64 = 160;

/// The most digits after the point.
const MAX_DIGITS: u32 = 9;

/// A scan as G-code, checked for one raster.
#[derive(Clone, Debug)]
pub struct GcodeProgram {
    gcode: Gcode,
    program: Program,
    /// With lines along rows, and along columns.
    frames: [Frame; 2],
    millimetres: Decimals,
    /// S of every sample.
    powers: Vec<u32>,
    /// The row of the canvas that is the first of the raster.
    top: u64,
    /// What lines that run backwards are moved by along their way, in 256ths of a pixel.
    offset: i64,
}

/// What became of one line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GcodeLine {
    /// The number of the line.
    pub number: u64,
    /// Its characters.
    pub bytes: u64,
    /// What the head runs from rest to rest with a feed: millimetres, and millimetres a second.
    pub ways: Vec<(f64, f64)>,
    /// The millimetres of G0 before each of them; nothing is known of the first of a file.
    pub rapids: Vec<f64>,
}

/// The parts of a pixel that places are counted in.
const PARTS: i64 = 256;

/// Where edges and middles of pixels are, in 256ths of a pixel.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// Whether lines lie along X.
    along_x: bool,
    along: Straight,
    across: Straight,
}

/// A place and the way from it to the next pixel, in half pixels.
#[derive(Clone, Copy, Debug)]
struct Straight {
    start: i64,
    step: i64,
}

impl Straight {
    /// So many 256ths of a pixel further.
    const fn at(self, parts: i64) -> i64 {
        self.start * (PARTS / 2) + self.step / 2 * parts
    }
}

/// 256ths of a pixel as decimal millimetres.
#[derive(Clone, Copy, Debug)]
struct Decimals {
    /// What a 256th of a pixel is in units of the last digit: a fraction.
    numerator: i128,
    denominator: i128,
    digits: u32,
}

impl Decimals {
    /// As many digits as half a pixel and so many 256ths of one have, but no more than say a hundredth of a pixel.
    fn new(pixel: Length, offset: i32) -> Option<Self> {
        let (above, below) = pixel.terms();
        let (above, below) = (i128::from(above), i128::from(below));
        let of = |digits| Some((above.checked_mul(1_000 * 10_i128.pow(digits))?, 256 * below));
        let enough = |&digits: &u32| {
            of(digits).is_none_or(|(numerator, denominator)| {
                let is_whole = |parts: i128| numerator * parts % denominator == 0;
                is_whole(128) && is_whole(offset.into()) || numerator * 256 >= 100 * denominator
            })
        };
        let digits = (0..=MAX_DIGITS).find(enough).unwrap_or(MAX_DIGITS);
        let (numerator, denominator) = of(digits)?;
        let (mut a, mut b) = (numerator, denominator);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let (numerator, denominator) = (numerator / a, denominator / a);
        // Twice the greatest place times the numerator has to fit.
        numerator.checked_mul(1 << 54)?;
        Some(Self {
            numerator,
            denominator,
            digits,
        })
    }

    /// Halves up.
    fn write(&self, parts: i64, out: &mut Vec<u8>) {
        let (twice, whole) = (
            2 * i128::from(parts) * self.numerator + self.denominator,
            2 * self.denominator,
        );
        // Most are small, and division of 64 bits is several times quicker.
        let units = match (i64::try_from(twice), i64::try_from(whole)) {
            (Ok(twice), Ok(whole)) => i128::from(twice.div_euclid(whole)),
            _ => twice.div_euclid(whole),
        };
        decimal(units, self.digits, out);
    }

    fn millimetres(&self, parts: i64) -> f64 {
        parts as f64 * self.numerator as f64 / self.denominator as f64 / 10_f64.powi(self.digits as i32)
    }
}

/// A number of units of the last of so many digits after the point, without zeros at the end.
fn decimal(number: i128, digits: u32, out: &mut Vec<u8>) {
    let sign = if number < 0 { "-" } else { "" };
    let magnitude = number.unsigned_abs();
    let mut rest = match u64::try_from(magnitude) {
        Ok(magnitude) => {
            let one = 10_u64.pow(digits);
            // Writing to memory does not fail.
            let _ = write!(out, "{sign}{}", magnitude / one);
            magnitude % one
        }
        Err(_) => {
            let one = 10_u128.pow(digits);
            let _ = write!(out, "{sign}{}", magnitude / one);
            // Less than 10⁹.
            (magnitude % one) as u64
        }
    };
    let mut width = digits as usize;
    while width > 0 && rest.is_multiple_of(10) {
        rest /= 10;
        width -= 1;
    }
    if width > 0 {
        let _ = write!(out, ".{rest:0width$}");
    }
}

/// A feed in millimetres a minute, to a thousandth.
fn feed_word(feed: Length, out: &mut Vec<u8>) {
    let (above, below) = feed.terms();
    let (above, below) = (i128::from(above) * 1_000_000, i128::from(below));
    out.push(b'F');
    decimal((2 * above + below).div_euclid(2 * below), 3, out);
}

/// The place of a rectangle after a mirror and quarter turns clockwise, and the size of what it lies in.
fn turned(
    scan: &Scan,
    (width, height): (u64, u64),
    (x, y): (u64, u64),
    (columns, rows): (u64, u64),
) -> ((u64, u64), (u64, u64)) {
    let (mut size, mut at, mut part) = ((width, height), (x, y), (columns, rows));
    match scan.mirror {
        Mirror::None => {}
        Mirror::Horizontal => at.0 = size.0 - at.0 - part.0,
        Mirror::Vertical => at.1 = size.1 - at.1 - part.1,
    }
    let turns = match scan.rotate {
        Quarters::None => 0,
        Quarters::One => 1,
        Quarters::Two => 2,
        Quarters::Three => 3,
    };
    for _ in 0..turns {
        at = (size.1 - at.1 - part.1, at.0);
        size = (size.1, size.0);
        part = (part.1, part.0);
    }
    (size, at)
}

impl Frame {
    fn new(
        (scan, axis): (&Scan, Axis),
        origin: Origin,
        canvas: (u64, u64),
        at: (u64, u64),
        raster: (u64, u64),
    ) -> Self {
        let (size, at) = turned(scan, canvas, at, raster);
        let swapped = matches!(scan.rotate, Quarters::One | Quarters::Three);
        let part = if swapped { (raster.1, raster.0) } else { raster };
        // Sides are at most 2^40.
        let [width, height, left, top, columns, rows] =
            [size.0, size.1, at.0, at.1, part.0, part.1].map(u64::cast_signed);
        let right = matches!(scan.start, Corner::TopRight | Corner::BottomRight);
        let bottom = matches!(scan.start, Corner::BottomLeft | Corner::BottomRight);
        let x0 = match origin {
            Origin::BottomLeft | Origin::TopLeft => 0,
            Origin::BottomRight | Origin::TopRight => 2 * width,
            Origin::Centre => width,
        };
        let y0 = match origin {
            Origin::TopLeft | Origin::TopRight => 0,
            Origin::BottomLeft | Origin::BottomRight => 2 * height,
            Origin::Centre => height,
        };
        // Edge n, counted from the start corner, and the middle of pixel n.
        let edges = |first: i64, count: i64, back: bool| {
            if back {
                (2 * (first + count), -2)
            } else {
                (2 * first, 2)
            }
        };
        let middles = |first: i64, count: i64, back: bool| {
            let (start, step) = edges(first, count, back);
            (start + step / 2, step)
        };
        let x = |(start, step): (i64, i64)| Straight {
            start: start - x0,
            step,
        };
        let y = |(start, step): (i64, i64)| Straight {
            start: y0 - start,
            step: -step,
        };
        let along_x = axis == Axis::Row;
        let (along, across) = if along_x {
            (x(edges(left, columns, right)), y(middles(top, rows, bottom)))
        } else {
            (y(edges(top, rows, bottom)), x(middles(left, columns, right)))
        };
        Self {
            along_x,
            along,
            across,
        }
    }
}

impl GcodeProgram {
    /// Checks a scan. The first pixel of the raster is `at` of a canvas of so many columns and rows, in which the origin and the
    /// zones lie.
    ///
    /// # Errors
    /// As [`Program::new`]; where the side of a pixel is not known, or a setting has no meaning for one beam.
    pub fn new(
        gcode: &Gcode,
        scan: &Scan,
        tables: &Tables,
        raster: &Raster,
        canvas: (u64, u64),
        at: (u64, u64),
    ) -> Result<Self, Error> {
        let wrong = |setting, problem: &str| {
            Err(Error::Setting {
                setting,
                problem: problem.to_owned(),
            })
        };
        if scan.swath.is_some_and(|swath| swath.lines > 1) {
            return wrong(
                "swath",
                "G-code drives one beam, and a swath has several; leave it out",
            );
        }
        if scan.packing.polarity == Polarity::Inverted {
            return wrong(
                "polarity",
                "inverted power would be on wherever the head is blank; invert the samples by `map { invert }`",
            );
        }
        let Some(pixel) = raster.pixel else {
            return wrong(
                "gcode",
                "the side of a pixel is not known: give the canvas `pixel`",
            );
        };
        let Some(millimetres) = Decimals::new(pixel, scan.return_offset) else {
            return wrong(
                "gcode",
                "the side of a pixel has too many digits for exact places",
            );
        };
        let inside = |at: u64, side: u64, whole: u64| at.checked_add(side).is_some_and(|end| end <= whole);
        if !inside(at.0, raster.width, canvas.0) || !inside(at.1, raster.height, canvas.1) {
            return wrong("gcode", "the raster leaves its canvas");
        }
        let (_, halftone) = program::checked(scan, tables, raster.depth)?;
        let plain = Scan {
            halftone,
            swath: None,
            packing: Packing {
                bits: match raster.depth {
                    Depth::Eight => Bits::Eight,
                    Depth::Sixteen => Bits::Sixteen,
                },
                ..Packing::default()
            },
            run_length: false,
            // Places are moved, not samples: a part of a pixel is as good as a whole one.
            return_offset: 0,
            ..scan.clone()
        };
        let max = u64::from(raster.depth.max());
        let power = |v: u64| ((2 * v * u64::from(gcode.s_max) + max) / (2 * max)) as u32;
        Ok(Self {
            gcode: gcode.clone(),
            program: Program::new(&plain, tables, raster)?,
            frames: [Axis::Row, Axis::Column].map(|axis| {
                let size = (raster.width, raster.height);
                Frame::new((scan, axis), gcode.origin, canvas, at, size)
            }),
            millimetres,
            powers: (0..=max).map(power).collect(),
            top: at.1,
            offset: scan.return_offset.into(),
        })
    }

    /// The lines that are written.
    #[must_use]
    pub const fn program(&self) -> &Program {
        &self.program
    }

    /// The settings.
    #[must_use]
    pub const fn settings(&self) -> &Gcode {
        &self.gcode
    }

    /// The bytes that [`write`](Self::write) holds beside what computes the raster.
    #[must_use]
    pub fn memory(&self) -> u64 {
        let text = self.program.positions().saturating_mul(RUN);
        self.program
            .making_bytes(self.chunk())
            .saturating_add(text)
            .saturating_add(4 * self.powers.len() as u64)
    }

    fn chunk(&self) -> u64 {
        let bytes = self.program.encoding().most().max(1);
        (CHUNK / bytes).clamp(1, CHUNK_LINES).min(self.program.lines())
    }

    /// What stands before the first line: remarks, units, the laser at no power.
    #[must_use]
    pub fn header(&self, remarks: &[String], lines: &Range<u64>) -> Vec<u8> {
        let mut out = Vec::new();
        let mut say = |text: &str| {
            out.extend_from_slice(b"; ");
            // Controllers take some characters at once, wherever they stand.
            out.extend(text.chars().map(|c| match c {
                'a'..='z' | 'A'..='Z' | '0'..='9' | ' ' | '.' | ',' | '-' | '_' | '/' | ':' | '=' => c as u8,
                _ => b'_',
            }));
            out.push(b'\n');
        };
        for remark in remarks {
            say(remark);
        }
        say(&format!(
            "lines {} to {} of {}, {} {}",
            lines.start,
            lines.end.saturating_sub(1),
            self.program.lines(),
            self.program.passes(),
            if self.program.passes() == 1 {
                "pass"
            } else {
                "passes"
            }
        ));
        let laser = match self.gcode.laser {
            Laser::Dynamic => "M4",
            Laser::Constant => "M3",
        };
        out.extend_from_slice(format!("G21G90G94\n{laser}S0\n").as_bytes());
        out
    }

    /// What stands after the last line: the laser off, the end.
    #[must_use]
    pub fn trailer(&self) -> &'static [u8] {
        match self.gcode.dialect {
            Dialect::Grbl => b"M5\nM2\n",
            Dialect::FluidNc => b"M5\nM30\n",
        }
    }

    /// Writes lines, without [`header`](Self::header) and [`trailer`](Self::trailer), and tells each.
    ///
    /// # Errors
    /// Where there are no such lines, the raster cannot be computed or the writer fails.
    pub fn write(
        &self,
        source: &dyn Windows,
        lines: Range<u64>,
        out: &mut dyn Write,
        tell: &mut dyn FnMut(&GcodeLine),
        cancel: &Cancel,
    ) -> Result<(), Error> {
        let all = self.program.lines();
        if lines.start >= lines.end || lines.end > all {
            return Err(Error::Range {
                first: lines.start,
                end: lines.end,
                lines: all,
            });
        }
        let mut reader = Lines::new(&self.program, source, self.program.making_bytes(self.chunk()))?;
        let mut block = Block::default();
        let mut text = Vec::new();
        let mut line = GcodeLine::default();
        let mut head = None;
        let mut next = lines.start;
        while next < lines.end {
            let count = reader.most().min(self.chunk()).min(lines.end - next);
            reader.read(next, count, &mut block, cancel)?;
            for index in 0..count {
                let number = next + index;
                let Some(travel) = self.program.travel(number) else {
                    continue;
                };
                text.clear();
                (line.number, line.bytes) = (number, 0);
                line.ways.clear();
                line.rapids.clear();
                if self.program.passes() > 1 && (number == 0 || self.pass_before(number) != travel.pass) {
                    let _ = writeln!(text, "; pass {} of {}", travel.pass + 1, self.program.passes());
                }
                self.line(
                    &travel,
                    block.line(index as usize),
                    (&mut text, &mut line, &mut head),
                );
                line.bytes = text.len() as u64;
                out.write_all(&text).map_err(relief_engine::Error::Sink)?;
                tell(&line);
            }
            next += count;
        }
        Ok(())
    }

    fn pass_before(&self, number: u64) -> u32 {
        self.program.travel(number - 1).map_or(0, |travel| travel.pass)
    }

    /// The power of every pixel of a travel, as it runs.
    fn run_powers<'a>(&'a self, travel: &Travel, bytes: &'a [u8]) -> impl Fn(usize) -> u32 + 'a {
        let wide = self.program.raster().depth == Depth::Sixteen;
        let before = self.program.scan().overscan.0 as usize;
        let width = self.program.wide() as usize;
        let pixels = (travel.pixels.end - travel.pixels.start) as usize;
        // A stripe that ends beyond the raster is blank there: after its pixels, or before them on the way back.
        let first = before + if travel.backwards { width - pixels } else { 0 };
        move |pixel| {
            let place = first + pixel;
            let sample = if wide {
                bytes
                    .get(2 * place..2 * place + 2)
                    .map_or(0, |pair| u16::from_le_bytes([pair[0], pair[1]]))
            } else {
                bytes.get(place).copied().unwrap_or(0).into()
            };
            self.powers.get(usize::from(sample)).copied().unwrap_or(0)
        }
    }

    /// The feeds of the pixels of a travel as it runs: where each begins, as many as there are.
    fn run_feeds(&self, travel: &Travel) -> Vec<(usize, Length)> {
        let raster = self.program.raster();
        let size = (raster.width, raster.height);
        let (pixels, line) = (&travel.pixels, travel.lines.start);
        let symmetry = self.program.layout(travel.pass).symmetry;
        let row = |pixel: u64| {
            let window = symmetry.window(size, (pixel, pixel + 1), (line, line + 1));
            self.top + window.y().unsigned_abs()
        };
        let crosses = symmetry.swap && !self.gcode.zones.is_empty();
        if !crosses {
            return vec![(0, self.gcode.feed_of(row(pixels.start)))];
        }
        let mut feeds: Vec<(usize, Length)> = Vec::new();
        let count = pixels.end - pixels.start;
        for place in 0..count {
            let pixel = if travel.backwards {
                pixels.end - 1 - place
            } else {
                pixels.start + place
            };
            let feed = self.gcode.feed_of(row(pixel));
            if feeds.last().is_none_or(|last| last.1 != feed) {
                feeds.push((place as usize, feed));
            }
        }
        feeds
    }

    /// The parts of a travel that the head runs over with a feed.
    fn segments(&self, pixels: usize, power: &impl Fn(usize) -> u32) -> Vec<Range<usize>> {
        if self.gcode.sweep == Sweep::Full {
            return std::iter::once(0..pixels).collect();
        }
        let (before, after) = self.program.scan().overscan;
        // What is crossed without feed is at least as long as what the head needs to speed up.
        let gap = self.gcode.gap.map_or(u64::MAX, |gap| {
            gap.max(u64::from(before).saturating_add(u64::from(after)))
        });
        let mut segments: Vec<Range<usize>> = Vec::new();
        for pixel in (0..pixels).filter(|&pixel| power(pixel) > 0) {
            match segments.last_mut() {
                Some(last) if ((pixel - last.end) as u64) < gap => last.end = pixel + 1,
                _ => segments.push(pixel..pixel + 1),
            }
        }
        segments
    }

    /// Where a travel lies.
    fn course(&self, travel: &Travel) -> Course {
        let scan = self.program.scan();
        let crossed = scan.pass_axes == PassAxes::Alternate && travel.pass % 2 == 1;
        let frame = self.frames[usize::from((scan.axis == Axis::Column) != crossed)];
        let [start, end] = [travel.pixels.start, travel.pixels.end].map(u64::cast_signed);
        Course {
            along: frame.along,
            across: frame.across.at(travel.lines.start.cast_signed() * PARTS),
            along_x: frame.along_x,
            first: if travel.backwards { end } else { start },
            way: if travel.backwards { -1 } else { 1 },
            offset: if travel.backwards { self.offset } else { 0 },
        }
    }

    /// Writes one line: for each part that the head runs over G0 to where it begins, and its runs.
    fn line(
        &self,
        travel: &Travel,
        bytes: &[u8],
        (out, told, head): (&mut Vec<u8>, &mut GcodeLine, &mut Option<(i64, i64)>),
    ) {
        let power = self.run_powers(travel, bytes);
        let feeds = self.run_feeds(travel);
        let course = self.course(travel);
        let pixels = (travel.pixels.end - travel.pixels.start) as usize;
        let segments = self.segments(pixels, &power);
        let last = segments.len();
        let mut feed_said = None;
        for (number, segment) in segments.into_iter().enumerate() {
            let (from, runs) = self.runs(&course, &segment, &power, &feeds);
            out.extend_from_slice(b"G0");
            self.word(course.along_word(), from, out);
            if number == 0 {
                self.word(course.across_word(), course.across, out);
            }
            out.extend_from_slice(b"S0\nG1");
            let (mut at, mut power_said) = (from, 0);
            let ways = told.ways.len();
            for (index, run) in runs.0.iter().enumerate() {
                self.word(course.along_word(), run.end, out);
                if run.power != power_said {
                    let _ = write!(out, "S{}", run.power);
                }
                if feed_said != Some(run.feed) {
                    feed_word(run.feed, out);
                }
                (power_said, feed_said) = (run.power, Some(run.feed));
                if number + 1 == last && index + 1 == runs.0.len() {
                    let _ = write!(out, "; L{}", told.number);
                }
                out.push(b'\n');
                let length = self.millimetres.millimetres((run.end - at).abs());
                let speed = run.feed.to_metres() * 1_000.0 / 60.0;
                match told.ways[ways..].last_mut() {
                    Some(last) if last.1 == speed => last.0 += length,
                    _ => told.ways.push((length, speed)),
                }
                at = run.end;
            }
            if let Some((x, y)) = *head {
                let (to_x, to_y) = course.point(from);
                let millimetres = |parts| self.millimetres.millimetres(parts);
                told.rapids
                    .push(millimetres(to_x - x).hypot(millimetres(to_y - y)));
            }
            *head = Some(course.point(at));
        }
    }

    /// Where a part of a line begins with its overscan, and its runs.
    fn runs(
        &self,
        course: &Course,
        segment: &Range<usize>,
        power: &impl Fn(usize) -> u32,
        feeds: &[(usize, Length)],
    ) -> (i64, Runs) {
        let (before, after) = self.program.scan().overscan;
        let feed_at = |pixel: usize| {
            let index = feeds.partition_point(|(first, _)| *first <= pixel);
            feeds[index.max(1) - 1].1
        };
        let (first, end) = (segment.start as i64, segment.end as i64);
        let mut runs = Runs::default();
        if before > 0 {
            runs.add(course.edge(first), 0, feed_at(segment.start));
        }
        for pixel in segment.clone() {
            runs.add(course.edge(pixel as i64 + 1), power(pixel), feed_at(pixel));
        }
        if after > 0 {
            runs.add(course.edge(end + i64::from(after)), 0, feed_at(segment.end - 1));
        }
        (course.edge(first - i64::from(before)), runs)
    }

    fn word(&self, letter: u8, place: i64, out: &mut Vec<u8>) {
        out.push(letter);
        self.millimetres.write(place, out);
    }
}

/// Where a travel lies, as it runs; places are 256ths of a pixel of the machine's axes.
struct Course {
    along: Straight,
    across: i64,
    along_x: bool,
    /// The edge of the raster at which its pixels begin.
    first: i64,
    /// Edges to the next one: 1, or −1 backwards.
    way: i64,
    /// What it is moved by along its way.
    offset: i64,
}

impl Course {
    /// Edge `number` as it runs; below 0 and beyond the last in the overscan.
    const fn edge(&self, number: i64) -> i64 {
        self.along
            .at((self.first + self.way * number) * PARTS + self.way * self.offset)
    }

    const fn along_word(&self) -> u8 {
        if self.along_x { b'X' } else { b'Y' }
    }

    const fn across_word(&self) -> u8 {
        if self.along_x { b'Y' } else { b'X' }
    }

    /// x and y of a place along it.
    const fn point(&self, along: i64) -> (i64, i64) {
        if self.along_x {
            (along, self.across)
        } else {
            (self.across, along)
        }
    }
}

/// Runs of equal power and feed.
#[derive(Default)]
struct Runs(Vec<Run>);

struct Run {
    /// Where it ends, in 256ths of a pixel.
    end: i64,
    power: u32,
    feed: Length,
}

impl Runs {
    fn add(&mut self, end: i64, power: u32, feed: Length) {
        match self.0.last_mut() {
            Some(last) if last.power == power && last.feed == feed => last.end = end,
            _ => self.0.push(Run { end, power, feed }),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by a panic")]
mod tests {
    use super::*;

    fn written(pixel: Length, half_pixels: i64) -> String {
        let mut out = Vec::new();
        Decimals::new(pixel, 0)
            .unwrap()
            .write(128 * half_pixels, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn places_have_the_digits_that_a_pixel_needs() {
        let micrometres = |count: u64| Length::picometres(count * 1_000_000).unwrap();
        for (pixel, half_pixels, text) in [
            (micrometres(100), 1, "0.05"),
            (micrometres(100), -3, "-0.15"),
            (micrometres(100), 200, "10"),
            (micrometres(1), 2_001, "1.0005"),
            // A 1 200th of an inch is 0.0211666… mm: a hundredth of it are 4 digits.
            (Length::dpi(1_200).unwrap(), 1, "0.0106"),
            (Length::dpi(1_200).unwrap(), 2_400, "25.4"),
            (Length::dpi(1_200).unwrap(), -1, "-0.0106"),
            (Length::picometres(120_000).unwrap(), 1, "0.00006"),
            (Length::picometres(1).unwrap(), 3, "0.000000002"),
            (Length::metres(1, 1).unwrap(), 1 << 41, "1099511627776000"),
        ] {
            assert_eq!(written(pixel, half_pixels), text, "{pixel} {half_pixels}");
        }
        // The last of 10^9 pixels is as far as a thousand times the millionth.
        let inch = Length::dpi(1_200).unwrap();
        assert_eq!(written(inch, 2 * 1_200 * 1_000_000), "25400000");
    }
}
