//! Shortest paths between all pairs of vertices, on the CPU.
//!
//! Edges are a square matrix of lengths from row to column, [`Length::INFINITY`] where there is none; they may be negative. Paths of no edge
//! count: nothing on the diagonal is more than 0.
//!
//! **Blocked** (Floyd and Warshall, in blocks after Venkataraman, Sahni and Mukhopadhyaya, 2003): round by round, paths may go through [`BLOCK`] more
//! vertices. First those between these vertices are found, one vertex after the other; then those from them to all others, those to them, and
//! those that only pass, all three min-plus products. So n³ steps at the speed of the product.
//!
//! **By squaring**: the product of paths of at most k edges with themselves is the paths of at most 2 k. ⌈log₂ n⌉ products of n³ steps, but fewer where
//! no path has many edges: it ends when nothing changes.
//!
//! **Negative cycles.** Where there is one, there is no shortest path for some pairs. Then a path from a vertex to itself is shorter than
//! none, which is an error.

use super::cpu::{INNER, LEFT_LEN, lessen_packed, min_plus, min_plus_packed, pack_block, packed_len};
use super::{Length, cpu};
use crate::matrix::{Matrix, MatrixMut, ShapeError};
use relief_kernels::isa::{Isa, versions};

/// Vertices of a round.
pub const BLOCK: usize = INNER;

/// Why there are no shortest paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathsError {
    /// Memory does not hold what it should.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The lengths of a cycle add up to less than 0.
    #[error("vertex {vertex} lies on a cycle of negative length")]
    NegativeCycle {
        /// The first such vertex.
        vertex: usize,
    },
}

/// Numbers of scratch memory that [`begin_round`] takes.
#[must_use]
pub const fn round_len<T: Length>(vertices: usize) -> usize {
    packed_len::<T>(BLOCK, vertices).saturating_add(packed_len::<T>(BLOCK, BLOCK) + BLOCK * BLOCK + LEFT_LEN)
}

/// Numbers of scratch memory that [`Round::take`] takes for so many rows.
#[must_use]
pub const fn rows_len(rows: usize) -> usize {
    rows.saturating_mul(2 * BLOCK).saturating_add(LEFT_LEN)
}

/// Numbers of scratch memory that [`shortest_paths`] takes.
#[must_use]
pub const fn scratch_len<T: Length>(vertices: usize) -> usize {
    round_len::<T>(vertices).saturating_add(rows_len(vertices))
}

/// Makes shortest paths of edges, by one thread: `vertices` rows, `pitch` numbers apart.
///
/// # Errors
/// Where memory does not hold what it should, and where there is a negative cycle: then `paths` mean nothing.
pub fn shortest_paths<T: Length>(
    paths: &mut [T],
    vertices: usize,
    pitch: usize,
    scratch: &mut [T],
) -> Result<(), PathsError> {
    ShapeError::unless_enough(scratch_len::<T>(vertices), scratch.len())?;
    let (of_round, of_rows) = scratch.split_at_mut(round_len::<T>(vertices));
    for round in 0..vertices.div_ceil(BLOCK) {
        let round = begin_round(paths, vertices, pitch, round, of_round)?;
        round.take(paths, vertices, pitch, of_rows)?;
    }
    negative_cycle(paths, vertices, pitch)
}

/// Nothing where no path from a vertex to itself is shorter than none.
///
/// # Errors
/// Where there is one; and where there are not as many numbers.
pub fn negative_cycle<T: Length>(paths: &[T], vertices: usize, pitch: usize) -> Result<(), PathsError> {
    let paths = Matrix::new(paths, vertices, vertices, pitch)?;
    let negative = |vertex: &usize| paths.row(*vertex)[*vertex] < T::ZERO;
    match (0..vertices).find(negative) {
        Some(vertex) => Err(PathsError::NegativeCycle { vertex }),
        None => Ok(()),
    }
}

/// What all rows of a round need: paths between its vertices, and those from them to all others.
#[derive(Debug)]
pub struct Round<'s, T> {
    first: usize,
    len: usize,
    vertices: usize,
    between: &'s [T],
    from: &'s [T],
}

