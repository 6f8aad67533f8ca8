//! `repeat` beside the same bytes written by memset:
//! `cargo bench -p relief-kernels --no-default-features --bench repeat`.

mod memory;

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use relief_kernels::repeat;
use relief_raster::{Period, View, ViewMut};

fn main() {
    divan::main();
}

/// A tile, a band of a wide raster, and a band of one that is wider still.
const SIZES: [(usize, usize); 3] = [(512, 512), (32_768, 128), (1_000_000, 32)];

#[divan::bench(args = SIZES, threads = [1, 2])]
fn memset(bencher: Bencher<'_, '_>, (width, height): (usize, usize)) {
    bencher.counter(BytesCount::new(width * height)).bench(|| {
        memory::with_samples(width * height, |band: &mut [u8]| {
            black_box(band).fill(black_box(7))
        });
    });
}

fn expand(bencher: Bencher<'_, '_>, cell: (usize, usize), period: Period, (width, height): (usize, usize)) {
    let samples = memory::noise::<u8>(cell.0, cell.1);
    let cell = View::packed(&samples, cell.0, cell.1);
    let run =
        |band: &mut [u8]| repeat::cpu::expand(cell, period, -3, 17, ViewMut::packed(band, width, height));
    memory::with_samples(width * height, |band| {
        run(band);
        let at = |x: usize, y: usize| {
            let (column, row) = period.reduce(x as i64 - 3, y as i64 + 17);
            cell.row(row as usize)[column as usize]
        };
        for i in (0..width * height).step_by(997) {
            assert_eq!(band[i], at(i % width, i / width));
        }
    });
    bencher.counter(BytesCount::new(width * height)).bench(|| {
        memory::with_samples(width * height, |band| run(black_box(band)));
    });
}

#[divan::bench(args = SIZES, threads = [1, 2])]
fn cell_of_100_by_100(bencher: Bencher<'_, '_>, size: (usize, usize)) {
    expand(
        bencher,
        (100, 100),
        Period::grid(100, 100).unwrap_or(Period::ONE),
        size,
    );
}

#[divan::bench(args = SIZES, threads = [1, 2])]
fn cell_of_7_by_5(bencher: Bencher<'_, '_>, size: (usize, usize)) {
    expand(bencher, (7, 5), Period::grid(7, 5).unwrap_or(Period::ONE), size);
}

/// u = (90, 20), v = (−15, 85): a cell of 1 590 × 5 samples.
#[divan::bench(args = SIZES, threads = [1, 2])]
fn cell_of_a_lattice(bencher: Bencher<'_, '_>, size: (usize, usize)) {
    expand(
        bencher,
        (1590, 5),
        Period::spanned((90, 20), (-15, 85)).unwrap_or(Period::ONE),
        size,
    );
}
