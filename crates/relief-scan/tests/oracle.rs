//! Every line of every scan against a machine that holds the whole raster and follows the description word by word.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;
use relief_engine::{Cancel, Raster, Rect, SamplesMut};
use relief_raster::Depth;
use relief_scan::{
    Axis, BitOrder, Bits, Block, ByteOrder, Corner, DiffusionState, Direction, Encoding, Halftone,
    Interleave, Lines, Mirror, Packing, Passes, Polarity, Program, Quarters, Scan, Stripe, Swath, Table,
    Tables, Windows, bayer, blue_noise, runs, unpack,
};

/// A raster in memory.
#[derive(Debug, Clone)]
struct Whole {
    width: usize,
    height: usize,
    depth: Depth,
    samples: Vec<u16>,
}

impl Windows for Whole {
    fn raster(&self) -> Raster {
        Raster::new(self.width as u64, self.height as u64, self.depth)
    }

    fn read(&self, window: Rect, out: SamplesMut<'_>, _: &Cancel) -> Result<(), relief_engine::Error> {
        let (x, y) = (window.x() as usize, window.y() as usize);
        let (w, h) = (window.width() as usize, window.height() as usize);
        assert!(
            x + w <= self.width && y + h <= self.height,
            "a window outside the raster"
        );
        let at = |index: usize| self.samples[(y + index / w) * self.width + x + index % w];
        match out {
            SamplesMut::Eight(out) => {
                assert_eq!(out.len(), w * h);
                out.iter_mut()
                    .enumerate()
                    .for_each(|(index, out)| *out = at(index) as u8);
            }
            SamplesMut::Sixteen(out) => {
                assert_eq!(out.len(), w * h);
                out.iter_mut()
                    .enumerate()
                    .for_each(|(index, out)| *out = at(index));
            }
        }
        Ok(())
    }
}

type Picture = Vec<Vec<u16>>;

fn mirrored(picture: &Picture, mirror: Mirror) -> Picture {
    match mirror {
        Mirror::None => picture.clone(),
        Mirror::Horizontal => picture
            .iter()
            .map(|row| row.iter().rev().copied().collect())
            .collect(),
        Mirror::Vertical => picture.iter().rev().cloned().collect(),
    }
}

/// A quarter turn clockwise: the bottom row becomes the left column.
fn turned(picture: &Picture) -> Picture {
    (0..picture[0].len())
        .map(|x| picture.iter().rev().map(|row| row[x]).collect())
        .collect()
}

fn columns(picture: &Picture) -> Picture {
    (0..picture[0].len())
        .map(|x| picture.iter().map(|row| row[x]).collect())
        .collect()
}

/// The pixels in lines, as the machine counts them.
fn laid(raster: &Whole, scan: &Scan) -> Picture {
    let mut picture: Picture = raster.samples.chunks(raster.width).map(<[u16]>::to_vec).collect();
    picture = mirrored(&picture, scan.mirror);
    let turns = [Quarters::None, Quarters::One, Quarters::Two, Quarters::Three];
    for _ in 0..turns.iter().position(|&turn| turn == scan.rotate).unwrap() {
        picture = turned(&picture);
    }
    if matches!(scan.start, Corner::TopRight | Corner::BottomRight) {
        picture = mirrored(&picture, Mirror::Horizontal);
    }
    if matches!(scan.start, Corner::BottomLeft | Corner::BottomRight) {
        picture = mirrored(&picture, Mirror::Vertical);
    }
    if scan.axis == Axis::Column {
        columns(&picture)
    } else {
        picture
    }
}

fn grays(raster: &Whole, scan: &Scan, tables: &Tables, pass: u64, v: u16) -> u16 {
    let max = raster.depth.max();
    let v = tables
        .material
        .as_ref()
        .map_or(v, |table| table.entries()[v as usize]);
    let (wide, limit) = (u64::from(v), u64::from(max));
    let fire = |on: bool| if on { max } else { 0 };
    let v = match &scan.passes {
        Passes::One => v,
        Passes::Even { count } => fire(pass < (wide * u64::from(*count)).div_ceil(limit)),
        Passes::Listed { thresholds } => fire(v >= thresholds[pass as usize]),
        Passes::Curve { count, exponent } => {
            fire(f64::from(v) > (pass as f64 / f64::from(*count)).powf(*exponent) * f64::from(max))
        }
        Passes::Share { count } => {
            let upto = |n: u64| n * wide / u64::from(*count);
            (upto(pass + 1) - upto(pass)) as u16
        }
    };
    tables
        .machine
        .as_ref()
        .map_or(v, |table| table.entries()[v as usize])
}

