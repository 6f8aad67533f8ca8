//! Means weighted by a bell on a device against every product by itself, and against the CPU.

use relief_kernels::device::{DeviceError, Gpu};
use relief_kernels::edge::Edge;
use relief_kernels::fused::Plane;
use relief_kernels::gauss::gpu::{Weights, render, scratch_words};
use relief_kernels::gauss::{Bell, MAX_RADIUS, cpu};
use relief_raster::{Depth, Sample, View, ViewMut};

use crate::framed::{Case, EDGES, case, device_of_test, rect};
use crate::support::unpack;

/// A bell of this σ by the host's own exp, good enough for a test: any weights that sum to 2^16 do.
fn bell(sigma: f64) -> Bell {
    let radius = (4.0 * sigma).ceil() as i32;
    let fall = |k: i32| (-f64::from(k * k) / (2.0 * sigma * sigma)).exp();
    let sum: f64 = (-radius..=radius).map(fall).sum();
    let mut half: Vec<u32> = (0..=radius)
        .map(|k| (65_536.0 * fall(k) / sum).round() as u32)
        .collect();
    half[0] = 65_536 - 2 * half[1..].iter().sum::<u32>();
    Bell::new(&half).unwrap()
}

impl Case {
    /// Every product by itself, in 128 bits.
    pub(crate) fn by_definition(&self, bell: &Bell, x: i64, y: i64) -> u16 {
        let reach = bell.radius() as i64;
        let weight = |k: i64| u128::from(bell.half()[k.unsigned_abs() as usize]);
        let mut sum = 0;
        for j in -reach..=reach {
            for i in -reach..=reach {
                sum += weight(i) * weight(j) * u128::from(self.read(x + i, y + j));
            }
        }
        ((sum + (1 << 31)) >> 32) as u16
    }

    /// The whole band by the CPU.
    fn by_the_cpu<S: Sample>(&self, bell: &Bell) -> Vec<u16> {
        let (width, height) = (self.band.width() as usize, self.band.height() as usize);
        let (across, down) = (width + 2 * bell.radius(), height + 2 * bell.radius());
        let block = self.block::<S>(bell.radius());
        let mut out = vec![S::ZERO; width * height];
        let mut scratch = vec![0; cpu::scratch_words(bell)];
        cpu::filter(
            View::packed(&block, across, down),
            bell,
            ViewMut::packed(&mut out, width, height),
            &mut scratch,
        );
        out.iter().map(|v| v.to_u16()).collect()
    }

    /// The band by the device.
    fn rendered<S: Sample>(&self, gpu: &Gpu, bell: &Bell) -> Result<Vec<u16>, DeviceError> {
        let plane = self.plane::<S>(gpu)?;
        let weights = Weights::upload(gpu, bell)?;
        let (width, height) = (self.band.width() as usize, self.band.height() as usize);
        let pitch = width.div_ceil(16 / size_of::<S>()) * 4;
        let most = scratch_words(width as u64, height as u64, weights.radius()).unwrap();
        let render = |scratch| {
            let output = gpu.upload(&vec![0xABAB_CDCD; pitch * height])?;
            render(
                gpu,
                scratch,
                &plane,
                self.place,
                self.size,
                self.edge,
                &weights,
                self.band,
                &output,
                pitch as u32,
            )?;
            gpu.read(&output, pitch * height).wait()
        };
        let scratch = gpu.upload(&vec![0xDEAD_BEEF; most as usize])?;
        let (own, given) = (render(None)?, render(Some(&scratch))?);
        assert!(
            own[..] == given[..],
            "memory that was given changes what is rendered"
        );
        let samples: Vec<S> = unpack(&own, pitch, width);
        Ok(samples.iter().map(|v| v.to_u16()).collect())
    }

    /// The device has the CPU's samples, and of some of them what the definition says.
    fn holds_for<S: Sample>(&self, bell: &Bell, every: usize) {
        let Some(gpu) = device_of_test() else { return };
        let got = self.rendered::<S>(&gpu, bell).unwrap();
        let cpu = self.by_the_cpu::<S>(bell);
        let width = self.band.width() as usize;
        for (i, (got, cpu)) in got.iter().zip(&cpu).enumerate() {
            let what = || format!("{}, radius {}", self.at(i), bell.radius());
            assert_eq!(got, cpu, "{}", what());
            if i % every == 0 {
                let (x, y) = (
                    self.band.x() + (i % width) as i64,
                    self.band.y() + (i / width) as i64,
                );
                assert_eq!(*got, self.by_definition(bell, x, y), "{}", what());
            }
        }
    }
}

