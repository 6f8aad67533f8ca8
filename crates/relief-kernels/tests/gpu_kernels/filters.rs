//! Filters on a device against their definitions, a sample at a time, and against the CPU.

use relief_kernels::convolution::{self, Mask};
use relief_kernels::device::{DeviceError, Gpu};
use relief_kernels::edge::Edge;
use relief_kernels::extremes::{self, Extreme, Shape};
use relief_kernels::filter::{Filter, render, scratch_words};
use relief_kernels::fused::Plane;
use relief_kernels::gauss::{self, Bell, sharpen};
use relief_kernels::median::{self, Rank};
use relief_kernels::sobel::{self, Component};
use relief_kernels::window;
use relief_raster::{Depth, Sample, View, ViewMut};

use crate::framed::{Case, EDGES, case, device_of_test, rect, shared_device};
use crate::support::unpack;

const fn mean(radius: u32) -> Filter<'static> {
    Filter::Mean { radius }
}

const fn extreme(extreme: Extreme, shape: Shape, radius: u32) -> Filter<'static> {
    Filter::Extreme {
        extreme,
        shape,
        radius,
    }
}

fn rank(radius: usize, rank: usize) -> Filter<'static> {
    Filter::Rank(Rank::new(radius, rank).unwrap())
}

impl Case {
    /// What the definition says of a pixel, M being `max`.
    fn defined(&self, filter: &Filter<'_>, max: i64, x: i64, y: i64) -> u16 {
        let read = |dx: i64, dy: i64| i64::from(self.read(x + dx, y + dy));
        let reach = i64::from(filter.radius());
        let around = || (-reach..=reach).flat_map(|dy| (-reach..=reach).map(move |dx| (dx, dy)));
        let found = match filter {
            Filter::Sobel(component) => {
                let (mut right, mut down) = (0, 0);
                for (k, weight) in [(-1, 1), (0, 2), (1, 1)] {
                    right += weight * (read(1, k) - read(-1, k));
                    down += weight * (read(k, 1) - read(k, -1));
                }
                match component {
                    Component::Magnitude => {
                        let squared = right * right + down * down;
                        let root = squared.isqrt();
                        (root + i64::from(squared > root * root + root)).min(max)
                    }
                    Component::X => (right + 4 * max + 4).div_euclid(8),
                    Component::Y => (down + 4 * max + 4).div_euclid(8),
                }
            }
            Filter::Mean { .. } => {
                let sum: i64 = around().map(|(dx, dy)| read(dx, dy)).sum();
                let count = (2 * reach + 1).pow(2);
                (2 * sum + count) / (2 * count)
            }
            Filter::LocalMean { offset, .. } => {
                let sum: i64 = around().map(|(dx, dy)| read(dx, dy)).sum();
                let count = (2 * reach + 1).pow(2);
                max * i64::from(count * (read(0, 0) + i64::from(*offset)) >= sum)
            }
            Filter::Extreme { extreme, shape, .. } => {
                let counts =
                    |(dx, dy): &(i64, i64)| *shape == Shape::Square || dx * dx + dy * dy <= reach * reach;
                let samples = around().filter(counts).map(|(dx, dy)| read(dx, dy));
                match extreme {
                    Extreme::Least => samples.min().unwrap(),
                    Extreme::Greatest => samples.max().unwrap(),
                }
            }
            Filter::Rank(rank) => {
                let mut samples: Vec<i64> = around().map(|(dx, dy)| read(dx, dy)).collect();
                samples.sort_unstable();
                samples[rank.rank() - 1]
            }
            _ => unreachable!("a filter whose definition is said where it is tested"),
        };
        u16::try_from(found).unwrap()
    }

