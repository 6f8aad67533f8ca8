//! What is known of the samples of a rectangle together: how many there are, their sum, the least and the greatest of them.
//!
//! Sums of folded rasters are bounded by what holds for every pair of samples, as the products of two intervals by the four planes
//! through their corners (G. P. McCormick, *Computability of global solutions to factorable nonconvex programs*, 1976), so that
//! a fold of rasters of which one is almost constant is known almost exactly.

use relief_kernels::fold::Fold;

use super::Bounds;

/// How the entries of a table go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Straight {
    /// Each is greater by one than that before it.
    Rises,
    /// Each is less by one.
    Falls,
    /// Neither.
    No,
}

/// How often one number lies in another, and what is left. Numbers of 64 bits, as most are, are divided by the processor itself.
pub(crate) fn quotient(number: u128, by: u128) -> (u128, u128) {
    match (u64::try_from(number), u64::try_from(by)) {
        (Ok(number), Ok(by)) => ((number / by).into(), (number % by).into()),
        _ => (number / by, number % by),
    }
}

/// Runs of samples above 0 along the rows of a raster, at least and at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Runs {
    /// How many there are.
    pub count: (u128, u128),
    /// The pixels of the longest of them.
    pub longest: (u64, u64),
}

impl Runs {
    /// Runs that were counted.
    #[must_use]
    pub const fn counted(count: u128, longest: u64) -> Self {
        Self {
            count: (count, count),
            longest: (longest, longest),
        }
    }

    /// Whether both figures are known.
    #[must_use]
    pub const fn is_exact(&self) -> bool {
        self.count.0 == self.count.1 && self.longest.0 == self.longest.1
    }
}

/// What is known of the samples of a rectangle: pairs are the least and the greatest that a figure may be, and equal where it is
/// known exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// How many samples there are.
    pub pixels: u128,
    /// Their sum.
    pub sum: (u128, u128),
    /// How many of them are 0.
    pub zeros: (u128, u128),
    /// The least of them.
    pub least: (u16, u16),
    /// The greatest of them.
    pub greatest: (u16, u16),
}

impl Summary {
    /// Of no sample.
    pub(crate) const EMPTY: Self = Self {
        pixels: 0,
        sum: (0, 0),
        zeros: (0, 0),
        least: (u16::MAX, u16::MAX),
        greatest: (0, 0),
    };

    /// Of so many samples of which nothing but bounds is known.
    pub(crate) fn within(bounds: Bounds, pixels: u128) -> Self {
        if pixels == 0 {
            return Self::EMPTY;
        }
        let Bounds { least, greatest } = bounds;
        Self {
            pixels,
            sum: (pixels * u128::from(least), pixels * u128::from(greatest)),
            zeros: match (least, greatest) {
                (0, 0) => (pixels, pixels),
                (0, _) => (0, pixels),
                _ => (0, 0),
            },
            least: (least, greatest),
            greatest: (least, greatest),
        }
    }

    /// Of so many equal samples.
    pub(crate) fn constant(sample: u16, pixels: u128) -> Self {
        Self::within(Bounds::one(sample), pixels)
    }

    /// Of samples of which everything is known.
    pub(crate) fn exact(pixels: u128, sum: u128, zeros: u128, least: u16, greatest: u16) -> Self {
        if pixels == 0 {
            return Self::EMPTY;
        }
        Self {
            pixels,
            sum: (sum, sum),
            zeros: (zeros, zeros),
            least: (least, least),
            greatest: (greatest, greatest),
        }
    }

    /// Of samples of which it is known how often each, from 0 on, is there.
    ///
    /// ```
    /// # use relief_engine::Summary;
    /// let summary = Summary::of_counts(&[3, 0, 1]);
    /// assert_eq!((summary.pixels, summary.sum, summary.zeros, summary.greatest), (4, (2, 2), (3, 3), (2, 2)));
    /// ```
    #[must_use]
    pub fn of_counts(counts: &[u128]) -> Self {
        let there = (0_u16..=u16::MAX).zip(counts).filter(|(_, times)| **times > 0);
        there.fold(Self::EMPTY, |all, (sample, times)| {
            all.and(Self::constant(sample, *times))
        })
    }

    /// Of samples with this sum of which the least and the greatest are known; `None` where there are no such samples.
    #[must_use]
    pub fn of_figures(pixels: u128, sum: u128, least: u16, greatest: u16) -> Option<Self> {
        let possible = least <= greatest
            && (pixels * u128::from(least)..=pixels * u128::from(greatest)).contains(&sum)
            && pixels > 0;
        possible.then(|| Self {
            sum: (sum, sum),
            least: (least, least),
            greatest: (greatest, greatest),
            ..Self::within(Bounds::between(least, greatest), pixels)
        })
    }

