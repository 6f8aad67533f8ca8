//! Means over windows of any size by an integral image, and adaptive thresholds by those.
//!
//! A unit (thread) makes a word of four samples. Each takes four sums whatever its window is, which
//! neighbouring units take from the same lines. The division is one of floats, which may be one off, and a
//! step that puts that right.

use cubecl::prelude::*;

use super::super::{Sums, Window};
use crate::transpose::gpu::Matrix;
use relief_kernels::device::{DeviceError, Gpu, Operand, launch, line};

/// The most samples of a window of sums of [`Sums::Short`]: a window's sum is known modulo 2^32.
pub const MOST: u64 = 1 << 24;

/// An integral image on a device.
#[derive(Clone, Copy, Debug)]
pub struct Integral<'a> {
    /// [`Sums::Short`]; or [`Sums::Long`], whose windows may have any number of samples.
    pub sums: Sums,
    /// Where it lies.
    pub matrix: Matrix<'a>,
}

/// Words of a cube.
const UNITS: u32 = 256;

/// The means of the windows around all samples of a picture, from its integral image: rounded to the nearest, halves up. What
/// follows in the last word of a row is 0.
///
/// # Errors
/// Where the device fails, where a buffer does not hold its rows, for sums of floats, and where windows have more than [`MOST`]
/// samples and sums 32 bits.
pub fn means(
    gpu: &Gpu,
    window: Window,
    size: (u32, u32),
    integral: Integral<'_>,
    to: Matrix<'_>,
) -> Result<(), DeviceError> {
    run(gpu, window, None, size, integral, to)
}

/// 255 where a sample of a picture is above the [mean](means) around it less `offset`, else 0.
///
/// # Errors
/// As [`means`].
pub fn threshold(
    gpu: &Gpu,
    window: Window,
    offset: i32,
    size: (u32, u32),
    picture: Matrix<'_>,
    integral: Integral<'_>,
    to: Matrix<'_>,
) -> Result<(), DeviceError> {
    // Beyond 255 nothing changes any more.
    run(
        gpu,
        window,
        Some((offset.clamp(-256, 256), picture)),
        size,
        integral,
        to,
    )
}

fn run(
    gpu: &Gpu,
    window: Window,
    threshold: Option<(i32, Matrix<'_>)>,
    (width, height): (u32, u32),
    integral: Integral<'_>,
    to: Matrix<'_>,
) -> Result<(), DeviceError> {
    let radius = window.radius.min(width.max(height));
    let side = |side: u32| u64::from((2 * u64::from(radius) + 1).min(u64::from(side)) as u32);
    let words = width.div_ceil(4);
    // Kernels add the radius to places in 32 bits.
    let reached = u64::from(radius) + u64::from(width.max(height));
    gpu.at_most("pixels of a side and of the radius together", u32::MAX, reached)?;
    let all = u64::from(words) * u64::from(height);
    gpu.at_most("words of a picture", 0xF000_0000_u32 - 1, all)?;
    let holds = |what, matrix: Matrix<'_>, row: u32| {
        gpu.rows_apart(what, row.into(), matrix.pitch.into())?;
        gpu.holds(what, matrix.buffer, u64::from(matrix.pitch) * u64::from(height))
    };
    if let Some((_, picture)) = threshold {
        holds("the picture", picture, words)?;
    }
    holds(
        "the integral image",
        integral.matrix,
        width.saturating_mul(integral.sums.words()),
    )?;
    holds("the result", to, words)?;
    let long = match integral.sums {
        Sums::Long => true,
        Sums::Short if side(width) * side(height) <= MOST => false,
        Sums::Short => {
            let samples = side(width) * side(height);
            return gpu.at_most(
                "samples of a window by sums of 32 bits (sums of 64 bits take more)",
                MOST,
                samples,
            );
        }
        Sums::Floats => return Err(gpu.no_kind("means of bytes", "sums of integers", "sums of floats")),
    };
    if width == 0 || height == 0 {
        return Ok(());
    }
    // Without a threshold the picture is not read.
    let (offset, picture) = threshold.unwrap_or((0, integral.matrix));
    // SAFETY: words are compared with those of all rows; sums are taken from existing rows and columns; all buffers hold as many.
    launch!(
        gpu, "windows", &(threshold.is_some(), long),
        &[
            Operand::read("the integral image", integral.matrix.buffer),
            Operand::read("the picture", picture.buffer),
            Operand::write("the result", to.buffer),
        ],
        line(gpu, width.div_ceil(4) * height, UNITS),
        unsafe windows(
            picture.buffer.array(1), integral.matrix.buffer.array(1), to.buffer.array(1), width,
            height, picture.pitch, integral.matrix.pitch, to.pitch, radius, offset,
            threshold.is_some(), long))
}

