//! Every line of every scan against a machine that holds the whole raster and follows the description word by word.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod gcode;

use std::collections::BTreeMap;

use proptest::prelude::*;
use relief_engine::sink::{Band, Samples, Sink};
use relief_engine::{Cancel, Raster, Rect, SamplesMut};
use relief_raster::Depth;
use relief_scan::{
    Axis, BitOrder, Bits, Block, ByteOrder, Corner, DiffusionState, Direction, Dot, Encoding, Halftone,
    Interleave, Layers, Lines, Mirror, Packing, PassAxes, Passes, Polarity, Program, Quarters, Scan, Screen,
    Stripe, Swath, Table, Tables, Windows, bayer, blue_noise, blue_noise_of_256, runs, unpack,
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

/// A sink that keeps all samples.
struct Kept(Vec<u16>);

impl Sink for Kept {
    fn memory(&self, _: &Raster) -> u64 {
        0
    }

    fn begin(&mut self, _: &Raster) -> std::io::Result<()> {
        Ok(())
    }

    fn write(&mut self, band: &Band<'_>) -> std::io::Result<()> {
        match band.samples {
            Samples::Eight(samples) => self.0.extend(samples.iter().map(|&v| u16::from(v))),
            Samples::Sixteen(samples) => self.0.extend_from_slice(samples),
        }
        Ok(())
    }

    fn finish(&mut self) -> std::io::Result<()> {
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
    if let Some((divisor, rows, serpentine)) = kernel(halftone) {
        return diffused(raster.depth.max(), picture, divisor, rows, serpentine);
    }
    let dots = match halftone {
        Halftone::Screen(screen) => dots(screen),
        _ => BTreeMap::new(),
    };
    for (j, row) in picture.iter_mut().enumerate() {
        for (i, v) in row.iter_mut().enumerate() {
            let fires = |rank: u64, cells: u64| 2 * u64::from(*v) * cells > (2 * rank + 1) * max;
            let ordered = |ranks: &[u32], n: usize, spot: u32| {
                let (i, j) = (i / spot as usize, j / spot as usize);
                fires(ranks[j % n * n + i % n].into(), (n * n) as u64)
            };
            let on = match halftone {
                Halftone::Threshold { level } => *v >= level,
                Halftone::Bayer { size, spot } => ordered(&bayer(size), size as usize, spot),
                Halftone::BlueNoise { size: 64, spot } => ordered(blue_noise(), 64, spot),
                Halftone::BlueNoise { size: 256, spot } => ordered(blue_noise_of_256(), 256, spot),
                Halftone::Screen(screen) => {
                    let place = dots
                        .keys()
                        .find(|place| is_copy(screen, **place, (i as i64, j as i64)));
                    fires(dots[place.unwrap()], dots.len() as u64)
                }
                other => panic!("{other:?}"),
            };
            *v = if on { max as u16 } else { 0 };
        }
    }
}

/// Whether two pixels lie a vector of the screen's period apart: both coordinates along its two vectors are whole.
fn is_copy(screen: Screen, one: (i64, i64), other: (i64, i64)) -> bool {
    let (a, b) = (i64::from(screen.vector.0), i64::from(screen.vector.1));
    let (x, y) = (other.0 - one.0, other.1 - one.1);
    let area = a * a + b * b;
    (x * a - y * b) % area == 0 && (x * b + y * a) % area == 0
}

/// The ranks of all pixels of a period of a screen: rows from the top as long as no row repeats the first, and columns as long as
/// none repeats within a row.
fn dots(screen: Screen) -> BTreeMap<(i64, i64), u64> {
    let (a, b) = (f64::from(screen.vector.0), f64::from(screen.vector.1));
    let (n, area) = (f64::from(screen.cells), a * a + b * b);
    let repeats = |x: i64, y: i64| is_copy(screen, (0, 0), (x, y));
    let width = (1..).find(|&x| repeats(x, 0)).unwrap();
    let height = (1..).find(|&y| (0..width).any(|x| repeats(x, y))).unwrap();
    let mut pixels: Vec<(i64, i64, i64)> = (0..height)
        .flat_map(|y| (0..width).map(move |x| (y, x)))
        .map(|(y, x)| {
            let (px, py) = (x as f64 + 0.5, y as f64 + 0.5);
            // From −1 to 1 around a dot, times the area: whole numbers.
            let around = |along: f64| {
                let dots = n * along / area;
                ((2.0 * (dots - dots.floor()) - 1.0) * area).round() as i64
            };
            // What is a dot away by rounding is the same place.
            let around = |along: f64| {
                if around(along) == area as i64 {
                    -(area as i64)
                } else {
                    around(along)
                }
            };
            let (s, t) = (around(a * px - b * py), around(b * px + a * py));
            let value = match screen.dot {
                Dot::Round => s * s + t * t,
                Dot::Ellipse => 4 * s * s + 9 * t * t,
                Dot::Line => t.abs(),
                Dot::Diamond => s.abs() + t.abs(),
            };
            (value, y, x)
        })
        .collect();
    pixels.sort_unstable();
    assert_eq!(pixels.len(), area as usize);
    pixels
        .into_iter()
        .zip(0..)
        .map(|((_, y, x), rank)| ((x, y), rank))
        .collect()
}

/// D, the weights of this line and the next ones, centred, and whether lines run back.
type Weights = &'static [&'static [i64]];
fn kernel(halftone: Halftone) -> Option<(i64, Weights, bool)> {
    match halftone {
        Halftone::FloydSteinberg { serpentine } => Some((16, &[&[0, 0, 7], &[3, 5, 1]], serpentine)),
        Halftone::Jarvis { serpentine } => Some((
            48,
            &[&[0, 0, 0, 7, 5], &[3, 5, 7, 5, 3], &[1, 3, 5, 3, 1]],
            serpentine,
        )),
        Halftone::Stucki { serpentine } => Some((
            42,
            &[&[0, 0, 0, 8, 4], &[2, 4, 8, 4, 2], &[1, 2, 4, 2, 1]],
            serpentine,
        )),
        Halftone::Atkinson { serpentine } => Some((
            8,
            &[&[0, 0, 0, 1, 1], &[0, 1, 1, 1, 0], &[0, 0, 1, 0, 0]],
            serpentine,
        )),
        _ => None,
    }
}

/// Errors are kept for the whole picture at once.
fn diffused(max: u16, picture: &mut Picture, divisor: i64, rows: Weights, serpentine: bool) {
    let (height, width) = (picture.len() as i64, picture[0].len() as i64);
    let mut given = vec![vec![0_i64; width as usize]; height as usize];
    for j in 0..height {
        let back = serpentine && j % 2 == 1;
        for step in 0..width {
            let i = if back { width - 1 - step } else { step };
            let v = i64::from(picture[j as usize][i as usize]);
            let wanted = v + (given[j as usize][i as usize] + divisor / 2).div_euclid(divisor);
            let out = if 2 * wanted > i64::from(max) {
                i64::from(max)
            } else {
                0
            };
            picture[j as usize][i as usize] = out as u16;
            for (dj, weights) in rows.iter().enumerate() {
                for (place, weight) in weights.iter().enumerate() {
                    let ahead = place as i64 - weights.len() as i64 / 2;
                    let (x, y) = (if back { i - ahead } else { i + ahead }, j + dj as i64);
                    if (0..width).contains(&x) && y < height {
                        given[y as usize][x as usize] += weight * (wanted - out);
                    }
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

/// The scan of a pass alone, whose lines may lie along the other axis.
fn of_pass(scan: &Scan, pass: u64) -> Scan {
    let mut scan = scan.clone();
    if scan.pass_axes == PassAxes::Alternate && pass % 2 == 1 {
        scan.axis = match scan.axis {
            Axis::Row => Axis::Column,
            Axis::Column => Axis::Row,
        };
    }
    scan
}

/// A line whose positions come later by so many 256ths of one: each is shared out over the two places that it then covers.
fn moved(run: &[Vec<u16>], offset: i32, whole: bool) -> Vec<Vec<u16>> {
    let offset = if whole {
        (f64::from(offset) / 256.0 + 0.5).floor() * 256.0
    } else {
        f64::from(offset)
    };
    let mut sums = vec![vec![0.5; run[0].len()]; run.len()];
    for (position, channels) in run.iter().enumerate() {
        let place = position as f64 + offset / 256.0;
        let share = place - place.floor();
        for (to, part) in [(place.floor(), 1.0 - share), (place.floor() + 1.0, share)] {
            if to >= 0.0 && (to as usize) < run.len() {
                for (sum, &v) in sums[to as usize].iter_mut().zip(channels) {
                    *sum += part * f64::from(v);
                }
            } else {
                assert!(
                    part == 0.0 || channels.iter().all(|&v| v == 0),
                    "something is lost"
                );
            }
        }
    }
    sums.into_iter()
        .map(|channels| channels.into_iter().map(|sum| sum as u16).collect())
        .collect()
}

/// All lines as values, before packing.
fn expected(raster: &Whole, scan: &Scan, tables: &Tables, passes: u32) -> Vec<Vec<u16>> {
    let mut lines = Vec::new();
    for pass in 0..u64::from(passes) {
        let mut picture = laid(raster, &of_pass(scan, pass));
        picture
            .iter_mut()
            .flatten()
            .for_each(|v| *v = grays(raster, scan, tables, pass, *v));
        screened(raster, scan, &mut picture);
        let length = picture[0].len();
        let whole = if scan.pass_axes == PassAxes::Alternate && passes > 1 {
            raster.width.max(raster.height)
        } else {
            length
        };
        let stripe = scan.stripe.map_or(whole, |stripe| stripe.width as usize);
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
                let back = scan.direction == Direction::Serpentine && number % 2 == 1;
                if back {
                    positions.reverse();
                }
                let mut run = [blank(scan.overscan.0), positions, blank(scan.overscan.1)].concat();
                if back && scan.return_offset != 0 {
                    let screened = scan.halftone.is_some() || scan.packing.bits == Bits::One;
                    run = moved(&run, scan.return_offset, screened);
                }
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
        1 => (prop::sample::select(vec![2, 4, 8, 16]), 1_u32..5).prop_map(|(size, spot)| Some(Halftone::Bayer { size, spot })),
        1 => (prop::sample::select(vec![64, 256]), 1_u32..5).prop_map(|(size, spot)| Some(Halftone::BlueNoise { size, spot })),
        2 => screen().prop_map(|screen| Some(Halftone::Screen(screen))),
        3 => diffusion().prop_map(Some),
    ]
}

fn screen() -> impl Strategy<Value = Screen> {
    let dots = prop::sample::select(vec![Dot::Round, Dot::Ellipse, Dot::Line, Dot::Diamond]);
    (-12_i32..13, -12_i32..13, 1_u32..5, dots).prop_map(|(a, b, cells, dot)| {
        let vector = if (a, b) == (0, 0) { (3, 1) } else { (a, b) };
        let mut screen = Screen { vector, cells, dot };
        screen.cells = screen.cells.min(screen.area() as u32);
        screen
    })
}

fn diffusion() -> impl Strategy<Value = Halftone> {
    (0..4, any::<bool>()).prop_map(|(kernel, serpentine)| match kernel {
        0 => Halftone::FloydSteinberg { serpentine },
        1 => Halftone::Jarvis { serpentine },
        2 => Halftone::Stucki { serpentine },
        _ => Halftone::Atkinson { serpentine },
    })
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
        pass_axes in prop::sample::select(vec![PassAxes::Same, PassAxes::Alternate]),
        offset in prop_oneof![1 => Just(0_i32), 1 => -1_100_i32..1_100],
    ) -> Scan {
        let return_offset = match direction {
            Direction::Unidirectional => 0,
            Direction::Serpentine => offset.clamp(-256 * overscan.0 as i32, 256 * overscan.1 as i32),
        };
        // Shares on lines of 1 bit are refused without a halftone.
        let lost = matches!(passes, Passes::Share { .. }) && packing.bits == Bits::One;
        let halftone = halftone.or(lost.then_some(Halftone::Threshold { level: 60 }));
        Scan {
            mirror, rotate, axis, start, direction, overscan, passes, halftone, packing, run_length, return_offset, pass_axes,
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
        halftone in diffusion(),
        at in any::<prop::sample::Index>(),
        noise in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let scan = Scan { halftone: Some(halftone), ..scan };
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
    fn layers_are_what_passes_make_of_rows_and_columns_as_they_are(raster in raster(), scan in scan(), table in any::<u16>()) {
        let tables = tables(raster.depth, table);
        let layers = Layers::new(&scan, &tables, raster.depth).unwrap();
        // Rows are rows in every pass.
        let plain = Scan { mirror: Mirror::None, rotate: Quarters::None, axis: Axis::Row, start: Corner::TopLeft, ..scan };
        for pass in 0..layers.count() {
            let mut expected = laid(&raster, &plain);
            let samples = expected.iter_mut().flatten();
            samples.for_each(|v| *v = grays(&raster, &plain, &tables, pass.into(), *v));
            screened(&raster, &plain, &mut expected);
            let mut sink = layers.pass(Kept(Vec::new()), pass, (0, 0)).unwrap();
            let extent = raster.raster();
            Sink::begin(&mut sink, &extent).unwrap();
            let rect = Rect::new(0, 0, extent.width, extent.height).unwrap();
            let bytes: Vec<u8> = raster.samples.iter().map(|&v| v as u8).collect();
            let samples = match raster.depth {
                Depth::Eight => Samples::Eight(&bytes),
                Depth::Sixteen => Samples::Sixteen(&raster.samples),
            };
            Sink::write(&mut sink, &Band::new(rect, samples)).unwrap();
            prop_assert_eq!(sink.into_inner().0, expected.concat());
        }
        prop_assert!(layers.pass(Kept(Vec::new()), layers.count(), (0, 0)).is_err());
    }

    #[test]
    fn settings_survive_json(scan in scan()) {
        let text = serde_json::to_string(&scan).unwrap();
        prop_assert_eq!(serde_json::from_str::<Scan>(&text).unwrap(), scan);
    }
}

#[test]
fn blue_noise_ranks_every_cell_once_and_keeps_set_cells_apart() {
    for (ranks, side) in [(blue_noise(), 64), (blue_noise_of_256(), 256)] {
        let mut sorted = ranks.to_vec();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..(side * side) as u32));
        // Of the first 5 % no two touch, not even over the edges: white noise would have hundreds of such pairs.
        let least = (side * side / 20) as u32;
        let set = |x: usize, y: usize| ranks[y % side * side + x % side] < least;
        let near = [(1, 0), (0, 1), (1, 1), (side - 1, 1)];
        let touching = (0..side * side).filter(|cell| {
            let (x, y) = (cell % side, cell / side);
            set(x, y) && near.iter().any(|(dx, dy)| set(x + dx, y + dy))
        });
        assert_eq!(touching.count(), 0);
    }
}

/// Every gray has as many pixels as it has share, in every period of a screen.
#[test]
fn a_screen_has_256_grays() {
    let screen = Screen {
        vector: (16, 5),
        cells: 2,
        dot: Dot::Round,
    };
    let (side, max) = (screen.area() as usize, 255);
    for v in [0_u16, 1, 2, 77, 128, 254, 255] {
        let raster = Whole {
            width: side,
            height: side,
            depth: Depth::Eight,
            samples: vec![v; side * side],
        };
        let scan = Scan {
            halftone: Some(Halftone::Screen(screen)),
            ..Scan::default()
        };
        let program = Program::new(&scan, &Tables::default(), &raster.raster()).unwrap();
        let mut lines = Lines::new(&program, &raster, 64 << 20).unwrap();
        let mut block = Block::default();
        lines.read(0, side as u64, &mut block, &Cancel::new()).unwrap();
        let set = block.bytes.iter().filter(|&&v| v == 255).count();
        let expected = (usize::from(v) * side * side) as f64 / f64::from(max);
        assert!(
            (set as f64 - expected).abs() <= side as f64,
            "{v}: {set} of {expected}"
        );
        let cell = |x: usize, y: usize| block.line(y)[x];
        for (x, y) in [(0, 5), (40, 30), (100, 77)] {
            assert_eq!(cell(x, y), cell(x + 16, y - 5));
            assert_eq!(cell(x, y), cell(x + 5, y + 16));
        }
    }
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
        halftone: Some(Halftone::FLOYD_STEINBERG),
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
        halftone: Some(Halftone::BLUE_NOISE),
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
            halftone: Some(Halftone::bayer(3)),
            ..scan()
        })
        .starts_with("halftone")
    );
    assert!(
        refused(Scan {
            return_offset: 1,
            ..scan()
        })
        .contains("no line runs back")
    );
    assert!(
        refused(Scan {
            return_offset: 257,
            direction: Direction::Serpentine,
            overscan: (9, 1),
            ..scan()
        })
        .contains("overscan after=2")
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

/// The bytes of every halftone, which stay what they are.
#[test]
fn halftones_have_the_bytes_that_they_had() {
    let (width, height) = (300, 130);
    let raster = Whole {
        width,
        height,
        depth: Depth::Eight,
        samples: (0..width * height)
            .map(|pixel| (pixel % width * 255 / (width - 1) + pixel / width * 3) as u16 % 256)
            .collect(),
    };
    let screen = |vector, cells, dot| Halftone::Screen(Screen { vector, cells, dot });
    let digest = |halftone: Halftone| {
        let scan = Scan {
            halftone: Some(halftone),
            ..Scan::default()
        };
        let program = Program::new(&scan, &Tables::default(), &raster.raster()).unwrap();
        let mut lines = Lines::new(&program, &raster, 64 << 20).unwrap();
        let mut block = Block::default();
        lines.read(0, height as u64, &mut block, &Cancel::new()).unwrap();
        blake3::hash(&block.bytes).to_hex()[..16].to_owned()
    };
    let known = [
        (Halftone::Threshold { level: 77 }, "79ca33dd8648a272"),
        (Halftone::bayer(8), "2bec0f37bafbfc82"),
        (Halftone::Bayer { size: 16, spot: 3 }, "d3b3a3646cc360d5"),
        (Halftone::BLUE_NOISE, "d2b0d70b0ec90d32"),
        (Halftone::BlueNoise { size: 256, spot: 1 }, "217f56f9650e49d0"),
        (screen((16, 0), 2, Dot::Round), "b3becb050ad328f7"),
        (screen((17, -6), 3, Dot::Ellipse), "bda6389aa6ade50f"),
        (screen((12, 12), 3, Dot::Line), "a520028d09a421ee"),
        (screen((5, 16), 2, Dot::Diamond), "17c9b2fcc0140395"),
        (Halftone::FLOYD_STEINBERG, "af5f50bc7e249ad1"),
        (Halftone::FloydSteinberg { serpentine: true }, "7101e26809e941db"),
        (Halftone::Jarvis { serpentine: false }, "cb0b9167c86ddd1a"),
        (Halftone::Jarvis { serpentine: true }, "244d8c5e71060fd0"),
        (Halftone::Stucki { serpentine: false }, "39cdbcff132145e5"),
        (Halftone::Stucki { serpentine: true }, "98b9d71caf00ad6a"),
        (Halftone::Atkinson { serpentine: false }, "b8fcd745ae1141cc"),
        (Halftone::Atkinson { serpentine: true }, "6eb8497ff2d29c45"),
    ];
    let found: Vec<(Halftone, String)> = known
        .iter()
        .map(|&(halftone, _)| (halftone, digest(halftone)))
        .collect();
    let known: Vec<(Halftone, String)> = known
        .into_iter()
        .map(|(halftone, digest)| (halftone, digest.to_owned()))
        .collect();
    assert_eq!(found, known);
}