    /// What this and another summary say of the same samples.
    #[must_use]
    pub fn and_known(self, other: Self) -> Self {
        self.both(other)
    }

    /// Whether everything is known.
    #[must_use]
    pub const fn is_exact(&self) -> bool {
        self.sum.0 == self.sum.1
            && self.zeros.0 == self.zeros.1
            && self.least.0 == self.least.1
            && self.greatest.0 == self.greatest.1
    }

    /// The mean, halves up: ⌊(2S + n) / 2n⌋ of n samples with the sum S; what it is at least and at most. 0 of no sample.
    #[must_use]
    pub fn mean(&self) -> (u16, u16) {
        let mean = |sum: u128| {
            let some = (self.pixels > 0).then(|| quotient(2 * sum + self.pixels, 2 * self.pixels));
            some.map_or(0, |(mean, _)| mean as u16)
        };
        (mean(self.sum.0), mean(self.sum.1))
    }

    /// How many runs of samples above 0 there may be along rows of `width` pixels, and how long the longest may be: at least and at most. Each row has at
    /// most one run more than it has zeros, and the row with the fewest zeros has no more of them than rows have on average.
    ///
    /// ```
    /// # use relief_engine::Summary;
    /// // Two rows of three pixels: one sample is 0.
    /// let summary = Summary::of_counts(&[1, 5]);
    /// let runs = summary.runs(3);
    /// assert_eq!((runs.count, runs.longest), ((2, 3), (3, 3)));
    /// ```
    #[must_use]
    pub fn runs(&self, width: u64) -> Runs {
        let wide = u128::from(width.max(1));
        let rows = self.pixels / wide;
        let set = (self.pixels - self.zeros.1, self.pixels - self.zeros.0);
        let most = set
            .1
            .min(self.zeros.1.saturating_add(rows))
            .min(rows * wide.div_ceil(2));
        if set.0 == 0 {
            return Runs {
                count: (0, most),
                longest: (0, set.1.min(wide) as u64),
            };
        }
        let zeros = self.zeros.1 / rows.max(1);
        let longest = (wide.saturating_sub(zeros).div_ceil(zeros + 1)).max(set.0.div_ceil(most.max(1)));
        Runs {
            count: (set.0.div_ceil(wide), most),
            longest: (longest as u64, set.1.min(wide) as u64),
        }
    }

    /// Between which every sample lies.
    pub(crate) fn bounds(&self) -> Bounds {
        if self.pixels == 0 {
            return Bounds::ZERO;
        }
        Bounds {
            least: self.least.0,
            greatest: self.greatest.1,
        }
    }

    /// Of these samples and others.
    pub(crate) fn and(self, other: Self) -> Self {
        let both = |one: (u16, u16), other: (u16, u16), pick: fn(u16, u16) -> u16| {
            (pick(one.0, other.0), pick(one.1, other.1))
        };
        Self {
            pixels: self.pixels + other.pixels,
            sum: (self.sum.0 + other.sum.0, self.sum.1 + other.sum.1),
            zeros: (self.zeros.0 + other.zeros.0, self.zeros.1 + other.zeros.1),
            least: both(self.least, other.least, u16::min),
            greatest: both(self.greatest, other.greatest, u16::max),
        }
    }

    /// Of these samples so many times.
    pub(crate) fn times(self, count: u128) -> Self {
        if count == 0 {
            return Self::EMPTY;
        }
        Self {
            pixels: self.pixels * count,
            sum: (self.sum.0 * count, self.sum.1 * count),
            zeros: (self.zeros.0 * count, self.zeros.1 * count),
            ..self
        }
    }

    /// What both say of the same samples.
    pub(crate) fn both(self, other: Self) -> Self {
        let narrower = |one: (u16, u16), other: (u16, u16)| (one.0.max(other.0), one.1.min(other.1));
        Self {
            pixels: self.pixels,
            sum: (self.sum.0.max(other.sum.0), self.sum.1.min(other.sum.1)),
            zeros: (self.zeros.0.max(other.zeros.0), self.zeros.1.min(other.zeros.1)),
            least: narrower(self.least, other.least),
            greatest: narrower(self.greatest, other.greatest),
        }
    }

