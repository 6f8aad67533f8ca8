use proptest::prelude::*;

use super::cpu::{SCRATCH_WORDS, eight, sixteen};
use super::levels::{equalisation, otsu};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn each_value_is_counted(samples in prop::collection::vec(any::<u16>(), 0..300), few in 1..300_u16) {
        let samples: Vec<u16> = samples.iter().map(|v| v % few * (u16::MAX / few)).collect();
        let bytes: Vec<u8> = samples.iter().map(|v| (v >> 8) as u8).collect();
        let mut found = [3; 256];
        eight(&bytes, &mut found);
        for (v, count) in found.iter().enumerate() {
            let right = bytes.iter().filter(|byte| usize::from(**byte) == v).count();
            prop_assert_eq!(*count, 3 + right as u64);
        }
        let mut found = Box::new([0; 65_536]);
        sixteen(&samples, &mut found, &mut [7; SCRATCH_WORDS]);
        prop_assert_eq!(found.iter().sum::<u64>(), samples.len() as u64);
        for v in &samples {
            let right = samples.iter().filter(|other| *other == v).count();
            prop_assert_eq!(found[usize::from(*v)], right as u64);
        }
    }

    #[test]
    fn an_equalising_table_rises_from_the_least_value_to_the_greatest(
        counts in prop::collection::vec(0..9_u64, 256..=256),
    ) {
        let mut table = [0_u8; 256];
        equalisation(&counts, &mut table);
        let there: Vec<usize> = (0..256).filter(|v| counts[*v] > 0).collect();
        prop_assert!(table.windows(2).all(|pair| pair[0] <= pair[1]) || there.len() < 2);
        if there.len() > 1 {
            prop_assert_eq!((table[there[0]], table[there[there.len() - 1]]), (0, 255));
        }
    }

    #[test]
    fn otsu_parts_where_no_other_threshold_parts_better(counts in prop::collection::vec(0..9_u64, 8..=8)) {
        // The variance within both classes, which is least where that between them is greatest.
        let within = |t: usize| {
            let part = |values: std::ops::Range<usize>| {
                let n: u64 = counts[values.clone()].iter().sum();
                let mean = values.clone().map(|v| v as f64 * counts[v] as f64).sum::<f64>() / n.max(1) as f64;
                values.map(|v| counts[v] as f64 * (v as f64 - mean).powi(2)).sum::<f64>()
            };
            part(0..t + 1) + part(t + 1..8)
        };
        let least = (0..8).map(within).fold(f64::INFINITY, f64::min);
        prop_assert!(within(otsu(&counts)) <= least + 1e-9);
    }
}

#[test]
fn two_heaps_are_parted_between_them() {
    let mut counts = [0; 256];
    counts[40..60].fill(100);
    counts[180..200].fill(80);
    assert_eq!(otsu(&counts), 59);
    assert_eq!(otsu(&[0; 256]), 0);
    assert_eq!(otsu(&[5]), 0);
}

#[test]
fn equalising_levels_a_slope_and_keeps_a_constant_image() {
    let mut table = [0_u8; 256];
    let mut counts = [0; 256];
    counts[10..=13].copy_from_slice(&[1, 1, 1, 1]);
    equalisation(&counts, &mut table);
    // 0, 1/3, 2/3 and all of 255.
    assert_eq!(table[10..=13], [0, 85, 170, 255]);
    let mut counts = [0; 256];
    counts[77] = 1_000;
    equalisation(&counts, &mut table);
    assert!(
        table
            .iter()
            .enumerate()
            .all(|(v, entry)| v == usize::from(*entry))
    );
}
