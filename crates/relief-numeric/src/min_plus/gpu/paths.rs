//! Shortest paths between all pairs of vertices on a device: [`min_plus::paths`](crate::min_plus::paths) says what they are.
//!
//! **Blocked**: a round of [`BLOCK`] vertices is one small kernel and three products. The kernel keeps paths between the round's vertices in the
//! registers of one cube, a square of 8 × 8 for each unit, and exchanges a row and a column for each vertex. Two matrices take turns, because a
//! kernel does not write what others read.
//!
//! **By squaring**: products of paths with themselves, as many as there may have to be: to ask whether anything has changed would be to wait.

use cubecl::prelude::*;

use super::tiles::saturated;
use super::{Matrix, Size, lessen, min_plus};
use crate::element::Element;
use crate::min_plus::FAR;
use relief_kernels::copy::gpu::copy;
use relief_kernels::device::{Buffer, DeviceError, Gpu, Operand, launch};

/// Vertices of a round.
pub const BLOCK: u32 = 128;

/// Units of a side of the cube that finds paths between a round's vertices, and paths of a side of a unit.
const SIDE: u32 = 16;
const OWN: u32 = BLOCK / SIDE;

/// Words of scratch memory that [`shortest_paths`] takes.
#[must_use]
pub const fn scratch_words(vertices: u32) -> u64 {
    Parts::of(vertices).all
}

/// Where things lie in scratch memory; all of them begin at multiples of 64 words.
struct Parts {
    other: u64,
    square: u64,
    from: u64,
    to: u64,
    product: u64,
    all: u64,
}

impl Parts {
    const fn of(vertices: u32) -> Self {
        let row = pitch(vertices) as u64;
        let other = 0;
        // Sums of what no memory holds are saturated: of 2^32 vertices the first is nearly all that 64 bits count.
        let square = other + (vertices as u64 * row).next_multiple_of(64);
        let from = square.saturating_add((BLOCK * BLOCK) as u64);
        let to = from.saturating_add(BLOCK as u64 * row.next_multiple_of(64));
        let product = to.saturating_add(BLOCK as u64 * vertices as u64);
        // No product is larger than that of the whole matrix with itself.
        let whole = super::scratch_words(Size {
            rows: vertices,
            inner: vertices,
            columns: vertices,
        });
        Self {
            other,
            square,
            from,
            to,
            product,
            all: product.saturating_add(whole),
        }
    }
}

/// Words of a row of the other matrix.
const fn pitch(vertices: u32) -> u32 {
    vertices.div_ceil(4).saturating_mul(4)
}

/// How paths are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// Round by round.
    Blocks,
    /// By squaring.
    Squares,
}

/// Makes shortest paths of edges, `f32` or `i32`. The first word of `found` becomes a vertex on a cycle of negative length, or `u32::MAX` where
/// there is none; where there is one, `paths` mean nothing.
///
/// The pitch of `paths` is the least multiple of 4 that holds a row; `scratch` holds [`scratch_words`].
///
/// # Errors
/// Where the device fails, for other numbers, and where a buffer is too short.
pub fn shortest_paths(
    gpu: &Gpu,
    way: Way,
    element: Element,
    vertices: u32,
    paths: Matrix<'_>,
    found: &Buffer,
    scratch: &Buffer,
) -> Result<(), DeviceError> {
    let parts = Parts::of(vertices);
    let held = u64::from(vertices) * u64::from(paths.pitch);
    if !matches!(element, Element::F32 | Element::I32) {
        return Err(gpu.no_kind("shortest paths", "f32 or i32", element.name()));
    }
    gpu.matches(
        "words from row to row of the paths",
        pitch(vertices).into(),
        paths.pitch.into(),
    )?;
    gpu.holds("the paths", paths.buffer, held)?;
    gpu.at_most("words of the paths", u32::MAX, held)?;
    gpu.holds("scratch memory", scratch, parts.all)?;
    // All launches together.
    gpu.check_memory(&[
        Operand::update("the paths", paths.buffer),
        Operand::update("scratch memory", scratch),
        Operand::write("the vertex of a negative cycle", found),
    ])?;
    if vertices == 0 {
        return relief_kernels::copy::gpu::fill(gpu, found, 1, u32::MAX);
    }
    let part = |start, words| gpu.part("scratch memory", scratch, start, words);
    let other = part(parts.other, held)?;
    const fn of(buffer: &Buffer, pitch: u32) -> Matrix<'_> {
        Matrix { buffer, pitch }
    }
    let other = of(&other, paths.pitch);
    let rest = part(parts.product, parts.all - parts.product)?;
    begin(gpu, element, vertices, paths, other)?;
    // Which of both has the paths.
    let (mut now, mut next) = (other, paths);
    match way {
        Way::Blocks => {
            let square = part(parts.square, u64::from(BLOCK * BLOCK))?;
            let from = part(
                parts.from,
                u64::from(BLOCK) * u64::from(paths.pitch).next_multiple_of(64),
            )?;
            let to = part(parts.to, u64::from(BLOCK) * u64::from(vertices))?;
            let round = Round {
                element,
                vertices,
                square: of(&square, BLOCK),
                from: of(&from, paths.pitch),
                to: of(&to, BLOCK),
                scratch: &rest,
            };
            for first in (0..vertices).step_by(BLOCK as usize) {
                round.run(gpu, first, now, next)?;
                std::mem::swap(&mut now, &mut next);
            }
        }
        Way::Squares => {
            let size = Size {
                rows: vertices,
                inner: vertices,
                columns: vertices,
            };
            let mut edges = 1_u64;
            while edges < u64::from(vertices) {
                min_plus(gpu, element, size, now, now, next, &rest)?;
                std::mem::swap(&mut now, &mut next);
                edges *= 2;
            }
        }
    }
    if now.buffer.overlaps(other.buffer) {
        copy(gpu, now.buffer, paths.buffer, held as usize)?;
    }
    tell(gpu, element, vertices, paths, found)
}

