use relief_raster::Sample;

use super::cpu::quarter;
use crate::canvas::Canvas;

fn turns<S: Sample>((width, height): (usize, usize)) {
    let at = |x: usize, y: usize| S::from_u16((x * 31 + y * 7 + x * y) as u16 & S::MAX.to_u16());
    let source = Canvas::<S>::of((width, height), at);
    let mut out = Canvas::<S>::poisoned((height, width));
    quarter(source.read(), true, out.view());
    // The left column shows the bottom row.
    out.assert_is(|x, y| at(y, height - 1 - x));
    let mut out = Canvas::<S>::poisoned((height, width));
    quarter(source.read(), false, out.view());
    out.assert_is(|x, y| at(width - 1 - y, x));
}

#[test]
fn quarters_of_any_size_are_turned_both_ways() {
    for size in [(1, 1), (1, 40), (40, 1), (31, 33), (64, 32), (100, 67)] {
        turns::<u8>(size);
        turns::<u16>(size);
    }
}

#[test]
#[should_panic(expected = "turned into")]
fn an_output_of_another_size_is_refused() {
    let source = Canvas::<u8>::of((3, 2), |_, _| 1);
    quarter(source.read(), true, Canvas::<u8>::poisoned((3, 2)).view());
}
