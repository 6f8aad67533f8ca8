//! Integral images on a device: of pictures that lie in larger ones, in every layout.

use relief_kernels::device::{DeviceError, Gpu};
use relief_kernels::policy::Tuning;
use relief_numeric::integral::gpu::{DEFAULT, integral, integral_with, scratch_words, windows};
use relief_numeric::integral::{Sums, Window};
use relief_numeric::transpose::gpu::Matrix;

fn bytes(len: usize) -> Vec<u8> {
    (0..len as u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 23) as u8)
        .collect()
}

#[test]
fn what_follows_a_row_is_not_summed_in_any_layout() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
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
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let (from, to) = (gpu.buffer(256).unwrap(), gpu.buffer(1_024).unwrap());
    let scratch = gpu.buffer(scratch_words(Sums::Short, 32, 32)).unwrap();
    let matrix = |buffer, pitch| Matrix { buffer, pitch };
    let refused = |result: Result<(), DeviceError>| {
        assert!(
            result.as_ref().is_err_and(crate::support::is_refused),
            "{result:?}"
        );
    };
    let run = |size, from, to, scratch| integral(&gpu, Sums::Short, size, from, to, scratch);
    refused(run((32, 33), matrix(&from, 8), matrix(&to, 32), &scratch));
    refused(run((33, 32), matrix(&from, 8), matrix(&to, 32), &scratch));
    refused(run((32, 32), matrix(&from, 8), matrix(&to, 30), &scratch));
    refused(run((32, 32), matrix(&from, 8), matrix(&to, 32), &from));
    let in_place = run((32, 32), matrix(&to, 8), matrix(&to, 32), &scratch);
    assert!(
        matches!(in_place, Err(DeviceError::Overlap { .. })),
        "{in_place:?}"
    );
    run((32, 32), matrix(&from, 8), matrix(&to, 32), &scratch).unwrap();
    let window = Window { radius: 3 };
    let means = |size, sums, pitch| {
        let matrix = matrix(&to, pitch);
        let table = windows::Integral { sums, matrix };
        windows::means(
            &gpu,
            window,
            size,
            table,
            Matrix {
                buffer: &from,
                pitch: 8,
            },
        )
    };
    refused(means((32, 33), Sums::Short, 32));
    refused(means((32, 32), Sums::Short, 31));
    refused(means((32, 32), Sums::Long, 32));
    refused(means((32, 32), Sums::Floats, 32));
    means((32, 32), Sums::Short, 32).unwrap();
}

/// The means of the windows of a picture whose rows are whole vectors, by sums of 64 bits.
fn long_means(
    gpu: &Gpu,
    samples: &[u8],
    (width, height): (u32, u32),
    radius: u32,
    sums: Sums,
) -> Result<Vec<u8>, DeviceError> {
    let packed: Vec<u32> = samples
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    let from = gpu.upload(&packed).unwrap();
    let table = gpu.buffer(samples.len() * sums.words() as usize).unwrap();
    let scratch = gpu.buffer(scratch_words(sums, width, height)).unwrap();
    let matrix = |buffer, words: u32| Matrix {
        buffer,
        pitch: width / 4 * words,
    };
    let table = matrix(&table, 4 * sums.words());
    integral(gpu, sums, (width, height), matrix(&from, 1), table, &scratch).unwrap();
    let to = gpu.buffer(packed.len()).unwrap();
    let table = windows::Integral { sums, matrix: table };
    windows::means(gpu, Window { radius }, (width, height), table, matrix(&to, 1))?;
    Ok(gpu.read(&to, packed.len()).wait().unwrap().to_vec())
}

#[test]
fn means_by_sums_of_64_bits_are_those_of_the_samples() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let (width, height) = (64_usize, 37_usize);
    for samples in [
        bytes(width * height),
        vec![255; width * height],
        vec![1; width * height],
    ] {
        for radius in [0, 1, 5, 40, 1_000] {
            let found = long_means(&gpu, &samples, (64, 37), radius, Sums::Long).unwrap();
            for y in 0..height {
                for x in 0..width {
                    let side = |at: usize, end: usize| {
                        at.saturating_sub(radius as usize)..(at + radius as usize + 1).min(end)
                    };
                    let rows = side(y, height).map(|y| &samples[y * width..][side(x, width)]);
                    let (count, sum) = rows.fold((0, 0), |(count, sum), row| {
                        let more: u64 = row.iter().map(|sample| u64::from(*sample)).sum();
                        (count + row.len() as u64, sum + more)
                    });
                    let mean = Window::mean(sum, count);
                    assert_eq!(u64::from(found[y * width + x]), mean, "({x}, {y}), {radius}");
                }
            }
        }
    }
}

#[test]
fn windows_of_more_than_2_24_samples_have_their_mean_by_sums_of_64_bits_alone() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let (width, height) = (4_352_u32, 4_096_u32);
    // Software binds no more than 2^24 sums at once; it is asked about single means in `windows.rs`.
    let largest = gpu.report().largest_buffer;
    if largest < u64::from(width * height) * 8 {
        eprintln!("skipped: the largest buffer is {largest} bytes");
        return;
    }
    // Bright: the sum of all samples is above 2^32.
    let samples: Vec<u8> = bytes((width * height) as usize)
        .iter()
        .map(|s| s | 0xf0)
        .collect();
    let sum: u64 = samples.iter().map(|sample| u64::from(*sample)).sum();
    let mean = Window::mean(sum, samples.len() as u64);
    assert!(sum > u64::from(u32::MAX));
    let found = long_means(&gpu, &samples, (width, height), u32::MAX, Sums::Long).unwrap();
    assert!(found.iter().all(|found| u64::from(*found) == mean));
    let refused = long_means(&gpu, &samples, (width, height), u32::MAX, Sums::Short);
    assert!(matches!(refused, Err(DeviceError::Limit { .. })), "{refused:?}");
}
