//! Run-length encoding of rows of bytes: where runs of equal bytes begin, and what they hold.

use super::{Elements, Output, Selection, Wanted, scratch_words, select};
use crate::element::Element;
use relief_kernels::device::{Buffer, DeviceError, Gpu};

/// Rows of bytes, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Where they lie, packed from the first word on.
    pub buffer: &'a Buffer,
    /// Bytes of a row; the last may be shorter.
    pub width: u32,
    /// Bytes of all rows.
    pub len: u32,
}

/// The runs of rows. A run lasts until the next begins, or the rows end; none goes on into the next row.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a> {
    /// The place of each run's first byte, as a number of 32 bits.
    pub starts: &'a Buffer,
    /// The byte that each holds, packed.
    pub values: &'a Buffer,
    /// How many there are: two words, the lower first.
    pub count: &'a Buffer,
}

/// Words of scratch for [`encode`].
#[must_use]
pub const fn encode_scratch_words(len: u32) -> u64 {
    scratch_words(8, len as u64)
}

/// Finds the runs of rows, in one pass: a byte begins one where it is the first of a row or other than that before.
///
/// # Errors
/// Where the device fails, where rows have no bytes, and where the buffers do not hold as many runs as there are bytes, rounded up
/// to whole vectors of four words, or [`encode_scratch_words`].
pub fn encode(gpu: &Gpu, rows: Rows<'_>, runs: Runs<'_>, scratch: &Buffer) -> Result<(), DeviceError> {
    let selection = Selection {
        from: Elements {
            buffer: rows.buffer,
            kind: Element::U8,
            len: u64::from(rows.len),
        },
        wanted: Wanted::Heads(rows.width),
        output: Output::Places(runs.starts, runs.values),
        count: runs.count,
        scratch,
    };
    select(gpu, &selection)
}