    /// Of samples with this sum that lie between these, of which so many are 0.
    fn of_sum(pixels: u128, sum: (u128, u128), zeros: (u128, u128), bounds: Bounds) -> Self {
        let all = Self::within(bounds, pixels);
        let sum = (sum.0.max(all.sum.0), sum.1.min(all.sum.1));
        // No sample is above the least mean and below the greatest at once.
        let (floor, (least, left)) = (quotient(sum.1, pixels.max(1)).0, quotient(sum.0, pixels.max(1)));
        let ceiling = least + u128::from(left > 0);
        Self {
            pixels,
            sum,
            zeros: (zeros.0.max(all.zeros.0), zeros.1.min(all.zeros.1)),
            least: (bounds.least, bounds.greatest.min(floor as u16)),
            greatest: (bounds.least.max(ceiling as u16), bounds.greatest),
        }
    }

    /// Of samples of which this is known and which have this sum.
    pub(crate) fn of_exactly(self, sum: u128) -> Self {
        let zeros = self.zeros;
        let bounds = self.bounds();
        Self::of_sum(self.pixels, (sum, sum), zeros, bounds).both(self)
    }

    /// Of every sample through a table of which it has an entry.
    pub(crate) fn through(self, table: &[u16]) -> Option<Self> {
        let bounds = self.bounds();
        let through = bounds.through(table)?;
        let entries = &table[usize::from(bounds.least)..=usize::from(bounds.greatest)];
        let first = entries.first().copied()?;
        let rises = |(place, entry): (usize, &u16)| usize::from(*entry) == usize::from(first) + place;
        let falls = |(place, entry): (usize, &u16)| usize::from(*entry) + place == usize::from(first);
        let straight = match () {
            () if entries.iter().enumerate().all(rises) => Straight::Rises,
            () if entries.iter().enumerate().all(falls) => Straight::Falls,
            () => Straight::No,
        };
        Some(self.through_entries(first, through, straight))
    }

    /// Of every sample through a table whose entries of these samples lie in `through`, the first of them being `first`.
    pub(crate) fn through_entries(self, first: u16, through: Bounds, straight: Straight) -> Self {
        let bounds = self.bounds();
        match straight {
            // Moved by one number.
            Straight::Rises => {
                let moved = |sum: u128| {
                    sum - self.pixels * u128::from(bounds.least) + self.pixels * u128::from(first)
                };
                let move_one = |sample: u16| sample - bounds.least + first;
                Self {
                    pixels: self.pixels,
                    sum: (moved(self.sum.0), moved(self.sum.1)),
                    zeros: match (through.least, first == bounds.least) {
                        (1.., _) => (0, 0),
                        (0, true) => self.zeros,
                        (0, false) => (0, self.pixels),
                    },
                    least: (move_one(self.least.0), move_one(self.least.1)),
                    greatest: (move_one(self.greatest.0), move_one(self.greatest.1)),
                }
            }
            Straight::Falls => {
                let top = u128::from(first) + u128::from(bounds.least);
                let turned = |sum: u128| self.pixels * top - sum;
                let turn = |sample: u16| first - (sample - bounds.least);
                Self {
                    pixels: self.pixels,
                    sum: (turned(self.sum.1), turned(self.sum.0)),
                    zeros: Self::within(through, self.pixels).zeros,
                    least: (turn(self.greatest.1), turn(self.greatest.0)),
                    greatest: (turn(self.least.1), turn(self.least.0)),
                }
            }
            Straight::No => Self::within(through, self.pixels),
        }
    }

    /// Of M for every sample that reaches `level`, else 0; M is `max`.
    pub(crate) fn reaching(self, level: u16, max: u16) -> Self {
        let bounds = self.bounds();
        let sample = |value: u16| if value >= level { max } else { 0 };
        let bounds = Bounds::between(sample(bounds.least), sample(bounds.greatest));
        let (n, level, max) = (self.pixels, u128::from(level), u128::from(max));
        // Markov's bounds from both ends: k samples of at least `level` and n − k below it have a sum within these.
        let most = self.sum.1.checked_div(level).unwrap_or(n).min(n);
        let below = n * level.saturating_sub(1);
        let fewest = self
            .sum
            .0
            .saturating_sub(below)
            .div_ceil(max + 1 - level.min(max));
        let fewest = fewest.min(n);
        Self::of_sum(n, (fewest * max, most * max), (n - most, n - fewest), bounds)
    }

