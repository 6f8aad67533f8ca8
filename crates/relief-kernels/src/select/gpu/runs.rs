//! Run-length encoding of rows of bytes: where runs of equal bytes begin, and what they hold.

use cubecl::prelude::*;

use super::{Elements, Output, Selection, Wanted, scratch_words, select};
use crate::device::{Buffer, DeviceError, Gpu, cubes, on_client};
use crate::element::Element;

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
    // The marks, up to where another part of a buffer may begin.
    marks(len) + scratch_words(8, len as u64)
}

const fn marks(len: u32) -> u64 {
    (len as u64).div_ceil(4).next_multiple_of(64) + 64
}

/// Units of a cube.
const UNITS: u32 = 256;

/// Finds the runs of rows: marks where each begins, and selects by the marks.
///
/// # Errors
/// Where the device fails, where rows have no bytes, and where the buffers do not hold as many runs as there are bytes, rounded up
/// to whole vectors of four words, or [`encode_scratch_words`].
pub fn encode(gpu: &Gpu, rows: Rows<'_>, runs: Runs<'_>, scratch: &Buffer) -> Result<(), DeviceError> {
    let Rows { buffer, width, len } = rows;
    let marked = marks(len) as usize;
    if width == 0 {
        return Err(gpu.unsupported("rows of no bytes"));
    }
    if (scratch.words() as u64) < encode_scratch_words(len) || buffer.words() < len.div_ceil(16) as usize * 4
    {
        return Err(gpu.unsupported(format!("the runs of {len} bytes in shorter buffers")));
    }
    let part = |start, words| {
        scratch
            .part(start, words)
            .ok_or_else(|| gpu.unsupported("scratch"))
    };
    let (marks, rest) = (part(0, marked)?, part(marked, scratch.words() - marked)?);
    if len > 0 {
        let grid = cubes(gpu, len.div_ceil(4 * UNITS));
        let launch = || {
            on_client!(gpu, client => mark_on(client, rows, &marks, grid.clone()));
        };
        gpu.launch("runs", &(), &marks, launch)?;
    }
    for output in [Output::Indices(runs.starts), Output::Values(runs.values)] {
        let selection = Selection {
            from: Elements {
                buffer,
                kind: Element::U8,
                len: u64::from(len),
            },
            wanted: Wanted::Flagged(&marks),
            output,
            count: runs.count,
            scratch: &rest,
        };
        select(gpu, &selection)?;
    }
    Ok(())
}

#[allow(unsafe_code)]
fn mark_on<R: Runtime>(client: &ComputeClient<R>, rows: Rows<'_>, marks: &Buffer, grid: CubeCount) {
    // SAFETY: words are compared with how many hold `len` bytes, which both buffers were checked to have.
    unsafe {
        mark::launch_unchecked::<R>(
            client,
            grid,
            CubeDim::new_1d(UNITS),
            ArrayArg::from_raw_parts(rows.buffer.handle(), rows.buffer.words()),
            ArrayArg::from_raw_parts(marks.handle(), marks.words()),
            rows.width,
            rows.len,
        );
    }
}

/// Marks, a byte each, where a byte is the first of a row or other than that before.
#[cube(launch_unchecked)]
fn mark(from: &Array<u32>, marks: &mut Array<u32>, width: u32, len: u32) {
    let place = CUBE_POS as u32 * UNITS + UNIT_POS;
    if place < len / 4u32 + u32::cast_from(len % 4u32 != 0) {
        let word = from[place as usize];
        let mut last = u32::new(0);
        if place > 0 {
            last = from[(place - 1u32) as usize] >> 24u32;
        }
        let mut column = (place * 4u32) % width;
        let mut result = u32::new(0);
        #[unroll]
        for k in 0..4u32 {
            let byte = (word >> comptime!(8 * k)) & 255u32;
            if byte != last {
                result |= comptime!(1u32 << (8 * k));
            }
            if column == 0 {
                result |= comptime!(1u32 << (8 * k));
            }
            last = byte;
            column += 1u32;
            if column == width {
                column = 0u32;
            }
        }
        marks[place as usize] = result;
    }
}
