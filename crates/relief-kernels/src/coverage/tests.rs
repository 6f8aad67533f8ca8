//! The definition, place by place, in exact fractions; sums of many points; and what must not matter.

use proptest::prelude::*;
use relief_raster::{Depth, Rect, Sample, ViewMut};

use super::{Builder, Error, Index, Lattice, Limits, Rule, Sampling, cpu};
use crate::isa::Isa;

type Outline = Vec<(i64, i64)>;

#[derive(Clone, Debug)]
struct Shape {
    value: u16,
    rule: Rule,
    outlines: Vec<Outline>,
    /// Covered only where these are covered too.
    clips: Vec<Shape>,
}

impl Shape {
    fn of(value: u16, outlines: Vec<Outline>) -> Self {
        Self {
            value,
            rule: Rule::NonZero,
            outlines,
            clips: Vec::new(),
        }
    }
}

fn builder(shapes: &[Shape]) -> Builder {
    let mut builder = Builder::new(1, Limits::default()).unwrap();
    let part = builder.part();
    for shape in shapes {
        builder.element(shape.value, shape.rule);
        for outline in &shape.outlines {
            builder.outline(outline).unwrap();
        }
        for clip in &shape.clips {
            builder.clip(clip.rule);
            for outline in &clip.outlines {
                builder.outline(outline).unwrap();
            }
        }
    }
    builder.place(part, Lattice::single((0, 0))).unwrap();
    builder
}

fn render<S: Sample>(index: &Index, sampling: Sampling, at: (i64, i64), size: (usize, usize)) -> Vec<S> {
    let mut scratch = vec![!0; cpu::scratch_words::<S>(index, sampling)];
    let mut samples = vec![S::from_u16(77); size.0 * size.1];
    let out = ViewMut::packed(&mut samples, size.0, size.1);
    if let Some(value) = cpu::compute(index, sampling, at, out, &mut scratch) {
        assert!(
            samples.iter().all(|s| s.to_u16() == 77),
            "a uniform tile was written"
        );
        samples.fill(value);
    }
    samples
}

/// Whether an element covers the place [x, x + 1) / 256 of a sub-scanline: the winding number of all floored crossings at or left
/// of x. The height of the line is an exact number of 1/256 px.
fn covers(shape: &Shape, x: i64, height: i128) -> bool {
    let mut winding = 0;
    for outline in &shape.outlines {
        for (i, from) in outline.iter().enumerate() {
            let to = &outline[(i + 1) % outline.len()];
            let (a, b) = if from.1 < to.1 { (from, to) } else { (to, from) };
            if i128::from(a.1) <= height && height < i128::from(b.1) {
                let numerator = (height - i128::from(a.1)) * i128::from(b.0 - a.0);
                let crossing = i128::from(a.0) + numerator.div_euclid(i128::from(b.1 - a.1));
                if crossing <= i128::from(x) {
                    winding += if from.1 < to.1 { 1 } else { -1 };
                }
            }
        }
    }
    let inside = match shape.rule {
        Rule::NonZero => winding != 0,
        Rule::EvenOdd => winding % 2 != 0,
    };
    inside && shape.clips.iter().all(|clip| covers(clip, x, height))
}

/// A sample by the definition: every place of 1/256 px of every sub-scanline asked by itself.
fn by_definition<S: Sample>(shapes: &[Shape], sampling: Sampling, px: i64, py: i64) -> u16 {
    let value = |x: i64, height: i128| {
        let top = shapes.iter().rev().find(|shape| covers(shape, x, height));
        top.map_or(0, |shape| u64::from(shape.value))
    };
    if sampling == Sampling::Centres {
        return value(256 * px + 128, i128::from(256 * py + 128)) as u16;
    }
    let lines = if S::DEPTH == Depth::Eight { 16 } else { 64 };
    let mut sum = 0;
    for k in 0..lines {
        // (2k + 1) / 2N of a pixel, in 1/256 px: a whole number.
        let height = i128::from(256 * py) + (2 * k + 1) * 128 / lines;
        sum += (0..256).map(|i| value(256 * px + i, height)).sum::<u64>();
    }
    let total = 256 * lines as u64;
    ((sum + total / 2) / total) as u16
}

fn check<S: Sample>(shapes: &[Shape], at: (i64, i64), size: (usize, usize)) {
    check_by::<S>(&[Sampling::Area, Sampling::Centres], shapes, at, size);
}

fn check_by<S: Sample>(samplings: &[Sampling], shapes: &[Shape], at: (i64, i64), size: (usize, usize)) {
    for &sampling in samplings {
        let expected: Vec<u16> = (0..size.0 * size.1)
            .map(|i| {
                by_definition::<S>(
                    shapes,
                    sampling,
                    at.0 + (i % size.0) as i64,
                    at.1 + (i / size.0) as i64,
                )
            })
            .collect();
        Isa::each(|| {
            for capacity in [usize::MAX, 40, 12, 6] {
                let index = if capacity == usize::MAX {
                    builder(shapes).finish().unwrap()
                } else {
                    // Room for the chains of one element, so that the other way is taken.
                    let all = shapes
                        .iter()
                        .flat_map(|shape| std::iter::once(shape).chain(&shape.clips));
                    let most = all.map(|s| s.outlines.iter().map(Vec::len).sum::<usize>()).max();
                    builder(shapes).finish_with_capacity(capacity.max(most.unwrap_or(0)))
                };
                let samples: Vec<u16> = render::<S>(&index, sampling, at, size)
                    .iter()
                    .map(|s| s.to_u16())
                    .collect();
                assert_eq!(
                    samples,
                    expected,
                    "{sampling:?}, capacity {capacity}, {:?}",
                    Isa::best()
                );
            }
        });
    }
}

