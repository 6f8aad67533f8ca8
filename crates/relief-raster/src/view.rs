//! Borrowed rectangles of samples.
//!
//! A band is one allocation, and tiles of it are filled by several threads: [`ViewMut`] can be split into columns
//! as well as into rows. Columns interleave in memory, which slices cannot express, so the mutable view keeps a
//! pointer; this file holds the only `unsafe` code outside the kernels and the edges to foreign functions.
#![allow(unsafe_code)]

use std::any::TypeId;
use std::marker::PhantomData;

/// A rectangle of samples, row by row, read only.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, S> {
    samples: &'a [S],
    width: usize,
    height: usize,
    stride: usize,
}

impl<'a, S> View<'a, S> {
    /// A view of `height` rows of `width` samples that begin `stride` samples apart.
    ///
    /// # Panics
    /// Where the last row would leave `samples` or `stride` is less than `width`.
    #[must_use]
    pub fn new(samples: &'a [S], width: usize, height: usize, stride: usize) -> Self {
        assert!(
            fits(samples.len(), width, height, stride),
            "a view of {width}×{height} leaves its samples"
        );
        Self {
            samples,
            width,
            height,
            stride: stride_of(width, stride),
        }
    }

    /// A view of rows without a gap between them.
    ///
    /// # Panics
    /// As [`View::new`].
    #[must_use]
    pub fn packed(samples: &'a [S], width: usize, height: usize) -> Self {
        Self::new(samples, width, height, width)
    }

    /// The number of columns.
    #[must_use]
    pub const fn width(&self) -> usize {
        self.width
    }

    /// The number of rows.
    #[must_use]
    pub const fn height(&self) -> usize {
        self.height
    }

    /// Row `y`, `width()` samples.
    ///
    /// # Panics
    /// Where there is no such row.
    #[must_use]
    #[inline]
    pub fn row(&self, y: usize) -> &'a [S] {
        assert!(y < self.height, "row {y} of {}", self.height);
        &self.samples[y * self.stride..y * self.stride + self.width]
    }

    /// All rows from the top.
    pub fn rows(&self) -> impl Iterator<Item = &'a [S]> + use<'a, S> {
        let view = Self {
            samples: self.samples,
            width: self.width,
            height: self.height,
            stride: self.stride,
        };
        (0..view.height).map(move |y| view.row(y))
    }

    /// The part with its top-left at (x, y).
    ///
    /// # Panics
    /// Where it leaves the view.
    #[must_use]
    pub fn part(&self, x: usize, y: usize, width: usize, height: usize) -> Self {
        assert!(
            inside(x, width, self.width) && inside(y, height, self.height),
            "a part leaves its view"
        );
        let start = if width == 0 || height == 0 {
            0
        } else {
            y * self.stride + x
        };
        Self {
            samples: &self.samples[start..],
            width,
            height,
            stride: stride_of(width, self.stride),
        }
    }
}

/// A rectangle of samples, row by row, to be written.
#[derive(Debug)]
pub struct ViewMut<'a, S> {
    start: *mut S,
    width: usize,
    height: usize,
    stride: usize,
    samples: PhantomData<&'a mut [S]>,
}

// SAFETY: a `ViewMut` is the only way to reach its samples for as long as it lives, like `&mut [S]`.
unsafe impl<S: Send> Send for ViewMut<'_, S> {}
// SAFETY: through `&ViewMut` samples are only read, like `&&mut [S]`.
unsafe impl<S: Sync> Sync for ViewMut<'_, S> {}

impl<'a, S> ViewMut<'a, S> {
    /// A view of `height` rows of `width` samples that begin `stride` samples apart.
    ///
    /// # Panics
    /// Where the last row would leave `samples` or `stride` is less than `width`.
    #[must_use]
    pub fn new(samples: &'a mut [S], width: usize, height: usize, stride: usize) -> Self {
        assert!(
            fits(samples.len(), width, height, stride),
            "a view of {width}×{height} leaves its samples"
        );
        Self::from_start(samples.as_mut_ptr(), width, height, stride)
    }

    /// The view of the rows at `start`; the caller sees to it that they are this view's alone.
    const fn from_start(start: *mut S, width: usize, height: usize, stride: usize) -> Self {
        Self {
            start,
            width,
            height,
            stride: stride_of(width, stride),
            samples: PhantomData,
        }
    }

    /// A view of rows without a gap between them.
    ///
    /// # Panics
    /// As [`ViewMut::new`].
    #[must_use]
    pub fn packed(samples: &'a mut [S], width: usize, height: usize) -> Self {
        Self::new(samples, width, height, width)
    }

    /// The same view, where its samples are of the type `T`; else `None`.
    ///
    /// ```
    /// # use relief_raster::ViewMut;
    /// let mut samples = [1_u8, 2, 3, 4];
    /// assert!(ViewMut::packed(&mut samples, 2, 2).of::<u16>().is_none());
    /// ViewMut::packed(&mut samples, 2, 2).of::<u8>().unwrap().fill(9);
    /// assert_eq!(samples, [9; 4]);
    /// ```
    #[must_use]
    pub fn of<T: 'static>(self) -> Option<ViewMut<'a, T>>
    where
        S: 'static,
    {
        let is_one = TypeId::of::<S>() == TypeId::of::<T>();
        is_one.then(|| ViewMut::from_start(self.start.cast(), self.width, self.height, self.stride))
    }

