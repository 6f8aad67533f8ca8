//! STL: the raster as a closed solid, its samples as heights over a base, in millimetres.
//!
//! The number of triangles follows from the size of the raster, so that the file streams, in the memory of two rows.
//!
//! Every edge is that of two triangles, which run along it in opposite directions: between samples, down the walls, and on the
//! floor, whose outermost strips have a point below each sample of the border.
//!
//! Format: <https://www.loc.gov/preservation/digital/formats/fdd/fdd000506.shtml> (binary STL).

use std::io::{self, Write};

use relief_engine::sink::{Raster, Samples};

use super::SinkError;
use super::bit_rows::cut;
use super::file::Encoding;
use super::format::{self, Format};
use super::output::Output;

/// How high a solid is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heights {
    /// The height of the greatest sample over that of 0, in picometres.
    pub amplitude: u64,
    /// What lies below the samples of 0, in picometres; at least 1.
    pub base: u64,
}

#[derive(Debug)]
pub(super) struct Stl {
    heights: Option<Heights>,
    raster: Option<Raster>,
    /// The rows before and at the one that comes, as far as it has come.
    above: Vec<u16>,
    row: Vec<u16>,
    /// The number of the row that comes.
    number: u64,
}

impl Stl {
    pub(super) const fn new(heights: Option<Heights>) -> Self {
        Self {
            heights,
            raster: None,
            above: Vec::new(),
            row: Vec::new(),
            number: 0,
        }
    }
}

/// A point, in millimetres.
type Point = [f32; 3];

/// The triangles of a raster: of its surface, its walls and its floor.
fn triangles(width: u64, height: u64) -> u128 {
    let (across, down) = (u128::from(width) - 1, u128::from(height) - 1);
    let floor = if down == 1 {
        2 * across
    } else {
        2 * (across + 1) + 2 * (down - 2)
    };
    2 * across * down + 4 * (across + down) + floor
}

/// Whether a solid of a raster can be written.
pub(super) fn check(raster: &Raster, heights: Option<Heights>) -> Result<(), SinkError> {
    let refused = |problem: &str| {
        Err(SinkError::Solid {
            problem: problem.to_owned(),
        })
    };
    match heights {
        None => return refused("the height of the greatest sample is not known"),
        Some(Heights { base: 0, .. }) => {
            return refused("its base must be thicker than 0, or it is not closed");
        }
        Some(_) => {}
    }
    if raster.pixel.is_none() {
        return refused("the side of a pixel is not known: give the canvas `pixel`");
    }
    if raster.width < 2 || raster.height < 2 {
        return refused("the raster needs at least 2 columns and 2 rows");
    }
    let count = triangles(raster.width, raster.height);
    if count > u128::from(u32::MAX) {
        return Err(SinkError::TooLong {
            format: Format::Stl,
            bytes: 84 + 50 * count,
            limit: 84 + 50 * u64::from(u32::MAX),
            others: format::holding(raster, &[Format::Tiff, Format::Zarr]),
        });
    }
    Ok(())
}

/// Where samples are in space.
#[derive(Clone, Copy)]
struct Space {
    /// Millimetres of a pixel, of a level, and of the base.
    pixel: f64,
    level: f64,
    base: f64,
    /// The last row.
    last: u64,
}

impl Space {
    /// A sample; rows run from the back to the front.
    fn top(&self, x: u64, row: u64, sample: u16) -> Point {
        let z = self.base + f64::from(sample) * self.level;
        [
            (x as f64 * self.pixel) as f32,
            ((self.last - row) as f64 * self.pixel) as f32,
            z as f32,
        ]
    }

    /// The point of the floor below a sample.
    fn floor(&self, x: u64, row: u64) -> Point {
        let [x, y, _] = self.top(x, row, 0);
        [x, y, 0.0]
    }
}

/// Writes a triangle, which runs against the clock seen from outside.
fn triangle(output: &mut Output, [a, b, c]: [Point; 3]) -> io::Result<()> {
    let edge = |to: Point| [to[0] - a[0], to[1] - a[1], to[2] - a[2]];
    let (u, v) = (edge(b), edge(c));
    let normal = [
        u[1] * v[2] - u[2] * v[1],
        u[2] * v[0] - u[0] * v[2],
        u[0] * v[1] - u[1] * v[0],
    ];
    let length = (normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]).sqrt();
    let unit = normal.map(|side| if length > 0.0 { side / length } else { 0.0 });
    let mut bytes = [0; 50];
    let numbers = [unit, a, b, c].into_iter().flatten();
    for (to, number) in bytes.chunks_exact_mut(4).zip(numbers) {
        to.copy_from_slice(&number.to_le_bytes());
    }
    output.write_all(&bytes)
}