fn shapes(max: u16) -> impl Strategy<Value = Vec<Shape>> {
    let point = prop_oneof![
        3 => (-600..1_400_i64, -600..1_400_i64),
        // On the lines of pixels and sub-scanlines, where ends and crossings coincide.
        2 => (-2..6_i64, -20..80_i64).prop_map(|(x, y)| (x * 256, y * 16)),
        1 => (-100_000..100_000_i64, -100_000..100_000_i64),
    ];
    let outline = proptest::collection::vec(point, 0..7);
    let rule = prop_oneof![Just(Rule::NonZero), Just(Rule::EvenOdd)];
    let value = prop_oneof![2 => Just(max), 1 => 0..=max];
    let outlines = proptest::collection::vec(outline, 1..4);
    let clip = (rule.clone(), outlines.clone()).prop_map(|(rule, outlines)| Shape {
        rule,
        ..Shape::of(0, outlines)
    });
    let clips = prop_oneof![3 => Just(vec![]), 1 => proptest::collection::vec(clip, 1..3)];
    let shape = (value, rule, outlines, clips).prop_map(|(value, rule, outlines, clips)| Shape {
        value,
        rule,
        outlines,
        clips,
    });
    proptest::collection::vec(shape, 1..6)
}

/// Shapes of few corners, many rows high, of which edges cross far from their ends; of one value or of several.
fn tall() -> impl Strategy<Value = Vec<Shape>> {
    let point = prop_oneof![
        4 => (-800..3_000_i64, -1_500..12_000_i64),
        1 => (-2..8_i64, -4..46_i64).prop_map(|(x, y)| (x * 256, y * 256)),
        1 => (-100_000..100_000_i64, -3_000..14_000_i64),
    ];
    let outline = proptest::collection::vec(point, 3..5);
    let rule = prop_oneof![3 => Just(Rule::NonZero), 1 => Just(Rule::EvenOdd)];
    let shape = (rule, proptest::collection::vec(outline, 1..3));
    let shapes = proptest::collection::vec((shape, 0..=255_u16), 1..6);
    (shapes, any::<bool>()).prop_map(|(shapes, one)| {
        let shape = |((rule, outlines), value)| Shape {
            rule,
            ..Shape::of(if one { 255 } else { value }, outlines)
        };
        shapes.into_iter().map(shape).collect()
    })
}