/// All edges, in both depths.
fn everywhere(case: &Case, bell: &Bell, every: usize) {
    for edge in EDGES {
        let case = Case { edge, ..case.clone() };
        case.holds_for::<u16>(bell, every);
        let eight = Case {
            source: case.source.iter().map(|v| v & 255).collect(),
            ..case
        };
        eight.holds_for::<u8>(bell, every);
    }
}

#[test]
fn filters_of_any_width_and_radius_are_exact() {
    for (seed, (width, height), sigma) in [
        (1, (1, 1), 0.3),
        (2, (2, 3), 1.0),
        (3, (5, 4), 0.1),
        (4, (16, 3), 2.0),
        (5, (37, 13), 0.8),
        (6, (300, 9), 1.7),
    ] {
        let size = (width as u64, height as u64);
        let whole = case(seed, (width, height), (0, 0), size, rect(0, 0, size.0, size.1));
        everywhere(&whole, &bell(sigma), 7);
    }
}

#[test]
fn sources_smaller_and_larger_than_the_filter_are_read_where_they_lie() {
    let bell = bell(1.2);
    for place in [(0, 0), (3, 2), (-7, -5), (30, 1), (1, 18), (-60, 0)] {
        everywhere(&case(7, (11, 9), place, (33, 20), rect(0, 0, 33, 20)), &bell, 11);
        everywhere(&case(8, (60, 41), place, (33, 20), rect(0, 0, 33, 20)), &bell, 11);
    }
}

#[test]
fn bands_in_the_middle_and_at_borders_are_those_of_the_whole() {
    let bell = bell(2.3);
    for band in [
        rect(0, 0, 50, 3),
        rect(20, 17, 9, 5),
        rect(41, 37, 9, 3),
        rect(49, 39, 1, 1),
        rect(0, 20, 1, 9),
    ] {
        everywhere(&case(9, (50, 40), (0, 0), (50, 40), band), &bell, 5);
    }
}

#[test]
fn bells_wider_than_the_filter_count_its_samples_again_and_again() {
    for (size, sigma) in [((1, 1), 3.0), ((2, 1), 5.0), ((3, 2), 6.1), ((5, 9), 9.0)] {
        let band = rect(0, 0, size.0, size.1);
        everywhere(
            &case(10, (size.0 as i64, size.1 as i64), (0, 0), size, band),
            &bell(sigma),
            1,
        );
    }
}

#[test]
fn the_widest_bell_is_exact() {
    let bell = bell(64.0);
    assert_eq!(bell.radius(), MAX_RADIUS);
    everywhere(
        &case(11, (70, 21), (2, 1), (75, 23), rect(3, 1, 70, 22)),
        &bell,
        397,
    );
}

#[test]
fn the_greatest_samples_stay_the_greatest() {
    // Every sum is as great as it gets, and the whole weight lies in one place or at two ends.
    for half in [&[65_536][..], &[0, 32_768], &[65_536, 0, 0], &[2, 1, 32_766]] {
        let bell = Bell::new(half).unwrap();
        let white = Case {
            source: vec![u16::MAX; 9 * 5],
            ..case(1, (9, 5), (0, 0), (9, 5), rect(0, 0, 9, 5))
        };
        everywhere(&white, &bell, 1);
    }
}

#[test]
fn filters_far_out_read_what_lies_there() {
    let bell = bell(1.1);
    let far = 1_u64 << 40;
    let at = far as i64 - 30;
    // The source lies in the lower right corner of a filter of 2^40 × 2^40 pixels.
    let corner = rect(at + 5, at + 20, 25, 10);
    everywhere(&case(12, (30, 30), (at, at), (far, far), corner), &bell, 3);
    // And on the other side of it, where only what is wrapped reaches.
    for edge in EDGES {
        let origin = Case {
            edge,
            ..case(13, (30, 30), (at, at), (far, far), rect(0, 0, 9, 7))
        };
        origin.holds_for::<u16>(&bell, 1);
    }
    // 2^32 pixels on, where numbers of 32 bits are the same.
    let alike = case(14, (30, 30), (1 << 32, 1 << 32), (far, far), rect(0, 0, 40, 20));
    everywhere(&alike, &bell, 1);
}