    /// The number of columns.
    #[must_use]
    pub const fn width(&self) -> usize {
        self.width
    }

    /// The number of rows.
    #[must_use]
    pub const fn height(&self) -> usize {
        self.height
    }

    /// Row `y`, `width()` samples.
    ///
    /// # Panics
    /// Where there is no such row.
    #[must_use]
    #[inline]
    pub fn row(&self, y: usize) -> &[S] {
        assert!(y < self.height, "row {y} of {}", self.height);
        // SAFETY: row `y` lies inside the samples this view was made of (checked when it was made), and no
        // other view covers them.
        unsafe { std::slice::from_raw_parts(self.start.add(y * self.stride), self.width) }
    }

    /// Row `y`, `width()` samples, to be written.
    ///
    /// # Panics
    /// Where there is no such row.
    #[must_use]
    #[inline]
    pub fn row_mut(&mut self, y: usize) -> &mut [S] {
        assert!(y < self.height, "row {y} of {}", self.height);
        // SAFETY: as in `row`; the borrow of `self` keeps every other access out.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(y * self.stride), self.width) }
    }

    /// Two different rows at once: `from` to be read, `to` to be written.
    ///
    /// # Panics
    /// Where one of them does not exist or both are the same.
    #[must_use]
    #[inline]
    pub fn row_pair(&mut self, from: usize, to: usize) -> (&[S], &mut [S]) {
        assert!(
            from < self.height && to < self.height && from != to,
            "rows {from} and {to} of {}",
            self.height
        );
        // SAFETY: both rows lie inside the samples and do not overlap, because they differ and
        // `stride >= width`.
        unsafe {
            (
                std::slice::from_raw_parts(self.start.add(from * self.stride), self.width),
                std::slice::from_raw_parts_mut(self.start.add(to * self.stride), self.width),
            )
        }
    }

    /// The same samples, read only.
    ///
    /// # Panics
    /// Where the rows do not follow each other without a gap.
    #[must_use]
    pub fn as_view(&self) -> View<'_, S> {
        let len = span(self.width, self.height, self.stride).unwrap_or(0);
        // A view that was split into columns spans samples of its neighbours, which must not be borrowed
        // here; only a view of one row or of whole rows may become a slice.
        assert!(
            self.height <= 1 || self.stride == self.width,
            "only whole rows can be read as one view"
        );
        // SAFETY: the samples are `len` in a row and all of them belong to this view.
        let samples = unsafe { std::slice::from_raw_parts(self.start, len) };
        View {
            samples,
            width: self.width,
            height: self.height,
            stride: self.stride,
        }
    }

    /// A view of the same samples for a shorter time.
    #[must_use]
    pub fn reborrow(&mut self) -> ViewMut<'_, S> {
        ViewMut {
            start: self.start,
            width: self.width,
            height: self.height,
            stride: self.stride,
            samples: PhantomData,
        }
    }

    /// The part with its top-left at (x, y), for a shorter time.
    ///
    /// # Panics
    /// Where it leaves the view.
    #[must_use]
    pub fn part(&mut self, x: usize, y: usize, width: usize, height: usize) -> ViewMut<'_, S> {
        assert!(
            inside(x, width, self.width) && inside(y, height, self.height),
            "a part leaves its view"
        );
        let offset = if width == 0 || height == 0 {
            0
        } else {
            y * self.stride + x
        };
        // SAFETY: an empty part keeps the start; any other begins inside this view.
        let start = unsafe { self.start.add(offset) };
        ViewMut::from_start(start, width, height, self.stride)
    }

    /// The columns before `x` and those from `x` on.
    ///
    /// # Panics
    /// Where `x` lies outside the view.
    #[must_use]
    pub fn split_columns(self, x: usize) -> (Self, Self) {
        assert!(x <= self.width, "column {x} of {}", self.width);
        let offset = if x == self.width || self.height == 0 { 0 } else { x };
        // SAFETY: the right part begins inside this view, or is empty and keeps the start; the two parts
        // hold no sample in common.
        let right = unsafe { self.start.add(offset) };
        let (height, stride) = (self.height, self.stride);
        (
            Self::from_start(self.start, x, height, stride),
            Self::from_start(right, self.width - x, height, stride),
        )
    }

    /// The rows before `y` and those from `y` on.
    ///
    /// # Panics
    /// Where `y` lies outside the view.
    #[must_use]
    pub fn split_rows(self, y: usize) -> (Self, Self) {
        assert!(y <= self.height, "row {y} of {}", self.height);
        let offset = if y == self.height || self.width == 0 {
            0
        } else {
            y * self.stride
        };
        // SAFETY: as in `split_columns`.
        let below = unsafe { self.start.add(offset) };
        let (width, stride) = (self.width, self.stride);
        (
            Self::from_start(self.start, width, y, stride),
            Self::from_start(below, width, self.height - y, stride),
        )
    }
}