/// What rounds share.
struct Round<'a> {
    element: Element,
    vertices: u32,
    square: Matrix<'a>,
    from: Matrix<'a>,
    to: Matrix<'a>,
    scratch: &'a Buffer,
}

impl Round<'_> {
    fn run(&self, gpu: &Gpu, first: u32, now: Matrix<'_>, next: Matrix<'_>) -> Result<(), DeviceError> {
        let Self {
            element, vertices, ..
        } = *self;
        let len = BLOCK.min(vertices - first);
        // Rows of the round's vertices, and columns.
        let rows = gpu.rest("the paths", now.buffer, u64::from(first) * u64::from(now.pitch))?;
        let columns = gpu.rest("the paths", now.buffer, first.into())?;
        let of = |buffer| Matrix {
            buffer,
            pitch: now.pitch,
        };
        let size = |rows, columns| Size {
            rows,
            inner: len,
            columns,
        };
        match element {
            Element::F32 => close::<f32>(gpu, true, len, first, of(&rows), self.square)?,
            _ => close::<i32>(gpu, false, len, first, of(&rows), self.square)?,
        }
        min_plus(
            gpu,
            element,
            size(len, vertices),
            self.square,
            of(&rows),
            self.from,
            self.scratch,
        )?;
        min_plus(
            gpu,
            element,
            size(vertices, len),
            of(&columns),
            self.square,
            self.to,
            self.scratch,
        )?;
        lessen(
            gpu,
            element,
            size(vertices, vertices),
            self.to,
            self.from,
            now,
            next,
            self.scratch,
        )
    }
}

/// Copies edges; paths of no edge are 0 at most.
fn begin(
    gpu: &Gpu,
    element: Element,
    vertices: u32,
    from: Matrix<'_>,
    to: Matrix<'_>,
) -> Result<(), DeviceError> {
    let float = element == Element::F32;
    let memory = [
        Operand::read("the edges", from.buffer),
        Operand::write("scratch memory", to.buffer),
    ];
    let cubes = CubeCount::Static(from.pitch.div_ceil(SIDE), vertices.div_ceil(SIDE), 1);
    // SAFETY: words are read and written where the row is less than `vertices` and the column less than the pitch, and both matrices hold
    // as many rows of it.
    launch!(
        gpu, "paths begin", &float, &memory, (cubes, CubeDim::new_2d(SIDE, SIDE)),
        unsafe copy_edges(from.buffer.array(1), to.buffer.array(1), vertices, from.pitch, float))
}

#[cube(launch_unchecked)]
fn copy_edges(from: &Array<u32>, to: &mut Array<u32>, vertices: u32, pitch: u32, #[comptime] float: bool) {
    let (x, y) = (ABSOLUTE_POS_X, ABSOLUTE_POS_Y);
    if y < vertices {
        if x < pitch {
            let mut word = from[(y * pitch + x) as usize];
            if x == y {
                word = no_more_than_zero(word, float);
            }
            to[(y * pitch + x) as usize] = word;
        }
    }
}

#[cube]
fn no_more_than_zero(word: u32, #[comptime] float: bool) -> u32 {
    if comptime!(float) {
        u32::reinterpret(min(f32::reinterpret(word), 0.0f32))
    } else {
        u32::reinterpret(min(i32::reinterpret(word), 0i32))
    }
}

/// Paths between `len` vertices from `first` on, whose rows are `rows`, into a square; `float` says whether lengths are floats.
fn close<T: Numeric>(
    gpu: &Gpu,
    float: bool,
    len: u32,
    first: u32,
    rows: Matrix<'_>,
    square: Matrix<'_>,
) -> Result<(), DeviceError> {
    let infinity = match float {
        true => f32::INFINITY.to_bits(),
        false => FAR.cast_unsigned(),
    };
    let memory = [
        Operand::read("the paths", rows.buffer),
        Operand::write("scratch memory", square.buffer),
    ];
    // SAFETY: words are read where row and column are less than `len`, of rows that begin in `rows`, as many as there are; the square
    // has as many words as units have paths, and places of shared memory are below two rows and columns of it.
    launch!(
        gpu, "paths close", &float, &memory, (CubeCount::Static(1, 1, 1), CubeDim::new_2d(SIDE, SIDE)),
        unsafe close_square<T, _>(
            rows.buffer.array(1), square.buffer.array(1), len, first, rows.pitch, infinity, float))
}