/// Begins a round: shortens paths between its vertices and those from them; the number of rounds is that of [`BLOCK`]s. Then all rows have to be
/// [taken](Round::take), by as many threads as there are, before the next round begins.
///
/// # Errors
/// Where memory does not hold what it should.
pub fn begin_round<'s, T: Length>(
    paths: &mut [T],
    vertices: usize,
    pitch: usize,
    round: usize,
    scratch: &'s mut [T],
) -> Result<Round<'s, T>, ShapeError> {
    ShapeError::unless_enough(round_len::<T>(vertices), scratch.len())?;
    // A round past the last has no vertices.
    let first = round.saturating_mul(BLOCK).min(vertices);
    let len = BLOCK.min(vertices.saturating_sub(first));
    let mut own = MatrixMut::new(paths, vertices, vertices, pitch)?;
    for vertex in first..first + len {
        of_no_edge(own.row(vertex), vertex);
    }
    let view = Matrix::new(paths, vertices, vertices, pitch)?;
    let (square, rest) = scratch.split_at_mut(BLOCK * BLOCK);
    let (left, rest) = rest.split_at_mut(LEFT_LEN);
    let (between, from) = rest.split_at_mut(packed_len::<T>(BLOCK, BLOCK));
    let square = &mut square[..len * len];
    let between = &mut between[..packed_len::<T>(len, len)];
    let from = &mut from[..packed_len::<T>(len, vertices)];
    for (i, row) in square.chunks_exact_mut(len.max(1)).enumerate() {
        row.copy_from_slice(&view.row(first + i)[first..first + len]);
    }
    close(Isa::best(), square, len);
    pack_block(view.rows_of(first..first + len), from)?;
    let square = Matrix::new(square, len, len, len)?;
    pack_block(square, between)?;
    if len > 0 {
        let rows = MatrixMut::new(&mut paths[first * pitch..], len, vertices, pitch)?;
        lessen_packed(square, from, rows, left)?;
        let view = Matrix::new(paths, vertices, vertices, pitch)?;
        pack_block(view.rows_of(first..first + len), from)?;
    }
    Ok(Round {
        first,
        len,
        vertices,
        between,
        from,
    })
}

impl<T: Length> Round<'_, T> {
    /// Shortens paths of some rows by way of the round's vertices.
    ///
    /// # Errors
    /// Where memory does not hold `rows` rows, or is less than [`rows_len`].
    pub fn take(
        &self,
        paths: &mut [T],
        rows: usize,
        pitch: usize,
        scratch: &mut [T],
    ) -> Result<(), ShapeError> {
        ShapeError::unless_enough(rows_len(rows), scratch.len())?;
        let (left, rest) = scratch.split_at_mut(LEFT_LEN);
        let (old, new) = rest.split_at_mut(rows * BLOCK);
        let (old, new) = (&mut old[..rows * self.len], &mut new[..rows * self.len]);
        let view = Matrix::new(paths, rows, self.vertices, pitch)?;
        for (i, row) in old.chunks_exact_mut(self.len.max(1)).enumerate() {
            row.copy_from_slice(&view.row(i)[self.first..self.first + self.len]);
        }
        // To the round's vertices; then by way of them.
        let old = Matrix::new(old, rows, self.len, self.len)?;
        min_plus_packed(
            old,
            self.between,
            MatrixMut::new(new, rows, self.len, self.len)?,
            left,
        )?;
        let new = Matrix::new(new, rows, self.len, self.len)?;
        lessen_packed(
            new,
            self.from,
            MatrixMut::new(paths, rows, self.vertices, pitch)?,
            left,
        )
    }
}

/// The path of no edge from a vertex to itself, where there is no shorter one.
fn of_no_edge<T: Length>(row: &mut [T], vertex: usize) {
    let length = row[vertex];
    row[vertex] = if length < T::ZERO { length } else { T::ZERO };
}

versions! {
    /// Shortest paths within a square, one vertex after the other.
    fn close<T: Length>(square: &mut [T], len: usize) {
        for vertex in 0..len {
            let (before, rest) = square.split_at_mut(vertex * len);
            let (row, after) = rest.split_at_mut(len);
            for other in before.chunks_exact_mut(len).chain(after.chunks_exact_mut(len)) {
                let to = other[vertex].operand();
                for (path, from) in other.iter_mut().zip(&*row) {
                    let sum = to.plus(from.operand()).result();
                    *path = if sum < *path { sum } else { *path };
                }
            }
        }
    }
}

/// Numbers of scratch memory that [`shortest_paths_by_squaring`] takes.
#[must_use]
pub const fn squaring_len<T: Length>(vertices: usize) -> usize {
    cpu::scratch_len::<T>(vertices, vertices).saturating_add(vertices.saturating_mul(vertices))
}

/// [`shortest_paths`], by squaring.
///
/// # Errors
/// As [`shortest_paths`].
pub fn shortest_paths_by_squaring<T: Length>(
    paths: &mut [T],
    vertices: usize,
    pitch: usize,
    scratch: &mut [T],
) -> Result<(), PathsError> {
    ShapeError::unless_enough(squaring_len::<T>(vertices), scratch.len())?;
    let mut own = MatrixMut::new(paths, vertices, vertices, pitch)?;
    for vertex in 0..vertices {
        of_no_edge(own.row(vertex), vertex);
    }
    let (squares, rest) = scratch.split_at_mut(vertices * vertices);
    // Paths of at most so many edges.
    let mut edges = 1;
    while edges < vertices {
        let view = Matrix::new(paths, vertices, vertices, pitch)?;
        let square = MatrixMut::new(squares, vertices, vertices, vertices)?;
        min_plus(view, view, square, rest)?;
        let mut changed = false;
        let mut own = MatrixMut::new(paths, vertices, vertices, pitch)?;
        for (row, square) in squares.chunks_exact(vertices).enumerate() {
            changed |= own.row(row) != square;
            own.row(row).copy_from_slice(square);
        }
        negative_cycle(paths, vertices, pitch)?;
        if !changed {
            break;
        }
        edges *= 2;
    }
    negative_cycle(paths, vertices, pitch)
}
