//! Measures bounded distances on a device: tiles of several shapes beside the three steps over rows, each result checked
//! against a search around thousands of pixels before it is timed.
//!
//! `gpu_distance_probe [--device cuda|vulkan:N] [--side PIXELS] [--quick] [JSON FILE]`
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr
)]

use std::time::Instant;

use relief_kernels::device::{Buffer, DeviceChoice, Gpu, devices, select};
use relief_kernels::distance::gpu::tiles::{self, Policy};
use relief_kernels::distance::gpu::{self as rows, Profile};
use relief_kernels::fused::Plane;
use relief_raster::Rect;

/// Samples of a profile are this at `a`; 77 beyond.
fn value(a: u64) -> u8 {
    (a * 40_503 % 251) as u8
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

struct Mask {
    name: &'static str,
    samples: Vec<u8>,
}

/// Scattered pixels, half of them, stripes 40 of 200 wide, and masks that are hard: a grid of dots whose cells a radius
/// of 15 just about spans, thin lines far apart either way.
fn masks(side: usize) -> Vec<Mask> {
    let scattered = |one_in: usize| {
        let mut random = Random(one_in as u64);
        let mut samples = vec![0_u8; side * side];
        for _ in 0..side * side / one_in {
            samples[random.next() as usize % (side * side)] = 255;
        }
        samples
    };
    let half = || {
        let mut random = Random(2);
        let mut samples = vec![0_u8; side * side];
        for eight in samples.chunks_exact_mut(8) {
            eight.copy_from_slice(&(random.next() & 0x0101_0101_0101_0101).to_le_bytes());
        }
        samples
    };
    let where_true = |white: &dyn Fn(usize, usize) -> bool| {
        let mut samples = vec![0_u8; side * side];
        for (y, row) in samples.chunks_exact_mut(side).enumerate() {
            for (x, sample) in row.iter_mut().enumerate() {
                *sample = u8::from(white(x, y));
            }
        }
        samples
    };
    vec![
        Mask {
            name: "0.01 %",
            samples: scattered(10_000),
        },
        Mask {
            name: "1 %",
            samples: scattered(100),
        },
        Mask {
            name: "50 %",
            samples: half(),
        },
        Mask {
            name: "lines",
            samples: where_true(&|x, _| x % 200 < 40),
        },
        Mask {
            name: "dots of 24",
            samples: where_true(&|x, y| x % 24 == 0 && y % 24 == 0),
        },
        Mask {
            name: "0.1 %",
            samples: scattered(1_000),
        },
        Mask {
            name: "across",
            samples: where_true(&|_, y| y % 200 == 0),
        },
        Mask {
            name: "down",
            samples: where_true(&|x, _| x % 200 == 0),
        },
    ]
}

struct Probe {
    gpu: Gpu,
    side: usize,
    rounds: usize,
    records: Vec<String>,
}

impl Probe {
    /// Median seconds of a launch.
    fn time(&self, launch: &dyn Fn()) -> f64 {
        launch();
        self.gpu.sync().unwrap();
        let batch = 4;
        let mut times: Vec<f64> = (0..self.rounds)
            .map(|_| {
                let start = Instant::now();
                for _ in 0..batch {
                    launch();
                }
                self.gpu.sync().unwrap();
                start.elapsed().as_secs_f64() / f64::from(batch)
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }

    fn record(&mut self, radius: u32, mask: &str, variant: &str, seconds: f64) {
        let rate = (self.side * self.side) as f64 / seconds / 1e9;
        println!(
            "R {radius:>3} {mask:<11} {variant:<34} {:>9.3} ms {rate:>8.1} Gpx/s",
            seconds * 1e3
        );
        self.records.push(format!(
            "  {{\"radius\": {radius}, \"mask\": \"{mask}\", \"variant\": \"{variant}\", \"ms\": {:.4}, \"gpx_per_s\": {rate:.2}}}",
            seconds * 1e3
        ));
    }

    /// Compares pixels in blocks and rows of the raster, its corners among them, with a search of the whole square.
    fn check(&self, mask: &Mask, radius: u32, output: &Buffer, what: &str) {
        let side = self.side as i64;
        let got = self.gpu.read(output, output.words()).wait().unwrap();
        let mut random = Random(5);
        let spread: Vec<(i64, i64)> = (0..1_200)
            .map(|_| (random.next() as i64 & i64::MAX, random.next() as i64 & i64::MAX))
            .map(|(x, y)| (x % side, y % side))
            .collect();
        let near = |origin: (i64, i64)| (0..400).map(move |i| (origin.0 + i % 20, origin.1 + i / 20));
        let places = spread
            .into_iter()
            .chain(near((0, 0)))
            .chain(near((side - 20, side - 20)))
            .chain(near((side / 2 / 224 * 224 - 10, side / 2 / 64 * 64 - 10)))
            .filter(|(x, y)| (0..side).contains(x) && (0..side).contains(y));
        let reach = i64::from(radius);
        for (x, y) in places {
            let mut nearest = None;
            for v in (y - reach).max(0)..=(y + reach).min(side - 1) {
                let row = &mask.samples[(v * side) as usize..][..side as usize];
                for u in (x - reach).max(0)..=(x + reach).min(side - 1) {
                    let a = (u - x).pow(2) + (v - y).pow(2);
                    if row[u as usize] != 0 && a <= reach * reach && nearest.is_none_or(|n| a < n) {
                        nearest = Some(a);
                    }
                }
            }
            let want = nearest.map_or(77, |a| value(a as u64));
            let got = got[(y * side + x) as usize];
            assert_eq!(
                got, want,
                "{what}, R {radius}, {} at {x},{y}: {nearest:?}",
                mask.name
            );
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1));
    let quick = args.iter().any(|a| a == "--quick");
    let choice: DeviceChoice = option("--device")
        .map_or("cuda", |d| d)
        .parse()
        .expect("a device");
    let id = select(&choice, &devices()).expect("the device asked for")[0];
    let side: usize = option("--side").map_or(16_384, |s| s.parse().expect("pixels"));
    assert!(side.is_multiple_of(16), "a side of a multiple of 16");
    let start = Instant::now();
    let mut probe = Probe {
        gpu: Gpu::open(id).expect("a device that starts"),
        side,
        rounds: if quick { 1 } else { 5 },
        records: Vec::new(),
    };
    println!("{:?}", probe.gpu.report());
    let masks = masks(side);
    println!("masks after {:.1} s", start.elapsed().as_secs_f64());
    for (k, mask) in masks.iter().enumerate() {
        measure(&mut probe, mask, k < 4);
    }
    println!("total {:.1} s", start.elapsed().as_secs_f64());
    if let Some(path) = args.last().filter(|a| a.ends_with(".json")) {
        std::fs::write(path, format!("[\n{}\n]\n", probe.records.join(",\n"))).expect("a file to write");
    }
}

fn policies(radius: u32) -> Vec<(String, Policy)> {
    let shapes: &[(u32, u32)] = if radius <= 32 {
        &[(28, 8), (28, 4), (60, 4), (12, 8)]
    } else {
        &[(28, 8), (28, 4), (60, 4), (38, 8)]
    };
    let mut policies: Vec<(String, Policy)> = shapes
        .iter()
        .map(|&(chunks, blocks)| {
            let policy = Policy {
                chunks,
                blocks,
                ..Policy::default()
            };
            (format!("tiles {} × {}", chunks * 8, blocks * 8), policy)
        })
        .collect();
    if radius <= 32 {
        let policy = Policy {
            unrolled: 0,
            ..Policy::default()
        };
        policies.push(("tiles, looped".to_owned(), policy));
    }
    policies
}

/// The default shape on every mask, the others on the first few; the steps of the default.
fn measure(probe: &mut Probe, mask: &Mask, all: bool) {
    let side = probe.side;
    let words: Vec<u32> = mask
        .samples
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    let gpu = probe.gpu.clone();
    let plane = Plane {
        buffer: gpu.upload(&words).unwrap(),
        offset: 0,
        pitch: side as u32 / 4,
        width: side as u32,
        height: side as u32,
    };
    let output = gpu.buffer(side * side / 4).unwrap();
    let (band, pitch) = (Rect::sized(side as u64, side as u64), side as u32 / 4);
    for radius in [15, 100] {
        let values: Vec<u8> = (0..=u64::from(radius) * u64::from(radius)).map(value).collect();
        let profile = Profile::upload(&gpu, radius, &values, 77).unwrap();
        for (name, policy) in policies(radius) {
            if !all && policy != Policy::default() {
                continue;
            }
            let run =
                || tiles::render(&gpu, &policy, &plane, (0, 0), &profile, band, &output, pitch).unwrap();
            run();
            probe.check(mask, radius, &output, &name);
            let seconds = probe.time(&run);
            probe.record(radius, mask.name, &name, seconds);
        }
        let time = |launch: &dyn Fn()| probe.time(launch);
        let policy = Policy::default();
        let steps = tiles::profile_steps(
            &gpu,
            &policy,
            &plane,
            (0, 0),
            &profile,
            band,
            &output,
            pitch,
            time,
        );
        for (step, seconds) in steps.unwrap() {
            probe.record(radius, mask.name, &format!("  of which {step}"), seconds);
        }
        let run = || rows::render_by_rows(&gpu, &plane, (0, 0), &profile, band, &output, pitch).unwrap();
        run();
        probe.check(mask, radius, &output, "rows");
        let seconds = probe.time(&run);
        probe.record(radius, mask.name, "three steps over rows", seconds);
    }
}
