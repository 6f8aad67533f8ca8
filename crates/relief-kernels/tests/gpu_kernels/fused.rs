//! Fused device kernels against one sample at a time on the host.

use relief_kernels::device::{Buffer, Gpu};
use relief_kernels::fold::Fold;
use relief_kernels::fused::{Axis, Cell, CellLayout, Expression, Plane, Policy, Table, render_with};
use relief_raster::{Depth, Period, Rect, Sample};

use crate::support::{Random, device, pack, unpack};

/// The same trees as [`Expression`], with host samples, evaluated one pixel at a time in wide integers.
enum Naive {
    Constant(i128),
    Plane {
        samples: Vec<u16>,
        width: i64,
        height: i64,
        x: i64,
        y: i64,
    },
    Cell {
        samples: Vec<u16>,
        a: i64,
        b: i64,
        c: i64,
        x: i64,
        y: i64,
    },
    Ramp {
        horizontal: bool,
        from: i128,
        to: i128,
        length: i128,
    },
    Disc {
        diameter: i128,
        value: i128,
    },
    Noise {
        seed: u64,
    },
    Table {
        table: Vec<u16>,
        source: Box<Naive>,
    },
    Threshold {
        level: i128,
        source: Box<Naive>,
    },
    Fold(Vec<(Fold, Naive)>),
    Placed {
        x: i64,
        y: i64,
        width: i64,
        height: i64,
        source: Box<Naive>,
    },
    Mirrored {
        horizontal: bool,
        side: i64,
        source: Box<Naive>,
    },
}

impl Naive {
    fn at(&self, x: i64, y: i64, bits: u32) -> i128 {
        let m = (1_i128 << bits) - 1;
        match self {
            Self::Constant(v) => *v,
            Self::Plane {
                samples,
                width,
                height,
                x: l,
                y: t,
            } => {
                let (u, v) = (x - l, y - t);
                if u < 0 || v < 0 || u >= *width || v >= *height {
                    0
                } else {
                    samples[(v * width + u) as usize].into()
                }
            }
            Self::Cell {
                samples,
                a,
                b,
                c,
                x: l,
                y: t,
            } => {
                let (u, v) = (x - l, y - t);
                let turns = v.div_euclid(*c);
                let row = v.rem_euclid(*c);
                let column =
                    (i128::from(u) - i128::from(turns) * i128::from(*b)).rem_euclid(i128::from(*a)) as i64;
                samples[(row * a + column) as usize].into()
            }
            Self::Ramp {
                horizontal,
                from,
                to,
                length,
            } => {
                let i = i128::from(if *horizontal { x } else { y });
                if *length == 1 {
                    return *from;
                }
                let n = (to - from) * i;
                let d = length - 1;
                // Half away from zero.
                let magnitude = (2 * n.abs() + d) / (2 * d);
                from + n.signum() * magnitude
            }
            Self::Disc { diameter, value } => {
                let (p, q) = (2 * i128::from(x) - diameter + 1, 2 * i128::from(y) - diameter + 1);
                if p * p + q * q <= diameter * diameter {
                    *value
                } else {
                    0
                }
            }
            Self::Noise { seed } => {
                let mut z = seed
                    .wrapping_add((x as u64).wrapping_mul(0x9E3779B97F4A7C15))
                    .wrapping_add((y as u64).wrapping_mul(0xC2B2AE3D27D4EB4F));
                z = (z ^ (z >> 30)).wrapping_mul(0xBF58476D1CE4E5B9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94D049BB133111EB);
                ((z ^ (z >> 31)) >> (64 - bits)).into()
            }
            Self::Table { table, source } => table[source.at(x, y, bits) as usize].into(),
            Self::Threshold { level, source } => {
                if source.at(x, y, bits) >= *level {
                    m
                } else {
                    0
                }
            }
            Self::Fold(layers) => layers.iter().fold(0, |acc, (fold, layer)| {
                let v = layer.at(x, y, bits);
                match fold {
                    Fold::Base => v,
                    Fold::Add => (acc + v).min(m),
                    Fold::Subtract => (acc - v).max(0),
                    Fold::Multiply => (acc * v + m / 2) / m,
                    Fold::Mean => (acc + v + 1) / 2,
                    Fold::Max => acc.max(v),
                    Fold::Min => acc.min(v),
                    Fold::Over => {
                        if v == 0 {
                            acc
                        } else {
                            v
                        }
                    }
                    Fold::Mask => {
                        if v == 0 {
                            0
                        } else {
                            acc
                        }
                    }
                }
            }),
            Self::Mirrored {
                horizontal,
                side,
                source,
            } => {
                let (x, y) = if *horizontal {
                    (side - 1 - x, y)
                } else {
                    (x, side - 1 - y)
                };
                source.at(x, y, bits)
            }
            Self::Placed {
                x: l,
                y: t,
                width,
                height,
                source,
            } => {
                let (u, v) = (x - l, y - t);
                if u < 0 || v < 0 || u >= *width || v >= *height {
                    0
                } else {
                    source.at(u, v, bits)
                }
            }
        }
    }