    /// The whole band by the CPU.
    fn on_the_cpu<S: Sample>(&self, filter: &Filter<'_>) -> Vec<u16> {
        let reach = filter.radius() as usize;
        let (width, height) = (self.band.width() as usize, self.band.height() as usize);
        let (across, down) = (width + 2 * reach, height + 2 * reach);
        let mut block = self.block::<S>(reach);
        let mut out = vec![S::ZERO; width * height];
        let result = ViewMut::packed(&mut out, width, height);
        match *filter {
            Filter::Sobel(component) => {
                sobel::cpu::filter(View::packed(&block, across, down), component, result);
            }
            Filter::Mean { .. } => {
                let mut scratch = vec![0; window::cpu::scratch_words(reach)];
                window::cpu::mean(View::packed(&block, across, down), reach, result, &mut scratch);
            }
            Filter::LocalMean { offset, .. } => {
                let mut scratch = vec![0; window::cpu::scratch_words(reach)];
                let law = window::Law::Mean { offset };
                window::cpu::threshold(
                    View::packed(&block, across, down),
                    reach,
                    law,
                    result,
                    &mut scratch,
                );
            }
            Filter::Extreme { extreme, shape, .. } => {
                let mut scratch = vec![0; extremes::cpu::scratch_words(shape, reach, width, size_of::<S>())];
                let block = ViewMut::packed(&mut block, across, down);
                extremes::cpu::filter(block, extreme, shape, reach, result, &mut scratch);
            }
            Filter::Rank(rank) => {
                median::cpu::filter(View::packed(&block, across, down), rank, result);
            }
            Filter::Convolution(mask) => {
                let (left, top) = (reach - mask.reach().0, reach - mask.reach().1);
                let block = View::packed(&block, across, down);
                let part = block.part(left, top, across - 2 * left, down - 2 * top);
                convolution::cpu::filter(part, mask, result);
            }
            Filter::Sharpen {
                bell,
                amount,
                threshold,
            } => {
                let block = View::packed(&block, across, down);
                let mut scratch = vec![0; gauss::cpu::scratch_words(bell)];
                let mut result = result;
                gauss::cpu::filter(block, bell, result.reborrow(), &mut scratch);
                let middle = block.part(reach, reach, width, height);
                sharpen::sharpen(middle, amount, threshold, result);
            }
            _ => unreachable!("a filter that the CPU does not have"),
        }
        out.iter().map(|v| v.to_u16()).collect()
    }

    /// The band by the device.
    fn filtered<S: Sample>(&self, gpu: &Gpu, filter: &Filter<'_>) -> Result<Vec<u16>, DeviceError> {
        let plane = self.plane::<S>(gpu)?;
        let (width, height) = (self.band.width() as usize, self.band.height() as usize);
        let pitch = width.div_ceil(16 / size_of::<S>()) * 4;
        let most = scratch_words(filter, S::DEPTH, width as u64, height as u64).unwrap();
        let scratch = gpu.upload(&vec![0xDEAD_BEEF; most as usize])?;
        let output = gpu.upload(&vec![0xABAB_CDCD; pitch * height])?;
        render(
            gpu,
            Some(&scratch),
            filter,
            &filter.upload(gpu)?,
            &plane,
            self.place,
            self.size,
            self.edge,
            self.band,
            &output,
            pitch as u32,
        )?;
        let samples: Vec<S> = unpack(&gpu.read(&output, pitch * height).wait()?, pitch, width);
        Ok(samples.iter().map(|v| v.to_u16()).collect())
    }

    /// The device has the CPU's samples, and of some of them what the definition says.
    fn agrees<S: Sample>(&self, filter: &Filter<'_>, every: usize) {
        let max = S::MAX.to_u16().into();
        self.agrees_with::<S>(filter, every, |x, y| self.defined(filter, max, x, y));
    }

