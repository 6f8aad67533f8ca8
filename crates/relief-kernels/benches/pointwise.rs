//! Tables, thresholds, folds, tests for uniformity and generators on one tile, beside memset and memcpy of its bytes:
//! `cargo bench -p relief-kernels --no-default-features --bench pointwise`.

#![allow(clippy::expect_used, reason = "a benchmark fails by a panic")]

mod memory;

use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use relief_kernels::fold::Fold;
use relief_kernels::generate::cpu::Axis;
use relief_kernels::{fold, generate, gradient, table, uniform};
use relief_raster::{Sample, View, ViewMut};

fn main() {
    divan::main();
}

/// 256 Ki samples: in the second cache.
const SIDE: usize = 512;

/// Runs a kernel that reads one raster and writes another, after a check of one pass.
fn run<S: Sample>(
    bencher: Bencher<'_, '_>,
    kernel: impl Fn(View<'_, S>, ViewMut<'_, S>) + Sync,
    meaning: impl Fn(S, S) -> S,
) {
    let source = memory::noise::<S>(SIDE, SIDE);
    let source = View::packed(&source, SIDE, SIDE);
    let mut out: Vec<S> = (0..SIDE * SIDE)
        .map(|at| S::from_u16((at % 199) as u16))
        .collect();
    let before = out.clone();
    kernel(source, ViewMut::packed(&mut out, SIDE, SIDE));
    for at in 0..SIDE * SIDE {
        assert_eq!(out[at], meaning(before[at], source.row(at / SIDE)[at % SIDE]));
    }
    let (items, bytes) = (
        ItemsCount::new(SIDE * SIDE),
        BytesCount::new(SIDE * SIDE * size_of::<S>()),
    );
    bencher.counter(items).counter(bytes).bench(|| {
        memory::with_samples(SIDE * SIDE, |out: &mut [S]| {
            kernel(black_box(source), ViewMut::packed(black_box(out), SIDE, SIDE));
        });
    });
}

#[divan::bench(types = [u8, u16], threads = [1, 2])]
fn memset<S: Sample>(bencher: Bencher<'_, '_>) {
    run::<S>(bencher, |_, mut out| out.fill(S::MAX), |_, _| S::MAX);
}

#[divan::bench(types = [u8, u16], threads = [1, 2])]
fn memcpy<S: Sample>(bencher: Bencher<'_, '_>) {
    run::<S>(bencher, |source, mut out| out.copy_from(source), |_, v| v);
}

#[divan::bench(types = [u8, u16], threads = [1, 2])]
fn map<S: Sample>(bencher: Bencher<'_, '_>) {
    let table: Vec<S> = (0..=S::MAX.to_u16()).rev().map(S::from_u16).collect();
    let entry = |v: S| table[usize::from(v.to_u16())];
    run::<S>(
        bencher,
        |source, out| table::cpu::map(&table, source, out),
        |_, v| entry(v),
    );
}

#[divan::bench(types = [u8, u16])]
fn apply<S: Sample>(bencher: Bencher<'_, '_>) {
    let table: Vec<S> = (0..=S::MAX.to_u16()).rev().map(S::from_u16).collect();
    let entry = |v: S| table[usize::from(v.to_u16())];
    run::<S>(
        bencher,
        |_, out| table::cpu::apply(&table, out),
        |before, _| entry(before),
    );
}

#[divan::bench(types = [u8, u16])]
fn threshold<S: Sample>(bencher: Bencher<'_, '_>) {
    let level = S::from_u16(100);
    let kernel = |_: View<'_, S>, out: ViewMut<'_, S>| table::cpu::threshold(level, out);
    run::<S>(
        bencher,
        kernel,
        |before, _| if before < level { S::ZERO } else { S::MAX },
    );
}

#[divan::bench(args = Fold::ALL, types = [u8, u16])]
fn folds<S: Sample>(bencher: Bencher<'_, '_>, op: Fold) {
    run::<S>(
        bencher,
        |source, out| fold::cpu::fold(op, out, source),
        |acc, v| op.apply(acc, v),
    );
}

#[divan::bench(types = [u8, u16])]
fn multiply_uniform<S: Sample>(bencher: Bencher<'_, '_>) {
    let v = S::from_u16(77);
    let kernel = |_: View<'_, S>, out: ViewMut<'_, S>| fold::cpu::fold_uniform(Fold::Multiply, out, v);
    run::<S>(bencher, kernel, |acc, _| Fold::Multiply.apply(acc, v));
}

#[divan::bench(types = [u8, u16])]
fn uniform_raster<S: Sample>(bencher: Bencher<'_, '_>) {
    let raster = Box::new([S::MAX; SIDE * SIDE]);
    let bytes = BytesCount::new(SIDE * SIDE * size_of::<S>());
    bencher
        .counter(bytes)
        .bench(|| uniform::cpu::value(View::packed(black_box(&raster[..]), SIDE, SIDE)));
}

/// Linear across both axes, radial and conical gradients of three stops.
#[divan::bench(types = [u8, u16], args = ["linear", "radial", "conical"])]
fn gradients<S: Sample>(bencher: Bencher<'_, '_>, kind: &str) {
    let centre = (40_000, 60_000);
    let kind = match kind {
        "linear" => gradient::Kind::Linear {
            from: (7, 100),
            to: (120_003, 90_001),
        },
        "radial" => gradient::Kind::Radial {
            centre,
            inner: 1_000,
            radius: 100_000,
        },
        _ => gradient::Kind::Conical { centre, start: 7 },
    };
    let stop = |at, value: S| gradient::Stop {
        at,
        value: value.to_u16(),
    };
    let stops = [
        stop(0, S::ZERO),
        stop(gradient::ONE / 3, S::MAX),
        stop(gradient::ONE, S::from_u16(9)),
    ];
    let gradient = gradient::Gradient::new(kind, gradient::Spread::Pad, &stops).expect("it has a length");
    let items = ItemsCount::new(SIDE * SIDE);
    bencher.counter(items).bench(|| {
        memory::with_samples(SIDE * SIDE, |out: &mut [S]| {
            gradient::cpu::gradient(
                black_box(&gradient),
                (3, 5),
                ViewMut::packed(black_box(out), SIDE, SIDE),
            );
        });
    });
}

#[divan::bench(types = [u8, u16])]
fn noise<S: Sample>(bencher: Bencher<'_, '_>) {
    run::<S>(bencher, |_, out| generate::cpu::noise(1, 0, 0, out), |_, v| v);
}

#[divan::bench(types = [u8, u16])]
fn ramp<S: Sample>(bencher: Bencher<'_, '_>) {
    let kernel = |_: View<'_, S>, out: ViewMut<'_, S>| {
        generate::cpu::ramp(Axis::X, S::ZERO, S::ZERO, 1 << 40, 1 << 39, out);
    };
    run::<S>(bencher, kernel, |_, _| S::ZERO);
}

#[divan::bench(types = [u8, u16])]
fn disc<S: Sample>(bencher: Bencher<'_, '_>) {
    let kernel =
        |_: View<'_, S>, out: ViewMut<'_, S>| generate::cpu::disc(4 * SIDE as u64, S::MAX, 768, 768, out);
    run::<S>(bencher, kernel, |_, _| S::MAX);
}