    fn on<S: Sample>(&self, gpu: &Gpu, layout: CellLayout) -> Expression {
        let samples = |list: &[u16]| list.iter().map(|v| S::from_u16(*v)).collect::<Vec<S>>();
        match self {
            Self::Constant(v) => Expression::Constant(*v as u16),
            Self::Plane {
                samples: list,
                width,
                height,
                x,
                y,
            } => {
                let (words, pitch) = pack(&samples(list), *width as usize);
                Expression::Plane {
                    plane: Plane::new(
                        gpu.upload(&words).unwrap(),
                        0,
                        pitch,
                        *width as u32,
                        *height as u32,
                        S::DEPTH,
                    )
                    .unwrap(),
                    x: *x,
                    y: *y,
                }
            }
            Self::Cell {
                samples: list,
                a,
                b,
                c,
                x,
                y,
            } => {
                let period = Period::spanned((*a, 0), (*b, *c)).unwrap();
                Expression::Cell {
                    cell: Cell::upload(gpu, &samples(list), period, layout).unwrap(),
                    x: *x,
                    y: *y,
                }
            }
            Self::Ramp {
                horizontal,
                from,
                to,
                length,
            } => Expression::Ramp {
                axis: if *horizontal { Axis::X } else { Axis::Y },
                from: *from as u16,
                to: *to as u16,
                length: *length as u64,
            },
            Self::Disc { diameter, value } => Expression::Disc {
                diameter: *diameter as u64,
                value: *value as u16,
            },
            Self::Noise { seed } => Expression::Noise { seed: *seed },
            Self::Table { table, source } => Expression::Table {
                table: Table::new(table_on::<S>(gpu, table), S::DEPTH).unwrap(),
                source: Box::new(source.on::<S>(gpu, layout)),
            },
            Self::Threshold { level, source } => Expression::Threshold {
                level: *level as u16,
                source: Box::new(source.on::<S>(gpu, layout)),
            },
            Self::Fold(layers) => {
                Expression::Fold(layers.iter().map(|(f, l)| (*f, l.on::<S>(gpu, layout))).collect())
            }
            Self::Placed {
                x,
                y,
                width,
                height,
                source,
            } => Expression::Placed {
                x: *x,
                y: *y,
                width: *width as u64,
                height: *height as u64,
                source: Box::new(source.on::<S>(gpu, layout)),
            },
            Self::Mirrored {
                horizontal,
                side,
                source,
            } => Expression::Mirrored {
                axis: if *horizontal { Axis::X } else { Axis::Y },
                side: *side as u64,
                source: Box::new(source.on::<S>(gpu, layout)),
            },
        }
    }
}

fn table_on<S: Sample>(gpu: &Gpu, table: &[u16]) -> Buffer {
    let samples: Vec<S> = table.iter().map(|v| S::from_u16(*v)).collect();
    gpu.upload(&pack(&samples, samples.len()).0).unwrap()
}

fn policies(gpu: &Gpu) -> Vec<Policy> {
    let plain = Policy {
        units: 64,
        rows: 4,
        ..Policy::for_device(gpu)
    };
    vec![
        plain,
        Policy {
            interleaved: true,
            unroll: 2,
            lanes: 1,
            ..plain
        },
        Policy {
            unroll: 3,
            rows: 5,
            lanes: 8,
            ..plain
        },
    ]
}

