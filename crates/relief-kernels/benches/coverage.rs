//! Coverage of a page of shapes like letters, of a polygon of a million edges, of few large polygons, of an array of squares, and of slivers that overlap in thousands:
//! `cargo bench -p relief-kernels --no-default-features --bench coverage`.

use std::f64::consts::TAU;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use relief_kernels::coverage::{Builder, Error, Index, Lattice, Limits, Rule, Sampling, cpu};
use relief_raster::{Sample, ViewMut};

fn main() {
    divan::main();
}

/// The side of the drawings and of a tile, in pixels.
const SIDE: i64 = 20_000;
const TILE: usize = 512;

/// Rings of 28 edges, 80 px high, with stems at every second, 75 px apart in lines of 200 px: text of 10 pt at 1200 dpi.
fn page(builder: &mut Builder) -> Result<(), Error> {
    let ring = |x: i64, y: i64, radius: f64, turn: f64| -> Vec<(i64, i64)> {
        let at = |i: i32| {
            let angle = TAU * turn * f64::from(i) / 28.0;
            let (dx, dy) = (radius * 0.8 * angle.cos(), radius * angle.sin());
            (256 * x + (256.0 * dx) as i64, 256 * y + (256.0 * dy) as i64)
        };
        (0..28).map(at).collect()
    };
    let mut number = 0;
    for y in (SIDE / 10..SIDE * 9 / 10).step_by(200) {
        for x in (SIDE / 10..SIDE * 9 / 10).step_by(75) {
            number += 1;
            if number % 7 == 0 {
                continue;
            }
            builder.element(255, Rule::NonZero);
            builder.outline(&ring(x, y, 40.0, 1.0))?;
            builder.outline(&ring(x, y, 26.0, -1.0))?;
            if number % 2 == 0 {
                let (left, right) = (256 * (x - 32), 256 * (x - 20));
                let (top, bottom) = (256 * (y - 80), 256 * (y + 40));
                builder.outline(&[(left, top), (right, top), (right, bottom), (left, bottom)])?;
            }
        }
    }
    Ok(())
}

/// A star whose outline is ragged by 20 px.
fn polygon(builder: &mut Builder) -> Result<(), Error> {
    let mut state = 1_u64;
    let mut outline = Vec::new();
    for i in 0..1_000_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let ragged = (state >> 40) as f64 / f64::from(1 << 24) * 20.0;
        let angle = TAU * f64::from(i) / 1e6;
        let radius = 6_000.0 + 3_000.0 * (f64::from(i) * 0.000_7).sin() + ragged;
        let place = |v: f64| (256.0 * (10_000.0 + radius * v)) as i64;
        outline.push((place(angle.cos()), place(angle.sin())));
    }
    builder.element(255, Rule::NonZero);
    builder.outline(&outline)
}

/// 60 stars of 4 to 16 corners, a tenth to six tenths of the drawing wide, that overlap.
fn large(builder: &mut Builder) -> Result<(), Error> {
    let mut state = 11_u64;
    let mut random = |from: f64, to: f64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        from + (to - from) * ((state >> 40) as f64 / f64::from(1 << 24))
    };
    let side = SIDE as f64;
    for _ in 0..60 {
        let (x, y, turn) = (random(0.0, side), random(0.0, side), random(0.0, TAU));
        let corners = random(4.0, 17.0).floor();
        let star: Vec<(i64, i64)> = (0..corners as i32)
            .map(|k| {
                let (angle, radius) = (turn + TAU * f64::from(k) / corners, side * random(0.05, 0.3));
                let place = |v: f64| (256.0 * v) as i64;
                (place(x + radius * angle.cos()), place(y + radius * angle.sin()))
            })
            .collect();
        builder.element(255, Rule::NonZero);
        builder.outline(&star)?;
    }
    Ok(())
}

fn drawing(fill: impl Fn(&mut Builder) -> Result<(), Error>, lattice: Lattice) -> Option<Index> {
    let mut builder = Builder::new(1, Limits::default())?;
    let part = builder.part();
    fill(&mut builder).ok()?;
    builder.place(part, lattice).ok()?;
    builder.finish().ok()
}

/// All tiles of a drawing, one after the other.
fn tiles<S: Sample>(bencher: Bencher<'_, '_>, index: Option<Index>) {
    let Some(index) = index else { return };
    let count = SIDE as usize / TILE;
    bencher
        .counter(ItemsCount::new(count * count * TILE * TILE))
        .bench(|| {
            let mut scratch = vec![0; cpu::scratch_words::<S>(&index, Sampling::Area)];
            let mut samples = vec![S::ZERO; TILE * TILE];
            for tile in 0..count * count {
                let at = ((tile % count * TILE) as i64, (tile / count * TILE) as i64);
                let out = ViewMut::packed(&mut samples, TILE, TILE);
                black_box(cpu::compute(&index, Sampling::Area, at, out, &mut scratch));
            }
        });
}

#[divan::bench(types = [u8, u16], threads = [1, 2], sample_count = 5)]
fn page_of_text<S: Sample>(bencher: Bencher<'_, '_>) {
    tiles::<S>(bencher, drawing(page, Lattice::single((0, 0))));
}

#[divan::bench(types = [u8, u16], threads = [1, 2], sample_count = 5)]
fn polygon_of_a_million_edges<S: Sample>(bencher: Bencher<'_, '_>) {
    tiles::<S>(bencher, drawing(polygon, Lattice::single((0, 0))));
}

#[divan::bench(types = [u8, u16], threads = [1, 2], sample_count = 5)]
fn large_polygons<S: Sample>(bencher: Bencher<'_, '_>) {
    tiles::<S>(bencher, drawing(large, Lattice::single((0, 0))));
}

#[divan::bench(types = [u8, u16], threads = [1, 2], sample_count = 5)]
fn array_of_squares<S: Sample>(bencher: Bencher<'_, '_>) {
    let square = |builder: &mut Builder| {
        builder.element(255, Rule::NonZero);
        builder.outline(&[(30, 30), (2_600, 30), (2_600, 2_600), (30, 2_600)])
    };
    let lattice = Lattice {
        u: (5_120, 0),
        v: (0, 5_120),
        columns: 1_000,
        rows: 1_000,
        ..Lattice::single((0, 0))
    };
    tiles::<S>(bencher, drawing(square, lattice));
}

/// One small tile in which 124 000 slivers meet, many more than it has room for.
#[divan::bench(types = [u8, u16], sample_count = 3)]
fn overlapping_slivers<S: Sample>(bencher: Bencher<'_, '_>) {
    let sliver = |builder: &mut Builder| {
        builder.element(255, Rule::NonZero);
        builder.outline(&[(0, 0), (2, 0), (700, 768), (698, 768)])
    };
    let lattice = Lattice {
        u: (23, 3),
        v: (3, 15),
        columns: 400,
        rows: 310,
        ..Lattice::single((0, 0))
    };
    let Some(index) = drawing(sliver, lattice) else {
        return;
    };
    bencher.counter(ItemsCount::new(40_usize * 24)).bench(|| {
        let mut scratch = vec![0; cpu::scratch_words::<S>(&index, Sampling::Area)];
        let mut samples = vec![S::ZERO; 40 * 24];
        let out = ViewMut::packed(&mut samples, 40, 24);
        cpu::compute(&index, Sampling::Area, (0, 0), out, &mut scratch);
        samples
    });
}