fn screened(raster: &Whole, scan: &Scan, picture: &mut Picture) {
    let max = u64::from(raster.depth.max());
    let halftone = match scan.halftone {
        None if scan.packing.bits == Bits::One => Halftone::Threshold {
            level: raster.depth.max() / 2 + 1,
        },
        None => return,
        Some(halftone) => halftone,
    };
    if halftone == Halftone::FloydSteinberg {
        return diffused(raster.depth.max(), picture);
    }
    for (j, row) in picture.iter_mut().enumerate() {
        for (i, v) in row.iter_mut().enumerate() {
            let ordered = |ranks: &[u32], n: usize| {
                let rank = u64::from(ranks[j % n * n + i % n]);
                2 * u64::from(*v) * (n * n) as u64 > (2 * rank + 1) * max
            };
            let on = match halftone {
                Halftone::Threshold { level } => *v >= level,
                Halftone::Bayer { size } => ordered(&bayer(size), size as usize),
                _ => ordered(blue_noise(), 64),
            };
            *v = if on { max as u16 } else { 0 };
        }
    }
}

/// Errors are kept for the whole picture at once.
fn diffused(max: u16, picture: &mut Picture) {
    let (height, width) = (picture.len() as i64, picture[0].len() as i64);
    let mut given = vec![vec![0_i64; width as usize]; height as usize];
    for j in 0..height {
        for i in 0..width {
            let v = i64::from(picture[j as usize][i as usize]);
            let wanted = v + (given[j as usize][i as usize] + 8).div_euclid(16);
            let out = if 2 * wanted > i64::from(max) {
                i64::from(max)
            } else {
                0
            };
            picture[j as usize][i as usize] = out as u16;
            for (di, dj, weight) in [(1, 0, 7), (-1, 1, 3), (0, 1, 5), (1, 1, 1)] {
                let (x, y) = (i + di, j + dj);
                if (0..width).contains(&x) && y < height {
                    given[y as usize][x as usize] += weight * (wanted - out);
                }
            }
        }
    }
}

fn starts(whole: usize, size: usize, overlap: usize) -> Vec<usize> {
    let mut starts = vec![0];
    while starts.last().unwrap() + size < whole {
        starts.push(starts.last().unwrap() + size - overlap);
    }
    starts
}

/// All lines as values, before packing.
fn expected(raster: &Whole, scan: &Scan, tables: &Tables, passes: u32) -> Vec<Vec<u16>> {
    let mut lines = Vec::new();
    for pass in 0..u64::from(passes) {
        let mut picture = laid(raster, scan);
        picture
            .iter_mut()
            .flatten()
            .for_each(|v| *v = grays(raster, scan, tables, pass, *v));
        screened(raster, scan, &mut picture);
        let length = picture[0].len();
        let stripe = scan.stripe.map_or(length, |stripe| stripe.width as usize);
        let overlap = scan.stripe.map_or(0, |stripe| stripe.overlap as usize);
        let swath = scan.swath.unwrap_or(Swath { lines: 1, overlap: 0 });
        for left in starts(length, stripe, overlap) {
            let tops = starts(picture.len(), swath.lines as usize, swath.overlap as usize);
            let every = scan.interleave.0 as usize;
            let order = (0..every).flat_map(|class| (class..tops.len()).step_by(every));
            for (number, index) in order.enumerate() {
                let top = tops[index];
                let at = |i: usize, j: usize| picture.get(j).and_then(|row| row.get(i)).copied().unwrap_or(0);
                let position = |i: usize| (0..swath.lines as usize).map(move |channel| at(i, top + channel));
                let blank = |count: u32| vec![vec![0; swath.lines as usize]; count as usize];
                let mut positions: Vec<Vec<u16>> =
                    (left..left + stripe).map(|i| position(i).collect()).collect();
                if scan.direction == Direction::Serpentine && number % 2 == 1 {
                    positions.reverse();
                }
                let run = [blank(scan.overscan.0), positions, blank(scan.overscan.1)].concat();
                lines.push(run.concat());
            }
        }
    }
    lines
}

/// What a controller sees of a sample.
fn seen(depth: Depth, bits: Bits, v: u16) -> u16 {
    match (depth, bits) {
        (_, Bits::One) => u16::from(v > 0),
        (Depth::Eight, Bits::Eight) | (Depth::Sixteen, Bits::Sixteen) => v,
        (Depth::Eight, Bits::Sixteen) => v * 257,
        (Depth::Sixteen, Bits::Eight) => ((u32::from(v) + 128) / 257) as u16,
    }
}