/// Renders `naive` with every policy and cell layout and compares every pixel.
fn agrees<S: Sample>(naive: &Naive, raster: Rect, band: Rect) {
    let Some(gpu) = device() else { return };
    let bits = size_of::<S>() as u32 * 8;
    let depth = if bits == 8 { Depth::Eight } else { Depth::Sixteen };
    let pitch = (band.width() as u32).div_ceil(128 / bits) * 4 + 4;
    let output = gpu.buffer(pitch as usize * band.height() as usize).unwrap();
    let layouts = [CellLayout::Vectors, CellLayout::Words, CellLayout::Single];
    for (policy, layout) in policies(&gpu).into_iter().zip(layouts) {
        let expression = naive.on::<S>(&gpu, layout);
        render_with(&gpu, &policy, &expression, depth, raster, band, &output, pitch).unwrap();
        let got = gpu.read(&output, output.words()).wait().unwrap();
        let got: Vec<S> = unpack(&got, pitch as usize, band.width() as usize);
        for y in 0..band.height() as i64 {
            for x in 0..band.width() as i64 {
                let want = naive.at(band.x() + x, band.y() + y, bits);
                let got = got[(y * band.width() as i64 + x) as usize].to_u16();
                assert_eq!(
                    i128::from(got),
                    want,
                    "at {x},{y} of {band:?}, {policy:?}, {layout:?}"
                );
            }
        }
    }
}

fn both(naive: &Naive, raster: Rect, band: Rect) {
    agrees::<u8>(naive, raster, band);
    agrees::<u16>(naive, raster, band);
}

fn rect(x: i64, y: i64, width: u64, height: u64) -> Rect {
    Rect::new(x, y, width, height).unwrap()
}

fn samples(random: &mut Random, count: usize) -> Vec<u16> {
    (0..count).map(|_| random.sample() & 0xff).collect()
}

fn cell(random: &mut Random, a: i64, b: i64, c: i64, x: i64, y: i64) -> Naive {
    Naive::Cell {
        samples: samples(random, (a * c) as usize),
        a,
        b,
        c,
        x,
        y,
    }
}

#[test]
fn a_constant_fills_every_pixel_of_odd_bands() {
    for (w, h) in [(1, 1), (3, 5), (17, 2), (1_030, 3)] {
        both(&Naive::Constant(201), rect(0, 0, w, h), rect(0, 0, w, h));
    }
}

#[test]
fn planes_are_clipped_to_themselves_wherever_they_lie() {
    let mut random = Random::new(1);
    for (w, h, x, y) in [
        (1, 1, 0, 0),
        (5, 3, -2, -1),
        (7, 4, 29, 9),
        (64, 9, 1, 2),
        (33, 2, 3, 15),
        (9, 9, 100, 0),
    ] {
        let plane = Naive::Plane {
            samples: samples(&mut random, (w * h) as usize),
            width: w,
            height: h,
            x,
            y,
        };
        both(&plane, rect(0, 0, 37, 11), rect(0, 0, 37, 11));
    }
}

#[test]
fn cells_repeat_with_every_small_period() {
    let mut random = Random::new(2);
    for (a, c) in [
        (1, 1),
        (2, 3),
        (5, 2),
        (15, 1),
        (16, 4),
        (17, 5),
        (100, 7),
        (333, 2),
    ] {
        both(
            &cell(&mut random, a, 0, c, 3, -5),
            rect(0, 0, 211, 13),
            rect(0, 0, 211, 13),
        );
    }
}

#[test]
fn sheared_cells_shift_with_every_turn_of_rows() {
    let mut random = Random::new(3);
    for (a, b, c) in [(3, 2, 1), (18, 7, 5), (1_590, 1_255, 5), (200_000, 199_999, 1)] {
        both(
            &cell(&mut random, a, b, c, -7, 2),
            rect(0, 0, 71, 23),
            rect(0, 0, 71, 23),
        );
    }
}

#[test]
fn cells_far_from_the_origin_keep_their_phase() {
    let mut random = Random::new(4);
    let far = (1_i64 << 40) - 12_345;
    let band = rect(far, far - 77, 65, 9);
    both(&cell(&mut random, 97, 31, 11, -5, 1 << 33), band, band);
}

#[test]
fn every_fold_computes_its_formula() {
    let mut random = Random::new(5);
    for fold in Fold::ALL {
        let below = cell(&mut random, 256, 0, 1, 0, 0);
        let layer = cell(&mut random, 61, 17, 3, 2, 1);
        let tree = Naive::Fold(vec![(Fold::Base, below), (fold, layer)]);
        agrees::<u8>(&tree, rect(0, 0, 260, 12), rect(0, 0, 260, 12));
        // Samples of 16 bits from the whole range.
        let wide = Naive::Fold(vec![
            (Fold::Base, Naive::Noise { seed: 9 }),
            (fold, Naive::Noise { seed: 11 }),
        ]);
        agrees::<u16>(&wide, rect(0, 0, 130, 9), rect(0, 0, 130, 9));
    }
}

