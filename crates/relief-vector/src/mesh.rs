//! Meshes: triangles of an STL file, and where they lie above a raster.
//!
//! Format: <https://www.loc.gov/preservation/digital/formats/fdd/fdd000504.shtml> (STL), binary and ASCII. Of a file all solids are read;
//! normals, colours and names are not. Numbers of an ASCII file are taken as the nearest of 32 bits, as binary files have them.
//!
//! ```
//! use relief_vector::Limits;
//! use relief_vector::mesh::{Mesh, View};
//!
//! let text = "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 1\nvertex 4 0 1\nvertex 0 2 3\nendloop\nendfacet\nendsolid a\n";
//! let mesh = Mesh::read(text.as_bytes(), Limits::default())?;
//! assert_eq!(mesh.bounds(), Some([[0.0, 4.0], [0.0, 2.0], [1.0, 3.0]]));
//! // 10 pixels a unit, from the left and the back; heights 1 to 3 are the samples 0 to 255.
//! let view = View { scale: 10.0, left: 0.0, top: 2.0, low: 1.0, high: 3.0, max: 255 };
//! let solid = mesh.seen(&view)?;
//! assert_eq!(solid.points()[2], [0, 0, 255 << 16]);
//! # Ok::<(), relief_vector::mesh::Error>(())
//! ```

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use crate::flatten::nearest;
use crate::limits::{Limits, Memory, Refused};

/// The greatest x and y of a point above a raster, in 1/256 px: 2^26 px.
const MAX_PLACE: f64 = (1_u64 << 34) as f64;

/// The greatest height, in 2^-16 of a sample.
const MAX_HEIGHT: f64 = (1_u64 << 51) as f64;

/// The longest word of an ASCII file that is looked at.
const MAX_WORD: usize = 64;

/// Why a file is not read as a mesh, or a mesh is not seen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system failed to read.
    #[error("{0}")]
    Read(#[from] std::io::Error),
    /// A file of neither form.
    #[error(
        "it is neither a binary STL file, which has a header of 84 bytes, nor an ASCII one, which begins with `solid`"
    )]
    NoMesh,
    /// A binary file that ends within its triangles.
    #[error("it is cut short: it says that it has {said} triangles, and ends within number {found}")]
    Short {
        /// The number in the file.
        said: u32,
        /// Counted from 1.
        found: u64,
    },
    /// A binary file that goes on after its triangles.
    #[error("it says that it has {0} triangles, and goes on after them; write it anew by another program")]
    Long(u32),
    /// An ASCII file with a word that stands in the wrong place.
    #[error("line {line}: expected {expected}, found {found:?}")]
    Word {
        /// Counted from 1.
        line: u64,
        /// What may stand there.
        expected: &'static str,
        /// The word, shortened.
        found: String,
    },
    /// An ASCII file that ends within a solid.
    #[error("it is cut short: it ends within a triangle")]
    Open,
    /// A place that is no number.
    #[error("triangle {0} has a corner that is no number")]
    NoNumber(u64),
    /// More memory than the limits allow.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// More points or triangles than the limits allow.
    #[error("it has more than {0} corners or triangles; make one with fewer")]
    Large(u64),
    /// A point lies too far out.
    #[error("a point lies at ({0}, {1}) px, farther than 2^26 px from where it begins")]
    Far(f64, f64),
    /// A point is much higher than what samples stand for.
    #[error("a height of {0} lies too far beyond those that samples stand for")]
    High(f32),
}

impl Error {
    /// The limit that was passed, where one was.
    #[must_use]
    pub const fn refused(&self) -> Option<Refused> {
        match self {
            Self::Refused(refused) => Some(*refused),
            _ => None,
        }
    }
}

/// Triangles between points, in the unit of the file, z up.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    points: Vec<[f32; 3]>,
    triangles: Vec<[u32; 3]>,
}

/// Where a mesh lies above a raster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Pixels of a unit of the file.
    pub scale: f64,
    /// The x that lies at the left of the raster, and the y that lies at its top.
    pub left: f64,
    /// See `left`.
    pub top: f64,
    /// The z of the samples 0 and `max`.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// The greatest sample.
    pub max: u16,
}

