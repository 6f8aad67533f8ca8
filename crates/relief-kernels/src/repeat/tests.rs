use proptest::prelude::*;
use relief_raster::{Period, Sample, View};

use super::cpu::{expand, expand_bands, expand_part};
use crate::canvas::Canvas;

/// The raster by its definition: the sample of the cell that lies at (x, y) after some number of steps.
fn raster_sample<S: Sample>(cell: &Canvas<S>, size: (usize, usize), period: Period, x: i128, y: i128) -> S {
    let (a, b, c) = (
        i128::from(period.a()),
        i128::from(period.b()),
        i128::from(period.c()),
    );
    let down = y.div_euclid(c);
    let (column, row) = ((x - b * down).rem_euclid(a), y - c * down);
    if column < size.0 as i128 && row < size.1 as i128 {
        cell.at(column as usize, row as usize)
    } else {
        S::ZERO
    }
}

fn expands<S: Sample>(cell_size: (usize, usize), period: Period, x: i64, y: i64, size: (usize, usize)) {
    let cell = Canvas::<S>::of(cell_size, |x, y| {
        S::from_u16((x * 7 + y * 31 + 1) as u16 % S::MAX.to_u16())
    });
    let sample = |i: usize, j: usize| {
        raster_sample(
            &cell,
            cell_size,
            period,
            i128::from(x) + i as i128,
            i128::from(y) + j as i128,
        )
    };
    let mut out = Canvas::<S>::poisoned(size);
    expand(cell.read(), period, x, y, out.view());
    out.assert_is(sample);
    // As a part of what is large it is stored by non-temporal stores, whatever its own size.
    let mut out = Canvas::<S>::poisoned(size);
    expand_part(cell.read(), period, x, y, out.view(), usize::MAX);
    out.assert_is(sample);
    for whole in [0, usize::MAX] {
        expands_bands(cell.read(), period, x, y, size, whole);
    }
}

/// A raster, a lower and an empty one of which each begins at (x, y).
fn expands_bands<S: Sample>(
    cell: View<'_, S>,
    period: Period,
    x: i64,
    y: i64,
    (width, height): (usize, usize),
    whole: usize,
) {
    let mut alone = Canvas::<S>::poisoned((width, height));
    expand_part(cell, period, x, y, alone.view(), whole);
    let sizes = [(width, height / 3), (width, height), (width, 0)];
    let [mut first, mut second, mut third] = sizes.map(Canvas::<S>::poisoned);
    let mut bands = [first.view(), second.view(), third.view()];
    expand_bands(cell, period, x, y, &mut bands, whole);
    for band in [first, second] {
        band.assert_is(|i, j| alone.at(i, j));
    }
}

fn coordinate() -> impl Strategy<Value = i64> {
    prop_oneof![
        -300_i64..300,
        -(1_i64 << 44)..1 << 44,
        Just(i64::MIN),
        Just(i64::MAX - 40_000)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_cell_is_repeated_along_its_period(
        u in (-40_i64..40, -9_i64..9), v in (-40_i64..40, -9_i64..9), cell_size in (0..60_usize, 0..60_usize),
        x in coordinate(), y in coordinate(),
        width in prop_oneof![0..300_usize, 4000..4200_usize, 8000..20_000_usize], height in 0..30_usize,
    ) {
        if let Some(period) = Period::spanned(u, v) {
            expands::<u8>(cell_size, period, x, y, (width, height.min(200_000 / (width + 1))));
            expands::<u16>(cell_size, period, x, y, (width / 2, height.min(100_000 / (width + 1))));
        }
    }

    #[test]
    fn a_period_larger_than_memory_leaves_zeros(
        a in 1_u64 << 33..=1 << 62, c in 1_u64 << 33..=1 << 62, x in -20_i64..20, y in -20_i64..20,
        cell_size in (0..20_usize, 0..20_usize),
    ) {
        expands::<u8>(cell_size, Period::grid(a, c).unwrap(), x, y, (50, 50));
    }
}

#[test]
fn a_cell_of_one_sample_fills() {
    expands::<u16>((1, 1), Period::ONE, -5, 9, (10_000, 3));
}

#[test]
fn large_rasters_that_are_stored_past_the_caches_are_the_same() {
    for (u, v, cell) in [
        ((100, 0), (0, 100), (100, 100)),
        ((7, 0), (3, 5), (7, 5)),
        ((90, 20), (-15, 85), (3_000, 5)),
        ((5_003, 0), (0, 3), (4_000, 3)),
        ((20_011, 0), (17, 3), (20_011, 3)),
    ] {
        let period = Period::spanned(u, v).unwrap();
        crate::isa::Isa::each(|| {
            expands::<u8>(cell, period, -12_345, 77, (9_001, 470));
            expands::<u16>(cell, period, 12_345, -7, (9_001, 235));
        });
    }
}
