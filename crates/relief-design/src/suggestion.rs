//! "Did you mean": the known word nearest to an unknown one.

use std::cell::Cell;

/// The comparisons of letters that all suggestions of a report may take: a few hundredths of a second.
const MAX_COMPARISONS: u64 = 1 << 24;

/// Suggestions of one report. They share a bound of their time; beyond it there are none.
#[derive(Debug)]
pub(crate) struct Suggestions {
    left: Cell<u64>,
}

/// The candidate that differs from a word by the fewest letters, if those are few: what may be meant by a name that is not there.
///
/// ```
/// assert_eq!(relief_design::near("maks.png", ["mask.png", "sheet.kdl"]), Some("mask.png"));
/// assert_eq!(relief_design::near("photo.png", ["mask.png"]), None);
/// ```
pub fn near<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    Suggestions::default().near(word, candidates)
}

impl Default for Suggestions {
    fn default() -> Self {
        Self {
            left: Cell::new(MAX_COMPARISONS),
        }
    }
}

impl Suggestions {
    /// The candidate that differs from the word by the fewest letters, if those are few.
    pub(crate) fn near<'c>(
        &self,
        word: &str,
        candidates: impl IntoIterator<Item = &'c str>,
    ) -> Option<&'c str> {
        // The distance takes time in proportion to the product of the lengths, and no long word is near a short one.
        const LONGEST: usize = 64;
        if word.len() > LONGEST {
            return None;
        }
        let word = word.to_lowercase();
        let letters = word.chars().count();
        let allowed = (letters / 3).max(1);
        let mut nearest = None;
        for candidate in candidates
            .into_iter()
            .filter(|candidate| candidate.len() <= LONGEST)
        {
            let length = candidate.chars().count();
            // Each letter more is a difference.
            if length.abs_diff(letters) > allowed {
                continue;
            }
            let left = self.left.get().checked_sub((length * letters) as u64)?;
            self.left.set(left);
            let distance = strsim::osa_distance(&word, &candidate.to_lowercase());
            let near = distance <= allowed && distance < length;
            if near && nearest.is_none_or(|(least, _)| distance < least) {
                nearest = Some((distance, candidate));
            }
        }
        nearest.map(|(_, candidate)| candidate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_another_word_does_not() {
        let words = ["lattice", "repeat", "x", "y"];
        let near = |word: &str| Suggestions::default().near(word, words);
        assert_eq!(near("latice"), Some("lattice"));
        assert_eq!(near("Repaet"), Some("repeat"));
        assert_eq!(near("circle"), None);
        assert_eq!(near("z"), None);
        assert_eq!(near(&"a".repeat(1_000_000)), None);
    }

    #[test]
    fn suggestions_end_where_their_time_does() {
        let suggestions = Suggestions::default();
        let (word, other) = ("a".repeat(64), format!("{}b", "a".repeat(63)));
        let found = (0..100_000)
            .filter(|_| suggestions.near(&word, [other.as_str()]).is_some())
            .count();
        assert!((1_000..10_000).contains(&found), "{found}");
    }
}
