//! Lines as runs: "n pixels of value v".
//!
//! The heads of the runs are found by stream compaction: the places at which a value differs from the one before are
//! moved together in order, without a branch. A run is n as u16 little-endian, at least 1, then v: one byte for packings of 1 and 8
//! bits (0 or 1 for 1 bit), two in the packing's byte order for 16. Longer runs are split. Polarity applies to v.

use crate::packing::Pack;
use relief_raster::Sample;

use relief_design::scan::{Bits, Packing};

/// The longest run.
pub const LONGEST: usize = 65_535;

/// The bytes of one run.
#[must_use]
pub const fn run_bytes(packing: Packing) -> usize {
    match packing.bits {
        Bits::One | Bits::Eight => 3,
        Bits::Sixteen => 4,
    }
}

/// The places of all values that differ from the one before, in order; the first always counts.
fn heads(values: &[u16], heads: &mut Vec<u32>) {
    heads.clear();
    heads.resize(values.len(), 0);
    let mut found = usize::from(!values.is_empty());
    for (index, pair) in values.windows(2).enumerate() {
        heads[found] = index as u32 + 1;
        found += usize::from(pair[0] != pair[1]);
    }
    heads.truncate(found);
}

/// Room that encoding needs and keeps.
#[derive(Debug, Default)]
pub(crate) struct Room {
    values: Vec<u16>,
    heads: Vec<u32>,
}

/// Appends the runs of a line of at most 2^31 samples.
pub(crate) fn encode<S: Sample>(packing: Packing, samples: &[S], room: &mut Room, out: &mut Vec<u8>) {
    room.values.clear();
    room.values
        .extend(samples.iter().map(|&sample| packing.value(sample)));
    heads(&room.values, &mut room.heads);
    for (number, &head) in room.heads.iter().enumerate() {
        let end = room
            .heads
            .get(number + 1)
            .map_or(samples.len(), |&next| next as usize);
        let mut left = end - head as usize;
        let value = room.values[head as usize];
        while left > 0 {
            let run = left.min(LONGEST);
            out.extend_from_slice(&(run as u16).to_le_bytes());
            match packing.bits {
                Bits::One | Bits::Eight => out.push(value as u8),
                Bits::Sixteen => out.extend_from_slice(&packing.word(value)),
            }
            left -= run;
        }
    }
}

/// The values of a line of runs as packed, before any polarity is undone; `None` where it is not made of runs of
/// exactly `samples` samples.
#[must_use]
pub fn decode(packing: Packing, bytes: &[u8], samples: usize) -> Option<Vec<u16>> {
    let mut values = Vec::new();
    let size = run_bytes(packing);
    if !bytes.len().is_multiple_of(size) {
        return None;
    }
    for run in bytes.chunks_exact(size) {
        let count = usize::from(u16::from_le_bytes([run[0], run[1]]));
        if count == 0 || values.len() + count > samples {
            return None;
        }
        let value = match run {
            [_, _, value] => u16::from(*value),
            [_, _, first, second] => {
                let word = u16::from_le_bytes([*first, *second]);
                if packing.word(1) == [1, 0] {
                    word
                } else {
                    word.swap_bytes()
                }
            }
            _ => return None,
        };
        values.resize(values.len() + count, value);
    }
    (values.len() == samples).then_some(values)
}
