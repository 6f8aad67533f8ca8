//! Distances on a device against a search of every offset within the radius.

use relief_kernels::device::DeviceError;
use relief_kernels::distance::gpu::{render, render_by_rows, scratch_bytes};

use crate::support::device;
use crate::support::distance::{Case, Job, rect, speckled, takes_at_most};

/// As a job of the engine renders it.
fn chosen(job: &Job<'_>) -> Result<(), DeviceError> {
    render(
        job.gpu,
        job.scratch,
        job.mask,
        job.place,
        job.profile,
        job.band,
        job.output,
        job.pitch,
    )
}

/// By the steps over rows, whatever the radius.
fn by_rows(job: &Job<'_>) -> Result<(), DeviceError> {
    render_by_rows(
        job.gpu,
        job.scratch,
        job.mask,
        job.place,
        job.profile,
        job.band,
        job.output,
        job.pitch,
    )
}

#[test]
fn every_class_of_radius_is_exact_on_speckles() {
    for radius in [0, 1, 2, 7, 15, 16, 31, 32, 33, 40, 64, 100, 254, 255, 300] {
        for one_in in [2, 60, 1_500] {
            let case = Case::new(speckled(1, 90 * 60, one_in), 90, radius, rect(0, 0, 90, 60));
            case.holds(&chosen);
            case.holds(&by_rows);
        }
    }
}

#[test]
fn one_white_pixel_is_seen_from_everywhere_within_the_greatest_radius() {
    for band in [
        rect(0, 0, 50, 3),
        rect(4_070, -2, 40, 2),
        rect(-4_100, 0, 12, 1),
        rect(2_880, 2_890, 20, 20),
        rect(-2, 4_090, 5, 10),
        rect(-2, -4_099, 5, 10),
    ] {
        Case::new(vec![9], 1, 4_096, band).holds(&chosen);
    }
}

#[test]
fn an_empty_mask_is_beyond_everywhere_and_a_full_one_nowhere() {
    for radius in [0, 15, 50, 255] {
        for value in [0, 3] {
            let case = Case::new(vec![value; 35], 7, radius, rect(0, 0, 33, 9)).at((2, 2));
            case.holds(&chosen);
            case.holds(&by_rows);
        }
    }
}

#[test]
fn white_pixels_beyond_the_band_count() {
    for radius in [9, 40, 64] {
        for band in [rect(0, 0, 37, 21), rect(100, 70, 50, 40)] {
            let case = Case::new(speckled(2, 200 * 150, 400), 200, radius, band).at((-60, -50));
            case.holds(&chosen);
            case.holds(&by_rows);
        }
    }
}

#[test]
fn lines_are_seen_at_every_distance() {
    let (w, h) = (130, 100);
    for radius in [15, 19, 100] {
        let down = (0..w * h).map(|i| u16::from(i % w % 40 == 0)).collect();
        let across = (0..w * h).map(|i| u16::from(i / w % 40 == 0)).collect();
        for mask in [down, across] {
            let case = Case::new(mask, w, radius, rect(0, 0, 130, 100));
            case.holds(&chosen);
            case.holds(&by_rows);
        }
    }
}

#[test]
fn odd_sizes_down_to_one_pixel_are_exact() {
    for (w, h) in [(1, 1), (2, 1), (1, 9), (31, 2), (33, 5), (65, 3)] {
        for radius in [1, 15, 34, 45] {
            let case = Case::new(speckled(3, w * h, 5), w, radius, rect(0, 0, w as u64, h as u64));
            case.holds(&chosen);
            case.holds(&by_rows);
        }
    }
}

#[test]
fn samples_of_16_bits_whose_low_byte_is_zero_are_white() {
    let mask: Vec<u16> = (0..40).map(|i| if i == 17 { 0x0100 } else { 0 }).collect();
    let case = Case::new(mask, 8, 6, rect(0, 0, 8, 5));
    case.holds_for::<u16>(&chosen);
    case.holds_for::<u16>(&by_rows);
}

#[test]
fn scratch_memory_of_every_way_is_at_most_what_is_said() {
    let Some(gpu) = device() else { return };
    for (sides, radius) in [((1, 1), 0), ((1_000, 70), 15), ((33, 400), 17), ((61, 90), 50)] {
        let said = scratch_bytes(gpu.report(), sides.0, sides.1, radius).unwrap();
        takes_at_most(&gpu, sides, radius, said, &chosen);
    }
}