/// Triangles above a raster: x to the right and y down in 1/256 px, z in 2^-16 of a sample, each rounded once, halves up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Solid {
    points: Arc<[[i64; 3]]>,
    triangles: Arc<[[u32; 3]]>,
}

impl Mesh {
    /// Reads an STL file. It is ASCII where it begins as one and holds nothing but text, else binary.
    ///
    /// # Errors
    /// Where it is none, is cut short, or has more points than `limits.points`, or triangles than `limits.items`.
    pub fn read(mut file: impl Read, limits: Limits) -> Result<Self, Error> {
        let mut start = Vec::new();
        file.by_ref().take(512).read_to_end(&mut start)?;
        // Some editors mark the begin of a text in UTF-8.
        if start.starts_with(&[0xEF, 0xBB, 0xBF]) {
            start.drain(..3);
        }
        let text = start.trim_ascii_start();
        let is_text = text.len() >= 5
            && text[..5].eq_ignore_ascii_case(b"solid")
            && start
                .iter()
                .all(|&byte| byte >= 0x20 || byte.is_ascii_whitespace());
        let mut builder = Builder {
            limits,
            memory: Memory::new(&limits),
            known: HashMap::new(),
            mesh: Self {
                points: Vec::new(),
                triangles: Vec::new(),
            },
        };
        let mut rest = start.as_slice().chain(file);
        if is_text {
            ascii(&mut rest, &mut builder)?;
        } else {
            binary(&mut rest, &mut builder)?;
        }
        Ok(builder.mesh)
    }

    /// The number of different points.
    #[must_use]
    pub fn points(&self) -> usize {
        self.points.len()
    }

    /// The number of triangles.
    #[must_use]
    pub fn triangles(&self) -> usize {
        self.triangles.len()
    }

    /// The least and the greatest x, y and z of its points; nothing where there are none.
    #[must_use]
    pub fn bounds(&self) -> Option<[[f64; 2]; 3]> {
        let mut points = self.points.iter();
        let first = points.next()?;
        let mut bounds = first.map(|v| [f64::from(v); 2]);
        for point in points {
            for ([least, greatest], &v) in bounds.iter_mut().zip(point) {
                *least = least.min(v.into());
                *greatest = greatest.max(v.into());
            }
        }
        Some(bounds)
    }

    /// The mesh as it lies above a raster.
    ///
    /// # Errors
    /// Where a point lies too far out, or too high.
    pub fn seen(&self, view: &View) -> Result<Solid, Error> {
        let per_height = f64::from(view.max) * 65_536.0 / (view.high - view.low);
        let point = |point: &[f32; 3]| {
            let [x, y, z] = point.map(f64::from);
            let (across, down) = ((x - view.left) * view.scale, (view.top - y) * view.scale);
            let height = (z - view.low) * per_height;
            let (x, y) = (across * 256.0, down * 256.0);
            // Not a number is not within either.
            let within = |v: f64, far: f64| v.abs() <= far;
            if !(within(x, MAX_PLACE) && within(y, MAX_PLACE)) {
                return Err(Error::Far(across, down));
            }
            if !within(height, MAX_HEIGHT) {
                return Err(Error::High(z as f32));
            }
            Ok([nearest(x), nearest(y), nearest(height)])
        };
        let points: Result<Arc<[_]>, Error> = self.points.iter().map(point).collect();
        Ok(Solid {
            points: points?,
            triangles: self.triangles.as_slice().into(),
        })
    }
}

impl Solid {
    /// The points.
    #[must_use]
    pub fn points(&self) -> &Arc<[[i64; 3]]> {
        &self.points
    }

    /// Which points the triangles lie between.
    #[must_use]
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// The pixels whose centres its points reach over, as (left, top, right, bottom): columns `left..right` and rows `top..bottom`. `None`
    /// where there are no points.
    #[must_use]
    pub fn pixels(&self) -> Option<(i64, i64, i64, i64)> {
        let places = self.points.iter().map(|&[x, y, _]| (x, y, x, y));
        let (left, top, right, bottom) =
            places.reduce(|a, b| (a.0.min(b.0), a.1.min(b.1), a.2.max(b.2), a.3.max(b.3)))?;
        // The first centre that is not before a place, and the last that is not after it.
        let first = |place: i64| (place + 127).div_euclid(256);
        let end = |place: i64| (place - 128).div_euclid(256) + 1;
        Some((first(left), first(top), end(right), end(bottom)))
    }