#[test]
fn every_pair_of_samples_multiplies_exactly() {
    let row: Vec<u16> = (0..256).collect();
    let columns = Naive::Cell {
        samples: row.clone(),
        a: 256,
        b: 0,
        c: 1,
        x: 0,
        y: 0,
    };
    for fold in [
        Fold::Multiply,
        Fold::Mean,
        Fold::Add,
        Fold::Subtract,
        Fold::Max,
        Fold::Min,
    ] {
        let lines = Naive::Plane {
            samples: (0..256 * 256).map(|i| (i / 256) as u16).collect(),
            width: 256,
            height: 256,
            x: 0,
            y: 0,
        };
        let columns = Naive::Cell {
            samples: row.clone(),
            a: 256,
            b: 0,
            c: 1,
            x: 0,
            y: 0,
        };
        let tree = Naive::Fold(vec![(Fold::Base, columns), (fold, lines)]);
        agrees::<u8>(&tree, rect(0, 0, 256, 256), rect(0, 0, 256, 256));
    }
    agrees::<u8>(&columns, rect(0, 0, 256, 1), rect(0, 0, 256, 1));
}

#[test]
fn folds_onto_nothing_start_from_zero() {
    for fold in Fold::ALL {
        let tree = Naive::Fold(vec![(fold, Naive::Noise { seed: 3 })]);
        both(&tree, rect(0, 0, 19, 3), rect(0, 0, 19, 3));
    }
}

#[test]
fn tables_and_thresholds_take_every_sample() {
    let mut random = Random::new(6);
    for bits in [8_u32, 16] {
        let table: Vec<u16> = (0..1_usize << bits)
            .map(|_| random.sample() & ((1_u32 << bits) - 1) as u16)
            .collect();
        let noise = || Box::new(Naive::Noise { seed: 5 });
        let once = Naive::Table {
            table: table.clone(),
            source: noise(),
        };
        let twice = Naive::Table {
            table: table.iter().map(|v| v ^ 1).collect(),
            source: Box::new(Naive::Table {
                table,
                source: noise(),
            }),
        };
        let band = rect(-3, 5, 67, 13);
        for tree in [once, twice] {
            if bits == 8 {
                agrees::<u8>(&tree, band, band)
            } else {
                agrees::<u16>(&tree, band, band)
            }
        }
    }
    for level in [0, 1, 77, 128, 255] {
        let tree = Naive::Threshold {
            level,
            source: Box::new(cell(&mut random, 53, 3, 7, 0, 0)),
        };
        both(&tree, rect(0, 0, 50, 9), rect(0, 0, 50, 9));
    }
}

#[test]
fn ramps_round_half_away_from_zero_at_any_length() {
    let sides = [
        1_i128,
        2,
        3,
        7,
        255,
        256,
        1_000,
        (1 << 32) + 1,
        (1 << 40) - 1,
        1 << 40,
    ];
    for length in sides {
        for (from, to) in [(0, 255), (255, 0), (200, 13), (9, 10), (7, 7)] {
            for horizontal in [true, false] {
                let ramp = Naive::Ramp {
                    horizontal,
                    from,
                    to,
                    length,
                };
                let start = (length / 3).max(0) as i64;
                let (w, h) = if horizontal {
                    (40.min(length) as u64, 2)
                } else {
                    (3, 40.min(length) as u64)
                };
                let start = start.min(length as i64 - 40.min(length) as i64);
                let band = if horizontal {
                    rect(start, 0, w, h)
                } else {
                    rect(0, start, w, h)
                };
                agrees::<u8>(&ramp, band, band);
            }
        }
    }
    let whole = Naive::Ramp {
        horizontal: true,
        from: 65_535,
        to: 0,
        length: 100_000,
    };
    agrees::<u16>(&whole, rect(0, 0, 100_000, 1), rect(0, 0, 100_000, 1));
}

