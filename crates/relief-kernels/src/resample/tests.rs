use proptest::prelude::*;
use relief_raster::{Sample, View, ViewMut};

use super::{Axis, PHASES, TOTAL, cpu};
use crate::block::testing::noise;
use crate::isa::Isa;

/// Between two samples, by their distances.
fn linear(source: u64, target: u64) -> Axis {
    let weights = (0..PHASES as i32).flat_map(|phase| [TOTAL - 256 * phase, 256 * phase]);
    Axis::new(source, target, 0, weights.collect()).unwrap()
}

/// Four of them, two below 0.
fn sharp(source: u64, target: u64) -> Axis {
    let weights = (0..PHASES as i32).flat_map(|phase| [-9_000 - phase, TOTAL + 2_000 + phase, 9_000, -2_000]);
    Axis::new(source, target, -1, weights.collect()).unwrap()
}

/// The sample of the result, with the nearest sample beyond the border.
fn by_definition<S: Sample>(source: &[S], (across, down): (&Axis, &Axis), x: i128, y: i128) -> i64 {
    let place = |axis: &Axis, i: i128| {
        let (from, to) = (i128::from(axis.source), i128::from(axis.target));
        // ⌊256·p + ½⌋ of p = ((2i + 1)·w/w′ − 1)/2.
        let place = (256 * ((2 * i + 1) * from - to) + to).div_euclid(2 * to);
        (place.div_euclid(256), place.rem_euclid(256) as usize)
    };
    let ((column, right), (row, below)) = (place(across, x), place(down, y));
    let mut sum = 0;
    for (j, weight) in down.weights(below).iter().enumerate() {
        for (i, factor) in across.weights(right).iter().enumerate() {
            let at = |place: i128, i: usize, axis: &Axis| {
                (place + i128::from(axis.first) + i as i128).clamp(0, i128::from(axis.source) - 1) as usize
            };
            let sample = source[at(row, j, down) * across.source as usize + at(column, i, across)];
            sum += i128::from(*weight) * i128::from(*factor) * i128::from(sample.to_u16());
        }
    }
    (sum + (1 << 31))
        .div_euclid(1 << 32)
        .clamp(0, i128::from(S::MAX.to_u16())) as i64
}

fn check<S: Sample>(
    seed: u64,
    across: &Axis,
    down: &Axis,
    (x, y): (i64, i64),
    (width, height): (usize, usize),
) {
    let (columns, rows) = (across.source as usize, down.source as usize);
    let source: Vec<S> = noise(columns * rows, seed, 65_536);
    let (read_x, read_y) = (
        across.reads(x..x + width as i64),
        down.reads(y..y + height as i64),
    );
    let inside = |at: i64, count: usize| at.clamp(0, count as i64 - 1) as usize;
    let block: Vec<S> = read_y
        .clone()
        .flat_map(|row| read_x.clone().map(move |column| (column, row)))
        .map(|(column, row)| source[inside(row, rows) * columns + inside(column, columns)])
        .collect();
    let (block_width, block_height) = (read_x.count(), read_y.count());
    assert!(
        block_width as u64 <= across.span(width as u64) && block_height as u64 <= down.span(height as u64)
    );
    let expected: Vec<i64> = (0..width * height)
        .map(|i| {
            let (x, y) = (
                i128::from(x) + (i % width) as i128,
                i128::from(y) + (i / width) as i128,
            );
            by_definition(&source, (across, down), x, y)
        })
        .collect();
    Isa::each(|| {
        let mut out = vec![S::from_u16(7); width * height];
        let mut scratch = vec![u64::MAX; cpu::scratch_words(block_width as u64, width as u64) as usize];
        cpu::resample(
            View::packed(&block, block_width, block_height),
            (across, down),
            (x, y),
            ViewMut::packed(&mut out, width, height),
            &mut scratch,
        );
        let found: Vec<i64> = out.iter().map(|sample| i64::from(sample.to_u16())).collect();
        assert!(
            found == expected,
            "{across:?} {down:?}: {found:?}, not {expected:?}"
        );
    });
}

#[test]
fn as_many_samples_as_before_are_the_same() {
    let axis = linear(17, 17);
    for i in 0..17 {
        assert_eq!(axis.place(i), (i, 0));
    }
}

#[test]
fn axes_that_are_none_are_refused() {
    let right = || linear(1, 1).weights;
    assert!(Axis::new(0, 1, 0, right()).is_none());
    assert!(Axis::new(1, 0, 0, right()).is_none());
    assert!(Axis::new(1, 1 << 41, 0, right()).is_none());
    assert!(Axis::new(1, 1, i64::MIN, right()).is_none());
    assert!(Axis::new(1, 1, 0, Vec::new()).is_none());
    assert!(Axis::new(1, 1, 0, vec![TOTAL; PHASES - 1]).is_none());
    assert!(Axis::new(1, 1, 0, vec![TOTAL - 1; PHASES]).is_none());
    assert!(Axis::new(1, 1, 0, [i32::MAX, TOTAL - i32::MAX].repeat(PHASES)).is_none());
}

#[test]
fn places_of_the_longest_axes_are_exact() {
    let (long, last) = (1_u64 << 40, (1_i64 << 40) - 1);
    assert_eq!(linear(long, long).place(last), (last, 0));
    assert_eq!(linear(1, long).place(last), (0, 128));
    assert_eq!(linear(1, long).place(0), (-1, 128));
    assert_eq!(linear(long, 1).place(0), (last / 2, 128));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_part_of_any_size_is_as_by_definition(
        (columns, rows) in (1_u64..30, 1_u64..30),
        (width, height) in (1_u64..60, 1_u64..60),
        part in prop::array::uniform4(any::<prop::sample::Index>()),
        seed in any::<u64>(),
    ) {
        let (x, y) = (part[0].index(width as usize), part[1].index(height as usize));
        let size = (1 + part[2].index(width as usize - x), 1 + part[3].index(height as usize - y));
        let at = (x as i64, y as i64);
        check::<u8>(seed, &linear(columns, width), &sharp(rows, height), at, size);
        check::<u16>(seed, &sharp(columns, width), &linear(rows, height), at, size);
    }
}
