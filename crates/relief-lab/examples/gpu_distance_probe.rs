//! Measures bounded distances on a device: bits of columns and tiles of several shapes beside the three steps over rows,
//! each result checked against a search around thousands of pixels before it is timed.
//!
//! `gpu_distance_probe [--device cuda|vulkan:N] [--side PIXELS] [--radii R,R,…] [--quick] [JSON FILE]`
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr
)]

use std::time::Instant;

use relief_kernels::device::{Buffer, DeviceChoice, DeviceError, Gpu, devices, select};
use relief_kernels::distance::gpu::{Profile, bits, rows, tiles};
use relief_kernels::fused::Plane;
use relief_raster::{Depth, Rect};

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
        // Small pictures take less than it takes to wait for one.
        let batch = if self.side <= 4_096 { 100 } else { 4 };
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
    let asked: Option<Vec<u32>> =
        option("--radii").map(|r| r.split(',').map(|r| r.parse().expect("radii")).collect());
    let radii = asked.unwrap_or_else(|| RADII.to_vec());
    for (k, mask) in masks.iter().enumerate() {
        measure(&mut probe, mask, &radii, k < 4);
    }
    println!("total {:.1} s", start.elapsed().as_secs_f64());
    if let Some(path) = args.last().filter(|a| a.ends_with(".json")) {
        std::fs::write(path, format!("[\n{}\n]\n", probe.records.join(",\n"))).expect("a file to write");
    }
}

/// Radii where the ways of computing take turns.
const RADII: [u32; 10] = [15, 10, 16, 20, 24, 32, 40, 48, 64, 100];

/// A way of computing a distance.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Bits(bits::Policy),
    Tiles(tiles::Policy),
    Rows,
}

impl Way {
    fn name(self) -> String {
        match self {
            Self::Bits(p) => {
                let exits = if p.exits { "" } else { ", no exits" };
                format!("bits {} columns × {} units{exits}", p.columns, p.units)
            }
            Self::Tiles(p) => {
                let looped = if p.nearby == 0 {
                    ", by the least of each chunk"
                } else {
                    ""
                };
                format!("tiles {} × {}{looped}", p.chunks * 8, p.blocks * 8)
            }
            Self::Rows => "three steps over rows".to_owned(),
        }
    }

    /// Whether a job would take this shape of this way.
    fn is_default(self) -> bool {
        match self {
            Self::Bits(policy) => policy == bits::Policy::default(),
            Self::Tiles(policy) => policy == tiles::Policy::default(),
            Self::Rows => true,
        }
    }

    /// All ways to measure at a radius: many shapes at 15, which is the target, and fewer elsewhere.
    fn all(radius: u32, side: usize) -> Vec<Self> {
        let with = |columns, units, exits| {
            Self::Bits(bits::Policy {
                columns,
                units,
                exits,
            })
        };
        let bits = match radius {
            15 if side > 4_096 => vec![
                with(1, 256, true),
                with(2, 64, true),
                with(2, 128, true),
                with(2, 128, false),
                with(2, 256, true),
                with(3, 64, true),
                with(3, 128, true),
                with(4, 64, true),
                with(4, 64, false),
                with(4, 128, true),
            ],
            _ if radius <= 16 && side <= 4_096 => vec![
                with(1, 32, true),
                with(1, 64, true),
                with(1, 128, true),
                with(2, 32, true),
                with(2, 64, true),
                with(2, 128, true),
            ],
            _ if radius <= 16 => vec![with(2, 128, true), with(3, 64, true), with(4, 64, true)],
            // More columns take seconds to compile.
            _ if radius <= bits::MAX_RADIUS => vec![with(2, 128, true), with(3, 64, true)],
            _ => Vec::new(),
        };
        let policy = tiles::Policy::default();
        let mut tiles = vec![policy];
        if side <= 4_096 {
            let shapes = [
                (7, 1),
                (7, 2),
                (14, 1),
                (14, 2),
                (14, 4),
                (28, 2),
                (28, 4),
                (56, 2),
            ];
            tiles.extend(shapes.map(|(chunks, blocks)| tiles::Policy {
                chunks,
                blocks,
                ..policy
            }));
        } else if radius == 15 {
            tiles.push(tiles::Policy { chunks: 12, ..policy });
        }
        if (21..=32).contains(&radius) {
            tiles.push(tiles::Policy { nearby: 0, ..policy });
        }
        let tiles = tiles.into_iter().map(Self::Tiles);
        bits.into_iter().chain(tiles).chain([Self::Rows]).collect()
    }
}