/// Floyd and Warshall's in the registers of a cube: unit (x, y) has the paths from vertices 8 y… to 8 x….
#[cube(launch_unchecked)]
fn close_square<T: Numeric>(
    from: &Array<u32>,
    to: &mut Array<u32>,
    len: u32,
    first: u32,
    pitch: u32,
    infinity: u32,
    #[comptime] float: bool,
) {
    // Two of each, so that one barrier a vertex does.
    let mut row = SharedMemory::<T>::new(comptime!((2 * BLOCK) as usize));
    let mut column = SharedMemory::<T>::new(comptime!((2 * BLOCK) as usize));
    let mut paths = Array::<T>::new(comptime!((OWN * OWN) as usize));
    #[unroll]
    for i in 0..OWN {
        #[unroll]
        for j in 0..OWN {
            let (y, x) = (UNIT_POS_Y * OWN + i, UNIT_POS_X * OWN + j);
            let mut word = infinity;
            if y < len {
                if x < len {
                    word = from[(y * pitch + first + x) as usize];
                }
            }
            paths[comptime!((i * OWN + j) as usize)] = operand::<T>(word, infinity, float);
        }
    }
    for group in 0..SIDE {
        #[unroll]
        for q in 0..OWN {
            let turn = comptime!(q % 2 * BLOCK);
            if UNIT_POS_Y == group {
                #[unroll]
                for j in 0..OWN {
                    row[(turn + UNIT_POS_X * OWN + j) as usize] = paths[comptime!((q * OWN + j) as usize)];
                }
            }
            if UNIT_POS_X == group {
                #[unroll]
                for i in 0..OWN {
                    column[(turn + UNIT_POS_Y * OWN + i) as usize] = paths[comptime!((i * OWN + q) as usize)];
                }
            }
            sync_cube();
            #[unroll]
            for i in 0..OWN {
                let to_vertex = column[(turn + UNIT_POS_Y * OWN + i) as usize];
                #[unroll]
                for j in 0..OWN {
                    let place = comptime!((i * OWN + j) as usize);
                    let sum = to_vertex + row[(turn + UNIT_POS_X * OWN + j) as usize];
                    paths[place] = operand::<T>(u32::reinterpret(min(sum, paths[place])), infinity, float);
                }
            }
        }
    }
    #[unroll]
    for i in 0..OWN {
        #[unroll]
        for j in 0..OWN {
            let (y, x) = (UNIT_POS_Y * OWN + i, UNIT_POS_X * OWN + j);
            let mut word = u32::reinterpret(paths[comptime!((i * OWN + j) as usize)]);
            if comptime!(!float) {
                word = u32::reinterpret(saturated(i32::reinterpret(word)));
            }
            to[(y * BLOCK + x) as usize] = word;
        }
    }
}

/// A length as what sums are made of.
#[cube]
fn operand<T: Numeric>(word: u32, infinity: u32, #[comptime] float: bool) -> T {
    if comptime!(float) {
        T::reinterpret(word)
    } else {
        T::reinterpret(min(saturated(i32::reinterpret(word)), i32::reinterpret(infinity)))
    }
}

/// Writes the first vertex whose path to itself is less than 0.
fn tell(
    gpu: &Gpu,
    element: Element,
    vertices: u32,
    paths: Matrix<'_>,
    found: &Buffer,
) -> Result<(), DeviceError> {
    let float = element == Element::F32;
    let memory = [
        Operand::read("the paths", paths.buffer),
        Operand::write("the vertex of a negative cycle", found),
    ];
    // SAFETY: words of the diagonal are read, of as many rows as there are; one word is written.
    launch!(
        gpu, "paths tell", &float, &memory, (CubeCount::Static(1, 1, 1), CubeDim::new_1d(LOOKING)),
        unsafe first_negative(paths.buffer.array(1), found.array(1), vertices, paths.pitch, float))
}

/// Units that look for negative cycles.
const LOOKING: u32 = 256;

#[cube(launch_unchecked)]
fn first_negative(
    paths: &Array<u32>,
    found: &mut Array<u32>,
    vertices: u32,
    pitch: u32,
    #[comptime] float: bool,
) {
    let mut all = SharedMemory::<u32>::new(LOOKING as usize);
    let mut least = u32::new(comptime!(u32::MAX as i64));
    let mut vertex = UNIT_POS;
    while vertex < vertices {
        let word = paths[(vertex * pitch + vertex) as usize];
        let mut negative = i32::reinterpret(word) < 0i32;
        if comptime!(float) {
            negative = f32::reinterpret(word) < 0.0f32;
        }
        if negative {
            least = min(least, vertex);
        }
        vertex += LOOKING;
    }
    all[UNIT_POS as usize] = least;
    sync_cube();
    if UNIT_POS == 0u32 {
        for unit in 0..LOOKING {
            least = min(least, all[unit as usize]);
        }
        found[0] = least;
    }
}
