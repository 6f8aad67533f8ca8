//! Which copies of a pattern meet a tile.
//!
//! They are the lattice points in a rectangle. Along the lines j = constant of the vectors as given they come in the
//! order wanted, but vectors that are long and almost parallel have far more lines than points. A basis reduced by
//! Lagrange's algorithm has hardly any empty line (see P. Q. Nguyen, D. Stehlé, *Low-dimensional lattice basis
//! reduction revisited*, 2009), in another order. So few lines are walked as they are; for many, the points of the
//! reduced basis are visited again and again, each time sorting the next few into a fixed buffer.

use relief_raster::{Period, Rect};

/// A copy of the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// How many times `u` was added.
    pub i: i128,
    /// How many times `v` was added.
    pub j: i128,
    /// The column of its left edge.
    pub x: i64,
    /// The row of its top edge.
    pub y: i64,
}

/// The farthest that vectors and offsets may reach, so that products of two fit in 128 bits with room.
const LIMIT: i64 = 1 << 61;

/// The greatest denominator of a vector: coordinates times it stay below the limit of the products.
pub const MAX_DENOMINATOR: u32 = 1 << 16;

/// All copies of a pattern of `width` × `height` pixels that meet `tile`, in ascending lexicographic order of (j, i),
/// where copy (i, j) has its top-left at `offset` + i·`u` + j·`v`. None for vectors whose determinant is 0.
///
/// The time is that of the copies found; where the vectors are so long and close to parallel that the copies must be
/// sorted, it grows with the square of their number above 64.
///
/// # Panics
/// Where an offset, a vector or a side of the pattern reaches beyond ±2^61.
#[must_use]
pub fn copies(tile: Rect, size: (u64, u64), offset: (i64, i64), u: (i64, i64), v: (i64, i64)) -> Copies {
    fractional_copies(tile, size, offset, u, v, (1, 1))
}

/// As [`copies`], for vectors whose components stand over a denominator for each axis: copy (i, j) has its top-left at
/// `offset` + ⌊(i·`u` + j·`v`) / denominators + ½⌋.
///
/// A copy lies in the tile where the combination, times the denominators, lies between two whole numbers. So the points are
/// those of the lattice of `u` and `v` in a tile that is as many times larger, and are rounded when they are handed out.
///
/// # Panics
/// As [`copies`], and where a denominator is 0 or above [`MAX_DENOMINATOR`].
#[must_use]
pub fn fractional_copies(
    tile: Rect,
    size: (u64, u64),
    offset: (i64, i64),
    u: (i64, i64),
    v: (i64, i64),
    denominators: (u32, u32),
) -> Copies {
    for denominator in [denominators.0, denominators.1] {
        assert!(
            (1..=MAX_DENOMINATOR).contains(&denominator),
            "a lattice with a denominator of {denominator}"
        );
    }
    let farthest = [offset.0, offset.1, u.0, u.1, v.0, v.1].map(i64::unsigned_abs);
    assert!(
        farthest
            .iter()
            .chain([&size.0, &size.1])
            .all(|length| *length <= LIMIT.unsigned_abs()),
        "a lattice that reaches beyond 2^61 pixels"
    );
    let none = tile.is_empty() || size.0 == 0 || size.1 == 0;
    let given = Basis::given(u, v);
    if none || given.determinant() == 0 {
        return Copies {
            points: Points::none(),
            offset,
            denominators,
            batch: None,
        };
    }
    // Where the top-left of a copy may lie, relative to `offset`.
    let area = Area {
        x: (
            i128::from(tile.x()) - i128::from(size.0) + 1 - i128::from(offset.0),
            i128::from(tile.right()) - 1 - i128::from(offset.0),
        ),
        y: (
            i128::from(tile.y()) - i128::from(size.1) + 1 - i128::from(offset.1),
            i128::from(tile.bottom()) - 1 - i128::from(offset.1),
        ),
    };
    let area = area.times(denominators);
    let reduced = given.reduced(area.shape());
    // Coordinates are taken from a lattice point near the tile, which keeps them small however far out it lies.
    let near = reduced.nearest(area.middle());
    let area = area.moved(near.x, near.y);
    let expected = area.points() / given.determinant().unsigned_abs();
    let (first, last) = given.lines(&area);
    if last.abs_diff(first) <= 4 * expected + 4096 {
        let points = Points::new(given, near, area);
        return Copies {
            points,
            offset,
            denominators,
            batch: None,
        };
    }
    let points = Points::new(reduced, near, area);
    let batch = Some(Batch::new(&points));
    Copies {
        points,
        offset,
        denominators,
        batch,
    }
}

