//! How a raster repeats.

use crate::Rect;

/// A lattice of periods in Hermite normal form: a raster with this period has the same sample at (x, y), at
/// (x + a, y) and at (x + b, y + c).
///
/// Every lattice of integer vectors with a determinant other than 0 has exactly one such form with a > 0, c > 0
/// and 0 ≤ b < a (see H. Cohen, *A Course in Computational Algebraic Number Theory*, §2.4). One cell of a × c
/// samples, at (0, 0), holds the whole raster: sample (x, y) is that of the cell at
/// ((x − b·⌊y / c⌋) mod a, y mod c).
///
/// # Guarantees
/// 0 < a, c ≤ 2^62 and b < a, so that products of two of them fit in 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Period {
    a: u64,
    b: u64,
    c: u64,
}

/// The greatest step of a period.
const MAX_STEP: u64 = 1 << 62;

impl Period {
    /// The period of a raster whose samples are all the same.
    pub const ONE: Self = Self { a: 1, b: 0, c: 1 };

    /// The period with steps along the axes, or `None` where one is 0 or more than 2^62.
    #[must_use]
    pub const fn grid(step_x: u64, step_y: u64) -> Option<Self> {
        Self::checked(step_x as u128, 0, step_y as u128)
    }

    const fn checked(a: u128, b: u128, c: u128) -> Option<Self> {
        const LIMIT: u128 = MAX_STEP as u128;
        if a == 0 || c == 0 || a > LIMIT || c > LIMIT || b >= a {
            return None;
        }
        Some(Self {
            a: a as u64,
            b: b as u64,
            c: c as u64,
        })
    }

    /// The period spanned by the vectors `u` and `v`, or `None` where their determinant is 0 or a step of it
    /// would exceed 2^62.
    #[must_use]
    pub fn spanned(u: (i64, i64), v: (i64, i64)) -> Option<Self> {
        let ((ux, uy), (vx, vy)) = (widen(u), widen(v));
        let determinant = (ux * vy - uy * vx).unsigned_abs();
        if determinant == 0 {
            return None;
        }
        let (c, s, t) = extended_gcd(uy, vy);
        let a = determinant / c.unsigned_abs();
        Self::checked(a, 0, c.unsigned_abs())?;
        let a = a.cast_signed();
        // s·u + t·v has the height c; its x, reduced by the horizontal period, is b. The coefficients are
        // reduced first, so that the products stay in range.
        let b = ((s.rem_euclid(a) * ux.rem_euclid(a)).rem_euclid(a)
            + (t.rem_euclid(a) * vx.rem_euclid(a)).rem_euclid(a))
        .rem_euclid(a);
        Self::checked(a.unsigned_abs(), b.unsigned_abs(), c.unsigned_abs())
    }

    /// The period of copies at the whole numbers nearest to the combinations of the vectors `u` and `v`, whose components
    /// stand over a denominator for each axis: the combinations that are whole along both. That of
    /// [`spanned`](Self::spanned) where both denominators are 1. `None` where the determinant or a denominator is 0, or a
    /// step of it, or of the vectors without their denominators, would exceed 2^62.
    ///
    /// ```
    /// use relief_raster::Period;
    ///
    /// // Steps of 5/2 along x and of 7/3 along y.
    /// let period = Period::spanned_over((5, 0), (0, 7), (2, 3)).unwrap();
    /// assert_eq!(period, Period::grid(5, 7).unwrap());
    /// // (1/2, 1/2) and (−1/2, 1/2): once each, to (0, 1).
    /// let period = Period::spanned_over((1, 1), (-1, 1), (2, 2)).unwrap();
    /// assert_eq!(period, Period::grid(1, 1).unwrap());
    /// ```
    #[must_use]
    pub fn spanned_over(u: (i64, i64), v: (i64, i64), denominators: (u32, u32)) -> Option<Self> {
        let (dx, dy) = (u64::from(denominators.0), u64::from(denominators.1));
        let whole = Self::spanned(u, v)?.intersection(&Self::grid(dx, dy)?)?;
        // All its vectors are multiples of the denominators.
        Self::checked(
            (whole.a / dx).into(),
            (whole.b / dx).into(),
            (whole.c / dy).into(),
        )
    }

    /// The horizontal period.
    #[must_use]
    pub const fn a(&self) -> u64 {
        self.a
    }

    /// How far the raster is shifted to the right every [`c`](Self::c) rows; less than [`a`](Self::a).
    #[must_use]
    pub const fn b(&self) -> u64 {
        self.b
    }

