//! Distances by tiles on a device against a search of all white pixels.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod support;

use relief_kernels::device::{DeviceError, Gpu};
use relief_kernels::distance::gpu::Profile;
use relief_kernels::distance::gpu::tiles::{MAX_RADIUS, Policy, render, scratch_bytes};
use relief_kernels::fused::Plane;
use relief_raster::{Rect, Sample};

use support::{Random, device, pack, unpack};

struct Case {
    mask: Vec<u16>,
    width: i64,
    place: (i64, i64),
    radius: u32,
    band: Rect,
    policy: Policy,
}

impl Case {
    fn new(mask: Vec<u16>, width: i64, radius: u32, band: Rect) -> Self {
        Self {
            mask,
            width,
            place: (0, 0),
            radius,
            band,
            policy: Policy::default(),
        }
    }

    /// Both depths are exact, every sample of them.
    fn holds(&self) {
        self.holds_for::<u8>();
        self.holds_for::<u16>();
    }

    fn holds_for<S: Sample>(&self) {
        let Some(gpu) = device() else { return };
        let squares = u64::from(self.radius).pow(2);
        // Different squares mostly have different samples.
        let values: Vec<S> = (0..=squares)
            .map(|a| S::from_u16((a * 40_503 % (u64::from(S::MAX.to_u16()) + 1)) as u16))
            .collect();
        let beyond = S::from_u16(77);
        let got = self.rendered(&gpu, &values, beyond).unwrap();
        let whites: Vec<(i64, i64)> = (0..self.mask.len() as i64)
            .filter(|i| self.mask[*i as usize] != 0)
            .map(|i| (i % self.width + self.place.0, i / self.width + self.place.1))
            .collect();
        let (width, height) = (self.band.width() as i64, self.band.height() as i64);
        for (i, got) in (0..width * height).zip(got) {
            let (x, y) = (self.band.x() + i % width, self.band.y() + i / width);
            let nearest = whites.iter().map(|(u, v)| (u - x).pow(2) + (v - y).pow(2)).min();
            let a = nearest.filter(|a| *a <= squares as i64);
            let want = a.map_or(beyond, |a| values[a as usize]);
            assert_eq!(
                got.to_u16(),
                want.to_u16(),
                "at {x},{y} with a = {a:?}, radius {}, mask at {:?}, {:?}",
                self.radius,
                self.place,
                self.policy
            );
        }
    }

    fn rendered<S: Sample>(&self, gpu: &Gpu, values: &[S], beyond: S) -> Result<Vec<S>, DeviceError> {
        let typed: Vec<S> = self.mask.iter().map(|v| S::from_u16(*v)).collect();
        let (words, pitch) = pack(&typed, self.width as usize);
        // Words before the mask that must not be taken for it.
        let offset = 3;
        let shifted: Vec<u32> = [u32::MAX; 3].into_iter().chain(words).collect();
        let plane = Plane {
            buffer: gpu.upload(&shifted)?,
            offset,
            pitch,
            width: self.width as u32,
            height: (self.mask.len() as i64 / self.width) as u32,
        };
        let profile = Profile::upload(gpu, self.radius, values, beyond)?;
        let (width, height) = (self.band.width() as usize, self.band.height() as usize);
        let pitch = width.div_ceil(16 / size_of::<S>()) * 4;
        let output = gpu.upload(&vec![0xABAB_CDCD; pitch * height])?;
        let band = self.band;
        render(
            gpu,
            &self.policy,
            &plane,
            self.place,
            &profile,
            band,
            &output,
            pitch as u32,
        )?;
        Ok(unpack(&gpu.read(&output, pitch * height).wait()?, pitch, width))
    }
}

fn speckled(seed: u64, count: i64, one_in: u32) -> Vec<u16> {
    let mut random = Random::new(seed);
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
    for radius in [0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 100, 117, 118] {
        for one_in in [2, 60, 1_500] {
            Case::new(speckled(1, 90 * 60, one_in), 90, radius, rect(0, 0, 90, 60)).holds();
        }
    }
}

#[test]
fn every_shape_of_tile_gives_the_same_samples() {
    for (chunks, blocks) in [(1, 1), (3, 2), (8, 4), (64, 1)] {
        for (radius, unrolled) in [(15, 32), (15, 0), (31, 8), (40, 48), (100, 32)] {
            let mut case = Case::new(speckled(2, 83 * 71, 700), 83, radius, rect(0, 0, 83, 71));
            case.policy = Policy {
                chunks,
                blocks,
                unrolled,
            };
            case.holds();
        }
    }
}

