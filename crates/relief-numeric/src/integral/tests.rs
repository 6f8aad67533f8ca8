use proptest::prelude::*;

use super::Window;
use super::cpu::{BAND, Picture, Sum, band, column_sums, integral, scratch_sums};
use super::windows::{Differences, means, threshold};
use relief_kernels::isa::Isa;

fn bytes(len: usize) -> Vec<u8> {
    (0..len as u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 23) as u8)
        .collect()
}

/// One after the other.
fn plain<S: Sum>(picture: Picture<'_, S::Sample>) -> Vec<S> {
    let mut columns = vec![S::default(); picture.width];
    let mut sums = Vec::new();
    for row in picture.samples.chunks(picture.pitch).take(picture.height) {
        let mut sum = S::default();
        for (column, sample) in columns.iter_mut().zip(row) {
            sum = S::plus(sum, S::one(*sample));
            *column = S::plus(*column, sum);
        }
        sums.extend_from_slice(&columns);
    }
    sums
}

fn whole<S: Sum>(picture: Picture<'_, S::Sample>, pitch: usize) -> Vec<S> {
    let mut out = vec![S::default(); pitch * picture.height];
    let mut scratch = vec![S::default(); scratch_sums(&picture)];
    integral(picture, &mut scratch, &mut out, pitch);
    let rows = out.chunks(pitch.max(1)).flat_map(|row| &row[..picture.width]);
    rows.copied().collect()
}

const SIZES: [(usize, usize); 8] = [
    (0, 3),
    (3, 0),
    (1, 1),
    (17, 5),
    (100, BAND + 1),
    (2_049, 3),
    (5_000, 2 * BAND),
    (2_100, 700),
];

#[test]
fn sums_are_those_of_all_samples_left_and_above() {
    for (width, height) in SIZES {
        let pitch = width + 3;
        let samples = bytes(pitch * height);
        let picture = Picture {
            samples: &samples,
            width,
            height,
            pitch,
        };
        let (short, long) = (plain::<u32>(picture), plain::<u64>(picture));
        let floats: Vec<f32> = samples.iter().map(|sample| (*sample).into()).collect();
        let real = Picture {
            samples: &floats,
            width,
            height,
            pitch,
        };
        // Integers of less than 2^24 are exact, whatever the order.
        let exact = width * height < 60_000;
        Isa::each(|| {
            assert_eq!(whole::<u32>(picture, width + 1), short, "{width} × {height}");
            assert_eq!(whole::<u64>(picture, width + 1), long, "{width} × {height}");
            if exact {
                assert_eq!(
                    whole::<f32>(real, width + 1),
                    plain::<f32>(real),
                    "{width} × {height}"
                );
            }
        });
    }
}

#[test]
fn sums_of_floats_have_the_same_bits_with_all_vectors() {
    let (width, height) = (2_100, 700);
    let samples: Vec<f32> = bytes(width * height)
        .iter()
        .map(|byte| f32::from(*byte) / 7.0)
        .collect();
    let picture = Picture {
        samples: &samples,
        width,
        height,
        pitch: width,
    };
    let mut first: Option<Vec<f32>> = None;
    Isa::each(|| {
        let sums = whole::<f32>(picture, width);
        assert_eq!(&sums, first.get_or_insert(sums.clone()));
    });
    let total: f64 = samples.iter().map(|sample| f64::from(*sample)).sum();
    let found = first.and_then(|sums| sums.last().copied()).map_or(0.0, f64::from);
    assert!((found - total).abs() < 1e-5 * total, "{found} is not {total}");
}

fn window_means<S: Differences>(picture: Picture<'_, u8>, radius: u32) -> Vec<u8> {
    let sums = whole::<S>(picture, picture.width);
    let table = Picture {
        samples: &sums[..],
        width: picture.width,
        height: picture.height,
        pitch: picture.width,
    };
    let mut out = vec![0; picture.width * picture.height];
    for (y, out) in out.chunks_mut(picture.width).enumerate() {
        means(table, Window { radius }, y, out);
    }
    out
}