    fn agrees_with<S: Sample>(&self, filter: &Filter<'_>, every: usize, defined: impl Fn(i64, i64) -> u16) {
        let Some(gpu) = shared_device() else { return };
        let got = self.filtered::<S>(&gpu, filter).unwrap();
        let cpu = self.on_the_cpu::<S>(filter);
        let width = self.band.width() as usize;
        for (i, (got, cpu)) in got.iter().zip(&cpu).enumerate() {
            let what = || format!("{filter:?} {}", self.at(i));
            assert_eq!(got, cpu, "{}", what());
            if i % every == 0 {
                let (x, y) = (
                    self.band.x() + (i % width) as i64,
                    self.band.y() + (i / width) as i64,
                );
                assert_eq!(*got, defined(x, y), "{}", what());
            }
        }
    }
}

/// All edges, in both depths.
fn everywhere(case: &Case, filter: &Filter<'_>, every: usize) {
    for edge in EDGES {
        let case = Case { edge, ..case.clone() };
        case.agrees::<u16>(filter, every);
        let eight = of_bytes(case);
        eight.agrees::<u8>(filter, every);
    }
}

/// The same over a source of 8 bits.
fn of_bytes(case: Case) -> Case {
    Case {
        source: case.source.iter().map(|v| v & 255).collect(),
        ..case
    }
}

/// A filter of this size over a source as large as it.
fn whole(seed: u64, width: u64, height: u64) -> Case {
    let size = (width as i64, height as i64);
    case(seed, size, (0, 0), (width, height), rect(0, 0, width, height))
}

/// One filter of each family, of radii that take other ways than their neighbours.
fn some() -> Vec<Filter<'static>> {
    vec![
        Filter::Sobel(Component::Magnitude),
        mean(2),
        extreme(Extreme::Least, Shape::Square, 3),
        extreme(Extreme::Greatest, Shape::Disc, 3),
        rank(2, 13),
    ]
}

#[test]
fn slopes_of_rasters_of_any_width_are_exact() {
    for component in [Component::Magnitude, Component::X, Component::Y] {
        for (seed, (width, height)) in [(1, 1), (2, 3), (5, 4), (37, 13)].into_iter().enumerate() {
            everywhere(&whole(seed as u64, width, height), &Filter::Sobel(component), 1);
        }
    }
}

/// Every magnitude of 8 bits, and those of 16 near a half, near M and near 2^32.
#[test]
fn magnitudes_are_rounded_right_whatever_the_devices_root() {
    // The middles of the sides of 3 × 3 pixels are the slopes' halves: of neighbours apart by 3 columns none is in the way of another.
    let pairs = |pairs: &[(u16, u16)]| {
        let width = 3 * pairs.len();
        let mut source = vec![0; 3 * width];
        for (k, (x, y)) in pairs.iter().enumerate() {
            source[width + 3 * k + 2] = *x;
            source[2 * width + 3 * k + 1] = *y;
        }
        let whole = whole(1, width as u64, 3);
        Case {
            source,
            edge: Edge::Zero,
            band: rect(0, 1, width as u64, 1),
            ..whole
        }
    };
    let filter = Filter::Sobel(Component::Magnitude);
    let eight: Vec<(u16, u16)> = (0..=128).flat_map(|x| (0..=x).map(move |y| (x, y))).collect();
    pairs(&eight).agrees::<u8>(&filter, 1);
    let sixteen: Vec<(u16, u16)> = (0..5_000)
        .map(|k: u32| {
            let x = (k * 13) % 32_768;
            // Where x² + y² comes nearest to M² from either side, and anywhere.
            let y = (u64::from(u16::MAX).pow(2) - 4 * u64::from(x).pow(2)).isqrt() / 2;
            let y = match k % 3 {
                0 => y,
                1 => y + 1,
                _ => u64::from(k * 7) % 32_769,
            };
            (x as u16, y as u16)
        })
        .collect();
    pairs(&sixteen).agrees::<u16>(&filter, 1);
}

#[test]
fn means_of_any_width_and_radius_are_exact() {
    for radius in [0, 1, 2, 5, 12] {
        for (seed, (width, height)) in [(1, 1), (3, 2), (38, 13), (131, 5)].into_iter().enumerate() {
            everywhere(&whole(seed as u64, width, height), &mean(radius), 17);
        }
    }
}

