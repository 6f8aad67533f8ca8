//! Stencils on a device against those on the CPU, which are tested against their definitions.

use relief_kernels::device::Gpu;
use relief_kernels::policy::Tuning;
use relief_numeric::stencil::cpu::{self, Picture, Pixel, scratch_words};
use relief_numeric::stencil::gpu::{
    Samples, Size, Way, apply, apply_by, apply_with, default, row_words, space,
};
use relief_numeric::stencil::{Filter, GaussWeights, MAX_RADIUS, Mask, Shape};

/// Samples that a device knows.
trait Known: Pixel + std::fmt::Debug {
    const SAMPLES: Samples;
    fn of(noise: u32) -> Self;
    fn agrees(self, other: Self) -> bool;
}

impl Known for u8 {
    const SAMPLES: Samples = Samples::Bytes;
    fn of(noise: u32) -> Self {
        // Flat areas and extremes too.
        match noise >> 28 {
            0..4 => 255,
            4 => 0,
            _ => noise as u8,
        }
    }
    fn agrees(self, other: Self) -> bool {
        self == other
    }
}

impl Known for f32 {
    const SAMPLES: Samples = Samples::Floats;
    fn of(noise: u32) -> Self {
        (noise >> 8) as f32 / 16_777_216.0 - 0.25
    }
    fn agrees(self, other: Self) -> bool {
        (self - other).abs() < 2e-5
    }
}

fn noise<T: Known>(count: usize) -> Vec<T> {
    let mix = |i: usize| ((i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32;
    (0..count).map(|i| T::of(mix(i) ^ (mix(i) >> 13))).collect()
}

const POISON: u32 = 0xA1A1_A1A1;

fn check<T: Known>(gpu: &Gpu, filter: &Filter, width: usize, height: usize) {
    check_by::<T>(gpu, None, filter, width, height);
    if gpu.report().software {
        // As on hardware.
        for way in [
            Way::Strips {
                kept: false,
                exchange: true,
            },
            Way::Wide { kept: false },
        ] {
            let tuning = default(filter, T::SAMPLES);
            check_by::<T>(gpu, Some((way, tuning)), filter, width, height);
        }
    }
}

/// By a way in a layout, else those that production takes.
fn check_by<T: Known>(gpu: &Gpu, way: Option<(Way, Tuning)>, filter: &Filter, width: usize, height: usize) {
    let size = Size {
        samples: T::SAMPLES,
        width: width as u32,
        height: height as u32,
    };
    let pitch = (row_words(T::SAMPLES, size.width) * T::SAMPLES.per_word()) as usize;
    let shape = Shape { width, height, pitch };
    // What lies past a row is noise too: it must not count.
    let samples = noise::<T>(pitch * height);
    let mut expected = vec![T::zeroed(); pitch * height];
    let mut scratch = vec![0; scratch_words(filter)];
    let source = Picture::new(&samples, shape).unwrap();
    cpu::apply(filter, source, 0..height, &mut expected, pitch, &mut scratch);

    let from = gpu.upload(bytemuck::cast_slice(&samples)).unwrap();
    let words = from.words();
    let to = gpu.upload(&vec![POISON; words + 64]).unwrap();
    match way {
        None => apply(gpu, filter, size, &from, &to).unwrap(),
        Some((way, tuning)) => apply_by(gpu, way, tuning, filter, size, &from, &to).unwrap(),
    }
    let found = gpu.read(&to, words + 64).wait().unwrap();
    let (found, after) = found.split_at(words * 4);
    let found: Vec<T> = bytemuck::pod_collect_to_vec(found);
    for (place, (found, expected)) in found.iter().zip(&expected).enumerate() {
        let (x, y) = (place % pitch, place / pitch);
        assert!(
            found.agrees(*expected),
            "{filter:?} of {size:?} at ({x}, {y}): {found:?} for {expected:?}"
        );
    }
    assert!(
        after.iter().all(|byte| *byte == 0xA1),
        "{filter:?} of {size:?} wrote past its end"
    );
}

fn both(gpu: &Gpu, filter: &Filter, width: usize, height: usize) {
    check::<u8>(gpu, filter, width, height);
    check::<f32>(gpu, filter, width, height);
}

fn mask(radius: u32) -> Filter {
    let count = (2 * radius as i16 + 1).pow(2);
    let weights: Vec<i16> = (0..count).map(|k| k * 37 % 23 - 9).collect();
    Filter::Convolution(Mask::new(radius, &weights, 6).unwrap())
}

/// Weights that take 16 bits.
fn heavy_mask(radius: u32) -> Filter {
    let count = (2 * radius as i16 + 1).pow(2);
    let weights: Vec<i16> = (0..count).map(|k| k * 577 % 1_999 - 900).collect();
    Filter::Convolution(Mask::new(radius, &weights, 12).unwrap())
}

const SHAPES: [(usize, usize); 7] = [(1, 1), (2, 9), (5, 1), (64, 33), (67, 70), (130, 19), (1_301, 30)];

#[test]
fn boxes_and_extremes_agree_with_the_cpu_whatever_the_radius_and_the_shape() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    for radius in [0, 1, 2, 5, 15, 17, 50] {
        for (width, height) in SHAPES {
            both(&gpu, &Filter::Box(radius), width, height);
            both(&gpu, &Filter::Erosion(radius), width, height);
        }
    }
    both(&gpu, &Filter::Dilation(1), 301, 41);
    both(&gpu, &Filter::Dilation(9), 301, 41);
    both(&gpu, &Filter::Box(MAX_RADIUS), 700, 150);
    both(&gpu, &Filter::Dilation(MAX_RADIUS), 700, 150);
}

#[test]
fn weighted_means_agree_with_the_cpu() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    for sigma in [0.1, 0.7, 2.0, 8.0] {
        let filter = Filter::Gauss(GaussWeights::new(sigma).unwrap());
        for (width, height) in SHAPES {
            both(&gpu, &filter, width, height);
        }
    }
}

