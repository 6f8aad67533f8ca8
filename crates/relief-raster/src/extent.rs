//! Rectangles of pixels.

/// The longest side of a raster, in pixels: 2^40.
pub const MAX_SIDE: u64 = 1 << 40;

/// The greatest distance of a coordinate from the origin, in pixels: 2^44.
///
/// Offsets of nested nodes add up; a design whose nodes would lie farther out is refused.
pub const MAX_COORDINATE: i64 = 1 << 44;

/// A rectangle of pixels: the columns `x..right()` of the rows `y..bottom()`.
///
/// # Guarantees
/// `x`, `y`, `right()` and `bottom()` lie within ±2·[`MAX_COORDINATE`], so that arithmetic on them cannot overflow. A side is
/// therefore at most 4·[`MAX_COORDINATE`] long. A rectangle may be empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Rect {
    x: i64,
    y: i64,
    width: u64,
    height: u64,
}

impl Rect {
    /// The rectangle with its top-left at (x, y), or `None` where it would leave the coordinates allowed.
    #[must_use]
    pub const fn new(x: i64, y: i64, width: u64, height: u64) -> Option<Self> {
        const LIMIT: i64 = 2 * MAX_COORDINATE;
        if x < -LIMIT || y < -LIMIT || x > LIMIT || y > LIMIT {
            return None;
        }
        if width > (LIMIT - x) as u64 || height > (LIMIT - y) as u64 {
            return None;
        }
        Some(Self { x, y, width, height })
    }

    /// The empty rectangle at the origin.
    pub const EMPTY: Self = Self {
        x: 0,
        y: 0,
        width: 0,
        height: 0,
    };

    /// The rectangle of this size at the origin; sides are cut at [`MAX_SIDE`].
    #[inline]
    #[must_use]
    pub const fn sized(width: u64, height: u64) -> Self {
        let width = if width > MAX_SIDE { MAX_SIDE } else { width };
        let height = if height > MAX_SIDE { MAX_SIDE } else { height };
        Self {
            x: 0,
            y: 0,
            width,
            height,
        }
    }

    /// The rectangle between two corners, clamped to the coordinates allowed; empty where they are not in order.
    #[inline]
    #[must_use]
    pub fn between(left: i64, top: i64, right: i64, bottom: i64) -> Self {
        const LIMIT: i64 = 2 * MAX_COORDINATE;
        let clamp = |v: i64| v.clamp(-LIMIT, LIMIT);
        let (x, y) = (clamp(left), clamp(top));
        let width = clamp(right).saturating_sub(x).max(0).unsigned_abs();
        let height = clamp(bottom).saturating_sub(y).max(0).unsigned_abs();
        if width == 0 || height == 0 {
            Self {
                x,
                y,
                width: 0,
                height: 0,
            }
        } else {
            Self { x, y, width, height }
        }
    }

    /// The left column.
    #[must_use]
    pub const fn x(&self) -> i64 {
        self.x
    }

    /// The top row.
    #[must_use]
    pub const fn y(&self) -> i64 {
        self.y
    }

    /// The number of columns.
    #[must_use]
    pub const fn width(&self) -> u64 {
        self.width
    }

    /// The number of rows.
    #[must_use]
    pub const fn height(&self) -> u64 {
        self.height
    }

    /// The column after the last.
    #[must_use]
    pub const fn right(&self) -> i64 {
        self.x + self.width as i64
    }

    /// The row after the last.
    #[must_use]
    pub const fn bottom(&self) -> i64 {
        self.y + self.height as i64
    }

    /// Whether it holds no pixel.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0
    }

    /// The number of pixels.
    #[inline]
    #[must_use]
    pub const fn area(&self) -> u128 {
        self.width as u128 * self.height as u128
    }

    /// The pixels that both rectangles hold.
    #[inline]
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self::between(
            self.x.max(other.x),
            self.y.max(other.y),
            self.right().min(other.right()),
            self.bottom().min(other.bottom()),
        )
    }

    /// The least rectangle that holds the pixels of both.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        // An empty rectangle still has a place, which must not count.
        if self.is_empty() {
            return *other;
        }
        if other.is_empty() {
            return *self;
        }
        Self::between(
            self.x.min(other.x),
            self.y.min(other.y),
            self.right().max(other.right()),
            self.bottom().max(other.bottom()),
        )
    }

    /// Whether every pixel of `other` lies in this rectangle; true for an empty `other`.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        other.is_empty()
            || (self.x <= other.x
                && self.y <= other.y
                && other.right() <= self.right()
                && other.bottom() <= self.bottom())
    }

    /// The rectangle moved by (dx, dy), clamped to the coordinates allowed.
    #[inline]
    #[must_use]
    pub fn translated(&self, dx: i64, dy: i64) -> Self {
        Self::between(
            self.x.saturating_add(dx),
            self.y.saturating_add(dy),
            self.right().saturating_add(dx),
            self.bottom().saturating_add(dy),
        )
    }

    /// The rectangle grown by `margin` pixels on every side, clamped to the coordinates allowed.
    #[must_use]
    pub fn grown(&self, margin: u32) -> Self {
        let m = i64::from(margin);
        Self::between(self.x - m, self.y - m, self.right() + m, self.bottom() + m)
    }

    /// The rectangle shrunk by `margin` pixels on every side; empty where nothing is left.
    #[must_use]
    pub fn shrunk(&self, margin: u32) -> Self {
        let m = i64::from(margin);
        Self::between(self.x + m, self.y + m, self.right() - m, self.bottom() - m)
    }
}

