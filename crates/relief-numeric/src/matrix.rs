//! Matrices in memory, as the products of matrices and vectors take them: row after row, each from a multiple of a pitch on.
//!
//! ```
//! use relief_numeric::matrix::Matrix;
//!
//! // Two rows of three numbers, four apart.
//! let values = [1, 2, 3, 0, 4, 5, 6];
//! let matrix = Matrix::new(&values, 2, 3, 4)?;
//! assert_eq!(matrix.row(1), [4, 5, 6]);
//! assert!(Matrix::new(&values, 3, 3, 4).is_err());
//! # Ok::<(), relief_numeric::matrix::ShapeError>(())
//! ```

/// A matrix whose shape does not fit what holds it, or what it is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// The rows reach beyond the memory, or into each other.
    #[error("{rows} rows of {columns} values, {pitch} apart, do not lie in {held} values")]
    Outside {
        /// Rows of the matrix.
        rows: usize,
        /// Values of a row.
        columns: usize,
        /// Values from one row to the next.
        pitch: usize,
        /// Values that there are.
        held: usize,
    },
    /// Two lengths that have to be equal are not.
    #[error("{what}: {expected} and {found} should be equal")]
    Mismatch {
        /// Which lengths these are.
        what: &'static str,
        /// One of them.
        expected: usize,
        /// The other.
        found: usize,
    },
    /// Scratch memory is too short.
    #[error("{needed} values of scratch memory are needed, and there are {held}")]
    Scratch {
        /// Values that are needed.
        needed: usize,
        /// Values that there are.
        held: usize,
    },
}

impl ShapeError {
    /// Nothing where two lengths are equal.
    pub(crate) const fn unless_equal(what: &'static str, expected: usize, found: usize) -> Result<(), Self> {
        if expected == found {
            Ok(())
        } else {
            Err(Self::Mismatch {
                what,
                expected,
                found,
            })
        }
    }

    /// Nothing where there is enough scratch memory.
    pub(crate) const fn unless_enough(needed: usize, held: usize) -> Result<(), Self> {
        if needed <= held {
            Ok(())
        } else {
            Err(Self::Scratch { needed, held })
        }
    }
}

/// Checks that rows lie in memory and apart.
pub(crate) const fn check(rows: usize, columns: usize, pitch: usize, held: usize) -> Result<(), ShapeError> {
    let fits = if rows == 0 || columns == 0 {
        true
    } else {
        // The last row need not be followed by what lies between rows.
        match pitch.checked_mul(rows - 1) {
            Some(before) => (pitch >= columns || rows == 1) && before <= held && columns <= held - before,
            None => false,
        }
    };
    if fits {
        Ok(())
    } else {
        Err(ShapeError::Outside {
            rows,
            columns,
            pitch,
            held,
        })
    }
}

/// The pitch of rows that lie in memory: where no row follows another, `pitch` says nothing, and may be less than a row or anything.
const fn pitch_of(rows: usize, columns: usize, pitch: usize) -> usize {
    if rows <= 1 || columns == 0 { columns } else { pitch }
}

/// A matrix that is read.
///
/// # Guarantees
/// Its rows lie in `values`, and `pitch` is at least `columns`.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, T> {
    values: &'a [T],
    rows: usize,
    columns: usize,
    pitch: usize,
}

impl<'a, T> Matrix<'a, T> {
    /// Rows that begin `pitch` values apart.
    ///
    /// # Errors
    /// Where they do not lie in `values`, or overlap.
    pub const fn new(values: &'a [T], rows: usize, columns: usize, pitch: usize) -> Result<Self, ShapeError> {
        match check(rows, columns, pitch, values.len()) {
            Ok(()) => Ok(Self {
                values,
                rows,
                columns,
                pitch: pitch_of(rows, columns, pitch),
            }),
            Err(error) => Err(error),
        }
    }

    /// How many rows it has.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// How many values a row has.
    #[must_use]
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// How far apart rows begin.
    pub(crate) const fn pitch(&self) -> usize {
        self.pitch
    }

    /// All values, where nothing lies between rows.
    pub(crate) fn whole(&self) -> Option<&'a [T]> {
        let len = self.rows * self.columns;
        (self.pitch == self.columns).then(|| &self.values[..len])
    }

    /// A row.
    ///
    /// # Panics
    /// Where there is no such row.
    #[inline]
    #[must_use]
    pub fn row(&self, row: usize) -> &'a [T] {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        if self.columns == 0 {
            return &[];
        }
        &self.values[row * self.pitch..][..self.columns]
    }

    /// The rows of a range.
    ///
    /// # Panics
    /// Where there are not as many.
    #[must_use]
    pub fn rows_of(&self, range: std::ops::Range<usize>) -> Self {
        assert!(
            range.start <= range.end && range.end <= self.rows,
            "rows of the matrix"
        );
        let empty = range.is_empty() || self.columns == 0;
        Self {
            values: if empty {
                &[]
            } else {
                &self.values[range.start * self.pitch..]
            },
            rows: range.len(),
            ..*self
        }
    }

    /// The columns of a range.
    ///
    /// # Panics
    /// Where there are not as many.
    #[must_use]
    pub fn columns_of(&self, range: std::ops::Range<usize>) -> Self {
        assert!(
            range.start <= range.end && range.end <= self.columns,
            "columns of the matrix"
        );
        let empty = range.is_empty() || self.rows == 0;
        Self {
            values: if empty { &[] } else { &self.values[range.start..] },
            columns: range.len(),
            ..*self
        }
    }
}

