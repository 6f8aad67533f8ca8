//! Distances by bits of columns on a device against a search of all white pixels.

use relief_kernels::device::DeviceError;
use relief_kernels::distance::gpu::bits::{MAX_RADIUS, Policy, render, scratch_bytes};

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

fn bits(job: &Job<'_>) -> Result<(), DeviceError> {
    by(Policy::default())(job)
}

/// Speckles of three densities at every radius; two tests of them, which run at the same time. Samples of 16 bits differ
/// in how they are looked up alone, so that the slowest kernels to compile are left to the tests that use them anyway.
fn exact_on_speckles(radii: impl Iterator<Item = u32>) {
    for radius in radii {
        for one_in in [2, 60, 900] {
            let case = Case::new(speckled(1, 90 * 70, one_in), 90, radius, rect(0, 0, 90, 70));
            case.holds_for::<u8>(&bits);
            if radius <= 9 || radius == 15 || radius == 20 {
                case.holds_for::<u16>(&bits);
            }
        }
    }
}

#[test]
fn every_even_radius_is_exact_on_speckles() {
    exact_on_speckles((0..=20).step_by(2));
}

#[test]
fn every_odd_radius_is_exact_on_speckles() {
    exact_on_speckles((1..=15).step_by(2));
}

#[test]
fn the_greatest_radius_is_exact() {
    for one_in in [9, 2_000] {
        let policy = Policy {
            columns: 1,
            ..Policy::default()
        };
        let case = Case::new(speckled(2, 90 * 70, one_in), 90, MAX_RADIUS, rect(0, 0, 90, 70));
        case.holds_for::<u8>(&by(policy));
    }
}

#[test]
fn every_policy_gives_the_same_samples() {
    for columns in 1..=4 {
        for (units, exits) in [(8, true), (24, false), (256, true)] {
            let policy = Policy {
                columns,
                units,
                exits,
            };
            for radius in [0, 5] {
                let case = Case::new(speckled(3, 300 * 40, 300), 300, radius, rect(0, 0, 300, 40));
                case.holds_for::<u8>(&by(policy));
            }
        }
    }
}

#[test]
fn any_number_of_columns_is_exact_at_a_radius_of_15() {
    for (columns, exits) in [(1, true), (3, true), (4, false)] {
        let policy = Policy {
            columns,
            units: 24,
            exits,
        };
        for one_in in [3, 700] {
            let case = Case::new(speckled(8, 300 * 40, one_in), 300, 15, rect(0, 0, 300, 40));
            case.holds_for::<u8>(&by(policy));
        }
    }
}

#[test]
fn an_empty_mask_is_beyond_everywhere_and_a_full_one_nowhere() {
    for radius in [0, 1, 5] {
        for value in [0, 3] {
            Case::new(vec![value; 35], 7, radius, rect(0, 0, 33, 9))
                .at((2, 2))
                .holds(&bits);
            Case::new(vec![value; 2_940], 70, radius, rect(9, 3, 50, 35)).holds(&bits);
        }
    }
}

/// White at every place around the corners of tiles and words of rows.
#[test]
fn one_white_pixel_is_seen_at_every_offset() {
    for radius in [9, 20] {
        for place in [
            (0, 0),
            (255, 31),
            (256, 32),
            (257, 63),
            (-1, 64),
            (-15, -15),
            (-27, 5),
            (300, 80),
            (9, 106),
        ] {
            Case::new(vec![9], 1, radius, rect(0, 0, 290, 80))
                .at(place)
                .holds_for::<u8>(&bits);
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
        (2, 31),
        (30, 9),
        (300, 0),
        (0, -400),
        (-(1 << 30), 0),
        (1 << 30, 0),
    ] {
        for radius in [4, 9] {
            Case::new(speckled(4, 130 * 90, 300), 130, radius, rect(0, 0, 37, 41))
                .at(place)
                .holds(&bits);
        }
    }
}

#[test]
fn the_band_may_lie_far_away() {
    let far = (1 << 40) + 3;
    let case = Case::new(speckled(5, 70 * 30, 90), 70, 9, rect(far, -far, 41, 18));
    case.at((far - 9, -far - 4)).holds(&bits);
}

#[test]
fn lines_are_seen_at_every_distance() {
    let (w, h) = (130, 100);
    for radius in [8, 15] {
        let down = (0..w * h).map(|i| u16::from(i % w % 45 < 4)).collect();
        let across = (0..w * h).map(|i| u16::from(i / w % 40 == 0)).collect();
        let diagonal = (0..w * h).map(|i| u16::from((i % w + i / w) % 61 == 0)).collect();
        for mask in [down, across, diagonal] {
            Case::new(mask, w, radius, rect(0, 0, 130, 100)).holds(&bits);
        }
    }
}

#[test]
fn odd_sizes_down_to_one_pixel_are_exact() {
    for (w, h) in [
        (1, 1),
        (2, 1),
        (1, 9),
        (31, 2),
        (33, 5),
        (65, 33),
        (3, 65),
        (257, 3),
    ] {
        for radius in [1, 9] {
            Case::new(speckled(6, w * h, 5), w, radius, rect(0, 0, w as u64, h as u64)).holds(&bits);
        }
    }
}

#[test]
fn rows_of_many_tiles_are_exact() {
    let w = 20_001;
    Case::new(speckled(7, w * 3, 400), w, 15, rect(0, 0, w as u64, 2)).holds(&bits);
}

#[test]
fn samples_of_16_bits_whose_low_byte_is_zero_are_white() {
    let mask = (0..40).map(|i| if i == 17 { 0x0100 } else { 0 }).collect();
    Case::new(mask, 8, 6, rect(0, 0, 8, 5)).holds_for::<u16>(&bits);
}

#[test]
fn a_radius_beyond_bytes_is_refused() {
    let Some(gpu) = device() else { return };
    let case = Case::new(vec![1], 1, MAX_RADIUS + 1, rect(0, 0, 4, 4));
    let values = vec![0_u8; ((MAX_RADIUS + 1).pow(2) + 1) as usize];
    let error = case.rendered(&gpu, &values, 0, &bits).unwrap_err();
    assert!(
        matches!(error, DeviceError::Limit { limit, asked, .. } if asked == limit + 1),
        "{error}"
    );
}

#[test]
fn scratch_memory_is_what_is_said() {
    let Some(gpu) = device() else { return };
    for (sides, radius) in [((1, 1), 0), ((1_000, 70), 7), ((33, 400), 15)] {
        let said = scratch_bytes(sides.0, sides.1).unwrap();
        takes_scratch(&gpu, sides, radius, said, &bits);
    }
}
