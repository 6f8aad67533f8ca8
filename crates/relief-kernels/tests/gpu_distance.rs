//! Distances on a device against a search of every offset within the radius.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod support;

use relief_kernels::distance::gpu::{Profile, render};
use relief_kernels::fused::Plane;
use relief_raster::{Rect, Sample};

use support::{Random, device, pack, unpack};

/// The least dx² + dy² ≤ radius² to a white pixel, over all white pixels.
fn nearest(whites: &[(i64, i64)], x: i64, y: i64, radius: i64) -> Option<i64> {
    whites
        .iter()
        .map(|(u, v)| (u - x).pow(2) + (v - y).pow(2))
        .filter(|a| *a <= radius * radius)
        .min()
}

/// A profile in which different squares mostly have different samples.
fn profile<S: Sample>(radius: u32) -> Vec<S> {
    let max = u64::from(S::MAX.to_u16());
    (0..=u64::from(radius) * u64::from(radius))
        .map(|a| S::from_u16((a * 40_503 % (max + 1)) as u16))
        .collect()
}

fn agrees<S: Sample>(mask: &[u16], width: i64, place: (i64, i64), radius: u32, band: Rect) {
    let Some(gpu) = device() else { return };
    let bits = size_of::<S>() as u32 * 8;
    let height = mask.len() as i64 / width;
    let typed: Vec<S> = mask.iter().map(|v| S::from_u16(*v)).collect();
    let (words, pitch) = pack(&typed, width as usize);
    let plane = Plane {
        buffer: gpu.upload(&words).unwrap(),
        offset: 0,
        pitch,
        width: width as u32,
        height: height as u32,
    };
    let values = profile::<S>(radius);
    let beyond = S::from_u16(77);
    let table = Profile::upload(&gpu, radius, &values, beyond).unwrap();
    let pitch = (band.width() as u32).div_ceil(128 / bits) * 4;
    let output = gpu.buffer(pitch as usize * band.height() as usize).unwrap();
    render(&gpu, &plane, place, &table, band, &output, pitch).unwrap();
    let got: Vec<S> = unpack(
        &gpu.read(&output, output.words()).wait().unwrap(),
        pitch as usize,
        band.width() as usize,
    );
    let whites: Vec<(i64, i64)> = (0..width * height)
        .filter(|i| mask[*i as usize] != 0)
        .map(|i| (i % width + place.0, i / width + place.1))
        .collect();
    for y in 0..band.height() as i64 {
        for x in 0..band.width() as i64 {
            let a = nearest(&whites, band.x() + x, band.y() + y, radius.into());
            let want = a.map_or(beyond, |a| values[a as usize]).to_u16();
            let got = got[(y * band.width() as i64 + x) as usize].to_u16();
            assert_eq!(
                got, want,
                "at {x},{y} with a = {a:?}, radius {radius}, mask at {place:?}"
            );
        }
    }
}

fn both(mask: &[u16], width: i64, place: (i64, i64), radius: u32, band: Rect) {
    agrees::<u8>(mask, width, place, radius, band);
    agrees::<u16>(mask, width, place, radius, band);
}

fn speckled(random: &mut Random, count: i64, one_in: u32) -> Vec<u16> {
    (0..count)
        .map(|_| {
            if random.below(one_in) == 0 {
                1 + random.below(255) as u16
            } else {
                0
            }
        })
        .collect()
}

fn rect(x: i64, y: i64, width: u64, height: u64) -> Rect {
    Rect::new(x, y, width, height).unwrap()
}

#[test]
fn every_class_of_radius_is_exact_on_speckles() {
    let mut random = Random::new(1);
    for radius in [0, 1, 2, 7, 15, 16, 31, 32, 33, 40, 64, 100, 254, 255, 300] {
        for one_in in [2, 60, 1_500] {
            let mask = speckled(&mut random, 90 * 60, one_in);
            both(&mask, 90, (0, 0), radius, rect(0, 0, 90, 60));
        }
    }
}

#[test]
fn one_white_pixel_is_seen_from_everywhere_within_the_greatest_radius() {
    let white = [9];
    for band in [
        rect(0, 0, 50, 3),
        rect(4_070, -2, 40, 2),
        rect(-4_100, 0, 12, 1),
        rect(2_880, 2_890, 20, 20),
    ] {
        both(&white, 1, (0, 0), 4_096, band);
    }
    both(&white, 1, (0, 0), 4_096, rect(-2, 4_090, 5, 10));
    both(&white, 1, (0, 0), 4_096, rect(-2, -4_099, 5, 10));
}

#[test]
fn an_empty_mask_is_beyond_everywhere_and_a_full_one_nowhere() {
    for radius in [0, 15, 50, 255] {
        both(&[0; 35], 7, (2, 2), radius, rect(0, 0, 33, 9));
        both(&[3; 35], 7, (2, 2), radius, rect(0, 0, 33, 9));
    }
}

#[test]
fn white_pixels_beyond_the_band_count() {
    let mut random = Random::new(2);
    let mask = speckled(&mut random, 200 * 150, 400);
    for radius in [9, 40] {
        both(&mask, 200, (-60, -50), radius, rect(0, 0, 37, 21));
        both(&mask, 200, (-60, -50), radius, rect(100, 70, 50, 40));
    }
}

#[test]
fn lines_are_seen_at_every_distance() {
    let (w, h) = (130_i64, 100_i64);
    let vertical: Vec<u16> = (0..w * h).map(|i| u16::from(i % w % 40 == 0)).collect();
    let horizontal: Vec<u16> = (0..w * h).map(|i| u16::from(i / w % 40 == 0)).collect();
    for radius in [15, 19, 100] {
        both(&vertical, w, (0, 0), radius, rect(0, 0, 130, 100));
        both(&horizontal, w, (0, 0), radius, rect(0, 0, 130, 100));
    }
}

#[test]
fn odd_sizes_down_to_one_pixel_are_exact() {
    let mut random = Random::new(3);
    for (w, h) in [(1, 1), (2, 1), (1, 9), (31, 2), (33, 5), (65, 3)] {
        let mask = speckled(&mut random, w * h, 5);
        for radius in [1, 15, 34] {
            both(&mask, w, (0, 0), radius, rect(0, 0, w as u64, h as u64));
        }
    }
}

#[test]
fn samples_of_16_bits_whose_low_byte_is_zero_are_white() {
    let mask: Vec<u16> = (0..40).map(|i| if i == 17 { 0x0100 } else { 0 }).collect();
    agrees::<u16>(&mask, 8, (0, 0), 6, rect(0, 0, 8, 5));
}