    /// The number of rows after which the raster repeats, shifted by [`b`](Self::b).
    #[must_use]
    pub const fn c(&self) -> u64 {
        self.c
    }

    /// The number of samples of one cell: a·c.
    #[must_use]
    pub const fn cell(&self) -> u128 {
        self.a as u128 * self.c as u128
    }

    /// The place of (x, y) in the cell.
    #[must_use]
    pub fn reduce(&self, x: i64, y: i64) -> (u64, u64) {
        // Numbers of 64 bits do for all but very large cells, in a fraction of the time.
        if let (Ok(a), Ok(c)) = (u32::try_from(self.a), i64::try_from(self.c)) {
            let a = i64::from(a);
            // `b` is less than `a`.
            let shift = y.div_euclid(c).rem_euclid(a) as u64 * self.b % self.a;
            let column = (x.rem_euclid(a) - shift.cast_signed()).rem_euclid(a);
            return (column.unsigned_abs(), y.rem_euclid(c).unsigned_abs());
        }
        let rows = i128::from(y).div_euclid(i128::from(self.c));
        let row = i128::from(y).rem_euclid(i128::from(self.c));
        let a = i128::from(self.a);
        let shift = rows.rem_euclid(a) * i128::from(self.b) % a;
        let column = (i128::from(x) - shift).rem_euclid(a);
        // Both are remainders by a `u64`.
        (column as u64, row as u64)
    }

    /// The coarsest lattice of vectors that are periods of both: that of a raster computed point by point from
    /// two rasters. `None` where its numbers exceed `u64`.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        let (a1, b1, c1) = (i128::from(self.a), i128::from(self.b), i128::from(self.c));
        let (a2, b2, c2) = (i128::from(other.a), i128::from(other.b), i128::from(other.c));
        let (g, s, _) = extended_gcd(a1, a2);
        let a = a1.checked_mul(a2 / g)?;
        let rows = c1.checked_mul(c2 / extended_gcd(c1, c2).0)?;
        Self::checked(a.unsigned_abs(), 0, rows.unsigned_abs())?;
        // After `rows` rows each raster is shifted by this much, modulo its own a.
        let shift1 = (rows / c1).rem_euclid(a1) * b1 % a1;
        let shift2 = (rows / c2).rem_euclid(a2) * b2 % a2;
        // The smallest multiple k of `rows` at which the two shifts agree modulo gcd(a1, a2).
        let gap = (shift2 - shift1).rem_euclid(g);
        let k = g / extended_gcd(g, gap).0;
        let c = rows.checked_mul(k)?;
        Self::checked(a.unsigned_abs(), 0, c.unsigned_abs())?;
        // Chinese remainders: b ≡ k·shift1 (mod a1), b ≡ k·shift2 (mod a2).
        let (x1, x2) = (k.rem_euclid(a1) * shift1 % a1, k.rem_euclid(a2) * shift2 % a2);
        let steps = (((x2 - x1) / g).rem_euclid(a2 / g) * s.rem_euclid(a2 / g)).rem_euclid(a2 / g);
        let b = (x1 + a1 * steps).rem_euclid(a);
        Self::checked(a.unsigned_abs(), b.unsigned_abs(), c.unsigned_abs())
    }

    /// The pixels of `rect` that have the place (column, row) in the cell: of [`Period::reduce`]d pixels, those that give it.
    ///
    /// # Panics
    /// Where the place is not in the cell.
    #[must_use]
    pub fn copies(&self, rect: &Rect, (column, row): (u64, u64)) -> u128 {
        assert!(
            column < self.a && row < self.c,
            "place ({column}, {row}) in a cell of {} × {} samples",
            self.a,
            self.c
        );
        let (a, b, c) = (i128::from(self.a), i128::from(self.b), i128::from(self.c));
        let (column, row) = (i128::from(column), i128::from(row));
        // Rows y = row + k·c of the rectangle, first ≤ k < first + count.
        let first = -(row - i128::from(rect.y())).div_euclid(c);
        let count = -(row - i128::from(rect.bottom())).div_euclid(c) - first;
        if count <= 0 || rect.is_empty() {
            return 0;
        }
        // In each, columns x ≡ column + k·b modulo a: those before `end` less those before the left side. Counted from the
        // last k, so that the shift grows.
        let last = (first + count - 1).rem_euclid(a) * b % a;
        let before = |end: i64| floor_sum(count, a, b, i128::from(end) - 1 - column - last);
        (before(rect.right()) - before(rect.x())).unsigned_abs()
    }

    /// Whether moving by (dx, dy) leaves the raster as it is.
    #[must_use]
    pub fn has(&self, dx: i64, dy: i64) -> bool {
        self.reduce(dx, dy) == (0, 0)
    }
}

