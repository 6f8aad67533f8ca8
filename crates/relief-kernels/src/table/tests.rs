use proptest::prelude::*;
use relief_raster::Sample;

use super::cpu::{apply, map, threshold};
use crate::canvas::Canvas;
use crate::isa::Isa;

/// Samples that meet every entry of an 8-bit table in every lane.
fn sample<S: Sample>(x: usize, y: usize) -> S {
    S::from_u16(((x * 251 + y * 40_503 + 7) % (usize::from(S::MAX.to_u16()) + 1)) as u16)
}

fn tables_hold<S: Sample>(size: (usize, usize), entry: impl Fn(u16) -> u16) {
    let table: Vec<S> = (0..=S::MAX.to_u16())
        .map(|v| S::from_u16(entry(v) & S::MAX.to_u16()))
        .collect();
    Isa::each(|| {
        let source = Canvas::<S>::of(size, sample);
        let mut out = Canvas::<S>::poisoned(size);
        map(&table, source.read(), out.view());
        out.assert_is(|x, y| table[usize::from(sample::<S>(x, y).to_u16())]);

        let mut out = Canvas::<S>::of(size, sample);
        apply(&table, out.view());
        out.assert_is(|x, y| table[usize::from(sample::<S>(x, y).to_u16())]);
    });
}

fn thresholds_hold<S: Sample>(size: (usize, usize), level: S) {
    Isa::each(|| {
        let mut out = Canvas::<S>::of(size, sample);
        threshold(level, out.view());
        out.assert_is(|x, y| {
            if sample::<S>(x, y) < level {
                S::ZERO
            } else {
                S::MAX
            }
        });
    });
}

#[test]
fn every_byte_in_every_lane_becomes_its_entry() {
    tables_hold::<u8>((256 * 64 + 5, 1), |v| v.wrapping_mul(167) ^ 0x5a);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn rows_of_any_length_become_their_entries(
        width in 0..300_usize, height in 0..4_usize, factor: u16, flip: u16,
    ) {
        tables_hold::<u8>((width, height), |v| v.wrapping_mul(factor) ^ flip);
        tables_hold::<u16>((width, height), |v| v.wrapping_mul(factor) ^ flip);
    }

    #[test]
    fn a_threshold_tells_samples_from_its_level_on(width in 0..300_usize, height in 0..4_usize, level: u16) {
        thresholds_hold::<u8>((width, height), level as u8);
        thresholds_hold::<u16>((width, height), level);
    }
}

#[test]
fn a_long_row_is_mapped_whole() {
    tables_hold::<u16>((4096 * 2 + 17, 2), |v| !v);
}

#[test]
#[should_panic(expected = "a table of 255 entries")]
fn a_table_of_the_wrong_length_is_refused() {
    apply(&[0_u8; 255], Canvas::<u8>::poisoned((1, 1)).view());
}
