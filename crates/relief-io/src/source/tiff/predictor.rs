//! What a predictor did to the rows of a chunk before they were compressed, undone.
//! TIFF 6.0, page 64; Adobe Photoshop TIFF Technical Note 3 for floating point.

/// How rows were predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Predictor {
    None,
    /// Each sample less the same sample of the pixel before it.
    Horizontal,
    /// The bytes of a row sorted by significance, each less the one before it.
    FloatingPoint,
}

/// Undoes the predictor on one row of samples of `bits` bits, `stride` per pixel; the samples are big-endian before
/// and after, but for those of floating point, which have no byte order before.
pub(super) fn undo(predictor: Predictor, row: &mut [u8], bits: u32, stride: usize, scratch: &mut Vec<u8>) {
    match (predictor, bits) {
        (Predictor::None, _) => {}
        (Predictor::Horizontal, 8) => {
            for i in stride..row.len() {
                row[i] = row[i].wrapping_add(row[i - stride]);
            }
        }
        (Predictor::Horizontal, _) => {
            let bytes = (bits / 8) as usize;
            for start in (stride * bytes..row.len()).step_by(bytes) {
                let (before, here) = row.split_at_mut(start);
                let before = &before[start - stride * bytes..][..bytes];
                // From the last byte on, with a carry.
                let mut carry = 0;
                for (to, from) in here.iter_mut().take(bytes).zip(before).rev() {
                    let sum = u16::from(*to) + u16::from(*from) + carry;
                    *to = sum as u8;
                    carry = sum >> 8;
                }
            }
        }
        (Predictor::FloatingPoint, _) => {
            for i in stride..row.len() {
                row[i] = row[i].wrapping_add(row[i - stride]);
            }
            let bytes = (bits / 8) as usize;
            let samples = row.len() / bytes;
            scratch.clear();
            scratch.extend_from_slice(row);
            for (i, sample) in row.chunks_exact_mut(bytes).enumerate() {
                for (significance, byte) in sample.iter_mut().enumerate() {
                    *byte = scratch[significance * samples + i];
                }
            }
        }
    }
}
