//! Histograms on the CPU.
//!
//! An addition to a counter in memory takes some cycles until the next may read it. So neighbours add to tables of their own, sixteen
//! for bytes and two for words of 16 bits, which are added up in the end. Counters have 32 bits; they are added up before
//! they could overflow.

/// Samples after which counters of 32 bits are added up.
const RUN: usize = 1 << 31;

/// Tables for bytes.
const TABLES: usize = 16;

/// Counters of a table for bytes, some of which are not used. A load waits for a store that has not ended where the lower 12 bits of
/// their addresses agree: with 256 counters that would be those of one value in every fourth table (eight such tables took 1.72 ms for
/// 4 MiB of one value and 1.34 for a photograph, these take 1.28 and 1.27; uniform bytes 1.26 and 1.25; one thread of an Intel Xeon with
/// other work beside it, 2026-11-21).
const SPACED: usize = 256 + 16;

/// Words of scratch that [`sixteen`] takes.
pub const SCRATCH_WORDS: usize = (2 << 16) + GAP;

/// Words between its two tables, for the same reason as [`SPACED`]: without them 2^23 samples of a photograph, spread over 16 bits, took 14.1 ms,
/// and take 8.3.
const GAP: usize = 16;

/// Adds to `counts[v]` how many of the samples are v.
pub fn eight(samples: &[u8], counts: &mut [u64; 256]) {
    for samples in samples.chunks(RUN) {
        let mut tables = [[0_u32; SPACED]; TABLES];
        let (runs, rest) = samples.as_chunks::<TABLES>();
        for run in runs {
            // Loads of bytes cost less than to take them out of a register: a processor loads more than it stores.
            for (table, sample) in tables.iter_mut().zip(run) {
                table[usize::from(*sample)] += 1;
            }
        }
        for sample in rest {
            tables[0][usize::from(*sample)] += 1;
        }
        for table in tables {
            for (count, part) in counts.iter_mut().zip(table) {
                *count += u64::from(part);
            }
        }
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
