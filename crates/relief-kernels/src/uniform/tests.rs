use proptest::prelude::*;
use relief_raster::Sample;

use super::cpu::value;
use crate::canvas::Canvas;
use crate::isa::Isa;

fn one_other_sample_is_found<S: Sample>(size: (usize, usize), at: (usize, usize)) {
    Isa::each(|| {
        let other = Canvas::of(size, |x, y| S::from_u16(7 + u16::from((x, y) == at)));
        assert_eq!(value(other.read()), (size == (1, 1)).then(|| S::from_u16(8)));
        let same = Canvas::of(size, |_, _| S::MAX);
        assert_eq!(value(same.read()), Some(S::MAX));
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn one_other_sample_anywhere_is_found(
        width in prop_oneof![1..80_usize, 1000..1100_usize], height in 1..5_usize, x: usize, y: usize,
    ) {
        one_other_sample_is_found::<u8>((width, height), (x % width, y % height));
        one_other_sample_is_found::<u16>((width, height), (x % width, y % height));
    }
}

#[test]
fn no_sample_is_no_value() {
    assert_eq!(value(Canvas::<u8>::poisoned((0, 4)).read()), None);
    assert_eq!(value(Canvas::<u8>::poisoned((4, 0)).read()), None);
}
