//! The peak that a plan says: its figure, its parts, and that it is held under stress.

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use relief_design::{Conversion, Design};
use relief_engine::{
    Cancel, Error, ImageError, ImageSource, NoImages, Options, Picture, Plan, Rect, Renderer,
};

use crate::oracle::strategy::models;
use crate::pictures::Pictures;
use crate::run::{design, parse, rendered, renderer, window};

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_memory_that_a_refusal_names_is_the_least_that_does(
        model in models(),
        threads in 1_usize..6,
        tile in proptest::option::of((1_u64..100, 1_u64..100)),
        kept in proptest::option::of(0_u64..3_000),
        sink in prop_oneof![Just(0_u64), 1_u64..1_000_000],
    ) {
        let (design, images) = (design(&model), Pictures(model.pictures.clone()));
        let plan = |memory| {
            let options = Options::default().threads(threads).memory(memory).with(|with| with.tile = tile).with(|with| with.kept = kept).sink(sink);
            Plan::new(&design, &images, &options)
        };
        let Err(Error::Memory { needed, limit: 0, .. }) = plan(0) else {
            return Err(TestCaseError::fail("planned without memory"));
        };
        let least = plan(needed);
        prop_assert!(least.is_ok(), "{} bytes were named: {:?}", needed, least.err());
        let peak = least.unwrap().peak();
        prop_assert!(peak.total() <= needed);
        let streaming = peak.bands + peak.cache + peak.sink;
        let sum = streaming.max(peak.decoding).max(peak.preparing).max(peak.fonts) + peak.scratch + peak.images + peak.design + peak.tables + peak.kept;
        prop_assert_eq!(peak.total(), sum);
        // Without a figure for `kept` it follows the memory, so that less may do where more is kept.
        let fewer = plan(needed - 1);
        prop_assert!(
            kept.is_none() || matches!(fewer, Err(Error::Memory { .. })),
            "{} bytes do, {} were named", needed - 1, needed
        );
    }
}

/// A picture of 20 000 × 20 000 samples that nobody reads.
struct Vast;

impl ImageSource for Vast {
    fn open(&self, _: &str, _: &Conversion) -> Result<Box<dyn Picture>, ImageError> {
        let size = |_: &str| Ok((20_000, 20_000));
        size.open("vast", &Conversion::default())
    }
}

/// What a refusal says would do: MiB, and how many threads instead.
fn hint(design: &Design, images: &dyn ImageSource, options: &Options) -> (u64, Option<usize>) {
    let refused = Plan::new(design, images, options).unwrap_err().to_string();
    let number = |after: &str| refused.split(after).nth(1)?.split(' ').next()?.parse().ok();
    let enough = number("; ").unwrap_or_else(|| panic!("{refused}"));
    let allowed = options.memory.unwrap() >> 20;
    assert!(
        refused.starts_with(&format!(
            "the job needs {enough} MiB, {allowed} MiB are allowed; {enough} MiB would do"
        )),
        "{refused}"
    );
    (
        enough,
        number(" would do, or ").map(|threads: u64| threads as usize),
    )
}

#[test]
fn a_refusal_names_no_threads_where_fewer_would_not_do() {
    let text = "relief version=1\ncanvas width=20000 height=20000 depth=16\nimage \"vast\"";
    let design = relief_design::parse("test.kdl", text, &|_: &str| Ok((20_000, 20_000))).unwrap();
    let options = nested(2, 256 << 20, None);
    let (enough, threads) = hint(&design, &Vast, &options);
    assert!((763..800).contains(&enough), "{enough}");
    assert_eq!(threads, None);
    assert!(Plan::new(&design, &Vast, &nested(2, enough << 20, None)).is_ok());
    assert!(Plan::new(&design, &Vast, &nested(1, 256 << 20, None)).is_err());
}

#[test]
fn what_a_refusal_says_would_do_does() {
    let text = "relief version=1\ncanvas width=30000 height=30000\ndistance radius=4096 { (mask)threshold level=255 { (source)noise seed=1 }; profile \"d / 20\" beyond=0 }";
    let design = parse(text);
    for (threads, memory) in [(16, 64 << 20), (16, 128 << 20), (64, 256 << 20), (3, 32 << 20)] {
        let plan = |threads, memory| Plan::new(&design, &NoImages, &nested(threads, memory, None));
        if plan(threads, memory).is_ok() {
            continue;
        }
        let (enough, fewer) = hint(&design, &NoImages, &nested(threads, memory, None));
        assert!(
            plan(threads, enough << 20).is_ok(),
            "{enough} MiB with {threads} threads"
        );
        match fewer {
            Some(fewer) => {
                assert!(plan(fewer, memory).is_ok(), "{fewer} threads with {memory} bytes");
                assert!(
                    plan(fewer + 1, memory).is_err(),
                    "{fewer} of {threads} is not the most"
                );
            }
            None => assert!(plan(1, memory).is_err(), "one thread would do"),
        }
    }
    let (_, fewer) = hint(&design, &NoImages, &nested(1_000, 300 << 20, None));
    assert!(fewer.is_some(), "fewer threads than a thousand need less");
}