#[cube(launch_unchecked)]
#[allow(clippy::too_many_arguments)]
fn windows(
    picture: &Array<u32>,
    integral: &Array<u32>,
    to: &mut Array<u32>,
    width: u32,
    height: u32,
    picture_pitch: u32,
    integral_pitch: u32,
    to_pitch: u32,
    radius: u32,
    offset: i32,
    #[comptime] thresholds: bool,
    #[comptime] long: bool,
) {
    let words = (width - 1) / 4 + 1;
    let place = CUBE_POS as u32 * UNITS + UNIT_POS;
    let (y, word) = (place / words, place % words);
    if y < height {
        // What is added to a row or column stays below 2^32.
        let bottom = y + min(radius, height - 1 - y);
        let below = bottom * integral_pitch;
        // Where there is nothing above or to the left, what is there is taken and not counted.
        let inside = y > radius;
        let top = select(inside, y - radius, 0u32);
        let above = (max(top, 1u32) - 1) * integral_pitch;
        let rows = bottom + 1 - top;
        let mut samples = u32::new(0);
        if thresholds {
            samples = picture[(y * picture_pitch + word) as usize];
        }
        let mut result = u32::new(0);
        #[unroll]
        for k in 0..4u32 {
            let x = 4 * word + k;
            if x < width {
                let right = x + min(radius, width - 1 - x);
                let within = x > radius;
                let first = select(within, x - radius, 0u32);
                let left = max(first, 1u32) - 1;
                let columns = right + 1 - first;
                // What is outside of the picture sums up to nothing.
                // rung: integral on gpu: by integral image
                let sum = minus(
                    minus(
                        sum_at(integral, below, right, true, long),
                        sum_at(integral, below, left, within, long),
                        long,
                    ),
                    minus(
                        sum_at(integral, above, right, inside, long),
                        sum_at(integral, above, left, inside && within, long),
                        long,
                    ),
                    long,
                );
                // end
                let mut mean = u32::new(0);
                if comptime!(long) {
                    mean += long_mean(sum, product(rows, columns));
                } else {
                    mean += short_mean(sum.low, rows * columns);
                }
                if thresholds {
                    let sample = i32::cast_from((samples >> (8 * k)) & 0xffu32);
                    if sample > i32::cast_from(mean) - offset {
                        result |= comptime!(0xffu32 << (8 * k));
                    }
                } else {
                    result |= mean << (8 * k);
                }
            }
        }
        to[(y * to_pitch + word) as usize] = result;
    }
}

/// A number of 64 bits, or of 32 in its lower word: not all devices have integers of 64.
#[derive(CubeType, Clone, Copy)]
struct Wide {
    low: u32,
    high: u32,
}

/// The sum at column `x` of a row where it counts, else 0.
#[cube]
fn sum_at(integral: &Array<u32>, row: u32, x: u32, counts: bool, #[comptime] long: bool) -> Wide {
    let mut low = u32::new(0);
    let mut high = u32::new(0);
    if counts {
        if comptime!(long) {
            low = integral[(row + 2 * x) as usize];
            high = integral[(row + 2 * x + 1) as usize];
        } else {
            low = integral[(row + x) as usize];
        }
    }
    Wide { low, high }
}

/// a + b.
#[cube]
fn plus(a: Wide, b: Wide, #[comptime] long: bool) -> Wide {
    let low = a.low + b.low;
    let mut high = u32::new(0);
    if comptime!(long) {
        high += a.high + b.high + u32::cast_from(low < a.low);
    }
    Wide { low, high }
}

/// a - b.
#[cube]
fn minus(a: Wide, b: Wide, #[comptime] long: bool) -> Wide {
    let mut high = u32::new(0);
    if comptime!(long) {
        high += a.high - b.high - u32::cast_from(a.low < b.low);
    }
    Wide {
        low: a.low - b.low,
        high,
    }
}