/// The greatest number of copies of a pattern of `size` that cover one pixel, or somewhat more: at least one.
///
/// For vectors that span no [`Period`] the answer is `u128::MAX`.
#[must_use]
pub fn overlap(size: (u64, u64), u: (i64, i64), v: (i64, i64)) -> u128 {
    fractional_overlap(size, u, v, (1, 1))
}

/// As [`overlap`], for the copies of [`fractional_copies`].
#[must_use]
pub fn fractional_overlap(size: (u64, u64), u: (i64, i64), v: (i64, i64), denominators: (u32, u32)) -> u128 {
    let given = Basis::given(u, v);
    let Some(period) = Period::spanned(u, v) else {
        return u128::MAX;
    };
    // The copies over a pixel are the points in so many neighbouring whole numbers along each axis.
    let width = u128::from(size.0.max(1)) * u128::from(denominators.0);
    let height = u128::from(size.1.max(1)) * u128::from(denominators.1);
    // Every c-th row holds copies, a apart.
    let by_rows = width.div_ceil(period.a().into()) * height.div_ceil(period.c().into());
    let basis = given.reduced((width as f64, height as f64));
    let (x, y) = (basis.first.x.unsigned_abs(), basis.first.y.unsigned_abs());
    // The lines along the first vector that meet the pattern, times the points of one line in it.
    let lines = x
        .saturating_mul(height - 1)
        .saturating_add(y.saturating_mul(width - 1))
        .checked_div(basis.determinant().unsigned_abs())
        .map_or(u128::MAX, |lines| lines.saturating_add(1));
    let along = |length: u128, step: u128| {
        (length - 1)
            .checked_div(step)
            .map_or(u128::MAX, |steps| steps + 1)
    };
    let on_line = along(width, x).min(along(height, y));
    by_rows.min(lines.saturating_mul(on_line))
}

/// Copies in ascending order of (j, i); see [`copies`].
#[derive(Clone, Debug)]
pub struct Copies {
    points: Points,
    offset: (i64, i64),
    denominators: (u32, u32),
    batch: Option<Batch>,
}

impl Iterator for Copies {
    type Item = Placement;

    fn next(&mut self) -> Option<Placement> {
        let point = match &mut self.batch {
            Some(batch) => batch.next(&self.points)?,
            None => self.points.next()?,
        };
        // The copy meets the tile, and the tile lies within the coordinates of a `Rect`.
        let place = |offset: i64, by: i128, over: u32| (i128::from(offset) + rounded(by, over)) as i64;
        Some(Placement {
            i: point.i,
            j: point.j,
            x: place(self.offset.0, point.x, self.denominators.0),
            y: place(self.offset.1, point.y, self.denominators.1),
        })
    }
}

/// The whole number nearest to a fraction, halves up.
const fn rounded(numerator: i128, denominator: u32) -> i128 {
    if denominator == 1 {
        return numerator;
    }
    (2 * numerator + denominator as i128).div_euclid(2 * denominator as i128)
}

/// A lattice point (x, y) = i·u + j·v.
#[derive(Clone, Copy, Debug)]
struct Point {
    i: i128,
    j: i128,
    x: i128,
    y: i128,
}

impl Point {
    const ORIGIN: Self = Self {
        i: 0,
        j: 0,
        x: 0,
        y: 0,
    };

    const fn order(&self) -> (i128, i128) {
        (self.j, self.i)
    }

    const fn plus(self, times: i128, other: Self) -> Self {
        Self {
            i: self.i + times * other.i,
            j: self.j + times * other.j,
            x: self.x + times * other.x,
            y: self.y + times * other.y,
        }
    }
}