    /// The greatest x and y of its points, in 1/256 px; nothing where there are none.
    #[must_use]
    pub fn reach(&self) -> Option<(i64, i64)> {
        let places = self.points.iter().map(|&[x, y, _]| (x, y));
        places.reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)))
    }

    /// The greatest of its heights as a sample, of any depth; 0 where none is above it.
    #[must_use]
    pub fn greatest(&self) -> u16 {
        let height = self.points.iter().map(|point| point[2]).max().unwrap_or(0);
        ((height + (1 << 15)) >> 16).clamp(0, u16::MAX.into()) as u16
    }

    /// The bytes that it holds.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (size_of_val(&*self.points) + size_of_val(&*self.triangles)) as u64
    }
}

/// What a point takes in the map that knows it.
const KNOWN: u64 = 2 * (size_of::<([u32; 3], u32)>() as u64 + 1);

/// Gathers triangles; equal points become one.
struct Builder {
    limits: Limits,
    memory: Memory,
    known: HashMap<[u32; 3], u32>,
    mesh: Mesh,
}

impl Builder {
    fn triangle(&mut self, corners: [[f32; 3]; 3]) -> Result<(), Error> {
        let number = self.mesh.triangles.len() as u64 + 1;
        if number > self.limits.items.min(u32::MAX.into()) {
            return Err(Error::Large(self.limits.items));
        }
        let mut triangle = [0; 3];
        for (corner, place) in triangle.iter_mut().zip(corners) {
            if place.iter().any(|v| !v.is_finite()) {
                return Err(Error::NoNumber(number));
            }
            // Adding 0 makes one of both zeros.
            let key = place.map(|v| (v + 0.0).to_bits());
            let next = self.mesh.points.len();
            *corner = *self.known.entry(key).or_insert(next as u32);
            if *corner as usize == next {
                if next as u64 >= self.limits.points.min(u32::MAX.into()) {
                    return Err(Error::Large(self.limits.points));
                }
                self.memory.take(KNOWN)?;
                self.memory.push(&mut self.mesh.points, place)?;
            }
        }
        Ok(self.memory.push(&mut self.mesh.triangles, triangle)?)
    }
}

/// Fills a buffer as far as the file goes.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> Result<usize, Error> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(filled)
}

fn binary(file: &mut impl Read, builder: &mut Builder) -> Result<(), Error> {
    let mut header = [0; 84];
    if fill(file, &mut header)? < header.len() {
        return Err(Error::NoMesh);
    }
    let said = u32::from_le_bytes([header[80], header[81], header[82], header[83]]);
    if u64::from(said) > builder.limits.items {
        return Err(Error::Large(builder.limits.items));
    }
    let mut record = [0; 50];
    for number in 1..=u64::from(said) {
        if fill(file, &mut record)? < record.len() {
            return Err(Error::Short { said, found: number });
        }
        let coordinate = |at: usize| {
            let bytes = [record[at], record[at + 1], record[at + 2], record[at + 3]];
            f32::from_le_bytes(bytes)
        };
        // After a normal of three numbers.
        builder.triangle([12, 24, 36].map(|at| [0, 4, 8].map(|axis| coordinate(at + axis))))?;
    }
    if fill(file, &mut record[..1])? > 0 {
        return Err(Error::Long(said));
    }
    Ok(())
}

/// Words of a text, one by one.
struct Words<'r, R> {
    file: &'r mut R,
    buffer: Vec<u8>,
    place: usize,
    line: u64,
    /// The word at hand, in small letters, as far as it is looked at.
    word: Vec<u8>,
}