impl<S: Copy> ViewMut<'_, S> {
    /// Writes `value` everywhere.
    pub fn fill(&mut self, value: S) {
        for y in 0..self.height {
            self.row_mut(y).fill(value);
        }
    }

    /// Writes the samples of `source`.
    ///
    /// # Panics
    /// Where the sizes differ.
    pub fn copy_from(&mut self, source: View<'_, S>) {
        assert_eq!(
            (self.width, self.height),
            (source.width, source.height),
            "views of different sizes"
        );
        for y in 0..self.height {
            self.row_mut(y).copy_from_slice(source.row(y));
        }
    }
}

/// The distance of rows in a view. Rows without samples all lie at the start: a multiple of `stride` could point outside
/// the samples, or overflow.
const fn stride_of(width: usize, stride: usize) -> usize {
    if width == 0 { 0 } else { stride }
}

/// The samples from the first of the first row to the last of the last, or `None` where that overflows.
const fn span(width: usize, height: usize, stride: usize) -> Option<usize> {
    if width == 0 || height == 0 {
        return Some(0);
    }
    match (height - 1).checked_mul(stride) {
        Some(before) => before.checked_add(width),
        None => None,
    }
}

fn fits(len: usize, width: usize, height: usize, stride: usize) -> bool {
    stride >= width && span(width, height, stride).is_some_and(|needed| needed <= len)
}

fn inside(start: usize, len: usize, bound: usize) -> bool {
    start.checked_add(len).is_some_and(|end| end <= bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_written_by_two_threads_interleave() {
        let mut band = vec![0_u8; 5 * 3];
        let (mut left, mut right) = ViewMut::packed(&mut band, 5, 3).split_columns(2);
        std::thread::scope(|s| {
            s.spawn(move || left.fill(1));
            s.spawn(move || right.fill(2));
        });
        assert_eq!(band, [1, 1, 2, 2, 2, 1, 1, 2, 2, 2, 1, 1, 2, 2, 2]);
    }

    #[test]
    fn a_part_of_a_part_addresses_the_same_samples() {
        let samples: Vec<u16> = (0..30).collect();
        let part = View::packed(&samples, 6, 5).part(1, 1, 4, 3).part(2, 1, 2, 2);
        assert_eq!(part.rows().collect::<Vec<_>>(), [[15, 16], [21, 22]]);
    }

    #[test]
    fn empty_views_are_allowed_anywhere() {
        let mut none: [u8; 0] = [];
        let view = ViewMut::packed(&mut none, 0, 7);
        let (left, mut right) = view.split_columns(0);
        assert_eq!(left.width(), 0);
        right.fill(3);
        let samples = [1_u8; 4];
        assert_eq!(View::packed(&samples, 2, 2).part(2, 2, 0, 0).rows().count(), 0);
    }

    #[test]
    fn rows_without_samples_are_empty_whatever_their_distance() {
        let mut none: [u16; 0] = [];
        for stride in [0, 5, usize::MAX] {
            let view = View::new(&none, 0, 7, stride);
            assert!(view.row(3).is_empty());
            assert_eq!(view.rows().count(), 7);
            assert!(view.part(0, 2, 0, 5).row(4).is_empty());
            let mut view = ViewMut::new(&mut none, 0, 7, stride);
            assert!(view.row(3).is_empty());
            assert!(view.row_mut(6).is_empty());
            let (from, to) = view.row_pair(1, 5);
            assert!(from.is_empty() && to.is_empty());
            view.fill(1);
            assert!(view.as_view().row(2).is_empty());
            let (_, mut below) = view.split_rows(4);
            assert!(below.row_mut(2).is_empty());
        }
    }

    #[test]
    fn columns_of_no_width_lie_inside_the_samples() {
        let mut band = [1_u8; 5 * 3];
        let samples = band.as_ptr_range();
        let inside = |row: &[u8]| row.is_empty() && samples.contains(&row.as_ptr());
        for x in [0, 5] {
            let (left, right) = ViewMut::packed(&mut band, 5, 3).split_columns(x);
            let none = if x == 0 { left } else { right };
            assert!((0..3).all(|y| inside(none.row(y))));
            assert!(none.as_view().rows().all(inside));
        }
    }

    #[test]
    #[should_panic(expected = "leaves its samples")]
    fn a_view_larger_than_its_samples_is_refused() {
        let _ = View::new(&[0_u8; 9], 3, 4, 3);
    }

    #[test]
    #[should_panic(expected = "leaves its samples")]
    fn a_view_whose_size_overflows_is_refused() {
        let _ = View::new(&[0_u8; 9], 3, usize::MAX, usize::MAX);
    }

    #[test]
    fn splitting_rows_keeps_all_samples() {
        let mut band = vec![0_u16; 4 * 4];
        let (mut top, mut bottom) = ViewMut::packed(&mut band, 4, 4).split_rows(1);
        top.fill(7);
        bottom.part(1, 0, 2, 3).fill(9);
        assert_eq!(band, [7, 7, 7, 7, 0, 9, 9, 0, 0, 9, 9, 0, 0, 9, 9, 0]);
    }
}
