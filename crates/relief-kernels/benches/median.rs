//! Medians of one tile by radius: `cargo bench -p relief-kernels --no-default-features --bench median`.

#![allow(clippy::expect_used, reason = "a benchmark fails by a panic")]

mod memory;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use relief_kernels::median::{Rank, cpu};
use relief_raster::{Sample, View, ViewMut};

fn main() {
    divan::main();
}

/// 64 Ki samples: a tile.
const SIDE: usize = 256;

#[divan::bench(types = [u8, u16], args = [1, 2, 4, 8, 16])]
fn median<S: Sample>(bencher: Bencher<'_, '_>, radius: usize) {
    let around = SIDE + 2 * radius;
    let source = memory::noise::<S>(around, around);
    let source = View::packed(&source, around, around);
    let rank = Rank::new(radius, (2 * radius + 1).pow(2).div_ceil(2)).expect("a radius of at most 16");
    bencher.counter(ItemsCount::new(SIDE * SIDE)).bench(|| {
        memory::with_samples(SIDE * SIDE, |out: &mut [S]| {
            cpu::filter(
                black_box(source),
                rank,
                ViewMut::packed(black_box(out), SIDE, SIDE),
            );
        });
    });
}
