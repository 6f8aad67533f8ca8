//! Distances by tiles on a device against a search of all white pixels.

use relief_kernels::device::DeviceError;
use relief_kernels::distance::gpu::tiles::{MAX_RADIUS, Policy, render, scratch_bytes};

use crate::support::device;
use crate::support::distance::{Case, Job, rect, speckled, takes_scratch};

fn by(policy: Policy) -> impl Fn(&Job<'_>) -> Result<(), DeviceError> {
    move |job| {
        render(
            job.gpu,
            &policy,
            job.scratch,
            job.mask,
            job.place,
            job.profile,
            job.band,
            job.output,
            job.pitch,
        )
    }
}

fn tiles(job: &Job<'_>) -> Result<(), DeviceError> {
    by(Policy::default())(job)
}

#[test]
fn every_class_of_radius_is_exact_on_speckles() {
    for radius in [0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 100, 117, 118] {
        for one_in in [2, 60, 1_500] {
            Case::new(speckled(1, 90 * 60, one_in), 90, radius, rect(0, 0, 90, 60)).holds(&tiles);
        }
    }
}

#[test]
fn every_shape_of_tile_gives_the_same_samples() {
    for (chunks, blocks) in [(1, 1), (3, 2), (8, 4), (14, 2), (64, 1)] {
        for (radius, nearby) in [(15, 32), (15, 0), (31, 8), (40, 48), (100, 32)] {
            let policy = Policy {
                chunks,
                blocks,
                nearby,
            };
            Case::new(speckled(2, 83 * 71, 700), 83, radius, rect(0, 0, 83, 71)).holds(&by(policy));
        }
    }
}

#[test]
fn an_empty_mask_is_beyond_everywhere_and_a_full_one_nowhere() {
    for radius in [0, 15, 50, 118] {
        for value in [0, 3] {
            Case::new(vec![value; 35], 7, radius, rect(0, 0, 33, 9))
                .at((2, 2))
                .holds(&tiles);
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
            Case::new(speckled(3, 130 * 90, 300), 130, radius, rect(0, 0, 37, 21))
                .at(place)
                .holds(&tiles);
        }
    }
}

#[test]
fn the_band_may_lie_far_away() {
    let far = (1 << 40) + 3;
    let case = Case::new(speckled(4, 70 * 30, 90), 70, 20, rect(far, -far, 41, 18));
    case.at((far - 9, -far - 4)).holds(&tiles);
}

#[test]
fn lines_are_seen_at_every_distance() {
    let (w, h) = (130, 100);
    for radius in [15, 19, 100] {
        let down = (0..w * h).map(|i| u16::from(i % w % 40 == 0)).collect();
        Case::new(down, w, radius, rect(0, 0, 130, 100)).holds(&tiles);
        let across = (0..w * h).map(|i| u16::from(i / w % 40 == 0)).collect();
        Case::new(across, w, radius, rect(0, 0, 130, 100)).holds(&tiles);
    }
}

#[test]
fn one_white_pixel_is_seen_across_tiles_and_strips() {
    for place in [(-118, 0), (0, 300), (223, 63), (224, 64), (290, 417)] {
        Case::new(vec![9], 1, MAX_RADIUS, rect(0, 0, 300, 300))
            .at(place)
            .holds_for::<u8>(&tiles);
    }
}

#[test]
fn odd_sizes_down_to_one_pixel_are_exact() {
    for (w, h) in [(1, 1), (2, 1), (1, 9), (31, 2), (33, 5), (65, 3)] {
        for radius in [1, 15, 34] {
            Case::new(speckled(5, w * h, 5), w, radius, rect(0, 0, w as u64, h as u64)).holds(&tiles);
        }
    }
}

#[test]
fn samples_of_16_bits_whose_low_byte_is_zero_are_white() {
    let mask = (0..40).map(|i| if i == 17 { 0x0100 } else { 0 }).collect();
    Case::new(mask, 8, 6, rect(0, 0, 8, 5)).holds_for::<u16>(&tiles);
}

#[test]
fn a_radius_beyond_bytes_is_refused() {
    let Some(gpu) = device() else { return };
    let case = Case::new(vec![1], 1, MAX_RADIUS + 1, rect(0, 0, 4, 4));
    let values = vec![0_u8; 119 * 119 + 1];
    let error = case.rendered(&gpu, &values, 0, &tiles).unwrap_err();
    let asked = u64::from(MAX_RADIUS) + 1;
    assert!(
        matches!(error, DeviceError::Limit { limit, asked: found, .. } if limit == asked - 1 && found == asked),
        "{error}"
    );
    assert_eq!(
        scratch_bytes(&gpu, &Policy::default(), 4, 4, MAX_RADIUS + 1),
        None
    );
}

#[test]
fn scratch_memory_is_what_is_said() {
    let Some(gpu) = device() else { return };
    for (sides, radius) in [((1, 1), 0), ((1_000, 70), 15), ((33, 400), 100)] {
        let said = scratch_bytes(&gpu, &Policy::default(), sides.0, sides.1, radius).unwrap();
        takes_scratch(&gpu, sides, radius, said, &tiles);
    }
}
