//! Means over windows of any size by an integral image, and adaptive thresholds by those.
//!
//! A unit makes a word of four samples. Each takes four sums whatever its window is, which neighbouring units take from the
//! same lines. The division is a product with a reciprocal, which may be one off, and a step that puts that right.

use cubecl::prelude::*;

use super::super::Window;
use crate::device::{DeviceError, Gpu, cubes, on_client};
use crate::transpose::gpu::Matrix;

/// The most samples of a window.
pub const MOST: u64 = 1 << 24;

/// Words of a cube.
const UNITS: u32 = 256;

/// The means of the windows around all samples of a picture, from its integral image in [`Sums::Short`](super::Sums::Short):
/// rounded to the nearest, halves up. What follows in the last word of a row is 0.
///
/// # Errors
/// Where the device fails, where a buffer does not hold its rows, and where windows have more than [`MOST`] samples.
pub fn means(
    gpu: &Gpu,
    window: Window,
    size: (u32, u32),
    integral: Matrix<'_>,
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
    integral: Matrix<'_>,
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
    integral: Matrix<'_>,
    to: Matrix<'_>,
) -> Result<(), DeviceError> {
    let radius = window.radius.min(width.max(height));
    let side = |side: u32| u64::from((2 * u64::from(radius) + 1).min(u64::from(side)) as u32);
    let holds = |matrix: Matrix<'_>, row: u32| {
        let words = u64::from(matrix.pitch) * u64::from(height);
        row <= matrix.pitch && words <= matrix.buffer.words() as u64
    };
    let words = width.div_ceil(4);
    let pictured = threshold.is_none_or(|(_, picture)| holds(picture, words));
    let counted = u64::from(words) * u64::from(height) < 0xF000_0000;
    if !pictured || !counted || !holds(integral, width) || !holds(to, words) {
        return Err(gpu.unsupported(format!(
            "windows of {width} × {height} samples in shorter buffers"
        )));
    }
    if side(width) * side(height) > MOST {
        return Err(gpu.unsupported(format!("windows of {} × {} samples", side(width), side(height))));
    }
    if width == 0 || height == 0 {
        return Ok(());
    }
    let launch = Launch {
        radius,
        threshold,
        size: (width, height),
        integral,
        to,
    };
    gpu.launch(
        "windows",
        &threshold.is_some(),
        to.buffer,
        || on_client!(gpu, client => launch.on(gpu, client)),
    )
}

struct Launch<'a> {
    radius: u32,
    threshold: Option<(i32, Matrix<'a>)>,
    size: (u32, u32),
    integral: Matrix<'a>,
    to: Matrix<'a>,
}

impl Launch<'_> {
    #[allow(unsafe_code)]
    fn on<R: Runtime>(&self, gpu: &Gpu, client: &ComputeClient<R>) {
        let (width, height) = self.size;
        // Without a threshold the picture is not read.
        let (offset, picture) = self.threshold.unwrap_or((0, self.integral));
        // SAFETY: words are compared with those of all rows; sums are taken from existing rows and columns; all buffers hold as many.
        unsafe {
            let array =
                |matrix: Matrix<'_>| ArrayArg::from_raw_parts(matrix.buffer.handle(), matrix.buffer.words());
            windows::launch_unchecked::<R>(
                client,
                cubes(gpu, (width.div_ceil(4) * height).div_ceil(UNITS)),
                CubeDim::new_1d(UNITS),
                array(picture),
                array(self.integral),
                array(self.to),
                width,
                height,
                picture.pitch,
                self.integral.pitch,
                self.to.pitch,
                self.radius,
                offset,
                self.threshold.is_some(),
            );
        }
    }
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
) {
    let words = (width - 1) / 4 + 1;
    let place = CUBE_POS as u32 * UNITS + UNIT_POS;
    let (y, word) = (place / words, place % words);
    if y < height {
        let below = min(y + radius, height - 1) * integral_pitch;
        // Where there is nothing above or to the left, what is there is taken and not counted.
        let inside = y > radius;
        let top = select(inside, y - radius, 0u32);
        let above = (max(top, 1u32) - 1) * integral_pitch;
        let rows = min(y + radius, height - 1) + 1 - top;
        let mut samples = u32::new(0);
        if thresholds {
            samples = picture[(y * picture_pitch + word) as usize];
        }
        let mut result = u32::new(0);
        #[unroll]
        for k in 0..4u32 {
            let x = 4 * word + k;
            if x < width {
                let right = min(x + radius, width - 1);
                let within = x > radius;
                let first = select(within, x - radius, 0u32);
                let left = max(first, 1u32) - 1;
                let mut sum = integral[(below + right) as usize];
                if within {
                    sum -= integral[(below + left) as usize];
                }
                if inside {
                    sum -= integral[(above + right) as usize];
                    if within {
                        sum += integral[(above + left) as usize];
                    }
                }
                let mean = mean(sum, rows * (right + 1 - first));
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

/// A sum over a count, to the nearest, halves up.
#[cube]
fn mean(sum: u32, count: u32) -> u32 {
    let rounded = sum + count / 2;
    let quotient = u32::cast_from(f32::cast_from(rounded) / f32::cast_from(count));
    // Below 256 the rounding errors of both are less than 1 together.
    let rest = i32::cast_from(rounded - quotient * count);
    let up = u32::cast_from(rest >= i32::cast_from(count));
    let down = u32::cast_from(rest < 0);
    quotient + up - down
}