fn moved(outlines: &[Outline], far: (i64, i64)) -> Vec<Outline> {
    let place = |(x, y): &(i64, i64)| (x + 256 * far.0, y + 256 * far.1);
    outlines
        .iter()
        .map(|outline| outline.iter().map(place).collect())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_sample_of_8_bits_is_what_the_definition_says(shapes in shapes(255)) {
        check::<u8>(&shapes, (-1, -1), (6, 5));
    }

    #[test]
    fn every_sample_of_16_bits_is_what_the_definition_says(shapes in shapes(65_535)) {
        check::<u16>(&shapes, (-1, 0), (5, 3));
    }

    #[test]
    fn rows_that_edges_go_straight_through_are_what_the_definition_says(shapes in tall(), x in -2..9_i64) {
        check_by::<u8>(&[Sampling::Area], &shapes, (x, -2), (2, 45));
        check_by::<u8>(&[Sampling::Centres], &shapes, (-2, -2), (16, 50));
    }

    #[test]
    fn any_cut_into_tiles_gives_the_same(shapes in shapes(255), cut in (1..40_usize, 1..40_usize)) {
        let index = builder(&shapes).finish().unwrap();
        let (width, height) = (60, 47);
        let whole = render::<u8>(&index, Sampling::Area, (-20, -13), (width, height));
        for (left, w) in [(0, cut.0), (cut.0, width - cut.0)] {
            for (top, h) in [(0, cut.1), (cut.1, height - cut.1)] {
                let part = render::<u8>(&index, Sampling::Area, (left as i64 - 20, top as i64 - 13), (w, h));
                for y in 0..h {
                    prop_assert_eq!(&part[y * w..][..w], &whole[(top + y) * width + left..][..w]);
                }
            }
        }
    }

    #[test]
    fn what_is_told_of_a_rectangle_holds_for_its_samples(
        shapes in shapes(255),
        at in (-3..12_i64, -3..12_i64),
        size in (1..9_usize, 1..9_usize),
    ) {
        let index = builder(&shapes).finish().unwrap();
        let rect = Rect::new(at.0, at.1, size.0 as u64, size.1 as u64).unwrap();
        for sampling in [Sampling::Area, Sampling::Centres] {
            let (least, greatest) = cpu::within::<u8>(&index, sampling, rect);
            for sample in render::<u8>(&index, sampling, at, size) {
                prop_assert!((least..=greatest).contains(&u16::from(sample)), "{sample}, not {least} to {greatest}");
            }
        }
    }

    #[test]
    fn whole_pixels_move_samples(shapes in shapes(255), far in prop_oneof![Just((3, -5)), Just((1 << 36, -(1 << 35)))]) {
        let there: Vec<Shape> = shapes.iter().map(|shape| Shape {
            outlines: moved(&shape.outlines, far),
            clips: shape.clips.iter().map(|clip| Shape { outlines: moved(&clip.outlines, far), ..clip.clone() }).collect(),
            ..shape.clone()
        }).collect();
        let here = render::<u8>(&builder(&shapes).finish().unwrap(), Sampling::Area, (-2, -2), (9, 9));
        let there = render::<u8>(&builder(&there).finish().unwrap(), Sampling::Area, (far.0 - 2, far.1 - 2), (9, 9));
        prop_assert_eq!(here, there);
    }

    #[test]
    fn a_shape_and_its_complement_sum_to_the_greatest_sample_or_one_more(shapes in shapes(65_535)) {
        let shape = Shape { value: 65_535, rule: Rule::EvenOdd, clips: vec![], ..shapes[0].clone() };
        let mut rest = shape.clone();
        rest.outlines.push(vec![(-200_000, -200_000), (200_000, -200_000), (200_000, 200_000), (-200_000, 200_000)]);
        let one = render::<u16>(&builder(&[shape]).finish().unwrap(), Sampling::Area, (-2, -2), (9, 9));
        let other = render::<u16>(&builder(&[rest]).finish().unwrap(), Sampling::Area, (-2, -2), (9, 9));
        for (a, b) in one.iter().zip(&other) {
            prop_assert!([65_535, 65_536].contains(&(u32::from(*a) + u32::from(*b))), "{a} + {b}");
        }
    }

    #[test]
    fn shapes_that_abut_leave_no_seam(points in proptest::collection::vec((0..2_048_i64, 1..20_i64), 2..8)) {
        // A crooked line from top to bottom cuts a square in two.
        let mut line = vec![(1_000, 0)];
        let mut y = 0;
        for (x, step) in points {
            y += step * 12;
            line.push((x, y));
        }
        line.push((700, 2_048));
        let mut left = line.clone();
        left.extend([(0, 2_048), (0, 0)]);
        let mut right = line;
        right.extend([(2_048, 2_048), (2_048, 0)]);
        let shape = |outline: Outline| Shape::of(65_535, vec![outline]);
        let index = builder(&[shape(left), shape(right)]).finish().unwrap();
        prop_assert_eq!(render::<u16>(&index, Sampling::Area, (0, 0), (8, 8)), vec![65_535; 64]);
    }

    #[test]
    fn copies_are_the_outlines_moved_exactly_and_rounded_once(
        outline in proptest::collection::vec((-900..900_i64, -900..900_i64), 3..6),
        (u, v) in ((-700..700_i64, -700..700_i64), (-700..700_i64, -700..700_i64)),
        denominator in 1..9_u32, counts in (1..4_u32, 1..4_u32),
    ) {
        let lattice = Lattice { origin: (137, -59), u, v, columns: counts.0, rows: counts.1 };
        let mut builder = Builder::new(denominator, Limits::default()).unwrap();
        let part = builder.part();
        builder.element(255, Rule::NonZero);
        builder.outline(&outline).unwrap();
        builder.place(part, lattice).unwrap();
        let copies = builder.finish().unwrap();

        let round = |n: i64| {
            let exact = f64::from(n as i32) / f64::from(denominator);
            (exact + 0.5).floor() as i64
        };
        let mut flat = Vec::new();
        for j in 0..i64::from(counts.1) {
            for i in 0..i64::from(counts.0) {
                let moved = outline.iter().map(|(x, y)| {
                    (round(x + 137 + i * u.0 + j * v.0), round(y - 59 + i * u.1 + j * v.1))
                });
                flat.push(Shape::of(255, vec![moved.collect()]));
            }
        }
        let flat = self::builder(&flat).finish().unwrap();
        for sampling in [Sampling::Area, Sampling::Centres] {
            prop_assert_eq!(
                render::<u8>(&copies, sampling, (-16, -16), (33, 33)),
                render::<u8>(&flat, sampling, (-16, -16), (33, 33))
            );
        }
    }
}