    /// Of what folding `other` into these gives, sample by sample; both are of the depth with the greatest sample `max`.
    pub(crate) fn fold(self, fold: Fold, other: Self, max: u16) -> Self {
        let (a, b) = (self.bounds(), other.bounds());
        let bounds = a.fold(fold, b, max);
        let n = self.pixels;
        let times = |sample: u16| n * u128::from(sample);
        let (s, t) = (self.sum, other.sum);
        let (y, z) = (self.zeros, other.zeros);
        let both = ((y.0 + z.0).saturating_sub(n), y.1.min(z.1));
        let either = (y.0.max(z.0), n.min(y.1 + z.1));
        let zeros = match fold {
            Fold::Base => z,
            Fold::Add | Fold::Mean | Fold::Max | Fold::Over => both,
            Fold::Min | Fold::Mask => either,
            // And where the difference, or a product, comes to nothing.
            Fold::Subtract => (y.0, n),
            Fold::Multiply => (either.0, n),
        };
        let sum = match fold {
            Fold::Base => return other,
            Fold::Add if u32::from(a.greatest) + u32::from(b.greatest) <= u32::from(max) => {
                (s.0 + t.0, s.1 + t.1)
            }
            Fold::Add => (s.0.max(t.0), s.1 + t.1),
            Fold::Subtract if b == Bounds::ZERO => return self,
            Fold::Subtract if a.least >= b.greatest => (s.0 - t.1.min(s.0), s.1 - t.0.min(s.1)),
            Fold::Subtract => (s.0.saturating_sub(t.1), s.1),
            Fold::Multiply if b == Bounds::one(max) => return self,
            Fold::Multiply if a == Bounds::one(max) => return other,
            Fold::Multiply => product(n, (s, a), (t, b), max),
            // Halves go up.
            Fold::Mean => ((s.0 + t.0).div_ceil(2), (s.1 + t.1 + n) / 2),
            Fold::Max if b.greatest <= a.least => return self,
            Fold::Max if a.greatest <= b.least => return other,
            Fold::Max => (s.0.max(t.0), s.1 + t.1 - times(a.least.min(b.least))),
            Fold::Min if a.greatest <= b.least => return self,
            Fold::Min if b.greatest <= a.least => return other,
            Fold::Min => (
                (s.0 + t.0).saturating_sub(times(a.greatest.max(b.greatest))),
                s.1.min(t.1),
            ),
            Fold::Over if b == Bounds::ZERO => return self,
            Fold::Over if b.least > 0 => return other,
            // Where nothing lies over it, it is what it was.
            Fold::Over => {
                let shown = shown(n, (s, a), z);
                (t.0 + shown.0, t.1 + shown.1)
            }
            Fold::Mask if b.least > 0 => return self,
            Fold::Mask if b == Bounds::ZERO => return Self::constant(0, n),
            Fold::Mask => shown(n, (s, a), (n - z.1, n - z.0)),
        };
        Self::of_sum(n, sum, zeros, bounds)
    }
}

/// Between which the sum of so many of n samples lies, whichever they are.
fn shown(n: u128, (s, a): ((u128, u128), Bounds), count: (u128, u128)) -> (u128, u128) {
    let (least, greatest) = (u128::from(a.least), u128::from(a.greatest));
    (
        (count.0 * least).max(s.0.saturating_sub((n - count.0) * greatest)),
        (count.1 * greatest).min(s.1.saturating_sub((n - count.1) * least)),
    )
}

