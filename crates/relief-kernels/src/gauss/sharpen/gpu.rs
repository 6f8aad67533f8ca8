//! Sharpening on a device: by how much a sample goes away from its mean is looked up, for no device need have numbers of binary64.

use cubecl::prelude::*;
use relief_raster::Rect;

use crate::device::{Buffer, DeviceError, Gpu, Operand, cover, launch};
use crate::edge::gpu::{LINES, PLANE, Places, numbers, word_at};
use crate::fused::Plane;
use crate::fused::packed::ones;
use crate::fused::shape::per_word;

/// Units of a cube, along rows and along columns.
const CUBE: (u32, u32) = (64, 4);

/// The most rows of a launch: as many cubes as every device takes.
const MOST_ROWS: u64 = 1 << 16;

/// Words of a [`Steps`].
pub(crate) const WORDS: u64 = 1 << 15;

/// For every difference of a sample from its mean how far the sample moves.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    words: Buffer,
}

impl Steps {
    pub(crate) fn upload(gpu: &Gpu, amount: f64, threshold: u16) -> Result<Self, DeviceError> {
        // What exceeds the samples of either depth is as good as M.
        let step = |apart: u16| match apart > threshold {
            true => u32::from((amount * f64::from(apart) + 0.5) as u16),
            false => 0,
        };
        let word = |word: u16| step(2 * word) | step(2 * word + 1) << 16;
        let words: Vec<u32> = (0..WORDS as u16).map(word).collect();
        Ok(Self {
            words: gpu.upload(&words)?,
        })
    }
}

/// Sharpens the pixels of `band`, whose means are in `output` and are replaced. The source's top-left lies at `place` in the same coordinates, and
/// it is 0 where it is not.
///
/// # Errors
/// Where the device fails.
#[allow(clippy::too_many_arguments)]
pub(crate) fn sharpen(
    gpu: &Gpu,
    source: &Plane,
    place: (i64, i64),
    size: (u64, u64),
    steps: &Steps,
    band: Rect,
    output: &Buffer,
    pitch: u32,
) -> Result<(), DeviceError> {
    let bits = source.depth().bits();
    let columns = Places::new(place.0, source.width(), size.0, band.x(), band.width(), 0);
    for top in (0..band.height()).step_by(MOST_ROWS as usize) {
        let rows = MOST_ROWS.min(band.height() - top);
        let y = band.y() + top.cast_signed();
        let lines = Places::new(place.1, source.height(), size.1, y, rows, 0);
        // All within the output, whose words are counted in 32 bits.
        let words = band.width().div_ceil(per_word(bits).into()) as u32;
        let rows = rows as u32;
        let offset = (top * u64::from(pitch)) as u32;
        // SAFETY: rows and words of the source are clamped to those of its plane, which `Plane` has checked to lie in its buffer; words and rows of
        // the output are compared with those of the band, which was checked to fit; there is a step for each difference of 16 bits.
        launch!(
            gpu, "sharpen", &bits,
            &[
                Operand::read("the source", source.buffer()),
                Operand::read("steps", &steps.words),
                Operand::update("the output", output),
            ],
            cover((words, rows), CUBE),
            unsafe put_on_top(
                source.buffer().array(1), numbers(source, columns, lines).into_iter().collect(),
                steps.words.array(1), output.array(1), words, rows, offset, pitch,
                bits))?;
    }
    Ok(())
}

#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn put_on_top(
    source: &Array<u32>,
    numbers: &Sequence<u32>,
    steps: &Array<u32>,
    output: &mut Array<u32>,
    words: u32,
    rows: u32,
    offset: u32,
    pitch: u32,
    #[comptime] bits: u32,
) {
    let word = ABSOLUTE_POS_X;
    let y = ABSOLUTE_POS_Y;
    if word < words && y < rows {
        let lanes = comptime!(per_word(bits));
        // All of the band lies within the filter.
        let row = *numbers.index(LINES) + y;
        let mut samples = u32::new(0);
        if row < *numbers.index(comptime!(PLANE + 3)) {
            let start = *numbers.index(PLANE) + row * *numbers.index(comptime!(PLANE + 1));
            samples = word_at(
                source,
                numbers,
                start,
                *numbers.index(0usize) + word * lanes,
                bits,
            );
        }
        let at = offset + y * pitch + word;
        let means = output[at as usize];
        let most = u32::new(comptime!(ones(bits) as i64));
        let mut result = u32::new(0);
        #[unroll]
        for l in 0..lanes {
            let value = (samples >> comptime!(l * bits)) & most;
            let mean = (means >> comptime!(l * bits)) & most;
            let apart = max(value, mean) - min(value, mean);
            let step = (steps[(apart >> 1u32) as usize] >> ((apart & 1u32) * 16u32)) & 0xffffu32;
            let less = max(value, step) - step;
            let more = min(value + step, most);
            result |= select(value < mean, less, more) << comptime!(l * bits);
        }
        output[at as usize] = result;
    }
}
