//! Turns on a device, by blocks in registers.
//!
//! A unit (thread) makes one vector of as many rows as a word holds samples: it loads a word of each of as
//! many rows as a vector holds samples, and puts the vectors together by shifts. Neighbouring units load
//! neighbouring words of a row and, a few of them, store neighbouring vectors, so that both sides move whole
//! sectors. No shared memory is needed; its barriers are slow on software Vulkan.

use cubecl::prelude::*;
use relief_raster::Rect;

use crate::device::{Buffer, DeviceError, Gpu, Operand, launch};
use crate::fused::Plane;
use crate::fused::packed::{coverage, funnel, ones};
use crate::fused::shape::per_word;

/// Units of a cube: words of a row of the source, and vectors of a row of the output.
const CUBE: (u32, u32) = (8, 32);

/// Sides of planes and outputs are less: places of both, with a margin, are told apart in 32 bits.
const MOST_SIDE: u64 = 1 << 29;

/// How far from a plane a place is at most said to lie.
const FAR: i64 = 1 << 30;

/// Writes `size` samples, columns and rows, into the rows of `output`, `pitch` words apart; `pitch` is a multiple of 4. The first of them
/// shows column and row `first` of the source. Clockwise, the rows of the output are columns of the source from there to the right, read
/// upwards; the other way, columns to the left, read downwards. Outside of its plane the source is 0.
///
/// # Errors
/// Where the device fails, where the samples do not fit `output`, and where a side of them or of the source has 2^29 pixels or more.
pub fn quarter(
    gpu: &Gpu,
    source: &Plane,
    first: (i64, i64),
    clockwise: bool,
    size: (u64, u64),
    output: &Buffer,
    pitch: u32,
) -> Result<(), DeviceError> {
    let band = Rect::sized(size.0, size.1);
    if band.is_empty() {
        return Ok(());
    }
    crate::fused::check_output(gpu, source.depth(), band, output, pitch)?;
    let vectors = pitch / 4;
    let sides = [u64::from(source.width()), source.height().into(), size.0, size.1];
    for side in sides {
        gpu.at_most("pixels of a side at once", MOST_SIDE - 1, side)?;
    }
    gpu.at_most("cubes of a column", 65_535_u32, vectors.div_ceil(CUBE.1).into())?;
    // Places are counted modulo 2^32: negative ones are huge, as those are which lie farther than any plane reaches.
    let place = |at: i64| at.clamp(-FAR, FAR) as i32 as u32;
    let bits = source.depth().bits();
    let first = (place(first.0), place(first.1));
    let height = size.1 as u32;
    let numbers = [
        first.0,
        first.1,
        source.offset(),
        source.pitch(),
        source.width(),
        source.height(),
        source.row_words() - 1,
    ];
    let groups = height.div_ceil(per_word(bits));
    let across = groups.div_ceil(CUBE.0).min(65_535);
    // SAFETY: rows and words of the source are clamped to those of its plane, which `Plane` has checked to lie in its buffer; vectors and
    // rows are compared with those of the output, which was checked to hold them.
    launch!(
        gpu, "turn", &(bits, clockwise),
        &[Operand::read("the source", source.buffer()), Operand::write("the turned samples", output)],
        (CubeCount::Static(across, vectors.div_ceil(CUBE.1), 1), CubeDim::new_2d(CUBE.0, CUBE.1)),
        unsafe turned(
            4, source.buffer().array(1), numbers.into_iter().collect(), output.array(4),
            vectors, height, across * CUBE.0, bits, clockwise))
}

/// Numbers: column and row of the source that the first sample shows; the first word of the plane, its pitch, its columns, its rows, the last
/// word of a row.
#[cube(launch_unchecked)]
fn turned<N: Size>(
    source: &Array<u32>,
    numbers: &Sequence<u32>,
    output: &mut Array<Vector<u32, N>>,
    vectors: u32,
    height: u32,
    stride: u32,
    #[comptime] bits: u32,
    #[comptime] clockwise: bool,
) {
    let lanes = comptime!(per_word(bits));
    let count = comptime!(4 * per_word(bits));
    let vector = ABSOLUTE_POS_Y;
    let mut group = ABSOLUTE_POS_X;
    if vector < vectors {
        while group * lanes < height {
            let words = rows_of_words(source, numbers, group * lanes, vector * count, bits, clockwise);
            #[unroll]
            for j in 0..lanes {
                let y = group * lanes + j;
                if y < height {
                    // Which sample of each word row y shows.
                    let sample = comptime!(if clockwise { j } else { lanes - 1 - j });
                    let mut result = Vector::<u32, N>::empty();
                    #[unroll]
                    for k in 0..4usize {
                        let mut word = u32::new(0);
                        #[unroll]
                        for l in 0..lanes {
                            let one = words[comptime!(k * lanes as usize + l as usize)];
                            word |= ((one >> comptime!(sample * bits)) & comptime!(ones(bits)))
                                << comptime!(l * bits);
                        }
                        result[k] = word;
                    }
                    output[(y * vectors + vector) as usize] = result;
                }
            }
            group += stride;
        }
    }
}

/// A word of each of the rows of the source that the samples from column `x` on of row `y` and the next ones show.
#[cube]
fn rows_of_words(
    source: &Array<u32>,
    numbers: &Sequence<u32>,
    y: u32,
    x: u32,
    #[comptime] bits: u32,
    #[comptime] clockwise: bool,
) -> Array<u32> {
    let lanes = comptime!(per_word(bits));
    let count = comptime!(4 * per_word(bits));
    let mut words = Array::<u32>::new(comptime!(count as usize));
    let pitch = *numbers.index(3usize);
    let height = *numbers.index(5usize);
    let last = *numbers.index(6usize);
    // A word's samples farther, so that one which the plane's edge cuts is not left of the row's start.
    let mut ahead = *numbers.index(0usize) + lanes;
    if comptime!(clockwise) {
        ahead += y;
    } else {
        ahead -= y + comptime!(lanes - 1);
    }
    let word = ahead / lanes;
    let (low, high) = (min(max(word, 1u32) - 1u32, last), min(word, last));
    let shift = (ahead % lanes) * bits;
    let inside = coverage(ahead, lanes, *numbers.index(4usize) + lanes, bits);
    #[unroll]
    for i in 0..count {
        let mut row = *numbers.index(1usize);
        if comptime!(clockwise) {
            row -= x + i;
        } else {
            row += x + i;
        }
        let start = *numbers.index(2usize) + min(row, height - 1u32) * pitch;
        let both = funnel(
            source[(start + low) as usize],
            source[(start + high) as usize],
            shift,
        );
        words[i as usize] = select(row < height, both & inside, 0u32);
    }
    words
}