/// Between which the sum of the products of n pairs lies, each divided by `max` and rounded to the nearest.
fn product(
    n: u128,
    (s, a): ((u128, u128), Bounds),
    (t, b): ((u128, u128), Bounds),
    max: u16,
) -> (u128, u128) {
    let n = n as i128;
    let number = |sample: u16| i128::from(sample);
    let (a0, a1) = (number(a.least), number(a.greatest));
    let (b0, b1) = (number(b.least), number(b.greatest));
    // No sum exceeds 2^96.
    let (s0, s1, t0, t1) = (s.0 as i128, s.1 as i128, t.0 as i128, t.1 as i128);
    let low = (a0 * t0 + b0 * s0 - n * a0 * b0).max(a1 * t0 + b1 * s0 - n * a1 * b1);
    let high = (a1 * t1 + b0 * s1 - n * a1 * b0).min(a0 * t1 + b1 * s1 - n * a0 * b1);
    // What rounding may add to or take from each: less than a half.
    let (half, max) = (i128::from(max / 2), u128::from(max));
    // A sum is no less than 0.
    let low = u128::try_from(low - n * half).map_or(0, |low| quotient(low + max - 1, max).0);
    let high = u128::try_from(high + n * half).map_or(0, |high| quotient(high, max).0);
    (low, high)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn summary(samples: &[u16]) -> Summary {
        let sum = samples.iter().map(|sample| u128::from(*sample)).sum();
        let (least, greatest) = (samples.iter().min().unwrap(), samples.iter().max().unwrap());
        let zeros = samples.iter().filter(|sample| **sample == 0).count();
        Summary::exact(samples.len() as u128, sum, zeros as u128, *least, *greatest)
    }

    /// What is said of samples, less exactly.
    fn vague(exact: Summary, by: [u16; 3], max: u16) -> Summary {
        let n = exact.pixels;
        let by_sum = u128::from(by[0]);
        let low = exact.least.0.saturating_sub(by[1]);
        let high = exact.greatest.0.saturating_add(by[2]).min(max);
        let all = Summary::within(Bounds::between(low, high), n);
        let said = Summary {
            sum: (exact.sum.0.saturating_sub(by_sum), exact.sum.1 + by_sum),
            zeros: (
                exact.zeros.0.saturating_sub(by_sum / 64),
                exact.zeros.1 + by_sum / 64,
            ),
            least: (low, exact.least.0),
            greatest: (exact.greatest.0, high),
            ..exact
        };
        said.both(all)
    }

    fn holds(known: Summary, exact: Summary) -> bool {
        known.pixels == exact.pixels
            && known.sum.0 <= exact.sum.0
            && exact.sum.0 <= known.sum.1
            && known.zeros.0 <= exact.zeros.0
            && exact.zeros.0 <= known.zeros.1
            && known.least.0 <= exact.least.0
            && exact.least.0 <= known.least.1
            && known.greatest.0 <= exact.greatest.0
            && exact.greatest.0 <= known.greatest.1
    }

    const FOLDS: [Fold; 9] = [
        Fold::Base,
        Fold::Add,
        Fold::Subtract,
        Fold::Multiply,
        Fold::Mean,
        Fold::Max,
        Fold::Min,
        Fold::Over,
        Fold::Mask,
    ];

    fn samples() -> impl Strategy<Value = (Vec<(u16, u16)>, bool)> {
        let wide = prop::collection::vec((0..=255_u16, 0..=255_u16), 1..40);
        let narrow = (
            0..=240_u16,
            0..=240_u16,
            prop::collection::vec((0..=15_u16, 0..=15_u16), 1..40),
        )
            .prop_map(|(a, b, pairs)| pairs.into_iter().map(|(x, y)| (a + x, b + y)).collect());
        let sparse = prop::collection::vec(
            (
                0..=255_u16,
                prop_oneof![4 => Just(0_u16), 4 => Just(255), 1 => 0..=255_u16],
            ),
            1..40,
        );
        (prop_oneof![wide, narrow, sparse], any::<bool>())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_said_of_folds_and_tables_holds(
            (pairs, deep) in samples(),
            by in prop::array::uniform6(prop_oneof![2 => Just(0_u16), 1 => 0..300_u16]),
            level in 1..=255_u16,
            table in prop::collection::vec(0..=255_u16, 256),
        ) {
            // Of 16 bits, in steps of 257.
            let (max, scale) = if deep { (65_535, 257) } else { (255, 1) };
            let (a, b): (Vec<u16>, Vec<u16>) = pairs.iter().map(|(a, b)| (a * scale, b * scale)).unzip();
            let (one, other) = (vague(summary(&a), [by[0], by[1], by[2]], max), vague(summary(&b), [by[3], by[4], by[5]], max));
            for fold in FOLDS {
                let folded: Vec<u16> = a.iter().zip(&b).map(|(a, b)| if deep {
                    fold.apply(*a, *b)
                } else {
                    u16::from(fold.apply(*a as u8, *b as u8))
                }).collect();
                let (known, exact) = (one.fold(fold, other, max), summary(&folded));
                prop_assert!(holds(known, exact), "{fold:?}: {known:?} for {exact:?}");
            }
            let level = level * scale;
            let reached: Vec<u16> = a.iter().map(|a| if *a >= level { max } else { 0 }).collect();
            prop_assert!(holds(one.reaching(level, max), summary(&reached)));
            if !deep {
                let inverted: Vec<u16> = (0..=255).map(|v| 255 - v).collect();
                let moved: Vec<u16> = (0..=255_u16).map(|v| v.saturating_add(7).min(255)).collect();
                for table in [table, inverted, moved] {
                    let through: Vec<u16> = a.iter().map(|a| table[usize::from(*a)]).collect();
                    prop_assert!(holds(one.through(&table).unwrap(), summary(&through)));
                }
            }
            prop_assert!(holds(one.and(other), summary(&[a.clone(), b.clone()].concat())));
            let mean = |s: &Summary| s.mean();
            let exact = summary(&a);
            prop_assert!(mean(&one).0 <= mean(&exact).0 && mean(&exact).1 <= mean(&one).1);
        }
    }
}