fn check(raster: &Whole, scan: &Scan, tables: &Tables, runs_of: &[u64], memory: u64) {
    let program = Program::new(scan, tables, &raster.raster()).unwrap();
    let wanted = expected(raster, scan, tables, program.passes());
    assert_eq!(program.lines(), wanted.len() as u64);
    let mut lines = Lines::new(&program, raster, memory).unwrap();
    let (mut next, mut block) = (0, Block::default());
    for count in runs_of.iter().cycle() {
        let count = (*count).clamp(1, lines.most()).min(program.lines() - next);
        lines.read(next, count, &mut block, &Cancel::new()).unwrap();
        assert_eq!((block.first, block.lines()), (next, count));
        for index in 0..count {
            let bytes = block.line(index as usize);
            let wanted = &wanted[(next + index) as usize];
            let values = if scan.run_length {
                assert!(bytes.len() as u64 <= program.encoding().most());
                let max = match scan.packing.bits {
                    Bits::One => 1,
                    Bits::Eight => 255,
                    Bits::Sixteen => 65_535,
                };
                let values = runs::decode(scan.packing, bytes, wanted.len()).unwrap();
                let undo = |v: u16| {
                    if scan.packing.polarity == Polarity::Inverted {
                        max - v
                    } else {
                        v
                    }
                };
                values.into_iter().map(undo).collect()
            } else {
                assert_eq!(Encoding::Fixed(bytes.len() as u64), program.encoding());
                unpack(scan.packing, bytes, wanted.len())
            };
            let wanted: Vec<u16> = wanted
                .iter()
                .map(|&v| seen(raster.depth, scan.packing.bits, v))
                .collect();
            assert_eq!(
                values,
                wanted,
                "line {} {:?}",
                next + index,
                program.travel(next + index)
            );
        }
        next += count;
        if next == program.lines() {
            return;
        }
    }
}

fn raster() -> impl Strategy<Value = Whole> {
    (1_usize..40, 1_usize..30, any::<bool>(), any::<u64>(), 0_u8..4).prop_map(
        |(width, height, deep, seed, calm)| {
            let depth = if deep { Depth::Sixteen } else { Depth::Eight };
            let mut state = seed | 1;
            let mut draw = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state
            };
            let mut last = 0;
            let samples = (0..width * height)
                .map(|_| {
                    // Some rasters have long runs.
                    if draw() % 4 >= u64::from(calm) {
                        last = (draw() % (u64::from(depth.max()) + 1)) as u16;
                    }
                    last
                })
                .collect();
            Whole {
                width,
                height,
                depth,
                samples,
            }
        },
    )
}

fn passes() -> impl Strategy<Value = Passes> {
    prop_oneof![
        3 => Just(Passes::One),
        1 => (1_u32..5).prop_map(|count| Passes::Even { count }),
        1 => prop::collection::vec(0_u16..256, 1..4).prop_map(|thresholds| Passes::Listed { thresholds }),
        1 => (1_u32..4, 0.3_f64..3.0).prop_map(|(count, exponent)| Passes::Curve { count, exponent }),
        1 => (1_u32..5).prop_map(|count| Passes::Share { count }),
    ]
}

fn halftone() -> impl Strategy<Value = Option<Halftone>> {
    prop_oneof![
        3 => Just(None),
        1 => (0_u16..256).prop_map(|level| Some(Halftone::Threshold { level })),
        1 => prop::sample::select(vec![2, 4, 8, 16]).prop_map(|size| Some(Halftone::Bayer { size })),
        1 => Just(Some(Halftone::BlueNoise)),
        3 => Just(Some(Halftone::FloydSteinberg)),
    ]
}

fn packing() -> impl Strategy<Value = Packing> {
    (
        prop::sample::select(vec![Bits::One, Bits::Eight, Bits::Sixteen]),
        prop::sample::select(vec![BitOrder::MostFirst, BitOrder::LeastFirst]),
        prop::sample::select(vec![ByteOrder::Little, ByteOrder::Big]),
        prop::sample::select(vec![Polarity::Normal, Polarity::Inverted]),
    )
        .prop_map(|(bits, bit_order, byte_order, polarity)| Packing {
            bits,
            bit_order,
            byte_order,
            polarity,
        })
}

