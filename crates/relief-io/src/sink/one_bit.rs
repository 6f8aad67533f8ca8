//! Rasters of two values, one bit a pixel.

use relief_engine::sink::Samples;
use relief_raster::{Depth, Sample};

use super::SinkError;

/// Packs a row of samples into bits, the first in the most significant, 1 for M; the row starts at pixel (x, y). Bits of the
/// last byte beyond the row are 0.
///
/// # Errors
/// [`SinkError::NotTwoValued`] at a sample that is neither 0 nor M.
pub(super) fn pack(samples: Samples<'_>, (x, y): (u64, u64), out: &mut [u8]) -> Result<(), SinkError> {
    let failed = match samples {
        Samples::Eight(samples) => pack_bytes(samples, out),
        Samples::Sixteen(samples) => pack_each(samples, out),
    };
    let Some(at) = failed else { return Ok(()) };
    let (value, depth) = match samples {
        Samples::Eight(samples) => (u16::from(samples[at]), Depth::Eight),
        Samples::Sixteen(samples) => (samples[at], Depth::Sixteen),
    };
    Err(SinkError::NotTwoValued {
        column: x + at as u64,
        row: y,
        value,
        max: depth.max(),
    })
}

/// The first sample that is neither 0 nor M, where there is one.
fn pack_each<S: Sample>(samples: &[S], out: &mut [u8]) -> Option<usize> {
    let (none, all) = (S::from_u16(0), S::MAX);
    for (number, (eight, byte)) in samples.chunks(8).zip(out).enumerate() {
        let mut bits = 0;
        for (at, sample) in eight.iter().enumerate() {
            if *sample == all {
                bits |= 0x80 >> at;
            } else if *sample != none {
                return Some(number * 8 + at);
            }
        }
        *byte = bits;
    }
    None
}

/// [`pack_each`] by eight samples at a time.
fn pack_bytes(samples: &[u8], out: &mut [u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // The lowest bit of byte i, at 8·i, comes to 63 − i; no two products meet.
    const GATHER: u64 = 0x8040_2010_0804_0201;
    let (eights, rest) = samples.as_chunks::<8>();
    for (number, (eight, byte)) in eights.iter().zip(&mut *out).enumerate() {
        let word = u64::from_le_bytes(*eight);
        let lowest = word & ONES;
        if lowest * 255 != word {
            let at = eight.iter().position(|&sample| sample != 0 && sample != 255);
            return Some(number * 8 + at.unwrap_or(0));
        }
        *byte = (lowest.wrapping_mul(GATHER) >> 56) as u8;
    }
    let whole = eights.len();
    pack_each(rest, &mut out[whole..]).map(|at| whole * 8 + at)
}
