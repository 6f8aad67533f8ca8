//! Levels: figures of blocks, which are what every pixel of a block says, or within what is said of them.

use proptest::prelude::*;
use relief_engine::{
    Cancel, Effort, Error, Exactness, NoImages, Options, Rect, Renderer, SamplesMut, Statistic, Summary,
};

use crate::oracle::evaluate::Oracle;
use crate::oracle::model::Picture;
use crate::oracle::strategy::models;
use crate::parts::{fraction, within};
use crate::pictures::Pictures;
use crate::run::{design, parse, parse_with, renderer};

const STATISTICS: [Statistic; 3] = [Statistic::Mean, Statistic::Least, Statistic::Greatest];

/// A window of a level.
fn level(
    renderer: &Renderer,
    level: u32,
    window: Rect,
    statistic: Statistic,
    effort: impl Into<Effort>,
) -> Result<(Vec<u16>, Exactness), Error> {
    let count = window.area() as usize;
    let (mut eight, mut sixteen) = (vec![0; count], vec![0; count]);
    let deep = renderer.plan().raster().depth.bytes() == 2;
    let out = if deep {
        SamplesMut::Sixteen(&mut sixteen)
    } else {
        SamplesMut::Eight(&mut eight)
    };
    let exactness = renderer.read_level(level, window, statistic, effort, out, &Cancel::new())?;
    let samples = if deep {
        sixteen
    } else {
        eight.into_iter().map(u16::from).collect()
    };
    Ok((samples, exactness))
}

/// The pixels of a rectangle, one by one.
fn pixels(samples: &[u16], width: u64, rect: Rect) -> impl Iterator<Item = u16> + Clone {
    (rect.y()..rect.bottom()).flat_map(move |y| {
        (rect.x()..rect.right()).map(move |x| samples[y as usize * width as usize + x as usize])
    })
}

fn figure(pixels: impl Iterator<Item = u16> + Clone, statistic: Statistic) -> u16 {
    match statistic {
        Statistic::Mean => {
            let (n, sum) = pixels.fold((0_u128, 0_u128), |(n, sum), v| (n + 1, sum + u128::from(v)));
            ((2 * sum + n) / (2 * n)) as u16
        }
        Statistic::Least => pixels.min().unwrap(),
        Statistic::Greatest => pixels.max().unwrap(),
    }
}

fn holds(summary: &Summary, pixels: impl Iterator<Item = u16> + Clone) -> bool {
    let sum: u128 = pixels.clone().map(u128::from).sum();
    let (least, greatest) = (pixels.clone().min().unwrap(), pixels.clone().max().unwrap());
    let zeros = pixels.clone().filter(|v| *v == 0).count() as u128;
    summary.pixels == pixels.count() as u128
        && (summary.zeros.0..=summary.zeros.1).contains(&zeros)
        && (summary.sum.0..=summary.sum.1).contains(&sum)
        && (summary.least.0..=summary.least.1).contains(&least)
        && (summary.greatest.0..=summary.greatest.1).contains(&greatest)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn samples_of_levels_are_what_the_pixels_say_or_as_near_as_is_said(
        model in models(),
        place in fraction(),
        level_of in 0..9_u32,
        effort in prop_oneof![Just(0_u64), 1..3_000_u64, Just(u64::MAX)],
        near in prop_oneof![2 => Just(0_u16), 1 => 1..3_000_u16],
        kept in proptest::option::of(0_u64..3_000),
        threads in 1..3_usize,
    ) {
        let (design, images) = (design(&model), Pictures(model.pictures.clone()));
        let options = Options::default().threads(threads).levels().with(|with| with.kept = kept);
        let renderer = renderer(&design, &images, &options);
        let raster = renderer.plan().raster();
        let samples = Oracle::new(&model).raster();
        let (columns, rows) = renderer.level_size(level_of);
        let window = within(Rect::sized(columns, rows), place);
        for statistic in STATISTICS {
            let (found, exactness) = level(&renderer, level_of, window, statistic, Effort::new(effort).near(near)).unwrap();
            let off = match exactness {
                Exactness::Exact => 0,
                Exactness::Within(off) => off,
            };
            prop_assert!(effort < u64::MAX || off == 0, "everything was computed, and it is within {off}");
            for (at, found) in found.into_iter().enumerate() {
                let (x, y) = (window.x() + at as i64 % window.width() as i64, window.y() + at as i64 / window.width() as i64);
                let block = Rect::between(x << level_of, y << level_of, (x + 1) << level_of, (y + 1) << level_of)
                    .intersection(&Rect::sized(raster.width, raster.height));
                let right = figure(pixels(&samples, raster.width, block), statistic);
                prop_assert!(found.abs_diff(right) <= off, "{found} for {right} at {x}, {y}, said to be within {off}");
            }
            let place = within(Rect::sized(raster.width, raster.height), place);
            let summary = renderer.summary(place, statistic, effort, &Cancel::new()).unwrap();
            prop_assert!(holds(&summary, pixels(&samples, raster.width, place)), "{summary:?} of {place:?}");
        }
    }
}