/// The steps of an array: any, at right angles, parallel, nearly parallel, and longer than what is looked at.
fn two_steps() -> impl Strategy<Value = ((i64, i64), (i64, i64))> {
    let step = (-900..900_i64, -900..900_i64);
    prop_oneof![
        2 => (step.clone(), step.clone()),
        2 => (step.clone(), 1..3_i64).prop_map(|((x, y), k)| ((x, y), (-k * y, k * x))),
        1 => (step.clone(), -3..4_i64, -3..4_i64).prop_map(|((x, y), k, m)| ((k * x, k * y), (m * x, m * y))),
        1 => (step.clone(), -3..4_i64, -40..40_i64).prop_map(|((x, y), k, off)| ((x, y), (k * x + off, k * y))),
        1 => (step.clone(), step).prop_map(|(u, v)| ((300 * u.0 + 7, 200 * u.1), v)),
        1 => (-900..900_i64, -900..900_i64).prop_map(|(x, y)| ((500_009, 300 + y), (309_017 + x, 200))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    #[test]
    fn copies_of_arrays_in_any_direction_are_what_the_definition_says(
        arrays in proptest::collection::vec(
            (two_steps(), (1..90_u32, 1..400_u32), (0..256_i64, 0..256_i64), prop_oneof![Just(255_u16), Just(90)]),
            1..3,
        ),
        outline in proptest::collection::vec((-300..300_i64, -300..300_i64), 3..5),
        capacity in prop_oneof![Just(4_096), Just(24)],
    ) {
        let mut builder = Builder::new(1, Limits::default()).unwrap();
        let mut parts = Vec::new();
        for array in &arrays {
            parts.push(builder.part());
            builder.element(array.3, Rule::NonZero);
            builder.outline(&outline).unwrap();
        }
        let mut near = Vec::new();
        for (part, ((u, v), counts, at, value)) in parts.iter().zip(&arrays) {
            // A copy from the middle lies at the pixels that are looked at.
            let middle = (i64::from(counts.0 / 2), i64::from(counts.1 / 2));
            let origin = (
                at.0 + 200 - middle.0 * u.0 - middle.1 * v.0,
                at.1 + 200 - middle.0 * u.1 - middle.1 * v.1,
            );
            let lattice = Lattice { origin, u: *u, v: *v, columns: counts.0, rows: counts.1 };
            builder.place(*part, lattice).unwrap();
            for j in 0..i64::from(counts.1) {
                for i in 0..i64::from(counts.0) {
                    let by = (origin.0 + i * u.0 + j * v.0, origin.1 + i * u.1 + j * v.1);
                    // What lies farther out covers none of the 3 × 2 pixels.
                    if (-400..1_200).contains(&by.0) && (-400..1_000).contains(&by.1) {
                        let moved = outline.iter().map(|(x, y)| (x + by.0, y + by.1));
                        near.push(Shape::of(*value, vec![moved.collect()]));
                    }
                }
            }
        }
        prop_assume!(near.len() < 120);
        let index = builder.finish_with_capacity(capacity);
        for sampling in [Sampling::Area, Sampling::Centres] {
            let expected: Vec<u8> = (0..6)
                .map(|i| by_definition::<u8>(&near, sampling, i % 3, i / 3) as u8)
                .collect();
            prop_assert_eq!(render::<u8>(&index, sampling, (0, 0), (3, 2)), expected, "{:?}", sampling);
            let rect = Rect::new(0, 0, 3, 2).unwrap();
            let (least, greatest) = cpu::within::<u8>(&index, sampling, rect);
            for sample in render::<u8>(&index, sampling, (0, 0), (3, 2)) {
                prop_assert!((least..=greatest).contains(&u16::from(sample)));
            }
        }
    }
}

/// The share of 64 × 64 points of each pixel that a shape covers, in floating point.
fn by_points(shapes: &[Shape], width: usize, height: usize) -> Vec<f64> {
    let inside = |shape: &Shape, x: f64, y: f64| {
        let mut winding = 0;
        for outline in &shape.outlines {
            for (i, a) in outline.iter().enumerate() {
                let b = outline[(i + 1) % outline.len()];
                let (ax, ay, bx, by) = (a.0 as f64, a.1 as f64, b.0 as f64, b.1 as f64);
                if (ay <= y) != (by <= y) && ax + (y - ay) / (by - ay) * (bx - ax) <= x {
                    winding += if ay < by { 1 } else { -1 };
                }
            }
        }
        winding != 0
    };
    let mut out = Vec::new();
    for py in 0..height {
        for px in 0..width {
            let mut sum = 0;
            for i in 0..64 {
                for j in 0..64 {
                    let (x, y) = (
                        256.0 * px as f64 + 4.0 * i as f64 + 2.0,
                        256.0 * py as f64 + 4.0 * j as f64 + 2.0,
                    );
                    sum += usize::from(shapes.iter().any(|shape| inside(shape, x, y)));
                }
            }
            out.push(sum as f64 / 4_096.0);
        }
    }
    out
}

#[test]
fn coverage_is_the_area_that_many_points_measure() {
    let mut state = 7_u64;
    let mut random = |n: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % n) as i64
    };
    for _ in 0..12 {
        let shapes: Vec<Shape> = (0..3)
            .map(|_| {
                Shape::of(
                    65_535,
                    vec![(0..5).map(|_| (random(8 * 256), random(8 * 256))).collect()],
                )
            })
            .collect();
        let points = by_points(&shapes, 8, 8);
        let sixteen = render::<u16>(
            &builder(&shapes).finish().unwrap(),
            Sampling::Area,
            (0, 0),
            (8, 8),
        );
        let eight: Vec<Shape> = shapes
            .iter()
            .map(|s| Shape {
                value: 255,
                ..s.clone()
            })
            .collect();
        let eight = render::<u8>(&builder(&eight).finish().unwrap(), Sampling::Area, (0, 0), (8, 8));
        for (at, share) in points.iter().enumerate() {
            assert!(
                (f64::from(sixteen[at]) / 65_535.0 - share).abs() < 0.02,
                "pixel {at}"
            );
            assert!((f64::from(eight[at]) / 255.0 - share).abs() < 0.06, "pixel {at}");
        }
    }
}

