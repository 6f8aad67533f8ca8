//! Lattices blended copy by copy, and one cell of a lattice:
//! `cargo bench -p relief-kernels --no-default-features --bench lattice`.

mod memory;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use relief_kernels::lattice::cpu::{Accumulator, cell, scratch_words};
use relief_kernels::lattice::{Blend, copies, overlap};
use relief_raster::{Period, Rect, Sample, View, ViewMut};

fn main() {
    divan::main();
}

const BLENDS: [Blend; 5] = [Blend::Mean, Blend::Max, Blend::Min, Blend::Sum, Blend::Last];
const TILE: usize = 512;
const SIDE: usize = 100;
/// 1.26 copies of the pattern over a pixel.
const VECTORS: [(i64, i64); 2] = [(90, 20), (-15, 85)];
/// 12.6 copies of the pattern over a pixel.
const DENSE: [(i64, i64); 2] = [(30, 5), (-5, 25)];

fn direct<S: Sample>(bencher: Bencher<'_, '_>, blend: Blend, [u, v]: [(i64, i64); 2]) {
    let size = (SIDE as u64, SIDE as u64);
    let samples = memory::noise::<S>(SIDE, SIDE);
    let pattern = View::packed(&samples, SIDE, SIDE);
    let overlap = overlap(size, u, v);
    let words = scratch_words::<S>(blend, overlap, TILE, TILE);
    let run = |memory: &mut [u64]| {
        let (scratch, out) = memory.split_at_mut(words);
        let mut tile = Accumulator::new(blend, overlap, TILE, TILE, scratch);
        for copy in copies(Rect::sized(TILE as u64, TILE as u64), size, (3, 4), u, v) {
            tile.add(copy.x, copy.y, pattern);
        }
        tile.finish(ViewMut::packed(
            &mut bytemuck::cast_slice_mut(out)[..TILE * TILE],
            TILE,
            TILE,
        ));
    };
    check(blend, pattern, u, v, |out| {
        let mut memory = vec![0; words + TILE * TILE];
        run(&mut memory);
        out.copy_from_slice(&bytemuck::cast_slice(&memory[words..])[..TILE * TILE]);
    });
    bencher.counter(ItemsCount::new(TILE * TILE)).bench(|| {
        memory::with_samples((words + TILE * TILE) * 4, |memory: &mut [u16]| {
            run(black_box(bytemuck::cast_slice_mut(memory)));
        });
    });
}

/// A mean and a maximum are checked by looking at every copy over some pixels.
fn check<S: Sample>(
    blend: Blend,
    pattern: View<'_, S>,
    u: (i64, i64),
    v: (i64, i64),
    run: impl FnOnce(&mut [S]),
) {
    let mut out = vec![S::ZERO; TILE * TILE];
    run(&mut out);
    for at in (0..TILE * TILE).step_by(1009) {
        let (x, y) = ((at % TILE) as i64, (at / TILE) as i64);
        let mut over = Vec::new();
        for (i, j) in (-60..60).flat_map(|i| (-60..60).map(move |j| (i, j))) {
            let (px, py) = (x - 3 - i * u.0 - j * v.0, y - 4 - i * u.1 - j * v.1);
            if (0..SIDE as i64).contains(&px) && (0..SIDE as i64).contains(&py) {
                over.push(u64::from(pattern.row(py as usize)[px as usize].to_u16()));
            }
        }
        over.retain(|sample| *sample != 0);
        let (sum, n) = (over.iter().sum::<u64>(), over.len() as u64);
        let out = u64::from(out[at].to_u16());
        match blend {
            Blend::Mean if n > 0 => assert_eq!(out, (2 * sum + n) / (2 * n)),
            Blend::Max if n > 0 => assert_eq!(Some(&out), over.iter().max()),
            _ => {}
        }
    }
}

#[divan::bench(args = BLENDS, threads = [1, 2])]
fn direct_u8(bencher: Bencher<'_, '_>, blend: Blend) {
    direct::<u8>(bencher, blend, VECTORS);
}

#[divan::bench(args = BLENDS)]
fn direct_u16(bencher: Bencher<'_, '_>, blend: Blend) {
    direct::<u16>(bencher, blend, VECTORS);
}

#[divan::bench(args = [Blend::Mean])]
fn direct_u8_with_13_copies_over_a_pixel(bencher: Bencher<'_, '_>, blend: Blend) {
    direct::<u8>(bencher, blend, DENSE);
}

#[divan::bench(args = [Blend::Mean])]
fn direct_u16_with_13_copies_over_a_pixel(bencher: Bencher<'_, '_>, blend: Blend) {
    direct::<u16>(bencher, blend, DENSE);
}

/// Pixels of the pattern: each is folded once.
#[divan::bench(args = [Blend::Mean, Blend::Max])]
fn one_cell(bencher: Bencher<'_, '_>, blend: Blend) {
    let [u, v] = VECTORS;
    let period = Period::spanned(u, v).unwrap_or(Period::ONE);
    let (width, height) = (period.a() as usize, period.c() as usize);
    let samples = memory::noise::<u8>(SIDE, SIDE);
    let pattern = View::packed(&samples, SIDE, SIDE);
    let words = scratch_words::<u8>(blend, overlap((SIDE as u64, SIDE as u64), u, v), width, height);
    let mut scratch = vec![0; words];
    let mut out = vec![0; width * height];
    bencher.counter(ItemsCount::new(SIDE * SIDE)).bench_local(|| {
        cell(
            pattern,
            (3, 4),
            blend,
            u,
            v,
            ViewMut::packed(black_box(&mut out), width, height),
            &mut scratch,
        );
    });
}
