//! Samples in the order of a raster as rows of bits, however they are cut.

use relief_engine::sink::{Raster, Samples};

use super::SinkError;
use super::one_bit;

/// Takes bytes of a row, with its number.
pub(super) type TakeRow<'a, E> = dyn FnMut(u64, &[u8]) -> Result<(), E> + 'a;

/// Packs the samples of a raster into rows of bits that end with a whole byte.
#[derive(Debug)]
pub(super) struct BitRows {
    width: u64,
    /// The pixel that comes next.
    column: u64,
    row: u64,
    /// The bits of a byte that is not full.
    rest: u8,
}

impl BitRows {
    pub(super) const fn new(raster: &Raster) -> Self {
        Self {
            width: raster.width,
            column: 0,
            row: 0,
            rest: 0,
        }
    }

    /// Packs the samples that come next, which lie in one row, and appends every byte that is full or ends the row.
    fn part(&mut self, samples: Samples<'_>, out: &mut Vec<u8>) -> Result<(), SinkError> {
        // Up to the next whole byte, then whole bytes, then what is left.
        let lead = ((8 - self.column % 8) % 8).min(samples.len() as u64);
        for (start, end) in [(0, lead as usize), (lead as usize, samples.len())] {
            if start == end {
                continue;
            }
            let at = out.len();
            out.resize(at + (end - start).div_ceil(8), 0);
            one_bit::pack(cut(samples, start, end), (self.column, self.row), &mut out[at..])?;
            let shift = self.column % 8;
            if shift > 0 {
                out[at] = out[at] >> shift | self.rest;
            }
            self.column += (end - start) as u64;
            self.rest = 0;
            if self.column % 8 != 0 && self.column < self.width {
                self.rest = out.pop().unwrap_or(0);
            }
        }
        Ok(())
    }

    /// Packs the samples that come next. `row` takes the bytes of a row, or of a part of one, with the number of the row.
    pub(super) fn push<E: From<SinkError>>(
        &mut self,
        samples: Samples<'_>,
        buffer: &mut Vec<u8>,
        row: &mut TakeRow<'_, E>,
    ) -> Result<(), E> {
        let mut from = 0;
        while from < samples.len() {
            let left = usize::try_from(self.width - self.column).unwrap_or(usize::MAX);
            // No more than a buffer holds, of whole bytes.
            let end = samples.len().min(from.saturating_add(left)).min(from + 8 * PART);
            buffer.clear();
            self.part(cut(samples, from, end), buffer)?;
            row(self.row, buffer)?;
            if self.column == self.width {
                (self.column, self.row) = (0, self.row + 1);
            }
            from = end;
        }
        Ok(())
    }
}

/// The most bytes that are packed at once.
pub(super) const PART: usize = 64 * 1024;

/// Samples from `start` to `end`.
pub(super) fn cut(samples: Samples<'_>, start: usize, end: usize) -> Samples<'_> {
    match samples {
        Samples::Eight(samples) => Samples::Eight(&samples[start..end]),
        Samples::Sixteen(samples) => Samples::Sixteen(&samples[start..end]),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use relief_raster::Depth;

    use super::*;

    proptest! {
        /// Rows of bits are the same however the samples are cut.
        #[test]
        fn bits_do_not_depend_on_how_samples_are_cut(
            width in 1_u64..70,
            bits in proptest::collection::vec(any::<bool>(), 1..400),
            cuts in proptest::collection::vec(1_usize..40, 1..40),
        ) {
            let raster = Raster::new(width, 400, Depth::Eight);
            let height = bits.len() / width as usize;
            let samples: Vec<u8> = bits[..height * width as usize].iter().map(|&bit| 255 * u8::from(bit)).collect();
            let mut rows = BitRows::new(&raster);
            let mut found = vec![Vec::new(); height];
            let (mut from, mut cuts) = (0, cuts.iter().cycle());
            while from < samples.len() {
                let end = samples.len().min(from + cuts.next().unwrap());
                let mut take = |row: u64, bytes: &[u8]| {
                    found[row as usize].extend_from_slice(bytes);
                    Ok::<(), SinkError>(())
                };
                rows.push(Samples::Eight(&samples[from..end]), &mut Vec::new(), &mut take).unwrap();
                from = end;
            }
            for (row, samples) in found.iter().zip(samples.chunks(width as usize)) {
                prop_assert_eq!(row.len() as u64, width.div_ceil(8));
                for (x, sample) in samples.iter().enumerate() {
                    prop_assert_eq!(row[x / 8] >> (7 - x % 8) & 1 == 1, *sample == 255);
                }
            }
        }
    }
}