/// Inclusive bounds of x and y.
#[derive(Clone, Copy, Debug)]
struct Area {
    x: (i128, i128),
    y: (i128, i128),
}

impl Area {
    fn shape(&self) -> (f64, f64) {
        ((self.x.1 - self.x.0 + 1) as f64, (self.y.1 - self.y.0 + 1) as f64)
    }

    const fn middle(&self) -> (i128, i128) {
        ((self.x.0 + self.x.1) / 2, (self.y.0 + self.y.1) / 2)
    }

    /// The numerators over these denominators of which the nearest whole numbers, halves up, lie in the area.
    const fn times(&self, (over_x, over_y): (u32, u32)) -> Self {
        const fn along((low, high): (i128, i128), over: u32) -> (i128, i128) {
            let over = over as i128;
            // low − ½ ≤ n / over < high + ½.
            let least = -(over - 2 * over * low).div_euclid(2);
            (least, (2 * over * high + over - 1).div_euclid(2))
        }
        Self {
            x: along(self.x, over_x),
            y: along(self.y, over_y),
        }
    }

    const fn moved(&self, x: i128, y: i128) -> Self {
        Self {
            x: (self.x.0 - x, self.x.1 - x),
            y: (self.y.0 - y, self.y.1 - y),
        }
    }

    const fn points(&self) -> u128 {
        (self.x.1 - self.x.0 + 1)
            .unsigned_abs()
            .saturating_mul((self.y.1 - self.y.0 + 1).unsigned_abs())
    }
}

/// Two vectors that span the lattice.
#[derive(Clone, Copy, Debug)]
struct Basis {
    first: Point,
    second: Point,
}

impl Basis {
    fn given(u: (i64, i64), v: (i64, i64)) -> Self {
        Self {
            first: Point {
                i: 1,
                j: 0,
                x: u.0.into(),
                y: u.1.into(),
            },
            second: Point {
                i: 0,
                j: 1,
                x: v.0.into(),
                y: v.1.into(),
            },
        }
    }

    const fn determinant(&self) -> i128 {
        self.first.x * self.second.y - self.first.y * self.second.x
    }

    /// A basis of short vectors, as measured where an area of this shape is a square.
    ///
    /// Lengths are compared in floating point: a wrong choice gives a longer basis of the same lattice.
    fn reduced(self, (width, height): (f64, f64)) -> Self {
        let scaled = |p: Point| (p.x as f64 / width, p.y as f64 / height);
        let product = |p: Point, q: Point| {
            let (p, q) = (scaled(p), scaled(q));
            p.0.mul_add(q.0, p.1 * q.1)
        };
        let Self {
            mut first,
            mut second,
        } = self;
        loop {
            if product(second, second) < product(first, first) {
                (first, second) = (second, first);
            }
            let times = (product(first, second) / product(first, first)).round();
            let shorter = second.plus(-(times as i128), first);
            let fits = shorter.x.abs() <= LIMIT.into() && shorter.y.abs() <= LIMIT.into();
            // Each step shortens a vector to less than 0.99 of it, or is the last.
            if times == 0.0 || !fits || product(shorter, shorter) > 0.98 * product(second, second) {
                return Self { first, second };
            }
            second = shorter;
        }
    }

    /// A lattice point near (x, y).
    fn nearest(&self, (x, y): (i128, i128)) -> Point {
        let determinant = self.determinant();
        let along_first = (x * self.second.y - y * self.second.x) / determinant;
        let along_second = (self.first.x * y - self.first.y * x) / determinant;
        Point::ORIGIN
            .plus(along_first, self.first)
            .plus(along_second, self.second)
    }

    /// The first and last multiple of the second vector whose line along the first may meet the area.
    fn lines(&self, area: &Area) -> (i128, i128) {
        let corners = [
            (area.x.0, area.y.0),
            (area.x.1, area.y.0),
            (area.x.0, area.y.1),
            (area.x.1, area.y.1),
        ]
        .map(|(x, y)| self.first.x * y - self.first.y * x);
        let (mut least, mut greatest) = (corners[0], corners[0]);
        for corner in corners {
            (least, greatest) = (least.min(corner), greatest.max(corner));
        }
        multiples_between((least, greatest), self.determinant())
    }

