//! Whole jobs, design to the last band, thrown away: `cargo bench -p relief-engine --no-default-features --bench jobs`.
//!
//! Beside ceilings and rivals, alternating in one run, they are measured by `bench/performance/run`.

mod cases;

use divan::Bencher;
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

const NAMES: [&str; 10] = [
    "repeat",
    "repeat-wide",
    "compose",
    "compose-direct",
    "compose-coprime",
    "lattice",
    "lattice-direct",
    "lenses",
    "distance-15-1%",
    "distance-100-1%",
];

fn job(bencher: Bencher<'_, '_>, name: &str, threads: usize) {
    let all = cases::all();
    let Some(case) = all.iter().find(|case| case.name == name) else {
        return;
    };
    let renderer = cases::renderer(case, threads);
    bencher
        .counter(ItemsCount::new(cases::run(&renderer)))
        .bench_local(|| cases::run(&renderer));
}

#[divan::bench(args = NAMES, sample_count = 5, sample_size = 1)]
fn one_thread(bencher: Bencher<'_, '_>, name: &str) {
    job(bencher, name, 1);
}

#[divan::bench(args = NAMES, sample_count = 5, sample_size = 1)]
fn two_threads(bencher: Bencher<'_, '_>, name: &str) {
    job(bencher, name, 2);
}
