//! What a table makes of ranges of samples, found without looking at every entry.

use crate::node::{Bounds, Straight};

/// Entries of the smallest ranges, and ranges of the next.
const STEP: usize = 16;

/// The least and greatest entries of ranges of a table, and where its entries rise or fall by one.
pub(crate) struct TableSums {
    entries: Vec<u16>,
    /// Of ranges of 16, of 256, …
    ranges: Vec<Vec<(u16, u16)>>,
    /// How many entries from each on rise by one, itself included, and how many fall.
    rises: Vec<u32>,
    falls: Vec<u32>,
}

impl TableSums {
    pub(crate) const fn bytes(entries: usize) -> u64 {
        entries as u64 * 11
    }

    pub(crate) fn of(table: &[u16]) -> Self {
        let runs = |next: fn(u16, u16) -> bool| {
            let mut runs = vec![1_u32; table.len()];
            for place in (1..table.len()).rev() {
                if next(table[place - 1], table[place]) {
                    runs[place - 1] = runs[place] + 1;
                }
            }
            runs
        };
        let mut ranges: Vec<Vec<(u16, u16)>> = Vec::new();
        let both = |all: (u16, u16), one: &(u16, u16)| (all.0.min(one.0), all.1.max(one.1));
        let mut level: Vec<(u16, u16)> = table.iter().map(|entry| (*entry, *entry)).collect();
        while level.len() > STEP {
            let range = |entries: &[(u16, u16)]| entries.iter().fold((u16::MAX, 0), both);
            level = level.chunks(STEP).map(range).collect();
            ranges.push(level.clone());
        }
        Self {
            entries: table.to_vec(),
            ranges,
            rises: runs(|one, next| next.checked_sub(one) == Some(1)),
            falls: runs(|one, next| one.checked_sub(next) == Some(1)),
        }
    }

    /// The entry of a sample.
    pub(crate) fn entry(&self, sample: u16) -> u16 {
        self.entries.get(usize::from(sample)).copied().unwrap_or(0)
    }

    /// Between which the entries of all samples within `bounds` lie, and whether they rise or fall by one throughout; `None` for samples
    /// beyond the table.
    pub(crate) fn through(&self, bounds: Bounds) -> Option<(Bounds, Straight)> {
        let (first, last) = (usize::from(bounds.least), usize::from(bounds.greatest));
        if last >= self.entries.len() {
            return None;
        }
        let (mut least, mut greatest) = (u16::MAX, 0);
        let mut add = |one: (u16, u16)| (least, greatest) = (least.min(one.0), greatest.max(one.1));
        let mut place = first;
        while place <= last {
            // The largest range that begins here and does not end beyond.
            let mut size = 1;
            let mut range = None;
            for level in &self.ranges {
                let larger = size * STEP;
                if place % larger != 0 || place + larger - 1 > last {
                    break;
                }
                (size, range) = (larger, Some(level[place / larger]));
            }
            add(range.unwrap_or((self.entries[place], self.entries[place])));
            place += size;
        }
        let length = last - first + 1;
        let straight = match () {
            () if self.rises[first] as usize >= length => Straight::Rises,
            () if self.falls[first] as usize >= length => Straight::Falls,
            () => Straight::No,
        };
        Some((Bounds::between(least, greatest), straight))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_are_what_their_entries_are(
            length in 1..700_usize,
            bits in 1..9_u32,
            slope in prop_oneof![Just(0_i64), Just(1), Just(-1)],
            seed in any::<u64>(),
            (from, to) in (0..700_usize, 0..700_usize),
        ) {
            let entry = |i: usize| {
                let noise = (seed ^ (i / 40) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - bits);
                (1_000 + slope * i as i64) as u16 + if seed % 3 == 0 { 0 } else { noise as u16 }
            };
            let table: Vec<u16> = (0..length).map(entry).collect();
            let (from, to) = (from.min(to) % length, from.max(to) % length);
            let (from, to) = (from.min(to), from.max(to));
            let part = &table[from..=to];
            let (bounds, straight) = TableSums::of(&table).through(Bounds::between(from as u16, to as u16)).unwrap();
            prop_assert_eq!((bounds.least, bounds.greatest), (*part.iter().min().unwrap(), *part.iter().max().unwrap()));
            let rises = part.windows(2).all(|pair| pair[1] == pair[0] + 1);
            let falls = part.windows(2).all(|pair| pair[0] == pair[1] + 1);
            prop_assert_eq!(straight == Straight::Rises, rises);
            prop_assert_eq!(straight == Straight::Falls, falls && !rises);
        }
    }
}