#[test]
fn edges_and_convolutions_agree_with_the_cpu() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    for (width, height) in SHAPES {
        both(&gpu, &Filter::Sobel, width, height);
        for radius in [0, 1, 2, 3] {
            both(&gpu, &mask(radius), width, height);
        }
        for radius in [1, 3] {
            check::<u8>(&gpu, &heavy_mask(radius), width, height);
        }
    }
    both(&gpu, &mask(7), 100, 20);
}

#[test]
fn strips_meet_without_a_seam() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    // Higher than the strips of the default layout.
    for filter in [
        Filter::Box(5),
        Filter::Erosion(9),
        Filter::Gauss(GaussWeights::new(1.0).unwrap()),
    ] {
        both(&gpu, &filter, 150, 700);
    }
}

#[test]
fn every_layout_gives_the_same_bytes() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let samples = noise::<u8>(512 * 90);
    let size = Size {
        samples: Samples::Bytes,
        width: 509,
        height: 90,
    };
    let from = gpu.upload(bytemuck::cast_slice(&samples)).unwrap();
    for filter in [
        Filter::Box(4),
        Filter::Erosion(4),
        Filter::Gauss(GaussWeights::new(1.5).unwrap()),
        Filter::Sobel,
    ] {
        let mut first = None;
        for tuning in space(&filter, Samples::Bytes)
            .all()
            .filter(|tuning| tuning.items < 4)
        {
            let to = gpu.upload(&vec![POISON; from.words()]).unwrap();
            apply_with(&gpu, tuning, &filter, size, &from, &to).unwrap();
            let found = gpu.read(&to, from.words()).wait().unwrap();
            let found: Vec<u8> = found[..].to_vec();
            let first = first.get_or_insert_with(|| found.clone());
            assert!(*first == found, "{filter:?} with {tuning}");
        }
    }
}