#[test]
fn tiles_without_an_edge_are_told_not_written() {
    let square = |side: i64| vec![(0, 0), (side, 0), (side, side), (0, side)];
    let shape = |outline| Shape::of(200, vec![outline]);
    let index = builder(&[shape(square(5_000 * 256)), shape(square(300 * 256))])
        .finish()
        .unwrap();
    let mut scratch = vec![0; cpu::scratch_words::<u8>(&index, Sampling::Area)];
    let mut value = |at: (i64, i64), size: (usize, usize)| {
        let mut samples = vec![0_u8; size.0 * size.1];
        let out = ViewMut::packed(&mut samples, size.0, size.1);
        cpu::compute(&index, Sampling::Area, at, out, &mut scratch)
    };
    assert_eq!(value((400, 400), (3_000, 300)), Some(200), "inside");
    assert_eq!(value((5_000, 0), (64, 64)), Some(0), "right of it");
    assert_eq!(value((-64, 0), (64, 64)), Some(0), "left of it");
    assert_eq!(value((1 << 43, -(1 << 43)), (64, 64)), Some(0), "far away");
    assert_eq!(value((4_000, 400), (1_400, 64)), None, "across its right edge");
}

#[test]
fn a_tile_is_one_sample_where_an_element_hides_all_edges_in_it() {
    let square = |low: i64, high: i64| vec![(low, low), (high, low), (high, high), (low, high)];
    let wide = || Shape::of(200, vec![square(-900, 9_000)]);
    let small = |value: u16| Shape::of(value, vec![vec![(300, 300), (900, 700), (500, 1_000)]]);
    let told = |shapes: &[Shape]| {
        let index = builder(shapes).finish().unwrap();
        let mut scratch = vec![0; cpu::scratch_words::<u8>(&index, Sampling::Area)];
        let mut samples = [7_u8; 25];
        let out = ViewMut::packed(&mut samples, 5, 5);
        let value = cpu::compute(&index, Sampling::Area, (0, 0), out, &mut scratch);
        check::<u8>(shapes, (0, 0), (5, 5));
        value
    };
    // Of one value, above or below.
    assert_eq!(told(&[wide(), small(200)]), Some(200));
    assert_eq!(told(&[small(200), wide()]), Some(200));
    // Of another value only what lies below is hidden.
    assert_eq!(told(&[small(90), wide()]), Some(200));
    assert_eq!(told(&[wide(), small(90)]), None);
    assert_eq!(told(&[small(90), wide(), small(200)]), Some(200));
    assert_eq!(told(&[wide(), small(90), small(200)]), None);
    // What covers nothing hides nothing, and neither does what is cut out or clipped.
    let even_odd = Shape {
        rule: Rule::EvenOdd,
        ..Shape::of(200, vec![square(-900, 9_000), square(-800, 8_000)])
    };
    assert_eq!(told(&[small(200), even_odd]), None);
    let clipped = Shape {
        clips: vec![small(0)],
        ..wide()
    };
    assert_eq!(told(&[small(200), clipped]), None);
    // It ends between the top of the tile and its bottom.
    let lower = Shape::of(
        200,
        vec![vec![(-900, 500), (9_000, 500), (9_000, 9_000), (-900, 9_000)]],
    );
    assert_eq!(told(&[small(200), lower]), None);
}

#[test]
fn rectangles_without_an_edge_are_told_whatever_their_size() {
    let square = |from: i64, to: i64| {
        let (from, to) = (from * 256, to * 256);
        vec![(from, from), (to, from), (to, to), (from, to)]
    };
    let mut above = Shape::of(9, vec![square(100, 1 << 30)]);
    above.clips = vec![Shape::of(0, vec![square(1_000, 1 << 31)])];
    let index = builder(&[Shape::of(200, vec![square(0, 1 << 30)]), above])
        .finish()
        .unwrap();
    let told = |x: i64, y: i64, side: u64| {
        let rect = Rect::new(x, y, side, side).unwrap();
        cpu::within::<u16>(&index, Sampling::Area, rect)
    };
    assert_eq!(told(0, 0, 1_000), (200, 200));
    assert_eq!(told(0, 0, 1_001), (0, 200));
    assert_eq!(told(1_000, 1_000, (1 << 30) - 1_000), (9, 9));
    assert_eq!(told(999, 999, 2), (0, 200));
    assert_eq!(told(1 << 30, 0, 1 << 20), (0, 0));
    assert_eq!(told(1 << 32, 0, 1 << 40), (0, 0));
    assert_eq!(told(5_000, 5_000, 1 << 40), (0, 200));
    assert_eq!(told(-7, 100, 6), (0, 0));
}

#[test]
fn what_pieces_of_a_tile_share_does_not_leak_from_one_to_the_next() {
    // The first pieces are uniform, later ones are not, in rows and in columns.
    let shapes = [Shape::of(
        255,
        vec![vec![
            (1_500 * 256, 100 * 256),
            (1_600 * 256, 100 * 256),
            (1_550 * 256, 190 * 256),
        ]],
    )];
    let index = builder(&shapes).finish().unwrap();
    let whole = render::<u8>(&index, Sampling::Area, (0, 0), (3_000, 200));
    let sum: u64 = whole.iter().map(|s| u64::from(*s)).sum();
    assert!(
        (sum as f64 / 255.0 - 4_500.0).abs() < 5.0,
        "half of 100 × 90 pixels"
    );
    assert!(whole[..100 * 3_000].iter().all(|s| *s == 0));
}

