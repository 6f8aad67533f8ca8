//! Distances with their profile, mask to samples, tile by tile:
//! `cargo bench -p relief-kernels --no-default-features --bench distance`.

mod memory;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use relief_kernels::distance::cpu::{bounded, scratch_words};
use relief_raster::{View, ViewMut};

fn main() {
    divan::main();
}

/// Masks of the rivals' benchmarks.
const MASKS: [&str; 6] = ["1 %", "0.01 %", "50 %", "lines", "empty", "full"];

/// Radius, and the tile: larger for larger radii, as a planner would.
const CASES: [(u32, usize, usize); 4] = [
    (15, 512, 512),
    (100, 1024, 512),
    (1000, 4096, 1024),
    (4096, 8192, 2048),
];

fn mask(kind: &str, width: usize, height: usize) -> Vec<u8> {
    let noise = memory::noise::<u16>(width, height);
    let white = |at: usize| match kind {
        "1 %" => noise[at] < 655,
        "0.01 %" => noise[at] < 7,
        "50 %" => noise[at] < 32_768,
        // Rows and columns 40 pixels apart.
        "lines" => (at % width).is_multiple_of(40) || (at / width).is_multiple_of(40),
        "empty" => false,
        _ => true,
    };
    (0..width * height)
        .map(|at| if white(at) { 255 } else { 0 })
        .collect()
}

fn transform(bencher: Bencher<'_, '_>, kind: &str, (radius, width, height): (u32, usize, usize)) {
    let r = radius as usize;
    let (columns, rows) = (width + 2 * r, height + 2 * r);
    let samples = mask(kind, columns, rows);
    let mask = View::packed(&samples, columns, rows);
    let profile: Vec<u8> = (0..=r * r).map(|a| 255 - (a as f64).sqrt() as u8).collect();
    let words = scratch_words(width, height, radius);
    let run = |memory: &mut [u64]| {
        let (scratch, out) = memory.split_at_mut(words);
        let out = &mut bytemuck::cast_slice_mut(out)[..width * height];
        bounded(
            mask,
            radius,
            &profile,
            0,
            ViewMut::packed(out, width, height),
            scratch,
        );
    };
    let len = words + width * height / 8 + 1;
    memory::with_samples(len * 4, |memory: &mut [u16]| {
        let memory = bytemuck::cast_slice_mut(memory);
        run(memory);
        let out: &[u8] = bytemuck::cast_slice(&memory[words..]);
        for at in (0..width * height).step_by(width * height / 5 + 1) {
            let (x, y) = ((at % width + r) as i64, (at / width + r) as i64);
            let white = (0..columns * rows).filter(|at| samples[*at] != 0);
            let squared = |at: usize| ((at % columns) as i64 - x).pow(2) + ((at / columns) as i64 - y).pow(2);
            let least = white
                .map(squared)
                .min()
                .filter(|a| *a <= i64::from(radius).pow(2));
            assert_eq!(out[at], least.map_or(0, |a| profile[a as usize]));
        }
    });
    bencher.counter(ItemsCount::new(width * height)).bench(|| {
        memory::with_samples(len * 4, |memory: &mut [u16]| {
            run(black_box(bytemuck::cast_slice_mut(memory)))
        });
    });
}

#[divan::bench(args = MASKS, threads = [1, 2])]
fn radius_15(bencher: Bencher<'_, '_>, kind: &str) {
    transform(bencher, kind, CASES[0]);
}

#[divan::bench(args = MASKS, threads = [1, 2])]
fn radius_100(bencher: Bencher<'_, '_>, kind: &str) {
    transform(bencher, kind, CASES[1]);
}

#[divan::bench(args = MASKS, threads = [1, 2], sample_count = 5)]
fn radius_1000(bencher: Bencher<'_, '_>, kind: &str) {
    transform(bencher, kind, CASES[2]);
}

#[divan::bench(args = MASKS, threads = [1, 2], sample_count = 3)]
fn radius_4096(bencher: Bencher<'_, '_>, kind: &str) {
    transform(bencher, kind, CASES[3]);
}