/// Where a node lies in its parent and how large it is.
///
/// # Guarantees
/// Both sides are at most [`MAX_SIDE`] and at least one pixel; the offset lies within ±[`MAX_COORDINATE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    x: i64,
    y: i64,
    width: u64,
    height: u64,
}

impl Extent {
    /// The extent at (x, y), or `None` where a side is 0 or too long or the offset too far out.
    #[must_use]
    pub const fn new(x: i64, y: i64, width: u64, height: u64) -> Option<Self> {
        if width == 0 || height == 0 || width > MAX_SIDE || height > MAX_SIDE {
            return None;
        }
        if x < -MAX_COORDINATE || x > MAX_COORDINATE || y < -MAX_COORDINATE || y > MAX_COORDINATE {
            return None;
        }
        Some(Self { x, y, width, height })
    }

    /// The horizontal offset in the parent's coordinates.
    #[must_use]
    pub const fn x(&self) -> i64 {
        self.x
    }

    /// The vertical offset in the parent's coordinates.
    #[must_use]
    pub const fn y(&self) -> i64 {
        self.y
    }

    /// The number of columns.
    #[must_use]
    pub const fn width(&self) -> u64 {
        self.width
    }

    /// The number of rows.
    #[must_use]
    pub const fn height(&self) -> u64 {
        self.height
    }

    /// The rectangle of the node in its own coordinates: at the origin.
    #[must_use]
    pub const fn local(&self) -> Rect {
        Rect {
            x: 0,
            y: 0,
            width: self.width,
            height: self.height,
        }
    }

    /// The rectangle of the node in its parent's coordinates.
    #[must_use]
    pub const fn in_parent(&self) -> Rect {
        Rect {
            x: self.x,
            y: self.y,
            width: self.width,
            height: self.height,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_that_touch_share_nothing() {
        let a = Rect::new(0, 0, 4, 4).unwrap();
        let b = Rect::new(4, 0, 4, 4).unwrap();
        assert!(a.intersection(&b).is_empty());
        assert_eq!(
            a.intersection(&b.translated(-1, 2)),
            Rect::new(3, 2, 1, 2).unwrap()
        );
    }

    #[test]
    fn growing_at_the_limit_stays_inside_it() {
        let far = Rect::new(2 * MAX_COORDINATE - 1, 0, 1, 1).unwrap();
        assert_eq!(far.grown(4_096).right(), 2 * MAX_COORDINATE);
        assert!(far.translated(i64::MAX, i64::MIN).is_empty());
    }

    #[test]
    fn a_side_reaches_from_one_limit_to_the_other_and_no_farther() {
        const LIMIT: i64 = 2 * MAX_COORDINATE;
        let longest = Rect::new(-LIMIT, -LIMIT, 4 * MAX_COORDINATE as u64, 1).unwrap();
        assert_eq!((longest.right(), longest.bottom()), (LIMIT, 1 - LIMIT));
        assert!(Rect::new(-LIMIT, 0, 4 * MAX_COORDINATE as u64 + 1, 1).is_none());
        assert!(Rect::new(0, LIMIT, 1, 1).is_none());
    }

    #[test]
    fn shrinking_past_the_middle_is_empty() {
        assert!(Rect::sized(10, 10).shrunk(5).is_empty());
        assert_eq!(Rect::sized(10, 10).shrunk(4), Rect::new(4, 4, 2, 2).unwrap());
    }

    #[test]
    fn an_extent_has_at_least_one_pixel_and_at_most_the_longest_side() {
        assert!(Extent::new(0, 0, 0, 1).is_none());
        assert!(Extent::new(0, 0, 1, MAX_SIDE + 1).is_none());
        assert!(Extent::new(-MAX_COORDINATE, MAX_COORDINATE, MAX_SIDE, MAX_SIDE).is_some());
    }
}