#[test]
fn too_many_chains_for_the_room_change_nothing() {
    // Slivers that cross each other, all in a few pixels, of two values.
    let shapes: Vec<Shape> = (0..600_i64)
        .map(|i| {
            Shape::of(
                if i % 3 == 0 { 90 } else { 255 },
                vec![vec![(i % 31 * 40, 0), (i % 31 * 40 + 9, 0), (i % 37 * 40, 1_500)]],
            )
        })
        .collect();
    let all = render::<u8>(
        &builder(&shapes).finish().unwrap(),
        Sampling::Area,
        (0, 0),
        (9, 6),
    );
    for capacity in [16, 100, 700] {
        let few = builder(&shapes).finish_with_capacity(capacity);
        assert_eq!(
            render::<u8>(&few, Sampling::Area, (0, 0), (9, 6)),
            all,
            "capacity {capacity}"
        );
    }
}

#[test]
fn one_outline_of_many_chains_has_room() {
    // A comb of 20 000 teeth, 1/256 px wide and as far apart: more in a row than a tile takes otherwise.
    let mut comb = vec![(0, 4_096)];
    for i in 0..20_000_i64 {
        comb.extend([(2 * i, 0), (2 * i + 1, 0), (2 * i + 1, 4_000), (2 * i + 2, 4_000)]);
    }
    comb.push((40_000, 4_096));
    let index = builder(&[Shape::of(255, vec![comb])]).finish().unwrap();
    let samples = render::<u8>(&index, Sampling::Area, (0, 0), (157, 16));
    for row in samples.chunks(157).take(15) {
        assert_eq!(
            (row[0], row[155], row[156]),
            (128, 128, 32),
            "teeth; of the last pixel a quarter"
        );
    }
    assert_eq!(
        samples[15 * 157 + 7],
        175,
        "10 sub-scanlines of teeth, 6 below them"
    );
}

#[test]
fn what_cannot_be_computed_is_refused() {
    let few = Limits {
        points: 10,
        placements: 1,
        ..Limits::default()
    };
    assert!(Builder::new(0, few).is_none() && Builder::new(1 << 25, few).is_none());
    let square = [(0, 0), (256, 0), (256, 256), (0, 256)];
    let mut builder = Builder::new(1, few).unwrap();
    let part = builder.part();
    builder.element(255, Rule::NonZero);
    builder.outline(&square).unwrap();
    builder.outline(&square).unwrap();
    assert_eq!(builder.outline(&square), Err(Error::Points(10)));
    assert_eq!(
        builder.outline(&[(0, 0), (i64::MAX, 0), (0, i64::MIN)]),
        Err(Error::Far)
    );
    let far = Lattice {
        u: (1 << 40, 0),
        columns: u32::MAX,
        ..Lattice::single((0, 0))
    };
    assert_eq!(builder.place(part, far), Err(Error::Far));
    let dense = Lattice {
        u: (1, 0),
        v: (0, 1),
        columns: 1 << 20,
        rows: 1 << 20,
        origin: (0, 0),
    };
    builder = Builder::new(1, Limits::default()).unwrap();
    let part = builder.part();
    builder.element(255, Rule::NonZero);
    builder.outline(&square).unwrap();
    builder.place(part, dense).unwrap();
    assert!(matches!(builder.finish(), Err(Error::Dense { copies, .. }) if copies > 1 << 30));
}

#[test]
fn an_array_of_many_copies_holds_its_cell_once() {
    let mut builder = Builder::new(1, Limits::default()).unwrap();
    let part = builder.part();
    builder.element(255, Rule::NonZero);
    builder
        .outline(&[(0, 0), (512, 0), (512, 512), (0, 512)])
        .unwrap();
    let step = 4 * 256;
    let lattice = Lattice {
        origin: (0, 0),
        u: (step, 0),
        v: (0, step),
        columns: 1 << 31,
        rows: 1 << 31,
    };
    builder.place(part, lattice).unwrap();
    let index = builder.finish().unwrap();
    assert!(index.bytes() < 100_000);
    let side = 4_i64 << 31;
    assert_eq!(index.bounds(), Some((-1, -1, side - 1, side - 1)));
    let far = 4 * 1_999_999_999;
    let samples = render::<u8>(&index, Sampling::Area, (far, far), (8, 4));
    let row = [255, 255, 0, 0, 255, 255, 0, 0];
    let gap = [0; 8];
    assert_eq!(samples, [row, row, gap, gap].concat());
}

/// Work is counted, not timed: copies that are visited for a tile.
fn visited(index: &Index, size: (usize, usize)) -> (Vec<u8>, u64) {
    let mut scratch = vec![0; cpu::scratch_words::<u8>(index, Sampling::Area)];
    let mut samples = vec![0; size.0 * size.1];
    let out = ViewMut::packed(&mut samples, size.0, size.1);
    let (uniform, copies) = cpu::counted(index, Sampling::Area, (0, 0), out, &mut scratch, &|| false);
    if let Some(value) = uniform {
        samples.fill(value);
    }
    (samples, copies)
}

fn array(outline: &[(i64, i64)], values: &[u16], lattice: Lattice) -> Builder {
    let mut builder = Builder::new(1, Limits::default()).unwrap();
    let parts: Vec<_> = values
        .iter()
        .map(|value| {
            let part = builder.part();
            builder.element(*value, Rule::NonZero);
            builder.outline(outline).unwrap();
            part
        })
        .collect();
    for part in parts {
        builder.place(part, lattice).unwrap();
    }
    builder
}

