use proptest::prelude::*;
use relief_raster::{Rect, Sample, View, ViewMut};

use super::{Line, cpu};
use crate::block::testing::noise;
use crate::isa::Isa;
use crate::resample::{Axis, PHASES, TOTAL};

/// Between two samples, by their distances.
fn linear() -> Axis {
    let weights = (0..PHASES as i32).flat_map(|phase| [TOTAL - 256 * phase, 256 * phase]);
    Axis::new(1, 1, 0, weights.collect()).unwrap()
}

/// So many weights, some below 0.
fn sharp(count: i32) -> Axis {
    let weights = (0..PHASES as i32).flat_map(|phase| {
        let rest = TOTAL - (count - 1) * (500 - 3 * phase);
        (0..count).map(move |i| if i == count / 2 { rest } else { 500 - 3 * phase })
    });
    Axis::new(1, 1, i64::from(1 - count / 2), weights.collect()).unwrap()
}

fn check<S: Sample>(lines: (&Line, &Line), taps: &Axis, rect: Rect, source: (i64, i64)) {
    let samples: Vec<S> = noise((source.0 * source.1) as usize, 5, 65_536);
    let reads = (lines.0.reads(rect, taps), lines.1.reads(rect, taps));
    let (width, height) = (rect.width(), rect.height());
    assert!(reads.0.clone().count() as u64 <= lines.0.span(width, height, taps));
    assert!(reads.1.clone().count() as u64 <= lines.1.span(width, height, taps));
    let inside = |range: std::ops::Range<i64>, side: i64| -> Vec<u32> {
        range.map(|at| at.clamp(0, side - 1) as u32).collect()
    };
    let (columns, rows) = (
        inside(reads.0.clone(), source.0),
        inside(reads.1.clone(), source.1),
    );
    let block = cpu::Block {
        samples: View::packed(&samples, source.0 as usize, source.1 as usize),
        at: (reads.0.start, reads.1.start),
        columns: &columns,
        rows: &rows,
    };
    let expected: Vec<u16> = (rect.y()..rect.bottom())
        .flat_map(|y| (rect.x()..rect.right()).map(move |x| (x, y)))
        .map(|(x, y)| {
            // ⌊256·p + ½⌋ of the place p.
            let place = |line: &Line| {
                let place = line.right as i128 * x as i128 + line.down as i128 * y as i128 + line.origin;
                let phases = (512 * place + (1 << 41)).div_euclid(1 << 42);
                (phases.div_euclid(256) as i64, phases.rem_euclid(256) as usize)
            };
            let ((column, right), (row, below)) = (place(lines.0), place(lines.1));
            let mut sum = 0_i128;
            for (j, weight) in taps.weights(below).iter().enumerate() {
                for (i, factor) in taps.weights(right).iter().enumerate() {
                    let x = (column + taps.first() + i as i64).clamp(0, source.0 - 1);
                    let y = (row + taps.first() + j as i64).clamp(0, source.1 - 1);
                    let sample = samples[(y * source.0 + x) as usize].to_u16();
                    sum += i128::from(*weight) * i128::from(*factor) * i128::from(sample);
                }
            }
            (sum + (1 << 31))
                .div_euclid(1 << 32)
                .clamp(0, S::MAX.to_u16().into()) as u16
        })
        .collect();
    Isa::each(|| {
        let mut out = vec![S::from_u16(7); (width * height) as usize];
        let view = ViewMut::packed(&mut out, width as usize, height as usize);
        cpu::transform(block, lines, taps, (rect.x(), rect.y()), view);
        let found: Vec<u16> = out.iter().map(|sample| sample.to_u16()).collect();
        assert_eq!(found, expected, "{lines:?}");
    });
}

#[test]
fn lines_out_of_range_are_refused() {
    assert!(Line::new(65 << 41, 0, 0).is_none());
    assert!(Line::new(0, -65 << 41, 0).is_none());
    assert!(Line::new(i64::MIN, 0, 0).is_none());
    assert!(Line::new(0, 0, i128::MIN).is_none());
    assert!(Line::new(-64 << 41, 64 << 41, 1 << 81).is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_rectangle_of_any_map_is_as_by_definition(
        steps in prop::array::uniform4(-3_i64 << 41..3 << 41),
        origin in prop::array::uniform2(-40_i128 << 41..40 << 41),
        at in prop::array::uniform2(-30_i64..30),
        size in prop::array::uniform2(1_i64..17),
        source in (1_i64..30, 1_i64..30),
    ) {
        let across = Line::new(steps[0], steps[1], origin[0]).unwrap();
        let down = Line::new(steps[2], steps[3], origin[1]).unwrap();
        let rect = Rect::between(at[0], at[1], at[0] + size[0], at[1] + size[1]);
        check::<u8>((&across, &down), &linear(), rect, source);
        check::<u16>((&across, &down), &sharp(4), rect, source);
        check::<u8>((&across, &down), &sharp(6), rect, source);
        check::<u16>((&across, &down), &sharp(5), rect, source);
    }
}
