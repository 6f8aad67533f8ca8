//! The eight ways to lay a raster: mirrors and quarter turns.

use relief_raster::Rect;

use relief_design::scan::{Axis, Corner, Mirror, Quarters, Scan};

/// From (u, v) of the laid raster to (x, y) of the one below it: the coordinates change places where `swap`, then
/// each is counted from the other end where flipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Symmetry {
    pub(crate) swap: bool,
    pub(crate) flip_x: bool,
    pub(crate) flip_y: bool,
}

impl Symmetry {
    /// From (i, j), pixel of line, to the raster; `axis` is that of the lines.
    pub(crate) fn of(scan: &Scan, axis: Axis) -> Self {
        let new = |swap, flip_x, flip_y| Self { swap, flip_x, flip_y };
        let mirror = match scan.mirror {
            Mirror::None => new(false, false, false),
            Mirror::Horizontal => new(false, true, false),
            Mirror::Vertical => new(false, false, true),
        };
        let turn = match scan.rotate {
            Quarters::None => new(false, false, false),
            Quarters::One => new(true, false, true),
            Quarters::Two => new(false, true, true),
            Quarters::Three => new(true, true, false),
        };
        let right = matches!(scan.start, Corner::TopRight | Corner::BottomRight);
        let bottom = matches!(scan.start, Corner::BottomLeft | Corner::BottomRight);
        let walk = new(axis == Axis::Column, right, bottom);
        mirror.under(turn).under(walk)
    }

    /// First `upper`, then this one.
    fn under(self, upper: Self) -> Self {
        let (x, y) = if self.swap {
            (upper.flip_y, upper.flip_x)
        } else {
            (upper.flip_x, upper.flip_y)
        };
        Self {
            swap: self.swap ^ upper.swap,
            flip_x: self.flip_x ^ x,
            flip_y: self.flip_y ^ y,
        }
    }

    /// Whether lines are rows as they come.
    pub(crate) const fn is_plain(self) -> bool {
        !self.swap && !self.flip_x && !self.flip_y
    }

    /// Pixels of a line and lines.
    pub(crate) const fn size(self, width: u64, height: u64) -> (u64, u64) {
        if self.swap {
            (height, width)
        } else {
            (width, height)
        }
    }

    /// The window of the raster that holds pixels `i`… of lines `j`….
    pub(crate) fn window(self, size: (u64, u64), i: (u64, u64), j: (u64, u64)) -> Rect {
        let (x, y) = if self.swap { (j, i) } else { (i, j) };
        let flipped = |(start, end): (u64, u64), whole: u64, flip: bool| {
            if flip {
                (whole - end, whole - start)
            } else {
                (start, end)
            }
        };
        let (x, y) = (flipped(x, size.0, self.flip_x), flipped(y, size.1, self.flip_y));
        // Coordinates of a raster are at most 2^40.
        Rect::between(x.0 as i64, y.0 as i64, x.1 as i64, y.1 as i64)
    }

    /// Lays a packed window out as packed lines of `length` pixels; `first` is the pixel of the line that the window
    /// begins with. Only pixels of the window are written.
    pub(crate) fn lay<S: Copy>(
        self,
        window: &[S],
        (columns, rows): (usize, usize),
        out: &mut [S],
        length: usize,
        first: usize,
    ) {
        if self.swap {
            self.transpose(window, (columns, rows), out, length, first);
            return;
        }
        for (y, row) in window.chunks_exact(columns).enumerate() {
            let line = if self.flip_y { rows - 1 - y } else { y };
            let out = &mut out[line * length + first..][..columns];
            if self.flip_x {
                out.iter_mut()
                    .zip(row.iter().rev())
                    .for_each(|(out, sample)| *out = *sample);
            } else {
                out.copy_from_slice(row);
            }
        }
    }

    /// In squares that stay in a core's first cache on both sides.
    fn transpose<S: Copy>(
        self,
        window: &[S],
        (columns, rows): (usize, usize),
        out: &mut [S],
        length: usize,
        first: usize,
    ) {
        const SQUARE: usize = 32;
        for top in (0..rows).step_by(SQUARE) {
            for left in (0..columns).step_by(SQUARE) {
                for x in left..(left + SQUARE).min(columns) {
                    let line = if self.flip_x { columns - 1 - x } else { x };
                    let out = &mut out[line * length + first..][..rows];
                    for y in top..(top + SQUARE).min(rows) {
                        let pixel = if self.flip_y { rows - 1 - y } else { y };
                        out[pixel] = window[y * columns + x];
                    }
                }
            }
        }
    }
}
