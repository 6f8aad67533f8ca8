use proptest::prelude::*;

use super::cpu::{Picture, apply, extreme, scratch_words};
use super::{Filter, GaussWeights, Mask, Shape};
use relief_kernels::isa::Isa;

/// The sample at (x, y), which may lie outside.
fn at<T: Copy>(samples: &[T], shape: Shape, x: isize, y: isize) -> T {
    let inside = |place: isize, count: usize| place.clamp(0, count as isize - 1) as usize;
    samples[inside(y, shape.height) * shape.pitch + inside(x, shape.width)]
}

/// The square around (x, y), row after row.
fn square<T: Copy + Into<f64>>(samples: &[T], shape: Shape, radius: u32, x: usize, y: usize) -> Vec<f64> {
    let reach = radius as isize;
    let around = (-reach..=reach).flat_map(|dy| (-reach..=reach).map(move |dx| (dx, dy)));
    around
        .map(|(dx, dy)| at(samples, shape, x as isize + dx, y as isize + dy).into())
        .collect()
}

/// A filter at one pixel by its definition, before it is rounded; and the sum of the sizes of what was summed.
fn defined<T: Copy + Into<f64>>(
    filter: &Filter,
    samples: &[T],
    shape: Shape,
    x: usize,
    y: usize,
    whole: bool,
) -> f64 {
    let square = square(samples, shape, filter.radius(), x, y);
    let side = 2 * filter.radius() as usize + 1;
    let weigh = |weights: &dyn Fn(usize, usize) -> f64| -> f64 {
        let weighted = square
            .iter()
            .enumerate()
            .map(|(k, sample)| sample * weights(k % side, k / side));
        weighted.sum()
    };
    match filter {
        Filter::Box(_) => square.iter().sum::<f64>() / square.len() as f64,
        Filter::Erosion(_) => square.iter().copied().fold(f64::INFINITY, f64::min),
        Filter::Dilation(_) => square.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        Filter::Sobel => {
            let smooth = [1.0, 2.0, 1.0];
            let slope = [-1.0, 0.0, 1.0];
            weigh(&|x, y| slope[x] * smooth[y]).abs() + weigh(&|x, y| smooth[x] * slope[y]).abs()
        }
        Filter::Gauss(weights) => {
            let middle = side / 2;
            let weight = |k: usize| match (whole, k.abs_diff(middle)) {
                (true, d) => weights.whole().get(d).map_or(0.0, |w| f64::from(*w) / 256.0),
                (false, d) => f64::from(weights.real()[d]),
            };
            weigh(&|x, y| weight(x) * weight(y))
        }
        Filter::Convolution(mask) => {
            weigh(&|x, y| f64::from(mask.weights()[y * side + x])) / f64::from(1 << mask.shift())
        }
    }
}

fn rounded(value: f64) -> u8 {
    (value + 0.5).floor().clamp(0.0, 255.0) as u8
}