#[test]
fn what_is_at_least_the_mean_around_it_is_set() {
    for (radius, offset) in [
        (0, 0),
        (0, -1),
        (2, 0),
        (3, 30),
        (4, -20_000),
        (127, 65_535),
        (127, -65_535),
    ] {
        let filter = Filter::LocalMean { radius, offset };
        let every = if radius > 9 { 999 } else { 3 };
        everywhere(&whole(4, 38, 13), &filter, every);
    }
}

/// Sums of 16 bits exceed 32 of them from a radius of 128 on.
#[test]
fn the_widest_means_are_exact() {
    for radius in [127, 128, 255, 256] {
        for edge in [Edge::Mirror, Edge::Wrap] {
            let noise = Case {
                edge,
                ..whole(3, 19, 7)
            };
            noise.agrees::<u16>(&mean(radius), 999);
            let white = Case {
                source: vec![u16::MAX; 19 * 7],
                ..noise
            };
            white.agrees::<u16>(&mean(radius), 999);
            let eight = of_bytes(white);
            eight.agrees::<u8>(&mean(radius), 999);
        }
    }
}

#[test]
fn extremes_of_squares_of_any_radius_are_those_of_their_samples() {
    for which in [Extreme::Least, Extreme::Greatest] {
        for radius in [0, 1, 2, 3, 4, 7, 8, 17] {
            let filter = extreme(which, Shape::Square, radius);
            of_bytes(whole(1, 77, 19)).agrees::<u8>(&filter, 97);
            whole(2, 39, 34).agrees::<u16>(&filter, 97);
        }
    }
    everywhere(&whole(3, 37, 13), &extreme(Extreme::Least, Shape::Square, 5), 7);
}

#[test]
fn extremes_of_discs_of_any_radius_are_those_of_their_samples() {
    for which in [Extreme::Least, Extreme::Greatest] {
        for radius in [0, 1, 2, 3, 5, 9, 20] {
            let filter = extreme(which, Shape::Disc, radius);
            of_bytes(whole(1, 77, 19)).agrees::<u8>(&filter, 97);
            whole(2, 39, 34).agrees::<u16>(&filter, 97);
        }
    }
    everywhere(&whole(3, 37, 13), &extreme(Extreme::Greatest, Shape::Disc, 6), 7);
}

#[test]
fn the_greatest_radii_reach_across_the_filter_again_and_again() {
    for shape in [Shape::Square, Shape::Disc] {
        let filter = extreme(Extreme::Greatest, shape, 256);
        // Two samples of a large source that some discs reach.
        let mut few = whole(1, 400, 30);
        few.source.fill(9);
        few.source[3] = 200;
        few.source[400 * 29 + 390] = 255;
        few.agrees::<u8>(&filter, 499);
        few.agrees::<u16>(&filter, 4_999);
    }
}

#[test]
fn every_rank_is_that_of_its_samples() {
    for (radius, which) in [(0, 1), (1, 5), (2, 1), (2, 25), (3, 20), (16, 545), (16, 1_089)] {
        everywhere(&whole(1, 37, 5), &rank(radius, which), 11);
    }
}

