use proptest::prelude::*;
use relief_raster::{Sample, View, ViewMut};

use super::cpu::{Fade, fade};
use crate::block::testing::noise;

fn check<S: Sample>(overlap: u32, (x, y): (u64, u64), (width, height): (usize, usize), seed: u64) {
    let [here, right, below, both] = [0, 1, 2, 3].map(|part| noise::<S>(width * height, seed ^ part, 65_536));
    let mut out = here.clone();
    let view = |samples| View::packed(samples, width, height);
    fade(
        Fade { overlap, x, y },
        view(&right),
        view(&below),
        view(&both),
        ViewMut::packed(&mut out, width, height),
    );
    for (i, found) in out.iter().enumerate() {
        let part = |at: u64| i128::from((2 * at + 1).min(2 * u64::from(overlap)));
        let (across, down) = (part(x + (i % width) as u64), part(y + (i / width) as u64));
        let whole = 2 * i128::from(overlap);
        let sample = |samples: &[S]| i128::from(samples[i].to_u16());
        let columns = |one: i128, other: i128| across * one + (whole - across) * other;
        let sum = down * columns(sample(&here), sample(&right))
            + (whole - down) * columns(sample(&below), sample(&both));
        let expected = (2 * sum + whole * whole).div_euclid(2 * whole * whole);
        assert_eq!(
            i128::from(found.to_u16()),
            expected,
            "{overlap}, {x}, {y}, sample {i}"
        );
    }
}

proptest! {
    #[test]
    fn any_part_of_any_seam_is_as_by_definition(
        overlap in prop_oneof![1_u32..20, 1_u32..=1 << 16],
        at in (0_u64..40, 0_u64..40),
        size in (1_usize..30, 1_usize..10),
        seed in any::<u64>(),
    ) {
        check::<u8>(overlap, at, size, seed);
        check::<u16>(overlap, at, size, seed);
    }
}

#[test]
fn equal_samples_stay_what_they_are() {
    for overlap in [1, 7, 1 << 16] {
        for sample in [0, 1, u16::MAX] {
            let same = [sample; 12];
            let mut out = same;
            let view = || View::packed(&same, 4, 3);
            let at = Fade { overlap, x: 0, y: 0 };
            fade(at, view(), view(), view(), ViewMut::packed(&mut out, 4, 3));
            assert_eq!(out, same);
        }
    }
}
