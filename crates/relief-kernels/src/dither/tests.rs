use relief_raster::Sample;

use super::cpu;
use crate::block::testing::noise;
use crate::isa::Isa;

fn check<S: Sample>(count: usize, spot: u64, start: u64) {
    let levels: Vec<S> = noise(count, 3, 65_536);
    for len in [0, 1, 7, 100] {
        let samples: Vec<S> = noise(len, 4, 65_536);
        let expected: Vec<S> = samples
            .iter()
            .enumerate()
            .map(|(i, sample)| {
                let level = levels[((start + i as u64) / spot % count as u64) as usize];
                if *sample >= level { S::MAX } else { S::ZERO }
            })
            .collect();
        Isa::each(|| {
            let mut found = samples.clone();
            cpu::row(&mut found, &levels, spot, start);
            assert!(found == expected, "{count} levels, spots of {spot}, from {start}");
        });
    }
}

#[test]
fn any_part_of_a_row_has_the_levels_of_its_places() {
    for count in [1, 2, 8, 64] {
        for spot in [1, 2, 5, 300] {
            for start in [0, 1, 63, 1_000_003] {
                check::<u8>(count, spot, start);
                check::<u16>(count, spot, start);
            }
        }
    }
}