#[test]
fn copies_beyond_the_room_are_visited_about_once_for_each_row_that_they_reach_into() {
    // Slivers of 3 px that overlap in thousands, 124 000 over 40 × 24 px.
    let sliver = [(0, 0), (2, 0), (700, 768), (698, 768)];
    let lattice = Lattice {
        origin: (0, 0),
        u: (33, 7),
        v: (5, 19),
        columns: 400,
        rows: 310,
    };
    let count = u64::from(lattice.columns) * u64::from(lattice.rows);
    for values in [&[255][..], &[255, 100]] {
        let index = array(&sliver, values, lattice).finish().unwrap();
        let (_, copies) = visited(&index, (40, 24));
        // A copy reaches into at most 5 rows, and is met in vain while halves are tried.
        assert!(copies < 6 * count * values.len() as u64, "{copies} of {count}");
    }
}

#[test]
fn what_is_covered_is_looked_at_no_more() {
    // Squares that cover the tile, 250 000 times: for each piece no more are visited than it takes to find that there are many.
    let side = 256 * 100;
    let square = [(0, 0), (side, 0), (side, side), (0, side)];
    let lattice = Lattice {
        origin: (-side / 2, -side / 2),
        u: (1, 0),
        v: (0, 1),
        columns: 500,
        rows: 500,
    };
    for values in [&[200][..], &[90, 200]] {
        let index = array(&square, values, lattice).finish().unwrap();
        let (samples, copies) = visited(&index, (40, 24));
        assert!(samples.iter().all(|sample| *sample == 200));
        assert!(copies < 250_000, "{copies}");
    }
}

#[test]
fn copies_between_sub_scanlines_are_passed_by_in_rows() {
    // Flat copies that cross no sub-scanline, but a row of 64 of them.
    let flat = [(0, 0), (256, 0), (256, 1), (0, 1)];
    let lattice = Lattice {
        origin: (0, 0),
        u: (1, 0),
        v: (0, 16),
        columns: 10_000,
        rows: 1_000,
    };
    let index = array(&flat, &[255], lattice).finish().unwrap();
    let (samples, copies) = visited(&index, (40, 24));
    assert!(
        copies == 0 && samples.iter().all(|sample| *sample == 0),
        "{copies}"
    );
    let lattice = Lattice {
        v: (0, 17),
        columns: 10,
        rows: 64,
        ..lattice
    };
    let index = array(&flat, &[255], lattice).finish().unwrap();
    let (samples, copies) = visited(&index, (40, 24));
    assert!(
        copies <= 40 && samples.iter().any(|sample| *sample > 0),
        "{copies}"
    );
}

#[test]
fn a_tile_stops_when_it_is_told_to() {
    let sliver = [(0, 0), (2, 0), (700, 768), (698, 768)];
    let lattice = Lattice {
        origin: (0, 0),
        u: (33, 7),
        v: (5, 19),
        columns: 400,
        rows: 3_100,
    };
    let index = array(&sliver, &[255], lattice).finish().unwrap();
    let (_, whole) = visited(&index, (40, 24));
    let mut scratch = vec![0; cpu::scratch_words::<u8>(&index, Sampling::Area)];
    let mut samples = vec![0_u8; 40 * 24];
    let asked = std::cell::Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 30
    };
    let out = ViewMut::packed(&mut samples, 40, 24);
    let (_, copies) = cpu::counted(&index, Sampling::Area, (0, 0), out, &mut scratch, &stop);
    assert!(
        copies < whole / 2,
        "{copies} of {whole}, asked {} times",
        asked.get()
    );
}

#[test]
fn work_counts_where_it_meets() {
    // Stripes as high as a tile, each far from the next: much to do, but in no one tile.
    let stripe = [(0, 0), (256 * 1_024, 0), (256 * 1_024, 256 * 64), (0, 256 * 64)];
    let far = Lattice {
        origin: (0, 0),
        u: (256 * 4_096, 0),
        v: (0, 256 * 256),
        columns: 1 << 12,
        rows: 1 << 12,
    };
    let placed = |count: u32, at: &dyn Fn(i64) -> (i64, i64)| {
        let mut builder = array(&stripe, &[255], far);
        for i in 0..count {
            builder
                .place(
                    super::Part(0),
                    Lattice {
                        columns: 8,
                        rows: 8,
                        u: (256, 0),
                        v: (0, 256),
                        origin: at(i64::from(i)),
                    },
                )
                .unwrap();
        }
        builder.finish()
    };
    let apart = placed(10_000, &|i| (256 * 8_192 * i, 0));
    assert!(apart.is_ok(), "{:?}", apart.err());
    let together = placed(10_000, &|i| (i, 0));
    assert!(
        matches!(together, Err(Error::Dense { copies: 64, .. })),
        "{:?}",
        together.err()
    );
}

#[test]
fn an_outline_without_height_is_placed_without_work() {
    let level = [(0, 7), (500, 7), (900, 7)];
    let lattice = Lattice {
        origin: (0, 0),
        u: (0, 1),
        v: (1, 1),
        columns: 1 << 30,
        rows: 1 << 8,
    };
    let index = array(&level, &[255], lattice).finish().unwrap();
    assert_eq!(visited(&index, (40, 24)).1, 0);
}