#[test]
fn weighted_sums_are_exact_whatever_their_signs() {
    let greatest = [32_767, 0, 24_577, -32_767, -24_577];
    for (weights, columns, divisor, offset) in [
        (&[1][..], 1, 1, 0),
        (&[0][..], 1, 1, 77),
        (&[0, 0, 0][..], 3, 7, -9),
        (&[1, -2, 1][..], 3, 2, 9),
        (&[-1, 3, -1][..], 1, 1, 0),
        (
            &[1, 2, 3, 4, 5, 6, 7, 8, 9, -1, -2, -3, -4, -5, -60][..],
            5,
            3,
            -20,
        ),
        (&greatest[..], 5, 1 << 30, 65_535),
        (&greatest[..], 5, 1, -65_535),
        (&greatest[..], 1, 999, 0),
    ] {
        let mask = Mask::new(weights, columns, divisor, offset).unwrap();
        let filter = Filter::convolution(&mask).unwrap();
        let (across, down) = (columns as i64 / 2, (weights.len() / columns) as i64 / 2);
        let check = |case: &Case, max: u16| {
            let defined = |x: i64, y: i64| {
                let sum: i64 = (0_i64..).zip(weights).fold(0, |sum, (i, weight)| {
                    let (dx, dy) = (i % columns as i64 - across, i / columns as i64 - down);
                    sum + i64::from(*weight) * i64::from(case.read(x + dx, y + dy))
                });
                let divisor = i64::from(divisor);
                let found = (2 * sum + 2 * i64::from(offset) * divisor + divisor).div_euclid(2 * divisor);
                found.clamp(0, max.into()) as u16
            };
            match max {
                255 => case.agrees_with::<u8>(&filter, 1, defined),
                _ => case.agrees_with::<u16>(&filter, 1, defined),
            }
        };
        for edge in [Edge::Mirror, Edge::Zero] {
            let sixteen = Case {
                edge,
                ..whole(5, 39, 11)
            };
            check(&sixteen, u16::MAX);
            let eight = of_bytes(sixteen);
            check(&eight, 255);
        }
    }
    let too_great = Mask::new(&[32_767, 24_578, 0], 3, 1, 0).unwrap();
    assert_eq!(Filter::convolution(&too_great), None);
}

#[test]
fn what_is_sharpened_goes_away_from_its_mean() {
    let bell = Bell::new(&[65_536 - 2 * 15_000 - 2 * 3_000, 15_000, 3_000]).unwrap();
    for (amount, threshold) in [(0.5, 0), (1.25, 9), (1e300, 0), (3.0, 65_535)] {
        let filter = Filter::Sharpen {
            bell: &bell,
            amount,
            threshold,
        };
        let check = |case: &Case, max: u16| {
            let defined = |x: i64, y: i64| {
                let (value, mean) = (case.read(x, y), case.by_definition(&bell, x, y));
                let apart = value.abs_diff(mean);
                let step = (amount * f64::from(apart) + 0.5).floor().min(65_535.0) as i64;
                let step = if apart > threshold { step } else { 0 };
                let sign = i64::from(value) - i64::from(mean);
                (i64::from(value) + sign.signum() * step).clamp(0, max.into()) as u16
            };
            match max {
                255 => case.agrees_with::<u8>(&filter, 3, defined),
                _ => case.agrees_with::<u16>(&filter, 3, defined),
            }
        };
        for edge in EDGES {
            let sixteen = Case {
                edge,
                ..case(5, (39, 11), (3, -2), (41, 13), rect(2, 1, 37, 11))
            };
            check(&sixteen, u16::MAX);
            let eight = of_bytes(sixteen);
            check(&eight, 255);
        }
    }
}

#[test]
fn sources_smaller_and_larger_than_the_filter_are_read_where_they_lie() {
    for filter in some() {
        for place in [(0, 0), (3, 2), (-7, -5), (30, 1), (1, 18), (-60, 0)] {
            everywhere(
                &case(7, (11, 9), place, (33, 20), rect(0, 0, 33, 20)),
                &filter,
                31,
            );
        }
        let larger = case(8, (60, 41), (-7, -5), (33, 20), rect(0, 0, 33, 20));
        everywhere(&larger, &filter, 31);
    }
}

#[test]
fn bands_in_the_middle_and_at_borders_are_those_of_the_whole() {
    for filter in some() {
        for band in [
            rect(0, 0, 50, 3),
            rect(20, 17, 9, 5),
            rect(41, 37, 9, 3),
            rect(49, 39, 1, 1),
            rect(0, 20, 1, 9),
        ] {
            everywhere(&case(9, (50, 40), (0, 0), (50, 40), band), &filter, 5);
        }
    }
}