#[test]
fn discs_are_exact_at_their_edges() {
    for diameter in [1_i128, 2, 3, 4, 5, 10, 31, 32] {
        let disc = Naive::Disc { diameter, value: 200 };
        let side = diameter as u64 + 4;
        both(&disc, rect(-2, -2, side, side), rect(-2, -2, side, side));
    }
    let huge = 1_i128 << 40;
    for (x, y) in [
        (0, (1_i64 << 39) - 4),
        ((1 << 39) - 500_000, 0),
        ((1 << 40) - 40, (1 << 39) + 3),
    ] {
        both(
            &Naive::Disc {
                diameter: huge,
                value: 99,
            },
            rect(x, y, 61, 8),
            rect(x, y, 61, 8),
        );
    }
}

#[test]
fn noise_is_a_function_of_seed_and_place_alone() {
    for seed in [0, 1, u64::MAX, 0x1234_5678_9abc_def0] {
        let band = rect(-40, -3, 77, 7);
        both(&Naive::Noise { seed }, band, band);
        let far = rect((1 << 40) - 5, -(1 << 40), 21, 3);
        both(&Naive::Noise { seed }, far, far);
    }
}

#[test]
fn placed_rasters_are_moved_and_cut() {
    let band = rect(0, 0, 45, 21);
    for (x, y, width, height) in [
        (0, 0, 45, 21),
        (3, 2, 10, 10),
        (-5, -6, 20, 9),
        (44, 20, 1, 1),
        (60, 0, 5, 5),
        (-9, 3, 200, 1),
    ] {
        let inner = Naive::Placed {
            x: 2,
            y: 1,
            width: 30,
            height: 9,
            source: Box::new(Naive::Noise { seed: 8 }),
        };
        let tree = Naive::Fold(vec![
            (
                Fold::Base,
                Naive::Placed {
                    x,
                    y,
                    width,
                    height,
                    source: Box::new(inner),
                },
            ),
            (
                Fold::Mean,
                Naive::Placed {
                    x: 1,
                    y: 1,
                    width,
                    height,
                    source: Box::new(Naive::Constant(100)),
                },
            ),
        ]);
        both(&tree, band, band);
    }
}

fn placed(x: i64, y: i64, width: i64, height: i64, source: Naive) -> Naive {
    let source = Box::new(source);
    Naive::Placed {
        x,
        y,
        width,
        height,
        source,
    }
}

/// Mirrored along the rows, along the columns, or both.
fn flipped(axes: &[bool], (width, height): (i64, i64), source: Naive) -> Naive {
    axes.iter().fold(source, |source, horizontal| Naive::Mirrored {
        horizontal: *horizontal,
        side: if *horizontal { width } else { height },
        source: Box::new(source),
    })
}

#[test]
fn mirrored_rasters_of_every_kind_are_read_from_the_other_end() {
    let mut random = Random::new(12);
    let (width, height) = (45_i64, 21_i64);
    let sources: [&dyn Fn(&mut Random) -> Naive; 9] = [
        &|_| Naive::Constant(77),
        &|random| Naive::Plane {
            samples: samples(random, 13 * 9),
            width: 13,
            height: 9,
            x: 5,
            y: 3,
        },
        &|random| cell(random, 17, 5, 3, 2, -4),
        &|random| cell(random, 64, 0, 16, -3, 1),
        &|_| Naive::Ramp {
            horizontal: true,
            from: 3,
            to: 250,
            length: 45,
        },
        &|_| Naive::Ramp {
            horizontal: false,
            from: 200,
            to: 9,
            length: 21,
        },
        &|_| Naive::Disc {
            diameter: 19,
            value: 99,
        },
        &|_| Naive::Noise { seed: 31 },
        &|_| Naive::Threshold {
            level: 100,
            source: Box::new(Naive::Noise { seed: 4 }),
        },
    ];
    let raster = rect(0, 0, width as u64, height as u64);
    for source in sources {
        for axes in [&[true][..], &[false], &[true, false]] {
            let tree = flipped(axes, (width, height), source(&mut random));
            both(&tree, raster, raster);
            // A part of it, as a band of the raster.
            both(&tree, raster, rect(7, 5, 30, 9));
        }
    }
}

