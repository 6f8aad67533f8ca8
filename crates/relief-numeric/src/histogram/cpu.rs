//! Histograms on the CPU.
//!
//! An addition to a counter in memory takes some cycles until the next may read it, and a processor stores one counter a cycle, or little
//! more. So bytes are counted by pairs: half as many additions, to 65 536 counters of a byte each, which stay in the nearer caches; when one
//! wraps around, the two bytes of its pair have 256 more. Where a pair often follows its like, each addition would wait for the one before:
//! there, and where bytes are few, neighbours add to tables of their own, eight for bytes and two for words of 16 bits, which are added up
//! in the end. Their counters have 32 bits, and are added up before they could overflow.

/// Samples after which counters of 32 bits are added up.
const RUN: usize = 1 << 31;

/// Tables for bytes.
const TABLES: usize = 8;

/// Counters of a table for bytes, some of which are not used. A load waits for a store that has not ended where the lower 12 bits of
/// their addresses agree: with 256 counters that would be those of one value in every fourth table.
const SPACED: usize = 256 + 16;

/// So few bytes are not counted by pairs, whose counters are cleared and added up first and last.
const FEW: usize = 1 << 17;

/// Bytes that are counted in one way.
const PIECE: usize = 1 << 16;

/// Pairs of a piece that are compared with the next, and of how many that are alike on it is not counted by pairs.
const COMPARED: usize = 64;
const ALIKE: usize = COMPARED / 8;

/// Words of scratch that [`sixteen`] takes.
pub const SCRATCH_WORDS: usize = (2 << 16) + GAP;

/// Words between its two tables, for the same reason as [`SPACED`].
const GAP: usize = 16;

/// Adds to `counts[v]` how many of the samples are v. Takes 75 KB of the stack.
pub fn eight(samples: &[u8], counts: &mut [u64; 256]) {
    for samples in samples.chunks(RUN) {
        let mut tables = [[0_u32; SPACED]; TABLES];
        if samples.len() < FEW {
            one_by_one(samples, &mut tables);
        } else {
            let mut pairs = [0_u8; 1 << 16];
            for piece in samples.chunks(PIECE) {
                if repeats(piece) {
                    one_by_one(piece, &mut tables);
                } else {
                    by_pairs(piece, &mut pairs, counts);
                }
            }
            add_up(&pairs, counts);
        }
        for table in tables {
            for (count, part) in counts.iter_mut().zip(table) {
                *count += u64::from(part);
            }
        }
    }
}

fn one_by_one(samples: &[u8], tables: &mut [[u32; SPACED]; TABLES]) {
    let (runs, rest) = samples.as_chunks::<TABLES>();
    for run in runs {
        // Loads of bytes cost less than to take them out of a register: a processor loads more than it stores.
        for (table, sample) in tables.iter_mut().zip(run) {
            table[usize::from(*sample)] += 1;
        }
    }
    for (table, sample) in tables.iter_mut().zip(rest) {
        table[usize::from(*sample)] += 1;
    }
}

/// Whether a pair often follows its like.
fn repeats(samples: &[u8]) -> bool {
    let (pairs, _) = samples.as_chunks::<2>();
    let step = (pairs.len() / COMPARED).max(1);
    let next = pairs.iter().skip(1).step_by(step);
    let alike = pairs.iter().step_by(step).zip(next).filter(|(a, b)| a == b);
    alike.count() > ALIKE
}

/// Counts pairs; what their counters cannot hold, and a byte without a neighbour, is added to `counts`.
fn by_pairs(samples: &[u8], pairs: &mut [u8; 1 << 16], counts: &mut [u64; 256]) {
    // rung: histogram on cpu: several tables
    let (words, rest) = samples.as_chunks::<2>();
    let mut count = |word: &[u8; 2]| {
        let counter = &mut pairs[usize::from(u16::from_le_bytes(*word))];
        let (more, wrapped) = counter.overflowing_add(1);
        *counter = more;
        if wrapped {
            wrapped_around(*word, counts);
        }
    };
    // end
    let (runs, last) = words.as_chunks::<8>();
    for run in runs {
        for word in run {
            count(word);
        }
    }
    for word in last {
        count(word);
    }
    for sample in rest {
        counts[usize::from(*sample)] += 1;
    }
}

#[cold]
#[inline(never)]
fn wrapped_around(pair: [u8; 2], counts: &mut [u64; 256]) {
    for byte in pair {
        counts[usize::from(byte)] += 1 << u8::BITS;
    }
}

/// Adds what counters of pairs hold to the counts of both of their bytes.
fn add_up(pairs: &[u8; 1 << 16], counts: &mut [u64; 256]) {
    let mut first = [0_u32; 256];
    let (rows, _) = pairs.as_chunks::<256>();
    for (second, row) in counts.iter_mut().zip(rows) {
        let mut all = 0_u32;
        for (count, pairs) in first.iter_mut().zip(row) {
            *count += u32::from(*pairs);
            all += u32::from(*pairs);
        }
        *second += u64::from(all);
    }
    for (count, part) in counts.iter_mut().zip(first) {
        *count += u64::from(part);
    }
}

/// Adds to `counts[v]` how many of the samples are v.
///
/// # Panics
/// Where `scratch` has fewer than [`SCRATCH_WORDS`] words.
pub fn sixteen(samples: &[u16], counts: &mut [u64; 65_536], scratch: &mut [u32]) {
    let Some((first, rest)) = scratch.split_first_chunk_mut::<65_536>() else {
        panic!("scratch of {} words", scratch.len());
    };
    let second = rest.get_mut(GAP..).and_then(<[u32]>::first_chunk_mut::<65_536>);
    let Some(second) = second else {
        panic!("scratch of too few words");
    };
    for samples in samples.chunks(RUN) {
        first.fill(0);
        second.fill(0);
        let (pairs, rest) = samples.as_chunks::<2>();
        for pair in pairs {
            first[usize::from(pair[0])] += 1;
            second[usize::from(pair[1])] += 1;
        }
        for sample in rest {
            first[usize::from(*sample)] += 1;
        }
        for (count, (first, second)) in counts.iter_mut().zip(first.iter().zip(second.iter())) {
            *count += u64::from(*first) + u64::from(*second);
        }
    }
}
