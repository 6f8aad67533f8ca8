//! "Did you mean": the known word nearest to an unknown one.

/// The candidate that differs from the word by the fewest letters, if those are few.
pub(crate) fn suggestion<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    // The distance takes time in proportion to the product of the lengths, and no long word is near a short one.
    const LONGEST: usize = 64;
    if word.len() > LONGEST {
        return None;
    }
    let allowed = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= LONGEST)
        .map(|candidate| {
            (
                strsim::osa_distance(&word.to_lowercase(), &candidate.to_lowercase()),
                candidate,
            )
        })
        .filter(|&(distance, candidate)| distance <= allowed && distance < candidate.chars().count())
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_another_word_does_not() {
        let words = ["lattice", "repeat", "x", "y"];
        assert_eq!(suggestion("latice", words), Some("lattice"));
        assert_eq!(suggestion("Repaet", words), Some("repeat"));
        assert_eq!(suggestion("circle", words), None);
        assert_eq!(suggestion("z", words), None);
        assert_eq!(suggestion(&"a".repeat(1_000_000), words), None);
    }
}
