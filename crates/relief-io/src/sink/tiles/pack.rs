//! Samples of a tile as the bytes of a file.

use relief_engine::sink::Samples;

use super::layout::Layout;
use crate::sink::SinkError;
use crate::sink::one_bit;

/// Packs samples of `columns` × … pixels whose first is (x, y) into a whole tile, or into as much of a strip as there is: rows
/// as long as those of the tile, 16 bits little-endian; what is beyond the samples is 0.
pub(in crate::sink) fn pack(
    layout: &Layout,
    samples: Samples<'_>,
    columns: usize,
    (x, y): (u64, u64),
    out: &mut Vec<u8>,
) -> Result<(), SinkError> {
    let row_bytes = layout.row_bytes() as usize;
    let rows = samples.len() / columns.max(1);
    out.clear();
    out.resize(
        if layout.strips {
            rows * row_bytes
        } else {
            layout.tile_bytes() as usize
        },
        0,
    );
    let rows_out = out.chunks_exact_mut(row_bytes);
    for ((row, out), y) in (0..rows).zip(rows_out).zip(y..) {
        let range = row * columns..(row + 1) * columns;
        match samples {
            Samples::Eight(samples) if layout.bits == 1 => {
                one_bit::pack(Samples::Eight(&samples[range]), (x, y), out)?;
            }
            Samples::Sixteen(samples) if layout.bits == 1 => {
                one_bit::pack(Samples::Sixteen(&samples[range]), (x, y), out)?;
            }
            Samples::Eight(samples) => out[..columns].copy_from_slice(&samples[range]),
            Samples::Sixteen(samples) => {
                for (to, from) in out.chunks_exact_mut(2).zip(&samples[range]) {
                    to.copy_from_slice(&from.to_le_bytes());
                }
            }
        }
    }
    Ok(())
}
