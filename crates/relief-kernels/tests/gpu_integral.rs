//! Integral images on a device: of pictures that lie in larger ones, in every layout.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod support;

use relief_kernels::device::DeviceError;
use relief_kernels::integral::gpu::{DEFAULT, integral, integral_with, scratch_words, windows};
use relief_kernels::integral::{Sums, Window};
use relief_kernels::policy::Tuning;
use relief_kernels::transpose::gpu::Matrix;

fn bytes(len: usize) -> Vec<u8> {
    (0..len as u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 23) as u8)
        .collect()
}

#[test]
fn what_follows_a_row_is_not_summed_in_any_layout() {
    let Some(gpu) = support::device() else { return };
    for (width, height) in [(1, 1), (61, 40), (130, 70), (1_021, 300)] {
        // Rows are longer than the picture is wide, and what follows is not 0.
        let pitch = usize::next_multiple_of(width, 16) + 32;
        let samples = bytes(pitch * height);
        let packed: Vec<u32> = samples
            .chunks_exact(4)
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect();
        let from = gpu.upload(&packed).unwrap();
        let target = usize::next_multiple_of(width, 4);
        let mut expected = vec![0_u64; target * height];
        for y in 0..height {
            let mut sum = 0;
            for x in 0..target {
                sum += if x < width {
                    u64::from(samples[y * pitch + x])
                } else {
                    0
                };
                let above = if y > 0 { expected[(y - 1) * target + x] } else { 0 };
                expected[y * target + x] = above + sum;
            }
        }
        let size = (width as u32, height as u32);
        for (units, items) in [(256, 8), (64, 4), (512, 32)] {
            for sums in [Sums::Short, Sums::Long] {
                let each = sums.words() as usize;
                let to = gpu.buffer(target * height * each).unwrap();
                let scratch = gpu.buffer(scratch_words(sums, size.0, size.1)).unwrap();
                let picture = Matrix {
                    buffer: &from,
                    pitch: (pitch / 4) as u32,
                };
                let result = Matrix {
                    buffer: &to,
                    pitch: (target * each) as u32,
                };
                let tuning = Tuning {
                    units,
                    items,
                    ..DEFAULT
                };
                integral_with(&gpu, tuning, sums, size, picture, result, &scratch).unwrap();
                let read = gpu.read(&to, target * height * each).wait().unwrap();
                let found: Vec<u64> = read
                    .chunks_exact(4 * each)
                    .map(|sum| {
                        let mut long = [0; 8];
                        long[..sum.len()].copy_from_slice(sum);
                        u64::from_le_bytes(long)
                    })
                    .collect();
                assert!(
                    found == expected,
                    "{width} × {height}, {sums:?}, {units} units, {items} items"
                );
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(gpu) = support::device() else { return };
    let (from, to) = (gpu.buffer(256).unwrap(), gpu.buffer(1_024).unwrap());
    let scratch = gpu.buffer(scratch_words(Sums::Short, 32, 32)).unwrap();
    let matrix = |buffer, pitch| Matrix { buffer, pitch };
    let refused = |result: Result<(), DeviceError>| {
        assert!(
            matches!(result, Err(DeviceError::Unsupported { .. })),
            "{result:?}"
        );
    };
    let run = |size, from, to, scratch| integral(&gpu, Sums::Short, size, from, to, scratch);
    refused(run((32, 33), matrix(&from, 8), matrix(&to, 32), &scratch));
    refused(run((33, 32), matrix(&from, 8), matrix(&to, 32), &scratch));
    refused(run((32, 32), matrix(&from, 8), matrix(&to, 30), &scratch));
    refused(run((32, 32), matrix(&from, 8), matrix(&to, 32), &from));
    refused(run((32, 32), matrix(&to, 8), matrix(&to, 32), &scratch));
    run((32, 32), matrix(&from, 8), matrix(&to, 32), &scratch).unwrap();
    let window = Window { radius: 3 };
    refused(windows::means(
        &gpu,
        window,
        (32, 33),
        matrix(&to, 32),
        matrix(&from, 8),
    ));
    refused(windows::means(
        &gpu,
        window,
        (32, 32),
        matrix(&to, 31),
        matrix(&from, 8),
    ));
    windows::means(&gpu, window, (32, 32), matrix(&to, 32), matrix(&from, 8)).unwrap();
}