#[test]
fn mirrored_parts_of_trees_stand_where_they_are_placed() {
    let band = rect(0, 0, 71, 19);
    for (x, y) in [(0, 0), (3, 2), (-5, -6), (50, 11)] {
        let inner = || {
            let parts = vec![
                (Fold::Base, placed(2, 1, 20, 9, Naive::Noise { seed: 8 })),
                (
                    Fold::Max,
                    placed(
                        5,
                        2,
                        9,
                        7,
                        Naive::Ramp {
                            horizontal: true,
                            from: 9,
                            to: 255,
                            length: 9,
                        },
                    ),
                ),
            ];
            Naive::Fold(parts)
        };
        for axes in [&[true][..], &[false], &[true, false], &[true, true]] {
            let once = placed(x, y, 30, 13, flipped(axes, (30, 13), inner()));
            // What is mirrored lies in what is mirrored again, about another middle.
            let twice = flipped(&[true, false], (67, 17), once);
            let tree = Naive::Fold(vec![
                (Fold::Base, twice),
                (Fold::Add, flipped(axes, (71, 19), placed(x, y, 30, 13, inner()))),
            ]);
            both(&tree, band, band);
        }
    }
}

#[test]
fn mirrored_rasters_far_out_keep_their_phase() {
    let mut random = Random::new(13);
    let side = 1_i64 << 40;
    let far = side - 12_345;
    let band = rect(far, far - 77, 65, 9);
    for axes in [&[true][..], &[false], &[true, false]] {
        let tree = flipped(axes, (side, side), cell(&mut random, 97, 31, 11, -5, 1 << 33));
        both(&tree, band, band);
        // So few rows of a sheared cell are possible at once that the band takes several launches.
        let sheared = cell(&mut random, 200_000, 199_999, 1, 5, 3);
        both(&flipped(axes, (side, side), sheared), band, band);
    }
}

/// More rows than one launch of a sheared cell may have: each launch begins where the one before it ended.
#[test]
fn mirrored_sheared_cells_of_many_rows_are_launched_in_parts() {
    let Some(gpu) = device() else { return };
    let rows = 50_000_u64;
    let mut random = Random::new(14);
    let naive = flipped(
        &[false],
        (8, rows as i64),
        cell(&mut random, 100_003, 99_991, 1, 0, 0),
    );
    let expression = naive.on::<u8>(&gpu, CellLayout::Single);
    let band = rect(0, 0, 8, rows);
    let got: Vec<u8> = rendered(&gpu, &expression, band);
    for y in (0..rows as i64)
        .step_by(997)
        .chain([42_949, 42_950, 42_951, 7_048, 7_049, 7_050])
    {
        for x in 0..8 {
            assert_eq!(
                i128::from(got[y as usize * 8 + x as usize]),
                naive.at(x, y, 8),
                "at {x},{y}"
            );
        }
    }
}

#[test]
fn ramps_that_begin_within_a_word_do_not_touch_what_lies_before() {
    let ramp = |horizontal, from, to| Naive::Ramp {
        horizontal,
        from,
        to,
        length: 20,
    };
    let band = rect(0, 0, 45, 21);
    for start in 0..6 {
        for (from, to) in [(0, 255), (255, 0), (3, 9)] {
            both(&placed(start, 0, 20, 20, ramp(true, from, to)), band, band);
            both(&placed(0, start, 20, 20, ramp(false, from, to)), band, band);
        }
    }
}

#[test]
fn bands_of_a_raster_join_without_a_seam() {
    let mut random = Random::new(7);
    let tree = Naive::Fold(vec![
        (Fold::Base, cell(&mut random, 100, 37, 9, 4, 4)),
        (
            Fold::Max,
            Naive::Placed {
                x: 10,
                y: 7,
                width: 90,
                height: 40,
                source: Box::new(cell(&mut random, 64, 0, 64, 5, 9)),
            },
        ),
        (
            Fold::Mask,
            Naive::Disc {
                diameter: 120,
                value: 255,
            },
        ),
    ]);
    let raster = rect(0, 0, 131, 100);
    for (y, height) in [(0, 7), (7, 50), (57, 43)] {
        both(&tree, raster, rect(0, y, 131, height));
    }
}

#[test]
fn bands_that_do_not_fit_are_refused() {
    let Some(gpu) = device() else { return };
    let output = gpu.buffer(64).unwrap();
    let policy = Policy::for_device(&gpu);
    for (band, pitch) in [
        (rect(0, 0, 64, 5), 16),
        (rect(0, 0, 65, 1), 16),
        (rect(0, 0, 8, 2), 6),
    ] {
        let refused = render_with(
            &gpu,
            &policy,
            &Expression::Constant(1),
            Depth::Eight,
            band,
            band,
            &output,
            pitch,
        );
        assert!(refused.is_err(), "{band:?} {pitch}");
    }
}

