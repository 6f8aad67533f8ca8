use relief_raster::Sample;

use super::{Component, cpu};
use crate::block::testing::{Case, WIDTHS};

fn check<S: Sample>(case: &Case<S>) {
    let max = i64::from(S::MAX.to_u16());
    for component in [Component::Magnitude, Component::X, Component::Y] {
        case.check(
            &format!("{component:?}"),
            |block, out| cpu::filter(block.as_view(), component, out),
            |x, y| {
                let (mut right, mut down) = (0, 0);
                for (k, weight) in [(-1, 1), (0, 2), (1, 1)] {
                    right += weight * (case.at(x, y, 1, k) - case.at(x, y, -1, k));
                    down += weight * (case.at(x, y, k, 1) - case.at(x, y, k, -1));
                }
                match component {
                    Component::Magnitude => {
                        // The greatest r with (r − ½)² ≤ q: no q lies at a half.
                        let squared = right * right + down * down;
                        let root = squared.isqrt();
                        (root + i64::from(squared > root * root + root)).min(max)
                    }
                    Component::X => (right + 4 * max + 4).div_euclid(8),
                    Component::Y => (down + 4 * max + 4).div_euclid(8),
                }
            },
        );
    }
}

#[test]
fn slopes_of_every_width_around_a_block_are_as_by_definition() {
    for (seed, width) in WIDTHS.into_iter().enumerate() {
        for height in [1, 5] {
            for more in 0..4 {
                check(&Case::<u8>::noise(width, height, (1, 1), seed as u64 + more));
                check(&Case::<u16>::noise(width, height, (1, 1), seed as u64 + more));
            }
        }
    }
}

#[test]
fn every_magnitude_of_8_bits_is_rounded_right() {
    // Two slopes at a time: gx = 4a and gy = 2b by samples in the middles of the sides, and odd ones by corners.
    for gentle in 0..=255_u8 {
        let mut case = Case::<u8>::noise(3, 1, (1, 1), 1);
        for steep in (0..=255).step_by(15) {
            case.samples.fill(0);
            (case.samples[2], case.samples[7], case.samples[11]) = (gentle, steep, gentle / 2);
            check(&case);
        }
    }
}

#[test]
fn the_greatest_slopes_do_not_overflow() {
    fn both<S: Sample>() {
        for half in [0, 1] {
            let mut case = Case::<S>::noise(9, 9, (1, 1), 0);
            for (i, sample) in case.samples.iter_mut().enumerate() {
                let (x, y) = (i % 11, i / 11);
                *sample = if (if half == 0 { x } else { y }) % 4 < 2 {
                    S::MAX
                } else {
                    S::ZERO
                };
            }
            check(&case);
        }
    }
    both::<u8>();
    both::<u16>();
}