#[test]
fn every_way_gives_what_the_cpu_gives() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    // Radii whose windows are lower than a step, as high as one, whole steps and not; a ring of any number of rows.
    for (radius, vector) in [(2, 4), (3, 4), (4, 8), (5, 8), (11, 4), (16, 8), (24, 8), (50, 8)] {
        let tuning = Tuning {
            units: 64,
            items: 1,
            vector,
        };
        let kept = Way::Strips {
            kept: true,
            exchange: radius != 5,
        };
        for filter in [
            Filter::Box(radius),
            Filter::Erosion(radius),
            Filter::Dilation(radius),
        ] {
            check_by::<f32>(&gpu, Some((kept, tuning)), &filter, 131, 150);
        }
        let sums = Filter::Box(radius);
        check_by::<u8>(&gpu, Some((kept, tuning)), &sums, 391, 150);
        // Pictures narrower than a cube, and wider.
        for kept in [false, true] {
            let way = Some((Way::Wide { kept }, tuning));
            check_by::<u8>(&gpu, way, &sums, 391, 150);
            check_by::<u8>(&gpu, way, &sums, 1_153, 70);
        }
        let tuning = Tuning { vector: 8, ..tuning };
        check_by::<u8>(&gpu, Some((kept, tuning)), &Filter::Erosion(radius), 391, 150);
    }
    let again = |exchange| Way::Strips {
        kept: false,
        exchange,
    };
    let gauss = Filter::Gauss(GaussWeights::new(2.0).unwrap());
    for filter in [&gauss, &mask(1), &mask(3), &heavy_mask(2)] {
        for way in [again(true), Way::Matrix] {
            let tuning = default(filter, Samples::Bytes);
            check_by::<u8>(&gpu, Some((way, tuning)), filter, 391, 150);
        }
    }
    let tuning = default(&gauss, Samples::Floats);
    for exchange in [false, true] {
        check_by::<f32>(&gpu, Some((again(exchange), tuning)), &gauss, 391, 150);
    }
}

#[test]
fn wide_extremes_and_sums_keep_their_rows_whatever_the_radius() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    // Blocks of whole steps and not, runs of whole units and not, one run across and many.
    for radius in [8, 9, 15, 16, 21, 32, 47, 50, 63] {
        let filter = match radius % 2 {
            0 => Filter::Erosion(radius),
            _ => Filter::Dilation(radius),
        };
        for (units, copied) in [(64, false), (128, true)] {
            // Software Vulkan has no copies of its own to shared memory.
            if copied && gpu.report().software {
                continue;
            }
            let tuning = Tuning {
                units,
                items: 1,
                vector: 8,
            };
            let way = Some((Way::Kept { copied }, tuning));
            // More blocks than one, and a cube or two beside another.
            let high = 3 * radius as usize + 170;
            check_by::<u8>(&gpu, way, &filter, 258, high);
            check_by::<u8>(&gpu, way, &filter, 2_045, 33);
            for (width, height) in [(258, high), (2_045, 33), (1_003, 5)] {
                check_by::<u8>(&gpu, way, &Filter::Box(radius), width, height);
            }
        }
    }
}

#[test]
fn what_cannot_be_computed_is_refused() {
    let Some(gpu) = crate::support::device() else {
        return;
    };
    let buffer = gpu.buffer(64).unwrap();
    let size = |width, height| Size {
        samples: Samples::Bytes,
        width,
        height,
    };
    let refused = |filter: &Filter, size: Size| apply(&gpu, filter, size, &buffer, &buffer).is_err();
    assert!(refused(&Filter::Box(1), size(17, 9)), "too short a buffer");
    assert!(refused(&Filter::Box(1), size(u32::MAX, u32::MAX)));
    assert!(refused(&Filter::Erosion(MAX_RADIUS + 1), size(4, 4)));
    let tuning = Tuning {
        units: 3,
        ..default(&Filter::Sobel, Samples::Bytes)
    };
    assert!(apply_with(&gpu, tuning, &Filter::Sobel, size(4, 4), &buffer, &buffer).is_err());
    assert!(
        !refused(&Filter::Box(1), size(0, 9)),
        "no pixels are none to compute"
    );
}