/// `count` marks beside each other.
fn marks(count: usize) -> String {
    let marks: String = (0..count)
        .map(|number| {
            format!(
                "(max)disc diameter={} value={} x={number}\n",
                2 + number % 90,
                1 + number % 255
            )
        })
        .collect();
    format!("relief version=1\ncanvas width=65000 height=64\ncompose {{\n{marks}}}")
}

#[test]
fn the_nodes_of_a_design_count() {
    let plan = |count| Plan::new(&parse(&marks(count)), &NoImages, &nested(1, 1 << 30, None)).unwrap();
    let (few, many) = (plan(10).peak().design, plan(20_010).peak().design);
    // A node and its place in its parent are at least these numbers, on both sides of the plan.
    assert!(many - few >= 20_000 * 200, "{few} and {many}");
    let refused = Plan::new(&parse(&marks(20_000)), &NoImages, &nested(1, 2 << 20, None));
    assert!(
        matches!(refused, Err(Error::Memory { .. })),
        "20 000 nodes in 2 MiB"
    );
}

/// Counts warnings of the engine.
struct Warnings;

static WARNINGS: AtomicUsize = AtomicUsize::new(0);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, _: &tracing::Event<'_>) {
        WARNINGS.fetch_add(1, Ordering::Relaxed);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn any_number_of_jobs_on_one_renderer_keep_to_the_smallest_cache() {
    // Of all tests here: none may find the cache too small.
    let _ = tracing::subscriber::set_global_default(Warnings);
    let design = parse(NESTED);
    for tile in [None, Some((17, 11))] {
        let Err(Error::Memory { needed, .. }) = Plan::new(&design, &NoImages, &nested(2, 0, tile)) else {
            panic!("planned without memory")
        };
        let small = renderer(&design, &NoImages, &nested(2, needed, tile));
        let expected = rendered(&small).unwrap();
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (small, expected) = (&small, &expected);
                scope.spawn(move || {
                    if number % 2 == 0 {
                        assert!(rendered(small).unwrap() == *expected);
                    } else {
                        let whole = Rect::sized(90, 40);
                        assert!(window(small, whole).unwrap() == *expected);
                    }
                });
            }
        });
    }
    assert_eq!(WARNINGS.load(Ordering::Relaxed), 0, "the cache was too small");
}

/// Distances in distances in distances: cached tiles wait for cached tiles.
const NESTED: &str = r#"
relief version=1
canvas width=90 height=40
define "a" { distance radius=9 { (mask)threshold level=253 { (source)noise seed=4 }; profile "255 - 28 * d" beyond=0 } }
define "b" { distance radius=7 { (mask)threshold level=250 { (source)use "a" }; profile "255 - 36 * d" beyond=0 } }
define "c" { distance radius=5 { (mask)threshold level=250 { (source)use "b" }; profile "255 - 50 * d" beyond=0 } }
compose {
    (base)use "c"
    (max)use "b" x=3 y=5
    (mean)use "a" x=-7 y=2
    (subtract)use "c" x=11 y=-13
}
"#;

fn nested(threads: usize, memory: u64, tile: Option<(u64, u64)>) -> Options {
    Options::default()
        .threads(threads)
        .memory(memory)
        .with(|with| with.tile = tile)
}

#[test]
fn nested_cached_nodes_neither_lock_up_nor_differ_with_the_smallest_cache() {
    let design = parse(NESTED);
    let expected = rendered(&renderer(&design, &NoImages, &nested(1, 1 << 30, None))).unwrap();
    for threads in [1, 8] {
        for tile in [None, Some((17, 11)), Some((90, 7))] {
            let Err(Error::Memory { needed, .. }) = Plan::new(&design, &NoImages, &nested(threads, 0, tile))
            else {
                panic!("planned without memory")
            };
            for memory in [needed, needed + 20_000] {
                let small = renderer(&design, &NoImages, &nested(threads, memory, tile));
                assert!(small.plan().peak().cache > 0, "nothing is cached");
                assert!(
                    rendered(&small).unwrap() == expected,
                    "{threads} threads, {tile:?}, {memory}"
                );
            }
        }
    }
}

#[test]
fn several_readers_of_one_renderer_see_the_same_samples() {
    let design = parse(NESTED);
    let plan = Plan::new(&design, &NoImages, &nested(3, 3 << 20, None)).unwrap();
    let renderer = Renderer::new(plan, &NoImages, &Cancel::new()).unwrap();
    let place = Rect::new(17, 5, 60, 30).unwrap();
    let expected = window(&renderer, place).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..3 {
                    assert!(window(&renderer, place).unwrap() == expected);
                }
            });
        }
    });
}

#[test]
fn tiles_wider_than_the_raster_take_no_more_memory_than_the_raster() {
    let design = parse(NESTED);
    let plan = |tile| Plan::new(&design, &NoImages, &nested(2, 64 << 20, Some(tile)));
    let fitting = plan((90, 20)).unwrap().peak().total();
    let wider = plan((1 << 30, 20)).map(|plan| plan.peak().total());
    assert!(
        matches!(wider, Ok(peak) if peak <= fitting),
        "{wider:?} for {fitting}"
    );
}