/// The samples of a whole band, rows without what follows them.
fn rendered<S: Sample>(gpu: &Gpu, expression: &Expression, band: Rect) -> Vec<S> {
    let pitch = (band.width() as u32).div_ceil(16 / size_of::<S>() as u32) * 4;
    let output = gpu.buffer(pitch as usize * band.height() as usize).unwrap();
    let policy = Policy::for_device(gpu);
    render_with(gpu, &policy, expression, S::DEPTH, band, band, &output, pitch).unwrap();
    let bytes = gpu.read(&output, output.words()).wait().unwrap();
    unpack(&bytes, pitch as usize, band.width() as usize)
}

/// What rendering says instead of an image.
fn refusal(gpu: &Gpu, expression: &Expression, depth: Depth) -> String {
    let output = gpu.buffer(64).unwrap();
    let (policy, band) = (Policy::for_device(gpu), rect(0, 0, 8, 8));
    let refused = render_with(gpu, &policy, expression, depth, band, band, &output, 4);
    refused.unwrap_err().to_string()
}

#[test]
fn a_plane_lies_in_its_buffer_with_all_its_rows() {
    let Some(gpu) = device() else { return };
    let buffer = gpu.buffer(64).unwrap();
    let plane = |offset, pitch, width, height, depth| {
        Plane::new(buffer.clone(), offset, pitch, width, height, depth).is_some()
    };
    let eight = |offset, pitch, width, height| plane(offset, pitch, width, height, Depth::Eight);
    assert!(eight(0, 8, 32, 8));
    assert!(eight(0, 8, 29, 8), "a last word that is filled in part");
    // A window of a larger raster ends with its last row, not with a whole pitch.
    assert!(eight(3, 8, 20, 8));
    assert!(!eight(3, 8, 24, 8));
    assert!(!eight(0, 8, 32, 9));
    assert!(!eight(0, 8, 33, 8), "rows that overlap");
    assert!(eight(0, 0, 256, 1), "one row needs no pitch");
    assert!(!eight(0, 0, 257, 1));
    assert!(!eight(0, 0, 4, 2));
    assert!(!eight(0, 8, 0, 8));
    assert!(!eight(0, 8, 32, 0));
    assert!(!eight(64, 8, 1, 1));
    assert!(!eight(u32::MAX, u32::MAX, u32::MAX, u32::MAX));
    assert!(plane(0, 8, 16, 8, Depth::Sixteen));
    assert!(!plane(0, 8, 17, 8, Depth::Sixteen), "twice as many words a row");
}

#[test]
fn a_table_has_an_entry_for_every_sample() {
    let Some(gpu) = device() else { return };
    for (depth, words) in [(Depth::Eight, 64), (Depth::Sixteen, 32_768)] {
        assert_eq!(Table::words(depth), words);
        assert!(Table::new(gpu.buffer(words).unwrap(), depth).is_some());
        assert!(Table::new(gpu.buffer(words - 1).unwrap(), depth).is_none());
    }
}

#[test]
fn a_window_that_begins_inside_a_row_is_that_part_of_the_raster() {
    let Some(gpu) = device() else { return };
    // Rows of 8 words; the window has the words 5 to 7 of the last three, the last of which end the buffer.
    let bytes: Vec<u8> = (0..5 * 32).map(|i| (i * 37 % 251) as u8).collect();
    let (words, pitch) = pack(&bytes, 32);
    let plane = Plane::new(
        gpu.upload(&words).unwrap(),
        2 * pitch + 5,
        pitch,
        11,
        3,
        Depth::Eight,
    );
    let expression = Expression::Plane {
        plane: plane.unwrap(),
        x: 2,
        y: 1,
    };
    let got: Vec<u8> = rendered(&gpu, &expression, rect(0, 0, 40, 6));
    for y in 0..6 {
        for x in 0..40 {
            let inside = (2..13).contains(&x) && (1..4).contains(&y);
            let want = if inside { bytes[(y + 1) * 32 + 18 + x] } else { 0 };
            assert_eq!(got[y * 40 + x], want, "at {x},{y}");
        }
    }
}