/// A matrix that is written.
#[derive(Debug)]
pub struct MatrixMut<'a, T> {
    values: &'a mut [T],
    rows: usize,
    columns: usize,
    pitch: usize,
}

impl<'a, T> MatrixMut<'a, T> {
    /// Rows that begin `pitch` values apart; what lies between them is left as it is.
    ///
    /// # Errors
    /// Where they do not lie in `values`, or overlap.
    pub fn new(values: &'a mut [T], rows: usize, columns: usize, pitch: usize) -> Result<Self, ShapeError> {
        check(rows, columns, pitch, values.len())?;
        Ok(Self {
            values,
            rows,
            columns,
            pitch: pitch_of(rows, columns, pitch),
        })
    }

    /// How many rows it has.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// How many values a row has.
    #[must_use]
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// A row.
    ///
    /// # Panics
    /// Where there is no such row.
    #[inline]
    pub fn row(&mut self, row: usize) -> &mut [T] {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        if self.columns == 0 {
            return &mut [];
        }
        &mut self.values[row * self.pitch..][..self.columns]
    }

    /// The values from a tile's first on, to its last, and the pitch of its rows. The tile lies in the matrix.
    pub(crate) fn tile(&mut self, top: usize, rows: usize, left: usize, columns: usize) -> (&mut [T], usize) {
        assert!(
            top + rows <= self.rows && left + columns <= self.columns && rows > 0,
            "a tile of the matrix"
        );
        let start = top * self.pitch + left;
        (
            &mut self.values[start..start + (rows - 1) * self.pitch + columns],
            self.pitch.max(columns),
        )
    }

    /// Two matrices: the rows before `row`, and the others.
    ///
    /// # Panics
    /// Where there are not as many.
    #[must_use]
    pub fn split_at(self, row: usize) -> (Self, Self) {
        assert!(row <= self.rows, "row {row} of {}", self.rows);
        // Of one row nothing but its numbers may be there.
        let place = match row == self.rows {
            true => self.values.len(),
            false => row * self.pitch,
        };
        let (first, second) = self.values.split_at_mut(place);
        let part = |values, rows| Self {
            values,
            rows,
            columns: self.columns,
            pitch: self.pitch,
        };
        (part(first, row), part(second, self.rows - row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_lie_in_memory_and_apart() {
        let values = [1, 2, 3, 4, 5, 6, 7, 8];
        let matrix = Matrix::new(&values, 3, 2, 3).unwrap();
        assert_eq!(matrix.row(2), [7, 8]);
        assert_eq!(matrix.rows_of(1..3).row(0), [4, 5]);
        assert_eq!(matrix.columns_of(1..2).row(2), [8]);
        assert_eq!(matrix.rows_of(3..3).rows(), 0);
        for (rows, columns, pitch) in [(3, 3, 3), (2, 3, 2), (2, 1, usize::MAX), (usize::MAX, 1, 2)] {
            assert!(
                Matrix::new(&values, rows, columns, pitch).is_err(),
                "{rows} {columns} {pitch}"
            );
        }
        for (rows, columns, pitch) in [(0, 100, 0), (100, 0, 0), (1, 8, 0), (usize::MAX, 0, usize::MAX)] {
            assert!(
                Matrix::new(&values, rows, columns, pitch).is_ok(),
                "{rows} {columns} {pitch}"
            );
        }
    }

    #[test]
    fn the_pitch_is_at_least_a_row_whatever_was_given_for_one_alone() {
        let mut values = [1.0_f32; 8];
        for pitch in [0, 3, 8, usize::MAX] {
            let matrix = Matrix::new(&values, 1, 8, pitch).unwrap();
            assert_eq!((matrix.pitch(), matrix.row(0).len()), (8, 8));
            assert_eq!(Matrix::new(&values, 0, 100, pitch).unwrap().pitch(), 100);
            assert_eq!(MatrixMut::new(&mut values, 1, 8, pitch).unwrap().pitch, 8);
        }
    }

    #[test]
    fn a_matrix_is_written_in_two_parts() {
        let mut values = [0; 8];
        let matrix = MatrixMut::new(&mut values, 3, 2, 3).unwrap();
        let (mut first, mut second) = matrix.split_at(1);
        first.row(0).fill(1);
        second.row(1).fill(2);
        assert_eq!((first.rows(), second.rows(), second.columns()), (1, 2, 2));
        assert_eq!(values, [1, 1, 0, 0, 0, 0, 2, 2]);
    }
}