/// Half of the blocks are known within an eighth of the range, half within all of it: only these are computed where not all can be.
#[test]
fn what_is_near_enough_is_left_where_not_all_can_be_exact() {
    let text = "relief version=1\ncanvas width=2048 height=1024\ncompose {\n(base)noise seed=3\n\
                (over)map width=1024 { (source)noise seed=4; levels 0 255 96 160 }\n}";
    let design = parse(text);
    let renderer = renderer(&design, &NoImages, &Options::default().levels());
    let whole = Rect::sized(8, 4);
    let read = |effort: Effort| level(&renderer, 8, whole, Statistic::Mean, effort).unwrap();
    let (exact, all) = read(Effort::new(u64::MAX));
    assert_eq!(all, Exactness::Exact);
    // The right half has a million samples, and looking costs a little.
    let effort = (1 << 20) + (1 << 17);
    let (found, near) = read(Effort::new(effort).near(32));
    let Exactness::Within(near) = near else {
        panic!("exact with half of the samples");
    };
    assert!((1..=32).contains(&near), "{near}");
    for (at, (found, exact)) in found.iter().zip(&exact).enumerate() {
        let most = if at % 8 < 4 { near } else { 0 };
        assert!(found.abs_diff(*exact) <= most, "{at}: {found} for {exact}");
    }
    // Without it the left half has a share, and the right one is not exact.
    let (found, _) = read(Effort::new(effort));
    assert!((0..32).any(|at| at % 8 >= 4 && found[at] != exact[at]));
    // What can be exact is.
    assert_eq!(read(Effort::new(1 << 21).near(32)), (exact, Exactness::Exact));
}

/// Pictures of marks: strokes, and samples of any kind.
fn pictures_of_marks(max: u16) -> Pictures {
    let picture = |width: u64, height: u64, sample: &dyn Fn(u64, u64) -> u16| Picture {
        width,
        height,
        samples: (0..width * height)
            .map(|at| sample(at % width, at / width))
            .collect(),
    };
    let strokes = picture(90, 70, &|x, y| {
        if (x / 12 + y / 20) % 3 == 0 || x.abs_diff(y) < 6 {
            max
        } else {
            0
        }
    });
    let any = picture(60, 50, &|x, y| {
        ((x * 7_919 + y * 104_729) % (u64::from(max) + 1)) as u16
    });
    let soft = picture(120, 90, &|x, y| (u64::from(max) * (x + y) / 210) as u16);
    Pictures(vec![strokes.clone(), strokes, any.clone(), any, soft])
}