#[test]
fn parts_of_one_buffer_are_planes_of_their_own() {
    let Some(gpu) = device() else { return };
    let words = [[0x0101_0101_u32; 64], [0x0202_0202; 64]].concat();
    let all = gpu.upload(&words).unwrap();
    let layer = |start| {
        let plane = Plane::new(all.part(start, 64).unwrap(), 0, 4, 16, 16, Depth::Eight);
        let plane = plane.unwrap();
        (Fold::Add, Expression::Plane { plane, x: 0, y: 0 })
    };
    let sum = Expression::Fold(vec![layer(0), layer(64), layer(0)]);
    let got: Vec<u8> = rendered(&gpu, &sum, rect(0, 0, 16, 16));
    assert_eq!(got, vec![4; 256]);
}

#[test]
fn samples_of_another_depth_are_refused() {
    let Some(gpu) = device() else { return };
    let words = gpu.buffer(32_768).unwrap();
    let plane = |depth| Expression::Plane {
        plane: Plane::new(words.clone(), 0, 8, 16, 8, depth).unwrap(),
        x: 0,
        y: 0,
    };
    let table = |depth| Expression::Table {
        table: Table::new(words.clone(), depth).unwrap(),
        source: Box::new(Expression::Constant(1)),
    };
    let period = Period::grid(4, 4).unwrap();
    let cell = |cell| Expression::Cell { cell, x: 0, y: 0 };
    let eight = cell(Cell::upload(&gpu, &[1_u8; 16], period, CellLayout::Single).unwrap());
    let sixteen = cell(Cell::upload(&gpu, &[1_u16; 16], period, CellLayout::Words).unwrap());
    for (expression, depth) in [
        (plane(Depth::Eight), Depth::Sixteen),
        (plane(Depth::Sixteen), Depth::Eight),
        (table(Depth::Eight), Depth::Sixteen),
        (table(Depth::Sixteen), Depth::Eight),
        (eight, Depth::Sixteen),
        (sixteen, Depth::Eight),
    ] {
        let reason = refusal(&gpu, &expression, depth);
        assert!(
            reason.contains("8 bits") && reason.contains("16 bits"),
            "{reason}"
        );
    }
}

#[test]
fn coordinates_and_sides_beyond_all_rasters_are_refused() {
    let Some(gpu) = device() else { return };
    let far = |x, y| Expression::Placed {
        x,
        y,
        width: u64::MAX,
        height: 1,
        source: Box::new(Expression::Constant(1)),
    };
    let nested = Expression::Placed {
        x: 1 << 49,
        y: 0,
        width: 8,
        height: 8,
        source: Box::new(far(1 << 50, 0)),
    };
    let ramp = Expression::Ramp {
        axis: Axis::X,
        from: 0,
        to: 9,
        length: u64::MAX,
    };
    let disc = Expression::Disc {
        diameter: u64::MAX,
        value: 1,
    };
    // What lies where nothing is seen is not looked at: it is 0, however far out its own parts are.
    assert_eq!(rendered::<u8>(&gpu, &nested, rect(0, 0, 8, 8)), [0; 64]);
    let mirror = |axis, side| Expression::Mirrored {
        axis,
        side,
        source: Box::new(Expression::Constant(1)),
    };
    let (wide, high) = (mirror(Axis::X, u64::MAX), mirror(Axis::Y, (1 << 40) + 1));
    for expression in [far(i64::MAX, 0), far(0, i64::MIN), ramp, disc, wide, high] {
        let reason = refusal(&gpu, &expression, Depth::Eight);
        // Coordinates, or a side of more than 2^40 pixels.
        let says = reason.contains("at most 1125899906842624 pixels from the origin")
            || reason.contains("at most 1099511627776 pixels");
        assert!(says, "{expression:?}: {reason}");
    }
}

#[test]
fn policies_that_no_kernel_has_are_refused() {
    let Some(gpu) = device() else { return };
    let usual = Policy::for_device(&gpu);
    let (output, band) = (gpu.buffer(64).unwrap(), rect(0, 0, 8, 8));
    for policy in [
        Policy { units: 0, ..usual },
        Policy {
            units: 1 << 30,
            ..usual
        },
        Policy { rows: 0, ..usual },
        Policy { unroll: 0, ..usual },
        Policy {
            unroll: u32::MAX,
            ..usual
        },
        Policy { lanes: 0, ..usual },
        Policy { lanes: 3, ..usual },
    ] {
        let noise = Expression::Noise { seed: 1 };
        let refused = render_with(&gpu, &policy, &noise, Depth::Eight, band, band, &output, 4);
        assert!(refused.is_err(), "{policy:?}");
    }
}
