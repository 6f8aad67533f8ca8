//! Whether a result is right.
//!
//! Outputs are poisoned before a variant runs, so that an element it leaves out shows, and lie between guards, so that a
//! write outside shows.

use std::fmt;

use rayon::prelude::*;

use crate::array::{Array, Kind};
use crate::family::{Rows, Tolerance};

/// Where a result is wrong first.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// An element is not what the reference has.
    Element {
        /// Of which output.
        output: usize,
        /// Which element.
        index: usize,
        /// What the reference has.
        expected: f64,
        /// What was found.
        found: f64,
        /// How many elements differ in all.
        count: usize,
    },
    /// A guard was overwritten.
    Guard {
        /// Of which output.
        output: usize,
        /// Bytes before the first element (negative), or after the last.
        distance: i64,
    },
    /// An input was overwritten.
    Input {
        /// Which.
        input: usize,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Element {
                output,
                index,
                expected,
                found,
                count,
            } => write!(
                f,
                "output {output} has {found} at {index} where {expected} is right; {count} differ"
            ),
            Self::Guard { output, distance } => {
                let place = match *distance < 0 {
                    true => "before its start",
                    false => "after its end",
                };
                let by = distance.abs();
                write!(f, "output {output} was overwritten {by} bytes {place}")
            }
            Self::Input { input } => write!(f, "input {input} was overwritten"),
        }
    }
}

/// The first of `found`'s elements, as bytes, that is not `expected`'s; only the first `defined` count, and of them those that
/// `rows` hold.
#[must_use]
pub fn compare(
    output: usize,
    expected: &Array,
    found: &[u8],
    defined: usize,
    rows: Option<Rows>,
    tolerance: Tolerance,
) -> Option<Difference> {
    let kind = expected.layout().kind;
    let width = kind.bytes();
    let bytes = defined * width;
    let (expected, found) = (&expected.bytes()[..bytes], &found[..bytes]);
    // Most results are right: comparing memory is fast.
    const CHUNK: usize = 1 << 20;
    let counts = |index: usize| rows.is_none_or(|rows| rows.hold(index));
    let pairs = expected.par_chunks(CHUNK).zip(found.par_chunks(CHUNK));
    if pairs.clone().all(|(expected, found)| expected == found) {
        return None;
    }
    let differs = |(expected, found): (&[u8], &[u8])| {
        expected != found && !within(tolerance, value(kind, expected), value(kind, found))
    };
    // The first that differs of each chunk, and how many do.
    let differing = pairs.enumerate().filter_map(|(chunk, (expected, found))| {
        let elements = expected.chunks_exact(width).zip(found.chunks_exact(width));
        let elements = (chunk * (CHUNK / width)..).zip(elements);
        let mut differing = elements.filter(|(index, pair)| counts(*index) && differs(*pair));
        let (first, _) = differing.next()?;
        Some((first, 1 + differing.count()))
    });
    let (index, count) = differing.reduce_with(|a, b| (a.0.min(b.0), a.1 + b.1))?;
    let at = index * width..(index + 1) * width;
    Some(Difference::Element {
        output,
        index,
        expected: value(kind, &expected[at.clone()]),
        found: value(kind, &found[at]),
        count,
    })
}

/// Whether a number that has other bits is near enough.
fn within(tolerance: Tolerance, expected: f64, found: f64) -> bool {
    let error = (expected - found).abs();
    match tolerance {
        Tolerance::Exact => false,
        Tolerance::Absolute(most) => error <= most,
        Tolerance::Relative(part) => error <= part * expected.abs().max(1.0),
    }
}

fn value(kind: Kind, bytes: &[u8]) -> f64 {
    let mut word = [0; 4];
    word[..bytes.len()].copy_from_slice(bytes);
    let word = u32::from_le_bytes(word);
    match kind {
        Kind::F32 => f32::from_bits(word).into(),
        _ => word.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected() -> Array {
        Array::from_fn(10, |i| i as f32 * 10.0)
    }

    fn found(change: impl Fn(&mut [f32])) -> Vec<u8> {
        let mut found = expected();
        change(found.slice_mut());
        found.bytes().to_vec()
    }

    #[test]
    fn the_first_difference_is_named() {
        let wrong = found(|all| {
            all[7] = 1.0;
            all[9] = f32::NAN;
        });
        let difference = compare(2, &expected(), &wrong, 10, None, Tolerance::Absolute(5.0)).unwrap();
        let text = "output 2 has 1 at 7 where 70 is right; 2 differ";
        assert_eq!(difference.to_string(), text);
        assert_eq!(compare(2, &expected(), &wrong, 7, None, Tolerance::Exact), None);
    }

    #[test]
    fn what_lies_between_rows_means_nothing() {
        let wrong = found(|all| {
            all[3] = 1.0;
            all[7] = 1.0;
            all[9] = 1.0;
        });
        let rows = |len, pitch| Some(Rows { len, pitch });
        let compare = |rows| compare(0, &expected(), &wrong, 10, rows, Tolerance::Exact);
        assert_eq!(
            compare(rows(3, 4)).unwrap().to_string(),
            "output 0 has 1 at 9 where 90 is right; 1 differ"
        );
        assert_eq!(compare(rows(1, 4)), None);
        assert!(compare(rows(4, 4)).unwrap().to_string().ends_with("3 differ"));
    }

    #[test]
    fn a_tolerance_is_held() {
        let near = found(|all| all[7] = 70.5);
        let compare = |tolerance| compare(0, &expected(), &near, 10, None, tolerance);
        assert!(compare(Tolerance::Exact).is_some());
        assert_eq!(compare(Tolerance::Absolute(0.5)), None);
        assert!(compare(Tolerance::Absolute(0.4)).is_some());
        assert_eq!(compare(Tolerance::Relative(0.01)), None);
        assert!(compare(Tolerance::Relative(0.001)).is_some());
    }
}