/// Marks over a texture: what lies below, and the last children of a `compose`.
fn marks() -> impl Strategy<Value = (String, bool)> {
    let below = prop_oneof![
        Just(
            "(base)lattice blend=\"mean\" { u 13 4; v -5 11; (pattern)ramp axis=\"x\" from=20 to=250 width=12 height=10 }"
        ),
        Just(
            "(base)lattice { u 9 2; v -3 8; (pattern)disc diameter=7 value=201 }; (multiply)ramp axis=\"x\" from=190 to=255"
        ),
        Just("(base)lattice { u 9 2; v -3 8; (pattern)image \"p2\" }; (add)ramp axis=\"y\" from=0 to=20"),
        Just(
            "(base)repeat step-x=6 step-y=5 { (pattern)disc diameter=5 value=90 }; (max)ramp axis=\"y\" from=10 to=30"
        ),
        Just("(base)fill value=170"),
        Just("(base)ramp axis=\"x\" from=0 to=255"),
    ];
    let role = prop_oneof![
        2 => Just("multiply"), 2 => Just("max"), 1 => Just("min"), 1 => Just("add"), 1 => Just("subtract"), 1 => Just("over"), 1 => Just("mask"), 1 => Just("mean"),
    ];
    let layer = (role, 0..4_usize, 20..180_i32, 20..100_i32);
    (below, proptest::collection::vec(layer, 1..4), any::<bool>(), 0..40_u32, 0..30_u32).prop_map(
        |(below, layers, deep, x, y)| {
            let (step_x, step_y) = (300 + x, 200 + y);
            let repeats = layers.into_iter().map(|(role, pattern, x, y)| {
                let distance = |profile: &str| {
                    format!("distance radius=12 width={step_x} height={step_y} {{ (mask)image \"p0\" x={x} y={y}; profile {profile} }}")
                };
                let pattern = match pattern {
                    0 => format!("image \"p2\" x={x} y={y}"),
                    1 => format!("image \"p4\" x={x} y={y}"),
                    2 => distance("\"255 * d / 12\" beyond=255"),
                    _ => distance("\"255 * (1 - d / 12)\" beyond=0"),
                };
                let (kind, rest) = pattern.split_once(' ').unwrap_or_default();
                format!("; ({role})repeat step-x={step_x} step-y={step_y} {{ (pattern){kind} {rest} }}")
            });
            let text = format!("compose {{ {below}{} }}", repeats.collect::<String>());
            let (depth, text) = if deep {
                (16, text.replace("255", "65535").replace("=250", "=60000"))
            } else {
                (8, text)
            };
            (format!("relief version=1\ncanvas width=1300 height=900 bits={depth}\n{text}"), deep)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    /// Planes that repeat over a texture are looked at together with it; the pixels are those that are computed.
    #[test]
    fn marks_over_a_texture_lie_within_what_is_said_of_their_sums(
        (text, deep) in marks(),
        threads in 1..3_usize,
        effort in prop_oneof![3 => Just(0_u64), 1 => Just(20_000)],
    ) {
        let images = pictures_of_marks(if deep { u16::MAX } else { 255 });
        let renderer = renderer(&parse_with(&text, &images), &images, &Options::default().threads(threads).levels());
        let raster = renderer.plan().raster();
        let all = level(&renderer, 0, Rect::sized(raster.width, raster.height), Statistic::Mean, u64::MAX).unwrap().0;
        let places = |of: u32| {
            let (columns, rows) = renderer.level_size(of);
            let all = Rect::sized(columns, rows);
            // Large blocks one by one: copies are summed once for all of them where there are many for a block.
            let each = (0..rows as i64).flat_map(move |y| (0..columns as i64).map(move |x| Rect::sized(1, 1).translated(x, y)));
            if of < 9 { vec![all] } else { each.collect() }
        };
        for (of, window) in [4, 5, 6, 7, 9].into_iter().flat_map(|of| places(of).into_iter().map(move |window| (of, window))) {
            let (found, exactness) = level(&renderer, of, window, Statistic::Mean, effort).unwrap();
            let off = match exactness {
                Exactness::Exact => 0,
                Exactness::Within(off) => off,
            };
            for (at, found) in found.into_iter().enumerate() {
                let (x, y) = (window.x() + at as i64 % window.width() as i64, window.y() + at as i64 / window.width() as i64);
                let block = Rect::between(x << of, y << of, (x + 1) << of, (y + 1) << of).intersection(&Rect::sized(raster.width, raster.height));
                let right = figure(pixels(&all, raster.width, block), Statistic::Mean);
                prop_assert!(found.abs_diff(right) <= off, "{found} for {right} at {x}, {y} of level {of}, said to be within {off}: {text}");
            }
        }
    }
}

/// Blocks of a sheet of marks over a texture are told within a 32nd of the range, without computing a sample.
#[test]
fn a_sheet_of_marks_is_known_within_a_32nd() {
    for (depth, max) in [(8, 255_u16), (16, 65_535)] {
        let text = format!(
            "relief version=1\ncanvas width=2000000 height=1800000 bits={depth}\n\
             compose {{ (base)lattice {{ u 90 20; v -15 85; (pattern)image \"p2\" }}\n\
             (multiply)ramp axis=\"x\" from={} to={max}\n\
             (multiply)repeat step-x=600 step-y=500 {{ (pattern)distance radius=15 width=600 height=500 {{ \
                (mask)image \"p0\" x=100 y=80; profile \"{max} * (d - 5) / 10\" beyond={max} }} }}\n\
             (max)repeat step-x=600 step-y=500 {{ (pattern)distance radius=5 width=600 height=500 {{ \
                (mask)image \"p0\" x=100 y=80; profile \"{max} * (1 - d / 5)\" beyond=0 }} }} }}",
            max - 25,
        );
        let images = pictures_of_marks(max);
        let renderer = renderer(&parse_with(&text, &images), &images, &Options::default().levels());
        for of in 6..=13 {
            let (columns, rows) = renderer.level_size(of);
            let window =
                Rect::sized(64, 64).translated((columns / 3).cast_signed(), (rows / 5).cast_signed());
            let (_, exactness) = level(&renderer, of, window, Statistic::Mean, 0).unwrap();
            let off = match exactness {
                Exactness::Exact => 0,
                Exactness::Within(off) => off,
            };
            assert!(off <= max / 32, "level {of} of {depth} bits is within {off}");
        }
    }
}

#[test]
fn periodic_rasters_ramps_and_discs_are_known_exactly_at_any_level_without_computing() {
    let side = 1_u64 << 40;
    let texts = [
        "lattice blend=\"mean\" { u 90 20; v -15 85; (pattern)disc diameter=60 value=200 }",
        "repeat step-x=7 step-y=11 { (pattern)ramp axis=\"x\" from=3 to=250 width=6 height=9 }",
        "ramp axis=\"x\" from=0 to=255",
        "map { (source)repeat step-x=70 step-y=11 { (pattern)disc diameter=11 value=77 }; invert }",
        // Tables and single samples go through a cell before it is summed, and blocks are cut where a ramp steps.
        "map { (source)lattice { u 7 2; v -3 5; (pattern)disc diameter=6 value=200 }; gamma 2.2 }",
        "compose { (base)lattice { u 7 2; v -3 5; (pattern)disc diameter=6 value=200 }; (multiply)fill value=77 }",
        "compose { (base)lattice { u 90 20; v -15 85; (pattern)disc diameter=60 value=200 }; (multiply)ramp axis=\"x\" from=240 to=255 }",
        "compose { (base)fill value=20; (over)disc diameter=1000 value=200 x=500000 y=500000 }",
    ];
    for text in texts {
        let text = format!("relief version=1\ncanvas width={side} height={side}\n{text}");
        let renderer = renderer(&parse(&text), &NoImages, &Options::default().levels());
        for of in [12, 20, 32, 40] {
            let (columns, rows) = renderer.level_size(of);
            let window = Rect::sized(columns.min(64), rows.min(64));
            let (_, exactness) = level(&renderer, of, window, Statistic::Mean, 0).unwrap();
            assert_eq!(exactness, Exactness::Exact, "level {of} of {text}");
        }
        // What a few pixels say who were computed.
        let (columns, rows) = (300, 200);
        let mut samples = vec![0; columns * rows];
        let window = Rect::sized(columns as u64, rows as u64).translated(123_456_789, 987_654_321);
        renderer
            .read(window, SamplesMut::Eight(&mut samples), &Cancel::new())
            .unwrap();
        let known = renderer
            .summary(window, Statistic::Mean, 0, &Cancel::new())
            .unwrap();
        let sum = samples.iter().map(|sample| u128::from(*sample)).sum::<u128>();
        assert_eq!(known.sum, (sum, sum), "{text}");
    }
}

/// What one part of a window needs is not taken from the others: a level of more blocks than are looked at together.
#[test]
fn what_is_left_of_the_effort_serves_all_of_a_window() {
    let text = "relief version=1\ncanvas width=16384 height=32768\ncompose { (base)fill value=10; \
        (max)noise seed=1 x=10 y=10 width=100 height=100; (max)noise seed=2 x=10 y=20000 width=100 height=100 }";
    let renderer = renderer(&parse(text), &NoImages, &Options::default().levels());
    let window = Rect::sized(256, 512);
    for statistic in STATISTICS {
        let (all, exactness) = level(&renderer, 6, window, statistic, u64::MAX).unwrap();
        assert_eq!(exactness, Exactness::Exact);
        let (some, exactness) = level(&renderer, 6, window, statistic, 1 << 20).unwrap();
        assert_eq!(
            (some == all, exactness),
            (true, Exactness::Exact),
            "{statistic:?}"
        );
    }
}

#[test]
fn what_is_out_of_range_is_refused() {
    let design = parse("relief version=1\ncanvas width=100 height=60\nnoise seed=1");
    let plain = renderer(&design, &NoImages, &Options::default());
    let refused = level(&plain, 1, Rect::sized(5, 5), Statistic::Mean, 0).unwrap_err();
    assert!(
        matches!(refused, Error::Option { option: "levels", .. }),
        "{refused}"
    );
    let renderer = renderer(&design, &NoImages, &Options::default().levels());
    assert_eq!(renderer.level_size(3), (13, 8));
    let ask = |of, window| level(&renderer, of, window, Statistic::Mean, 0);
    assert!(matches!(
        ask(41, Rect::sized(1, 1)),
        Err(Error::Option { option: "level", .. })
    ));
    assert!(matches!(ask(3, Rect::sized(14, 8)), Err(Error::Region { .. })));
    assert!(matches!(ask(3, Rect::sized(0, 8)), Err(Error::Region { .. })));
    let mut few = [0; 3];
    let refused = renderer.read_level(
        3,
        Rect::sized(2, 2),
        Statistic::Mean,
        0,
        SamplesMut::Eight(&mut few),
        &Cancel::new(),
    );
    assert!(matches!(refused, Err(Error::Option { option: "out", .. })));
    let cancelled = Cancel::new();
    cancelled.cancel();
    let refused = renderer.summary(Rect::sized(9, 9), Statistic::Mean, 0, &cancelled);
    assert!(matches!(refused, Err(Error::Cancelled)));
}

#[test]
fn the_memory_that_levels_take_is_planned() {
    let text = "relief version=1\ncanvas width=100000 height=100000\n\
        repeat step-x=3000 step-y=3000 { (pattern)noise seed=1 width=2999 height=2999 }";
    let design = parse(text);
    let peak = |options: Options| renderer(&design, &NoImages, &options).plan().peak();
    let (with, without) = (peak(Options::default().levels()), peak(Options::default()));
    assert_eq!(without.levels, 0);
    assert!(with.levels > 0 && with.total() >= without.total() + with.levels / 2);
}