impl<R: Read> Words<'_, R> {
    fn byte(&mut self) -> Result<Option<u8>, Error> {
        if self.place == self.buffer.len() {
            self.buffer.resize(1 << 16, 0);
            let filled = fill(self.file, &mut self.buffer)?;
            self.buffer.truncate(filled);
            self.place = 0;
            if filled == 0 {
                return Ok(None);
            }
        }
        let byte = self.buffer[self.place];
        self.place += 1;
        self.line += u64::from(byte == b'\n');
        Ok(Some(byte))
    }

    /// The next word; false at the end of the file.
    fn next(&mut self) -> Result<bool, Error> {
        self.word.clear();
        while let Some(byte) = self.byte()? {
            if !byte.is_ascii_whitespace() {
                if self.word.len() < MAX_WORD {
                    self.word.push(byte.to_ascii_lowercase());
                }
            } else if !self.word.is_empty() {
                // It is read again, so that a line ends where it does.
                self.place -= 1;
                self.line -= u64::from(byte == b'\n');
                break;
            }
        }
        Ok(!self.word.is_empty())
    }

    fn skip_line(&mut self) -> Result<(), Error> {
        while let Some(byte) = self.byte()? {
            if byte == b'\n' {
                break;
            }
        }
        Ok(())
    }

    fn wrong(&self, expected: &'static str) -> Error {
        Error::Word {
            line: self.line,
            expected,
            found: String::from_utf8_lossy(&self.word).into_owned(),
        }
    }

    fn expect(&mut self, word: &'static str) -> Result<(), Error> {
        if !self.next()? {
            return Err(Error::Open);
        }
        if self.word == word.as_bytes() {
            Ok(())
        } else {
            Err(self.wrong(word))
        }
    }

    fn number(&mut self) -> Result<f32, Error> {
        if !self.next()? {
            return Err(Error::Open);
        }
        let number = std::str::from_utf8(&self.word)
            .ok()
            .and_then(|word| word.parse().ok());
        number
            .filter(|_| self.word.len() < MAX_WORD)
            .ok_or_else(|| self.wrong("a number"))
    }

    fn numbers(&mut self) -> Result<[f32; 3], Error> {
        Ok([self.number()?, self.number()?, self.number()?])
    }
}