/// Two triangles of four corners, which run against the clock seen from outside.
fn quad(output: &mut Output, [a, b, c, d]: [Point; 4]) -> io::Result<()> {
    triangle(output, [a, b, c])?;
    triangle(output, [a, c, d])
}

/// Everything between a row and the one before it.
fn strip(space: Space, number: u64, (above, row): (&[u16], &[u16]), output: &mut Output) -> io::Result<()> {
    let (j, k) = (number - 1, number);
    let end = above.len() as u64 - 1;
    let back = |x: u64| space.top(x, j, above[x as usize]);
    let front = |x: u64| space.top(x, k, row[x as usize]);
    for x in 0..end {
        quad(output, [back(x), front(x), front(x + 1), back(x + 1)])?;
    }
    quad(output, [front(0), back(0), space.floor(0, j), space.floor(0, k)])?;
    quad(
        output,
        [back(end), front(end), space.floor(end, k), space.floor(end, j)],
    )?;
    let (is_first, is_last) = (j == 0, k == space.last);
    if is_first {
        for x in 0..end {
            quad(
                output,
                [back(x), back(x + 1), space.floor(x + 1, j), space.floor(x, j)],
            )?;
        }
    }
    if is_last {
        for x in 0..end {
            quad(
                output,
                [front(x + 1), front(x), space.floor(x, k), space.floor(x + 1, k)],
            )?;
        }
    }
    // The floor, seen from below: along the back, then the front the other way.
    let corners = [
        space.floor(0, j),
        space.floor(end, j),
        space.floor(end, k),
        space.floor(0, k),
    ];
    match (is_first, is_last) {
        (false, false) => quad(output, corners),
        (true, true) => (0..end).try_for_each(|x| {
            quad(
                output,
                [
                    space.floor(x, j),
                    space.floor(x + 1, j),
                    space.floor(x + 1, k),
                    space.floor(x, k),
                ],
            )
        }),
        (true, false) => {
            for x in 0..end {
                triangle(output, [space.floor(x, j), space.floor(x + 1, j), corners[3]])?;
            }
            triangle(output, [corners[1], corners[2], corners[3]])
        }
        (false, true) => {
            for x in 0..end {
                triangle(output, [corners[0], space.floor(x + 1, k), space.floor(x, k)])?;
            }
            triangle(output, [corners[0], corners[1], corners[2]])
        }
    }
}

impl Encoding for Stl {
    fn memory(&self, raster: &Raster) -> u64 {
        raster.width.saturating_mul(4)
    }

    fn bytes(&self, raster: &Raster) -> Option<u128> {
        // Each has a normal, three corners and a number of 16 bits.
        Some(84 + 50 * triangles(raster.width.max(2), raster.height.max(2)))
    }

    fn header(&mut self, raster: &Raster, output: &mut Output) -> io::Result<()> {
        check(raster, self.heights)?;
        let count = u32::try_from(triangles(raster.width, raster.height)).map_err(io::Error::other)?;
        let mut head = [b' '; 84];
        // A file that began with "solid" would be taken for text.
        head[..36].copy_from_slice(b"Relief, binary STL, millimetres     ");
        head[80..].copy_from_slice(&count.to_le_bytes());
        output.write_all(&head)?;
        self.raster = Some(*raster);
        Ok(())
    }

    fn samples(&mut self, samples: Samples<'_>, output: &mut Output) -> io::Result<()> {
        let (Some(raster), Some(heights)) = (self.raster, self.heights) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        const MILLIMETRE: f64 = 1e9;
        let space = Space {
            pixel: raster.pixel.map_or(0.0, |pixel| {
                let (above, below) = pixel.terms();
                (u128::from(above) * 1_000) as f64 / below as f64
            }),
            level: heights.amplitude as f64 / f64::from(raster.depth.max()) / MILLIMETRE,
            base: heights.base as f64 / MILLIMETRE,
            last: raster.height - 1,
        };
        let width = usize::try_from(raster.width).unwrap_or(usize::MAX);
        let mut from = 0;
        while from < samples.len() {
            let end = samples.len().min(from + width - self.row.len());
            match cut(samples, from, end) {
                Samples::Eight(samples) => self.row.extend(samples.iter().map(|&v| u16::from(v))),
                Samples::Sixteen(samples) => self.row.extend_from_slice(samples),
            }
            from = end;
            if self.row.len() == width {
                if self.number > 0 {
                    strip(space, self.number, (&self.above, &self.row), output)?;
                }
                self.number += 1;
                std::mem::swap(&mut self.above, &mut self.row);
                self.row.clear();
            }
        }
        Ok(())
    }

    fn trailer(&mut self, _: &mut Output) -> io::Result<()> {
        Ok(())
    }
}