/// a · b.
#[cube]
fn product(a: u32, b: u32) -> Wide {
    Wide {
        low: a * b,
        high: a.mul_hi(b),
    }
}

/// A number, rounded.
#[cube]
fn rounded(number: Wide) -> f32 {
    f32::cast_from(number.high) * 4_294_967_296.0f32 + f32::cast_from(number.low)
}

/// A sum over a count, to the nearest, halves up; below 2^32.
#[cube]
fn short_mean(sum: u32, count: u32) -> u32 {
    let sum = sum + count / 2;
    let quotient = u32::cast_from(f32::cast_from(sum) / f32::cast_from(count));
    // Below 256 the rounding errors of both are less than 1 together.
    let rest = i32::cast_from(sum - quotient * count);
    let up = u32::cast_from(rest >= i32::cast_from(count));
    let down = u32::cast_from(rest < 0);
    quotient + up - down
}

/// The same of 64 bits.
#[cube]
fn long_mean(sum: Wide, count: Wide) -> u32 {
    let half = Wide {
        low: (count.low >> 1u32) | (count.high << 31u32),
        high: count.high >> 1u32,
    };
    let sum = plus(sum, half, true);
    let quotient = u32::cast_from(rounded(sum) / rounded(count));
    // As above. The quotient has 9 bits at most.
    let low = product(quotient, count.low);
    let taken = Wide {
        low: low.low,
        high: low.high + quotient * count.high,
    };
    let rest = minus(sum, taken, true);
    let negative = rest.high >> 31u32;
    let less = minus(rest, count, true).high >> 31u32;
    quotient + (1u32 - less) * (1u32 - negative) - negative
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device_of_tests;
    use relief_kernels::device::{Buffer, on_client, start};

    #[cube(launch_unchecked)]
    fn means_alone(numbers: &Array<u32>, out: &mut Array<u32>, count: u32) {
        let place = ABSOLUTE_POS as u32;
        if place < count {
            let sum = Wide {
                low: numbers[(4 * place) as usize],
                high: numbers[(4 * place + 1) as usize],
            };
            let of = Wide {
                low: numbers[(4 * place + 2) as usize],
                high: numbers[(4 * place + 3) as usize],
            };
            out[place as usize] = long_mean(sum, of);
        }
    }

    fn launch<R: Runtime>(client: &ComputeClient<R>, numbers: &Buffer, out: &Buffer, count: u32) {
        // SAFETY: `numbers` has four words for each of `count` means, `out` one.
        start!(
            client, (CubeCount::Static(count.div_ceil(64), 1, 1), CubeDim::new_1d(64)),
            unsafe means_alone(numbers.array(1), out.array(1), count));
    }

    #[test]
    fn means_of_windows_of_any_number_of_samples_are_exact() {
        let Some(gpu) = device_of_tests() else { return };
        let mut cases = Vec::new();
        for count in [
            1_u64,
            2,
            3,
            255,
            4_096,
            (1 << 24) + 1,
            (1 << 32) - 1,
            1 << 32,
            (1 << 33) + 7,
            (1 << 46) - 1,
        ] {
            for mean in [0, 1, 2, 77, 128, 254] {
                // Around where the mean becomes the next one.
                let edge = mean * count + count.div_ceil(2);
                cases.extend(
                    [edge - 1, edge, edge + 1, mean * count].map(|sum| (sum.min(255 * count), count)),
                );
            }
            cases.push((255 * count, count));
        }
        let halves = |number: u64| [number as u32, (number >> 32) as u32];
        let words: Vec<u32> = cases
            .iter()
            .flat_map(|(sum, count)| [halves(*sum), halves(*count)].concat())
            .collect();
        let numbers = gpu.upload(&words).unwrap();
        let out = gpu.buffer(cases.len()).unwrap();
        on_client!(gpu, client => launch(client, &numbers, &out, cases.len() as u32));
        let found = gpu.read(&out, cases.len()).wait().unwrap();
        for ((sum, count), found) in cases.iter().zip(found.as_chunks::<4>().0) {
            let right = Window::mean(*sum, *count);
            assert_eq!(u64::from(u32::from_le_bytes(*found)), right, "{sum} / {count}");
        }
    }
}
