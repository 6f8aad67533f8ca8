//! Quarter turns on a device, pixel by pixel.

use relief_kernels::device::Gpu;
use relief_kernels::fused::Plane;
use relief_kernels::turn::gpu::quarter;
use relief_raster::{Depth, Sample};

use crate::support::{Random, device, pack, unpack};

/// Turns a source of `size` so that the first pixel of `asked` shows its column and row `first`, and looks at every pixel.
fn turned<S: Sample>(gpu: &Gpu, size: (i64, i64), first: (i64, i64), asked: (u64, u64)) {
    let mut random = Random::new(size.0 as u64 * 977 + asked.0);
    let (width, height) = size;
    let samples: Vec<S> = (0..width * height)
        .map(|_| S::from_u16(random.sample() & S::MAX.to_u16()))
        .collect();
    let (words, row) = pack(&samples, width as usize);
    // The source lies behind words that must not be taken for it, in rows with such words at their ends.
    let mut padded = vec![u32::MAX; 3];
    for words in words.chunks(row as usize) {
        padded.extend_from_slice(words);
        padded.resize(padded.len() + 2, u32::MAX);
    }
    let buffer = gpu.upload(&padded).unwrap();
    let plane = Plane::new(buffer, 3, row + 2, width as u32, height as u32, S::DEPTH).unwrap();
    let columns = asked.0 as usize;
    let pitch = columns.div_ceil(16 / size_of::<S>()) * 4;
    for clockwise in [true, false] {
        let output = gpu.upload(&vec![0xABAB_CDCD; pitch * asked.1 as usize]).unwrap();
        quarter(gpu, &plane, first, clockwise, asked, &output, pitch as u32).unwrap();
        let bytes = gpu.read(&output, output.words()).wait().unwrap();
        let got: Vec<S> = unpack(&bytes, pitch, columns);
        for (i, got) in (0..).zip(&got) {
            let (x, y) = (i % asked.0 as i64, i / asked.0 as i64);
            let (column, row) = if clockwise {
                (first.0 + y, first.1 - x)
            } else {
                (first.0 - y, first.1 + x)
            };
            let inside = (0..width).contains(&column) && (0..height).contains(&row);
            let want = if inside {
                samples[(row * width + column) as usize]
            } else {
                S::ZERO
            };
            assert!(
                *got == want,
                "at {x},{y} of {asked:?}, {clockwise}, source of {size:?} at {first:?}: {got} is not {want}"
            );
        }
    }
}

#[test]
fn quarters_are_turned_both_ways_wherever_the_source_begins() {
    let Some(gpu) = device() else { return };
    for (size, asked) in [
        ((1, 1), (1, 1)),
        ((5, 3), (3, 5)),
        ((16, 16), (16, 16)),
        ((70, 41), (41, 70)),
        ((131, 9), (13, 140)),
        ((4, 700), (700, 4)),
    ] {
        let (width, height) = size;
        for first in [
            (0, height - 1),
            (width - 1, 0),
            (-3, 2),
            (2, -5),
            (width / 2, height + 7),
            (width + 6, height / 2),
        ] {
            turned::<u8>(&gpu, size, first, asked);
            turned::<u16>(&gpu, size, first, asked);
        }
    }
}

#[test]
fn what_lies_far_from_the_source_is_0() {
    let Some(gpu) = device() else { return };
    let far = 1_i64 << 31;
    // 2^32 pixels on numbers of 32 bits are the same.
    for first in [
        (1 << 40, 0),
        (0, -(1 << 40)),
        (-far * far, far * far),
        (1 << 32, 1 << 32),
        (-(1 << 32), 3),
    ] {
        turned::<u8>(&gpu, (20, 20), first, (20, 20));
    }
}

#[test]
fn samples_that_do_not_fit_are_refused() {
    let Some(gpu) = device() else { return };
    let plane = Plane::new(gpu.upload(&[7; 64]).unwrap(), 0, 4, 16, 16, Depth::Eight).unwrap();
    let output = gpu.buffer(64).unwrap();
    for (size, pitch) in [
        ((17, 4), 4),
        ((16, 17), 4),
        ((16, 4), 6),
        ((1 << 40, 1), 4),
        ((0, 1), 0),
        ((4, 0), 4),
    ] {
        let result = quarter(&gpu, &plane, (0, 0), true, size, &output, pitch);
        match size {
            (0, _) | (_, 0) => assert!(result.is_ok(), "nothing to compute: {result:?}"),
            _ => assert!(
                result.as_ref().is_err_and(crate::support::is_refused),
                "{size:?}: {result:?}"
            ),
        }
    }
}