prop_compose! {
    fn scan()(
        mirror in prop::sample::select(vec![Mirror::None, Mirror::Horizontal, Mirror::Vertical]),
        rotate in prop::sample::select(vec![Quarters::None, Quarters::One, Quarters::Two, Quarters::Three]),
        axis in prop::sample::select(vec![Axis::Row, Axis::Column]),
        start in prop::sample::select(vec![Corner::TopLeft, Corner::TopRight, Corner::BottomLeft, Corner::BottomRight]),
        direction in prop::sample::select(vec![Direction::Unidirectional, Direction::Serpentine]),
        interleave in prop_oneof![2 => Just(1_u32), 1 => 2_u32..6],
        stripe in prop::option::of((1_u64..30, 0_u64..30)),
        swath in prop::option::of((1_u32..6, 0_u32..6)),
        overscan in (0_u32..4, 0_u32..4),
        passes in passes(),
        halftone in halftone(),
        packing in packing(),
        run_length in any::<bool>(),
    ) -> Scan {
        // Shares on lines of 1 bit are refused without a halftone.
        let lost = matches!(passes, Passes::Share { .. }) && packing.bits == Bits::One;
        let halftone = halftone.or(lost.then_some(Halftone::Threshold { level: 60 }));
        Scan {
            mirror, rotate, axis, start, direction, overscan, passes, halftone, packing, run_length,
            interleave: Interleave(interleave),
            stripe: stripe.map(|(width, overlap)| Stripe { width, overlap: overlap % width }),
            swath: swath.map(|(lines, overlap)| Swath { lines, overlap: overlap % lines }),
        }
    }
}