fn noise(count: usize, seed: usize) -> Vec<u8> {
    (0..count)
        .map(|i| {
            let x = (i + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            // Flat areas and extremes too.
            match (x >> 60, (x >> 40) as u8) {
                (0..4, _) => 255,
                (4, _) => 0,
                (_, byte) => byte,
            }
        })
        .collect()
}

fn filtered<T: super::cpu::Pixel>(filter: &Filter, samples: &[T], shape: Shape) -> Vec<T> {
    let mut out = vec![T::zeroed(); shape.samples().unwrap()];
    let mut scratch = vec![0x5A5A_5A5A_5A5A_5A5A; scratch_words(filter)];
    let source = Picture::new(samples, shape).unwrap();
    apply(
        filter,
        source,
        0..shape.height,
        &mut out,
        shape.pitch,
        &mut scratch,
    );
    out
}

fn check(filter: &Filter, shape: Shape, seed: usize) {
    let bytes = noise(shape.samples().unwrap(), seed);
    let real: Vec<f32> = bytes.iter().map(|byte| f32::from(*byte) / 16.0 - 3.0).collect();
    let found = filtered(filter, &bytes, shape);
    let found_real = filtered(filter, &real, shape);
    for (x, y) in (0..shape.height).flat_map(|y| (0..shape.width).map(move |x| (x, y))) {
        let place = y * shape.pitch + x;
        let right = rounded(defined(filter, &bytes, shape, x, y, true));
        assert_eq!(found[place], right, "{filter:?} of {shape:?} at ({x}, {y})");
        let right = defined(filter, &real, shape, x, y, false);
        let error = (f64::from(found_real[place]) - right).abs();
        assert!(
            error < 2e-4,
            "{filter:?} of {shape:?} at ({x}, {y}): {} for {right}",
            found_real[place]
        );
    }
}

fn mask(radius: u32, seed: usize) -> Filter {
    let count = (2 * radius as usize + 1).pow(2);
    let weights: Vec<i16> = noise(count, seed)
        .iter()
        .map(|byte| i16::from(*byte) - 100)
        .collect();
    Filter::Convolution(Mask::new(radius, &weights, 8).unwrap())
}

fn filters(radius: u32) -> Vec<Filter> {
    vec![
        Filter::Box(radius),
        Filter::Erosion(radius),
        Filter::Dilation(radius),
        Filter::Gauss(GaussWeights::new(0.1 + f64::from(radius) / 4.0).unwrap()),
        Filter::Sobel,
        mask(radius.min(super::MAX_MASK_RADIUS), radius as usize),
    ]
}

fn shape(width: usize, height: usize, gap: usize) -> Shape {
    Shape {
        width,
        height,
        pitch: width + gap,
    }
}

#[test]
fn every_filter_is_as_defined_on_every_shape() {
    Isa::each(|| {
        for (width, height) in [(1, 1), (1, 9), (9, 1), (3, 2), (7, 7), (70, 5), (131, 12)] {
            for radius in [0, 1, 2, 5, 8] {
                for filter in filters(radius) {
                    check(&filter, shape(width, height, width % 3), width + 7 * height);
                }
            }
        }
    });
}

#[test]
fn every_radius_of_a_window_is_as_defined() {
    for radius in 0..=super::MAX_RADIUS {
        // A few pixels look at all that is there.
        let shape = shape(5 + radius as usize % 3, 7, 0);
        check(&Filter::Box(radius), shape, radius as usize);
        check(&Filter::Erosion(radius), shape, radius as usize);
        check(&Filter::Dilation(radius), shape, radius as usize);
    }
}

#[test]
fn tiles_of_columns_meet_without_a_seam() {
    for filter in filters(6) {
        check(&filter, shape(8_192 + 3, 3, 5), 1);
    }
}

#[test]
fn a_part_of_the_rows_has_the_bits_that_the_whole_has() {
    let shape = shape(203, 61, 2);
    let bytes = noise(shape.samples().unwrap(), 3);
    let real: Vec<f32> = bytes.iter().map(|byte| f32::from(*byte) * 0.1).collect();
    for filter in filters(5) {
        let (whole, whole_real) = (filtered(&filter, &bytes, shape), filtered(&filter, &real, shape));
        let mut scratch = vec![0; scratch_words(&filter)];
        for rows in [0..1, 0..13, 7..61, 60..61, 30..30] {
            let places = rows.start * shape.pitch..(rows.end * shape.pitch).min(bytes.len());
            let mut part = vec![0; places.len()];
            let source = Picture::new(&bytes, shape).unwrap();
            apply(
                &filter,
                source,
                rows.clone(),
                &mut part,
                shape.pitch,
                &mut scratch,
            );
            let mut part_real = vec![0.0; places.len()];
            let source = Picture::new(&real, shape).unwrap();
            apply(&filter, source, rows, &mut part_real, shape.pitch, &mut scratch);
            assert_eq!(part, whole[places.clone()], "{filter:?}");
            let same = part_real
                .iter()
                .zip(&whole_real[places])
                .all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same, "{filter:?}");
        }
    }
}

