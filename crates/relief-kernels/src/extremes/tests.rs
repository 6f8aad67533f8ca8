use proptest::prelude::*;
use relief_raster::Sample;

use super::{Extreme, MAX_RADIUS, Shape, cpu};
use crate::block::testing::{Case, WIDTHS};

fn check<S: Sample>(case: &Case<S>, extreme: Extreme, shape: Shape, radius: usize) {
    let words = cpu::scratch_words(shape, radius, case.width, S::DEPTH.bytes() as usize);
    let scratch = std::cell::RefCell::new(vec![0x5555_5555_5555_5555_u64; words]);
    let reach = radius as i64;
    case.check(
        &format!("{extreme:?} of a {shape:?} of radius {radius}"),
        |block, out| cpu::filter(block, extreme, shape, radius, out, &mut scratch.borrow_mut()),
        |x, y| {
            let around = (-reach..=reach)
                .flat_map(|dy| (-reach..=reach).map(move |dx| (dx, dy)))
                .filter(|(dx, dy)| shape == Shape::Square || dx * dx + dy * dy <= reach * reach)
                .map(|(dx, dy)| case.at(x, y, dx, dy));
            match extreme {
                Extreme::Least => around.min(),
                Extreme::Greatest => around.max(),
            }
            .unwrap()
        },
    );
}

fn all<S: Sample>(case: &Case<S>, radius: usize) {
    for extreme in [Extreme::Least, Extreme::Greatest] {
        for shape in [Shape::Square, Shape::Disc] {
            check(case, extreme, shape, radius);
        }
    }
}

#[test]
fn every_radius_and_every_width_around_a_vector_is_as_by_definition() {
    for radius in 0..=9 {
        for (seed, width) in WIDTHS.into_iter().enumerate() {
            all::<u8>(&Case::noise(width, 4, (radius, radius), seed as u64), radius);
        }
        all::<u16>(&Case::noise(37, 23, (radius, radius), radius as u64), radius);
    }
}

#[test]
fn great_radii_are_as_by_definition() {
    for radius in [31, 32, 127, MAX_RADIUS] {
        // One sample that reaches some pixels and not others.
        let mut case = Case::<u8>::noise(5, 3, (radius, radius), 0);
        case.samples.fill(100);
        case.samples[2] = 7;
        let last = case.samples.len() - 3;
        case.samples[last] = 250;
        all(&case, radius);
        all::<u16>(&Case::noise(5, 3, (radius, radius), 3), radius);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn extremes_of_any_block_are_as_by_definition(
        radius in prop_oneof![4 => 0_usize..7, 1 => 7_usize..30],
        (width, height) in (1_usize..70, 1_usize..40),
        seed in any::<u64>(),
    ) {
        all::<u8>(&Case::noise(width, height, (radius, radius), seed), radius);
        all::<u16>(&Case::noise(width, height, (radius, radius), seed), radius);
    }
}