    /// The first and last multiple of the first vector that lies in the area when `times` the second is added.
    fn line(&self, times: i128, area: &Area) -> (i128, i128) {
        let between = |bounds: (i128, i128), step: i128, start: i128| {
            let bounds = (bounds.0 - start, bounds.1 - start);
            match (step, bounds.0 <= 0 && 0 <= bounds.1) {
                (0, true) => (i128::MIN, i128::MAX),
                (0, false) => (1, 0),
                _ => multiples_between(bounds, step),
            }
        };
        let by_x = between(area.x, self.first.x, times * self.second.x);
        let by_y = between(area.y, self.first.y, times * self.second.y);
        (by_x.0.max(by_y.0), by_x.1.min(by_y.1))
    }
}

/// The least and greatest n with n·step between the bounds; the least is greater than the greatest where there is none.
const fn multiples_between(bounds: (i128, i128), step: i128) -> (i128, i128) {
    let (low, high, step) = if step < 0 {
        (-bounds.1, -bounds.0, -step)
    } else {
        (bounds.0, bounds.1, step)
    };
    (-(-low).div_euclid(step), high.div_euclid(step))
}

/// The points of an area, line by line along the first vector of a basis.
#[derive(Clone, Debug)]
struct Points {
    basis: Basis,
    near: Point,
    area: Area,
    /// The next line, and the last.
    lines: (i128, i128),
    /// The next point of the line before it, and the last.
    line: (i128, i128),
}

impl Points {
    fn new(basis: Basis, near: Point, area: Area) -> Self {
        Self {
            basis,
            near,
            area,
            lines: basis.lines(&area),
            line: (1, 0),
        }
    }

    const fn none() -> Self {
        let basis = Basis {
            first: Point::ORIGIN,
            second: Point::ORIGIN,
        };
        Self {
            basis,
            near: Point::ORIGIN,
            area: Area { x: (1, 0), y: (1, 0) },
            lines: (1, 0),
            line: (1, 0),
        }
    }
}

impl Iterator for Points {
    type Item = Point;

    fn next(&mut self) -> Option<Point> {
        while self.line.0 > self.line.1 {
            if self.lines.0 > self.lines.1 {
                return None;
            }
            self.line = self.basis.line(self.lines.0, &self.area);
            self.lines.0 += 1;
        }
        let point = self
            .near
            .plus(self.line.0, self.basis.first)
            .plus(self.lines.0 - 1, self.basis.second);
        self.line.0 += 1;
        Some(point)
    }
}

/// The next points in ascending order, picked out of points in any order.
#[derive(Clone, Debug)]
struct Batch {
    sorted: [Point; Self::SIZE],
    len: usize,
    next: usize,
}

impl Batch {
    const SIZE: usize = 64;

    fn new(points: &Points) -> Self {
        let mut batch = Self {
            sorted: [Point::ORIGIN; Self::SIZE],
            len: 0,
            next: 0,
        };
        batch.fill(points, None);
        batch
    }

    fn next(&mut self, points: &Points) -> Option<Point> {
        // A batch that is not full held all points that were left.
        if self.next == Self::SIZE {
            let last = self.sorted[Self::SIZE - 1];
            self.fill(points, Some(last.order()));
        }
        let point = self.sorted[..self.len].get(self.next).copied()?;
        self.next += 1;
        Some(point)
    }

    /// Takes the least points after `last`.
    fn fill(&mut self, points: &Points, last: Option<(i128, i128)>) {
        (self.len, self.next) = (0, 0);
        for point in points.clone() {
            let seen = last.is_some_and(|last| point.order() <= last);
            let full = self.len == Self::SIZE;
            if seen || (full && self.sorted[self.len - 1].order() < point.order()) {
                continue;
            }
            let at = self.sorted[..self.len].partition_point(|other| other.order() < point.order());
            self.len = (self.len + 1).min(Self::SIZE);
            self.sorted.copy_within(at..self.len - 1, at + 1);
            self.sorted[at] = point;
        }
    }
}
