//! Digests of what leaves: lines in groups, groups in bands.
//!
//! A group has about 1 MiB of lines and the BLAKE3 of their bytes. A band has many groups and the BLAKE3 of their
//! digests one after the other. Going on within a band takes no more than the lines of one group again.
//!
//! A job has at most 4 096 bands and a band at most 4 096 groups, whatever its size: a larger job has larger groups. So
//! a manifest, which lists all bands and the groups of one, has at most 8 192 digests.

use serde::{Deserialize, Serialize};

/// Bytes of a group.
const GROUP: u64 = 1 << 20;
/// The most bands of a job.
const BANDS: u64 = 4_096;
/// The fewest groups of a band, and the most.
const GROUPS: (u64, u64) = (16, 4_096);

/// How lines are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// Lines of a group.
    pub group: u64,
    /// Lines of a band, whole groups.
    pub band: u64,
}

impl Cut {
    /// For so many lines of at most so many bytes.
    #[must_use]
    pub fn new(lines: u64, line_bytes: u64) -> Self {
        let group = (GROUP / line_bytes.max(1)).max(lines.div_ceil(BANDS * GROUPS.1));
        let group = group.clamp(1, lines.max(1));
        let groups = lines.div_ceil(group).div_ceil(BANDS).max(GROUPS.0);
        Self {
            group,
            band: group.saturating_mul(groups),
        }
    }
}

/// A band of lines that were executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// The first line.
    pub first: u64,
    /// The number of lines.
    pub lines: u64,
    /// The BLAKE3 of the digests of its groups, 64 hexadecimal digits.
    pub digest: String,
}

/// Digests groups as lines come.
#[derive(Debug)]
pub(crate) struct Groups {
    group: u64,
    lines: u64,
    /// The next line.
    next: u64,
    hasher: blake3::Hasher,
}

impl Groups {
    /// Begins at the first line of a group.
    pub(crate) fn new(cut: Cut, lines: u64, next: u64) -> Self {
        Self {
            group: cut.group,
            lines,
            next,
            hasher: blake3::Hasher::new(),
        }
    }

    /// The next line: all before it have been taken.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Takes lines that end at `ends` in `bytes`; lines that came before are passed over. Gives (one past the last
    /// line, digest) of each group that is complete.
    pub(crate) fn take(
        &mut self,
        first: u64,
        ends: &[usize],
        bytes: &[u8],
        done: &mut Vec<(u64, blake3::Hash)>,
    ) {
        while self.next < first + ends.len() as u64 && self.next >= first {
            let from = (self.next - first) as usize;
            let end_of_group = (self.next / self.group + 1)
                .saturating_mul(self.group)
                .min(self.lines);
            let to = ((end_of_group - first) as usize).min(ends.len());
            let start = if from == 0 { 0 } else { ends[from - 1] };
            self.hasher.update(&bytes[start..ends[to - 1]]);
            self.next = first + to as u64;
            if self.next == end_of_group {
                done.push((self.next, self.hasher.finalize()));
                self.hasher.reset();
            }
        }
    }
}

/// Bands, and the groups of the one that is not complete.
#[derive(Clone, Debug, Default)]
pub(crate) struct Digests {
    pub(crate) bands: Vec<Band>,
    pub(crate) open: Vec<blake3::Hash>,
}

impl Digests {
    /// The next line that has no digest: the first of a group, or the end.
    pub(crate) fn next(&self, cut: Cut, lines: u64) -> u64 {
        let bands = self.bands.last().map_or(0, |band| band.first + band.lines);
        (bands + self.open.len() as u64 * cut.group).min(lines)
    }

    /// Takes back what was said of line `line` and all after it: the digest of its band, and of the groups of the open
    /// band that hold them.
    pub(crate) fn cut_back(&mut self, cut: Cut, line: u64) {
        let whole = self.bands.partition_point(|band| band.first + band.lines <= line);
        if whole < self.bands.len() {
            self.bands.truncate(whole);
            self.open.clear();
        } else {
            let first = self.bands.last().map_or(0, |band| band.first + band.lines);
            let groups = line.saturating_sub(first) / cut.group;
            self.open.truncate(usize::try_from(groups).unwrap_or(usize::MAX));
        }
    }

    /// Adds the group that ends before line `end`.
    pub(crate) fn push(&mut self, cut: Cut, lines: u64, end: u64, digest: blake3::Hash) {
        self.open.push(digest);
        if end.is_multiple_of(cut.band) || end == lines {
            let first = self.bands.last().map_or(0, |band| band.first + band.lines);
            let mut hasher = blake3::Hasher::new();
            self.open.iter().for_each(|digest| {
                hasher.update(digest.as_bytes());
            });
            self.bands.push(Band {
                first,
                lines: end - first,
                digest: hasher.finalize().to_string(),
            });
            self.open.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_of_many_terabytes_has_few_bands() {
        let cut = Cut::new(1_800_000, 2_000_000);
        assert_eq!(cut.group, 1);
        assert!(1_800_000_u64.div_ceil(cut.band) <= BANDS);
        assert_eq!(cut.band % cut.group, 0);
        assert_eq!(Cut::new(3, 10), Cut { group: 3, band: 48 });
    }

    #[test]
    fn the_digests_of_a_manifest_are_bounded_whatever_the_job() {
        for lines in [1, 1 << 20, 1 << 40, 1 << 50, 1 << 60, u64::MAX] {
            for line_bytes in [1, 3, 1 << 10, 1 << 20, 1 << 24] {
                let cut = Cut::new(lines, line_bytes);
                assert!(lines.div_ceil(cut.band) <= BANDS, "{lines} {line_bytes}");
                assert!(cut.band.div_ceil(cut.group) <= GROUPS.1, "{lines} {line_bytes}");
            }
        }
    }

    #[test]
    fn what_is_taken_back_is_what_holds_the_line_or_comes_after_it() {
        let cut = Cut { group: 3, band: 6 };
        let digests = |groups: u64| {
            let mut digests = Digests::default();
            for group in 1..=groups {
                digests.push(cut, 100, group * 3, blake3::hash(&group.to_le_bytes()));
            }
            digests
        };
        // Two bands and one group: lines 0 to 14 have digests.
        for (line, next) in [(15, 15), (14, 12), (12, 12), (11, 6), (6, 6), (5, 0), (0, 0)] {
            let mut cut_back = digests(5);
            cut_back.cut_back(cut, line);
            assert_eq!(cut_back.next(cut, 100), next, "{line}");
        }
    }

    #[test]
    fn groups_do_not_depend_on_how_lines_come() {
        let cut = Cut { group: 3, band: 6 };
        let bytes: Vec<u8> = (0..200).collect();
        let ends: Vec<usize> = (1..=20).map(|line| line * 10).collect();
        let whole = |step: usize| {
            let (mut groups, mut done) = (Groups::new(cut, 20, 0), Vec::new());
            for first in (0..20).step_by(step) {
                let to = (first + step).min(20);
                let part: Vec<usize> = ends[first..to].iter().map(|end| end - first * 10).collect();
                groups.take(first as u64, &part, &bytes[first * 10..to * 10], &mut done);
                // Lines that come again are passed over.
                groups.take(first as u64, &part, &bytes[first * 10..to * 10], &mut done);
            }
            done
        };
        let expected: Vec<_> = (0..7)
            .map(|group| {
                (
                    ((group + 1) * 3).min(20) as u64,
                    blake3::hash(&bytes[group * 30..(group * 30 + 30).min(200)]),
                )
            })
            .collect();
        for step in [1, 2, 7, 20] {
            assert_eq!(whole(step), expected, "{step}");
        }
    }
}