/// A mask and what is computed from it on the device.
struct Job<'a> {
    gpu: &'a Gpu,
    mask: Plane,
    profile: Profile,
    band: Rect,
    scratch: &'a Buffer,
    output: &'a Buffer,
    pitch: u32,
}

impl Job<'_> {
    fn run(&self, way: Way) -> Result<(), DeviceError> {
        let (gpu, mask, profile, band) = (self.gpu, &self.mask, &self.profile, self.band);
        let scratch = Some(self.scratch);
        match way {
            Way::Bits(p) => bits::render(
                gpu,
                &p,
                scratch,
                mask,
                (0, 0),
                profile,
                band,
                self.output,
                self.pitch,
            ),
            Way::Tiles(p) => tiles::render(
                gpu,
                &p,
                scratch,
                mask,
                (0, 0),
                profile,
                band,
                self.output,
                self.pitch,
            ),
            Way::Rows => rows::render(gpu, scratch, mask, (0, 0), profile, band, self.output, self.pitch),
        }
    }

    /// The steps of a way, each timed alone.
    fn steps(&self, way: Way, time: impl Fn(&dyn Fn()) -> f64) -> Vec<(&'static str, f64)> {
        let (gpu, mask, profile, band) = (self.gpu, &self.mask, &self.profile, self.band);
        match way {
            Way::Bits(p) => bits::profile_steps(
                gpu,
                &p,
                mask,
                (0, 0),
                profile,
                band,
                self.output,
                self.pitch,
                time,
            )
            .unwrap(),
            Way::Tiles(p) => tiles::profile_steps(
                gpu,
                &p,
                mask,
                (0, 0),
                profile,
                band,
                self.output,
                self.pitch,
                time,
            )
            .unwrap(),
            Way::Rows => rows::profile_steps(gpu, mask, (0, 0), profile, band, self.output, self.pitch, time),
        }
    }
}

/// Every way on the first masks, those of a job on the others; the steps of the latter on all.
fn measure(probe: &mut Probe, mask: &Mask, radii: &[u32], all: bool) {
    let side = probe.side;
    let words: Vec<u32> = mask
        .samples
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    let gpu = probe.gpu.clone();
    let plane = Plane::new(
        gpu.upload(&words).unwrap(),
        0,
        side as u32 / 4,
        side as u32,
        side as u32,
        Depth::Eight,
    )
    .unwrap();
    let output = gpu.buffer(side * side / 4).unwrap();
    // Enough for any of them: rows take 1.25 bytes for a pixel and margins.
    let scratch = gpu.buffer((side + 256) * (side + 256) / 2).unwrap();
    for &radius in radii {
        let values: Vec<u8> = (0..=u64::from(radius) * u64::from(radius)).map(value).collect();
        let job = Job {
            gpu: &gpu,
            mask: plane.clone(),
            profile: Profile::upload(&gpu, radius, &values, 77).unwrap(),
            band: Rect::sized(side as u64, side as u64),
            scratch: &scratch,
            output: &output,
            pitch: side as u32 / 4,
        };
        for way in Way::all(radius, side)
            .into_iter()
            .filter(|way| all || way.is_default())
        {
            let name = way.name();
            job.run(way).unwrap();
            probe.check(mask, radius, &output, &name);
            let seconds = probe.time(&|| job.run(way).unwrap());
            probe.record(radius, mask.name, &name, seconds);
            if way.is_default() || side <= 4_096 {
                for (step, seconds) in job.steps(way, |launch| probe.time(launch)) {
                    probe.record(radius, mask.name, &format!("  of which {step}"), seconds);
                }
            }
        }
    }
}
