//! Figures of a raster as it streams, against every sample of it.

use std::io;

use proptest::prelude::*;
use relief_engine::sink::{Band, Raster, Samples, Sink};
use relief_io::StatisticsSink;
use relief_raster::{Depth, Rect};

/// Streams rows of a raster, so many at a time, or parts of each of so many columns.
fn streamed(sink: &mut StatisticsSink, rows: &[Vec<u8>], high: usize, wide: Option<usize>) -> io::Result<()> {
    let width = rows[0].len();
    sink.begin(&Raster::new(width as u64, rows.len() as u64, Depth::Eight))?;
    match wide {
        None => {
            for (place, rows) in rows.chunks(high).enumerate() {
                let rect = Rect::sized(width as u64, rows.len() as u64).translated(0, (place * high) as i64);
                sink.write(&Band::new(rect, Samples::Eight(&rows.concat())))?;
            }
        }
        Some(wide) => {
            for (y, row) in rows.iter().enumerate() {
                for (place, part) in row.chunks(wide).enumerate() {
                    let rect = Rect::sized(part.len() as u64, 1).translated((place * wide) as i64, y as i64);
                    sink.write(&Band::new(rect, Samples::Eight(part)))?;
                }
            }
        }
    }
    sink.finish()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn samples_and_runs_are_counted(
        rows in (1..40_usize).prop_flat_map(|width| {
            let sample = prop_oneof![2 => Just(0_u8), 2 => Just(255), 1 => any::<u8>()];
            prop::collection::vec(prop::collection::vec(sample, width), 1..12)
        }),
        high in 1..6_usize,
        wide in proptest::option::of(1..20_usize),
    ) {
        let mut sink = StatisticsSink::new();
        streamed(&mut sink, &rows, high, wide).unwrap();
        for sample in 0..=255_u8 {
            let right = rows.iter().flatten().filter(|one| **one == sample).count() as u64;
            prop_assert_eq!(sink.counts()[usize::from(sample)], right);
        }
        let runs: Vec<usize> = rows
            .iter()
            .flat_map(|row| row.split(|sample| *sample == 0).map(<[u8]>::len))
            .filter(|length| *length > 0)
            .collect();
        prop_assert_eq!(sink.runs(), runs.len() as u128);
        prop_assert_eq!(sink.longest(), runs.into_iter().max().unwrap_or(0) as u64);
    }
}

#[test]
fn a_raster_that_breaks_off_is_no_raster() {
    let mut sink = StatisticsSink::new();
    sink.begin(&Raster::new(3, 2, Depth::Eight)).unwrap();
    sink.write(&Band::new(Rect::sized(3, 1), Samples::Eight(&[1, 2, 3])))
        .unwrap();
    assert!(sink.finish().is_err());
    assert!(
        sink.write(&Band::new(Rect::sized(3, 1), Samples::Eight(&[1, 2, 3])))
            .is_err()
    );
}