proptest! {
    #[test]
    fn means_are_those_of_the_samples_of_windows_that_exist(
        width in 1..40_usize,
        height in 1..20_usize,
        radius in 0..30_u32,
        salt in 0..1_000_usize,
        white in any::<bool>(),
    ) {
        let mut samples = bytes(width * height + salt).split_off(salt);
        if white {
            samples.fill(255);
        }
        let picture = Picture { samples: &samples, width, height, pitch: width };
        let r = radius as usize;
        let mean = |x: usize, y: usize| {
            let (ys, xs) = (y.saturating_sub(r)..(y + r + 1).min(height), x.saturating_sub(r)..(x + r + 1).min(width));
            let count = (ys.len() * xs.len()) as u64;
            let sum: u64 = ys.flat_map(|y| xs.clone().map(move |x| (x, y))).map(|(x, y)| u64::from(samples[y * width + x])).sum();
            Window::mean(sum, count) as u8
        };
        let expected: Vec<u8> = (0..width * height).map(|i| mean(i % width, i / width)).collect();
        Isa::each(|| {
            assert_eq!(window_means::<u32>(picture, radius), expected);
            assert_eq!(window_means::<u64>(picture, radius), expected);
        });
    }
}

#[test]
fn a_sample_is_white_where_it_is_above_its_mean_less_the_offset() {
    let samples = [10, 11, 0, 255, 255, 0];
    let of = |offset| {
        let mut means = [10, 10, 0, 255, 0, 255];
        threshold(&samples, offset, &mut means);
        means
    };
    assert_eq!(of(0), [0, 255, 0, 0, 255, 0]);
    assert_eq!(of(1), [255, 255, 255, 255, 255, 0]);
    assert_eq!(of(i32::MAX), [255; 6]);
    assert_eq!(of(i32::MIN), [0; 6]);
}

/// Whether the call panics, as the documentation promises.
fn panics(call: impl FnOnce()) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err()
}

#[test]
fn an_integral_image_whose_memory_ends_early_is_refused() {
    // Two bands, and memory for exactly the first.
    let height = 2 * BAND;
    let picture = Picture {
        samples: &vec![1_u8; height][..],
        width: 1,
        height,
        pitch: 1,
    };
    for held in [0, BAND, height - 1] {
        assert!(
            panics(|| integral(picture, &mut [0; 2], &mut vec![0_u32; held], 1)),
            "{held} sums"
        );
    }
    let mut sums = vec![0_u32; height];
    integral(picture, &mut [0; 2], &mut sums, 1);
    assert_eq!(sums[height - 1], height as u32);
}

#[test]
fn rows_that_overlap_are_refused_and_one_row_needs_no_pitch() {
    let picture = |height, pitch| Picture {
        samples: &[1_u8; 12][..],
        width: 4,
        height,
        pitch,
    };
    let run = |picture, pitch| {
        let mut sums = [0_u32; 64];
        integral(picture, &mut [0; 4], &mut sums, pitch);
        sums
    };
    assert!(panics(|| _ = run(picture(3, 3), 4)));
    assert!(panics(|| _ = run(picture(3, 5), 4)));
    assert!(panics(|| _ = run(picture(3, usize::MAX), 4)));
    assert!(panics(|| _ = run(picture(3, 4), 3)));
    assert!(panics(|| _ = run(picture(3, 4), usize::MAX)));
    for pitch in [0, 3, usize::MAX] {
        assert_eq!(run(picture(1, pitch), pitch)[..4], [1, 2, 3, 4]);
    }
    assert!(panics(|| column_sums(picture(3, 5), 0, &mut [0_u32; 4])));
    assert!(panics(|| column_sums(picture(3, 4), 1, &mut [0_u32; 4])));
    let mut sums = [0_u32; 12];
    assert!(panics(|| band(picture(3, 4), 0, None, &mut sums, 3)));
    assert!(panics(|| band(picture(3, 4), 0, None, &mut sums[..11], 4)));
}

#[test]
fn means_of_rows_that_there_are_not_are_refused() {
    let sums = [1_u32, 2, 3, 4];
    let table = |samples, height| Picture {
        samples,
        width: 2,
        height,
        pitch: 2,
    };
    let radius = 1;
    for y in [2, 3, 4, usize::MAX] {
        assert!(
            panics(|| means(table(&sums[..], 2), Window { radius }, y, &mut [0; 2])),
            "row {y}"
        );
    }
    assert!(panics(|| means(
        table(&sums[..3], 2),
        Window { radius },
        0,
        &mut [0; 2]
    )));
    assert!(panics(|| means(table(&[], 0), Window { radius }, 0, &mut [0; 2])));
}
