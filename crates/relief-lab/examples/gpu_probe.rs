//! Measures the device kernels: checks each result against a pixel-by-pixel oracle, then times it.
//!
//! `gpu_probe [--device cuda|vulkan|vulkan:N] [--quick] [--only TEXT] [--json FILE]`
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr
)]

use std::collections::VecDeque;
use std::sync::Barrier;
use std::time::Instant;

use relief_kernels::device::{Buffer, DeviceChoice, DeviceId, Gpu, devices, select};
use relief_kernels::distance::gpu::Profile;
use relief_kernels::fold::Fold;
use relief_kernels::fused::{Axis, Cell, CellLayout, Expression, Plane, Policy, Table, render_with};
use relief_kernels::lattice::{Blend, gpu::Lattice};
use relief_kernels::{distance, lattice};
use relief_raster::{Depth, Period, Rect};

struct Probe {
    gpu: Gpu,
    side: u32,
    quick: bool,
    only: Option<String>,
    records: Vec<String>,
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let value = |name: &str| {
        args.iter()
            .position(|a| a == name)
            .and_then(|i| args.get(i + 1))
            .cloned()
    };
    let inventory = devices();
    for device in &inventory.devices {
        println!("{device:?}");
    }
    for missing in &inventory.missing {
        println!("{missing:?}");
    }
    let choice: DeviceChoice = value("--device")
        .unwrap_or("cuda".into())
        .parse()
        .expect("a device");
    let id = select(&choice, &inventory).expect("the device asked for")[0];
    let start = Instant::now();
    let gpu = Gpu::open(id).expect("a device that starts");
    println!("opened {id} in {:.3} s", start.elapsed().as_secs_f64());
    let quick = args.iter().any(|a| a == "--quick");
    let side = if quick { 1_024 } else { 32_768 };
    let mut probe = Probe {
        gpu,
        side,
        quick,
        only: value("--only"),
        records: Vec::new(),
    };
    type Part = (&'static str, fn(&mut Probe));
    let parts: [Part; 7] = [
        ("fused", fused),
        ("generators", generators),
        ("lattice", lattices),
        ("distance", distances),
        ("read", reads),
        ("stream", streams),
        ("scaling", scaling),
    ];
    for (name, part) in parts {
        if probe
            .only
            .as_ref()
            .is_none_or(|only| name.contains(only.as_str()))
        {
            part(&mut probe);
        }
    }
    println!("total {:.1} s", start.elapsed().as_secs_f64());
    if let Some(path) = value("--json") {
        std::fs::write(path, format!("[\n{}\n]\n", probe.records.join(",\n"))).expect("a file to write");
    }
}

impl Probe {
    /// Median seconds of a launch.
    fn time(&self, launch: impl Fn()) -> f64 {
        launch();
        self.gpu.sync().unwrap();
        let (rounds, batch) = if self.quick { (1, 1) } else { (7, 8) };
        let mut times: Vec<f64> = (0..rounds)
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

    fn record(&mut self, case: &str, seconds: f64, pixels: f64, bytes: f64) {
        println!(
            "{case:<78} {:>9.3} ms {:>9.1} Gpx/s {:>8.0} GB/s",
            seconds * 1e3,
            pixels / seconds / 1e9,
            bytes / seconds / 1e9
        );
        self.records.push(format!(
            "  {{\"case\": \"{case}\", \"ms\": {:.4}, \"gpx_per_s\": {:.2}, \"gb_per_s\": {:.1}}}",
            seconds * 1e3,
            pixels / seconds / 1e9,
            bytes / seconds / 1e9
        ));
    }

    fn square(&self) -> Rect {
        Rect::sized(self.side.into(), self.side.into())
    }

    /// Checks some thousands of pixels of a square of 8- or 16-bit samples.
    fn check(
        &self,
        case: &str,
        output: &Buffer,
        side: u32,
        bytes: u32,
        at: impl Fn(i64, i64) -> u16,
        count: u64,
    ) {
        let got = self.gpu.read(output, output.words()).wait().unwrap();
        let total = u64::from(side) * u64::from(side);
        let stride = (total / count) | 1;
        for place in (0..total).step_by(stride as usize) {
            let (x, y) = ((place % u64::from(side)) as i64, (place / u64::from(side)) as i64);
            let i = place as usize * bytes as usize;
            let v = if bytes == 1 {
                u16::from(got[i])
            } else {
                u16::from_le_bytes([got[i], got[i + 1]])
            };
            assert_eq!(v, at(x, y), "{case} at {x},{y}");
        }
    }

    fn cell(&self, a: u64, b: i64, c: u64, seed: u64, layout: CellLayout) -> Expression {
        let samples: Vec<u8> = (0..a * c).map(|i| sample(i, seed)).collect();
        let period = Period::spanned((a as i64, 0), (b, c as i64)).unwrap();
        Expression::Cell {
            cell: Cell::upload(&self.gpu, &samples, period, layout).unwrap(),
            x: 3,
            y: 5,
        }
    }
}

fn sample(i: u64, seed: u64) -> u8 {
    (i.wrapping_add(seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u8
}

/// What [`Probe::cell`] has at (x, y).
fn cell_at(a: i64, b: i64, c: i64, seed: u64, x: i64, y: i64) -> u8 {
    let (x, y) = (x - 3, y - 5);
    let column = (x - y.div_euclid(c) * b).rem_euclid(a);
    sample((y.rem_euclid(c) * a + column) as u64, seed)
}

fn layout_name(layout: CellLayout) -> &'static str {
    match layout {
        CellLayout::Single => "1 copy",
        CellLayout::Words => "4 copies",
        CellLayout::Vectors => "16 copies",
    }
}

fn fused(probe: &mut Probe) {
    let side = probe.side;
    let output = probe.gpu.buffer((side / 4 * side) as usize).unwrap();
    let square = probe.square();
    let pixels = f64::from(side) * f64::from(side);
    let base = Policy::for_device(&probe.gpu);
    let table: Vec<u8> = (0..=255_u8)
        .map(|v| v.wrapping_mul(77).wrapping_add(13))
        .collect();
    let table_words: Vec<u32> = table
        .chunks(4)
        .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
        .collect();
    let table_on = probe.gpu.upload(&table_words).unwrap();

    let mut policies = Vec::new();
    for (units, rows, unroll) in [
        (256, 16, 1),
        (256, 16, 2),
        (256, 16, 4),
        (128, 16, 1),
        (512, 16, 1),
        (256, 64, 1),
        (256, 64, 4),
        (256, 4, 1),
        (256, 4, 4),
    ] {
        policies.push(Policy {
            units,
            rows,
            unroll,
            ..base
        });
    }
    type Tree<'a> = (
        &'a str,
        Box<dyn Fn(&Probe, CellLayout) -> Expression + 'a>,
        Box<dyn Fn(i64, i64) -> u16 + 'a>,
    );
    let max = |probe: &Probe, layout| {
        Expression::Fold(vec![
            (Fold::Base, probe.cell(100, 0, 100, 1, layout)),
            (Fold::Max, probe.cell(64, 0, 64, 2, layout)),
        ])
    };
    let max_at = |x, y| cell_at(100, 0, 100, 1, x, y).max(cell_at(64, 0, 64, 2, x, y));
    let trees: Vec<Tree> = vec![
        (
            "constant",
            Box::new(|_, _| Expression::Constant(7)),
            Box::new(|_, _| 7),
        ),
        (
            "repeat 100x100",
            Box::new(|p, l| p.cell(100, 0, 100, 1, l)),
            Box::new(|x, y| cell_at(100, 0, 100, 1, x, y).into()),
        ),
        (
            "lattice cell 1590x5+1255",
            Box::new(|p, l| p.cell(1_590, 1_255, 5, 3, l)),
            Box::new(|x, y| cell_at(1_590, 1_255, 5, 3, x, y).into()),
        ),
        (
            "repeat 1000x1000",
            Box::new(|p, l| p.cell(1_000, 0, 1_000, 4, l)),
            Box::new(|x, y| cell_at(1_000, 0, 1_000, 4, x, y).into()),
        ),
        (
            "repeat+repeat",
            Box::new(max),
            Box::new(move |x, y| max_at(x, y).into()),
        ),
        (
            "repeat+repeat+table",
            Box::new(|p, l| Expression::Table {
                table: Table::new(table_on.clone(), Depth::Eight).unwrap(),
                source: Box::new(max(p, l)),
            }),
            Box::new(|x, y| table[usize::from(max_at(x, y))].into()),
        ),
    ];
    for (name, tree, at) in &trees {
        for layout in [CellLayout::Vectors, CellLayout::Words, CellLayout::Single] {
            if *name == "constant" && layout != CellLayout::Vectors {
                continue;
            }
            let expression = tree(probe, layout);
            for interleaved in [false, true] {
                for (number, policy) in policies.iter().enumerate() {
                    // All policies only where it matters most.
                    let thorough = *name == "repeat 100x100" || *name == "repeat+repeat+table";
                    if number
                        > if thorough && layout != CellLayout::Single {
                            8
                        } else {
                            0
                        }
                    {
                        continue;
                    }
                    let lanes: &[u32] = if name.ends_with("table") && number == 0 {
                        &[32, 16, 8, 1]
                    } else {
                        &[32]
                    };
                    for lanes in lanes {
                        let policy = Policy {
                            interleaved,
                            lanes: *lanes,
                            ..*policy
                        };
                        let render = || {
                            render_with(
                                &probe.gpu,
                                &policy,
                                &expression,
                                Depth::Eight,
                                square,
                                square,
                                &output,
                                side / 4,
                            )
                            .unwrap();
                        };
                        render();
                        let case = format!(
                            "{name}, {}, {} u{} r{} x{} l{lanes}",
                            layout_name(layout),
                            if interleaved { "words" } else { "vectors" },
                            policy.units,
                            policy.rows,
                            policy.unroll
                        );
                        probe.check(
                            &case,
                            &output,
                            side,
                            1,
                            at,
                            if number == 0 { 20_000 } else { 2_000 },
                        );
                        let seconds = probe.time(render);
                        probe.record(&case, seconds, pixels, pixels);
                    }
                }
            }
        }
    }
}

fn splitmix(seed: u64, x: i64, y: i64) -> u64 {
    let mut z = seed
        .wrapping_add((x as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15))
        .wrapping_add((y as u64).wrapping_mul(0xC2B2_AE3D_27D4_EB4F));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn generators(probe: &mut Probe) {
    let side = probe.side;
    let n = i64::from(side);
    let output = probe.gpu.buffer((side / 2 * side) as usize).unwrap();
    let square = probe.square();
    let pixels = f64::from(side) * f64::from(side);
    let ramp = |axis| Expression::Ramp {
        axis,
        from: 3,
        to: 250,
        length: n as u64,
    };
    let ramp_at = move |i: i64| (3 + (2 * 247 * i + n - 1) / (2 * (n - 1))) as u16;
    let disc = Expression::Disc {
        diameter: n as u64,
        value: 9,
    };
    let disc_at = move |x: i64, y: i64| {
        if (2 * x - n + 1).pow(2) + (2 * y - n + 1).pow(2) <= n * n {
            9
        } else {
            0
        }
    };
    let plane = {
        let pitch = side / 4;
        let buffer = probe.gpu.buffer((pitch * side) as usize).unwrap();
        let noise = Expression::Noise { seed: 1 };
        let policy = Policy::for_device(&probe.gpu);
        render_with(
            &probe.gpu,
            &policy,
            &noise,
            Depth::Eight,
            square,
            square,
            &buffer,
            pitch,
        )
        .unwrap();
        Expression::Plane {
            plane: Plane::new(buffer, 0, pitch, side, side, Depth::Eight).unwrap(),
            x: 5,
            y: 1,
        }
    };
    let plane_at = |x: i64, y: i64| {
        if x < 5 || y < 1 {
            0
        } else {
            (splitmix(1, x - 5, y - 1) >> 56) as u16
        }
    };
    let clipped = Expression::Placed {
        x: 100,
        y: 100,
        width: n as u64 - 300,
        height: n as u64 - 300,
        source: Box::new(probe.cell(100, 0, 100, 1, CellLayout::Vectors)),
    };
    let clipped_at = |x: i64, y: i64| {
        let inside = (100..n - 200).contains(&x) && (100..n - 200).contains(&y);
        if inside {
            cell_at(100, 0, 100, 1, x - 100, y - 100).into()
        } else {
            0
        }
    };
    let compose = Expression::Fold(vec![
        (Fold::Base, probe.cell(100, 0, 100, 1, CellLayout::Vectors)),
        (Fold::Add, probe.cell(64, 0, 64, 2, CellLayout::Vectors)),
        (Fold::Multiply, ramp(Axis::Y)),
        (Fold::Mask, disc.clone()),
        (Fold::Mean, probe.cell(1_590, 1_255, 5, 3, CellLayout::Vectors)),
    ]);
    let compose_at = move |x: i64, y: i64| {
        let sum =
            (u32::from(cell_at(100, 0, 100, 1, x, y)) + u32::from(cell_at(64, 0, 64, 2, x, y))).min(255);
        let product = (sum * u32::from(ramp_at(y)) + 127) / 255;
        let masked = if disc_at(x, y) == 0 { 0 } else { product };
        (masked + u32::from(cell_at(1_590, 1_255, 5, 3, x, y))).div_ceil(2) as u16
    };
    type Case<'a> = (&'a str, Expression, Box<dyn Fn(i64, i64) -> u16 + 'a>);
    let cases: Vec<Case> = vec![
        ("ramp x", ramp(Axis::X), Box::new(move |x, _| ramp_at(x))),
        ("ramp y", ramp(Axis::Y), Box::new(move |_, y| ramp_at(y))),
        ("disc", disc, Box::new(disc_at)),
        (
            "noise",
            Expression::Noise { seed: 1 },
            Box::new(|x, y| (splitmix(1, x, y) >> 56) as u16),
        ),
        ("plane at an odd place", plane, Box::new(plane_at)),
        ("repeat 100x100 clipped", clipped, Box::new(clipped_at)),
        ("compose of five", compose, Box::new(compose_at)),
    ];
    for (name, expression, at) in &cases {
        for interleaved in [false, true] {
            let policy = Policy {
                interleaved,
                ..Policy::for_device(&probe.gpu)
            };
            let render = || {
                render_with(
                    &probe.gpu,
                    &policy,
                    expression,
                    Depth::Eight,
                    square,
                    square,
                    &output,
                    side / 4,
                )
                .unwrap()
            };
            render();
            let case = format!("{name}, {}", if interleaved { "words" } else { "vectors" });
            probe.check(&case, &output, side, 1, at, 10_000);
            let seconds = probe.time(render);
            probe.record(&case, seconds, pixels, pixels);
        }
    }
    let policy = Policy::for_device(&probe.gpu);
    let samples: Vec<u16> = (0..10_000).map(|i| u16::from(sample(i, 1)) * 257).collect();
    for layout in [CellLayout::Vectors, CellLayout::Words, CellLayout::Single] {
        let cell = Cell::upload(&probe.gpu, &samples, Period::grid(100, 100).unwrap(), layout).unwrap();
        let expression = Expression::Cell { cell, x: 3, y: 5 };
        let render = || {
            render_with(
                &probe.gpu,
                &policy,
                &expression,
                Depth::Sixteen,
                square,
                square,
                &output,
                side / 2,
            )
            .unwrap()
        };
        render();
        let case = format!("repeat 100x100 u16, {}", layout_name(layout));
        probe.check(
            &case,
            &output,
            side,
            2,
            |x, y| u16::from(cell_at(100, 0, 100, 1, x, y)) * 257,
            10_000,
        );
        let seconds = probe.time(render);
        probe.record(&case, seconds, pixels, 2.0 * pixels);
    }
}

fn lattices(probe: &mut Probe) {
    let side = probe.side;
    let output = probe.gpu.buffer((side / 4 * side) as usize).unwrap();
    let square = probe.square();
    let pixels = f64::from(side) * f64::from(side);
    let pattern: Vec<u8> = (0..10_000).map(|i| sample(i, 11)).collect();
    let words: Vec<u32> = pattern
        .chunks(4)
        .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
        .collect();
    let plane = Plane::new(probe.gpu.upload(&words).unwrap(), 0, 25, 100, 100, Depth::Eight).unwrap();
    for (u, v) in [((90, 20), (-15, 85)), ((40, 3), (-5, 37)), ((1_000, 3), (2, 999))] {
        for blend in [Blend::Mean, Blend::Max, Blend::Min, Blend::Sum, Blend::Last] {
            let lattice = Lattice {
                pattern: plane.clone(),
                blend,
                offset: (3, 5),
                u,
                v,
            };
            let render = || lattice::gpu::render(&probe.gpu, &lattice, square, &output, side / 4).unwrap();
            render();
            let at = |x: i64, y: i64| {
                let det = (u.0 * v.1 - u.1 * v.0) as f64;
                let (mut sum, mut n, mut last, mut most, mut least) = (0_u32, 0_u32, 0, 0, 0);
                let (px, py) = ((x - 3) as f64, (y - 5) as f64);
                let i0 = ((px * v.1 as f64 - py * v.0 as f64) / det) as i64;
                let j0 = ((u.0 as f64 * py - u.1 as f64 * px) / det) as i64;
                for j in j0 - 6..=j0 + 6 {
                    for i in i0 - 6..=i0 + 6 {
                        let (cx, cy) = (x - 3 - i * u.0 - j * v.0, y - 5 - i * u.1 - j * v.1);
                        if (0..100).contains(&cx) && (0..100).contains(&cy) {
                            let s = pattern[(cy * 100 + cx) as usize];
                            if s != 0 {
                                sum += u32::from(s);
                                n += 1;
                                last = s;
                                most = most.max(s);
                                least = if least == 0 { s } else { least.min(s) };
                            }
                        }
                    }
                }
                match blend {
                    Blend::Mean => (2 * sum + n).checked_div(2 * n).unwrap_or(0) as u16,
                    Blend::Max => most.into(),
                    Blend::Min => least.into(),
                    Blend::Sum => sum.min(255) as u16,
                    Blend::Last => last.into(),
                }
            };
            let case = format!("lattice direct 100x100 {u:?} {v:?} {blend:?}");
            probe.check(&case, &output, side, 1, at, 3_000);
            let seconds = probe.time(render);
            probe.record(&case, seconds, pixels, pixels);
        }
    }
}

fn distances(probe: &mut Probe) {
    let side = if probe.quick { 512 } else { 16_384 };
    let square = Rect::sized(side.into(), side.into());
    let pixels = f64::from(side) * f64::from(side);
    let output = probe.gpu.buffer((side / 4 * side) as usize).unwrap();
    let mask = probe.gpu.buffer((side / 4 * side) as usize).unwrap();
    let policy = Policy::for_device(&probe.gpu);
    let noise = |seed, level| Expression::Threshold {
        level,
        source: Box::new(Expression::Noise { seed }),
    };
    let lines = |a: u64, b: i64, c: u64| {
        let samples: Vec<u8> = (0..a * c).map(|i| u8::from(i == 0)).collect();
        let period = Period::spanned((a as i64, 0), (b, c as i64)).unwrap();
        Expression::Cell {
            cell: Cell::upload(&probe.gpu, &samples, period, CellLayout::Words).unwrap(),
            x: 0,
            y: 0,
        }
    };
    let bit = |seed: u64, level: u64| move |x: i64, y: i64| splitmix(seed, x, y) >> 56 >= level;
    type Mask = (&'static str, Expression, Box<dyn Fn(i64, i64) -> bool>);
    let masks: Vec<Mask> = vec![
        (
            "0.0092 %",
            Expression::Fold(vec![(Fold::Base, noise(1, 254)), (Fold::Mask, noise(2, 253))]),
            Box::new(move |x, y| bit(1, 254)(x, y) && bit(2, 253)(x, y)),
        ),
        ("1.2 %", noise(1, 253), Box::new(bit(1, 253))),
        ("50 %", noise(1, 128), Box::new(bit(1, 128))),
        (
            "vertical lines 40",
            lines(40, 0, 1),
            Box::new(|x, _| x.rem_euclid(40) == 0),
        ),
        (
            "horizontal lines 40",
            lines(1, 0, 40),
            Box::new(|_, y| y.rem_euclid(40) == 0),
        ),
        (
            "diagonal lines 40",
            lines(40, 1, 1),
            Box::new(|x, y| (x - y).rem_euclid(40) == 0),
        ),
        (
            "vertical lines 199",
            lines(199, 0, 1),
            Box::new(|x, _| x.rem_euclid(199) == 0),
        ),
        ("empty", Expression::Constant(0), Box::new(|_, _| false)),
    ];
    for (name, expression, white) in &masks {
        render_with(
            &probe.gpu,
            &policy,
            expression,
            Depth::Eight,
            square,
            square,
            &mask,
            side / 4,
        )
        .unwrap();
        let plane = Plane::new(mask.clone(), 0, side / 4, side, side, Depth::Eight).unwrap();
        for radius in [15_u32, 40, 100, 1_000] {
            if radius == 1_000 && (probe.quick || !name.starts_with("0.")) {
                continue;
            }
            let values: Vec<u8> = (0..=radius * radius)
                .map(|a| (a.wrapping_mul(40_503) >> 3) as u8)
                .collect();
            let profile = Profile::upload(&probe.gpu, radius, &values, 77).unwrap();
            let render = || {
                distance::gpu::render(
                    &probe.gpu,
                    None,
                    &plane,
                    (0, 0),
                    &profile,
                    square,
                    &output,
                    side / 4,
                )
                .unwrap()
            };
            render();
            let r = i64::from(radius);
            let at = |x: i64, y: i64| {
                let mut least = r * r + 1;
                for dy in -r..=r {
                    for dx in -r..=r {
                        let (u, v) = (x + dx, y + dy);
                        let inside = u >= 0 && v >= 0 && u < i64::from(side) && v < i64::from(side);
                        if dx * dx + dy * dy < least && inside && white(u, v) {
                            least = dx * dx + dy * dy;
                        }
                    }
                }
                if least > r * r {
                    77
                } else {
                    values[least as usize].into()
                }
            };
            let case = format!("distance {radius}, {name}");
            probe.check(
                &case,
                &output,
                side,
                1,
                at,
                2_000_000 / u64::from(radius * radius),
            );
            let seconds = probe.time(render);
            probe.record(&case, seconds, pixels, pixels);
        }
    }
}

fn reads(probe: &mut Probe) {
    for mib in [16_usize, 64] {
        for depth in [1_usize, 2, 3, 4] {
            let words = mib << 18;
            let rounds = if probe.quick { 4 } else { 4_096 / mib };
            let buffers: Vec<Buffer> = (0..depth).map(|_| probe.gpu.buffer(words).unwrap()).collect();
            let mut seconds = 0.0;
            for _ in 0..2 {
                let start = Instant::now();
                let mut flight = VecDeque::new();
                for round in 0..rounds {
                    flight.push_back(probe.gpu.read(&buffers[round % depth], words));
                    if flight.len() == depth {
                        drop(flight.pop_front().unwrap().wait().unwrap());
                    }
                }
                for reading in flight {
                    drop(reading.wait().unwrap());
                }
                seconds = start.elapsed().as_secs_f64() / rounds as f64;
            }
            probe.record(
                &format!("read {mib} MiB, {depth} in flight"),
                seconds,
                0.0,
                words as f64 * 4.0,
            );
        }
    }
}

/// Bands rendered and read with three in flight, by one host thread and by two.
fn streams(probe: &mut Probe) {
    let (width, height) = if probe.quick {
        (1_024_u32, 64_u32)
    } else {
        (32_768, 2_048)
    };
    let rounds = if probe.quick { 4 } else { 96 };
    let cell = probe.cell(100, 0, 100, 1, CellLayout::Vectors);
    let light = Expression::Fold(vec![
        (Fold::Base, cell),
        (Fold::Max, probe.cell(64, 0, 64, 2, CellLayout::Vectors)),
    ]);
    let heavy = Expression::Fold(
        (0..8)
            .map(|seed| (Fold::Mean, Expression::Noise { seed }))
            .collect(),
    );
    for (name, expression) in [("two repeats", &light), ("eight noises", &heavy)] {
        for threads in [1_usize, 2] {
            let gpu = probe.gpu.clone();
            let mut seconds = 0.0;
            for _ in 0..2 {
                let start = Instant::now();
                std::thread::scope(|scope| {
                    for t in 0..threads {
                        let gpu = gpu.clone();
                        scope.spawn(move || stream(&gpu, expression, width, height, t, threads, rounds));
                    }
                });
                seconds = start.elapsed().as_secs_f64() / rounds as f64;
            }
            let pixels = f64::from(width) * f64::from(height);
            probe.record(
                &format!("stream of {name}, {threads} threads"),
                seconds,
                pixels,
                pixels,
            );
        }
    }
}

fn stream(
    gpu: &Gpu,
    expression: &Expression,
    width: u32,
    height: u32,
    first: usize,
    step: usize,
    rounds: usize,
) {
    let policy = Policy::for_device(gpu);
    let raster = Rect::sized(width.into(), u64::from(height) * rounds as u64);
    let words = (width / 4 * height) as usize;
    let outputs: Vec<Buffer> = (0..3).map(|_| gpu.buffer(words).unwrap()).collect();
    let mut flight = VecDeque::new();
    for (turn, band) in (first..rounds).step_by(step).enumerate() {
        let rect = Rect::new(0, band as i64 * i64::from(height), width.into(), height.into()).unwrap();
        let output = &outputs[turn % 3];
        render_with(
            gpu,
            &policy,
            expression,
            Depth::Eight,
            raster,
            rect,
            output,
            width / 4,
        )
        .unwrap();
        flight.push_back(gpu.read(output, words));
        if flight.len() == 3 {
            drop(flight.pop_front().unwrap().wait().unwrap());
        }
    }
    for reading in flight {
        drop(reading.wait().unwrap());
    }
}

/// The same bands computed by one device, then dealt to two, then to four, with nothing read back: what several devices
/// reach without the bus.
fn scaling(probe: &mut Probe) {
    let same = |id: &DeviceId| match (id, probe.gpu.id()) {
        (DeviceId::Cuda(_), DeviceId::Cuda(_)) => true,
        (DeviceId::Vulkan(_), DeviceId::Vulkan(_)) => !probe.quick,
        _ => false,
    };
    let ids: Vec<DeviceId> = devices()
        .devices
        .iter()
        .map(|report| report.id)
        .filter(same)
        .collect();
    let gpus: Vec<Gpu> = ids.iter().map(|id| Gpu::open(*id).unwrap()).collect();
    let (width, height, bands) = if probe.quick {
        (1_024, 64, 8)
    } else {
        (32_768, 4_096, 512)
    };
    let band = Rect::sized(width.into(), height.into());
    for count in [1, 2, 4] {
        if count > gpus.len() {
            println!("scaling over {count} devices: there are {}", gpus.len());
            continue;
        }
        let mut times: Vec<f64> = Vec::new();
        for _ in 0..5 {
            let ready = Barrier::new(count + 1);
            let done = Barrier::new(count + 1);
            let seconds = std::thread::scope(|scope| {
                for gpu in &gpus[..count] {
                    let (ready, done) = (&ready, &done);
                    scope.spawn(move || {
                        let mask = gpu
                            .upload(&vec![0x0100_0000_u32; (width / 4 * height) as usize])
                            .unwrap();
                        let mask = Plane::new(mask, 0, width / 4, width, height, Depth::Eight).unwrap();
                        let values: Vec<u8> = (0..=10_000_u64).map(|a| (a >> 6) as u8).collect();
                        let profile = Profile::upload(gpu, 100, &values, 77).unwrap();
                        let output = gpu.buffer((width / 4 * height) as usize).unwrap();
                        let compute = || {
                            distance::gpu::render(
                                gpu,
                                None,
                                &mask,
                                (0, 0),
                                &profile,
                                band,
                                &output,
                                width / 4,
                            )
                            .unwrap();
                        };
                        compute();
                        gpu.sync().unwrap();
                        ready.wait();
                        for number in 0..bands / count {
                            compute();
                            // A queue of hundreds of launches is more than drivers keep.
                            if number % 16 == 15 {
                                gpu.sync().unwrap();
                            }
                        }
                        gpu.sync().unwrap();
                        done.wait();
                    });
                }
                ready.wait();
                let start = Instant::now();
                done.wait();
                start.elapsed().as_secs_f64()
            });
            times.push(seconds);
        }
        times.sort_by(f64::total_cmp);
        let pixels = f64::from(width) * f64::from(height) * bands as f64;
        probe.record(
            &format!("distance 100 over {count} devices, nothing read"),
            times[2],
            pixels,
            pixels,
        );
    }
}
