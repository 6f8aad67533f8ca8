//! How long a design takes to be read: `cargo bench -p relief-design`.

#![allow(clippy::unwrap_used, reason = "a benchmark fails by a panic")]

use std::hint::black_box;

use relief_design::{format, parse};

fn main() {
    divan::main();
}

fn images(_: &str) -> Result<(u64, u64), String> {
    Ok((100, 100))
}

/// A design of about so many nodes of many kinds.
fn design(nodes: usize) -> String {
    let group = "    (add)distance radius=40 x=\"1.5mm\" y=-20 {\n        (mask)image \"logo.png\" x=\"2mm\" y=\"1mm\"\n        \
                 profile \"255 * (1 - (d / 40) ^ 2)\" beyond=0\n    }\n    (max)repeat step-x=150 {\n        \
                 (pattern)disc diameter=\"0.4mm\" value=200\n    }\n";
    format!(
        "relief version=1\ncanvas width=\"20mm\" height=\"12mm\" pixel=\"10um\"\ncompose {{\n{}}}\n",
        group.repeat(nodes / 4)
    )
}

#[divan::bench(args = [100, 1_000, 10_000])]
fn check_nodes(bencher: divan::Bencher<'_, '_>, nodes: usize) {
    let text = design(nodes);
    bencher.bench(|| parse("bench.kdl", black_box(&text), &images).unwrap());
}

#[divan::bench(args = [1_000])]
fn lay_out_nodes(bencher: divan::Bencher<'_, '_>, nodes: usize) {
    let text = design(nodes);
    bencher.bench(|| format("bench.kdl", black_box(&text)).unwrap());
}

#[divan::bench(args = [100, 1_000, 4_096], sample_count = 5)]
fn tabulate_profile(bencher: divan::Bencher<'_, '_>, radius: u32) {
    let text = format!(
        "relief version=1\ncanvas width=9 height=9\ndistance radius={radius} {{\n(mask)image \"a\"\nprofile \"255 * (1 - (d / 40) ^ 2) * exp(-d / 9)\"\n}}"
    );
    bencher.bench(|| parse("bench.kdl", black_box(&text), &images).unwrap());
}

#[divan::bench(args = [4_096], sample_count = 5)]
fn tabulate_points(bencher: divan::Bencher<'_, '_>, radius: u32) {
    let text = format!(
        "relief version=1\ncanvas width=9 height=9\ndistance radius={radius} {{\n(mask)image \"a\"\nprofile {{ point 0 255; point 99 3; point 4000 200 }}\n}}"
    );
    bencher.bench(|| parse("bench.kdl", black_box(&text), &images).unwrap());
}