/// A band of more rows than have room for their sums at once has no seam.
#[test]
fn bands_are_computed_in_parts() {
    let Some(gpu) = device_of_test() else { return };
    // 2^23 words hold the sums of 65 536 rows of 32 words.
    let (width, height) = (4_u64, 70_001_u64);
    let bell = bell(1.0);
    let whole = Case {
        edge: Edge::Mirror,
        ..case(
            15,
            (width as i64, height as i64),
            (0, 0),
            (width, height),
            rect(0, 0, width, height),
        )
    };
    let got = whole.rendered::<u16>(&gpu, &bell).unwrap();
    assert!(got == whole.by_the_cpu::<u16>(&bell));
}

#[test]
fn memory_that_is_said_to_be_enough_is() {
    for radius in [0, 1, 9, 256] {
        for (width, height) in [(1, 1), (1, 1 << 20), (1 << 23, 3), (4_000, 4_000), (33, 17)] {
            let said = scratch_words(width, height, radius).unwrap();
            for (less, lower) in [
                (width, height / 2),
                (width / 2, height),
                (width.div_ceil(3), height),
            ] {
                assert!(scratch_words(less, lower, radius).unwrap() <= said);
            }
            // 64 MiB, or four rows.
            let row = width + 2 * u64::from(radius) + 8;
            assert!(said <= (1_u64 << 24).max(4 * row));
        }
    }
    assert_eq!(scratch_words(1 << 29, 1, 1), None);
    assert_eq!(scratch_words(1, u64::MAX, 1), None);
    assert_eq!(scratch_words(1, 1, 257), None);
}

#[test]
fn no_memory_but_what_is_said_is_taken() {
    let Some(gpu) = device_of_test() else { return };
    let bell = bell(2.0);
    let weights = Weights::upload(&gpu, &bell).unwrap();
    let plane = Plane::new(gpu.upload(&[7; 1_024]).unwrap(), 0, 16, 64, 64, Depth::Eight).unwrap();
    let output = gpu.buffer(1_024).unwrap();
    let said = scratch_words(64, 64, weights.radius()).unwrap();
    let (used, budget) = (gpu.used(), gpu.budget());
    let render = |scratch| {
        let band = rect(0, 0, 64, 64);
        render(
            &gpu,
            scratch,
            &plane,
            (0, 0),
            (64, 64),
            Edge::Clamp,
            &weights,
            band,
            &output,
            16,
        )
    };
    gpu.set_budget(used + 4 * said - 1);
    assert!(matches!(render(None), Err(DeviceError::OutOfMemory { .. })));
    gpu.set_budget(used + 4 * said);
    render(None).unwrap();
    let scratch = gpu.buffer(said as usize).unwrap();
    gpu.set_budget(gpu.used());
    render(Some(&scratch)).unwrap();
    gpu.set_budget(budget);
}

#[test]
fn bands_beyond_the_filter_or_the_output_are_refused() {
    let Some(gpu) = device_of_test() else { return };
    let weights = Weights::upload(&gpu, &bell(1.0)).unwrap();
    let plane = Plane::new(gpu.upload(&[7; 64]).unwrap(), 0, 4, 16, 16, Depth::Eight).unwrap();
    let output = gpu.upload(&[9; 64]).unwrap();
    for (size, band, pitch) in [
        ((16, 16), rect(0, 0, 17, 4), 8),
        ((16, 16), rect(-1, 0, 4, 4), 4),
        ((16, 16), rect(0, 13, 4, 4), 4),
        ((16, 16), rect(0, 0, 16, 16), 8),
        ((16, 16), rect(0, 0, 16, 4), 6),
        ((1 << 40, 16), rect(0, 0, 1 << 30, 1), 4),
    ] {
        let refused = render(
            &gpu,
            None,
            &plane,
            (0, 0),
            size,
            Edge::Wrap,
            &weights,
            band,
            &output,
            pitch,
        );
        assert!(
            refused.as_ref().is_err_and(crate::support::is_refused),
            "{band:?}: {refused:?}"
        );
    }
    let untouched = gpu.read(&output, 64).wait().unwrap();
    assert!(untouched.chunks(4).all(|word| word == [9, 0, 0, 0]));
}