fn tables(depth: Depth, seed: u16) -> Tables {
    let table = |name, add: u16| {
        let entries = (0..=depth.max())
            .map(|v| v.wrapping_mul(31).wrapping_add(add) & depth.max())
            .collect();
        Table::new(name, depth, entries).unwrap()
    };
    Tables {
        material: (seed % 3 == 1).then(|| table("steel", seed)),
        machine: (seed % 3 == 2).then(|| table("laser", seed)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn every_line_is_what_the_description_says(
        raster in raster(),
        scan in scan(),
        counts in prop::collection::vec(1_u64..20, 1..4),
        table in any::<u16>(),
    ) {
        check(&raster, &scan, &tables(raster.depth, table), &counts, 16 << 20);
    }

    #[test]
    fn a_job_may_begin_at_any_line(raster in raster(), scan in scan(), at in any::<prop::sample::Index>()) {
        let tables = Tables::default();
        let program = Program::new(&scan, &tables, &raster.raster()).unwrap();
        let (mut all, mut part) = (Block::default(), Block::default());
        let cancel = Cancel::new();
        let count = program.lines().min(400);
        let mut lines = Lines::new(&program, &raster, 64 << 20).unwrap();
        lines.read(0, count, &mut all, &cancel).unwrap();
        let first = at.index(count as usize);
        // The same reader, which has passed the line before, and a new one.
        lines.read(first as u64, 1, &mut part, &cancel).unwrap();
        prop_assert_eq!(part.line(0), all.line(first));
        Lines::new(&program, &raster, 64 << 20).unwrap().read(first as u64, 1, &mut part, &cancel).unwrap();
        prop_assert_eq!(part.line(0), all.line(first));
    }

    #[test]
    fn error_diffusion_goes_on_from_a_stored_state(
        raster in raster(),
        scan in scan(),
        at in any::<prop::sample::Index>(),
        noise in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let scan = Scan { halftone: Some(Halftone::FloydSteinberg), ..scan };
        let program = Program::new(&scan, &Tables::default(), &raster.raster()).unwrap();
        let cancel = Cancel::new();
        let count = program.lines().min(400);
        let first = at.index(count as usize) as u64;
        let (mut all, mut rest) = (Block::default(), Block::default());
        let mut lines = Lines::new(&program, &raster, 64 << 20).unwrap();
        lines.read(0, count, &mut all, &cancel).unwrap();
        let mut lines = Lines::new(&program, &raster, 64 << 20).unwrap();
        prop_assert!(lines.diffusion().is_none());
        lines.read(0, first.max(1), &mut rest, &cancel).unwrap();
        let bytes = lines.diffusion().unwrap().encode();
        prop_assert!(bytes.len() as u64 <= program.diffusion_bytes() + 64);
        let stored = DiffusionState::decode(&bytes, &program).unwrap();
        let mut other = Lines::new(&program, &raster, 64 << 20).unwrap();
        other.take_up(&stored).unwrap();
        other.read(first, count - first, &mut rest, &cancel).unwrap();
        for line in first..count {
            prop_assert_eq!(rest.line((line - first) as usize), all.line(line as usize));
        }
        // What is cut short, too long or no state at all is none.
        prop_assert!(DiffusionState::decode(&bytes[..bytes.len() - 1], &program).is_none());
        prop_assert!(DiffusionState::decode(&[bytes.as_slice(), &[0]].concat(), &program).is_none());
        prop_assert!(DiffusionState::decode(&noise, &program).is_none());
        let huge = [&bytes[..16], &[0xFF; 24], &bytes[40..]].concat();
        prop_assert!(DiffusionState::decode(&huge, &program).is_none());
    }

    #[test]
    fn the_memory_said_for_some_lines_is_enough_for_them(raster in raster(), scan in scan(), lines in 1_u64..500) {
        let program = Program::new(&scan, &Tables::default(), &raster.raster()).unwrap();
        let lines = lines.min(program.lines());
        let made = Lines::new(&program, &raster, program.making_bytes(lines)).unwrap();
        prop_assert!(made.most() >= lines, "{} of {lines}", made.most());
    }

    #[test]
    fn settings_survive_json(scan in scan()) {
        let text = serde_json::to_string(&scan).unwrap();
        prop_assert_eq!(serde_json::from_str::<Scan>(&text).unwrap(), scan);
    }
}

#[test]
fn blue_noise_ranks_every_cell_once_and_keeps_set_cells_apart() {
    let ranks = blue_noise();
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    assert!(
        sorted
            .iter()
            .enumerate()
            .all(|(rank, &found)| rank as u32 == found)
    );
    // Of the first 5 % no two touch, not even over the edges: white noise would have hundreds of such pairs.
    let set = |x: usize, y: usize| ranks[y % 64 * 64 + x % 64] < 204;
    let near = [(1, 0), (0, 1), (1, 1), (63, 1)];
    let touching = (0..4096).filter(|cell| {
        let (x, y) = (cell % 64, cell / 64);
        set(x, y) && near.iter().any(|(dx, dy)| set(x + dx, y + dy))
    });
    assert_eq!(touching.count(), 0);
}

#[test]
fn bayer_of_four_is_the_published_matrix() {
    assert_eq!(bayer(4), [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5]);
}

#[test]
fn even_slices_fire_once_for_each_step_of_height() {
    let raster = Whole {
        width: 256,
        height: 1,
        depth: Depth::Eight,
        samples: (0..256).collect(),
    };
    let scan = Scan {
        passes: Passes::Even { count: 255 },
        ..Scan::default()
    };
    let program = Program::new(&scan, &Tables::default(), &raster.raster()).unwrap();
    let mut block = Block::default();
    let mut lines = Lines::new(&program, &raster, 16 << 20).unwrap();
    lines.read(0, 255, &mut block, &Cancel::new()).unwrap();
    for v in 0..256 {
        let fired = (0..255).filter(|&pass| block.line(pass)[v] == 255).count();
        assert_eq!(fired, v);
    }
}

#[test]
fn a_line_that_does_not_fit_is_refused_with_what_would_help() {
    let raster = Raster::new(1 << 30, 4, Depth::Eight);
    struct Nothing(Raster);
    impl Windows for Nothing {
        fn raster(&self) -> Raster {
            self.0
        }
        fn read(&self, _: Rect, _: SamplesMut<'_>, _: &Cancel) -> Result<(), relief_engine::Error> {
            Ok(())
        }
    }
    let program = Program::new(&Scan::default(), &Tables::default(), &raster).unwrap();
    let refused = Lines::new(&program, &Nothing(raster), 1 << 20)
        .unwrap_err()
        .to_string();
    assert!(refused.contains("narrower stripes"), "{refused}");
    let striped = Scan {
        stripe: Some(Stripe {
            width: 4096,
            overlap: 0,
        }),
        ..Scan::default()
    };
    let program = Program::new(&striped, &Tables::default(), &raster).unwrap();
    assert!(Lines::new(&program, &Nothing(raster), 1 << 20).is_ok());
}

#[test]
fn a_stored_state_of_error_diffusion_saves_the_lines_before() {
    /// Counts the rows that are read.
    struct Counted(std::sync::atomic::AtomicU64);
    impl Windows for Counted {
        fn raster(&self) -> Raster {
            Raster::new(100, 100_000, Depth::Eight)
        }
        fn read(&self, window: Rect, out: SamplesMut<'_>, _: &Cancel) -> Result<(), relief_engine::Error> {
            self.0
                .fetch_add(window.height(), std::sync::atomic::Ordering::Relaxed);
            if let SamplesMut::Eight(out) = out {
                out.fill(window.y() as u8);
            }
            Ok(())
        }
    }
    let raster = Counted(std::sync::atomic::AtomicU64::new(0));
    let scan = Scan {
        halftone: Some(Halftone::FloydSteinberg),
        ..Scan::default()
    };
    let program = Program::new(&scan, &Tables::default(), &raster.raster()).unwrap();
    let (mut block, cancel) = (Block::default(), Cancel::new());
    let mut lines = Lines::new(&program, &raster, 1 << 20).unwrap();
    lines.read(90_000, 10, &mut block, &cancel).unwrap();
    let state = lines.diffusion().unwrap();
    let before = raster.0.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(before, 90_010);
    let mut lines = Lines::new(&program, &raster, 1 << 20).unwrap();
    lines.take_up(&state).unwrap();
    lines.read(90_020, 10, &mut block, &cancel).unwrap();
    assert_eq!(raster.0.load(std::sync::atomic::Ordering::Relaxed) - before, 20);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let raster = Raster::new(100, 100, Depth::Eight);
    let refused = |scan: Scan| {
        Program::new(&scan, &Tables::default(), &raster)
            .unwrap_err()
            .to_string()
    };
    let scan = Scan::default;
    assert!(
        refused(Scan {
            interleave: Interleave(0),
            ..scan()
        })
        .starts_with("interleave")
    );
    assert!(
        refused(Scan {
            stripe: Some(Stripe { width: 4, overlap: 4 }),
            ..scan()
        })
        .starts_with("stripe")
    );
    assert!(
        refused(Scan {
            swath: Some(Swath { lines: 2, overlap: 3 }),
            ..scan()
        })
        .starts_with("swath")
    );
    let ones = Packing {
        bits: Bits::One,
        ..Packing::default()
    };
    let shares = Scan {
        passes: Passes::Share { count: 3 },
        packing: ones,
        ..scan()
    };
    assert!(refused(shares.clone()).starts_with("passes"));
    let dots = Scan {
        halftone: Some(Halftone::BlueNoise),
        ..shares
    };
    assert!(Program::new(&dots, &Tables::default(), &raster).is_ok());
    assert!(
        refused(Scan {
            passes: Passes::Even { count: 0 },
            ..scan()
        })
        .starts_with("passes")
    );
    assert!(
        refused(Scan {
            passes: Passes::Listed {
                thresholds: vec![256]
            },
            ..scan()
        })
        .starts_with("passes")
    );
    let curve = Passes::Curve {
        count: 2,
        exponent: f64::NAN,
    };
    assert!(
        refused(Scan {
            passes: curve,
            ..scan()
        })
        .starts_with("passes")
    );
    assert!(
        refused(Scan {
            halftone: Some(Halftone::Bayer { size: 3 }),
            ..scan()
        })
        .starts_with("halftone")
    );
    assert!(
        refused(Scan {
            overscan: (u32::MAX, u32::MAX),
            ..scan()
        })
        .starts_with("stripe")
    );
    let deep = Table::new("deep", Depth::Sixteen, (0..=65_535).collect()).unwrap();
    let tables = Tables {
        material: Some(deep),
        machine: None,
    };
    assert!(Program::new(&scan(), &tables, &raster).is_err());
}

#[test]
fn tables_run_straight_between_their_points() {
    let table = Table::parse(
        r#"{"name": "steel", "points": [[10, 0], [20, 5], [21, 255]]}"#,
        Depth::Eight,
    )
    .unwrap();
    let entries = table.entries();
    assert_eq!(
        (
            entries[0],
            entries[10],
            entries[15],
            entries[11],
            entries[20],
            entries[21]
        ),
        (0, 0, 3, 1, 5, 255)
    );
    assert_eq!(entries[255], 255);
    for wrong in [
        r#"{"name": "x", "points": []}"#,
        r#"{"name": "x", "points": [[2, 1], [1, 2]]}"#,
        r#"{"name": "x", "points": [[0, 256]]}"#,
        r#"{"name": "x", "entries": [1]}"#,
        r#"{"name": "", "points": [[0, 1]]}"#,
        r#"{"name": "x"}"#,
        "",
    ] {
        assert!(Table::parse(wrong, Depth::Eight).is_err(), "{wrong}");
    }
}