#[test]
fn rows_without_work_are_passed_by_only_until_the_tile_is_told_to_stop() {
    // A million rows in one pixel, between its first two sub-scanlines.
    let mut builder = Builder::new(1 << 24, Limits::default()).unwrap();
    let part = builder.part();
    builder.element(255, Rule::NonZero);
    builder
        .outline(&[(0, 0), (1 << 30, 0), (1 << 30, 1), (0, 1)])
        .unwrap();
    let lattice = Lattice {
        origin: (0, 1 << 28),
        u: (1, 0),
        v: (0, 3),
        columns: 2,
        rows: 1_000_000,
    };
    builder.place(part, lattice).unwrap();
    let index = builder.finish().unwrap();
    let asked = |limit: u64| {
        let asked = std::cell::Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() > limit
        };
        let mut scratch = vec![0; cpu::scratch_words::<u8>(&index, Sampling::Area)];
        let mut samples = [0_u8; 1];
        let out = ViewMut::packed(&mut samples, 1, 1);
        cpu::compute_until(&index, Sampling::Area, (0, 0), out, &mut scratch, &stop);
        (asked.get(), samples[0])
    };
    let (whole, sample) = asked(u64::MAX);
    assert!(whole > 40 && sample == 0, "{whole} times");
    assert_eq!(asked(5).0, 6);
}

#[test]
fn arrays_of_which_all_rows_meet_are_refused() {
    let square = [(0, 0), (115, 0), (115, 115), (0, 115)];
    let lattice = |count: u32, u, v| Lattice {
        origin: (0, 0),
        u,
        v,
        columns: count,
        rows: count,
    };
    // As many steps back as forth, the same turned by 45°, and nearly so.
    for (u, v) in [
        ((256, 0), (-256, 0)),
        ((256, 256), (-256, -256)),
        ((16, 16), (-16, -15)),
    ] {
        let refused = array(&square, &[255], lattice(1_000_000, u, v)).finish();
        assert!(
            matches!(refused, Err(Error::Dense { .. })),
            "{u:?}, {v:?}: {:?}",
            refused.err()
        );
    }
    // Dots on a grid that is turned are no more than dots on one that is not.
    for (u, v) in [
        ((256, 0), (0, 256)),
        ((181, 181), (-181, 181)),
        ((256, 1), (-1, 256)),
    ] {
        let index = array(&square, &[255], lattice(1 << 20, u, v)).finish();
        assert!(index.is_ok(), "{u:?}, {v:?}: {:?}", index.err());
    }
}

/// Parts of random outlines with random placements, handed to both.
fn random_parts(
    seed: u64,
    parts: u32,
    outlines: u32,
    placements: u32,
    memory: u64,
) -> (Result<Index, Error>, u64) {
    let mut state = seed;
    let mut random = move |n: i64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as i64 % n
    };
    let limits = Limits {
        memory,
        ..Limits::default()
    };
    let (mut builder, mut weight) = (Builder::new(1, limits).unwrap(), super::Weight::new(1));
    let mut build = || {
        let mut all = Vec::new();
        for _ in 0..parts {
            all.push(builder.part());
            weight.part();
            for outline in 0..outlines {
                if outline % 3 == 0 {
                    builder.element(random(255) as u16, Rule::NonZero);
                    weight.element();
                }
                let reach = 1 << (8 + random(14));
                let points: Vec<_> = (0..3 + random(12))
                    .map(|_| (random(reach), random(reach)))
                    .collect();
                weight.outline(&points);
                builder.outline(&points)?;
            }
        }
        weight.placements(u64::from(placements));
        builder.expect(placements)?;
        for _ in 0..placements {
            let part = all[random(i64::from(parts)) as usize];
            builder.place(part, Lattice::single((random(1 << 24), random(1 << 24))))?;
        }
        Ok(())
    };
    let built = build();
    (built.and_then(|()| builder.finish()), weight.bytes())
}

#[test]
fn the_weight_of_an_index_does_for_building_it() {
    for (seed, parts, outlines, placements) in [
        (1, 1, 3, 1),
        (2, 40, 7, 3_000),
        (3, 1, 9_000, 2),
        (4, 900, 1, 900),
        (5, 3, 2, 60_000),
    ] {
        let build = |memory| random_parts(seed, parts, outlines, placements, memory);
        let (index, weight) = build(u64::MAX);
        let bytes = index.unwrap().bytes();
        assert!(
            weight > bytes && weight < 4 * bytes + 600_000,
            "{bytes} bytes, weight {weight}"
        );
        assert_eq!(build(weight).0.map(|index| index.bytes()), Ok(bytes));
        // What it holds in the end is not all that it takes on the way.
        for less in [bytes, bytes / 2, 1_000, 0] {
            assert_eq!(
                build(less).0.err(),
                Some(Error::Memory(less)),
                "{less} of {bytes}"
            );
        }
    }
}

#[test]
fn an_element_of_many_chains_weighs_what_is_sorted_of_it() {
    let comb: Vec<(i64, i64)> = (0..20_000_i64)
        .map(|i| (i, i % 2 * 900))
        .chain([(20_000, 2_000), (0, 2_000)])
        .collect();
    let mut weight = super::Weight::new(1);
    weight.part();
    weight.element();
    weight.outline(&comb);
    weight.placements(1);
    let limits = Limits {
        memory: weight.bytes(),
        ..Limits::default()
    };
    let mut builder = Builder::new(1, limits).unwrap();
    let part = builder.part();
    builder.element(255, Rule::NonZero);
    builder.outline(&comb).unwrap();
    builder.place(part, Lattice::single((0, 0))).unwrap();
    assert!(builder.finish().is_ok());
}