#[test]
fn filters_far_out_read_what_lies_there() {
    let far = 1_u64 << 40;
    let at = far as i64 - 30;
    for filter in some() {
        // The source lies in the lower right corner of a filter of 2^40 × 2^40 pixels.
        let corner = case(12, (30, 30), (at, at), (far, far), rect(at + 5, at + 20, 25, 10));
        everywhere(&corner, &filter, 3);
        // And 2^32 pixels on, where numbers of 32 bits are the same.
        let alike = case(14, (30, 30), (1 << 32, 1 << 32), (far, far), rect(0, 0, 40, 20));
        alike.agrees::<u16>(&filter, 1);
    }
}

/// Bands wider than a part, and higher, have no seam.
#[test]
fn bands_are_computed_in_parts() {
    for filter in some() {
        for (width, height) in [(16_500, 2), (3, 65_600)] {
            let case = Case {
                edge: Edge::Mirror,
                ..whole(15, width, height)
            };
            case.agrees::<u16>(&filter, 997);
        }
    }
}

#[test]
fn no_memory_but_what_is_said_is_taken() {
    let Some(gpu) = device_of_test() else { return };
    let plane = Plane::new(gpu.upload(&[7; 1_024]).unwrap(), 0, 16, 64, 64, Depth::Eight).unwrap();
    let output = gpu.buffer(1_024).unwrap();
    for filter in some() {
        let said = scratch_words(&filter, Depth::Eight, 64, 64).unwrap();
        let (used, budget) = (gpu.used(), gpu.budget());
        let kept = filter.upload(&gpu).unwrap();
        let render = |scratch| {
            let band = rect(0, 0, 64, 64);
            let (place, size, edge) = ((0, 0), (64, 64), Edge::Clamp);
            render(
                &gpu, scratch, &filter, &kept, &plane, place, size, edge, band, &output, 16,
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
}

#[test]
fn bands_beyond_the_filter_or_the_output_are_refused() {
    let Some(gpu) = shared_device() else { return };
    let plane = Plane::new(gpu.upload(&[7; 64]).unwrap(), 0, 4, 16, 16, Depth::Eight).unwrap();
    let output = gpu.upload(&[9; 64]).unwrap();
    let refuse = |filter: &Filter<'_>, size, band, pitch| {
        let (place, edge) = ((0, 0), Edge::Wrap);
        let kept = filter.upload(&gpu).unwrap();
        let refused = render(
            &gpu, None, filter, &kept, &plane, place, size, edge, band, &output, pitch,
        );
        assert!(
            refused.as_ref().is_err_and(crate::support::is_refused),
            "{filter:?} {band:?}: {refused:?}"
        );
    };
    for (size, band, pitch) in [
        ((16, 16), rect(0, 0, 17, 4), 8),
        ((16, 16), rect(-1, 0, 4, 4), 4),
        ((16, 16), rect(0, 13, 4, 4), 4),
        ((16, 16), rect(0, 0, 16, 16), 8),
        ((16, 16), rect(0, 0, 16, 4), 6),
        ((1 << 40, 16), rect(0, 0, 1 << 30, 1), 4),
    ] {
        refuse(&mean(1), size, band, pitch);
    }
    refuse(&mean(257), (16, 16), rect(0, 0, 4, 4), 4);
    for (radius, offset) in [(128, 0), (1, 65_536), (1, -65_536)] {
        let filter = Filter::LocalMean { radius, offset };
        refuse(&filter, (16, 16), rect(0, 0, 4, 4), 4);
    }
    let wide = extreme(Extreme::Least, Shape::Square, u32::MAX);
    refuse(&wide, (16, 16), rect(0, 0, 4, 4), 4);
    let untouched = gpu.read(&output, 64).wait().unwrap();
    assert!(untouched.chunks(4).all(|word| word == [9, 0, 0, 0]));
}