#[test]
fn an_empty_mask_is_beyond_everywhere_and_a_full_one_nowhere() {
    for radius in [0, 15, 50, 118] {
        for value in [0, 3] {
            let mut case = Case::new(vec![value; 35], 7, radius, rect(0, 0, 33, 9));
            case.place = (2, 2);
            case.holds();
        }
    }
}

#[test]
fn the_mask_may_lie_anywhere() {
    for place in [
        (-60, -50),
        (-61, -13),
        (-3, 2),
        (1, -1),
        (30, 9),
        (300, 0),
        (0, -400),
        (1 << 30, 0),
    ] {
        for radius in [9, 40] {
            let mut case = Case::new(speckled(3, 130 * 90, 300), 130, radius, rect(0, 0, 37, 21));
            case.place = place;
            case.holds();
        }
    }
}

#[test]
fn the_band_may_lie_far_away() {
    let far = (1 << 40) + 3;
    let mut case = Case::new(speckled(4, 70 * 30, 90), 70, 20, rect(far, -far, 41, 18));
    case.place = (far - 9, -far - 4);
    case.holds();
}

#[test]
fn lines_are_seen_at_every_distance() {
    let (w, h) = (130, 100);
    for radius in [15, 19, 100] {
        let vertical = (0..w * h).map(|i| u16::from(i % w % 40 == 0)).collect();
        Case::new(vertical, w, radius, rect(0, 0, 130, 100)).holds();
        let horizontal = (0..w * h).map(|i| u16::from(i / w % 40 == 0)).collect();
        Case::new(horizontal, w, radius, rect(0, 0, 130, 100)).holds();
    }
}

#[test]
fn one_white_pixel_is_seen_across_tiles_and_strips() {
    for (x, y) in [(-118, 0), (0, 300), (223, 63), (224, 64), (290, 417)] {
        let mut case = Case::new(vec![9], 1, MAX_RADIUS, rect(0, 0, 300, 300));
        case.place = (x, y);
        case.holds_for::<u8>();
    }
}

#[test]
fn odd_sizes_down_to_one_pixel_are_exact() {
    for (w, h) in [(1, 1), (2, 1), (1, 9), (31, 2), (33, 5), (65, 3)] {
        for radius in [1, 15, 34] {
            Case::new(speckled(5, w * h, 5), w, radius, rect(0, 0, w as u64, h as u64)).holds();
        }
    }
}

#[test]
fn samples_of_16_bits_whose_low_byte_is_zero_are_white() {
    let mask = (0..40).map(|i| if i == 17 { 0x0100 } else { 0 }).collect();
    Case::new(mask, 8, 6, rect(0, 0, 8, 5)).holds_for::<u16>();
}

#[test]
fn a_radius_beyond_bytes_is_refused() {
    let Some(gpu) = device() else { return };
    let case = Case::new(vec![1], 1, MAX_RADIUS + 1, rect(0, 0, 4, 4));
    let values = vec![0_u8; 119 * 119 + 1];
    let error = case.rendered(&gpu, &values, 0).unwrap_err();
    assert!(matches!(error, DeviceError::Unsupported { .. }), "{error}");
    assert_eq!(
        scratch_bytes(&gpu, &Policy::default(), 4, 4, MAX_RADIUS + 1),
        None
    );
}

#[test]
fn scratch_memory_is_what_is_said() {
    let Some(gpu) = device() else { return };
    let policy = Policy::default();
    for (width, height, radius) in [(1, 1, 0), (1_000, 70, 15), (33, 400, 100)] {
        let said = scratch_bytes(&gpu, &policy, width, height, radius).unwrap();
        let profile = Profile::upload(&gpu, radius, &vec![1_u8; (radius * radius + 1) as usize], 0).unwrap();
        let pitch = width.div_ceil(16) * 4;
        let output = gpu.buffer((pitch * height) as usize).unwrap();
        let buffer = gpu.upload(&[1; 4]).unwrap();
        let plane = Plane {
            buffer,
            offset: 0,
            pitch: 1,
            width: 4,
            height: 4,
        };
        let used = gpu.used();
        let band = rect(0, 0, width.into(), height.into());
        let run = || render(&gpu, &policy, &plane, (0, 0), &profile, band, &output, pitch);
        gpu.set_budget(used + said - 1);
        assert!(matches!(run(), Err(DeviceError::OutOfMemory { .. })));
        gpu.set_budget(used + said);
        run().unwrap();
        gpu.set_budget(u64::MAX);
    }
}
