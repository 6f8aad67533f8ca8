//! What a filter reads beyond the extent of what it filters.
//!
//! A filter looks at samples on all sides of a pixel. Near the border some of them lie outside, and [`Edge`] says which
//! samples count for them. Columns and rows are mapped apart, so the corners follow.
//!
//! ```
//! use relief_kernels::edge::Edge;
//!
//! let beyond = |edge: Edge| [-2, -1, 0, 4, 5].map(|at| edge.inside(at, 4));
//! assert_eq!(beyond(Edge::Clamp), [Some(0), Some(0), Some(0), Some(3), Some(3)]);
//! assert_eq!(beyond(Edge::Mirror), [Some(2), Some(1), Some(0), Some(2), Some(1)]);
//! assert_eq!(beyond(Edge::Wrap), [Some(2), Some(3), Some(0), Some(0), Some(1)]);
//! assert_eq!(beyond(Edge::Zero), [None, None, Some(0), None, None]);
//! ```

#[cfg(feature = "gpu")]
pub(crate) mod gpu;

use std::ops::Range;

/// Which samples count for those outside of 0…n − 1, along one axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Edge {
    /// The nearest one inside: −1 reads 0, n reads n − 1.
    #[default]
    Clamp,
    /// Those mirrored at the outermost one, which is not repeated: −1 reads 1, the period is 2(n − 1). With n = 1 all
    /// read 0.
    Mirror,
    /// Those of the other end: −1 reads n − 1, the period is n.
    Wrap,
    /// None: they are 0.
    Zero,
}

/// Places that follow each other, and where what counts for them lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first place, counted from the beginning of the range that was asked for.
    pub at: usize,
    /// How many places, at least 1.
    pub count: usize,
    /// What counts for them.
    pub from: From,
}

/// What counts for the places of a [`Run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// The samples from this one on.
    Forwards(u64),
    /// The samples from this one back.
    Backwards(u64),
    /// This sample, for all of them.
    Repeated(u64),
    /// 0.
    Zero,
}

impl Edge {
    /// The place inside of 0…`len` − 1 that counts for `at`; nothing where 0 does, or where nothing is inside.
    #[must_use]
    pub fn inside(self, at: i64, len: u64) -> Option<u64> {
        let last = len.checked_sub(1)?;
        if let Ok(place) = u64::try_from(at)
            && place <= last
        {
            return Some(place);
        }
        match self {
            Self::Clamp => Some(if at < 0 { 0 } else { last }),
            Self::Mirror if last == 0 => Some(0),
            Self::Mirror => {
                let place = i128::from(at).rem_euclid(2 * i128::from(last)) as u64;
                Some(if place > last { 2 * last - place } else { place })
            }
            Self::Wrap => Some(i128::from(at).rem_euclid(i128::from(len)) as u64),
            Self::Zero => None,
        }
    }

    /// The places of `range` as runs, in order and without a gap. There are at most `range.len() / len` + 3 of them.
    ///
    /// # Panics
    /// Where the range has more places than memory has.
    pub fn runs(self, range: Range<i64>, len: u64) -> impl Iterator<Item = Run> {
        let mut at = range.start;
        std::iter::from_fn(move || {
            if at >= range.end {
                return None;
            }
            let (from, end) = self.run(at, len);
            let end = end.min(range.end);
            let place = |at: i64| {
                usize::try_from(i128::from(at) - i128::from(range.start))
                    .unwrap_or_else(|_| panic!("a range of more than {} places", usize::MAX))
            };
            let run = Run {
                at: place(at),
                count: place(end) - place(at),
                from,
            };
            at = end;
            Some(run)
        })
    }

    /// What counts for `at` and the places after it, and where that ends.
    fn run(self, at: i64, len: u64) -> (From, i64) {
        let after = |count: u64| i64::try_from(count).map_or(i64::MAX, |count| at.saturating_add(count));
        let size = i64::try_from(len).unwrap_or(i64::MAX);
        let outside = at < 0 || at >= size;
        let until_next = if at < 0 { 0 } else { i64::MAX };
        match (self, self.inside(at, len)) {
            (_, None) => (From::Zero, if len == 0 { i64::MAX } else { until_next }),
            (_, Some(place)) if !outside => (From::Forwards(place), size),
            (Self::Clamp, Some(place)) => (From::Repeated(place), until_next),
            (Self::Mirror, Some(_)) if len == 1 => (From::Repeated(0), i64::MAX),
            (Self::Mirror, Some(place)) => {
                // The period's first half runs forwards and ends with the last sample, its second back to the second one.
                let rising = i128::from(at).rem_euclid(2 * i128::from(len - 1)) < i128::from(len);
                if rising {
                    (From::Forwards(place), after(len - place))
                } else {
                    (From::Backwards(place), after(place))
                }
            }
            (_, Some(place)) => (From::Forwards(place), after(len - place)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Edge; 4] = [Edge::Clamp, Edge::Mirror, Edge::Wrap, Edge::Zero];

    fn read(edge: Edge, len: u64, range: Range<i64>) -> Vec<Option<u64>> {
        range.map(|at| edge.inside(at, len)).collect()
    }

    #[test]
    fn places_outside_are_those_of_the_definition() {
        let some = |places: &[u64]| places.iter().copied().map(Some).collect::<Vec<_>>();
        assert_eq!(read(Edge::Clamp, 3, -2..5), some(&[0, 0, 0, 1, 2, 2, 2]));
        assert_eq!(
            read(Edge::Mirror, 3, -4..8),
            some(&[0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1])
        );
        assert_eq!(read(Edge::Wrap, 3, -4..5), some(&[2, 0, 1, 2, 0, 1, 2, 0, 1]));
        assert_eq!(read(Edge::Zero, 2, -1..3), [None, Some(0), Some(1), None]);
        assert_eq!(read(Edge::Mirror, 1, -3..3), some(&[0; 6]));
        for edge in ALL {
            assert_eq!(edge.inside(0, 0), None, "{edge:?} of nothing");
            assert!(
                edge.inside(i64::MIN, u64::MAX / 2)
                    .is_none_or(|place| place < u64::MAX / 2)
            );
        }
    }

    proptest! {
        #[test]
        fn runs_say_what_each_place_reads(
            start in -40_i64..40,
            count in 0_i64..80,
            len in 0_u64..12,
            edge in prop::sample::select(ALL.to_vec()),
        ) {
            let mut places = Vec::new();
            let mut runs = 0;
            for run in edge.runs(start..start + count, len) {
                prop_assert_eq!(run.at, places.len());
                prop_assert!(run.count > 0);
                runs += 1;
                for step in 0..run.count as u64 {
                    places.push(match run.from {
                        From::Forwards(first) => Some(first + step),
                        From::Backwards(first) => Some(first - step),
                        From::Repeated(place) => Some(place),
                        From::Zero => None,
                    });
                }
            }
            prop_assert_eq!(places, read(edge, len, start..start + count));
            prop_assert!(len < 2 || runs <= 2 * count as u64 / len + 3, "{} runs", runs);
        }
    }
}