fn ascii(file: &mut impl Read, builder: &mut Builder) -> Result<(), Error> {
    let mut words = Words {
        file,
        buffer: Vec::new(),
        place: 0,
        line: 1,
        word: Vec::new(),
    };
    while words.next()? {
        match words.word.as_slice() {
            // A name follows, of any words.
            b"solid" | b"endsolid" => words.skip_line()?,
            b"facet" => {
                words.expect("normal")?;
                words.numbers()?;
                words.expect("outer")?;
                words.expect("loop")?;
                let mut corners = [[0.0; 3]; 3];
                for corner in &mut corners {
                    words.expect("vertex")?;
                    *corner = words.numbers()?;
                }
                words.expect("endloop")?;
                words.expect("endfacet")?;
                builder.triangle(corners)?;
            }
            _ => return Err(words.wrong("facet, solid or endsolid")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        bytes: 1 << 20,
        points: 20,
        items: 10,
        depth: 1,
        memory: u64::MAX,
    };

    fn binary_file(said: u32, triangles: &[[[f32; 3]; 3]]) -> Vec<u8> {
        // Some programs begin the header of a binary file as an ASCII one.
        let mut file = b"solid made by a program".to_vec();
        file.resize(80, 0);
        file.extend(said.to_le_bytes());
        for triangle in triangles {
            file.extend([0; 12]);
            file.extend(
                triangle
                    .as_flattened()
                    .iter()
                    .flat_map(|number| number.to_le_bytes()),
            );
            file.extend([1, 2]);
        }
        file
    }

    fn message(bytes: &[u8]) -> String {
        Mesh::read(bytes, LIMITS).unwrap_err().to_string()
    }

    const TWO: [[[f32; 3]; 3]; 2] = [
        [[0.0, 0.0, 1.0], [4.0, 0.0, 1.5], [0.0, 2.5, 3.0]],
        [[4.0, 0.0, 1.5], [0.0, 2.5, 3.0], [4.0, 2.5, -1e-3]],
    ];

    #[test]
    fn both_forms_of_a_file_are_the_same_mesh_and_equal_points_are_one() {
        let binary = Mesh::read(&*binary_file(2, &TWO), LIMITS).unwrap();
        assert_eq!((binary.points(), binary.triangles()), (4, 2));
        assert_eq!(
            binary.bounds(),
            Some([[0.0, 4.0], [0.0, 2.5], [f64::from(-1e-3_f32), 3.0]])
        );
        let text = "\n  SOLID \u{e9}t\u{e9} facet\r\nfacet normal 0 0 1 outer loop\tvertex 0 0 1\nvertex 4 -0 1.5\n\
                    vertex 0 25e-1 3 endloop endfacet\nendsolid\nsolid\nfacet normal nan 0 1\nouter loop\nvertex +4.0 0 1.5\n\
                    Vertex 0 2.5 3.0\nvertex 4 2.5 -.001\nendloop\nendfacet\nendsolid and so on";
        assert_eq!(Mesh::read(text.as_bytes(), LIMITS).unwrap(), binary);
        let marked = format!("\u{feff}{text}");
        assert_eq!(Mesh::read(marked.as_bytes(), LIMITS).unwrap(), binary);
    }

    #[test]
    fn a_mesh_is_rounded_once_where_it_is_seen() {
        let mesh = Mesh::read(&*binary_file(2, &TWO), LIMITS).unwrap();
        let view = View {
            scale: 3.0,
            left: -0.5,
            top: 2.5,
            low: 1.0,
            high: 3.0,
            max: 255,
        };
        let solid = mesh.seen(&view).unwrap();
        // x from −½, y from 2½ down, 3 px a unit.
        let places: Vec<[i64; 2]> = solid.points().iter().map(|&[x, y, _]| [x, y]).collect();
        assert_eq!(places, [[384, 1_920], [3_456, 1_920], [384, 0], [3_456, 0]]);
        assert_eq!(solid.points()[1][2], 255 * 65_536 / 4);
        assert_eq!((solid.pixels(), solid.greatest()), (Some((1, 0, 14, 8)), 255));
        assert_eq!(solid.reach(), Some((3_456, 1_920)));
        let far = View { scale: 1e9, ..view };
        assert!(matches!(mesh.seen(&far), Err(Error::Far(..))));
        let high = View {
            high: 1.0 + 1e-12,
            ..view
        };
        assert!(matches!(mesh.seen(&high), Err(Error::High(_))));
    }

    #[test]
    fn files_that_are_cut_or_lie_are_refused_by_what_is_wrong() {
        let whole = binary_file(2, &TWO);
        for (bytes, part) in [
            (&whole[..whole.len() - 1], "ends within number 2"),
            (&whole[..100], "ends within number 1"),
            (&whole[..83], "header of 84 bytes"),
            (&[&whole[..], &[0]].concat(), "goes on after them"),
            (&binary_file(11, &[]), "more than 10"),
            (&binary_file(u32::MAX, &[]), "more than 10"),
            (&binary_file(1, &[[[0.0; 3], [f32::NAN; 3], [1.0; 3]]]), "triangle 1"),
            (&binary_file(1, &[[[f32::INFINITY; 3], [0.0; 3], [1.0; 3]]]), "no number"),
            (b"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 zero", "line 4: expected a number, found \"zero\""),
            (b"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0", "ends within a triangle"),
            (b"solid a\nvertex 0 0 0", "line 2: expected facet, solid or endsolid"),
            (
                b"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nendloop",
                "line 6: expected vertex, found \"endloop\"",
            ),
            (b"solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 1e99\nvertex 1 0 0\nvertex 1 1 0\nendloop\nendfacet", "triangle 1"),
        ] {
            let message = message(bytes);
            assert!(message.contains(part), "{message} does not say {part}");
        }
        let many: Vec<[[f32; 3]; 3]> = (0..10)
            .map(|n| [0.0, 0.25, 0.5].map(|part| [n as f32 + part; 3]))
            .collect();
        assert!(message(&binary_file(10, &many)).contains("more than 20 corners"));
        let eleven =
            "facet normal 0 0 1 outer loop vertex 0 0 0 vertex 1 0 0 vertex 0 1 0 endloop endfacet\n"
                .repeat(11);
        assert!(message(format!("solid\n{eleven}").as_bytes()).contains("more than 10"));
    }
}