#[test]
fn large_results_go_past_the_caches_unchanged() {
    let shape = shape(8_300, 600, 1);
    let bytes = noise(shape.samples().unwrap(), 9);
    for filter in [
        Filter::Box(1),
        Filter::Erosion(2),
        Filter::Gauss(GaussWeights::new(1.0).unwrap()),
    ] {
        let found = filtered(&filter, &bytes, shape);
        for (x, y) in [
            (0, 0),
            (8_299, 0),
            (8_191, 299),
            (8_192, 300),
            (5, 599),
            (8_299, 599),
        ] {
            let right = rounded(defined(&filter, &bytes, shape, x, y, true));
            assert_eq!(found[y * shape.pitch + x], right, "{filter:?} at ({x}, {y})");
        }
        assert_eq!(found[8_300], 0, "a gap between rows was written");
    }
}

#[test]
fn weights_of_whole_256ths_are_those_of_opencv() {
    // cv2.GaussianBlur of a line of 255 in zeros, kernel 17, sigma 2 (OpenCV 5.0).
    let weights = GaussWeights::new(2.0).unwrap();
    assert_eq!(weights.whole(), [52, 45, 31, 16, 7, 2, 1]);
    assert_eq!(weights.radius(), 8);
    for tenths in 1..=80 {
        let weights = GaussWeights::new(f64::from(tenths) / 10.0).unwrap();
        let sum = |whole: &[u16]| whole[0] + 2 * whole[1..].iter().sum::<u16>();
        assert_eq!(sum(weights.whole()), 256);
    }
    assert_eq!(GaussWeights::new(f64::NAN), None);
    assert_eq!(GaussWeights::new(0.0), None);
    assert_eq!(GaussWeights::new(8.1), None);
}

#[test]
fn a_mask_too_heavy_to_be_exact_is_refused() {
    assert_eq!(Mask::new(0, &[1, 2], 0), None);
    assert_eq!(Mask::new(1, &[i16::MIN; 9], 0), None);
    assert_eq!(Mask::new(8, &[0; 289], 0), None);
    assert_eq!(Mask::new(0, &[1], 16), None);
    assert!(Mask::new(0, &[i16::MIN], 15).is_some());
}

#[test]
fn a_picture_needs_its_samples() {
    assert!(Picture::new(&[0_u8; 9], shape(3, 3, 0)).is_some());
    assert!(Picture::new(&[0_u8; 8], shape(3, 3, 0)).is_none());
    let overlapping = Shape {
        pitch: 2,
        ..shape(3, 3, 0)
    };
    assert!(Picture::new(&[0_u8; 90], overlapping).is_none());
    let immense = Shape {
        width: 1,
        height: usize::MAX,
        pitch: usize::MAX,
    };
    assert!(Picture::new(&[0_u8; 90], immense).is_none());
}

#[test]
fn nothing_to_filter_is_fine() {
    for (width, height) in [(0, 0), (0, 5), (5, 0)] {
        assert!(filtered::<u8>(&Filter::Box(3), &[], shape(width, height, 0)).is_empty());
    }
}

proptest! {
    #[test]
    fn extremes_of_16_bits_are_as_defined(
        width in 1_usize..40, height in 1_usize..20, radius in 0_u32..12, seed: usize, greatest: bool,
    ) {
        let shape = shape(width, height, 0);
        let samples: Vec<u16> = noise(width * height, seed).iter().map(|b| u16::from(*b) * 257).collect();
        let filter = if greatest { Filter::Dilation(radius) } else { Filter::Erosion(radius) };
        let mut found = vec![0; width * height];
        let mut scratch = vec![0; scratch_words(&filter)];
        let source = Picture::new(&samples, shape).unwrap();
        extreme(greatest, radius, source, 0..height, &mut found, width, &mut scratch);
        for (place, found) in found.iter().enumerate() {
            let right = defined(&filter, &samples, shape, place % width, place / width, true);
            prop_assert_eq!(f64::from(*found), right);
        }
    }
}

#[test]
fn scratch_of_any_radius_is_a_number() {
    let largest = super::cpu::scratch_words(&Filter::Box(super::MAX_RADIUS));
    assert_eq!(super::cpu::scratch_words(&Filter::Erosion(u32::MAX)), largest);
}