/// Σ ⌊(a·k + b) / m⌋ over 0 ≤ k < n, for n, a ≥ 0 and m > 0 of which no product exceeds 126 bits; in as many steps as Euclid's algorithm takes for a and m.
#[must_use]
pub fn floor_sum(mut n: i128, mut m: i128, mut a: i128, b: i128) -> i128 {
    let mut sum = n * b.div_euclid(m);
    let mut b = b.rem_euclid(m);
    loop {
        sum += (n - 1) * n / 2 * (a / m) + n * (b / m);
        (a, b) = (a % m, b % m);
        // The points below the line, counted along the other axis.
        let top = a * n + b;
        if top < m {
            return sum;
        }
        n = top / m;
        b = top % m;
        std::mem::swap(&mut m, &mut a);
    }
}

fn widen((x, y): (i64, i64)) -> (i128, i128) {
    (i128::from(x), i128::from(y))
}

/// (g, s, t) with s·x + t·y = g = gcd(x, y) > 0; (0, …) only for x = y = 0.
fn extended_gcd(x: i128, y: i128) -> (i128, i128, i128) {
    let (mut r0, mut r1) = (x, y);
    let (mut s0, mut s1, mut t0, mut t1) = (1, 0, 0, 1);
    while r1 != 0 {
        let q = r0 / r1;
        (r0, r1) = (r1, r0 - q * r1);
        (s0, s1) = (s1, s0 - q * s1);
        (t0, t1) = (t1, t0 - q * t1);
    }
    if r0 < 0 { (-r0, -s0, -t0) } else { (r0, s0, t0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lattice_of_the_sources_has_a_cell_of_its_determinant() {
        let period = Period::spanned((90, 20), (-15, 85)).unwrap();
        assert_eq!(period.cell(), 90 * 85 + 20 * 15);
        assert!(period.has(90, 20) && period.has(-15, 85));
        assert!(!period.has(90, 0) && !period.has(0, 5));
    }

    /// Every vector of a period is a whole combination of the vectors, and every whole combination near is in it.
    #[test]
    fn periods_of_fractional_vectors_are_their_whole_combinations() {
        for (u, v, over) in [
            ((5, 0), (0, 7), (2, 3)),
            ((7, 3), (-2, 9), (4, 6)),
            ((30_000, 127), (-11, 254), (127, 127)),
            ((1, 1), (-1, 1), (2, 2)),
            ((9, 6), (6, -9), (1, 5)),
            ((3, 2), (1, 7), (1, 1)),
        ] {
            let period = Period::spanned_over(u, v, over).unwrap();
            let (dx, dy) = (i64::from(over.0), i64::from(over.1));
            let combination = |i: i64, j: i64| {
                let (x, y) = (i * u.0 + j * v.0, i * u.1 + j * v.1);
                (x % dx == 0 && y % dy == 0).then(|| (x / dx, y / dy))
            };
            let near = (-40..40).flat_map(|i| (-40..40).map(move |j| (i, j)));
            let mut found = 0;
            for (dx, dy) in near.filter_map(|(i, j)| combination(i, j)) {
                assert!(period.has(dx, dy), "({dx}, {dy}) of {u:?} {v:?} over {over:?}");
                found += 1;
            }
            assert!(found > 0);
            // The determinant of the whole combinations is that of the vectors times how many combinations there are for one
            // that is whole.
            let determinant =
                (i128::from(u.0) * i128::from(v.1) - i128::from(u.1) * i128::from(v.0)).unsigned_abs();
            let classes = period.cell() * u128::from(over.0) * u128::from(over.1);
            assert_eq!(classes % determinant, 0);
            let index = classes / determinant;
            // Of index × index neighbouring combinations, exactly `index` are whole.
            let side = i64::try_from(index).unwrap().min(400);
            if i128::from(side) == i128::try_from(index).unwrap() {
                let all = (0..side).flat_map(|i| (0..side).map(move |j| (i, j)));
                assert_eq!(all.filter_map(|(i, j)| combination(i, j)).count() as u128, index);
            }
        }
        assert_eq!(
            Period::spanned_over((90, 20), (-15, 85), (1, 1)),
            Period::spanned((90, 20), (-15, 85))
        );
        assert_eq!(Period::spanned_over((2, 4), (1, 2), (3, 3)), None);
        assert_eq!(Period::spanned_over((2, 4), (1, 3), (0, 3)), None);
    }

    #[test]
    fn places_of_the_cell_are_counted_as_reducing_every_pixel_does() {
        let periods = [
            Period::ONE,
            Period::grid(3, 5).unwrap(),
            Period::spanned((4, 2), (-3, 7)).unwrap(),
            Period::spanned((9, 6), (6, -9)).unwrap(),
            Period::spanned((1, 12), (0, 13)).unwrap(),
        ];
        for period in periods {
            for (x, y, width, height) in [
                (0, 0, 17, 23),
                (-11, -40, 29, 61),
                (5, 3, 1, 1),
                (7, -2, 0, 4),
                (-3, 9, 2, 70),
            ] {
                let rect = Rect::new(x, y, width, height).unwrap();
                let mut counted = std::collections::HashMap::new();
                for y in rect.y()..rect.bottom() {
                    for x in rect.x()..rect.right() {
                        *counted.entry(period.reduce(x, y)).or_insert(0_u128) += 1;
                    }
                }
                for row in 0..period.c() {
                    for column in 0..period.a() {
                        let place = (column, row);
                        let expected = counted.get(&place).copied().unwrap_or(0);
                        assert_eq!(
                            period.copies(&rect, place),
                            expected,
                            "{period:?} {rect:?} {place:?}"
                        );
                    }
                }
            }
        }
        // Too large to count one by one: all places together are all pixels.
        let period = Period::spanned((90, 20), (-15, 85)).unwrap();
        let rect = Rect::new(-5, 3, (1 << 40) - 7, (1 << 40) - 1).unwrap();
        let places = (0..period.c()).flat_map(|row| (0..period.a()).map(move |column| (column, row)));
        assert_eq!(
            places.map(|place| period.copies(&rect, place)).sum::<u128>(),
            rect.area()
        );
    }

    #[test]
    fn parallel_vectors_span_nothing() {
        assert_eq!(Period::spanned((3, 6), (-1, -2)), None);
        assert_eq!(Period::grid(0, 3), None);
    }

    #[test]
    fn numbers_that_exceed_the_range_are_no_period() {
        let far = Period::grid((1 << 62) - 1, 3).unwrap();
        assert_eq!(far.intersection(&Period::grid(2, 1).unwrap()), None);
        assert_eq!(Period::spanned((i64::MIN, 0), (0, i64::MIN)), None);
        assert_eq!(
            Period::spanned((1 << 62, 0), (0, 1 << 62)),
            Period::grid(1 << 62, 1 << 62)
        );
        assert_eq!(Period::grid(u64::MAX, 1), None);
        assert_eq!(Period::spanned((i64::MIN, 1), (1, i64::MIN)), None);
    }

    #[test]
    fn membership_agrees_with_solving_for_integer_coefficients() {
        for (u, v) in [
            ((3, 1), (-1, 2)),
            ((4, 0), (0, 6)),
            ((0, 5), (7, 0)),
            ((-3, -4), (5, -2)),
            ((6, 4), (2, 8)),
        ] {
            let period = Period::spanned(u, v).unwrap();
            let det = u.0 * v.1 - u.1 * v.0;
            for x in -25..25 {
                for y in -25..25 {
                    let (i, j) = (x * v.1 - y * v.0, y * u.0 - x * u.1);
                    let member = i % det == 0 && j % det == 0;
                    assert_eq!(period.has(x, y), member, "{u:?} {v:?} at {x},{y}");
                }
            }
        }
    }

    #[test]
    fn the_intersection_holds_exactly_the_common_periods() {
        let lattices = [
            Period::spanned((3, 1), (-1, 2)).unwrap(),
            Period::spanned((4, 2), (-2, 6)).unwrap(),
            Period::grid(6, 4).unwrap(),
            Period::spanned((5, 0), (2, 1)).unwrap(),
            Period::spanned((6, 3), (0, 9)).unwrap(),
            Period::ONE,
        ];
        for p in &lattices {
            for q in &lattices {
                let both = p.intersection(q).unwrap();
                for x in -40..40 {
                    for y in -40..40 {
                        assert_eq!(
                            both.has(x, y),
                            p.has(x, y) && q.has(x, y),
                            "{p:?} {q:?} at {x},{y}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn the_cell_is_reached_from_everywhere() {
        let period = Period::spanned((7, 3), (-2, 5)).unwrap();
        for (x, y) in [(0, 0), (i64::MIN, i64::MAX), (i64::MAX, i64::MIN), (-1, -1)] {
            let (column, row) = period.reduce(x, y);
            assert!(column < period.a() && row < period.c());
        }
    }
}
