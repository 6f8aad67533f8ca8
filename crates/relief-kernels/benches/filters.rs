//! Filters of one tile by radius: `cargo bench -p relief-kernels --no-default-features --bench filters`.

#![allow(clippy::expect_used, reason = "a benchmark fails by a panic")]

mod memory;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use relief_kernels::extremes::{self, Extreme, Shape};
use relief_kernels::gauss::{self, Bell};
use relief_kernels::sobel::Component;
use relief_kernels::window::{self, Law};
use relief_kernels::{bilateral, convolution, sobel};
use relief_raster::{Sample, View, ViewMut};

fn main() {
    divan::main();
}

/// 64 Ki samples: a tile.
const SIDE: usize = 256;

/// Filters a block of noise with this margin.
fn tile<S: Sample>(
    bencher: Bencher<'_, '_>,
    reach: usize,
    filter: impl Fn(View<'_, S>, ViewMut<'_, S>) + Sync,
) {
    let around = SIDE + 2 * reach;
    let source = memory::noise::<S>(around, around);
    let source = View::packed(&source, around, around);
    bencher.counter(ItemsCount::new(SIDE * SIDE)).bench(|| {
        memory::with_samples(SIDE * SIDE, |out: &mut [S]| {
            filter(black_box(source), ViewMut::packed(black_box(out), SIDE, SIDE));
        });
    });
}

#[divan::bench(types = [u8, u16], args = [1, 5, 63, 256])]
fn mean<S: Sample>(bencher: Bencher<'_, '_>, radius: usize) {
    tile::<S>(bencher, radius, |source, out| {
        let mut scratch = vec![0; window::cpu::scratch_words(radius)];
        window::cpu::mean(source, radius, out, &mut scratch);
    });
}

#[divan::bench(types = [u8, u16], args = [8, 64])]
fn sauvola<S: Sample>(bencher: Bencher<'_, '_>, radius: usize) {
    tile::<S>(bencher, radius, |source, out| {
        let mut scratch = vec![0; window::cpu::scratch_words(radius)];
        window::cpu::threshold(source, radius, Law::Sauvola { k: 0.2 }, out, &mut scratch);
    });
}

fn erosion<S: Sample>(bencher: Bencher<'_, '_>, shape: Shape, radius: usize) {
    tile::<S>(bencher, radius, |source, out| {
        let words = extremes::cpu::scratch_words(shape, radius, SIDE, S::DEPTH.bytes() as usize);
        let (mut scratch, side) = (vec![0; words], SIDE + 2 * radius);
        // The block is lost: a copy, as the engine reads one.
        let mut block = source.rows().flatten().copied().collect::<Vec<S>>();
        let block = ViewMut::packed(&mut block, side, side);
        extremes::cpu::filter(block, Extreme::Least, shape, radius, out, &mut scratch);
    });
}

#[divan::bench(types = [u8, u16], args = [1, 7, 64])]
fn erosion_by_squares<S: Sample>(bencher: Bencher<'_, '_>, radius: usize) {
    erosion::<S>(bencher, Shape::Square, radius);
}

#[divan::bench(types = [u8, u16], args = [1, 7, 64])]
fn erosion_by_discs<S: Sample>(bencher: Bencher<'_, '_>, radius: usize) {
    erosion::<S>(bencher, Shape::Disc, radius);
}

#[divan::bench(types = [u8, u16])]
fn slopes<S: Sample>(bencher: Bencher<'_, '_>) {
    tile::<S>(bencher, 1, |source, out| {
        sobel::cpu::filter(source, Component::Magnitude, out)
    });
}

#[divan::bench(types = [u8, u16], args = [3, 15])]
fn convolutions<S: Sample>(bencher: Bencher<'_, '_>, side: usize) {
    let mask = convolution::Mask::new(&vec![1; side * side], side, 9, 0).expect("a mask of odd sides");
    tile::<S>(bencher, side / 2, |source, out| {
        convolution::cpu::filter(source, &mask, out)
    });
}

#[divan::bench(types = [u8, u16], args = [2, 8])]
fn bilaterals<S: Sample>(bencher: Bencher<'_, '_>, radius: usize) {
    let side = 2 * radius + 1;
    let range: Vec<u16> = (0..100).map(|apart| bilateral::ONE - 40 * apart).collect();
    let weights =
        bilateral::Weights::new(radius, &vec![bilateral::ONE; side * side], &range).expect("weights");
    tile::<S>(bencher, radius, |source, out| {
        let mut scratch = vec![0; bilateral::cpu::scratch_words(S::DEPTH)];
        bilateral::cpu::filter(source, &weights, out, &mut scratch)
    });
}

#[divan::bench(types = [u8, u16], args = [4, 8, 32])]
fn bell<S: Sample>(bencher: Bencher<'_, '_>, reach: u32) {
    // Of any form: sums count, not what they are of.
    let sides = 32_768 / (2 * reach + 1);
    let mut half = vec![sides; reach as usize + 1];
    half[0] = 65_536 - 2 * reach * sides;
    let bell = Bell::new(&half).expect("weights that sum to 2^16");
    tile::<S>(bencher, bell.radius(), |source, out| {
        let mut scratch = vec![0; gauss::cpu::scratch_words(&bell)];
        gauss::cpu::filter(source, &bell, out, &mut scratch);
    });
}
