//! The bilateral filter on a device against the CPU, which its own tests hold against the definition.

use crate::support::{Random, device};
use relief_kernels::device::{DeviceError, Gpu};
use relief_numeric::bilateral::cpu::{self, Filter, grid_len};
use relief_numeric::bilateral::gpu::{bilateral, scratch_words};
use relief_numeric::bilateral::{Bilateral, Level};
use relief_numeric::element::Element;
use relief_numeric::transpose::gpu::Matrix;

fn on_cpu<T: Level + Default>(job: Bilateral, image: &[T]) -> Vec<T> {
    let filter = Filter::new::<T>(job).unwrap();
    let mut output = vec![T::default(); image.len()];
    let mut scratch = vec![0.0; 2 * grid_len(filter.cells()) + filter.row_len()];
    let mut counts = vec![0; filter.row_len()];
    let width = job.width as usize;
    cpu::bilateral(job, image, &mut output, width, &mut scratch, &mut counts).unwrap();
    output
}

/// The filter of rows of `pitch` words on a device; the first bytes of its rows.
fn on_device(gpu: &Gpu, element: Element, job: Bilateral, image: &[u8], pitch: u32) -> Vec<u8> {
    let row = (job.width * element.bits() / 8) as usize;
    let mut bytes = vec![0xEE; pitch as usize * 4 * job.height as usize];
    for (to, from) in bytes.chunks_mut(pitch as usize * 4).zip(image.chunks(row)) {
        to[..row].copy_from_slice(from);
    }
    let words: Vec<u32> = bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word))
        .collect();
    let (from, to) = (
        gpu.upload(&words).unwrap(),
        gpu.upload(&vec![0xABAB_ABAB; words.len()]).unwrap(),
    );
    let scratch = gpu.buffer(scratch_words(job, element).unwrap() as usize).unwrap();
    let matrix = |buffer| Matrix { buffer, pitch };
    bilateral(gpu, element, job, matrix(&from), matrix(&to), &scratch).unwrap();
    let found = gpu.read(&to, words.len()).wait().unwrap();
    let rows = found.chunks(pitch as usize * 4);
    rows.clone().for_each(|found| {
        assert!(
            found[row..].iter().all(|byte| *byte == 0),
            "{job:?}: what follows a row is 0"
        );
    });
    rows.flat_map(|found| &found[..row]).copied().collect()
}

fn jobs(greatest: u32) -> Vec<Bilateral> {
    [
        (1, 1, 1, 4),
        (37, 5, 3, 8),
        (64, 64, 8, 10),
        (131, 70, 16, 30),
        (300, 40, 64, 5),
    ]
    .map(|(width, height, spatial, part)| Bilateral {
        width,
        height,
        spatial,
        range: greatest / part,
    })
    .to_vec()
}

#[test]
fn bytes_are_those_of_the_cpu_to_a_step() {
    let Some(gpu) = device() else { return };
    for job in jobs(255) {
        let mut random = Random::new(u64::from(job.width));
        let image: Vec<u8> = (0..job.width * job.height)
            .map(|_| random.sample() as u8)
            .collect();
        let found = on_device(&gpu, Element::U8, job, &image, job.width.div_ceil(16) * 4 + 4);
        for (at, (found, right)) in found.iter().zip(on_cpu(job, &image)).enumerate() {
            assert!(
                found.abs_diff(right) <= 1,
                "pixel {at} of {job:?}: {found}, not {right}"
            );
        }
    }
}

#[test]
fn words_are_those_of_the_cpu_to_a_step() {
    let Some(gpu) = device() else { return };
    for job in jobs(65_535) {
        let mut random = Random::new(u64::from(job.height));
        let image: Vec<u16> = (0..job.width * job.height).map(|_| random.sample()).collect();
        let bytes: Vec<u8> = image.iter().flat_map(|v| v.to_le_bytes()).collect();
        let found = on_device(&gpu, Element::U16, job, &bytes, job.width.div_ceil(8) * 4);
        let found = found.as_chunks::<2>().0.iter().map(|v| u16::from_le_bytes(*v));
        for (at, (found, right)) in found.zip(on_cpu(job, &image)).enumerate() {
            assert!(
                found.abs_diff(right) <= 1,
                "pixel {at} of {job:?}: {found}, not {right}"
            );
        }
    }
}

#[test]
fn a_picture_with_more_groups_of_cells_than_a_grid_has_is_refused_and_the_device_lives_on() {
    let Some(gpu) = device() else { return };
    // Pixels are cells, so deep that each is a group of its own.
    let job = Bilateral {
        width: 1 << 17,
        height: 1,
        spatial: 1,
        range: 65_535 / 250,
    };
    let words = (1 << 17) / 2;
    let (from, to) = (gpu.buffer(words).unwrap(), gpu.buffer(words).unwrap());
    let scratch = scratch_words(job, Element::U16).unwrap() as usize;
    let Ok(scratch) = gpu.buffer(scratch) else {
        return;
    };
    let matrix = |buffer| Matrix {
        buffer,
        pitch: words as u32,
    };
    let refused = bilateral(&gpu, Element::U16, job, matrix(&from), matrix(&to), &scratch);
    // A device whose grids are larger computes it.
    if let Err(error) = refused {
        assert!(matches!(error, DeviceError::Limit { .. }), "{error}");
    }
    gpu.sync().unwrap();
    let small = &jobs(255)[1];
    let image = vec![77_u8; (small.width * small.height) as usize];
    assert_eq!(on_device(&gpu, Element::U8, *small, &image, 12), image);
}
